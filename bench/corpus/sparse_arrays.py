"""`jax.experimental.sparse`: indices are data here, so most accesses wait on an input."""

from __future__ import annotations

import jax

from . import Made, floats, ints, program


@program("sparse/matrix_product")
def matrix_product() -> Made:
    from jax.experimental import sparse

    def product(data: jax.Array, indices: jax.Array, x: jax.Array) -> jax.Array:
        return sparse.BCOO((data, indices), shape=(10, 12)) @ x

    return product, (floats(20), ints(20, 2), floats(12, 3))


@program("sparse/from_dense_and_back")
def from_dense_and_back() -> Made:
    from jax.experimental import sparse

    def round_trip(x: jax.Array) -> jax.Array:
        return sparse.BCOO.fromdense(x, nse=20).sum_duplicates(nse=20).sort_indices().todense()

    return round_trip, (floats(10, 12),)


@program("sparse/product_gradient")
def product_gradient() -> Made:
    from jax.experimental import sparse

    def loss(data: jax.Array, indices: jax.Array, x: jax.Array) -> jax.Array:
        matrix = sparse.BCOO((data, indices), shape=(10, 12))
        return ((matrix.todense() @ x) ** 2).sum() + matrix.sum(0).todense().sum()

    return jax.grad(loss), (floats(20), ints(20, 2), floats(12, 3))


@program("sparse/compressed_rows")
def compressed_rows() -> Made:
    from jax.experimental import sparse

    def product(data: jax.Array, columns: jax.Array, starts: jax.Array, x: jax.Array) -> jax.Array:
        return sparse.BCSR((data, columns, starts), shape=(10, 12)) @ x

    return product, (floats(20), ints(20), ints(11), floats(12, 3))
