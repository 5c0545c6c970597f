"""Running a program again yields what running it anew does."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import pytest
from jax import lax

from redzone import twins

if twins.in_use():
    pytest.skip("nothing can be derived from the compiled engine", allow_module_level=True)

from redzone.domains import scalar, top
from redzone.engine.forward import Runner
from tests.fuzz import anew

pytestmark = pytest.mark.sources


@pytest.mark.parametrize("first", range(7_000_000, 7_000_120, 30))
def test_same_facts(first):
    looked_at, found = anew.failures(first, 30)
    assert looked_at > 20
    assert found == []


class Stale(Runner):
    """Takes over what its changed inputs do reach."""

    def changed_steps(self, *args):
        pass


def test_what_is_stale_is_seen():
    def counted(x, n):
        return lax.fori_loop(0, n, lambda k, s: s + x[2 * k + 1], 0.0)

    closed = jax.make_jaxpr(counted)(jax.ShapeDtypeStruct((99,), jnp.float32), jax.ShapeDtypeStruct((), jnp.int32))
    facts = [top(closed.in_avals[0].dtype), scalar(7)]
    assert anew.facts_at_accesses(closed, facts, anew.Anew) == anew.facts_at_accesses(closed, facts, Runner)
    assert anew.facts_at_accesses(closed, facts, anew.Anew) != anew.facts_at_accesses(closed, facts, Stale)
