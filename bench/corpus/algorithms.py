"""Well-known algorithms written in plain JAX: dynamic programming, search, decoding, clustering."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from . import Made, floats, ints, key, program


@program("algorithm/edit_distance")
def edit_distance() -> Made:
    def distance(a: jax.Array, b: jax.Array) -> jax.Array:
        n, m = a.shape[0], b.shape[0]
        table = jnp.zeros((n + 1, m + 1), jnp.int32)
        table = table.at[:, 0].set(jnp.arange(n + 1)).at[0, :].set(jnp.arange(m + 1))

        def cell(at: jax.Array, table: jax.Array) -> jax.Array:
            i, j = at // m + 1, at % m + 1
            change = table[i - 1, j - 1] + (a[i - 1] != b[j - 1])
            return table.at[i, j].set(jnp.minimum(change, 1 + jnp.minimum(table[i - 1, j], table[i, j - 1])))

        return lax.fori_loop(0, n * m, cell, table)[n, m]

    return distance, (ints(20), ints(30))


@program("algorithm/viterbi")
def viterbi() -> Made:
    def decode(start: jax.Array, move: jax.Array, emit: jax.Array, seen: jax.Array) -> jax.Array:
        def forward(score: jax.Array, symbol: jax.Array) -> tuple[jax.Array, jax.Array]:
            reach = score[:, None] + move
            return reach.max(0) + emit[:, symbol], reach.argmax(0)

        def backward(state: jax.Array, came_from: jax.Array) -> tuple[jax.Array, jax.Array]:
            return came_from[state], state

        last, arrows = lax.scan(forward, start + emit[:, seen[0]], seen[1:])
        return lax.scan(backward, last.argmax(), arrows, reverse=True)[1]

    return decode, (floats(6), floats(6, 6), floats(6, 20), ints(40))


@program("algorithm/beam_search")
def beam_search() -> Made:
    def search(embedding: jax.Array, readout: jax.Array, first: jax.Array) -> jax.Array:
        beams, length = 4, 12
        vocabulary = embedding.shape[0]

        def step(state: tuple[jax.Array, jax.Array], at: jax.Array) -> tuple[tuple[jax.Array, jax.Array], None]:
            tokens, score = state
            logits = jax.nn.log_softmax(embedding[tokens[:, at]] @ readout)
            score, chosen = lax.top_k((score[:, None] + logits).reshape(-1), beams)
            tokens = tokens[chosen // vocabulary].at[:, at + 1].set(chosen % vocabulary)
            return (tokens, score), None

        tokens = jnp.zeros((beams, length), jnp.int32).at[:, 0].set(first)
        return lax.scan(step, (tokens, jnp.zeros(beams)), jnp.arange(length - 1))[0][0]

    return search, (floats(50, 16), floats(16, 50), ints())


@program("algorithm/k_means")
def k_means() -> Made:
    def cluster(points: jax.Array, seed: jax.Array) -> jax.Array:
        centres = points[jax.random.choice(seed, points.shape[0], (5,), replace=False)]

        def improve(_: jax.Array, centres: jax.Array) -> jax.Array:
            nearest = jnp.argmin(((points[:, None] - centres) ** 2).sum(-1), -1)
            total = jnp.zeros_like(centres).at[nearest].add(points)
            count = jnp.zeros(5).at[nearest].add(1.0)
            return total / jnp.maximum(count, 1)[:, None]

        return lax.fori_loop(0, 10, improve, centres)

    return cluster, (floats(100, 2), key())


@program("algorithm/binary_search")
def binary_search() -> Made:
    def find(table: jax.Array, value: jax.Array) -> jax.Array:
        def narrow(ends: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            low, high = ends
            middle = (low + high) // 2
            right = table[middle] < value
            return jnp.where(right, middle + 1, low), jnp.where(right, high, middle)

        return lax.while_loop(lambda e: e[0] < e[1], narrow, (jnp.int32(0), jnp.int32(table.shape[0])))[0]

    return find, (floats(1000), floats())


@program("algorithm/insertion_sort")
def insertion_sort() -> Made:
    def sort(x: jax.Array) -> jax.Array:
        def insert(i: jax.Array, x: jax.Array) -> jax.Array:
            def misplaced(state: tuple[jax.Array, jax.Array]) -> jax.Array:
                j, x = state
                return (j > 0) & (x[jnp.maximum(j - 1, 0)] > x[j])

            def swap(state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
                j, x = state
                return j - 1, x.at[j].set(x[j - 1]).at[j - 1].set(x[j])

            return lax.while_loop(misplaced, swap, (i, x))[1]

        return lax.fori_loop(1, x.shape[0], insert, x)

    return sort, (floats(64),)


@program("algorithm/shortest_paths")
def shortest_paths() -> Made:
    def floyd_warshall(distance: jax.Array) -> jax.Array:
        def through(k: jax.Array, d: jax.Array) -> jax.Array:
            return jnp.minimum(d, d[:, k, None] + d[None, k, :])

        return lax.fori_loop(0, distance.shape[0], through, distance)

    return floyd_warshall, (floats(32, 32),)


@program("algorithm/union_find")
def union_find() -> Made:
    def components(edges: jax.Array) -> jax.Array:
        nodes = 20

        def root(parent: jax.Array, node: jax.Array) -> jax.Array:
            return lax.while_loop(lambda n: parent[n] != n, lambda n: parent[n], node)

        def join(parent: jax.Array, edge: jax.Array) -> tuple[jax.Array, None]:
            a, b = jnp.clip(edge, 0, nodes - 1)
            return parent.at[root(parent, a)].set(root(parent, b)), None

        return lax.scan(join, jnp.arange(nodes), edges)[0]

    return components, (ints(40, 2),)


@program("algorithm/bit_reversed_fft")
def bit_reversed_fft() -> Made:
    def transform(x: jax.Array) -> jax.Array:
        n, bits = x.shape[0], x.shape[0].bit_length() - 1
        order = jnp.zeros(n, jnp.int32)
        for bit in range(bits):
            order = order | (((jnp.arange(n) >> bit) & 1) << (bits - 1 - bit))
        y = x[order].astype(jnp.complex64)
        for level in range(1, bits + 1):
            half = 1 << (level - 1)
            y = y.reshape(-1, 2, half)
            odd = y[:, 1] * jnp.exp(-1j * jnp.pi * jnp.arange(half) / half)
            y = jnp.concatenate([y[:, 0] + odd, y[:, 0] - odd], -1).reshape(-1)
        return y

    return transform, (floats(64),)


@program("algorithm/paged_cache_read")
def paged_cache_read() -> Made:
    def attend(query: jax.Array, pages: jax.Array, table: jax.Array, lengths: jax.Array) -> jax.Array:
        keys = pages[table].reshape(table.shape[0], -1, query.shape[-1])
        visible = jnp.arange(keys.shape[1]) < lengths[:, None]
        scores = jnp.where(visible, jnp.einsum("bd,btd->bt", query, keys), -1e9)
        return jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), keys)

    return attend, (floats(2, 16), floats(64, 8, 16), ints(2, 10), ints(2))
