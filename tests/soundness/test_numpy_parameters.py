"""Equations may have numpy's integers for parameters: they mean what Python's mean, and nothing fails on them."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
import pytest

from tests.cases import CASES, Case
from tests.cases.test_cases import spec  # noqa: F401  (the cases are there once their modules are)
from tests.fuzz.told import told

#: Parameters that JAX takes as they were given: an axis found by np.argmax, the splits of np.array_split.
GIVEN = (
    *("axes", "axis", "broadcast_dimensions", "dimension_numbers", "dimensions", "limit_indices", "padding_config"),
    *("permutation", "sizes", "start_indices", "strides"),
)


def _numpy(value: Any) -> Any:
    if type(value) is int:
        return np.int64(value)
    if type(value) is tuple:
        return tuple(map(_numpy, value))
    if type(value).__name__ in ("GatherDimensionNumbers", "ScatterDimensionNumbers"):
        return type(value)(**{name: _numpy(getattr(value, name)) for name in value._fields})
    return value


def _in_numpy(part: Any, done: dict[int, Any]) -> Any:
    """A jaxpr, open or closed, with numpy's integers wherever they can be; one called twice stays one."""
    if isinstance(part, tuple | list) and part and all(hasattr(one, "eqns") for one in part):
        return type(part)(_in_numpy(one, done) for one in part)
    if not hasattr(part, "eqns"):
        return part
    if id(part) not in done:
        if getattr(part, "jaxpr", part) is not part:
            done[id(part)] = part.replace(jaxpr=_in_numpy(part.jaxpr, done))
        else:
            done[id(part)] = part.replace(eqns=[eqn.replace(params=_params(eqn, done)) for eqn in part.eqns])
    return done[id(part)]


def _params(eqn: Any, done: dict[int, Any]) -> dict[str, Any]:
    given = {*GIVEN, "dimension"} if eqn.primitive.name == "concatenate" else GIVEN
    return {name: _numpy(value) if name in given else _in_numpy(value, done) for name, value in eqn.params.items()}


@pytest.mark.parametrize("case", CASES[::4], ids=lambda c: c.name)
def test_they_change_nothing(case: Case) -> None:
    closed = jax.make_jaxpr(case.function)(*(a.struct() for a in case.arguments))
    assert told(_in_numpy(closed, {}), case.arguments) == told(closed, case.arguments)
