"""Steps that compute: integer, boolean, float, moving, folding, ordering and library vocabulary.

A step takes the scope, applies one thing at random and returns the new values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.fuzz.scope import Scope, Unfit, fit, is_bool, is_key

Step = Callable[[Scope], list[Any]]
STEPS: list[tuple[Step, float]] = []


def step(weight: float) -> Callable[[Step], Step]:
    def register(function: Step) -> Step:
        STEPS.append((function, weight))
        return function

    return register


def pair(scope: Scope, shape: tuple[int, ...] | None = None) -> tuple[Any, Any]:
    """Two integers of one dtype and shape; the second is often a constant on an edge."""
    left = scope.integer(shape)
    if scope.chance(0.5):
        right: Any = np.broadcast_to(scope.corner(left.dtype), left.shape)
    else:
        right = scope.integer(left.shape, left.dtype)
    left, right = jnp.asarray(left), jnp.asarray(right)
    return (right, left) if scope.chance(0.2) else (left, right)


@step(10)
def arithmetic(scope: Scope) -> list[Any]:
    operation = scope.choice([lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min])
    return [operation(*pair(scope))]


@step(4)
def floor_arithmetic(scope: Scope) -> list[Any]:
    left, right = pair(scope)
    operation = scope.choice([jnp.floor_divide, jnp.remainder, jnp.fmod, jnp.mod, jnp.maximum, jnp.minimum])
    return [operation(left, right)]


@step(3)
def bit_arithmetic(scope: Scope) -> list[Any]:
    operation = scope.choice(
        [
            lax.bitwise_and,
            lax.bitwise_or,
            lax.bitwise_xor,
            lax.shift_left,
            lax.shift_right_logical,
            lax.shift_right_arithmetic,
        ]
    )
    return [operation(*pair(scope))]


@step(3)
def unary_arithmetic(scope: Scope) -> list[Any]:
    operation = scope.choice(
        [
            lax.neg,
            lax.abs,
            lax.sign,
            lax.bitwise_not,
            lax.population_count,
            lax.clz,
            lax.square,
            lambda v: lax.integer_pow(v, 3),
            lambda v: lax.integer_pow(v, 2),
        ]
    )
    value = scope.integer()
    if np.dtype(value.dtype).kind == "u" and operation in (lax.neg, lax.abs, lax.sign):
        operation = lax.bitwise_not
    return [operation(jnp.asarray(value))]


@step(4)
def clip(scope: Scope) -> list[Any]:
    value = jnp.asarray(scope.integer())
    low, high = (jnp.asarray(scope.corner(value.dtype)) for _ in range(2))
    if scope.chance(0.4):
        return [lax.clamp(low, value, high)]
    return [jnp.clip(value, low if scope.chance(0.8) else None, high)]


@step(4)
def compare(scope: Scope) -> list[Any]:
    return [scope.comparison(scope.shape())]


@step(3)
def logic(scope: Scope) -> list[Any]:
    left = scope.boolean()
    right = scope.boolean(left.shape)
    operation = scope.choice([lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor, lax.eq, lax.ne])
    result = operation(jnp.asarray(left), jnp.asarray(right))
    return [~result if scope.chance(0.3) else result]


@step(5)
def select(scope: Scope) -> list[Any]:
    left, right = pair(scope)
    return [jnp.where(scope.boolean(left.shape), left, right)]


@step(2)
def guarded_select(scope: Scope) -> list[Any]:
    """The value itself where a test of it holds, else something else."""
    value = jnp.asarray(scope.integer())
    low, high = (jnp.asarray(scope.corner(value.dtype)) for _ in range(2))
    inside = (value >= low) & (value < high) if scope.chance(0.5) else ~((value < low) | (value > high))
    other = jnp.asarray(scope.integer(value.shape, value.dtype))
    return [jnp.where(inside, value, other)]


@step(1)
def choose(scope: Scope) -> list[Any]:
    first = jnp.asarray(scope.integer())
    cases = [first, *(jnp.asarray(scope.integer(first.shape, first.dtype)) for _ in range(2))]
    which = jnp.clip(jnp.asarray(scope.integer(first.shape, np.dtype("int32"))), 0, 2)
    return [lax.select_n(which, *cases)]


@step(5)
def convert(scope: Scope) -> list[Any]:
    value = scope.find(lambda v: not is_key(v))
    if value is None:
        raise Unfit
    targets = [
        scope.integer_dtype(),
        scope.integer_dtype(),
        np.dtype("bool"),
        np.dtype("float32"),
        scope.float_dtype(),
    ]
    return [lax.convert_element_type(jnp.asarray(value), scope.choice(targets))]


@step(0.5)
def bitcast(scope: Scope) -> list[Any]:
    value = jnp.asarray(scope.number())
    same_size = {1: ["int8", "uint8"], 2: ["int16", "uint16"], 4: ["int32", "uint32", "float32"]}
    width = np.dtype(value.dtype).itemsize
    if width not in same_size:
        raise Unfit
    return [lax.bitcast_convert_type(value, np.dtype(scope.choice(same_size[width])))]


@step(3)
def iota(scope: Scope) -> list[Any]:
    if scope.chance(0.5):
        start, size, stride = scope.small(-2, 3), scope.choice([3, 4, 5]), scope.choice([1, 1, 2, 3, -1])
        return [jnp.arange(start, start + size * stride, stride, dtype=np.int32)]
    shape = scope.shape(1, 3)
    return [lax.broadcasted_iota(scope.integer_dtype(), shape, scope.small(0, len(shape) - 1))]


@step(3)
def table(scope: Scope) -> list[Any]:
    """A closed-over constant, its values often indices."""
    dtype, shape = scope.integer_dtype(), scope.shape(1, 2)
    if scope.chance(0.6) and 0 not in shape:
        n = scope.choice([3, 4])
        values = [scope.small(-1 if dtype.kind == "i" else 0, n) for _ in range(int(np.prod(shape)))]
        return [jnp.asarray(np.array(values, dtype).reshape(shape))]
    return [jnp.asarray(scope.constant(dtype, shape))]


@step(4)
def move(scope: Scope) -> list[Any]:
    value = scope.find(lambda v: v.ndim > 0 and not is_key(v))
    if value is None:
        raise Unfit
    value = jnp.asarray(value)
    axis = scope.small(0, value.ndim - 1)
    size = value.shape[axis]
    kind = scope.choice(
        ["rev", "transpose", "reshape", "slice", "expand", "pad", "roll", "tile", "fit", "repeat", "rank"]
    )
    if kind == "rev":
        return [jnp.flip(value, axis)]
    if kind == "transpose":
        order = list(range(value.ndim))
        scope.rng.shuffle(order)
        return [jnp.transpose(value, order)]
    if kind == "reshape":
        return [jnp.reshape(value, (-1,))] if value.size else [value[None]]
    if kind == "slice" and size > 1:
        start = scope.small(0, size - 1)
        stop = scope.small(start + 1, size)
        return [lax.slice_in_dim(value, start, stop, stride=scope.choice([1, 1, 2]), axis=axis)]
    if kind == "expand":
        return [jnp.expand_dims(value, axis)] if value.ndim < 3 else [value.sum(axis).astype(value.dtype)]
    if kind == "pad":
        widths = [(0, 0, 0)] * value.ndim
        widths[axis] = (scope.small(-1, 2), scope.small(-1, 2), scope.choice([0, 0, 1]))
        fill = jnp.asarray(scope.corner(value.dtype), value.dtype)
        return [lax.pad(value, fill, widths)]
    if kind == "rank":
        return (
            [jnp.expand_dims(value, scope.choice([(0, 2), (0, 1, 3), (1, 3)]))]
            if value.ndim == 2
            else [value[None, :, None]]
        )
    if kind == "roll":
        return [jnp.roll(value, scope.small(-2, 5), axis)]
    if kind == "tile" and value.ndim == 1 and size:
        return [jnp.tile(value, 2)[: scope.choice([4, 5, 3])]]
    if kind == "repeat" and value.ndim == 1 and size:
        return [jnp.repeat(value, 2)[:4]]
    return [fit(scope, value, scope.shape())]


@step(3)
def join(scope: Scope) -> list[Any]:
    first = scope.integer(scope.choice([(), (4,), (3,), (4, 3)]))
    second = scope.integer(first.shape, first.dtype)
    parts = [jnp.asarray(first), jnp.asarray(second)]
    if first.ndim and scope.chance(0.4):
        return [jnp.concatenate(parts, axis=scope.small(0, first.ndim - 1))]
    return [jnp.stack(parts, axis=scope.choice([0, -1]))]


@step(3)
def fold(scope: Scope) -> list[Any]:
    value = jnp.asarray(scope.integer(scope.shape(1, 3)))
    if value.size == 0:
        return [jnp.sum(value)]
    axis = scope.choice([None, *range(value.ndim)])
    operation = scope.choice([jnp.sum, jnp.prod, jnp.max, jnp.min])
    if scope.chance(0.2):
        folds = [lax.reduce_and_p, lax.reduce_or_p, lax.reduce_xor_p]
        axes = tuple(range(value.ndim)) if axis is None else (axis,)
        return [scope.choice(folds).bind(value, axes=axes)]
    if operation in (jnp.sum, jnp.prod) and scope.chance(0.6):
        return [operation(value, axis=axis, dtype=value.dtype)]
    return [operation(value, axis=axis)]


@step(1)
def fold_bool(scope: Scope) -> list[Any]:
    value = scope.boolean(scope.choice([(4,), (3,), (4, 3)]))
    return [scope.choice([jnp.all, jnp.any, jnp.sum])(jnp.asarray(value))]


@step(2)
def running(scope: Scope) -> list[Any]:
    value = jnp.asarray(scope.integer(scope.choice([(4,), (3,), (4, 3), (5,)])))
    axis = scope.small(0, value.ndim - 1)
    operation = scope.choice([lax.cumsum, lax.cummax, lax.cummin, lax.cumprod])
    return [operation(value, axis=axis, reverse=scope.chance(0.3))]


@step(2)
def running_count(scope: Scope) -> list[Any]:
    """How many so far: the usual way to make slot numbers from a mask."""
    mask = scope.boolean(scope.choice([(4,), (3,)]))
    return [jnp.cumsum(jnp.asarray(mask)) - scope.choice([0, 1])]


@step(2)
def position(scope: Scope) -> list[Any]:
    """argmax, argmin, argsort, sort, top_k, searchsorted: values that are positions."""
    value = jnp.asarray(scope.number(scope.choice([(4,), (3,), (4, 3)])))
    axis = scope.small(0, value.ndim - 1)
    kind = scope.choice(["argmax", "argmin", "argsort", "sort", "payload", "top_k", "searchsorted", "sort2"])
    if kind in ("argmax", "argmin"):
        return [getattr(jnp, kind)(value, axis=scope.choice([None, axis]))]
    if kind == "argsort":
        return [jnp.argsort(value, axis=axis, descending=scope.chance(0.3))]
    if kind == "sort":
        return [lax.sort(value, dimension=axis)]
    if kind == "payload":
        payload = jnp.asarray(scope.integer(value.shape))
        return list(lax.sort((value, payload), dimension=axis, num_keys=1))
    if kind == "sort2":
        other = jnp.asarray(scope.integer(value.shape))
        third = lax.broadcasted_iota(np.int32, value.shape, axis)
        return list(lax.sort((value, other, third), dimension=axis, num_keys=2))
    if kind == "top_k":
        return list(lax.top_k(value, scope.small(1, value.shape[-1])))
    line = jnp.sort(value.reshape(-1)[:3])
    queries = jnp.asarray(scope.integer(scope.choice([(), (4,)]))).astype(line.dtype)
    method = scope.choice(["scan", "scan_unrolled", "sort", "compare_all"])
    return [jnp.searchsorted(line, queries, side=scope.choice(["left", "right"]), method=method)]


@step(1)
def sized(scope: Scope) -> list[Any]:
    """Library routines with a static result size, which index past the end on purpose."""
    kind = scope.choice(["nonzero", "unique", "bincount", "where", "repeat", "segment", "one_hot", "digitize"])
    size = scope.choice([2, 3, 4, 5])
    if kind == "nonzero":
        mask = jnp.asarray(scope.boolean((4,)))
        return [jnp.nonzero(mask, size=size, fill_value=scope.choice([None, 0, -1, 4]))[0]]
    if kind == "where":
        mask = jnp.asarray(scope.boolean((4, 3)))
        return list(jnp.where(mask, size=size))
    value = jnp.asarray(scope.integer((4,)))
    if kind == "unique":
        return [jnp.unique(value, size=size)]
    if kind == "bincount":
        return [jnp.bincount(value.astype(np.int32), length=size)]
    if kind == "repeat":
        counts = jnp.clip(value.astype(np.int32), 0, 2)
        return [jnp.repeat(jnp.arange(4), counts, total_repeat_length=size)]
    if kind == "segment":
        data = jnp.asarray(scope.integer((4,)))
        return [jax.ops.segment_sum(data, value.astype(np.int32), size)]
    if kind == "one_hot":
        return [jax.nn.one_hot(value, 3, dtype=np.int32)]
    return [jnp.digitize(value.astype(np.int32), jnp.arange(size))]


@step(2)
def float_arithmetic(scope: Scope) -> list[Any]:
    left = jnp.asarray(scope.floating())
    kind = scope.choice(["binary", "unary", "round", "scale", "test", "where", "plain"])
    if kind == "plain":
        # A Python number takes the array's dtype, and is not the same number any more.
        number = scope.choice([0.1, 0.7, 2.99999999, 1 / 3, 1e-8, 0.999999999, 16777217.0, 3.3])
        ways = [lambda: left * number, lambda: left + number, lambda: jnp.where(left > number, number, left)]
        ways += [lambda: jnp.clip(left, -number, number), lambda: jnp.minimum(jnp.maximum(left, 0.0), number)]
        return [scope.choice(ways)(), jnp.where(left > 0, number, 0.25).astype(np.int32)]
    if kind == "binary":
        right = jnp.asarray(scope.floating(left.shape)).astype(left.dtype)
        return [scope.choice([lax.add, lax.sub, lax.mul, lax.div, lax.max, lax.min, lax.rem])(left, right)]
    if kind == "unary":
        functions = [lax.exp, lax.tanh, lax.logistic, lax.sqrt, lax.sin, lax.log, lax.abs, lax.neg, lax.sign]
        return [scope.choice(functions)(left)]
    if kind == "round":
        rounded = scope.choice([lax.floor, lax.ceil, lambda v: lax.round(v, lax.RoundingMethod.TO_NEAREST_EVEN)])
        return [rounded(left)]
    if kind == "scale":
        unit = jnp.clip(left, 0.0, 1.0) if scope.chance(0.6) else lax.logistic(left)
        return [(unit * scope.choice([3, 4, 2.999])).astype(np.int32)]
    if kind == "test":
        return [scope.choice([lax.is_finite, jnp.isnan, lambda v: v > 0, lambda v: v <= 1])(left)]
    return [jnp.where(jnp.isnan(left), jnp.zeros_like(left), left)]


@step(0.7)
def matrix(scope: Scope) -> list[Any]:
    left = jnp.asarray(scope.number((4, 3)))
    right = jnp.asarray(scope.number((4, 3))).astype(left.dtype)
    if is_bool(left):
        raise Unfit
    return [scope.choice([lambda a, b: a.T @ b, lambda a, b: jnp.vdot(a, b), jnp.inner])(left, right)]


@step(0.25)
def random_draw(scope: Scope) -> list[Any]:
    seed = jnp.asarray(scope.integer((), np.dtype("uint32"))) if scope.chance(0.7) else np.uint32(7)
    key = jax.random.key(seed)
    kind = scope.choice(["bits", "randint", "permutation", "choice", "uniform", "fold"])
    if kind == "bits":
        return [jax.random.bits(key, (4,), scope.choice([np.uint32, np.uint8]))]
    if kind == "randint":
        low = scope.small(-1, 1)
        high: Any = jnp.asarray(scope.integer((), np.dtype("int32"))) if scope.chance(0.3) else scope.small(1, 5)
        return [jax.random.randint(key, scope.choice([(), (4,)]), low, high)]
    if kind == "permutation":
        return [jax.random.permutation(key, 4)]
    if kind == "choice":
        return [jax.random.choice(key, 4, (3,), replace=scope.chance(0.5))]
    if kind == "uniform":
        return [(jax.random.uniform(key, (4,)) * 4).astype(np.int32)]
    return [jax.random.bits(jax.random.fold_in(key, scope.small(0, 3)), ()), jax.random.split(key)]


@step(0.3)
def use_key(scope: Scope) -> list[Any]:
    key = scope.find(is_key)
    if key is None:
        raise Unfit
    return [jax.random.bits(key if key.ndim == 0 else key[0], (3,))]
