"""Totals that are promised: of numbers none of which is negative, some add up to no more than all of them.

`redzone.assume(mask.sum() <= 4)` bounds every running sum of `mask`, with an element or before it, and every element.
The promise is about the sum as the machine has it. It is the true one where that cannot leave its type, whatever the
elements are: so many times the greatest of them fits. Then each running sum is at most what was promised, in a
type of its own too if that holds the promise: a sum that is exact modulo the width is exact where it fits.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from redzone.domains import Fact, dtype_info, meet, summarised
from redzone.engine.levels import ALL
from redzone.engine.mass import running_sum
from redzone.engine.program import SIMPLE, Program, Step
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

_P: Final = primitives()
_SUM: Final = _P["reduce_sum_p"]
_CUMSUM: Final = _P["cumsum_p"]
_SUB: Final = _P["sub_p"]
_SLICE: Final = _P["slice_p"]
_CONVERT: Final = _P["convert_element_type_p"]


class Total(NamedTuple):
    """A sum that promises may be about, and what it bounds."""

    slot: int
    elements: int
    """The slot of what is summed up."""
    size: int
    """How many elements one sum is made of."""
    most: int
    """What its type can hold."""
    parts: tuple[tuple[int, int], ...]
    """Sums over some of these elements: the slot of each, and what its type can hold."""


def totals(program: Program) -> tuple[Total, ...]:
    """The sums of integers that what is promised is made from."""
    known: tuple[Total, ...] | None = program.memo.get("totals")
    if known is None:
        sums = [found for step in program.supporting() if (found := _summed(program, step)) is not None]
        known = program.memo["totals"] = tuple([_total(program, *one) for one in sums])
    return known


def use_totals(program: Program, refiner: Refiner) -> None:
    """Narrow what the sums bound of which more is known than what they are made from says."""
    for total in totals(program):
        promised = refiner.known.get((total.slot, ALL))
        if promised is None or refiner.at(total.elements) is None:
            # Nothing was asked about what is summed up, or it has not been come to.
            continue
        elements = refiner.current(total.elements, ALL)
        each, limit = summarised(elements), summarised(promised).hi
        if type(each.lo) is not int or type(each.hi) is not int or type(limit) is not int or each.lo < 0:
            continue
        if not is_exact(each, total):
            continue
        if limit < each.hi:
            refiner.narrow(total.elements, _upto(each.lo, limit), ALL)
        for slot, most in total.parts:
            if limit <= most:
                _learn(refiner, slot, _upto(0, limit))


def is_exact(each: Fact, total: Total) -> bool:
    """Whether a sum of elements, none of which is negative, stays within its type."""
    return bool(each.hi * total.size <= total.most)


def _learn(refiner: Refiner, slot: int, fact: Fact) -> None:
    if refiner.env[slot] is not None:
        refiner.narrow(slot, fact, ALL)
        return
    # Not yet run: what is known of it will be met with what it turns out to be.
    old = refiner.known.get((slot, ALL))
    both = fact if old is None else meet(old, fact)
    if both is None:
        raise Infeasible
    refiner.known[slot, ALL] = both
    refiner.learnt_since += 1


def _upto(lo: int, hi: int) -> Fact:
    if lo > hi:
        raise Infeasible
    return Fact(lo, hi, 0 if lo == hi else 1)


def _summed(program: Program, step: Step) -> tuple[int, Step, tuple[int, ...]] | None:
    """For a sum, or the last of running sums: its slot, the step that adds up, and along which axes."""
    if step.kind != SIMPLE or dtype_info(step.eqn.outvars[0].aval.dtype).kind not in "iu":
        return None
    if step.primitive is _SUM:
        return step.outs[0], step, tuple([int(axis) for axis in step.eqn.params["axes"]])
    made = program.defs.get(step.ins[0]) if step.primitive is _SLICE else None
    if made is None or made.kind != SIMPLE or made.primitive is not _CUMSUM:
        return None
    p, shape, axis = step.eqn.params, step.eqn.invars[0].aval.shape, int(made.eqn.params["axis"])
    n = shape[axis]
    if type(n) is not int or n < 1:
        return None
    last = (0, 1) if made.eqn.params["reverse"] else (n - 1, n)
    # The last ones of all rows: those of some say nothing of the others.
    ends = [last if d == axis else (0, size) for d, size in enumerate(shape)]
    found = list(zip(p["start_indices"], p["limit_indices"], strict=True)) == ends
    return (step.outs[0], made, (axis,)) if found and all(k == 1 for k in p["strides"] or ()) else None


def _total(program: Program, slot: int, step: Step, axes: tuple[int, ...]) -> Total:
    """What a sum bounds: sums of the same elements along one of its axes."""
    elements, shape = _elements(program, step.ins[0]), step.eqn.invars[0].aval.shape
    sizes, parts = [shape[axis] for axis in axes], []
    if any(type(n) is not int for n in sizes) or elements in program.unknown:
        return Total(slot, elements, 1, -1, ())
    for one in program.steps:
        if one.kind != SIMPLE:
            continue
        adding = one if one.primitive is _CUMSUM else None
        if one.primitive is _SUB and dtype_info(one.eqn.outvars[0].aval.dtype).kind in "iu":
            before = running_sum(program, one)
            adding = None if before is None else before.total
        if adding is None or int(adding.eqn.params["axis"]) not in axes:
            continue
        info = dtype_info(adding.eqn.outvars[0].aval.dtype)
        if info.kind in "iu" and _elements(program, adding.ins[0]) == elements:
            parts.append((one.outs[0], int(info.max)))
    most = dtype_info(step.eqn.outvars[0].aval.dtype).max
    return Total(slot, elements, math.prod(sizes), int(most), tuple(parts))


def _elements(program: Program, slot: int) -> int:
    """The integers, or bools, that a value is, in a type that holds them all."""
    made = program.defs.get(slot)
    while made is not None and made.kind == SIMPLE:
        if made.rule is not SAME and (made.primitive is not _CONVERT or not _holds_all(made.eqn)):
            break
        slot = made.ins[0]
        made = program.defs.get(slot)
    return slot


def _holds_all(eqn: Any) -> bool:
    """Whether a conversion keeps every integer."""
    source, target = (dtype_info(v.aval.dtype) for v in (eqn.invars[0], eqn.outvars[0]))
    if not source.integral or target.kind not in "iu":
        return False
    return bool(target.min <= source.min and source.max <= target.max)
