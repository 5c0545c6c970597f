"""The classic: clipping an index to the size of the table instead of to its last row."""

import jax
import jax.numpy as jnp

import redzone

TABLE = jax.ShapeDtypeStruct((16,), jnp.float32)
POSITION = jax.ShapeDtypeStruct((), jnp.int32)


def price_bad(table: jax.Array, position: jax.Array) -> jax.Array:
    row = jnp.clip(position // 10, 0, table.shape[0])
    return table[row]


@redzone.example(TABLE, POSITION)
def price(table: jax.Array, position: jax.Array) -> jax.Array:
    row = jnp.clip(position // 10, 0, table.shape[0] - 1)
    return table[row]


if __name__ == "__main__":
    print(redzone.check(price_bad, TABLE, POSITION))
    print()
    print(redzone.check(price, TABLE, POSITION))
