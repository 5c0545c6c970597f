"""Optax: losses that look labels up, optimisers that keep history, assignment."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, ints, program, shapes_of


@program("optax/cross_entropy_gradient", "optax")
def cross_entropy_gradient() -> Made:
    import optax

    def loss(logits: jax.Array, labels: jax.Array) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(logits, labels).mean()

    return jax.grad(loss), (floats(8, 10), ints(8))


@program("optax/connectionist_temporal_gradient", "optax")
def connectionist_temporal_gradient() -> Made:
    import optax

    def loss(logits: jax.Array, skip: jax.Array, labels: jax.Array, unused: jax.Array) -> jax.Array:
        return optax.ctc_loss(logits, skip, labels, unused).mean()

    return jax.grad(loss), (floats(4, 20, 10), floats(4, 20), ints(4, 8), floats(4, 8))


@program("optax/hinge_and_sparsemax", "optax")
def hinge_and_sparsemax() -> Made:
    import optax

    def loss(scores: jax.Array, labels: jax.Array) -> jax.Array:
        hinge = optax.losses.multiclass_hinge_loss(scores, labels)
        return (hinge + optax.losses.multiclass_sparsemax_loss(scores, labels)).mean()

    return jax.grad(loss), (floats(8, 10), ints(8))


@program("optax/simplex_projection", "optax")
def simplex_projection() -> Made:
    import optax

    return jax.grad(lambda x: optax.projections.projection_simplex(x)[0]), (floats(12),)


@program("optax/lbfgs_with_line_search", "optax")
def lbfgs_with_line_search() -> Made:
    import optax

    optimiser = optax.lbfgs(memory_size=5)

    def objective(x: jax.Array) -> jax.Array:
        return jnp.sum((x[1:] - x[:-1] ** 2) ** 2)

    def step(x: jax.Array, state: Any) -> Any:
        value, gradient = optax.value_and_grad_from_state(objective)(x, state=state)
        return optimiser.update(gradient, state, x, value=value, grad=gradient, value_fn=objective)

    return step, (floats(10), shapes_of(optimiser.init, floats(10)))


@program("optax/hungarian_assignment", "optax")
def hungarian_assignment() -> Made:
    import optax

    return lambda cost: optax.assignment.hungarian_algorithm(cost), (floats(8, 9),)


@program("optax/scheduled_accumulated_adamw", "optax")
def scheduled_accumulated_adamw() -> Made:
    import optax

    schedule = optax.join_schedules([optax.linear_schedule(0.0, 1.0, 10), optax.cosine_decay_schedule(1.0, 100)], [10])
    optimiser = optax.MultiSteps(optax.apply_if_finite(optax.adamw(schedule), 3), 4)
    weights = {"w": floats(16, 8), "b": floats(8)}
    state = shapes_of(optimiser.init, weights)
    return lambda g, s, w: optimiser.update(g, s, w), (weights, state, weights)


@program("optax/adafactor_and_muon", "optax")
def adafactor_and_muon() -> Made:
    import optax

    optimiser = optax.chain(optax.adafactor(1e-3), optax.contrib.muon(1e-3))
    weights = {"w": floats(256, 128), "b": floats(128)}
    state = shapes_of(optimiser.init, weights)
    return lambda g, s, w: optimiser.update(g, s, w), (weights, state, weights)
