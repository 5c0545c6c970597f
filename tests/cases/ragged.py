"""Rows of different lengths, each read by a lane of a batched loop: what the lanes that still run keep inside."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, i32


@case(f32(12), i32(3, min=0, max=12), i32(3, min=0, max=12))
def rows_that_end_inside(x, starts, lengths):
    redzone.assume(starts + lengths <= 12)

    def one(start, length):
        return lax.fori_loop(0, length, lambda k, total: total + x[start + k], 0.0)  #: masked

    return jax.vmap(one)(starts, lengths)


@case(f32(12), i32(3, min=0, max=12), i32(3, min=0, max=12))
def rows_that_end_one_too_far(x, starts, lengths):
    redzone.assume(starts + lengths <= 13)

    def one(start, length):
        return lax.fori_loop(0, length, lambda k, total: total + x[start + k], 0.0)  #: unsafe

    return jax.vmap(one)(starts, lengths)


@case(f32(12), i32(3, min=0, max=12), i32(3, min=0))
def lengths_cut_at_the_end(x, starts, lengths):
    lengths = jnp.minimum(lengths, 12 - starts)

    def one(start, length):
        return lax.fori_loop(0, length, lambda k, total: total + x[start + k], 0.0)  #: masked

    return jax.vmap(one)(starts, lengths)


@case(f32(12), i32(3), i32(3), requires=("-12 ≤ starts", "for all i: starts[i] + lengths[i] ≤ 12"))
def rows_of_which_nothing_is_known(x, starts, lengths):
    def one(start, length):
        return lax.fori_loop(0, length, lambda k, total: total + x[start + k], 0.0)  #: requires

    return jax.vmap(one)(starts, lengths)


@case(f32(12), i32(2, 3, min=0, max=12), i32(2, 3, min=0, max=12))
def rows_of_two_batches(x, starts, lengths):
    redzone.assume(starts + lengths <= 12)

    def one(start, length):
        return lax.fori_loop(0, length, lambda k, total: total + x[start + k], 0.0)  #: masked

    return jax.vmap(jax.vmap(one))(starts, lengths)


@case(f32(3, 12), i32(3, min=0, max=12), i32(3, min=0, max=12))
def rows_of_an_array_each(x, starts, lengths):
    redzone.assume(starts + lengths <= 12)

    def one(row, start, length):
        return lax.fori_loop(0, length, lambda k, total: total + row[start + k], 0.0)  #: masked

    return jax.vmap(one)(x, starts, lengths)


@case(f32(12), i32(3, min=0, max=12), i32(3, min=0, max=12))
def pairs_of_a_row_put_beside_each_other(x, starts, lengths):
    redzone.assume(starts + lengths <= 12)

    def one(start, length):
        def body(k, total):
            return total + x[jnp.stack([start, start + k])].sum()  #: masked

        return lax.fori_loop(0, length, body, 0.0)

    return jax.vmap(one)(starts, lengths)


@case(f32(12), i32(3, min=0, max=12), i32(3, min=0, max=12))
def a_row_that_goes_by_the_length_of_the_next(x, starts, lengths):
    redzone.assume(starts + lengths <= 12)
    others = jnp.roll(lengths, 1)

    def one(start, length):
        return lax.fori_loop(0, length, lambda k, total: total + x[start + k], 0.0)  #: unsafe

    return jax.vmap(one)(starts, others)


@case(f32(12), i32(3, min=0, max=12), i32(3, min=0, max=12))
def rows_that_lanes_read_for_each_other(x, starts, lengths):
    redzone.assume(starts + lengths <= 12)

    def one(start, length):
        def body(k, total):
            return total + lax.psum(x[start + k], "lanes")  #: unsafe

        return lax.fori_loop(0, length, body, 0.0)

    return jax.vmap(one, axis_name="lanes")(starts, lengths)


@case(f32(12), i32(3, min=0, max=12), i32(3, min=0, max=12))
def rows_with_a_loop_of_known_length_inside(x, starts, lengths):
    redzone.assume(starts + lengths <= 12)

    def one(start, length):
        def body(k, total):
            return lax.fori_loop(0, 2, lambda _, t: t + x[start + k], total)  #: masked

        return lax.fori_loop(0, length, body, 0.0)

    return jax.vmap(one)(starts, lengths)


@case(f32(12), i32(3, min=0, max=3))
def places_that_every_lane_reads_and_not_one_each(x, lengths):
    lengths = redzone.assume(lengths, max=np.array([3, 3, 0]))

    def one(length):
        return lax.fori_loop(0, length, lambda k, total: total + x[jnp.arange(3) * 6].sum(), 0.0)  #: unsafe

    return jax.vmap(one)(lengths)


@case(i32(3, min=0, max=5), f32(6))
def rows_of_rows(ends, x):
    # A lane that is done reads one end too far, and gets one of the others: the inner loop ends by that.
    def one(first):
        def body(carry):
            k, total = carry
            end = ends[k]  #: masked
            return k + 1, lax.fori_loop(0, end, lambda j, total: total + x[j], total)  #: safe

        return lax.while_loop(lambda carry: carry[0] < 3, body, (first, 0.0))[1]

    return jax.vmap(one)(jnp.arange(3))


@case(i32(3, min=0, max=5), f32(6))
def rows_of_rows_of_one_length(ends, x):
    def one(first):
        def body(carry):
            k, total = carry
            end = ends[k]  #: masked
            return k + 1, lax.fori_loop(0, 5, lambda j, total: total + x[j] * end, total)  #: safe

        return lax.while_loop(lambda carry: carry[0] < 3, body, (first, 0.0))[1]

    return jax.vmap(one)(jnp.arange(3))


@case(i32(3, min=0, max=5), f32(6), i32(3, min=0, max=2))
def rows_of_rows_that_a_function_goes_through(ends, x, firsts):
    @jax.jit
    def row(end, total):
        return lax.while_loop(lambda c: c[0] < c[2], lambda c: (c[0] + 1, c[1] + x[0], c[2]), (0, total, end))[1]

    def one(first):
        def body(carry):
            k, total = carry
            end = ends[k]  #: masked
            return k + 1, row(jnp.minimum(end + 1, end * 2), total)

        return lax.while_loop(lambda carry: carry[0] < 3, body, (first, 0.0))[1]

    return jax.vmap(one)(firsts)


@case(i32(3, min=0, max=5), i32(3, min=0, max=2))
def rows_of_rows_up_to_one_number(ends, firsts):
    # A lane that is done may start behind its end, and all lanes wait until it comes round.
    ends = redzone.assume(ends, min=np.arange(3))

    def one(first):
        def body(carry):
            k, total = carry
            end = ends[k]  #: unsafe
            return k + 1, total + lax.while_loop(lambda j: j != end, lambda j: j + 1, k)

        return lax.while_loop(lambda carry: carry[0] < 3, body, (first, 0))[1]

    return jax.vmap(one)(firsts)


@case(i32(3, min=0, max=5), i32(3, min=0, max=2))
def rows_of_rows_by_an_end_that_moves(ends, firsts):
    def one(first):
        def body(carry):
            k, total = carry
            end = ends[k]  #: unsafe
            # Rightly ends before the end has moved on; a lane that is done is not asked for that.
            more = lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1] + (k > 2)), (0, end))[0]
            return k + 1, total + more

        return lax.while_loop(lambda carry: carry[0] < 3, body, (first, 0))[1]

    return jax.vmap(one)(firsts)


@case(f32(8), i32(3, min=0, max=8), i32(3, min=0, max=5))
def an_element_for_each_row_of_a_lane(x, lengths, counts):
    def one(length, count):
        def body(carry):
            k, total = carry
            return k + 1, lax.fori_loop(0, count, lambda j, t: t + x[k] * j, total)  #: masked

        return lax.while_loop(lambda carry: carry[0] < length, body, (0, 0.0))[1]

    return jax.vmap(one)(lengths, counts)


@case(f32(8, 5), i32(3, min=0, max=8), i32(3, min=0, max=5))
def an_element_of_each_row_of_a_lane(x, lengths, counts):
    def one(length, count):
        def body(carry):
            k, total = carry
            return k + 1, lax.fori_loop(0, count, lambda j, t: t + x[k, j], total)  #: masked

        return lax.while_loop(lambda carry: carry[0] < length, body, (0, 0.0))[1]

    return jax.vmap(one)(lengths, counts)


@case(f32(8, 5), i32(3, min=0, max=8), i32(3, min=0, max=6))
def an_element_of_each_row_of_a_lane_and_one_more(x, lengths, counts):
    def one(length, count):
        def body(carry):
            k, total = carry
            return k + 1, lax.fori_loop(0, count, lambda j, t: t + x[k, j], total)  #: unsafe

        return lax.while_loop(lambda carry: carry[0] < length, body, (0, 0.0))[1]

    return jax.vmap(one)(lengths, counts)
