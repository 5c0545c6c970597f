"""What `redzone.assume` says, worked out for one run of a program before its steps are run.

An assumption is an equation of straight-line code: every run of the program that holds it executes it. So in every
run that keeps the promise it holds of the values as they are, and what follows for the values it was made from
holds from the first step to the last. Those conclusions are met with what the steps compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from redzone.domains import Fact, meet
from redzone.engine.either import use_either
from redzone.engine.neighbours import use_steps
from redzone.engine.program import SIMPLE, Assumption, Program, Step
from redzone.engine.refine import ALL, BUDGET, Infeasible, Refiner
from redzone.engine.rising import use_order
from redzone.engine.totals import totals, use_totals
from redzone.frontend.compat import primitives

#: How often what was learnt is looked at again with what it changed.
ROUNDS = 3

_SELECT, _STOP, _EQ = (primitives().get(n) for n in ("select_n_p", "stop_gradient_p", "eq_p"))
_SPREAD = (primitives()["broadcast_in_dim_p"], primitives()["reshape_p"])

RunStep = Callable[[Program, list[Any], Step, None], None]


def learnt(program: Program, inputs: Sequence[Fact], run_step: RunStep) -> tuple[dict[int, Fact], list[Assumption]]:
    """What the assumptions say of the slots of a program run on these inputs; and those that cannot hold.

    An assumption that cannot hold is left out, with all that followed from it.
    """
    trusted, broken = list(program.assumptions), list[Assumption]()
    while trusted:
        known: dict[int, Fact] = {}
        for _ in range(ROUNDS):
            refiner, found = _conclusions(program, inputs, run_step, trusted, known)
            if found:
                break
            before = dict(known)
            known.update({slot: fact for (slot, level), fact in refiner.known.items() if level is ALL})
            if known.keys() == before.keys() and all(known[s].key() == before[s].key() for s in known):
                break
        if not found:
            return known, broken
        broken += found
        trusted = [one for one in trusted if one not in found]
    return {}, broken


def _conclusions(
    program: Program, inputs: Sequence[Fact], run_step: RunStep, trusted: list[Assumption], known: dict[int, Fact]
) -> tuple[Refiner, list[Assumption]]:
    env: list[Any] = program.template.copy()
    # What plain steps compute is left as it comes out: a result already as narrow as a condition makes it would hide
    # what the condition says of its operands from the next round.
    known = {slot: fact for slot, fact in known.items() if not _is_plain(program.defs.get(slot))}
    for (_, slot), fact in zip(program.inputs, inputs, strict=True):
        env[slot] = held(fact, known.get(slot))
    for step in program.supporting():
        run_step(program, env, step, None)
        hold(env, step, known)
    refiner, broken = Refiner(program, env), list[Assumption]()
    # What an order says hangs on the ends, of which the other assumptions speak.
    orders = [one for one in trusted if one.is_condition or totals(program)]
    for use, one in [*((False, one) for one in trusted), *((True, one) for one in orders)]:
        if one in broken:
            continue
        before = refiner.known.copy()
        refiner.budget = BUDGET
        try:
            if use:
                if one.is_condition:
                    use_order(program, refiner, one.slot)
                    use_steps(program, refiner, one.slot)
                    use_either(program, refiner, one.slot)
                use_totals(program, refiner)
            else:
                refiner.narrow(one.slot, one.fact, ALL)
                refiner.again()
        except Infeasible:
            refiner.known, refiner.counted = before, 0
            refiner.pairs.clear()
            broken.append(one)
    return refiner, broken


def _is_plain(step: Step | None) -> bool:
    return step is not None and step.kind == SIMPLE


def hold(env: list[Any], step: Step, known: dict[int, Fact]) -> None:
    """Meet what a step computed with what is known of it."""
    for out in step.outs:
        if out in known:
            env[out] = held(env[out], known[out])


def held(computed: Fact, known: Fact | None) -> Fact:
    """Two facts that both hold, as one; elements kept apart stay so."""
    if known is None:
        return computed
    both = meet(computed, known)
    return computed if both is None or (computed.kept and not both.kept) else both


# Branches that became selects


def is_thrown_away(program: Program, slot: int) -> bool:
    """Whether a value is computed in a branch that vmap turned into a select, for lanes that take another one too.

    Each operand x of such a branch is `select(which == k, stop_gradient(x), x)`, and each result of the branches goes
    into a select by `which`. A value behind operands but not behind a result is one of the branch's own.
    """
    entered: set[int | None] = set()
    left: set[int | None] = set()
    seen, waiting = {slot}, [slot]
    for at in waiting:
        step = program.defs.get(at)
        if step is None:
            continue
        if step.kind == SIMPLE and step.eqn.primitive is _SELECT and len(step.ins) == len(step.eqn.invars):
            if _is_operand_of_branch(program, step):
                entered.add(_chooser(program, step.ins[0]))
            left |= {step.ins[0], _spread_from(program, step.ins[0])}
        for source in step.reads():
            if source not in seen:
                seen.add(source)
                waiting.append(source)
    return bool(entered - left)


def _is_operand_of_branch(program: Program, step: Step) -> bool:
    stopped = program.defs.get(step.ins[1])
    if len(step.ins) != 3 or stopped is None or stopped.kind != SIMPLE:
        return False
    return stopped.eqn.primitive is _STOP and stopped.ins[0] == step.ins[2]


def _chooser(program: Program, slot: int) -> int | None:
    """The number of the branch that a comparison is about."""
    step = program.defs.get(_spread_from(program, slot))
    return step.ins[0] if step is not None and step.kind == SIMPLE and step.eqn.primitive is _EQ else None


def _spread_from(program: Program, slot: int) -> int:
    step = program.defs.get(slot)
    while step is not None and step.kind == SIMPLE and step.eqn.primitive in _SPREAD:
        slot = step.ins[0]
        step = program.defs.get(slot)
    return slot
