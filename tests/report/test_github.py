"""Annotations: one line each, with everything escaped that would end it early."""

from __future__ import annotations

import re
from urllib.parse import unquote

import pytest

from redzone.report.github import run_as_github
from redzone.report.model import Location, Span, Verdict
from redzone.report.run import Run
from tests.report.samples import access, full_run, report, requires, unsafe

_COMMAND = re.compile(r"::(?P<level>error|warning|notice) (?P<fields>[^:\n]*)::(?P<message>[^\n]*)")


def parsed(run: Run) -> list[tuple[str, dict[str, str], str]]:
    """Level, fields and message of each line, as the runner reads them."""
    found = []
    for line in run_as_github(run).splitlines():
        match = _COMMAND.fullmatch(line)
        assert match is not None, line
        fields = dict(part.split("=", 1) for part in match["fields"].split(","))
        found.append((match["level"], {k: unquote(v) for k, v in fields.items()}, unquote(match["message"])))
    return found


def test_a_run_with_everything() -> None:
    told = parsed(full_run())
    assert [(level, fields["title"]) for level, fields, _ in told] == [
        ("error", "broken.py:f could not be checked"),
        ("error", "RZ101 read-out-of-bounds"),
        ("warning", "RZ203 write-unproved"),
        ("notice", "RZ102 read-requires"),
        ("notice", "RZ102 read-requires"),
        ("warning", "RZ304 clip-to-size"),
        ("notice", "RZ902 unused-suppression"),
    ]
    assert told[0][2] == "TracerBoolConversionError:\nan if"
    _, fields, message = told[1]
    assert fields == {
        "file": "model.py",
        "line": "12",
        "endLine": "12",
        "col": "12",
        "endColumn": "21",
        "title": "RZ101 read-out-of-bounds",
    }
    assert message.splitlines()[1] == "witness: position = 160 makes the index 16 (iteration 3)"


def test_what_is_safe_or_suppressed_is_not_told() -> None:
    assert run_as_github(Run((report(access(), unsafe(suppressed=True)),))) == ""


def test_alike_findings_are_told_once() -> None:
    assert len(parsed(Run((report(unsafe(), unsafe()), report(unsafe()))))) == 1


@pytest.mark.parametrize("nasty", ["100%", "a\nb", "a\r\nb", "::error::x", "a,line=3", "50%0A"])
def test_nothing_gets_out_of_its_place(nasty: str) -> None:
    one = unsafe(message=nasty, fix="", _witness=None, _location=Location(f"/p/{nasty}.py", 3, "f", "x"))
    ((_, fields, message),) = parsed(Run((report(one),), root="/p"))
    assert message == nasty and fields["file"] == f"{nasty}.py" and fields["line"] == "3"


def test_columns_only_of_one_line() -> None:
    place = Location("/p/m.py", 3, "f", "x[", Span(3, 4, 5, 2))
    ((_, fields, _),) = parsed(Run((report(unsafe(_location=place)),), root="/p"))
    assert fields["endLine"] == "5" and "col" not in fields


def test_levels() -> None:
    unknown = access(Verdict.UNKNOWN, rule="RZ103", message="m")
    levels = [level for level, _, _ in parsed(Run((report(requires(), unknown, unsafe()),)))]
    assert levels == ["error", "warning", "notice"]
