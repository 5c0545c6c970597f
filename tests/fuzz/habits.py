"""What real programs do to get an index, each at random one off, with the wrong guard, or in a dtype that wraps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.fuzz.fitted import Given, maker
from tests.fuzz.relations import _at, condition
from tests.fuzz.scope import Scope

Read = Callable[[Any], Any]


def _slip(scope: Scope) -> int:
    return int(scope.choice([0, 0, 0, 1, -1]))


def _whole(value: Any) -> Any:
    return value.astype(np.int32)


@maker()
def row_pointers(scope: Scope, given: Given, read: Read) -> Any:
    """CSR: rows of different lengths one after another."""
    most = scope.choice([1, 2, 3])
    counts = jnp.clip(_whole(given.row), 0, most)
    starts = jnp.concatenate([jnp.zeros(1, np.int32), jnp.cumsum(counts)])
    i = jnp.clip(_whole(given.a), 0, 3 + max(_slip(scope), 0))
    first, last = starts[i], starts[jnp.minimum(i + 1, 4)]
    kind = scope.choice(["element", "loop", "last", "masked", "total"])
    if kind == "loop":
        return lax.fori_loop(first, last, lambda j, t: t + read(j), jnp.float32(0))
    if kind == "masked":
        places = first + jnp.arange(most)
        return jnp.sum(jnp.where(places < last, read(jnp.where(places < last, places, scope.choice([0, first]))), 0))
    if kind == "last":
        return lax.cond(last > first, lambda: read(last - 1), lambda: jnp.float32(0))
    return read(starts[-1] + _slip(scope) if kind == "total" else first)


@maker()
def ring(scope: Scope, given: Given, read: Read) -> Any:
    """A ring buffer: a cursor that goes round, a lag behind it."""
    n = scope.choice([3, 4, 5])
    lag = scope.choice([0, 1, 2, n])
    around = scope.choice([lambda p: p % n, lambda p: lax.rem(p, n), lambda p: jnp.where(p >= n, p - n, p)])
    start = scope.choice([lambda: jnp.int32(0), lambda: _whole(given.a) % n, lambda: jnp.clip(_whole(given.a), 0, n)])()
    buffer = jnp.zeros(n + max(_slip(scope), 0), np.float32)

    def body(carry: Any, value: Any) -> Any:
        buffer, at = carry
        buffer = buffer.at[at].set(value.astype(np.float32))
        return (buffer, around(at + scope.choice([1, 1, 2]))), read(around(at - lag) if lag else at)

    _, found = lax.scan(body, (buffer, start), given.row)
    return jnp.sum(found)


@maker()
def cursor(scope: Scope, given: Given, read: Read) -> Any:
    """A cursor that grows by what was written, under a promise or a guard."""
    length = jnp.clip(_whole(given.b), 0, scope.choice([2, 4]))
    start = _whole(given.a)
    room = scope.choice([4, 8])
    if scope.chance(0.6):
        redzone.assume((start >= 0) & (start + length <= room + max(_slip(scope), 0)))
    cache = jnp.zeros(room)
    kind = scope.choice(["end", "loop", "window", "guarded"])
    if kind == "loop":
        return lax.fori_loop(0, length, lambda k, t: t + read(start + k), jnp.float32(0))
    if kind == "window":
        cache = lax.dynamic_update_slice(cache, jnp.ones(scope.choice([1, 2])), (start,))
    if kind == "guarded":
        fits = (start >= 0) & (start + length < room + _slip(scope))
        return lax.cond(fits, lambda: read(start + length), lambda: jnp.float32(0))
    return read(start + length - scope.choice([0, 1])) + jnp.sum(cache)


@maker()
def permutation(scope: Scope, given: Given, read: Read) -> Any:
    """argsort, its inverse, a sort with a payload."""
    order = scope.choice([
        lambda: jnp.argsort(given.row),
        lambda: jnp.argsort(-_whole(given.row)),
        lambda: jnp.argsort(given.parts),
        lambda: lax.sort((given.row, jnp.arange(4)), num_keys=1)[1],
        lambda: jax.random.permutation(jax.random.key(3), 4),
        lambda: lax.top_k(given.row, 4)[1],
    ])()  # fmt: skip
    inverse = jnp.zeros(4, np.int32).at[order].set(jnp.arange(4) + max(_slip(scope), 0))
    index = scope.choice([lambda: order, lambda: inverse, lambda: order[inverse], lambda: order[0] + inverse[1]])()
    return jnp.sum(read(index))


@maker(1.5)
def searched(scope: Scope, given: Given, read: Read) -> Any:
    """searchsorted, among numbers that are sorted or not."""
    line = scope.choice([
        lambda: jnp.sort(given.row),
        lambda: given.row,
        lambda: jnp.cumsum(jnp.clip(_whole(given.row), 0, 3)),
        lambda: jnp.array([0, 2, 3, 9], given.row.dtype),
    ])()  # fmt: skip
    wanted = scope.choice([given.a, given.board[0]]).astype(line.dtype)
    side, method = scope.choice(["left", "right"]), scope.choice(["scan", "scan_unrolled", "sort", "compare_all"])
    found = jnp.searchsorted(line, wanted, side=side, method=method)
    index = scope.choice([
        lambda: found,
        lambda: found - 1,
        lambda: jnp.clip(found - 1, 0, 3 + max(_slip(scope), 0)),
        lambda: jnp.where(found < 4, found, 0),
        lambda: jnp.minimum(found, 3),
    ])()  # fmt: skip
    return jnp.sum(read(index))


@maker(1.5)
def share_of_the_last(scope: Scope, given: Given, read: Read) -> Any:
    """A draw by weights: the search for a share of a running sum's last element."""
    weights = scope.choice([
        lambda: given.parts,
        lambda: jnp.abs(given.parts),
        lambda: jax.nn.softmax(given.parts),
        lambda: jnp.exp(jnp.clip(given.parts, -3, 3)),
        lambda: jnp.where(given.flags, given.parts, 0.0),
        lambda: jnp.array([0.25, 0.25, 0.25, 0.25]),
    ])()  # fmt: skip
    sums = jnp.cumsum(weights)
    share = scope.choice([
        lambda: 1 - jax.random.uniform(jax.random.key(given.a.astype(np.uint32))),
        lambda: jnp.clip(given.parts[0], 0.0, scope.choice([1.0, 1.1, 0.5])),
        lambda: jnp.clip(given.parts[0], -1.0, 1.5),
        lambda: given.parts[1],
        lambda: jnp.float32(scope.choice([1.0, 1.0000001, 2.0])),
    ])()  # fmt: skip
    last = scope.choice([lambda: sums[-1], lambda: sums[-1], lambda: sums[2], lambda: jnp.sum(weights)])()
    method = scope.choice(["scan", "scan", "scan_unrolled", "compare_all"])
    side = scope.choice(["left", "left", "left", "right"])
    return read(jnp.searchsorted(sums, last * share, side=side, method=method))


@maker()
def drawn(scope: Scope, given: Given, read: Read) -> Any:
    """jax.random's own draws."""
    key = jax.random.key(given.a.astype(np.uint32))
    weights = scope.choice([jax.nn.softmax(given.parts), jnp.array([0.5, 0.0, 0.5, 0.0]), given.parts])
    return read(scope.choice([
        lambda: jax.random.choice(key, 4, p=weights),
        lambda: jax.random.categorical(key, given.parts),
        lambda: jax.random.randint(key, (), 0, jnp.maximum(_whole(given.b), 1)),
        lambda: jax.random.choice(key, given.row),
    ])())  # fmt: skip


@maker()
def slots(scope: Scope, given: Given, read: Read) -> Any:
    """Numbers of the chosen, by a running count."""
    slot = jnp.cumsum(given.flags) - scope.choice([1, 1, 0])
    index = scope.choice([
        lambda: slot,
        lambda: jnp.where(given.flags, slot, scope.choice([0, 4, -1])),
        lambda: jnp.where(~given.flags, slot, 0),
        lambda: jnp.sum(given.flags) - 1,
        lambda: jnp.nonzero(given.flags, size=4, fill_value=scope.choice([0, 4, -1]))[0],
        lambda: jnp.argmax(given.flags),
    ])()  # fmt: skip
    return jnp.sum(read(index))


@maker(1.5)
def behind_a_mask(scope: Scope, given: Given, read: Read) -> Any:
    """Double where: the index made harmless, the value hidden, one of both or both."""
    i = scope.choice([_whole(given.row), _whole(given.board[0])])
    top = scope.choice([2, 3, 9])
    ok = scope.choice([
        lambda: (i >= 0) & (i <= top),
        lambda: (i >= 0) & (i <= top) & given.flags,
        lambda: i <= top,
        lambda: ~((i < 0) | (i > top)),
        lambda: jnp.logical_and(i >= 0, jnp.roll(i, 1) <= top),
    ])()  # fmt: skip
    harmless = jnp.where(ok, i, scope.choice([0, 0, top + 1, -1])) if scope.chance(0.6) else i
    found = jnp.stack([read(h) for h in harmless[:2]])
    return jnp.sum(jnp.where(ok[:2], found, 0.0))


@maker(1.5)
def from_floats(scope: Scope, given: Given, read: Read) -> Any:
    """A share of a length, cut down to a whole number."""
    n = scope.choice([3, 4, 10])
    u = given.parts
    u = scope.choice([u, jnp.clip(u, 0, 1), jnp.abs(u), jnp.where(jnp.isnan(u), 0.0, u), u * u, jax.nn.sigmoid(u)])
    cut = scope.choice([
        lambda v: v.astype(np.int32),
        lambda v: jnp.floor(v).astype(np.int32),
        lambda v: jnp.round(v).astype(np.int32),
        lambda v: jnp.ceil(v).astype(np.int32) - 1,
        lambda v: jnp.trunc(v).astype(scope.choice([np.uint8, np.int8, np.uint32])),
        lambda v: (v + 0.5).astype(np.int32),
    ])  # fmt: skip
    index = cut(u * scope.choice([n, n - 0.001, n - 1]))
    if scope.chance(0.3):
        index = jnp.minimum(index, jnp.asarray(n - 1 + max(_slip(scope), 0), index.dtype))
    return read(index[0]) if scope.chance(0.5) else jnp.sum(read(index))


@maker(2)
def narrow(scope: Scope, given: Given, read: Read) -> Any:
    """Arithmetic near the ends of a narrow type, and the index what is left of it."""
    dtype = np.dtype(scope.choice(["int8", "uint8", "int8", "uint8", "uint32", "int16"]))
    a, b = given.a.astype(dtype), given.b.astype(dtype)
    k = scope.choice([1, 2, 3, 16, 60, 100])
    made = scope.choice([
        lambda: a + _at(k, a),
        lambda: a - b,
        lambda: a * _at(k, a),
        lambda: a - _at(1, a),
        lambda: a * _at(k, a) + b,
        lambda: lax.shift_left(a, _at(scope.choice([1, 4, 6]), a)),
        lambda: -a if dtype.kind == "i" else ~a,
        lambda: abs(a - b),
        lambda: (a + b) // _at(2, a),
        lambda: a * a,
    ])()  # fmt: skip
    left = scope.choice([
        lambda: made,
        lambda: made.astype(np.int32),
        lambda: made.astype(np.uint8),
        lambda: made & _at(15, made),
        lambda: jnp.clip(made, _at(0, made), _at(20, made)),
        lambda: jnp.where(made < _at(20, made), made, _at(0, made)),
        lambda: lax.shift_right_logical(made, _at(3, made)),
        lambda: made % _at(7, made),
    ])()  # fmt: skip
    return read(left)


@maker(2)
def bits(scope: Scope, given: Given, read: Read) -> Any:
    """Fields packed into a number, products, hashes: what needs bits or products to be followed."""
    a, b = _whole(given.a), _whole(given.b)
    p, q = jnp.clip(a, 0, 3), jnp.clip(b, 0, 5)
    ways: list[Callable[[], Any]] = [
        lambda: (a & 3) | ((b & 1) << 2),
        lambda: (a & 3) ^ (b & 3),
        lambda: (p << 2) | (q & 3),
        lambda: a ^ (a >> 1) & 7,
        lambda: p * q,
        lambda: p * q - p,
        lambda: p * p - q,
        lambda: p * (5 - q),
        lambda: lax.population_count(a & 7),
        lambda: (a * 37 + b) & 7,
        lambda: ((a * 5) ^ b) % 6,
        lambda: (p * q) // 2 + p,
        lambda: jnp.where(p * q < 7, p * q, 0),
        lambda: lax.clz(jnp.maximum(a, 1)) - 20,
        lambda: a - (a & 3),
        lambda: (a | 3) - (a & ~3),
        lambda: p * q % 4 + (p ^ q),
        lambda: ((p & q) << 1) + (p ^ q),
    ]
    index = scope.choice(ways)()
    if scope.chance(0.35):
        test = scope.choice([index < 8, p * q <= 6, (a & 1) == 0, (p ^ q) < 3, index - p <= q])
        return lax.cond(test, lambda: read(index), lambda: jnp.float32(0))
    return read(index)


@maker(1.5)
def two_counters(scope: Scope, given: Given, read: Read) -> Any:
    """One counter that another one bounds: kept elements, a stack, a merge of two rows."""
    kind = scope.choice(["kept", "stack", "merge", "window", "matched"])
    row = _whole(given.row)
    slip = _slip(scope)
    if kind == "kept":
        flip = scope.chance(0.5)

        def kept_or_not(i: Any, carry: Any) -> Any:
            kept, total = carry
            return kept + (row[i] > 1).astype(np.int32), total + read(i - kept if flip else kept + slip)

        return lax.fori_loop(0, 4, kept_or_not, (jnp.int32(0), jnp.float32(0)))[1]
    if kind == "stack":
        depth = scope.choice([2, 3])

        def push_or_pop(top: Any, flag: Any) -> Any:
            pushed = jnp.where(top < depth + max(slip, 0), top + 1, top)
            popped = jnp.where(top > min(slip, 0), top - 1, top)
            after = jnp.where(flag, pushed, popped)
            return after, read(after)

        return jnp.sum(lax.scan(push_or_pop, jnp.int32(0), given.flags)[1])
    if kind == "merge":
        other, which = _whole(given.board[0]), scope.small(0, 2)

        def merge(carry: Any) -> Any:
            i, j, total = carry
            first = row[jnp.minimum(i, 3)] <= other[jnp.minimum(j, 3)]
            total = total + read([i + j, i, j][which])
            return i + first, j + ~first, total

        end = scope.choice([4, 3, 7])
        together = scope.chance(0.5)
        return lax.while_loop(
            lambda c: (c[0] + c[1] < end + slip) if together else (c[0] < end) & (c[1] < end),
            merge,
            (jnp.int32(0), jnp.int32(0), jnp.float32(0)),
        )[2]
    if kind == "window":

        def slide(carry: Any) -> Any:
            low, high, total = carry
            grow = row[jnp.minimum(high, 3)] > 0
            return low + ~grow, high + grow, total + read(high - low)

        return lax.while_loop(lambda c: (c[1] < 4) & (c[0] <= c[1] + slip), slide, (
            jnp.int32(0), jnp.int32(0), jnp.float32(0)))[2]  # fmt: skip

    def match(carry: Any, value: Any) -> Any:
        opened, closed = carry
        up = value > 0
        return (opened + up, closed + (~up & (closed < opened))), read(opened - closed)

    return jnp.sum(lax.scan(match, (jnp.int32(0), jnp.int32(0)), row)[1])


@maker(1.5)
def through_a_table(scope: Scope, given: Given, read: Read) -> Any:
    """Indices scattered into a table, or gathered from one, then used."""
    n = scope.choice([3, 4, 5])
    values = _whole(given.row)
    places = scope.choice([
        lambda: jnp.clip(_whole(given.board[1]), 0, n - 1),
        lambda: jnp.arange(4) % n,
        lambda: _whole(given.board[1]),
        lambda: jnp.argsort(given.board[1]),
    ])()  # fmt: skip
    table = jnp.full(n, scope.choice([0, 1, n]), np.int32)
    mode = scope.choice([None, "drop", "clip", "promise_in_bounds"])
    table = scope.choice([
        lambda: table.at[places].set(values, mode=mode),
        lambda: table.at[places].max(values, mode=mode),
        lambda: table.at[places].min(values, mode=mode),
        lambda: table.at[places].add(1, mode=mode),
        lambda: jax.ops.segment_sum(jnp.ones(4, np.int32), places, n),
        lambda: jnp.bincount(places, length=n),
        lambda: lax.dynamic_update_slice(table, values[:2], (_whole(given.a),)),
    ])()  # fmt: skip
    at = scope.choice([lambda: _whole(given.b) % n, lambda: jnp.clip(_whole(given.b), 0, n - 1), lambda: 0])()
    links = scope.choice([0, 0, 1, 2])
    index = table[at]
    for _ in range(links):
        index = table[jnp.clip(index, 0, n - 1 + max(_slip(scope), 0))]
    return read(index)


@maker(1.5)
def promised(scope: Scope, given: Given, read: Read) -> Any:
    """What `redzone.assume` says of several inputs at once, of arrays, of what was computed."""
    a, b, row = _whole(given.a), _whole(given.b), _whole(given.row)
    n = scope.choice([4, 9])
    kind = scope.choice(["sum", "difference", "sorted", "bounded", "product", "any", "range", "equal"])
    if kind == "sum":
        redzone.assume((a >= 0) & (b >= 0) & (a + b <= n))
        return read(scope.choice([a + b, a, a + b + _slip(scope), 2 * a + b, a - b]))
    if kind == "difference":
        redzone.assume((b - a <= n) & (a <= b))
        return read(scope.choice([b - a, b - a + _slip(scope), a - b]))
    if kind == "sorted":
        redzone.assume(jnp.all(row[1:] >= row[:-1]))
        redzone.assume((row[0] >= 0) & (row[3] <= n))
        return jnp.sum(read(scope.choice([row, row[1], row[2] - row[1], row[3] - row[0] + _slip(scope)])))
    if kind == "bounded":
        redzone.assume(jnp.all((row >= 0) & (row < n)))
        return jnp.sum(read(scope.choice([row, jnp.max(row), row[0] + row[1], row[::-1]])))
    if kind == "product":
        redzone.assume((a >= 0) & (2 * a + 3 * b <= n) & (b >= 0))
        return read(scope.choice([a, b, a + b, 2 * a + 3 * b]))
    if kind == "range":
        redzone.assume(row, min=0, max=n)
        return jnp.sum(read(scope.choice([row, row + _slip(scope), jnp.cumsum(row)])))
    if kind == "equal":
        redzone.assume(a == b + 1)
        return read(scope.choice([a - b, b - a + 1, jnp.abs(a - b)]))
    redzone.assume(condition(scope, [a, b, row[0]]))
    return lax.cond(condition(scope, [a, b]), lambda: read(a), lambda: read(b))


@maker()
def windows(scope: Scope, given: Given, read: Read) -> Any:
    """Blocks, strides and rows flattened into one index."""
    size, count = scope.choice([2, 3]), scope.choice([2, 3, 4])
    a, b = jnp.clip(_whole(given.a), 0, count - 1), jnp.clip(_whole(given.b), 0, size - 1 + max(_slip(scope), 0))
    board = jnp.arange(12).reshape(3, 4)
    index = scope.choice([
        lambda: a * size + b,
        lambda: a * size + jnp.arange(size),
        lambda: (a * size + b) // size,
        lambda: (a * size + b) % (size + _slip(scope)),
        lambda: lax.dynamic_slice(board, (a, b), (1, 2))[0, 1],
        lambda: jnp.ravel_multi_index((a, b), (count, size), mode="clip"),
        lambda: jnp.unravel_index(a * size + b, (count, size))[scope.small(0, 1)],
        lambda: a * (a + 1) // 2 + jnp.minimum(b, a),
        lambda: (count - 1 - a) * size + (size - 1 - b),
        lambda: jnp.repeat(jnp.arange(count), jnp.clip(_whole(given.row)[:1], 0, 2)[0], total_repeat_length=4),
    ])()  # fmt: skip
    return jnp.sum(read(index))


@maker()
def sentinels(scope: Scope, given: Given, read: Read) -> Any:
    """A number that stands for none: -1 that wraps, n that is dropped."""
    i = _whole(given.row)
    none = scope.choice([-1, -1, 4, 9])
    valid = scope.choice([given.flags, i > 0, i != none])
    index = jnp.where(valid, jnp.clip(i, 0, 3), none)
    guard = scope.choice([lambda: index >= 0, lambda: index != none, lambda: index < 4, lambda: valid])()
    if scope.chance(0.4):
        return lax.cond(guard[0], lambda: read(index[0]), lambda: jnp.float32(0))
    return jnp.sum(read(jnp.where(guard, index, 0) if scope.chance(0.5) else index))


@maker()
def named_axes(scope: Scope, given: Given, read: Read) -> Any:
    """Where a lane stands among others, or a number of another lane."""

    def lane(value: Any) -> Any:
        at = lax.axis_index("lanes")
        other = scope.choice([
            lambda: lax.ppermute(value, "lanes", [(k, (k + 1) % 4) for k in range(4)]),
            lambda: lax.pmax(value, "lanes"),
            lambda: lax.psum(value, "lanes"),
            lambda: value,
        ])()  # fmt: skip
        return scope.choice([at + other, at * 2, jnp.maximum(at, other), at - other])

    return jnp.sum(read(jax.vmap(lane, axis_name="lanes")(_whole(given.row))))
