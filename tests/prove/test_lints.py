"""Each trap is found where it is one, and its harmless twin is left alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest
from jax import lax

import redzone

X = redzone.Spec((10,), "float32")
GRID = redzone.Spec((3, 3), "int32")
SCALAR = redzone.Spec((), "int32")
FOUR = redzone.Spec((4,), "int32")
FLAGS = redzone.Spec((4,), "bool")
SIDE = redzone.Spec((), "int32", min=0, max=65535)
UNIT = redzone.Spec((), "float32", min=0, max=1)
BYTES = redzone.Spec((4,), "uint8")
LONG = redzone.Spec((1000,), "float32")


def chosen(flags: Any, other: int) -> Any:
    return jnp.where(flags, jnp.arange(4), other)


def body_of_a_loop(x: Any, flags: Any) -> Any:
    return lax.fori_loop(0, 3, lambda k, x: x.at[chosen(flags, -1)].set(1.0, mode="drop"), x)


TRAPS: list[tuple[str, str, Callable[..., Any], tuple[Any, ...]]] = [
    ("RZ204", "-1 is not dropped: it wraps to 9", lambda x, m: x.at[chosen(m, -1)].set(0.0, mode="drop"), (X, FLAGS)),
    ("RZ204", "index -1 is not dropped", lambda x, m: x.at[chosen(m, -1)].add(1.0), (X, FLAGS)),
    ("RZ204", "it wraps to 2, the end of dimension 0", lambda x, m: x.at[chosen(m, -1), 2].set(0), (GRID, FLAGS)),
    ("RZ204", "it wraps to 2, the end of dimension 1", lambda x, m: x.at[2, chosen(m, -1)].set(0), (GRID, FLAGS)),
    ("RZ204", "does not drop an index of -10 … -1", lambda x, i: x.at[i].set(0.0, mode="drop"), (X, FOUR)),
    (
        "RZ204",
        "does not drop an index of -1:",
        lambda x, i: x.at[i].set(0.0, mode="drop"),
        (X, redzone.Spec((4,), "int32", min=-1, max=20)),
    ),
    (
        "RZ204",
        "does not drop an index of -3 … -1",
        lambda g, p: g.at[p[:, 0], p[:, 1]].set(0, mode="drop"),
        (GRID, redzone.Spec((1, 2), "int32")),
    ),
    ("RZ204", "index -1 is not dropped", body_of_a_loop, (X, FLAGS)),
    ("RZ104", "index -1 is not left out", lambda x, m: x[chosen(m, -1)], (X, FLAGS)),
    ("RZ104", "index -1 is not left out", lambda x, m: x.at[chosen(m, -1)].get(mode="fill"), (X, FLAGS)),
    ("RZ104", "index -1 is not left out", lambda x, m: jnp.take(x, chosen(m, -1), mode="fill"), (X, FLAGS)),
    ("RZ301", "can be 4294836225, which int32 cannot hold", lambda x, i, j: x[i * j], (X, SIDE, SIDE)),
    ("RZ301", "can be 4294836225", lambda x, i, j: x[jnp.clip(i * j, 0, 9)], (X, SIDE, SIDE)),
    ("RZ301", "can be 4587450000", lambda x, i, j: x[i * 70000 + j], (X, SIDE, SIDE)),
    ("RZ302", "type uint8 ends at 255", lambda x, i: x[i], (LONG, BYTES)),
    ("RZ302", "from 256 on", lambda x, i: x.at[i].set(0.0), (LONG, BYTES)),
    ("RZ303", "can be 10 or be rounded up to it", lambda x, u: x[(u * 10).astype(int)], (X, UNIT)),
    ("RZ303", "can be 10 or be rounded up to it", lambda x, u: x[jnp.floor(u * 10).astype(int)], (X, UNIT)),
    (
        "RZ303",
        "can be NaN after div",
        lambda x, u: x[jnp.clip((u / (u - u)) * 10, 0, 9).astype(int)],
        (X, redzone.Spec((), "float32", min=0, max=1, finite=True)),
    ),
    ("RZ304", "limited to 10, the size of dimension 0", lambda x, i: x[jnp.clip(i, 0, 10)], (X, SCALAR)),
    ("RZ304", "the last position is 9", lambda x, i: x[jnp.minimum(i, 10)], (X, FOUR)),
    ("RZ304", "limited to 10", lambda x, i: x.at[jnp.clip(i, 0, 10)].set(0.0), (X, FOUR)),
    (
        "RZ304",
        "limited to 8, the first position outside",
        lambda x, i: lax.dynamic_slice(x, (jnp.clip(i, 0, 8),), (3,)),
        (X, SCALAR),
    ),
]  # fmt: skip


@pytest.mark.parametrize(("code", "message", "function", "arguments"), TRAPS)
def test_a_trap(code: str, message: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    report = redzone.check(function, *arguments)
    (lint,) = report.lints
    assert lint.code == code
    assert message in lint.message
    assert lint.location.file == __file__
    assert report.accesses[0].lints == (lint,)


HARMLESS: list[tuple[Callable[..., Any], tuple[Any, ...]]] = [
    # The size as the sentinel: what mode="drop" is for.
    (lambda x, m: x.at[chosen(m, 10)].set(0.0, mode="drop"), (X, FLAGS)),
    (lambda x, m: x.at[chosen(m, -1) + 1].set(0.0, mode="drop"), (X, FLAGS)),
    (lambda x, m: x.at[jnp.maximum(chosen(m, -1), 0)].set(0.0, mode="drop"), (X, FLAGS)),
    (lambda x, i: x.at[i].set(0.0, mode="drop"), (X, redzone.Spec((4,), "int32", min=0, max=20))),
    (lambda x, i: x.at[jnp.cumsum(i) - 1].set(0.0, mode="drop"), (X, redzone.Spec((4,), "int32", min=0, max=1))),
    # The last element is a spare one.
    (lambda x, m: x.at[chosen(m, -1)].set(0.0)[:-1], (X, FLAGS)),
    # Discarded afterwards.
    (lambda x, m: jnp.where(m, x[chosen(m, -1)], 0.0), (X, FLAGS)),
    (lambda x, m: x[chosen(m, -1)] * m, (X, FLAGS)),
    # Counting from the end on purpose.
    (lambda x: x[-1] + x[jnp.array([-1, -2])].sum(), (X,)),
    # Inputs of which nothing is known may be small.
    (lambda x, i, j: x[jnp.clip(i * j, 0, 9)], (X, SCALAR, SCALAR)),
    (lambda x, i: x[jnp.clip(i // 4 * 4 + 3, 0, 9)], (X, SCALAR)),
    # A hash wraps on purpose.
    (lambda x, i, j: x[(i * 73856093 + j * 19349663) % 10], (X, SIDE, SIDE)),
    (lambda x, i: x[i], (redzone.Spec((256,), "float32"), BYTES)),
    (lambda x, i: x[i], (LONG, redzone.Spec((4,), "uint8", max=100))),
    (lambda x, i: x[i.astype("int32") * 3], (LONG, BYTES)),
    (lambda x, i: x[jnp.clip(i, 0, 7)], (LONG, BYTES)),
    (lambda x, u: x[jnp.clip((u * 10).astype(int), 0, 9)], (X, UNIT)),
    (lambda x, u: x[(u * 10).astype(int)], (X, redzone.Spec((), "float32"))),
    (lambda x, k: x[(jax.random.uniform(k) * 10).astype(int)], (X, jax.random.key(0))),
    (lambda x, k: x[jax.random.randint(k, (), 0, 10)], (X, jax.random.key(0))),
    (lambda k: jax.random.poisson(k, 3.0, (5,)), (jax.random.key(0),)),
    (lambda x, i: x[jnp.clip(i, 0, 9)], (X, SCALAR)),
    (lambda x, i: x[jnp.clip(i, 1, 10) - 1], (X, SCALAR)),
    # Clipped to the size, which is then dropped or filled.
    (lambda x, i: x.at[jnp.clip(i, 0, 10)].get(mode="fill"), (X, FOUR)),
    (lambda x, i: x.at[jnp.clip(i, 0, 10)].set(0.0, mode="drop"), (X, FOUR)),
    (lambda x, i: x[i], (redzone.Spec(("n",), "float32"), SCALAR)),
]


@pytest.mark.parametrize(("function", "arguments"), HARMLESS)
def test_no_trap(function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert redzone.check(function, *arguments).lints == ()


def test_the_line_of_the_arithmetic_is_named() -> None:
    def far(x: Any, i: Any, j: Any) -> Any:
        place = i * j
        return x[place]

    (lint,) = redzone.check(far, X, SIDE, SIDE).lints
    assert lint.location.text == "place = i * j"


def test_the_line_of_a_function_of_jax_is_that_of_its_call() -> None:
    def one(x: Any, i: Any) -> Any:
        row = jnp.clip(i, 0, 10)
        return x[row]

    def two(x: Any, i: Any) -> Any:
        row, other = jnp.clip(i, 0, 10), jnp.clip(i + 1, 0, 10)
        return x[row] + other

    assert redzone.check(one, X, SCALAR).lints[0].location.text == "row = jnp.clip(i, 0, 10)"
    assert redzone.check(two, X, SCALAR).lints[0].location.text == "return x[row] + other"


def test_comments_silence_a_lint_on_either_line() -> None:
    def quiet(x: Any, i: Any, j: Any) -> Any:
        place = i * j  # redzone: ignore[RZ301]
        return x[jnp.clip(place, 0, 9)]

    def there(x: Any, i: Any, j: Any) -> Any:
        place = i * j
        return x[jnp.clip(place, 0, 9)]  # redzone: ignore[RZ301]

    def other(x: Any, i: Any, j: Any) -> Any:
        return x[jnp.clip(i * j, 0, 9)]  # redzone: ignore[RZ101]

    for function in (quiet, there):
        report = redzone.check(function, X, SIDE, SIDE)
        assert report.lints == () and report.accesses[0].lints[0].suppressed
        assert [s.used for s in report.suppressions] == [True]
    report = redzone.check(other, X, SIDE, SIDE)
    assert len(report.lints) == 1 and [s.used for s in report.suppressions] == [False]


def test_they_decide_nothing() -> None:
    for _, _, function, arguments in TRAPS:
        report = redzone.check(function, *arguments)
        before = [(a.verdict, a.rule) for a in report.accesses], report.ok
        assert report.lints
        assert ([(a.verdict, a.rule) for a in report.accesses], report.ok) == before


def test_a_contract_that_ends_at_minus_one() -> None:
    def gather(x: Any, i: Any) -> Any:
        return x[i]

    def kept(x: Any, i: Any) -> Any:
        return jnp.where(i >= 0, x[i], 0.0)

    none = redzone.Spec((4,), "int32", min=-1, max=9)
    (lint,) = redzone.check(gather, redzone.Spec((10,), "float32"), none).lints
    assert lint.code == "RZ104"
    assert lint.message == "the index -1 that i may hold is not left out: it wraps to 9, the end of dimension 0"
    assert not redzone.check(kept, redzone.Spec((10,), "float32"), none).lints
    from_the_end = redzone.Spec((4,), "int32", min=-10, max=9)
    assert not redzone.check(gather, redzone.Spec((10,), "float32"), from_the_end).lints


def test_an_index_that_was_cut_down() -> None:
    def cut(x: Any, i: Any) -> Any:
        return x[i.astype(jnp.uint8)]

    (lint,) = redzone.check(cut, redzone.Spec((300,), "float32"), redzone.Spec((4,), "int32", min=0, max=299)).lints
    assert lint.code == "RZ302"
    assert not redzone.check(cut, redzone.Spec((300,), "float32"), redzone.Spec((4,), "int32", min=0, max=255)).lints
