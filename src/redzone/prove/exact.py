"""The exact stage: an access's violations as regions of inputs, loop iterations and positions.

Where no region is left, the access is safe. Else the regions are what the inputs must stay out of: a range of one
input where that is enough, a relation between several where it is not. What bounds on the atoms cannot decide,
isl does.
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
from redzone.engine.program import Step
from redzone.frontend.trace import Input
from redzone.prove import solver
from redzone.prove.conditions import Common
from redzone.prove.elements import LOOKS, Elements, is_bool
from redzone.prove.need import APART, FAR, Need
from redzone.prove.pieces import PIECES, NotAffine, Place, Work
from redzone.prove.reach import NARROW, NEAR, ByType, by_inputs, in_inputs, is_limited, span_of
from redzone.report.model import Condition
from redzone.stages import recorded

#: How many regions of one access are looked at, and how many ways it may be reached.
CASES: Final = 64
WAYS: Final = 8
#: How many equations deep the first look goes.
SHALLOW: Final = 10
#: How many questions of one check may go to isl.
ASKED: Final = 24


#: A condition: its slot, the least and the most it is, and its shape.
Bounded = tuple[int, int, int, tuple[Any, ...]]
#: A use of what an access reads or writes: the access in one run, and the conditions under which somebody sees it.
Use = tuple[Step, Context, Sequence[Bounded]]


@dataclasses.dataclass(slots=True)
class Case:
    """A region in which an index leaves its array, and a point of it if one is known."""

    region: Region
    index: Linear
    column: Column | None
    """None where it is not the index that leaves, but a value on the way to it wraps."""
    above: bool
    point: dict[Atom, int] | None = None
    made: bool = False
    """Whether the program's own limits end the index out there, not those of an input."""
    wrapped: bool = False
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


@dataclasses.dataclass(slots=True)
class Outcome:
    """What the exact stage found out about an access."""

    # Some regions in which it leaves its array; none where it never does.

    cases: list[Case]
    needs: dict[int, Need] | None = None
    relations: tuple[Condition, ...] = ()
    by: str = "exact"
    """What decided it."""
    whole: bool = True
    """Whether nothing was left out: no value wraps on the way."""


class Exact:
    """The exact stage over one program."""

    def __init__(
        self, inputs: Sequence[Input], facts: Sequence[Fact], work: Work, spills: bool = True, looks: int = LOOKS
    ) -> None:
        self.inputs = inputs
        self.facts = facts
        self.elements = Elements(inputs, Common().rerun, work, spills)
        self.elements.limit = looks
        self.shallow = Elements(inputs, self.elements.rerun, work, spills)
        self.shallow.deepest = SHALLOW
        self.ways: dict[int, tuple[Context, list[Context]]] = {}
        self.asked = 0
        self.seen_at: dict[int, list[dict[Atom, int]]] = {}
        """By access: points at which it leaves its array although no mask hides that."""
        self.left: dict[int, list[Use | None]] = {}
        """By access: uses in which it may be seen outside; None for one without conditions that can be asked about."""
        self.untold = False
        """Whether the latest question had a condition that was not understood."""
        self.told = False
        """Whether one had a condition that was."""
        self.overflows: list[Region] = []
        """Where a value of the latest question wraps on the way."""
        self.known: dict[Any, tuple[Outcome | None, bool, Sequence[Seen]]] = {}
        """By question: its outcome, whether z3 was missed, and what it was about, which keeps its identity that way."""

    def proves(self, site: Site, seen: Sequence[Seen]) -> Outcome | None:
        """An outcome without violations where there are none; only asked for a proof.

        A look at the few equations nearest to the index comes first: what lies behind them is often settled by its
        bounds, and following it would use up what the question may cost. Where that look has cost all of it, a look
        at more equations would too.
        """
        deep = self.elements
        self.elements = self.shallow
        try:
            outcome = self.decide(site, seen)
        finally:
            self.elements = deep
        return outcome if outcome is not None or deep.work.done else self.decide(site, seen)

    @recorded("exactly")
    def keeps_inside(self, step: Step, context: Context, conditions: Sequence[Bounded]) -> bool:
        """Whether an access never leaves its array where all of these conditions lie between their bounds.

        Further than the few equations nearest to the index is only looked where relations are promised.
        """
        one = Seen([context.env[slot] for slot in step.ins], step, context, inside=False)
        if step.site is None or step.extra is not None or None in one.facts:
            return False
        deep = self.elements
        for elements in (self.shallow, deep) if context.program.assumed else (self.shallow,):
            self.elements = elements
            elements.work.begin()
            cases: list[Case] | None = None
            self.untold = False
            try:
                cases = self.violations(step.site, one, conditions)
            except NotAffine:
                pass
            except Exception as error:
                if not is_inconclusive(error):
                    raise
            finally:
                self.elements = deep
            left = None if cases is None else next((case for case in cases if self.possible(case)), None)
            found = cases is not None and left is None
            if left is not None and left.point is not None and elements is deep and not self.untold:
                self.seen_at.setdefault(id(step.eqn), []).append(left.point)
            elements.work.answered(found)
            if found or elements.work.done:
                return found
        return False

    @recorded("exactly")
    def decide(self, site: Site, seen: Sequence[Seen]) -> Outcome | None:
        """The violations of an access; None where it cannot be said."""
        question = (self.elements is self.shallow, _question(site, seen))
        known = self.known.get(question)
        if known is not None:
            self.elements.missed_z3 = self.elements.missed_z3 or known[1]
            return known[0]
        work = self.elements.work
        work.begin(max((_open_columns(site, one) for one in seen if not one.inside), default=1))
        before, self.elements.missed_z3 = self.elements.missed_z3, False
        outcome = self.decided(site, seen)
        self.known[question] = (outcome, self.elements.missed_z3, seen)
        self.elements.missed_z3 = self.elements.missed_z3 or before
        work.answered(outcome is not None and (not outcome.cases or outcome.needs is not None))
        return outcome

    @recorded("exactly")
    def decide_seen(self, site: Site, uses: Sequence[Use]) -> Outcome | None:
        """The same of the violations that somebody sees, in any of these uses; None also where it says too little."""
        work = self.elements.work
        work.begin()
        seen = [(Seen([c.env[slot] for slot in step.ins], step, c, inside=False), how) for step, c, how in uses]
        self.told = False
        cases = None if any(None in one.facts for one, _ in seen) else self.leaving(site, seen)
        outcome = self.condition(cases, seen=True) if cases is not None and self.told else None
        work.answered(outcome is not None and outcome.needs is not None)
        return outcome

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

    def decided(self, site: Site, seen: Sequence[Seen]) -> Outcome | None:
        cases = self.leaving(site, [(one, ()) for one in seen if not one.inside])
        if cases is None:
            return None
        if not self.elements.spills:
            # Only asked for a proof: the first region that cannot be ruled out ends it.
            by = "exact"
            for case in cases:
                if self.possible(case):
                    if not self.solved(case):
                        return None
                    by = "z3"
            return Outcome([], by=by)
        return self.condition(cases)

    def violations(self, site: Site, one: Seen, conditions: Sequence[Bounded] = ()) -> list[Case]:
        """The regions in which an access leaves its array while these conditions lie between their bounds."""
        found: list[Case] = []
        for k, column in enumerate(site.columns):
            if _inside(one.facts[k], column):
                continue
            if column.also is not None or column.repeat != 1 or type(column.limit) is not int:
                raise NotAffine
            # Of conditions both sides are told: what is known of one may rest on what the other asks for.
            sides = [False, True] if self.elements.spills else _open_sides(one.facts[k], column)
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

    # Conditions

    def condition(self, cases: list[Case], seen: bool = False) -> Outcome:
        """What the inputs must keep for every region to be left.

        Of what masks let through (`seen`), positions go as far as the inputs in them say.
        """
        outcome = Outcome([], whole=not self.overflows)
        limits: dict[tuple[int, str], tuple[int, int]] = {}
        relations: list[Linear] = []
        chosen: list[Linear] = []
        lost = False
        atoms = list(dict.fromkeys(a for c in cases for a in (*c.region.box, *c.index.terms) if a.leaf >= 0))
        reaches = [(by_inputs(case.excess(), case.region) if seen else None, case) for case in cases]
        if seen:
            # What must be asked anyway may be enough.
            reaches.sort(key=lambda one: one[0] is not None)
        for reach, case in reaches:
            if case.region.where(*chosen) is None or not self.possible(case):
                continue
            if self.elements.work.spent:
                # What is not gone through to its end is no condition.
                lost = True
            outcome.cases.append(case)
            case.made = self.is_made(case, cases)
            relation = self.related(case, reach)
            kept = self.kept_out(case, reach) if relation is None else None
            if kept is not None:
                chosen += self.limit(limits, kept, atoms)
            elif relation is not None:
                relations.append(relation)
                chosen.append(relation)
            else:
                lost = True
        # Where a value wraps on the way, the regions say nothing: the condition must exclude that too.
        for region in self.overflows if not lost else ():
            left = region.where(*chosen)
            if left is None:
                continue
            kept_in = _not_wrapping(left)
            kept = _short_of(left, NEAR >> 8 if seen else NEAR) if kept_in is None else None
            case = Case(left, Linear(0), None, True, wrapped=True)
            if (kept_in is None and kept is None) or not self.possible(case):
                continue
            outcome.cases.append(case)
            if kept is not None:
                kept = _as_others(kept, limits) if seen else kept
                chosen += self.limit(limits, kept, [*atoms, kept[0]])
            elif kept_in is not None:
                relations.append(kept_in)
                chosen.append(kept_in)
        if outcome.cases and not lost and all(region.where(*chosen) is None for region in self.overflows):
            outcome.relations = self.shown(relations)
            # Of two bounds on one sum that exclude each other, none is a condition.
            can_hold = all(one.min is None or one.max is None or one.min <= one.max for one in outcome.relations)
            outcome.needs = self.needs(limits) if can_hold else None
        return outcome

    def limit(
        self, limits: dict[tuple[int, str], tuple[int, int]], kept: tuple[Atom, int, int], atoms: Sequence[Atom]
    ) -> list[Linear]:
        """Ask a range of an input, and say it of all the atoms that stand for the same elements of it."""
        atom, lo, hi = kept
        group = (atom.leaf, self.where(atom))
        old = limits.get(group, (-FAR, FAR))
        limits[group] = (max(old[0], lo), min(old[1], hi))
        chosen = []
        for same in atoms:
            if (same.leaf, self.where(same)) == group:
                chosen += [Linear(-lo, {same: 1})] if lo > -FAR else []
                chosen += [Linear(hi, {same: -1})] if hi < FAR else []
        return chosen

    def is_made(self, case: Case, cases: list[Case]) -> bool:
        """Whether the program's own limits end an index in a region, and not just what is known of it."""
        waiting, seen = [case], {id(case)}
        while waiting:
            at = waiting.pop()
            if not _is_made(at, self.ends_by_type) or any(self.goes_on(at, other) for other in cases):
                return False
            # Beyond the last place of a table that is read by the index too, another region begins with the same index.
            # Of a sum, each of two regions may begin where the other ends.
            beyond = [o for o in cases if id(o) not in seen and _begins_where_it_ends(at, o) and self.possible(o)]
            waiting += beyond
            seen.update(map(id, beyond))
        return True

    def goes_on(self, case: Case, other: Case) -> bool:
        """Whether the same index goes further than in this region, where inputs are compared with each other in both.

        Then its end there limits nothing: it is where one of those is read at another place, counted from the end or
        held inside its array.
        """
        if other is case or other.above != case.above or other.index.key() != case.index.key():
            return False
        if not case.region.guards or not other.region.guards:
            return False
        return not _is_made(other, self.ends_by_type) and self.possible(other)

    def ends_by_type(self, atom: Atom, up: bool) -> bool:
        """Whether nothing but its integer type ends the value that an atom stands for."""
        origin = self.elements.origins.get(atom)
        step = origin[0].program.defs.get(origin[1]) if origin is not None else None
        if origin is None or step is None or origin[1] not in step.outs:
            return False
        info = dtype_info(step.eqn.outvars[step.outs.index(origin[1])].aval.dtype)
        return bool(info.kind in "iu" and (atom.hi >= info.max if up else atom.lo <= info.min))

    def kept_out(self, case: Case, reach: Linear | None = None) -> tuple[Atom, int, int] | None:
        """A range of one input that keeps out of a region: the input, its least and its greatest value.

        What is at least 0 there may be said in terms of inputs (`reach`).
        """
        # A region that hangs on a value nobody can look into is not the fault of the inputs that lead there.
        seen_through = not any(a.leaf < 0 and a.name.startswith("v") for a in case.index.terms)
        excess = reach or (in_inputs(case.excess(), case.region) if seen_through else None)
        one = excess is not None and len(excess.terms) == 1
        if excess is not None and one and (reach is not None or next(iter(excess.terms)) not in case.index.terms):
            ((atom, k),) = excess.terms.items()
            # What the index goes as far as: at least 0 out there, so kept below that.
            bound = (-excess.const - 1) // k if k > 0 else -((excess.const + 1) // k)
            lo, hi = (-FAR, bound) if k > 0 else (bound, FAR)
            if abs(bound) < FAR and _is_plain(atom, lo, hi):
                return atom, lo, hi
        near, nearest = _behind(case), set(case.index.terms)
        for group in (nearest, near - nearest, set(case.region.box) - near) if seen_through else (nearest,):
            for atom, (lo, hi) in case.region.box.items():
                if atom.leaf < 0 or atom not in group:
                    continue
                if _is_wrapped_back(case, atom, lo, hi) and _is_plain(atom, hi + 1, FAR):
                    return atom, hi + 1, FAR
                # A bound as far as the number that stands for none would be no bound.
                if lo > atom.lo and (hi >= atom.hi or lo > 0) and abs(lo - 1) < FAR and _is_plain(atom, -FAR, lo - 1):
                    return atom, -FAR, lo - 1
                if hi < atom.hi and abs(hi + 1) < FAR and _is_plain(atom, hi + 1, FAR):
                    return atom, hi + 1, FAR
        return None

    def related(self, case: Case, reach: Linear | None = None) -> Linear | None:
        """At least 0 when several inputs are so related that an index stays inside, the rest at its worst."""
        excess = reach or in_inputs(case.excess(), case.region)
        terms = excess.terms if excess is not None else {}
        if excess is None or len(terms) < 2:
            return None
        # The sum of the terms is at least this out there; how far up does the region go?
        least, most = -excess.const, None
        above, below = Linear(0, terms).direction(), Linear(0, {a: -k for a, k in terms.items()}).direction()
        for guard in case.region.guards:
            direction = guard.direction()
            if direction == below:
                most = guard.const if most is None else min(most, guard.const)
            elif direction == above:
                least = max(least, -guard.const)
        if most is None or most > NEAR:
            return Linear(least - 1, {a: -k for a, k in terms.items()})
        # A gap in the middle: stay on the side of the plainer numbers.
        down = least > 0 if case.above else most >= 0
        return Linear(least - 1, {a: -k for a, k in terms.items()}) if down else Linear(-most - 1, terms)

    def shown(self, relations: list[Linear]) -> tuple[Condition, ...]:
        """Relations as conditions: bounds on sums of inputs, both sides of one sum together."""
        sums: dict[Any, tuple[dict[Atom, int], int | None, int | None]] = {}
        for linear in relations:
            # linear ≥ 0: the sum of the terms is at least -const; turned round, the negated sum at most const.
            up = next(iter(linear.terms.values())) > 0
            terms = linear.terms if up else {a: -k for a, k in linear.terms.items()}
            key = frozenset((a.number, k) for a, k in terms.items())
            _, low, high = sums.get(key, (terms, None, None))
            if up:
                low = -linear.const if low is None else max(low, -linear.const)
            else:
                high = linear.const if high is None else min(high, linear.const)
            sums[key] = (terms, low, high)
        found = []
        for terms, low, high in sums.values():
            letters: dict[Atom, str] = {}
            names, first = {self.inputs[a.leaf].name for a in terms}, _first_positions(terms)
            named = tuple(
                (k, self.inputs[a.leaf].name + _element(a, letters, names, first), a.leaf) for a, k in terms.items()
            )
            one = Condition(_sum_text(named), named[0][2], low, high, "", named, tuple(letters.values()))
            if one not in found:
                found.append(one)
        return tuple(found)

    def where(self, atom: Atom) -> str:
        """Which elements of its input an atom stands for."""
        shape = self.inputs[atom.leaf].aval.shape
        parts = []
        for n, p in zip(shape, atom.place, strict=True):
            lo, hi = p.bounds({})
            # A position can be written as one outside the array, for elements that are only read where it is not.
            whole = type(n) is not int or (lo <= 0 and hi >= n - 1) or len(p.terms) > 1 or lo < 0
            parts.append(":" if whole else _span(p, lo, hi))
        return f"[{', '.join(parts)}]" if any(p != ":" for p in parts) else ""

    def needs(self, limits: dict[tuple[int, str], tuple[int, int]]) -> dict[int, Need] | None:
        """The ranges as needs of whole inputs; None where no value satisfies them."""
        found: dict[int, Need] = {}
        for (leaf, where), (lo, hi) in limits.items():
            if lo > hi:
                return None
            need = Need(lo, hi) if not where else self.part(leaf, where, lo, hi)
            found[leaf] = found[leaf].both(need) if leaf in found else need
        return None if any(n.empty() for n in found.values()) else found

    def part(self, leaf: int, where: str, lo: int, hi: int) -> Need:
        shape = self.inputs[leaf].aval.shape
        if any(type(n) is not int for n in shape) or int(np.prod(shape)) > APART:
            return Need(lo, hi)
        low, high = np.full(shape, -FAR), np.full(shape, FAR)
        at = tuple(_as_slice(part.strip()) for part in where[1:-1].split(","))
        low[at], high[at] = lo, hi
        return Need(low, high)


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


def _is_letter(p: Linear) -> bool:
    """Whether a position is an atom and so much more or less: a letter says which, where others are any."""
    return len(p.terms) == 1 and next(iter(p.terms.values())) == 1


def _first_positions(terms: Iterable[Atom]) -> dict[Atom, int]:
    """The least that each atom is which the positions of these elements are told by, with all of them in their arrays.

    A letter counts from 0, as a reader takes it to, and what it stands for may begin below that or far above.
    """
    nearest: dict[Atom, int] = {}
    for p in [p for atom in terms for p in atom.place if _is_letter(p)]:
        atom = next(iter(p.terms))
        nearest[atom] = min(nearest.get(atom, p.const), p.const)
    return {atom: max(atom.lo, -least) for atom, least in nearest.items() if atom.lo < 0 or least < 0}


def _element(atom: Atom, letters: dict[Atom, str], names: set[str], first: dict[Atom, int]) -> str:
    """Which element of its input an atom is, with a letter for each position that varies, and is no input's name."""
    parts, free = [], [letter for letter in "ijklmnpqrst" if letter not in names] or ["i"]
    for p in atom.place:
        if not p.terms:
            parts.append(str(p.const))
        elif _is_letter(p):
            letter = letters.setdefault(next(iter(p.terms)), free[len(letters) % len(free)])
            beyond = p.const + first.get(next(iter(p.terms)), 0)
            parts.append(letter if not beyond else f"{letter}{beyond:+d}")
        else:
            parts.append(":")
    return f"[{', '.join(parts)}]" if parts else ""


def _span(p: Linear, lo: int, hi: int) -> str:
    if lo == hi:
        return str(lo)
    stride = abs(next(iter(p.terms.values())))
    return f"{lo}:{hi + 1}" + (f":{stride}" if stride > 1 else "")


def _as_slice(part: str) -> Any:
    if ":" not in part:
        return int(part)
    return slice(*[int(x) if x else None for x in part.split(":")])


def _sum_text(terms: tuple[tuple[int, str, int], ...]) -> str:
    text = ""
    for k, name, _ in sorted(terms, key=lambda t: t[0] < 0):
        size = name if abs(k) == 1 else f"{abs(k)}·{name}"
        text = (f"-{size}" if k < 0 else size) if not text else f"{text} {'-' if k < 0 else '+'} {size}"
    return text


def _begins_where_it_ends(case: Case, other: Case) -> bool:
    """Whether the same index goes on from one region to the next, further out, in some of what it is made of."""
    if other.above != case.above or other.index.key() != case.index.key():
        return False
    for atom, k in case.index.terms.items():
        mine, theirs = span_of(case.region, atom), span_of(other.region, atom)
        if theirs[0] == mine[1] + 1 if (k > 0) == case.above else theirs[1] == mine[0] - 1:
            return True
    return False


def _behind(case: Case) -> set[Atom]:
    """The atoms of an index, and those that constraints tie them to: of a quotient, what is divided.

    A range of one of these says where the index is; one of another input only keeps the program from getting there.
    """
    found, before = set(case.index.terms), 0
    while before < len(found):
        before = len(found)
        for guard in case.region.guards:
            if not found.isdisjoint(guard.terms):
                found.update(guard.terms)
    return found


def _not_wrapping(region: Region) -> Linear | None:
    """At least 0 when a sum of inputs is too small to wrap in a region where it does; None where there is none."""
    for guard in region.guards:
        excess = in_inputs(guard, region)
        if excess is not None and len(excess.terms) > 1 and abs(excess.const) > NEAR:
            return -excess - 1
    return None


def _short_of(region: Region, far: int) -> tuple[Atom, int, int] | None:
    """A range of one input that ends before a region where a value wraps: it begins `far` from the plainer numbers."""
    for atom, (lo, hi) in region.box.items():
        if atom.leaf >= 0 and lo > far and _is_plain(atom, -FAR, lo - 1):
            return atom, -FAR, lo - 1
        if atom.leaf >= 0 and hi < -far and _is_plain(atom, hi + 1, FAR):
            return atom, hi + 1, FAR
    return None


def _as_others(kept: tuple[Atom, int, int], limits: dict[tuple[int, str], tuple[int, int]]) -> tuple[Atom, int, int]:
    """A range that only keeps elements of an input from wrapping, less what other elements of it must leave out."""
    atom, lo, hi = kept
    others = [limit for (leaf, _), limit in limits.items() if leaf == atom.leaf]
    return atom, max([lo, *(low for low, _ in others if lo > -FAR)]), min([hi, *(up for _, up in others if hi < FAR)])


def _is_made(case: Case, by_type: ByType) -> bool:
    """Whether the program's own limits, not an input's range, end the values the index can have out there."""
    # Below zero it is jnp that limits, by counting from the end, or the type does, by wrapping.
    if case.wrapped or any(span_of(case.region, a)[1] < 0 for a in case.index.terms):
        return False
    return is_limited(case.index if case.above else -case.index, case.region, by_type)


def _is_wrapped_back(case: Case, atom: Atom, lo: int, hi: int) -> bool:
    """Whether only numbers that wrap lead to a region from below it: bytes of which a letter's number was taken.

    Those above it do not, and are what is meant, though the lowest may have wrapped so far that they are inside again.
    """
    narrow = atom.lo == 0 and (atom.lo, atom.hi) in NARROW
    return narrow and lo > 0 and hi < atom.hi and case.index.terms.get(atom) == 1 and case.index.const > atom.hi // 2


def _is_plain(atom: Atom, lo: int, hi: int) -> bool:
    """Whether a range leaves an input some of the plainer numbers it can have: a quarter of them, around zero.

    Of bytes half of them are plain: letters are.
    """
    span = atom.hi - atom.lo
    near = max(span // (2 if span < 256 else 4), 1)
    return lo <= max(atom.lo, near) and hi >= min(atom.hi, -near)


def _shape(context: Context, slot: int) -> tuple[Any, ...]:
    step = context.program.defs.get(slot)
    if step is not None:
        return tuple(step.eqn.outvars[step.outs.index(slot)].aval.shape) if slot in step.outs else ()
    place = next((p for p, s in context.program.inputs if s == slot), None)
    return tuple(context.program.jaxpr.invars[place].aval.shape) if place is not None else ()


def _question(site: Site, seen: Sequence[Seen]) -> Any:
    """Equal for accesses at the same indices of arrays as long as each other: a read and the write of its gradient."""
    columns = []
    for column in site.columns:
        plain = column.also is None and column.repeat == 1 and type(column.limit) is int
        index = site.eqn.invars[column.operand].aval
        columns.append((column.column, column.limit if plain else None, index.shape, index.dtype))
    return (*columns, *[(id(one.context), one.step.ins) for one in seen if not one.inside])


def _open_sides(fact: Fact, column: Column) -> list[bool]:
    """The sides on which an index is not known to stay inside: False below, True above."""
    lo, hi = column_of(fact, column.column)
    if type(lo) is np.ndarray:
        lo, hi = lo.min().item(), hi.max().item()
    ends = (type(lo) is int and lo >= 0, type(hi) is int and hi <= column.limit)
    return [above for above, inside in zip((False, True), ends, strict=True) if not inside]


def _open_columns(site: Site, one: Seen) -> int:
    """In how many dimensions an index may leave its array, as far as its bounds say."""
    return sum(not _inside(fact, column) for column, fact in zip(site.columns, one.facts, strict=True))


def _inside(fact: Fact, column: Column) -> bool:
    return type(column.limit) is int and not _open_sides(fact, column)
