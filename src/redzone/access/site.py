"""An access site: one equation, the positions it computes, and how far each may go."""

from __future__ import annotations

import dataclasses
from typing import Any, NamedTuple

import numpy as np

from redzone.domains import Fact, summarised
from redzone.domains.fact import least, most
from redzone.domains.symbolic import at_most


class Column(NamedTuple):
    """One indexed dimension of the operand: where its index comes from and its largest legal value."""

    dim: int
    operand: int
    """Position among the equation's operands."""
    column: int | None
    """Column of the index array's last dimension; None for a scalar index of its own."""
    limit: Any
    also: int | None = None
    """Another operand that is added to the index before the comparison: a run-time size beside an offset."""
    repeat: Any = 1
    """How many values of this range add up to the index: the group sizes of a ragged product."""


def column_fact(column: Column, first: Fact, other: Fact | None) -> Fact:
    """The fact that a column's index is judged by, from its operands' facts."""
    if other is None and column.repeat == 1:
        return first
    first = summarised(first)
    lo, hi = first.lo, first.hi * column.repeat
    if other is not None:
        other = summarised(other)
        lo, hi = min(lo, other.lo), hi + other.hi
    return Fact(lo, hi)


@dataclasses.dataclass(slots=True, eq=False)
class Site:
    """Everything about an access that does not depend on the values flowing into it."""

    eqn: Any
    chain: tuple[Any, ...]
    """The enclosing equations, innermost first."""
    effect: str
    mode: str
    buffer: Any
    """The aval of the array that is read or written."""
    window: tuple[Any, ...]
    """The box one index tuple addresses, in the operand's dimensions."""
    columns: tuple[Column, ...]
    count: Any
    """How many index tuples one execution uses."""
    home: Any = None
    """The jaxpr whose equation this is."""
    opaque: str = ""
    """Why the memory touched cannot be analysed, for foreign calls and kernels."""
    padding: str = ""
    """Why what lies outside is padding wherever the index is, for sparse arrays."""

    @property
    def primitive(self) -> str:
        return str(self.eqn.primitive.name)


def column_of(fact: Fact, column: int | None) -> tuple[Any, Any]:
    """The bounds of one column of an index array, kept apart over the index tuples where they are."""
    lo, hi = fact.lo, fact.hi
    if column is None or type(lo) is not np.ndarray:
        return lo, hi
    if lo.shape[-1] == 1:
        return lo[..., 0], hi[..., 0]
    return lo[..., column], hi[..., column]


def stays_inside(site: Site, facts: list[Fact]) -> bool:
    """Whether every window lies inside the operand, given one fact per column's operand."""
    for col, fact in zip(site.columns, facts, strict=True):
        lo, hi = fact.lo, fact.hi
        if type(lo) is np.ndarray:
            if lo.ndim == 1 and col.column is not None:
                k = col.column if len(lo) > 1 else 0
                first, last = lo.item(k), hi.item(k)
            else:
                lo, hi = column_of(fact, col.column)
                first, last = least(lo), most(hi)
            if first < 0 or not at_most(last, col.limit):
                return False
        elif type(lo) is int and type(hi) is int and type(col.limit) is int:
            if lo < 0 or hi > col.limit:
                return False
        elif not (at_most(0, lo) and at_most(hi, col.limit)):
            return False
    return True
