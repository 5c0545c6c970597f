"""masked: an access that may leave its array, but whose every use is a select that takes the other side then.

The uses of the result are followed forward through equations that keep each element in its place,
until each ends as a case of a select. Then the index is looked at again under the condition that its
case is taken: if it is inside then, what was read outside is never seen.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

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
_STEADY = (_P["squeeze_p"], _P["reshape_p"], _P["convert_element_type_p"], _BROADCAST)
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


def _selects(uses: Uses, jaxpr: Any, var: Any, shape: tuple[Any, ...], depth: int) -> Iterable[tuple[Any, Any, int]]:
    """(equation, condition, case) of every select that a value ends in."""
    if depth == 0:
        raise _NotMasked
    for eqn, position in uses.of(jaxpr, var):
        primitive = eqn.primitive
        if primitive is _SELECT and position >= 1:
            yield eqn, _condition(uses, jaxpr, eqn.invars[0], shape), position - 1
        elif primitive in CALLS and CALLS[primitive] in ("jaxpr", "call_jaxpr"):
            inner, _ = open_jaxpr(eqn.params[CALLS[primitive]])
            if len(inner.invars) != len(eqn.invars):
                raise _NotMasked
            for _, condition, case in _selects(uses, inner, inner.invars[position], shape, depth - 1):
                if type(condition) is Literal or condition not in inner.invars:
                    raise _NotMasked
                outer = eqn.invars[inner.invars.index(condition)]
                yield eqn, _condition(uses, jaxpr, outer, shape), case
        elif primitive in _DECISIVE and eqn.outvars[0].aval.dtype == bool:
            # ok & read: where ok is false, what was read changes nothing; with or, where it is true.
            yield eqn, _condition(uses, jaxpr, eqn.invars[1 - position], shape), _DECISIVE[primitive]
        elif primitive in _STEADY or (primitive in RULES and RULES[primitive].pointwise):
            yield from _selects(uses, jaxpr, eqn.outvars[0], shape, depth - 1)
        else:
            raise _NotMasked


def _condition(uses: Uses, jaxpr: Any, atom: Any, shape: tuple[Any, ...]) -> Any:
    """The condition before it was spread over the windows: of the index tuples' own shape."""
    while type(atom) is not Literal and atom.aval.shape != shape and atom.aval.shape:
        maker = uses.maker(jaxpr, atom)
        if maker is None or maker.primitive is not _BROADCAST:
            break
        inner = maker.invars[0]
        if inner.aval.shape and tuple(maker.params["broadcast_dimensions"]) != tuple(range(len(inner.aval.shape))):
            break
        atom = inner
    return atom


def masked_sites(analysis: Analysis, closed: Any, facts: Sequence[Fact], sites: Sequence[Site]) -> set[int]:
    """Which of these reads are masked wherever they leave their array."""
    uses, wanted = Uses(), dict[int, int]()
    masks: Masks = {}
    for site in sites:
        if site.effect != "read" or not site.columns or site.home is None:
            continue
        shape = tuple(site.eqn.invars[1].aval.shape[:-1]) if site.columns[0].column is not None else ()
        try:
            found = list(_selects(uses, site.home, site.eqn.outvars[0], shape, 12))
        except _NotMasked:
            continue
        if found and all(c.aval.shape in ((), shape) for _, c, _ in found):
            wanted[id(site.eqn)] = len(found)
            for eqn, condition, case in found:
                masks.setdefault(id(eqn), []).append((id(site.eqn), condition, case))
    if not wanted:
        return set()
    good: dict[int, bool] = {}
    for context in masked_runs(closed, analysis.inventory, facts, masks):
        for key, holds in _judged(context, wanted):
            good[key] = good.get(key, True) and holds
    return {key for key, holds in good.items() if holds}


def _judged(context: Context, wanted: dict[int, int]) -> Iterable[tuple[int, bool]]:
    steps = [s for s in context.program.steps if s.kind == OBSERVE]
    for key in {site for site, _, _ in context.program.masks}:
        mine = [s for s in steps if id(s.eqn) == key]
        conditions = [(slot, case) for site, slot, case in context.program.masks if site == key]
        if len(mine) != 1 or len(conditions) != wanted[key]:
            # Inlined more than once: which select belongs to which access is not tracked.
            yield key, False
            continue
        yield key, all(_inside_when(context, mine[0], slot, case) for slot, case in conditions)


def _inside_when(context: Context, step: Step, condition: int, case: int) -> bool:
    """Whether the index is inside wherever the condition picks its case."""
    site = step.site
    assert site is not None
    if step.extra is not None:
        return False
    maker = context.program.defs.get(condition)
    if maker is None or context.env[condition] is None:
        return False
    level: Any = _HERE if maker.eqn.outvars[0].aval.shape else ALL
    refiner = Refiner(context.program, context.env)
    try:
        refiner.assume(condition, case, level)
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
