"""What programs of every kind do in a few lines: letters to numbers, bits one by one, places on a grid."""

from __future__ import annotations

from jax import lax

from tests.cases import case, f32, i8, i16, i32, u8, u32


@case(f32(26), u8(8), requires=("97 ≤ text ≤ 122",))
def letters(table, text):
    return table[text - 97]  #: requires


@case(i32(50, 26, min=0, max=49), u8(8), requires=("97 ≤ word ≤ 122",))
def down_a_trie(children, word):
    return lax.scan(lambda node, letter: (children[node, letter - 97], node), 0, word)  #: requires


@case(f32(26), i8(8), i16(8), requires=("71 ≤ text ≤ 122", "71 ≤ more ≤ 122"))
def letters_in_signed_types(table, text, more):
    return table[text - 97], table[more - 97]  #: requires


@case(f32(26), u8(8), requires=("half ≤ 12",))
def twice_a_byte(table, half):
    return table[half * 2]  #: requires


@case(f32(8), u8())
def the_bits_that_are_set(table, x):
    def body(state):
        x, count, total = state
        return x & (x - 1), count + 1, total + table[count]  #: safe

    return lax.while_loop(lambda state: state[0] != 0, body, (x, 0, 0.0))


@case(f32(7), u8())
def the_bits_that_are_set_of_one_more(table, x):
    def body(state):
        x, count, total = state
        return x & (x - 1), count + 1, total + table[count]  #: unsafe

    return lax.while_loop(lambda state: state[0] != 0, body, (x, 0, 0.0))


@case(f32(32), i32())
def the_bits_that_are_set_of_any_sign(table, x):
    def body(state):
        x, count, total = state
        return x ^ (x & -x), count + 1, total + table[count]  #: safe

    return lax.while_loop(lambda state: state[0] != 0, body, (x, 0, 0.0))


@case(f32(10), i32(min=0, max=1023))
def the_bits_of_a_small_number(table, x):
    def body(state):
        x, count, total = state
        return x - (x & -x), count + 1, total + table[count]  #: safe

    return lax.while_loop(lambda state: state[0] > 0, body, (x, 0, 0.0))


@case(f32(32), u32())
def the_bits_and_once_more_without_any(table, x):
    # It goes on while there is no bit left, as long as nothing was counted.
    def body(state):
        x, count, total = state
        return x & (x - 1), count + 1, total + table[count]  #: unsafe

    return lax.while_loop(lambda state: (state[0] != 0) | (state[1] < 33), body, (x, 0, 0.0))
