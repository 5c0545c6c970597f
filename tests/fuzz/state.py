"""Index from the content of a state array: written at known and unknown places, selected, joined, carried by loops."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.fitted import Given, maker
from tests.fuzz.relations import _at
from tests.fuzz.scope import Scope

ROWS, COLUMNS = 3, 4
"""The shape of the board."""


def number(scope: Scope, given: Given, like: Any) -> Any:
    """One number to be written: the caller's, or one of the program's."""
    ways = [lambda: given.a, lambda: given.b, lambda: _at(scope.choice([0, 1, 2, 3, 5, 9, 20]), given.a)]
    return scope.choice(ways)().astype(like.dtype)


def element(scope: Scope, given: Given, board: Any) -> Any:
    """One number of the board."""
    r, c = scope.small(0, ROWS - 1), scope.small(0, COLUMNS - 1)
    place = r * COLUMNS + c
    ways: list[Callable[[], Any]] = [
        lambda: board[r, c],
        lambda: board[r, c],
        lambda: board[r][c],
        lambda: board[:, c][r],
        lambda: board.reshape(-1)[place],
        lambda: board[r : r + 1, c].reshape(()),
        lambda: lax.dynamic_slice(board, (r, c), (1, 1))[0, 0],
        lambda: board[jnp.clip(given.a, _at(0, given.a), _at(ROWS - 1, given.a)), c],
        lambda: board[r, given.b % _at(COLUMNS, given.b)],
        lambda: board[::-1][r, c],
        lambda: board.T[c, r],
        lambda: jnp.max(board[r]),
        lambda: jnp.min(board[:, c]),
        lambda: jnp.sum(board[r, :2]).astype(board.dtype),
        lambda: jnp.argmax(board[r]).astype(board.dtype),
    ]
    return scope.choice(ways)()


def _written(scope: Scope, given: Given, board: Any) -> Any:
    r, c = scope.small(0, ROWS - 1), scope.small(0, COLUMNS - 1)
    one = number(scope, given, board)
    line = scope.choice([lambda: given.row, lambda: given.row + _at(1, given.row), lambda: board[(r + 1) % ROWS]])()
    line = line.astype(board.dtype)
    table = np.array([scope.choice([0, 1, 2, 5, 9]) for _ in range(COLUMNS)])
    place = scope.choice([given.a, given.b])
    ways: list[Callable[[], Any]] = [
        lambda: board.at[r, c].set(one),
        lambda: board.at[r, c].set(one),
        lambda: board.at[r].set(line),
        lambda: board.at[r].set(jnp.asarray(table.astype(board.dtype))),
        lambda: board.at[:, c].set(line[:ROWS]),
        lambda: board.at[r, c].add(jnp.asarray(1, board.dtype)),
        lambda: lax.dynamic_update_slice(board, jnp.stack([one, board[0, 0]])[None], (r, min(c, COLUMNS - 2))),
        lambda: lax.dynamic_update_slice(board, line[None], (r, 0)),
        lambda: lax.dynamic_update_slice(board, one[None, None], (jnp.clip(place.astype(np.int32), 0, 2), c)),
        lambda: board.at[place % _at(ROWS, place), c].set(one),
        lambda: board.at[jnp.clip(place, _at(0, place), _at(ROWS - 1, place))].set(line),
        lambda: board.at[place].set(line, mode="drop"),
        lambda: jnp.where(jnp.arange(ROWS)[:, None] == place.astype(np.int32), line, board),
        lambda: board.at[r, c].set(jnp.clip(board[r, c], 0, scope.choice([1, 3, 9]))),
        lambda: board.at[jnp.array([0, 2]), c].set(one),
    ]
    return scope.choice(ways)()


def _moved(scope: Scope, given: Given, board: Any) -> Any:
    flag, other = (scope.choice([given.flag, given.other]) for _ in range(2))
    k = scope.choice([1, 2, 3, 9])
    limit = jnp.asarray(k, board.dtype)
    ways: list[Callable[[], Any]] = [
        lambda: jnp.where(flag, _written(scope, given, board), board),
        lambda: lax.select(flag, board, _written(scope, given, board)),
        lambda: lax.select(flag, lax.select(other, _written(scope, given, board), board), board),
        lambda: lax.select(
            flag, _written(scope, given, board), lax.select(other, board, _written(scope, given, board))
        ),
        lambda: lax.select(
            other, _written(scope, given, lax.select(flag, _written(scope, given, board), board)), board
        ),
        lambda: lax.cond(flag, lambda s: _written(scope, given, s), lambda s: s, board),
        lambda: jnp.where(board > limit, limit, board),
        lambda: jnp.clip(board, 0, k),
        lambda: board % limit,
        lambda: board + limit,
        lambda: board * flag.astype(board.dtype),
        lambda: jnp.concatenate([board[:1], _written(scope, given, board)[1:]]),
        lambda: jnp.concatenate([board[1:], board[:1]]),
        lambda: jnp.stack([board[0], board[1], given.row.astype(board.dtype)]),
        lambda: jnp.stack([board[:, k] for k in (1, 0, 2, 3)], axis=1),
        lambda: jnp.concatenate([board[:, :2], board[:, 1:3]], axis=1),
        lambda: jnp.sort(board, axis=1),
        lambda: jnp.roll(board, 1, axis=scope.small(0, 1)),
        lambda: board[jnp.argsort(board[:, 0])],
        lambda: jnp.where(given.flags, board, limit),
        lambda: jnp.where(board == _at(1, board), jnp.asarray(0, board.dtype), board),
        lambda: jax.vmap(lambda r: r.at[scope.small(0, 3)].set(r[0]))(board),
        lambda: jnp.maximum(board, jnp.flip(board, 1)),
    ]
    return scope.choice(ways)()


def evolved(scope: Scope, given: Given, board: Any, most: int = 4) -> Any:
    """The board after some changes."""
    for _ in range(scope.small(1, most)):
        board = scope.choice([_written, _written, _moved])(scope, given, board)
    return board


def combined(scope: Scope, given: Given, board: Any) -> Any:
    """An index made of one, two or three numbers of the board."""
    e = [element(scope, given, board) for _ in range(3)]
    flag = scope.choice([given.flag, given.other])
    bit = flag.astype(board.dtype)
    one = jnp.asarray(1, board.dtype)
    ways: list[Callable[[], Any]] = [
        lambda: e[0],
        lambda: e[0],
        lambda: e[0] + e[1],
        lambda: e[0] - e[1],
        lambda: e[0] * jnp.asarray(COLUMNS, board.dtype) + e[1],
        lambda: jnp.where(flag, e[0], e[1]),
        lambda: lax.select(flag, e[0], jnp.zeros_like(e[0])),
        lambda: e[0] * bit + e[1] * (one - bit),
        lambda: e[0] * (e[1] == e[2]).astype(board.dtype),
        lambda: jnp.where(e[0] > e[1], e[0] - e[1], e[2]),
        lambda: jnp.maximum(e[0], e[1]) + e[2],
        lambda: jnp.where((e[0] >= 0) & (e[0] < 5), e[0], jnp.zeros_like(e[0])),
        lambda: lax.select(flag, board, board + one)[0, 0] + e[1],
        lambda: e[0] & jnp.asarray(3, board.dtype),
        lambda: board[0] + e[1],
    ]
    return scope.choice(ways)()


@maker(3)
def written_and_read(scope: Scope, given: Given, read: Callable[[Any], Any]) -> Any:
    return read(combined(scope, given, evolved(scope, given, given.board)))


@maker(2)
def guarded_by_content(scope: Scope, given: Given, read: Callable[[Any], Any]) -> Any:
    """A branch about one number of the board, an index made of another or the same."""
    board = evolved(scope, given, given.board, 2)
    e = element(scope, given, board)
    index = scope.choice([lambda: e, lambda: combined(scope, given, board)])()
    low, high = _at(scope.choice([0, 1]), e), _at(scope.choice([2, 3, 9]), e)
    tests = [(e >= low) & (e <= high), e <= high, ~(e < low), e == high, jnp.all(board <= high), jnp.any(board == high)]
    return lax.cond(scope.choice(tests), lambda: read(index), lambda: jnp.float32(0))


@maker(3)
def carried_by_a_scan(scope: Scope, given: Given, read: Callable[[Any], Any]) -> Any:
    """The board is what a scan carries; its content is an invariant, or nearly."""
    inside = scope.chance(0.7)

    def body(board: Any, flag: Any) -> Any:
        scope.rng.seed(f"{scope.trace.seed}:scan")
        seen = dataclasses.replace(given, board=board, flag=flag)
        after = evolved(scope, seen, board, 2)
        return after, read(combined(scope, seen, board)) if inside else jnp.float32(0)

    start = jnp.clip(given.board, 0, scope.choice([3, 9])) if scope.chance(0.3) else given.board
    last, found = lax.scan(body, start, given.flags[: scope.choice([2, 3, 4])], reverse=scope.chance(0.2))
    return jnp.sum(found) if inside else read(combined(scope, given, last))


@maker(3)
def carried_by_a_loop(scope: Scope, given: Given, read: Callable[[Any], Any]) -> Any:
    """The board beside a counter that says where it is written or read."""
    kind = scope.choice(["for", "while", "bounded"])
    rounds = scope.choice([2, 3, 4]) if kind != "bounded" else jnp.clip(given.b.astype(np.int32), 0, 4)
    slip = scope.choice([0, 0, 0, 1])

    def step(i: Any, carry: Any) -> Any:
        scope.rng.seed(f"{scope.trace.seed}:loop")
        board, total = carry
        row = jnp.minimum(i, ROWS - 1 + slip)
        ways: list[Callable[[], Any]] = [
            lambda: board.at[row].set((board[row] + 1) % scope.choice([3, 4])),
            lambda: board.at[row, 0].set(jnp.clip(board[row, 0] + 1, 0, scope.choice([3, 9]))),
            lambda: board.at[row, 1].set(i.astype(board.dtype)),
            lambda: board.at[row].set(board[(i + 1) % ROWS]),
            lambda: evolved(scope, given, board, 1),
            lambda: jnp.where(given.flag, board.at[row, 0].set(number(scope, given, board)), board),
            lambda: board.at[board[0, 0] % ROWS, 1].set(board[0, 1]),
        ]
        after = scope.choice(ways)()
        index = scope.choice([lambda: combined(scope, given, board), lambda: board[row, 0], lambda: board[0, 0]])()
        return after, total + jnp.sum(read(index))

    start = (given.board, jnp.float32(0))
    if kind == "while":
        end = lax.while_loop(lambda c: c[0] < rounds, lambda c: (c[0] + 1, *step(c[0], c[1:])), (jnp.int32(0), *start))
        return end[2]
    return lax.fori_loop(0, rounds, step, start)[1]


@maker(1)
def mapped(scope: Scope, given: Given, read: Callable[[Any], Any]) -> Any:
    """Each row is a state of its own."""

    def lane(row: Any, flag: Any) -> Any:
        scope.rng.seed(f"{scope.trace.seed}:lane")
        board = jnp.stack([row, given.row.astype(row.dtype), row + jnp.asarray(1, row.dtype)])
        seen = dataclasses.replace(given, board=board, flag=flag)
        return combined(scope, seen, evolved(scope, seen, board, 3))

    return read(jax.vmap(lane)(given.board, given.flags[:ROWS]).reshape(-1)[:COLUMNS])


@maker(1)
def entities(scope: Scope, given: Given, read: Callable[[Any], Any]) -> Any:
    """A table of entities, rows written at a place that is asked for again."""
    kinds = given.row
    width = jnp.asarray(scope.choice([0, 3]), kinds.dtype)
    table = jnp.stack([kinds, kinds * 0, kinds * 0 + width], axis=1)
    entry = jnp.asarray(np.array([scope.choice([1, 3, 7]), 1, scope.choice([3, 4, 9])]).astype(kinds.dtype))
    i = given.a % _at(4, given.a)
    j = scope.choice([given.a, given.b]) % _at(4, given.b)
    ways = [
        lambda: table.at[i].set(entry),
        lambda: table.at[i, 1].set(entry[2]),
        lambda: lax.dynamic_update_slice(table, entry[None, 1:], (i.astype(np.int32), np.int32(1))),
        lambda: table.at[jnp.stack([i, j])].set(entry),
        lambda: table.at[i].add(entry),
    ]
    table = scope.choice(ways)()
    return read(table[j, 0] + table[j, scope.choice([1, 2])])


@maker(2)
def selected_twice(scope: Scope, given: Given, read: Callable[[Any], Any]) -> Any:
    """What one condition chose, chosen again by the same condition, or by another."""
    first, second, third = (scope.choice([given.flag, given.flag, given.other]) for _ in range(3))
    board, r, c = given.board, scope.small(0, ROWS - 1), scope.small(0, COLUMNS - 1)
    places = [(r, c), (scope.small(0, ROWS - 1), scope.small(0, COLUMNS - 1))]
    one, two = (jnp.asarray(scope.choice([0, 2, 5, 9, 12]), board.dtype) for _ in range(2))
    written = lax.select(first, board.at[places[0]].set(one), board)
    cases = [written.at[places[1]].set(two), scope.choice([board, written])]
    written = lax.select(second, *(cases if scope.chance(0.7) else cases[::-1]))
    found = [written[r, c], jnp.asarray(scope.choice([0, 1]), board.dtype)]
    index = lax.select(third, *(found if scope.chance(0.7) else found[::-1]))
    return read(index + scope.choice([jnp.zeros_like(index), written[scope.small(0, ROWS - 1), c]]))
