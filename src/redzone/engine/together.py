"""Carries of a loop that move in turn: whichever way an iteration goes, what it adds to both together is the same.

Two cursors of a merge, `i` moved where a condition holds and `j` where it fails, are such: after t iterations they
have moved by t together.
"""

from __future__ import annotations

import functools
import itertools
from typing import Any

from redzone.engine.program import SIMPLE, Program
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

#: How many ways an iteration may move a carry.
WAYS = 8

_ADD, _SUB, _SELECT, _NOT = (primitives()[f"{n}_p"] for n in ("add", "sub", "select_n", "not"))

#: How some conditions, by their slots, come out, and what is added then.
Way = tuple[dict[int, bool], int]


def in_turn(body: Program, one: tuple[int, int], other: tuple[int, int]) -> int | None:
    """What each iteration adds to two carries together; None where that varies.

    Each is given by the slots it comes and goes with. A condition is one slot for both, so that it comes out one way
    in each iteration.
    """
    mine, theirs = ways(body, *one), ways(body, *other)
    if mine is None or theirs is None:
        return None
    sums = {
        a + b
        for (first, a), (second, b) in itertools.product(mine, theirs)
        if all(second.get(slot, truth) == truth for slot, truth in first.items())
    }
    return sums.pop() if len(sums) == 1 else None


def ways(body: Program, first: int, out: int) -> tuple[Way, ...] | None:
    """The ways in which an iteration adds a constant to a carry; None where it does something else."""
    key = ("ways", first, out)
    if key not in body.memo:
        found = _ways(body, first, out, WAYS)
        body.memo[key] = None if found is None or len(found) > WAYS else found
    known: tuple[Way, ...] | None = body.memo[key]
    return known


def _ways(body: Program, first: int, slot: int, depth: int) -> tuple[Way, ...] | None:
    if slot == first:
        return (({}, 0),)
    step = body.defs.get(slot)
    if step is None or step.kind != SIMPLE or depth == 0:
        return None
    follow = functools.partial(_ways, body, first, depth=depth - 1)
    if step.rule is SAME:
        return follow(step.ins[0])
    primitive = step.eqn.primitive
    if primitive is _ADD or primitive is _SUB:
        for k in (0, 1) if primitive is _ADD else (0,):
            by = body.template[step.ins[1 - k]]
            before = follow(step.ins[k]) if by is not None and by.step == 0 and type(by.lo) is int else None
            if before is not None and by is not None:
                return tuple((when, n + (by.lo if primitive is _ADD else -by.lo)) for when, n in before)
        return None
    if primitive is not _SELECT or len(step.ins) != 3 or step.eqn.invars[0].aval.shape != ():
        return None
    condition, turned = _asked(body, step.ins[0])
    found: list[Way] = []
    for k in (0, 1):
        case, truth = follow(step.ins[1 + k]), bool(k) != turned
        if case is None:
            return None
        found += [({**when, condition: truth}, n) for when, n in case if when.get(condition, truth) == truth]
    return tuple(found) if len(found) <= WAYS else None


def _asked(body: Program, slot: int) -> tuple[int, bool]:
    """The condition that a slot is or is the opposite of, and which."""
    turned = False
    while (step := body.defs.get(slot)) is not None and step.kind == SIMPLE:
        if step.rule is not SAME and (step.eqn.primitive is not _NOT or _is_number(step.eqn)):
            break
        turned = turned != (step.rule is not SAME)
        slot = step.ins[0]
    return slot, turned


def _is_number(eqn: Any) -> bool:
    return bool(eqn.outvars[0].aval.dtype != bool)
