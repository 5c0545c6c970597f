"""A conjunction that fails: one of its parts does, and what holds in each of those cases, joined, holds.

A refinement by `not (a and b)` alone narrows nothing, because which of the two fails is not known. The same
goes for `a or b` that holds. Looked at one after the other, each part narrows what it is about.
"""

from __future__ import annotations

from typing import Any

from redzone.domains import Fact, dtype_info, join
from redzone.engine.program import SIMPLE, Program
from redzone.engine.refine import Infeasible, Refiner
from redzone.frontend.compat import primitives

#: How many parts a condition may have to be looked at one by one.
PARTS = 4

_AND, _OR, _NOT = (primitives()[n] for n in ("and_p", "or_p", "not_p"))


def parts_of(program: Program, slot: int, truth: int) -> tuple[tuple[int, int], ...]:
    """The bools, of the condition's own shape, of which one has its value given here if the condition has its; or none.

    Element by element: where the condition is so, some part is so at the same position.
    """
    found: list[tuple[int, int]] = []
    waiting = [(slot, truth)]
    while waiting:
        at, value = waiting.pop()
        step = program.defs.get(at)
        primitive = step.eqn.primitive if step is not None and step.kind == SIMPLE else None
        if step is None or primitive not in (_AND, _OR, _NOT) or len(step.ins) != len(step.eqn.invars):
            found.append((at, value))
            continue
        out = step.eqn.outvars[0].aval
        if dtype_info(out.dtype).kind != "b" or any(v.aval.shape != out.shape for v in step.eqn.invars):
            found.append((at, value))
        elif primitive is _NOT:
            waiting.append((step.ins[0], 1 - value))
        elif value == (0 if primitive is _AND else 1):
            waiting += [(source, value) for source in reversed(step.ins)]
        else:
            found.append((at, value))
    return tuple(found) if 1 < len(found) <= PARTS else ()


def in_either(
    program: Program, env: list[Any], parts: tuple[tuple[int, int], ...], slot: int, level: Any
) -> Fact | None:
    """What a slot holds where one of these bools at least has its value; None where none can have it."""
    result: Fact | None = None
    for part, value in parts:
        refiner = Refiner(program, env)
        try:
            refiner.assume(part, value, level)
            fact = refiner.value(slot, level)
        except Infeasible:
            continue
        result = fact if result is None else join(result, fact)
    return result
