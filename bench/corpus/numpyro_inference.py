"""NumPyro: Monte Carlo steps and variational updates of a model with an indexed group effect."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, ints, key, program


def _grouped_regression() -> Callable[[jax.Array, jax.Array, jax.Array], None]:
    """Each observation belongs to one of five groups with an offset of its own."""
    import numpyro
    from numpyro import distributions as dist

    def model(x: jax.Array, group: jax.Array, y: jax.Array) -> None:
        with numpyro.plate("groups", 5):
            offset = numpyro.sample("offset", dist.Normal(0, 1))
        slope = numpyro.sample("slope", dist.HalfNormal(1.0).expand([3]).to_event(1))
        numpyro.sample("y", dist.Normal(offset[group] + x @ slope, 1.0), obs=y)

    return model


def _observations() -> tuple[jax.Array, jax.Array, jax.Array]:
    return jnp.ones((20, 3)), jnp.arange(20) % 5, jnp.ones(20)


def _step_of(kernel: Any) -> Made:
    """One sampling step of a kernel; its state's shapes come from starting it once."""
    state = kernel.init(jax.random.PRNGKey(0), 10, None, _observations(), {})
    shapes = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(jnp.shape(leaf), jnp.result_type(leaf)), state)
    return lambda s, *data: kernel.sample(s, data, {}), (shapes, floats(20, 3), ints(20), floats(20))


@program("numpyro/nuts_step", "numpyro")
def nuts_step() -> Made:
    from numpyro.infer import NUTS

    return _step_of(NUTS(_grouped_regression()))


@program("numpyro/hmc_step", "numpyro")
def hmc_step() -> Made:
    from numpyro.infer import HMC

    return _step_of(HMC(_grouped_regression(), num_steps=5, trajectory_length=None))


@program("numpyro/variational_update", "numpyro")
def variational_update() -> Made:
    import numpyro
    from numpyro.infer import SVI, Trace_ELBO, autoguide

    model = _grouped_regression()
    guide = autoguide.AutoLowRankMultivariateNormal(model)
    inference = SVI(model, guide, numpyro.optim.Adam(1e-2), Trace_ELBO())
    state = inference.init(jax.random.PRNGKey(0), *_observations())
    return lambda s, *data: inference.update(s, *data), (state, floats(20, 3), ints(20), floats(20))


@program("numpyro/mixture_log_density", "numpyro")
def mixture_log_density() -> Made:
    from numpyro import distributions as dist

    def density(seed: jax.Array, weights: jax.Array, means: jax.Array, x: jax.Array) -> jax.Array:
        member = dist.Categorical(weights).sample(seed, (20,))
        mixture = dist.MixtureSameFamily(dist.Categorical(weights), dist.Normal(means, 1.0))
        given = dist.Normal(means[member], 1.0).log_prob(x) + dist.Categorical(weights).log_prob(member)
        return given.sum() + mixture.log_prob(x).sum()

    return jax.grad(density, argnums=2), (key(), floats(4), floats(4), floats(20))


@program("numpyro/correlation_transforms", "numpyro")
def correlation_transforms() -> Made:
    from numpyro import distributions as dist
    from numpyro.distributions import transforms

    def draw(seed: jax.Array, x: jax.Array) -> tuple[jax.Array, ...]:
        factor = dist.LKJCholesky(4, 1.0).sample(seed)
        return (
            dist.LKJCholesky(4, 1.0).log_prob(factor),
            transforms.CorrCholeskyTransform()(x[:6]),
            transforms.LowerCholeskyTransform()(x),
            transforms.StickBreakingTransform()(x),
            dist.GaussianRandomWalk(1.0, 5).sample(seed),
        )

    return draw, (key(), floats(10))


@program("numpyro/hidden_markov_scan", "numpyro")
def hidden_markov_scan() -> Made:
    import numpyro
    from numpyro import distributions as dist
    from numpyro import handlers
    from numpyro.contrib.control_flow import scan

    def model(move: jax.Array, centre: jax.Array, length: int) -> jax.Array:
        def step(state: jax.Array, _: None) -> tuple[jax.Array, jax.Array]:
            state = numpyro.sample("state", dist.Categorical(move[state]))
            return state, numpyro.sample("seen", dist.Normal(centre[state], 1.0))

        return scan(step, jnp.int32(0), None, length=length)[1]

    def simulate(seed: jax.Array, move: jax.Array, centre: jax.Array) -> jax.Array:
        return handlers.seed(model, seed)(move, centre, 30)

    return simulate, (key(), floats(4, 4), floats(4))
