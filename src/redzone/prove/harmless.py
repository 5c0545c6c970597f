"""Writes that change nothing: what is added outside is zero then, and so on."""

from __future__ import annotations

import functools
from typing import Any, Final

from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.prove.finite import is_finite
from redzone.prove.selected import TRUE, Found, flag_of, own_places
from redzone.prove.uses import Uses
from redzone.prove.whole import picks

_P: Final = primitives()
_SELECT: Final = _P["select_n_p"]
_MUL: Final = _P["mul_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_CONVERT: Final = _P["convert_element_type_p"]


def harmless(
    uses: Uses, jaxpr: Any, updates: Any, places: tuple[int, ...], neutral: Any = 0, reader: Any = None
) -> list[Found]:
    """The condition under which what is written is anything but what changes nothing, if this jaxpr shows it.

    To add 0 changes nothing, nor does to multiply by 1, or the least number in a maximum. `reader` takes it.
    """
    made = uses.maker(jaxpr, updates)
    if made is None:
        return []
    if made.primitive is _MUL and neutral == 0 and updates.aval.dtype != bool:
        flags = map(functools.partial(flag_of, uses, jaxpr), made.invars)
        for flag, other in zip(flags, made.invars[::-1], strict=True):
            if flag is not None and is_finite(uses, jaxpr, other):
                return [Found(made, flag[0], TRUE, places, flag[1])]
        return []
    found: list[Found | None] = []
    if made.primitive is _SELECT:
        cases = _not_neutral(uses, jaxpr, made, {}, neutral)
        found = [_case(made, made.invars[0], picks(made, case), places) for case in cases]
    elif made.primitive in CALLS and CALLS[made.primitive] in ("jaxpr", "call_jaxpr"):
        inner, _ = open_jaxpr(made.params[CALLS[made.primitive]])
        out = inner.outvars[made.outvars.index(updates)]
        select = uses.maker(inner, out) if type(out) is not Literal else None
        if select is not None and select.primitive is _SELECT and select.invars[0] in inner.invars:
            given = dict(zip(inner.invars, made.invars, strict=True))
            cases = _not_neutral(uses, inner, select, given, neutral)
            found = [_case(made, given[select.invars[0]], picks(select, case), places) for case in cases]
    if not any(found) and reader is not None and updates.aval.dtype == bool and neutral in (0, 1):
        # A condition itself: 0 or 1 as a number, and False or True as it is.
        other = int(not neutral)
        found = [_case(reader, updates, (other, other), places)]
    return [one for one in found if one is not None]


def _case(eqn: Any, condition: Any, picked: tuple[int, int], places: tuple[int, ...]) -> Found | None:
    return None if type(condition) is Literal else Found(eqn, condition, picked, places, own_places(condition))


def _not_neutral(uses: Uses, jaxpr: Any, select: Any, given: dict[Any, Any], neutral: Any) -> list[int]:
    """The one case of a select between two that does not plainly change nothing."""
    cases = [k for k, atom in enumerate(select.invars[1:]) if not _is_plainly(uses, jaxpr, atom, given, neutral)]
    return cases if len(select.invars) == 3 and len(cases) == 1 else []


def _is_plainly(uses: Uses, jaxpr: Any, atom: Any, given: dict[Any, Any], number: Any) -> bool:
    """Whether a value is made of a literal number; `given` says what a call passes for the inputs of a jaxpr."""
    while type(atom) is not Literal:
        made = uses.maker(jaxpr, atom)
        if made is None or made.primitive not in (_BROADCAST, _CONVERT):
            outer = given.get(atom)
            return bool(isinstance(outer, Literal) and outer.val == number)
        if made.primitive is _CONVERT and not converts(made, number):
            return False
        atom = made.invars[0]
    return bool(atom.val == number)


def converts(eqn: Any, number: Any) -> bool:
    """Whether a conversion makes this number, of the one type, the same number of the other."""
    source, target = (dtype_info(v.aval.dtype) for v in (eqn.invars[0], eqn.outvars[0]))
    if number in (0, 1):
        return True
    if source.integral and target.integral:
        return bool(max(source.min, target.min) <= number <= min(source.max, target.max))
    # An infinite one: there are floats of eight bits without.
    return source.kind == target.kind == "f" and min(source.bits, target.bits) >= 16
