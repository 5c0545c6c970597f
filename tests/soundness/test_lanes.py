"""Random programs under vmap that throw away what they read outside, rightly or nearly, by lanes and across them."""

from __future__ import annotations

import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.fuzz.check import check_traced, traced
from tests.fuzz.exact import Interpreter
from tests.fuzz.generate import Argument
from tests.fuzz.watch import Tamper, Watch

N, ROW, BATCH = 4, 2, 3
GARBAGE = (1.0, -7.0, 3e38, float("nan"))


def _inside(i: Any) -> Any:
    return (i >= 0) & (i < N)


def _condition(draw: random.Random, read: Any, i: Any, row: Any, j: Any) -> Any:
    """One for the lane: right, too wide, about something else, or made from what was read."""
    return draw.choice([
        lambda: _inside(i) & _inside(row).all(),
        lambda: _inside(i) & _inside(row).all(),
        lambda: _inside(i) & _inside(row).all() & (jnp.sum(read) > 0),
        lambda: _inside(i),
        lambda: _inside(row).all(),
        lambda: (i < N) & (row < N).all(),
        lambda: _inside(j),
        lambda: jnp.sum(read) > 0,
    ])()  # fmt: skip


def _made(draw: random.Random, read: Any, x: Any, i: Any, row: Any, j: Any) -> Any:
    """Something that is made of what was read, in its lane."""
    ok, total = _condition(draw, read, i, row, j), jnp.sum(read)
    several = [
        lambda: jnp.sort(read),
        lambda: jnp.cumsum(read)[::-1],
        lambda: read[jnp.clip(j, 0, read.shape[0] - 1)],
        lambda: lax.scan(lambda c, v: (c + v, c * v), 0.0, read)[1],
        lambda: read @ jnp.ones((read.shape[0], 2)),
    ]
    return draw.choice([
        lambda: jnp.where(ok, read, 0.5),
        lambda: jnp.where(ok, read, 0.5),
        lambda: jnp.where(~ok, 0.25, read * 2.0),
        lambda: lax.cond(ok, lambda r: r * 3.0, jnp.zeros_like, read),
        lambda: lax.switch(ok.astype(np.int32), [jnp.ones_like, lambda r: r], read),
        lambda: jnp.stack([total, 1.0]),
        lambda: x.at[1].set(total),
        lambda: x.at[jnp.clip(j, 0, N - 1)].add(total),
        lambda: lax.fori_loop(0, 3, lambda k, r: r + k, read),
        lambda: lax.while_loop(lambda c: c[0] < jnp.clip(j, 0, 2), lambda c: (c[0] + 1, c[1] * 2.0), (0, read))[1],
        *(several if read.ndim else ()),
    ])()  # fmt: skip


def _across(draw: random.Random, made: Any, i: Any, row: Any, j: Any) -> Any:
    """Something that is made of what the lanes made, beside conditions of the same lane, of others, or of all."""
    right = _inside(i) & _inside(row).all(1)
    ok = draw.choice([right, right, _inside(i), _inside(row).all(1), _inside(j)])
    shape = (BATCH, *(1,) * (made.ndim - 1))
    return draw.choice([
        lambda: jnp.where(ok.reshape(shape), made, 0.0),
        lambda: jnp.where(ok.reshape(shape), made, 0.0),
        lambda: jnp.where(ok[::-1].reshape(shape), made, 0.0),
        lambda: jnp.where(ok.all(), made, 0.0),
        lambda: jnp.where(ok[0], made, 0.0),
        lambda: made.at[0].set(jnp.where(ok[0], made[0], 0.0)),
        lambda: jnp.broadcast_to(made.sum(0, keepdims=True), made.shape),
        lambda: jnp.sort(made, axis=0),
        lambda: jnp.cumsum(made[::-1], axis=0),
    ])()  # fmt: skip


def _program(seed: int) -> tuple[Any, tuple[Argument, ...]]:
    draw = random.Random(seed)
    reads_row, last = draw.random() < 0.5, draw.random() < 0.3

    def lane(x, i, row, j):
        read = x[row if reads_row else i]
        for _ in range(draw.randint(1, 4)):
            read = _made(draw, read, x, i, row, j)
        return read

    def program(x, i, row, j):
        made = jax.vmap(lane, in_axes=(1 if last else 0, 0, 0, 0))(x.T if last else x, i, row, j)
        for _ in range(draw.randint(0, 2)):
            made = _across(draw, made, i, row, j)
        return made

    integers = [Argument(shape, np.dtype("int32"), -1, N) for shape in ((BATCH,), (BATCH, ROW), (BATCH,))]
    return program, (Argument((BATCH, N), np.dtype("float32"), None, None), *integers)


@pytest.mark.parametrize("first", range(0, 240, 24))
def test_what_is_masked_in_its_lane_does_not_show(first):
    shown = 0
    for seed in range(first, first + 24):
        function, arguments = _program(seed)
        closed = jax.make_jaxpr(function)(*(a.struct() for a in arguments))
        report = check_traced(traced(closed, arguments))
        masked = [a for a in report.accesses if a.verdict == "masked"]
        interpreter, numbers = Interpreter(closed), np.random.default_rng(seed)
        for _ in range(8 if masked else 0):
            given = [
                numbers.integers(a.low, a.high + 1, a.shape).astype(np.int32)
                if a.low is not None
                else numbers.normal(size=a.shape).astype(np.float32)
                for a in arguments
            ]
            watch = Watch(None, {id(a.eqn): a for a in report.accesses})
            interpreter.run(given, watch)
            for access in masked:
                if id(access.eqn) in watch.left:
                    shown += 1
                    outs = [interpreter.run(given, Tamper(id(access.eqn), garbage)) for garbage in GARBAGE]
                    for out in outs[1:]:
                        np.testing.assert_array_equal(outs[0], out, err_msg=f"seed {seed}: {access.message}")
    assert shown, "none of them was masked and left its array"
