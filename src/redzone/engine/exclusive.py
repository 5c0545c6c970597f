"""Sums of what comes before: `cumsum(x) - x`, the offsets of pieces of given lengths.

Element i is the sum of the others up to there, so it lies between n - 1 of the least and n - 1 of the largest, or 0.
Machine integers: the difference is that sum modulo the width, and where its bounds fit the type it is the sum,
whatever wrapped on the way.
"""

from __future__ import annotations

from typing import Any

from redzone.domains import Fact, dtype_info, summarised
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

_CUMSUM = primitives()["cumsum_p"]


def others_before(program: Program, step: Step) -> int:
    """How many numbers each element of such a difference sums at most; 0 where a step is none."""
    if len(step.ins) != 2 or step.ins[1] in program.unknown or program.template[step.ins[1]] is not None:
        return 0
    made = program.defs.get(step.ins[0])
    while made is not None and made.rule is SAME:
        made = program.defs.get(made.ins[0])
    if made is None or made.kind != SIMPLE or made.eqn.primitive is not _CUMSUM or made.ins[0] != step.ins[1]:
        return 0
    out, summed = step.eqn.outvars[0].aval, made.eqn.invars[0].aval
    count = summed.shape[made.eqn.params["axis"]]
    if out.shape != summed.shape or out.dtype != summed.dtype or type(count) is not int:
        return 0
    return max(count - 1, 0) if dtype_info(out.dtype).kind in "iu" else 0


def sum_before(count: int, elements: Fact, dtype: Any) -> Fact | None:
    """What such a difference can be; None where that leaves its type or is not known."""
    whole, info = summarised(elements), dtype_info(dtype)
    if type(whole.lo) is not int or type(whole.hi) is not int:
        return None
    lo, hi = min(whole.lo, 0) * count, max(whole.hi, 0) * count
    return Fact(lo, hi, 0 if lo == hi else 1) if info.min <= lo and hi <= info.max else None
