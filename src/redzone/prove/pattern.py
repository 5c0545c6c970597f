"""The memory access pattern: which bytes of the operand an access can touch, and in what order."""

from __future__ import annotations

from typing import Any

import numpy as np

from redzone.access.site import Site, column_of
from redzone.domains import Fact, dtype_info
from redzone.engine.forward import Context
from redzone.engine.program import SIMPLE, Step
from redzone.report.model import Pattern

#: One way an access was reached: its index facts, and where they can be looked behind.
Reached = tuple[list[Fact], Step | None, Context | None]


def pattern_of(site: Site, reached: list[Reached]) -> Pattern:
    """Worked out from the index's facts over every way the access is reached."""
    shape = tuple(getattr(site.buffer, "shape", ()))
    if site.opaque or site.padding or any(type(n) is not int for n in (*shape, *site.window)):
        return Pattern("scattered" if not site.opaque else "opaque", (), None, None, None)
    item = _itemsize(site.buffer.dtype)
    strides = [item] * len(shape)
    for d in range(len(shape) - 2, -1, -1):
        strides[d] = strides[d + 1] * shape[d + 1]
    window = site.window or (1,) * len(shape)
    size = item
    for n in window:
        size *= n
    if not reached or size == 0 or site.count == 0:
        return Pattern("contiguous", (), 0, 0, 0)
    extents = [_extent(site, facts, shape, strides, window, item) for facts, _, _ in reached]
    low, high = min(a for a, _ in extents), max(b for _, b in extents)
    kinds = {_kind(site, facts, step, context, strides, window, shape) for facts, step, context in reached}
    kind, steps = kinds.pop() if len(kinds) == 1 else ("scattered", ())
    # One window each time; how often the access runs, and so how much it touches in all, is bounded by its extent.
    alone = len(reached) == 1 and reached[0][1] is None
    most = size if alone or (kind == "broadcast" and len(reached) == 1 and _is_fixed(reached[0][0])) else high - low + 1
    return Pattern(kind, steps, int(min(most, high - low + 1)), int(low), int(high))


def _is_fixed(facts: list[Fact]) -> bool:
    return all(fact.step == 0 and not fact.kept for fact in facts)


def _itemsize(dtype: Any) -> int:
    bits = dtype_info(dtype).bits
    if bits:
        return max(1, (bits + 7) // 8)
    try:
        return int(np.dtype(dtype).itemsize)
    except TypeError:
        return 8


def _extent(site: Site, facts: list[Fact], shape: Any, strides: Any, window: Any, item: int) -> tuple[int, int]:
    low, high = 0, item - 1
    for d, n in enumerate(window):
        high += (n - 1) * strides[d]
    for column, fact in zip(site.columns, facts, strict=True):
        lo, hi = column_of(fact, column.column)
        limit = column.limit
        first = min(max(int(np.min(lo)) if type(lo) is np.ndarray else _number(lo), 0), limit)
        last = min(max(int(np.max(hi)) if type(hi) is np.ndarray else _number(hi), 0), limit)
        low += first * strides[column.dim]
        high += last * strides[column.dim]
    batched = _batch_dims(site)
    for d in batched:
        high += (shape[d] - 1) * strides[d]
    return int(low), int(high)


def _number(bound: Any) -> int:
    return int(bound) if isinstance(bound, int) else 0


def _batch_dims(site: Site) -> tuple[int, ...]:
    numbers = site.eqn.params.get("dimension_numbers")
    return tuple(getattr(numbers, "operand_batching_dims", ()))


def _kind(
    site: Site,
    facts: list[Fact],
    step: Step | None,
    context: Context | None,
    strides: Any,
    window: Any,
    shape: Any,
) -> tuple[str, tuple[int, ...]]:
    solid = _is_solid(window, shape)
    if site.count == 1:
        if solid:
            return "contiguous", ()
        rows = tuple(strides[d] for d in range(len(shape)) if window[d] > 1 and strides[d] > strides[-1])
        return "block", rows
    if _batch_dims(site):
        return "scattered", ()
    offsets = _offsets(site, facts, strides)
    if offsets is not None:
        return _sequence(offsets, window, strides, shape, solid)
    ramp = _ramp(site, step, context)
    if ramp is not None:
        along = ramp * strides[site.columns[0].dim]
        size = _bytes(window, strides)
        if along == 0:
            return "broadcast", ()
        return ("contiguous", ()) if solid and along == size else ("strided", (along,))
    if len(site.columns) == 1 and _is_permutation(step, context):
        return "permutation", ()
    return "scattered", ()


def _bytes(window: Any, strides: Any) -> int:
    n = strides[-1] if len(strides) else 1
    for w in window:
        n *= w
    return int(n)


def _is_solid(window: Any, shape: Any) -> bool:
    """Whether the window is one run of bytes: full in every dimension after the first partial one."""
    d = 0
    while d < len(window) and window[d] == 1:
        d += 1
    return all(window[k] == shape[k] for k in range(d + 1, len(window)))


def _offsets(site: Site, facts: list[Fact], strides: Any) -> np.ndarray | None:
    """Byte offsets of the windows in order, where every index is known."""
    if _batch_dims(site):
        return None
    total: Any = 0
    for column, fact in zip(site.columns, facts, strict=True):
        lo, hi = column_of(fact, column.column)
        if not (lo is hi or np.all(np.asarray(lo) == np.asarray(hi))):
            return None
        total = total + np.asarray(lo) * strides[column.dim]
    return np.asarray(total).ravel() if np.ndim(total) or site.columns else None


def _sequence(offsets: np.ndarray, window: Any, strides: Any, shape: Any, solid: bool) -> tuple[str, tuple[int, ...]]:
    size = _bytes(window, strides)
    if offsets.size <= 1 or (offsets == offsets[0]).all():
        return "broadcast", ()
    gaps = np.diff(offsets)
    if (gaps == gaps[0]).all():
        gap = int(gaps[0])
        return ("contiguous", ()) if solid and gap == size else ("strided", (gap,))
    if len(np.unique(offsets)) == offsets.size and offsets.size * size == _bytes(shape, strides):
        return "permutation", ()
    return "scattered", ()


def _ramp(site: Site, step: Step | None, context: Context | None) -> int | None:
    """The constant difference between neighbouring indices, where the index is affine in its position."""
    if step is None or context is None or len(site.columns) != 1:
        return None
    return _slope(context, step.ins[0], 24)


def _slope(context: Context, slot: int, depth: int) -> int | None:
    fact = context.env[slot]
    if fact is not None and fact.step == 0 and not fact.kept:
        return 0
    step = context.program.defs.get(slot)
    if step is None or step.kind != SIMPLE or depth == 0:
        return None
    name = step.eqn.primitive.name
    if name == "iota":
        shape = step.eqn.params["shape"]
        return 1 if all(n == 1 for d, n in enumerate(shape) if d != step.eqn.params["dimension"]) else None
    if name in ("broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "copy") or (
        step.rule is not None and step.eqn.primitive.name in ("jit", "pjit") and len(step.ins) == 1
    ):
        if name in ("broadcast_in_dim", "reshape"):
            old, new = step.eqn.invars[0].aval.shape, step.eqn.outvars[0].aval.shape
            if [n for n in old if n != 1] != [n for n in new if n != 1]:
                return 0 if not [n for n in old if n != 1] else None
        return _slope(context, step.ins[0], depth - 1)
    if name in ("add", "sub", "mul"):
        a, b = (_slope(context, s, depth - 1) for s in step.ins)
        if a is None or b is None:
            return None
        if name != "mul":
            return a + b if name == "add" else a - b
        x, y = (context.env[s] for s in step.ins)
        if y.step == 0 and not y.kept:
            return int(a * y.lo)
        return int(b * x.lo) if x.step == 0 and not x.kept else None
    if name == "select_n":
        which = context.env[step.ins[0]]
        if which.step == 0 and not which.kept:
            return _slope(context, step.ins[1 + which.lo], depth - 1)
    return None


def _is_permutation(step: Step | None, context: Context | None) -> bool:
    """Whether the index is the payload of sorting an iota: argsort, shuffles."""
    if step is None or context is None:
        return False
    slot = step.ins[0]
    for _ in range(24):
        found = context.program.defs.get(slot)
        if found is None or found.kind != SIMPLE:
            return False
        name = found.eqn.primitive.name
        if name == "sort":
            payload = context.program.defs.get(found.ins[found.outs.index(slot)])
            return payload is not None and payload.eqn.primitive.name == "iota"
        if name == "select_n":
            which = context.env[found.ins[0]]
            if which.step != 0 or which.kept:
                return False
            slot = found.ins[1 + which.lo]
        elif (
            name in ("broadcast_in_dim", "reshape", "squeeze", "convert_element_type", "jit", "pjit", "rev")
            and found.ins
        ):
            slot = found.ins[0]
        else:
            return False
    return False
