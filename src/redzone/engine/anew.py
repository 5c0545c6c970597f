"""Floats that a compiler computes anew wherever they are used, and not each time alike.

What is cheap is computed again by each loop that needs it, in place of being kept. A product that goes into a sum may
be fused with it in one of them, and be rounded by itself in another, where something else looks at the product too: so
`x = a * b + c` may be below 10 where `(x < 10).all()` is computed, and 10 where its floor is. Both lie as near to each
other as the product is rounded, which may be far beside the sum. What is made of such numbers, be it the greater of
one and another or an integer, is not one number either. What is sorted, summed up or carried by a loop is kept.

So a comparison of such numbers may come out one way where flags are counted, or looked at all together, and the other
way for one of them. Beside each other, in equations that take elements one by one, flags are taken to be the same.
"""

from __future__ import annotations

import math
from typing import Any

from redzone.domains import DtypeInfo, Fact, dtype_info, summarised
from redzone.engine.program import SIMPLE, Program, Step
from redzone.engine.rounding import KEPT, LIMITS, MOVES, PRODUCTS
from redzone.frontend.compat import primitives
from redzone.rules.floats import slack
from redzone.rules.table import SAME

_P = primitives()
_ADD, _SUB, _MUL, _DIV, _SELECT = (_P[f"{n}_p"] for n in ("add", "sub", "mul", "div", "select_n"))
_CONVERT = _P["convert_element_type_p"]
#: What is as far from what it was as its operands are.
_AS_FAR = LIMITS | MOVES | {_P["abs_p"], _SELECT, *[_P[f"{n}_p"] for n in ("unstack", "split") if f"{n}_p" in _P]}
#: What makes a whole number of one.
_WHOLE = frozenset(_P[f"{n}_p"] for n in ("floor", "ceil", "round"))
#: How large integers may be for a float that they were made of to be nearly as large as they are.
LARGE = 2.0**16
#: What makes flags of many; and what makes flags that are numbers, or in another place.
_REDUCED = frozenset(_P[f"{n}_p"] for n in ("reduce_and", "reduce_or"))
_MADE_OF_FLAGS = MOVES | {_CONVERT}
#: How many equations are looked through, and how many values that flags are made of.
DEEP = 24
FLAGS = 64


def apart_by(program: Program, env: list[Any], slot: int, bound: float) -> float:
    """How far a number that is about this large, or is compared with this, may be from itself in another place."""
    return _apart_by(program, env, slot, bound, {}, DEEP) if slot in _anew(program) else 0.0


def _apart_by(program: Program, env: list[Any], slot: int, bound: float, known: dict[int, float], deep: int) -> float:
    anew, step = _anew(program), program.defs.get(slot)
    if slot not in anew:
        return 0.0
    if step is None or deep == 0:
        return math.inf
    if slot not in known:
        each = [_apart_by(program, env, one, bound, known, deep - 1) for one in step.ins]
        known[slot] = _farther(env, step, each, bound)
    return known[slot]


def _farther(env: list[Any], step: Step, each: list[float], bound: float) -> float:
    """How far apart what a step makes may be, given the same of its operands."""
    primitive, info = step.eqn.primitive, dtype_info(step.eqn.outvars[0].aval.dtype)
    farthest = max(each)
    if step.rule is SAME or primitive in _AS_FAR:
        return farthest
    if farthest > 0.0:
        if primitive in _WHOLE or (primitive is _CONVERT and info.kind in "iu" and _fits(env, step, (0,), info)):
            # No farther apart than the next whole number. What is compared is not quite as large as what is rounded.
            return farthest if farthest in (1.0, math.inf) else float(math.ceil(farthest + 0.125))
        added = (primitive is _ADD or primitive is _SUB) and info.kind in "iu" and _fits(env, step, (0, 1), info)
        return sum(each) if added else math.inf
    if primitive is not _ADD and primitive is not _SUB:
        return math.inf
    # The product is no farther from zero than the sum and what is added to it.
    reach = min([_reach(env[one]) for one in step.ins])
    return slack(abs(bound) + reach, info) if math.isfinite(bound) and math.isfinite(reach) else math.inf


def _fits(env: list[Any], step: Step, operands: tuple[int, ...], info: DtypeInfo) -> bool:
    """Whether operands are so small that nothing that is made of them wraps or is rounded."""
    return bool(sum([_reach(env[step.ins[k]]) for k in operands]) < min(LARGE, info.max))


def _anew(program: Program) -> set[int]:
    """The slots of numbers that may not be the same wherever they are used."""
    found: set[int] | None = program.memo.get("anew")
    if found is None:
        found = program.memo["anew"] = set(program.anew)
        for step in program.steps:
            if step.kind == SIMPLE and _is_anew(program, step, found):
                found.update([slot for slot in step.outs if slot >= 0])
    return found


def _is_anew(program: Program, step: Step, before: set[int]) -> bool:
    primitive, info = step.eqn.primitive, dtype_info(getattr(step.eqn.outvars[0].aval, "dtype", None))
    if info.kind not in "fiu" or primitive in KEPT:
        return False
    if not before.isdisjoint(step.ins):
        return True
    if info.kind != "f" or (primitive is not _ADD and primitive is not _SUB):
        return False
    return any(_is_product(program, one) for one in step.ins)


def are_flags_anew(program: Program, slot: int) -> bool:
    """Whether bools, or numbers that were made of them, may come out in another way in another place."""
    waiting, anew = [slot], _anew(program)
    for one in waiting:
        step = program.defs.get(one)
        if one in anew or len(waiting) > FLAGS:
            return True
        if step is None or step.kind != SIMPLE:
            continue
        primitive, info = step.eqn.primitive, dtype_info(getattr(step.eqn.outvars[0].aval, "dtype", None))
        if (info.kind == "b" and primitive not in _REDUCED) or step.rule is SAME or primitive in _MADE_OF_FLAGS:
            waiting += step.ins
    return False


def _is_product(program: Program, slot: int) -> bool:
    """Whether a number may be a product that is rounded: one with a power of two is exact, as a quotient by it is."""
    if slot in program.unknown:
        return True
    step = program.defs.get(slot)
    while step is not None and step.kind == SIMPLE and _is_moved(step):
        step = program.defs.get(step.ins[0])
    if step is None or step.kind != SIMPLE or step.eqn.primitive not in PRODUCTS:
        return False
    exact = step.ins if step.eqn.primitive is _MUL else step.ins[1:] if step.eqn.primitive is _DIV else ()
    return not any(_is_power_of_two(program.template[one]) for one in exact)


def _is_moved(step: Step) -> bool:
    """Whether a step only puts a float elsewhere, or gives it another type, which the compiler may leave out."""
    if step.eqn.primitive is _CONVERT:
        return bool(dtype_info(step.eqn.invars[0].aval.dtype).kind == "f")
    return step.rule is SAME or step.eqn.primitive in MOVES


def _is_power_of_two(fact: Fact | None) -> bool:
    if fact is None or fact.step != 0 or type(fact.lo) is not float or not fact.lo or not math.isfinite(fact.lo):
        return False
    return abs(math.frexp(fact.lo)[0]) == 0.5


def _reach(fact: Fact | None) -> float:
    whole = None if fact is None else summarised(fact)
    if whole is None or type(whole.lo) not in (int, float) or type(whole.hi) not in (int, float):
        return math.inf
    return max(abs(float(whole.lo)), abs(float(whole.hi)))
