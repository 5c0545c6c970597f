"""Programs of any size: what leaves its array at some size is shown at one, and no size breaks a promise."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

import redzone

ROWS = redzone.Spec(("n",), "float32")


def _only(fn: Any, *args: Any, **kwargs: Any) -> Any:
    (access,) = redzone.check(fn, *args, **kwargs).accesses
    return access


def _total_of_blocks(x: Any) -> Any:
    block = lambda k, t: t + lax.dynamic_slice(x, (k * 4,), (4,)).sum()  # noqa: E731
    return lax.fori_loop(0, (x.shape[0] + 3) // 4, block, np.float32(0))


def test_the_size_is_told_and_the_witness_can_be_called_with() -> None:
    index = redzone.Spec((3,), "int32", min=0, max="n-1")
    access = _only(lambda x, i: x[i + 1], ROWS, index)
    assert access.verdict == "unsafe"
    assert str(access.witness) == "n=4, i=jnp.full((3,), 3, 'int32') makes the index 4"
    x, i = access.witness.args
    assert x.shape == (4,) and i.tolist() == [3, 3, 3]
    assert access.message == "reads index 4 of dimension 0, which has n elements"


def test_a_contract_that_goes_one_too_far_is_not_asked_for() -> None:
    access = _only(lambda x, i: x[i], ROWS, redzone.Spec((3,), "int32", min=0, max="n"))
    assert access.verdict == "unsafe" and not access.requires


def test_a_condition_has_a_witness() -> None:
    access = _only(lambda x, i: x[i], ROWS, redzone.Spec((3,), "int32"))
    assert access.verdict == "requires"
    assert str(access.witness) == "n=4, i=jnp.full((3,), 4, 'int32') makes the index 4"


def test_a_size_that_is_no_multiple() -> None:
    access = _only(_total_of_blocks, ROWS, dims=("n >= 4",))
    assert access.verdict == "unsafe" and str(access.witness).startswith("n=5 makes the index 4")
    assert _only(_total_of_blocks, ROWS, dims=("n >= 4", "mod(n, 4) == 0")).verdict != "unsafe"


def test_sizes_that_differ() -> None:
    def first_rows(x: Any, y: Any) -> Any:
        return x[jnp.arange(y.shape[0])]

    other = redzone.Spec(("m",), "float32")
    access = _only(first_rows, ROWS, other)
    assert access.verdict == "unsafe" and str(access.witness).startswith("m=5, n=4")
    assert _only(first_rows, ROWS, other, dims=("m <= n",)).verdict == "safe"


@pytest.mark.parametrize("dims", [("n >= 6",), ("n == 2*m",), ("mod(n, 3) == 0",), ("n <= 3",)])
def test_no_size_breaks_a_constraint(dims: tuple[str, ...]) -> None:
    other = redzone.Spec(("m",), "float32")
    access = _only(lambda x, y: jax.lax.dynamic_slice(x, (x.shape[0],), (1,)), ROWS, other, dims=dims)
    assert access.verdict == "unsafe"
    x, y = access.witness.args
    sizes = {"n": x.shape[0], "m": y.shape[0], "mod": lambda a, b: a % b}
    assert all(eval(text, {}, sizes) for text in dims), (dims, x.shape, y.shape)


def test_a_window_that_is_empty_at_some_sizes_is_nowhere_outside() -> None:
    access = _only(lambda x: lax.dynamic_slice(x, (np.int32(2),), (x.shape[0] // 4,)), ROWS)
    assert access.verdict != "unsafe"


def test_what_is_assumed_does_not_take_the_place_of_what_was_promised() -> None:
    def read(x: Any, i: Any) -> Any:
        redzone.assume((i >= 0) & (i < x.shape[0] ** 2))
        return lax.dynamic_slice(x, (i,), (1,))

    access = _only(read, ROWS, redzone.Spec((), "int32", min=0, max=9), dims=("n >= 3",))
    assert access.witness is not None
    x, i = access.witness.args
    assert x.shape[0] <= i <= 9


def test_a_size_beyond_an_array_that_has_its_own_is_tried() -> None:
    def embedded(x: Any, positions: Any) -> Any:
        return x + positions[jnp.arange(x.shape[0])]

    table = redzone.Spec((512, 4), "float32")
    (access,) = redzone.check(embedded, redzone.Spec(("n", 4), "float32"), table).accesses
    assert access.verdict == "unsafe"
    assert "n=513" in str(access.witness)
    assert access.witness.index == (512,)
    (access,) = redzone.check(embedded, redzone.Spec(("n", 4), "float32"), table, dims=("n <= 512",)).accesses
    assert access.verdict == "safe"


def test_an_element_of_an_array_under_a_bound_in_sizes() -> None:
    for function in (lambda x, s: x[s[1]], lambda x, s: x[s.at[0].set(7)[1]]):
        access = redzone.check(function, ROWS, redzone.Spec((2,), "int32")).accesses[-1]
        assert [str(condition) for condition in access.requires] == ["- n ≤ s ≤ n - 1"]


def test_an_order_has_the_numbers_of_its_places() -> None:
    """What is sorted says where each place goes, and is no number of the index."""
    other = redzone.Spec(("m",), "float32")
    for order in (jnp.argsort, lambda x: jax.lax.top_k(x, 3)[1]):
        access = _only(lambda x, y, order=order: y[order(x)], ROWS, other, dims=("n >= 3",))
        assert access.verdict == "unsafe"
        assert _only(lambda x, y, order=order: y[order(x)], ROWS, other, dims=("n >= 3", "m >= n")).verdict == "safe"
