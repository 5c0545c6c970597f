"""Selects that a value ends in, and what their conditions must be for it to be picked.

Its uses are followed forward through equations that keep each element in its place, until each ends as a case of a
select, is multiplied by a condition, or is dropped where it is written.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.prove.declared import declared_by
from redzone.prove.finite import multiplies_finite, stays_finite
from redzone.prove.passing import NotMasked, is_reshape, moved, zero_or_one
from redzone.prove.uses import SCATTERS, Uses
from redzone.prove.whole import picks
from redzone.prove.zeros import are_told

_P: Final = primitives()
_SELECT: Final = _P["select_n_p"]
_MUL: Final = _P["mul_p"]
_DOT: Final = _P["dot_general_p"]
_BROADCAST: Final = _P["broadcast_in_dim_p"]
_CONCATENATE: Final = _P["concatenate_p"]
_TRANSPOSE: Final = _P["transpose_p"]
_NE: Final = _P["ne_p"]
TRUE: Final = (1, 1)
FALSE: Final = (0, 0)
_DECISIVE: Final = {_P["and_p"]: TRUE, _P["or_p"]: FALSE}
#: How many equations after a select the next one is looked for.
NEXT: Final = 4


class Found(NamedTuple):
    """A select that a value ends in: its equation, its condition, and what that must be for the value to be picked."""

    eqn: Any
    condition: Any
    picked: tuple[int, int]
    """The least and the most."""
    places: tuple[int, ...]
    """Where the dimensions of the index tuples are in the value there."""
    spread: tuple[int, ...]
    """Where the condition's own dimensions are in the value."""
    before: tuple[Found, ...] = ()
    """What else must let the value through on its way here."""
    last: bool = False
    """Of what is found inside a call: whether the call only selects between what it is given and something else."""
    rows: tuple[int, ...] = ()
    """The dimensions of the index tuples along which the condition is one for all, though it has others."""
    sizes: tuple[Any, ...] = ()
    """How many elements the value has along each of its `places`, where that is noted."""


def selects(
    uses: Uses, jaxpr: Any, var: Any, places: tuple[int, ...], depth: int, finite: bool = True
) -> Iterable[Found]:
    """Every select that a value ends in, with the way its elements went.

    `finite`: whether it is a finite number where what was read is one.
    """
    if depth == 0:
        raise NotMasked
    for eqn, position, _ in uses.of(jaxpr, var):
        primitive = eqn.primitive
        if not eqn.outvars:
            raise NotMasked
        if primitive is _SELECT and position >= 1:
            found = Found(eqn, eqn.invars[0], picks(eqn, position - 1), places, own_places(eqn.invars[0]))
            found = found._replace(sizes=_sizes(var, places))
            yield from _further(uses, jaxpr, found, min(depth, NEXT), finite)
        elif primitive in CALLS and CALLS[primitive] in ("jaxpr", "call_jaxpr"):
            try:
                inside = list(_in_call(uses, eqn, position, places, depth, finite))
            except NotMasked:
                inside = None
            for found in inside or ():
                yield from _further(uses, jaxpr, found, min(depth, NEXT), finite) if found.last else (found,)
            if inside is None:
                for k, there, stays in _through(uses, eqn, position, places, depth, finite):
                    yield from selects(uses, jaxpr, eqn.outvars[k], there, depth - 1, stays)
        elif primitive in _DECISIVE and eqn.outvars[0].aval.dtype == bool:
            # ok & read: where ok is false, what was read changes nothing; with or, where it is true.
            other = eqn.invars[1 - position]
            if other.aval.shape not in ((), var.aval.shape):
                raise NotMasked
            found = Found(eqn, other, _DECISIVE[primitive], places, own_places(other), sizes=_sizes(var, places))
            yield from _further(uses, jaxpr, found, depth, finite)
        elif primitive is _MUL and finite and (flag := _factor(uses, jaxpr, eqn, position)) is not None:
            # What is multiplied by a condition that fails is zero.
            found = Found(eqn, flag[0], TRUE, places, flag[1], sizes=_sizes(var, places))
            yield from _further(uses, jaxpr, found, depth, finite)
        elif primitive in SCATTERS and position == 2:
            yield _dropped(uses, jaxpr, eqn, places)
        elif primitive is _DOT and finite and (summed := _summed_with(uses, jaxpr, eqn, position, places)) is not None:
            yield summed
        else:
            stays, there = finite and stays_finite(eqn), moved(eqn, position, places)
            for out in eqn.outvars:
                yield from selects(uses, jaxpr, out, there, depth - 1, stays)


#: A result of a jaxpr that a value becomes: which; where its dimensions are; whether it is finite if the value is.
Result = tuple[int, tuple[int, ...], bool]


def _through(uses: Uses, call: Any, position: int, places: tuple[int, ...], depth: int, finite: bool) -> list[Result]:
    """The results of a call that an operand of it becomes, if that is all."""
    inner, _ = open_jaxpr(call.params[CALLS[call.primitive]])
    if len(inner.invars) != len(call.invars) or call.primitive is SHARD_MAP_P:
        raise NotMasked
    return leaving(uses, inner, inner.invars[position], places, depth - 1, finite)


def leaving(uses: Uses, jaxpr: Any, var: Any, places: tuple[int, ...], depth: int, finite: bool) -> list[Result]:
    """The results of a jaxpr that a value becomes, each element by itself: nothing else is made of it."""
    if depth <= 0:
        raise NotMasked
    found = [(k, places, finite) for k, v in enumerate(jaxpr.outvars) if v is var]
    for eqn, position, _ in uses.readers(jaxpr, var):
        if not eqn.outvars:
            raise NotMasked
        if eqn.primitive in CALLS:
            inside = _through(uses, eqn, position, places, depth, finite)
        elif eqn.primitive is _SELECT and eqn.invars[position].aval.shape == eqn.outvars[0].aval.shape:
            # What is picked by the value need not be as finite as that.
            inside = [(0, places, finite and (position >= 1 or dtype_info(eqn.outvars[0].aval.dtype).integral))]
        else:
            there, stays = moved(eqn, position, places), finite and stays_finite(eqn)
            inside = [(k, there, stays) for k in range(len(eqn.outvars))]
        for k, there, stays in inside:
            found += leaving(uses, jaxpr, eqn.outvars[k], there, depth - 1, stays)
    return found


def flag_of(uses: Uses, jaxpr: Any, atom: Any) -> tuple[Any, tuple[int, ...]] | None:
    """The condition that a factor is: 1 where it holds, 0 elsewhere."""
    return None if type(atom) is Literal else zero_or_one(lambda v: uses.maker(jaxpr, v), atom)


def _factor(uses: Uses, jaxpr: Any, product: Any, position: int) -> tuple[Any, tuple[int, ...]] | None:
    """The condition that an operand of a product is multiplied by, where nobody sees the sign that zero has then."""
    flag = flag_of(uses, jaxpr, product.invars[1 - position])
    return None if flag is None or are_told(uses, jaxpr, product.outvars[0]) else flag


def _dropped(uses: Uses, jaxpr: Any, scatter: Any, places: tuple[int, ...]) -> Found:
    """The places that a value is written to, for each of its index tuples: what is written outside is dropped.

    The program must say so. Where it does not, a write outside is a finding as the read is, and for the same reason.
    """
    site = uses.sites.get(id(scatter))
    if site is None or site.mode != "drop" or not declared_by(site):
        raise NotMasked
    windows = scatter.params["dimension_numbers"].update_window_dims
    own = tuple([d for d in range(len(scatter.invars[2].aval.shape)) if d not in windows])
    found: list[Found] = []
    for column in site.columns:
        atom = None if column.column is None else _column_of(uses, jaxpr, scatter.invars[1], column.column)
        if atom is not None and type(column.limit) is int:
            found.append(Found(scatter, atom, (0, column.limit), places, own))
    if not found:
        raise NotMasked
    return found[-1]._replace(before=tuple(found[:-1]))


def _column_of(uses: Uses, jaxpr: Any, indices: Any, column: int) -> Any:
    """A column of index tuples as it was before it was put beside the others; None where that is not plain to see."""
    made = None if type(indices) is Literal else uses.maker(jaxpr, indices)
    shape = indices.aval.shape[:-1]
    if made is not None and made.primitive is _CONCATENATE:
        if made.params["dimension"] != len(shape) or any(v.aval.shape[-1] != 1 for v in made.invars):
            return None
        indices = made.invars[column]
        made = None if type(indices) is Literal else uses.maker(jaxpr, indices)
    elif column:
        return None
    if made is None or not made.invars or type(made.invars[0]) is Literal or made.invars[0].aval.shape != shape:
        return None
    spread = made.primitive is _BROADCAST and tuple(made.params["broadcast_dimensions"]) == tuple(range(len(shape)))
    return made.invars[0] if spread or is_reshape(made) else None


def _summed_with(uses: Uses, jaxpr: Any, dot: Any, position: int, places: tuple[int, ...]) -> Found | None:
    """The condition by whose elements a matrix product multiplies those of a value before it sums them up.

    Outside, that is a sum with finite numbers times 0, if they are finite in the precision of the product.
    """
    mine, other = dot.invars[position], dot.invars[1 - position]
    if not multiplies_finite(dot, mine):
        return None
    flag = (other, own_places(other)) if other.aval.dtype == bool else flag_of(uses, jaxpr, other)
    if flag is None or type(flag[0]) is Literal or are_told(uses, jaxpr, dot.outvars[0]):
        return None
    condition, spread = flag
    beside: dict[int, int] = {}
    for pairs in dot.params["dimension_numbers"]:
        beside.update({int(other): int(own) for other, own in zip(pairs[1 - position], pairs[position], strict=True)})
    if not all(d in beside for d in spread):
        # It is another one for each result.
        return None
    return Found(dot, condition, TRUE, places, tuple([beside[d] for d in spread]))


def _further(uses: Uses, jaxpr: Any, here: Found, depth: int, finite: bool) -> Iterable[Found]:
    """A connective or select, with those that its result goes through: `a & read & ok` is decided by a or by ok."""
    try:
        rest = list(selects(uses, jaxpr, here.eqn.outvars[0], here.places, depth - 1, finite))
    except NotMasked:
        rest = []
    if not rest:
        yield here
    for one in rest:
        yield one._replace(before=(*here.before, here._replace(before=()), *one.before))


def _in_call(uses: Uses, eqn: Any, position: int, places: tuple[int, ...], depth: int, finite: bool) -> Iterable[Found]:
    inner, _ = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
    if len(inner.invars) != len(eqn.invars):
        raise NotMasked
    for found in selects(uses, inner, inner.invars[position], places, depth - 1, finite):
        # Conditions made inside the call are not looked at: those on its operands must do.
        ways = [unspread(uses, inner, one._replace(before=()), None) for one in (*found.before, found)]
        sides = [w for way in ways[-1:] for w in _by_sign(uses, inner, way)]
        ways = [w for w in ways[:-1] if type(w.condition) is not Literal and w.condition in inner.invars]
        sides = [w for w in sides if type(w.condition) is not Literal and w.condition in inner.invars]
        if not ways and not sides:
            raise NotMasked
        last = len(inner.outvars) == 1 and inner.outvars[0] is found.eqn.outvars[0]
        last = last and found.places == places and inner.invars[position] in found.eqn.invars[1:]
        for every in [[*ways, side] for side in sides] or [ways]:
            outer = [w._replace(eqn=eqn, condition=eqn.invars[inner.invars.index(w.condition)]) for w in every]
            here = last and every[-1].places == places
            yield outer[-1]._replace(before=tuple(outer[:-1]), last=here)


def _by_sign(uses: Uses, jaxpr: Any, found: Found) -> list[Found]:
    """A condition that an integer is not 0, as `jnp.where` makes it of one, by that integer: it is above, or below."""
    made = None if type(found.condition) is Literal else uses.maker(jaxpr, found.condition)
    if made is None or made.primitive is not _NE or found.picked not in (TRUE, FALSE):
        return [found]
    number, zero = made.invars
    info = dtype_info(number.aval.dtype)
    if type(zero) is not Literal or type(number) is Literal or info.kind not in "iu" or np.any(zero.val):
        return [found]
    if number.aval.shape != found.condition.aval.shape:
        return [found]
    ranges = ((0, 0),) if found.picked == FALSE else ((1, info.max), (info.min, -1))
    return [
        unspread(uses, jaxpr, found._replace(condition=number, picked=(lo, hi)), None) for lo, hi in ranges if lo <= hi
    ]


def _sizes(var: Any, places: tuple[int, ...]) -> tuple[Any, ...]:
    return tuple([var.aval.shape[p] for p in places])


def own_places(atom: Any) -> tuple[int, ...]:
    """Where the dimensions of a value are in one of its own shape."""
    return tuple(range(len(atom.aval.shape)))


def unspread(uses: Uses, jaxpr: Any, found: Found, shape: tuple[Any, ...] | None) -> Found:
    """The condition before it was spread over the windows, back to the index tuples' own shape."""
    while type(found.condition) is not Literal:
        if found.condition.aval.shape == shape and found.spread == found.places:
            break
        maker = uses.maker(jaxpr, found.condition)
        if maker is not None and is_reshape(maker) and type(maker.invars[0]) is not Literal:
            # Given another shape along with the value: in its old one it is the index tuples' own.
            wide = tuple(p for p, n in zip(found.spread, found.condition.aval.shape, strict=True) if n != 1)
            if shape is None or maker.invars[0].aval.shape != shape or wide != found.places:
                break
            own = tuple(range(len(shape)))
            return found._replace(condition=maker.invars[0], spread=own, places=own)
        if maker is not None and maker.primitive is _TRANSPOSE and type(maker.invars[0]) is not Literal:
            order = tuple(maker.params["permutation"])
            spread = tuple(found.spread[order.index(d)] for d in range(len(order)))
            found = found._replace(condition=maker.invars[0], spread=spread)
            continue
        source = None if maker is None else maker.invars[0] if maker.invars else None
        if maker is not None and maker.primitive in CALLS and maker.primitive is not SHARD_MAP_P:
            # Spread by a function, as jnp.where does before its derivative is taken.
            inner, _ = open_jaxpr(maker.params[CALLS[maker.primitive]])
            out = inner.outvars[maker.outvars.index(found.condition)]
            given = dict(zip(inner.invars, maker.invars, strict=False))
            maker = None if type(out) is Literal else uses.maker(inner, out)
            first = maker.invars[0] if maker is not None and maker.invars else None
            source = None if type(first) is Literal else given.get(first)
        if maker is None or maker.primitive is not _BROADCAST or source is None:
            break
        dims = maker.params["broadcast_dimensions"]
        found = found._replace(condition=source, spread=tuple(found.spread[d] for d in dims))
    return found
