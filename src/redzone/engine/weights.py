"""Weights over their own sum: `w / w.sum()` is not negative where no weight is, or it is NaN.

A sum that starts at 0, of numbers none of which is negative, is not negative however it is added up and rounded, and
what counts as zero on the way keeps its sign. It is -0 at most where every term is, and then each quotient is -0 / -0,
which is NaN. A weight over a positive sum is not negative, over 0 it is infinite or NaN, over infinity 0 or NaN. The
same holds where a positive constant stands in for the sum (`jnp.where(s == 0, 1, s)`), limits it from below or is added
to it. How large a quotient is stays open: a sum may count as zero where a weight does not.

The sum must be of the very array that is divided, and each row's beside its own elements. Quotients of quotients are
left alone: they are grouped anew (`engine/regrouped.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from redzone.domains import TOP_FLOAT, Fact, dtype_info, summarised
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.engine.share import NOT_NEGATIVE
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import Rule

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

_P: Final = primitives()
_SUM: Final = _P["reduce_sum_p"]
_EXP: Final = _P["exp_p"]
_SELECT: Final = _P["select_n_p"]
_MAX: Final = _P["max_p"]
_ADD: Final = _P["add_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_MOVES: Final = (_BROADCAST, *(_P[f"{n}_p"] for n in ("reshape", "squeeze", "stop_gradient", "copy") if f"{n}_p" in _P))
#: How many equations are looked through.
DEEP: Final = 12


class Total(NamedTuple):
    """A sum of an array's elements, or of those of each of its rows, and where the array is."""

    frame: Any
    source: Any
    axes: tuple[int, ...]
    placed: bool
    """Whether each sum stands beside the elements that it is of."""


def own_share(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a quotient of floats by their own sum; None for another, and for what is known to be at most 1."""
    above, below = eqn.invars
    info = dtype_info(eqn.outvars[0].aval.dtype)
    if info.kind != "f" or info.bits < 32 or type(above) is Literal or type(below) is Literal:
        return None
    total = _total(frame, below)
    if total is None:
        return None
    at, source = frame.outer(above)
    if at is not total.frame or source is not total.source:
        return None
    shape = source.aval.shape
    if not (len(total.axes) == len(shape) or (total.placed and above.aval.shape == eqn.outvars[0].aval.shape)):
        return None
    # Of one element the compiler makes no sum. Numbers that were integers, and exponentials, have rules of their own.
    several = any(type(shape[d]) is not int or shape[d] > 1 for d in total.axes)
    made = at.maker(source)
    if not several or (made is not None and _is_known_better(made, total)):
        return None
    return _NOT_NEGATIVE


def _is_known_better(made: Any, total: Total) -> bool:
    if made.primitive is _CONVERT:
        return bool(dtype_info(made.invars[0].aval.dtype).integral)
    return made.primitive is _EXP and total.placed


def _total(frame: Frame, atom: Any) -> Total | None:
    """The sum that a number is, but for a positive constant that stands in for it, limits it or is added to it."""
    moved: Any = None
    moves = 0
    for _ in range(DEEP):
        frame, atom = frame.outer(atom)
        made = None if type(atom) is Literal else frame.maker(atom)
        if made is None:
            return None
        primitive = made.primitive
        if primitive is _SUM:
            if type(made.invars[0]) is Literal:
                return None
            axes = tuple([int(axis) for axis in made.params["axes"]])
            at, source = frame.outer(made.invars[0])
            placed = moves == 1 and _is_beside(moved, source.aval.shape, axes)
            return Total(at, source, axes, placed) if placed or len(axes) == len(source.aval.shape) else None
        if primitive in CALLS and primitive is not SHARD_MAP_P:
            inner, consts = open_jaxpr(made.params[CALLS[primitive]])
            if len(inner.invars) != len(made.invars) or len(inner.outvars) != len(made.outvars):
                return None
            result = inner.outvars[made.outvars.index(atom)]
            frame, atom = frame.inside(inner, dict(zip(inner.invars, made.invars, strict=True)), consts), result
        elif primitive in _MOVES or (primitive is _CONVERT and made.invars[0].aval.dtype == atom.aval.dtype):
            if primitive is not _CONVERT:
                moved, moves = made, moves + 1
            atom = made.invars[0]
        elif primitive in (_SELECT, _MAX, _ADD):
            cases = made.invars[1:] if primitive is _SELECT else made.invars
            others = [one for one in cases if not _is_positive(frame, one)]
            if len(others) != 1 or others[0].aval.shape != atom.aval.shape:
                return None
            atom = others[0]
        else:
            return None
    return None


def _is_beside(eqn: Any, sizes: Any, axes: tuple[int, ...]) -> bool:
    """Whether a broadcast puts the sums of rows beside the rows that they are of."""
    if eqn.primitive is not _BROADCAST:
        return False
    shape, rest = eqn.params["shape"], tuple([d for d in range(len(sizes)) if d not in axes])
    if tuple(eqn.params["broadcast_dimensions"]) != rest or len(shape) != len(sizes):
        return False
    return all(m == n or (m == 1 and d in axes) for d, (m, n) in enumerate(zip(shape, sizes, strict=True)))


def _is_positive(frame: Frame, atom: Any) -> bool:
    """Whether a number is a positive constant, in whatever shape; one that is converted is a float afterwards."""
    for _ in range(DEEP):
        frame, atom = frame.outer(atom)
        if type(atom) is Literal:
            return getattr(atom.val, "shape", ()) == () and bool(atom.val > 0)
        made = frame.maker(atom)
        if made is None:
            return False
        if made.primitive is _CONVERT:
            if dtype_info(atom.aval.dtype).kind != "f" or dtype_info(made.invars[0].aval.dtype).kind not in "iuf":
                return False
        elif made.primitive not in _MOVES:
            return False
        atom = made.invars[0]
    return False


def _shared(eqn: Any, a: Fact, b: Fact) -> Fact:
    return NOT_NEGATIVE if summarised(a).lo >= 0 else TOP_FLOAT


_NOT_NEGATIVE: Final = Rule(_shared, needs=(0,))
