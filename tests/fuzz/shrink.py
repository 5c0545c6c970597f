"""Make a failing program small: leave out every step that the failure does not need."""

from __future__ import annotations

import dataclasses

import jax

from tests.fuzz.check import Discarded, Outcome, examine
from tests.fuzz.generate import Program

ATTEMPTS = 80


def _alike(outcome: Outcome, wanted: Outcome) -> bool:
    a, b = outcome.failure, wanted.failure
    return a is not None and b is not None and (a.kind, a.primitive) == (b.kind, b.primitive)


def shrink(outcome: Outcome) -> Outcome:
    """How a smaller program fails in the same way; it is `.program` of what is returned."""
    left = ATTEMPTS
    again = True
    while again and left > 0:
        again = False
        for path in reversed(_steps(outcome.program)):
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


def _steps(program: Program) -> list[str]:
    taken: list[str] = []
    jax.make_jaxpr(program.function(taken))(*(a.struct() for a in program.arguments))
    return list(dict.fromkeys(taken))
