"""One or more equations for every primitive that has a rule, as JAX itself writes them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.ad_checkpoint import checkpoint_name

from redzone.frontend import compat

PRIMITIVES = compat.primitives()
DTYPES = ("int32", "int8", "uint8", "uint32", "int16")
Entry = tuple[str, Callable[..., Any], tuple[jax.ShapeDtypeStruct, ...]]


def _of(dtype: str, *shapes: tuple[int, ...]) -> tuple[jax.ShapeDtypeStruct, ...]:
    return tuple(jax.ShapeDtypeStruct(s, np.dtype(dtype)) for s in shapes)


def _elementwise(dtypes: tuple[str, ...] = DTYPES) -> Iterator[Entry]:
    binary = [lax.add, lax.sub, lax.mul, lax.div, lax.rem, lax.max, lax.min]
    compare = [lax.lt, lax.le, lax.gt, lax.ge, lax.eq, lax.ne]
    bits = [lax.bitwise_and, lax.bitwise_or, lax.bitwise_xor]
    shifts = [lax.shift_left, lax.shift_right_logical, lax.shift_right_arithmetic]
    for dtype in dtypes:
        for op in (*binary, *compare, *bits, *shifts):
            yield f"{op.__name__} {dtype}", op, _of(dtype, (), ())
            yield f"{op.__name__} {dtype}[4]", op, _of(dtype, (4,), (4,))
        for op in (lax.bitwise_not, lax.population_count, lax.clz, lax.square):
            yield f"{op.__name__} {dtype}", op, _of(dtype, (4,))
        if not dtype.startswith("u"):
            for op in (lax.neg, lax.abs, lax.sign):
                yield f"{op.__name__} {dtype}", op, _of(dtype, (4,))
        for exponent in (0, 2, 3, 5):
            yield (
                f"integer_pow {exponent} {dtype}",
                lambda v, e=exponent: lax.integer_pow(v, e),
                _of(dtype, ()),
            )
        yield f"clamp {dtype}", lax.clamp, _of(dtype, (), (4,), ())
        yield f"clamp {dtype} each", lax.clamp, _of(dtype, (4,), (4,), (4,))
        yield f"select {dtype}", lax.select_n, (*_of("bool", (4,)), *_of(dtype, (4,), (4,)))
        yield f"select scalar {dtype}", lax.select_n, (*_of("bool", ()), *_of(dtype, (4,), (4,)))
    yield "select 3", lax.select_n, (*_of("int32", (4,)), *_of("int32", (4,), (4,), (4,)))
    for op in (*bits, lax.eq, lax.ne, lax.lt, lax.max, lax.min):
        yield f"{op.__name__} bool", op, _of("bool", (4,), (4,))
    yield "not bool", lax.bitwise_not, _of("bool", (4,))
    yield "select bool", lax.select_n, _of("bool", (4,), (4,), (4,))
    yield (
        "stop_gradient",
        lax.stop_gradient_p.bind if hasattr(lax, "stop_gradient_p") else jnp.copy,
        _of("int32", (4,)),
    )
    yield "copy", lambda v: PRIMITIVES["copy_p"].bind(v), _of("int32", (4,))
    yield "name", lambda v: checkpoint_name(v, "a"), _of("int32", (4,))
    yield "add_any", lambda a, b: PRIMITIVES["add_jaxvals_p"].bind(a, b), _of("int32", (4,), (4,))
    yield "optimization_barrier", lambda a, b: lax.optimization_barrier((a, b)), _of("int32", (4,), ())


def _floats() -> Iterator[Entry]:
    for op in (
        lax.add,
        lax.sub,
        lax.mul,
        lax.div,
        lax.rem,
        lax.max,
        lax.min,
        lax.pow,
        lax.nextafter,
        lax.atan2,
    ):
        yield f"{op.__name__} float32", op, _of("float32", (4,), (4,))
    for total in (PRIMITIVES["eq_to_p"], PRIMITIVES["le_to_p"], PRIMITIVES["lt_to_p"]):
        yield f"{total.name} float32", lambda a, b, t=total: t.bind(a, b), _of("float32", (4,), (4,))
    for op in (lax.lt, lax.le, lax.gt, lax.ge, lax.eq, lax.ne):
        yield f"{op.__name__} float32", op, _of("float32", (4,), (4,))
    unary = [
        lax.neg,
        lax.abs,
        lax.sign,
        lax.floor,
        lax.ceil,
        lax.sqrt,
        lax.exp,
        lax.exp2,
        lax.tanh,
        lax.sin,
        lax.cos,
    ]
    unary += [
        lax.logistic,
        lax.erf,
        lax.erfc,
        lax.is_finite,
        lax.square,
        lax.log,
        lax.log1p,
        lax.expm1,
        lax.rsqrt,
    ]
    unary += [
        lax.cbrt,
        lax.tan,
        lax.sinh,
        lax.cosh,
        lax.asin,
        lax.acos,
        lax.atan,
        lax.asinh,
        lax.acosh,
        lax.atanh,
    ]
    unary += [lax.erf_inv, lax.lgamma, lax.digamma, lax.bessel_i0e, lax.bessel_i1e]
    for op in unary:
        yield f"{op.__name__} float32", op, _of("float32", (4,))
    for method in (lax.RoundingMethod.AWAY_FROM_ZERO, lax.RoundingMethod.TO_NEAREST_EVEN):
        yield f"round {method.name}", lambda v, m=method: lax.round(v, m), _of("float32", (4,))
    for exponent in (-1, 0, 2, 3):
        yield (
            f"integer_pow {exponent} float32",
            lambda v, e=exponent: lax.integer_pow(v, e),
            _of("float32", (4,)),
        )
    for bits in ((5, 10), (8, 7), (8, 3), (8, 23), (11, 52), (4, 3)):
        for dtype in ("float32", "bfloat16", "float16"):
            yield f"reduce_precision {dtype} {bits}", lambda v, b=bits: lax.reduce_precision(v, *b), _of(dtype, (4,))
    yield "clamp float32", lax.clamp, _of("float32", (), (4,), ())
    for op in (lax.add, lax.mul, lax.div, lax.sub):
        yield f"{op.__name__} bfloat16", op, _of("bfloat16", (4,), (4,))
        yield f"{op.__name__} float16", op, _of("float16", (4,), (4,))


def _conversions(dtypes: tuple[str, ...] = DTYPES) -> Iterator[Entry]:
    kinds = (*dtypes, "bool", "float32", "bfloat16", "float16")
    for source in kinds:
        for target in kinds:
            if source != target:
                convert = functools.partial(lax.convert_element_type, new_dtype=np.dtype(target))
                yield f"convert {source} to {target}", convert, _of(source, (4,))
    for source, target in (
        ("int32", "uint32"),
        ("uint32", "int32"),
        ("float32", "int32"),
        ("int32", "float32"),
    ):
        cast = functools.partial(lax.bitcast_convert_type, new_dtype=np.dtype(target))
        yield f"bitcast {source} to {target}", cast, _of(source, (4,))
    yield "bitcast int8 to uint8", lambda v: lax.bitcast_convert_type(v, np.uint8), _of("int8", (4,))
    yield "bitcast uint32 to float32", lambda v: lax.bitcast_convert_type(v, np.float32), _of("uint32", (4,))
    yield "bitcast int32 to int8", lambda v: lax.bitcast_convert_type(v, np.int8), _of("int32", (3,))


def _movement() -> Iterator[Entry]:
    for dtype in ("int32", "int8", "uint32", "bool", "float32"):
        one, two = _of(dtype, (4,)), _of(dtype, (4, 3))
        yield f"broadcast {dtype}", lambda v: lax.broadcast_in_dim(v, (2, 4, 3), (1,)), one
        yield f"broadcast one {dtype}", lambda v: lax.broadcast_in_dim(v, (4, 3), (0, 1)), _of(dtype, (1, 3))
        yield f"reshape {dtype}", lambda v: lax.reshape(v, (3, 4)), two
        yield f"reshape flat {dtype}", lambda v: lax.reshape(v, (12,)), two
        yield f"reshape ones {dtype}", lambda v: lax.reshape(v, (1, 4, 1, 3)), two
        yield f"squeeze {dtype}", lambda v: lax.squeeze(v, (1,)), _of(dtype, (4, 1, 3))
        yield f"transpose {dtype}", lambda v: lax.transpose(v, (1, 0)), two
        yield f"rev {dtype}", lambda v: lax.rev(v, (0,)), two
        yield f"slice {dtype}", lambda v: lax.slice(v, (1, 0), (4, 3), (2, 1)), two
        yield f"slice none {dtype}", lambda v: lax.slice(v, (1, 0), (1, 3)), two
        yield f"concatenate {dtype}", lambda a, b: lax.concatenate([a, b], 1), _of(dtype, (4, 3), (4, 1))
        yield f"concatenate rows {dtype}", lambda a, b: lax.concatenate([a, b], 0), _of(dtype, (4,), (2,))
        yield f"concatenate empty {dtype}", lambda a, b: lax.concatenate([a, b], 0), _of(dtype, (4,), (0,))
        yield f"concatenate nothing first {dtype}", lambda a, b: lax.concatenate([a, b], 0), _of(dtype, (0,), (2,))
        yield f"split {dtype}", lambda v: lax.split(v, (1, 3), 0), two
        yield f"stack {dtype}", lambda a, b: jnp.stack([a, b]), _of(dtype, (4,), (4,))
        yield f"stack across {dtype}", lambda a, b: jnp.stack([a, b], -1), _of(dtype, (4, 3), (4, 3))
        yield f"stack scalars {dtype}", lambda a, b, c: jnp.stack([a, b, c]), _of(dtype, (), (), ())
        yield f"unstack {dtype}", jnp.unstack, two
        yield f"unstack across {dtype}", lambda a: jnp.unstack(a, axis=1), two
        yield f"tile {dtype}", lambda v: jnp.tile(v, (2, 1)), two
        for widths in (
            ((1, 2, 0), (0, 0, 0)),
            ((0, 0, 2), (1, 0, 1)),
            ((-1, 1, 0), (0, -1, 0)),
            ((-1, 0, 0), (0, 0, 0)),
        ):
            yield f"pad {dtype} {widths}", lambda v, f, w=widths: lax.pad(v, f, w), _of(dtype, (4, 3), ())
        yield f"pad line {dtype}", lambda v, f: lax.pad(v, f, [(2, -1, 1)]), _of(dtype, (4,), ())
    for dtype in (*DTYPES, "float32"):
        yield f"iota {dtype}", lambda d=dtype: lax.broadcasted_iota(np.dtype(d), (4, 3), 0), ()
    for n in (0, 1, 200):
        yield f"iota int8 {n}", lambda n=n: lax.iota(np.int8, n), ()
    yield "square float8_e4m3fn", lax.square, _of("float8_e4m3fn", (4,))
    for name, n in (
        ("float8_e4m3fn", 102),
        ("float8_e5m2", 12),
        ("bfloat16", 300),
        ("float16", 3000),
        ("float32", 300),
    ):
        yield f"iota {name} {n}", lambda d=name, n=n: lax.iota(jnp.dtype(d), n), ()


def _folds(dtypes: tuple[str, ...] = DTYPES) -> Iterator[Entry]:
    for dtype in dtypes:
        two = _of(dtype, (4, 3))
        for axes in ((0,), (1,), (0, 1)):
            yield f"reduce_sum {dtype} {axes}", lambda v, a=axes: jnp.sum(v, axis=a, dtype=v.dtype), two
            yield f"reduce_prod {dtype} {axes}", lambda v, a=axes: jnp.prod(v, axis=a, dtype=v.dtype), two
            yield f"reduce_max {dtype} {axes}", lambda v, a=axes: jnp.max(v, axis=a), two
            yield f"reduce_min {dtype} {axes}", lambda v, a=axes: jnp.min(v, axis=a), two
            for fold in (lax.reduce_and_p, lax.reduce_or_p, lax.reduce_xor_p):
                yield f"{fold.name} {dtype} {axes}", lambda v, f=fold, a=axes: f.bind(v, axes=a), two
        for op in (lax.cumsum, lax.cumprod, lax.cummax, lax.cummin):
            for reverse in (False, True):
                run = functools.partial(op, axis=0, reverse=reverse)
                yield f"{op.__name__} {dtype} {reverse}", run, two
        summed = jax.vmap(jax.vmap(lambda v: lax.psum((v, 2 * v), "l"), axis_name="l"), axis_name="m")
        yield f"psum {dtype}", summed, two
        yield f"argmax {dtype}", lambda v: lax.argmax(v, 0, np.int32), two
        yield f"sort {dtype}", lambda v: lax.sort(v, dimension=0), two
        yield f"top_k {dtype}", lambda v: lax.top_k(v, 2), two
        yield (
            f"sort payload {dtype}",
            lambda v, w: lax.sort((v, w), dimension=0, num_keys=1),
            _of(dtype, (4, 3), (4, 3)),
        )
        yield f"dot {dtype}", lambda a, b: lax.dot(a, b), _of(dtype, (2, 3), (3, 2))
        yield f"reduce_sum empty {dtype}", lambda v: jnp.sum(v, dtype=v.dtype), _of(dtype, (0,))
        yield f"reduce_prod empty {dtype}", lambda v: jnp.prod(v, dtype=v.dtype), _of(dtype, (0,))
        yield f"reduce_sum long {dtype}", lambda v: jnp.sum(v, dtype=v.dtype), _of(dtype, (9,))
    for op in (jnp.max, jnp.min, jnp.sum, jnp.prod, jnp.argmax, jnp.argmin):
        yield f"fold {op.__name__} float32", lambda v, o=op: o(v, axis=0), _of("float32", (4, 3))
    for cumulative in (lax.cummax, lax.cummin, lax.cumsum, lax.cumprod, lax.cumlogsumexp):
        yield f"{cumulative.__name__} float32", cumulative, _of("float32", (4,))
    for fold in (lax.reduce_and_p, lax.reduce_or_p, lax.reduce_xor_p):
        yield f"{fold.name} bool", lambda v, f=fold: f.bind(v, axes=(0,)), _of("bool", (4, 3))
    yield "psum float32", jax.vmap(lambda v: lax.psum(v, "l"), axis_name="l"), _of("float32", (4, 3))
    yield "sort float32", lambda v: lax.sort(v), _of("float32", (4,))
    yield "top_k float32", lambda v: lax.top_k(v, 2), _of("float32", (4,))
    for best in (lax.approx_max_k, lax.approx_min_k):
        yield f"{best.__name__} float32", lambda v, f=best: f(v, 2), _of("float32", (4,))
        yield f"{best.__name__} of parts", lambda v, f=best: f(v, 2, aggregate_to_topk=False), _of("float32", (300,))
    for dtype in ("int32", "float32"):
        row = _of(dtype, (4,))
        for (n, padding), (dilation, base) in itertools.product(
            ((2, "SAME"), (3, "SAME"), (2, "VALID"), (2, [(2, 0)]), (2, [(0, 3)])), ((1, 1), (2, 1), (1, 3))
        ):
            for combine in (lax.add, lax.max, lax.min):
                first = _starts_from(combine, dtype)
                yield (
                    f"reduce_window_{combine.__name__} {dtype} {(n,)} {padding} {dilation} {base}",
                    lambda v, c=combine, f=first, w=n, p=padding, d=dilation, b=base: lax.reduce_window(
                        v, f, c, (w,), (1,), p, (b,), (d,)
                    ),
                    row,
                )
    for dtype in ("bfloat16", "float16"):
        yield f"reduce_prod {dtype}", lambda v: jnp.prod(v, axis=0), _of(dtype, (4, 3))
        yield f"cumprod {dtype}", lax.cumprod, _of(dtype, (4,))


def _starts_from(combine: Any, dtype: str) -> Any:
    if combine is lax.add:
        return np.dtype(dtype).type(0)
    ends = (-np.inf, np.inf) if dtype == "float32" else (-(2**31), 2**31 - 1)
    return np.dtype(dtype).type(ends[combine is lax.min])


def _linear_algebra() -> Iterator[Entry]:
    yield "lu", lax.linalg.lu, _of("float32", (3, 3))
    yield "lu_pivots", lambda p: lax.linalg.lu_pivots_to_permutation(p, 4), _of("int32", (3,))


def _accesses() -> Iterator[Entry]:
    index = _of("int32", ())
    for dtype in ("int32", "uint8", "bool", "float32"):
        two, line = _of(dtype, (4, 3)), _of(dtype, (5,))
        for sizes in ((1, 3), (2, 2), (4, 1), (0, 3)):
            yield (
                f"dynamic_slice {dtype} {sizes}",
                lambda v, i, j, s=sizes: lax.dynamic_slice(v, (i, j), s, allow_negative_indices=False),
                (*two, *index, *index),
            )
        for shape in ((1, 3), (2, 2), (4, 3), (0, 3)):
            yield (
                f"dynamic_update_slice {dtype} {shape}",
                lambda v, u, i, j: lax.dynamic_update_slice(v, u, (i, j), allow_negative_indices=False),
                (*two, *_of(dtype, shape), *index, *index),
            )
        for mode in (
            lax.GatherScatterMode.CLIP,
            lax.GatherScatterMode.FILL_OR_DROP,
            lax.GatherScatterMode.PROMISE_IN_BOUNDS,
        ):
            for label, numbers, sizes, batch in _gathers():
                yield (
                    f"gather {label} {dtype} {mode.name}",
                    lambda v, i, n=numbers, s=sizes, m=mode: lax.gather(v, i, n, s, mode=m),
                    (*two, *_of("int32", batch)),
                )
            one = lax.GatherDimensionNumbers((), (0,), (0,))
            yield (
                f"gather line {dtype} {mode.name}",
                lambda v, i, n=one, m=mode: lax.gather(v, i, n, (1,), mode=m),
                (*line, *_of("int32", (3, 1))),
            )
            wide = lax.GatherDimensionNumbers((1,), (), (0,))
            yield (
                f"gather wide {dtype} {mode.name}",
                lambda v, i, n=wide, m=mode: lax.gather(v, i, n, (3,), mode=m),
                (*line, *_of("int32", (2, 1))),
            )
            if dtype == "bool":
                continue
            family = [
                lax.scatter,
                lax.scatter_add,
                lax.scatter_sub,
                lax.scatter_mul,
                lax.scatter_min,
                lax.scatter_max,
            ]
            for op in family:
                rows = lax.ScatterDimensionNumbers((1,), (0,), (0,))
                yield (
                    f"{op.__name__} {dtype} {mode.name}",
                    lambda v, i, u, o=op, n=rows, m=mode: o(v, i, u, n, mode=m),
                    (*two, *_of("int32", (2, 1)), *_of(dtype, (2, 3))),
                )
            for label, layout, batch, updates in _scatters():
                yield (
                    f"scatter {label} {dtype} {mode.name}",
                    lambda v, i, u, n=layout, m=mode: lax.scatter(v, i, u, n, mode=m),
                    (*two, *_of("int32", batch), *_of(dtype, updates)),
                )
        yield f"scatter_apply {dtype}", lambda v, i: v.at[i].apply(lambda x: x), (*line, *_of("int32", (2,)))


def _gathers() -> Iterator[tuple[str, Any, tuple[int, ...], tuple[int, ...]]]:
    numbers = lax.GatherDimensionNumbers
    yield "rows", numbers((1,), (0,), (0,)), (1, 3), (2, 1)
    yield "part of rows", numbers((1,), (0,), (0,)), (1, 2), (2, 1)
    yield "columns", numbers((0,), (1,), (1,)), (4, 1), (2, 1)
    yield "elements", numbers((), (0, 1), (1, 0)), (1, 1), (2, 2)
    yield "windows", numbers((1, 2), (), (0, 1)), (2, 2), (2, 2)
    yield "one window", numbers((0, 1), (), (0,)), (3, 2), (1,)
    yield "batched", numbers((), (1,), (1,), (0,), (0,)), (1, 1), (4, 1)
    yield "batched wide", numbers((1,), (), (1,), (0,), (0,)), (1, 2), (4, 1)


def _scatters() -> Iterator[tuple[str, Any, tuple[int, ...], tuple[int, ...]]]:
    numbers = lax.ScatterDimensionNumbers
    yield "row", numbers((0,), (0,), (0,)), (1,), (3,)
    yield "part of a row", numbers((0,), (0,), (0,)), (1,), (2,)
    yield "rows across", numbers((0,), (0,), (0,)), (2, 1), (3, 2)
    yield "columns", numbers((1,), (1,), (1,)), (2, 1), (2, 4)
    yield "elements", numbers((), (0, 1), (1, 0)), (2, 2), (2,)
    yield "windows", numbers((1, 2), (), (0, 1)), (2, 2), (2, 2, 2)
    yield "tall windows", numbers((0, 1), (), (1,)), (1,), (4, 2)
    yield "all of it", numbers((0, 1), (), (0,)), (1,), (4, 3)
    yield "batched", numbers((), (1,), (1,), (0,), (0,)), (4, 1), (4,)
    yield "batched rows", numbers((1,), (), (1,), (0,), (0,)), (4, 1), (4, 3)


def entries() -> Iterator[Entry]:
    yield from _elementwise()
    yield from _floats()
    yield from _conversions()
    yield from _movement()
    yield from _folds()
    yield from _linear_algebra()
    yield from _accesses()


def wide_entries() -> Iterator[Entry]:
    """The same for 64-bit integers; they need jax_enable_x64."""
    wide = ("int64", "uint64")
    seen = {entry[0] for entry in entries()}
    for entry in (*_elementwise(wide), *_conversions((*wide, "int32", "uint8")), *_folds(wide)):
        if entry[0] not in seen:
            yield entry


def equations(entry: Entry) -> list[Any]:
    """The equations JAX writes for an entry, those inside its own jitted functions included."""
    _, function, avals = entry
    found: list[Any] = []

    def collect(jaxpr: Any) -> None:
        for eqn in jaxpr.eqns:
            inner = eqn.params.get("jaxpr") if eqn.primitive.name in ("jit", "pjit") else None
            if inner is not None:
                collect(inner.jaxpr)
            else:
                found.append(eqn)

    collect(jax.make_jaxpr(function)(*avals).jaxpr)
    return found
