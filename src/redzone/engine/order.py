"""Binary search: the midpoint of two numbers, and of two carries that stay in order.

`lo + (hi - lo) // 2` leaves the interval domain at the subtraction: lo is in it twice. Rounded down, and where nothing
wraps, it is floor((lo + hi) / 2), whatever lo and hi are, and `hi - (hi - lo) // 2` is the same rounded up.

Where a loop's body makes each of two carries from lo, hi and the midpoint by selects on one condition, and every choice
keeps them in order, lo ≤ hi holds in every iteration if it holds at first: then the difference is not negative, and it
does not matter how it is rounded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, settle, summarised
from redzone.domains.symbolic import at_most, fits, is_symbolic, larger, smaller
from redzone.engine.anew import is_anew
from redzone.engine.idioms import FLOOR_DIVIDE
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_SUB: Final = _P["sub_p"]
_DIV: Final = _P["div_p"]
_SELECT: Final = _P["select_n_p"]
_LOGICAL: Final = _P["shift_right_logical_p"]
_ARITHMETIC: Final = _P["shift_right_arithmetic_p"]
_SHIFTS: Final = (_LOGICAL, _ARITHMETIC)
#: What makes a constant of another type or shape from one.
_CONVERSIONS: Final = (_P["convert_element_type_p"], _P["broadcast_in_dim_p"])


class Midpoint:
    """The slots of two numbers, the steps for their difference and their midpoint."""

    __slots__ = ("added", "carries", "difference", "high", "low", "middle", "more", "rounds_down")

    def __init__(
        self, low: int, high: int, difference: Step, middle: Step, rounds_down: bool, added: int, more: int
    ) -> None:
        self.low = low
        self.high = high
        self.difference = difference
        self.middle = middle
        self.rounds_down = rounds_down
        """Whether half of a negative difference is rounded down too."""
        self.added = added
        """What is added to the difference before it is halved."""
        self.more = more
        """The midpoint is half of their sum and this, rounded down."""
        self.carries: tuple[int, int] | None = None
        """Which carries they are, where the loop keeps them in order."""


def _origin(program: Program, slot: int) -> Step | None:
    step = program.defs.get(slot)
    while step is not None and step.rule is SAME:
        step = program.defs.get(step.ins[0])
    return step


def midpoints(body: Program, carries: dict[int, int]) -> list[Midpoint]:
    """The midpoint computations of a loop body, given each carry's input slot."""
    slots = {slot: i for i, slot in carries.items() if slot >= 0}
    found = []
    for step in body.steps:
        if step.kind != SIMPLE or len(step.ins) != 2:
            continue
        if step.primitive is _ADD:
            sides = [(step.ins[0], step.ins[1], 1), (step.ins[1], step.ins[0], 1)]
        elif step.primitive is _SUB:
            sides = [(step.ins[0], step.ins[1], -1)]
        else:
            continue
        for end, half, sign in sides:
            halved = _origin(body, half)
            known = None if halved is None else _halved_difference(body, halved)
            if halved is None or known is None:
                continue
            difference, added = known
            high, low = difference.ins
            # The end and the difference are looked at in two places.
            if end != (low if sign == 1 else high) or is_anew(body, end):
                continue
            rounds_down = halved.rule is FLOOR_DIVIDE or halved.eqn.primitive is _ARITHMETIC
            # high less half of the difference is half of the sum, rounded up.
            one = Midpoint(low, high, difference, step, rounds_down, added, added if sign == 1 else 1 - added)
            if low in slots and high in slots and not one.more:
                ends = (slots[low], slots[high])
                one.carries = ends if _kept_in_order(body, *ends, low, high, step.outs[0]) else None
            if one.rounds_down or one.carries is not None:
                found.append(one)
    return found


def _halved_difference(body: Program, step: Step) -> tuple[Step, int] | None:
    """The step `high - low` if another is half of it, or of it and a number that is added before."""
    if step.kind != SIMPLE or len(step.ins) != 2:
        return None
    by = body.template[step.ins[1]]
    wanted = 1 if step.primitive in _SHIFTS else 2
    if by is None or by.step != 0 or by.lo != wanted:
        converted = _origin(body, step.ins[1])
        if converted is None or converted.kind != SIMPLE or converted.eqn.primitive not in _CONVERSIONS:
            return None
        source = body.template[converted.ins[0]]
        if source is None or source.step != 0 or source.lo != wanted:
            return None
    if step.primitive is not _DIV and step.primitive not in _SHIFTS and step.rule is not FLOOR_DIVIDE:
        return None
    difference, more = _origin(body, step.ins[0]), 0
    if difference is not None and difference.kind == SIMPLE and difference.eqn.primitive is _ADD:
        number = body.template[difference.ins[1]]
        if number is None or number.step != 0 or type(number.lo) is not int:
            return None
        difference, more = _origin(body, difference.ins[0]), number.lo
    if difference is None or difference.kind != SIMPLE or difference.eqn.primitive is not _SUB:
        return None
    kind = dtype_info(difference.eqn.outvars[0].aval.dtype).kind
    # An arithmetic shift copies the top bit, of an unsigned number too.
    if kind not in "iu" or (kind == "u" and step.primitive is _ARITHMETIC):
        return None
    return difference, more


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
    if low.kept or high.kept:
        return not is_symbolic(low.hi) and not is_symbolic(high.lo) and bool(np.all(low.hi <= high.lo))
    return bool(at_most(low.hi, high.lo))


def ordered_steps(found: list[Midpoint], held: list[Midpoint]) -> dict[Step, Callable[[list[Any]], Fact]]:
    """How the differences and the midpoints are computed, those of `held` while their order is known."""
    special: dict[Step, Callable[[list[Any]], Fact]] = {}
    for one in found:
        if one in held:
            special[one.difference] = _not_negative(one)
            special[one.middle] = _between(one)
        elif one.rounds_down:
            special[one.middle] = _mean(one)
    return special


@contextmanager
def in_turns(body: Program, now: dict[int, Fact]) -> Iterator[None]:
    """While iterations are looked at one by one: an order counts only if none of them can break it.

    What is known of one iteration says nothing of those before it. Where a difference wraps in one of them the order is
    gone for good, so it has to fit whatever the carries are in any.
    """
    usual = body.special
    body.special = _lasting(body, now)
    try:
        yield
    finally:
        body.special = usual


def _lasting(body: Program, now: dict[int, Fact]) -> dict[Step, Any] | None:
    usual: dict[Step, Any] | None = body.special
    if not usual:
        return usual
    special = dict(usual)
    found: list[Midpoint] = body.memo.get("midpoints") or []
    for one in found:
        if one.carries is None:
            continue
        low, high = one.carries
        if not _fits(one, summarised(now[low]), summarised(now[high])):
            special.pop(one.difference, None)
            special.pop(one.middle, None)
            if one.rounds_down:
                special[one.middle] = _mean(one)
    return special


def _not_negative(one: Midpoint) -> Callable[[list[Any]], Fact]:
    def difference(env: list[Any]) -> Fact:
        a, b = summarised(env[one.low]), summarised(env[one.high])
        if not _fits(one, a, b):
            return _plainly(one.difference, env)
        return settle(max(b.lo - a.hi, 0), max(b.hi - a.lo, 0))

    return difference


def _between(one: Midpoint) -> Callable[[list[Any]], Fact]:
    def middle(env: list[Any]) -> Fact:
        a, b = summarised(env[one.low]), summarised(env[one.high])
        if not _fits(one, a, b):
            return _plainly(one.middle, env)
        # Both ends bound the midpoint, and low ≤ high bounds low by high and high by low.
        top, bottom = min(a.hi, b.hi), max(b.lo, a.lo)
        return settle((a.lo + bottom) // 2, (top + b.hi) // 2)

    return middle


def _mean(one: Midpoint) -> Callable[[list[Any]], Fact]:
    def middle(env: list[Any]) -> Fact:
        a, b = summarised(env[one.low]), summarised(env[one.high])
        info = dtype_info(one.difference.eqn.outvars[0].aval.dtype)
        spare = abs(one.added)
        if not fits(b.lo - a.hi - spare, b.hi - a.lo + spare, info.min, info.max):
            return _plainly(one.middle, env)
        if all(type(n) is int for n in (a.lo, a.hi, b.lo, b.hi)):
            # Far more than half of the sum need not be between the two, nor inside their type.
            lo, hi = (a.lo + b.lo + one.more) // 2, (a.hi + b.hi + one.more) // 2
            return settle(lo, hi) if fits(lo, hi, info.min, info.max) else _plainly(one.middle, env)
        if one.more not in (0, 1):
            return _plainly(one.middle, env)
        # Between sizes without numbers: not below the less, not above the greater, and before it if the other is.
        before = at_most(a.hi, b.hi - 1) and not one.more
        return Fact(smaller(a.lo, b.lo), b.hi - 1 if before else larger(a.hi, b.hi))

    return middle


def _fits(one: Midpoint, low: Fact, high: Fact) -> bool:
    """Whether the difference, and what is added to it, stays inside its integer type; else it wraps and the order says
    nothing.

    Nor does it where the bounds leave no room for it: such an iteration is never run.
    """
    room, info = high.hi - low.lo, dtype_info(one.difference.eqn.outvars[0].aval.dtype)
    return at_most(room, -1) is not True and bool(at_most(room + one.added, info.max))


def _plainly(step: Step, env: list[Any]) -> Fact:
    assert step.rule is not None
    fact: Fact = step.rule.apply(step.eqn, *[env[i] for i in step.ins])
    return fact
