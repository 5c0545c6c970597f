"""Float functions at many points: what XLA computes lies inside what the rule says of that very point."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.domains import Fact
from redzone.domains.dtype import dtype_info
from redzone.rules import RULES
from redzone.rules.floats import smallest

UNARY = [
    *(lax.exp, lax.exp2, lax.expm1, lax.log, lax.log1p, lax.rsqrt, lax.cbrt, lax.sqrt),
    *(lax.sinh, lax.cosh, lax.asinh, lax.acosh, lax.atanh, lax.asin, lax.acos, lax.atan),
    *(lax.tanh, lax.erf, lax.erfc, lax.logistic, lax.sin, lax.cos),
]
BINARY = [lax.rem, lax.pow, lax.atan2]


def points(dtype: str, seed: int) -> np.ndarray:
    """Numbers of every size, many around one and zero, and the special ones."""
    rng = np.random.default_rng(seed)
    sizes = 2.0 ** rng.uniform(-20, 20, 400)
    near = np.concatenate([1 + rng.uniform(-1, 1, 300) * 2.0 ** rng.uniform(-24, 0, 300), rng.uniform(-9, 9, 300)])
    special = np.array([0.0, 1.0, -1.0, 0.5, 2.0, 10.0, 88.0, 89.0, -88.0, 1e-30, 1e30, np.inf, -np.inf, np.nan])
    huge = 10.0 ** rng.uniform(-37, 37, 100)
    every = np.concatenate([sizes, -sizes, near, special, huge, -huge])
    with np.errstate(over="ignore"):
        return every.astype(jnp.dtype(dtype))


def fact_at(value: np.generic) -> Fact:
    number = float(value)
    return Fact(0.0, 0.0, 1, True) if number != number else Fact(number, number, 0)


def holds(fact: Fact, value: float, dtype: str) -> bool:
    if value != value:
        return fact.nan
    # What is smaller than any normal number may be taken for zero, and is no index either way.
    slack = smallest(dtype_info(np.dtype(dtype)))
    return fact.lo - slack <= value <= fact.hi + slack


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("function", UNARY, ids=lambda f: f.__name__)
def test_a_function_of_one_number(function, dtype):
    values = points(dtype, 0)
    eqn = jax.make_jaxpr(function)(jax.ShapeDtypeStruct((), values.dtype)).eqns[-1]
    results = np.asarray(jax.jit(function)(values), np.float64)
    rule = RULES[eqn.primitive].apply
    wrong = [(v, r) for v, r in zip(values, results, strict=True) if not holds(rule(eqn, fact_at(v)), r, dtype)]
    assert not wrong


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("function", BINARY, ids=lambda f: f.__name__)
def test_a_function_of_two_numbers(function, dtype):
    first, second = points(dtype, 1), np.random.default_rng(2).permutation(points(dtype, 3))
    scalar = jax.ShapeDtypeStruct((), first.dtype)
    eqn = jax.make_jaxpr(function)(scalar, scalar).eqns[-1]
    results = np.asarray(jax.jit(function)(first, second), np.float64)
    rule = RULES[eqn.primitive].apply
    wrong = [
        (a, b, r)
        for a, b, r in zip(first, second, results, strict=True)
        if not holds(rule(eqn, fact_at(a), fact_at(b)), r, dtype)
    ]
    assert not wrong


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize("count", [1, 7, 100])
def test_sums_and_products(count, dtype):
    rng = np.random.default_rng(count)
    for lo, hi in ((0.1, 0.3), (-1.0, 2.5), (-3e3, -1.0), (0.0, 9.99)):
        rows = jnp.asarray(rng.choice([lo, hi, (lo + hi) / 2], (50, count)), dtype)
        other = jnp.asarray(rng.choice([lo, hi], (count,)), dtype)
        low, high = float(jnp.asarray(lo, dtype)), float(jnp.asarray(hi, dtype))
        fact = Fact(low, high)
        for function, operands in (
            (lambda v: lax.reduce(v, jnp.zeros((), dtype), lax.add, (1,)), (rows,)),
            (lambda v, w: lax.dot_general(v, w, (((1,), (0,)), ((), ()))), (rows, other)),
        ):
            eqn = jax.make_jaxpr(function)(*operands).eqns[-1]
            claim = RULES[eqn.primitive].apply(eqn, *[fact] * len(operands))
            for result in np.asarray(jax.jit(function)(*operands), np.float64):
                assert holds(claim, result, dtype), (lo, hi, result, claim)
