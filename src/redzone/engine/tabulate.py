"""A number made from one other that has few values: computed for each of them.

Powers by repeated squaring and other bit tricks use one number many times over; taken one by one, its
uses lose that they are of the same number. Where a scalar is made by plain steps from a single scalar
with few values, its facts for each value of that, joined, hold and are as exact as the steps are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redzone.domains import Fact, join, meet, scalar
from redzone.domains.symbolic import is_inconclusive
from redzone.engine.anew import is_anew
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import primitives

#: A result is looked at again only if its range is wider than this, and than so much for each value.
SPREAD: Final = 64
#: How many values are tried, and how many steps may lie between.
VALUES: Final = 32
STEPS: Final = 80

NONE: Final = -1
SEVERAL: Final = -2
#: Of a number of which nobody asked yet.
UNKNOWN: Final = -3

_SELECT: Final = primitives()["select_n_p"]
_MUL: Final = primitives()["mul_p"]

#: The steps from the one number to the result, in order, and the number's slot.
Plan = tuple[list[Step], int]


def tabulated(program: Program, env: list[Any], step: Step, known: Fact) -> Fact:
    """What a scalar step yields, found for each value of the one number it is made from; `known` if there is none."""
    source = one_source(program, step.outs[0])
    if source < 0 or source == step.outs[0]:
        return known
    given: Fact = env[source]
    lo, hi = given.lo, given.hi
    if type(lo) is not int or type(hi) is not int or given.step == 0:
        return known
    count = (hi - lo) // given.step + 1
    if count > VALUES or known.hi - known.lo <= SPREAD * count:
        return known
    key = ("table", step.outs[0])
    if key not in program.memo:
        program.memo[key] = _plan(program, step)
    plan: Plan | None = program.memo[key]
    if plan is None:
        return known
    steps, source = plan
    result: Fact | None = None
    for value in range(lo, hi + 1, given.step):
        made = made_from(program, steps, source, value, step.outs[0])
        if made is None:
            return known
        result = made if result is None else join(result, made)
    assert result is not None
    return meet(known, result) or known


def made_from(program: Program, steps: Sequence[Step], source: int, value: int, out: int) -> Fact | None:
    """What steps make of one number; None where a rule cannot tell."""
    facts: dict[int, Fact] = {source: scalar(value)}
    template = program.template
    for step in steps:
        operands = [facts[s] if s in facts else template[s] for s in step.ins]
        try:
            facts[step.outs[0]] = step.rule.apply(step.eqn, *operands)  # type: ignore[union-attr]
        except Exception as error:
            if not is_inconclusive(error):
                raise
            return None
    return facts[out]


def one_source(program: Program, slot: int) -> int:
    """The slot of the one number that a number is made from by plain steps; `NONE`, or `SEVERAL`."""
    known: list[int] = program.memo.setdefault("sources", [])
    defs, template = program.defs, program.template
    if len(known) < len(template):
        known += [UNKNOWN] * (len(template) - len(known))
    waiting = [slot]
    while waiting:
        at = waiting[-1]
        if known[at] != UNKNOWN:
            waiting.pop()
            continue
        made = defs.get(at)
        if template[at] is not None:
            known[at] = NONE
        elif made is None or not _is_plain(made):
            # What is computed anew wherever it is used is not one number.
            known[at] = SEVERAL if is_anew(program, at) else at
        else:
            source, missing = NONE, -1
            for operand in made.ins:
                found = known[operand]
                if found == UNKNOWN:
                    missing = operand
                elif found != NONE and found != source:
                    source = found if source == NONE else SEVERAL
            if missing < 0 or source == SEVERAL:
                known[at] = source
            else:
                waiting.append(missing)
    return known[slot]


def _plan(program: Program, step: Step) -> Plan | None:
    defs, template = program.defs, program.template
    sources: set[int] = set()
    order: list[Step] = []
    seen: set[int] = set()

    def visit(slot: int) -> bool:
        if slot in seen or template[slot] is not None:
            return True
        seen.add(slot)
        made = defs.get(slot)
        if made is None or not _is_plain(made):
            sources.add(slot)
            return len(sources) == 1
        if len(seen) > STEPS:
            return False
        if not all(visit(s) for s in made.ins):
            return False
        order.append(made)
        return True

    if not visit(step.outs[0]) or len(sources) != 1 or not order:
        return None
    return order, sources.pop()


def _is_plain(step: Step) -> bool:
    """Whether a step computes one scalar from others, by its operands alone."""
    if step.kind != SIMPLE or step.rule is None or len(step.outs) != 1 or not step.ins:
        return False
    if step.volatile and step.primitive is not _MUL:
        return False
    if not (step.rule.pointwise or step.primitive is _SELECT):
        return False
    # What is computed element by element into a scalar is computed from scalars.
    return getattr(step.eqn.outvars[0].aval, "shape", None) == ()
