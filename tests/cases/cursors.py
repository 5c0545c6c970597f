"""Places that a loop moves along, by one each time or only now and then, from where an input puts them."""

from __future__ import annotations

from jax import lax
from jax import numpy as jnp

from tests.cases import case, f32, flag, i8, i32


@case(f32(100), i32(), i32(), requires=("-100 ≤ at", "at + count ≤ 100"))
def read_on(x, at, count):
    def step(state):
        done, at, total = state
        return done + 1, at + 1, total + x[at]  #: requires

    return lax.while_loop(lambda state: state[0] < count, step, (0, at, 0.0))


@case(f32(100), i32(min=0, max=60), i32(min=0, max=40))
def read_on_inside(x, at, count):
    def step(state):
        done, at, total = state
        return done + 1, at + 1, total + x[at]  #: safe

    return lax.while_loop(lambda state: state[0] < count, step, (0, at, 0.0))


@case(f32(100), i32(min=0, max=60), i32(min=0, max=41))
def read_on_past_the_end(x, at, count):
    def step(state):
        done, at, total = state
        return done + 1, at + 1, total + x[at]  #: unsafe

    return lax.while_loop(lambda state: state[0] < count, step, (0, at, 0.0))


@case(f32(100), i32(), flag(10), requires=("-100 ≤ at ≤ 90",))
def moved_now_and_then(x, at, moves):
    def step(state, moved):
        at, total = state
        return (jnp.where(moved, at + 1, at), total + x[at]), None  #: requires

    return lax.scan(step, (at, 0.0), moves)


@case(f32(100), i32(), flag(10), requires=("-100 ≤ at ≤ 90",))
def moved_by_a_flag(x, at, moves):
    def step(state, moved):
        at, total = state
        return (at + moved.astype(jnp.int32), total + x[at]), None  #: requires

    return lax.scan(step, (at, 0.0), moves)


@case(f32(100), i32(min=0, max=90), flag(10))
def moved_by_a_flag_inside(x, at, moves):
    def step(state, moved):
        at, total = state
        return (at + moved.astype(jnp.int32), total + x[at]), None  #: safe

    return lax.scan(step, (at, 0.0), moves)


@case(f32(100), i32(min=0, max=91), flag(10))
def moved_by_a_flag_past_the_end(x, at, moves):
    def step(state, moved):
        at, total = state
        return (at + moved.astype(jnp.int32), total + x[at]), None  #: unsafe

    return lax.scan(step, (at, 0.0), moves)


@case(f32(100), i32(), i32(), i32(50), requires=("count ≤ 50", "-100 ≤ at", "at + count ≤ 100"))
def kept_tokens(x, at, count, tokens):
    def step(state):
        done, at, x = state
        token = tokens[done]  #: requires
        return done + 1, jnp.where(token > 0, at + 1, at), x.at[at].set(1.0)  #: requires

    return lax.while_loop(lambda state: state[0] < count, step, (0, at, x))


@case(f32(100), i32(), i32(200), requires=("count ≤ 200", "count ≤ 100"))
def kept_from_the_start(x, count, tokens):
    def step(state):
        done, at, x = state
        token = tokens[done]  #: requires
        return done + 1, jnp.where(token > 0, at + 1, at), x.at[at].set(1.0)  #: requires

    return lax.while_loop(lambda state: state[0] < count, step, (0, 0, x))


@case(f32(100), i8(), flag(10))
def a_narrow_cursor_can_wrap(x, at, moves):
    def step(state, moved):
        at, total = state
        return (jnp.where(moved, at + jnp.int8(1), at), total + x[at]), None  #: unsafe

    return lax.scan(step, (at, 0.0), moves)


@case(f32(200), i32(), i32(10, min=-3, max=2), requires=("-173 ≤ at ≤ 181",))
def back_and_forth(x, at, moves):
    def step(state, move):
        at, total = state
        return (at + move, total + x[at]), None  #: requires

    return lax.scan(step, (at, 0.0), moves)
