"""The exact interpreter says what JAX says: every NumPy evaluation against JAX's own, equation by equation."""

from __future__ import annotations

import os
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from tests.fuzz.exact import Interpreter, Silent, TooLong, by_jax, evaluate, has_numpy_rule, is_extended
from tests.fuzz.generate import make, sample
from tests.soundness.catalogue import entries, equations
from tests.soundness.facts import point_inside, random_fact

# JAX compiles each of these once, so the dtypes and shapes that follow the same NumPy code are left out.
ALIKE = (
    "int16",
    "float16",
    "uint8",
    "[4]",
    "uint32 to",
    "float32 CLIP",
    "float32 PROMISE",
    "bool CLIP",
    "bool PROMISE",
)
ENTRIES = {e[0]: e for e in entries() if not any(part in e[0] for part in ALIKE)}
if not os.environ.get("REDZONE_THOROUGH"):
    ENTRIES = dict(list(ENTRIES.items())[::4])


def same(a, b) -> bool:
    """Equal bit for bit, sums of floats up to their order."""
    a, b = np.asarray(a), np.asarray(b)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return np.allclose(a, b, equal_nan=True) if a.dtype.kind == "f" else np.array_equal(a, b)


@pytest.mark.parametrize("label", ENTRIES)
def test_numpy_agrees_with_jax(label):
    rng = random.Random(label)
    for eqn in equations(ENTRIES[label]):
        if not has_numpy_rule(eqn):
            continue
        for _ in range(6):
            values = [
                point_inside(rng, random_fact(rng, a.aval.shape, a.aval.dtype), a.aval.shape, a.aval.dtype)
                for a in eqn.invars
            ]
            with np.errstate(all="ignore"):
                ours, theirs = evaluate(eqn, values), by_jax(eqn, values)
            assert all(same(a, b) for a, b in zip(ours, theirs, strict=True)), (eqn, values, ours, theirs)


@pytest.mark.parametrize("seed", range(3))
def test_a_whole_program_agrees_with_jax(seed):
    program = make(seed)
    closed = program.trace()
    rng = random.Random(seed)
    args = [sample(rng, a) for a in program.arguments]
    try:
        ours = Interpreter(closed).run(args, Silent())
    except TooLong:
        pytest.skip("does not terminate on this input")
    theirs = jax.core.eval_jaxpr(closed.jaxpr, closed.consts, *args)
    for a, b in zip(ours, theirs, strict=True):
        if is_extended(a.dtype):
            continue
        if np.asarray(a).dtype.kind in "biu":
            assert same(a, b)


class _Seen(Silent):
    def __init__(self) -> None:
        self.values: dict[str, list] = {}

    def visit(self, eqn, outvals) -> None:
        self.values.setdefault(eqn.primitive.name, []).extend(np.asarray(v).tolist() for v in outvals)


def seen(function, *args) -> dict[str, list]:
    observer = _Seen()
    Interpreter(jax.make_jaxpr(function)(*args)).run([np.asarray(a) for a in args], observer)
    return observer.values


def test_every_iteration_is_seen():
    values = seen(lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 2, 0), np.int32(5))
    assert values["add"] == [2, 4, 6]
    values = seen(
        lambda x: lax.scan(lambda c, v: (c + v, c * v), np.int32(0), x, reverse=True),
        np.arange(1, 4, dtype=np.int32),
    )
    assert values["add"] == [3, 5, 6]
    assert values["mul"] == [0, 6, 5]


def test_only_the_branch_taken_is_seen():
    def branches(i):
        return lax.switch(i, [lambda: i + 1, lambda: i * 3, lambda: i - 7])

    assert "mul" in seen(branches, np.int32(1)) and "add" not in seen(branches, np.int32(1))
    assert seen(branches, np.int32(9))["sub"] == [2], "the branch number is clamped"


def test_finished_lanes_keep_their_values():
    limits = np.array([0, 3, 1], np.int32)
    observer = _Seen()
    closed = jax.make_jaxpr(jax.vmap(lambda n: lax.while_loop(lambda i: i < n, lambda i: i + 1, 0)))(limits)
    (last,) = Interpreter(closed).run([limits], observer)
    assert last.tolist() == [0, 3, 1]
    assert observer.values["add"] == [[1, 1, 1], [1, 2, 2], [1, 3, 2]], "finished lanes run, their results unused"


def test_a_run_without_end_is_stopped():
    with pytest.raises(TooLong):
        seen(lambda n: lax.while_loop(lambda i: i == i, lambda i: i + 1, n), np.int32(0))


def stayed_inside(closed, args) -> bool:
    """Whether every access of a run stayed inside."""
    answers: list[bool] = []

    class Watching(Silent):
        def access(self, eqn, windows, outval):
            answers.append(bool(windows.inside.all()))
            return outval

    Interpreter(closed).run([np.asarray(a) for a in args], Watching())
    return all(answers)


X = np.arange(12, dtype=np.float32).reshape(4, 3)
I32 = np.int32


@pytest.mark.parametrize(
    ("function", "args", "expected"),
    [
        (lambda x, i: x[i], (X, I32(3)), True),
        (lambda x, i: x[i], (X, I32(-1)), True),
        (lambda x, i: x[i], (X, I32(4)), False),
        (lambda x, i: x[i], (X, I32(-5)), False),
        (lambda x, i: lax.dynamic_slice(x, (i, i), (2, 2)), (X, I32(1)), True),
        (lambda x, i: lax.dynamic_slice(x, (i, i), (2, 2)), (X, I32(2)), False),
        (lambda x, i: lax.dynamic_update_slice(x, jnp.ones((4, 1)), (0, i)), (X, I32(2)), True),
        (lambda x, i: lax.dynamic_update_slice(x, jnp.ones((4, 1)), (0, i)), (X, I32(3)), False),
        (lambda x, i: x[i, 1], (X, np.array([0, 3], I32)), True),
        (lambda x, i: x[1, i], (X, np.array([0, 3], I32)), False),
        (lambda x, i: x.at[i].set(0.0), (X, np.array([0, 4], I32)), False),
        (lambda x, i: x.at[:, i].add(1.0), (X, np.array([0, 2], I32)), True),
        (lambda x, i: jax.vmap(lambda r, j: r[j])(x, i), (X, np.array([0, 1, 2, 2], I32)), True),
        (lambda x, i: jax.vmap(lambda r, j: r[j])(x, i), (X, np.array([0, 1, 2, 3], I32)), False),
        (lambda x, i: jax.vmap(lambda r, j: r.at[j].set(0.0))(x, i), (X, np.array([0, 1, 3, 2], I32)), False),
        (lambda x, i: jnp.take_along_axis(x, i, axis=0), (X, np.array([[3, 0, 3]], I32)), True),
        (lambda x, i: jnp.take_along_axis(x, i, axis=1), (X, np.full((4, 1), 3, I32)), False),
        (lambda x, i: x[i], (X, np.uint8(255)), False),
    ],
)
def test_windows_are_judged_as_xla_defines_them(function, args, expected):
    assert stayed_inside(jax.make_jaxpr(function)(*args), args) == expected


def test_numpy_raises_exactly_where_a_window_leaves():
    """An oracle nobody here wrote: NumPy's own IndexError, for the same indexing expression."""
    rng = random.Random(0)
    x = np.arange(12, dtype=np.float32).reshape(4, 3)
    expressions = [
        lambda a, i, j: a[i],
        lambda a, i, j: a[i, j],
        lambda a, i, j: a[:, j],
        lambda a, i, j: a[..., i],
        lambda a, i, j: a[i][j],
    ]
    for expression in expressions:
        closed = {}
        for _ in range(60):
            shape = rng.choice([(), (3,)])
            i, j = (
                np.array([rng.randint(-6, 6) for _ in range(int(np.prod(shape)))], I32).reshape(shape) for _ in "ij"
            )
            if shape not in closed:
                closed[shape] = jax.make_jaxpr(lambda a, i, j: expression(a, i, j))(x, i, j)  # noqa: B023
            try:
                expression(x, i, j)
                expected = True
            except IndexError:
                expected = False
            assert stayed_inside(closed[shape], [x, i, j]) == expected, (i, j)
