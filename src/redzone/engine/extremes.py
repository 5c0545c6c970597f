"""Numbers beside the least and the greatest of them: `x - x.min()`, and shares such as `(x - lo) / (hi - lo)`.

No element is less than the least: what a difference of the two is rounded to is not negative. Nor is what the greatest
is above an element, or above the least. That holds of numbers that are the same wherever they are used; a product may
be looked at before it is rounded in one place and after in another, and is not asked about.

Divided by how far apart the two are, or by more than that, such a difference is no more than 1: both are rounded alike,
and rounding is monotone. Where they are equal both are zero, also where subnormal numbers count as zero, for then both
differences do: zero by zero is NaN. Of numbers none of which is negative the same holds of `x / x.max()`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from redzone.domains import DtypeInfo, Fact, dtype_info, meet, settle, summarised
from redzone.engine.moved import MOVES
from redzone.engine.products import is_one
from redzone.engine.rounding import settled
from redzone.engine.share import NOT_NEGATIVE, SHARE
from redzone.frontend.compat import Literal, primitives
from redzone.rules import Rule, floats, integers

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

_P: Final = primitives()
_SUB: Final = _P["sub_p"]
_ADD: Final = _P["add_p"]
_MAX: Final = _P["max_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_GREATEST: Final = _P["reduce_max_p"]
_LEAST: Final = _P["reduce_min_p"]
_ABS: Final = _P["abs_p"]
#: What makes the same of the same.
_PLAIN: Final = (_ABS, _P["convert_element_type_p"])
_NOT_POSITIVE: Final = Fact(-math.inf, 0.0, 1, True)
#: How many equations are looked through.
DEEP: Final = 6


class Extreme(NamedTuple):
    """The greatest or the least of an array's elements, or of each of its rows."""

    greatest: bool
    frame: Any
    source: Any
    axes: tuple[int, ...]
    placed: bool
    """Whether it stands beside the elements it is the extreme of."""

    def is_of(self, at: tuple[Any, Any]) -> bool:
        return _are_one((self.frame, self.source), at)

    def is_like(self, other: Extreme) -> bool:
        """Whether it is of the same elements as another, in the same place."""
        return other.is_of((self.frame, self.source)) and self.axes == other.axes and self.placed == other.placed


def difference(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a difference that is not negative, or not positive; None where that is not known."""
    sign = _sign(frame, *eqn.invars) if frame.slicer.inventory.extremes else 0
    return None if sign == 0 else _NOT_LESS if sign > 0 else _NOT_MORE


def part_of_range(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a quotient that is a share of how far apart numbers are, or of the greatest; None for another."""
    if not frame.slicer.inventory.extremes:
        return None
    above, below = eqn.invars
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if info.kind != "f" or info.bits != 32 or type(above) is Literal or type(below) is Literal:
        return None
    whole = _whole(frame, below)
    if whole is None:
        return None
    top, bottom, placed = whole
    at, atom = frame.outer(above)
    made = _maker(at, atom)
    if bottom is None:
        beside = top._replace(placed=top.placed or placed)
        return _OF_POSITIVE if _is_usable(beside, above) and _is_element(at, atom, beside) else None
    if made is None or made.primitive is not _SUB or not (top.placed or placed or _is_whole(top)):
        return None
    for position, end in ((1, bottom), (0, top)):
        found, other = extreme(at, made.invars[position]), made.invars[1 - position]
        if found is None or found.greatest != end.greatest or not _is_usable(found, other):
            continue
        if found.is_of((end.frame, end.source)) and found.axes == end.axes and _is_element(at, other, found):
            return _SHARE
    return None


def _sign(frame: Frame, a: Any, b: Any) -> int:
    """1 for a difference that is not negative, -1 for one that is not positive, 0 where that is not known."""
    high, low = extreme(frame, a), extreme(frame, b)
    if low is not None and _is_usable(low, a) and _is_element(frame, a, low):
        return -1 if low.greatest else 1
    if high is not None and _is_usable(high, b) and _is_element(frame, b, high):
        return 1 if high.greatest else -1
    if high is None or low is None or high.greatest == low.greatest or not high.is_like(low):
        return 0
    return (1 if high.greatest else -1) if _is_settled(high) else 0


def _is_element(frame: Frame, atom: Any, extreme: Extreme) -> bool:
    """Whether an array is the one that an extreme is of, and each element the same number there and here."""
    return type(atom) is not Literal and extreme.is_of(frame.outer(atom)) and _is_settled(extreme)


def _are_one(one: tuple[Any, Any], other: tuple[Any, Any]) -> bool:
    """Whether two arrays are one, or made from one in the same plain way."""
    for _ in range(DEEP):
        if one[0] is other[0] and one[1] is other[1]:
            return True
        made, too = _maker(*one), _maker(*other)
        if made is None or too is None or made.primitive is not too.primitive or made.primitive not in _PLAIN:
            return False
        if type(made.invars[0]) is Literal or type(too.invars[0]) is Literal or made.params != too.params:
            return False
        one, other = one[0].outer(made.invars[0]), other[0].outer(too.invars[0])
    return False


def _is_settled(extreme: Extreme) -> bool:
    """Whether an array has elements, and they are the same wherever they are used."""
    frame, atom = extreme.frame, extreme.source
    if not all(type(n) is int and n >= 1 for n in atom.aval.shape):
        return False
    info = dtype_info(atom.aval.dtype)
    if info.kind in "iu":
        return is_one(frame, atom)
    made = _maker(frame, atom)
    if made is not None and made.primitive is _ABS and type(made.invars[0]) is not Literal:
        frame, atom = frame.outer(made.invars[0])
    return info.kind == "f" and info.bits == 32 and settled(frame, atom) == "rounded"


def _is_whole(extreme: Extreme) -> bool:
    """Whether it is of all elements, so that it may stand beside any."""
    return len(extreme.axes) == len(extreme.source.aval.shape)


def _is_usable(extreme: Extreme, beside: Any) -> bool:
    return _is_whole(extreme) or (extreme.placed and beside.aval.shape == extreme.source.aval.shape)


def extreme(frame: Frame, atom: Any) -> Extreme | None:
    """The extreme that a number is, wherever it was moved if it is one of all elements."""
    last: Any = None
    moves = 0
    for _ in range(DEEP):
        frame, atom = frame.outer(atom)
        made = _maker(frame, atom)
        if made is None:
            return None
        if made.primitive in (_GREATEST, _LEAST):
            if type(made.invars[0]) is Literal:
                return None
            axes = tuple(int(axis) for axis in made.params["axes"])
            found = Extreme(made.primitive is _GREATEST, *frame.outer(made.invars[0]), axes, False)
            if moves == 0 or _is_whole(found):
                return found
            return found._replace(placed=True) if moves == 1 and _is_beside(last, found) else None
        if made.primitive not in MOVES or made.primitive.name == "neg":
            return None
        last, moves, atom = made, moves + 1, made.invars[0]
    return None


def _is_beside(eqn: Any, extreme: Extreme) -> bool:
    """Whether a broadcast puts the extremes of rows beside the rows they are of."""
    if eqn.primitive is not _BROADCAST:
        return False
    sizes, shape = extreme.source.aval.shape, eqn.params["shape"]
    rest = tuple(d for d in range(len(sizes)) if d not in extreme.axes)
    if tuple(eqn.params["broadcast_dimensions"]) != rest or len(shape) != len(sizes):
        return False
    return all(m == n or (m == 1 and d in extreme.axes) for d, (m, n) in enumerate(zip(shape, sizes, strict=True)))


def _whole(frame: Frame, atom: Any) -> tuple[Extreme, Extreme | None, bool] | None:
    """The extremes whose distance, or the greatest number that, is no more than a number; and whether it was placed.

    Something that is not negative may be added to it, and it may be the greater of it and something else.
    """
    placed = False
    for _ in range(DEEP):
        top = extreme(frame, atom)
        if top is not None:
            return (top, None, placed) if top.greatest else None
        frame, atom = frame.outer(atom)
        made = _maker(frame, atom)
        if made is None:
            return None
        if made.primitive is _SUB:
            top, bottom = extreme(frame, made.invars[0]), extreme(frame, made.invars[1])
            if top is None or bottom is None or not top.greatest or bottom.greatest or not top.is_like(bottom):
                return None
            return (top, bottom, placed) if _is_settled(top) else None
        if made.primitive is _BROADCAST and not placed:
            inner = made.invars[0]
            found = None if type(inner) is Literal else _whole(frame, inner)
            if found is None or found[0].placed or not (_is_whole(found[0]) or _is_beside(made, found[0])):
                return None
            return found[0], found[1], True
        if made.primitive not in (_ADD, _MAX):
            return None
        known = next((k for k in (0, 1) if type(made.invars[k]) is Literal and float(made.invars[k].val) >= 0.0), None)
        if known is None:
            return None
        atom = made.invars[1 - known]
    return None


def _maker(frame: Frame, atom: Any) -> Any:
    """The equation that makes an atom; None for an input, or a number that is written down."""
    return None if type(atom) is Literal else frame.maker(atom)


def _subtracted(eqn: Any, a: Fact, b: Fact, sign: int) -> Fact:
    info: DtypeInfo = dtype_info(eqn.outvars[0].aval.dtype)
    if info.kind == "f":
        plain = floats.sub(a, b, info)
        return meet(plain, NOT_NEGATIVE if sign > 0 else _NOT_POSITIVE) or plain
    plain = integers.sub(a, b, info)
    high, low = (summarised(a), summarised(b)) if sign > 0 else (summarised(b), summarised(a))
    far = high.hi - low.lo
    if type(far) is not int or far > info.max or (sign < 0 and info.kind == "u"):
        return plain
    return meet(plain, settle(0, max(far, 0)) if sign > 0 else settle(min(-far, 0), 0)) or plain


def _shared(eqn: Any, a: Fact, b: Fact) -> Fact:
    plain = floats.div(a, b, dtype_info(eqn.outvars[0].aval.dtype))
    return meet(plain, SHARE) or SHARE


def _shared_if_positive(eqn: Any, a: Fact, b: Fact) -> Fact:
    plain = floats.div(a, b, dtype_info(eqn.outvars[0].aval.dtype))
    return meet(plain, SHARE) or SHARE if summarised(a).lo >= 0 else plain


_NOT_LESS: Final = Rule(lambda eqn, a, b: _subtracted(eqn, a, b, 1), pointwise=True)
_NOT_MORE: Final = Rule(lambda eqn, a, b: _subtracted(eqn, a, b, -1), pointwise=True)
_SHARE: Final = Rule(_shared, pointwise=True)
_OF_POSITIVE: Final = Rule(_shared_if_positive, pointwise=True)
