"""Integer arithmetic and bit operations, with wraparound."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.domains import BOOL, DtypeInfo, Fact, dtype_info, scalar, settle, summarised
from redzone.domains.fact import SHORT, SMALL, apart, is_small, least, most, strided, too_wide
from redzone.domains.symbolic import at_most, fits, highest, is_deep, larger, lowest, smaller


def wrapped(lo: Any, hi: Any, step: int, info: DtypeInfo) -> Fact:
    """The mathematical range [lo, hi] as the dtype holds it.

    A range that leaves the dtype as a whole by the same multiple of 2^bits is shifted back exactly;
    one that straddles an end could be anything.
    """
    if type(lo) is int and type(hi) is int:
        if lo >= info.min and hi <= info.max:
            return Fact(lo, hi, step)
    elif type(lo) is np.ndarray or type(hi) is np.ndarray:
        return _wrapped_arrays(lo, hi, info)
    else:
        return Fact(lo, hi) if fits(lo, hi, info.min, info.max) else Fact(info.min, info.max)
    turn = (lo - info.min) >> info.bits
    if turn == (hi - info.min) >> info.bits:
        return Fact(lo - (turn << info.bits), hi - (turn << info.bits), step)
    return Fact(info.min, info.max)


def _wrapped_arrays(lo: Any, hi: Any, info: DtypeInfo) -> Fact:
    low, high = least(lo), most(hi)
    if low < info.min or high > info.max:
        if info.max > SMALL:
            return Fact(info.min, info.max)
        outside = (lo < info.min) | (hi > info.max)
        return apart(np.where(outside, info.min, lo), np.where(outside, info.max, hi))
    if low < -SMALL or high > SMALL:
        return Fact(low, high, 0 if low == high else 1)
    return apart(lo, hi)


def pair(a: Fact, b: Fact) -> tuple[Fact, Fact]:
    """Two operands fit for numpy: both kept apart, or summarised where that would not be bearable."""
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        for f in (a, b):
            if type(f.lo) is not np.ndarray and not (
                isinstance(f.lo, float) or (_numbers(f) and f.lo >= -SMALL and f.hi <= SMALL)
            ):
                return summarised(a), summarised(b)
        if too_wide(a, b) or (type(a.lo) is np.ndarray and type(b.lo) is np.ndarray and a.lo.ndim != b.lo.ndim):
            return summarised(a), summarised(b)
    return a, b


def add(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        a, b = pair(a, b)
    return wrapped(a.lo + b.lo, a.hi + b.hi, math.gcd(a.step, b.step), info)


def sub(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        a, b = pair(a, b)
    return wrapped(a.lo - b.hi, a.hi - b.lo, math.gcd(a.step, b.step), info)


def neg(a: Fact, info: DtypeInfo) -> Fact:
    return wrapped(-a.hi, -a.lo, a.step, info)


def mul(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        a, b = pair(a, b)
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        corners = (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
        lo = np.minimum(np.minimum(corners[0], corners[1]), np.minimum(corners[2], corners[3]))
        hi = np.maximum(np.maximum(corners[0], corners[1]), np.maximum(corners[2], corners[3]))
        return _wrapped_arrays(lo, hi, info)
    if a.step == 0:
        a, b = b, a
    if b.step == 0:
        k = b.lo
        if k >= 0:
            return wrapped(a.lo * k, a.hi * k, a.step * k, info)
        return wrapped(a.hi * k, a.lo * k, a.step * -k, info)
    if not _numbers(a, b) and at_most(0, a.lo) and at_most(0, b.lo):
        return wrapped(a.lo * b.lo, a.hi * b.hi, 1, info)
    corners = (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
    step = 1 if a.step == 1 or b.step == 1 else math.gcd(a.lo * b.step, b.lo * a.step, a.step * b.step)
    return wrapped(min(corners), max(corners), step, info)


#: Of more factors than this nothing is said but where they are 1 at most.
FACTORS: Final = 64


def multiplied(a: Fact, fewest: int, most: Any, info: DtypeInfo) -> Fact:
    """The product of at least and at most so many numbers: between powers of the farthest from zero."""
    if not _numbers(a):
        return Fact(info.min, info.max)
    far = max(abs(a.lo), abs(a.hi))
    if far > 1 and (type(most) is not int or most > FACTORS):
        return Fact(info.min, info.max)
    # A power of 0 or 1 is the same for every exponent above 0.
    first, last = min(fewest, FACTORS), min(most, FACTORS) if type(most) is int else FACTORS
    if a.lo < 0:
        return wrapped(-(far**last), far**last, 1, info)
    lo, hi = min(a.lo**first, a.lo**last), max(a.hi**first, a.hi**last)
    return wrapped(lo, hi, 0 if lo == hi else 1, info)


def _truncated(a: int, b: int) -> int:
    q = abs(a) // abs(b)
    return q if (a < 0) == (b < 0) else -q


def _numbers(*facts: Fact) -> bool:
    """Whether no bound is a symbolic size."""
    return all(type(f.lo) is int and type(f.hi) is int for f in facts)


def _smaller_by_dividing(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """Division toward zero where sizes are symbolic: by a positive number it never goes away from zero."""
    if not at_most(1, b.lo):
        return Fact(info.min, info.max)
    if at_most(0, a.lo) and not is_deep(a.hi):
        return _floor_by_size(a, b, info)
    return Fact(0 if at_most(0, a.lo) else smaller(a.lo, 0), 0 if at_most(a.hi, 0) else larger(a.hi, 0))


def _floor_by_size(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """Division by a positive number, rounding down, where sizes are symbolic.

    It is monotone in the dividend; the larger the divisor, the nearer to zero it is.
    """
    if at_most(0, a.lo):
        lo = a.lo // b.hi
    else:
        lo = a.lo // b.lo if at_most(a.lo, 0) else smaller(a.lo // b.lo, a.lo // b.hi)
    if at_most(0, a.hi):
        hi = _floor_of(a.hi, b.lo)
    else:
        hi = a.hi // b.hi if at_most(a.hi, 0) else larger(_floor_of(a.hi, b.lo), a.hi // b.hi)
    return wrapped(lo, hi, 0 if lo is hi or (type(lo) is int and type(hi) is int and lo == hi) else 1, info)


def _floor_of(number: Any, divisor: Any) -> Any:
    """The quotient rounded down; of one less than a multiple, `(n * m - 1) // m`, without a quotient in it.

    JAX takes `m * n // m` for n, and says that two expressions are equal only where they are for every size.
    """
    above = number + 1
    return above // divisor - 1 if above % divisor == 0 else number // divisor


def _remainder_by_size(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """The remainder where sizes are symbolic: nearer to zero than a positive divisor, with the dividend's sign."""
    if not at_most(1, b.lo):
        return Fact(info.min, info.max)
    most = b.hi - 1
    return Fact(0 if at_most(0, a.lo) else -most, 0 if at_most(a.hi, 0) else most)


def div(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """Division rounds toward zero; a divisor that can be zero gives any value.

    For a fixed divisor the quotient is monotone in the dividend; for a fixed dividend it is monotone
    in the divisor on each side of zero: the extremes lie at the ends of the ranges.
    """
    a, b = summarised(a), summarised(b)
    if b.lo <= 0 <= b.hi:
        return Fact(info.min, info.max)
    if not _numbers(a, b):
        return _smaller_by_dividing(a, b, info)
    corners = [_truncated(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    step = 0 if min(corners) == max(corners) else 1
    if b.step == 0 and a.step > 1 and a.lo % b.lo == 0 and a.step % b.lo == 0:
        step = a.step // abs(b.lo)
    return wrapped(min(corners), max(corners), step, info)


def div_kept(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """Division that keeps elements apart where the divisor is a positive constant, or one of its own for each."""
    if type(a.lo) is np.ndarray and b.step == 0 and type(b.lo) is int and 0 < b.lo <= SMALL:
        return settle(_truncated_arrays(a.lo, b.lo), _truncated_arrays(a.hi, b.lo))
    if type(b.lo) is np.ndarray and (b.lo > 0).all() and at_most(0, summarised(a).lo):
        found = _floor_div_each(a, b)
        if found is not None:
            return found
    return div(a, b, info)


def _truncated_arrays(a: np.ndarray, k: int) -> np.ndarray:
    return np.where(a >= 0, a // k, -((-a) // k))


def rem(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """The remainder has the dividend's sign and is smaller than the divisor; by zero it is anything."""
    if type(b.lo) is np.ndarray:
        if (b.lo > 0).all() and at_most(0, summarised(a).lo):
            return _modulo_each(a, b)
        b = summarised(b)
    if b.lo <= 0 <= b.hi:
        return Fact(info.min, info.max)
    if type(a.lo) is np.ndarray:
        if b.step == 0 and abs(b.lo) <= SMALL and (a.lo is a.hi or (a.lo == a.hi).all()):
            r = np.sign(a.lo) * (np.abs(a.lo) % abs(b.lo))
            return settle(r, r)
        a = summarised(a)
    if not _numbers(a, b):
        return _remainder_by_size(a, b, info)
    least = min(abs(b.lo), abs(b.hi))
    most = max(abs(b.lo), abs(b.hi)) - 1
    if -least < a.lo and a.hi < least:
        return a
    if b.step == 0 and a.lo >= 0 and a.lo // least == a.hi // least:
        return Fact(a.lo % least, a.hi % least, a.step)
    lo = 0 if a.lo >= 0 else max(a.lo, -most)
    hi = 0 if a.hi <= 0 else min(a.hi, most)
    if b.step == 0 and a.step != 1:
        return strided(lo, hi, math.gcd(a.step, least), a.lo) or Fact(lo, hi)
    return Fact(lo, hi, 0 if lo == hi else 1)


def floor_div(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """Division rounding toward minus infinity."""
    if type(b.lo) is np.ndarray:
        if (b.lo > 0).all() and (found := _floor_div_each(a, b)) is not None:
            return found
        b = summarised(b)
    if b.lo <= 0 <= b.hi:
        return Fact(info.min, info.max)
    if type(a.lo) is np.ndarray:
        if b.step == 0 and 0 < b.lo <= SMALL:
            return settle(a.lo // b.lo, a.hi // b.lo)
        a = summarised(a)
    if is_deep(a.lo) or is_deep(a.hi):
        return Fact(info.min, info.max)
    if not _numbers(a, b) and at_most(1, b.lo) and not (b.step == 0 and a.step > 1):
        return _floor_by_size(a, b, info)
    corners = [x // y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    step = 0 if min(corners) == max(corners) else 1
    if b.step == 0 and a.step > 1 and a.lo % b.lo == 0 and a.step % b.lo == 0:
        step = a.step // abs(b.lo)
    return wrapped(min(corners), max(corners), step, info)


def _floor_div_each(a: Fact, b: Fact) -> Fact | None:
    """The quotients by positive divisors, each its own; None where the dividends are too many or too large."""
    if type(a.lo) is np.ndarray:
        if too_wide(a, b) or a.lo.ndim != b.lo.ndim:
            return None
    elif not _numbers(a) or a.lo < -SMALL or a.hi > SMALL:
        return None
    # Monotone in the dividend, and in the divisor one way or the other by the dividend's sign.
    return apart(np.minimum(a.lo // b.lo, a.lo // b.hi), np.maximum(a.hi // b.lo, a.hi // b.hi))


def modulo(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """The remainder with the divisor's sign, as jnp writes it: a zero divisor counts as one."""
    if type(b.lo) is np.ndarray:
        if (b.lo > 0).all():
            return _modulo_each(a, b)
        b = summarised(b)
    if b.lo <= 0 <= b.hi:
        lo, hi = min(b.lo + 1, 0), max(b.hi - 1, 0)
        return Fact(lo, hi, 0 if lo == hi else 1)
    if type(a.lo) is np.ndarray:
        if b.step == 0 and abs(b.lo) <= SMALL and (a.lo is a.hi or (a.lo == a.hi).all()):
            r = a.lo % b.lo
            return settle(r, r)
        a = summarised(a)
    if not _numbers(a, b) and at_most(1, b.lo):
        return a if at_most(0, a.lo) and at_most(a.hi, b.lo - 1) else Fact(0, b.hi - 1)
    if b.lo > 0:
        if a.lo >= 0 and a.hi < b.lo:
            return a
        if b.step == 0:
            if a.lo // b.lo == a.hi // b.lo:
                return Fact(a.lo % b.lo, a.hi % b.lo, a.step)
            if a.step != 1:
                return strided(0, b.lo - 1, math.gcd(a.step, b.lo), a.lo) or Fact(0, b.lo - 1)
        hi = b.hi - 1 if a.lo < 0 else min(a.hi, b.hi - 1)
        return Fact(0, hi, 0 if hi == 0 else 1)
    return Fact(b.lo + 1, 0, 0 if b.lo == -1 else 1)


def _modulo_each(a: Fact, b: Fact) -> Fact:
    """The remainder by positive divisors, each its own: no more than a number that is not negative, and below it."""
    if type(a.lo) is np.ndarray and (too_wide(a, b) or a.lo.ndim != b.lo.ndim):
        a = summarised(a)
    if type(a.lo) is not np.ndarray and (not _numbers(a) or a.lo < 0 or a.hi > SMALL):
        return apart(np.zeros_like(b.lo), b.hi - 1)
    if type(a.lo) is np.ndarray and (a.lo == a.hi).all() and (b.lo == b.hi).all():
        return apart(a.lo % b.lo, a.lo % b.lo)
    below = (a.lo >= 0) & (a.hi < b.lo)
    return apart(np.where(below, a.lo, 0), np.where(a.lo >= 0, np.minimum(a.hi, b.hi - 1), b.hi - 1))


def absolute(a: Fact, info: DtypeInfo) -> Fact:
    if type(a.lo) is np.ndarray:
        lo = np.where((a.lo <= 0) & (a.hi >= 0), 0, np.minimum(np.abs(a.lo), np.abs(a.hi)))
        return _wrapped_arrays(lo, np.maximum(np.abs(a.lo), np.abs(a.hi)), info)
    if a.lo >= 0:
        return a
    if a.hi <= 0:
        return neg(a, info)
    return wrapped(0, max(-a.lo, a.hi), 1, info)


def sign(a: Fact) -> Fact:
    if type(a.lo) is np.ndarray:
        return settle(np.sign(a.lo), np.sign(a.hi))
    lo = (a.lo > 0) - (a.lo < 0)
    hi = (a.hi > 0) - (a.hi < 0)
    return Fact(lo, hi, 0 if lo == hi else 1)


def power(a: Fact, exponent: int, info: DtypeInfo) -> Fact:
    """A constant non-negative power, multiplied out."""
    a = summarised(a)
    if exponent < 0 or exponent > 64:
        return Fact(info.min, info.max)
    ends = (a.lo**exponent, a.hi**exponent)
    lo, hi = min(ends), max(ends)
    if exponent % 2 == 0 and a.lo <= 0 <= a.hi and exponent:
        lo = 0
    return wrapped(lo, hi, 0 if lo == hi else 1, info)


def maximum(a: Fact, b: Fact) -> Fact:
    a, b = pair(a, b)
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return apart(np.maximum(a.lo, b.lo), np.maximum(a.hi, b.hi), a.nan or b.nan)
    if type(a.lo) not in _PLAIN or type(b.lo) not in _PLAIN or type(a.hi) not in _PLAIN or type(b.hi) not in _PLAIN:
        # Both bounds below hold of a maximum; the one above must be the larger.
        return Fact(highest(a.lo, b.lo), larger(a.hi, b.hi))
    if a.lo >= b.hi and not b.nan:
        return a
    if b.lo >= a.hi and not a.nan:
        return b
    return _of_either(a, b, a.lo if a.lo >= b.lo else b.lo, a.hi if a.hi >= b.hi else b.hi)


def minimum(a: Fact, b: Fact) -> Fact:
    a, b = pair(a, b)
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return apart(np.minimum(a.lo, b.lo), np.minimum(a.hi, b.hi), a.nan or b.nan)
    if type(a.lo) not in _PLAIN or type(b.lo) not in _PLAIN or type(a.hi) not in _PLAIN or type(b.hi) not in _PLAIN:
        return Fact(smaller(a.lo, b.lo), lowest(a.hi, b.hi))
    if a.hi <= b.lo and not b.nan:
        return a
    if b.hi <= a.lo and not a.nan:
        return b
    return _of_either(a, b, a.lo if a.lo <= b.lo else b.lo, a.hi if a.hi <= b.hi else b.hi)


_PLAIN: Final = (int, float)


def _of_either(a: Fact, b: Fact, lo: Any, hi: Any) -> Fact:
    """A value that is one of a's or one of b's, and known to lie in [lo, hi]."""
    nan = a.nan or b.nan
    if type(lo) is not int or type(hi) is not int or a.step == 1 or b.step == 1:
        return Fact(lo, hi, 0 if lo == hi and not nan else 1, nan)
    step = math.gcd(a.step, b.step, a.lo - b.lo)
    return strided(lo, hi, step, a.lo) or Fact(lo, hi)


def invert(a: Fact, info: DtypeInfo) -> Fact:
    """Bitwise not: -x - 1 for signed, max - x for unsigned, 1 - x for bool."""
    if info.kind == "i":
        return settle(-1 - a.hi, -1 - a.lo) if a.kept else Fact(-1 - a.hi, -1 - a.lo, a.step)
    if a.kept:
        if info.max > SMALL:
            a = summarised(a)
        else:
            return settle(info.max - a.hi, info.max - a.lo)
    return Fact(info.max - a.hi, info.max - a.lo, a.step)


def _ones(value: int) -> int:
    """The least 2^k - 1 that is at least value."""
    return (1 << value.bit_length()) - 1


def bit_and(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    if info.kind == "b":
        a, b = pair(a, b)
        return settle(a.lo & b.lo, a.hi & b.hi)
    if a.kept or b.kept:
        return each(bit_and, a, b, info)
    if a.step == 0 and b.step == 0:
        return scalar(a.lo & b.lo)
    if a.lo >= 0 and b.lo >= 0:
        return Fact(0, min(a.hi, b.hi))
    if a.lo >= 0:
        return Fact(0, a.hi)
    if b.lo >= 0:
        return Fact(0, b.hi)
    return Fact(-_ones(max(-a.lo - 1, -b.lo - 1)) - 1, max(a.hi, b.hi))


def bit_or(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """Of numbers that are not negative it is no more than their sum: the bits both have count once."""
    if info.kind == "b":
        a, b = pair(a, b)
        return settle(a.lo | b.lo, a.hi | b.hi)
    if a.kept or b.kept:
        return each(bit_or, a, b, info)
    if a.step == 0 and b.step == 0:
        return scalar(a.lo | b.lo)
    if a.lo >= 0 and b.lo >= 0:
        return Fact(max(a.lo, b.lo), min(_ones(max(a.hi, b.hi)), a.hi + b.hi))
    return invert(bit_and(invert(a, info), invert(b, info), info), info)


def bit_xor(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """Of numbers that are not negative it lies between their difference and their sum, which carry."""
    if a.kept or b.kept:
        return each(bit_xor, a, b, info)
    if a.step == 0 and b.step == 0:
        return scalar(a.lo ^ b.lo)
    if info.kind == "b":
        return BOOL
    if a.lo >= 0 and b.lo >= 0:
        return Fact(max(0, a.lo - b.hi, b.lo - a.hi), min(_ones(max(a.hi, b.hi)), a.hi + b.hi))
    widest = _ones(max(max(x, -x - 1) for x in (a.lo, a.hi, b.lo, b.hi)))
    return Fact(-widest - 1, widest)


def each(function: Any, a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """An operation on numbers some of which are kept apart: element by element while they are few and small."""
    shapes = {f.lo.shape for f in (a, b) if type(f.lo) is np.ndarray}
    shape = np.broadcast_shapes(*shapes) if len({len(s) for s in shapes}) == 1 else ()
    few = 1 < math.prod(shape) <= SHORT and all(is_small(f) for f in (a, b))
    found: list[Fact] = []
    if few:
        ends = [np.broadcast_to(x, shape).ravel().tolist() for x in (a.lo, a.hi, b.lo, b.hi)]
        found = [
            function(Fact(w, x, int(w != x)), Fact(y, z, int(y != z)), info) for w, x, y, z in zip(*ends, strict=True)
        ]
    if not few or not all(is_small(f) for f in found):
        whole: Fact = function(summarised(a), summarised(b), info)
        return whole
    lo, hi = (np.array(one, np.int64).reshape(shape) for one in ([f.lo for f in found], [f.hi for f in found]))
    return apart(lo, hi)


def shift_left(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    if a.kept or b.kept:
        return each(shift_left, a, b, info)
    if b.lo < 0 or b.hi >= info.bits:
        return Fact(info.min, info.max)
    corners = [x << y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    step = a.step << b.lo if b.step == 0 else 1
    return wrapped(min(corners), max(corners), step, info)


def shift_right(a: Fact, b: Fact, info: DtypeInfo, arithmetic: bool) -> Fact:
    """A right shift; amounts outside the width give any value, as their result is not portable."""
    if a.kept or b.kept:
        return each(lambda a, b, info: shift_right(a, b, info, arithmetic), a, b, info)
    if b.lo < 0 or b.hi >= info.bits:
        return Fact(info.min, info.max)
    if a.lo < 0 and not arithmetic:
        if b.lo == 0:
            return Fact(info.min, info.max)
        return Fact(0, ((1 << info.bits) - 1) >> b.lo)
    if arithmetic and info.kind == "u" and a.hi > info.max >> 1:
        return Fact(info.min, info.max)
    corners = [x >> y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    lo, hi = min(corners), max(corners)
    return Fact(lo, hi, 0 if lo == hi else 1)


def population_count(a: Fact, info: DtypeInfo) -> Fact:
    a = summarised(a)
    if info.bits < 8:
        # Such a number is kept in a byte, whose other bits are those of its sign and are counted too.
        return Fact(info.min, info.max)
    if a.step == 0:
        return scalar((a.lo & ((1 << info.bits) - 1)).bit_count())
    return Fact(0, a.hi.bit_length() if a.lo >= 0 else info.bits)


def leading_zeros(a: Fact, info: DtypeInfo) -> Fact:
    if info.bits < 8:
        # Two bits do not hold a 2.
        return Fact(info.min, info.max)
    a = summarised(a)
    if a.lo < 0:
        return Fact(0, 0, 0) if a.hi < 0 else Fact(0, info.bits)
    lo, hi = info.bits - a.hi.bit_length(), info.bits - a.lo.bit_length()
    return Fact(lo, hi, 0 if lo == hi else 1)


def narrowed(a: Fact, info: DtypeInfo) -> Fact:
    """An integer converted to another integer type: it keeps its low bits."""
    if info.kind == "b":
        return nonzero(a)
    if type(a.lo) is np.ndarray:
        return _wrapped_arrays(a.lo, a.hi, info)
    return wrapped(a.lo, a.hi, a.step, info)


def nonzero(a: Fact) -> Fact:
    if type(a.lo) is np.ndarray:
        certain = (a.lo > 0) | (a.hi < 0)
        never = (a.lo == 0) & (a.hi == 0)
        return apart(certain.astype(np.int64), 1 - never.astype(np.int64))
    if a.lo > 0 or a.hi < 0:
        return scalar(1)
    if a.lo == 0 == a.hi:
        return scalar(0)
    return BOOL


def of(var: Any) -> DtypeInfo:
    """The dtype of a variable."""
    return dtype_info(var.aval.dtype)
