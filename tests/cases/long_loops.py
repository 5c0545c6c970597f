"""Loops too long to be run from their beginning, which leave their arrays late."""

from __future__ import annotations

import jax
from jax import lax
from jax import numpy as jnp

from tests.cases import case, f32, i32, u32


@case(f32(79_992), runs=False)
def last_block_of_many(x):
    def add(k, total):
        return total + lax.dynamic_slice(x, (k * 16,), (16,)).sum()  #: unsafe

    return lax.fori_loop(0, 5_000, add, 0.0)


@case(f32(80_000), runs=False)
def last_block_of_many_inside(x):
    def add(k, total):
        return total + lax.dynamic_slice(x, (k * 16,), (16,)).sum()  #: safe

    return lax.fori_loop(0, 5_000, add, 0.0)


@case(f32(3_000), runs=False)
def one_in_the_middle(x):
    def add(k, total):
        return total + x[jnp.where(k == 1_500, 3_000, k)]  #: unsafe

    return lax.fori_loop(0, 3_000, add, 0.0)


@case(f32(3_000), runs=False)
def one_in_the_middle_inside(x):
    def add(k, total):
        return total + x[jnp.where(k == 1_500, 2_999, k)]  #: safe

    return lax.fori_loop(0, 3_000, add, 0.0)


@case(f32(10_000), runs=False)
def flattened_and_one_more(x):
    def row(i, total):
        return lax.fori_loop(0, 100, lambda j, t: t + x[i * 100 + j + 1], total)  #: unsafe

    return lax.fori_loop(0, 100, row, 0.0)


@case(f32(10_000), runs=False)
def flattened(x):
    def row(i, total):
        return lax.fori_loop(0, 100, lambda j, t: t + x[i * 100 + j], total)  #: safe

    return lax.fori_loop(0, 100, row, 0.0)


@case(f32(300), runs=False)
def neighbours_past_the_end(x):
    def smooth(i, x):
        right = x[i + 1]  #: unsafe
        return x.at[i].set(x[i - 1] + right)  #: safe

    return lax.fori_loop(1, 300, smooth, x)


@case(f32(300), runs=False)
def neighbours(x):
    def smooth(i, x):
        return x.at[i].set(x[i - 1] + x[i + 1])  #: safe

    return lax.fori_loop(1, 299, smooth, x)


@case(f32(3_000), runs=False)
def from_the_end(x):
    def step(total, k):
        return total + x[k - 1], None  #: safe

    return lax.scan(step, 0.0, jnp.arange(3_000), reverse=True)[0]


@case(f32(3_000), runs=False)
def by_a_counter_from_the_end(x):
    def step(held, _):
        k, total = held
        return (k - 1, total + x[k]), None  #: unsafe

    return lax.scan(step, (jnp.int32(3_000), 0.0), None, length=3_000, reverse=True)[0]


@case(i32(12), i32(min=0, max=11))
def run_of_zeros(s, start):
    def goes_on(count):
        return (start + count < 12) & (s[jnp.minimum(start + count, 11)] == 0)  #: safe

    return lax.while_loop(goes_on, lambda count: count + 1, 0)


@case(i32(11), i32(min=0, max=11))
def run_of_zeros_too_far(s, start):
    def goes_on(count):
        return (start + count < 12) & (s[jnp.minimum(start + count, 11)] == 0)  #: unsafe

    return lax.while_loop(goes_on, lambda count: count + 1, 0)


@case(i32(12), i32(min=0, max=11), i32(min=0, max=12))
def length_up_to_an_end(s, start, end):
    length = lax.while_loop(lambda count: start + count < end, lambda count: count + 1, 0)
    return s[jnp.maximum(length - 1, 0)]  #: safe


@case(i32(12), i32(min=0, max=11))
def palindrome_around_a_place(s, middle):
    def goes_on(ends):
        low, high = ends
        return (low >= 0) & (high < 12) & (s[jnp.maximum(low, 0)] == s[jnp.minimum(high, 11)])  #: safe

    return lax.while_loop(goes_on, lambda ends: (ends[0] - 1, ends[1] + 1), (middle, middle))


# Loops that multiply or divide a number end after few iterations.


@case(i32(31), i32(min=0))
def the_bits_of_a_number(bits, n):
    def body(carry):
        n, k, bits = carry
        return n >> 1, k + 1, bits.at[k].set(n & 1)  #: safe

    return lax.while_loop(lambda c: c[0] > 0, body, (n, 0, bits))[2]


@case(i32(10), i32(min=0))
def the_digits_of_a_number(digits, n):
    def body(carry):
        n, k, digits = carry
        return n // 10, k + 1, digits.at[k].set(n % 10)  #: safe

    return lax.while_loop(lambda c: c[0] > 0, body, (n, 0, digits))[2]


@case(i32(9), i32(min=0))
def one_digit_too_few(digits, n):
    def body(carry):
        n, k, digits = carry
        return n // 10, k + 1, digits.at[k].set(n % 10)  #: unsafe

    return lax.while_loop(lambda c: c[0] > 0, body, (n, 0, digits))[2]


@case(i32(31), i32())
def the_bits_of_a_negative_number(bits, n):
    # Shifted, -1 stays -1.
    def body(carry):
        n, k, bits = carry
        return n >> 1, k + 1, bits.at[jnp.minimum(k, 31)].set(n & 1)  #: unsafe

    return lax.while_loop(lambda c: (c[0] != 0) & (c[1] < 40), body, (n, 0, bits))[2]


@case(f32(8))
def strides_that_double(x):
    def body(carry):
        stride, total = carry
        return stride * 2, total + x[stride + 3]  #: safe

    return lax.while_loop(lambda c: c[0] < 8, body, (1, 0.0))[1]


@case(f32(7))
def strides_that_double_too_far(x):
    def body(carry):
        stride, total = carry
        return stride * 2, total + x[stride + 3]  #: unsafe

    return lax.while_loop(lambda c: c[0] < 8, body, (1, 0.0))[1]


@case(f32(32), i32(3, min=0, max=1000))
def logarithms_in_lanes(x, n):
    def one(n):
        return lax.while_loop(lambda c: c[0] > 1, lambda c: (c[0] // 2, c[1] + 1), (n, 0))[1]

    return x[jax.vmap(one)(n)]  #: safe


# Short loops, gone through one by one.
@case(f32(8), f32())
def by_halved_steps(x, a):
    def step(k, at):
        return jnp.where(x[at + (4 >> k)] < a, at + (4 >> k), at)  #: safe

    return x[lax.fori_loop(0, 3, step, 0)]  #: safe


@case(f32(7), f32())
def by_halved_steps_past_the_end(x, a):
    def step(k, at):
        return jnp.where(x[at + (4 >> k)] < a, at + (4 >> k), at)  #: unsafe

    return lax.fori_loop(0, 3, step, 0)


@case(f32(15))
def along_the_levels_of_a_pyramid(x):
    return lax.fori_loop(0, 4, lambda k, s: (s[0] + s[1], s[1] // 2, s[2] + x[s[0]]), (0, 8, 0.0))  #: safe


@case(f32(13))
def along_the_levels_of_a_pyramid_cut_short(x):
    return lax.fori_loop(0, 4, lambda k, s: (s[0] + s[1], s[1] // 2, s[2] + x[s[0]]), (0, 8, 0.0))  #: unsafe


@case(f32(15), i32(min=7, max=14))
def up_a_tree_of_sums(tree, leaf):
    def up(_, state):
        tree, at = state
        parent = (at - 1) // 2
        return tree.at[parent].set(tree[2 * parent + 1] + tree[2 * parent + 2]), parent  #: safe

    return lax.fori_loop(0, 3, up, (tree, leaf))


@case(f32(15), i32(min=7, max=15))
def up_a_tree_of_sums_from_below_it(tree, leaf):
    def up(_, state):
        tree, at = state
        parent = (at - 1) // 2
        right = tree[2 * parent + 2]  #: unsafe
        left = tree[2 * parent + 1]  #: unsafe
        return tree.at[parent].set(left + right), parent  #: safe

    return lax.fori_loop(0, 3, up, (tree, leaf))


@case(f32(4))
def rows_of_a_table_that_go_with_the_turns(x):
    def step(at, by):
        return at + by, x[at]  #: safe

    return lax.scan(step, 0, jnp.array([3, -2, 2, -3, 9]))


@case(f32(4))
def rows_of_a_table_the_other_way_round(x):
    def step(at, by):
        return at + by, x[at]  #: unsafe

    return lax.scan(step, 0, jnp.array([3, -2, 2, -3, 9]), reverse=True)


@case(f32(9), i32(min=0, max=2))
def doubled_a_few_times_by_a_while(x, first):
    def body(state):
        k, at, total = state
        return k + 1, at * 2, total + x[at]  #: safe

    return lax.while_loop(lambda s: s[0] < 3, body, (0, first, 0.0))


@case(f32(9), i32(min=0, max=4))
def doubled_once_more_by_a_while(x, first):
    def body(state):
        k, at, total = state
        return k + 1, at * 2 + 1, total + x[at]  #: unsafe

    return lax.while_loop(lambda s: s[0] < 3, body, (0, first, 0.0))


# A number that a test in the loop holds back, looked at after the loop.


@case(f32(30), i32(min=0, max=100))
def held_back_by_a_test(x, n):
    return x[lax.fori_loop(0, n, lambda _, s: jnp.where(s < 29, s + 1, s), 0)]  #: safe


@case(f32(30), i32(min=0, max=100))
def held_back_one_too_late(x, n):
    return x[lax.fori_loop(0, n, lambda _, s: jnp.where(s <= 29, s + 1, s), 0)]  #: unsafe


@case(f32(30), i32(min=0, max=100))
def back_to_the_start_from_the_end(x, n):
    return x[lax.fori_loop(0, n, lambda _, s: jnp.where(s == 29, 0, s + 1), 0)]  #: safe


@case(f32(30), i32(min=0, max=100))
def back_to_the_start_past_the_end(x, n):
    return x[lax.fori_loop(0, n, lambda _, s: jnp.where(s == 30, 0, s + 1), 0)]  #: unsafe


@case(f32(30), f32(100))
def up_and_down_between_two_ends(x, steps):
    def move(at, step):
        up, down = jnp.where(at < 29, at + 1, at), jnp.where(at > 0, at - 1, at)
        return jnp.where(step > 0, up, down), at

    last, places = lax.scan(move, 5, steps)
    return x[last], x[places]  #: safe


@case(f32(30), f32(100))
def up_and_down_by_two(x, steps):
    def move(at, step):
        up, down = jnp.where(at < 29, at + 2, at), jnp.where(at > 0, at - 2, at)
        return jnp.where(step > 0, up, down), at

    last, _ = lax.scan(move, 4, steps)
    return x.at[last].get(mode="promise_in_bounds")  #: unsafe


# A while that goes through its body at least once leaves nothing of what it started with.


@case(f32(10), i32(min=0, max=255))
def made_small_at_least_once(x, s):
    last = lax.while_loop(lambda c: c[1] < 4, lambda c: (c[0] % 10, c[1] + 1), (s, 0))
    return x[last[0]]  #: safe


@case(f32(10), i32(min=0, max=255))
def made_small_until_a_flag_is_down(x, s):
    last = lax.while_loop(lambda c: c[1], lambda c: (c[0] % 10, c[0] > 30), (s, True))
    return x[last[0]]  #: safe


@case(f32(10), i32(min=0, max=255), i32(min=0, max=4))
def made_small_if_at_all(x, s, n):
    last = lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] % 10, c[1] + 1), (s, 0))
    return x[last[0]]  #: unsafe


@case(f32(10), i32(min=0, max=255), i32(min=1, max=4))
def made_too_large_in_the_last_iteration(x, s, n):
    last = lax.while_loop(lambda c: c[1] < n, lambda c: (c[0] % 10 + c[1] // 2, c[1] + 1), (s, 0))
    return x[last[0]]  #: unsafe


# With a step of nothing the loop never ends, which is no reason not to try others.


@case(f32(8), i32(min=0, max=100))
def by_steps_that_may_be_nothing(x, step):
    def body(state):
        at, total = state
        return at + step, total + x[at]  #: unsafe

    return lax.while_loop(lambda state: state[0] < 100, body, (0, 0.0))


@case(f32(100), i32(min=0, max=100))
def by_steps_that_may_be_nothing_inside(x, step):
    def body(state):
        at, total = state
        return at + step, total + x[at]  #: safe

    return lax.while_loop(lambda state: state[0] < 100, body, (0, 0.0))


# Samples of a chain, of which every third is kept: where it goes takes no random number, though what is written does.


@case(f32(3), u32(2))
def a_chain_with_a_row_for_each_sample(x, key):
    def body(i, carry):
        x, key, kept = carry
        key, used = jax.random.split(key)
        x = x + jax.random.normal(used, (3,))
        row = (i - 10) // 3
        is_kept = (i >= 10) & ((i - 10) % 3 == 0)
        return x, key, lax.cond(is_kept, lambda: kept.at[row].set(x), lambda: kept)  #: safe

    return lax.fori_loop(0, 100, body, (x, key, jnp.zeros((30, 3))))[2]


@case(f32(3), u32(2))
def a_chain_with_a_row_too_few(x, key):
    def body(i, carry):
        x, key, kept = carry
        key, used = jax.random.split(key)
        x = x + jax.random.normal(used, (3,))
        row = (i - 10) // 3
        is_kept = (i >= 10) & ((i - 10) % 3 == 0)
        return x, key, lax.cond(is_kept, lambda: kept.at[row].set(x), lambda: kept)  #: unsafe

    return lax.fori_loop(0, 100, body, (x, key, jnp.zeros((29, 3))))[2]
