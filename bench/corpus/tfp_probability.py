"""TensorFlow Probability on JAX: hidden Markov models, resampling, no-U-turn sampling."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, key, program, shapes_of


@program("tfp/hidden_markov_posterior", "tensorflow_probability")
def hidden_markov_posterior() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    d = tfp.distributions

    def posterior(start: jax.Array, move: jax.Array, centre: jax.Array, seen: jax.Array) -> Any:
        model = d.HiddenMarkovModel(
            d.Categorical(logits=start), d.Categorical(logits=move), d.Normal(centre, 1.0), num_steps=20
        )
        return model.posterior_mode(seen), model.log_prob(seen)

    return posterior, (floats(4), floats(4, 4), floats(4), floats(20))


@program("tfp/particle_resampling", "tensorflow_probability")
def particle_resampling() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    def resample(log_weights: jax.Array, particles: jax.Array, seed: jax.Array) -> jax.Array:
        chosen = tfp.experimental.mcmc.resample_systematic(log_weights, 20, (), seed=seed)
        return particles[chosen]

    return resample, (floats(20), floats(20, 3), key())


@program("tfp/no_u_turn_step", "tensorflow_probability")
def no_u_turn_step() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    kernel = tfp.mcmc.NoUTurnSampler(lambda x: -0.5 * jnp.sum(x**2), step_size=0.1, max_tree_depth=4)
    state = shapes_of(kernel.bootstrap_results, floats(3))
    return lambda x, s, seed: kernel.one_step(x, s, seed=seed), (floats(3), state, key())


@program("tfp/interpolation_and_triangles", "tensorflow_probability")
def interpolation_and_triangles() -> Made:
    from tensorflow_probability.substrates import jax as tfp

    def values(x: jax.Array, table: jax.Array, packed: jax.Array) -> Any:
        return (
            tfp.math.interp_regular_1d_grid(x, 0.0, 1.0, table),
            tfp.stats.percentile(x, 30.0),
            tfp.math.fill_triangular(packed),
        )

    return values, (floats(30), floats(20), floats(10))
