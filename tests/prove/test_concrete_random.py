"""Random numbers by numpy: the very bits that JAX draws."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import redzone
from redzone.frontend.compat import bind, open_jaxpr
from redzone.prove.concrete_random import is_key, random_function, words
from redzone.prove.pasted import pasted

KEY = jax.random.key(5)
KEYS = jax.random.split(jax.random.key(1), 4)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (lambda k: jax.random.bits(k, (7, 3)), (KEY,)),
        (lambda k: jax.random.bits(k, (7,), np.uint8), (KEY,)),
        (lambda k: jax.random.bits(k, (), np.uint16), (KEY,)),
        (lambda k: jax.random.split(k, 5), (KEY,)),
        (lambda k: jax.random.split(k, (2, 3)), (KEY,)),
        (lambda k: jax.random.fold_in(k, 77), (KEY,)),
        (jax.random.key, (jnp.int32(-5),)),
        (jax.random.key, (jnp.uint32(4_000_000_000),)),
        (jax.vmap(lambda k: jax.random.bits(k, (3,))), (KEYS,)),
        (jax.vmap(lambda k: jax.random.split(k, 3)), (KEYS,)),
        (jax.vmap(jax.random.fold_in), (KEYS, jnp.arange(4))),
        (lambda k: k[2], (KEYS,)),
        (lambda k: k.reshape(2, 2).T, (KEYS,)),
        (lambda k: jnp.stack(list(k)[::-1]), (KEYS,)),
        (lambda k: jnp.broadcast_to(k, (3,)), (KEY,)),
        (lambda k: jnp.concatenate([k, k]), (KEYS,)),
        (jax.random.clone, (KEY,)),
        (jax.random.key_data, (KEYS,)),
    ],
)
def test_as_jax_does(function, args):
    jaxpr, consts = open_jaxpr(jax.make_jaxpr(function)(*args))
    values = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))
    met = False
    for eqn in jaxpr.eqns:
        given = [v.val if hasattr(v, "val") else values[v] for v in eqn.invars]
        theirs = bind(eqn, given)
        drawn = random_function(eqn)
        if drawn is not None:
            with np.errstate(over="ignore"):
                mine = drawn(eqn, *[words(v) if is_key(v) else np.asarray(v) for v in given])
            for one, other in zip(mine if isinstance(mine, list) else [mine], theirs, strict=True):
                plain = words(other) if is_key(other) else np.asarray(other)
                np.testing.assert_array_equal(one, plain)
                assert np.asarray(one).dtype == plain.dtype
            met = True
        values |= dict(zip(eqn.outvars, theirs, strict=True))
    assert met


def test_other_generators_are_left_to_jax():
    key = jax.random.key(0, impl="rbg")
    jaxpr, _ = open_jaxpr(jax.make_jaxpr(lambda k: jax.random.bits(k, (3,)))(key))
    assert random_function(jaxpr.eqns[0]) is None


def test_where_places_are_counted_together():
    with jax.threefry_partitionable(False):
        jaxpr, _ = open_jaxpr(jax.make_jaxpr(lambda k: jax.random.bits(k, (3,)))(KEY))
        assert random_function(jaxpr.eqns[0]) is None


@pytest.mark.parametrize("key", [jax.random.key(7), jnp.broadcast_to(jax.random.key(7), (2, 3)), KEYS])
def test_a_key_ready_to_paste(key):
    again = eval(pasted(key), {"jax": jax, "jnp": jnp})
    assert again.dtype == key.dtype
    np.testing.assert_array_equal(words(again), words(key))


@pytest.mark.parametrize("key", [jax.random.key(0), jax.ShapeDtypeStruct((2,), "uint32")])
@pytest.mark.parametrize(
    ("draw", "size"),
    [
        (lambda k: jax.random.randint(k, (8,), 0, 100), 50),
        (lambda k: jax.random.permutation(k, 100), 99),
        (lambda k: jax.random.choice(jax.random.split(k)[1], 100, (4,)), 50),
        (lambda k: (jax.random.uniform(k) * 11).astype(int), 10),
        (lambda k: jax.random.categorical(k, jnp.zeros(10)), 9),
        (lambda k: jax.vmap(lambda one: jax.random.randint(one, (), 0, 100))(jax.random.split(k, 8)), 50),
    ],
)
def test_a_draw_that_leaves_its_array(draw, size, key):
    report = redzone.check(lambda x, k: x[draw(k)], jax.ShapeDtypeStruct((size,), "float32"), key)
    access = report.accesses[-1]
    assert access.verdict == "unsafe"
    assert np.max(draw(access.witness.arguments[1])) >= size
