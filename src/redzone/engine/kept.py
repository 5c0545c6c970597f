"""What a compiler computes once, however often it is used, and what it does away with.

A sort, or a sum of many terms, is kept and read by all that use it. But a sum of one term is that term, and one of
terms that were put beside each other is a plain sum, which costs nothing to compute again. A loop that runs once is no
loop, and of branches by a constant there is one.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.engine.moved import MOVES, NAMES, called, named
from redzone.frontend.compat import Literal, inner_jaxprs, open_jaxpr, primitives
from redzone.rules import RULES

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

_P: Final = primitives()
_REDUCED: Final = named("reduce_sum", "reduce_prod", "reduce_max", "reduce_min")
_RUNNING: Final = named("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")
_WINDOWS: Final = named("reduce_window", "reduce_window_sum", "reduce_window_max", "reduce_window_min")
_SCATTERS: Final = named("scatter", "scatter_add")
_SORT: Final = _P["sort_p"]
_TOP_K: Final = _P["top_k_p"]
_DOT: Final = _P["dot_general_p"]
_CONVOLUTION: Final = _P["conv_general_dilated_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_ADD: Final = _P["add_p"]
_ORDERS: Final = {_P[f"{n}_p"]: getattr(operator, n) for n in ("lt", "le", "gt", "ge", "ne")}
#: What puts arrays beside each other, and so may be taken apart again.
_JOINS: Final = named("concatenate", "stack", "pad", "dynamic_update_slice", "scatter")
#: How many equations are looked through.
DEEP: Final = 24


def keeps(frame: Frame, eqn: Any) -> bool:
    """Whether an equation's results are computed once, however often they are used."""
    primitive, params = eqn.primitive, eqn.params
    if primitive is _SORT:
        return _are_several(eqn.invars[0].aval.shape, (params["dimension"],))
    if primitive is _TOP_K:
        return _are_several(eqn.invars[0].aval.shape, (params.get("axis", -1),))
    if primitive in _REDUCED:
        return _are_several(eqn.invars[0].aval.shape, params["axes"]) and _is_whole(frame, eqn.invars[0])
    if primitive in _RUNNING:
        return _are_several(eqn.invars[0].aval.shape, (params["axis"],)) and _is_whole(frame, eqn.invars[0])
    if primitive in _WINDOWS:
        window = params["window_dimensions"]
        return _are_several(window, range(len(window))) and _is_whole(frame, eqn.invars[0])
    if primitive is _DOT:
        axes = params["dimension_numbers"][0][0]
        return _are_several(eqn.invars[0].aval.shape, axes) and all(_is_whole(frame, one) for one in eqn.invars)
    if primitive is _CONVOLUTION:
        sizes, out = eqn.invars[1].aval.shape, params["dimension_numbers"].rhs_spec[0]
        return _are_several(sizes, [d for d in range(len(sizes)) if d != out])
    if primitive in _SCATTERS:
        sizes = eqn.invars[1].aval.shape[:-1]
        return _are_several(sizes, range(len(sizes)))
    return False


def _are_several(shape: Any, axes: Any) -> bool:
    sizes = [shape[axis] for axis in axes]
    return all(type(n) is int for n in sizes) and math.prod(sizes) > 1


def _is_whole(frame: Frame, atom: Any, deep: int = DEEP) -> bool:
    """Whether an array is none that was put together, or whose elements are repeated."""
    while deep:
        deep -= 1
        frame, atom = frame.outer(atom)
        made = None if type(atom) is Literal else frame.maker(atom)
        if made is None or not made.invars:
            return True
        primitive = made.primitive
        if primitive in _JOINS:
            return False
        if primitive is _BROADCAST and made.outvars[0].aval.size != made.invars[0].aval.size:
            return False
        if primitive in CALLS:
            inner = called(frame, made, atom) if primitive is not SHARD_MAP_P else None
            if inner is None:
                return False
            frame, atom = inner
        elif primitive in MOVES or primitive in NAMES or primitive is _CONVERT:
            atom = made.invars[0]
        else:
            rule = RULES.get(primitive)
            if rule is None or not rule.pointwise:
                return True
            # Where all operands of what is made element by element are repeated, it is repeated after that.
            shaped = [one for one in made.invars if getattr(one.aval, "shape", ())]
            return any(_is_whole(frame, one, deep // 2) for one in shaped)
    return False


def is_done_away(frame: Frame, eqn: Any) -> bool:
    """Whether a loop may run once at most as it is written, so that its body is a part of what it stands in; or of
    branches one is known to be taken."""
    primitive, params = eqn.primitive, eqn.params
    if primitive is SCAN_P:
        length, unroll = params["length"], max(1, int(params["unroll"]))
        if type(length) is not int:
            return False
        return length < 2 * unroll or length % unroll != 0
    if primitive is COND_P:
        return len(params["branches"]) == 1 or _is_constant(frame, eqn.invars[0])
    return primitive is WHILE_P and _may_run_once(frame, eqn)


def _may_run_once(frame: Frame, eqn: Any) -> bool:
    """Whether constants alone decide how often a while runs, and that may be once or never."""
    params = eqn.params
    test, body = (open_jaxpr(params[f"{name}_jaxpr"])[0] for name in ("cond", "body"))
    first, given = params["cond_nconsts"], params["body_nconsts"]
    starts = eqn.invars[first + given :]
    read = _reads(test, test.outvars)
    if not all(_is_constant(frame, eqn.invars[k]) for k in read if k < first):
        return False
    carries = [k - first for k in sorted(read) if k >= first]
    for k in carries:
        if not _is_constant(frame, starts[k]):
            return False
        for one in sorted(_reads(body, (body.outvars[k],))):
            if one < given and not _is_constant(frame, eqn.invars[first + one]):
                return False
            if one >= given and one - given not in carries:
                carries.append(one - given)
    return len(carries) != 1 or not _counts_on(test, body, first + carries[0], given + carries[0], starts[carries[0]])


def _reads(jaxpr: Any, results: Any) -> set[int]:
    """The inputs of a jaxpr, by position, that some of its results are made of."""
    wanted = {v for v in results if type(v) is not Literal}
    for eqn in reversed(jaxpr.eqns):
        if not wanted.isdisjoint(eqn.outvars):
            wanted.update([v for v in eqn.invars if type(v) is not Literal])
    return {k for k, v in enumerate(jaxpr.invars) if v in wanted}


def _counts_on(test: Any, body: Any, tested: int, counted: int, start: Any) -> bool:
    """Whether a loop counts from one number to another, both of them written down, and runs more than once."""
    made = next((eqn for eqn in body.eqns if body.outvars[counted - len(body.invars)] in eqn.outvars), None)
    if len(test.eqns) != 1 or made is None or made.primitive is not _ADD or type(start) is not Literal:
        return False
    (compared,) = test.eqns
    holds, (one, limit) = _ORDERS.get(compared.primitive), compared.invars
    step = made.invars[1]
    if holds is None or one is not test.invars[tested] or made.invars[0] is not body.invars[counted]:
        return False
    if type(limit) is not Literal or type(step) is not Literal or test.outvars[0] is not compared.outvars[0]:
        return False
    number, by, end = int(start.val), int(step.val), int(limit.val)
    return bool(holds(number, end) and holds(number + by, end))


def _is_constant(frame: Frame, atom: Any) -> bool:
    """Whether a number is made of nothing but constants."""
    waiting = [(frame, atom)]
    for frame, atom in waiting:
        frame, atom = frame.outer(atom)
        if type(atom) is Literal or atom in frame.consts:
            continue
        made = frame.maker(atom)
        if made is None or len(waiting) > DEEP or made.primitive is SHARD_MAP_P:
            return False
        inner = called(frame, made, atom) if made.primitive in CALLS else None
        waiting += [inner] if inner is not None else [(frame, one) for one in made.invars]
    return True


def adds_floats(jaxpr: Any) -> bool:
    """Whether any equation of a jaxpr, or of those within, adds floats."""
    return any(eqn.primitive in _ADDS and dtype_info(eqn.outvars[0].aval.dtype).kind == "f" for eqn in _all(jaxpr))


_ADDS: Final = named("add", "sub", "reduce_sum", "cumsum", "dot_general")


def _all(jaxpr: Any) -> Iterator[Any]:
    waiting = [jaxpr]
    for one in waiting:
        for eqn in one.eqns:
            yield eqn
            waiting += [open_jaxpr(inner)[0] for inner in inner_jaxprs(eqn.params)]
