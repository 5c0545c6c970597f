"""Indices made of literals: folded while walking, before any analysis.

A known value is a Python int, or a tuple of ints for a short vector. Only what jnp emits around a
constant index is folded: broadcasts and concatenations into index vectors, the wrap of negatives.
"""

from __future__ import annotations

from typing import Any, Final

from redzone.access.site import Site
from redzone.domains import dtype_info
from redzone.frontend.compat import Literal, primitives

#: The longest vector kept.
LONGEST: Final = 16

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_LT: Final = _P["lt_p"]
_SELECT: Final = _P["select_n_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_CONCATENATE: Final = _P["concatenate_p"]
_CONVERT: Final = _P["convert_element_type_p"]
FOLDED: Final = (_ADD, _LT, _SELECT, _BROADCAST, _CONCATENATE, _CONVERT)


def fold(eqn: Any, known: dict[Any, Any]) -> None:
    """Note the result of an equation all of whose operands are known."""
    values = []
    for atom in eqn.invars:
        if type(atom) is Literal:
            value = atom.val
            if type(value) is not int:
                if atom.aval.shape != () or not dtype_info(atom.aval.dtype).integral:
                    return
                value = int(value)
        else:
            value = known.get(atom)
            if value is None:
                return
        values.append(value)
    result = _result(eqn, values)
    if result is not None:
        known[eqn.outvars[0]] = result


def _result(eqn: Any, values: list[Any]) -> Any:
    primitive, out = eqn.primitive, eqn.outvars[0].aval
    shape = out.shape
    if primitive is _BROADCAST:
        if type(values[0]) is int and len(shape) == 1 and type(shape[0]) is int and 0 < shape[0] <= LONGEST:
            return (values[0],) * shape[0]
        return None
    if primitive is _CONCATENATE:
        if len(shape) == 1 and shape[0] <= LONGEST and all(type(v) is tuple for v in values):
            return tuple(n for v in values for n in v)
        return None
    info = dtype_info(out.dtype)
    if shape != () or not info.integral or any(type(v) is not int for v in values):
        return None
    if primitive is _SELECT:
        return values[1 + values[0]] if 0 <= values[0] < len(values) - 1 else None
    if primitive is _LT:
        return int(values[0] < values[1])
    total = values[0] + values[1] if primitive is _ADD else values[0]
    return total if info.min <= total <= info.max and info.kind != "b" else None


def known_index(site: Site, known: dict[Any, Any]) -> list[int] | None:
    """The index of each column where all are known and inside; None leaves the access to the analysis."""
    index = []
    for column in site.columns:
        atom = site.eqn.invars[column.operand]
        if type(atom) is Literal:
            value = atom.val
            if getattr(value, "shape", ()) != ():
                return None
            value = int(value)
        else:
            value = known.get(atom)
        if type(value) is tuple and column.column is not None and len(atom.aval.shape) == 1:
            value = value[column.column]
        if type(value) is not int or column.also is not None or column.repeat != 1:
            return None
        if not (value >= 0 and type(column.limit) is int and value <= column.limit):
            return None
        index.append(value)
    return index if site.columns else None
