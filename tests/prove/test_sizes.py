"""Programs for every size: several index columns, sums of positions, sizes of arrays the program makes."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone import Spec

X, ROWS, TABLE = Spec(("n",), "float32"), Spec(("n", 4), "float32"), Spec(("n", "m"), "float32")
INDEX = Spec((), "int32")


def verdicts(function, *args, dims=()):
    return [str(a.verdict) for a in redzone.check(function, *args, dims=dims).accesses]


def _bisected(x, wanted, size):
    def body(ends):
        low, high = ends
        middle = low + (high - low) // 2
        below = x[middle] < wanted
        return jnp.where(below, middle + 1, low), jnp.where(below, high, middle)

    return lax.while_loop(lambda ends: ends[0] < ends[1], body, (0, size))[0]


@pytest.mark.parametrize(
    ("function", "args", "dims"),
    [
        (lambda x, k: x[jnp.arange(x.shape[0]), k], (ROWS, Spec(("n",), "int32", min=0, max=3)), ()),
        (lambda x, k: x.at[jnp.arange(x.shape[0]), k].set(0.0), (ROWS, Spec(("n",), "int32", min=0, max=3)), ()),
        (lambda x: x[jnp.arange(x.shape[0] - 2)[:, None] + jnp.arange(3)], (X,), ("n >= 3",)),
        (lambda x: x.reshape(-1)[jnp.arange(x.shape[0])[:, None] * 4 + jnp.arange(4)], (ROWS,), ()),
        (
            lambda x: x.reshape(-1)[jnp.arange(x.shape[0])[:, None] * x.shape[1] + jnp.arange(x.shape[1])],
            (TABLE,),
            (),
        ),
        (lambda x: jnp.pad(x, (1, 1))[jnp.arange(x.shape[0]) + 2], (X,), ()),
        (lambda x, y: jnp.concatenate([x, y])[x.shape[0] + jnp.arange(y.shape[0])], (X, Spec(("m",), "float32")), ()),
        (lambda x, i: x[jnp.clip(i, 0, x.shape[0] - 1)], (X, INDEX), ()),
        (lambda x, i: x[i % x.shape[0]], (X, INDEX), ()),
        (lambda x, i: x.at[(i + 1) % x.shape[0]].set(0.0), (X, Spec((), "int32", min=0, max=1000)), ()),
        (lambda x: lax.scan(lambda i, v: (i + 1, v + x[i]), 0, x), (X,), ()),
        (lambda x: lax.scan(lambda i, v: (i - 1, v + x[i]), x.shape[0] - 1, x), (X,), ()),
        (lambda x: x[lax.scan(lambda i, v: (i + 1, v), 0, x)[0] - 1], (X,), ()),
        (lambda x, keep: lax.scan(lambda i, k: (i + k, x[i]), 0, keep), (X, Spec(("n",), bool)), ()),
        (lambda x, v: _bisected(x, v, x.shape[0]), (X, Spec((), "float32")), ()),
    ],
)
def test_inside_at_every_size(function, args, dims):
    assert verdicts(function, *args, dims=dims) == ["safe"]


@pytest.mark.parametrize(
    ("function", "args", "dims"),
    [
        (lambda x, k: x[jnp.arange(x.shape[0]), k], (ROWS, Spec(("n",), "int32", min=0, max=4)), ()),
        (lambda x: x[jnp.arange(x.shape[0] - 2)[:, None] + jnp.arange(4)], (X,), ("n >= 3",)),
        (lambda x: jnp.pad(x, (1, 1))[jnp.arange(x.shape[0]) + 3], (X,), ()),
        (lambda x, i: x[jnp.clip(i, 0, x.shape[0])], (X, INDEX), ()),
        (lambda x, i: lax.dynamic_slice(x, (jnp.clip(i, 0, x.shape[0] - 1),), (8,)), (X, INDEX), ("n >= 8",)),
        (lambda x, i: x[i % (x.shape[0] + 1)], (X, INDEX), ()),
        (lambda x: lax.scan(lambda i, v: (i + 1, v + x[i]), 1, x), (X,), ()),
        (lambda x: x[lax.scan(lambda i, v: (i + 1, v), 0, x)[0]], (X,), ()),
        (lambda x, y: lax.scan(lambda i, v: (i + 1, v + x[i]), 0, y), (X, Spec(("m",), "float32")), ()),
    ],
)
def test_outside_at_some_size(function, args, dims):
    (access,) = redzone.check(function, *args, dims=dims).accesses
    assert access.verdict == "unsafe"
    assert access.witness is not None
    assert all(type(np.shape(a)) is tuple for a in access.witness.arguments)


def test_a_condition_on_one_of_the_columns():
    report = redzone.check(lambda x, k: x[jnp.arange(x.shape[0]), k], ROWS, Spec(("n",), "int32"))
    assert [str(c) for c in report.requires] == ["-4 ≤ k ≤ 3"]
