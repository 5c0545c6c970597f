"""Conditions on inputs: what accesses ask of them, alone and together, and whether that keeps them inside.

Whatever is proposed is believed only after a forward run under it, or the exact stage on what that run found, has
proved the access.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.domains import Fact, summarised
from redzone.domains.symbolic import is_symbolic
from redzone.engine import Analysis, Seen
from redzone.frontend.trace import Traced
from redzone.prove.breaking import hanging_on
from redzone.prove.conditions import (
    Common,
    Proposal,
    is_nearly_all,
    is_plain,
    narrowed,
    propose,
    provable,
)
from redzone.prove.exact import Exact
from redzone.prove.keeping import Outcome
from redzone.prove.made_of import leaves_made_of
from redzone.prove.masks import masked_sites
from redzone.prove.need import FAR, Need
from redzone.prove.pieces import Work
from redzone.prove.plain import has_sizes, is_free
from redzone.prove.purse import Purse
from redzone.prove.seeking import LARGE, Seeking, is_integer, is_near
from redzone.prove.states import is_flag
from redzone.prove.sweep import Sweep, relevant
from redzone.prove.trials import Trials
from redzone.prove.violations import Use
from redzone.stages import recorded, staged

#: How many different sets of conditions are validated one by one.
GROUPS: Final = 12
#: How many steps an analysis may have taken for its conditions to be tried without each of their sides.
CHEAP: Final = 400
#: What the exact stage may cost for one access: four in five of those it settles cost a tenth of this.
EACH: Final = 400
#: How many inputs may matter to an access for their ranges to be guessed, and for how many kinds of accesses they are.
GUESSED: Final = 3
#: Which parts of an array are tried for each of several inputs.
PARTS: Final = (2, 4)
#: How many open accesses, or inputs with a condition, are many.
MANY: Final = 8


class Conditioned(Seeking):
    """The conditions that keep the accesses of one analysed program inside."""

    def __init__(self, traced: Traced, analysis: Analysis, facts: Sequence[Fact]) -> None:
        super().__init__(traced, analysis, facts)
        size = analysis.inventory.equations
        self.timings = {"exact": 0.0, "conditions": 0.0, "witness": 0.0}
        limits = {"masks": 600 + size // 4, "derive": 600 + size // 4, "prove": 1200 + size // 2}
        self.work = {name: Work(limit, EACH) for name, limit in limits.items()}
        self.trials = Trials(analysis, self.facts)
        self.in_lanes: set[int] = set()
        """The accesses that a condition keeps inside in running lanes, not in those of a batched loop that are done."""
        self.used: dict[int, list[Use]] = {}
        """By access: the uses in which it may be seen outside, where that is known of all its uses."""

    def proved(self, open_sites: list[tuple[Site, list[Seen]]], proposals: dict[int, Proposal]) -> set[int]:
        """The accesses that a condition on the inputs is proved to keep inside; `proposals` gets one for each."""
        proved = {*proposals}
        common = Common(len(open_sites))
        if self.analysis.inventory.equations > LARGE and len(open_sites) - len(proved) > MANY:
            # One sweep for all, instead of a walk for each.
            proved |= self.swept(open_sites, proposals, proved, common)
            common.budget = 0
        for site, seen in open_sites:
            if id(site.eqn) not in proved:
                proposals[id(site.eqn)] = propose(seen, common, id(site.eqn) not in self.wraps)
        proved |= self.validated({key: p for key, p in proposals.items() if key not in proved})
        # Where counting from the end and from the start leaves a hole between them, ask for the plain range.
        again = {
            id(site.eqn): propose(seen, common, wrapping=False)
            for site, seen in open_sites
            if id(site.eqn) not in proved and proposals[id(site.eqn)].wrapped
        }
        if again:
            proved |= self.validated(again)
            proposals.update(again)
        if common.budget:
            proved |= self.swept(open_sites, proposals, proved, common)
        proved |= self.besides(open_sites, proposals, proved)
        proved |= self.guessed(open_sites, proposals, proved)
        # An index that the program keeps close to its array is its own to keep inside, not for a float to mend.
        proved -= {key for key in proved & self.limited if proposals[key].turned}
        # What was promised of terms is not asked for again because their sum is only known at its worst.
        return proved - {key for key in proved if proposals[key].shared and self.breaks_contract(proposals[key])}

    def confirmed(self, proposals: dict[int, Proposal]) -> dict[int, Proposal]:
        """The derived conditions, less those that a run of the whole analysis under them does not prove.

        A relation between inputs is no fact to run with: it stands as it was derived.
        """
        groups: dict[Any, list[int]] = {}
        for key, proposal in proposals.items():
            if not proposal.relations and not proposal.seen:
                groups.setdefault(proposal.key(), []).append(key)
        before, doubted = self.trials.visits, set()
        for sites in list(groups.values())[:GROUPS]:
            left = {*sites}
            for needs in self.without_and_with_ends(proposals[sites[0]].needs):
                facts = narrowed(self.facts, needs) if left else None
                if facts is not None:
                    found, seen = self.proves(facts, list(left))
                    found |= self.proved_exactly(facts, {key: one for key, one in seen.items() if key not in found})
                    for key in found:
                        proposals[key].needs = needs
                    left -= found
            doubted |= left
        self.trials.visits = before
        return {key: proposal for key, proposal in proposals.items() if key not in doubted}

    def where_seen(self, exact: Exact, site: Site, seen: list[Seen]) -> Outcome | None:
        """What the inputs must keep for an access to be inside wherever masks do not throw away what it accesses.

        None where that is as much as without the masks. Ranges are believed where the masks are looked at again under
        them; a relation stands as it was derived.
        """
        uses = self.used.get(id(site.eqn))
        outcome = exact.decide_seen(site, uses) if uses else None
        if outcome is None or outcome.needs is None or outcome.relations or not outcome.cases:
            return outcome if outcome is not None and outcome.needs is not None else None
        anyway = exact.decide(site, seen)
        if anyway is not None and not anyway.relations and _are_alike(anyway.needs, outcome.needs):
            return None
        facts = narrowed(self.facts, outcome.needs)
        if facts is None:
            return None
        looks = Exact(self.traced.inputs, facts, self.work["masks"], spills=False)
        masked = masked_sites(self.analysis, self.traced.jaxpr, facts, [site], {}, set(), looks)
        return outcome if id(site.eqn) in masked else None

    def without_and_with_ends(self, needs: dict[int, Need]) -> list[dict[int, Need]]:
        """Needs without those that only keep a sum from wrapping, which may not matter behind a remainder; then all."""
        within = {leaf: need for leaf, need in needs.items() if not is_nearly_all(self.facts[leaf], need)}
        return [within, needs] if 0 < len(within) < len(needs) else [needs]

    @staged("conditions")
    def validated(self, proposals: dict[int, Proposal]) -> set[int]:
        """The sites whose own conditions, and nothing else, prove them inside.

        One run under all conditions together settles the sites whose own are all that matters to them.
        """
        for proposal in proposals.values():
            proposal.needs = provable(self.facts, proposal.needs)
        asked = {key: p for key, p in proposals.items() if p.needs and p.lost is None and is_plain(self.facts, p.needs)}
        proved: set[int] = set()
        groups: dict[Any, list[int]] = {}
        for key, proposal in asked.items():
            groups.setdefault(proposal.key(), []).append(key)
        if len(groups) > 1:
            proved = self.jointly(asked)
        for count, sites in enumerate(groups.values()):
            left = [key for key in sites if key not in proved]
            if not left or count >= GROUPS or not self.can_afford():
                continue
            needs = proposals[sites[0]].needs
            facts = narrowed(self.facts, needs)
            if facts is not None:
                found, seen = self.proves(facts, left)
                proved |= found | self.proved_exactly(facts, {k: v for k, v in seen.items() if k not in found})
                if found:
                    weakest = self.weakened(needs, found)
                    for key in found:
                        proposals[key].needs = weakest
        return proved

    def jointly(self, proposals: dict[int, Proposal]) -> set[int]:
        """The sites proved under all conditions together, where no other's condition can have helped."""
        joint: dict[int, Need] = {}
        for proposal in proposals.values():
            for leaf, need in proposal.needs.items():
                joint[leaf] = joint[leaf].both(need) if leaf in joint else need
        leaves = list(joint)
        own = [
            key
            for key, proposal in proposals.items()
            if _restricted(joint, relevant(self.analysis.seen[key], leaves)) == proposal.key()
        ]
        facts = None if not own or any(n.empty() for n in joint.values()) else narrowed(self.facts, joint)
        return set() if facts is None else self.proves(facts, own)[0]

    @staged("conditions")
    def besides(
        self, open_sites: list[tuple[Site, list[Seen]]], proposals: dict[int, Proposal], proved: set[int]
    ) -> set[int]:
        """What is still open, proved under what the others ask for anyway."""
        answered = proved | self.shown_to_leave()
        left = {id(site.eqn): seen for site, seen in open_sites if id(site.eqn) not in answered}
        anyway = together([proposals[key].needs for key in proved])
        facts = narrowed(self.facts, anyway) if left and anyway else None
        if facts is None:
            return set()
        found, seen = self.proves(facts, list(left))
        found |= self.proved_exactly(facts, {k: v for k, v in seen.items() if k not in found})
        askers = Counter(leaf for key in proved for leaf in proposals[key].needs)
        for key, needs in self.pared({key: left[key] for key in found}, anyway, askers).items():
            proposals[key] = Proposal(needs, False, None)
        return {key for key in found if proposals[key].needs}

    def pared(
        self, found: dict[int, list[Seen]], joint: dict[int, Need], askers: Counter[int]
    ) -> dict[int, dict[int, Need]]:
        """By access, of those that joint conditions prove: which of these it was shown to need no others than.

        What few accesses ask for is left out first, half of the inputs at a time: it may be far from what the others
        hang on, and what it leaves of an input is no condition of theirs.
        """
        order = sorted(joint, key=lambda leaf: -askers[leaf])
        mine = {key: relevant(seen, order) for key, seen in found.items()}
        kept, size = {key: len(order) for key in found}, len(order) // 2
        while size and self.can_afford():
            fewer = {leaf: joint[leaf] for leaf in order[:size]}
            # Those that all it leaves out is nothing to are as they were.
            left = [key for key in found if kept[key] > size and not mine[key] <= fewer.keys()]
            left = [key for key in left if kept[key] <= 2 * size + 1]
            facts = narrowed(self.facts, fewer) if left else None
            if facts is None:
                break
            for key in self.proves(facts, left)[0]:
                kept[key] = size
            size //= 2
        return {key: {leaf: joint[leaf] for leaf in order[: kept[key]] if leaf in mine[key]} for key in found}

    @staged("conditions")
    def swept(
        self,
        open_sites: list[tuple[Site, list[Seen]]],
        proposals: dict[int, Proposal],
        proved: set[int],
        common: Common,
    ) -> set[int]:
        """What is still open, proved under conditions for all of it together."""
        left = {id(site.eqn): seen for site, seen in open_sites if id(site.eqn) not in proved}
        if not left or self.traced.inputs == ():
            return set()
        # A need that got lost may not matter, but in a large program trying takes long.
        large = self.analysis.inventory.equations > LARGE
        sweep = Sweep(common, gives_up=large)
        joint = provable(self.facts, sweep.over([one for seen in left.values() for one in seen]))
        joint = {leaf: need for leaf, need in joint.items() if is_plain(self.facts, {leaf: need})}
        hopeful = [key for key in left if not (large and key in sweep.lost)]
        facts = narrowed(self.facts, joint) if joint and hopeful else None
        if facts is None:
            return set()
        found, seen = self.proves(facts, hopeful)
        found |= self.proved_exactly(facts, {k: v for k, v in seen.items() if k not in found})
        askers = Counter(leaf for key in found for leaf in sweep.asked_for_by(key))
        for key, needs in self.pared({key: left[key] for key in found}, joint, askers).items():
            proposals[key] = Proposal(needs, False, None, turned=sweep.turned)
        together = [*found]
        # Where others ask for more of the very numbers that an access hangs on, its own is what is told.
        own = {key: sweep.asked_for_by(key) for key in together}
        hurried = [key for key in together if _is_tighter(proposals[key].needs, own[key])]
        # So it is where they ask it of more inputs.
        wider = [key for key in together if key in hurried or own[key].keys() < proposals[key].needs.keys()]
        self.each_alone(sweep, wider, proposals)
        found -= {key for key in hurried if self.is_crushed(proposals[key], own[key])}
        sites = self.analysis.inventory.sites
        # A range that only the access itself asks for may be too wide for it; a flag's two values are not.
        asked = {leaf for key in found for leaf in proposals[key].needs}
        asked |= {leaf for leaf, need in joint.items() if is_flag(need)}
        near = [
            sites[k]
            for k, v in seen.items()
            if k not in found and all(is_near(sites[k], one) for one in v) and relevant(left[k], list(joint)) <= asked
        ]
        if near and has_sizes(self.traced.inputs):
            self.on_kept_states(near, joint)
        still = [key for key in hopeful if key not in found and key not in self.kept]
        alone = self.each_alone(sweep, still, proposals)
        still = [key for key in still if key not in alone]
        if still and sweep.loosened and self.can_afford():
            # What the program was taken to catch, it may not.
            strict = Sweep(common, gives_up=large, strict=True)
            strict.over([one for key in still for one in left[key]])
            alone |= self.each_alone(strict, still, proposals)
            still = [key for key in still if key not in alone]
        if still and self.can_afford():
            # What a step takes too far, the next branch may catch.
            caught = Sweep(common, gives_up=large, by_branches=True)
            caught.over([one for key in still for one in left[key]])
            alone |= self.each_alone(caught, still, proposals) if caught.loosened else set()
        found |= alone
        return {key for key in found if proposals[key].needs}

    def shown_to_leave(self) -> set[int]:
        """The accesses that were seen to leave their arrays on a state that keeps all conditions: none is theirs."""
        return {*self.kept} - self.wraps

    def is_crushed(self, proposal: Proposal, own: dict[int, Need]) -> bool:
        """Whether what others ask leaves an input one value, of several that an access allows: no condition of its."""
        points = [leaf for leaf, need in proposal.needs.items() if _is_point(need)]
        return any(leaf not in own or not _is_point(own[leaf]) for leaf in points)

    def can_afford(self) -> bool:
        """Whether proving conditions has not taken much longer than the analysis did."""
        return self.trials.visits <= 2 * self.analysis.visits + CHEAP

    def each_alone(self, sweep: Sweep, sites: Sequence[int], proposals: dict[int, Proposal]) -> set[int]:
        """The accesses that what was asked for them alone proves, which is their condition then."""
        groups: dict[Any, tuple[dict[int, Need], list[int]]] = {}
        for key in sites:
            own = provable(self.facts, sweep.asked_for_by(key))
            alone, tried = Proposal(own, False, None).key(), proposals.get(key)
            is_new = tried is None or alone != tried.key()
            if is_new and own and not any(need.empty() for need in own.values()):
                groups.setdefault(alone, (own, []))[1].append(key)
        found: set[int] = set()
        for own, mine in sorted(groups.values(), key=lambda group: -len(group[1]))[:GROUPS]:
            for needs in self.without_and_with_ends(own):
                left = [key for key in mine if key not in found]
                facts = narrowed(self.facts, needs) if left and self.can_afford() else None
                if facts is None:
                    continue
                inside, seen = self.proves(facts, left)
                inside |= self.proved_exactly(facts, {k: v for k, v in seen.items() if k not in inside})
                for key in inside:
                    proposals[key] = Proposal(needs, False, None, turned=sweep.turned)
                found |= inside
        return found

    @staged("conditions")
    def guessed(
        self, open_sites: list[tuple[Site, list[Seen]]], proposals: dict[int, Proposal], proved: set[int]
    ) -> set[int]:
        """What is still open in a short program, proved where the inputs lie within the array as its end or an index.

        Nobody could say what it takes, but such an input is what most programs are written for. An index that goes as
        far as several inputs together is tried with each of them in a part of the array.
        """
        if self.analysis.visits > CHEAP:
            return set()
        free = [i for i, s in enumerate(self.traced.inputs) if is_free(s) and is_integer(s.aval)]
        answered, groups = proved | self.shown_to_leave(), dict[Any, list[int]]()
        for site, seen in open_sites:
            key, limits = id(site.eqn), [column.limit for column in site.columns]
            if key in answered or key in self.wraps or set(map(type, limits)) != {int}:
                continue
            leaves = relevant(seen, free)
            if 0 < len(leaves) <= GUESSED:
                near = all(is_near(site, one) for one in seen)
                groups.setdefault((frozenset(leaves), max(limits), near), []).append(key)
        found: set[int] = set()
        for (among, limit, near), sites in list(groups.items())[:GUESSED]:
            parts = () if near or len(among) < 2 else tuple(limit // n for n in PARTS if limit >= 2 * n)
            for end in (limit + 1, limit, *parts):
                needs = {leaf: Need(0, end) for leaf in among}
                facts = narrowed(self.facts, needs)
                mine = set() if facts is None else self.proves(facts, sites)[0]
                if mine:
                    weakest = self.weakened(needs, mine)
                    # A guess that nothing hangs on is no condition; of a part, on what is more than all of the array.
                    kept = {leaf: Need(0, limit) for leaf in weakest} if end in parts else weakest
                    mine = self.hanging_on(mine, kept)
                    proposals.update({key: Proposal(weakest, False, None, guessed=True) for key in mine})
                    found |= mine
                    break
        return found

    def hanging_on(self, keys: set[int], needs: dict[int, Need]) -> set[int]:
        """The accesses that may leave their arrays when a condition is broken."""
        sites = [site for key, site in self.analysis.inventory.sites.items() if key in keys]
        purse = Purse(4 * CHEAP * len(sites), compiles=False)
        return hanging_on(self.traced.jaxpr, sites, self.traced.inputs, self.facts, needs, purse)

    @recorded("validate")
    def proves(self, facts: Sequence[Fact], sites: Sequence[int]) -> tuple[set[int], dict[int, list[Seen]]]:
        outcomes = self.trials.under(facts, sites)
        found = {key for key, outcome in outcomes.items() if outcome.inside}
        seen = {key: outcome.seen for key, outcome in outcomes.items()}
        missed = {key for key in found if not seen[key] and self.is_steered_away(key, facts)}
        if missed:
            found, seen = found - missed, {key: one for key, one in seen.items() if key not in missed}
        self.in_lanes |= {key for key in found if not all(one.inside for one in seen[key])}
        return found, seen

    def is_steered_away(self, key: int, facts: Sequence[Fact]) -> bool:
        """Whether inputs that the index is not made of are among those that keep the program from an access.

        "Not before the game is over" would be true of every index of a game's step, and of no use to its player.
        """
        made = leaves_made_of(self.analysis.seen[key])
        asked = {leaf for leaf, (old, new) in enumerate(zip(self.facts, facts, strict=True)) if new is not old}
        return bool(made) and not asked <= made

    @staged("exact")
    def proved_exactly(self, facts: Sequence[Fact], seen: dict[int, list[Seen]]) -> set[int]:
        """The accesses that never leave their arrays on inputs with these facts, by the exact stage."""
        if not seen:
            return set()
        started = time.perf_counter()
        exact, sites = Exact(self.traced.inputs, facts, self.work["prove"], spills=False), self.analysis.inventory.sites
        outcomes = {key: exact.proves(sites[key], found) for key, found in seen.items()}
        self.timings["exact"] += time.perf_counter() - started
        return {key for key, outcome in outcomes.items() if outcome is not None and not outcome.cases}

    def weakened(self, needs: dict[int, Need], sites: set[int]) -> dict[int, Need]:
        """The conditions less every side that the proof does without."""
        known = [(need, summarised(self.facts[leaf])) for leaf, need in needs.items()]
        bounds = [bound for need, fact in known for bound in (need.lo, need.hi, fact.lo, fact.hi)]
        if self.analysis.visits > CHEAP or len(needs) > MANY or any(type(b) not in (int, np.ndarray) for b in bounds):
            return needs
        for leaf in list(needs):
            for above in (True, False):
                need = needs[leaf]
                whole = summarised(self.facts[leaf])
                if np.all(need.hi >= whole.hi) if above else np.all(need.lo <= whole.lo):
                    continue
                if self.trials.visits > 3 * self.analysis.visits + CHEAP:
                    return needs
                weaker = {**needs, leaf: Need(need.lo, FAR) if above else Need(-FAR, need.hi)}
                facts = narrowed(self.facts, weaker)
                if facts is not None and self.proves(facts, list(sites))[0] == sites:
                    needs = weaker
        return needs


def _is_tighter(needs: dict[int, Need], own: dict[int, Need]) -> bool:
    """Whether needs leave less of numbers than others, which say something of them, do."""
    for leaf, mine in own.items():
        other = needs.get(leaf)
        if other is None or any(is_symbolic(end) for end in (mine.lo, mine.hi, other.lo, other.hi)):
            continue
        if np.any((other.lo > mine.lo) & (mine.lo > -FAR)) or np.any((other.hi < mine.hi) & (mine.hi < FAR)):
            return True
    return False


def together(asked: Sequence[dict[int, Need]]) -> dict[int, Need]:
    """What several sets of needs ask for together, but for inputs of which nothing would be left."""
    joint: dict[int, Need] = {}
    for needs in asked:
        for leaf, need in needs.items():
            joint[leaf] = joint[leaf].both(need) if leaf in joint else need
    return {leaf: need for leaf, need in joint.items() if not need.empty()}


def _restricted(needs: dict[int, Need], leaves: set[int]) -> Any:
    return Proposal({leaf: n for leaf, n in needs.items() if leaf in leaves}, False, None).key()


def _are_alike(one: dict[int, Need] | None, other: dict[int, Need]) -> bool:
    return one is not None and bool(Proposal(one, False, None).key() == Proposal(other, False, None).key())


def _is_point(need: Need) -> bool:
    whole = need.uniform()
    return type(whole.lo) is int and type(whole.hi) is int and whole.lo == whole.hi
