"""Numbers that are computed anew in another place: compiled as one, no access that is safe leaves its array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.engine import anew, narrowing, products, tabulate, together

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


# Integers and flags that are made of such a sum: a division that is not computed again, the body of a loop that is
# too large to be compiled as one, and a sum over elements lie between the places in which they are used.

AT_ONCE, WIDE = 200, 5000


def _remainder(x, a, b, c, _):
    product = a * b
    i = lax.dynamic_index_in_dim(jnp.clip((product + c).astype(jnp.int32), 0, 20), 0, keepdims=False)
    quotient = lax.div(i * 1000, i + 1)
    at = jnp.where(i > 0, i * 1000 - quotient * (i + 1), 0)
    read = lax.dynamic_slice(x, (at,), (1,), allow_negative_indices=False)[0]
    return read * product[0], quotient


def _two_cursors(x, a, b, c, wide):
    def step(carry):
        i, j, k, a, wide, read = carry
        product, at = a * b, jnp.clip(i, 0, 3)
        ok = lax.dynamic_index_in_dim(product + c < 5, at, keepdims=False)
        more = lax.dynamic_index_in_dim(product, at, keepdims=False) > 5
        read = read + lax.dynamic_slice(x, (k,), (1,), allow_negative_indices=False)[0]
        j = jnp.where(ok, j, jnp.where(more, j - 1, j - 2))
        return jnp.where(ok, i + 1, i), j, k + 1, a[::-1], jnp.sin(wide) * 1.1, read

    carry = lax.while_loop(lambda c: (c[0] < c[1]) & (c[2] < 30), step, (0, 10, 0, a, wide, 0.0))
    return carry[-1], carry[2], carry[4]


def _count(x, a, b, c, wide):
    product, limit = a * b, wide[0].astype(jnp.int32) + 3
    ends = (product + c).astype(jnp.int32)
    read = lax.dynamic_slice(x, (jnp.sum(limit >= ends),), (1,), allow_negative_indices=False)[0]
    return jnp.where(limit < ends[-1], read, 0.0) * product[-1], limit


def _factor(x, a, b, c, wide):
    product, some = a * b, wide[0].astype(jnp.int32)
    flag = (product + c < 5)[0].astype(jnp.int32)
    quotient = lax.div(flag * 1000, jnp.maximum(some, 1))
    at = jnp.minimum(quotient, 2) * (1 - flag)
    return lax.dynamic_slice(x, (at,), (1,), allow_negative_indices=False)[0] * product[0], quotient


ONCE = {_remainder: (21, 4), _two_cursors: (10, 4), _count: (8, 8), _factor: (2, 4)}
"""By program: how long its table is, and its rows."""


def _verdicts_of(program):
    size, length = ONCE[program]
    numbers, wide = redzone.Spec((length,), "float32"), redzone.Spec((WIDE,), "float32")
    report = redzone.check(program, redzone.Spec((size,), "float32"), numbers, numbers, numbers, wide)
    return {str(access.verdict) for access in report.accesses}


def _sees_the_end(program):
    """Whether any of some runs sees the table's last element, which no run that stays inside does.

    Their sums are just below 5 if the product is rounded, and 5 if it is fused, or the other way round.
    """
    size, length = ONCE[program]
    rng, compiled = np.random.default_rng(0), jax.jit(program)
    a, b = (rng.uniform(2.84, 2.99, 4000).astype(np.float32) for _ in range(2))
    product, table = a * b, np.eye(size, dtype=np.float32)[-1]
    for total in (np.float32(5), np.nextafter(np.float32(5), np.float32(0))):
        c = total - product
        rounded, fused = product + c, (a.astype(np.float64) * b + c).astype(np.float32)
        for k in np.nonzero((rounded < 5) != (fused < 5))[0][:AT_ONCE]:
            row = [np.full(length, numbers[k]) for numbers in (a, b, c)]
            read, more, *_ = compiled(table, *row, np.ones(WIDE, np.float32))
            if more > size if program is _two_cursors else read != 0:
                return True
    return False


@pytest.mark.parametrize("program", ONCE)
def test_what_is_made_of_it_is_not_one_number_either(program):
    assert "unknown" in _verdicts_of(program)


@pytest.mark.changes_the_engine
@pytest.mark.skipif(jax.__version_info__ >= (0, 11), reason="seen with the compiler of JAX 0.10")
@pytest.mark.parametrize(
    ("module", "name", "wrong", "program"),
    [
        (tabulate, "is_anew", lambda *_: False, _remainder),
        (together, "is_anew", lambda *_: False, _two_cursors),
        (narrowing, "computed_anew", lambda *_: set(), _count),
        (anew, "_makes_flags", lambda *_: False, _factor),
    ],
    ids=["a table of it", "two cursors", "a count", "a factor"],
)
def test_what_is_taken_for_one_number_is_caught(monkeypatch, module, name, wrong, program):
    monkeypatch.setattr(module, name, wrong)
    assert "unknown" not in _verdicts_of(program)
    assert _sees_the_end(program)


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
