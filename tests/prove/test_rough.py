"""Floats computed roughly by numpy: close to JAX, and nothing is claimed on their word alone."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.frontend.compat import bind, open_jaxpr
from redzone.prove import replay
from redzone.prove.rough import _FOLDS, _POINTWISE, _RUNNING, roughly

_X = np.linspace(0.1, 2.9, 12, dtype=np.float32).reshape(3, 4)
_TWO = {"add", "sub", "mul", "div", "rem", "pow", "max", "min", "atan2", "lt", "le", "gt", "ge", "eq", "ne"}


def _function(name):
    if name in _FOLDS:
        reduce = {"reduce_sum": jnp.sum, "reduce_prod": jnp.prod, "reduce_max": jnp.max, "reduce_min": jnp.min}[name]
        return lambda x: reduce(x, axis=1)
    if name in _RUNNING:
        return lambda x: getattr(lax, name)(x, axis=1, reverse=True)
    if name in _TWO:
        return lambda x: getattr(lax, name)(x, x[::-1])
    if name in ("asin", "acos", "atanh", "erf_inv"):
        return lambda x: getattr(lax, name)(x / 3)
    return (lambda x: lax.acosh(x + 1)) if name == "acosh" else getattr(lax, name)


_OTHERS = ("integer_pow", "dot_general", "scatter-add", "scatter-mul")


@pytest.mark.parametrize("name", [*_POINTWISE, *_FOLDS, *_RUNNING, *_OTHERS])
def test_close_to_jax(name):
    function = {
        "integer_pow": lambda x: x**3,
        "scatter-add": lambda x: x.at[jnp.array([1, 0, 1, 5])].add(x.T[:, :1]),
        "scatter-mul": lambda x: x.at[:, jnp.array([1, 0, 1])].mul(x[:, :3]),
        "dot_general": lambda x: jnp.einsum("bij,bkj->bik", x.reshape(3, 2, 2), x[::-1].reshape(3, 2, 2)),
    }.get(name) or _function(name)
    jaxpr, consts = open_jaxpr(jax.make_jaxpr(function)(_X))
    values, met = {jaxpr.invars[0]: _X, **dict(zip(jaxpr.constvars, consts, strict=True))}, 0
    for eqn in jaxpr.eqns:
        given = [v.val if hasattr(v, "val") else values[v] for v in eqn.invars]
        theirs = bind(eqn, given)
        if eqn.primitive.name == name:
            (mine,) = roughly(eqn, given)
            assert mine.dtype == theirs[0].dtype
            np.testing.assert_allclose(mine, np.asarray(theirs[0]), rtol=1e-4, atol=1e-6)
            met += 1
        values |= dict(zip(eqn.outvars, theirs, strict=True))
    assert met


def _share(x, weights):
    at = jnp.searchsorted(jnp.cumsum(weights), weights[0] + 1.0)
    return x.at[at].get(mode="promise_in_bounds")


def test_what_is_found_roughly_is_shown_by_jax(monkeypatch):
    shapes = jax.ShapeDtypeStruct((4,), np.float32), jax.ShapeDtypeStruct((4,), np.float32)
    report = redzone.check(_share, *shapes)
    assert report.accesses[-1].verdict == "unsafe"
    assert report.accesses[-1].witness.index == (4,)
    # A sum that numpy gets wrong leads nowhere.
    right = replay.roughly
    monkeypatch.setattr(
        replay, "roughly", lambda eqn, values: None if (r := right(eqn, values)) is None else [r[0] * 0 - 9]
    )

    def inside(x, weights):
        at = jnp.searchsorted(jnp.cumsum(jnp.abs(weights)), -1.0)
        return x.at[at].get(mode="promise_in_bounds")

    assert redzone.check(inside, *shapes).accesses[-1].verdict == "unknown"


def test_no_word_about_a_write_that_was_promised_to_be_inside():
    function = lambda x: x.at[jnp.array([1, 9])].add(1.0, mode="promise_in_bounds")  # noqa: E731
    jaxpr, _ = open_jaxpr(jax.make_jaxpr(function)(_X))
    (eqn,) = (e for e in jaxpr.eqns if e.primitive.name == "scatter-add")
    assert roughly(eqn, [_X, np.array([[1], [9]], np.int32), np.ones((2, 4), np.float32)]) is None


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float8_e4m3fn"])
def test_products_of_narrow_floats(dtype):
    x = jnp.asarray(_X).astype(dtype)
    (eqn,) = jax.make_jaxpr(lambda x: lax.dot_general(x, x, (((1,), (1,)), ((), ()))))(x).jaxpr.eqns
    (mine,), (theirs,) = roughly(eqn, [np.asarray(x), np.asarray(x)]), bind(eqn, [x, x])
    assert mine.dtype == theirs.dtype
    np.testing.assert_allclose(mine.astype(np.float32), np.asarray(theirs).astype(np.float32), rtol=0.2)
