"""Carries of a loop that move together: whichever way an iteration goes, what it adds to both lies between two numbers.

Two cursors of a merge, `i` moved where a condition holds and `j` where it fails, are such: after t iterations they
have moved by t together. So are a cursor that writes where two lists agree, and one that is moved then and elsewhere:
the first is never ahead.

That holds of what is asked once. A flag of floats that may be computed anew wherever it is used (`engine/anew.py`) may
come out one way for one carry and the other way for the other: it says nothing of the two together.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from typing import Any, Final

from redzone.domains import Fact, dtype_info, summarised
from redzone.engine.anew import is_anew
from redzone.engine.program import COND, SIMPLE, Program, Step
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME

#: How many ways an iteration may move a carry.
WAYS: Final = 8
#: How far back a number's ways are followed.
DEPTH: Final = 8
#: Among how many numbers one is looked for that no condition excludes.
FEW: Final = 8

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_SUB: Final = _P["sub_p"]
_SELECT: Final = _P["select_n_p"]
_NOT: Final = _P["not_p"]
_AND: Final = _P["and_p"]
_OR: Final = _P["or_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_LESS: Final = -1
_SAME: Final = 0
_MORE: Final = 1
#: By comparison: how its first operand may be to the second where it holds.
_ORDERS: Final = {
    _P["lt_p"]: frozenset((_LESS,)),
    _P["le_p"]: frozenset((_LESS, _SAME)),
    _P["eq_p"]: frozenset((_SAME,)),
    _P["ne_p"]: frozenset((_LESS, _MORE)),
    _P["ge_p"]: frozenset((_SAME, _MORE)),
    _P["gt_p"]: frozenset((_MORE,)),
}
_ANY: Final = frozenset((_LESS, _SAME, _MORE))

#: By what is asked in an iteration: the answers it may have. Asked is for a bool by its slot, for how an integer is to
#: another by both slots and the other's number if it is a constant, for a branch by its step, and inside of one.
Case = dict[Any, frozenset[Any]]
#: What comes out in an iteration, and what is added then.
Way = tuple[Case, int]


def moves(body: Program, one: tuple[int, int], other: tuple[int, int], sign: int) -> tuple[int, int] | None:
    """Bounds on what an iteration adds to a carry and to another, or takes from it by the sign; None if not tighter
    than those of each alone.

    Each is given by the slots it comes and goes with. What is asked is asked once for both, so that it comes out one
    way in each iteration.
    """
    mine, theirs = ways(body, *one), ways(body, *other)
    if mine is None or theirs is None:
        return None
    key = ("moves", one, other, sign)
    if key not in body.memo:
        sums: list[int] = []
        alone: list[int] = []
        for (case, a), (other_case, b) in itertools.product(mine, theirs):
            alone.append(a + sign * b)
            if _both(case, other_case) is not None:
                sums.append(a + sign * b)
        found = (min(sums), max(sums)) if sums else None
        body.memo[key] = None if found == (min(alone), max(alone)) else found
    known: tuple[int, int] | None = body.memo[key]
    return known


def moves_where(
    body: Program, one: tuple[int, int], other: tuple[int, int], sign: int, known: dict[int, Fact]
) -> tuple[int, int] | None:
    """The same in an iteration that starts with these facts, which exclude some of its ways."""
    mine, theirs = ways(body, *one), ways(body, *other)
    if mine is None or theirs is None:
        return None
    pairs = itertools.product(mine, theirs)
    sums = [a + sign * b for (x, a), (y, b) in pairs if (both := _both(x, y)) is not None and _is_left(both, known)]
    return (min(sums), max(sums)) if sums else None


def _is_left(case: Case, known: dict[int, Fact]) -> bool:
    """Whether numbers between known bounds may be so to the constants they are compared with."""
    for key, answers in case.items():
        fact = known.get(key[1]) if type(key) is tuple and key[0] == "order" and key[3] is not None else None
        if fact is None:
            continue
        whole, number = summarised(fact), key[3]
        if type(whole.lo) is not int or type(whole.hi) is not int:
            continue
        may = {_LESS: whole.lo < number, _SAME: whole.lo <= number <= whole.hi, _MORE: whole.hi > number}
        if not any(may[answer] for answer in answers):
            return False
    return True


def ways(body: Program, first: int, out: int) -> tuple[Way, ...] | None:
    """The ways in which an iteration adds a constant to a carry; None where it does something else."""
    key = ("ways", first, out)
    if key not in body.memo:
        body.memo[key] = _ways(body, first, out, DEPTH)
    known: tuple[Way, ...] | None = body.memo[key]
    return known


#: Instead of a carry's slot: what is followed is made of constants alone.
_NOTHING: Final = -1


def _ways(body: Program, first: int, slot: int, depth: int) -> tuple[Way, ...] | None:
    if slot == first:
        return (({}, 0),)
    constant = _constant(body, slot)
    if constant is not None:
        return (({}, constant),) if first == _NOTHING else None
    step = body.defs.get(slot)
    if step is None or depth == 0:
        return None
    if step.kind == COND:
        return _by_branches(body, first, step, step.outs.index(slot), depth - 1)
    if step.kind != SIMPLE:
        return None
    if step.rule is SAME:
        return _ways(body, first, step.ins[0], depth - 1)
    primitive = step.primitive
    if step.eqn.outvars[0].aval.shape != ():
        return None
    if primitive is _CONVERT and first == _NOTHING and _is_bool(step.eqn.invars[0]):
        cases = [(k, case) for k in (0, 1) for case in _asked(body, step.ins[0], bool(k), depth)]
        return _few((case, k) for k, case in cases)
    if primitive is _ADD or primitive is _SUB:
        sign = 1 if primitive is _ADD else -1
        for k in (0, 1) if primitive is _ADD and first != _NOTHING else (0,):
            before = _ways(body, first, step.ins[k], depth - 1)
            by = None if before is None else _ways(body, _NOTHING, step.ins[1 - k], depth - 1)
            if before is not None and by is not None:
                pairs = itertools.product(before, by)
                found = _few((both, n + sign * m) for (w, n), (v, m) in pairs if (both := _both(w, v)) is not None)
                return found if first != _NOTHING or _fits(found, step.eqn.outvars[0]) else None
        return None
    if primitive is not _SELECT or len(step.ins) != 3 or step.eqn.invars[0].aval.shape != ():
        return None
    gone: list[Way] = []
    for k in (0, 1):
        asked = _asked(body, step.ins[0], bool(k), depth)
        chosen = _ways(body, first, step.ins[1 + k], depth - 1)
        if chosen is None and _stands_at(body, first, step.ins[1 + k], asked):
            chosen = (({}, 0),)
        if chosen is None:
            return None
        gone += _under(asked, chosen)
    return _few(gone)


def _stands_at(body: Program, first: int, slot: int, asked: list[Case]) -> bool:
    """Whether a constant is what the carry is whenever one of these cases holds: `where(i == 0, 0, i - 1)`."""
    number = _constant(body, slot)
    if number is None or first == _NOTHING:
        return False
    return all(
        any(type(k) is tuple and k[0] == "order" and k[1] == first and k[3] == number and answers == {_SAME}
            for k, answers in case.items())
        for case in asked
    )  # fmt: skip


def _fits(some: tuple[Way, ...] | None, var: Any) -> bool:
    """Whether none of these numbers wraps in its type, from which it may be made wider."""
    info = dtype_info(var.aval.dtype)
    return some is not None and all(info.min <= n <= info.max for _, n in some)


def _by_branches(body: Program, first: int, step: Step, result: int, depth: int) -> tuple[Way, ...] | None:
    """What branches add: one of them runs, and what is asked in it is asked nowhere else."""
    found: list[Way] = []
    for k, (branch, places) in enumerate(zip(step.bodies, step.extra, strict=True)):
        inner = next((s for (_, s), p in zip(branch.inputs, places, strict=True) if step.ins[p] == first), _NOTHING)
        if branch.outs[result] < 0 or (inner == _NOTHING) != (first == _NOTHING):
            return None
        inside = _ways(branch, inner, branch.outs[result], depth)
        if inside is None:
            return None
        chosen = [({("in", id(step), k, key): answers for key, answers in case.items()}, n) for case, n in inside]
        found += _under(_taken(body, step, k, depth), chosen)
    return _few(found)


def _taken(body: Program, step: Step, k: int, depth: int) -> list[Case]:
    """The cases in which a branch runs."""
    if is_anew(body, step.ins[0]):
        return [{}]
    made = body.defs.get(step.ins[0])
    if made is not None and made.kind == SIMPLE and made.primitive is _CONVERT and _is_bool(made.eqn.invars[0]):
        return _asked(body, made.ins[0], bool(k), depth)
    return [{("branch", id(step)): frozenset((k,))}]


def _asked(body: Program, slot: int, truth: bool, depth: int) -> list[Case]:
    """The cases in which a bool comes out so."""
    step = body.defs.get(slot)
    if step is not None and step.kind == SIMPLE and depth and body.unknown.isdisjoint(step.ins):
        primitive = step.primitive
        if step.rule is SAME:
            return _asked(body, step.ins[0], truth, depth - 1)
        if step.eqn.outvars[0].aval.shape == () and all(v.aval.shape == () for v in step.eqn.invars):
            if primitive is _NOT and _is_bool(step.eqn.outvars[0]):
                return _asked(body, step.ins[0], not truth, depth - 1)
            if (primitive is _AND or primitive is _OR) and _is_bool(step.eqn.outvars[0]):
                one, other = step.ins
                first, second = _asked(body, one, truth, depth - 1), _asked(body, other, truth, depth - 1)
                if truth == (primitive is _AND):
                    return [both for a in first for b in second if (both := _both(a, b)) is not None]
                # The first comes out so, or it does not and the second does.
                against = _asked(body, one, not truth, depth - 1)
                return first + [both for a in against for b in second if (both := _both(a, b)) is not None]
            of_integers = all(dtype_info(v.aval.dtype).kind in "iu" for v in step.eqn.invars)
            if primitive in _ORDERS and of_integers and not is_anew(body, slot):
                answers = _ORDERS[primitive] if truth else _ANY - _ORDERS[primitive]
                return [_compared(body, step.ins[0], step.ins[1], answers)]
    return [{} if is_anew(body, slot) else {slot: frozenset((truth,))}]


def _compared(body: Program, a: int, b: int, answers: frozenset[Any]) -> Case:
    """How one integer is to another, always asked in the same order."""
    if _constant(body, a) is not None or (a > b and _constant(body, b) is None):
        a, b, answers = b, a, frozenset(-answer for answer in answers)
    return {("order", a, b, _constant(body, b)): answers}


def _constant(body: Program, slot: int) -> int | None:
    fact = body.template[slot]
    return None if fact is None or fact.step != 0 or type(fact.lo) is not int else fact.lo


def _is_bool(var: Any) -> bool:
    return dtype_info(var.aval.dtype).kind == "b"


def _under(cases: list[Case], some: Iterable[Way]) -> Iterator[Way]:
    """Ways that are gone only in these cases."""
    for case, n in some:
        for other in cases:
            both = _both(other, case)
            if both is not None:
                yield both, n


def _few(some: Iterable[Way]) -> tuple[Way, ...] | None:
    found = tuple(itertools.islice(some, WAYS + 1))
    return found if len(found) <= WAYS else None


def _both(one: Case, other: Case) -> Case | None:
    """The case that both are; None if they exclude each other."""
    merged = dict(one)
    for key, answers in other.items():
        merged[key] = merged.get(key, answers) & answers
    return merged if all(merged.values()) and _is_possible(merged) else None


def _is_possible(case: Case) -> bool:
    """Whether there are numbers that are so to all the constants they are compared with."""
    limits: dict[Any, list[tuple[int, frozenset[Any]]]] = {}
    for key, answers in case.items():
        inside: tuple[Any, ...] = ()
        asked: Any = key
        while type(asked) is tuple and asked[0] == "in":
            inside, asked = (*inside, *asked[1:3]), asked[3]
        if type(asked) is tuple and asked[0] == "order" and asked[3] is not None:
            limits.setdefault((inside, asked[1]), []).append((asked[3], answers))
    return all(_has_room(some) for some in limits.values() if len(some) > 1)


def _has_room(limits: list[tuple[int, frozenset[Any]]]) -> bool:
    lows = [n + (_SAME not in answers) for n, answers in limits if _LESS not in answers]
    highs = [n - (_SAME not in answers) for n, answers in limits if _MORE not in answers]
    if not lows or not highs or max(lows) < min(highs) - FEW:
        return True
    return any(all((n > c) - (n < c) in answers for c, answers in limits) for n in range(max(lows), min(highs) + 1))
