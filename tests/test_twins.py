"""When compiled modules are used in place of the sources they were made from."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from redzone import twins


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A package of one module, compiled; only its library is never looked into."""
    source = tmp_path / "engine" / "one.py"
    source.parent.mkdir()
    source.write_text("A = 1\n")
    folder = tmp_path / "native"
    folder.mkdir()
    digest = hashlib.sha256(source.read_bytes()).hexdigest()
    (folder / "twins.json").write_text(json.dumps({"redzone.engine.one": digest}))
    monkeypatch.setattr(twins, "HERE", str(tmp_path))
    monkeypatch.setattr(twins, "FOLDER", str(folder))
    return source


def test_a_module_with_a_twin_is_found_there(made: Path) -> None:
    spec = twins.Twins().find_spec("redzone.engine.one")
    assert spec is not None
    assert spec.origin == os.path.join(twins.FOLDER, "redzone.engine.one.so")
    assert twins.Twins().find_spec("redzone.engine.two") is None
    assert twins.Twins().find_spec("numpy") is None


def test_an_edit_is_never_ignored(made: Path) -> None:
    made.write_text("A = 2\n")
    assert twins.stale() == f"{made} is not what was compiled"
    assert twins.Twins().find_spec("redzone.engine.one") is None
    made.unlink()
    assert twins.stale() == f"{made} is gone"


def _run(wish: str, program: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "REDZONE_COMPILED": wish}
    return subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True)


def test_sources_on_demand() -> None:
    done = _run("0", "import redzone.domains.fact as f; print(f.__file__.endswith('.py'))")
    assert done.stdout == "True\n"


def test_a_wish_that_cannot_be_met_is_told(made: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REDZONE_COMPILED", "1")
    made.write_text("A = 2\n")
    with pytest.raises(ImportError, match="is not what was compiled; install redzone again"):
        twins.prefer()
    assert "REDZONE_COMPILED=yes: 0 runs the sources, 1 insists" in _run("yes", "import redzone").stderr


@pytest.mark.skipif(bool(twins.stale()), reason="nothing is compiled from these sources")
def test_the_compiled_core_is_what_runs() -> None:
    done = _run("1", "import redzone.domains.fact as f; print(f.__file__.endswith('.so'))")
    assert done.stdout == "True\n"
