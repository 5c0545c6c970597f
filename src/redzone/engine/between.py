"""Floats between two others: `a + (b - a) * t` and `a * (1 - t) + b * t`, where t is between 0 and 1.

Exactly, each lies between a and b. Let u be half a unit in the last place of 1, and M the farthest of both from zero.
The first is a + (b - a) t (1 + d)(1 + e), with d and e at most u, and rounded: off by 2M (2u + u²) and by u of itself,
together less than 6uM, whether a product is fused into its sum or not. In the second the terms are off by 2u and u of
themselves, and their sum by u. What is taken for zero on the way is each time less than the smallest normal number.

All that of one a, or one t, which is written twice. One that is itself a sum or a product may be put together with
what comes next in one place and not in the other, so it is looked at what makes it. A number that is read from an
array may have been multiplied there, and not be rounded yet in one of the places: another uM.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, dtype_info, meet, summarised
from redzone.engine.program import Program, Step
from redzone.engine.rounding import settled
from redzone.frontend.compat import Literal, primitives
from redzone.rules import floats

if TYPE_CHECKING:
    from redzone.engine.frames import Frame
    from redzone.engine.slots import Slots

SINGLE: Final = np.dtype(np.float32)
_FLOAT: Final = dtype_info(SINGLE)
_SUB: Final = primitives()["sub_p"]
_MUL: Final = primitives()["mul_p"]


class Between(NamedTuple):
    """The slots of the two numbers and of the share; `rounded` tells that no a can be a product yet."""

    first: int
    second: int
    share: int
    rounded: bool

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What such a sum can be, of which `plain` is what the rule says."""
        a, b, t = (summarised(env[slot]) for slot in (self.first, self.second, self.share))
        result = bounded(summarised(plain), a, b, t, self.rounded)
        return (meet(plain, result) or plain) if type(plain.lo) is np.ndarray else result


def operands(frame: Frame, eqn: Any) -> tuple[Any, Any, Any, bool] | None:
    """For a float32 sum between two numbers: these, the share, whether no a can be a product yet; None for another."""
    (x, y), (left, right) = eqn.invars, [_factors(frame, atom) for atom in eqn.invars]
    for a, product in ((x, right), (y, left)):
        for difference, t in product:
            b = _taken_from(frame, difference, a)
            kind = "" if b is None else settled(frame, a)
            # A constant may be put together with one that was added to b.
            if kind and (kind != "constant" or settled(frame, b)):
                return a, b, t, kind != "read"
    for one, other in ((left, right), (right, left)) if left and right else ():
        for rest, a in one:
            for t, b in other:
                whole = _taken_from(frame, rest, t)
                if type(whole) is Literal and whole.val == 1 and settled(frame, t):
                    return a, b, t, False
    return None


def bounded(plain: Fact, a: Fact, b: Fact, t: Fact, rounded: bool) -> Fact:
    """A sum between a and b, as float32 holds it."""
    far = max(abs(a.lo), abs(a.hi), abs(b.lo), abs(b.hi))
    if not (t.lo >= 0 and t.hi <= 1 and far < floats.greatest(_FLOAT) / 4):
        return plain
    # Sixteen times u, which is more than twice what is needed.
    slack = far * 2.0 ** (4 - _FLOAT.mantissa) + 4 * floats.smallest(_FLOAT)
    lo, hi = min(a.lo, b.lo), max(a.hi, b.hi)
    # Where neither is negative, b - a is no less than -a, nor is any share of it, and the sum is not negative either.
    least = 0.0 if rounded and lo >= 0 else lo - slack
    most = 0.0 if rounded and hi <= 0 else hi + slack
    lo, hi = max(plain.lo, least), min(plain.hi, most)
    return Fact(lo, hi, 1, plain.nan) if lo <= hi else plain


def _factors(frame: Frame, atom: Any) -> list[Any]:
    """A product's factors, both ways round."""
    made = None if type(atom) is Literal else frame.maker(atom)
    return [] if made is None or made.primitive is not _MUL else [made.invars, made.invars[::-1]]


def _taken_from(frame: Frame, atom: Any, subtrahend: Any) -> Any:
    """What a number was taken from, if the atom is such a difference."""
    made = None if type(atom) is Literal else frame.maker(atom)
    if made is None or made.primitive is not _SUB:
        return None
    number, taken = made.invars
    same = taken is subtrahend or (
        type(taken) is Literal and type(subtrahend) is Literal and bool(taken.val == subtrahend.val)
    )
    return number if same else None


def note_between(build: Slots, eqn: Any, frame: Frame, step: Step) -> None:
    """Note of a sum that it lies between two numbers."""
    found = operands(frame, eqn)
    if found is not None:
        a, b, t, rounded = found
        step.extra = Between(build.slot(frame, a), build.slot(frame, b), build.slot(frame, t), rounded)
        step.volatile = True
