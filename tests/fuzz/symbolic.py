"""Random programs over arrays of symbolic size: a seed gives a function, its dimensions and what is promised of them.

Nothing here looks at a number in place of a size, so one trace stands for every size that keeps the constraints.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from redzone.frontend.trace import Traced, trace
from tests.fuzz.at_size import holds
from tests.fuzz.generate import Argument

LARGEST = 70
"""No dimension is tried with more than this."""
CONSTRAINTS = (
    ("n >= 8",),
    ("mod(n, 4) == 0",),
    ("n <= 64",),
    ("n >= 8", "n <= 64"),
    ("mod(n, 4) == 0", "n >= 8"),
    ("mod(n, 2) == 0", "n <= 64", "n >= 4"),
    ("n >= 2",),
    (),
    (),
)
SECOND = (("m >= 3",), ("m <= 9",), ("m <= n",), ("m >= n",), ("m >= n + 1",), ("n >= 2*m",), ())
"""The same for a second dimension, perhaps beside the first."""
SHAPES = ("n", "n", "n", "2*n", "n+1", "n+3", "4*n")
FLAT_STEPS, INNER_STEPS, DEPTH = 5, 3, 2


@dataclasses.dataclass(frozen=True, slots=True)
class SymbolicArgument:
    """One input: its dimensions as text, and its contract."""

    shape: tuple[str | int, ...]
    dtype: Any
    low: Any = None
    high: Any = None

    def spec(self) -> redzone.Spec:
        return redzone.Spec(self.shape, self.dtype, min=self.low, max=self.high)

    def at(self, sizes: dict[str, int]) -> Argument:
        shape = tuple(eval(d, {}, dict(sizes)) if isinstance(d, str) else d for d in self.shape)
        return Argument(shape, self.dtype, self.low, self.high)


@dataclasses.dataclass(frozen=True, slots=True)
class SymbolicProgram:
    """A random program; the same seed and `skip` trace to the same equations."""

    seed: int
    arguments: tuple[SymbolicArgument, ...]
    constraints: tuple[str, ...]
    names: tuple[str, ...]
    skip: frozenset[str] = frozenset()

    def function(self, taken: list[str] | None = None) -> Callable[..., Any]:
        def program(*args: Any) -> list[Any]:
            scope = _Scope(self, taken if taken is not None else [], "", list(args), 0)
            _grow(scope, FLAT_STEPS)
            return scope.results

        return program

    def traced(self, taken: list[str] | None = None) -> Traced:
        return trace(self.function(taken), tuple(a.spec() for a in self.arguments), {}, dims=self.constraints)

    def steps(self) -> list[str]:
        taken: list[str] = []
        self.traced(taken)
        return list(dict.fromkeys(taken))

    def sizes(self, rng: random.Random, count: int) -> list[dict[str, int]]:
        """Different sizes that keep the constraints, the least of them first."""
        span = range(1, LARGEST)
        found = [{"n": n} for n in span if "m" not in self.names and holds(self.constraints, {"n": n})]
        if "m" in self.names:
            small = [*range(1, 14), 16, 20, 33, 64]
            found = [s for n in small for m in small if holds(self.constraints, s := {"n": n, "m": m})]
        # A dimension of no elements, or of a negative number, is none that JAX takes.
        found = [s for s in found if all(min(a.at(s).shape, default=1) >= 1 for a in self.arguments)]
        near = found[1:9]
        return found[:1] + rng.sample(near, min(count - 2, len(near))) + rng.sample(found[9:], 1 if found[9:] else 0)


def make(seed: int) -> SymbolicProgram:
    """The program of a seed."""
    rng = random.Random(f"symbolic:{seed}")
    constraints, names = rng.choice(CONSTRAINTS), ("n",)
    shapes = list(SHAPES) + (["n-1"] if "n >= 8" in constraints or "n >= 2" in constraints else [])
    if rng.random() < 0.3:
        constraints, names = constraints + rng.choice(SECOND), ("n", "m")
        shapes += ["m", "m", "m+1", "n+m"]
    arguments = [SymbolicArgument(("n",), np.dtype("float32"))]
    if "m" in names:
        arguments.append(SymbolicArgument(("m",), np.dtype("float32")))
    if rng.random() < 0.6:
        arguments.append(SymbolicArgument((rng.choice(shapes),), np.dtype(rng.choice(["float32", "int32"]))))
    if rng.random() < 0.2:
        arguments.append(SymbolicArgument((rng.choice(shapes), rng.choice([2, 3, "n"])), np.dtype("float32")))
    for _ in range(rng.randint(1, 2)):
        low, high = rng.choice([(0, 9), (0, 7), (0, 3), (-8, 7), (0, None), (None, None), (0, 63), (1, 8), (0, 2000)])
        kind = np.dtype(rng.choice(["int32"] * 6 + ["int8", "uint8", "int16"]))
        if kind.kind == "u" and low is not None:
            low = max(low, 0)
        if kind.itemsize == 1 and high is not None:
            high = min(high, 100)
        shape = (rng.choice(shapes),) if rng.random() < 0.3 else ()
        arguments.append(SymbolicArgument(shape, kind, low, high))
    return SymbolicProgram(seed, tuple(arguments), constraints, names)


class _Scope:
    """The values at hand at one level of a program, and the randomness of the current step."""

    def __init__(self, program: SymbolicProgram, taken: list[str], path: str, values: list[Any], depth: int) -> None:
        self.program, self.taken, self.path, self.values, self.depth = program, taken, path, values, depth
        self.rng = random.Random(f"{program.seed}:{path}")
        self.results: list[Any] = []

    def inner(self, name: str, values: Sequence[Any]) -> _Scope:
        return _Scope(self.program, self.taken, f"{self.path}.{name}", [*self.values, *values], self.depth + 1)

    def pick(self, wanted: Callable[[Any], bool]) -> Any:
        pool = [v for v in self.values if wanted(v)]
        return self.rng.choice(pool[-4:] if self.rng.random() < 0.6 else pool) if pool else None

    def array(self, rank: int = 1) -> Any:
        found = self.pick(lambda v: v.ndim == rank)
        return found if found is not None else self.values[0]

    def size(self) -> Any:
        """A dimension, or something a little beside it."""
        n = self.array().shape[0]
        ways = [lambda: n] * 5 + [lambda: n - 1, lambda: n // 2, lambda: n + 1, lambda: 2 * n, lambda: n - 2]
        ways += [lambda: n // 4, lambda: n * n, lambda: n % 4 + 1, lambda: n + 3, lambda: (n + 3) // 4, lambda: n - 8]
        return self.rng.choice(ways)()

    def scalar(self, depth: int = 2) -> Any:
        """An index: made of inputs, sizes and numbers."""
        held = self.pick(lambda v: v.ndim == 0 and v.dtype.kind in "iu")
        if not depth or self.rng.random() < 0.2:
            if held is not None and self.rng.random() < 0.75:
                return held.astype(np.int32)
            # An expression of sizes; a size itself is the commonest.
            return jnp.asarray(self.size(), np.int32) if self.rng.random() < 0.7 else np.int32(self.rng.randint(-1, 8))
        a, n = self.scalar(depth - 1), self.size()
        return self.rng.choice(_UNARY + _SCALAR)(self, a, n)

    def vector(self, depth: int = 2) -> Any:
        """Several of them."""
        held = self.pick(lambda v: v.ndim == 1 and v.dtype.kind in "iu")
        if not depth or self.rng.random() < 0.25:
            return held.astype(np.int32) if held is not None and self.rng.random() < 0.6 else jnp.arange(self.size())
        v, n = self.vector(depth - 1), self.size()
        return self.rng.choice(_UNARY + _VECTOR)(self, v, n)

    def test(self, value: Any) -> Any:
        against = self.rng.choice([self.size, lambda: self.scalar(0), lambda: self.rng.choice([0, 1, 3, 8])])()
        return self.rng.choice([lax.lt, lax.le, lax.gt, lax.ge, lax.ne, lax.eq])(
            *jnp.broadcast_arrays(value, jnp.asarray(against, np.int32))
        )


def _chosen(scope: _Scope, a: Any, n: Any) -> Any:
    low = (a >= 0) if scope.rng.random() < 0.6 else True
    return jnp.where(low & (a < n), a, scope.rng.choice([0, n - 1, n, -1]))


#: For an index or many of them: what programs do to keep it inside, and a little less than that.
_UNARY: list[Callable[..., Any]] = [
    lambda s, a, n: a % n,
    lambda s, a, n: jnp.clip(a, 0, n - 1),
    lambda s, a, n: jnp.clip(a, 0, n),
    lambda s, a, n: jnp.minimum(a, n - 1),
    lambda s, a, n: jnp.minimum(a, n),
    lambda s, a, n: jnp.maximum(a, 0),
    lambda s, a, n: n - 1 - a,
    lambda s, a, n: n - a,
    lambda s, a, n: a + s.scalar(0),
    lambda s, a, n: a - s.scalar(0),
    lambda s, a, n: a // s.rng.choice([2, 3, 4]),
    lambda s, a, n: a * s.rng.choice([2, 3, -1]),
    lambda s, a, n: a + s.rng.choice([1, -1, 2]),
    lambda s, a, n: a % s.rng.choice([2, 4, 8]),
    lambda s, a, n: lax.rem(a, jnp.broadcast_to(jnp.asarray(n, np.int32), a.shape)),
    lambda s, a, n: a // jnp.asarray(n, np.int32),
    lambda s, a, n: abs(a),
    lambda s, a, n: a & 7,
    _chosen,
    _chosen,
]
_SCALAR: list[Callable[..., Any]] = [
    lambda s, a, n: jnp.argmax(s.array()),
    lambda s, a, n: jnp.sum(s.array() > 0, dtype=np.int32),
    lambda s, a, n: jnp.max(s.vector(0)),
    lambda s, a, n: jnp.asarray(n, np.int32) - a,
    lambda s, a, n: jnp.searchsorted(jnp.sort(s.array()), 0.5).astype(np.int32),
]
_VECTOR: list[Callable[..., Any]] = [
    lambda s, v, n: jnp.argsort(s.array()),
    lambda s, v, n: v[::-1],
    lambda s, v, n: v[1:],
    lambda s, v, n: v[:-1],
    lambda s, v, n: v[:: s.rng.choice([2, -1, -2])],
    lambda s, v, n: jnp.concatenate([v, s.vector(0)]),
    lambda s, v, n: jnp.cumsum((s.array() > 0).astype(np.int32)),
    lambda s, v, n: jnp.pad(v, (1, 0)),
    lambda s, v, n: jnp.roll(v, s.rng.choice([1, -1])),
    lambda s, v, n: jnp.sort(v),
    lambda s, v, n: jnp.nonzero(s.array() > 0, size=n)[0],
    lambda s, v, n: jnp.broadcast_to(s.scalar(1), (n,)),
    lambda s, v, n: (v[:, None] * n + jnp.arange(n)[None, :]).reshape(-1),
    lambda s, v, n: jnp.tile(v, 2),
    lambda s, v, n: lax.top_k(s.array().astype(np.float32), 2)[1],
]


# Steps


def _read_one(s: _Scope) -> list[Any]:
    x, i = s.array(), s.scalar()
    ways = [lambda: x[i]] * 3 + [lambda: lax.dynamic_slice(x, (i,), (s.rng.choice([1, 2, 4]),))[0]]
    ways += [lambda: lax.dynamic_slice(x, (i,), (s.size(),))[0], lambda: jnp.take(x, i), lambda: x.at[i].get()]
    return [s.rng.choice(ways)()]


def _read_many(s: _Scope) -> list[Any]:
    x, v = s.array(), s.vector()
    ways = [lambda: x[v]] * 3 + [lambda: jax.vmap(lambda j: x[j])(v), lambda: jnp.take(x, v, mode="clip")]
    ways += [lambda: x.at[v].get(mode="fill", fill_value=0), lambda: x.at[v].get(mode="promise_in_bounds")]
    return [s.rng.choice(ways)()]


def _write(s: _Scope) -> list[Any]:
    x, v, i = s.array(), s.vector(), s.scalar()
    ways = [lambda: x.at[v].set(1), lambda: x.at[v].add(1), lambda: x.at[i].set(2)]
    ways += [lambda: lax.dynamic_update_slice(x, x[:2], (i,)), lambda: x.at[i].min(0)]
    ways += [lambda: lax.dynamic_update_slice(x, jnp.ones(s.size(), x.dtype), (i,))]
    return [s.rng.choice(ways)()]


def _rows(s: _Scope) -> list[Any]:
    x = s.array(2)
    if x.ndim != 2:
        flat = s.array()
        x = s.rng.choice([lambda: flat.reshape(-1, 1), lambda: jnp.outer(flat, flat), lambda: flat.reshape(2, -1),
                          lambda: flat.reshape(-1, 4), lambda: jnp.stack([flat, flat])])()  # fmt: skip
    i, v = s.scalar(), s.vector()
    ways = [lambda: x[i], lambda: x[v, 0], lambda: x[:, v], lambda: x[i, v], lambda: x.reshape(-1)[v]]
    ways += [lambda: jax.vmap(lambda r: r[i])(x), lambda: jnp.take_along_axis(x, v[:, None], 1)]
    return [s.rng.choice(ways)(), x]


def _arrays(s: _Scope) -> list[Any]:
    x = s.array()
    ways = [lambda: jnp.concatenate([x, x]), lambda: jnp.pad(x, (0, 2)), lambda: x[1:], lambda: x[:-1]]
    ways += [lambda: jnp.zeros(s.size(), np.int32), lambda: x[: s.size()], lambda: x[s.size() :], lambda: x[::2]]
    ways += [lambda: jnp.outer(x, x).reshape(-1), lambda: x.reshape(2, -1)[0], lambda: jnp.repeat(x, 2)]
    return [s.rng.choice(ways)()]


def _numbers(s: _Scope) -> list[Any]:
    return [s.scalar(), s.vector()]


def _result(inner: _Scope, steps: int = INNER_STEPS) -> Any:
    """What a body gives back: one number of all its results."""
    _grow(inner, inner.rng.randint(1, steps))
    return sum((jnp.sum(r).astype(np.float32) for r in inner.results), np.float32(0))


def _branch(s: _Scope) -> list[Any]:
    i = s.scalar(1)
    condition = s.test(i)
    if s.rng.random() < 0.6:
        condition = condition & s.test(i)
    other = s.rng.random() < 0.3
    return [
        lax.cond(
            condition,
            lambda: _result(s.inner("then", [i])),
            lambda: _result(s.inner("else", [i])) if other else np.float32(0),
        )
    ]


def _counted(s: _Scope) -> list[Any]:
    low, high = s.rng.choice([0, 0, 0, 1, -1]), s.size()
    if s.rng.random() < 0.3:
        high = s.scalar(1)
    return [lax.fori_loop(low, high, lambda j, t: t + _result(s.inner("for", [j])), np.float32(0))]


def _scanned(s: _Scope) -> list[Any]:
    v = s.vector(1)
    first = s.scalar(1)
    by, way = s.rng.choice([1, -1, 2]), s.rng.choice(["count", "wrap", "clip", "keep"])
    n = s.size()

    def body(carry: Any, k: Any) -> Any:
        at, total = carry
        total = total + _result(s.inner("scan", [k, at]))
        after = {"count": at + by, "wrap": (at + by) % n, "clip": jnp.clip(at + by, 0, n - 1), "keep": at}[way]
        return (jnp.asarray(after, np.int32), total), at

    (last, total), seen = lax.scan(body, (jnp.asarray(first, np.int32), np.float32(0)), v)
    return [total, last, seen]


def _while(s: _Scope) -> list[Any]:
    n, by = s.size(), s.rng.choice([1, 2, 3])
    first = np.int32(s.rng.choice([0, 0, 1])) if s.rng.random() < 0.7 else jnp.maximum(s.scalar(1), 0)

    def body(carry: Any) -> Any:
        at, total = carry
        return at + by, total + _result(s.inner("while", [at]))

    last, total = lax.while_loop(lambda c: c[0] < n, body, (jnp.asarray(first, np.int32), np.float32(0)))
    return [total, last]


def _called(s: _Scope) -> list[Any]:
    i, x = s.scalar(1), s.array()

    @jax.jit
    def inner(i: Any, x: Any) -> Any:
        return _result(s.inner("jit", [i, x]))

    return [inner(i, x)]


def _mapped(s: _Scope) -> list[Any]:
    v = s.vector(1)
    return [jax.vmap(lambda k: _result(s.inner("vmap", [k])))(v)]


def _searched(s: _Scope) -> list[Any]:
    x, wanted = s.array(), np.float32(0.25)

    def body(carry: Any) -> Any:
        low, high = carry
        middle = (low + high) // 2
        below = x[middle] < wanted
        return jnp.where(below, middle + 1, low), jnp.where(below, high, middle)

    high = jnp.asarray(s.rng.choice([x.shape[0], x.shape[0] - 1, s.size()]), np.int32)
    return list(lax.while_loop(lambda c: c[0] < c[1], body, (jnp.int32(0), high)))


def _promised(s: _Scope) -> list[Any]:
    i, n = s.scalar(1), s.size()
    redzone.assume((i >= 0) & (i < n))
    return [i]


_PLAIN = [_read_one] * 5 + [_read_many] * 5 + [_write] * 4 + [_rows] * 2 + [_arrays] * 3 + [_numbers] * 2
_NESTED = [_branch] * 3 + [_counted] * 3 + [_scanned] * 3 + [_while] * 2 + [_called, _mapped, _searched, _promised]


def _grow(scope: _Scope, steps: int) -> None:
    """Take random steps; one that JAX cannot trace for every size is left out."""
    for k in range(steps):
        path = f"{scope.path}/{k}"
        if path in scope.program.skip:
            continue
        scope.taken.append(path)
        step = _Scope(scope.program, scope.taken, path, scope.values, scope.depth)
        chosen = step.rng.choice(_PLAIN + _NESTED * (1 if scope.depth < DEPTH else 0))
        try:
            made = [jnp.asarray(m) for m in chosen(step)]
        except Exception:  # JAX has several types for what holds at some sizes only
            continue
        scope.values.extend(m for m in made if m.ndim <= 2)
        scope.results.extend(made)
