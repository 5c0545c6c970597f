"""One line for each finding, for editors and for grep: `file:line: RZ101 unsafe message`."""

from __future__ import annotations

from collections.abc import Iterator

from redzone.report.model import Location, Report, Suppression, Verdict
from redzone.report.paths import shown_path
from redzone.report.run import Run
from redzone.report.suppress import complaint


def report_as_concise(report: Report) -> str:
    """A line for each distinct unsafe, unknown or conditional access and each warning that is not suppressed."""
    return "\n".join(dict.fromkeys(_lines(report)))


def _lines(report: Report) -> Iterator[str]:
    for access in report.accesses:
        if not access.suppressed and access.verdict in (Verdict.UNSAFE, Verdict.UNKNOWN, Verdict.REQUIRES):
            yield f"{_place(access.location)}: {access.rule} {access.verdict} {_one_line(access.message)}"
    for lint in report.lints:
        yield f"{_place(lint.location)}: {lint.code} warning {_one_line(lint.message)}"


def suppression_as_concise(suppression: Suppression) -> str:
    """The same line for a comment that silences nothing."""
    place = f"{shown_path(suppression.location.file)}:{suppression.location.line}"
    return f"{place}: RZ902 unused {complaint(suppression)}"


def _place(location: Location) -> str:
    return f"{shown_path(location.file)}:{location.line}" if location.file else "<unknown>:0"


def _one_line(message: str) -> str:
    return " ".join(message.split())


def run_as_concise(run: Run) -> str:
    """The lines of all reports, of what could not be checked, and of comments that silence nothing."""
    parts = [report_as_concise(report) for report in run.reports]
    parts += [suppression_as_concise(suppression) for suppression in run.unused_comments()]
    parts += [f"{failed.name}: could not be checked: {_one_line(failed.reason)}" for failed in run.failures]
    return "\n".join(part for part in parts if part)
