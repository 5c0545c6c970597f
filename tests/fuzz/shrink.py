"""Make a failing program small: leave out every step that the failure does not need."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

from tests.fuzz.check import Discarded, Outcome, examine

ATTEMPTS = 80


def _alike(outcome: Outcome, wanted: Outcome) -> bool:
    a, b = outcome.failure, wanted.failure
    return a is not None and b is not None and (a.kind, a.primitive) == (b.kind, b.primitive)


def shrink(outcome: Outcome, examine: Callable[[Any], Outcome] = examine) -> Outcome:
    """How a smaller program fails in the same way; it is `.program` of what is returned."""
    left = ATTEMPTS
    again = True
    while again and left > 0:
        again = False
        for path in reversed(outcome.program.steps()):
            if left <= 0:
                break
            left -= 1
            smaller = dataclasses.replace(outcome.program, skip=outcome.program.skip | {path})
            try:
                tried = examine(smaller)
            except Discarded:
                continue
            if _alike(tried, outcome):
                outcome, again = tried, True
    return outcome
