"""Forward runs under conditions on the inputs: which accesses they prove inside, each asked once.

What a run says of an access hangs on the inputs that can matter to it and on no others. So an access that was looked at
under the same conditions on those is not looked at again, whatever is asked of the rest; and a run starts from the one
before it that differs from it least.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any, NamedTuple

from redzone.domains import Fact
from redzone.engine import Analysis, Seen, run_forward
from redzone.engine.anew import computed_anew
from redzone.engine.forward import Context
from redzone.engine.program import OBSERVE, SIMPLE, Program, Step
from redzone.prove.rounds import decides_rounds
from redzone.prove.sweep import relevant

#: By input: what is known of it, in a form to compare, where more is known than without conditions.
Asked = dict[int, Any]


class Outcome(NamedTuple):
    """What a run says of an access."""

    inside: bool
    seen: list[Seen]
    """The ways it was reached, but for those in the running lanes of a batched loop."""


class Part:
    """The part of a program that decides some accesses, and under which conditions it ran last."""

    __slots__ = ("asked", "program", "sites")

    def __init__(self, sites: frozenset[int], program: Program, asked: Asked) -> None:
        self.sites = sites
        self.program = program
        self.asked = asked


class Trials:
    """The runs of one analysed program under conditions on its inputs."""

    def __init__(self, analysis: Analysis, facts: Sequence[Fact]) -> None:
        self.analysis = analysis
        self.facts = facts
        self.visits = 0
        """How many steps they took."""
        self.whole = Part(frozenset(), analysis.program, {})
        self.parts: dict[frozenset[int], Part] = {}
        self.outcomes: dict[tuple[int, Any], Outcome] = {}
        """By access and what is asked of the inputs that matter to it."""
        self.mattering: dict[int, set[int]] = {}

    def matters_to(self, site: int) -> set[int]:
        """The inputs that can matter to an access: no other does."""
        known = self.mattering.get(site)
        if known is None:
            seen = self.analysis.seen.get(site, ())
            known = self.mattering[site] = relevant(seen, range(len(self.facts)))
            self.outcomes[site, ()] = outcome_of(seen)
        return known

    def asked_in(self, facts: Sequence[Fact]) -> Asked:
        """What these facts say more than those without conditions."""
        pairs = enumerate(zip(self.facts, facts, strict=True))
        return {leaf: new.key() for leaf, (old, new) in pairs if new is not old}

    def of_site(self, site: int, asked: Asked) -> tuple[Any, ...]:
        """Of what is asked of inputs, that which can matter to an access."""
        mine = self.matters_to(site)
        return tuple([one for one in asked.items() if one[0] in mine])

    def under(self, facts: Sequence[Fact], sites: Sequence[int]) -> dict[int, Outcome]:
        """What becomes of these accesses on inputs with these facts."""
        asked = self.asked_in(facts)
        keys = {site: (site, self.of_site(site, asked)) for site in sites}
        left = [site for site in sites if keys[site] not in self.outcomes]
        if left:
            part = self.part_for(frozenset(left), asked)
            found, visits = outcomes(part.program, facts, left)
            self.visits += visits
            part.asked = asked
            self.outcomes.update({keys[site]: found[site] for site in left})
        return {site: self.outcomes[keys[site]] for site in sites}

    def part_for(self, sites: frozenset[int], asked: Asked) -> Part:
        """The part of the program that decides these accesses, set to go on from the run that is nearest."""
        able = [self.whole, *[part for part in self.parts.values() if sites <= part.sites]]
        nearest = min(able, key=lambda part: self.distance(part, asked)) if len(able) > 1 else self.whole
        part = self.parts.get(sites)
        if part is None:
            part = self.parts[sites] = Part(sites, restricted(nearest.program, sites), {})
        if nearest is not part:
            self.go_on(part.program, nearest.program)
        return part

    def go_on(self, part: Program, nearest: Program) -> None:
        """What a run of a part goes on from: what the nearest run found, of all that the part itself makes.

        Elsewhere a refinement may still look, and there it sees what holds without conditions: those of another run
        need not hold in this one.
        """
        plain, found = self.whole.program.last, nearest.last
        part.last, part.looks, part.stale = plain, nearest.looks, set()
        if plain is None or found is None or nearest is self.whole.program:
            return
        last = part.last = plain.copy()
        for _, slot in part.inputs:
            last[slot] = found[slot]
        for step in part.steps:
            for slot in step.outs:
                if slot >= 0:
                    last[slot] = found[slot]
            if step.apart >= 0:
                last[step.apart] = found[step.apart]
        part.stale = {slot for slot, (one, other) in enumerate(zip(last, found, strict=True)) if one is not other}

    def distance(self, part: Part, asked: Asked) -> int:
        """How many steps hang on inputs of which something else is asked now than when a part ran last."""
        leaves = {leaf for leaf in (*asked, *part.asked) if asked.get(leaf) != part.asked.get(leaf)}
        changed = sum([1 << k for k, (leaf, _) in enumerate(part.program.inputs) if leaf in leaves])
        part.program.reach()
        count = 0
        for step in part.program.steps:
            if step.reached & changed:
                count += 1
        return count


def outcomes(program: Program, facts: Sequence[Fact], sites: Sequence[int]) -> tuple[dict[int, Outcome], int]:
    """What a forward run on these inputs says of these accesses, and how many steps it took.

    The program is one `restricted` to them.
    """
    runner, found = run_forward(program, facts, Counter())
    return {site: outcome_of(found.get(site, ())) for site in sites}, runner.visits


def outcome_of(found: Sequence[Seen]) -> Outcome:
    """Whether an access is inside wherever it was reached."""
    seen = [one for one in found if not one.context.lanes]
    return Outcome(all(one.inside for one in seen) or stays_in_lanes(seen, in_lanes(found)), seen)


def in_lanes(found: Sequence[Seen]) -> list[Seen]:
    """The ways an access was reached in running lanes of batched loops: of a loop inside of another, those of both.

    What a lane makes in the inner loop that is done in the outer one is thrown away after that. A run that stands for
    further calls with equal facts is always among them.
    """
    running = [one for one in found if one.context.lanes]
    loops = _batched(running)

    def is_of_both(one: Seen) -> bool:
        outside: Context | None = one.context
        while outside is not None and outside.lanes:
            if outside.others:
                return True
            outside = outside.parent
        return not _is_beside(outside, loops)

    return [one for one in running if is_of_both(one)]


def stays_in_lanes(seen: Sequence[Seen], running: Sequence[Seen]) -> bool:
    """Whether an access is inside in every lane of a batched loop that still runs, and is met nowhere else."""
    return bool(running) and all(one.inside for one in running) and is_met_in_lanes(seen, running)


def is_met_in_lanes(seen: Sequence[Seen], running: Sequence[Seen]) -> bool:
    """Whether an access is met nowhere but in batched loops of which there is a run for running lanes alone.

    A loop whose lanes see each other has no run for running lanes alone, though it may share the access with one that
    has: each way to the access must lead through a loop with such a run beside it. And nothing that a lane makes that
    is done may keep a loop inside of it going.
    """
    loops = _batched(running)
    if not all(_is_beside(one.context, loops) for one in seen):
        return False
    batched = {(id(loop.eqn), id(one.step.eqn)): (loop.eqn, one.step.eqn) for one in running for loop in _loops(one)}
    return not any(decides_rounds(loop, access) for loop, access in batched.values())


def _batched(running: Iterable[Seen]) -> set[tuple[int, int]]:
    """The batched loops of which there is a run for running lanes alone, each by the run it is in and its step."""
    return {(id(c.parent), id(c.step)) for one in running for c in _around(one.context) if c.lanes}


def _is_beside(context: Context | None, loops: Set[tuple[int, int]]) -> bool:
    """Whether each way to a run of all lanes leads through one of these loops."""
    if context is None or context.lanes:
        return False
    # A run can stand for further calls with equal facts.
    callers = (context.parent, *(parent for parent, _ in context.others))
    return (id(context.parent), id(context.step)) in loops or all(_is_beside(one, loops) for one in callers)


def _loops(one: Seen) -> Iterator[Step]:
    """The batched loops around an access of which only the lanes that run were looked at, the outermost ones."""
    waiting = [one.context]
    while waiting:
        context = waiting.pop()
        for parent, step in ((context.parent, context.step), *context.others):
            if parent is not None and parent.lanes:
                waiting.append(parent)
            elif step is not None and context.lanes:
                yield step


def _around(context: Context | None) -> Iterator[Context]:
    """A run and those it is part of."""
    while context is not None:
        yield context
        context = context.parent


def restricted(program: Program, sites: Set[int]) -> Program:
    """The part of a program that decides these accesses, over the same slots."""
    holding: dict[int, bool] = {}

    def holds(body: Program) -> bool:
        if id(body) not in holding:
            holding[id(body)] = any(
                (step.site is not None and id(step.eqn) in sites) or any(holds(b) for b in step.bodies)
                for step in body.steps
            )
        return holding[id(body)]

    kept: list[Step] = []
    wanted = [False] * len(program.template)
    for one in program.assumptions:
        wanted[one.slot] = True
    for slot in program.equal.values():
        wanted[slot] = True
    for step in reversed(program.steps):
        is_kept = False
        if step.kind == OBSERVE:
            is_kept = id(step.eqn) in sites
        else:
            for slot in step.outs:
                if slot >= 0 and wanted[slot]:
                    is_kept = True
                    break
            if not is_kept and step.bodies:
                is_kept = any(holds(body) for body in step.bodies)
        if is_kept:
            kept.append(step)
            for slot in step.ins if step.kind == SIMPLE else step.reads():
                if slot >= 0:
                    wanted[slot] = True
    part = Program(program.jaxpr)
    part.steps = kept[::-1]
    part._masks, part._compared = program.behind(), program.compared()
    part.assumptions, part.lanes, part.unknown = program.assumptions, program.lanes, program.unknown
    part.anew, part.computed, part.memo["anew"] = program.anew, program.computed, computed_anew(program)
    part.last, part.narrowing, part.equal = program.last, program.narrowing, program.equal
    part.template, part.inputs, part.outs, part.defs = (
        program.template,
        program.inputs,
        program.outs,
        program.defs,
    )
    return part
