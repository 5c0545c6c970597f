"""What is known of a value before anything runs: the integer it is, or that it is made from literals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redzone.domains import dtype_info
from redzone.domains.fact import SHORT
from redzone.engine.frames import Frame, resolve
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.engine.rounding import is_limited
from redzone.frontend.compat import Literal, open_jaxpr, primitives

_CONVERT_P: Final = primitives()["convert_element_type_p"]
_SPREAD_P: Final = primitives()["broadcast_in_dim_p"]
_IOTA_P: Final = primitives()["iota_p"]
_PLAIN_FLOATS: Final = frozenset(
    primitives()[n + "_p"]
    for n in ("add", "sub", "mul", "neg", "max", "min", "copy", "convert_element_type", "select_n")
)
CUTS: Final = frozenset(primitives()[n + "_p"] for n in ("slice", "squeeze", "reshape"))


def numbers(frame: Frame, atoms: Sequence[Any]) -> dict[int, int]:
    """Which of these are integers that are known before anything runs, by their positions."""
    found = {i: number(frame, atom) for i, atom in enumerate(atoms) if getattr(atom.aval, "shape", None) == ()}
    return {i: n for i, n in found.items() if n is not None}


def number(frame: Frame, atom: Any) -> int | None:
    """A single integer that is written down, if only converted since."""
    info = dtype_info(getattr(atom.aval, "dtype", None))
    if not info.integral:
        return None
    frame, atom = resolve(frame, atom)
    if type(atom) is Literal:
        return int(atom.val)
    eqn = frame.maker(atom)
    if eqn is None:
        return None
    if eqn.primitive is _CONVERT_P:
        found = number(frame, eqn.invars[0])
        return found if found is not None and info.min <= found <= info.max else None
    if eqn.primitive in CALLS and eqn.primitive is not SHARD_MAP_P:
        inner, consts = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
        if len(inner.eqns) == 1 and len(inner.invars) == len(eqn.invars) and len(inner.outvars) == 1:
            return number(frame.called(eqn, inner, consts), inner.outvars[0])
    return None


def filled(frame: Frame, atom: Any) -> int | None:
    """The integer that a value, or every element of it, is known to be before anything runs."""
    frame, atom = resolve(frame, atom)
    eqn = None if type(atom) is Literal else frame.maker(atom)
    return number(frame, eqn.invars[0] if eqn is not None and eqn.primitive is _SPREAD_P else atom)


def is_counted(frame: Frame, atom: Any) -> bool:
    """Whether an array holds the places of its elements, in a type that has room for them."""
    at, atom = resolve(frame, atom)
    made = None if type(atom) is Literal else at.maker(atom)
    if made is None or made.primitive is not _IOTA_P or len(atom.aval.shape) != 1:
        return False
    info, size = dtype_info(atom.aval.dtype), atom.aval.shape[0]
    return info.kind in "iu" and type(size) is int and size <= info.max


def is_known(frame: Frame, atom: Any, depth: int, cut: bool = False) -> bool:
    """Whether floats are made, in a few plain steps, from literals, constants and integers alone.

    A scalar, or a few that may be spread over more; of another array as much is asked only where it is `cut` to such.
    """
    few = _are_few(atom)
    while atom in frame.bindings and frame.parent is not None:
        frame, atom = frame.parent, frame.bindings[atom]
        if type(atom) is Literal:
            return True
    if atom in frame.consts:
        return few or cut
    eqn = frame.maker(atom)
    if eqn is None or depth == 0:
        return False
    if eqn.primitive is _SPREAD_P:
        return type(eqn.invars[0]) is Literal or (
            _are_few(eqn.invars[0]) and is_known(frame, eqn.invars[0], depth - 1, True)
        )
    if not few and not cut:
        return False
    if eqn.primitive in CUTS and type(eqn.invars[0]) is not Literal:
        return is_known(frame, eqn.invars[0], depth - 1, True)
    if eqn.primitive not in _PLAIN_FLOATS or not few:
        return False
    return all(
        type(a) is Literal or dtype_info(getattr(a.aval, "dtype", None)).integral or is_known(frame, a, depth - 1)
        for a in eqn.invars
    )


def _are_few(atom: Any) -> bool:
    """Whether an array has so few elements that they are kept apart and compared with one by one."""
    n = 1
    for size in atom.aval.shape:
        n = n * size if type(size) is int else SHORT + 1
    return n <= SHORT


def few_floats(frame: Frame, atoms: Sequence[Any]) -> tuple[int, ...]:
    """Which of these are a few floats that are known before anything runs, by their positions."""
    return tuple([i for i, a in enumerate(atoms) if _is_float(a) and _are_few(a) and is_known(frame, a, 2)])


def _is_float(atom: Any) -> bool:
    return type(atom) is not Literal and dtype_info(getattr(atom.aval, "dtype", None)).kind == "f"


def is_at_hand(frame: Frame, atom: Any) -> bool:
    """Whether an atom is a constant, an integer, an input or held between others: not a float for which much may
    have to be known."""
    frame, atom = resolve(frame, atom)
    if type(atom) is Literal or atom in frame.consts or dtype_info(atom.aval.dtype).integral:
        return True
    return frame.maker(atom) is None or is_limited(frame, atom)
