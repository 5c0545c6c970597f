"""Random masks behind a read, right or nearly: what is called masked must not show, whatever was read outside."""

from __future__ import annotations

import math
import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.prove import finite
from tests.cases import CASES, readings
from tests.fuzz.check import check_traced, traced
from tests.fuzz.exact import Interpreter
from tests.fuzz.generate import Argument
from tests.fuzz.watch import Tamper, Watch

#: What is put in place of what was read outside: finite, and hard on functions of it.
GARBAGE = (1.0, 77.0, -5.0, 0.0, 3e38)
#: What is made of what was read before it is thrown away.
FUNCTIONS = (
    *(lambda v: v, lambda v: v, jnp.tanh, jnp.log, jnp.exp, lambda v: v * v, jnp.negative),
    *(lambda v: jnp.where(v > 0, 1.0, jnp.inf), lambda v: jnp.where(v > 0, 1, 2).astype(jnp.float32)),
)


def _mask(draw: random.Random, i: Any, n: int) -> Any:
    """Whether an index is inside, one too wide now and then, or counting from the end."""
    low = draw.choice([0, 0, -n, -n]) + draw.choice([0, 0, 0, -1, 1])
    high = n + draw.choice([0, 0, 0, 1, -1])
    return draw.choice([
        lambda: (i >= low) & (i < high),
        lambda: ~((i < low) | (i >= high)),
        lambda: (i - low).astype(jnp.uint32) < high - low,
        lambda: jnp.argmax(jnp.stack([i < low, i < high, i >= high]), 0) == 1,
        lambda: jnp.where(i < low, False, i < high),
    ])()  # fmt: skip


def _mislaid(draw: random.Random, ok: Any, other: Any) -> Any:
    """The mask as it is, or in another order, or another one."""
    ways = [lambda: jnp.flip(ok), lambda: jnp.roll(ok, 1), lambda: ok | other, lambda: ok & other, lambda: other]
    if ok.ndim == 2 and ok.shape[0] == ok.shape[1]:
        ways.append(lambda: ok.T)
    return draw.choice(ways)() if draw.random() < 0.3 else ok


def _used(draw: random.Random, read: Any, ok: Any, at: Any, n: int) -> Any:
    """What was read, thrown away where the mask says so."""
    wide, which = (jnp.broadcast_to(v.reshape(v.shape + (1,) * (read.ndim - v.ndim)), read.shape) for v in (ok, at))
    letters = "ab"[: ok.ndim]
    place = jnp.where(ok, draw.choice([at, jnp.clip(at, 0, n - 1)]), draw.choice([n, n, n + 2, -1, 0]))
    into = jnp.zeros((draw.choice([n, n, n + 1]), *read.shape[ok.ndim :]))
    return draw.choice([
        lambda: jnp.where(wide, read, 0.0),
        lambda: jnp.select([~wide, wide], [0.0, read], 1.0),
        lambda: lax.select_n(wide.astype(np.int32), jnp.zeros_like(read), read),
        lambda: lax.select_n(which, read, -read),
        lambda: read * wide,
        lambda: jnp.einsum(f"{letters}...,{letters}->...", read, ok.astype(np.float32)),
        lambda: jnp.einsum(f"{letters}...,{letters}->{letters}...", read, ok),
        lambda: into.at[place].add(read, mode="drop"),
        lambda: into.at[place[::-1]].max(read, mode="drop"),
    ])()  # fmt: skip


def _program(seed: int) -> tuple[Any, tuple[Argument, ...]]:
    draw = random.Random(seed)
    n, shape, window = draw.choice([4, 6]), draw.choice([(4,), (3, 3), (2, 3)]), draw.choice([(), (3,)])

    def program(x, i, j):
        at = i + draw.choice([0, 0, 1])
        ok = _mislaid(draw, _mask(draw, at, n), _mask(draw, j, n))
        read = draw.choice(FUNCTIONS)(x[at])
        return _used(draw, read, ok, at, n)

    lanes = draw.random() < 0.3
    indices = Argument((2, *shape) if lanes else shape, np.dtype("int32"), -2 * n - 2, 2 * n + 2)
    table = Argument((n, *window), np.dtype("float32"), None, None)
    return (jax.vmap(program, (None, 0, 0)) if lanes else program), (table, indices, indices)


@pytest.mark.parametrize("first", range(0, 200, 20))
def test_what_is_masked_does_not_show(first):
    shown = 0
    for seed in range(first, first + 20):
        function, arguments = _program(seed)
        closed = jax.make_jaxpr(function)(*(a.struct() for a in arguments))
        report = check_traced(traced(closed, arguments))
        masked = [a for a in report.accesses if a.verdict == "masked" and a.effect == "read"]
        interpreter, numbers = Interpreter(closed), np.random.default_rng(seed)
        for _ in range(6 if masked else 0):
            x, i, j = (
                numbers.integers(a.low, a.high + 1, a.shape).astype(np.int32)
                if a.low is not None
                else numbers.normal(size=a.shape).astype(np.float32)
                for a in arguments
            )
            watch = Watch(None, {id(a.eqn): a for a in report.accesses})
            interpreter.run((x, i, j), watch)
            for access in masked:
                if id(access.eqn) in watch.left:
                    shown += 1
                    outs = [interpreter.run((x, i, j), Tamper(id(access.eqn), garbage)) for garbage in GARBAGE]
                    for out in outs[1:]:
                        np.testing.assert_array_equal(outs[0], out, err_msg=f"seed {seed}: {access.message}")
    assert shown, "none of them was masked and left its array"


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(
    ("name", "answer", "function"),
    [
        ("has_infinite", False, readings.scores_of_what_is_not_allowed_times_nothing),
        ("has_infinite", False, readings.a_table_with_infinity_in_it_times_nothing),
        ("_from_outside", [], readings.infinity_handed_on_and_written_times_nothing),
        ("_from_outside", [], readings.logarithms_added_in_a_loop_times_nothing),
        ("_reach", math.inf, readings.left_out_by_more_than_half_a_float_holds_times_nothing),
    ],
)
def test_numbers_that_are_taken_for_finite_are_found(monkeypatch, name, answer, function):
    (case,) = [case for case in CASES if case.function is function]
    specs = [redzone.Spec(a.shape, a.dtype, min=a.low, max=a.high) for a in case.arguments]
    assert [str(access.verdict) for access in redzone.check(function, *specs).accesses] == ["requires"]
    monkeypatch.setattr(finite, name, lambda *_: answer)
    assert [str(access.verdict) for access in redzone.check(function, *specs).accesses] == ["masked"]
