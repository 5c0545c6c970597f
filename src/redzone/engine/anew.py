"""Floats that a compiler computes anew wherever they are used, and not each time alike.

What is cheap is computed again by each loop that needs it, in place of being kept. A product that goes into a sum may
be fused with it in one of them, and be rounded by itself in another, where something else looks at the product too: so
`x = a * b + c` may be below 10 where `(x < 10).all()` is computed, and 10 where its floor is. Both lie as near to each
other as the product is rounded, which may be far beside the sum. What is made of such numbers, be it the greater of
one and another or an integer, is not one number either. What is sorted, summed up or carried by a loop is kept
(`engine/kept.py`).

So a comparison of such numbers may come out one way in one place and the other way in another, be it where flags are
counted, looked at all together, or handed out beside what they decide about. Where only the sum reads the product, and
that is the only one in it, all places that go through it element by element fuse the two or none does, and it is one
number if there are no others (`products.is_twofold`).
"""

from __future__ import annotations

import math
from typing import Any, Final

from redzone.domains import DtypeInfo, Fact, dtype_info, summarised
from redzone.engine.moved import LIMITS, MOVES
from redzone.engine.products import ALIKE, DECIDED, ONCE, SUMS, TWOFOLD
from redzone.engine.program import CALL, COND, OBSERVE, SCAN, SIMPLE, WHILE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.floats import slack
from redzone.rules.table import SAME

_P: Final = primitives()
_SELECT: Final = _P["select_n_p"]
_CONVERT: Final = _P["convert_element_type_p"]
#: What is as far from what it was as its operands are.
_PARTING: Final = [_P[f"{n}_p"] for n in ("unstack", "split") if f"{n}_p" in _P]
_AS_FAR: Final = LIMITS | MOVES | {_P["abs_p"], _SELECT, *_PARTING}
#: What makes a whole number of one.
_WHOLE: Final = frozenset(_P[f"{n}_p"] for n in ("floor", "ceil", "round"))
#: How large integers may be for a float that they were made of to be nearly as large as they are.
LARGE: Final = 2.0**16
#: What makes flags of many; and what makes flags that are numbers, or in another place.
_REDUCED: Final = frozenset(_P[f"{n}_p"] for n in ("reduce_and", "reduce_or"))
_MADE_OF_FLAGS: Final = MOVES | {_CONVERT}
#: How many equations are looked through, and how many values that flags are made of.
DEEP: Final = 24
FLAGS: Final = 64


def is_anew(program: Program, slot: int) -> bool:
    """Whether a number, or a bool, may be another one in another place."""
    return slot in computed_anew(program) or are_flags_anew(program, slot)


def apart_by(program: Program, env: list[Any], slot: int, bound: float) -> float:
    """How far a number that is about this large, or is compared with this, may be from itself in another place."""
    return _apart_by(program, env, slot, bound, {}, DEEP) if slot in computed_anew(program) else 0.0


def _apart_by(program: Program, env: list[Any], slot: int, bound: float, known: dict[int, float], deep: int) -> float:
    anew, step = computed_anew(program), program.defs.get(slot)
    if slot not in anew:
        return 0.0
    if step is None or deep == 0:
        return math.inf
    if slot not in known:
        each = [_apart_by(program, env, one, bound, known, deep - 1) for one in step.ins]
        if any(_is_bool(step, k) and are_flags_anew(program, one) for k, one in enumerate(step.ins)):
            # It may be one thing here and another there.
            each.append(math.inf)
        known[slot] = _farther(env, step, each, bound)
    return known[slot]


def _farther(env: list[Any], step: Step, each: list[float], bound: float) -> float:
    """How far apart what a step makes may be, given the same of its operands."""
    primitive, info = step.primitive, step.yields()
    farthest = max(each, default=math.inf)
    if step.rule is SAME or primitive in _AS_FAR:
        return farthest
    if farthest > 0.0:
        if primitive in _WHOLE or (primitive is _CONVERT and info.kind in "iu" and _fits(env, step, (0,), info)):
            # No farther apart than the next whole number. What is compared is not quite as large as what is rounded.
            return farthest if farthest in (1.0, math.inf) else float(math.ceil(farthest + 0.125))
        added = primitive in SUMS and info.kind in "iu" and _fits(env, step, (0, 1), info)
        return sum(each) if added else math.inf
    if primitive not in SUMS:
        return math.inf
    # The product is no farther from zero than the sum and what is added to it.
    reach = min([_reach(env[one]) for one in step.ins])
    return slack(abs(bound) + reach, info) if math.isfinite(bound) and math.isfinite(reach) else math.inf


def _fits(env: list[Any], step: Step, operands: tuple[int, ...], info: DtypeInfo) -> bool:
    """Whether operands are so small that nothing that is made of them wraps or is rounded."""
    return bool(sum([_reach(env[step.ins[k]]) for k in operands]) < min(LARGE, info.max))


def computed_anew(program: Program) -> set[int]:
    """The slots of numbers that may not be the same wherever they are used."""
    found: set[int] | None = program.memo.get("anew")
    if found is None:
        found = program.memo["anew"] = set(program.anew)
        # Most programs have no such sum.
        if found or any(_may_be_first(step) for step in program.steps):
            is_one_of, either = [False] * len(program.template), set(found)
            for slot in found:
                is_one_of[slot] = True
            for step in program.steps:
                if step.kind == SIMPLE and not _may_be_anew(program, step, is_one_of):
                    continue
                more: list[int] = []
                if _is_anew(program, step, either):
                    more = [slot for slot in step.outs if slot >= 0]
                elif step.kind in (SCAN, WHILE):
                    more = _kept_as_they_are(step, either)
                elif _makes_flags(step) and not either.isdisjoint(step.ins):
                    # What is made of them is none of the numbers, if not a number itself.
                    either.update(step.outs)
                    is_one_of[step.outs[0]] = True
                for slot in more:
                    found.add(slot)
                    either.add(slot)
                    is_one_of[slot] = True
    return found


def _kept_as_they_are(step: Step, before: set[int]) -> list[int]:
    """Results of a loop that are what it was given, and may be another number in each place then."""
    shape, body = step.extra, step.bodies[0]
    given = dict(body.inputs)
    found = []
    for k, first in zip(shape.carries, shape.inits, strict=True):
        if first in before and step.outs[k] >= 0 and body.outs[k] == given.get(shape.consts + k, -1) >= 0:
            found.append(step.outs[k])
    return found


def _may_be_first(step: Step) -> bool:
    return step.kind in (COND, SCAN, WHILE, CALL) or (step.kind == SIMPLE and step.primitive in DECIDED)


def _may_be_anew(program: Program, step: Step, before: list[bool]) -> bool:
    """Whether anything of a plain step is to be looked at: one of its operands, or how it is computed itself."""
    for slot in step.ins:
        if before[slot]:
            return True
    return step.primitive in SUMS or (len(program.computed) > 0 and id(step.eqn) in program.computed)


def _is_anew(program: Program, step: Step, before: set[int]) -> bool:
    if step.kind == OBSERVE:
        return False
    if step.kind == CALL:
        # The compiler does away with calls.
        (body,) = step.bodies
        return any(slot >= 0 and is_anew(body, slot) for slot in body.outs) or not before.isdisjoint(step.ins)
    if step.kind != SIMPLE:
        how = program.computed.get(id(step.eqn), ONCE)
        return how == TWOFOLD or (how == ALIKE and not before.isdisjoint(step.reads()))
    info = step.yields()
    if info.kind == "b":
        return False
    # What was not looked at when it was made a step may be anything.
    how = program.computed.get(id(step.eqn), TWOFOLD if step.primitive in SUMS else ALIKE)
    if not info.integral and how != ALIKE:
        return how == TWOFOLD
    return not before.isdisjoint(step.ins)


def _makes_flags(step: Step) -> bool:
    """Whether a step makes bools, each by itself."""
    is_plain = step.kind == SIMPLE and len(step.outs) == 1 and step.outs[0] >= 0
    if not is_plain or (step.eqn.primitive in _REDUCED and step.rule is not SAME):
        return False
    return step.yields().kind == "b"


def _is_bool(step: Step, k: int) -> bool:
    """Whether an operand of a step is a bool."""
    invars = step.eqn.invars
    return k < len(invars) and dtype_info(getattr(invars[k].aval, "dtype", None)).kind == "b"


def are_flags_anew(program: Program, slot: int) -> bool:
    """Whether bools, or numbers that were made of them, may come out in another way in another place."""
    waiting, anew = [slot], computed_anew(program)
    if not anew:
        return False
    for one in waiting:
        step = program.defs.get(one)
        if one in anew or len(waiting) > FLAGS:
            return True
        if step is None or step.kind != SIMPLE:
            continue
        primitive, info = step.primitive, step.yields()
        if (info.kind == "b" and primitive not in _REDUCED) or step.rule is SAME or primitive in _MADE_OF_FLAGS:
            waiting += step.ins
    return False


def _reach(fact: Fact | None) -> float:
    whole = None if fact is None else summarised(fact)
    if whole is None or type(whole.lo) not in (int, float) or type(whole.hi) not in (int, float):
        return math.inf
    return max(abs(float(whole.lo)), abs(float(whole.hi)))
