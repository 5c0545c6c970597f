"""Points held against a limit for each of their coordinates."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, flag, i32


@case(f32(8, 6), f32(10, 2))
def points_on_a_grid(grid, p):
    inside = jnp.all((p >= 0) & (p < jnp.array([8.0, 6.0])), -1)
    at = jnp.where(inside[:, None], jnp.floor(p), 0.0).astype(int)
    return grid[at[:, 0], at[:, 1]]  #: safe


@case(f32(8, 6), f32(10, 2))
def points_on_a_grid_turned_around(grid, p):
    inside = jnp.all((p >= 0) & (p < jnp.array([6.0, 8.0])), -1)
    at = jnp.where(inside[:, None], jnp.floor(p), 0.0).astype(int)
    return grid[at[:, 0], at[:, 1]]  #: unsafe


@case(f32(8, 6), f32(10, 2))
def points_up_to_the_far_side(grid, p):
    inside = jnp.all((p >= 0) & (p <= jnp.array([8.0, 6.0])), -1)
    at = jnp.where(inside[:, None], p, 0.0).astype(int)
    return grid[at[:, 0], at[:, 1]]  #: unsafe


@case(f32(8, 6), f32(10, 2))
def points_thrown_away_outside(grid, p):
    inside = ~jnp.any((p < 0) | (p >= jnp.array([8.0, 6.0])), -1)
    at = p.astype(int)
    return jnp.where(inside, grid[at[:, 0], at[:, 1]], 0.0)  #: masked


@case(f32(8, 6), f32(10, 2))
def points_thrown_away_too_far_outside(grid, p):
    inside = ~jnp.any((p < 0) | (p >= jnp.array([8.0, 8.0])), -1)
    at = p.astype(int)
    return jnp.where(inside, grid[at[:, 0], at[:, 1]], 0.0)  #: unsafe


# What is no number is neither below a limit nor above it.
@case(f32(8, 6), f32(10, 2))
def points_that_may_be_no_numbers(grid, p):
    outside = jnp.any((p < 0) | (p >= jnp.array([8.0, 6.0])), -1)
    at = jnp.where(outside[:, None], 0.0, p * 1.0).astype(int)
    return grid[at[:, 0], at[:, 1]]  #: safe


@case(f32(8, 6), f32(2))
def a_point_on_a_grid(grid, p):
    inside = jnp.all((p >= 0) & (p < jnp.array([8.0, 6.0])))
    at = jnp.where(inside[..., None], jnp.round(p - 0.5), 0.0).astype(int)
    return grid[at[0], at[1]]  #: safe


@case(f32(8, 6), f32(2))
def a_point_on_a_grid_by_one_flag(grid, p):
    inside = jnp.all((p >= 0) & (p < jnp.array([8.0, 6.0])))
    at = jnp.where(inside[..., None], jnp.floor(p), 0.0).astype(int)
    return grid[at[0], at[1]]  #: safe


@case(f32(8, 6), f32(5, 2))
def points_one_after_the_other(grid, points):
    limits = jnp.array([8.0, 6.0])

    def each(total, p):
        inside = jnp.all((p >= 0) & (p < limits))
        at = jnp.where(inside, p, 0.0).astype(int)
        return total + grid[at[0], at[1]], None  #: safe

    return lax.scan(each, 0.0, points)


@case(f32(8, 6), f32(5, 2))
def points_one_after_the_other_by_other_limits(grid, points):
    limits = jnp.array([6.0, 8.0])

    def each(total, p):
        inside = jnp.all((p >= 0) & (p < limits))
        at = jnp.where(inside, p, 0.0).astype(int)
        return total + grid[at[0], at[1]], None  #: unsafe

    return lax.scan(each, 0.0, points)


@case(f32(8, 6), f32(2), f32(2))
def along_a_ray_to_limits(grid, p, step):
    limits = jnp.array([8.0, 6.0])

    def on(state):
        at = state[0].astype(int)
        return state[0] + step, state[1] + grid[at[0], at[1]]  #: safe

    return lax.while_loop(lambda state: jnp.all((state[0] >= 0) & (state[0] < limits)), on, (p, 0.0))


@case(f32(8, 6), f32(2), f32(2))
def along_a_ray_to_limits_turned_around(grid, p, step):
    limits = jnp.array([6.0, 8.0])

    def on(state):
        at = state[0].astype(int)
        return state[0] + step, state[1] + grid[at[0], at[1]]  #: unsafe

    return lax.while_loop(lambda state: jnp.all((state[0] >= 0) & (state[0] < limits)), on, (p, 0.0))


@case(f32(8, 6), f32(2), flag())
def a_point_in_a_branch(grid, p, go):
    limits = jnp.array([8.0, 6.0])

    def read(p):
        at = jnp.where(jnp.all((p >= 0) & (p < limits)), p, 0.0).astype(int)
        return grid[at[0], at[1]]  #: safe

    return lax.cond(go, read, lambda p: 0.0, p)


@case(f32(8, 6), f32(5, 2))
def rows_of_points_in_lanes(grid, points):
    def one(p):
        inside = jnp.all((p >= 0) & (p < jnp.array([8.0, 6.0])))
        at = p.astype(int)
        return jnp.where(inside, grid[at[0], at[1]], 0.0)  #: masked

    return jax.vmap(one)(points)


# What is written from end to end of an array whose rows are not told apart may differ from row to row.


@case(f32(3), i32(min=0, max=29))
def a_column_of_a_large_array_written_at_once(x, i):
    board = jnp.zeros((30, 3), jnp.int32).at[:, 1].set(jnp.array([0, 1, 2] * 10))  #: safe
    return x[board[i, 1]] + x[board[i, 0]]  #: safe


@case(f32(3), i32(min=0, max=29))
def a_column_of_a_large_array_written_at_once_with_one_too_large(x, i):
    board = jnp.zeros((30, 3), jnp.int32).at[:, 1].set(jnp.array([0, 1, 2] * 9 + [0, 1, 3]))  #: safe
    return x[board[i, 1]] + x[board[i, 0]]  #: safe unsafe


@case(f32(3), i32(min=0, max=29), i32(min=0, max=2))
def some_column_of_a_large_array_written_at_once(x, i, c):
    board = jnp.zeros((30, 3), jnp.int32).at[:, c].set(jnp.array([0, 1, 2] * 10))  #: safe
    return x[board[i, 1]] + x[board[i, 0]]  #: safe
