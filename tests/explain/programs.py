"""Programs whose checks are explained."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from redzone import Spec


def decode(cache: Any, tokens: Any, pos: Any, n: Any) -> Any:
    """A loop, a gather and a slice, with conditions on the inputs."""

    def body(carry: Any) -> Any:
        i, total = carry
        return i + 1, total + cache[jnp.clip(i * 3, 0, 99)] + cache[pos + i]

    _, total = jax.lax.while_loop(lambda carry: carry[0] < n, body, (0, jnp.zeros(())))
    return jax.lax.dynamic_slice(cache, (pos,), (16,)).sum() + total + cache[tokens].sum()


DECODE = (Spec((100,), "float32"), Spec((8,), "int32"), Spec((), "int32"), Spec((), "int32", min=0, max=10))


def triangle(x: Any) -> Any:
    """Two loops, the inner one as long as the outer one's counter says: isl decides it."""

    def outer(i: Any, total: Any) -> Any:
        return jax.lax.fori_loop(0, i + 1, lambda j, t: t + x[i - j], total)

    return jax.lax.fori_loop(0, 16, outer, jnp.zeros(()))


TRIANGLE = (Spec((16,), "float32"),)


def unrolled(x: Any, i: Any) -> Any:
    """A Python loop that leaves sixty copies of its line."""
    total = jnp.zeros(())
    for k in range(60):
        total = total + x[(i + k) % 50] * jnp.sin(x[k % 50])
    return total


UNROLLED = (Spec((50,), "float32"), Spec((), "int32", min=0, max=49))


def creeping(x: Any, n: Any) -> Any:
    """A while loop whose carries need several rounds to come to rest."""

    def body(carry: Any) -> Any:
        a, b, c, d, total = carry
        return jnp.minimum(b + 1, 30), jnp.minimum(c + 1, 60), jnp.minimum(d + 2, 90), (d * 3) % 97, total + x[a]

    first = (0, 0, 0, 1, jnp.zeros(()))
    return jax.lax.while_loop(lambda carry: carry[4] < n, body, first)[4]


CREEPING = (Spec((100,), "float32"), Spec((), "float32"))


def parity(x: Any, i: Any, j: Any, a: Any) -> Any:
    """Outside only where 2i = 2a + 1, which no integers satisfy: isl knows."""
    return x[jnp.where((i + j == a) & (i - j == a + 1), 100, 0)]


PARITY = (Spec((8,), "float32"), *(Spec((), "int32", min=0, max=1000) for _ in range(3)))


def bits(x: Any, i: Any, j: Any) -> Any:
    """i & j plus i ^ j is i | j: z3 knows."""
    return jax.lax.dynamic_slice(x, ((i & j) + (i ^ j) - (i | j),), (1,))


BITS = (Spec((1,), "float32"), Spec((), "int32", min=0, max=255), Spec((), "int32", min=0, max=255))
