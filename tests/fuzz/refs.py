"""Mutable refs: what `get`, `swap` and `addupdate` reach, and what they do to the ref's array."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from tests.fuzz.arithmetic import Params
from tests.fuzz.windows import Windows

REF_ACCESSES = {"get": 1, "swap": 2, "addupdate": 2}
"""From primitive to the position of its first index operand."""


class Ref:
    """An array that equations change in place; compared by identity, as refs are."""

    def __init__(self, value: Any) -> None:
        self.value = np.array(value)
        self.dtype = self.value.dtype
        self.shape = self.value.shape
        self.ndim = self.value.ndim
        self.size = self.value.size


def _indexers(primitive: str, params: Params, invals: list[Any]) -> Any:
    return jax.tree_util.tree_unflatten(params["tree"], invals[REF_ACCESSES[primitive] :])


def ref_windows(primitive: str, params: Params, invals: list[Any]) -> Windows | None:
    """The boxes that a ref's indexer addresses; None for the whole ref."""
    indexers = _indexers(primitive, params, invals)
    if not indexers:
        return None
    (indexer,) = indexers
    shape = invals[0].shape
    batch = tuple(indexer.int_indexer_shape)
    starts = np.zeros((*batch, len(shape)), np.int64)
    sizes = [1] * len(shape)
    indexed, window_dims = [], []
    for d, index in enumerate(indexer.indices):
        if hasattr(index, "start"):
            window_dims.append(d)
            sizes[d] = (index.size - 1) * index.stride + 1 if index.size else 0
            starts[..., d] = _as_written(index.start)
        else:
            indexed.append(d)
            starts[..., d] = _as_written(index)
    return Windows(starts, tuple(sizes), shape, tuple(indexed), tuple(window_dims))


def _as_written(index: Any) -> Any:
    """The number that reaches the ref, which is what an access is judged by: not what JAX narrows it to afterwards."""
    value = np.asarray(index)
    return np.minimum(value, value.dtype.type(2**63 - 1)).astype(np.int64) if value.dtype == np.uint64 else value


def _places(primitive: str, params: Params, invals: list[Any]) -> Any:
    """The coordinates an indexer selects; a negative index wraps and the rest is clamped, as the discharge does."""
    (indexer,) = _indexers(primitive, params, invals)
    shape, batch = invals[0].shape, tuple(indexer.int_indexer_shape)
    slices = [d for d, index in enumerate(indexer.indices) if hasattr(index, "start")]
    coordinates = []
    for d, index in enumerate(indexer.indices):
        if d in slices:
            start = np.clip(int(index.start), 0, shape[d] - ((index.size - 1) * index.stride + 1))
            spread = [1] * (len(batch) + len(slices))
            spread[len(batch) + slices.index(d)] = index.size
            coordinates.append((start + np.arange(index.size) * index.stride).reshape(spread))
        else:
            whole = np.broadcast_to(np.asarray(index).astype(np.int64), batch)
            whole = np.clip(np.where(whole < 0, whole + shape[d], whole), 0, shape[d] - 1)
            coordinates.append(whole.reshape(batch + (1,) * len(slices)))
    return np.broadcast_arrays(*coordinates) if coordinates else ()


def run_ref(primitive: str, params: Params, invals: list[Any]) -> list[Any]:
    """The results of a ref equation, the ref changed."""
    ref = invals[0]
    whole = not _indexers(primitive, params, invals)
    places = (Ellipsis,) if whole else tuple(_places(primitive, params, invals))
    old = np.array(ref.value[places])
    if primitive == "swap":
        ref.value[places] = invals[1]
    elif primitive == "addupdate":
        np.add.at(ref.value, places, invals[1])
        return []
    return [old]
