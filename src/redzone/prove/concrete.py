"""Exact evaluation of single equations on concrete arrays: numpy where it agrees with XLA to the bit, JAX elsewhere."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info
from redzone.domains.dtype import DtypeInfo
from redzone.domains.fact import NORMAL
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import bind, primitives
from redzone.prove.concrete_arrays import ARRAYS, ORDERING, has_one_zero, one_zero
from redzone.prove.concrete_made import MADE, quotient, remainder
from redzone.prove.concrete_random import random_function
from redzone.prove.rough import dotted
from redzone.rules.reductions import tells_places

_P: Final = primitives()
_BY_NAME: Final = {primitive.name: primitive for primitive in _P.values()}
_SINGLE: Final = frozenset((np.float32, np.float64))
_NUMPY: Final[dict[Any, Callable[..., Any]]] = {_BY_NAME[name]: f for name, f in ARRAYS.items() if name in _BY_NAME}


def exact(*names: str) -> Callable[[Any], Any]:
    """Register numpy's way to evaluate primitives, as XLA does to the bit."""

    def register(function: Any) -> Any:
        for name in names:
            if name + "_p" in _P:
                _NUMPY[_P[name + "_p"]] = function
        return function

    return register


def is_exact_here(eqn: Any) -> bool:
    """Whether numpy can evaluate an equation as XLA would: integers always, floats where IEEE says how."""
    name = eqn.primitive.name
    if name not in MADE and eqn.primitive not in _NUMPY:
        return False
    latest: Any = name
    for variables in (eqn.invars, eqn.outvars):
        for v in variables:
            dtype = getattr(v.aval, "dtype", None)
            if dtype is latest:
                continue
            latest, info = dtype, dtype_info(dtype)
            if info.kind == "b" or (info.integral and info.bits >= 8):
                continue
            if info.kind == "x" or not (name in _REARRANGED if info.integral else _is_exact_float(eqn, name, info)):
                return False
    return True


def _is_exact_float(eqn: Any, name: str, info: DtypeInfo) -> bool:
    """The same of an equation in which such floats take part."""
    # A float of 16 bits is exact in 32, and as an integer.
    widened = name == "convert_element_type" and info.bits == 16 and _is_wide(eqn.outvars[0])
    narrow = info.bits < 32 and not widened
    if name not in _MOVING and (narrow or (name not in _IEEE and not _writes_once(eqn))):
        return False
    return info.bits >= 32 or name not in ORDERING


def _writes_once(eqn: Any) -> bool:
    """Whether an equation adds to each place of an array at most once, or multiplies it: an addition as any other."""
    if eqn.primitive.name not in ("scatter-add", "scatter-mul"):
        return False
    return bool(math.prod(eqn.invars[1].aval.shape[:-1]) == 1)


def _is_wide(var: Any) -> bool:
    info = dtype_info(var.aval.dtype)
    return info.kind != "f" or info.bits >= 32


#: What numpy does with integers of less than a byte too, of which it knows little else.
_REARRANGED: Final = frozenset(
    {
        "broadcast_in_dim",
        "squeeze",
        "reshape",
        "transpose",
        "concatenate",
        "slice",
        "select_n",
        "copy",
        "stop_gradient",
        "dynamic_slice",
    }
)
_MOVING: Final = frozenset(
    {
        *_REARRANGED,
        "stack",
        "rev",
        "pad",
        "dynamic_update_slice",
        "gather",
        "scatter",
        "unstack",
        "split",
        "tile",
        "assume",
        *ORDERING,
    }
)
_IEEE: Final = frozenset(
    {
        "add",
        "sub",
        "mul",
        "neg",
        "max",
        "min",
        "floor",
        "ceil",
        "eq",
        "ne",
        "lt",
        "le",
        "gt",
        "ge",
        "convert_element_type",
        "clamp",
        "argmax",
        "argmin",
        "nextafter",
        "iota",
        "bitcast_convert_type",
        "is_finite",
    }
)


def exactly(eqn: Any, values: list[Any]) -> list[Any] | None:
    """The results of one equation without inner jaxprs, by numpy; None where it cannot tell them to the bit."""
    function = exact_function(eqn)
    if function is None:
        return None
    with np.errstate(all="ignore"):
        results = function([np.asarray(v) for v in values])
    return results and [np.asarray(r, v.aval.dtype) for r, v in zip(results, eqn.outvars, strict=True)]


def exact_function(eqn: Any) -> Callable[[list[Any]], list[Any] | None] | None:
    """How numpy evaluates an equation, from its operands' numpy arrays to its results; None where it never can."""
    single, function = exact_functions(eqn)
    return function if single is None else listing(single)


def exact_functions(eqn: Any) -> tuple[Callable[..., Any] | None, Callable[[list[Any]], list[Any] | None] | None]:
    """A function made for this equation alone, from its operands to its only result; or else the same as above."""
    if not is_exact_here(eqn):
        drawn = random_function(eqn)
        return None, None if drawn is None else lambda values: _listed(drawn(eqn, *map(np.asarray, values)))
    made = MADE.get(eqn.primitive.name)
    single = made(eqn) if made is not None else None
    if single is not None and _computes_floats(eqn):
        picks = eqn.primitive.name in ("max", "min")

        def computed(values: list[Any]) -> list[Any] | None:
            return _unless_subnormal([single(*values)], values) if not picks or has_one_zero(*values) else None

        return None, computed
    if single is not None:
        return single, None
    function, dtypes = _NUMPY.get(eqn.primitive), [v.aval.dtype for v in eqn.outvars]
    if function is None:
        return None, None
    computes = bool(eqn.invars) and _computes_floats(eqn)

    def evaluated(values: list[Any]) -> list[Any] | None:
        try:
            result = function(eqn, *map(np.asarray, values))
        except (NotImplementedError, ValueError):
            return None
        results = [np.asarray(r, dtype) for r, dtype in zip(_listed(result), dtypes, strict=True)]
        return _unless_subnormal(results, [np.asarray(v) for v in values]) if computes else results

    return None, evaluated


def listing(single: Callable[..., Any]) -> Callable[[list[Any]], list[Any] | None]:
    """A function to an equation's only result as one from a list to a list."""
    return lambda values: [single(*values)]


def _computes_floats(eqn: Any) -> bool:
    """Whether an equation computes with floats, or compares them, rather than move them about."""
    return dtype_info(eqn.invars[0].aval.dtype).kind == "f" and eqn.primitive.name not in _MOVING


def _unless_subnormal(results: list[Any], values: list[Any]) -> list[Any] | None:
    """The results; None where one of them, or of the operands, is so small that a machine may take it for zero."""
    for x in (*values, *results):
        if type(x) in _SINGLE:
            if 0.0 < abs(float(x)) < NORMAL:
                return None
        elif x.dtype.kind == "f" and _has_subnormal(x):
            return None
    return results


def _has_subnormal(x: Any) -> bool:
    if x.size == 1:
        return 0.0 < abs(float(x.item())) < NORMAL
    small = np.abs(x) < NORMAL
    return bool(small.any()) and bool((x[small] != 0).any())


def _listed(result: Any) -> list[Any]:
    return result if isinstance(result, list) else [result]


def evaluate(eqn: Any, values: list[Any]) -> list[Any]:
    """The results of one equation without inner jaxprs, by numpy or else by JAX."""
    results = exactly(eqn, values)
    return bind(eqn, values) if results is None else results


def _simple(name: str, function: Callable[..., Any]) -> None:
    exact(name)(lambda eqn, *values: function(*values))


_DIRECT: Final[dict[str, Callable[..., Any]]] = {
    "sign": np.sign,
    "nextafter": np.nextafter,
    "is_finite": np.isfinite,
    **dict.fromkeys(("copy", "stop_gradient", "sharding_constraint", "pvary", "name"), lambda x: x),
}
for _name, _function in _DIRECT.items():
    _simple(_name, _function)
_NUMPY[assume_p] = lambda eqn, x, *condition: x


_QUOTIENTS: Final = np.frompyfunc(quotient, 2, 1)
_REMAINDERS: Final = np.frompyfunc(remainder, 2, 1)


@exact("div")
def _div(eqn: Any, a: Any, b: Any) -> Any:
    return wrapped(_QUOTIENTS(a.astype(object), b.astype(object)), a.dtype)


@exact("rem")
def _rem(eqn: Any, a: Any, b: Any) -> Any:
    return wrapped(_REMAINDERS(a.astype(object), b.astype(object)), a.dtype)


def wrapped(values: Any, dtype: Any) -> Any:
    """Whole numbers of any size as a machine integer holds them."""
    info = dtype_info(np.dtype(dtype))
    span = 1 << info.bits
    values = np.asarray(values, object)
    return np.asarray((values - info.min) % span + info.min).astype(dtype)


def _shifted(x: Any, by: Any, shift: Callable[..., Any]) -> Any:
    bits = dtype_info(x.dtype).bits
    if np.any((by < 0) | (by >= bits)):
        raise NotImplementedError("a shift by more than the width")
    return shift(x, by)


@exact("shift_left")
def _shift_left(eqn: Any, x: Any, by: Any) -> Any:
    return _shifted(x, by, np.left_shift)


@exact("shift_right_arithmetic")
def _shift_right(eqn: Any, x: Any, by: Any) -> Any:
    signed = x.astype(np.dtype(f"i{x.dtype.itemsize}"))
    return _shifted(signed, by.astype(signed.dtype), np.right_shift).astype(x.dtype)


@exact("shift_right_logical")
def _shift_right_logical(eqn: Any, x: Any, by: Any) -> Any:
    unsigned = x.astype(np.dtype(f"u{x.dtype.itemsize}"))
    return _shifted(unsigned, by.astype(unsigned.dtype), np.right_shift).astype(x.dtype)


@exact("clz")
def _leading_zeros(eqn: Any, x: Any) -> Any:
    bits = dtype_info(x.dtype).bits
    return np.vectorize(lambda n: bits - (int(n) % (1 << bits)).bit_length(), otypes=[x.dtype])(x)


@exact("population_count")
def _set_bits(eqn: Any, x: Any) -> Any:
    return np.bitwise_count(x.view(np.dtype(f"u{x.dtype.itemsize}")))


@exact("bitcast_convert_type")
def _bitcast(eqn: Any, x: Any) -> Any:
    dtype = np.dtype(eqn.outvars[0].aval.dtype)
    if dtype.itemsize != x.dtype.itemsize or np.bool_ in (dtype, x.dtype):
        raise NotImplementedError("other than number by number")
    return x.view(dtype)


@exact("dot_general")
def _dot(eqn: Any, a: Any, b: Any) -> Any:
    dtype = eqn.outvars[0].aval.dtype
    # Machine integers wrap, and so do these.
    return dotted(eqn.params["dimension_numbers"], a.astype(dtype), b.astype(dtype))


@exact("clamp")
def _clamp(eqn: Any, low: Any, x: Any, high: Any) -> Any:
    one_zero(low, x, high)
    return np.minimum(np.maximum(x, low), high)


@exact("select_n")
def _select(eqn: Any, which: Any, *cases: Any) -> Any:
    return np.choose(which.astype(np.int64), cases, mode="clip")


@exact("convert_element_type")
def _convert(eqn: Any, x: Any) -> Any:
    """To wide integers, whose ends a float does not hold; XLA saturates and makes NaN zero."""
    target = np.dtype(eqn.outvars[0].aval.dtype)
    info = dtype_info(target)
    whole = np.trunc(np.where(np.isnan(x), 0, x)).astype(np.float64)
    inside = np.clip(whole, float(info.min), float(info.max)).astype(object)
    return np.vectorize(lambda n: min(max(int(n), info.min), info.max), otypes=[target])(inside)


@exact("dim_as_value")
def _size(eqn: Any) -> Any:
    return eqn.params["dim"]


@exact("iota")
def _iota(eqn: Any) -> Any:
    shape, axis = eqn.params["shape"], eqn.params["dimension"]
    line = np.arange(shape[axis]).astype(eqn.outvars[0].aval.dtype)
    return np.broadcast_to(line.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)


@exact("transpose")
def _transpose(eqn: Any, x: Any) -> Any:
    return x.transpose(eqn.params["permutation"])


@exact("concatenate")
def _concatenate(eqn: Any, *parts: Any) -> Any:
    return np.concatenate(parts, eqn.params["dimension"])


@exact("argmax")
def _argmax(eqn: Any, x: Any) -> Any:
    _told_apart(eqn)
    return np.argmax(x, axis=eqn.params["axes"][0])


@exact("argmin")
def _argmin(eqn: Any, x: Any) -> Any:
    _told_apart(eqn)
    return np.argmin(x, axis=eqn.params["axes"][0])


def _told_apart(eqn: Any) -> None:
    if not tells_places(eqn):
        raise NotImplementedError("places that have the same number")


@exact("cumsum")
def _cumsum(eqn: Any, x: Any) -> Any:
    axis = eqn.params["axis"]
    if eqn.params["reverse"]:
        return np.flip(np.cumsum(np.flip(x, axis), axis=axis, dtype=x.dtype), axis)
    return np.cumsum(x, axis=axis, dtype=x.dtype)


@exact("reduce_and")
def _every(eqn: Any, x: Any) -> Any:
    return (
        np.logical_and.reduce(x, axis=tuple(eqn.params["axes"]))
        if x.dtype == np.bool_
        else np.bitwise_and.reduce(x, axis=tuple(eqn.params["axes"]))
    )
