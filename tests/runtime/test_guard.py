"""redzone.guard: an error to return from a function that is compiled elsewhere."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import redzone
from tests.runtime.programs import BAD, GOOD, X, picked


def test_outside_it_returns_or_raises() -> None:
    guarded = redzone.guard(picked)
    assert guarded(X, GOOD) == jax.jit(picked)(X, GOOD)
    with pytest.raises(redzone.OutOfBounds, match=r"i\[1\] is 20"):
        guarded(X, BAD)


def test_inside_it_returns_an_error_beside_the_result() -> None:
    @jax.jit
    def step(x: Any, i: Any) -> Any:
        error, result = redzone.guard(picked)(x, i)
        return error, result * 2

    error, result = step(X, GOOD)
    error.throw()
    assert error.get() is None and result == 2 * jax.jit(picked)(X, GOOD)
    error, _ = step(X, BAD)
    assert "reads index 20" in (error.get() or "")
    with pytest.raises(redzone.OutOfBounds, match="reads index 20"):
        error.throw()


def test_under_vmap_and_scan() -> None:
    error, _ = jax.vmap(redzone.guard(picked), (None, 0))(X, jnp.stack([GOOD, BAD]))
    assert "reads index 20" in (error.get() or "")

    def step(_: Any, i: Any) -> Any:
        return None, redzone.guard(picked)(X, i)

    errors, results = jax.jit(lambda rows: jax.lax.scan(step, None, rows)[1])(jnp.stack([GOOD, BAD]))
    assert results.shape == (2,) and errors.get() is not None


def test_proved_programs_carry_an_empty_error() -> None:
    error, result = jax.jit(redzone.guard(lambda x: x[2]))(X)
    assert jax.tree.leaves(error) == [] and result == 2
    error.throw()
    assert repr(error) == "redzone.Error(None)"


def test_unsafe_raises_while_tracing() -> None:
    with pytest.raises(redzone.OutOfBounds, match="leaves an array"):
        jax.jit(redzone.guard(lambda x: x[jnp.arange(11)]))(X)


def test_while_tracing_the_error_is_not_known() -> None:
    def step(x: Any, i: Any) -> Any:
        error, result = redzone.guard(picked)(x, i)
        assert "redzone.Error" in repr(error)
        error.throw()
        return result

    with pytest.raises(TypeError, match="not known while a program is traced"):
        jax.jit(step)(X, GOOD)


def test_inside_a_guarded_function_it_is_checked_with_it() -> None:
    def outer(x: Any, i: Any) -> Any:
        _, result = redzone.guard(picked)(x, i)
        return result

    with pytest.raises(redzone.OutOfBounds, match=r"outer: i\[1\] is 20"):
        redzone.jit(outer)(X, BAD)
        redzone.wait()


def test_modes(capsys: pytest.CaptureFixture[str]) -> None:
    redzone.guard(picked, mode="off")(X, BAD)
    redzone.guard(picked, mode="report")(X, BAD)
    assert "i[1] is 20" in capsys.readouterr().err
    with pytest.raises(TypeError, match="takes a function"):
        redzone.guard(3)  # type: ignore[arg-type]
