"""Integers of less than a byte: what rules say and what a replay computes, against every number of the type."""

from __future__ import annotations

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.domains import Fact
from redzone.prove.concrete import exactly
from redzone.rules import RULES

NARROW = ("int2", "uint2", "int4", "uint4")
ONE = (lax.neg, lax.sign, lax.bitwise_not, lax.clz, lax.population_count)
TWO = (lax.add, lax.sub, lax.mul, lax.max, lax.min, lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.lt, lax.eq)


def _equation(function, *values):
    (eqn,) = jax.make_jaxpr(function)(*values).jaxpr.eqns
    return eqn


def _numbers(dtype):
    info = jnp.iinfo(dtype)
    return range(int(info.min), int(info.max) + 1)


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("function", ONE + TWO, ids=lambda f: f.__name__)
def test_a_rule_holds_for_every_range(dtype, function):
    numbers = _numbers(dtype)
    count = 1 if function in ONE else 2
    pairs = np.array(list(itertools.product(numbers, repeat=count)))
    results = np.asarray(jax.jit(function)(*[jnp.array(column, dtype) for column in pairs.T])).astype(int)
    eqn = _equation(function, *[jnp.array(0, dtype)] * count)
    ends = [(a, b) for a in numbers for b in numbers if a <= b and (count == 1 or (a + 3 * b) % 5 == 0)]
    for ranges in itertools.product(ends, repeat=count):
        fact = RULES[eqn.primitive].apply(eqn, *[Fact(a, b, int(a != b)) for a, b in ranges])
        among = np.logical_and.reduce([(a <= x) & (x <= b) for (a, b), x in zip(ranges, pairs.T, strict=True)])
        assert fact.lo <= results[among].min() and results[among].max() <= fact.hi, ranges


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("function", [*ONE, lambda x: x.astype("int32"), lambda x: lax.rev(x, (0,))])
def test_a_replay_computes_what_jax_does_or_nothing(dtype, function):
    values = jnp.array(list(_numbers(dtype)), dtype)
    found = exactly(_equation(function, values), [np.asarray(values)])
    assert found is None or found[0].tolist() == np.asarray(jax.jit(function)(values)).tolist()


@pytest.mark.parametrize(("dtype", "other"), list(itertools.permutations(NARROW, 2)))
def test_a_replay_leaves_conversions_between_them_to_jax(dtype, other):
    values = jnp.array(list(_numbers(dtype)), dtype)
    assert exactly(_equation(lambda x: x.astype(other), values), [np.asarray(values)]) is None
