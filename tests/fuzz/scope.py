"""The values at hand while a random program is traced, and how a step picks, makes and reshapes them."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

SHAPES: tuple[tuple[int, ...], ...] = ((), (4,), (4, 3), (3,), (1,), (2, 4), (5,), (2, 1, 3), (0,), (200,), (2, 600))
SHAPE_WEIGHTS = (6.0, 5.0, 2.5, 2.0, 1.0, 1.0, 1.0, 0.5, 0.15, 0.25, 0.08)
"""The last two are longer than a byte counts, and larger than facts keep elements apart."""

INTEGERS = ("int32", "int8", "uint8", "uint32", "int16", "uint16")
INTEGER_WEIGHTS = (10.0, 2.0, 2.0, 2.0, 1.0, 0.5)
WIDE_INTEGERS = (*INTEGERS, "int64", "uint64")
WIDE_INTEGER_WEIGHTS = (*INTEGER_WEIGHTS, 6.0, 1.5)


class Unfit(Exception):
    """The step can't be taken with the values at hand; the generator goes on to the next."""


@dataclasses.dataclass(slots=True)
class Trace:
    """What one tracing of a program knows: which steps to leave out, which were taken, how much is left."""

    seed: int
    skip: frozenset[str]
    taken: list[str]
    budget: int
    wide: bool = False
    theme: str = ""
    """The name of a step that this program takes more often than others."""


class Scope:
    """One level of a program: the values visible there and the randomness of the current step."""

    def __init__(self, trace: Trace, path: str, values: Sequence[Any], depth: int) -> None:
        self.trace = trace
        self.path = path
        self.values = list(values)
        self.depth = depth
        self.rng = random.Random(f"{trace.seed}:{path}")

    def inner(self, name: str, values: Sequence[Any], only: bool = False) -> Scope:
        """A scope for a body: its own arguments, and what it closes over unless `only`."""
        seen = [] if only else self.values
        return Scope(self.trace, f"{self.path}.{name}", [*seen, *values], self.depth + 1)

    # ---- choosing ----------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return self.rng.random() < probability

    def choice(self, options: Sequence[Any]) -> Any:
        return self.rng.choice(options)

    def weighted(self, options: Sequence[Any], weights: Sequence[float]) -> Any:
        return self.rng.choices(options, weights)[0]

    def shape(self, min_rank: int = 0, max_rank: int = 8) -> tuple[int, ...]:
        pairs = [(s, w) for s, w in zip(SHAPES, SHAPE_WEIGHTS, strict=True) if min_rank <= len(s) <= max_rank]
        return tuple(self.weighted([s for s, _ in pairs], [w for _, w in pairs]))

    def integer_dtype(self) -> Any:
        if self.trace.wide:
            return np.dtype(self.weighted(WIDE_INTEGERS, WIDE_INTEGER_WEIGHTS))
        return np.dtype(self.weighted(INTEGERS, INTEGER_WEIGHTS))

    def float_dtype(self) -> Any:
        if self.trace.wide and self.chance(0.5):
            return np.dtype("float64")
        return np.dtype("float32") if self.chance(0.98) else np.dtype(jnp.bfloat16)

    def newest_first(self) -> Iterator[Any]:
        """The values at hand, each step a random one, recent ones likelier."""
        pool = list(self.values)
        while pool:
            place = len(pool) - 1 - min(int(self.rng.expovariate(0.35)), len(pool) - 1)
            yield pool.pop(place)

    def find(self, wanted: Callable[[Any], bool]) -> Any | None:
        return next((v for v in self.newest_first() if wanted(v)), None)

    # ---- making ------------------------------------------------------------------------------

    def corner(self, dtype: Any, n: int = 4) -> Any:
        """A number likely to be on the edge of something, as a NumPy scalar of `dtype`."""
        dtype = np.dtype(dtype)
        if dtype == np.bool_:
            return np.bool_(self.chance(0.5))
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            options = [
                0,
                1,
                -1,
                2,
                3,
                n - 1,
                n,
                n + 1,
                -n,
                -n - 1,
                7,
                8,
                100,
                info.max,
                info.min,
                info.max - 1,
            ]
            value = self.choice(options) if self.chance(0.9) else self.rng.randint(info.min, info.max)
            return np.array(value % (1 << (8 * dtype.itemsize)), np.uint64).astype(dtype)[()]
        floats = [
            0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            2.5,
            n - 1,
            n,
            n - 0.01,
            -0.0,
            1e9,
            -1e9,
            3e38,
            math.inf,
            math.nan,
            1e-30,
        ]
        return np.array(self.choice(floats)).astype(dtype)[()]

    def constant(self, dtype: Any, shape: tuple[int, ...] = (), n: int = 4) -> Any:
        if not shape:
            return self.corner(dtype, n)
        size = math.prod(shape)
        return np.array([self.corner(dtype, n) for _ in range(size)], dtype).reshape(shape)

    def small(self, low: int, high: int) -> int:
        return self.rng.randint(low, high)

    # ---- getting a value of a kind -----------------------------------------------------------

    def integer(self, shape: tuple[int, ...] | None = None, dtype: Any = None) -> Any:
        """An integer value, fitted to `shape` and cast to `dtype` where these are given."""
        value = self.find(lambda v: is_integer(v) and (shape is None or v.shape in (shape, ())))
        if value is None or self.chance(0.12):
            other = self.find(lambda v: is_integer(v) or is_bool(v) or is_float(v))
            value = (
                other if other is not None and self.chance(0.5) else self.constant(self.integer_dtype(), shape or ())
            )
        if not is_integer(value):
            value = lax.convert_element_type(value, self.integer_dtype())
        if dtype is not None and value.dtype != dtype:
            value = lax.convert_element_type(value, dtype)
        return value if shape is None else fit(self, value, shape)

    def boolean(self, shape: tuple[int, ...] | None = None) -> Any:
        value = self.find(lambda v: is_bool(v) and (shape is None or v.shape in (shape, ())))
        if value is None or self.chance(0.4):
            value = self.comparison(shape if shape is not None else self.shape())
        return value if shape is None else fit(self, value, shape)

    def comparison(self, shape: tuple[int, ...]) -> Any:
        """A test of an integer against an edge: what refinement is made of."""
        left = self.integer(shape)
        right: Any = self.corner(left.dtype, self.choice([3, 4]))
        if self.chance(0.25):
            right = self.integer(shape, left.dtype)
        test = self.choice([lax.lt, lax.le, lax.gt, lax.ge, lax.eq, lax.ne])
        left, right = np_or_tracer(left), np_or_tracer(right)
        if self.chance(0.2):
            left, right = right, left
        return test(*jnp.broadcast_arrays(left, right))

    def floating(self, shape: tuple[int, ...] | None = None) -> Any:
        value = self.find(lambda v: is_float(v) and (shape is None or v.shape in (shape, ())))
        if value is None or self.chance(0.1):
            value = lax.convert_element_type(self.integer(shape), self.float_dtype())
        return value if shape is None else fit(self, value, shape)

    def number(self, shape: tuple[int, ...] | None = None) -> Any:
        return self.integer(shape) if self.chance(0.85) else self.floating(shape)

    def array(self, min_rank: int = 1, max_rank: int = 4) -> Any:
        """Something with elements to access; no empty dimension."""
        wanted = self.find(lambda v: min_rank <= v.ndim <= max_rank and 0 not in v.shape and not is_key(v))
        if wanted is not None and self.chance(0.8):
            return wanted
        shape = self.shape(min_rank, max_rank)
        if 0 in shape:
            raise Unfit
        dtype = self.integer_dtype() if self.chance(0.7) else np.dtype("float32")
        return jnp.asarray(self.constant(dtype, shape))


def is_key(v: Any) -> bool:
    return bool(jnp.issubdtype(v.dtype, jax.dtypes.prng_key))


def is_integer(v: Any) -> bool:
    return not is_key(v) and np.dtype(v.dtype).kind in "iu"


def is_bool(v: Any) -> bool:
    return not is_key(v) and np.dtype(v.dtype) == np.bool_


def is_float(v: Any) -> bool:
    return bool(jnp.issubdtype(v.dtype, jnp.floating))


def np_or_tracer(v: Any) -> Any:
    return v if isinstance(v, jax.Array) else np.asarray(v)


def fit(scope: Scope, value: Any, shape: tuple[int, ...]) -> Any:
    """`value` with another shape: broadcast, cut, repeated, reshaped or padded, at random."""
    if value.shape == shape:
        return value
    size, wanted = math.prod(value.shape), math.prod(shape)
    if value.ndim == 0:
        return jnp.broadcast_to(value, shape)
    if size == wanted:
        return jnp.reshape(value, shape)
    if shape == () and size and scope.chance(0.5):
        return scope.choice([jnp.max, jnp.min, jnp.sum])(value).astype(value.dtype)
    flat = jnp.reshape(value, (size,))
    if size == 0:
        flat = jnp.asarray(scope.constant(value.dtype if not is_bool(value) else "bool", (1,)))
        size = 1
    if size < wanted:
        if scope.chance(0.4):
            fill = scope.corner(value.dtype) if is_bool(value) or is_integer(value) else np.array(0, value.dtype)
            flat = lax.pad(flat, jnp.asarray(fill, value.dtype), [(0, wanted - size, 0)])
        else:
            flat = jnp.concatenate([flat] * (-(-wanted // size)))
            size = flat.shape[0]
    if flat.shape[0] > wanted:
        start = scope.small(0, flat.shape[0] - wanted)
        flat = lax.slice(flat, (start,), (start + wanted,))
    return jnp.reshape(flat, shape)


def cast(scope: Scope, value: Any, dtype: Any, shape: tuple[int, ...]) -> Any:
    """`value` with the type a carry or branch must have."""
    if value.dtype != dtype:
        value = lax.convert_element_type(value, dtype)
    return fit(scope, value, shape)
