"""masked: an access that may leave its array, but whose every use is a select that takes the other side then.

The uses of the result are followed forward through equations that keep each element in its place,
until each ends as a case of a select or is multiplied by a condition. Then the index is looked at again under
the condition that its case is taken: if it is inside then, what was read outside is never seen. The same goes for
an array that was written to. What is added outside is nothing if it is zero then, and so on (see `harmless`).
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from redzone.access.site import Site
from redzone.domains import Fact, dtype_info
from redzone.engine import Analysis, masked_runs
from redzone.engine.inventory import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.engine.slice import Called, Masks
from redzone.frontend.compat import Literal, open_jaxpr, primitives, scan_counts
from redzone.prove.bare import Bare
from redzone.prove.declared import declared_by
from redzone.prove.exact import Exact
from redzone.prove.passing import ADDING, NotMasked, is_reshape, moved, neutral_of, zero_or_one
from redzone.prove.seen import ANYWHERE, CLOSE, INSIDE, judged
from redzone.prove.uses import SCATTERS, Uses
from redzone.prove.whole import ACCESSES, Whole, picks
from redzone.prove.zeros import are_told

_P = primitives()
_SELECT, _BROADCAST, _CONCATENATE = _P["select_n_p"], _P["broadcast_in_dim_p"], _P["concatenate_p"]
_DOT = _P["dot_general_p"]
_MUL, _TRANSPOSE, _IOTA = _P["mul_p"], _P["transpose_p"], _P["iota_p"]
_CONVERT, _GATHER, _DYNAMIC_SLICE = _P["convert_element_type_p"], _P["gather_p"], _P["dynamic_slice_p"]
_DYNAMIC_UPDATE_SLICE, _SCATTER = _P["dynamic_update_slice_p"], _P["scatter_p"]
_TRUE = (1, 1)
_DECISIVE = {_P["and_p"]: _TRUE, _P["or_p"]: (0, 0)}
_LOOPS = (SCAN_P, WHILE_P)


class _Found(NamedTuple):
    """A select that a value ends in: its equation, its condition, and what that must be for the value to be picked."""

    eqn: Any
    condition: Any
    picked: tuple[int, int]
    """The least and the most."""
    places: tuple[int, ...]
    """Where the dimensions of the index tuples are in the value there."""
    spread: tuple[int, ...]
    """Where the condition's own dimensions are in the value."""
    before: tuple[_Found, ...] = ()
    """What else must let the value through on its way here."""
    last: bool = False
    """Of what is found inside a call: whether the call only selects between what it is given and something else."""


def _selects(
    uses: Uses, jaxpr: Any, var: Any, places: tuple[int, ...], depth: int, finite: bool = True
) -> Iterable[_Found]:
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
            found = _Found(eqn, eqn.invars[0], picks(eqn, position - 1), places, _identity(eqn.invars[0]))
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
                    yield from _selects(uses, jaxpr, eqn.outvars[k], there, depth - 1, stays)
        elif primitive in _DECISIVE and eqn.outvars[0].aval.dtype == bool:
            # ok & read: where ok is false, what was read changes nothing; with or, where it is true.
            other = eqn.invars[1 - position]
            if other.aval.shape not in ((), var.aval.shape):
                raise NotMasked
            found = _Found(eqn, other, _DECISIVE[primitive], places, _identity(other))
            yield from _further(uses, jaxpr, found, depth, finite)
        elif primitive is _MUL and finite and (flag := _factor(uses, jaxpr, eqn, position)) is not None:
            # What is multiplied by a condition that fails is zero.
            yield from _further(uses, jaxpr, _Found(eqn, flag[0], _TRUE, places, flag[1]), depth, finite)
        elif primitive in SCATTERS and position == 2:
            yield _dropped(uses, jaxpr, eqn, places)
        elif primitive is _DOT and finite and (summed := _summed_with(uses, jaxpr, eqn, position, places)) is not None:
            yield summed
        else:
            stays, there = finite and _stays_finite(eqn), moved(eqn, position, places)
            for out in eqn.outvars:
                yield from _selects(uses, jaxpr, out, there, depth - 1, stays)


#: A result of a jaxpr that a value becomes: which; where its dimensions are; whether it is finite if the value is.
_Result = tuple[int, tuple[int, ...], bool]


def _through(uses: Uses, call: Any, position: int, places: tuple[int, ...], depth: int, finite: bool) -> list[_Result]:
    """The results of a call that an operand of it becomes, if that is all."""
    inner, _ = open_jaxpr(call.params[CALLS[call.primitive]])
    if len(inner.invars) != len(call.invars) or call.primitive is SHARD_MAP_P:
        raise NotMasked
    return _leaving(uses, inner, inner.invars[position], places, depth - 1, finite)


def _leaving(uses: Uses, jaxpr: Any, var: Any, places: tuple[int, ...], depth: int, finite: bool) -> list[_Result]:
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
            inside = [(0, places, finite)]
        else:
            there, stays = moved(eqn, position, places), finite and _stays_finite(eqn)
            inside = [(k, there, stays) for k in range(len(eqn.outvars))]
        for k, there, stays in inside:
            found += _leaving(uses, jaxpr, eqn.outvars[k], there, depth - 1, stays)
    return found


def _flag(uses: Uses, jaxpr: Any, atom: Any) -> tuple[Any, tuple[int, ...]] | None:
    """The condition that a factor is: 1 where it holds, 0 elsewhere."""
    return None if type(atom) is Literal else zero_or_one(lambda v: uses.maker(jaxpr, v), atom)


def _factor(uses: Uses, jaxpr: Any, product: Any, position: int) -> tuple[Any, tuple[int, ...]] | None:
    """The condition that an operand of a product is multiplied by, where nobody sees the sign that zero has then."""
    flag = _flag(uses, jaxpr, product.invars[1 - position])
    return None if flag is None or are_told(uses, jaxpr, product.outvars[0]) else flag


def _dropped(uses: Uses, jaxpr: Any, scatter: Any, places: tuple[int, ...]) -> _Found:
    """The places that a value is written to, for each of its index tuples: what is written outside is dropped.

    The program must say so. Where it does not, a write outside is a finding as the read is, and for the same reason.
    """
    site = uses.sites.get(id(scatter))
    if site is None or site.mode != "drop" or not declared_by(site):
        raise NotMasked
    windows = scatter.params["dimension_numbers"].update_window_dims
    own = tuple([d for d in range(len(scatter.invars[2].aval.shape)) if d not in windows])
    found: list[_Found] = []
    for column in site.columns:
        atom = None if column.column is None else _column_of(uses, jaxpr, scatter.invars[1], column.column)
        if atom is not None and type(column.limit) is int:
            found.append(_Found(scatter, atom, (0, column.limit), places, own))
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


def _summed_with(uses: Uses, jaxpr: Any, dot: Any, position: int, places: tuple[int, ...]) -> _Found | None:
    """The condition by whose elements a matrix product multiplies those of a value before it sums them up.

    Outside, that is a sum with finite numbers times 0, if they are finite in the precision of the product.
    """
    mine, other = dot.invars[position], dot.invars[1 - position]
    if not _multiplies_finite(dot, mine):
        return None
    flag = (other, _identity(other)) if other.aval.dtype == bool else _flag(uses, jaxpr, other)
    if flag is None or type(flag[0]) is Literal or are_told(uses, jaxpr, dot.outvars[0]):
        return None
    condition, spread = flag
    beside: dict[int, int] = {}
    for pairs in dot.params["dimension_numbers"]:
        beside.update({int(other): int(own) for other, own in zip(pairs[1 - position], pairs[position], strict=True)})
    if not all(d in beside for d in spread):
        # It is another one for each result.
        return None
    return _Found(dot, condition, _TRUE, places, tuple([beside[d] for d in spread]))


def _multiplies_finite(dot: Any, factor: Any) -> bool:
    """Whether a matrix product multiplies finite numbers as finite ones: not in a type that cannot hold them."""
    source, target = (dtype_info(v.aval.dtype) for v in (factor, dot.outvars[0]))
    if type(dot.params.get("precision")).__name__.startswith("DotAlgorithm"):
        return False
    if source.integral:
        return target.integral or (target.kind == "f" and target.bits >= 32)
    return source.kind == target.kind == "f" and _reaches(factor.aval.dtype) <= _reaches(dot.outvars[0].aval.dtype)


def _further(uses: Uses, jaxpr: Any, here: _Found, depth: int, finite: bool) -> Iterable[_Found]:
    """A connective or select, with those that its result goes through: `a & read & ok` is decided by a or by ok."""
    try:
        rest = list(_selects(uses, jaxpr, here.eqn.outvars[0], here.places, depth - 1, finite))
    except NotMasked:
        rest = []
    if not rest:
        yield here
    for one in rest:
        yield one._replace(before=(*here.before, here._replace(before=()), *one.before))


#: How many equations after a select the next one is looked for.
NEXT = 4
#: Equations that only put numbers elsewhere or turn their sign.
_MOVED = frozenset(
    _P[f"{name}_p"]
    for name in (
        *("broadcast_in_dim", "squeeze", "reshape", "transpose", "copy", "stop_gradient", "neg"),
        *("slice", "unstack", "rev"),
    )
    if f"{name}_p" in _P
)
#: Functions of finite floats that are finite.
_FINITE = _MOVED | frozenset(
    _P[f"{name}_p"]
    for name in (
        *("abs", "sign", "floor", "ceil", "round", "reduce_max", "reduce_min"),
        *("tanh", "logistic", "sin", "cos", "atan", "erf", "erfc"),
    )
    if f"{name}_p" in _P
)


def _stays_finite(eqn: Any) -> bool:
    """Whether an equation makes finite numbers of finite numbers; integers are, but not of all floats."""
    source, target = (dtype_info(v.aval.dtype) for v in (eqn.invars[0], eqn.outvars[0]))
    if target.integral:
        return True
    if source.kind == "x" or target.kind == "x":
        # Complex numbers: even their absolute value may be too large.
        return eqn.primitive in _MOVED
    if eqn.primitive is _CONVERT:
        return _reaches(eqn.invars[0].aval.dtype) <= _reaches(eqn.outvars[0].aval.dtype)
    return eqn.primitive in _FINITE


def _reaches(dtype: Any) -> float:
    """The greatest finite number of a type."""
    info = dtype_info(dtype)
    if info.integral:
        return float(max(info.max, -info.min))
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def _reads_finite(eqn: Any) -> bool:
    """Whether what an access yields is finite where its array is: outside, it may fill with NaN."""
    return dtype_info(eqn.outvars[0].aval.dtype).integral or "fill" not in str(eqn.params.get("mode")).lower()


def _yields_finite(uses: Uses, site: Site) -> bool:
    """Whether what an access yields is finite where its array is: a write also puts in numbers of its own."""
    eqn = site.eqn
    if site.effect == "read" or dtype_info(eqn.outvars[0].aval.dtype).integral:
        return _reads_finite(eqn)
    written = {_DYNAMIC_UPDATE_SLICE: 1, _SCATTER: 2}.get(eqn.primitive)
    if written is None or eqn.params.get("update_jaxpr") is not None:
        return False
    return _reads_finite(eqn) and _is_finite(uses, site.home, eqn.invars[written])


def _is_finite(uses: Uses, jaxpr: Any, atom: Any) -> bool:
    """Whether a value is finite where the arrays that it was taken from are."""
    while type(atom) is not Literal and not dtype_info(atom.aval.dtype).integral:
        made = uses.maker(jaxpr, atom)
        if made is None:
            return True
        if not made.invars:
            # Counting in few bits may end at infinity.
            return made.primitive is _IOTA and dtype_info(atom.aval.dtype).bits >= 32
        read = made.primitive in (_DYNAMIC_SLICE, _GATHER)
        if not (_reads_finite(made) if read else _stays_finite(made)):
            return False
        atom = made.invars[0]
    return type(atom) is not Literal or bool(np.isfinite(np.asarray(atom.val)).all())


def _in_call(
    uses: Uses, eqn: Any, position: int, places: tuple[int, ...], depth: int, finite: bool
) -> Iterable[_Found]:
    inner, _ = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
    if len(inner.invars) != len(eqn.invars):
        raise NotMasked
    for found in _selects(uses, inner, inner.invars[position], places, depth - 1, finite):
        # Conditions made inside the call are not looked at: those on its operands must do.
        ways = [_unspread(uses, inner, one._replace(before=()), None) for one in (*found.before, found)]
        ways = [w for w in ways if type(w.condition) is not Literal and w.condition in inner.invars]
        if not ways:
            raise NotMasked
        outer = [w._replace(eqn=eqn, condition=eqn.invars[inner.invars.index(w.condition)]) for w in ways]
        last = len(inner.outvars) == 1 and inner.outvars[0] is found.eqn.outvars[0]
        last = last and ways[-1].places == found.places == places and inner.invars[position] in found.eqn.invars[1:]
        yield outer[-1]._replace(before=tuple(outer[:-1]), last=last)


def _identity(atom: Any) -> tuple[int, ...]:
    return tuple(range(len(atom.aval.shape)))


def _unspread(uses: Uses, jaxpr: Any, found: _Found, shape: tuple[Any, ...] | None) -> _Found:
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


#: What is told of an access that is masked.
DISCARDED = "may leave the array, but then every use of what was {} is a select that picks the other side"
DROPPED = "may leave the array, but then every use of what was {} drops it, or picks something else"
NOTHING = "may leave the array, but what is added there then is zero"
NEUTRAL = "may leave the array, but what is written there then changes nothing"


#: By access whose every use is a select or the like: of each use the conditions, in the access's jaxpr, and the least
#: and the most that all of them must be for what was read or written to be seen.
Thrown = dict[int, list[list[tuple[Any, tuple[int, int]]]]]


class _View(NamedTuple):
    """What an access reads or writes, as it is known in a jaxpr: its own, or one around it that calls it."""

    jaxpr: Any
    results: list[tuple[Any, tuple[int, ...], bool]]
    """The variables it becomes, where its dimensions are in each, and whether that is finite."""
    indices: list[Any]
    """What its index is made from."""
    chain: tuple[Any, ...]
    """The equations around, innermost first, as far as they are known."""
    calls: tuple[int, ...] = ()
    """The calls between the access and the jaxpr, by identity."""


def masked_sites(
    analysis: Analysis,
    closed: Any,
    facts: Sequence[Fact],
    sites: Sequence[Site],
    thrown: Thrown,
    near: set[int],
    exact: Exact,
) -> dict[int, str]:
    """Which of these accesses are masked wherever they leave their array, and how.

    Of all whose every use is a select or the like, `thrown` gets when they are seen; and those that selects keep close
    to their arrays, if not inside, go to `near`.
    """
    uses, wanted, told = Uses(open_jaxpr(closed)[0], analysis.inventory), dict[Called, int](), dict[int, str]()
    masks: Masks = {}
    homes: list[Any] = []
    bare = Bare(uses)

    def look(view: _View, key: int, uses_of: list[list[_Found]]) -> None:
        """Have these conditions looked at."""
        homes.append(view.jaxpr)
        wanted[key, view.calls] = sum(map(len, uses_of))
        for use, ways in enumerate(uses_of):
            for way in ways:
                known = ((key, view.calls), way.condition, (use, *way.picked, way.condition.aval.shape))
                masks.setdefault(id(way.eqn), []).append(known)

    for site in sites:
        if not site.columns or site.home is None:
            continue
        for how, shape, looked in _attempts(uses, bare, site):
            known = [(view, _not_made_from(uses, view, found, shape)) for view, found in looked]
            if len(known) == 1 and not known[0][0].calls and known[0][1] and all(known[0][1]):
                thrown.setdefault(id(site.eqn), [[(w.condition, w.picked) for w in ways] for ways in known[0][1]])
            known = [
                (view, [[w for w in ways if _is_related(uses, view, w)] for ways in uses_of]) for view, uses_of in known
            ]
            if known and all(uses_of and all(uses_of) for _, uses_of in known):
                told[id(site.eqn)] = how
                for view, uses_of in known:
                    look(view, id(site.eqn), uses_of)
                break
    if not wanted:
        return {}
    good: dict[Called, int] = {}
    for context in masked_runs(closed, analysis.inventory, facts, masks, homes):
        for called, holds in judged(context, wanted, exact):
            good[called] = min(good.get(called, INSIDE), holds)
    least = dict.fromkeys(told, INSIDE)
    for called in wanted:
        least[called[0]] = min(least[called[0]], good.get(called, ANYWHERE))
    near.update(key for key, holds in least.items() if holds == CLOSE)
    return {key: told[key] for key, holds in least.items() if holds == INSIDE}


#: How many calls around an access are looked at.
LEVELS = 4

#: In all the jaxprs that decide about an access: what it ends in there.
_Looked = list[tuple[_View, list[_Found]]]


def _attempts(uses: Uses, bare: Bare, site: Site) -> Iterable[tuple[str, tuple[Any, ...], _Looked]]:
    """What may throw away what an access reads or writes: how, of which shape the conditions are, and those."""
    shape, places = _lanes(site)
    what = "read" if site.effect == "read" else "written"
    result = (site.eqn.outvars[0], places, _yields_finite(uses, site))
    home = _View(site.home, [result], [site.eqn.invars[c.operand] for c in site.columns], site.chain)
    looked = _ends(uses, home)
    if not looked and places and site.effect == "read":
        # Where elements of several index tuples are put together, only what decides about all of them will do.
        shape, home = (), home._replace(results=[(result[0], (), result[2])])
        looked = _ends(uses, home)
    drops = any(one.eqn.primitive in SCATTERS for _, found in looked for one in found)
    if looked:
        yield (DROPPED if drops else DISCARDED).format(what), shape, looked
    whole = site.eqn.primitive in ACCESSES and not bare.is_seen(home.jaxpr, result[0])
    if whole and (looked := _whole_ends(uses, home)):
        yield DISCARDED.format(what), (), looked
    if looked := _adding(uses, home, site):
        nothing = NOTHING if site.eqn.primitive in ADDING else NEUTRAL
        yield nothing, tuple(site.eqn.invars[1].aval.shape[:-1]), looked


def _whole_ends(uses: Uses, view: _View, levels: int = LEVELS) -> _Looked:
    """As `_ends`, of what is kept or thrown away as one, whatever is made of it."""
    whole = Whole(uses)
    results = whole.results(view.jaxpr, [v for v, _, _ in view.results])
    ways = whole.either([whole.seen, *results])
    if 0 not in ways:
        every = [
            [_Found(term.eqn, term.condition, (term.least, term.most), (), ()) for term in whole.conditions(way)]
            for way in ways
        ]
        return [(view, [found[-1]._replace(before=tuple(found[:-1])) for found in every])]
    if whole.seen or not levels:
        return []
    result: _Looked = []
    for around, _ in _around(uses, view, [(k, (), False) for k, made in enumerate(results) if made]):
        further = _whole_ends(uses, around, levels - 1)
        if not further:
            return []
        result += further
    return result


def _not_made_from(uses: Uses, view: _View, found: list[_Found], shape: tuple[Any, ...]) -> list[list[_Found]]:
    """By use: the conditions with one element for each index tuple or one for all, not made from what was read."""
    uses_of = [[_unspread(uses, view.jaxpr, w, shape) for w in (*one.before, one)] for one in found]
    return [[w for w in ways if _is_aligned(w, shape) and not _is_made_from(uses, view, w)] for ways in uses_of]


def _around(uses: Uses, view: _View, outs: list[_Result]) -> list[tuple[_View, Any]]:
    """An access as all the jaxprs know it that call its own, of which these results hang on it; and their calls."""
    inputs, table = view.jaxpr.invars, uses.table(view.jaxpr)
    mine, found = uses.behind(view.jaxpr, view.indices), []
    for jaxpr, call in uses.callers(view.jaxpr):
        if len(call.invars) != len(inputs):
            return []
        results = [(call.outvars[k], places, finite) for k, places, finite in outs]
        indices = [a for a, v in zip(call.invars, inputs, strict=True) if table[v][0] & mine]
        chain = view.chain[1:] if view.chain and view.chain[0] is call else ()
        found.append((_View(jaxpr, results, indices, chain, (*view.calls, id(call))), call))
    return found


def _ends(uses: Uses, view: _View, levels: int = LEVELS) -> list[tuple[_View, list[_Found]]]:
    """Every select that what an access yields ends in, where it stands or in all the jaxprs that call that.

    Nothing if some have none. A jaxpr that only passes it on is called by others in turn.
    """
    jaxpr = view.jaxpr
    try:
        every = [_selects(uses, jaxpr, var, places, 12, finite) for var, places, finite in view.results]
        return [(view, [one for found in every for one in found])]
    except NotMasked:
        if not levels or not uses.callers(jaxpr):
            return []
    try:
        outs = [out for v, places, finite in view.results for out in _leaving(uses, jaxpr, v, places, 12, finite)]
    except NotMasked:
        return []
    result: list[tuple[_View, list[_Found]]] = []
    for around, _ in _around(uses, view, outs):
        further = _ends(uses, around, levels - 1)
        if not further:
            return []
        result += further
    return result


def _adding(uses: Uses, home: _View, site: Site) -> _Looked:
    """The conditions under which what is written changes anything, where they are plain to see."""
    eqn = site.eqn
    neutral = neutral_of(eqn)
    if neutral is None:
        return []
    windows = eqn.params["dimension_numbers"].update_window_dims
    places = tuple(d for d in range(len(eqn.invars[2].aval.shape)) if d not in windows)
    return _added(uses, home, eqn.invars[2], places, neutral, eqn, LEVELS)


def _added(
    uses: Uses, view: _View, updates: Any, places: tuple[int, ...], neutral: Any, reader: Any, levels: int
) -> _Looked:
    if type(updates) is Literal:
        return []
    while True:
        found = harmless(uses, view.jaxpr, updates, places, neutral, reader)
        if found:
            return [(view, found)]
        made = uses.maker(view.jaxpr, updates)
        if made is None or not made.invars or type(made.invars[0]) is Literal:
            break
        if made.primitive is _BROADCAST and _wide(made.invars[0].aval.shape) == _wide(updates.aval.shape):
            # Only dimensions of one element come in between.
            dims = tuple(made.params["broadcast_dimensions"])
            places = tuple([dims.index(p) for p in places if p in dims])
        elif made.primitive is not _CONVERT or not _converts(made, neutral):
            return []
        updates = made.invars[0]
    if made is not None or updates not in view.jaxpr.invars or not levels:
        return []
    position, result = view.jaxpr.invars.index(updates), []
    every: list[_Result] = [(k, (), False) for k in range(len(view.jaxpr.outvars))]
    for around, call in _around(uses, view, every):
        further = _added(uses, around, call.invars[position], places, neutral, call, levels - 1)
        if not further:
            return []
        result += further
    return result


def _lanes(site: Site) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The shape of an access's index tuples, and where its dimensions are in the result."""
    numbers = site.eqn.params.get("dimension_numbers")
    if numbers is None:
        # One window: everything there is.
        return (), ()
    shape = tuple(site.eqn.invars[1].aval.shape[:-1])
    if site.effect == "read":
        if site.columns and site.columns[0].column is None:
            return (), ()
        return shape, tuple(d for d in range(len(site.eqn.outvars[0].aval.shape)) if d not in numbers.offset_dims)
    lanes = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True))
    if len(lanes) < len(shape):
        # Any of the windows may be anywhere: only what decides about all of them will do.
        return (), ()
    return shape, tuple(int(lanes[d]) for d in range(len(shape)))


def harmless(
    uses: Uses, jaxpr: Any, updates: Any, places: tuple[int, ...], neutral: Any = 0, reader: Any = None
) -> list[_Found]:
    """The condition under which what is written is anything but what changes nothing, if this jaxpr shows it.

    To add 0 changes nothing, nor does to multiply by 1, or the least number in a maximum. `reader` takes it.
    """
    made = uses.maker(jaxpr, updates)
    if made is None:
        return []
    if made.primitive is _MUL and neutral == 0 and updates.aval.dtype != bool:
        for flag, other in zip(map(functools.partial(_flag, uses, jaxpr), made.invars), made.invars[::-1], strict=True):
            if flag is not None and _is_finite(uses, jaxpr, other):
                return [_Found(made, flag[0], _TRUE, places, flag[1])]
        return []
    found: list[_Found | None] = []
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


def _case(eqn: Any, condition: Any, picked: tuple[int, int], places: tuple[int, ...]) -> _Found | None:
    return None if type(condition) is Literal else _Found(eqn, condition, picked, places, _identity(condition))


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
        if made.primitive is _CONVERT and not _converts(made, number):
            return False
        atom = made.invars[0]
    return bool(atom.val == number)


def _converts(eqn: Any, number: Any) -> bool:
    """Whether a conversion makes this number, of the one type, the same number of the other."""
    source, target = (dtype_info(v.aval.dtype) for v in (eqn.invars[0], eqn.outvars[0]))
    if number in (0, 1):
        return True
    if source.integral and target.integral:
        return bool(max(source.min, target.min) <= number <= min(source.max, target.max))
    # An infinite one: there are floats of eight bits without.
    return source.kind == target.kind == "f" and min(source.bits, target.bits) >= 16


def _is_aligned(found: _Found, shape: tuple[Any, ...]) -> bool:
    """Whether the condition has one element per index tuple, in the same place, or one for all."""
    if type(found.condition) is Literal:
        return False
    own, places = found.condition.aval.shape, found.places
    if own == () or (own == shape and found.spread == places):
        return True
    # Dimensions of one element are everywhere and nowhere; a reshape of the value has left them out already.
    if len(places) == len(shape):
        places = tuple([p for p, n in zip(places, shape, strict=True) if n != 1])
    spread = tuple([p for p, n in zip(found.spread, own, strict=True) if n != 1])
    return _wide(own) == _wide(shape) and spread == places


def _wide(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dimensions of a shape that have more than one element."""
    return tuple([n for n in shape if n != 1])


def _is_made_from(uses: Uses, view: _View, found: _Found) -> bool:
    """Whether a condition is made from what was read: outside, that is anything, and so is the condition."""
    return any(uses.hangs_on(view.jaxpr, found.condition, v) for v, _, _ in view.results)


def _is_related(uses: Uses, view: _View, found: _Found) -> bool:
    """Whether a condition may say something of the index: both are made from one and the same value."""
    jaxpr = view.jaxpr
    mine = uses.behind(jaxpr, view.indices)
    theirs = uses.said_by(jaxpr, [found.condition])
    if not mine & uses.behind(jaxpr, jaxpr.invars) and found.condition.aval.shape:
        # An index that is made of no input has numbers of its own: the condition need only say which of them count.
        return True
    for depth, eqn in enumerate(view.chain):
        if mine & theirs:
            return True
        given, inputs = _given(eqn, jaxpr)
        if given is None:
            inner = uses.behind(jaxpr, jaxpr.invars)
            return bool(inner & mine and inner & theirs)
        # What goes into a function may be made from the same outside it.
        table = uses.table(jaxpr)
        places = [table[v][0] for v in inputs]
        jaxpr = uses.holding(view.chain, depth)
        mine, theirs = (
            uses.behind(jaxpr, [a for a, bit in zip(given, places, strict=True) if bit & mine]),
            uses.said_by(jaxpr, [a for a, bit in zip(given, places, strict=True) if bit & theirs]),
        )
    return bool(mine & theirs)


def _given(eqn: Any, jaxpr: Any) -> tuple[Sequence[Any] | None, Sequence[Any]]:
    """What an equation gives to a jaxpr that it runs, as it is, and to which of its inputs; None where nobody knows."""
    inputs = jaxpr.invars
    if eqn.primitive in _LOOPS:
        # What a loop carries is another value each time.
        if eqn.primitive is SCAN_P:
            first, end = 0, scan_counts(eqn.params)[0]
        elif jaxpr is open_jaxpr(eqn.params["body_jaxpr"])[0]:
            first = eqn.params["cond_nconsts"]
            end = first + eqn.params["body_nconsts"]
        else:
            first, end = 0, eqn.params["cond_nconsts"]
        return eqn.invars[first:end], inputs[: end - first]
    given = eqn.invars[1:] if eqn.primitive is COND_P else eqn.invars
    if (eqn.primitive not in CALLS and eqn.primitive is not COND_P) or len(given) != len(inputs):
        return None, inputs
    return given, inputs
