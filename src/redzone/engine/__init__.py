"""Facts for every value that can reach an access: demand slice, forward run, refinement, loops."""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from redzone.access.site import Column, Site, stays_inside
from redzone.domains import Fact
from redzone.engine.forward import Context, Runner
from redzone.engine.frames import Masks
from redzone.engine.inlined import Inlined
from redzone.engine.inventory import Inventory
from redzone.engine.program import Program, Step
from redzone.engine.slice import Slicer
from redzone.frontend.compat import open_jaxpr
from redzone.stages import recorded, recorder, stage


@dataclasses.dataclass(slots=True, eq=False)
class Seen:
    """One way an access was reached: the facts of its index columns, and the run it happened in."""

    facts: list[Fact]
    step: Step
    context: Context
    inside: bool


@dataclasses.dataclass(slots=True)
class Analysis:
    """What the engine found out about one program."""

    inventory: Inventory
    program: Program
    seen: dict[int, list[Seen]]
    """By identity of the access's equation; an access never reached is absent."""
    facts: dict[int, list[Fact]]
    """By identity of the equation, one fact per result; only where everything was asked for."""
    unmodelled: Counter[str]
    timings: dict[str, float]
    visits: int
    inputs: list[Fact]
    """One fact per input: what was given, and what assumptions add to it."""
    broken: list[Any]
    """The equations of assumptions that cannot hold."""
    doubted: list[Any]
    """The equations of assumptions that could not be used."""
    inlined: dict[int, Inlined]
    """By identity of a program in it: what that was made of, as long as anybody may ask."""


def inventory_of(closed: Any) -> Inventory:
    """Every access and sub-program of a jaxpr."""
    jaxpr, _ = open_jaxpr(closed)
    inventory = Inventory()
    inventory.walk(jaxpr, ())
    return inventory


@recorded("look again")
def masked_runs(
    closed: Any, inventory: Inventory, in_facts: Sequence[Fact], masks: Masks, homes: Iterable[Any]
) -> list[Context]:
    """The runs of the program, made again with the conditions of these selects, in these jaxprs, looked at."""
    jaxpr, consts = open_jaxpr(closed)
    sites = {site for found in masks.values() for (site, _), _, _ in found}
    narrow = inventory.about(sites | masks.keys(), (*homes, *(inventory.sites[site].home for site in sites)))
    program = Slicer(narrow, masks=masks, only=sites).program(jaxpr, consts, ())
    runner, _ = run_forward(program, in_facts, Counter())
    return runner.masked


def analyse(closed: Any, in_facts: Sequence[Fact], *, everything: bool = False, strict: bool = False) -> Analysis:
    """Facts at every access of a closed jaxpr, given one fact per input.

    `everything` asks for every equation's facts, not only those that reach an access; `strict` lets
    a failing rule raise instead of standing for any value. Both are for tests.
    """
    jaxpr, consts = open_jaxpr(closed)
    started = time.perf_counter()
    with stage("walk"):
        inventory = inventory_of(closed)
    walked = time.perf_counter()
    with stage("slice"):
        slicer = Slicer(inventory, everything)
        wanted = tuple(range(len(jaxpr.outvars))) if everything else ()
        program = slicer.program(jaxpr, consts, wanted)
    sliced = time.perf_counter()
    with stage("facts"):
        runner, seen = run_forward(program, in_facts, slicer.unmodelled, strict)
    done = time.perf_counter()
    timings = {"walk": walked - started, "slice": sliced - walked, "facts": done - sliced}
    return Analysis(
        inventory,
        program,
        seen,
        runner.facts,
        slicer.unmodelled,
        timings,
        runner.visits,
        inputs=_narrowed(program, in_facts, runner.env),
        broken=list(runner.broken.values()),
        doubted=list(slicer.doubted.values()),
        inlined=slicer.inlined,
    )


def _narrowed(program: Program, in_facts: Sequence[Fact], env: list[Any]) -> list[Fact]:
    result = list(in_facts)
    if program.assumptions:
        for position, slot in program.inputs:
            result[position] = env[slot]
    return result


def _is_mixed(site: Site, facts: list[Fact]) -> bool:
    """Whether the columns of an index array have one fact for all: sizes without a number are not kept apart."""
    return any(
        column.column is not None and type(fact.lo) is not np.ndarray
        for column, fact in zip(site.columns, facts, strict=True)
    )


def _column(column: Column, fact: Fact, slot: int, context: Context) -> Fact:
    """What is known of a column by itself."""
    if column.column is None or type(fact.lo) is np.ndarray:
        return fact
    alone = context.program.column(slot, column.column)
    return fact if alone < 0 else context.env[alone] or fact


def run_forward(
    program: Program, in_facts: Sequence[Fact], failures: Counter[str], strict: bool = False
) -> tuple[Runner, dict[int, list[Seen]]]:
    """Run an already sliced program on facts for the jaxpr's inputs."""
    seen: dict[int, list[Seen]] = {}

    def observe(site: Site, facts: list[Fact], step: Step, context: Context) -> None:
        inside = stays_inside(site, facts)
        if not inside and step.extra is None and len(facts) > 1 and _is_mixed(site, facts):
            given = zip(site.columns, facts, step.ins, strict=True)
            facts = [_column(column, fact, slot, context) for column, fact, slot in given]
            inside = stays_inside(site, facts)
        seen.setdefault(id(site.eqn), []).append(Seen(facts, step, context, inside))

    runner = Runner(observe, failures, strict, recorder())
    runner.env = runner.run(program, [in_facts[i] for i, _ in program.inputs], True)
    return runner, seen
