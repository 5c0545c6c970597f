"""Equal equations share a slot: the same step on the same slots is run once.

jnp writes a new `abs`, comparison or wrap for every use of a number. Where two of them are one slot, what a condition
says of one holds for the other, and half of the steps before the accesses of a loop body are gone.
"""

from __future__ import annotations

from typing import Any

from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.program import OBSERVE, SCAN, SIMPLE, WHILE, Program, Step
from redzone.engine.search import Share
from redzone.frontend.compat import primitives
from redzone.rules import RULES, Rule
from redzone.rules.table import SAME

_P = primitives()
_SELECT, _BROADCAST = (RULES[_P[n]] for n in ("select_n_p", "broadcast_in_dim_p"))
#: Primitives whose parameters only say what their result's type says too.
_TYPED = (_P["select_n_p"], _P["convert_element_type_p"])
#: By its stopped gradient vmap's copy of a branch's operand is told from the operand (see `assumptions`).
_STOP = _P.get("stop_gradient_p")
_IDIOMS = (FLOOR_DIVIDE, REMAINDER)


def share(program: Program) -> None:
    """Leave out the steps that compute what another one before them does."""
    unknown = program.unknown
    seen: dict[Any, int] = {}
    renamed: dict[int, int] = {}
    kept: list[Step] = []
    for step in program.steps:
        if renamed:
            _rename(step, renamed)
        rule = step.rule
        if step.kind == SIMPLE and len(step.outs) == 1 and rule is not None and unknown.isdisjoint(step.ins):
            if rule is SAME and program.template[step.ins[0]] is None and step.eqn.primitive is not _STOP:
                renamed[step.outs[0]] = step.ins[0]
                continue
            key = _key(step, rule)
            if key is not None:
                known = seen.setdefault(key, step.outs[0])
                if known != step.outs[0]:
                    renamed[step.outs[0]] = known
                    continue
        kept.append(step)
    if not renamed:
        return
    program.steps = kept
    program.outs = [renamed.get(slot, slot) for slot in program.outs]
    program.assumptions = [one._replace(slot=renamed.get(one.slot, one.slot)) for one in program.assumptions]
    program.masks = [(site, renamed.get(slot, slot), case) for site, slot, case in program.masks]
    program.watched = [(eqn, [renamed.get(slot, slot) for slot in slots]) for eqn, slots in program.watched]


def _key(step: Step, rule: Rule) -> Any:
    """Something equal for two steps only if they compute the same from the same; None where that is not known."""
    eqn = step.eqn
    params = eqn.params
    if rule is _BROADCAST:
        return (rule, step.ins, params["shape"], params["broadcast_dimensions"])
    if rule is SAME or not (rule.pointwise or rule is _SELECT):
        return None
    if params and eqn.primitive not in _TYPED and rule not in _IDIOMS:
        return None
    aval = eqn.outvars[0].aval
    return (rule, step.ins, aval.dtype, aval.shape)


def _rename(step: Step, renamed: dict[int, int]) -> None:
    if not renamed.keys().isdisjoint(step.ins):
        step.ins = tuple(renamed.get(slot, slot) for slot in step.ins)
    if step.kind == OBSERVE and step.extra is not None:
        step.extra = [renamed.get(slot, slot) for slot in step.extra]
    elif step.kind in (SCAN, WHILE):
        shape = step.extra
        shape.inits = tuple(renamed.get(slot, slot) for slot in shape.inits)
        shape.also = tuple(renamed.get(slot, slot) for slot in shape.also)
        if shape.search is not None:
            shape.search = Share(shape.search.size, *shape.also)
