"""Lanes of a batched while: found apart only where changing one never changes another."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.engine import lanes
from redzone.engine.lanes import _stay_apart
from redzone.frontend.compat import open_jaxpr, primitives
from tests.cases import CASES, readings

LANES, WIDE = 4, 5
TABLE = jnp.arange(12)
MATRIX = jnp.arange(25.0).reshape(5, 5)

#: What one lane's body makes of (counter, row of integers, row of floats).
APART: dict[str, Any] = {
    "arithmetic": lambda i, a, x: (i + 1, a * 2 + i, jnp.exp(x) + i),
    "read a table": lambda i, a, x: (i + 1, TABLE[a % 12], x),
    "read its row": lambda i, a, x: (i + 1, a, x + x[i % WIDE]),
    "read by its row": lambda i, a, x: (i + 1, a, x[a % WIDE]),
    "write its row": lambda i, a, x: (i + 1, a.at[i % WIDE].set(i), x.at[a % WIDE].add(1.0)),
    "write a part": lambda i, a, x: (i + 1, lax.dynamic_update_slice(a, a[:2], (i % 3,)), x.at[1:3].set(0.0)),
    "sums": lambda i, a, x: (i + a.sum(), jnp.cumsum(a), x + x.max() + jnp.argmax(a)),
    "order": lambda i, a, x: (i + 1, jnp.sort(a)[::-1], x[jnp.argsort(x)]),
    "best": lambda i, a, x: (i + 1, a, lax.top_k(x, WIDE)[0]),
    "products": lambda i, a, x: (i + 1, a, MATRIX @ x + (x @ MATRIX) * (x @ x)),
    "outer product": lambda i, a, x: (i + 1, a, (x[:, None] * a[None, :]).T.reshape(-1)[:WIDE]),
    "pieces": lambda i, a, x: (i + 1, jnp.concatenate([a[2:], a[:2]]), jnp.pad(x[1:], (0, 1))),
    "stacked": lambda i, a, x: (i + 1, jnp.stack([a, a + 1], 1)[:, 1], jnp.roll(x, 1)),
    "branches": lambda i, a, x: (i + 1, lax.cond(i > 2, lambda: a, lambda: a + 1), x),
    "loop": lambda i, a, x: (i + 1, lax.fori_loop(0, 3, lambda k, b: b.at[k].add(b[k + 1]), a), x),
    "loop as long as": lambda i, a, x: (lax.while_loop(lambda k: k < a[0], lambda k: k + 1, i) + 1, a, x),
    "scan": lambda i, a, x: (i + 1, lax.scan(lambda c, b: (c + b, c * b), i, a)[1], x),
    "lanes in lanes": lambda i, a, x: (i + 1, jax.vmap(lambda b: lax.fori_loop(0, b % 3, lambda k, c: c + k, b))(a), x),
    "random": lambda i, a, x: (i + 1, a, jax.random.normal(jax.random.key(i), (WIDE,)) + x),
    "old keys": lambda i, a, x: (i + 1, a, jax.random.uniform(jax.random.split(jax.random.PRNGKey(i))[1], (WIDE,)) + x),
    "decomposed": lambda i, a, x: (i + 1, a, jnp.linalg.cholesky(jnp.eye(WIDE) + jnp.outer(x, x))[0]),
    "a function": lambda i, a, x: (i + 1, a, jax.nn.softmax(jax.jit(jnp.tanh)(x))),
}

MIXED: dict[str, Any] = {
    "sum": lambda i, a, x: (i + 1, a + lax.psum(i, "l"), x),
    "greatest": lambda i, a, x: (i + 1, a, x + lax.pmax(x, "l")),
    "all": lambda i, a, x: (i + 1, jnp.resize(lax.all_gather(i, "l"), WIDE), x),
    "turned": lambda i, a, x: (lax.ppermute(i, "l", [(k, (k + 1) % LANES) for k in range(LANES)]) + 1, a, x),
    "matrix": lambda i, a, x: (i + 1, a, x + MATRIX[0, :LANES] @ lax.all_gather(x, "l")),
    "in a branch": lambda i, a, x: (i + 1, lax.cond(a[0] > 4, lambda: a, lambda: a + lax.psum(i, "l")), x),
    "in a loop": lambda i, a, x: (i + 1, lax.fori_loop(0, 2, lambda k, b: b + lax.psum(b, "l"), a), x),
    "read by others": lambda i, a, x: (i + 1, a, x[lax.pmax(i, "l") % WIDE] + x),
}


def batched(body: Any) -> tuple[Any, Any]:
    """One step of every lane, and the equation of the loop that takes it."""
    step = jax.vmap(body, axis_name="l")

    def lane(i, a, x):
        return lax.while_loop(lambda c: c[0] < 7, lambda c: _like(c, body(*c)), (i, a, x))

    args = (jnp.zeros(LANES, jnp.int32), jnp.zeros((LANES, WIDE), jnp.int32), jnp.zeros((LANES, WIDE)))
    closed = jax.make_jaxpr(jax.vmap(lane, axis_name="l"))(*args)
    (loop,) = [e for e in open_jaxpr(closed)[0].eqns if e.primitive is primitives()["while_p"]]
    return step, loop


def _like(old: Any, new: Any) -> Any:
    return jax.tree.map(lambda o, n: jnp.asarray(n, o.dtype), old, tuple(new))


def depends(step: Any) -> bool:
    """Whether a change of the other lanes was ever seen to change a lane."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        args = [rng.integers(0, 9, LANES), rng.integers(0, 9, (LANES, WIDE)), rng.normal(size=(LANES, WIDE))]
        args = [jnp.asarray(x, t) for x, t in zip(args, ("int32", "int32", "float32"), strict=True)]
        other = [jnp.concatenate([x[:1], x[1:] + 3]) for x in args]
        for one, two in zip(step(*args), step(*other), strict=True):
            if not np.array_equal(one[0], two[0], equal_nan=True):
                return True
    return False


@pytest.mark.parametrize("name", APART)
def test_apart(name: str) -> None:
    step, loop = batched(APART[name])
    assert not depends(step)
    assert _stay_apart(loop.params)


@pytest.mark.parametrize("name", MIXED)
def test_mixed(name: str) -> None:
    step, loop = batched(MIXED[name])
    assert depends(step)
    assert not _stay_apart(loop.params)


def test_a_condition_on_another_lane_mixes_them() -> None:
    def lane(i):
        return lax.while_loop(lambda c: lax.pmax(c, "l") < 7, lambda c: c + 1, i)

    def neighbour(i):
        turned = [(k, (k + 1) % LANES) for k in range(LANES)]
        return lax.while_loop(lambda c: lax.ppermute(c, "l", turned) < 7, lambda c: c + 1, i)

    for one in (lane, neighbour):
        closed = jax.make_jaxpr(jax.vmap(one, axis_name="l"))(jnp.zeros(LANES, jnp.int32))
        loops = [e for e in open_jaxpr(closed)[0].eqns if e.primitive is primitives()["while_p"]]
        batched = [e for e in loops if open_jaxpr(e.params["cond_jaxpr"])[0].outvars[0].aval.shape]
        assert not any(_stay_apart(e.params) for e in batched)


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(
    "function",
    [readings.promised_by_a_lane_that_need_not_run, readings.one_of_two_promised_by_a_lane_that_need_not_run],
)
def test_what_lanes_promise_is_theirs_alone(monkeypatch: pytest.MonkeyPatch, function: Any) -> None:
    def verdicts() -> set[str]:
        (case,) = [case for case in CASES if case.function is function]
        specs = [redzone.Spec(a.shape, a.dtype, min=a.low, max=a.high) for a in case.arguments]
        return {str(access.verdict) for access in redzone.check(function, *specs).accesses}

    assert verdicts() == {"safe", "requires"}
    monkeypatch.setattr(lanes, "_promised", lambda _jaxpr, constants, _lanes: [None] * constants)
    assert verdicts() == {"safe", "masked"}
