"""A run as workflow commands: GitHub Actions shows them beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterator

from redzone.report.codes import CODES
from redzone.report.model import Access, Location, Span
from redzone.report.rows import rows_of
from redzone.report.run import Run
from redzone.report.severity import LEVELS
from redzone.report.suppress import complaint


def run_as_github(run: Run) -> str:
    """A line for each distinct finding, condition and warning that is not suppressed, the worst first."""
    return "\n".join(dict.fromkeys(_commands(run)))


def _commands(run: Run) -> Iterator[str]:
    for failed in run.failures:
        yield _command("error", None, f"{failed.name} could not be checked", failed.reason, run)
    rows = [row for report in run.reports for row in rows_of(report.accesses)]
    for verdict, (_, level) in LEVELS.items():
        for row in rows:
            if row.access.verdict is verdict and not row.access.suppressed:
                place = row.access.location
                yield _command(level, place, _title(row.access.rule), _message(row.access), run, place.span)
    for report in run.reports:
        for lint in report.lints:
            text = f"{lint.message}\n{lint.fix}"
            yield _command("warning", lint.location, _title(lint.code), text, run, lint.location.span)
    for suppression in run.unused_comments():
        yield _command("notice", suppression.location, _title("RZ902"), complaint(suppression), run)


def _title(code: str) -> str:
    return f"{code} {CODES[code].name}" if code in CODES else code or "redzone"


def _message(access: Access) -> str:
    parts = [access.message]
    if access.known_witness is not None:
        parts.append(f"witness: {access.known_witness}")
    if access.loss is not None:
        parts.append(f"settle: {access.loss.settle}")
    elif access.fix:
        parts.append(f"fix: {access.fix}")
    return "\n".join(parts)


def _command(level: str, place: Location | None, title: str, message: str, run: Run, span: Span | None = None) -> str:
    fields: dict[str, str] = {}
    if place is not None and place.file:
        fields = {"file": run.relative(place.file), "line": str(place.line)}
        if span is not None:
            fields["endLine"] = str(span.end_line)
            # GitHub takes columns only of what stands on one line.
            if span.line == span.end_line == place.line:
                fields |= {"col": str(span.column + 1), "endColumn": str(span.end_column)}
    fields["title"] = title
    shown = ",".join(f"{name}={_field(value)}" for name, value in fields.items())
    return f"::{level} {shown}::{_data(message)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _field(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
