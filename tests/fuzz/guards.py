"""Steps whose access sits behind a condition that says something of the index, or seems to.

A prover turns a condition around: from `2 * i + 1 < n` to a bound on `i`. Every way of making a
condition from an index is here, with dtypes that wrap and arrays that are empty.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.indexing import _number
from tests.fuzz.loops import _slip, _table, _total
from tests.fuzz.scope import Scope
from tests.fuzz.vocabulary import step


def _compared(scope: Scope, left: Any, edge: int) -> Any:
    """A comparison of a value with a number near `edge`, maybe turned around or negated."""
    right = (
        _number(edge + _slip(scope), left.dtype) if np.dtype(left.dtype).kind in "iu" else np.array(edge, left.dtype)
    )
    test = scope.choice([lax.lt, lax.le, lax.gt, lax.ge, lax.eq, lax.ne])
    pair = jnp.broadcast_arrays(left, right)
    made = test(*pair) if scope.chance(0.7) else test(*reversed(pair))
    return ~made if scope.chance(0.25) else made


def _made_from(scope: Scope, i: Any, j: Any) -> Any:
    """Something computed from the index, of the same or another dtype."""
    dtype = i.dtype

    def at(value: int) -> Any:
        return jnp.broadcast_to(_number(value, dtype), i.shape)

    k = scope.choice([1, 2, 3, -1, 100])
    ways: list[Callable[[], Any]] = [
        lambda: i,
        lambda: i + at(k),
        lambda: i - at(k),
        lambda: at(k) - i,
        lambda: i * at(k),
        lambda: lax.div(i, at(k)),
        lambda: i // at(k),
        lambda: lax.rem(i, at(k)),
        lambda: i % at(scope.choice([2, 3, 4])),
        lambda: -i if np.dtype(dtype).kind == "i" else ~i,
        lambda: abs(i),
        lambda: jnp.sign(i),
        lambda: lax.max(i, j),
        lambda: lax.min(i, j),
        lambda: i + j,
        lambda: i - j,
        lambda: jnp.where(j > at(0), i, at(k)),
        lambda: jnp.where(i > at(1), i, j),
        lambda: lax.clamp(at(0), i, at(4)),
        lambda: jnp.clip(i, at(-1), at(3)),
        lambda: i & at(3),
        lambda: i | at(4),
        lambda: lax.shift_right_arithmetic(i, at(1)),
        lambda: lax.shift_right_logical(i, at(1)),
        lambda: lax.shift_left(i, at(1)),
        lambda: i.astype(np.int8),
        lambda: i.astype(np.uint8),
        lambda: i.astype(np.int32),
        lambda: i.astype(np.float32),
        lambda: i.astype(np.float32) * 0.5,
        lambda: i.astype(bool).astype(np.int32),
        lambda: i * i,
        lambda: lax.population_count(i),
    ]
    made = scope.choice(ways)()
    if scope.chance(0.25) and made.dtype == dtype:
        made = made + at(scope.choice([1, -1, 2]))
    return made


def _connected(scope: Scope, parts: list[Any]) -> Any:
    result = parts[0]
    for part in parts[1:]:
        operation = scope.choice([lax.bitwise_and, lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.eq, lax.ne])
        result = operation(result, part)
    if scope.chance(0.1):
        result = result.astype(np.int32).astype(bool)
    return ~result if scope.chance(0.2) else result


def _condition(scope: Scope, i: Any, j: Any, n: int) -> Any:
    parts = [_compared(scope, i, scope.choice([0, n]))]
    parts += [_compared(scope, _made_from(scope, i, j), scope.choice([0, n, n - 1])) for _ in range(scope.small(0, 2))]
    if scope.chance(0.5):
        parts.append((i >= _number(0, i.dtype)) & (i < _number(n, i.dtype)))
    scope.rng.shuffle(parts)
    return _connected(scope, parts)


def _used(scope: Scope, i: Any, j: Any) -> Any:
    """The index in the guarded place: what was tested, or nearly."""
    return scope.choice([lambda: i, lambda: i, lambda: i, lambda: j, lambda: _made_from(scope, i, j)])()


def _as_index(value: Any) -> Any:
    return value.astype(np.int32) if np.dtype(value.dtype).kind not in "iu" else value


@step(4)
def tested_branch(scope: Scope) -> list[Any]:
    """cond(anything said of i, x[i], otherwise)."""
    x = _table(scope)
    i = jnp.asarray(scope.integer(()))
    j = jnp.asarray(scope.integer((), i.dtype))
    condition = _condition(scope, i, j, x.shape[0])
    index, other = _as_index(_used(scope, i, j)), _as_index(_used(scope, i, j))
    raw = scope.chance(0.3)

    def read(place: Any) -> Any:
        if raw:
            return _total(lax.dynamic_slice_in_dim(x, place, 1))
        return _total(x[place])

    otherwise = (lambda: read(other)) if scope.chance(0.4) else (lambda: np.int32(0))
    return [lax.cond(condition, lambda: read(index), otherwise)]


@step(3)
def tested_select(scope: Scope) -> list[Any]:
    """x[where(anything said of i, i, something inside)], elementwise or for a scalar."""
    x = _table(scope)
    shape = scope.choice([(), (4,), (4, 3), (3,)])
    i = jnp.asarray(scope.integer(shape))
    j = jnp.asarray(scope.integer(shape, i.dtype))
    condition = _condition(scope, i, j, x.shape[0])
    index = _used(scope, i, j)
    inside = jnp.asarray(scope.choice([0, x.shape[0] - 1]), index.dtype)
    chosen = jnp.where(condition, index, inside) if scope.chance(0.7) else jnp.where(condition, inside, index)
    return [x[_as_index(chosen)]]


@step(2)
def tested_elsewhere(scope: Scope) -> list[Any]:
    """The condition is on a moved copy of the index: turned, cut, spread or reshaped."""
    x = _table(scope)
    i = jnp.asarray(scope.integer(scope.choice([(4,), (3,)])))
    n = i.shape[0]
    moves: list[Callable[[Any], Any]] = [
        lambda v: jnp.flip(v),
        lambda v: jnp.roll(v, 1),
        lambda v: jnp.broadcast_to(v[:, None], (n, 3)),
        lambda v: jnp.broadcast_to(v[None, :], (3, n)),
        lambda v: jnp.broadcast_to(v[None, :], (n, n)),
        lambda v: v[:, None].T,
        lambda v: v[1:],
        lambda v: v[None, :],
        lambda v: jnp.concatenate([v, v]),
        lambda v: jnp.sort(v),
        lambda v: jnp.cumsum(v).astype(v.dtype),
    ]
    move, other = scope.choice(moves), scope.choice(moves)
    if scope.chance(0.6):
        other = move
    tested, used = move(i), other(i)
    if tested.shape != used.shape:
        used = tested
    edge = _number(x.shape[0], i.dtype)
    inside = (tested >= _number(0, i.dtype)) & (tested < edge)
    return [x[jnp.where(inside, used, jnp.zeros((), i.dtype))]]


@step(3)
def tested_everywhere(scope: Scope) -> list[Any]:
    """cond(all or any of an array, or its extremes), the array maybe empty."""
    x = _table(scope)
    n = x.shape[0]
    shape = scope.choice([(4,), (3,), (0,), (4, 3), (1,)])
    many = jnp.asarray(scope.integer(shape))
    one = jnp.asarray(scope.integer((), many.dtype))
    low, high = _number(0, many.dtype), _number(n + _slip(scope), many.dtype)
    kind = scope.choice(["all", "any", "not any", "extremes", "against one", "count", "one against all"])
    if kind == "all":
        condition = jnp.all((many >= low) & (many < high))
    elif kind == "any":
        condition = jnp.any((many >= low) & (many < high))
    elif kind == "not any":
        condition = ~jnp.any((many < low) | (many >= high))
    elif kind == "extremes" and many.size:
        condition = (jnp.min(many) >= low) & (jnp.max(many) < high)
    elif kind == "against one":
        condition = jnp.all(many < one) & (one < high)
    elif kind == "count":
        condition = jnp.sum((many >= low) & (many < high)) == scope.choice([many.size, 0, 1])
    else:
        condition = scope.choice([jnp.all, jnp.any])(one > many) & (one < high)
    use_one = scope.chance(0.5) or many.size == 0

    def read() -> Any:
        return _total(x[one]) if use_one else _total(x[many])

    return [lax.cond(condition, read, lambda: np.int32(0))]


@step(2)
def midpoint(scope: Scope) -> list[Any]:
    """Bisection in every form of the midpoint, its ends anywhere in any dtype."""
    x = _table(scope)
    n = x.shape[0]
    dtype = np.dtype(scope.choice(["int8", "uint8", "int32", "int16", "uint32"]))
    info = np.iinfo(dtype)
    ends = [
        (0, n),
        (0, n - 1),
        (-1, n),
        (info.min, info.max),
        (info.min, 0),
        (-100, 100),
        (n, 0),
        (0, info.max),
    ]
    start, stop = (_number(e, dtype) for e in scope.choice(ends))
    if scope.chance(0.3):
        stop = jnp.asarray(scope.integer((), dtype))
    one, two = _number(1, dtype), _number(2, dtype)
    halves: list[Callable[[Any, Any], Any]] = [
        lambda a, b: a + (b - a) // two,
        lambda a, b: a + lax.div(b - a, two),
        lambda a, b: a + lax.shift_right_logical(b - a, one),
        lambda a, b: a + lax.shift_right_arithmetic(b - a, one),
        lambda a, b: (a + b) // two,
        lambda a, b: lax.shift_right_logical(a + b, one),
        lambda a, b: b - (b - a) // two,
    ]
    half = scope.choice(halves)
    ends_kind = scope.choice(["mid", "mid", "mid+1", "crossed"])
    wanted = jnp.asarray(scope.integer(()))
    counted = scope.chance(0.5)

    def move(lo: Any, hi: Any) -> tuple[Any, Any, Any]:
        middle = half(lo, hi)
        value = _total(x[middle])
        below = value < wanted.astype(np.int32)
        after = middle + one if ends_kind == "mid+1" else middle
        if ends_kind == "crossed":
            return jnp.where(below, after, hi), jnp.where(below, lo, middle), value
        return jnp.where(below, after, lo), jnp.where(below, hi, middle), value

    if counted:
        ends_after, values = lax.scan(lambda c, _: (move(*c)[:2], move(*c)[2]), (start, stop), None, 4)
        return [*ends_after, values]

    def go(carry: Any) -> Any:
        return (carry[0] < carry[1]) & (carry[2] < 6)

    return list(lax.while_loop(go, lambda c: (*move(c[0], c[1])[:2], c[2] + 1), (start, stop, np.int32(0))))[:2]


@step(1.5)
def two_pointers(scope: Scope) -> list[Any]:
    """One index climbs, one falls, until they meet or pass."""
    x = _table(scope)
    n = x.shape[0]
    dtype = np.dtype(scope.choice(["int32", "int32", "int8", "uint8"]))
    start, stop = _number(scope.choice([0, 0, 1, -1]), dtype), _number(n - 1 + _slip(scope), dtype)
    if scope.chance(0.3):
        stop = jnp.clip(jnp.asarray(scope.integer((), dtype)), _number(0, dtype), stop)
    test = scope.choice([lax.lt, lax.le, lax.ne])
    both = scope.chance(0.5)
    one = _number(1, dtype)

    def body(carry: Any) -> Any:
        i, j, total, fuel = carry
        total = total + _total(x[i]) + _total(x[j])
        up = _total(x[i]) > 0
        after = (i + one, j - one) if both else (jnp.where(up, i + one, i), jnp.where(up, j, j - one))
        return (*after, total, fuel + 1)

    out = lax.while_loop(lambda c: test(c[0], c[1]) & (c[3] < 8), body, (start, stop, np.int32(0), np.int32(0)))
    return [out[0], out[1], out[2]]


@step(1.5)
def bounded_sum(scope: Scope) -> list[Any]:
    """A carry that grows by something bounded, for a bounded number of rounds, and then indexes."""
    x = _table(scope)
    n = x.shape[0]
    rounds = scope.choice([1, 2, 3, 4])
    dtype = np.dtype(scope.choice(["int32", "int32", "int8", "uint8"]))
    steps = jnp.asarray(scope.integer((rounds,), dtype))
    low, high = scope.choice([(0, 1), (-1, 1), (0, 2), (1, 1), (-1, 0), (0, 100)])
    steps = jnp.clip(steps, _number(low, dtype), _number(high, dtype))
    start = _number(scope.choice([0, 1, n - 1, -1]), dtype)
    kind = scope.choice(["scan", "fori", "while"])

    def one(total: Any, by: Any) -> Any:
        return total + by, _total(x[total])

    if kind == "scan":
        last, seen = lax.scan(one, start, steps)
        return [last, seen, x[last]]
    if kind == "fori":
        last = lax.fori_loop(0, rounds, lambda k, t: one(t, steps[k])[0], start)
        return [last, x[last]]
    last, _ = lax.while_loop(
        lambda c: c[1] < rounds, lambda c: (one(c[0], steps[c[1]])[0], c[1] + 1), (start, np.int32(0))
    )
    return [last, x[last]]
