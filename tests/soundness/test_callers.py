"""One run of a function stands for several calls with equal facts; what each hands in is told apart."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

import redzone

NUMBER = redzone.Spec((), "int32", min=0, max=9)


def _long(y: Any) -> Any:
    """Too many equations to be written out at each call."""
    for _ in range(45):
        y = -y
    return y


@jax.jit
def _chosen(x: Any, b: Any, c: Any) -> Any:
    at = lax.cond(c - jnp.minimum(b, c) <= 9, lambda b, c: c, lambda b, c: jnp.clip(b, 0, 3), b, c)
    return _long(lax.dynamic_slice(x, (at,), (1,))[0])


@jax.jit
def _counted(x: Any, b: Any, c: Any) -> Any:
    def body(state: Any) -> Any:
        i, total = state
        return i + 1, total + lax.dynamic_slice(x, (i,), (1,))[0]

    return _long(lax.while_loop(lambda state: (state[0] < c) & (b >= 0), body, (0, 0.0))[1])


def _small(a: Any) -> Any:
    """a ≤ 2, in words that bounds alone do not understand."""
    redzone.assume((jnp.clip(a, 0, 2) >= a) | (a > a))
    return a


def _verdict(function: Any) -> str:
    (access,) = redzone.check(function, NUMBER, NUMBER).accesses
    return str(access.verdict)


def test_a_branch_hands_out_what_its_own_caller_gave() -> None:
    x = jnp.zeros(4)
    assert _verdict(lambda a, b: _chosen(x, b, _small(a)) + _chosen(x, _small(a), b)) == "unsafe"
    assert _verdict(lambda a, b: _chosen(x, b, _small(a))) == "safe"


def test_a_loop_runs_as_long_as_its_own_caller_says() -> None:
    x = jnp.zeros(4)
    assert _verdict(lambda a, b: _counted(x, b, _small(a)) + _counted(x, _small(a), b)) == "unsafe"
    assert _verdict(lambda a, b: _counted(x, b, _small(a))) == "safe"
