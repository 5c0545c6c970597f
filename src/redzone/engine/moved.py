"""Where a number comes from: through calls, and whatever gives it another place, name or sign and nothing else."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import Literal, open_jaxpr, primitives

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

_P: Final = primitives()


def named(*names: str) -> frozenset[Any]:
    """The primitives of these names, of those that this JAX has."""
    return frozenset(_P[n + "_p"] for n in names if n + "_p" in _P)


#: What makes constants, in place of a primitive, what makes the program's inputs, and those of a part of it.
CONSTANT: Final = "constant"
INPUT: Final = "input"
GIVEN: Final = "given"
#: What gives a number another place, or another sign, and nothing else.
MOVES: Final = named(
    "broadcast_in_dim", "reshape", "squeeze", "slice", "transpose", "rev", "copy", "stop_gradient", "neg"
)
#: What is nothing to the compiler but another name.
NAMES: Final = named("name", "pvary", "pcast", "sharding_constraint", "mesh_cast", "reshard") | {assume_p}
LIMITS: Final = named("max", "min", "clamp")
_RENAMES: Final = MOVES | NAMES
_CONVERT: Final = _P["convert_element_type_p"]
_MUL: Final = _P["mul_p"]
_BARRIER: Final = _P.get("optimization_barrier_p")


def made_by(frame: Frame, atom: Any) -> Any:
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
            return frame, atom, INPUT if whole else GIVEN
        primitive = made.primitive
        if primitive in _RENAMES:
            atom = made.invars[0]
        elif primitive in CALLS and primitive is not SHARD_MAP_P:
            inner = called(frame, made, atom)
            if inner is None:
                return frame, atom, primitive
            frame, atom = inner
        elif primitive is _CONVERT and made.invars[0].aval.dtype == made.outvars[0].aval.dtype:
            atom = made.invars[0]
        elif primitive is _CONVERT and not dtype_info(made.invars[0].aval.dtype).integral:
            return frame, atom, _MUL  # Nobody knows what becomes of a number that is made in another type.
        elif primitive is _BARRIER:
            # It is gone before anything is fused.
            atom = made.invars[made.outvars.index(atom)]
        else:
            kept = unlimited(frame, made) if primitive in LIMITS else None
            if kept is None:
                return frame, atom, primitive
            atom = kept
    return frame, atom, CONSTANT


def called(frame: Frame, eqn: Any, atom: Any) -> tuple[Frame, Any] | None:
    """The result of a call, where the function that it runs makes it."""
    inner, consts = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
    if len(inner.invars) != len(eqn.invars) or len(inner.outvars) != len(eqn.outvars):
        return None
    return frame.called(eqn, inner, consts), inner.outvars[eqn.outvars.index(atom)]


def unlimited(frame: Frame, eqn: Any) -> Any:
    """The operand that a maximum, minimum or clamp is whatever happens; None where it limits anything.

    No number is above infinity, and none is greater than itself: the compiler leaves that out.
    """
    if len(eqn.invars) == 3:
        low, number, high = eqn.invars
        return number if _is_infinite(frame, low) and _is_infinite(frame, high) else None
    one, other = eqn.invars
    if one is other or _is_infinite(frame, other):
        return one
    if _is_infinite(frame, one):
        return other
    return one if _are_one(frame, one, other) else None


def _are_one(frame: Frame, one: Any, other: Any) -> bool:
    """Whether one primitive makes two numbers from the same operands."""
    (at, first), (there, second) = frame.outer(one), frame.outer(other)
    if type(first) is Literal or type(second) is Literal:
        return False
    made, too = at.maker(first), there.maker(second)
    if made is None or too is None:
        return first is second
    if made.primitive is not too.primitive or len(made.invars) != len(too.invars):
        return False
    return sorted([_name(at, v) for v in made.invars]) == sorted([_name(there, v) for v in too.invars])


def _name(frame: Frame, atom: Any) -> str:
    atom = frame.outer(atom)[1]
    return f"={atom}" if type(atom) is Literal else str(id(atom))


def without_zero(frame: Frame, eqn: Any) -> Any:
    """The operand that a sum is, or a difference but for its sign, where the other may be zero; None where none is."""
    one, other = eqn.invars
    if _may_be_zero(frame, other):
        return one
    return other if _may_be_zero(frame, one) else None


def _is_infinite(frame: Frame, atom: Any) -> bool:
    value = constant_of(frame, atom)
    return value is not None and bool(value.dtype.kind == "f" and np.isinf(value).all())


def _may_be_zero(frame: Frame, atom: Any) -> bool:
    value = constant_of(frame, atom)
    return value is not None and bool((value == 0).any())


def constant_of(frame: Frame, atom: Any) -> Any:
    """The numbers that an atom is; None for one that is no constant. Narrow floats are given in wider ones."""
    frame, atom, made = source(frame, atom)
    if made is not CONSTANT:
        return None
    # A literal may be a double of Python's, which the program rounds.
    with np.errstate(over="ignore"):
        value = np.asarray(atom.val, atom.aval.dtype) if type(atom) is Literal else np.asarray(frame.consts[atom])
    info = dtype_info(value.dtype)
    return value.astype(np.float32) if info.kind == "f" and info.bits < 32 else value
