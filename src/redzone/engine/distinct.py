"""Places that differ from each other: counts, and what a sort, a reversal or a read at such places makes of them.

`jnp.argsort(x)` holds each of 0 … n - 1 once. So a write at those places leaves nothing of what was in an array of n
elements before, as where an order is inverted, `empty.at[order].set(arange(n))`; and an addition at places that differ
adds at most once to each element.

What is looked for are numbers of 0 … m - 1 that differ along one dimension. A sort moves all its operands alike,
whatever it compares. A part of such numbers differs too, and so does what is read at such places from such numbers, if
every place is inside. jnp's wrap of negative indices changes none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from redzone.access.xla import scatter_window
from redzone.domains import Fact, dtype_info, summarised
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import Rule
from redzone.rules.indexing import row_written
from redzone.rules.integers import wrapped

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

#: How many equations back places are followed.
DEEP: Final = 24
#: How many constants are looked at.
LISTED: Final = 4096

_P: Final = primitives()
_IOTA: Final = _P["iota_p"]
_SORT: Final = _P["sort_p"]
_SELECT: Final = _P["select_n_p"]
_LT: Final = _P["lt_p"]
_GATHER: Final = _P["gather_p"]
_SCATTER: Final = _P["scatter_p"]
_TOP_K: Final = _P["top_k_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_SLICE: Final = _P["slice_p"]
_DYNAMIC: Final = _P["dynamic_slice_p"]
#: What changes no element, or only their order.
_SAME: Final = frozenset(
    _P[f"{n}_p"] for n in ("copy", "stop_gradient", "rev", "optimization_barrier") if f"{n}_p" in _P
)
_RESHAPE: Final = _P["reshape_p"]
_RESHAPES: Final = frozenset(_P[f"{n}_p"] for n in ("reshape", "squeeze", "expand_dims") if f"{n}_p" in _P)


def written_once(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a scatter at places that differ from each other; None for another."""
    sets = eqn.primitive is _SCATTER
    if eqn.params.get("update_jaxpr") is not None if sets else dtype_info(eqn.outvars[0].aval.dtype).kind not in "iu":
        return None
    found = _written(frame, eqn, DEEP)
    if found is None:
        return None
    size, count, whole = found
    everywhere = whole and count == size
    if sets:
        # A single place is told apart by the plain rule.
        return _OVER if everywhere and count > 1 else None
    return _ADDED if everywhere else _ADDED_TO_SOME


def _over(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
    """Every element is written, so that each is an update."""
    return row_written(eqn, updates)


def _added(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
    """Every element gets one update."""
    a, by = summarised(a), summarised(updates)
    return wrapped(a.lo + by.lo, a.hi + by.hi, 1, dtype_info(eqn.outvars[0].aval.dtype))


def _added_to_some(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
    """An element gets one update or none."""
    a, by = summarised(a), summarised(updates)
    return wrapped(a.lo + min(0, by.lo), a.hi + max(0, by.hi), 1, dtype_info(eqn.outvars[0].aval.dtype))


_OVER: Final = Rule(_over, (2,))
_ADDED: Final = Rule(_added, (0, 2), floats=False)
_ADDED_TO_SOME: Final = Rule(_added_to_some, (0, 2), floats=False)


def _written(frame: Frame, eqn: Any, deep: int) -> tuple[int, int, bool] | None:
    """Of a scatter at places inside that differ: the size of the dimension they lie in, their number, and whether what
    each of them writes is all there is beside it. None where they may not differ."""
    numbers, shape, indices = eqn.params["dimension_numbers"], eqn.invars[0].aval.shape, eqn.invars[1]
    if len(numbers.scatter_dims_to_operand_dims) != 1 or type(indices) is Literal:
        return None
    d = int(numbers.scatter_dims_to_operand_dims[0])
    batch = {int(b) for b in numbers.scatter_indices_batching_dims}
    along = [k for k in range(len(indices.aval.shape) - 1) if k not in batch]
    if len(along) != 1 or d not in {int(k) for k in numbers.inserted_window_dims}:
        return None
    size, count = shape[d], indices.aval.shape[along[0]]
    below = _below(frame, indices, along[0], deep)
    if below is None or type(size) is not int or type(count) is not int or below > size:
        return None
    beside = {d, *(int(k) for k in numbers.operand_batching_dims)}
    window = scatter_window(eqn)
    return size, count, all(window[k] == n for k, n in enumerate(shape) if k not in beside)


def _below(frame: Frame, atom: Any, axis: int, deep: int) -> int | None:
    """The number that all elements are below, where none is negative and those along a dimension differ; or None."""
    while deep > 0 and type(atom) is not Literal:
        deep -= 1
        outer = frame.bindings.get(atom)
        if outer is not None and frame.parent is not None:
            frame, atom = frame.parent, outer
            continue
        if atom in frame.consts:
            return _listed(frame.consts[atom])
        eqn = frame.maker(atom)
        if eqn is None:
            return None
        primitive, params = eqn.primitive, eqn.params
        if primitive is _IOTA:
            return _counted(atom, atom.aval.shape[axis]) if int(params["dimension"]) == axis else None
        if primitive in CALLS and primitive is not SHARD_MAP_P:
            inner, consts = open_jaxpr(params[CALLS[primitive]])
            if len(inner.invars) != len(eqn.invars) or len(inner.outvars) != len(eqn.outvars):
                return None
            number = _number_of(eqn, atom)
            frame = frame.inside(inner, dict(zip(inner.invars, eqn.invars, strict=True)), consts)
            atom = inner.outvars[number]
        elif primitive is _TOP_K:
            mine = axis == _top_axis(eqn) and _number_of(eqn, atom) == 1
            return _counted(atom, eqn.invars[0].aval.shape[axis]) if mine else None
        elif primitive is _CONVERT:
            found = _below(frame, eqn.invars[0], axis, deep)
            info = dtype_info(atom.aval.dtype)
            return found if found is not None and info.kind in "iu" and found - 1 <= info.max else None
        elif primitive is _GATHER:
            return _read(frame, eqn, deep)
        elif primitive is _SCATTER:
            if len(atom.aval.shape) != 1 or written_once(frame, eqn) is not _OVER:
                return None
            atom = eqn.invars[2]
        elif primitive is _SORT:
            if int(params["dimension"]) != axis:
                return None
            atom = eqn.invars[_number_of(eqn, atom)]
        elif primitive is _SELECT:
            if not is_wrap(frame, eqn):
                return None
            atom = eqn.invars[1]
        elif primitive in _SAME:
            atom = eqn.invars[_number_of(eqn, atom)]
        elif primitive is _SLICE or primitive is _DYNAMIC:
            atom = eqn.invars[0]
        elif primitive is _BROADCAST:
            dims = [int(k) for k in params["broadcast_dimensions"]]
            if axis not in dims or eqn.invars[0].aval.shape[dims.index(axis)] != atom.aval.shape[axis]:
                return None
            atom, axis = eqn.invars[0], dims.index(axis)
        elif primitive in _RESHAPES:
            moved = _same_dimension(atom.aval.shape, eqn.invars[0].aval.shape, axis)
            if moved is None or (primitive is _RESHAPE and params.get("dimensions") is not None):
                return None
            atom, axis = eqn.invars[0], moved
        else:
            return None
    return None


def _counted(atom: Any, n: Any) -> int | None:
    """How many numbers from 0 on an array of integers counts, if its type holds them."""
    info = dtype_info(atom.aval.dtype)
    return n if type(n) is int and n > 1 and info.kind in "iu" and n - 1 <= info.max else None


def _number_of(eqn: Any, atom: Any) -> int:
    """Which of an equation's results a variable is."""
    return next(k for k, v in enumerate(eqn.outvars) if v is atom)


def _top_axis(eqn: Any) -> int:
    axis, rank = int(eqn.params.get("axis", -1)), len(eqn.invars[0].aval.shape)
    return axis % rank


def _read(frame: Frame, eqn: Any, deep: int) -> int | None:
    """As `_below`, of a row of numbers read at a row of places."""
    numbers, table, indices = eqn.params["dimension_numbers"], eqn.invars[0], eqn.invars[1]
    if type(table) is Literal or type(indices) is Literal:
        return None
    if len(table.aval.shape) != 1 or len(indices.aval.shape) != 2 or len(eqn.outvars[0].aval.shape) != 1:
        return None
    if tuple(numbers.collapsed_slice_dims) != (0,) or type(table.aval.shape[0]) is not int:
        return None
    places = _below(frame, indices, 0, deep)
    if places is None or places > table.aval.shape[0]:
        return None
    return _below(frame, table, 0, deep)


def is_wrap(frame: Frame, eqn: Any) -> bool:
    """Whether a select takes its first case wherever that is not negative: `where(i < 0, i + n, i)`."""
    which, first = eqn.invars[0], eqn.invars[1]
    test = None if type(which) is Literal or type(first) is Literal else frame.maker(which)
    if test is None or test.primitive is not _LT or len(eqn.invars) != 3 or type(test.invars[1]) is not Literal:
        return False
    return test.invars[0] is first and not np.any(test.invars[1].val)


def _same_dimension(shape: tuple[Any, ...], source: tuple[Any, ...], axis: int) -> int | None:
    """Where a dimension is in an array that differs by dimensions of one element only."""
    mine, others = ([d for d, n in enumerate(s) if not (type(n) is int and n == 1)] for s in (shape, source))
    if axis not in mine or [shape[d] for d in mine] != [source[d] for d in others]:
        return None
    return others[mine.index(axis)]


def _listed(value: Any) -> int | None:
    """As `_below`, of a row of constants."""
    if dtype_info(getattr(value, "dtype", None)).kind not in "iu" or np.ndim(value) != 1:
        return None
    if not 1 < np.size(value) <= LISTED:
        return None
    found = np.asarray(value).tolist()
    return max(found) + 1 if min(found) >= 0 and len(set(found)) == len(found) else None
