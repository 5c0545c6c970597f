"""Reads of elements that follow one another from a place known beforehand: they are a slice.

`board[jnp.arange(n)]` reads each element once and in order, and so does what vmap makes of `lambda i: board[i]` over a
counted index. So the result is a window of the array, as that of a slice is (`engine/windows.py`), and a condition on
the array's elements is one on those that were read. No index is outside, so that it does not matter what is read there.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from jax.lax import GatherScatterMode

from redzone.domains import dtype_info
from redzone.engine.distinct import is_wrap
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

_P: Final = primitives()
_IOTA: Final = _P["iota_p"]
_ADD: Final = _P["add_p"]
_CONCATENATE: Final = _P["concatenate_p"]
_CLIP: Final = GatherScatterMode.CLIP
_SELECT: Final = _P["select_n_p"]
_RESHAPE: Final = _P["reshape_p"]
#: What leaves as many integers as they are and in their order.
_ALIKE: Final = frozenset((_P["convert_element_type_p"], _P["broadcast_in_dim_p"], _P["squeeze_p"]))
#: How many equations are looked through.
DEEP: Final = 12
#: Of how many constants it is looked whether they follow one another.
LISTED: Final = 1 << 16


class Part(NamedTuple):
    """What a gather reads of its array: a window, whose dimensions stay in their order."""

    axis: int
    """The dimension of the array that its places lie in."""
    first: int
    """The first of them."""
    sources: tuple[int, ...]
    """Which dimension of the array each dimension of the result is, -1 where it is one of one element."""


def part_of(frame: Frame, eqn: Any) -> Part | None:
    """The window that a gather reads, where its places are known and follow one another; None elsewhere."""
    table, indices = eqn.invars
    numbers, sizes, shape = eqn.params["dimension_numbers"], eqn.params["slice_sizes"], table.aval.shape
    if numbers.operand_batching_dims or type(indices) is Literal:
        return None
    if any(type(n) is not int for n in (*shape, *indices.aval.shape)):
        return None
    cut = [d for d, n in enumerate(shape) if int(sizes[d]) != n]
    lanes = [n for n in indices.aval.shape[:-1] if n != 1]
    if len(cut) != 1 or len(lanes) != 1 or int(sizes[cut[0]]) != 1 or lanes[0] > shape[cut[0]]:
        return None
    sources = _sources(eqn.outvars[0].aval.shape, numbers, cut[0], len(shape))
    along = [d for d in sources if d >= 0]
    column = _column(frame, eqn, cut[0]) if along == sorted(along) else None
    first = None if column is None else _first(*column, lanes[0], DEEP)
    return Part(cut[0], first, sources) if first is not None and 0 <= first <= shape[cut[0]] - lanes[0] else None


def _column(frame: Frame, eqn: Any, axis: int) -> tuple[Frame, Any] | None:
    """What says where along a dimension a gather reads, and where that is; it reads all along the others."""
    dims, indices = [int(d) for d in eqn.params["dimension_numbers"].start_index_map], eqn.invars[1]
    if len(dims) == 1:
        return (frame, indices) if dims == [axis] else None
    # All of a dimension is read from one place, and a start that is clipped is moved there.
    if eqn.params["mode"] is not _CLIP or axis not in dims:
        return None
    frame, indices = frame.outer(indices)
    made = None if type(indices) is Literal else frame.maker(indices)
    if made is None or made.primitive is not _CONCATENATE or len(made.invars) != len(dims):
        return None
    last = len(indices.aval.shape) - 1
    if int(made.params["dimension"]) != last or any(v.aval.shape[last] != 1 for v in made.invars):
        return None
    return frame, made.invars[dims.index(axis)]


def _sources(shape: tuple[int, ...], numbers: Any, axis: int, rank: int) -> tuple[int, ...]:
    """Which dimension of its array each dimension of a gather's result is, -1 where it has one element."""
    offset, collapsed = ({int(d) for d in dims} for dims in (numbers.offset_dims, numbers.collapsed_slice_dims))
    kept = [d for d in range(rank) if d not in collapsed]
    found, taken = list[int](), 0
    for d, n in enumerate(shape):
        source = axis
        if d in offset:
            source = kept[taken]
            taken += 1
        found.append(source if n != 1 else -1)
    return tuple(found)


def _first(frame: Frame, atom: Any, count: int, deep: int) -> int | None:
    """The first of so many integers that follow one another, where they are known to; None elsewhere."""
    frame, atom = frame.outer(atom)
    if deep <= 0 or type(atom) is Literal:
        return None
    info = dtype_info(atom.aval.dtype)
    if info.kind not in "iu" or math.prod(atom.aval.shape) != count:
        return None
    if atom in frame.consts:
        return _listed(frame.consts[atom])
    eqn = frame.maker(atom)
    if eqn is None:
        return None
    primitive, found = eqn.primitive, None
    if primitive is _IOTA:
        found = 0 if atom.aval.shape[int(eqn.params["dimension"])] == count else None
    elif primitive in CALLS and primitive is not SHARD_MAP_P:
        inner, consts = open_jaxpr(eqn.params[CALLS[primitive]])
        if len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars):
            result = inner.outvars[eqn.outvars.index(atom)]
            found = _first(frame.called(eqn, inner, consts), result, count, deep - 1)
    elif primitive is _SELECT:
        found = _first(frame, eqn.invars[1], count, deep - 1) if is_wrap(frame, eqn) else None
        # Only of numbers that are not negative the first case is taken everywhere.
        found = None if found is None or found < 0 else found
    elif primitive is _ADD:
        found = _added(frame, eqn, count, deep)
    elif primitive in _ALIKE or (primitive is _RESHAPE and eqn.params.get("dimensions") is None):
        found = _first(frame, eqn.invars[0], count, deep - 1)
    return None if found is None or not info.min <= found <= info.max - count + 1 else found


def _added(frame: Frame, eqn: Any, count: int, deep: int) -> int | None:
    """As `_first`, of such integers and a number that is added to all of them."""
    for one, other in (eqn.invars, eqn.invars[::-1]):
        if type(other) is Literal and other.aval.shape == () and type(one) is not Literal:
            found = _first(frame, one, count, deep - 1)
            return None if found is None else found + int(other.val)
    return None


def _listed(value: Any) -> int | None:
    """As `_first`, of constants."""
    if not 1 < np.size(value) <= LISTED or dtype_info(getattr(value, "dtype", None)).kind not in "iu":
        return None
    numbers = np.asarray(value).ravel()
    first = int(numbers[0])
    return first if numbers.tolist() == list(range(first, first + numbers.size)) else None
