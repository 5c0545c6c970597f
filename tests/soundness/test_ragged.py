"""Random loops under vmap of which each lane ends by itself, with promises between inputs; some lanes see each other.

Every input of the contract is tried: what is safe leaves its array in no lane, and of what is masked nothing shows.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.prove import element_loops, trials, violations
from tests.fuzz.check import check_traced, traced
from tests.fuzz.exact import Interpreter, TooLong
from tests.fuzz.generate import Argument
from tests.fuzz.watch import Contradiction, Tamper, Watch

LANES, LONGEST = 2, 3
GARBAGE = (1.0, -7.0, float("nan"))
#: What is put in place of what was read outside where it may say how often a loop runs: what its array may hold.
ELEMENTS = (1.0, 0.0, 9.0)
RELATIONS = {
    "ends inside": lambda start, length, n: start + length <= n,
    "ends inside or one further": lambda start, length, n: start + length <= n + 1,
    "starts before its length": lambda start, length, n: start <= length,
}


def _index(draw: random.Random, numbers: list[Any], depth: int = 0) -> Any:
    if depth > 2 or draw.random() < 0.3:
        return draw.choice(numbers)
    a, b = (_index(draw, numbers, depth + 1) for _ in range(2))
    return draw.choice([
        lambda: a + b,
        lambda: a - b,
        lambda: a + b,
        lambda: jnp.minimum(a, b),
        lambda: jnp.maximum(a, b),
        lambda: jnp.where(a < b, a, b + 1),
        lambda: jnp.clip(a - b, 0, 8),
    ])()  # fmt: skip


def _program(seed: int) -> tuple[Any, tuple[Argument, ...], Any]:
    draw = random.Random(seed)
    n, step, shared = draw.choice([1, 2, 3, 4, 6]), draw.choice([1, 1, 2]), draw.random() < 0.3
    by_size, most = draw.random() < 0.3, draw.choice([None, 2, 5])
    name = draw.choice([None, "ends inside", *RELATIONS])
    relation = None if name is None else RELATIONS[name]
    promised_in_lanes, state = draw.random() < 0.5, draw.getstate()

    def lane(x, start, length):
        own = random.Random()
        own.setstate(state)
        if relation is not None and promised_in_lanes:
            redzone.assume(relation(start, length, n))

        def goes_on(carry):
            going = (carry[1] if by_size else carry[0]) < length
            return going if most is None else going & (carry[0] < most)

        def body(carry):
            at, size, total = carry
            numbers = [at, at, start, length, size, jnp.int32(1)]
            if shared:
                both = lax.all_gather(at, "lanes")
                numbers += [both[0], both[0] - both[1], jnp.clip(both[1] - both[0], 0, 20), lax.psum(at, "lanes")]
            index = start + at if own.random() < 0.3 else jnp.asarray(_index(own, numbers), jnp.int32)
            return at + step, size * 2, total + x[index]

        return lax.while_loop(goes_on, body, (jnp.int32(0), jnp.int32(1), 0.0))[2]

    def program(x, starts, lengths):
        if relation is not None and not promised_in_lanes:
            redzone.assume(relation(starts, lengths, n))
        return jax.vmap(lane, in_axes=(None, 0, 0), axis_name="lanes")(x, starts, lengths)

    low = draw.choice([-1, 0])
    integers = Argument((LANES,), np.dtype("int32"), low, low + 3), Argument((LANES,), np.dtype("int32"), 0, LONGEST)
    return program, (Argument((n,), np.dtype("float32"), None, None), *integers), relation


def _program_with_loops(seed: int) -> tuple[Any, tuple[Argument, ...], Any]:
    """Loops inside of the lanes' own, some of which go on as long as what was read says."""
    draw = random.Random(f"inside:{seed}")
    n, state = draw.choice([1, 2, 3, 4]), draw.getstate()
    relation = draw.choice([None, RELATIONS["ends inside"], RELATIONS["ends inside"]])

    def lane(x, start, length):
        own = random.Random()
        own.setstate(state)

        def body(carry):
            at, total = carry
            read = x[own.choice([start + at, start + at, at, start + length - at])]
            end = own.choice([read, read * 2, jnp.minimum(read, 3), 2 + 0 * read, at, length]).astype(np.int32)
            more = own.choice([
                lambda: lax.fori_loop(0, end, lambda k, t: t + k, 0),
                lambda: lax.while_loop(lambda c: c[0] < c[1], lambda c: (c[0] + 1, c[1]), (0, end))[0],
                lambda: jax.jit(lambda last: lax.fori_loop(0, last, lambda k, t: t + read, 0.0))(end),
                lambda: lax.scan(lambda t, k: (t + k * end, None), 0, jnp.arange(2))[0],
                lambda: lax.cond(end > 2, lambda: end, lambda: 1),
                lambda: lax.fori_loop(0, 2, lambda k, t: lax.while_loop(lambda i: i < end, lambda i: i + 1, t), 0),
                *[lambda: _until_read(x, start + at)] * (relation is not None),
            ])()  # fmt: skip
            return at + 1, total + more

        return lax.while_loop(lambda carry: carry[0] < length, body, (jnp.int32(0), 0.0))[1]

    def program(x, starts, lengths):
        if relation is not None:
            redzone.assume(relation(starts, lengths, n))
        return jax.vmap(lane, in_axes=(None, 0, 0))(x, starts, lengths)

    integers = Argument((LANES,), np.dtype("int32"), 0, 3), Argument((LANES,), np.dtype("int32"), 0, LONGEST)
    return program, (Argument((n,), np.dtype("float32"), 0, 9), *integers), relation


def _until_read(x: Any, at: Any) -> Any:
    """Counts up to the next place, which `x` holds: of another element it may never come to an end."""
    end = x[at].astype(np.int32)
    return lax.while_loop(lambda i: i != end, lambda i: i + 1, at)


def _inputs(arguments: tuple[Argument, ...], relation: Any) -> Iterator[list[Any]]:
    """Every input of the contract that keeps what the program promises."""
    (n,) = arguments[0].shape
    spans = [range(a.low, a.high + 1) for a in arguments[1:] for _ in range(LANES)]
    for numbers in itertools.product(*spans):
        starts, lengths = np.array(numbers, np.int32).reshape(2, LANES)
        if relation is None or np.all(relation(starts, lengths, n)):
            yield [np.arange(1, n + 1, dtype=np.float32), starts, lengths]


def examine(function: Any, arguments: tuple[Argument, ...], relation: Any, garbage: tuple[float, ...] = GARBAGE) -> int:
    """Try a program on every input; how often something masked was outside, of which nothing showed.

    Nor was that any longer than a run may be.
    """
    closed = jax.make_jaxpr(function)(*(a.struct() for a in arguments))
    report = check_traced(traced(closed, arguments))
    kept, shown = [a for a in report.accesses if a.verdict in ("safe", "masked")], 0
    interpreter = Interpreter(closed)
    for given in _inputs(arguments, relation) if kept else ():
        watch = Watch(None, {id(a.eqn): a for a in report.accesses})
        interpreter.run(given, watch)
        for access in kept:
            if id(access.eqn) in watch.left:
                shown += 1
                first, *others = [interpreter.run(given, Tamper(id(access.eqn), one)) for one in garbage]
                for other in others:
                    np.testing.assert_array_equal(first, other, err_msg=f"{access.message} {given[1:]}")
    return shown


def _places_of_all(x, starts, lengths):
    """An index with as many rows as there are lanes, and no lanes: the row outside is not that of a lane at rest."""
    lengths = redzone.assume(lengths, max=np.array([LONGEST, 0]))

    def lane(length):
        return lax.fori_loop(0, length, lambda k, total: total + x[jnp.arange(LANES) * 6].sum(), 0.0)

    return jax.vmap(lane)(lengths)


def _of_places_of_all() -> int:
    integers = [Argument((LANES,), np.dtype("int32"), 0, LONGEST)] * 2
    arguments = (Argument((6,), np.dtype("float32"), None, None), *integers)
    return examine(_places_of_all, arguments, lambda start, length, n: length <= [LONGEST, 0])


@pytest.mark.parametrize("first", range(0, 240, 80))
def test_lanes_that_end_by_themselves(first):
    assert sum(examine(*_program(seed)) for seed in range(first, first + 80)), "nothing masked was ever outside"


def test_loops_inside_of_lanes_that_end_by_themselves():
    programs = map(_program_with_loops, range(40))
    assert sum(examine(*one, garbage=ELEMENTS) for one in programs), "nothing masked was ever outside"


def test_what_has_as_many_rows_as_there_are_lanes():
    assert _of_places_of_all() == 0


@pytest.mark.changes_the_engine
def test_lanes_that_count_on_are_found(monkeypatch):
    """The seed is the first that shows it."""
    monkeypatch.setattr(element_loops, "lanes_of", lambda context: 0)
    with pytest.raises(Contradiction, match="safe left its array"):
        examine(*_program(77))


@pytest.mark.changes_the_engine
def test_rows_taken_for_lanes_are_found(monkeypatch):
    monkeypatch.setattr(violations, "of_operand", lambda *_: (0,))
    with pytest.raises(AssertionError, match="results are thrown away"):
        _of_places_of_all()


@pytest.mark.changes_the_engine
def test_loops_that_lanes_at_rest_keep_going_are_found(monkeypatch):
    """The seed is the first that shows it."""
    monkeypatch.setattr(trials, "decides_rounds", lambda *_: False)
    with pytest.raises(TooLong):
        examine(*_program_with_loops(25), garbage=ELEMENTS)
