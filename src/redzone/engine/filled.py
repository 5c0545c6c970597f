"""What a number is after as much as there is room for was added: `p + minimum(n, c - p)`, and `p + maximum(n, c - p)`.

Where `c - p` does not wrap, the lesser of it and n is no more than it, so that the sum is `min(p + n, c)`; the greater
makes it `max(p + n, c)`. Whether either wraps is told from the bounds of p, n and c. A place in a buffer that is filled
part by part stays in it so, however often that is done.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, dtype_info, meet, summarised
from redzone.engine.anew import is_anew
from redzone.engine.program import SIMPLE, Program, Step, made_by, source_of
from redzone.frontend.compat import primitives

_P: Final = primitives()
_MAX: Final = _P["max_p"]
_MIN: Final = _P["min_p"]
_SUB: Final = _P["sub_p"]


class Filled(NamedTuple):
    """The slots of a number, of what is added to it at most, or at least, and of where that ends."""

    number: int
    added: int
    end: int
    below: bool
    """Whether the sum is at most the end."""

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What such a sum can be, of which `plain` is what the rule says."""
        facts = [env[slot] for slot in (self.number, self.added, self.end)]
        if any(fact is None for fact in facts) or type(plain.lo) is np.ndarray:
            return plain
        p, n, c = (summarised(fact) for fact in facts)
        info = dtype_info(step.eqn.outvars[0].aval.dtype)
        if any(type(end) is not int for fact in (p, n, c) for end in (fact.lo, fact.hi)):
            return plain
        if c.hi - p.lo > info.max or c.lo - p.hi < info.min:
            return plain
        pick = min if self.below else max
        lo, hi = pick(p.lo + n.lo, c.lo), pick(p.hi + n.hi, c.hi)
        if lo < info.min or hi > info.max:
            return plain
        return meet(plain, Fact(lo, hi, 0 if lo == hi else 1)) or plain


def filled_up(program: Program, step: Step) -> Filled | None:
    """For a sum of a number and the lesser, or greater, of another and what is left to an end."""
    out = step.eqn.outvars[0].aval
    if step.kind != SIMPLE or len(step.ins) != 2 or dtype_info(out.dtype).kind not in "iu":
        return None
    for number, part in ((step.ins[0], step.ins[1]), (step.ins[1], step.ins[0])):
        limited = made_by(program, part)
        if limited is None or limited.eqn.primitive not in (_MAX, _MIN) or len(limited.ins) != 2:
            continue
        if any(v.aval.shape != out.shape for v in step.eqn.invars):
            return None
        p = source_of(program, number)
        for left, added in ((limited.ins[0], limited.ins[1]), (limited.ins[1], limited.ins[0])):
            rest = made_by(program, left)
            if rest is None or rest.eqn.primitive is not _SUB or source_of(program, rest.ins[1]) != p:
                continue
            # Element by element it is the same number, and one that was asked about.
            same = all(v.aval.shape == out.shape for v in (*limited.eqn.invars, rest.eqn.invars[1]))
            if same and p not in program.unknown and not is_anew(program, p):
                return Filled(number, added, rest.ins[0], limited.eqn.primitive is _MIN)
    return None
