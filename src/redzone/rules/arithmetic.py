"""The rules of elementwise primitives: arithmetic, comparisons, logic, conversions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from redzone.domains import BOOL, FALSE, TOP_FLOAT, TRUE, DtypeInfo, Fact, dtype_info, join, summarised
from redzone.domains.fact import apart, scalar
from redzone.frontend.compat import Literal
from redzone.rules import floats, functions, integers
from redzone.rules.integers import of, pair
from redzone.rules.table import rule, top_of


def _binary(*names: str, whole: Callable[..., Fact], real: Callable[..., Fact]) -> None:
    def apply(eqn: Any, a: Fact, b: Fact) -> Fact:
        info = dtype_info(eqn.outvars[0].aval.dtype)
        if info.integral:
            return whole(a, b, info)
        return real(a, b, info) if info.kind == "f" else TOP_FLOAT

    rule(*names, pointwise=True)(apply)


def _top_float(*_: Any) -> Fact:
    return TOP_FLOAT


_binary("add_p", "add_any_p", "add_jaxvals_p", whole=integers.add, real=floats.add)
_binary("sub_p", whole=integers.sub, real=floats.sub)
_binary("mul_p", whole=integers.mul, real=floats.mul)
_binary("rem_p", whole=integers.rem, real=functions.remainder)
_binary("and_p", whole=integers.bit_and, real=_top_float)
_binary("or_p", whole=integers.bit_or, real=_top_float)
_binary("xor_p", whole=integers.bit_xor, real=_top_float)
_binary("shift_left_p", whole=integers.shift_left, real=_top_float)
_binary("shift_right_logical_p", whole=lambda a, b, i: integers.shift_right(a, b, i, False), real=_top_float)
_binary("shift_right_arithmetic_p", whole=lambda a, b, i: integers.shift_right(a, b, i, True), real=_top_float)


@rule("div_p", pointwise=True)
def _div(eqn: Any, a: Fact, b: Fact) -> Fact:
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if info.integral:
        return integers.div_kept(a, b, info)
    if info.kind != "f":
        return TOP_FLOAT
    known = type(eqn.invars[1]) is Literal and type(b.lo) is float and math.frexp(b.lo)[0] == 0.5
    if known and not floats.has_tiny_inverse(b.lo, info):
        # By a power of two that the compiler knows: a product with its inverse, and the same number either way.
        inverse = 1.0 / b.lo
        return floats.mul(a, Fact(inverse, inverse, 0), info)
    return floats.div(a, b, info)


def _unary(*names: str, whole: Callable[..., Fact], real: Callable[..., Fact]) -> None:
    def apply(eqn: Any, a: Fact) -> Fact:
        info = dtype_info(eqn.outvars[0].aval.dtype)
        if info.integral:
            return whole(a, info)
        return real(a, info) if info.kind == "f" else TOP_FLOAT

    rule(*names, pointwise=True)(apply)


_unary("neg_p", whole=integers.neg, real=lambda a, i: floats.neg(a))
_unary("sign_p", whole=lambda a, i: integers.sign(a), real=lambda a, i: floats.sign(a))
_unary("not_p", whole=integers.invert, real=_top_float)
_unary("population_count_p", whole=integers.population_count, real=_top_float)
_unary("clz_p", whole=integers.leading_zeros, real=_top_float)
_unary("square_p", whole=lambda a, i: integers.power(a, 2, i), real=lambda a, i: floats.power(a, 2, i))
_unary("floor_p", whole=_top_float, real=lambda a, i: floats.whole(a, math.floor))
_unary("ceil_p", whole=_top_float, real=lambda a, i: floats.whole(a, math.ceil))
_unary("sqrt_p", whole=_top_float, real=lambda a, i: _root(a, i))


def _root(a: Fact, info: DtypeInfo) -> Fact:
    a = summarised(a)
    most = math.inf if a.hi == math.inf else math.sqrt(max(a.hi, 0.0)) * (1.0 + 2.0 ** (3 - info.mantissa))
    return floats.outward(0.0, most, a.nan or a.lo < 0, info)


@rule("abs_p", pointwise=True)
def _abs(eqn: Any, a: Fact) -> Fact:
    info = of(eqn.outvars[0])
    if of(eqn.invars[0]).kind == "x":
        return TOP_FLOAT
    return integers.absolute(a, info) if info.integral else floats.absolute(a)


@rule("round_p", pointwise=True)
def _round(eqn: Any, a: Fact) -> Fact:
    # Both rounding methods move a value by at most one half, to an integer.
    if type(a.lo) is np.ndarray:
        # To the nearest whole number beyond, or at, what is a half away: no less than any method gives.
        return apart(np.ceil(a.lo - 0.5), np.floor(a.hi + 0.5), a.nan)
    lo = a.lo if math.isinf(a.lo) else float(math.floor(a.lo + 0.5) - (a.lo + 0.5 == math.floor(a.lo + 0.5)))
    hi = a.hi if math.isinf(a.hi) else float(math.ceil(a.hi - 0.5) + (a.hi - 0.5 == math.ceil(a.hi - 0.5)))
    return Fact(lo, hi, 1, a.nan)


@rule("integer_pow_p", pointwise=True)
def _integer_pow(eqn: Any, a: Fact) -> Fact:
    info = of(eqn.outvars[0])
    if info.integral:
        return integers.power(a, eqn.params["y"], info)
    return floats.power(a, eqn.params["y"], info) if info.kind == "f" else TOP_FLOAT


@rule("pow_p", pointwise=True)
def _pow(eqn: Any, a: Fact, b: Fact) -> Fact:
    info = of(eqn.outvars[0])
    if info.kind == "f" and dtype_info(eqn.invars[1].aval.dtype).kind == "f":
        return functions.power(a, b, info)
    if not info.integral or not dtype_info(eqn.invars[1].aval.dtype).integral:
        return top_of(eqn.outvars[0])
    a, b = summarised(a), summarised(b)
    if b.lo < 0 or b.hi > 64:
        return top_of(eqn.outvars[0])
    ends = [integers.power(a, int(e), info) for e in range(int(b.lo), int(b.hi) + 1)]
    result = ends[0]
    for fact in ends[1:]:
        result = join(result, fact)
    return result


@rule("max_p", pointwise=True)
def _max(eqn: Any, a: Fact, b: Fact) -> Fact:
    return integers.maximum(a, b) if of(eqn.outvars[0]).kind != "x" else TOP_FLOAT


@rule("min_p", pointwise=True)
def _min(eqn: Any, a: Fact, b: Fact) -> Fact:
    return integers.minimum(a, b) if of(eqn.outvars[0]).kind != "x" else TOP_FLOAT


@rule("clamp_p", pointwise=True)
def _clamp(eqn: Any, low: Fact, a: Fact, high: Fact) -> Fact:
    return integers.minimum(integers.maximum(a, low), high)


def _comparison(*names: str, decide: Callable[[Fact, Fact], tuple[Any, Any]], when_nan: bool) -> None:
    """A comparison: `decide` says whether it never and whether it always holds, `when_nan` what NaN gives.

    The total-order comparisons tell -0 from 0 and place NaN, so among floats they can go either way.
    """

    def apply(eqn: Any, a: Fact, b: Fact) -> Fact:
        kind = dtype_info(eqn.invars[0].aval.dtype).kind
        if kind == "x" or (kind == "f" and eqn.primitive.name.endswith("_to")):
            return BOOL
        if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
            a, b = pair(a, b)
        never, always = decide(a, b)
        if type(never) is not np.ndarray:
            if a.nan or b.nan:
                never, always = (never and not when_nan), (always and when_nan)
            if always:
                return TRUE
            return FALSE if never else BOOL
        if a.nan or b.nan:
            return BOOL
        return apart(always.astype(np.int64), 1 - never.astype(np.int64))

    rule(*names, needs="given", pointwise=True)(apply)


def _disjoint(a: Fact, b: Fact) -> Any:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return (a.hi < b.lo) | (a.lo > b.hi)
    if bool(a.hi < b.lo) or bool(a.lo > b.hi):
        return True
    step = math.gcd(a.step, b.step)
    return step > 1 and type(a.lo) is int and type(b.lo) is int and (a.lo - b.lo) % step != 0


def _same(a: Fact, b: Fact) -> Any:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return (a.lo == a.hi) & (b.lo == b.hi) & (a.lo == b.lo)
    return bool(a.lo == a.hi and b.lo == b.hi and a.lo == b.lo)


_comparison("lt_p", "lt_to_p", decide=lambda a, b: (a.lo >= b.hi, a.hi < b.lo), when_nan=False)
_comparison("le_p", "le_to_p", decide=lambda a, b: (a.lo > b.hi, a.hi <= b.lo), when_nan=False)
_comparison("gt_p", decide=lambda a, b: (a.hi <= b.lo, a.lo > b.hi), when_nan=False)
_comparison("ge_p", decide=lambda a, b: (a.hi < b.lo, a.lo >= b.hi), when_nan=False)
_comparison("eq_p", "eq_to_p", decide=lambda a, b: (_disjoint(a, b), _same(a, b)), when_nan=False)
_comparison("ne_p", decide=lambda a, b: (_same(a, b), _disjoint(a, b)), when_nan=True)


@rule("is_finite_p", needs="given", pointwise=True)
def _is_finite(eqn: Any, a: Fact) -> Fact:
    a = summarised(a)
    return scalar(1) if not a.nan and math.isfinite(a.lo) and math.isfinite(a.hi) else BOOL


@rule("select_n_p")
def _select(eqn: Any, which: Fact, *cases: Fact) -> Fact:
    which = summarised(which)
    result: Fact | None = None
    for k in range(max(0, which.lo), min(len(cases) - 1, which.hi) + 1):
        result = cases[k] if result is None else join(result, cases[k])
    return result if result is not None else top_of(eqn.outvars[0])


@rule("convert_element_type_p", pointwise=True)
def _convert(eqn: Any, a: Fact) -> Fact:
    source, info = of(eqn.invars[0]), of(eqn.outvars[0])
    if source is info:
        return a
    if source.integral:
        if info.integral:
            return integers.narrowed(a, info)
        return floats.from_integer(a, info) if info.kind == "f" else TOP_FLOAT
    if source.kind == "f":
        if info.integral:
            return floats.to_integer(a, info)
        return floats.to_float(a, source, info) if info.kind == "f" else TOP_FLOAT
    return top_of(eqn.outvars[0])


@rule("bitcast_convert_type_p")
def _bitcast(eqn: Any, a: Fact) -> Fact:
    source, info = of(eqn.invars[0]), of(eqn.outvars[0])
    if source.bits == info.bits and source.integral and info.integral and source.kind != "b" != info.kind:
        return integers.narrowed(summarised(a), info)
    if source.bits == info.bits and source.integral and info.kind == "f":
        return floats.from_bits(a, info)
    return top_of(eqn.outvars[0])


@rule("reduce_precision_p", pointwise=True)
def _reduce_precision(eqn: Any, a: Fact) -> Fact:
    info, p = of(eqn.outvars[0]), eqn.params
    if info.kind != "f":
        return TOP_FLOAT
    return floats.of_fewer_bits(a, int(p["exponent_bits"]), int(p["mantissa_bits"]), info)


@rule("nextafter_p", needs="none")
def _any_float(eqn: Any, *facts: Fact) -> Fact:
    return TOP_FLOAT


@rule(
    "copy_p",
    "stop_gradient_p",
    "sharding_constraint_p",
    "mesh_cast_p",
    "reshard_p",
    "pvary_p",
    "pcast_p",
    "layout_constraint_p",
    "name_p",
    "new_ref_p",
    pointwise=True,
)
def _identity(eqn: Any, a: Fact, *rest: Fact) -> Fact:
    return a


@rule("optimization_barrier_p", "device_put_p")
def _identities(eqn: Any, *facts: Fact) -> Any:
    return facts[0] if len(eqn.outvars) == 1 else list(facts)
