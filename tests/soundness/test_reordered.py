"""Floats that XLA computes in another order than written: what a compiled program yields, its fact holds."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from redzone.domains import Fact
from redzone.engine import analyse, reordered

LARGE, SMALL, NEAR = (1.1e20, 1.2e20), (1.1e-20, 1.3e-20), (0.7, 13.0)
PROGRAMS = {
    "sum": (lambda x: (x + 16777216.0) + 0.5, [(-16777216.0, -16777216.0)]),
    "sum from": (lambda x: 0.5 - (16777216.0 - x), [(16777216.0, 16777216.0)]),
    "sum of three": (lambda x: ((x + 0.1) + 0.2) - 0.25, [(-0.25, 0.25)]),
    "half of each": (lambda x, y: x * 0.5 + y * 0.5, [(2.0e38, 2.1e38), (2.0e38, 2.1e38)]),
    "half of some": (lambda x, y: x * 0.5 + y * 0.5, [NEAR, NEAR]),
    "sum of halves": (lambda x: (x + 16.0) + 0.5, [(-16.0, 16.0)]),
    "constants": (lambda x: (x * 1e-30) * 1e-30, [(1.2e36, 1.3e36)]),
    "inverse constants": (lambda x: (x / 1e30) * 1e-30, [(1.2e36, 1.3e36)]),
    "large constants": (lambda x: (x / 1e-30) / 1e-30, [(0.0, 1e-35)]),
    "constants made of others": (lambda x: (x * (jnp.ones(()) * 1e-30)) * 1e-30, [(1.2e36, 1.3e36)]),
    "near constants": (lambda x: (x * 0.3) / 0.7, [NEAR]),
    "scaled": (lambda x, y: (x * 1e-20) * (y * 1e-20), [LARGE, LARGE]),
    "scaled up": (lambda x, y: (x * 1e17) * (y * 1e18), [SMALL, SMALL]),
    "scaled a little": (lambda x, y: (x * 0.1) * (y / 0.3), [NEAR, NEAR]),
    "square": (lambda x: jnp.square(x * 1e-20), [LARGE]),
    "cube": (lambda x: (x * 1e-20) ** 3, [LARGE]),
    "power": (lambda x: jnp.power(x * 1e-20, jnp.float32(2.0)), [LARGE]),
    "cube of a little": (lambda x: (x * 0.3) ** 3, [NEAR]),
    "divided twice": (lambda x, y, z: (x / y) / z, [SMALL, SMALL, SMALL]),
    "divided twice by much": (lambda x, y, z: (x / y) / z, [(1e38, 2e38), LARGE, LARGE]),
    "divided twice by some": (lambda x, y, z: (x / y) / z, [NEAR, NEAR, NEAR]),
    "by a quotient": (lambda x, y, z: x / (y / z), [LARGE, (1e30, 1e30), LARGE]),
    "by a small quotient": (lambda x, y, z: x / (y / z), [SMALL, (1e-30, 1e-30), SMALL]),
    "by some quotient": (lambda x, y, z: x / (y / z), [NEAR, NEAR, NEAR]),
    "in a call": (lambda x, y: jax.jit(lambda x: x * 1e-20)(x) * (y * 1e-20), [LARGE, LARGE]),
    "quotient in a call": (lambda x, y: jax.jit(lambda x, y: x / y)(x, y) / y, [SMALL, SMALL]),
    "by much": (lambda x: x / 2.5e38, [(2.6e38, 3e38)]),
    "by an exponential": (lambda x, y: x / jnp.exp(y), [(2.5e38, 3e38), (88.0, 88.0)]),
}


def outside(name: str) -> list[float]:
    """What a program yields, compiled, that its fact does not hold."""
    function, ranges = PROGRAMS[name]
    closed = jax.make_jaxpr(function)(*[jax.ShapeDtypeStruct((), np.float32)] * len(ranges))
    ends = [(float(np.float32(lo)), float(np.float32(hi))) for lo, hi in ranges]
    facts = [Fact(lo, hi, int(lo != hi)) for lo, hi in ends]
    (fact,) = analyse(closed, facts, everything=True).facts[id(closed.jaxpr.eqns[-1])]
    compiled, random = jax.jit(function), np.random.default_rng(0)
    points = [[hi for _, hi in ends], [lo for lo, _ in ends]]
    points += [[random.uniform(lo, hi) for lo, hi in ends] for _ in range(8)]
    found = [np.asarray(compiled(*map(np.float32, point))) for point in points]
    return [float(x) for x in found if not fact.contains(x)]


@pytest.mark.parametrize("name", PROGRAMS)
def test_compiled_lies_in_its_fact(name):
    assert not outside(name)


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(
    ("part", "wrong", "name"),
    [
        ("_by_sign", lambda found: found, "scaled"),
        ("_moved", lambda found, off: found, "sum"),
        ("_is_far", lambda apart, info: False, "constants"),
        ("_of_number", lambda x: reordered.Constant(abs(x), abs(x), 2.0), "sum"),
        ("_factors", lambda frame, atom: reordered._NO_FACTORS, "square"),
    ],
)
def test_wrong_twins_are_found(monkeypatch, part, wrong, name):
    monkeypatch.setattr(reordered, part, wrong)
    assert outside(name)
