"""Index from what loops count and write down: marks, tables of places, flags, counters that wrap, runs of elements.

Each is right or nearly: a mark may be taken back, another place be marked, a counter go up by two or at other times, a
table be filled with places that it does not have, a flag be read before it is set.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.fuzz.fitted import Given, maker
from tests.fuzz.scope import Scope

Read = Callable[[Any], Any]
Visit = Callable[[Any, Any, Any, Any], Any]


def _place(way: int, value: Any, n: int) -> Any:
    """A place in an array of n elements, inside or nearly."""
    value = value.astype(np.int32)
    return [jnp.clip(value, 0, n - 1), value % n, jnp.clip(value, 0, n - 1), jnp.clip(value, 0, n)][way]


def _marks(scope: Scope, n: int) -> tuple[Any, Callable[[Any], Any], Callable[[Any, Any], Any]]:
    """An array of marks, which of its elements are none, and what is written for one that is reached from another."""
    narrow, by, limit = scope.choice([np.int32, np.int8]), scope.choice([1, 1, 1, 2, 0]), scope.choice([1, 1, 2])
    distances = scope.choice([lambda e: e < 0, lambda e: e == -1, lambda e: ~(e >= 0), lambda e: e < 1])
    return scope.choice([  # type: ignore[no-any-return]
        (jnp.zeros(n, bool), lambda e: ~e, lambda marks, near: True),
        (jnp.ones(n, bool), lambda e: e, lambda marks, near: False),
        (jnp.full(n, -1, narrow), distances, lambda marks, near: marks[near] + jnp.asarray(by, narrow)),
        (jnp.full(n, -1), lambda e: e == -1, lambda marks, near: near),
        (jnp.zeros(n, np.int32), lambda e: e < limit, lambda marks, near: limit),
    ])  # fmt: skip


def _at_first(scope: Scope, marks: Any, start: Any) -> Any:
    """The marks that a search starts with."""
    one = {"b": ~marks[0]}.get(marks.dtype.kind, jnp.asarray(scope.choice([0, 0, 1, 5]), marks.dtype))
    ways: list[Callable[[], Any]] = [lambda: marks, lambda: marks.at[start].set(one), lambda: marks.at[start].set(one)]
    if marks.dtype.kind == "b":
        ways.append(lambda: marks ^ (jnp.arange(marks.shape[0]) == start))
    return scope.choice(ways)()


def _written(scope: Scope, way: str, marks: Any, new: Any, at: Any, near: Any, value: Any) -> Any:
    """The marks after one more, or nearly."""
    if way == "element":
        return marks.at[at].set(jnp.where(new, value, marks[at]))
    if way == "all":
        return jnp.where(new, marks.at[at].set(value), marks)
    if way == "branch":
        return lax.cond(new, lambda m: m.at[at].set(value), lambda m: m, marks)
    if way == "beside":
        return marks.at[near].set(value)
    if way in ("or", "or another") and marks.dtype.kind == "b":
        more = new if way == "or" else at != near
        return marks.at[at].set((marks[at] | more) if scope.chance(0.8) else (marks[near] | more))
    if way == "back":
        return marks.at[at].set(value).at[near].set(jnp.asarray(scope.choice([0, 1]), marks.dtype))
    return marks.at[at].set(value)


def _through(scope: Scope, given: Given, visit: Visit, first: Any, place: Callable[[Any], Any]) -> Any:
    """Visit places of the inputs in a loop, or in loops in each other."""
    board, row, flags, count = given.board, given.row, given.flags, scope.choice([4, 8, 12])

    def one(k: Any, carry: Any) -> Any:
        return visit(carry, place(row[k % 4]), place(board[0, (k + 1) % 4]), flags[k % 4])

    def around(h: Any, carry: Any) -> Any:
        near = place(jnp.asarray(h) + 0 * row[0])
        return lax.fori_loop(0, 4, lambda k, c: visit(c, place(board[h % 3, k]), near, flags[k]), carry)

    def until(goes_on: Callable[[Any], Any], step: Callable[[Any, Any], Any]) -> Any:
        return lax.while_loop(goes_on, lambda s: (s[0] + 1, *step(s[0], s[1:])), (0, *first))[1:]

    def unrolled(k: Any, carry: Any) -> Any:
        for more in range(scope.small(2, 3) if twice else 1):
            carry = one(k + more, carry)
        return carry

    def taken(h: Any, carry: Any) -> Any:
        less = jnp.asarray(fewer, carry[0].dtype)
        return around(h, (carry[0] + less if rises else carry[0] - less, *carry[1:]))

    end, fewer, rises = jnp.clip(given.b.astype(np.int32), 0, 12), scope.choice([1, 1, 2, 0]), scope.chance(0.1)
    twice = scope.chance(0.9)
    return scope.choice([
        lambda: until(lambda s: (s[1] > 0) & (s[0] < 4), taken),
        lambda: lax.fori_loop(0, 3, unrolled, first),
        lambda: until(lambda s: (s[1] > 0) & (s[0] < 4), lambda h, c: unrolled(h, (c[0] - 1, *c[1:]))),
        lambda: until(lambda s: (s[1] >= 0) & (s[0] < 4), taken),
        lambda: until(lambda s: (s[1] > 1) & (s[0] < 4), taken),
        lambda: lax.scan(lambda c, k: (one(k, c), None), first, jnp.arange(count))[0],
        lambda: lax.fori_loop(0, count, one, first),
        lambda: until(lambda s: s[0] < end, one),
        lambda: until(lambda s: s[0] < s[1].astype(np.int32), around),
        lambda: until(lambda s: (s[0] < s[1].astype(np.int32) + 1) & (s[0] < 8), around),
        lambda: lax.fori_loop(0, 3, around, first),
    ])()  # fmt: skip


@maker(later=True)
def marked(scope: Scope, given: Given, read: Read) -> Any:
    """A counter of what is marked for the first time."""
    n, way, kind = scope.small(2, 5), scope.small(0, 3), scope.choice([np.int32, np.int32, np.int8, np.uint8])
    marks, is_open, mark = _marks(scope, n)
    marks = _at_first(scope, marks, _place(scope.small(0, 1), given.a, n))
    write = scope.choice(["set", "element", "all", "branch", "beside", "back", "or", "or", "or another"])
    more, counting, reading = scope.choice([0, 0, 1, 2]), scope.small(0, 3), scope.small(0, 4)

    def visit(carry: Any, at: Any, near: Any, flag: Any) -> Any:
        count, marks, total = carry
        new = is_open(marks[at])
        new = new & flag if more == 1 else new & (at != near) if more == 2 else new
        if reading == 0:
            total = total + read(count.astype(np.int32))
        if reading == 1:
            total = total + jnp.where(new, read(count.astype(np.int32)), 0.0)
        if reading == 4:
            total = total + lax.cond(new, lambda: read(count.astype(np.int32)), lambda: 0.0)
        value = jnp.asarray(mark(marks, near)).astype(marks.dtype)
        marks = _written(scope, write, marks, new, at, near, value)
        one = jnp.asarray(1, kind)
        count = [
            lambda: count + new.astype(kind),
            lambda: jnp.where(new, count + one, count),
            lambda: count + jnp.where(new, one, jnp.asarray(0, kind)),
            lambda: count + (new | flag).astype(kind),
        ][counting]()
        return count, marks, total

    first = (jnp.asarray(scope.choice([0, 0, 1]), kind), marks, jnp.float32(0))
    count, marks, total = _through(scope, given, visit, first, lambda v: _place(way, v, n))
    if reading == 2 and marks.dtype.kind == "i":
        return total + read(jnp.max(marks).astype(np.int32)), count
    return total + (read(count.astype(np.int32)) if reading > 1 else 0.0), marks


@maker(later=True)
def tables(scope: Scope, given: Given, read: Read) -> Any:
    """A table of places in it, whose rows are given out by a counter: a trie, or nearly."""
    rows, columns, kind = scope.choice([4, 6, 9]), scope.choice([2, 3]), scope.choice([np.int32, np.int32, np.int8])
    empty, count, reading = scope.choice([0, 0, -1]), scope.choice([3, 4, 7, 18]), scope.small(0, 3)
    ahead, counting, stays = scope.choice([0, 0, 0, 1]), scope.small(0, 3), scope.chance(0.2)

    def step(k: Any, carry: Any) -> Any:
        table, free, node, total = carry
        letter = jnp.clip(given.row[k % 4].astype(np.int32), 0, columns - 1)
        to = table[node, letter]
        new = to == empty
        total = total + (read(node.astype(np.int32)) if reading == 0 else 0.0)
        after = jnp.where(new, free + jnp.asarray(ahead, kind), to)
        table = table.at[node, letter].set(after)
        flags = [new, after == free, new & given.flags[k % 4], jnp.asarray(True)]
        total = total + (read(after.astype(np.int32)) if reading == 1 else 0.0)
        return table, free + flags[counting].astype(kind), to if stays else after, total

    first = (jnp.full((rows, columns), empty, kind), jnp.asarray(1, kind), jnp.asarray(0, kind), jnp.float32(0))
    end = jnp.clip(given.a.astype(np.int32), 0, count)
    table, free, _, total = scope.choice([
        lambda: lax.fori_loop(0, count, step, first),
        lambda: lax.scan(lambda c, k: (step(k, c), None), first, jnp.arange(count))[0],
        lambda: lax.while_loop(lambda s: s[0] < end, lambda s: (s[0] + 1, *step(s[0], s[1:])), (0, *first))[1:],
    ])()  # fmt: skip
    last = {2: free, 3: jnp.max(table)}.get(reading)
    return total if last is None else total + read(last.astype(np.int32))


@maker(later=True)
def wraps(scope: Scope, given: Given, read: Read) -> Any:
    """A counter that comes to the end of its type on the way."""
    kind = np.dtype(scope.choice(["int8", "uint8", "int8", "int16"]))
    info = np.iinfo(kind)
    by = np.array(scope.choice([1, 3, 50, 64, 100, 127, int(info.max) // 3])).astype(kind)
    first = np.array(scope.choice([0, 1, 5, int(info.max), int(info.min), int(info.max) - 1])).astype(kind)
    at = scope.choice([lambda v: v, abs, lambda v: v >> 4, lambda v: v & 31, lambda v: jnp.maximum(v, 0)])
    count, guarded = scope.choice([2, 3, 5, 8, 9, 17]), scope.chance(0.4)

    def step(k: Any, carry: Any) -> Any:
        i, total = carry
        index = jnp.clip(at(i).astype(np.int32), -400, 400)
        return i + by, total + read(jnp.where(given.flags[k % 4], index, 0) if guarded else index)

    def around(_: Any, carry: Any) -> Any:
        return lax.fori_loop(0, 2, step, carry)

    begin = (jnp.asarray(first), jnp.float32(0))
    backward = scope.chance(0.5)
    return scope.choice([
        lambda: lax.fori_loop(0, count, step, begin),
        lambda: lax.fori_loop(0, 3, around, begin),
        lambda: lax.scan(lambda c, k: (step(k, c), None), begin, jnp.arange(count), reverse=backward)[0],
        lambda: lax.while_loop(lambda s: s[0] < count, lambda s: (s[0] + 1, *step(s[0], s[1:])), (0, *begin)),
    ])()  # fmt: skip


@maker(later=True)
def flagged(scope: Scope, given: Given, read: Read) -> Any:
    """A loop in which a flag says something of a cursor."""
    count, times = scope.choice([2, 3, 4, 6, 9, 14]), scope.choice([2, 3, 1, -1])
    set_by = scope.choice([
        lambda f, i, x: i > 2, lambda f, i, x: f | (x > 3), lambda f, i, x: ~f, lambda f, i, x: f & (i < 2),
        lambda f, i, x: given.flags[i % 4], lambda f, i, x: f ^ (i == 1), lambda f, i, x: x % 2 == 0,
    ])  # fmt: skip
    moved_by = scope.choice([
        lambda f, i, x: jnp.where(f, x, x + 1), lambda f, i, x: x * times, lambda f, i, x: jnp.where(f, 0, x * times),
        lambda f, i, x: jnp.where(f, x - 1, x + 2), lambda f, i, x: jnp.where(f, i, x + times),
    ])  # fmt: skip
    looked = scope.choice([
        lambda f, x: lax.cond(f, lambda: read(x), lambda: 0.0), lambda f, x: lax.cond(f, lambda: 0.0, lambda: read(x)),
        lambda f, x: jnp.where(f, read(x), 0.0), lambda f, x: read(jnp.where(f, x, 0)),
    ])  # fmt: skip
    before, later = scope.chance(0.5), scope.chance(0.4)

    def step(i: Any, carry: Any) -> Any:
        flag, x, total = carry
        total = total + looked(flag, x) if before else total
        after = set_by(flag, i, x)
        x = jnp.asarray(moved_by(after if later else flag, i, x), np.int32)
        return after, x, total if before else total + looked(after, x)

    cursor = scope.choice([lambda: jnp.int32(1), lambda: jnp.clip(given.a.astype(np.int32), 0, 3)])()
    first = (scope.choice([jnp.asarray(False), jnp.asarray(True), given.flag]), cursor, jnp.float32(0))
    end = scope.choice([lambda: jnp.int32(count), lambda: jnp.clip(given.b.astype(np.int32), 0, count)])()
    up = scope.choice([2, 3])
    return scope.choice([
        lambda: lax.fori_loop(0, count, step, first),
        lambda: lax.while_loop(lambda s: s[0] < end, lambda s: (s[0] + 1, *step(s[0], s[1:])), (0, *first)),
        lambda: lax.while_loop(lambda s: s[0] < 40, lambda s: (s[0] * up, *step(s[0], s[1:])), (1, *first)),
        lambda: lax.while_loop(
            lambda s: (s[0] < count) & ~s[1], lambda s: (s[0] + 1, *step(s[0], s[1:])), (0, *first)
        ),
    ])()  # fmt: skip


@maker(later=True)
def consecutive(scope: Scope, given: Given, read: Read) -> Any:
    """Elements read at places that follow one another, and a condition on the array or on what was read."""
    row, board, offset, count = given.row, given.board, scope.choice([0, 0, 1, 2, -1]), scope.choice([2, 3, 4, 1])
    at = jnp.arange(count, dtype=scope.choice([np.int32, np.int8, np.int32])) + offset
    at = scope.choice([lambda: at, lambda: at, lambda: jnp.asarray(np.arange(count) + offset), lambda: at[::-1]])()
    column = scope.small(0, 3)
    found = scope.choice([
        lambda: row[at], lambda: jax.vmap(lambda i: row[i])(at), lambda: row.at[at].get(mode="clip"),
        lambda: board[:, 1][at % 3], lambda: jax.vmap(lambda i: board[i])(jnp.minimum(at, 2))[:, column],
        lambda: board[1, at], lambda: jax.vmap(lambda i: board[:, i])(at)[:, 2], lambda: board[jnp.minimum(at, 2), 1],
        lambda: jnp.take(board, at, axis=1, mode="clip")[1], lambda: jnp.take(board, at % 3, axis=0)[:, column],
        lambda: jax.vmap(lambda i: jax.vmap(lambda j: board[i, j])(jnp.arange(3)))(jnp.arange(3))[1],
    ])().astype(np.int32)  # fmt: skip
    whole = scope.choice([row, board[0], board[1], board[:, 1], row]).astype(np.int32)
    said, limit = scope.choice([found, whole, whole[1:], found]), scope.choice([2, 3, 5])
    ok = scope.choice([
        lambda: jnp.all((said >= 0) & (said < limit)), lambda: (said[0] >= 0) & (said[0] < limit),
        lambda: jnp.all(whole >= 0) & jnp.all(found < limit), lambda: said[-1] == limit,
    ])()  # fmt: skip
    index = scope.choice([found, found[0], found[-1], jnp.max(found), whole[0]])
    if scope.chance(0.2):
        redzone.assume(ok)
        return read(index)
    return scope.choice([
        lambda: lax.cond(ok, read, lambda _: 0.0, index),
        lambda: jnp.where(ok, read(index), 0.0),
        lambda: read(jnp.where(ok, index, 0)),
    ])()  # fmt: skip
