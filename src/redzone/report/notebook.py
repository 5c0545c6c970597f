"""A report below a notebook's cell: a piece of HTML without scripts, in the notebook's own colours."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

from redzone.report.codes import CODES
from redzone.report.excerpt import on_line
from redzone.report.marks import index_of
from redzone.report.model import Access, DimBounds, Location, Report, Verdict
from redzone.report.paths import shown_path
from redzone.report.place import Span
from redzone.report.rows import rows_of, short_aval
from redzone.report.run import Run
from redzone.report.sources import line_of

#: How many findings are told in full, and how many rows the table has: a notebook is saved with its output.
_TOLD, _ROWS = 8, 100
#: Where in the bar the buffer begins and ends, in percent.
_LEFT, _RIGHT = 20.0, 80.0


@dataclasses.dataclass(frozen=True, slots=True)
class Part:
    """A piece of a source line: plain (0), of the access (1), of its index (2)."""

    text: str
    kind: int


@dataclasses.dataclass(frozen=True, slots=True)
class Bar:
    """What an index can be, drawn against its buffer: (start, width, whether outside) in percent."""

    parts: tuple[tuple[float, float, bool], ...]
    text: str


def report_as_cell(report: Report) -> str:
    """The report as a piece of HTML: how it stands, what to look at, and a table of all accesses."""
    from redzone.report.html import environment, told, verdict_counts

    run = Run((report,))
    counts = verdict_counts(run)
    tone, headline, lede = told(run, counts)
    items = list(_items(report))
    rows = rows_of(report.accesses)
    text: str = (
        environment()
        .get_template("cell.html")
        .render(
            tone=tone,
            headline=headline,
            name=report.name,
            lede=lede.replace(" of 1 function", ""),
            counts=list(counts.items()),
            total=sum(counts.values()),
            tally=", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count),
            items=items[:_TOLD],
            left_out=max(0, len(items) - _TOLD),
            rows=[_row(row.access, row.count, row.pattern) for row in rows[:_ROWS]],
            rows_left_out=max(0, len(rows) - _ROWS),
            access_text="1 access" if len(report.accesses) == 1 else f"All {len(report.accesses):,} accesses",
        )
    )
    return text.encode("utf-8", "replace").decode("utf-8")


def _items(report: Report) -> Iterator[dict[str, Any]]:
    findings = [row for row in rows_of(report.accesses) if row.access.is_finding]
    for row in sorted(findings, key=lambda row: row.access.verdict is not Verdict.UNSAFE):
        access = row.access
        times = f" ×{row.count}" if row.count > 1 else ""
        details = [("witness", str(access.known_witness))] if access.known_witness is not None else []
        if access.loss is not None:
            details.append(("settle", access.loss.settle))
        yield {
            "verdict": str(access.verdict),
            "label": f"{access.verdict} {access.rule}{times}",
            "message": access.message,
            "place": _place(access.location),
            "source": _parts(access.location, report, index_of(access.location)),
            "bars": [bar_of(bounds, access.shape) for bounds in access.bounds],
            "details": details,
            "fix": "" if access.loss is not None else access.fix,
        }
    for cause in report.causes():
        yield _short("requires", "requires", str(cause), cause.fix)
    for lint in report.lints:
        name = f"{lint.code} {CODES[lint.code].name}" if lint.code in CODES else lint.code
        source = _parts(lint.location, report, lint.location.span)
        yield {**_short("warning", name, lint.message, lint.fix), "source": source, "place": _place(lint.location)}


def _short(verdict: str, label: str, message: str, fix: str) -> dict[str, Any]:
    nothing: dict[str, Any] = {"place": "", "source": (), "bars": (), "details": ()}
    return {**nothing, "verdict": verdict, "label": label, "message": message, "fix": fix}


def _row(access: Access, count: int, pattern: str) -> dict[str, str]:
    times = f" ×{count}" if count > 1 else ""
    return {
        "verdict": str(access.verdict),
        "place": _place(access.location),
        "access": f"{access.effect} {short_aval(access)} {access.primitive}{times}",
        "pattern": pattern,
    }


def _place(location: Location) -> str:
    if not location.file:
        return "<unknown>"
    # A cell's file has a name that says nothing to a person.
    is_cell = "ipykernel" in location.file or "ipython-input" in location.file
    return f"{'this notebook' if is_cell else shown_path(location.file)}, line {location.line}"


def _parts(location: Location, report: Report, index: Span | None) -> tuple[Part, ...]:
    """The source line cut into plain text, the access, and its index."""
    text = line_of(location, report)
    if not text:
        return ()
    whole, inner = on_line(location.span, location.line, text), on_line(index, location.line, text)
    indent = len(text) - len(text.lstrip())
    cuts = sorted({indent, len(text), *(whole or ()), *(inner or ())})
    parts = []
    for start, end in itertools.pairwise(cuts):
        kind = 2 if _within(inner, start, end) else 1 if _within(whole, start, end) else 0
        parts.append(Part(text[start:end], kind))
    return tuple(parts)


def _within(outer: tuple[int, int] | None, start: int, end: int) -> bool:
    return outer is not None and outer[0] <= start and end <= outer[1]


def bar_of(bounds: DimBounds, shape: tuple[Any, ...]) -> Bar:
    """The buffer takes the middle of the bar; what lies outside is drawn up to half the buffer's size away."""
    text = f"dimension {bounds.dim}: index {bounds.lo} … {bounds.hi}, may be {bounds.min} … {bounds.max}"
    size = shape[bounds.dim] if bounds.dim < len(shape) else 0
    numbers = (bounds.lo, bounds.hi, bounds.max, size)
    if all(type(n) is int for n in numbers) and size > 0:
        return Bar(_drawn(bounds.lo, bounds.hi + max(1, size - bounds.max), size), text)
    return Bar((), text)


def _drawn(first: int, last: int, size: int) -> tuple[tuple[float, float, bool], ...]:
    reach = max(3.0, size / 2)

    def at(value: int) -> float:
        if value < 0:
            return max(0.0, _LEFT - max(1.0, _LEFT * -value / reach))
        if value > size:
            return min(100.0, _RIGHT + max(1.0, _LEFT * (value - size) / reach))
        return _LEFT + (_RIGHT - _LEFT) * value / size

    parts = []
    if first < 0:
        parts.append((at(first), at(min(0, last)) - at(first), True))
    if last > 0 and first < size:
        parts.append((at(max(0, first)), at(min(size, last)) - at(max(0, first)), False))
    if last > size:
        start = at(max(size, first))
        parts.append((start, at(last) - start, True))
    return tuple((round(a, 2), round(max(b, 0.6), 2), out) for a, b, out in parts)
