"""The chain of equations behind an index, for people: from the inputs to the access, each with its range."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redzone.domains import summarised
from redzone.engine import Seen
from redzone.engine.forward import Context
from redzone.engine.program import COND, SCAN, SIMPLE, WHILE, Step
from redzone.frontend.location import NOWHERE
from redzone.frontend.trace import Input
from redzone.prove.needs import is_wrap
from redzone.prove.ways import outside, place_of
from redzone.report.model import Link
from redzone.rules.table import SAME

#: How many equations are shown; a reader follows no more.
LONGEST: Final = 24
#: How many operands of one equation are named.
NAMED: Final = 4
_MOVES: Final = frozenset(
    {"broadcast_in_dim", "reshape", "squeeze", "expand_dims", "copy", "stop_gradient", "convert_element_type"}
)
_INFIX: Final = {
    "add": "+",
    "sub": "-",
    "mul": "×",
    "lt": "<",
    "le": "≤",
    "gt": ">",
    "ge": "≥",
    "eq": "=",
    "ne": "≠",
    "and": "and",
    "or": "or",
    "rem": "rem",
    "add_any": "+",
}
_LOOPS: Final = {COND: "branch", SCAN: "scan", WHILE: "while"}


def chain_of(seen: list[Seen], inputs: Sequence[Input]) -> tuple[Link, ...]:
    """The links between the inputs and the index of an access, operands first, the nearest to the index last."""
    one = next((s for s in seen if not s.inside), seen[0] if seen else None)
    if one is None:
        return ()
    chain = _Chain(inputs)
    for slot in one.step.ins:
        try:
            chain.name(one.context, slot)
        except (AttributeError, IndexError, KeyError, TypeError, ValueError):
            break  # an equation of a kind nobody has seen: what was told up to there is true
    return tuple(chain.links)


class _Chain:
    """Links under construction; a value that two others are made from is told once."""

    def __init__(self, inputs: Sequence[Input]) -> None:
        self.inputs = inputs
        self.links: list[Link] = []
        self.names: dict[tuple[int, int], str] = {}
        self.open = 0
        """How many links are waiting for their operands."""

    def name(self, context: Context, slot: int) -> str:
        """What to call a value, after the links it is made from were added."""
        context, slot = _origin(context, slot)
        known = self.names.get((id(context), slot))
        if known is None:
            known = self.names[id(context), slot] = self.told(context, slot)
        return known

    def told(self, context: Context, slot: int) -> str:
        step = context.program.defs.get(slot)
        if step is None:
            return self.source(context, slot)
        if len(self.links) + self.open >= LONGEST:
            return "…"
        self.open += 1
        text = self.equation(context, step, slot)
        self.open -= 1
        return self.add(context, slot, text, step.eqn.primitive.name, place_of(context, step) or NOWHERE)

    def add(self, context: Context, slot: int, text: str, primitive: str, place: Any, name: str = "") -> str:
        name = name or f"t{1 + sum(link.primitive != 'input' for link in self.links)}"
        self.links.append(Link(name, text, primitive, *_range(context, slot), place))
        return name

    def source(self, context: Context, slot: int) -> str:
        """A value no step makes: an input of the function, a constant, or what a loop carries."""
        if context.program.template[slot] is not None:
            lo, hi = _range(context, slot)
            return str(lo) if lo == hi and lo is not None else "constants"
        if context.parent is None:
            leaf = next((leaf for leaf, s in context.program.inputs if s == slot), None)
            if leaf is None:
                return "…"
            source = self.inputs[leaf]
            return self.add(context, slot, source.origin or source.name, "input", NOWHERE, source.name)
        return self.carried(context, slot)

    def carried(self, context: Context, slot: int) -> str:
        """A value that a loop hands from one iteration to the next."""
        via, parent = context.step, context.parent
        if via is None or parent is None or via.kind not in (SCAN, WHILE):
            return "…"
        first = _first(context, via, slot)
        text = f"carried by {_LOOPS[via.kind]}"
        if first is not None and len(self.links) + self.open < LONGEST:
            self.open += 1
            text += f", starts as {self.name(parent, first)}"
            self.open -= 1
        return self.add(context, slot, text, via.eqn.primitive.name, place_of(parent, via) or NOWHERE)

    def equation(self, context: Context, step: Step, slot: int) -> str:
        """How a step makes its value, in the words of its operands."""
        primitive = step.eqn.primitive.name
        if step.kind != SIMPLE:
            return self.result(context, step, slot)
        if primitive == "select_n" and is_wrap(context, step):
            plain = self.name(context, step.ins[1])
            return f"{plain} + {_added(context, step)} if {plain} < 0 else {plain}"
        if primitive == "iota":
            return f"arange({step.eqn.outvars[0].aval.shape[step.eqn.params['dimension']]})"
        named = [self.name(context, s) for s in step.ins[:NAMED]]
        if len(step.ins) > NAMED:
            named.append("…")
        if primitive in _INFIX and len(named) == 2:
            return f"{named[0]} {_INFIX[primitive]} {named[1]}"
        if primitive == "select_n" and len(named) == 3:
            return f"{named[2]} if {named[0]} else {named[1]}"
        if primitive == "slice":
            return f"{named[0]}[{_ends(step.eqn.params)}]"
        return f"{_called(step)}({', '.join(named)})"

    def result(self, context: Context, step: Step, slot: int) -> str:
        """What a branch, a loop or a call hands out."""
        text = f"result of a {_LOOPS.get(step.kind, 'call')}"
        if step.kind in (SCAN, WHILE):
            place = step.outs.index(slot)
            if place in step.extra.carries:
                first = step.extra.inits[step.extra.carries.index(place)]
                text += f" that starts as {self.name(context, first)}"
        return text


def _added(context: Context, step: Step) -> Any:
    """The size that an index counts back from, where it is negative."""
    moved = context.program.defs.get(step.ins[2])
    sizes = [_range(context, s) for s in moved.ins] if moved is not None else []
    return next((lo for lo, hi in sizes if lo == hi and lo is not None), "size")


def _ends(params: Any) -> str:
    starts, limits = params["start_indices"], params["limit_indices"]
    return ", ".join(str(a) if b == a + 1 else f"{a}:{b}" for a, b in zip(starts, limits, strict=True))


def _called(step: Step) -> str:
    """What a step does; of a function of JAX's own, its name."""
    return str(step.eqn.params.get("name", "") or step.eqn.primitive.name)


def _origin(context: Context, slot: int) -> tuple[Context, int]:
    """Behind moves, and outside sub-programs: where a value was computed."""
    while True:
        step = context.program.defs.get(slot)
        if step is None:
            up = outside(context, slot) if context.program.template[slot] is None else None
            if up is None:
                return context, slot
            context, slot = up
        elif step.kind == SIMPLE and len(step.ins) == 1 and _only_moves(step):
            slot = step.ins[0]
        else:
            return context, slot


def _only_moves(step: Step) -> bool:
    name = step.eqn.primitive.name
    if name == "convert_element_type":
        old, new = step.eqn.invars[0].aval.dtype, step.eqn.outvars[0].aval.dtype
        return getattr(old, "kind", "") == getattr(new, "kind", "") and old.itemsize <= new.itemsize
    return step.rule is SAME or name in _MOVES


def _first(context: Context, via: Step, slot: int) -> int | None:
    """The slot outside a loop that a carried value starts from."""
    position = next((p for p, s in context.program.inputs if s == slot), None)
    shape = via.extra
    if position is None:
        return None
    before = shape.cond_consts if context.branch == -1 else shape.consts
    carry = position - before
    return shape.inits[shape.carries.index(carry)] if carry in shape.carries else None


def _range(context: Context, slot: int) -> tuple[Any, Any]:
    fact = context.env[slot]
    if fact is None:
        return None, None
    fact = summarised(fact)
    return _shown(fact.lo), _shown(fact.hi)


def _shown(bound: Any) -> Any:
    """A bound as a plain value; none where it is infinite."""
    if isinstance(bound, float):
        return None if bound != bound or bound in (float("inf"), float("-inf")) else bound
    return bound
