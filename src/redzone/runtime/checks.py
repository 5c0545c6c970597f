"""The checks of a guarded program: what each looks at, its number in the state, and the operations that make it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from redzone.access.site import Column
from redzone.access.xla import ACCESSES
from redzone.report.model import Access, Condition
from redzone.runtime.places import Place, elements_of
from redzone.runtime.state import State, after, clean, greatest, least, outside, shown, unsigned, worst_outside


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class InPlace:
    """One column of an access's index, looked at where the access is made."""

    access: Access
    column: Column


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class OnEntry:
    """A range that part of one input must keep, looked at before anything else runs."""

    leaf: int
    name: str
    place: Place
    low: Any
    high: Any
    condition: Condition | None
    """None for what the contract promises."""
    accesses: tuple[Access, ...] = ()
    finite: bool = False

    def __str__(self) -> str:
        if self.condition is not None:
            return str(self.condition)
        if self.low is None and self.high is None:
            return f"{self.name} is finite"
        below = f"{self.low} ≤ " if self.low is not None else ""
        above = f" ≤ {self.high}" if self.high is not None else ""
        return below + self.name + above


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Promise:
    """A `redzone.assume` inside the function, held to its word."""

    eqn: Any


Check = InPlace | OnEntry | Promise


def look_at_access(operands: Sequence[Any], columns: Sequence[tuple[int, Column]], state: State) -> State:
    """The state after looking at the index an access is about to use; each column with its check's number."""
    together: dict[int, list[tuple[int, Column]]] = {}
    for number, column in columns:
        if column.also is not None or column.repeat != 1:
            state = _look_at_sum(operands, number, column, state)
        elif column.column is not None:
            together.setdefault(column.operand, []).append((number, column))
        else:
            bad, value = worst_outside(jnp.asarray(operands[column.operand]), column.limit)
            state = after(state, bad, number, value)
    for operand, members in together.items():
        view, dtype = unsigned(jnp.asarray(operands[operand]))
        if len(members) == 1:
            number, column = members[0]
            part = lax.index_in_dim(operands[operand], column.column or 0, view.ndim - 1, keepdims=False)
            bad, value = worst_outside(part, column.limit)
            state = after(state, bad, number, value)
            continue
        if len({column.limit for _, column in members}) == 1 and len(members) == view.shape[-1]:
            # One maximum over everything; which of the dimensions it was is not told.
            bad, value = worst_outside(operands[operand], members[0][1].limit)
            state = after(state, bad, members[0][0], value)
            continue
        # One maximum over all index tuples, for all columns at once.
        worst = lax.reduce(view, np.array(0, view.dtype), lax.max, range(view.ndim - 1))
        for number, column in members:
            one = lax.index_in_dim(worst, column.column or 0, keepdims=False)
            bad, value = outside(one, dtype, column.limit)
            state = after(state, bad, number, value)
    return state


def _look_at_sum(operands: Sequence[Any], number: int, column: Column, state: State) -> State:
    """The state after looking at an index that several numbers add up to."""
    parts = [jnp.asarray(operands[k]) for k in (column.operand, column.also) if k is not None]
    total = jnp.sum(parts[0]) if column.also is None else greatest(parts[0] + parts[1], 0)
    bad = lax.gt(total, np.array(column.limit, total.dtype))
    for part in parts:
        bad = lax.bitwise_or(bad, lax.lt(least(part, 0), np.array(0, part.dtype)))
    return after(state, bad, number, shown(total))


def columns_of(eqn: Any) -> tuple[Column, ...]:
    """The columns of the index of an access; none for what nobody can look at."""
    build = ACCESSES.get(eqn.primitive)
    return tuple(build(eqn, ()).columns) if build is not None else ()


def look_at_promise(eqn: Any, operands: Sequence[Any], number: int, state: State) -> State:
    """The state after holding an assumption to its word."""
    x, *condition = operands
    params = eqn.params
    bad: Any = jnp.bool_(False)
    if condition:
        bad = jnp.logical_not(jnp.all(condition[0]))
    bad = bad | _breaks(jnp.asarray(x), params["min"], params["max"], params["finite"])
    return after(state, bad, number, np.int32(0))


def look_at_input(check: OnEntry, array: Any, number: int, state: State) -> State:
    """The state after looking at an input on entry."""
    part = elements_of(jnp.asarray(array), check.place)
    dtype = np.dtype(part.dtype)
    if dtype.kind in "iu" and np.ndim(check.low) == 0 and np.ndim(check.high) == 0 and not check.finite:
        info = np.iinfo(dtype)
        low = info.min if check.low is None else max(int(check.low), info.min)
        high = info.max if check.high is None else min(int(check.high), info.max)
        if low > high:
            return after(state, np.bool_(part.size > 0), number, np.int32(0))
        if low == info.min:
            worst = greatest(part, info.min)
            return after(state, lax.gt(worst, np.array(high, dtype)), number, shown(worst))
        if high == info.max:
            worst = least(part, info.max)
            return after(state, lax.lt(worst, np.array(low, dtype)), number, shown(worst))
        # Counted from the least allowed value, what is below it is larger than all that is allowed.
        view, _ = unsigned(part)
        start = np.array(low % 2 ** (8 * dtype.itemsize), view.dtype)
        worst = greatest(lax.sub(view, lax.full_like(view, start)), 0)
        value = lax.convert_element_type(lax.add(worst, start), dtype)
        return after(state, lax.gt(worst, np.array(high - low, view.dtype)), number, shown(value))
    bad = _breaks(part, check.low, check.high, check.finite)
    return after(state, bad, number, np.int32(0))


def breaks(check: OnEntry, array: Any) -> bool:
    """Whether an input breaks a check on entry, found by the host."""
    try:
        part = elements_of(np.asarray(array), check.place)
    except RuntimeError:  # not all of it is on this host
        state = jax.jit(lambda x: look_at_input(check, x, 1, clean()))(array)
        return bool(np.asarray(state.addressable_data(0))[0])
    if not part.size:
        return False
    if part.dtype.kind in "iu" and not check.finite and np.ndim(check.low) == 0 and np.ndim(check.high) == 0:
        if part.dtype.kind == "i" and check.low == 0 and check.high is not None:
            # Read as unsigned, a negative number is larger than all that are allowed.
            return bool(part.view(f"u{part.dtype.itemsize}").max() > check.high)
        low = check.low is not None and bool(part.min() < check.low)
        return low or (check.high is not None and bool(part.max() > check.high))
    below = check.low is not None and bool((part < np.asarray(check.low)).any())
    above = check.high is not None and bool((part > np.asarray(check.high)).any())
    return below or above or (check.finite and not bool(np.isfinite(part).all()))


def _breaks(x: Any, low: Any, high: Any, finite: bool) -> Any:
    """Whether some element is beyond a bound; NaN keeps every range, as a contract does not speak of it."""
    bad: Any = jnp.bool_(False)
    if low is not None:
        bad = bad | jnp.any(_less(x, low, "below"))
    if high is not None:
        bad = bad | jnp.any(_less(x, high, "above"))
    if finite:
        bad = bad | jnp.any(~jnp.isfinite(x))
    return bad


def _less(x: Any, bound: Any, side: str) -> Any:
    """Elements beyond a bound that the dtype may not hold."""
    dtype = np.dtype(x.dtype)
    if dtype.kind == "b":
        x, dtype = x.astype(jnp.uint8), np.dtype(np.uint8)
    bound = np.asarray(bound)
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        if bound.dtype.kind == "f":
            bound = (np.ceil(bound) if side == "below" else np.floor(bound)).clip(-(2.0**62), 2.0**62).astype(np.int64)
        none = bound > info.max if side == "below" else bound < info.min
        held = np.clip(bound, info.min, info.max).astype(dtype)
        return (x < held) | none if side == "below" else (x > held) | none
    held = bound.astype(dtype)
    return x < held if side == "below" else x > held
