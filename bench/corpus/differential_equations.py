"""Diffrax: adaptive, implicit, stochastic and controlled solves, and the gradient through one."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, key, program


def _decay(t: jax.Array, y: jax.Array, rate: jax.Array) -> jax.Array:
    return -rate * y


@program("diffrax/adaptive_at_times", "diffrax")
def adaptive_at_times() -> Made:
    import diffrax

    def solve(y: jax.Array, rate: jax.Array, times: jax.Array) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(_decay),
            diffrax.Tsit5(),
            0.0,
            1.0,
            0.1,
            y,
            args=rate,
            saveat=diffrax.SaveAt(ts=times),
            stepsize_controller=diffrax.PIDController(1e-3, 1e-6),
        ).ys

    return solve, (floats(3), floats(), floats(11))


@program("diffrax/gradient_through_steps", "diffrax")
def gradient_through_steps() -> Made:
    import diffrax

    def end(y: jax.Array, rate: jax.Array) -> jax.Array:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(_decay),
            diffrax.Dopri5(),
            0.0,
            1.0,
            0.1,
            y,
            args=rate,
            max_steps=64,
            stepsize_controller=diffrax.PIDController(1e-3, 1e-6),
        )
        return solution.ys.sum()

    return jax.grad(end), (floats(3), floats())


@program("diffrax/dense_output_and_event", "diffrax")
def dense_output_and_event() -> Made:
    import diffrax

    def solve(y: jax.Array, rate: jax.Array, at: jax.Array) -> Any:
        solution = diffrax.diffeqsolve(
            diffrax.ODETerm(_decay),
            diffrax.Heun(),
            0.0,
            1.0,
            0.1,
            y,
            args=rate,
            saveat=diffrax.SaveAt(dense=True, steps=True),
            max_steps=32,
            event=diffrax.Event(lambda t, y, args, **_: y[0] < 0.1),
        )
        return solution.evaluate(at), solution.ys

    return solve, (floats(3), floats(), floats())


@program("diffrax/stochastic_brownian_tree", "diffrax")
def stochastic_brownian_tree() -> Made:
    import diffrax

    def solve(seed: jax.Array, y: jax.Array) -> Any:
        noise = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (), seed)
        terms = diffrax.MultiTerm(
            diffrax.ODETerm(lambda t, y, args: -y),
            diffrax.ControlTerm(lambda t, y, args: 0.1 * y, noise),
        )
        times = jnp.linspace(0, 1, 9)
        return diffrax.diffeqsolve(terms, diffrax.EulerHeun(), 0.0, 1.0, 0.05, y, saveat=diffrax.SaveAt(ts=times)).ys

    return solve, (key(), floats())


@program("diffrax/stiff_implicit", "diffrax")
def stiff_implicit() -> Made:
    import diffrax

    def solve(y: jax.Array, rate: jax.Array) -> Any:
        return diffrax.diffeqsolve(
            diffrax.ODETerm(_decay),
            diffrax.Kvaerno5(),
            0.0,
            1.0,
            0.1,
            y,
            args=rate,
            stepsize_controller=diffrax.PIDController(1e-3, 1e-6),
        ).ys

    return solve, (floats(3), floats())


@program("diffrax/controlled_by_data", "diffrax")
def controlled_by_data() -> Made:
    import diffrax

    def solve(times: jax.Array, data: jax.Array, weights: jax.Array) -> Any:
        path = diffrax.CubicInterpolation(times, diffrax.backward_hermite_coefficients(times, data))
        term = diffrax.ControlTerm(lambda t, y, args: jnp.tanh(y)[:, None] * weights, path)
        return diffrax.diffeqsolve(term, diffrax.Tsit5(), 0.0, 1.0, 0.1, jnp.ones(4)).ys

    return solve, (floats(10), floats(10, 3), floats(4, 3))
