"""Floats that a while carries: its condition and its body look at one float32 number, which was written down."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32


@case(f32(8), f32(2), f32(2))
def along_a_ray_in_shares_of_the_grid(cells, at, by):
    def step(carry):
        at, total = carry
        return at + by, total + cells[jnp.floor(at[0] * 8).astype(jnp.int32)]  #: safe

    return lax.while_loop(lambda c: jnp.all((c[0] >= 0) & (c[0] < 1)), step, (at, 0.0))


@case(f32(8), f32(2), f32(2))
def along_a_ray_in_shares_of_a_larger_grid(cells, at, by):
    def step(carry):
        at, total = carry
        return at + by, total + cells[jnp.floor(at[0] * 9).astype(jnp.int32)]  #: unsafe

    return lax.while_loop(lambda c: jnp.all((c[0] >= 0) & (c[0] < 1)), step, (at, 0.0))


@case(f32(10), f32(), f32())
def bins_of_a_phase(bins, phase, by):
    def step(carry):
        phase, total = carry
        return phase * by, total + bins[(phase * 10).astype(jnp.int32)]  #: safe

    return lax.while_loop(lambda c: (c[0] >= 0) & (c[0] < 1), step, (phase, 0.0))


@case(f32(10), f32(), f32())
def bins_of_a_phase_that_may_be_one(bins, phase, by):
    def step(carry):
        phase, total = carry
        return phase * by, total + bins[(phase * 10).astype(jnp.int32)]  #: unsafe

    return lax.while_loop(lambda c: (c[0] >= 0) & (c[0] <= 1), step, (phase, 0.0))


@case(f32(8), f32(), f32())
def bins_that_are_counted_from_the_other_end(bins, at, by):
    # Just below 1 the sum is rounded to 8.
    def step(carry):
        at, total = carry
        return at * by, total + bins[(at + 7).astype(jnp.int32)]  #: unsafe

    return lax.while_loop(lambda c: (c[0] >= 0) & (c[0] < 1), step, (at, 0.0))


@case(f32(8), f32(), f32())
def a_product_before_the_loop_is_not_written_down(bins, at, by):
    # A loop that changes nothing is done away with, and what it was given may be put together with what is in it.
    def step(carry):
        at, total = carry
        return at * by, total + bins[(at * 8).astype(jnp.int32)]  #: unknown

    return lax.while_loop(lambda c: (c[0] >= 0) & (c[0] < 1), step, (at * by, 0.0))
