"""Floating-point arithmetic as far as it reaches an index: outward rounding, infinities, NaN.

XLA may fuse a product and a sum, or keep a wider intermediate, so a bound that is not exactly
representable is moved outward by two units in the last place; one that is, holds however the
exact value is rounded, because rounding is monotone.
"""

from __future__ import annotations

import math
from typing import Any, Final

import ml_dtypes
import numpy as np

from redzone.domains import TOP_FLOAT, DtypeInfo, Fact, settle, summarised
from redzone.domains.fact import SHORT, apart, flushed, least, most

_INF: Final = math.inf


def outward(
    lo: float, hi: float, nan: bool, info: DtypeInfo, known: tuple[bool, bool] = (False, False), once: bool = False
) -> Fact:
    """The range [lo, hi] of exact results as the dtype holds it after rounding.

    `known` tells which of the two is the exact result itself, not one rounded to the precision it was computed in.
    What is rounded `once`, or not at all, lies between the exact result and the nearest number the dtype holds.
    """
    if lo != lo or hi != hi:
        return TOP_FLOAT
    if info.bits <= 8:
        return TOP_FLOAT
    lo = -_end(-lo, info, known[0], once)
    hi = _end(hi, info, known[1], once)
    lo, hi = flushed(lo, hi)
    return Fact(lo, hi, 0 if lo == hi and not nan else 1, nan)


def _end(x: float, info: DtypeInfo, known: bool, once: bool) -> float:
    """The greatest of the results that stand for an exact one."""
    if known and once and _is_normal(x, info):
        return max(x, _single(x))
    return x if known and _holds(x, info) else _up(x, info)


def _is_normal(x: float, info: DtypeInfo) -> bool:
    """Whether a number is among the normal ones of float32."""
    return info.bits == 32 and 2.0**-126 <= abs(x) < 2.0**127


def single_below(x: float) -> float:
    """The greatest number of float32 that is less than this one; where numbers may count as zero, the next double."""
    if not 2.0**-125 <= abs(x) < 2.0**127:
        return math.nextafter(x, -_INF)
    single = np.float32(x)
    return float(single) if float(single) < x else float(np.nextafter(single, np.float32(-_INF)))


def _holds(x: float, info: DtypeInfo) -> bool:
    """Whether a number is one of float32, which is the type, and a normal one."""
    return info.bits == 32 and _is_single(x)


def _is_single(x: float) -> bool:
    """Whether float32 holds a number exactly, as a normal number."""
    return 2.0**-126 <= abs(x) < 2.0**127 and _single(x) == x


def _single(x: float) -> float:
    """The nearest number of float32; all whole numbers of 24 bits are."""
    return x if abs(x) <= 2.0**24 and x == math.floor(x) else float(np.float32(x))


def _sums_to(x: float, y: float, total: float) -> bool:
    """Whether a sum came out exact."""
    if not math.isfinite(total):
        return False
    back = total - x
    return (x - (total - back)) + (y - back) == 0.0


def _exact(x: float, info: DtypeInfo) -> bool:
    """Whether x is a whole number that the dtype holds with all those nearer to zero."""
    return abs(x) <= 2.0 ** min(info.mantissa, 52) and x == math.floor(x)


def slack(x: float, info: DtypeInfo) -> float:
    """Two units in the last place of the dtype at x, its smallest normal number included."""
    return max(abs(x) * 2.0 ** (2 - info.mantissa), smallest(info))


def smallest(info: DtypeInfo) -> float:
    """Twice the smallest normal number: what is smaller may be taken for zero."""
    return 2.0**-1021 if info.bits == 64 else (2.0**-13 if info.bits == 16 and info.mantissa == 11 else 2.0**-125)


def greatest(info: DtypeInfo) -> float:
    """What is beyond may be infinite."""
    if info.bits == 64:
        return float(np.finfo(np.float64).max)
    return 65504.0 if info.mantissa == 11 else 3.0e38


def _up(x: float, info: DtypeInfo) -> float:
    if x == _INF or _exact(x, info):
        return x
    if x == -_INF:
        return -greatest(info)
    moved = x + slack(x, info)
    return moved if moved < greatest(info) else _INF


def _down(x: float, info: DtypeInfo) -> float:
    return -_up(-x, info)


def _product(x: float, y: float) -> float:
    return 0.0 if x == 0 or y == 0 else x * y


def _each(function: Any, a: Fact, b: Fact, info: DtypeInfo, once: bool) -> Fact:
    """An operation on numbers some of which are kept apart: element by element while they are few."""
    shapes = {x.shape for f in (a, b) for x in (f.lo, f.hi) if type(x) is np.ndarray}
    shape = () if len({len(s) for s in shapes}) > 1 else next(iter(shapes))
    if shape and len(shapes) > 1:
        shape = np.broadcast_shapes(*shapes)
    count = math.prod(shape)
    if not 1 < count <= SHORT:
        found: Fact = function(summarised(a), summarised(b), info, once)
        return found
    ends = [_listed(x, shape, count) for x in (a.lo, a.hi, b.lo, b.hi)]
    facts: list[Fact] = [
        function(Fact(w, x, int(w != x or a.nan), a.nan), Fact(y, z, int(y != z or b.nan), b.nan), info, once)
        for w, x, y, z in zip(*ends, strict=True)
    ]
    lo, hi = (np.array(one, np.float64).reshape(shape) for one in ([f.lo for f in facts], [f.hi for f in facts]))
    return apart(lo, hi, any(f.nan for f in facts))


def _listed(x: Any, shape: tuple[int, ...], count: int) -> list[float]:
    """A number, or an array of them, as all elements of an array of this shape."""
    if type(x) is not np.ndarray:
        return [x] * count
    numbers: list[float] = (x if x.shape == shape else np.broadcast_to(x, shape)).ravel().tolist()
    return numbers


def _beyond(lo: float, hi: float, known: tuple[bool, bool]) -> tuple[float, float]:
    """Bounds that hold of exact results, also where they were rounded themselves when they were computed here.

    What is not rounded yet may lie beside the whole number that it will be, and a difference shows it.
    """
    if not known[0] and math.isfinite(lo):
        lo = math.nextafter(lo, -_INF)
    if not known[1] and math.isfinite(hi):
        hi = math.nextafter(hi, _INF)
    return lo, hi


def add(a: Fact, b: Fact, info: DtypeInfo, once: bool = False) -> Fact:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return _each(add, a, b, info, once)
    nan = a.nan or b.nan or (a.hi == _INF and b.lo == -_INF) or (a.lo == -_INF and b.hi == _INF)
    lo = -_INF if -_INF in (a.lo, b.lo) else a.lo + b.lo
    hi = _INF if _INF in (a.hi, b.hi) else a.hi + b.hi
    known = (_sums_to(a.lo, b.lo, lo), _sums_to(a.hi, b.hi, hi))
    return outward(*_beyond(lo, hi, known), nan, info, known, once)


def neg(a: Fact) -> Fact:
    return Fact(-a.hi, -a.lo, a.step, a.nan)


def sub(a: Fact, b: Fact, info: DtypeInfo, once: bool = False) -> Fact:
    return add(a, neg(b), info, once)


def mul(a: Fact, b: Fact, info: DtypeInfo, once: bool = False) -> Fact:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return _each(mul, a, b, info, once)
    infinite = _INF in (a.hi, b.hi, -a.lo, -b.lo)
    nan = a.nan or b.nan or (infinite and (a.lo <= 0 <= a.hi or b.lo <= 0 <= b.hi))
    corners = [_product(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    # The product of two numbers of 24 bits has 48.
    held = [x == 0 or x == _INF or x == -_INF or _is_single(x) for x in (a.lo, a.hi, b.lo, b.hi)]
    if all(held):
        return outward(min(corners), max(corners), nan, info, (True, True), once)
    exact = [one and other for one in held[:2] for other in held[2:]]
    known = (_is_beyond([-x for x in corners], exact), _is_beyond(corners, exact))
    return outward(*_beyond(min(corners), max(corners), known), nan, info, known, once)


def _is_beyond(numbers: list[float], exact: list[bool]) -> bool:
    """Whether the greatest of some numbers is an exact one, also if the others were not rounded."""
    first = max((x for x, known in zip(numbers, exact, strict=True) if known), default=-_INF)
    rest = max(x for x, known in zip(numbers, exact, strict=True) if not known)
    return first > rest and (math.isinf(rest) or first - rest > abs(rest) * 2.0**-50)


def div(a: Fact, b: Fact, info: DtypeInfo, once: bool = False) -> Fact:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return _each(div, a, b, info, once)
    if b.lo <= 0 <= b.hi or _INF in (b.hi, -b.lo):
        return TOP_FLOAT
    corners = [x / y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    # Division may be done as a product with a reciprocal: one rounding more, also of exact quotients.
    lo, hi = min(corners), max(corners)
    lo, hi = lo - (slack(lo, info) if lo else 0.0), hi + (slack(hi, info) if hi else 0.0)
    if has_tiny_inverse(max(abs(b.lo), abs(b.hi)), info):
        lo, hi = min(lo, 0.0), max(hi, 0.0)
    return outward(lo, hi, a.nan or b.nan, info)


def has_tiny_inverse(x: float, info: DtypeInfo) -> bool:
    """Whether the inverse of a number may be taken for zero."""
    return x * (smallest(info) if info.bits != 16 else 2.0**-125) >= 1.0


def total(a: Fact, count: Any, info: DtypeInfo) -> Fact:
    """The sum of so many numbers, added in any order.

    Where the bounds are whole numbers whose multiples the dtype holds exactly, they bound every partial sum
    however it is rounded, because rounding is monotone. Else each of fewer than `count` additions is off by at most
    one part in 2^(mantissa - 1) of a partial sum, which is no further from zero than all numbers together.
    """
    a = summarised(a)
    if type(count) is not int or info.bits <= 8 or not (math.isfinite(a.lo) and math.isfinite(a.hi)):
        return TOP_FLOAT
    lo, hi = a.lo * count, a.hi * count
    if all(x == math.floor(x) and _exact(x * max(count, 1), info) for x in (a.lo, a.hi)):
        lo, hi = min(lo, 0.0), max(hi, 0.0)
        return Fact(lo, hi, 0 if lo == hi and not a.nan else 1, a.nan)
    return _rounded(lo, hi, 2.0 ** (2 - info.mantissa) * count, a.nan, info)


def products(a: Fact, b: Fact, count: Any, info: DtypeInfo) -> Fact:
    """The sum of so many products, whose factors may have been rounded to eight bits first, as accelerators do."""
    a, b = summarised(a), summarised(b)
    ends = [_product(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    if type(count) is not int or info.bits <= 8 or not all(math.isfinite(x) for x in (a.lo, a.hi, b.lo, b.hi, *ends)):
        return TOP_FLOAT
    off = 2.0**-6 + 2.0 ** (2 - info.mantissa) * count
    return _rounded(min(ends) * count, max(ends) * count, off, a.nan or b.nan, info)


def _rounded(lo: float, hi: float, off: float, nan: bool, info: DtypeInfo) -> Fact:
    """A sum in [lo, hi] that is off by a share of the furthest it can be; nothing is said where that is much."""
    most = max(abs(lo), abs(hi))
    if off >= 0.5 or 2 * most >= greatest(info):
        return TOP_FLOAT
    return outward(lo - off * most, hi + off * most, nan, info)


def running(a: Fact, count: Any, info: DtypeInfo) -> Fact:
    """Sums of up to so many numbers none of which is negative, added in any order.

    No rounding makes such a sum negative, and each of fewer than `count` additions is off by at most one part in
    2^(mantissa - 1): together less than by the factor below.
    """
    a = summarised(a)
    slack = 2.0 ** (2 - info.mantissa) * count if type(count) is int else 1.0
    if a.lo < 0 or info.bits <= 8 or slack >= 1:
        return TOP_FLOAT
    return outward(0.0, a.hi * count * (1.0 + slack) if a.hi < _INF else _INF, a.nan, info)


def multiplied(a: Fact, fewest: int, most: Any, info: DtypeInfo) -> Fact:
    """The product of at least and at most so many numbers, multiplied in any order.

    No partial product is farther from zero than the power of the farthest, or 1, so none overflows where that does not.
    Each of fewer than `most` products is off by at most one part in 2^(mantissa - 1), and together by less than the
    share below; one that is subnormal, or taken for zero, is still none that is negative.
    """
    a = summarised(a)
    far = max(abs(a.lo), abs(a.hi), 1.0)
    off = 2.0 ** (2 - info.mantissa) * most if type(most) is int else 1.0
    if info.bits <= 8 or off >= 0.5 or not math.isfinite(far) or most * math.log2(far) >= math.log2(greatest(info)) - 1:
        return TOP_FLOAT
    if a.lo < 0:
        reach = far**most * (1.0 + off)
        return outward(-reach, reach, a.nan, info)
    lo, hi = min(a.lo**fewest, a.lo**most), max(a.hi**fewest, a.hi**most)
    # Where some product on the way is that small it may be taken for zero, or be rounded up again and again.
    small = min(a.lo, 1.0) ** most < smallest(info)
    hi = max(hi * (1.0 + off), smallest(info)) if a.hi else hi
    return outward(0.0 if small else lo * (1.0 - off), hi, a.nan, info)


def absolute(a: Fact) -> Fact:
    a = summarised(a)
    lo = 0.0 if a.lo <= 0 <= a.hi else min(abs(a.lo), abs(a.hi))
    hi = max(abs(a.lo), abs(a.hi))
    return Fact(lo, hi, 0 if lo == hi and not a.nan else 1, a.nan)


def whole(a: Fact, function: Any) -> Fact:
    """floor, ceil and the like: monotone and exact."""
    if type(a.lo) is np.ndarray:
        array = np.floor if function is math.floor else np.ceil
        return apart(array(a.lo), array(a.hi), a.nan)
    lo = a.lo if math.isinf(a.lo) else float(function(a.lo))
    hi = a.hi if math.isinf(a.hi) else float(function(a.hi))
    return Fact(lo, hi, 0 if lo == hi and not a.nan else 1, a.nan)


def sign(a: Fact) -> Fact:
    a = summarised(a)
    return Fact(math.copysign(1.0, a.lo) if a.lo else 0.0, math.copysign(1.0, a.hi) if a.hi else 0.0, 1, a.nan)


def power(a: Fact, exponent: int, info: DtypeInfo) -> Fact:
    a = summarised(a)
    if exponent < 0 or not (math.isfinite(a.lo) and math.isfinite(a.hi)):
        # What is too large is NaN in some types of eight bits.
        if exponent >= 0 and exponent % 2 == 0 and info.bits > 8:
            return Fact(0.0, _INF, 1, a.nan)
        return TOP_FLOAT
    try:
        ends = (a.lo**exponent, a.hi**exponent)
    except OverflowError:
        return TOP_FLOAT
    lo, hi = min(ends), max(ends)
    if exponent % 2 == 0 and a.lo <= 0 <= a.hi and exponent:
        lo = 0.0
    slack = 1.0 + exponent * 2.0 ** (2 - info.mantissa)
    lo, hi = (lo * slack if lo < 0 else lo / slack), (hi * slack if hi > 0 else hi / slack)
    return outward(lo, hi, a.nan, info)


def from_integer(a: Fact, info: DtypeInfo) -> Fact:
    if type(a.lo) is np.ndarray:
        if info.bits > 8 and max(-least(a.lo), most(a.hi)) <= 2.0 ** min(info.mantissa, 52):
            return Fact(a.lo.astype(np.float64), a.hi.astype(np.float64))
        a = summarised(a)
    if type(a.lo) is not int or type(a.hi) is not int or info.bits <= 8:
        return TOP_FLOAT
    try:
        lo, hi = float(a.lo), float(a.hi)
    except OverflowError:
        return TOP_FLOAT
    if a.lo >= -(2**53) and a.hi <= 2**53:
        return _converted(lo, hi, False, info)
    return outward(lo, hi, False, info)


def _converted(lo: float, hi: float, nan: bool, info: DtypeInfo) -> Fact:
    """Numbers in [lo, hi] in another type: rounded to it, through float32 or not, or not yet; rounding is monotone."""
    lo, hi = flushed(-_nearest(-lo, info), _nearest(hi, info))
    return Fact(lo, hi, 0 if lo == hi and not nan else 1, nan)


def _nearest(x: float, info: DtypeInfo) -> float:
    """The greatest of the numbers that a number may become."""
    if info.bits == 64 or _exact(x, info):
        return x
    if not smallest(info) <= abs(x) < greatest(info):
        return _up(x, info)
    single = np.float32(x)
    if info.bits == 32:
        return max(x, float(single))
    if float(single) != x:
        # Rounded twice it may be another number than rounded once.
        return _up(x, info)
    return max(x, float(single.astype(np.float16 if info.mantissa == 11 else ml_dtypes.bfloat16)))


def to_integer(a: Fact, info: DtypeInfo) -> Fact:
    """Truncation toward zero; XLA saturates what does not fit and makes NaN zero."""
    if type(a.lo) is np.ndarray:
        if info.kind != "b" and info.bits <= 32:
            low, high = (np.clip(np.trunc(x), info.min, info.max).astype(np.int64) for x in (a.lo, a.hi))
            return settle(np.minimum(low, 0), np.maximum(high, 0)) if a.nan else settle(low, high)
        a = summarised(a)
    if info.kind == "b":
        if a.lo > 0 or a.hi < 0:
            return Fact(1, 1, 0)
        return Fact(0, 0, 0) if a.lo == 0 == a.hi and not a.nan else Fact(0, 1)
    lo = info.min if a.lo == -_INF else min(max(math.trunc(a.lo), info.min), info.max) if a.lo != _INF else info.max
    hi = info.max if a.hi == _INF else min(max(math.trunc(a.hi), info.min), info.max) if a.hi != -_INF else info.min
    if a.nan:
        lo, hi = min(lo, 0), max(hi, 0)
    return Fact(lo, hi, 0 if lo == hi else 1)


def to_float(a: Fact, source: DtypeInfo, info: DtypeInfo) -> Fact:
    a = summarised(a)
    if info.bits <= 8 or source.bits <= 8:
        return TOP_FLOAT if info.bits <= 8 else Fact(a.lo, a.hi, 1, True)
    return _converted(a.lo, a.hi, a.nan, info)


def of_fewer_bits(a: Fact, exponent: int, mantissa: int, info: DtypeInfo) -> Fact:
    """Numbers rounded to so many bits of a type, as far as it has that many."""
    a, own = summarised(a), 11 if info.bits == 64 else 5 if info.mantissa == 11 else 8
    bits = {5: 16, 8: 32, 11: 64}.get(exponent)
    if bits is None or info.bits <= 8 or mantissa < 1 or (bits == 16 and mantissa != 10):
        return TOP_FLOAT
    if exponent >= own and mantissa + 1 >= info.mantissa:
        return a
    found = outward(a.lo, a.hi, a.nan, DtypeInfo("f", -_INF, _INF, bits, mantissa + 1))
    # Rounded up, the largest numbers of the type itself are infinite, whatever others could be.
    most = greatest(info)
    return Fact(-_INF if found.lo < -most else found.lo, _INF if found.hi > most else found.hi, found.step, found.nan)


def from_bits(a: Fact, info: DtypeInfo) -> Fact:
    """A float made from the bits of an integer: monotone among the non-negative numbers."""
    a = summarised(a)
    if info.bits != 32 or not (a.lo >= 0 and a.hi < 0x7F800000):
        return TOP_FLOAT
    lo, hi = flushed(*(float(np.uint32(x).view(np.float32)) for x in (a.lo, a.hi)))
    return Fact(lo, hi, 0 if lo == hi else 1)
