"""A few random programs under redzone.jit; `python tests/fuzz/guarded.py` runs as many as there is time for."""

from __future__ import annotations

import pytest

from tests.fuzz.generate import make
from tests.fuzz.guarded import examine


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, 40, 8))
def test_programs_raise_exactly_when_an_access_left_its_array(first: int) -> None:
    for seed in range(first, first + 8):
        failure, _ = examine(make(seed), runs=3)
        assert failure is None, f"seed {seed}: {failure}"
