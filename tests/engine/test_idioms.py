"""jnp's quotients and remainders are known by their equations, whatever the shapes of their operands."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from redzone.domains import Fact
from redzone.engine.idioms import idiom_of
from redzone.frontend.compat import open_jaxpr

SHAPES = (((3,), (3,)), ((3,), ()), ((), (3,)), ((2, 3), (3,)), ((3,), (2, 3)), ((2, 3), (2, 1)), ((3,), (3, 1)))
SHAPES = (*SHAPES, ((2, 3, 2), (2,)), ((2,), (4, 3, 2)), ((3, 3), (3,)))


def _equation(function, *shapes):
    structs = [jax.ShapeDtypeStruct(shape, jnp.int32) for shape in shapes]
    eqn = jax.make_jaxpr(function)(*structs).eqns[-1]
    return eqn, open_jaxpr(eqn.params["jaxpr"])[0]


def _fact(rng, values):
    """Bounds around values: for all together, or for some along each dimension."""
    lo, hi = values - rng.integers(0, 4, values.shape), values + rng.integers(0, 4, values.shape)
    if rng.integers(2) or not values.ndim:
        return Fact(int(lo.min()), int(hi.max()))
    axes = tuple(d for d in range(values.ndim) if rng.integers(2))
    return Fact(lo.min(axis=axes, keepdims=True), hi.max(axis=axes, keepdims=True))


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
@pytest.mark.parametrize("function", [jnp.remainder, jnp.floor_divide])
def test_what_they_yield_is_what_is_said(function, shapes):
    eqn, inner = _equation(function, *shapes)
    rule = idiom_of(eqn, inner)
    assert rule is not None
    rng = np.random.default_rng(0)
    for _ in range(60):
        a, b = (rng.integers(-9, 10, shape) for shape in shapes)
        b = np.where(b == 0, 1, b)
        fact = rule.apply(eqn, _fact(rng, a), _fact(rng, b))
        result = {"remainder": np.mod, "floor_divide": np.floor_divide}[function.__name__](a, b)
        assert np.all((fact.lo <= result) & (result <= fact.hi)), (a, b, fact)


def test_only_ranks_that_differ_are_no_longer_pointwise():
    known = {shapes: idiom_of(*_equation(jnp.remainder, *shapes)) for shapes in SHAPES}
    assert [shapes for shapes, rule in known.items() if not rule.pointwise] == [
        shapes for shapes in SHAPES if len(shapes[0]) != len(shapes[1]) and all(shapes)
    ]


def test_along_another_dimension_is_another_function():
    def remainder(a, b):
        return jnp.remainder(a, jax.lax.broadcast_in_dim(b, (3, 3), (0,)))

    eqn, inner = _equation(jax.jit(remainder), (3, 3), (3,))
    assert eqn.params["name"] == "remainder"
    assert idiom_of(eqn, inner) is None
