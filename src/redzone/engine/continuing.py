"""Whether a while goes on: its condition, asked about what its carries can be, and what its answers say of them.

A loop asks the same again as it comes to rest: whether it starts, what holds in the body, how often that runs,
what holds after it. What was asked last is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redzone.domains import Fact, summarised
from redzone.engine.program import Step
from redzone.engine.refine import ALL, Infeasible, Refiner

if TYPE_CHECKING:
    from redzone.engine.forward import Context, Runner


class Condition:
    """The condition of one while, in one run of the program around it."""

    __slots__ = ("asked", "batched", "context", "env", "facts", "looked", "runner", "said", "step", "test", "toward")

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
        env = self.tested(now)
        if self.batched and truth and not lane:
            return now if summarised(env[self.test.outs[0]]).hi else None
        if truth not in self.said:
            self.said[truth] = self._says(env, truth)
        said = self.said[truth]
        return None if said is None else {**now, **said}

    def _says(self, env: list[Any], truth: int) -> dict[int, Fact] | None:
        refiner = Refiner(self.test, env)
        try:
            refiner.assume(self.test.outs[0], truth, ALL)
            if truth:
                for place, carry in self.looked:
                    if carry in self.toward:
                        refiner.narrow(self.test.inputs[place][1], self.toward[carry], ALL)
            return {carry: refiner.current(self.test.inputs[place][1], ALL) for place, carry in self.looked}
        except Infeasible:
            return None
