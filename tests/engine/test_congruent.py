"""Counters that start equal and are moved together stay equal; those that only nearly do are told apart.

In each program `bound` is held below the table's size by the loop's condition and `place` is where it is read, or
written, or the other way around. A twin differs in what its name says, and leaves the table on some input.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.engine import congruent
from tests.fuzz.exact import Interpreter, Silent, TooLong

SIZE = 8
TABLE = jax.ShapeDtypeStruct((SIZE,), jnp.float32)
NUMBER = jax.ShapeDtypeStruct((), jnp.int32)
NUMBERS = jax.ShapeDtypeStruct((4,), jnp.int32)

State = tuple[Any, Any, Any]


def _while(
    move: Callable[[Any, Any, Any], tuple[Any, Any]], starts: tuple[Any, Any] = (0, 0)
) -> Callable[[Any, Any], Any]:
    """A loop that writes at one counter while another, moved by `move`, is inside."""

    def program(x: Any, n: Any) -> Any:
        def body(state: State) -> State:
            x, bound, place = state
            x = x.at[place].set(1.0)
            return x, *move(bound, place, n)

        return lax.while_loop(lambda s: s[1] < SIZE, body, (x, *starts))

    return program


def _inside(move: Callable[[Any, Any], tuple[Any, Any]]) -> Callable[[Any, Any, Any], tuple[Any, Any]]:
    """An inner loop that moves both."""

    def moved(bound: Any, place: Any, n: Any) -> tuple[Any, Any]:
        def goes_on(state: tuple[Any, Any]) -> Any:
            return (state[0] < n) & (state[0] < SIZE)

        bound, place = lax.while_loop(goes_on, lambda s: move(*s), (bound, place))
        return bound + 1, place + 1

    return moved


@jax.jit
def _one_more(k: Any, n: Any) -> Any:
    return k + _by(n)


@jax.jit
def _both_more(k: Any, j: Any, n: Any) -> Any:
    return k + _by(n), j + _by(n)


@jax.jit
def _either_more(k: Any, j: Any, first: Any) -> Any:
    return jnp.where(first, k + 1, k), jnp.where(first, j, j + 1)


def _by(n: Any) -> Any:
    """A number of steps that may be none."""
    return jnp.where(n > 3, 1, 0)


def _inner_writes(reset_at: int) -> Callable[[Any, Any], Any]:
    """An outer loop hands both counters to an inner one, which writes, as a solver saves at the times asked for.

    One of them begins again in the iteration given, if there is one.
    """

    def outer(n: Any, state: tuple[Any, ...]) -> tuple[Any, ...]:
        t, x, bound, place = state

        def inner(state: State) -> State:
            x, bound, place = state
            return x.at[place].set(1.0), bound + 1, place + 1

        x, bound, place = lax.while_loop(lambda s: (s[1] < SIZE) & (s[1] < t + n), inner, (x, bound, place))
        return t + 1, x, jnp.where(t == reset_at, 0, bound) if reset_at >= 0 else bound, place

    def program(x: Any, n: Any) -> Any:
        return lax.while_loop(lambda s: s[0] < 20, lambda s: outer(n, s), (0, x, 0, 0))

    return program


def _from(low: int) -> Callable[[Any, Any], Any]:
    """Counters that start at numbers which are made alike."""

    def program(x: Any, n: Any) -> Any:
        starts = (jnp.maximum(n, 0), jnp.maximum(n, low))
        return _while(lambda b, p, n: (b + _by(n + 4), p + _by(n + 4)), starts)(x, n)

    return program


def _after(x: Any, n: Any) -> Any:
    """Results of the loop are equal too."""
    bound, place = lax.while_loop(lambda s: s[0] < SIZE - 1, lambda s: (s[0] + _by(n), s[1] + _by(n)), (0, 0))
    return lax.cond(bound < SIZE, lambda: x[place], lambda: 0.0)


def _after_moved_twice(x: Any, n: Any) -> Any:
    bound, place = lax.while_loop(lambda s: s[0] < SIZE - 1, lambda s: (s[0] + 1, s[1] + 2), (0, 0))
    return lax.cond(bound < SIZE, lambda: x[place + n * 0], lambda: 0.0)


Move = Callable[[Any], Any]


def _scanned(move: Move) -> Callable[[Any, Any], Any]:
    """A scan that reads at one counter where the other is inside; one is moved by each row's number."""

    def program(x: Any, row: Any) -> Any:
        def body(state: tuple[Any, Any], by: Any) -> tuple[Any, Any]:
            bound, place = state
            read = lax.cond((bound >= 0) & (bound < SIZE), lambda: x[place], lambda: 0.0)
            return (bound + by, place + move(by)), read

        return lax.scan(body, (1, 1), row, reverse=True)

    return program


def _in_fori(move: Move) -> Callable[[Any, Any], Any]:
    def program(x: Any, n: Any) -> Any:
        def body(_: Any, state: State) -> State:
            x, bound, place = state
            x = lax.cond((bound >= 0) & (bound < SIZE), lambda: x.at[place].set(1.0), lambda: x)
            return x, bound + n, place + move(n)

        return lax.fori_loop(0, 5, body, (x, 0, 0))

    return program


def _batched(move: Move) -> Callable[[Any, Any], Any]:
    """Lanes that are done keep both counters."""

    def program(x: Any, ends: Any) -> Any:
        def one(end: Any) -> Any:
            def body(state: State) -> State:
                bound, place, total = state
                inside = (bound >= 0) & (bound < SIZE)
                read = x[jnp.where(inside, place, 0)]
                return bound + end, place + move(end), total + read

            return lax.while_loop(lambda s: (s[0] < 3 * end) & (s[0] < 100), body, (0, 0, 0.0))

        return jax.vmap(one)(ends)

    return program


EQUAL: dict[str, tuple[Callable[..., Any], Any]] = {
    "from equal numbers": (_from(0), NUMBER),
    "by the same number": (_while(lambda b, p, n: (b + _by(n), p + _by(n))), NUMBER),
    "by each other": (_while(lambda b, p, n: (p + 1, b + 1)), NUMBER),
    "select": (_while(lambda b, p, n: (jnp.where(n > 3, b + 1, b), jnp.where(n > 3, p + 1, p))), NUMBER),
    "branches": (
        _while(lambda b, p, n: lax.cond(n > 3, lambda b, p: (b + 1, p + 1), lambda b, p: (b, p), b, p)),
        NUMBER,
    ),
    "two branches": (
        _while(
            lambda b, p, n: (
                lax.cond(n > 3, lambda k: k + 1, lambda k: k, b),
                lax.cond(n > 3, lambda k: k + 1, lambda k: k, p),
            )
        ),
        NUMBER,
    ),
    "calls": (_while(lambda b, p, n: (_one_more(b, n), _one_more(p, n))), NUMBER),
    "one call": (_while(lambda b, p, n: _both_more(b, p, n)), NUMBER),
    "nested": (_while(_inside(lambda b, p: (b + 1, p + 1))), NUMBER),
    "inner writes": (_inner_writes(-1), NUMBER),
    "afterwards": (_after, NUMBER),
    "scan": (_scanned(lambda by: by), NUMBERS),
    "fori": (_in_fori(lambda by: by), NUMBER),
    "batched": (_batched(lambda by: by), NUMBERS),
}

DIFFERENT: dict[str, tuple[Callable[..., Any], Any]] = {
    "another start": (_while(lambda b, p, n: (b + 1, p + 1), (0, 1)), NUMBER),
    "from other numbers": (_from(1), NUMBER),
    "another step": (_while(lambda b, p, n: (b + 1, p + 2)), NUMBER),
    "another number": (_while(lambda b, p, n: (b + _by(n), p + _by(n + 1))), NUMBER),
    "another operation": (_while(lambda b, p, n: (b + 2, (p - 2) * 3)), NUMBER),
    "operands exchanged": (_while(lambda b, p, n: (b - n, n - p)), NUMBER),
    "exchanged after one move": (_while(lambda b, p, n: (p + 1, b + 2)), NUMBER),
    "moved once, then handed on": (_while(lambda b, p, n: (b + 1, jnp.where(b == 0, 2 * p + 2, p + 1))), NUMBER),
    "another condition": (
        _while(lambda b, p, n: (jnp.where(n > 3, b + 1, b), jnp.where(n > 2, p + 1, p))),
        NUMBER,
    ),
    "cases exchanged": (_while(lambda b, p, n: (jnp.where(n > 3, b + 1, b), jnp.where(n > 3, p, p + 1))), NUMBER),
    "reset in a branch": (
        _while(lambda b, p, n: lax.cond(n == b, lambda b, p: (0, p + 1), lambda b, p: (b + 1, p + 1), b, p)),
        NUMBER,
    ),
    "reset in the other branch": (
        _while(lambda b, p, n: lax.cond(n == b, lambda b, p: (b + 1, p + 1), lambda b, p: (b * 0, p + 1), b, p)),
        NUMBER,
    ),
    "branches exchanged": (
        _while(
            lambda b, p, n: (
                lax.cond(n > 3, lambda k: k + 1, lambda k: k, b),
                lax.cond(n > 3, lambda k: k, lambda k: k + 1, p),
            )
        ),
        NUMBER,
    ),
    "two branches, another condition": (
        _while(
            lambda b, p, n: (
                lax.cond(n > 3, lambda k: k + 1, lambda k: k, b),
                lax.cond(n > 2, lambda k: k + 1, lambda k: k, p),
            )
        ),
        NUMBER,
    ),
    "one call, unevenly": (_while(lambda b, p, n: _either_more(b, p, n > 3)), NUMBER),
    "nested, unevenly": (_while(_inside(lambda b, p: (b + 1, p + 2))), NUMBER),
    "inner writes, reset outside": (_inner_writes(7), NUMBER),
    "afterwards, moved twice": (_after_moved_twice, NUMBER),
    "scan": (_scanned(lambda by: by * 2), NUMBERS),
    "fori": (_in_fori(lambda by: by + 1), NUMBER),
    "batched": (_batched(lambda by: by * 2), NUMBERS),
    "bytes that wrap": (
        _while(lambda b, p, n: (b - jnp.int8(100), p - 100), (jnp.int8(0), jnp.int32(0))),
        NUMBER,
    ),
    "unsigned bytes": (
        _while(lambda b, p, n: (b + jnp.int8(-1), p + jnp.uint8(255)), (jnp.int8(0), jnp.uint8(0))),
        NUMBER,
    ),
}


def _report(name: str, programs: dict[str, tuple[Callable[..., Any], Any]]) -> Any:
    function, other = programs[name]
    return redzone.check(function, TABLE, other)


@pytest.mark.parametrize("name", EQUAL)
def test_what_is_moved_together_stays_equal(name: str) -> None:
    report = _report(name, EQUAL)
    assert report.accesses and {a.verdict.name for a in report.accesses} == {"SAFE"}, str(report)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_moved_apart_is_told_apart(name: str) -> None:
    report = _report(name, DIFFERENT)
    assert any(a.verdict.name != "SAFE" for a in report.accesses), str(report)


@pytest.mark.parametrize("name", DIFFERENT)
def test_what_is_moved_apart_leaves_the_table(name: str) -> None:
    function, other = DIFFERENT[name]
    closed, watch = jax.make_jaxpr(function)(TABLE, other), _Watch()
    for n in range(-3, 12):
        with contextlib.suppress(TooLong):
            Interpreter(closed).run([np.zeros(SIZE, np.float32), np.full(other.shape, n, np.int32)], watch)
    assert watch.left


class _Watch(Silent):
    """Whether an access left its array."""

    def __init__(self) -> None:
        self.left = False

    def access(self, eqn: Any, windows: Any, outval: Any) -> Any:
        self.left = self.left or not bool(np.all(windows.inside))
        return outval


def _leaving_out(name: str, left: Callable[[list[Any]], list[Any]]) -> tuple[Any, str, Any]:
    """A way to look at pairs of values that forgets some of what they need."""
    owner = congruent if hasattr(congruent, name) else congruent._Pairs
    right = getattr(owner, name)

    def wrong(*args: Any) -> Any:
        needed = right(*args)
        return None if needed is None else left(needed)

    return owner, name, wrong


#: What is forgotten, and a program that is then taken for one it is not.
MUTANTS = {
    "first values": (_leaving_out("carried", lambda pairs: pairs[1:]), "from other numbers"),
    "new values": (_leaving_out("carried", lambda pairs: pairs[:1]), "another step"),
    "first operands": (_leaving_out("_computed", lambda pairs: pairs[1:]), "another condition"),
    "last operands": (_leaving_out("_computed", lambda pairs: pairs[:1]), "another step"),
    "the condition": (_leaving_out("branched", lambda pairs: pairs[1:]), "two branches, another condition"),
    "a branch": (_leaving_out("branched", lambda pairs: [pairs[0], *pairs[2:]]), "reset in the other branch"),
}


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("name", MUTANTS)
def test_a_wrong_twin_is_found(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    (owner, what, wrong), program = MUTANTS[name]
    monkeypatch.setattr(owner, what, wrong)
    assert {a.verdict.name for a in _report(program, DIFFERENT).accesses} == {"SAFE"}
