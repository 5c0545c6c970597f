"""A need: bounds that a value must keep."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, summarised
from redzone.domains.fact import NORMAL, every, least, most
from redzone.domains.symbolic import at_most, is_symbolic
from redzone.engine.program import Step

_ndarray: Final = np.ndarray

#: Stands for "no bound" in both directions.
FAR: Final = 2**62
#: A need keeps at most this many elements of an input apart.
APART: Final = 4096


#: The ends of the integer types, but for 0, which many numbers have.
_LEAST: Final = frozenset(-(2 ** (bits - 1)) for bits in (8, 16, 32, 64))
_MOST: Final = frozenset(2**bits - 1 for bits in (7, 8, 15, 16, 31, 32, 63, 64))


class Lost(Exception):
    """The need cannot be pushed through a step; `step` is the equation that lost it."""

    def __init__(self, step: Step | None, why: str = "") -> None:
        super().__init__(why)
        self.step = step


class Need:
    """Bounds a value must keep: numbers, or arrays broadcastable to the value."""

    __slots__ = ("hi", "lo", "loose")

    def __init__(self, lo: Any, hi: Any, loose: bool = False) -> None:
        self.lo = lo
        self.hi = hi
        self.loose = loose
        """Whether the program itself limits the value before it is used: then what it is made from by a small step need
        not leave room for that step."""

    def __repr__(self) -> str:
        return f"Need({self.lo}, {self.hi}{', loose' if self.loose else ''})"

    def met_by(self, fact: Fact) -> bool:
        low, high, lo, hi = fact.lo, fact.hi, self.lo, self.hi
        if type(low) is int and type(high) is int and type(lo) is int and type(hi) is int:
            return lo <= low and high <= hi
        if not (type(low) is _ndarray or type(high) is _ndarray or type(lo) is _ndarray or type(hi) is _ndarray):
            return bool(at_most(lo, low)) and bool(at_most(high, hi))
        if is_symbolic(low) or is_symbolic(high) or is_symbolic(lo) or is_symbolic(hi):
            # An array of numbers beside an expression of sizes: each is held against the farthest of the other.
            need, whole = self.uniform(), summarised(fact)
            return bool(at_most(need.lo, whole.lo)) and bool(at_most(whole.hi, need.hi))
        return _holds(low >= lo) and _holds(high <= hi)

    def unmet_by(self, fact: Fact) -> Need | None:
        """What of it a fact does not already say; None where that says it all."""
        if self.met_by(fact):
            return None
        if is_apart(self.lo) or is_apart(self.hi) or fact.kept:
            return self
        low, high = fact.lo, fact.hi
        if type(low) is not int or type(high) is not int or type(self.lo) is not int or type(self.hi) is not int:
            return self
        # What ends where its integer type does may be about to wrap: it has to be kept from that.
        above = low >= self.lo and low not in _LEAST
        below = high <= self.hi and high not in _MOST
        return Need(-FAR if above else self.lo, FAR if below else self.hi, self.loose)

    def uniform(self) -> Need:
        """The strongest of these needs, for every element."""
        if type(self.lo) is np.ndarray or type(self.hi) is np.ndarray:
            lo = most(self.lo) if type(self.lo) is _ndarray else self.lo
            hi = least(self.hi) if type(self.hi) is _ndarray else self.hi
            return Need(lo, hi, self.loose)
        return self

    def of_rows(self) -> Need:
        """The strongest of these needs along the first dimension, for each of its rows."""
        ranks = {bound.ndim for bound in (self.lo, self.hi) if is_apart(bound)}
        if len(ranks) != 1 or ranks == {1}:
            return self.uniform()
        lo = self.lo.max(axis=0) if is_apart(self.lo) else self.lo
        hi = self.hi.min(axis=0) if is_apart(self.hi) else self.hi
        return Need(lo, hi, self.loose)

    def shape(self) -> tuple[int, ...]:
        """The dimensions along which it may differ between elements."""
        low: tuple[int, ...] = self.lo.shape if is_apart(self.lo) else ()
        high: tuple[int, ...] = self.hi.shape if is_apart(self.hi) else ()
        return high if low == high or not low else low if not high else np.broadcast_shapes(low, high)

    def plain(self) -> Need:
        """The same, told by one pair of numbers where every element is asked for the same."""
        if not (is_apart(self.lo) or is_apart(self.hi)) or is_symbolic(self.lo) or is_symbolic(self.hi):
            return self
        return self.uniform() if _is_one_for_all(self.lo) and _is_one_for_all(self.hi) else self

    def both(self, other: Need) -> Need:
        a, b = _alike(self, other)
        return Need(larger(a.lo, b.lo), smaller(a.hi, b.hi), self.loose and other.loose)

    def same(self, other: Need) -> bool:
        """Whether another asks for the same."""
        return self.loose == other.loose and _is_same(self.lo, other.lo) and _is_same(self.hi, other.hi)

    def is_like(self, other: Need) -> bool:
        """Whether both can be asked for at once without asking more of any element."""
        bounds = (self.lo, self.hi, other.lo, other.hi)
        return not any(is_symbolic(x) for x in bounds) and len({x.ndim for x in bounds if is_apart(x)}) < 2

    def either(self, other: Need) -> Need:
        a, b = _alike(self, other)
        return Need(smaller(a.lo, b.lo), larger(a.hi, b.hi))

    def held_by(self, aval: Any) -> Need:
        """The same in numbers that a type of floats holds."""
        dtype = getattr(aval, "dtype", None)
        if dtype_info(dtype).kind != "f":
            return self
        return Need(_inward(self.lo, math.inf, dtype), _inward(self.hi, -math.inf, dtype), self.loose)

    def empty(self) -> bool:
        if not (is_apart(self.lo) or is_apart(self.hi)):
            return at_most(self.lo, self.hi) is False
        return bool(np.any(np.asarray(self.lo) > np.asarray(self.hi)))


def _inward(bound: Any, toward: float, dtype: Any) -> Any:
    """The first number from a bound on, this way, that a type of floats holds."""
    if is_symbolic(bound) or is_far(bound):
        return bound
    if is_apart(bound):
        return np.array([_inward(x, toward, dtype) for x in bound.ravel().tolist()], np.float64).reshape(bound.shape)
    held = float(beside(bound, None, dtype))
    beyond = held < bound if toward > 0 else held > bound
    return float(beside(held, toward, dtype)) if beyond else held


def is_apart(bound: Any) -> bool:
    """Whether a bound differs between elements."""
    return type(bound) is _ndarray and bound.ndim > 0


def _holds(compared: Any) -> bool:
    """Whether a comparison of bounds came out true, for all elements where it was one of arrays."""
    return every(compared) if type(compared) is _ndarray else bool(compared)


def _is_one_for_all(bound: Any) -> bool:
    """Whether a bound is the same number for all elements, of which there are some."""
    if type(bound) is not _ndarray:
        return True
    if bound.size == 0:
        return False
    # Most that differ do so between their ends, which is seen without looking at all of them.
    first = bound.item(0)
    return bool(bound.item(-1) == first) and every(bound == first)


def _is_same(a: Any, b: Any) -> bool:
    """Whether two bounds are equal, and told in the same way."""
    if a is b:
        return True
    if type(a) is _ndarray and type(b) is _ndarray:
        return bool(a.shape == b.shape) and bool(a.tobytes() == b.tobytes())
    return type(a) is not _ndarray and type(b) is not _ndarray and bool(a == b)


def _alike(a: Need, b: Need) -> tuple[Need, Need]:
    bounds = (a.lo, a.hi, b.lo, b.hi)
    ranks = {x.ndim for x in bounds if is_apart(x)}
    mixed = len(ranks) > 1 or (ranks and any(is_symbolic(x) for x in bounds))
    return (a.uniform(), b.uniform()) if mixed else (a, b)


def larger(a: Any, b: Any) -> Any:
    """The larger of two bounds, element by element where either differs between them."""
    return np.maximum(a, b) if is_apart(a) or is_apart(b) else (b if at_most(a, b) else a)


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two bounds, element by element where either differs between them."""
    return np.minimum(a, b) if is_apart(a) or is_apart(b) else (a if at_most(a, b) else b)


def hashable(bound: Any) -> Any:
    return (bound.shape, bound.tobytes()) if type(bound) is np.ndarray else bound


def is_far(bound: Any) -> bool:
    """Whether a bound stands for none."""
    return isinstance(bound, (int, float)) and abs(bound) >= FAR


def beside(number: Any, toward: float | None, dtype: Any) -> Any:
    """A number as a type of floats holds it, or the next one; none that may be taken for zero."""
    with np.errstate(over="ignore"):  # more than a narrow float holds is infinite
        held = np.asarray(number).astype(dtype)[()]
        found = held if toward is None else np.nextafter(held, np.asarray(toward).astype(dtype))
    if toward is None:
        return held
    if found != 0 and abs(found) < NORMAL:
        up = toward > number
        return np.asarray((NORMAL if up else -NORMAL) if (found > 0) == up else 0.0).astype(dtype)
    return found
