"""Through which equations a value keeps to itself: what is made of one index tuple's element depends on no other's.

Followed are the dimensions of a value that stand for the index tuples of an access, its places.
"""

from __future__ import annotations

from typing import Any

from redzone.domains import dtype_info
from redzone.frontend.compat import primitives
from redzone.rules import RULES

_P = primitives()
_BROADCAST, _CONVERT, _DOT = _P["broadcast_in_dim_p"], _P["convert_element_type_p"], _P["dot_general_p"]
_TRANSPOSE, _SQUEEZE, _RESHAPE = _P["transpose_p"], _P["squeeze_p"], _P["reshape_p"]
_REDUCED = frozenset(
    _P[f"{name}_p"]
    for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "argmax", "argmin")
    if f"{name}_p" in _P
)
_SLICE, _PAD, _CONCATENATE, _REV, _UNSTACK = (
    _P.get(f"{name}_p") for name in ("slice", "pad", "concatenate", "rev", "unstack")
)
_RUNNING = frozenset(_P[f"{name}_p"] for name in ("cumsum", "cumprod", "cummax", "cummin") if f"{name}_p" in _P)
#: Writes that add to what is there, or take from it.
ADDING = frozenset(_P[f"{name}_p"] for name in ("scatter_add", "scatter_sub") if f"{name}_p" in _P)
_LESS, _MORE, _TIMES = _P["scatter_min_p"], _P["scatter_max_p"], _P["scatter_mul_p"]


class NotMasked(Exception):
    """Some use of the result sees it whatever the index was."""


def moved(eqn: Any, position: int, places: tuple[int, ...]) -> tuple[int, ...]:
    """Where the index tuples' dimensions go in an equation that keeps each element with its index tuple."""
    primitive, source, target = eqn.primitive, eqn.invars[position].aval.shape, eqn.outvars[0].aval.shape
    if primitive is _BROADCAST and position == 0:
        dims = eqn.params["broadcast_dimensions"]
        return tuple(int(dims[p]) for p in places)
    if primitive is _SQUEEZE or is_reshape(eqn):
        return reshaped(source, target, places)
    if primitive is _TRANSPOSE:
        order = tuple(eqn.params["permutation"])
        return tuple(order.index(p) for p in places)
    if primitive in _REDUCED:
        axes = {int(a) % len(source) for a in eqn.params["axes"]}
        # Along dimensions of one element there is nothing to put together.
        left = [p for p in places if p not in axes or source[p] != 1]
        if axes.isdisjoint(left):
            return tuple(p - sum(a < p for a in axes) for p in left)
    elif primitive is _DOT:
        return _multiplied(eqn, position, places)
    elif primitive in RULES and RULES[primitive].pointwise and source == target:
        return places
    mixed = _mixed(eqn)
    if mixed is None or not mixed.isdisjoint(places):
        raise NotMasked
    return tuple(p - sum(axis < p for axis in mixed) for p in places) if primitive is _UNSTACK else places


def _mixed(eqn: Any) -> set[int] | None:
    """Along which dimensions an equation puts elements elsewhere, or together; None where that is not known.

    Across the others each element stays where it is: the columns of rows that were read may be taken one by one.
    """
    primitive, params = eqn.primitive, eqn.params
    if primitive is _SLICE:
        strides = params["strides"] or (1,) * len(params["start_indices"])
        ends = zip(params["start_indices"], params["limit_indices"], strides, eqn.invars[0].aval.shape, strict=True)
        return {d for d, (start, limit, stride, n) in enumerate(ends) if (start, limit, stride) != (0, n, 1)}
    if primitive is _PAD:
        return {d for d, edges in enumerate(params["padding_config"]) if tuple(edges) != (0, 0, 0)}
    if primitive is _REV:
        return {int(d) for d in params["dimensions"]}
    if primitive is _CONCATENATE:
        return {int(params["dimension"])}
    if primitive is _UNSTACK or primitive in _RUNNING:
        return {int(params["axis"])}
    return None


def is_reshape(eqn: Any) -> bool:
    """Whether an equation gives its elements another shape, in the same order."""
    return eqn.primitive is _RESHAPE and eqn.params.get("dimensions") is None


def reshaped(source: tuple[Any, ...], target: tuple[Any, ...], places: tuple[int, ...]) -> tuple[int, ...]:
    """Places after a reshape that regroups dimensions of index tuples among themselves."""
    if list(places) != sorted(places):
        raise NotMasked
    found: list[int] = []
    for old, new in _groups(source, target):
        mine = [d for d in old if d in places]
        # Dimensions of one element are everywhere and nowhere.
        if [d for d in mine if source[d] != 1] and any(source[d] != 1 for d in old if d not in places):
            raise NotMasked
        if any(source[d] != 1 for d in mine):
            found += [d for d in new if target[d] != 1]
        elif mine:
            raise NotMasked
    return tuple(found)


def _groups(source: tuple[Any, ...], target: tuple[Any, ...]) -> list[tuple[list[int], list[int]]]:
    """The dimensions of both shapes in the smallest groups of equal numbers of elements."""
    if any(type(n) is not int for n in (*source, *target)) or 0 in source:
        raise NotMasked
    groups: list[tuple[list[int], list[int]]] = []
    i = j = 0
    while i < len(source) or j < len(target):
        old: list[int] = []
        new: list[int] = []
        a = b = 1
        while True:
            if i < len(source) and (a < b or not old or (a == b and source[i] == 1)):
                a, old, i = a * source[i], [*old, i], i + 1
            elif j < len(target) and (b < a or not new or (a == b and target[j] == 1)):
                b, new, j = b * target[j], [*new, j], j + 1
            else:
                break
        if a != b:
            raise NotMasked
        groups.append((old, new))
    return groups


def _multiplied(eqn: Any, position: int, places: tuple[int, ...]) -> tuple[int, ...]:
    """Each row of a matrix product is made of one row of the one matrix, and all of the other."""
    contracting, batch = eqn.params["dimension_numbers"]
    mine, rest = contracting[position], batch[position]
    if not {*mine}.isdisjoint(places) or not {*rest}.isdisjoint(places):
        raise NotMasked
    shapes = [v.aval.shape for v in eqn.invars]
    free = [[d for d in range(len(shapes[k])) if d not in contracting[k] and d not in batch[k]] for k in (0, 1)]
    first = len(rest) + (len(free[0]) if position == 1 else 0)
    return tuple(first + free[position].index(p) for p in places)


def neutral_of(scatter: Any) -> Any:
    """What changes nothing where a scatter writes it; None where there is no such number, or it is no scatter."""
    primitive, info = scatter.primitive, dtype_info(scatter.outvars[0].aval.dtype)
    if primitive in ADDING:
        return 0
    if primitive is _TIMES:
        return 1
    if primitive not in (_LESS, _MORE) or info.kind == "x":
        return None
    # Of floats these are infinite.
    return info.min if primitive is _MORE else info.max


def zero_or_one(maker: Any, atom: Any) -> tuple[Any, tuple[int, ...]] | None:
    """The bool that a factor was made from, and where its dimensions are in the factor; None where it is none."""
    spread = tuple(range(len(atom.aval.shape)))
    while True:
        made = maker(atom)
        if made is None:
            return None
        if made.primitive is _BROADCAST:
            spread = tuple(spread[d] for d in made.params["broadcast_dimensions"])
        elif made.primitive is _CONVERT:
            if made.invars[0].aval.dtype == bool:
                return made.invars[0], spread
        else:
            return None
        atom = made.invars[0]
        if not hasattr(atom, "aval") or hasattr(atom, "val"):
            return None
