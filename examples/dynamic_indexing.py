"""Reading at indices known only at run time: fine exactly when they lie inside the array."""

import jax
import jax.numpy as jnp

import redzone

ARRAY = jax.ShapeDtypeStruct((100_000,), jnp.float32)
INDICES = jax.ShapeDtypeStruct((1_000,), jnp.int32)


# Says nothing of the indices, so the verdict is a condition on them.
@redzone.example(ARRAY, INDICES)
def lookup(x: jax.Array, indices: jax.Array) -> jax.Array:
    return x[indices]


# Promises their range, and that is enough for a proof.
@redzone.example(ARRAY, redzone.Spec((1_000,), jnp.int32, min=0, max=99_999))
def lookup_promised(x: jax.Array, indices: jax.Array) -> jax.Array:
    return x[indices]


if __name__ == "__main__":
    print(redzone.check(lookup, ARRAY, INDICES))
