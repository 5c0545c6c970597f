"""Marks, tables of places, flags, counters that wrap and runs of elements around a table that just fits."""

from __future__ import annotations

import pytest

from redzone.domains import Fact
from redzone.engine import consecutive, loops, resting, spent
from tests.fuzz.check import Discarded, examine
from tests.fuzz.fitted import LATER, Fitted, make
from tests.fuzz.run import described

SHARE = 8


def contradiction(seed):
    try:
        outcome = examine(make(seed, later=True), runs=5)
    except (Discarded, OverflowError):  # JAX takes no -1 for an unsigned integer
        return None
    return outcome if outcome.failure is not None else None


@pytest.mark.parametrize("first", range(0, 40, SHARE))
def test_no_run_contradicts_what_was_found(first):
    for seed in range(first, first + SHARE):
        outcome = contradiction(seed)
        assert outcome is None, described(outcome)


def test_every_maker_is_chosen():
    names = {Fitted(seed, (), 0, later=True).name() for seed in range(100)}
    assert names == {maker.__name__ for maker, _ in LATER}


def _grown_less(right):
    """Carries come one less far than they do."""

    def grown(*args):
        bounds = right(*args).items()
        plain = {i: fact for i, fact in bounds if type(fact.lo) is type(fact.hi) is int and fact.lo < fact.hi}
        return dict(bounds) | {i: Fact(fact.lo, fact.hi - 1) for i, fact in plain.items()}

    return grown


def _counted_less(right):
    """Where a flag holds a counter is one less far than it may be."""

    def counted(*args):
        return {
            flag: {1: {slot: Fact(fact.lo, fact.hi - 1) for slot, fact in where[1].items()}}
            for flag, where in right(*args).items()
        }

    return counted


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(
    ("module", "name", "wrong", "seed"),
    [
        (spent, "_is_marked", lambda right: lambda *args: True, 3),
        (resting, "grown", _grown_less, 3),
        (loops, "where_counted", _counted_less, 81),
        (consecutive, "_first", lambda right: lambda *args: 0, 241),
    ],
    ids=["whatever is written marks", "a step too few", "less than there is room for", "all places follow one another"],
)
def test_a_wrong_twin_is_found(monkeypatch, module, name, wrong, seed):
    """The seeds are the first that show it."""
    monkeypatch.setattr(module, name, wrong(getattr(module, name)))
    assert contradiction(seed) is not None
