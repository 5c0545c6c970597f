"""Cases that were found by reading the deciders against themselves: each was told a wrong verdict once."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, i8, i32


@case(f32(5), i32())
def infinity_written_outside_times_nothing(x, i):
    # Outside it is written to the nearest place, and nothing times infinity is NaN there.
    written = lax.dynamic_update_slice(x, jnp.full(1, jnp.inf), (i,))  #: requires
    return written * ((i >= 0) & (i < 5)).astype(jnp.float32)


@case(f32(5), i32())
def a_number_written_outside_times_nothing(x, i):
    written = lax.dynamic_update_slice(x, jnp.full(1, 2.0), (i,))  #: masked
    return written * ((i >= -5) & (i < 5)).astype(jnp.float32)


@case(i32(5), i32())
def more_than_half_a_float_holds_times_nothing(x, i):
    read = lax.dynamic_slice(x, (i,), (1,))[0]  #: requires
    return read.astype(jnp.float16) * ((i >= 0) & (i < 5)).astype(jnp.float16)


@case(i8(5), i32())
def no_more_than_half_a_float_holds_times_nothing(x, i):
    read = lax.dynamic_slice(x, (i,), (1,))[0]  #: masked
    return read.astype(jnp.float16) * ((i >= -5) & (i < 5)).astype(jnp.float16)


@case(f32(5), f32(min=0.0, max=1.0))
def the_larger_of_two_zeros(x, share):
    # Of -0 and 0 the second is the larger one, so that the first never is.
    _, at = lax.top_k(jnp.stack([-share, share]), 1)
    return x[(1 - at[0]) * 9]  #: unknown


@case(f32(5), i8())
def a_power_that_its_type_does_not_hold(x, i):
    return x[(i**200 + 4).astype(jnp.int32)]  #: unsafe


@case(f32(5), i32(), f32())
def half_a_turn_or_none(x, i, ahead):
    # Of a number less than zero, nothing times that is -0, which is half a turn away from 0 where nothing lies ahead.
    beside = lax.dynamic_slice(x, (i,), (1,))[0]  #: requires
    return jnp.arctan2(beside * ((i >= -5) & (i < 5)).astype(jnp.float32), jnp.minimum(ahead, 0.0))


@case(f32(5), i32())
def divided_by_nothing_of_either_sign(x, i):
    read = lax.dynamic_slice(x, (i,), (1,))[0]  #: requires
    return 1.0 / (read * ((i >= -5) & (i < 5)).astype(jnp.float32))


@case(f32(5), i32(3), f32())
def divided_by_its_squares(x, at, least):
    read = x[at] * ((at >= -5) & (at < 5)).astype(jnp.float32)  #: masked
    return read / jnp.sqrt(jnp.sum(read * read) + jnp.abs(least))


@case(f32(5), f32(min=1e-21, max=1e-20))
def the_square_of_a_small_number(x, small):
    # It is subnormal, and zero where the machine takes such numbers for that.
    return x[jnp.where(small * small > 0, 9, 0)]  #: unknown


@case(f32(5), f32(min=1e-12, max=1e-10))
def the_square_of_a_less_small_number(x, small):
    return x[jnp.where(small * small > 0, 9, 0)]  #: unsafe
