"""Equal equations share a slot: the same step on the same slots is run once.

jnp writes a new `abs`, comparison or wrap for every use of a number, and `i[t]` reads anew wherever it is written.
Where two of them are one slot, what a condition says of one holds for the other, and half of the steps before the
accesses of a loop body are gone.
"""

from __future__ import annotations

from typing import Any, Final

from redzone.engine.between import Between
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.program import OBSERVE, SCAN, WHILE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules import RULES, Rule
from redzone.rules.table import SAME

_P: Final = primitives()
_SELECT: Final = RULES[_P["select_n_p"]]
_BROADCAST: Final = RULES[_P["broadcast_in_dim_p"]]
#: Primitives whose parameters only say what their result's type says too.
_TYPED: Final = (_P["select_n_p"], _P["convert_element_type_p"])
#: By its stopped gradient vmap's copy of a branch's operand is told from the operand (see `assumptions`).
_STOP: Final = _P.get("stop_gradient_p")
_SLICE: Final = RULES[_P["slice_p"]]
_IDIOMS: Final = (FLOOR_DIVIDE, REMAINDER)
#: Rules of steps whose result is told by their operands and their parameters: what was read, moved or put together.
_TOLD: Final = frozenset(
    RULES[_P[f"{name}_p"]]
    for name in (
        *("dynamic_slice", "gather", "slice", "squeeze", "reshape", "transpose", "rev", "concatenate", "stack"),
        *("reduce_and", "reduce_or", "reduce_max", "reduce_min", "reduce_sum", "cumsum"),
    )
    if f"{name}_p" in _P
)
#: Rules of steps that are shared besides the pointwise ones.
_ALSO: Final = _TOLD | {_SELECT, _BROADCAST}


def share(program: Program) -> dict[int, int]:
    """Leave out the steps that compute what another one before them does, and note which step makes each slot.

    Yields, by slot that turned out to be another one, that one.
    """
    unknown, template, defs = program.unknown, program.template, program.defs
    defs.begin(len(template))
    seen: dict[Any, Step] = {}
    others: dict[Any, list[Step]] = {}
    """The further steps on the same slots, which compute something else."""
    renamed: dict[int, int] = {}
    names = list(range(len(template)))
    """By slot: the one that it turned out to be, mostly itself; -1 of those that nobody asked about."""
    for slot in unknown:
        names[slot] = -1
    kept: list[Step] = []
    for step in program.steps:
        rule, outs, asked_about = step.rule, step.outs, True
        for slot in step.ins:
            name = names[slot]
            if name < 0:
                asked_about = False
            elif name != slot:
                step.ins = tuple([renamed.get(one, one) for one in step.ins])
        if renamed and step.extra is not None:
            _rename_extra(step, renamed)
        if rule is not None and asked_about and len(outs) == 1 and outs[0] >= 0:
            if rule is SAME:
                if template[step.ins[0]] is None and step.primitive is not _STOP:
                    renamed[outs[0]] = names[outs[0]] = step.ins[0]
                    continue
            elif rule.pointwise or rule in _ALSO:
                asked = _asked(step, rule)
                first = seen.setdefault(asked, step)
                if first is not step:
                    same = first if first.rule is rule and _is_same(first.eqn, step.eqn, rule) else None
                    for one in others.get(asked, ()) if same is None else ():
                        if one.rule is rule and _is_same(one.eqn, step.eqn, rule):
                            same = one
                            break
                    if same is not None:
                        renamed[outs[0]] = names[outs[0]] = same.outs[0]
                        continue
                    others.setdefault(asked, []).append(step)
        kept.append(step)
        for out in outs:
            if out >= 0:
                defs[out] = step
    if not renamed:
        return renamed
    program.steps = kept
    program.outs = [renamed.get(slot, slot) for slot in program.outs]
    program.assumptions = [one._replace(slot=renamed.get(one.slot, one.slot)) for one in program.assumptions]
    program.equal = {slot: renamed.get(made, made) for slot, made in program.equal.items()}
    program.masks = [(site, renamed.get(slot, slot), case, calls) for site, slot, case, calls in program.masks]
    program.watched = [(eqn, [renamed.get(slot, slot) for slot in slots]) for eqn, slots in program.watched]
    return renamed


def is_same_step(one: Step, other: Step) -> bool:
    """Whether two steps with one rule are known to compute the same."""
    rule = one.rule
    assert rule is not None
    if len(one.outs) != 1 or one.ins != other.ins or not (rule.pointwise or rule in _ALSO):
        return False
    if rule is not other.rule:
        return False
    return bool(_asked(one, rule) == _asked(other, rule)) and _is_same(one.eqn, other.eqn, rule)


def _asked(step: Step, rule: Rule) -> Any:
    """Equal for two steps with the same operands, if these are no slices; of those, if they start alike too."""
    return (step.ins, step.eqn.params["start_indices"]) if rule is _SLICE else step.ins


def _is_same(one: Any, other: Any, rule: Rule) -> bool:
    """Whether two equations with one rule and the same operands are known to compute the same."""
    params, others = one.params, other.params
    if rule is _BROADCAST:
        return bool(
            params["shape"] == others["shape"] and params["broadcast_dimensions"] == others["broadcast_dimensions"]
        )
    if params or others:
        typed = one.primitive in _TYPED and other.primitive in _TYPED
        told = rule in _TOLD and one.primitive is other.primitive and params == others
        if not typed and not told and rule not in _IDIOMS:
            return False
    a, b = one.outvars[0].aval, other.outvars[0].aval
    return a is b or bool(a.dtype == b.dtype and a.shape == b.shape)


def _rename_extra(step: Step, renamed: dict[int, int]) -> None:
    """What an access, a loop or a sum looks at besides its operands, under its new names."""
    if step.kind == OBSERVE:
        step.extra = [renamed.get(slot, slot) for slot in step.extra]
    elif step.kind in (SCAN, WHILE):
        shape = step.extra
        shape.inits = tuple([renamed.get(slot, slot) for slot in shape.inits])
        shape.also = tuple([renamed.get(slot, slot) for slot in shape.also])
        if shape.search is not None:
            shape.search = shape.search.moved(shape.also)
    elif type(step.extra) is Between:
        a, b, t, rounded = step.extra
        step.extra = Between(renamed.get(a, a), renamed.get(b, b), renamed.get(t, t), rounded)
