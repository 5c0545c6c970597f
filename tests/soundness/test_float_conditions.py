"""Conditions on floats: within them no index leaves its array, compiled or not, and their witnesses do leave."""

from __future__ import annotations

import itertools
import random
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import redzone

NUMBERS = (0.5, 0.25, 2.0, 3.0, 8.0, 0.1, 0.3, 1 / 3, 7.0, 1.1, 10.0, 64.0, -2.0, -0.3, 1e-3, 100.0)
STEPS: dict[str, Callable[[Any, Any], Any]] = {
    "times": lambda t, c: t * c,
    "plus": lambda t, c: t + c,
    "minus": lambda t, c: t - c,
    "from": lambda t, c: c - t,
    "over": lambda t, c: t / c,
    "floor": lambda t, c: jnp.floor(t),
    "ceil": lambda t, c: jnp.ceil(t),
    "round": lambda t, c: jnp.round(t),
    "at least": jnp.maximum,
    "at most": jnp.minimum,
    "doubled above": lambda t, c: jnp.where(t > c, t * 2, t),
}
KINDS = ("float32", "float32", "bfloat16", "float16", "int32")


def _index(chain: list[tuple[str, float]], kind: str) -> Callable[[Any], Any]:
    def index(t: Any) -> Any:
        held = jnp.float32 if kind == "int32" else jnp.dtype(kind)
        t = t.astype(held)
        for name, number in chain:
            t = STEPS[name](t, jnp.asarray(number, held))
        return t.astype(jnp.int32)

    return index


def _points(lo: float, hi: float, kind: str, rng: random.Random) -> Any:
    """Numbers of a range: its ends, those beside them, and some between."""
    numbers = [rng.uniform(lo, hi) for _ in range(200)]
    if kind == "int32":
        return np.clip(np.array([lo, hi, *numbers]), np.ceil(lo), np.floor(hi)).astype(np.int32)
    found = np.array([lo, hi, *numbers]).astype(kind)
    for end, toward in itertools.product((lo, hi), (np.inf, -np.inf)):
        beside = [np.asarray(end).astype(kind)]
        for _ in range(30):
            beside.append(np.nextafter(beside[-1], np.asarray(toward).astype(kind)))
        found = np.concatenate([found, np.array(beside, found.dtype)])
    return found[(found.astype(np.float64) >= lo) & (found.astype(np.float64) <= hi)]


@pytest.mark.parametrize("seed", range(12))
def test_what_keeps_them_stays_inside(seed: int) -> None:
    rng = random.Random(seed)
    told = 0
    for _ in range(10):
        chain = [(rng.choice(list(STEPS)), rng.choice(NUMBERS)) for _ in range(rng.randint(1, 4))]
        size, kind = rng.choice((4, 8, 10, 33)), rng.choice(KINDS)
        index = _index(chain, kind)
        report = redzone.check(
            lambda x, t, index=index: x[index(t)], redzone.Spec((size,), "float32"), redzone.Spec((3,), kind)
        )
        (access,) = report.accesses
        if str(access.verdict) not in ("safe", "requires"):
            continue
        told += 1
        lo = max((float(c.min) for c in access.requires if c.min is not None), default=-6e4)
        hi = min((float(c.max) for c in access.requires if c.max is not None), default=6e4)
        points = _points(lo, hi, kind, rng)
        for run in (index, jax.jit(index)):
            found = np.asarray(run(jnp.asarray(points)))
            outside = (found < -size) | (found >= size)
            assert not outside.any(), (chain, size, kind, points[outside], [str(c) for c in access.requires])
        if access.requires:
            assert access.witness is not None, (chain, size, kind)
            found = np.asarray(index(jnp.asarray(access.witness.arguments[1])))
            assert ((found < -size) | (found >= size)).any(), (chain, size, kind, access.witness.arguments[1])
    assert told >= 5
