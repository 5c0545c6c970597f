"""The forward run: facts flow through a program, conditions narrow them, loops are brought to rest."""

from __future__ import annotations

import dataclasses
import functools
from collections import Counter
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.domains import FALSE, Fact, dtype_info, join, leq, meet, settle, summarised
from redzone.domains.fact import is_small
from redzone.domains.symbolic import at_most, is_inconclusive, larger, smaller
from redzone.engine.assumptions import held, hold, learnt
from redzone.engine.between import Between, within
from redzone.engine.columns import column_facts
from redzone.engine.either import beside
from redzone.engine.filled import Filled, filled_up, up_to_end
from redzone.engine.first import first_of, read_first
from redzone.engine.hot import dotted
from redzone.engine.idioms import FLOOR_DIVIDE
from redzone.engine.interleaved import Interleaved, interleaved, put_together
from redzone.engine.kinds import narrows
from redzone.engine.levels import ALL, HERE
from redzone.engine.loops import run_scan, run_while
from redzone.engine.mass import before, running_sum, summed
from redzone.engine.one_of import with_one_more
from redzone.engine.partition import Partition, limited, partition
from redzone.engine.parts import limited_part, part_of_sum
from redzone.engine.program import CALL, COND, MORE, OBSERVE, SCAN, SIMPLE, Program, Step
from redzone.engine.refine import BLENDED, Refiner, is_flag
from redzone.engine.relations import Infeasible
from redzone.engine.remaining import Remaining, left_over, remaining
from redzone.engine.rounding import ADDED_ONCE
from redzone.engine.share import quotient
from redzone.engine.tabulate import SPREAD, one_source, tabulated
from redzone.engine.wrapping import from_the_end, wrapped_by
from redzone.frontend.compat import primitives
from redzone.rules import RULES
from redzone.rules.table import SAME, top_of
from redzone.stages import Recorder

_SELECT: Final = RULES[primitives()["select_n_p"]]
_ADD: Final = RULES[primitives()["add_p"]]
_SUB: Final = RULES[primitives()["sub_p"]]
_MUL: Final = RULES[primitives()["mul_p"]]
_CONVERT: Final = primitives()["convert_element_type_p"]
_DIV: Final = RULES[primitives()["div_p"]]
_READ: Final = RULES[primitives()["dynamic_slice_p"]]
#: What puts two padded arrays into one.
_JOINING: Final = frozenset((_ADD, ADDED_ONCE, *(RULES[primitives()[n]] for n in ("or_p", "xor_p", "max_p", "min_p"))))
#: The rules whose steps are looked at closer, or computed in another way.
_MORE: Final[dict[Any, Any]] = {
    _SELECT: _SELECT,
    **{RULES[primitives()[n]]: summed for n in ("cumsum_p", "reduce_sum_p")},
    RULES[primitives()["dot_general_p"]]: dotted,
    _DIV: _DIV,
    _READ: _READ,
    FLOOR_DIVIDE: FLOOR_DIVIDE,
    **dict.fromkeys(BLENDED | _JOINING, BLENDED),
}
#: A sum beyond this has the bounds of its integer type.
_NEAR: Final = 2**30
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
        of_its_own = (lanes and bool(program.all_assumptions())) or bool(program.linking)
        last = None if of_its_own else program.last
        changed: list[int] = []
        which = 0
        if last is None:
            env = program.template.copy()
            for (_, slot), fact in zip(program.inputs, inputs, strict=True):
                env[slot] = fact
        else:
            which = 1 << len(inputs) if program.ordered else 0
            for k, ((_, slot), fact) in enumerate(zip(program.inputs, inputs, strict=True)):
                if not _is_same(fact, last[slot]):
                    changed.append(slot)
                    which |= 1 << k
            if not (which or record):
                return last
            env = last.copy()
            for (_, slot), fact in zip(program.inputs, inputs, strict=True):
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
            more = _MORE.get(rule)
            self.looked = None
            try:
                if special is not None and step in special:
                    env[outs[0]] = special[step](env)
                    return
                if more is not None:
                    if more is _SELECT:
                        env[outs[0]] = self.select(program, env, step)
                        return
                    if more is summed:
                        env[outs[0]] = summed(program, env, step)
                        return
                    if more is dotted:
                        env[outs[0]] = dotted(program, env, step)
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
                if more is not None:
                    if more is _DIV:
                        env[outs[0]] = quotient(program, env, step)
                    elif more is FLOOR_DIVIDE:
                        if step.extra is None:
                            step.extra = part_of_sum(program, step) or False
                            step.volatile = bool(step.extra)
                        if step.extra:
                            env[outs[0]] = limited_part(env, step, step.extra, env[outs[0]])
                    elif more is _READ:
                        if step.extra is None:
                            step.extra = first_of(program, step) or False
                            step.volatile = bool(step.extra)
                        if step.extra:
                            env[outs[0]] = read_first(program, env, step, step.extra, env[outs[0]])
                    elif step.extra is not False:
                        self.blend(program, env, step)
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
            run_scan(self, env, step, context)
        elif kind == CALL:
            self.call(env, step, context)
        else:
            run_while(self, env, step, context)

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
            if changed.isdisjoint(reads) and (
                not (always or step.volatile) or _sees_the_same(program, step, looks.get(step), changed)
            ):
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
            self.failures[step.eqn.primitive.name] += 1
        return [top_of(v) for v in step.eqn.outvars]

    def watch(self, program: Program, env: list[Any]) -> None:
        for eqn, slots in program.watched:
            facts = [env[s] for s in slots]
            if any(f is None for f in facts):
                continue
            old = self.facts.get(id(eqn))
            self.facts[id(eqn)] = facts if old is None else [join(a, b) for a, b in zip(old, facts, strict=True)]

    # Selects

    def select(self, program: Program, env: list[Any], step: Step) -> Fact:
        self.looked = []
        which = env[step.ins[0]]
        if which.step == 0 and type(which.lo) is int:
            taken: Fact = env[step.ins[1 + min(max(which.lo, 0), len(step.ins) - 2)]]
            return taken
        eqn = step.eqn
        by_number = dtype_info(eqn.invars[0].aval.dtype).kind != "b"
        if len(step.ins) != 3 or (by_number and not _is_between(which, 0, 1)):
            return self.switch(program, env, step)
        if by_number:
            step.extra = step.extra or ()
        elif step.extra is None:
            step.extra = wrapped_by(program, step) or ()
        if type(step.extra) is int:
            counted = from_the_end(env[step.ins[1]], step.extra)
            if counted is not None:
                return counted
            step.extra = ()
        kept = type(which.lo) is np.ndarray
        cases: tuple[Fact | None, Fact | None] = (env[step.ins[1]], env[step.ins[2]])
        if (
            (cases[0].step or cases[1].step)  # type: ignore[union-attr]
            and dtype_info(eqn.outvars[0].aval.dtype).kind != "b"
            and (program.defs.get(step.ins[0]) is not None or step.ins[0] in program.equal)
        ):
            cases = self.refined_cases(program, env, step, kept)
        first, second = cases
        if first is None or second is None:
            return first or second or env[step.ins[1]]
        if kept:
            return _chosen(which, first, second)
        result = join(first, second)
        if type(result.lo) is int and type(result.hi) is int and result.hi - result.lo > SPREAD:
            self.looked.append({one_source(program, step.outs[0])})
            return tabulated(program, env, step, result)
        return result

    def switch(self, program: Program, env: list[Any], step: Step) -> Fact:
        """A select by a number: what each case holds where that is its number, joined."""
        which, cases = env[step.ins[0]], step.ins[1:]
        plain: Fact = _SELECT.apply(step.eqn, which, *[env[slot] for slot in cases])
        asked, masks = narrows(program, step.ins[0]), program.behind()
        if not plain.step or not _is_between(which, 0, len(cases) - 1) or not any(asked & masks[s] for s in cases):
            return plain
        level = HERE if step.eqn.invars[0].aval.shape else ALL
        bounds, found = summarised(which), list[Fact]()
        for k in range(bounds.lo, bounds.hi + 1):
            fact = self.value_where(program, env, step.ins[0], k, cases[k], level)
            if fact is not None:
                found.append(fact)
        return functools.reduce(join, found) if found else plain

    def refined_cases(
        self, program: Program, env: list[Any], step: Step, kept: bool
    ) -> tuple[Fact | None, Fact | None]:
        """What a select's two cases hold where each is taken.

        Where one case already holds all that the other can be, looking closer at the other changes nothing.
        """
        level = HERE if step.eqn.invars[0].aval.shape else ALL
        cases: list[Fact | None] = [env[step.ins[1]], env[step.ins[2]]]
        related = step.extra
        if not related:
            related = step.extra = related_cases(program, step)
        for k in (0, 1) if related[1] and (not related[0] or _is_wider(cases[0], cases[1])) else (1, 0):
            if related[k]:
                cases[k] = self.refined(program, env, step, k, level)
            mine, other = cases[k], cases[1 - k]
            if mine is not None and other is not None and not kept and _is_wider(mine, other):
                return mine, mine
        return cases[0], cases[1]

    def refined(self, program: Program, env: list[Any], step: Step, k: int, level: Any) -> Fact | None:
        """What a select's case holds where it is taken; None where it never is."""
        case = step.ins[1 + k]
        fact = self.value_where(program, env, step.ins[0], k, case, level)
        key = ("either", step.ins[0], k)
        several = program.memo.get(key)
        if several is None:
            several = program.memo[key] = beside(program, step.ins[0], k, step.eqn.invars[0].aval.shape)
        for parts in several:
            if fact is None or not fact.step or _is_wider(env[step.ins[2 - k]], fact):
                break
            closer = self.in_either(program, env, parts, case, level)
            fact = None if closer is None else meet(fact, closer)
        return fact

    def in_either(
        self, program: Program, env: list[Any], parts: tuple[tuple[int, int], ...], slot: int, level: Any
    ) -> Fact | None:
        """What a slot holds where one of these bools at least has its value; None where none can have it."""
        result: Fact | None = None
        for part, value in parts:
            fact = self.value_where(program, env, part, value, slot, level)
            if fact is not None and fact is env[slot]:
                # Nothing is learnt of it from this part.
                return fact
            if fact is None:
                continue
            result = fact if result is None else join(result, fact)
        return result

    def value_where(
        self, program: Program, env: list[Any], condition: int, truth: int, slot: int, level: Any
    ) -> Fact | None:
        """What a slot holds where a condition comes out this way; None where it never does."""
        refiner = self.assuming(program, env, condition, truth, level)
        if self.looked is not None:
            self.looked.append(refiner.looked)
        if refiner.fails:
            return None
        try:
            return refiner.value(slot, level)
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

    def blend(self, program: Program, env: list[Any], step: Step) -> None:
        """A sum or product in which something counts only under a condition, `x * (a == 1)`: with and without it."""
        factors, rule, fact = step.extra, step.rule, env[step.outs[0]]
        if factors is None and rule is _SUB:
            # From here on it is known not to be one, or to be one.
            factors = step.extra = _running_sum(program, step) or remaining(program, step) or ()
            step.volatile = bool(factors)
        elif factors is None and rule in _JOINING:
            factors = interleaved(program, step)
            if factors is None and rule is _ADD:
                factors = partition(program, step) or filled_up(program, step)
            factors = step.extra = factors or (() if rule is _ADD else False)
            step.volatile = bool(factors)
        if type(factors) is Step:
            env[step.outs[0]] = before(program, env, factors, fact)
            return
        if type(factors) is Remaining:
            env[step.outs[0]] = left_over(env, step, factors, fact)
            return
        if type(factors) is Interleaved:
            env[step.outs[0]] = put_together(env, step, factors, fact)
            return
        if type(factors) is Between:
            env[step.outs[0]] = within(env, step, factors, fact)
            return
        if type(factors) is Partition:
            env[step.outs[0]] = limited(env, factors, fact)
            return
        if type(factors) is Filled:
            env[step.outs[0]] = up_to_end(env, step, factors, fact)
            return
        self.looked = []
        if rule not in BLENDED or type(fact.lo) is not int or type(fact.hi) is not int or fact.hi - fact.lo < 2:
            return
        # A sum of numbers as far as their type goes may have wrapped; a number times 0 or 1 has not.
        if rule is not _MUL and not -_NEAR < fact.lo < fact.hi < _NEAR:
            return
        if not factors:
            factors = _factors(program, env, step)
            if factors is None:
                return
            step.extra, step.volatile = factors or False, bool(factors)
        self.looked.append({factor for factor, _ in factors})
        for factor, shaped in factors:
            if not is_flag(env[factor]):
                continue
            chosen = with_one_more(program, env, step, factor) if rule is _ADD else None
            if chosen is not None:
                number, env[step.outs[0]] = chosen
                self.looked.append({number})
                return
            found: Fact | None = None
            for truth in (1, 0) if rule is _MUL else (0, 1):
                value = self.value_where(program, env, factor, truth, step.outs[0], HERE if shaped else ALL)
                if value is None:
                    continue
                if leq(fact, value):
                    return
                found = value if found is None else join(found, value)
                if truth and rule is _MUL and leq(FALSE, found):
                    # Without it the product is 0, which is among these.
                    break
            if found is not None:
                env[step.outs[0]] = found
            return

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
        if _asked_by(program, made.ins[0]) != _asked_by(program, step.ins[0]):
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


def _running_sum(program: Program, step: Step) -> Step | None:
    """For what a running sum has before each element, that sum."""
    return running_sum(program, step) if dtype_info(step.eqn.outvars[0].aval.dtype).integral else None


def _factors(program: Program, env: list[Any], step: Step) -> list[tuple[int, bool]] | None:
    """What a sum or product is looked at with and without; None while no operand is a condition that is open."""
    if not dtype_info(step.eqn.outvars[0].aval.dtype).integral:
        return []
    if step.rule is _ADD and (found := _indicators(program, step)):
        return found
    for slot in step.ins:
        if is_flag(env[slot]):
            break
    else:
        return None
    return _conditions(program, step) if step.rule is _MUL else _flags(program, step)


def _flags(program: Program, step: Step) -> list[tuple[int, bool]]:
    """The terms of a sum that are conditions on the other term, `top + (top < n)`."""
    if len(step.ins) != 2:
        return []
    found, behind = [], program.behind()
    for k in (0, 1):
        flag, other, shape = step.ins[k], step.ins[1 - k], step.eqn.invars[k].aval.shape
        if program.template[other] is not None or (shape and shape != step.eqn.outvars[0].aval.shape):
            continue
        if _asked_by(program, flag) != flag and narrows(program, flag) & behind[other]:
            found.append((flag, bool(shape)))
    return found


def _indicators(program: Program, step: Step) -> list[tuple[int, bool]]:
    """The factors of a sum's terms that may be conditions: their slots, and whether they are arrays."""
    found = []
    for slot in step.ins:
        product = program.defs.get(slot)
        while product is not None and product.rule is SAME:
            product = program.defs.get(product.ins[0])
        if product is None or product.rule is not _MUL:
            continue
        for factor, atom in zip(product.ins, product.eqn.invars, strict=True):
            shape = atom.aval.shape
            if program.template[factor] is None and (not shape or shape == step.eqn.outvars[0].aval.shape):
                found.append((factor, bool(shape)))
    return found


def _conditions(program: Program, step: Step) -> list[tuple[int, bool]]:
    """The factors of a product that may be conditions on the other one: their slots, and whether they are arrays."""
    if len(step.ins) != 2:
        return []
    found = []
    for k in (0, 1):
        factor, other, shape = step.ins[k], step.ins[1 - k], step.eqn.invars[k].aval.shape
        if program.template[factor] is not None or (shape and shape != step.eqn.outvars[0].aval.shape):
            continue
        # What the condition is about may be the other factor or something that is made from.
        if program.template[other] is None and narrows(program, factor) & program.behind()[other]:
            found.append((factor, bool(shape)))
    return found


def _is_between(fact: Fact, lo: int, hi: int) -> bool:
    fact = summarised(fact)
    return type(fact.lo) is int and type(fact.hi) is int and lo <= fact.lo and fact.hi <= hi


def _is_wider(a: Fact | None, b: Fact | None) -> bool:
    """Whether one plain fact allows all that another does."""
    if a is None or b is None or type(a.lo) is not int or type(b.lo) is not int:
        return False
    return type(a.hi) is int and type(b.hi) is int and leq(b, a)


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


def _asked_by(program: Program, slot: int) -> int:
    """The bool that a branch number was made from, if it was; the number itself elsewhere."""
    step = program.defs.get(slot)
    if step is not None and step.kind == SIMPLE and step.eqn.primitive is _CONVERT:
        return step.ins[0] if dtype_info(step.eqn.invars[0].aval.dtype).kind == "b" else slot
    return slot


def related_cases(program: Program, step: Step) -> tuple[bool, bool]:
    """Whether a select's condition says something about a value that each of its cases is made from."""
    mask, masks = narrows(program, step.ins[0]), program.behind()
    return bool(mask & masks[step.ins[1]]), bool(mask & masks[step.ins[2]])


def _chosen(which: Fact, first: Fact, second: Fact) -> Fact:
    """A select whose condition is known at some positions."""
    shapes = [f.lo.shape for f in (which, first, second) if type(f.lo) is np.ndarray]
    try:
        size = int(np.prod(np.broadcast_shapes(*shapes)))
    except ValueError:
        return join(summarised(first), summarised(second))
    both = join(first, second)
    if size > 4096 or not all(is_small(f) for f in (first, second, both)):
        return both
    lo = np.where(which.hi == 0, first.lo, np.where(which.lo == 1, second.lo, both.lo))
    hi = np.where(which.hi == 0, first.hi, np.where(which.lo == 1, second.hi, both.hi))
    if lo.dtype == object or hi.dtype == object:
        return both
    return settle(lo, hi, first.nan or second.nan)
