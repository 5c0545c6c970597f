"""A witness leaves the array in the compiled program, too, where floats lead to the index."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import redzone
from redzone.prove import compiled, witness
from redzone.prove.fused import Fused

X = redzone.Spec((5,), "float32")
C = np.float32(1.1) * np.float32(1.1)


#: By name: an index, and what it is made from. What the compiler puts together decides whether it is 9 or 0.
INDICES = {
    "a product in a difference": (lambda a: jnp.where(a * a - C == 0, 9, 0), np.float32(1.1)),
    "the root of a square": (lambda a: jnp.where(jnp.sqrt(a * a) > 1e31, 9, 0), np.float32(1e30)),
}


def verdict(name):
    index, number = INDICES[name]
    given = redzone.Spec((), "float32", min=float(number), max=float(number))
    (access,) = redzone.check(lambda x, a: x[index(a)], X, given).accesses
    return str(access.verdict)


@pytest.mark.parametrize("name", INDICES)
def test_it_is_what_the_compiled_program_does(name):
    index, number = INDICES[name]
    assert verdict(name) == ("unknown" if int(jax.jit(index)(number)) == 0 else "unsafe")


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("name", INDICES)
def test_equation_by_equation_it_leaves(name, monkeypatch):
    monkeypatch.setattr(witness, "leaves_compiled", lambda *_: True)
    assert verdict(name) == "unsafe"


def greatest_in_a_loop(number):
    """The greatest index below, where the loop is compiled: 1.8 * 1.5 + 0.3 is 3 if the product is not rounded."""
    state = (number, 0)
    step = lambda s: (s[0] * 1.5 + np.float32(0.3), jnp.maximum(s[1], s[0].astype(int)))  # noqa: E731
    return int(jax.jit(lambda state: jax.lax.while_loop(lambda s: s[0] < 3, step, state))(state)[1])


def in_a_loop(x, a):
    step = lambda s: (s[0] * 1.5 + np.float32(0.3), s[1] + x[s[0].astype(int)])  # noqa: E731
    return jax.lax.while_loop(lambda s: s[0] < 3, step, (a, 0.0))


@pytest.mark.parametrize(("low", "high"), [(1.0, 1.0), (0.5, 1.0), (1.25, 1.25)])
def test_a_product_in_a_sum_in_a_loop(low, high):
    given = redzone.Spec((), "float32", min=low, max=high)
    (access,) = redzone.check(in_a_loop, redzone.Spec((2,), "float32"), given).accesses
    if low == high:
        assert str(access.verdict) == ("unsafe" if greatest_in_a_loop(np.float32(low)) > 1 else "unknown")
    if access.witness is not None:
        assert greatest_in_a_loop(access.witness.arguments[1]) > 1


@pytest.mark.changes_the_engine
def test_each_product_rounded_it_leaves_in_a_loop(monkeypatch):
    monkeypatch.setattr(Fused, "leaves", lambda *_: True)
    given = redzone.Spec((), "float32", min=1.0, max=1.0)
    (access,) = redzone.check(in_a_loop, redzone.Spec((2,), "float32"), given).accesses
    assert access.verdict == "unsafe"


def through_a_call(x, a):
    add = jax.jit(lambda product: jax.lax.stop_gradient(product) + np.float32(0.3))
    step = lambda s: (add(s[0] * 1.5), s[1] + x[s[0].astype(int)])  # noqa: E731
    return jax.lax.while_loop(lambda s: s[0] < 3, step, (a, 0.0))


def added_up(x, a):
    step = lambda s: (s[0] + np.float32(1.5), s[1] + x[s[0].astype(int)])  # noqa: E731
    return jax.lax.while_loop(lambda s: s[0] < 3, step, (a, 0.0))


@pytest.mark.changes_the_engine
@pytest.mark.parametrize(("program", "runs_again"), [(in_a_loop, True), (through_a_call, True), (added_up, False)])
def test_a_second_run_only_where_a_product_goes_into_a_sum(program, runs_again, monkeypatch):
    ran, leaves = [], Fused.leaves
    monkeypatch.setattr(Fused, "leaves", lambda *args: ran.append(args) or leaves(*args))
    given = redzone.Spec((), "float32", min=1.0, max=1.0)
    redzone.check(program, redzone.Spec((2,), "float32"), given)
    (access,) = redzone.check(program, redzone.Spec((1,), "float32"), given).accesses
    assert access.verdict == "unsafe"
    assert bool(ran) is runs_again


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("program", [in_a_loop, through_a_call])
def test_products_that_are_overlooked_show_a_way_that_there_is_not(program, monkeypatch):
    given = redzone.Spec((), "float32", min=1.0, max=1.0)
    specs = redzone.Spec((2,), "float32"), given
    assert redzone.check(program, *specs).accesses[0].verdict != "unsafe"
    monkeypatch.setattr(compiled, "puts_together", lambda *_: False)
    assert redzone.check(program, *specs).accesses[0].verdict == "unsafe"


def test_an_access_in_a_function_that_is_called():
    def program(x, a):
        return jax.jit(lambda a: x[(a * 3.0 + 2.0).astype(int)])(a)

    (access,) = redzone.check(program, X, redzone.Spec((), "float32", min=0.0, max=3.0)).accesses
    assert access.verdict == "unsafe"
    assert access.witness.index == (11,)


def two_in_a_loop(x, y, a):
    def step(s):
        at = s[0].astype(int)
        return s[0] * 1.5 + np.float32(0.3), s[1] + x[at] + y[at]

    return jax.lax.while_loop(lambda s: s[0] < 3, step, (a, 0.0))


@pytest.mark.parametrize(
    ("sizes", "leave"), [((2, 1), (False, True)), ((1, 1), (True, True)), ((2, 2), (False, False))]
)
def test_each_of_two_accesses_is_told_by_itself(sizes, leave):
    given = redzone.Spec((), "float32", min=1.0, max=1.0)
    arrays = [redzone.Spec((size,), "float32") for size in sizes]
    accesses = redzone.check(two_in_a_loop, *arrays, given).accesses
    assert tuple(access.verdict == "unsafe" for access in accesses) == leave


@pytest.mark.changes_the_engine
def test_one_second_run_for_all_accesses_that_leave(monkeypatch):
    ran, attempt = [], Fused.attempt
    monkeypatch.setattr(Fused, "attempt", lambda self, given: ran.append(len(self.targets)) or attempt(self, given))
    given = redzone.Spec((), "float32", min=1.0, max=1.0)
    accesses = redzone.check(two_in_a_loop, *[redzone.Spec((1,), "float32")] * 2, given).accesses
    assert [access.verdict for access in accesses] == ["unsafe", "unsafe"]
    assert ran == [2]


@pytest.mark.changes_the_engine
def test_a_run_that_was_too_short_for_all_is_made_again_for_each(monkeypatch):
    leaves = Fused.leaves
    monkeypatch.setattr(
        Fused,
        "leaves",
        lambda self, site, given, cost=8000: leaves(self, site, given, 1 if len(self.targets) > 1 else cost),
    )
    given = redzone.Spec((), "float32", min=1.0, max=1.0)
    accesses = redzone.check(two_in_a_loop, *[redzone.Spec((size,), "float32") for size in (2, 1)], given).accesses
    assert [access.verdict == "unsafe" for access in accesses] == [False, True]
