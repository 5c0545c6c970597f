"""Which values others are made from, and which of them a condition says something about: as a plain search finds it."""

from __future__ import annotations

import importlib
import pkgutil

import jax
import pytest

import tests.cases
from redzone.engine import inventory_of
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.kinds import KIND, narrows
from redzone.engine.program import COND, SIGNATURE, SIMPLE, Program
from redzone.engine.slice import Slicer
from redzone.frontend.compat import open_jaxpr
from redzone.rules.table import SAME
from tests.cases import CASES

for _module in pkgutil.iter_modules(tests.cases.__path__):
    importlib.import_module(f"tests.cases.{_module.name}")


def slots_of(mask: int) -> set[int]:
    return {k for k in range(mask.bit_length()) if mask >> k & 1}


def reached(program: Program, slot: int, through: object) -> set[int]:
    """What can be reached from a slot by going back through steps."""
    found, waiting = {slot}, [slot]
    for at in waiting:
        more = [one for one in through(program, at) if program.template[one] is None and one not in found]  # type: ignore[operator]
        found.update(more)
        waiting += more
    return found


def made_from(program: Program, slot: int) -> list[int]:
    step = program.defs.get(slot)
    return list(step.ins) if step is not None and step.kind == SIMPLE else []


def followed(program: Program, slot: int) -> list[int]:
    step = program.defs.get(slot)
    if step is None:
        return [program.equal[slot]] if slot in program.equal else []
    is_known = step.eqn.primitive in KIND or step.rule is SAME or step.rule in (FLOOR_DIVIDE, REMAINDER)
    return list(step.ins) if step.kind == COND or (step.kind == SIMPLE and is_known) else []


def said_beside(program: Program, slot: int) -> set[int]:
    """What a step says something about besides what it is made from."""
    step = program.defs.get(slot)
    if step is None or step.kind not in (SIMPLE, COND):
        return set()
    if step.kind == COND:
        return {out for out in step.outs if out >= 0}
    found = {other for _, other in program.compared().get(step.ins, ())}
    for pair in (step.ins, step.ins[::-1]):
        found |= {place.out for place in program.searched().get(pair, ())}
    return found


def check(program: Program) -> None:
    assert len(program.template) < SIGNATURE
    behind = program.behind()
    for slot, fact in enumerate(program.template):
        if fact is not None:
            continue
        assert slots_of(behind[slot]) == reached(program, slot, made_from)
        narrowed = reached(program, slot, followed)
        for one in list(narrowed):
            narrowed |= said_beside(program, one)
        assert slots_of(narrows(program, slot)) == narrowed
    for step in program.steps:
        for body in step.bodies:
            check(body)


@pytest.mark.parametrize("case", CASES[::5], ids=lambda c: c.name)
def test_what_is_related(case):
    closed = jax.make_jaxpr(case.function)(*(a.struct() for a in case.arguments))
    check(Slicer(inventory_of(closed)).program(*open_jaxpr(closed), ()))
