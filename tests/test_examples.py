"""The shipped examples: their verdicts are exact, and each runs as a script."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

import redzone
from redzone.cli import main
from redzone.frontend.modules import module_in
from tests.doc_blocks import PROJECT

EXAMPLES = sorted((PROJECT / "examples").glob("*.py"))


def _report(example: str, function: str) -> redzone.Report:
    module = module_in(PROJECT / "examples" / f"{example}.py")
    fn = getattr(module, function)
    call = fn.__redzone_examples__[0]
    return redzone.check(fn, *call.args, **call.kwargs)


@pytest.mark.parametrize(
    ("example", "function"),
    [
        ("vector_add", "vector_add"),
        ("vector_add", "vector_add_by_element"),
        ("nested_loop", "unrolled"),
        ("nested_loop", "as_a_loop"),
        ("dynamic_indexing", "lookup_promised"),
        ("off_by_one", "price"),
    ],
)
def test_proved(example: str, function: str) -> None:
    counts = _report(example, function).counts()
    assert counts["safe"] == sum(counts.values())


def test_the_unrolled_loop_has_twenty_equations_for_each_cell() -> None:
    report = _report("nested_loop", "unrolled")
    assert report.equations == pytest.approx(20 * 100, rel=0.01)
    assert len(report.accesses) == 2 * 100


def test_run_time_indices_need_a_condition() -> None:
    report = _report("dynamic_indexing", "lookup")
    assert report.ok
    assert [str(condition) for condition in report.requires] == ["-100000 ≤ indices ≤ 99999"]


def test_the_bug() -> None:
    names = runpy.run_path(str(PROJECT / "examples" / "off_by_one.py"))
    report = redzone.check(names["price_bad"], names["TABLE"], names["POSITION"])
    (finding,) = report.findings
    assert finding.verdict == "unsafe" and finding.rule == "RZ101"
    assert finding.witness is not None and finding.witness.index == (16,)
    assert finding.location.text == "return table[row]"


def test_the_demo_is_clean(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PROJECT)
    result = CliRunner().invoke(main, ["check", "examples/"])
    assert result.exit_code == 0, result.output


@pytest.mark.parametrize("file", EXAMPLES, ids=[file.stem for file in EXAMPLES])
def test_runs_as_a_script(file: Path) -> None:
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert " in " in done.stdout
