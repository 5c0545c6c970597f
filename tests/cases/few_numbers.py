"""Indices that leave their arrays at a few numbers only, or only where another input says so."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, i32, u8


@case(f32(64), i32())
def squares_by_a_prime_and_more(x, i):
    return x[(i * i) % 65]  #: unsafe


@case(f32(64), i32())
def squares_by_the_size(x, i):
    return x[(i * i) % 64]  #: safe


@case(f32(1024), i32(10), i32(10))
def a_cell_by_its_hash(x, a, b):
    return x[((a * 73856093) ^ (b * 19349663)) % 1025]  #: unsafe


@case(f32(1024), i32(10), i32(10))
def a_cell_by_its_hash_of_as_many(x, a, b):
    return x[((a * 73856093) ^ (b * 19349663)) % 1024]  #: safe


# The pair of the least rank, and one after it: only where that is the last pair of all.


@case(i32(256, 256), i32(20))
def behind_the_pair_of_the_least_rank(rank, tokens):
    pairs = jnp.clip(tokens[:-1], 0, 255), jnp.clip(tokens[1:], 0, 255)
    return tokens[jnp.argmin(rank[pairs]) + 2]  #: safe unsafe


@case(i32(256, 256), i32(20))
def the_pair_of_the_least_rank(rank, tokens):
    pairs = jnp.clip(tokens[:-1], 0, 255), jnp.clip(tokens[1:], 0, 255)
    return tokens[jnp.argmin(rank[pairs]) + 1]  #: safe


# What is left of one number by another that is limited, one too far.


@case(f32(100), i32(), i32())
def within_a_size_that_is_limited_too_late(x, draw, size):
    return x[draw % jnp.clip(size, 1, 101)]  #: unsafe


@case(f32(100), i32(), i32())
def within_a_size_that_is_limited(x, draw, size):
    return x[draw % jnp.clip(size, 1, 100)]  #: safe


@case(f32(100), i32(8, min=0), i32())
def windows_of_what_is_there_and_one_too_long(x, draws, size):
    first = draws % (jnp.clip(size, 4, 100) - 3)
    return jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (5,)))(first)  #: unsafe


@case(f32(100), i32(8, min=0), i32())
def windows_of_what_is_there(x, draws, size):
    first = draws % (jnp.clip(size, 4, 100) - 3)
    return jax.vmap(lambda i: lax.dynamic_slice(x, (i,), (3,)))(first)  #: safe


# Seen only where another input says so: that does not make it right.


@case(f32(10), i32(5), i32(5))
def of_one_kind_by_one_too_many(x, kind, i):
    return jnp.where(kind == 2, x[i % 12], 0.0)  #: unsafe


@case(f32(10), i32(5), i32(5))
def of_higher_kinds_by_one_too_many(x, kind, i):
    return jnp.where(kind > 2, x[jnp.abs(i) % 12], 0.0)  #: unsafe


@case(f32(10), i32(5), i32(5))
def one_of_three_ways_in_each_lane(x, way, i):
    ways = [
        lambda i: x[i % 10],  #: safe
        lambda i: x[jnp.clip(i, 0, 9)],  #: safe
        lambda i: x[jnp.abs(i) % 12],  #: unsafe
    ]
    return jax.vmap(lambda k, i: lax.switch(k, ways, i))(way, i)


@case(f32(10), i32(5), i32(5))
def of_one_kind(x, kind, i):
    return jnp.where(kind == 2, x[i % 10], 0.0)  #: safe


# Parents that are one too high, tree by tree: nothing but a run says when that is outside.
@case(i32(30), i32(30))
def joined_under_the_one_after_the_root(a, b):
    def root(parents, i):
        return lax.while_loop(lambda i: parents[i] != i, lambda i: parents[i], i)  #: unknown unsafe

    def join(parents, pair):
        return parents.at[root(parents, pair[0])].set(root(parents, pair[1]) + 1), None  #: unsafe

    return lax.scan(join, jnp.arange(16), jnp.stack([a, b], 1) % 16)


# Bytes say how far it is to the next: a last one that is long reaches past the end.


def _width(byte):
    return jnp.where(byte < 192, 1, jnp.where(byte < 224, 2, 3))


@case(u8(32))
def the_end_of_each_letter(text):
    def on(state):
        at, total = state
        width = _width(text[at])  #: safe
        return at + width, total + text[at + width - 1]  #: unsafe

    return lax.while_loop(lambda state: state[0] < 32, on, (0, jnp.uint8(0)))


@case(u8(32))
def the_end_of_each_letter_or_of_all(text):
    def on(state):
        at, total = state
        width = _width(text[at])  #: safe
        return at + width, total + text[jnp.minimum(at + width - 1, 31)]  #: safe

    return lax.while_loop(lambda state: state[0] < 32, on, (0, jnp.uint8(0)))


# A queue of which only one end goes around.


@case(i32(8))
def a_queue_whose_end_does_not_go_around(q):
    def on(state):
        first, end, q = state
        left = q[first]  #: safe
        return (first + 1) % 8, jnp.where(left > 0, end + 1, end), q.at[end].set(left - 1)  #: unsafe

    return lax.while_loop(lambda state: state[0] != state[1], on, (0, 1, q))


@case(i32(8))
def a_queue_whose_ends_go_around(q):
    def on(state):
        first, end, q = state
        left = q[first]  #: safe
        return (first + 1) % 8, jnp.where(left > 0, (end + 1) % 8, end), q.at[end].set(left - 1)  #: safe

    return lax.while_loop(lambda state: state[0] != state[1], on, (0, 1, q))


# Only where every point but the last is empty, and the die shows its least, a checker leaves the board by one.


@case(i32(24, min=0, max=15), i32(2, min=1, max=6))
def a_checker_that_is_borne_off(board, dice):
    def move(board, die):
        source = jnp.argmax(board > 0)
        to = source + die
        board = board.at[source].add(-1)  #: safe
        return jnp.where(to >= 24, board, board.at[to].add(1)), None  #: masked

    return lax.scan(move, board, dice)[0]


@case(i32(24, min=0, max=15), i32(2, min=1, max=6))
def a_checker_that_is_borne_off_one_too_late(board, dice):
    def move(board, die):
        source = jnp.argmax(board > 0)
        to = source + die
        board = board.at[source].add(-1)  #: safe
        return jnp.where(to > 24, board, board.at[to].add(1)), None  #: unsafe

    return lax.scan(move, board, dice)[0]


# A tape that only a program of one instruction, which is neither the first nor the last, moves off the end of.


@case(i32(12, min=0, max=3), f32(8))
def a_tape_that_is_moved_right(program, tape):
    def step(at, op):
        at = lax.switch(op, [lambda: at, lambda: at + 1, lambda: at - 1, lambda: 0])
        at = jnp.clip(at, 0, 8)
        return at, tape[at]  #: unsafe

    return lax.scan(step, 0, program)[1]


@case(i32(12, min=0, max=3), f32(8))
def a_tape_that_ends(program, tape):
    def step(at, op):
        at = lax.switch(op, [lambda: at, lambda: at + 1, lambda: at - 1, lambda: 0])
        at = jnp.clip(at, 0, 7)
        return at, tape[at]  #: safe

    return lax.scan(step, 0, program)[1]
