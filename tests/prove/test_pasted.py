"""A witness is shown as source that gives the same array again."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from redzone.prove.pasted import pasted

ARRAYS = [
    np.int32(3),
    np.asarray(-2.5, np.float32),
    np.asarray(True),
    np.asarray(np.nan, np.float32),
    np.full((4, 2), 7, np.int8),
    np.full((3,), -np.inf, np.float32),
    np.full((3,), np.nan, np.float32),
    np.array([1, 2, 3], np.uint8),
    np.array([1.0, np.nan], np.float32),
    np.zeros((0, 3), np.float32),
    np.where(np.arange(800) == 3, 9, 0).astype(np.int32),
    np.where(np.arange(800).reshape(40, 20) == 0, -1, 5).astype(np.int16),
    np.arange(100).reshape(10, 10).astype(np.float32),
    np.full((2,), 1.5, jnp.bfloat16),
    np.broadcast_to(np.array([9, 0, 1], np.int32), (5, 20, 3)),
]


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{np.asarray(a).dtype}{np.shape(a)}")
def test_pasting_gives_the_array_again(array: np.ndarray) -> None:
    text = pasted(np.asarray(array))
    again = eval(text, {"jnp": jnp, "jax": jax})
    assert len(text) < 120
    assert np.asarray(again).dtype == np.asarray(array).dtype
    np.testing.assert_array_equal(np.asarray(again), np.asarray(array))


def test_a_key() -> None:
    assert pasted(jax.random.key(0)) == "jax.random.key(0)"
    assert eval(pasted(jnp.broadcast_to(jax.random.key(0), (3,))), {"jnp": jnp, "jax": jax}).shape == (3,)


def test_what_would_be_long_is_only_named() -> None:
    assert pasted(np.random.default_rng(0).integers(0, 9, 100).astype(np.int32)) == "<int32[100]>"
