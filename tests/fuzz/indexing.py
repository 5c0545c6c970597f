"""Steps that access arrays at computed positions, in every way JAX offers and in every mode."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.scope import Scope, Unfit, is_bool, is_integer
from tests.fuzz.vocabulary import step

MODES = ("clip", "fill", "promise_in_bounds", "drop", None)
RAW_MODES = (
    lax.GatherScatterMode.CLIP,
    lax.GatherScatterMode.FILL_OR_DROP,
    lax.GatherScatterMode.PROMISE_IN_BOUNDS,
)


def _number(value: int, dtype: Any) -> Any:
    """`value` in `dtype`, wrapped if it does not fit: what a careless cast does."""
    width = 8 * np.dtype(dtype).itemsize
    return jnp.asarray(np.array(value % (1 << width), np.uint64).astype(dtype))


def index(scope: Scope, n: int, shape: tuple[int, ...] = (), window: int = 1) -> Any:
    """An index for a dimension of size `n`: often within, sometimes one off, sometimes anything."""
    last = max(n - window, 0)
    raw = jnp.asarray(scope.integer(shape))
    dtype = raw.dtype

    def at(value: int) -> Any:
        return _number(value, dtype)

    slip = scope.choice([0, 0, 0, 1, -1])
    kind = scope.weighted(
        [
            "raw",
            "clip",
            "maxmin",
            "mod",
            "rem",
            "where",
            "mask",
            "iota",
            "constant",
            "clamp",
            "argmax",
            "below",
            "above",
            "float",
            "shift",
            "sorted",
            "cumulative",
            "abs",
            "divide",
            "negative",
        ],
        [4, 4, 2, 3, 2, 3, 1, 2, 2, 2, 1, 1, 1, 1, 1, 0.5, 0.5, 1, 1, 1],
    )
    if kind == "raw":
        return raw
    if kind == "clip":
        return jnp.clip(raw, at(0), at(last + slip))
    if kind == "maxmin":
        return lax.min(lax.max(raw, jnp.broadcast_to(at(0), shape)), jnp.broadcast_to(at(last + slip), shape))
    if kind == "mod":
        return raw % jnp.broadcast_to(at(last + 1 + slip), shape)
    if kind == "rem":
        return lax.rem(raw, jnp.broadcast_to(at(last + 1 + slip), shape))
    if kind == "where":
        inside = (raw >= at(0)) & (raw <= at(last + slip))
        return jnp.where(inside, raw, at(scope.choice([0, last, -1, n])))
    if kind == "mask":
        return raw & at((1 << max(last.bit_length() - (slip == 0), 0)) - 1)
    if kind == "iota":
        line = lax.broadcasted_iota(np.int32, shape, len(shape) - 1) if shape else np.int32(0)
        return line + scope.choice([0, 0, 1, -1, last]) if scope.chance(0.7) else line * scope.choice([2, -1, 1])
    if kind == "constant":
        return jnp.asarray(scope.constant(scope.integer_dtype(), shape, n))
    if kind == "clamp":
        return lax.clamp(at(0), raw, at(last + slip))
    if kind == "argmax":
        return jnp.broadcast_to(jnp.argmax(jnp.asarray(scope.integer((n + slip if n + slip > 0 else 1,)))), shape)
    if kind == "below":
        return jnp.where(raw < at(last + 1 + slip), raw, at(last))
    if kind == "above":
        return jnp.where(raw >= at(slip), raw, at(0))
    if kind == "float":
        unit = lax.logistic(jnp.asarray(scope.floating(shape)))
        return (unit * (last + 1 + slip)).astype(np.int32)
    if kind == "shift":
        return lax.shift_right_logical(raw, jnp.broadcast_to(at(scope.choice([1, 28, 6, 31])), shape))
    if kind == "sorted":
        return jnp.argsort(jnp.asarray(scope.integer((n,))))[0] * jnp.ones(shape, np.int32)
    if kind == "cumulative":
        return jnp.cumsum(jnp.asarray(scope.boolean((n,))))[-1] + slip + jnp.zeros(shape, np.int32)
    if kind == "abs":
        return jnp.abs(raw) % at(max(last + slip, 1))
    if kind == "divide":
        return jnp.clip(raw, at(0), at((last + 1) * 2 - 1 + slip)) // at(2)
    return jnp.clip(raw, at(-n + min(slip, 0)), at(last + max(slip, 0)))


def indices(scope: Scope, n: int) -> Any:
    return index(scope, n, scope.choice([(4,), (3,), (1,), (2, 4), (), (5,)]))


@step(6)
def read_element(scope: Scope) -> list[Any]:
    """x[i], x[i, j], x[..., i]: dynamic_slice, or gather for a mixture."""
    x = jnp.asarray(scope.array())
    kind = scope.choice(["first", "all", "last", "none"])
    if kind == "all":
        return [x[tuple(index(scope, n) for n in x.shape)]]
    if kind == "last":
        return [x[..., index(scope, x.shape[-1])]]
    if kind == "none":
        return [x[index(scope, x.shape[0])][None]]
    return [x[index(scope, x.shape[0])]]


@step(6)
def read_many(scope: Scope) -> list[Any]:
    x = jnp.asarray(scope.array())
    rows = indices(scope, x.shape[0])
    kind = scope.choice(["rows", "get", "pairs", "mixed", "take", "along"])
    mode = scope.choice(MODES)
    if kind == "get":
        return [x.at[rows].get(mode=mode)]
    if kind == "pairs" and x.ndim >= 2:
        return [x[rows, index(scope, x.shape[1], rows.shape)]]
    if kind == "mixed" and x.ndim >= 2:
        return [x[rows, scope.choice([0, -1, slice(0, 2)])]]
    if kind == "take":
        axis = scope.small(0, x.ndim - 1)
        mode = scope.choice([None, "clip", "wrap", "fill"])
        return [jnp.take(x, index(scope, x.shape[axis], (3,)), axis=axis, mode=mode)]
    if kind == "along":
        axis = scope.small(0, x.ndim - 1)
        shape = tuple(2 if d == axis else s for d, s in enumerate(x.shape))
        mode = scope.choice([None, "clip", "fill", "promise_in_bounds"])
        return [jnp.take_along_axis(x, index(scope, x.shape[axis], shape), axis=axis, mode=mode)]
    return [x[rows]]


def _write(scope: Scope, x: Any, where: Any, mode: Any) -> Any:
    name = scope.choice(["set", "set", "add", "multiply", "min", "max", "apply", "subtract"])
    place = x.at[where]
    if is_bool(x):
        name = "set"
    if name == "apply":
        return place.apply(lambda v: v + jnp.ones((), v.dtype), mode=mode)
    value = scope.corner(x.dtype) if scope.chance(0.6) or not is_integer(x) else scope.integer((), x.dtype)
    return getattr(place, name)(jnp.asarray(value, x.dtype), mode=mode)


@step(5)
def write(scope: Scope) -> list[Any]:
    x = jnp.asarray(scope.array())
    mode = scope.choice(["clip", "drop", "promise_in_bounds", None, "fill"])
    kind = scope.choice(["one", "many", "pair", "row"])
    if kind == "one":
        return [_write(scope, x, index(scope, x.shape[0]), mode)]
    if kind == "pair" and x.ndim >= 2:
        rows = indices(scope, x.shape[0])
        return [_write(scope, x, (rows, index(scope, x.shape[1], rows.shape)), mode)]
    if kind == "row" and x.ndim >= 2:
        return [_write(scope, x, (slice(None), index(scope, x.shape[1])), mode)]
    return [_write(scope, x, indices(scope, x.shape[0]), mode)]


@step(5)
def slide(scope: Scope) -> list[Any]:
    """dynamic_slice and dynamic_update_slice with windows wider than one."""
    x = jnp.asarray(scope.array())
    sizes = tuple(scope.small(1, n) for n in x.shape)
    kind = scope.choice(["slice", "slice_in_dim", "index_in_dim", "update", "update_in_dim"])
    axis = scope.small(0, x.ndim - 1)
    n, size = x.shape[axis], sizes[axis]
    if kind == "slice_in_dim":
        return [lax.dynamic_slice_in_dim(x, index(scope, n, (), size), size, axis)]
    if kind == "index_in_dim":
        return [lax.dynamic_index_in_dim(x, index(scope, n), axis, keepdims=scope.chance(0.5))]
    negative = scope.chance(0.5)
    starts = [index(scope, m, (), s) for m, s in zip(x.shape, sizes, strict=True)]
    starts = [s.astype(starts[0].dtype) for s in starts]
    if kind == "slice":
        return [lax.dynamic_slice(x, starts, sizes, allow_negative_indices=negative)]
    if is_integer(x):
        update = jnp.asarray(scope.integer(sizes, x.dtype))
    else:
        update = jnp.zeros(sizes, x.dtype)
    if kind == "update":
        return [lax.dynamic_update_slice(x, update, starts, allow_negative_indices=negative)]
    update = lax.slice_in_dim(x, 0, size, axis=axis)
    return [lax.dynamic_update_slice_in_dim(x, update, index(scope, n, (), size), axis)]


@step(3)
def batched(scope: Scope) -> list[Any]:
    """vmap over an access: operand and index batched, or one of them."""
    x = jnp.asarray(scope.array(2, 3))
    b, n = x.shape[0], x.shape[1]
    which = scope.choice(["both", "index", "operand"])
    wide = scope.choice([(), (3,)])
    size = scope.small(1, n)
    position = index(scope, n, (b, *wide) if which != "operand" else wide)
    start = index(scope, n, (b,) if which != "operand" else (), size)
    mode = scope.choice(MODES)
    kind = scope.choice(["read", "get", "write", "slice", "update"])
    value = jnp.asarray(scope.corner(x.dtype), x.dtype)

    def one(row: Any, i: Any, s: Any) -> Any:
        if kind == "read":
            return row[i]
        if kind == "get":
            return row.at[i].get(mode=mode)
        if kind == "write":
            return row.at[i].set(value, mode=mode)
        if kind == "slice":
            return lax.dynamic_slice_in_dim(row, s, size)
        return lax.dynamic_update_slice_in_dim(row, row[:size], s, 0)

    axes = {"both": (0, 0, 0), "index": (None, 0, 0), "operand": (0, None, None)}[which]
    return [jax.vmap(one, in_axes=axes)(x, position, start)]


def _raw_shape(scope: Scope) -> Any:
    """An operand with the pieces of valid dimension numbers for it."""
    x = jnp.asarray(scope.array(1, 3))
    rank = x.ndim
    batching = [d for d in range(rank) if scope.chance(0.2)][:1] if rank > 1 else []
    free = [d for d in range(rank) if d not in batching]
    indexed = [d for d in free if scope.chance(0.7)] or free[:1]
    scope.rng.shuffle(indexed)
    sizes = [1 if d in batching or scope.chance(0.5) else scope.small(1, n) for d, n in enumerate(x.shape)]
    gone = [d for d in free if sizes[d] == 1 and scope.chance(0.7)]
    window = [d for d in free if d not in gone]
    batch = [x.shape[d] for d in batching] + list(scope.choice([(), (3,), (2,), (2, 2)]))
    places = sorted(scope.rng.sample(range(len(batch) + len(window)), len(window)))
    columns = [index(scope, x.shape[d], tuple(batch), sizes[d]).astype(np.int32) for d in indexed]
    return x, batching, indexed, sizes, gone, window, batch, places, jnp.stack(columns, axis=-1)


@step(3)
def raw_gather(scope: Scope) -> list[Any]:
    """lax.gather with dimension numbers at random."""
    x, batching, indexed, sizes, gone, _, _, places, where = _raw_shape(scope)
    numbers = lax.GatherDimensionNumbers(
        offset_dims=tuple(places),
        collapsed_slice_dims=tuple(gone),
        start_index_map=tuple(indexed),
        operand_batching_dims=tuple(batching),
        start_indices_batching_dims=tuple(range(len(batching))),
    )
    fill = {} if scope.chance(0.7) else {"fill_value": scope.choice([0, 1, 5, -1, 300])}
    return [lax.gather(x, where, numbers, tuple(sizes), mode=scope.choice(RAW_MODES), **fill)]


@step(2)
def raw_scatter(scope: Scope) -> list[Any]:
    """lax.scatter and its family with dimension numbers at random."""
    x, batching, indexed, sizes, gone, window, batch, places, where = _raw_shape(scope)
    if is_bool(x):
        raise Unfit
    numbers = lax.ScatterDimensionNumbers(
        update_window_dims=tuple(places),
        inserted_window_dims=tuple(gone),
        scatter_dims_to_operand_dims=tuple(indexed),
        operand_batching_dims=tuple(batching),
        scatter_indices_batching_dims=tuple(range(len(batching))),
    )
    rest = iter(batch)
    inner = iter(sizes[d] for d in window)
    shape = tuple(next(inner) if p in places else next(rest) for p in range(len(batch) + len(window)))
    updates = jnp.asarray(scope.integer(shape)).astype(x.dtype)
    family = [
        lax.scatter,
        lax.scatter_add,
        lax.scatter_mul,
        lax.scatter_min,
        lax.scatter_max,
        lax.scatter_sub,
    ]
    return [scope.choice(family)(x, where, updates, numbers, mode=scope.choice(RAW_MODES))]


@step(4)
def masked_read(scope: Scope) -> list[Any]:
    """Read first, select after: the guard sits behind the access, aligned with it or only nearly."""
    x = jnp.asarray(scope.array(1, 2))
    axis = scope.small(0, x.ndim - 1)
    n = x.shape[axis]
    i = jnp.asarray(scope.integer(scope.choice([(), (3,), (4,), (n,), (3, 3)])))
    low, high = _number(0, i.dtype), _number(n + scope.choice([0, 0, 0, 1]), i.dtype)
    inside = (i >= low) & (i < high)
    mode = scope.choice([None, "promise_in_bounds"])
    value = x.at[(slice(None),) * axis + (i,)].get(mode=mode)
    turns = [lambda v: v, lambda v: v, lambda v: v.T, lambda v: jnp.flip(v), lambda v: v.reshape(-1)]
    turns += [lambda v: v[..., None], lambda v: v[None], lambda v: jnp.roll(v, 1), lambda v: jnp.stack([v, v])]
    turned, guard = scope.choice(turns)(value), inside
    if scope.chance(0.3):
        turned = scope.choice([lambda v: -v, lambda v: v + v, lambda v: v.astype(np.int32), jnp.abs])(
            turned if not is_bool(turned) else turned.astype(np.int32)
        )
    for _ in range(scope.small(0, 2)):
        guard = scope.choice(turns)(guard)
    if scope.chance(0.3) and guard.ndim:
        guard = scope.choice([jnp.all, jnp.any])(guard)
    while guard.ndim < turned.ndim and scope.chance(0.8):
        guard = scope.choice([lambda v: v[..., None], lambda v: v[None]])(guard)
    try:
        shape = jnp.broadcast_shapes(guard.shape, turned.shape)
    except ValueError:
        raise Unfit from None
    if max(shape, default=1) > 16 or len(shape) > 4:
        raise Unfit
    if scope.chance(0.2) and is_bool(turned):
        return [guard & turned]
    other = jnp.zeros((), turned.dtype)
    pair = (turned, other) if scope.chance(0.8) else (other, turned)
    chosen = jnp.where(guard, *pair)
    return [chosen, jnp.sum(turned)] if scope.chance(0.1) else [chosen]


@step(2)
def table_of_indices(scope: Scope) -> list[Any]:
    """An index read from one table, used on another."""
    x = jnp.asarray(scope.array())
    n = x.shape[0]
    entries = np.array([scope.small(0, n - 1) for _ in range(4)], np.int32)
    if scope.chance(0.3):
        entries[scope.small(0, 3)] = scope.choice([-1, n, -n, n + 1])
    return [x[jnp.asarray(entries)[index(scope, 4, scope.choice([(), (3,)]))]]]
