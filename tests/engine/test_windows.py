"""Windows that are followed through several equations at once end up where they do one equation after the other."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from redzone.engine import inventory_of, windows
from redzone.engine.slice import Slicer
from redzone.frontend.compat import open_jaxpr


def element_by_element(x, cars):
    for k in range(3):
        cars = cars.at[k, 0].set(jnp.where(cars[k, 1] > 2, 0, cars[k, 0] + 1))
    return x[cars[0, 0], cars[2, 0]] + x[cars[1, 0], cars[1, 0]]


def part_that_is_read_as_a_whole_too(x, cars):
    row = cars[1:2]
    return x[row[0, 0], lax.squeeze(row, (0,))[1]] + x[row.sum(), 0]


def selected_twice(x, cars, ok):
    moved = jnp.where(ok, cars + 1, cars)
    moved = jnp.where(ok, moved.at[0].set(3), moved)
    return x[moved[0, 0], moved[1, 1]]


def selected_by_two_conditions(x, cars, ok, other):
    moved = jnp.where(ok, cars + 1, cars)
    first, second = jnp.where(other, moved, cars), jnp.where(ok, moved, cars - 1)
    return x[first[0, 0], second[0, 0]] + x[moved[0, 0], second[1, 1]]


X, CARS, OK = jnp.zeros((9, 9)), jnp.zeros((3, 2), int), jnp.zeros((), bool)
PROGRAMS = {
    element_by_element: (X, CARS),
    part_that_is_read_as_a_whole_too: (X, CARS),
    selected_twice: (X, CARS, OK),
    selected_by_two_conditions: (X, CARS, OK, OK),
}


def steps_of(closed):
    program = Slicer(inventory_of(closed)).program(*open_jaxpr(closed), ())
    made = [(step.eqn.primitive, str(step.eqn.params), step.ins, step.outs) for step in program.steps]
    return made, str(program.template), program.inputs


def _one_after_the_other(read):
    return lambda build, eqn, frame, at=0: read(build, eqn, frame)


def _none_is_new(_):
    return lambda frame, atom: False


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("function", PROGRAMS, ids=lambda function: function.__name__)
@pytest.mark.parametrize(("name", "plainer"), [("read", _one_after_the_other), ("_is_new", _none_is_new)])
def test_the_steps_are_the_same(function, name, plainer, monkeypatch):
    closed = jax.make_jaxpr(function)(*PROGRAMS[function])
    at_once = steps_of(closed)
    assert at_once[0]
    monkeypatch.setattr(windows, name, plainer(getattr(windows, name)))
    assert steps_of(closed) == at_once
