"""Directed programs that every part of the engine has to be right about, held against exact runs.

The cases of `tests/cases` and some more that only a wrong engine would trip over. Traced once; each
call of `first_contradiction` analyses and runs them all until something is contradicted.
"""

from __future__ import annotations

import collections
import functools
import importlib
import pkgutil
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import tests.cases
from tests.cases import CASES, Case, f32, flag, i8, i32, u8
from tests.fuzz.check import Outcome, examine_traced
from tests.fuzz.exact import Interpreter

X = f32(4)
BATTERY: list[Case] = []


def case(*arguments: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        BATTERY.append(Case(function, arguments))
        return function

    return register


@case(X, i32(min=-9, max=9))
def counting_from_the_end(x, i):
    at = jnp.where(i < 0, i + 4, i)
    return lax.cond((at >= 0) & (at < 4), lambda: x[jnp.clip(i, 0, 3)] + i, lambda: x[jnp.clip(i, 0, 3)] - i)


@case(X, i32(min=-9, max=9), i32(min=0, max=3))
def the_first_that_holds(x, i, j):
    first = jnp.argmax(jnp.stack([i < 0, i > j, i > 2]))
    return lax.switch(first, [lambda: x[j] + i, lambda: x[jnp.clip(i, 0, 3)] + i, lambda: x[j] - i])


@case(X, i32(min=-9, max=9), i32(min=0, max=3))
def every_relation(x, i, j):
    def read(test):
        return lax.cond(test, lambda: x[jnp.clip(i, 0, 3)] + i, lambda: x[jnp.clip(i, 0, 3)] - i)

    return [
        read(t)
        for t in (
            i < j,
            i <= j,
            i > j,
            i >= j,
            i == j,
            i != j,
            ~(i < j),
            (i < j) | (i > 5),
            ~((i < 0) & (j > 1)),
            i + j < 4,
            i - j > 2,
        )
    ]


@case(X, i32(min=-9, max=9))
def every_arithmetic(x, i):
    tests = (
        i + 2 < 4,
        i - 2 < 4,
        2 - i < 4,
        i * 3 < 7,
        -i < 3,
        i // 2 < 2,
        lax.div(i, 2) < 2,
        abs(i) < 3,
        jnp.sign(i) < 1,
    )
    tests += (
        lax.rem(i, 3) > 0,
        jnp.maximum(i, 1) < 4,
        jnp.minimum(i, 2) > 0,
        lax.clamp(0, i, 4) < 3,
        (i >> 1) < 2,
    )
    return [lax.cond(t, lambda: i + 1, lambda: i - 1) for t in tests], x[0]


@case(X, i8())
def bytes_that_wrap(x, i):
    tests = (
        i + np.int8(100) < 0,
        i * np.int8(2) < 10,
        -i < 0,
        i - np.int8(100) > 0,
        abs(i) < 0,
        (i << np.int8(1)) < 0,
    )
    return [lax.cond(t, lambda: i, lambda: np.int8(0)) for t in tests], x[0]


@case(X, u8())
def unsigned_that_wrap(x, i):
    tests = (i - np.uint8(1) < 10, i + np.uint8(200) < 10, i * np.uint8(2) > 100)
    return [lax.cond(t, lambda: i, lambda: np.uint8(0)) for t in tests], x[0]


@case(X, i32(4, min=-9, max=9), i32(4, min=-3, max=3))
def elementwise_selects(x, i, j):
    made = [
        jnp.where(i < j, i, 0),
        jnp.where(i + j > 2, i, j),
        jnp.where((i > 0) & (j > 0), i * j, 1),
        jnp.where(i == 3, i, j),
    ]
    made += [jnp.where(i < jnp.flip(j), i, 0), jnp.where((i > 0)[:, None], i[:, None], j[None, :])]
    made += [
        jnp.where(jnp.flip(i) < 2, i, 0),
        jnp.where(i[None, :] < 2, jnp.broadcast_to(i[:, None], (4, 4)), 0),
    ]
    return made, x[0]


@case(X, f32(min=-9.0, max=9.0))
def float_tests(x, u):
    made = [jnp.where(t, u, jnp.zeros_like(u)) for t in (u < 2, ~(u < 2), u >= 3, u == 1, u != u, ~(u > 0))]
    return made, x[jnp.where(u > 0, jnp.where(u < 3, u, 0.0), 0.0).astype(np.int32)]


@case(X, flag(5), i32(5, min=-1, max=2))
def carries(x, flags, steps):
    def body(carry, item):
        a, b, c, d, e, g = carry
        keep, by = item
        after = (a + 1, b - 2, c + by, jnp.where(keep, d + 1, d), jnp.minimum(e + 1, 3), g * 2)
        return after, (a, b, c, d, e, g)

    init = (np.int32(0), np.int32(5), np.int32(0), np.int32(1), np.int32(0), np.int8(1))
    return lax.scan(body, init, (flags, steps)), x[0]


@case(X, i32(min=0, max=9))
def loops_with_a_test(x, n):
    up = lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 2, c[1] + 3), (0, 0))
    down = lax.while_loop(lambda c: c > 0, lambda c: c - 2, n)
    until = lax.while_loop(lambda c: (c != n) & (c < 20), lambda c: c + 1, 0)
    nested = lax.fori_loop(0, n, lambda i, t: lax.fori_loop(i, n, lambda j, u: u + j - i, t), 0)
    return up, down, until, nested, x[0]


@case(X, i8(5))
def pointers_that_pass_each_other(x, stops):
    stop = jnp.clip(stops.astype(np.uint8)[3], 0, 3)
    one = np.uint8(1)

    def body(carry):
        i, j, total, fuel = carry
        return i + one, j - one, total + x[j], fuel + 1

    return lax.while_loop(lambda c: (c[0] != c[1]) & (c[3] < 8), body, (one, stop, 0.0, 0))


@case(X, i32(3, min=0, max=4))
def batched_loops(x, n):
    def lane(k):
        return lax.while_loop(lambda c: c[0] < k, lambda c: (c[0] + 1, c[1] + c[0]), (0, 0))

    return jax.vmap(lane)(n), x[0]


@case(X, i8(min=-128, max=127))
def counters_that_wrap(x, start):
    byte = lax.fori_loop(0, 5, lambda _, c: c + np.int8(100), start)
    slow = lax.while_loop(lambda c: c[1] < 4, lambda c: (c[0] + np.int8(60), c[1] + 1), (np.int8(0), 0))
    return byte, slow, x[0]


@case(X, i32(4, min=0, max=9), i32(min=0, max=3))
def tables(x, v, i):
    table = jnp.asarray(np.array([2, 7, 1, 3], np.int32))
    rows = lax.scan(lambda c, r: (c, r + c), i, table)[1]
    return (
        table[i],
        v.at[i].set(100),
        v.at[i].add(5),
        lax.dynamic_update_slice(v, table[:2], (i,)),
        rows,
        x[0],
    )


@case(X, i32())
def branches_by_number(x, i):
    return lax.switch(i, [lambda: i * 0 + 10, lambda: i + 100, lambda: i]), x[0]


@case(X, i32(0, min=0, max=3), i32())
def nothing_to_say(x, none, i):
    return lax.cond(jnp.all(none < i), lambda: i, lambda: 0), x[0]


@functools.cache
def _programs() -> dict[str, Case]:
    for module in pkgutil.iter_modules(tests.cases.__path__):
        if not module.name.startswith("test_"):
            importlib.import_module(f"tests.cases.{module.name}")
    return {one.name: one for one in (*BATTERY, *(c for c in CASES if c.runs))}


@functools.cache
def _traced(name: str) -> tuple[Any, Interpreter]:
    one = _programs()[name]
    closed = jax.make_jaxpr(one.function)(*(a.struct() for a in one.arguments))
    return closed, Interpreter(closed)


class _Fixed:
    """A case where a generated program is expected."""

    seed = 0

    def __init__(self, arguments: Any) -> None:
        self.arguments = arguments

    def inputs(self) -> list[list[Any]]:
        return []


def first_contradiction(*runs: int, first: str = "") -> str:
    """Empty when every program held, in so many runs; else the first that did not, and how.

    Given several numbers, it is tried with the first of them before the next. One program may be tried before all.
    """
    tried = [(first, max(runs))] if first else []
    tried += [(name, count) for count in runs for name in _programs()]
    return next(filter(None, (_contradiction(*one) for one in tried)), "")


def _contradiction(name: str, runs: int) -> str:
    closed, interpreter = _traced(name)
    outcome = Outcome(None, collections.Counter(), _Fixed(_programs()[name].arguments), closed)
    examine_traced(interpreter, outcome, runs)
    return "" if outcome.failure is None else f"{name}: {outcome.failure}"
