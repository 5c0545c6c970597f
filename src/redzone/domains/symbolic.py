"""Comparisons of bounds that may be symbolic dimensions.

jax.export's dimension expressions decide comparisons themselves and raise where they can't. Sizes
are assumed to fit the integers JAX computes them with: an expression that is at most some dimension
of the program is at most 2^31 - 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

LARGEST = 2**31 - 1

_sizes: list[Any] = []


@contextmanager
def sizes(found: list[Any]) -> Iterator[None]:
    """The symbolic sizes of the program being checked."""
    saved = _sizes[:]
    _sizes[:] = found
    try:
        yield
    finally:
        _sizes[:] = saved


def is_inconclusive(error: Exception) -> bool:
    """Whether an error is jax.export's word for a comparison that holds for some sizes only."""
    return type(error).__name__ == "InconclusiveDimensionOperation"


def _plainly(a: Any, b: Any) -> bool | None:
    try:
        return bool(a <= b)
    except Exception as error:
        if is_inconclusive(error):
            return None
        raise


def at_most(a: Any, b: Any) -> bool | None:
    """Whether a ≤ b for every size; None where that depends on the sizes."""
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
    """The smaller of two bounds; raises JAX's own error where that depends on the sizes."""
    if at_most(a, b):
        return a
    return b if at_most(b, a) else (a if a <= b else b)


def larger(a: Any, b: Any) -> Any:
    """The larger of two bounds; raises JAX's own error where that depends on the sizes."""
    if at_most(a, b):
        return b
    return a if at_most(b, a) else (a if a >= b else b)
