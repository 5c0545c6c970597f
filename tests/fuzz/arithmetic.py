"""XLA's meaning of the frequent elementwise primitives, in NumPy.

NumPy and XLA differ exactly where bounds go wrong: division by zero, truncation toward zero, shifts past
the width, conversions that saturate. `test_exact.py` holds every function here against JAX itself.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

Params = dict[str, Any]
Rule = Callable[..., Any]


def divide(params: Params, a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        return np.divide(a, b)
    zero = b == 0
    if a.dtype.kind == "u":
        return np.where(zero, np.iinfo(a.dtype).max, a // np.where(zero, 1, b).astype(a.dtype)).astype(a.dtype)
    overflow = (a == np.iinfo(a.dtype).min) & (b == -1)
    divisor = np.where(zero | overflow, 1, b).astype(a.dtype)
    floored = a // divisor
    inexact = (floored * divisor != a) & ((a < 0) != (divisor < 0))
    return np.where(zero, -1, floored + inexact).astype(a.dtype)


def remainder(params: Params, a: Any, b: Any) -> Any:
    if a.dtype.kind == "f":
        return np.fmod(a, b)
    zero = b == 0
    special = zero if a.dtype.kind == "u" else zero | (b == -1)
    value = np.fmod(a, np.where(special, 1, b).astype(a.dtype))
    return np.where(zero, a, value).astype(a.dtype)


def _width(a: Any) -> int:
    return int(a.dtype.itemsize) * 8


def _unsigned(a: Any) -> Any:
    return a.astype(np.dtype(f"u{a.dtype.itemsize}"))


def _shift_amount(a: Any, b: Any) -> tuple[Any, Any]:
    """The amount, made harmless where it is out of range, and whether it is."""
    amount = _unsigned(b)
    too_far = amount >= _width(a)
    return np.where(too_far, 0, amount).astype(amount.dtype), too_far


def shift_left(params: Params, a: Any, b: Any) -> Any:
    amount, too_far = _shift_amount(a, b)
    return np.where(too_far, 0, np.left_shift(_unsigned(a), amount)).astype(a.dtype)


def shift_right_logical(params: Params, a: Any, b: Any) -> Any:
    amount, too_far = _shift_amount(a, b)
    return np.where(too_far, 0, np.right_shift(_unsigned(a), amount)).astype(a.dtype)


def shift_right_arithmetic(params: Params, a: Any, b: Any) -> Any:
    """Sign-extending whatever the dtype: XLA reads an unsigned operand's top bit as its sign."""
    amount, too_far = _shift_amount(a, b)
    signed = np.dtype(f"i{a.dtype.itemsize}")
    far = np.where(too_far, _width(a) - 1, amount).astype(signed)
    return np.right_shift(a.astype(signed), far).astype(a.dtype)


def population_count(params: Params, a: Any) -> Any:
    return np.bitwise_count(_unsigned(a)).astype(a.dtype)


def count_leading_zeros(params: Params, a: Any) -> Any:
    wide = _unsigned(a).astype(np.uint64)
    high, low = (wide >> np.uint64(32)).astype(np.float64), (wide & np.uint64(0xFFFFFFFF)).astype(np.float64)
    length = np.where(high > 0, 32 + np.frexp(high)[1], np.frexp(low)[1])
    return (_width(a) - length).astype(a.dtype)


def convert(params: Params, a: Any) -> Any:
    """Float to int truncates and saturates, NaN becomes 0; int to int wraps; anything non-zero is True."""
    target = np.dtype(params["new_dtype"])
    if target == np.bool_:
        return a != 0
    if a.dtype.kind == "f" and target.kind in "iu":
        info: Any = np.iinfo(target)
        low, high = float(info.min), float(info.max)
        wide = np.trunc(a.astype(np.float64))
        inside = (wide >= low) & (wide < high)
        value = np.where(inside, wide, 0.0).astype(target)
        return np.where(wide >= high, info.max, np.where(wide < low, info.min, value)).astype(target)
    return a.astype(target)


def select(params: Params, which: Any, *cases: Any) -> Any:
    if which.dtype == np.bool_:
        if which.ndim == 0 and len(cases) == 2:
            return cases[1] if which else cases[0]
        return np.where(which, cases[1], cases[0]) if len(cases) == 2 else cases[0]
    return np.choose(which, cases, mode="clip")


def clamp(params: Params, low: Any, a: Any, high: Any) -> Any:
    return np.minimum(np.maximum(a, low), high)


def round_(params: Params, a: Any) -> Any:
    if int(params["rounding_method"]) == 0:
        whole = np.trunc(a)
        return np.where(np.abs(a - whole) >= 0.5, whole + np.sign(a), whole).astype(a.dtype)
    return np.rint(a)


def integer_power(params: Params, a: Any) -> Any:
    if a.dtype.kind == "f" or params["y"] < 0:
        raise NotImplementedError
    result = np.ones_like(a)
    for _ in range(params["y"]):
        result = (result * a).astype(a.dtype)
    return result


def bitcast(params: Params, a: Any) -> Any:
    target = np.dtype(params["new_dtype"])
    if target.itemsize != a.dtype.itemsize or np.bool_ in (target, a.dtype):
        raise NotImplementedError
    return np.ascontiguousarray(a).view(target).reshape(a.shape)


def _plain(function: Callable[..., Any]) -> Rule:
    return lambda params, *args: function(*args)


def multiply(params: Params, a: Any, b: Any) -> Any:
    if params.get("out_dtype") is not None:
        raise NotImplementedError
    return a * b


def _ordered(function: Callable[..., Any]) -> Rule:
    """The total order, which of whole numbers is the usual one."""

    def rule(params: Params, a: Any, b: Any) -> Any:
        if a.dtype.kind == "f":
            raise NotImplementedError
        return function(a, b)

    return rule


def _identity(params: Params, *args: Any) -> Any:
    return list(args)


ELEMENTWISE: dict[str, Rule] = {
    "add": _plain(operator.add),
    "add_any": _plain(operator.add),
    "sub": _plain(operator.sub),
    "mul": multiply,
    "div": divide,
    "rem": remainder,
    "neg": _plain(operator.neg),
    "abs": _plain(operator.abs),
    "sign": _plain(np.sign),
    "max": _plain(np.maximum),
    "min": _plain(np.minimum),
    "and": _plain(operator.and_),
    "or": _plain(operator.or_),
    "xor": _plain(operator.xor),
    "not": _plain(operator.invert),
    "shift_left": shift_left,
    "shift_right_logical": shift_right_logical,
    "shift_right_arithmetic": shift_right_arithmetic,
    "population_count": population_count,
    "clz": count_leading_zeros,
    "eq": _plain(operator.eq),
    "ne": _plain(operator.ne),
    "lt": _plain(operator.lt),
    "le": _plain(operator.le),
    "gt": _plain(operator.gt),
    "ge": _plain(operator.ge),
    "le_to": _ordered(operator.le),
    "lt_to": _ordered(operator.lt),
    "eq_to": _ordered(operator.eq),
    "select_n": select,
    "clamp": clamp,
    "convert_element_type": convert,
    "bitcast_convert_type": bitcast,
    "integer_pow": integer_power,
    "square": _plain(np.square),
    "floor": _plain(np.floor),
    "ceil": _plain(np.ceil),
    "round": round_,
    "is_finite": _plain(np.isfinite),
    "stop_gradient": _identity,
    "copy": _identity,
    "copy_p": _identity,
    "name": _identity,
    "optimization_barrier": _identity,
}
