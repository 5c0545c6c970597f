"""What the conditions of a `requires` say, and inputs that keep them or just break them."""

from __future__ import annotations

import dataclasses
import itertools
import random
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from tests.fuzz.generate import Argument, sample

TRIES = 40
"""How often inputs that keep all conditions are looked for."""

_SHIFTED = re.compile(r"([i-n])([+-]\d+)?")


@dataclasses.dataclass(frozen=True, slots=True)
class _Term:
    """One term of a sum: a factor, the input, and per dimension a number, (letter, shift) or None for any position."""

    factor: int
    leaf: int
    place: tuple[Any, ...]


def place_of(condition: Any) -> Any:
    """The part of the argument a condition is about, as an index; None where it does not say exactly."""
    if not condition.where:
        return ()
    try:
        return eval(f"np.s_{condition.where}", {"np": np})
    except SyntaxError:
        return None


def terms_of(condition: Any) -> list[_Term]:
    """The terms of a relation, read from what is shown to a user: `args[1][i+1, 2]`."""
    found = []
    for factor, text, leaf in condition.terms:
        rest = text.removeprefix(f"args[{leaf}]")
        parts = [p.strip() for p in rest[1:-1].split(",")] if rest else []
        found.append(_Term(factor, leaf, tuple(map(_position, parts))))
    return found


def _position(text: str) -> Any:
    if text == ":":
        return None
    letter = _SHIFTED.fullmatch(text)
    return int(text) if letter is None else (letter.group(1), int(letter.group(2) or 0))


def _sums(terms: Sequence[_Term], args: Sequence[Any]) -> Iterator[tuple[int, list[tuple[int, Any]]]]:
    """Every sum a relation speaks of, with the elements it is made of: each letter at each place it can have."""
    spans: dict[Any, list[int]] = {}
    for number, term in enumerate(terms):
        shape = np.shape(args[term.leaf])
        for d, at in enumerate(term.place):
            if at is None:
                spans[number, d] = [0, shape[d] - 1]
            elif type(at) is tuple:
                span = spans.setdefault(at[0], [0, 10**9])
                span[:] = max(span[0], -at[1]), min(span[1], shape[d] - 1 - at[1])
    names = list(spans)
    for chosen in itertools.product(*(range(lo, hi + 1) for lo, hi in spans.values())):
        value = dict(zip(names, chosen, strict=True))
        total, parts = 0, []
        for number, term in enumerate(terms):
            at = tuple(
                value[number, d] if p is None else value[p[0]] + p[1] if type(p) is tuple else p
                for d, p in enumerate(term.place)
            )
            total += term.factor * int(args[term.leaf][at])
            parts.append((term.leaf, at))
        yield total, parts


def _related(condition: Any, args: Sequence[Any]) -> bool:
    low = -(10**30) if condition.min is None else condition.min
    high = 10**30 if condition.max is None else condition.max
    return all(low <= total <= high for total, _ in _sums(terms_of(condition), args))


def satisfied(conditions: Sequence[Any], args: Sequence[Any]) -> bool:
    """Whether inputs are known to keep conditions."""
    for condition in conditions:
        if condition.terms:
            if not _related(condition, args):
                return False
            continue
        place = place_of(condition)
        if place is None:
            return False
        value = args[condition.leaf][place]
        above = condition.min is None or np.all(value >= condition.min)
        below = condition.max is None or np.all(value <= condition.max)
        if value.size and not (above and below):
            return False
    return True


def narrowed(arguments: Sequence[Argument], conditions: Sequence[Any]) -> list[Argument] | None:
    """The arguments with the ranges among conditions added to their contracts; None where nothing is left."""
    result = list(arguments)
    for condition in conditions:
        if condition.terms:
            continue
        if place_of(condition) is None:
            return None
        old = result[condition.leaf]
        floor, ceiling = ends(old)
        low = floor if condition.min is None else max(condition.min, floor)
        high = ceiling if condition.max is None else min(condition.max, ceiling)
        if low > high:
            return None
        result[condition.leaf] = dataclasses.replace(old, low=low, high=high, numbers=True)
    return result


def ends(argument: Argument) -> tuple[Any, Any]:
    """The least and greatest value of an argument."""
    low: Any
    high: Any
    dtype = np.dtype(argument.dtype)
    if dtype == np.bool_:
        low, high = 0, 1
    elif dtype.kind in "iu":
        low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
    else:
        low, high = -3e38, 3e38
    return low if argument.low is None else argument.low, high if argument.high is None else argument.high


def keeping(rng: random.Random, arguments: Sequence[Argument], conditions: Sequence[Any]) -> list[Any] | None:
    """Inputs that keep all conditions, often at their edge; None where none were found."""
    relations = [c for c in conditions if c.terms]
    for _ in range(TRIES if relations else 1):
        args = [sample(rng, a) for a in arguments]
        for _ in range(3):
            for relation in relations:
                _pull(rng, relation, arguments, args, 0)
        if not relations or satisfied(conditions, args):
            return args
    return None


def breaking(rng: random.Random, arguments: Sequence[Argument], relation: Any) -> list[Any] | None:
    """Inputs just outside a relation; None where none were found."""
    for _ in range(TRIES):
        args = [sample(rng, a) for a in arguments]
        _pull(rng, relation, arguments, args, 1)
        if not _related(relation, args):
            return args
    return None


def _pull(rng: random.Random, relation: Any, arguments: Sequence[Argument], args: list[Any], beyond: int) -> None:
    """Change elements until each sum is inside the relation (`beyond` 0) or one is just outside of it (1)."""
    low = -(10**30) if relation.min is None else relation.min
    high = 10**30 if relation.max is None else relation.max
    terms = terms_of(relation)
    for total, parts in list(_sums(terms, args)):
        if beyond or not low <= total <= high:
            goals = [g for g in (low - beyond, high + beyond) if abs(g) < 10**29]
            goal = rng.choice(goals) if beyond else (low if total < low else high)
            total = sum(t.factor * int(args[leaf][at]) for t, (leaf, at) in zip(terms, parts, strict=True))
            for k in rng.sample(range(len(parts)), len(parts)):
                leaf, at = parts[k]
                floor, ceiling = ends(arguments[leaf])
                old = int(args[leaf][at])
                wanted = old + -(-(goal - total) // terms[k].factor)
                new = min(max(wanted, floor), ceiling)
                args[leaf] = np.array(args[leaf])
                args[leaf][at] = new
                total += terms[k].factor * (new - old)
                if total == goal:
                    break
            if beyond:
                return


def just_outside(arguments: Sequence[Argument], inner: Sequence[Argument], access: Any) -> Iterator[tuple[int, int]]:
    """(leaf, value): the neighbours of each range that the contract still allows."""
    for condition in access.requires:
        if condition.terms:
            continue
        narrow, outer = inner[condition.leaf], arguments[condition.leaf]
        if np.dtype(outer.dtype).kind not in "biu":
            continue
        floor, ceiling = ends(outer)
        if narrow.low > floor:
            yield condition.leaf, int(narrow.low) - 1
        if narrow.high < ceiling:
            yield condition.leaf, int(narrow.high) + 1
