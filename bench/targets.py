"""The promises about speed, and whether a run kept them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from record import Record

CORPUS_RATIO = 0.03
MICROSECONDS_PER_EQUATION = 10.0
SLOPE = 1.2
FLAT = 1.25
"""Nothing may grow with array size; this much is the clock's own noise."""

SMALLEST, LARGEST = "example/nested_unrolled_10x10", "example/nested_unrolled_100x100"
Series = Mapping[str, Sequence[Mapping[str, Any]]]


@dataclass(frozen=True, slots=True)
class Target:
    """One promise, what was measured, and whether it held (None: not measured in this run)."""

    promise: str
    measured: str
    held: bool | None


def targets(records: Sequence[Record], series: Series) -> list[Target]:
    """Every promise against this run, the corpus-wide ones first."""
    return [
        corpus_target(records),
        each_program_target(records),
        *unrolled_targets({r.name: r for r in records}),
        *(nesting_target(name, points) for name, points in series.items() if name != "array size"),
        *(size_target(points) for name, points in series.items() if name == "array size"),
    ]


def corpus_target(records: Sequence[Record]) -> Target:
    promise = f"all programs together: redzone ≤ {CORPUS_RATIO:.0%} of tracing"
    ratio = total_ratio(records)
    return Target(promise, "" if ratio is None else f"{ratio:.2%}", None if ratio is None else ratio <= CORPUS_RATIO)


def total_ratio(records: Sequence[Record], against: str = "trace") -> float | None:
    """redzone's seconds over the seconds of `against`, summed over the programs that have both."""
    both = [(r.check, getattr(r, against)) for r in records if r.check is not None and getattr(r, against)]
    whole = sum(tracing for _, tracing in both)
    return sum(check for check, _ in both) / whole if whole else None


def each_program_target(records: Sequence[Record]) -> Target:
    promise = "each program: redzone ≤ max(10 ms, 10 % of its tracing)"
    judged = [r for r in records if r.is_within_limit is not None]
    over = [r for r in judged if not r.is_within_limit]
    if not judged:
        return Target(promise, "", None)
    return Target(promise, f"{len(judged) - len(over)} of {len(judged)}", not over)


def unrolled_targets(by_name: Mapping[str, Record]) -> list[Target]:
    small, large = by_name.get(SMALLEST), by_name.get(LARGEST)
    cost_small = small.microseconds_per_equation if small else None
    cost_large = large.microseconds_per_equation if large else None
    per_equation = Target(
        f"unrolled 100×100: ≤ {MICROSECONDS_PER_EQUATION:.0f} µs per equation",
        "" if cost_large is None else f"{cost_large:.2f} µs",
        None if cost_large is None else cost_large <= MICROSECONDS_PER_EQUATION,
    )
    slope = cost_large / cost_small if cost_large is not None and cost_small else None
    linear = Target(
        f"unrolled 10×10 → 100×100: time per equation within {SLOPE}×",
        "" if slope is None else f"{slope:.2f}× (bare walk {_walk_slope(small, large)})",
        None if slope is None else slope <= SLOPE,
    )
    return [per_equation, linear]


def _walk_slope(small: Record | None, large: Record | None) -> str:
    """How much a walk that does nothing slows down: the memory's share in redzone's slope."""
    if not small or not large or not small.walk or not large.walk or not small.equations or not large.equations:
        return "not measured"
    return f"{large.walk / large.equations / (small.walk / small.equations):.2f}×"


def nesting_target(name: str, points: Sequence[Mapping[str, Any]]) -> Target:
    """A loop around the others may not cost more at depth six than at depth three."""
    cost = {p["parameter"]: p["check"] / p["parameter"] for p in points if p.get("check")}
    growth = cost[6] / cost[3] if 3 in cost and 6 in cost else None
    return Target(
        f"{name}, nested 3 → 6 deep: time per loop within {SLOPE}×",
        "" if growth is None else f"{growth:.2f}×",
        None if growth is None else growth <= SLOPE,
    )


def size_target(points: Sequence[Mapping[str, Any]]) -> Target:
    first, *larger = [p["check"] for p in points] or [None]
    spread = max(larger) / first if first and larger else None
    return Target(
        f"arrays of 10³ → 10¹² elements: the same time (within {FLAT}×)",
        "" if spread is None else f"{spread:.2f}×",
        None if spread is None else spread <= FLAT,
    )
