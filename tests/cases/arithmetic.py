"""What arithmetic does to an index: division, remainder, bits, wraparound, floats."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, flag, i8, i32, u8


@case(f32(4), i32())
def modulo_is_never_negative(x, i):
    return x[i % 4]  #: safe


@case(f32(4), i32(min=-100, max=100))
def remainder_can_be_negative(x, i):
    return lax.dynamic_slice(x, (lax.rem(i, np.int32(4)),), (1,), allow_negative_indices=False)  #: unsafe


@case(f32(4), i32(min=0, max=2**31 - 1))
def remainder_of_a_natural_number(x, i):
    return x[lax.rem(i, np.int32(4))]  #: safe


@case(f32(4), i32(min=0, max=7))
def halved(x, i):
    return x[i // 2]  #: safe


@case(f32(4), i32(min=0, max=8))
def halved_one_too_far(x, i):
    return x[i // 2]  #: unsafe


@case(f32(4), i32(min=-8, max=-1))
def floor_of_a_negative(x, i):
    return x[i // 2]  #: safe


@case(f32(4), i32())
def low_bits(x, i):
    return x[i & 3]  #: safe


@case(f32(4), i32(min=0, max=100))
def too_many_low_bits(x, i):
    return x[i & 7]  #: unsafe


@case(f32(4), i32())
def high_bits(x, i):
    return x[lax.shift_right_logical(i, np.int32(30))]  #: safe


@case(f32(4), i32())
def clipped(x, i):
    return x[jnp.clip(i, 0, 3)]  #: safe


@case(f32(4), i32())
def clipped_to_the_size(x, i):
    return x[jnp.clip(i, 0, 4)]  #: unsafe


@case(f32(200), i8(min=100, max=127))
def a_sum_that_wraps(x, i):
    return lax.dynamic_slice(x, (i + np.int8(1),), (1,), allow_negative_indices=False)  #: unsafe


@case(f32(300), u8(min=250, max=255), u8(min=0, max=3))
def an_unsigned_sum_that_wraps_stays_inside(x, i, j):
    return x[i + j]  #: safe


@case(f32(4), f32())
def scaled_fraction(x, u):
    return x[(jnp.clip(u, 0.0, 0.75) * 4).astype(np.int32)]  #: safe


@case(f32(4), f32())
def scaled_fraction_of_one(x, u):
    return x[(jnp.clip(u, 0.0, 1.0) * 4).astype(np.int32)]  #: unsafe


@case(f32(4), f32(min=0.0, max=3.99))
def truncated(x, u):
    return x[u.astype(np.int32)]  #: safe


@case(f32(4), f32(min=-0.5, max=3.0))
def truncated_toward_zero(x, u):
    return x[u.astype(np.int32)]  #: safe


@case(f32(3), i32(4))
def position_of_the_largest(x, v):
    return x[jnp.argmax(v)]  #: unsafe


@case(f32(4), i32(4))
def position_of_the_largest_fits(x, v):
    return x[jnp.argmax(v)]  #: safe


@case(f32(4), f32(4))
def sorted_order(x, v):
    return x[jnp.argsort(v)]  #: safe


@case(f32(4), i32(min=-3, max=3))
def absolute(x, i):
    return x[jnp.abs(i)]  #: safe


@case(f32(9), i32(min=0, max=9))
def power_of_a_small_number(x, depth):
    return x[2**depth // 64]  #: safe


@case(f32(8), i32(min=0, max=9))
def power_of_a_small_number_too_far(x, depth):
    return x[2**depth // 64]  #: unsafe


@case(f32(4), flag())
def no_number_or_one_inside(x, missing):
    rank = lax.cond(missing, lambda: jnp.full((), np.nan), lambda: jnp.full((), 3.5))
    return x.at[rank.astype(np.int32)].get(mode="promise_in_bounds")  #: safe


@case(f32(4), flag())
def no_number_or_one_outside(x, missing):
    rank = lax.cond(missing, lambda: jnp.full((), np.nan), lambda: jnp.full((), 4.5))
    return x.at[rank.astype(np.int32)].get(mode="promise_in_bounds")  #: unsafe
