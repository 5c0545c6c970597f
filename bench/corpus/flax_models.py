"""Flax, both APIs: training steps, recurrent nets, decoding with a cache."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax import lax

from . import Made, floats, ints, key, program, shapes_of


@program("flax/linen_language_model_train_step", "flax", "optax")
def linen_language_model_train_step() -> Made:
    import optax
    from flax import linen as nn

    class LanguageModel(nn.Module):
        @nn.compact
        def __call__(self, tokens: jax.Array) -> jax.Array:
            h = nn.Embed(500, 32)(tokens) + nn.Embed(64, 32)(jnp.arange(tokens.shape[1]))
            for _ in range(3):
                h = h + nn.SelfAttention(4)(nn.LayerNorm()(h), mask=nn.make_causal_mask(tokens))
                h = h + nn.Dense(32)(nn.gelu(nn.Dense(128)(nn.LayerNorm()(h))))
            return nn.Dense(500)(h)

    model, optimiser = LanguageModel(), optax.adamw(1e-3)
    weights = shapes_of(model.init, key(), ints(4, 32))
    state = shapes_of(optimiser.init, weights)

    def step(weights: Any, state: Any, tokens: jax.Array, targets: jax.Array) -> tuple[Any, Any, jax.Array]:
        def loss(weights: Any) -> jax.Array:
            logits = model.apply(weights, tokens)
            return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

        value, gradient = jax.value_and_grad(loss)(weights)
        updates, state_after = optimiser.update(gradient, state, weights)
        return optax.apply_updates(weights, updates), state_after, value

    return step, (weights, state, ints(4, 32), ints(4, 32))


@program("flax/linen_cached_decode", "flax")
def linen_cached_decode() -> Made:
    from flax import linen as nn

    class Decoder(nn.Module):
        @nn.compact
        def __call__(self, tokens: jax.Array) -> jax.Array:
            h = nn.Embed(100, 32)(tokens)
            for _ in range(2):
                h = h + nn.MultiHeadDotProductAttention(4, decode=True)(h, h)
            return nn.Dense(100)(h)

    model = Decoder()
    variables = shapes_of(model.init, key(), ints(2, 24))

    def generate(variables: Any, first: jax.Array) -> jax.Array:
        def step(state: tuple[Any, jax.Array], _: None) -> tuple[tuple[Any, jax.Array], jax.Array]:
            cache, token = state
            logits, changed = model.apply({"params": variables["params"], "cache": cache}, token, mutable=["cache"])
            token = jnp.argmax(logits, -1)
            return (changed["cache"], token), token

        return lax.scan(step, (variables["cache"], first), None, length=24)[1]

    return generate, (variables, ints(2, 1))


@program("flax/linen_scanned_remat_layers", "flax")
def linen_scanned_remat_layers() -> Made:
    from flax import linen as nn

    class Layer(nn.Module):
        @nn.compact
        def __call__(self, h: jax.Array, _: None) -> tuple[jax.Array, None]:
            h = h + nn.SelfAttention(4)(nn.RMSNorm()(h))
            return h + nn.Dense(32)(nn.silu(nn.Dense(64)(h))), None

    class Stack(nn.Module):
        @nn.compact
        def __call__(self, tokens: jax.Array) -> jax.Array:
            embed = nn.Embed(100, 32)
            layers = nn.scan(nn.remat(Layer), variable_axes={"params": 0}, split_rngs={"params": True}, length=6)
            return embed.attend(layers()(embed(tokens), None)[0])

    model = Stack()
    weights = shapes_of(model.init, key(), ints(2, 8))
    return jax.grad(lambda w, tokens: model.apply(w, tokens).sum()), (weights, ints(2, 8))


@program("flax/linen_sequence_to_sequence", "flax", "optax")
def linen_sequence_to_sequence() -> Made:
    import optax
    from flax import linen as nn

    class Translator(nn.Module):
        @nn.compact
        def __call__(self, source: jax.Array, lengths: jax.Array, target: jax.Array) -> jax.Array:
            encoder = nn.RNN(nn.LSTMCell(32), return_carry=True)
            carry, _ = encoder(nn.Embed(50, 16)(source), seq_lengths=lengths)
            return nn.Dense(50)(nn.RNN(nn.LSTMCell(32))(nn.Embed(50, 16)(target), initial_carry=carry))

    model = Translator()
    batch = (ints(4, 12), ints(4), ints(4, 10))

    def loss(weights: Any, source: jax.Array, lengths: jax.Array, target: jax.Array) -> jax.Array:
        logits = model.apply(weights, source, lengths, target)
        return optax.softmax_cross_entropy_with_integer_labels(logits, target).mean()

    return jax.grad(loss), (shapes_of(model.init, key(), *batch), *batch)


@program("flax/linen_convolutional_train_step", "flax", "optax")
def linen_convolutional_train_step() -> Made:
    import optax
    from flax import linen as nn

    class Classifier(nn.Module):
        @nn.compact
        def __call__(self, x: jax.Array) -> jax.Array:
            for features in (16, 32):
                x = nn.Conv(features, (3, 3), strides=2)(x)
                x = nn.relu(nn.BatchNorm(use_running_average=False)(x))
                x = nn.max_pool(x, (2, 2), (1, 1), "SAME")
            return nn.Dense(10)(nn.Dropout(0.5, deterministic=False)(x.mean((1, 2))))

    model = Classifier()
    image = floats(2, 32, 32, 3)
    variables = shapes_of(lambda k, x: model.init({"params": k, "dropout": k}, x), key(), image)

    def loss(variables: Any, x: jax.Array, label: jax.Array, seed: jax.Array) -> jax.Array:
        logits, _ = model.apply(variables, x, rngs={"dropout": seed}, mutable=["batch_stats"])
        return optax.softmax_cross_entropy_with_integer_labels(logits, label).mean()

    return jax.grad(loss), (variables, image, ints(2), key())


@program("flax/linen_bidirectional_recurrent", "flax")
def linen_bidirectional_recurrent() -> Made:
    from flax import linen as nn

    model = nn.Bidirectional(nn.RNN(nn.GRUCell(16)), nn.RNN(nn.GRUCell(16)))
    batch = (floats(4, 12, 8), ints(4))
    weights = shapes_of(lambda k, x, n: model.init(k, x, seq_lengths=n), key(), *batch)
    return lambda w, x, lengths: model.apply(w, x, seq_lengths=lengths), (weights, *batch)


@program("flax/nnx_language_model_gradient", "flax", "optax")
def nnx_language_model_gradient() -> Made:
    import optax
    from flax import nnx

    class LanguageModel(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.embed = nnx.Embed(200, 32, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(4, 32, decode=False, rngs=rngs)
            self.norm = nnx.LayerNorm(32, rngs=rngs)
            self.readout = nnx.Linear(32, 200, rngs=rngs)

        def __call__(self, tokens: jax.Array) -> jax.Array:
            h = self.attention(self.embed(tokens), mask=nnx.make_causal_mask(tokens))
            return self.readout(self.norm(h))

    graph, state = nnx.split(nnx.eval_shape(lambda: LanguageModel(nnx.Rngs(0))))

    def loss(state: Any, tokens: jax.Array, targets: jax.Array) -> jax.Array:
        logits = nnx.merge(graph, state)(tokens)
        return optax.softmax_cross_entropy_with_integer_labels(logits, targets).mean()

    return jax.value_and_grad(loss, allow_int=True), (state, ints(2, 16), ints(2, 16))


@program("flax/nnx_cached_decode_step", "flax")
def nnx_cached_decode_step() -> Made:
    from flax import nnx

    class Decoder(nnx.Module):
        def __init__(self, rngs: Any) -> None:
            self.embed = nnx.Embed(100, 32, rngs=rngs)
            self.attention = nnx.MultiHeadAttention(4, 32, decode=True, rngs=rngs)
            self.readout = nnx.Linear(32, 100, rngs=rngs)

        def __call__(self, tokens: jax.Array) -> jax.Array:
            return self.readout(self.attention(self.embed(tokens)))

    def with_cache() -> Decoder:
        model = Decoder(nnx.Rngs(0))
        model.attention.init_cache((2, 16, 32))
        return model

    graph, state = nnx.split(nnx.eval_shape(with_cache))

    def step(state: Any, token: jax.Array) -> tuple[jax.Array, Any]:
        model = nnx.merge(graph, state)
        return jnp.argmax(model(token), -1), nnx.state(model)

    return step, (state, ints(2, 1))
