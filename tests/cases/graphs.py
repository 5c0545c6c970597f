"""Graphs and sparse matrices: edges, row pointers, neighbours, cells, components, right and almost right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, flag, i32

# Compressed rows: the entries of row i are pointers[i] … pointers[i + 1] - 1.


@case(f32(20), i32(7, min=0, max=20), i32(20, min=0, max=5), f32(6), i32(min=0, max=5))
def one_row_of_a_matrix(values, pointers, columns, x, row):
    first, last = pointers[row], pointers[row + 1]  #: safe
    return lax.fori_loop(first, last, lambda k, t: t + values[k] * x[columns[k]], 0.0)  #: safe


@case(f32(20), i32(7, min=0, max=20), i32(20, min=0, max=5), f32(6), i32(min=0, max=6))
def one_row_of_a_matrix_past_the_last(values, pointers, columns, x, row):
    first, last = pointers[row], pointers[row + 1]  #: safe unsafe
    return lax.fori_loop(first, last, lambda k, t: t + values[k] * x[columns[k]], 0.0)  #: safe


@case(f32(20), i32(7), i32(20, min=0, max=5), f32(6))
def rows_with_unpromised_pointers(values, pointers, columns, x):
    def row(carry, i):
        body = lambda k, t: t + values[k] * x[columns[k]]  # noqa: E731  #: requires safe
        return carry, lax.fori_loop(pointers[i], pointers[i + 1], body, 0.0)  #: safe

    return lax.scan(row, 0, jnp.arange(6))


@case(f32(20), i32(7), i32(20, min=0, max=5), f32(6))
def rows_with_pointers_promised_to_rise(values, pointers, columns, x):
    redzone.assume(pointers[0] == 0)
    redzone.assume(pointers[6] == 20)
    redzone.assume(pointers[1:] >= pointers[:-1])

    def row(carry, i):
        body = lambda k, t: t + values[k] * x[columns[k]]  # noqa: E731  #: safe
        return carry, lax.fori_loop(pointers[i], pointers[i + 1], body, 0.0)  #: safe

    return lax.scan(row, 0, jnp.arange(6))


@case(i32(7, min=0, max=20), f32(20), f32(6))
def the_row_of_each_entry(pointers, values, x):
    row = jnp.searchsorted(pointers, jnp.arange(20), side="right") - 1  #: safe
    return jax.ops.segment_sum(values, row, 6), x[jnp.clip(row, 0, 5)]  #: declared safe


@case(i32(6, min=0, max=4), f32(24))
def counts_to_row_numbers(counts, values):
    row = jnp.repeat(jnp.arange(6), counts, total_repeat_length=24)  #: safe
    return jnp.zeros(6).at[row].add(values)  #: safe


@case(i32(6, min=0, max=4), f32(23))
def offsets_of_counts(counts, values):
    offsets = jnp.cumsum(counts) - counts
    return values[offsets]  #: safe


@case(i32(6, min=0, max=4), f32(20))
def offsets_of_counts_too_many(counts, values):
    offsets = jnp.cumsum(counts) - counts
    return values[offsets]  #: unsafe


@case(i32(6, min=0, max=4), f32(23))
def offsets_by_concatenation(counts, values):
    offsets = jnp.concatenate([jnp.zeros(1, np.int32), jnp.cumsum(counts)])
    return values[offsets[:-1]]  #: safe


@case(i32(6, min=0, max=4), f32(24))
def the_total_as_a_place(counts, values):
    offsets = jnp.concatenate([jnp.zeros(1, np.int32), jnp.cumsum(counts)])
    return values[offsets]  #: unsafe


# Batches of graphs: node numbers are shifted by the nodes before, and padding goes to one dummy node.


@case(f32(16, 3), i32(4, 5, min=0, max=3))
def graphs_side_by_side(nodes, senders):
    shifted = senders + 4 * jnp.arange(4)[:, None]
    return nodes[shifted.reshape(-1)]  #: safe


@case(f32(15, 3), i32(4, 5, min=0, max=3))
def graphs_side_by_side_without_the_last_node(nodes, senders):
    shifted = senders + 4 * jnp.arange(4)[:, None]
    return nodes[shifted.reshape(-1)]  #: unsafe


@case(f32(9, 3), i32(20, min=0, max=9), i32(20, min=0, max=9))
def padding_edges_to_a_node_that_is_not_there(nodes, senders, receivers):
    messages = nodes[senders]  #: unsafe
    return jnp.zeros((9, 3)).at[receivers].add(messages, mode="drop")  #: declared


@case(f32(9, 3), i32(20, min=0, max=9), i32(20, min=0, max=9))
def padding_edges_to_a_node_that_was_added(nodes, senders, receivers):
    padded = jnp.concatenate([nodes, jnp.zeros((1, 3))])
    messages = padded[senders]  #: safe
    return jnp.zeros((10, 3)).at[receivers].add(messages)[:-1]  #: safe


@case(f32(9, 3), i32(20), flag(20), requires=("-9 ≤ senders ≤ 8",))
def edges_that_are_valid(nodes, senders, valid):
    rows = nodes.at[senders].get(mode="promise_in_bounds")  #: requires
    return jnp.where(valid[:, None], rows, 0.0).sum(0)


@case(f32(9), i32(20, min=0, max=8), i32(20, min=0, max=8))
def softmax_over_edges(scores, senders, receivers):
    edge = scores[senders]  #: safe
    top = jax.ops.segment_max(edge, receivers, 9)  #: safe
    return jnp.exp(edge - top[receivers])  #: safe


@case(i32(5, min=0, max=6), f32(30), f32(5))
def the_graph_of_each_node(sizes, nodes, globals_):
    graph = jnp.repeat(jnp.arange(5), sizes, total_repeat_length=30)  #: safe
    return nodes + globals_[graph]  #: safe


# Neighbour lists: n means "no neighbour".
# https://github.com/jax-md/jax-md/issues/171


@case(f32(12, 3), i32(12, 8, min=0, max=12))
def distances_to_neighbours(positions, neighbours):
    there = positions[neighbours]  #: masked
    away = ((there - positions[:, None]) ** 2).sum(-1)
    return jnp.where(neighbours < 12, away, 0.0)


@case(f32(12, 3), i32(12, 8, min=0, max=12))
def distances_to_neighbours_masked_too_late(positions, neighbours):
    there = positions.at[neighbours].get(mode="promise_in_bounds")  #: unsafe
    away = ((there - positions[:, None]) ** 2).sum(-1)
    return jnp.where(neighbours <= 12, away, 0.0)


@case(f32(12, 2), f32(4, 4))
def cells_of_particles(positions, cells):
    cell = jnp.floor(positions % 1.0 * 4).astype(np.int32)
    return cells[cell[:, 0], cell[:, 1]]  #: unsafe


@case(f32(12, 2, min=0.0, max=1.0), f32(4, 4))
def cells_of_particles_on_the_far_wall(positions, cells):
    cell = jnp.floor(positions * 4).astype(np.int32)
    return cells[cell[:, 0], cell[:, 1]]  #: unsafe


@case(f32(12, 2, min=0.0, max=1.0), f32(4, 4))
def cells_of_particles_clipped(positions, cells):
    cell = jnp.clip(jnp.floor(positions * 4), 0, 3).astype(np.int32)
    return cells[cell[:, 0], cell[:, 1]]  #: safe


@case(f32(4, 4), i32(min=0, max=3), i32(min=0, max=3))
def neighbours_of_a_cell_on_a_torus(cells, r, c):
    around = jnp.array([[-1, 0], [1, 0], [0, -1], [0, 1]])
    at = (jnp.stack([r, c]) + around) % 4
    return cells[at[:, 0], at[:, 1]].sum()  #: safe


@case(f32(4, 4), i32(min=0, max=3), i32(min=0, max=3))
def neighbours_of_a_cell_without_a_torus(cells, r, c):
    around = jnp.array([[-1, 0], [1, 0], [0, -1], [0, 1]])
    at = jnp.stack([r, c]) + around
    return cells[at[:, 0], at[:, 1]].sum()  #: unsafe


# Union-find by pointer jumping: every parent is a node.


@case(i32(16, min=0, max=15))
def components_by_jumping(parents):
    return lax.fori_loop(0, 4, lambda _, p: p[p], parents)  #: safe


@case(i32(16), requires=("-16 ≤ parents ≤ 15",))
def components_of_unknown_parents(parents):
    return lax.fori_loop(0, 4, lambda _, p: p[p], parents)  #: requires


@case(i32(16, min=0, max=15), i32(10, 2, min=0, max=15))
def components_by_union(parents, edges):
    def find(p, v):
        return lax.while_loop(lambda u: p[u] != u, lambda u: p[u], v)  #: safe

    def join(p, edge):
        a, b = find(p, edge[0]), find(p, edge[1])
        return p.at[jnp.maximum(a, b)].set(jnp.minimum(a, b)), None  #: safe

    return lax.scan(join, parents, edges)[0]


@case(i32(16, min=0, max=15), i32(10, 2, min=0, max=16))
def components_by_union_of_one_too_many(parents, edges):
    def find(p, v):
        return lax.while_loop(lambda u: p[u] != u, lambda u: p[u], v)  #: unsafe

    def join(p, edge):
        a, b = find(p, edge[0]), find(p, edge[1])
        return p.at[jnp.maximum(a, b)].set(jnp.minimum(a, b)), None  #: safe

    return lax.scan(join, parents, edges)[0]


# Breadth-first search with a queue that holds each node once.


@case(flag(6, 6))
def breadth_first(adjacent):
    def body(state):
        queue, head, tail, seen = state
        node = queue[head]  #: safe
        fresh = adjacent[node] & ~seen  #: safe
        slots = jnp.where(fresh, tail + jnp.cumsum(fresh) - 1, 6)
        queue = queue.at[slots].set(jnp.arange(6), mode="drop")  #: declared
        return queue, head + 1, tail + fresh.sum(), seen | fresh

    start = jnp.zeros(6, np.int32), 0, 1, jnp.arange(6) == 0
    return lax.while_loop(lambda s: (s[1] < s[2]) & (s[1] < 6), body, start)[3]


# A path by following the table of next hops.


@case(i32(8, 8, min=0, max=7), i32(min=0, max=7), i32(min=0, max=7))
def next_hops(table, start, goal):
    return lax.while_loop(lambda v: v != goal, lambda v: table[v, goal], start)  #: safe


@case(f32(8, 8))
def shortest_paths(weights):
    def through(k, d):
        return jnp.minimum(d, d[:, k, None] + d[None, k, :])  #: safe

    return lax.fori_loop(0, 8, through, weights)


# A sparse matrix as a list of coordinates.


@case(f32(7), i32(7, 2), f32(5), requires=("indices[:, 1] ≤ 4",))
def a_product_with_coordinates(data, indices, x):
    rows, columns = indices[:, 0], redzone.assume(indices[:, 1], min=0)
    return jax.ops.segment_sum(data * x[columns], rows, 4)  #: requires declared


@case(i32(10, min=-1, max=10), f32(10), i32(min=0, max=9))
def back_to_the_root(parents, visits, leaf):
    # Where each is somebody's child, nobody is the root: then it never ends, and nobody sees where it was.
    def body(state):
        node, visits = state
        return parents[node], visits.at[node].add(1.0)  #: unsafe

    return lax.while_loop(lambda state: state[0] > -1, body, (leaf, visits))


# The edges of a spanning tree one behind the other: how many there are shows only on edges that differ.


@case(i32(20, 2, min=0, max=7), f32(20))
def a_spanning_tree(edges, weights):
    order = jnp.argsort(weights)
    find = lambda parents, x: lax.fori_loop(0, 8, lambda _, y: parents[y], x)  # noqa: E731  #: safe

    def step(carry, k):
        parents, n, kept = carry
        a, b = find(parents, edges[k, 0]), find(parents, edges[k, 1])  #: safe
        kept = lax.cond(a != b, lambda: kept.at[n].set(k), lambda: kept)  #: safe
        return (parents.at[a].set(b), n + (a != b), kept), None  #: safe

    return lax.scan(step, (jnp.arange(8), 0, jnp.zeros(20, np.int32)), order)[0][2]


@case(i32(20, 2, min=0, max=7), f32(20))
def a_spanning_tree_with_too_few_edges(edges, weights):
    order = jnp.argsort(weights)
    find = lambda parents, x: lax.fori_loop(0, 8, lambda _, y: parents[y], x)  # noqa: E731  #: safe

    def step(carry, k):
        parents, n, kept = carry
        a, b = find(parents, edges[k, 0]), find(parents, edges[k, 1])  #: safe
        kept = lax.cond(a != b, lambda: kept.at[n].set(k), lambda: kept)  #: unsafe
        return (parents.at[a].set(b), n + (a != b), kept), None  #: safe

    return lax.scan(step, (jnp.arange(8), 0, jnp.zeros(3, np.int32)), order)[0][2]
