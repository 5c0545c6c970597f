"""Functions of floats that a library computes: the ends of an operand's range give those of the result's.

Such functions rise or fall all the way, but no library rounds them correctly, and none says by how much it is off.
The ones XLA has are good to a few units in the last place; each end is moved outward by 256, and in a type of few
digits by an eighth; an exponential by as much for each unit of its exponent.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from redzone.domains import TOP_FLOAT, DtypeInfo, Fact, summarised
from redzone.domains.fact import flushed
from redzone.rules import floats
from redzone.rules.integers import of
from redzone.rules.table import rule

_INF: Final = math.inf
#: Beyond this an angle is so large that taking off whole turns may cost all of its digits.
_TURNS: Final = 2.0**16


def _error(info: DtypeInfo) -> float:
    """By what share of itself a computed result may be off."""
    return min(2.0 ** (8 - info.mantissa), 0.125)


def _slack(x: float, info: DtypeInfo) -> float:
    """By how much a computed result may be off.

    A large one may be an exponential, whose exponent was rounded before: that is off by a share of it as well.
    """
    if not math.isfinite(x):
        return 0.0
    size = max(abs(x), 1.0)
    return _error(info) * size * (1.0 + math.log(size))


def _around(lo: float, hi: float, nan: bool, info: DtypeInfo) -> Fact:
    """What a library makes of exact results in [lo, hi]."""
    if lo != lo or hi != hi:
        return TOP_FLOAT
    most = floats.greatest(info)
    lo, hi = lo - _slack(lo, info), hi + _slack(hi, info)
    # What overflows is infinite, and an infinite end may stand for a result that just did not.
    lo = -_INF if lo < -most else min(lo, most)
    hi = _INF if hi > most else max(hi, -most)
    lo, hi = flushed(lo, hi)
    return Fact(lo, hi, 1, nan)


def _at(function: Callable[[float], float], x: float, end: float) -> float:
    """The function at a point; `end` where it is not defined or overflows there."""
    try:
        return float(function(x))
    except (ValueError, OverflowError, ZeroDivisionError):
        return end


def _monotone(
    *names: str,
    function: Callable[[float], float],
    domain: tuple[float, float] = (-_INF, _INF),
    ends: tuple[float, float] = (-_INF, _INF),
    least: float = -_INF,
) -> None:
    """Enter a function that rises or falls on its whole domain, with its limits at the ends of that.

    `least` is what no result, however it was computed, is below.
    """

    def apply(eqn: Any, a: Fact) -> Fact:
        info = of(eqn.outvars[0])
        if info.kind != "f" or info.bits <= 8:
            return TOP_FLOAT
        a = summarised(a)
        nan = a.nan or a.lo < domain[0] or a.hi > domain[1]
        low, high = min(max(a.lo, domain[0]), domain[1]), max(min(a.hi, domain[1]), domain[0])
        if 0 < low < floats.smallest(info):
            # It may be taken for zero.
            low = 0.0
        # Where a result overflows depends on the end it is nearer to.
        middle = (max(domain[0], -1e300) + min(domain[1], 1e300)) / 2
        first, last = (
            ends[0] if x <= domain[0] else ends[1] if x >= domain[1] else _at(function, x, ends[0 if x < middle else 1])
            for x in (low, high)
        )
        found = _around(min(first, last), max(first, last), nan, info)
        return found if found.lo >= least else Fact(least, max(found.hi, least), 1, nan)

    rule(*names, pointwise=True)(apply)


_monotone("exp_p", function=math.exp, ends=(0.0, _INF), least=0.0)
_monotone("exp2_p", function=lambda x: 2.0**x, ends=(0.0, _INF), least=0.0)
_monotone("expm1_p", function=math.expm1, ends=(-1.0, _INF))
_monotone("log_p", function=math.log, domain=(0.0, _INF))
_monotone("log1p_p", function=math.log1p, domain=(-1.0, _INF))
_monotone("cbrt_p", function=lambda x: math.copysign(abs(x) ** (1.0 / 3.0), x))
_monotone("sinh_p", function=math.sinh)
_monotone("asinh_p", function=math.asinh)
_monotone("acosh_p", function=math.acosh, domain=(1.0, _INF), ends=(0.0, _INF))
_monotone("atanh_p", function=math.atanh, domain=(-1.0, 1.0))
_monotone("asin_p", function=math.asin, domain=(-1.0, 1.0), ends=(-math.pi / 2, math.pi / 2))
_monotone("acos_p", function=math.acos, domain=(-1.0, 1.0), ends=(math.pi, 0.0))
_monotone("atan_p", function=math.atan, ends=(-math.pi / 2, math.pi / 2))
_monotone("tanh_p", function=math.tanh, ends=(-1.0, 1.0))
_monotone("erf_p", function=math.erf, ends=(-1.0, 1.0))
_monotone("erfc_p", function=math.erfc, ends=(2.0, 0.0))
_monotone("logistic_p", function=lambda x: 1.0 / (1.0 + math.exp(-x)), ends=(0.0, 1.0))


@rule("rsqrt_p", pointwise=True)
def _inverse_root(eqn: Any, a: Fact) -> Fact:
    info = of(eqn.outvars[0])
    a = summarised(a)
    if info.kind != "f" or info.bits <= 8 or a.lo < floats.smallest(info):
        # The inverse of the root of zero is infinite, and zero has two signs.
        return TOP_FLOAT
    return _around(0.0 if a.hi == _INF else 1.0 / math.sqrt(a.hi), 1.0 / math.sqrt(a.lo), a.nan, info)


@rule("sin_p", "cos_p", pointwise=True)
def _oscillating(eqn: Any, a: Fact) -> Fact:
    info = of(eqn.outvars[0])
    if info.kind != "f" or info.bits <= 8:
        return TOP_FLOAT
    a = summarised(a)
    off = _error(info) if -_TURNS <= a.lo <= a.hi <= _TURNS else 0.01
    return Fact(-1.0 - off, 1.0 + off, 1, a.nan or math.isinf(a.lo) or math.isinf(a.hi))


@rule("cosh_p", pointwise=True)
def _cosh(eqn: Any, a: Fact) -> Fact:
    info = of(eqn.outvars[0])
    if info.kind != "f" or info.bits <= 8:
        return TOP_FLOAT
    far = floats.absolute(a)
    return _around(_at(math.cosh, far.lo, _INF), _at(math.cosh, far.hi, _INF), far.nan, info)


@rule("atan2_p", pointwise=True)
def _atan2(eqn: Any, y: Fact, x: Fact) -> Fact:
    info = of(eqn.outvars[0])
    if info.kind != "f" or info.bits <= 8:
        return TOP_FLOAT
    y, x = summarised(y), summarised(x)
    # Zero has two signs, which tell half a turn backward from one forward.
    wide = math.pi / 2 if x.lo > 0 else math.pi
    return _around(0.0 if y.lo > 0 else -wide, 0.0 if y.hi < 0 else wide, y.nan or x.nan, info)


def remainder(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """The remainder has the dividend's sign, is no further from zero than it, and nearer than the divisor.

    Of what is infinite there is none: it is NaN.
    """
    a, b = summarised(a), summarised(b)
    if info.bits <= 8 or b.lo <= 0 <= b.hi:
        return TOP_FLOAT
    infinite = math.isinf(a.lo) or math.isinf(a.hi)
    size = max(abs(b.lo), abs(b.hi))
    if info.bits == 32 and size < floats.greatest(info) and float(np.float32(size)) == size:
        size = float(np.nextafter(np.float32(size), np.float32(0)))
    return Fact(max(min(a.lo, 0.0), -size), min(max(a.hi, 0.0), size), 1, a.nan or b.nan or infinite)


def power(a: Fact, b: Fact, info: DtypeInfo) -> Fact:
    """A power of numbers none of which is negative: it rises or falls in the base, and in the exponent."""
    a, b = summarised(a), summarised(b)
    if info.bits <= 8 or a.lo < 0 or not (math.isfinite(b.lo) and math.isfinite(b.hi)):
        return TOP_FLOAT
    low = a.lo if a.lo >= floats.smallest(info) else 0.0
    if low == 0 and b.lo < 0:
        # Zero has two signs, and so have its inverses.
        return TOP_FLOAT
    ends = [_power(x, y) for x in (low, a.hi) for y in (b.lo, b.hi)]
    if low <= 1 <= a.hi or b.lo <= 0 <= b.hi:
        ends.append(1.0)
    nan = a.nan or b.nan or ((low == 0 or a.hi == _INF) and b.lo <= 0 <= b.hi)
    return _around(min(ends), max(ends), nan, info)


def _power(x: float, y: float) -> float:
    try:
        return math.pow(x, y)
    except (OverflowError, ValueError, ZeroDivisionError):
        return _INF
