"""64-bit integers: every rule at points where NumPy's own int64 arithmetic would wrap unnoticed."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.api import check_traced
from redzone.domains import Fact
from redzone.engine import analyse
from tests.fuzz.check import traced
from tests.fuzz.exact import Interpreter
from tests.fuzz.generate import Argument
from tests.fuzz.watch import Watch
from tests.soundness.against_points import first_failure, is_checkable
from tests.soundness.catalogue import equations, wide_entries

ENTRIES = {entry[0]: entry for entry in wide_entries()}


@pytest.mark.parametrize("label", ENTRIES)
def test_rule_holds_at_points(label):
    with jax.enable_x64(True):
        for eqn in equations(ENTRIES[label]):
            if is_checkable(eqn):
                assert not first_failure(eqn, seed=0, rounds=20, points=4)


def test_a_select_of_numbers_beyond_int64():
    with jax.enable_x64(True):
        table = np.arange(5, dtype=np.uint64)
        closed = jax.make_jaxpr(lambda v, k: lax.select(jnp.arange(5) > k, table, v))(
            jax.ShapeDtypeStruct((5,), np.uint64), jax.ShapeDtypeStruct((), np.int64)
        )
        found = analyse(closed, [Fact(0, 2**64 - 1), Fact(2, 2, 0)], everything=True).facts
        (chosen,) = found[id(closed.jaxpr.eqns[-1])]
        assert np.min(chosen.lo) >= 0 and np.max(chosen.hi) == 2**64 - 1


def test_a_ref_is_judged_by_the_index_that_reaches_it():
    def bump(x, i):
        ref = jax.new_ref(x)
        ref[i] += 1.0
        return ref[...]

    with jax.enable_x64(True):
        arguments = (Argument((4,), np.dtype("float32")), Argument((), np.dtype("uint64")))
        closed = jax.make_jaxpr(bump)(*(a.struct() for a in arguments))
        report = check_traced(traced(closed, arguments))
        watch = Watch(None, {id(a.eqn): a for a in report.accesses})
        Interpreter(closed).run([np.zeros(4, np.float32), np.uint64(2**64 - 1)], watch)
    assert len(watch.left) == 2


def test_a_product_of_doubles_that_is_not_rounded_yet():
    """XLA takes 1 from the exact product, which is above 1, and not from the 1 that it is rounded to."""
    with jax.enable_x64(True):
        closed = jax.make_jaxpr(lambda a, b: ((a * b - 1.0) * 2.0**60).astype(jnp.int32))(
            *[jax.ShapeDtypeStruct((), np.float64)] * 2
        )
        most, below = 1 + 2.0**-52, 1 - 2.0**-53
        found = analyse(closed, [Fact(1.0, most), Fact(below, below, 0)], everything=True).facts
        (fact,) = found[id(closed.jaxpr.eqns[-1])]
        assert fact.contains(np.int32((most - 1) * 2.0**60 / 2 - 1))
