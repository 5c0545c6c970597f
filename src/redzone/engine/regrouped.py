"""Quotients of quotients, which a compiler groups anew: `a / b / c` becomes `a / (b * c)`.

Exactly that is the same, and each way rounds as often as the other. But on the way it comes to numbers that the program
never does: of `b * c` nothing is left where both are small, and the quotient by that is infinite; where both are large
it is infinite, and the quotient zero. XLA does so with `a / b / c`, `a / (b / c)` and `(a / b) / (c / d)`, and with
constants that are multiplied or divided by on the way (`engine/reordered.py` has products, powers and sums).

So the factors of such a quotient are looked for, above the line and below it. Where the product of several above it may
be too large, or of several below it too small, the number may be infinite, of its own sign, or NaN; where several above
may be too small together, or several below too large, it may be zero.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from redzone.domains import DtypeInfo, Fact, dtype_info, summarised
from redzone.engine.moved import CONSTANT, source
from redzone.engine.origins import ELSEWHERE, may_meet
from redzone.frontend.compat import Literal, primitives
from redzone.rules import Rule, floats
from redzone.rules.table import RULES

if TYPE_CHECKING:
    from redzone.engine.frames import Frame
    from redzone.engine.program import Step
    from redzone.engine.slots import Slots

_P: Final = primitives()
_MUL: Final = _P["mul_p"]
_DIV: Final = _P["div_p"]
_PRODUCTS: Final = frozenset((_MUL, _DIV))
#: What may be a product or a quotient.
_BEHIND: Final = _PRODUCTS | ELSEWHERE
#: How many equations are looked through; a number with more of them may be anything.
DEEP: Final = 8


class Factor(NamedTuple):
    """A number that others are multiplied with, or divided by."""

    above: bool
    frame: Any
    atom: Any
    constant: bool


class Product(NamedTuple):
    """How many factors are multiplied, and between which numbers, of either sign, all or some of them come to."""

    factors: int = 0
    least: float = 1.0
    most: float = 1.0

    def times(self, low: float, high: float) -> Product:
        return Product(self.factors + 1, self.least * min(low, 1.0), self.most * max(high, 1.0))

    def is_large(self, info: DtypeInfo) -> bool:
        return self.factors > 1 and not self.most < floats.greatest(info) / 4

    def is_small(self, info: DtypeInfo) -> bool:
        return self.factors > 1 and not self.least > 4 * floats.smallest(info)


def note_regrouped(build: Slots, eqn: Any, frame: Frame, step: Step) -> None:
    """Give a quotient that a compiler may group anew with those before it the rule, and the operands, of that."""
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if info.kind != "f" or step.rule is not RULES[_DIV]:
        return
    if _BEHIND.isdisjoint([source(frame, atom)[2] for atom in eqn.invars]):
        return
    found = _factors(frame, eqn, True, DEEP)
    if found is not None and not is_of_quotients(frame, eqn):
        # Only constants are put together then.
        found = [one for one in found if one.constant]
    if found is not None and len(found) < 2:
        return
    mine = () if found is None else tuple([one for one in found if not one.constant])
    if found is None or not all(_is_at_hand(frame, one) for one in mine):
        step.rule = _rule(RULES[_DIV], _UNKNOWN, _UNKNOWN, _UNKNOWN, ())
        return
    above, below, constants = Product(), Product(), Product()
    for one in found:
        if one.constant:
            low, high = _size(frame.slicer.constant(_value(one)))
            if one.above:
                above, constants = above.times(low, high), constants.times(low, high)
            else:
                # A quotient by a constant is a product with its inverse.
                below = below.times(low, high)
                constants = constants.times(1.0 / high if high else math.inf, 1.0 / low if low else math.inf)
    step.ins = (*step.ins, *[build.slot(one.frame, one.atom) for one in mine])
    step.rule = _rule(RULES[_DIV], above, below, constants, tuple([one.above for one in mine]))


def _rule(plain: Rule, above: Product, below: Product, constants: Product, places: tuple[bool, ...]) -> Rule:
    """The rule of a product or quotient with these constants, and other factors above the line or below it."""

    def apply(eqn: Any, a: Fact, b: Fact, *others: Fact) -> Fact:
        over, under, info = above, below, dtype_info(eqn.outvars[0].aval.dtype)
        for is_above, fact in zip(places, others, strict=True):
            low, high = _size(fact)
            if is_above:
                over = over.times(low, high)
            else:
                under = under.times(low, high)
        found: Fact = plain.apply(eqn, a, b)
        is_far = over.is_large(info) or under.is_small(info) or constants.is_large(info)
        is_near = over.is_small(info) or under.is_large(info) or constants.is_small(info)
        if not is_far and not is_near:
            return found
        whole = summarised(found)
        lo, hi = min(whole.lo, 0.0), max(whole.hi, 0.0)
        if is_far:
            lo, hi = -math.inf if lo < 0 else 0.0, math.inf if hi > 0 else 0.0
        return Fact(lo, hi, 1, True)

    return Rule(apply)


_UNKNOWN: Final = Product(2, 0.0, math.inf)


def _size(fact: Fact) -> tuple[float, float]:
    """How near to zero a number may be, and how far from it."""
    whole = summarised(fact)
    if type(whole.lo) not in (int, float) or type(whole.hi) not in (int, float):
        return 0.0, math.inf
    low, high = float(whole.lo), float(whole.hi)
    return 0.0 if low <= 0 <= high else min(abs(low), abs(high)), max(abs(low), abs(high))


def _factors(frame: Any, eqn: Any, above: bool, deep: int) -> list[Factor] | None:
    """The factors of a product with a constant, or of a quotient; None where there are too many."""
    first = _factors_of(frame, eqn.invars[0], above, deep - 1)
    other = above if eqn.primitive is _MUL else not above
    second = None if first is None else _factors_of(frame, eqn.invars[1], other, deep - 1)
    return None if first is None or second is None else first + second


def _factors_of(frame: Any, atom: Any, above: bool, deep: int) -> list[Factor] | None:
    at, number, made = source(frame, atom)
    if made is CONSTANT:
        return [Factor(above, at, number, True)]
    if may_meet(at, number, _PRODUCTS):
        return None
    if made is not _DIV and made is not _MUL:
        return [Factor(above, at, number, False)]
    if deep <= 0:
        return None
    eqn = at.maker(number)
    if eqn is None or eqn.primitive is not made:
        # It is made in another type.
        return [Factor(above, at, number, False)]
    if made is _MUL and not any(source(at, x)[2] is CONSTANT for x in eqn.invars):
        return [Factor(above, at, number, False)]
    return _factors(at, eqn, above, deep)


def is_of_quotients(frame: Any, eqn: Any) -> bool:
    """Whether what is divided, or what it is divided by, may be a quotient, as it is or times constants."""
    for atom in eqn.invars:
        at, number, made = source(frame, atom)
        inner = at.maker(number) if made in _PRODUCTS else None
        if made is _DIV or (inner is not None and inner.primitive is made and is_of_quotients(at, inner)):
            return True
    return False


def _value(factor: Factor) -> Any:
    """The number that a constant is, or its numbers."""
    value = factor.atom.val if type(factor.atom) is Literal else factor.frame.consts[factor.atom]
    return value if isinstance(value, (int, float, bool)) else np.asarray(value)


def _is_at_hand(frame: Any, factor: Factor) -> bool:
    """Whether a number is one of the jaxpr it is asked for in, or of those around it: of others there are no slots."""
    at = frame
    while at is not factor.frame:
        if at.parent is None or at.parent is at:
            return False
        at = at.parent
    return True
