"""The marks that findings are known again by."""

from __future__ import annotations

from pathlib import Path

import pytest

from redzone.report.baseline import Baseline, mark_of, project_of
from redzone.report.model import Location, Verdict
from tests.report.samples import access, report


def _mark(file: str, root: str = "/project", line: int = 3) -> str:
    return mark_of("RZ101", "gather", Location(file, line, "f", "return x[i]"), root).file


@pytest.mark.parametrize(
    ("file", "shown"),
    [
        ("/project/src/a.py", "src/a.py"),
        ("/project/.venv/lib/python3.11/site-packages/rlax/_src/b.py", "site-packages/rlax/_src/b.py"),
        ("/usr/lib/python3/dist-packages/c.py", "site-packages/c.py"),
        ("/elsewhere/lib/d.py", "…/lib/d.py"),
        ("<ipython-input-1>", "<ipython-input-1>"),
        ("", ""),
    ],
)
def test_files_are_named_so_that_other_machines_know_them(file: str, shown: str) -> None:
    assert _mark(file) == shown


def test_spaces_do_not_matter() -> None:
    one = mark_of("RZ101", "gather", Location("/p/a.py", 3, "f", "y  =   x[i]"), "/p")
    other = mark_of("RZ101", "gather", Location("/p/a.py", 9, "f", "y = x[i]"), "/p")
    assert one == other


def test_equal_lines_are_counted_within_their_function(tmp_path: Path) -> None:
    file = tmp_path / "a.py"
    file.write_text("def f(x):\n    x[1]\n    x[1]\n\ndef g(x):\n    x[1]\n    def h():\n        x[1]\n")
    places = [Location(str(file), line, "f", "x[1]") for line in (2, 3, 6, 8)]
    assert [mark_of("RZ101", "gather", place, str(tmp_path)).ordinal for place in places] == [0, 1, 0, 0]


def test_a_file_that_is_no_python(tmp_path: Path) -> None:
    file = tmp_path / "cell.py"
    file.write_text("%magic\nx[1]\nx[1]\n")
    assert mark_of("RZ101", "gather", Location(str(file), 3, "", "x[1]"), str(tmp_path)).ordinal == 1


def test_the_project_is_the_nearest_repository_or_settings(tmp_path: Path) -> None:
    inner = tmp_path / "a" / "b"
    inner.mkdir(parents=True)
    (tmp_path / ".git").mkdir()
    assert project_of(inner / "x.json") == str(tmp_path)
    (tmp_path / "a" / "pyproject.toml").write_text("")
    assert project_of(inner / "x.json") == str(tmp_path / "a")


def test_what_was_silenced_otherwise_is_left_alone(tmp_path: Path) -> None:
    one = access(Verdict.UNSAFE, rule="RZ101", suppressed=True)
    baseline = Baseline(tmp_path / "b.json", [mark_of("RZ101", "gather", one.location, str(tmp_path))])
    baseline.silence(report(one))
    assert not baseline.met
    other = access(Verdict.UNSAFE, rule="RZ101")
    baseline.silence(report(other))
    assert other.suppressed and len(baseline.met) == 1
