"""Carries that nothing but the iteration decides: `where(t % 5 == 4, p + 1, p)`, from a known number on.

Such a carry has one value in each iteration, whatever the inputs are. It is computed for each of them, from the steps
of the body that make it and nothing else; where a single one of those leaves more than one number open, nothing is
said. What an access in the body is made of by such steps is looked at in each iteration, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, join, scalar, settle
from redzone.engine.columns import column_facts
from redzone.engine.program import OBSERVE, SIMPLE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.integers import wrapped
from redzone.rules.table import RULES, top_of

_SELECT: Final = primitives()["select_n_p"]

#: How many iterations are gone through, how many steps one of them may take, and how many all of them may.
LONGEST: Final = 512
STEPS: Final = 24
ALTOGETHER: Final = 6000


def makers(body: Program, slots: dict[int, int], counters: frozenset[int]) -> tuple[tuple[int, ...], list[Step]]:
    """The carries that are made from each other, counters, rows and constants by plain steps, and those steps in order.

    `slots` has the slot in which the body is given each carry.
    """
    known = body.memo.get(("determined", counters))
    if known is None:
        found = {i: made for i in slots if i not in counters and (made := _behind(body, body.outs[i])) is not None}
        given, changed = {slot: i for i, slot in slots.items()}, True
        while changed:
            others = {s for s, i in given.items() if i not in found and i not in counters}
            left = {i: made for i, made in found.items() if others.isdisjoint(made[1])}
            changed, found = len(left) < len(found), left
        wanted = {id(step) for steps, _ in found.values() for step in steps}
        steps = [step for step in body.steps if id(step) in wanted]
        known = body.memo["determined", counters] = (tuple(found), steps) if len(steps) <= STEPS else ((), [])
    carries: tuple[tuple[int, ...], list[Step]] = known
    return carries


def watched(body: Program, slots: dict[int, int], told: frozenset[int]) -> tuple[list[Step], list[Step]]:
    """The accesses whose places hang on carries that are told, rows and constants alone; and the steps behind them."""
    known = body.memo.get(("watched", told))
    if known is None:
        others = {slot for i, slot in slots.items() if i not in told}
        accesses, wanted = list[Step](), set[int]()
        for step in body.steps:
            if step.kind != OBSERVE:
                continue
            behind = [_behind(body, slot) for slot in step.reads()]
            found = [one for one in behind if one is not None and others.isdisjoint(one[1])]
            if len(found) == len(behind):
                accesses.append(step)
                wanted.update(id(one) for steps, _ in found for one in steps)
        known = body.memo["watched", told] = (accesses, [one for one in body.steps if id(one) in wanted])
    found_: tuple[list[Step], list[Step]] = known
    return found_


def _behind(body: Program, slot: int) -> tuple[list[Step], set[int]] | None:
    """The steps that make a value, and the slots of inputs they read; None where something else than they has a say."""
    steps: list[Step] = []
    read: set[int] = set()
    waiting, seen = [slot], set[int]()
    while waiting:
        at = waiting.pop()
        if at in seen or (at >= 0 and body.template[at] is not None):
            continue
        seen.add(at)
        step = body.defs.get(at)
        if step is None:
            read.add(at)
            continue
        if step.kind != SIMPLE or len(step.outs) != 1 or step.volatile or len(steps) >= STEPS:
            return None
        steps.append(step)
        waiting += step.ins
    return steps, read


def determined(carries: Any, counters: frozenset[int], given: list[Fact], step: Step, trips: int) -> dict[int, Fact]:
    """Set the facts of carries that nothing but the iteration decides; their values after the last one."""
    slots = _slots(carries)
    mine, steps = makers(carries.body, slots, counters)
    values = _each(carries, counters, given, step, trips, (mine, steps, ()), {}) if mine else None
    if values is None:
        return {}
    for i, numbers in values.items():
        carries.now[i] = hull(numbers[:-1])
    return {i: scalar(numbers[-1]) for i, numbers in values.items()}


def looked_at(carries: Any, told: frozenset[int], given: list[Fact], step: Step, trips: int) -> dict[Step, list[Fact]]:
    """By access in the body whose place hangs on such carries, counters and rows: what it is, over all iterations."""
    body, slots = carries.body, _slots(carries)
    accesses, behind = watched(body, slots, told)
    if not accesses:
        return {}
    counters = frozenset(i for i in told if carries.counter(i) is not None)
    mine, steps = makers(body, slots, counters)
    used = [one for one in body.steps if one in behind or one in steps]
    seen: dict[Step, list[Fact]] = {}
    return seen if _each(carries, counters, given, step, trips, (mine, used, accesses), seen) is not None else {}


def _slots(carries: Any) -> dict[int, int]:
    """The slots in which the body is given the carries that it changes."""
    return {i: carries.slot[i] for i in carries.moving if carries.slot[i] >= 0}


def _each(
    carries: Any,
    counters: frozenset[int],
    given: list[Fact],
    step: Step,
    trips: int,
    what: tuple[Sequence[int], list[Step], Sequence[Step]],
    seen: dict[Step, list[Fact]],
) -> dict[int, list[int]] | None:
    """By carry: what it is before each of so many iterations, and after the last; None where that is not one number.

    `what`: the carries, the steps that are run, and the accesses of which it is noted what is `seen` of them.
    """
    mine, steps, accesses = what
    body, shape = carries.body, step.extra
    # A carry may be handed on as it is, to another or to an access.
    read = {slot for one in steps for slot in one.ins}.union(*(one.reads() for one in accesses))
    read.update(body.outs[i] for i in mine)
    counting = [i for i in counters if carries.slot[i] in read]
    firsts = {i: number(carries.first[i]) for i in (*mine, *counting)}
    if not 1 < trips <= LONGEST or trips * (len(steps) + len(accesses)) > ALTOGETHER or None in firsts.values():
        return None
    env, changing = body.template.copy(), list[tuple[int, list[Fact]]]()
    for (position, slot), fact in zip(body.inputs, given, strict=True):
        if position < shape.consts + shape.carry_count:
            env[slot] = fact
        elif slot in read:
            counted = position in shape.counted
            rows = [scalar(at) if counted else row_of(fact, at) for at in range(trips)]
            changing.append((slot, rows[::-1] if step.eqn.params["reverse"] else rows))
    for i in counting:
        # One of which the last iterations wrap counts on, as far as its type goes.
        by, first, info = carries.counter(i), firsts[i] or 0, carries.info[i]
        places = [first + by * turn for turn in range(trips)]
        changing.append((carries.slot[i], [wrapped(at, at, 0, info) for at in places]))
    found = {i: [firsts[i] or 0] for i in mine}
    for turn in range(trips):
        for slot, facts in changing:
            env[slot] = facts[turn]
        for i, numbers in found.items():
            env[carries.slot[i]] = scalar(numbers[-1])
        for one in steps:
            env[one.outs[0]] = _made(one, [env[slot] for slot in one.ins])
        for one in accesses:
            here = column_facts(body, one, env)
            seen[one] = [join(a, b) for a, b in zip(seen[one], here, strict=True)] if one in seen else here
        for i, numbers in found.items():
            value = number(env[body.outs[i]])
            if value is None:
                return None
            numbers.append(value)
    return found


def _made(step: Step, facts: list[Any]) -> Fact:
    """What a step makes of numbers; a select that is decided only looks at the one it takes."""
    if step.eqn.primitive is _SELECT and len(facts) == len(step.eqn.invars) and step.rule is RULES[_SELECT]:
        which = number(facts[0])
        if which is not None:
            taken: Fact = facts[1 + min(max(which, 0), len(facts) - 2)]
            return taken
    try:
        made: Any = None if step.rule is None else step.rule.apply(step.eqn, *facts)
    except Exception:
        # It cannot decide, for sizes without a number: the run says so, or fails and is counted there.
        made = None
    return made if type(made) is Fact else top_of(step.eqn.outvars[0])


def number(fact: Any) -> int | None:
    """The one integer that a fact leaves; None where there are more, or none is known."""
    if fact is None or type(fact.lo) is not int or type(fact.hi) is not int or fact.lo != fact.hi:
        return None
    return int(fact.lo)


def hull(numbers: list[int]) -> Fact:
    """What holds of each of some numbers."""
    least, most = min(numbers), max(numbers)
    return Fact(least, most, 0 if least == most else 1)


def row_of(fact: Fact, at: int | None = None) -> Fact:
    """Any element along the leading dimension, or the one at a place."""
    if type(fact.lo) is not np.ndarray:
        return fact
    if at is not None and len(fact.lo) > 1:
        fact = Fact(fact.lo[at : at + 1], fact.hi[at : at + 1], fact.step, fact.nan)
    lo, hi = fact.lo.min(axis=0), fact.hi.max(axis=0)
    if lo.ndim == 0:
        return settle(lo.item(), hi.item(), fact.nan)
    return settle(lo, hi, fact.nan)
