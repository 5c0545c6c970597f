"""How redzone's time grows: with loop nesting, and with the size of the arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import measure
from jax import lax

DEPTHS = (1, 2, 3, 4, 5, 6)
SIZES = (3, 6, 9, 12)
"""Arrays of ten to the power of these."""

Made = tuple[Callable[..., Any], tuple[Any, ...]]


def counted_nest(depth: int) -> Made:
    """`depth` loops of known length around a read and a write at their counters."""

    def nest(x: jax.Array, level: int, counters: tuple[Any, ...]) -> Any:
        if level == depth:
            return x.at[counters].set(x[counters] * 2)
        return lax.fori_loop(0, 4, lambda i, x: nest(x, level + 1, (*counters, i)), x)

    return lambda x: nest(x, 0, ()), (jax.ShapeDtypeStruct((4,) * depth, jnp.float32),)


def data_dependent_nest(depth: int) -> Made:
    """`depth` loops that each run up to an input, with one running position carried through them all."""

    def nest(state: tuple[Any, Any], stop: jax.Array, level: int) -> tuple[Any, Any]:
        if level == depth:
            at, x = state
            return (at + 1) % 32, x.at[at].add(1.0)

        def body(loop: tuple[Any, Any]) -> tuple[Any, Any]:
            i, state = loop
            return i + 1, nest(state, stop, level + 1)

        return lax.while_loop(lambda loop: loop[0] < stop[level], body, (jnp.int32(0), state))[1]

    def run(x: jax.Array, stop: jax.Array) -> Any:
        return nest((jnp.int32(0), x), stop, 0)[1]

    return run, (jax.ShapeDtypeStruct((32,), jnp.float32), jax.ShapeDtypeStruct((depth,), jnp.int32))


def triangular_nest(depth: int) -> Made:
    """`depth` loops where each starts at the counter of the one around it."""

    def nest(x: jax.Array, level: int, start: Any) -> Any:
        if level == depth:
            return x.at[start].add(x[start])
        return lax.fori_loop(start, 16, lambda i, x: nest(x, level + 1, i), x)

    return lambda x: nest(x, 0, jnp.int32(0)), (jax.ShapeDtypeStruct((16,), jnp.float32),)


def array_of(power: int) -> Made:
    """Reads and writes of a cube of 10^power elements, at inputs and at computed places."""
    side = 10 ** (power // 3)

    def touch(x: jax.Array, i: jax.Array, j: jax.Array) -> Any:
        along = jnp.arange(side)
        diagonal = x[along, along[::-1], along % 3]
        in_order = jnp.take_along_axis(x, jnp.argsort(x, axis=1), axis=1)
        peaks = x[along, along, jnp.argmax(x[0], axis=-1)]
        written = x.at[i, jnp.clip(j, 0, side - 1), 0].add(1.0)
        late = jnp.where(jnp.cumsum(x > 0, axis=1) > 3, x, 0.0)
        return x[i, j, j], written, diagonal, in_order, peaks, late

    index = jax.ShapeDtypeStruct((10,), jnp.int32)
    return touch, (jax.ShapeDtypeStruct((side, side, side), jnp.float32), index, index)


SERIES: dict[str, tuple[tuple[int, ...], Callable[[int], Made]]] = {
    "loops of known length": (DEPTHS, counted_nest),
    "loops up to an input": (DEPTHS, data_dependent_nest),
    "triangular loops": (DEPTHS, triangular_nest),
    "array size": (SIZES, array_of),
}


def measure_series(name: str, repeats: int) -> dict[str, Any]:
    """Each member of a series: its parameter, equations, seconds and verdicts.

    The members take turns, so that a drift of the machine's speed meets them all alike.
    """
    parameters, make = SERIES[name]
    programs = {p: make(p) for p in parameters}
    best: dict[int, dict[str, Any]] = {}
    for _ in range(repeats):
        for parameter, (fn, args) in programs.items():
            point = measure.check(fn, args, 1)
            known = best.setdefault(parameter, point)
            for stage in ("trace", "check", "walk"):
                known[stage] = min(known[stage], point[stage])
    kept = ("equations", "trace", "check", "walk", "memory", "verdicts")
    return {"points": [{"parameter": p, **{k: best[p][k] for k in kept}} for p in parameters]}
