"""Which sums are one of two values by a condition."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from redzone.domains import top
from redzone.engine import analyse
from redzone.engine.alternatives import Alternatives, alternatives
from redzone.engine.program import SIMPLE
from redzone.frontend.compat import primitives

ADD = primitives()["add_p"]
X, N, F = (jax.ShapeDtypeStruct(s, d) for s, d in (((10,), jnp.float32), ((), jnp.int32), ((), jnp.float32)))
ON = jax.ShapeDtypeStruct((), jnp.bool_)
ROWS, ROW = (jax.ShapeDtypeStruct(s, jnp.int32) for s in ((4, 3), (4, 1)))


def found_in(index: Callable[..., Any], *avals: Any) -> list[Alternatives]:
    """What is found of the sums that go into an index."""
    closed = jax.make_jaxpr(lambda x, *a: x.at[index(*a)].get(mode="promise_in_bounds"))(X, *avals)
    program = analyse(closed, [top(v.dtype) for v in closed.in_avals]).program
    sums = [step for step in program.steps if step.kind == SIMPLE and step.eqn.primitive is ADD]
    assert sums
    return [found for step in sums if (found := alternatives(program, step)) is not None]


def flag(condition: Any) -> Any:
    return condition.astype(jnp.int32)


def beyond(i: Any, k: Any) -> Any:
    far = flag(i > 9)
    return far * k + (1 - far) * i


def on_the_other_side(i: Any, k: Any) -> Any:
    far = flag(i > 9)
    return i * (1 - far) + far * k


def by_a_bool(i: Any, on: Any) -> Any:
    up = flag(on)
    return up * i + (1 - up) * (i + 7)


@pytest.mark.parametrize(
    ("index", "avals", "shaped", "cases"),
    [
        (beyond, (N, N), False, [False, False]),
        (on_the_other_side, (ROWS, ROWS), True, [True, True]),
        (beyond, (ROWS, N), True, [True, False]),
        (by_a_bool, (ROWS, ON), False, [True, True]),
    ],
)
def test_one_of_two_values(index: Any, avals: Any, shaped: bool, cases: list[bool]) -> None:
    (found,) = found_in(index, *avals)
    assert found.shaped == shaped
    assert [case for _, case in found.cases] == cases


def by_another(i: Any, k: Any) -> Any:
    return flag(i > 9) * k + (1 - flag(i > 8)) * i


def with_two(i: Any, k: Any) -> Any:
    far = flag(i > 9)
    return far * k + (2 - far) * i


def turned(i: Any, k: Any) -> Any:
    far = flag(i > 9)
    return far * k + (far - 1) * i


def computed_anew(a: Any, b: Any, c: Any, i: Any, k: Any) -> Any:
    """The product may be fused with the sum where the one factor is made, and not where the other is."""
    product = a * b
    below = flag(product + c < 10.0)
    return below * i + (1 - below) * k + flag(product > 3.0)


@pytest.mark.parametrize(
    ("index", "avals"),
    [
        (by_another, (N, N)),
        (with_two, (N, N)),
        (turned, (N, N)),
        (beyond, (ROW, ROWS)),
        (computed_anew, (F, F, F, N, N)),
    ],
)
def test_other_sums(index: Any, avals: Any) -> None:
    assert not found_in(index, *avals)
