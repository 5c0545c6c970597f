"""Elements of arithmetic: sums, products, comparisons, selects and conversions, piece by piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from redzone.domains.affine import Linear, Region
from redzone.engine.forward import Context
from redzone.engine.program import Step
from redzone.prove.pieces import EVERYWHERE, PIECES, Handler, NotAffine, Piece, Place, taken

if TYPE_CHECKING:
    from redzone.prove.elements import Elements

#: How many values a factor or a shift may have for each to be looked at by itself.
VALUES: Final = 8
#: No integer is beyond this.
MOST: Final = 2**64
#: How many pieces a condition may have for the cases it chooses between to be told apart.
CONDITIONS: Final = 16
#: In how many pieces a number may be of which the lowest bits are looked at.
MASKED: Final = 4


def _binary(combine: Callable[[Region, Linear, Linear], list[Piece]], ring: bool = False) -> Handler:
    def handler(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
        a, b = (self.operand(context, step, k, place, ring) for k in (0, 1))
        return [piece for region, x, y in self.pairs(a, b) for piece in combine(region, x, y)]

    return handler


def _product(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """Times a constant, or a number of which there are few; where one factor is zero, the other does not matter."""
    a, b = (self.operand(context, step, k, place, ring=True) for k in (0, 1))
    if sum(not x.terms for _, x in a) > sum(not y.terms for _, y in b):
        a, b = b, a
    pieces = [(region, y) for region, y in b if not y.terms and not y.const]
    for region, x, y in self.pairs(a, [(r, y) for r, y in b if y.terms or y.const]):
        if x.terms and y.terms:
            pieces += _multiplied(region, x, y)
        else:
            pieces.append((region, x * y.const if not y.terms else y * x.const))
    return pieces


def _multiplied(region: Region, x: Linear, y: Linear) -> list[Piece]:
    """A product of two numbers that vary, for each value of the one that has few."""
    (low, high), (least, most) = region.bounds(x), region.bounds(y)
    if high - low < most - least:
        x, y = y, x
    return [(inside, x * k.const) for inside, k in _told_apart([(region, y)])]


def values_of(self: Elements, context: Context, step: Step, place: Place, least: int, most: int) -> list[Piece] | None:
    """The second operand of a step as a constant where it is each of its values; None where those are many, or may lie
    beyond these ends."""
    lo, hi = context.env[step.ins[1]].lo, context.env[step.ins[1]].hi
    if type(lo) is np.ndarray:
        lo, hi = lo.min().item(), hi.max().item()
    if type(lo) is not int or type(hi) is not int or not (least <= lo and hi <= most and hi - lo < VALUES):
        return None
    return _told_apart(self.operand(context, step, 1, place), lo, hi)


def is_fixed(context: Context, step: Step) -> bool:
    """Whether the second operand of a step is one number. A remainder by several is told from them by their relation
    to it alone: it is less."""
    by = context.env[step.ins[1]]
    return bool(by.step == 0)


def _told_apart(pieces: list[Piece], least: int = -MOST, most: int = MOST) -> list[Piece]:
    """A number of few values, known to lie between two others, as a constant where it is each of them."""
    found: list[Piece] = []
    for region, value in pieces:
        low, high = region.bounds(value)
        low, high = max(low, least), min(high, most)
        if high - low >= VALUES:
            raise NotAffine
        for k in range(low, high + 1):
            inside = region.where(value - k, Linear(k) - value)
            if inside is not None:
                found.append((inside, Linear(k)))
    if len(found) > PIECES:
        raise NotAffine
    return found


def _larger(region: Region, a: Linear, b: Linear) -> list[Piece]:
    return _extreme(region, a - b, a, b)


def _smaller(region: Region, a: Linear, b: Linear) -> list[Piece]:
    return _extreme(region, b - a, a, b)


def _extreme(region: Region, first: Linear, a: Linear, b: Linear) -> list[Piece]:
    """a where `first` ≥ 0, b elsewhere, of two that are equal where it is 0."""
    return [(region, b)] if region.where(first - 1) is None else _split(region, first, a, b)


def _split(region: Region, first: Linear, a: Linear, b: Linear) -> list[Piece]:
    """a where `first` ≥ 0, b elsewhere."""
    other = region.where(-first - 1)
    if other is None:
        # That it holds is known already.
        return [(region, a)]
    one = region.where(first)
    return [(other, b)] if one is None else [(one, a), (other, b)]


def _truth(*cases: tuple[Region | None, int]) -> list[Piece]:
    return [(region, Linear(value)) for region, value in cases if region is not None]


def _compare(name: str) -> Handler:
    def handler(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
        if not step.given().integral:
            raise NotAffine
        pieces: list[Piece] = []
        for region, a, b in self.pairs(self.operand(context, step, 0, place), self.operand(context, step, 1, place)):
            if name in ("gt", "le"):
                a, b = b, a
            if name in ("eq", "ne"):
                hit = 1 if name == "eq" else 0
                pieces += _truth((region.where(a - b, b - a), hit), (region.but(a - b), 1 - hit))
            elif name in ("lt", "gt"):
                pieces += _truth((region.where(b - a - 1), 1), (region.where(a - b), 0))
            else:
                pieces += _truth((region.where(a - b), 1), (region.where(b - a - 1), 0))
        return pieces

    return handler


def _logic(table: Callable[[int, int], int]) -> Handler:
    def handler(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
        if step.yields().kind != "b":
            raise NotAffine
        pieces: list[Piece] = []
        firsts = _decided(self.operand(context, step, 0, place))
        seconds: list[Piece] | None = None
        for region, a in firsts:
            if table(a.const, 0) == table(a.const, 1):
                pieces.append((region, Linear(table(a.const, 0))))
                continue
            seconds = _decided(self.operand(context, step, 1, place)) if seconds is None else seconds
            for other, b in seconds:
                both = region.both(other)
                if both is not None:
                    pieces.append((both, Linear(table(a.const, b.const))))
        return pieces

    return handler


def _decided(pieces: list[Piece]) -> list[Piece]:
    """A bool's pieces, split until each is a constant."""
    found: list[Piece] = []
    for region, value in pieces:
        if not value.terms:
            found.append((region, value))
        else:
            found += _truth((region.where(value - 1), 1), (region.where(-value), 0))
    return found


def _not(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    kind = step.yields().kind
    if kind == "u":
        raise NotAffine
    start = 1 if kind == "b" else -1
    return [(r, Linear(start) - v) for r, v in self.operand(context, step, 0, place)]


def _neg(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    return [(r, -v) for r, v in self.operand(context, step, 0, place, ring=True)]


def _sign(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    pieces: list[Piece] = []
    for region, v in self.operand(context, step, 0, place):
        pieces += _truth((region.where(v - 1), 1), (region.where(v, -v), 0), (region.where(-v - 1), -1))
    return pieces


def _abs(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    pieces: list[Piece] = []
    for region, v in self.operand(context, step, 0, place):
        for inside, value in _split(region, v, v, -v):
            pieces.append((inside, value))
    return pieces


def _clamp(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    low, x, high = (self.operand(context, step, k, place) for k in range(3))
    pieces: list[Piece] = []
    for region, a, b in self.pairs(low, x):
        for inside, value in _split(region, a - b, a, b):
            for other, top in high:
                both = inside.both(other)
                if both is not None:
                    pieces += _split(both, top - value, value, top)
    return pieces


def _convert(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    source, target = step.given(), step.yields()
    if not source.integral:
        raise NotAffine
    pieces: list[Piece] = []
    for region, v in self.operand(context, step, 0, place):
        if target.kind == "b" and source.kind != "b":
            pieces += _truth((region.where(v, -v), 0), (region.but(v), 1))
        elif source.kind == "u" and target.kind == "i" and source.bits == target.bits:
            # The upper half of the numbers without a sign are the negative ones.
            pieces += _split(region, Linear(target.max) - v, v, v - (source.max + 1))
        else:
            # A wider or narrower type keeps the number modulo its own span.
            pieces.append((region, v))
    return pieces


def _div(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """Division toward zero by a constant or a number of which there are few, or its remainder by any."""
    remainder = step.primitive.name == "rem"
    divisors = values_of(self, context, step, place, 1, MOST) if not remainder or is_fixed(context, step) else None
    if divisors is None:
        if not remainder:
            raise NotAffine
        return self.remainder(context, step, place, 1)
    pieces: list[Piece] = []
    for region, a, by in self.pairs(self.operand(context, step, 0, place), divisors):
        for sign in (1, -1):
            side = region.where(a if sign > 0 else -a - 1)
            if side is not None:
                inside, q = self.quotient(side, a * sign, by.const)
                if inside is not None:
                    pieces.append((inside, a - q * (sign * by.const) if remainder else q * sign))
    return pieces


def _shift(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    info = step.yields()
    shifts = values_of(self, context, step, place, 0, info.bits - 1)
    if shifts is None:
        raise NotAffine
    pieces: list[Piece] = []
    for region, a, k in self.pairs(self.operand(context, step, 0, place), shifts):
        if step.primitive.name == "shift_left":
            pieces.append((region, a * (1 << k.const)))
            continue
        lo, hi = region.bounds(a)
        if lo < 0 and (info.kind != "i" or step.primitive.name == "shift_right_logical"):
            raise NotAffine
        if info.kind == "u" and step.primitive.name == "shift_right_arithmetic" and hi > info.max >> 1:
            raise NotAffine
        inside, q = self.quotient(region, a, 1 << k.const)
        if inside is not None:
            pieces.append((inside, q))
    return pieces


def _and(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """The logical and of bools, or an integer's lowest bits."""
    if step.yields().kind == "b":
        return _logic(lambda a, b: a & b)(self, context, step, place)
    for k in (0, 1):
        mask = context.env[step.ins[k]]
        if mask.step == 0 and type(mask.lo) is int and mask.lo >= 0 and mask.lo & (mask.lo + 1) == 0:
            pieces: list[Piece] = []
            masked = self.operand(context, step, 1 - k, place)
            if len(masked) > MASKED:
                # Of a number shifted by one of many: what is left of it has to do with little.
                raise NotAffine
            for region, a in masked:
                inside, q = self.quotient(region, a, mask.lo + 1)
                if inside is not None:
                    pieces.append((inside, a - q * (mask.lo + 1)))
            return pieces
    raise NotAffine


def _select(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """Each case where it is taken, or anywhere if the condition takes too many words to say."""
    last = len(step.ins) - 2
    try:
        selector: list[Piece] | None = self.operand(context, step, 0, place)
    except NotAffine:
        selector = None
    if selector is None or len(selector) > CONDITIONS:
        regions = [[EVERYWHERE]] * (last + 1)
    else:
        regions = [taken(selector, k, last) for k in range(last + 1)]
    values = [self.operand(context, step, 1 + k, place, ring=True) if regions[k] else [] for k in range(last + 1)]
    self.work.pieces += sum(len(r) * len(v) for r, v in zip(regions, values, strict=True))
    if sum(len(r) * len(v) for r, v in zip(regions, values, strict=True)) > PIECES:
        regions = [[EVERYWHERE] if r else [] for r in regions]
    found: dict[Any, Piece] = {}
    for where, pieces in zip(regions, values, strict=True):
        for region in where:
            for r, v in pieces:
                both = region.both(r)
                if both is not None:
                    found.setdefault((both.key(), v.key()), (both, v))
    return list(found.values())


ARITHMETIC: Final[dict[str, Handler]] = {
    "add": _binary(lambda r, a, b: [(r, a + b)], ring=True),
    "sub": _binary(lambda r, a, b: [(r, a - b)], ring=True),
    "mul": _product,
    "max": _binary(_larger),
    "min": _binary(_smaller),
    "or": _logic(lambda a, b: a | b),
    "xor": _logic(lambda a, b: a ^ b),
    "and": _and,
    "not": _not,
    "neg": _neg,
    "sign": _sign,
    "abs": _abs,
    "clamp": _clamp,
    "convert_element_type": _convert,
    "div": _div,
    "rem": _div,
    "shift_left": _shift,
    "shift_right_arithmetic": _shift,
    "shift_right_logical": _shift,
    "select_n": _select,
    **{name: _compare(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
}
