"""Quotients and remainders of numbers some of which are kept apart: what they say holds at points."""

from __future__ import annotations

import random

import numpy as np
import pytest

from redzone.domains import Fact, dtype_info
from redzone.rules import integers
from tests.fuzz.containment import why_outside
from tests.soundness.facts import point_inside, random_fact

SHAPE = (2, 3)


def _truncated(a, b):
    return np.sign(a) * np.sign(b) * (np.abs(a) // np.abs(b))


#: By name: the rule, and what is computed, of divisors other than zero.
OPERATIONS = {
    "modulo": (integers.modulo, lambda a, b: a % b),
    "floor_div": (integers.floor_div, lambda a, b: a // b),
    "rem": (integers.rem, lambda a, b: a - b * _truncated(a, b)),
    "div_kept": (integers.div_kept, _truncated),
}


def _positive(rng):
    """Divisors of which each, or most, are positive, and few far away."""
    low = np.array([rng.choice([1, 2, 3, 5, 8, 40, -2 if rng.random() < 0.05 else 7]) for _ in range(6)], np.int64)
    high = low + np.array([rng.choice([0, 0, 0, 1, 4]) for _ in range(6)])
    kept = low[:3].reshape(1, 3), high[:3].reshape(1, 3)
    return Fact(*kept) if rng.random() < 0.5 else Fact(low.reshape(SHAPE), high.reshape(SHAPE))


def _failure(rule, computed, dtype):
    rng, info = random.Random(str(dtype)), dtype_info(np.dtype(dtype))
    for _ in range(1500):
        a, b = random_fact(rng, SHAPE, dtype), _positive(rng)
        if info.min == 0:
            b = Fact(np.maximum(b.lo, 1), np.maximum(b.hi, 1))
        claim = rule(a, b, info)
        for _ in range(6):
            x, y = (point_inside(rng, f, SHAPE, dtype).astype(np.int64) for f in (a, b))
            if not (y == 0).any() and (trouble := why_outside(claim, computed(x, y).astype(dtype))):
                return f"{a} by {b} at {x.tolist()} and {y.tolist()}: {trouble}"
    return ""


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int16"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_they_say_holds_at_points(name, dtype):
    assert not _failure(*OPERATIONS[name], dtype)


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("end", ["lo", "hi"])
def test_one_short_is_noticed(name, end):
    rule, computed = OPERATIONS[name]

    def short(a, b, info):
        right = rule(a, b, info)
        if not right.kept:
            return right
        return Fact(right.lo + 1, right.hi) if end == "lo" else Fact(right.lo, right.hi - 1)

    assert _failure(short, computed, "int32")


def test_each_by_its_own_divisor():
    each = Fact(np.array([4, 5, 6]), np.array([4, 5, 6]))
    found = integers.modulo(Fact(-(2**31), 2**31 - 1), each, dtype_info(np.dtype(np.int32)))
    assert found.lo.tolist() == [0, 0, 0]
    assert found.hi.tolist() == [3, 4, 5]
    found = integers.floor_div(Fact(-9, 20), each, dtype_info(np.dtype(np.int32)))
    assert found.lo.tolist() == [-3, -2, -2]
    assert found.hi.tolist() == [5, 4, 3]
