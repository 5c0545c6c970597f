"""What is told of NaN without evaluating anything is what JAX computes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from redzone.frontend.compat import bind
from redzone.prove.concrete_nan import nothing_but_nan, of_nan, passes_nan
from tests.soundness.catalogue import entries, equations

ENTRIES = {entry[0]: entry for entry in entries()}


def _equations():
    for label, entry in ENTRIES.items():
        for number, eqn in enumerate(equations(entry)):
            if passes_nan(eqn) is not None:
                yield pytest.param(eqn, id=f"{label} {number}")


@pytest.mark.parametrize("eqn", list(_equations()))
def test_nan_comes_out_where_it_is_said_to(eqn):
    passed = passes_nan(eqn)
    rng = np.random.default_rng(0)
    for position, counts in enumerate(passed[1]):
        if not jnp.issubdtype(eqn.invars[position].aval.dtype, jnp.floating):
            assert not counts
            continue
        values = [
            np.asarray(a.val, a.aval.dtype)
            if hasattr(a, "val")
            else np.asarray(rng.integers(0, 3, a.aval.shape)).astype(a.aval.dtype)
            for a in eqn.invars
        ]
        missing = nothing_but_nan(eqn.invars[position].aval.shape, eqn.invars[position].aval.dtype)
        values[position] = missing
        if counts:
            (told,) = of_nan(passed, values)
            (computed,) = bind(eqn, values)
            assert told.shape == computed.shape
            assert told.dtype == computed.dtype
            assert np.isnan(np.asarray(computed, np.float64)).all()
        else:
            assert of_nan(passed, values) is None


def test_a_power_of_nan_may_be_a_number():
    (eqn,) = jax.make_jaxpr(lambda x, y: x**y)(1.0, 1.0).jaxpr.eqns
    assert passes_nan(eqn) is None


def test_nothing_is_told_of_an_array_in_which_some_are_nan():
    (eqn,) = jax.make_jaxpr(jnp.sin)(jnp.zeros(3)).jaxpr.eqns
    some = np.array([np.nan, 0, 1], np.float32)
    assert of_nan(passes_nan(eqn), [some], looks=True) is None
    assert of_nan(passes_nan(eqn), [np.full(3, np.nan, np.float32)], looks=True) is not None


def test_nothing_is_told_of_a_sum_over_nothing():
    (eqn,) = jax.make_jaxpr(lambda x: x.sum(0))(jnp.zeros((0, 3))).jaxpr.eqns
    assert passes_nan(eqn) is None
