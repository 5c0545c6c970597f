"""The piece of HTML below a notebook's cell."""

from __future__ import annotations

import pytest

from redzone.report.model import DimBounds, Location, Verdict
from redzone.report.notebook import bar_of, report_as_cell
from tests.report.samples import SOURCES, access, full_run, full_unsafe, report, requires, unsafe
from tests.report.test_html import NASTY, Elements


def test_a_finding_in_full() -> None:
    html = report_as_cell(report(full_unsafe(), _sources=SOURCES))
    assert "1 access leaves its array" in html and "unsafe RZ101" in html
    assert "<pre>return <mark>table[</mark><mark><mark>row</mark></mark><mark>]</mark></pre>" in html
    assert "position = 160 makes the index 16" in html and "Bound the index." in html
    assert "rz-out" in html
    assert "RZ304 clip-to-size" in html


def test_conditions_and_losses() -> None:
    html = report_as_cell(full_run().reports[0])
    assert "0 ≤ indices ≤ 15" in html and "redzone.assume(index, min=0, max=n - 1)" in html


def test_no_scripts_and_nothing_fetched() -> None:
    place = Location(f"/p/{NASTY}.py", 3, NASTY, NASTY)
    html = report_as_cell(report(full_unsafe(message=NASTY, _location=place), name=NASTY))
    elements = Elements(html)
    assert elements.scripts == []
    assert not any("src" in attributes or "href" in attributes for _, attributes in elements.found)
    assert [tag for tag, _ in elements.found].count("img") == 0
    html.encode("utf-8")


def test_a_long_report_stays_short() -> None:
    places = [Location("m.py", line, "f", "x[i]") for line in range(300)]
    html = report_as_cell(report(*(unsafe(_location=place) for place in places)))
    assert "… and 292 more: " in html and "… and 200 more rows" in html
    assert len(html) < 60_000


def test_a_clean_report() -> None:
    assert "Every access stays inside its array" in report_as_cell(report(access()))
    assert "Nothing is accessed at computed positions" in report_as_cell(report())


def test_the_worst_comes_first() -> None:
    unknown = access(Verdict.UNKNOWN, rule="RZ103", message="lost")
    html = report_as_cell(report(unknown, requires(), unsafe()))
    assert html.index("unsafe RZ101") < html.index("unknown RZ103") < html.index('rz-v">requires</span>')


@pytest.mark.parametrize(
    ("bounds", "size", "parts"),
    [
        (DimBounds(0, 0, 15, 0, 15), 16, ((20.0, 60.0, False),)),
        (DimBounds(0, 0, 16, 0, 15), 16, ((20.0, 60.0, False), (80.0, 2.5, True))),
        (DimBounds(0, -1, 3, 0, 15), 16, ((17.5, 2.5, True), (20.0, 15.0, False))),
        (DimBounds(0, -(2**31), 2**31 - 1, 0, 15), 16, ((0.0, 20.0, True), (20.0, 60.0, False), (80.0, 20.0, True))),
        (DimBounds(0, 20, 20, 0, 15), 16, ((90.0, 2.5, True),)),
        (DimBounds(0, 0, 4, 0, 12), 16, ((20.0, 30.0, False),)),
        (DimBounds(0, 0, 4, 0, "n - 1"), "n", ()),
        (DimBounds(0, 0, 0, 0, -1), 0, ()),
    ],
)
def test_bars(bounds: DimBounds, size: object, parts: object) -> None:
    assert bar_of(bounds, (size,)).parts == parts
