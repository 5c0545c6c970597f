"""The source lines a report shows, kept with it so that it can be shown where the files are not."""

from __future__ import annotations

import linecache
from collections.abc import Iterator

from redzone.report.model import Location, Report, Verdict

#: How many lines are kept before and after one that is pointed at.
AROUND = 3


def sources_of(report: Report) -> dict[str, dict[int, str]]:
    """The lines around every access, warning and comment, by file and number."""
    wanted: dict[str, set[int]] = {}
    for place, around in _places(report):
        if place.file and place.line:
            last = max(place.line, place.span.end_line if place.span else 0)
            wanted.setdefault(place.file, set()).update(range(place.line - around, last + around + 1))
    return {file: dict(_lines(file, numbers)) for file, numbers in wanted.items()}


def line_of(location: Location, report: Report) -> str:
    """The source line of a location as it stands in its file, or as much of it as is known."""
    kept = report._sources
    if kept is not None:
        return kept.get(location.file, {}).get(location.line) or location.text
    found = dict(_lines(location.file, {location.line})) if location.file else {}
    return found.get(location.line) or location.text


def _lines(file: str, numbers: set[int]) -> Iterator[tuple[int, str]]:
    try:
        lines = linecache.getlines(file)
    except ValueError:  # a name no file can have
        return
    for number in sorted(numbers):
        if 0 < number <= len(lines):
            yield number, lines[number - 1].rstrip("\r\n")


def _places(report: Report) -> Iterator[tuple[Location, int]]:
    for access in report.accesses:
        yield access.location, AROUND
        if access.verdict is not Verdict.SAFE:
            for link in access.chain:
                yield link.location, 0
            if access.loss is not None:
                yield access.loss.location, 0
        for lint in access.lints:
            yield lint.location, AROUND
    for suppression in report.suppressions:
        yield suppression.location, 0
