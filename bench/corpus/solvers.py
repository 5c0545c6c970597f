"""Lineax and Optimistix: linear systems, least squares, roots and minima."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, program


def _residual(y: jax.Array, target: jax.Array) -> jax.Array:
    return jnp.stack([y[0] - target, 10 * (y[1] - y[0] ** 2)])


def _squared(y: jax.Array, target: jax.Array) -> jax.Array:
    return jnp.sum(_residual(y, target) ** 2)


def _linear_gradient(solver: Any) -> Made:
    import lineax

    def total(matrix: jax.Array, b: jax.Array) -> jax.Array:
        return lineax.linear_solve(lineax.MatrixLinearOperator(matrix), b, solver).value.sum()

    return jax.grad(total), (floats(6, 6), floats(6))


@program("lineax/lu_gradient", "lineax")
def lu_gradient() -> Made:
    import lineax

    return _linear_gradient(lineax.LU())


@program("lineax/gmres_gradient", "lineax")
def gmres_gradient() -> Made:
    import lineax

    return _linear_gradient(lineax.GMRES(rtol=1e-5, atol=1e-5))


@program("lineax/tridiagonal", "lineax")
def tridiagonal() -> Made:
    import lineax

    def solve(main: jax.Array, low: jax.Array, high: jax.Array, b: jax.Array) -> jax.Array:
        operator = lineax.TridiagonalLinearOperator(main, low, high)
        return lineax.linear_solve(operator, b, lineax.Tridiagonal()).value

    return solve, (floats(8), floats(7), floats(7), floats(8))


@program("optimistix/bfgs", "optimistix")
def bfgs() -> Made:
    import optimistix

    solver = optimistix.BFGS(rtol=1e-5, atol=1e-5)
    return lambda y, a: optimistix.minimise(_squared, solver, y, a).value, (floats(2), floats())


@program("optimistix/levenberg_marquardt", "optimistix")
def levenberg_marquardt() -> Made:
    import optimistix

    solver = optimistix.LevenbergMarquardt(rtol=1e-5, atol=1e-5)
    return lambda y, a: optimistix.least_squares(_residual, solver, y, a).value, (floats(2), floats())


@program("optimistix/nelder_mead", "optimistix")
def nelder_mead() -> Made:
    import optimistix

    solver = optimistix.NelderMead(rtol=1e-5, atol=1e-5)
    return lambda y, a: optimistix.minimise(_squared, solver, y, a).value, (floats(2), floats())


@program("optimistix/newton_root_gradient", "optimistix")
def newton_root_gradient() -> Made:
    import optimistix

    solver = optimistix.Newton(rtol=1e-5, atol=1e-5)

    def root(y: jax.Array, target: jax.Array) -> jax.Array:
        return optimistix.root_find(_residual, solver, y, target).value.sum()

    return jax.grad(root, argnums=1), (floats(2), floats())
