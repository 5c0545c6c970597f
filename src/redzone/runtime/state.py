"""What a guarded program carries along: the number of the first check that failed, and the value that failed it."""

from __future__ import annotations

from typing import Any, NamedTuple

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

#: What stands for a value that 32 bits cannot show.
_MOST = 2**31 - 1


class State(NamedTuple):
    """Two scalars, int32: 0 while every check held, else a check's number and the value it saw."""

    code: Any
    value: Any

    def packed(self) -> Any:
        """Both in one array, so that one copy brings them to the host."""
        return jnp.stack([self.code, self.value])


def clean() -> State:
    """Nothing has failed yet."""
    return State(jnp.int32(0), jnp.int32(0))


def after(state: State, bad: Any, code: Any, value: Any) -> State:
    """The state after one more check, which failed where `bad`; the first failure stays."""
    first = jnp.logical_and(bad, state.code == 0)
    return State(jnp.where(first, jnp.int32(code), state.code), jnp.where(first, value, state.value))


def merged(state: State, codes: Any, values: Any) -> State:
    """The state after checks that were made side by side, one row each."""
    code = jnp.max(codes)
    return after(state, code != 0, code, jnp.max(jnp.where(codes == code, values, -_MOST - 1)))


def worst_outside(index: Any, limits: Any) -> tuple[Any, Any]:
    """Whether some element of an integer array is below 0 or above its limit, and one that is, by column.

    `index` has the columns last, `limits` is one Python int per column. Read as unsigned, a negative number is
    larger than any that is inside, so one maximum decides both sides.
    """
    dtype = np.dtype(index.dtype)
    if dtype == np.bool_:
        index, dtype = index.astype(jnp.uint8), np.dtype(np.uint8)
    signed = dtype.kind == "i"
    unsigned = np.dtype(f"u{dtype.itemsize}")
    most = np.iinfo(dtype).max
    ends = np.array([min(limit, most) for limit in limits], unsigned)
    view = lax.bitcast_convert_type(index, unsigned) if signed else index
    worst = jnp.max(view, axis=tuple(range(view.ndim - 1)), initial=0)
    bad = worst > ends
    return bad, shown(lax.bitcast_convert_type(worst, dtype) if signed else worst)


def shown(value: Any) -> Any:
    """A number as the 32 bits of the state hold it; one beyond them becomes the nearest they have."""
    dtype = np.dtype(value.dtype)
    if dtype.kind == "f":
        return lax.bitcast_convert_type(value.astype(jnp.float32), jnp.int32)
    if dtype.itemsize < 4:
        return value.astype(jnp.int32)
    if dtype == np.int32:
        return value
    high = jnp.asarray(_MOST, dtype)
    low = jnp.asarray(-_MOST - 1 if dtype.kind == "i" else 0, dtype)
    return jnp.clip(value, low, high).astype(jnp.int32)


def is_traced(state: Any) -> bool:
    """Whether a state belongs to a program that is still being traced."""
    return isinstance(state, jax.core.Tracer)
