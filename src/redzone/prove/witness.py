"""Inputs that should make an access leave its array, tried in turn until one really does."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import jax
import numpy as np

from redzone.access.site import Site
from redzone.domains import Fact, dtype_info, meet, summarised
from redzone.domains.fact import NORMAL
from redzone.frontend.trace import Input
from redzone.frontend.unwatched import unwatched
from redzone.prove.compiled import leaves_compiled
from redzone.prove.concrete_random import is_key, words
from redzone.prove.masks import Thrown
from redzone.prove.need import FAR, Need, beside, is_far
from redzone.prove.pasted import pasted
from redzone.prove.purse import Purse
from redzone.prove.replay import Replay
from redzone.prove.visible import is_visible
from redzone.report.model import Condition, Witness

#: By accesses: what replays toward them.
Replays = dict[frozenset[int], Replay]

#: How many inputs are tried for one access.
TRIES: Final = 14
#: How many inputs are drawn at random.
DRAWS: Final = 24
#: How many of these where nothing is promised and nothing random takes part.
FREE: Final = 7
#: After how many inputs for which no index could be computed no other is tried.
BLIND: Final = 2
#: How many inputs may show what nobody sees before none is believed.
HIDDEN: Final = 12
#: How many ends of a condition on parts of an array are gone beyond.
ENDS: Final = 3
#: How many inputs are tried one by one with a number that is far from the plain ones, and which.
ALONE: Final = 3
HUGE: Final = 1_000_000
#: How far above the least of a promise an array is tried that holds one number.
BETWEEN: Final = 5
#: What is taken from 1 by a remainder, and rounds to 1.
BELOW: Final = -1e-9


def plain_value(source: Input, fact: Fact, number: Any = 0) -> Any:
    """An array of the input's shape holding one number, or the nearest its contract allows."""
    aval = source.aval
    info = dtype_info(getattr(aval, "dtype", None))
    if info.kind == "x":
        return random_key(aval, 0) if is_key(aval) else np.zeros(aval.shape, aval.dtype)
    if type(fact.lo) is np.ndarray:
        values = np.clip(number, fact.lo, fact.hi)
        return np.broadcast_to(values.astype(aval.dtype), aval.shape)
    value = min(max(number, fact.lo), fact.hi)
    with np.errstate(over="ignore"):  # more than a narrow float holds is infinite
        return np.broadcast_to(np.asarray(value).astype(aval.dtype), aval.shape)


def random_key(aval: Any, seed: int) -> Any:
    """An array of one and the same random key, the one that JAX makes of a seed."""
    key = jax.random.key(seed, impl=aval.dtype._impl.name)
    return jax.numpy.broadcast_to(key, aval.shape) if aval.shape else key


def find_witness(
    closed: Any,
    site: Site,
    inputs: Sequence[Input],
    facts: Sequence[Fact],
    needs: dict[int, Need],
    search: bool,
    purse: Purse,
    points: Sequence[dict[int, Any]] = (),
    tried: set[Any] | None = None,
    tries: int | None = None,
    thrown: Thrown | None = None,
) -> Witness | None:
    """An input within the contract for which the access really leaves its array.

    With `search`, values just outside the proposed conditions and the ends of the contract are tried.
    """
    candidates = itertools.chain(points, _candidates(inputs, facts, needs, search, site))
    if tries is not None:
        candidates = itertools.chain(itertools.islice(candidates, tries), _extreme(inputs, facts, needs))
    found = witnesses(closed, [site], inputs, facts, candidates, purse, tried, thrown=thrown)
    return found.get(id(site.eqn))


def breaking(
    closed: Any,
    site: Site,
    inputs: Sequence[Input],
    facts: Sequence[Fact],
    needs: dict[int, Need],
    relations: Sequence[Condition],
    points: Sequence[dict[int, Any]],
) -> Witness | None:
    """The plainest input within the contract that breaks a condition and really makes the access leave its array.

    What numpy can evaluate is tried before JAX compiles.
    """
    if not has_sizes(inputs):
        return None
    candidates = _breaking(site, inputs, facts, needs, relations, points)
    for compiles in (False, True):
        found = witnesses(closed, [site], inputs, facts, candidates, Purse(compiles=compiles))
        if found:
            return found[id(site.eqn)]
    return None


@unwatched()
def hanging_on(
    closed: Any,
    sites: Sequence[Site],
    inputs: Sequence[Input],
    facts: Sequence[Fact],
    needs: dict[int, Need],
    purse: Purse,
) -> set[int]:
    """The accesses that an input takes out of their arrays which breaks a condition, and those that none is met in.

    By identity of their equations: of all others some inputs that break it show that they stay inside.
    """
    left = {id(site.eqn) for site in sites}
    if not has_sizes(inputs):
        return left
    replay, hanging, met = Replay(closed, sites, purse), set[int](), set[int]()
    plain, lively = beyond_each(inputs, facts, needs, ())
    for chosen in (plain + lively)[: TRIES - 2] + _at_one_end(inputs, facts, needs):
        hanging |= replay.attempt(filled(inputs, facts, chosen)).keys() | replay.unjudged_at
        left -= hanging
        if not left or purse.left <= 0:
            return hanging | left
        met |= replay.judgements.keys()
    return hanging | (left - met)


def _at_one_end(inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need]) -> list[dict[int, Any]]:
    """Inputs one element of which is as far out as it can be, beyond a condition: numbers that far apart may wrap."""
    found = []
    for leaf, need in needs.items():
        whole, asked = summarised(facts[leaf]), need.uniform()
        for end, is_beyond in ((whole.lo, whole.lo < asked.lo), (whole.hi, whole.hi > asked.hi)):
            if is_beyond and inputs[leaf].aval.size > 1 and dtype_info(inputs[leaf].aval.dtype).kind in "iu":
                value = np.array(plain_value(inputs[leaf], facts[leaf]))
                value.flat[0] = end
                found.append({leaf: value})
    return found[:2]


def _breaking(
    site: Site,
    inputs: Sequence[Input],
    facts: Sequence[Fact],
    needs: dict[int, Need],
    relations: Sequence[Condition],
    points: Sequence[dict[int, Any]],
) -> list[dict[int, Any]]:
    """Inputs that should break a condition, the plainest first."""
    plain, lively = beyond_each(inputs, facts, needs, relations)
    return [
        one
        for one in (*plain, *points, *lively, *_candidates(inputs, facts, needs, True, site))
        if all(keeps(facts[leaf], value) for leaf, value in one.items())
    ]


def beyond_each(
    inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need], relations: Sequence[Condition]
) -> tuple[list[dict[int, Any]], list[dict[int, Any]]]:
    """Inputs just beyond each side of a condition: the others plain; and 1 rather than 0, in all of them or in one."""
    plain = [c for leaf in needs for above in (True, False) for c in _beyond(inputs, facts, needs, leaf, above)]
    plain += [c for one in relations for above in (True, False) if (c := _unrelated(inputs, facts, needs, one, above))]
    # What nothing is asked of may have to say that something happens.
    ones = {i: plain_value(source, fact, 1) for i, (source, fact) in enumerate(zip(inputs, facts, strict=True))}
    lively = [ones | chosen for chosen in plain]
    lively += [{i: ones[i]} | chosen for chosen in plain for i in list(ones)[:ALONE] if i not in chosen]
    return plain, lively


def has_sizes(inputs: Sequence[Input]) -> bool:
    """Whether there are arrays to try: a symbolic size has none."""
    return all(type(n) is int for source in inputs for n in getattr(source.aval, "shape", ()))


def keeps(fact: Fact, value: Any) -> bool:
    """Whether an array keeps its contract; of one that holds a single number, that number."""
    if not isinstance(value, np.ndarray):
        return True
    if not fact.kept and value.size and (value == value.flat[0]).all():
        return fact.contains(value.flat[0])
    return fact.contains(value)


def _beyond(
    inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need], leaf: int, above: bool
) -> list[dict[int, Any]]:
    """The nearest values beyond one side of one condition, where it has that side: one for each of its ends."""
    bound = needs[leaf].hi if above else needs[leaf].lo
    if np.ndim(bound) == 0 and is_far(bound):
        return []
    if np.ndim(bound) == 0:
        one = just_outside(inputs, facts, needs, leaf, above)
        return [] if one is None else [one]
    # Of parts that are free nothing can be beyond.
    need, whole = needs[leaf], summarised(facts[leaf])
    lo, hi = np.broadcast_arrays(need.lo, need.hi)
    ends = np.unique(hi[hi < FAR])[::-1] if above else np.unique(lo[lo > -FAR])
    numbers = [_next(inputs[leaf], end, above) for end in ends[:ENDS]]
    others = {i: _satisfying(inputs[i], facts[i], n) for i, n in needs.items() if i != leaf}
    allowed = [number for number in numbers if whole.lo <= number <= whole.hi]
    return [{**others, leaf: _element(inputs[leaf], facts[leaf], need, number)} for number in allowed]


def _unrelated(
    inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need], relation: Condition, above: bool
) -> dict[int, Any] | None:
    """Uniform inputs whose sum is just beyond one side of a relation, one of them moved as far as that takes."""
    bound = relation.max if above else relation.min
    leaves = [leaf for _, _, leaf in relation.terms]
    if bound is None or len(set(leaves)) < len(leaves):
        return None
    wholes = {leaf: _within(facts[leaf], needs.get(leaf)) for leaf in leaves}
    values = {leaf: min(max(0, lo), hi) for leaf, (lo, hi) in wholes.items()}
    missing = bound - sum(k * values[leaf] for k, _, leaf in relation.terms) + (1 if above else -1)
    for k, _, leaf in relation.terms:
        lo, hi = wholes[leaf]
        if (missing > 0) != above or missing == 0:
            break
        # Rounded away from zero, so that the sum gets there.
        step = -(-missing // k) if (missing > 0) == (k > 0) else -(missing // -k)
        moved = min(max(values[leaf] + step, lo), hi)
        missing -= k * (moved - values[leaf])
        values[leaf] = moved
    if (missing > 0) if above else (missing < 0):
        return None
    others = {i: _satisfying(inputs[i], facts[i], n) for i, n in needs.items() if i not in values}
    return {**others, **{leaf: plain_value(inputs[leaf], facts[leaf], v) for leaf, v in values.items()}}


def _within(fact: Fact, need: Need | None) -> tuple[int, int]:
    """The values an input may have under its contract and a condition on all of it."""
    whole = summarised(fact)
    lo, hi = int(whole.lo), int(whole.hi)
    if need is not None:
        n = need.uniform()
        low, high = max(lo, n.lo), min(hi, n.hi)
        lo, hi = (low, high) if low <= high else (lo, hi)
    return lo, hi


def filled(inputs: Sequence[Input], facts: Sequence[Fact], chosen: dict[int, Any]) -> list[Any]:
    """One array per input: the chosen ones, and the plainest the contract allows for the rest."""
    return [
        _allowed(source, chosen[i] if i in chosen else plain_value(source, fact))
        for i, (source, fact) in enumerate(zip(inputs, facts, strict=True))
    ]


def _allowed(source: Input, value: Any) -> Any:
    """The same, or the nearest the contract allows: a summarised fact does not know what is said of single elements."""
    if np.ndim(source.min) == 0 and np.ndim(source.max) == 0 and not _ends_subnormal(source):
        return value
    return np.clip(value, source.min, source.max).astype(source.aval.dtype)


def _ends_subnormal(source: Input) -> bool:
    """Whether a promise ends at a number that may be taken for zero: then its fact holds zero, which it excludes."""
    ends = [bound for bound in (source.min, source.max) if isinstance(bound, float)]
    return any(bound != 0 and abs(bound) < NORMAL for bound in ends)


def just_outside(
    inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need], leaf: int, above: bool
) -> dict[int, Any] | None:
    """Inputs that keep every condition but one side of one: the nearest value beyond it."""
    need, whole = needs[leaf], summarised(facts[leaf])
    ends = np.unique(need.hi if above else need.lo)
    number = _next(inputs[leaf], ends.max() if above else ends.min(), above)
    if not whole.lo <= number <= whole.hi:
        return None
    others = {i: _satisfying(inputs[i], facts[i], n) for i, n in needs.items() if i != leaf}
    return {**others, leaf: _element(inputs[leaf], facts[leaf], need, number)}


def _next(source: Input, end: Any, above: bool) -> Any:
    """The nearest number beyond an end that an input can be; of floats one that takes few digits to write."""
    if dtype_info(source.aval.dtype).kind != "f":
        return int(end) + (1 if above else -1)
    nearest = _nearest_float(source, end, above)
    if abs(nearest) <= NORMAL:
        return 0.1 if above else -0.1
    # What differs in the last digits may be rounded to either side, as operations are put together.
    beyond = nearest + (1 if above else -1) * abs(nearest) * 2.0**-12
    if len(str(nearest)) <= 6 or not math.isfinite(beyond):
        return nearest
    scale = 10.0 ** (2 - math.floor(math.log10(abs(beyond))))
    return (math.ceil(beyond * scale) if above else math.floor(beyond * scale)) / scale


def _nearest_float(source: Input, end: Any, above: bool) -> float:
    return float(beside(end, math.inf if above else -math.inf, source.aval.dtype))


@unwatched()
def witnesses(
    closed: Any,
    sites: Sequence[Site],
    inputs: Sequence[Input],
    facts: Sequence[Fact],
    candidates: Iterable[dict[int, Any]],
    purse: Purse,
    tried: set[Any] | None = None,
    replays: Replays | None = None,
    tries: int = TRIES,
    thrown: Thrown | None = None,
    hidden: int = HIDDEN,
) -> dict[int, Witness]:
    """By identity of the access's equation: an input that really makes it leave its array, and is not `thrown` away.

    Inputs in `tried` are passed over, those looked at are added to it. `replays` of the same program are used again.
    `hidden`: how many inputs may show what nobody sees before none is believed.
    """
    result: dict[int, Witness] = {}
    if not has_sizes(inputs):
        return result
    replay: Replay | None = None
    tried, blind = set() if tried is None else tried, 0
    for chosen in itertools.islice(candidates, tries):
        if len(result) == len(sites) or purse.left <= 0:
            break
        if replay is None:
            replay = _toward(closed, sites, purse, {} if replays is None else replays, thrown or {})
        arguments = filled(inputs, facts, chosen)
        seen = tuple(_identity(a) for a in arguments)
        if seen in tried:
            continue
        tried.add(seen)
        found = replay.attempt(arguments)
        blind += replay.unjudged and not replay.judged
        if blind == BLIND:
            break
        if found and not all(keeps(facts[i], value) for i, value in chosen.items()):
            # A point of the exact stage may speak of what a float is rounded to, and not of the float.
            continue
        if found and replay.rough and purse.sure is not None:
            left = [site for site in sites if id(site.eqn) in found and id(site.eqn) not in result]
            found = Replay(closed, left, purse.sure, thrown).attempt(arguments) if left else {}
        telling: _Telling | None = None
        for key, (index, path) in found.items():
            if key in result or not _is_seen(closed, sites, key, arguments, hidden):
                continue
            if not leaves_compiled(closed, next(site for site in sites if id(site.eqn) == key), arguments):
                continue
            if telling is None:
                telling = _Telling(inputs, facts, chosen, arguments, replay.needed())
            # The others do not lead outside, but without them perhaps nobody sees it.
            alone = telling.is_all or _is_seen(closed, sites, key, telling.arguments, hidden)
            result[key] = telling.witness(index, path, alone)
    return result


class _Telling:
    """What an input shows and which part of it leads there: the same for all accesses that it takes outside."""

    def __init__(
        self,
        inputs: Sequence[Input],
        facts: Sequence[Fact],
        chosen: dict[int, Any],
        arguments: list[Any],
        needed: frozenset[int],
    ) -> None:
        self.inputs, self.chosen, self.given, self.needed = inputs, chosen, arguments, needed
        self.leading = {i: value for i, value in chosen.items() if i in needed}
        self.is_all = len(self.leading) == len(chosen)
        self.arguments = arguments if self.is_all else filled(inputs, facts, self.leading)
        """The same with nothing chosen that does not lead there."""
        self.texts: dict[bool, str] = {}

    def witness(self, index: tuple[int, ...], path: str, alone: bool) -> Witness:
        """What it shows of an access, with what leads there alone or with all that was chosen."""
        arguments = self.arguments if alone else self.given
        text = self.texts.get(alone)
        if text is None:
            relevant = sorted(self.leading if alone else self.chosen) or sorted(self.needed)[:4]
            text = ", ".join([f"{self.inputs[i].name}={pasted(arguments[i])}" for i in relevant])
            self.texts[alone] = text
        return Witness(tuple(arguments), index, path, text)


def _is_seen(closed: Any, sites: Sequence[Site], key: int, arguments: list[Any], times: int) -> bool:
    return is_visible(closed, next(site for site in sites if id(site.eqn) == key), arguments, times)


def _toward(closed: Any, sites: Sequence[Site], purse: Purse, replays: Replays, thrown: Thrown) -> Replay:
    """A replay toward these accesses; what one has found out about the program, the next knows."""
    key = frozenset(id(site.eqn) for site in sites)
    replay = replays.get(key)
    if replay is None:
        replay = replays[key] = Replay(closed, sites, purse, thrown)
    replay.spends(purse)
    return replay


def _identity(value: Any) -> Any:
    """Equal for equal arrays; of one that holds a single number, that number says it."""
    if is_key(value):
        value = words(value)
    if not isinstance(value, np.ndarray):
        return id(value)
    if value.size and not any(value.strides):
        return value.flat[0].item()
    return value.tobytes()


def _candidates(
    inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need], search: bool, site: Site
) -> Iterator[dict[int, Any]]:
    if not search:
        yield {}
        return
    for leaf, need in needs.items():
        for number in _outside(inputs[leaf], facts[leaf], need):
            others = {other: _satisfying(inputs[other], facts[other], n) for other, n in needs.items() if other != leaf}
            yield {**others, leaf: _element(inputs[leaf], facts[leaf], need, number)}
    yield from corners(inputs, facts)
    yield from far_away(inputs, facts, site)


def beside_none(inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need]) -> Iterator[dict[int, Any]]:
    """The first number of an array just outside its condition, all others negative if they may be.

    A negative number often stands for none: along parents that all are somewhere a walk may never end.
    """
    for leaf, need in needs.items():
        source, least = inputs[leaf], summarised(facts[leaf]).lo
        if dtype_info(source.aval.dtype).kind != "i" or source.open_below or least >= 0 or not _is_small(source):
            continue
        for number in _outside(source, facts[leaf], need):
            alone = np.array(plain_value(source, facts[leaf], least))
            alone.flat[0] = number
            yield {leaf: alone}


def one_of_each(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Numbers without a promise, one of them 1 and the others what is plainest: those that are compared may differ."""
    free = [i for i, s in enumerate(inputs) if s.aval.shape == () and is_free(s)]
    for i in [i for i in free if dtype_info(inputs[i].aval.dtype).kind in "iu"][:ALONE]:
        yield {i: plain_value(inputs[i], facts[i], 1)}


def _extreme(inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need]) -> Iterator[dict[int, Any]]:
    """Inputs of which something is asked, one by one, far above the others and far below."""
    for leaf in list(needs)[:ALONE]:
        unsigned = dtype_info(inputs[leaf].aval.dtype).kind == "u"
        for number in (summarised(facts[leaf]).hi,) if unsigned else (HUGE, -HUGE):
            yield {leaf: plain_value(inputs[leaf], facts[leaf], number)}


def corners(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """The ends of the contract: high (promised ranges at their top, bools true, growing numbers), low, ones and their
    negatives, bools that are all the same but for the last, one promised range at its top and the others low."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    for high in (True, False):
        chosen, grown = {}, {}
        for i, (source, fact) in enumerate(zip(inputs, facts, strict=True)):
            closed = not (source.open_above if high else source.open_below)
            end = summarised(fact).hi if high else summarised(fact).lo
            if closed or kinds[i] == "b":
                chosen[i] = plain_value(source, fact, end)
            elif high and kinds[i] in "fiu" and source.open_below and _is_small(source):
                grown[i] = _ramp(source)
        yield chosen | grown
        if chosen and grown:
            yield chosen
    floats = [i for i, kind in enumerate(kinds) if kind == "f"]
    for number in (1, -1) if floats else ():
        yield {i: plain_value(inputs[i], facts[i], number) for i in floats}
    flags = [i for i, s in enumerate(inputs) if kinds[i] == "b" and s.aval.shape and is_free(s) and _is_small(s)]
    for last in (True, False) if flags else ():
        yield {i: _but_the_last(inputs[i].aval.shape, last) for i in flags}
    ranges = [i for i, s in enumerate(inputs) if kinds[i] in "iuf" and not (s.open_above or s.open_below)]
    for top in ranges if 1 < len(ranges) <= ALONE else ():
        whole = [(i, summarised(facts[i])) for i in ranges]
        yield {i: plain_value(inputs[i], facts[i], fact.hi if i == top else fact.lo) for i, fact in whole}


def _but_the_last(shape: tuple[int, ...], last: bool) -> Any:
    """Bools of which the last along the last dimension is so, and no other."""
    return np.broadcast_to((np.arange(shape[-1]) == shape[-1] - 1) == last, shape)


def far_away(inputs: Sequence[Input], facts: Sequence[Fact], site: Site) -> Iterator[dict[int, Any]]:
    """Inputs nobody promised anything of: the first number outside, the last one inside, falling ones, one far above or
    below the others."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    free = [i for i, source in enumerate(inputs) if kinds[i] in "fiu" and is_free(source)]
    if free and type(site.columns[0].limit) is int:
        yield {i: plain_value(inputs[i], facts[i], site.columns[0].limit + 1) for i in free}
        whole = {i: plain_value(inputs[i], facts[i], site.columns[0].limit) for i in free if kinds[i] != "f"}
        if whole:
            yield whole
    falling = {i: _ramp(inputs[i])[..., ::-1] for i in free if _is_small(inputs[i])}
    if falling:
        yield falling
    unsigned = [i for i in free if kinds[i] == "u"]
    if unsigned:
        yield {i: plain_value(inputs[i], facts[i], summarised(facts[i]).hi) for i in unsigned}
    for i in [i for i in free if kinds[i] != "u"][:ALONE]:
        for number in (HUGE, -HUGE):
            yield {i: plain_value(inputs[i], facts[i], number)}


def at_random(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Numbers as different as a contract allows, then drawn from it, and random keys; the same at every check."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    promised = [
        i for i, s in enumerate(inputs) if kinds[i] == "b" or (kinds[i] in "fiu" and not (s.open_above or s.open_below))
    ]
    keys = [i for i, s in enumerate(inputs) if is_key(s.aval) or may_be_key(s)]
    # An integer of a narrow type is limited by that alone: what it leads to asks for a promise.
    free = [i for i, s in enumerate(inputs) if kinds[i] in "fi" and is_free(s) and s.aval.dtype.itemsize >= 4]
    if promised:
        yield {i: _spread(inputs[i], facts[i]) for i in promised}
    for seed in range(1, DRAWS if promised or keys else FREE if free else 0):
        numbers = np.random.default_rng(seed)
        chosen = {i: _drawn(inputs[i], facts[i], numbers) for i in promised}
        # Nothing is promised of these: small numbers, then larger ones.
        near = 8 ** min(seed, 9)
        far = {"f": Fact(-float(near), float(near)), "i": Fact(-near, near)}
        chosen |= {i: _drawn(inputs[i], meet(facts[i], far[kinds[i]]) or facts[i], numbers) for i in free}
        for i in keys:
            aval = inputs[i].aval
            pair = np.array([0, seed], np.uint32)
            chosen[i] = random_key(aval, seed) if is_key(aval) else np.broadcast_to(pair, aval.shape)
        yield chosen


def at_the_ends(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Integers as far as their types go where nothing is promised, and floats just below zero."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    for above in (True, False):
        far = [i for i, s in enumerate(inputs) if kinds[i] in "iu" and (s.open_above if above else s.open_below)]
        if far:
            ends = {i: summarised(facts[i]) for i in far}
            yield {i: plain_value(inputs[i], facts[i], end.hi if above else end.lo) for i, end in ends.items()}
    floats = [i for i, kind in enumerate(kinds) if kind == "f" and summarised(facts[i]).lo < 0]
    if floats:
        yield {i: plain_value(inputs[i], facts[i], BELOW) for i in floats}


def by_turns(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Arrays of which each element differs from its neighbours, as many as there can be."""
    numbers = [i for i, s in enumerate(inputs) if dtype_info(getattr(s.aval, "dtype", None)).kind in "biuf"]
    arrays = [i for i in numbers if _is_small(inputs[i])]
    for first in (1, 0) if arrays else ():
        yield {i: _alternating(inputs[i], facts[i], first) for i in arrays}


def evenly(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Arrays of one number between the ends of a promise, as of one instruction; and of the least, one at its top."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    closed = [i for i, s in enumerate(inputs) if kinds[i] in "iu" and not (s.open_above or s.open_below)]
    arrays = [i for i in closed if _is_small(inputs[i])]
    ends = {i: summarised(facts[i]) for i in closed}
    for by in range(1, BETWEEN) if arrays else ():
        between = {i: end.lo + by for i, end in ends.items() if end.lo + by < end.hi}
        if not between.keys() & arrays:
            break
        yield {i: plain_value(inputs[i], facts[i], number) for i, number in between.items()}
    least = {i: plain_value(inputs[i], facts[i], end.lo) for i, end in ends.items()}
    for i in arrays[:ALONE]:
        for at in (-1, 0):
            alone = np.array(least[i])
            alone.flat[at] = ends[i].hi
            yield least | {i: alone}


def _alternating(source: Input, fact: Fact, first: int) -> Any:
    whole, turns = summarised(fact), (np.arange(source.aval.shape[-1]) + first) % 2
    least = min(max(0, whole.lo), whole.hi)
    other = least + 1 if fact.contains(least + 1) else least
    return np.broadcast_to(np.where(turns, other, least).astype(source.aval.dtype), source.aval.shape)


def may_be_key(source: Input) -> bool:
    """Whether an input may be a random key of the old kind, two words."""
    return source.aval.dtype == np.uint32 and source.aval.shape[-1:] == (2,) and is_free(source)


def _spread(source: Input, fact: Fact) -> Any:
    """Growing numbers from the least on, over and over where the contract has fewer."""
    whole, shape = summarised(fact), source.aval.shape
    if type(whole.lo) is not int or type(whole.hi) is not int or not _is_small(source):
        return plain_value(source, fact, whole.hi)
    return _above(whole.lo, np.arange(int(np.prod(shape))).reshape(shape) % min(whole.hi - whole.lo + 1, _FEW), source)


def _drawn(source: Input, fact: Fact, numbers: Any) -> Any:
    """Numbers from all of the contract; of a large array, one for all its elements."""
    whole, shape = summarised(fact), source.aval.shape if _is_small(source) else ()
    if type(whole.lo) is int and type(whole.hi) is int:
        drawn = _above(whole.lo, numbers.integers(0, min(whole.hi - whole.lo, _FEW), shape, endpoint=True), source)
    elif math.isfinite(whole.lo) and math.isfinite(whole.hi):
        drawn = np.clip(numbers.uniform(0, 1, shape) * (whole.hi - whole.lo) + whole.lo, whole.lo, whole.hi)
    else:
        return plain_value(source, fact, numbers.normal())
    return np.broadcast_to(np.asarray(drawn).astype(source.aval.dtype), source.aval.shape)


#: Numbers further above the least of a contract are not drawn.
_FEW: Final = 1 << 62


def _above(least: int, by: Any, source: Input) -> Any:
    """So much above a number, in a type that holds the sum."""
    dtype = np.dtype(source.aval.dtype)
    if dtype == np.bool_:
        return (np.asarray(by) + least).astype(dtype)
    with np.errstate(over="ignore"):
        return np.asarray(by).astype(dtype) + np.asarray(least, dtype)


def is_free(source: Input) -> bool:
    """Whether nothing is promised of an input."""
    return bool(source.open_above and source.open_below)


def _is_small(source: Input) -> bool:
    return all(type(n) is int for n in source.aval.shape) and 1 < int(np.prod(source.aval.shape)) <= 4096


def _ramp(source: Input) -> Any:
    """Growing numbers: the largest comes last."""
    return np.arange(int(np.prod(source.aval.shape))).reshape(source.aval.shape).astype(source.aval.dtype)


def _outside(source: Input, fact: Fact, need: Need) -> list[Any]:
    """Numbers beyond the ends of a condition: near ones, and of floats the nearest and some farther away."""
    known = summarised(fact)
    ends = [(x, True) for x in np.unique(need.hi).tolist()[:3] if x < FAR and known.hi > x]
    ends += [(x, False) for x in np.unique(need.lo).tolist()[:3] if x > -FAR and known.lo < x]
    numbers = [_next(source, x, above) for x, above in ends]
    if dtype_info(source.aval.dtype).kind == "f":
        numbers += [_nearest_float(source, x, above) for x, above in ends]
        return numbers + [x + (1 if above else -1) * max(1, abs(x) / 8) for x, above in ends]
    return [n for n in numbers if known.lo <= n <= known.hi]


def _satisfying(source: Input, fact: Fact, need: Need) -> Any:
    n = need.uniform()
    return plain_value(source, fact, min(max(0, n.lo), n.hi))


def _element(source: Input, fact: Fact, need: Need, number: Any) -> Any:
    """The number at every place that the need is about, an innocent value elsewhere."""
    if np.ndim(need.lo) == 0 or np.ndim(need.lo) > len(source.aval.shape):
        return plain_value(source, fact, number)
    lo, hi = np.broadcast_to(need.lo, source.aval.shape), np.broadcast_to(need.hi, source.aval.shape)
    about = (number < lo) & (lo > -FAR) | (number > hi) & (hi < FAR)
    calm = np.clip(np.clip(0, lo, hi), fact.lo, fact.hi)
    return np.where(about, number, calm).astype(source.aval.dtype)
