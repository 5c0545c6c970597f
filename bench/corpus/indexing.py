"""`jax.numpy` indexing as people write it, each a few lines over one of JAX's own routines."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from . import Made, bools, floats, ints, program


@program("jnp/sort_rows_by_key")
def sort_rows_by_key() -> Made:
    return lambda keys, rows: rows[jnp.argsort(keys)], (floats(200), floats(200, 3))


@program("jnp/running_windows")
def running_windows() -> Made:
    def windows(signal: jax.Array) -> jax.Array:
        starts = jnp.arange(signal.shape[0] - 8 + 1)
        return jax.vmap(lambda s: lax.dynamic_slice_in_dim(signal, s, 8))(starts).mean(-1)

    return windows, (floats(500),)


@program("jnp/ring_buffer")
def ring_buffer() -> Made:
    def push_all(buffer: jax.Array, items: jax.Array) -> jax.Array:
        def push(state: tuple[jax.Array, jax.Array], item: jax.Array) -> tuple[tuple[jax.Array, jax.Array], None]:
            buffer, at = state
            return (buffer.at[at % 32].set(item), at + 1), None

        return lax.scan(push, (buffer, jnp.int32(0)), items)[0][0]

    return push_all, (floats(32, 4), floats(100, 4))


@program("jnp/table_interpolation")
def table_interpolation() -> Made:
    return jnp.interp, (floats(50), floats(20), floats(20))


@program("jnp/histogram_lookup")
def histogram_lookup() -> Made:
    def equalise(image: jax.Array) -> jax.Array:
        counts, edges = jnp.histogram(image, bins=64)
        cumulative = jnp.cumsum(counts) / image.size
        return cumulative[jnp.clip(jnp.digitize(image, edges) - 1, 0, 63)]

    return equalise, (floats(32, 32),)


@program("jnp/compact_with_nonzero")
def compact_with_nonzero() -> Made:
    def compact(x: jax.Array, keep: jax.Array) -> jax.Array:
        return x[jnp.nonzero(keep, size=64, fill_value=0)[0]]

    return compact, (floats(128, 2), bools(128))


@program("jnp/unique_labels")
def unique_labels() -> Made:
    def recode(labels: jax.Array, weights: jax.Array) -> jax.Array:
        _, inverse = jnp.unique(labels, size=16, return_inverse=True)
        return weights[inverse]

    return recode, (ints(100), floats(16))


@program("jnp/neighbours_on_torus")
def neighbours_on_torus() -> Made:
    def life(board: jax.Array) -> jax.Array:
        n, m = board.shape
        rows, columns = jnp.mgrid[0:n, 0:m]
        alive = sum(
            board[(rows + di) % n, (columns + dj) % m] for di in (-1, 0, 1) for dj in (-1, 0, 1) if (di, dj) != (0, 0)
        )
        return (alive == 3) | ((board == 1) & (alive == 2))

    return life, (ints(24, 30),)


@program("jnp/flat_index_round_trip")
def flat_index_round_trip() -> Made:
    def peak(x: jax.Array) -> jax.Array:
        i, j = jnp.unravel_index(jnp.argmax(x), x.shape)
        return x[i, j] + x[i, 0] + x[0, j]

    return peak, (floats(17, 9),)


@program("jnp/confusion_matrix")
def confusion_matrix() -> Made:
    def count(truth: jax.Array, scores: jax.Array) -> jax.Array:
        return jnp.zeros((10, 10), jnp.int32).at[truth, jnp.argmax(scores, -1)].add(1)

    return count, (ints(64), floats(64, 10))


@program("jnp/triangular_pairs")
def triangular_pairs() -> Made:
    def distances(points: jax.Array) -> jax.Array:
        i, j = jnp.triu_indices(points.shape[0], 1)
        return jnp.linalg.norm(points[i] - points[j], axis=-1)

    return distances, (floats(12, 3),)


@program("jnp/repeat_by_count")
def repeat_by_count() -> Made:
    def expand(values: jax.Array, counts: jax.Array) -> jax.Array:
        return jnp.repeat(values, counts, total_repeat_length=64)

    return expand, (floats(10), ints(10))


@program("jnp/top_k_then_gather")
def top_k_then_gather() -> Made:
    def best(scores: jax.Array, boxes: jax.Array) -> jax.Array:
        chosen = lax.top_k(scores, 5)[1]
        return jnp.take_along_axis(boxes, chosen[..., None], axis=1)

    return best, (floats(4, 100), floats(4, 100, 4))


@program("jnp/segment_softmax")
def segment_softmax() -> Made:
    def softmax(logits: jax.Array, segment: jax.Array) -> jax.Array:
        top = jax.ops.segment_max(logits, segment, 8)
        weight = jnp.exp(logits - top[segment])
        return weight / jax.ops.segment_sum(weight, segment, 8)[segment]

    return softmax, (floats(64), ints(64))
