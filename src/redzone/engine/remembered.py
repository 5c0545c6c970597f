"""What was found out about a loop, and by what it is known again: the facts that it is given, and what else counts.

A body may be run by several loops, and be given other things that have the same facts. What was found by the facts
alone is kept by these; what hangs on the marks that a loop starts with, or on what is known around it, by those too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redzone.domains import Fact
from redzone.engine.determined import row_of
from redzone.engine.entered import narrowed
from redzone.engine.marks import first_marks
from redzone.engine.nested import Rested, scan_key, while_key
from redzone.engine.program import SCAN, LoopShape, Program, Step

if TYPE_CHECKING:
    from redzone.engine.forward import Runner


def fed(body: Program, shape: LoopShape, inputs: list[Fact], now: dict[int, Fact]) -> list[Fact]:
    """What a body is given: of its inputs, the carries are these."""
    facts = inputs.copy()
    for k, (position, _) in enumerate(body.inputs):
        if position >= shape.consts:
            facts[k] = now.get(position - shape.consts, facts[k])
    return facts


def name_of(plain: Any, marks: tuple[Any, ...], ceiling: dict[int, Fact] | None) -> Any:
    """By what a loop is known of which more is known than facts."""
    if ceiling is not None:
        return (plain, marks, tuple([(i, fact.key()) for i, fact in ceiling.items()]))
    return (plain, marks) if marks else plain


def noted(body: Program, key: tuple[Any, tuple[Any, ...], dict[int, Fact] | None], is_marked: bool, known: Any) -> Any:
    """Keep what was found out about a loop: by its facts alone only if nothing else made a difference."""
    plain, marks, ceiling = key
    body.memo[name_of(plain, marks, ceiling)] = known
    if marks and ceiling is None and not is_marked:
        body.memo[plain] = known
    return known


def inside_of(runner: Runner, program: Program, step: Step, env: list[Any], more: dict[int, Fact]) -> list[Any] | None:
    """The environment of a loop's body, in a run of the program around it, from facts that hold wherever it starts."""
    body, shape = step.bodies[0], step.extra
    facts = [env[s] for s in (*step.ins, *shape.inits)]
    if None in facts:
        return None
    inputs, asked = facts[: len(body.inputs)], facts[len(body.inputs) : len(step.ins)]
    marks = first_marks(program, env, step)
    if step.kind == SCAN:
        known = body.memo.get(name_of(scan_key(env, step), marks, None))
        end = shape.consts + shape.carry_count
        rows = [row_of(f) if p >= end else f for (p, _), f in zip(body.inputs, inputs, strict=True)]
        return None if known is None else runner.run(body, fed(body, shape, rows, narrowed(known[0], more)), False)
    key = while_key(step, inputs, asked, facts[len(step.ins) :])
    rested: Rested | None = body.memo.get(name_of(key, marks, None))
    if rested is None or rested.goes_in is None:
        return None
    return runner.run(body, fed(body, shape, inputs, narrowed(rested.goes_in, more)), False)
