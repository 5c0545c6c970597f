"""Where an access leaves its array: regions of inputs, loop iterations and positions.

What bounds on the atoms cannot rule out, isl does, and z3 where it is installed.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Column, Site, column_of
from redzone.domains import Fact, dtype_info
from redzone.domains.affine import Atom, Linear, Region
from redzone.domains.symbolic import is_inconclusive
from redzone.engine import Seen
from redzone.engine.forward import Context
from redzone.engine.lanes import of_operand
from redzone.engine.program import Step
from redzone.frontend.trace import Input
from redzone.prove import solver
from redzone.prove.conditions import Common
from redzone.prove.element_loops import goes_on, lanes_of
from redzone.prove.elements import Elements, is_bool
from redzone.prove.pieces import PIECES, NotAffine, Place, Work

#: How many regions of one access are looked at, and how many ways it may be reached.
CASES: Final = 64
WAYS: Final = 8
#: How many questions of one check may go to isl.
ASKED: Final = 24


#: A condition: its slot, the least and the most it is, and its shape.
Bounded = tuple[int, int, int, tuple[Any, ...]]
#: A use of what an access reads or writes: the access in one run, and the conditions under which somebody sees it.
Use = tuple[Step, Context, Sequence[Bounded]]


class Case:
    """A region in which an index leaves its array, and a point of it if one is known."""

    __slots__ = ("above", "column", "index", "made", "point", "region", "wrapped")

    def __init__(
        self,
        region: Region,
        index: Linear,
        column: Column | None,
        above: bool,
        point: dict[Atom, int] | None = None,
        wrapped: bool = False,
    ) -> None:
        self.region = region
        self.index = index
        self.column = column
        """None where it is not the index that leaves, but a value on the way to it wraps."""
        self.above = above
        self.point = point
        self.made = False
        """Whether the program's own limits end the index out there, not those of an input."""
        self.wrapped = wrapped
        """Whether the index has wrapped around a type, as far as can be told from it."""

    def excess(self) -> Linear:
        """At least 0 where the index is outside."""
        assert self.column is not None
        return self.index - self.column.limit - 1 if self.above else -self.index - 1

    def is_certain(self) -> bool:
        """Whether it is made of iterations and positions alone, so that no input has a say in it.

        Not of values nobody can look into (v), nor of what was added now and then (s).
        """
        atoms = {*self.region.box, *self.region.atoms(), *self.index.terms}
        return self.point is not None and all(a.leaf < 0 and a.name[0] not in "vs" for a in atoms)


class Violations:
    """The regions in which accesses of one program leave their arrays."""

    def __init__(self, inputs: Sequence[Input], facts: Sequence[Fact], work: Work, spills: bool, looks: int) -> None:
        self.inputs = inputs
        self.facts = facts
        self.elements = Elements(inputs, Common().rerun, work, spills)
        self.elements.limit = looks
        self.ways: dict[int, tuple[Context, list[Context]]] = {}
        self.asked = 0
        self.untold = False
        """Whether the latest question had a condition that was not understood."""
        self.told = False
        """Whether one had a condition that was."""
        self.overflows: list[Region] = []
        """Where a value of the latest question wraps on the way."""

    def leaving(self, site: Site, seen: Iterable[tuple[Seen, Sequence[Bounded]]]) -> list[Case] | None:
        """The violations of an access in several runs, under conditions; None where they cannot be said."""
        cases: list[Case] = []
        self.overflows = []
        try:
            for one, conditions in seen:
                cases += self.violations(site, one, conditions)
                if len(cases) > CASES:
                    return None
        except NotAffine:
            return None
        except Exception as error:
            if not is_inconclusive(error):
                raise
            return None
        return cases

    def violations(self, site: Site, one: Seen, conditions: Sequence[Bounded] = ()) -> list[Case]:
        """The regions in which an access leaves its array while these conditions lie between their bounds."""
        found: list[Case] = []
        for k, column in enumerate(site.columns):
            if is_inside(one.facts[k], column):
                continue
            if column.also is not None or column.repeat != 1 or type(column.limit) is not int:
                raise NotAffine
            # Of conditions both sides are told: what is known of one may rest on what the other asks for.
            sides = [False, True] if self.elements.spills else open_sides(one.facts[k], column)
            for context in self.variants(one.context):
                shape = site.eqn.invars[column.operand].aval.shape
                sizes = shape if column.column is None else shape[:-1]
                self.elements.kept.append(context)
                place = [self.elements.position(("i", id(context), id(one.step), d), n) for d, n in enumerate(sizes)]
                if column.column is not None:
                    place.append(Linear(column.column))
                pieces = self.elements.ask(context, one.step.ins[k], tuple(place))
                pieces = self.elements.held(pieces, site.eqn.invars[column.operand].aval.dtype)
                spilled, paths = self.elements.spilled, self.elements.path(context)
                if context.lanes:
                    paths = self.running(context, paths, one.step.eqn, column.operand, tuple(place[: len(sizes)]))
                for condition in conditions:
                    paths = self.under(context, paths, tuple(place[: len(sizes)]), tuple(sizes), condition)
                # What wraps where the program does not run, does not wrap.
                self.overflows += [both for path in paths for r in spilled if (both := path.both(r)) is not None]
                info = dtype_info(site.eqn.invars[column.operand].aval.dtype)
                for path in paths:
                    self.elements.work.end()
                    if self.elements.work.spent:
                        raise NotAffine
                    for region, value in pieces:
                        wrapped = (info.kind == "u" or info.bits >= 32) and abs(value.const) > info.max // 2
                        both = path.both(region)
                        if both is None:
                            continue
                        for above in sides:
                            outside = both.where(value - column.limit - 1 if above else -value - 1)
                            if outside is not None:
                                promised = self.promised(context, outside, value)
                                found += [Case(region, value, column, above, wrapped=wrapped) for region in promised]
                if len(found) > CASES:
                    raise NotAffine
        return found

    def under(
        self, context: Context, paths: list[Region], place: Place, sizes: tuple[Any, ...], condition: Bounded
    ) -> list[Region]:
        """The parts of regions in which a condition, one for all index tuples or one for each, is within its bounds."""
        slot, least, most, shape = condition
        if (shape and shape != sizes) or not is_bool(context, slot):
            self.untold = True
            return paths
        try:
            pieces = self.elements.ask(context, slot, place if shape else ())
        except NotAffine:
            self.untold = True
            return paths
        kept = [inside for r, v in pieces if (inside := r.where(v - least, Linear(most) - v)) is not None]
        kept += self.elements.spilled
        if len(kept) * len(paths) > PIECES:
            return paths
        self.told = True
        return [both for path in paths for r in kept if (both := path.both(r)) is not None]

    def running(self, context: Context, paths: list[Region], eqn: Any, operand: int, place: Place) -> list[Region]:
        """The parts of regions in which the lane that an index is of still runs, in each batched while around it."""
        run: Context | None = context
        while run is not None and run.lanes:
            if run.tested is not None and run.step is not None and lanes_of(run):
                lanes = of_operand(run.step, eqn, operand)
                mine = () if lanes is None else tuple([place[d] for d in lanes if d < len(place)])
                try:
                    kept = goes_on(self.elements, run, mine) if len(mine) == lanes_of(run) else []
                except NotAffine:
                    kept = []
                if kept and len(kept) * len(paths) <= PIECES:
                    paths = [both for path in paths for r in kept if (both := path.both(r)) is not None]
            run = run.parent
        return paths

    def promised(self, context: Context, region: Region, index: Linear) -> list[Region]:
        """The parts of a region in which every assumption holds that was made about the elements it speaks of."""
        regions, run = [region], context
        while regions:
            for slot in run.program.assumed:
                shape = _shape(run, slot)
                atoms = dict.fromkeys(a for a in (*index.terms, *region.box, *region.atoms()) if a.leaf >= 0)
                places = {tuple(p.key() for p in a.place): a.place for a in atoms if len(a.place) == len(shape)}
                for place in places.values() if shape else [()]:
                    ends = [p.bounds({}) for p in place]
                    if not all(lo >= 0 and hi < n for (lo, hi), n in zip(ends, shape, strict=True)):
                        continue
                    try:
                        kept = self.elements.promise(run, slot, place)
                    except NotAffine:
                        continue
                    regions = [both for r in regions for k in kept if (both := r.both(k)) is not None]
                    if len(regions) > CASES:
                        raise NotAffine
            if run.parent is None:
                break
            run = run.parent
        return regions

    def variants(self, context: Context) -> list[Context]:
        """A run and the runs that were not made because an equal one had been, each with its own callers."""
        known = self.ways.get(id(context))
        if known is None:
            found = [context]
            if context.parent is not None:
                parents = self.variants(context.parent)
                callers = [(p, context.step) for p in parents]
                for parent, step in context.others:
                    callers += [(p, step) for p in self.variants(parent)]
                if len(callers) > WAYS:
                    raise NotAffine
                if len(callers) > 1 or callers[0][0] is not context.parent:
                    found = [_called_from(context, p, s) for p, s in callers]
            known = self.ways[id(context)] = (context, found)
        return known[1]

    def possible(self, case: Case) -> bool:
        """Whether a region can have a point; remembers one where it is found."""
        point = case.region.point()
        self.elements.work.end()
        if isinstance(point, dict):
            case.point = point
            return True
        if point is None:
            return False
        self.asked += 1
        if self.asked > ASKED or self.elements.spills:
            return True
        from redzone.prove.presburger import sample

        found = sample(case.region)
        if isinstance(found, dict):
            case.point = found
        return found is not None

    def solved(self, case: Case) -> bool:
        """Whether z3 rules out a region that isl could not."""
        spent = self.elements.work.z3 >= solver.ASKED
        return not spent and bool(solver.rules_out(self.elements, case.region, case.index))


def inputs_at(inputs: Sequence[Input], facts: Sequence[Fact], point: dict[Atom, int]) -> dict[int, Any]:
    """Arrays for the inputs that a point speaks of: its numbers at their places, the plainest elsewhere."""
    chosen: dict[int, Any] = {}
    for atom, value in point.items():
        if atom.leaf < 0:
            continue
        source, fact = inputs[atom.leaf], facts[atom.leaf]
        if any(type(n) is not int for n in source.aval.shape):
            return {}
        if atom.leaf not in chosen:
            calm = np.clip(0, fact.lo, fact.hi)
            chosen[atom.leaf] = np.array(np.broadcast_to(calm, source.aval.shape)).astype(source.aval.dtype)
        at = tuple(p.const + sum(k * point.get(a, max(a.lo, 0)) for a, k in p.terms.items()) for p in atom.place)
        # A place that hangs on atoms the point does not speak of may be none.
        if all(0 <= i < n for i, n in zip(at, source.aval.shape, strict=True)):
            chosen[atom.leaf][at] = value
    return chosen


def _called_from(context: Context, parent: Context, step: Step | None) -> Context:
    """A run as another caller would have made it, with the run of its loop's condition, under identities of its own."""
    tested = context.tested
    if tested is not None:
        tested = dataclasses.replace(tested, parent=parent, step=step, env=tested.env.copy(), others=[])
    return dataclasses.replace(context, parent=parent, step=step, env=context.env.copy(), tested=tested, others=[])


def _shape(context: Context, slot: int) -> tuple[Any, ...]:
    step = context.program.defs.get(slot)
    if step is not None:
        return tuple(step.eqn.outvars[step.outs.index(slot)].aval.shape) if slot in step.outs else ()
    place = next((p for p, s in context.program.inputs if s == slot), None)
    return tuple(context.program.jaxpr.invars[place].aval.shape) if place is not None else ()


def open_sides(fact: Fact, column: Column) -> list[bool]:
    """The sides on which an index is not known to stay inside: False below, True above."""
    lo, hi = column_of(fact, column.column)
    if type(lo) is np.ndarray:
        lo, hi = lo.min().item(), hi.max().item()
    ends = (type(lo) is int and lo >= 0, type(hi) is int and hi <= column.limit)
    return [above for above, inside in zip((False, True), ends, strict=True) if not inside]


def open_columns(site: Site, one: Seen) -> int:
    """In how many dimensions an index may leave its array, as far as its bounds say."""
    return sum(not is_inside(fact, column) for column, fact in zip(site.columns, one.facts, strict=True))


def is_inside(fact: Fact, column: Column) -> bool:
    """Whether its bounds keep an index inside."""
    return type(column.limit) is int and not open_sides(fact, column)
