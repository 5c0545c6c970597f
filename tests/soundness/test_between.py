"""Numbers between two others: what XLA computes lies within the bounds, fused or not, and not within tighter ones."""

from __future__ import annotations

import jax
import numpy as np
import pytest

from redzone.domains import TOP_FLOAT, Fact
from redzone.engine.between import bounded

COUNT = 4000
FORMS = {
    "from one": lambda a, b, t: a + (b - a) * t,
    "from one, turned around": lambda a, b, t: t * (b - a) + a,
    "of shares": lambda a, b, t: a * (1 - t) + b * t,
    "rounded at each step": lambda a, b, t: _apart(a + _apart(_apart(b - a) * t)),
    "shares rounded at each step": lambda a, b, t: _apart(_apart(a * _apart(1 - t)) + _apart(b * t)),
}


def _apart(x):
    return jax.lax.optimization_barrier(x)


def _points(seed):
    """Pairs near each other, far apart, of one sign and of both, equal, tiny; shares at the ends and next to them."""
    rng = np.random.default_rng(seed)
    size = np.float32(10.0) ** rng.integers(-44, 37, COUNT).astype(np.float32)
    a = (rng.uniform(-1, 1, COUNT) * size).astype(np.float32)
    near = (a * (1 + rng.integers(-3, 4, COUNT) * 2.0**-23)).astype(np.float32)
    b = np.where(rng.random(COUNT) < 0.3, near, (rng.uniform(-1, 1, COUNT) * size).astype(np.float32))
    a, b = np.where(rng.random(COUNT) < 0.4, np.abs(a), a), np.where(rng.random(COUNT) < 0.4, np.abs(b), b)
    ends = rng.choice(np.array([0.0, 1.0, 0.5, 1 - 2.0**-24, 2.0**-126, 2.0**-24], np.float32), COUNT)
    t = np.where(rng.random(COUNT) < 0.3, ends, rng.random(COUNT).astype(np.float32))
    return a.astype(np.float32), b.astype(np.float32), t.astype(np.float32)


def _outside(form, share=1.0):
    """How many of the results lie outside the bounds for their operands, or a share of the room those leave."""
    program, found = jax.jit(FORMS[form]), 0
    for seed in range(3):
        a, b, t = _points(seed)
        results = np.asarray(program(a, b, t), np.float64)
        for x, y, part, result in zip(*(v.astype(np.float64).tolist() for v in (a, b, t, results)), strict=True):
            facts = [Fact(v, v, 0) for v in (x, y, part)]
            bounds = bounded(TOP_FLOAT, *facts, share == 1.0 and "shares" not in form)
            lo, hi = min(x, y), max(x, y)
            found += not lo - share * (lo - bounds.lo) <= result <= hi + share * (bounds.hi - hi)
    return found


@pytest.mark.parametrize("form", FORMS)
def test_results_lie_within(form):
    assert not _outside(form)


def test_they_would_not_without_room():
    assert all(_outside(form, share=0.01) for form in ("from one", "of shares"))
