"""Counters of what is marked for the first time: vertices in a queue, distances, slots that are taken."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.cases import case, flag, i32


@case(i32(12, 4, min=0, max=11), i32(min=0, max=11))
def each_vertex_once(neighbours, start):
    def each(k, carry, at):
        tail, queue, seen = carry
        to = neighbours[at, k]  #: safe
        new = ~seen[to]  #: safe
        queue = queue.at[jnp.where(new, tail, 12)].set(to, mode="drop")  #: declared
        return tail + new, queue, seen.at[to].set(True)  #: safe

    def body(carry):
        head, *rest = carry
        at = carry[2][head]  #: safe
        return head + 1, *lax.fori_loop(0, 4, lambda k, c: each(k, c, at), tuple(rest))

    seen = jnp.zeros(12, bool).at[start].set(True)  #: safe
    return lax.while_loop(lambda c: c[0] < c[1], body, (0, 1, jnp.full(12, start), seen))


@case(i32(12, 4, min=0, max=11), i32(min=0, max=11))
def each_vertex_as_often_as_it_is_met(neighbours, start):
    def each(k, carry, at):
        tail, queue = carry
        to = neighbours[at, k]  #: safe
        new = to != at
        return tail + new, queue.at[jnp.where(new, tail, 12)].set(to, mode="drop")  #: declared

    def body(carry):
        head, *rest = carry
        at = carry[2][head]  #: unsafe
        return head + 1, *lax.fori_loop(0, 4, lambda k, c: each(k, c, at), tuple(rest))

    return lax.while_loop(lambda c: c[0] < c[1], body, (0, 1, jnp.full(12, start)))


@case(i32(12, 4, min=0, max=11), i32(min=0, max=11))
def each_vertex_once_and_one_marked_that_is_not_there(neighbours, start):
    # The first vertex is not marked, so that it may come again.
    def each(k, carry, at):
        tail, queue, seen = carry
        to = neighbours[at, k]  #: safe
        new = ~seen[to]  #: safe
        queue = queue.at[jnp.where(new, tail, 12)].set(to, mode="drop")  #: declared
        return tail + new, queue, seen.at[to].set(True)  #: safe

    def body(carry):
        head, *rest = carry
        at = carry[2][head]  #: unsafe
        return head + 1, *lax.fori_loop(0, 4, lambda k, c: each(k, c, at), tuple(rest))

    first = (0, 1, jnp.full(12, start), jnp.zeros(12, bool))
    return lax.while_loop(lambda c: c[0] < c[1], body, first)


@case(i32(12, 4, min=0, max=11), i32(min=0, max=11))
def distances_with_room_for_one_more(neighbours, start):
    def each(k, carry, at):
        tail, queue, far = carry
        to = neighbours[at, k]  #: safe
        new = far[to] < 0  #: safe
        queue = jnp.where(new, queue.at[tail].set(to), queue)  #: safe
        return jnp.where(new, tail + 1, tail), queue, far.at[to].set(jnp.where(new, far[at] + 1, far[to]))  #: safe

    def body(carry):
        head, *rest = carry
        at = carry[2][head]  #: safe
        return head + 1, *lax.fori_loop(0, 4, lambda k, c: each(k, c, at), tuple(rest))

    far = jnp.full(12, -1).at[start].set(0)  #: safe
    far = lax.while_loop(lambda c: c[0] < c[1], body, (0, 1, jnp.full(13, start), far))[3]
    return jnp.zeros(12).at[jnp.maximum(far, 0)].add(1.0)  #: safe


@case(i32(12, 4, min=0, max=11), i32(min=0, max=11))
def distances_that_rise_by_five(neighbours, start):
    def each(k, carry, at):
        tail, queue, far = carry
        to = neighbours[at, k]  #: safe
        new = far[to] < 0  #: safe
        queue = jnp.where(new, queue.at[tail].set(to), queue)  #: unknown
        return jnp.where(new, tail + 1, tail), queue, far.at[to].set(jnp.where(new, far[at] + 5, far[to]))  #: safe

    def body(carry):
        head, *rest = carry
        at = carry[2][head]  #: unknown
        return head + 1, *lax.fori_loop(0, 4, lambda k, c: each(k, c, at), tuple(rest))

    # Nothing keeps what is added from wrapping, and with that from looking as if it was not marked.
    far = jnp.full(12, -1).at[start].set(0)  #: safe
    far = lax.while_loop(lambda c: c[0] < c[1], body, (0, 1, jnp.full(13, start), far))[3]
    return jnp.zeros(12).at[jnp.maximum(far, 0)].add(1.0)  #: unknown


@case(i32(6, min=0, max=3), i32(6, min=0, max=3))
def slots_that_are_taken(wanted, others):
    def take(carry, one):
        free, taken, log = carry
        slot, other = one
        ok = free[slot] & (slot != other)  #: safe
        log = log.at[taken].set(slot)  #: safe
        return (free.at[slot].set(jnp.where(ok, False, free[slot])), taken + ok, log), None  #: safe

    return lax.scan(take, (jnp.ones(4, bool), 0, jnp.zeros(5, jnp.int32)), (wanted, others))[0]


@case(i32(6, min=0, max=3), i32(6, min=0, max=3))
def slots_that_are_taken_and_given_back(wanted, others):
    def take(carry, one):
        free, taken, log = carry
        slot, other = one
        ok = free[slot]  #: safe
        log = log.at[taken].set(slot)  #: unsafe
        return (free.at[slot].set(False).at[other].set(True), taken + ok, log), None  #: safe

    return lax.scan(take, (jnp.ones(4, bool), 0, jnp.zeros(5, jnp.int32)), (wanted, others))[0]


@case(i32(6, min=0, max=3), i32(6, min=0, max=3))
def slots_of_which_another_is_marked(wanted, others):
    def take(carry, one):
        free, taken, log = carry
        slot, other = one
        ok = free[slot]  #: safe
        log = log.at[taken].set(slot)  #: unsafe
        return (free.at[other].set(False), taken + ok, log), None  #: safe

    return lax.scan(take, (jnp.ones(4, bool), 0, jnp.zeros(5, jnp.int32)), (wanted, others))[0]


@case(i32(6, min=0, max=3), flag(6))
def slots_that_are_marked_now_and_then(wanted, marked):
    def take(carry, one):
        free, taken, log = carry
        slot, sure = one
        ok = free[slot]  #: safe
        log = log.at[taken].set(slot)  #: unsafe
        return (jnp.where(sure, free.at[slot].set(False), free), taken + ok, log), None  #: safe

    return lax.scan(take, (jnp.ones(4, bool), 0, jnp.zeros(5, jnp.int32)), (wanted, marked))[0]


@case(i32(6, min=0, max=3))
def slots_that_count_twice(wanted):
    def take(carry, slot):
        free, taken, log = carry
        ok = free[slot]  #: safe
        log = log.at[taken].set(slot)  #: unsafe
        return (free.at[slot].set(False), taken + jnp.where(ok, 2, 0), log), None  #: safe

    return lax.scan(take, (jnp.ones(4, bool), 0, jnp.zeros(5, jnp.int32)), wanted)[0]


@case(i32(6, min=0, max=4))
def slots_that_may_not_be_there(wanted):
    # What is read beyond the end is the last one, and what is written there is thrown away.
    def take(carry, slot):
        free, taken, log = carry
        ok = lax.dynamic_index_in_dim(free, slot, keepdims=False)  #: unsafe
        log = log.at[taken].set(slot)  #: unsafe
        return (free.at[slot].set(False), taken + ok, log), None  #: unsafe

    return lax.scan(take, (jnp.ones(4, bool), 0, jnp.zeros(5, jnp.int32)), wanted)[0]


@case(i32(50, min=0, max=7))
def different_keys(keys):
    def step(carry, key):
        found, count, seen = carry
        new = ~seen[key]  #: safe
        found = found.at[jnp.where(new, count, 8)].set(key, mode="drop")  #: declared
        return (found, count + new, seen.at[key].set(True)), None  #: safe

    found, count, _ = lax.scan(step, (jnp.zeros(8, jnp.int32), 0, jnp.zeros(8, bool)), keys)[0]
    return found[count - 1], found[count]  #: safe unsafe


@case(flag(5, 6), i32(min=0, max=4), i32(min=0, max=5))
def a_region_of_a_grid(walls, y, x):
    steps = jnp.array([[0, 1], [0, -1], [1, 0], [-1, 0]])

    def each(k, carry, at, beside):
        tail, rows, columns, seen = carry
        i, j = jnp.clip(at + steps[k, 0], 0, 4), jnp.clip(beside + steps[k, 1], 0, 5)  #: safe
        new = ~seen[i, j] & ~walls[i, j]  #: safe
        last = jnp.where(new, tail, 30)
        rows, columns = rows.at[last].set(i, mode="drop"), columns.at[last].set(j, mode="drop")  #: declared
        return tail + new, rows, columns, jnp.where(new, seen.at[i, j].set(True), seen)  #: safe

    def body(carry):
        head, *rest = carry
        at, beside = carry[2][head], carry[3][head]  #: safe
        return head + 1, *lax.fori_loop(0, 4, lambda k, c: each(k, c, at, beside), tuple(rest))

    seen = jnp.zeros((5, 6), bool).at[y, x].set(True)  #: safe
    first = (0, 1, jnp.full(30, y), jnp.full(30, x), seen)
    return lax.while_loop(lambda c: c[0] < c[1], body, first)[4]


# Where it is new, there is still a place left for it: a queue and a stack as long as there are vertices. From a stack
# some are taken, too.


@case(flag(12, 12), i32(min=0, max=11))
def a_queue_of_all_vertices(edges, start):
    def each(to, carry, at):
        queue, tail, seen = carry
        new = edges[at, to] & ~seen[to]  #: safe
        queue = jnp.where(new, queue.at[tail].set(to), queue)  #: masked
        return queue, tail + new, seen.at[to].set(seen[to] | new)  #: safe

    def body(carry):
        head, *rest = carry
        at = carry[1][head]  #: safe
        return head + 1, *lax.fori_loop(0, 12, lambda to, c: each(to, c, at), tuple(rest))

    seen = jnp.zeros(12, bool).at[start].set(True)  #: safe
    first = (0, jnp.zeros(12, int).at[0].set(start), 1, seen)  #: safe
    return lax.while_loop(lambda c: c[0] < c[2], body, first)


@case(flag(12, 12), i32(min=0, max=11))
def a_queue_of_all_vertices_that_starts_at_one_that_is_not_marked(edges, start):
    def each(to, carry, at):
        queue, tail, seen = carry
        new = edges[at, to] & ~seen[to]  #: safe
        queue = jnp.where(new, queue.at[tail].set(to), queue)  #: unsafe
        return queue, tail + new, seen.at[to].set(seen[to] | new)  #: safe

    def body(carry):
        head, *rest = carry
        at = carry[1][jnp.minimum(head, 11)]  #: safe
        return head + 1, *lax.fori_loop(0, 12, lambda to, c: each(to, c, at), tuple(rest))

    first = (0, jnp.zeros(12, int).at[0].set(start), 1, jnp.zeros(12, bool))  #: safe
    return lax.while_loop(lambda c: c[0] < c[2], body, first)


@case(flag(12, 12), i32(min=0, max=11))
def a_stack_of_vertices(edges, start):
    def each(to, carry, at):
        stack, top, seen = carry
        new = edges[at, to] & ~seen[to]  #: safe
        stack = jnp.where(new, stack.at[top].set(to), stack)  #: masked
        return stack, jnp.where(new, top + 1, top), seen.at[to].set(seen[to] | new)  #: safe

    def body(carry):
        stack, top, seen = carry
        at = stack[top - 1]  #: safe
        return lax.fori_loop(0, 12, lambda to, c: each(to, c, at), (stack, top - 1, seen))

    seen = jnp.zeros(12, bool).at[start].set(True)  #: safe
    first = (jnp.zeros(12, int).at[0].set(start), 1, seen)  #: safe
    return lax.while_loop(lambda c: c[1] > 0, body, first)


@case(flag(12, 12), i32(min=0, max=11))
def a_stack_of_vertices_that_are_marked_when_they_are_taken(edges, start):
    def each(to, carry, at):
        stack, top, seen = carry
        new = edges[at, to] & ~seen[to]  #: safe
        return jnp.where(new, stack.at[top].set(to), stack), jnp.where(new, top + 1, top), seen  #: unsafe

    def body(carry):
        stack, top, seen = carry
        at = stack[jnp.clip(top - 1, 0, 11)]  #: safe
        seen = seen.at[at].set(True)  #: safe
        return lax.fori_loop(0, 12, lambda to, c: each(to, c, at), (stack, top - 1, seen))

    first = (jnp.zeros(12, int).at[0].set(start), 1, jnp.zeros(12, bool))  #: safe
    return lax.while_loop(lambda c: (c[1] > 0) & (c[1] < 30), body, first)


# The ways out of a place written one after the other: it may count several times, each beside what it marks.


def _ways_out(at):
    ways = ((0, 1), (1, 0), (0, -1), (-1, 0))
    return [(jnp.clip(at // 6 + dy, 0, 5), jnp.clip(at % 6 + dx, 0, 5)) for dy, dx in ways]


@case(flag(6, 6), i32(min=0, max=35))
def a_region_filled_from_a_queue(free, start):
    def body(carry):
        queue, head, tail, seen = carry
        for y, x in _ways_out(queue[head]):  #: safe
            new = free[y, x] & ~seen[y, x]  #: safe
            queue = queue.at[jnp.where(new, tail, 36)].set(y * 6 + x, mode="drop")  #: declared
            seen, tail = seen.at[y, x].set(True), tail + new  #: safe
        return queue, head + 1, tail, seen

    seen = jnp.zeros((6, 6), bool).at[start // 6, start % 6].set(True)  #: safe
    first = (jnp.full(36, start), 0, 1, seen)
    return lax.while_loop(lambda c: c[1] < c[2], body, first)


@case(flag(6, 6), i32(min=0, max=35))
def a_region_filled_from_a_stack(free, start):
    def body(carry):
        stack, top, seen = carry
        top = top - 1
        for y, x in _ways_out(stack[top]):  #: safe
            new = free[y, x] & ~seen[y, x]  #: safe
            stack = jnp.where(new, stack.at[top].set(y * 6 + x), stack)  #: masked safe
            seen, top = seen.at[y, x].set(True), top + new  #: safe
        return stack, top, seen

    seen = jnp.zeros((6, 6), bool).at[start // 6, start % 6].set(True)  #: safe
    return lax.while_loop(lambda c: c[1] > 0, body, (jnp.full(36, start), 1, seen))


@case(flag(3, 3), i32(min=0, max=8))
def a_region_filled_from_a_queue_where_all_are_looked_at_before_any_is_marked(free, start):
    def body(carry):
        queue, head, tail, seen = carry
        at = queue[head]  #: unsafe
        ways = [(jnp.clip(at // 3 + dy, 0, 2), jnp.clip(at % 3 + dx, 0, 2)) for dy, dx in ((0, 1), (1, 0), (0, -1))]
        new = [free[y, x] & ~seen[y, x] for y, x in ways]  #: safe
        for (y, x), one in zip(ways, new, strict=True):
            queue = queue.at[jnp.where(one, tail, 9)].set(y * 3 + x, mode="drop")  #: declared
            seen, tail = seen.at[y, x].set(True), tail + one  #: safe
        return queue, head + 1, tail, seen

    seen = jnp.zeros((3, 3), bool)
    return lax.while_loop(lambda c: c[1] < c[2], body, (jnp.full(9, start), 0, 1, seen))
