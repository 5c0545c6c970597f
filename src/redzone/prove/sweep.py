"""What the inputs must keep for all open accesses at once, found in one sweep backward through the program.

A walk from one access (see `needs`) finds that access's own condition but goes over the equations again for each.
The sweep meets each equation once, last to first, with everything asked of its results so far. What it proposes
holds for all accesses together, so it is stronger than each alone would need; what was asked for each is told too.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from redzone.domains import Fact
from redzone.domains.symbolic import at_most, is_inconclusive
from redzone.engine import Seen
from redzone.engine.forward import Context
from redzone.engine.kinds import narrows
from redzone.engine.levels import ALL
from redzone.engine.program import SIMPLE, Program, Step
from redzone.engine.refine import Refiner, assuming
from redzone.engine.relations import Infeasible
from redzone.engine.wrapping import wrapped_by
from redzone.frontend.compat import primitives
from redzone.prove.conditions import Common, needs_of
from redzone.prove.need import Lost, Need, larger
from redzone.prove.needs import Walk, is_about
from redzone.stages import recorded

#: How often the carries of a loop are asked to keep what the body asks of them.
AGAIN: Final = 2
#: How many values are asked for something, at most.
PUSHES: Final = 3000
#: How many things are asked of one value by themselves; further ones together with the last.
KINDS: Final = 12

_ADD: Final = primitives()["add_p"]
_MUL: Final = primitives()["mul_p"]


class Sweep(Walk):
    """Needs of many slots, pushed back step by step."""

    def __init__(self, common: Common, gives_up: bool = False, strict: bool = False, by_branches: bool = False) -> None:
        super().__init__(common.rerun, True, common)
        self.gives_up = gives_up
        """Whether nothing more is asked for accesses that got lost."""
        self.strict = strict
        """Whether the program is not taken to limit what it steps beyond."""
        self.by_branches = by_branches
        """Whether it is taken to limit what the condition of a branch is about, as of a select."""
        self.loosened = False
        """Whether it was somewhere."""
        self.asked: dict[int, dict[int, list[tuple[Need, frozenset[int]]]]] = {}
        """By environment and slot: what is asked, and for which accesses, by identity of their equations."""
        self.contexts: dict[int, Context] = {}
        self.pushes = PUSHES
        self.told: list[tuple[int, Need, frozenset[int]]] = []
        """What is asked of inputs, and for which accesses."""
        self.mine: frozenset[int] = frozenset()
        self.lost: set[int] = set()
        """The accesses for which something was asked that could not be pushed on."""
        self.visited: Counter[int] = Counter()
        self.assumed: dict[Any, tuple[Any, Refiner | None]] = {}
        """By environment, condition and how it comes out: what follows from that; the environment stays its own."""

    @recorded("sweep")
    def over(self, seen: Sequence[Seen]) -> dict[int, Need]:
        """Proposed needs of the inputs, by leaf, for every access not inside already."""
        for one in seen:
            if not one.inside:
                self.mine = frozenset((id(one.step.eqn),))
                for slot, need in needs_of(one):
                    self.reach(one.context, slot, need, None, -1)
        while self.contexts and self.pushes > 0:
            deepest = max(self.contexts.values(), key=_depth)
            del self.contexts[id(deepest.env)]
            self.back(deepest)
        return {leaf: need for leaf, need in self.leaves.items() if not need.empty()}

    def reach(self, context: Context, slot: int, need: Need, stop: Any, at: int) -> None:
        """Note what is asked of a value; the sweep comes to it."""
        fact = context.env[slot]
        if fact is None:
            return
        unmet = need.unmet_by(fact)
        if unmet is None:
            return
        if unmet.loose:
            self.loosened = True
            unmet = Need(unmet.lo, unmet.hi, not self.strict)
        key = id(context.env)
        if self.visited[key] > AGAIN:
            return
        asked = self.asked.setdefault(key, {})
        if key not in self.contexts:
            self.visited[key] += 1
            self.contexts[key] = context
        entries = asked.setdefault(slot, [])
        for k, (old, askers) in enumerate(entries):
            if old.same(unmet):
                entries[k] = (old, askers | self.mine)
                return
        for k, (old, askers) in enumerate(entries):
            # What the same accesses ask for is asked for together anyway.
            if askers == self.mine and old.loose == unmet.loose and old.is_like(unmet):
                entries[k] = (old.both(unmet), askers)
                return
        if len(entries) < KINDS:
            entries.append((unmet, self.mine))
        else:
            entries[-1] = (entries[-1][0].both(unmet), entries[-1][1] | self.mine)

    def tell(self, leaf: int, need: Need) -> None:
        super().tell(leaf, need)
        self.told.append((leaf, need, self.mine))

    def asked_for_by(self, access: int) -> dict[int, Need]:
        """What was asked of the inputs for one access alone, by leaf."""
        found: dict[int, Need] = {}
        for leaf, need, askers in self.told:
            if access in askers:
                found[leaf] = found[leaf].both(need) if leaf in found else need
        return found

    def back(self, context: Context) -> None:
        asked = self.asked[id(context.env)]
        for step in reversed(context.program.steps):
            for out in step.outs:
                for need, askers in asked.pop(out, ()):
                    self.mine = askers
                    self.push(context, step, out, need)
            if step.bodies and self.contexts:
                # What branches ask of their operands is known before those are come to.
                for inner in [c for c in self.contexts.values() if c.step is step and _is_within(c, context)]:
                    del self.contexts[id(inner.env)]
                    self.back(inner)
        for _, slot in context.program.inputs:
            for need, askers in asked.pop(slot, ()):
                self.mine = askers
                self.guarded(lambda slot=slot, need=need: self.enter(context, slot, need))

    def push(self, context: Context, step: Step, slot: int, need: Need) -> None:
        self.pushes -= 1
        fact = context.env[slot]
        if self.gives_up and self.mine <= self.lost:
            return
        if self.pushes < 0 or (fact.step == 0 and not fact.kept):
            self.lost |= self.mine
            return
        self.guarded(lambda: self.through(context, step, slot, need, None, -1))

    def guarded(self, action: Any) -> None:
        """A need that cannot be pushed on is dropped, and the accesses it was for are noted."""
        try:
            action()
        except Lost:
            self.lost |= self.mine
        except Exception as error:
            if not is_inconclusive(error) and not isinstance(error, (TypeError, OverflowError, ValueError)):
                raise

    def select(self, context: Context, step: Step, need: Need, stop: Any, at: int) -> None:
        """Each case must meet the need as far as it does not where it is taken."""
        counted = self.from_the_end(context, step, need)
        if counted is None and wrapped_by(context.program, step) is not None and _holds_zero(need):
            # Counted from the end it must be less than it may be counted from the start: only the latter is asked for.
            counted = Need(larger(need.lo, 0), need.hi, need.loose)
        if counted is not None:
            self.reach(context, step.ins[1], counted, None, -1)
            return
        level = ("here",) if step.eqn.invars[0].aval.shape else ALL
        for k in range(len(step.ins) - 1):
            fact = self.taken(context, step, k, level)
            unmet = None if fact is None else need.unmet_by(fact)
            if unmet is not None:
                limited = need.loose or is_about(context.program, step.ins[0], step.ins[1 + k])
                self.reach(context, step.ins[1 + k], Need(unmet.lo, unmet.hi, limited), None, -1)

    def is_limited(self, program: Program, condition: int, slot: int) -> bool:
        """A branch is what a select is: what its condition is about, the program limits by it."""
        return self.by_branches and is_about(program, condition, slot)

    def taken(self, context: Context, step: Step, k: int, level: Any) -> Fact | None:
        """What a select's case holds where it is taken; None where it never is."""
        program, env, slot = context.program, context.env, step.ins[1 + k]
        which, fact = env[step.ins[0]], env[slot]
        if which.step == 0 and type(which.lo) is int and min(max(which.lo, 0), len(step.ins) - 2) != k:
            return None
        if len(step.ins) != 3 or not narrows(program, step.ins[0]) & program.behind()[slot]:
            known: Fact | None = fact
            return known
        key = (id(env), step.ins[0], k, level)
        if key not in self.assumed:
            self.assumed[key] = (env, assuming(program, env, step.ins[0], k, level))
        refiner = self.assumed[key][1]
        try:
            return None if refiner is None else refiner.value(slot, level)
        except Infeasible:
            return None

    def terms(self, context: Context, step: Step, need: Need) -> list[tuple[int, Need]] | None:
        """What is asked for all accesses together is no place for guesses at who of several terms gives way."""
        if step.eqn.primitive is _ADD:
            return None
        raise Lost(step)

    def through(self, context: Context, step: Step, slot: int, need: Need, stop: Any, at: int) -> None:
        """One step back; a product by a condition on what is multiplied limits it as a select does."""
        if step.kind == SIMPLE and step.eqn.primitive is _MUL and len(step.ins) == 2 and not need.loose:
            a, b = step.ins
            if is_about(context.program, a, b) or is_about(context.program, b, a):
                need = Need(need.lo, need.hi, True)
        super().through(context, step, slot, need, stop, at)


def _is_within(context: Context, outer: Context) -> bool:
    """Whether a run is one of a branch or call that another run makes itself."""
    return context.parent is not None and context.parent.env is outer.env


def _depth(context: Context) -> int:
    depth, parent = 0, context.parent
    while parent is not None:
        depth, parent = depth + 1, parent.parent
    return depth


def _holds_zero(need: Need) -> bool:
    whole = need.uniform()
    return bool(at_most(whole.lo, 0)) and bool(at_most(0, whole.hi))


def relevant(seen: Sequence[Seen], leaves: Sequence[int]) -> set[int]:
    """Which of these inputs can matter to an access: no other does."""
    found: set[int] = set()
    waiting: list[tuple[Context, Step]] = [(one.context, one.step) for one in seen]
    known: set[tuple[int, int]] = set()
    for context, step in waiting:
        if (id(context), id(step)) in known:
            continue
        known.add((id(context), id(step)))
        program = context.program
        if program.assumptions:
            # A promise can carry what is known of one input over to another.
            return set(leaves)
        if context.parent is None:
            if step.reached < 0:
                program.reach()
            reached = step.reached
            found |= {leaf for k, (leaf, _) in enumerate(program.inputs) if reached >> k & 1 and leaf in leaves}
        else:
            assert context.step is not None
            # A run can stand for further calls with equal facts: what matters to those matters too.
            waiting.append((context.parent, context.step))
            waiting += context.others
    return found
