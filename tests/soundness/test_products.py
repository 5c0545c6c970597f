"""Sums of a product that something else may read too: compiled as one, no access that is safe leaves its array."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone.engine import kept, products

pytestmark = pytest.mark.sources

N, TOP, RUNS = 8, 10, 120


def _helper(a, b):
    return a * b


_jitted = jax.jit(_helper)


@jax.jit
def _large(a, b, c):
    for _ in range(25):
        c = c + jnp.sin(c) * 0.0
    return a * b


def _once(a, b, c):
    return lax.scan(lambda k, _: (a * b + c, None), c, None, length=1)[0]


def _while_once(a, b, c):
    return lax.while_loop(lambda s: s[0] < 2, lambda s: (s[0] + 2, a * b + c), (0, c))[1]


def _sharded(a, b, c):
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("i",))
    spec = jax.sharding.PartitionSpec()
    return jax.shard_map(lambda a, b, c: a * b + c, mesh=mesh, in_specs=spec, out_specs=spec)(a, b, c)


def _or_three(a):
    return jnp.nan_to_num(a, nan=3.0)


# Each is a * b + c to the compiler, which takes the product for the one that is read elsewhere.
AGAIN = {
    "a sum of one term": lambda a, b, c: (a * b + c)[:, None].sum(1),
    "a product summed up alone": lambda a, b, c: (a * b)[:, None].sum(1) + c,
    "sorted alone": lambda a, b, c: jnp.sort((a * b + c)[:, None], axis=1)[:, 0],
    "a running sum of one": lambda a, b, c: jnp.cumsum((a * b + c)[:, None], axis=1)[:, 0],
    "put beside each other and summed up": lambda a, b, c: jnp.stack([a * b, c]).sum(0),
    "put beside each other, running": lambda a, b, c: jnp.cumsum(jnp.stack([a * b, c]), 0)[1],
    "the greatest of two beside each other": lambda a, b, c: jnp.stack([a * b + c, c * 0 - 1e6]).max(0),
    "repeated and summed up": lambda a, b, c: jnp.broadcast_to(a * b + c, (4, N)).sum(0) / 4,
    "a window of one": lambda a, b, c: lax.reduce_window(a * b + c, -jnp.inf, lax.max, (1,), (1,), "VALID"),
    "behind a barrier": lambda a, b, c: lax.optimization_barrier(a * b + c),
    "times a matrix of one": lambda a, b, c: ((a * b)[:, None] @ jnp.ones((1, 1)))[:, 0] + c,
    "a convolution with one": lambda a, b, c: lax.conv((a * b + c)[None, None], jnp.ones((1, 1, 1)), (1,), "VALID")[
        0, 0
    ],
    "written to all places": lambda a, b, c: jnp.zeros(N).at[:].set(a * b + c),
    "added to all places": lambda a, b, c: c.at[:].add(a * b),
    "cut in two and joined": lambda a, b, c: jnp.concatenate([(a * b)[:4], (a * b)[4:]]) + c,
    "chosen by a constant": lambda a, b, c: jnp.where(jnp.ones(N, bool), a * b, c) + c,
    "chosen by a place": lambda a, b, c: jnp.where(jnp.arange(N) < N, a * b, c) + c,
    "part of a complex number": lambda a, b, c: lax.complex(a * b, c).real + c,
    "in other bits": lambda a, b, c: (
        lax.bitcast_convert_type(lax.bitcast_convert_type(a * b, jnp.int32), jnp.float32) + c
    ),
    "limited by infinity": lambda a, b, c: jnp.maximum(a * b, -jnp.inf) + c,
    "the greater of itself": lambda a, b, c: jnp.maximum(a * b, a * b) + c,
    "beside itself": lambda a, b, c: jnp.nextafter(a * b + c, a * b + c),
    "times one": lambda a, b, c: a * b * jnp.ones(N) + c,
    "halved and doubled": lambda a, b, c: a * b * 0.5 * 2 + c,
    "by the inverse": lambda a, b, c: a / (1 / b) + c,
    "the other sign": lambda a, b, c: c - (-a) * b,
    "by a function": lambda a, b, c: _jitted(b, a) + c,
    "by a large function": lambda a, b, c: _large(a, b, c) + c + 0.0 * _large(a, b, c + 1),
    "by factors with nothing added": lambda a, b, c: (a + 0.0) * lax.switch(1, [lambda: -b, lambda: b]) + c,
    "by factors turned about twice": lambda a, b, c: jnp.roll(jnp.roll(a, 3), -3) * b + c,
    "nothing added in between": lambda a, b, c: (a * b + 0.0) + c,
    "the other part of a complex number": lambda a, b, c: lax.complex(c, a * b + c).imag,
    "by one function that is called again and again": lambda a, b, c: _or_three(a * b + c),
    "rematerialised": jax.checkpoint(lambda a, b, c: a * b + c),
    "in a loop that runs once": _once,
    "in a while that runs once": _while_once,
    "in a loop that is unrolled": lambda a, b, c: lax.scan(lambda k, _: (a * b + c, None), c, None, length=2, unroll=2)[
        0
    ],
    "after a loop that never runs": lambda a, b, c: lax.scan(lambda k, _: (k + c, None), a * b, None, length=0)[0] + c,
    "in a branch that is taken": lambda a, b, c: lax.cond(True, lambda: a * b + c, lambda: c),
    "in a shard": _sharded,
    "times a flag": lambda a, b, c: (c > -1e3).astype(jnp.float32) * (a * b) + c,
    "times a flag that is computed anew": lambda a, b, c: (a * b + c > 5).astype(jnp.float32) * c + c,
    "a flag over an inverse": lambda a, b, c: (a > -1e3) / (1 / a / b) + c,
}
# And these are not, or there is no such product elsewhere.
ALONE = {
    "a product of something else": lambda a, b, c: (a * b + c, c * c),
    "another constant": lambda a, b, c: (a * 3.3 + c, a * 1.7),
    "limited": lambda a, b, c: (jnp.clip(a * b, -1e3, 1e3) + c, a * b),
    "sorted": lambda a, b, c: (jnp.sort(a * b + c), a * b),
}


def _program(sums_of):
    def program(x, a, b, c):
        sums, product = sums_of(a, b, c)
        ok = jnp.all((sums >= 0) & (sums < TOP))
        at = jnp.where(ok, jnp.floor(jnp.minimum(sums, jnp.sin(product) + 20)).astype(jnp.int32), 0)
        return lax.map(lambda i: lax.dynamic_slice(x, (i,), (1,), allow_negative_indices=False), at), at

    return program


def _verdict(program):
    numbers = redzone.Spec((N,), "float32", min=-100.0, max=100.0)
    report = redzone.check(program, redzone.Spec((TOP,), "float32"), numbers, numbers, numbers)
    return str(report.accesses[-1].verdict)


def _leaves(program):
    """Whether the index leaves the array in any of many runs near its end, compiled as one."""
    rng, compiled = np.random.default_rng(0), jax.jit(program)
    for run in range(RUNS):
        a, b = (rng.uniform(-10, 10, N).astype(np.float32) for _ in range(2))
        wanted = np.full(N, TOP) if run % 3 == 0 else rng.uniform(0, 9.9, N)
        wanted[run % N] = TOP
        product = (a * b if run % 2 else a.astype(np.float64) * b).astype(np.float64)
        at = np.asarray(compiled(np.ones(TOP, np.float32), a, b, (wanted - product).astype(np.float32))[1])
        if at.min() < 0 or at.max() >= TOP:
            return True
    return False


@pytest.mark.parametrize("sums", AGAIN.values(), ids=AGAIN)
def test_a_product_that_is_read_elsewhere(sums):
    assert _verdict(_program(lambda a, b, c: (sums(a, b, c), a * b))) == "unknown"


@pytest.mark.parametrize("name", ["a sum of one term", "by a function", "times one", "in a loop that runs once"])
def test_it_leaves_its_array_there(name):
    """If the compiler should no longer do so, what is made of that can be taken back."""
    assert _leaves(_program(lambda a, b, c: (AGAIN[name](a, b, c), a * b)))


@pytest.mark.parametrize("sums", ALONE.values(), ids=ALONE)
def test_a_product_of_its_own(sums):
    program = _program(sums)
    assert _verdict(program) == "safe"
    assert not _leaves(program)


def _in_a_loop(times, carried, keep=lambda sums: sums):
    """The sum is made before a loop, which looks at it and reads by it: the compiler looks before, where it is new."""

    def program(x, a, b, c):
        sums, product = keep(a * b + c), a * b

        def read(sums):
            ok = jnp.all((sums >= 0) & (sums < TOP))
            at = jnp.where(ok, jnp.floor(jnp.minimum(sums, jnp.sin(product) + 20)).astype(jnp.int32), 0)
            return lax.map(lambda i: lax.dynamic_slice(x, (i,), (1,), allow_negative_indices=False), at)[:, 0], at

        def body(carry, _):
            kept, total = carry
            found, at = read(kept if carried else sums)
            return (kept, total + found), at

        (_, total), at = lax.scan(body, (sums, jnp.zeros(N)), None, length=times)
        return total, at

    return program


@pytest.mark.parametrize("carried", [False, True])
@pytest.mark.parametrize("times", [1, 2])
def test_a_loop_is_given_what_is_computed_anew(times, carried):
    assert _verdict(_in_a_loop(times, carried)) == "unknown"


def test_a_loop_is_given_what_is_kept():
    program = _in_a_loop(2, False, jnp.sort)
    assert _verdict(program) == "safe"
    assert not _leaves(program)


_less = jax.jit(lambda a, b: a - b)


#: Sums of what no rounding is lost in, whoever else reads its factors; and what is added to c there.
EXACT = {
    "a flag times a number": lambda a, b: (a > 1).astype(jnp.float32) * b,
    "a flag over a count": lambda a, b: (a > 1) / (b > 1).sum(),
    "a number by a difference of two": lambda a, b: b * _less(3.0, 1.0),
}


@pytest.mark.parametrize("term", EXACT.values(), ids=EXACT)
def test_a_product_that_is_exact(term):
    program = _program(lambda a, b, c: (term(a, b) + c, b * c))
    assert _verdict(program) == "safe"
    rng, compiled = np.random.default_rng(0), jax.jit(program)
    for run in range(RUNS):
        a, b = (rng.uniform(-10, 10, N).astype(np.float32) for _ in range(2))
        b[0] = 2.0
        wanted = np.full(N, TOP) if run % 2 else rng.uniform(9.99, 10, N)
        at = compiled(np.ones(TOP, np.float32), a, b, (wanted - np.asarray(term(a, b))).astype(np.float32))[1]
        assert np.asarray(at).min() >= 0
        assert np.asarray(at).max() < TOP


def test_a_difference_that_is_exact_for_doubles_alone():
    """1.3 - 0.3 is 1 for Python's numbers, and a little less of float32's."""
    program = _program(lambda a, b, c: (a * _less(1.3, 0.3) + c, a * _less(1.3, 0.3)))
    assert _verdict(program) == "unknown"
    rng, compiled = np.random.default_rng(0), jax.jit(program)
    left = 0
    for run in range(2 * RUNS):
        a, wanted = rng.uniform(-10, 10, N).astype(np.float32), rng.uniform(0, 9.9, N)
        wanted[run % N] = TOP
        c = (wanted - a.astype(np.float64) * (np.float32(1.3) - np.float32(0.3))).astype(np.float32)
        left += np.asarray(compiled(np.ones(TOP, np.float32), a, a, c)[1]).max() >= TOP
    assert left


@pytest.mark.changes_the_engine
def test_products_taken_for_exact_are_caught(monkeypatch):
    monkeypatch.setattr(products, "_is_exact", lambda *_: True)
    program = _program(lambda a, b, c: (AGAIN["by a function"](a, b, c), a * b))
    assert _verdict(program) == "safe"
    assert _leaves(program)


@pytest.mark.changes_the_engine
def test_products_that_are_held_against_nothing_are_caught(monkeypatch):
    monkeypatch.setattr(products, "_is_made_again", lambda *_: False)
    program = _program(lambda a, b, c: (_jitted(b, a) + c, a * b))
    assert _verdict(program) == "safe"
    assert _leaves(program)


@pytest.mark.changes_the_engine
def test_sums_of_one_term_taken_for_kept_are_caught(monkeypatch):
    monkeypatch.setattr(kept, "_are_several", lambda *_: True)
    program = _program(lambda a, b, c: (AGAIN["a sum of one term"](a, b, c), a * b))
    assert _verdict(program) == "safe"
    assert _leaves(program)


def _sixteenth(number):
    """What is left above a whole number may be less than nothing where the number is not rounded yet."""

    def program(x, a, b):
        left = _left(number(a, b))
        return x.at[jnp.floor(left * 16).astype(jnp.int32)].get(mode="promise_in_bounds", wrap_negative_indices=False)

    numbers = redzone.Spec((N,), "float32", min=0.0, max=100.0, finite=True)
    (access,) = redzone.check(program, redzone.Spec((16,), "float32"), numbers, numbers).accesses
    return str(access.verdict)


def _left(number):
    return number - jnp.floor(number)


def _times(a, b):
    return a * b


@pytest.mark.parametrize(
    ("number", "verdict"),
    [
        (_times, "unknown"),
        (lambda a, b: a * b + 0.0, "unknown"),
        (lambda a, b: jnp.where(a > 1, a * b, 1.5), "unknown"),
        (lambda a, b: jnp.sort((a * b)[:, None], axis=1)[:, 0], "unknown"),
        (lambda a, b: jnp.abs(a * a), "unknown"),
        (lambda a, b: jnp.sort(a * b), "safe"),
        (lambda a, b: a + b, "safe"),
        (lambda a, b: jnp.where(a > 1, a, b), "safe"),
        (lambda a, b: jnp.minimum(a * b, 50.0), "safe"),
    ],
)
def test_what_is_left_above_a_whole_number(number, verdict):
    assert _sixteenth(number) == verdict
