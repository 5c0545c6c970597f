"""masked: an access that may leave its array, but whose every use is a select that takes the other side then.

The uses of the result are followed forward through equations that keep each element in its place,
until each ends as a case of a select or is multiplied by a condition. Then the index is looked at again under
the condition that its case is taken: if it is inside then, what was read outside is never seen. The same goes for
an array that was written to. What is added outside is nothing if it is zero then, and so on (`prove/harmless.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from redzone.access.site import Site
from redzone.domains import Fact
from redzone.engine import Analysis, Seen, masked_runs
from redzone.engine.frames import Called, Masks
from redzone.engine.program import Passage
from redzone.frontend.compat import Literal, open_jaxpr
from redzone.prove.bare import Bare
from redzone.prove.exact import Exact
from redzone.prove.finite import yields_finite
from redzone.prove.met import Asked, placed
from redzone.prove.passing import ADDING, MIXED, Places
from redzone.prove.related import Relation
from redzone.prove.seen import ANYWHERE, CLOSE, INSIDE, judged
from redzone.prove.selected import Found, unspread
from redzone.prove.uses import SCATTERS, Uses
from redzone.prove.views import Looked, View, adding, ends, whole_ends, wide
from redzone.prove.violations import Use
from redzone.prove.whole import ACCESSES

#: What is told of an access that is masked.
DISCARDED: Final = "may leave the array, but then every use of what was {} is a select that picks the other side"
DROPPED: Final = "may leave the array, but then every use of what was {} drops it, or picks something else"
NOTHING: Final = "may leave the array, but what is added there then is zero"
NEUTRAL: Final = "may leave the array, but what is written there then changes nothing"

#: By access whose every use is a select or the like: of each use the conditions, in the access's jaxpr, and the least
#: and the most that all of them must be for what was read or written to be seen.
Thrown = dict[int, list[list[tuple[Any, tuple[int, int]]]]]


def masked_sites(
    analysis: Analysis,
    closed: Any,
    facts: Sequence[Fact],
    sites: Sequence[Site],
    thrown: Thrown,
    near: set[int],
    exact: Exact,
    left: dict[int, list[Use]] | None = None,
    seen: dict[int, list[Seen]] | None = None,
) -> dict[int, str]:
    """Which of these accesses are masked wherever they leave their array, and how.

    `seen` are all ways they were reached on inputs with these facts, where that was analysed.
    Of all whose every use is a select or the like, `thrown` gets when they are seen; and those that selects keep close
    to their arrays, if not inside, go to `near`. In which uses one may be seen outside goes to `left`.
    """
    uses = Uses(*open_jaxpr(closed), analysis.inventory)
    bare = (Bare(uses, lanes=False), Bare(uses, lanes=True), Bare(uses, lanes=True, alone=True))
    found: dict[int, str] = {}
    tried: set[Any] = set()
    waiting = [(site, iter(_attempts(uses, bare, site))) for site in sites if site.columns and site.home is not None]
    while waiting:
        looks = _Looks()
        waiting = [(site, more) for site, more in waiting if _is_looked_at(uses, site, more, thrown, looks, tried)]
        places = looks.places(analysis, closed, facts, exact, seen or {}) if waiting else {}
        near.update(key for key, place in places.items() if place == CLOSE)
        found |= {key: looks.told[key] for key, place in places.items() if place == INSIDE}
        for key, uses_of in exact.left.items():
            told = [one for one in uses_of if one is not None]
            if left is not None and key in places and len(told) == len(uses_of):
                left.setdefault(key, told)
        waiting = [(site, more) for site, more in waiting if id(site.eqn) not in found]
    near.difference_update(found)
    return found


class _Looks:
    """What is to be looked at in one run: of some accesses the conditions that may throw away what they access."""

    def __init__(self) -> None:
        self.told: dict[int, str] = {}
        """By access: what is told of it if they do."""
        self.wanted: dict[int, dict[Called, list[Asked]]] = {}
        """By access: by the calls that lead to it, the conditions."""

    def at(self, view: View, key: int, uses_of: list[list[Found]]) -> None:
        """Have these conditions looked at."""
        wanted = self.wanted.setdefault(key, {}).setdefault((key, view.calls), [])
        for use, ways in enumerate(uses_of):
            for way in ways:
                passage = Passage(use, *way.picked, way.condition.aval.shape, way.rows)
                wanted.append((view.jaxpr, way.eqn, way.condition, passage))

    def places(
        self, analysis: Analysis, closed: Any, facts: Sequence[Fact], exact: Exact, seen: dict[int, list[Seen]]
    ) -> dict[int, int]:
        """By access: where its index is when somebody sees what it accesses."""
        good: dict[Called, int] = {}
        exact.left = {}
        left: dict[Called, list[Asked]] = {}
        for access, wanted in self.wanted.items():
            found = placed(analysis, seen[access], wanted, exact) if access in seen else None
            if found is None:
                left |= wanted
            else:
                good |= found
        if left:
            good |= self.in_other_runs(analysis, closed, facts, exact, left)
        least = dict.fromkeys(self.told, INSIDE)
        for called in [called for wanted in self.wanted.values() for called in wanted]:
            if called not in good:
                exact.left.setdefault(called[0], []).append(None)
            least[called[0]] = min(least[called[0]], good.get(called, ANYWHERE))
        return least

    def in_other_runs(
        self, analysis: Analysis, closed: Any, facts: Sequence[Fact], exact: Exact, left: dict[Called, list[Asked]]
    ) -> dict[Called, int]:
        """The same, looked at in runs of a program that is made to have these conditions."""
        good: dict[Called, int] = {}
        masks: Masks = {}
        for called, conditions in left.items():
            for _, eqn, condition, passage in conditions:
                masks.setdefault(id(eqn), []).append((called, condition, passage))
        homes = [jaxpr for conditions in left.values() for jaxpr, _, _, _ in conditions]
        counts = {called: len(conditions) for called, conditions in left.items()}
        for context in masked_runs(closed, analysis.inventory, facts, masks, homes):
            for called, holds in judged(context, counts, exact):
                good[called] = min(good.get(called, INSIDE), holds)
        return good


#: What may throw away what an access reads or writes: how, of which shape the conditions are, and those.
_Attempt = tuple[str, tuple[Any, ...], Looked]


def _is_looked_at(
    uses: Uses, site: Site, attempts: Iterator[_Attempt], thrown: Thrown, looks: _Looks, tried: set[Any]
) -> bool:
    """Have the conditions of the next attempt looked at that may say anything of the index; False if there is none.

    An access with the conditions of an attempt that is in `tried` is not looked at again.
    """
    key = id(site.eqn)
    for how, shape, looked in attempts:
        known = [(view, _not_made_from(uses, view, found, shape)) for view, found in looked]
        if len(known) == 1 and not known[0][0].calls:
            # Those on rows of index tuples have no number for each: without them it is seen no less often.
            plain = [[(w.condition, w.picked) for w in ways if not w.rows] for ways in known[0][1]]
            if plain and all(plain):
                thrown.setdefault(key, plain)
        if not known or not all(uses_of and all(uses_of) for _, uses_of in known):
            continue
        relations = [Relation(uses, view) for view, _ in known]
        known = [
            (view, [[w for w in ways if relation.holds(w.condition)] for ways in uses_of])
            for (view, uses_of), relation in zip(known, relations, strict=True)
        ]
        if not all(uses_of and all(uses_of) for _, uses_of in known):
            continue
        same = frozenset(
            (view.calls, frozenset((id(w.condition), w.picked, w.rows) for w in ways))
            for view, uses_of in known
            for ways in uses_of
        )
        if (key, same) not in tried:
            tried.add((key, same))
            looks.told[key] = how
            for view, uses_of in known:
                looks.at(view, key, uses_of)
            return True
    return False


def _attempts(uses: Uses, bare: tuple[Bare, Bare, Bare], site: Site) -> Iterable[_Attempt]:
    shape, places = _lanes(site)
    result = (site.eqn.outvars[0], places, yields_finite(uses, site))
    home = View(site.home, [result], [site.eqn.invars[c.operand] for c in site.columns], site.chain)
    if not bare[2].is_seen(home.jaxpr, result[0]):
        # Else it is seen on a way on which nothing could throw it away.
        yield from _thrown_away(uses, bare, site, home, shape)
    if looked := adding(uses, home, site):
        nothing = NOTHING if site.eqn.primitive in ADDING else NEUTRAL
        yield nothing, tuple(site.eqn.invars[1].aval.shape[:-1]), looked


def _thrown_away(
    uses: Uses, bare: tuple[Bare, Bare, Bare], site: Site, home: View, shape: tuple[Any, ...]
) -> Iterable[_Attempt]:
    """By what comes after the access: each element by itself, then as a whole."""
    what = "read" if site.effect == "read" else "written"
    result, places, finite = home.results[0]
    looked = ends(uses, home)
    if not looked and places and site.effect == "read":
        # Where elements of several index tuples are put together, only what decides about all of them will do.
        shape, home = (), home._replace(results=[(result, (), finite)])
        looked = ends(uses, home)
    drops = any(one.eqn.primitive in SCATTERS for _, found in looked for one in found)
    if looked:
        yield (DROPPED if drops else DISCARDED).format(what), shape, looked
    shape, places = _each_lane(site)
    in_lanes = any(p != MIXED for p in places)
    whole = site.eqn.primitive in ACCESSES and not bare[in_lanes].is_seen(home.jaxpr, result)
    if whole:
        # The same, where conditions that say nothing of this index throw nothing away.
        relation = Relation(uses, home)
        whole = not Bare(uses, lanes=in_lanes, telling=relation).is_seen(home.jaxpr, result)
    if whole and (looked := whole_ends(uses, home._replace(results=[(result, places, finite)]), shape)):
        yield DISCARDED.format(what), shape, looked


def _not_made_from(uses: Uses, view: View, found: list[Found], shape: tuple[Any, ...]) -> list[list[Found]]:
    """By use: the conditions with one element for each index tuple or one for all, not made from what was read."""
    every = [[w if w.rows else unspread(uses, view.jaxpr, w, shape) for w in (*one.before, one)] for one in found]
    told = [[w if w.rows or _is_aligned(w, shape) else _by_rows(w, shape) for w in ways] for ways in every]
    return [[w for w in ways if w is not None and not _is_made_from(uses, view, w)] for ways in told]


def _lanes(site: Site) -> tuple[tuple[Any, ...], tuple[int, ...]]:
    """The shape of an access's index tuples, and where its dimensions are in the result, if all are there."""
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


def _each_lane(site: Site) -> tuple[tuple[Any, ...], Places]:
    """The shape of an access's index tuples, and where each of its dimensions is in the result, if it is there.

    Along a dimension of one element there is nothing to tell apart.
    """
    shape, places = _lanes(site)
    numbers = site.eqn.params.get("dimension_numbers")
    if site.effect == "write" and numbers is not None and not places:
        shape = tuple(site.eqn.invars[1].aval.shape[:-1])
        lanes = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True))
        places = tuple([int(lanes.get(d, MIXED)) for d in range(len(shape))])
    return shape, tuple([MIXED if n == 1 else p for p, n in zip(places, shape, strict=True)])


def _is_aligned(found: Found, shape: tuple[Any, ...]) -> bool:
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
    return wide(own) == wide(shape) and spread == places


def _by_rows(found: Found, shape: tuple[Any, ...]) -> Found | None:
    """A condition that has one element for each row of index tuples, as `ok[:, None]` beside a square; None elsewhere.

    Along the rows it is one for all: each index tuple is decided about by the element of its row. A reshape may have
    put the index tuples into other rows: not where there are as many along each dimension as there were.
    """
    if type(found.condition) is Literal or found.sizes != shape:
        return None
    dims = list[int]()
    for place, n in zip(found.spread, found.condition.aval.shape, strict=True):
        if n != 1:
            if place not in found.places or shape[found.places.index(place)] != n:
                return None
            dims.append(found.places.index(place))
    rows = tuple([d for d, n in enumerate(shape) if n != 1 and d not in dims])
    return found._replace(rows=rows) if rows and dims and dims == sorted(set(dims)) else None


def _is_made_from(uses: Uses, view: View, found: Found) -> bool:
    """Whether a condition is made from what was read: outside, that is anything, and so is the condition."""
    return any(uses.hangs_on(view.jaxpr, found.condition, v) for v, _, _ in view.results)
