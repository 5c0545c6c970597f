"""Where an access is: one fact for each dimension that is indexed."""

from __future__ import annotations

from typing import Any

from redzone.access.site import column_fact, stays_inside
from redzone.domains import Fact, meet
from redzone.engine.mass import altogether
from redzone.engine.program import OBSERVE, Program, Step


def column_facts(program: Program, step: Step, env: list[Any]) -> list[Fact]:
    """One fact per indexed dimension of an access."""
    facts = [env[i] for i in step.ins]
    if step.extra is None:
        return facts
    site = step.site
    assert site is not None
    found = []
    for column, slot, fact, other in zip(site.columns, step.ins, facts, step.extra, strict=True):
        judged = column_fact(column, fact, None if other < 0 else env[other])
        # Sizes that are counts of what there is add up to no more than that.
        counted = altogether(program, env, slot) if column.repeat != 1 and other < 0 else None
        found.append(judged if counted is None else meet(judged, Fact(judged.lo, counted)) or judged)
    return found


def is_open(program: Program, env: list[Any]) -> bool:
    """Whether an access of a program that was run with this result may be outside its array."""
    accesses = [(step, step.site) for step in program.steps if step.kind == OBSERVE and step.site is not None]
    return any(not stays_inside(site, column_facts(program, step, env)) for step, site in accesses)
