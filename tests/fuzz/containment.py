"""Whether a concrete value lies inside a fact, decided without redzone's own help."""

from __future__ import annotations

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
