"""Tables that say where one may be: what was read from one says where it was read."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, i32

WALL = np.ones((6, 6), bool)
WALL[1:5, 1:5] = False
OPEN = WALL.copy()
OPEN[5, 2] = False
WAYS = np.array([[0, 1], [1, 0], [0, -1], [-1, 0]])
KIND = np.array([0, 3, 3, 2, 1, 0])


@case(i32(6, 6), i32(2), i32(30))
def a_walk_between_walls(goal, start, actions):
    def step(at, action):
        to = at + jnp.asarray(WAYS)[action % 4]  #: safe
        to = jnp.where(jnp.asarray(WALL)[to[0], to[1]], at, to)  #: safe
        return to, goal[to[0], to[1]]  #: safe

    return lax.scan(step, jnp.clip(start, 1, 4), actions)


@case(i32(6, 6), i32(2), i32(30))
def a_walk_through_a_gap(goal, start, actions):
    def step(at, action):
        to = at + jnp.asarray(WAYS)[action % 4]  #: safe
        to = jnp.where(jnp.asarray(OPEN)[to[0], to[1]], at, to)  #: unsafe
        return to, goal[to[0], to[1]]  #: unsafe

    return lax.scan(step, jnp.clip(start, 1, 4), actions)


@case(f32(6), i32())
def beside_what_is_no_wall(x, i):
    i = jnp.clip(i, 0, 5)
    return lax.cond(jnp.asarray(WALL)[i, 2], lambda: 0.0, lambda: x[i + 1])  #: safe


@case(f32(6), i32())
def beside_what_is_a_wall(x, i):
    i = jnp.clip(i, 0, 5)
    return lax.cond(jnp.asarray(WALL)[i, 2], lambda: x[i + 1], lambda: 0.0)  #: safe unsafe


@case(f32(6), i32(8))
def beside_each_that_is_no_wall(x, i):
    i = jnp.clip(i, 0, 5)
    return x[jnp.where(jnp.asarray(WALL)[2][i], 0, i + 1)]  #: safe


@case(f32(6), i32(8))
def two_beside_each_that_is_no_wall(x, i):
    i = jnp.clip(i, 0, 5)
    return x[jnp.where(jnp.asarray(WALL)[2][i], 0, i + 2)]  #: safe unsafe


@case(f32(2), i32(8))
def the_kinds_that_come_first(x, i):
    i = jnp.clip(i, 0, 5)
    return x[jnp.where(jnp.asarray(KIND)[i] > 2, i - 1, 0)]  #: safe


@case(f32(2), i32(8))
def one_kind_more(x, i):
    i = jnp.clip(i, 0, 5)
    return x[jnp.where(jnp.asarray(KIND)[i] > 1, i - 1, 0)]  #: safe unsafe


@case(f32(6), i32(), i32())
def both_coordinates_of_what_is_no_wall(x, i, j):
    i, j = jnp.clip(i, 0, 5), jnp.clip(j, 0, 5)
    free = ~jnp.asarray(WALL)[i, j]  #: safe
    return lax.cond(free, lambda: x[i + 1] + x[5 - j + 1], lambda: 0.0)  #: safe


# The first element is also what is read below it, and the last what is read beyond it.


@case(f32(9), i32(min=-9, max=9))
def where_the_ends_are_open(x, i):
    there = lax.dynamic_slice(jnp.asarray(KIND), (i,), (1,))[0]  #: unsafe
    return lax.cond(there == 0, lambda: lax.dynamic_slice(x, (i,), (1,))[0], lambda: 0.0)  #: unsafe


@case(f32(5), i32(min=-9, max=9))
def where_the_middle_is_open(x, i):
    there = lax.dynamic_slice(jnp.asarray(KIND), (i,), (1,))[0]  #: unsafe
    return lax.cond(there > 0, lambda: lax.dynamic_slice(x, (i,), (1,))[0], lambda: 0.0)  #: safe


@case(f32(36), i32(min=7, max=10), i32(50, min=0, max=3))
def a_walk_between_walls_by_one_number(goal, start, actions):
    def step(at, action):
        to = at + jnp.array([1, 6, -1, -6])[action]  #: safe
        return jnp.where(jnp.asarray(WALL.ravel())[to], at, to), goal[at]  #: safe

    return lax.scan(step, start, actions)


@case(f32(36), i32(min=7, max=10), i32(50, min=0, max=3))
def a_walk_through_a_gap_by_one_number(goal, start, actions):
    def step(at, action):
        to = at + jnp.array([1, 6, -1, -6])[action]  #: safe
        return jnp.where(jnp.asarray(OPEN.ravel())[to], at, to), goal[jnp.clip(at, 0, 35)]  #: safe unsafe

    return lax.scan(step, start, actions)


@case(f32(36), i32(min=7, max=10), i32(50, min=0, max=3))
def a_walk_between_walls_by_branches(goal, start, actions):
    def step(at, action):
        to = at + jnp.array([1, 6, -1, -6])[action]  #: safe
        at = lax.cond(jnp.asarray(WALL.ravel())[to], lambda: at, lambda: to)  #: safe
        return at, goal[at]  #: safe

    return lax.scan(step, start, actions)


@case(f32(36), i32(min=7, max=10), i32(50, min=0, max=3))
def a_walk_that_is_set_back_beside_the_walls(goal, start, actions):
    # What is kept is where it was, and what it is set back to is none of that.
    def step(at, action):
        to = at + jnp.array([1, 6, -1, -6])[action]  #: safe
        walled = jnp.asarray(WALL.ravel())[to]  #: unsafe
        return jnp.where(walled, at, jnp.where(action == 1, 30, to)), goal[at]  #: safe

    return lax.scan(step, start, actions)
