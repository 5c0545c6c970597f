"""Branches and loops: what they run is a program of its own, which asks for what it reads."""

from __future__ import annotations

from typing import Any

from redzone.domains import dtype_info
from redzone.engine.carries import carries_read
from redzone.engine.congruent import congruent
from redzone.engine.definitions import Definition, definitions
from redzone.engine.errors import results_of_errors
from redzone.engine.frames import Frame, Slicing, resolve
from redzone.engine.known import few_floats, is_counted, numbers
from redzone.engine.products import ONCE, how_run
from redzone.engine.program import COND, SCAN, SIMPLE, WHILE, LoopShape, Program
from redzone.engine.rounding import settled
from redzone.engine.slots import Slots
from redzone.engine.sought import note_search
from redzone.frontend.compat import inner_jaxprs, open_jaxpr, scan_counts
from redzone.rules.table import SAME


def cond(build: Slots, eqn: Any, frame: Frame) -> None:
    """A cond: each of its branches asks for its own."""
    branches = [open_jaxpr(b) for b in eqn.params["branches"]]
    asked = build.asked(eqn, frame)
    touches = build.slicer.inventory.touches
    if not asked and not any(touches(j) for j, _ in branches) and not build.slicer.everything:
        return
    _note_done_away(build, eqn, frame)
    for j, _ in branches:
        note_given(frame, j, eqn.invars[1:])
    told = definitions(resolve, frame, eqn.invars[1:])
    floats = few_floats(frame, eqn.invars[1:])
    bodies = [build.slicer.program(j, c, asked, None, None, told, floats) for j, c in branches]
    if asked:
        for body in bodies:
            body.errors = results_of_errors(body.jaxpr)
    used = sorted({i for body in bodies for i, _ in body.inputs})
    place = {i: k + 1 for k, i in enumerate(used)}
    step = build.emit(
        COND,
        eqn,
        [build.slot(frame, eqn.invars[0]), *(build.slot(frame, eqn.invars[1 + i]) for i in used)],
        [frame.slots.get(v, -1) for v in eqn.outvars],
    )
    step.bodies, step.apart = tuple(bodies), build.new()
    step.extra = [[place[i] for i, _ in body.inputs] for body in bodies]


def scan(build: Slots, eqn: Any, frame: Frame) -> None:
    """A scan: of its carries only those that matter; and what it looks for, where it is a binary search."""
    p = eqn.params
    inner, consts = open_jaxpr(p["jaxpr"])
    first, count = scan_counts(p)
    asked = build.asked(eqn, frame)
    if not asked and not build.slicer.inventory.touches(inner) and not build.slicer.everything:
        return
    end = first + count
    # A scan's rows are read from what is kept.
    changing = (0, 0) if _note_done_away(build, eqn, frame) else (first, end)
    kept = 0 if changing[1] == 0 else len(inner.invars) - end
    note_given(frame, inner, eqn.invars, *changing, kept)
    given = eqn.invars[:first]
    fixed, told = numbers(frame, given), definitions(resolve, frame, given)
    body, wanted, same = _body(build.slicer, eqn, frame, inner, consts, {*asked}, first, end, fixed, told)
    outs = _left_by(build, eqn, frame, same)
    step = build.emit(SCAN, eqn, [build.slot(frame, eqn.invars[i]) for i, _ in body.inputs], outs)
    step.bodies = (body,)
    step.extra = LoopShape(
        carries=tuple(sorted(i for i in wanted if i < count)),
        length=p["length"],
        consts=first,
        carry_count=count,
        counted=tuple(i for i, _ in body.inputs if i >= end and is_counted(frame, eqn.invars[i])),
    )
    # A carry whose final value is wanted but never read in the body still needs its first value.
    step.extra.inits = tuple(build.slot(frame, eqn.invars[first + i]) for i in step.extra.carries)
    if 1 in asked and count == 2 and len(eqn.invars) == first + 2 and not same:
        note_search(build, eqn, frame, inner, fixed, step.extra)


def loop(build: Slots, eqn: Any, frame: Frame) -> None:
    """A while: its condition asks for carries too."""
    p = eqn.params
    test, test_consts = open_jaxpr(p["cond_jaxpr"])
    inner, consts = open_jaxpr(p["body_jaxpr"])
    nt, nb = p["cond_nconsts"], p["body_nconsts"]
    asked = build.asked(eqn, frame)
    touches = build.slicer.inventory.touches
    if not asked and not touches(inner) and not touches(test) and not build.slicer.everything:
        return
    carried = (0, 0) if _note_done_away(build, eqn, frame) else (nb, len(inner.invars))
    note_given(frame, inner, eqn.invars[nt:], *carried)
    for k, v in enumerate(inner.invars[nb:], nb):
        _note_carried(frame, v, k < carried[1] and inner.outvars[k - nb] is not v, eqn.invars[nt + k])
    for k, v in enumerate(test.invars):
        # What is said of a carry that does not change is said of what the body is given, too.
        _note(build.slicer, v, (None, inner.invars[nb + k - nt]) if k >= nt else (frame, eqn.invars[k]))
    outer, build.slicer.lanes = build.slicer.lanes, build.slicer.lanes or bool(test.outvars[0].aval.shape)
    limits = numbers(frame, eqn.invars[:nt])
    floats = few_floats(frame, eqn.invars[:nt])
    condition = build.slicer.program(test, test_consts, (0,), None, limits, None, floats)
    tested = {i - nt for i, _ in condition.inputs if i >= nt}
    given = eqn.invars[nt : nt + nb]
    fixed, told = numbers(frame, given), definitions(resolve, frame, given)
    body, wanted, same = _body(
        build.slicer, eqn, frame, inner, consts, tested.union(asked), nb, len(inner.invars), fixed, told
    )
    compared = _compared(test, nt, wanted, tested)
    if same or compared:
        compared = floats + compared
        condition = build.slicer.program(test, test_consts, (0,), _moved(same, nt), limits, None, compared)
    build.slicer.lanes = outer
    ins = [build.slot(frame, eqn.invars[nt + i]) for i, _ in body.inputs]
    ins += [build.slot(frame, eqn.invars[i if i < nt else i + nb]) for i, _ in condition.inputs]
    step = build.emit(WHILE, eqn, ins, _left_by(build, eqn, frame, same))
    step.bodies = (body, condition)
    step.extra = LoopShape(carries=tuple(sorted(wanted)), consts=nb, cond_consts=nt)
    step.extra.given = _which(frame, eqn.invars[: nt + nb])
    step.extra.inits = tuple(build.slot(frame, eqn.invars[nt + nb + i]) for i in step.extra.carries)


def _compared(test: Any, first: int, wanted: set[int], tested: set[int]) -> tuple[int, ...]:
    """The inputs of a while's condition that are floats which its body looks at, and which it looks at too."""
    found = []
    for i in sorted(wanted.difference(tested)):
        given = test.invars[first + i]
        is_float = dtype_info(getattr(given.aval, "dtype", None)).kind == "f"
        if is_float and any(v is given for eqn in test.eqns for v in eqn.invars):
            found.append(first + i)
    return tuple(found)


def _note_done_away(build: Slots, eqn: Any, frame: Frame) -> bool:
    """Note how a loop or branches are computed; whether the compiler does away with them."""
    how = how_run(frame, eqn)
    if how == ONCE:
        return False
    build.program.computed[id(eqn)] = max(build.program.computed.get(id(eqn), ONCE), how)
    build.slicer.done_away.update([id(open_jaxpr(one)[0]) for one in inner_jaxprs(eqn.params)])
    return True


def note_given(frame: Frame, jaxpr: Any, operands: Any, first: int = 0, end: int = 0, rows: int = 0) -> None:
    """Note what a jaxpr is given that may be another number in each place it is used in.

    What does not change in a loop the compiler takes out of it, where it may compute it anew. The inputs from `first`
    to before `end` are what a loop carries: kept, if the body changes it, whose first results take its place. So are
    the last ones, which are rows that a scan goes through.
    """
    last = len(jaxpr.invars) - rows
    for k, (v, atom) in enumerate(zip(jaxpr.invars, operands, strict=True)):
        kept = k >= last or (first <= k < end and jaxpr.outvars[k - first] is not v)
        is_flag = dtype_info(getattr(v.aval, "dtype", None)).kind == "b"
        _note(frame.slicer, v, (None, None) if kept or is_flag else (frame, atom))


def _note_carried(frame: Frame, given: Any, changes: bool, first: Any) -> None:
    """Note whether an input of a while's body is a float that is written down after each iteration.

    What does not change, if only after a closer look, the compiler takes for the first value: that is to be such a
    number too.
    """
    carried = frame.slicer.carried
    is_float = dtype_info(getattr(given.aval, "dtype", None)).kind == "f"
    if changes and is_float and settled(frame, first) in ("constant", "rounded"):
        carried.add(given)
    else:
        carried.discard(given)


def _note(slicer: Slicing, given: Any, source: tuple[Frame | None, Any]) -> None:
    """Note what an input is given; whether that is computed anew is found out when somebody asks."""
    slicer.given[given] = source
    slicer.given_anew.pop(given, None)
    if given in slicer.looked_at:
        # Of what was made from it for another caller nothing is known any more.
        slicer.alike.clear()


def _which(frame: Frame, atoms: list[Any]) -> tuple[int, ...]:
    """Numbers for values, the same for those that are one and the same under several names."""
    origins, numbered = [resolve(frame, atom) for atom in atoms], dict[tuple[int, int], int]()
    return tuple([numbered.setdefault((id(where), id(atom)), len(numbered)) for where, atom in origins])


def _body(
    slicer: Slicing,
    eqn: Any,
    frame: Frame,
    jaxpr: Any,
    consts: tuple[Any, ...],
    asked: set[int],
    first: int,
    end: int,
    fixed: dict[int, int],
    told: dict[int, Definition],
) -> tuple[Program, set[int], dict[int, int]]:
    """The program of a loop's body, and its results that matter: those asked for, and the carries it reads.

    The carries are its inputs from `first` to before `end`; of some that are always equal only the first is one,
    and it is noted for the others.
    """
    wanted, floats = asked, few_floats(frame, eqn.invars[len(eqn.invars) - len(jaxpr.invars) :][:first])
    # Places are signed integers: other carries, as floats and random keys, hardly ever matter.
    guess = any(
        dtype_info(getattr(v.aval, "dtype", None)).kind == "i"
        for i, v in enumerate(jaxpr.invars[first:end])
        if i not in asked
    )
    while True:
        if guess:
            wanted = carries_read(slicer, jaxpr, wanted, first, end)
        same = congruent(frame, eqn, wanted)
        kept = wanted.difference(same) if same else wanted
        program = slicer.program(jaxpr, consts, tuple(sorted(kept)), _moved(same, first), fixed, told, floats)
        more = {i - first for i, _ in program.inputs if first <= i < end} - kept
        if not more:
            return program, kept, same
        wanted, guess = wanted | more, True


def _left_by(build: Slots, eqn: Any, frame: Frame, same: dict[int, int]) -> list[int]:
    """The slots of a loop's results; those of carries that are the same are one slot."""
    slots = [frame.slots.get(v, -1) for v in eqn.outvars]
    for k, first in same.items():
        if slots[first] < 0:
            slots[first] = slots[k]
        elif slots[k] >= 0:
            build.emit(SIMPLE, eqn, (slots[first],), (slots[k],)).rule = SAME
        slots[k] = -1
    return slots


def _moved(same: dict[int, int], by: int) -> dict[int, int]:
    """Carries by their positions among a jaxpr's inputs."""
    return {by + k: by + first for k, first in same.items()}
