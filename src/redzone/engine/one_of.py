"""Sums of which one term counts at most, `2 * (x == 1) + 3 * (x == 2)`: a table written as arithmetic.

Each term counts only where a number has a value of the term's own. Where one does, the others are 0: so such a sum is
one of its constants or 0, and to see that nothing has to be assumed and computed anew.
"""

from __future__ import annotations

from typing import Any, Final

from redzone.domains import Fact, dtype_info, join, leq, meet
from redzone.engine.anew import computed_anew
from redzone.engine.program import SIMPLE, Program, Step, made_by
from redzone.frontend.compat import primitives
from redzone.rules import RULES

_P: Final = primitives()
_EQ: Final = _P["eq_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_MUL: Final = RULES[_P["mul_p"]]
_ADD: Final = RULES[_P["add_p"]]

#: A number's slot, and by its values what is added where it has them.
Terms = tuple[int, dict[int, int]]


def with_one_more(program: Program, env: list[Any], step: Step, flag: int) -> tuple[int, Fact] | None:
    """What a sum of such terms is, of which one more counts where a flag is set, and the slot of the number that they
    are told by; None where it is no such sum.

    Without the term it is what the others are: that the number has not the term's value says nothing of them as long
    as it may have several others. With it it is the term.
    """
    for position in (0, 1):
        last = _terms(program, step.ins[position])
        if last is None or len(last[1]) != 1 or not _counts_by(program, step.ins[position], flag):
            continue
        number, others = last[0], _terms(program, step.ins[1 - position])
        if others is None or others[0] != number or not others[1].keys().isdisjoint(last[1]):
            continue
        if number in program.unknown or number in computed_anew(program):
            continue
        ((value, added),) = last[1].items()
        known, whole, rest = env[number], env[step.outs[0]], env[step.ins[1 - position]]
        if type(known.lo) is not int or type(known.hi) is not int or not known.lo <= value <= known.hi > known.lo + 1:
            continue
        if known.step != 1 or type(whole.lo) is not int or type(rest.lo) is not int:
            continue
        without, alone = meet(whole, rest), meet(whole, Fact(added, added, 0))
        if without is None or alone is None or leq(whole, without):
            return number, whole
        return number, join(without, alone)
    return None


def _terms(program: Program, slot: int) -> Terms | None:
    """The terms that a slot is the sum of, if no two of them count at once."""
    key = ("terms", slot)
    if key not in program.memo:
        program.memo[key] = _looked_for(program, slot)
    found: Terms | None = program.memo[key]
    return found


def _looked_for(program: Program, slot: int) -> Terms | None:
    made = made_by(program, slot)
    if made is None or len(made.ins) != 2 or not dtype_info(made.eqn.outvars[0].aval.dtype).integral:
        return None
    if made.rule is _MUL:
        for factor, flag in (made.ins, made.ins[::-1]):
            by, tested = program.template[factor], _tested(program, flag, made.eqn.outvars[0].aval.shape)
            if by is not None and by.step == 0 and type(by.lo) is int and tested is not None:
                return tested[0], {tested[1]: by.lo}
        return None
    if made.rule is not _ADD:
        return None
    one, other = _terms(program, made.ins[0]), _terms(program, made.ins[1])
    if one is None or other is None or one[0] != other[0] or not one[1].keys().isdisjoint(other[1]):
        return None
    return one[0], one[1] | other[1]


def _tested(program: Program, flag: int, shape: Any) -> tuple[int, int] | None:
    """The number and the value of it that a flag, of this shape as the number is, says is there."""
    made = made_by(program, flag)
    if made is None or made.primitive is not _CONVERT:
        return None
    test = made_by(program, made.ins[0])
    if test is None or test.kind != SIMPLE or test.primitive is not _EQ or test.eqn.invars[0].aval.shape != shape:
        return None
    value = program.template[test.ins[1]]
    integral = dtype_info(test.eqn.invars[0].aval.dtype).kind in "iu"
    if not integral or value is None or value.step != 0 or type(value.lo) is not int:
        return None
    return test.ins[0], value.lo


def _counts_by(program: Program, slot: int, flag: int) -> bool:
    """Whether a term is a multiple of this very flag."""
    made = made_by(program, slot)
    return made is not None and flag in made.ins
