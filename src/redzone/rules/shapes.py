"""Primitives that move elements without computing on them."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, join, joined, scalar, settle, summarised, top
from redzone.domains.fact import KEEP, SMALL, apart
from redzone.domains.symbolic import fits
from redzone.rules import floats
from redzone.rules.integers import of
from redzone.rules.table import rule, top_of

#: So many whole numbers are exact in every type of float that has more than eight bits.
EXACT: Final = 256
#: A size and so many more are taken to fit where the size does.
BESIDE: Final = 1024
#: An iota up to this long keeps its elements apart.
SHORT: Final = 128


def mapped(fact: Fact, function: Any) -> Fact:
    """Apply a rearrangement to both bounds of a kept-apart fact."""
    if type(fact.lo) is not np.ndarray:
        return fact
    lo = function(fact.lo)
    hi = lo if fact.hi is fact.lo else function(fact.hi)
    return apart(lo, hi, fact.nan)


def summarised_along(fact: Fact, axes: Any) -> Fact:
    """The fact with these dimensions no longer kept apart."""
    if type(fact.lo) is not np.ndarray:
        return fact
    axes = tuple(axes)
    return apart(fact.lo.min(axis=axes, keepdims=True), fact.hi.max(axis=axes, keepdims=True), fact.nan)


@rule("broadcast_in_dim_p", needs=(0,), moves=True)
def _broadcast_in_dim(eqn: Any, a: Fact, *_: Fact) -> Fact:
    if type(a.lo) is not np.ndarray:
        return a
    rank = len(eqn.params["shape"])
    dims = eqn.params["broadcast_dimensions"]

    def place(x: np.ndarray) -> np.ndarray:
        shape = [1] * rank
        for source, target in enumerate(dims):
            shape[target] = x.shape[source]
        return x.reshape(shape)

    return mapped(a, place)


@rule("reshape_p", needs=(0,), moves=True)
def _reshape(eqn: Any, a: Fact, *_: Fact) -> Fact:
    if type(a.lo) is not np.ndarray:
        return a
    old, new = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    if eqn.params.get("dimensions") is not None:
        return summarised(a)
    if a.lo.shape == tuple(old):
        return mapped(a, lambda x: x.reshape(new))
    if [d for d in old if d != 1] != [d for d in new if d != 1]:
        return summarised(a)
    kept = [k for k, d in zip(a.lo.shape, old, strict=True) if d != 1]

    def place(x: np.ndarray) -> np.ndarray:
        rest = iter(kept)
        return x.reshape([1 if d == 1 else next(rest) for d in new])

    return mapped(a, place)


@rule("squeeze_p", moves=True)
def _squeeze(eqn: Any, a: Fact) -> Fact:
    if type(a.lo) is not np.ndarray:
        return a
    gone = set(eqn.params["dimensions"])
    return mapped(a, lambda x: x.reshape([s for i, s in enumerate(x.shape) if i not in gone]))


@rule("transpose_p", moves=True)
def _transpose(eqn: Any, a: Fact) -> Fact:
    return mapped(a, lambda x: x.transpose(eqn.params["permutation"]))


@rule("rev_p", moves=True)
def _rev(eqn: Any, a: Fact) -> Fact:
    return mapped(a, lambda x: np.flip(x, eqn.params["dimensions"]))


@rule("slice_p", moves=True)
def _slice(eqn: Any, a: Fact) -> Fact:
    if type(a.lo) is not np.ndarray:
        return a
    p = eqn.params
    strides = p["strides"] or (1,) * len(p["start_indices"])
    window = tuple(
        slice(None) if size == 1 else slice(start, stop, stride)
        for start, stop, stride, size in zip(p["start_indices"], p["limit_indices"], strides, a.lo.shape, strict=True)
    )
    if 0 in eqn.outvars[0].aval.shape:
        return scalar(0)
    return mapped(a, lambda x: x[window])


@rule("concatenate_p")
def _concatenate(eqn: Any, *parts: Fact) -> Fact:
    if len(parts) == 1:
        return parts[0]
    axis = int(eqn.params["dimension"])
    shape = eqn.outvars[0].aval.shape
    if shape == (len(parts),) and all(v.aval.shape == (1,) for v in eqn.invars):
        values = [p.lo for p in parts if p.step == 0 and type(p.lo) is int and -SMALL <= p.lo <= SMALL]
        if len(values) == len(parts) <= KEEP:
            # An index vector of known numbers.
            known = np.array(values, np.int64)
            return Fact(known, known) if any(v != values[0] for v in values) else parts[0]
    return _side_by_side(eqn, parts, [v.aval.shape[axis] for v in eqn.invars], axis)


def _side_by_side(eqn: Any, parts: Any, sizes: list[Any], axis: int) -> Fact:
    """Arrays of the result's rank, so long along an axis, one after the other."""
    shape, first = eqn.outvars[0].aval.shape, parts[0]
    if type(shape[axis]) is not int or shape[axis] > KEEP:
        # Elements kept apart along the axis have other places in the result.
        return joined(
            summarised_along(p, (axis,)) for p, n in zip(parts, sizes, strict=True) if type(n) is not int or n > 0
        )
    plain = not any(type(p.lo) is np.ndarray for p in parts)
    if plain and all(p.lo == first.lo and p.hi == first.hi for p in parts):
        return joined(parts)
    if of(eqn.outvars[0]).kind == "x" or not all(_small(p) for p in parts):
        return joined(summarised(p) for p in parts)
    rank = len(shape)
    real = any(type(p.lo) is float or (type(p.lo) is np.ndarray and p.lo.dtype.kind == "f") for p in parts)
    dtype = np.float64 if real else np.int64
    nan = any(p.nan for p in parts)
    if plain:
        at = [1] * rank
        at[axis] = shape[axis]
        los, his = [], []
        for p, n in zip(parts, sizes, strict=True):
            los.extend([p.lo] * n)
            his.extend([p.hi] * n)
        return apart(np.array(los, dtype).reshape(at), np.array(his, dtype).reshape(at), nan)
    others = [1] * rank
    for p in parts:
        if type(p.lo) is np.ndarray:
            others = [x if x > y else y for x, y in zip(others, p.lo.shape, strict=True)]
    others[axis] = shape[axis]
    if math.prod(others) > KEEP:
        return joined(summarised(p) for p in parts)
    lo, hi = np.empty(others, dtype), np.empty(others, dtype)
    before: tuple[Any, ...] = (slice(None),) * axis
    start = 0
    for p, n in zip(parts, sizes, strict=True):
        where = (*before, slice(start, start + n))
        lo[where], hi[where] = p.lo, p.hi
        start += n
    return apart(lo, hi, nan)


def _small(fact: Fact) -> bool:
    if type(fact.lo) is np.ndarray or type(fact.lo) is float:
        return True
    return type(fact.lo) is int and type(fact.hi) is int and fact.lo >= -SMALL and fact.hi <= SMALL


@rule("pad_p")
def _pad(eqn: Any, a: Fact, value: Fact) -> Fact:
    config = eqn.params["padding_config"]
    value = summarised(value)
    if all(low <= 0 and high <= 0 and interior == 0 for low, high, interior in config):
        return summarised(a)
    if type(a.lo) is np.ndarray or len(config) == 1:
        out = eqn.outvars[0].aval.shape
        known = all(type(n) is int and n for n in (*out, *eqn.invars[0].aval.shape))
        if known and math.prod(out) <= KEEP and _small(value) and _small(a) and of(eqn.outvars[0]).kind in "biuf":
            return _pad_exactly(eqn, a, value)
    return join(summarised(a), value)


def _pad_exactly(eqn: Any, a: Fact, value: Fact) -> Fact:
    shape, out = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape

    def place(x: Any, fill: Any) -> np.ndarray:
        target = np.full(out, fill)
        source = np.broadcast_to(x, shape)
        where, which = [], []
        for (low, _, interior), n, limit in zip(eqn.params["padding_config"], shape, out, strict=True):
            positions = low + np.arange(n) * (interior + 1)
            inside = (positions >= 0) & (positions < limit)
            where.append(positions[inside])
            which.append(np.flatnonzero(inside))
        target[np.ix_(*where)] = source[np.ix_(*which)]
        return target

    return settle(place(a.lo, value.lo), place(a.hi, value.hi), a.nan or value.nan)


@rule("iota_p", needs="none")
def _iota(eqn: Any, *_: Fact) -> Fact:
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    info = of(eqn.outvars[0])
    n = shape[axis]
    if info.kind not in "iuf":
        return top_of(eqn.outvars[0])
    if type(n) is int:
        if n <= 1:
            return scalar(0 if info.integral else 0.0)
        if info.integral and n - 1 > info.max:
            return top_of(eqn.outvars[0])
        if not info.integral and (n > EXACT or info.bits <= 8):
            return floats.from_integer(Fact(0, n - 1), info)
        if n <= SHORT:
            at = [1] * len(shape)
            at[axis] = n
            values = np.arange(n, dtype=np.int64 if info.integral else np.float64).reshape(at)
            return Fact(values, values)
    elif not info.integral or not fits(0, n - 1, info.min, info.max):
        return top_of(eqn.outvars[0])
    return Fact(0, n - 1)


@rule("split_p")
def _split(eqn: Any, a: Fact) -> list[Fact]:
    axis, start, parts = int(eqn.params["axis"]), 0, []
    for size in map(int, eqn.params["sizes"]):
        if type(a.lo) is np.ndarray and a.lo.shape[axis] != 1:
            window = [slice(None)] * a.lo.ndim
            window[axis] = slice(start, start + size)
            parts.append(mapped(a, lambda x, w=tuple(window): x[w]) if size else scalar(0))
        else:
            parts.append(a)
        start += size
    return parts


@rule("stack_p")
def _stack(eqn: Any, *parts: Fact) -> Fact:
    """Each operand is one place along an axis of its own."""
    axis = int(eqn.params["axis"]) % len(eqn.outvars[0].aval.shape)
    grown = [mapped(p, lambda x: np.expand_dims(x, axis)) for p in parts]
    return _side_by_side(eqn, grown, [1] * len(parts), axis)


@rule("unstack_p")
def _unstack(eqn: Any, a: Fact) -> list[Fact]:
    count = len(eqn.outvars)
    if type(a.lo) is not np.ndarray:
        return [a] * count
    axis = eqn.params["axis"] % a.lo.ndim
    kept = a.lo.shape[axis] > 1
    return [mapped(a, lambda x, k=k: np.take(x, k if kept else 0, axis)) for k in range(count)]


@rule("tile_p", "expand_dims_p")
def _tiled(eqn: Any, a: Fact) -> Any:
    return summarised(a)


@rule("empty_p", "empty2_p", needs="none")
def _zeros(eqn: Any, *_: Fact) -> Fact:
    return top(eqn.outvars[0].aval.dtype)


@rule("dim_as_value_p", needs="none")
def _dim_as_value(eqn: Any, *_: Fact) -> Fact:
    """A symbolic dimension used as a number: an expression of sizes that no array has may leave the type."""
    dim, info = eqn.params["dim"], of(eqn.outvars[0])
    return Fact(dim, dim) if fits(dim, dim - BESIDE, info.min, info.max) else top_of(eqn.outvars[0])
