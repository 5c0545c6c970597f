"""Files are imported as they are written, and not as they were."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from redzone.frontend.modules import module_in


def test_an_edit_of_the_same_length_within_a_second_is_seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    file = tmp_path / "script.py"
    file.write_text("LIMIT = 16\n")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    first = module_in(file)
    assert first.LIMIT == 16 and not (tmp_path / "__pycache__").exists()
    del sys.modules[first.__name__]
    file.write_text("LIMIT = 15\n")
    os.utime(file, (1_000_000_000, 1_000_000_000))
    assert module_in(file).LIMIT == 15
