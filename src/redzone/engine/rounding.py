"""Floats of which the last digit decides: `(uniform * n)` stays below n, and `x - floor(x)` below 1 or at it.

XLA may fuse a product with the sum it goes into, which leaves it unrounded, or compute in a wider type; either way the
result lies between the exact one and the nearest float. But it also makes `(x * 3) * 5` a product with 15, and a sum
of a sum and a constant one sum: there the digits of the middle are other ones. So it is looked at what makes the
operands.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from redzone.domains import Fact, dtype_info, summarised
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import Rule, floats

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

_P = primitives()


def _named(*names: str) -> frozenset[Any]:
    return frozenset(_P[n + "_p"] for n in names if n + "_p" in _P)


#: What makes constants, in place of a primitive, what makes the program's inputs, and those of a part of it.
CONSTANT, _INPUT, GIVEN = "constant", "input", "given"
#: What gives a number another place, or another sign, and nothing else.
MOVES = _named("broadcast_in_dim", "reshape", "squeeze", "slice", "transpose", "rev", "copy", "stop_gradient", "neg")
#: What is nothing to the compiler but another name.
_NAMES = _named("name", "pvary", "pcast", "sharding_constraint", "mesh_cast", "reshard") | {assume_p}
#: What no compiler takes apart to put a product or sum of its own together.
APART = _named("max", "min", "clamp", "floor", "ceil", "round", "bitcast_convert_type", "dynamic_slice", "gather")
APART |= {CONSTANT, _INPUT, _P["convert_element_type_p"]}
LIMITS = _named("max", "min", "clamp")
#: What is rounded wherever it is used, as a sum is, or is no product that was selected or put beside others.
_NO_PRODUCTS = APART | _named("add", "sub", "rem", "abs", "sqrt", "exp", "exp2", "log", "log1p", "sin", "cos", "tanh")
_NO_PRODUCTS |= _named("logistic", "select_n", "cumsum", "cummax", "cummin", "sort")
_READS = _named("dynamic_slice", "gather")
_CONVERT, _ADD, _SUB, _MUL, _FLOOR = (_P[n + "_p"] for n in ("convert_element_type", "add", "sub", "mul", "floor"))
#: What may be a product to the compiler: a quotient is one with the inverse, and one of arrays may have a single term.
SUMS = frozenset((_ADD, _SUB))
PRODUCTS = _named("mul", "div", "square", "integer_pow", "pow", "dot_general")
#: What is computed once, however often it is used.
KEPT = _named("sort", "top_k", "cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp", "dot_general", "reduce_sum")
KEPT |= _named("reduce_prod", "reduce_max", "reduce_min", "conv_general_dilated", "fft", "scatter", "scatter_add")
KEPT |= _named("reduce_window", "reduce_window_sum", "reduce_window_max", "reduce_window_min", "optimization_barrier")
#: Among how many numbers a product is looked for that goes into a sum.
FURTHEST = 100
#: What a compiler may fuse with what makes its operands, or put its constants together with theirs.
PUT_TOGETHER = _named("add", "sub", "mul", "div", "dot_general", "integer_pow", "square", "reduce_sum", "cumsum")
#: By primitive: what may make its operands for it to be rounded once.
_BEFORE = {_MUL: APART | {_ADD, _SUB}, _ADD: APART | {_MUL}, _SUB: APART | {_MUL}}


def _once(function: Any) -> Rule:
    def apply(eqn: Any, a: Fact, b: Fact) -> Fact:
        found: Fact = function(a, b, dtype_info(eqn.outvars[0].aval.dtype), True)
        return found

    return Rule(apply, pointwise=True)


def _fraction(eqn: Any, a: Fact, b: Fact) -> Fact:
    """What is left of a number above a whole one is exact where it is not negative; a little below zero it is 1."""
    a = summarised(a)
    if not (math.isfinite(a.lo) and math.isfinite(a.hi)):
        return Fact(0.0, 1.0, 1, True)
    return Fact(0.0, 1.0 - 2.0**-24 if a.lo >= 0 else 1.0, 1, a.nan)


_FRACTION = Rule(_fraction, pointwise=True)
_ONCE = {_MUL: _once(floats.mul), _ADD: _once(floats.add), _SUB: _once(floats.sub)}
ROUNDS = frozenset(_ONCE)
ORDERS = _named("lt", "le", "gt", "ge")
#: The rule of a sum that is rounded once.
ADDED_ONCE = _ONCE[_ADD]


def rounded_once(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a product, sum or difference of float32 that is rounded once; None where that is not known."""
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if info.kind != "f" or info.bits != 32:
        return None
    if eqn.primitive is _SUB and _is_fraction(frame, *eqn.invars):
        return _FRACTION
    before = _BEFORE[eqn.primitive]
    return _ONCE[eqn.primitive] if all(_made_by(frame, atom) in before for atom in eqn.invars) else None


def is_limited(frame: Frame, atom: Any) -> bool:
    """Whether a number is held between others by the last that is done to it."""
    return _made_by(frame, atom) in LIMITS


def settled(frame: Frame, atom: Any) -> str:
    """Whether a number is one wherever it is used: "constant" or "rounded", or "read", of what may be a product yet."""
    frame, atom, made = source(frame, atom)
    if made is CONSTANT:
        return "constant"
    if made is _SUB:
        return "rounded" if _is_fraction(frame, *frame.maker(atom).invars) else ""
    if made not in APART or not is_one(frame, atom):
        return ""
    if made in _READS:
        return "rounded" if _made_by(frame, frame.maker(atom).invars[0]) is _INPUT else "read"
    return "rounded"


def is_one(frame: Frame, atom: Any) -> bool:
    """Whether a number is computed alike wherever that is done (`engine/anew.py`)."""
    waiting, seen = [(frame, atom)], set[Any]()
    for frame, atom in waiting:
        frame, atom, made = source(frame, atom)
        eqn = None if type(atom) is Literal or made in KEPT else frame.maker(atom)
        if eqn is None or atom in seen:
            continue
        seen.add(atom)
        if made in SUMS and dtype_info(atom.aval.dtype).kind == "f" and is_twofold(frame, eqn):
            return False
        waiting += [(frame, one) for one in eqn.invars if dtype_info(getattr(one.aval, "dtype", None)).kind in "fiu"]
        if len(waiting) > FURTHEST:
            return False
    return True


def is_twofold(frame: Frame, eqn: Any) -> bool:
    """Whether a sum of floats may be another number in another place (`engine/anew.py`).

    Where nothing but the sum reads a product in it, all that compute the sum fuse the two, or none does. Of two
    products in it one may be fused here and the other there.
    """
    kinds = [_product(frame, atom) for atom in eqn.invars]
    return max(kinds) == _READ_BY_OTHERS or min(kinds) > 0


#: Kinds of terms: no product that is rounded, one that only the sum reads, one that others read too.
_NONE, _OWN, _READ_BY_OTHERS = range(3)


def _product(frame: Frame, atom: Any) -> int:
    """Whether a term of a sum may be a product that is rounded, and whether anything else reads that."""
    first, alone = (frame, atom), True
    while type(atom) is not Literal and atom not in frame.consts:
        outer = frame.bindings.get(atom)
        alone = alone and frame.slicer.is_read_once(frame.jaxpr, atom)
        if outer is not None and frame.parent is not None:
            frame, atom = frame.parent, outer
            continue
        made = frame.maker(atom)
        if made is None or not made.invars:
            return _NONE
        if made.primitive in CALLS and made.primitive is not SHARD_MAP_P:
            inner, consts = open_jaxpr(made.params[CALLS[made.primitive]])
            if len(inner.invars) != len(made.invars) or len(inner.outvars) != len(made.outvars):
                return _READ_BY_OTHERS
            result = inner.outvars[made.outvars.index(atom)]
            frame, atom = frame.inside(inner, dict(zip(inner.invars, made.invars, strict=True)), consts), result
        elif made.primitive in PRODUCTS:
            if _is_exact(made):
                return _NONE
            return _OWN if alone and not _is_made_again(frame, made) else _READ_BY_OTHERS
        elif _is_moved(made):
            atom = made.invars[0]
        else:
            break
    # What becomes of a number that is made in another type, nobody knows.
    return _READ_BY_OTHERS if _made_by(*first) in PRODUCTS else _NONE


def _is_moved(made: Any) -> bool:
    if made.primitive is _CONVERT:
        return bool(dtype_info(made.invars[0].aval.dtype).kind == "f")
    return made.primitive in MOVES or made.primitive in _NAMES


def _is_exact(made: Any) -> bool:
    """Whether a product is one with a power of two, or a quotient by it."""
    places = {_MUL: (0, 1), _P["div_p"]: (1,)}.get(made.primitive, ())
    literals = [made.invars[k].val for k in places if type(made.invars[k]) is Literal]
    numbers = [float(val) for val in literals if np.ndim(val) == 0]
    return any(math.isfinite(n) and abs(math.frexp(n)[0]) == 0.5 for n in numbers)


def _is_made_again(frame: Frame, made: Any) -> bool:
    """Whether another equation beside a product makes the same: the compiler takes the two for one."""
    mine = sorted(map(_name, made.invars))
    beside = frame.slicer.readers(frame.jaxpr).get(next((v for v in made.invars if type(v) is not Literal), None), ())
    return any(
        eqn is not made and eqn.primitive is made.primitive and sorted(map(_name, eqn.invars)) == mine for eqn in beside
    )


def _name(atom: Any) -> str:
    return f"={atom}" if type(atom) is Literal else str(id(atom))


def rounded_operands(frame: Frame, eqn: Any) -> tuple[bool, bool]:
    """Which of the float32 numbers that an equation compares are such numbers wherever they are used.

    Below 1 lies 1 - 2^-24 then, and nothing between them. A product or sum may be looked at before it is rounded.
    """
    first, second = eqn.invars
    return _is_rounded(frame, first), _is_rounded(frame, second)


def _is_rounded(frame: Frame, atom: Any) -> bool:
    return type(atom) is not Literal and settled(frame, atom) == "rounded"


def _is_fraction(frame: Frame, number: Any, whole: Any) -> bool:
    """Whether one is the other rounded down, and that very number: a product not yet rounded may be below itself.

    Quotients, powers and what is given from elsewhere may be products too; and so may what is read of an array.
    """
    made = None if type(whole) is Literal else frame.maker(whole)
    if made is None or made.primitive is not _FLOOR or made.invars[0] is not number:
        return False
    at, atom, primitive = source(frame, number)
    if primitive in _READS:
        primitive = _made_by(at, at.maker(atom).invars[0])
    return primitive in _NO_PRODUCTS and is_one(at, atom)


def _made_by(frame: Frame, atom: Any) -> Any:
    """The primitive that makes a number, wherever it is moved and through whichever calls."""
    return source(frame, atom)[2]


def source(frame: Frame, atom: Any) -> tuple[Frame, Any, Any]:
    """The same, and the number before it was moved, and where that is."""
    while type(atom) is not Literal and atom not in frame.consts:
        outer = frame.bindings.get(atom)
        if outer is not None and frame.parent is not None:
            frame, atom = frame.parent, outer
            continue
        made = frame.maker(atom)
        if made is None:
            # Only of the whole program it is known that nothing is put together with what makes its inputs.
            whole = frame.parent is None and frame.jaxpr is frame.slicer.inventory.keep[0]
            return frame, atom, _INPUT if whole else GIVEN
        if made.primitive in CALLS and made.primitive is not SHARD_MAP_P:
            inner, consts = open_jaxpr(made.params[CALLS[made.primitive]])
            if len(inner.invars) != len(made.invars) or len(inner.outvars) != len(made.outvars):
                return frame, atom, made.primitive
            result = inner.outvars[made.outvars.index(atom)]
            frame, atom = frame.inside(inner, dict(zip(inner.invars, made.invars, strict=True)), consts), result
        elif (
            made.primitive in MOVES
            or made.primitive in _NAMES
            or (made.primitive is _CONVERT and made.invars[0].aval.dtype == made.outvars[0].aval.dtype)
        ):
            atom = made.invars[0]
        elif made.primitive is _CONVERT and not dtype_info(made.invars[0].aval.dtype).integral:
            return frame, atom, _MUL  # Nobody knows what becomes of a number that is made in another type.
        else:
            return frame, atom, made.primitive
    return frame, atom, CONSTANT
