"""masked: an access that may leave its array, but whose every use is a select that takes the other side then.

The uses of the result are followed forward through equations that keep each element in its place,
until each ends as a case of a select. Then the index is looked at again under the condition that its
case is taken: if it is inside then, what was read outside is never seen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from redzone.access.site import Site, stays_inside
from redzone.domains import Fact
from redzone.engine import Analysis, masked_runs
from redzone.engine.forward import Context
from redzone.engine.program import OBSERVE, SIMPLE, Step
from redzone.engine.refine import ALL, Infeasible, Refiner
from redzone.engine.slice import CALLS, Masks
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import RULES

_P = primitives()
_SELECT, _BROADCAST, _CONCATENATE = _P["select_n_p"], _P["broadcast_in_dim_p"], _P["concatenate_p"]
_SQUEEZE, _RESHAPE = _P["squeeze_p"], _P["reshape_p"]
_DECISIVE = {_P["and_p"]: 1, _P["or_p"]: 0}
_HERE = ("here",)


class _NotMasked(Exception):
    """Some use of the result sees it whatever the index was."""


class Uses:
    """Who reads each variable, for the jaxprs asked about."""

    def __init__(self) -> None:
        self.known: dict[int, dict[Any, list[tuple[Any, int]]]] = {}
        self.makers: dict[int, dict[Any, Any]] = {}

    def of(self, jaxpr: Any, var: Any) -> list[tuple[Any, int]]:
        if id(jaxpr) not in self.known:
            table: dict[Any, list[tuple[Any, int]]] = {}
            for eqn in jaxpr.eqns:
                for position, atom in enumerate(eqn.invars):
                    if type(atom) is not Literal:
                        table.setdefault(atom, []).append((eqn, position))
            self.known[id(jaxpr)] = table
        if var in [v for v in jaxpr.outvars if type(v) is not Literal]:
            raise _NotMasked
        return self.known[id(jaxpr)].get(var, [])

    def maker(self, jaxpr: Any, var: Any) -> Any:
        if id(jaxpr) not in self.makers:
            self.makers[id(jaxpr)] = {v: e for e in jaxpr.eqns for v in e.outvars}
        return self.makers[id(jaxpr)].get(var)


class _Found(NamedTuple):
    """A select that a value ends in: its equation, its condition and the case the value fills."""

    eqn: Any
    condition: Any
    case: int
    places: tuple[int, ...]
    """Where the dimensions of the index tuples are in the value there."""
    spread: tuple[int, ...]
    """Where the condition's own dimensions are in the value."""
    before: tuple[_Found, ...] = ()
    """What else must let the value through on its way here."""


def _selects(uses: Uses, jaxpr: Any, var: Any, places: tuple[int, ...], depth: int) -> Iterable[_Found]:
    """Every select that a value ends in, with the way its elements went."""
    if depth == 0:
        raise _NotMasked
    for eqn, position in uses.of(jaxpr, var):
        primitive = eqn.primitive
        if not eqn.outvars:
            raise _NotMasked
        if primitive is _SELECT and position >= 1:
            yield _Found(eqn, eqn.invars[0], position - 1, places, _identity(eqn.invars[0]))
        elif primitive in CALLS and CALLS[primitive] in ("jaxpr", "call_jaxpr"):
            yield from _in_call(uses, eqn, position, places, depth)
        elif primitive in _DECISIVE and eqn.outvars[0].aval.dtype == bool:
            # ok & read: where ok is false, what was read changes nothing; with or, where it is true.
            other = eqn.invars[1 - position]
            if other.aval.shape not in ((), var.aval.shape):
                raise _NotMasked
            yield from _further(uses, jaxpr, _Found(eqn, other, _DECISIVE[primitive], places, _identity(other)), depth)
        else:
            yield from _selects(uses, jaxpr, eqn.outvars[0], _moved(eqn, position, places), depth - 1)


def _further(uses: Uses, jaxpr: Any, here: _Found, depth: int) -> Iterable[_Found]:
    """A connective, with those that its result goes through: `a & read & ok` is decided by a or by ok."""
    try:
        rest = list(_selects(uses, jaxpr, here.eqn.outvars[0], here.places, depth - 1))
    except _NotMasked:
        rest = []
    if not rest:
        yield here
    for one in rest:
        yield one._replace(before=(here, *one.before))


def _in_call(uses: Uses, eqn: Any, position: int, places: tuple[int, ...], depth: int) -> Iterable[_Found]:
    inner, _ = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
    if len(inner.invars) != len(eqn.invars):
        raise _NotMasked
    for found in _selects(uses, inner, inner.invars[position], places, depth - 1):
        # Conditions made inside the call are not looked at: those on its operands must do.
        ways = [_unspread(uses, inner, one._replace(before=()), None) for one in (*found.before, found)]
        ways = [w for w in ways if type(w.condition) is not Literal and w.condition in inner.invars]
        if not ways:
            raise _NotMasked
        outer = [w._replace(eqn=eqn, condition=eqn.invars[inner.invars.index(w.condition)]) for w in ways]
        yield outer[-1]._replace(before=tuple(outer[:-1]))


def _identity(atom: Any) -> tuple[int, ...]:
    return tuple(range(len(atom.aval.shape)))


def _moved(eqn: Any, position: int, places: tuple[int, ...]) -> tuple[int, ...]:
    """Where the index tuples' dimensions go in an equation that keeps each element with its index tuple."""
    primitive, source, target = eqn.primitive, eqn.invars[position].aval.shape, eqn.outvars[0].aval.shape
    if primitive is _BROADCAST and position == 0:
        dims = eqn.params["broadcast_dimensions"]
        return tuple(dims[p] for p in places)
    if primitive is _SQUEEZE or primitive is _RESHAPE:
        if [n for n in source if n != 1] != [n for n in target if n != 1] or any(source[p] == 1 for p in places):
            raise _NotMasked
        wide = [d for d, n in enumerate(target) if n != 1]
        rank = {d: k for k, d in enumerate(d for d, n in enumerate(source) if n != 1)}
        return tuple(wide[rank[p]] for p in places)
    if primitive in RULES and RULES[primitive].pointwise and source == target:
        return places
    raise _NotMasked


def _unspread(uses: Uses, jaxpr: Any, found: _Found, shape: tuple[Any, ...] | None) -> _Found:
    """The condition before it was spread over the windows, back to the index tuples' own shape."""
    while type(found.condition) is not Literal:
        if found.condition.aval.shape == shape and found.spread == found.places:
            break
        maker = uses.maker(jaxpr, found.condition)
        if maker is None or maker.primitive is not _BROADCAST:
            break
        dims = maker.params["broadcast_dimensions"]
        source = maker.invars[0]
        found = found._replace(condition=source, spread=tuple(found.spread[d] for d in dims))
    return found


def masked_sites(analysis: Analysis, closed: Any, facts: Sequence[Fact], sites: Sequence[Site]) -> set[int]:
    """Which of these reads are masked wherever they leave their array."""
    uses, wanted = Uses(), dict[int, int]()
    masks: Masks = {}
    for site in sites:
        if site.effect != "read" or not site.columns or site.home is None:
            continue
        shape: tuple[Any, ...] = ()
        places: tuple[int, ...] = ()
        if site.columns[0].column is not None:
            shape = tuple(site.eqn.invars[1].aval.shape[:-1])
            offsets = site.eqn.params["dimension_numbers"].offset_dims
            places = tuple(d for d in range(len(site.eqn.outvars[0].aval.shape)) if d not in offsets)
        try:
            found = list(_selects(uses, site.home, site.eqn.outvars[0], places, 12))
        except _NotMasked:
            continue
        uses_of = [[_unspread(uses, site.home, w, shape) for w in (*one.before, one)] for one in found]
        uses_of = [[w for w in ways if _is_aligned(w, shape)] for ways in uses_of]
        if uses_of and all(uses_of):
            wanted[id(site.eqn)] = sum(map(len, uses_of))
            for use, ways in enumerate(uses_of):
                for way in ways:
                    each = bool(way.condition.aval.shape)
                    masks.setdefault(id(way.eqn), []).append((id(site.eqn), way.condition, (use, way.case, each)))
    if not wanted:
        return set()
    good: dict[int, bool] = {}
    for context in masked_runs(closed, analysis.inventory, facts, masks):
        for key, holds in _judged(context, wanted):
            good[key] = good.get(key, True) and holds
    return {key for key, holds in good.items() if holds}


def _is_aligned(found: _Found, shape: tuple[Any, ...]) -> bool:
    """Whether the condition has one element per index tuple, in the same place, or one for all."""
    if type(found.condition) is Literal:
        return False
    own = found.condition.aval.shape
    return own == () or (own == shape and found.spread == found.places)


def _judged(context: Context, wanted: dict[int, int]) -> Iterable[tuple[int, bool]]:
    steps = [s for s in context.program.steps if s.kind == OBSERVE]
    for key in {site for site, _, _ in context.program.masks}:
        mine = [s for s in steps if id(s.eqn) == key]
        conditions = [(slot, case) for site, slot, case in context.program.masks if site == key]
        if len(mine) != 1 or len(conditions) != wanted[key]:
            # Inlined more than once: which select belongs to which access is not tracked.
            yield key, False
            continue
        by_use: dict[int, list[tuple[int, int, bool]]] = {}
        for slot, (use, case, each) in conditions:
            by_use.setdefault(use, []).append((slot, case, each))
        yield key, all(_inside_when(context, mine[0], together) for together in by_use.values())


def _inside_when(context: Context, step: Step, conditions: Sequence[tuple[int, int, bool]]) -> bool:
    """Whether the index is inside wherever all of these conditions, one for all or one for each, pick their cases."""
    site = step.site
    assert site is not None
    if step.extra is not None:
        return False
    refiner = Refiner(context.program, context.env)
    level: Any = ALL
    try:
        for condition, case, each in conditions:
            if context.env[condition] is None:
                continue
            own = _HERE if each else ALL
            level = own if level is ALL else level
            refiner.assume(condition, case, own)
        facts = [
            _column(context, refiner, slot, column.column, level)
            for slot, column in zip(step.ins, site.columns, strict=True)
        ]
    except Infeasible:
        return True
    if any(fact is None for fact in facts):
        return False
    return stays_inside(_scalar_columns(site), [f for f in facts if f is not None])


def _scalar_columns(site: Site) -> Site:
    return dataclasses.replace(site, columns=tuple(dataclasses.replace(c, column=None) for c in site.columns))


def _column(context: Context, refiner: Refiner, slot: int, column: int | None, level: Any) -> Fact | None:
    """What one column of the index holds under the assumption, before it was put into an index vector."""
    if column is None:
        return refiner.value(slot, level)
    step = context.program.defs.get(slot)
    if step is not None and step.kind == SIMPLE and step.eqn.primitive is _CONCATENATE:
        sizes = [v.aval.shape[-1] for v in step.eqn.invars]
        if step.eqn.params["dimension"] != len(step.eqn.outvars[0].aval.shape) - 1 or any(n != 1 for n in sizes):
            return None
        slot, step = step.ins[column], context.program.defs.get(step.ins[column])
    elif column != 0:
        return None
    if step is None or step.kind != SIMPLE or step.eqn.primitive is not _BROADCAST:
        return refiner.value(slot, ALL) if level is ALL else None
    source = step.eqn.invars[0].aval.shape
    if tuple(step.eqn.params["broadcast_dimensions"]) != tuple(range(len(source))):
        return None
    return refiner.value(step.ins[0], level if source else ALL)
