"""What loops make of an element: which iteration it is, what a carry has moved by, and that the loop goes on.

The lanes of a batched while count each by itself: one that is done keeps what it carries while others go on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redzone.domains import dtype_info, summarised
from redzone.domains.affine import Linear, Region
from redzone.engine.changes import change_of
from redzone.engine.forward import Context
from redzone.engine.program import SCAN, WHILE
from redzone.engine.together import moves
from redzone.prove.pieces import NotAffine, Piece, Place, fitted, key_of
from redzone.prove.reach import NEAR

if TYPE_CHECKING:
    from redzone.prove.elements import Elements


def lanes_of(context: Context) -> int:
    """Along how many dimensions, the first ones, the carries of the batched while that this is a body of have lanes."""
    step = context.step
    return len(step.bodies[1].jaxpr.outvars[0].aval.shape) if step is not None and step.kind == WHILE else 0


def iteration(elements: Elements, context: Context, place: Place = ()) -> Linear:
    """Which iteration of the innermost loop this is, from 0.

    Of a batched while it is how many its lane, told by the place, has gone through: lanes that are done keep what
    they carry while others go on.
    """
    step = context.step
    assert step is not None
    if elements.at_first:
        return Linear(0)
    length, lanes = step.extra.length if step.kind == SCAN else None, lanes_of(context)
    if len(place) < lanes:
        raise NotAffine
    elements.kept.append(context)
    last = length - 1 if type(length) is int else 2**63
    return elements.atom(("t", id(context.env), key_of(place[:lanes])), "t", 0, last)


def moved(
    elements: Elements, context: Context, slot: int, out: int, place: Place, firsts: list[Piece], result: Any
) -> list[Piece]:
    """A carry that each iteration adds something between two numbers to: its first value and what was added."""
    fact, info = summarised(context.env[slot]), dtype_info(result.aval.dtype)
    change = change_of(context.program, context.env, slot, out)
    if change is None or any(type(n) is not int or abs(n) > NEAR for n in change):
        raise NotAffine
    if type(fact.lo) is not int or type(fact.hi) is not int or info.kind not in "iu":
        raise NotAffine
    (low, high), t, within = change, iteration(elements, context, place), list[Linear]()
    added = t * low
    if low != high:
        # A negative iteration is none, so the sum lies between so many times the least and the greatest.
        ((counter, _),) = t.terms.items()
        elements.kept.append(context.env)
        ends = min(0, low * counter.hi), max(0, high * counter.hi)
        added = elements.atom(("s", id(context.env), slot, key_of(place)), "s", *ends)
        within = [added - t * low, t * high - added]
        if not place:
            within += _together(elements, context, (slot, out), added, t)
    # Where one more addition stays inside its type wherever the carry is, none of them wraps.
    wraps = fact.lo + low < info.min or fact.hi + high > info.max
    pieces = []
    for region, first in elements.held(firsts, result.aval.dtype):
        inside = region.where(*within)
        if inside is None:
            continue
        now = first + added
        for part, value in fitted(elements, inside, now, info) if wraps else [(inside, now)]:
            known = part.where(value - fact.lo, Linear(fact.hi) - value)
            if known is not None:
                pieces.append((known, value))
    return pieces


def _together(elements: Elements, context: Context, mine: tuple[int, int], added: Linear, t: Linear) -> list[Linear]:
    """What was added to a carry beside others that move with it: so much together, or so far apart, at each
    iteration."""
    program, via = context.program, context.step
    assert via is not None
    found: list[Linear] = []
    for position, slot in program.inputs:
        at = position - via.extra.consts
        out = program.outs[at] if 0 <= at < len(program.outs) else -1
        if out < 0 or slot == mine[0] or out == slot or (via.kind == SCAN and at >= via.extra.carry_count):
            continue
        for sign in (1, -1):
            bounds = moves(program, mine, (slot, out), sign)
            if bounds is not None and max(map(abs, bounds)) <= NEAR:
                total = added + elements.atom(("s", id(context.env), slot, ()), "s", -(2**63), 2**63) * sign
                found += [total - t * bounds[0], t * bounds[1] - total]
    return found


def goes_on(elements: Elements, context: Context, place: Place) -> list[Region]:
    """The regions in which the while that this is a body of goes on: a lane of it, where it is batched."""
    found = [inside for r, v in _asked(elements, context, place) if (inside := r.where(v - 1)) is not None]
    return found + elements.spilled


def _asked(elements: Elements, context: Context, place: Place) -> list[Piece]:
    """The condition of the while that this is a body of, over this iteration's carries."""
    elements.looks, elements.spilled = elements.limit, []
    test = context.tested
    assert test is not None and context.step is not None and context.parent is not None
    shape, via = context.step.extra, context.step
    body_slots = {p - shape.consts: s for p, s in context.program.inputs if p >= shape.consts}
    offset = len(context.program.inputs)
    for k, (p, slot) in enumerate(test.program.inputs):
        if p < shape.cond_consts:
            source = (context.parent, via.ins[offset + k])
        elif p - shape.cond_consts in body_slots:
            source = (context, body_slots[p - shape.cond_consts])
        else:
            continue
        elements.aliases[id(test.env), slot] = source
    return elements.value(test, test.program.outs[0], place)
