"""Random choices by what was chosen before: selects of selects, tables of codes, sums of conditions, branches by those.

Every input of the contract is tried, alone and in a loop that goes on with what a branch made.
"""

from __future__ import annotations

import collections
import itertools
import random
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from redzone.api import check_traced
from redzone.engine import analyse
from redzone.engine.narrowing import Narrowing
from tests.fuzz.check import traced
from tests.fuzz.exact import Interpreter
from tests.fuzz.generate import Argument
from tests.fuzz.watch import Contradiction, Facts, Watch

CODES, ENDS, ROUNDS = 4, (-1, 4), 3


def _condition(draw: random.Random, numbers: list[Any], depth: int = 0) -> Any:
    a = draw.choice(numbers)
    b = draw.choice([*numbers, draw.randint(-1, 4), draw.randint(0, 3)])
    if depth < 2 and draw.random() < 0.5:
        one, other = (_condition(draw, numbers, depth + 1) for _ in range(2))
        return draw.choice([
            lambda: one & other,
            lambda: one & other,
            lambda: one | other,
            lambda: ~(one & other),
            lambda: jnp.where(_condition(draw, numbers, 2), one, other),
        ])()  # fmt: skip
    return draw.choice([lambda: a < b, lambda: a >= b, lambda: a == b, lambda: a != b, lambda: a <= b])()


def _number(draw: random.Random, numbers: list[Any], code: Any) -> Any:
    table = jnp.array([draw.randint(-1, 3) for _ in range(CODES)])
    a, b = draw.choice(numbers), draw.choice(numbers)
    return draw.choice([
        lambda: table[code],
        lambda: a + table[code],
        lambda: a - b,
        lambda: jnp.minimum(a, b + draw.randint(-1, 1)),
        lambda: jnp.where(_condition(draw, numbers), a, b),
        lambda: a + _condition(draw, numbers),
    ])()  # fmt: skip


def _branch_number(draw: random.Random, numbers: list[Any], code: Any) -> Any:
    conditions = [_condition(draw, numbers) for _ in range(3)]
    others = draw.sample(range(CODES), CODES)
    chosen = others[-1]
    for one, number in zip(conditions, others, strict=False):
        chosen = jnp.where(one, number, chosen)
    return draw.choice([
        lambda: chosen,
        lambda: chosen,
        lambda: jnp.where(conditions[0], code, draw.randint(0, CODES - 1)),
        lambda: jnp.where(conditions[0] & conditions[1], code, draw.randint(0, CODES - 1)),
        lambda: jnp.select(conditions, others[:3], others[3]),
        lambda: conditions[0] * 1 + conditions[1] * 2,
        lambda: conditions[0] + conditions[1].astype(int),
        lambda: jnp.where(conditions[0], jnp.where(conditions[1], 1, 2), jnp.where(conditions[2], code, 0)),
    ])()  # fmt: skip


def _step(own: random.Random, x: Any, code: Any, at: Any, size: int) -> tuple[Any, Any]:
    numbers = [code, at, at]
    numbers += [_number(own, numbers, code) for _ in range(2)]
    number = jnp.asarray(_branch_number(own, numbers, code), jnp.int32)
    reads = [own.choice([at, at, at, at + 1, at - 1, own.choice(numbers)]) for _ in range(CODES)]
    moves = [own.choice([0, 1, -1, 1]) for _ in range(CODES)]
    cases = [lambda i=i, m=m: (x[i], at + m) for i, m in zip(reads, moves, strict=True)]
    if own.random() < 0.3:
        read = x[jnp.select([number == k for k in range(3)], reads[:3], reads[3])]
        return read, jnp.select([number == k for k in range(3)], [at + m for m in moves[:3]], at)
    return lax.switch(number, cases)


def _program(seed: int) -> tuple[Any, tuple[Argument, ...]]:
    draw = random.Random(f"choices:{seed}")
    size, goes_on, state = draw.choice([2, 3, 4, 5]), draw.random() < 0.5, draw.getstate()

    def once(x, code, at):
        own = random.Random()
        own.setstate(state)
        return _step(own, x, code, at, size)

    def in_a_loop(x, codes):
        def body(carry, code):
            read, at = once(x, code, carry[0])
            return (at, carry[1] + read), None

        return lax.scan(body, (jnp.int32(0), 0.0), codes)[0]

    x = Argument((size,), np.dtype("float32"), None, None)
    if goes_on:
        return in_a_loop, (x, Argument((ROUNDS,), np.dtype("int32"), 0, CODES - 1))
    return once, (
        x, Argument((), np.dtype("int32"), 0, CODES - 1), Argument((), np.dtype("int32"), *ENDS)
    )  # fmt: skip


def examine(function: Any, arguments: tuple[Argument, ...], counts: collections.Counter[str]) -> None:
    """Try a program on every input: its facts hold, and what is safe does not leave."""
    closed = jax.make_jaxpr(function)(*(a.struct() for a in arguments))
    subject = traced(closed, arguments)
    report = check_traced(subject)
    counts.update(str(a.verdict) for a in report.accesses)
    facts = Facts(analyse(closed, [i.fact() for i in subject.inputs], everything=True, strict=True).facts)
    interpreter = Interpreter(closed)
    spans = [range(a.low, a.high + 1) for a in arguments[1:] for _ in range(int(np.prod(a.shape)))]
    for numbers in itertools.product(*spans):
        given = [np.zeros(arguments[0].shape, np.float32)]
        if arguments[1].shape:
            given.append(np.array(numbers, np.int32))
        else:
            given += [np.int32(n) for n in numbers]
        interpreter.run(given, Watch(facts, {id(a.eqn): a for a in report.accesses}))


@pytest.mark.parametrize("first", range(0, 160, 40))
def test_choices_of_choices(first):
    counts: collections.Counter[str] = collections.Counter()
    for seed in range(first, first + 40):
        examine(*_program(seed), counts)
    assert counts["safe"] > 20


@pytest.mark.changes_the_engine
def test_a_choice_of_which_one_is_left_out_is_found(monkeypatch):
    """What nothing is chosen from may be: taken for impossible, a branch that runs is never looked at."""
    monkeypatch.setattr(Narrowing, "may_be", lambda self, slot, fact, depth=0: fact.lo != 1)
    with pytest.raises(Contradiction):
        for seed in range(40):
            examine(*_program(seed), collections.Counter())
