"""Promises that end at a number smaller than every normal one: XLA may take it for zero."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import redzone

TINY = 1e-40


def up(x, t):
    return x[(1 - jnp.ceil(t)).astype(np.int32) * 5]


def sign(x, t):
    return x[(1 - jnp.sign(t)).astype(np.int32) * 5]


def is_there(x, t):
    return x[jnp.where(t > 0, 0, 5)]


def assumed(x, t):
    return up(x, redzone.assume(t, min=TINY, max=1.0))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("function", [up, sign, is_there, assumed])
def test_the_end_may_be_zero(function, dtype):
    x, t = jax.ShapeDtypeStruct((1,), "float32"), redzone.Spec((), dtype, min=TINY, max=1.0, finite=True)
    (access,) = redzone.check(function, x, t).accesses
    assert access.verdict != "safe"
    if access.witness is not None:
        assert float(access.witness.arguments[1]) >= float(jnp.asarray(TINY, dtype))


def test_down_to_the_end_below_zero():
    def down(x, t):
        return x[(jnp.floor(t) + 1).astype(np.int32) * 5]

    t = redzone.Spec((), "float32", min=-1.0, max=-TINY, finite=True)
    (access,) = redzone.check(down, jax.ShapeDtypeStruct((1,), "float32"), t).accesses
    assert access.verdict != "safe"
