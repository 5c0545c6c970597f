"""Programs around one table that is as long as their index needs, or one shorter: where a wrong `safe` would show.

The index is followed over many inputs to a table that is too long; the inputs that reached furthest are run again on
the table that was chosen. What makes the index is in state.py (arrays that are written and read, in and out of loops)
and habits.py (what real programs do to get an index).
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from tests.fuzz.exact import CannotRun, Interpreter, Silent, TooLong
from tests.fuzz.generate import Argument, sample
from tests.fuzz.relations import access
from tests.fuzz.scope import Scope, Trace
from tests.fuzz.windows import Windows

PROBED = 24
"""Inputs on which an index is followed."""
FAR = 500
LIMIT = 1_500
"""Equations of a run that is followed."""

DTYPES = ("int32", "int8", "uint8", "int16", "uint32")
DTYPE_WEIGHTS = (8.0, 1.0, 1.0, 0.5, 0.7)
RANGES = ((0, 3), (0, 3), (0, 9), (0, 9), (0, 1), (-2, 2), (1, 4), (-5, 5), (0, 100), (None, None))


@dataclasses.dataclass(frozen=True)
class Given:
    """The inputs beside the table."""

    a: Any
    b: Any
    row: Any
    board: Any
    flags: Any
    parts: Any
    flag: Any
    other: Any
    """The first two flags, each one value wherever it is used."""


Maker = Callable[[Scope, Given, Callable[[Any], Any]], Any]
MAKERS: list[tuple[Maker, float]] = []
LATER: list[tuple[Maker, float]] = []
"""Further makers, of other seeds: those of the first keep their programs."""


def maker(weight: float = 1.0, later: bool = False) -> Callable[[Maker], Maker]:
    """Register a function of a scope, the inputs, and what reads the table at an index."""

    def register(function: Maker) -> Maker:
        (LATER if later else MAKERS).append((function, weight))
        return function

    return register


@dataclasses.dataclass(frozen=True)
class Fitted:
    """The program of a seed, as the fuzz harness takes it."""

    seed: int
    arguments: tuple[Argument, ...]
    shift: int
    extremes: tuple[tuple[Any, ...], ...] = ()
    """Inputs beside the table that reached furthest when the index was followed."""
    skip: frozenset[str] = frozenset()
    related: bool = True
    later: bool = False
    """Whether it is one of the later makers'."""

    def made_by(self) -> Maker:
        rng, makers = random.Random(f"maker:{self.seed}"), LATER if self.later else MAKERS
        return rng.choices([m for m, _ in makers], [w for _, w in makers])[0]

    def name(self) -> str:
        return self.made_by().__name__

    def function(self, taken: list[str] | None = None) -> Callable[..., Any]:
        chosen = self.made_by()

        def program(x: Any, *rest: Any) -> Any:
            scope = Scope(Trace(self.seed, self.skip, [], 0), "", rest, 0)
            reader = Scope(Trace(self.seed, self.skip, [], 0), ".read", rest, 0)

            def read(index: Any) -> Any:
                index = jnp.asarray(index)
                if self.shift or index.dtype.kind not in "iu":
                    index = index.astype(np.int32) + self.shift
                return access(reader, x, index)

            return chosen(scope, Given(*rest, rest[4][0], rest[4][1]), read)

        return program

    def steps(self) -> list[str]:
        """Nothing can be left out of it."""
        return []

    def trace(self) -> Any:
        return jax.make_jaxpr(self.function())(*(a.struct() for a in self.arguments))

    def inputs(self) -> list[list[Any]]:
        """The inputs to be tried before any others."""
        table = self.arguments[0]
        return [[np.zeros(table.shape, table.dtype), *rest] for rest in self.extremes]


def make(seed: int, later: bool = False) -> Fitted:
    """The program of a seed. Raises what JAX raises where it cannot be traced."""
    rng = random.Random(f"fitted:{seed}")
    dtype = np.dtype(rng.choices(DTYPES, DTYPE_WEIGHTS)[0])
    arguments = (*(_integers(rng, shape, dtype) for shape in ((), (), (4,), (3, 4))), _flags(), _parts(rng))
    far = Fitted(seed, (_table(2 * FAR), *arguments), FAR, later=later)
    follow = _followed(far, rng)
    shift = 0 if rng.random() < 0.3 else FAR - follow.first
    if not follow.reached:
        return Fitted(seed, (_table(4), *arguments), 0, later=later)
    size = follow.last + 1 - FAR + shift - rng.choice([0, 0, 1])
    return Fitted(seed, (_table(min(max(size, 3), 2 * FAR)), *arguments), shift, tuple(follow.extremes()), later=later)


def _table(size: int) -> Argument:
    return Argument((size,), np.dtype("float32"))


def _flags() -> Argument:
    return Argument((4,), np.dtype("bool"))


def _parts(rng: random.Random) -> Argument:
    low, high = rng.choice([(0.0, 1.0), (0.0, 1.0), (0.0, 0.999), (-1.0, 1.0), (0.0, 3.5), (None, None)])
    return Argument((4,), np.dtype("float32"), low, high)


def _integers(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> Argument:
    low, high = rng.choice(RANGES)
    if low is not None and dtype.kind == "u":
        low = max(low, 0)
    return Argument(shape, dtype, low, high)


class _Follow(Silent):
    """Notes how far the accesses to the long table reach, and on which inputs."""

    def __init__(self) -> None:
        self.first, self.last = 2 * FAR, -1
        self.now: Sequence[Any] = ()
        self.lowest: Sequence[Any] = ()
        self.highest: Sequence[Any] = ()

    @property
    def reached(self) -> bool:
        return self.last >= 0

    def extremes(self) -> list[tuple[Any, ...]]:
        return [tuple(self.lowest[1:]), tuple(self.highest[1:])]

    def access(self, eqn: Any, windows: Windows | None, outval: Any) -> Any:
        if windows is not None and windows.shape == (2 * FAR,):
            offsets = windows.offsets()
            if offsets.size and offsets.min() < self.first:
                self.first, self.lowest = int(offsets.min()), self.now
            if offsets.size and offsets.max() > self.last:
                self.last, self.highest = int(offsets.max()), self.now
        return outval


def _followed(program: Fitted, rng: random.Random) -> _Follow:
    follow = _Follow()
    interpreter = Interpreter(program.trace(), LIMIT)
    for _ in range(PROBED):
        follow.now = [sample(rng, a) for a in program.arguments]
        try:
            interpreter.run(follow.now, follow)
        except (TooLong, CannotRun):
            continue
    return follow


from tests.fuzz import habits, marks, state  # noqa: F401  (their makers register themselves)
