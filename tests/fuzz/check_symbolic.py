"""One program over symbolic sizes, checked once and run at several sizes that keep its constraints."""

from __future__ import annotations

import collections
import random
import traceback
from typing import Any

import numpy as np

from redzone.api import check_traced, symbolic_sizes
from redzone.domains.symbolic import sizes as program_sizes
from redzone.engine import analyse
from tests.fuzz.at_size import AtSize, TooLarge, holds
from tests.fuzz.check import Discarded, Outcome, masked_shows, run_once, within
from tests.fuzz.conditions import keeping, narrowed, satisfied
from tests.fuzz.exact import Interpreter
from tests.fuzz.generate import sample
from tests.fuzz.symbolic import SymbolicProgram
from tests.fuzz.watch import Contradiction, Facts, Failure, Watch

SIZES = 4
RUNS = 3
"""Inputs tried at each size."""
LIMIT = 3_000
"""Equations of one run."""


def examine(program: SymbolicProgram, sizes: int = SIZES, runs: int = RUNS) -> Outcome:
    """Check the program for every size, run it at some, and report the first contradiction."""
    try:
        subject = program.traced()
    except Exception as error:  # whatever JAX objects to, it is no program
        raise Discarded(str(error)) from error
    outcome = Outcome(None, collections.Counter(), program, subject.jaxpr)
    try:
        report = check_traced(subject)
        if program.seed % 20 == 0:
            str(report), report.to_json()
        with program_sizes(symbolic_sizes(subject)):
            facts = [source.fact() for source in subject.inputs]
            # A rule that cannot compare two sizes stands for any value, here as in a check.
            analysis = analyse(subject.jaxpr, facts, everything=True)
    except Exception as error:  # any exception here is a bug of redzone, whatever its type
        outcome.failure = Failure("crash", type(error).__name__, "".join(traceback.format_exception(error)[-6:]))
        return outcome
    for access in report.accesses:
        outcome.counts[str(access.verdict)] += 1
    try:
        for access in report.accesses:
            if access.witness is not None:
                _witnessed(program, subject.jaxpr, report, access, outcome)
            elif access.verdict == "unsafe":
                outcome.failure = Failure("unsafe without witness", access.primitive, access.message)
                return outcome
    except (TooLarge, ZeroDivisionError):
        outcome.counts["no such size"] += 1
    except Contradiction as contradiction:
        outcome.failure = contradiction.failure
        return outcome
    rng = random.Random(f"sizes:{program.seed}")
    for chosen in program.sizes(rng, sizes):
        try:
            _hold(program, AtSize(subject.jaxpr, chosen), report, analysis.facts, outcome, rng, runs)
        except (ZeroDivisionError, OverflowError, TooLarge):
            outcome.counts["no such size"] += 1  # or far too large a one
            continue
        except Contradiction as contradiction:
            found = contradiction.failure
            outcome.failure = Failure(found.kind, found.primitive, f"at {chosen}: {found.detail}", found.eqn)
            return outcome
        outcome.counts["sizes"] += 1
    return outcome


def _witnessed(program: SymbolicProgram, closed: Any, report: Any, access: Any, outcome: Outcome) -> None:
    """The input that is to show an access outside: of a size that is allowed, inside the contract, and it leaves."""
    args = outcome.arguments = [np.asarray(a) for a in access.witness.arguments]
    # The first arguments are as long as the names say.
    sizes = {name: int(args[k].shape[0]) for k, name in enumerate(program.names)}
    allowed = holds(program.constraints, sizes)
    arguments = [a.at(sizes) for a in program.arguments]
    if not allowed or not all(
        v.shape == a.shape and v.dtype == a.dtype and within(a, v) for a, v in zip(arguments, args, strict=True)
    ):
        detail = f"{args} at {sizes} is not in {arguments}, {program.constraints}"
        raise Contradiction(Failure("witness breaks the contract", access.primitive, detail, access.eqn))
    here = AtSize(closed, sizes)
    interpreter = Interpreter(here.closed, LIMIT)
    if interpreter.breaks_a_promise(args):
        detail = f"{args} break an assumption\n  {access.eqn}"
        raise Contradiction(Failure("witness breaks the contract", access.primitive, detail, access.eqn))
    watch = run_once(interpreter, args, Watch(None, here.accesses(report)), outcome.counts)
    if watch is not None and id(access.eqn) not in {here.origin[key] for key in watch.left}:
        detail = f"at {sizes}: {access.message}\n  {access.eqn}"
        raise Contradiction(Failure("witness stays inside", access.primitive, detail, access.eqn))
    outcome.counts["witness replayed"] += 1


def _hold(
    program: SymbolicProgram, here: AtSize, report: Any, facts: Any, outcome: Outcome, rng: random.Random, runs: int
) -> None:
    arguments = [a.at(dict(here.sizes)) for a in program.arguments]
    accesses, known = here.accesses(report), Facts(here.facts(facts))
    interpreter, before = Interpreter(here.closed, LIMIT), outcome.counts["too long"]
    for _ in range(runs):
        args = outcome.arguments = [sample(rng, a) for a in arguments]
        watch = run_once(interpreter, args, Watch(known, accesses), outcome.counts)
        if watch is None:
            if outcome.counts["too long"] > before:
                return  # it will be at this size
            continue
        for key in watch.left:
            access = accesses[key]
            if access.verdict == "masked":
                masked_shows(interpreter, access, args, outcome.counts)
            if access.verdict == "requires" and satisfied(access.requires, args):
                raise _left(access)
    for key, access in accesses.items():
        inner = narrowed(arguments, access.requires) if access.verdict == "requires" else None
        for _ in range(runs if inner is not None else 0):
            assert inner is not None
            kept = keeping(rng, inner, access.requires)
            if kept is None:
                break
            outcome.arguments = kept
            watch = run_once(interpreter, kept, Watch(None, accesses), outcome.counts)
            outcome.counts["requires kept"] += 1
            if watch is not None and key in watch.left:
                raise _left(access)


def _left(access: Any) -> Contradiction:
    conditions = ", ".join(map(str, access.requires))
    return Contradiction(
        Failure("requires left its array", access.primitive, f"{conditions}\n  {access.eqn}", access.eqn)
    )
