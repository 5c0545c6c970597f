"""A witness that was drawn, or is far away, gives way to a plainer one."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone

X, N = redzone.Spec((), "float32"), redzone.Spec((), "int32")


def _searched(edges: Any, x: Any) -> Any:
    return edges[jnp.searchsorted(edges, x)]


def _lifted(up: Any, node: Any, steps: Any) -> Any:
    up, node = jnp.clip(up, 0, 15), jnp.clip(node, 0, 15)
    return lax.fori_loop(0, 5, lambda j, at: jnp.where((steps >> j) & 1, up[j, at], at), node)


def _after_the_third(x: Any) -> Any:
    return x[lax.top_k(x, 3)[1][-1] + 1]


@pytest.mark.parametrize(
    ("function", "arguments"),
    [
        (_searched, (redzone.Spec((9,), "float32"), X)),
        (_lifted, (redzone.Spec((4, 16), "int32"), N, N)),
        (_after_the_third, (redzone.Spec((10,), "float32"),)),
    ],
)
def test_whole_numbers_near_zero(function: Any, arguments: Any) -> None:
    unsafe = [a for a in redzone.check(function, *arguments).accesses if a.verdict == "unsafe"]
    assert unsafe
    for access in unsafe:
        assert access.witness is not None
        for value in map(np.asarray, access.witness.arguments):
            assert (value == np.rint(value)).all() and (abs(value) <= 1000).all(), access.witness
        assert str(access.witness.index[0]) in access.message


def test_a_promise_that_ends_far_away_is_kept() -> None:
    def last(x: Any, i: Any) -> Any:
        return x[i]

    (access,) = redzone.check(
        last, redzone.Spec((5000,), "float32"), redzone.Spec((), "int32", min=4000, max=5000)
    ).accesses
    assert access.verdict == "unsafe" and access.witness is not None
    assert int(access.witness.args[1]) == 5000
