"""A deterministic share of the random programs; `make fuzz N=…` runs as many as there is time for."""

from __future__ import annotations

import jax
import pytest

from tests.fuzz.check import Discarded, examine
from tests.fuzz.generate import make
from tests.fuzz.run import described

SHARE = 8
"""Programs in each test; the seeds are fixed, so a failure here is a change in redzone."""


@pytest.mark.parametrize("first", range(0, 96, SHARE))
def test_random_programs_contradict_nothing(first):
    for seed in range(first, first + SHARE):
        try:
            outcome = examine(make(seed), contracts=2)
        except Discarded:
            continue
        assert outcome.failure is None, described(outcome)


def test_random_programs_with_wide_types_contradict_nothing():
    with jax.enable_x64(True):
        for seed in range(10_000, 10_000 + SHARE):
            try:
                outcome = examine(make(seed, wide=True))
            except Discarded:
                continue
            assert outcome.failure is None, described(outcome)


def test_the_generator_reaches_every_structure():
    seen: set[str] = set()

    def collect(jaxpr):
        for eqn in jaxpr.eqns:
            seen.add(eqn.primitive.name)
            for value in eqn.params.values():
                for inner in value if isinstance(value, tuple) else (value,):
                    inner = getattr(inner, "jaxpr", inner)
                    if hasattr(inner, "eqns"):
                        collect(inner)

    for seed in range(150):
        try:
            collect(make(seed).trace().jaxpr)
        except (TypeError, ValueError):
            continue
    assert seen >= {
        "jit",
        "cond",
        "scan",
        "while",
        "gather",
        "scatter",
        "dynamic_slice",
        "dynamic_update_slice",
    }
    assert seen >= {
        "scatter-add",
        "sort",
        "argmax",
        "cumsum",
        "clamp",
        "rem",
        "div",
        "convert_element_type",
        "select_n",
    }
    assert len(seen) > 70, sorted(seen)
