"""What numpy evaluates in place of JAX is what JAX computes, to the bit."""

from __future__ import annotations

import random

import numpy as np
import pytest

from redzone.frontend.compat import bind
from redzone.prove.concrete import exactly, is_exact_here
from tests.soundness.catalogue import entries, equations
from tests.soundness.facts import point_inside, random_fact

ENTRIES = {entry[0]: entry for entry in entries()}


def _points(eqn, rng):
    for atom in eqn.invars:
        if hasattr(atom, "val"):
            yield np.asarray(atom.val, atom.aval.dtype)
        else:
            yield point_inside(
                rng, random_fact(rng, atom.aval.shape, atom.aval.dtype), atom.aval.shape, atom.aval.dtype
            )


@pytest.mark.parametrize("label", ENTRIES)
def test_numpy_computes_what_jax_does(label):
    rng = random.Random(label)
    for eqn in equations(ENTRIES[label]):
        if not is_exact_here(eqn):
            continue
        for _ in range(2):
            values = list(_points(eqn, rng))
            if any(v.dtype.kind == "f" and _is_subnormal(v) for v in values):
                continue
            results = exactly(eqn, values)
            if results is None:
                continue
            for mine, theirs in zip(results, bind(eqn, values), strict=True):
                theirs = np.asarray(theirs)
                assert mine.dtype == theirs.dtype and mine.shape == theirs.shape
                assert np.array_equal(mine, theirs, equal_nan=mine.dtype.kind == "f"), (eqn, values)


def _is_subnormal(value):
    return bool(np.any((np.abs(value) < 1e-37) & (value != 0)))


@pytest.mark.parametrize(
    "primitive",
    [
        "scatter",
        "scatter_add",
        "dynamic_update_slice",
        "sort",
        "stack",
        "unstack",
        "split",
        "tile",
        "rev",
        "reduce_max",
        "reduce_sum",
    ],
)
def test_some_of_them_are_evaluated(primitive):
    rng = random.Random(primitive)
    done = 0
    for entry in ENTRIES.values():
        for eqn in equations(entry):
            if eqn.primitive.name.replace("-", "_") == primitive and is_exact_here(eqn):
                done += exactly(eqn, list(_points(eqn, rng))) is not None
    assert done
