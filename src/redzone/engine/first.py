"""The element at the first place that holds: `q[jnp.argmax(ok)]` is one of which `ok` holds, where any does.

An argmax of bools is the first place of one that is true, and the very first place of all where none is. So
what is read there is what such an element can be; and, unless some bool is known to be true, the first element.
Where all of it is made from one number that has few values, each of them tells which place it is.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, dtype_info, join, leq, meet, scalar, settle, summarised
from redzone.engine.anew import are_flags_anew, is_anew
from redzone.engine.chosen import CHOSEN, How
from redzone.engine.levels import HERE
from redzone.engine.program import SIMPLE, Program, Step
from redzone.engine.refine import assuming
from redzone.engine.relations import Infeasible
from redzone.engine.tabulate import made_from
from redzone.engine.wrapping import wrapped_by
from redzone.frontend.compat import primitives
from redzone.rules.reductions import tells_places
from redzone.rules.table import SAME

_P: Final = primitives()
_ARGMAX: Final = _P["argmax_p"]
_SELECT: Final = _P["select_n_p"]
_ANY: Final = _P["reduce_or_p"]
_MAX: Final = _P["reduce_max_p"]
_SUM: Final = _P["reduce_sum_p"]
_CONVERT: Final = _P["convert_element_type_p"]
#: How many values of one number are tried, and how many steps may lie between.
VALUES: Final = 64
STEPS: Final = 24


class First(NamedTuple):
    """What an element is read by: the bools, and what tells whether any of them is true."""

    flags: int
    counts: tuple[int, ...]
    """Slots that are 0 where none is."""
    steps: tuple[Step, ...]
    """All steps that lead to the element from one number, if that is what it is made from."""
    source: int
    how: How | None = None
    """Of an extreme among what the bools let through: how they do."""
    values: int = -1
    """Among which it is looked for there, if that is known."""

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What such an element can be, of which `plain` is what the rule says."""
        q, at, flags, truth = step.ins[0], env[step.ins[1]], env[self.flags], 1
        if self.how is not None:
            truth, values = self.how.truth, env[self.values] if self.values >= 0 else None
            if values is not None and not self.how.is_end(values):
                return plain
        where = _where(program, env, self.flags, truth, q)
        found: Fact | None = None
        if where is not None:
            if type(where.lo) is np.ndarray and type(flags.hi) is np.ndarray and where.lo.shape == flags.hi.shape:
                # Elements of which it never holds are none of these.
                possible = flags.hi > 0 if truth else flags.lo < 1
                if possible.any() and where.lo.dtype != object:
                    kept = summarised(settle(where.lo[possible], where.hi[possible], where.nan))
                    lo, hi = np.where(possible, where.lo, kept.lo), np.where(possible, where.hi, kept.hi)
                    where = settle(lo, hi, where.nan)
            found = step.rule.apply(step.eqn, where, at)  # type: ignore[union-attr]
        if not _is_any(env, self):
            none = _where(program, env, self.flags, 1 - truth, q)
            if none is not None:
                other: Fact = step.rule.apply(step.eqn, none, scalar(0))  # type: ignore[union-attr]
                if found is None or not leq(other, found):
                    found = join(other, found) if found is not None else other
                    found = _tabulated(program, env, step, self, found)
        return plain if found is None else meet(plain, found) or plain


def first_of(program: Program, step: Step) -> First | None:
    """For an element of a row, read where the first of as many bools is true."""
    shape = step.eqn.invars[0].aval.shape
    if len(step.ins) != 2 or len(shape) != 1 or tuple(step.eqn.params["slice_sizes"]) != (1,):
        return None
    made = _index(program, step.ins[1])
    if made is None or step.ins[0] in program.unknown:
        return None
    how = CHOSEN.get(made.rule) if made.rule is not None else None
    if (how is None and made.primitive is not _ARGMAX) or not tells_places(made.eqn):
        return None
    flags, among = made.ins[0], made.eqn.invars[0].aval
    if (how is None and dtype_info(among.dtype).kind != "b") or among.shape != shape or flags in program.unknown:
        return None
    if type(shape[0]) is not int or shape[0] < 1 or are_flags_anew(program, flags):
        return None
    steps, source = _plan(program, step.outs[0]) or ((), -1)
    counts = _counts(program, flags) if how is None or how.truth else ()
    return First(flags, counts, steps, source, how, made.ins[1] if len(made.ins) > 1 else -1)


def _where(program: Program, env: list[Any], flags: int, truth: int, slot: int) -> Fact | None:
    """What the elements of a row are where a bool beside them comes out this way; None where none does."""
    refiner = assuming(program, env, flags, truth, HERE)
    if refiner is None:
        return None
    try:
        return refiner.value(slot, HERE)
    except Infeasible:
        return None


def _is_any(env: list[Any], first: First) -> bool:
    """Whether some bool is known to be true, and the place is one of such a bool then."""
    if first.how is not None:
        values = env[first.values] if first.values >= 0 else None
        if not first.how.truth or not first.how.is_beyond(values):
            return False
    for slot in (first.flags, *first.counts):
        fact = env[slot]
        if fact is None:
            continue
        lo, hi = (fact.lo.max(), fact.hi.min()) if type(fact.lo) is np.ndarray else (fact.lo, fact.hi)
        if (type(fact.lo) is np.ndarray or type(lo) is int) and (lo > 0 or hi < 0):
            return True
    return False


def _counts(program: Program, flags: int) -> tuple[int, ...]:
    """Whether any of the bools is true, or how many are: the slots, 0 where none is."""
    found = []
    for step in program.steps:
        if step.kind == SIMPLE and step.primitive in (_ANY, _MAX, _SUM) and len(step.eqn.params["axes"]) == 1:
            source = program.defs.get(step.ins[0])
            while source is not None and source.kind == SIMPLE and source.outs[0] != flags and _is_flags(source):
                source = program.defs.get(source.ins[0])
            if step.ins[0] == flags or (source is not None and source.outs[:1] == (flags,)):
                found.append(step.outs[0])
    return tuple(found)


def _is_flags(step: Step) -> bool:
    """Whether a step makes numbers that are 0 where its bools are false, or gives them another name."""
    if step.rule is SAME:
        return True
    return step.primitive is _CONVERT and dtype_info(step.eqn.invars[0].aval.dtype).kind == "b"


def _index(program: Program, slot: int) -> Step | None:
    """The step that makes an index, before the wrap of a negative one."""
    made = program.defs.get(slot)
    while made is not None and made.kind == SIMPLE:
        if made.primitive is _SELECT and wrapped_by(program, made) is not None:
            made = program.defs.get(made.ins[1])
        elif made.rule is SAME:
            made = program.defs.get(made.ins[0])
        else:
            return made
    return None


# For each value of one number


def _plan(program: Program, out: int) -> tuple[tuple[Step, ...], int] | None:
    """The steps, in order, that make a value from one scalar, and the scalar's slot."""
    order: list[Step] = []
    sources: set[int] = set()
    seen: set[int] = set()

    def visit(slot: int, shape: Any) -> bool:
        if slot in seen or program.template[slot] is not None:
            return True
        made = program.defs.get(slot)
        if made is None or not _is_plain(made):
            sources.add(slot)
            return len(sources) == 1 and shape == ()
        seen.add(slot)
        if len(seen) > STEPS or len(made.ins) != len(made.eqn.invars):
            return False
        if not all(visit(s, v.aval.shape) for s, v in zip(made.ins, made.eqn.invars, strict=True)):
            return False
        order.append(made)
        return True

    if not visit(out, None) or len(sources) != 1:
        return None
    (source,) = sources
    return None if is_anew(program, source) else (tuple(order), source)


def _is_plain(step: Step) -> bool:
    """Whether a step makes one value of its operands alone."""
    if step.kind != SIMPLE or step.rule is None or step.rule.elsewhere:
        return False
    return len(step.outs) == 1 and bool(step.ins)


def _tabulated(program: Program, env: list[Any], step: Step, first: First, known: Fact) -> Fact:
    """What an element is for each value of the number it is made from; `known` where that is not one of a few."""
    given = env[first.source] if first.source >= 0 else None
    if given is None or type(given.lo) is not int or type(given.hi) is not int or given.step == 0:
        return known
    if (given.hi - given.lo) // given.step >= VALUES:
        return known
    result: Fact | None = None
    for value in range(given.lo, given.hi + 1, given.step):
        made = made_from(program, first.steps, first.source, value, step.outs[0])
        if made is None:
            return known
        made = summarised(made)
        result = made if result is None else join(result, made)
    return known if result is None else meet(known, result) or known
