"""Many accesses in one program: each gets its own verdict, however many there are."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import redzone

TABLE = jax.ShapeDtypeStruct((100,), jnp.float32)
NUMBER = jax.ShapeDtypeStruct((), jnp.int32)


def conditions(report):
    assert {str(a.verdict) for a in report.accesses} == {"requires"}, str(report)
    return [[str(c) for c in a.requires] for a in report.accesses]


@pytest.mark.parametrize("count", [5, 90])
def test_writes_at_elements_of_one_input(count):
    def f(x, at):
        for k in range(count):
            x = x.at[at[k]].set(k)
        return x

    report = redzone.check(f, TABLE, jax.ShapeDtypeStruct((count,), jnp.int32))
    assert conditions(report) == [[f"-100 ≤ at[{k}] ≤ 99"] for k in range(count)]


@pytest.mark.parametrize("count", [5, 90])
def test_updates_further_and_further_along(count):
    def f(cache, start):
        for k in range(count):
            cache = lax.dynamic_update_slice(cache, jnp.ones((4,)), (start + 4 * k,))
        return cache

    report = redzone.check(f, jax.ShapeDtypeStruct((1000,), jnp.float32), NUMBER)
    assert len(report.accesses) == count
    for k, (condition,) in enumerate(conditions(report)):
        assert condition.endswith(f"start ≤ {996 - 4 * k}")


@pytest.mark.parametrize("count", [5, 60])
def test_loops_up_to_an_input(count):
    def f(x, end):
        total = 0.0
        for k in range(count):
            total = lax.fori_loop(0, end, lambda i, s, k=k: s + x[i + k], total)
        return total

    report = redzone.check(f, TABLE, NUMBER)
    assert conditions(report) == [[f"end ≤ {100 - k}"] for k in range(count)]


@pytest.mark.parametrize("count", [3, 12])
def test_branches_one_after_the_other(count):
    def f(x, i, ups):
        for k in range(count):
            i = lax.cond(ups[k], lambda i: i + 1, lambda i: i - 1, i)
        return x[i]

    report = redzone.check(f, TABLE, NUMBER, jax.ShapeDtypeStruct((count,), bool))
    assert conditions(report)[-1] == [f"{count - 100} ≤ i ≤ {99 - count}"]
