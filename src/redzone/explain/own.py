"""Where the time of a check went: it is run again, recorded, and every moment of it is put to something."""

from __future__ import annotations

import dataclasses
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from redzone.explain.cheaper import Cheaper, cheaper
from redzone.explain.compiling import JaxTime, jax_time
from redzone.explain.places import Places
from redzone.explain.recording import Loop, Piece, Recording
from redzone.explain.shares import Shares
from redzone.frontend.trace import Traced
from redzone.report.model import Access, Location, Report
from redzone.stages import recording

#: In the order they are run.
STAGES = ("walk", "slice", "facts", "masks", "exact", "conditions", "witness", "other")
#: How many accesses are told one by one, and how many may share a moment for it to be divided among them.
COSTLIEST = 10
TOGETHER = 64
#: How often a short check is recorded, and from how many seconds on once is enough.
TRIES = 5
LONG = 0.2


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """A part of the check's time under one name."""

    name: str
    seconds: float
    count: int = 0
    """How many equations or calls it stands for."""
    location: Location | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class AccessCost:
    """What one access took, by stage, and why."""

    access: Access
    seconds: float
    stages: Mapping[str, float]
    why: tuple[str, ...]


@dataclasses.dataclass(slots=True)
class Explanation:
    """Where one check's time went; every table adds up to `seconds`, with a row for what belongs nowhere else."""

    name: str
    seconds: float
    """The check that is broken down: run again and recorded, without what the recording took."""
    check_seconds: float
    """The check whose report this explains."""
    again_seconds: float
    """The check run again and not recorded: what the first took beyond it went into first uses."""
    stages: tuple[Row, ...]
    lines: tuple[Row, ...]
    primitives: tuple[Row, ...]
    accesses: tuple[AccessCost, ...]
    """The costliest first."""
    shared_seconds: float
    """What was for no single access: walking, slicing, and what many accesses needed together."""
    loops: tuple[Row, ...]
    """Each loop with its rounds as `count`; their time is that of everything inside them, already in the tables."""
    advice: tuple[Cheaper, ...]
    jax: JaxTime | None
    record: Recording = dataclasses.field(repr=False)
    places: Places = dataclasses.field(repr=False)

    @property
    def sentence(self) -> str:
        """The answer in one sentence."""
        from redzone.explain.own_text import sentence

        return sentence(self)

    def to_json(self) -> dict[str, Any]:
        """Everything as plain values; times in seconds."""
        from redzone.explain.own_text import explanation_as_json

        return explanation_as_json(self)

    def to_trace(self) -> dict[str, Any]:
        """The check as a trace that Perfetto and chrome://tracing open."""
        from redzone.explain.trace_file import trace_of

        return trace_of([self])

    def write_trace(self, file: str | Path) -> None:
        """Write that trace; a name that ends in .gz is compressed."""
        from redzone.explain.trace_file import write

        write([self], Path(file))

    def __str__(self) -> str:
        from redzone.explain.own_text import explanation_as_text

        return explanation_as_text(self)


def explanation_of(
    report: Report, traced: Traced, check: Callable[[Traced], Report], *, compare: bool, limit: float
) -> Explanation:
    """Run a check again, recorded, and say where its time went; with `compare`, JAX's own time beside it."""
    jax = jax_time(traced, limit) if compare else None
    again, records = float("inf"), []
    for _ in range(TRIES):
        started = time.perf_counter()
        check(traced)
        again = min(again, time.perf_counter() - started)
        record = Recording()
        with recording(record):
            check(traced)
        records.append(record)
        if again > LONG:
            break
    best = min(records, key=lambda one: one.seconds)
    best.calmed(records)
    return _explained(report, traced, best, again, jax)


def _explained(report: Report, traced: Traced, record: Recording, again: float, jax: JaxTime | None) -> Explanation:
    places = Places(traced.jaxpr, report.accesses)
    pieces = list(record.pieces.values())
    accesses, shared = _accesses(report, record, pieces, places)
    first = sum(seconds for stage, seconds in report.timings.items() if stage != "trace")
    inside = record.loop_seconds()
    loops = [
        Row(places.named(one.eqn), inside.get(key, 0.0), one.rounds, places.of(one.eqn))
        for key, one in record.loops.items()
    ]
    result = Explanation(
        name=report.name,
        seconds=record.seconds,
        check_seconds=first,
        again_seconds=again,
        stages=_stages(pieces),
        lines=_lines(pieces, places),
        primitives=_primitives(pieces),
        accesses=accesses,
        shared_seconds=shared,
        loops=tuple(sorted(loops, key=lambda row: -row.count)),
        advice=(),
        jax=jax,
        record=record,
        places=places,
    )
    result.advice = cheaper(result, report, traced)
    return result


def _stages(pieces: Sequence[Piece]) -> tuple[Row, ...]:
    seconds: dict[str, float] = defaultdict(float)
    for piece in pieces:
        seconds[piece.stage] += piece.seconds
    names = [*STAGES[:-1], *(name for name in seconds if name not in STAGES), "other"]
    return tuple(Row(name, seconds[name]) for name in names if name in seconds)


def _primitives(pieces: Sequence[Piece]) -> tuple[Row, ...]:
    """By what the time was spent on: the primitive of an equation, or the work that is tied to none."""
    seconds: dict[str, float] = defaultdict(float)
    count: dict[str, int] = defaultdict(int)
    for piece in pieces:
        name = piece.eqn.primitive.name if piece.eqn is not None else f"({piece.what})"
        if name.startswith("(check "):
            name = "(other)"
        seconds[name] += piece.seconds
        count[name] += piece.count
    return tuple(sorted((Row(n, s, count[n]) for n, s in seconds.items()), key=lambda row: -row.seconds))


def _lines(pieces: Sequence[Piece], places: Places) -> tuple[Row, ...]:
    """By the source line that an equation or an access comes from."""
    seconds: dict[Any, float] = defaultdict(float)
    count: dict[Any, int] = defaultdict(int)
    where: dict[Any, Location] = {}
    for piece in pieces:
        if piece.eqn is not None:
            place = places.of(piece.eqn)
        elif len(piece.accesses) == 1:
            place = places.of_access(piece.accesses[0])
        else:
            place = None
        if place is not None and place.file:
            key: Any = (place.file, place.line)
            where.setdefault(key, place)
        elif piece.eqn is not None:
            key = "(equations without a line)"
        elif piece.accesses:
            key = "(several accesses together)"
        else:
            key = {"walk": "(walk: every equation once)", "slice": "(slice: every equation once)"}.get(
                piece.stage, f"({piece.stage})"
            )
        seconds[key] += piece.seconds
        count[key] += piece.count if piece.eqn is not None else 0
    rows = [
        Row(key if isinstance(key, str) else str(where[key]), s, count[key], where.get(key))
        for key, s in seconds.items()
    ]
    return tuple(sorted(rows, key=lambda row: -row.seconds))


def _accesses(
    report: Report, record: Recording, pieces: Sequence[Piece], places: Places
) -> tuple[tuple[AccessCost, ...], float]:
    """What each access took, and what cannot be put to a single one."""
    shares = Shares(record.deciding.analysis.program)
    known = {id(access.eqn): access for access in report.accesses}
    costs: dict[int, dict[str, float]] = {key: defaultdict(float) for key in known}
    shared = 0.0
    for piece in pieces:
        mine = [key for key in piece.accesses if key in known]
        if not mine and piece.eqn is not None and 0 < shares.count(piece.eqn) <= TOGETHER:
            mine = [key for key in shares.of(piece.eqn) if key in known]
        if not mine or len(mine) > TOGETHER:
            shared += piece.seconds
            continue
        for key in mine:
            costs[key][piece.stage] += piece.seconds / len(mine)
    loops: dict[int, list[Loop]] = defaultdict(list)
    for loop in record.loops.values():
        for key in shares.of(loop.eqn) if shares.count(loop.eqn) <= TOGETHER else ():
            loops[key].append(loop)
    found = [
        AccessCost(known[key], sum(stages.values()), dict(stages), _why(key, record, loops[key], places))
        for key, stages in costs.items()
    ]
    found.sort(key=lambda cost: -cost.seconds)
    return tuple(found), shared


def _why(key: int, record: Recording, loops: Sequence[Loop], places: Places) -> tuple[str, ...]:
    """What was done for an access beyond one look at its equations."""
    from redzone.explain.words import counted, seconds_as_text

    why = []
    for loop in sorted(loops, key=lambda one: -one.rounds)[:2]:
        if loop.rounds > 1:
            why.append(f"{places.named(loop.eqn)} took {counted(loop.rounds, 'round')}")
    means = {
        "validate": ("forward run to try a condition", "forward runs to try conditions"),
        "isl": ("question to isl", "questions to isl"),
        "z3": ("question to z3", "questions to z3"),
        "replay": ("replay on concrete inputs", "replays on concrete inputs"),
    }
    for what, (one, many) in means.items():
        asked = [q for q in record.questions if q.what == what and key in q.accesses]
        if asked:
            told = f"{counted(len(asked), one, many)}, {seconds_as_text(sum(q.seconds for q in asked))}"
            others = len({k for q in asked for k in q.accesses}) - 1
            if others and what in ("validate", "replay"):
                told += f", together with {counted(others, 'other')}"
            subject = _subject(asked[0]) if what in ("isl", "z3") else ""
            why.append(f"{told}{subject}")
    return tuple(why)


def _subject(question: Any) -> str:
    """What isl or z3 was asked about: the inequalities of the first region."""
    region = question.subject[0] if question.what == "isl" else question.subject[2]
    guards = [str(guard).replace("+ -", "- ") for guard in region.guards[:3]]
    more = " and …" if len(region.guards) > 3 else ""
    return f" about {' and '.join(f'{g} ≥ 0' for g in guards)}{more}" if guards else ""
