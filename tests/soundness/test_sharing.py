"""One function in several places: what was found in one of them is not handed on to another."""

from __future__ import annotations

import pytest

from redzone.engine.program import Program
from tests.fuzz.check import examine
from tests.fuzz.sharing import KINDS, Body, make

SHARE = 10


@pytest.mark.parametrize("first", range(0, 60, SHARE))
def test_no_run_of_shared_functions_contradicts_what_was_found(first):
    for seed in range(first, first + SHARE):
        outcome = examine(make(seed), runs=10)
        assert outcome.failure is None, str(outcome.failure)


@pytest.mark.changes_the_engine
def test_loops_that_are_told_apart_by_all_but_their_conditions_are_found(monkeypatch):
    """The seed is the first that shows it."""
    monkeypatch.setattr(Program, "__eq__", lambda one, other: isinstance(other, Program))
    monkeypatch.setattr(Program, "__hash__", lambda one: 1)
    assert examine(make(359), runs=10).failure is not None, "no run showed it"


def test_every_place_is_made():
    assert {kind for seed in range(60) for kind, *_ in Body(seed).uses} == set(KINDS)
