"""jnp's wrap of a negative index, `i < 0 ? i + n : i`, computed at once: it stands before nearly every access."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, join
from redzone.domains.fact import SMALL, apart, least, most, strided
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import Literal, primitives
from redzone.rules import RULES

if TYPE_CHECKING:
    from redzone.engine.frames import Frame
    from redzone.engine.slots import Slots

_SELECT: Final = RULES[primitives()["select_n_p"]]
_LT: Final = primitives()["lt_p"]
_ADD: Final = primitives()["add_p"]
_COMPARES: Final = RULES[_LT]
_ADDS: Final = RULES[_ADD]


def wrapped_by(program: Program, step: Step) -> int | None:
    """The n of a select that is such a wrap; None for any other."""
    if len(step.ins) != 3 or program.template[step.ins[1]] is not None:
        return None
    test, index, moved = program.defs.get(step.ins[0]), step.ins[1], program.defs.get(step.ins[2])
    for made, primitive in ((test, _LT), (moved, _ADD)):
        if made is None or made.kind != SIMPLE or made.primitive is not primitive or made.ins[0] != index:
            return None
        if made.eqn.invars[0].aval.shape != step.eqn.outvars[0].aval.shape:
            return None
    assert test is not None and moved is not None
    zero, size = program.template[test.ins[1]], program.template[moved.ins[1]]
    if zero is None or size is None or zero.step != 0 or size.step != 0 or zero.lo != 0:
        return None
    return size.lo if type(size.lo) is int and 0 < size.lo <= SMALL else None


def wrap_of(step: Step) -> int | None:
    """The n of a step that was found to be such a wrap when it ran; None for any other."""
    n = step.extra
    return n if type(n) is int and step.rule is _SELECT else None


def before_wrap(index: Fact, wrapped: Fact, n: int) -> tuple[Any, Any] | None:
    """The least and most that an index can have been whose wrap by n is in `wrapped`; None where its bounds are none.

    It was what it is now if it was no less than 0, and n less if it was negative: then it is less than n now.
    Where neither can be, the least is more than the most.
    """
    lo, hi, low, high = wrapped.lo, wrapped.hi, index.lo, index.hi
    if type(lo) is not int or type(hi) is not int or type(low) is not int or type(high) is not int:
        return None
    plain = max(lo, low, 0), min(hi, high)
    negative = max(lo - n, low), min(hi - n, high, -1)
    if plain[0] > plain[1]:
        return negative
    return plain if negative[0] > negative[1] else (negative[0], plain[1])


def from_the_end(index: Fact, n: Any) -> Fact | None:
    """What an index is after its wrap by n > 0; None where its bounds are no plain numbers.

    A negative number plus n is less than n, so that the sum cannot leave the integer type.
    """
    lo, hi = index.lo, index.hi
    if type(lo) is np.ndarray:
        if lo.dtype != np.int64:
            return None
        if least(lo) >= 0:
            return index
        if most(hi) < 0:
            return apart(lo + n, hi + n)
        low = np.where(hi < 0, lo + n, np.where(lo < 0, np.minimum(lo + n, 0), lo))
        high = np.where(hi < 0, hi + n, np.where(lo < 0, np.maximum(hi, n - 1), hi))
        return apart(low, high)
    if type(lo) is not int or type(hi) is not int:
        return None
    if lo >= 0:
        return index
    if hi < 0:
        return Fact(lo + n, hi + n, index.step)
    step = index.step
    negative, rest = strided(lo, -1, step, lo), strided(0, hi, step, lo)
    below = None if negative is None else Fact(negative.lo + n, negative.hi + n, negative.step)
    if below is None or rest is None:
        return below or rest
    return join(below, rest)


def made_at_once(build: Slots, eqns: Sequence[Any], at: int, frame: Frame) -> bool:
    """Make the steps of jnp's wrap of a negative index, `i < 0 ? i + n : i`, at once; False for another select.

    It is three equations, one after the other, that nothing else looks at, before nearly every access.
    """
    if at < 2:
        return False
    test, moved, select = eqns[at - 2 : at + 1]
    if moved.primitive is not _ADD or test.primitive is not _LT or len(select.invars) != 3:
        return False
    which, index, other = select.invars
    if which is not test.outvars[0] or other is not moved.outvars[0] or type(index) is Literal:
        return False
    slots, (first, zero), (second, size) = frame.slots, test.invars, moved.invars
    if first is not index or second is not index or type(zero) is not Literal or type(size) is not Literal:
        return False
    if which in slots or other in slots or which in frame.wanted or other in frame.wanted:
        return False
    if not dtype_info(index.aval.dtype).integral:
        return False
    known = slots.get(index)
    slot, tested, added = build.slot(frame, index) if known is None else known, build.new(), build.new()
    build.steps += (
        Step(SIMPLE, select, (tested, slot, added), (slots[select.outvars[0]],), _SELECT),
        Step(SIMPLE, moved, (slot, build.literal(size)), (added,), _ADDS),
        Step(SIMPLE, test, (slot, build.literal(zero)), (tested,), _COMPARES),
    )
    return True
