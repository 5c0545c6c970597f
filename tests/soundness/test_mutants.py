"""The wrong twins are found, every one: otherwise the tests that found nothing prove nothing."""

from __future__ import annotations

import pytest

from redzone.rules import RULES
from tests.soundness.against_points import first_failure
from tests.soundness.catalogue import entries, equations
from tests.soundness.mutants import MUTANTS

ENTRIES = {entry[0]: entry for entry in entries()}


def _found(mutant) -> bool:
    with mutant.in_place():
        for label in mutant.entries:
            for eqn in equations(ENTRIES[label]):
                if eqn.primitive in RULES and first_failure(eqn, seed=1, rounds=400, points=6):
                    return True
    return False


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("mutant", MUTANTS, ids=lambda m: m.name)
def test_wrong_twin_is_found(mutant):
    assert _found(mutant)


def test_every_rule_module_has_wrong_twins():
    from redzone.frontend import compat

    right = {m.primitive: RULES[compat.primitives()[m.primitive]].apply.__module__ for m in MUTANTS}
    assert {name.rsplit(".", 1)[-1] for name in right.values()} >= {
        "arithmetic",
        "indexing",
        "reductions",
        "shapes",
    }
