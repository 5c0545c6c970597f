"""JUnit XML: what a test reporter counts."""

from __future__ import annotations

from xml.etree import ElementTree as ET

from redzone.report.junit import run_as_junit
from redzone.report.model import Location
from redzone.report.run import Run
from tests.report.samples import access, full_run, report, requires, unsafe


def parsed(run: Run) -> ET.Element:
    return ET.fromstring(run_as_junit(run))


def test_a_run_with_everything() -> None:
    root = parsed(full_run())
    assert {name: root.get(name) for name in ("tests", "failures", "errors", "skipped")} == {
        "tests": "8",
        "failures": "2",
        "errors": "1",
        "skipped": "1",
    }
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == ["lookup", "other", "could not be checked"]
    for suite in suites:
        assert int(suite.get("tests", "")) == len(suite.findall("testcase"))
    assert suites[0].get("timestamp") == "2026-01-02T03:04:05"
    assert float(suites[0].get("time", "")) == 4.2e-5
    (error,) = root.iter("error")
    assert error.get("message") == "TracerBoolConversionError:" and error.text == "TracerBoolConversionError:\nan if"


def test_a_failure_says_what_and_where() -> None:
    (case,) = parsed(Run((report(unsafe()),), root="/project")).iter("testcase")
    assert case.get("name") == "read f32[16] at model.py:12 (gather)"
    assert (case.get("classname"), case.get("file"), case.get("line")) == ("lookup", "model.py", "12")
    (failure,) = case
    assert failure.get("type") == "RZ101" and "the last legal start is 15" in failure.get("message", "")
    assert "12 | return table[row]" in (failure.text or "")


def test_a_condition_passes_and_is_told() -> None:
    (case,) = parsed(Run((report(requires()),))).iter("testcase")
    (out,) = case
    assert out.tag == "system-out" and "0 ≤ indices ≤ 15" in (out.text or "")


def test_alike_accesses_are_one_test() -> None:
    (case,) = parsed(Run((report(access(), access()),))).iter("testcase")
    assert case.get("name", "").endswith("×2") and len(case) == 0


def test_a_function_without_accesses_is_a_test_that_passes() -> None:
    root = parsed(Run((report(),)))
    assert root.get("tests") == "1" and root.get("failures") == "0"


def test_anything_can_be_told() -> None:
    nasty = "\x00\x1b[1m <&\"'> ]]> \ud800 \ufffe é 𝕩"
    root = parsed(Run((report(unsafe(message=nasty, _location=Location("/p/m.py", 3, nasty, nasty))),)))
    (failure,) = root.iter("failure")
    assert "<&\"'> ]]>" in failure.get("message", "") and "é 𝕩" in failure.get("message", "")
