"""Counters that go up only where something is marked that was not: no farther than there is something left to mark.

A search through a graph puts each vertex in its queue once: where `~seen[v]`, it counts one more and sets `seen[v]`.
However often a loop runs, a counter and the number of elements that are not marked yet never grow together: where one
iteration adds 1 to the counter, the element that was read was unmarked, and the same iteration marks it; nothing that
is written anywhere takes a mark back. So the counter is at most its first value and as many as were unmarked at first.

A stack of such vertices may be taken from as well: what goes down, without wrapping, only leaves more room.

What tells a mark is how the element that was read is compared: a bool, a number below zero, one that is equal to
another. The place that is read and the place that is written are one value, and inside, since a read outside is moved
to the end of the array and a write outside is dropped.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from redzone.domains import Fact, summarised
from redzone.engine.anew import are_flags_anew
from redzone.engine.carried import Carries
from redzone.engine.marks import (
    Unmarked,
    is_mark,
    only_marks,
    plain,
    read_at,
    read_from,
    rises_by_one,
    sets_marks,
    tests_of,
    unmarked_in,
    written_at,
)
from redzone.engine.program import SCAN, SIMPLE, WHILE, Ceilings, Links, Program, Step, made_by, source_of
from redzone.frontend.compat import primitives

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_SELECT: Final = _P["select_n_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_SUB: Final = _P["sub_p"]
_OR: Final = _P["or_p"]
_SCATTER: Final = _P["scatter_p"]
#: How many equations are looked through, and how many loops lie in each other.
DEEP: Final = 12
NESTED: Final = 3
#: Numbers of elements beyond this are no bound that anything needs.
MOST: Final = 1 << 24

#: For a loop in a body, the body and its environment, and what else is known of the loop's carries: the environment of
#: the loop's own body, if anything is known of it.
Inside = Callable[[Program, Step, list[Any], dict[int, Fact]], list[Any] | None]
#: For what else is known of a loop's carries: the environment of its body.
Again = Callable[[dict[int, Fact]], list[Any]]


class Ways(NamedTuple):
    """How a loop's body gets from one value to another: the slots of what it starts with and of what it ends with."""

    first: int
    last: int


def is_worth_marks(carries: Carries) -> bool:
    """Whether a loop carries both a number and an array that may be its marks."""
    numbers = [i for i in carries.moving if carries.shape[i] == () and carries.info[i].kind in "iu"]
    return bool(numbers) and any(carries.info[i].kind in "iub" and _size(carries, i) > 1 for i in carries.moving)


def spent(
    carries: Carries, program: Program, around: list[Any], again: Again, inside: Inside
) -> tuple[dict[int, Fact], Ceilings]:
    """By carry: what counters of marks can be in any state of a loop; and the same of loops in its body that count.

    `again` runs its body from facts that every state satisfies, `around` is the environment of the program around it.
    """
    body, found, ceilings = carries.body, dict[int, Fact](), Ceilings()
    arrays = [i for i in carries.moving if carries.info[i].kind in "iub" and _size(carries, i) > 1]
    for i in carries.moving if arrays else ():
        first, info = summarised(carries.first[i]), carries.info[i]
        if info.kind not in "iu" or carries.shape[i] != () or type(first.lo) is not int or type(first.hi) is not int:
            continue
        for k in arrays:
            if carries.slot[i] < 0 or carries.slot[k] < 0:
                continue
            most = _most_marks(carries, program, around, again, inside, i, k, found)
            if most is None or first.hi + most[0] > info.max:
                continue
            found[i] = Fact(int(info.min) if most[1] else first.lo, first.hi + most[0])
            counted = source_of(body, body.outs[i])
            step = body.defs.get(counted)
            if step is not None and step.kind in (SCAN, WHILE):
                ceilings.setdefault(step, {})[step.outs.index(counted)] = found[i]
            break
    return found, ceilings


def where_counted(carries: Carries, env: list[Any], known: dict[int, Fact]) -> Links:
    """By flag: what such a counter is before it goes up, where the flag holds.

    Something is left to mark then, so that it is not yet as far as it may come.
    """
    body, found = carries.body, Links()
    for i, fact in known.items():
        slot = carries.slot[i] if carries.shape[i] == () and type(fact.hi) is int else -1
        last = source_of(body, body.outs[i])
        for _ in range(DEEP):
            counted = _counted(body, env, last) if slot >= 0 and last != slot else None
            if counted is None:
                break
            last, flag = counted
            if not are_flags_anew(body, flag):
                found.setdefault(flag, {1: {}})[1][last] = Fact(int(carries.info[i].min), fact.hi - 1)
    return found


def _most_marks(
    carries: Carries,
    program: Program,
    around: list[Any],
    again: Again,
    inside: Inside,
    i: int,
    k: int,
    found: dict[int, Fact],
) -> tuple[int, bool] | None:
    """How much more than at first a counter is at most, if it goes up with these marks, and whether it may go down too.

    What is found out about the marks is put beside.

    Distances, `d.at[v].set(d[u] + 1)`, are such numbers only if they do not wrap. Where a mark is one more than another
    element at most, the greatest of them and the number of those not marked do not grow together either: so in each
    iteration they may be taken to be as they are if that held before.
    """
    body, size = carries.body, _size(carries, k)
    counter, marks = (Ways(carries.slot[j], body.outs[j]) for j in (i, k))
    start = carries.starts[k]
    unmarked = _marks(body, again({}), counter, marks, Unmarked(0, 0), inside, NESTED)
    if unmarked is not None:
        left = unmarked_in(program, around, start, size, unmarked)
        return None if left is None else (left, unmarked.falls)
    first, info = summarised(carries.first[k]), carries.info[k]
    if info.kind not in "iu" or type(first.lo) is not int or type(first.hi) is not int or first.hi + size >= info.max:
        return None
    held = Fact(first.lo, first.hi + size)
    risen = Unmarked(0, 0, first.lo, first.hi, held)
    if not _may_rise(body, marks):
        return None
    unmarked = _marks(body, again({k: held}), counter, marks, risen, inside, NESTED)
    left = None if unmarked is None else unmarked_in(program, around, start, size, unmarked)
    if unmarked is None or left is None:
        return None
    found[k] = Fact(first.lo, first.hi + left)
    return left, unmarked.falls


def _may_rise(program: Program, marks: Ways) -> bool:
    """Whether an array is written to at all on its way: a second look costs a run."""
    step = program.defs.get(source_of(program, marks.last))
    if step is None:
        return False
    return step.kind in (SCAN, WHILE) or (step.kind == SIMPLE and step.primitive in (_SCATTER, _SELECT))


def _size(carries: Carries, i: int) -> int:
    """How many elements a carry has; 0 where that is no number."""
    shape = carries.shape[i]
    if shape is None or not all(type(n) is int for n in shape):
        return 0
    size = math.prod(shape)
    return size if size <= MOST else 0


def _marks(
    program: Program, env: list[Any], counter: Ways, marks: Ways, written: Unmarked, inside: Inside, nested: int
) -> Unmarked | None:
    """What elements are before they are marked, where the counter goes up by 1 at most, and only if one is."""
    last = source_of(program, counter.last)
    step = program.defs.get(last)
    if step is None:
        return None
    if step.kind in (SCAN, WHILE):
        return _marks_in_loop(program, env, step, Ways(counter.first, last), marks, written, inside, nested)
    counted = _counted(program, env, last)
    if counted is None:
        return None
    before, flag = counted
    lower = _lower(program, env, before, counter.first)
    for read, unmarked in tests_of(program, flag):
        # It may count several times, each beside what it marks then: `for move in moves:`.
        array = marks.first if lower is not None else read_from(program, read)
        places = None if array is None else read_at(program, env, read, array)
        unmarked = written._replace(lo=unmarked.lo, hi=unmarked.hi)
        if array is None or places is None:
            continue
        if not _is_marked(program, env, Ways(array, marks.last), places, unmarked, flag):
            continue
        if lower is not None:
            return unmarked._replace(falls=lower)
        sooner = Ways(counter.first, before), Ways(marks.first, array)
        found = _marks(program, env, *sooner, written, inside, nested)
        if found is not None and found[:2] == unmarked[:2]:
            return found
    return None


def _marks_in_loop(
    program: Program,
    env: list[Any],
    step: Step,
    counter: Ways,
    marks: Ways,
    written: Unmarked,
    inside: Inside,
    nested: int,
) -> Unmarked | None:
    """The same where a loop in the body counts."""
    shape, body = step.extra, step.bodies[0]
    starts = dict(zip(shape.carries, shape.inits, strict=True))
    i = step.outs.index(counter.last)
    lower = _lower(program, env, starts[i], counter.first) if nested and i in starts else None
    if lower is None:
        return None
    slots = {position - shape.consts: slot for position, slot in body.inputs}
    if i not in slots:
        return None
    for k in shape.carries:
        if k == i or k not in slots or step.outs[k] < 0 or body.outs[k] == slots[k]:
            continue
        within = inside(program, step, env, {} if written.held is None else {k: written.held})
        ways = (Ways(slots[i], body.outs[i]), Ways(slots[k], body.outs[k]))
        unmarked = None if within is None else _marks(body, within, *ways, written, inside, nested - 1)
        if unmarked is None or not only_marks(program, env, marks.last, step.outs[k], unmarked):
            continue
        if only_marks(program, env, starts[k], marks.first, unmarked):
            return unmarked._replace(falls=unmarked.falls or lower)
    return None


def _lower(program: Program, env: list[Any], slot: int, first: int) -> bool | None:
    """Whether something is taken from a number, without wrapping; None where something else may be done to it."""
    slot = source_of(program, slot)
    if slot == first:
        return False
    step, before = program.defs.get(slot), env[first]
    if step is None or step.kind != SIMPLE or before is None or step.primitive not in (_SUB, _ADD):
        return None
    by = env[step.ins[1]]
    if source_of(program, step.ins[0]) != first or by is None or by.step != 0 or type(by.lo) is not int:
        return None
    taken = by.lo if step.primitive is _SUB else -by.lo
    least = summarised(before).lo
    is_kept = taken >= 0 and type(least) is int and least - taken >= step.yields().min
    return True if is_kept else None


def _counted(program: Program, env: list[Any], last: int) -> tuple[int, int] | None:
    """What a number is made from by adding 1 where a flag holds, and nothing else, and that flag; None of others."""
    step = made_by(program, last)
    if step is None:
        return None
    if step.primitive is _ADD:
        for one, other in (step.ins, step.ins[::-1]):
            made = made_by(program, other)
            if made is not None and made.primitive is _CONVERT and made.given().kind == "b":
                return source_of(program, one), made.ins[0]
        return None
    if step.primitive is not _SELECT or len(step.ins) != 3 or step.given().kind != "b":
        return None
    which, kept, more = step.ins
    before, added = source_of(program, kept), made_by(program, more)
    if added is None or added.primitive is not _ADD:
        return None
    for one, other in (added.ins, added.ins[::-1]):
        by = env[other]
        if source_of(program, one) == before and by is not None and by.step == 0 and type(by.lo) is int and by.lo == 1:
            return before, which
    return None


def _is_marked(
    program: Program, env: list[Any], marks: Ways, places: tuple[int, ...], unmarked: Unmarked, flag: int
) -> bool:
    """Whether a body marks the element at these places, at least where the flag holds, and takes no mark back."""
    slot, chosen = source_of(program, marks.last), False
    for _ in range(DEEP):
        step = made_by(program, slot)
        if step is None:
            return False
        if step.primitive is _SELECT and len(step.ins) == 3:
            # Where the flag holds it is marked, else it is as before.
            which, kept, marked = step.ins
            is_flag = step.eqn.invars[0].aval.shape == () and plain(program, which) == plain(program, flag)
            if not is_flag or are_flags_anew(program, which) or source_of(program, kept) != marks.first:
                return False
            slot, chosen = source_of(program, marked), True
            continue
        if step.primitive is not _SCATTER:
            return False
        if written_at(program, step) == places and _is_marked_or_kept(
            program, env, step, marks, places, unmarked, flag
        ):
            return only_marks(program, env, step.ins[0], marks.first, unmarked)
        if written_at(program, step) == places and sets_marks(env, step, unmarked._replace(most=math.inf)):
            rises = unmarked.most == math.inf or rises_by_one(
                program, env, step.ins[2], marks.first, flag, unmarked, chosen
            )
            return rises and only_marks(program, env, step.ins[0], marks.first, unmarked)
        if not sets_marks(env, step, unmarked):
            return False
        slot = source_of(program, step.ins[0])
    return False


def _is_marked_or_kept(
    program: Program, env: list[Any], step: Step, marks: Ways, places: tuple[int, ...], unmarked: Unmarked, flag: int
) -> bool:
    """Whether a scatter marks an element where the flag holds, and writes what is there anyway where it does not."""
    made = made_by(program, step.ins[2])
    if made is not None and made.primitive is _OR and made.given().kind == "b":
        # What is true stays so, and where the flag holds it becomes true.
        pairs = (made.ins, made.ins[::-1])
        return unmarked.hi == 0 and any(
            plain(program, which) == plain(program, flag)
            and not are_flags_anew(program, which)
            and read_at(program, env, kept, marks.first) == places
            for kept, which in pairs
        )
    if made is None or made.primitive is not _SELECT or len(made.ins) != 3:
        return False
    which, kept, marked = made.ins
    if plain(program, which) != plain(program, flag) or are_flags_anew(program, which):
        return False
    if read_at(program, env, kept, marks.first) != places or not is_mark(env, marked, unmarked._replace(most=math.inf)):
        return False
    return unmarked.most == math.inf or rises_by_one(program, env, marked, marks.first, None, unmarked, True)
