"""Steps whose index is made of several values at once, so that only what relates them keeps it inside.

What a range per value cannot say, the exact stage does: sums, differences, quotients, selects, tables and
writes of small integers, under branches, loops, promises and calls that share one run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.fuzz.scope import Scope
from tests.fuzz.vocabulary import step

DTYPES = ("int32", "int8", "uint8", "int16", "uint32")
DTYPE_WEIGHTS = (8.0, 2.0, 1.5, 0.7, 1.0)
LONG = 42
"""Equations that make a function too long to be inlined where it is called twice."""


def _at(value: int, like: Any) -> Any:
    """A number as an array beside another."""
    dtype = np.dtype(like.dtype)
    number = np.array(value % (1 << (8 * dtype.itemsize)), np.uint64).astype(dtype)
    return jnp.broadcast_to(jnp.asarray(number), like.shape)


def _names(scope: Scope, shape: tuple[int, ...], dtype: Any) -> list[Any]:
    """Two to four integers of one type, most of them small."""
    found = []
    for _ in range(scope.small(2, 4)):
        value = jnp.asarray(scope.integer(shape, dtype))
        if scope.chance(0.35):
            top = scope.choice([1, 2, 3, 5, 9])
            value = (
                lax.clamp(_at(0, value), value, _at(top, value))
                if scope.chance(0.6)
                else lax.rem(value, _at(top + 1, value))
            )
        found.append(value)
    return found


def condition(scope: Scope, names: Sequence[Any], depth: int = 1) -> Any:
    """A relation between values, or several connected."""
    if depth and scope.chance(0.4):
        one, other = condition(scope, names, depth - 1), condition(scope, names, depth - 1)
        return scope.choice([lambda: one & other, lambda: one | other, lambda: ~one, lambda: one ^ other])()
    left = expression(scope, names, depth)
    right = scope.choice([lambda: scope.choice(names), lambda: _at(scope.choice([0, 1, 2, 5, 9, 10]), left)])()
    test = scope.choice([lax.lt, lax.le, lax.gt, lax.ge, lax.eq, lax.ne])
    return test(left, right)


def expression(scope: Scope, names: Sequence[Any], depth: int) -> Any:
    """A value of the same type as the names, made of them."""
    if depth <= 0:
        return scope.choice(names)

    def one() -> Any:
        return expression(scope, names, depth - 1)

    a = one()
    k = scope.choice([1, 2, 3, 4, 5])
    wide = np.dtype(a.dtype).kind == "i"
    ways: list[Callable[[], Any]] = [
        lambda: a + one(),
        lambda: a - one(),
        lambda: _at(k, a) * a + one(),
        lambda: one() - _at(k, a) * a,
        lambda: a + _at(scope.choice([1, -1, 2, 9, -9]), a),
        lambda: _at(scope.choice([0, 5, 9]), a) - a,
        lambda: lax.max(a, one()),
        lambda: lax.min(a, one()),
        lambda: lax.clamp(_at(0, a), a, _at(scope.choice([3, 9, 10]), a)),
        lambda: lax.max(_at(0, a), lax.min(a, one())),
        lambda: jnp.where(condition(scope, names), a, one()),
        lambda: jnp.where(condition(scope, names), a + _at(1, a), a),
        lambda: lax.select_n((one() & _at(1, a)).astype(bool), a, one()),
        lambda: _masked_sum(scope, names, a, one()),
        lambda: a // _at(k, a),
        lambda: a % _at(k, a),
        lambda: lax.div(a, _at(k, a)),
        lambda: lax.rem(a, _at(k, a)),
        lambda: a - a // _at(k, a) * _at(k, a),
        lambda: abs(a - one()) if wide else lax.max(a, one()) - lax.min(a, one()),
        lambda: -a if wide else ~a,
        lambda: jnp.sign(a - one()) * _at(k, a) if wide else a,
        lambda: a & _at(scope.choice([1, 3, 7]), a),
        lambda: lax.shift_right_arithmetic(a, _at(scope.choice([1, 2]), a)),
        lambda: lax.shift_left(a, _at(scope.choice([1, 2]), a)),
        lambda: lax.shift_right_logical(a, _at(1, a)),
        lambda: a.astype(scope.choice(["int8", "uint8", "int32", "uint32"])).astype(a.dtype),
        lambda: _from_table(scope, a),
        lambda: _from_written(scope, a, one(), one()),
        lambda: _from_moved(scope, a, one()),
        lambda: lax.cond(condition(scope, names), lambda: a, one) if not a.shape else a,
        lambda: lax.reduce_max_p.bind(a[None], axes=(0,), out_sharding=None) if not a.shape else a,
    ]
    made = scope.choice(ways)()
    return made if made.dtype == a.dtype else made.astype(a.dtype)


def _masked_sum(scope: Scope, names: Sequence[Any], a: Any, b: Any) -> Any:
    chooser = scope.choice(names)
    first, second = ((chooser == _at(k, chooser)).astype(a.dtype) for k in scope.rng.sample([0, 1, 2], 2))
    return a * first + b * second


def _from_table(scope: Scope, a: Any) -> Any:
    size = scope.choice([3, 4, 6])
    table = jnp.asarray(np.array([scope.choice([0, 1, 2, 3, 5, 9]) for _ in range(size)], np.dtype(a.dtype)))
    at = lax.rem(a, _at(size, a)) if scope.chance(0.5) else lax.clamp(_at(0, a), a, _at(size - 1, a))
    return table.at[at].get(mode=scope.choice(["promise_in_bounds", "clip", "fill"]))


def _from_written(scope: Scope, a: Any, b: Any, at: Any) -> Any:
    """An element of an array that something was written to."""
    if a.shape:
        return a.at[scope.small(0, a.shape[0] - 1)].set(b[0]) if scope.chance(0.7) else a
    size, where = 4, lax.rem(at, _at(4, at))
    blank = jnp.stack([a, a + _at(1, a), _at(2, a), b])
    form = scope.small(0, 3)
    if form == 0:
        written = blank.at[where].set(b, mode=scope.choice(["drop", "clip", "promise_in_bounds"]))
    elif form == 1:
        written = lax.dynamic_update_slice(blank, jnp.stack([b, a]), (at,))
    elif form == 2:
        written = blank.reshape(2, 2).at[lax.rem(at, _at(2, at))].set(b).reshape(size)
    else:
        numbers = lax.ScatterDimensionNumbers((0, 1), (), (0,))
        rows = lax.clamp(_at(0, at), at, _at(1, at))
        update = jnp.stack([b])[None]
        written = lax.scatter(blank.reshape(2, 2), rows[None], update, numbers, mode="promise_in_bounds").reshape(size)
    return written[scope.small(0, 3)] if scope.chance(0.5) else written.at[where].get(mode="clip")


def _from_moved(scope: Scope, a: Any, b: Any) -> Any:
    """An element of an array that was put together and rearranged."""
    if a.shape:
        return scope.choice([lambda: lax.rev(a, (0,)), lambda: jnp.concatenate([a[:0], b[:1], a[1:]])])()
    row = jnp.concatenate([jnp.stack([a, b]), jnp.zeros(0, a.dtype), jnp.arange(4).astype(a.dtype) + b])
    moved = scope.choice(
        [
            lambda: row,
            lambda: row.reshape(2, 3).T.reshape(6),
            lambda: row.reshape(3, 1, 2)[:, 0, ::-1].reshape(6),
            lambda: lax.rev(row, (0,)),
        ]
    )()
    at = scope.choice([lambda: _at(scope.small(0, 5), a), lambda: lax.clamp(_at(0, b), b, _at(5, b))])()
    if scope.chance(0.3):
        return lax.dynamic_slice(moved, (at,), (2,))[scope.small(0, 1)]
    return moved.at[at].get(mode="promise_in_bounds")


def access(scope: Scope, table: Any, index: Any) -> Any:
    """A number read from, or the sum after a write to, a table of one dimension at an index as it is."""
    form = scope.small(0, 4)
    if form == 0 and not index.shape:
        return lax.dynamic_slice_p.bind(table, index, slice_sizes=(1,))[0]
    if form == 1 and not index.shape:
        return jnp.sum(lax.dynamic_update_slice_p.bind(table, jnp.ones(2, table.dtype), index))
    if form == 2:
        return jnp.sum(table.at[index].set(1.0, mode=scope.choice(["drop", "promise_in_bounds"])))
    if form == 3:
        return jnp.sum(table[index])
    return jnp.sum(table.at[index].get(mode=scope.choice(["promise_in_bounds", "fill", "clip"])))


def _table(scope: Scope) -> Any:
    return jnp.zeros(scope.choice([2, 4, 9, 10, 10, 19, 20, 40]), np.float32)


def _long(value: Any) -> Any:
    for _ in range(LONG):
        value = lax.neg(value)
    return value


def _setting(scope: Scope) -> tuple[Any, list[Any]]:
    dtype = np.dtype(scope.weighted(DTYPES, DTYPE_WEIGHTS))
    if scope.trace.wide and scope.chance(0.4):
        dtype = np.dtype("int64")
    names = _names(scope, () if scope.chance(0.75) else (4,), dtype)
    if scope.chance(0.3):
        promise(scope, names)
    return _table(scope), names


def promise(scope: Scope, names: Sequence[Any]) -> None:
    """Something of the values that redzone may believe."""
    if scope.chance(0.7):
        redzone.assume(condition(scope, names))
    else:
        value = scope.choice(names)
        redzone.assume(value, min=0, max=scope.choice([3, 9]))


@step(3)
def related(scope: Scope) -> list[Any]:
    table, names = _setting(scope)
    return [access(scope, table, expression(scope, names, scope.small(1, 3)))]


@step(2)
def related_in_a_branch(scope: Scope) -> list[Any]:
    table, names = _setting(scope)
    names = [n if not n.shape else n[0] for n in names]

    def branch(name: str) -> Callable[[], Any]:
        inner = scope.inner(name, [])

        def run() -> Any:
            if inner.chance(0.2):
                promise(inner, names)
            return access(inner, table, expression(inner, names, inner.small(1, 2)))

        return run

    return [lax.cond(condition(scope, names), branch("then"), branch("else"))]


@step(2)
def related_in_a_scan(scope: Scope) -> list[Any]:
    table, names = _setting(scope)
    names = [n if not n.shape else n[0] for n in names]
    by = scope.choice([1, 1, -1, 2, 3])
    length = scope.choice([1, 3, 4])
    rows = jnp.arange(length).astype(names[0].dtype)
    if scope.chance(0.4):
        rows = jnp.asarray(scope.integer((length,), names[0].dtype))
    start = scope.choice([lambda: scope.choice(names), lambda: _at(scope.choice([0, 1, 5]), names[0])])()
    inner = scope.inner("body", [])

    def body(carry: Any, row: Any) -> Any:
        count, other = carry
        known = [*names, count, count, row, other]
        if inner.chance(0.15):
            promise(inner, known)
        index = expression(inner, known, inner.small(1, 2))
        return (count + _at(by, count), expression(inner, known, 1)), access(inner, table, index)

    (_, last), found = lax.scan(body, (start, names[-1]), rows, reverse=scope.chance(0.3))
    return [found, last]


@step(2)
def related_in_a_while(scope: Scope) -> list[Any]:
    table, names = _setting(scope)
    batched = bool(names[0].shape)
    by, back = scope.choice([1, 1, 2, 3]), scope.choice([-1, 1, 2])
    inner, test = scope.inner("body", []), scope.inner("test", [])

    def loop(*names: Any) -> Any:
        bound = scope.choice([4, 9, 10])

        def going(carry: Any) -> Any:
            test.rng.seed(f"{test.trace.seed}:{test.path}")
            more = carry[0] < _at(bound, carry[0])
            return more & condition(test, [*names, carry[0], carry[1]]) if test.chance(0.6) else more

        def body(carry: Any) -> Any:
            inner.rng.seed(f"{inner.trace.seed}:{inner.path}")
            count, other, total = carry
            index = expression(inner, [*names, count, other], inner.small(1, 2))
            return count + _at(by, count), other + _at(back, other), total + access(inner, table, index)

        return lax.while_loop(going, body, (names[0], names[-1], jnp.float32(0)))[2]

    return [jax.vmap(loop)(*names) if batched else loop(*names)]


@step(2)
def related_in_calls(scope: Scope) -> list[Any]:
    """One function called with equal ranges but different relations."""
    table, names = _setting(scope)
    names = [n if not n.shape else n[0] for n in names]
    inner = scope.inner("body", [])
    looped = scope.chance(0.3)

    @jax.jit
    def shared(a: Any, b: Any) -> Any:
        inner.rng.seed(f"{inner.trace.seed}:{inner.path}")

        def reads() -> Any:
            return access(inner, table, expression(inner, [a, b], inner.small(1, 2)))

        if looped:
            held = condition(inner, [a, b])
            return _long(
                lax.while_loop(lambda c: held & (c[0] < 2), lambda c: (c[0] + 1, c[1] + reads()), (0, jnp.float32(0)))[
                    1
                ]
            )
        if inner.chance(0.4):
            return _long(lax.cond(condition(inner, [a, b]), reads, lambda: jnp.float32(0)))
        return _long(reads())

    a, b = names[:2]
    calls = [(a, b), (b, a), (lax.max(a, b), lax.min(a, b)), (lax.min(a, b), lax.max(a, b)), (a, a)]
    return [sum(shared(*scope.choice(calls)) for _ in range(scope.small(2, 3)))]


RELATED = [related, related, related_in_a_branch, related_in_a_scan, related_in_a_while, related_in_calls]
