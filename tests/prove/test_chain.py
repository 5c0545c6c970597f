"""The chain of equations behind an index, and the array that is accessed."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

import redzone
from redzone.report.model import Access


def only(fn: Any, *args: Any, primitive: str = "") -> Access:
    accesses = [a for a in redzone.check(fn, *args).accesses if not primitive or a.primitive == primitive]
    assert len(accesses) == 1
    return accesses[0]


def told(access: Access) -> list[str]:
    return [f"{link.name} = {link.equation}" for link in access.chain]


X, AT = jnp.zeros(16), jnp.zeros(4, int)


def test_from_the_input_to_the_index() -> None:
    access = only(lambda x, i: x[jnp.clip(i, 0, 16)], X, AT)
    assert told(access) == [
        "i = i: argument 2",
        "t1 = max(0, i)",
        "t2 = min(16, t1)",
        "t3 = t2 + 16 if t2 < 0 else t2",
    ]
    assert [(link.lo, link.hi) for link in access.chain[1:]] == [(0, 2**31 - 1), (0, 16), (0, 16)]
    assert access.chain[-1].location.file == __file__
    assert access.chain[0].primitive == "input"


def test_loops() -> None:
    def f(x, n):  # type: ignore[no-untyped-def]
        def body(c, t):  # type: ignore[no-untyped-def]
            return c + 1, x[c + t]

        return jax.lax.scan(body, n, jnp.arange(10))[1]

    assert told(only(f, X, 0)) == [
        "n = n: argument 2",
        "t1 = carried by scan, starts as n",
        "t2 = arange(10)",
        "t3 = t1 + t2",
        "t4 = t3 + 16 if t3 < 0 else t3",
    ]


def test_after_a_loop() -> None:
    def f(x, n):  # type: ignore[no-untyped-def]
        return jax.lax.dynamic_slice(x, (jax.lax.while_loop(lambda c: c < 20, lambda c: c * 2, n),), (1,))

    assert "t1 = result of a while that starts as n" in told(only(f, X, 1))


def test_a_long_chain_is_cut() -> None:
    def f(x, i):  # type: ignore[no-untyped-def]
        for k in range(100):
            i = i * 3 - k
        return x[i]

    chain = only(f, X, AT).chain
    assert len(chain) <= 25 and "…" in chain[0].equation


def test_a_value_used_twice_is_told_once() -> None:
    def f(x, i):  # type: ignore[no-untyped-def]
        y = i * 2
        return x[y * y + y]

    names = [link.name for link in only(f, X, AT).chain]
    assert len(names) == len(set(names))


def test_an_index_in_a_branch_and_a_call() -> None:
    def f(x, i):  # type: ignore[no-untyped-def]
        inner = jax.jit(lambda k: x[k + 1])
        return jax.lax.cond(i[0] > 0, lambda k: inner(k), lambda k: x[:4], i)

    assert told(only(f, X, AT))[:2] == ["i = i: argument 2", "t1 = i + 1"]


def test_a_select_reads_as_one() -> None:
    def f(x, i, ok):  # type: ignore[no-untyped-def]
        return jax.lax.dynamic_slice(x, (jnp.where(ok, i, 3),), (1,))

    links = told(only(f, X, 0, True, primitive="dynamic_slice"))
    assert any("if ok else 3" in link for link in links)


@pytest.mark.parametrize(
    ("fn", "origin"),
    [
        (lambda x, i: x[i], "x: argument 1"),
        (lambda x, i: jax.jit(lambda y: y[i])(x), "x: argument 1"),
        (lambda x, i: jax.lax.cond(i[0] > 0, lambda y: y[i], lambda y: y[:4], x), "x: argument 1"),
        (lambda x, i: jax.lax.scan(lambda c, t: (c, c[t]), x, i)[1], "x: argument 1"),
        (lambda x, i: jax.lax.scan(lambda c, t: (c, x[t]), 0, i)[1], "x: argument 1"),
        (lambda x, i: jax.lax.while_loop(lambda c: c[0] < x[c[1]], lambda c: c, (0.0, i[0])), "x: argument 1"),
        (lambda x, i: jax.lax.while_loop(lambda c: c[0] < 3, lambda c: (x[c[1]], c[1]), (0.0, i[0])), "x: argument 1"),
        (lambda x, i: jnp.arange(4.0)[i], "made by iota"),
        (lambda x, i: (x * 2)[i], "made by mul"),
        (lambda x, i: jax.lax.scan(lambda c, row: (c, row[i]), 0, x.reshape(2, 8))[1], "one slice of x: argument 1"),
    ],
)
def test_which_array_it_is(fn: Any, origin: str) -> None:
    buffer = only(fn, X, AT).buffer
    assert buffer is not None and buffer.origin == origin


def test_an_array_that_is_updated_stays_the_same() -> None:
    def f(x, i):  # type: ignore[no-untyped-def]
        x = x.at[i].set(0.0)
        x = jax.lax.fori_loop(0, 3, lambda k, v: v.at[k].add(1.0), x)
        return x[i]

    first, *others = redzone.check(f, X, AT).accesses
    assert len(others) == 2 and first.buffer is not None
    assert all(a.buffer is first.buffer for a in others)
    assert (first.buffer.name, first.buffer.bytes, first.buffer.shape) == ("x", 64, (16,))


def test_what_is_made_in_between_has_the_users_name() -> None:
    def f(x, i):  # type: ignore[no-untyped-def]
        doubled = x * 2
        return doubled[i]

    buffer = only(f, X, AT).buffer
    assert buffer is not None
    assert buffer.name == "doubled" and buffer.location.text == "doubled = x * 2"


def test_calls_lead_outward() -> None:
    def inner(x, i):  # type: ignore[no-untyped-def]
        return x[i]

    def outer(x, i):  # type: ignore[no-untyped-def]
        return inner(x, i)

    assert [place.function.rpartition(".")[2] for place in only(outer, X, AT).calls] == ["inner", "outer"]


def test_symbolic_sizes_have_no_bytes() -> None:
    access = only(lambda x, i: x[i], redzone.Spec(("n",), "float32"), AT)
    assert access.buffer is not None and access.buffer.bytes is None
    assert access.chain[0].name == "i"
