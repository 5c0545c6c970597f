"""What a binary search must be asked for to end within bounds: numbers before some elements, and behind others.

It ends at most at m where the query is before element m and all after it, and at least at k where it is behind the
first k: `jnp.searchsorted(edges, x)` among bounds that are known says of x between which of them it must lie.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from redzone.domains import Fact, dtype_info
from redzone.engine.search import Placed
from redzone.prove.need import FAR, Need, beside


def asked_of_query(placed: Placed, array: Fact, need: Need, dtype: Any) -> Need | None:
    """The bounds of what is looked for under which the search ends where it must; None where none are known."""
    least, most = need.uniform().lo, need.uniform().hi
    bounds = (array.lo, array.hi)
    if type(least) is not int or type(most) is not int or any(type(b) not in (int, float, np.ndarray) for b in bounds):
        return None
    if least > placed.size or most < 0:
        return None
    lo, hi = (np.broadcast_to(np.asarray(b), (placed.size,)) for b in bounds)
    low: Any = -FAR
    high: Any = FAR
    if most < placed.size:
        # Equal elements are gone behind by a search from the right, and are where one from the left ends.
        high = _number(lo[most:].min().item(), -1 if placed.right else 0, dtype)
    if least > 0:
        low = _number(hi[:least].max().item(), 0 if placed.right else 1, dtype)
    return None if high is None or low is None else Need(low, high, need.loose)


def _number(bound: Any, beyond: int, dtype: Any) -> Any:
    """A bound of the elements, or the next number to one side of it; None where it says nothing."""
    if dtype_info(dtype).kind == "f":
        if not math.isfinite(bound):
            return None
        return float(beside(bound, beyond * math.inf if beyond else None, dtype))
    return int(bound) + beyond if abs(bound) < FAR else None
