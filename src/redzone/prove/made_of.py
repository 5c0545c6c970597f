"""Which inputs an index is made of, as against those that only decide which way the program goes.

A number that is compared, or that chooses a branch, a case or how often a loop runs, steers; a number that is
added, selected or carried until it is the index is what it is made of. An index made of no input has no range that an
input could keep for it: if it can leave its array at all, that is the program's own doing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from redzone.domains import dtype_info
from redzone.engine import Seen
from redzone.engine.forward import Context
from redzone.engine.program import CALL, COND, SCAN, SIMPLE, WHILE, Program, Step
from redzone.frontend.compat import primitives

_P: Final = primitives()
_SELECT: Final = _P["select_n_p"]
_SORT: Final = _P["sort_p"]
_TOP_K: Final = _P["top_k_p"]
#: Of a read, what is read counts, not where.
_READS: Final = frozenset((_P["gather_p"], _P["dynamic_slice_p"]))
_AND: Final = _P["and_p"]
_LOGIC: Final = frozenset((_AND, _P["or_p"], _P["xor_p"]))
_ORDERS: Final = frozenset(_P[f"{name}_p"] for name in ("lt", "le", "gt", "ge"))
NONE: Final = frozenset[int]()
#: Positions of extremes are no numbers of their operand.
_POSITIONS: Final = frozenset((_P["argmax_p"], _P["argmin_p"]))


def leaves_made_of(seen: Sequence[Seen]) -> set[int]:
    """The inputs, by their place, whose numbers go into the index of an access."""
    found: set[int] = set()
    for one in seen:
        found |= _from_outside(one.context, _inputs(one.context.program, one.step.ins))
    return found


def _from_outside(context: Context, positions: frozenset[int]) -> frozenset[int]:
    """The program's own inputs behind those of a sub-program's run."""
    parent, via = context.parent, context.step
    if parent is None or via is None or not positions:
        return positions if parent is None else frozenset()
    known = context.origins
    if known is None:
        known = context.origins = {}
    elif positions in known:
        return known[positions]
    slots = _outer(via, positions, context.branch)
    found = _from_outside(parent, _inputs(parent.program, slots))
    for caller, step in context.others:
        found |= _from_outside(caller, _inputs(caller.program, _outer(step, positions, context.branch)))
    known[positions] = found
    return found


def _outer(via: Step, positions: frozenset[int], branch: int | None) -> set[int]:
    """The slots around a step that these inputs of what it runs are made of."""
    if via.kind == COND:
        body = via.bodies[branch or 0]
        places = via.extra[branch or 0]
        return {via.ins[i] for (p, _), i in zip(body.inputs, places, strict=True) if p in positions}
    if via.kind == CALL:
        return {s for (p, _), s in zip(via.bodies[0].inputs, via.ins, strict=True) if p in positions}
    if via.kind == WHILE and branch == -1:
        consts, count = via.extra.cond_consts, len(via.bodies[0].inputs)
        carries = {p - consts for p in positions if p >= consts}
        return {s for (p, _), s in zip(via.bodies[1].inputs, via.ins[count:], strict=True) if p in positions} | _looped(
            via, carries
        )
    shape = via.extra
    carries = {p - shape.consts for p in positions if shape.consts <= p and _is_carry(via, p)}
    given = {
        s for (p, _), s in zip(via.bodies[0].inputs, via.ins, strict=False) if p in positions and not _is_carry(via, p)
    }
    return given | _looped(via, carries)


def _is_carry(via: Step, position: int) -> bool:
    shape = via.extra
    return position >= shape.consts and (via.kind != SCAN or position < shape.consts + shape.carry_count)


def _looped(via: Step, carries: Iterable[int]) -> set[int]:
    """The slots around a loop that these of its carries are made of, after however many iterations."""
    body, shape = via.bodies[0], via.extra
    waiting, known, found = list(carries), set(carries), set[int]()
    for i in waiting:
        if i in shape.carries:
            found.add(shape.inits[shape.carries.index(i)])
        for p in _inputs(body, [body.outs[i]] if i < len(body.outs) and body.outs[i] >= 0 else []):
            if not _is_carry(via, p):
                found |= {s for (q, _), s in zip(body.inputs, via.ins, strict=False) if q == p}
            elif p - shape.consts not in known:
                known.add(p - shape.consts)
                waiting.append(p - shape.consts)
    return found


def _inputs(program: Program, slots: Iterable[int]) -> frozenset[int]:
    """The inputs of a program, by position, that these of its slots are made of."""
    known: list[frozenset[int] | None] | None = program.memo.get("made of")
    if known is None:
        known = program.memo["made of"] = [None] * len(program.template)
        for position, slot in program.inputs:
            if slot not in program.defs:
                known[slot] = frozenset((position,))
    found: frozenset[int] = NONE
    for slot in slots:
        behind = known[slot] if slot >= 0 else NONE
        if behind is None:
            behind = _followed(program, slot, known)
        if behind is not found:
            found = found | behind if found else behind
    return found


def _followed(program: Program, slot: int, known: list[frozenset[int] | None]) -> frozenset[int]:
    """The same of one slot; what is behind each is worked out once for all that lead there."""
    defs, waiting, made = program.defs, [slot], list[tuple[int, Iterable[int]]]()
    while waiting:
        at = waiting.pop()
        if at >= 0:
            if known[at] is not None:
                continue
            step = defs.get(at)
            sources: Iterable[int] = () if step is None else _made_from(step, at)
            before = [source for source in sources if known[source] is None]
            if before:
                # Once more, after those it is made from.
                made.append((at, sources))
                waiting.append(-1)
                waiting += before
                continue
        else:
            at, sources = made.pop()
        found: frozenset[int] = NONE
        for source in sources:
            behind = known[source] or NONE
            if behind is not found:
                found = found | behind if found else behind
        known[at] = found
    return known[slot] or NONE


def _made_from(step: Step, slot: int) -> Iterable[int]:
    """The slots whose numbers go into what a step makes."""
    if step.kind == SIMPLE:
        several = len(step.outs) > 1
        yields_bool = is_bool(step.eqn.outvars[step.outs.index(slot)].aval) if several else step.yields().kind == "b"
        primitive = step.primitive
        if primitive in _POSITIONS or (yields_bool and not _moves_bools(step)):
            return ()
        if primitive is _SORT and len(step.ins) == len(step.outs):
            # The others only say where each goes.
            return (step.ins[step.outs.index(slot)],)
        if primitive is _TOP_K and step.outs.index(slot) == 1:
            return ()
        if primitive is _SELECT and len(step.ins) == len(step.eqn.invars):
            return step.ins[1:]
        return step.ins[:1] if primitive in _READS else step.ins
    place = step.outs.index(slot)
    if step.kind == COND:
        slots: set[int] = set()
        for k, body in enumerate(step.bodies):
            slots |= _outer(step, _inputs(body, [body.outs[place]] if body.outs[place] >= 0 else []), k)
        return slots
    if step.kind == CALL:
        body = step.bodies[0]
        return _outer(step, _inputs(body, [body.outs[place]]), None)
    if place < step.extra.carry_count or step.kind == WHILE:
        return _looped(step, [place])
    body = step.bodies[0]
    return _outer(step, _inputs(body, [body.outs[place]] if body.outs[place] >= 0 else []), None)


def _moves_bools(step: Step) -> bool:
    """Whether a step makes bools of bools, and weighs none against another."""
    return step.primitive not in _LOGIC and all(is_bool(v.aval) for v in step.eqn.invars)


def is_bool(aval: Any) -> bool:
    return dtype_info(getattr(aval, "dtype", None)).kind == "b"


def ends_by_itself(program: Program) -> bool:
    """Whether a program has loops, each with an end of its own: its test compares what it carries with a constant.

    A loop that goes on as long as an input says is that input's doing, however far it takes an index.
    """
    tests = list(_tests(program))
    return bool(tests) and all(map(_has_an_end, tests))


def begins_by_itself(program: Program) -> bool:
    """Whether the tests of all loops look at nothing but what these carry, from constants on.

    No input says how long such a loop goes on, if not by what it reads on its way.
    """
    for step in program.steps:
        if step.kind == WHILE:
            shape, carried = step.extra, dict(zip(step.extra.carries, step.extra.inits, strict=True))
            looked = [place - shape.cond_consts for place, _ in step.bodies[1].inputs]
            if any(i not in carried or program.template[carried[i]] is None for i in looked):
                return False
        if not all(map(begins_by_itself, step.bodies)):
            return False
    return True


def _tests(program: Program) -> Iterator[Program]:
    for step in program.steps:
        if step.kind == WHILE:
            yield step.bodies[1]
        for body in step.bodies:
            yield from _tests(body)


def _has_an_end(test: Program) -> bool:
    waiting = [test.outs[0]]
    for slot in waiting:
        step = test.defs.get(slot)
        if step is None or step.kind != SIMPLE:
            continue
        if step.primitive in _ORDERS:
            compared = [s for s in step.ins if test.template[s] is None]
            if len(compared) == 1 and test.defs.get(compared[0]) is None:
                return True
        if step.primitive is _AND or len(step.ins) == 1:
            waiting += step.ins
    return False
