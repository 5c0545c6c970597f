"""Parts of a sum, as integers: `cumsum(x) * 4 // maximum(x.sum(), 1)` is at most 4.

Where no element is negative, a running sum is no more than the whole one, and neither is an element. So k times it is
no more than k times the whole sum, and divided by that, or by 1 where it is 0, no more than k. That of the numbers
themselves: neither the sums nor the product may wrap, which is told from the bounds of the elements.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, dtype_info, meet, settle, summarised
from redzone.engine.anew import are_flags_anew
from redzone.engine.program import Program, Step, made_by, source_of
from redzone.frontend.compat import primitives

_P: Final = primitives()
_CUMSUM: Final = _P["cumsum_p"]
_SUM: Final = _P["reduce_sum_p"]
_MUL: Final = _P["mul_p"]
_MAX: Final = _P["max_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_NAMING: Final = (_BROADCAST, _P["reshape_p"], _P["squeeze_p"])


class Part(NamedTuple):
    """Of a quotient of parts of a sum: the slot of what is added up, how many those are, how often it is taken."""

    added: int
    terms: int
    times: int
    most: int
    """The most that every type on the way holds."""

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What such a quotient can be, of which `plain` is what the rule says."""
        each, by = summarised(env[self.added]), summarised(env[step.ins[1]])
        if any(type(n) is not int for n in (each.lo, each.hi, by.lo)) or each.lo < 0 or by.lo < 1:
            return plain
        if each.hi * self.terms * self.times > self.most:
            return plain
        if type(plain.lo) is np.ndarray:
            return settle(np.clip(plain.lo, 0, self.times), np.clip(plain.hi, 0, self.times))
        return meet(plain, Fact(0, self.times, 1)) or plain


def part_of_sum(program: Program, step: Step) -> Part | None:
    """For so many times a running sum, or an element, by the sum of all that is added up along one dimension."""
    if len(step.ins) != 2 or dtype_info(step.eqn.outvars[0].aval.dtype).kind != "i":
        return None
    whole, times = _total(program, step.ins[1]), 1
    if whole is None:
        return None
    slot, made = step.ins[0], made_by(program, step.ins[0])
    if made is not None and made.primitive is _MUL and len(made.ins) == 2:
        for mine, other in ((0, 1), (1, 0)):
            known = program.template[made.ins[other]]
            if known is not None and known.step == 0 and type(known.lo) is int and known.lo > 0:
                slot, times = made.ins[mine], known.lo
                break
    types = [step.eqn.outvars[0].aval.dtype, whole.eqn.outvars[0].aval.dtype]
    running = made_by(program, slot)
    if running is not None and running.eqn.primitive is _CUMSUM:
        slot = running.ins[0]
        types.append(running.eqn.outvars[0].aval.dtype)
    added, shape = _converted(program, slot), whole.eqn.invars[0].aval.shape
    if added != _converted(program, whole.ins[0]) or added in program.unknown or are_flags_anew(program, added):
        return None
    # One sum for all: of rows each has its own.
    if len(shape) != 1 or type(shape[0]) is not int or tuple(whole.eqn.params["axes"]) != (0,):
        return None
    return Part(added, shape[0], times, min(int(dtype_info(one).max) for one in types))


def _total(program: Program, slot: int) -> Step | None:
    """The sum that a number is, or the greater of which and 1."""
    for _ in range(4):
        made = made_by(program, slot)
        if made is None:
            return None
        if made.primitive is _SUM:
            return made
        if made.primitive in _NAMING:
            slot = made.ins[0]
        elif made.primitive is _MAX and len(made.ins) == 2:
            slot = next((made.ins[1 - k] for k in (0, 1) if _is_positive(program.template[made.ins[k]])), -1)
            if slot < 0:
                return None
        else:
            return None
    return None


def _is_positive(known: Fact | None) -> bool:
    return known is not None and type(known.lo) is int and known.lo >= 1


def _converted(program: Program, slot: int) -> int:
    """The slot of integers before they were converted to a type that holds them all."""
    slot = source_of(program, slot)
    made = made_by(program, slot)
    while made is not None and made.primitive is _CONVERT:
        before, after = (dtype_info(v.aval.dtype) for v in (made.eqn.invars[0], made.eqn.outvars[0]))
        if not (before.integral and after.integral and after.min <= before.min and before.max <= after.max):
            break
        slot = source_of(program, made.ins[0])
        made = made_by(program, slot)
    return slot
