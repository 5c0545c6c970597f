"""What arithmetic does to an index: division, remainder, bits, wraparound, floats."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, flag, i8, i32, u8


@case(f32(4), i32())
def modulo_is_never_negative(x, i):
    return x[i % 4]  #: safe


@case(f32(4), i32(min=-100, max=100))
def remainder_can_be_negative(x, i):
    return lax.dynamic_slice(x, (lax.rem(i, np.int32(4)),), (1,), allow_negative_indices=False)  #: unsafe


@case(f32(4), i32(min=0, max=2**31 - 1))
def remainder_of_a_natural_number(x, i):
    return x[lax.rem(i, np.int32(4))]  #: safe


@case(f32(4), i32(min=0, max=7))
def halved(x, i):
    return x[i // 2]  #: safe


@case(f32(4), i32(min=0, max=8))
def halved_one_too_far(x, i):
    return x[i // 2]  #: unsafe


@case(f32(4), i32(min=-8, max=-1))
def floor_of_a_negative(x, i):
    return x[i // 2]  #: safe


@case(f32(4), i32())
def low_bits(x, i):
    return x[i & 3]  #: safe


@case(f32(4), i32(min=0, max=100))
def too_many_low_bits(x, i):
    return x[i & 7]  #: unsafe


@case(f32(4), i32())
def high_bits(x, i):
    return x[lax.shift_right_logical(i, np.int32(30))]  #: safe


@case(f32(4), i32())
def clipped(x, i):
    return x[jnp.clip(i, 0, 3)]  #: safe


@case(f32(4), i32())
def clipped_to_the_size(x, i):
    return x[jnp.clip(i, 0, 4)]  #: unsafe


@case(f32(200), i8(min=100, max=127))
def a_sum_that_wraps(x, i):
    return lax.dynamic_slice(x, (i + np.int8(1),), (1,), allow_negative_indices=False)  #: unsafe


@case(f32(300), u8(min=250, max=255), u8(min=0, max=3))
def an_unsigned_sum_that_wraps_stays_inside(x, i, j):
    return x[i + j]  #: safe


@case(f32(4), f32())
def scaled_fraction(x, u):
    return x[(jnp.clip(u, 0.0, 0.75) * 4).astype(np.int32)]  #: safe


@case(f32(4), f32())
def scaled_fraction_of_one(x, u):
    return x[(jnp.clip(u, 0.0, 1.0) * 4).astype(np.int32)]  #: unsafe


@case(f32(4), f32(min=0.0, max=3.99))
def truncated(x, u):
    return x[u.astype(np.int32)]  #: safe


@case(f32(4), f32(min=-0.5, max=3.0))
def truncated_toward_zero(x, u):
    return x[u.astype(np.int32)]  #: safe


@case(f32(3), i32(4))
def position_of_the_largest(x, v):
    return x[jnp.argmax(v)]  #: unsafe


@case(f32(4), i32(4))
def position_of_the_largest_fits(x, v):
    return x[jnp.argmax(v)]  #: safe


@case(f32(4), f32(4))
def sorted_order(x, v):
    return x[jnp.argsort(v)]  #: safe


@case(f32(4), i32(min=-3, max=3))
def absolute(x, i):
    return x[jnp.abs(i)]  #: safe


@case(f32(8), i32(min=0, max=3))
def a_small_number_times_itself_again_and_again(x, i):
    square = 100 * i * i
    power = (square - 30 * i) * square
    return x[jnp.where(i % 2 == 1, power, power - i) // 100000]  #: safe


@case(f32(9), i32(min=0, max=9))
def power_of_a_small_number(x, depth):
    return x[2**depth // 64]  #: safe


@case(f32(8), i32(min=0, max=9))
def power_of_a_small_number_too_far(x, depth):
    return x[2**depth // 64]  #: unsafe


@case(f32(4), flag())
def no_number_or_one_inside(x, missing):
    rank = lax.cond(missing, lambda: jnp.full((), np.nan), lambda: jnp.full((), 3.5))
    return x.at[rank.astype(np.int32)].get(mode="promise_in_bounds")  #: safe


@case(f32(4), flag())
def no_number_or_one_outside(x, missing):
    rank = lax.cond(missing, lambda: jnp.full((), np.nan), lambda: jnp.full((), 4.5))
    return x.at[rank.astype(np.int32)].get(mode="promise_in_bounds")  #: unsafe


# Folds by a function of one's own, products, bits of many numbers.


@case(f32(5), i32(12, min=0, max=4))
def a_hash_of_many(x, i):
    return x[lax.reduce(i, np.int32(0), lambda a, b: (a * 2 + b) % 5, (0,))]  #: safe


@case(f32(5), i32(12, min=0, max=4))
def a_hash_of_many_that_starts_outside(x, i):
    return x[lax.reduce(i[:0], np.int32(5), lambda a, b: (a * 2 + b) % 5, (0,))]  #: unknown


@case(f32(5), i32(12, min=0, max=4))
def a_hash_of_many_not_taken_back(x, i):
    return x[lax.reduce(i, np.int32(0), lambda a, b: jnp.maximum(a, b) + 1, (0,))]  #: unknown


@case(f32(9), i32(12, min=0, max=4))
def doubled_in_place(x, i):
    return x[i.at[3].apply(lambda v: 2 * v)]  #: safe


@case(f32(8), i32(12, min=0, max=4))
def doubled_in_place_too_far(x, i):
    return x[i.at[3].apply(lambda v: 2 * v)]  #: safe unknown


@case(f32(9), i32(12, min=0, max=4), i32(3, min=0, max=11))
def doubled_in_several_places(x, i, at):
    return x[i.at[at].apply(lambda v: jnp.minimum(v + 1, 8))]  #: safe


@case(f32(9), i32(12, min=0, max=4), i32(30, min=0, max=11))
def raised_as_often_as_one_likes(x, i, at):
    return x[i.at[at].apply(lambda v: jnp.minimum(v + 1, 8))]  #: safe


@case(f32(17), i32(12, min=0, max=4), i32(2, min=0, max=11))
def multiplied_in_place(x, i, at):
    return x[i.at[at].multiply(2)]  #: safe


@case(f32(16), i32(12, min=0, max=4), i32(2, min=0, max=11))
def multiplied_in_place_twice(x, i, at):
    return x[i.at[at].multiply(2)]  #: safe unsafe


@case(f32(2), i32(20, min=0, max=1), i32(20, min=0, max=3))
def all_of_a_segment(x, i, segment):
    return x[jax.ops.segment_prod(i, segment, 4)]  #: safe


@case(f32(17), i32(4, min=1, max=2))
def a_product_of_few(x, i):
    return x[jnp.prod(i)]  #: safe


@case(f32(17), i32(5, min=1, max=2))
def a_product_of_too_many(x, i):
    return x[jnp.prod(i)]  #: unsafe


@case(f32(3), i32(40, min=-1, max=1))
def a_product_of_signs(x, i):
    return x[jnp.prod(i) + 1]  #: safe


@case(f32(11), f32(8, min=0.0, max=1.0))
def a_product_of_probabilities(x, p):
    return x[(jnp.prod(p) * 9.5).astype(np.int32)] + x[(jnp.cumprod(p) * 10).astype(np.int32)].sum()  #: safe


@case(f32(10), f32(8, min=0.0, max=1.0))
def a_product_of_probabilities_at_its_end(x, p):
    return x[(jnp.prod(p) * 10).astype(np.int32)]  #: unsafe


@case(f32(8), i32(30, min=0, max=5))
def bits_of_any(x, i):
    return x[lax.reduce_or(i, (0,))]  #: safe


@case(f32(7), i32(30, min=0, max=5))
def bits_of_any_too_many(x, i):
    return x[lax.reduce_or(i, (0,))]  #: unsafe


@case(f32(6), i32(30, min=-9, max=5), i32(min=0, max=5))
def bits_of_all(x, i, j):
    return x[lax.reduce_and(i.at[0].set(j), (0,))] + x[lax.reduce_and(abs(i) // 2, (0,))]  #: safe unknown


@case(f32(20), f32(20, min=-5.0, max=5.0))
def about_the_greatest(x, score):
    at = lax.approx_max_k(score, 4)[1]
    return x.at[at].get(mode="promise_in_bounds")  #: safe


@case(f32(19), f32(20, min=-5.0, max=5.0))
def about_the_greatest_of_a_short_table(x, score):
    at = lax.approx_max_k(score, 4)[1]
    return x.at[at].get(mode="promise_in_bounds")  #: unknown


@case(f32(20), f32(20))
def about_the_greatest_of_anything(x, score):
    return x[lax.approx_min_k(score, 4)[1]]  #: safe


# Roots of squares that do not wrap.


@case(f32(10), i32(min=0, max=99))
def the_root_of_a_number(x, n):
    return x[lax.while_loop(lambda r: (r + 1) * (r + 1) <= n, lambda r: r + 1, 0)]  #: safe


@case(f32(9), i32(min=0, max=99))
def the_root_of_a_number_too_large(x, n):
    return x[lax.while_loop(lambda r: (r + 1) * (r + 1) <= n, lambda r: r + 1, 0)]  #: unsafe


@case(f32(19), i32(5, min=-1000, max=1000))
def within_a_circle(x, r):
    return jnp.where(r**2 < 100, x[r + 9], 0.0)  #: masked


@case(f32(18), i32(5, min=-1000, max=1000))
def within_a_circle_too_large(x, r):
    return jnp.where(r**2 < 100, x[r + 9], 0.0)  #: unsafe


@case(f32(10), i32(5, min=0, max=100_000))
def within_a_circle_that_wraps(x, r):
    # The square of 92682 is below zero.
    return jnp.where(r * r < 100, x[r], 0.0)  #: unsafe


@case(f32(10), i32(5, min=0, max=46_340))
def within_a_circle_that_just_does_not_wrap(x, r):
    return jnp.where(r * r < 100, x[r], 0.0)  #: masked


# A grid whose sides are joined: each coordinate is wrapped by its own size.


@case(f32(4, 6), i32(9, 2), i32(9, 2))
def around_a_torus(grid, at, by):
    at = (at + by) % np.array([4, 6])
    return grid[at[:, 0], at[:, 1]]  #: safe


@case(f32(4, 6), i32(9))
def around_either_side(grid, at):
    row, column = at % np.array([[4], [6]])
    return grid[row, column]  #: safe


@case(f32(4, 6), i32(6))
def around_sides_of_another_array(grid, at):
    # The divisor's elements meet those of the last dimension, not of the first.
    at = jnp.stack([at, at]) % np.array([4, 6, 4, 6, 4, 6])
    return grid[at[0], 0]  #: unsafe


@case(f32(4, 6), i32(9, 2), i32(9, 2))
def around_a_torus_sides_swapped(grid, at, by):
    at = (at + by) % np.array([6, 4])
    return grid[at[:, 0], at[:, 1]]  #: unsafe


@case(f32(4, 6), i32(min=0, max=23))
def the_coordinates_of_a_number(grid, k):
    at = k // np.array([6, 1]) % np.array([9, 6])
    return grid[at[0], at[1]]  #: safe


@case(f32(4, 6), i32(min=0, max=24))
def the_coordinates_of_one_number_more(grid, k):
    at = k // np.array([6, 1]) % np.array([9, 6])
    return grid[at[0], at[1]]  #: unsafe


# Conditions as factors, one after the other: what the second is multiplied with was made with the first.


@case(f32(10), i32(min=-11, max=11))
def round_both_ends_by_flags(x, i):
    left, right = (i < 0).astype(np.int32), (i > 9).astype(np.int32)
    i = left * 9 + (1 - left) * i
    return x[right * 0 + (1 - right) * i]  #: safe


@case(f32(10), i32(4, min=-11, max=11))
def round_both_ends_by_a_flag_for_each(x, i):
    left, right = (i < 0).astype(np.int32), (i > 9).astype(np.int32)
    i = left * 9 + (1 - left) * i
    return x[right * 0 + (1 - right) * i]  #: safe


@case(f32(10), i32(4, min=-11, max=11))
def round_both_ends_by_flags_one_too_late(x, i):
    left, right = (i < 0).astype(np.int32), (i > 10).astype(np.int32)
    i = left * 9 + (1 - left) * i
    return x[right * 0 + (1 - right) * i]  #: unsafe


@case(f32(4), flag(2), i32(min=0, max=30))
def flags_that_are_not_all_the_same(x, on, k):
    bits = on.astype(np.int32)
    alone = (bits.sum() == 1).astype(np.int32)
    far = bits * (alone * k) + (1 - bits) * 0
    return x[jnp.where(k <= 9, far.max(), 0)]  #: unsafe


# One of two values, written as a sum of which either counts.


@case(f32(10), i32(min=0, max=19))
def one_number_or_the_other(x, i):
    beyond = (i > 9).astype(np.int32)
    return x[beyond * (i - 10) + (1 - beyond) * i]  #: safe


@case(f32(10), i32(min=0, max=20))
def one_number_or_the_other_one_too_far(x, i):
    beyond = (i > 9).astype(np.int32)
    return x[beyond * (i - 10) + (1 - beyond) * i]  #: unsafe


@case(f32(10), i32(min=0, max=19))
def the_other_number_of_the_two(x, i):
    beyond = (i > 9).astype(np.int32)
    return x[(1 - beyond) * (i - 10) + i * beyond]  #: unsafe


@case(f32(10), i32(2, 3, min=0, max=19), i32(min=0, max=9))
def a_number_of_its_own_or_one_for_all(x, i, k):
    beyond = (i > 9).astype(np.int32)
    return x[beyond * k + i * (1 - beyond)]  #: safe


@case(f32(10), i32(3, min=0, max=9), i32(3, min=10, max=19), flag())
def one_array_or_the_other(x, i, k, last):
    last = last.astype(np.int32)
    return x[last * (k - 10) + (1 - last) * i]  #: safe


@case(f32(10), flag(), flag())
def either_of_two_numbers_or_both(x, up, right):
    up, right = up.astype(np.int32), right.astype(np.int32)
    return x[up * 5 + right * 6]  #: unsafe


@case(f32(10), i32(min=0, max=2))
def a_number_taken_twice_less_another(x, k):
    return x[k * 9 + (1 - k) * 3]  #: unsafe


@case(f32(10), flag(3, 1), i32(3, 2, min=10, max=19))
def a_flag_for_each_row(x, on, k):
    on = on.astype(np.int32)
    return x[on * (k - 10) + (1 - on) * (k - 10)]  #: safe


@case(f32(200), u8(7), requires=("97 ≤ letters",))
def letters_of_which_others_wrap_back_inside(x, letters):
    return x[letters - 97]  #: requires


# Between the ends of a promise lies what neither end shows.


@case(f32(32), i32(min=0, max=63))
def a_power_of_two_that_its_type_may_not_hold(x, bits):
    return x[jnp.minimum(lax.shift_left(jnp.int32(1), bits), 32)]  #: unsafe


@case(f32(32), i32(min=0, max=4))
def a_power_of_two_in_a_table(x, bits):
    return x[jnp.minimum(lax.shift_left(jnp.int32(1), bits), 32)]  #: safe


@case(f32(50), i32(min=0, max=70_000))
def a_square_that_wraps_below_nothing(x, n):
    return x[jnp.where(n * n < 50, n * n, 0)]  #: unsafe


@case(f32(50), i32(min=0, max=46_340))
def a_square_that_does_not_wrap(x, n):
    return x[jnp.where(n * n < 50, n * n, 0)]  #: safe


# That 0 is inside is no condition to be told.


@case(f32(64), i32(min=0))
def a_hash_by_one_too_many(x, n):
    return x[lax.rem(jnp.abs(n * jnp.int32(-1640531527)), 65)]  #: unknown


@case(f32(65), i32(min=0))
def a_hash_by_as_many(x, n):
    return x[lax.rem(jnp.abs(n * jnp.int32(-1640531527)), 65)]  #: safe
