"""The commonest equations as numpy functions made for one equation each: what its parameters say is worked out once.

A replay evaluates them in loops. The functions take numpy arrays, or numbers, of just the types the equation says, and
yield what its result is, with that type.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info

Function = Callable[..., Any]

#: By primitive, from an equation to its function, or None where the general way has to do.
MADE: Final[dict[str, Callable[[Any], Function | None]]] = {}
#: Arrays of up to this many elements are copied rather than made views of.
_FEW: Final = 1024
#: The most elements that windows at several places are looked at for.
MOST: Final = 1 << 20


def _made(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        MADE.update(dict.fromkeys(names, function))
        return function

    return register


#: Operators, which numpy computes of two numbers ten times as fast as its functions do.
_DIRECT: Final[dict[str, Function]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "neg": operator.neg,
    "and": operator.and_,
    "or": operator.or_,
    "xor": operator.xor,
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
    "max": np.maximum,
    "min": np.minimum,
    "floor": np.floor,
    "ceil": np.ceil,
}


def _always(function: Function) -> Callable[[Any], Function]:
    return lambda eqn: function


MADE.update({name: _always(function) for name, function in _DIRECT.items()})


@_made("not")
def _not(eqn: Any) -> Function:
    return np.logical_not if eqn.invars[0].aval.dtype == np.bool_ else np.invert


@_made("select_n")
def _select(eqn: Any) -> Function | None:
    """Beyond the cases it picks the nearest."""
    which, last = eqn.invars[0].aval, len(eqn.invars) - 2
    is_bool = which.dtype == np.bool_
    if which.shape == ():
        if last != 1:
            return lambda which, *cases: cases[min(max(int(which), 0), last)]
        if is_bool:
            return lambda which, no, yes: yes if which else no
        return lambda which, no, yes: yes if which > 0 else no
    if last != 1:
        return None
    if is_bool:
        return lambda which, no, yes: np.where(which, yes, no)
    return lambda which, no, yes: np.where(which > 0, yes, no)


@_made("convert_element_type")
def _convert(eqn: Any) -> Function | None:
    source, target = np.dtype(eqn.invars[0].aval.dtype), np.dtype(eqn.outvars[0].aval.dtype)
    if source == target:
        return lambda x: x
    if target == np.bool_:
        return lambda x: x != 0
    info = dtype_info(target)
    if eqn.invars[0].aval.shape == () and dtype_info(source).kind == "b":
        zero, one = np.zeros((), target)[()], np.ones((), target)[()]
        return lambda x: one if x else zero
    if dtype_info(source).kind != "f" or info.kind not in "iu":
        return lambda x: x.astype(target)
    if info.bits > 32:
        return None
    wide = np.dtype(np.float32 if source.itemsize < 4 else source)
    # XLA saturates and makes NaN zero; a double holds the ends of the narrower integers.
    low, high = float(info.min), float(info.max)

    def saturated(x: Any) -> Any:
        whole = np.trunc(x.astype(wide)).astype(np.float64)
        return np.clip(np.where(np.isnan(whole), 0.0, whole), low, high).astype(target)

    return saturated


def _in_wide(eqn: Any, function: Function, of_two: Callable[[int, int], int]) -> Function | None:
    """A function of two integers that twice the width holds: of each pair in arrays, or of the only one there is."""
    dtype = np.dtype(eqn.outvars[0].aval.dtype)
    if dtype_info(dtype).bits > 32:
        return None
    if eqn.outvars[0].aval.shape == ():
        return lambda a, b: np.int64(of_two(int(a), int(b))).astype(dtype)
    return lambda a, b: function(a.astype(np.int64), b.astype(np.int64)).astype(dtype)


def _quotients(a: Any, b: Any) -> Any:
    """Toward zero; by zero, all bits set."""
    size = np.abs(a) // np.where(b == 0, 1, np.abs(b))
    return np.where(b == 0, -1, np.where((a < 0) == (b < 0), size, -size))


def _remainders(a: Any, b: Any) -> Any:
    """With the dividend's sign; by zero, the dividend."""
    size = np.abs(a) % np.where(b == 0, 1, np.abs(b))
    return np.where(b == 0, a, np.where(a < 0, -size, size))


def quotient(a: int, b: int) -> int:
    """Toward zero; by zero, all bits set."""
    if b == 0:
        return -1
    return abs(a) // abs(b) if (a < 0) == (b < 0) else -(abs(a) // abs(b))


def remainder(a: int, b: int) -> int:
    """With the dividend's sign; by zero, the dividend."""
    if b == 0:
        return a
    return abs(a) % abs(b) if a >= 0 else -(abs(a) % abs(b))


MADE["div"] = lambda eqn: _in_wide(eqn, _quotients, quotient)
MADE["rem"] = lambda eqn: _in_wide(eqn, _remainders, remainder)


@_made("reduce_or", "reduce_and", "reduce_max", "reduce_min")
def _reduce(eqn: Any) -> Function | None:
    """Along no dimension, there is nothing to do."""
    return None if tuple(eqn.params["axes"]) else lambda x: x


@_made("broadcast_in_dim")
def _broadcast(eqn: Any) -> Function | None:
    shape, dims, source = eqn.params["shape"], eqn.params["broadcast_dimensions"], eqn.invars[0].aval
    if len(eqn.invars) != 1 or not _is_known(shape, source.shape):
        return None
    if source.shape == () and math.prod(shape) <= _FEW:

        def filled(x: Any) -> Any:
            result = np.empty(shape, x.dtype)
            result.fill(x)
            return result

        return filled
    middle = [1] * len(shape)
    for k, d in enumerate(dims):
        middle[d] = source.shape[k]
    if tuple(middle) == tuple(shape):
        return lambda x: x.reshape(shape)
    if math.prod(shape) > _FEW:
        return lambda x: np.broadcast_to(x.reshape(middle), shape)

    def repeated(x: Any) -> Any:
        result = np.empty(shape, x.dtype)
        result[...] = x.reshape(middle)
        return result

    return repeated


@_made("squeeze")
def _squeeze(eqn: Any) -> Function | None:
    shape = eqn.outvars[0].aval.shape
    if shape == ():
        # A number rather than an array of one: operators are faster at it.
        return lambda x: x.reshape(())[()]
    return (lambda x: x.reshape(shape)) if _is_known(shape) else None


@_made("reshape")
def _reshape(eqn: Any) -> Function | None:
    # With dimensions given, their order changes first.
    return _squeeze(eqn) if len(eqn.invars) == 1 and eqn.params.get("dimensions") is None else None


@_made("slice")
def _slice(eqn: Any) -> Function | None:
    p = eqn.params
    first, last = p["start_indices"], p["limit_indices"]
    strides = p["strides"] or (1,) * len(first)
    if not _is_known(first, last, strides):
        return None
    there = tuple(slice(a, b, s) for a, b, s in zip(first, last, strides, strict=True))
    return lambda x: x[there]


@_made("dynamic_slice")
def _dynamic_slice(eqn: Any) -> Function | None:
    sizes, shape = eqn.params["slice_sizes"], eqn.invars[0].aval.shape
    if len(eqn.invars) != 1 + len(shape) or not _is_known(sizes, shape):
        return None
    window = _window(shape, sizes)
    return lambda x, *starts: x[window(starts)]


@_made("dynamic_update_slice")
def _dynamic_update_slice(eqn: Any) -> Function | None:
    shape, sizes = eqn.invars[0].aval.shape, eqn.invars[1].aval.shape
    if not _is_known(shape, sizes):
        return None
    window = _window(shape, sizes)

    def updated(x: Any, update: Any, *starts: Any) -> Any:
        result = np.array(x)
        result[window(starts)] = update
        return result

    return updated


@_made("gather")
def _gather(eqn: Any) -> Function | None:
    """Windows that would leave are moved inside, or filled."""
    source, given, sizes = eqn.invars[0].aval, eqn.invars[1].aval, eqn.params["slice_sizes"]
    shape, batch, result = source.shape, given.shape[:-1], eqn.outvars[0].aval.shape
    if not _is_known(shape, given.shape, result) or any(size > n for size, n in zip(sizes, shape, strict=True)):
        return None
    numbers, fills = eqn.params["dimension_numbers"], eqn.params["mode"].name == "FILL_OR_DROP"
    mapped, filling = numbers.start_index_map, _filling(eqn, source.dtype) if fills else None
    count = math.prod(batch)
    if count == 1:
        window, dims = _window(shape, sizes), [(d, shape[d] - sizes[d]) for d in mapped]

        def read(x: Any, indices: Any) -> Any:
            starts, here = [0] * len(shape), indices.reshape(-1).tolist()
            if fills and any(n < 0 or n > last for n, (_, last) in zip(here, dims, strict=True)):
                return np.full(result, filling, x.dtype)
            for n, (d, _) in zip(here, dims, strict=True):
                starts[d] = n
            return np.array(x[window(starts)]).reshape(result)

        return read
    if count * math.prod(sizes) > MOST:
        return None
    strides = [math.prod(shape[d + 1 :]) for d in range(len(shape))]
    within = np.zeros(1, np.int64)
    for size, stride in zip(sizes, strides, strict=True):
        within = np.add.outer(within, np.arange(size) * stride).ravel()
    base = np.zeros(batch, np.int64)
    for d, b in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        base += np.arange(batch[b]).reshape([-1 if k == b else 1 for k in range(len(batch))]) * strides[d]
    base = base.reshape(count, 1) + within
    last = np.array([shape[d] - sizes[d] for d in mapped], np.int64)
    steps = np.array([strides[d] for d in mapped], np.int64)
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    apart = (*batch, *(n for d, n in enumerate(sizes) if d not in gone))
    to = [*(d for d in range(len(result)) if d not in numbers.offset_dims), *numbers.offset_dims]
    order = None if to == sorted(to) else np.argsort(to).tolist()
    wraps = np.dtype(given.dtype) == np.uint64

    def windows(x: Any, indices: Any) -> Any:
        starts = np.minimum(indices, np.iinfo(np.int64).max) if wraps else indices
        starts = starts.reshape(count, len(mapped)).astype(np.int64)
        first = np.minimum(np.maximum(starts, 0), last)
        found = x.reshape(-1)[(first @ steps)[:, None] + base]
        if fills and (moved := first != starts).any():
            found[moved.any(axis=1)] = filling
        found = found.reshape(apart)
        return found if order is None else found.transpose(order)

    return windows


@_made("scatter")
def _scatter(eqn: Any) -> Function | None:
    """A single window that is written over; one that would leave is moved inside, or dropped."""
    (shape, given, new), p = (v.aval.shape for v in eqn.invars), eqn.params
    numbers, mode = p["dimension_numbers"], p["mode"].name
    mapped, inner = numbers.scatter_dims_to_operand_dims, numbers.update_window_dims
    if not _is_known(shape, given, new) or mode not in ("CLIP", "FILL_OR_DROP") or p.get("update_jaxpr") is not None:
        return None
    sizes, drops = [1] * len(shape), mode == "FILL_OR_DROP"
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    for d, w in zip([d for d in range(len(shape)) if d not in gone], inner, strict=True):
        sizes[d] = new[w]
    if math.prod(given[:-1]) != 1 or any(size > n for size, n in zip(sizes, shape, strict=True)):
        return None
    order = [*(d for d in range(len(new)) if d not in inner), *inner]
    window, dims = _window(shape, sizes), [(d, shape[d] - sizes[d]) for d in mapped]

    def written(x: Any, indices: Any, updates: Any) -> Any:
        starts, here, result = [0] * len(shape), indices.reshape(-1).tolist(), np.array(x)
        if drops and any(n < 0 or n > last for n, (_, last) in zip(here, dims, strict=True)):
            return result
        for n, (d, _) in zip(here, dims, strict=True):
            starts[d] = n
        result[window(starts)] = updates.transpose(order).reshape(sizes)
        return result

    return written


def _filling(eqn: Any, dtype: Any) -> Any:
    value, info = eqn.params["fill_value"], dtype_info(np.dtype(dtype))
    if value is not None:
        return np.asarray(value).astype(dtype)
    return info.min if info.kind == "i" else info.max if info.integral else np.nan


def _window(shape: Any, sizes: Any) -> Callable[[Any], tuple[slice, ...]]:
    """From where a window starts to its elements, moved inside where it would leave."""
    ends = [(n - size, size) for n, size in zip(shape, sizes, strict=True)]

    def window(starts: Any) -> tuple[slice, ...]:
        there = []
        for start, (last, size) in zip(starts, ends, strict=True):
            first = min(max(int(start), 0), last)
            there.append(slice(first, first + size))
        return tuple(there)

    return window


def _is_known(*shapes: Any) -> bool:
    return all(type(n) is int or isinstance(n, np.integer) for shape in shapes for n in shape)
