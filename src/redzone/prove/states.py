"""States that keep what a program asks of them, at the ends of what they may be.

An access that other conditions on the state do not keep inside is tried with such states: one that leaves its
array on a state that is fine everywhere else is a mistake of the program, not of the state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info
from redzone.domains.symbolic import is_symbolic
from redzone.frontend.trace import Input
from redzone.prove.need import FAR, Need
from redzone.prove.plain import plain_value

#: How many states are tried.
STATES: Final = 10


def is_flag(need: Need) -> bool:
    """Whether all that is asked of an input is that it, or some of its elements, have one of two values."""
    if is_symbolic(need.lo) or is_symbolic(need.hi):
        return False
    low, top = np.broadcast_arrays(need.lo, need.hi)
    bound = (low > -FAR) | (top < FAR)
    return bool((top[bound] - low[bound] <= 1).all())


def states(
    inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need], end: int
) -> Iterator[dict[int, Any]]:
    """States in which every two columns are once at opposite ends; where there is no end, it is the one given.

    Numbers of their own that nothing is asked of are 1.

    Columns are numbered; the k-th digits of their numbers say which are high in one state and low in the next.
    """
    calm = {
        i: plain_value(source, facts[i], 1)
        for i, source in enumerate(inputs)
        if i not in needs and source.aval.shape == () and dtype_info(source.aval.dtype).kind in "iu"
    }
    first: dict[int, Any] = {}
    columns: Any = 0
    for leaf in needs:
        first[leaf] = columns
        shape = inputs[leaf].aval.shape
        columns += shape[-1] if shape else 1
    for digit in range(max(columns - 1, 1).bit_length()):
        for turned in (0, 1):
            yield calm | {
                leaf: _at_ends(inputs[leaf], facts[leaf], need, (first[leaf], digit, turned), end)
                for leaf, need in needs.items()
            }


def _at_ends(source: Input, fact: Fact, need: Need, which: tuple[int, int, int], end: int) -> Any:
    """An array that is at the high end of its condition in some columns and at the low end in the others."""
    shape, (first, digit, turned) = source.aval.shape, which
    numbers = first + np.arange(shape[-1] if shape else 1)
    high = np.broadcast_to(((numbers >> digit & 1) ^ turned).astype(bool).reshape((-1,) if shape else ()), shape)
    low, top = (np.broadcast_to(x, shape) for x in (need.lo, need.hi))
    # An end that is none, or negative where 0 is allowed too, is no plain number.
    low = np.where(low <= 0, np.minimum(0, top), low)
    top = np.where(top >= FAR, np.maximum(low, end), top)
    return np.asarray(np.clip(np.where(high, top, low), fact.lo, fact.hi), source.aval.dtype)
