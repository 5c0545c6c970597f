"""A report for people: one table, then a compiler-style excerpt for each access that is not safe."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Iterator, Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from redzone.report.excerpt import Excerpt, Label, array_on_line, on_line
from redzone.report.marks import index_of
from redzone.report.model import Access, Cause, DimBounds, Lint, Location, Loss, Report, Suppression, Verdict
from redzone.report.paths import shown_path
from redzone.report.rows import Row, places_of, rows_of, short_aval
from redzone.report.run import Run
from redzone.report.sources import line_of
from redzone.report.suppress import complaint, unused

_STYLE = {
    Verdict.SAFE: "green",
    Verdict.MASKED: "cyan",
    Verdict.DECLARED: "cyan",
    Verdict.REQUIRES: "yellow",
    Verdict.UNSAFE: "bold red",
    Verdict.UNKNOWN: "bold magenta",
}
_ORDER = (Verdict.UNSAFE, Verdict.UNKNOWN, Verdict.REQUIRES, Verdict.DECLARED, Verdict.MASKED, Verdict.SAFE)
# A table is read by a person: past this many rows the safe ones are only counted.
_ROWS = 60
# A longer path would leave no room for what happens there.
_NEAR = 32


def report_as_text(report: Report, width: int = 80, witnesses: bool = False) -> str:
    """The report as plain text, without colour and without trailing spaces."""
    return as_plain(rendered(report, witnesses), width)


def run_as_text(run: Run) -> str:
    """All reports as plain text, with what could not be checked and how many findings there are."""
    parts = [
        report_as_text(dataclasses.replace(report, suppressions=()), witnesses=run.witnesses) for report in run.reports
    ]
    if run.unused_comments():
        parts.append(as_plain(rendered_unused(run.unused_comments())))
    parts += [
        f"{failed.name}: could not be checked\n  {failed.reason.replace(chr(10), chr(10) + '  ')}"
        for failed in run.failures
    ]
    if summary_of(run):
        parts.append(summary_of(run))
    return "\n\n".join(parts)


def summary_of(run: Run) -> str:
    """How many were checked and what was found, where there is more than one thing to sum up."""
    if len(run.reports) + len(run.failures) <= 1:
        return ""
    findings = sum(len(report.findings) for report in run.reports)
    parts = [f"{len(run.reports)} checked", f"{findings} findings"]
    if run.failures:
        parts.append(f"{len(run.failures)} could not be checked")
    return ", ".join(parts)


def as_plain(content: RenderableType, width: int = 80) -> str:
    """What a terminal of that width would show, as plain text."""
    page = io.StringIO()
    console = Console(file=page, width=width, color_system=None, force_terminal=False, force_jupyter=False)
    console.print(content, markup=False, highlight=False, emoji=False)
    return "\n".join(line.rstrip() for line in page.getvalue().splitlines())


def rendered(report: Report, witnesses: bool = False) -> Group:
    """The report for a rich console; with `witnesses`, each condition comes with an input that breaks it."""
    rows = rows_of(report.accesses)
    parts: list[RenderableType] = [_title(report)]
    if rows:
        parts += [Text(), _table(_shown(rows))]
    left_out = len(rows) - len(_shown(rows))
    if left_out:
        parts.append(Text(f"… and {left_out} more rows, all safe", style="dim"))
    for row in rows:
        if row.access.verdict not in (Verdict.SAFE, Verdict.REQUIRES) and not row.access.suppressed:
            parts += [Text(), *_excerpt(row, report)]
    for cause in report.causes():
        parts += [Text(), *_cause(cause, witnesses)]
    for lint in report.lints:
        parts += [Text(), *_lint(lint, report)]
    parts += [Text(), *_summary(report)]
    return Group(*parts)


def excerpt_as_text(row: Row, report: Report, width: int = 80) -> str:
    """What is told of one access, as plain text."""
    return as_plain(Group(*_excerpt(row, report)), width)


def rendered_unused(suppressions: Sequence[Suppression]) -> Group:
    """The comments that silence nothing, for a rich console."""
    return Group(*(_unused(suppression) for suppression in suppressions))


def _title(report: Report) -> Text:
    accesses = _count(len(report.accesses), "access", "accesses")
    equations = _count(report.equations, "equation", "equations")
    return Text.assemble((report.name, "bold"), f": {accesses} in {equations}")


def _table(rows: Iterable[Row]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, show_edge=False, padding=(0, 1, 0, 0))
    for heading in ("verdict", "where", "access"):
        table.add_column(heading, overflow="fold")
    table.add_column("pattern", overflow="fold", ratio=1)
    for row in rows:
        access = row.access
        verdict = Text(str(access.verdict), style=_STYLE[access.verdict])
        if access.suppressed:
            verdict.append("\n(ignored)", style="dim")
        place = Text(access.location.file.rpartition("/")[2] or "<unknown>")
        if access.location.file:
            place.append(f":{access.location.line}")
        kind = Text(f"{access.effect} {short_aval(access)}\n{access.primitive}")
        if row.count > 1:
            kind.append(f" ×{row.count}", style="bold")
        table.add_row(verdict, place, kind, row.pattern)
    return table


def _shown(rows: Sequence[Row]) -> Sequence[Row]:
    if len(rows) <= _ROWS:
        return rows
    room = _ROWS - sum(row.access.verdict is not Verdict.SAFE for row in rows)
    shown = []
    for row in rows:
        if row.access.verdict is Verdict.SAFE:
            room -= 1
            if room < 0:
                continue
        shown.append(row)
    return shown


def _excerpt(row: Row, report: Report) -> Iterator[RenderableType]:
    access = row.access
    heading = Text.assemble(
        (f"{access.verdict}[{access.rule}]" if access.rule else str(access.verdict), _STYLE[access.verdict]),
        (f": {access.message}", "bold"),
    )
    if row.count > 1:
        heading.append(f" (×{row.count})")
    yield heading
    gutter = len(str(access.location.line))
    labels = _labels(access, report)
    yield from _source_lines(access.location, report, labels)
    details = _labelled()
    for label, text in _details(access, bool(labels)):
        details.add_row(Text(f"{' ' * gutter} = {label}:", style="blue"), Text(text))
    yield details


def _lint(lint: Lint, report: Report) -> Iterator[RenderableType]:
    yield Text.assemble((f"warning[{lint.code}]", "yellow"), (f": {lint.message}", "bold"))
    part = on_line(lint.location.span, lint.location.line, line_of(lint.location, report))
    labels = [Label(*part, "", "yellow")] if part is not None else []
    yield from _source_lines(lint.location, report, labels)
    details = _labelled()
    details.add_row(Text(f"{' ' * len(str(lint.location.line))} = fix:", style="blue"), Text(lint.fix))
    yield details


def _source_lines(location: Location, report: Report, labels: Sequence[Label] = ()) -> Iterator[RenderableType]:
    if location.file:
        gutter = " " * len(str(location.line))
        inside = f" in {location.function}" if location.function else ""
        yield Text(f"{gutter}--> {shown_path(location.file)}:{location.line}{inside}", style="blue")
        if location.text:
            yield Excerpt(location.line, line_of(location, report), tuple(labels))


def _labels(access: Access, report: Report) -> list[Label]:
    """What to write under the index and under the array, where it is known which part of the line they are."""
    place, line = access.location, line_of(access.location, report)
    index = index_of(place)
    part = on_line(index, place.line, line)
    marked = part or on_line(place.span, place.line, line)
    if marked is None:
        return []
    worst = next((b for b in access.bounds if not b.inside), next(iter(access.bounds), None))
    text = "" if worst is None else _can_be(worst, len(access.bounds) > 1)
    labels = [Label(*marked, text, _STYLE[access.verdict])]
    array = array_on_line(place, index, place.line, line)
    if part is not None and array is not None:
        labels.insert(0, Label(*array, short_aval(access), "blue", "-"))
    return labels


def _cause(cause: Cause, witnesses: bool) -> Iterator[RenderableType]:
    """What an input must keep, in one line, and the accesses that depend on it below."""
    yield Text.assemble(("requires ", _STYLE[Verdict.REQUIRES]), (str(cause), "bold"))
    told = {condition: [a for a in cause.accesses if condition in a.requires] for condition in cause.conditions}
    for condition, accesses in told.items():
        margin = "  "
        if len(told) > 1:
            yield Text(f"  {condition}:")
            margin = "    "
        yield from _places(accesses, margin)
    details = _labelled()
    if witnesses:
        witness = cause.witness
        details.add_row(Text("  = witness:", style="blue"), Text(str(witness) if witness else "none was found"))
    details.add_row(Text("  = fix:", style="blue"), Text(cause.fix))
    yield details


def _places(accesses: Sequence[Access], margin: str) -> Iterator[Text]:
    """A line for each distinct access: rule, place, what is accessed, and the source as far as there is room."""
    lines = []
    for access, count in places_of(accesses):
        times = f" ×{count}" if count > 1 else ""
        lines.append((access, _place(access), f"{access.effect} {short_aval(access)}{times}"))
    wide = max(len(place) for _, place, _ in lines), max(len(kind) for _, _, kind in lines)
    for access, place, kind in lines:
        line = Text(margin, no_wrap=True, overflow="ellipsis")
        line.append(access.rule, style="yellow").append(f"  {place:<{wide[0]}}  {kind:<{wide[1]}}")
        yield line.append(f"  {access.location.text}", style="dim")


def _place(access: Access) -> str:
    """File and line; of a file far away only its name."""
    file, line = shown_path(access.location.file), access.location.line
    if not file:
        return "<unknown>"
    return f"{file if len(file) <= _NEAR else file.rpartition('/')[2]}:{line}"


def _labelled() -> Table:
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    return table


def _details(access: Access, labelled: bool) -> Iterator[tuple[str, str]]:
    for bounds in access.bounds if len(access.bounds) > 1 or not labelled else ():
        yield "index", _bounds(bounds)
    for condition in access.requires:
        yield "requires", str(condition)
    if access.known_witness is not None:
        yield "witness", str(access.known_witness)
    if access.mode:
        yield "mode", access.mode
    if access.decided_by:
        yield "decided by", access.decided_by
    if access.loss is not None:
        yield from _loss(access.loss, access.location)
    elif access.fix:
        yield "fix", access.fix


def _loss(loss: Loss, here: Location) -> Iterator[tuple[str, str]]:
    if loss.equation and loss.location != here:
        source = f": {loss.location.text}" if loss.location.text else ""
        yield "lost at", f"{shown_path(loss.location.file)}:{loss.location.line}{source}"
    if loss.arguments:
        yield "depends on", f"{', '.join(loss.arguments)}, with no range promised: give one by redzone.Spec(min=, max=)"
    yield "settle", f"{loss.settle} before this line, or clip the index"


def _bounds(bounds: DimBounds) -> str:
    return _can_be(bounds, named=True)


def _can_be(bounds: DimBounds, named: bool) -> str:
    which = f"dimension {bounds.dim} " if named else ""
    return f"{which}is {_range(bounds.lo, bounds.hi)}, may be {_range(bounds.min, bounds.max)}"


def _range(low: object, high: object) -> str:
    return str(low) if str(low) == str(high) else f"{low} … {high}"


def _summary(report: Report) -> Iterator[RenderableType]:
    tally = Text()
    counts = report.counts()
    for verdict in _ORDER:
        if counts[verdict]:
            tally.append(", " if tally else "").append(f"{counts[verdict]} {verdict}", style=_STYLE[verdict])
    ignored = sum(access.suppressed for access in report.accesses)
    if ignored:
        tally.append(f" ({ignored} ignored)")
    if report.lints:
        tally.append(", ").append(_count(len(report.lints), "warning", "warnings"), style="yellow")
    yield tally if tally else Text("nothing is accessed at computed positions", style="green")
    if report.unmodelled:
        names = ", ".join(f"{name} ×{count}" for name, count in report.unmodelled.items())
        yield Text(f"not modelled, taken as any value [RZ901]: {names}")
    for suppression in unused(report.suppressions):
        yield _unused(suppression)
    for note in report.notes:
        yield Text(f"note: {note}")
    if report.timings:
        # A stage that had nothing to do is not worth a reader's time either.
        spent = {stage: s for stage, s in report.timings.items() if s >= 1e-5 or stage == "trace"}
        times = ", ".join(f"{stage} {seconds_as_text(s)}" for stage, s in spent.items())
        yield Text(f"time: {times}", style="dim")


def _unused(suppression: Suppression) -> Text:
    place = f"{shown_path(suppression.location.file)}:{suppression.location.line}"
    return Text.assemble((f"unused[RZ902]: {place}: ", "yellow"), complaint(suppression))


def seconds_as_text(seconds: float) -> str:
    """A duration in the unit a person would pick."""
    if seconds >= 1:
        return f"{seconds:.1f} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.1f} ms"
    return f"{seconds * 1e6:.0f} µs"


def _count(number: int, one: str, many: str) -> str:
    return f"{number:,} {one if number == 1 else many}"
