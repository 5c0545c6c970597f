"""What was compiled says word for word what the sources say."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from redzone import twins

ROOT = Path(__file__).parents[2]
SHARE = 60


def _told(compiled: str, first: int) -> list[str]:
    command = [sys.executable, "-m", "tests.fuzz.told", str(first), str(SHARE)]
    env = {**os.environ, "REDZONE_COMPILED": compiled}
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.skipif(bool(twins.stale()), reason="nothing is compiled from these sources")
@pytest.mark.parametrize("first", [0, 8_000_450])
def test_both_say_the_same(first: int) -> None:
    plain, compiled = _told("0", first), _told("1", first)
    assert len(plain) > SHARE
    assert [one for one, other in zip(plain, compiled, strict=True) if one != other] == []
