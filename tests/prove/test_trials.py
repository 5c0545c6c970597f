"""Runs under conditions: what was asked is not asked again, and other conditions are not taken for these."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from redzone.domains import Fact, top
from redzone.engine import analyse
from redzone.prove.trials import Trials

INT = jax.ShapeDtypeStruct((), jnp.int32)
TABLE = jax.ShapeDtypeStruct((100,), jnp.float32)


def reading(table: Any, i: Any, j: Any) -> Any:
    """One access by i alone, one by both."""
    first = lax.dynamic_slice(table, (i * 2,), (1,))
    return first + lax.dynamic_slice(table, (lax.max(i, jnp.int32(0)) + lax.max(j, jnp.int32(0)),), (1,))


def trials() -> tuple[Trials, list[Fact], list[int]]:
    closed = jax.make_jaxpr(reading)(TABLE, INT, INT)
    facts = [top(v.dtype) for v in closed.in_avals]
    analysis = analyse(closed, facts)
    return Trials(analysis, facts), facts, list(analysis.inventory.sites)


def test_an_access_is_asked_once_about_the_inputs_that_matter_to_it() -> None:
    tried, (table, _, j), (first, second) = trials()
    assert tried.matters_to(first) == {1}
    assert tried.matters_to(second) == {1, 2}
    assert tried.under([table, Fact(0, 49), j], [first])[first].inside
    visits = tried.visits
    assert tried.under([table, Fact(0, 49), Fact(0, 5)], [first])[first].inside
    assert tried.visits == visits
    assert tried.under([table, Fact(0, 49), Fact(0, 5)], [second])[second].inside
    assert tried.visits > visits


def test_without_conditions_nothing_is_run() -> None:
    tried, facts, (first, _) = trials()
    assert not tried.under(facts, [first])[first].inside
    assert not tried.under([facts[0], facts[1], Fact(0, 5)], [first])[first].inside
    assert tried.visits == 0


def test_what_a_stronger_condition_proved_is_not_believed_under_a_weaker_one() -> None:
    tried, (table, i, j), sites = trials()
    first, second = sites
    strong = tried.under([table, Fact(0, 49), Fact(0, 5)], sites)
    assert strong[first].inside and strong[second].inside
    for given, inside in (
        ([table, Fact(0, 49), j], {first}),
        ([table, Fact(0, 60), Fact(0, 5)], {second}),
        ([table, i, Fact(0, 5)], set()),
        ([table, Fact(0, 49), Fact(0, 5)], {first, second}),
    ):
        assert {site for site, outcome in tried.under(given, sites).items() if outcome.inside} == inside
