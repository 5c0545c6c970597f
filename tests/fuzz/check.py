"""One program, held against redzone: its facts, its verdicts, its witnesses, its conditions."""

from __future__ import annotations

import collections
import dataclasses
import functools
import math
import random
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from redzone.api import check_traced
from redzone.engine import analyse
from redzone.frontend import compat
from redzone.frontend.trace import Input, Traced
from tests.fuzz.conditions import breaking, just_outside, keeping, narrowed, satisfied
from tests.fuzz.exact import BrokenPromise, CannotRun, Interpreter, TooLong
from tests.fuzz.generate import Argument, Program, recontract, sample
from tests.fuzz.watch import Contradiction, Facts, Failure, Tamper, Watch

RUNS = 3
"""Inputs tried for every program."""
RELATED_RUNS = 16
"""The same for a program about relations: it is small, and what breaks a relation is rare."""
LONGER = 10
"""How many times as long a run may be in which something else is read outside."""
BREAKS = 6
"""Inputs just outside a condition that are tried."""


_GARBAGE = (1, 77, 0, -1, None)
"""What may be read outside; None for the greatest number there is."""


class Discarded(Exception):
    """JAX itself would not trace this program."""


@dataclasses.dataclass(slots=True)
class Outcome:
    """What came of one program."""

    failure: Failure | None
    counts: collections.Counter[str]
    program: Program
    jaxpr: Any
    arguments: Sequence[Any] = ()
    lesser: Failure | None = None
    """A failure that is reported only when there is no other."""


def traced(closed: Any, arguments: Sequence[Argument]) -> Traced:
    """An already traced program under a contract, as `redzone.check` would hand it on."""
    inputs = tuple(
        Input(f"args[{i}]", v.aval, a.low, a.high)
        for i, (v, a) in enumerate(zip(compat.open_jaxpr(closed)[0].invars, arguments, strict=True))
    )
    return Traced("program", closed, inputs, 0.0)


def examine(program: Program, runs: int = RUNS, contracts: int = 1) -> Outcome:
    """Check the program with redzone, run it, and report the first contradiction."""
    try:
        closed = program.trace()
    except Exception as error:  # whatever JAX objects to, it is no program
        raise Discarded(str(error)) from error
    outcome = Outcome(None, collections.Counter(), program, closed)
    interpreter = Interpreter(closed)
    runs = max(runs, RELATED_RUNS) if program.related else runs
    for k in range(contracts):
        outcome.program = program if k == 0 else recontract(program, k)
        examine_traced(interpreter, outcome, runs)
        if outcome.failure is not None:
            return outcome
    outcome.failure = outcome.lesser
    return outcome


def examine_traced(interpreter: Interpreter, outcome: Outcome, runs: int = RUNS) -> None:
    """Check one traced program under one contract, and run it; the first contradiction goes into `outcome`."""
    subject = traced(outcome.jaxpr, outcome.program.arguments)
    outcome.counts["contracts"] += 1
    try:
        report = check_traced(subject)
        if outcome.program.seed % 20 == 0:
            str(report), report.to_json()
        analysis = analyse(outcome.jaxpr, [i.fact() for i in subject.inputs], everything=True, strict=True)
    except Exception as error:  # any exception here is a bug of redzone, whatever its type
        trail = "".join(traceback.format_exception(error)[-4:])
        outcome.failure = Failure("crash", type(error).__name__, trail)
        return
    try:
        _hold(outcome.program, interpreter, report, Facts(analysis.facts), outcome, runs)
    except Contradiction as contradiction:
        outcome.failure = contradiction.failure


def _hold(program: Program, interpreter: Interpreter, report: Any, facts: Facts, outcome: Outcome, runs: int) -> None:
    accesses = {id(a.eqn): a for a in report.accesses}
    for access in report.accesses:
        outcome.counts[str(access.verdict)] += 1
    rng = random.Random(f"inputs:{program.seed}")
    chosen = program.inputs()
    for k in range(len(chosen) + runs):
        args = chosen[k] if k < len(chosen) else [sample(rng, a) for a in program.arguments]
        outcome.arguments = args
        watch = run_once(interpreter, args, Watch(facts, accesses), outcome.counts)
        if watch is None:
            continue
        outcome.lesser = outcome.lesser or watch.lesser
        for access in report.accesses:
            if id(access.eqn) not in watch.left:
                continue
            if access.verdict == "masked":
                masked_shows(interpreter, access, args, outcome.counts)
            if access.verdict == "requires" and satisfied(access.requires, args):
                _left_within(interpreter, access, args, outcome)
    alike: dict[str, list[Any]] = {}
    for access in report.accesses:
        if access.verdict == "unsafe" or (access.verdict == "requires" and access.witness is not None):
            _unsafe(program, interpreter, access, accesses, outcome)
        if access.verdict == "requires":
            alike.setdefault(", ".join(map(str, access.requires)), []).append(access)
    for group in alike.values():
        _requires(program, interpreter, group, accesses, outcome, rng, runs)


def run_once(interpreter: Interpreter, args: Sequence[Any], watch: Watch, counts: Any) -> Watch | None:
    """Hold one run against what is claimed; None where nothing is claimed of it, or where it does not end."""
    try:
        interpreter.run(args, watch)
    except Contradiction:
        if interpreter.breaks_a_promise(args) is False:
            raise
        counts["broken promises"] += 1  # further on, or it may be: nothing is claimed of any part of this run
        return None
    except BrokenPromise:
        counts["broken promises"] += 1
        return None
    except TooLong:
        counts["too long"] += 1
        return None
    except CannotRun:
        counts["cannot run"] += 1
        return None
    counts["runs"] += 1
    counts["equations"] += watch.equations
    return watch


def masked_shows(interpreter: Interpreter, access: Any, args: Sequence[Any], counts: Any) -> None:
    """Whatever was read outside, the outputs must be the same, and the run must come to its end, as it did before."""
    if access.effect != "read":
        return
    runs: list[Any] = []
    longer = Interpreter(interpreter.closed, LONGER * interpreter.limit)
    # How often a loop runs may be what was read, which then is an element of its array.
    for one, several in ((interpreter, _GARBAGE), (longer, _GARBAGE), (longer, (np.min, np.max))):
        try:
            runs = [one.run(args, Tamper(id(access.eqn), garbage)) for garbage in several]
            break
        except TooLong:
            continue
        except CannotRun:
            return
    if not runs:
        raise Contradiction(Failure("masked may not end", access.primitive, access.message, access.eqn))
    first, *others = runs
    counts["masked tried"] += 1
    for other in others:
        for a, b in zip(first, other, strict=True):
            if not np.array_equal(a, b, equal_nan=bool(jnp.issubdtype(a.dtype, jnp.inexact))):
                shown = f"{a} or {b}\n  {access.eqn}"
                raise Contradiction(Failure("masked shows", access.primitive, shown, access.eqn))


def _unsafe(program: Program, interpreter: Interpreter, access: Any, accesses: Any, outcome: Outcome) -> None:
    witness = access.witness
    if witness is None:
        raise Contradiction(Failure("unsafe without witness", access.primitive, access.message))
    args = [np.asarray(a) for a in witness.arguments]
    outcome.arguments = args
    for argument, value in zip(program.arguments, args, strict=True):
        if value.shape != argument.shape or not within(argument, value):
            detail = f"{value} is not in {argument}\n  {access.eqn}"
            raise Contradiction(Failure("witness breaks the contract", access.primitive, detail, access.eqn))
    if interpreter.breaks_a_promise(args):
        detail = f"{args} break an assumption\n  {access.eqn}"
        raise Contradiction(Failure("witness breaks the contract", access.primitive, detail, access.eqn))
    watch = run_once(interpreter, args, Watch(None, accesses), outcome.counts)
    if watch is not None and id(access.eqn) not in watch.left:
        raise Contradiction(
            Failure("witness stays inside", access.primitive, f"{access.message}\n  {access.eqn}", access.eqn)
        )
    outcome.counts["witness replayed"] += 1


def within(argument: Argument, value: Any) -> bool:
    """Whether a value keeps the contract; a range says nothing of NaN."""
    above = argument.low is None or (value >= argument.low)
    below = argument.high is None or (value <= argument.high)
    return bool(np.all((above & below) | (value != value)))


def _conditions(access: Any) -> str:
    return ", ".join(map(str, access.requires)) + f"\n  {access.eqn}"


def _left_within(interpreter: Interpreter, access: Any, args: Sequence[Any], outcome: Outcome) -> None:
    """An access left its array although its conditions hold: lanes that are done may, and what is thrown away then."""
    if access.decided_by not in ("condition in running lanes", "condition where it is used"):
        detail = _conditions(access)
        raise Contradiction(Failure("requires left its array", access.primitive, detail, access.eqn))
    masked_shows(interpreter, access, args, outcome.counts)


def _requires(
    program: Program,
    interpreter: Interpreter,
    group: Sequence[Any],
    accesses: Any,
    outcome: Outcome,
    rng: random.Random,
    runs: int,
) -> None:
    """Inside the conditions, which these accesses share, none leaves; just outside, with luck, each is shown to."""
    conditions = group[0].requires
    inner = narrowed(program.arguments, conditions)
    if inner is None:
        outcome.counts["requires not sampled"] += len(group)
        return
    for _ in range(runs):
        args = keeping(rng, inner, conditions)
        if args is None:
            outcome.counts["requires not kept"] += len(group)
            break
        outcome.arguments = args
        watch = run_once(interpreter, args, Watch(None, accesses), outcome.counts)
        for access in group:
            if watch is not None and id(access.eqn) in watch.left:
                _left_within(interpreter, access, args, outcome)

    def shown(what: str, break_it: Callable[[], list[Any] | None]) -> None:
        open_ones = {id(access.eqn) for access in group}
        for _ in range(BREAKS):
            args = break_it()
            if args is None:
                continue
            watch = run_once(interpreter, args, Watch(None, accesses), outcome.counts)
            open_ones -= set() if watch is None else watch.left
            if not open_ones:
                break
        outcome.counts[f"{what} exact"] += len(group) - len(open_ones)
        outcome.counts[f"{what} not shown exact"] += len(open_ones)

    for leaf, value in just_outside(program.arguments, inner, group[0]):
        if math.prod(inner[leaf].shape):
            shown("requires", functools.partial(_spoiled, rng, inner, leaf, value))
    for relation in conditions:
        if relation.terms:
            shown("relation", functools.partial(breaking, rng, inner, relation))


def _spoiled(rng: random.Random, inner: Sequence[Argument], leaf: int, value: int) -> list[Any]:
    """Inputs that keep their ranges but for one argument, of which one element or all of them are `value`."""
    args = [sample(rng, a) for a in inner]
    spoiled = np.array(args[leaf])
    if rng.random() < 0.5:
        spoiled[...] = value
    else:
        spoiled.flat[rng.randrange(spoiled.size)] = value
    args[leaf] = spoiled
    return args
