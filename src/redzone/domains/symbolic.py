"""Comparisons of bounds that may be symbolic dimensions.

jax.export's dimension expressions decide comparisons themselves and raise where they can't. Sizes
are assumed to fit the integers JAX computes them with: an expression that is at most some dimension
of the program is at most 2^31 - 1.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

LARGEST: Final = 2**31 - 1
#: A number beyond this is the end of an integer type, not a bound of the program's.
NEAR: Final = 2**30
#: Bounds of any expression of sizes that JAX's integers hold, nearest first; the last hold of every value.
_FLOORS: Final = (0, -1, -LARGEST - 1, -(2**63))
_CEILINGS: Final = (LARGEST, 2**32 - 1, 2**63 - 1, 2**64 - 1)
_NESTED: Final = re.compile(r"\b(max|min)\(")
_QUOTIENT: Final = re.compile(r"\b(floordiv|mod)\(")
#: Quotients in one bound; the time JAX takes to compare expressions grows exponentially with them.
_QUOTIENTS: Final = 3

_sizes: Final[list[Any]] = []
_decided: Final[dict[tuple[int, str, str], bool | None]] = {}
"""What JAX said of comparisons in the program being checked: it takes long, and a loop asks the same again."""


@contextmanager
def sizes(found: list[Any]) -> Iterator[None]:
    """The symbolic sizes of the program being checked."""
    saved = _sizes[:]
    _sizes[:] = found
    try:
        yield
    finally:
        _sizes[:] = saved
        _decided.clear()


def is_inconclusive(error: Exception) -> bool:
    """Whether an error is jax.export's word for a comparison that holds for some sizes only."""
    return type(error).__name__ == "InconclusiveDimensionOperation"


#: What numbers and arrays of them are; a union written where it is asked for is made anew each time.
_NUMBERS: Final = (int, float, np.ndarray, np.generic)
_NDARRAY: Final = np.ndarray


def is_symbolic(bound: Any) -> bool:
    """Whether a bound is an expression of sizes, not a number or an array of numbers."""
    kind = type(bound)
    return kind is not int and kind is not _NDARRAY and not isinstance(bound, _NUMBERS)


def _plainly(a: Any, b: Any) -> bool | None:
    scope = getattr(a, "scope", None) or getattr(b, "scope", None)
    if scope is None or not _sizes:
        return _compared(a, b)
    # The constraints are the scope's, and two programs have two.
    key = (id(scope), str(a), str(b))
    if key not in _decided:
        _decided[key] = _compared(a, b)
    return _decided[key]


def _compared(a: Any, b: Any) -> bool | None:
    try:
        return bool(a <= b)
    except Exception as error:
        if is_inconclusive(error):
            return None
        raise


def at_most(a: Any, b: Any) -> bool | None:
    """Whether a ≤ b for every size; None where that depends on the sizes."""
    if type(a) is int and type(b) is int:
        return a <= b
    decided = _plainly(a, b)
    if decided is not None:
        return decided
    if type(b) is int and b >= LARGEST:
        return True if any(_plainly(a, size) for size in _sizes) else None
    if type(a) is int and a <= -LARGEST - 1:
        return True if any(_plainly(-b, size) for size in _sizes) else None
    if type(a) is int and a >= LARGEST:
        # b is below some size, so below a unless it is that very number.
        return False if any(_plainly(b, size - 1) for size in _sizes) else None
    if type(b) is int and b <= -LARGEST - 1:
        return False if any(_plainly(1 - a, size) for size in _sizes) else None
    return None


def fits(lo: Any, hi: Any, low: Any, high: Any) -> bool:
    """Whether [lo, hi] lies inside [low, high] for every size."""
    return bool(at_most(low, lo)) and bool(at_most(hi, high))


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two bounds; where that depends on the sizes `min(…)`, or a number below both."""
    if type(a) is int and type(b) is int:
        return a if a <= b else b
    if at_most(a, b):
        return a
    if at_most(b, a):
        return b
    if _is_plain(a) and _is_plain(b):
        return b.rmin(a) if type(a) is int else a.min(b)
    return next(k for k in _FLOORS if k == _FLOORS[-1] or (at_most(k, a) and at_most(k, b)))


def larger(a: Any, b: Any) -> Any:
    """The larger of two bounds; where that depends on the sizes `max(…)`, or a number above both."""
    if type(a) is int and type(b) is int:
        return b if a <= b else a
    if at_most(a, b):
        return b
    if at_most(b, a):
        return a
    if _is_plain(a) and _is_plain(b):
        return b.rmax(a) if type(a) is int else a.max(b)
    return next(k for k in _CEILINGS if k == _CEILINGS[-1] or (at_most(a, k) and at_most(b, k)))


def lowest(a: Any, b: Any) -> Any:
    """A bound from above where both of these are: the smaller, or `min(…)`, or else the one of sizes."""
    if at_most(a, b):
        return a
    if at_most(b, a):
        return b
    return smaller(a, b) if _may_be_joined(a, b) else b if type(a) is int else a


def highest(a: Any, b: Any) -> Any:
    """A bound from below where both of these are: the larger, or `max(…)`, or else the one of sizes."""
    if at_most(a, b):
        return b
    if at_most(b, a):
        return a
    return larger(a, b) if _may_be_joined(a, b) else b if type(a) is int else a


def _may_be_joined(a: Any, b: Any) -> bool:
    return type(a) is not float and type(b) is not float and _is_plain(a) and _is_plain(b)


def is_deep(bound: Any) -> bool:
    """Whether a bound has so many quotients of sizes in it that one more would take JAX too long to compare."""
    return is_symbolic(bound) and _quotients(bound) >= _QUOTIENTS


def _quotients(bound: Any) -> int:
    return len(_QUOTIENT.findall(str(bound)))


def _is_plain(bound: Any) -> bool:
    """Whether JAX compares a maximum of this bound in reasonable time: no other is within, and few quotients."""
    return abs(bound) < NEAR if type(bound) is int else not (_NESTED.search(str(bound)) or _quotients(bound) > 1)
