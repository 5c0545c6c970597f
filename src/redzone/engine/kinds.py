"""The equations that a condition is followed back through, and so the values it can say more about."""

from __future__ import annotations

from typing import Any, Final

from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.program import BITS, COND, SIGNATURE, SIMPLE, Program
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME


def _table(**names: str) -> dict[Any, str]:
    known = primitives()
    return {known[name + "_p"]: kind for name, kind in names.items() if name + "_p" in known}


_CONVERT: Final = primitives()["convert_element_type_p"]
KIND: Final = _table(
    lt="lt",
    le="le",
    gt="gt",
    ge="ge",
    eq="eq",
    ne="ne",
    add="add",
    sub="sub",
    mul="mul",
    integer_pow="power",
    square="power",
    neg="neg",
    div="div",
    max="max",
    min="min",
    clamp="clamp",
    sign="sign",
    abs="abs",
    floor="floor",
    ceil="ceil",
    convert_element_type="convert",
    select_n="select",
    rem="rem",
    broadcast_in_dim="move",
    reshape="move",
    squeeze="move",
    transpose="move",
    rev="move",
    slice="move",
    concatenate="joined",
    stack="stacked",
    reduce_and="every",
    reduce_or="some",
    reduce_max="most",
    reduce_min="least",
    argmax="first",
    copy="same",
    stop_gradient="same",
    sharding_constraint="same",
    pvary="same",
    shift_right_arithmetic="shift",
    shift_right_logical="shift",
    dynamic_slice="read",
    gather="read",
)


KIND.update({primitives()[n + "_p"]: n for n in ("and", "or", "not")})
_DIVIDING: Final = (FLOOR_DIVIDE, REMAINDER)


def narrows(program: Program, slot: int) -> int:
    """Which values assuming something of this one can say more about: a set of bits as of `Program.behind`."""
    known, template, defs = program.narrowing, program.template, program.defs
    if len(known) < len(template):
        known += [0] * (len(template) - len(known))
    if known[slot]:
        return known[slot]
    compared, searched = program.compared(), program.searched()
    waiting = [slot]
    while waiting:
        at = waiting[-1]
        if known[at]:
            waiting.pop()
            continue
        mask, step, count = BITS[at % SIGNATURE], defs.get(at), len(waiting)
        if step is None:
            again = program.equal.get(at)
            if again is not None:
                if not known[again]:
                    waiting.append(again)
                    continue
                mask |= known[again]
        elif step.kind == SIMPLE:
            if step.primitive in KIND or step.rule is SAME or step.rule in _DIVIDING:
                for source in step.ins:
                    if template[source] is None:
                        behind = known[source]
                        if behind:
                            mask |= behind
                        else:
                            waiting.append(source)
                if len(waiting) > count:
                    continue
            if compared:
                others = compared.get(step.ins)
                if others is not None:
                    for _, other in others:
                        mask |= BITS[other % SIGNATURE]
            if searched and len(step.ins) == 2:
                for pair in (step.ins, step.ins[::-1]):
                    for place in searched.get(pair, ()):
                        mask |= BITS[place.out % SIGNATURE]
        elif step.kind == COND:
            # What else its branches yield, and which was taken, as far as a number says that.
            for out in step.outs:
                mask |= BITS[out % SIGNATURE] if out >= 0 else 0
            waiting += [source for source in step.ins if template[source] is None and not known[source]]
            if len(waiting) > count:
                continue
            for source in step.ins:
                mask |= known[source]
        known[at] = mask
        waiting.pop()
    return known[slot]


def asked_by(program: Program, slot: int) -> int:
    """The bool that a branch number was made from, if it was; the number itself elsewhere."""
    step = program.defs.get(slot)
    if step is not None and step.kind == SIMPLE and step.primitive is _CONVERT:
        return step.ins[0] if step.given().kind == "b" else slot
    return slot
