"""Conditions on inputs: what they narrow, and how parts of an input are told."""

from __future__ import annotations

import math
from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import redzone
from redzone.domains import Fact
from redzone.prove.conditions import _parts, narrowed
from redzone.prove.need import FAR, Need


def test_the_bounds_of_a_float_are_floats() -> None:
    facts = narrowed([Fact(-math.inf, math.inf, 1, True)], {0: Need(0, 3)})
    assert facts is not None
    assert (facts[0].lo, facts[0].hi, facts[0].nan) == (0.0, 3.0, False)
    assert type(facts[0].lo) is type(facts[0].hi) is float


def _need(shape: tuple[int, ...], *parts: tuple[tuple[slice | int, ...], int, int]) -> Need:
    lo, hi = np.full(shape, -FAR), np.full(shape, FAR)
    for at, low, high in parts:
        lo[at], hi[at] = low, high
    return Need(lo, hi)


ALL = slice(None)


@pytest.mark.parametrize(
    ("need", "told"),
    [
        (_need((7, 2), ((ALL, 1), 0, 4)), [("[:, 1]", 0, 4)]),
        (_need((7, 2), ((ALL, ALL), 0, 4)), [("", 0, 4)]),
        (_need((6, 6, 3), ((ALL, ALL, 0), -FAR, 179)), [("[:, :, 0]", -FAR, 179)]),
        (_need((8,), ((slice(0, 8, 2),), 0, 3)), [("[0:7:2]", 0, 3)]),
        (_need((4, 4), ((slice(1, 3), slice(1, 3)), 0, 3)), [("[1:3, 1:3]", 0, 3)]),
        (_need((4, 4), ((0, 0), 0, 3), ((1, 1), 0, 3)), [("[0, 0]", 0, 3), ("[1, 1]", 0, 3)]),
    ],
)
def test_parts_are_told_as_blocks(need: Need, told: list[tuple[str, int, int]]) -> None:
    assert _parts(need) == told


def test_ends_that_hold_for_different_parts_are_told_apart() -> None:
    lo, hi = np.full(7, -FAR), np.full(7, FAR)
    lo[:6], hi[1:] = 0, 20
    assert _parts(Need(lo, hi)) == [("[0:6]", 0, FAR), ("[1:7]", -FAR, 20)]


@pytest.mark.parametrize("seed", range(20))
def test_what_is_told_is_what_is_needed(seed: int) -> None:
    rng = np.random.default_rng(seed)
    shape = tuple(rng.integers(1, 4, rng.integers(1, 4)))
    lo = rng.choice([-FAR, 0], shape)
    hi = rng.choice([3, 5, FAR], shape)
    low, high = np.full(shape, -FAR), np.full(shape, FAR)
    for where, least, most in _parts(Need(lo, hi)):
        # Of elements that are not told which, the strongest need of any is told.
        at = eval(f"np.s_{where}", {"np": np}) if where.startswith("[") else ...
        low[at], high[at] = np.maximum(low[at], least), np.minimum(high[at], most)
    assert (low >= lo).all() and (high <= hi).all()


@pytest.mark.parametrize(
    ("size", "told"),
    [(2**20, "-inf < x < inf"), (2**10, "-1024.0 ≤ x ≤ 1023.0")],
)
def test_a_narrow_float_that_does_not_hold_the_size(size: int, told: str) -> None:
    def rounded(table: Any, x: Any) -> Any:
        return table[jnp.round(x).astype(jnp.int32)]

    report = redzone.check(rounded, redzone.Spec((size,), "float32"), redzone.Spec((), "float16"))
    assert [str(condition) for condition in report.requires] == [told]
