"""Random programs in which one function is run in several places, each time with other numbers.

JAX traces a function once: loops of other lengths, other rows or the other direction, whiles with other conditions,
branches and calls then hold one and the same jaxpr. What is found out of one of them must not be handed on to another.
The function reads a table at an index made from two numbers, moves one of them on, and may go through two branches on
one bool; it is too long to be put in place of its calls, or it is not. What was read is masked inside, by some of its
callers, or not at all.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.generate import Argument

KINDS = ("scan", "back", "rows", "while", "call", "for", "lanes", "running", "branch")
#: More equations than a function may have to be put in place of a call.
LONG = 42

Numbers = dict[str, Any]
Expression = Callable[[Numbers], Any]


@dataclasses.dataclass(frozen=True)
class Shared:
    """The program of a seed, as the fuzz harness takes one."""

    seed: int
    arguments: tuple[Argument, ...]
    related: bool = False
    skip: frozenset[str] = frozenset()

    @property
    def function(self) -> Callable[..., Any]:
        return Body(self.seed).program

    def steps(self) -> list[str]:
        """Nothing can be left out of it."""
        return []

    def inputs(self) -> list[list[Any]]:
        return []

    def trace(self) -> Any:
        return jax.make_jaxpr(self.function)(*(a.struct() for a in self.arguments))


def make(seed: int) -> Shared:
    """A table, two numbers, a bool, and a row of numbers."""
    rng = random.Random(f"sharing:{seed}")
    whole, ends = np.dtype(np.int32), [rng.randint(1, 4) for _ in range(3)]
    return Shared(
        seed,
        (
            Argument((Body(seed).size,), np.dtype(np.float32)),
            Argument((), whole, 0, ends[0]),
            Argument((), whole, -1, ends[1] + 2),
            Argument((), np.dtype(np.bool_)),
            Argument((3,), whole, 0, ends[2]),
        ),
    )


class Body:
    """The function that is run in several places, and the program that does."""

    def __init__(self, seed: int) -> None:
        rng = self.rng = random.Random(seed)
        self.size = rng.randint(2, 9)
        self.index, self.next, self.first, self.second = (self.expression(depth) for depth in (2, 2, 1, 1))
        self.long, self.branches, self.limit = rng.random() < 0.6, rng.random() < 0.4, rng.choice([None, 2, 4, 7])
        self.mask = rng.choice(["none", "inside", "outside", "outside", "factor"])
        self.uses = [
            (rng.choice(KINDS), rng.choice("abnm"), [rng.randint(0, 3) for _ in range(3)], rng.randint(1, 6))
            for _ in range(rng.randint(2, 4))
        ]
        self.masked = [rng.random() < 0.75 for _ in range(16)]
        self.called = 0
        self.run = jax.jit(self.body)

    def expression(self, depth: int) -> Expression:
        rng = self.rng
        if depth == 0 or rng.random() < 0.25:
            name, number = rng.choice("cx"), np.int32(rng.randint(-2, 4))
            return (lambda e: e[name]) if rng.random() < 0.7 else (lambda e: number)
        a, b, c = (self.expression(depth - 1) for _ in range(3))
        n, low, far = np.int32(rng.randint(2, 6)), rng.randint(-1, 1), rng.randint(1, 5)
        ways: list[Expression] = [
            lambda e: a(e) + b(e),
            lambda e: a(e) - b(e),
            lambda e: a(e) * np.int32(2),
            lambda e: jnp.minimum(a(e), b(e)),
            lambda e: jnp.maximum(a(e), b(e)),
            lambda e: jnp.where(a(e) < b(e), c(e), b(e)),
            lambda e: a(e) % n,
            lambda e: jnp.clip(a(e), low, low + far),
        ]
        return rng.choice(ways)

    def body(self, t: Any, c: Any, x: Any, p: Any) -> Any:
        beside, numbers = t, {"c": c, "x": x}
        for _ in range(LONG if self.long else 0):
            beside = beside + 1.0
        at = jnp.asarray(self.index(numbers), np.int32)
        if self.branches:
            one = lax.cond(p, *(self.whole(f) for f in (self.first, self.second)), c, x)
            at = lax.cond(p, self.whole(self.index), lambda one, at: at + 0 * one, one, at)
        read = lax.dynamic_slice(t, (at,), (1,))[0]
        inside = (at >= 0) & (at < self.size)
        if self.mask == "inside":
            read = jnp.where(inside, read, 0.0)
        elif self.mask == "factor":
            read = read * inside.astype(np.float32)
        after = jnp.asarray(self.next(numbers), np.int32)
        return after if self.limit is None else jnp.clip(after, 0, self.limit), read, inside, beside[0]

    def whole(self, f: Expression) -> Callable[[Any, Any], Any]:
        return lambda c, x: jnp.asarray(f({"c": c, "x": x}), np.int32)

    def call(self, t: Any, c: Any, x: Any, p: Any) -> tuple[Any, Any]:
        after, read, inside, _ = self.run(t, c, x, p)
        self.called += 1
        if self.mask == "outside" and self.masked[self.called % len(self.masked)]:
            read = jnp.where(inside, read, 0.0)
        return after, read

    def program(self, t: Any, a: Any, b: Any, p: Any, rows: Any) -> Any:
        self.called, zero = 0, np.float32(0)

        def row(c: Any, x: Any) -> Any:
            return self.call(t, c, x, p)

        def counted(state: Any) -> Any:
            k, c, total = state
            c, read = self.call(t, c, k, p)
            return k + 1, c, total + read

        def used(kind: str, name: str, numbers: list[int], n: int) -> Any:
            number, table = np.int32(numbers[0]), jnp.array(numbers, np.int32)
            first = {"a": a, "b": b, "n": jnp.asarray(number), "m": jnp.minimum(a, b)}[name]
            start, lanes = (np.int32(0), first, zero), jnp.stack([first, number])
            results: dict[str, Callable[[], Any]] = {
                "scan": lambda: lax.scan(row, first, table),
                "back": lambda: lax.scan(row, first, table, reverse=True),
                "rows": lambda: lax.scan(row, first, rows),
                "while": lambda: lax.while_loop(lambda s: s[0] < n, counted, start),
                "call": lambda: row(first, np.int32(n) if n % 2 else b),
                "for": lambda: lax.fori_loop(0, n, lambda k, s: counted((k, *s))[1:], (first, zero)),
                "lanes": lambda: jax.vmap(lambda c: lax.scan(row, c, table))(lanes),
                "running": lambda: jax.vmap(
                    lambda c: lax.while_loop(lambda s: (s[1] < n) & (s[0] < 5), counted, (np.int32(0), c, zero))
                )(lanes),
                "branch": lambda: lax.cond(p, lambda: row(first, np.int32(1)), lambda: row(number, np.int32(0))),
            }
            return results[kind]()

        return [used(*use) for use in self.uses]


if __name__ == "__main__":
    import sys

    from tests.fuzz.check import examine

    for given in range(*map(int, sys.argv[1:3])):
        failure = examine(make(given), runs=30).failure
        if failure is not None:
            print(given, failure)
