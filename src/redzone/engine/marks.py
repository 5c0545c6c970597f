"""Arrays of marks: what tells an element that is marked, where one is read, and what a write does to it.

An element that a flag is read off, `~seen[v]`, `dist[v] < 0`, `parent[v] == -1`, holds one of some numbers where the
flag holds: it is not marked. The place that is read and the place that is written are one value, and inside, since a
read outside is moved to the end of the array and a write outside is dropped.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, summarised
from redzone.engine.anew import are_flags_anew, is_anew
from redzone.engine.program import SIMPLE, Program, Step, made_by, source_of
from redzone.frontend.compat import primitives

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_AND: Final = _P["and_p"]
_NOT: Final = _P["not_p"]
_EQ: Final = _P["eq_p"]
_SELECT: Final = _P["select_n_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_CONCATENATE: Final = _P["concatenate_p"]
_IOTA: Final = _P["iota_p"]
_READ: Final = _P["dynamic_slice_p"]
_SCATTER: Final = _P["scatter_p"]
#: What leaves a single number what it is.
_RESHAPES: Final = frozenset(_P[f"{n}_p"] for n in ("squeeze", "reshape", "broadcast_in_dim"))
_BELOW: Final = {_P["lt_p"]: (-1, None), _P["le_p"]: (0, None), _P["ge_p"]: (None, 0), _P["gt_p"]: (None, 1)}
_NEGATED: Final = {
    _P["lt_p"]: _P["ge_p"],
    _P["ge_p"]: _P["lt_p"],
    _P["le_p"]: _P["gt_p"],
    _P["gt_p"]: _P["le_p"],
    _P["ne_p"]: _EQ,
}
#: How many equations are looked through.
DEEP: Final = 12


class Unmarked(NamedTuple):
    """The numbers that an element holds which is not marked: no less than this, and no more."""

    lo: float
    hi: float
    least: float = -math.inf
    """What is written is no less than this."""
    most: float = math.inf
    """And no more than this, or where the counter goes up one more than some element."""
    held: Fact | None = None
    """What elements may be taken to lie between, for that."""
    falls: bool = False
    """Whether the counter may also go down."""

    def may_be(self, fact: Fact) -> Any:
        """Whether elements may hold such a number."""
        return (fact.lo <= self.hi) & (fact.hi >= self.lo)


def tests_of(program: Program, flag: int, truth: bool = True, deep: int = DEEP) -> list[tuple[int, Unmarked]]:
    """Numbers that are known to lie between two others where a flag holds, by what it is made of."""
    step = made_by(program, flag)
    if step is None or not deep:
        return [(source_of(program, flag), Unmarked(int(truth), int(truth)))] if step is None and deep else []
    primitive = step.primitive
    if primitive is _NOT and step.given().kind == "b":
        return tests_of(program, step.ins[0], not truth, deep - 1)
    if primitive is _AND and truth and step.given().kind == "b":
        return [one for operand in step.ins for one in tests_of(program, operand, truth, deep - 1)]
    if primitive in _RESHAPES or primitive is _READ:
        return [(flag, Unmarked(int(truth), int(truth)))]
    if not truth:
        primitive = _NEGATED.get(primitive)
    number = _number(program, step.ins[1]) if len(step.ins) == 2 and step.given().kind in "iub" else None
    if number is None:
        return []
    if primitive is _EQ:
        return [(step.ins[0], Unmarked(number, number))]
    ends = _BELOW.get(primitive)
    if ends is None:
        return []
    below, above = ends
    return [
        (
            step.ins[0],
            Unmarked(-math.inf if above is None else number + above, math.inf if below is None else number + below),
        )
    ]


def _number(program: Program, slot: int) -> int | None:
    fact = program.template[source_of(program, slot)]
    return fact.lo if fact is not None and fact.step == 0 and type(fact.lo) is int else None


def read_at(program: Program, env: list[Any], slot: int, array: int) -> tuple[int, ...] | None:
    """The places, all inside, at which a number was read from an array; None for another."""
    step = made_by(program, slot)
    while step is not None and step.primitive in _RESHAPES and _is_single(step.eqn.invars[0]):
        step = made_by(program, step.ins[0])
    if step is None or step.primitive is not _READ or source_of(program, step.ins[0]) != array:
        return None
    shape = step.eqn.invars[0].aval.shape
    if any(n != 1 for n in step.eqn.params["slice_sizes"]):
        return None
    places = tuple([plain(program, slot) for slot in step.ins[1:]])
    return places if _are_inside(program, env, places, shape) else None


def read_from(program: Program, slot: int) -> int | None:
    """The array that a number was read from; None for another."""
    step = made_by(program, slot)
    while step is not None and step.eqn.primitive in _RESHAPES and _is_single(step.eqn.invars[0]):
        step = made_by(program, step.ins[0])
    return None if step is None or step.eqn.primitive is not _READ else source_of(program, step.ins[0])


def _are_inside(program: Program, env: list[Any], places: tuple[int, ...], shape: Any) -> bool:
    """Whether places are one number each wherever they are used, and inside an array."""
    if len(places) != len(shape) or not program.unknown.isdisjoint(places):
        return False
    for place, size in zip(places, shape, strict=True):
        if is_anew(program, place):
            return False
        fact = None if env[place] is None else summarised(env[place])
        if fact is None or type(fact.lo) is not int or type(fact.hi) is not int:
            return False
        if fact.lo < 0 or fact.hi >= size:
            return False
    return True


def plain(program: Program, slot: int) -> int:
    """The slot of a number before it was given other names and shapes."""
    slot = source_of(program, slot)
    step = program.defs.get(slot)
    while step is not None and step.kind == SIMPLE and _only_moves(step):
        slot = source_of(program, step.ins[0])
        step = program.defs.get(slot)
    return slot


def _only_moves(step: Step) -> bool:
    """Whether a step gives a single number another shape, or the same integer another type that holds it."""
    given, result = step.eqn.invars[0], step.eqn.outvars[0]
    if step.primitive in _RESHAPES:
        return _is_single(given) and _is_single(result)
    return step.primitive is _CONVERT and bool(given.aval.dtype == result.aval.dtype)


def _is_single(atom: Any) -> bool:
    """Whether an array holds one number."""
    return all(type(n) is int and n == 1 for n in atom.aval.shape)


def written_at(program: Program, step: Step) -> tuple[int, ...] | None:
    """The places at which a scatter sets one element of an array; None for another."""
    numbers, eqn = step.eqn.params["dimension_numbers"], step.eqn
    rank = len(eqn.invars[0].aval.shape)
    each = tuple(range(rank))
    if eqn.params.get("update_jaxpr") is not None or eqn.invars[1].aval.shape != (rank,):
        return None
    if tuple(numbers.scatter_dims_to_operand_dims) != each or tuple(numbers.inserted_window_dims) != each:
        return None
    if rank == 1:
        return (plain(program, step.ins[1]),)
    made = made_by(program, step.ins[1])
    if made is None or made.primitive is not _CONCATENATE or len(made.ins) != rank:
        return None
    return tuple([plain(program, slot) for slot in made.ins])


def rises_by_one(
    program: Program, env: list[Any], slot: int, array: int, flag: int | None, unmarked: Unmarked, chosen: bool
) -> bool:
    """Whether a number is at most one more than an element of an array, and only where the flag holds.

    `chosen` says that it is written only there.
    """
    fact = None if env[slot] is None else summarised(env[slot])
    if fact is not None and type(fact.hi) is int and fact.hi <= unmarked.most:
        return True
    step = made_by(program, slot)
    if step is None:
        return False
    if chosen and step.primitive is _ADD and _adds_one(program, step, array):
        return True
    if step.primitive in _RESHAPES or step.primitive is _READ:
        return _is_read(program, slot, array)
    if step.primitive is _SELECT and len(step.ins) == 3:
        which, kept, more = step.ins
        if flag is None or plain(program, which) != plain(program, flag) or are_flags_anew(program, which):
            return False
        # Where the flag does not hold it is an element, and no more.
        if not rises_by_one(program, env, kept, array, None, unmarked, False):
            return False
        return rises_by_one(program, env, more, array, None, unmarked, True)
    return False


def _adds_one(program: Program, step: Step, array: int) -> bool:
    """Whether a sum is one more than an element of an array."""
    pairs = (step.ins, step.ins[::-1])
    return any(_number(program, other) == 1 and _is_read(program, one, array) for one, other in pairs)


def _is_read(program: Program, slot: int, array: int) -> bool:
    """Whether a number is an element of an array."""
    step = made_by(program, slot)
    while step is not None and step.primitive in _RESHAPES:
        step = made_by(program, step.ins[0])
    return step is not None and step.primitive is _READ and source_of(program, step.ins[0]) == array


def only_marks(program: Program, env: list[Any], last: int, first: int, unmarked: Unmarked) -> bool:
    """Whether an array is another one in which at most some elements were marked."""
    slot = source_of(program, last)
    for _ in range(DEEP):
        if slot == source_of(program, first):
            return True
        step = made_by(program, slot)
        if step is None or step.primitive is not _SCATTER or not sets_marks(env, step, unmarked):
            return False
        slot = source_of(program, step.ins[0])
    return False


def sets_marks(env: list[Any], step: Step, unmarked: Unmarked) -> bool:
    """Whether a scatter sets elements, and none to what an unmarked one is."""
    return step.eqn.params.get("update_jaxpr") is None and is_mark(env, step.ins[2], unmarked)


def is_mark(env: list[Any], slot: int, unmarked: Unmarked) -> bool:
    """Whether numbers are none that an unmarked element holds, and between those that are to be written."""
    fact = None if env[slot] is None else summarised(env[slot])
    if fact is None or type(fact.lo) is not int or type(fact.hi) is not int or unmarked.may_be(fact):
        return False
    return bool(unmarked.least <= fact.lo and fact.hi <= unmarked.most)


def unmarked_in(program: Program, env: list[Any], slot: int, size: int, unmarked: Unmarked) -> int | None:
    """How many elements of an array there may be that are not marked."""
    fact = env[slot]
    if fact is None:
        return None
    most = _may_be_unmarked(fact, size, unmarked)
    written = None if most is None else one_written(program, env, slot)
    if most is None or written is None or unmarked.may_be(written[0]):
        return most
    before = _may_be_unmarked(written[1], size, unmarked)
    return min(most, size - 1 if before is None else min(before, size - 1))


def first_marks(program: Program, env: list[Any], step: Step) -> tuple[Any, ...]:
    """What is known of the arrays that a loop starts with, besides their facts: nothing of most."""
    found = []
    for i, slot in zip(step.extra.carries, step.extra.inits, strict=True):
        written = one_written(program, env, slot)
        if written is not None:
            found.append((i, written[0].key(), written[1].key()))
    return tuple(found)


def one_written(program: Program, env: list[Any], slot: int) -> tuple[Fact, Fact] | None:
    """What is in an array at one place, and what was in it before; None where it was not made so."""
    step = made_by(program, slot)
    if step is None or len(step.ins) < 2:
        return None
    if step.primitive is _SCATTER:
        places = written_at(program, step)
        value, before = env[step.ins[2]], env[step.ins[0]]
        if places is None or value is None or before is None or type(summarised(value).lo) is not int:
            return None
        return (summarised(value), before) if _are_inside(program, env, places, step.eqn.invars[0].aval.shape) else None
    shape = step.eqn.outvars[0].aval.shape
    if step.primitive is not _EQ or len(shape) != 1 or type(shape[0]) is not int:
        return None
    for one, other in (step.ins, step.ins[::-1]):
        counted = made_by(program, one)
        if counted is not None and counted.eqn.primitive is _IOTA:
            inside = _are_inside(program, env, (_spread(program, other),), shape)
            return (Fact(1, 1, 0), Fact(0, 0, 0)) if inside else None
    return None


def _spread(program: Program, slot: int) -> int:
    """The number that an array holds in all its elements, or the array."""
    made = made_by(program, slot)
    spreads = made is not None and made.primitive in _RESHAPES and made.eqn.invars[0].aval.shape == ()
    return plain(program, made.ins[0]) if made is not None and spreads else slot


def _may_be_unmarked(fact: Fact, size: int, unmarked: Unmarked) -> int | None:
    if type(fact.lo) is np.ndarray:
        if fact.lo.size == size:
            return int(np.count_nonzero(unmarked.may_be(fact)))
        fact = summarised(fact)
    if type(fact.lo) is not int or type(fact.hi) is not int:
        return None
    return size if unmarked.may_be(fact) else 0
