"""A cursor that a loop inside of a loop moves on, now and then or as often as it likes, up to a number of times."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, i32, u8, u32

# All that is set in a table is put one behind the other, row by row.


@case(i32(5, 4))
def all_that_is_set(rows):
    def row(carry, values):
        def put(carry, value):
            out, n = carry
            return (out.at[n].set(value), n + (value > 0)), None  #: safe

        return lax.scan(put, carry, values)[0], None

    return lax.scan(row, (jnp.zeros(20, np.int32), jnp.int32(0)), rows)[0]


@case(i32(5, 4, min=-1, max=1))
def all_that_is_set_in_a_table_of_one_less(rows):
    def row(carry, values):
        def put(carry, value):
            out, n = carry
            return (out.at[n].set(value), n + (value > 0)), None  #: unsafe

        return lax.scan(put, carry, values)[0], None

    return lax.scan(row, (jnp.zeros(19, np.int32), jnp.int32(0)), rows)[0]


@case(i32(3, 5, 4))
def all_that_is_set_in_lanes(tables):
    def one(rows):
        def row(carry, values):
            def put(carry, value):
                out, n = carry
                return (out.at[n].set(value), n + (value > 0)), None  #: safe

            return lax.scan(put, carry, values)[0], None

        return lax.scan(row, (jnp.zeros(20, np.int32), jnp.int32(0)), rows)[0]

    return jax.vmap(one)(tables)


@case(i32(5, 4))
def from_the_last_place_down(rows):
    def row(k, carry):
        def put(j, carry):
            out, n = carry
            n = n - (rows[k, j] > 0)  #: safe
            return out.at[n].set(1), n  #: safe

        return lax.fori_loop(0, 4, put, carry)

    return lax.fori_loop(0, 5, row, (jnp.zeros(21, np.int32), jnp.int32(20)))[0]


# Up to three copies of each, and a mark behind them.


@case(i32(6))
def copies_and_a_mark(counts):
    def one(carry, count):
        put = lambda _, state: (state[0].at[state[1]].set(1), state[1] + 1)  # noqa: E731  #: safe
        out, n = lax.fori_loop(0, jnp.clip(count, 0, 3), put, carry)
        return (out.at[n].set(2), n + 1), None  #: safe

    return lax.scan(one, (jnp.zeros(24, np.int32), jnp.int32(0)), counts)[0]


@case(i32(6, min=0, max=3))
def copies_and_a_mark_in_a_table_of_one_less(counts):
    def one(carry, count):
        put = lambda _, state: (state[0].at[state[1]].set(1), state[1] + 1)  # noqa: E731  #: safe
        out, n = lax.fori_loop(0, count, put, carry)
        return (out.at[n].set(2), n + 1), None  #: unsafe

    return lax.scan(one, (jnp.zeros(23, np.int32), jnp.int32(0)), counts)[0]


@case(i32(3, 6))
def copies_in_lanes(counts):
    def lane(mine):
        def one(carry, count):
            put = lambda _, state: (state[0].at[state[1]].set(1), state[1] + 1)  # noqa: E731  #: safe
            out, n = lax.fori_loop(0, jnp.clip(count, 0, 3), put, carry)
            return (out.at[n].set(2), n + 1), None  #: safe

        return lax.scan(one, (jnp.zeros(24, np.int32), jnp.int32(0)), mine)[0]

    return jax.vmap(lane)(counts)


@case(i32(3, 6, min=0, max=3))
def copies_in_lanes_of_a_table_of_one_less(counts):
    def lane(mine):
        def one(carry, count):
            put = lambda _, state: (state[0].at[state[1]].set(1), state[1] + 1)  # noqa: E731  #: masked
            out, n = lax.fori_loop(0, count, put, carry)
            return (out.at[n].set(2), n + 1), None  #: unsafe

        return lax.scan(one, (jnp.zeros(23, np.int32), jnp.int32(0)), mine)[0]

    return jax.vmap(lane)(counts)


# By steps of different length; what goes both ways ends between the two.


@case(f32(61), i32(6, 5), i32(6, 5))
def steps_to_both_sides(x, left, right):
    def row(at, k):
        def step(at, j):
            at = jnp.where(left[k, j] > 0, at - 1, at)  #: safe
            at = jnp.where(right[k, j] > 0, at + 1, at)  #: safe
            return at, x[at]  #: safe

        return lax.scan(step, at, jnp.arange(5))

    return lax.scan(row, jnp.int32(30), jnp.arange(6))


@case(f32(60), i32(6, 5, min=0, max=1), i32(6, 5, min=0, max=1))
def steps_to_both_sides_and_over_the_end(x, left, right):
    def row(at, k):
        def step(at, j):
            at = jnp.where(left[k, j] > 0, at - 1, at)  #: safe
            at = jnp.where(right[k, j] > 0, at + 1, at)  #: safe
            return at, x[at]  #: unsafe

        return lax.scan(step, at, jnp.arange(5))

    return lax.scan(row, jnp.int32(30), jnp.arange(6))


# A sum of bytes that wraps around stays in its type, and no more is known of it.


@case(f32(128), i32(40, 5))
def a_narrow_cursor_that_wraps(x, rows):
    def row(at, values):
        def step(at, value):
            return at + (value > 0).astype(np.int8), x[at]  #: safe

        return lax.scan(step, at, values)

    return lax.scan(row, jnp.int8(0), rows)


@case(f32(127), i32(40, 5))
def a_narrow_cursor_that_wraps_beside_its_table(x, rows):
    def row(at, values):
        def step(at, value):
            return at + (value > 0).astype(np.int8), x.at[at].get(mode="promise_in_bounds")  #: unsafe

        return lax.scan(step, at, values)

    return lax.scan(row, jnp.int8(0), rows)


# Places that are handed out row by row: how far each row got is known of a few rounds, beside what a round may add.


@case(i32(4, 5))
def places_handed_out_row_by_row(wanted):
    def round_(carry, row):
        def each(carry, j):
            used, top, table = carry
            is_taken = (row[j] > 0) & (top < 32)  #: safe
            n = jnp.where(is_taken, used[j], 0)  #: safe
            table = jnp.where(is_taken, table.at[j, n].set(top), table)  #: safe
            return (used.at[j].add(is_taken), top + is_taken, table), None  #: safe

        return lax.scan(each, carry, jnp.arange(5))[0], None

    start = (jnp.zeros(5, np.int32), jnp.int32(0), jnp.full((5, 8), -1))
    return lax.scan(round_, start, wanted)[0][2]


# Words begin at most in every other place; a text shows it that has a blank in each place between.


@case(u8(32))
def where_words_begin(text):
    def word(state):
        at, n, found = state
        at = lax.while_loop(lambda j: (j < 32) & (text[jnp.minimum(j, 31)] == 32), lambda j: j + 1, at)  #: safe
        found = jnp.where(at < 32, found.at[jnp.minimum(n, 15)].set(at), found)  #: safe
        end = lax.while_loop(lambda j: (j < 32) & (text[jnp.minimum(j, 31)] != 32), lambda j: j + 1, at)  #: safe
        return end + 1, n + (at < 32), found

    return lax.while_loop(lambda s: s[0] < 32, word, (0, 0, jnp.zeros(16, np.int32)))[2]


@case(u8(32))
def where_words_begin_in_a_table_of_one_less(text):
    def word(state):
        at, n, found = state
        at = lax.while_loop(lambda j: (j < 32) & (text[jnp.minimum(j, 31)] == 32), lambda j: j + 1, at)  #: safe
        found = jnp.where(at < 32, found.at[jnp.minimum(n, 15)].set(at), found)  #: unsafe
        end = lax.while_loop(lambda j: (j < 32) & (text[jnp.minimum(j, 31)] != 32), lambda j: j + 1, at)  #: safe
        return end + 1, n + (at < 32), found

    return lax.while_loop(lambda s: s[0] < 32, word, (0, 0, jnp.zeros(15, np.int32)))[2]


# A set of a cache by some bits of an address: with one bit too many only large addresses leave the table.


@case(u32(40))
def sets_of_a_cache(addresses):
    def look(tags, address):
        place = (address >> 6) & 15
        hit = tags[place] == address >> 10  #: safe
        return tags.at[place].set(address >> 10), hit  #: safe

    return lax.scan(look, jnp.zeros(16, np.uint32), addresses)[1]


@case(u32(40))
def sets_of_a_cache_by_another_bit(addresses):
    def look(tags, address):
        place = (address >> 6) & 16
        hit = tags[place] == address >> 10  #: unsafe
        return tags.at[place].set(address >> 10), hit  #: unsafe

    return lax.scan(look, jnp.zeros(16, np.uint32), addresses)[1]
