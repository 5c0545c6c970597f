"""vmap of what throws away what it reads outside throws it away too; of what does not, not."""

from __future__ import annotations

import collections

import jax
import numpy as np
import pytest
from jax import lax

import redzone
from tests.cases import CASES, lanes, masked

#: What is read at places that are the same in every lane, beside conditions that are not.
BEYOND = {"first_of_a_padded_row"}
BATCH = 3


def _verdicts(function, arguments, *, lanes=()):
    specs = [redzone.Spec((*lanes, *a.shape), a.dtype, min=a.low, max=a.high) for a in arguments]
    return collections.Counter(str(access.verdict) for access in redzone.check(function, *specs).accesses)


def _cases():
    named = (masked.__name__, lanes.__name__)
    found = [c for c in CASES if c.runs and c.function.__module__ in named and c.function.__name__ not in BEYOND]
    return [c for c in found if all(np.ndim(a.low) == np.ndim(a.high) == 0 for a in c.arguments)]


@pytest.mark.parametrize("case", _cases(), ids=lambda c: c.name)
def test_a_batch_is_as_its_lanes_are(case):
    alone = _verdicts(case.function, case.arguments)
    batch = _verdicts(jax.vmap(case.function), case.arguments, lanes=(BATCH,))
    findings = ("requires", "unsafe", "unknown")
    if alone["masked"]:
        assert sum(batch[v] for v in findings) <= sum(alone[v] for v in findings), f"{alone} → {batch}"
    if alone["unsafe"]:
        assert any(batch[v] for v in findings), f"{alone} → {batch}"


def test_rows_that_call_one_function_in_a_loop_and_outside():
    """JAX 0.12 gives both calls one body, and one access; before it each has its own."""

    def program(x, starts, lengths):
        redzone.assume(starts + lengths <= 12)
        look = jax.jit(lambda at: x[at])

        def one(start, length):
            return lax.fori_loop(0, length, lambda k, total: total + look(start + k), 0.0)

        return jax.vmap(one)(starts, lengths) + jax.vmap(look)(starts + lengths)

    numbers = redzone.Spec((BATCH,), "int32", min=0, max=12)
    report = redzone.check(program, redzone.Spec((12,), "float32"), numbers, numbers)
    assert {str(access.verdict) for access in report.accesses} in ({"masked", "unsafe"}, {"unsafe"})
