"""Out-of-bounds bugs as they are reported, right and almost right, mostly with nothing promised of the inputs."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, flag, i32

# Held at one end, but the sum before may wrap around its type and come out at the other.


@case(f32(32), i32(), requires=("-2147483644 ≤ pos ≤ 35",))
def a_little_before_or_the_first(x, pos):
    return x[jnp.maximum(pos - 4, 0)]  #: requires


@case(f32(32), i32(5), requires=("-36 ≤ pos ≤ 2147483643",))
def a_little_after_or_the_last(x, pos):
    return x[jnp.minimum(pos + 4, 31)]  #: requires


@case(f32(64, 8), i32(), requires=("-64 ≤ start ≤ 2147483632",))
def rows_from_a_start_or_the_last(table, start):
    return table[jnp.minimum(start + jnp.arange(16), 63)]  #: requires


@case(f32(32, 4), i32(), requires=("-2147483644 ≤ pos ≤ 28",))
def a_window_around_a_place(x, pos):
    return lax.dynamic_slice_in_dim(x, jnp.maximum(pos - 4, 0), 8)  #: requires


@case(f32(32, 4), i32())
def a_window_around_a_place_held_inside(x, pos):
    return lax.dynamic_slice_in_dim(x, jnp.clip(pos - 4, 0, 24), 8)  #: safe


@case(f32(10), i32(min=0), i32())
def a_sum_with_one_that_is_promised(x, i, j):
    return x[jnp.minimum(i + j, 9)]  #: requires


# In one dimension an input is asked to be inside; in the other the program itself goes too far.


@case(i32(6, 7), i32())
def a_stone_on_a_full_column(board, column):
    height = (board[:, column] != 0).sum()  #: requires
    return board.at[height, column].set(1)  #: unsafe


@case(i32(6, 7), i32())
def a_stone_on_a_column_with_room(board, column):
    height = (board[:, column] != 0).sum()  #: requires
    return board.at[jnp.minimum(height, 5), column].set(1)  #: requires


@case(f32(16, 3), i32(16))
def more_tokens_than_an_expert_takes(tokens, expert):
    chosen = jax.nn.one_hot(expert, 4, dtype=jnp.int32)
    place = (jnp.cumsum(chosen, 0) * chosen).sum(-1) - 1
    return jnp.zeros((4, 6, 3)).at[expert, place].add(tokens, mode="promise_in_bounds")  #: unsafe


@case(f32(16, 3), i32(16), requires=("-4 ≤ expert ≤ 3",))
def tokens_beyond_what_an_expert_takes_in_a_row_of_their_own(tokens, expert):
    chosen = jax.nn.one_hot(expert, 4, dtype=jnp.int32)
    place = jnp.minimum((jnp.cumsum(chosen, 0) * chosen).sum(-1) - 1, 6)
    return jnp.zeros((4, 7, 3)).at[expert, place].add(tokens, mode="promise_in_bounds")  #: requires


# Below, an input is asked to be inside; above, the loop ends too late.


@case(i32(3, 32), i32(3), i32(3))
def each_lane_decodes_one_token_too_many(cache, lengths, tokens):
    def decoded(cache, length, token):
        def step(state):
            at, token, cache = state
            return at + 1, token * 7 % 50, cache.at[at].set(token)  #: unsafe

        return lax.while_loop(lambda state: state[0] < 33, step, (length, token, cache))

    return jax.vmap(decoded)(cache, lengths, tokens)


@case(i32(3, 32), i32(3), i32(3))
def each_lane_decodes_to_its_end(cache, lengths, tokens):
    def decoded(cache, length, token):
        def step(state):
            at, token, cache = state
            return at + 1, token * 7 % 50, cache.at[at].set(token)  #: requires

        return lax.while_loop(lambda state: state[0] < 32, step, (length, token, cache))

    return jax.vmap(decoded)(cache, lengths, tokens)


# A place on a grid, from two numbers: each is a digit, the lesser of them below the step of the other.


@case(f32(100), f32(7, 2), requires=("-10.0 ≤ p[:, 0] < 10.0", "0.0 ≤ p[:, 1] < 10.0"))
def a_flat_place_of_a_point(grid, p):
    at = jnp.floor(p).astype(int)
    return grid[at[:, 0] * 10 + at[:, 1]]  #: requires


@case(f32(512), f32(5, 3), requires=("-1.125 < p[:, 0] < 1.0", "-0.125 < p[:, 1:3] < 1.0"))
def a_flat_place_in_a_cube(grid, p):
    at = (p * 8).astype(int)
    return grid[at[:, 0] * 64 + at[:, 1] * 8 + at[:, 2]]  #: requires


@case(f32(100), f32(5), f32(5), requires=("-10.0 ≤ y < 10.0", "0.0 ≤ x < 10.0"))
def a_flat_place_in_floats(grid, y, x):
    return grid[(jnp.floor(y) * 10 + jnp.floor(x)).astype(int)]  #: requires


@case(f32(100), f32(7, 2, min=-1.0, max=1.0))
def a_flat_place_with_both_ends(grid, p):
    at = ((p + 1.0) / 2.0 * 10).astype(int)
    return grid[at[:, 0] * 10 + at[:, 1]]  #: unsafe


# Numbers that are added up share the room there is for their sum.


@case(f32(16, 4), i32(2, 16), requires=("0 ≤ mask ≤ 1",))
def positions_of_what_is_not_padding(table, mask):
    return table[jnp.maximum(jnp.cumsum(mask, -1) - 1, 0)]  #: requires


@case(f32(16), i32(5, 4), requires=("-1 ≤ bits ≤ 1",))
def a_number_of_bits_that_nobody_promised(table, bits):
    return table[(bits * jnp.array([1, 2, 4, 8])).sum(-1)]  #: requires


@case(f32(15), i32(5, 4, min=0, max=1))
def a_number_of_bits_in_a_table_one_too_short(table, bits):
    return table[bits @ jnp.array([1, 2, 4, 8])]  #: unsafe


@case(f32(8), flag(8))
def as_many_as_are_set(x, mask):
    return x[mask.sum()]  #: unsafe


@case(f32(20), i32(4), i32(9), i32(9))
def edges_of_graphs_side_by_side(x, sizes, edges, graph):
    first = jnp.cumsum(sizes) - sizes
    start = first[graph]  #: requires
    return x[edges + start]  #: requires


# A product with one hot row picks an element.


@case(f32(10), i32(4), i32(6, min=0, max=9))
def one_of_several_by_a_product(x, kind, place):
    return x[jax.nn.one_hot(kind, 6, dtype=jnp.int32) @ place]  #: safe


@case(f32(10), i32(4), i32(6, min=0, max=9))
def one_after_one_of_several_by_a_product(x, kind, place):
    return x[jax.nn.one_hot(kind, 6, dtype=jnp.int32) @ place + 1]  #: unsafe


@case(f32(10), i32(4, min=0, max=5), i32(6, min=1, max=10))
def the_one_before_one_of_several_by_a_product(x, kind, place):
    return x[place @ jax.nn.one_hot(kind, 6, dtype=jnp.int32, axis=0) - 1]  #: safe


@case(f32(12), i32(4), i32(6, min=1, max=4))
def all_up_to_one_by_a_product(x, kind, place):
    return x[(jnp.arange(6) <= kind[:, None]).astype(jnp.int32) @ place]  #: unsafe


@case(f32(10), i32(4), i32(6), requires=("-10 ≤ place ≤ 9",))
def one_of_several_of_which_nothing_is_known(x, kind, place):
    return x[jax.nn.one_hot(kind, 6, dtype=jnp.int32) @ place]  #: requires


# What is left of a float: NaN where it is infinite, and rounded up to the divisor where it is barely negative.


@case(f32(10), f32(5))
def around_a_ring(x, at):
    return x[jnp.minimum(jnp.floor(jnp.mod(at, 10.0)).astype(int), 9)]  #: safe


@case(f32(10), f32(5))
def around_a_ring_and_just_beyond(x, at):
    return x[jnp.floor(jnp.mod(at, 10.0)).astype(int)]  #: unsafe


# Bins between the least and the greatest: the greatest has a bin of its own.


@case(f32(10), f32(30))
def a_bin_for_the_greatest_too(x, values):
    part = (values - values.min()) / (values.max() - values.min())
    return x[jnp.minimum((part * 10).astype(int), 9)]  #: safe


@case(f32(10), f32(30))
def no_bin_for_the_greatest(x, values):
    part = (values - values.min()) / (values.max() - values.min())
    return x[(part * 10).astype(int)]  #: unsafe


@case(f32(10), f32(3, 30))
def bins_of_each_row(x, values):
    low, high = values.min(-1, keepdims=True), values.max(-1, keepdims=True)
    return x[((high - values) / (high - low + 1e-6) * 9).astype(int)]  #: safe


@case(f32(10), f32(5, 5))
def bins_of_each_row_beside_columns(x, values):
    low, high = values.min(-1), values.max(-1)
    return x[((values - low) / (high - low + 1e-6) * 9).astype(int)]  #: unknown


@case(f32(10), f32(30), f32(30))
def bins_of_products_that_may_be_rounded_or_not(x, a, b):
    part = (a * b - (a * b).min()) / ((a * b).max() - (a * b).min())
    return x[jnp.floor(part * 9).astype(int)]  #: unknown


@case(f32(10), f32(30))
def shares_of_the_farthest(x, values):
    return x[(jnp.abs(values) / jnp.abs(values).max() * 9).astype(int)]  #: safe


@case(f32(10), f32(30, min=0.0, max=100.0))
def shares_of_the_greatest_by_tens(x, values):
    return x[(values / values.max() * 10).astype(int)]  #: unsafe


@case(f32(10), i32(30, min=-1000, max=1000))
def how_far_above_the_least(x, values):
    return x[jnp.minimum(values - values.min(), 9)]  #: safe


@case(f32(10), i32(30, min=-1000, max=1000))
def how_far_above_the_greatest(x, values):
    return x[jnp.maximum(values - values.max(), -9) + 10]  #: unsafe


@case(f32(10), i32(30))
def how_far_above_the_least_if_it_is_not_too_far(x, values):
    return x[jnp.minimum(values - values.min(), 9)]  #: requires


# What is read outside a table is filled in, and is no place in the next one: both are asked for.


@case(i32(3, 4), i32(3), f32(160, 2), requires=("-64 ≤ pos", "-10 ≤ table ≤ 9"))
def a_page_that_is_looked_up_and_read(table, pos, cache):
    block = jnp.minimum(pos // 16, 3)
    page = jnp.take_along_axis(table, block[:, None], 1)[:, 0]  #: requires
    return cache[page * 16 + pos % 16]  #: requires


@case(i32(4, min=0, max=9), i32(3), f32(10))
def a_place_that_is_looked_up_or_the_last(table, i, x):
    return x[jnp.take(table, i, fill_value=9)]  #: declared safe


@case(i32(4, min=0, max=9), i32(3), f32(10))
def a_place_that_is_looked_up_or_one_too_far(table, i, x):
    return x[jnp.take(table, i, fill_value=10)]  #: declared unsafe


# A place that nothing but the iteration decides.


@case(f32(8))
def moved_on_every_fifth_time(x):
    def step(state, t):
        at, total = state
        return (jnp.where(t % 5 == 4, at + 1, at), total + x[at]), None  #: safe

    return lax.scan(step, (0, 0.0), jnp.arange(40))[0]


@case(f32(8))
def moved_on_every_fifth_time_and_once_more(x):
    def step(t, state):
        at, total = state
        return jnp.where(t % 5 == 4, at + 1, at), total + x[at]  #: unsafe

    return lax.fori_loop(0, 41, step, (0, 0.0))


@case(f32(10))
def to_and_fro(x):
    def step(_, state):
        at, by, total = state
        at = at + by
        by = jnp.where((at == 9) | (at == 0), -by, by)
        return at, by, total + x[at]  #: safe

    return lax.fori_loop(0, 100, step, (0, 1, 0.0))


@case(f32(9))
def to_and_fro_a_little_too_far(x):
    def step(_, state):
        at, by, total = state
        at = at + by
        by = jnp.where((at == 9) | (at == 0), -by, by)
        return at, by, total + x[at]  #: unsafe

    return lax.fori_loop(0, 100, step, (0, 1, 0.0))


@case(f32(10), i32(min=0, max=2))
def every_third_time_on_from_somewhere(x, start):
    last = lax.fori_loop(0, 21, lambda t, at: jnp.where(t % 3 == 0, at + 1, at), 0)
    return x[start + last]  #: safe


@case(f32(10), i32(20, min=0, max=1))
def moved_on_when_told(x, flags):
    def step(at, told):
        return jnp.where(told > 0, at + 1, at), x[at]  #: unsafe

    return lax.scan(step, 0, flags)


@case(f32(6))
def rows_in_two_orders(x):
    def step(at, by):
        return jnp.where(by > 1, at + by, at), x[at]  #: unsafe

    rows = jnp.array([0, 1, 0, 1, 0, 1, 0, 1, 0, 5, 0])
    return lax.scan(step, 0, rows), lax.scan(step, 0, rows + jnp.array([2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]))


@case(f32(30))
def along_a_triangle(x):
    def step(t, total):
        return total + x[t * (t + 1) // 2]  #: safe

    return lax.fori_loop(0, 8, step, 0.0)


@case(f32(28))
def along_a_triangle_of_one_row_less(x):
    def step(t, total):
        return total + x[t * (t + 1) // 2]  #: unsafe

    return lax.fori_loop(0, 8, step, 0.0)


@case(f32(80))
def moved_on_every_fifth_time_of_many(x):
    def step(state, t):
        at, total = state
        return (jnp.where(t % 5 == 4, at + 1, at), total + x[at]), None  #: safe

    return lax.scan(step, (0, 0.0), jnp.arange(400))[0]


@case(f32(192))
def many_rows_in_order_and_turned_round(x):
    def step(at, t):
        return jnp.where(t > 3, at + 2, at), x[at]  #: unsafe

    return lax.scan(step, 0, jnp.arange(100)), lax.scan(step, 0, jnp.arange(100)[::-1])


@case(f32(193))
def many_rows_in_order_and_from_the_end(x):
    def step(at, t):
        return jnp.where(t > 3, at + 2, at), x[at]  #: safe

    return lax.scan(step, 0, jnp.arange(100)), lax.scan(step, 0, jnp.arange(100), reverse=True)


@case(f32(9), i32())
def a_difference_with_a_number_that_a_caller_writes_down(x, i):
    held = jax.jit(lambda first, i: x[jnp.clip(i - first, 0, 8)])  #: safe
    return held(0, i)


# A carry that is what another was one iteration before.


@case(f32(7))
def the_one_before_a_counter(x):
    def step(state, _):
        at, before = state
        return (at + 2, at), x[before]  #: unsafe

    return lax.scan(step, (6, 0), None, length=4)


@case(f32(11))
def the_one_before_a_counter_that_ends_in_time(x):
    def step(state, _):
        at, before = state
        return (at + 2, at), x[before]  #: safe

    return lax.scan(step, (6, 0), None, length=4)


@case(f32(9))
def the_row_before(x):
    def step(before, row):
        return row, x[before]  #: unsafe

    return lax.scan(step, 0, jnp.array([3, 1, 9, 2, 5]))
