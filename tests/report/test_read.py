"""Reports come back from JSON as they went."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jax.numpy as jnp
import pytest

import redzone
from redzone.report.formats import FORMATS, rendered
from redzone.report.json import run_as_json
from redzone.report.model import Report
from redzone.report.read import BadReport, run_from_file, run_from_json
from tests.report.samples import full_run, report, unsafe


def through_text(data: dict[str, Any]) -> Any:
    return json.loads(json.dumps(data))


def test_a_run_comes_back_as_it_was() -> None:
    data = run_as_json(full_run(witnesses=True))
    assert run_as_json(run_from_json(through_text(data))) == data


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_is_the_same_from_json(format: str) -> None:
    run = full_run(witnesses=True)
    assert rendered(format, run_from_json(through_text(run_as_json(run)))) == rendered(format, run)


def test_a_checked_function_comes_back() -> None:
    real = redzone.check(lambda x, i: x.at[jnp.clip(i, 0, 8)].set(x[i]), jnp.zeros(8), jnp.zeros(3, int))
    data = through_text(real.to_json())
    again = Report.from_json(data)
    assert str(again) == str(real)
    assert again.to_json() == data
    assert [a.chain for a in again.accesses] == [a.chain for a in real.accesses]
    assert again.accesses[0].buffer is again.accesses[1].buffer


def test_symbolic_sizes_come_back() -> None:
    def f(x, i):  # type: ignore[no-untyped-def]
        return x[i], x[2 * i]

    real = redzone.check(f, redzone.Spec(("n",), "float32"), redzone.Spec((), "int32"))
    again = Report.from_json(through_text(real.to_json()))
    assert [str(cause) for cause in again.causes()] == [str(cause) for cause in real.causes()]
    assert str(again) == str(real)


def test_one_report_is_a_run_of_its_own(tmp_path: Path) -> None:
    file = tmp_path / "one.json"
    file.write_text(json.dumps(report(unsafe()).to_json()))
    run = run_from_file(file)
    assert run.exit_code == 1 and run.reports[0].name == "lookup"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<html>", r"this is not JSON \(line 1: Expecting value\): write one with `redzone check"),
        ("[]", "this JSON is no report of redzone"),
        ('{"schema": 1}', "this JSON is no report of redzone"),
        ('{"schema": 7, "reports": []}', "it has schema 7, and this redzone reads schema 1"),
        ('{"schema": 1, "accesses": []}', "a part of it is missing: 'name'"),
        ('{"schema": 1, "reports": [{"schema": 1, "accesses": 3, "name": ""}]}', "not as redzone writes it"),
        ('{"schema": 1, "reports": 3}', "not as redzone writes it"),
        ("[" * 100000, "this is not JSON"),
    ],
)
def test_what_is_no_report(tmp_path: Path, text: str, message: str) -> None:
    file = tmp_path / "r.json"
    file.write_text(text)
    with pytest.raises(BadReport, match=message):
        run_from_file(file)


def test_no_file_and_no_text(tmp_path: Path) -> None:
    with pytest.raises(BadReport, match="cannot be read: No such file"):
        run_from_file(tmp_path / "gone.json")
    (tmp_path / "bytes").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(BadReport, match="this is not JSON"):
        run_from_file(tmp_path / "bytes")
