"""The battery holds for the engine as it is, and for none of its wrong twins."""

from __future__ import annotations

import pytest

from tests.soundness.battery import first_contradiction
from tests.soundness.engine_mutants import ENGINE_MUTANTS


def test_the_battery_holds():
    assert not first_contradiction(10)


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("mutant", ENGINE_MUTANTS, ids=lambda m: m.name)
def test_wrong_engine_is_found(mutant):
    with mutant.in_place():
        assert first_contradiction(3, 14, first=mutant.seen_in)
