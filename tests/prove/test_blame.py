"""An unknown access says where its index was lost, and following its advice settles it."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import pytest
from jax import lax

import redzone
from redzone.prove.blame import index_name
from redzone.report.model import Location

X = redzone.Spec((100,), "float32")
COUNTS = redzone.Spec((10,), "int32")


def test_the_advice_settles_it() -> None:
    def lost(x: Any, counts: Any) -> Any:
        index = jnp.cumprod(counts)
        return x[index]

    def settled(x: Any, counts: Any) -> Any:
        index = jnp.cumprod(counts)
        redzone.assume(index, min=0, max=99)
        return x[index]

    (access,) = redzone.check(lost, X, COUNTS).accesses
    assert access.verdict == "unknown" and access.loss is not None
    assert access.loss.settle == "redzone.assume(index, min=0, max=99)"
    assert access.loss.arguments == ("counts",)
    assert access.loss.equation.startswith("cumprod")
    assert access.loss.location.text == "index = jnp.cumprod(counts)"
    (access,) = redzone.check(settled, X, COUNTS).accesses
    assert access.verdict == "safe" and access.loss is None


def test_the_equation_has_a_line_of_its_own() -> None:
    def walk(x: Any, n: Any) -> Any:
        def step(state: Any) -> Any:
            k, total = state
            total = total + x[k]
            k = k + 2
            return k, total

        return lax.while_loop(lambda s: s[1] < n, step, (0, 0.0))

    report = redzone.check(walk, X, redzone.Spec((), "int32"))
    (access,) = report.accesses
    assert access.verdict == "unknown" and access.loss is not None
    assert access.loss.settle == "redzone.assume(k, min=0, max=99)"
    assert access.loss.arguments == ("n",)
    assert access.loss.location.text in str(report)


@pytest.mark.parametrize(
    ("text", "dim", "name"),
    [
        ("return x[i]", 0, "i"),
        ("y = x[a + 1] * 2", 0, "a + 1"),
        ("return x[i, j]", 1, "j"),
        ("return x[0, j]", 1, "j"),
        ("return x[:, j]", 1, "j"),
        ("return x.at[i].set(y[0])", 0, "i"),
        ("return x[i], y[j]", 0, ""),
        ("return x[None, i]", 1, ""),
        ("return x[..., i]", 1, ""),
        ("return lax.dynamic_slice(x, (i,), (3,))", 0, ""),
        ("return x[i", 0, ""),
    ],
)
def test_the_index_is_called_what_the_user_calls_it(text: str, dim: int, name: str) -> None:
    assert index_name(Location("", 1, "f", text), dim) == name
