"""Binary search: the midpoint of two carries that stay in order.

`lo + (hi - lo) // 2` leaves the interval domain at the subtraction, unless lo ≤ hi is known. Where a
loop's body makes each of the two from lo, hi and the midpoint by selects on one condition, and every
choice keeps them in order, lo ≤ hi holds in every iteration if it holds at first: then the
difference is not negative and the midpoint is floor((lo + hi) / 2).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from redzone.domains import Fact, dtype_info, settle, summarised
from redzone.engine.idioms import FLOOR_DIVIDE
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

_P = primitives()
_ADD, _SUB, _DIV, _SELECT = _P["add_p"], _P["sub_p"], _P["div_p"], _P["select_n_p"]
_SHIFTS = (_P["shift_right_logical_p"], _P["shift_right_arithmetic_p"])


class Midpoint:
    """Two carries in order, the steps for their difference and their midpoint."""

    __slots__ = ("difference", "high", "low", "middle")

    def __init__(self, low: int, high: int, difference: Step, middle: Step) -> None:
        self.low = low
        self.high = high
        self.difference = difference
        self.middle = middle


def _origin(program: Program, slot: int) -> Step | None:
    step = program.defs.get(slot)
    while step is not None and step.rule is SAME:
        step = program.defs.get(step.ins[0])
    return step


def midpoints(body: Program, carries: dict[int, int]) -> list[Midpoint]:
    """The midpoint computations of a loop body, given each carry's input slot, that keep their ends in order."""
    slots = {slot: i for i, slot in carries.items() if slot >= 0}
    found = []
    for step in body.steps:
        if step.kind != SIMPLE or step.eqn.primitive is not _ADD or len(step.ins) != 2:
            continue
        for low, half in (step.ins, step.ins[::-1]):
            difference = _halved_difference(body, low, half)
            if low not in slots or difference is None or difference.ins[0] not in slots:
                continue
            high = difference.ins[0]
            if _kept_in_order(body, slots[low], slots[high], low, high, step.outs[0]):
                found.append(Midpoint(slots[low], slots[high], difference, step))
    return found


def _halved_difference(body: Program, low: int, half: int) -> Step | None:
    """The step `high - low` if `half` is half of it, rounded down."""
    step = _origin(body, half)
    if step is None or step.kind != SIMPLE or len(step.ins) != 2:
        return None
    by = body.template[step.ins[1]]
    wanted = 1 if step.eqn.primitive in _SHIFTS else 2
    if by is None or by.step != 0 or by.lo != wanted:
        converted = _origin(body, step.ins[1])
        source = body.template[converted.ins[0]] if converted is not None and len(converted.ins) == 1 else None
        if source is None or source.step != 0 or source.lo != wanted:
            return None
    if step.eqn.primitive is not _DIV and step.eqn.primitive not in _SHIFTS and step.rule is not FLOOR_DIVIDE:
        return None
    difference = _origin(body, step.ins[0])
    if difference is None or difference.kind != SIMPLE or difference.eqn.primitive is not _SUB:
        return None
    return difference if difference.ins[1] == low else None


def _kept_in_order(body: Program, low: int, high: int, low_slot: int, high_slot: int, middle: int) -> bool:
    ends = (_origin(body, body.outs[low]), _origin(body, body.outs[high]))
    rank = {low_slot: 0, middle: 1, high_slot: 2}
    if any(e is None or e.kind != SIMPLE or e.eqn.primitive is not _SELECT for e in ends):
        return False
    first, second = ends
    assert first is not None and second is not None
    if first.ins[0] != second.ins[0] or len(first.ins) != len(second.ins):
        return False
    for a, b in zip(first.ins[1:], second.ins[1:], strict=True):
        if a not in rank or b not in rank or rank[a] > rank[b]:
            return False
    return True


def starts_in_order(low: Fact, high: Fact) -> bool:
    return bool(np.all(np.asarray(low.hi <= high.lo)))


def ordered_steps(found: list[Midpoint], slots: dict[int, int]) -> dict[Step, Callable[[list[Any]], Fact]]:
    """How the difference and the midpoint are computed while the order is known."""
    special: dict[Step, Callable[[list[Any]], Fact]] = {}
    for one in found:
        low, high = slots[one.low], slots[one.high]

        def difference(env: list[Any], low: int = low, high: int = high, one: Midpoint = one) -> Fact:
            a, b = summarised(env[low]), summarised(env[high])
            if not _fits(one, a, b):
                return _plainly(one.difference, env)
            return settle(max(b.lo - a.hi, 0), max(b.hi - a.lo, 0))

        def middle(env: list[Any], low: int = low, high: int = high, one: Midpoint = one) -> Fact:
            a, b = summarised(env[low]), summarised(env[high])
            if not _fits(one, a, b):
                return _plainly(one.middle, env)
            # Both ends bound the midpoint, and low ≤ high bounds low by high and high by low.
            top, bottom = min(a.hi, b.hi), max(b.lo, a.lo)
            return settle((a.lo + bottom) // 2, (top + b.hi) // 2)

        special[one.difference] = difference
        special[one.middle] = middle
    return special


def _fits(one: Midpoint, low: Fact, high: Fact) -> bool:
    """Whether the difference stays inside its integer type; else it wraps and the order says nothing."""
    return bool(high.hi - low.lo <= dtype_info(one.difference.eqn.outvars[0].aval.dtype).max)


def _plainly(step: Step, env: list[Any]) -> Fact:
    assert step.rule is not None
    fact: Fact = step.rule.apply(step.eqn, *[env[i] for i in step.ins])
    return fact
