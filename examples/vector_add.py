"""Adding two vectors: nothing is accessed at a computed position, so nothing can go wrong."""

import jax
import jax.numpy as jnp

import redzone

VECTOR = jax.ShapeDtypeStruct((1000,), jnp.float32)


@redzone.example(VECTOR, VECTOR)
def vector_add(a: jax.Array, b: jax.Array) -> jax.Array:
    return a + b


# The same with a loop over the elements, as one would write it in C.
@redzone.example(VECTOR, VECTOR)
def vector_add_by_element(a: jax.Array, b: jax.Array) -> jax.Array:
    def body(i: jax.Array, total: jax.Array) -> jax.Array:
        return total.at[i].set(a[i] + b[i])

    return jax.lax.fori_loop(0, a.shape[0], body, jnp.zeros_like(a))


if __name__ == "__main__":
    print(redzone.check(vector_add, VECTOR, VECTOR))
    print()
    print(redzone.check(vector_add_by_element, VECTOR, VECTOR))
