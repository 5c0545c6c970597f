"""Evosax: one ask-and-tell round of evolution strategies and genetic algorithms."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from . import Made, floats, key, program


def _round_of(name: str) -> Made:
    from evosax import algorithms
    from evosax.algorithms.population_based.base import PopulationBasedAlgorithm

    strategy = getattr(algorithms, name)(population_size=16, solution=jnp.zeros(4))
    settings = strategy.default_params

    def one_round(seed: jax.Array, population: jax.Array, fitness: jax.Array) -> Any:
        if isinstance(strategy, PopulationBasedAlgorithm):
            state = strategy.init(seed, population, fitness, settings)
        else:
            state = strategy.init(seed, population[0], settings)
        asked, state = strategy.ask(seed, state, settings)
        return strategy.tell(seed, asked, fitness, state, settings)

    return one_round, (key(), floats(16, 4), floats(16))


@program("evosax/cma_es", "evosax")
def cma_es() -> Made:
    return _round_of("CMA_ES")


@program("evosax/differential_evolution", "evosax")
def differential_evolution() -> Made:
    return _round_of("DifferentialEvolution")


@program("evosax/genetic_algorithm", "evosax")
def genetic_algorithm() -> Made:
    return _round_of("SimpleGA")


@program("evosax/particle_swarm", "evosax")
def particle_swarm() -> Made:
    return _round_of("PSO")
