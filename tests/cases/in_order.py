"""Elements read one after the other by a counted index, and conditions with one element for each row of them."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, i32

_SQUARES = jnp.arange(9)

# What vmap reads by a counted index is what the array holds there: a condition on the one is one on the other.


@case(i32(9, min=-1, max=27), f32(14))
def the_worth_of_each_piece(board, worth):
    found = jax.vmap(lambda at: worth[board[at]])(_SQUARES)  #: safe masked
    return jnp.where((board >= 0) & (board < 14), found, 0.0)


@case(i32(9, min=-1, max=27), f32(14))
def the_worth_of_each_piece_from_the_other_side(board, worth):
    found = jax.vmap(lambda at: worth[board[at]])(_SQUARES[::-1])  #: safe unsafe
    return jnp.where((board >= 0) & (board < 14), found, 0.0)


@case(i32(9, min=-1, max=27), f32(14))
def the_worth_of_each_piece_by_a_wider_condition(board, worth):
    found = jax.vmap(lambda at: worth[board[at]])(_SQUARES)  #: safe unsafe
    return jnp.where((board >= 0) & (board < 15), found, 0.0)


@case(i32(10, min=-1, max=27), f32(14))
def the_worth_of_the_piece_beside_each(board, worth):
    found = jax.vmap(lambda at: worth[board[at + 1]])(_SQUARES)  #: safe masked
    return jnp.where((board[1:] >= 0) & (board[1:] < 14), found, 0.0)


@case(i32(10, min=-1, max=27), f32(14))
def the_worth_of_the_piece_beside_each_if_there_is_one_here(board, worth):
    found = jax.vmap(lambda at: worth[board[at + 1]])(_SQUARES)  #: safe unsafe
    return jnp.where((board[:-1] >= 0) & (board[:-1] < 14), found, 0.0)


@case(i32(9, 4, min=-1, max=27), f32(14))
def the_worth_of_each_row(board, worth):
    found = jax.vmap(lambda at: worth[board[at]])(_SQUARES)  #: safe masked
    return jnp.where((board >= 0) & (board < 14), found, 0.0)


@case(i32(9, 9, min=-1, max=27), f32(14))
def the_worth_of_each_column_beside_the_rows(board, worth):
    found = jax.vmap(lambda at: worth[board[:, at]])(_SQUARES)  #: safe unsafe
    return jnp.where((board >= 0) & (board < 14), found, 0.0)


@case(i32(12, min=0, max=9), f32(4))
def a_counted_place_is_an_element(numbers, x):
    few = numbers.at[5].set(3)[jnp.arange(4, 8)]  #: safe safe
    return x[few[1]]  #: safe


@case(i32(12, min=0, max=9), f32(4))
def a_counted_place_beside_the_one_that_is_set(numbers, x):
    few = numbers.at[5].set(3)[jnp.arange(4, 8)]  #: safe safe
    return x[few[2]]  #: unsafe


@case(i32(12, min=0, max=9), f32(4))
def places_that_do_not_follow_one_another(numbers, x):
    few = numbers.at[5].set(3)[jnp.array([4, 6, 5, 7])]  #: safe safe
    return x[few[1]]  #: unsafe


# A condition with one element for each row decides about all that is read in it.


def _of_squares(one):
    return jax.vmap(jax.vmap(one, (None, 0)), (0, None))(_SQUARES, _SQUARES)


@case(i32(9, min=-1, max=27), f32(14, 9))
def where_each_piece_goes(board, can):
    mine = (board >= 0) & (board < 14)
    found = _of_squares(lambda at, to: can[board[at], to])  #: safe masked
    return jnp.where(mine.reshape(9, 1), found, 0.0)


@case(i32(9, min=-1, max=27), f32(14, 9))
def where_each_piece_goes_at_once(board, can):
    mine = (board >= 0) & (board < 14)
    return jnp.where(mine[:, None], can[board[:, None], _SQUARES[None, :]], 0.0)  #: masked


@case(i32(9, min=-1, max=27), f32(14, 9))
def where_each_piece_goes_if_one_is_there(board, can):
    mine = (board >= 0) & (board < 14)
    found = _of_squares(lambda at, to: can[board[at], to])  #: safe unsafe
    return jnp.where(mine.reshape(1, 9), found, 0.0)


@case(i32(9, min=-1, max=27), f32(14, 9))
def where_each_piece_goes_turned_about(board, can):
    mine = (board >= 0) & (board < 14)
    return jnp.where(mine[:, None], can[board[:, None], _SQUARES[None, :]].T, 0.0)  #: unsafe


@case(i32(9, min=-1, max=27), f32(14, 9))
def where_each_piece_goes_turned_about_with_its_condition(board, can):
    mine = (board >= 0) & (board < 14)
    return jnp.where(mine[None, :], can[board[:, None], _SQUARES[None, :]].T, 0.0)  #: masked


@case(i32(4, min=-1, max=27), i32(4, min=0, max=8), f32(14, 9))
def where_some_pieces_go_by_conditions_of_both(piece, to, can):
    found = can[piece[:, None], to[None, :]]  #: masked
    return jnp.where((piece >= 0)[:, None] & (piece < 14)[:, None] & (to > 2)[None, :], found, 0.0)


@case(i32(4, min=-1, max=27), i32(4, min=0, max=8), f32(14, 9))
def where_some_pieces_go_by_conditions_the_other_way_round(piece, to, can):
    found = can[piece[:, None], to[None, :]]  #: unsafe
    return jnp.where((piece >= 0)[None, :] & (piece < 14)[None, :] & (to > 2)[:, None], found, 0.0)


# Lanes of a loop that cannot begin: what they would read does not matter, nor what they would start with.


@case(i32(2, min=0, max=2), f32(2))
def pairs_after_each(ends, x):
    def one(first, end):
        return lax.fori_loop(first + 1, end, lambda at, total: total + x[at], 0.0)  #: masked

    return jax.vmap(one)(jnp.arange(2), ends)


@case(i32(2, min=0, max=2), f32(2))
def pairs_after_each_and_one_more(ends, x):
    def one(first, end):
        return lax.fori_loop(first + 1, end + 1, lambda at, total: total + x[at], 0.0)  #: unsafe

    return jax.vmap(one)(jnp.arange(2), ends)
