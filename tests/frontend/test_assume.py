"""assume: the identity under every transformation, nothing in the compiled program, loud when broken."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax
from jax.sharding import AxisType
from jax.sharding import PartitionSpec as P

import redzone
from redzone.frontend.assume import assume_p

X = jnp.arange(4.0)


def square(x, i=1):
    redzone.assume(i < 4)
    x = redzone.assume(x, min=-100, max=100, finite=True)
    x = redzone.assume(x, where=i >= 0)
    return (x**2).sum()


def plain(x, i=1):
    return (x**2).sum()


ONE = jnp.int32(1)

TRANSFORMED = {
    "jit": lambda f: jax.jit(f)(X, ONE),
    "vmap": lambda f: jax.vmap(f)(jnp.stack([X, X]), jnp.array([1, 2])),
    "vmap of one operand": lambda f: jax.vmap(f, (None, 0))(X, jnp.array([1, 2])),
    "grad": lambda f: jax.grad(f)(X, ONE),
    "grad of jit": lambda f: jax.grad(jax.jit(f))(X, ONE),
    "hessian": lambda f: jax.hessian(f)(X, ONE),
    "jvp": lambda f: jax.jvp(lambda x: f(x, ONE), (X,), (X,)),
    "remat": lambda f: jax.grad(jax.checkpoint(f))(X, ONE),
    "scan": lambda f: lax.scan(lambda c, k: (c + f(X, k), c), 0.0, jnp.arange(3)),
    "grad of scan": lambda f: jax.grad(lambda x: lax.scan(lambda c, k: (c + f(x, k), c), 0.0, jnp.arange(3))[0])(X),
    "cond": lambda f: lax.cond(ONE > 0, lambda: f(X, ONE), lambda: 0.0),
    "grad of cond": lambda f: jax.grad(lambda x: lax.cond(ONE > 0, lambda: f(x, ONE), lambda: 0.0))(X),
    "vmap of cond": lambda f: jax.vmap(lambda i: lax.cond(i > 0, lambda: f(X, i), lambda: 0.0))(jnp.arange(3)),
    "while": lambda f: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + f(X, c[0])), (0, 0.0)),
    "vmap of while": lambda f: jax.vmap(
        lambda n: lax.while_loop(lambda c: c[0] < n, lambda c: (c[0] + 1, c[1] + f(X, c[0])), (0, 0.0))
    )(jnp.arange(3)),
}


@pytest.mark.parametrize("way", TRANSFORMED)
@pytest.mark.parametrize("jitted", [False, True])
def test_changes_nothing(way, jitted):
    run = TRANSFORMED[way]
    one, other = (jax.jit(lambda f=f: run(f))() if jitted else run(f) for f in (square, plain))
    jax.tree.map(np.testing.assert_allclose, one, other)


def test_changes_nothing_on_a_mesh():
    mesh = jax.make_mesh((1,), ("d",), axis_types=(AxisType.Auto,))
    f, g = (
        jax.shard_map(lambda x, h=h: h(x, x[0].astype(int))[None] * x, mesh=mesh, in_specs=P("d"), out_specs=P("d"))
        for h in (square, plain)
    )
    for one, other in (
        (f, g),
        (jax.jit(f), jax.jit(g)),
        (jax.grad(lambda x: f(x).sum()), jax.grad(lambda x: g(x).sum())),
    ):
        np.testing.assert_allclose(one(X), other(X))


@pytest.mark.parametrize("of", [lambda f: f, jax.grad])
def test_compiles_to_the_same_program(of):
    def instructions(f):
        text = jax.jit(of(f)).lower(X, ONE).compile().as_text()
        return [line.split(" = ")[1].split("(")[0].split()[1] for line in text.splitlines() if " = " in line]

    used = [name for name in instructions(square) if name != "parameter"]
    assert used == [name for name in instructions(plain) if name != "parameter"]
    assert used and "compare" not in used


def test_lowers_to_its_operand():
    lowered = jax.jit(lambda x: redzone.assume(x, min=0)).lower(X).as_text()
    assert "assume" not in lowered and "call" not in lowered


def count(fn, *args):
    return str(jax.make_jaxpr(fn)(*args)).count(" assume[")


def test_is_still_there_where_a_check_looks():
    def f(x, i):
        redzone.assume(i < 4)
        return x[i] ** 2

    for g in (f, jax.jit(f), jax.grad(f), jax.grad(jax.jit(f)), jax.checkpoint(f), jax.grad(jax.checkpoint(f))):
        assert count(g, X, ONE) >= 1
    assert count(lambda x, i: lax.cond(i > 0, lambda: f(x, i), lambda: 0.0), X, ONE) == 1
    assert count(jax.grad(lambda x, i: lax.cond(i > 0, lambda: f(x, i), lambda: 0.0)), X, ONE) == 1
    assert assume_p.name == "assume"


# Outside of any transformation


def test_returns_what_it_is_given():
    assert redzone.assume(X, min=0) is X
    assert redzone.assume(3, max=3) == 3
    condition = X < 4
    assert redzone.assume(condition) is condition
    assert redzone.assume(X, where=condition) is X
    assert redzone.assume(True) is True


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        (lambda: redzone.assume(X, min=1), r"the array holds 0\.0 at \[0\], which is below min=1"),
        (lambda: redzone.assume(X, max=2), r"the array holds 3\.0 at \[3\], which is above max=2"),
        (lambda: redzone.assume(jnp.array(7), max=6), r"the array holds 7, which is above max=6"),
        (
            lambda: redzone.assume(jnp.array([0, jnp.inf]), finite=True),
            r"the array holds inf at \[1\], which is not finite",
        ),
        (lambda: redzone.assume(jnp.array(jnp.nan), finite=True), "holds nan, which is not finite"),
        (lambda: redzone.assume(X < 3), "the condition does not hold"),
        (lambda: redzone.assume(X, where=X < 3), "the condition does not hold"),
        (lambda: redzone.assume(False), "the condition does not hold"),
        (lambda: redzone.assume(jnp.arange(3), max=jnp.array([0, 1, 1])), "the condition does not hold"),
        (lambda: redzone.assume(X, min=3, max=2), "min=3 is above max=2"),
        (lambda: redzone.assume(jnp.arange(3), min=0.5), "the bound of an integer must be an integer"),
        (lambda: redzone.assume(jnp.arange(3), finite=True), "integers are always finite"),
        (lambda: redzone.assume(jnp.arange(3, dtype=jnp.int8), min=200), "no value is above 127"),
        (lambda: redzone.assume(X.astype("complex64"), min=0), "not ordered numbers"),
    ],
)
def test_says_when_it_is_broken(broken, message):
    with pytest.raises(ValueError, match=message):
        broken()


def test_nan_keeps_a_range():
    assert redzone.assume(jnp.array(jnp.nan), min=0, max=1) is not None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: redzone.assume(X), "takes a condition, which is bool, or a range: got float32 and no min or max"),
        (lambda: redzone.assume({"a": X}, min=0), "takes an array, not dict; call it for each array"),
        (lambda: redzone.assume(X, min="0"), "'0' is no bound"),
        (lambda: redzone.assume(X, where=X), "takes a condition, which is bool"),
        (lambda: jax.jit(lambda x, b: redzone.assume(x, max=b))(X, 3.0), "write assume\\(x <= bound\\) instead"),
    ],
)
def test_says_how_to_call_it(wrong, message):
    with pytest.raises(TypeError, match=message):
        wrong()


# In a check

F, N = redzone.Spec((10,), "float32"), redzone.Spec((), "int32")


def test_a_promise_that_cannot_hold_is_not_used_and_told():
    def f(x, i):
        redzone.assume(i > 20)
        redzone.assume(i < 5)
        return x[i]

    report = redzone.check(f, F, N)
    assert [str(a.verdict) for a in report.accesses] != ["safe"]
    (note,) = report.notes
    assert "test_assume.py:" in note and "can never hold, so it is not used" in note
    assert f"note: {note.split(':')[0]}" in str(report).replace("\n", "")


def test_a_range_that_cannot_hold_is_told():
    def f(x, i):
        return x[redzone.assume(jnp.clip(i, 20, 30), max=5)]

    report = redzone.check(f, F, N)
    # Every input breaks the promise, so none can be a witness.
    assert report.accesses[0].verdict == "unknown"
    assert "can never hold" in report.notes[0]


def test_a_promise_in_a_branch_under_vmap_is_not_used_and_told():
    def f(x, i):
        return lax.cond(i < 10, lambda: redzone.assume(i, min=0), lambda: 0) + x[i]

    report = redzone.check(jax.vmap(f, (None, 0)), F, redzone.Spec((3,), "int32"))
    assert report.accesses[0].verdict == "requires"
    assert "vmap runs this branch for every lane" in report.notes[0]


def test_a_promise_in_a_loop_of_a_branch_under_vmap_is_not_used():
    def f(x, i):
        def summed():
            def body(total, k):
                j = redzone.assume(i + k, min=0, max=9)
                return total + x[j], None

            return lax.scan(body, 0.0, jnp.arange(2))[0]

        return lax.cond(i < 8, summed, lambda: 0.0)

    assert redzone.check(f, F, N).accesses[0].verdict == "safe"
    report = redzone.check(jax.vmap(f, (None, 0)), F, redzone.Spec((3,), "int32"))
    assert report.accesses[0].verdict != "safe"
    assert "vmap runs this branch for every lane" in report.notes[0]


def test_a_witness_keeps_every_promise():
    def f(x, i, j):
        redzone.assume(i + j == 12)
        redzone.assume(j >= 0)
        return x[jnp.clip(i, 0, 10)]

    report = redzone.check(f, F, redzone.Spec((), "int32", min=0, max=12), redzone.Spec((), "int32", min=0, max=12))
    witness = report.accesses[0].witness
    if witness is not None:
        _, i, j = witness.arguments
        assert int(i) + int(j) == 12


def test_a_witness_that_only_breaks_promises_is_none():
    def f(x, i, flag):
        redzone.assume(~flag | (i < 10))
        redzone.assume(flag)
        return x[jnp.maximum(i, 0)]

    report = redzone.check(f, F, N, redzone.Spec((), "bool"))
    assert report.accesses[0].verdict != "unsafe"


def test_symbolic_bounds():
    (n,) = jax.export.symbolic_shape("n")

    def f(x, i):
        return x[redzone.assume(i, min=0, max=x.shape[0] - 1)]

    report = redzone.check(f, redzone.Spec((n,), "float32"), N)
    assert report.accesses[0].verdict == "safe"


def test_finite_floats_become_bounded_integers():
    def f(x, u):
        u = redzone.assume(u, min=0, max=9, finite=True)
        return x[u.astype(int)]

    def g(x, u):
        return x[redzone.assume(u, min=1, max=9).astype(int) - 1]

    assert redzone.check(f, F, redzone.Spec((), "float32")).accesses[0].verdict == "safe"
    # NaN becomes 0, and 0 - 1 counts from the end.
    assert redzone.check(g, F, redzone.Spec((), "float32")).accesses[0].bounds[0].hi == 9


def test_an_empty_condition_says_nothing():
    def f(x, i, none):
        redzone.assume((i >= 0) & (i < 10) & (none == 0))
        return x[i]

    report = redzone.check(f, F, N, redzone.Spec((0,), "int32"))
    assert report.accesses[0].verdict == "requires"
