"""The same program traced twice, and programs that differ in one thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from redzone.frontend.same import same_program

X = jax.ShapeDtypeStruct((8,), "float32")
I = jax.ShapeDtypeStruct((), "int32")  # noqa: E741


def _traced(make: Callable[[], Callable[..., Any]], *args: Any) -> Any:
    return jax.make_jaxpr(make())(*args)


def _picks(k: int) -> Callable[[], Callable[..., Any]]:
    return lambda: lambda x, i: x[i + k]


def _loops(n: int) -> Callable[[], Callable[..., Any]]:
    return lambda: lambda x, i: jax.lax.fori_loop(0, n, lambda j, c: c + x[j], 0.0) + jnp.where(i > 0, x[i], 0)


def _closes_over(values: list[int]) -> Callable[[], Callable[..., Any]]:
    return lambda: lambda x, i: x[np.array(values)] + x[i]


def _calls(last: bool) -> Callable[[], Callable[..., Any]]:
    def make() -> Callable[..., Any]:
        inner = jax.jit(lambda x, i: x[i] if last else x[0] + i)
        return lambda x, i: inner(x, i) + inner(x, i)

    return make


# Neighbours differ in one thing.
PROGRAMS = [
    *(_picks(0), _picks(1)),
    *(_loops(3), _loops(4)),
    *(_closes_over([1, 2]), _closes_over([1, 3])),
    *(_calls(True), _calls(False)),
]


@pytest.mark.parametrize("make", PROGRAMS)
def test_a_program_is_itself_when_traced_again(make: Callable[[], Callable[..., Any]]) -> None:
    one = _traced(make, X, I)
    jax.clear_caches()
    other = _traced(make, X, I)
    assert one is not other
    assert same_program(one, other) and same_program(one, one)


@pytest.mark.parametrize("k", range(0, len(PROGRAMS), 2))
def test_programs_that_differ_in_one_thing(k: int) -> None:
    one, other = _traced(PROGRAMS[k], X, I), _traced(PROGRAMS[k + 1], X, I)
    assert not same_program(one, other) and not same_program(other, one)


def test_other_shapes() -> None:
    assert not same_program(_traced(_picks(0), X, I), _traced(_picks(0), jax.ShapeDtypeStruct((9,), "float32"), I))


def test_which_operand_is_used_matters() -> None:
    one = jax.make_jaxpr(lambda x, y, i: x[i])(X, X, I)
    other = jax.make_jaxpr(lambda x, y, i: y[i])(X, X, I)
    assert not same_program(one, other)


def test_large_constants_are_the_same_only_when_they_are_one_array() -> None:
    big = jnp.arange(5000)
    make = lambda table: lambda: lambda x, i: x[table[i]]  # noqa: E731
    assert same_program(_traced(make(big), X, I), _traced(make(big), X, I))
    assert not same_program(_traced(make(big), X, I), _traced(make(big + 0), X, I))


def test_parameters_that_cannot_be_compared_are_not_equal() -> None:
    class Odd:
        def __eq__(self, other: object) -> bool:
            raise RuntimeError("do not ask")

        __hash__ = object.__hash__

    def call(x: Any) -> Any:
        return jax.pure_callback(lambda v: v, X, x)

    one = jax.make_jaxpr(call)(X)
    jax.clear_caches()
    other = jax.make_jaxpr(call)(X)
    one.eqns[0].params["callback"] = Odd()
    other.eqns[0].params["callback"] = Odd()
    assert not same_program(one, other)
