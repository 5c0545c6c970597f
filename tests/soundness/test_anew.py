"""Numbers that are computed anew in another place: compiled as one, no access that is safe leaves its array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.engine import narrowing, products

pytestmark = pytest.mark.sources

N, TOP, RUNS = 8, 10, 200


def _floats(product, sums):
    ok = jnp.all((sums >= 0) & (sums < TOP))
    return jnp.where(ok, jnp.floor(jnp.minimum(sums, jnp.sin(product) + 20)).astype(jnp.int32), 0)


def _with_room(product, sums):
    ok = jnp.all((sums >= 0.5) & (sums < TOP - 0.5))
    return jnp.where(ok, jnp.floor(jnp.minimum(sums, jnp.sin(product) + 20)).astype(jnp.int32), 0)


def _integers(product, sums):
    at = jnp.floor(sums).astype(jnp.int32)
    ok = (at.max() < TOP) & (at.min() >= 0)
    return jnp.where(ok, jnp.where(product > 1e9, 0, at), 0)


def _flags(product, sums):
    ok = sums < TOP
    return jnp.where(jnp.all(ok), jnp.where(ok, jnp.where(product > 1e9, 3, 4), 20), 0)


def _counted(product, sums):
    flags = (sums < TOP).astype(jnp.int32)
    return jnp.minimum(jnp.cumsum(flags) - flags, (jnp.sin(product) + 20).astype(jnp.int32))


def _above_the_least(product, sums):
    sums = jnp.maximum(sums, -1e6)
    return jnp.floor(jnp.minimum(jnp.minimum(sums - sums.min(), jnp.sin(product) + 5), 9.0)).astype(jnp.int32)


def _times(a, b):
    return a * b


def _by_three(a, b):
    return a / 3.0


def _program(index, factor):
    def program(x, a, b, c):
        product = factor(a, b)
        at = index(product, product + c)
        return lax.map(lambda i: lax.dynamic_slice(x, (i,), (1,), allow_negative_indices=False), at), at

    return program


def _verdict(program):
    numbers = redzone.Spec((N,), "float32", min=-100.0, max=100.0)
    report = redzone.check(program, redzone.Spec((TOP,), "float32"), numbers, numbers, numbers)
    (access,) = report.accesses
    return str(access.verdict)


def _leaves(program, factor):
    """Whether the index leaves the array in any of many runs near its end, compiled as one."""
    rng, compiled = np.random.default_rng(0), jax.jit(program)
    for run in range(RUNS):
        a, b = (rng.uniform(-10, 10, N).astype(np.float32) for _ in range(2))
        wanted = np.full(N, TOP) if run % 3 == 0 else rng.uniform(0, 9.9, N)
        wanted[run % N] = TOP
        c = (wanted - factor(a.astype(np.float64), b)).astype(np.float32)
        at = np.asarray(compiled(np.ones(TOP, np.float32), a, b, c)[1])
        if at.min() < 0 or at.max() >= TOP:
            return True
    return False


@pytest.mark.parametrize("factor", [_times, _by_three])
@pytest.mark.parametrize("index", [_floats, _with_room, _integers, _flags, _counted, _above_the_least])
def test_what_is_safe_stays_inside_compiled(index, factor):
    program = _program(index, factor)
    verdict = _verdict(program)
    assert verdict == ("safe" if index is _with_room else "unknown")
    assert verdict != "safe" or not _leaves(program, factor)


@pytest.mark.changes_the_engine
def test_a_number_taken_for_one_everywhere_is_caught(monkeypatch):
    """If the compiler should no longer compute it in two ways, what is made of that can be taken back."""
    monkeypatch.setattr(narrowing, "apart_by", lambda *_: 0.0)
    program = _program(_floats, _times)
    assert _verdict(program) == "safe"
    assert _leaves(program, _times)


ROWS = 256


def _by_rows(at):
    return jnp.all((at >= 0) & (at < TOP), -1)


def _by_columns(at):
    return (at[:, 0] >= 0) & (at[:, 0] < TOP) & (at[:, 1] >= 0) & (at[:, 1] < TOP)


def _by_extremes(at):
    return (at.min(-1) >= 0) & (at.max(-1) < TOP)


def _in_rows(test):
    """The sum alone reads its product, but one loop goes through its rows and another through its elements."""

    def program(x, a, b, c):
        at = a * b + c
        cells = jnp.where(test(at)[:, None], jnp.floor(at).astype(jnp.int32), 0)
        return x[cells], cells

    numbers = redzone.Spec((ROWS, 2), "float32", min=-100.0, max=100.0)
    (access,) = redzone.check(program, redzone.Spec((TOP,), "float32"), numbers, numbers, numbers).accesses
    return program, str(access.verdict)


@pytest.mark.parametrize("test", [_by_rows, _by_columns, _by_extremes])
def test_rows_that_are_looked_at_as_one(test):
    assert _in_rows(test)[1] == "unknown"


@pytest.mark.changes_the_engine
@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="the compiler of JAX 0.11 and 0.12 rounds both alike")
def test_rows_taken_for_one_number_each_are_caught(monkeypatch):
    monkeypatch.setattr(products, "_rearranges", lambda *_: False)
    program, verdict = _in_rows(_by_rows)
    assert verdict == "safe"
    rng, compiled = np.random.default_rng(0), jax.jit(program)
    a, b = (rng.uniform(-10, 10, (ROWS, 2)).astype(np.float32) for _ in range(2))
    c = (rng.integers(0, TOP, (ROWS, 2)) - a.astype(np.float64) * b).astype(np.float32)
    at = np.asarray(compiled(np.ones(TOP, np.float32), a, b, c)[1])
    assert at.min() < 0 or at.max() >= TOP


# What a product of matrices adds up is written down before a sum reads it: that is no product that might be fused.

DOTS = {
    "of matrices": lambda a, b, c: a @ b + c,
    "taken away": lambda a, b, c: c - a @ b,
    "read twice": lambda a, b, c: a @ b + c + 0 * jnp.sin(a @ b),
    "of rows with rows": lambda a, b, c: jnp.einsum("nk,nkm->nm", a, b * jnp.ones((ROWS, 1, 1))) + c,
    "of rows with a vector": lambda a, b, c: (a @ b[:, 0])[:, None] + c,
    "the other way round": lambda a, b, c: (b.T @ a.T).T + c,
    "of what was moved": lambda a, b, c: (a - 7.5) @ b + (c + 7.5 * b.sum(0)),
}


def _of_dots(form, test):
    def program(x, a, b, c):
        at = DOTS[form](a, b, c)
        cells = jnp.where(test(at)[:, None], jnp.floor(at).astype(jnp.int32), 0)
        return x[cells], cells, jnp.sort(at, 0)[0]

    rows, factor = redzone.Spec((ROWS, 3), "float32"), redzone.Spec((3, 2), "float32")
    (access,) = redzone.check(
        program, redzone.Spec((TOP,), "float32"), rows, factor, redzone.Spec((ROWS, 2), "float32")
    ).accesses
    return program, str(access.verdict)


@pytest.mark.parametrize("test", [_by_rows, _by_columns, _by_extremes])
@pytest.mark.parametrize("form", DOTS)
def test_products_of_matrices_in_sums_stay_inside_compiled(form, test):
    program, verdict = _of_dots(form, test)
    assert verdict == "safe" or test is _by_columns or form in ("read twice", "of rows with rows", "of what was moved")
    rng, compiled, exact = np.random.default_rng(0), jax.jit(program), jax.jit(DOTS[form])
    for run in range(40 if verdict == "safe" else 0):
        a, b = rng.uniform(-10, 10, (ROWS, 3)).astype(np.float32), rng.uniform(-9, 9, (3, 2)).astype(np.float32)
        nothing = np.zeros((ROWS, 2), np.float32)
        wanted = rng.choice([0, 5, TOP], (ROWS, 2))
        c = np.asarray(wanted - np.asarray(exact(a, b, nothing), np.float64), np.float32)
        c = c + (run % 3 - 1) * np.spacing(c)
        at = np.asarray(compiled(np.ones(TOP, np.float32), a, b, c)[1])
        assert at.min() >= 0 and at.max() < TOP
