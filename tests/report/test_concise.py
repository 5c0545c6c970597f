"""One line for each finding."""

from __future__ import annotations

from redzone.report.concise import report_as_concise, suppression_as_concise
from redzone.report.model import Location, Suppression, Verdict
from tests.report.samples import access, report, requires, unsafe


def test_a_line_for_each_thing_to_look_at() -> None:
    unknown = access(Verdict.UNKNOWN, rule="RZ203", message="could not\nbe shown")
    text = report_as_concise(report(access(), unsafe(), requires(), unknown, unsafe(suppressed=True)))
    assert text.splitlines() == [
        "/project/model.py:12: RZ101 unsafe the read can start at 16, the last legal start is 15",
        "/project/model.py:12: RZ102 requires in bounds under a condition",
        "/project/model.py:12: RZ203 unknown could not be shown",
    ]


def test_the_same_line_is_told_once() -> None:
    assert len(report_as_concise(report(unsafe(), unsafe())).splitlines()) == 1


def test_a_clean_report_says_nothing() -> None:
    assert report_as_concise(report(access())) == ""


def test_an_unused_comment() -> None:
    comment = Suppression(Location("m.py", 3, "", "x"), (), False)
    assert suppression_as_concise(comment) == ("m.py:3: RZ902 unused '# redzone: ignore' silences nothing: remove it")
