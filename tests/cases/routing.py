"""Experts, replay buffers, games and state machines: what a learner indexes with, right and almost right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, flag, i32, u32

# Routing tokens to experts of a fixed capacity.


@case(f32(20, 4), f32(20, 8))
def places_in_experts(logits, x):
    expert = jnp.argmax(logits, -1)
    hot = jax.nn.one_hot(expert, 4, dtype=np.int32)
    place = (jnp.cumsum(hot, axis=0) * hot).sum(-1) - 1
    keep = place < 6
    slots = jnp.zeros((4, 6, 8)).at[expert, jnp.where(keep, place, 6)].set(x, mode="drop")  #: declared
    return slots.at[expert, place].get(mode="fill", fill_value=0)  #: declared


@case(f32(20, 4), f32(20, 8), f32(4, 8, 8))
def groups_as_large_as_they_were_counted(logits, x, experts):
    expert = jnp.argmax(logits, -1)
    order = jnp.argsort(expert)
    return lax.ragged_dot(x[order], experts, jnp.bincount(expert, length=4))  #: safe


@case(f32(20, 4), f32(19, 8), f32(4, 8, 8), runs=False)  # What groups a product reads is not seen in a run.
def groups_counted_for_more_rows(logits, x, experts):
    expert = jnp.argmax(logits, -1)
    return lax.ragged_dot(x, experts, jnp.bincount(expert, length=4))  #: safe unsafe


@case(f32(3, 20, 4), f32(3, 20, 8), f32(3, 4, 8, 8), runs=False)
def groups_of_each_batch_as_large_as_they_were_counted(logits, x, experts):
    def one(logits, x, experts):
        expert = jnp.argmax(logits, -1)
        order = jnp.argsort(expert)
        return lax.ragged_dot(x[order], experts, jnp.bincount(expert, length=4))  #: safe

    return jax.vmap(one)(logits, x, experts)


@case(f32(3, 20, 4), f32(3, 19, 8), f32(3, 4, 8, 8), runs=False)
def groups_of_each_batch_counted_for_more_rows(logits, x, experts):
    def one(logits, x, experts):
        return lax.ragged_dot(x, experts, jnp.bincount(jnp.argmax(logits, -1), length=4))  #: safe unsafe

    return jax.vmap(one)(logits, x, experts)


@case(f32(20, 4), f32(20, 8))
def places_in_experts_without_a_limit(logits, x):
    expert = jnp.argmax(logits, -1)
    hot = jax.nn.one_hot(expert, 4, dtype=np.int32)
    place = (jnp.cumsum(hot, axis=0) * hot).sum(-1) - 1
    return jnp.zeros((4, 6, 8)).at[expert, place].set(x)  #: unsafe


@case(f32(20, 4), f32(20, 8))
def places_in_experts_that_hold_all(logits, x):
    expert = jnp.argmax(logits, -1)
    hot = jax.nn.one_hot(expert, 4, dtype=np.int32)
    place = jnp.take_along_axis(jnp.cumsum(hot, axis=0), expert[:, None], axis=1)[:, 0] - 1  #: safe
    return jnp.zeros((4, 20, 8)).at[expert, place].set(x)  #: safe


@case(f32(20, 4), f32(4, 8, 8), f32(20, 8))
def weights_of_the_two_best(logits, weights, x):
    gate, expert = lax.top_k(logits, 2)
    return jnp.einsum("tk,tkij,tj->ti", gate, weights[expert], x)  #: safe


@case(f32(20, 5), f32(4, 8))
def weights_with_a_shared_expert_too_many(logits, weights):
    return weights[jnp.argmax(logits, -1)]  #: unsafe


@case(f32(20, 4), f32(20, 8))
def tokens_sorted_by_expert(logits, x):
    expert = jnp.argmax(logits, -1)
    order = jnp.argsort(expert)
    sizes = jnp.bincount(expert, length=4)  #: safe
    ends = jnp.cumsum(sizes)
    return x[order], x[ends - 1]  #: safe


@case(f32(20, 4), f32(20, 8))
def tokens_sorted_by_expert_past_the_last_end(logits, x):
    expert = jnp.argmax(logits, -1)
    sizes = jnp.bincount(expert, length=4)  #: safe
    return x[jnp.cumsum(sizes)]  #: unsafe


# Replay buffers: a cursor that wraps, a size that stops growing, samples below the size.


@case(f32(32), i32(min=0, max=31), f32(5))
def a_batch_over_the_end(buffer, cursor, batch):
    return lax.dynamic_update_slice(buffer, batch, (cursor,))  #: unsafe


@case(f32(32), i32(min=0, max=31), f32(5))
def a_batch_around_the_end(buffer, cursor, batch):
    return buffer.at[(cursor + jnp.arange(5)) % 32].set(batch)  #: safe


@case(f32(32), i32(min=0), u32(2))
def samples_of_what_is_there(buffer, added, key):
    size = jnp.clip(added, 1, 32)
    at = jax.random.randint(jax.random.wrap_key_data(key), (8,), 0, size)
    return buffer[at]  #: safe


@case(f32(32), i32(min=0, max=32), u32(2))
def sequences_of_what_is_there(buffer, size, key):
    at = jax.random.randint(jax.random.wrap_key_data(key), (8,), 0, jnp.maximum(size, 1))
    return buffer[at[:, None] + jnp.arange(4)]  #: unsafe


@case(f32(32), u32(2))
def sequences_that_end_inside(buffer, key):
    at = jax.random.randint(jax.random.wrap_key_data(key), (8,), 0, 32 - 4 + 1)
    return buffer[at[:, None] + jnp.arange(4)]  #: safe


@case(f32(32, 3), f32(10, 3), flag(10))
def a_buffer_filled_in_a_scan(buffer, items, keep):
    def add(carry, item):
        held, cursor, size = carry
        value, wanted = item
        held = jnp.where(wanted, held.at[cursor].set(value), held)  #: safe
        cursor = jnp.where(wanted, (cursor + 1) % 32, cursor)
        return (held, cursor, jnp.minimum(size + wanted, 32)), held[(cursor - 1) % 32]  #: safe

    return lax.scan(add, (buffer, 0, 0), (items, keep))


@case(f32(32, 3), i32(8, min=0, max=31))
def a_transition_and_the_next(buffer, at):
    return buffer[at], buffer[at + 1]  #: safe unsafe


@case(f32(32, 3), i32(8, min=0, max=31))
def a_transition_and_the_next_around(buffer, at):
    return buffer[at], buffer[(at + 1) % 32]  #: safe


@case(f32(4, 32), i32(6, min=0, max=127))
def rows_and_times_of_flat_samples(buffer, flat):
    return buffer[flat // 32, flat % 32], buffer.reshape(-1)[flat]  #: safe


@case(f32(4, 32), i32(6, min=0, max=127))
def rows_and_times_the_other_way(buffer, flat):
    return buffer[flat % 32, flat // 32]  #: unsafe


# Boards and tables of moves.


@case(i32(6, 7, min=0, max=2), i32(min=0, max=6))
def a_stone_falls(board, column):
    row = (board[:, column] == 0).sum() - 1  #: safe
    return board.at[row, column].set(1)  #: safe


@case(i32(6, 7, min=0, max=2), i32(min=0, max=7))
def a_stone_beside_the_board(board, column):
    row = (board[:, column] == 0).sum() - 1  #: unsafe
    return board.at[row, column].set(1)  #: unsafe


@case(i32(9, min=0, max=2), i32(8, 3, min=0, max=8))
def lines_of_three(board, lines):
    return (board[lines] == 1).all(-1).any()  #: safe


@case(i32(5, 5), i32(2, min=0, max=4), i32())
def a_step_on_a_grid(walls, at, action):
    moves = jnp.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
    new = jnp.clip(at + moves[action % 4], 0, 4)  #: safe
    return jnp.where(walls[new[0], new[1]] > 0, at, new)  #: safe


@case(i32(5, 5), i32(2, min=0, max=4), i32(), requires=("-4 ≤ action ≤ 3",))
def a_step_by_an_unknown_action(walls, at, action):
    moves = jnp.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
    new = jnp.clip(at + moves[action], 0, 4)  #: requires
    return jnp.where(walls[new[0], new[1]] > 0, at, new)  #: safe


@case(i32(5, 5), i32(2, min=0, max=4), i32(min=0, max=3))
def a_look_ahead_at_the_border(walls, at, direction):
    moves = jnp.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
    front = at + moves[direction]  #: safe
    return walls[front[0], front[1]]  #: unsafe


@case(i32(9, 9), i32(2, min=0, max=8))
def a_view_of_a_padded_map(grid, at):
    padded = jnp.pad(grid, 2, constant_values=-1)
    return lax.dynamic_slice(padded, (at[0], at[1]), (5, 5))  #: safe


@case(i32(9, 9), i32(2, min=0, max=8))
def a_view_padded_on_one_side(grid, at):
    padded = jnp.pad(grid, ((0, 4), (0, 3)), constant_values=-1)
    return lax.dynamic_slice(padded, (at[0], at[1]), (5, 5))  #: unsafe


# Machines: a state, a symbol, a table.


@case(i32(5, 3, min=0, max=4), i32(40, min=0, max=2))
def a_machine(table, word):
    return lax.scan(lambda s, c: (table[s, c], s), 0, word)  #: safe


@case(i32(5, 3), i32(40, min=0, max=2), requires=("-5 ≤ table ≤ 4",))
def a_machine_with_an_unknown_table(table, word):
    return lax.scan(lambda s, c: (table[s, c], s), 0, word)  #: requires


@case(i32(5, 3, min=0, max=5), i32(40, min=0, max=2))
def a_machine_with_a_state_too_many(table, word):
    return lax.scan(lambda s, c: (table[s, c], s), 0, word)  #: unsafe


@case(i32(12, min=0, max=11), i32(min=0, max=11))
def a_list_by_its_links(following, start):
    body = lambda c: (following[c[0]], c[1] + 1)  # noqa: E731  #: safe
    return lax.while_loop(lambda c: (c[0] != 0) & (c[1] < 99), body, (start, 0))


@case(i32(12, min=-1, max=11), i32(min=0, max=11))
def a_list_that_ends_at_minus_one(following, start):
    def body(c):
        return following.at[c].get(mode="promise_in_bounds", wrap_negative_indices=False)  #: safe

    return lax.while_loop(lambda c: c >= 0, body, start)


# Schedules and curricula.


@case(f32(10), i32(min=0))
def a_schedule(values, step):
    return values[jnp.minimum(step // 1000, 9)]  #: safe


@case(f32(10), i32(min=0), requires=("step ≤ 9999",))
def a_schedule_that_ends(values, step):
    return values[step // 1000]  #: requires


@case(f32(10), i32(min=0, max=10000))
def a_schedule_that_ends_too_early(values, step):
    return values[step // 1000]  #: unsafe


@case(f32(3), i32(4), i32())
def a_piecewise_schedule(values, bounds, step):
    redzone.assume(bounds[1:] >= bounds[:-1])
    return values[(step > bounds[:2]).sum()], values[(step > bounds).sum()]  #: safe unsafe


# Switches by an index that is clamped by JAX itself.


@case(f32(3), i32())
def one_of_three_heads(x, which):
    return lax.switch(which, [lambda: x[0], lambda: x[1] * 2, lambda: x[which]])  #: requires


@case(f32(8), i32(min=0, max=7), i32(min=0, max=7))
def only_a_branch_that_never_runs(x, i, j):
    def never():
        return lax.dynamic_slice(x, (i + 100,), (1,))[0]  #: safe

    return lax.cond(i > 7, never, lambda: lax.cond((i < j) & (j < i), never, lambda: x[i]))  #: safe


@case(f32(8), i32(3, 8, min=0, max=3))
def repeats_of_a_batch(x, counts):
    def one(counts):
        return x[jnp.repeat(jnp.arange(8), counts, total_repeat_length=20)]  #: safe declared

    return jax.vmap(one)(counts)


@case(i32(3, 20, min=0, max=15))
def places_of_a_batch(keys):
    def one(keys):
        count = jnp.zeros(16, jnp.int32).at[keys].add(1)  #: safe
        first = jnp.cumsum(count) - count
        return jnp.arange(21)[first]  #: safe

    return jax.vmap(one)(keys)


@case(i32(3, 20, min=0, max=15))
def places_of_all_batches(keys):
    count = jax.vmap(lambda keys: jnp.zeros(16, jnp.int32).at[keys].add(1))(keys)  #: safe
    return jnp.arange(21)[jnp.cumsum(count, axis=0)]  #: unsafe


# One term of a sum counts: the one at the place that is asked for.


@case(f32(8), i32(5, min=0, max=7))
def places_back_from_one_hot(x, expert):
    hot = jax.nn.one_hot(expert, 8, dtype=jnp.int32)
    return x[(hot * jnp.arange(8)).sum(-1)]  #: safe


@case(f32(7), i32(5, min=0, max=7))
def places_back_from_one_hot_and_one_too_few(x, expert):
    hot = jax.nn.one_hot(expert, 8, dtype=jnp.int32)
    return x[(hot * jnp.arange(8)).sum(-1)]  #: unsafe


@case(f32(5), i32(5, min=0, max=7))
def slots_by_counting_along_one_hot(x, expert):
    hot = jax.nn.one_hot(expert, 8, dtype=jnp.int32)
    return x[jnp.sum((jnp.cumsum(hot, 0) - 1) * hot, -1)]  #: safe


@case(f32(10), i32(min=0, max=7), i32(8, min=3, max=9))
def one_of_several_by_a_sum(x, which, table):
    at = jnp.where(jnp.arange(8) == which, table, 0).sum()
    return x[at], x[at - 3]  #: safe


@case(f32(10), i32(min=0, max=8), i32(8, min=3, max=9))
def one_of_several_or_none_by_a_sum(x, which, table):
    at = jnp.where(jnp.arange(8) == which, table, 0).sum()
    return x.at[at * 4 - 12].get(mode="promise_in_bounds")  #: unsafe


@case(f32(10), i32(min=0, max=7), i32(8, min=0, max=9))
def all_but_one_by_a_sum(x, which, table):
    return x[jnp.where(jnp.arange(8) == which, 0, table).sum()]  #: unsafe


@case(f32(10), i32(min=0, max=1), i32(3, min=5, max=9))
def two_of_several_by_a_sum(x, which, table):
    labels = jnp.array([0, 1, 1])
    return x[jnp.where(labels == which, table, 0).sum()]  #: unsafe


@case(f32(10), i32(3, min=0, max=2), i32(3, min=5, max=9))
def as_many_as_are_equal_by_a_sum(x, which, table):
    return x[jnp.where(jnp.arange(3) == which, table, 0).sum()]  #: unsafe


@case(f32(8), i32(3, min=0, max=1))
def a_number_of_its_bits(x, bits):
    dotted = x[bits @ jnp.array([1, 2, 4])]  #: safe
    return dotted, x[(bits << jnp.arange(3)).sum()], x[(bits * 2 ** jnp.arange(3)).sum()]  #: safe


@case(f32(7), i32(3, min=0, max=1))
def a_number_of_its_bits_that_is_one_too_many(x, bits):
    dotted = x[bits @ jnp.array([1, 2, 4])]  #: unsafe
    return dotted, x[(bits << jnp.arange(3)).sum()]  #: unsafe


@case(f32(29), i32(9, 2, min=0, max=4))
def places_on_a_grid_by_a_product(x, at):
    return x[at @ jnp.array([6, 1])], x[at @ jnp.array([1, 6])]  #: safe


@case(f32(29), i32(9, 2, min=0, max=4))
def places_on_a_larger_grid_by_a_product(x, at):
    return x[at @ jnp.array([7, 1])]  #: unsafe


# Each token's place among all, ordered by expert: how many there are before its expert's, and its rank among these.


@case(f32(9), i32(9, min=0, max=3))
def in_the_order_of_experts(x, expert):
    hot = jax.nn.one_hot(expert, 4, dtype=np.int32)
    counts = jnp.zeros(4, np.int32).at[expert].add(1)  #: safe
    first = jnp.cumsum(counts) - counts
    rank = (jnp.cumsum(hot, 0) - hot)[jnp.arange(9), expert]  #: safe
    return x[first[expert] + rank]  #: safe


@case(f32(9), i32(9, min=0, max=3))
def in_the_order_of_experts_by_ranks_from_one(x, expert):
    hot = jax.nn.one_hot(expert, 4, dtype=np.int32)
    counts = jnp.zeros(4, np.int32).at[expert].add(1)  #: safe
    first = jnp.cumsum(counts) - counts
    rank = jnp.cumsum(hot, 0)[jnp.arange(9), expert]  #: safe
    return x[first[expert] + rank]  #: safe unsafe


@case(f32(9), i32(9, min=0, max=3))
def in_the_order_of_experts_by_sums(x, expert):
    hot = expert[:, None] == jnp.arange(4)
    counts = jnp.bincount(expert, length=4)  #: safe
    first = jnp.cumsum(counts) - counts
    rank = jnp.where(hot, jnp.cumsum(hot, 0) - 1, 0).sum(1)
    return x[(hot * first).sum(1) + rank]  #: safe


@case(f32(9), i32(9, min=0, max=3), i32(9, min=0, max=3))
def in_the_order_of_other_experts(x, expert, other):
    hot = other[:, None] == jnp.arange(4)
    counts = jnp.bincount(expert, length=4)  #: safe
    first = jnp.cumsum(counts) - counts
    rank = jnp.where(hot, jnp.cumsum(hot, 0) - 1, 0).sum(1)
    return x[(hot * first).sum(1) + rank]  #: unsafe


@case(f32(9), i32(9, min=0, max=3))
def in_the_order_of_experts_counted_from_one(x, expert):
    hot = expert[:, None] == jnp.arange(4)
    counts = jnp.ones(4, np.int32).at[expert].add(1)  #: safe
    first = jnp.cumsum(counts) - counts
    rank = jnp.where(hot, jnp.cumsum(hot, 0) - 1, 0).sum(1)
    return x[first[expert] + rank]  #: safe unsafe


@case(f32(9), i32(9, min=0, max=4))
def in_the_order_of_experts_some_of_which_are_not_counted(x, expert):
    hot = expert[:, None] == jnp.arange(4)
    counts = jnp.zeros(4, np.int32).at[expert].add(1, mode="clip")  #: declared
    first = jnp.cumsum(counts) - counts
    rank = jnp.where(hot, jnp.cumsum(hot, 0) - 1, 0).sum(1)
    return x[(hot * first).sum(1) + rank]  #: unknown


@case(f32(4), i32(5, min=0, max=7))
def a_rank_among_more_than_there_are_places(x, expert):
    hot = expert[:, None] == jnp.arange(1, 9)
    return x[(hot * jnp.arange(8)).sum(1)]  #: unsafe
