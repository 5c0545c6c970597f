"""Index-heavy programs of the kinds people write, with arguments that keep inside every array."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A function to compile and the arguments to call it with."""

    name: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


def _integers(seed: int, shape: Any, high: int) -> Any:
    return jax.random.randint(jax.random.key(seed), shape if isinstance(shape, tuple) else (shape,), 0, high, jnp.int32)


def _floats(seed: int, shape: Any) -> Any:
    return jax.random.normal(jax.random.key(seed), shape if isinstance(shape, tuple) else (shape,), jnp.float32)


def embedding(table: Any, tokens: Any) -> Any:
    return jnp.tanh(table[tokens]).sum(axis=-1)


def embedding_gradient(table: Any, tokens: Any) -> Any:
    return jax.grad(lambda t: jnp.tanh(t[tokens]).sum())(table)


def decode(cache: Any, key: Any, query: Any, position: Any) -> Any:
    """One step of a decoder: write into the cache, attend over what was written."""
    cache = lax.dynamic_update_slice(cache, key[:, None], (0, position, 0))
    scores = jnp.einsum("btd,bd->bt", cache, query)
    scores = jnp.where(jnp.arange(cache.shape[1]) <= position, scores, -jnp.inf)
    return cache, jnp.einsum("bt,btd->bd", jax.nn.softmax(scores), cache)


def messages(nodes: Any, senders: Any, receivers: Any, weights: Any) -> Any:
    for _ in range(3):
        sent = nodes[senders] @ weights
        nodes = jnp.tanh(nodes + jnp.zeros_like(nodes).at[receivers].add(sent, mode="drop"))
    return nodes


def grid_world(board: Any, moves: Any) -> Any:
    """Agents walk a board; a wall of the world stops them."""
    steps = jnp.array([[0, 1], [0, -1], [1, 0], [-1, 0]])
    size = jnp.array(board.shape) - 1

    def step(place: Any, move: Any) -> Any:
        place = jnp.clip(place + steps[move % 4], 0, size)
        return place, board[place[:, 0], place[:, 1]]

    start = jnp.zeros((moves.shape[1], 2), jnp.int32)
    return lax.scan(step, start, moves)


def binary_search(sorted_values: Any, wanted: Any) -> Any:
    def one(value: Any) -> Any:
        def half(bounds: Any) -> Any:
            low, high = bounds
            middle = (low + high) // 2
            right = sorted_values[middle] < value
            return jnp.where(right, middle + 1, low), jnp.where(right, high, middle)

        return lax.while_loop(lambda b: b[0] < b[1], half, (0, sorted_values.shape[0]))[0]

    return jax.vmap(one)(wanted)


def ragged(values: Any, starts: Any, lengths: Any) -> Any:
    """Rows of different lengths, padded side by side."""
    offsets = jnp.arange(128)
    places = starts[:, None] + offsets
    inside = offsets < lengths[:, None]
    return jnp.where(inside, values[jnp.where(inside, places, 0)], 0.0).sum(axis=1)


def routing(tokens: Any, gate: Any, experts: Any) -> Any:
    """Each token goes to its two best experts."""
    weight, chosen = lax.top_k(jax.nn.softmax(tokens @ gate), 2)
    mixed = jnp.einsum("tk,tkd->td", weight, experts[chosen])
    return tokens * mixed


def csr_matvec(values: Any, columns: Any, rows: Any, x: Any) -> Any:
    return jax.ops.segment_sum(values * x[columns], rows, num_segments=x.shape[0])


def histogram(values: Any) -> Any:
    bins = jnp.clip((values * 16 + 128).astype(jnp.int32), 0, 255)
    return jnp.zeros(256, jnp.int32).at[bins].add(1)


def ring_buffer(frames: Any) -> Any:
    def push(held: Any, frame: Any) -> Any:
        buffer, cursor = held
        buffer = buffer.at[cursor % 64].set(frame)
        return (buffer, cursor + 1), buffer[(cursor - 7) % 64].sum()

    start = jnp.zeros((64, *frames.shape[1:])), jnp.int32(0)
    return lax.scan(push, start, frames)


def linked_list(following: Any, values: Any) -> Any:
    """Walk pointers that are part of the input."""

    def hop(held: Any, _: Any) -> Any:
        at, total = held
        return (following[at], total + values[at].sum(axis=-1)), None

    start = jnp.arange(256, dtype=jnp.int32), jnp.zeros(256)
    return lax.scan(hop, start, None, length=200)[0]


def hashed_walk(table: Any, multipliers: Any) -> Any:
    """Positions by multiplying with numbers nobody bounds: nothing can be proved."""

    def hop(held: Any, k: Any) -> Any:
        at, total = held
        total = total + table[at].sum(axis=-1)
        return ((at * k + 7) % jnp.maximum(k, 1), total), None

    start = jnp.arange(512, dtype=jnp.int32), jnp.zeros(512)
    return lax.scan(hop, start, multipliers)[0]


def float_positions(image: Any, points: Any) -> Any:
    """Nearest pixel of points scaled by the data themselves."""
    scale = jnp.max(jnp.abs(points))
    places = (points / scale * (image.shape[0] // 2 - 1) + image.shape[0] // 2).astype(jnp.int32)
    return image[places[:, 0], places[:, 1]]


def scattered_updates(state: Any, keys: Any, amounts: Any) -> Any:
    """Many small updates, one after the other, at positions found in the state itself."""

    def update(table: Any, change: Any) -> Any:
        key, amount = change
        at = table[key, 0].astype(jnp.int32) * 3 + key
        return table.at[at, 1].add(amount), at

    return lax.scan(update, state, (keys, amounts))


def cases(scale: int) -> list[Case]:
    """Every program; `scale` multiplies the data, for machines that are bored otherwise."""
    n = 1024 * scale
    edges, pairs, batch = 4 * n, 256 * n, 8 * scale
    table, tokens = _floats(0, (32768, 256)), _integers(1, (8, n), 32768)
    cache, vectors = _floats(2, (batch, 1024, 64)), _floats(3, (2, batch, 64))
    ends = _integers(6, (2, edges), n)
    rows, columns = jnp.sort(_integers(21, pairs, 16 * n)), _integers(20, pairs, 16 * n)
    starts, lengths = _integers(14, 4 * n, 64 * n - 128), _integers(15, 4 * n, 128)
    return [
        Case("embedding lookup", embedding, (table, tokens)),
        Case("its gradient", embedding_gradient, (table, tokens[:4])),
        Case("KV-cache decode", decode, (cache, vectors[0], vectors[1], jnp.int32(17))),
        Case("graph messages", messages, (_floats(5, (n, 64)), ends[0], ends[1], _floats(8, (64, 64)))),
        Case("grid world, scan", grid_world, (_floats(9, (64, 64)), _integers(10, (500, 32 * scale), 4))),
        Case("binary search", binary_search, (jnp.sort(_floats(11, 1 << 20)), _floats(12, 16 * n))),
        Case("ragged rows", ragged, (_floats(13, 64 * n), starts, lengths)),
        Case("top-2 routing", routing, (_floats(16, (4 * n, 128)), _floats(17, (128, 64)), _floats(18, (64, 128)))),
        Case("CSR matvec", csr_matvec, (_floats(19, pairs), columns, rows, _floats(22, 16 * n))),
        Case("histogram", histogram, (_floats(23, 512 * n),)),
        Case("ring buffer, scan", ring_buffer, (_floats(24, (1000, 256 * scale)),)),
        Case("linked list, scan", linked_list, (_integers(25, 65536, 65536), _floats(26, (65536, 64)))),
        Case("hashed walk, scan", hashed_walk, (_floats(27, (65536, 64)), _integers(28, 200, 65535) + 1)),
        Case("float positions", float_positions, (_floats(29, (1024, 1024)), _floats(30, (64 * n, 2)))),
        Case(
            "scattered updates, scan",
            scattered_updates,
            (jnp.zeros((4096, 2)), _integers(32, 500, 4096), _floats(33, 500)),
        ),
    ]
