"""Steps with a body: calls, branches, loops and transformations, their bodies grown at random."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.indexing import index
from tests.fuzz.scope import Scope, Unfit, cast, fit, is_bool, is_float, is_integer, is_key
from tests.fuzz.vocabulary import STEPS, step

MAX_DEPTH = 3
THEME = 60.0
"""What a program's theme adds to the weight of its step: about a third of the steps taken."""


def grow(scope: Scope, steps: int, only: Sequence[Any] = ()) -> None:
    """Take up to `steps` random steps in `scope`, each from its own randomness so that any can be left out."""
    for k in range(steps):
        trace = scope.trace
        if trace.budget <= 0:
            return
        path = f"{scope.path}/{k}"
        if path in trace.skip:
            continue
        trace.taken.append(path)
        trace.budget -= 1
        inner = Scope(trace, path, scope.values, scope.depth)
        choices = STEPS if scope.depth < MAX_DEPTH else [(s, w) for s, w in STEPS if s not in NESTED]
        weights = [w + THEME if s.__name__ == trace.theme else w for s, w in choices]
        chosen = inner.choice(only) if only else inner.weighted([s for s, _ in choices], weights)
        try:
            made = chosen(inner)
        except Unfit:
            continue
        scope.values.extend(v for v in made if v.size <= 1300 and v.ndim <= 6)


def body_values(scope: Scope, name: str, args: Sequence[Any], steps: int = 4) -> Scope:
    """A body's scope after its steps were taken."""
    inner = scope.inner(name, [a for a in args if hasattr(a, "dtype")])
    grow(inner, inner.small(1, steps))
    return inner


def result(inner: Scope, like: Sequence[Any]) -> tuple[Any, ...]:
    """Values of `inner` with the types of `like`, its newest ones likelier."""
    out = []
    for wanted in like:
        value = inner.find(lambda v: not is_key(v))
        if value is None:
            value = inner.corner(wanted.dtype)
        out.append(cast(inner, jnp.asarray(value), wanted.dtype, wanted.shape))
    return tuple(out)


def carried(scope: Scope, most: int = 3) -> list[Any]:
    """Initial values of a carry."""
    found = [scope.find(lambda v: not is_key(v) and v.ndim <= 2) for _ in range(scope.small(1, most))]
    made = [jnp.asarray(v) for v in found if v is not None]
    if scope.chance(0.6) or not made:
        made.append(jnp.asarray(scope.corner(scope.integer_dtype())))
    return made


@step(2)
def nested_jit(scope: Scope) -> list[Any]:
    args = carried(scope)

    def body(*inner: Any) -> Any:
        return result(body_values(scope, "jit", inner), args)

    function = jax.jit(body)
    first = function(*args)
    if scope.chance(0.4):
        again = [fit(scope, a + jnp.ones((), a.dtype) if is_integer(a) else a, a.shape) for a in args]
        return [*first, *function(*again)]
    return list(first)


@step(3)
def cond(scope: Scope) -> list[Any]:
    args = carried(scope)

    def branch(name: str) -> Any:
        return lambda *inner: result(body_values(scope, name, inner), args)

    return list(lax.cond(scope.boolean(()), branch("then"), branch("else"), *args))


@step(1.5)
def switch(scope: Scope) -> list[Any]:
    args = carried(scope, 2)

    def branch(name: str) -> Any:
        return lambda *inner: result(body_values(scope, name, inner, 3), args)

    branches = [branch(f"case{k}") for k in range(scope.small(2, 3))]
    return list(lax.switch(scope.integer((), np.dtype("int32")), branches, *args))


@step(3)
def scan(scope: Scope) -> list[Any]:
    init = carried(scope)
    length = scope.choice([4, 4, 3, 1, 0, 5])
    xs = scope.find(lambda v: v.ndim > 0 and v.shape[0] == length and not is_key(v))
    if xs is None and scope.chance(0.7):
        xs = jnp.arange(length)

    def body(carry: Any, x: Any) -> Any:
        inner = body_values(scope, "scan", [*carry, x])
        return result(inner, carry), result(inner, [carry[0]])

    if scope.chance(0.15) and xs is not None:
        mapped = lax.map(lambda x: body(tuple(init), x)[1], xs)
        return [v for v in mapped if v.size]
    last, ys = lax.scan(body, tuple(init), xs, length, reverse=scope.chance(0.3), unroll=scope.choice([1, 1, 2, True]))
    return [*last, *(y for y in ys if y.size)]


@step(2)
def while_(scope: Scope) -> list[Any]:
    """A loop that ends after a few rounds whatever its own test says."""
    init = carried(scope)
    fuel = scope.choice([2, 4, 6])

    def test(carry: Any) -> Any:
        inner = scope.inner("test", carry[1:])
        return (carry[0] < fuel) & inner.boolean(())

    def body(carry: Any) -> Any:
        inner = body_values(scope, "while", carry)
        return (carry[0] + 1, *result(inner, carry[1:]))

    return list(lax.while_loop(test, body, (np.int32(0), *init)))


@step(2)
def fori(scope: Scope) -> list[Any]:
    """Trip counts that are constants, or values cut to a few rounds."""
    init = tuple(carried(scope))
    low: Any = scope.choice([0, 0, 0, 1, -1])
    high: Any = scope.choice([4, 3, 5, 0])
    if scope.chance(0.5):
        high = jnp.clip(jnp.asarray(scope.integer((), np.dtype("int32"))), -1, scope.choice([4, 5]))
    if scope.chance(0.2):
        low = jnp.clip(jnp.asarray(scope.integer((), np.dtype("int32"))), -2, 2)

    def body(i: Any, carry: Any) -> Any:
        return result(body_values(scope, "fori", [*carry, i]), carry)

    return list(lax.fori_loop(low, high, body, init))


@step(1)
def associative_scan(scope: Scope) -> list[Any]:
    value = jnp.asarray(scope.integer(scope.choice([(4,), (5,), (3,)])))
    combine = scope.choice([jnp.add, jnp.maximum, jnp.minimum, jnp.bitwise_or, jnp.multiply])
    return [lax.associative_scan(combine, value, reverse=scope.chance(0.3))]


@step(2)
def vmap(scope: Scope) -> list[Any]:
    """A body mapped over a leading axis: its loops and branches become batched ones."""
    n = scope.choice([3, 4])
    rows = [v for v in scope.values if v.ndim in (1, 2) and v.shape[0] == n and not is_key(v)][-3:]
    if not rows:
        rows = [jnp.asarray(scope.integer((n,)))]

    def body(*inner: Any) -> Any:
        made = body_values(scope, "vmap", inner)
        value = made.find(lambda v: not is_key(v) and v.ndim <= 2)
        return (jnp.asarray(value),)

    axes = [0 if k == 0 or scope.chance(0.7) else None for k in range(len(rows))]
    return list(jax.vmap(body, in_axes=axes)(*rows))


@step(1.2)
def differentiate(scope: Scope) -> list[Any]:
    """grad, jvp, vjp and linear_transpose of a body that gathers and scatters floats."""
    x = jnp.asarray(scope.floating((4,))).astype(np.float32)
    kind = scope.choice(["grad", "jvp", "vjp", "transpose", "value_and_grad"])
    places = jnp.asarray(scope.integer((3,)))

    def body(v: Any) -> Any:
        inner = body_values(scope, "grad", [v], 3)
        other = inner.find(lambda u: is_float(u) and u.ndim > 0)
        weight = inner.floating((3,)).astype(np.float32) if other is not None else jnp.float32(1)
        return (v[places] * weight).sum()

    if kind == "grad":
        return [jax.grad(body)(x)]
    if kind == "value_and_grad":
        return list(jax.value_and_grad(jax.checkpoint(body))(x))
    if kind == "jvp":
        return list(jax.jvp(body, (x,), (jnp.ones_like(x),)))
    if kind == "vjp":
        primal, pull = jax.vjp(body, x)
        return [primal, *pull(jnp.float32(1))]
    return list(jax.linear_transpose(lambda v: v[places], x)(jnp.ones((3,), np.float32)))


@step(0.8)
def remat(scope: Scope) -> list[Any]:
    args = carried(scope, 2)
    return list(jax.checkpoint(lambda *inner: result(body_values(scope, "remat", inner, 3), args))(*args))


@step(0.8)
def custom_rule(scope: Scope) -> list[Any]:
    """custom_jvp and custom_vjp, called plainly or differentiated."""
    x = jnp.asarray(scope.floating((4,))).astype(np.float32)
    where = jnp.asarray(scope.integer(()))

    if scope.chance(0.5):

        @jax.custom_jvp
        def function(v: Any, i: Any) -> Any:
            return v[i] * 2

        function.defjvp(lambda p, t: (function(*p), t[0][p[1]] * 2))
    else:

        @jax.custom_vjp
        def function(v: Any, i: Any) -> Any:
            return v[i] * 2

        def forward(v: Any, i: Any) -> Any:
            return function(v, i), (v, i)

        def backward(kept: Any, ct: Any) -> Any:
            return jnp.zeros_like(kept[0]).at[kept[1]].set(ct * 2), None

        function.defvjp(forward, backward)
    if scope.chance(0.5):
        return [jax.grad(lambda v: function(v, where))(x)]
    return [function(x, where)]


@step(1)
def mutable(scope: Scope) -> list[Any]:
    """A ref that is read and written at computed places, outside and inside a loop."""
    start = jnp.asarray(scope.array(1, 2)).astype(np.int32)
    n = start.shape[0]
    only_read = scope.chance(0.3)
    rounds = n + scope.choice([0, 0, 1, -1])
    first, many = index(scope, n), index(scope, n, (3,))
    offset = scope.choice([0, 0, 1, -1])
    kind = scope.choice(["one", "many", "loop", "loop", "slice"])
    seen = []
    ref = jax.new_ref(start)
    if kind == "one":
        seen.append(ref[first])
        if not only_read:
            ref[first] = ref[first] + 1
    elif kind == "many":
        seen.append(ref[many])
        if not only_read:
            ref[many] = jnp.zeros((3, *start.shape[1:]), np.int32)
    elif kind == "slice":
        seen.append(ref[0 : max(n - 1, 1)])
    else:

        def body(k: Any, total: Any) -> Any:
            value = ref[k + offset]
            if not only_read:
                ref[k] = value * 2
            return total + jnp.sum(value)

        seen.append(lax.fori_loop(0, rounds, body, np.int32(0)))
    return [*seen, jax.freeze(ref) if scope.chance(0.5) else ref[...]]


NESTED = {nested_jit, cond, switch, scan, while_, fori, vmap, differentiate, remat, custom_rule, mutable}


def outputs(scope: Scope) -> tuple[Any, ...]:
    """Everything that was made, so that nothing is dead code."""
    kept = [v for v in scope.values if not is_key(v)]
    if not kept:
        raise Unfit
    return tuple(kept[-12:]) if not all(is_bool(v) for v in kept) else tuple(kept)
