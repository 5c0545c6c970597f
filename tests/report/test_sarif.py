"""SARIF: valid by the committee's own schema, and what services make use of."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import jsonschema
import pytest

import redzone
from redzone.report.codes import CODES
from redzone.report.formats import rendered
from redzone.report.model import DimBounds, Location, Report
from redzone.report.run import Run
from redzone.report.sarif import FINGERPRINT, sarif_log
from redzone.report.severity import is_off_by_one, weaknesses_of
from tests.report.samples import MARKED, access, full_run, full_unsafe, report, requires, unsafe

SCHEMA = json.loads((Path(__file__).parent / "data" / "sarif-2.1.0-rtm.5.json").read_text("utf-8"))


def valid(run: Run) -> dict[str, Any]:
    """The one run of the log, checked against the schema."""
    log = json.loads(rendered("sarif", run))
    validator = jsonschema.Draft4Validator(SCHEMA, format_checker=jsonschema.FormatChecker())
    assert [f"{e.json_path}: {e.message}" for e in validator.iter_errors(log)] == []
    one: dict[str, Any] = log["runs"][0]
    return one


def test_the_schema_would_tell() -> None:
    log = sarif_log(full_run())
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert list(jsonschema.Draft4Validator(SCHEMA).iter_errors(log))


def test_a_run_with_everything() -> None:
    one = valid(full_run())
    told = [(r["ruleId"], r["level"]) for r in one["results"]]
    assert told == [
        ("RZ101", "error"),
        ("RZ203", "warning"),
        ("RZ102", "note"),
        ("RZ102", "note"),
        ("RZ101", "error"),
        ("RZ304", "warning"),
        ("RZ902", "note"),
    ]
    assert one["invocations"][0]["executionSuccessful"] is False
    notes = [n["message"]["text"] for n in one["invocations"][0]["toolExecutionNotifications"]]
    assert notes[0].startswith("broken.py:f could not be checked: TracerBool")
    assert notes[1] == "lookup: no rule for fft, met 2 times: taken as any value"


def test_an_empty_run() -> None:
    assert valid(Run((report(),), root="/project"))["results"] == []


def test_places() -> None:
    result = valid(full_run())["results"][0]
    (where,) = result["locations"]
    physical = where["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "model.py", "uriBaseId": "SRCROOT"}
    assert physical["region"] == {"startLine": 12, "startColumn": 12, "endLine": 12, "endColumn": 22}
    assert physical["contextRegion"]["snippet"]["text"] == "    row = position // 10\n    return table[row]\n"
    assert where["logicalLocations"][0]["fullyQualifiedName"] == "lookup"
    assert [r["message"]["text"] for r in result["relatedLocations"]] == ["called in step"]
    flow = result["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [s["location"]["message"]["text"] for s in flow] == [
        "t1 = floor_divide(position, 10), which is 0 … 16",
        "the read can start at 16, the last legal start is 15",
    ]
    assert result["message"]["text"].startswith("The read can start at 16, the last legal start is 15. For example, ")


@pytest.mark.parametrize(
    ("file", "artifact"),
    [
        ("/project/a b/ü%.py", {"uri": "a%20b/%C3%BC%25.py", "uriBaseId": "SRCROOT"}),
        ("/elsewhere/lib.py", {"uri": "file:///elsewhere/lib.py"}),
        ("/project2/lib.py", {"uri": "file:///project2/lib.py"}),
        ("relative.py", {"uri": "relative.py", "uriBaseId": "SRCROOT"}),
        ("<stdin>", {"uri": "%3Cstdin%3E", "uriBaseId": "SRCROOT"}),
    ],
)
def test_paths(file: str, artifact: dict[str, str]) -> None:
    run = Run((report(unsafe(_location=Location(file, 3, "f", "x"))),), root="/project")
    assert valid(run)["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"] == artifact


def test_no_place_and_no_root() -> None:
    run = Run((report(unsafe(_location=Location("", 0, "", ""))),), root="")
    assert valid(run)["results"][0]["locations"] == []


def prints(run: Run) -> list[str]:
    return [r["partialFingerprints"][FINGERPRINT] for r in valid(run)["results"]]


def at(line: int, text: str = "return table[row]", function: str = "lookup") -> Run:
    place = Location("/project/model.py", line, function, text)
    return Run((report(unsafe(_location=place)),), root="/project")


def test_fingerprints_stay_when_lines_move() -> None:
    assert prints(at(12)) == prints(at(99)) == prints(at(3, "  return   table[row]"))
    assert prints(at(12)) != prints(at(12, "return table[column]"))
    assert prints(at(12)) != prints(at(12, function="other"))


def test_fingerprints_do_not_depend_on_where_the_project_is() -> None:
    there = Location("/home/me/model.py", 12, "lookup", "return table[row]")
    assert prints(Run((report(unsafe(_location=there)),), root="/home/me")) == prints(at(12))


def test_equal_fingerprints_are_told_apart() -> None:
    both = prints(Run((report(unsafe(), unsafe(shape=(17,))),), root="/project"))
    assert len(set(both)) == 2 and both[0].split("/")[0] == both[1].split("/")[0]


def test_what_a_reader_cannot_tell_apart_is_one_result() -> None:
    (result,) = valid(Run((report(unsafe(), unsafe(), unsafe()),)))["results"]
    assert result["occurrenceCount"] == 3


def test_suppressions() -> None:
    commented = next(r for r in valid(full_run())["results"] if "suppressions" in r)
    assert commented["suppressions"] == [{"kind": "inSource", "status": "accepted"}]
    (left_out,) = valid(Run((report(unsafe(suppressed=True)),)))["results"]
    assert left_out["suppressions"][0]["kind"] == "external"
    assert "suppressions" not in valid(Run((report(unsafe()),)))["results"][0]


def test_safe_accesses_are_no_results() -> None:
    assert valid(Run((report(access()),)))["results"] == []


def test_rules_are_those_of_redzone() -> None:
    one = valid(full_run())
    rules = one["tool"]["driver"]["rules"]
    assert [rule["id"] for rule in rules] == list(CODES)
    for result in one["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
    tags = {rule["id"]: rule["properties"]["tags"] for rule in rules}
    assert "external/cwe/cwe-125" in tags["RZ101"]
    assert "external/cwe/cwe-787" in tags["RZ201"]
    assert "external/cwe/cwe-193" in tags["RZ304"]
    taxa = {taxon["id"] for taxon in one["taxonomies"][0]["taxa"]}
    for rule in rules:
        assert {r["target"]["id"] for r in rule["relationships"]} <= taxa


def test_weaknesses() -> None:
    assert weaknesses_of("RZ103") == (125,) and weaknesses_of("RZ204") == (787,)
    assert weaknesses_of("RZ301") == (190,) and weaknesses_of("RZ902") == ()


def test_off_by_one() -> None:
    assert is_off_by_one(unsafe())
    assert is_off_by_one(unsafe(_bounds=(DimBounds(0, -1, 3, 0, 15),)))
    assert not is_off_by_one(unsafe(_bounds=(DimBounds(0, 0, 17, 0, 15),)))
    assert not is_off_by_one(unsafe(_bounds=(DimBounds(0, 0, 16, 0, "n"),)))
    assert not is_off_by_one(requires(_bounds=(DimBounds(0, 0, 16, 0, 15),)))
    tags = valid(Run((report(full_unsafe()),)))["results"][0]["properties"]["tags"]
    assert tags == ["external/cwe/cwe-193"]


def test_a_checked_function() -> None:
    def f(x, i):  # type: ignore[no-untyped-def]
        return x[jnp.clip(i, 0, 8)]

    real: Report = redzone.check(f, jnp.zeros(8), jnp.zeros(3, int))
    result = valid(Run((real,)))["results"][0]
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region["startColumn"] == 16 and region["endColumn"] == 16 + len("x[jnp.clip(i, 0, 8)]")
    steps = [s["location"]["message"]["text"] for s in result["codeFlows"][0]["threadFlows"][0]["locations"]]
    assert steps[:2] == ["t1 = max(0, i), which is 0 … 2147483647", "t2 = min(8, t1), which is 0 … 8"]


def test_no_span_no_columns() -> None:
    plain = Location(MARKED.file, 12, "lookup", MARKED.text)
    run = Run((report(unsafe(_location=plain)),), root="/project")
    region = valid(run)["results"][0]["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 12, "snippet": {"text": "return table[row]"}}
