"""`jax.random` where the draw becomes an index."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from . import Made, floats, ints, key, program


@program("random/shuffled_minibatches")
def shuffled_minibatches() -> Made:
    def epoch(seed: jax.Array, images: jax.Array, labels: jax.Array) -> jax.Array:
        batches = jax.random.permutation(seed, images.shape[0]).reshape(-1, 16)

        def total(carry: jax.Array, rows: jax.Array) -> tuple[jax.Array, jax.Array]:
            return carry + images[rows].sum(), labels[rows]

        return lax.scan(total, jnp.float32(0), batches)[1]

    return epoch, (key(), floats(64, 8), ints(64))


@program("random/bootstrap")
def bootstrap() -> Made:
    def resampled_means(seed: jax.Array, sample: jax.Array) -> jax.Array:
        n = sample.shape[0]
        return jax.vmap(lambda k: sample[jax.random.randint(k, (n,), 0, n)].mean())(jax.random.split(seed, 50))

    return resampled_means, (key(), floats(100))


@program("random/weighted_choice")
def weighted_choice() -> Made:
    def resample(seed: jax.Array, particles: jax.Array, weights: jax.Array) -> jax.Array:
        return jax.random.choice(seed, particles, (32,), p=weights / weights.sum())

    return resample, (key(), floats(100, 2), floats(100))


@program("random/choice_without_replacement")
def choice_without_replacement() -> Made:
    return lambda seed, x: jax.random.choice(seed, x, (8,), replace=False), (key(), floats(100, 3))


@program("random/categorical_embedding")
def categorical_embedding() -> Made:
    def sample(seed: jax.Array, logits: jax.Array, table: jax.Array) -> jax.Array:
        return table[jax.random.categorical(seed, logits)]

    return sample, (key(), floats(5, 10), floats(10, 4))


@program("random/random_walk_on_grid")
def random_walk_on_grid() -> Made:
    def visits(seed: jax.Array) -> jax.Array:
        moves = jnp.array([[0, 1], [0, -1], [1, 0], [-1, 0]])

        def step(state: tuple[jax.Array, jax.Array], seed: jax.Array) -> tuple[tuple[jax.Array, jax.Array], None]:
            at, seen = state
            at = jnp.clip(at + moves[jax.random.randint(seed, (), 0, 4)], 0, 15)
            return (at, seen.at[at[0], at[1]].add(1)), None

        start = (jnp.array([8, 8]), jnp.zeros((16, 16), jnp.int32))
        return lax.scan(step, start, jax.random.split(seed, 200))[0][1]

    return visits, (key(),)


@program("random/continuous_distributions")
def continuous_distributions() -> Made:
    def draw(seed: jax.Array) -> tuple[jax.Array, ...]:
        a, b, c, d = jax.random.split(seed, 4)
        return (
            jax.random.gamma(a, 2.0, (5,)),
            jax.random.poisson(b, 3.0, (5,)),
            jax.random.binomial(c, 10, 0.5, (5,)),
            jax.random.truncated_normal(d, -1.0, 1.0, (5,)),
        )

    return draw, (key(),)
