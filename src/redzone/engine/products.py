"""Products of floats that go into sums, and who else reads them.

A compiler fuses a product with the sum that it goes into, or rounds it first, where something else reads it too. Where
nothing but the sum does, all that compute the sum do it alike. But what reads a product is not always written down: the
compiler takes two products of the same numbers for one, leaves out factors of 1, takes what does not change out of
loops, and does away with calls, with what only arranges numbers and with choices by constants. So products are held
against each other by the numbers that go into them, wherever those are read.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from redzone.domains import dtype_info
from redzone.engine.frames import Frame, calls_around
from redzone.engine.inventory import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.engine.kept import adds_floats, is_done_away, keeps
from redzone.engine.moved import CONSTANT, LIMITS, MOVES, NAMES, called, named, source, unlimited
from redzone.frontend.compat import Literal, inner_jaxprs, open_jaxpr, primitives, scan_counts

_P = primitives()
_MUL, _DIV, _DOT, _BITCAST = (_P[n + "_p"] for n in ("mul", "div", "dot_general", "bitcast_convert_type"))
SUMS = named("add", "sub")
#: What may be a product to the compiler: a quotient is one with the inverse, and one of arrays may have a single term.
PRODUCTS = named("mul", "div", "square", "integer_pow", "pow", "dot_general")
#: Sums of many terms, which may be taken apart where they are not kept.
_MANY = named("reduce_sum", "cumsum", "reduce_window_sum", "reduce_window", "conv_general_dilated", "scatter_add")
#: What rounds a number, or makes another of it: no product behind it goes into a sum.
_ROUNDED = SUMS | LIMITS | named("floor", "ceil", "round", "sign", "rem", "sqrt", "rsqrt", "cbrt", "argmax", "argmin")
_ROUNDED |= named("exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "tanh", "sinh", "cosh", "logistic")
_ROUNDED |= named(
    "asin", "acos", "atan", "atan2", "asinh", "acosh", "atanh", "erf", "erfc", "erf_inv", "lgamma", "digamma"
)
#: Equations of floats for which it is to be found out how they are computed; others are as their operands.
DECIDED = SUMS | _MANY | named("dot_general", "reduce_prod", "reduce_max", "reduce_min", "sort", "top_k", "scatter")
DECIDED |= named("cumprod", "cummax", "cummin", "cumlogsumexp", "reduce_window_max", "reduce_window_min")
_LOOPS = (SCAN_P, WHILE_P, COND_P)
#: Among how many numbers a product is looked for that goes into a sum, and one that is the same.
FURTHEST = 100
#: How results are computed: once; as often as they are used, as their operands are; or not each time alike.
ONCE, ALIKE, TWOFOLD = range(3)
#: Kinds of terms: no product that is rounded, one that only the sum reads, one that others read too.
_NONE, _OWN, _READ_BY_OTHERS = range(3)


def how_computed(frame: Frame, eqn: Any) -> int:
    """Whether what an equation makes is one number wherever it is used, given that its operands are."""
    primitive = eqn.primitive
    if keeps(frame, eqn):
        return ONCE
    if primitive in SUMS:
        return TWOFOLD if is_twofold(frame, eqn) else ALIKE
    if primitive in _MANY or (primitive is _DOT and _are_added(eqn)):
        many = primitive is _DOT or any(_product(frame, atom) for atom in eqn.invars)
        return TWOFOLD if many else ALIKE
    return ALIKE


def _are_added(eqn: Any) -> bool:
    return any(eqn.invars[0].aval.shape[d] != 1 for d in eqn.params["dimension_numbers"][0][0])


def is_one(frame: Frame, atom: Any) -> bool:
    """Whether a number is computed alike wherever that is done (`engine/anew.py`)."""
    waiting, seen = [(frame, atom)], set[Any]()
    for frame, atom in waiting:
        frame, atom, _ = source(frame, atom)
        eqn = None if type(atom) is Literal else frame.maker(atom)
        if eqn is None or atom in seen:
            continue
        seen.add(atom)
        if eqn.primitive in _LOOPS or eqn.primitive in CALLS:
            if how_run(frame, eqn) == TWOFOLD:
                return False
        elif dtype_info(getattr(atom.aval, "dtype", None)).kind == "f":
            how = how_computed(frame, eqn)
            if how == TWOFOLD:
                return False
            if how == ONCE:
                continue
        waiting += [(frame, one) for one in eqn.invars if dtype_info(getattr(one.aval, "dtype", None)).kind in "fiu"]
        if len(waiting) > FURTHEST:
            return False
    return True


def how_run(frame: Frame, eqn: Any) -> int:
    """The same of loops and branches, which are computed once unless the compiler does away with them, and of calls."""
    if eqn.primitive in _LOOPS and not is_done_away(frame, eqn):
        return ONCE
    return TWOFOLD if any(adds_floats(open_jaxpr(one)[0]) for one in inner_jaxprs(eqn.params)) else ALIKE


def is_twofold(frame: Frame, eqn: Any) -> bool:
    """Whether a sum of floats may be another number in another place (`engine/anew.py`).

    Where nothing but the sum reads a product in it, all that compute the sum fuse the two, or none does. Of two
    products in it one may be fused here and the other there.
    """
    kinds = [_product(frame, atom) for atom in eqn.invars]
    return max(kinds) == _READ_BY_OTHERS or min(kinds) > 0


def _product(frame: Frame, atom: Any) -> int:
    """Whether a term of a sum may be a product that is rounded, and whether anything else reads that."""
    waiting, found = [(frame, atom, True)], _NONE
    for frame, atom, alone in waiting:
        if type(atom) is Literal or atom in frame.consts or found == _READ_BY_OTHERS:
            continue
        alone = alone and frame.slicer.is_read_once(frame.jaxpr, atom)
        outer = frame.bindings.get(atom)
        if outer is not None and frame.parent is not None:
            waiting.append((frame.parent, outer, alone))
            continue
        made = frame.maker(atom)
        if made is None:
            continue
        before = _before(frame, made, atom)
        if before is None or len(waiting) > FURTHEST:
            return _READ_BY_OTHERS
        if made.primitive in PRODUCTS and not _is_exact(made):
            own = alone and not _is_made_again(frame, made, alone)
            found = max(found, _OWN if own else _READ_BY_OTHERS)
            continue
        waiting += [(at, one, alone) for at, one in before]
    return found


def _before(frame: Frame, made: Any, atom: Any) -> list[tuple[Frame, Any]] | None:
    """The floats that a number may be, or be a product of, as it is made; None where nobody knows."""
    primitive = made.primitive
    if primitive in CALLS:
        inner = called(frame, made, atom) if primitive is not SHARD_MAP_P else None
        return None if inner is None else [inner]
    if primitive in _LOOPS:
        return None if is_done_away(frame, made) else []
    if primitive in _ROUNDED:
        kept = unlimited(frame, made) if primitive in LIMITS else None
        return [] if kept is None else [(frame, kept)]
    if primitive not in PRODUCTS and keeps(frame, made):
        return []
    if primitive is _BITCAST:
        return [(frame, made.invars[0])]
    return [(frame, one) for one in made.invars if not dtype_info(getattr(one.aval, "dtype", None)).integral]


def _is_exact(made: Any) -> bool:
    """Whether a product is one with a power of two, or a quotient by it."""
    places = {_MUL: (0, 1), _DIV: (1,)}.get(made.primitive, ())
    literals = [made.invars[k].val for k in places if type(made.invars[k]) is Literal]
    numbers = [float(val) for val in literals if np.ndim(val) == 0]
    return any(math.isfinite(n) and abs(math.frexp(n)[0]) == 0.5 for n in numbers)


class _Factors(NamedTuple):
    """What a product is made of."""

    numbers: frozenset[Any]
    """What is multiplied, by identity, where it was made."""
    constant: float | None
    """About how large its constants are together; None where that is not known."""
    made: frozenset[Any]
    """The products on the way that nothing else reads, by identity and calls around them."""
    read: list[tuple[Any, Any]]
    """The numbers, and where each is made."""


def _factors(frame: Frame, made: Any, alone: bool) -> _Factors | None:
    """The factors of a product; None where there are too many."""
    numbers, mine, read, constant = (
        set[Any](),
        {_named(frame, made)},
        list[tuple[Any, Any]](),
        _of_constants(frame, made),
    )
    waiting = [(frame, one, alone) for one in made.invars]
    for frame, atom, alone in waiting:
        if len(waiting) > FURTHEST:
            return None
        if type(atom) is Literal or atom in frame.consts:
            continue
        alone = alone and frame.slicer.is_read_once(frame.jaxpr, atom)
        outer = frame.bindings.get(atom)
        if outer is not None and frame.parent is not None:
            waiting.append((frame.parent, outer, alone))
            continue
        eqn = frame.maker(atom)
        before = None if eqn is None else _before(frame, eqn, atom)
        if not before:
            if atom not in numbers:
                read.append((frame, atom))
            numbers.add(atom)
            continue
        if eqn.primitive in PRODUCTS:
            if alone:
                mine.add(_named(frame, eqn))
            more = _of_constants(frame, eqn)
            constant = None if constant is None or more is None else constant * more
        elif not (eqn.primitive in MOVES or eqn.primitive in NAMES or eqn.primitive in CALLS):
            constant = None
        waiting += [(at, one, alone) for at, one in before]
    return _Factors(frozenset(numbers), constant, frozenset(mine), read)


def _named(frame: Frame, eqn: Any) -> Any:
    return id(eqn), calls_around(frame)


def _of_constants(frame: Frame, eqn: Any) -> float | None:
    """About how large the constant is that an equation multiplies by; None where it is not one number."""
    if eqn.primitive not in (_MUL, _DIV):
        return None
    found = 1.0
    for k, atom in enumerate(eqn.invars):
        at, atom, made = source(frame, atom)
        if made is CONSTANT:
            value = np.asarray(atom.val if type(atom) is Literal else at.consts[atom])
            if value.size == 0 or value.dtype.kind not in "fiu" or (value != value.flat[0]).any():
                return None
            number = abs(float(value.flat[0]))
            if not 1e-30 < number < 1e30:
                return None
            found = found / number if eqn.primitive is _DIV and k else found * number
    return found


def _is_made_again(frame: Frame, made: Any, alone: bool) -> bool:
    """Whether another equation may make the same product: the compiler takes the two for one."""
    mine = _factors(frame, made, alone)
    if mine is None or not mine.read:
        return True
    if any(at.parent is None and id(at.jaxpr) in at.slicer.done_away and at.maker(v) is None for at, v in mine.read):
        # What calls it is part of the same program, and not looked at from here.
        return True
    readers = [(len(at.slicer.readers(at.jaxpr).get(atom, ())), k) for k, (at, atom) in enumerate(mine.read)]
    waiting, seen = [mine.read[min(readers)[1]]], 0
    for at, atom in waiting:
        for eqn in at.slicer.readers(at.jaxpr).get(atom, ()):
            seen += 1
            if seen > FURTHEST:
                return True
            another = eqn.primitive in PRODUCTS and _named(at, eqn) not in mine.made
            if another and _may_be_one(mine, _factors(at, eqn, True)):
                return True
            waiting += _after(at, eqn, atom)
        if at.call is not None and at.parent is not None:
            waiting += [(at.parent, v) for v, one in zip(at.call.outvars, at.jaxpr.outvars, strict=True) if one is atom]
    return False


def _after(frame: Frame, eqn: Any, atom: Any) -> list[tuple[Frame, Any]]:
    """Where a number goes on that an equation reads, be it moved or multiplied."""
    primitive = eqn.primitive
    places = [k for k, one in enumerate(eqn.invars) if one is atom]
    if primitive in CALLS or primitive in _LOOPS:
        found = list[tuple[Any, Any]]()
        for inner, consts, first in _within(eqn):
            within = frame.called(eqn, inner, consts) if primitive in CALLS else _given(frame, eqn, inner, first)
            found += [(within, inner.invars[k - first]) for k in places if 0 <= k - first < len(within.bindings)]
        return found
    if primitive in _ROUNDED and primitive not in LIMITS:
        return []
    if primitive is _BITCAST:
        return [(frame, eqn.outvars[0])]
    return [(frame, v) for v in eqn.outvars if not dtype_info(getattr(v.aval, "dtype", None)).integral]


def _within(eqn: Any) -> list[tuple[Any, tuple[Any, ...], int]]:
    """What an equation runs: the jaxpr, its constants, and from which operand on its inputs are."""
    primitive, params = eqn.primitive, eqn.params
    if primitive in CALLS:
        inner, consts = open_jaxpr(params[CALLS[primitive]])
        return [(inner, consts, 0)] if len(inner.invars) == len(eqn.invars) else []
    if primitive is COND_P:
        return [(*open_jaxpr(one), 1) for one in params["branches"]]
    if primitive is SCAN_P:
        return [(*open_jaxpr(params["jaxpr"]), 0)]
    return [(*open_jaxpr(params["body_jaxpr"]), params["cond_nconsts"])]


def _given(frame: Frame, eqn: Any, inner: Any, first: int) -> Frame:
    """A branch, or the body of a loop, and what of its inputs stays the same."""
    count = len(inner.invars)
    if eqn.primitive is SCAN_P:
        count = scan_counts(eqn.params)[0]
    elif eqn.primitive is WHILE_P:
        count = eqn.params["body_nconsts"]
    return frame.inside(inner, dict(zip(inner.invars[:count], eqn.invars[first : first + count], strict=True)))


def _may_be_one(one: _Factors, other: _Factors | None) -> bool:
    if other is None:
        return True
    if not (one.numbers <= other.numbers or other.numbers <= one.numbers):
        return False
    if one.constant is None or other.constant is None:
        return True
    return math.isclose(one.constant, other.constant, rel_tol=1e-4)
