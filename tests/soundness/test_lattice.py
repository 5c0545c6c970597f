"""The laws that join, meet, order and widening must keep, checked by what facts contain."""

from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from redzone.domains import Fact, constant, dtype_info, join, joined, leq, meet, summarised, top, widen
from tests.fuzz.containment import why_outside
from tests.soundness.facts import point_inside, random_fact

TYPES = [
    ((), "int32"),
    ((4,), "int32"),
    ((4, 3), "int32"),
    ((4,), "int8"),
    ((4,), "uint32"),
    ((4,), "float32"),
    ((), "bool"),
]
typed = st.sampled_from(TYPES)
seeds = st.integers(0, 2**32)
thorough = settings(max_examples=200, deadline=None, derandomize=True)


def holds(fact: Fact, value: object) -> bool:
    return not why_outside(fact, value)


def some(seed: int, kind: tuple[tuple[int, ...], str]) -> Fact:
    return random_fact(random.Random(seed), *kind)


def points(seed: int, fact: Fact, kind: tuple[tuple[int, ...], str]) -> list[np.ndarray]:
    rng = random.Random(seed)
    made = [point_inside(rng, fact, *kind) for _ in range(8)]
    return [p for p in made if holds(fact, p)]


@thorough
@given(typed, seeds, seeds)
def test_join_contains_both(kind, a, b):
    first, second = some(a, kind), some(b, kind)
    both = join(first, second)
    for fact in (first, second):
        for point in points(a, fact, kind):
            assert holds(both, point), (first, second, both, point)


@thorough
@given(typed, seeds, seeds)
def test_join_does_not_depend_on_the_order(kind, a, b):
    first, second = some(a, kind), some(b, kind)
    one, other = join(first, second), join(second, first)
    assert leq(one, other) and leq(other, one)


@thorough
@given(typed, seeds, seeds)
def test_meet_contains_what_both_contain(kind, a, b):
    first, second = some(a, kind), some(b, kind)
    both = meet(first, second)
    for fact in (first, second):
        for point in points(b, fact, kind):
            if holds(first, point) and holds(second, point):
                assert both is not None and holds(both, point), (first, second, both, point)


@thorough
@given(typed, seeds, seeds)
def test_meet_is_no_larger_than_either_summary(kind, a, b):
    first, second = summarised(some(a, kind)), summarised(some(b, kind))
    both = meet(first, second)
    if both is not None:
        lo, hi = max(first.lo, second.lo), min(first.hi, second.hi)
        # Where only NaN is in both, no bounds say so.
        assert (both.lo >= lo and both.hi <= hi) or (lo > hi and first.nan and second.nan)


@thorough
@given(typed, seeds, seeds)
def test_leq_means_containment(kind, a, b):
    first, second = some(a, kind), some(b, kind)
    if leq(first, second):
        for point in points(a, first, kind):
            assert holds(second, point), (first, second, point)
    assert leq(first, first)
    assert leq(first, join(first, second)) or leq(summarised(first), join(first, second))


@thorough
@given(typed, seeds, seeds)
def test_widening_contains_both(kind, a, b):
    old, new = some(a, kind), some(b, kind)
    wide = widen(old, new, dtype_info(np.dtype(kind[1])), (-1, 0, 1, 4, 100))
    for fact in (old, new):
        for point in points(b, fact, kind):
            assert holds(wide, point), (old, new, wide, point)


@settings(max_examples=60, deadline=None, derandomize=True)
@given(typed, st.lists(seeds, min_size=30, max_size=30))
def test_widening_comes_to_rest(kind, many):
    info = dtype_info(np.dtype(kind[1]))
    fact = some(many[0], kind)
    changes = 0
    for seed in many[1:]:
        after = widen(fact, some(seed, kind), info, (-1, 0, 1, 4))
        if not leq(after, fact):
            changes += 1
        fact = after
    assert changes <= 16, "each bound moves at most once per threshold"


@thorough
@given(typed, seeds)
def test_summary_contains_the_fact(kind, a):
    fact = some(a, kind)
    for point in points(a, fact, kind):
        assert holds(summarised(fact), point)


@thorough
@given(typed, seeds)
def test_top_contains_everything(kind, a):
    for point in points(a, some(a, kind), kind):
        assert holds(top(np.dtype(kind[1])), point)


@thorough
@given(typed, seeds)
def test_a_constant_contains_itself_and_little_else(kind, a):
    for point in points(a, some(a, kind), kind):
        fact = constant(point)
        assert holds(fact, point)
        if kind[1] == "int32" and point.max() < 2**31 - 1:
            assert not holds(fact, point + np.int32(np.ptp(point.astype(np.int64)) % 2**31 + 1))


@thorough
@given(typed, seeds)
def test_contains_agrees_with_an_independent_check(kind, a):
    fact = some(a, kind)
    rng = random.Random(a + 1)
    for other in (fact, random_fact(rng, *kind)):
        for point in points(a, other, kind):
            assert fact.contains(point) == holds(fact, point), (fact, point)


def test_the_join_of_nothing_is_refused():
    with pytest.raises(ValueError, match="no facts"):
        joined([])
