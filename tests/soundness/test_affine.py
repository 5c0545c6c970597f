"""Regions of linear constraints against every integer point of a small box."""

from __future__ import annotations

import itertools
import random

import pytest

from redzone.domains.affine import Atom, Linear, Region, tightened

LOW, HIGH = -3, 4


def atoms(rng: random.Random) -> list[Atom]:
    ends = [sorted((rng.randint(LOW, HIGH), rng.randint(LOW, HIGH))) for _ in range(rng.randint(1, 3))]
    return [Atom(f"x{k}", lo, hi) for k, (lo, hi) in enumerate(ends)]


def linear(rng: random.Random, known: list[Atom]) -> Linear:
    terms = {a: rng.choice([-4, -3, -2, -1, 1, 1, 2, 3, 6]) for a in known if rng.random() < 0.7}
    return Linear(rng.randint(-8, 8), terms)


def at(expression: Linear, point: dict[Atom, int]) -> int:
    return expression.const + sum(k * point[a] for a, k in expression.terms.items())


def points(known: list[Atom]) -> list[dict[Atom, int]]:
    spans = [range(a.lo, a.hi + 1) for a in known]
    return [dict(zip(known, values, strict=True)) for values in itertools.product(*spans)]


def holds(region: Region | None, point: dict[Atom, int]) -> bool:
    if region is None:
        return False
    if any(not lo <= point[a] <= hi for a, (lo, hi) in region.box.items()):
        return False
    return all(at(g, point) >= 0 for g in region.guards) and all(at(h, point) != 0 for h in region.holes)


def built(rng: random.Random, known: list[Atom]) -> tuple[Region | None, list[tuple[str, Linear]]]:
    region: Region | None = Region()
    said: list[tuple[str, Linear]] = []
    for _ in range(rng.randint(0, 4)):
        kind = rng.choice(["where", "where", "equal", "but"])
        expression = linear(rng, known)
        said.append((kind, expression))
        if region is None:
            continue
        if kind == "where":
            region = region.where(expression)
        elif kind == "equal":
            region = region.where(expression, -expression)
        else:
            region = region.but(expression)
    return region, said


def true_of(said: list[tuple[str, Linear]], point: dict[Atom, int]) -> bool:
    tests = {"where": lambda n: n >= 0, "equal": lambda n: n == 0, "but": lambda n: n != 0}
    return all(tests[kind](at(expression, point)) for kind, expression in said)


@pytest.mark.parametrize("seed", range(12))
def test_a_region_is_exactly_the_points_its_constraints_allow(seed):
    rng = random.Random(f"regions:{seed}")
    for _ in range(150):
        known = atoms(rng)
        region, said = built(rng, known)
        other, more = built(rng, known)
        both = None if region is None or other is None else region.both(other)
        for point in points(known):
            assert holds(region, point) == true_of(said, point), (said, point)
            assert holds(both, point) == (true_of(said, point) and true_of(more, point)), (said, more, point)


@pytest.mark.parametrize("seed", range(6))
def test_a_point_lies_inside_and_none_means_none(seed):
    rng = random.Random(f"points:{seed}")
    for _ in range(200):
        known = atoms(rng)
        region, said = built(rng, known)
        if region is None:
            continue
        found = region.point()
        inside = [p for p in points(known) if true_of(said, p)]
        if isinstance(found, dict):
            assert all(a.lo <= n <= a.hi for a, n in found.items())
            assert true_of(said, {a: found.get(a, a.lo) for a in known}), (said, found)
        elif found is None:
            assert not inside, (said, inside)


def test_what_no_bound_rules_out_is_tried():
    x, y = Atom("x", 0, 3), Atom("y", 0, 3)
    odd = Linear(-5, {x: 2, y: 4})
    region = Region().where(odd - 1, -odd + 1)
    assert region is not None and isinstance(region.point(), dict)
    region = Region((odd, -odd), {})
    assert region.point() is None


def test_a_box_of_one_value_each_is_still_held_against_the_constraints():
    start, length, k = Atom("start", 0, 10), Atom("length", 0, 10), Atom("k", 0, 5)
    region = Region().where(Linear(-1, {length: 1, k: -1}), Linear(-10, {start: 1, k: 1}))
    assert region is not None
    region = region.where(Linear(10, {start: -1, length: -1}))
    assert region is None or region.point() is None


@pytest.mark.parametrize("seed", range(6))
def test_bounds_hold_everywhere_and_tightening_loses_nothing(seed):
    rng = random.Random(f"bounds:{seed}")
    for _ in range(200):
        known = atoms(rng)
        guards = [linear(rng, known) for _ in range(rng.randint(1, 4))]
        box = tightened(guards, {}, guards)
        expression = linear(rng, known)
        for point in points(known):
            lo, hi = expression.bounds({})
            assert lo <= at(expression, point) <= hi
            if all(at(g, point) >= 0 for g in guards):
                assert box is not None
                assert all(lo <= point[a] <= hi for a, (lo, hi) in box.items())
                lo, hi = expression.bounds(box)
                assert lo <= at(expression, point) <= hi


def test_isl_agrees_with_counting():
    isl = pytest.importorskip("islpy")
    assert isl
    from redzone.prove.presburger import sample

    rng = random.Random("isl")
    for _ in range(150):
        known = atoms(rng)
        region, said = built(rng, known)
        if region is None:
            continue
        found = sample(region)
        plain = [(kind, e) for kind, e in said if kind != "but"]
        if isinstance(found, dict):
            assert true_of(plain, {a: found.get(a, a.lo) for a in known})
        else:
            assert not [p for p in points(known) if true_of(said, p)]


def test_isl_takes_the_numbers_of_wide_integers():
    pytest.importorskip("islpy")
    from redzone.prove.presburger import sample

    t, i = Atom("t", 0, 2**63), Atom("i", -(2**63), 2**64)
    far = Linear(-(2**62), {t: 3, i: -5})
    region = Region().where(far, -far)
    assert region is not None
    found = sample(region)
    assert isinstance(found, dict) and at(far, found) == 0
