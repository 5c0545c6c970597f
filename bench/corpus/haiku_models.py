"""Haiku: transformed modules with and without state."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, bools, floats, ints, key, program, shapes_of


@program("haiku/transformer_gradient", "haiku")
def transformer_gradient() -> Made:
    import haiku as hk

    def network(tokens: jax.Array) -> jax.Array:
        length = tokens.shape[1]
        h = hk.Embed(100, 32)(tokens) + hk.Embed(length, 32)(jnp.arange(length))
        for _ in range(2):
            causal = jnp.tril(jnp.ones((1, 1, length, length)))
            h = h + hk.MultiHeadAttention(4, 8, model_size=32, w_init=hk.initializers.RandomNormal())(
                h, h, h, mask=causal
            )
        return hk.Linear(100)(hk.LayerNorm(-1, True, True)(h))

    model = hk.without_apply_rng(hk.transform(network))

    def loss(weights: Any, tokens: jax.Array, targets: jax.Array) -> jax.Array:
        scores = jax.nn.log_softmax(model.apply(weights, tokens))
        return -jnp.take_along_axis(scores, targets[..., None], -1).mean()

    return jax.grad(loss), (shapes_of(model.init, key(), ints(2, 8)), ints(2, 8), ints(2, 8))


@program("haiku/reset_recurrent_unroll", "haiku")
def reset_recurrent_unroll() -> Made:
    import haiku as hk

    def network(x: jax.Array, restart: jax.Array) -> jax.Array:
        core = hk.ResetCore(hk.DeepRNN([hk.LSTM(16), hk.GRU(16)]))
        return hk.dynamic_unroll(core, (x, restart), core.initial_state(4))[0]

    model = hk.without_apply_rng(hk.transform(network))
    batch = (floats(10, 4, 8), bools(10, 4))
    return model.apply, (shapes_of(model.init, key(), *batch), *batch)


@program("haiku/vector_quantiser", "haiku")
def vector_quantiser() -> Made:
    import haiku as hk

    def network(x: jax.Array) -> jax.Array:
        return hk.nets.VectorQuantizerEMA(8, 32, 0.25, 0.99)(x, is_training=True)["quantize"]

    model = hk.transform_with_state(network)
    weights, state = shapes_of(model.init, key(), floats(4, 5, 8))
    return model.apply, (weights, state, key(), floats(4, 5, 8))


@program("haiku/residual_network_gradient", "haiku")
def residual_network_gradient() -> Made:
    import haiku as hk

    model = hk.transform_with_state(lambda x: hk.nets.ResNet18(10)(x, is_training=True))
    weights, state = shapes_of(model.init, key(), floats(2, 32, 32, 3))

    def loss(weights: Any, state: Any, x: jax.Array) -> jax.Array:
        return model.apply(weights, state, None, x)[0].sum()

    return jax.grad(loss), (weights, state, floats(2, 32, 32, 3))
