"""What numpy evaluates for a replay is what XLA computes, to the bit."""

from __future__ import annotations

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.frontend.compat import bind, open_jaxpr
from redzone.prove.concrete import evaluate, exactly, is_exact_here

_RNG = np.random.default_rng(7)


def _ints(*shape, low=-4, high=5):
    return _RNG.integers(low, high, shape).astype(np.int32)


def _floats(*shape):
    """With ties and halves, which is where orders and roundings differ."""
    return (_RNG.integers(-6, 7, shape) / 2).astype(np.float32)


_SPECIAL = np.array([np.nan, -np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 2.5, -2.5], np.float32)

_ADDED = {
    "lt_to": (lambda x, y: lax.lt_to_p.bind(x, y), tuple(map(np.ascontiguousarray, np.meshgrid(_SPECIAL, _SPECIAL)))),
    "le_to": (lambda x, y: lax.le_to_p.bind(x, y), tuple(map(np.ascontiguousarray, np.meshgrid(_SPECIAL, _SPECIAL)))),
    "reduce_sum": (lambda x: lax.reduce_sum_p.bind(x, axes=(0,), out_sharding=None), (_ints(4, 5),)),
    "reduce_prod": (lambda x: jnp.prod(x, axis=1), (_ints(4, 5),)),
    "reduce_or": (lambda x: jnp.any(x > 0, axis=0), (_ints(4, 5),)),
    "reduce_max": (lambda x: jnp.max(x, axis=(0, 1)), (_floats(4, 5),)),
    "reduce_min": (lambda x: jnp.min(x, axis=0), (_floats(4, 5),)),
    "cumprod": (lambda x: lax.cumprod(x, axis=1), (_ints(4, 5),)),
    "cummax back": (lambda x: lax.cummax(x, axis=0, reverse=True), (_ints(4, 5),)),
    "cummin": (lambda x: lax.cummin(x, axis=1), (_ints(4, 5),)),
    "abs": (jnp.abs, (_ints(6),)),
    "square that wraps": (jnp.square, (_ints(6) * 70_001,)),
    "power": (lambda x: x**3, (_ints(6) * 1_999,)),
    "round half even": (jnp.round, (_floats(40),)),
    "round half away": (lambda x: lax.round(x, lax.RoundingMethod.AWAY_FROM_ZERO), (_floats(40),)),
    "rev": (lambda x: lax.rev(x, (1,)), (_floats(4, 5),)),
    "pad": (lambda x: lax.pad(x, np.int32(9), ((1, 2, 0), (0, 1, 2))), (_ints(4, 5),)),
    "pad less": (lambda x: lax.pad(x, np.int32(9), ((-1, 2, 1), (1, -3, 0))), (_ints(4, 5),)),
    "dynamic_update_slice": (
        lambda x, u, i: lax.dynamic_update_slice(x, u, (i, 1)), (_ints(4, 5), _ints(2, 2), np.int32(9)),
    ),
    "gather of one number": (
        lambda x, i: lax.gather(
            x, i, lax.GatherDimensionNumbers((), (0, 1), (0, 1)), (1, 1), mode="fill", fill_value=5
        ),
        (_ints(4, 5), np.array([3, 9], np.int32)),
    ),
    "gather at narrow indices": (
        lambda x, i: x.at[i].get(mode="clip"), (_floats(6, 3), np.array([0, 4, 200], np.uint8)),
    ),
    "gather in lanes": (jax.vmap(lambda row, k: row[k]), (_ints(6, 3), _ints(6, 2, low=0, high=5))),
    "reshape": (lambda x: lax.reshape(x, (10, 2), dimensions=(1, 0)), (_ints(4, 5),)),
    "sort": (lambda x: lax.sort(x, dimension=0), (_floats(9, 3),)),
    "sort by two": (lambda x, y, z: lax.sort((x, y, z), num_keys=2), (_ints(20), _floats(20), _ints(20, high=99))),
    "top_k": (lambda x: lax.top_k(x, 4), (_floats(3, 9),)),
    "top_k of unsigned": (lambda x: lax.top_k(x, 4), (_ints(9, low=0).astype(np.uint32),)),
    "scatter": (lambda x, i: x.at[i].set(7), (_ints(6, 3), np.array([0, 4, 9], np.int32))),
    "scatter clipped": (lambda x, i: x.at[i].set(7, mode="clip"), (_ints(6, 3), np.array([0, 9], np.int32))),
    "scatter-add": (lambda x, i, u: x.at[i].add(u), (_ints(6, 3), _ints(5, low=0, high=8), _ints(5, 3))),
    "scatter-add of a float": (lambda x, i, u: x.at[i].add(u), (_floats(6, 3), np.int32(4), _floats(3) / 3)),
    "scatter-mul of a float": (lambda x, i, u: x.at[i].mul(u), (_floats(6, 3) / 3, np.int32(4), _floats(3) / 7)),
    "scatter-max": (lambda x, i, u: x.at[:, i].max(u), (_ints(6, 3), _ints(5, low=0, high=3), _ints(6, 5))),
    "scatter-max of floats": (
        lambda x, i: x.at[i].max(x[::-1]), (_SPECIAL[[0, 2, 3, 4, 8, 9]], _ints(6, low=0, high=5)),
    ),
    "scatter-min of floats": (
        lambda x, i, u: x.at[i].min(u), (_floats(6, 3) + 9, _ints(5, low=0, high=8), _floats(5, 3)),
    ),
    "scatter-add in lanes": (
        lambda x, i: jax.vmap(lambda row, k: row.at[k].add(1))(x, i), (_ints(6, 3), _ints(6, low=0, high=5)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", _ADDED)
def test_same_as_jax(name):
    function, arguments = _ADDED[name]
    jaxpr, consts = open_jaxpr(jax.make_jaxpr(function)(*arguments))
    seen = _compare(jaxpr, consts, arguments)
    assert seen & {name.split()[0], *(("integer_pow",) if name == "power" else ())}, seen


def _compare(jaxpr, consts, arguments):
    values = dict(zip(jaxpr.constvars, consts, strict=True)) | dict(zip(jaxpr.invars, arguments, strict=True))
    seen = set()
    for eqn in jaxpr.eqns:
        given = [v.val if hasattr(v, "val") else values[v] for v in eqn.invars]
        inner = eqn.params.get("jaxpr")
        if inner is not None:
            body, body_consts = open_jaxpr(inner)
            seen |= _compare(body, body_consts, given)
        theirs = bind(eqn, [jnp.asarray(v) for v in given])
        if is_exact_here(eqn):
            seen.add(eqn.primitive.name)
            for mine, real in zip(evaluate(eqn, given), theirs, strict=True):
                assert mine.dtype == real.dtype
                np.testing.assert_array_equal(mine, np.asarray(real))
        values |= dict(zip(eqn.outvars, theirs, strict=True))
    return seen


@pytest.mark.parametrize(
    "function, arguments",
    [
        (lambda x, i: x.at[i].set(jnp.arange(2)), (_ints(6), np.array([1, 1], np.int32))),
        (lambda x, i: x.at[i].set(1, mode="promise_in_bounds"), (_ints(6), np.array([9], np.int32))),
        (lambda x: lax.top_k(x, 2), (np.array([1.0, np.nan], np.float32),)),
        (lambda x: jnp.max(x), (np.array([0.0, -0.0], np.float32),)),
        (lambda x, i: x.at[i].add(x), (np.array([0.1, 0.2], np.float32), np.array([1, 1], np.int32))),
        (lambda x, i: x.at[i].max(-x), (np.array([0.0, -1.0], np.float32), np.array([1, 0], np.int32))),
    ],
)
def test_what_is_not_determined_is_left_to_jax(function, arguments):
    jaxpr, _ = open_jaxpr(jax.make_jaxpr(function)(*arguments))
    values, refused = dict(zip(jaxpr.invars, arguments, strict=True)), 0
    for eqn in jaxpr.eqns:
        given = [v.val if hasattr(v, "val") else values[v] for v in eqn.invars]
        refused += exactly(eqn, given) is None
        values |= dict(zip(eqn.outvars, evaluate(eqn, given), strict=True))
    assert refused == 1


@pytest.mark.parametrize("mode", ["clip", "drop"])
def test_a_window_in_an_array_without_elements_is_left_to_jax(mode):
    jaxpr = jax.make_jaxpr(lambda x, i, v: x.at[i].add(v, mode=mode))(jnp.zeros(0), jnp.zeros(3, int), jnp.zeros(3))
    (eqn,) = (e for e in jaxpr.eqns if e.primitive.name == "scatter-add")
    assert exactly(eqn, [np.zeros(0, np.float32), np.zeros((3, 1), np.int32), np.ones(3, np.float32)]) is None


def test_nothing_is_written_by_no_index() -> None:
    numbers = lax.ScatterDimensionNumbers((), (0,), (0,))
    given = [np.arange(3, dtype=np.int32), np.zeros((0, 1), np.int32), np.zeros(0, np.int32)]
    eqn = jax.make_jaxpr(lambda x, i, y: lax.scatter_add(x, i, y, numbers))(*given).jaxpr.eqns[-1]
    assert eqn.primitive.name == "scatter-add"
    results = exactly(eqn, given)
    assert results is not None and results[0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("seed", range(40))
def test_windows_of_any_numbering(seed: int) -> None:
    draw = random.Random(seed)
    rank = draw.randint(1, 3)
    shape = [draw.randint(1, 4) for _ in range(rank)]
    lanes = draw.sample(range(rank), 1) if rank > 1 and seed % 2 else []
    others = [d for d in range(rank) if d not in lanes]
    mapped = draw.sample(others, draw.randint(0, len(others)))
    sizes = [1 if d in lanes else draw.randint(1, shape[d]) for d in range(rank)]
    gone = [d for d in others if sizes[d] == 1 and draw.random() < 0.5]
    batch = [draw.randint(1, 3) for _ in range(draw.randint(len(lanes), 2))]
    along = draw.sample(range(len(batch)), len(lanes))
    for d, b in zip(lanes, along, strict=True):
        batch[b] = shape[d]
    windows = rank - len(gone) - len(lanes)
    offsets = sorted(draw.sample(range(len(batch) + windows), windows))
    numbers = lax.GatherDimensionNumbers(*map(tuple, (offsets, gone, mapped, lanes, along)))
    dtype = draw.choice([np.int32, np.int8, np.uint8, np.uint32])
    count = int(np.prod(batch)) * len(mapped)
    indices = np.array([draw.randint(-3, 6) for _ in range(count)], np.int64).astype(dtype)
    given = [np.arange(np.prod(shape)).reshape(shape).astype(np.float32), indices.reshape(*batch, len(mapped))]
    mode = draw.choice(["fill", "clip"])
    (eqn,) = jax.make_jaxpr(lambda x, i: lax.gather(x, i, numbers, tuple(sizes), mode=mode))(*given).eqns
    results = exactly(eqn, given)
    assert results is not None
    np.testing.assert_array_equal(results[0], np.asarray(bind(eqn, given)[0]))
