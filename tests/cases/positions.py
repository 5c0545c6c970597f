"""Where an index may be: ends, negatives, windows, modes, dtypes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, i8, i32, u8, u32


@case(f32(4), i32(min=0, max=3))
def in_range(x, i):
    return x[i]  #: safe


@case(f32(4), i32(min=0, max=4))
def one_past_the_end(x, i):
    return x[i]  #: unsafe


@case(f32(4), i32(min=-4, max=-1))
def negative_wraps_into_range(x, i):
    return x[i]  #: safe


@case(f32(4), i32(min=-5, max=-1))
def negative_wraps_short_of_range(x, i):
    return x[i]  #: unsafe


@case(f32(4), i32(3))
def unconstrained(x, i):
    return x[i]  #: requires


@case(f32(4), i32(3))
def declared_fill(x, i):
    return x.at[i].get(mode="fill")  #: declared


@case(f32(4), i32(3))
def declared_clip(x, i):
    return x.at[i].get(mode="clip")  #: declared


@case(f32(4), i32(min=0, max=2))
def window_fits(x, i):
    return lax.dynamic_slice(x, (i,), (2,))  #: safe


@case(f32(4), i32(min=0, max=3))
def window_sticks_out(x, i):
    return lax.dynamic_slice(x, (i,), (2,))  #: unsafe


@case(f32(4), f32(2), i32(min=0, max=2))
def update_fits(x, u, i):
    return lax.dynamic_update_slice(x, u, (i,))  #: safe


@case(f32(4), f32(2), i32(min=1, max=3))
def update_sticks_out(x, u, i):
    return lax.dynamic_update_slice(x, u, (i,))  #: unsafe


@case(f32(4, 3), i32(5, min=0, max=3), i32(5, min=0, max=2))
def columns_keep_their_ranges(x, i, j):
    return x[i, j]  #: safe


@case(f32(4, 3), i32(5, min=0, max=3), i32(5, min=0, max=2))
def columns_swapped(x, i, j):
    return x[j, i]  #: unsafe


@case(f32(256), u8(3))
def a_byte_fits(x, i):
    return x[i]  #: safe


@case(f32(255), u8(3))
def a_byte_is_one_too_many(x, i):
    return x[i]  #: requires


@case(f32(127), i8(3, min=-127, max=126))
def a_signed_byte_wraps_into_range(x, i):
    return x[i]  #: safe


@case(f32(4), u32(min=0, max=3))
def unsigned(x, i):
    return x[i]  #: safe


@case(f32(4), u32(min=0, max=3))
def unsigned_below_zero(x, i):
    return x[i - np.uint32(1)]  #: unsafe


@case(f32(4))
def constant_table_inside(x):
    return x[np.array([0, 3, -1, 2])]  #: safe


@case(f32(4))
def constant_table_outside(x):
    return x[np.array([0, 3, 4])]  #: unsafe


@case(f32(4), i32(3, min=0, max=3))
def scatter_inside(x, i):
    return x.at[i].add(1.0)  #: safe


@case(f32(4), i32(3, min=0, max=4))
def scatter_outside(x, i):
    return x.at[i].add(1.0, mode="promise_in_bounds")  #: unsafe


@case(f32(4), i32(min=-2, max=0))
def what_counts_from_the_end(x, i):
    return lax.dynamic_slice(x, (jnp.where(i < 0, i + 4, i),), (1,))  #: safe


@case(f32(4), i32(min=-2, max=0))
def one_after_what_counts_from_the_end(x, i):
    return lax.dynamic_slice(x, (jnp.where(i < 0, i + 4, i) + 1,), (1,))  #: unsafe


# Places behind all elements of another kind.


@case(f32(9))
def a_stable_partition(x):
    first = x > 0
    place = jnp.where(first, jnp.cumsum(first) - 1, jnp.sum(first) + jnp.cumsum(~first) - 1)
    return jnp.zeros(9).at[place].set(x)  #: safe


@case(f32(9))
def a_partition_with_one_place_too_few(x):
    first = x > 0
    place = jnp.where(first, jnp.cumsum(first) - 1, jnp.sum(first) + jnp.cumsum(~first) - 1)
    return jnp.zeros(8).at[place].set(x)  #: unsafe


@case(f32(9))
def a_partition_by_kinds_that_overlap(x):
    first, second = x > 0, x <= 1
    place = jnp.where(second, jnp.sum(first) + jnp.cumsum(second) - 1, 0)
    return jnp.zeros(9).at[place].set(x)  #: unsafe


@case(i32(9))
def passes_of_a_radix_sort(x):
    def one(k, x):
        bit = (x >> k) & 1
        zeros = jnp.sum(1 - bit)
        place = jnp.where(bit == 1, zeros + jnp.cumsum(bit) - 1, jnp.cumsum(1 - bit) - 1)
        return jnp.zeros(9, np.int32).at[place].set(x)  #: safe

    return lax.fori_loop(0, 31, one, x)


@case(i32(9, min=0, max=127))
def a_pass_by_two_bits(x):
    bits = (x >> 3) & 3
    place = jnp.where(bits == 1, jnp.sum(1 - bits) + jnp.cumsum(bits) - 1, 0)
    return jnp.zeros(9, np.int32).at[place].set(x)  #: unknown


@case(f32(16), i32(min=0, max=8), f32(8))
def the_best_of_the_first_few(score, count, x):
    best = jnp.argmax(jnp.where(jnp.arange(16) < count, score, -jnp.inf))
    return x[best]  #: safe


@case(f32(16), i32(min=0, max=9), f32(8))
def the_best_of_one_too_many(score, count, x):
    best = jnp.argmax(jnp.where(jnp.arange(16) < count, score, -jnp.inf))
    return x[best]  #: unsafe


@case(f32(16, min=0, max=1), i32(min=0, max=15), f32(16))
def the_nearest_that_is_not_done(distance, done, x):
    best = jnp.argmin(jnp.where(jnp.arange(16) <= done, 2.0, distance))
    return x[best - 1 - done + 15]  #: unsafe


@case(f32(16, min=0, max=1), f32(8))
def the_nearest_in_the_later_half(distance, x):
    best = jnp.argmin(jnp.where(jnp.arange(16) < 8, 2.0, distance))
    return x[best - 8]  #: safe


@case(f32(16, min=0, max=2), f32(8))
def the_nearest_but_some_are_no_nearer(distance, x):
    best = jnp.argmin(jnp.where(jnp.arange(16) < 8, 2.0, distance))
    return x.at[best - 8].get(mode="promise_in_bounds")  #: safe


@case(f32(16, min=0, max=2), f32(8))
def the_nearest_but_some_are_farther(distance, x):
    best = jnp.argmin(jnp.where(jnp.arange(16) < 8, 1.0, distance))
    return x[15 - best]  #: unsafe


@case(f32(16), f32(8))
def the_best_where_others_are_not_less(score, x):
    best = jnp.argmax(jnp.where(jnp.arange(16) < 8, score, 0.0))
    return x[best]  #: unsafe


@case(i32(5, min=0, max=9), f32(5, min=0, max=1), f32(9))
def the_best_of_those_inside(q, score, x):
    inside = q < 9
    redzone.assume(inside.any())
    return x[q[jnp.argmax(jnp.where(inside, score, -1.0))]]  #: safe safe


@case(i32(5, min=0, max=9), f32(5, min=0, max=1), f32(9))
def the_best_of_those_inside_if_any_is(q, score, x):
    return x[q[jnp.argmax(jnp.where(q < 9, score, -1.0))]]  #: safe unsafe


@case(i32(5, min=0, max=9), f32(5, min=0, max=1), f32(9))
def the_best_of_those_inside_or_the_first(q, score, x):
    inside = q < 9
    redzone.assume(inside.any())
    return x[q[jnp.argmax(jnp.where(inside, score, 0.0))]]  #: safe unsafe


@case(i32(min=0, max=9), i32(2, min=0, max=1), f32(1))
def the_best_of_two_inside_or_the_first(first, score, x):
    q = jnp.stack([first, 0])
    return x[q[jnp.argmax(jnp.where(q < 1, score, 0))]]  #: safe unsafe


@case(i32(5, min=0, max=9), f32(5, min=0, max=1), f32(9))
def the_best_of_those_outside(q, score, x):
    return x[q[jnp.argmax(jnp.where(q < 9, -1.0, score))]]  #: safe unsafe


@case(i32(3, 6, min=0, max=5), i32(3, 6, min=0, max=20), f32(6))
def the_best_of_the_later_ones_of_each_row(q, score, x):
    best = jnp.argmax(jnp.where(jnp.arange(6)[None, :] >= 3, score, -1), axis=1)
    return x[best - 3]  #: safe


# Places that differ from each other: an order, and what is written at it


@case(i32(12), f32(12))
def an_order_inverted(keys, x):
    order = jnp.argsort(keys)
    inverse = jnp.full(12, 99).at[order].set(jnp.arange(12))  #: safe
    return x[inverse]  #: safe


@case(i32(12), f32(12))
def an_order_inverted_into_a_longer_array(keys, x):
    order = jnp.argsort(keys)
    inverse = jnp.full(13, 12).at[order].set(jnp.arange(12))  #: safe
    return x[inverse]  #: unsafe


@case(i32(12), f32(12))
def part_of_an_order_inverted(keys, x):
    order = jnp.argsort(keys)[:11]
    inverse = jnp.full(12, 12).at[order].set(jnp.arange(11))  #: safe
    return x[inverse]  #: unsafe


@case(i32(12, min=0, max=11), f32(12))
def places_that_need_not_differ(places, x):
    return x[jnp.full(12, 12).at[places].set(0)]  #: safe unsafe


@case(i32(3, 8), f32(8))
def orders_inverted_row_by_row(keys, x):
    def inverted(row):
        return jnp.full(8, -70).at[jnp.argsort(row)].set(jnp.arange(8))  #: safe

    return x.at[jax.vmap(inverted)(keys)].get(mode="promise_in_bounds")  #: safe


@case(i32(8, 3), f32(8))
def orders_of_columns_used_for_rows(keys, x):
    order = jnp.argsort(keys, axis=0)
    inverse = jnp.full((8, 8), 8).at[jnp.arange(8)[:, None], order].set(0)  #: safe
    return x[inverse]  #: unsafe


@case(u32(2), f32(10))
def a_random_order_inverted(key, x):
    order = jax.random.permutation(key, 10)
    again = order[jnp.argsort(order)]  #: safe
    inverse = jnp.full(10, 10).at[again].set(order)  #: safe
    return x[inverse]  #: safe


@case(i32(12), i32(12, min=0, max=3), f32(16))
def counted_once_each(keys, more, x):
    order = jnp.argsort(keys)
    return x[jnp.full(12, 12).at[order].add(more)]  #: safe safe


@case(i32(12), i32(12, min=0, max=3), f32(15))
def counted_once_each_in_too_short_a_table(keys, more, x):
    order = jnp.argsort(keys)
    return x[jnp.full(12, 12).at[order].add(more)]  #: safe unsafe


@case(f32(20), f32(9))
def the_best_few_counted(score, x):
    _, best = lax.top_k(score, 5)
    return x[jnp.full(20, 7).at[best].add(1)]  #: safe safe


@case(f32(20), f32(9))
def the_best_few_counted_twice(score, x):
    _, best = lax.top_k(score, 5)
    both = jnp.concatenate([best, best])
    return x[jnp.full(20, 7).at[both].add(1)]  #: safe unsafe


@case(i32(300), f32(300))
def an_order_in_too_few_bits(keys, x):
    order = jnp.argsort(keys).astype(np.uint8)
    return x[jnp.full(300, 300).at[order].set(0)]  #: safe unsafe


@case(i32(12), f32(12))
def rows_written_in_an_order(keys, x):
    order = jnp.argsort(keys)
    rows = jnp.full((12, 2), 12).at[order].set(jnp.arange(24).reshape(12, 2) // 2)  #: safe
    return x[rows]  #: safe


@case(i32(12), f32(12))
def parts_of_rows_written_in_an_order(keys, x):
    order = jnp.argsort(keys)
    rows = jnp.full((12, 2), 12).at[order, 0].set(jnp.arange(12))  #: safe
    return x[rows]  #: unsafe
