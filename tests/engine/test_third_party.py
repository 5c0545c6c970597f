"""Accesses inside primitives that other libraries define."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.extend.core import Primitive
from jax.interpreters import mlir

import redzone


def _primitive(name: str, run: Any) -> Primitive:
    primitive = Primitive(name)
    primitive.def_impl(run)
    primitive.def_abstract_eval(lambda x, *_, **__: x)
    mlir.register_lowering(primitive, mlir.lower_fun(run, multiple_results=False))
    return primitive


put_p = _primitive("test_put", lambda x, i: x.at[i].set(1.0))
table_p = _primitive("test_table", lambda x, y: x + y.astype(x.dtype) * jnp.arange(4.0)[jnp.argsort(y)[0]])
secret_p = _primitive("test_secret", lambda x, i: x + np.asarray(i))
among_p = _primitive("test_among", lambda x, i: x.at[jnp.asarray(np.array([3, 1, 9], np.int32))[i]].add(1.0))
twice_p = _primitive("test_twice", lambda x, i: x.at[2 * i].add(1.0))


def _verdicts(report: redzone.Report) -> list[tuple[str, str]]:
    return [(a.effect, str(a.verdict)) for a in report.accesses]


def test_what_a_primitive_writes_is_seen_though_nobody_asks_for_it() -> None:
    report = redzone.check(lambda x, i: put_p.bind(x, i), jnp.zeros(8), 3)
    assert _verdicts(report) == [("write", "requires")]
    assert "-8 ≤ i ≤ 7" in report.accesses[0].message
    assert report.accesses[0].buffer is not None and "-8 ≤ i ≤ 7" in str(report)


def test_a_table_of_its_own_is_a_constant() -> None:
    def put(i: Any) -> Any:
        return redzone.check(lambda x, i: among_p.bind(x, i), jnp.zeros(8), i)

    assert ("write", "safe") in _verdicts(put(redzone.Spec((), "int32", min=0, max=1)))
    assert ("write", "unsafe") in _verdicts(put(redzone.Spec((), "int32", min=0, max=2)))


def test_an_index_outside_is_found_in_a_loop() -> None:
    def fill(x: Any) -> Any:
        return jax.lax.fori_loop(0, 9, lambda i, x: put_p.bind(x, i), x)

    report = redzone.check(fill, jnp.zeros(8))
    assert _verdicts(report) == [("write", "unsafe")]
    witness = report.accesses[0].witness
    assert witness is not None and witness.index == (8,)
    assert _verdicts(redzone.check(lambda x: jax.lax.fori_loop(0, 8, lambda i, x: put_p.bind(x, i), x), jnp.zeros(8)))[
        0
    ] == ("write", "safe")


def test_each_use_counts_with_its_own_index() -> None:
    def both(x: Any, y: Any) -> Any:
        return twice_p.bind(x, jnp.int32(3)), twice_p.bind(y, jnp.int32(4))

    report = redzone.check(both, jnp.zeros(8), jnp.zeros(8))
    assert "unsafe" in {verdict for _, verdict in _verdicts(report)}


class _Table:
    """A parameter that looks the same whatever it holds."""

    def __init__(self, last: int) -> None:
        self.last = last

    def __repr__(self) -> str:
        return "Table"


cut_p = Primitive("test_cut")
cut_p.def_impl(lambda i, *, table: jnp.clip(i, 0, table.last))
cut_p.def_abstract_eval(lambda i, *, table: i)


def test_parameters_that_only_look_alike_are_two() -> None:
    x = jnp.zeros(4)
    for last, verdict in ((3, "safe"), (4, "unsafe"), (3, "safe")):
        (access,) = redzone.check(lambda i, last=last: x[cut_p.bind(i, table=_Table(last))], jnp.int32(0)).accesses
        assert str(access.verdict) == verdict


def test_a_guard_checks_inside() -> None:
    guarded = redzone.guard(lambda x, i: put_p.bind(x, i))
    np.testing.assert_array_equal(guarded(jnp.zeros(4), 2), [0, 0, 1, 0])
    with pytest.raises(redzone.OutOfBounds):
        guarded(jnp.zeros(4), 4)


def test_what_is_given_floats_alone_is_noted() -> None:
    report = redzone.check(lambda x, y: table_p.bind(x, y), jnp.zeros(4), jnp.zeros(4))
    assert report.accesses == ()
    assert any("test_table ×1" in note for note in report.notes)
    assert "test_table ×1" in str(report)


def test_what_cannot_be_traced_is_noted() -> None:
    report = redzone.check(lambda x, i: secret_p.bind(x, i), jnp.zeros(4), 1)
    assert any("test_secret ×1" in note for note in report.notes)
