"""Out-of-bounds bugs as they are reported, right and almost right, mostly with nothing promised of the inputs."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, i32

# Held at one end, but the sum before may wrap around its type and come out at the other.


@case(f32(32), i32(), requires=("-2147483644 ≤ pos ≤ 35",))
def a_little_before_or_the_first(x, pos):
    return x[jnp.maximum(pos - 4, 0)]  #: requires


@case(f32(32), i32(5), requires=("-36 ≤ pos ≤ 2147483643",))
def a_little_after_or_the_last(x, pos):
    return x[jnp.minimum(pos + 4, 31)]  #: requires


@case(f32(64, 8), i32(), requires=("-64 ≤ start ≤ 2147483632",))
def rows_from_a_start_or_the_last(table, start):
    return table[jnp.minimum(start + jnp.arange(16), 63)]  #: requires


@case(f32(32, 4), i32(), requires=("-2147483644 ≤ pos ≤ 28",))
def a_window_around_a_place(x, pos):
    return lax.dynamic_slice_in_dim(x, jnp.maximum(pos - 4, 0), 8)  #: requires


@case(f32(32, 4), i32())
def a_window_around_a_place_held_inside(x, pos):
    return lax.dynamic_slice_in_dim(x, jnp.clip(pos - 4, 0, 24), 8)  #: safe


@case(f32(10), i32(min=0), i32())
def a_sum_with_one_that_is_promised(x, i, j):
    return x[jnp.minimum(i + j, 9)]  #: requires
