"""Cases that were found by reading the deciders against themselves: each was told a wrong verdict once."""

from __future__ import annotations

import functools

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, flag, i8, i32


@case(f32(5), i32())
def infinity_written_outside_times_nothing(x, i):
    # Outside it is written to the nearest place, and nothing times infinity is NaN there.
    written = lax.dynamic_update_slice(x, jnp.full(1, jnp.inf), (i,))  #: requires
    return written * ((i >= 0) & (i < 5)).astype(jnp.float32)


@case(f32(5), i32())
def a_number_written_outside_times_nothing(x, i):
    written = lax.dynamic_update_slice(x, jnp.full(1, 2.0), (i,))  #: masked
    return written * ((i >= -5) & (i < 5)).astype(jnp.float32)


@case(i32(5), i32())
def more_than_half_a_float_holds_times_nothing(x, i):
    read = lax.dynamic_slice(x, (i,), (1,))[0]  #: requires
    return read.astype(jnp.float16) * ((i >= 0) & (i < 5)).astype(jnp.float16)


@case(i8(5), i32())
def no_more_than_half_a_float_holds_times_nothing(x, i):
    read = lax.dynamic_slice(x, (i,), (1,))[0]  #: masked
    return read.astype(jnp.float16) * ((i >= -5) & (i < 5)).astype(jnp.float16)


@case(f32(5), flag(5), i32())
def left_out_by_more_than_half_a_float_holds_times_nothing(x, allowed, i):
    # -1e9 is infinite in 16 bits.
    scores = jnp.where(allowed, x.astype(jnp.float16), -1e9)
    return scores.at[i].get(mode="promise_in_bounds") * ((i >= 0) & (i < 5))  #: requires


@case(f32(5), flag(5), i32())
def left_out_by_no_more_than_half_a_float_holds_times_nothing(x, allowed, i):
    scores = jnp.where(allowed, x.astype(jnp.float16), -6e4)
    return scores.at[i].get(mode="promise_in_bounds") * ((i >= 0) & (i < 5))  #: masked


@case(f32(5), f32(min=0.0, max=1.0))
def the_larger_of_two_zeros(x, share):
    # Of -0 and 0 the second is the larger one, so that the first never is.
    _, at = lax.top_k(jnp.stack([-share, share]), 1)
    return x[(1 - at[0]) * 9]  #: unknown


@case(f32(5), i8())
def a_power_that_its_type_does_not_hold(x, i):
    return x[(i**200 + 4).astype(jnp.int32)]  #: unsafe


@case(f32(5), i32(), f32())
def half_a_turn_or_none(x, i, ahead):
    # Of a number less than zero, nothing times that is -0, which is half a turn away from 0 where nothing lies ahead.
    beside = lax.dynamic_slice(x, (i,), (1,))[0]  #: requires
    return jnp.arctan2(beside * ((i >= -5) & (i < 5)).astype(jnp.float32), jnp.minimum(ahead, 0.0))


@case(f32(5), i32())
def divided_by_nothing_of_either_sign(x, i):
    read = lax.dynamic_slice(x, (i,), (1,))[0]  #: requires
    return 1.0 / (read * ((i >= -5) & (i < 5)).astype(jnp.float32))


@case(f32(5), i32(3), f32())
def divided_by_its_squares(x, at, least):
    read = x[at] * ((at >= -5) & (at < 5)).astype(jnp.float32)  #: masked
    return read / jnp.sqrt(jnp.sum(read * read) + jnp.abs(least))


@case(f32(5), f32(min=1e-21, max=1e-20))
def the_square_of_a_small_number(x, small):
    # It is subnormal, and zero where the machine takes such numbers for that.
    return x[jnp.where(small * small > 0, 9, 0)]  #: unknown


@case(f32(5), f32(min=1e-12, max=1e-10))
def the_square_of_a_less_small_number(x, small):
    return x[jnp.where(small * small > 0, 9, 0)]  #: unsafe


@case(f32(10), flag(20))
def far_steps_of_a_loop(x, moves):
    # What was added after so many iterations as there may be takes more bits than z3 was given once.
    def goes_on(state):
        k, at, _ = state
        return (k < 20) & (at < 1000000)

    def move(state):
        k, at, total = state
        return k + 1, at + jnp.where(moves[k], 65536, 0), total + x[at ^ 3]  #: safe unsafe

    return lax.while_loop(goes_on, move, (0, 0, 0.0))


@case(f32(10), flag(20))
def near_steps_of_a_loop(x, moves):
    def goes_on(state):
        k, at, _ = state
        return (k < 20) & (at < 6)

    def move(state):
        k, at, total = state
        return k + 1, at + jnp.where(moves[k], 1, 0), total + x[at ^ 3]  #: safe

    return lax.while_loop(goes_on, move, (0, 0, 0.0))


@case(f32(5), f32())
def the_larger_zero(x, v):
    # Of 0 and -0 the larger is 0 for XLA, the second for numpy.
    return x[jnp.where(1 / jnp.maximum(v, -v) < 0, 9, 0)]  #: unknown


@case(f32(5), f32())
def the_smaller_zero(x, v):
    return x[jnp.where(1 / lax.clamp(-jnp.abs(v), jnp.abs(v), 3.0) < 0, 9, 0)]  #: unknown


@case(f32(5), f32())
def zero_of_the_other_sign(x, v):
    return x[jnp.where(1 / -jnp.abs(v) < 0, 9, 0)]  #: unsafe


def _inside(i):
    return ((i >= -5) & (i < 5)).astype(jnp.float32)


@case(f32(5), i32())
def infinite_by_what_was_read_times_nothing(x, i):
    read = lax.dynamic_slice(x, (i,), (1,))[0]  #: requires
    return jnp.where(read > 0, 1.0, jnp.inf) * _inside(i)


@case(f32(5), i32())
def a_number_by_what_was_read_times_nothing(x, i):
    read = lax.dynamic_slice(x, (i,), (1,))[0]  #: masked
    return jnp.where(read > 0, 1, 2).astype(jnp.float32) * _inside(i)


@case(f32(5), i32())
def infinity_handed_on_and_written_times_nothing(x, i):
    @jax.jit
    def written(x, row):
        return lax.dynamic_update_slice(x, row, (i,))  #: requires

    return written(x, jnp.full(1, jnp.inf)) * _inside(i)


@case(f32(5), i32())
def a_number_handed_on_and_written_times_nothing(x, i):
    @jax.jit
    def written(x, row):
        return lax.dynamic_update_slice(x, row, (i,))  #: masked

    return written(x, jnp.full(1, 2.0)) * _inside(i)


@case(f32(5), i32(), f32(3))
def logarithms_added_in_a_loop_times_nothing(x, i, shares):
    def add(total, share):
        return total.at[i].add(share * _inside(i), mode="promise_in_bounds"), None  #: requires

    return lax.scan(add, x, jnp.log(shares))[0]


@case(f32(5), i32(), f32(3))
def numbers_added_in_a_loop_times_nothing(x, i, shares):
    def add(total, share):
        return total.at[i].add(share * _inside(i), mode="promise_in_bounds"), None  #: masked

    return lax.scan(add, x, shares)[0]


@case(f32(5), flag(5), i32())
def scores_of_what_is_not_allowed_times_nothing(scores, allowed, i):
    read = lax.dynamic_slice(jnp.where(allowed, scores, -jnp.inf), (i,), (1,))[0]  #: requires
    return read * _inside(i)


@case(f32(5), flag(5), i32())
def scores_less_what_is_not_allowed_times_nothing(scores, allowed, i):
    read = lax.dynamic_slice(jnp.where(allowed, scores, -1e9), (i,), (1,))[0]  #: masked
    return read * _inside(i)


@case(i32())
def a_table_with_infinity_in_it_times_nothing(i):
    table = jnp.asarray(np.array([0, 1, 2, 3, np.inf], np.float32))
    return lax.dynamic_slice(table, (i,), (1,))[0] * _inside(i)  #: requires


@case(i32())
def a_table_without_infinity_times_nothing(i):
    table = jnp.asarray(np.array([0, 1, 2, 3, 4], np.float32))
    return lax.dynamic_slice(table, (i,), (1,))[0] * _inside(i)  #: masked


def _in_lanes(body, *given):
    """A loop in each lane, over a number of its own."""

    def lane(count, *mine):
        return lax.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, s[1] + body(*mine)), (0, 0.0))

    return jax.vmap(lane, axis_name="lanes")(*given)


_SWAPPED = [(0, 1), (1, 0)]


@case(f32(3), i32(2, min=0, max=9), i32(2))
def promised_by_a_lane_that_need_not_run(x, count, i):
    # A lane that never starts has promised nothing of its number, which the other one gets.
    def body(i):
        redzone.assume(i, min=0, max=2)
        return lax.dynamic_slice(x, (lax.ppermute(i, "lanes", _SWAPPED),), (1,))[0]  #: safe requires

    return _in_lanes(body, count, i)


@case(f32(3), i32(2, min=0, max=9), i32(2))
def promised_by_a_lane_of_its_own(x, count, i):
    def body(i):
        redzone.assume(i, min=0, max=2)
        return lax.dynamic_slice(x, (i,), (1,))[0]  #: masked

    return _in_lanes(body, count, i)


@case(f32(3), i32(2, min=0, max=9), i32(2, min=0))
def one_of_two_promised_by_a_lane_that_need_not_run(x, count, i):
    def body(i):
        redzone.assume((i < 3) | (i > 100))
        read = lax.dynamic_slice(x, (i,), (1,))[0]  #: requires
        return lax.ppermute(jnp.where(i < 100, read, 0.0), "lanes", _SWAPPED)  #: safe

    return _in_lanes(body, count, i)


@case(f32(3), i32(2, min=0, max=9), i32(2, min=0))
def one_of_two_promised_by_a_lane_of_its_own(x, count, i):
    def body(i):
        redzone.assume((i < 3) | (i > 100))
        read = lax.dynamic_slice(x, (i,), (1,))[0]  #: masked
        return jnp.where(i < 100, read, 0.0)

    return _in_lanes(body, count, i)


@case(f32(4), i32(2, 5, 3))
def rows_that_a_reshape_mixes(x, at):
    # As 3 x 5 x 2 there are five rows again, but of other elements.
    read = x.at[at].get(mode="promise_in_bounds")  #: requires
    ok = ((at >= -4) & (at < 4)).all((0, 2))
    return jnp.where(ok[None, :, None], read.reshape(3, 5, 2), 0.0)


@case(f32(4), i32(2, 5, 3))
def rows_that_a_reshape_keeps(x, at):
    read = x.at[at].get(mode="promise_in_bounds")  #: masked
    ok = ((at >= -4) & (at < 4)).all((0, 2))
    return jnp.where(ok[None, :, None, None], read.reshape(2, 5, 1, 3), 0.0)


@case(f32(4), i32(5, 3, min=0, max=6), i32(5))
def one_condition_on_rows_and_one_on_each(x, at, count):
    read = x.at[at].get(mode="promise_in_bounds")  #: unsafe
    return jnp.where(count[:, None] > 0, jnp.cumsum(read, 1), 0.0), jnp.where(at < 5, read, 0.0)


@case(f32(4), i32(5, 3, min=0, max=6))
def conditions_on_rows_and_on_each(x, at):
    read = x.at[at].get(mode="promise_in_bounds")  #: masked
    inside = at < 4
    return jnp.where(inside.all(1)[:, None], jnp.cumsum(read, 1), 0.0), jnp.where(inside, read, 0.0)


@case(f32(10), i32(5, 5, 2))
def beside_rows_turned_about(x, p):
    inside = jnp.all((p >= 0) & (p < 10), axis=-1)
    return x[jnp.where(inside, lax.reshape(p[:, :, :1], (5, 5), dimensions=(1, 0, 2)), 0)]  #: requires


@case(f32(10), i32(5, 5, 2))
def beside_rows_as_they_are(x, p):
    inside = jnp.all((p >= 0) & (p < 10), axis=-1)
    return x[jnp.where(inside, lax.reshape(p[:, :, :1], (5, 5)), 0)]  #: safe


@case(f32(10), i32(5, 5, 2))
def spread_to_rows_turned_about(x, p):
    inside = jnp.all((p >= 0) & (p < 10), axis=-1)
    turned = lax.reshape(inside, (5, 5), dimensions=(1, 0))
    return x[jnp.where(lax.broadcast_in_dim(turned, (5, 5, 2), (0, 1)), p, 0)]  #: requires


@case(f32(10), i32(5, 5, 2))
def spread_to_rows_as_they_are(x, p):
    inside = jnp.all((p >= 0) & (p < 10), axis=-1)
    same = lax.reshape(inside, (5, 5))
    return x[jnp.where(lax.broadcast_in_dim(same, (5, 5, 2), (0, 1)), p, 0)]  #: safe


@case(f32(4), i32(min=1, max=100), i32(min=32, max=40))
def shifted_out_of_its_type(x, j, k):
    # What is left then is up to the machine: 0 on many, and on others j shifted by k modulo 32.
    return x[lax.shift_left(j, k) & 7]  #: unknown


@case(f32(4), i32(min=1, max=100), i32(min=3, max=8))
def shifted_within_its_type(x, j, k):
    return x[lax.shift_left(j, k) & 7]  #: safe


@case(f32(5), f32())
def divided_by_zeros_of_both_signs(x, a):
    above, below = a / 0.0, a / -0.0
    counted = jnp.clip(above, 0.0, 1.0).astype(int) + jnp.clip(below, 0.0, 1.0).astype(int)
    return x[counted], x[jnp.where((above > 5.0) & ~(below > 5.0), 9, 0)]  #: safe unsafe


@case(f32(5), f32())
def divided_by_one_zero_twice(x, a):
    above, below = a / 0.0, a / 0.0
    counted = jnp.clip(above, 0.0, 1.0).astype(int) + jnp.clip(below, 0.0, 1.0).astype(int)
    return x[counted], x[jnp.where((above > 5.0) & ~(below > 5.0), 9, 0)]  #: safe


@case(f32(2), i32(2, min=3, max=5))
def the_bits_in_common_are_one(x, p):
    # Of 3 and 5 they are.
    return x[jnp.where(lax.reduce_and(p, axes=(0,)) == 1, p[0], 0)]  #: unsafe


@case(f32(2), i32(2, min=0, max=7))
def both_are_one(x, p):
    return x[jnp.where(lax.reduce_and(p == 1, axes=(0,)), p[0], 0)]  #: safe


LAST = 2**31 - 1


@case(f32(10), i32(min=LAST - 10), i32(min=LAST - 10))
def far_more_than_half_of_a_sum(x, low, high):
    def body(_, total):
        return total + x[jnp.minimum(low + ((high - low) + 1000) // 2, 9)]  #: unsafe

    return lax.fori_loop(0, 3, body, 0.0)


@case(f32(10), i32(min=LAST - 1010, max=LAST - 1000), i32(min=LAST - 1010, max=LAST - 1000))
def more_than_half_of_a_sum(x, low, high):
    def body(_, total):
        return total + x[jnp.minimum(low + ((high - low) + 1000) // 2, 9)]  #: safe

    return lax.fori_loop(0, 3, body, 0.0)


@case(f32(10), i32(min=0, max=0), i32(min=LAST - 9))
def half_of_a_sum_by_a_difference_and_one_that_wraps(x, low, high):
    def body(_, total):
        middle = high - ((high - low) + 1) // 2
        return total + x[jnp.clip(middle - 2**30 + 5, -20, 9)]  #: requires

    return lax.fori_loop(0, 3, body, 0.0)


@case(f32(10), i32(min=0, max=0), i32(min=LAST - 9, max=LAST - 1))
def half_of_a_sum_by_a_difference_and_one(x, low, high):
    def body(_, total):
        middle = high - ((high - low) + 1) // 2
        return total + x[jnp.clip(middle - 2**30 + 5, -20, 9)]  #: safe

    return lax.fori_loop(0, 3, body, 0.0)


@case(f32(10), i32(min=LAST - 1))
def ends_out_of_order_once_their_difference_wrapped(x, end):
    def body(ends, t):
        low, high = ends
        middle, far = low + (high - low) // 2, high > 100
        at = jnp.where(t == 0, 0, jnp.clip(middle + 1, -50, 9))
        return (jnp.where(far, low, middle), jnp.where(far, middle, high)), x[at]  #: unsafe

    return lax.scan(body, (jnp.int32(-1), end), jnp.arange(3))


@case(f32(10), i32(min=0))
def ends_in_order_as_their_difference_does_not_wrap(x, end):
    def body(ends, t):
        low, high = ends
        middle, far = low + (high - low) // 2, high > 100
        at = jnp.where(t == 0, 0, jnp.clip(middle + 1, -50, 9))
        return (jnp.where(far, low, middle), jnp.where(far, middle, high)), x[at]  #: safe

    return lax.scan(body, (jnp.int32(0), end), jnp.arange(3))


@case(f32(4), i32(min=0, max=5), i32(min=0, max=5))
def one_loop_that_is_given_one_number_and_then_two(x, a, b):
    @functools.partial(jax.jit, inline=True)
    def until_both_have_come(n, m):
        def body(state):
            i, k, total = state
            return jnp.where(i < m, i + 1, i), jnp.where(i < m, k, k + 1), total + x[k]  #: unsafe

        return lax.while_loop(lambda s: ((s[0] < n) | (s[1] < 3)) & (s[1] < 50), body, (0, 0, 0.0))[2]

    return until_both_have_come(a, a) + until_both_have_come(a, b)


@case(f32(4), i32(min=0, max=5), i32(min=0, max=5))
def one_loop_that_is_given_one_number_each_time(x, a, b):
    @functools.partial(jax.jit, inline=True)
    def until_both_have_come(n, m):
        def body(state):
            i, k, total = state
            return jnp.where(i < m, i + 1, i), jnp.where(i < m, k, k + 1), total + x[k]  #: safe

        return lax.while_loop(lambda s: ((s[0] < n) | (s[1] < 3)) & (s[1] < 50), body, (0, 0, 0.0))[2]

    return until_both_have_come(a, a) + until_both_have_come(b, b)


@case(f32(10), f32(10), f32())
def two_counters_beside_a_search(x, edges, query):
    # Slicing this went round in circles once.
    def body(counters, _):
        a, b = counters
        return (a + 1, b + 1), x[jnp.minimum(jnp.searchsorted(edges, query), 9)] + x[a] + x[b]  #: safe

    return lax.scan(body, (0, 0), None, length=3)


@case(f32(10), i32(6), f32(6), i32())
def promised_in_a_branch_of_lanes_that_still_run(x, first, end, way):
    def one(first, end):
        def promised(i):
            redzone.assume(i, min=0, max=9)
            return i

        def body(state):
            i, t, total = state
            at = lax.cond(way > 0, promised, jnp.zeros_like, i) + 0 * i
            return i + 1, t + 1.0, total + x[at]  #: masked

        return lax.while_loop(lambda state: state[1] < end, body, (first, 0.0, 0.0))[2]

    return jax.vmap(one)(first, end)


@case(f32(10), i32(6), f32(6), i32())
def promised_in_another_branch_than_lanes_take(x, first, end, way):
    def one(first, end):
        def promised(i):
            redzone.assume(i, min=0, max=9)
            return i

        def body(state):
            i, t, total = state
            at = lax.cond(way > 0, promised, lambda i: i + 1, i) + 0 * i
            return i + 1, t + 1.0, total + x[at]  #: unknown

        return lax.while_loop(lambda state: state[1] < end, body, (first, 0.0, 0.0))[2]

    return jax.vmap(one)(first, end)


@case(f32(100000), f32(min=0.0, max=65504.0))
def halves_of_few_digits(x, share):
    # Rounded to three digits the largest numbers of a half are infinite.
    share = redzone.assume(share, finite=True).astype(jnp.float16)
    return x[lax.reduce_precision(jnp.minimum(share, 65504.0), 8, 3).astype(jnp.int32)]  #: unknown


@case(f32(100000), f32(min=0.0, max=60000.0))
def halves_of_few_digits_far_from_the_end(x, share):
    share = redzone.assume(share, finite=True).astype(jnp.float16) / 2
    return x[lax.reduce_precision(share, 8, 3).astype(jnp.int32)]  #: safe


@case(f32(2), f32(min=2.0**127, max=1.5 * 2.0**127))
def divided_by_a_power_whose_inverse_is_no_number(x, share):
    # The compiler makes it a product with 2⁻¹²⁷, which counts as zero.
    share = redzone.assume(share, finite=True)
    return x[2 - (share / 2.0**127).astype(jnp.int32)]  #: unknown


@case(f32(2), f32(min=2.0**124, max=1.5 * 2.0**124))
def divided_by_a_power_whose_inverse_is_one(x, share):
    share = redzone.assume(share, finite=True)
    return x[2 - (share / 2.0**124).astype(jnp.int32)]  #: safe


@case(f32(2), f32(min=2.2e38, max=3e38))
def divided_by_what_has_a_tiny_inverse(x, share):
    share = redzone.assume(share, finite=True)
    return x[2 - (share / 2e38).astype(jnp.int32)]  #: unknown


@case(f32(1), f32(min=0.0, max=2e-20))
def a_little_above_three(x, little):
    # The compiler leaves out both threes.
    return x[(((little + 3.0) - 3.0) * 1e20).astype(jnp.int32)]  #: requires


@case(f32(1), f32(min=0.0, max=0.9))
def some_above_three(x, little):
    return x[((little + 3.0) - 3.0).astype(jnp.int32)]  #: safe


@case(f32(5), i8(min=-8, max=7))
def bits_of_half_a_byte(x, i):
    # It is kept in a byte, whose bits are counted: of -1 there are eight, which is -8 in four bits.
    count = lax.population_count(i.astype(jnp.int4)).astype(jnp.int32)
    return lax.dynamic_slice_in_dim(x, count + 8, 1)  #: unknown


@case(f32(17), i8(min=-8, max=7))
def bits_of_a_byte(x, i):
    return lax.dynamic_slice_in_dim(x, lax.population_count(i).astype(jnp.int32) + 8, 1)  #: safe


@case(f32(2), f32(min=1.1e20, max=1.2e20), f32(min=1.1e20, max=1.2e20))
def scaled_down_before_they_are_multiplied(x, one, other):
    # The compiler multiplies the two, which is infinite, and then by both constants, which is zero.
    one, other = redzone.assume(one, finite=True), redzone.assume(other, finite=True)
    return x[2 - ((one * 1e-20) * (other * 1e-20)).astype(jnp.int32)]  #: unknown


@case(f32(2), f32(min=11.0, max=12.0), f32(min=11.0, max=12.0))
def scaled_down_a_little_before_they_are_multiplied(x, one, other):
    one, other = redzone.assume(one, finite=True), redzone.assume(other, finite=True)
    return x[2 - ((one * 0.1) * (other * 0.1)).astype(jnp.int32)]  #: safe


@case(f32(2), f32(min=1.1e20, max=1.2e20))
def scaled_down_before_it_is_squared(x, far):
    far = redzone.assume(far, finite=True)
    return x[2 - jnp.square(far * 1e-20).astype(jnp.int32)]  #: unknown


@case(f32(2), f32(min=11.0, max=12.0))
def scaled_down_a_little_before_it_is_squared(x, far):
    far = redzone.assume(far, finite=True)
    return x[2 - jnp.square(far * 0.1).astype(jnp.int32)]  #: safe


@case(f32(2), f32(min=1.2e36, max=1.3e36))
def scaled_down_twice(x, far):
    # Both constants together are less than every number of the type.
    far = redzone.assume(far, finite=True)
    return x[2 - (((far * 1e-30) * 1e-30) * 1e24).astype(jnp.int32)]  #: unknown


@case(f32(2), f32(min=1.2, max=1.3))
def scaled_down_twice_a_little(x, far):
    far = redzone.assume(far, finite=True)
    return x[2 - (((far * 0.3) / 0.7) * 2.5).astype(jnp.int32)]  #: safe


@case(f32(2), f32(min=-16777216.0, max=-16777216.0))
def constants_that_are_added_first(x, far):
    # 16777216.5 is no number of the type.
    far = redzone.assume(far, finite=True)
    return x[2 - (((far + 16777216.0) + 0.5) * 3.0).astype(jnp.int32)]  #: unknown


@case(f32(2), f32(min=-16.0, max=-16.0))
def small_constants_that_are_added_first(x, near):
    near = redzone.assume(near, finite=True)
    return x[2 - (((near + 16.0) + 0.5) * 3.0).astype(jnp.int32)]  #: safe


@case(f32(2), f32(min=1.1e-20, max=1.3e-20), f32(min=1e-20, max=1e-20))
def divided_twice_by_little(x, share, by):
    # It is divided once, by a product that counts as zero.
    share, by = redzone.assume(share, finite=True), redzone.assume(by, finite=True)
    return x[2 - (((share / by) / by) * 1e-20).astype(jnp.int32)]  #: unknown


@case(f32(2), f32(min=12.0, max=13.0), f32(min=3.0, max=3.1))
def divided_twice(x, share, by):
    share, by = redzone.assume(share, finite=True), redzone.assume(by, finite=True)
    return x[2 - ((share / by) / by).astype(jnp.int32)]  #: safe


@case(f32(2), f32(min=1.1e20, max=1.2e20), f32(min=1e30, max=1e30))
def divided_by_a_large_quotient(x, far, farther):
    far, farther = redzone.assume(far, finite=True), redzone.assume(farther, finite=True)
    return x[2 - ((far / (farther / far)) * 1e-10).astype(jnp.int32)]  #: unknown


@case(f32(2), f32(min=11.0, max=12.0), f32(min=100.0, max=100.0))
def divided_by_a_quotient(x, near, far):
    near, far = redzone.assume(near, finite=True), redzone.assume(far, finite=True)
    return x[2 - (near / (far / near)).astype(jnp.int32)]  #: safe


@case(f32(10), f32(min=0.0, max=900.0))
def what_is_left_of_a_quotient(x, share):
    # A product with 1 / 29, and what is not rounded yet may be below the whole number that it is rounded to.
    turns = redzone.assume(share, finite=True) / 29.0
    at = jnp.floor((turns - jnp.floor(turns)) * 10.0).astype(jnp.int32)
    return x.at[at[None]].get(mode="promise_in_bounds")  #: unknown


@case(f32(10), f32(min=0.0, max=900.0))
def what_is_left_of_a_number(x, share):
    share = redzone.assume(share, finite=True)
    at = jnp.floor((share - jnp.floor(share)) * 10.0).astype(jnp.int32)
    return x.at[at[None]].get(mode="promise_in_bounds")  #: safe


# What a witness hangs on is computed as the compiler does it.


@case(f32(5), f32(min=2.0, max=2.0))
def a_square_that_is_exact(x, a):
    return x[jnp.where(a * a - 4.0 == 0, 9, 0)]  #: unsafe


@case(f32(5), f32(min=1.1, max=1.1), f32(min=2.0, max=2.0))
def a_square_that_is_exact_for_one_of_two_callers(x, a, b):
    @jax.jit
    def where_equal(a, c):
        return x[jnp.where(a * a - c == 0, 9, 0)]  #: unsafe

    return where_equal(a, np.float32(1.1) * np.float32(1.1)) + where_equal(b, np.float32(4.0))


# What is computed anew in another loop of the machine may be fused with a product there, and rounded in between here.


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 3)
def all_of_a_sum_with_a_product(x, a, b, c):
    product = a * b
    at = product + c
    ok = jnp.all((at >= 0) & (at < 10))
    at = jnp.where(ok, jnp.floor(jnp.minimum(at, jnp.sin(product) + 20)).astype(jnp.int32), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: unknown


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 2)
def all_of_a_sum_with_a_quotient(x, a, c):
    # A product with 1 / 3.
    share = a / 3.0
    at = share + c
    ok = jnp.all((at >= 0) & (at < 10))
    at = jnp.where(ok, jnp.floor(jnp.minimum(at, jnp.sin(share) + 20)).astype(jnp.int32), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: unknown


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 2)
def all_of_a_sum(x, a, c):
    at = a + c
    ok = jnp.all((at >= 0) & (at < 10))
    at = jnp.where(ok, jnp.floor(jnp.minimum(at, jnp.sin(a) + 20)).astype(jnp.int32), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: safe


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 2)
def all_of_a_sum_with_a_product_that_is_exact(x, a, c):
    at = a * 4.0 + c
    ok = jnp.all((at >= 0) & (at < 10))
    at = jnp.where(ok, jnp.floor(at).astype(jnp.int32), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: safe


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 3)
def all_of_a_sum_with_a_product_and_room(x, a, b, c):
    at = a * b + c
    ok = jnp.all((at >= 0.5) & (at < 9.5))
    at = jnp.where(ok, jnp.floor(at).astype(jnp.int32), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: safe


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 3)
def promised_of_a_sum_with_a_product(x, a, b, c):
    at = a * b + c
    redzone.assume((at >= 0) & (at < 10))
    return x.at[jnp.floor(at).astype(jnp.int32)].get(mode="promise_in_bounds")  #: safe


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 3)
def all_integers_of_a_sum_with_a_product(x, a, b, c):
    product = a * b
    at = jnp.floor(product + c).astype(jnp.int32)
    ok = jnp.all((at >= 0) & (at < 10))
    at = jnp.where(ok, jnp.minimum(at, (jnp.sin(product) + 20).astype(jnp.int32)), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: unknown


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 3)
def one_way_in_one_loop_and_another_in_the_next(x, a, b, c):
    product = a * b
    sums = product + c
    at = jnp.where(jnp.all(sums < 3.0), jnp.where((sums >= 3.0) & (jnp.sin(product) < 2.0), 20, 5), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: unknown


@case(f32(4), *[f32(64, min=-100.0, max=100.0)] * 3)
def above_the_least_of_sums_with_products(x, a, b, c):
    product = a * b
    sums = jnp.maximum(product + c, -1e6)
    above = jnp.minimum(sums - sums.min(), jnp.sin(product) + 5.0)
    return x.at[jnp.minimum(jnp.floor(above), 3.0).astype(jnp.int32)].get(mode="promise_in_bounds")  #: unknown


@case(f32(4), f32(64, min=-100.0, max=100.0))
def above_the_least_of_numbers(x, a):
    sums = jnp.maximum(a, -1e6)
    above = jnp.minimum(sums - sums.min(), jnp.sin(a) + 5.0)
    return x.at[jnp.minimum(jnp.floor(above), 3.0).astype(jnp.int32)].get(mode="promise_in_bounds")  #: safe


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 3)
def all_integers_of_a_sum_with_a_product_and_room(x, a, b, c):
    at = jnp.floor(a * b + c).astype(jnp.int32)
    ok = jnp.all((at >= 1) & (at < 9))
    return x.at[jnp.where(ok, at, 0)].get(mode="promise_in_bounds")  #: safe


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 3)
def below_the_greatest_of_the_integers_of_sums_with_products(x, a, b, c):
    product = a * b
    at = jnp.floor(product + c).astype(jnp.int32)
    below = jnp.where(product > 1e9, 0, at.max() - at)
    return x.at[jnp.minimum(below, 9)].get(mode="promise_in_bounds")  #: unknown


@case(f32(10), i32(4, min=-100, max=100), i32(4, min=-100, max=100))
def below_the_greatest_of_sums_of_integers(x, a, b):
    at = a * b + 7
    return x.at[jnp.minimum(at.max() - at, 9)].get(mode="promise_in_bounds")  #: safe


@case(f32(10), *[f32(4, min=-100.0, max=100.0)] * 3)
def none_seen_unless_all_integers_are_inside(x, a, b, c):
    product = a * b
    at = jnp.floor(product + c).astype(jnp.int32)
    ok = jnp.all((at >= 0) & (at < 10))
    read = x.at[jnp.where(product > 1e9, 0, at)].get(mode="promise_in_bounds")  #: unknown
    return jnp.where(ok, read, 0.0)


@case(f32(10), *[f32(10, min=-100.0, max=100.0)] * 3)
def all_flags_and_one_of_them(x, a, b, c):
    product = a * b
    ok = product + c < 10
    at = jnp.where(jnp.all(ok), jnp.where(ok, jnp.where(product > 1e9, 3, 4), 20), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: unknown


@case(f32(10), *[f32(10, min=-100.0, max=100.0)] * 2)
def all_flags_of_sums_and_one_of_them(x, a, c):
    ok = a + c < 10
    at = jnp.where(jnp.all(ok), jnp.where(ok, jnp.where(a > 1e9, 3, 4), 20), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: safe


@case(f32(10), *[f32(10, min=-100.0, max=100.0)] * 3)
def flags_before_each(x, a, b, c):
    product = a * b
    flags = (product + c < 10).astype(jnp.int32)
    at = jnp.minimum(jnp.cumsum(flags) - flags, (jnp.sin(product) + 20).astype(jnp.int32))
    return lax.map(lambda i: lax.dynamic_slice(x, (i,), (1,), allow_negative_indices=False), at)  #: unknown


@case(f32(10), *[f32(10, min=-100.0, max=100.0)] * 2)
def flags_of_sums_before_each(x, a, c):
    flags = (a + c < 10).astype(jnp.int32)
    at = jnp.minimum(jnp.cumsum(flags) - flags, (jnp.sin(a) + 20).astype(jnp.int32))
    return lax.map(lambda i: lax.dynamic_slice(x, (i,), (1,), allow_negative_indices=False), at)  #: safe


@case(f32(4), *[f32(4, min=-100.0, max=100.0)] * 3, i32())
def a_search_for_the_last_sum_with_a_product(x, a, b, c, other):
    product = a * b
    sums = product + c
    found = x[jnp.searchsorted(sums, jnp.minimum(sums[-1], other.astype(jnp.float32)))]  #: unknown safe
    return found, jnp.sin(product)


@case(f32(4), f32(4, min=-100.0, max=100.0), i32())
def a_search_for_the_last_number(x, sums, other):
    return x[jnp.searchsorted(sums, jnp.minimum(sums[-1], other.astype(jnp.float32)))]  #: safe


# Where others read the product too, and what was decided is handed out beside what it decides about.


@case(f32(10), *[f32(64, min=-100.0, max=100.0)] * 3)
def each_integer_of_a_sum_by_flags_that_are_handed_out(x, a, b, c):
    product = a * b
    at = jnp.floor(product + c).astype(jnp.int32)
    ok = (at >= 0) & (at < 10)
    at = jnp.where(ok, jnp.where(product > 1e9, 0, at), 0)
    return x.at[at].get(mode="promise_in_bounds"), ok, ok.sum()  #: unknown


@case(f32(10), *[f32(64, min=-100.0, max=100.0)] * 3)
def each_sum_by_flags_that_are_handed_out(x, a, b, c):
    product = a * b
    at = product + c
    ok = (at >= 0) & (at < 10)
    at = jnp.where(ok, jnp.floor(jnp.minimum(at, jnp.sin(product) + 20)).astype(jnp.int32), 0)
    return x.at[at].get(mode="promise_in_bounds"), ok, ok.sum()  #: unknown


@case(f32(10), *[f32(64, min=-100.0, max=100.0)] * 3)
def seen_by_flags_that_are_handed_out(x, a, b, c):
    product = a * b
    at = jnp.floor(product + c).astype(jnp.int32)
    ok = (at >= 0) & (at < 10)
    read = x.at[jnp.where(product > 1e9, 0, at)].get(mode="promise_in_bounds")  #: unknown
    return jnp.where(ok, read, 0), ok, ok.sum()


@case(f32(10), *[f32(64, min=-100.0, max=100.0)] * 3)
def each_integer_of_a_sum_whose_product_nobody_else_reads(x, a, b, c):
    at = jnp.floor(a * b + c).astype(jnp.int32)
    ok = (at >= 0) & (at < 10)
    return x.at[jnp.where(ok, at, 0)].get(mode="promise_in_bounds"), ok, ok.sum()  #: safe


@case(f32(10), *[f32(64, min=-100.0, max=100.0)] * 3)
def each_integer_of_a_sum_whose_product_is_written_twice(x, a, b, c):
    # The compiler computes it once.
    at = jnp.floor(a * b + c).astype(jnp.int32)
    ok = (at >= 0) & (at < 10)
    at = jnp.where(ok, jnp.where(a * b > 1e9, 0, at), 0)
    return x.at[at].get(mode="promise_in_bounds"), ok, ok.sum()  #: unknown


@case(f32(1), i32(2, min=0, max=9999), i32(min=0, max=20))
def what_is_left_of_two_numbers_by_nothing(x, numbers, by):
    # By zero each is anything, and not the same as the other.
    left = lax.rem(numbers, jnp.broadcast_to(by, (2,)))
    at = jnp.where((left == 3741) & (left[::-1] == 7393), 5, 0)
    return x.at[at].get(mode="promise_in_bounds")  #: requires


@case(f32(1), i32(2, min=0, max=9999), i32(min=1, max=20))
def what_is_left_of_two_numbers_by_a_few(x, numbers, by):
    left = lax.rem(numbers, jnp.broadcast_to(by, (2,)))
    at = jnp.where((left == 3741) & (left[::-1] == 7393), 5, 0)
    return x.at[at].get(mode="promise_in_bounds")  #: safe


@case(
    f32(10),
    i32(6),
    i32(min=-4, max=1),
    requires=(
        "for all i: -10 ≤ starts[i+1] - starts[i] ≤ 9",
        "for all i: -10 ≤ starts[i] - starts[i+5] ≤ 9",
        "for all i: -10 ≤ starts[i+3] - starts[i+2] ≤ 9",
    ),
)
def a_step_between_two_that_are_counted_from_the_end(x, starts, i):
    # A letter counts from 0: -1 stands for the last place beside the first, and -4 for the third.
    width = starts[i + 1] - starts[i]  #: safe
    return x[width]  #: requires


# Of a row at once, or of a column, the machine rounds a product before the sum that it is fused with elsewhere: points
# that were inside for the condition, by nothing, were outside for the index.


@case(f32(7, 7), *[f32(64, 2)] * 3)
def rows_of_sums_with_products(grid, a, b, c):
    at = a * b + c
    ok = jnp.all((at >= 0) & (at < 7), -1)
    cell = jnp.where(ok[:, None], jnp.floor(at).astype(jnp.int32), 0)
    return grid[cell[:, 0], cell[:, 1]]  #: unknown


@case(f32(7, 7), *[f32(64, 2, min=-100.0, max=100.0)] * 3)
def rows_of_sums_with_products_and_room(grid, a, b, c):
    at = a * b + c
    ok = jnp.all((at >= 0.5) & (at < 6.5), -1)
    cell = jnp.where(ok[:, None], jnp.floor(at).astype(jnp.int32), 0)
    return grid[cell[:, 0], cell[:, 1]]  #: safe


@case(f32(7, 7), *[f32(64, 2)] * 2)
def rows_of_sums(grid, a, c):
    at = a + c
    ok = jnp.all((at >= 0) & (at < 7), -1)
    cell = jnp.where(ok[:, None], jnp.floor(at).astype(jnp.int32), 0)
    return grid[cell[:, 0], cell[:, 1]]  #: safe


@case(f32(7, 7), *[f32(64, 2)] * 3)
def columns_of_sums_with_products(grid, a, b, c):
    at = a * b + c
    row, column = at[:, 0], at[:, 1]
    ok = (row >= 0) & (row < 7) & (column >= 0) & (column < 7)
    cell = jnp.floor(at).astype(jnp.int32)
    return jnp.where(ok, grid[cell[:, 0], cell[:, 1]], 0.0)  #: unknown


@case(f32(7), *[f32(64)] * 3)
def each_of_sums_with_products(x, a, b, c):
    at = a * b + c
    return x[jnp.where((at >= 0) & (at < 7), jnp.floor(at).astype(jnp.int32), 0)]  #: safe


# A sum that is fused with its product in one place and rounded in another is two numbers, and so are integers and flags
# that are made of it: they were taken for one each where a choice is tabulated, where two cursors are moved by one flag
# and where a count of elements is held against one of them.


@case(f32(21), f32(4), f32(4), f32(4), i32())
def a_remainder_of_a_number_that_is_computed_twice(x, a, b, c, k):
    product = a * b
    i = jnp.clip((product + c).astype(jnp.int32), 0, 20)[jnp.clip(k, 0, 3)]  #: safe
    at = jnp.where(i > 0, i * 1000 - lax.div(i * 1000, i + 1) * (i + 1), 0)
    return x.at[at].get(mode="promise_in_bounds"), product  #: unknown


@case(f32(21), f32(4), f32(4), f32(4), i32())
def a_remainder_of_a_number_that_is_computed_alike(x, a, b, c, k):
    i = jnp.clip((a * b + c).astype(jnp.int32), 0, 20)[jnp.clip(k, 0, 3)]  #: safe
    at = jnp.where(i > 0, i * 1000 - lax.div(i * 1000, i + 1) * (i + 1), 0)
    return x.at[at].get(mode="promise_in_bounds")  #: safe


def _two_cursors(read, a, b, c, more):
    def step(carry):
        i, j, k, a, total = carry
        product = a * b
        ok = (product + c < 5)[0]
        j = jnp.where(ok, j, jnp.where(more(product)[0] > 5, j - 1, j - 2))
        return jnp.where(ok, i + 1, i), j, k + 1, a[::-1], total + read(k)

    return lax.while_loop(lambda c: (c[0] < c[1]) & (c[2] < 30), step, (0, 10, 0, a, 0.0))[4]


@case(f32(10), f32(4), f32(4), f32(4))
def two_cursors_by_a_flag_that_is_computed_twice(x, a, b, c):
    def read(k):
        return x.at[k].get(mode="promise_in_bounds")  #: unknown

    return _two_cursors(read, a, b, c, lambda product: product)


@case(f32(10), f32(4), f32(4), f32(4))
def two_cursors_by_a_flag_that_is_computed_alike(x, a, b, c):
    def read(k):
        return x.at[k].get(mode="promise_in_bounds")  #: safe

    return _two_cursors(read, a, b, c, lambda product: b)


@case(f32(8), f32(8), f32(8), f32(8), i32())
def a_count_of_numbers_that_are_computed_twice(x, a, b, c, t):
    product = a * b
    ends = (product + c).astype(jnp.int32)
    read = x.at[jnp.sum(t >= ends)].get(mode="promise_in_bounds")  #: unknown
    return jnp.where(t < ends[-1], read, 0.0) * product[-1]


@case(f32(8), f32(8), f32(8), f32(8), i32())
def a_count_of_numbers_that_are_computed_alike(x, a, b, c, t):
    ends = (a * b + c).astype(jnp.int32)
    read = x.at[jnp.sum(t >= ends)].get(mode="promise_in_bounds")  #: masked
    return jnp.where(t < ends[-1], read, 0.0)


@case(f32(2), f32(4), f32(4), f32(4), i32())
def a_factor_by_a_flag_that_is_computed_twice(x, a, b, c, n):
    product = a * b
    flag = (product + c < 5)[0].astype(jnp.int32)
    quotient = lax.div(flag * 1000, jnp.maximum(n, 1))
    return x.at[jnp.minimum(quotient, 2) * (1 - flag)].get(mode="promise_in_bounds") * product[0], quotient  #: unknown


@case(f32(2), f32(4), f32(4), f32(4), i32())
def a_factor_by_a_flag_that_is_computed_alike(x, a, b, c, n):
    flag = (a * b + c < 5)[0].astype(jnp.int32)
    quotient = lax.div(flag * 1000, jnp.maximum(n, 1))
    return x.at[jnp.minimum(quotient, 2) * (1 - flag)].get(mode="promise_in_bounds"), quotient  #: safe
