"""What is known of an array's values: bounds that broadcast against it, a stride, and whether NaN can occur.

`lo` and `hi` are either two scalars for the whole array or two numpy arrays of the array's rank
whose dimensions are 1 ("summarised") or full ("kept apart"). Scalars are Python ints (any width),
floats, or a symbolic dimension expression. Every value is congruent to `lo` modulo `step`;
step 0 is a constant, step 1 says nothing. Facts with kept-apart bounds always have step 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from redzone.domains.dtype import DtypeInfo, dtype_info
from redzone.domains.symbolic import at_most, is_inconclusive, larger, smaller

#: How many elements may be kept apart in one fact.
KEEP: Final = 1024
#: An array up to this long keeps its elements apart also through writes, conditions and loops.
SHORT: Final = 16
#: Kept-apart integers stay this small, so that numpy's int64 holds any one product or sum of two.
SMALL: Final = 2**31

_NDARRAY: Final = np.ndarray


class Fact:
    """An over-approximation of every value an array can hold."""

    __slots__ = ("hi", "lo", "nan", "step", "told", "whole")

    def __init__(self, lo: Any, hi: Any, step: int = 1, nan: bool = False) -> None:
        self.lo = lo
        self.hi = hi
        self.step = step
        self.nan = nan
        self.whole: Fact | None = None
        """The same with one pair of bounds for all elements, where they are kept apart and somebody asked."""
        self.told: tuple[Any, ...] | None = None
        """Its key, where elements are kept apart and somebody asked."""

    def __repr__(self) -> str:
        stride = f" step {self.step}" if self.step not in (0, 1) else ""
        return f"[{self.lo}, {self.hi}]{stride}{' or NaN' if self.nan else ''}"

    @property
    def kept(self) -> bool:
        """Whether elements are kept apart."""
        return type(self.lo) is _NDARRAY

    @property
    def constant(self) -> bool:
        """Whether this is one known scalar, the same everywhere."""
        return self.step == 0 and not self.nan

    def key(self) -> tuple[Any, ...]:
        """Something hashable that is equal for equal facts."""
        if type(self.lo) is _NDARRAY:
            told = self.told
            if told is None:
                told = self.told = (self.lo.shape, self.lo.tobytes(), self.hi.shape, self.hi.tobytes(), self.nan)
            return told
        return (self.lo, self.hi, self.step, self.nan)

    def contains(self, value: Any) -> bool:
        """Whether every element of a concrete array satisfies this fact."""
        array = np.asarray(value)
        if dtype_info(array.dtype).kind == "x" or array.size == 0:
            return True
        if dtype_info(array.dtype).kind == "f":
            array = array.astype(np.float64)
            missing = np.isnan(array)
            if missing.any() and not self.nan:
                return False
            inside = (array >= self.lo) & (array <= self.hi)
            return bool(np.all(inside | missing))
        array = array.astype(object)
        if not bool(np.all((array >= self.lo) & (array <= self.hi))):
            return False
        if self.step > 1:
            return bool(np.all((array - self.lo) % self.step == 0))
        return True


TOP_FLOAT: Final = Fact(-math.inf, math.inf, 1, True)
BOOL: Final = Fact(0, 1)
FALSE: Final = Fact(0, 0, 0)
TRUE: Final = Fact(1, 1, 0)
_TOPS: Final[dict[Any, Fact]] = {}


def top(dtype: Any) -> Fact:
    """Any value of the dtype."""
    fact = _TOPS.get(dtype)
    if fact is None:
        info = dtype_info(dtype)
        fact = Fact(info.min, info.max) if info.integral else TOP_FLOAT
        _TOPS[dtype] = fact
    return fact


def scalar(value: Any) -> Fact:
    """Exactly this number, everywhere."""
    return Fact(value, value, 0)


def constant(value: Any) -> Fact:
    """What is known of a concrete array: its elements while few, else their range."""
    array = np.asarray(value)
    info = dtype_info(array.dtype)
    if info.kind == "x":
        return TOP_FLOAT
    if array.size == 0:
        return scalar(0)
    if info.kind == "f":
        return _constant_float(array)
    if array.ndim == 0:
        return scalar(int(array))
    if info.kind == "u" and info.bits == 64:
        return _hull(int(array.min()), int(array.max()))
    if array.dtype.kind not in "iub":
        array = array.astype(np.int64)
    lo, hi = int(least(array)), int(most(array))
    if array.size <= KEEP and lo < hi and lo >= -SMALL and hi <= SMALL:
        wide = array.astype(np.int64)
        return Fact(wide, wide)
    return _hull(lo, hi)


def _hull(lo: Any, hi: Any) -> Fact:
    return Fact(lo, hi, 0 if lo == hi else 1)


#: The smallest normal float32: what is smaller may be taken for zero.
NORMAL: Final = 2.0**-126


def flushed(lo: float, hi: float) -> tuple[float, float]:
    """Bounds that hold also where subnormal numbers are taken for zero, as XLA does on some machines."""
    return (0.0 if 0 < lo < NORMAL else lo), (0.0 if -NORMAL < hi < 0 else hi)


def _constant_float(array: np.ndarray) -> Fact:
    wide = array.astype(np.float64)
    subnormal = (wide != 0) & (np.abs(wide) < NORMAL)
    if subnormal.any():
        rest = _constant_float(np.where(subnormal, 0.0, wide))
        return Fact(min(np.min(rest.lo), -NORMAL), max(np.max(rest.hi), NORMAL), 1, rest.nan)
    missing = np.isnan(wide)
    nan = bool(missing.any())
    if nan:
        if missing.all():
            # Only NaN: no number is among its elements, so any pair of bounds holds; zero is as good as another.
            return Fact(0.0, 0.0, 1, True)
        wide = wide[~missing]
    elif 1 < wide.size <= KEEP and wide.ndim:
        return Fact(wide, wide)
    lo, hi = float(wide.min()), float(wide.max())
    return Fact(lo, hi, 0 if lo == hi and not nan else 1, nan)


def summarised(fact: Fact) -> Fact:
    """The same fact with one pair of bounds for the whole array."""
    if type(fact.lo) is not _NDARRAY:
        return fact
    if fact.whole is None:
        lo, hi = least(fact.lo), most(fact.hi)
        fact.whole = Fact(lo, hi, 0 if lo == hi and not fact.nan else 1, fact.nan)
    return fact.whole


#: Of an array up to this long the elements are faster to go through one by one than by numpy.
_FEW: Final = 48
#: The same of bools, of which only those that differ from the others are looked for.
_SHORT: Final = 4096


def least(array: np.ndarray) -> Any:
    """The least element, as a Python number."""
    return min(array.ravel().tolist()) if array.size <= _FEW else array.min().item()


def most(array: np.ndarray) -> Any:
    """The greatest element, as a Python number."""
    return max(array.ravel().tolist()) if array.size <= _FEW else array.max().item()


def every(flags: Any) -> bool:
    """Whether all of an array of bools, as a comparison yields it, are true: of a short one faster than by numpy."""
    return 0 not in flags.tobytes() if flags.size <= _SHORT else bool(flags.all())


def some(flags: Any) -> bool:
    """Whether any of them is."""
    return 1 in flags.tobytes() if flags.size <= _SHORT else bool(flags.any())


def settle(lo: Any, hi: Any, nan: bool = False) -> Fact:
    """A fact from two computed bounds, dropping an array that keeps nothing apart or too much."""
    a, b = type(lo) is _NDARRAY, type(hi) is _NDARRAY
    if not (a or b):
        plain = type(lo) in (int, float)
        return Fact(lo, hi, 0 if plain and lo == hi and not nan else 1, nan)
    if not a:
        lo = np.full((1,) * hi.ndim, lo)
    elif not b:
        hi = np.full((1,) * lo.ndim, hi)
    if (lo.size > 1 or hi.size > 1) and lo.dtype == np.int64 and (least(lo) < -SMALL or most(hi) > SMALL):
        return summarised(Fact(lo, hi, 1, nan))
    return apart(lo, hi, nan)


def apart(lo: np.ndarray, hi: np.ndarray, nan: bool = False) -> Fact:
    """As `settle`, of bounds that are known to be small: those of kept-apart facts, moved about or chosen from."""
    if lo.shape != hi.shape:
        lo, hi = np.broadcast_arrays(lo, hi)
    size = lo.size
    if size == 1:
        low, high = lo.item(), hi.item()
        return Fact(low, high, 0 if low == high and not nan else 1, nan)
    if size > KEEP:
        return summarised(Fact(lo, hi, 1, nan))
    return Fact(lo, hi, 1, nan)


def too_wide(a: Fact, b: Fact) -> bool:
    """Whether combining two kept-apart facts would keep more apart than allowed."""
    if type(a.lo) is not _NDARRAY or type(b.lo) is not _NDARRAY:
        return False
    if a.lo.shape == b.lo.shape:
        return bool(a.lo.size > KEEP)
    size = 1
    for x, y in zip(a.lo.shape, b.lo.shape, strict=False):
        size *= x if x > y else y
    return size > KEEP


def join(a: Fact, b: Fact) -> Fact:
    """The least fact that both imply."""
    if a is b:
        return a
    low, high = b.lo, b.hi
    if type(a.lo) is int and type(a.hi) is int and type(low) is int and type(high) is int:
        step = 1 if a.step == 1 or b.step == 1 else math.gcd(a.step, b.step, a.lo - low)
        if low > a.lo:
            low = a.lo
        if high < a.hi:
            high = a.hi
        return Fact(low, high, step, a.nan or b.nan)
    if type(a.lo) is _NDARRAY or type(b.lo) is _NDARRAY:
        if not _alike(a, b):
            a, b = summarised(a), summarised(b)
            return join(a, b)
        return apart(np.minimum(a.lo, b.lo), np.maximum(a.hi, b.hi), a.nan or b.nan)
    try:
        lo = a.lo if a.lo <= b.lo else b.lo
        hi = a.hi if a.hi >= b.hi else b.hi
    except Exception as error:
        if not is_inconclusive(error):
            raise
        lo, hi = smaller(a.lo, b.lo), larger(a.hi, b.hi)
    nan = a.nan or b.nan
    if type(lo) is not int or type(hi) is not int:
        return Fact(lo, hi, 0 if isinstance(lo, float) and lo == hi and not nan else 1, nan)
    apart_by = a.lo - b.lo
    # Of two sizes, one is the lesser though nobody knows by how much.
    step = math.gcd(a.step, b.step, apart_by) if a.step != 1 and b.step != 1 and type(apart_by) is int else 1
    return Fact(lo, hi, step, nan)


def _alike(a: Fact, b: Fact) -> bool:
    """Whether two facts can be combined elementwise: plain numbers, of one rank and a bearable size."""
    for f in (a, b):
        if type(f.lo) is not _NDARRAY and not is_small(f):
            return False
    if type(a.lo) is _NDARRAY and type(b.lo) is _NDARRAY and a.lo.ndim != b.lo.ndim:
        return False
    return not too_wide(a, b)


def is_small(fact: Fact) -> bool:
    """Whether numpy can compute with the bounds: kept apart already, floats, or integers of bearable size."""
    if type(fact.lo) is _NDARRAY:
        return True
    if isinstance(fact.lo, float) or isinstance(fact.hi, float):
        return True
    return type(fact.lo) is int and type(fact.hi) is int and fact.lo >= -SMALL and fact.hi <= SMALL


def meet(a: Fact, b: Fact) -> Fact | None:
    """What satisfies both facts, or None where nothing does (no element can); the first itself if it says all of it."""
    low, high = b.lo, b.hi
    if type(a.lo) is int and type(a.hi) is int and type(low) is int and type(high) is int:
        if low < a.lo:
            low = a.lo
        if high > a.hi:
            high = a.hi
        if low > high:
            return None
        mine, other = a.step, b.step
        if mine == 0:
            return a if other <= 1 or (low - b.lo) % other == 0 else None
        if other == 0:
            return b if mine <= 1 or (low - a.lo) % mine == 0 else None
        if mine == 1 and other == 1:
            return a if low == a.lo != high == a.hi else Fact(low, high, 0 if low == high else 1, a.nan and b.nan)
        stride, anchor = (mine, a.lo) if mine >= other else (other, b.lo)
        return strided(low, high, stride, anchor)
    if type(a.lo) is _NDARRAY or type(b.lo) is _NDARRAY:
        if (type(low) is int or type(low) is float) and type(high) is type(low) and (b.nan or not a.nan):
            whole = summarised(a)
            if low <= whole.lo and whole.hi <= high:
                return a
        if not _alike(a, b):
            return meet(summarised(a), summarised(b))
        lo, hi = np.maximum(a.lo, b.lo), np.minimum(a.hi, b.hi)
        if some(lo > hi):
            empty = lo > hi
            if empty.all():
                return a if a.nan and b.nan else None
            # An element that can't exist may be said to be anything: what those are that do says no more of all.
            there = ~empty
            lo, hi = np.where(empty, lo[there].min(), lo), np.where(empty, hi[there].max(), hi)
        return apart(lo, hi, a.nan and b.nan)
    nan = a.nan and b.nan
    try:
        lo = a.lo if a.lo >= b.lo else b.lo
        hi = a.hi if a.hi <= b.hi else b.hi
        if lo > hi:
            # No number is left, but what is none may be.
            return a if nan else None
    except Exception as error:
        if not is_inconclusive(error):
            raise
        for known, size in ((a, b), (b, a)):
            if known.step == 0 and type(known.lo) is int:
                # A number that is known is all there is to say.
                return None if at_most(size.lo, known.lo) is False or at_most(known.lo, size.hi) is False else known
        # Each of two bounds that both hold may be kept; a symbolic one says more than a dtype's end.
        lo = b.lo if type(a.lo) is int or at_most(a.lo, b.lo) else a.lo
        hi = b.hi if type(a.hi) is int or at_most(b.hi, a.hi) else a.hi
        return None if at_most(lo, hi) is False else Fact(lo, hi)
    if type(lo) is not int or type(hi) is not int:
        return Fact(lo, hi, 0 if isinstance(lo, float) and lo == hi and not nan else 1, nan)
    if a.step == 1 and b.step == 1:
        return Fact(lo, hi, 0 if lo == hi else 1, nan)
    stride, anchor = (a.step, a.lo) if a.step == 0 or (b.step != 0 and a.step >= b.step) else (b.step, b.lo)
    return strided(lo, hi, stride, anchor)


def strided(lo: Any, hi: Any, step: int, anchor: Any) -> Fact | None:
    """The integers of [lo, hi] congruent to anchor modulo step, or None where there are none."""
    if step == 0:
        return scalar(anchor) if lo <= anchor <= hi else None
    if step > 1:
        lo += (anchor - lo) % step
        hi -= (hi - anchor) % step
    if lo > hi:
        return None
    return Fact(lo, hi, 0 if lo == hi else step)


def leq(a: Fact, b: Fact) -> bool:
    """Whether everything a allows, b allows too."""
    if a is b:
        return True
    if b.step == 1 and type(a.lo) is int and type(a.hi) is int and type(b.lo) is int and type(b.hi) is int:
        return b.lo <= a.lo and a.hi <= b.hi and (b.nan or not a.nan)
    if a.nan and not b.nan:
        return False
    if type(a.lo) is _NDARRAY or type(b.lo) is _NDARRAY:
        if (type(b.lo) is int or type(b.lo) is float) and type(b.hi) is type(b.lo):
            whole = summarised(a)
            return bool(b.step == 1 and b.lo <= whole.lo and whole.hi <= b.hi)
        if type(a.lo) is _NDARRAY and type(b.lo) is _NDARRAY and a.lo.ndim != b.lo.ndim:
            a = summarised(a)
        return b.step == 1 and every(a.lo >= b.lo) and every(a.hi <= b.hi)
    try:
        if not (a.lo >= b.lo and a.hi <= b.hi):
            return False
    except Exception as error:
        if not is_inconclusive(error):
            raise
        return b.step == 1 and bool(at_most(b.lo, a.lo)) and bool(at_most(a.hi, b.hi))
    if b.step == 1:
        return True
    if a.step == 1 and b.step != 1:
        return a.lo == a.hi and b.step != 0 and (a.lo - b.lo) % b.step == 0
    if b.step == 0:
        return bool(a.lo == a.hi == b.lo)
    return (a.step % b.step == 0) and (a.lo - b.lo) % b.step == 0


def widen(old: Fact, new: Fact, info: DtypeInfo, thresholds: Sequence[Any]) -> Fact:
    """An upper bound of both that jumps an unstable bound to the next threshold or the dtype's end.

    Any chain of widenings is finite: each bound moves at most once per threshold.
    """
    if type(old.lo) is _NDARRAY or type(new.lo) is _NDARRAY:
        if type(old.lo) is _NDARRAY and leq(new, old):
            return old
        apart = _widen_apart(old, join(old, new), info, thresholds)
        if apart is not None:
            return apart
    a, b = summarised(old), summarised(join(old, new))
    if info.kind == "f":
        lo = a.lo if b.lo >= a.lo else -math.inf
        hi = a.hi if b.hi <= a.hi else math.inf
        return Fact(lo, hi, 0 if lo == hi and not b.nan else 1, b.nan)
    if not info.integral:
        return TOP_FLOAT
    lo, hi = a.lo, a.hi
    if not all(type(x) is int for x in (a.lo, a.hi, b.lo, b.hi)):
        return Fact(
            lo if at_most(lo, b.lo) else info.min,
            hi if at_most(b.hi, hi) else next((t for t in thresholds if at_most(b.hi, t)), info.max),
        )
    if b.lo < lo:
        lo = max((t for t in thresholds if type(t) is int and t <= b.lo), default=info.min)
        lo = max(lo, info.min)
    if b.hi > hi:
        hi = min((t for t in thresholds if type(t) is int and t >= b.hi), default=info.max)
        hi = min(hi, info.max)
    if b.step > 1:
        aligned = strided(lo, hi, b.step, b.lo)
        if aligned is not None and aligned.lo <= b.lo and aligned.hi >= b.hi:
            return aligned
    return Fact(lo, hi, 0 if lo == hi else 1)


def _widen_apart(old: Fact, both: Fact, info: DtypeInfo, thresholds: Sequence[Any]) -> Fact | None:
    """Each element of a short array on its own, of a longer one each column; None where that can't be."""
    if not info.integral or type(both.lo) is not _NDARRAY or info.max > SMALL:
        return None
    if type(old.lo) is _NDARRAY and old.lo.ndim != both.lo.ndim:
        return None
    if both.lo.size > SHORT:
        if not 1 < both.lo.shape[-1] <= SHORT:
            return None
        old, both = _columns(old), _columns(both)
    ends = np.array(
        [info.min, *sorted({t for t in thresholds if type(t) is int and info.min < t < info.max}), info.max]
    )
    lower = ends[np.searchsorted(ends, both.lo, "right") - 1]
    upper = ends[np.searchsorted(ends, both.hi, "left")]
    return settle(np.where(both.lo < old.lo, lower, both.lo), np.where(both.hi > old.hi, upper, both.hi))


def _columns(fact: Fact) -> Fact:
    """The same with nothing but the columns of an array kept apart."""
    if type(fact.lo) is not _NDARRAY or fact.lo.ndim < 2:
        return fact
    rows = tuple(range(fact.lo.ndim - 1))
    return Fact(fact.lo.min(axis=rows, keepdims=True), fact.hi.max(axis=rows, keepdims=True), 1, fact.nan)


def joined(facts: Iterable[Fact]) -> Fact:
    """The join of at least one fact."""
    result: Fact | None = None
    for fact in facts:
        result = fact if result is None else join(result, fact)
    if result is None:
        raise ValueError("the join of no facts")
    return result
