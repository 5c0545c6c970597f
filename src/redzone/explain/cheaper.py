"""What would make a check cheaper: the promise, the loop or the package that would spare its costliest parts."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from redzone.explain.words import counted
from redzone.report.model import Access, Location, Report, Verdict
from redzone.report.paths import shown_path

if TYPE_CHECKING:
    from redzone.explain.own import AccessCost, Explanation
    from redzone.frontend.trace import Traced

#: What is not worth a word: a part of the check's time, and seconds.
LITTLE = 0.05
SHORT = 2e-4
#: Rounds of a loop, and copies of an equation on one line, from which on it is worth a word.
ROUNDS = 8
COPIES = 24


@dataclasses.dataclass(frozen=True, slots=True)
class Cheaper:
    """One thing to change, and the time it would spare at most."""

    advice: str
    seconds: float


def cheaper(explained: Explanation, report: Report, traced: Traced) -> tuple[Cheaper, ...]:
    """What would spare the most, the most first."""
    found = [*_promises(explained, report), *_loops(explained), *_unrolled(explained), *_z3(explained)]
    worth = [one for one in found if one.seconds >= SHORT and one.seconds >= LITTLE * explained.seconds]
    worth.sort(key=lambda one: -one.seconds)
    return tuple(worth)


def _late(cost: AccessCost) -> float:
    """What an access took after its facts were known: that is spared where they decide it."""
    return sum(
        seconds for stage, seconds in cost.stages.items() if stage in ("exact", "conditions", "witness", "masks")
    )


def _promises(explained: Explanation, report: Report) -> Iterator[Cheaper]:
    costs = {id(cost.access): cost for cost in explained.accesses}
    for cause in report.causes():
        spared = sum(_late(costs[id(access)]) for access in cause.accesses if id(access) in costs)
        yield Cheaper(f"{cause.fix} Then {_many(len(cause.accesses))} decided by bounds alone.", spared)
    for cost in explained.accesses:
        access = cost.access
        if access.verdict is not Verdict.UNKNOWN or access.loss is None:
            continue
        place = f"{shown_path(access.location.file)}:{access.location.line}" if access.location.file else "the access"
        yield Cheaper(
            f"Before {place}: {access.loss.settle}. Then its condition need not be searched for.", _late(cost)
        )


def _many(number: int) -> str:
    return "the access is" if number == 1 else f"its {number} accesses are"


def _loops(explained: Explanation) -> Iterator[Cheaper]:
    inside = explained.record.loop_seconds()
    for loop in explained.record.loops.values():
        if loop.rounds < ROUNDS or loop.eqn.primitive.name != "while":
            continue
        # One round is needed in any case.
        spared = inside.get(id(loop.eqn), 0.0) * (loop.rounds - 1) / loop.rounds
        yield Cheaper(
            f"{explained.places.named(loop.eqn).capitalize()} took {counted(loop.rounds, 'round')} until nothing "
            "changed any more: a counter that moves by a constant (lax.fori_loop, lax.scan) is known at once, and "
            "redzone.assume(value, min=, max=) in the body stops a value that creeps.",
            spared,
        )


def _unrolled(explained: Explanation) -> Iterator[Cheaper]:
    """Lines that a Python loop repeats: their own time, and their part of what is done once for every equation."""
    own = {(r.location.file, r.location.line): r.seconds for r in explained.lines if r.location is not None}
    everywhere = sum(row.seconds for row in explained.stages if row.name in ("walk", "slice"))
    groups: dict[Any, list[tuple[Location, float]]] = {}
    for place, count, part in explained.places.repeated():
        if count >= COPIES:
            spent = own.get((place.file, place.line), 0.0) + part * everywhere
            groups.setdefault((place.file, place.function, count), []).append((place, spent))
    for (file, _, count), found in groups.items():
        lines = sorted({place.line for place, _ in found})
        span = f"{shown_path(file)}:{lines[0]}" + (f"–{lines[-1]}" if len(lines) > 1 else "")
        yield Cheaper(
            f"{span} stands in the program {count} times, as a Python loop leaves it: lax.scan or lax.fori_loop would "
            "make it one body, for redzone and for JAX.",
            sum(spent for _, spent in found) * (count - 1) / count,
        )


def _z3(explained: Explanation) -> Iterator[Cheaper]:
    missed = [cost for cost in explained.accesses if id(cost.access.eqn) in explained.record.deciding.for_z3]
    if missed:
        yield Cheaper(
            f"z3 is not installed and might decide {counted(len(missed), 'access', 'accesses')} at once, for which "
            "conditions and inputs are searched now: pip install 'redzone[z3]'.",
            sum(map(_late, missed)),
        )
    for cost in explained.accesses:
        asked = [q for q in explained.record.questions if q.what == "z3" and id(cost.access.eqn) in q.accesses]
        if not asked or cost in missed:
            continue
        bounds = next((one for one in cost.access.bounds if not one.inside), None)
        promise = f"redzone.assume(index, min=0, max={bounds.max})" if bounds else "redzone.assume(index, min=, max=)"
        answer = "" if all(q.result is not None for q in asked) else ", in part without an answer"
        yield Cheaper(
            f"z3 was asked {counted(len(asked), 'time')} about the access at {_place(cost.access)}{answer}: {promise} "
            "before it decides it by bounds alone, and so may a range for the operands of its products or bits.",
            sum(q.seconds for q in asked),
        )


def _place(access: Access) -> str:
    return f"{shown_path(access.location.file)}:{access.location.line}" if access.location.file else "an unknown line"
