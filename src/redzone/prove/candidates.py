"""Inputs that may make an access leave its array: ends of the contract, what is far away, random ones and many more."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.domains import Fact, dtype_info, meet, summarised
from redzone.domains.fact import NORMAL
from redzone.frontend.trace import Input
from redzone.prove.concrete_random import is_key
from redzone.prove.need import FAR, Need, beside
from redzone.prove.plain import is_free, is_small, may_be_key, plain_value, ramp, random_key

#: How many inputs are drawn at random.
DRAWS: Final = 24
#: How many of these where nothing is promised and nothing random takes part.
FREE: Final = 7
#: How many inputs are tried one by one with a number that is far from the plain ones, and which.
ALONE: Final = 3
HUGE: Final = 1_000_000
#: A float so large that its logarithm is, too; its square is still a number of the types that most programs use.
VAST: Final = 1e18
#: How far above the least of a promise an array is tried that holds one number.
BETWEEN: Final = 5
#: What is taken from 1 by a remainder, and rounds to 1.
BELOW: Final = -1e-9
#: Numbers further above the least of a contract are not drawn.
_FEW: Final = 1 << 62


def just_outside(
    inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need], leaf: int, above: bool
) -> dict[int, Any] | None:
    """Inputs that keep every condition but one side of one: the nearest value beyond it."""
    need, whole = needs[leaf], summarised(facts[leaf])
    ends = np.unique(need.hi if above else need.lo)
    number = next_number(inputs[leaf], ends.max() if above else ends.min(), above)
    if not whole.lo <= number <= whole.hi:
        return None
    others = {i: satisfying(inputs[i], facts[i], n) for i, n in needs.items() if i != leaf}
    return {**others, leaf: one_element(inputs[leaf], facts[leaf], need, number)}


def next_number(source: Input, end: Any, above: bool) -> Any:
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


def worth_trying(
    inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need], search: bool, site: Site
) -> Iterator[dict[int, Any]]:
    if not search:
        yield {}
        return
    for leaf, need in needs.items():
        for number in _outside(inputs[leaf], facts[leaf], need):
            others = {other: satisfying(inputs[other], facts[other], n) for other, n in needs.items() if other != leaf}
            yield {**others, leaf: one_element(inputs[leaf], facts[leaf], need, number)}
    yield from corners(inputs, facts)
    yield from far_away(inputs, facts, site)


def beside_none(inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need]) -> Iterator[dict[int, Any]]:
    """The first number of an array just outside its condition, all others negative if they may be.

    A negative number often stands for none: along parents that all are somewhere a walk may never end.
    """
    for leaf, need in needs.items():
        source, least = inputs[leaf], summarised(facts[leaf]).lo
        if dtype_info(source.aval.dtype).kind != "i" or source.open_below or least >= 0 or not is_small(source):
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


def extremes(inputs: Sequence[Input], facts: Sequence[Fact], needs: dict[int, Need]) -> Iterator[dict[int, Any]]:
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
            elif high and kinds[i] in "fiu" and source.open_below and is_small(source):
                grown[i] = ramp(source)
        yield chosen | grown
        if chosen and grown:
            yield chosen
    floats = [i for i, kind in enumerate(kinds) if kind == "f"]
    for number in (1, -1) if floats else ():
        yield {i: plain_value(inputs[i], facts[i], number) for i in floats}
    flags = [i for i, s in enumerate(inputs) if kinds[i] == "b" and s.aval.shape and is_free(s) and is_small(s)]
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
    yield from falling(inputs)
    unsigned = [i for i in free if kinds[i] == "u"]
    if unsigned:
        yield {i: plain_value(inputs[i], facts[i], summarised(facts[i]).hi) for i in unsigned}
    for i in [i for i in free if kinds[i] != "u"][:ALONE]:
        for number in (HUGE, -HUGE):
            yield {i: plain_value(inputs[i], facts[i], number)}


def in_turns(*kinds: Iterator[dict[int, Any]]) -> Iterator[dict[int, Any]]:
    """The first input of each kind, then the second of each, and so on."""
    left = list(kinds)
    while left:
        for kind in left.copy():
            one = next(kind, None)
            if one is None:
                left.remove(kind)
            else:
                yield one


def falling(inputs: Sequence[Input]) -> Iterator[dict[int, Any]]:
    """Arrays that nobody promised anything of, each number less than the one before."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    found = {i: ramp(s)[..., ::-1] for i, s in enumerate(inputs) if kinds[i] in "fiu" and is_free(s) and is_small(s)}
    if found:
        yield found


def apart(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Numbers as different as a contract allows, of what is promised."""
    promised = [i for i, source in enumerate(inputs) if _is_promised(source)]
    if promised:
        yield {i: _spread(inputs[i], facts[i]) for i in promised}


def _is_promised(source: Input) -> bool:
    kind = dtype_info(getattr(source.aval, "dtype", None)).kind
    return kind == "b" or (kind in "fiu" and not (source.open_above or source.open_below))


def at_random(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Numbers as different as a contract allows, then drawn from it, and random keys; the same at every check."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    promised = [i for i, source in enumerate(inputs) if _is_promised(source)]
    keys = [i for i, s in enumerate(inputs) if is_key(s.aval) or may_be_key(s)]
    # An integer of a narrow type is limited by that alone: what it leads to asks for a promise.
    free = [i for i, s in enumerate(inputs) if kinds[i] in "fi" and is_free(s) and s.aval.dtype.itemsize >= 4]
    yield from apart(inputs, facts)
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
    """Integers as far as their types go where nothing is promised; floats just below zero, and very large ones."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    for above in (True, False):
        far = [i for i, s in enumerate(inputs) if kinds[i] in "iu" and (s.open_above if above else s.open_below)]
        if far:
            ends = {i: summarised(facts[i]) for i in far}
            yield {i: plain_value(inputs[i], facts[i], end.hi if above else end.lo) for i, end in ends.items()}
    floats = [i for i, kind in enumerate(kinds) if kind == "f" and summarised(facts[i]).lo < 0]
    if floats:
        yield {i: plain_value(inputs[i], facts[i], BELOW) for i in floats}
    for number in (VAST, -VAST):
        open_ended = [i for i in floats if (inputs[i].open_above if number > 0 else inputs[i].open_below)]
        if open_ended:
            yield {i: plain_value(inputs[i], facts[i], number) for i in open_ended}


def by_turns(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Arrays of which each element differs from its neighbours, as many as there can be."""
    numbers = [i for i, s in enumerate(inputs) if dtype_info(getattr(s.aval, "dtype", None)).kind in "biuf"]
    arrays = [i for i in numbers if is_small(inputs[i])]
    for first in (1, 0) if arrays else ():
        yield {i: _alternating(inputs[i], facts[i], first) for i in arrays}


def evenly(inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Arrays of one number between the ends of a promise, as of one instruction; and of the least, one at its top."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    closed = [i for i, s in enumerate(inputs) if kinds[i] in "iu" and not (s.open_above or s.open_below)]
    arrays = [i for i in closed if is_small(inputs[i])]
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


def _spread(source: Input, fact: Fact) -> Any:
    """Growing numbers from the least on, over and over where the contract has fewer."""
    whole, shape = summarised(fact), source.aval.shape
    if type(whole.lo) is not int or type(whole.hi) is not int or not is_small(source):
        return plain_value(source, fact, whole.hi)
    return _above(whole.lo, np.arange(int(np.prod(shape))).reshape(shape) % min(whole.hi - whole.lo + 1, _FEW), source)


def _drawn(source: Input, fact: Fact, numbers: Any) -> Any:
    """Numbers from all of the contract; of a large array, one for all its elements."""
    whole, shape = summarised(fact), source.aval.shape if is_small(source) else ()
    if type(whole.lo) is int and type(whole.hi) is int:
        drawn = _above(whole.lo, numbers.integers(0, min(whole.hi - whole.lo, _FEW), shape, endpoint=True), source)
    elif math.isfinite(whole.lo) and math.isfinite(whole.hi):
        drawn = np.clip(numbers.uniform(0, 1, shape) * (whole.hi - whole.lo) + whole.lo, whole.lo, whole.hi)
    else:
        return plain_value(source, fact, numbers.normal())
    return np.broadcast_to(np.asarray(drawn).astype(source.aval.dtype), source.aval.shape)


def _above(least: int, by: Any, source: Input) -> Any:
    """So much above a number, in a type that holds the sum."""
    dtype = np.dtype(source.aval.dtype)
    if dtype == np.bool_:
        return (np.asarray(by) + least).astype(dtype)
    with np.errstate(over="ignore"):
        return np.asarray(by).astype(dtype) + np.asarray(least, dtype)


def _outside(source: Input, fact: Fact, need: Need) -> list[Any]:
    """Numbers beyond the ends of a condition: near ones, and of floats the nearest and some farther away."""
    known = summarised(fact)
    ends = [(x, True) for x in np.unique(need.hi).tolist()[:3] if x < FAR and known.hi > x]
    ends += [(x, False) for x in np.unique(need.lo).tolist()[:3] if x > -FAR and known.lo < x]
    numbers = [next_number(source, x, above) for x, above in ends]
    if dtype_info(source.aval.dtype).kind == "f":
        numbers += [_nearest_float(source, x, above) for x, above in ends]
        return numbers + [x + (1 if above else -1) * max(1, abs(x) / 8) for x, above in ends]
    return [n for n in numbers if known.lo <= n <= known.hi]


def satisfying(source: Input, fact: Fact, need: Need) -> Any:
    n = need.uniform()
    return plain_value(source, fact, min(max(0, n.lo), n.hi))


def one_element(source: Input, fact: Fact, need: Need, number: Any) -> Any:
    """The number at every place that the need is about, an innocent value elsewhere."""
    if np.ndim(need.lo) == 0 or np.ndim(need.lo) > len(source.aval.shape):
        return plain_value(source, fact, number)
    lo, hi = np.broadcast_to(need.lo, source.aval.shape), np.broadcast_to(need.hi, source.aval.shape)
    about = (number < lo) & (lo > -FAR) | (number > hi) & (hi < FAR)
    calm = np.clip(np.clip(0, lo, hi), fact.lo, fact.hi)
    return np.where(about, number, calm).astype(source.aval.dtype)
