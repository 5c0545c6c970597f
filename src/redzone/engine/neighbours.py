"""Neighbours of which it is promised how far apart they are: `p[1:] > p[:-1]`, `s[1:] - s[:-1] <= 5`.

Each element is bounded by the one beside it and a step, so all of them, one after the other, by whatever is known of
any: where numbers rise strictly from 0, the k-th is at least k. A sum or difference in a promise is the machine's. It
is used between two elements only as far as what is known of these tells the true one: `s[k] + 5` where that cannot
leave its type, a difference as the multiples of the width allow. Going on from an element that is known, the next is
known too, and so on.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import DtypeInfo, Fact, dtype_info, settle, summarised
from redzone.domains.fact import KEEP
from redzone.engine.levels import ALL
from redzone.engine.program import SIMPLE, Program, Step
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.engine.rising import Cut, Rows, cut_of, parts_of
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

_P: Final = primitives()
_AND: Final = _P["and_p"]
_EVERY: Final = _P["reduce_and_p"]
_NOT: Final = _P["not_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_ABS: Final = _P["abs_p"]
_ADD: Final = _P["add_p"]
_SUB: Final = _P["sub_p"]
#: By comparison: whether its first operand is the lesser, and how much less it is at least; and the same of its second.
_LESS: Final[dict[Any, tuple[tuple[bool, int], ...]]] = {
    _P["le_p"]: ((True, 0),),
    _P["lt_p"]: ((True, 1),),
    _P["ge_p"]: ((False, 0),),
    _P["gt_p"]: ((False, 1),),
    _P["eq_p"]: ((True, 0), (False, 0)),
}
_CONTRARY: Final = {_P[f"{a}_p"]: _P[f"{b}_p"] for a, b in (("le", "gt"), ("lt", "ge"), ("ge", "lt"), ("gt", "le"))}
#: How often all elements are gone through, from the first to the last and back.
ROUNDS: Final = 3
#: Numbers beyond this are not kept apart.
FAR: Final = 2**62


class Term(NamedTuple):
    """All elements of an array but the first, or but the last, and a number that is added to each."""

    cut: Cut
    lo: int
    hi: int
    info: DtypeInfo | None
    """The type in which that is added, None where nothing is."""

    def fits(self, lo: int, hi: int) -> bool:
        """Whether the sum with an element between these cannot wrap."""
        return self.info is None or (self.info.min <= lo + self.lo and hi + self.hi <= self.info.max)


class Less(NamedTuple):
    """Of any two neighbours, one and what is added to it are less than the other and what is added to that."""

    less: Term
    more: Term
    later: int
    """1 if the later is the lesser, 0 if the earlier is."""
    by: int


class Apart(NamedTuple):
    """Of any two neighbours the difference, as the machine has it, lies between two numbers."""

    lo: int
    hi: int
    width: int
    sign: int
    """1 if the earlier is taken from the later, -1 if the later from the earlier."""


def use_steps(program: Program, refiner: Refiner, condition: int) -> None:
    """Narrow the arrays between whose neighbours a condition that holds limits the steps."""
    found: dict[Rows, list[Any]] = {}
    for step, primitive in _comparisons(program, condition):
        for rows, one in _limits(program, refiner, step, primitive):
            found.setdefault(rows, []).append(one)
    for (slot, axis), limits in found.items():
        # Where there is an order and nothing else, that has been used.
        if any(type(one) is Apart or one.by or one.less.info or one.more.info for one in limits):
            _follow(program, refiner, slot, axis, limits)


def _comparisons(program: Program, condition: int) -> list[tuple[Step, Any]]:
    """The comparisons that hold at every place where a condition does, and what holds: each or its contrary."""
    found, waiting = [], [(condition, True)]
    for slot, truth in waiting:
        step = program.defs.get(slot)
        if step is None or step.kind != SIMPLE or len(waiting) > 16:
            continue
        primitive = step.primitive
        if primitive in _LESS:
            holds = primitive if truth else _CONTRARY.get(primitive)
            if holds is not None and len(step.ins) == 2:
                found.append((step, holds))
        elif dtype_info(step.eqn.outvars[0].aval.dtype).kind != "b":
            continue
        elif primitive is _NOT:
            waiting.append((step.ins[0], not truth))
        elif step.rule is SAME or primitive is _CONVERT:
            if dtype_info(step.eqn.invars[0].aval.dtype).kind == "b":
                waiting.append((step.ins[0], truth))
        elif truth and (primitive is _AND or primitive is _EVERY):
            waiting += [(source, True) for source in step.ins]
    return found


def _limits(program: Program, refiner: Refiner, step: Step, primitive: Any) -> list[tuple[Rows, Any]]:
    """What a comparison that holds says of neighbours."""
    found: list[tuple[Rows, Any]] = []
    for slot in step.ins:
        apart = _apart(program, refiner, slot)
        if apart is not None:
            found.append(apart)
    first, second = (_term(program, refiner, slot) for slot in step.ins)
    if first is None or second is None or found:
        return found
    for is_first, by in _LESS[primitive]:
        less, more = (first, second) if is_first else (second, first)
        later = _later(less.cut, more.cut)
        if later is not None:
            found.append((less.cut[0], Less(less, more, later, by)))
    return found


def _later(one: Cut, other: Cut) -> int | None:
    """1 if each element of the first part is the later neighbour of one of the other's, 0 if the earlier; or None."""
    (rows, start, stop, size), (rows_, begin, end, _) = one, other
    if rows != rows_ or size < 2:
        return None
    if (start, stop, begin, end) == (1, size, 0, size - 1):
        return 1
    return 0 if (begin, end, start, stop) == (1, size, 0, size - 1) else None


def _term(program: Program, refiner: Refiner, slot: int) -> Term | None:
    """For part of an array, or a sum of that and something: the two."""
    cut = _whole_cut(program, slot)
    if cut is not None:
        return Term(cut, 0, 0, None)
    step = _plain(program, slot)
    if step is None or len(step.ins) != 2 or (step.primitive is not _ADD and step.primitive is not _SUB):
        return None
    out = step.eqn.outvars[0].aval
    for k in (0, 1) if step.primitive is _ADD else (0,):
        cut, by = _whole_cut(program, step.ins[k]), refiner.current(step.ins[1 - k], ALL)
        if cut is None or by is None or step.eqn.invars[k].aval.shape != out.shape:
            continue
        added = summarised(by)
        if type(added.lo) is int and type(added.hi) is int:
            lo, hi = (added.lo, added.hi) if step.primitive is _ADD else (-added.hi, -added.lo)
            return Term(cut, lo, hi, dtype_info(out.dtype))
    return None


def _apart(program: Program, refiner: Refiner, slot: int) -> tuple[Rows, Apart] | None:
    """For a difference of neighbours, or its absolute value: what is known of the difference."""
    step = _plain(program, slot)
    if step is not None and step.primitive is _ABS:
        step = _plain(program, step.ins[0])
    if step is None or step.primitive is not _SUB or len(step.ins) != 2:
        return None
    info = dtype_info(step.eqn.outvars[0].aval.dtype)
    first, second = (_whole_cut(program, s) for s in step.ins)
    later = _later(first, second) if first is not None and second is not None and info.kind in "iu" else None
    known = refiner.current(step.outs[0], ALL)
    if first is None or later is None or known is None:
        return None
    whole = summarised(known)
    if type(whole.lo) is not int or type(whole.hi) is not int:
        return None
    return first[0], Apart(whole.lo, whole.hi, int(info.max - info.min) + 1, 1 if later else -1)


def _plain(program: Program, slot: int) -> Step | None:
    """The plain step that makes a value, whatever wider types it was put into since."""
    step = program.defs.get(slot)
    while step is not None and step.kind == SIMPLE and (step.rule is SAME or _is_widened(step)):
        step = program.defs.get(step.ins[0])
    return step if step is not None and step.kind == SIMPLE else None


def _whole_cut(program: Program, slot: int) -> Cut | None:
    """The part of an array that a value is, in whatever wider type."""
    step = _plain(program, slot)
    return None if step is None else cut_of(program, step.outs[0])


def _is_widened(step: Step) -> bool:
    if step.primitive is not _CONVERT:
        return False
    source, target = (dtype_info(v.aval.dtype) for v in (step.eqn.invars[0], step.eqn.outvars[0]))
    if source.kind not in "iu" or target.kind not in "iu":
        return False
    return bool(target.min <= source.min and source.max <= target.max)


# From one element to the next


def _follow(program: Program, refiner: Refiner, slot: int, axis: int, limits: list[Any]) -> None:
    """Bound each element along an axis by those beside it."""
    bounds = _elements(program, refiner, slot, axis)
    if bounds is None:
        return
    lo, hi, rank = bounds
    last, order = len(lo) - 2, _order(limits)
    for _ in range(ROUNDS):
        before = (lo.copy(), hi.copy())
        for k in (*range(last + 1), *range(last, -1, -1)):
            for one in limits:
                if type(one) is Less:
                    _use_less(lo, hi, k, one)
                else:
                    _use_apart(lo, hi, k, one, order)
            if lo[k] > hi[k] or lo[k + 1] > hi[k + 1]:
                raise Infeasible
        if (lo, hi) == before:
            break
    least, most = min(lo), max(hi)
    if least > -FAR and most < FAR:
        shape = [len(lo) if d == axis else 1 for d in range(rank)]
        refiner.narrow(slot, settle(np.array(lo).reshape(shape), np.array(hi).reshape(shape)), ALL)
    else:
        refiner.narrow(slot, Fact(least, most), ALL)


def _order(limits: list[Any]) -> tuple[int | None, int | None]:
    """The least and the most that the later of two neighbours is more than the earlier, by comparisons of the two."""
    plain = [one for one in limits if type(one) is Less and one.less.info is None and one.more.info is None]
    rising, falling = ([one.by for one in plain if one.later == which] for which in (0, 1))
    return max(rising) if rising else None, -max(falling) if falling else None


def _use_less(lo: list[int], hi: list[int], k: int, one: Less) -> None:
    i, j = k + one.later, k + 1 - one.later
    less, more = one.less, one.more
    if less.fits(lo[i], hi[i]) and more.fits(lo[j], hi[j]):
        hi[i] = min(hi[i], hi[j] + more.hi - less.lo - one.by)
        lo[j] = max(lo[j], lo[i] + less.lo - more.hi + one.by)


def _use_apart(lo: list[int], hi: list[int], k: int, one: Apart, order: tuple[int | None, int | None]) -> None:
    """The true difference is what the machine has, or that and a multiple of the width."""
    least, most = lo[k + 1] - hi[k], hi[k + 1] - lo[k]
    if order[0] is not None:
        least = max(least, order[0])
    if order[1] is not None:
        most = min(most, order[1])
    low, high = (one.lo, one.hi) if one.sign > 0 else (-one.hi, -one.lo)
    first, last = -((high - least) // one.width), (most - low) // one.width
    if first > last:
        raise Infeasible
    least, most = max(least, low + first * one.width), min(most, high + last * one.width)
    lo[k + 1], hi[k + 1] = max(lo[k + 1], lo[k] + least), min(hi[k + 1], hi[k] + most)
    lo[k], hi[k] = max(lo[k], lo[k + 1] - most), min(hi[k], hi[k + 1] - least)


def _elements(program: Program, refiner: Refiner, slot: int, axis: int) -> tuple[list[int], list[int], int] | None:
    """Bounds of the elements along an axis, each for all rows, and the array's rank."""
    now = refiner.current(slot, ALL)
    places = parts_of(program, refiner, slot, axis)
    if now is None or not places:
        return None
    size, rank = places[0][0][3], places[0][1]
    if not 1 < size <= KEEP:
        return None
    if type(now.lo) is np.ndarray and now.lo.ndim == rank and now.lo.shape[axis] == size and now.lo.dtype != object:
        others = tuple(d for d in range(rank) if d != axis)
        lo, hi = [int(n) for n in now.lo.min(others)], [int(n) for n in now.hi.max(others)]
    else:
        whole = summarised(now)
        if type(whole.lo) is not int or type(whole.hi) is not int:
            return None
        lo, hi = [whole.lo] * size, [whole.hi] * size
    for (_, start, stop, _), _, fact in places:
        for k in range(start, stop):
            lo[k], hi[k] = max(lo[k], fact.lo), min(hi[k], fact.hi)
            if lo[k] > hi[k]:
                raise Infeasible
    return lo, hi, rank
