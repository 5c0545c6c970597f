"""Calls, transformations and libraries around an access."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, flag, i32


@case(f32(4), i32(min=0, max=3), i32(min=0, max=4))
def shared_function(x, i, j):
    @jax.jit
    def element(k):
        return x[k]  #: unsafe

    return element(i), element(j)


@case(f32(4, 3), i32(4, min=0, max=2))
def batched_rows(x, i):
    return jax.vmap(lambda row, j: row[j])(x, i)  #: safe


@case(f32(4, 3), i32(4, min=0, max=3))
def batched_rows_too_far(x, i):
    return jax.vmap(lambda row, j: row[j])(x, i)  #: unsafe


@case(f32(4), i32(3, min=0, max=3))
def gradient(x, i):
    return jax.grad(lambda v: v[i].sum())(x)  #: safe


@case(f32(4), i32(3, min=0, max=4))
def gradient_too_far(x, i):
    return jax.grad(lambda v: v[i].sum())(x)  #: unsafe


@case(f32(4), i32(min=0, max=3))
def rematerialised(x, i):
    return jax.grad(jax.checkpoint(lambda v: jnp.sin(v[i])))(x)  #: safe


@case(flag(4))
def slots_by_cumsum_from_minus_one(keep):
    slot = jnp.cumsum(keep) - 1
    return jnp.zeros(4, np.int32).at[slot].set(1, mode="promise_in_bounds")  #: safe


@case(flag(4))
def slots_by_cumsum_too_few(keep):
    slot = jnp.cumsum(keep)
    return jnp.zeros(4, np.int32).at[slot].set(1, mode="promise_in_bounds")  #: unsafe


@case(flag(4))
def slots_by_cumsum_one_up(keep):
    slot = jnp.cumsum(keep)
    return jnp.zeros(5, np.int32).at[slot].set(1, mode="promise_in_bounds")  #: safe


@case(f32(4), i32(4))
def links(x, raw):
    following = jnp.clip(raw, 0, 3)
    return x[lax.fori_loop(0, 5, lambda _, i: following[i], 0)]  #: safe


@case(f32(4), i32(2, 2, min=0, max=1))
def associative(x, i):
    return x[lax.associative_scan(jnp.maximum, i)]  #: safe


@case(f32(5), f32(4), f32(3))
def searched(x, line, queries):
    return x[jnp.searchsorted(jnp.sort(line), queries)]  #: safe
