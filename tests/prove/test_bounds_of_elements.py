"""Contracts that say something else of each element, however long the array is and however they are written."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest

import redzone

X = redzone.Spec((9, 9, 9), "float32")


def put(x, place):
    return x.at[tuple(place)].set(1.0)


@pytest.mark.parametrize(
    "low", [0, [0, 0, 0], np.zeros(3, int), jnp.zeros(3, int)], ids=["number", "list", "np", "jnp"]
)
@pytest.mark.parametrize("kind", [list, np.array, jnp.array], ids=["list", "np", "jnp"])
@pytest.mark.parametrize("highest", [8, 9])
def test_equal_bounds_written_out(low: Any, kind: Any, highest: int) -> None:
    place = redzone.Spec((3,), "int32", min=low, max=kind([8, highest, 8]))
    (access,) = redzone.check(put, X, place).accesses
    assert access.verdict == ("safe" if highest == 8 else "unsafe"), access.message
    place = redzone.Spec((3,), "int32", min=low, max=kind([highest] * 3))
    report = redzone.check(put, X, place)
    assert report.accesses[0].verdict == ("safe" if highest == 8 else "unsafe"), report.accesses[0].message
    assert not report.unmodelled


@pytest.mark.parametrize("size", [2, 100, 100_000])
def test_a_witness_keeps_what_is_promised_of_each_element(size: int) -> None:
    highest = np.arange(size) % 9
    highest[:2] = 3, 9
    numbers = redzone.Spec((size,), "int32", min=0, max=highest)
    x = redzone.Spec((5,), "float32")
    (access,) = redzone.check(lambda x, i: x[i], x, numbers).accesses
    assert access.verdict == "unsafe"
    assert (np.asarray(access.witness.arguments[1]) <= highest).all()
    (access,) = redzone.check(lambda x, i: x[i[0]], x, numbers).accesses
    assert access.verdict in ("safe", "requires"), access.message
