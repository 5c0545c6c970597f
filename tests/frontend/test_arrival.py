"""Being told when a module has been imported."""

from __future__ import annotations

import importlib
import subprocess
import sys
from pathlib import Path

import pytest

from redzone.frontend.arrival import when_imported


@pytest.fixture
def newcomer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "newcomer.py").write_text("import sys\nvalue = 7\nearly = 'told' in sys.modules\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "newcomer", raising=False)
    return "newcomer"


def test_it_is_told_once_when_the_module_is_ready(newcomer: str) -> None:
    told: list[int] = []
    when_imported(newcomer, lambda: told.append(sys.modules[newcomer].value))
    assert not told
    module = importlib.import_module(newcomer)
    importlib.import_module(newcomer)
    assert told == [7]
    assert type(module.__loader__).__name__ == "SourceFileLoader"
    assert module.__spec__ is not None and module.__spec__.loader is module.__loader__


def test_at_once_if_it_is_there() -> None:
    told: list[int] = []
    when_imported("sys", lambda: told.append(1))
    assert told == [1]


def test_called_off(newcomer: str) -> None:
    told: list[int] = []
    before = list(sys.meta_path)
    when_imported(newcomer, lambda: told.append(1))()
    assert sys.meta_path == before
    importlib.import_module(newcomer)
    assert not told


def test_a_module_that_is_not_there() -> None:
    cancel = when_imported("no_such_module_anywhere", lambda: None)
    with pytest.raises(ModuleNotFoundError):
        importlib.import_module("no_such_module_anywhere")
    cancel()


def test_waiting_for_jax_imports_nothing_heavy() -> None:
    program = (
        "import os, sys\n"
        "from redzone.frontend.arrival import when_imported\n"
        "when_imported('jax', lambda: print('jax is there', sys.modules['jax'].config.jax_enable_x64))\n"
        "print('jax' in sys.modules, 'numpy' in sys.modules)\n"
        "os.environ['JAX_ENABLE_X64'] = '1'\n"
        "import jax\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\njax is there True\n"
