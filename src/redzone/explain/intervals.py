"""Lengths of time that overlap: how long at least one of them lasted."""

from __future__ import annotations

from collections.abc import Iterable


def merged(spans: Iterable[tuple[float, float]]) -> list[tuple[float, float]]:
    """The same stretches of time with overlapping ones joined, in order."""
    result: list[tuple[float, float]] = []
    for start, end in sorted(spans):
        if result and start <= result[-1][1]:
            result[-1] = (result[-1][0], max(result[-1][1], end))
        else:
            result.append((start, end))
    return result


def covered(spans: Iterable[tuple[float, float]]) -> float:
    """For how long at least one of them lasted."""
    return sum(end - start for start, end in merged(spans))


def within(spans: Iterable[tuple[float, float]], start: float, end: float) -> list[tuple[float, float]]:
    """The parts of them that lie inside a window."""
    return [(max(a, start), min(b, end)) for a, b in spans if b > start and a < end]
