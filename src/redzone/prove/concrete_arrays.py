"""Exact evaluation of equations over whole arrays: sums, orders, windows and writes, as XLA evaluates them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info
from redzone.prove.concrete_made import MOST

Table = dict[str, Callable[..., Any]]

#: By primitive: from an equation and its operands' values to its result, or to a list of its results.
ARRAYS: Final[Table] = {}
#: Those that move floats about, or order them, without computing with them.
ORDERING: Final = frozenset(
    {
        "pad",
        "rev",
        "dynamic_update_slice",
        "scatter",
        "scatter-max",
        "scatter-min",
        "sort",
        "top_k",
        "reduce_max",
        "reduce_min",
        "round",
        "abs",
        "eq_to",
        "le_to",
        "lt_to",
    }
)


def _fitting(shape: Any, sizes: Sequence[int]) -> None:
    if any(size > n for size, n in zip(sizes, shape, strict=True)):
        raise NotImplementedError("a window in an array that has no elements")


def only_window(shape: Any, sizes: Sequence[int], indices: Any, mapped: Any) -> tuple[tuple[slice, ...], bool]:
    """The window at the only index tuple, moved inside where it would leave; and whether it need not be moved."""
    _fitting(shape, sizes)
    starts = [0] * len(shape)
    for d, n in zip(mapped, indices.reshape(-1).tolist(), strict=True):
        starts[d] = n
    first = [min(max(s, 0), n - size) for s, n, size in zip(starts, shape, sizes, strict=True)]
    return tuple(slice(f, f + size) for f, size in zip(first, sizes, strict=True)), first == starts


class Windows:
    """The windows of a gather or scatter in an array of this shape.

    `mapped` are the dimensions that the columns of the index tuples are for, `batching` pairs those of the array and of
    the batch.
    """

    def __init__(self, shape: Any, sizes: Sequence[int], indices: Any, mapped: Any, batching: Any) -> None:
        _fitting(shape, sizes)
        batch = indices.shape[:-1]
        if math.prod(batch) * math.prod(sizes) > MOST:
            raise NotImplementedError("too many elements in the windows")
        if indices.dtype == np.uint64:
            indices = np.minimum(indices, np.iinfo(np.int64).max)
        starts = np.zeros((*batch, len(shape)), np.int64)
        starts[..., list(mapped)] = indices
        for d, b in batching:
            starts[..., d] = np.arange(batch[b]).reshape([-1 if k == b else 1 for k in range(len(batch))])
        starts = starts.reshape(math.prod(batch), len(shape))
        self.shape, self.sizes = shape, sizes
        self.first = np.clip(starts, 0, np.subtract(shape, sizes))
        """Where each starts, moved inside where it would leave."""
        self.inside = (self.first == starts).all(axis=1)
        """Whether it need not be moved."""

    def places(self) -> Any:
        """Each window's elements, by their places in the flat array."""
        strides = np.array([math.prod(self.shape[d + 1 :]) for d in range(len(self.shape))], np.int64)
        within = np.zeros(1, np.int64)
        for size, stride in zip(self.sizes, strides.tolist(), strict=True):
            within = np.add.outer(within, np.arange(size) * stride).ravel()
        return np.add.outer(self.first @ strides, within)


def _named(*names: str) -> Callable[[Any], Any]:
    def register(function: Any) -> Any:
        ARRAYS.update(dict.fromkeys(names, function))
        return function

    return register


def has_one_zero(*arrays: Any) -> bool:
    """Whether floats have no zeros of both signs: which of those is the larger, numpy and XLA do not agree on."""
    signs = {s for x in arrays if x.dtype.kind == "f" for s in np.unique(np.signbit(x[x == 0])).tolist()}
    return len(signs) < 2


def one_zero(*arrays: Any) -> None:
    if not has_one_zero(*arrays):
        raise NotImplementedError("which of two zeros is the larger")


def _reduction(*names: str, function: Any, first: Callable[[Any], Any]) -> None:
    """A reduction, of no elements to what it starts from; also over what vmap has put in place of named axes."""

    def rule(eqn: Any, x: Any, *others: Any) -> Any:
        axes = eqn.params["axes"]
        if others or not all(isinstance(a, (int, np.integer)) for a in axes):
            raise NotImplementedError("over devices")
        one_zero(x)
        initial = np.asarray(first(dtype_info(x.dtype))).astype(x.dtype)
        return function.reduce(x, axis=tuple(axes), dtype=x.dtype, initial=initial)

    ARRAYS.update(dict.fromkeys(names, rule))


_reduction("reduce_sum", "psum", function=np.add, first=lambda info: 0)
_reduction("reduce_prod", function=np.multiply, first=lambda info: 1)
_reduction("reduce_max", "pmax", function=np.maximum, first=lambda info: info.min)
_reduction("reduce_min", "pmin", function=np.minimum, first=lambda info: info.max)
_reduction("reduce_or", function=np.bitwise_or, first=lambda info: 0)


def _running(name: str, function: Any) -> None:
    def evaluate(eqn: Any, x: Any) -> Any:
        axis, back = eqn.params["axis"], eqn.params["reverse"]
        run = function.accumulate(np.flip(x, axis) if back else x, axis=axis, dtype=x.dtype)
        return np.flip(run, axis) if back else run

    ARRAYS[name] = evaluate


_running("cumprod", np.multiply)
_running("cummax", np.maximum)
_running("cummin", np.minimum)


@_named("abs")
def _abs(eqn: Any, x: Any) -> Any:
    return np.abs(x)


@_named("square")
def _square(eqn: Any, x: Any) -> Any:
    return x * x


@_named("integer_pow")
def _power(eqn: Any, x: Any) -> Any:
    power, result = eqn.params["y"], np.ones_like(x)
    if power < 0:
        raise NotImplementedError("a negative power of an integer")
    # By squares, which wrap as the result does: the type need not hold the exponent.
    while power:
        result, x, power = result * x if power % 2 else result, x * x, power // 2
    return result


@_named("round")
def _round(eqn: Any, x: Any) -> Any:
    if int(eqn.params["rounding_method"]) == 1:
        return np.rint(x)
    # What is cut off is exact, where a half that is added first would be rounded.
    whole = np.trunc(x)
    return whole + np.copysign((np.abs(x - whole) >= 0.5).astype(x.dtype), x)


def _in_total_order(x: Any) -> Any:
    """Whole numbers in the total order of floats: negative NaN, -inf, …, -0, +0, …, inf, NaN."""
    if x.dtype.kind != "f":
        return x
    bits = x.view(np.dtype(f"i{x.dtype.itemsize}"))
    return np.where(bits < 0, bits ^ np.iinfo(bits.dtype).max, bits)


for _name, _compare in {"eq_to": np.equal, "le_to": np.less_equal, "lt_to": np.less}.items():
    ARRAYS[_name] = lambda eqn, a, b, compare=_compare: compare(_in_total_order(a), _in_total_order(b))


@_named("stack")
def _stack(eqn: Any, *parts: Any) -> Any:
    return np.stack(parts, eqn.params["axis"])


@_named("unstack")
def _unstack(eqn: Any, x: Any) -> Any:
    return list(np.moveaxis(x, eqn.params["axis"], 0))


@_named("split")
def _split(eqn: Any, x: Any) -> Any:
    return np.split(x, np.cumsum(eqn.params["sizes"])[:-1], eqn.params["axis"])


@_named("tile")
def _tile(eqn: Any, x: Any) -> Any:
    return np.tile(x, eqn.params["reps"])


@_named("rev")
def _rev(eqn: Any, x: Any) -> Any:
    return np.flip(x, tuple(eqn.params["dimensions"]))


@_named("pad")
def _pad(eqn: Any, x: Any, filling: Any) -> Any:
    result = np.full(eqn.outvars[0].aval.shape, filling, x.dtype)
    into, taken = [], []
    for (low, _, inner), n, size in zip(eqn.params["padding_config"], x.shape, result.shape, strict=True):
        # Where each element lands; negative padding leaves out what would land outside.
        places = int(low) + np.arange(n) * (int(inner) + 1)
        kept = np.flatnonzero((places >= 0) & (places < size))
        into.append(places[kept])
        taken.append(kept)
    result[np.ix_(*into)] = x[np.ix_(*taken)]
    return result


@_named("sort")
def _sort(eqn: Any, *operands: Any) -> Any:
    """Stable, by the first operands; XLA and numpy both put NaN last and take both zeros as equal."""
    axis, keys = eqn.params["dimension"], eqn.params["num_keys"]
    if not eqn.params["is_stable"] and (len(operands) > 1 or not has_one_zero(*operands)):
        raise NotImplementedError("an order that is not determined")
    order = np.lexsort([np.moveaxis(k, axis, -1) for k in reversed(operands[:keys])], axis=-1)
    order = np.moveaxis(order, -1, axis)
    return [np.take_along_axis(x, order, axis) for x in operands]


@_named("top_k")
def _top_k(eqn: Any, x: Any) -> Any:
    """The largest first, and of equal ones the first."""
    axis, k = eqn.params.get("axis", x.ndim - 1), eqn.params["k"]
    # On some machines 0 is larger than -0.
    one_zero(x)
    if np.isnan(x).any() if x.dtype.kind == "f" else False:
        raise NotImplementedError("NaN among the largest")
    # Ranks, so that the reverse order of any type is had by negation.
    ranks = np.unique(x, return_inverse=True)[1].reshape(x.shape)
    order = np.take(np.argsort(-ranks, axis=axis, kind="stable"), np.arange(k), axis)
    return [np.take_along_axis(x, order, axis), order.astype(eqn.outvars[1].aval.dtype)]


def _over(old: Any, new: Any) -> Any:
    return new


_COMBINE: Final[Table] = {
    "scatter": _over,
    "scatter-add": np.add,
    "scatter-mul": np.multiply,
    "scatter-min": np.minimum,
    "scatter-max": np.maximum,
}


def _allowed(mode: str, inside: Any) -> None:
    if mode not in ("CLIP", "FILL_OR_DROP") and not inside:
        raise NotImplementedError("a write outside that was promised not to happen")


@_named(*_COMBINE)
def _scatter(eqn: Any, x: Any, indices: Any, updates: Any) -> Any:
    numbers, mode = eqn.params["dimension_numbers"], eqn.params["mode"].name
    combine = _COMBINE[eqn.primitive.name]
    if combine is _over and eqn.params.get("update_jaxpr") is not None:
        raise NotImplementedError("a function of its own")
    if combine in (np.minimum, np.maximum):
        one_zero(x, updates)
    gone = sorted({*numbers.inserted_window_dims, *numbers.operand_batching_dims})
    kept = [d for d in range(x.ndim) if d not in gone]
    sizes = [1] * x.ndim
    for d, w in zip(kept, numbers.update_window_dims, strict=True):
        sizes[d] = updates.shape[w]
    rest = [d for d in range(updates.ndim) if d not in numbers.update_window_dims]
    ordered = updates.transpose([*rest, *numbers.update_window_dims])
    batching = zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True)
    result, mapped = x.copy(), numbers.scatter_dims_to_operand_dims
    if indices.size == len(mapped):
        there, inside = only_window(x.shape, sizes, indices, mapped)
        _allowed(mode, inside)
        if mode == "CLIP" or inside:
            result[there] = combine(result[there], ordered.reshape(sizes))
        return result
    if not updates.size:
        return result
    windows = Windows(x.shape, sizes, indices, mapped, batching)
    _allowed(mode, windows.inside.all())
    places, written = windows.places(), ordered.reshape(len(windows.first), -1)
    if mode != "CLIP":
        places, written = places[windows.inside], written[windows.inside]
    flat, places, written = result.reshape(-1), places.ravel(), written.ravel()
    if combine is not _over:
        combine.at(flat, places, written)  # type: ignore[attr-defined]
        return result
    order = np.argsort(places, kind="stable")
    places, written = places[order], written[order]
    if (written[1:] != written[:-1])[places[1:] == places[:-1]].any():
        # Which of two writes to one place is the last is not determined.
        raise NotImplementedError("two writes to one place")
    flat[places] = written
    return result
