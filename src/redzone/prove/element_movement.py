"""Elements of rearrangements, reads and writes: which element of which operand one element is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from redzone.access.xla import ACCESSES
from redzone.domains.affine import Linear, Region
from redzone.engine.forward import Context
from redzone.engine.program import Step
from redzone.prove.pieces import EVERYWHERE, PIECES, Handler, NotAffine, Piece, Place

if TYPE_CHECKING:
    from redzone.prove.elements import Elements


def _broadcast(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    shape = step.eqn.invars[0].aval.shape
    dims = step.eqn.params["broadcast_dimensions"]
    return self.value(
        context, step.ins[0], tuple(Linear(0) if n == 1 else place[d] for n, d in zip(shape, dims, strict=True))
    )


def _squeeze(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    gone = {d % len(step.eqn.invars[0].aval.shape) for d in step.eqn.params["dimensions"]}
    rest = iter(place)
    rank = len(step.eqn.invars[0].aval.shape)
    return self.value(context, step.ins[0], tuple(Linear(0) if d in gone else next(rest) for d in range(rank)))


def _transpose(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    order = step.eqn.params["permutation"]
    source = [Linear(0)] * len(place)
    for d, p in zip(order, place, strict=True):
        source[d] = p
    return self.value(context, step.ins[0], tuple(source))


def _rev(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    shape, dims = step.eqn.invars[0].aval.shape, step.eqn.params["dimensions"]
    if any(type(n) is not int for n in shape):
        raise NotAffine
    return self.value(
        context, step.ins[0], tuple(Linear(shape[d] - 1) - p if d in dims else p for d, p in enumerate(place))
    )


def _slice(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    starts, strides = step.eqn.params["start_indices"], step.eqn.params["strides"] or (1,) * len(place)
    if any(not isinstance(n, (int, np.integer)) for n in (*starts, *strides)):
        raise NotAffine
    there = tuple(p * int(k) + int(s) for p, s, k in zip(place, starts, strides, strict=True))
    return self.value(context, step.ins[0], there)


def _reshape(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    source, target = step.eqn.invars[0].aval.shape, step.eqn.outvars[0].aval.shape
    if step.eqn.params.get("dimensions") is not None or any(type(n) is not int for n in (*source, *target)):
        raise NotAffine
    if [n for n in source if n != 1] == [n for n in target if n != 1]:
        kept = iter([p for n, p in zip(target, place, strict=True) if n != 1])
        return self.value(context, step.ins[0], tuple(Linear(0) if n == 1 else next(kept) for n in source))
    flat, stride = Linear(0), 1
    for n, p in zip(reversed(target), reversed(place), strict=True):
        flat, stride = flat + p * stride, stride * n
    region = EVERYWHERE
    found: list[Linear] = []
    for n in reversed(source):
        inside, q = self.quotient(region, flat, n)
        if inside is None:
            raise NotAffine
        region = inside
        found.append(flat - q * n)
        flat = q
    values = self.value(context, step.ins[0], tuple(reversed(found)))
    return [(both, v) for r, v in values if (both := region.both(r)) is not None]


def _concatenate(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    axis, start = step.eqn.params["dimension"], 0
    pieces: list[Piece] = []
    for k, var in enumerate(step.eqn.invars):
        size = var.aval.shape[axis]
        if type(size) is not int:
            raise NotAffine
        at = place[axis] - start
        region = EVERYWHERE.where(at, Linear(size - 1) - at)
        start += size
        if region is not None:
            inner = (*place[:axis], at, *place[axis + 1 :])
            pieces += [
                (both, v) for r, v in self.value(context, step.ins[k], inner) if (both := region.both(r)) is not None
            ]
            if not place[axis].terms:
                break
    return pieces


def _pad(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """What is padded, at the places that are its own, and the one number elsewhere."""
    shape = step.eqn.invars[0].aval.shape
    region: Region | None = EVERYWHERE
    outside: list[Region] = []
    there: list[Linear] = []
    for n, at, (low, high, between) in zip(shape, place, step.eqn.params["padding_config"], strict=True):
        if type(n) is not int or not all(isinstance(k, (int, np.integer)) for k in (low, high, between)):
            raise NotAffine
        if between or region is None:
            raise NotAffine
        at = at - int(low)
        there.append(at)
        if low > 0:
            outside += [part] if (part := region.where(-at - 1)) is not None else []
        if high > 0:
            outside += [part] if (part := region.where(at - n)) is not None else []
        region = region.where(*([at] if low > 0 else []), *([Linear(n - 1) - at] if high > 0 else []))
    inside = [] if region is None else _read(self, context, step.ins[0], [(region, tuple(there))])
    return inside + _read(self, context, step.ins[1], [(part, ()) for part in outside])


def _stack(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    axis = step.eqn.params["axis"]
    inner = (*place[:axis], *place[axis + 1 :])
    pieces: list[Piece] = []
    for k, slot in enumerate(step.ins):
        here = place[axis] - k
        region = EVERYWHERE.where(here, -here)
        if region is not None:
            pieces += _read(self, context, slot, [(region, inner)])
    return pieces


def _iota(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    return [(EVERYWHERE, place[step.eqn.params["dimension"]])]


def _dynamic_slice(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    shape, sizes = step.eqn.invars[0].aval.shape, step.eqn.params["slice_sizes"]
    if any(type(n) is not int for n in (*shape, *sizes)):
        raise NotAffine
    places: list[tuple[Region, Place]] = [(EVERYWHERE, ())]
    for d, (n, size) in enumerate(zip(shape, sizes, strict=True)):
        if n == size:
            places = [(r, (*at, place[d])) for r, at in places]
            continue
        starts = [
            piece
            for region, v in self.held(self.value(context, step.ins[1 + d], ()), step.eqn.invars[1 + d].aval.dtype)
            for piece in _clamped(region, v, n - size)
        ]
        places = [
            (both, (*at, start + place[d]))
            for r, at in places
            for s, start in starts
            if (both := r.both(s)) is not None
        ]
        if len(places) > PIECES:
            raise NotAffine
    return _read(self, context, step.ins[0], places)


def _clamped(region: Region, value: Linear, limit: int) -> list[Piece]:
    lo, hi = region.bounds(value)
    if lo >= 0 and hi <= limit:
        return [(region, value)]
    parts = ((region.where(-value - 1), Linear(0)), (region.where(value - limit - 1), Linear(limit)))
    inside = region.where(value, Linear(limit) - value)
    return [(r, v) for r, v in ((inside, value), *parts) if r is not None]


def _leaves(region: Region, value: Linear, limit: int) -> bool:
    """Whether a number may be below 0 or above a limit: no constraint of its region on just this sum rules it out."""
    lo, hi = region.bounds(value)
    return (lo < 0 and region.where(-value - 1) is not None) or (
        hi > limit and region.where(value - limit - 1) is not None
    )


def _read(self: Elements, context: Context, slot: int, places: list[tuple[Region, Place]]) -> list[Piece]:
    is_table = context.program.template[slot] is not None
    return [
        (both, v)
        for region, at in places
        for r, v in (self.table(context, slot, at, region) if is_table else self.value(context, slot, at))
        if (both := region.both(r)) is not None
    ]


def _gather(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """A read of a table, where the index stays inside it or is clipped."""
    eqn = step.eqn
    operand, indices = eqn.invars[0].aval, eqn.invars[1].aval
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    if any(type(n) is not int for n in (*operand.shape, *indices.shape)):
        raise NotAffine
    batch = tuple(p for d, p in enumerate(place) if d not in numbers.offset_dims)
    offsets = iter([place[d] for d in numbers.offset_dims])
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    base = [Linear(0) if d in gone else next(offsets) for d in range(len(operand.shape))]
    for d, b in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        base[d] = batch[b]
    clips = getattr(eqn.params.get("mode"), "name", "") == "CLIP"
    places: list[tuple[Region, Place]] = [(EVERYWHERE, tuple(base))]
    for k, d in enumerate(numbers.start_index_map):
        limit = operand.shape[d] - sizes[d]
        found: list[tuple[Region, Place]] = []
        for region, v in self.held(self.value(context, step.ins[1], (*batch, Linear(k))), indices.dtype):
            for r, at in places:
                both = r.both(region)
                if both is None:
                    continue
                if not clips and _leaves(both, v, limit):
                    raise NotAffine
                for inside, start in _clamped(both, v, limit):
                    found.append((inside, (*at[:d], at[d] + start, *at[d + 1 :])))
        places = found
        if len(places) > PIECES:
            raise NotAffine
    return _read(self, context, step.ins[0], places)


def _update(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """An array with a window written over."""
    shape, sizes = step.eqn.invars[0].aval.shape, step.eqn.invars[1].aval.shape
    if any(type(n) is not int for n in (*shape, *sizes)):
        raise NotAffine
    inside: list[tuple[Region, Place]] = [(EVERYWHERE, ())]
    outside: list[Region] = []
    for d, (n, size) in enumerate(zip(shape, sizes, strict=True)):
        found: list[tuple[Region, Place]] = []
        for region, v in self.held(self.value(context, step.ins[2 + d], ()), step.eqn.invars[2 + d].aval.dtype):
            for start_region, start in _clamped(region, v, n - size):
                at = place[d] - start
                for r, so_far in inside:
                    both = r.both(start_region)
                    if both is None:
                        continue
                    within = both.where(at, Linear(size - 1) - at)
                    if within is not None:
                        found.append((within, (*so_far, at)))
                    outside += [o for o in (both.where(-at - 1), both.where(at - size)) if o is not None]
        inside = found
        if len(inside) + len(outside) > PIECES:
            raise NotAffine
    pieces = _read(self, context, step.ins[1], inside)
    return pieces + _read(self, context, step.ins[0], [(r, place) for r in outside])


def _scatter(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """An array with one window written over, where the window lies inside."""
    eqn, shape = step.eqn, step.eqn.invars[0].aval.shape
    if eqn.params.get("update_jaxpr") is not None:
        raise NotAffine
    site = ACCESSES[eqn.primitive](eqn, ())
    if site.count != 1 or any(type(n) is not int for n in (*shape, *site.window)):
        raise NotAffine
    moved = {column.dim for column in site.columns}
    if any(n != size for d, (n, size) in enumerate(zip(shape, site.window, strict=True)) if d not in moved):
        raise NotAffine
    indices, numbers = eqn.invars[1].aval, eqn.params["dimension_numbers"]
    inside: list[tuple[Region, Place]] = [(EVERYWHERE, tuple(place))]
    outside: list[Region] = []
    for column in site.columns:
        at = (*(Linear(0),) * (len(indices.shape) - 1), Linear(column.column or 0))
        found: list[tuple[Region, Place]] = []
        for region, start in self.held(self.value(context, step.ins[1], at), indices.dtype):
            lo, hi = region.bounds(start)
            if lo < 0 or hi > column.limit:
                raise NotAffine
            offset = place[column.dim] - start
            for r, so_far in inside:
                both = r.both(region)
                if both is None:
                    continue
                within = both.where(offset, Linear(site.window[column.dim] - 1) - offset)
                if within is not None:
                    found.append((within, (*so_far[: column.dim], offset, *so_far[column.dim + 1 :])))
                beyond = (both.where(-offset - 1), both.where(offset - site.window[column.dim]))
                outside += [o for o in beyond if o is not None]
        inside = found
        if len(inside) + len(outside) > PIECES:
            raise NotAffine
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    kept = [d for d in range(len(shape)) if d not in gone]
    rank = len(eqn.invars[2].aval.shape)
    to = dict(zip(numbers.update_window_dims, kept, strict=True))
    updates = [(r, tuple(at[to[d]] if d in to else Linear(0) for d in range(rank))) for r, at in inside]
    return _read(self, context, step.ins[2], updates) + _read(self, context, step.ins[0], [(r, place) for r in outside])


def _reduce_one(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """A reduction over dimensions of one element."""
    shape, axes = step.eqn.invars[0].aval.shape, step.eqn.params["axes"]
    if any(shape[a] != 1 for a in axes):
        raise NotAffine
    rest = iter(place)
    return self.value(context, step.ins[0], tuple(Linear(0) if d in axes else next(rest) for d in range(len(shape))))


MOVEMENT: Final[dict[str, Handler]] = {
    "broadcast_in_dim": _broadcast,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "rev": _rev,
    "slice": _slice,
    "reshape": _reshape,
    "concatenate": _concatenate,
    "stack": _stack,
    "pad": _pad,
    "iota": _iota,
    "dynamic_slice": _dynamic_slice,
    "gather": _gather,
    "dynamic_update_slice": _update,
    "scatter": _scatter,
    "reduce_and": _reduce_one,
    "reduce_or": _reduce_one,
    "reduce_max": _reduce_one,
    "reduce_min": _reduce_one,
}
