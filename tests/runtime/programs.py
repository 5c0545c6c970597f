"""Small functions that stay inside their arrays or leave them, depending on what they are called with."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

X = jnp.arange(10.0)
GOOD = jnp.array([1, 2])
BAD = jnp.array([1, 20])


def picked(x: Any, i: Any) -> Any:
    return jnp.sin(x[i]).sum()


def walked(following: Any, steps: Any) -> Any:
    """Follow pointers while a counter lasts."""

    def hop(held: Any) -> Any:
        at, left = held
        return following[at], left - 1

    return lax.while_loop(lambda held: held[1] > 0, hop, (jnp.int32(0), steps))[0]


def followed_in_test(following: Any, steps: Any) -> Any:
    """The pointer is followed in the loop's own test."""

    def goes_on(held: Any) -> Any:
        at, k = held
        return (following[at * at] >= 0) & (k < steps)

    return lax.while_loop(goes_on, lambda held: (held[0] + 1, held[1] + 1), (jnp.int32(0), 0))[0]


def scanned(x: Any, places: Any) -> Any:
    def step(total: Any, i: Any) -> Any:
        return total + x[i * i // 2], x[i]

    return lax.scan(step, 0.0, places)


def branched(x: Any, i: Any, use: Any) -> Any:
    """The access is made in one branch only."""
    return lax.cond(use, lambda: x[i * i // 2].sum(), lambda: jnp.zeros(()))


@jax.custom_vjp
def with_own_gradient(x: Any, i: Any) -> Any:
    return x[i * i // 2]


with_own_gradient.defvjp(lambda x, i: (x[i * i // 2], x), lambda x, g: (jnp.full_like(x, 7.0) * g.sum(), None))


@jax.custom_jvp
def with_own_derivative(x: Any, i: Any) -> Any:
    return x[i * i // 2]


@with_own_derivative.defjvp
def _slope(primals: Any, tangents: Any) -> Any:
    x, i = primals
    return x[i * i // 2], jnp.full(jnp.shape(i), 3.0)


@jax.checkpoint
def rematerialised(x: Any, i: Any) -> Any:
    return jnp.sin(x[i * i // 2]).sum()
