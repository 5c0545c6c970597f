"""A conjunction that fails: one of its parts does, and what holds in each of those cases, joined, holds.

A refinement by `not (a and b)` alone narrows nothing, because which of the two fails is not known. The same
goes for `a or b` that holds. Looked at one after the other, each part narrows what it is about.
"""

from __future__ import annotations

from typing import Any, Final

from redzone.domains import Fact, dtype_info, join, summarised
from redzone.engine.levels import ALL, HERE
from redzone.engine.program import SIMPLE, Program
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.frontend.compat import primitives

#: How many parts a condition may have to be looked at one by one.
PARTS: Final = 4
#: How many disjunctions that hold together are looked at.
SEVERAL: Final = 2

#: Parts of a condition of which one holds, and the condition's shape.
Parts = tuple[tuple[tuple[int, int], ...], tuple[Any, ...]]

_AND: Final = primitives()["and_p"]
_OR: Final = primitives()["or_p"]
_NOT: Final = primitives()["not_p"]
_CONVERT: Final = primitives()["convert_element_type_p"]


def parts_of(program: Program, slot: int, truth: int) -> tuple[tuple[int, int], ...]:
    """The bools, of the condition's own shape, of which one has its value given here if the condition has its; or none.

    Element by element: where the condition is so, some part is so at the same position.
    """
    found: list[tuple[int, int]] = []
    waiting = [(slot, truth)]
    while waiting:
        at, value = waiting.pop()
        step = program.defs.get(at)
        primitive = step.primitive if step is not None and step.kind == SIMPLE else None
        if step is not None and primitive is _CONVERT and step.given().kind == "b":
            # The number of a branch, 0 or 1, which a bool was converted to.
            waiting.append((step.ins[0], value))
            continue
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


def alternatives(program: Program, condition: int, truth: int = 1) -> list[Parts]:
    """The parts of each disjunction that holds where a condition has this value: of `(a | b) & c`, a and b.

    Of `a | (b & c)` that fails both fail, so of b and c one does.
    """
    found: list[Parts] = []
    waiting = [(condition, truth)]
    while waiting:
        slot, value = waiting.pop()
        step = program.defs.get(slot)
        if step is None or step.kind != SIMPLE or step.yields().kind != "b":
            continue
        primitive = step.primitive
        if primitive in (_AND, _OR, _NOT) and len(step.ins) != len(step.eqn.invars):
            continue
        if primitive is _NOT:
            waiting.append((step.ins[0], 1 - value))
        elif primitive is (_AND if value else _OR):
            waiting += [(source, value) for source in step.ins]
        elif parts := parts_of(program, slot, value):
            found.append((parts, tuple(step.eqn.outvars[0].aval.shape)))
    return found


def beside(program: Program, condition: int, truth: int, shape: Any) -> tuple[tuple[tuple[int, int], ...], ...]:
    """The same, where a condition of this shape has the value: element by element, so only what has its shape."""
    whole = parts_of(program, condition, truth)
    if whole:
        return (whole,)
    return tuple([parts for parts, mine in alternatives(program, condition, truth) if mine == tuple(shape)][:SEVERAL])


def use_either(program: Program, refiner: Refiner, condition: int, truth: int = 1) -> None:
    """Use that of each disjunction which holds where a condition has this value some part does: what all say, joined.

    Of an array each element has a part of its own that holds. What is learnt of that element, or of anything made one
    for all elements, follows from whichever it is; and it is any element.
    """
    for parts, shape in alternatives(program, condition, truth):
        if any(type(n) is not int or n == 0 for n in shape):
            continue
        env = list(refiner.env)
        for (slot, level), fact in refiner.known.items():
            if level is ALL:
                env[slot] = fact
        known: dict[int, Fact] | None = None
        for part, value in parts:
            trial = Refiner(program, env)
            try:
                trial.assume(part, value, HERE if shape else ALL)
            except Infeasible:
                continue
            mine = {slot: summarised(fact) for (slot, level), fact in trial.known.items() if level in (ALL, HERE)}
            if known is not None:
                mine = {slot: join(fact, known[slot]) for slot, fact in mine.items() if slot in known}
            known = mine
        if known is None:
            raise Infeasible
        for slot, fact in known.items():
            refiner.narrow(slot, fact, ALL)
