"""Numbers at which the bound of a carry that keeps on growing may come to rest."""

from __future__ import annotations

from typing import Any

from redzone.domains import Fact, summarised
from redzone.engine.program import Program


def thresholds_of(program: Program) -> tuple[int, ...]:
    """Numbers at which a growing bound may come to rest: the program's constants and sizes, and their neighbours."""
    if not program.thresholds:
        found = {0, 1, -1, *limits_of(program)}
        for fact in program.template:
            if fact is not None and fact.step == 0 and type(fact.lo) is int:
                found |= {fact.lo - 1, fact.lo, fact.lo + 1}
        for step in program.steps:
            for body in step.bodies:
                found.update(thresholds_of(body))
        program.thresholds = tuple(sorted(found))
    return program.thresholds


def limits_of(program: Program) -> tuple[int, ...]:
    """The last places at which the accesses of a program and of what it runs are inside, and the places after."""
    known: tuple[int, ...] | None = program.memo.get("limits")
    if known is None:
        found = {0}
        for step in program.steps:
            if step.site is not None:
                for column in step.site.columns:
                    if type(column.limit) is int:
                        found |= {column.limit, column.limit + 1}
            for body in step.bodies:
                found.update(limits_of(body))
        known = program.memo["limits"] = tuple(sorted(found))
    return known


def near_to(facts: list[Fact], thresholds: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those numbers and the bounds of these facts, with their neighbours."""
    found = set(thresholds)
    symbolic: list[Any] = []
    for fact in facts:
        fact = summarised(fact)
        for bound in (fact.lo, fact.hi):
            if type(bound) is int and abs(bound) < 2**31 - 1:
                found |= {bound - 1, bound, bound + 1}
            elif not isinstance(bound, (int, float)):
                symbolic += [bound - 1, bound, bound + 1]
    return (*sorted(found), *symbolic)
