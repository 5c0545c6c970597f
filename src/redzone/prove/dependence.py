"""Whether a value hangs on the program's inputs at all, or only on its constants and loops."""

from __future__ import annotations

from redzone.engine.forward import Context
from redzone.engine.program import COND, SCAN, WHILE, Program


def depends_on_inputs(context: Context, slot: int) -> bool:
    """Whether an input, or something nobody looked behind, can change this value."""
    return _depends(context, slot, set())


def _depends(context: Context, slot: int, done: set[tuple[int, int]]) -> bool:
    key = (id(context.program), slot)
    if key in done:
        return False
    done.add(key)
    program = context.program
    step = program.defs.get(slot)
    if step is not None:
        if step.kind in (SCAN, WHILE) and any(_depends(context, s, done) for s in step.extra.inits):
            return True
        return any(_depends(context, s, done) for s in step.ins) or any(_opaque(body) for body in step.bodies)
    place = next((k for k, (_, s) in enumerate(program.inputs) if s == slot), None)
    if place is None:
        fact = program.template[slot]
        return fact is None or not (fact.step == 0 or (fact.kept and fact.lo is fact.hi))
    if context.parent is None or context.step is None:
        return True
    via, parent = context.step, context.parent
    if via.kind == COND:
        return _depends(parent, via.ins[via.extra[context.branch][place]], done) or _depends(parent, via.ins[0], done)
    if any(_depends(parent, s, done) for s in via.ins):
        return True
    return any(out >= 0 and _depends(context, out, done) for out in program.outs)


def _opaque(program: Program) -> bool:
    """Whether a body uses a value that only its dtype is known of."""
    inputs = {slot for _, slot in program.inputs}
    for step in program.steps:
        for slot in step.ins:
            fact = program.template[slot]
            if slot not in inputs and fact is not None and fact.step != 0 and not fact.kept:
                return True
        if any(_opaque(body) for body in step.bodies):
            return True
    return False
