"""What was read outside, followed to the results: whether an input shows anything."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.engine import analyse
from redzone.frontend.trace import trace
from redzone.prove.visible import is_visible

X, LAST = np.arange(9, dtype=np.float32), np.int32(9)
ROWS, LANES = np.stack([X, X, X]), np.array([2, 9, 0], np.int32)


def seen(function, *arguments):
    """Whether what each read of a program finds outside is visible on these inputs."""
    traced = trace(function, arguments, {})
    inventory = analyse(traced.jaxpr, [source.fact() for source in traced.inputs]).inventory
    reads = [site for site in inventory.sites.values() if site.effect == "read"]
    return [is_visible(traced.jaxpr, site, list(arguments), 1) for site in reads]


def written(function, *arguments):
    """The same of each write."""
    traced = trace(function, arguments, {})
    inventory = analyse(traced.jaxpr, [source.fact() for source in traced.inputs]).inventory
    writes = [site for site in inventory.sites.values() if site.effect == "write"]
    return [is_visible(traced.jaxpr, site, list(arguments), 1) for site in writes]


def read(x, i):
    return x.at[i].get(mode="promise_in_bounds")


def swapped(x, i):
    return lax.cond(i < 8, lambda: x.at[i].set(read(x, i + 1)), lambda: x)


def summed(x, n):
    return lax.fori_loop(0, n, lambda k, total: total + read(x, k), 0.0)


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x, i: jnp.where(i < 9, x.at[0].set(read(x, i)), x), (X, LAST)),
        (lambda x, i: jnp.where(i < 9, jnp.stack([read(x, i), x[0]]), 0.0), (X, LAST)),
        (lambda x, i: (i < 9) & (read(x, i) > 0), (X, LAST)),
        (lambda x, i: (i >= 9) | (read(x, i) > 0), (X, LAST)),
        (lambda x, i: jnp.where(i < 9, jnp.where(read(x, i) > 0, 1.0, 2.0), 0.0), (X, LAST)),
        (jax.vmap(swapped), (ROWS, LANES)),
        (lambda x, i: lax.scan(lambda c, k: (jnp.where(k < 9, read(x, k), c), None), 0.0, i)[0], (X, LANES)),
    ],
)
def test_thrown_away(function, arguments):
    assert not all(seen(function, *arguments))


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x, i: jnp.where(i < 10, x.at[0].set(read(x, i)), x), (X, LAST)),
        (lambda x, i: jnp.where(read(x, i) > 0, 1.0, 2.0), (X, LAST)),
        (lambda x, i: lax.cond(read(x, i) > 0, lambda: 1.0, lambda: 2.0), (X, LAST)),
        (lambda x, i: jnp.where(i < 9, 0.0, x[read(x, i).astype(int) % 9]), (X, LAST)),
        (lambda x, i: (i < 10) & (read(x, i) > 0), (X, LAST)),
        (lambda x, i: (i < 9) | (read(x, i) > 0), (X, LAST)),
        (lambda x, i: lax.while_loop(lambda c: c < read(x, i), lambda c: c + 1.0, 0.0), (X, LAST)),
        (lambda x, i: jnp.sort(jnp.where(jnp.arange(3) < 1, read(x, i), 0.0)), (X, LAST)),
        (jax.vmap(summed), (ROWS, np.array([10, 3, 0], np.int32))),
    ],
)
def test_seen(function, arguments):
    assert seen(function, *arguments)[0]


def put(x, i):
    return x.at[i].set(1.0, mode="promise_in_bounds")


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (lambda x, i: jnp.where(i < 9, put(x, i), x), (X, LAST)),
        (lambda x, i: jnp.where(i < 9, jnp.sort(put(x, i)), x), (X, LAST)),
        (lambda x, i: jnp.where(i < 9, lax.dynamic_update_slice(x, x[:2], (i,)), x), (X, LAST)),
        (lambda x, i: lax.cond(i < 9, lambda y: y, lambda y: x, put(x, i)), (X, LAST)),
        (jax.vmap(lambda x, i: jnp.where(i < 9, put(x, i), x)), (ROWS, LANES)),
        (lambda x, i: x.at[i].max(jnp.where(i < 9, 1.0, -jnp.inf)), (X, LAST)),
        (lambda x, i: x.at[i].add(jnp.where(i < 9, 1.0, 0.0)), (X, LANES)),
    ],
)
def test_written_and_thrown_away(function, arguments):
    assert written(function, *arguments) == [False]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (put, (X, LAST)),
        (lambda x, i: jnp.where(i < 10, put(x, i), x), (X, LAST)),
        (lambda x, i: put(x, i)[0], (X, LAST)),
        (lambda x, i: x.at[i].max(jnp.where(i < 9, 1.0, 0.0)), (X, LAST)),
        (jax.vmap(lambda x, i: jnp.where(i < 10, put(x, i), x)), (ROWS, LANES)),
        # Another lane is what is thrown away.
        (lambda x, i: jnp.where(i[::-1, None] < 9, jax.vmap(put)(x, i), x), (ROWS, np.array([9, 2, 0], np.int32))),
    ],
)
def test_written_and_seen(function, arguments):
    assert written(function, *arguments) == [True]


def shown(x, i):
    jax.debug.callback(lambda _: None, read(x, i))
    return jnp.where(i < 9, read(x, i), 0.0)


def shown_where_it_is_inside(x, i):
    jax.debug.callback(lambda _: None, jnp.where(i < 9, read(x, i), 0.0))
    return x[0]


def test_what_is_printed_is_seen():
    assert seen(shown, X, LAST) == [True, False]
    assert seen(shown_where_it_is_inside, X, LAST) == [False]
