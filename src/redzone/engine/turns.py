"""Short loops gone through one iteration after the other, where an access in them may be outside."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from redzone.domains import Fact, join, settle
from redzone.engine.carried import Carries, met
from redzone.engine.columns import column_facts
from redzone.engine.determined import row_of
from redzone.engine.order import in_turns
from redzone.engine.program import OBSERVE, Program, Step

if TYPE_CHECKING:
    from redzone.engine.forward import Runner


class Turns(NamedTuple):
    """What came of going through a scan one by one."""

    seen: dict[Step, list[Fact]]
    """By access in its body: one fact per indexed dimension, over all iterations."""
    results: dict[int, Fact]
    """What comes out after the last iteration, or is stacked over all."""


def one_by_one(runner: Runner, carries: Carries, feed: Any, given: list[Fact], step: Step, trips: int) -> Turns:
    """Each iteration of a short scan by itself: it starts with what the one before made, and has its own rows."""
    body, shape = step.bodies[0], step.extra
    rows = shape.consts + shape.carry_count
    state = {**carries.now, **{i: carries.first[i] for i in carries.moving}}
    seen: dict[Step, list[Fact]] = {}
    results: dict[int, Fact] = {}
    after: dict[int, Fact] = {}
    for turn in range(trips):
        facts = feed(state)
        for k, (position, _) in enumerate(body.inputs):
            if position >= rows:
                facts[k] = row_of(given[k], trips - 1 - turn if step.eqn.params["reverse"] else turn)
        with in_turns(body, carries.now):
            env = runner.run(body, facts, False)
        after = {i: carries.out(env, i) for i in carries.moving}
        # What an iteration starts with is also what any of them may start with; what is left after the last is not.
        state.update({i: met(carries.now[i], fact) for i, fact in after.items()})
        _look(body, env, seen)
        for i, out in enumerate(step.outs):
            if out >= 0 and i >= shape.carry_count:
                fact = stacked(env[body.outs[i]])
                results[i] = join(results[i], fact) if i in results else fact
    results.update({i: after.get(i, state[i]) for i in carries.places})
    return Turns(seen, results)


def each_that_goes_on(carries: Carries, when: Any, run: Any, trips: int) -> dict[Step, list[Fact]]:
    """The same of a while that ends after so many iterations at most: as long as it can go on."""
    seen: dict[Step, list[Fact]] = {}
    rest = dict(carries.now)
    state = {**rest, **{i: carries.first[i] for i in carries.moving}}
    for _ in range(trips):
        held = when(state, 1)
        if held is None:
            break
        with in_turns(carries.body, rest):
            env = run(held)
        state.update({i: met(rest[i], carries.out(env, i)) for i in carries.moving})
        _look(carries.body, env, seen)
    return seen


def _look(body: Program, env: list[Any], seen: dict[Step, list[Fact]]) -> None:
    """Add to what was seen of a program's accesses what they are in a run with this result."""
    for step in body.steps:
        if step.kind == OBSERVE:
            found = column_facts(body, step, env)
            seen[step] = [join(a, b) for a, b in zip(seen[step], found, strict=True)] if step in seen else found


def stacked(fact: Fact) -> Fact:
    if type(fact.lo) is not np.ndarray:
        return fact
    return settle(fact.lo[None], fact.hi[None], fact.nan)
