"""The place of an extreme among what a condition lets through: `jnp.argmax(jnp.where(ok, score, -jnp.inf))`.

What is put in where the condition fails is no more than any score, or no less for an argmin. So the extreme is where
the condition holds; or all of them are equal, and it is the very first place. A NaN counts as the extreme, and is none
of what is put in.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, dtype_info, scalar, summarised
from redzone.domains.fact import NORMAL
from redzone.engine.frames import resolve
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.engine.program import SIMPLE
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import RULES
from redzone.rules.reductions import place_of_extreme, tells_places
from redzone.rules.table import Rule

if TYPE_CHECKING:
    from redzone.engine.frames import Frame
    from redzone.engine.slots import Slots

_P: Final = primitives()
_SELECT: Final = _P["select_n_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_ARGMAX: Final = _P["argmax_p"]
_SIDE_BY_SIDE: Final = frozenset(_P[n] for n in ("concatenate_p", "stack_p") if n in _P)
#: How many bools put side by side are looked at where the first true one is asked for.
BOOLS: Final = 16


class Choice(NamedTuple):
    """What an argmax or argmin is the place of."""

    flags: tuple[Any, Any]
    """The condition, one bool for each place, after where it is known."""
    values: tuple[Any, Any]
    """Among which it looks where the condition holds, in the same way."""
    sure: bool
    """Whether no value of the type is beyond what is put in elsewhere."""
    rule: Rule


class How(NamedTuple):
    """How a rule of this kind reads its condition."""

    greatest: bool
    """Whether it is the greatest that is looked for."""
    truth: int
    """What the condition is where a value is let through."""
    fill: Any
    """What is put in elsewhere."""

    def is_end(self, values: Fact) -> bool:
        """Whether what is put in is at the end of these values, or beyond it."""
        whole = summarised(values)
        if type(whole.lo) not in (int, float) or type(whole.hi) not in (int, float):
            return False
        return bool(whole.lo >= self.fill if self.greatest else whole.hi <= self.fill)

    def is_beyond(self, values: Fact | None) -> bool:
        """Whether it is none of these values, nor taken for one of them because both are nearly zero."""
        if values is None or not self.is_end(values):
            return False
        whole = summarised(values)
        end = whole.lo if self.greatest else whole.hi
        return bool(end != self.fill and (type(end) is int or max(abs(end), abs(self.fill)) >= NORMAL))


_RULES: Final[dict[How, Rule]] = {}
#: By rule: how it reads its condition.
CHOSEN: Final[dict[Rule, How]] = {}


def choice(resolve: Callable[[Frame, Any], tuple[Frame, Any]], frame: Frame, eqn: Any) -> Choice | None:
    """For the place of an extreme: what is let through, and where; None where there is no such condition."""
    operand, greatest = eqn.invars[0].aval, eqn.primitive is _ARGMAX
    at, atom = resolve(frame, eqn.invars[0])
    made = None if type(atom) is Literal else at.maker(atom)
    home = at
    if made is not None and made.primitive in CALLS and made.primitive is not SHARD_MAP_P:
        inner, _ = open_jaxpr(made.params[CALLS[made.primitive]])
        if len(inner.invars) != len(made.invars) or len(inner.outvars) != len(made.outvars):
            return None
        result = inner.outvars[made.outvars.index(atom)]
        at, atom = at.inside(inner, dict(zip(inner.invars, made.invars, strict=True))), result
        made = None if type(atom) is Literal else at.maker(atom)
    if made is None or made.primitive is not _SELECT or len(made.invars) != 3 or len(eqn.params["axes"]) != 1:
        return None
    flags = resolve(at, made.invars[0])
    info = dtype_info(operand.dtype)
    if type(flags[1]) is Literal or flags[1].aval.shape != operand.shape or flags[1].aval.dtype != bool:
        return None
    if info.kind not in "iuf":
        return None
    for k in (0, 1):
        fill, values = _number(resolve, at, made.invars[1 + k]), resolve(at, made.invars[2 - k])
        if fill is None or (at is not home and at in (flags[0], values[0])):
            # What is made inside a call is not looked at.
            continue
        end = (info.min if greatest else info.max) if info.integral else (-np.inf if greatest else np.inf)
        return Choice(flags, values, fill == end, _rule(How(greatest, 1 - k, fill)))
    return None


def _number(resolve: Callable[[Frame, Any], tuple[Frame, Any]], frame: Frame, atom: Any) -> Any:
    """The number that all elements of an array are, as its type has it; None where it is not a literal."""
    types = [atom.aval.dtype]
    while True:
        frame, atom = resolve(frame, atom)
        if type(atom) is Literal:
            break
        made = frame.maker(atom)
        if made is None or made.primitive not in (_BROADCAST, _CONVERT):
            return None
        atom = made.invars[0]
        types.append(atom.aval.dtype)
    if np.size(atom.val) != 1 or not all(dtype_info(t).kind in "iuf" for t in types):
        return None
    value: Any = np.asarray(atom.val)
    for dtype in types[::-1]:
        if dtype_info(value.dtype).kind == "f" and dtype_info(dtype).integral:
            return None
        value = value.astype(dtype)
    number = value.item()
    return number if number == number else None


def _rule(how: How) -> Rule:
    found = _RULES.get(how)
    if found is None:
        found = _RULES[how] = _made(how)
        CHOSEN[found] = how
    return found


def _made(how: How) -> Rule:
    def apply(eqn: Any, flags: Fact, *values: Fact) -> Fact:
        return chosen(eqn, flags, values[0] if values else None, how)

    return Rule(apply)


def chosen(eqn: Any, flags: Fact, values: Fact | None, how: How) -> Fact:
    """Where the extreme can be, given what is known of the condition and of the values."""
    plain: Fact = place_of_extreme(eqn)
    if (values is not None and not how.is_end(values)) or not tells_places(eqn):
        return plain
    shape, axis = eqn.invars[0].aval.shape, int(eqn.params["axes"][0])
    if type(flags.lo) is not np.ndarray or flags.lo.ndim != len(shape) or flags.lo.shape[axis] != shape[axis]:
        return plain
    can, must = (flags.hi > 0, flags.lo > 0) if how.truth else (flags.lo < 1, flags.hi < 1)
    places = np.flatnonzero(can.any(axis=tuple([d for d in range(can.ndim) if d != axis])))
    if not places.size:
        return scalar(0)
    # In every row there must be one, for no extreme to be at the first place because all are equal.
    first = int(places[0]) if how.is_beyond(values) and must.any(axis=axis).all() else 0
    last = int(places[-1])
    return Fact(first, last, 0 if first == last else 1)


def first_true(build: Slots, eqn: Any, frame: Frame) -> bool:
    """Ask for the few bools, put side by side, of which an argmax finds the first true one; False for another."""
    if eqn.invars[0].aval.dtype != bool or eqn.primitive is not _ARGMAX:
        return False
    at, atom = resolve(frame, eqn.invars[0])
    made = None if type(atom) is Literal else at.maker(atom)
    if made is None or made.primitive not in _SIDE_BY_SIDE or len(made.invars) > BOOLS:
        return False
    slots = (build.slot(frame, eqn.invars[0]),), (frame.slots[eqn.outvars[0]],)
    build.emit(SIMPLE, eqn, *slots).rule = RULES[_ARGMAX]
    return True


def among_chosen(build: Slots, eqn: Any, frame: Frame) -> bool:
    """Ask for the condition that lets through what an extreme is looked for among; False where there is none."""
    found = choice(resolve, frame, eqn)
    if found is None:
        return False
    at, values = found.values
    cheap = type(values) is Literal or dtype_info(values.aval.dtype).integral or build.is_asked(at, values)
    cheap = cheap or (at.parent is None and values in at.inputs)
    if not cheap and not found.sure:
        return False
    ins = [build.slot(*found.flags), *([build.slot(at, values)] if cheap else [])]
    build.emit(SIMPLE, eqn, ins, (frame.slots[eqn.outvars[0]],)).rule = found.rule
    return True
