"""Places drawn at random: what a draw does once in a while, and what its limits say of it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, flag, i32, u32

# Once in 42 times, or once in ten, the window sticks out.


@case(f32(40, 40, 3), u32(2))
def a_crop_that_sticks_out_now_and_then(image, key):
    down, across = jax.random.split(jax.random.wrap_key_data(key))
    row = jax.random.randint(down, (), 0, 34)
    column = jax.random.randint(across, (), 0, 33)
    return lax.dynamic_slice(image, (row, column, 0), (8, 8, 3))  #: unsafe


@case(f32(40, 40, 3), u32(2))
def a_crop_that_does_not(image, key):
    down, across = jax.random.split(jax.random.wrap_key_data(key))
    row = jax.random.randint(down, (), 0, 33)
    column = jax.random.randint(across, (), 0, 33)
    return lax.dynamic_slice(image, (row, column, 0), (8, 8, 3))  #: safe


@case(i32(24, 12), u32(2))
def a_piece_beside_the_board(board, key):
    column = jax.random.randint(jax.random.wrap_key_data(key), (), 0, 10)
    return lax.dynamic_update_slice(board, jnp.ones((4, 4), jnp.int32), (20, column))  #: unsafe


@case(i32(24, 13), u32(2))
def a_piece_on_the_board(board, key):
    column = jax.random.randint(jax.random.wrap_key_data(key), (), 0, 10)
    return lax.dynamic_update_slice(board, jnp.ones((4, 4), jnp.int32), (20, column))  #: safe


# Drawn among those that are free: nothing is drawn before some are.


@case(i32(9, 9), u32(2))
def a_free_square_by_the_wrong_width(grid, key):
    free = (grid == 1).reshape(-1)
    at = jax.random.choice(jax.random.wrap_key_data(key), 81, p=free / free.sum())  #: safe
    return grid.at[at // 8, at % 8].set(7)  #: unsafe


@case(i32(9, 9), u32(2))
def a_free_square(grid, key):
    free = (grid == 1).reshape(-1)
    at = jax.random.choice(jax.random.wrap_key_data(key), 81, p=free / free.sum())  #: safe
    return grid.at[at // 9, at % 9].set(7)  #: safe


# A room of any size is put where there is room for it: in both dimensions.


@case(f32(16, 16), u32(2))
def the_far_corner_of_a_room(grid, key):
    first, second = jax.random.split(jax.random.wrap_key_data(key))
    size = jax.random.randint(first, (2,), 3, 7)
    top = jax.random.randint(second, (2,), 0, 16 - size)
    corner = top + size - 1
    return grid[corner[0], corner[1]]  #: safe


@case(f32(16, 16), u32(2))
def the_far_corner_of_a_room_outside(grid, key):
    first, second = jax.random.split(jax.random.wrap_key_data(key))
    size = jax.random.randint(first, (2,), 3, 7)
    top = jax.random.randint(second, (2,), 0, 18 - size)
    corner = top + size - 1
    return grid[corner[0], corner[1]]  #: unsafe


# As many runs as there can be: each element differs from the one before.


@case(f32(6), flag(12))
def a_row_for_each_run(table, noise):
    starts = noise & ~jnp.concatenate([jnp.zeros(1, bool), noise[:-1]])
    return table[jnp.cumsum(starts)]  #: unsafe


@case(f32(6), i32(12))
def a_row_for_each_change(table, kinds):
    starts = (kinds % 3 == 0) & ~jnp.concatenate([jnp.zeros(1, bool), kinds[:-1] % 3 == 0])
    return table[jnp.cumsum(starts)]  #: unsafe


# What the exact stage says leads outside is seen only where another input lets it.


@case(i32(25), i32(), i32(2))
def a_move_past_the_last_point(board, source, dice):
    source = jnp.clip(source, 0, 23)
    to = jnp.minimum(source + jnp.clip(dice[0], 1, 6), 25)
    held = board[source] > 0  #: safe
    moved = board.at[source].add(-1).at[to].add(1)  #: safe unsafe
    return jnp.where(held, moved, board)


@case(i32(26), i32(), i32(2))
def a_move_to_the_last_point(board, source, dice):
    source = jnp.clip(source, 0, 23)
    to = jnp.minimum(source + jnp.clip(dice[0], 1, 6), 25)
    held = board[source] > 0  #: safe
    moved = board.at[source].add(-1).at[to].add(1)  #: safe
    return jnp.where(held, moved, board)


# A run that takes as long as a hundred words is not given up before its end.


@case(u32(50))
def words_that_may_run_out(words):
    def step(state, _):
        x, at = state
        x = (x >> 4) ^ (x & 15)
        low = x < 1 << 16
        x = jnp.where(low, (x << 16) | (words[at] & 0xFFFF), x)  #: unsafe
        return (x, at + low), x & 15

    return lax.scan(step, (words[0], 1), None, length=100)


@case(u32(50))
def words_that_do_not_run_out(words):
    def step(state, _):
        x, at = state
        x = (x >> 4) ^ (x & 15)
        low = x < 1 << 16
        x = jnp.where(low, (x << 16) | (words[jnp.minimum(at, 49)] & 0xFFFF), x)  #: safe
        return (x, at + low), x & 15

    return lax.scan(step, (words[0], 1), None, length=100)


# Each lane draws by weights of its own.


@case(f32(3, 9), u32(3, 2), f32(3, 9))
def a_draw_by_the_weights_of_each_lane(x, keys, weights):
    def one(row, key, weights):
        at = jax.random.choice(jax.random.wrap_key_data(key), 9, p=jax.nn.softmax(weights))  #: safe
        return row[at]  #: safe

    return jax.vmap(one)(x, keys, weights)


@case(f32(3, 8), u32(3, 2), f32(3, 9))
def a_draw_by_the_weights_of_each_lane_from_too_few(x, keys, weights):
    def one(row, key, weights):
        at = jax.random.choice(jax.random.wrap_key_data(key), 9, p=jax.nn.softmax(weights))  #: safe
        return row[at]  #: unsafe

    return jax.vmap(one)(x, keys, weights)


@case(f32(2, 3, 9), u32(2, 3, 2), f32(2, 3, 9))
def a_draw_by_the_weights_of_each_lane_of_each(x, keys, weights):
    def one(row, key, weights):
        at = jax.random.choice(jax.random.wrap_key_data(key), 9, p=jax.nn.softmax(weights))  #: safe
        return row[at]  #: safe

    return jax.vmap(jax.vmap(one))(x, keys, weights)


@case(f32(3, 9), f32(3, 9), u32(2))
def a_share_of_the_last_of_each_row(x, weights, key):
    share = 1 - jax.random.uniform(jax.random.wrap_key_data(key), (3,))
    total = jnp.cumsum(jnp.clip(weights, 0.0, 1.0), 1)
    at = jax.vmap(jnp.searchsorted)(total, total[:, -1] * share)  #: safe
    return jnp.take_along_axis(x, at[:, None], 1, mode="promise_in_bounds")  #: safe


@case(f32(3, 9), f32(3, 9), u32(2))
def a_share_of_the_last_of_another_row(x, weights, key):
    share = 1 - jax.random.uniform(jax.random.wrap_key_data(key), (3,))
    total = jnp.cumsum(jnp.clip(weights, 0.0, 1.0), 1)
    at = jax.vmap(jnp.searchsorted)(total, total[::-1, -1] * share)  #: safe
    return jnp.take_along_axis(x, at[:, None], 1, mode="promise_in_bounds")  #: unsafe


# Weights over their own sum are not negative where none of them is, whichever way a sum of zero is kept from dividing.


@case(f32(20), u32(2), f32(20))
def squares_over_their_sum(table, key, x):
    weights = jnp.square(x)
    weights /= weights.sum()
    at = jax.random.choice(jax.random.wrap_key_data(key), 20, p=weights)  #: safe
    return table[at]  #: safe


@case(f32(20), u32(2), f32(20))
def weights_over_their_sum_or_one(table, key, x):
    weights = jnp.where(x < 1e-10, 0.0, x)
    total = weights.sum()
    weights = weights / jnp.where(total == 0, 1, total)
    at = jax.random.choice(jax.random.wrap_key_data(key), 20, p=weights)  #: safe
    return table[at]  #: safe


@case(f32(20), u32(2), f32(20))
def weights_over_more_than_their_sum(table, key, x):
    weights = jnp.abs(x)
    weights = weights / (weights.sum() + 1e-6)
    at = jax.random.choice(jax.random.wrap_key_data(key), 20, p=weights)  #: safe
    return table[at]  #: safe


@case(f32(20), u32(2), f32(5, 20))
def rows_over_their_sums(table, key, x):
    weights = jnp.maximum(x, 0.0)
    shares = weights / weights.sum(axis=-1, keepdims=True)
    weights = shares[3]
    at = jax.random.choice(jax.random.wrap_key_data(key), 20, p=weights)  #: safe
    return table[at]  #: safe


@case(f32(20), u32(2), f32(20))
def weights_over_less_than_their_sum(table, key, x):
    weights = jnp.clip(x, 0.0, 1.0)
    weights = weights / (weights.sum() + -50.0)
    at = jax.random.choice(jax.random.wrap_key_data(key), 20, p=weights)  #: safe
    return table[at]  #: unsafe


@case(f32(20), u32(2), f32(20), f32(20))
def squares_over_another_sum(table, key, x, y):
    weights = jnp.square(x) / y.sum()
    at = jax.random.choice(jax.random.wrap_key_data(key), 20, p=weights)  #: safe
    return table[at]  #: unsafe


@case(f32(20), u32(2), f32(20))
def differences_over_their_sum(table, key, x):
    weights = x - 1.0
    weights /= weights.sum()
    at = jax.random.choice(jax.random.wrap_key_data(key), 20, p=weights)  #: safe
    return table[at]  #: unknown


@case(f32(2), u32(2), i32(2, min=0, max=63), i32(2, min=0, max=63))
def a_way_towards_another(table, key, at, to):
    far = jnp.abs(to - at)
    along = jax.random.choice(jax.random.wrap_key_data(key), jnp.arange(2), p=(far == far.max()) / far.sum())  #: safe
    return table[along]  #: safe


@case(f32(2), u32(2), i32(2, min=-63, max=63))
def a_way_by_the_signs(table, key, to):
    along = jax.random.choice(jax.random.wrap_key_data(key), 2, p=(to == to.max()) / to.sum())  #: safe
    return table[along]  #: unsafe
