"""Floats by numpy, roughly: which inputs are worth a closer look.

XLA adds in another order and has its own exponential, so what is computed here can differ in the last digits. It is
good enough to see which input may lead an access out of its array; that it does is then shown by JAX.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from statistics import NormalDist
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info
from redzone.prove.concrete_arrays import ARRAYS

Function = Callable[..., Any]


def _inverse_erf(x: float) -> float:
    if abs(x) < 1:
        return NormalDist().inv_cdf((x + 1) / 2) / math.sqrt(2)
    return x * math.inf if abs(x) == 1 else math.nan


_POINTWISE: Final[dict[str, Function]] = {
    "add": np.add,
    "sub": np.subtract,
    "mul": np.multiply,
    "div": np.divide,
    "rem": np.fmod,
    "pow": np.power,
    "max": np.maximum,
    "min": np.minimum,
    "neg": np.negative,
    "abs": np.abs,
    "sign": np.sign,
    "exp": np.exp,
    "exp2": np.exp2,
    "expm1": np.expm1,
    "log": np.log,
    "log1p": np.log1p,
    "sqrt": np.sqrt,
    "rsqrt": lambda x: 1 / np.sqrt(x),
    "cbrt": np.cbrt,
    "square": np.square,
    "tanh": np.tanh,
    "logistic": lambda x: 1 / (1 + np.exp(-x)),
    "sin": np.sin,
    "cos": np.cos,
    "tan": np.tan,
    "atan2": np.arctan2,
    "asin": np.arcsin,
    "acos": np.arccos,
    "atan": np.arctan,
    "sinh": np.sinh,
    "cosh": np.cosh,
    "asinh": np.arcsinh,
    "acosh": np.arccosh,
    "atanh": np.arctanh,
    "erf": np.vectorize(math.erf, otypes=[float]),
    "erfc": np.vectorize(math.erfc, otypes=[float]),
    "erf_inv": np.vectorize(lambda x: _inverse_erf(float(x)), otypes=[float]),
    "round": np.round,
    "floor": np.floor,
    "ceil": np.ceil,
    "is_finite": np.isfinite,
    # Of floats so narrow that a compiler may keep them wider.
    "lt": np.less,
    "le": np.less_equal,
    "gt": np.greater,
    "ge": np.greater_equal,
    "eq": np.equal,
    "ne": np.not_equal,
}
_FOLDS: Final[dict[str, Function]] = {
    "reduce_sum": np.add,
    "reduce_prod": np.multiply,
    "reduce_max": np.maximum,
    "reduce_min": np.minimum,
}
_RUNNING: Final[dict[str, Function]] = {
    "cumsum": np.add,
    "cumprod": np.multiply,
    "cummax": np.maximum,
    "cummin": np.minimum,
}
#: Writes that add to, or multiply, what is there: several to one place in any order.
_WRITES: Final = frozenset({"scatter-add", "scatter-mul"})


def roughly(eqn: Any, values: list[Any]) -> list[Any] | None:
    """The result of an equation of floats, about; None where numpy is not asked."""
    if eqn.primitive.name == "iota":
        return [_counted(eqn)]
    if not any(dtype_info(getattr(v.aval, "dtype", None)).kind == "f" for v in eqn.invars):
        return None
    name, params = eqn.primitive.name, eqn.params
    operands = [np.asarray(v) for v in values]
    result: Any = None
    if name in _POINTWISE:
        result = _POINTWISE[name](*operands)
    elif name == "convert_element_type" and dtype_info(eqn.outvars[0].aval.dtype).kind == "f":
        result = operands[0]
    elif name in ("argmax", "argmin") and operands[0].size:
        (axis,) = params["axes"]
        result = getattr(np, name)(operands[0].astype(np.float32), axis)
    elif name == "integer_pow":
        result = operands[0] ** params["y"]
    elif name in _FOLDS and operands[0].size:
        result = _FOLDS[name].reduce(operands[0], axis=tuple(params["axes"]))  # type: ignore[attr-defined]
    elif name in _RUNNING:
        axis = params["axis"]
        x = np.flip(operands[0], axis) if params["reverse"] else operands[0]
        result = _RUNNING[name].accumulate(x, axis=axis)  # type: ignore[attr-defined]
        result = np.flip(result, axis) if params["reverse"] else result
    elif name == "dot_general":
        # numpy sums up no products of narrow floats.
        wide = [x.astype(np.promote_types(x.dtype, np.float32)) for x in operands]
        result = dotted(params["dimension_numbers"], *wide)
    elif name in _WRITES:
        try:
            result = ARRAYS[name](eqn, *operands)
        except NotImplementedError:
            return None
    return None if result is None else [np.asarray(result, eqn.outvars[0].aval.dtype)]


def _counted(eqn: Any) -> Any:
    """Whole numbers along a dimension, in a type that need not hold them all."""
    shape, along = eqn.params["shape"], eqn.params["dimension"]
    at = [1] * len(shape)
    at[along] = shape[along]
    return np.broadcast_to(np.arange(shape[along]).reshape(at), shape).astype(eqn.outvars[0].aval.dtype)


def dotted(numbers: Any, a: Any, b: Any) -> Any:
    """A product of arrays summed over some of their dimensions, as `dot_general` numbers them."""
    (summed_a, summed_b), (batch_a, batch_b) = numbers
    letters = iter("abcdefghijklmnopqrstuvwxyz")
    left, right = [""] * a.ndim, [""] * b.ndim
    for pairs in (zip(batch_a, batch_b, strict=True), zip(summed_a, summed_b, strict=True)):
        for i, k in pairs:
            left[i] = right[k] = next(letters)
    batch = [left[i] for i in batch_a]
    left, right = [x or next(letters) for x in left], [x or next(letters) for x in right]
    rest = [x for i, x in enumerate(left) if i not in (*summed_a, *batch_a)]
    rest += [x for i, x in enumerate(right) if i not in (*summed_b, *batch_b)]
    return np.einsum(f"{''.join(left)},{''.join(right)}->{''.join((*batch, *rest))}", a, b)
