"""Loops inside of loops: what one in the body leaves of a carry that it moves up or down.

How often the inner loop runs may differ each time. But where each of its iterations moves the carry one way, and none
wraps, its result lies on that side of its first value, and no farther from it than the states of the loop are from each
other. And where it is known how often it runs at most, it adds no more than so many times what an iteration adds,
wherever it starts. What is known of those is what was kept of a run with the same facts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from redzone.domains import Fact, dtype_info, summarised
from redzone.engine.continuing import parts_of
from redzone.engine.program import SCAN, WHILE, Ceilings, Links, Program, Step

#: Bounds on how much a body adds to what is in one slot on its way to another; None where nobody knows.
ChangeOf = Callable[[Program, list[Any], int, int, int], Any]


def given_alike(step: Step) -> tuple[int, ...]:
    """Which of the values that a while is given are one, where its condition is looked at part by part.

    By operand, the number of its value; nothing where the condition has no parts.
    """
    given: tuple[int, ...] = step.extra.given
    return given if len(parts_of(step.bodies[1])) > 1 else ()


def scan_key(env: list[Any], step: Step) -> Any:
    """By what a scan is known."""
    # Going through it one by one takes the rows in their order: not what any of them can be, but each.
    given, reverse, shape = tuple([env[s].key() for s in step.ins]), bool(step.eqn.params["reverse"]), step.extra
    return ("scan", shape.length, reverse, shape.counted, given, tuple([env[s].key() for s in shape.inits]))


def while_key(step: Step, inputs: Sequence[Fact], asked: Sequence[Fact], inits: Sequence[Fact]) -> Any:
    """By what a while is known: two may have one body and not one condition, or both and be given other values."""
    return (
        "while",
        step.bodies[1],
        given_alike(step),
        tuple([f.key() for f in inputs]),
        tuple([f.key() for f in asked]),
        tuple([f.key() for f in inits]),
    )


class Rested:
    """What is known of a while that was looked at, given the facts that it is known by."""

    def __init__(self, now: dict[int, Fact], enters: bool, starts: bool, toward: dict[int, Fact]) -> None:
        self.now = now
        """What its carries are whenever its condition is asked."""
        self.enters = enters
        """Whether it may go through its body."""
        self.starts = starts
        """Whether it surely does: its condition cannot fail before."""
        self.toward = toward
        """By carry: what else holds of it while the loop goes on."""
        self.inside: dict[int, Fact] = {}
        """By carry: what else holds where the body starts, by how often it does."""
        self.entered: dict[int, Fact] = {}
        """The same by what is known where its condition held."""
        self.closer: dict[Step, list[Fact]] = {}
        """By access: what it is at, gone through one by one."""
        self.goes_in: dict[int, Fact] | None = None
        """The carries where it goes on; None where that was not asked."""
        self.links: Links = {}
        """What flags among the carries say of others."""
        self.ceilings: Ceilings = {}
        """What carries of loops in the body can be in any state of theirs."""
        self.left: dict[int, Fact] | None = None
        """The carries after it, found without anything that is around it."""
        self.trips: int | None = None
        """How often it goes through its body at most, where somebody knows; a batched one in one lane, until that is
        done."""
        self.last: list[Any] | None = None
        """What is known in its body in any iteration, of running lanes where their number is known."""


def first_of(step: Step, slot: int) -> tuple[int, int]:
    """For a result of a loop, which carry that is and the slot of its first value; -1 where there is none."""
    shape = step.extra
    if slot not in step.outs:
        return -1, -1
    carry = step.outs.index(slot)
    return (carry, shape.inits[shape.carries.index(carry)]) if carry in shape.carries else (-1, -1)


def moved_by(step: Step, env: list[Any], carry: int, change_of: ChangeOf, depth: int) -> tuple[int, int] | None:
    """Bounds on how much a while in a body adds to a carry all in all, in the run that an environment is of.

    Only of one that moves it one way, by constants: an iteration that starts within what is held there does not wrap.
    """
    body, info = step.bodies[0], dtype_info(step.eqn.outvars[carry].aval.dtype)
    slot, known = _slot_of(step, carry), _rested(step, env)
    if slot < 0 or info.kind not in "iu" or known is None or not known.enters or known.goes_in is None:
        return None
    now, held = summarised(known.now[carry]), summarised(known.goes_in[carry])
    by = change_of(body, body.template, slot, body.outs[carry], depth)
    if by is None or any(type(n) is not int for n in (*by, now.lo, now.hi, held.lo, held.hi)):
        return None
    if held.lo + min(by[0], 0) < info.min or held.hi + max(by[1], 0) > info.max:
        return None
    far = now.hi - now.lo
    if by[0] >= 0:
        return (0, far)
    return (-far, 0) if by[1] <= 0 else None


def added_by(step: Step, env: list[Any], carry: int, change_of: ChangeOf, depth: int) -> Any:
    """Bounds on how much a loop in a body adds to a carry all in all, in the run that an environment is of.

    It is added modulo the carry's integer type: so many times at most what an iteration adds, wherever it starts.
    """
    if dtype_info(step.eqn.outvars[carry].aval.dtype).kind not in "iu":
        return None
    one_way = moved_by(step, env, carry, change_of, depth) if step.kind == WHILE else None
    slot, turns, body = _slot_of(step, carry), _turns_of(step, env), step.bodies[0]
    by = change_of(body, turns[0], slot, body.outs[carry], depth) if turns is not None and slot >= 0 else None
    if turns is None or by is None or type(by[0]) is not int or type(by[1]) is not int:
        return one_way
    least, most = by[0] * turns[1], by[1] * turns[1]
    if step.kind == WHILE:
        least, most = min(least, 0), max(most, 0)
    return one_way if one_way is not None and one_way[1] - one_way[0] <= most - least else (least, most)


def _turns_of(step: Step, env: list[Any]) -> tuple[list[Any], Any] | None:
    """What is known in any iteration of a loop in a body, and how many there are at most; of a scan, just so many.

    They may be as many as a size.
    """
    if step.kind == SCAN:
        if any(env[slot] is None for slot in _given(step)):
            return None
        known = step.bodies[0].memo.get(scan_key(env, step))
        return None if known is None else (known[2], step.extra.length)
    rested = _rested(step, env)
    if rested is None or not rested.enters or rested.last is None or rested.trips is None:
        return None
    return rested.last, rested.trips


def _given(step: Step) -> tuple[int, ...]:
    """The slots of all that a loop is given."""
    return (*step.ins, *step.extra.inits)


def _slot_of(step: Step, carry: int) -> int:
    """Where a loop's body keeps a carry when it starts; -1 where it does not look at it."""
    body, consts = step.bodies[0], step.extra.consts
    return next((s for position, s in body.inputs if position - consts == carry), -1)


def _rested(step: Step, env: list[Any]) -> Rested | None:
    """What was found out about a while, in the run that an environment is of."""
    facts, count = [env[slot] for slot in _given(step)], len(step.bodies[0].inputs)
    if None in facts:
        return None
    known: Rested | None = step.bodies[0].memo.get(
        while_key(step, facts[:count], facts[count : len(step.ins)], facts[len(step.ins) :])
    )
    return known
