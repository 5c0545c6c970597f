"""How often the body of a while can run: counters that its condition bounds."""

from __future__ import annotations

import itertools
from typing import Any, Final

from redzone.domains import Fact, dtype_info, scalar, summarised
from redzone.engine.carried import Carries
from redzone.engine.changes import Ends
from redzone.engine.continuing import Condition
from redzone.engine.idioms import FLOOR_DIVIDE
from redzone.engine.program import SIMPLE, Program, made_by, source_of
from redzone.engine.together import moves, moves_where, ways
from redzone.frontend.compat import primitives

#: Among how many carries two are looked for that move on together.
PAIRED: Final = 8

_NE: Final = primitives()["ne_p"]
_ADD: Final = primitives()["add_p"]
_SUB: Final = primitives()["sub_p"]
_AND: Final = primitives()["and_p"]
_XOR: Final = primitives()["xor_p"]
_NEG: Final = primitives()["neg_p"]
_SCALING: Final = frozenset(
    primitives()[f"{n}_p"] for n in ("mul", "div", "shift_left", "shift_right_arithmetic", "shift_right_logical")
)


def most_trips(carries: Carries, held: dict[int, Fact] | None, env: list[Any] | None) -> int | None:
    """How often the body can run at most, from a carry that each iteration moves on and that its condition bounds.

    Wherever the body starts the carry is within what is held there, which it can be no more often than the least that
    it is moved by fits in there: from one start to the next it goes that far at least, one way, and never wraps.
    Without an environment of the body, or where it is of running lanes alone, only constants that are added count.
    """
    if held is None:
        return 0
    best: int | None = None
    for i in carries.moving:
        first, inside = summarised(carries.first[i]), summarised(held[i])
        if any(type(bound) is not int for bound in (first.lo, first.hi, inside.lo, inside.hi)):
            continue
        by = _moved_on(carries, i, inside, env)
        if by is None or by[0] <= 0 <= by[1]:
            continue
        far = inside.hi - first.lo if by[0] > 0 else first.hi - inside.lo
        if far >= 0:
            count = far // min(abs(by[0]), abs(by[1])) + 1
            best = count if best is None else min(best, count)
    return best


def _moved_on(carries: Carries, i: int, inside: Fact, env: list[Any] | None) -> tuple[int, int] | None:
    """How much an iteration that starts with a carry in these bounds changes it; None where that is not known.

    What it adds does not wrap. Where it sets the carry to something else that counts as what it is apart from there.
    """
    info, constant = carries.info[i], carries.counter(i)
    if constant:
        added: Ends | None = (constant, constant)
        set_to: Ends | None = None
    else:
        change = None
        if env is not None and carries.slot[i] >= 0 and info.kind in "iu":
            change = carries.changed(env, i)
        if change is None:
            return None
        added, set_to = change.added, change.set_to
    ends: list[Any] = []
    if added is not None:
        if type(added[0]) is not int or type(added[1]) is not int:
            return None
        if not (info.min <= inside.lo + min(added[0], 0) and inside.hi + max(added[1], 0) <= info.max):
            return None
        ends += added
    if set_to is not None:
        ends += [set_to[0] - inside.hi, set_to[1] - inside.lo]
    return (min(ends), max(ends)) if ends and all(type(end) is int for end in ends) else None


def most_trips_of_two(carries: Carries, condition: Condition) -> int | None:
    """The same from two carries of which each iteration moves one: their sum, or their difference, is a counter."""
    if condition.batched or len(carries.moving) > PAIRED:
        return None
    held = [way for way, _ in condition.ways(carries.now)] or [condition.when(carries.now, 1) or carries.now]
    ends = {i: (carries.slot[i], carries.body.outs[i]) for i in carries.moving if _stays(carries, i, held)}
    best: int | None = None
    for (i, one), (j, other) in itertools.combinations(ends.items(), 2):
        for sign in (1, -1):
            by = moves(carries.body, one, other, sign) or _moves(carries, one, other, sign, held)
            if by is not None and by[0] <= 0 <= by[1]:
                by = _moves(carries, one, other, sign, held)
            if by is None or by[0] <= 0 <= by[1]:
                continue
            first = _sum(carries.first[i], carries.first[j], sign)
            inside = [_sum(way[i], way[j], sign) for way in held]
            if by[0] > 0:
                far = max(hi for _, hi in inside) - first[0]
            else:
                far = first[1] - min(lo for lo, _ in inside)
            if far >= 0:
                count = far // min(abs(by[0]), abs(by[1])) + 1
                best = count if best is None else min(best, count)
    return best


def _moves(
    carries: Carries, one: tuple[int, int], other: tuple[int, int], sign: int, held: list[dict[int, Fact]]
) -> tuple[int, int] | None:
    """What an iteration adds to two carries together, whichever way the loop goes on."""
    found = []
    for way in held:
        by = moves_where(carries.body, one, other, sign, {carries.slot[i]: fact for i, fact in way.items()})
        if by is None:
            return None
        found.append(by)
    return (min(lo for lo, _ in found), max(hi for _, hi in found)) if found else None


def _stays(carries: Carries, i: int, held: list[dict[int, Fact]]) -> bool:
    """Whether a carry is an integer to which each iteration adds a constant, and never so that it wraps."""
    facts, info = [summarised(way[i]) for way in (carries.first, *held)], carries.info[i]
    if info.kind not in "iu" or any(type(f.lo) is not int or type(f.hi) is not int for f in facts):
        return False
    added = [n for _, n in ways(carries.body, carries.slot[i], carries.body.outs[i]) or ()]
    if not added:
        return False
    return bool(min(f.lo for f in facts) + min(added) >= info.min and max(f.hi for f in facts) + max(added) <= info.max)


def _sum(a: Fact, b: Fact, sign: int) -> tuple[int, int]:
    a, b = summarised(a), summarised(b)
    return (a.lo + b.lo, a.hi + b.hi) if sign > 0 else (a.lo - b.hi, a.hi - b.lo)


def most_trips_of_bits(carries: Carries, condition: Condition) -> int | None:
    """The same from a number of which each iteration clears the lowest bit, and that is not 0 while the loop goes on.

    Of a number that is not 0 exactly one bit is cleared, also of a negative one and where `x - 1` wraps: so the body
    runs no more often than the first value has bits.
    """
    if condition.batched:
        return None
    best: int | None = None
    for i in carries.moving:
        if not clears_lowest_bit(carries.body, carries.slot[i], carries.body.outs[i]):
            continue
        first, info = summarised(carries.first[i]), carries.info[i]
        if type(first.lo) is not int or type(first.hi) is not int:
            continue
        if condition.when({**carries.now, i: scalar(0)}, 1) is None:
            count = int(first.hi).bit_length() if first.lo >= 0 else info.bits
            best = count if best is None else min(best, count)
    return best


def clears_lowest_bit(body: Program, first: int, out: int) -> bool:
    """Whether a loop makes `x & (x - 1)` of an integer, or takes `x & -x` from it."""
    made = made_by(body, out)
    if first < 0 or first in body.unknown or made is None or len(made.ins) != 2:
        return False
    aval, primitive = made.eqn.outvars[0].aval, made.primitive
    if aval.shape != () or dtype_info(aval.dtype).kind not in "iu":
        return False
    for one, other in (made.ins, made.ins[::-1]):
        if source_of(body, one) == first and primitive is _AND and _is_one_less(body, first, other):
            return True
        if source_of(body, one) == first and primitive is _XOR and _is_lowest_bit(body, first, other):
            return True
    return primitive is _SUB and source_of(body, made.ins[0]) == first and _is_lowest_bit(body, first, made.ins[1])


def _is_one_less(body: Program, first: int, slot: int) -> bool:
    """Whether a value is `x - 1`, as the machine computes it."""
    made = made_by(body, slot)
    if made is None or len(made.ins) != 2:
        return False
    info = dtype_info(made.eqn.outvars[0].aval.dtype)
    if made.primitive is _SUB:
        return source_of(body, made.ins[0]) == first and _number(body, made.ins[1]) == 1
    minus_one = -1 if info.kind == "i" else info.max
    return made.primitive is _ADD and any(
        source_of(body, one) == first and _number(body, other) == minus_one for one, other in (made.ins, made.ins[::-1])
    )


def _is_lowest_bit(body: Program, first: int, slot: int) -> bool:
    """Whether a value is `x & -x`."""
    made = made_by(body, slot)
    if made is None or made.primitive is not _AND:
        return False
    for one, other in (made.ins, made.ins[::-1]):
        negative = made_by(body, other)
        if negative is not None and negative.eqn.primitive is _NEG and source_of(body, one) == first:
            return source_of(body, negative.ins[0]) == first
    return False


def _number(body: Program, slot: int) -> int | None:
    """The integer that a value is in every run."""
    fact = body.template[slot] if slot >= 0 else None
    return None if fact is None or fact.step != 0 or type(fact.lo) is not int else fact.lo


def toward(carries: Carries, condition: Condition) -> dict[int, Fact]:
    """Counters that go one by one toward a number that stays, from before it, as long as they are not there: `c != n`.

    They never get past it, so while the loop goes on they are on this side.
    """
    test, looked = condition.test, dict(condition.looked)
    made = test.defs.get(test.outs[0])
    if condition.batched or made is None or made.kind != SIMPLE or made.primitive is not _NE:
        return {}
    places = {slot: place for place, (_, slot) in enumerate(test.inputs)}
    for mine, other in ((0, 1), (1, 0)):
        carry, end = looked.get(places.get(made.ins[mine], -1), -1), places.get(made.ins[other], -1)
        by = carries.counter(carry) if carry in carries.moving else None
        if by not in (1, -1) or looked.get(end, -1) in carries.moving:
            continue
        fact = condition.asked[end] if end >= 0 else test.template[made.ins[other]]
        if fact is None:
            continue
        goal, first = summarised(fact), summarised(carries.first[carry])
        if any(type(bound) is not int for bound in (goal.lo, goal.hi, first.lo, first.hi)):
            continue
        if by == 1 and first.hi <= goal.lo and first.lo < goal.hi:
            return {carry: Fact(first.lo, goal.hi - 1)}
        if by == -1 and goal.hi <= first.lo and goal.lo < first.hi:
            return {carry: Fact(goal.lo + 1, first.hi)}
    return {}


def scales(carries: Carries) -> bool:
    """Whether an integer is multiplied or divided from one iteration to the next: then a loop ends after few."""
    for i in carries.moving:
        step = carries.body.defs.get(carries.body.outs[i]) if carries.info[i].kind in "iu" else None
        if step is not None and step.kind == SIMPLE and (step.primitive in _SCALING or step.rule is FLOOR_DIVIDE):
            return True
    return False
