"""Conditions around an access: branches, selects, masks, loops."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, flag, i32


@case(f32(4), i32())
def branch(x, i):
    return lax.cond((i >= 0) & (i < 4), lambda: x[i], lambda: 0.0)  #: safe


@case(f32(4), i32(min=-9, max=9))
def branch_one_too_far(x, i):
    return lax.cond((i >= 0) & (i <= 4), lambda: x[i], lambda: 0.0)  #: unsafe


@case(f32(4), i32())
def negated_branch(x, i):
    return lax.cond((i < 0) | (i >= 4), lambda: 0.0, lambda: x[i])  #: safe


@case(f32(4), i32(min=-9, max=9))
def wrong_branch(x, i):
    return lax.cond((i < 0) | (i >= 4), lambda: x[i], lambda: 0.0)  #: unsafe


@case(f32(4), i32(3))
def index_selected(x, i):
    return x[jnp.where((i >= 0) & (i < 4), i, 0)]  #: safe


@case(f32(4), i32(3))
def value_selected(x, i):
    value = x.at[i].get(mode="promise_in_bounds")  #: masked
    return jnp.where((i >= 0) & (i < 4), value, 0.0)


@case(f32(4), i32())
def counted_while(x, n):
    def body(carry):
        i, total = carry
        return i + 1, total + x[i]  #: safe

    return lax.while_loop(lambda c: c[0] < jnp.minimum(n, 4), body, (0, 0.0))


@case(f32(4), i32(min=0, max=5))
def counted_while_too_far(x, n):
    def body(carry):
        i, total = carry
        return i + 1, total + x[i]  #: unsafe

    return lax.while_loop(lambda c: c[0] < n, body, (0, 0.0))


@case(f32(4))
def fori(x):
    return lax.fori_loop(0, 4, lambda i, t: t + x[i], 0.0)  #: safe


@case(f32(4))
def fori_too_far(x):
    return lax.fori_loop(0, 5, lambda i, t: t + x[i], 0.0)  #: unsafe


@case(f32(8))
def blocks(x):
    return lax.fori_loop(0, 4, lambda i, t: t + lax.dynamic_slice(x, (i * 2,), (2,)).sum(), 0.0)  #: safe


@case(f32(7))
def last_block_sticks_out(x):
    return lax.fori_loop(0, 4, lambda i, t: t + lax.dynamic_slice(x, (i * 2,), (2,)).sum(), 0.0)  #: unsafe


@case(f32(4), flag(5))
def counter_in_a_scan(x, keep):
    def body(count, flag):
        return count + flag.astype(np.int32), x[count]  #: unsafe

    return lax.scan(body, np.int32(0), keep)


@case(f32(6), flag(5))
def counter_in_a_scan_fits(x, keep):
    def body(count, flag):
        return count + flag.astype(np.int32), x[count]  #: safe

    return lax.scan(body, np.int32(0), keep)


@case(f32(4), i32(3, min=0, max=4))
def finished_lanes_run_on(x, limits):
    def lane(limit):
        def body(carry):
            i, total = carry
            return i + 1, total + x[i]  #: masked

        return lax.while_loop(lambda c: c[0] < limit, body, (0, 0.0))

    return jax.vmap(lane)(limits)


@case(f32(4), i32(3, min=0, max=5))
def running_lanes_go_too_far(x, limits):
    def lane(limit):
        def body(carry):
            i, total = carry
            return i + 1, total + x[i]  #: unsafe

        return lax.while_loop(lambda c: c[0] < limit, body, (0, 0.0))

    return jax.vmap(lane)(limits)


@case(f32(4))
def triangle(x):
    return lax.fori_loop(0, 4, lambda i, t: lax.fori_loop(0, i, lambda j, u: u + x[j], t), 0.0)  #: safe


@case(f32(4))
def never_entered(x):
    return lax.while_loop(lambda c: c[0] < 0, lambda c: (c[0] + 1, c[1] + x[c[0] + 9]), (0, 0.0))  #: safe


@case(f32(3), i32())
def switched(x, i):
    return lax.switch(i, [lambda: x[0], lambda: x[jnp.clip(i, 0, 2)], lambda: x[2]])  #: safe


@case(f32(4), i32(3), flag(3))
def value_discarded_by_a_later_and(x, i, on):
    positive = x.at[i].get(mode="promise_in_bounds") > 50  #: masked
    return on & positive & (i >= 0) & (i < 4)


@case(f32(4), i32(3), flag(3))
def value_discarded_by_too_little(x, i, on):
    positive = x.at[i].get(mode="promise_in_bounds") > 50  #: unsafe
    return on & positive & (i >= 0) & (i < 5)


@case(f32(4), i32(3), flag(3))
def value_seen_before_it_is_discarded(x, i, on):
    positive = on & (x.at[i].get(mode="promise_in_bounds") > 50)  #: requires
    return positive & (i >= 0) & (i < 4), positive


def _refuse(i):
    raise ValueError(f"{i} is outside")


def _accept(i):
    return i


@case(f32(4), i32(), runs=False)
def error_outside(x, i):
    def fail():
        return jax.pure_callback(_accept, jax.ShapeDtypeStruct((), np.int32), jax.pure_callback(_refuse, i, i))

    return x.at[lax.cond((i < 0) | (i > 3), fail, lambda: i)].get(mode="promise_in_bounds")  #: safe


@case(f32(4), i32(), runs=False)
def error_too_far_outside(x, i):
    def fail():
        return jax.pure_callback(_refuse, i, i)

    return x.at[lax.cond((i < 0) | (i > 4), fail, lambda: i)].get(mode="promise_in_bounds")  #: unsafe


@case(f32(4), i32(), requires=("0 ≤ i ≤ 3",))
def error_that_is_none(x, i):
    def fail():
        return jax.pure_callback(_accept, i, i)

    return x.at[lax.cond((i < 0) | (i > 3), fail, lambda: i)].get(mode="promise_in_bounds")  #: requires


@case(f32(4))
def floats_made_from_literals(x):
    start, stop = jnp.multiply(0.0, 1.0), jnp.multiply(1.0, 1.0)
    return lax.cond(start == stop, lambda: lax.dynamic_slice(x, (7,), (1,))[0], lambda: x[0])  #: safe


@case(f32(4))
def equal_floats_made_from_literals(x):
    start, stop = jnp.multiply(0.5, 2.0), jnp.multiply(1.0, 1.0)
    return lax.cond(start == stop, lambda: lax.dynamic_slice(x, (7,), (1,))[0], lambda: x[0])  #: unsafe


@case(f32(4), i32(8, min=0, max=1))
def counter_under_other_names(x, steps):
    def body(c):
        step, saved = c
        again = lax.stop_gradient(saved + steps[step])  #: safe
        return lax.stop_gradient(step + 1), again.astype(np.int32)

    return x.at[lax.while_loop(lambda c: c[0] < 3, body, (0, 0))[1]].get(mode="promise_in_bounds")  #: safe


@case(f32(4), i32(8, min=0, max=1))
def counter_under_other_names_too_long(x, steps):
    def body(c):
        step, saved = c
        again = lax.stop_gradient(saved + steps[step])  #: safe
        return lax.stop_gradient(step + 1), again.astype(np.int32)

    return x.at[lax.while_loop(lambda c: c[0] < 4, body, (0, 0))[1]].get(mode="promise_in_bounds")  #: unsafe


@case(f32(8), flag(8))
def counter_in_a_vector(x, on):
    def body(c):
        c = c.at[0].set(c[0] + 1)  #: safe
        return c.at[1].set(on[c[0]])  #: safe

    return x[lax.while_loop(lambda c: (c[0] < 7) & (c[1] == 0), body, jnp.array([0, 0]))[0]]  #: safe


@case(f32(8), flag(8))
def counter_in_a_vector_too_far(x, on):
    def body(c):
        c = c.at[0].set(c[0] + 1)  #: safe
        return c.at[1].set(c[0] - 2)  #: safe

    end = lax.while_loop(lambda c: (c[0] < 8) & (c[1] < 7), body, jnp.array([0, 0]))
    return x.at[end[0]].get(mode="promise_in_bounds")  #: unsafe


@case(f32(4), i32(3, min=-9, max=9), i32(min=-9, max=9))
def elements_of_a_vector(x, v, i):
    first = (v[0] >= 0) & (v[0] < 4)

    def second():
        return x.at[v[1] + 4].get(mode="promise_in_bounds")  #: unsafe

    changed = v.at[1].set(i)  #: safe
    return changed, lax.cond(first, lambda: x[v[0]], lambda: x[0]), lax.cond(first, second, lambda: x[0])  #: safe


@case(f32(8, 8), i32(5, 2, min=0, max=7), i32(5, 2, min=-1, max=1))
def rows_that_stay_inside(grid, places, moves):
    def step(place, move):
        new = place + move
        place = jnp.where(((new >= 0) & (new < 8)).all(), new, place)
        return grid[place[0], place[1]]  #: safe

    return jax.vmap(step)(places, moves)


@case(f32(8, 8), i32(5, 2, min=0, max=7), i32(5, 2, min=-1, max=1))
def rows_one_too_far(grid, places, moves):
    def step(place, move):
        new = place + move
        place = jnp.where(((new >= 0) & (new <= 8)).all(), new, place)
        return grid[place[0], place[1]]  #: unsafe

    return jax.vmap(step)(places, moves)


@case(f32(8, 8), i32(5, 2, min=0, max=7), i32(20, 5, 2, min=-1, max=1))
def rows_kept_inside_by_a_scan(grid, places, moves):
    def step(place, move):
        new = place + move
        leaves = ((new < 0) | (new > 7)).any(-1, keepdims=True)
        return jnp.where(leaves, place, new), grid[place[:, 0], place[:, 1]]  #: safe

    return lax.scan(step, places, moves)


@case(f32(8, 8), i32(5, 2, min=0, max=7), i32(5, 2, min=-1, max=1))
def rows_by_their_ends(grid, places, moves):
    new = places + moves
    inside = (new.max(-1) < 8) & (new.min(-1) >= 0)
    place = jnp.where(inside[:, None], new, places)
    return grid[place[:, 0], place[:, 1]]  #: safe


@case(f32(8, 8), i32(2, 2, min=0, max=7), i32(2, 2, min=-1, max=1))
def columns_taken_for_rows(grid, places, moves):
    new = places + moves
    inside = ((new >= 0) & (new < 8)).all(0)
    place = jnp.where(inside[:, None], new, places)
    return grid[place[:, 0], place[:, 1]]  #: unsafe


@case(f32(8, 8), i32(2, 2, min=0, max=7), i32(2, 2, min=-1, max=1))
def rows_spread_the_other_way(grid, places, moves):
    new = places + moves
    inside = ((new >= 0) & (new < 8)).all(1)
    place = jnp.where(inside[None, :], new, places)
    return grid[place[:, 0], place[:, 1]]  #: unsafe


# A bool that was made before a branch is still about the same numbers inside it.


@case(f32(16), flag(20))
def full_was_asked_before(h, pushes):
    def step(carry, push):
        n, h = carry
        full = n >= 16

        def pushed():
            return lax.cond(full, lambda: (n, h), lambda: (n + 1, h.at[n].set(1.0)))  #: safe

        return lax.cond(push, pushed, lambda: (jnp.maximum(n - 1, 0), h)), None

    return lax.scan(step, (0, h), pushes)[0]


@case(f32(16), flag(20))
def full_was_asked_before_one_too_late(h, pushes):
    def step(carry, push):
        n, h = carry
        full = n > 16

        def pushed():
            return lax.cond(full, lambda: (n, h), lambda: (n + 1, h.at[n].set(1.0)))  #: unsafe

        return lax.cond(push, pushed, lambda: (jnp.maximum(n - 1, 0), h)), None

    return lax.scan(step, (0, h), pushes)[0]


@case(f32(16), flag(), flag(), i32())
def asked_before_three_branches(h, first, second, n):
    ok = (n >= 0) & (n < 16)

    def inner():
        return lax.cond(ok, lambda: h[n], lambda: 0.0)  #: safe

    return lax.cond(first, lambda: lax.cond(second, inner, lambda: 1.0), lambda: 2.0)


@case(f32(16), flag(), flag(), i32())
def asked_before_three_branches_of_less(h, first, second, n):
    ok = (n >= 0) & (n < 17)

    def inner():
        return lax.cond(ok, lambda: h[n], lambda: 0.0)  #: unsafe

    return lax.cond(first, lambda: lax.cond(second, inner, lambda: 1.0), lambda: 2.0)


@case(f32(16), flag(), i32())
def asked_before_the_branch_of_a_select(h, first, n):
    ok = (n >= 0) & (n < 16)
    return lax.cond(first, lambda: jnp.where(ok, h[n], 0.0), lambda: 0.0)  #: masked


@case(f32(16), flag(), i32(), i32())
def asked_before_of_another_number(h, first, n, m):
    ok = (m >= 0) & (m < 16)

    def inner():
        return lax.cond(ok, lambda: h[n] + m, lambda: 0.0)  #: requires

    return lax.cond(first, inner, lambda: 0.0)


@case(f32(16), flag(3), i32(min=0))
def asked_before_it_was_moved(h, moves, n):
    def step(n, move):
        ok = n < 16
        n = jnp.where(move, n + 1, n)
        return n, lax.cond(move, lambda: lax.cond(ok, lambda: h[n], lambda: 0.0), lambda: 0.0)  #: unsafe

    return lax.scan(step, n, moves)


@case(f32(16), flag(8), i32(min=0))
def asked_before_a_loop(h, pushes, n):
    ok = n < 16

    def step(h, push):
        return lax.cond(push & ok, lambda: h.at[n].add(1.0), lambda: h), None  #: safe

    return lax.scan(step, h, pushes)[0]


@case(f32(16), flag(8), i32(min=0))
def asked_before_a_loop_one_too_far(h, pushes, n):
    ok = n <= 16

    def step(h, push):
        return lax.cond(push & ok, lambda: h.at[n].add(1.0), lambda: h), None  #: unsafe

    return lax.scan(step, h, pushes)[0]


@case(f32(16), i32(), i32(6))
def asked_before_a_loop_of_a_select(h, n, values):
    ok = (n >= 0) & (n < 16)

    def step(state):
        k, total = state
        return k + 1, total + jnp.where(ok & (values[k] > 0), h[n], 0.0)  #: masked safe

    return lax.while_loop(lambda state: state[0] < 6, step, (0, 0.0))


@case(f32(16), flag(8), i32(min=0))
def asked_before_a_loop_that_moves_it(h, pushes, n):
    ok = n < 16

    def step(n, push):
        return n + 1, lax.cond(push & ok, lambda: h[n], lambda: 0.0)  #: unsafe

    return lax.scan(step, n, pushes)


# A table that the index was read from ends before the index does: that is no limit of the program's.
@case(i32())
def onward_where_it_is_free(at):
    free = jnp.asarray(np.arange(11) == 5)
    to = at + 1
    start = jnp.where(free[jnp.clip(to, 0, 10)], to, at)  #: safe
    return lax.dynamic_slice(jnp.arange(11), (start,), (3,))  #: requires


@case(f32(10), i32())
def limited_one_too_far_where_it_is_large(x, i):
    return x[jnp.where(i > 20, jnp.clip(i, 0, 10), i)]  #: unsafe


# Two regions of a sum outside, each of which begins where the other ends.
@case(f32(8), i32(), i32())
def one_small_and_one_large(x, a, b):
    a, b = jnp.clip(a, 0, 9), jnp.clip(b, 0, 9)
    return x[jnp.where(a < 5, jnp.where(b >= 5, a + b, 0), jnp.where(b < 5, a + b, 0))]  #: unsafe


@case(f32(14), i32(), i32())
def one_small_and_one_large_inside(x, a, b):
    a, b = jnp.clip(a, 0, 9), jnp.clip(b, 0, 9)
    return x[jnp.where(a < 5, jnp.where(b >= 5, a + b, 0), jnp.where(b < 5, a + b, 0))]  #: safe


# A sum that is asked for may have wrapped: that alone is left to rule out.
@case(f32(10), i32(), i32(), requires=("-2147483648 ≤ a + b ≤ 2147483647",))
def asked_of_a_sum_that_may_wrap(x, a, b):
    return lax.cond((a >= 0) & (b >= 0) & (a + b < 10), lambda: x[a + b], lambda: 0.0)  #: requires


@case(f32(10), i32(min=0, max=2**30 - 1), i32(max=2**30))
def asked_of_a_sum_that_cannot_wrap(x, a, b):
    return lax.cond((b >= 0) & (a + b < 10), lambda: x[a + b], lambda: 0.0)  #: safe


@case(f32(10), i32(), i32(), requires=("-2147483648 ≤ 5·row + column ≤ 2147483647",))
def asked_of_a_row_that_may_wrap(x, row, column):
    inside = (row >= 0) & (column >= 0) & (column < 5) & (5 * row + column < 10)
    return lax.cond(inside, lambda: x[5 * row + column], lambda: 0.0)  #: requires


# Seen only where another input is just what the program asks for.
@case(f32(8), i32(min=0, max=12), i32(min=0, max=12))
def seen_where_another_is_six(x, a, b):
    return jnp.where(b == 6, x[a], 0.0)  #: unsafe


@case(f32(8), i32(min=0, max=7), i32(min=0, max=8), flag())
def seen_where_two_others_say_so(x, at, by, seen):
    return jnp.where(seen & (by < 8), x[at + by], 0.0)  #: unsafe


# The head of a ring that is never taken back to its start.
@case(f32(20), flag(20))
def a_ring_whose_head_goes_on(values, push):
    def step(state, given):
        ring, head, count = state
        value, add = given
        ring = jnp.where(add & (count < 8), ring.at[(head + count) % 8].set(value), ring)  #: safe
        count_now = jnp.where(add, jnp.minimum(count + 1, 8), jnp.maximum(count - 1, 0))
        return (ring, jnp.where(~add & (count > 0), head + 1, head), count_now), ring[head]  #: unsafe

    return lax.scan(step, (jnp.zeros(8), 0, 0), (values, push))


# Of `a | (b & c)` that fails both fail, so of b and c one does: which, the next select asks.


@case(f32(50), i32(min=0, max=49), flag(), flag())
def child_unless_there_is_none(x, at, down, back):
    child = 2 * at + 1
    to = lax.select(back | (down & (child >= 50)), 0, lax.select(down, child, at))
    return x[to]  #: safe


@case(f32(50), i32(min=0, max=49), flag(), flag())
def child_unless_there_is_none_or_back(x, at, down, back):
    child = 2 * at + 1
    to = lax.select(back & (down | (child >= 50)), 0, lax.select(down, child, at))
    return x[to]  #: unsafe


@case(f32(50), i32(min=0, max=49), flag(), flag(), flag())
def child_by_another_condition(x, at, down, back, other):
    child = 2 * at + 1
    to = lax.select(back | (down & (child >= 50)), 0, lax.select(other, child, at))
    return x[to]  #: unsafe


@case(f32(50), i32(7, min=0, max=49), flag(7), flag(7))
def children_unless_there_are_none(x, at, down, back):
    child = 2 * at + 1
    to = jnp.where(back | (down & (child >= 50)), 0, jnp.where(down, child, at))
    return x[to]  #: safe


@case(f32(50), i32(7, 7, min=0, max=49), flag(7, 7), flag(7, 7))
def children_unless_others_have_none(x, at, down, back):
    child = 2 * at + 1
    to = jnp.where(back | (down & (child.T >= 50)), 0, jnp.where(down, child, at))
    return x[to]  #: unsafe


@case(f32(50), f32(), f32())
def around_a_tree(x, radius, query):
    def step(state):
        at, before, total = state
        parent = (at - 1) // 2
        right = (query > x[at]).astype(jnp.int32)  #: safe
        near, far = 2 * at + 1 + right, 2 * at + 2 - right
        to = lax.select(
            (before == near) | ((before == parent) & (near >= 50)),
            lax.select((far < 50) & (total < radius), far, parent),
            lax.select(before == parent, near, parent),
        )
        return to, at, total + 1

    return lax.while_loop(lambda state: state[0] != -1, step, (0, -1, 0.0))


@case(f32(50), f32(), f32())
def around_a_tree_too_far(x, radius, query):
    def step(state):
        at, before, total = state
        parent = (at - 1) // 2
        right = (query > x[at]).astype(jnp.int32)  #: unsafe
        near, far = 2 * at + 1 + right, 2 * at + 2 - right
        to = lax.select(
            (before == near) | ((before == parent) & (near >= 51)),
            lax.select((far < 50) & (total < radius), far, parent),
            lax.select(before == parent, near, parent),
        )
        return to, at, total + 1

    return lax.while_loop(lambda state: state[0] != -1, step, (0, -1, 0.0))
