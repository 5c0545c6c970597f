"""The cascade of deciders: from what the engine saw at each access to its verdict and evidence."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from redzone.access.site import Site, column_of
from redzone.domains import Fact, dtype_info, scalar, summarised
from redzone.domains.symbolic import at_most, larger, smaller
from redzone.engine import Analysis, Seen
from redzone.engine.forward import Context
from redzone.engine.program import SCAN, WHILE
from redzone.frontend.location import calls_to, locate, place_of
from redzone.frontend.trace import Traced
from redzone.prove.alone import inside_alone
from redzone.prove.blame import loss_of, lost_at
from redzone.prove.buffers import Buffers
from redzone.prove.candidates import DRAWS, at_random, at_the_ends, beside_none, in_turns
from redzone.prove.chain import chain_of
from redzone.prove.conditioned import EACH, Conditioned, together
from redzone.prove.conditions import Proposal, Told, as_conditions
from redzone.prove.declared import declared_by, is_own_word
from redzone.prove.edges import at_one_place
from redzone.prove.exact import Exact
from redzone.prove.last import UNSEEN, Shortened
from redzone.prove.lints import Lints
from redzone.prove.made_of import leaves_made_of
from redzone.prove.masks import masked_sites
from redzone.prove.pattern import pattern_of
from redzone.prove.pieces import Work
from redzone.prove.plain import has_sizes
from redzone.prove.plainer import is_plain, plainer
from redzone.prove.purse import Purse
from redzone.prove.seeking import GUESSES, HINTS, LARGE, LONGER, SEEN, SHORT, is_near, is_outside
from redzone.prove.seen import is_close
from redzone.prove.trials import in_lanes, is_met_in_lanes, stays_in_lanes
from redzone.prove.unused import UNUSED, is_plainly_used, unused
from redzone.prove.wraps import wraps_negatives
from redzone.report.codes import CODES
from redzone.report.model import Access, DimBounds, Verdict, Witness
from redzone.stages import recorded, staged

Found = TypeVar("Found")

#: Set in the environment, a stage that fails raises: for tests.
RAISES: Final = "REDZONE_RAISES"
#: How many equations may lie between the inputs and an index for its condition to be derived.
FEW: Final = 48
#: How many inputs are tried where a condition is proved.
FIRST: Final = 3
#: What is told of an access that running lanes keep inside.
IN_LANES: Final = "leaves the array only in lanes of a batched loop that are done, whose results are thrown away"


class Deciding(Conditioned):
    """The verdicts of one analysed program."""

    def __init__(self, traced: Traced, analysis: Analysis, facts: Sequence[Fact]) -> None:
        super().__init__(traced, analysis, facts)
        if analysis.broken:
            analysis.program.forget({id(eqn): eqn for eqn in analysis.broken})
        self.failures: list[str] = []
        """What is told of stages that failed."""
        self.for_z3: set[int] = set()
        """The accesses z3 might have settled, were it installed."""
        self.buffers = Buffers(traced)
        self.told: Told = {}
        self.plain: tuple[Any, ...] = ()
        """The inputs last found to be as plain as can be."""

    @recorded("decide")
    def accesses(self) -> tuple[Access, ...]:
        """One access per site, in program order."""
        self.split_lanes()
        result: dict[int, Access] = {}
        open_sites: list[tuple[Site, list[Seen]]] = []
        for key, site in self.analysis.inventory.sites.items():
            known = self.analysis.inventory.settled.get(key)
            if known is not None:
                result[key] = self.settled(site, known)
                continue
            seen = self.analysis.seen.get(key, [])
            result[key] = self.first_look(site, seen)
            if result[key].verdict is Verdict.UNKNOWN and not site.opaque:
                open_sites.append((site, seen))
        started = time.perf_counter()
        self.spared("masks", lambda: self.masked(result, open_sites), None)
        self.spared("the exact stage", lambda: self.exactly(result, open_sites), None)
        self.spared("a run", lambda: self.run_once(result, open_sites), None)
        proposals = self.spared(
            "the exact stage", lambda: self.confirmed(self.derived(result, open_sites)), dict[int, Proposal]()
        )
        open_sites[:] = [one for one in open_sites if result[id(one[0].eqn)].verdict is Verdict.UNKNOWN]
        proved = self.spared("conditions", lambda: self.proved(open_sites, proposals), set[int]())
        self.spared("what is used", lambda: self.without_use(result, open_sites, proved - self.limited), None)
        for site, _ in open_sites:
            proposals.setdefault(id(site.eqn), Proposal({}, False, None))
        self.timings["conditions"] = time.perf_counter() - started - self.timings["exact"]
        started = time.perf_counter()
        self.spared("witnesses", lambda: self.settled_by_witness(result, open_sites, proposals, proved), None)
        self.timings["witness"] = time.perf_counter() - started
        for site, _ in open_sites:
            self.left_open(result[id(site.eqn)], site)
        # The report lives on with what decided; what replayed need not, nor what the programs were made of.
        self.replays.clear()
        self.analysis.inlined.clear()
        return tuple(result.values())

    def spared(self, what: str, work: Callable[[], Found], otherwise: Found) -> Found:
        """What a stage yields; one that fails costs what it would have found, which is told, and never the report."""
        try:
            return work()
        except Exception as error:
            if os.environ.get(RAISES):
                raise
            told = f"redzone failed at {what} ({type(error).__name__}: {error}), what that would have shown is open"
            self.failures.append(told)
            return otherwise

    def left_open(self, access: Access, site: Site) -> None:
        """Say of an access which no stage came to an end with that nothing is known."""
        if access.verdict is Verdict.UNKNOWN and not access.rule:
            access.rule = "RZ103" if site.effect == "read" else "RZ203"
            access.message, access.fix = "nothing could be shown: redzone failed on the way", CODES[access.rule].fix

    @staged("witness")
    def settled_by_witness(
        self,
        result: dict[int, Access],
        open_sites: list[tuple[Site, list[Seen]]],
        proposals: dict[int, Proposal],
        proved: set[int],
    ) -> None:
        """The verdict of each open access: what inputs show where nothing is proved, else its condition."""
        of_bools = {id(site.eqn) for site, seen in open_sites if leaves_made_of(seen) and self.is_of_bools(seen)}
        self.limited |= of_bools
        still = [site for site, _ in open_sites if id(site.eqn) in of_bools or id(site.eqn) not in proved]
        self.cornered = self.at_the_corners(still) if still else {}
        if not has_sizes(self.traced.inputs):
            broken = [
                site
                for site, _ in open_sites
                if id(site.eqn) in self.limited or self.breaks_contract(proposals[id(site.eqn)])
            ]
            self.cornered |= self.at_some_sizes([*still, *(site for site in broken if id(site.eqn) in proved)])
        self.cornered |= self.steered([site for site in still if id(site.eqn) not in self.cornered])
        self.cornered |= self.drawn([site for site in still if id(site.eqn) not in self.cornered])
        asked = together([proposals[key].needs for key in proved])
        self.cornered |= self.by_chance([site for site in still if id(site.eqn) not in self.cornered], asked)
        self.cornered |= self.counted([site for site in still if id(site.eqn) not in self.cornered])
        shown = proved.difference(of_bools).union(self.cornered, self.wraps)
        self.cornered |= self.at_first([(site, seen) for site, seen in open_sites if id(site.eqn) not in shown])
        self.cornered |= self.together(open_sites)
        self.cornered |= {key: witness for key, witness in self.kept.items() if key not in self.cornered}
        for site, seen in open_sites:
            key = id(site.eqn)
            self.settle(result[key], site, seen, proposals[key], key in proved)

    @recorded("first iterations")
    def at_first(self, open_sites: list[tuple[Site, list[Seen]]]) -> dict[int, Witness]:
        """Accesses near their arrays that the first iteration of a loop takes outside, for inputs it says itself."""
        found: dict[int, Witness] = {}
        near = [(site, seen) for site, seen in open_sites if all(is_near(site, one) for one in seen)]
        if not near or self.analysis.inventory.equations > LARGE:
            return found
        exact = Exact(self.traced.inputs, self.facts, Work(4 * EACH, 2 * EACH))
        exact.elements.at_first = True
        purse = Purse(LONGER, compiles=False)
        for site, seen in near:
            outcome = exact.decide(site, [one for one in seen if _is_in_loop(one.context)])
            points = [case.point for case in outcome.cases if case.point is not None] if outcome is not None else []
            shown = self.shown([site], self.inputs_at(points[:4]), purse, self.tried)
            found |= {one: witness for one, witness in shown.items() if self.is_telling(one, witness)}
        return found

    def settled(self, site: Site, index: list[int]) -> Access:
        """An access at a literal index, inside whatever else the program does."""
        access = self.access(site, [], Verdict.SAFE, "", "literals")
        access._bounds = lambda: tuple(
            DimBounds(c.dim, n, n, 0, c.limit) for c, n in zip(site.columns, index, strict=True)
        )
        access._pattern = lambda: pattern_of(site, [([scalar(n) for n in index], None, None)])
        return access

    @recorded("unused")
    def without_use(
        self, result: dict[int, Access], open_sites: list[tuple[Site, list[Seen]]], asked: set[int]
    ) -> None:
        """Settle the accesses of which nothing is ever seen; of those that are `asked` for a condition it is told."""
        closed, inventory = self.traced.jaxpr, self.analysis.inventory
        left = [site for site, _ in open_sites if id(site.eqn) not in asked]
        may_be_unused = any(not is_plainly_used(closed, inventory, site) for site in left)
        nowhere = unused(closed) - asked if may_be_unused else set[int]()
        for site, _ in open_sites:
            if id(site.eqn) in nowhere:
                access = result[id(site.eqn)]
                access.verdict, access.decided_by, access.message = Verdict.MASKED, "unused", UNUSED
        open_sites[:] = [one for one in open_sites if id(one[0].eqn) not in nowhere]

    @recorded("masks")
    def masked(self, result: dict[int, Access], open_sites: list[tuple[Site, list[Seen]]]) -> None:
        """Settle the accesses whose results are thrown away whenever they are outside."""
        closed = self.traced.jaxpr
        sites = [site for site, _ in open_sites]
        exact = Exact(self.traced.inputs, self.facts, self.work["masks"], spills=False)
        every = {id(s.eqn): [*ways, *self.lanes.get(id(s.eqn), ())] for s, ways in open_sites}
        if self.analysis.broken:
            # What cannot hold was made of no run that there is.
            every = {}
        thrown, limited = self.thrown, self.limited
        found = masked_sites(self.analysis, closed, self.facts, sites, thrown, limited, exact, self.used, every)
        may_leave = [(site, seen) for site, seen in open_sites if id(site.eqn) in found]
        # What throws it away may also be what keeps it inside.
        self.exactly(result, may_leave)
        for site, _ in may_leave:
            access = result[id(site.eqn)]
            access.verdict, access.decided_by, access.message = Verdict.MASKED, "select", found[id(site.eqn)]
        self.points |= {key: points[:4] for key, points in exact.seen_at.items() if key not in found}
        shortened = Shortened(closed, self.facts, self.analysis.inventory)
        for site, seen in open_sites:
            # An index that goes as far as its type does so in every iteration.
            near = id(site.eqn) not in found and all(is_near(site, one) for one in seen)
            if near and self.is_inside_but_the_last(site, shortened):
                found[id(site.eqn)] = UNSEEN
                access = result[id(site.eqn)]
                access.verdict, access.decided_by, access.message = Verdict.MASKED, "last iteration", UNSEEN
        if found:
            open_sites[:] = [(site, seen) for site, seen in open_sites if id(site.eqn) not in found]

    def is_inside_but_the_last(self, site: Site, shortened: Shortened) -> bool:
        """Whether an access is inside in all iterations of its scan but the last, which nobody sees."""
        seen = shortened.seen(site)
        if seen is None or all(one.inside for one in seen):
            return seen is not None
        exact = Exact(self.traced.inputs, self.facts, self.work["prove"], spills=False)
        outcome = exact.proves(site, seen)
        return outcome is not None and not outcome.cases

    @staged("exact")
    def exactly(self, result: dict[int, Access], open_sites: list[tuple[Site, list[Seen]]]) -> None:
        """Settle what needs no condition: no input at all leads outside."""
        started = time.perf_counter()
        exact = Exact(self.traced.inputs, self.facts, self.work["prove"], spills=False)
        proved = set()
        for site, seen in open_sites:
            worth = all(is_near(site, one) or _is_promised(one.context) for one in seen)
            exact.elements.missed_z3 = False
            outcome = exact.proves(site, seen) if worth else None
            if exact.elements.missed_z3:
                self.for_z3.add(id(site.eqn))
            if outcome is not None and not outcome.cases:
                access = result[id(site.eqn)]
                access.verdict, access.decided_by = Verdict.SAFE, outcome.by
                proved.add(id(site.eqn))
                continue
            running = self.running(site, seen)
            outcome = exact.proves(site, running) if running and all(is_near(site, one) for one in running) else None
            if outcome is not None and not outcome.cases:
                access = result[id(site.eqn)]
                access.verdict, access.decided_by, access.message = Verdict.MASKED, "batched loop", IN_LANES
                proved.add(id(site.eqn))
        if proved:
            open_sites[:] = [(site, seen) for site, seen in open_sites if id(site.eqn) not in proved]
        self.timings["exact"] += time.perf_counter() - started

    @recorded("one run")
    def run_once(self, result: dict[int, Access], open_sites: list[tuple[Site, list[Seen]]]) -> None:
        """Settle what no input has a say in, and one run of the program shows inside."""
        if self.analysis.inventory.equations > LARGE or not has_sizes(self.traced.inputs):
            return
        own = [site for site, seen in open_sites if not leaves_made_of(seen)]
        for site in inside_alone(self.traced.jaxpr, own):
            access = result[id(site.eqn)]
            access.verdict, access.decided_by = Verdict.SAFE, "run"
        open_sites[:] = [one for one in open_sites if result[id(one[0].eqn)].verdict is Verdict.UNKNOWN]

    @staged("exact")
    def derived(self, result: dict[int, Access], open_sites: list[tuple[Site, list[Seen]]]) -> dict[int, Proposal]:
        """What the inputs must keep, of accesses whose regions of violation themselves say it.

        Where there are none, and nothing wraps on the way, the access is inside.
        """
        started = time.perf_counter()
        exact = Exact(self.traced.inputs, self.facts, self.work["derive"], looks=FEW)
        found: dict[int, Proposal] = {}
        for site, seen in open_sites:
            key = id(site.eqn)
            if key in self.wraps:
                continue
            # Where masks throw some of it away, what the rest takes is all that is asked.
            shown = self.where_seen(exact, site, seen)
            running = self.running(site, seen) if shown is None else []
            outcome = exact.decide(site, running) if running else shown
            if shown is None and (outcome is None or not outcome.relations):
                # Ranges are found plainer by runs under conditions.
                running, outcome = [], exact.decide(site, seen)
            if (outcome is None or outcome.needs is None) and all(_is_close(site, one) for one in seen):
                # Whatever the inputs are, the program keeps the index close to its array, if not inside.
                self.limited.add(key)
            if outcome is None or not outcome.cases:
                if outcome is not None and outcome.whole:
                    result[key].verdict, result[key].decided_by = Verdict.SAFE, "exact"
                continue
            points = [c.point for c in outcome.cases[:4] if c.point is not None]
            self.points[key] = self.points.get(key, []) + points
            made = [c for c in outcome.cases if c.made]
            if len(made) == len(outcome.cases):
                self.limited.add(key)
            elif made:
                self.partly[key] = [c.point for c in made[:4] if c.point is not None]
            if any(c.is_certain() for c in outcome.cases):
                iterations = {n for c in outcome.cases if c.point for a, n in c.point.items() if a.leaf < 0}
                self.certain[key] = tuple(sorted(iterations))[:HINTS]
            if outcome.needs is not None and (outcome.needs or outcome.relations):
                found[key] = Proposal(outcome.needs, len(made) == len(outcome.cases), None, relations=outcome.relations)
                found[key].seen = shown is not None
                if running:
                    self.in_lanes.add(key)
        open_sites[:] = [one for one in open_sites if result[id(one[0].eqn)].verdict is Verdict.UNKNOWN]
        self.timings["exact"] += time.perf_counter() - started
        return found

    def running(self, site: Site, seen: Sequence[Seen]) -> list[Seen]:
        """What an access is in the running lanes of batched loops, where it is met nowhere else."""
        running = self.lanes.get(id(site.eqn), [])
        return running if running and is_met_in_lanes(seen, running) else []

    def split_lanes(self) -> None:
        """Set aside what holds only for the running lanes of batched loops."""
        for key, seen in self.analysis.seen.items():
            if any(one.context.lanes for one in seen):
                self.lanes[key] = in_lanes(seen)
                self.analysis.seen[key] = [one for one in seen if not one.context.lanes]

    def first_look(self, site: Site, seen: list[Seen]) -> Access:
        """Safe, declared or opaque; anything else is still unknown."""
        if site.opaque:
            kernel = "Pallas" in site.opaque
            access = self.access(site, seen, Verdict.UNKNOWN, "RZ401" if kernel else "RZ501", "opaque")
            access.message = f"{site.opaque}: the memory it touches cannot be seen here"
            return access
        if site.padding:
            return self.declared(site, seen, site.padding)
        if not seen:
            return self.access(site, seen, Verdict.SAFE, "", "unreachable")
        if _is_empty(site) or all(one.inside for one in seen):
            return self.access(site, seen, Verdict.SAFE, "", "empty" if _is_empty(site) else "bounds")
        if stays_in_lanes(seen, self.lanes.get(id(site.eqn), ())):
            access = self.access(site, seen, Verdict.MASKED, "", "batched loop")
            access.message = IN_LANES
            return access
        why = declared_by(site)
        if why and not (site.effect == "write" and site.mode == "drop" and _may_wrap(seen) and is_own_word(why)):
            return self.declared(site, seen, why)
        if why:
            self.wraps.add(id(site.eqn))
        return self.access(site, seen, Verdict.UNKNOWN, "", "")

    def declared(self, site: Site, seen: list[Seen], why: str) -> Access:
        access = self.access(site, seen, Verdict.DECLARED, "", why)
        access.message = f"may leave the array, and the program says what happens then: {why}"
        return access

    def access(self, site: Site, seen: list[Seen], verdict: Verdict, rule: str, decided_by: str) -> Access:
        access = Access(
            eqn=site.eqn,
            primitive=site.primitive,
            effect=site.effect,
            mode=site.mode,
            shape=tuple(getattr(site.buffer, "shape", ())),
            dtype=getattr(site.buffer, "dtype", None),
            verdict=verdict,
            rule=rule,
            message="",
            decided_by=decided_by,
            _bounds=lambda: _bounds(site, seen),
            _location=lambda: locate((site.eqn, *site.chain)),
            _place=lambda: place_of((site.eqn, *site.chain)),
            _pattern=lambda: pattern_of(site, [(one.facts, one.step, one.context) for one in seen]),
            _chain=lambda: chain_of(seen, self.traced.inputs),
            _buffer=lambda: self.buffers.of(site),
            _calls=lambda: calls_to((site.eqn, *site.chain)),
        )
        access._lints = lambda: Lints(self.traced.inputs, site, access).over(seen)
        return access

    def leaves_one_number(self, site: Site, seen: list[Seen], proposal: Proposal) -> bool:
        """Whether a condition lets one number through where the program itself ends the index.

        Nobody calls a program with nothing but that: 0 is inside of a table of hashes, but so are most numbers.
        """
        for leaf, need in proposal.needs.items():
            whole = summarised(self.facts[leaf])
            numbers = (need.lo, need.hi, whole.lo, whole.hi)
            if all(type(x) is int for x in numbers) and max(need.lo, whole.lo) == min(need.hi, whole.hi) < whole.hi:
                return all(is_near(site, one) for one in seen)
        return False

    @recorded("settle")
    def settle(self, access: Access, site: Site, seen: list[Seen], proposal: Proposal, proved: bool) -> None:
        """unsafe if an input the contract allows really leaves the array, requires if a condition was proved."""
        family = "1" if site.effect == "read" else "2"
        wraps = id(site.eqn) in self.wraps
        outside = any(is_outside(site, one.facts) for one in seen)
        # Where a condition is proved, on inputs that only decide which way the program goes, that is the verdict:
        # unless it was a guess, of which nobody knows that the program is written for it. So it is where nothing but
        # the narrow type of an input ends the index.
        derived = proved and not proposal.guessed and not proposal.relations
        steers = derived and leaves_made_of(seen).isdisjoint(proposal.needs)
        limited = id(site.eqn) in self.limited and not (steers or (proved and self.is_of_a_narrow_type(site, seen)))
        blamed = proposal.made or self.breaks_contract(proposal)
        if id(site.eqn) in self.certain and not wraps and id(site.eqn) not in self.cornered:
            witness = self.late(site)
            if witness is not None:
                self.unsafe(access, site, witness)
                return
        if (outside or blamed or limited) and not wraps and id(site.eqn) not in self.cornered:
            # Where a condition is proved, what lies just outside it is all that is tried.
            tries = FIRST if limited and proved else None
            witness = self.searched(site, proposal, blamed or not outside, self.guesses if limited else None, tries)
            if witness is None and blamed and self.analysis.inventory.equations <= SHORT:
                tried = at_random(self.traced.inputs, self.facts)
                witness = self.shown([site], tried, self.guesses, tries=DRAWS).get(id(site.eqn))
                if witness is None:
                    tried = beside_none(self.traced.inputs, self.facts, proposal.needs)
                    witness = self.shown([site], tried, Purse(GUESSES, compiles=False)).get(id(site.eqn))
            short = self.analysis.inventory.equations <= SHORT and has_sizes(self.traced.inputs)
            if witness is None and short and (blamed or limited):
                witness = self.breaking_where_it_is_seen(site, proposal, [Purse(GUESSES, compiles=False)])
            if witness is None and limited and proposal.guessed:
                # Nobody knows that the program is written for what was guessed.
                witness = self.beside_a_guess(site)
                witness = witness or self.counted([site]).get(id(site.eqn))
            if witness is not None:
                self.unsafe(access, site, witness)
                return
        if id(site.eqn) in self.cornered and not wraps:
            self.unsafe(access, site, self.cornered[id(site.eqn)])
            return
        points = self.partly.get(id(site.eqn))
        if points and not wraps and self.analysis.inventory.equations <= LARGE:
            # Masks may throw away what is there, where other inputs say so.
            given, masked = self.inputs_at(points), id(site.eqn) in self.thrown or id(site.eqn) in self.used
            found = self.shown([site], self.among_others(given) if masked else given, self.guesses, tries=SEEN)
            if found:
                self.unsafe(access, site, found[id(site.eqn)])
                return
        kept = proved and not self.leaves_one_number(site, seen, proposal)
        conditions = as_conditions(proposal.needs, self.traced.inputs, self.told) + proposal.relations if kept else ()
        if conditions:
            access.verdict, access.rule, access.decided_by = Verdict.REQUIRES, f"RZ{family}02", "condition"
            access.requires = conditions
            access._witness = lambda: self.breaking(site, proposal)
            access.message = "stays inside when " + " and ".join(str(c) for c in conditions)
            if id(site.eqn) in self.in_lanes:
                access.decided_by = "condition in running lanes"
                access.message += "; lanes of a batched loop that are done may leave, their results are thrown away"
            if proposal.seen:
                access.decided_by = "condition where it is used"
                what = "read" if site.effect == "read" else "written"
                access.message += f"; what is {what} outside then is thrown away"
            if wraps:
                access.rule = "RZ204"
                access.message += "; mode='drop' does not drop a negative index, it wraps"
            access.fix = CODES[access.rule].fix
            return
        if wraps:
            access.verdict, access.decided_by = Verdict.DECLARED, "mode='drop'"
            access.message = "may leave the array, and the program says what happens then: mode='drop'"
            return
        access.rule = f"RZ{family}03"
        access.message, overflow = lost_at(access, seen, proposal.lost)
        if id(site.eqn) in self.for_z3:
            access.message += "; z3 may settle it: pip install 'redzone[z3]'"
        if overflow:
            access.rule = "RZ301"
        access.fix = CODES[access.rule].fix
        access._loss = lambda: loss_of(access, seen, proposal.lost, self.traced.inputs)

    def beside_a_guess(self, site: Site) -> Witness | None:
        """An input at the ends of its type, or at what the program compares it with, that takes an access outside."""
        inputs, facts = self.traced.inputs, self.facts
        found = at_one_place(self.analysis.inventory.keep, inputs, facts)
        tried = in_turns(at_the_ends(inputs, facts), found)
        return self.shown([site], tried, Purse(GUESSES, compiles=False)).get(id(site.eqn))

    def is_of_a_narrow_type(self, site: Site, seen: list[Seen]) -> bool:
        """Whether an index goes as far as a narrow integer type of which an input without a promise is."""
        narrow = self.narrowest(seen)
        near = all(is_near(site, one) for one in seen) and not any(_is_promised(one.context) for one in seen)
        return near and not all(is_near(site, one, narrow) for one in seen)

    def plainest(self, site: Site, witness: Witness) -> Witness:
        """The same input, or a plainer one that takes the access outside as well and tells as much."""
        key, inputs = id(site.eqn), self.traced.inputs
        if len(witness.arguments) != len(inputs) or not has_sizes(inputs) or self.is_plain(witness.arguments):
            return witness
        tried = plainer(inputs, self.facts, witness.arguments)
        found = self.shown([site], tried, Purse(LONGER, compiles=False)).get(key)
        if found is None or (self.is_telling(key, witness) and not self.is_telling(key, found)):
            return witness
        return found

    def is_plain(self, arguments: tuple[Any, ...]) -> bool:
        """Whether inputs are as plain as can be; those of one access are often the next one's too."""
        known = self.plain
        if len(known) == len(arguments) and all(a is b for a, b in zip(known, arguments, strict=True)):
            return True
        if not is_plain(self.traced.inputs, arguments):
            return False
        self.plain = arguments
        return True

    def unsafe(self, access: Access, site: Site, witness: Witness) -> None:
        witness = self.plainest(site, witness)
        access.verdict, access.decided_by, access._witness = Verdict.UNSAFE, "replay", self.called(witness)
        access.rule = "RZ101" if site.effect == "read" else "RZ201"
        access.message = _leaves(access, site, witness.index)
        access.fix = CODES[access.rule].fix


def _may_wrap(seen: list[Seen]) -> bool:
    return any(wraps_negatives(one.context, slot) for one in seen for slot in one.step.ins)


def _is_close(site: Site, one: Seen) -> bool:
    """Whether an index of a wide integer type stays within a few times the size of what it indexes."""
    for column, fact in zip(site.columns, one.facts, strict=True):
        lo, hi = column_of(fact, column.column)
        if type(lo) is np.ndarray:
            lo, hi = lo.min().item(), hi.max().item()
        wide = dtype_info(site.eqn.invars[column.operand].aval.dtype).bits >= 32
        if not wide or not is_close(site, column, lo, hi):
            return False
    return True


def _is_in_loop(context: Context | None) -> bool:
    while context is not None:
        if context.step is not None and context.step.kind in (SCAN, WHILE):
            return True
        context = context.parent
    return False


def _is_promised(context: Context | None) -> bool:
    """Whether conditions were assumed around an access."""
    while context is not None:
        if context.program.assumed:
            return True
        context = context.parent
    return False


def _is_empty(site: Site) -> bool:
    """No index tuple, or windows of no elements: nothing is touched."""
    return any(type(n) is int and n == 0 for n in (site.count, *site.window))


def _bounds(site: Site, seen: list[Seen]) -> tuple[DimBounds, ...]:
    """Per dimension the hull of what the index can be, over every way the access is reached."""
    result = []
    for k, column in enumerate(site.columns):
        lo: Any = None
        hi: Any = None
        for one in seen:
            low, high = column_of(one.facts[k], column.column)
            if type(low) is np.ndarray:
                low, high = int(low.min()), int(high.max())
            lo = low if lo is None else smaller(low, lo)
            hi = high if hi is None else larger(high, hi)
        if lo is not None:
            result.append(DimBounds(column.dim, lo, hi, 0, column.limit))
    return tuple(result)


def _leaves(access: Access, site: Site, index: tuple[Any, ...]) -> str:
    for column, value in zip(site.columns, index, strict=True):
        # A witness has numbers for sizes: of those that may be larger, it is the one that is outside.
        if at_most(0, value) is False or at_most(value, column.limit) is not True:
            size = access.shape[column.dim]
            window = site.window[column.dim] if site.window else 1
            span = f"index {value}" if window == 1 else f"window [{value}, {value + window})"
            return f"{access.effect}s {span} of dimension {column.dim}, which has {size} elements"
    return f"{access.effect}s outside the array at {index}"
