"""File names as a person at this prompt would write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from redzone.report.paths import shown_path


def test_inside_and_outside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert shown_path(str(tmp_path / "a" / "b.py")) == "a/b.py"
    assert shown_path("/elsewhere/b.py") == "/elsewhere/b.py"
    assert shown_path("b.py") == "b.py"
    assert shown_path("<stdin>") == "<stdin>"
