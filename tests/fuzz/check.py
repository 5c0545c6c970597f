"""One program, held against redzone: its facts, its verdicts, its witnesses, its conditions."""

from __future__ import annotations

import collections
import dataclasses
import random
import traceback
from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp
import numpy as np

from redzone.api import check_traced
from redzone.engine import analyse
from redzone.frontend import compat
from redzone.frontend.trace import Input, Traced
from tests.fuzz.conditions import breaking, just_outside, keeping, narrowed, satisfied
from tests.fuzz.exact import CannotRun, Interpreter, TooLong
from tests.fuzz.generate import Argument, Program, recontract, sample
from tests.fuzz.watch import Contradiction, Failure, Tamper, Watch

RUNS = 3
"""Inputs tried for every program."""
RELATED_RUNS = 16
"""The same for a program about relations: it is small, and what breaks a relation is rare."""


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
        _hold(outcome.program, interpreter, report, analysis.facts, outcome, runs)
    except Contradiction as contradiction:
        outcome.failure = contradiction.failure


def _hold(program: Program, interpreter: Interpreter, report: Any, facts: Any, outcome: Outcome, runs: int) -> None:
    accesses = {id(a.eqn): a for a in report.accesses}
    for access in report.accesses:
        outcome.counts[str(access.verdict)] += 1
    rng = random.Random(f"inputs:{program.seed}")
    for _ in range(runs):
        args = [sample(rng, a) for a in program.arguments]
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
                raise Contradiction(
                    Failure("requires left its array", access.primitive, _conditions(access), access.eqn)
                )
    for access in report.accesses:
        if access.verdict == "unsafe":
            _unsafe(program, interpreter, access, accesses, outcome)
        if access.verdict == "requires":
            if access.witness is not None:
                _unsafe(program, interpreter, access, accesses, outcome)
            _requires(program, interpreter, access, accesses, outcome, rng, runs)


def run_once(interpreter: Interpreter, args: Sequence[Any], watch: Watch, counts: Any) -> Watch | None:
    if interpreter.breaks_a_promise(args) is not False:
        counts["broken promises"] += 1
        return None
    try:
        interpreter.run(args, watch)
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
    """Whatever was read outside, the outputs must be the same."""
    if access.effect != "read":
        return
    try:
        first, second = (interpreter.run(args, Tamper(id(access.eqn), garbage)) for garbage in (1, 77))
    except (TooLong, CannotRun):
        return
    counts["masked tried"] += 1
    for a, b in zip(first, second, strict=True):
        if not np.array_equal(a, b, equal_nan=bool(jnp.issubdtype(a.dtype, jnp.inexact))):
            raise Contradiction(Failure("masked shows", access.primitive, f"{a} or {b}\n  {access.eqn}", access.eqn))


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


def _requires(
    program: Program,
    interpreter: Interpreter,
    access: Any,
    accesses: Any,
    outcome: Outcome,
    rng: random.Random,
    runs: int,
) -> None:
    """Inside the conditions nothing leaves; just outside them something does, which may take luck to find."""
    inner = narrowed(program.arguments, access.requires)
    if inner is None:
        outcome.counts["requires not sampled"] += 1
        return
    for _ in range(runs):
        args = keeping(rng, inner, access.requires)
        if args is None:
            outcome.counts["requires not kept"] += 1
            break
        outcome.arguments = args
        watch = run_once(interpreter, args, Watch(None, accesses), outcome.counts)
        if watch is not None and id(access.eqn) in watch.left:
            raise Contradiction(Failure("requires left its array", access.primitive, _conditions(access), access.eqn))
    for leaf, value in just_outside(program.arguments, inner, access):
        found = any(_violates(rng, interpreter, inner, leaf, value, access, accesses, outcome) for _ in range(6))
        outcome.counts["requires exact" if found else "requires not shown exact"] += 1
    for relation in access.requires:
        if relation.terms:
            found = any(_unrelated(rng, interpreter, inner, relation, access, accesses, outcome) for _ in range(6))
            outcome.counts["relation exact" if found else "relation not shown exact"] += 1


def _unrelated(
    rng: random.Random, interpreter: Interpreter, inner: Sequence[Argument], relation: Any,
    access: Any, accesses: Any, outcome: Outcome,
) -> bool:  # fmt: skip
    args = breaking(rng, inner, relation)
    if args is None:
        return False
    watch = run_once(interpreter, args, Watch(None, accesses), outcome.counts)
    return watch is not None and id(access.eqn) in watch.left


def _violates(
    rng: random.Random, interpreter: Interpreter, inner: Sequence[Argument], leaf: int, value: int,
    access: Any, accesses: Any, outcome: Outcome,
) -> bool:  # fmt: skip
    args = [sample(rng, a) for a in inner]
    if args[leaf].size == 0:
        return True
    spoiled = np.array(args[leaf])
    if rng.random() < 0.5:
        spoiled[...] = value
    else:
        spoiled.flat[rng.randrange(spoiled.size)] = value
    args[leaf] = spoiled
    watch = run_once(interpreter, args, Watch(None, accesses), outcome.counts)
    return watch is not None and id(access.eqn) in watch.left
