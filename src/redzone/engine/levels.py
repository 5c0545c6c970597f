"""Levels: for which elements of an array something is known.

For a condition on arrays the knowledge holds at the positions where the condition does: it passes through elementwise
equations, and through a rearrangement only together with its level, the rearrangements already passed. `ALL` is the
level of scalars and of conditions known to hold everywhere; there any equation may be recomputed.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from redzone.domains import Fact, settle, summarised
from redzone.domains.symbolic import is_inconclusive

#: Known by its identity, which a tuple of a known type loses when it is compiled.
ALL: Final[Any] = ("all",)
#: The level of one element, any of them.
HERE: Final[Any] = ("here",)
#: The last part of a level that is about every element along some dimensions.
ROW: Final = "row"


def is_of_several(level: Any) -> bool:
    """Whether what is known at a level holds for several elements at once, of all or of a row."""
    return level is ALL or level[-1][0] == ROW


def row_of(level: Any) -> tuple[Any, dict[int, int]] | None:
    """The row that a level takes one element of, `x[:, 0]`, and which; None where it does nothing like that."""
    if level is ALL or len(level) < 3:
        return None
    squeezed, cut = level[-2], level[-1]
    if cut[0] != "slice" or squeezed[0] not in ("squeeze", "reshape"):
        return None
    shape, (*_, starts, limits, strides) = cut[1], cut[2]
    axes = [d for d, n in enumerate(shape) if limits[d] - starts[d] == 1 != n]
    kept = tuple(d for d in range(len(shape)) if d not in axes)
    if any((starts[d], limits[d]) != (0, shape[d]) or (strides and strides[d] != 1) for d in kept):
        return None
    _, _, new_sizes, dimensions, *_ = squeezed[2]
    left = (
        tuple(d for d in range(len(shape)) if d not in dimensions) == kept
        if squeezed[0] == "squeeze"
        else dimensions is None and tuple(new_sizes) == tuple(shape[d] for d in kept)
    )
    return ((*level[:-2], (ROW, shape, tuple(axes))), {d: starts[d] for d in axes}) if left else None


def picked(row: Fact, at: dict[int, int]) -> Fact:
    """Of a fact about a row, what it says of the element at a place."""
    if type(row.lo) is not np.ndarray:
        return row
    cut = tuple(at[d] if d in at and n > 1 else slice(None) for d, n in enumerate(row.lo.shape))
    return summarised(settle(row.lo[cut], row.hi[cut], row.nan))


def spread_back(level: Any, shape: Any, axes: tuple[int, ...]) -> Any:
    """The level at which each element lies in the row that a reduction over it was spread to again, None if nowhere.

    `where(ok.all(-1)[:, None], x, y)`: where the condition holds, it holds for the element beside it. Followed from the
    reduction's result outward: which dimension of the array each of its dimensions is.
    """
    labels: list[int | None] = [d for d in range(len(shape)) if d not in axes]
    for k in range(len(level) - 1, 0, -1):
        name, before, signature = level[k]
        if name not in ("broadcast_in_dim", "squeeze", "reshape"):
            return None
        spread, places, sizes, dropped = signature[:4]
        if name == "broadcast_in_dim":
            sizes, known = spread, dict(zip(places, zip(labels, before, strict=True), strict=True))
            labels = [known[d][0] if d in known and known[d][1] == n else None for d, n in enumerate(sizes)]
        elif name == "squeeze":
            labels = [label for d, label in enumerate(labels) if d not in dropped]
            sizes = [n for d, n in enumerate(before) if d not in dropped]
        elif dropped is None and [n for n in before if n != 1] == [n for n in sizes if n != 1]:
            wide = iter([label for label, n in zip(labels, before, strict=True) if n != 1])
            labels = [next(wide) if n != 1 else None for n in sizes]
        else:
            return None
        if tuple(sizes) == shape and all(labels[d] == d or n == 1 for d, n in enumerate(shape) if d not in axes):
            return level[:k]
    return None


def signature_of(params: dict[str, Any]) -> tuple[Any, ...]:
    """What of a rearrangement's parameters says which element comes from where."""
    return tuple([params.get(k) for k in _SAYING])


_SAYING: Final = (
    *("shape", "broadcast_dimensions", "new_sizes", "dimensions", "permutation"),
    *("start_indices", "limit_indices", "strides"),
)


def beside(level: Any, shape: tuple[Any, ...], whole: tuple[Any, ...]) -> Any:
    """The level of an operand that is spread beside the others, `x[:, None] + y[None, :]`, as if by a broadcast.

    None where it is not: an equation that takes elements one by one may spread dimensions of one element by itself.
    """
    if len(shape) != len(whole) or not all(type(n) is int for n in (*shape, *whole)):
        return None
    spread = tuple([d for d, (n, m) in enumerate(zip(shape, whole, strict=True)) if n != m])
    if any(shape[d] != 1 for d in spread):
        return None
    if level[-1][0] == ROW and tuple(level[-1][1]) == tuple(whole) and tuple(level[-1][2]) == spread:
        return of_rows(level, shape)
    moved = signature_of({"shape": tuple(whole), "broadcast_dimensions": tuple(range(len(whole)))})
    return (*level, ("broadcast_in_dim", tuple(shape), moved))


def of_rows(level: Any, shape: tuple[Any, ...]) -> Any:
    """The level of an array of this shape with one element for each of a level's rows: each row is one element.

    Farther on the level is one of arrays that have no dimensions but those of the rows: where this array has others, of
    one element each, it is what a reshape makes such an array of.
    """
    _, whole, axes = level[-1]
    rows = tuple([n for d, n in enumerate(whole) if d not in axes])
    if len(level) == 2 or rows == tuple(shape):
        return level[:-1]
    return (*level[:-1], ("reshape", tuple(shape), signature_of({"new_sizes": rows})))


def is_along_rows(level: Any, eqn: Any) -> bool:
    """Whether an equation spreads an array with one element for each of a level's rows along these rows."""
    if eqn.primitive.name != "broadcast_in_dim":
        return False
    _, shape, axes = level[-1]
    own, whole, places = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape, eqn.params["broadcast_dimensions"]
    # What is spread may have dimensions of one element behind those of the rows.
    if tuple(whole[: len(shape)]) != tuple(shape) or any(n != 1 for n in whole[len(shape) :]):
        return False
    mine = [d for d, n in zip(places, own, strict=True) if not (type(n) is int and n == 1)]
    return mine == [d for d, n in enumerate(shape) if d not in axes and not (type(n) is int and n == 1)]


def moved_back(level: Any, eqn: Any) -> Any:
    """The level on the other side of a rearrangement, the same for what comes to the same.

    An array that is given dimensions of one element and spread along them then, `x[:, None]` beside a square, is spread
    at once: each element is where that puts it, whether a reshape gave it the dimensions or a broadcast. And to an
    array it does not matter at which dimension of one element beside the others it lies.
    """
    shape = eqn.invars[0].aval.shape
    if level[-1][0] == "broadcast_in_dim" and adds_ones(eqn) and 1 not in shape:
        _, between, (spread, places, *_) = level[-1]
        if tuple(between) == tuple(eqn.outvars[0].aval.shape):
            dims = tuple([places[d] for d, n in enumerate(between) if n != 1])
            return (*level[:-1], ("broadcast_in_dim", shape, _broadcast(spread, dims)))
    if len(level) == 1 and eqn.primitive.name == "broadcast_in_dim":
        spread, places = eqn.params["shape"], tuple([int(d) for d in eqn.params["broadcast_dimensions"]])
        return (*level, ("broadcast_in_dim", shape, _broadcast(*_without_ones(spread, places))))
    return (*level, (eqn.primitive.name, shape, signature_of(eqn.params)))


def _without_ones(shape: Any, places: tuple[int, ...]) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The sizes that an array is spread to, without those of one element that none of its own dimensions is."""
    left = [d for d, n in enumerate(shape) if d in places or not (type(n) is int and n == 1)]
    return tuple([shape[d] for d in left]), tuple([left.index(d) for d in places])


def _broadcast(shape: tuple[Any, ...], places: tuple[int, ...]) -> tuple[Any, ...]:
    return signature_of({"shape": tuple(shape), "broadcast_dimensions": places})


def adds_ones(eqn: Any) -> bool:
    """Whether an equation gives an array more dimensions, all of size one, and nothing else."""
    source, target = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    if eqn.primitive.name not in ("broadcast_in_dim", "reshape") or eqn.params.get("dimensions") is not None:
        return False
    if len(target) <= len(source) or not all(type(n) is int for n in (*source, *target)):
        return False
    return [n for n in source if n != 1] == [n for n in target if n != 1]


def has_elements(aval: Any) -> bool:
    """Whether an array has elements: what holds for all elements of an empty one says nothing."""
    try:
        return all(bool(n >= 1) for n in aval.shape)
    except Exception as error:
        if not is_inconclusive(error):
            raise
        return False
