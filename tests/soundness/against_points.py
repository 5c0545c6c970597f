"""One equation, many facts, many points: what the rule returns must hold what the equation computes."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from redzone.domains import Fact
from redzone.frontend import compat
from redzone.rules import RULES
from tests.fuzz.containment import why_outside
from tests.fuzz.exact import by_jax, evaluate, is_extended
from tests.soundness.facts import point_inside, random_fact


def operand_facts(rng: random.Random, eqn: Any) -> list[Fact]:
    """A random fact per operand, now and then the same for two; a literal's is what it is."""
    facts = []
    for atom in eqn.invars:
        if isinstance(atom, compat.Literal):
            value = np.asarray(atom.val).item()
            facts.append(Fact(value, value, 0))
        elif facts and rng.random() < 0.15 and _same_type(atom, eqn.invars[len(facts) - 1]):
            facts.append(facts[-1])
        else:
            facts.append(random_fact(rng, atom.aval.shape, atom.aval.dtype))
    return facts


def _same_type(a: Any, b: Any) -> bool:
    return bool(a.aval.shape == b.aval.shape and a.aval.dtype == b.aval.dtype)


def first_failure(eqn: Any, seed: int, rounds: int = 30, points: int = 6) -> str:
    """Empty when the rule held everywhere; else the facts, the point and the value that escaped."""
    rng = random.Random(f"{eqn.primitive.name}:{seed}")
    rule = RULES[eqn.primitive]
    for _ in range(rounds):
        facts = operand_facts(rng, eqn)
        claimed = rule.apply(eqn, *facts)
        claims = claimed if isinstance(claimed, list | tuple) else [claimed]
        for _ in range(points):
            values = [point_inside(rng, f, a.aval.shape, a.aval.dtype) for f, a in zip(facts, eqn.invars, strict=True)]
            if any(why_outside(f, v) for f, v in zip(facts, values, strict=True)):
                continue  # rounding to the dtype moved the point out of its own fact
            for results in _evaluations(eqn, values):
                for claim, result in zip(claims, results, strict=True):
                    trouble = why_outside(claim, result)
                    if trouble:
                        return f"{eqn}\n  facts  {facts}\n  point  {values}\n  gives  {result}\n  but    {trouble}"
    return ""


def _evaluations(eqn: Any, values: list[Any]) -> Iterator[list[Any]]:
    """What the equation gives; with denormals both what IEEE says and what XLA does, which may flush them."""
    with np.errstate(all="ignore"):
        yield evaluate(eqn, values)
        if any(v.dtype == np.float32 and np.any((np.abs(v) < 1e-38) & (v != 0)) for v in values):
            yield by_jax(eqn, values)


def is_checkable(eqn: Any) -> bool:
    """Whether points of this equation's operands can be made and its results looked at."""
    return eqn.primitive in RULES and not any(is_extended(v.aval.dtype) for v in (*eqn.invars, *eqn.outvars))
