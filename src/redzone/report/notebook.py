"""A report below a notebook's cell."""

from __future__ import annotations

from redzone.report.model import Report


def report_as_cell(report: Report) -> str:
    """The report as a piece of HTML without scripts."""
    return ""
