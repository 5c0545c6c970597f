"""State arrays: elements written and read at known places, flags among them, the same thing computed twice."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, flag, i32


@case(f32(10), i32(4, 3, min=0, max=9))
def an_element_written_last(x, cars):
    cars = cars.at[2].set(jnp.array([1, 20, 3]))  #: safe
    cars = cars.at[2, 1].set(4)  #: safe
    return lax.dynamic_slice(x, (cars[2, 0] + cars[2, 1],), (1,))  #: safe


@case(f32(10), i32(4, 3, min=0, max=9))
def an_element_written_before(x, cars):
    cars = cars.at[2].set(jnp.array([1, 20, 3]))  #: safe
    cars = cars.at[1, 1].set(4)  #: safe
    return lax.dynamic_slice(x, (cars[2, 0] + cars[2, 1],), (1,))  #: unsafe


@case(f32(10), i32(2, 2, min=0, max=9), flag())
def written_by_the_same_condition(x, old, go):
    new = lax.select(go, old.at[0, 0].set(3), old)  #: safe
    new = lax.select(go, new.at[1, 0].set(5), old)  #: safe
    return lax.dynamic_slice(x, (lax.select(go, new[0, 0], 0) + 6,), (1,))  #: safe


@case(f32(10), i32(2, 2, min=0, max=9), flag(), flag())
def written_by_another_condition(x, old, go, stop):
    new = lax.select(go, old.at[0, 0].set(3), old)  #: safe
    new = lax.select(stop, new.at[1, 0].set(5), old)  #: safe
    return lax.dynamic_slice(x, (lax.select(go, new[0, 0], 0) + 6,), (1,))  #: unsafe


@case(f32(5), i32(5))
def flags_of_an_entity(x, s):
    kind = 3 * s[3] + 1 * (1 - s[3])
    return x[kind * s[4] + 4 * (1 - s[4])]  #: requires


@case(f32(5), i32(5, min=0, max=1))
def flags_that_are_kept(x, s):
    kind = 3 * s[3] + 1 * (1 - s[3])
    return x[kind * s[4] + 4 * (1 - s[4])]  #: safe


@case(f32(5), i32(5, min=0, max=2))
def flags_that_are_numbers(x, s):
    kind = 3 * s[3] + 1 * (1 - s[3])
    return x[kind * s[4] + 4 * (1 - s[4])]  #: unsafe


@case(f32(10), i32(5, min=-20, max=20))
def zero_outside_the_frame(x, s):
    outside = (s[0] < 0) | (s[0] > 9)
    return x[s[0] * (1 - outside)]  #: safe


@case(f32(10), i32(5, min=-20, max=20))
def zero_too_far_outside_the_frame(x, s):
    outside = (s[0] < 0) | (s[0] > 10)
    return x[s[0] * (1 - outside)]  #: unsafe


@case(f32(10), i32(min=0, max=9), i32())
def one_of_three_moves(x, p, a):
    moved = jnp.maximum(0, p - 1) * (a == 1) + jnp.minimum(9, p + 1) * (a == 3) + p * ((a != 1) & (a != 3))
    return lax.dynamic_slice(x, (moved,), (1,))  #: safe


@case(f32(10), i32(min=0, max=9), i32())
def two_of_three_moves(x, p, a):
    moved = jnp.maximum(0, p - 1) * (a == 1) + jnp.minimum(9, p + 1) * (a == 3) + p * (a != 1)
    return lax.dynamic_slice(x, (moved,), (1,))  #: unsafe


@case(f32(4), i32(3))
def one_speed_at_a_time(x, v):
    channel = 2 * (jnp.abs(v[1]) == 1).astype(int) + 3 * (jnp.abs(v[1]) == 2).astype(int)
    return lax.dynamic_slice(x, (channel,), (1,))  #: safe


@case(f32(4), i32(3, min=-1, max=1))
def two_speeds_at_a_time(x, v):
    channel = 2 * (jnp.abs(v[1]) == 1).astype(int) + 3 * (jnp.abs(v[2]) == 1).astype(int)
    return lax.dynamic_slice(x, (channel,), (1,))  #: unsafe
