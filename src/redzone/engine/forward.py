"""The forward run: facts flow through a program, conditions narrow them, loops are brought to rest."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.domains import Fact, join, meet
from redzone.domains.symbolic import at_most, is_inconclusive, larger, smaller
from redzone.engine.anew import is_anew
from redzone.engine.assumptions import held, hold, learnt
from redzone.engine.blends import blend
from redzone.engine.columns import column_facts
from redzone.engine.hot import dotted
from redzone.engine.kinds import asked_by
from redzone.engine.levels import ALL
from redzone.engine.looks import FINDERS, look_at
from redzone.engine.loops import run_scan, run_while
from redzone.engine.mass import summed
from redzone.engine.program import CALL, COND, MORE, OBSERVE, SCAN, SIMPLE, Program, Step
from redzone.engine.refine import BLENDED, Refiner
from redzone.engine.relations import Infeasible
from redzone.engine.selects import select
from redzone.frontend.compat import primitives
from redzone.rules import RULES
from redzone.rules.table import top_of
from redzone.stages import Recorder

_SELECT: Final = RULES[primitives()["select_n_p"]]
_DOT: Final = RULES[primitives()["dot_general_p"]]
_SUMS: Final = frozenset((_DOT, *(RULES[primitives()[name]] for name in ("cumsum_p", "reduce_sum_p"))))
#: The rules of steps of which more may be known by how their operands are made.
_LOOKED_AT: Final = BLENDED.union(FINDERS)
#: How many iterations of loops are gone through one by one in all, where that may settle an access.
TURNS: Final = 64


@dataclasses.dataclass(slots=True, eq=False)
class Context:
    """One run of a program: its environment, and how the enclosing program came to run it."""

    program: Program
    env: list[Any]
    parent: Context | None = None
    step: Step | None = None
    branch: int | None = None
    """Which branch of a cond; -1 for the condition of a while."""
    lanes: bool = False
    """Only the lanes of a batched while that still run; what the others compute is thrown away."""
    tested: Context | None = None
    """For the body of a while: the run of its condition, which came out true."""
    others: list[tuple[Context, Step]] = dataclasses.field(default_factory=list)
    """Further calls with equal facts, for which this run stands too: who calls, and where."""
    origins: dict[frozenset[int], frozenset[int]] | None = dataclasses.field(default=None, init=False)
    """By inputs of its program: which of the whole program's they are made of (`prove/made_of.py`), once asked."""


#: By branch of a cond that may be taken: what it yields, and the environment of its run.
Apart = dict[int, tuple[list[Any], list[Any]]]
#: Called in the final pass for each access reached: the site, one fact per column, where it happened.
Observer = Callable[[Site, list[Fact], Step, Context], None]


class Runner:
    """Runs programs; `observe` hears of each access once its operands' facts have come to rest."""

    def __init__(
        self, observe: Observer, failures: Counter[str], strict: bool = False, hears: Recorder | None = None
    ) -> None:
        self.observe = observe
        self.hears = hears
        """Who hears of every step, if anybody does."""
        self.failures = failures
        self.strict = strict
        self.facts: dict[int, list[Fact]] = {}
        self.visits = 0
        self.latest: Context | None = None
        """The recorded run that ended last."""
        self.masked: list[Context] = []
        """The runs in which the results of some accesses go through selects that were asked about."""
        self.env: list[Any] = []
        """The environment of the whole program's run."""
        self.turns = TURNS
        """How many iterations of loops may still be gone through one by one."""
        self.closer: dict[Step, list[Fact]] = {}
        """By access in a loop that was gone through so: one fact per indexed dimension, over all its iterations."""
        self.assumed_in: list[Any] | None = None
        self.assumed: dict[tuple[int, int, Any], Refiner] = {}
        """What follows from conditions in the run with the environment `assumed_in`."""
        self.looked: list[set[int]] | None = None
        """The slots that the latest step looked at besides its operands, if nothing else was looked at."""
        self.broken: dict[int, Any] = {}
        """By identity: the equations of assumptions that cannot hold where they are reached."""

    def run(
        self,
        program: Program,
        inputs: list[Fact],
        record: bool,
        parent: Context | None = None,
        via: Step | None = None,
        branch: int | None = None,
        lanes: bool = False,
        tested: list[Any] | None = None,
    ) -> list[Any]:
        """The environment after running a program on facts for its inputs."""
        if self.hears is not None:
            self.hears.body(program)
        lanes = lanes or (parent is not None and parent.lanes)
        if program.assumptions and (lanes or not program.lanes):
            promised = Context(program, [], parent, via, branch, lanes)
            if tested is not None and via is not None:
                promised.tested = Context(via.bodies[1], tested.copy(), parent, via, -1)
            return self.run_assuming(program, inputs, promised, record)
        # What promises further inside say of lanes that still run neither holds in another run nor follows from one.
        of_its_own = (lanes and bool(program.all_assumptions())) or bool(program.linking) or bool(program.ceilings)
        last = None if of_its_own else program.last
        changed: list[int] = []
        which = 0
        if last is None:
            env = program.template.copy()
            for (_, slot), fact in zip(program.inputs, inputs, strict=True):
                env[slot] = fact
        else:
            which = 1 << len(inputs) if program.ordered else 0
            fresh: list[Fact] = []
            for k, (_, slot) in enumerate(program.inputs):
                fact = inputs[k]
                if not _is_same(fact, last[slot]):
                    changed.append(slot)
                    fresh.append(fact)
                    which |= 1 << k
            if not (which or record):
                return last
            env = last.copy()
            for slot, fact in zip(changed, fresh, strict=True):
                env[slot] = fact
        if program.linking:
            program.linked[id(env)] = (env, program.linking)
        context = None
        if record:
            context = Context(program, env, parent, via, branch, lanes)
            if tested is not None and via is not None:
                # A run is known by its environment, and one may serve several callers.
                context.tested = Context(via.bodies[1], tested.copy(), parent, via, -1)
        looks: dict[Step, list[set[int]]] = {}
        if last is None:
            self.steps(program, env, context, looks)
        else:
            looks.update(program.looks)
            self.changed_steps(program, env, last, context, {MORE, *changed, *program.stale}, which, looks)
        if not of_its_own:
            program.last, program.looks = env, looks
            program.stale = set()
        if context is not None:
            self.recorded(context)
        return env

    def run_assuming(self, program: Program, inputs: list[Fact], context: Context, record: bool) -> list[Any]:
        """Run a program with what its assumptions say; nothing of an earlier run is used, whose values say more."""
        known, broken = learnt(program, inputs, self.step)
        env = context.env = program.template.copy()
        for (_, slot), fact in zip(program.inputs, inputs, strict=True):
            env[slot] = held(fact, known.get(slot))
        self.visits += len(program.steps) + len(program.supporting())
        for step in program.steps:
            self.step(program, env, step, context if record else None)
            hold(env, step, known)
        if record:
            self.broken.update({id(one.eqn): one.eqn for one in broken})
            self.recorded(context)
        return env

    def recorded(self, context: Context) -> None:
        self.latest = context
        if context.program.watched:
            self.watch(context.program, context.env)
        if context.program.masks:
            self.masked.append(context)

    def steps(
        self, program: Program, env: list[Any], context: Context | None, looks: dict[Step, list[set[int]]]
    ) -> None:
        """Run every step, and note what those look at that look further than their operands."""
        self.visits += len(program.steps)
        for step in program.steps:
            self.step(program, env, step, context)
            if step.kind == SIMPLE and self.looked is not None:
                looks[step] = self.looked

    def step(self, program: Program, env: list[Any], step: Step, context: Context | None) -> None:
        if self.hears is None:
            self._step(program, env, step, context)
            return
        self.hears.step(step)
        try:
            self._step(program, env, step, context)
        finally:
            self.hears.stepped(step)

    def _step(self, program: Program, env: list[Any], step: Step, context: Context | None) -> None:
        kind = step.kind
        if kind == SIMPLE:
            rule, ins, outs, special = step.rule, step.ins, step.outs, program.special
            self.looked = None
            try:
                if special is not None and step in special:
                    env[outs[0]] = special[step](env)
                    return
                if rule is _SELECT:
                    env[outs[0]] = select(self, program, env, step)
                    return
                if rule in _SUMS:
                    env[outs[0]] = dotted(program, env, step) if rule is _DOT else summed(program, env, step)
                    return
                count = len(ins)
                if count == 2:
                    result = rule.apply(step.eqn, env[ins[0]], env[ins[1]])  # type: ignore[union-attr]
                elif count == 1:
                    result = rule.apply(step.eqn, env[ins[0]])  # type: ignore[union-attr]
                else:
                    result = rule.apply(step.eqn, *[env[i] for i in ins])  # type: ignore[union-attr]
            except Exception as error:
                result = self.gave_up(step, error)
            if len(outs) == 1:
                env[outs[0]] = result if type(result) is Fact else result[0]
                if rule in _LOOKED_AT and step.extra is not False:
                    self.look_closer(program, env, step)
            else:
                for out, fact in zip(outs, result, strict=True):
                    if out >= 0:
                        env[out] = fact
        elif kind == OBSERVE:
            if context is not None:
                facts = column_facts(program, step, env)
                closer = self.closer.get(step)
                if closer is not None:
                    facts = [meet(fact, other) or fact for fact, other in zip(facts, closer, strict=True)]
                self.observe(step.site, facts, step, context)  # type: ignore[arg-type]
        elif kind == COND:
            self.cond(program, env, step, context)
        elif kind == SCAN:
            run_scan(self, program, env, step, context)
        elif kind == CALL:
            self.call(env, step, context)
        else:
            run_while(self, program, env, step, context)

    def look_closer(self, program: Program, env: list[Any], step: Step) -> None:
        """Put what is known of a step by how its operands are made in the place of what its rule says."""
        found = step.extra
        if found is None:
            found = step.extra = look_at(program, step) or (() if step.rule in BLENDED else False)
            step.volatile = bool(found)
        if type(found) is list or found == ():
            blend(self, program, env, step)
        elif found:
            env[step.outs[0]] = found.closer(program, env, step, env[step.outs[0]])

    def changed_steps(
        self,
        program: Program,
        env: list[Any],
        last: list[Any],
        context: Context | None,
        changed: set[int],
        inputs: int,
        looks: dict[Step, list[set[int]]],
    ) -> None:
        """Run the steps whose results can differ from those of an earlier run, where these inputs have changed."""
        again = program.rerun(inputs, context is not None)
        for slot in again.made:
            # Nothing is known of it until its step has run: a refinement may look ahead.
            env[slot] = None
        for step, reads, always in again.steps:
            same = True
            for slot in reads:
                if slot in changed:
                    same = False
                    break
            if same and (not (always or step.volatile) or _sees_the_same(program, step, looks.get(step), changed)):
                for out in step.outs:
                    if out >= 0:
                        env[out] = last[out]
                continue
            self.visits += 1
            self.step(program, env, step, context)
            if step.kind == SIMPLE and self.looked is not None:
                looks[step] = self.looked
            elif step in looks:
                del looks[step]
            for out in step.outs:
                if out < 0:
                    continue
                if _is_same(env[out], last[out]):
                    # The same object again: whoever looks at it next sees at once that nothing has changed.
                    env[out] = last[out]
                else:
                    changed.add(out)

    def gave_up(self, step: Step, error: Exception) -> Any:
        """A rule that could not decide (a symbolic comparison) or failed: any value, and it is counted."""
        self.looked = None
        if not is_inconclusive(error):
            if self.strict:
                raise error
            self.failures[step.primitive.name] += 1
        return [top_of(v) for v in step.eqn.outvars]

    def watch(self, program: Program, env: list[Any]) -> None:
        for eqn, slots in program.watched:
            facts = [env[s] for s in slots]
            if any(f is None for f in facts):
                continue
            old = self.facts.get(id(eqn))
            self.facts[id(eqn)] = facts if old is None else [join(a, b) for a, b in zip(old, facts, strict=True)]

    def value_where(
        self, program: Program, env: list[Any], condition: int, truth: int, slot: int, level: Any, at: Any = None
    ) -> Fact | None:
        """What a slot holds where a condition comes out this way; None where it never does.

        The slot is asked about at the condition's level, or at one of its own.
        """
        refiner = self.assuming(program, env, condition, truth, level)
        if self.looked is not None:
            self.looked.append(refiner.looked)
        if refiner.fails:
            return None
        try:
            return refiner.value(slot, level if at is None else at)
        except Infeasible:
            return None

    def assuming(self, program: Program, env: list[Any], slot: int, truth: int, level: Any) -> Refiner:
        """What follows from a condition in this run, kept for the next who asks."""
        if self.assumed_in is not env:
            self.assumed_in, self.assumed = env, {}
        key = (slot, truth, level)
        refiner = self.assumed.get(key)
        if refiner is None:
            refiner = self.assumed[key] = Refiner(program, env)
            try:
                refiner.assume(slot, truth, level)
            except Infeasible:
                refiner.fails = True
        return refiner

    # Branches and calls

    def cond(self, program: Program, env: list[Any], step: Step, context: Context | None) -> None:
        which = env[step.ins[0]]
        last = len(step.bodies) - 1
        lo, hi = _branches(which, last)
        results: list[Fact | None] = [None] * len(step.outs)
        apart: Apart = {}
        """By branch, what it yields: another cond on the same number takes the same branch."""
        for k in range(lo, hi + 1):
            facts: list[Fact] | None
            if lo == hi:
                facts = [env[i] for i in step.ins]
            else:
                facts = self.inputs_of_branch(program, env, step, k, last)
                if facts is None:
                    continue
            body = step.bodies[k]
            inner = self.run(body, [facts[i] for i in step.extra[k]], context is not None, context, step, k)
            apart[k] = ([inner[s] if s >= 0 else None for s in body.outs], inner)
            for i, out in enumerate(step.outs):
                if out >= 0 and i not in body.errors:
                    fact, old = inner[body.outs[i]], results[i]
                    results[i] = fact if old is None else join(old, fact)
        for i, out in enumerate(step.outs):
            if out >= 0:
                env[out] = results[i] if results[i] is not None else top_of(step.eqn.outvars[i])
        # Kept with the run: another run of the same program yields other facts.
        env[step.apart] = apart

    def of_same_branch(self, program: Program, env: list[Any], step: Step, slot: int, k: int) -> Fact | None:
        """What an earlier cond on the same number yields, in the same run, when this one takes branch k."""
        made = program.defs.get(slot)
        if made is None or made.kind != COND or len(made.bodies) != len(step.bodies):
            return None
        if asked_by(program, made.ins[0]) != asked_by(program, step.ins[0]) or is_anew(program, made.ins[0]):
            return None
        branch = (env[made.apart] or {}).get(k)
        fact: Fact | None = None if branch is None else branch[0][made.outs.index(slot)]
        return fact

    def inputs_of_branch(self, program: Program, env: list[Any], step: Step, k: int, last: int) -> list[Fact] | None:
        """What a branch's operands hold when it is taken; None where it never is."""
        same = {i: self.of_same_branch(program, env, step, i, k) for i in step.ins[1:]}
        if len(step.ins) == 1 or (program.defs.get(step.ins[0]) is None and step.ins[0] not in program.equal):
            return [same.get(i) or env[i] for i in step.ins]
        which = env[step.ins[0]]
        refiner = Refiner(program, env)
        lo = k if k else smaller(which.lo, 0)
        hi = k if k < last else larger(which.hi, last)
        try:
            refiner.narrow(step.ins[0], Fact(lo, hi, 0 if lo == hi else 1), ALL)
            refiner.again()
            return [same.get(i) or refiner.value(i, ALL) for i in step.ins]
        except Infeasible:
            return None

    def call(self, env: list[Any], step: Step, context: Context | None) -> None:
        body = step.bodies[0]
        inputs = [env[i] for i in step.ins]
        # In lanes that still run promises hold which those that are done need not keep.
        key = (context is not None and context.lanes, tuple([f.key() for f in inputs]))
        done = body.memo.get(key)
        if done is None or (context is not None and done[1] is not self):
            inner = self.run(body, inputs, context is not None, context, step)
            run = (self, self.latest) if context is not None else (None, None)
            done = body.memo[key] = ([inner[s] if s >= 0 else None for s in body.outs], *run)
        elif context is not None:
            done[2].others.append((context, step))
        for out, fact in zip(step.outs, done[0], strict=True):
            if out >= 0:
                env[out] = fact


def _sees_the_same(program: Program, step: Step, looked: list[set[int]] | None, changed: set[int]) -> bool:
    """Whether a step that looks at more than its operands would see there what it saw in the run before."""
    if looked is None or step in program.ordered:
        return False
    return all(changed.isdisjoint(slots) for slots in looked)


def _branches(which: Fact, last: int) -> tuple[int, int]:
    """The first and the last of the branches that a number may take; one that is a size without a number, several."""
    lo, hi = which.lo, which.hi
    if type(lo) is not int:
        lo = max([k for k in range(last + 1) if k == 0 or at_most(k, lo)])
    if type(hi) is not int:
        hi = min([k for k in range(last + 1) if k == last or at_most(hi, k)])
    return min(max(lo, 0), last), min(max(hi, 0), last)


def _is_same(a: Fact | None, b: Fact | None) -> bool:
    """Whether two facts are known to be equal."""
    if a is b:
        return True
    if a is None or b is None or a.step != b.step or a.nan != b.nan:
        return False
    kind = type(a.lo)
    if kind is int or kind is float:
        return type(b.lo) is kind and type(a.hi) is type(b.hi) is kind and a.lo == b.lo and bool(a.hi == b.hi)
    return kind is np.ndarray and type(b.lo) is np.ndarray and a.key() == b.key()
