"""What `redzone.assume` says, worked out for one run of a program before its steps are run.

An assumption is an equation of straight-line code: every run of the program that holds it executes it. So in every
run that keeps the promise it holds of the values as they are, and what follows for the values it was made from
holds from the first step to the last. Those conclusions are met with what the steps compute.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import Fact, meet
from redzone.domains.fact import TRUE
from redzone.domains.symbolic import at_most
from redzone.engine.either import use_either
from redzone.engine.levels import ALL
from redzone.engine.narrowing import BUDGET
from redzone.engine.neighbours import use_steps
from redzone.engine.program import SIMPLE, Assumption, Program, Step
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.engine.rising import use_order
from redzone.engine.totals import totals, use_totals
from redzone.frontend.compat import primitives
from redzone.frontend.contract import promised
from redzone.rules.table import SAME

if TYPE_CHECKING:
    from redzone.engine.frames import Frame
    from redzone.engine.slots import Slots

#: How often what was learnt is looked at again with what it changed.
ROUNDS: Final = 3

_SELECT: Final = primitives().get("select_n_p")
_STOP: Final = primitives().get("stop_gradient_p")
_EQ: Final = primitives().get("eq_p")
_SPREAD: Final = tuple([primitives()[f"{n}_p"] for n in ("broadcast_in_dim", "reshape", "squeeze", "transpose")])

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
    refiner.promised = True
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
            refiner.forget()
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


#: How many values are looked at to see whether one is thrown away.
LOOKED_AT: Final = 4000


def is_thrown_away(program: Program, slot: int) -> bool:
    """Whether a value is computed in a branch that vmap turned into a select, for lanes that take another one too.

    Each operand x of such a branch is `select(which == k, stop_gradient(x), x)`, and each result of the branches goes
    into a select by `which`. A value behind operands but not behind a result is one of the branch's own. It is followed
    back along every way: a select by `which` leads into the branches that it ends, and an operand of those out of them
    again. One that is met outside of all such is that of a branch which has not ended yet; there may have been another
    cond on the same number before.
    """
    entered = program.memo.get("entered")
    if entered is None:
        entered = program.memo["entered"] = frozenset(
            [_chooser(program, step.ins[0]) for step in program.steps if _is_operand_of_branch(program, step)]
        )
    # With each value, the numbers of the branches that have been gone into and not left, for each time.
    waiting: list[tuple[int, tuple[int, ...]]] = [(slot, ())]
    seen = set(waiting)
    for at, inside in waiting:
        step = program.defs.get(at)
        if step is None or not entered:
            continue
        behind, rest = inside, step.reads()
        if step.kind == SIMPLE and step.primitive is _SELECT and len(step.ins) == len(step.eqn.invars):
            if _is_operand_of_branch(program, step):
                number = _chooser(program, step.ins[0])
                if number is None or number not in inside:
                    return True
                place = inside.index(number)
                behind = inside[:place] + inside[place + 1 :]
            elif (number := _spread_from(program, step.ins[0])) in entered:
                behind = tuple(sorted((*inside, number)))
            rest = step.ins[1:]
            _follow(step.ins[:1], inside, waiting, seen)
        _follow(rest, behind, waiting, seen)
        if len(waiting) > LOOKED_AT:
            return True
    return False


def _follow(
    slots: tuple[int, ...],
    inside: tuple[int, ...],
    waiting: list[tuple[int, tuple[int, ...]]],
    seen: set[tuple[int, tuple[int, ...]]],
) -> None:
    fresh = [one for slot in slots if (one := (slot, inside)) not in seen]
    waiting += fresh
    seen.update(fresh)


def _is_operand_of_branch(program: Program, step: Step) -> bool:
    """Whether a select is such an operand; further vmaps may have spread both of its cases, each by itself."""
    if step.kind != SIMPLE or step.primitive is not _SELECT or len(step.ins) != 3:
        return False
    stopped = program.defs.get(_spread_from(program, step.ins[1]))
    if stopped is None or stopped.kind != SIMPLE or stopped.eqn.primitive is not _STOP:
        return False
    return _spread_from(program, stopped.ins[0]) == _spread_from(program, step.ins[2])


def _chooser(program: Program, slot: int) -> int | None:
    """The number of the branch that a comparison is about."""
    step = program.defs.get(_spread_from(program, slot))
    if step is None or step.kind != SIMPLE or step.primitive is not _EQ:
        return None
    return _spread_from(program, step.ins[0])


def _spread_from(program: Program, slot: int) -> int:
    step = program.defs.get(slot)
    while step is not None and step.kind == SIMPLE and step.primitive in _SPREAD:
        slot = step.ins[0]
        step = program.defs.get(slot)
    return slot


def promise(build: Slots, eqn: Any, frame: Frame) -> None:
    """A promise: its result is its operand, and what it says is asked for whether or not anybody reads that."""
    value, *conditions = eqn.invars
    out = frame.slots.get(eqn.outvars[0], -1)
    if out >= 0:
        build.emit(SIMPLE, eqn, (build.slot(frame, value),), (out,)).rule = SAME
    params, assumptions = eqn.params, build.program.assumptions
    build.slicer.batched = build.slicer.batched or params["batched"]
    for condition in conditions:
        if _has_elements(condition.aval):
            assumptions.append(Assumption(build.slot(frame, condition), TRUE, eqn, True))
    if params["min"] is not None or params["max"] is not None or params["finite"]:
        fact = promised(value.aval, params["min"], params["max"], params["finite"])
        assumptions.append(Assumption(build.slot(frame, value), fact, eqn, False))


def _has_elements(aval: Any) -> bool:
    """Whether an array has elements at every size: what holds for all elements of an empty one says nothing."""
    return all(bool(at_most(1, n)) for n in aval.shape)


def doubt(program: Program, doubted: dict[int, Any]) -> None:
    """Leave out the assumptions made in branches that vmap turned into selects, and in loops and calls there."""
    for one in program.assumptions:
        if one.eqn.params["batched"] and is_thrown_away(program, one.slot):
            doubted[id(one.eqn)] = one.eqn
    program.assumptions = [one for one in program.assumptions if id(one.eqn) not in doubted]
    for step in program.steps:
        inside = [one for body in step.bodies for one in body.all_assumptions() if one.eqn.params["batched"]]
        if inside and any(is_thrown_away(program, slot) for slot in step.reads()):
            doubted.update({id(one.eqn): one.eqn for one in inside})
            for body in step.bodies:
                body.forget(doubted)
