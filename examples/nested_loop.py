"""A nested loop whose conditionals set one element each: unrolled by Python, and as a fori_loop.

The unrolled 100×100 form is 200,000 equations, which JAX needs a while to trace:

    python examples/nested_loop.py 100
"""

import sys

import jax
import jax.numpy as jnp

import redzone


def square(n: int) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct((n, n), jnp.float32)


@redzone.example(square(10))
def unrolled(x: jax.Array) -> jax.Array:
    n, m = x.shape
    for i in range(n):
        for j in range(m):
            x = jax.lax.cond(
                x[i, j] > 0,
                lambda x, i=i, j=j: x.at[i, j].set(x[i, j] * 2),
                lambda x, i=i, j=j: x.at[i, j].set(-x[i, j] / 2),
                x,
            )
    return x


@redzone.example(square(100))
def as_a_loop(x: jax.Array) -> jax.Array:
    n, m = x.shape

    def cell(i: jax.Array, j: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.cond(
            x[i, j] > 0,
            lambda x: x.at[i, j].set(x[i, j] * 2),
            lambda x: x.at[i, j].set(-x[i, j] / 2),
            x,
        )

    def row(i: jax.Array, x: jax.Array) -> jax.Array:
        return jax.lax.fori_loop(0, m, lambda j, x: cell(i, j, x), x)

    return jax.lax.fori_loop(0, n, row, x)


if __name__ == "__main__":
    size = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    print(redzone.check(unrolled, square(size)))
    print()
    print(redzone.check(as_a_loop, square(size)))
