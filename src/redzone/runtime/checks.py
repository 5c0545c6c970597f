"""The checks of a guarded program: what each looks at, its number in the state, and the operations that make it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
from jax import numpy as jnp

from redzone.access.site import Column
from redzone.access.xla import ACCESSES
from redzone.report.model import Access, Condition
from redzone.runtime.places import Place, elements_of
from redzone.runtime.state import State, after, shown, worst_outside


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


def look_at_access(eqn: Any, operands: Sequence[Any], columns: Sequence[tuple[int, Column]], state: State) -> State:
    """The state after looking at the index an access is about to use; each column with its check's number."""
    apart = [(number, c) for number, c in columns if c.also is not None or c.repeat != 1]
    plain = [(number, c) for number, c in columns if c.also is None and c.repeat == 1]
    groups: dict[tuple[int, bool], list[tuple[int, Column]]] = {}
    for number, column in plain:
        groups.setdefault((column.operand, column.column is None), []).append((number, column))
    for (operand, whole), members in groups.items():
        index = jnp.asarray(operands[operand])
        if whole:
            bad, worst = worst_outside(index[..., None], [min(c.limit for _, c in members)])
            state = after(state, bad[0], members[0][0], worst[0])
            continue
        limits = [np.iinfo(np.int64).max] * index.shape[-1]
        for _, column in members:
            limits[column.column or 0] = column.limit
        bad, worst = worst_outside(index, limits)
        for number, column in members:
            state = after(state, bad[column.column], number, worst[column.column])
    for number, column in apart:
        index = jnp.asarray(operands[column.operand])
        total = jnp.sum(index) if column.repeat != 1 else index + operands[column.also]  # type: ignore[index]
        low = jnp.min(index, initial=0) < 0
        if column.also is not None:
            low = low | (jnp.min(jnp.asarray(operands[column.also]), initial=0) < 0)
        most = jnp.max(total, initial=0) if total.ndim else total
        state = after(state, low | (most > column.limit), number, shown(most))
    return state


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
    return after(state, bad, number, jnp.int32(0))


def look_at_input(check: OnEntry, array: Any, number: int, state: State) -> State:
    """The state after looking at an input on entry."""
    part = elements_of(jnp.asarray(array), check.place)
    dtype = np.dtype(part.dtype)
    if dtype.kind in "iu" and np.ndim(check.low) == 0 and np.ndim(check.high) == 0 and not check.finite:
        info = np.iinfo(dtype)
        low = info.min if check.low is None else max(int(check.low), info.min)
        high = info.max if check.high is None else min(int(check.high), info.max)
        if low > high:
            return after(state, jnp.bool_(part.size > 0), number, jnp.int32(0))
        if low == info.min:
            worst = jnp.max(part, initial=info.min)
            return after(state, worst > high, number, shown(worst))
        if high == info.max:
            worst = jnp.min(part, initial=info.max)
            return after(state, worst < low, number, shown(worst))
        # Counted from the least allowed value, what is below it is larger than all that is allowed.
        unsigned = np.dtype(f"u{dtype.itemsize}")
        offset = part.astype(unsigned) - np.array(low % 2 ** (8 * dtype.itemsize), unsigned)
        worst = jnp.max(offset, initial=0)
        value = (worst + np.array(low % 2 ** (8 * dtype.itemsize), unsigned)).astype(dtype)
        return after(state, worst > np.array(high - low, unsigned), number, shown(value))
    bad = _breaks(part, check.low, check.high, check.finite)
    return after(state, bad, number, jnp.int32(0))


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
