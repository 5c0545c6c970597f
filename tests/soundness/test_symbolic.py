"""Symbolic sizes: a verdict for every size holds at each size tried."""

from __future__ import annotations

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export, lax

import redzone
from redzone.domains import Fact, dtype_info, meet
from redzone.domains.symbolic import is_inconclusive, sizes
from redzone.rules import integers
from tests.fuzz.exact import Interpreter
from tests.fuzz.generate import Argument, sample
from tests.fuzz.watch import Watch

SIZES = (1, 2, 3, 4, 7, 16)

# Each takes x of n floats (and i, an index, or k, a vector of indices) and accesses x in places that depend on n.
PROGRAMS = {
    "last": (lambda x, i: x[jnp.asarray(x.shape[0] - 1)], True),
    "one past": (lambda x, i: lax.dynamic_slice(x, (x.shape[0] + i * 0,), (1,)), False),
    "every": (lambda x, i: x[jnp.arange(x.shape[0])], True),
    "every but one too far": (lambda x, i: x[jnp.arange(x.shape[0]) + 1], False),
    "modulo": (lambda x, i: x[i % x.shape[0]], True),
    "clipped": (lambda x, i: x[jnp.clip(i, 0, x.shape[0] - 1)], True),
    "clipped to the size": (lambda x, i: x[jnp.clip(i, 0, x.shape[0])], False),
    "middle": (lambda x, i: x[jnp.asarray(x.shape[0] // 2)], True),
    "mirrored": (lambda x, i: x[x.shape[0] - 1 - jnp.arange(x.shape[0])], True),
    "mirrored from the size": (lambda x, i: x[x.shape[0] - jnp.arange(x.shape[0])], False),
    "loop": (lambda x, i: lax.fori_loop(0, x.shape[0], lambda j, t: t + x[j], 0.0), True),
    "loop too far": (lambda x, i: lax.fori_loop(0, x.shape[0] + 1, lambda j, t: t + x[j], 0.0), False),
    "guarded": (lambda x, i: lax.cond((i >= 0) & (i < x.shape[0]), lambda: x[i], lambda: 0.0), True),
    "guarded by one more": (lambda x, i: lax.cond((i >= 0) & (i <= x.shape[0]), lambda: x[i], lambda: 0.0), False),
    "chosen": (lambda x, i: x[jnp.where(i < x.shape[0], jnp.maximum(i, 0), 0)], True),
    "twice as long": (lambda x, i: jnp.concatenate([x, x])[x.shape[0] + jnp.arange(x.shape[0])], True),
    "padded": (lambda x, i: jnp.pad(x, (0, 1))[jnp.arange(x.shape[0]) + 1], True),
    "window": (lambda x, i: lax.dynamic_slice(x, (jnp.clip(i, 0, x.shape[0] - 1),), (1,)), True),
    "largest": (lambda x, i: x[jnp.argmax(x)], True),
    "sorted": (lambda x, i: x[jnp.argsort(x)], True),
    "scattered": (lambda x, i: x.at[jnp.arange(x.shape[0])].set(0.0), True),
    "flattened": (lambda x, i: jnp.outer(x, x).reshape(-1)[jnp.asarray(x.shape[0] * x.shape[0] - 1)], True),
    "flattened from the start of the last row": (
        lambda x, i: jnp.outer(x, x).reshape(-1)[(x.shape[0] - 1) * x.shape[0] + jnp.arange(x.shape[0])],
        True,
    ),
    "doubled without a wrap": (
        lambda x, i: lax.cond((i >= 0) & (i < 99) & (i + i < x.shape[0]), lambda: x[i + i], lambda: 0.0),
        True,
    ),
    "doubled with a wrap": (
        lambda x, i: lax.cond((i >= 0) & (i + i < x.shape[0]), lambda: x[i + i], lambda: 0.0),
        False,
    ),
    "fourth": (lambda x, i: x[3], False),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_symbolic_verdict_holds_at_every_size(name):
    function, stays_inside = PROGRAMS[name]
    (n,) = export.symbolic_shape("n")
    index = jax.ShapeDtypeStruct((), np.int32)
    report = redzone.check(function, jax.ShapeDtypeStruct((n,), np.float32), index)
    verdicts = [str(a.verdict) for a in report.accesses]
    if not stays_inside:
        assert "unsafe" in verdicts or "unknown" in verdicts or "requires" in verdicts, str(report)
    for size in SIZES:
        _hold_at(function, size, verdicts)


def _hold_at(function, size, verdicts):
    arguments = (Argument((size,), np.dtype("float32")), Argument((), np.dtype("int32")))
    try:
        concrete = redzone.check(function, *(redzone.Spec(a.shape, a.dtype) for a in arguments))
    except redzone.CannotCheck:
        return  # JAX itself finds the constant index out of range at this size
    if len(concrete.accesses) != len(verdicts):
        return  # JAX simplified an access away at this size
    claimed = {id(a.eqn): verdict for a, verdict in zip(concrete.accesses, verdicts, strict=True)}
    rng = random.Random(size)
    interpreter = Interpreter(concrete.jaxpr)
    for _ in range(4):
        watch = Watch(None, {id(a.eqn): a for a in concrete.accesses})
        interpreter.run([sample(rng, a) for a in arguments], watch)
        assert not {"safe"} & {claimed[eqn] for eqn in watch.left}, f"safe for every n, left its array at n = {size}"


def test_most_of_them_are_proved():
    (n,) = export.symbolic_shape("n")
    proved = 0
    for function, stays_inside in PROGRAMS.values():
        if stays_inside:
            specs = (jax.ShapeDtypeStruct((n,), np.float32), jax.ShapeDtypeStruct((), np.int32))
            proved += all(str(a.verdict) == "safe" for a in redzone.check(function, *specs).accesses)
    assert proved >= 14


def test_conditions_on_arrays_of_symbolic_sizes():
    """They are proved, not tried without each of their sides: there is no array to try."""
    (n,) = export.symbolic_shape("n", constraints=("n >= 4",))

    def positions(x, v, i):
        return lax.dynamic_slice(x, (v[i],), (1,)), lax.dynamic_slice(x, (v[2],), (1,))

    table, index = redzone.Spec((10,), "float32"), redzone.Spec((), "int32", min=0, max=3)
    report = redzone.check(positions, table, redzone.Spec((n,), "int32"), index)
    assert [str(c) for c in report.requires] == ["-10 ≤ v ≤ 9"], str(report)


def _symbolic(function, *shapes, dims=(), **contract):
    """A check over named sizes: floats for shapes, then one index under a contract."""
    specs = [redzone.Spec(shape, "float32") for shape in shapes]
    return redzone.check(function, *specs, redzone.Spec((), "int32", **contract), dims=dims)


def test_sizes_that_cannot_be_compared_meet_in_a_branch():
    """What either branch may give is the larger of two sizes, which is no error."""

    def longer(x, y, i):
        return jnp.concatenate([x, y])[jnp.where(i > 0, x.shape[0] - 1, y.shape[0] - 1)]

    report = _symbolic(longer, ("n",), ("m",))
    assert [str(a.verdict) for a in report.accesses] == ["safe"], str(report)


def test_bounds_of_an_access_reached_with_two_sizes_hold_for_both():
    """The second of two ways was once left out of the bounds that a report shows."""

    @jax.jit
    def at(x, k):
        return x[k]

    def twice(x, y, i):
        return at(x, jnp.asarray(y.shape[0] - 1)) + at(x, jnp.asarray(x.shape[0] - 1))

    (access,) = _symbolic(twice, ("n",), ("m",)).accesses
    assert str(access.verdict) != "safe" and "n" in str(access.bounds[0].hi) and "m" in str(access.bounds[0].hi)


def test_remainders_and_quotients_by_a_size():
    def parts(x, i):
        size = jnp.asarray(x.shape[0], np.int32)
        last = jnp.asarray(x.shape[0] - 1, np.int32)
        return x[lax.rem(i, size)], x[lax.div(last, jnp.clip(i, 1, 9))], x[lax.rem(i, size) + 1]

    report = _symbolic(parts, ("n",), min=0)
    verdicts = [str(a.verdict) for a in report.accesses]
    assert verdicts[:2] == ["safe", "safe"] and verdicts[2] != "safe", str(report)


def _rows_and_columns(x):
    n, m = x.shape
    at = jnp.argmax(x.reshape(-1))
    every = jnp.arange(n * m)
    return x[at // m, at % m], x[every // m, every % m], x[lax.div(every, jnp.asarray(m, np.int32)), 0]


def _rows_and_columns_turned_around(x):
    n, m = x.shape
    at = jnp.argmax(x.reshape(-1))
    return x[at // n, at % n], x[(at + m) // m, 0], x[at // jnp.maximum(m - 1, 1), 0]


def test_a_place_in_a_matrix_by_a_quotient_and_a_remainder():
    def verdicts(function):
        return [str(a.verdict) for a in redzone.check(function, redzone.Spec(("n", "m"), "float32")).accesses]

    assert verdicts(_rows_and_columns) == ["safe"] * 3
    assert "safe" not in verdicts(_rows_and_columns_turned_around)


def _wrong_quotient(function):
    """What a quotient of expressions of two sizes says that does not hold at some of them; nothing where it holds."""
    n, m = export.symbolic_shape("n, m")
    info, rng = dtype_info(np.dtype("int32")), random.Random(5)
    ends = (0, 1, 5, -3, n, m, n - 1, m - 1, n * m, n * m - 1, n * m + m - 1, n - m, -n, 2 * m + 1, n * m - m - 1)
    divisors = (1, 2, 7, n, m, m + 1, 2 * n, n * m, n + m)
    with sizes([n, m, n * m]):
        for _ in range(400):
            lo, hi, by, most = rng.choice(ends), rng.choice(ends), rng.choice(divisors), rng.choice(divisors)
            try:
                found = function(Fact(lo, hi), Fact(by, most), info)
            except Exception as error:
                assert is_inconclusive(error)
                continue
            for _ in range(20):
                at = {"n": rng.randint(1, 6), "m": rng.randint(1, 6)}
                low, high, first, last, least, top = (_at(e, at) for e in (lo, hi, by, most, found.lo, found.hi))
                if low <= high and first <= last:
                    a, b = rng.randint(low, high), rng.randint(first, last)
                    quotient = a // b if function is integers.floor_div else int(a / b)
                    if not least <= quotient <= top:
                        return f"[{lo}, {hi}] by [{by}, {most}] at {at}: {a} by {b}, not in {found}"
    return ""


def _at(expression, at):
    return expression if type(expression) is int else int(expression._evaluate(at))


def test_quotients_of_sizes_hold_at_every_size():
    assert not _wrong_quotient(integers.floor_div)
    assert not _wrong_quotient(integers.div)


@pytest.mark.changes_the_engine
def test_quotients_that_are_one_too_small_are_noticed(monkeypatch):
    monkeypatch.setattr(integers, "_floor_of", lambda number, divisor: number // divisor - 1)
    assert _wrong_quotient(integers.floor_div)


def test_lints_of_an_access_with_a_symbolic_size_are_left_out():
    (access,) = _symbolic(lambda x, i: lax.dynamic_slice(x, (i,), (x.shape[0],)), ("n",)).accesses
    assert access.lints == ()


def test_a_quotient_of_many_quotients_is_not_compared():
    """Comparing these took JAX twenty seconds: a bisection halves a size again and again."""
    (n,) = export.symbolic_shape("n")
    half = n // 2
    info = dtype_info(np.dtype("int32"))
    bound = Fact(half // 2 // 2, (half // 2 + half + 1) // 2 + half + 1)
    anything = integers.floor_div(bound, Fact(2, 2, 0), info)
    assert (anything.lo, anything.hi) == (info.min, info.max)
    with sizes([n]):
        plain = integers.floor_div(Fact(half, half, 0), Fact(2, 2, 0), info)
    assert str(plain.hi) == "floordiv(floordiv(n, 2), 2)"


def test_sizes_in_loops_and_promises_that_cannot_be_compared_with_numbers():
    def promised(x, i):
        redzone.assume(i < x.shape[0])
        return x.at[i].get(mode="promise_in_bounds")

    def carried(x):
        start = x.shape[0] - 9
        at, _ = lax.fori_loop(0, 3, lambda k, c: (c[0] * 2, c[1] - 1), (start, 1))
        return x.at[at].get(mode="promise_in_bounds")

    n = export.symbolic_shape("n", constraints=["n >= 8"])[0]
    x, i = jax.ShapeDtypeStruct((n,), np.float32), jax.ShapeDtypeStruct((), np.int32)
    (access,) = redzone.check(promised, x, i).accesses
    assert access.verdict == "requires"
    assert [str(c) for c in access.requires] == ["- n ≤ i"]
    assert "safe" not in [a.verdict for a in redzone.check(carried, x).accesses]


def test_a_padded_array_of_a_size_that_is_surely_small():
    n = export.symbolic_shape("n", constraints=["n >= 4", "n <= 64"])[0]

    def padded(x):
        at = jnp.pad(jnp.arange(x.shape[0]), (0, 1), constant_values=3)
        return x.at[jnp.where(at > 2, at, 0)].get(mode="promise_in_bounds")

    assert redzone.check(padded, jax.ShapeDtypeStruct((n,), np.float32)).accesses[-1].verdict == "safe"


def test_a_known_number_stays_one_beside_a_size() -> None:
    (n,) = export.symbolic_shape("n")
    with sizes([n]):
        known, size = Fact(1, 1, 0), Fact(n - 3, n - 1)
        assert meet(known, size) is known
        assert meet(size, known) is known
        assert meet(Fact(0, 0, 0), Fact(n, n + 1)) is None


@pytest.mark.parametrize(("most", "verdict"), [(128, "safe"), (129, "unknown")])
def test_places_counted_in_a_type_that_may_not_hold_them(most, verdict):
    (n,) = export.symbolic_shape("n", constraints=[f"n <= {most}"])

    def every(x):
        at = lax.iota(jnp.int8, x.shape[0]).astype(jnp.int32)
        return x.at[at].get(mode="promise_in_bounds", wrap_negative_indices=False)

    assert redzone.check(every, jax.ShapeDtypeStruct((n,), np.float32)).accesses[-1].verdict == verdict
