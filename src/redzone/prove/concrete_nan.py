"""NaN in, NaN out: what equations yield that numpy cannot evaluate to the bit, where an operand is nothing but NaN.

Whatever a function computes of numbers, of NaN it is NaN; so is a sum or product with NaN in it. Then the other
operands need not even be known. Powers are left out: NaN to the power 0 is 1. Arrays of NaN are passed on as one and
the same, so that telling them costs nothing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info

_FUNCTIONS: Final = frozenset(
    {"acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cbrt", "cos", "cosh", "digamma", "erf", "erf_inv"}
    | {"erfc", "exp", "exp2", "expm1", "lgamma", "log", "log1p", "logistic", "nextafter", "rsqrt", "sin", "sinh"}
    | {"sqrt", "tan", "tanh"}
)
_ARITHMETIC: Final = frozenset(
    {"abs", "add", "add_any", "ceil", "div", "floor", "mul", "neg", "rem", "round", "square", "sub"}
)
_ELEMENTWISE: Final = _FUNCTIONS | _ARITHMETIC
_SUMS: Final = frozenset({"reduce_sum", "reduce_prod", "cumsum", "cumprod", "dot_general"})
#: All their elements come from their first operand.
_MOVES: Final = frozenset(
    {"broadcast_in_dim", "reshape", "squeeze", "slice", "transpose", "rev", "copy", "stop_gradient", "dynamic_slice"}
    | {"convert_element_type"}
)
_PASSING: Final = _ELEMENTWISE | _SUMS | _MOVES

#: By shape and dtype, the one array of NaN that a replay passes on, known by its identity.
_NANS: Final[dict[Any, Any]] = {}
_KNOWN: Final[set[int]] = set()


def nothing_but_nan(shape: tuple[int, ...], dtype: Any) -> Any:
    """An array of NaN, the same one each time; however large, it is one number in memory."""
    found = _NANS.get((shape, dtype))
    if found is None:
        if len(_NANS) > 1024:
            _NANS.clear()
            _KNOWN.clear()
        found = _NANS[shape, dtype] = np.broadcast_to(np.asarray(np.nan, dtype), shape)
        _KNOWN.add(id(found))
    return found


def is_nothing_but_nan(value: Any) -> bool:
    """Whether a value is such an array, the very one."""
    return id(value) in _KNOWN


def passes_nan(eqn: Any) -> Any:
    """The array of NaN that an equation yields where an operand it may count for is NaN; None for other equations.

    With it, by operand: whether that operand counts.
    """
    if eqn.primitive.name not in _PASSING or len(eqn.outvars) != 1:
        return None
    name, out = eqn.primitive.name, eqn.outvars[0]
    if dtype_info(out.aval.dtype).kind != "f":
        return None
    shapes = [v.aval.shape for v in (*eqn.invars, out)]
    if not all(type(n) is int for shape in shapes for n in shape):
        return None
    # An operand of fewer elements than the result stands beside each of them; a sum has NaN in it or is empty.
    counts = [
        dtype_info(a.aval.dtype).kind == "f"
        and bool(math.prod(a.aval.shape))
        and (name not in _ELEMENTWISE or a.aval.shape in ((), out.aval.shape))
        and not (k and name in _MOVES)
        for k, a in enumerate(eqn.invars)
    ]
    return (nothing_but_nan(out.aval.shape, out.aval.dtype), counts) if any(counts) else None


def of_nan(passed: Any, values: Sequence[Any], looks: bool = False) -> list[Any] | None:
    """The result of such an equation if an operand that counts is known to be NaN; None if none is.

    With `looks`, an array that is not known by its identity is looked at.
    """
    result, counts = passed
    for value, matters in zip(values, counts, strict=True):
        if matters and (id(value) in _KNOWN or (looks and value is not None and bool(np.isnan(value).all()))):
            return [result]
    return None
