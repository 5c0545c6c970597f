"""The exact stage inside loops: nests of every kind against runs that visit each iteration."""

from __future__ import annotations

import pytest

import redzone
from redzone.prove import element_loops, elements
from tests.fuzz.check import Discarded, examine
from tests.fuzz.nests import KINDS, Body, make

SHARE = 8


def failure_of(seed):
    try:
        outcome = examine(make(seed), runs=5)
    except (Discarded, OverflowError):  # JAX takes no -1 for an unsigned integer
        return None
    return outcome if outcome.failure is not None else None


@pytest.mark.parametrize("first", range(0, 40, SHARE))
def test_no_run_of_a_nest_contradicts_what_was_found(first):
    for seed in range(first, first + SHARE):
        outcome = failure_of(seed)
        assert outcome is None, str(outcome.failure)


def _one_fewer(right):
    """The last iteration is forgotten."""

    def iteration(elements, context, place=()):
        t = right(elements, context, place)
        (atom,) = t.terms
        atom.hi = min(atom.hi, max(atom.lo, atom.hi - 1))
        return t

    return iteration


def _steps_twice_as_far(change_of):
    def wrong(*args):
        change = change_of(*args)
        return change and (2 * change[0], 2 * change[1])

    return wrong


TWINS = [
    ("one iteration fewer", "iteration", _one_fewer, 124),
    ("counters twice as fast", "change_of", _steps_twice_as_far, 76),
]


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(("name", "what", "wrong", "seed"), TWINS, ids=[t[0] for t in TWINS])
def test_a_wrong_twin_is_found(monkeypatch, name, what, wrong, seed):
    """The seeds are the first that show it."""
    twin = wrong(getattr(element_loops, what))
    for module in (element_loops, elements):
        monkeypatch.setattr(module, what, twin, raising=module is element_loops)
    assert failure_of(seed) is not None, "no run showed it"


def test_every_kind_of_loop_is_made():
    seen = set()

    class Noting(Body):
        pass

    for kind in KINDS:
        go = getattr(Body, f"_{kind}")
        setattr(Noting, f"_{kind}", lambda self, *args, kind=kind, go=go: seen.add(kind) or go(self, *args))
    for seed in range(40):
        try:
            nest = make(seed)
            redzone.check(Noting(seed, 0).program, *(redzone.Spec(a.shape, a.dtype) for a in nest.arguments))
        except (redzone.CannotCheck, OverflowError):
            continue
    assert seen == set(KINDS)
