"""What a loop's body is bound to read is part of what slicing asks for, and mostly all of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from redzone.engine import inventory_of
from redzone.engine.carries import carries_read
from redzone.engine.program import SCAN, WHILE
from redzone.engine.slice import Slicer, _Build
from redzone.frontend.compat import open_jaxpr, scan_counts


def _chain(x: Any) -> Any:
    """Each carry is the next one's last value: slicing alone finds one more each time."""

    def body(_: Any, state: Any) -> Any:
        a, b, c, total = state
        return b, c + 1, jnp.maximum(c - 1, 0), total + x[a]

    return jax.lax.fori_loop(0, 5, body, (0, 1, 2, 0.0))


def _branches(x: Any) -> Any:
    def body(state: Any, _: Any) -> Any:
        i, j, k = state
        i, j = jax.lax.cond(k > 2, lambda a, b: (b, a), lambda a, b: (a + b, b), i, j)
        return (i, j, k + 1), x[i]

    return jax.lax.scan(body, (0, 1, 2), None, length=3)


def _nested(x: Any) -> Any:
    def outer(_: Any, state: Any) -> Any:
        i, j = state
        i, j = jax.lax.fori_loop(0, j, lambda _, s: (s[0] + s[1], s[1]), (i, j))
        return i + x[j].astype(int), j

    return jax.lax.fori_loop(0, 4, outer, (0, 1))


def _parts(x: Any) -> Any:
    """A part of an array that is followed to where it was written is not the whole array."""

    def body(_: Any, state: Any) -> Any:
        places, other, total = state
        places = places.at[0].set(2)
        return places, other + 1, total + x[places[0]]

    return jax.lax.fori_loop(0, 4, body, (jnp.arange(3), 0, 0.0))


def _sliced(fn: Callable[..., Any]) -> tuple[Slicer, Any]:
    closed = jax.make_jaxpr(fn)(jnp.zeros(8))
    slicer = Slicer(inventory_of(closed))
    return slicer, slicer.program(*open_jaxpr(closed), ())


def _loops(program: Any) -> list[Any]:
    found = []
    for step in program.steps:
        found += [step] if step.kind in (SCAN, WHILE) else []
        found += [inner for body in step.bodies for inner in _loops(body)]
    return found


@pytest.mark.parametrize("fn", [_chain, _branches, _nested, _parts])
def test_only_carries_that_slicing_asks_for(fn: Callable[..., Any]) -> None:
    slicer, program = _sliced(fn)
    loops = _loops(program)
    assert loops
    for step in loops:
        shape, body = step.extra, step.bodies[0].jaxpr
        if step.kind == SCAN:
            first, count = scan_counts(step.eqn.params)
        else:
            first, count = shape.consts, len(body.invars) - shape.consts
        read = carries_read(slicer, body, set(), first, first + count)
        assert {i for i in read if i < count} <= {*shape.carries}


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("fn", [_chain, _branches])
def test_a_body_is_sliced_once(fn: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    sliced = []
    plain = _Build.slice

    def noted(self: Any, *asked: tuple[int, ...]) -> Any:
        sliced.append(id(self.program.jaxpr))
        return plain(self, *asked)

    monkeypatch.setattr(_Build, "slice", noted)
    _, program = _sliced(fn)
    (step,) = _loops(program)
    assert sliced.count(id(step.bodies[0].jaxpr)) == 1


def test_a_part_that_was_written_needs_no_carry() -> None:
    _, program = _sliced(_parts)
    (step,) = _loops(program)
    assert 0 not in step.extra.carries
