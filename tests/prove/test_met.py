"""Masks looked at in the runs there are: where the conditions are there, or made of what is; else another slice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import pytest

import redzone
from redzone.prove import masks
from tests.cases import CASES

TABLE = redzone.Spec((10,), "float32")
INDEX = redzone.Spec((), "int32")
FLOAT = redzone.Spec((), "float32")


def _read(x: Any, i: Any) -> Any:
    return x.at[i].get(mode="promise_in_bounds")


def by_its_own_bounds(x: Any, i: Any, _: Any) -> Any:
    return jnp.where((i >= 0) & (i < 10), _read(x, i), 0.0)


def by_what_another_input_says(x: Any, i: Any, y: Any) -> Any:
    return jnp.where((i >= 0) & (i < 10) & (y > 0), _read(x, i), 0.0)


@pytest.mark.sources
@pytest.mark.parametrize(
    ("function", "slices"),
    [(by_its_own_bounds, 0), (by_what_another_input_says, 1)],
    ids=["made of what the index is", "made of floats"],
)
def test_another_slice_is_made_only_for_what_is_not_there(
    monkeypatch: pytest.MonkeyPatch, function: Callable[..., Any], slices: int
) -> None:
    made, right = [], masks.masked_runs

    def counted(*args: Any) -> Any:
        made.append(args)
        return right(*args)

    monkeypatch.setattr(masks, "masked_runs", counted)
    (access,) = redzone.check(function, TABLE, INDEX, FLOAT).accesses
    assert str(access.verdict) == "masked"
    assert len(made) == slices


@pytest.mark.sources
@pytest.mark.parametrize(
    "case", [one for one in CASES if one.name.startswith("masked.") and "by_" in one.name], ids=lambda case: case.name
)
def test_another_slice_says_the_same(monkeypatch: pytest.MonkeyPatch, case: Any) -> None:
    specs = [redzone.Spec(a.shape, a.dtype, min=a.low, max=a.high) for a in case.arguments]
    told = [str(access.verdict) for access in redzone.check(case.function, *specs).accesses]
    monkeypatch.setattr(masks, "placed", lambda *_: None)
    assert [str(access.verdict) for access in redzone.check(case.function, *specs).accesses] == told
