"""Conditions turned around: every operation × relation, against all values that a byte can hold.

`cond(op(a, b) < k, …)` narrows a and b inside the branch. What is claimed of them there must hold for
every pair that really takes the branch, and a branch called unreachable must be taken by none.
"""

from __future__ import annotations

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.domains import Fact
from redzone.engine import analyse
from tests.fuzz.containment import why_outside

RELATIONS = {
    "<": (lax.lt, np.less),
    "≤": (lax.le, np.less_equal),
    ">": (lax.gt, np.greater),
    "≥": (lax.ge, np.greater_equal),
    "=": (lax.eq, np.equal),
    "≠": (lax.ne, np.not_equal),
}


def _at(value: int, like: Any) -> Any:
    return np.array(value % 256, np.uint8).astype(like.dtype)


OPERATIONS = {
    "a": lambda a, b: a,
    "a + b": lax.add,
    "a - b": lax.sub,
    "a * b": lax.mul,
    "a * 3": lambda a, b: a * _at(3, a),
    "a + 100": lambda a, b: a + _at(100, a),
    "a - 100": lambda a, b: a - _at(100, a),
    "5 - a": lambda a, b: _at(5, a) - a,
    "a / b": lax.div,
    "a / 3": lambda a, b: lax.div(a, _at(3, a)),
    "a // 3": lambda a, b: a // _at(3, a),
    "a // b": jnp.floor_divide,
    "a rem b": lax.rem,
    "a rem 5": lambda a, b: lax.rem(a, _at(5, a)),
    "a % 5": lambda a, b: a % _at(5, a),
    "a % b": jnp.remainder,
    "a rem -4": lambda a, b: lax.rem(a, _at(-4, a)),
    "a % -4": lambda a, b: a % _at(-4, a),
    "a & 3": lambda a, b: a & _at(3, a),
    "a & 6": lambda a, b: a & _at(6, a),
    "127 & a": lambda a, b: _at(127, a) & a,
    "a & 255": lambda a, b: a & _at(255, a),
    "a * a": lambda a, b: a * a,
    "a ** 2": lambda a, b: lax.integer_pow(a, 2),
    "max": lax.max,
    "min": lax.min,
    "clamp": lambda a, b: lax.clamp(_at(2, a), a, _at(9, a)),
    "clamp by b": lambda a, b: lax.clamp(_at(0, a), a, b),
    "clip": lambda a, b: jnp.clip(a, _at(2, a), _at(9, a)),
    "abs": lambda a, b: jnp.abs(a),
    "sign": lambda a, b: jnp.sign(a),
    "neg": lambda a, b: lax.neg(a),
    "not": lambda a, b: lax.bitwise_not(a),
    "and": lax.bitwise_and,
    "or": lax.bitwise_or,
    "xor": lax.bitwise_xor,
    "a << 1": lambda a, b: lax.shift_left(a, _at(1, a)),
    "a >> 1 logical": lambda a, b: lax.shift_right_logical(a, _at(1, a)),
    "a >> 2 arithmetic": lambda a, b: lax.shift_right_arithmetic(a, _at(2, a)),
    "a >> b logical": lax.shift_right_logical,
    "a >> b arithmetic": lax.shift_right_arithmetic,
    "square": lambda a, b: lax.square(a),
    "cube": lambda a, b: lax.integer_pow(a, 3),
    "popcount": lambda a, b: lax.population_count(a),
    "select by b": lambda a, b: jnp.where(b > _at(3, b), a, _at(7, a)),
    "select by a": lambda a, b: jnp.where(a > _at(3, a), a, b),
    "from the end": lambda a, b: jnp.where(a < _at(0, a), a + _at(100, a), a),
    "from the end of less": lambda a, b: jnp.where(a < _at(0, a), a + _at(5, a), a),
    "to int8": lambda a, b: a.astype(np.int8),
    "to uint8": lambda a, b: a.astype(np.uint8),
    "to int32": lambda a, b: a.astype(np.int32),
    "thrice to int8": lambda a, b: (a.astype(np.int32) * 3).astype(np.int8),
    "less to uint8": lambda a, b: (a.astype(np.int32) - 300).astype(np.uint8),
    "less to uint32": lambda a, b: (a.astype(np.int32) - 100).astype(np.uint32),
    "to bool": lambda a, b: a.astype(bool).astype(np.int32),
    "to float": lambda a, b: a.astype(np.float32),
    "half as float": lambda a, b: a.astype(np.float32) * np.float32(0.5),
    "float to int": lambda a, b: (a.astype(np.float32) / np.float32(3)).astype(np.int32),
    "a > b": lambda a, b: (a > b).astype(np.int32),
    "a > b and a < 9": lambda a, b: ((a > b) & (a < _at(9, a))).astype(np.int32),
    "a > b or a < 9": lambda a, b: ((a > b) | (a < _at(9, a))).astype(np.int32),
    "first of three": lambda a, b: jnp.argmax(jnp.stack([a > b, a < _at(9, a), b > _at(3, b)]), 0),
    "first but none": lambda a, b: jnp.argmax(jnp.stack([a != a, a < _at(9, a), b > _at(3, b)]), 0),
    "first of a row": lambda a, b: jnp.argmax(jnp.concatenate([(a > b)[None], (a < _at(9, a))[None]]), 0),
    "last of two": lambda a, b: jnp.argmin(jnp.stack([a > b, a < _at(9, a)]), 0),
    "a = b": lambda a, b: (a == b).astype(np.int32),
}
EDGES = {"int8": (0, 1, -1, 3, -128, 127, 43, 63), "uint8": (0, 1, 3, 128, 255, 43, 63, 127)}
RANGES = {
    "int8": [
        ((-128, 127), (-128, 127)),
        ((-128, 127), (0, 5)),
        ((0, 9), (-3, 3)),
        ((-9, -2), (1, 1)),
        ((100, 127), (100, 127)),
    ],
    "uint8": [((0, 255), (0, 255)), ((0, 255), (0, 5)), ((0, 9), (0, 3)), ((200, 255), (1, 1)), ((2, 100), (100, 127))],
}


def traced(operation: str, relation: str, dtype: str) -> Any:
    op, (relate, _) = OPERATIONS[operation], RELATIONS[relation]

    def program(a, b, k):
        value = op(a, b)
        passed = relate(value, k.astype(value.dtype))
        keep = lambda: (lax.bitwise_not(a), lax.bitwise_not(b))  # noqa: E731
        chosen = jnp.where(passed, a, jnp.zeros_like(a)), jnp.where(passed, jnp.zeros_like(a), b)
        return lax.cond(passed, keep, keep), chosen

    scalar = jax.ShapeDtypeStruct((), np.dtype(dtype))
    return jax.make_jaxpr(program)(scalar, scalar, scalar)


def _grid(dtype: str) -> tuple[np.ndarray, np.ndarray]:
    values = np.arange(256).astype(np.uint8).astype(dtype)
    a, b = np.meshgrid(values, values, indexing="ij")
    return a.ravel(), b.ravel()


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("operation", OPERATIONS)
def test_what_a_branch_is_told_holds_for_all_that_take_it(operation, dtype):
    if dtype == "uint8" and operation in ("abs", "sign", "neg"):
        pytest.skip("not defined for unsigned numbers")
    a, b = _grid(dtype)
    values = np.asarray(jax.jit(OPERATIONS[operation])(a, b))
    for relation, edge in itertools.product(RELATIONS, EDGES[dtype][:: 1 if len(operation) < 9 else 2]):
        if edge == EDGES[dtype][0]:
            closed = traced(operation, relation, dtype)
        passed = RELATIONS[relation][1](values, np.array(edge).astype(dtype).astype(values.dtype))
        for (a_low, a_high), (b_low, b_high) in RANGES[dtype]:
            facts = [
                Fact(a_low, a_high),
                Fact(b_low, b_high, 0 if b_low == b_high else 1),
                Fact(int(edge), int(edge), 0),
            ]
            found = analyse(closed, facts, everything=True, strict=True).facts
            allowed = (a >= a_low) & (a <= a_high) & (b >= b_low) & (b <= b_high)
            where = f"{operation} {relation} {edge} for a in [{a_low}, {a_high}], b in [{b_low}, {b_high}]"
            _hold(closed, found, a, b, allowed, passed, where)


def _hold(closed, found, a, b, allowed, passed, where):
    cond = next(e for e in closed.jaxpr.eqns if e.primitive.name == "cond")
    for branch, taken in zip(cond.params["branches"], (allowed & ~passed, allowed & passed), strict=True):
        for eqn, values in zip(branch.jaxpr.eqns, (~a[taken], ~b[taken]), strict=True):
            if not values.size:
                continue
            assert id(eqn) in found, f"{where}: a branch that is taken was called unreachable"
            assert not why_outside(found[id(eqn)][0], values), (
                f"{where}: {found[id(eqn)][0]} loses some of {np.unique(values)}"
            )
    selects = [e for e in closed.jaxpr.eqns if e.params.get("name") == "_where"][-2:]
    zero = np.zeros_like(a)
    for eqn, values in zip(
        selects, (np.where(passed, a, zero)[allowed], np.where(passed, zero, b)[allowed]), strict=True
    ):
        assert not why_outside(found[id(eqn)][0], values), (
            f"{where}: select {found[id(eqn)][0]} loses some of {np.unique(values)}"
        )
