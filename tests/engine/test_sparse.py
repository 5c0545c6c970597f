"""Accesses inside JAX's sparse arrays, which are computed by primitives of their own."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax.experimental import sparse

import redzone
from redzone import Spec

DATA, LINE = Spec((5,), "float32"), Spec((12,), "float32")
PAIRS = Spec((5, 2), "int32")


def _verdicts(report: redzone.Report) -> list[tuple[str, str]]:
    return [(a.effect, str(a.verdict)) for a in report.accesses if str(a.verdict) != "safe"]


def _product(data: Any, indices: Any, x: Any) -> Any:
    return sparse.BCOO((data, indices), shape=(10, 12)) @ x


def test_what_lies_outside_a_bcoo_array_is_padding() -> None:
    report = redzone.check(_product, DATA, PAIRS, LINE)
    assert _verdicts(report) == [("read", "declared")]
    assert "jax's BCOO, whose indices out of bounds are padding" in str(report)
    assert report.accesses[0].location.line == _product.__code__.co_firstlineno + 1


def test_gradients_and_batches_of_products_are_accesses_too() -> None:
    gradient = jax.grad(lambda data, indices, x: _product(data, indices, x).sum())
    assert _verdicts(redzone.check(gradient, DATA, PAIRS, LINE)) == [("read", "declared")] * 2
    pairs, lines = Spec((2, 5, 2), "int32"), Spec((2, 12), "float32")
    report = redzone.check(jax.vmap(_product), Spec((2, 5), "float32"), pairs, lines)
    assert _verdicts(report) == [("read", "declared")]


def test_rows_by_their_ends_are_padded_too() -> None:
    def product(data: Any, indices: Any, ends: Any, x: Any) -> Any:
        return sparse.BCSR((data, indices, ends), shape=(10, 12)) @ x

    report = redzone.check(product, DATA, Spec((5,), "int32"), Spec((11,), "int32"), LINE)
    assert _verdicts(report) == [("read", "declared")] and "jax's BCSR" in str(report)


def test_making_an_array_dense_and_back_is_looked_into() -> None:
    def dense(data: Any, indices: Any) -> Any:
        return sparse.BCOO((data, indices), shape=(10, 12)).todense()

    assert _verdicts(redzone.check(dense, DATA, PAIRS)) == [("write", "declared")]


def test_an_array_of_coordinates_has_no_padding() -> None:
    def product(data: Any, row: Any, column: Any, x: Any) -> Any:
        return sparse.COO((data, row, column), shape=(10, 12)) @ x

    line = Spec((5,), "int32")
    report = redzone.check(product, DATA, line, line, LINE)
    assert _verdicts(report) == [("read", "requires"), ("write", "requires")]
    assert "-12 ≤ column ≤ 11" in str(report) and "-10 ≤ row ≤ 9" in str(report)
    guarded = redzone.jit(product)
    one, places = jnp.ones(5), jnp.arange(5)
    assert guarded(one, places, places, jnp.ones(12)).sum() == 5
    with pytest.raises(redzone.OutOfBounds, match="column"):
        guarded(one, places, places + 10, jnp.ones(12))


def test_rows_end_where_their_pointers_say_and_the_rest_is_padding() -> None:
    def product(data: Any, indices: Any, ends: Any, x: Any) -> Any:
        return sparse.CSR((data, indices, ends), shape=(10, 12)) @ x

    report = redzone.check(product, DATA, Spec((5,), "int32"), Spec((11,), "int32"), LINE)
    assert sorted(_verdicts(report)) == [("read", "requires"), ("write", "declared"), ("write", "declared")]
    assert "-12 ≤ indices ≤ 11" in str(report)


def test_one_product_by_coordinates_and_one_by_rows_keep_their_own_verdicts() -> None:
    def both(data: Any, row: Any, column: Any, ends: Any, x: Any) -> Any:
        coordinates = sparse.COO((data, row, column), shape=(10, 12)) @ x
        return coordinates, sparse.CSR((data, column, ends), shape=(10, 12)) @ x

    line = Spec((5,), "int32")
    found = _verdicts(redzone.check(both, DATA, line, line, Spec((11,), "int32"), LINE))
    assert found.count(("write", "requires")) == 1 and found.count(("write", "declared")) == 2


def test_what_is_not_looked_into_is_said() -> None:
    def tidied(data: Any, indices: Any) -> Any:
        return sparse.BCOO((data, indices), shape=(10, 12)).sum_duplicates(nse=5).indices

    report = redzone.check(tidied, DATA, PAIRS)
    assert "not looked into" in str(report) and "bcoo_sum_duplicates" in str(report)
    looked_up = redzone.check(lambda d, i, x: x[tidied(d, i)[0, 1]], DATA, PAIRS, LINE)
    assert "safe" not in {str(a.verdict) for a in looked_up.accesses}
