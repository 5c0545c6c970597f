"""The ways back from an index: the steps that it is made from, across calls, branches and loops, and their lines."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final, NamedTuple

from redzone.domains import Fact, summarised
from redzone.engine.forward import Context
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.inventory import PLAIN, children
from redzone.engine.program import CALL, COND, SCAN, SIMPLE, Step
from redzone.frontend.location import locate
from redzone.prove.needs import is_wrap
from redzone.report.model import Location
from redzone.rules.table import SAME

#: How many equations are looked at behind one index.
BUDGET: Final = 200
MOVES: Final = frozenset(
    {
        "broadcast_in_dim",
        "reshape",
        "squeeze",
        "expand_dims",
        "transpose",
        "rev",
        "slice",
        "concatenate",
        "pad",
        "copy",
        "stop_gradient",
        "convert_element_type",
        "sharding_constraint",
        "pvary",
        "optimization_barrier",
        "floor",
        "round",
    }
)
_LIMITS: Final = frozenset({"min", "max", "clamp"})
SUMS: Final = frozenset({"add", "sub", "mul"})


class Way(NamedTuple):
    """One step behind an index, and what lies between."""

    context: Context
    step: Step
    slot: int
    plain: bool
    """Whether the value only moved since: no arithmetic in between."""
    wrapped: bool
    """Whether a negative value counts from the end in between."""


def behind(context: Context, slot: int, column: int | None) -> Iterator[Way]:
    """The steps that an index is made from, nearest first, as far as its value shows through them."""
    todo: list[tuple[Context, int, int | None, bool, bool]] = [(context, slot, column, True, False)]
    known: set[tuple[int, int, int | None]] = set()
    while todo and len(known) < BUDGET:
        context, slot, column, plain, wrapped = todo.pop(0)
        if (id(context.env), slot, column) in known:
            continue
        known.add((id(context.env), slot, column))
        step = context.program.defs.get(slot)
        if step is None:
            up = outside(context, slot)
            if up is not None:
                todo.append((*up, None, plain, wrapped))
            continue
        if step.kind != SIMPLE:
            continue
        yield Way(context, step, slot, plain, wrapped)
        name = step.primitive.name
        if step.rule is REMAINDER or step.rule is FLOOR_DIVIDE:
            continue
        if step.rule is SAME:
            todo.append((context, step.ins[0], column, plain, wrapped))
        elif name == "select_n":
            if is_wrap(context, step):
                # What cannot be negative does not wrap.
                value = whole_of(context, step.ins[1])
                negative = value is not None and type(value.lo) is int and value.lo < 0
                todo.append((context, step.ins[1], column, plain, wrapped or negative))
            else:
                todo += [(context, s, column, plain, wrapped) for s in step.ins[1:]]
        elif name in MOVES:
            todo += [(context, s, c, plain, wrapped) for s, c in _moved(step, column)]
        elif name in _LIMITS:
            todo += [(context, s, column, plain, wrapped) for s in step.ins]
        elif name in SUMS or name == "neg":
            todo += [(context, s, column, False, wrapped) for s in step.ins]


def _moved(step: Step, column: int | None) -> Iterator[tuple[int, int | None]]:
    """The operands that one column of a result comes from, with the column it is there."""
    eqn = step.eqn
    shape = eqn.outvars[0].aval.shape
    if eqn.primitive.name == "concatenate" and column is not None and eqn.params["dimension"] == len(shape) - 1:
        start: Any = 0
        for s, v in zip(step.ins, eqn.invars, strict=False):
            width = v.aval.shape[-1]
            if start <= column < start + width:
                yield s, None if width == 1 else column - start
            start += width
        return
    keeps = eqn.primitive.name in ("copy", "stop_gradient", "convert_element_type", "sharding_constraint", "pvary")
    for s in step.ins:
        yield s, column if keeps else None


def outside(context: Context, slot: int) -> tuple[Context, int] | None:
    """The value outside a sub-program that one of its inputs is; None for the carries of loops."""
    place = next((k for k, (_, s) in enumerate(context.program.inputs) if s == slot), None)
    parent, via = context.parent, context.step
    if place is None or parent is None or via is None:
        return None
    if via.kind == COND:
        return parent, via.ins[via.extra[context.branch][place]]
    if via.kind == CALL:
        return parent, via.ins[place]
    if via.kind == SCAN:
        position, shape = context.program.inputs[place][0], via.extra
        if position < shape.consts or position >= shape.consts + shape.carry_count:
            return parent, via.ins[place]
    return None


def leaf_of(context: Context, slot: int) -> int | None:
    """Which input of the program a value is, looked at through moves and the boundaries of sub-programs."""
    for _ in range(BUDGET):
        step = context.program.defs.get(slot)
        if step is not None:
            if step.kind != SIMPLE or not step.ins:
                return None
            if step.rule is not SAME and (step.primitive.name not in MOVES or len(step.ins) != 1):
                return None
            slot = step.ins[0]
            continue
        up = outside(context, slot)
        if up is None:
            found = (leaf for leaf, s in context.program.inputs if s == slot) if context.parent is None else iter(())
            return next(found, None)
        context, slot = up
    return None


def whole_of(context: Context, slot: int) -> Fact | None:
    fact = context.env[slot]
    return None if fact is None else summarised(fact)


def place_of(context: Context, step: Step) -> Location | None:
    """The line of a step; of one in a function of JAX's own, the only call of it there is in the program."""
    place = locate((step.eqn,))
    if not place.file:
        calls = context.program.callers(_callers).get(id(step.eqn), [])
        place = locate(calls) if len(calls) == 1 else place
    return place if place.file else None


def _callers(jaxpr: Any) -> dict[int, list[Any]]:
    """By identity of an inner equation: the equations of a jaxpr that hold it, no more than two of them."""
    found: dict[int, list[Any]] = {}
    for eqn in jaxpr.eqns:
        for inner in _inner(eqn, 3):
            calls = found.setdefault(id(inner), [])
            if len(calls) < 2 and (not calls or calls[0] is not eqn):
                calls.append(eqn)
    return found


def _inner(eqn: Any, depth: int) -> Iterator[Any]:
    """The equations inside one, so many levels deep."""
    if depth and eqn.primitive not in PLAIN:
        for jaxpr in children(eqn):
            for inner in jaxpr.eqns:
                yield inner
                yield from _inner(inner, depth - 1)
