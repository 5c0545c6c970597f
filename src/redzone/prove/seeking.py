"""Looking for inputs that take an access out of its array: which are worth a replay, and what that may cost."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Column, Site, column_of
from redzone.domains import Fact, dtype_info, summarised
from redzone.domains.affine import Atom
from redzone.domains.fact import least, most
from redzone.domains.symbolic import at_most
from redzone.engine import Analysis, Seen
from redzone.frontend.trace import Input, Traced
from redzone.prove.breaking import beyond_each, breaking, find_witness
from redzone.prove.candidates import (
    DRAWS,
    apart,
    at_random,
    at_the_ends,
    by_turns,
    corners,
    evenly,
    falling,
    far_away,
    in_turns,
    one_of_each,
)
from redzone.prove.chances import FEWEST, KEYS, OTHERS, by_chance, keyed_in_turn, keys_among, keys_worth_trying
from redzone.prove.concrete_nan import nothing_but_nan
from redzone.prove.conditions import Proposal
from redzone.prove.counted import COST, COUNTED, one_after_another
from redzone.prove.edges import EDGES, at_numbers, at_one_place, at_the_edges
from redzone.prove.made_of import begins_by_itself, ends_by_itself, is_bool, leaves_made_of
from redzone.prove.masks import Thrown
from redzone.prove.need import Need
from redzone.prove.plain import has_sizes, is_free, keeps, plain_value
from redzone.prove.purse import Purse
from redzone.prove.reach import NEAR
from redzone.prove.replay import Replay
from redzone.prove.sized import at_sizes, number
from redzone.prove.states import STATES, states
from redzone.prove.violations import inputs_at
from redzone.prove.witness import TRIES, Replays, witnesses
from redzone.report.model import Witness
from redzone.stages import recorded, staged

#: What replaying an access may cost that leaves its array for certain, if perhaps in a late iteration.
LATE: Final = 8_000
#: What looking for witnesses of one access after the other may cost in all, where numpy does.
ALONE: Final = 100_000
#: What a replay may cost that runs a program's loops a little longer than an array is, beside six times its equations.
LONGER: Final = 2_000
#: What trying inputs may cost in a short program that limits an index itself, too widely: mistakes are found there.
GUESSES: Final = 5_000
#: What running a program to its end may cost, on the plainest inputs, that used up what trying others may.
LONG: Final = 8_000
#: What trying random keys may cost in all, where a draw is rarely outside.
CHANCES: Final = 30_000
#: What showing by JAX may cost in all what was found roughly: it compiles each kind of equation for that.
SURE: Final = 8_000
#: How many equations make a program a short one.
SHORT: Final = 200
#: How many iterations are looked at first.
HINTS: Final = 8
#: How many equations make a program large.
LARGE: Final = 600
#: How many inputs are tried to find one on which somebody sees what breaking a condition does.
SEEN: Final = 100
#: How many points of the exact stage are tried with other inputs.
POINTS: Final = 2
#: How many more inputs are tried where arrays of integers are promised to lie between two numbers.
EVENLY: Final = 7
#: How many numbers of such a point are tried for other inputs.
OTHER: Final = 3
#: An index that goes over more than such a part of a narrow type may go as far as that does: `i * i // 2` of bytes.
PART: Final = 3
#: How many keys are tried with each state that keeps all conditions, and how often while some show more.
DRAWN: Final = 12
LOOKS: Final = 4
#: How far beyond its condition an input is tried.
FURTHER: Final = (0, 1, 8)


class Seeking:
    """What inputs show of one program's accesses."""

    def __init__(self, traced: Traced, analysis: Analysis, facts: Sequence[Fact]) -> None:
        self.traced = traced
        self.analysis = analysis
        self.facts = list(facts)
        size = analysis.inventory.equations
        self.purse = Purse(min(8000, 2000 + 2 * size))
        self.alone = Purse(ALONE, compiles=False)
        """What looking for witnesses of one access after the other may cost in all."""
        # What trying the ends of the contract may cost where nothing points to them; a large program without a
        # contract has no ends to try.
        promised = any(not (source.open_above and source.open_below) for source in traced.inputs)
        alone = 2000 if size <= SHORT else 400
        worth = min(3000, alone + size) if promised or size <= LARGE else 0
        self.corners = Purse(worth, compiles=False)
        self.guesses = Purse(GUESSES if size <= SHORT else min(1500, 800 + size // 2), compiles=False)
        """What trying other inputs may cost that need not show anything."""
        self.guesses.sure = self.corners.sure = Purse(SURE)
        self.replays: Replays = {}
        """What replayed the program so far."""
        self.tried: set[Any] = set()
        """The inputs that were tried for all open accesses."""
        self.thrown: Thrown = {}
        """When what an access reads or writes is thrown away, where that is plain to see."""
        self.wraps: set[int] = set()
        """The writes whose mode drops what lies outside, but whose negative indices wrap."""
        self.certain: dict[int, tuple[int, ...]] = {}
        """The accesses that some iteration of a loop takes outside whatever the inputs are, as far as can be seen; and
        which iterations those may be."""
        self.limited: set[int] = set()
        """The accesses whose index the program itself limits, too widely, wherever it leaves."""
        self.partly: dict[int, list[dict[Atom, int]]] = {}
        """The accesses whose index it limits so in some cases and an input in others: inputs of the former."""
        self.points: dict[int, list[dict[Atom, int]]] = {}
        """By access: inputs that should make it leave its array."""
        self.lanes: dict[int, list[Seen]] = {}
        """By access: what it is in the running lanes of batched loops."""
        self.kept: dict[int, Witness] = {}
        """By access: a state that keeps all conditions found, and on which it leaves its array."""
        self.cornered: dict[int, Witness] = {}
        """By access: an input that takes it out of its array, found before it was its turn."""

    def inputs_at(self, points: Iterable[dict[Atom, int]]) -> list[dict[int, Any]]:
        """The inputs that points of the exact stage stand for."""
        return [inputs_at(self.traced.inputs, self.facts, point) for point in points]

    def others_at(self, points: Iterable[dict[Atom, int]]) -> Iterator[dict[int, Any]]:
        """The same with other inputs at a number that something has at the point which is not followed to its inputs.

        What is left of a number by another one is often that number itself.
        """
        inputs, facts = self.traced.inputs, self.facts
        for point in points:
            chosen = inputs_at(inputs, facts, point)
            free = [i for i, s in enumerate(inputs) if i not in chosen and s.open_above and is_integer(s.aval)]
            numbers = dict.fromkeys(n for atom, n in point.items() if atom.leaf < 0 and n)
            for value in list(numbers)[:OTHER] if free else ():
                yield chosen | {i: plain_value(inputs[i], facts[i], value) for i in free}

    def shown(
        self,
        sites: list[Site],
        candidates: Iterable[dict[int, Any]],
        purse: Purse,
        tried: set[Any] | None = None,
        tries: int = TRIES,
        counts: Callable[[int, Witness], bool] | None = None,
    ) -> dict[int, Witness]:
        """What some of these inputs show of these accesses."""
        traced = self.traced
        inputs, replays, thrown = traced.inputs, self.replays, self.thrown
        return witnesses(
            traced.jaxpr, sites, inputs, self.facts, candidates, purse, tried, replays, tries, thrown, counts=counts
        )

    @recorded("corners")
    def at_the_corners(self, sites: list[Site]) -> dict[int, Witness]:
        """Accesses that leave their arrays for some of the plainest inputs the contract allows."""
        inputs = self.traced.inputs
        ends = corners(inputs, self.facts)
        found = self.shown(sites, ends, self.corners, self.tried)
        return {key: witness for key, witness in found.items() if self.is_telling(key, witness)}

    @recorded("draws")
    def drawn(self, sites: list[Site]) -> dict[int, Witness]:
        """Accesses near their arrays that an input at random, or near a number of the program, takes outside it."""
        if self.analysis.inventory.equations > LARGE:
            return {}
        near = [site for site in sites if self.is_limited_anyhow(site)]
        if not near:
            return {}
        inputs, facts = self.traced.inputs, self.facts
        jaxprs = self.analysis.inventory.keep
        edges = (at_the_edges(jaxprs, inputs, facts), at_one_place(jaxprs, inputs, facts))
        alike = (at_the_ends(inputs, facts), by_turns(inputs, facts), falling(inputs), evenly(inputs, facts))
        # A long program can be run a few times only: one of each kind first, then a second one.
        tried = in_turns(apart(inputs, facts), *edges, *alike, at_random(inputs, facts))
        found = self.shown(near, tried, self.guesses, self.tried, DRAWS + EDGES + EVENLY, self.is_telling)
        left = [site for site in near if id(site.eqn) not in found]
        if left and self.guesses.left <= 0:
            # Runs that long were cut short: the plainest inputs once more, to the end.
            ones = {i: plain_value(s, fact, 1) for i, (s, fact) in enumerate(zip(inputs, facts, strict=True))}
            found |= self.shown(left, [{}, ones], Purse(LONG, compiles=False))
        return {key: witness for key, witness in found.items() if self.is_telling(key, witness)}

    @recorded("counted")
    def counted(self, sites: list[Site]) -> dict[int, Witness]:
        """Accesses near their arrays that one of many small inputs takes outside, in a short program."""
        inputs = self.traced.inputs
        if not sites or self.analysis.inventory.equations > SHORT or not has_sizes(inputs):
            return {}
        near = [site for site in sites if self.is_ended(self.analysis.seen[id(site.eqn)], site)]
        # Wherever the others may be, the plainest inputs are run to the end for them.
        found = {} if near else self.shown(sites, [{}], Purse(LONG, compiles=False))
        steered = [site for site in sites if id(site.eqn) not in found and not self.made_of_inputs(site)]
        if steered and not near and begins_by_itself(self.analysis.program):
            found |= self.shown(steered, far_away(inputs, self.facts, steered[0]), Purse(LONG, compiles=False))
        if near:
            end = max((c.limit + 1 for site in near for c in site.columns if type(c.limit) is int), default=1)
            purse = Purse(COST, compiles=False)
            purse.sure = Purse(SURE)
            found = self.shown(near, one_after_another(inputs, self.facts, end), purse, self.tried, COUNTED)
        return {key: witness for key, witness in found.items() if self.is_telling(key, witness)}

    def is_ended(self, seen: list[Seen], site: Site) -> bool:
        """Whether an index has bounds that the program itself gives it, not a part of what a narrow type holds."""
        narrow = self.narrowest(seen)
        return all(is_near(site, one, NEAR if narrow >= NEAR else narrow // PART) for one in seen)

    def made_of_inputs(self, site: Site) -> bool:
        """Whether numbers of inputs go into the index of an access, and not only which way the program goes."""
        return bool(leaves_made_of(self.analysis.seen[id(site.eqn)]))

    def is_limited_anyhow(self, site: Site) -> bool:
        """Whether an index has bounds of its own somewhere, or is made of inputs with both ends promised alone.

        Where no input goes into it, some may decide how long the program runs: any of them then.
        """
        seen = self.analysis.seen[id(site.eqn)]
        if any(has_near_column(site, one) for one in seen):
            return True
        sources = [self.traced.inputs[leaf] for leaf in leaves_made_of(seen)] or self.traced.inputs
        ends = [one.open_above or one.open_below for one in sources if is_number(one.aval)]
        return bool(ends) and not any(ends)

    @recorded("keys")
    def by_chance(self, sites: list[Site], needs: dict[int, Need]) -> dict[int, Witness]:
        """Accesses near their arrays that a random draw takes outside once in a while; `needs` are those of others."""
        inputs, facts, seen = self.traced.inputs, self.facts, self.analysis.seen
        keys = keys_among(inputs)
        if not keys or not sites or not has_sizes(inputs):
            return {}
        if self.analysis.inventory.equations > LARGE:
            return self.drawn_on_states(sites, needs)
        found: dict[int, Witness] = {}
        purse = Purse(CHANCES, compiles=False)
        purse.sure = Purse(2 * SURE, each=2 * SURE)
        others = list(itertools.islice(at_numbers(self.analysis.inventory.keep, inputs, facts), OTHERS))
        for site in sites:
            here = seen[id(site.eqn)]
            count = keys_worth_trying(site, here) if all(is_near(site, one) for one in here) else 0
            replay = Replay(self.traced.jaxpr, [site], purse)
            if not count or keys.isdisjoint(replay.needed()):
                continue
            turns = [one for one in others if not keys.issuperset(one.keys() & replay.needed())]
            count = min(count * (1 + len(turns)), 2 * KEYS)
            tried = self.until_enough(site, by_chance(inputs, facts, turns, count), count, FEWEST * (1 + len(turns)))
            found |= self.shown([site], tried, purse, tries=count)
        return {key: witness for key, witness in found.items() if self.is_telling(key, witness)}

    def until_enough(
        self, site: Site, candidates: Iterable[dict[int, Any]], count: int, fewest: int
    ) -> Iterator[dict[int, Any]]:
        """These inputs until so many indices of an access were looked at: one key may draw many of them.

        What was tried before with keys drawn at random counts.
        """
        for one in candidates:
            replays = [replay for replay in self.replays.values() if id(site.eqn) in replay.targets]
            enough = sum(replay.judgements[id(site.eqn)] for replay in replays) >= count
            if enough and sum(replay.attempts for replay in replays) >= fewest:
                return
            yield one

    def at_some_sizes(self, sites: list[Site]) -> dict[int, Witness]:
        """Accesses of a program of any size that leave their arrays at one."""
        purse = Purse(ALONE // 4, compiles=False)

        def run(closed: Any, here: list[Site], inputs: list[Input], facts: list[Fact], _: Any) -> dict[int, Witness]:
            tried = itertools.chain(corners(inputs, facts), far_away(inputs, facts, here[0]))
            return witnesses(closed, here, inputs, facts, tried, purse)

        found = at_sizes(self.traced.jaxpr, sites, self.traced.inputs, run) if sites else {}
        return {key: witness for key, witness in found.items() if self.is_telling(key, witness)}

    def is_telling(self, key: int, witness: Witness) -> bool:
        """Whether an input shows a mistake of the program.

        Not where the index goes as far as an input nobody promised to limit: such an access asks for a promise. It may
        go that far in one dimension, or to one side, and leave in another, where the program itself ends it too late.
        """
        seen = self.analysis.seen[key]
        site = self.analysis.inventory.sites[key]
        if key in self.limited:
            return True
        sources, narrow = self.traced.inputs, self.narrowest(seen)
        if all(is_near(site, one, narrow) for one in seen):
            return True
        # Of lanes that are done nobody sees anything.
        running = self.lanes.get(key) or seen
        facts = zip(*(one.facts for one in running), strict=True)
        if all(is_own(*own, narrow) for own in zip(site.columns, witness.index, facts, strict=True)):
            return True
        free = [i for i in leaves_made_of(seen) if is_free(sources[i])]
        return not any(np.any(np.asarray(witness.arguments[i]) != 0) for i in free if is_number(sources[i].aval))

    def narrowest(self, seen: list[Seen]) -> int:
        """How far apart the ends of the narrowest integer type are, of inputs without a promise in an index."""
        free = [source.aval for i in leaves_made_of(seen) if is_free(source := self.traced.inputs[i])]
        kinds = [dtype_info(aval.dtype) for aval in free if is_integer(aval)]
        return min((info.max - info.min for info in kinds), default=NEAR)

    def is_of_bools(self, seen: list[Seen]) -> bool:
        """Whether an index is made of bools at most: nobody promises more of one than that it is true or false."""
        return all(is_bool(self.traced.inputs[leaf].aval) for leaf in leaves_made_of(seen))

    @recorded("steered")
    def steered(self, sites: list[Site]) -> dict[int, Witness]:
        """Accesses at indices made of no input, which leave when the program runs a little longer than their array is.

        An input can only decide how long, and no longer than the program itself lets it: so none is asked for a range,
        and what leaves is the program's own doing.
        """
        sources = self.traced.inputs
        own = [site for site in sites if self.is_of_bools(self.analysis.seen[id(site.eqn)])]
        limits = sorted({c.limit for site in own for c in site.columns if type(c.limit) is int})[:2]
        if not limits or not has_sizes(sources) or not ends_by_itself(self.analysis.program):
            return {}
        lengths = [i for i, s in enumerate(sources) if is_free(s) and s.aval.shape == () and is_integer(s.aval)]
        tried = [{i: plain_value(sources[i], self.facts[i], limit + 2) for i in lengths} for limit in limits]
        # What goes by the size of an error goes on as long as it may where that is no number.
        floats = [i for i, s in enumerate(sources) if self.facts[i].nan and is_free(s) and is_float(s.aval)]
        tried.append({i: nothing_but_nan(sources[i].aval.shape, sources[i].aval.dtype) for i in floats})
        cost = LONGER + 6 * self.analysis.inventory.equations
        purse = Purse(cost, compiles=False, each=cost)
        purse.silence = LONGER // 4
        found: dict[int, Witness] = {}
        for one in filter(None, tried):
            found = found or self.shown(own, [one], purse)
        return found

    @staged("masks")
    def together(self, open_sites: list[tuple[Site, list[Seen]]]) -> dict[int, Witness]:
        """Accesses that leave their arrays whatever the inputs are: one replay for all of them."""
        sure = [
            site
            for site, seen in open_sites
            if id(site.eqn) not in self.cornered
            and id(site.eqn) not in self.wraps
            and (id(site.eqn) in self.certain or any(is_outside(site, one.facts) for one in seen))
        ]
        if len(sure) < 2:
            return {}
        cost = 2 * self.analysis.inventory.equations + LATE
        purse = Purse(2 * cost, compiles=False, each=cost)
        purse.first = tuple(dict.fromkeys(k for site in sure for k in self.certain.get(id(site.eqn), ())))[:HINTS]
        return self.shown(sure, [{}], purse)

    @recorded("states")
    def on_kept_states(self, sites: list[Site], needs: dict[int, Need]) -> None:
        """Find the accesses that leave their arrays on a state that keeps every condition found."""
        inputs = self.traced.inputs
        cost = STATES * self.analysis.inventory.equations
        end = max((c.limit for site in sites for c in site.columns if type(c.limit) is int), default=1)
        tried = itertools.islice(states(inputs, self.facts, needs, end), STATES)
        self.kept |= self.shown(sites, tried, Purse(cost, compiles=False))

    def drawn_on_states(self, sites: list[Site], needs: dict[int, Need]) -> dict[int, Witness]:
        """Accesses of a large program that random keys take outside, on states that keep what the others ask for.

        All are looked at in one run; and again, at other keys, as long as that shows more.
        """
        inputs, seen = self.traced.inputs, self.analysis.seen
        open_sites = [site for site in sites if id(site.eqn) not in self.kept]
        near = [site for site in open_sites if all(is_near(site, one) for one in seen[id(site.eqn)])]
        end = max((c.limit for site in near for c in site.columns if type(c.limit) is int), default=1)
        kept = itertools.islice(states(inputs, self.facts, needs, end), STATES) if near else ()
        flags = {i: plain_value(s, self.facts[i], 1) for i, s in enumerate(inputs) if is_bool(s.aval)}
        turns = [one for state in kept for one in ((state, flags | state) if flags else (state,))]
        count, found = DRAWN * len(turns), dict[int, Witness]()
        keyed = keyed_in_turn(inputs, turns, count)
        for _ in range(LOOKS):
            left = [site for site in near if id(site.eqn) not in found]
            purse = Purse(STATES * self.analysis.inventory.equations // 2, compiles=False)
            more = self.shown(left, keyed, purse, tries=count) if left else {}
            if not more:
                break
            found |= more
        return found

    def searched(
        self, site: Site, proposal: Proposal, search: bool, guesses: Purse | None, tries: int | None
    ) -> Witness | None:
        """An input that makes an access leave its array; what numpy can evaluate is tried before JAX compiles."""
        inputs, needs = self.traced.inputs, proposal.needs
        cheap = Purse(min(2 * self.purse.left, self.alone.left), compiles=False)
        for purse in (cheap, self.purse) if guesses is None else (guesses,):
            points = self.inputs_at(self.points.get(id(site.eqn), ()))
            before = purse.left
            tried = None if guesses is None else {*self.tried}
            found = find_witness(
                self.traced.jaxpr, site, inputs, self.facts, needs, search, purse, points, tried, tries, self.thrown
            )
            if purse is cheap:
                self.alone.left -= before - purse.left
            if found is not None:
                return found
        return None

    def late(self, site: Site) -> Witness | None:
        """A run of an access that some iteration takes outside whatever the inputs are, which may be a late one."""
        purse = Purse(min(LATE, self.alone.left), compiles=False)
        purse.first = self.certain[id(site.eqn)]
        found = self.shown([site], [{}], purse)
        self.alone.left -= LATE - purse.left
        return found.get(id(site.eqn))

    def breaking(self, site: Site, proposal: Proposal) -> Witness | None:
        """An input that breaks the condition of an access, and makes it leave its array."""
        inputs, points = self.traced.inputs, self.inputs_at(self.points.get(id(site.eqn), ()))
        relations = proposal.relations
        if has_sizes(inputs):
            found = breaking(self.traced.jaxpr, site, inputs, self.facts, proposal.needs, relations, points)
            found = found or self.breaking_where_it_is_seen(site, proposal)
            return found and self.called(found)

        def run(
            closed: Any, here: list[Site], inputs: list[Input], facts: list[Fact], sizes: Any
        ) -> dict[int, Witness]:
            needs = {leaf: Need(number(n.lo, sizes), number(n.hi, sizes)) for leaf, n in proposal.needs.items()}
            one = breaking(closed, here[0], inputs, facts, needs, relations, [])
            return {id(here[0].eqn): one} if one is not None else {}

        found = at_sizes(self.traced.jaxpr, [site], inputs, run).get(id(site.eqn))
        return found and self.called(found)

    def breaking_where_it_is_seen(
        self, site: Site, proposal: Proposal, purses: Sequence[Purse] | None = None
    ) -> Witness | None:
        """The same further beyond it, and with the other inputs at random or where the program compares them:
        a condition may ask for more than it must, and a mask for more than a condition tells."""
        inputs, facts = self.traced.inputs, self.facts
        # What the exact stage says leads outside does, if the other inputs let it be seen.
        points = self.points.get(id(site.eqn), ())[:POINTS]
        broken = [*self.inputs_at(points), *self.others_at(points)]
        for more in FURTHER:
            needs = {leaf: Need(need.lo - more, need.hi + more) for leaf, need in proposal.needs.items()}
            broken += beyond_each(inputs, facts, needs, proposal.relations)[0]
        broken = [one for one in broken if all(keeps(facts[leaf], value) for leaf, value in one.items())]
        tried = list(self.among_others(broken))
        for purse in purses or [Purse(ALONE // 4, compiles=compiles) for compiles in (False, True)]:
            found = witnesses(self.traced.jaxpr, [site], inputs, facts, tried, purse, tries=SEEN, hidden=SEEN)
            if found:
                return found[id(site.eqn)]
        return None

    def among_others(self, chosen: list[dict[int, Any]]) -> Iterator[dict[int, Any]]:
        """These inputs, and the same with others where the program compares them, or at random."""
        yield from chosen
        inputs, facts = self.traced.inputs, self.facts
        compared = at_numbers(self.analysis.inventory.keep, inputs, facts)
        for other in itertools.chain(one_of_each(inputs, facts), compared, at_random(inputs, facts)):
            for one in chosen:
                yield other | one

    def called(self, witness: Witness) -> Witness:
        """A witness that knows how the checked function is called."""
        return dataclasses.replace(witness, _rebuild=self.traced.unflatten)

    def breaks_contract(self, proposal: Proposal) -> bool:
        """Whether a needed bound is one the contract closed, and closed too late."""
        for leaf, need in proposal.needs.items():
            source, fact = self.traced.inputs[leaf], self.facts[leaf]
            uniform, whole = need.uniform(), summarised(fact)
            if not source.open_above and not at_most(whole.hi, uniform.hi):
                return True
            if not source.open_below and not at_most(uniform.lo, whole.lo):
                return True
        sources = self.traced.inputs
        # What masks let through hangs on how far they do: an input without a promise among several is to keep it.
        is_broken = all if proposal.seen else any
        return any(
            is_broken(not (sources[leaf].open_above or sources[leaf].open_below) for _, _, leaf in relation.terms)
            for relation in proposal.relations
        )


def is_integer(aval: Any) -> bool:
    return dtype_info(getattr(aval, "dtype", None)).kind in "iu"


def is_float(aval: Any) -> bool:
    return dtype_info(getattr(aval, "dtype", None)).kind == "f"


def is_number(aval: Any) -> bool:
    return dtype_info(getattr(aval, "dtype", None)).kind in "fiu"


def is_near(site: Site, one: Seen, narrow: int = NEAR) -> bool:
    """Whether an index has bounds of its own, not its integer type's, nor those of a narrow type it is made from."""
    return all(_is_near(column, fact, narrow) for column, fact in zip(site.columns, one.facts, strict=True))


def has_near_column(site: Site, one: Seen) -> bool:
    """Whether an index has such bounds in some dimension."""
    return any(_is_near(column, fact, NEAR) for column, fact in zip(site.columns, one.facts, strict=True))


def _is_near(column: Column, fact: Fact, narrow: int) -> bool:
    lo, hi = _ends(column, fact)
    return type(lo) is int and type(hi) is int and lo >= -NEAR and hi <= NEAR and not hi - lo >= narrow > 0


def _ends(column: Column, fact: Fact) -> tuple[Any, Any]:
    """The least and the greatest that an index can be in a dimension."""
    lo, hi = column_of(fact, column.column)
    return (lo.min().item(), hi.max().item()) if type(lo) is np.ndarray else (lo, hi)


def is_own(column: Column, number: Any, facts: Sequence[Fact], narrow: int) -> bool:
    """Whether an index is inside in a dimension, or outside on a side on which it has a bound of its own."""
    if at_most(0, number) is True and at_most(number, column.limit) is True:
        return True
    ends = [_ends(column, fact) for fact in facts]
    if any(type(lo) is not int or type(hi) is not int or hi - lo >= narrow > 0 for lo, hi in ends):
        return False
    return all(hi <= NEAR if at_most(0, number) is True else lo >= -NEAR for lo, hi in ends)


def is_outside(site: Site, facts: list[Fact]) -> bool:
    """Whether some index tuple lies outside whatever the inputs are."""
    for column, fact in zip(site.columns, facts, strict=True):
        lo, hi = column_of(fact, column.column)
        if type(lo) is np.ndarray:
            if least(hi) < 0 or (type(column.limit) is int and most(lo) > column.limit):
                return True
        elif at_most(0, hi) is False or at_most(lo, column.limit) is False:
            return True
    return False
