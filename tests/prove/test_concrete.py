"""What replays evaluate in numpy is what JAX evaluates, to the bit."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.frontend.compat import Literal, bind
from redzone.prove.concrete import evaluate, is_exact_here

WHOLE = np.array([[3, -128, 7], [0, 127, -1]], np.int8)
FLOATS = np.array([[0.5, np.nan, -0.0], [np.inf, 1e-40, -2.0]], np.float32)
EMPTY = np.zeros((0, 3), np.int32)
FLAGS = np.array([[True, False, True], [False, False, True]])

FUNCTIONS = {
    "stack": lambda x: jnp.stack([x, x[::-1]], axis=1),
    "rev": lambda x: lax.rev(x, (1,)),
    "pad": lambda x: lax.pad(x, jnp.ones((), x.dtype), [(1, -1, 0), (0, 2, 1)]),
    "cut": lambda x: lax.pad(x, jnp.ones((), x.dtype), [(-1, 0, 0), (-1, -1, 2)]),
    "cut to nothing": lambda x: lax.pad(x, jnp.ones((), x.dtype), [(-3, 1, 0), (0, 0, 0)]),
    "update": lambda x: lax.dynamic_update_slice(x, x[:1, :2], (jnp.int32(9), jnp.int32(-1))),
}
INTEGER_FUNCTIONS = {
    "abs": lax.abs,
    "sum": lambda x: lax.reduce_sum_p.bind(x, axes=(1,), out_sharding=None),
    "product": lambda x: lax.reduce_prod_p.bind(x, axes=(1,), out_sharding=None),
    "largest": lambda x: lax.reduce_max_p.bind(x, axes=(0,), out_sharding=None),
    "smallest": lambda x: lax.reduce_min_p.bind(x, axes=(0, 1), out_sharding=None),
    "or": lambda x: lax.reduce_or_p.bind(x, axes=(0,)),
    "cube": lambda x: lax.integer_pow(x, 3),
}
NUMBERS = {"bytes": WHOLE, "unsigned": WHOLE.view(np.uint8), "empty": EMPTY}


def _agree(function, x):
    """Every equation whose result numpy can tell, from the same values as JAX; whether there was one."""
    closed = jax.make_jaxpr(function)(x)
    values = dict(zip(closed.jaxpr.invars, [x], strict=True))
    values.update(zip(closed.jaxpr.constvars, closed.consts, strict=True))
    new = False
    for eqn in closed.jaxpr.eqns:
        args = [np.asarray(v.val if isinstance(v, Literal) else values[v]) for v in eqn.invars]
        theirs = [np.asarray(o) for o in bind(eqn, args)]
        if is_exact_here(eqn):
            (ours,) = evaluate(eqn, args)
            assert ours.dtype == theirs[0].dtype
            assert ours.shape == theirs[0].shape
            assert ours.tobytes() == theirs[0].tobytes(), eqn
            new = True
        values.update(zip(eqn.outvars, theirs, strict=True))
    return new


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("x", [WHOLE, FLOATS, FLAGS], ids=["bytes", "floats", "flags"])
def test_moving_elements_agrees_with_jax(name, x):
    assert _agree(FUNCTIONS[name], x)


@pytest.mark.parametrize("name", INTEGER_FUNCTIONS)
@pytest.mark.parametrize("kind", NUMBERS)
def test_arithmetic_of_whole_numbers_agrees_with_jax(name, kind):
    x = NUMBERS[kind]
    if name == "abs" and x.dtype.kind == "u":
        return
    if name == "or" and kind == "empty":
        x = FLAGS
    assert _agree(INTEGER_FUNCTIONS[name], x)


@pytest.mark.parametrize("name", ["sum", "product"])
def test_sums_of_floats_are_left_to_jax(name):
    assert not any(is_exact_here(eqn) for eqn in jax.make_jaxpr(INTEGER_FUNCTIONS[name])(FLOATS).jaxpr.eqns)
