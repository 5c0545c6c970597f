"""Steps of games: states nobody promised anything of, actions, flags that say whether the game is over."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, flag, i32


@case(flag(), flag(), flag(), i32(), f32(28), requires=("-156 ≤ action ≤ 179",))
def a_move_while_the_game_goes_on(over, resigned, late, action, board):
    source = action // 6 - 2
    return lax.cond(over | resigned | late, lambda: board, lambda: board.at[source].add(-1.0))  #: requires


@case(flag(), i32(), f32(28))
def a_move_past_the_end_of_the_board(over, action, board):
    source = action % 180 // 6 - 1
    return lax.cond(over, lambda: board, lambda: board.at[source].add(-1.0))  #: unsafe


@case(flag(), f32(28))
def a_table_read_before_the_game_is_over(over, board):
    last = jnp.where(over, 27, 28)
    return lax.cond(over, lambda: 0.0, lambda: board[last])  #: unsafe


@case(i32(9, 9), i32(min=0, max=80), f32(81), requires=("-81 ≤ board ≤ 81",))
def a_chain_of_stones_of_either_colour(board, at, sums):
    chain = jnp.abs(board.reshape(-1)[at]) - 1  #: safe
    return sums[jnp.sort(jnp.stack([chain, chain]))]  #: requires


@case(i32(9, 9, min=-82, max=81), i32(min=0, max=80), f32(81))
def a_chain_beyond_the_last(board, at, sums):
    chain = jnp.abs(board.reshape(-1)[at]) - 1  #: safe
    return sums[jnp.sort(jnp.stack([chain, chain]))]  #: unsafe
