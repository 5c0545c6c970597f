"""`@redzone.example` says how a function is called, and leaves it alone."""

from __future__ import annotations

import functools

import jax
import pytest

import redzone
from redzone.frontend.example import Example, examples_of


def add(a: int, b: int = 0) -> int:
    return a + b


def test_the_function_is_returned_unchanged() -> None:
    def f(a: int) -> int:
        return a

    assert redzone.example(1)(f) is f
    assert examples_of(f) == (Example((1,), {}),)


def test_examples_stack_in_reading_order() -> None:
    @redzone.example(1)
    @redzone.example(2, b=3)
    def f(a: int, b: int = 0) -> int:
        return a + b

    assert examples_of(f) == (Example((1,), {}), Example((2,), {"b": 3}))


def test_examples_below_and_above_jit() -> None:
    @redzone.example(1)
    @jax.jit
    @redzone.example(2)
    def f(a: jax.Array) -> jax.Array:
        return a

    assert [e.args for e in examples_of(f)] == [(1,), (2,)]


def test_no_examples() -> None:
    assert examples_of(add) == ()
    assert examples_of(len) == ()
    assert examples_of(functools.partial(add, 1)) == ()


def test_forgotten_arguments() -> None:
    with pytest.raises(TypeError, match=r"@redzone\.example needs the arguments to check 'add' with: write"):
        redzone.example(add)


def test_what_cannot_carry_examples() -> None:
    with pytest.raises(TypeError, match=r"cannot be attached to a builtin_function_or_method"):
        redzone.example(1)(len)
