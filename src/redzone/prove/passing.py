"""Through which equations a value keeps to itself: what is made of one index tuple's element depends on no other's.

Followed are the dimensions of a value that stand for the index tuples of an access, its places.
"""

from __future__ import annotations

import math
from typing import Any, Final

from redzone.domains import dtype_info
from redzone.frontend.compat import primitives
from redzone.rules import RULES

_P: Final = primitives()
_SELECT: Final = _P["select_n_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_DOT: Final = _P["dot_general_p"]
_TRANSPOSE: Final = _P["transpose_p"]
_SQUEEZE: Final = _P["squeeze_p"]
_RESHAPE: Final = _P["reshape_p"]
_REDUCED: Final = frozenset(
    _P[f"{name}_p"]
    for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and", "reduce_or", "argmax", "argmin")
    if f"{name}_p" in _P
)
_SLICE: Final = _P.get("slice_p")
_PAD: Final = _P.get("pad_p")
_CONCATENATE: Final = _P.get("concatenate_p")
_REV: Final = _P.get("rev_p")
_UNSTACK: Final = _P.get("unstack_p")
_RUNNING: Final = frozenset(_P[f"{name}_p"] for name in ("cumsum", "cumprod", "cummax", "cummin") if f"{name}_p" in _P)
_SORT: Final = _P.get("sort_p")
_TOP: Final = _P.get("top_k_p")
_SPLIT: Final = _P.get("split_p")
_STACK: Final = _P.get("stack_p")
_COPY: Final = _P.get("copy_p")
_GATHER: Final = _P["gather_p"]
_READ: Final = _P["dynamic_slice_p"]
_UPDATE: Final = _P["dynamic_update_slice_p"]
_SCATTERS: Final = frozenset(p for n, p in _P.items() if n.startswith("scatter"))
#: Where dimensions are in a value.
Places = tuple[int, ...]
#: The place of a dimension along which elements are no longer told apart.
MIXED: Final = -1
#: Writes that add to what is there, or take from it.
ADDING: Final = frozenset(_P[f"{name}_p"] for name in ("scatter_add", "scatter_sub") if f"{name}_p" in _P)
_LESS: Final = _P["scatter_min_p"]
_MORE: Final = _P["scatter_max_p"]
_TIMES: Final = _P["scatter_mul_p"]


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
    if primitive is _STACK:
        axis = int(eqn.params["axis"])
        return tuple(p + (p >= axis) for p in places)
    if primitive in _REDUCED:
        axes = {int(a) % len(source) for a in eqn.params["axes"]}
        # Along dimensions of one element there is nothing to put together.
        left = [p for p in places if p not in axes or source[p] != 1]
        if axes.isdisjoint(left):
            return tuple(p - sum(a < p for a in axes) for p in left)
    elif primitive is _DOT:
        return _multiplied(eqn, position, places)
    elif source == target and (primitive is _SELECT or (primitive in RULES and RULES[primitive].pointwise)):
        return places
    accessed = _accessed(eqn, position)
    if accessed is not None:
        if any(p not in accessed for p in places):
            raise NotMasked
        return tuple(accessed[p] for p in places)
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
    if primitive is _UNSTACK or primitive is _SPLIT or primitive in _RUNNING:
        return {int(params["axis"])}
    if primitive is _SORT:
        return {int(params["dimension"])}
    if primitive is _TOP:
        # In some versions of JAX the dimension is a parameter.
        return {int(params.get("axis", -1)) % len(eqn.invars[0].aval.shape)}
    return None


def _accessed(eqn: Any, position: int) -> dict[int, int] | None:
    """By dimension of an operand of an access along which elements stay apart: where it is in the result.

    None for another equation. An element that is written to depends on what was there and on what is written there,
    so all dimensions of the array stay apart; of what is written, and of where, those that the access takes one by one.
    """
    primitive, operand, result = eqn.primitive, eqn.invars[position].aval.shape, eqn.outvars[0].aval.shape
    if primitive is _UPDATE and position < 2:
        # What reaches all along a dimension starts at its beginning.
        return {d: d for d, n in enumerate(operand) if position == 0 or n == result[d]}
    if primitive is _READ and position == 0:
        return {d: d for d, n in enumerate(operand) if n == result[d]}
    if primitive in (_UPDATE, _READ):
        return {}
    if primitive is _GATHER:
        return _gathered(eqn, position)
    return _scattered(eqn, position) if primitive in _SCATTERS else None


def _gathered(eqn: Any, position: int) -> dict[int, int]:
    numbers, (operand, indices) = eqn.params["dimension_numbers"], (v.aval.shape for v in eqn.invars[:2])
    rank = len(eqn.outvars[0].aval.shape)
    tuples = [d for d in range(rank) if d not in numbers.offset_dims]
    if position == 1:
        return dict(zip(range(len(indices) - 1), tuples, strict=True))
    batching = zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True)
    found = {int(d): tuples[int(k)] for d, k in batching}
    dropped = {*map(int, numbers.collapsed_slice_dims), *found}
    windows = zip([d for d in range(len(operand)) if d not in dropped], numbers.offset_dims, strict=True)
    sizes, indexed = eqn.params["slice_sizes"], numbers.start_index_map
    return found | {d: int(to) for d, to in windows if d not in indexed and sizes[d] == operand[d]}


def _scattered(eqn: Any, position: int) -> dict[int, int]:
    numbers, operand, updates = eqn.params["dimension_numbers"], eqn.invars[0].aval.shape, eqn.invars[2].aval.shape
    if position == 0:
        return {d: d for d in range(len(operand))}
    batching = zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True)
    by_tuple = {int(k): int(d) for k, d in batching}
    if position == 1:
        return by_tuple
    windows = [int(w) for w in numbers.update_window_dims]
    tuples = [d for d in range(len(updates)) if d not in windows]
    found = {tuples[k]: d for k, d in by_tuple.items()}
    dropped = {*map(int, numbers.inserted_window_dims), *by_tuple.values()}
    inside = zip(windows, [d for d in range(len(operand)) if d not in dropped], strict=True)
    indexed = numbers.scatter_dims_to_operand_dims
    return found | {w: d for w, d in inside if d not in indexed and updates[w] == operand[d]}


def carried(eqn: Any, position: int, places: Places) -> Places:
    """Where dimensions of an operand are in an equation's result; MIXED where it puts elements along them together."""
    known = tuple([p for p in places if p != MIXED])
    if not known:
        return places
    if is_reshape(eqn):
        source, target = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
        return tuple([MIXED if p == MIXED else _kept(source, target, p) for p in places])
    try:
        there = moved(eqn, position, known)
    except NotMasked:
        there = ()
    if len(there) == len(known):
        after = iter(there)
        return tuple([MIXED if p == MIXED else next(after) for p in places])
    return tuple([_alone(eqn, position, p) for p in places])


def _kept(source: tuple[Any, ...], target: tuple[Any, ...], place: int) -> int:
    """Where a dimension is after a reshape; MIXED where its elements are not those of one dimension, as before.

    Of several that become as many others, each element may end up beside another: of 2 x 5 x 3 as 3 x 5 x 2.
    """
    if any(type(n) is not int for n in (*source, *target)):
        return MIXED
    before, size = math.prod(source[:place]), source[place]
    same = (d for d, n in enumerate(target) if n == size != 1 and math.prod(target[:d]) == before)
    return next(same, MIXED)


def _alone(eqn: Any, position: int, place: int) -> int:
    if place == MIXED:
        return MIXED
    try:
        there = moved(eqn, position, (place,))
    except NotMasked:
        return MIXED
    return there[0] if len(there) == 1 else MIXED


def labels_before(eqn: Any, labels: Places) -> Places | None:
    """Labels of an array's dimensions before an equation that only moves its elements, given those after it.

    None where dimensions were taken apart or put together. Dimensions of one element may have any.
    """
    source, target = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    if eqn.primitive is _BROADCAST:
        return tuple([labels[int(d)] for d in eqn.params["broadcast_dimensions"]])
    if eqn.primitive is _TRANSPOSE:
        order = [int(d) for d in eqn.params["permutation"]]
        return tuple([labels[order.index(d)] for d in range(len(order))])
    if eqn.primitive is _COPY:
        return labels
    if not (eqn.primitive is _SQUEEZE or is_reshape(eqn)) or _wide(source) != _wide(target):
        return None
    wide = iter([label for label, n in zip(labels, target, strict=True) if n != 1])
    return tuple([next(wide) if n != 1 else MIXED for n in source])


def _wide(shape: tuple[Any, ...]) -> list[Any]:
    return [n for n in shape if n != 1]


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
    """Each row of a matrix product is made of one row of the one matrix and all of the other, in a batch each alone."""
    contracting, batch = eqn.params["dimension_numbers"]
    mine, rest = [int(d) for d in contracting[position]], [int(d) for d in batch[position]]
    if not {*mine}.isdisjoint(places):
        raise NotMasked
    shapes = [v.aval.shape for v in eqn.invars]
    free = [[d for d in range(len(shapes[k])) if d not in contracting[k] and d not in batch[k]] for k in (0, 1)]
    first = len(rest) + (len(free[0]) if position == 1 else 0)
    return tuple([rest.index(p) if p in rest else first + free[position].index(p) for p in places])


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
