"""Numbers of which there are few, each looked at by itself: levels, shifts, factors, and edges that are known."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, i32

OFFSETS, SIZES = np.array([0, 256, 320, 336, 340]), np.array([16, 8, 4, 2, 1])


@case(f32(341), i32(7))
def a_texel_of_a_level(pyramid, level):
    level = jnp.clip(level, 0, 4)
    size = jnp.asarray(SIZES)[level]  #: safe
    at = jnp.asarray(OFFSETS)[level]  #: safe
    at += jnp.minimum(11 >> level, size - 1) * size + jnp.minimum(7 >> level, size - 1)
    return pyramid[at]  #: safe


@case(f32(341), i32(7))
def a_texel_of_a_level_by_the_widest_row(pyramid, level):
    level = jnp.clip(level, 0, 4)
    size = jnp.asarray(SIZES)[level]  #: safe
    at = jnp.asarray(OFFSETS)[level]  #: safe
    at += jnp.minimum(11 >> level, size - 1) * 16 + jnp.minimum(7 >> level, size - 1)
    return pyramid[at]  #: unsafe


@case(f32(16), i32(min=0, max=15), i32(min=0, max=3))
def halved_so_often_and_doubled_again(x, i, times):
    return x[(i >> times) << times]  #: safe


@case(f32(16), i32(min=0, max=15), i32(min=0, max=3))
def halved_so_often_and_one_more(x, i, times):
    return x[((i >> times) + 1) << times]  #: unsafe


@case(f32(12), i32(min=1, max=3), i32(min=0, max=11))
def a_share_of_as_many(x, parts, i):
    return x[jnp.minimum(i, 12 // parts - 1) * parts]  #: safe


@case(f32(24), i32(min=1, max=4), i32(min=0, max=5))
def so_many_of_each(x, width, row):
    return x[row * width + width - 1]  #: safe


@case(f32(23), i32(min=1, max=4), i32(min=0, max=5))
def so_many_of_each_in_too_few(x, width, row):
    return x[row * width + width - 1]  #: unsafe


@case(f32(12), i32(min=1, max=4), i32(min=0, max=9))
def rows_that_are_as_wide_as_is_said(x, width, row):
    return x[jnp.where(row * width < 12, row * width, 0)]  #: safe


# Edges that are known say of what is looked for between which of them it must lie. A search ends with them by itself:
# a table without a place for what lies beyond the last is too short.

EDGES = np.array([16, 32, 64, 128])
MARKS = np.array([10.0, 20.0, 30.0], np.float32)


@case(f32(4), i32(5))
def the_bucket_of_a_length(x, lengths):
    return x[jnp.searchsorted(EDGES, lengths)]  #: safe unsafe


@case(f32(4), i32(5))
def the_bucket_of_a_length_from_the_right(x, lengths):
    return x[jnp.searchsorted(EDGES, lengths, side="right")]  #: safe unsafe


@case(f32(5), i32(5))
def a_bucket_for_longer_ones(x, lengths):
    return x[jnp.searchsorted(EDGES, lengths)]  #: safe


@case(f32(3), f32(5))
def the_bin_of_a_number(x, t):
    return x[jnp.digitize(t, MARKS)]  #: safe unsafe


@case(f32(3), f32(), requires=("10.0 < t ≤ 30.0",))
def the_interval_of_a_number(x, t):
    at = jnp.searchsorted(MARKS, t) - 1  #: safe
    return lax.dynamic_slice(x, (at,), (2,))  #: requires


@case(f32(3), i32(), i32(min=0, max=1))
def the_bucket_of_a_length_where_it_is_said(x, length, end):
    return x[jnp.searchsorted(EDGES, jnp.minimum(length, 63 + end))]  #: safe


# As many as are passed.


@case(f32(3), i32(4))
def a_value_for_each_boundary(values, steps):
    return values[(steps[:, None] >= jnp.array([100, 1000, 5000])).sum(1)]  #: unsafe


@case(f32(4), i32(4))
def a_value_for_each_boundary_and_before(values, steps):
    return values[(steps[:, None] >= jnp.array([100, 1000, 5000])).sum(1)]  #: safe
