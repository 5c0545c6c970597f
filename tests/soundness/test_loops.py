"""Loops over a byte, against every state they can reach.

A byte has 256 values, so what a loop's carry can be in any iteration is found by trying them all; the
facts claimed in the body and after the loop must contain it, whether or not the loop ends.
"""

from __future__ import annotations

import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.domains import Fact
from redzone.engine import analyse
from tests.fuzz.containment import why_outside

RELATIONS = {"<": lax.lt, "≤": lax.le, ">": lax.gt, "≥": lax.ge, "=": lax.eq, "≠": lax.ne}


def _at(value: int, like: Any) -> Any:
    return np.array(value % 256, np.uint8).astype(like.dtype)


UPDATES = {
    "c + 1": lambda c, f: c + _at(1, c),
    "c + 3": lambda c, f: c + _at(3, c),
    "c - 1": lambda c, f: c - _at(1, c),
    "c - 2": lambda c, f: c - _at(2, c),
    "c + 100": lambda c, f: c + _at(100, c),
    "c * 2": lambda c, f: c * _at(2, c),
    "c * 2 + 1": lambda c, f: c * _at(2, c) + _at(1, c),
    "c // 2": lambda c, f: c // _at(2, c),
    "not c": lambda c, f: lax.bitwise_not(c),
    "9 - c": lambda c, f: _at(9, c) - c,
    "c + flag": lambda c, f: c + f.astype(c.dtype),
    "c - flag": lambda c, f: c - f.astype(c.dtype),
    "flag ? c + 2 : c": lambda c, f: jnp.where(f, c + _at(2, c), c),
    "flag ? c + 2 : c - 1": lambda c, f: jnp.where(f, c + _at(2, c), c - _at(1, c)),
    "flag ? 0 : c + 1": lambda c, f: jnp.where(f, _at(0, c), c + _at(1, c)),
    "c > 5 ? 0 : c + 1": lambda c, f: jnp.where(c > _at(5, c), _at(0, c), c + _at(1, c)),
    "min(c + 1, 9)": lambda c, f: jnp.minimum(c + _at(1, c), _at(9, c)),
    "max(c - 1, 2)": lambda c, f: jnp.maximum(c - _at(1, c), _at(2, c)),
    "(c + 1) % 7": lambda c, f: (c + _at(1, c)) % _at(7, c),
    "c + 1 & 7": lambda c, f: (c + _at(1, c)) & _at(7, c),
    "c xor 5": lambda c, f: c ^ _at(5, c),
    "flag and c < 9 ? c + 1 : c": lambda c, f: jnp.where(f & (c < _at(9, c)), c + _at(1, c), c),
    "cond c < 9 ? c + 2 : 1": lambda c, f: lax.cond(c < _at(9, c), lambda: c + _at(2, c), lambda: _at(1, c) + c * 0),
    "c >> 1": lambda c, f: lax.shift_right_arithmetic(c, _at(1, c)),
}
STARTS = {
    "int8": [(0, 0), (-3, 3), (100, 127), (-128, 127), (5, 5)],
    "uint8": [(0, 0), (0, 3), (200, 255), (0, 255), (5, 5)],
}
LIMITS = {"int8": (0, 9, -1, 127, -128), "uint8": (0, 9, 1, 255, 128)}


class Seen:
    """Where in a traced loop the carry shows: an equation of the body that flips its bits."""

    def __init__(self, closed: Any, loop: str, body: str) -> None:
        self.closed = closed
        self.loop = next(e for e in closed.jaxpr.eqns if e.primitive.name == loop)
        inner = self.loop.params[body]
        inner = getattr(inner, "jaxpr", inner)
        self.mark = next(e for e in inner.eqns if e.primitive.name == "not")


@functools.cache
def steps_of(update: str, dtype: str) -> np.ndarray:
    """For each value (as a byte) and each flag, the next value (as a byte)."""
    every = np.arange(256).astype(np.uint8).astype(dtype)
    after = [jax.jit(jax.vmap(UPDATES[update], (0, None)))(every, np.bool_(flag)) for flag in (False, True)]
    return np.stack([np.asarray(a).astype(np.uint8) for a in after])


def start_set(dtype: str, low: int, high: int) -> np.ndarray:
    every = np.arange(256).astype(np.uint8).astype(dtype).astype(int)
    return (every >= low) & (every <= high)


def values_in(states: np.ndarray, dtype: str) -> np.ndarray:
    return np.flatnonzero(states).astype(np.uint8).astype(dtype)


def following(states: np.ndarray, update: str, dtype: str) -> np.ndarray:
    after = np.zeros(256, bool)
    for table in steps_of(update, dtype):
        after[table[states]] = True
    return after


def holds(fact: Fact, states: np.ndarray, dtype: str, flipped: bool, where: str) -> None:
    values = values_in(states, dtype)
    trouble = why_outside(fact, ~values if flipped else values) if values.size else ""
    assert not trouble, f"{where}: {trouble}"


@functools.cache
def scan_of(update: str, dtype: str, length: int) -> Seen:
    def program(c, flags):
        def body(carry, flag):
            seen = lax.bitwise_not(carry)
            return UPDATES[update](carry, flag), seen

        return lax.scan(body, c, flags)

    specs = jax.ShapeDtypeStruct((), np.dtype(dtype)), jax.ShapeDtypeStruct((length,), np.bool_)
    return Seen(jax.make_jaxpr(program)(*specs), "scan", "jaxpr")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("update", UPDATES)
def test_a_scan_reaches_what_is_claimed(update, dtype):
    for length in (1, 2, 3, 6, 150):
        seen = scan_of(update, dtype, length)
        for low, high in STARTS[dtype]:
            facts = analyse(
                seen.closed, [Fact(low, high, 0 if low == high else 1), Fact(0, 1)], everything=True, strict=True
            ).facts
            now = reached = start_set(dtype, low, high)
            for _ in range(length - 1):
                now = following(now, update, dtype)
                reached = reached | now
            last = following(now, update, dtype)
            where = f"{length} times {update} from [{low}, {high}]"
            holds(facts[id(seen.mark)][0], reached, dtype, True, where)
            holds(facts[id(seen.loop)][0], last, dtype, False, f"{where}, after")
            holds(facts[id(seen.loop)][1], reached, dtype, True, f"{where}, collected")


@functools.cache
def while_of(update: str, dtype: str, relation: str) -> Seen:
    """The flag is one bit of a number that is scrambled in every iteration: either, as far as can be told."""

    def program(c, k, noise):
        def body(carry):
            kept, _, bits = carry
            flag = (lax.shift_right_logical(bits, np.uint32(16)) & np.uint32(1)) == 1
            return UPDATES[update](kept, flag), lax.bitwise_not(kept), bits * np.uint32(1103515245) + np.uint32(12345)

        return lax.while_loop(lambda carry: RELATIONS[relation](carry[0], k), body, (c, jnp.zeros_like(c), noise))

    scalar = jax.ShapeDtypeStruct((), np.dtype(dtype))
    return Seen(jax.make_jaxpr(program)(scalar, scalar, jax.ShapeDtypeStruct((), np.uint32)), "while", "body_jaxpr")


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
@pytest.mark.parametrize("update", UPDATES)
def test_a_while_reaches_what_is_claimed(update, dtype):
    every = np.arange(256).astype(np.uint8).astype(dtype)
    for relation, compare in RELATIONS.items():
        seen = while_of(update, dtype, relation)
        for limit in LIMITS[dtype]:
            goes = np.asarray(compare(every, np.full_like(every, np.array(limit).astype(dtype))))
            for low, high in STARTS[dtype][:: 1 if relation == "<" else 2]:
                given = [Fact(low, high, 0 if low == high else 1), Fact(limit, limit, 0), Fact(0, 2**32 - 1)]
                facts = analyse(seen.closed, given, everything=True, strict=True).facts
                reached, entered = start_set(dtype, low, high), np.zeros(256, bool)
                while True:
                    going = reached & goes
                    if (going == entered).all():
                        break
                    entered = going
                    reached = reached | following(going, update, dtype)
                where = f"while c {relation} {limit}: {update} from [{low}, {high}]"
                if entered.any():
                    assert id(seen.mark) in facts, f"{where}: a body that runs was called unreachable"
                    holds(facts[id(seen.mark)][0], entered, dtype, True, where)
                holds(facts[id(seen.loop)][0], reached & ~goes, dtype, False, f"{where}, after")
