"""What random programs and review once caught redzone claiming wrongly, each as small as it gets."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

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
