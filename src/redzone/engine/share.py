"""Shares of a whole: exponentials divided by their own sum, as softmax does, lie between 0 and 1, or are NaN.

Rounding is monotone, so a sum of numbers none of which is negative, added in any order, is at least each of them:
the quotient of one by the sum is at most 1. Where the sum is 0 or infinite the quotient is 0 or NaN. Only
exponentials count: they are no negative zero, and none is so small that it counts as zero in the sum but not in
the quotient. The numerator and what is summed must be the same array, and each sum must stand beside the
elements it was made from.

A quotient of other numbers that are not negative, `mask / mask.sum()`, is not negative either, or NaN, unless what is
divided by is a negative zero. A zero that was converted from an integer is none, nor is a sum of such.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

from redzone.domains import Fact, dtype_info, meet, summarised
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

_P: Final = primitives()
_EXP: Final = _P["exp_p"]
_SUM: Final = _P["reduce_sum_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_ABS: Final = _P["abs_p"]
_SUB: Final = _P["sub_p"]
_MOVES: Final = (_BROADCAST, _P["reshape_p"], _P["squeeze_p"])

#: A division may be done by a product with a reciprocal, rounded once more.
SHARE: Final = Fact(0.0, 1.001, 1, True)
NOT_NEGATIVE: Final = Fact(0.0, math.inf, 1, True)

#: How many steps are looked through.
DEEP: Final = 8


class Share(NamedTuple):
    """A quotient of which something is known from how its operands are made."""

    whole: bool
    """Whether it is a share of the sum of its numerators; else it is divided by something that is no negative zero."""

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What such a quotient can be, of which `plain` is what the rule says."""
        if type(plain.lo) is not float:
            return plain
        if self.whole:
            return meet(plain, SHARE) or plain
        if all(summarised(env[slot]).lo >= 0 for slot in step.ins):
            return meet(plain, NOT_NEGATIVE) or plain
        return plain


def share_of(program: Program, step: Step) -> Share | None:
    """For a quotient of floats: how its operands are made, if that says something."""
    whole = is_share(program, step)
    return Share(whole) if whole or _is_by_positive(program, step) else None


def _is_by_positive(program: Program, step: Step) -> bool:
    """Whether a division of floats is by something that is no negative zero."""
    info = dtype_info(step.eqn.outvars[0].aval.dtype)
    return len(step.ins) == 2 and info.kind == "f" and info.bits >= 32 and _no_negative_zero(program, step.ins[1], DEEP)


def _no_negative_zero(program: Program, slot: int, deep: int) -> bool:
    """Whether a float is never -0, from how it is made.

    A difference that is zero is +0 unless it is -0 - 0, and numbers far from the smallest do not round to zero: so
    neither an integer taken from a constant that is not zero nor a sum of integers is -0. Nor is a sum of numbers
    none of which is negative or -0.
    """
    known = program.template[slot]
    if known is not None:
        return not known.kept and bool(known.lo > 0)
    made = program.defs.get(slot)
    if made is None or made.kind != SIMPLE or deep == 0:
        return False
    primitive = made.primitive
    if made.rule is SAME or primitive in _MOVES or primitive is _SUM:
        return _no_negative_zero(program, made.ins[0], deep - 1)
    return primitive in (_EXP, _ABS) or _is_integer(program, slot)


def _is_integer(program: Program, slot: int) -> bool:
    """Whether a float was an integer, or is one taken from a whole number that is not zero."""
    made = program.defs.get(slot)
    while made is not None and made.kind == SIMPLE and (made.rule is SAME or made.primitive in _MOVES):
        made = program.defs.get(made.ins[0])
    if made is None or made.kind != SIMPLE:
        return False
    if made.primitive is _CONVERT:
        return bool(dtype_info(made.eqn.invars[0].aval.dtype).integral)
    if made.primitive is not _SUB:
        return False
    known = program.template[made.ins[0]]
    if known is None or known.kept or known.lo != known.hi or known.lo == 0 or known.lo != math.floor(known.lo):
        return False
    return _is_integer(program, made.ins[1])


def is_share(program: Program, step: Step) -> bool:
    """Whether a division's result is a share of the sum of its numerators."""
    eqn = step.eqn
    out = eqn.outvars[0].aval
    if len(step.ins) != 2 or dtype_info(out.dtype).kind != "f" or dtype_info(out.dtype).bits < 32:
        return False
    above, spread = (_maker(program, slot, v) for slot, v in zip(step.ins, eqn.invars, strict=True))
    if above is None or above.eqn.primitive is not _EXP or eqn.invars[0].aval.shape != out.shape:
        return False
    if spread is None or spread.eqn.primitive is not _BROADCAST:
        return False
    total = _maker(program, spread.ins[0], spread.eqn.invars[0])
    if total is None or total.eqn.primitive is not _SUM or total.eqn.invars[0] is not eqn.invars[0]:
        return False
    rest = tuple(d for d in range(len(out.shape)) if d not in total.eqn.params["axes"])
    sizes = [n if d in rest else 1 for d, n in enumerate(out.shape)]
    shape = spread.eqn.params["shape"]
    beside = all(m in (n, full) for m, n, full in zip(shape, sizes, out.shape, strict=False))
    return tuple(spread.eqn.params["broadcast_dimensions"]) == rest and len(shape) == len(out.shape) and beside


def _maker(program: Program, slot: int, variable: Any) -> Step | None:
    """The step that makes a value, if its equation is the one that defines this variable."""
    step = program.defs.get(slot)
    if step is None or step.kind != SIMPLE or not any(v is variable for v in step.eqn.outvars):
        return None
    return step
