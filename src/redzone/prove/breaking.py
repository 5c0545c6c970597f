"""Inputs that break a condition, and those that are looked for where one is blamed on the program."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.domains import Fact, dtype_info, summarised
from redzone.frontend.trace import Input
from redzone.frontend.unwatched import unwatched
from redzone.prove.candidates import ALONE, extremes, just_outside, next_number, one_element, satisfying, worth_trying
from redzone.prove.masks import Thrown
from redzone.prove.need import FAR, Need, is_far
from redzone.prove.plain import filled, has_sizes, keeps, plain_value
from redzone.prove.purse import Purse
from redzone.prove.replay import Replay
from redzone.prove.witness import TRIES, witnesses
from redzone.report.model import Condition, Witness

#: How many ends of a condition on parts of an array are gone beyond.
ENDS: Final = 3


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
    candidates = itertools.chain(points, worth_trying(inputs, facts, needs, search, site))
    if tries is not None:
        candidates = itertools.chain(itertools.islice(candidates, tries), extremes(inputs, facts, needs))
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
        for one in (*plain, *points, *lively, *worth_trying(inputs, facts, needs, True, site))
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
    numbers = [next_number(inputs[leaf], end, above) for end in ends[:ENDS]]
    others = {i: satisfying(inputs[i], facts[i], n) for i, n in needs.items() if i != leaf}
    allowed = [number for number in numbers if whole.lo <= number <= whole.hi]
    return [{**others, leaf: one_element(inputs[leaf], facts[leaf], need, number)} for number in allowed]


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
    others = {i: satisfying(inputs[i], facts[i], n) for i, n in needs.items() if i not in values}
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
