"""Products and sums of floats that the compiler computes in another order than they are written in.

XLA makes `(x + c) + d` a sum with c + d and `(x * c) * d` a product with c * d; `(x * c) * (y * d)`, and the square of
`x * c`, become products of x * y and c * d, and `x * c + y * c` one of x + y and c (`engine/regrouped.py` has quotients
of quotients). Whatever c + d loses when it is rounded may be much beside the result. Of products the digits that are
lost are no more than a rule leaves room for, and where a rule leaves none they are exact in any order: the odd part of
a product is that of its factors together, so that where the type holds the whole it holds each part. But c * d, x * y
and x + y may be too large or too small for the type where nothing is that the program writes.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from redzone.domains import TOP_FLOAT, DtypeInfo, Fact, dtype_info, summarised
from redzone.domains.fact import KEEP, NORMAL, apart, flushed
from redzone.engine.moved import CONSTANT, source
from redzone.engine.origins import may_meet
from redzone.frontend.compat import Literal, primitives
from redzone.rules import RULES, Rule, floats

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_SUB: Final = _P["sub_p"]
_MUL: Final = _P["mul_p"]
_DIV: Final = _P["div_p"]
_SQUARE: Final = _P.get("square_p")
_WHOLE_POWER: Final = _P.get("integer_pow_p")
_POWER: Final = _P.get("pow_p")
#: Powers with so large a constant are written as products by the compiler.
_MULTIPLIED_OUT: Final = 4.0
_INF: Final = math.inf


class Constant(NamedTuple):
    """What is known of a constant, or of the elements of one that are not zero, without their signs."""

    near: float
    """No less than this."""
    far: float
    grain: float
    """A power of two that all are multiples of; 0 where that is not known."""


class Row(NamedTuple):
    """Constants that something was multiplied by, or that were added to it, one after the other."""

    near: float
    """No less than this was it multiplied by altogether."""
    far: float
    """No more than this was it multiplied by altogether, or was added."""
    apart: float
    """How far from 1 some of the factors may lie together; of sums, a power of two that all terms are multiples of."""
    length: int


_NO_FACTORS: Final = Row(1.0, 1.0, 1.0, 0)
_NO_TERMS: Final = Row(0.0, 0.0, _INF, 0)


def reordered(frame: Frame, eqn: Any, plain: Rule | None = None) -> Rule | None:
    """The rule of a sum, product, quotient or power of floats whose order the compiler may change; None for others.

    `plain` is the rule in the order that is written, where that is another than its primitive's.
    """
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if info.kind != "f" or info.bits <= 8:
        return plain
    primitive = eqn.primitive
    if _meets_outside(frame, eqn):
        return _ANY
    if primitive is _ADD or primitive is _SUB:
        return _of_sum(frame, eqn, info, plain)
    if plain is not None:
        return plain
    if primitive is _MUL or primitive is _DIV:
        return _of_product(frame, eqn, info)
    exponent = _exponent(frame, eqn)
    row = _factors(frame, eqn.invars[0]) if exponent > 1 else _NO_FACTORS
    if not row.length:
        return None
    near, far, apart = (math.prod([one] * exponent) for one in (row.near, row.far, row.apart))
    return _scaled(RULES[primitive], Row(near, far, apart, row.length), info, exponent)


_ANY: Final = Rule(lambda eqn, *facts: TOP_FLOAT)
_KINDS: Final = {
    **dict.fromkeys((_ADD, _SUB), frozenset((_ADD, _SUB))),
    _MUL: frozenset((_MUL, _DIV)),
}


def _meets_outside(frame: Frame, eqn: Any) -> bool:
    """Whether a constant may be put together with others outside of the loop that the equation is in, or inside one."""
    kinds = _KINDS.get(eqn.primitive)
    if kinds is None or not any(source(frame, atom)[2] is CONSTANT for atom in eqn.invars):
        return False
    return any(may_meet(frame, atom, kinds, constants=True) for atom in eqn.invars)


def _constant(frame: Frame, atom: Any, deep: int = 1) -> Constant | None:
    """What is known of a constant, or of what is computed from constants; None for others."""
    if type(atom) is Literal and not atom.aval.shape:
        return None if dtype_info(atom.aval.dtype).kind != "f" else _of_number(float(atom.aval.dtype.type(atom.val)))
    at, name, made = source(frame, atom)
    if made is CONSTANT:
        if type(name) is Literal and not name.aval.shape:
            return _constant(at, name)
        value = np.asarray(name.val, name.aval.dtype) if type(name) is Literal else np.asarray(at.consts[name])
        return None if dtype_info(value.dtype).kind != "f" else _of_array(value)
    if not deep or (made is not _MUL and made is not _DIV and made is not _ADD and made is not _SUB):
        return None
    eqn = at.maker(name)
    first = _constant(at, eqn.invars[0], deep - 1) if eqn.primitive is made else None
    second = None if first is None else _constant(at, eqn.invars[1], deep - 1)
    if first is None or second is None:
        return None
    if made is _MUL:
        return Constant(first.near * second.near, first.far * second.far, 0.0)
    if made is _DIV:
        return Constant(first.near / second.far, first.far / second.near if second.near else _INF, 0.0)
    return Constant(0.0, first.far + second.far, 0.0)


def _of_number(value: float) -> Constant:
    value = abs(value)
    if not 0.0 < value < _INF:
        # What is multiplied by zero is zero in any order.
        return Constant(0.0, _INF, 0.0) if value else Constant(1.0, 1.0, _INF)
    n, d = value.as_integer_ratio()
    return Constant(value, value, (n & -n) / d)


def _of_array(value: np.ndarray) -> Constant:
    numbers = np.abs(value.astype(np.float64)).ravel()
    numbers = numbers[numbers != 0]
    if not numbers.size:
        return Constant(1.0, 1.0, _INF)
    near, far = float(numbers.min()), float(numbers.max())
    if not far < _INF:
        return Constant(0.0, _INF, 0.0)
    grain = min(_of_number(x).grain for x in set(numbers.tolist())) if numbers.size <= KEEP else 0.0
    return Constant(near, far, grain)


def _split(frame: Frame, eqn: Any) -> tuple[Constant, Any] | None:
    """An operand of an equation that is a constant, and the other one; None where there is none."""
    first, second = eqn.invars
    known = _constant(frame, second)
    if known is not None:
        return known, first
    known = _constant(frame, first)
    return None if known is None else (known, second)


def _factors(frame: Frame, atom: Any) -> Row:
    """The constants that something was multiplied by, or divided, in a row."""
    path: list[tuple[Frame, Any, Row]] = []
    row = _NO_FACTORS
    while True:
        frame, atom, made = source(frame, atom)
        eqn = frame.maker(atom) if made is _MUL or made is _DIV else None
        if eqn is None or eqn.primitive is not made:
            break
        known = frame.rows.get(atom)
        if known is not None:
            row = known
            break
        found = _split(frame, eqn)
        if found is None or (made is _DIV and found[1] is not eqn.invars[0]):
            frame.rows[atom] = row
            break
        path.append((frame, atom, _factor(found[0], made is _DIV)))
        atom = found[1]
    for at, name, one in path[::-1]:
        row = Row(row.near * one.near, row.far * one.far, row.apart * one.apart, row.length + 1)
        at.rows[name] = row
    return row


def _factor(known: Constant, divides: bool) -> Row:
    near, far = known.near, known.far
    apart = max(far, 1.0 / near if near else _INF, 1.0)
    if divides:
        near, far = 1.0 / far if far else _INF, 1.0 / near if near else _INF
    return Row(near, far, apart, 1)


def _terms(frame: Frame, atom: Any) -> Row:
    """The constants that were added to something in a row."""
    path: list[tuple[Frame, Any, Constant]] = []
    row = _NO_TERMS
    while True:
        frame, atom, made = source(frame, atom)
        eqn = frame.maker(atom) if made is _ADD or made is _SUB else None
        if eqn is None:
            break
        known = frame.rows.get(atom)
        if known is not None:
            row = known
            break
        found = _split(frame, eqn)
        if found is None:
            frame.rows[atom] = row
            break
        path.append((frame, atom, found[0]))
        atom = found[1]
    for at, name, one in path[::-1]:
        row = _with_term(row, one)
        at.rows[name] = row
    return row


def _with_term(row: Row, one: Constant) -> Row:
    # Zero is no factor, but far from 1 either.
    far = 0.0 if one.grain == _INF else one.far
    return Row(0.0, row.far + far, min(row.apart, one.grain), row.length + 1)


def _of_sum(frame: Frame, eqn: Any, info: DtypeInfo, plain: Rule | None) -> Rule | None:
    left = _factors(frame, eqn.invars[0])
    right = _factors(frame, eqn.invars[1]) if left.length else _NO_FACTORS
    if left.length and right.length:
        return _of_scaled_sum(plain or RULES[eqn.primitive], left.near, right.near, info)
    found = None if plain is not None else _split(frame, eqn)
    row = _NO_TERMS if found is None else _terms(frame, found[1])
    if found is None or not row.length:
        return plain
    row = _with_term(row, found[0])
    if not row.far < floats.greatest(info):
        return Rule(lambda eqn, *facts: TOP_FLOAT, pointwise=True)
    if row.far <= row.apart * 2.0**info.mantissa:
        # Each sum of some of them is exact.
        return None
    off, written = row.far * 2.0 ** (1 - info.mantissa) * row.length, RULES[eqn.primitive]
    return Rule(lambda eqn, *facts: _moved(written.apply(eqn, *facts), off), pointwise=True)


def _of_scaled_sum(plain: Rule, near: float, nearer: float, info: DtypeInfo) -> Rule:
    """The rule of a sum of what was multiplied by constants: where they are equal, it may be added up before."""

    def apply(eqn: Any, *facts: Fact) -> Fact:
        found: Fact = plain.apply(eqn, *facts)
        a, b = (_distances(summarised(fact))[1] for fact in facts)
        fits = near > 0 and nearer > 0 and a / near + b / nearer < floats.greatest(info)
        return found if fits else _by_sign(found)

    return Rule(apply, pointwise=True)


def _of_product(frame: Frame, eqn: Any, info: DtypeInfo) -> Rule | None:
    plain, divides = RULES[eqn.primitive], eqn.primitive is _DIV
    found = _split(frame, eqn)
    if found is not None:
        known, other = found
        row = _factors(frame, other) if not divides or other is eqn.invars[0] else _NO_FACTORS
        together = row.apart * _factor(known, divides).apart
        return _signed(plain) if row.length and _is_far(together, info) else None
    if divides:
        return None
    left = _factors(frame, eqn.invars[0])
    right = _factors(frame, eqn.invars[1]) if left.length else _NO_FACTORS
    if not right.length:
        return None
    both = Row(left.near * right.near, left.far * right.far, left.apart * right.apart, left.length + right.length)
    return _scaled(plain, both, info, 0)


def _is_far(apart: float, info: DtypeInfo) -> bool:
    """Whether some constants may be too large or too small together."""
    return apart >= min(floats.greatest(info), 1.0 / floats.smallest(info))


def _exponent(frame: Frame, eqn: Any) -> int:
    """The power that is multiplied out; 0 for others."""
    if eqn.primitive is _SQUARE:
        return 2
    if eqn.primitive is _WHOLE_POWER:
        return int(eqn.params["y"])
    known = _constant(frame, eqn.invars[1])
    if known is None or known.near != known.far or known.far != math.floor(known.far) or known.far > _MULTIPLIED_OUT:
        return 0
    return int(known.far)


def _scaled(plain: Rule, row: Row, info: DtypeInfo, exponent: int) -> Rule:
    """The rule of a product of what was multiplied by constants before, or of such a power."""
    if _is_far(row.apart, info):
        return _signed(plain)

    def apply(eqn: Any, *facts: Fact) -> Fact:
        found: Fact = plain.apply(eqn, *facts)
        reach = 1.0
        for fact in [facts[0]] * exponent if exponent else facts:
            reach *= max(_distances(summarised(fact))[1], 1.0)
        # What was multiplied by the constants lies no further from zero than that, divided by them.
        if not reach / row.near < floats.greatest(info):
            return _by_sign(found)
        return _moved(found, floats.smallest(info) * max(row.far, 1.0))

    return Rule(apply, pointwise=True)


def _signed(plain: Rule) -> Rule:
    return Rule(lambda eqn, *facts: _by_sign(plain.apply(eqn, *facts)), pointwise=True)


def _by_sign(found: Fact) -> Fact:
    """What is left of a product of which parts may be zero or infinite on the way: its sign."""
    whole = summarised(found)
    return Fact(0.0 if whole.lo >= 0 else -_INF, 0.0 if whole.hi <= 0 else _INF, 1, True)


def _moved(found: Fact, off: float) -> Fact:
    """Bounds that hold also of what is off by so much."""
    if type(found.lo) is np.ndarray:
        return apart(found.lo - max(off, NORMAL), found.hi + max(off, NORMAL), found.nan)
    lo, hi = flushed(found.lo - off, found.hi + off)
    return Fact(lo, hi, 1, found.nan)


def _distances(fact: Fact) -> tuple[float, float]:
    """How near to zero and how far from it a number is."""
    far = max(abs(fact.lo), abs(fact.hi))
    return 0.0 if fact.lo <= 0 <= fact.hi else min(abs(fact.lo), abs(fact.hi)), far
