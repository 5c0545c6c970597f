"""Locations point at the user's own line, however deep in JAX the access is."""

from __future__ import annotations

import linecache
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import pytest

import redzone
from redzone.frontend import compat
from redzone.frontend.location import NOWHERE, locate, place_of
from redzone.report.model import Location

X = jax.ShapeDtypeStruct((8,), jnp.float32)
INDICES = jax.ShapeDtypeStruct((2,), jnp.int32)


def _chains(jaxpr: Any, outer: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    for eqn in compat.open_jaxpr(jaxpr)[0].eqns:
        yield (eqn, *outer)
        for inner in compat.inner_jaxprs(eqn.params):
            yield from _chains(inner, (eqn, *outer))


def _where(fn: Callable[..., Any], primitive: str = "gather") -> Location:
    chains = _chains(jax.make_jaxpr(fn)(X, INDICES))
    return locate(next(c for c in chains if c[0].primitive.name == primitive))


def plain(x: jax.Array, i: jax.Array) -> jax.Array:
    return x[i]


def through_take(x: jax.Array, i: jax.Array) -> jax.Array:
    return jnp.take(x, i)


@jax.jit
def inner(x: jax.Array, i: jax.Array) -> jax.Array:
    return x[i] * 2


def through_jit(x: jax.Array, i: jax.Array) -> jax.Array:
    return inner(x, i)


def through_vmap(x: jax.Array, i: jax.Array) -> jax.Array:
    return jax.vmap(lambda k: x[k])(i)


def through_scan(x: jax.Array, i: jax.Array) -> Any:
    return jax.lax.scan(lambda c, _: (c, jnp.take(x, i)), 0, length=3)


@pytest.mark.parametrize(
    ("fn", "function", "text"),
    [
        (plain, "plain", "return x[i]"),
        (through_take, "through_take", "return jnp.take(x, i)"),
        (through_jit, "inner", "return x[i] * 2"),
        (through_vmap, "<lambda>", "return jax.vmap(lambda k: x[k])(i)"),
        (through_scan, "<lambda>", "return jax.lax.scan(lambda c, _: (c, jnp.take(x, i)), 0, length=3)"),
    ],
)
def test_the_users_line(fn: Callable[..., Any], function: str, text: str) -> None:
    location = _where(fn)
    assert location.file == __file__
    assert location.function.rpartition(".")[2] == function
    assert location.text == text
    assert str(location) == f"{__file__}:{location.line}"
    eqns = next(c for c in _chains(jax.make_jaxpr(fn)(X, INDICES)) if c[0].primitive.name == "gather")
    assert place_of(eqns) == (location.file, location.line)


def test_an_equation_without_frames_speaks_through_the_enclosing_one() -> None:
    chain = next(c for c in _chains(jax.make_jaxpr(through_take)(X, INDICES)) if c[0].primitive.name == "gather")
    assert compat.user_frames(chain[0].source_info) == []
    assert locate(chain[:1]) == NOWHERE
    assert locate(chain).function == "through_take"


def test_nowhere() -> None:
    assert locate(()) == NOWHERE
    assert place_of(()) == (NOWHERE.file, NOWHERE.line)
    assert str(NOWHERE) == "<unknown>"


def test_checks_do_not_read_the_source(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is compiled tells whether a file has anything to say: reading it takes longer than most checks."""
    read: list[str] = []

    def getlines(file: str, module_globals: Any = None) -> list[str]:
        read.append(file)
        return []

    linecache.clearcache()
    monkeypatch.setattr(linecache, "getlines", getlines)
    counts = [redzone.check(fn, X, INDICES).counts() for fn in (plain, through_take, through_scan)]
    assert counts[0]["requires"] == 1
    assert read == []
    assert redzone.check(lambda x, i: x.at[i].get(mode="clip"), X, INDICES) is not None
    assert read
