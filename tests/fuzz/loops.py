"""Loop and branch shapes that real programs index with, each at random one off or in an awkward dtype.

Counters, guards, bisections, triangles, sentinels, slots: where a proof needs an invariant, and where a
wrong invariant would call an access safe.
"""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.indexing import _number
from tests.fuzz.scope import Scope
from tests.fuzz.vocabulary import step


def _table(scope: Scope) -> Any:
    return jnp.asarray(scope.array(1, 2))


def _slip(scope: Scope) -> int:
    return int(scope.choice([0, 0, 0, 1, -1]))


def _total(value: Any) -> Any:
    return jnp.sum(value).astype(np.int32)


@step(2)
def counting_while(scope: Scope) -> list[Any]:
    """while i < n: x[i]; i += k, in any integer dtype, up or down."""
    x = _table(scope)
    n = x.shape[0]
    dtype = scope.integer_dtype()
    stride = scope.choice([1, 1, 2, 3])
    limit = _number(n + _slip(scope), dtype)
    start = _number(scope.choice([0, 0, 1, -1, n]), dtype)
    if scope.chance(0.4):
        raw = jnp.asarray(scope.integer((), dtype))
        start = jnp.clip(raw, _number(scope.choice([0, -1, -3]), dtype), _number(scope.choice([n, n - 1, 2]), dtype))
    down = scope.chance(0.3)
    test = scope.choice(["<", "!=", "<="]) if not down else scope.choice([">=", ">", "!="])

    def go(carry: Any) -> Any:
        i, fuel, _ = carry
        tests = {"<": i < limit, "<=": i <= limit, "!=": i != limit, ">=": i >= 0, ">": i > 0}
        return tests[test] & (fuel < 12)

    def body(carry: Any) -> Any:
        i, fuel, total = carry
        after = i - _number(stride, dtype) if down else i + _number(stride, dtype)
        return after, fuel + 1, total + _total(x[after if scope.chance(0.2) else i])

    i, _, total = lax.while_loop(go, body, (start, np.int32(0), np.int32(0)))
    return [i, total]


@step(2)
def guarded_branch(scope: Scope) -> list[Any]:
    """cond(test of i, x[i], 0), the test a comparison, a conjunction, or its negation."""
    x = _table(scope)
    n = x.shape[0]
    i = jnp.asarray(scope.integer(()))
    low, high = _number(0, i.dtype), _number(n + _slip(scope), i.dtype)
    kind = scope.choice(["and", "not_or", "upper", "lower", "all", "other", "nested", "eq", "xor"])
    inside = (i >= low) & (i < high)
    if kind == "not_or":
        inside = ~((i < low) | (i >= high))
    if kind == "upper":
        inside = i < high
    if kind == "lower":
        inside = ~(i < low)
    if kind == "all":
        inside = jnp.all(jnp.stack([i >= low, i < high]))
    if kind == "other":
        inside = jnp.asarray(scope.boolean(()))
    if kind == "eq":
        inside = i == _number(scope.choice([0, n - 1, n]), i.dtype)
    if kind == "xor":
        inside = (i < low) ^ (i < high)

    def read() -> Any:
        if kind == "nested":
            return lax.cond(i * 2 < high * 2, lambda: _total(x[i]), lambda: np.int32(0))
        place = i + _number(scope.choice([0, 0, 1, -1]), i.dtype)
        return _total(x[place])

    otherwise = (lambda: np.int32(0)) if scope.chance(0.6) else (lambda: _total(x[i]))
    return [lax.cond(inside, read, otherwise)]


@step(1.5)
def triangular(scope: Scope) -> list[Any]:
    """for i in range(n): for j in range(i): x[j], or x[i, j], or x[i + j]."""
    x = _table(scope)
    n = x.shape[0]
    outer = max(n + _slip(scope), 0)
    offset = scope.choice([0, 0, 1, -1])
    kind = scope.choice(["j", "i+j", "i-j", "n-1-j", "i*2+j"])

    def row(i: Any, total: Any) -> Any:
        def element(j: Any, inner: Any) -> Any:
            place = {"j": j, "i+j": i + j, "i-j": i - j, "n-1-j": n - 1 - j, "i*2+j": i * 2 + j}[kind]
            return inner + _total(x[place])

        return lax.fori_loop(0, i + offset, element, total)

    return [lax.fori_loop(0, outer, row, np.int32(0))]


@step(1.5)
def bisection(scope: Scope) -> list[Any]:
    """while lo < hi: mid = (lo + hi) // 2; one of them moves."""
    x = jnp.asarray(scope.integer((4,)))
    n = 4
    wanted = jnp.asarray(scope.integer((), x.dtype))
    slip = _slip(scope)

    def go(carry: Any) -> Any:
        lo, hi, fuel = carry
        return (lo < hi) & (fuel < 8)

    def body(carry: Any) -> Any:
        lo, hi, fuel = carry
        mid = (lo + hi) // 2
        below = x[mid] < wanted
        return jnp.where(below, mid + 1, lo), jnp.where(below, hi, mid), fuel + 1

    lo, hi, _ = lax.while_loop(go, body, (np.int32(0), np.int32(n + slip), np.int32(0)))
    return [lo, x[lo] if scope.chance(0.5) else hi]


@step(1.5)
def counters_in_scan(scope: Scope) -> list[Any]:
    """A carry that counts, saturates, wraps around, doubles, swaps or flips while a scan runs."""
    x = _table(scope)
    n = x.shape[0]
    length = scope.choice([3, 4, 5, 8])
    kind = scope.choice(["count", "saturate", "ring", "double", "swap", "flip", "if", "halve", "negate", "wrap8"])
    dtype = np.dtype(scope.choice(["int32", "int32", "int8", "uint8"]))
    start = _number(scope.choice([0, 1, -1, n - 1]), dtype)
    top = _number(n - 1 + _slip(scope), dtype)
    mask = jnp.asarray(scope.boolean((length,)))

    def one(carry: Any, flag: Any) -> Any:
        c, d = carry
        value = _total(x[c])
        plus = c + _number(1, dtype)
        after = {
            "count": lambda: plus,
            "saturate": lambda: jnp.minimum(plus, top),
            "ring": lambda: plus % (top + _number(1, dtype)),
            "double": lambda: c * _number(2, dtype),
            "swap": lambda: d,
            "flip": lambda: top - c,
            "if": lambda: jnp.where(flag, plus, c),
            "halve": lambda: c // _number(2, dtype),
            "negate": lambda: -c if dtype.kind == "i" else ~c,
            "wrap8": lambda: c + _number(100, dtype),
        }[kind]()
        return (after, c if kind == "swap" else d), value

    (c, d), ys = lax.scan(one, (start, top), mask, reverse=scope.chance(0.2))
    return [c, d, ys]


@step(1)
def slots(scope: Scope) -> list[Any]:
    """Compact the chosen elements: slot numbers by cumsum, then a scatter."""
    mask = jnp.asarray(scope.boolean((4,)))
    slot = jnp.cumsum(mask) - 1
    if scope.chance(0.5):
        slot = jnp.where(mask, slot, scope.choice([4, -1, 0]))
    out = jnp.zeros((4 + scope.choice([0, -1, 1]),), np.int32)
    return [out.at[slot].set(jnp.arange(4), mode=scope.choice([None, "drop", "promise_in_bounds"]))]


@step(1)
def append(scope: Scope) -> list[Any]:
    """A buffer with a fill pointer in the carry."""
    length, room = scope.choice([3, 4, 5]), 4
    keep = jnp.asarray(scope.boolean((length,)))
    data = jnp.asarray(scope.integer((length,), np.dtype("int32")))
    start = jnp.asarray(np.int32(scope.choice([0, 0, 1, 2])))

    def one(carry: Any, item: Any) -> Any:
        buffer, count = carry
        flag, value = item
        if scope.chance(0.5):
            buffer = buffer.at[count].set(value)
        else:
            buffer = lax.dynamic_update_index_in_dim(buffer, value, count, 0)
        return (buffer, count + flag.astype(np.int32)), count

    (buffer, count), seen = lax.scan(one, (jnp.zeros(room, np.int32), start), (keep, data))
    return [buffer, count, seen]


@step(1)
def pointers(scope: Scope) -> list[Any]:
    """Follow links: i = next[i], where the links are a table or the caller's."""
    n = 4
    if scope.chance(0.5):
        links: Any = jnp.asarray(np.array([scope.small(0, n - 1 + (scope.chance(0.1))) for _ in range(n)], np.int32))
    else:
        links = jnp.clip(jnp.asarray(scope.integer((n,), np.dtype("int32"))), 0, n - 1 + _slip(scope))

    def body(_: Any, i: Any) -> Any:
        return links[i]

    return [lax.fori_loop(0, 3, body, jnp.asarray(np.int32(scope.choice([0, 1, 3]))))]


@step(1)
def state_machine(scope: Scope) -> list[Any]:
    """A state in the carry, each state's branch moving to another; a table indexed by it."""
    table = jnp.asarray(np.arange(3, dtype=np.int32))
    bound = 3 + _slip(scope)

    def one(state: Any, flag: Any) -> Any:
        moves = [
            lambda s: s + 1,
            lambda s: jnp.where(flag, s, 2),
            lambda s: jnp.zeros_like(s) + scope.choice([0, 1]),
        ]
        value = table[state]
        return lax.switch(state, moves, state) % bound, value

    flags = jnp.asarray(scope.boolean((4,)))
    last, ys = lax.scan(one, np.int32(scope.choice([0, 1, 2])), flags)
    return [last, ys]


@step(1)
def lanes(scope: Scope) -> list[Any]:
    """vmap of a while: finished lanes run on, their results unused."""
    x = jnp.asarray(scope.array(1, 1))
    n = x.shape[0]
    limits = jnp.clip(jnp.asarray(scope.integer((3,), np.dtype("int32"))), 0, n + _slip(scope))

    def lane(limit: Any) -> Any:
        def body(carry: Any) -> Any:
            i, total = carry
            return i + 1, total + _total(x[i])

        return lax.while_loop(lambda c: c[0] < limit, body, (np.int32(0), np.int32(0)))

    return list(jax.vmap(lane)(limits))


@step(1)
def blocks(scope: Scope) -> list[Any]:
    """Windows of a block size over a loop counter."""
    x = jnp.asarray(scope.integer((scope.choice([8, 6, 9]),)))
    n, block = x.shape[0], scope.choice([2, 3, 4])
    count = max(n // block + scope.choice([0, 0, 1, -1]), 1)
    kind = scope.choice(["fori", "scan", "iota"])

    def read(i: Any) -> Any:
        return _total(lax.dynamic_slice_in_dim(x, i * block, block))

    if kind == "fori":
        return [lax.fori_loop(0, count, lambda i, t: t + read(i), np.int32(0))]
    if kind == "scan":
        return [lax.scan(lambda t, i: (t + read(i), i), np.int32(0), jnp.arange(count))[0]]
    return [x[(jnp.arange(count)[:, None] * block + jnp.arange(block)).reshape(-1)]]
