"""Random and adversarial facts for a type, and concrete points inside a fact."""

from __future__ import annotations

import math
import random
from typing import Any

import numpy as np

from redzone.domains import Fact

SMALL = 2**31


def random_fact(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> Fact:
    """A well-formed fact for an array of this type, its bounds likely on an edge of something."""
    dtype = np.dtype(dtype)
    if dtype == np.bool_:
        return _random_bool(rng, shape)
    if dtype.kind in "iu":
        if shape and 0 not in shape and rng.random() < 0.35:
            return _kept_integers(rng, shape, dtype)
        return _random_integer(rng, dtype)
    if shape and 0 not in shape and rng.random() < 0.2:
        return _kept_floats(rng, shape)
    return _random_float(rng)


def _edges(dtype: Any) -> list[int]:
    info = np.iinfo(dtype)
    near = [
        0,
        1,
        -1,
        2,
        3,
        4,
        5,
        7,
        8,
        9,
        -2,
        -3,
        -4,
        -5,
        15,
        16,
        31,
        32,
        33,
        63,
        64,
        100,
        -100,
        127,
        128,
        255,
        256,
    ]
    far = [info.min, info.max, info.min + 1, info.max - 1, info.max // 2, info.min // 2, 1 << 16, -(1 << 16)]
    return [int(v) for v in (*near, *near, *far) if info.min <= v <= info.max]


def _range(rng: random.Random, dtype: Any) -> tuple[int, int]:
    info = np.iinfo(dtype)
    edges = _edges(dtype)
    a = rng.choice(edges)
    kind = rng.random()
    if kind < 0.25:
        b = min(max(a + rng.randint(0, 10), int(info.min)), int(info.max))
    elif kind < 0.3:
        b = rng.randint(int(info.min), int(info.max))
    else:
        b = rng.choice(edges)
    return min(a, b), max(a, b)


def _random_integer(rng: random.Random, dtype: Any) -> Fact:
    kind = rng.random()
    if kind < 0.2:
        value = rng.choice(_edges(dtype))
        return Fact(value, value, 0)
    if kind < 0.27:
        info = np.iinfo(dtype)
        return Fact(int(info.min), int(info.max))
    low, high = _range(rng, dtype)
    if low == high:
        return Fact(low, high, 0)
    if kind < 0.5 and high - low >= 2:
        step = rng.choice([2, 3, 4, 5, 8, 16, 100])
        high -= (high - low) % step
        return Fact(low, high, 0 if low == high else step)
    return Fact(low, high)


def _random_bool(rng: random.Random, shape: tuple[int, ...]) -> Fact:
    if shape and 0 not in shape and rng.random() < 0.3:
        kept = _kept_shape(rng, shape)
        size = math.prod(kept)
        low = np.array([rng.randint(0, 1) for _ in range(size)], np.int64).reshape(kept)
        high = np.maximum(low, np.array([rng.randint(0, 1) for _ in range(size)], np.int64).reshape(kept))
        return _kept_or_scalar(low, high)
    return rng.choice([Fact(0, 1), Fact(0, 0, 0), Fact(1, 1, 0)])


def _kept_shape(rng: random.Random, shape: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(n if rng.random() < 0.7 else 1 for n in shape)


def _kept_or_scalar(low: Any, high: Any, nan: bool = False) -> Fact:
    if low.size == 1:
        a, b = low.item(), high.item()
        return Fact(a, b, 0 if a == b and not nan else 1, nan)
    return Fact(low, high, 1, nan)


def _kept_integers(rng: random.Random, shape: tuple[int, ...], dtype: Any) -> Fact:
    kept = _kept_shape(rng, shape)
    exact = rng.random() < 0.4
    low, high = np.zeros(kept, np.int64), np.zeros(kept, np.int64)
    for at in np.ndindex(*kept):
        a, b = _range(rng, dtype)
        a, b = max(min(a, SMALL), -SMALL), max(min(b, SMALL), -SMALL)
        low[at], high[at] = a, a if exact else b
    if exact and rng.random() < 0.5:
        return _kept_or_scalar(low, low)
    return _kept_or_scalar(low, high)


FLOATS = [
    0.0,
    0.5,
    1.0,
    1.5,
    2.0,
    2.5,
    3.0,
    4.0,
    0.1,
    1e-3,
    1e-30,
    100.0,
    127.0,
    128.0,
    255.5,
    16777216.0,
    1e9,
]
FLOATS += [2147483648.0, 4294967296.0, 3e38, math.inf]
DENORMAL = 1e-40
"""XLA on a CPU takes it for zero, other places do not; a point, never a bound: facts round theirs to zero."""


def _number(rng: random.Random) -> float:
    """A float32, since every bound must be a value its arrays can hold."""
    return float(np.float32(rng.choice(FLOATS) * rng.choice([1.0, -1.0])))


def _random_float(rng: random.Random) -> Fact:
    a, b = _number(rng), _number(rng)
    low, high = min(a, b), max(a, b)
    if rng.random() < 0.25:
        high = low
    nan = rng.random() < 0.3
    return Fact(low, high, 0 if low == high and not nan else 1, nan)


def _kept_floats(rng: random.Random, shape: tuple[int, ...]) -> Fact:
    kept = _kept_shape(rng, shape)
    low, high = np.zeros(kept), np.zeros(kept)
    for at in np.ndindex(*kept):
        a, b = _number(rng), _number(rng)
        low[at], high[at] = min(a, b), max(a, b)
    return _kept_or_scalar(low, high, rng.random() < 0.2)


def point_inside(rng: random.Random, fact: Fact, shape: tuple[int, ...], dtype: Any) -> Any:
    """A concrete array that satisfies the fact, its elements often at the ends."""
    dtype = np.dtype(dtype)
    low = np.broadcast_to(np.asarray(fact.lo, object), shape)
    high = np.broadcast_to(np.asarray(fact.hi, object), shape)
    uniform = rng.choice(["any", "any", "low", "high"])
    out = np.empty(shape, object)
    for at in np.ndindex(*shape):
        pick = uniform if uniform != "any" else rng.choice(["low", "high", "within", "within"])
        if dtype.kind in "biu":
            out[at] = _whole(rng, int(low[at]), int(high[at]), fact.step, pick)
        else:
            out[at] = _real(rng, float(low[at]), float(high[at]), fact.nan, pick)
    with np.errstate(over="ignore"):
        return out.astype(dtype)


def _whole(rng: random.Random, low: int, high: int, step: int, pick: str) -> int:
    if pick == "low" or low == high:
        return low
    if pick == "high":
        return high
    stride = max(step, 1)
    edges = [v for v in (0, -1, 1, low + stride, high - stride) if low <= v <= high and (v - low) % stride == 0]
    if edges and rng.random() < 0.5:
        return rng.choice(edges)
    return low + stride * rng.randint(0, (high - low) // stride)


def _real(rng: random.Random, low: float, high: float, nan: bool, pick: str) -> float:
    if nan and rng.random() < 0.2:
        return math.nan
    if pick == "low" or low == high:
        return low
    if pick == "high":
        return high
    within = [v for v in (0.0, -0.0, DENORMAL, -DENORMAL, *FLOATS, *(-f for f in FLOATS)) if low <= v <= high]
    near = [
        float(np.nextafter(np.float32(low), np.float32(high))),
        float(np.nextafter(np.float32(high), np.float32(low))),
    ]
    normal = (v for v in near if low <= v <= high and abs(v) > 1e-37)
    return rng.choice([*within, *normal] or [low])
