"""Random nests of loops around one access whose index is affine in what the loops count, read and carry.

Small enough that a few runs visit every iteration, and made of what the exact stage reads off a loop: counters
(up, down, by steps), rows of scanned arrays, values handed on unchanged, tests of while loops, triangular bounds,
branches on the counters, and arithmetic of bytes that wraps. The table is as long as the index, followed over many
inputs, really needs, or one shorter: bounds that forget how the counters are related are too wide for it.
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

import redzone
from tests.fuzz.exact import CannotRun, Interpreter, Silent, TooLong
from tests.fuzz.generate import Argument, sample
from tests.fuzz.windows import Windows

KINDS = ("for", "while", "scan", "back", "rows", "carry", "downward", "mapped", "paired", "meeting")


PROBED = 20
"""Inputs on which an index is followed, to choose the table's size."""
FAR = 500


@dataclasses.dataclass(frozen=True)
class Nest:
    """The nest of a seed, as the fuzz harness takes a program."""

    seed: int
    arguments: tuple[Argument, ...]
    shift: int = 0
    related: bool = False
    skip: frozenset[str] = frozenset()

    @property
    def function(self) -> Callable[..., Any]:
        return Body(self.seed, self.shift).program

    def steps(self) -> list[str]:
        """Nothing can be left out of it."""
        return []

    def inputs(self) -> list[list[Any]]:
        return []

    def trace(self) -> Any:
        return jax.make_jaxpr(self.function)(*(a.struct() for a in self.arguments))


def make(seed: int) -> Nest:
    """A table, a number that the loops know, a row that some of them read, and a number only the index knows.

    Raises what JAX raises where the seed's nest cannot be traced.
    """
    rng = random.Random(f"nest:{seed}")
    dtype = np.dtype(rng.choices(["int32", "int8", "uint8"], [8, 1, 1])[0])
    low = rng.choice([0, 0, 0, 1, -2 if dtype.kind == "i" else 0])
    number = Argument((), dtype, low, rng.choice([low, 3, 4, 6]))
    row = Argument((rng.randint(2, 5),), dtype, 0, rng.choice([1, 3, 5]))
    zero = Argument((), np.dtype("int32"), 0, 0)
    wide = Nest(seed, (Argument((2 * FAR,), np.dtype("float32")), number, row, zero), FAR)
    ends = _followed(wide, rng)
    offset = Argument((), np.dtype("int32"), *rng.choice([(0, 0), (0, 0), (0, 0), (None, None)]))
    if ends is None:
        return Nest(seed, (Argument((4,), np.dtype("float32")), number, row, offset), 0)
    first, last = ends
    size = max(last - first + 1 - rng.choice([0, 0, 0, 0, 1]), 3)
    return Nest(seed, (Argument((size,), np.dtype("float32")), number, row, offset), FAR - first)


def _followed(nest: Nest, rng: random.Random) -> tuple[int, int] | None:
    """The first and last element that a nest's access touches over many inputs; None where it never runs."""
    watch = _Follow()
    interpreter = Interpreter(nest.trace())
    for _ in range(PROBED):
        try:
            interpreter.run([sample(rng, a) for a in nest.arguments], watch)
        except (TooLong, CannotRun):
            continue
    return (min(watch.found), max(watch.found)) if watch.found else None


class _Follow(Silent):
    """Notes what the accesses to the long table touch."""

    def __init__(self) -> None:
        self.found: set[int] = set()

    def access(self, eqn: Any, windows: Windows | None, outval: Any) -> Any:
        if windows is not None and windows.shape == (2 * FAR,):
            self.found |= {int(i) for i in np.unique(windows.offsets())}
        return outval


class Body:
    """Traces one nest; every choice is made from the seed alone."""

    def __init__(self, seed: int, shift: int) -> None:
        self.rng = random.Random(f"body:{seed}")
        self.shift = shift

    def program(self, x: Any, k: Any, row: Any, offset: Any) -> Any:
        self.x, self.k, self.row, self.offset = x, k, row, offset
        depth = self.rng.choice([1, 1, 2, 2, 3])
        if self.rng.random() < 0.15:
            redzone.assume(k <= self.rng.choice([2, 3]))
        return self.level(depth, [], jnp.float32(0))

    def number(self, counters: list[Any], most: int = 2) -> Any:
        """A sum of some counters, the input and a number."""
        rng, total = self.rng, jnp.asarray(self.rng.randint(-1, 4), self.k.dtype)
        for value in rng.sample([*counters, self.k], min(most, len(counters) + 1)):
            factor = rng.choice([1, 1, 1, -1, 2, 0, 3])
            total = total + jnp.asarray(value, self.k.dtype) * np.asarray(factor % 256, np.uint8).astype(self.k.dtype)
        return total

    def level(self, depth: int, counters: list[Any], total: Any) -> Any:
        if not depth:
            return total + self.guarded(counters)
        kind = self.rng.choice(KINDS)
        go: Callable[..., Any] = getattr(self, f"_{kind}")
        return go(depth - 1, counters, total)

    def guarded(self, counters: list[Any]) -> Any:
        """The access, under none, one or two branches about its index or its counters."""
        rng = self.rng
        at = self.index(counters)
        size = self.x.shape[0]
        kind = rng.choice(["bare"] * 5 + ["other"] * 3 + ["inside", "select", "clip"])
        if kind == "clip":
            at = jnp.clip(at, 0, rng.choice([size - 1, size - 1, size]))
        if kind == "select":
            at = jnp.where((at >= 0) & (at < size + rng.choice([0, 0, 1])), at, rng.choice([0, size - 1]))
        read = rng.choice([
            lambda: lax.dynamic_slice(self.x, (at,), (1,))[0],
            lambda: jnp.sum(lax.dynamic_slice(self.x, (at,), (2,))),
            lambda: self.x[at],
            lambda: jnp.sum(self.x.at[at].set(1.0)),
            lambda: jnp.sum(self.x[jnp.stack([at, at + rng.choice([0, 1, -1])])]),
        ])  # fmt: skip
        test = {
            "inside": lambda: (at >= 0) & (at < size),
            "other": lambda: self.number(counters, 3) <= self.number(counters),
        }.get(kind)
        return read() if test is None else lax.cond(test(), read, lambda: jnp.float32(0))

    def index(self, counters: list[Any]) -> Any:
        rng = self.rng
        total = self.number(counters, 3).astype(np.int32)
        if len(counters) > 1 and rng.random() < 0.7:
            # What two counters have between them is less than their ranges say.
            one, other = (jnp.asarray(c, np.int32) for c in rng.sample(counters[-4:], 2))
            total = one + other * rng.choice([1, -1, -1, -1]) + rng.choice([0, 0, 1]) * self.k.astype(np.int32)
        kind = rng.choice(["sum"] * 5 + ["quotient", "remainder", "largest", "row", "scaled"])
        return self._index(kind, total, counters) + self.shift + self.offset * rng.choice([1, 1, -1, 2])

    def _index(self, kind: str, total: Any, counters: list[Any]) -> Any:
        rng = self.rng
        if kind == "quotient":
            return total // rng.choice([2, 3])
        if kind == "remainder":
            return total % rng.choice([3, 5])
        if kind == "largest":
            return jnp.maximum(total, self.number(counters).astype(np.int32))
        if kind == "row":
            inside = jnp.clip(total, 0, self.row.shape[0] - 1)
            return self.row[inside].astype(np.int32) + rng.choice([0, 0, 1]) * total
        return total * rng.choice([2, -1]) + 4 if kind == "scaled" else total

    def ends(self, counters: list[Any]) -> tuple[Any, Any]:
        """Where a loop starts and stops: numbers, or what an outer loop counts."""
        rng, dtype = self.rng, np.int32
        ends = []
        for low, high in ((0, 2), (2, 7)):
            end = jnp.asarray(rng.randint(low, high), dtype)
            outer = counters[-1] if counters else self.k
            if rng.random() < 0.6:
                end = end + jnp.asarray(outer, dtype) * rng.choice([1, 1, -1])
            ends.append(end)
        return ends[0], ends[1]

    # The loops

    def _for(self, depth: int, counters: list[Any], total: Any) -> Any:
        low, high = self.ends(counters)
        return lax.fori_loop(low, high, lambda j, t: self.level(depth, [*counters, j], t), total)

    def _while(self, depth: int, counters: list[Any], total: Any) -> Any:
        low, high = self.ends(counters)
        by, fuel, strange = self.rng.choice([1, 1, 2, 3]), self.rng.random() < 0.3, self.rng.random() < 0.2

        def test(carry: Any) -> Any:
            inside = carry[0] < high if not strange else carry[0] * 2 - 1 < high + jnp.asarray(self.k, np.int32)
            return inside & (carry[2] < 5) if fuel else inside

        def body(carry: Any) -> Any:
            at, sum_, count = carry
            return at + by, self.level(depth, [*counters, at, count] if fuel else [*counters, at], sum_), count + 1

        return lax.while_loop(test, body, (low, total, jnp.int32(0)))[1]

    def _downward(self, depth: int, counters: list[Any], total: Any) -> Any:
        low, high = self.ends(counters)
        by = self.rng.choice([1, 2])

        def body(carry: Any) -> Any:
            return carry[0] - by, self.level(depth, [*counters, carry[0]], carry[1])

        return lax.while_loop(lambda c: c[0] >= low, body, (high, total))[1]

    def _scan(self, depth: int, counters: list[Any], total: Any, reverse: bool = False) -> Any:
        low, _ = self.ends(counters)
        steps = jnp.arange(self.rng.randint(2, 5), dtype=np.int32) * self.rng.choice([1, 1, 2]) + low
        return lax.scan(
            lambda t, j: (self.level(depth, [*counters, j], t), None), total, steps, reverse=reverse
        )[0]  # fmt: skip

    def _back(self, depth: int, counters: list[Any], total: Any) -> Any:
        return self._scan(depth, counters, total, reverse=True)

    def _rows(self, depth: int, counters: list[Any], total: Any) -> Any:
        def body(carry: Any, given: Any) -> Any:
            value, place = given
            return self.level(depth, [*counters, value, place], carry), None

        places = jnp.arange(self.row.shape[0], dtype=np.int32)
        return lax.scan(body, total, (self.row, places), reverse=self.rng.random() < 0.3)[0]

    def _carry(self, depth: int, counters: list[Any], total: Any) -> Any:
        """A counter of its own, a value handed on unchanged, and one that is reset or wraps."""
        rng = self.rng
        first, by = self.number(counters), rng.choice([1, -1, 2])
        n, way = rng.randint(2, 6), rng.choice(["count", "wrap", "clip", "reset", "delayed"])
        dtype = first.dtype
        one = np.asarray(by % 256, np.uint8).astype(dtype)

        def body(carry: Any, _: Any) -> Any:
            at, kept, before, sum_ = carry
            sum_ = self.level(depth, [*counters, at, kept, before], sum_)
            after = {
                "count": at + one,
                "wrap": (at + one) % np.asarray(n, dtype),
                "clip": jnp.clip(at + one, np.asarray(0, dtype), np.asarray(n, dtype)),
                "reset": jnp.where(at >= np.asarray(n, dtype), np.asarray(0, dtype), at + one),
                "delayed": before + one,
            }[way]
            return (after, kept, at, sum_), None

        start = (first, jnp.asarray(self.k), jnp.zeros((), dtype), total)
        return lax.scan(body, start, None, rng.randint(1, 5))[0][3]

    def _paired(self, depth: int, counters: list[Any], total: Any) -> Any:
        """A row of numbers and a counter that goes along with it, or against it."""
        count, by = self.rng.randint(2, 6), self.rng.choice([1, -1])
        first = self.rng.choice([lambda: jnp.int32(0), lambda: self.number(counters).astype(np.int32)])()

        def body(carry: Any, j: Any) -> Any:
            at, sum_ = carry
            return (at + by, self.level(depth, [*counters, j, at], sum_)), None

        steps = jnp.arange(count, dtype=np.int32)
        return lax.scan(body, (first, total), steps, reverse=self.rng.random() < 0.5)[0][1]

    def _meeting(self, depth: int, counters: list[Any], total: Any) -> Any:
        """Two counters that go towards each other until they meet, or one that a sum stops."""
        low, high = self.ends(counters)
        apart, both = self.rng.choice([0, 0, 1]), self.rng.random() < 0.5
        k = jnp.asarray(self.k, np.int32)

        def test(carry: Any) -> Any:
            return carry[0] + apart < carry[1] if both else carry[0] + k < carry[1]

        def body(carry: Any) -> Any:
            i, j, sum_ = carry
            return i + 1, j - 1 if both else j, self.level(depth, [*counters, i, j], sum_)

        return lax.while_loop(test, body, (low, high, total))[2]

    def _mapped(self, depth: int, counters: list[Any], total: Any) -> Any:
        low, high = self.ends(counters)

        def lane(j: Any) -> Any:
            return lax.fori_loop(low, high + j, lambda i, t: self.level(depth, [*counters, i, j], t), jnp.float32(0))

        return total + jnp.sum(jax.vmap(lane)(jnp.arange(self.rng.randint(2, 3))))
