"""An access as the jaxpr that it is in knows it, and those that call that: what it ends in there."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from redzone.access.site import Site
from redzone.frontend.compat import Literal, primitives
from redzone.prove.harmless import converts, harmless
from redzone.prove.passing import NotMasked, neutral_of
from redzone.prove.selected import Found, Result, leaving, selects
from redzone.prove.uses import Uses
from redzone.prove.whole import Term, Whole

_BROADCAST: Final = primitives()["broadcast_in_dim_p"]
_CONVERT: Final = primitives()["convert_element_type_p"]
#: How many calls around an access are looked at.
LEVELS: Final = 4


class View(NamedTuple):
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


#: In all the jaxprs that decide about an access: what it ends in there.
Looked = list[tuple[View, list[Found]]]


def ends(uses: Uses, view: View, levels: int = LEVELS) -> list[tuple[View, list[Found]]]:
    """Every select that what an access yields ends in, where it stands or in all the jaxprs that call that.

    Nothing if some have none. A jaxpr that only passes it on is called by others in turn.
    """
    jaxpr = view.jaxpr
    try:
        every = [selects(uses, jaxpr, var, places, 12, finite) for var, places, finite in view.results]
        return [(view, [one for found in every for one in found])]
    except NotMasked:
        if not levels or not uses.callers(jaxpr):
            return []
    try:
        outs = [out for v, places, finite in view.results for out in leaving(uses, jaxpr, v, places, 12, finite)]
    except NotMasked:
        return []
    result: list[tuple[View, list[Found]]] = []
    for around, _ in _around(uses, view, outs):
        further = ends(uses, around, levels - 1)
        if not further:
            return []
        result += further
    return result


def _around(uses: Uses, view: View, outs: list[Result]) -> list[tuple[View, Any]]:
    """An access as all the jaxprs know it that call its own, of which these results hang on it; and their calls."""
    inputs, table = view.jaxpr.invars, uses.table(view.jaxpr)
    mine, found = uses.behind(view.jaxpr, view.indices), []
    for jaxpr, call in uses.callers(view.jaxpr):
        if len(call.invars) != len(inputs):
            return []
        results = [(call.outvars[k], places, finite) for k, places, finite in outs]
        indices = [a for a, v in zip(call.invars, inputs, strict=True) if table[v][0] & mine]
        chain = view.chain[1:] if view.chain and view.chain[0] is call else ()
        found.append((View(jaxpr, results, indices, chain, (*view.calls, id(call))), call))
    return found


def whole_ends(uses: Uses, view: View, shape: tuple[Any, ...], levels: int = LEVELS) -> Looked:
    """As `ends`, of what is kept or thrown away as one, or each lane of it, whatever is made of it.

    `shape` is that of the index tuples.
    """
    whole = Whole(uses)
    results = whole.results(view.jaxpr, [(v, places) for v, places, _ in view.results])
    ways = whole.any([whole.seen, *[made.ways for made in results]])
    if 0 not in ways:
        every = [[_found(term, shape) for term in whole.conditions(way)] for way in ways]
        return [(view, [found[-1]._replace(before=tuple(found[:-1])) for found in every])]
    if whole.seen or not levels:
        return []
    result: Looked = []
    outs = [(k, made.places, False) for k, made in enumerate(results) if made.ways]
    for around, _ in _around(uses, view, outs):
        further = whole_ends(uses, around, shape, levels - 1)
        if not further:
            return []
        result += further
    return result


def _found(term: Term, shape: tuple[Any, ...]) -> Found:
    """A condition that is in its place already."""
    spread = tuple(range(len(term.condition.aval.shape)))
    places = tuple([d for d in spread if term.condition.aval.shape[d] != 1])
    rest = tuple([d for d, n in enumerate(shape) if n != 1 and d not in term.lanes])
    rows = rest if term.lanes else ()
    return Found(term.eqn, term.condition, (term.least, term.most), places, spread, rows=rows)


def adding(uses: Uses, home: View, site: Site) -> Looked:
    """The conditions under which what is written changes anything, where they are plain to see."""
    eqn = site.eqn
    neutral = neutral_of(eqn)
    if neutral is None:
        return []
    windows = eqn.params["dimension_numbers"].update_window_dims
    places = tuple(d for d in range(len(eqn.invars[2].aval.shape)) if d not in windows)
    return _added(uses, home, eqn.invars[2], places, neutral, eqn, LEVELS)


def _added(
    uses: Uses, view: View, updates: Any, places: tuple[int, ...], neutral: Any, reader: Any, levels: int
) -> Looked:
    if type(updates) is Literal:
        return []
    while True:
        found = harmless(uses, view.jaxpr, updates, places, neutral, reader)
        if found:
            return [(view, found)]
        made = uses.maker(view.jaxpr, updates)
        if made is None or not made.invars or type(made.invars[0]) is Literal:
            break
        if made.primitive is _BROADCAST and wide(made.invars[0].aval.shape) == wide(updates.aval.shape):
            # Only dimensions of one element come in between.
            dims = tuple(made.params["broadcast_dimensions"])
            places = tuple([dims.index(p) for p in places if p in dims])
        elif made.primitive is not _CONVERT or not converts(made, neutral):
            return []
        updates = made.invars[0]
    if made is not None or updates not in view.jaxpr.invars or not levels:
        return []
    position, result = view.jaxpr.invars.index(updates), []
    every: list[Result] = [(k, (), False) for k in range(len(view.jaxpr.outvars))]
    for around, call in _around(uses, view, every):
        further = _added(uses, around, call.invars[position], places, neutral, call, levels - 1)
        if not further:
            return []
        result += further
    return result


def wide(shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """The dimensions of a shape that have more than one element."""
    return tuple([n for n in shape if n != 1])
