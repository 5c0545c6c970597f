"""What a step says it reads is all that it reads: with everything else taken away, it finds out the same.

`Step.reads` decides which inputs matter to a condition proved together with others, and what is computed again
when an input changes, so a slot missing from it would make a `requires` too weak.
"""

from __future__ import annotations

import collections

import jax
import numpy as np
import pytest
from jax import lax

from redzone.engine import analyse
from redzone.engine.columns import column_facts
from redzone.engine.forward import Runner
from redzone.engine.program import OBSERVE, SCAN, WHILE, Step
from tests.cases import structure
from tests.fuzz.check import traced
from tests.fuzz.generate import Argument, make

SEEDS = 40


def behind(program, slots):
    """Everything that some slots are made from, by what each step says it reads."""
    found, waiting = set(), list(slots)
    while waiting:
        slot = waiting.pop()
        if slot not in found:
            found.add(slot)
            step = program.defs.get(slot)
            waiting += step.reads() if step is not None else ()
    return found


def outcome_of(program, env, step):
    """What one step finds out in an environment, as something to compare."""
    if step.kind == OBSERVE:
        return [fact.key() for fact in column_facts(program, step, env)]
    Runner(lambda *_: None, collections.Counter(), strict=True).step(program, env, step, None)
    return [None if out < 0 or env[out] is None else env[out].key() for out in step.outs]


def unread(context):
    """The steps of a run that find out something else once what they do not read is gone."""
    program, wrong = context.program, []
    for step in program.steps:
        needed = behind(program, step.reads())
        bare = [f if s in needed or program.template[s] is not None else None for s, f in enumerate(context.env)]
        try:
            same = outcome_of(program, bare, step) == outcome_of(program, context.env.copy(), step)
        except (AttributeError, TypeError):
            same = False
        if not same:
            wrong.append(step)
    return wrong


def wrong_steps(monkeypatch, closed, facts):
    contexts = []
    right = Runner.recorded
    with monkeypatch.context() as patch:
        patch.setattr(Runner, "recorded", lambda self, c: (contexts.append((c, list(c.env))), right(self, c))[1])
        analyse(closed, facts)
    found = []
    for context, env in contexts[:12]:
        context.env = env
        found += unread(context) if not context.program.assumptions else []
    return found, sum(len(c.program.steps) for c, _ in contexts)


def facts_of(closed, arguments):
    return [i.fact() for i in traced(closed, arguments).inputs]


@pytest.mark.changes_the_engine
@pytest.mark.parametrize("first", range(0, SEEDS, 10))
def test_steps_of_random_programs_read_what_they_say(monkeypatch, first):
    looked = 0
    for seed in range(first, first + 10):
        program = make(seed)
        try:
            closed = program.trace()
        except (TypeError, ValueError):
            continue
        wrong, steps = wrong_steps(monkeypatch, closed, facts_of(closed, program.arguments))
        assert not wrong, [str(s.eqn) for s in wrong]
        looked += steps
    assert looked > 50


WEIGHTS, SHARES = Argument((4,), np.dtype("float32"), 0.0, 9.0), Argument((3,), np.dtype("float32"), 0.0, 1.0)


def missing(monkeypatch, closed, facts, kind):
    """The steps found wrong when steps of a kind say that they read their operands alone."""
    right = Step.reads
    monkeypatch.setattr(Step, "reads", lambda self: self.ins if self.kind == kind else right(self))
    return wrong_steps(monkeypatch, closed, facts)[0]


@pytest.mark.changes_the_engine
def test_a_search_reads_the_share_it_looks_for(monkeypatch):
    arguments = (Argument((4,), np.dtype("float32")), WEIGHTS, SHARES)
    closed = jax.make_jaxpr(structure.share_of_the_last)(*(a.struct() for a in arguments))
    facts = facts_of(closed, arguments)
    assert wrong_steps(monkeypatch, closed, facts)[0] == []
    assert missing(monkeypatch, closed, facts, SCAN) or missing(monkeypatch, closed, facts, WHILE)


@pytest.mark.changes_the_engine
def test_an_offset_is_read_with_the_size_beside_it(monkeypatch):
    """A ragged exchange: each offset is judged with its size added."""

    def exchange(operand, output, offsets, sizes, out_offsets, out_sizes):
        return lax.ragged_all_to_all(operand, output, offsets + 1, sizes, out_offsets, out_sizes, axis_name="x")

    rows, table = jax.ShapeDtypeStruct((1, 8), np.float32), jax.ShapeDtypeStruct((1, 1), np.int32)
    exchanged = jax.vmap(exchange, axis_name="x")
    try:
        closed = jax.make_jaxpr(exchanged)(rows, rows, table, table, table, table)
    except NotImplementedError:
        closed = jax.make_jaxpr(exchange, axis_env=[("x", 1)])(*(_row(s) for s in (rows, rows, *[table] * 4)))
    arguments = tuple(Argument(tuple(v.aval.shape), v.aval.dtype) for v in closed.jaxpr.invars)
    facts = facts_of(closed, arguments)
    assert wrong_steps(monkeypatch, closed, facts)[0] == []
    assert missing(monkeypatch, closed, facts, OBSERVE)


def _row(struct):
    return jax.ShapeDtypeStruct(struct.shape[1:], struct.dtype)
