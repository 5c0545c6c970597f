"""What each device has of an array in a shard_map, and the array made of what all of them have."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

#: Where a device is: by axis of the mesh, its place along it and how many there are.
Place = dict[str, tuple[int, int]]


def devices(sizes: dict[str, int], most: int) -> list[Place]:
    """Where the devices of a mesh are; of more than `most`, the first and the last."""
    counts = list(sizes.values())
    numbers: Any = itertools.product(*map(range, counts))
    if math.prod(counts) > most:
        numbers = ([0] * len(counts), [n - 1 for n in counts])
    return [{axis: (k, sizes[axis]) for axis, k in zip(sizes, at, strict=True)} for at in numbers]


def along(axes: Any, place: Place) -> tuple[int, int] | None:
    """A device's place along one axis, or along several of which the last one counts fastest."""
    at, count = 0, 1
    for axis in axes if isinstance(axes, tuple) else (axes,):
        if axis not in place:
            return None
        k, n = place[axis]
        at, count = at * n + k, count * n
    return at, count


def part(shape: tuple[Any, ...], spec: Any, place: Place) -> tuple[slice, ...] | None:
    """Where the shard of a device lies in an array; None where nobody knows."""
    found = []
    for size, axes in itertools.zip_longest(shape, tuple(spec)):
        if axes is None or size is None:
            found.append(slice(None))
            continue
        where = along(axes, place)
        if where is None or type(size) is not int or size % where[1]:
            return None
        length = size // where[1]
        found.append(slice(where[0] * length, (where[0] + 1) * length))
    return tuple(found)


def shard(value: Any, spec: Any, place: Place) -> Any:
    """What a device has of a value."""
    where = part(np.shape(value), spec, place) if value is not None else None
    return None if where is None else value[where]


def together(shards: list[Any], spec: Any, places: list[Place], aval: Any) -> Any:
    """The array that the devices' shards make up; what several of them have is any one's."""
    if not shards or any(x is None for x in shards):
        return None
    whole = np.zeros(aval.shape, np.asarray(shards[0]).dtype)
    for x, place in zip(shards, places, strict=True):
        where = part(aval.shape, spec, place)
        if where is None or whole[where].shape != np.shape(x):
            return None
        whole[where] = x
    return whole
