"""What is left of a number after as much as there is was taken: `n - minimum(n, k)`, and `maximum(n, k) - n`.

The lesser of two numbers is no more than either, so that `a - min(a, b)` is `max(a - b, 0)`, and `max(a, b) - a` is
`max(b - a, 0)`; turned round, each is the least of a difference and 0. Whether it wraps is told from the bounds of the
two numbers that are subtracted.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, dtype_info, meet, summarised
from redzone.engine.anew import is_anew
from redzone.engine.program import SIMPLE, Program, Step, made_by, source_of
from redzone.frontend.compat import primitives

_MAX: Final = primitives()["max_p"]
_MIN: Final = primitives()["min_p"]


class Remaining(NamedTuple):
    """The slots of two numbers of which this is the difference, or 0 where that is on the other side of it."""

    number: int
    taken: int
    up: bool
    """Whether it is at least 0."""

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What such a difference can be, of which `plain` is what the rule says."""
        a, b, x, y = (summarised(env[slot]) for slot in (*step.ins, self.number, self.taken))
        info = dtype_info(step.eqn.outvars[0].aval.dtype)
        if any(type(n) is not int for fact in (a, b, x, y) for n in (fact.lo, fact.hi)):
            return plain
        if (a.hi - b.lo > info.max) if self.up else (a.lo - b.hi < info.min):
            return plain
        lo, hi = x.lo - y.hi, x.hi - y.lo
        lo, hi = (max(lo, 0), max(hi, 0)) if self.up else (min(lo, 0), min(hi, 0))
        result = Fact(lo, hi, 0 if lo == hi else 1)
        # Where the rule saw that it may wrap, it said nothing of it.
        return (meet(plain, result) or plain) if type(plain.lo) is not np.ndarray else plain


def remaining(program: Program, step: Step) -> Remaining | None:
    """For a difference of integers of which one is the lesser or the greater of the other and a third."""
    out = step.eqn.outvars[0].aval
    if step.kind != SIMPLE or len(step.ins) != 2 or dtype_info(out.dtype).kind not in "iu":
        return None
    a, b = (source_of(program, slot) for slot in step.ins)
    if a in program.unknown or b in program.unknown:
        return None
    for extreme, whole in ((b, a), (a, b)):
        made = made_by(program, extreme)
        if made is None or made.primitive not in (_MAX, _MIN) or len(made.ins) != 2:
            continue
        if any(v.aval.shape != out.shape for v in (*made.eqn.invars, *step.eqn.invars)):
            continue
        mine = [source_of(program, slot) for slot in made.ins]
        if whole in mine and not is_anew(program, whole):
            other = mine[1 - mine.index(whole)]
            up = (made.primitive is _MIN) is (extreme == b)
            return Remaining(whole, other, up) if extreme == b else Remaining(other, whole, up)
    return None
