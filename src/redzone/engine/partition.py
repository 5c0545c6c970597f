"""Counts of elements that are told apart: how many are true and, so far, how many are not.

`mask.sum() + cumsum(~mask)` is the place of an element behind all those of the other kind: a stable partition, a pass
of a radix sort. An element is of one kind at most, so whatever part of an array each of the two counts, together they
count no more than its elements.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, dtype_info, settle, summarised
from redzone.engine.anew import are_flags_anew
from redzone.engine.program import SIMPLE, Program, Step, made_by
from redzone.frontend.compat import primitives

_P: Final = primitives()
_SUM: Final = _P["reduce_sum_p"]
_CUMSUM: Final = _P["cumsum_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_SPREAD: Final = _P["broadcast_in_dim_p"]
_NOT: Final = _P["not_p"]
_SUB: Final = _P["sub_p"]
_XOR: Final = _P["xor_p"]
_EQ: Final = _P["eq_p"]
#: Comparisons of the same two numbers that never both hold.
_CONTRARY: Final = {
    frozenset((_P[f"{a}_p"], _P[f"{b}_p"]))
    for a, b in (("lt", "ge"), ("lt", "gt"), ("lt", "eq"), ("le", "gt"), ("gt", "eq"), ("eq", "ne"))
}


class Partition(NamedTuple):
    """Two counts of one array's elements: how many it has, and a slot that has to be 0 or 1 for them to be apart."""

    size: int
    bit: int
    """-1 where that is so already."""

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What such a sum can be, of which `plain` is what the rule says."""
        if self.bit >= 0:
            bit = summarised(env[self.bit])
            if type(bit.lo) is not int or type(bit.hi) is not int or bit.lo < 0 or bit.hi > 1:
                return plain
        if type(plain.lo) is np.ndarray:
            hi = np.minimum(plain.hi, self.size)
            return settle(np.minimum(plain.lo, hi), hi) if plain.lo.dtype != object else plain
        if type(plain.lo) is not int or type(plain.hi) is not int or plain.hi <= self.size or plain.lo > self.size:
            return plain
        return Fact(plain.lo, self.size, 0 if plain.lo == self.size else 1)


def partition(program: Program, step: Step) -> Partition | None:
    """For a sum of two counts that no element is counted in twice; None for another."""
    first = _counted(program, step.ins[0])
    second = _counted(program, step.ins[1]) if first is not None else None
    if first is None or second is None:
        return None
    info = dtype_info(step.eqn.outvars[0].aval.dtype)
    (one, size), (other, size_) = first, second
    if size != size_ or info.kind not in "iu" or size > info.max:
        return None
    for a, b in ((one, other), (other, one)):
        bit = _complement(program, a, b)
        if bit is not None:
            return Partition(size, bit)
    return None


def _counted(program: Program, slot: int) -> tuple[int, int] | None:
    """For a sum, or running sums, of all elements of a row: the slot of these, and how many there are."""
    made = made_by(program, slot)
    while made is not None and made.primitive is _SPREAD:
        made = made_by(program, made.ins[0])
    if made is None or (made.primitive is not _SUM and made.primitive is not _CUMSUM):
        return None
    shape = made.eqn.invars[0].aval.shape
    if len(shape) != 1 or type(shape[0]) is not int or made.ins[0] in program.unknown:
        return None
    if are_flags_anew(program, made.ins[0]):
        return None
    return made.ins[0], shape[0]


def _complement(program: Program, a: int, b: int) -> int | None:
    """Where no element of two arrays of flags is set in both: the slot that has to be 0 or 1 for that, or -1."""
    made = made_by(program, b)
    if made is None:
        return None
    if made.primitive is _SUB and _is_one(program, made.ins[0]) and made.ins[1] == a:
        return a
    if made.primitive is _XOR and any(made.ins[k] == a and _is_one(program, made.ins[1 - k]) for k in (0, 1)):
        return a
    flag, other = _flag(program, a), _flag(program, b)
    if other is None:
        return None
    test = program.defs.get(other)
    if test is None or test.kind != SIMPLE:
        return None
    if test.primitive is _EQ and test.ins[0] == a and _number(program, test.ins[1]) == 0:
        return a
    if flag is None:
        return None
    if test.primitive is _NOT and test.ins[0] == flag and flag not in program.unknown:
        return -1
    tested = program.defs.get(flag)
    if tested is None or tested.kind != SIMPLE or not program.unknown.isdisjoint(test.ins):
        return None
    if tested.ins == test.ins and frozenset((tested.eqn.primitive, test.primitive)) in _CONTRARY:
        return -1
    numbers = [_number(program, s.ins[1]) if s.primitive is _EQ else None for s in (test, tested)]
    same = tested.ins[:1] == test.ins[:1] and None not in numbers and numbers[0] != numbers[1]
    return -1 if same else None


def _flag(program: Program, slot: int) -> int | None:
    """The bools that were converted to integers."""
    made = made_by(program, slot)
    if made is None or made.primitive is not _CONVERT:
        return None
    return made.ins[0] if dtype_info(made.eqn.invars[0].aval.dtype).kind == "b" else None


def _number(program: Program, slot: int) -> int | None:
    """The integer that a slot, or every element of it, is known to be."""
    fact = program.template[slot]
    made = program.defs.get(slot) if fact is None else None
    if made is not None and made.kind == SIMPLE and made.primitive is _SPREAD:
        fact = program.template[made.ins[0]]
    return fact.lo if fact is not None and fact.step == 0 and type(fact.lo) is int else None


def _is_one(program: Program, slot: int) -> bool:
    return _number(program, slot) == 1
