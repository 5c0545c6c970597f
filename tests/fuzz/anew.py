"""Running a program again against running it anew: the facts at every access must be the same.

A loop is run until its carries come to rest, and each run takes over what its changed inputs do not reach. What is
taken over wrongly is a fact that no longer holds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import redzone.engine
from redzone.engine.forward import Runner
from tests.fuzz import fitted, generate, nests
from tests.fuzz.check import traced


class Anew(Runner):
    """Takes nothing over from an earlier run."""

    def run(self, program: Any, *args: Any, **kwargs: Any) -> list[Any]:
        program.last = None
        return super().run(program, *args, **kwargs)


def facts_at_accesses(closed: Any, facts: list[Any], runner: Any) -> dict[int, list[Any]]:
    """By identity of the equation, what is known of the index each time an access is reached."""
    plain, redzone.engine.Runner = redzone.engine.Runner, runner  # type: ignore[misc]
    try:
        seen = redzone.engine.analyse(closed, facts).seen
    finally:
        redzone.engine.Runner = plain  # type: ignore[misc]
    return {key: [[fact.key() for fact in one.facts] for one in found] for key, found in seen.items()}


def differs(closed: Any, facts: list[Any]) -> bool:
    """Whether running again yields other facts than running anew."""
    return facts_at_accesses(closed, facts, Runner) != facts_at_accesses(closed, facts, Anew)


def programs(first: int, count: int) -> Iterator[tuple[int, Any]]:
    """Random programs of every kind, by their seeds."""
    for seed in range(first, first + count):
        make = (lambda seed: generate.make(seed, False), nests.make, fitted.make)[seed % 3]
        try:
            yield seed, make(seed)
        except Exception:  # JAX objects to it
            continue


def failures(first: int, count: int) -> tuple[int, list[int]]:
    """How many programs were looked at, and the seeds of those that differ."""
    looked_at, found = 0, []
    for seed, program in programs(first, count):
        try:
            closed = program.trace()
        except Exception:  # JAX objects to it
            continue
        looked_at += 1
        if differs(closed, [source.fact() for source in traced(closed, program.arguments).inputs]):
            found.append(seed)
    return looked_at, found
