"""Every slot that a step reads is an input, known from the beginning, or made by a step before it."""

from __future__ import annotations

import importlib
import pkgutil

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import redzone
import tests.cases
from redzone.engine import inventory_of
from redzone.engine.program import Program
from redzone.engine.slice import Slicer
from redzone.frontend.compat import open_jaxpr
from tests.cases import CASES, Case, f32, flag, i32

for _module in pkgutil.iter_modules(tests.cases.__path__):
    importlib.import_module(f"tests.cases.{_module.name}")


def unmade(program: Program) -> list[str]:
    """What is read before it is made."""
    made = {slot for slot, fact in enumerate(program.template) if fact is not None}
    made |= {slot for _, slot in program.inputs}
    wrong = []
    for step in program.steps:
        wrong += [f"{slot} of {step.eqn}" for slot in step.reads() if slot >= 0 and slot not in made]
        made.update(step.outs)
        for body in step.bodies:
            wrong += unmade(body)
    return wrong + [f"{slot}, a result" for slot in program.outs if slot >= 0 and slot not in made]


def interpolated(x, v, i, ok):
    """What lies behind a search is compared with the end of what was searched."""
    table = jnp.arange(5) * 1.0

    def read():
        return x[i, jnp.interp(v, table, table).astype(int)]

    return lax.cond(ok, read, lambda: 0.0 * v)


MORE = [Case(interpolated, (f32(5, 7), f32(5), i32(5), flag()))]


@pytest.mark.parametrize("case", [*CASES, *MORE], ids=lambda c: c.name)
def test_all_that_is_read_is_made(case):
    closed = jax.make_jaxpr(case.function)(*(a.struct() for a in case.arguments))
    jaxpr, consts = open_jaxpr(closed)
    assert not unmade(Slicer(inventory_of(closed)).program(jaxpr, consts, ()))


def test_a_comparison_behind_a_search():
    specs = [redzone.Spec(a.shape, a.dtype) for a in MORE[0].arguments]
    assert redzone.check(interpolated, *specs).accesses
