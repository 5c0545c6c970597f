"""Where the index of an access is when somebody sees what it reads or writes, given when that is seen.

The conditions that `prove/masks.py` found are slots of the program by now. The index is looked at under them: by the
engine's refinement, by putting it outside and looking at the conditions, and by the exact stage.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from redzone.access.site import Column, Site, stays_inside
from redzone.domains import Fact, settle, summarised
from redzone.domains.symbolic import at_most, is_inconclusive
from redzone.engine.either import alternatives
from redzone.engine.forward import Context
from redzone.engine.frames import Called
from redzone.engine.lanes import stay_apart
from redzone.engine.levels import ALL, HERE, ROW
from redzone.engine.program import OBSERVE, SIMPLE, WHILE, Passage, Step
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.frontend.compat import primitives
from redzone.prove.exact import Exact
from redzone.prove.passing import is_reshape
from redzone.prove.violations import Bounded

_BROADCAST: Final = primitives()["broadcast_in_dim_p"]
_CONCATENATE: Final = primitives()["concatenate_p"]

#: Where an index is when its results are seen.
ANYWHERE: Final = 0
CLOSE: Final = 1
INSIDE: Final = 2


#: A condition in a program: the access that it is about, its slot, how it lets through what is accessed, and the calls
#: that it was inlined from.
Mask = tuple[Called, int, Passage, frozenset[int]]
#: An access as some calls around it make it: its step, and the conditions about it, by their slots.
Masked = tuple[Step, list[tuple[int, Passage]]]


def judged(context: Context, wanted: dict[Called, int], exact: Exact) -> Iterable[tuple[Called, int]]:
    """Where the index of each access is when somebody sees what it reads or writes, in one run of a program."""
    program = context.program
    steps, masks = [s for s in program.steps if s.kind == OBSERVE], program.masks
    nowhere: tuple[Any, frozenset[int]] = (None, frozenset())
    for key in dict.fromkeys([site for site, _, _, _ in masks]):
        seen = [(s, program.calls.get(id(s), nowhere)[1]) for s in steps if id(s.eqn) == key[0]]
        found = met_with(key, seen, masks, wanted[key])
        if found is None:
            exact.left.setdefault(key[0], []).append(None)
            yield key, ANYWHERE
            continue
        yield key, min(place_seen(context, one, exact) for one in found)


def met_with(
    key: Called, seen: Iterable[tuple[Step, frozenset[int]]], masks: Iterable[Mask], count: int
) -> list[Masked] | None:
    """An access with the conditions about it, each time it was inlined; None where they are not so many everywhere.

    An access that is inlined several times is told apart by the calls it came from, as its selects are.
    """
    mine: dict[frozenset[int], Step] = {}
    for step, calls in seen:
        if calls.issuperset(key[1]):
            if calls in mine:
                return None
            mine[calls] = step
    found: dict[frozenset[int], list[tuple[int, Passage]]] = {}
    for site, slot, case, calls in masks:
        if site == key:
            found.setdefault(calls.union(key[1]), []).append((slot, case))
    if found.keys() != mine.keys() or any(len(one) != count for one in found.values()):
        return None
    return [(mine[calls], conditions) for calls, conditions in found.items()]


_Conditions = list[Bounded]


def place_seen(context: Context, masked: Masked, exact: Exact) -> int:
    """Where the index of an access is in the worst of its uses.

    A use under all conditions of another, and perhaps more, is seen no more often than that, which is looked at alone.
    """
    step, conditions = masked
    by_use: dict[int, dict[tuple[int, ...], _Conditions]] = {}
    asked: dict[int, set[Any]] = {}
    for slot, one in conditions:
        rows, condition = by_use.setdefault(one.use, {}), (slot, one.least, one.most, one.shape)
        rows.setdefault(one.rows, []).append(condition)
        asked.setdefault(one.use, set()).add((*condition, one.rows))
    least = INSIDE
    for use, mine in asked.items():
        if not any(other < mine or (other == mine and before < use) for before, other in asked.items()):
            least = min(least, _place_of(context, step, by_use[use], exact))
    return least


def _place_of(context: Context, step: Step, by_rows: dict[tuple[int, ...], _Conditions], exact: Exact) -> int:
    """Where the index is in one use: as its own conditions say, or those that decide about rows of index tuples."""
    own = by_rows.get((), [])
    place = _place_when(context, step, own, exact) if own else ANYWHERE
    for rows, conditions in by_rows.items():
        if place != INSIDE and rows:
            for_all = [one for one in own if not one[3]]
            place = max(place, _place_under(context, step, [*for_all, *conditions], rows))
    if place != INSIDE:
        exact.left.setdefault(id(step.eqn), []).append((step, context, own) if own else None)
    return place


def _place_when(context: Context, step: Step, conditions: _Conditions, exact: Exact) -> int:
    """Where the index is wherever all of these conditions, one for all or one for each, are between their bounds.

    Of a promise that one of several conditions holds, each is looked at in turn; relations are left to the exact stage.
    """
    program = context.program
    place = _place_under(context, step, conditions)
    for promise in program.assumptions if place != INSIDE and _are_kept(context) else ():
        for parts, shape in alternatives(program, promise.slot) if promise.is_condition else ():
            if shape and shape != _tuples(step.eqn):
                # Not about the index tuples, one by one.
                continue
            cases = [[*conditions, (part, value, value, shape)] for part, value in parts]
            place = max(place, min(_place_under(context, step, one) for one in cases))
    if place == INSIDE or not _seen_outside(context, step, conditions) or exact.keeps_inside(step, context, conditions):
        return INSIDE
    return place


def _are_kept(context: Context) -> bool:
    """Whether promises are kept wherever it is seen what a run makes.

    A lane of a batched loop that is done has not made them; what it computes is thrown away if no lane sees another.
    """
    around: Context | None = context if context.program.lanes and not context.lanes else None
    while around is not None:
        step = around.step
        if step is not None and step.kind == WHILE and not stay_apart(step):
            return False
        around = around.parent
    return True


def _seen_outside(context: Context, step: Step, conditions: _Conditions) -> bool:
    """Whether the conditions may hold where the index is outside: it is put there, and they are looked at.

    `x * (d == 0) + y * (d == 1) > 9` says little of d; but where d is neither 0 nor 1 it does not hold.
    """
    site, env = step.site, context.env
    if site is None or step.extra is not None:
        return True
    for slot, column in zip(step.ins, site.columns, strict=True):
        shape = site.eqn.invars[column.operand].aval.shape
        alone = (slot, shape) if column.column is None else _alone(context, slot, column.column)
        fact = None if alone is None else env[alone[0]]
        if alone is None or alone[1] is None or fact is None or column.also is not None or column.repeat != 1:
            return True
        whole = summarised(fact)
        if not type(whole.lo) is type(whole.hi) is type(column.limit) is int:
            return True
        for lo, hi in ((whole.lo, -1), (column.limit + 1, whole.hi)):
            if lo <= hi and _may_hold(Refiner(context.program, env), alone, (lo, hi), conditions):
                return True
    return False


def _may_hold(
    refiner: Refiner, index: tuple[int, tuple[Any, ...] | None], ends: tuple[int, int], conditions: _Conditions
) -> bool:
    """Whether conditions may be between their bounds where one of these numbers lies between its ends."""
    slot, shape = index
    try:
        # Of an array, it is one element that does.
        refiner.narrow(slot, Fact(*ends, int(ends[0] != ends[1])), HERE if shape else ALL)
        refiner.again()
        for condition, least, most, own in conditions:
            fact = summarised(refiner.value(condition, HERE if own else ALL))
            if fact.hi < least or fact.lo > most:
                return False
    except Infeasible:
        return False
    except Exception as error:
        if not is_inconclusive(error):
            raise
    return True


def _tuples(eqn: Any) -> tuple[Any, ...] | None:
    """The shape of an access's index tuples, where it has an array of them."""
    return tuple(eqn.invars[1].aval.shape[:-1]) if "dimension_numbers" in eqn.params else None


def _place_under(context: Context, step: Step, conditions: _Conditions, rows: tuple[int, ...] = ()) -> int:
    """Where the index is under conditions, which are one for all, for each index tuple, or for each row of them."""
    site = step.site
    assert site is not None
    if step.extra is not None:
        return ANYWHERE
    refiner = Refiner(context.program, context.env)
    level: Any = ALL
    picked: Any = True
    """Where elements are told apart: which index tuples all of the conditions may pick."""
    try:
        for condition, least, most, shape in conditions:
            fact = context.env[condition]
            if fact is None:
                continue
            own = HERE if shape else ALL
            level = own if level is ALL else level
            may = _may_be(fact, shape, least, most, _tuples(step.eqn), rows)
            if may is not None and np.ndim(picked) in (0, np.ndim(may)):
                picked = picked & may
            refiner.narrow(condition, Fact(least, most, int(least != most)), own)
            refiner.again()
        if rows:
            level = (*HERE, (ROW, _tuples(step.eqn), rows))
        facts = [
            _column(context, refiner, slot, column.column, level)
            for slot, column in zip(step.ins, site.columns, strict=True)
        ]
    except Infeasible:
        return INSIDE
    if not np.any(picked):
        return INSIDE
    known = [_where_picked(f, picked) for f in facts if f is not None]
    if len(known) < len(facts):
        return ANYWHERE
    if stays_inside(_scalar_columns(site), known):
        return INSIDE
    wholes = zip(site.columns, map(summarised, known), strict=True)
    return CLOSE if all(is_close(site, column, whole.lo, whole.hi) for column, whole in wholes) else ANYWHERE


def _may_be(fact: Fact, shape: Any, least: int, most: int, tuples: Any, rows: tuple[int, ...]) -> Any:
    """For which index tuples, or rows of them, a condition may be between its bounds, where elements are told apart."""
    if type(fact.lo) is not np.ndarray or not shape or not (rows or shape == tuples):
        return None
    may = (fact.hi >= least) & (fact.lo <= most)
    if rows and shape != tuples:
        # One for each row: it stands where the row does.
        sizes = [1 if d in rows else n for d, n in enumerate(tuples)]
        if [n for n in shape if n != 1] != [n for n in sizes if n != 1]:
            return None
        may = np.broadcast_to(may, shape).reshape(sizes)
    return may


def _where_picked(fact: Fact, picked: Any) -> Fact:
    """What a fact says of the elements that are picked, where both tell them apart."""
    if type(fact.lo) is not np.ndarray:
        return fact
    lo, hi, rank = fact.lo, fact.hi, np.ndim(picked)
    if rank and lo.ndim == hi.ndim == rank + 1 and lo.shape[-1] == hi.shape[-1] == 1:
        # A column that is still one: beside the index tuples it has another dimension of one element.
        lo, hi = lo[..., 0], hi[..., 0]
    if rank != lo.ndim or rank != hi.ndim:
        return fact
    lo, hi, mine = np.broadcast_arrays(lo, hi, picked)
    return settle(lo[mine].min().item(), hi[mine].max().item())


def is_close(site: Site, column: Column, lo: Any, hi: Any) -> bool:
    """Whether an index in [lo, hi] stays within a few times the size of what it indexes."""
    far = 4 * site.buffer.shape[column.dim]
    return at_most(-far, lo) is True and at_most(hi, far) is True


def _scalar_columns(site: Site) -> Site:
    return dataclasses.replace(site, columns=tuple(c._replace(column=None) for c in site.columns))


def _column(context: Context, refiner: Refiner, slot: int, column: int | None, level: Any) -> Fact | None:
    """What one column of the index holds under the assumption, before it was put into an index vector."""
    if column is None:
        return refiner.value(slot, level)
    alone = _alone(context, slot, column)
    if alone is None:
        return None
    slot, shape = alone
    if shape is None:
        return refiner.value(slot, ALL) if level is ALL else None
    return refiner.value(slot, level if shape else ALL)


def _alone(context: Context, slot: int, column: int) -> tuple[int, tuple[Any, ...] | None] | None:
    """One column of an index as it was before it was put into an index vector, and its shape.

    Without a shape, the vector, where it has this column alone; None where neither is to be seen.
    """
    step = context.program.defs.get(slot)
    if step is not None and step.kind == SIMPLE and step.primitive is _CONCATENATE:
        sizes = [v.aval.shape[-1] for v in step.eqn.invars]
        if step.eqn.params["dimension"] != len(step.eqn.outvars[0].aval.shape) - 1 or any(n != 1 for n in sizes):
            return None
        slot, step = step.ins[column], context.program.defs.get(step.ins[column])
    elif column != 0:
        return None
    if step is not None and step.kind == SIMPLE and is_reshape(step.eqn):
        source = step.eqn.invars[0].aval.shape
        if (*source, 1) == step.eqn.outvars[0].aval.shape:
            return step.ins[0], source
    if step is None or step.kind != SIMPLE or step.primitive is not _BROADCAST:
        return slot, None
    source, whole = step.eqn.invars[0].aval.shape, step.eqn.outvars[0].aval.shape
    if source and (*source, 1) != whole:
        # Spread over the index tuples at once: it is one of their columns all the same.
        return slot, whole
    return step.ins[0], source
