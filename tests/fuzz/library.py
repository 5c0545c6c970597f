"""Steps with what programs use more rarely: powers, sums of windows, splits, pivots, foreign primitives, callbacks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.extend.core import Primitive
from jax.interpreters import mlir

from tests.fuzz.indexing import _number
from tests.fuzz.scope import Scope
from tests.fuzz.vocabulary import step

cut_p = Primitive("fuzz_cut")
"""A primitive of a library: its implementation, in terms of JAX's own, says what it computes."""


@cut_p.def_impl
def _cut(x: Any, top: Any, *, below: int) -> Any:
    return jnp.minimum(jnp.maximum(x, jnp.asarray(below, x.dtype)), top)


@cut_p.def_abstract_eval
def _cut_type(x: Any, top: Any, *, below: int) -> Any:
    return x


put_p = Primitive("fuzz_put")
"""A primitive of a library that writes and reads where it is told: nobody asks for what it returns."""


@put_p.def_impl
def _put(x: Any, i: Any, value: Any, *, reads: bool) -> Any:
    return x.at[i].set(x[i] * value if reads else value)


@put_p.def_abstract_eval
def _put_type(x: Any, i: Any, value: Any, *, reads: bool) -> Any:
    return x


mlir.register_lowering(put_p, mlir.lower_fun(_put, multiple_results=False))


def _written(scope: Scope, i: Any) -> list[Any]:
    """What a library's primitive writes at a number that is kept inside, or nearly."""
    x = jnp.asarray(scope.floating((scope.choice([3, 5]),))).astype(np.float32)
    end = _number(x.shape[0] - 1 + scope.choice([0, 0, 1]), i.dtype)
    ways = [lambda: i, lambda: jnp.clip(i, 0, end), lambda: jnp.abs(i) % _number(x.shape[0], i.dtype)]
    return [put_p.bind(x, scope.choice(ways)(), jnp.float32(2), reads=scope.chance(0.5))]


@step(0.6)
def own_primitive(scope: Scope) -> list[Any]:
    """A foreign primitive that cuts a number to a table, or nearly; or one with accesses of its own."""
    x = jnp.asarray(scope.array(1, 2))
    i = jnp.asarray(scope.integer(scope.choice([(), (3,)])))
    top = jnp.broadcast_to(_number(x.shape[0] - 1 + scope.choice([0, 0, 1]), i.dtype), i.shape)
    cut = cut_p.bind(i, top, below=0)
    return [cut, x[cut], *(_written(scope, cut if scope.chance(0.3) else i) if i.ndim == 0 else ())]


@step(1)
def rarer(scope: Scope) -> list[Any]:
    """One thing that few programs do."""
    whole = jnp.asarray(scope.integer(scope.choice([(4,), (5,), (4, 3)])))
    part = jnp.asarray(scope.floating((4,))).astype(np.float32)
    window = (2,) + (1,) * (whole.ndim - 1)
    strides = (1,) * whole.ndim
    zero = np.zeros((), whole.dtype)
    small = jnp.clip(jnp.asarray(scope.integer((4,))).astype(np.int32), 0, scope.choice([2, 3, 5]))
    ways: list[Callable[[], Any]] = [
        lambda: lax.pow(part, jnp.asarray(scope.choice([2.0, 0.5, -1.0, 3.0]), np.float32)),
        lambda: lax.pow(part, small),
        lambda: jnp.power(small, small),
        lambda: jnp.power(small, scope.choice([0, 1, 2, 3])),
        lambda: lax.reduce_window(whole, zero, lax.add, window, strides, scope.choice(["SAME", "VALID"])),
        lambda: lax.reduce_window(part, np.float32(-np.inf), lax.max, (2,), (1,), "VALID"),
        lambda: jnp.split(whole, [1, 3])[scope.small(0, 2)],
        lambda: jnp.sum(part),
        lambda: jnp.cumsum(jnp.abs(part)),
        lambda: lax.cumprod(small),
        lambda: jnp.prod(part),
        lambda: jnp.mean(part),
        lambda: part / jnp.asarray(scope.choice([0.5, 3.0, -2.0]), np.float32),
        lambda: part - jnp.max(part),
        lambda: jax.scipy.linalg.lu_factor(jnp.outer(part, part)[:3, :3] + jnp.eye(3))[1],
        lambda: lax.reduce_precision(part, 5, 10),
        lambda: jnp.round(part, 1),
        lambda: lax.rem(part, np.full(4, 3, np.float32)),
        lambda: jnp.hypot(part, part),
        lambda: lax.argmin(whole, 0, np.int32),
        lambda: jnp.convolve(small, jnp.array([1, 2]))[:4],
        lambda: jnp.histogram(part, bins=4, range=(0.0, 1.0))[0].astype(np.int32),
        lambda: jnp.interp(part, jnp.arange(4.0), jnp.arange(4.0)),
        lambda: jnp.diff(whole, axis=0),
        lambda: jnp.tril(jnp.outer(small, small)),
    ]
    made = jnp.asarray(scope.choice(ways)())
    if made.dtype.kind == "f" and scope.chance(0.5):
        return [made, made.astype(np.int32)]
    return [made]


@step(0.3)
def called_back(scope: Scope) -> list[Any]:
    """A function of Python's own: any value may come back."""
    value = jnp.asarray(scope.integer((4,), np.dtype("int32")))
    kind = jax.ShapeDtypeStruct(value.shape, value.dtype)
    found = jax.pure_callback(lambda v: np.asarray(v) % np.int32(5), kind, value, vmap_method="sequential")
    x = jnp.asarray(scope.array(1, 1))
    return [found, x[jnp.clip(found, 0, x.shape[0] - 1 + scope.choice([0, 1]))]]
