"""Random programs with assumptions: every run that keeps them stays inside the facts and the verdicts."""

from __future__ import annotations

import itertools
import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.api import check_traced
from redzone.engine import analyse
from tests.fuzz.check import traced
from tests.fuzz.exact import Interpreter
from tests.fuzz.generate import Argument
from tests.fuzz.watch import Facts, Watch

LOW, HIGH = -4, 6
INTEGER = Argument((), np.dtype("int32"), LOW, HIGH)
TABLE = Argument((5,), np.dtype("float32"), 0.0, 1.0)


def value(rng: random.Random, known: list[Any]) -> Any:
    a, b, k = rng.choice(known), rng.choice(known), rng.randint(-3, 5)
    return rng.choice(
        [
            lambda: a + k,
            lambda: a - b,
            lambda: a * 2,
            lambda: jnp.maximum(a, k),
            lambda: jnp.where(a < k, a, b),
            lambda: a // 2,
            lambda: a % 3,
            lambda: abs(a),
            lambda: a,
        ]
    )()


def condition(rng: random.Random, known: list[Any], depth: int = 2) -> Any:
    if depth and rng.random() < 0.5:
        one, other = condition(rng, known, depth - 1), condition(rng, known, depth - 1)
        return rng.choice([one & other, one & other, one | other, ~one])
    a, b = rng.choice(known), rng.choice([*known, rng.randint(-3, 5)])
    return rng.choice([a < b, a <= b, a > b, a >= b, a == b, a != b])


def promise(rng: random.Random, known: list[Any]) -> None:
    form = rng.random()
    if form < 0.6:
        redzone.assume(condition(rng, known))
    elif form < 0.8:
        known.append(redzone.assume(rng.choice(known), min=rng.randint(-4, 1), max=rng.randint(2, 6)))
    else:
        known.append(redzone.assume(rng.choice(known), where=condition(rng, known)))


def block(rng: random.Random, x: Any, known: list[Any], depth: int) -> Any:
    total = 0.0
    for _ in range(rng.randint(2, 4)):
        known.append(value(rng, known))
        if rng.random() < 0.5:
            promise(rng, known)
        total += x[rng.choice(known)] if rng.random() < 0.4 else 0.0
        if depth and rng.random() < 0.5:
            total += nested(rng, x, known, depth - 1)
    return total + x[rng.choice(known)]


def nested(rng: random.Random, x: Any, known: list[Any], depth: int) -> Any:
    seeds = [rng.random() for _ in range(2)]

    def inner(seed: float) -> Any:
        return lambda extra=0: block(random.Random(seed), x, [*known, jnp.int32(extra) + known[0]], depth)

    kind = rng.choice(["cond", "scan", "while", "jit", "vmap"])
    if kind == "cond":
        return lax.cond(condition(rng, known), inner(seeds[0]), inner(seeds[1]))
    if kind == "scan":
        return lax.scan(lambda c, k: (c + inner(seeds[0])(k), None), 0.0, jnp.arange(3))[0]
    if kind == "while":
        start, stop = rng.choice(known), rng.choice(known)
        return lax.while_loop(lambda c: c[0] < stop, lambda c: (c[0] + 1, c[1] + inner(seeds[0])(c[0])), (start, 0.0))[
            1
        ]
    if kind == "jit":
        return jax.jit(inner(seeds[0]))()
    return jax.vmap(inner(seeds[0]))(jnp.arange(2)).sum()


@pytest.mark.parametrize("seed", range(60))
def test_runs_that_keep_their_promises(seed):
    def program(x, i, j):
        return block(random.Random(f"assume:{seed}"), x, [i, j], 2 if seed % 3 else 0)

    arguments = (TABLE, INTEGER, INTEGER)
    closed = jax.make_jaxpr(program)(*(a.struct() for a in arguments))
    subject = traced(closed, arguments)
    report = check_traced(subject)
    facts = analyse(closed, [i.fact() for i in subject.inputs], everything=True, strict=True).facts
    accesses = {id(a.eqn): a for a in report.accesses}
    interpreter = Interpreter(closed)
    table = np.linspace(0, 1, 5, dtype="float32")
    pairs = list(itertools.product(range(LOW, HIGH + 1), repeat=2))
    for pair in random.Random(seed).sample(pairs, 40):
        args = [table, *(np.int32(n) for n in pair)]
        if interpreter.breaks_a_promise(args) is False:
            interpreter.run(args, Watch(Facts(facts), accesses))
    for access in report.accesses:
        if access.witness is not None:
            assert not interpreter.breaks_a_promise([np.asarray(a) for a in access.witness.arguments])


def test_they_say_something():
    """The programs above are no empty exercise: assumptions decide some of their accesses."""

    arguments = (TABLE, INTEGER, INTEGER)

    def verdicts(promised):
        def program(x, i, j):
            if promised:
                redzone.assume((i >= 0) & (i + j <= 4) & (j >= 0))
            return x[i] + x[j]

        closed = jax.make_jaxpr(program)(*(a.struct() for a in arguments))
        return [str(a.verdict) for a in check_traced(traced(closed, arguments)).accesses]

    assert verdicts(True) == ["safe", "safe"]
    assert verdicts(False) == ["unsafe", "unsafe"]
