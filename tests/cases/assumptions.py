"""Promises inside a function: `redzone.assume` before, after and around an access."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

import redzone
from tests.cases import case, f32, flag, i8, i32, u8


@case(f32(4), i32(min=-2, max=6))
def range_of_the_index(x, i):
    return x[redzone.assume(i, min=0, max=3)]  #: safe


@case(f32(4), i32(min=-2, max=6))
def range_one_too_wide(x, i):
    return x[redzone.assume(i, min=0, max=4)]  #: unsafe


@case(f32(4), i32(min=-2, max=6))
def result_of_assume_not_used(x, i):
    redzone.assume(i, min=0, max=3)
    return x[i]  #: safe


@case(f32(4), i32(min=-2, max=6))
def condition(x, i):
    redzone.assume((i >= 0) & (i < 4))
    return x[i]  #: safe


@case(f32(4), i32(min=-2, max=6))
def condition_after_the_access(x, i):
    y = x[i]  #: safe
    redzone.assume((i >= 0) & (i < 4))
    return y


@case(f32(4), i32(min=-2, max=6))
def condition_one_too_wide(x, i):
    redzone.assume((i >= 0) & (i <= 4))
    return x[i]  #: unsafe


@case(f32(4), i32(3, min=-2, max=6))
def condition_on_every_element(x, i):
    redzone.assume((i >= 0) & (i < 4))
    return x[i]  #: safe


@case(f32(4), i32(3, min=-2, max=6))
def condition_on_all(x, i):
    redzone.assume(jnp.all((i >= 0) & (i < 4)))
    return x[i]  #: safe


@case(f32(4), i32(3, min=-2, max=6))
def condition_on_any(x, i):
    redzone.assume(jnp.any((i >= 0) & (i < 4)))
    return x[i]  #: unsafe


@case(f32(4), i32(min=-2, max=6), i32(min=-2, max=6))
def chain_of_conditions(x, i, j):
    redzone.assume(i < j)
    redzone.assume(j <= 4)
    redzone.assume(i >= 0)
    return x[i]  #: safe


@case(f32(4), i32(min=-9, max=9))
def value_made_before(x, i):
    j = i * 2 - 1
    redzone.assume((i >= 1) & (i <= 2))
    return x[j]  #: safe


@case(f32(4), i32(min=0, max=6))
def beyond_what_can_be_followed(x, i):
    redzone.assume((i ^ 1) < 4)
    return x[i]  #: requires


@case(f32(4), i32(min=-2, max=6))
def where(x, i):
    i = redzone.assume(i, where=(i >= 0) & (i < 4))
    return x[i]  #: safe


@case(f32(4), i32(min=-2, max=6), i32(min=0, max=4))
def computed_bound(x, i, n):
    i = redzone.assume(i, min=0, max=n - 1)
    return x[i]  #: safe


@case(f32(4), i32(min=-2, max=6))
def holds_in_its_branch_only(x, i):
    def inside():
        redzone.assume((i >= 0) & (i < 4))
        return x[i]  #: safe

    return lax.cond(i < 3, inside, lambda: x[i])  #: unsafe


@case(f32(4), i32(min=-2, max=6))
def in_a_jitted_helper(x, i):
    @jax.jit
    def validated(k):
        redzone.assume((k >= 0) & (k < 4))
        return k

    validated(i)
    return x[i]  #: safe


@case(f32(4), i32(5, min=-2, max=6))
def vmapped(x, i):
    def one(k):
        redzone.assume((k >= 0) & (k < 4))
        return x[k]  #: safe

    return jax.vmap(one)(i)


@case(f32(4), i32(5, min=-2, max=6))
def vmapped_branch(x, i):
    def one(k):
        def inside():
            redzone.assume(k >= 0)
            return 0.0

        return lax.cond(k < 3, inside, lambda: 1.0) + x[k]  #: unsafe

    return jax.vmap(one)(i)


@case(f32(4), i32(5, min=-2, max=6))
def vmapped_after_a_branch(x, i):
    def one(k):
        j = lax.cond(k < 3, lambda: k + 1, lambda: k)
        redzone.assume((j >= 0) & (j < 4))
        return x[j]  #: safe

    return jax.vmap(one)(i)


@case(f32(4), i32(5, min=-2, max=6))
def scanned(x, i):
    def body(total, k):
        redzone.assume((k >= 0) & (k < 4))
        return total + x[k], None  #: safe

    return lax.scan(body, 0.0, i)


@case(f32(4), i32(min=0, max=9))
def carried(x, n):
    def body(_, k):
        k = k + 1
        redzone.assume(k < 4)
        return k

    return x[lax.fori_loop(0, n, body, 0)]  #: safe


@case(f32(4), i32(min=-2, max=6))
def batched_while(x, i):
    def one(k):
        def body(carry):
            k, total = carry
            redzone.assume(k >= 0)
            return k + 1, total + x[k]  #: masked

        return lax.while_loop(lambda c: c[0] < 4, body, (k, 0.0))

    return jax.vmap(one)(i + jnp.arange(3))


@case(f32(4), i32(min=-2, max=6))
def gradient_of_jit(x, i):
    def read(x):
        redzone.assume((i >= 0) & (i < 4))
        return x[i] ** 2  #: safe

    return jax.grad(jax.jit(read))(x)


@case(f32(4), i32(min=-2, max=6))
def gradient_of_a_scan(x, i):
    def body(total, k):
        k = redzone.assume(k, where=(k >= 0) & (k < 4))
        return total + x[k] ** 2, None  #: safe

    return jax.grad(lambda x: lax.scan(body, 0.0, i + jnp.arange(2))[0])(x)


@case(i32(3, 6), f32(20))
def rows_of_a_batch_in_order(starts, x):
    def one(starts):
        redzone.assume((starts[0] == 0) & (starts[-1] == 20))
        redzone.assume(starts[1:] >= starts[:-1])
        return lax.fori_loop(starts[2], starts[3], lambda k, total: total + x[k], 0.0)  #: masked

    return jax.vmap(one)(starts)


@case(i32(3, 6), f32(21))
def rows_in_order(starts, x):
    redzone.assume((starts[:, 0] == 0) & (starts[:, -1] == 20))
    redzone.assume(starts[:, 1:] >= starts[:, :-1])
    return x[starts]  #: safe


@case(i32(3, 6), f32(21))
def columns_in_order(starts, x):
    redzone.assume((starts[:, 0] == 0) & (starts[:, -1] == 20))
    redzone.assume(starts[1:] >= starts[:-1])
    return x[starts]  #: requires


# Multiples of a number.


@case(f32(16), i32(min=0, max=15))
def blocks_that_are_aligned(x, start):
    redzone.assume(start % 4 == 0)
    return lax.dynamic_update_slice(x, jnp.zeros(4), (start,))  #: safe


@case(f32(16), i32(min=0, max=15))
def blocks_that_are_aligned_by_bits(x, start):
    redzone.assume(start & 3 == 0)
    return lax.dynamic_slice(x, (start,), (4,))  #: safe


@case(f32(16), i32(min=-16, max=15))
def blocks_that_are_aligned_from_the_end(x, start):
    redzone.assume(lax.rem(start, 4) == 0)
    return lax.dynamic_slice(x, (start,), (4,))  #: safe


@case(f32(16), i32())
def blocks_that_are_aligned_and_inside(x, start):
    redzone.assume((start % 4 == 0) & (start >= 0) & (start < 16))
    return lax.dynamic_slice(x, (start,), (4,))  #: safe


@case(f32(16), i32(min=0, max=15))
def blocks_one_off(x, start):
    redzone.assume(start % 4 == 1)
    return lax.dynamic_slice(x, (start,), (4,))  #: unsafe


@case(f32(16), i32(min=0, max=15))
def blocks_aligned_to_less(x, start):
    redzone.assume(start & 1 == 0)
    return lax.dynamic_slice(x, (start,), (4,))  #: unsafe


@case(f32(16), i32(min=0, max=15))
def blocks_with_a_bit_unset(x, start):
    # Bit 1 alone says nothing of bit 0.
    redzone.assume(start & 2 == 0)
    return lax.dynamic_slice(x, (start,), (4,))  #: unsafe


@case(f32(16), i32(min=0, max=15))
def masked_where_aligned(x, start):
    return jnp.where(start % 4 == 0, lax.dynamic_slice(x, (start,), (4,)).sum(), 0.0)  #: masked


# One promise or another: an index, or a number that stands for none.


@case(f32(10), i32(4, min=0, max=12))
def an_index_or_a_number_for_none(x, i):
    redzone.assume((i == 12) | (i < 10))
    return jnp.where(i != 12, x[i], 0.0)  #: masked


@case(f32(10), i32(4, min=0, max=12))
def an_index_or_another_number_for_none(x, i):
    redzone.assume((i == 12) | (i < 10))
    return jnp.where(i != 11, x[i], 0.0)  #: unsafe


@case(f32(10), i32(4, min=-12, max=12))
def an_index_or_a_number_below(x, i):
    redzone.assume((i == -12) | ((i >= 0) & (i < 10)))
    return jnp.where(i >= 0, x[i], 0.0)  #: masked


@case(f32(10), i32(4, min=0, max=12))
def a_number_for_none_of_another_index(x, i):
    redzone.assume((i == 12) | (i < 10))
    return jnp.where(i[::-1] != 12, x[i], 0.0)  #: unsafe


@case(f32(10), i32(min=-3, max=12), i32(min=0, max=12))
def below_one_or_the_other(x, i, n):
    redzone.assume(((i < n) | (i == -3)) & (n <= 10))
    return x[jnp.maximum(i, 0)]  #: safe


@case(f32(1), flag(), flag(), flag())
def neighbours_of_which_one_is_true(x, a, b, c):
    redzone.assume(jnp.stack([a, b]) | jnp.stack([b, c]))
    return x[jnp.where(b, 0, 1)]  #: unsafe


@case(f32(13), i32(2, min=0, max=12))
def each_one_of_two_numbers(x, i):
    redzone.assume((i == 0) | (i == 9))
    return x[i[0] + i[1]]  #: unsafe


# Totals: of numbers that are not negative, some add up to no more than all.


@case(flag(12), f32(4))
def places_of_a_few_that_are_set(mask, x):
    redzone.assume(mask.sum() <= 4)
    return x[jnp.cumsum(mask) - 1]  #: safe


@case(flag(12), f32(3))
def places_of_one_more_than_there_is_room_for(mask, x):
    redzone.assume(mask.sum() <= 4)
    return x[jnp.cumsum(mask) - 1]  #: unsafe


@case(i32(5), f32(10))
def what_comes_before_each(n, x):
    redzone.assume(n, min=0, max=9)
    redzone.assume(n.sum() == 9)
    return x[jnp.cumsum(n) - n]  #: safe


@case(i32(5), f32(9))
def what_comes_before_each_beyond(n, x):
    redzone.assume(n, min=0, max=9)
    redzone.assume(n.sum() == 9)
    return x[jnp.cumsum(n) - n]  #: requires


@case(i32(5, min=0, max=9), f32(10))
def offsets_that_start_at_zero(n, x):
    redzone.assume(n.sum(), max=9)
    return x[jnp.concatenate([jnp.zeros(1, int), jnp.cumsum(n)[:-1]])]  #: safe


@case(i32(5, min=0, max=100), f32(10))
def each_of_a_total(n, x):
    redzone.assume(n.sum() <= 9)
    return x[n]  #: safe


@case(i32(5, min=0, max=100), f32(10))
def each_of_a_total_by_its_last_running_sum(n, x):
    redzone.assume(jnp.cumsum(n)[-1] <= 9)
    return x[n]  #: safe


@case(i32(5, min=-1, max=100), f32(10))
def a_total_of_which_one_may_be_taken_away(n, x):
    redzone.assume(n.sum() <= 9)
    return x[n]  #: unsafe


@case(i32(5, min=0), f32(10))
def a_total_that_may_have_wrapped(n, x):
    redzone.assume(n.sum() <= 9)
    return x[n]  #: requires


@case(u8(2, max=200), f32(101))
def a_total_in_a_type_too_narrow(n, x):
    # Of 200 and 100 the byte holds 44.
    redzone.assume(jnp.sum(n, dtype=jnp.uint8) <= 100)
    return x[jnp.cumsum(n, dtype=jnp.int32)]  #: unknown


@case(i32(2, min=0, max=300), f32(201))
def a_total_of_what_was_cut_to_bytes(n, x):
    redzone.assume(n.astype(jnp.uint8).astype(int).sum() <= 200)
    return x[n]  #: unsafe


@case(u8(3, min=0, max=90), f32(10))
def a_total_in_a_wider_type(n, x):
    redzone.assume(jnp.sum(n, dtype=jnp.int32) <= 9)
    return x[jnp.cumsum(n, dtype=jnp.uint8)]  #: safe


@case(i32(3, 4, min=0, max=20), f32(10))
def a_total_of_each_row(n, x):
    redzone.assume(n.sum(1) <= 9)
    return x[jnp.cumsum(n, 1)]  #: safe


@case(i32(3, 4, min=0, max=20), f32(10))
def a_total_of_each_row_and_sums_of_columns(n, x):
    redzone.assume(n.sum(1) <= 9)
    return x[jnp.cumsum(n, 0)]  #: unknown


# Neighbours: how far apart they are at least and at most.


@case(f32(10), i32(5))
def strictly_rising(x, p):
    redzone.assume(p[1:] > p[:-1])
    redzone.assume((p[0] >= 0) & (p[-1] <= 9))
    return x[p[1] + 3]  #: safe


@case(f32(10), i32(5))
def strictly_rising_and_one_too_far(x, p):
    redzone.assume(p[1:] > p[:-1])
    redzone.assume((p[0] >= 0) & (p[-1] <= 9))
    return x[p[1] + 4]  #: unsafe


@case(f32(6), i32(5))
def strictly_rising_without_their_places(x, p):
    redzone.assume(p[1:] > p[:-1])
    redzone.assume((p[0] >= 0) & (p[-1] <= 9))
    return x[p - jnp.arange(5)]  #: safe


@case(f32(6), i32(5))
def rising_without_their_places(x, p):
    redzone.assume(p[1:] >= p[:-1])
    redzone.assume((p[0] >= 0) & (p[-1] <= 9))
    return x[p - jnp.arange(5)]  #: unsafe


@case(i32(4), f32(16))
def steps_of_at_most_five(s, x):
    redzone.assume(s[0] == 0)
    redzone.assume((s[1:] >= s[:-1]) & (s[1:] - s[:-1] <= 5))
    return x[s]  #: safe


@case(i32(4), f32(16))
def steps_of_at_most_six(s, x):
    redzone.assume(s[0] == 0)
    redzone.assume((s[1:] >= s[:-1]) & (s[1:] - s[:-1] <= 6))
    return x[s]  #: unsafe


@case(i32(4), f32(16))
def differences_of_at_most_five(s, x):
    redzone.assume(s[0] == 0)
    redzone.assume(jnp.diff(s) <= 5)
    redzone.assume(s[1:] >= s[:-1])
    return x[s]  #: safe


@case(i32(4), f32(16))
def at_most_five_more_than_the_one_before(s, x):
    redzone.assume(s[0] == 0)
    redzone.assume((s[1:] >= s[:-1]) & (s[1:] <= s[:-1] + 5))
    return x[s]  #: safe


@case(i32(40, min=0, max=100), f32(40))
def a_walk_from_the_first(s, x):
    redzone.assume(s[0] == 0)
    redzone.assume(abs(s[1:] - s[:-1]) <= 1)
    return x[s]  #: safe


@case(i32(3, 6), f32(11))
def strictly_rising_rows(p, x):
    redzone.assume((p[:, 0] >= 0) & (p[:, -1] <= 10))
    redzone.assume(p[:, 1:] > p[:, :-1])
    return x[p[:, :3] + 3]  #: safe


@case(u8(2), f32(156))
def steps_of_bytes_that_may_wrap(s, x):
    # From 200 to 50 is a step of 106.
    redzone.assume(s[0] >= 100)
    redzone.assume(s[1:] - s[:-1] <= 200)
    return x[255 - s[1].astype(int)]  #: requires


@case(u8(3, max=40), f32(26))
def steps_of_bytes_that_do_not_wrap(s, x):
    redzone.assume(s[0] <= 15)
    redzone.assume(s[1:] - s[:-1] <= 5)
    return x[s]  #: safe


@case(i8(2), f32(28))
def a_byte_and_a_hundred_may_wrap(s, x):
    # 100 and as much again is -56.
    redzone.assume(s[1:] + jnp.int8(100) <= s[:-1])
    return x[jnp.maximum(s[1], 0)]  #: requires


@case(i8(3), f32(104))
def a_byte_and_five_that_do_not_wrap(s, x):
    redzone.assume(s[0] <= 93)
    redzone.assume(s[1:] <= s[:-1] + jnp.int8(5))
    return x[jnp.maximum(s, 0)]  #: safe
