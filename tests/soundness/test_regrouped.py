"""What XLA makes of quotients of quotients and of constants in a row, compiled as one, lies within the facts.

An interpreter, equation by equation, does not see this: only the compiled program groups them anew.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import jax
import numpy as np
import pytest

from redzone.engine import analyse, closer, origins, regrouped, reordered
from redzone.engine import slice as slicing
from redzone.frontend import compat
from redzone.frontend.trace import Input

SIZES = (1e-38, 1e-30, 1e-20, 1e-10, 0.3, 1.0, 3.0, 1e5, 1e10, 1e20, 1e30, 1e38)
Numbers = tuple[float, float]


def _in_a_loop(a: Any, b: Any, c: Any) -> Any:
    part = a / b
    return jax.lax.scan(lambda _, __: (part / c, None), a, None, length=3)[0]


#: By name: a program, and the one number that each of its arguments is.
PROGRAMS: dict[str, tuple[Callable[..., Any], tuple[float, ...]]] = {
    "a / b / c": (lambda a, b, c: a / b / c, (1e-30, 1e-30, 1e-30)),
    "what is the same in each iteration": (_in_a_loop, (1e-30, 1e-30, 1e-30)),
    "a / (b / c)": (lambda a, b, c: a / (b / c), (1e30, 1e30, 1e30)),
    "(a / b) / (c / d)": (lambda a, b, c, d: (a / b) / (c / d), (1e30, 1e25, 1e10, 1e20)),
    "constants too large": (lambda a: a / 1e-20 * 1e20, (1e-19,)),
    "constants too small": (lambda a: a * 1e-20 * 1e-20, (1e30,)),
    "a constant lost in another": (lambda a: (a - 1e5) + 0.001, (1e5,)),
    "constants added": (lambda a: (a + 2e38) + 2e38, (-2.5e38,)),
}


def outside(program: Callable[..., Any], ranges: list[Numbers], points: list[Any]) -> list[float]:
    """The results of a compiled program that its last fact leaves out."""
    closed = jax.make_jaxpr(program)(*[jax.ShapeDtypeStruct((), np.float32)] * len(ranges))
    jaxpr, _ = compat.open_jaxpr(closed)
    given = [Input(str(v), v.aval, low, high).fact() for v, (low, high) in zip(jaxpr.invars, ranges, strict=True)]
    last = jaxpr.eqns[-1]
    fact = analyse(closed, given, everything=True, strict=True).facts[id(last)][0]
    results = np.asarray(jax.jit(jax.vmap(program))(*points), np.float64)
    within = (results >= fact.lo) & (results <= fact.hi) | (np.isnan(results) & fact.nan)
    return results[~within].tolist()


def _at(name: str) -> list[float]:
    program, numbers = PROGRAMS[name]
    singles = [np.float32(n) for n in numbers]
    return outside(program, [(float(n), float(n)) for n in singles], [np.full(2, n) for n in singles])


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_number_for_each(name):
    assert not _at(name)


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("name", PROGRAMS)
def test_it_would_not_as_written(name, monkeypatch):
    monkeypatch.setattr(slicing, "note_regrouped", lambda *_: None)
    monkeypatch.setattr(closer, "reordered", lambda *_: None)
    for primitive, look in closer.CLOSER.items():
        monkeypatch.setitem(closer.CLOSER, primitive, (lambda *_: None) if look is reordered.reordered else look)
    assert _at(name)


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("name", ["a / b / c", "a / (b / c)", "(a / b) / (c / d)"])
def test_products_that_are_never_large_or_small(name, monkeypatch):
    monkeypatch.setattr(regrouped.Product, "is_large", lambda *_: False)
    monkeypatch.setattr(regrouped.Product, "is_small", lambda *_: False)
    assert _at(name)


@pytest.mark.changes_the_engine
def test_nothing_comes_from_outside_a_loop(monkeypatch):
    monkeypatch.setattr(origins.Origins, "may_be_made_by", lambda *_: False)
    assert _at("what is the same in each iteration")


def _random(seed: int) -> tuple[Callable[..., Any], list[Numbers]]:
    """A chain of quotients, products and sums of three numbers and constants, all of any size."""
    rng = random.Random(f"regrouped:{seed}")
    kinds = [(rng.choice("****////+-"), rng.randrange(5), rng.choice(SIZES), rng.random() < 0.5) for _ in range(4)]
    ranges = []
    for _ in range(3):
        low = np.float32(rng.choice(SIZES) * rng.choice([1, 1, 1, -1]))
        ranges.append((float(low), float(low)))

    def program(*args: Any) -> Any:
        now = args[0]
        for kind, which, number, turned in kinds:
            other = args[which] if which < 3 else np.float32(number)
            one, two = (other, now) if turned else (now, other)
            now = one * two if kind == "*" else one / two if kind == "/" else one + two if kind == "+" else one - two
        return now

    return program, ranges


@pytest.mark.parametrize("part", range(4))
def test_random_chains(part):
    for seed in range(60 * part, 60 * part + 60):
        program, ranges = _random(seed)
        assert not outside(program, ranges, [np.full(2, low, np.float32) for low, _ in ranges]), seed
