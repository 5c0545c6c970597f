"""Relations between values: between inputs, between loops, between conditions."""

from __future__ import annotations

import importlib.util

import jax
import jax.numpy as jnp
from jax import lax

import redzone
from tests.cases import case, f32, i32, u32


@case(f32(10), i32(), i32())
def sum_of_two_inputs(x, start, length):
    return x[start + length]  #: requires


@case(f32(10), i32(min=0, max=9), i32(min=0, max=9))
def difference_kept_by_a_condition(x, i, j):
    return lax.cond(i >= j, lambda: x[i - j], lambda: x[j - i])  #: safe


@case(f32(10), i32(min=0, max=9), i32(min=0, max=9))
def difference_the_wrong_way_round(x, i, j):
    return lax.cond(i >= j, lambda: x[9 + i - j], lambda: x[0])  #: unsafe


@case(f32(10), i32(min=0, max=9), i32())
def only_one_term_counts(x, pos, action):
    left, right = action == 1, action == 3
    pos = jnp.maximum(0, pos - 1) * left + jnp.minimum(9, pos + 1) * right + pos * (1 - (left | right))
    return x[pos]  #: safe


@case(f32(10), i32(min=0, max=9), i32())
def two_terms_can_count(x, pos, action):
    return lax.dynamic_slice(x, (pos * (action > 1) + 5 * (action > 2),), (1,))  #: unsafe


@case(f32(6, 6))
def triangle(x):
    def row(j, x):
        return lax.fori_loop(0, j, lambda i, x: x.at[j - 1 - i, j].set(1.0), x)  #: safe

    return lax.fori_loop(0, 6, row, x)


@case(f32(6))
def along_diagonals(x):
    def diagonal(p, x):
        def step(i, x):
            j = i + p
            return x.at[j].add(lax.dynamic_slice(x, (j - i,), (1,))[0])  #: safe

        return lax.fori_loop(0, 6 - p, step, x)

    return lax.fori_loop(0, 6, diagonal, x)


@case(f32(6))
def one_diagonal_too_long(x):
    def diagonal(p, x):
        return lax.fori_loop(0, 7 - p, lambda i, x: x + lax.dynamic_slice(x, (i + p,), (1,)), x)  #: unsafe

    return lax.fori_loop(0, 6, diagonal, x)


@case(f32(6), i32(min=0, max=5), i32(min=0, max=5))
def called_with_equal_and_with_different_numbers(x, i, j):
    @jax.jit
    def both(x, i, j):
        near = lax.dynamic_slice(x, (i - j + 5,), (1,))  #: unsafe
        for _ in range(40):
            near = jnp.sin(near)
        return near

    return both(x, i, i) + both(x, i, j)


@case(f32(6), i32(min=0, max=5), i32(min=0, max=5))
def called_with_equal_numbers(x, i, j):
    @jax.jit
    def both(x, i, j):
        near = lax.dynamic_slice(x, (i - j + 5,), (1,))  #: safe
        for _ in range(40):
            near = jnp.sin(near)
        return near

    return both(x, i, i) + both(x, j, j)


@case(f32(16), i32(min=0, max=3), i32(min=0, max=3))
def product_of_unknowns(x, i, j):
    return lax.dynamic_slice(x, (i * j + i - j + 3,), (1,))  #: safe


# A difference of numbers that are never negative wraps instead of becoming so.


@case(f32(10), u32(), u32(), requires=("0 ≤ i - k ≤ 9",))
def before_in_numbers_without_a_sign(x, i, k):
    return x[i - k]  #: requires


@case(f32(10), u32(5), u32(5), requires=("for all j: 0 ≤ i[j] - k[j] ≤ 9",))
def some_before_in_numbers_without_a_sign(x, i, k):
    return x[i - k]  #: requires


@case(f32(10), u32(max=10))
def the_one_before_or_the_first(x, i):
    return x[jnp.where(i > 0, i - 1, 0)]  #: safe


@case(f32(10), u32(max=11))
def the_one_before_one_too_far(x, i):
    return x[jnp.where(i > 0, i - 1, 0)]  #: unsafe


# Only z3 knows.
if importlib.util.find_spec("z3") is not None:

    @case(f32(1), i32(min=0, max=255), i32(min=0, max=255))
    def bits_that_cancel(x, i, j):
        return lax.dynamic_slice(x, ((i & j) + (i ^ j) - (i | j),), (1,))  #: safe


@case(f32(8), i32(8, 3))
def flag_columns_of_a_table(x, state):
    return x[state[:, 0] + state[:, 1]]  #: requires


@case(f32(4, 4), i32(2, 2))
def written_at_a_known_place(x, table):
    table = table.at[1, 0].set(3)  #: safe
    return x[table[1, 0], 0]  #: safe


@case(f32(4, 4), i32(2, 2, min=0, max=3), i32(min=0, max=1))
def written_at_an_unknown_place(x, table, k):
    table = table.at[k, 0].set(5)  #: safe
    value = x[table[0, 1], 0]  #: safe
    return value + lax.dynamic_slice(x, (table[1, 0], 0), (1, 1))[0, 0]  #: unsafe


@case(f32(10), i32(), i32())
def between_two_that_are_in_order(x, a, b):
    return lax.cond((a >= 0) & (a <= b) & (b < 10), lambda: x[b - a] + x[a], lambda: 0.0)  #: safe


@case(f32(10), i32(), i32(), i32())
def between_three_that_are_in_order(x, a, b, c):
    return lax.cond((a <= b) & (b < c) & (c <= 10) & (a >= 0), lambda: x[a], lambda: 0.0)  #: safe


@case(f32(10), i32(), i32(), i32())
def between_three_that_are_almost_in_order(x, a, b, c):
    return lax.cond((a <= b) & (b <= c) & (c <= 10) & (a >= 0), lambda: x[a], lambda: 0.0)  #: unsafe


# What is less than the last element of an array is found before its end, be it sorted or not.


@case(i32(5), f32(5), i32(7))
def below_the_last_end(ends, x, t):
    return jnp.where(t < ends[-1], x[jnp.searchsorted(ends, t, side="right")], 0.0)  #: safe masked


@case(i32(5), f32(5), i32(7))
def at_most_the_last_end(ends, x, t):
    return jnp.where(t <= ends[-1], x[jnp.searchsorted(ends, t, side="right")], 0.0)  #: safe unsafe


@case(f32(5), f32(5), f32())
def at_most_the_last_edge(edges, x, t):
    return x[jnp.where(edges[-1] >= t, jnp.searchsorted(edges, t), 0)]  #: safe


@case(f32(5), f32(5), f32())
def not_above_the_last_edge(edges, x, t):
    # A NaN is not above it either, and is found at the end.
    return x[jnp.where(~(edges[-1] < t), jnp.searchsorted(edges, t), 0)]  #: safe unknown


@case(i32(5), f32(5), i32(7))
def below_another_end(ends, x, t):
    return jnp.where(t < ends[-2], x[jnp.searchsorted(ends, t, side="right")], 0.0)  #: safe unknown


@case(i32(5), i32(5), f32(5), i32())
def below_the_end_of_others(ends, others, x, t):
    return jnp.where(t < others[-1], x[jnp.searchsorted(ends, t)], 0.0)  #: safe unknown


@case(i32(5), f32(5), i32())
def promised_below_the_last_end(ends, x, t):
    redzone.assume(t < ends[-1])
    return x[jnp.searchsorted(ends, t, side="right")]  #: safe


@case(i32(5), f32(5), i32(6))
def the_lesser_of_it_and_the_last(edges, x, t):
    return x[jnp.searchsorted(edges, jnp.minimum(t, edges[-1]))]  #: safe


@case(i32(5), f32(5), i32(6))
def clipped_to_the_last(edges, x, t):
    return x[jnp.searchsorted(edges, jnp.clip(t, 0, edges[-1]))]  #: safe


@case(i32(5), f32(5), i32(6))
def the_lesser_behind_equal_ones(edges, x, t):
    return x[jnp.searchsorted(edges, jnp.minimum(t, edges[-1]), side="right")]  #: safe unsafe


@case(f32(5), f32(5), f32(6))
def the_lesser_of_what_may_be_nan(edges, x, t):
    return x[jnp.searchsorted(edges, jnp.minimum(t, edges[-1]))]  #: safe unknown


@case(f32(10), i32(), i32(), i32())
def somewhere_between_two(x, first, end, draw):
    redzone.assume((first >= 0) & (first < end) & (end <= 10))
    return x[first + draw % (end - first)]  #: safe


@case(f32(10), i32(), i32(), i32())
def somewhere_behind_the_first_of_two(x, first, end, draw):
    redzone.assume((first >= 0) & (first < end) & (end <= 10))
    return x[first + draw % (end - first) + 1]  #: unsafe


# What is left has the sign of what was divided.
@case(f32(10), i32(), i32(), i32())
def somewhere_around_the_first(x, first, end, draw):
    redzone.assume((first >= 0) & (first < end) & (end <= 10))
    at = first + lax.rem(draw, end - first)
    after = x[lax.max(at, 0)]  #: safe
    return after, x[at + 8]  #: unsafe


@case(f32(10), i32(), i32(), u32(2))
def drawn_between_two(x, first, end, key):
    redzone.assume((first >= 0) & (first < end) & (end <= 10))
    return x[jax.random.randint(jax.random.wrap_key_data(key), (), first, end)]  #: safe


@case(f32(20), i32(min=0, max=19), i32(min=1, max=20), i32(20, min=0, max=9), i32(min=0, max=19))
def a_step_back_that_something_else_decides(x, i, j, c, k):
    return x[i - j - (c.at[k].set(1)[3] == 3)]  #: safe unsafe
