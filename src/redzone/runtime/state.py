"""What a guarded program carries along: the number of the first check that failed, and the value that failed it.

One array of two int32, zeros while every check held: one copy brings it to the host, and a loop carries one thing
more. The operations are lax's own, each a single equation: a check is traced and compiled with every program.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jax import lax

State = Any
"""int32[2]: a check's number and the value it saw."""

_LEAST, _MOST = -(2**31), 2**31 - 1


def clean() -> State:
    """Nothing has failed yet."""
    return lax.full((2,), 0, np.int32)


def after(state: State, bad: Any, code: Any, value: Any) -> State:
    """The state after one more check, which failed where `bad`; the first failure stays."""
    still_clean = lax.eq(lax.index_in_dim(state, 0, keepdims=False), np.int32(0))
    found = lax.concatenate([lax.reshape(lax.convert_element_type(x, np.int32), (1,)) for x in (code, value)], 0)
    first = lax.bitwise_and(bad, still_clean)
    return lax.select(lax.broadcast(first, (2,)), found, state)


def first_of(state: State, other: State) -> State:
    """The first of two states that is not clean."""
    failed = lax.ne(lax.index_in_dim(state, 0, keepdims=False), np.int32(0))
    return lax.select(lax.broadcast(failed, (2,)), state, other)


def merged(state: State, codes: Any, values: Any) -> State:
    """The state after checks that were made side by side, one element each."""
    code = greatest(codes, _LEAST)
    seen = lax.select(lax.eq(codes, lax.broadcast(code, codes.shape)), values, lax.full_like(values, _LEAST))
    return after(state, lax.ne(code, np.int32(0)), code, greatest(seen, _LEAST))


def greatest(x: Any, otherwise: Any) -> Any:
    """The greatest element; `otherwise` where there is none."""
    return x if not x.shape else lax.reduce(x, np.array(otherwise, x.dtype), lax.max, range(x.ndim))


def least(x: Any, otherwise: Any) -> Any:
    """The least element; `otherwise` where there is none."""
    return x if not x.shape else lax.reduce(x, np.array(otherwise, x.dtype), lax.min, range(x.ndim))


def unsigned(x: Any) -> tuple[Any, np.dtype[Any]]:
    """An integer array read as unsigned, which makes negative numbers larger than all others, and its own dtype."""
    dtype = np.dtype(x.dtype)
    if dtype == np.bool_:
        return lax.convert_element_type(x, np.uint8), np.dtype(np.uint8)
    if dtype.kind == "u":
        return x, dtype
    return lax.bitcast_convert_type(x, np.dtype(f"u{dtype.itemsize}")), dtype


def worst_outside(index: Any, limit: int) -> tuple[Any, Any]:
    """Whether some element of an integer array is below 0 or above a limit, and one that is."""
    view, dtype = unsigned(index)
    return outside(greatest(view, 0), dtype, limit)


def outside(worst: Any, dtype: np.dtype[Any], limit: int) -> tuple[Any, Any]:
    """Whether a number of some dtype, read as unsigned, is below 0 or above a limit, and what it shows as."""
    bad = lax.gt(worst, np.array(min(limit, np.iinfo(dtype).max), worst.dtype))
    return bad, shown(worst if dtype == worst.dtype else lax.bitcast_convert_type(worst, dtype))


def shown(value: Any) -> Any:
    """A number as the 32 bits of the state hold it; one beyond them becomes the nearest they have."""
    dtype = np.dtype(value.dtype)
    if dtype.itemsize < 4 or dtype == np.int32:
        return lax.convert_element_type(value, np.int32)
    low, high = (_LEAST if dtype.kind == "i" else 0), _MOST
    return lax.convert_element_type(lax.clamp(np.array(low, dtype), value, np.array(high, dtype)), np.int32)
