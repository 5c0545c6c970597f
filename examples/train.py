"""A small training loop in plain JAX, with a bug that nobody notices: the last window is read past the end."""

import argparse

import jax
import jax.numpy as jnp

LENGTH, WINDOW = 100, 16


@jax.jit
def epoch(weights: jax.Array, series: jax.Array) -> jax.Array:
    """One step for each window of the series."""

    def step(weights: jax.Array, k: jax.Array) -> tuple[jax.Array, None]:
        window = jax.lax.dynamic_slice(series, (k * WINDOW,), (WINDOW,))
        gradient = jax.grad(lambda w: jnp.mean((w * window - window[::-1]) ** 2))(weights)
        return weights - 0.1 * gradient, None

    # Rounded up, so the seventh window starts at 96 and ends at 112. JAX moves it back to 84 without a word.
    windows = -(-LENGTH // WINDOW)
    return jax.lax.scan(step, weights, jnp.arange(windows))[0]


def main() -> None:
    arguments = argparse.ArgumentParser()
    arguments.add_argument("--epochs", type=int, default=2)
    epochs = arguments.parse_args().epochs
    series = jnp.sin(jnp.arange(LENGTH) / 10)
    weights = jnp.zeros(WINDOW)
    for _ in range(epochs):
        weights = epoch(weights, series)
    print(f"trained in {epochs} epochs")


if __name__ == "__main__":
    main()
