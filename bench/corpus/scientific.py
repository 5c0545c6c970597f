"""`jax.scipy`, `jax.image` and `jax.experimental.ode`: numerical routines with indexing inside."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, program


@program("scipy/map_coordinates")
def map_coordinates() -> Made:
    def warp(image: jax.Array, at: jax.Array) -> jax.Array:
        return jax.scipy.ndimage.map_coordinates(image, [at[0], at[1]], order=1, mode="reflect")

    return warp, (floats(16, 17), floats(2, 30))


@program("scipy/grid_interpolator")
def grid_interpolator() -> Made:
    def sample(x: jax.Array, y: jax.Array, values: jax.Array, at: jax.Array) -> jax.Array:
        return jax.scipy.interpolate.RegularGridInterpolator((x, y), values)(at)

    return sample, (floats(10), floats(12), floats(10, 12), floats(7, 2))


@program("scipy/minimize_bfgs")
def minimize_bfgs() -> Made:
    from jax.scipy.optimize import minimize

    def rosenbrock(x: jax.Array) -> jax.Array:
        return jnp.sum(100 * (x[1:] - x[:-1] ** 2) ** 2 + (1 - x[:-1]) ** 2)

    return lambda x: minimize(rosenbrock, x, method="BFGS").x, (floats(5),)


@program("scipy/conjugate_gradient")
def conjugate_gradient() -> Made:
    return lambda a, b: jax.scipy.sparse.linalg.cg(lambda v: a @ v, b)[0], (floats(20, 20), floats(20))


@program("scipy/matrix_functions")
def matrix_functions() -> Made:
    def functions(a: jax.Array) -> tuple[jax.Array, ...]:
        return jax.scipy.linalg.expm(a), jax.scipy.linalg.sqrtm(a), jax.scipy.linalg.polar(a)[0]

    return functions, (floats(6, 6),)


@program("scipy/linear_systems_gradient")
def linear_systems_gradient() -> Made:
    def loss(a: jax.Array, b: jax.Array) -> jax.Array:
        factors = jax.scipy.linalg.lu_factor(a)
        return jax.scipy.linalg.lu_solve(factors, b).sum() + jnp.linalg.slogdet(a)[1]

    return jax.grad(loss), (floats(8, 8), floats(8))


@program("scipy/spectrogram")
def spectrogram() -> Made:
    return lambda x: jax.scipy.signal.stft(x, nperseg=64)[2], (floats(1000),)


@program("scipy/rank_and_mode")
def rank_and_mode() -> Made:
    def statistics(x: jax.Array) -> Any:
        return jax.scipy.stats.rankdata(x, axis=-1), jax.scipy.stats.mode(x, axis=-1).mode

    return statistics, (floats(4, 50),)


@program("scipy/kernel_density")
def kernel_density() -> Made:
    return lambda sample, at: jax.scipy.stats.gaussian_kde(sample)(at), (floats(50), floats(7))


@program("scipy/resize_and_translate")
def resize_and_translate() -> Made:
    def rescale(image: jax.Array, scale: jax.Array, shift: jax.Array) -> jax.Array:
        small = jax.image.resize(image, (8, 9, 3), "cubic")
        return jax.image.scale_and_translate(small, (20, 20, 3), (0, 1), scale, shift, "linear")

    return rescale, (floats(16, 17, 3), floats(2), floats(2))


@program("scipy/pendulum_ode_gradient")
def pendulum_ode_gradient() -> Made:
    from jax.experimental.ode import odeint

    def swing(state: jax.Array, _: jax.Array, length: jax.Array) -> jax.Array:
        return jnp.array([state[1], -9.81 / length * jnp.sin(state[0])])

    def end(length: jax.Array, start: jax.Array, times: jax.Array) -> jax.Array:
        return odeint(swing, start, times, length)[-1, 0]

    return jax.grad(end), (floats(), floats(2), floats(10))


@program("scipy/tridiagonal_eigenvalues")
def tridiagonal_eigenvalues() -> Made:
    def eigenvalues(main: jax.Array, off: jax.Array) -> jax.Array:
        return jax.scipy.linalg.eigh_tridiagonal(main, off, eigvals_only=True)

    return eigenvalues, (floats(30), floats(29))
