"""Plainer inputs than one that was found: whole numbers near zero in place of those that were drawn or are far away."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info
from redzone.frontend.trace import Input
from redzone.prove.plain import is_free, plain_value

#: Numbers up to this are near.
NEAR: Final = 1000
#: Plain fractions are so many parts of one.
EIGHTHS: Final = 8
#: How many inputs are made plain one by one.
ALONE: Final = 3
#: How far from zero numbers are tried, nearest first.
REACHES: Final = (1, 9, 99, NEAR)


def is_plain(inputs: Sequence[Input], arguments: Sequence[Any]) -> bool:
    """Whether there is nothing to make plainer in any input."""
    return not any(_is_odd(source, value) for source, value in zip(inputs, arguments, strict=True))


def plainer(inputs: Sequence[Input], facts: Sequence[Fact], arguments: Sequence[Any]) -> Iterator[dict[int, Any]]:
    """What may show the same, plainest first: nothing where an input is plain already."""
    odd = [i for i, source in enumerate(inputs) if _is_odd(source, arguments[i])]
    if not odd:
        return
    others = {
        i: value
        for i, value in enumerate(arguments)
        if i not in odd and isinstance(value, np.ndarray) and not np.array_equal(value, _plain(inputs, facts, i, 0))
    }
    for i in odd[:ALONE]:
        for number in (1, -1):
            yield {**others, i: _plain(inputs, facts, i, number)}
    for reach in REACHES:
        yield {**others, **{i: _rounded(arguments[i], reach) for i in odd}}


def _plain(inputs: Sequence[Input], facts: Sequence[Fact], i: int, number: int) -> Any:
    return plain_value(inputs[i], facts[i], number)


def _is_odd(source: Input, value: Any) -> bool:
    """Whether an input holds numbers that nobody would write: drawn ones, or some far away that no promise ends at."""
    kind = dtype_info(getattr(source.aval, "dtype", None)).kind
    if not isinstance(value, np.ndarray) or kind not in "fiu" or not value.size:
        return False
    wide = value.astype(np.float64)
    if not np.isfinite(wide).all():
        return False
    far = bool((np.abs(wide) > NEAR).any()) and is_free(source)
    return far or (kind == "f" and bool((wide * EIGHTHS != np.rint(wide * EIGHTHS)).any()))


def _rounded(value: Any, reach: int) -> Any:
    """Whole numbers no further than this from zero, and beside what they were."""
    return np.asarray(np.clip(np.rint(value.astype(np.float64)), -reach, reach)).astype(value.dtype)
