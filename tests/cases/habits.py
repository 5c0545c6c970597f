"""What people write around an index: ring buffers, caches, row pointers, hashes, masks; right and almost right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, flag, i8, i32, u8, u32


@case(f32(8), i32(), f32())
def ring_buffer(buffer, head, value):
    def push(carry, _):
        held, at = carry
        held = held.at[at % 8].set(value)  #: safe
        return (held, at + 1), held[(at - 3) % 8]  #: safe

    return lax.scan(push, (buffer, head), None, 12)


@case(f32(16, 4), f32(1, 4), i32(min=0, max=15))
def a_cursor_that_stops_at_the_end(cache, new, cursor):
    def push(carry, _):
        held, at = carry
        held = lax.dynamic_update_slice(held, new, (at, 0))  #: safe
        return (held, jnp.minimum(at + 1, 15)), None

    return lax.scan(push, (cache, cursor), None, 5)


@case(f32(6), i32(5, min=0, max=6), i32(6), f32(4))
def rows_of_a_sparse_matrix(values, pointers, columns, x):
    def row(carry, i):
        first, last = pointers[i], pointers[i + 1]  #: safe
        add = lambda j, total: total + values[j] * x[columns[j]]  # noqa: E731  #: safe requires
        return carry, lax.fori_loop(first, last, add, 0.0)

    return lax.scan(row, 0, jnp.arange(4))


@case(f32(7), f32())
def the_last_that_is_less(x, wanted):
    def body(carry):
        low, high = carry
        middle = (low + high + 1) // 2
        below = x[middle] < wanted  #: safe
        return jnp.where(below, middle, low), jnp.where(below, high, middle - 1)

    low, _ = lax.while_loop(lambda c: c[0] < c[1], body, (jnp.int32(0), jnp.int32(6)))
    return x[low]  #: safe


@case(f32(8), i32(5), i32(5))
def masked_by_what_another_index_does(x, i, j):
    inside = (j >= 0) & (j < 8)
    return jnp.where(inside, x.at[i].get(mode="promise_in_bounds"), 0.0)  #: requires


@case(f32(8), i32(5))
def masked_by_the_neighbour(x, i):
    inside = (i >= 0) & (i < 8)
    return jnp.where(jnp.roll(inside, 1), x.at[i].get(mode="promise_in_bounds"), 0.0)  #: requires


@case(f32(8), i32(5))
def masked_and_used_besides(x, i):
    value = x.at[i].get(mode="promise_in_bounds")  #: requires
    return jnp.where((i >= 0) & (i < 8), value, 0.0), jnp.sum(value)


@case(f32(8), i32(5))
def masked_by_what_is_wrong_with_it(x, i):
    outside = (i < 0) | (i >= 8)
    return jnp.where(outside, 0.0, x.at[i].get(mode="promise_in_bounds"))  #: masked


@case(f32(8), i32(5))
def one_too_far_in_both_wheres(x, i):
    inside = (i >= 0) & (i <= 8)
    return jnp.where(inside, x[jnp.where(inside, i, 0)], 0.0)  #: unsafe


@case(f32(8), f32())
def nan_becomes_minus_one(x, t):
    at = jnp.where(jnp.isnan(t), -1.0, jnp.clip(t, 0, 7))
    return x.at[at.astype(np.int32)].get(mode="promise_in_bounds")  #: safe


@case(f32(8), f32(min=0.0, max=1.0))
def a_share_of_everything(x, t):
    return x[(t * 8).astype(np.int32)]  #: unsafe


@case(f32(8), f32())
def negative_floats_as_unsigned(x, t):
    return x[jnp.clip(t, -3, 7).astype(np.uint8)]  #: safe


@case(f32(256), u8(), u8())
def bytes_wrap_inside_a_table_of_all(x, i, j):
    return x[i + j], x[i * j], x[i - j]  #: safe


@case(f32(300), i8())
def a_byte_counted_from_its_least(x, i):
    return x[i.astype(np.int32) + 128]  #: safe


@case(f32(8), u32())
def unsigned_before_the_first(x, i):
    return x[jnp.minimum(i - np.uint32(1), 7)]  #: safe


@case(f32(1000), i32(min=0, max=70000), i32(min=0, max=70000))
def a_product_that_wraps_below_the_limit(x, i, stride):
    at = i * stride
    low = lax.cond(at < 1000, lambda: x[at], lambda: 0.0)  #: unsafe
    both = lax.cond((at < 1000) & (at >= 0), lambda: x[at], lambda: 0.0)  #: safe
    return low + both


@case(f32(4), i32(6, min=0, max=6))
def lanes_that_stop_at_different_times(x, limits):
    def lane(limit):
        body = lambda c: (c[0] + 1, c[1] + x[c[0]])  # noqa: E731  #: masked
        return lax.while_loop(lambda c: c[0] < jnp.minimum(limit, 4), body, (0, 0.0))

    return jax.vmap(lane)(limits)


@case(f32(9))
def past_what_stopped_the_loop(x):
    body = lambda c: (c[0] + 1, c[1] + x[c[0]])  # noqa: E731  #: safe
    i, _ = lax.while_loop(lambda c: (c[0] < 9) & (c[1] < 3.0), body, (0, 0.0))
    return x[i]  #: unsafe


@case(f32(6), i32(5))
def a_promise_in_one_branch_of_many_lanes(x, i):
    def lane(j):
        def chosen():
            redzone.assume(j, min=0, max=5)
            return x.at[j].get(mode="promise_in_bounds")  #: requires

        return lax.cond(j > 2, chosen, lambda: 0.0)

    return jax.vmap(lane)(i)


@case(f32(6), flag(6))
def positions_of_the_true_ones(x, mask):
    return x[jnp.argmax(mask)], x[jnp.sum(mask) - 1], x[jnp.cumsum(mask) - 1]  #: safe


@case(f32(8), i32(), i32())
def the_remainder_by_an_input(x, i, j):
    return lax.cond((j > 0) & (j <= 8), lambda: x[i % j], lambda: 0.0)  #: safe


@case(f32(4), u32(2))
def the_highest_bits_of_a_hash(x, words):
    return x[(words[0] * np.uint32(2654435761)) >> np.uint32(30)]  #: safe


@case(f32(16), f32(16), u32(2))
def sampled_by_softmax(x, logits, key):
    p = jax.nn.softmax(logits)
    at = jax.random.choice(jax.random.wrap_key_data(key), 16, (5,), p=p)  #: safe
    return x[at]  #: safe


@case(f32(4), f32(4, 4))
def shares_of_rows(x, logits):
    grown = jnp.exp(logits)
    share = grown / grown.sum(1, keepdims=True)
    return x[(share[2] * 3).astype(int)]  #: safe


@case(f32(4), f32(4, 4))
def shares_of_other_rows(x, logits):
    grown = jnp.exp(logits)
    share = grown / jnp.broadcast_to(grown.sum(1)[None, :], (4, 4))
    return x[(share[2] * 3).astype(int)]  #: unknown


@case(f32(4), f32(4))
def shares_of_another_sum(x, logits):
    share = jnp.exp(logits) / jnp.exp(-logits).sum(keepdims=True)
    return x[(share * 3).astype(int)]  #: unknown


@case(f32(4), f32(4))
def shares_of_numbers_of_any_sign(x, numbers):
    share = numbers / numbers.sum(keepdims=True)
    return x[(share * 3).astype(int)]  #: unknown


@case(f32(16), f32(16), u32(2))
def sampled_by_given_probabilities(x, p, key):
    at = jax.random.choice(jax.random.wrap_key_data(key), 16, (5,), p=p)  #: safe
    return x[at]  #: requires


@case(f32(16), f32(16, min=-1.0, max=1.0), u32(2))
def sampled_by_what_may_be_negative(x, p, key):
    at = jax.random.choice(jax.random.wrap_key_data(key), 16, (5,), p=p)  #: safe
    return x[at]  #: unsafe


@case(f32(16), f32(16, min=0.0, max=1e38), u32(2))
def sampled_by_weights_without_end(x, p, key):
    at = jax.random.choice(jax.random.wrap_key_data(key), 16, (5,), p=p)  #: safe
    return x[at]  #: safe


@case(f32(16), flag(16), u32(2))
def sampled_among_those_that_are_free(x, free, key):
    at = jax.random.choice(jax.random.wrap_key_data(key), jnp.arange(16), p=free / free.sum())  #: safe
    return x[at]  #: safe


@case(f32(16), f32(16), u32(2))
def sampled_among_those_that_are_not_empty(x, values, key):
    full = 1.0 - (values == -jnp.inf)
    at = jax.random.choice(jax.random.wrap_key_data(key), jnp.arange(16), p=full / full.sum())  #: safe
    return x[at]  #: safe


@case(f32(16), flag(16), i32(), u32(2), requires=("0 ≤ total",))
def sampled_by_a_part_of_any_sign(x, free, total, key):
    at = jax.random.choice(jax.random.wrap_key_data(key), 16, p=free / total)  #: safe
    return x[at]  #: requires


@case(f32(4), flag(), flag())
def divided_by_a_zero_that_was_an_integer(x, a, b):
    return x[jnp.minimum(jnp.nan_to_num(a / b.sum()), 3.0).astype(int)]  #: safe


@case(f32(4), flag(), flag())
def divided_by_a_zero_of_either_sign(x, a, b):
    part = a.astype(jnp.float32) / jnp.where(b, -0.0, 1.0)
    return x[jnp.minimum(jnp.nan_to_num(part), 3.0).astype(int)]  #: unsafe


@case(f32(9), flag(8, 8))
def living_cells_around_each_and_itself(rule, alive):
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1)]
    return rule[sum(jnp.roll(alive.astype(int), shift, (0, 1)) for shift in shifts)]  #: unsafe


@case(f32(9), flag(8, 8))
def living_cells_around_each(rule, alive):
    shifts = [(i, j) for i in (-1, 0, 1) for j in (-1, 0, 1) if (i, j) != (0, 0)]
    return rule[sum(jnp.roll(alive.astype(int), shift, (0, 1)) for shift in shifts)]  #: safe


@case(f32(2), flag(5))
def flags_beside_each_other(x, m):
    return x[m[1:].astype(int) + m[:-1]]  #: unsafe


@case(f32(10), flag(), i32(), requires=("-10 ≤ i + m ≤ 9",))
def moved_by_a_flag(x, m, i):
    return x[i + m]  #: requires


@case(f32(20), i32(6), i32())
def wrapped_by_a_size_that_is_given(x, i, n):
    return lax.dynamic_slice(x, ((i % jnp.maximum(n, 1))[2],), (1,))  #: requires


@case(f32(20), i32(6, min=0), i32(min=1, max=21))
def wrapped_by_a_size_too_large(x, i, n):
    return lax.dynamic_slice(x, ((i % n)[2],), (1,))  #: unsafe


@case(f32(20), i32(), u32(2))
def drawn_below_a_number(x, n, key):
    return x[jax.random.randint(jax.random.wrap_key_data(key), (5,), 0, n)]  #: requires


@case(f32(100), i32(10))
def offsets_of_pieces(x, lengths):
    return x[jnp.cumsum(lengths) - lengths]  #: requires


@case(f32(100), i32(10, min=0, max=11))
def offsets_of_pieces_that_fit(x, lengths):
    return x[jnp.cumsum(lengths) - lengths]  #: safe


@case(f32(99), i32(10, min=0, max=11))
def offsets_of_pieces_one_too_long(x, lengths):
    return x[jnp.cumsum(lengths) - lengths]  #: unsafe


@case(f32(100), i32(10, min=0, max=11), i32(10, min=0, max=11))
def offsets_less_other_lengths(x, lengths, others):
    return x[jnp.cumsum(lengths) - others + 11]  #: unsafe


@case(f32(100), i32(10, min=0, max=11))
def offsets_less_the_lengths_turned_round(x, lengths):
    return x[jnp.cumsum(lengths) - lengths[::-1]]  #: unknown


@case(f32(300), u8(40, min=0, max=200))
def offsets_that_wrap(x, lengths):
    return x[(jnp.cumsum(lengths, dtype="uint8") - lengths)[3:4].astype(int) + 50]  #: unknown


@case(f32(10), i32())
def mode_by_a_name(x, i):
    def add(x, i, how):
        return x.at[i].add(1.0, mode=how)  #: declared

    return add(x, i, "clip")


@case(f32(256), f32())
def table_of_noise(x, t):
    return x[(jnp.floor(t).astype(int) & 255) + 1]  #: unsafe


@case(f32(10), i32(min=0, max=9))
def mode_of_another_call(x, i):
    return x[i + 1] + x.at[i].get(mode="clip")  #: unsafe safe


@case(f32(10), i32(min=0, max=9))
def mode_of_the_write_before(x, i):
    return x.at[i].set(0.0, mode="drop").at[i + 1].set(1.0)  #: safe unsafe


@case(f32(10), i32(min=0, max=9))
def mode_of_another_function(x, i):
    return jnp.pad(x, (0, 1), mode="edge").at[i + 2].set(1.0)  #: unsafe


@case(f32(10), i32(min=0, max=9))
def mode_that_says_nothing(x, i):
    return x.at[i + 1].set(1.0, mode=None)  #: unsafe


@case(f32(10), i32(min=0, max=9))
def mode_left_out_and_given(x, i):
    def added(x, i, mode=None):
        return x.at[i + 1].add(1.0, mode=mode)  #: unsafe declared

    return added(x, i), added(x, i, mode="drop")


@case(f32(10), i32(4))
def mode_of_a_read_by_a_name(x, i):
    def read(x, i, how="clip"):
        return x.at[i].get(mode=how) + jnp.take(x, i, mode=how)  #: declared

    return read(x, i)


@case(f32(10), i32(4))
def mode_of_a_read_by_a_name_that_says_nothing(x, i):
    def read(x, i, how):
        return x.at[i].get(mode=how)  #: requires

    return read(x, i, None)


@case(f32(10), i32(4))
def mode_of_a_read_in_lanes(x, i):
    def read(x, i, how):
        return x.at[i].get(mode=how)  #: requires

    return jax.vmap(lambda k: read(x, k, None))(i)


@case(f32(10), i32(4, min=0), i32(4))
def mode_that_may_say_nothing(x, i, k):
    strict = True
    y = x.at[i].set(0.0, mode=None if strict else "drop")  #: requires
    return y, jnp.take(x, k, mode="clip" if not strict else None)  #: requires


@case(i32(5), f32(6))
def the_place_of_a_one(i, x):
    ones = jax.nn.one_hot(i, 6)
    return x[jnp.argmax(ones, -1)]  #: safe


@case(i32(5), f32(6))
def after_the_place_of_a_one(i, x):
    ones = jax.nn.one_hot(i, 6)
    return x[jnp.argmax(ones, -1) + 1]  #: unsafe


@case(flag(8), f32(8))
def the_first_free_place(used, x):
    return x.at[jnp.argmin(used)].set(1.0)  #: safe


@case(flag(8), f32(8))
def after_the_first_free_place(used, x):
    return x.at[jnp.argmin(used) + 1].set(1.0)  #: unsafe


@case(f32(6, 3), f32(3, 8))
def the_nearest_code(x, codes):
    distance = (x**2).sum(1, keepdims=True) - 2 * x @ codes + (codes**2).sum(0, keepdims=True)
    return codes[:, jnp.argmin(distance, 1)]  #: safe


@case(f32(6, 3), f32(3, 8))
def the_nearest_code_along_the_other_axis(x, codes):
    distance = (x**2).sum(1, keepdims=True) - 2 * x @ codes + (codes**2).sum(0, keepdims=True)
    return codes[jnp.argmin(distance, 1)]  #: unsafe


# The place after a token that is looked for: there is none after the last.


@case(f32(6), i32(6))
def after_the_token_that_ends(x, tokens):
    return x[jnp.argmax(tokens == 3) + 1]  #: unsafe


@case(f32(7), i32(6))
def after_the_token_that_ends_where_there_is_one_more(x, tokens):
    return x[jnp.argmax(tokens == 3) + 1]  #: safe


@case(f32(6), i32(6, min=0, max=9))
def after_the_first_that_is_no_padding(x, tokens):
    return x[jnp.argmin(tokens == 0) + 1]  #: unsafe


# The first that may be taken.


@case(i32(min=0, max=7), f32(8))
def the_first_neighbour_that_is_inside(pos, x):
    q = pos + jnp.array([-1, 1])
    ok = (q >= 0) & (q < 8)
    return x[q[jnp.argmax(ok)]]  #: safe


@case(i32(min=0, max=7), f32(6))
def the_first_neighbour_that_may_be_outside(pos, x):
    q = pos + jnp.array([-1, 1])
    ok = (q >= 0) & (q < 8)
    return x[q[jnp.argmax(ok)]]  #: safe unsafe


@case(i32(min=0, max=7), f32(8))
def the_first_neighbour_where_none_may_be_inside(pos, x):
    q = pos + jnp.array([5, 6])
    ok = q < 8
    return x[q[jnp.argmax(ok)]]  #: safe unsafe


@case(i32(min=0, max=7), f32(8))
def the_first_neighbour_of_which_one_is_inside(pos, x):
    q = pos + jnp.array([-1, 1, 5])
    ok = (q >= 0) & (q < 8)
    redzone.assume(ok.any())
    return x[q[jnp.argmax(ok)]]  #: safe


@case(i32(min=0, max=90), f32(8))
def the_first_neighbour_of_which_one_is_counted(pos, x):
    q = pos + jnp.array([-1, 1, 5])
    ok = (q >= 0) & (q < 8)
    redzone.assume(ok.sum() > 0)
    return x[q[jnp.argmax(ok)]]  #: safe


@case(i32(min=0, max=90), f32(8))
def the_first_of_others_of_which_one_is_inside(pos, x):
    q = pos + jnp.array([-1, 1, 5])
    ok = (q >= 0) & (q < 8)
    redzone.assume(ok.any())
    return x[q[::-1][jnp.argmax(ok)]]  #: safe unsafe


@case(i32(5, min=0, max=9), flag(5), f32(9))
def the_first_that_is_set_and_inside(q, free, x):
    ok = free & (q < 9)
    redzone.assume(ok.any())
    return x[q[jnp.argmax(ok)]]  #: safe


@case(i32(5, min=0, max=9), flag(5), f32(9))
def the_first_that_is_set_or_none(q, free, x):
    ok = free & (q < 9)
    return x[q[jnp.argmax(ok)]]  #: safe unsafe
