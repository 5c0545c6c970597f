"""The programs people ask about first: vector addition, a nested loop of conditionals, run-time indices."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
from jax import lax

from . import Made, floats, ints, program


def unrolled_conditionals(n: int) -> Callable[[jax.Array], jax.Array]:
    """Python loops over an n×n array: each element's conditional becomes equations of its own."""

    def double_or_zero(x: jax.Array) -> jax.Array:
        for i in range(n):
            for j in range(n):
                x = lax.cond(
                    x[i, j] > 0,
                    lambda x, i=i, j=j: x.at[i, j].set(x[i, j] * 2),
                    lambda x, i=i, j=j: x.at[i, j].set(0.0),
                    x,
                )
        return x

    return double_or_zero


def looped_conditionals(n: int) -> Callable[[jax.Array], jax.Array]:
    """The same with `fori_loop`: a handful of equations whatever n is."""

    def element(i: jax.Array, j: jax.Array, x: jax.Array) -> jax.Array:
        return lax.cond(
            x[i, j] > 0,
            lambda x: x.at[i, j].set(x[i, j] * 2),
            lambda x: x.at[i, j].set(0.0),
            x,
        )

    def double_or_zero(x: jax.Array) -> jax.Array:
        def row(i: jax.Array, x: jax.Array) -> jax.Array:
            return lax.fori_loop(0, n, lambda j, x: element(i, j, x), x)

        return lax.fori_loop(0, n, row, x)

    return double_or_zero


@program("example/vector_add_1000")
def vector_add() -> Made:
    return lambda a, b: a + b, (floats(1000), floats(1000))


@program("example/nested_unrolled_10x10")
def nested_10() -> Made:
    return unrolled_conditionals(10), (floats(10, 10),)


@program("example/nested_unrolled_20x20")
def nested_20() -> Made:
    return unrolled_conditionals(20), (floats(20, 20),)


@program("example/nested_unrolled_40x40")
def nested_40() -> Made:
    return unrolled_conditionals(40), (floats(40, 40),)


@program("example/nested_unrolled_100x100")
def nested_100() -> Made:
    return unrolled_conditionals(100), (floats(100, 100),)


@program("example/nested_fori_100x100")
def nested_fori() -> Made:
    return looped_conditionals(100), (floats(100, 100),)


@program("example/dynamic_indexing")
def dynamic_indexing() -> Made:
    return lambda x, indices: x[indices], (floats(100_000), ints(1000))


@program("example/dynamic_indexing_clipped")
def dynamic_indexing_clipped() -> Made:
    def lookup(x: jax.Array, indices: jax.Array) -> jax.Array:
        return x[jnp.clip(indices, 0, x.shape[0] - 1)]

    return lookup, (floats(100_000), ints(1000))
