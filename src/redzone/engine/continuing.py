"""Whether a while goes on: its condition, asked about what its carries can be, and what its answers say of them.

A loop asks the same again as it comes to rest: whether it starts, what holds in the body, how often that runs,
what holds after it. What was asked last is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from redzone.domains import Fact, summarised
from redzone.engine.either import PARTS, alternatives, use_either
from redzone.engine.levels import ALL
from redzone.engine.program import COMPARISONS, SIMPLE, Program, Step
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible, comparisons

if TYPE_CHECKING:
    from redzone.engine.forward import Context, Runner


#: How many steps make a condition of which the answers are kept.
FEW: Final = 12
#: The carries, and steps of the body of which it is known then what they yield.
Way = tuple[dict[int, Fact], dict[Step, Fact]]


def parts_of(test: Program) -> list[tuple[tuple[int, int], ...]]:
    """The ways in which a condition can hold that are looked at one by one: bools, and what each is then."""
    known: list[tuple[tuple[int, int], ...]] | None = test.memo.get("ways")
    if known is None:
        known = [()]
        for parts, _ in alternatives(test, test.outs[0]):
            if len(known) * len(parts) <= PARTS:
                known = [(*way, part) for way in known for part in parts]
        test.memo["ways"] = known
    return known


def is_plain(test: Program) -> bool:
    """Whether a condition is a few plain steps: then it answers what it answered before, and that is kept."""
    if "answers" not in test.memo:
        plain = len(test.steps) <= FEW and not test.assumptions and all(step.kind == SIMPLE for step in test.steps)
        test.memo["answers"] = {} if plain else None
    return test.memo["answers"] is not None


class Condition:
    """The condition of one while, in one run of the program around it."""

    __slots__ = (
        *("asked", "batched", "context", "env", "facts", "given", "looked"),
        *("parts", "plain", "runner", "said", "step", "test", "toward"),
    )

    def __init__(self, runner: Runner, step: Step, asked: list[Fact], context: Context | None) -> None:
        self.runner = runner
        self.step = step
        self.test = step.bodies[1]
        self.asked = asked
        """The facts of its inputs, of which those that are carries are the first values."""
        self.context = context
        consts = step.extra.cond_consts
        self.looked = [(k, p - consts) for k, (p, _) in enumerate(self.test.inputs) if p >= consts]
        """The carries among its inputs: the place of each, and which it is."""
        self.batched = bool(self.test.jaxpr.outvars[0].aval.shape)
        """Whether there is one for each lane: the loop goes on while any holds."""
        self.parts = parts_of(self.test)
        """The ways in which it can hold, where it is looked at one by one: bools, and what each is then."""
        self.plain = not self.batched and is_plain(self.test)
        """Whether its answers hang on nothing but the facts it is asked about, which are numbers."""
        self.given: list[Any] | None = None
        """What it looks at besides carries, as a part of each question."""
        self.toward: dict[int, Fact] = {}
        """By carry: what else holds of it while the loop goes on."""
        self.facts: list[Fact] | None = None
        """What was asked last."""
        self.env: list[Any] = []
        """The environment of that run."""
        self.said: dict[int, dict[int, Fact] | None] = {}
        """By how it comes out: what follows for the carries it looks at; None where it can't."""

    def tested(self, now: dict[int, Fact], record: bool = False) -> list[Any]:
        """The environment of its run with these carries."""
        facts = self.asked.copy()
        for place, carry in self.looked:
            facts[place] = now.get(carry, facts[place])
        # Facts are compared by identity.
        same = facts == self.facts
        if not same:
            self.facts = facts
            self.said.clear()
        if record or not same:
            self.env = self.runner.run(self.test, facts, record, self.context, self.step, -1)
        return self.env

    def when(self, now: dict[int, Fact], truth: int, lane: bool = False) -> dict[int, Fact] | None:
        """The carries when it comes out so; None where it can't. `lane`: in the lanes for which it does."""
        if self.plain and not self.toward:
            key = self._question(now, truth)
            if key is not None:
                return self._known(key, now, truth)
        env = self.tested(now)
        if self.batched and truth and not lane:
            return now if summarised(env[self.test.outs[0]]).hi else None
        if truth not in self.said:
            self.said[truth] = self._says(env, truth)
        said = self.said[truth]
        return None if said is None else {**now, **said}

    def _question(self, now: dict[int, Fact], truth: int) -> Any:
        """What it is asked, equal for equal questions; None where not all it looks at are numbers."""
        given = self.given
        if given is None:
            # Loops that share a condition may carry what others give it.
            given = self.given = [self.step.extra.cond_consts]
            carried = {place for place, _ in self.looked}
            for place, fact in enumerate(self.asked):
                if place not in carried:
                    given += (fact.lo, fact.hi, fact.step)
                    if type(fact.lo) is not int or type(fact.hi) is not int:
                        self.plain = False
                        return None
        found = [truth, *given]
        for place, carry in self.looked:
            fact = now.get(carry, self.asked[place])
            if type(fact.lo) is not int or type(fact.hi) is not int:
                return None
            found += (fact.lo, fact.hi, fact.step)
        return tuple(found)

    def _known(self, key: Any, now: dict[int, Fact], truth: int) -> dict[int, Fact] | None:
        """The answer to a question, which may have been asked in another run of the loop."""
        answers = self.test.memo["answers"]
        if key in answers:
            said = answers[key]
        else:
            said = answers[key] = self._says(self.tested(now), truth)
        return None if said is None else {**now, **said}

    def _says(self, env: list[Any], truth: int) -> dict[int, Fact] | None:
        return self._implied(env, ((self.test.outs[0], truth),))

    def has_ways(self, lane: bool) -> bool:
        """Whether it is looked at part by part."""
        return len(self.parts) > 1 and (lane or not self.batched)

    def ways(self, now: dict[int, Fact], lane: bool = False) -> list[Way]:
        """What holds while it goes on, for each part of `a or b` in it; nothing where there is none.

        Whenever the loop goes on, or a lane of it does, it is in one of these ways.
        """
        if not self.has_ways(lane):
            return []
        env, found = self.tested(now), list[Way]()
        for parts in self.parts:
            said = self._implied(env, ((self.test.outs[0], 1), *parts))
            if said is not None:
                told = {} if lane else {step: fact for part in parts for step, fact in self.again(*part).items()}
                found.append(({**now, **said}, told))
        return found

    def again(self, slot: int, truth: int) -> dict[Step, Fact]:
        """Comparisons in the body of what a part of the condition compares, `i < n`, and how they come out with it."""
        made = self.test.defs.get(slot)
        if made is None or made.kind != SIMPLE or made.primitive not in COMPARISONS:
            return {}
        body, shape = self.step.bodies[0], self.step.extra
        given, first = shape.given, shape.cond_consts
        # By what it is to the loop: the carry's number, or, below zero, that of the value it is given.
        inside = {p - shape.consts if p >= shape.consts else -1 - given[first + p]: s for p, s in body.inputs}
        asked = {s: p - first if p >= first else -1 - given[p] for p, s in self.test.inputs}
        places = tuple([inside.get(asked.get(source), -1) for source in made.ins])
        return {} if -1 in places else comparisons(body, places, made.primitive.name, truth)

    def _implied(self, env: list[Any], holding: tuple[tuple[int, int], ...]) -> dict[int, Fact] | None:
        refiner = Refiner(self.test, env)
        try:
            for slot, truth in holding:
                refiner.assume(slot, truth, ALL)
            if not holding[0][1]:
                use_either(self.test, refiner, holding[0][0], 0)
            else:
                for place, carry in self.looked:
                    if carry in self.toward:
                        refiner.narrow(self.test.inputs[place][1], self.toward[carry], ALL)
            return {carry: refiner.current(self.test.inputs[place][1], ALL) for place, carry in self.looked}
        except Infeasible:
            return None
