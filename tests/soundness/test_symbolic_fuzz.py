"""A deterministic share of the random programs over symbolic sizes; `tests/fuzz/run.py --symbolic only` runs more."""

from __future__ import annotations

import jax
import pytest
from jax import export

from redzone.domains.symbolic import at_most
from tests.fuzz.at_size import AtSize, holds, number
from tests.fuzz.check import Discarded
from tests.fuzz.check_symbolic import examine
from tests.fuzz.run import described
from tests.fuzz.symbolic import make

SHARE = 4


def failure_of(seed):
    try:
        outcome = examine(make(seed), sizes=3, runs=2)
    except Discarded:
        return None
    return outcome if outcome.failure is not None else None


@pytest.mark.parametrize("first", range(0, 24, SHARE))
def test_random_programs_over_sizes_contradict_nothing(first):
    for seed in range(first, first + SHARE):
        outcome = failure_of(seed)
        assert outcome is None, described(outcome)


@pytest.mark.parametrize("seed", [113_025_760, 113_094_630, 26_133_340])
def test_sizes_that_once_could_not_be_compared(seed):
    """A value left out at the end of a range up to a size; one beside numbers kept apart; a minimum looked at again."""
    outcome = failure_of(seed)
    assert outcome is None, described(outcome)


def test_an_expression_of_sizes_is_read_as_jax_means_it():
    n, m = export.symbolic_shape("n,m")
    for expression in (2 * n + 1, n * n - m, (n + 3) // 4, n % 4 + m * 2, n - 9, jax.core.max_dim(n - m, 3)):
        for sizes in ({"n": 1, "m": 7}, {"n": 8, "m": 3}):
            assert number(expression, sizes) == expression._evaluate(sizes)
    assert number(7, {}) == 7
    assert holds(("mod(n, 4) == 0", "n >= 8"), {"n": 12}) and not holds(("mod(n, 4) == 0",), {"n": 10})


def test_a_program_at_a_size_has_the_equations_of_the_symbolic_one():
    subject = make(3).traced()
    here = AtSize(subject.jaxpr, {"n": 8, "m": 9})
    names = [eqn.primitive.name for eqn in subject.jaxpr.eqns]
    assert [eqn.primitive.name for eqn in here.closed.eqns] == names
    assert all(type(k) is int for eqn in here.closed.eqns for v in eqn.outvars for k in v.aval.shape)
    assert any(type(k) is not int for eqn in subject.jaxpr.eqns for v in eqn.outvars for k in v.aval.shape)


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("redzone.domains.fact.larger", lambda a, b: b if at_most(a, b) else a),
        ("redzone.domains.symbolic._plainly", lambda a, b: str(a) <= str(b)),
        ("redzone.rules.integers._remainder_by_size", lambda a, b, info: type(a)(0, b.hi - 2)),
    ],
)
def test_a_wrong_bound_of_sizes_is_found(monkeypatch, name, wrong):
    """Rules about sizes made wrong on purpose: some run contradicts what is claimed then."""
    monkeypatch.setattr(name, wrong)
    assert any(failure_of(seed) for seed in range(40)), "no run showed it"
