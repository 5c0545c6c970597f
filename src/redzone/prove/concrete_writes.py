"""Exact evaluation by numpy of writes, stacks, sorts and reductions: what XLA leaves open is not evaluated."""

from __future__ import annotations

from typing import Any

import numpy as np

from redzone.access.xla import scatter_window
from redzone.prove.concrete import exact

#: The most index tuples of a scatter looked at one by one.
_TUPLES = 4096


@exact("dynamic_update_slice")
def _dynamic_update_slice(eqn: Any, x: Any, update: Any, *starts: Any) -> Any:
    result = np.array(x)
    first = [min(max(int(s), 0), n - size) for s, n, size in zip(starts, x.shape, update.shape, strict=True)]
    result[tuple(slice(f, f + size) for f, size in zip(first, update.shape, strict=True))] = update
    return result


@exact("scatter")
def _scatter(eqn: Any, x: Any, indices: Any, updates: Any) -> Any:
    """Each index tuple writes its window; where two write different things to one place,
    XLA may take either, and nothing is said.
    """
    if eqn.params.get("update_jaxpr") is not None:
        raise NotImplementedError("a function of its own")
    result, taken = np.array(x), np.zeros(x.shape, bool)
    for at, window in _windows(eqn, x, indices, updates):
        if at is None:
            continue
        twice = taken[at]
        if twice.any() and not np.array_equal(result[at][twice], window[twice]):
            raise NotImplementedError("two writes to one place")
        taken[at] = True
        result[at] = window
    return result


@exact("scatter_add")
def _scatter_add(eqn: Any, x: Any, indices: Any, updates: Any) -> Any:
    """Integers: their sums do not depend on the order."""
    result = np.array(x)
    for at, window in _windows(eqn, x, indices, updates):
        if at is not None:
            result[at] += window
    return result


def _windows(eqn: Any, x: Any, indices: Any, updates: Any) -> Any:
    """The place each index tuple of a scatter writes, None for one that is dropped, and what it writes there."""
    numbers, mode = eqn.params["dimension_numbers"], eqn.params["mode"].name
    sizes = scatter_window(eqn)
    batch = indices.shape[:-1]
    if int(np.prod(batch)) > _TUPLES:
        raise NotImplementedError("too many index tuples to look at one by one")
    apart = [d for d in range(updates.ndim) if d not in numbers.update_window_dims]
    ordered = updates.transpose([*apart, *numbers.update_window_dims])
    for place in np.ndindex(*batch):
        start = [0] * x.ndim
        for k, d in enumerate(numbers.scatter_dims_to_operand_dims):
            start[d] = int(indices[(*place, k)])
        for d, b in zip(numbers.operand_batching_dims, numbers.scatter_indices_batching_dims, strict=True):
            start[d] = place[b]
        inside = [min(max(s, 0), n - size) for s, n, size in zip(start, x.shape, sizes, strict=True)]
        if inside != start and mode == "PROMISE_IN_BOUNDS":
            raise NotImplementedError("what happens outside is not said")
        at = tuple(slice(f, f + size) for f, size in zip(inside, sizes, strict=True))
        yield (at if inside == start or mode == "CLIP" else None), ordered[place].reshape(sizes)


@exact("sort")
def _sort(eqn: Any, *operands: Any) -> Any:
    """By one array of integers; what goes with equal ones has an order only in a stable sort."""
    keys, axis = operands[0], eqn.params["dimension"]
    if eqn.params["num_keys"] != 1 or not (eqn.params["is_stable"] or len(operands) == 1):
        raise NotImplementedError("an order that is not told")
    order = np.argsort(keys, axis=axis, kind="stable")
    return [np.take_along_axis(x, order, axis) for x in operands]


@exact("stack")
def _stack(eqn: Any, *parts: Any) -> Any:
    return np.stack(parts, eqn.params["axis"])


@exact("unstack")
def _unstack(eqn: Any, x: Any) -> Any:
    return list(np.moveaxis(x, eqn.params["axis"], 0))


@exact("rev")
def _rev(eqn: Any, x: Any) -> Any:
    return np.flip(x, eqn.params["dimensions"])


@exact("reduce_or")
def _some(eqn: Any, x: Any) -> Any:
    return np.bitwise_or.reduce(x, axis=tuple(eqn.params["axes"]))


@exact("reduce_sum")
def _sum(eqn: Any, x: Any) -> Any:
    return np.sum(x, axis=tuple(eqn.params["axes"]), dtype=x.dtype)


@exact("reduce_max")
def _most(eqn: Any, x: Any) -> Any:
    return np.max(x, axis=tuple(eqn.params["axes"]))


@exact("reduce_min")
def _least(eqn: Any, x: Any) -> Any:
    return np.min(x, axis=tuple(eqn.params["axes"]))


@exact("abs")
def _abs(eqn: Any, x: Any) -> Any:
    return np.abs(x)


@exact("square")
def _square(eqn: Any, x: Any) -> Any:
    return x * x
