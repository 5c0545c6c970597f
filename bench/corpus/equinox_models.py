"""Equinox: modules, vmapped embeddings, its own bounded while loop."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from . import Made, floats, ints, key, program


@program("equinox/attention_gradient", "equinox")
def attention_gradient() -> Made:
    import equinox as eqx

    class Encoder(eqx.Module):
        embed: eqx.nn.Embedding
        rotate: eqx.nn.RotaryPositionalEmbedding
        attention: eqx.nn.MultiheadAttention
        norm: eqx.nn.LayerNorm

        def __init__(self, seed: jax.Array) -> None:
            a, b = jax.random.split(seed)
            self.embed = eqx.nn.Embedding(100, 32, key=a)
            self.rotate = eqx.nn.RotaryPositionalEmbedding(32)
            self.attention = eqx.nn.MultiheadAttention(4, 32, key=b)
            self.norm = eqx.nn.LayerNorm(32)

        def __call__(self, tokens: jax.Array) -> jax.Array:
            h = self.rotate(jax.vmap(self.embed)(tokens))
            causal = jnp.tril(jnp.ones((tokens.shape[0], tokens.shape[0]), bool))
            return jax.vmap(self.norm)(self.attention(h, h, h, mask=causal))

    model = eqx.filter_eval_shape(Encoder, key())
    weights, rest = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))

    def loss(weights: Any, tokens: jax.Array) -> jax.Array:
        return jax.vmap(eqx.combine(weights, rest))(tokens).sum()

    return jax.grad(loss), (weights, ints(2, 8))


@program("equinox/recurrent_and_pooling", "equinox")
def recurrent_and_pooling() -> Made:
    import equinox as eqx

    def features(seed: jax.Array, x: jax.Array) -> Any:
        cell = eqx.nn.GRUCell(8, 16, key=seed)
        last, _ = lax.scan(lambda h, row: (cell(row, h), None), jnp.zeros(16), x)
        image = eqx.nn.Conv1d(8, 4, 3, key=seed)(x.T)
        return last, eqx.nn.AdaptiveAvgPool1d(5)(image), eqx.nn.MaxPool1d(2, 2)(image)

    return features, (key(), floats(20, 8))


@program("equinox/bounded_while_gradient", "equinox")
def bounded_while_gradient() -> Made:
    from equinox import internal

    def iterate(x: jax.Array, steps: jax.Array) -> jax.Array:
        def body(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            i, trace = state
            return i + 1, trace.at[i + 1].set(jnp.cos(trace[i]))

        _, trace = internal.while_loop(
            lambda s: s[0] < steps,
            body,
            (jnp.int32(0), x),
            max_steps=15,
            kind="checkpointed",
            buffers=lambda s: s[1],
        )
        return trace.sum()

    return jax.grad(iterate), (floats(16), ints())


@program("equinox/mlp_train_step", "equinox", "optax")
def mlp_train_step() -> Made:
    import equinox as eqx
    import optax

    optimiser = optax.adam(1e-3)
    model = eqx.filter_eval_shape(lambda k: eqx.nn.MLP(8, 10, 32, 2, key=k), key())
    weights, rest = eqx.partition(model, lambda leaf: isinstance(leaf, jax.ShapeDtypeStruct))
    state = jax.eval_shape(optimiser.init, weights)

    def step(weights: Any, state: Any, x: jax.Array, label: jax.Array) -> tuple[Any, Any]:
        def loss(weights: Any) -> jax.Array:
            logits = jax.vmap(eqx.combine(weights, rest))(x)
            return optax.softmax_cross_entropy_with_integer_labels(logits, label).mean()

        updates, after = optimiser.update(jax.grad(loss)(weights), state, weights)
        return optax.apply_updates(weights, updates), after

    return step, (weights, state, floats(16, 8), ints(16))
