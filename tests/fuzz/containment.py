"""Whether a concrete value lies inside a fact, decided without redzone's own help."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np


def why_outside(fact: Any, value: Any) -> str:
    """Empty when every element of `value` satisfies `fact`; else what is wrong, in a few words."""
    array = np.asarray(value)
    kind = "f" if array.dtype.kind in "fV" else array.dtype.kind
    if array.size == 0 or kind not in "biuf" or array.dtype.names:
        return ""  # nothing there, or float0: the tangent of an integer has no values
    for bound in (fact.lo, fact.hi):
        if isinstance(bound, np.ndarray):
            trouble = _misshapen(bound, array)
            if trouble:
                return trouble
    if kind == "f":
        return _float_outside(fact, array.astype(np.float64))
    if isinstance(fact.lo, np.ndarray) or isinstance(fact.hi, np.ndarray):
        wide = array.astype(np.int64) if array.dtype != np.uint64 else array.astype(object)
        if not bool(np.all((wide >= fact.lo) & (wide <= fact.hi))):
            return f"{array} leaves the kept-apart bounds {fact!r}"
        return "" if fact.step == 1 else f"kept-apart bounds with step {fact.step}"
    low, high = int(array.min()), int(array.max())
    if low < fact.lo or high > fact.hi:
        return f"[{low}, {high}] leaves {fact!r}"
    return _stride_outside(fact, array)


def test_of(fact: Any, aval: Any) -> Callable[[Any], Any]:
    """`why_outside` of one fact for many values of one type, true where it has nothing to say."""
    kept_apart = any(isinstance(bound, np.ndarray) for bound in (fact.lo, fact.hi))
    if any(isinstance(b, np.ndarray) and _misshapen(b, aval) for b in (fact.lo, fact.hi)) or fact.step != 1:
        return lambda value: not why_outside(fact, value)
    dtype, lo, hi = np.dtype(aval.dtype), fact.lo, fact.hi
    if dtype.kind in "biu" and dtype != np.uint64:
        if kept_apart:
            return lambda value: bool(((value >= lo) & (value <= hi)).all())
        if not aval.shape:
            return lambda value: lo <= int(value) <= hi
        if 0 not in aval.shape:
            return lambda value: lo <= int(np.minimum.reduce(value, None)) and int(np.maximum.reduce(value, None)) <= hi
    if dtype.kind == "f" and not aval.shape and not kept_apart:
        return lambda value: lo <= float(value) <= hi or (fact.nan and value != value)
    return lambda value: not why_outside(fact, value)


def says_nothing(fact: Any, aval: Any) -> bool:
    """Whether every value of this type satisfies a fact; keys, refs and their like are not looked into."""
    dtype = getattr(aval, "dtype", None)
    if not isinstance(dtype, np.dtype) or hasattr(aval, "inner_aval"):
        return True
    if isinstance(fact.lo, np.ndarray) or isinstance(fact.hi, np.ndarray):
        return False
    if dtype == np.bool_:
        return bool(fact.lo <= 0 and fact.hi >= 1 and fact.step == 1)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return bool(fact.lo <= info.min and fact.hi >= info.max and fact.step == 1)
    return bool(fact.nan and fact.lo == -np.inf and fact.hi == np.inf)


def _misshapen(bound: Any, array: Any) -> str:
    fits = bound.ndim == array.ndim and all(b in (1, n) for b, n in zip(bound.shape, array.shape, strict=True))
    return "" if fits else f"bounds of shape {bound.shape} for a value of shape {array.shape}"


def _float_outside(fact: Any, wide: Any) -> str:
    missing = np.isnan(wide)
    if missing.any() and not fact.nan:
        return f"NaN leaves {fact!r}"
    inside = (wide >= fact.lo) & (wide <= fact.hi)
    return "" if bool(np.all(inside | missing)) else f"{wide} leaves {fact!r}"


def _stride_outside(fact: Any, array: Any) -> str:
    if fact.step == 1:
        return ""
    if fact.step == 0:
        return "" if fact.lo == fact.hi else f"step 0 with bounds {fact!r}"
    rest = (array.astype(object) - fact.lo) % fact.step
    return "" if bool(np.all(rest == 0)) else f"{array} is off the stride of {fact!r}"
