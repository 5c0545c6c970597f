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


@case(i32(8, 4), f32(10, 10), requires=("-10 ≤ cars[:, 0:2] ≤ 9",))
def cars_that_go_round(cars, board):
    def driven(car):
        car = lax.cond(car[3] > 0, lambda: car.at[0].add(1), lambda: car.at[0].add(-1))  #: safe
        car = lax.cond(car[0] < 0, lambda: car.at[0].set(9), lambda: car)  #: safe
        return lax.cond(car[0] > 9, lambda: car.at[0].set(0), lambda: car)  #: safe

    def each(count, car):
        return count, lax.cond(car[2] == 0, lambda: driven(car), lambda: car.at[2].add(-1))  #: safe

    _, cars = lax.scan(each, 0, cars)

    def seen(i, board):
        return board.at[cars[i][1], cars[i][0]].set(1.0)  #: safe requires

    return lax.fori_loop(0, 8, seen, board)


@case(i32(8, 4, min=0, max=9), f32(10, 10))
def cars_that_go_off_the_road(cars, board):
    def each(count, car):
        car = lax.cond(car[3] > 0, lambda: car.at[0].add(1), lambda: car)  #: safe
        return count, lax.cond(car[0] > 10, lambda: car.at[0].set(0), lambda: car)  #: safe

    _, cars = lax.scan(each, 0, cars)

    def seen(i, board):
        return board.at[cars[i][1], cars[i][0]].set(1.0)  #: safe unsafe

    return lax.fori_loop(0, 8, seen, board)


@case(f32(6), i32(30, 3, min=0, max=5), i32(min=0, max=29))
def a_column_counted_up_beside_a_place(table, things, i):
    things = things.at[i, 2].add(100)  #: safe
    things = things.at[i, 1].set(70)  #: safe
    return table[things[:, 0]]  #: safe


@case(f32(6), i32(30, 3, min=0, max=5), i32(min=0, max=29), i32(min=0, max=2))
def any_column_counted_up(table, things, i, column):
    things = things.at[i, column].add(100)  #: safe
    return table[things[:, 0]]  #: unsafe


@case(f32(6), i32(30, 3, min=0, max=5), i32(min=0, max=29), i32(min=0, max=2))
def any_column_set(table, things, i, column):
    things = things.at[i, column].set(6)  #: safe
    return table[things[:, 0]]  #: unsafe


@case(f32(6), i32(30, 3, min=0, max=9), i32(min=0, max=29))
def a_column_of_which_one_is_set(table, things, i):
    things = things.at[i, 0].set(5)  #: safe
    return table[things[:, 0]]  #: unsafe


@case(f32(6), i32(30, 3, min=0, max=9))
def a_column_that_is_set(table, things):
    things = things.at[:, 0].set(5)  #: safe
    return table[things[:, 0]]  #: safe


@case(f32(6), i32(4, min=0, max=3))
def a_number_counted_up_once(table, numbers):
    return table[numbers.at[2].add(2)[2]]  #: safe


@case(f32(6), i32(4, min=0, max=3))
def a_number_counted_up_twice(table, numbers):
    return table[numbers.at[jnp.array([2, 2])].add(2)[2]]  #: safe unsafe


@case(f32(6), i32(4, min=2, max=3), i32(min=0))
def a_number_counted_down_if_it_is_there(table, numbers, at):
    kept = numbers.at[at].add(-9, mode="drop")  #: declared
    return table[kept + 4]  #: unsafe


@case(f32(6), i32(9, 3, min=0, max=5))
def a_column_that_a_loop_counts_up(table, things):
    things = lax.fori_loop(0, 50, lambda k, now: now.at[k % 9, 2].add(1), things)  #: safe
    return table[things[:, 0]]  #: safe


@case(f32(6), i32(9, 3, min=0, max=5))
def a_column_that_a_loop_counts_up_too_far(table, things):
    things = lax.fori_loop(0, 50, lambda k, now: now.at[k % 9, 0].add(1), things)  #: safe
    return table[jnp.minimum(things[:, 0], 7)]  #: unsafe


@case(f32(6), i32(9, 3, min=0, max=5))
def the_last_row_that_a_loop_counts_up(table, things):
    things = lax.fori_loop(0, 50, lambda k, now: now.at[8, 0].add(1), things)  #: safe
    return table[jnp.minimum(things[8, 0], 7)]  #: unsafe
