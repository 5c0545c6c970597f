"""Tables that a loop fills with places in them: tries, trees and chains, whose rows are given out by a counter."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.cases import case, i32


@case(i32(40, min=0, max=3))
def a_trie(word):
    def step(carry, letter):
        table, count, node = carry
        to = table[node, letter]  #: safe
        to = jnp.where(to == 0, count, to)
        return (table.at[node, letter].set(to), count + (to == count), to), None  #: safe

    return lax.scan(step, (jnp.zeros((41, 4), jnp.int32), 1, 0), word)[0]


@case(i32(40, min=0, max=3))
def a_trie_with_too_few_nodes(word):
    def step(carry, letter):
        table, count, node = carry
        to = table[node, letter]  #: unsafe
        new = to == 0
        to = jnp.where(new, count, to)
        return (table.at[node, letter].set(to), count + new, to), None  #: unsafe

    return lax.scan(step, (jnp.zeros((39, 4), jnp.int32), 1, 0), word)[0]


@case(i32(40, min=0, max=3), i32(min=0, max=40))
def a_trie_of_the_first_letters(word, length):
    def step(carry):
        k, table, count, node = carry
        to = table[node, word[k]]  #: safe
        new = to == 0
        to = jnp.where(new, count, to)
        return k + 1, table.at[node, word[k]].set(to), count + new, to  #: safe

    return lax.while_loop(lambda c: c[0] < length, step, (0, jnp.zeros((42, 4), jnp.int32), 1, 0))


@case(i32(40, min=0, max=3), i32(min=0, max=40))
def a_trie_of_the_first_letters_with_too_few_nodes(word, length):
    def step(carry):
        k, table, count, node = carry
        to = table[node, word[k]]  #: safe unsafe
        new = to == 0
        to = jnp.where(new, count, to)
        return k + 1, table.at[node, word[k]].set(to), count + new, to  #: safe unsafe

    return lax.while_loop(lambda c: c[0] < length, step, (0, jnp.zeros((38, 4), jnp.int32), 1, 0))


@case(i32(30, min=0, max=7))
def chains_of_equal_keys(keys):
    def step(carry, key):
        heads, behind, count = carry
        behind = behind.at[count].set(heads[key])  #: safe
        return (heads.at[key].set(count), behind, count + 1), None  #: safe

    first = (jnp.full(8, -1), jnp.full(30, -1), 0)
    heads, behind, _ = lax.scan(step, first, keys)[0]
    return lax.while_loop(lambda at: at >= 0, lambda at: behind[at], heads[3])  #: safe


@case(i32(30, min=0, max=7))
def chains_of_equal_keys_that_start_at_one(keys):
    def step(carry, key):
        heads, behind, count = carry
        before = heads[key]  #: safe
        behind = behind.at[count].set(before)  #: unsafe
        return (heads.at[key].set(count), behind, count + 1), None  #: safe

    first = (jnp.full(8, -1), jnp.full(30, -1), 1)
    heads, behind, _ = lax.scan(step, first, keys)[0]
    return lax.while_loop(lambda at: at >= 0, lambda at: behind[at], heads[3])  #: unsafe


@case(i32(8, min=0, max=99))
def a_search_tree(keys):
    def insert(carry, key):
        left, right, values, count = carry

        def down(c):
            at, _ = c
            less = key < values[at]  #: safe
            return jnp.where(less, left[at], right[at]), at  #: safe

        _, at = lax.while_loop(lambda c: c[0] >= 0, down, (0, 0))
        less = key < values[at]  #: safe
        left = left.at[at].set(jnp.where(less, count, left[at]))  #: safe
        right = right.at[at].set(jnp.where(less, right[at], count))  #: safe
        return (left, right, values.at[count].set(key), count + 1), None  #: safe

    first = (jnp.full(9, -1), jnp.full(9, -1), jnp.zeros(9, jnp.int32), 1)
    return lax.scan(insert, first, keys)[0]


@case(i32(8, min=0, max=99))
def a_search_tree_with_too_few_nodes(keys):
    def insert(carry, key):
        left, right, values, count = carry

        def down(c):
            at, _ = c
            less = key < values[at]  #: unsafe
            return jnp.where(less, left[at], right[at]), at  #: unsafe

        # Once it has been outside it goes round and round, so what follows may well be inside.
        _, at = lax.while_loop(lambda c: c[0] >= 0, down, (0, 0))
        less = key < values[at]  #: unknown
        left = left.at[at].set(jnp.where(less, count, left[at]))  #: unknown
        right = right.at[at].set(jnp.where(less, right[at], count))  #: unknown
        return (left, right, values.at[count].set(key), count + 1), None  #: unsafe

    first = (jnp.full(7, -1), jnp.full(7, -1), jnp.zeros(7, jnp.int32), 1)
    return lax.scan(insert, first, keys)[0]
