"""What a fact about an element that was read from a known table says of the place it was read at.

`where(wall[at], before, at)`: where there is no wall, `at` is one of the places without one, and between the first and
the last of them in each dimension. A read clips its index, so an end of the table may stand for what lies beyond it.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, settle, summarised
from redzone.engine.levels import ALL
from redzone.engine.program import Step
from redzone.engine.refine_reductions import Reductions
from redzone.engine.relations import Infeasible
from redzone.frontend.compat import primitives

#: How many elements a table may have.
ELEMENTS: Final = 4096

_DYNAMIC_SLICE: Final = primitives()["dynamic_slice_p"]


class Reads(Reductions):
    """Backward through reads of single elements."""

    __slots__ = ()

    def _read(self, step: Step, fact: Fact, level: Any) -> None:
        table, source = self.at(step.ins[0]), step.eqn.invars[0].aval
        if type(table.lo) is not np.ndarray or not dtype_info(source.dtype).integral:
            return
        shape = source.shape
        if (
            any(type(n) is not int for n in shape)
            or math.prod(shape) > ELEMENTS
            or set(step.eqn.params["slice_sizes"]) != {1}
        ):
            return
        if step.primitive is _DYNAMIC_SLICE:
            indices = [self.current(slot, ALL) for slot in step.ins[1:]]
            for slot, part in zip(step.ins[1:], self.places(table, fact, shape, indices), strict=True):
                self.narrow(slot, part, ALL)
            return
        inner = ALL if level is ALL else level if len(level) == 1 else None
        if inner is None or not reads_elements(step.eqn) or (len(shape) > 1 and inner is not ALL):
            return
        index = self.current(step.ins[1], inner)
        order = step.eqn.params["dimension_numbers"].start_index_map
        columns = [_column(index, order.index(d)) for d in range(len(shape))]
        parts = self.places(table, fact, shape, columns)
        if len(parts) == 1:
            self.narrow(step.ins[1], parts[0], inner)
        elif parts:
            ends = [[getattr(parts[d], end) for d in order] for end in ("lo", "hi")]
            rank = len(step.eqn.invars[1].aval.shape)
            lo, hi = (np.array(end, np.int64).reshape((1,) * (rank - 1) + (-1,)) for end in ends)
            self.narrow(step.ins[1], settle(lo, hi), inner)

    def places(self, table: Fact, fact: Fact, shape: tuple[int, ...], indices: list[Fact]) -> list[Fact]:
        """By dimension: between which places the table may be what a fact says, given what is known of the index."""
        fact, spans = summarised(fact), [summarised(one) for one in indices]
        if any(type(x) is not int for one in (fact, *spans) for x in (one.lo, one.hi)):
            return []
        hit = np.broadcast_to((table.hi >= fact.lo) & (table.lo <= fact.hi), shape)
        cut = tuple(
            slice(min(max(one.lo, 0), n - 1), min(max(one.hi, 0), n - 1) + 1)
            for one, n in zip(spans, shape, strict=True)
        )
        hit = hit[cut]
        found: list[Fact] = []
        for d, (one, n) in enumerate(zip(spans, shape, strict=True)):
            along = hit if len(shape) == 1 else hit.any(tuple(k for k in range(len(shape)) if k != d))
            there = np.flatnonzero(along)
            if not there.size:
                raise Infeasible
            first, last = int(there[0]) + cut[d].start, int(there[-1]) + cut[d].start
            # The first element is also read below it, the last one beyond it.
            lo, hi = one.lo if first == 0 else max(one.lo, first), one.hi if last == n - 1 else min(one.hi, last)
            if lo > hi:
                raise Infeasible
            found.append(Fact(lo, hi, 0 if lo == hi else 1))
        return found


def reads_elements(eqn: Any) -> bool:
    """Whether a gather reads one element for each index tuple, and clips it or promises that it need not."""
    numbers, rank = eqn.params["dimension_numbers"], len(eqn.invars[0].aval.shape)
    if getattr(eqn.params["mode"], "name", "") not in ("CLIP", "PROMISE_IN_BOUNDS"):
        return False
    whole = tuple(range(rank))
    return (
        not numbers.offset_dims
        and not numbers.operand_batching_dims
        and tuple(numbers.collapsed_slice_dims) == whole
        and tuple(sorted(numbers.start_index_map)) == whole
    )


def _column(index: Fact, column: int) -> Fact:
    """What is known of one column of index tuples."""
    if type(index.lo) is not np.ndarray or index.lo.shape[-1] == 1:
        return summarised(index)
    return Fact(int(index.lo[..., column].min()), int(index.hi[..., column].max()))
