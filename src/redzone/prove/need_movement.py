"""Needs through rearrangements: the need moves with the elements."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.access.site import column_of
from redzone.access.xla import ACCESSES, scatter_window
from redzone.domains import Fact, dtype_info, summarised
from redzone.domains.symbolic import is_symbolic
from redzone.engine.program import Step
from redzone.prove.need import APART, FAR, Lost, Need, is_apart
from redzone.prove.need_arithmetic import shifted
from redzone.rules.indexing import fill_of, updates_of


def _pieces(need: Need, shape: Any) -> Need:
    """The need with bounds of the value's rank where they differ between elements."""
    if not is_apart(need.lo) and not is_apart(need.hi):
        return need
    lo, hi = _of_rank(need.lo, len(shape)), _of_rank(need.hi, len(shape))
    if lo.shape != hi.shape:
        lo, hi = np.broadcast_arrays(lo, hi)
    return Need(lo, hi)


def _of_rank(bound: Any, rank: int) -> np.ndarray:
    """A bound as an array of so many dimensions."""
    if not is_apart(bound):
        return np.full((1,) * rank, bound)
    array: np.ndarray = bound
    return array if array.ndim == rank else array.reshape((1,) * (rank - array.ndim) + array.shape)


def _is_symbolic(need: Need) -> bool:
    """Whether it is bounds in sizes without a number, which no array of numbers can hold."""
    return is_symbolic(need.lo) or is_symbolic(need.hi)


def _broadcast(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    dims = step.eqn.params["broadcast_dimensions"]
    shape = step.eqn.invars[0].aval.shape
    need = _pieces(need, step.eqn.params["shape"])
    if not is_apart(need.lo):
        return [(0, need)]
    new = tuple(d for d in range(need.lo.ndim) if d not in dims)
    spread = tuple(k for k, d in enumerate(dims) if shape[k] == 1)

    def collapse(x: np.ndarray, strongest: Any) -> Any:
        x = strongest(x, axis=new) if new else x
        x = strongest(x, axis=spread, keepdims=True) if spread else x
        return x if np.ndim(x) else x.item()

    return [(0, Need(collapse(need.lo, np.max), collapse(need.hi, np.min)))]


def _reshape(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    old, new = step.eqn.invars[0].aval.shape, step.eqn.outvars[0].aval.shape
    need = _pieces(need, new)
    if not is_apart(need.lo):
        return [(0, need)]
    try:
        size = int(np.prod(new))
        if size > APART:
            return [(0, need.uniform())]
        lo, hi = (np.broadcast_to(x, new).reshape(old) for x in (need.lo, need.hi))
        return [(0, Need(lo, hi))]
    except (TypeError, ValueError):
        return [(0, need.uniform())]


def _squeeze(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    if not is_apart(need.lo):
        return [(0, need)]
    axes = tuple(step.eqn.params["dimensions"])
    rank = need.lo.ndim + len(axes)
    shape = list(need.lo.shape)
    for axis in sorted([axis % rank for axis in axes]):
        shape.insert(axis, 1)
    return [(0, Need(need.lo.reshape(shape), need.hi.reshape(shape)))]


def _transpose(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    if not is_apart(need.lo):
        return [(0, need)]
    back = np.argsort(step.eqn.params["permutation"])
    return [(0, Need(need.lo.transpose(back), need.hi.transpose(back)))]


def _rev(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    if not is_apart(need.lo):
        return [(0, need)]
    axes = step.eqn.params["dimensions"]
    return [(0, Need(np.flip(need.lo, axes), np.flip(need.hi, axes)))]


def _slice(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    """Only the part that is taken must meet the need."""
    p, shape = step.eqn.params, step.eqn.invars[0].aval.shape
    strides = p["strides"] or (1,) * len(shape)
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    starts, limits, known = p["start_indices"], p["limit_indices"], need.lo.shape if is_apart(need.lo) else None
    full: list[Any] = []
    cut: list[slice] = []
    for d, n in enumerate(shape):
        whole = (starts[d], limits[d], strides[d]) == (0, n, 1)
        full.append(n if not whole else 1 if known is None else known[d])
        cut.append(slice(None) if whole else slice(starts[d], limits[d], strides[d]))
    if any(type(n) is not int for n in full) or math.prod(full) > APART or _is_symbolic(need):
        return [(0, need.uniform())]
    lo, hi, window = np.full(full, -FAR), np.full(full, FAR), tuple(cut)
    lo[window], hi[window] = need.lo, need.hi
    return [(0, Need(lo, hi))]


def _stack(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    """Each operand is one position along a dimension of its own."""
    axis, count = step.eqn.params["axis"], len(step.eqn.invars)
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    if not is_apart(need.lo):
        return [(position, need) for position in range(count)]
    parts = []
    for position in range(count):
        row = position if need.lo.shape[axis] > 1 else 0
        lo, hi = np.take(need.lo, row, axis), np.take(need.hi, row, axis)
        parts.append((position, Need(lo, hi) if np.ndim(lo) else Need(lo.item(), hi.item())))
    return parts


def _concatenate(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    axis, parts = step.eqn.params["dimension"], []
    start: Any = 0
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    for position, v in enumerate(step.eqn.invars):
        size = v.aval.shape[axis]
        if np.ndim(need.lo) == 0 or need.lo.shape[axis] == 1:
            parts.append((position, need))
        else:
            window = [slice(None)] * need.lo.ndim
            window[axis] = slice(start, start + size)
            parts.append((position, Need(need.lo[tuple(window)], need.hi[tuple(window)])))
        start += size
    return parts


def _pad(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return [(0, need.uniform()), (1, need.uniform())]


def _content(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    """A value read from a table: everything that can be read must do, column by column where rows are read whole."""
    eqn = step.eqn
    shape, across = eqn.invars[0].aval.shape, _across(eqn)
    need = _pieces(need, eqn.outvars[0].aval.shape)
    wanted = _carried_over(need, {w: d for d, w in across.items()}, len(shape)) if across else need.uniform()
    at, places = None if _is_symbolic(wanted) else _window(step, facts), _where_nothing_is_filled_in(step, need)
    if at is None:
        return [(0, wanted), *places]
    lo, hi = np.full(shape, -FAR), np.full(shape, FAR)
    lo[at], hi[at] = wanted.lo, wanted.hi
    return [(0, Need(lo, hi)), *places]


def _where_nothing_is_filled_in(step: Step, need: Need) -> list[tuple[int, Need]]:
    """What the places that are read must keep, where what JAX puts in for those outside the table would not do.

    What the program itself says is put in is its own to mend.
    """
    build = ACCESSES.get(step.eqn.primitive)
    info, value = dtype_info(step.eqn.outvars[0].aval.dtype), step.eqn.params.get("fill_value")
    own = value is None or value == (info.max if info.kind == "u" else info.min)
    site = build(step.eqn, ()) if build is not None and own else None
    if site is None or site.mode != "fill" or not all(type(c.limit) is int and c.operand == 1 for c in site.columns):
        return []
    if need.met_by(fill_of(step.eqn)):
        return []
    limits = [c.limit for c in sorted(site.columns, key=lambda c: c.column or 0)]
    if len(limits) != step.eqn.invars[1].aval.shape[-1]:
        return []
    if len(set(limits)) == 1:
        return [(1, Need(0, limits[0]))]
    shape = (1,) * (len(step.eqn.invars[1].aval.shape) - 1) + (len(limits),)
    return [(1, Need(np.zeros(shape, np.int64), np.array(limits, np.int64).reshape(shape)))]


def _window(step: Step, facts: list[Fact]) -> tuple[slice, ...] | None:
    """The part of its operand that an access touches, where it is smaller than the whole and worth telling apart."""
    build = ACCESSES.get(step.eqn.primitive)
    if build is None:
        return None
    site = build(step.eqn, ())
    shape = site.buffer.shape
    if not all(type(n) is int for n in (*shape, *site.window)) or not 1 < math.prod(shape) <= APART:
        return None
    at = [slice(0, n) for n in shape]
    for column in site.columns:
        lo, hi = column_of(facts[column.operand], column.column)
        first, last = np.min(lo).item(), np.max(hi).item()
        if type(first) is not int or type(last) is not int:
            return None
        first, last = min(max(first, 0), column.limit), min(max(last, 0), column.limit)
        at[column.dim] = slice(first, last + site.window[column.dim])
    return None if all(s == slice(0, n) for s, n in zip(at, shape, strict=True)) else tuple(at)


def _all(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return [(i, need.uniform()) for i in range(len(step.ins))]


def _update(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return _over(step, need, facts, 1)


def _scatter(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return _over(step, need, facts, 2)


def _over(step: Step, need: Need, facts: list[Fact], update: int) -> list[tuple[int, Need]]:
    """A write: what is written must meet the need where it lands, what was there wherever it may stay."""
    at = None if _is_symbolic(need) else _window(step, facts)
    shape, across = step.eqn.invars[0].aval.shape, _across(step.eqn)
    need, rank = _pieces(need, shape), len(step.eqn.invars[update].aval.shape)
    if at is None:
        return [(0, need), (update, _carried_over(need, across, rank))]
    lo, hi = (np.array(np.broadcast_to(x, shape)) for x in (need.lo, need.hi))
    there = _carried_over(Need(lo[at], hi[at]), across, rank)
    site = ACCESSES[step.eqn.primitive](step.eqn, ())
    if site.count == 1 and all(s.stop - s.start == n for s, n in zip(at, site.window, strict=True)):
        lo[at], hi[at] = -FAR, FAR
    return [(0, Need(lo, hi)), (update, there)]


def _added(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    """What was there must leave room for what is added, wherever that may be; not where the program limits it after."""
    shape, by, count = step.eqn.invars[0].aval.shape, summarised(facts[2]), updates_of(step.eqn)
    if _is_symbolic(need) or any(type(n) is not int for n in (*shape, by.lo, by.hi, count)):
        raise Lost(step)
    need = _pieces(need, shape)
    low, high = min(0, by.lo) * count, max(0, by.hi) * count
    if not (is_apart(need.lo) or math.prod(shape) <= APART) or high - low > APART:
        raise Lost(step)
    if need.loose:
        return [(0, need)]
    at = _window(step, facts)
    if at is None:
        return [(0, Need(shifted(need.lo, -low), shifted(need.hi, -high)))]
    lo, hi = (np.array(np.broadcast_to(x, shape)) for x in (need.lo, need.hi))
    lo[at], hi[at] = shifted(lo[at], -low), shifted(hi[at], -high)
    return [(0, Need(lo, hi))]


def _across(eqn: Any) -> dict[int, int]:
    """Which dimensions of an array each window of an access covers from end to end, and which of the window's they are.

    They start at 0 in every window, whatever the index is.
    """
    shape, name = eqn.invars[0].aval.shape, eqn.primitive.name
    if name in ("dynamic_slice", "dynamic_update_slice"):
        sizes = eqn.params["slice_sizes"] if name == "dynamic_slice" else eqn.invars[1].aval.shape
        return {d: d for d, n in enumerate(shape) if n == sizes[d] and n != 1}
    numbers = eqn.params.get("dimension_numbers")
    if name == "gather":
        away, indexed = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}, numbers.start_index_map
        within, sizes = numbers.offset_dims, eqn.params["slice_sizes"]
    elif name == "scatter":
        away = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
        indexed, within, sizes = numbers.scatter_dims_to_operand_dims, numbers.update_window_dims, scatter_window(eqn)
    else:
        return {}
    rest = [d for d in range(len(shape)) if d not in away]
    whole = [d for d in rest if sizes[d] == shape[d] and shape[d] != 1 and d not in indexed]
    return {d: int(w) for w, d in zip(within, rest, strict=True) if d in whole}


def _carried_over(need: Need, dims: dict[int, int], rank: int) -> Need:
    """A need of an array as one of another, with these of its dimensions there; the strongest along the others."""
    if not is_apart(need.lo):
        return need
    others = tuple(d for d in range(need.lo.ndim) if d not in dims)
    if len(others) == need.lo.ndim:
        return need.uniform()
    lo, hi = need.lo.max(axis=others), need.hi.min(axis=others)
    shape = [1] * rank
    for n, d in zip(lo.shape, sorted(dims), strict=True):
        shape[dims[d]] = n
    return Need(lo.reshape(shape), hi.reshape(shape), need.loose)


def _sorted(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return [(step.outs.index(slot), need.uniform())]


MOVEMENT: Final = {
    "broadcast": _broadcast,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "rev": _rev,
    "slice": _slice,
    "concatenate": _concatenate,
    "stack": _stack,
    "pad": _pad,
    "content": _content,
    "update": _update,
    "scatter": _scatter,
    "added": _added,
    "sorted": _sorted,
    "all": _all,
}
