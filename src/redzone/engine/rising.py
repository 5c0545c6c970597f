"""Arrays that are promised to be in order: `x[1:] >= x[:-1]`. Then the first element and the last bound them all.

The order is a condition on neighbours. Followed from one end to the other it says of every element that it is at
least the first and at most the last, whatever the size; of a short array each element is bounded by all before it.
Along one dimension of several, every row is in order.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import numpy as np

from redzone.domains import Fact, dtype_info, meet, settle, summarised
from redzone.domains.fact import is_small
from redzone.engine.levels import ALL
from redzone.engine.program import SIMPLE, Program, Step
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

_P: Final = primitives()
_SLICE: Final = _P["slice_p"]
_SUB: Final = _P["sub_p"]
_THROUGH: Final = frozenset(_P[n] for n in ("and_p", "reduce_and_p", "convert_element_type_p", "copy_p") if n in _P)
_ABOVE: Final = frozenset((_P["ge_p"], _P["gt_p"]))
_BELOW: Final = frozenset((_P["le_p"], _P["lt_p"]))


def use_order(program: Program, refiner: Refiner, condition: int) -> None:
    """Narrow the arrays that a condition which holds puts in order."""
    for (slot, axis), up in _ordered(program, refiner, condition):
        first, last = _end(program, refiner, slot, axis, 0), _end(program, refiner, slot, axis, -1)
        low, high = (first, last) if up else (last, first)
        now: Fact | None = refiner.current(slot, ALL)
        if now is None:
            continue
        if type(now.lo) is np.ndarray and now.lo.ndim > axis and now.lo.shape[axis] > 1:
            lo, hi = (now.lo, now.hi) if up else (np.flip(now.lo, axis), np.flip(now.hi, axis))
            lo = np.maximum.accumulate(lo, axis)
            hi = np.flip(np.minimum.accumulate(np.flip(hi, axis), axis), axis)
            fact = settle(lo, hi) if up else settle(np.flip(lo, axis), np.flip(hi, axis))
            if (lo <= hi).all() and is_small(fact):
                refiner.narrow(slot, fact, ALL)
        whole = summarised(now)
        lo, hi = (low.lo if low is not None else whole.lo), (high.hi if high is not None else whole.hi)
        if type(lo) is int and type(hi) is int:
            if lo > hi:
                raise Infeasible
            refiner.narrow(slot, Fact(lo, hi, 0 if lo == hi else 1), ALL)


#: The slot of an array and one of its dimensions.
Rows = tuple[int, int]
#: Part of an array along a dimension: where it starts and ends, and the dimension's size.
Cut = tuple[Rows, int, int, int]


def _ordered(program: Program, refiner: Refiner, condition: int) -> Iterator[tuple[Rows, bool]]:
    """The arrays that a condition puts in order along a dimension, and whether they rise."""
    waiting = [condition]
    for slot in waiting:
        step = program.defs.get(slot)
        if step is None or step.kind != SIMPLE or len(waiting) > 16:
            continue
        primitive = step.primitive
        if step.rule is SAME or primitive in _THROUGH:
            if dtype_info(step.eqn.outvars[0].aval.dtype).kind == "b":
                waiting += step.ins
        elif primitive in _ABOVE or primitive in _BELOW:
            later, earlier = step.ins if primitive in _ABOVE else step.ins[::-1]
            found = _neighbours(program, later, earlier) or _differences(program, refiner, later, earlier)
            if found is not None:
                yield found


def _neighbours(program: Program, a: int, b: int) -> tuple[Rows, bool] | None:
    """For two slices of one array, each element beside its neighbour: the array, and whether a is the later."""
    one, other = cut_of(program, a), cut_of(program, b)
    if one is None or other is None or one[0] != other[0]:
        return None
    rows, start, stop, size = one
    _, begin, end, _ = other
    if (start, stop, begin, end) == (1, size, 0, size - 1):
        return rows, True
    return (rows, False) if (begin, end, start, stop) == (1, size, 0, size - 1) else None


def _differences(program: Program, refiner: Refiner, a: int, b: int) -> tuple[Rows, bool] | None:
    """For `x[1:] - x[:-1] >= 0` or its contrary, where the difference does not wrap."""
    for difference, zero, sign in ((a, b, True), (b, a, False)):
        step, bound = program.defs.get(difference), summarised(refiner.current(zero, ALL))
        if step is None or step.kind != SIMPLE or step.primitive is not _SUB:
            continue
        enough = type(bound.lo) is int and type(bound.hi) is int and (bound.lo >= 0 if sign else bound.hi <= 0)
        x, y = (summarised(refiner.current(s, ALL)) for s in step.ins)
        info = dtype_info(step.eqn.outvars[0].aval.dtype)
        exact = info.kind == "i" and all(type(n) is int for n in (x.lo, x.hi, y.lo, y.hi))
        if enough and exact and x.lo - y.hi >= info.min and x.hi - y.lo <= info.max:
            found = _neighbours(program, *step.ins)
            return None if found is None else (found[0], found[1] is sign)
    return None


def cut_of(program: Program, slot: int) -> Cut | None:
    """For a slice of integers along one dimension, which part of what it is."""
    step = program.defs.get(slot)
    while step is not None and step.rule is SAME:
        step = program.defs.get(step.ins[0])
    if step is None or step.kind != SIMPLE or step.primitive is not _SLICE:
        return None
    p, aval = step.eqn.params, step.eqn.invars[0].aval
    starts, stops, shape = p["start_indices"], p["limit_indices"], aval.shape
    if any(n != 1 for n in p["strides"] or ()) or dtype_info(aval.dtype).kind not in "iu":
        return None
    if any(type(n) is not int for n in (*shape, *starts, *stops)):
        return None
    axes = [d for d, n in enumerate(shape) if (starts[d], stops[d]) != (0, n)]
    if len(axes) != 1:
        return None
    axis = axes[0]
    return (step.ins[0], axis), int(starts[axis]), int(stops[axis]), int(shape[axis])


def parts_of(program: Program, refiner: Refiner, slot: int, axis: int) -> list[tuple[Cut, int, Fact]]:
    """The parts of an array along a dimension that promises are made from: which, the array's rank, what is known."""
    found = []
    for step in program.supporting():
        cut = cut_of(program, step.outs[0]) if _reads(step, slot) else None
        if cut is None or cut[0][1] != axis:
            continue
        for place in (step.outs[0], *_same_as(program, step.outs[0])):
            fact = summarised(refiner.current(place, ALL))
            if type(fact.lo) is int and type(fact.hi) is int:
                found.append((cut, len(step.eqn.invars[0].aval.shape), fact))
    return found


def _end(program: Program, refiner: Refiner, slot: int, axis: int, which: int) -> Fact | None:
    """What is known of the first elements of all rows, or of their last."""
    best: Fact | None = None
    for (_, start, stop, size), _, fact in parts_of(program, refiner, slot, axis):
        at = 0 if which == 0 else size - 1
        if (start, stop) == (at, at + 1):
            best = fact if best is None else meet(best, fact) or best
    return best


def _reads(step: Step, slot: int) -> bool:
    return step.kind == SIMPLE and step.primitive is _SLICE and step.ins[0] == slot


def _same_as(program: Program, slot: int) -> list[int]:
    """The slots of what is this one element in another shape."""
    return [
        step.outs[0]
        for step in program.supporting()
        if step.kind == SIMPLE and step.ins[:1] == (slot,) and step.primitive.name in ("squeeze", "reshape")
    ]
