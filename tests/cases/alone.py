"""Places that hang on the counters of loops alone: what one run does, every run does."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, flag, i32

# The two ends of each butterfly of a transform, stage by stage.


@case(f32(32))
def butterflies_in_loops(x):
    def stage(s, x):
        half = 1 << s

        def butterfly(k, x):
            a = k // half * 2 * half + k % half
            return x.at[a].set(x[a + half])  #: safe

        return lax.fori_loop(0, 16, butterfly, x)

    return lax.fori_loop(0, 5, stage, x)


@case(f32(32))
def butterflies_in_loops_one_stage_too_many(x):
    def stage(s, x):
        half = 1 << s

        def butterfly(k, x):
            a = k // half * 2 * half + k % half
            return x.at[a].set(x[a + half])  #: safe unsafe

        return lax.fori_loop(0, 16, butterfly, x)

    return lax.fori_loop(0, 6, stage, x)


# A cursor over the rows of a triangle, one longer each time.


@case(f32(36))
def over_a_triangle(x):
    def row(i, state):
        def each(j, state):
            return state[0] + 1, state[1] + x[state[0]]  #: safe

        return lax.fori_loop(0, i + 1, each, state)

    return lax.fori_loop(0, 8, row, (0, 0.0))


@case(f32(36))
def over_a_triangle_with_one_more_in_each_row(x):
    def row(i, state):
        def each(j, state):
            return state[0] + 1, state[1] + x[state[0]]  #: unsafe

        return lax.fori_loop(0, i + 2, each, state)

    return lax.fori_loop(0, 8, row, (0, 0.0))


# A run that takes too long tells nothing: this one leaves at its end.
@case(f32(20099))
def over_a_large_triangle(x):
    def row(i, state):
        def each(j, state):
            return state[0] + 1, state[1] + x[state[0]]  #: unknown

        return lax.fori_loop(0, i + 1, each, state)

    return lax.fori_loop(0, 200, row, (0, 0.0))


# An input has a say where it decides which way the program goes.
@case(f32(30), flag())
def over_a_triangle_unless_it_is_told_otherwise(x, more):
    def row(i, state):
        def each(j, state):
            return state[0] + 1, state[1] + x[state[0]]  #: unsafe

        return lax.fori_loop(0, i + 1 + more, each, state)

    return lax.fori_loop(0, 7, row, (0, 0.0))


@case(f32(28), i32(4))
def over_triangles_side_by_side(x, a):
    def one(a):
        def row(i, state):
            def each(j, state):
                return state[0] + 1, state[1] + a * x[state[0]]  #: safe

            return lax.fori_loop(0, i + 1, each, state)

        return lax.fori_loop(0, 7, row, (0, 0.0))

    return jax.vmap(one)(a)


@case(f32(9))
def a_code_that_turns_one_bit_at_a_time(x):
    def each(state):
        k, code, total = state
        code = code ^ (k & -k)
        return k + 1, code, total + x[jnp.minimum(code, 9)]  #: unsafe

    return lax.while_loop(lambda state: state[0] < 16, each, (1, 0, 0.0))


@case(f32(16))
def a_code_that_turns_one_bit_at_a_time_of_all(x):
    def each(state):
        k, code, total = state
        code = code ^ (k & -k)
        return k + 1, code, total + x[code]  #: safe

    return lax.while_loop(lambda state: state[0] < 16, each, (1, 0, 0.0))


# What a quotient by zero is, no run of numpy's can say.
@case(f32(14))
def shares_of_a_count(x):
    def each(k, total):
        share = lax.div(jnp.int32(12), (k + 1) % 5)
        return total + x[jnp.maximum(share - k * 2, 0) + (k ^ 1)]  #: safe

    return lax.fori_loop(0, 4, each, 0.0)


@case(f32(14))
def shares_of_a_count_or_of_nothing(x):
    def each(k, total):
        share = lax.div(jnp.int32(12), (k + 1) % 4)
        return total + x[jnp.maximum(share - k * 2, 0) + (k ^ 1)]  #: unknown

    return lax.fori_loop(0, 4, each, 0.0)
