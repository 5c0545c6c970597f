"""A function that cannot be traced: JAX's words, the line, the fix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from redzone.frontend.failures import explained

X = jax.ShapeDtypeStruct((4,), jnp.float32)


def branches(x: jax.Array) -> jax.Array:
    if x.sum() > 0:
        return x
    return -x


def makes_a_shape(x: jax.Array) -> jax.Array:
    return jnp.zeros(x.sum().astype(int))


def indexes_a_list(x: jax.Array) -> int:
    return [1, 2, 3][x.sum().astype(int)]


def calls_numpy(x: jax.Array) -> Any:
    return np.sin(np.asarray(x))


def masks(x: jax.Array) -> jax.Array:
    return x[x > 0]


def raises(x: jax.Array) -> jax.Array:
    raise ValueError("no such thing\nand more")


@pytest.mark.parametrize(
    ("fn", "error", "line", "fix"),
    [
        (branches, "TracerBoolConversionError: ", "if x.sum() > 0:", "jax.lax.cond or jnp.where"),
        (makes_a_shape, "TypeError: ", "return jnp.zeros(", "make that argument static"),
        (indexes_a_list, "TracerIntegerConversionError: ", "return [1, 2, 3][", "index a jax array"),
        (calls_numpy, "TracerArrayConversionError: ", "return np.sin(", "jax.numpy twin"),
        (masks, "NonConcreteBooleanIndexError: ", "return x[x > 0]", "jnp.where(mask"),
        (raises, "ValueError: no such thing\n", "raise ValueError", ""),
    ],
)
def test_explained(fn: Callable[..., Any], error: str, line: str, fix: str) -> None:
    with pytest.raises(Exception) as caught:
        jax.make_jaxpr(fn)(X)
    text = explained(caught.value)
    assert text.startswith(error)
    assert "test_failures.py:" in text and line in text
    assert ("fix: " in text) == bool(fix)
    assert fix in text
    assert len(text.splitlines()) <= 3


def test_the_cause_is_what_is_told() -> None:
    def wrapped() -> None:
        try:
            jax.make_jaxpr(branches)(X)
        except Exception as error:
            raise RuntimeError("tracing failed") from error

    with pytest.raises(RuntimeError) as caught:
        wrapped()
    assert explained(caught.value).startswith("TracerBoolConversionError")


def test_a_call_that_does_not_fit() -> None:
    for arguments in ((), (1, 2)):
        with pytest.raises(TypeError) as caught:
            branches(*arguments)
        assert "fix: the arguments given are not those the function takes" in explained(caught.value)


def test_an_error_without_words() -> None:
    assert explained(ValueError()) == "ValueError"
