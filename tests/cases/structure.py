"""Calls, transformations and libraries around an access."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, flag, i32


@case(f32(4), i32(min=0, max=3), i32(min=0, max=4))
def shared_function(x, i, j):
    @jax.jit
    def element(k):
        return x[k]  #: unsafe

    return element(i), element(j)


@case(f32(4, 3), i32(4, min=0, max=2))
def batched_rows(x, i):
    return jax.vmap(lambda row, j: row[j])(x, i)  #: safe


@case(f32(4, 3), i32(4, min=0, max=3))
def batched_rows_too_far(x, i):
    return jax.vmap(lambda row, j: row[j])(x, i)  #: unsafe


@case(f32(4), i32(3, min=0, max=3))
def gradient(x, i):
    return jax.grad(lambda v: v[i].sum())(x)  #: safe


@case(f32(4), i32(3, min=0, max=4))
def gradient_too_far(x, i):
    return jax.grad(lambda v: v[i].sum())(x)  #: unsafe


@case(f32(4), i32(min=0, max=3))
def rematerialised(x, i):
    return jax.grad(jax.checkpoint(lambda v: jnp.sin(v[i])))(x)  #: safe


@case(f32(28), i32(4, 3, min=0, max=9))
def sums_over_lanes(x, i):
    return jax.vmap(lambda row: x[lax.psum(row, "rows")], axis_name="rows", in_axes=1)(i)  #: safe


@case(f32(28), i32(3, 4, min=0, max=9))
def sums_over_more_lanes(x, i):
    return jax.vmap(lambda row: x[lax.psum(row, "rows")], axis_name="rows", in_axes=1)(i)  #: unsafe


@case(f32(109), i32(4, 3, min=0, max=9))
def sums_over_lanes_of_lanes(x, i):
    inner = jax.vmap(lambda k: x[lax.psum(k, ("rows", "columns"))], axis_name="columns")  #: safe
    return jax.vmap(inner, axis_name="rows")(i)


@case(f32(36), i32(4, 3, min=0, max=9))
def sums_over_lanes_of_some_lanes(x, i):
    inner = jax.vmap(lambda k: x[lax.psum(k, "columns") + lax.psum(1, "rows")], axis_name="columns")  #: safe
    return jax.vmap(inner, axis_name="rows")(i)


@case(f32(10), i32(3, 6, min=0, max=3))
def sums_over_lanes_scattered(x, i):
    return jax.vmap(lambda row: x[lax.psum_scatter(row[:3], "rows")], axis_name="rows")(i)  #: safe


@case(flag(4))
def slots_by_cumsum_from_minus_one(keep):
    slot = jnp.cumsum(keep) - 1
    return jnp.zeros(4, np.int32).at[slot].set(1, mode="promise_in_bounds")  #: safe


@case(flag(4))
def slots_by_cumsum_too_few(keep):
    slot = jnp.cumsum(keep)
    return jnp.zeros(4, np.int32).at[slot].set(1, mode="promise_in_bounds")  #: unsafe


@case(flag(4))
def slots_by_cumsum_one_up(keep):
    slot = jnp.cumsum(keep)
    return jnp.zeros(5, np.int32).at[slot].set(1, mode="promise_in_bounds")  #: safe


@case(f32(4), i32(4))
def links(x, raw):
    following = jnp.clip(raw, 0, 3)
    return x[lax.fori_loop(0, 5, lambda _, i: following[i], 0)]  #: safe


@case(f32(4), i32(2, 2, min=0, max=1))
def associative(x, i):
    return x[lax.associative_scan(jnp.maximum, i)]  #: safe


@case(f32(10), i32(40, 10, min=0, max=9))
def associative_over_rows(x, i):
    return x[lax.associative_scan(jnp.minimum, i)]  #: safe


@case(f32(9), i32(40, 10, min=0, max=9))
def associative_over_rows_of_a_short_table(x, i):
    return x[lax.associative_scan(jnp.minimum, i)]  #: unsafe


@case(f32(9), i32(40, 10), requires=("-9 ≤ i ≤ 8",))
def associative_over_rows_of_anything(x, i):
    return x[lax.associative_scan(jnp.minimum, i)]  #: requires


@case(f32(10), i32(4000, min=0, max=9), i32(4000, min=0, max=9))
def every_other_of_two(x, a, b):
    return x[lax.pad(a, 0, [(0, 1, 1)]) + lax.pad(b, 0, [(1, 0, 1)])]  #: safe


@case(f32(10), i32(2000, min=0, max=9), i32(2000, min=0, max=9))
def one_after_the_other_of_two(x, a, b):
    return x[lax.pad(a, 0, [(0, 2000, 0)]) | lax.pad(b, 0, [(2000, 0, 0)])]  #: safe


@case(f32(10), i32(4000, min=0, max=9), i32(4000, min=1, max=9))
def every_other_of_two_by_the_greater(x, a, b):
    low = np.iinfo(np.int32).min
    at = jnp.maximum(lax.pad(a, low, [(0, 1, 1)]), lax.pad(b, low, [(1, 0, 1)]))
    return x.at[at].get(mode="promise_in_bounds")  #: safe


@case(f32(10), i32(2000, min=0, max=9), i32(2000, min=0, max=9))
def every_third_of_two(x, a, b):
    low = np.iinfo(np.int32).min
    at = jnp.maximum(lax.pad(a, low, [(0, 2, 2)]), lax.pad(b, low, [(1, 1, 2)]))
    return x.at[at].get(mode="promise_in_bounds")  #: unsafe


@case(f32(10), i32(2000, min=0, max=9), i32(2000, min=0, max=9))
def every_other_of_two_in_the_same_places(x, a, b):
    return x[lax.pad(a, 0, [(0, 1, 1)]) + lax.pad(b, 0, [(0, 1, 1)])]  #: unsafe


@case(f32(10), i32(2001, min=0, max=9), i32(2000, min=0, max=9))
def one_after_the_other_with_one_in_common(x, a, b):
    return x[lax.pad(a, 0, [(0, 1999, 0)]) + lax.pad(b, 0, [(2000, 0, 0)])]  #: unsafe


@case(f32(10), i32(2000, min=0, max=9), i32(2000, min=0, max=9))
def every_other_of_two_between_ones(x, a, b):
    return x[lax.pad(a, 1, [(0, 1, 1)]) + lax.pad(b, 0, [(1, 0, 1)])]  #: unsafe


@case(f32(5), f32(4), f32(3))
def searched(x, line, queries):
    return x[jnp.searchsorted(jnp.sort(line), queries)]  #: safe


@case(f32(3), i32(20, min=0, max=9))
def sums_of_scattered_ones(x, at):
    filled = jnp.zeros(10, np.int32).at[at[:3]].add(1, mode="drop")  #: safe
    return x.at[jnp.cumsum(filled) - 1].get(mode="promise_in_bounds")  #: safe


@case(f32(3), i32(20, min=0, max=9))
def sums_of_more_scattered_ones(x, at):
    filled = jnp.zeros(10, np.int32).at[at[:4]].add(1, mode="drop")  #: safe
    return x.at[jnp.cumsum(filled) - 1].get(mode="promise_in_bounds")  #: unsafe


@case(f32(3), i32(20, min=0, max=9))
def sums_on_top_of_ones(x, at):
    filled = jnp.ones(10, np.int32).at[at[:3]].add(1, mode="drop")  #: safe
    return x.at[jnp.cumsum(filled) - 1].get(mode="promise_in_bounds")  #: unsafe


@case(f32(4), i32())
def same_branch_twice(x, i):
    inside = (i >= 0) & (i < 4)
    slot = lax.cond(inside, lambda: jnp.full((), 2, np.int32), lambda: i)
    return lax.cond(inside, lambda: x.at[slot].get(mode="promise_in_bounds"), lambda: x[0])  #: safe


@case(f32(4), i32())
def the_other_branch_then(x, i):
    inside = (i >= 0) & (i < 4)
    slot = lax.cond(inside, lambda: jnp.full((), 2, np.int32), lambda: i)
    return lax.cond(i < 4, lambda: x.at[slot].get(mode="promise_in_bounds"), lambda: x[0])  #: requires


@case(f32(4), flag(), i32(min=4, max=9))
def branch_and_its_contrary(x, take, i):
    slot = lax.cond(take, lambda: jnp.full((), 2, np.int32), lambda: i)
    return lax.cond(take, lambda: x[0], lambda: x.at[slot].get(mode="promise_in_bounds"))  #: unsafe


@case(f32(5), flag(4))
def share_of_a_count(x, kept):
    count = jnp.sum(kept.astype(np.int32).astype(np.float32))
    return x[jnp.minimum(count, jnp.floor(x[0])).astype(np.int32) * 0 + count.astype(np.int32)]  #: safe


@case(f32(4), flag(4))
def share_of_a_count_too_far(x, kept):
    count = jnp.sum(kept.astype(np.int32).astype(np.float32))
    return x.at[count.astype(np.int32)].get(mode="promise_in_bounds")  #: unsafe


@case(f32(4), i32())
def counters_side_by_side(x, n):
    def body(c):
        step, other, total = c
        return step + 1, other + 1, total + x.at[other].get(mode="promise_in_bounds")  #: safe

    return lax.while_loop(lambda c: (c[0] < 4) & (c[2] < 9), body, (0, 0, 0.0))


@case(f32(4), i32())
def counters_side_by_side_too_far(x, n):
    def body(c):
        step, other, total = c
        return step + 1, other + 1, total + x.at[other].get(mode="promise_in_bounds")  #: unsafe

    return lax.while_loop(lambda c: (c[0] < 5) & (c[2] < 9), body, (0, 0, 0.0))


def _part(share):
    return jnp.where(share >= 0, share, 0.5)


@case(f32(4), f32(4, min=0.0, max=9.0), f32(3, min=0.0, max=1.0))
def share_of_the_last(x, weights, share):
    line = jnp.cumsum(weights)
    return x.at[jnp.searchsorted(line, line[-1] * _part(share))].get(mode="promise_in_bounds")  #: safe


@case(f32(4), f32(4, min=0.0, max=9.0), f32(min=0.0, max=1.0))
def one_share_of_the_last(x, weights, share):
    line = jnp.cumsum(weights)
    return x.at[jnp.searchsorted(line, line[-1] * _part(share))].get(mode="promise_in_bounds")  #: safe


@case(f32(4), f32(4, min=0.0, max=9.0), f32(3, min=0.0, max=1.5))
def more_than_the_last(x, weights, share):
    line = jnp.cumsum(weights)
    at = jnp.searchsorted(line, line[-1] * _part(share))  #: safe
    return x.at[at].get(mode="promise_in_bounds")  #: unsafe


@case(f32(4), f32(4, min=-9.0, max=0.0), f32(3, min=0.0, max=1.0))
def share_of_something_negative(x, weights, share):
    line = jnp.cumsum(weights)
    at = jnp.searchsorted(line, line[-1] * _part(share))  #: safe
    return x.at[at].get(mode="promise_in_bounds")  #: unsafe


@case(f32(4), f32(4, min=0.0, max=9.0), f32(3, min=0.0, max=1.0))
def after_a_share_of_the_last(x, weights, share):
    line = jnp.cumsum(weights)
    at = jnp.searchsorted(line, line[-1] * _part(share), side="right")  #: safe
    return x.at[at].get(mode="promise_in_bounds")  #: unsafe


@case(f32(4), f32(4, min=0.0, max=9.0), f32(3, min=0.0, max=1.0))
def share_of_another(x, weights, share):
    line = jnp.cumsum(weights)
    at = jnp.searchsorted(line, jnp.cumsum(weights + 1)[-1] * _part(share))  #: safe
    return x.at[at].get(mode="promise_in_bounds")  #: unsafe


@case(f32(4), i32(min=0, max=3))
def a_solve_that_reads_inside(x, i):
    def solve(_, b):
        return b * lax.dynamic_slice(x, (i,), (1,))[0]  #: safe

    return lax.custom_linear_solve(lambda v: v, x, solve)


@case(f32(4), i32())
def a_solve_that_may_read_outside(x, i):
    def solve(_, b):
        return b * lax.dynamic_slice(x, (i,), (1,))[0]  #: requires

    return lax.custom_linear_solve(lambda v: v, x, solve)


@case(f32(5), i32())
def a_cursor_that_only_the_loop_moves(x, n):
    def body(c):
        k, at, total = c
        at = jnp.where(k % 2 == 0, at + 1, at)
        return k + 1, at, total + lax.dynamic_slice(x, (at,), (1,))[0]  #: unsafe

    return lax.while_loop(lambda c: (c[0] < n) & (c[0] < 12), body, (0, 0, 0.0))[2]


@case(f32(9), i32())
def a_cursor_that_the_loop_ends_in_time(x, n):
    def body(c):
        k, at, total = c
        at = jnp.where(k % 2 == 0, at + 1, at)
        return k + 1, at, total + lax.dynamic_slice(x, (jnp.minimum(at, 8),), (1,))[0]  #: safe

    return lax.while_loop(lambda c: (c[0] < n) & (c[0] < 12), body, (0, 0, 0.0))[2]


@case(f32(5), i32())
def a_cursor_that_goes_on_as_long_as_told(x, n):
    def body(c):
        k, at, total = c
        at = jnp.where(k % 2 == 0, at + 1, at)
        return k + 1, at, total + lax.dynamic_slice(x, (at,), (1,))[0]  #: requires

    return lax.while_loop(lambda c: c[0] < n, body, (0, 0, 0.0))[2]


@case(f32(20), f32(40), i32(40, min=0, max=19), i32(11, min=0, max=40))
def rows_of_a_sparse_matrix_side_by_side(x, data, columns, ends):
    def row(i):
        def add(k, total):
            return total + data[k] * x[columns[k]]  #: masked safe

        return lax.fori_loop(ends[i], ends[i + 1], add, 0.0)  #: safe

    return jax.vmap(row)(jnp.arange(10))


@case(f32(20), f32(40), i32(40, min=0, max=19), i32(11, min=0, max=41))
def rows_of_a_sparse_matrix_past_its_end(x, data, columns, ends):
    def row(i):
        def add(k, total):
            return total + data[k] * x[columns[k]]  #: unsafe safe

        return lax.fori_loop(ends[i], ends[i + 1], add, 0.0)  #: safe

    return jax.vmap(row)(jnp.arange(10))


@case(f32(9, 4), i32(5, 2, min=0, max=9))
def columns_in_another_order(x, pairs):
    pairs = jnp.minimum(pairs, np.array([3, 8]))[:, np.array([1, 0])]  #: safe
    return x[pairs[:, 0], pairs[:, 1]]  #: safe


@case(f32(4, 9), i32(5, 2, min=0, max=9))
def columns_in_the_wrong_order(x, pairs):
    pairs = jnp.minimum(pairs, np.array([3, 8]))[:, np.array([1, 0])]  #: safe
    return x[pairs[:, 0], pairs[:, 1]]  #: unsafe


@case(f32(9), i32(2, 3, min=0, max=9))
def some_rows_of_a_table_in_the_middle(x, table):
    rows = jnp.minimum(table, np.array([[5], [8]]))[np.array([1, 0, 0])]  #: safe
    return x[rows[1:] + 3]  #: safe


@case(f32(9), i32(2, 3, min=0, max=9))
def all_rows_of_a_table(x, table):
    rows = jnp.minimum(table, np.array([[5], [8]]))[np.array([1, 0, 0])]  #: safe
    return x[rows + 3]  #: unsafe


# Arrays taken apart: `a, b = x` is one equation, or one for each


@case(f32(4, 6), i32(2, min=0, max=9))
def coordinates_taken_apart(x, at):
    i, j = jnp.unstack(jnp.minimum(at, np.array([3, 5])))
    return x[i, j]  #: safe


@case(f32(4, 6), i32(2, min=0, max=9))
def coordinates_taken_apart_and_exchanged(x, at):
    j, i = jnp.unstack(jnp.minimum(at, np.array([3, 5])))
    return x[i, j]  #: unsafe


@case(f32(4, 6), i32(5, 2))
def coordinates_of_many_under_a_condition(x, at):
    i, j = jnp.unstack(at, axis=1)
    ok = (i >= 0) & (i < 4) & (j >= 0) & (j < 6)
    return x[jnp.where(ok, i, 0), jnp.where(ok, j, 0)]  #: safe


@case(f32(4, 6), i32(5, 2))
def coordinates_of_many_under_half_a_condition(x, at):
    i, j = jnp.unstack(at, axis=1)
    ok = (i >= 0) & (i < 4) & (j >= 0)
    return x[jnp.where(ok, i, 0), jnp.where(ok, j, 0)]  #: requires


@case(f32(4), i32(3))
def an_element_written_and_taken_apart(x, state):
    _, b, _ = jnp.unstack(state.at[1].set(jnp.clip(state[0], 0, 3)))  #: safe
    return x[b]  #: safe


@case(f32(4), i32(3))
def the_element_beside_the_one_written(x, state):
    _, _, c = jnp.unstack(state.at[1].set(jnp.clip(state[0], 0, 3)))  #: safe
    return x[c]  #: requires


@case(f32(4, 6), f32(2), requires=("-2.5 < p[0] < 2.0", "-3.5 < p[1] < 3.0"))
def floats_taken_apart(x, p):
    i, j = jnp.unstack((p * 2.0).astype(int))
    return x[i, j]  #: requires


@case(f32(4), i32(5, 3))
def a_state_carried_by_a_loop_and_taken_apart(x, moves):
    def step(state, move):
        a, b, c = jnp.unstack(state)
        a = jnp.where(move[0] > 0, jnp.minimum(a + 1, 3), a)
        return jnp.stack([a, b + move[1], c]), x[a]  #: safe

    return lax.scan(step, jnp.zeros(3, int), moves)
