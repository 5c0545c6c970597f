"""Sums of which at most one term is not zero: `(one_hot(e, n) * v).sum(-1)`, `where(arange(n) == e, v, 0).sum()`, and
products of arrays that are such sums: `one_hot(e, n) @ v`.

Numbers that differ along a dimension are compared with one that is the same all along it: at most one of them is equal,
and exactly one where that number is surely among them. So the sum is what the term is there, and nothing wraps.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import DtypeInfo, Fact, dtype_info, join, meet, scalar, summarised
from redzone.engine.levels import HERE
from redzone.engine.program import Program, Step, made_by
from redzone.engine.refine import assuming
from redzone.engine.relations import Infeasible
from redzone.frontend.compat import primitives

_P: Final = primitives()
_MUL: Final = _P["mul_p"]
_SELECT: Final = _P["select_n_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_EQ: Final = _P["eq_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_SUM: Final = _P["reduce_sum_p"]
_DOT: Final = _P["dot_general_p"]


class Hot(NamedTuple):
    """A sum of terms that are zero where two numbers differ."""

    flags: int
    """Where they are equal."""
    along: int
    """The numbers that differ from each other."""
    other: int
    """What they are compared with."""
    value: int
    """What the term is where they are equal; -1 where that is 1."""
    beside: bool
    """Whether it has an element for each of them."""
    zero: int
    """What the term is elsewhere; -1 where that is plainly 0."""
    axis: int
    """The dimension of the terms that is summed over."""
    shape: tuple[Any, ...]
    """How many terms there are."""


def sum_of_one(program: Program, env: list[Any], step: Step) -> Fact | None:
    """What such a sum can be; None for another."""
    return _sum_of(program, env, terms_of_one(program, step), dtype_info(step.eqn.outvars[0].aval.dtype))


def one_of_each(program: Program, env: list[Any], step: Step, axis: int) -> Fact | None:
    """For a sum along one axis: what a sum of the same terms along another, of those that are left, can be.

    `axis` is one of the result's. None where the terms are not such that at most one of them is not zero.
    """
    known: tuple[Hot, ...] | None = program.memo.get(("one of each", step.outs[0], axis))
    if known is None:
        plain = dtype_info(step.eqn.outvars[0].aval.dtype).kind in "iu" and program.unknown.isdisjoint(step.ins)
        found = list[Hot]()
        if plain and step.primitive is _SUM and len(step.eqn.params["axes"]) == 1:
            gone, shape = int(step.eqn.params["axes"][0]), step.eqn.invars[0].aval.shape
            found = _candidates(program, step.ins[0], axis + (axis >= gone), shape)
        known = program.memo["one of each", step.outs[0], axis] = tuple(found)
    return _sum_of(program, env, known, dtype_info(step.eqn.outvars[0].aval.dtype))


def _sum_of(program: Program, env: list[Any], some: tuple[Hot, ...], info: DtypeInfo) -> Fact | None:
    for hot in some:
        if hot.zero >= 0 and not _is_zero(env[hot.zero]):
            continue
        numbers, other = env[hot.along], summarised(env[hot.other])
        if numbers is None or not _differ(numbers, hot.axis, hot.shape):
            continue
        term = _term(program, env, hot)
        if term is None or type(term.lo) is not int or type(term.hi) is not int:
            # It is nowhere equal.
            return scalar(0) if term is None else None
        if term.lo < info.min or term.hi > info.max:
            return None
        least, most = int(numbers.lo.min()), int(numbers.lo.max())
        among = type(other.lo) is int and type(other.hi) is int and least <= other.lo and other.hi <= most
        return term if among and most - least + 1 == numbers.lo.size else join(term, scalar(0))
    return None


def dotted(program: Program, env: list[Any], step: Step) -> Fact:
    """A product of arrays, by its rule and by what it is where one of them picks elements of the other."""
    assert step.rule is not None
    plain: Fact = step.rule.apply(step.eqn, *[env[i] for i in step.ins])
    alone = sum_of_one(program, env, step)
    return plain if alone is None else meet(plain, alone) or plain


def picked(program: Program, step: Step) -> int | None:
    """The slot of what a product of arrays may pick elements of; None for another product."""
    return next((hot.value for hot in terms_of_one(program, step)), None) if step.primitive is _DOT else None


def terms_of_one(program: Program, step: Step) -> tuple[Hot, ...]:
    """What may be such conditions on the terms of a sum, looked for once."""
    known: tuple[Hot, ...] | None = program.memo.get(("hot", step.outs[0]))
    if known is None:
        plain = dtype_info(step.eqn.outvars[0].aval.dtype).kind in "iu" and program.unknown.isdisjoint(step.ins)
        found = list[Hot]()
        if plain and step.primitive is _SUM and len(step.eqn.params["axes"]) == 1:
            found = _candidates(program, step.ins[0], int(step.eqn.params["axes"][0]), step.eqn.invars[0].aval.shape)
        elif plain and step.primitive is _DOT and len(step.eqn.params["dimension_numbers"][0][0]) == 1:
            found = _picking(program, step)
        known = program.memo["hot", step.outs[0]] = tuple(found)
        step.volatile = step.volatile or bool(known)
    return known


def _picking(program: Program, step: Step) -> list[Hot]:
    """What of a product of arrays may be such conditions on the elements of the other factor."""
    found = []
    for k in (0, 1):
        axis, shape = int(step.eqn.params["dimension_numbers"][0][k][0]), step.eqn.invars[k].aval.shape
        equal = _flags(program, step.ins[k])
        if equal is None or equal.eqn.outvars[0].aval.shape != shape:
            continue
        for j in (0, 1):
            if _is_same_along(program, equal, 1 - j, axis):
                value = step.ins[1 - k]
                found.append(Hot(equal.outs[0], equal.ins[j], equal.ins[1 - j], value, False, -1, axis, shape))
    return found


def _candidates(program: Program, slot: int, axis: int, shape: tuple[Any, ...]) -> list[Hot]:
    """What may be such a condition on the terms, of this shape, of a sum along an axis."""
    term = made_by(program, slot)
    if term is None:
        return []
    primitive, pairs, zero = term.eqn.primitive, list[tuple[int, int]](), -1
    if primitive is _MUL and len(term.ins) == 2:
        pairs = [(term.ins[0], term.ins[1]), (term.ins[1], term.ins[0])]
    elif primitive is _SELECT and len(term.ins) == 3:
        pairs, zero = [(term.ins[0], term.ins[2])], term.ins[1]
    elif primitive is _CONVERT:
        pairs = [(term.ins[0], -1)]
    found = []
    for flags, value in pairs:
        equal = _flags(program, flags)
        if equal is None or equal.eqn.outvars[0].aval.shape != shape or value in program.unknown:
            continue
        for k in (0, 1):
            if _is_same_along(program, equal, 1 - k, axis):
                beside = value >= 0 and _shape_at(term, value) == shape
                found.append(Hot(equal.outs[0], equal.ins[k], equal.ins[1 - k], value, beside, zero, axis, shape))
    return found


def consecutive(env: list[Any], hot: Hot) -> tuple[int, int] | None:
    """The first and the last of the numbers that are compared, where each is one more than the one before."""
    numbers = env[hot.along]
    if numbers is None or not _differ(numbers, hot.axis, hot.shape) or (hot.zero >= 0 and not _is_zero(env[hot.zero])):
        return None
    every = numbers.lo.ravel().tolist()
    return (every[0], every[-1]) if every == list(range(every[0], every[0] + len(every))) else None


def _is_zero(fact: Fact | None) -> bool:
    return fact is not None and type(fact.lo) is int and fact.lo == 0 and type(fact.hi) is int and fact.hi == 0


def _shape_at(term: Step, slot: int) -> Any:
    """The shape of the operand of a term that is in this slot."""
    return term.eqn.invars[term.ins.index(slot)].aval.shape


def _flags(program: Program, slot: int) -> Step | None:
    """The comparison that numbers, 1 where it holds and 0 elsewhere, were made from."""
    made = made_by(program, slot)
    while made is not None and made.primitive is _CONVERT:
        made = made_by(program, made.ins[0])
    whole = made is not None and made.primitive is _EQ and len(made.ins) == 2
    return made if whole and made is not None and program.unknown.isdisjoint(made.ins) else None


def _is_same_along(program: Program, equal: Step, position: int, axis: int) -> bool:
    """Whether an operand of a comparison is the same number all along a dimension."""
    shape = equal.eqn.invars[position].aval.shape
    if not shape or (type(shape[axis]) is int and shape[axis] == 1):
        return True
    made = made_by(program, equal.ins[position])
    if made is None or made.primitive is not _BROADCAST or made.eqn.outvars[0].aval.shape != shape:
        return False
    dims, source = made.eqn.params["broadcast_dimensions"], made.eqn.invars[0].aval.shape
    return axis not in dims or source[tuple(dims).index(axis)] == 1


def _differ(numbers: Fact, axis: int, shape: tuple[Any, ...]) -> bool:
    """Whether all elements along a dimension are known, and no two of them are equal."""
    lo = numbers.lo
    if type(lo) is not np.ndarray or lo.dtype.kind not in "iu" or lo.ndim != len(shape) or numbers.nan:
        return False
    if lo.shape[axis] != shape[axis] or lo.size != shape[axis] or not (lo is numbers.hi or (lo == numbers.hi).all()):
        return False
    return len(set(lo.ravel().tolist())) == lo.size


def _term(program: Program, env: list[Any], hot: Hot) -> Fact | None:
    """What a term is where the numbers are equal; None where they never are."""
    if hot.value < 0:
        return scalar(1)
    refiner = assuming(program, env, hot.flags, 1, HERE)
    if refiner is None:
        return None
    try:
        return summarised(refiner.value(hot.value, HERE) if hot.beside else env[hot.value])
    except Infeasible:
        return None
