"""A choice written as arithmetic, `a * ok + b * (1 - ok)`: of a condition that is 0 or 1 it is the one or the other.

So nothing need be known of the products and their sum: each of the two is asked what it is where it is the one. That
holds of integers that wrap, too: times 1 and 0, and with 0 added, each is itself. The same goes for a product alone.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from redzone.engine.anew import is_anew
from redzone.engine.levels import ALL
from redzone.engine.program import Program, Step, made_by, source_of
from redzone.frontend.compat import primitives
from redzone.rules import RULES

_P: Final = primitives()
_SUB: Final = _P["sub_p"]
_ADD: Final = RULES[_P["add_p"]]
_MUL: Final = RULES[_P["mul_p"]]


class Alternatives(NamedTuple):
    """What such a sum is made of."""

    flag: int
    """The slot of the condition."""
    shaped: bool
    """Whether that has an element for each of the sum's; else it is one for all."""
    cases: tuple[tuple[int, bool], tuple[int, bool]]
    """What the sum is where the condition is 0, and where it is 1: the slot, and whether that has such elements."""


def alternatives(program: Program, step: Step) -> Alternatives | None:
    """The two values that a step takes one of, by a condition; None where it is no such sum."""
    key = ("alternatives", step.outs[0])
    if key not in program.memo:
        program.memo[key] = _looked_for(program, step)
    found: Alternatives | None = program.memo[key]
    return found


def negated(program: Program, slot: int) -> int | None:
    """The slot that a number is 1 less of, element by element; None where it is none."""
    key = ("negated", slot)
    if key not in program.memo:
        program.memo[key] = _one_less(program, slot)
    found: int | None = program.memo[key]
    return found


def multiplied(step: Step, factor: int, level: Any) -> tuple[int, Any]:
    """Which slot says what a product is where a factor is 1, and at which level: the other factor, if not spread."""
    other = 0 if step.ins[1] == factor else 1
    shape = step.eqn.invars[other].aval.shape
    if shape and shape != step.eqn.outvars[0].aval.shape:
        return step.outs[0], level
    return step.ins[other], level if shape else ALL


def _looked_for(program: Program, step: Step) -> Alternatives | None:
    if step.rule is not _ADD or len(step.ins) != 2 or not step.yields().integral:
        return None
    shape = step.eqn.outvars[0].aval.shape
    first = _factors(program, step.ins[0], shape)
    second = _factors(program, step.ins[1], shape) if first else []
    for these, those in ((first, second), (second, first)):
        for (flag, shaped), one in these:
            for (other, _), zero in those:
                if program.template[flag] is None and _is_negation(program, other, flag):
                    # Both factors must be made from one number, and not each from one of its own.
                    is_one = flag not in program.unknown and not is_anew(program, flag)
                    return Alternatives(flag, shaped, (zero, one)) if is_one else None
    return None


#: A slot, and whether it has an element for each of the sum's.
_Operand = tuple[int, bool]


def _factors(program: Program, slot: int, shape: Any) -> list[tuple[_Operand, _Operand]]:
    """The two factors of a product of this shape, both ways round; none where it is none, or stretches one of them."""
    made = made_by(program, slot)
    if made is None or made.rule is not _MUL or len(made.ins) != 2 or made.eqn.outvars[0].aval.shape != shape:
        return []
    found: list[_Operand] = []
    for slot, v in zip(made.ins, made.eqn.invars, strict=True):
        own = v.aval.shape
        if own and own != shape:
            return []
        found.append((slot, bool(own)))
    one, other = found
    return [(one, other), (other, one)]


def _one_less(program: Program, slot: int) -> int | None:
    made = made_by(program, slot)
    if made is None or made.primitive is not _SUB or len(made.ins) != 2:
        return None
    one = program.template[made.ins[0]]
    if one is None or one.step != 0 or type(one.lo) is not int or one.lo != 1:
        return None
    is_whole = made.eqn.outvars[0].aval.shape == made.eqn.invars[1].aval.shape
    return source_of(program, made.ins[1]) if is_whole else None


def _is_negation(program: Program, slot: int, flag: int) -> bool:
    """Whether a number is 1 less a flag, element by element."""
    return negated(program, slot) == source_of(program, flag)
