"""Products and sums of floats that are rounded once: `(uniform * n)` stays below n, and the last digit decides it.

XLA may fuse a product with the sum it goes into, which leaves it unrounded, or compute in a wider type; either way the
result lies between the exact one and the nearest float. But it also makes `(x * 3) * 5` a product with 15, and a sum
of a sum and a constant one sum: there the digits of the middle are other ones. So it is looked at what makes the
operands.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from redzone.domains import Fact, dtype_info
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import Rule, floats

if TYPE_CHECKING:
    from redzone.engine.slice import Frame

_P = primitives()


def _named(*names: str) -> frozenset[Any]:
    return frozenset(_P[n + "_p"] for n in names if n + "_p" in _P)


#: What gives a number another place and nothing else.
_MOVES = _named("broadcast_in_dim", "reshape", "squeeze", "copy", "stop_gradient")
#: What no compiler takes apart to put a product or sum of its own together.
_APART = _named("max", "min", "clamp", "floor", "ceil", "round", "bitcast_convert_type", "dynamic_slice", "gather")
_CONVERT, _ADD, _SUB, _MUL = (_P[n] for n in ("convert_element_type_p", "add_p", "sub_p", "mul_p"))
#: By primitive: what may make its operands for it to be rounded once.
_BEFORE = {_MUL: _APART | {_ADD, _SUB}, _ADD: _APART | {_MUL}, _SUB: _APART | {_MUL}}


def _once(function: Any) -> Rule:
    def apply(eqn: Any, a: Fact, b: Fact) -> Fact:
        found: Fact = function(a, b, dtype_info(eqn.outvars[0].aval.dtype), True)
        return found

    return Rule(apply, pointwise=True)


_ONCE = {_MUL: _once(floats.mul), _ADD: _once(floats.add), _SUB: _once(floats.sub)}
ROUNDS = frozenset(_ONCE)


def rounded_once(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a product, sum or difference of float32 that is rounded once; None where it may not be."""
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if info.kind != "f" or info.bits != 32:
        return None
    before = _BEFORE[eqn.primitive]
    return _ONCE[eqn.primitive] if all(_is_apart(frame, atom, before) for atom in eqn.invars) else None


def _is_apart(frame: Frame, atom: Any, before: frozenset[Any]) -> bool:
    """Whether a number is a constant, or made by one of these."""
    while type(atom) is not Literal and atom not in frame.consts:
        outer = frame.bindings.get(atom)
        if outer is not None and frame.parent is not None:
            frame, atom = frame.parent, outer
            continue
        made = frame.maker(atom)
        if made is None:
            return False
        if made.primitive in CALLS and made.primitive is not SHARD_MAP_P:
            inner, consts = open_jaxpr(made.params[CALLS[made.primitive]])
            if len(inner.invars) != len(made.invars) or len(inner.outvars) != len(made.outvars):
                return False
            result = inner.outvars[made.outvars.index(atom)]
            frame, atom = frame.inside(inner, dict(zip(inner.invars, made.invars, strict=True)), consts), result
        elif made.primitive is _CONVERT:
            if dtype_info(made.invars[0].aval.dtype).integral:
                return True
            if made.invars[0].aval.dtype != made.outvars[0].aval.dtype:
                return False
            atom = made.invars[0]
        elif made.primitive in _MOVES:
            atom = made.invars[0]
        else:
            return made.primitive in before
    return True
