"""Every condition that can be broken comes with an input that does, within the contract."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.report.model import Witness

X = redzone.Spec((10,), "float32")
SCALAR = redzone.Spec((), "int32")
MANY = redzone.Spec((800,), "int32")


def witness_of(function: Callable[..., Any], *arguments: Any, **options: Any) -> Witness | None:
    (access,) = redzone.check(function, *arguments, **options).accesses
    assert access.verdict == "requires"
    assert access.known_witness is None
    found = access.witness
    assert access.witness is found and access.known_witness is found
    return found


@pytest.mark.parametrize(
    ("function", "arguments", "shown"),
    [
        (lambda x, i: x[i], (X, SCALAR), "i=jnp.int32(10) makes the index 10"),
        (lambda x, i: x[i], (X, redzone.Spec((), "int32", max=9)), "i=jnp.int32(-11) makes the index -1"),
        (lambda x, i: lax.dynamic_slice(x, (i,), (4,)), (X, SCALAR), "i=jnp.int32(7) makes the index 7"),
        (lambda x, i, j: x[i + j], (X, SCALAR, SCALAR), "i=jnp.int32(10), j=jnp.int32(0) makes the index 10"),
        (
            lambda x, i, j: x[i + j],
            (X, redzone.Spec((), "int32", min=3), redzone.Spec((), "int32", min=2)),
            "i=jnp.int32(8), j=jnp.int32(2) makes the index 10",
        ),
        (lambda x, i: x[i[3] + 1], (X, MANY), "i=jnp.full((800,), 0, 'int32').at[3].set(9) makes the index 10"),
        (
            lambda x, i: lax.cond(i[0] > 3, lambda: x[i[1]], lambda: 0.0),
            (X, MANY),
            None,
        ),
        (
            lambda x, i: lax.fori_loop(0, 3, lambda k, s: s + x[k + i], 0.0),
            (X, SCALAR),
            "i=jnp.int32(8) makes the index 10 (iteration 2)",
        ),
    ],
)
def test_the_plainest_input(function: Callable[..., Any], arguments: tuple[Any, ...], shown: str | None) -> None:
    found = witness_of(function, *arguments)
    assert found is not None
    if shown is not None:
        assert str(found) == shown


def test_it_can_be_called_with() -> None:
    def pick(x: Any, batch: Any, *, shift: Any) -> Any:
        return x[batch["i"] + shift]

    found = witness_of(pick, X, {"i": SCALAR}, shift=SCALAR)
    assert found is not None
    (x, batch), kwargs = found.args, found.kwargs
    assert x.shape == (10,) and not -10 <= batch["i"] + kwargs["shift"] <= 9
    assert pick(jnp.asarray(x), batch, **kwargs).shape == ()


def test_an_assumption_is_kept() -> None:
    def odd(x: Any, i: Any) -> Any:
        redzone.assume(i % 2 == 1)
        return x[i]

    found = witness_of(odd, X, SCALAR)
    assert found is None or int(found.arguments[1]) % 2 == 1


def test_a_range_of_elements_is_kept() -> None:
    most = np.array([9, -5, 9], np.int32)
    found = witness_of(lambda x, i: x[i], X, redzone.Spec((3,), "int32", max=most))
    assert found is not None and (found.arguments[1] <= most).all()


def test_an_array_of_some_size_for_a_symbolic_one() -> None:
    witness = witness_of(lambda x, i: x[i], redzone.Spec(("n",), "float32"), SCALAR)
    assert str(witness) == "n=4, i=jnp.int32(4) makes the index 4"


def test_a_cause_has_the_first_that_is_found() -> None:
    report = redzone.check(lambda x, i: (x[i], x[i] + 1), X, SCALAR)
    (cause,) = report.causes()
    assert len(cause.accesses) == 2 and cause.origin == "i: argument 2"
    assert cause.witness is not None and cause.witness.index == (10,)


def test_keyword_arguments_are_named() -> None:
    def pick(x: Any, *, i: Any) -> Any:
        return x[i]

    (cause,) = redzone.check(pick, X, i=SCALAR).causes()
    assert str(cause) == "-10 ≤ i ≤ 9   (i: keyword argument)"


def test_nothing_is_searched_for_while_checking(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        raise AssertionError("searched")

    monkeypatch.setattr("redzone.prove.seeking.breaking", refuse)
    report = redzone.check(lambda x, i: x[i], X, SCALAR)
    assert str(report) and report.to_json()


def test_a_key_is_no_obstacle() -> None:
    key = jax.random.key(0)
    assert witness_of(lambda x, k, i: x[i + jax.random.randint(k, (), 0, 2)], X, key, SCALAR) is not None


def test_an_input_is_found_that_lets_what_is_read_through() -> None:
    def answer(context: Any, query: Any, time: Any) -> Any:
        return jnp.where(time < 30, 0, context[query])

    found = witness_of(answer, redzone.Spec((4,), "int32"), SCALAR, SCALAR)
    assert found is not None
    _, query, time = found.arguments
    assert not -4 <= query <= 3
    assert time >= 30


def test_an_input_is_found_further_out_than_the_condition() -> None:
    # Nobody gets to 29 from 28, where there is a wall: the condition asks for one more than it must, as a table of that
    # many squares is not looked at one by one.
    free = jnp.asarray(np.arange(31) == 5)

    def around(at: Any) -> Any:
        to = at + 1
        return lax.dynamic_slice(jnp.arange(31), (jnp.where(free[jnp.clip(to, 0, 30)], to, at),), (3,))

    _, access = redzone.check(around, redzone.Spec((), "int32", min=0)).accesses
    assert access.verdict == "requires"
    assert access.requires[0].max == 27
    assert access.witness is not None
    assert access.witness.arguments[0] > 28


def test_no_input_outside_the_contract_shows_anything() -> None:
    # The exact stage knows only roughly what the float is rounded to: with 1.0 it leaves, but nobody may give that.
    def rounded(row: Any, weights: Any) -> Any:
        count, turn = (weights[row] * 2).astype(jnp.int32), row % 6
        start = (count + 2) * (count == 0) + (count * (turn == 0) + turn * (turn == 1)) * (count == 2)
        return lax.dynamic_update_slice(jnp.zeros(2), jnp.ones(2), (start,)).sum()

    row, weights = redzone.Spec((), "int32", min=0, max=1), redzone.Spec((4,), "float32", min=2.0, max=2.0)
    assert "unsafe" not in [str(access.verdict) for access in redzone.check(rounded, row, weights).accesses]
