"""What a random draw does once in a while: as many keys are tried as it takes to meet what is that rare.

A draw among 42 places leaves a table of 41 once in 42 times. How rarely an index leaves is guessed from its bounds: all
that it can be, against what of it lies outside.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Site, column_of
from redzone.domains import Fact
from redzone.engine import Seen
from redzone.frontend.trace import Input
from redzone.prove.candidates import DRAWS
from redzone.prove.concrete_random import is_key
from redzone.prove.plain import may_be_key, random_key

#: How many indices are looked at for each time that one should leave; how many keys are tried at least and at most.
FOR_ONE: Final = 5
FEWEST: Final = 8
KEYS: Final = 400
#: With how many other inputs in turn.
OTHERS: Final = 8


def keys_among(inputs: Sequence[Input]) -> frozenset[int]:
    """The inputs that are random keys, or may be one of the old kind, by their place."""
    return frozenset(i for i, s in enumerate(inputs) if is_key(s.aval) or may_be_key(s))


def keys_worth_trying(site: Site, seen: Sequence[Seen]) -> int:
    """How many keys should show an access leave its array, if chance alone takes it there; 0 where that is too many."""
    often = 0.0
    for one in seen:
        for column, fact in zip(site.columns, one.facts, strict=True):
            lo, hi = column_of(fact, column.column)
            if type(lo) is np.ndarray:
                lo, hi = lo.min().item(), hi.max().item()
            if type(lo) is int and type(hi) is int and type(column.limit) is int:
                outside = max(0, hi - column.limit) + max(0, -lo)
                often = max(often, min(outside / (hi - lo + 1), 1.0))
    wanted = FOR_ONE / often if often else KEYS + 1
    return max(int(wanted), DRAWS) if wanted <= KEYS else 0


def by_chance(
    inputs: Sequence[Input], facts: Sequence[Fact], others: Iterable[dict[int, Any]], count: int
) -> Iterator[dict[int, Any]]:
    """So many random keys, by turns with other inputs plain and as given; the same at every check."""
    return keyed_in_turn(inputs, [{}, *others], count)


def keyed_in_turn(inputs: Sequence[Input], turns: Sequence[dict[int, Any]], count: int) -> Iterator[dict[int, Any]]:
    """So many random keys, by turns with these other inputs; the same at every check."""
    keys = keys_among(inputs)
    for n in range(count if turns else 0):
        chosen = dict(turns[n % len(turns)])
        for i in keys:
            aval = inputs[i].aval
            seed = DRAWS + n
            pair = np.array([0, seed], np.uint32)
            chosen[i] = random_key(aval, seed) if is_key(aval) else np.broadcast_to(pair, aval.shape)
        yield chosen
