"""Sums bounded by what was put in: counts that were scattered into zeros.

However a scatter-add spreads its updates over an array of zeros, each goes to at most one element. So any
sum over distinct elements lies between all the negative updates together and all the positive ones: the
slots of a `repeat`, the offsets of a histogram.
"""

from __future__ import annotations

from typing import Any

from redzone.domains import Fact, dtype_info, meet, summarised
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

_SCATTER_ADD = primitives()["scatter_add_p"]


def summed(program: Program, env: list[Any], step: Step) -> Fact:
    """A sum over elements, by its rule and by the mass of what it adds up."""
    assert step.rule is not None
    plain: Fact = step.rule.apply(step.eqn, *[env[i] for i in step.ins])
    made = program.defs.get(step.ins[0])
    while made is not None and made.rule is SAME:
        made = program.defs.get(made.ins[0])
    if made is None or made.kind != SIMPLE or made.eqn.primitive is not _SCATTER_ADD:
        return plain
    info = dtype_info(step.eqn.outvars[0].aval.dtype)
    base, updates = summarised(env[made.ins[0]]), summarised(env[made.ins[2]])
    if info.kind not in "iu" or base.lo != 0 or base.hi != 0:
        return plain
    count: Any = 1
    for n in made.eqn.invars[2].aval.shape:
        count = count * n
    if type(count) is not int or type(updates.lo) is not int or type(updates.hi) is not int:
        return plain
    lo, hi = min(0, updates.lo) * count, max(0, updates.hi) * count
    if lo < info.min or hi > info.max or plain.kept:
        return plain
    # The sums are exact modulo the width, and what they stand for fits: additions that wrap on the way do no harm.
    return meet(plain, Fact(lo, hi)) or plain
