"""What one iteration of a loop does to a carry: what it adds, or sets it to, read off the steps between the two."""

from __future__ import annotations

import functools
from typing import Any, Final, NamedTuple

from redzone.domains import dtype_info, summarised
from redzone.domains.symbolic import larger, smaller
from redzone.engine.nested import added_by, first_of, moved_by
from redzone.engine.program import COND, SCAN, SIMPLE, WHILE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.indexing import updates_of
from redzone.rules.table import SAME

#: Numbers beyond this are no bounds of anything that is counted.
FAR: Final = 2**40
#: The least and the most of something; of sizes, they may be expressions.
Ends = tuple[Any, Any]
#: An end of what an iteration leaves of a carry: so much more than before, or just so much; either may not happen.
End = tuple[Any, Any]
#: How many of those that all hold are kept.
ENDS: Final = 4

_ADD: Final = primitives()["add_p"]
_SUB: Final = primitives()["sub_p"]
_SELECT: Final = primitives()["select_n_p"]
_CONVERT: Final = primitives()["convert_element_type_p"]
_SCATTER_ADD: Final = primitives()["scatter_add_p"]
_MAX: Final = primitives()["max_p"]
_MIN: Final = primitives()["min_p"]
_CLAMP: Final = primitives()["clamp_p"]
_LIMITS: Final = (_MAX, _MIN, _CLAMP)


def change_of(body: Program, env: list[Any], first: int, slot: int, depth: int = 12) -> Ends | None:
    """Bounds on how much a loop's body adds to a carry, from its input slot to its result, in one iteration.

    What it adds it may add modulo the carry's integer type; each element of an array gets its own.
    """
    if slot == first:
        return (0, 0)
    step = body.defs.get(slot)
    if step is None or depth == 0:
        return None
    if step.kind == COND:
        return _changed_by_branches(step, first, step.outs.index(slot), depth - 1)
    if step.kind in (SCAN, WHILE):
        return _changed_by_loop(body, env, first, step, slot, depth - 1)
    if step.kind != SIMPLE:
        return None
    if step.rule is SAME:
        return change_of(body, env, first, step.ins[0], depth - 1)
    primitive = step.primitive
    if primitive is _ADD or primitive is _SUB:
        pairs = ((0, 1), (1, 0)) if primitive is _ADD else ((0, 1),)
        for mine, other in pairs:
            change = change_of(body, env, first, step.ins[mine], depth - 1)
            if change is not None:
                if env[step.ins[other]] is None:
                    return None
                by = summarised(env[step.ins[other]])
                lo, hi = (by.lo, by.hi) if primitive is _ADD else (-by.hi, -by.lo)
                return (change[0] + lo, change[1] + hi)
        return None
    if primitive is _SELECT:
        changes = [change_of(body, env, first, s, depth - 1) for s in step.ins[1:]]
        if any(c is None for c in changes):
            return None
        return functools.reduce(_hull, changes)
    if primitive is _CONVERT and step.eqn.invars[0].aval.dtype == step.eqn.outvars[0].aval.dtype:
        return change_of(body, env, first, step.ins[0], depth - 1)
    if primitive is _SCATTER_ADD:
        change, added = change_of(body, env, first, step.ins[0], depth - 1), _scattered(env, step)
        return None if change is None or added is None else (change[0] + added[0], change[1] + added[1])
    return None


def _scattered(env: list[Any], step: Step) -> tuple[int, int] | None:
    """Bounds on how much a scatter adds to each element: none of its updates, or all of them, or what is between."""
    fact, count = env[step.ins[2]], updates_of(step.eqn)
    by = None if fact is None else summarised(fact)
    if by is None or type(count) is not int or type(by.lo) is not int or type(by.hi) is not int:
        return None
    return min(by.lo, 0) * count, max(by.hi, 0) * count


def _changed_by_loop(body: Program, env: list[Any], first: int, step: Step, slot: int, depth: int) -> Ends | None:
    """The same through a loop in the body, however often that runs."""
    carry, start = first_of(step, slot)
    before = change_of(body, env, first, start, depth) if carry >= 0 else None
    by = added_by(step, env, carry, change_of, depth) if before is not None else None
    return None if before is None or by is None else (before[0] + by[0], before[1] + by[1])


def added_at_most(body: Program, env: list[Any], first: int, slot: int, up: bool, depth: int = 8) -> int | None:
    """The most that an iteration adds to a carry, or takes away, where all else moves it the other way and never wraps.

    So after so many iterations it is no farther up, or down, than so many times that from its first value, whatever
    bounds it on the other side, if that does not wrap either.
    """
    if slot == first:
        return 0
    step = body.defs.get(slot)
    if step is None or depth == 0:
        return None
    again = functools.partial(added_at_most, body, env, first, up=up, depth=depth - 1)
    if step.kind == WHILE:
        carry, start = first_of(step, slot)
        before = again(start) if carry >= 0 else None
        by = moved_by(step, env, carry, change_of, depth - 1) if before is not None else None
        return None if before is None or by is None else before + max(by[1] if up else -by[0], 0)
    primitive = step.primitive if step.kind == SIMPLE else None
    if step.rule is SAME and step.kind == SIMPLE:
        return again(step.ins[0])
    if primitive is _SELECT:
        cases = [again(case) for case in step.ins[1:]]
        known = [n for n in cases if n is not None]
        return max(known) if len(known) == len(cases) else None
    if primitive is _SCATTER_ADD:
        before, by = again(step.ins[0]), _scattered(env, step)
        if before is None or by is None or (by[0] if up else by[1]):
            return None
        return before + (by[1] if up else -by[0])
    if primitive is _ADD or primitive is _SUB:
        for mine, other in ((0, 1), (1, 0)) if primitive is _ADD else ((0, 1),):
            before, by_ = again(step.ins[mine]), env[step.ins[other]]
            if before is None or by_ is None:
                continue
            fact = summarised(by_)
            if type(fact.lo) is not int or type(fact.hi) is not int:
                return None
            least, most = (fact.lo, fact.hi) if (primitive is _ADD) is up else (-fact.hi, -fact.lo)
            return before + most if least >= 0 else None
    return None


class Change(NamedTuple):
    """What an iteration does to a carry: it adds something, or sets it to something else; either may not happen."""

    added: Ends | None
    """Bounds on what is added anywhere on the way to the result."""
    set_to: Ends | None
    """The same of what is there instead."""
    least: tuple[End, ...]
    """The least that the result is, in several ways."""
    most: tuple[End, ...]


def changed_or_set(body: Program, env: list[Any], first: int, slot: int, depth: int = 5) -> Change | None:
    """The same of a carry that some iterations set to something else: `where(hit, n + 1, 0)`, `maximum(top - 1, 0)`.

    What a select, a branch, a maximum, a minimum or a clamp yields is one of several values: each is changed or set. A
    maximum is at least each of them, and a minimum at most.
    """
    change = change_of(body, env, first, slot)
    if change is not None:
        return Change(change, None, ((change[0], None),), ((change[1], None),))
    step = body.defs.get(slot)
    while step is not None and step.rule is SAME:
        slot = step.ins[0]
        step = body.defs.get(slot)
    if step is not None and depth and (found := _one_of_several(body, env, first, step, slot, depth - 1)) is not None:
        return found
    fact = None if env[slot] is None else summarised(env[slot])
    if fact is None or type(fact.lo) is not int or type(fact.hi) is not int or max(-fact.lo, fact.hi) > FAR:
        return None
    return Change(None, (fact.lo, fact.hi), ((None, fact.lo),), ((None, fact.hi),))


def _one_of_several(body: Program, env: list[Any], first: int, step: Step, slot: int, depth: int) -> Change | None:
    """As `changed_or_set`, of a step that yields one of several values."""
    if step.kind == COND:
        return _either(_in_branches(step, first, step.outs.index(slot), depth), None)
    primitive = step.primitive if step.kind == SIMPLE else None
    several = [changed_or_set(body, env, first, case, depth) for case in step.ins] if primitive in _LIMITS else []
    if primitive is _CLAMP:
        low, value, high = several
        return _either([_either([low, value], _MAX), high], _MIN)
    if primitive is _SELECT:
        several = [changed_or_set(body, env, first, case, depth) for case in step.ins[1:]]
    return _either(several, primitive)


def _either(several: list[Change | None], primitive: Any) -> Change | None:
    """Of one of these, by a maximum or minimum or in any other way."""
    found: Change | None = None
    for one in several:
        if one is None:
            return None
        if found is None:
            found = one
            continue
        least = _side(found.least, one.least, smaller, primitive is _MAX)
        most = _side(found.most, one.most, larger, primitive is _MIN)
        found = Change(_hull(found.added, one.added), _hull(found.set_to, one.set_to), least, most)
    return found


def _side(a: tuple[End, ...], b: tuple[End, ...], farther: Any, each_does: bool) -> tuple[End, ...]:
    """One end of either of two values; of one that is beyond both, each value's end is one."""
    if each_does:
        return (a + b)[:ENDS]
    found = []
    for one in a:
        for other in b:
            added, set_to = (
                x if y is None else y if x is None else farther(x, y) for x, y in zip(one, other, strict=True)
            )
            found.append((added, set_to))
    return tuple(found[:ENDS])


def _in_branches(step: Step, first: int, result: int, depth: int) -> list[Change | None]:
    """What each branch does to a carry; of values made in them, only constants are known for every run."""
    found = []
    for branch, places in zip(step.bodies, step.extra, strict=True):
        given = [inner for (_, inner), place in zip(branch.inputs, places, strict=True) if step.ins[place] == first]
        found.append(changed_or_set(branch, branch.template, given[0] if given else -1, branch.outs[result], depth))
    return found


def _hull(a: Ends | None, b: Ends | None) -> Ends | None:
    return b if a is None else a if b is None else (smaller(a[0], b[0]), larger(a[1], b[1]))


def _changed_by_branches(step: Step, first: int, result: int, depth: int) -> Ends | None:
    """What branches add to a carry; of values made in them, only constants are known for every run."""
    found: Ends | None = None
    for branch, places in zip(step.bodies, step.extra, strict=True):
        change = None
        for (_, inner), place in zip(branch.inputs, places, strict=True):
            if step.ins[place] == first:
                change = change_of(branch, branch.template, inner, branch.outs[result], depth)
        if change is None:
            return None
        found = _hull(found, change)
    return found


def counted_by(body: Program, slot: int, out: int) -> int | None:
    """The constant by which a loop's body moves a carry, from its input slot to its result, each time."""
    step = body.defs.get(out)
    while step is not None and step.rule is SAME:
        step = body.defs.get(step.ins[0])
    if step is None or step.kind != SIMPLE or dtype_info(step.eqn.outvars[0].aval.dtype).kind not in "iu":
        return None
    if step.primitive is _ADD and slot in step.ins:
        other, sign = step.ins[1] if step.ins[0] == slot else step.ins[0], 1
    elif step.primitive is _SUB and step.ins[0] == slot:
        other, sign = step.ins[1], -1
    else:
        return None
    fact = body.template[other]
    return None if fact is None or fact.step != 0 or type(fact.lo) is not int else sign * fact.lo
