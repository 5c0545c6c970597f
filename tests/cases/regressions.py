"""What random programs and review once caught redzone claiming wrongly, each as small as it gets."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl

import redzone
from tests.cases import case, f32, flag, i8, i16, i32, u8, u32

CLIP, FILL = lax.GatherScatterMode.CLIP, lax.GatherScatterMode.FILL_OR_DROP


@case(f32(4), i32(0, min=0, max=3), i32(min=-9, max=9))
def all_of_nothing_says_nothing(x, none, i):
    return lax.cond(jnp.all(none < i), lambda: x[jnp.minimum(i, 3)], lambda: 0.0)  #: unsafe


@case(f32(255), f32())
def a_difference_that_wraps(x, wanted):
    def body(carry, _):
        low, high = carry
        middle = low + lax.shift_right_arithmetic(high - low, np.int8(1))
        value = lax.dynamic_slice(x, (middle.astype(np.int32) + 128,), (1,))[0]  #: unsafe
        below = value < wanted
        return (jnp.where(below, middle, low), jnp.where(below, high, middle)), value

    return lax.scan(body, (np.int8(-128), np.int8(127)), None, 8)


@case(f32(4), i32(3))
def masked_along_another_axis(x, i):
    value = x.at[i].get(mode="promise_in_bounds")  #: requires
    return jnp.where(((i >= 0) & (i < 4))[:, None], value[None, :], 0.0)


@case(f32(3, 5), i32(3))
def masked_by_rows_read_by_columns(x, i):
    value = x[:, i]  #: requires
    return jnp.where(((i >= 0) & (i < 5))[:, None], value, 0.0)


@case(f32(7), i32(min=4, max=6))
def a_clamped_window_starts_earlier(x, i):
    table = jnp.asarray(np.array([0, 0, 9, 9], np.int32))
    numbers = lax.GatherDimensionNumbers((0,), (), (0,))
    rows = lax.gather(table, i[None], numbers, (3,), mode=CLIP)  #: declared
    return x[rows]  #: unsafe


@case(f32(4), i32(2, min=0, max=3))
def part_of_every_row(x, i):
    table = jnp.asarray(np.array([[0, 1, 9], [2, 3, 9], [0, 3, 9], [1, 2, 9]], np.int32))
    numbers = lax.GatherDimensionNumbers((1,), (0,), (0,))
    rows = lax.gather(table, i[:, None], numbers, (1, 2), mode=CLIP)  #: safe
    return x[rows]  #: safe


@case(f32(200), i32(1, min=0, max=9))
def a_filling_is_cast(x, i):
    bytes_ = jnp.zeros(4, np.uint8)
    numbers = lax.GatherDimensionNumbers((), (0,), (0,))
    found = lax.gather(bytes_, i[:, None], numbers, (1,), mode=FILL, fill_value=-1)  #: declared
    return x[found]  #: unsafe


@case(f32(4), i32(3, min=0, max=4))
def finished_lanes_are_not_running(x, limits):
    def lane(limit):
        return lax.while_loop(lambda i: i < limit, lambda i: i + 1, 0)

    return x[jax.vmap(lane)(limits)]  #: unsafe


@case(f32(4, 3), i32(2, 4, min=0, max=9))
def two_columns_of_many_indices(x, rows):
    return x[rows, 2]  #: unsafe


@case(i32(4), i32(), i32(min=0, max=5))
def bisection_past_the_end(x, wanted, n):
    def body(carry):
        low, high, fuel = carry
        middle = (low + high) // 2
        below = x[middle] < wanted  #: unsafe
        return jnp.where(below, middle + 1, low), jnp.where(below, high, middle), fuel + 1

    low, _, _ = lax.while_loop(lambda c: (c[0] < c[1]) & (c[2] < 8), body, (0, n, 0))
    return low


@case(f32(4), i32(4, min=3, max=9))
def a_witness_keeps_the_contract(x, i):
    return x[i[0]]  #: unsafe


@case(f32(4), i8())
def a_condition_where_the_branch_is_taken(x, i):
    return lax.cond(i > 0, lambda: x[i], lambda: 0.0)  #: requires


@case(f32(4), u8())
def an_unsigned_shift_with_sign(x, i):
    return lax.cond(lax.shift_right_arithmetic(i, np.uint8(2)) > 63, lambda: x[i], lambda: 0.0)  #: requires


@case(f32(3), i32(min=4, max=1199))
def a_long_row_of_short_ones(x, i):
    short = jnp.asarray(np.array([3, 0, 0, 0], np.int32)) + jnp.zeros(4, np.int32)
    table = lax.concatenate([short] * 300, 0)
    row = table[i]  #: safe
    return x[row]  #: unsafe


@case(f32(4), i32(min=0, max=100))
def a_quotient_met_first_where_it_is_small(x, i):
    where = jnp.where(i >= 8, i // 4, jnp.clip(i, 0, 7) // 4)
    return lax.dynamic_slice(x, (where,), (1,))  #: unsafe


@case(f32(4), i32(min=0, max=3), i32(min=0, max=4))
def a_scatter_of_part_of_each_row(x, i, j):
    numbers = lax.ScatterDimensionNumbers((0, 1), (), (0,))
    update = jnp.zeros((1, 2), np.int32) + jnp.minimum(j, 0)
    table = lax.scatter(jnp.full((4, 5), 9, np.int32), i[None], update, numbers, mode="promise_in_bounds")  #: safe
    return x[table[i, j]]  #: safe unsafe


@case(f32(10), i32(min=0), i32(min=0))
def a_promise_kept_by_wrapping(x, i, j):
    redzone.assume(i + j < 10)
    return x[i]  #: requires


@case(f32(10, 10), i32(8), i32())
def positions_written_as_outside(x, rows, j):
    later = jnp.concatenate([jnp.zeros(1, np.int32), rows[:-1]])

    def body(carry, t):
        return carry, lax.dynamic_slice(x, (later[t], j), (1, 1))  #: safe requires

    return lax.scan(body, 0, jnp.arange(8))


def _long(x):
    """Too long to be inlined where it is called twice."""
    for _ in range(45):
        x = jnp.sin(x)
    return x


@case(f32(2), i32(min=0, max=5), i32(min=0, max=5))
def the_test_of_another_caller(x, i, j):
    @jax.jit
    def while_less(a, b):
        def body(carry):
            count, total = carry
            return count + 1, total + x[jnp.clip(a - b + 3, 0, 20)]  #: unsafe

        return _long(lax.while_loop(lambda c: (a < b) & (c[0] < 2), body, (0, 0.0))[1])

    return while_less(jnp.maximum(i, j), jnp.minimum(i, j)) + while_less(i, j)


@case(f32(10), f32(10), i32(2), i32(2))
def a_condition_for_one_of_two_callers(x, y, i, j):
    @jax.jit
    def at_the_largest(i):
        return _long(x[jnp.max(i)])  #: requires

    return at_the_largest(i) + at_the_largest(j) + y[jnp.max(j)]  #: requires


@case(f32(10), i32(), flag())
def a_branch_taken_by_wrapping(x, k, lucky):
    def body(carry, t):
        inner = lambda: lax.cond(lucky, lambda: x[t], lambda: 1.0)  # noqa: E731  #: unsafe
        return carry, lax.cond(k * 2**20 > 5, inner, lambda: 0.0)

    return lax.scan(body, 0, jnp.arange(12))


@case(f32(9), i16(), i16(min=-11, max=7))
def one_number_beside_many(x, i, j):
    row = jnp.concatenate([jnp.stack([i, j]), lax.add(jnp.arange(4).astype(np.int16), j)])
    return x[row.reshape(2, 3).T.reshape(6)[3]]  #: unsafe


@case(f32(9), i16(), i16(), requires=("-11 ≤ j ≤ 6",))
def one_number_of_any_size_beside_many(x, i, j):
    row = jnp.concatenate([jnp.stack([i, j]), lax.add(jnp.arange(4).astype(np.int16), j)])
    return x[row.reshape(2, 3).T.reshape(6)[3]]  #: requires


@case(f32(10), f32(), f32(), i32(min=0, max=5))
def two_floats_nobody_asked_about(x, c, d, i):
    low, high = jnp.sin(c), jnp.cos(d)
    return lax.cond(
        (low < 0.2) & (high > 0.3),
        lambda k: lax.dynamic_slice(x, (k + 20,), (1,)),  #: unsafe
        lambda k: jnp.zeros(1),
        i,
    )


@case(f32(10), f32(), f32(), i32(min=0, max=5))
def one_float_compared_twice(x, c, d, i):
    low = jnp.sin(c)
    return lax.cond(
        (low < 0.2) & (low > 0.3),
        lambda k: lax.dynamic_slice(x, (k + 20,), (1,)),  #: safe
        lambda k: jnp.zeros(1),
        i,
    )


@case(f32(4), i32(min=0, max=4))
def an_equation_without_results(x, i):
    jax.debug.print("{}", i)
    return x.at[i].get(mode="promise_in_bounds")  #: unsafe


@case(f32(1), f32(4), i32(4, min=0, max=2))
def a_comparison_made_again_later_in_a_loop(x, y, steps):
    def body(at, step):
        kept = jnp.where((at >= 0) & (at <= 2), at, 2)
        first = lax.dynamic_slice(x, (2 - kept,), (1,))  #: unsafe
        second = lax.dynamic_slice(y, (jnp.where(at < 0, 0, 1),), (1,))  #: safe
        return step, first + second

    return lax.scan(body, jnp.int32(-1), steps)


@case(f32(5), u32(3, 4), flag(3), requires=("y ≤ 4",))
def rows_of_a_wide_type_that_go_round(x, y, flags):
    def body(rows, flag):
        at = jnp.where(flag, rows[1, 0], jnp.uint32(0))
        return jnp.concatenate([rows[1:], rows[:1]]), lax.dynamic_slice(x, (at,), (1,))  #: requires

    return lax.scan(body, y, flags)


@case(f32(5), i32(3, min=0, max=9))
def lanes_that_are_done_seen_by_others(x, starts):
    def lane(start):
        def body(carry):
            return carry[0] + 1, lax.all_gather(carry[0], "lanes")

        return lax.while_loop(lambda c: c[0] < 4, body, (start, jnp.zeros(3, jnp.int32)))[1]

    return x[jax.vmap(lane, axis_name="lanes")(starts)]  #: unsafe


@case(f32(5), i32(3, min=0, max=9))
def read_by_a_lane_that_is_done_for_another(x, starts):
    def lane(start):
        def body(carry):
            at, best = carry
            value = x[at]  #: unsafe
            return at + 1, jnp.maximum(best, lax.pmax(value, "lanes"))

        return lax.while_loop(lambda c: c[0] < 4, body, (start, 0.0))[1]

    return jax.vmap(lane, axis_name="lanes")(starts)


@case(f32(5), i32(3, min=0, max=9))
def a_condition_that_looks_at_the_next_lane(x, starts):
    def lane(start):
        def goes_on(carry):
            return lax.ppermute(carry[0], "lanes", [(0, 1), (1, 2), (2, 0)]) < 4  #: safe

        def body(carry):
            at, total = carry
            return at + 1, total + x[at]  #: unsafe

        return lax.while_loop(goes_on, body, (start, 0.0))[1]

    return jax.vmap(lane, axis_name="lanes")(starts)


@case(f32(1), i32(2))
def counters_of_lanes_that_end_at_different_times(x, ends):
    def lane(end):
        def body(carry):
            at, size, total = carry
            both = lax.all_gather(at, "lanes")
            return at + 1, size * 3, total + x[jnp.clip(both[0] - both[1], 0, 20)]  #: unsafe

        return lax.while_loop(lambda c: (c[1] < end) & (c[0] < 5), body, (0, 1, 0.0))[2]

    return jax.vmap(lane, axis_name="lanes")(ends)


@case(f32(5), i32(3, min=0, max=9))
def one_access_in_loops_with_lanes_apart_and_not(x, starts):
    look = jax.jit(lambda x, at: x[at])  #: unsafe

    def lane(start):
        def apart(carry):
            return carry[0] + 1, lax.while_loop(lambda c: c[0] < 4, inner, (start, carry[1]))[1]

        def inner(carry):
            return carry[0] + 1, jnp.maximum(carry[1], look(x, carry[0]))

        def first(carry):
            return carry[0] + 1, jnp.maximum(carry[1], lax.pmax(look(x, carry[0]), "lanes"))

        def second(carry):
            return carry[0] + 1, carry[1] + lax.pmin(look(x, carry[0]), "lanes")

        found = [lax.while_loop(lambda c: c[0] < 4, body, (start, 0.0))[1] for body in (apart, first, second)]
        return jnp.stack(found)

    return jax.vmap(lane, axis_name="lanes")(starts)


@case(i32(4), i32(5))
def what_is_added_is_made_of_nothing(x, i):
    return x.at[i].add(jnp.arange(5))  #: requires


@case(f32(10), i32(6), f32(6))
def what_is_read_times_a_count_of_floats(x, i, y):
    ok = (i >= 0) & (i < 10)
    weight = jnp.where(ok, jnp.arange(6, dtype=np.float32), 0.0)
    return weight * x.at[i].get(mode="promise_in_bounds")  #: requires


@case(f32(6), f32(101), f32(2, min=0.0, max=100.0), flag())
def numbers_beside_one_that_is_none(x, y, numbers, missing):
    numbers = jnp.where(missing & (jnp.arange(2) == 0), jnp.nan, numbers)
    most = numbers.max()
    near = x[jnp.where(most > 5.0, 0, numbers[1].astype(int))]  #: unsafe
    return near + y[most.astype(int)]  #: safe


@case(f32(6), f32(101), f32(3, 2, min=0.0, max=100.0))
def rows_of_numbers_beside_one_that_is_none(x, y, numbers):
    least = numbers.min(axis=1)
    near = x[jnp.where(least < 95.0, 0, (100 - numbers[:, 0]).astype(int))]  #: unknown
    return near + y[least.astype(int)]  #: safe


@case(f32(5), i32(300, min=0, max=9))
def the_first_place_in_a_type_that_does_not_hold_all(x, numbers):
    redzone.assume((numbers < 5).any())
    at = lax.argmax(numbers < 5, 0, jnp.uint8)
    return x[lax.dynamic_slice(numbers, (at,), (1,))[0]]  #: safe unsafe


@case(f32(5), flag(5))
def no_place_in_a_type_that_does_not_hold_all(x, flags):
    at = lax.argmax(jnp.concatenate([flags, jnp.zeros(295, bool)]), 0, jnp.int8)
    return lax.dynamic_slice(x, (at.astype(int),), (1,))  #: unknown


@case(f32(5), i32(min=0, max=9), i32(min=0, max=9))
def few_places_in_a_type_that_holds_fewer(x, a, b):
    at = lax.argmax(jnp.stack([a < 0, a < 0, a < 0, a < 0, b > 4]), 0, jnp.uint2)
    return lax.cond(at == 0, lambda: x[b], lambda: 0.0)  #: unsafe


@case(f32(5), i32(min=6, max=100))
def the_place_with_the_least_number_of_two(x, k):
    at = lax.argmax((jnp.arange(300) == k) | (jnp.arange(300) == 260), 0, jnp.uint8)
    return x[at.astype(int)]  #: unknown


@case(f32(4))
def rows_in_another_order(x):
    def body(before, row):
        return row, lax.dynamic_slice(x, (before + row,), (1,))  #: unsafe

    one = lax.scan(body, np.int32(0), jnp.array([0, 1, 2], jnp.int32))
    return one, lax.scan(body, np.int32(0), jnp.array([0, 2, 2], jnp.int32))


@case(f32(5))
def rows_from_the_last_to_the_first(x):
    def body(before, row):
        return row, lax.dynamic_slice(x, (2 * before + row,), (1,))  #: unsafe

    rows = jnp.array([0, 2, 1], jnp.int32)
    return lax.scan(body, np.int32(0), rows, reverse=True), lax.scan(body, np.int32(0), rows)


@case(f32(6))
def one_body_for_two_loops(x):
    def body(state):
        at, total = state
        return at + 1, total + x[at]  #: unsafe

    start = (np.int32(0), np.float32(0))
    return lax.while_loop(lambda s: s[0] < 5, body, start), lax.while_loop(lambda s: s[0] < 9, body, start)


@case(f32(10), i32(min=0, max=9), flag())
def branches_for_another_caller(x, i, taken):
    @jax.jit
    def read(x, i, taken):
        for _ in range(45):
            x = x + 1.0
        one = lax.cond(taken, lambda i: i, lambda i: np.int32(0), i)
        return x[lax.cond(taken, lambda n: n * 2, lambda n: np.int32(0), one)]  #: unsafe

    return read(x, i, taken), read(x, np.int32(0), taken)


@case(f32(5), i32(2, min=0, max=4))
def a_ref_that_is_written_before_it_is_passed_on(x, numbers):
    def work(refs):
        places, result = refs
        places[0] = 9  #: safe
        at = jax.jit(lambda ref: ref[0])(places)  #: safe
        result[0] = x[at]  #: safe unknown

    return pl.run_state(work)((numbers, jnp.zeros(2)))  #: safe


@case(f32(5), i32(min=0, max=9), i32(min=0, max=9), i32(min=-2, max=-2))
def a_number_before_the_first_case(x, a, b, which):
    return lax.cond(lax.select_n(which, a, b) < 5, lambda: x[b], lambda: 0.0)  #: unsafe


@case(f32(5), i32(3, min=0, max=9), i32(3, min=0, max=4))
def a_known_number_before_the_first_case(x, a, b):
    return x[lax.select_n(np.int32(-1), a, b)[0]]  #: unsafe


@case(f32(5), i32(3, min=0, max=4), i32(3, min=0, max=9))
def a_known_number_behind_the_last_case(x, a, b):
    return x[lax.select_n(np.int32(7), a, b)[0]]  #: unsafe


@case(f32(2), i32(4, min=1, max=9), i32(4, min=0, max=5))
def extremes_let_through_by_a_number(x, which, score):
    found = which[jnp.argmax(lax.select_n(which, jnp.full(4, -1), score))]  #: safe
    return x[jnp.where(found == 1, 0, found)]  #: unsafe


@case(f32(5), i32(4), flag(4))
def promised_in_a_branch_behind_another_on_the_same_number(x, starts, flags):
    def lane(start, taken):
        def trusted(at):
            redzone.assume((at >= 0) & (at < 5))
            return 1.0

        at = lax.cond(taken, lambda i: i + 0, lambda i: jnp.maximum(i, 0), start)
        return lax.cond(taken, trusted, lambda at: 0.0, at) + x[at]  #: requires

    return jax.vmap(lane)(starts, flags)


@case(f32(5), i32(4), flag(3, 4))
def promised_in_a_branch_whose_operands_are_spread(x, starts, flags):
    def lane(start, taken):
        def trusted():
            redzone.assume((start >= 0) & (start < 5))
            return x[start]  #: requires

        return lax.cond(taken, trusted, lambda: 0.0)

    return jax.vmap(jax.vmap(lane), (None, 0))(starts, flags)


@case(f32(5), i32(4), flag(4))
def promised_after_branches_on_the_same_number(x, starts, flags):
    def lane(start, taken):
        at = lax.cond(taken, lambda i: i + 0, lambda i: jnp.maximum(i, 0), start)
        at = lax.cond(taken, lambda i: i + 1, lambda i: i, at)
        redzone.assume((at >= 0) & (at < 5))
        return x[at]  #: safe

    return jax.vmap(lane)(starts, flags)


@case(f32(5), i32(min=0, max=1))
def nothing_and_two_numbers_side_by_side(x, k):
    numbers = lax.concatenate([jnp.zeros(0, jnp.int32), jnp.full(2, 7)], 0)
    at = lax.dynamic_index_in_dim(numbers, k, 0, False)  #: safe
    return x[at * (1 - k)]  #: unsafe


@case(f32(5), i32(3, 2, min=0, max=4))
def a_total_promised_of_one_row(x, counts):
    sums = jnp.cumsum(counts, 1)
    redzone.assume(sums[0, -1] <= 4)
    return x[sums[1]]  #: unsafe


@case(f32(6), i32(3, 4, min=0, max=9))
def totals_promised_of_all_rows(x, counts):
    sums = lax.cumsum(counts, 1, reverse=True)
    redzone.assume(sums[:, 0] <= 5)
    return x[sums[1]]  #: safe


# A short loop is gone through row by row: another one of the same body has its rows in another order.


@case(f32(4))
def the_same_rows_in_another_order(x):
    def body(at, by):
        return at + by, x[at]  #: unsafe

    return lax.scan(body, 0, jnp.array([0, 1, 2, 3])), lax.scan(body, 0, jnp.array([3, 2, 1, 0]))


@case(f32(4))
def the_same_rows_from_the_end(x):
    def body(at, by):
        return at + by, x[at]  #: unsafe

    rows = jnp.array([0, 1, 2, 3])
    return lax.scan(body, 0, rows), lax.scan(body, 0, rows, reverse=True)


# Two loops of one body that end by other conditions.


@case(f32(4))
def one_body_of_two_loops(x):
    def body(state):
        at, total = state
        return at + 1, total + x[at]  #: unsafe

    first = lax.while_loop(lambda state: state[0] < 4, body, (0, 0.0))
    return first, lax.while_loop(lambda state: state[0] < 6, body, (0, 0.0))


@case(f32(4))
def one_body_of_two_loops_that_end_in_time(x):
    def body(state):
        at, total = state
        return at + 1, total + x[at]  #: safe

    first = lax.while_loop(lambda state: state[0] < 4, body, (0, 0.0))
    return first, lax.while_loop(lambda state: (state[0] < 3) & (state[1] < 9), body, (0, 0.0))


# A number of eight bits that is counted on beyond its end.


@case(f32(21))
def a_counter_wraps_on_the_way(x):
    def body(at, _):
        return at + jnp.int8(20), x[at.astype(np.int32) - 100]  #: unsafe

    return lax.scan(body, jnp.int8(100), None, 20)


@case(f32(257))
def a_counter_that_wraps_has_room(x):
    def body(at, _):
        return at + jnp.int8(20), x[at.astype(np.int32) + 128]  #: safe

    return lax.scan(body, jnp.int8(100), None, 20)
