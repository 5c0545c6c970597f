"""XLA's meaning of the primitives that move, order and fold elements, in NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.fuzz.arithmetic import Params, Rule


def broadcast_in_dim(params: Params, a: Any) -> Any:
    shape, places = params["shape"], params["broadcast_dimensions"]
    spread = [1] * len(shape)
    for place, size in zip(places, a.shape, strict=True):
        spread[place] = size
    return np.broadcast_to(a.reshape(spread), shape)


def broadcast_to(params: Params, a: Any) -> Any:
    return np.broadcast_to(a, params["shape"])


def reshape(params: Params, a: Any) -> Any:
    order = params.get("dimensions")
    return (a if order is None else a.transpose(order)).reshape(params["new_sizes"])


def squeeze(params: Params, a: Any) -> Any:
    return np.squeeze(a, axis=tuple(params["dimensions"]))


def transpose(params: Params, a: Any) -> Any:
    return np.transpose(a, params["permutation"])


def reverse(params: Params, a: Any) -> Any:
    return np.flip(a, params["dimensions"])


def static_slice(params: Params, a: Any) -> Any:
    strides = params["strides"] or (1,) * a.ndim
    places = zip(params["start_indices"], params["limit_indices"], strides, strict=True)
    return a[tuple(slice(start, limit, step) for start, limit, step in places)]


def concatenate(params: Params, *parts: Any) -> Any:
    return np.concatenate(parts, axis=params["dimension"])


def stack(params: Params, *parts: Any) -> Any:
    return np.stack(parts, axis=params["axis"])


def unstack(params: Params, a: Any) -> Any:
    return list(np.moveaxis(a, params["axis"], 0))


def tile(params: Params, a: Any) -> Any:
    return np.tile(a, params["reps"])


def split(params: Params, a: Any) -> Any:
    return list(np.split(a, np.cumsum(params["sizes"])[:-1], axis=params["axis"]))


def pad(params: Params, a: Any, value: Any) -> Any:
    for axis, (low, high, interior) in enumerate(params["padding_config"]):
        size = a.shape[axis]
        inner = size + max(size - 1, 0) * interior
        total = inner + low + high
        moved = np.moveaxis(a, axis, 0)
        out = np.full((max(total, 0), *moved.shape[1:]), value, a.dtype)
        places = np.arange(size) * (interior + 1) + low
        kept = (places >= 0) & (places < total)
        out[places[kept]] = moved[kept]
        a = np.moveaxis(out, 0, axis)
    return a


def iota(params: Params) -> Any:
    shape, axis = params["shape"], params["dimension"]
    line = np.arange(shape[axis]).astype(params["dtype"])
    return np.broadcast_to(line.reshape([-1 if d == axis else 1 for d in range(len(shape))]), shape)


def _exact_only(a: Any) -> None:
    """Products and running sums of floats are left to XLA: their order of rounding is its own."""
    if a.dtype.kind == "f":
        raise NotImplementedError


def reduce_sum(params: Params, a: Any) -> Any:
    return np.sum(a, axis=tuple(params["axes"]), dtype=a.dtype)


def reduce_prod(params: Params, a: Any) -> Any:
    _exact_only(a)
    return np.prod(a, axis=tuple(params["axes"]), dtype=a.dtype)


def _fold(function: Any) -> Rule:
    def rule(params: Params, a: Any) -> Any:
        if a.size == 0:
            raise NotImplementedError
        return function.reduce(a, axis=tuple(params["axes"]))

    return rule


def _arg(function: Any) -> Rule:
    def rule(params: Params, a: Any) -> Any:
        (axis,) = params["axes"]
        place, dtype = function(a, axis=axis), np.dtype(params["index_dtype"])
        numbers = np.arange(a.shape[axis]).astype(dtype)
        if numbers[-1] == a.shape[axis] - 1:
            return place.astype(dtype)
        # Of equal elements the one with the least number is taken, which wraps.
        rows = np.moveaxis(a, axis, -1)
        chosen = rows == np.take_along_axis(rows, place[..., None], -1)
        return np.where(chosen, numbers, numbers.max()).min(axis=-1)

    return rule


def _running(function: Any, exact: bool) -> Rule:
    def rule(params: Params, a: Any) -> Any:
        if exact:
            _exact_only(a)
        axis = params["axis"]
        if params["reverse"]:
            return np.flip(function.accumulate(np.flip(a, axis), axis=axis, dtype=a.dtype), axis)
        return function.accumulate(a, axis=axis, dtype=a.dtype)

    return rule


def sort(params: Params, *operands: Any) -> Any:
    """Stable and lexicographic in the first `num_keys` operands; NaN last, -0.0 equal to 0.0."""
    axis = params["dimension"]
    keys = operands[: params["num_keys"]]
    order = np.lexsort(tuple(reversed(keys)), axis=axis)
    return [np.take_along_axis(a, order, axis=axis) for a in operands]


def top_k(params: Params, a: Any) -> Any:
    _exact_only(a)
    axis = params.get("axis", a.ndim - 1) % a.ndim
    order = np.lexsort((np.invert(a),), axis=axis)
    order = np.take(order, np.arange(params["k"]), axis=axis)
    return [np.take_along_axis(a, order, axis=axis), order.astype(np.int32)]


MOVEMENT: dict[str, Rule] = {
    "broadcast_in_dim": broadcast_in_dim,
    "broadcast_to": broadcast_to,
    "reshape": reshape,
    "squeeze": squeeze,
    "transpose": transpose,
    "rev": reverse,
    "slice": static_slice,
    "concatenate": concatenate,
    "stack": stack,
    "unstack": unstack,
    "tile": tile,
    "split": split,
    "pad": pad,
    "iota": iota,
    "reduce_sum": reduce_sum,
    "reduce_prod": reduce_prod,
    "reduce_max": _fold(np.maximum),
    "reduce_min": _fold(np.minimum),
    "reduce_and": _fold(np.bitwise_and),
    "reduce_or": _fold(np.bitwise_or),
    "reduce_xor": _fold(np.bitwise_xor),
    "argmax": _arg(np.argmax),
    "argmin": _arg(np.argmin),
    "cumsum": _running(np.add, exact=True),
    "cumprod": _running(np.multiply, exact=True),
    "cummax": _running(np.maximum, exact=False),
    "cummin": _running(np.minimum, exact=False),
    "sort": sort,
    "top_k": top_k,
}
