"""Where an index may be: ends, negatives, windows, modes, dtypes."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, i8, i32, u8, u32


@case(f32(4), i32(min=0, max=3))
def in_range(x, i):
    return x[i]  #: safe


@case(f32(4), i32(min=0, max=4))
def one_past_the_end(x, i):
    return x[i]  #: unsafe


@case(f32(4), i32(min=-4, max=-1))
def negative_wraps_into_range(x, i):
    return x[i]  #: safe


@case(f32(4), i32(min=-5, max=-1))
def negative_wraps_short_of_range(x, i):
    return x[i]  #: unsafe


@case(f32(4), i32(3))
def unconstrained(x, i):
    return x[i]  #: requires


@case(f32(4), i32(3))
def declared_fill(x, i):
    return x.at[i].get(mode="fill")  #: declared


@case(f32(4), i32(3))
def declared_clip(x, i):
    return x.at[i].get(mode="clip")  #: declared


@case(f32(4), i32(min=0, max=2))
def window_fits(x, i):
    return lax.dynamic_slice(x, (i,), (2,))  #: safe


@case(f32(4), i32(min=0, max=3))
def window_sticks_out(x, i):
    return lax.dynamic_slice(x, (i,), (2,))  #: unsafe


@case(f32(4), f32(2), i32(min=0, max=2))
def update_fits(x, u, i):
    return lax.dynamic_update_slice(x, u, (i,))  #: safe


@case(f32(4), f32(2), i32(min=1, max=3))
def update_sticks_out(x, u, i):
    return lax.dynamic_update_slice(x, u, (i,))  #: unsafe


@case(f32(4, 3), i32(5, min=0, max=3), i32(5, min=0, max=2))
def columns_keep_their_ranges(x, i, j):
    return x[i, j]  #: safe


@case(f32(4, 3), i32(5, min=0, max=3), i32(5, min=0, max=2))
def columns_swapped(x, i, j):
    return x[j, i]  #: unsafe


@case(f32(256), u8(3))
def a_byte_fits(x, i):
    return x[i]  #: safe


@case(f32(255), u8(3))
def a_byte_is_one_too_many(x, i):
    return x[i]  #: requires


@case(f32(127), i8(3, min=-127, max=126))
def a_signed_byte_wraps_into_range(x, i):
    return x[i]  #: safe


@case(f32(4), u32(min=0, max=3))
def unsigned(x, i):
    return x[i]  #: safe


@case(f32(4), u32(min=0, max=3))
def unsigned_below_zero(x, i):
    return x[i - np.uint32(1)]  #: unsafe


@case(f32(4))
def constant_table_inside(x):
    return x[np.array([0, 3, -1, 2])]  #: safe


@case(f32(4))
def constant_table_outside(x):
    return x[np.array([0, 3, 4])]  #: unsafe


@case(f32(4), i32(3, min=0, max=3))
def scatter_inside(x, i):
    return x.at[i].add(1.0)  #: safe


@case(f32(4), i32(3, min=0, max=4))
def scatter_outside(x, i):
    return x.at[i].add(1.0, mode="promise_in_bounds")  #: unsafe


@case(f32(4), i32(min=-2, max=0))
def what_counts_from_the_end(x, i):
    return lax.dynamic_slice(x, (jnp.where(i < 0, i + 4, i),), (1,))  #: safe


@case(f32(4), i32(min=-2, max=0))
def one_after_what_counts_from_the_end(x, i):
    return lax.dynamic_slice(x, (jnp.where(i < 0, i + 4, i) + 1,), (1,))  #: unsafe


# Places behind all elements of another kind.


@case(f32(9))
def a_stable_partition(x):
    first = x > 0
    place = jnp.where(first, jnp.cumsum(first) - 1, jnp.sum(first) + jnp.cumsum(~first) - 1)
    return jnp.zeros(9).at[place].set(x)  #: safe


@case(f32(9))
def a_partition_with_one_place_too_few(x):
    first = x > 0
    place = jnp.where(first, jnp.cumsum(first) - 1, jnp.sum(first) + jnp.cumsum(~first) - 1)
    return jnp.zeros(8).at[place].set(x)  #: unsafe


@case(f32(9))
def a_partition_by_kinds_that_overlap(x):
    first, second = x > 0, x <= 1
    place = jnp.where(second, jnp.sum(first) + jnp.cumsum(second) - 1, 0)
    return jnp.zeros(9).at[place].set(x)  #: unsafe


@case(i32(9))
def passes_of_a_radix_sort(x):
    def one(k, x):
        bit = (x >> k) & 1
        zeros = jnp.sum(1 - bit)
        place = jnp.where(bit == 1, zeros + jnp.cumsum(bit) - 1, jnp.cumsum(1 - bit) - 1)
        return jnp.zeros(9, np.int32).at[place].set(x)  #: safe

    return lax.fori_loop(0, 31, one, x)


@case(i32(9, min=0, max=127))
def a_pass_by_two_bits(x):
    bits = (x >> 3) & 3
    place = jnp.where(bits == 1, jnp.sum(1 - bits) + jnp.cumsum(bits) - 1, 0)
    return jnp.zeros(9, np.int32).at[place].set(x)  #: unknown
