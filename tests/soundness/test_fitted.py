"""Programs around a table that just fits: state arrays and the habits of real code, against runs at the edge."""

from __future__ import annotations

import importlib.util

import pytest

import redzone
from redzone.engine import windows
from redzone.prove import solver
from tests.cases.readings import far_steps_of_a_loop
from tests.fuzz.check import Discarded, examine
from tests.fuzz.fitted import MAKERS, Fitted, make
from tests.fuzz.run import described

SHARE = 12


def contradiction(seed):
    try:
        outcome = examine(make(seed), runs=5)
    except (Discarded, OverflowError):  # JAX takes no -1 for an unsigned integer
        return None
    return outcome if outcome.failure is not None else None


@pytest.mark.parametrize("first", range(0, 72, SHARE))
def test_no_run_contradicts_what_was_found(first):
    for seed in range(first, first + SHARE):
        outcome = contradiction(seed)
        assert outcome is None, described(outcome)


def test_every_maker_is_chosen():
    names = {Fitted(seed, (), 0).name() for seed in range(600)}
    assert names == {maker.__name__ for maker, _ in MAKERS}


def first_seeds(maker, count):
    """The first seeds of one maker."""
    seeds = (seed for seed in range(10_000) if Fitted(seed, (), 0).name() == maker)
    return [next(seeds) for _ in range(count)]


def _forgotten(build, eqn, frame, want):
    """What was written is not there."""
    windows.ask(build, eqn, frame, eqn.invars[0], want)
    return True


@pytest.mark.changes_the_engine
def test_a_write_forgotten_is_found(monkeypatch):
    for primitive, move in windows._MOVES.items():
        if move is windows._written:
            monkeypatch.setitem(windows._MOVES, primitive, _forgotten)
    assert any(contradiction(seed) for seed in first_seeds("written_and_read", 20)), "no run showed it"


@pytest.mark.changes_the_engine
def test_the_other_case_of_a_select_is_found(monkeypatch):
    """Behind a case of a select, another by the same condition takes the other case."""
    right = windows._case_behind

    def other(*args):
        case = right(*args)
        return case if case < 0 else 1 - case

    monkeypatch.setattr(windows, "_case_behind", other)
    assert any(contradiction(seed) for seed in first_seeds("selected_twice", 20)), "no run showed it"


@pytest.mark.changes_the_engine
def test_a_solver_that_rules_out_everything_is_found(monkeypatch):
    monkeypatch.setattr(solver, "rules_out", lambda *args: True)
    assert any(contradiction(seed) for seed in first_seeds("bits", 20)), "no run showed it"


@pytest.mark.changes_the_engine
@pytest.mark.skipif(importlib.util.find_spec("z3") is None, reason="z3 is an extra")
def test_a_solver_with_too_few_bits_is_found(monkeypatch):
    specs = redzone.Spec((10,), "float32"), redzone.Spec((20,), "bool")
    assert "unsafe" in {str(access.verdict) for access in redzone.check(far_steps_of_a_loop, *specs).accesses}
    monkeypatch.setattr(solver.Tied, "width", lambda *_: solver.WIDE)
    assert {str(access.verdict) for access in redzone.check(far_steps_of_a_loop, *specs).accesses} == {"safe"}
