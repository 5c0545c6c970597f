"""Floats of which the last digit decides: `(uniform * n)` stays below n, and `x - floor(x)` below 1 or at it.

XLA may fuse a product with the sum it goes into, which leaves it unrounded, or compute in a wider type; either way the
result lies between the exact one and the nearest float. But it also makes `(x * 3) * 5` a product with 15, and a sum
of a sum and a constant one sum: there the digits of the middle are other ones. So it is looked at what makes the
operands.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import Fact, dtype_info, summarised
from redzone.engine.moved import CONSTANT, GIVEN, INPUT, LIMITS, made_by, named, source
from redzone.engine.products import is_kept, is_one, may_be_product
from redzone.frontend.compat import Literal, primitives
from redzone.rules import Rule, floats

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

_P: Final = primitives()
#: What no compiler takes apart to put a product or sum of its own together; of limits, those that limit anything.
APART = LIMITS | named("floor", "ceil", "round", "dynamic_slice", "gather")
APART |= {CONSTANT, INPUT, _P["convert_element_type_p"]}
#: What is rounded wherever it is used, as a sum is, or is no product that was selected or put beside others.
_NO_PRODUCTS = APART | named("add", "sub", "rem", "abs", "sqrt", "exp", "exp2", "log", "log1p", "sin", "cos", "tanh")
_NO_PRODUCTS |= named("logistic", "select_n", "cumsum", "cummax", "cummin", "sort")
_READS: Final = named("dynamic_slice", "gather")
_ADD: Final = _P["add_p"]
_SUB: Final = _P["sub_p"]
_MUL: Final = _P["mul_p"]
_FLOOR: Final = _P["floor_p"]
#: What a compiler may fuse with what makes its operands, or put its constants together with theirs.
PUT_TOGETHER: Final = named("add", "sub", "mul", "div", "dot_general", "integer_pow", "square", "reduce_sum", "cumsum")
#: By primitive: what may make its operands for it to be rounded once.
_BEFORE: Final = {_MUL: APART | {_ADD, _SUB}, _ADD: APART | {_MUL}, _SUB: APART | {_MUL}}


def _once(function: Any) -> Rule:
    def apply(eqn: Any, a: Fact, b: Fact) -> Fact:
        found: Fact = function(a, b, dtype_info(eqn.outvars[0].aval.dtype), True)
        return found

    return Rule(apply, pointwise=True)


def _fraction(eqn: Any, a: Fact, b: Fact) -> Fact:
    """What is left of a number above a whole one is exact where it is not negative; a little below zero it is 1."""
    a = summarised(a)
    if not (math.isfinite(a.lo) and math.isfinite(a.hi)):
        return Fact(0.0, 1.0, 1, True)
    return Fact(0.0, 1.0 - 2.0**-24 if a.lo >= 0 else 1.0, 1, a.nan)


_FRACTION: Final = Rule(_fraction, pointwise=True)
_ONCE: Final = {_MUL: _once(floats.mul), _ADD: _once(floats.add), _SUB: _once(floats.sub)}
ROUNDS: Final = frozenset(_ONCE)
ORDERS: Final = named("lt", "le", "gt", "ge")
#: The rule of a sum that is rounded once.
ADDED_ONCE: Final = _ONCE[_ADD]


def rounded_once(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a product, sum or difference of float32 that is rounded once; None where that is not known."""
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if info.kind != "f" or info.bits != 32:
        return None
    if eqn.primitive is _SUB and _is_fraction(frame, *eqn.invars):
        return _FRACTION
    before = _BEFORE[eqn.primitive]
    return _ONCE[eqn.primitive] if all(_is_before(frame, atom, before) for atom in eqn.invars) else None


def _is_before(frame: Frame, atom: Any, before: frozenset[Any]) -> bool:
    """Whether one of these makes a number, or a while carries it from one iteration to the next."""
    frame, atom, made = source(frame, atom)
    return made in before or (made is GIVEN and is_kept(frame.slicer, atom))


def is_limited(frame: Frame, atom: Any) -> bool:
    """Whether a number is held between others by the last that is done to it."""
    return made_by(frame, atom) in LIMITS


def settled(frame: Frame, atom: Any) -> str:
    """Whether a number is one wherever it is used: "constant" or "rounded", or "read", of what may be a product yet."""
    frame, atom, made = source(frame, atom)
    if made is CONSTANT:
        return "constant"
    if made is _SUB:
        return "rounded" if _is_fraction(frame, *frame.maker(atom).invars) else ""
    if made is GIVEN:
        return "rounded" if is_kept(frame.slicer, atom) else ""
    if made not in APART or not is_one(frame, atom):
        return ""
    if made in _READS:
        return "rounded" if made_by(frame, frame.maker(atom).invars[0]) is INPUT else "read"
    return "rounded"


def rounded_operands(frame: Frame, eqn: Any) -> tuple[bool, bool]:
    """Which of the float32 numbers that an equation compares are such numbers wherever they are used.

    Below 1 lies 1 - 2^-24 then, and nothing between them. A product or sum may be looked at before it is rounded.
    """
    first, second = eqn.invars
    return _is_rounded(frame, first), _is_rounded(frame, second)


def _is_rounded(frame: Frame, atom: Any) -> bool:
    return type(atom) is not Literal and settled(frame, atom) == "rounded"


def _is_fraction(frame: Frame, number: Any, whole: Any) -> bool:
    """Whether one is the other rounded down, and that very number: a product not yet rounded may be below itself.

    Quotients, powers and what is given from elsewhere may be products too; and so may what is read of an array.
    """
    made = None if type(whole) is Literal else frame.maker(whole)
    if made is None or made.primitive is not _FLOOR or made.invars[0] is not number:
        return False
    at, atom, primitive = source(frame, number)
    if primitive in _READS:
        primitive = made_by(at, at.maker(atom).invars[0])
    return primitive in _NO_PRODUCTS and not may_be_product(at, atom) and is_one(at, atom)
