"""Products of floats that go into sums, and who else reads them.

A compiler fuses a product with the sum that it goes into, or rounds it first, where something else reads it too. Where
nothing but the sum does, all that compute the sum do it alike, unless some of them go through its rows in another way:
where a loop takes one column of several, or all of a row at once, the machine multiplies before it sorts out what it
loaded, and rounds in between. And what reads a product is not always written down: the compiler takes two products of
the same numbers for one, leaves out factors of 1, takes what does not change out of loops, and does away with calls,
with what only arranges numbers and with choices by constants. So a product is a sum's own only where no other in the
program is made from any of its inputs (`engine/multiplied.py`).
"""

from __future__ import annotations

import math
from typing import Any, Final

from redzone.domains import dtype_info
from redzone.engine.frames import Frame, Slicing, calls_around
from redzone.engine.inventory import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.engine.kept import adds_floats, is_done_away, keeps
from redzone.engine.moved import LIMITS, called, constant_of, named, source, unlimited, without_zero
from redzone.engine.multiplied import ROUNDED, Product, multiplied, named_by
from redzone.frontend.compat import Literal, inner_jaxprs, open_jaxpr, primitives
from redzone.rules import RULES

_P: Final = primitives()
_MUL: Final = _P["mul_p"]
_DIV: Final = _P["div_p"]
_SUB: Final = _P["sub_p"]
_DOT: Final = _P["dot_general_p"]
_BITCAST: Final = _P["bitcast_convert_type_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_SLICE: Final = _P["slice_p"]
SUMS: Final = named("add", "sub")
#: What may be a product to the compiler: a quotient is one with the inverse, and one of arrays may have a single term.
PRODUCTS: Final = named("mul", "div", "square", "integer_pow", "pow", "dot_general")
#: Sums of many terms, which may be taken apart where they are not kept.
_MANY: Final = named(
    "reduce_sum", "cumsum", "reduce_window_sum", "reduce_window", "conv_general_dilated", "scatter_add"
)
#: Equations of floats for which it is to be found out how they are computed; others are as their operands.
DECIDED: Final = (
    SUMS
    | _MANY
    | named("dot_general", "reduce_prod", "reduce_max", "reduce_min", "sort", "top_k", "scatter")
    | named("cumprod", "cummax", "cummin", "cumlogsumexp", "reduce_window_max", "reduce_window_min")
)
_LOOPS: Final = (SCAN_P, WHILE_P, COND_P)
#: What goes through an array as it lies there; of others, by elements.
_IN_ORDER: Final = named(
    *("select_n", "convert_element_type", "reshape", "squeeze", "broadcast_in_dim", "concatenate", "stack"),
    *("copy", "stop_gradient", "name", "optimization_barrier", "clamp", "pad"),
)
_READS: Final = named(
    *("gather", "dynamic_slice", "dynamic_update_slice"),
    *("scatter", "scatter_add", "scatter_min", "scatter_max", "scatter_mul", "scatter_sub"),
)
#: Among how many numbers a product is looked for that goes into a sum, and one that is the same.
FURTHEST: Final = 100
#: How many numbers are looked at that one is made of.
MOST: Final = 1000
#: How many numbers are looked at that a flag is made of.
FLAGS: Final = 64
#: How results are computed: once; as often as they are used, as their operands are; or not each time alike.
ONCE: Final = 0
ALIKE: Final = 1
TWOFOLD: Final = 2
#: Kinds of terms: no product that is rounded, one that only the sum reads, one that others read too.
_NONE: Final = 0
_OWN: Final = 1
_READ_BY_OTHERS: Final = 2


def how_computed(frame: Frame, eqn: Any) -> int:
    """Whether what an equation makes is one number wherever it is used, given that its operands are."""
    primitive = eqn.primitive
    if keeps(frame, eqn):
        return ONCE
    if primitive in SUMS:
        return _of_sum(frame, eqn)
    if primitive in _MANY or (primitive is _DOT and _are_added(eqn)):
        many = primitive is _DOT or any(_product(frame, atom) for atom in eqn.invars)
        return TWOFOLD if many else ALIKE
    return ALIKE


def _of_sum(frame: Frame, eqn: Any) -> int:
    """The same of a sum; told once in a check where it is computed by the program itself, or by what that calls.

    There nothing is given that depends on how the program is sliced, which may be done again for other accesses.
    """
    at, around = frame, [eqn]
    while at.call is not None and at.parent is not None:
        around.append(at.call)
        at = at.parent
    inventory = frame.slicer.inventory
    if at.parent is not None or at.jaxpr is not inventory.keep[0]:
        return TWOFOLD if is_twofold(frame, eqn) else ALIKE
    key = tuple([id(one) for one in around])
    known = inventory.sums.get(key)
    if known is None:
        # With what is named by its identity.
        known = inventory.sums[key] = (around, TWOFOLD if is_twofold(frame, eqn) else ALIKE)
    return known[1]


def _are_added(eqn: Any) -> bool:
    return any(eqn.invars[0].aval.shape[d] != 1 for d in eqn.params["dimension_numbers"][0][0])


def is_one(frame: Frame, atom: Any) -> bool:
    """Whether a number is computed alike wherever that is done (`engine/anew.py`)."""
    return _is_one(frame, atom, False)


def _is_one(frame: Frame, atom: Any, flags: bool) -> bool:
    """The same; with `flags`, of all that goes into bools too, if that is not much."""
    slicer, waiting, seen = frame.slicer, [(frame, atom)], set[Any]()
    most = FLAGS if flags else MOST
    for frame, atom in waiting:
        frame, atom, _ = source(frame, atom)
        if type(atom) is Literal or atom in frame.consts:
            continue
        # A function that is called twice has the same names in both.
        name = (atom, calls_around(frame))
        if name in seen or (name in slicer.alike and not flags):
            continue
        eqn = frame.maker(atom)
        if eqn is None:
            if is_given_anew(slicer, atom):
                return False
            continue
        seen.add(name)
        if eqn.primitive in _LOOPS or eqn.primitive in CALLS:
            how = how_run(frame, eqn)
        elif dtype_info(getattr(atom.aval, "dtype", None)).integral:
            how = ONCE if keeps(frame, eqn) else ALIKE
        else:
            how = how_computed(frame, eqn)
        if how == TWOFOLD:
            return False
        if how == ONCE:
            continue
        some = (
            eqn.invars if flags else [v for v in eqn.invars if dtype_info(getattr(v.aval, "dtype", None)).kind != "b"]
        )
        waiting += [(frame, one) for one in some]
        if len(waiting) > most:
            return False
    if not flags:
        slicer.alike |= seen
    return True


def is_given_anew(slicer: Slicing, given: Any) -> bool:
    """Whether an input of a loop, a branch or a function may be another number in each place it is used in."""
    slicer.looked_at.add(given)
    known = slicer.given_anew.get(given)
    if known is None:
        frame, atom = slicer.given.get(given, (None, None))
        known = atom is not None and (is_given_anew(slicer, atom) if frame is None else not is_one(frame, atom))
        slicer.given_anew[given] = known
    return known


def how_given(slicer: Slicing, given: Any) -> int:
    """What was found out about an input of a loop, a branch or a function, told apart by a number."""
    return 2 * is_given_anew(slicer, given) + is_kept(slicer, given)


def is_kept(slicer: Slicing, given: Any) -> bool:
    """Whether an input of a while is a float32 number that it carries, written down after each iteration.

    Its condition and its body read that number, however it was computed before.
    """
    slicer.looked_at.add(given)
    frame, atom = slicer.given.get(given, (None, None))
    while frame is None and atom is not None:
        given = atom
        frame, atom = slicer.given.get(given, (None, None))
    return given in slicer.carried


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
    most = max(kinds)
    return most == _READ_BY_OTHERS or min(kinds) > 0 or (most == _OWN and _is_rearranged(frame, eqn.outvars[0]))


def _is_rearranged(frame: Frame, atom: Any) -> bool:
    """Whether something that is made of a number goes through an array in another order, or through parts of its rows.

    What loops and branches are given is kept.
    """
    waiting, seen, called_here = [(frame, atom)], set[Any](), dict[int, Frame]()
    for frame, atom in waiting:
        name = (atom, calls_around(frame))
        if name in seen:
            continue
        seen.add(name)
        if len(waiting) > MOST:
            return True
        jaxpr = frame.jaxpr
        for eqn, _, _ in frame.slicer.inventory.wiring.readers(jaxpr).get(atom, ()):
            primitive = eqn.primitive
            if primitive in _LOOPS and not is_done_away(frame, eqn):
                continue
            if primitive in CALLS and primitive is not SHARD_MAP_P:
                inner, consts = open_jaxpr(eqn.params[CALLS[primitive]])
                if len(inner.invars) != len(eqn.invars):
                    return True
                within = called_here.get(id(eqn))
                if within is None:
                    within = called_here[id(eqn)] = frame.called(eqn, inner, consts)
                waiting += [(within, v) for v, one in zip(inner.invars, eqn.invars, strict=True) if one is atom]
            elif _rearranges(eqn, atom):
                return True
            else:
                waiting += [(frame, v) for v in eqn.outvars]
        if any(out is atom for out in jaxpr.outvars):
            if frame.call is not None and frame.parent is not None:
                outs = frame.call.outvars
                if len(outs) != len(jaxpr.outvars):
                    return True
                waiting += [(frame.parent, v) for v, out in zip(outs, jaxpr.outvars, strict=True) if out is atom]
            elif jaxpr is not frame.slicer.inventory.keep[0] and len(getattr(atom.aval, "shape", ())) > 1:
                # Whoever runs it is not known here.
                return True
    return False


def _rearranges(eqn: Any, atom: Any) -> bool:
    """Whether an equation reads an array of rows, or elements of it apart, other than from the first to the last."""
    primitive, shape = eqn.primitive, getattr(atom.aval, "shape", ())
    if not shape or primitive in _IN_ORDER:
        return False
    if primitive in _READS and eqn.invars[0] is not atom:
        return False
    rule = RULES.get(primitive)
    if rule is not None and rule.pointwise:
        return False
    if primitive is _SLICE and len(shape) == 1:
        return any(stride != 1 for stride in eqn.params["strides"] or ())
    return len(shape) > 1


def may_be_product(frame: Frame, atom: Any) -> bool:
    """Whether a number may be a product, or one that was arranged, chosen or limited by nothing."""
    return _product(frame, atom) != _NONE


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
        if made.primitive is _DOT and keeps(frame, made):
            # A sum of several products, that is written down before anything reads it.
            continue
        before = _before(frame, made, atom)
        if before is None or len(waiting) > FURTHEST:
            return _READ_BY_OTHERS
        if made.primitive in PRODUCTS and not _is_exact(frame, made):
            own = alone and not _is_made_again(frame, made)
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
    if primitive in ROUNDED:
        kept = unlimited(frame, made) if primitive in LIMITS else None
        if primitive in SUMS:
            kept = without_zero(frame, made)
        return [] if kept is None else [(frame, kept)]
    if primitive not in PRODUCTS and keeps(frame, made):
        return []
    if primitive is _BITCAST:
        return [(frame, made.invars[0])]
    return [(frame, one) for one in made.invars if not dtype_info(getattr(one.aval, "dtype", None)).integral]


def _is_exact(frame: Frame, made: Any) -> bool:
    """Whether a product is one with a power of two, or a quotient by it, or made of a flag, `mask / mask.sum()`.

    A flag that was converted is 0 or 1, the same wherever it is used if nothing that is computed anew goes into it, and
    a product with it is 0 or the other number. So is a quotient of a flag by an integer that was converted: 0 or the
    inverse, which is rounded by itself and then multiplied by 1, or not at all. Of numbers that are no integers more
    might be put together, as in `flag / (a / b)`.
    """
    places = {_MUL: (0, 1), _DIV: (1,)}.get(made.primitive, ())
    if any(_is_power_of_two(frame, made.invars[k]) for k in places):
        return True
    info = dtype_info(made.outvars[0].aval.dtype)
    if not places or info.kind != "f" or info.bits < 32:
        # Narrow floats may be kept wider than they are.
        return False
    kinds = [_converted(frame, atom) for atom in made.invars]
    flags = [atom for atom, kind in zip(made.invars, kinds, strict=True) if kind == "b"]
    exact = bool(flags) if made.primitive is _MUL else kinds[0] == "b" and kinds[1] in ("i", "u", "b")
    return exact and all(_is_one(frame, atom, True) for atom in flags)


def _is_power_of_two(frame: Frame, atom: Any) -> bool:
    """Whether a number is a constant power of two, or a difference of constants that is, as that of a uniform draw."""
    value = constant_of(frame, atom)
    if value is None:
        at, one, made = source(frame, atom)
        if made is not _SUB:
            return False
        above, below = (constant_of(at, end) for end in at.maker(one).invars)
        if above is None or below is None or max(above.size, below.size) > FURTHEST:
            return False
        value = above - below
    if value.dtype.kind != "f" or not 0 < value.size <= FURTHEST:
        return False
    number = float(value.flat[0])
    return math.isfinite(number) and abs(math.frexp(number)[0]) == 0.5 and bool((value == number).all())


def _converted(frame: Frame, atom: Any) -> str:
    """The kind of integers that floats were converted from, wherever they were moved since; empty for others."""
    frame, atom, made = source(frame, atom)
    if made is not _CONVERT:
        return ""
    info = dtype_info(frame.maker(atom).invars[0].aval.dtype)
    return info.kind if info.integral else ""


def _is_made_again(frame: Frame, made: Any) -> bool:
    """Whether the compiler may take another product for this one."""
    top = frame
    while top.parent is not None and top.parent is not top:
        top = top.parent
    if id(top.jaxpr) in top.slicer.done_away:
        # What runs it is part of the same program, and not looked at from here.
        return True
    every = _every_product(top)
    mine = every.get(named_by(frame, made)) if every is not None else None
    if every is None or mine is None:
        return True
    within = _within(frame, made)
    return any(_may_be_one(mine, other) for name, other in every.items() if other is not mine and name not in within)


def _every_product(top: Frame) -> dict[Any, Product] | None:
    """The products of a program, looked for once in a check, however often it is sliced."""
    known, constants = top.slicer.inventory.multiplied, top.consts
    key = (id(top.jaxpr), *[id(constants[v]) for v in top.jaxpr.constvars if v in constants])
    if key not in known:
        # With what is named by its identity.
        known[key] = (top.jaxpr, constants, multiplied(top))
    found: dict[Any, Product] | None = known[key][2]
    return found


def _within(frame: Frame, made: Any) -> set[Any]:
    """The products that a product is made of, and nothing else reads."""
    waiting, found = [(frame, one) for one in made.invars], set[Any]()
    for frame, atom in waiting:
        if type(atom) is Literal or atom in frame.consts or len(waiting) > FURTHEST:
            continue
        if not frame.slicer.is_read_once(frame.jaxpr, atom):
            continue
        outer = frame.bindings.get(atom)
        if outer is not None and frame.parent is not None:
            waiting.append((frame.parent, outer))
            continue
        eqn = frame.maker(atom)
        if eqn is not None:
            found.add(named_by(frame, eqn))
            waiting += _before(frame, eqn, atom) or ()
    return found


def _may_be_one(one: Product, other: Product) -> bool:
    if not one.inputs & other.inputs:
        return False
    if one.constant is None or other.constant is None:
        return True
    return math.isclose(one.constant, other.constant, rel_tol=1e-4)
