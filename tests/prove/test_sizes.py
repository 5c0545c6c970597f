"""Programs for every size: several index columns, sums of positions, sizes of arrays the program makes."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone
from redzone import Spec

X, ROWS, TABLE = Spec(("n",), "float32"), Spec(("n", 4), "float32"), Spec(("n", "m"), "float32")
INDEX, EIGHT = Spec((), "int32"), Spec((8,), "float32")


def verdicts(function, *args, dims=()):
    return [str(a.verdict) for a in redzone.check(function, *args, dims=dims).accesses]


def _bisected(x, wanted, size):
    def body(ends):
        low, high = ends
        middle = low + (high - low) // 2
        below = x[middle] < wanted
        return jnp.where(below, middle + 1, low), jnp.where(below, high, middle)

    return lax.while_loop(lambda ends: ends[0] < ends[1], body, (0, size))[0]


def _put_together(x, size):
    """All that is set in a table, one behind the other, row by row."""

    def put(carry, value):
        out, n = carry
        return (out.at[n].set(value), n + (value > 0)), None

    out = jnp.zeros(size, x.dtype), jnp.int32(0)
    return lax.scan(lambda carry, row: (lax.scan(put, carry, row)[0], None), out, x)[0][0]


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
        (lambda x, y: y[jnp.minimum(jnp.arange(x.shape[0]), 7)], (X, EIGHT), ()),
        (lambda x, y: y[jnp.clip(jnp.arange(x.shape[0])[:, None] - jnp.arange(x.shape[0]), -3, 4) + 3], (X, EIGHT), ()),
        (lambda x: x[jnp.minimum(jnp.arange(12), x.shape[0] - 1)], (X,), ()),
        (lambda x: _put_together(x, x.shape[0] * 4), (ROWS,), ()),
        (lambda x: _put_together(x, x.shape[0] * x.shape[1]), (TABLE,), ()),
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
        (lambda x, y: y[jnp.minimum(jnp.arange(x.shape[0]), 8)], (X, EIGHT), ("n >= 9",)),
        (lambda x: _put_together(x, x.shape[0] * 4 - 1), (ROWS,), ()),
        (lambda x: _put_together(x, x.shape[0] * x.shape[1] - 1), (TABLE,), ("n >= 2", "m >= 2")),
        (lambda x, y: y[jnp.clip(jnp.arange(x.shape[0]) - 4, -3, 5) + 3], (X, EIGHT), ("n >= 9",)),
        (lambda x, y: y[jnp.where(jnp.arange(x.shape[0]) <= 8, jnp.arange(x.shape[0]), 0)], (X, EIGHT), ("n >= 9",)),
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


Y, TEN = Spec(("m",), "float32"), Spec((10,), "float32")


def _down_to_a_size(x, table):
    def body(state):
        at, total = state
        return at - 1, total + table[at - 1]

    return lax.while_loop(lambda state: state[0] > x.shape[0], body, (jnp.int32(10), 0.0))


def _between_two_sizes(x, y):
    def body(ends, _):
        low, high = ends
        middle = low + (high - low) // 2
        found = y[middle] > 0
        return (jnp.where(found, low, middle), jnp.where(found, middle, high)), None

    return lax.scan(body, (jnp.int32(x.shape[0]), jnp.int32(y.shape[0])), None, length=3)


def _by_a_size_or_one(x, table, far):
    return lax.scan(lambda at, _: (at + jnp.where(far, x.shape[0] - 5, 1), table[at]), 0, None, length=3)


def _on_by_a_size_or_one(x, table, far):
    return lax.scan(lambda at, _: (jnp.where(far, at + x.shape[0] - 5, at + 1), table[at]), 0, None, length=3)


def _branch_by_a_size(x, table, at):
    return lax.switch(jnp.int32(x.shape[0] - 3), [lambda: table[0], lambda: table[9], lambda: table[at]])


@pytest.mark.parametrize(
    ("function", "args", "verdict"),
    [
        (_down_to_a_size, (X, TEN), "safe"),
        (_between_two_sizes, (X, Y), "unsafe"),
        (_by_a_size_or_one, (X, TEN, Spec((), "bool")), "unsafe"),
        (_on_by_a_size_or_one, (X, TEN, Spec((), "bool")), "unsafe"),
        (_branch_by_a_size, (X, TEN, INDEX), "requires"),
    ],
    ids=lambda given: getattr(given, "__name__", ""),
)
def test_sizes_that_cannot_be_compared_end_no_check(function, args, verdict):
    assert verdicts(function, *args)[-1] == verdict


@pytest.mark.parametrize(("dims", "verdict"), [(("n >= 4",), "safe"), ((), "unsafe")])
def test_a_branch_that_some_size_takes(dims, verdict):
    def read(x, table, at):
        return lax.switch(jnp.int32(x.shape[0] - 3), [lambda: table[at], lambda: table.sum()])

    assert verdicts(read, X, TEN, Spec((), "int32", min=10, max=12), dims=dims) == [verdict]


def test_a_product_of_sizes_that_no_array_has_may_leave_its_type():
    def chosen(x, a, b):
        return x[jnp.where(jnp.asarray(a.shape[0] * b.shape[0]) >= 0, 0, 9)]

    sizes = Spec(("n",), "float32"), Spec(("m",), "float32")
    assert verdicts(chosen, Spec((4,), "float32"), *sizes) != ["safe"]
    assert verdicts(chosen, Spec((4,), "float32"), *sizes, dims=("n <= 1000", "m <= 1000")) == ["safe"]
