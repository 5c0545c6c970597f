"""Random JAX programs: a seed gives a function, its arguments and what the caller promises of them."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from tests.fuzz import guards, indexing, library, loops, relations  # noqa: F401  (their steps register themselves)
from tests.fuzz.relations import DTYPE_WEIGHTS, DTYPES, RELATED
from tests.fuzz.scope import INTEGER_WEIGHTS, INTEGERS, SHAPE_WEIGHTS, SHAPES, Scope, Trace
from tests.fuzz.structure import grow, outputs
from tests.fuzz.vocabulary import STEPS

MAX_STEPS = 8
"""Top-level steps of a program; bodies add their own, up to the budget."""
BUDGET = 16
RELATED_EVERY = 4
"""Every so many programs are about relations between their inputs alone."""


@dataclasses.dataclass(frozen=True, slots=True)
class Argument:
    """One input leaf: its type, and its contract (None: anything the dtype can hold)."""

    shape: tuple[int, ...]
    dtype: Any
    low: Any = None
    high: Any = None
    numbers: bool = False
    """Whether NaN is excluded."""

    def struct(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.shape, self.dtype)


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """A random program; the same seed and `skip` trace to the same equations."""

    seed: int
    arguments: tuple[Argument, ...]
    skip: frozenset[str] = frozenset()
    wide: bool = False
    related: bool = False
    """Whether it is a few steps about relations between small integers, and nothing else."""

    def function(self, taken: list[str] | None = None) -> Callable[..., Any]:
        """The function to trace; the paths of the steps it takes are appended to `taken`."""

        def program(*args: Any) -> tuple[Any, ...]:
            trace = Trace(self.seed, self.skip, taken if taken is not None else [], BUDGET, self.wide, self.theme())
            scope = Scope(trace, "", args, 0)
            grow(scope, scope.small(1, 3), RELATED) if self.related else grow(scope, scope.small(2, MAX_STEPS))
            return outputs(scope)

        return program

    def theme(self) -> str:
        """Half the programs dwell on one kind of step, which is how rare ones meet each other."""
        rng = random.Random(f"theme:{self.seed}")
        return rng.choice(STEPS)[0].__name__ if rng.random() < 0.5 else ""

    def steps(self) -> list[str]:
        """The paths of the steps it takes."""
        taken: list[str] = []
        jax.make_jaxpr(self.function(taken))(*(a.struct() for a in self.arguments))
        return list(dict.fromkeys(taken))

    def trace(self) -> Any:
        return jax.make_jaxpr(self.function())(*(a.struct() for a in self.arguments))

    def inputs(self) -> list[list[Any]]:
        """Inputs to be tried before any others: none for these."""
        return []


def _contract(rng: random.Random, dtype: Any) -> tuple[Any, Any]:
    """A range likely to sit on the edge of the arrays it will index."""
    if dtype == np.bool_ or rng.random() < 0.3:
        return None, None
    n = rng.choice([3, 4, 5])
    if dtype.kind == "f":
        low, high = rng.choice(
            [(0.0, 1.0), (-1.0, 1.0), (0.0, 3.5), (-1e9, 1e9), (0.0, float(n)), (2.0, 2.0), (0.5, 0.75)]
        )
        return low, high
    info = np.iinfo(dtype)
    ranges = [
        (0, n - 1),
        (0, n),
        (-n, n - 1),
        (-1, n),
        (0, 0),
        (n, n),
        (1, n),
        (-n - 1, 2),
        (info.min, n - 1),
    ]
    ranges += [
        (0, info.max),
        (info.max - 3, info.max),
        (info.min, info.min + 2),
        (-100, 100),
        (0, 1),
        (n, info.max),
    ]
    low, high = rng.choice(ranges)
    low, high = max(low, int(info.min)), max(high, int(info.min))
    return min(low, int(info.max)), min(high, int(info.max))


def make(seed: int, wide: bool = False) -> Program:
    """The program of a seed. `wide` allows 64-bit types and needs jax_enable_x64."""
    if seed % RELATED_EVERY == RELATED_EVERY - 1:
        return make_related(seed, wide)
    rng = random.Random(f"arguments:{seed}")
    integers = [*INTEGERS, "int64"] if wide else list(INTEGERS)
    weights = [*INTEGER_WEIGHTS, 6.0] if wide else list(INTEGER_WEIGHTS)
    arguments = []
    for _ in range(rng.randint(1, 4)):
        dtype = np.dtype(rng.choices([*integers, "bool", "float32"], [*weights, 1.5, 2.5])[0])
        shape = rng.choices(SHAPES, SHAPE_WEIGHTS)[0]
        low, high = _contract(rng, dtype)
        arguments.append(Argument(shape, dtype, low, high))
    return Program(seed, tuple(arguments), wide=wide)


def make_related(seed: int, wide: bool = False) -> Program:
    """A small program whose inputs are small integers of one type, and maybe a short vector of them."""
    rng = random.Random(f"related:{seed}")
    dtype = np.dtype(rng.choices([*DTYPES, "int64"] if wide else DTYPES, [*DTYPE_WEIGHTS, 4.0][: 5 + wide])[0])
    arguments = []
    for k in range(rng.randint(2, 4)):
        shape = rng.choice([(), (), (4,)]) if k else ()
        low, high = rng.choice([(0, 9), (0, 9), (0, 4), (0, 1), (-5, 5), (1, 10), (0, 100), (None, None)])
        if low is not None and dtype.kind == "u":
            low = max(low, 0)
        arguments.append(Argument(shape, dtype, low, high))
    return Program(seed, tuple(arguments), wide=wide, related=True)


def recontract(program: Program, seed: int) -> Program:
    """The same function under another contract: traced once, checked twice."""
    rng = random.Random(f"contract:{program.seed}:{seed}")
    changed = tuple(
        dataclasses.replace(a, low=r[0], high=r[1]) for a in program.arguments for r in [_contract(rng, a.dtype)]
    )
    return dataclasses.replace(program, arguments=changed)


def sample(rng: random.Random, argument: Argument) -> Any:
    """A concrete input inside the contract, its elements often on the edge of it."""
    size = int(np.prod(argument.shape))
    dtype = np.dtype(argument.dtype)
    if dtype == np.bool_:
        low, high = (
            (0 if argument.low is None else argument.low),
            (1 if argument.high is None else argument.high),
        )
        values: list[Any] = [rng.randint(int(low), int(high)) for _ in range(size)]
        return np.array(values, dtype).reshape(argument.shape)
    draw = _float_draw(rng, argument) if dtype.kind == "f" else _integer_draw(rng, argument, dtype)
    if rng.random() < 0.25:
        values = [draw()] * size
    else:
        values = [draw() for _ in range(size)]
    return np.array(values, dtype).reshape(argument.shape)


def _integer_draw(rng: random.Random, argument: Argument, dtype: Any) -> Callable[[], int]:
    info = np.iinfo(dtype)
    low = int(info.min) if argument.low is None else int(argument.low)
    high = int(info.max) if argument.high is None else int(argument.high)
    edges = [v for v in (low, low + 1, high - 1, high, 0, 1, -1, 2, 3, 4, 5, -3, -4, -5) if low <= v <= high]
    uniform = rng.random()

    def draw() -> int:
        return rng.choice(edges) if rng.random() < 0.3 + 0.7 * uniform else rng.randint(low, high)

    return draw


def _float_draw(rng: random.Random, argument: Argument) -> Callable[[], float]:
    """A range says nothing of NaN: a contract allows it unless a condition was added (`numbers`)."""
    nan = not argument.numbers and rng.random() < 0.2
    if argument.low is None:
        anything = [0.0, -0.0, 1.0, -1.0, 0.5, 3.0, 3.9999998, 4.0, 1e9, -1e9, 2147483648.0, 3e38, -3e38]
        anything += [math.inf, -math.inf, math.nan, 1e-30]
        return lambda: rng.choice(anything)
    low, high = float(argument.low), float(argument.high)
    return lambda: rng.choice([low, high, low, high, rng.uniform(low, high), math.nan if nan else low])
