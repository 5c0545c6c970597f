"""What inputs hold where nothing else is said of them, and what their contracts allow."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from redzone.domains import Fact, dtype_info
from redzone.domains.fact import NORMAL
from redzone.frontend.trace import Input
from redzone.prove.concrete_random import is_key


def plain_value(source: Input, fact: Fact, number: Any = 0) -> Any:
    """An array of the input's shape holding one number, or the nearest its contract allows."""
    aval = source.aval
    info = dtype_info(getattr(aval, "dtype", None))
    if info.kind == "x":
        return random_key(aval, 0) if is_key(aval) else np.zeros(aval.shape, aval.dtype)
    if type(fact.lo) is np.ndarray:
        values = np.clip(number, fact.lo, fact.hi)
        return np.broadcast_to(values.astype(aval.dtype), aval.shape)
    value = min(max(number, fact.lo), fact.hi)
    with np.errstate(over="ignore"):  # more than a narrow float holds is infinite
        return np.broadcast_to(np.asarray(value).astype(aval.dtype), aval.shape)


def random_key(aval: Any, seed: int) -> Any:
    """An array of one and the same random key, the one that JAX makes of a seed."""
    return _key(aval.dtype._impl.name, aval.shape, seed)


@functools.lru_cache(maxsize=64)
def _key(kind: str, shape: tuple[int, ...], seed: int) -> Any:
    """The same, kept: JAX makes a key in a program of its own, which takes a third of a millisecond."""
    key = jax.random.key(seed, impl=kind)
    return jax.numpy.broadcast_to(key, shape) if shape else key


def has_sizes(inputs: Sequence[Input]) -> bool:
    """Whether there are arrays to try: a symbolic size has none."""
    return all(type(n) is int for source in inputs for n in getattr(source.aval, "shape", ()))


def keeps(fact: Fact, value: Any) -> bool:
    """Whether an array keeps its contract; of one that holds a single number, that number."""
    if not isinstance(value, np.ndarray):
        return True
    if not fact.kept and value.size and (value == value.flat[0]).all():
        return fact.contains(value.flat[0])
    return fact.contains(value)


def filled(inputs: Sequence[Input], facts: Sequence[Fact], chosen: dict[int, Any]) -> list[Any]:
    """One array per input: the chosen ones, and the plainest the contract allows for the rest."""
    return [
        _allowed(source, chosen[i] if i in chosen else plain_value(source, fact))
        for i, (source, fact) in enumerate(zip(inputs, facts, strict=True))
    ]


def _allowed(source: Input, value: Any) -> Any:
    """The same, or the nearest the contract allows: a summarised fact does not know what is said of single elements."""
    if np.ndim(source.min) == 0 and np.ndim(source.max) == 0 and not _ends_subnormal(source):
        return value
    return np.clip(value, source.min, source.max).astype(source.aval.dtype)


def _ends_subnormal(source: Input) -> bool:
    """Whether a promise ends at a number that may be taken for zero: then its fact holds zero, which it excludes."""
    ends = [bound for bound in (source.min, source.max) if isinstance(bound, float)]
    return any(bound != 0 and abs(bound) < NORMAL for bound in ends)


def may_be_key(source: Input) -> bool:
    """Whether an input may be a random key of the old kind, two words."""
    return source.aval.dtype == np.uint32 and source.aval.shape[-1:] == (2,) and is_free(source)


def is_free(source: Input) -> bool:
    """Whether nothing is promised of an input."""
    return bool(source.open_above and source.open_below)


def is_small(source: Input) -> bool:
    return all(type(n) is int for n in source.aval.shape) and 1 < int(np.prod(source.aval.shape)) <= 4096


def ramp(source: Input) -> Any:
    """Growing numbers: the largest comes last."""
    return np.arange(int(np.prod(source.aval.shape))).reshape(source.aval.shape).astype(source.aval.dtype)
