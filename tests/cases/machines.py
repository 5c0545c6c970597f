"""Machines that go by codes: which instruction runs is chosen by the code and by what room there is."""

from __future__ import annotations

import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, i32

# An instruction that does not fit is replaced by one that does nothing, by one choice after the other.


@case(i32(64, min=0, max=5))
def pushed_if_there_is_room(codes):
    def step(state, code):
        stack, top = state
        number = jnp.where((code == 0) & (top < 16), 1, jnp.where((code == 1) & (top >= 2), 2, 0))
        return lax.switch(
            number,
            [
                lambda: (stack, top),
                lambda: (stack.at[top].set(1.0), top + 1),  #: safe
                lambda: (stack.at[top - 2].set(stack[top - 1]), top - 1),  #: safe
            ],
        ), None

    (stack, top), _ = lax.scan(step, (jnp.zeros(16), 0), codes)
    return stack[jnp.maximum(top - 1, 0)]  #: safe


@case(i32(64, min=0, max=5))
def pushed_if_there_is_nearly_room(codes):
    def step(state, code):
        stack, top = state
        number = jnp.where((code == 0) & (top <= 16), 1, jnp.where((code == 1) & (top >= 2), 2, 0))
        return lax.switch(
            number,
            [
                lambda: (stack, top),
                lambda: (stack.at[top].set(1.0), top + 1),  #: unsafe
                lambda: (stack, top - 1),
            ],
        ), None

    return lax.scan(step, (jnp.zeros(16), 0), codes)[0][1]


# Whether there is room is a choice by the code itself, which the branch knows.


@case(i32(64, min=0, max=1))
def room_that_is_asked_for_by_the_code(codes):
    def step(state, code):
        stack, top = state
        fits = jnp.where(code == 0, top < 16, top > 0)

        def push():
            return stack.at[top].set(1.0), top + 1  #: safe

        def pop():
            return stack.at[top - 1].set(0.0), top - 1  #: safe

        return lax.switch(jnp.where(fits, code, 2), [push, pop, lambda: (stack, top)]), None

    return lax.scan(step, (jnp.zeros(16), 0), codes)[0][1]


@case(i32(64, min=0, max=1))
def room_that_is_asked_for_by_the_other_code(codes):
    def step(state, code):
        stack, top = state
        fits = jnp.where(code == 1, top < 16, top > 0)

        def push():
            return stack.at[top].set(1.0), top + 1  #: unsafe

        return lax.switch(jnp.where(fits, code, 2), [push, lambda: (stack, top), lambda: (stack, top)]), None

    return lax.scan(step, (jnp.zeros(16), 1), codes)[0][1]


# Tables say how much an instruction takes from the stack and puts there.


@case(i32(64, min=0, max=3))
def takes_and_puts_by_tables(codes):
    takes, puts = jnp.array([0, 1, 2, 0]), jnp.array([1, -1, -1, 0])

    def step(state, code):
        stack, top = state
        fits = (top >= takes[code]) & (top + puts[code] <= 16)  #: safe
        return lax.switch(
            jnp.where(fits, code, 3),
            [
                lambda: (stack.at[top].set(1.0), top + 1),  #: safe
                lambda: (stack, top - 1),
                lambda: (stack.at[top - 2].set(stack[top - 1]), top - 1),  #: safe
                lambda: (stack, top),
            ],
        ), None

    return lax.scan(step, (jnp.zeros(16), 0), codes)[0][1]


@case(i32(64, min=0, max=3))
def puts_more_than_its_table_says(codes):
    takes, puts = jnp.array([0, 1, 2, 0]), jnp.array([0, -1, -1, 0])

    def step(state, code):
        stack, top = state
        fits = (top >= takes[code]) & (top + puts[code] <= 16)  #: safe
        return lax.switch(
            jnp.where(fits, code, 3),
            [
                lambda: (stack.at[top].set(1.0), top + 1),  #: unsafe
                lambda: (stack, top - 1),
                lambda: (stack, top - 1),
                lambda: (stack, top),
            ],
        ), None

    return lax.scan(step, (jnp.zeros(16), 0), codes)[0][1]


# jnp.select chooses by the first condition that holds.


@case(f32(16), i32(min=0, max=5), i32(min=0, max=100))
def a_branch_by_the_first_that_holds(x, code, top):
    number = jnp.select([(code == 0) & (top < 16), (code == 1) & (top >= 1)], [1, 2], 0)
    return lax.switch(number, [lambda: 0.0, lambda: x[top], lambda: x[jnp.minimum(top, 16) - 1]])  #: safe


@case(f32(16), i32(min=0, max=5), i32(min=0, max=100))
def a_branch_by_the_second_that_holds(x, code, top):
    number = jnp.select([(code == 0) & (top < 16), (code == 1) & (top >= 1)], [2, 1], 0)
    return lax.switch(number, [lambda: 0.0, lambda: x[jnp.minimum(top, 20) - 1], lambda: 1.0])  #: unsafe


# The number of a branch as a sum of conditions.


@case(i32(64, min=0, max=5))
def a_branch_by_a_sum_of_conditions(codes):
    def step(state, code):
        stack, top = state
        number = ((code == 0) & (top < 16)) * 1 + ((code == 1) & (top >= 1)) * 2

        def push():
            return stack.at[top].set(1.0), top + 1  #: safe

        return lax.switch(number, [lambda: (stack, top), push, lambda: (stack, top - 1)]), None

    return lax.scan(step, (jnp.zeros(16), 0), codes)[0][1]


@case(i32(64, min=0, max=5))
def a_branch_by_a_sum_of_conditions_that_both_hold(codes):
    def step(state, code):
        stack, top = state
        number = ((code == 0) & (top < 16)) * 1 + (code <= 1) * 1

        def push():
            return stack.at[top].set(1.0), top + 1  #: unsafe

        return lax.switch(number, [lambda: (stack, top), push, lambda: (stack, top)]), None

    return lax.scan(step, (jnp.zeros(16), 0), codes)[0][1]
