"""Algorithms on arrays: searches, heaps, tables of dynamic programming, hashing, sorting, right and almost right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import redzone
from tests.cases import case, f32, flag, i32, u8, u32

# Binary search for the first element that is not less.


@case(f32(10), f32())
def first_not_less(x, wanted):
    def body(carry):
        low, high = carry
        middle = (low + high) // 2
        less = x[middle] < wanted  #: safe
        return jnp.where(less, middle + 1, low), jnp.where(less, high, middle)

    low, _ = lax.while_loop(lambda c: c[0] < c[1], body, (0, 10))
    return x[jnp.minimum(low, 9)], x[low]  #: safe unsafe


@case(f32(10), f32())
def first_not_less_by_counted_halving(x, wanted):
    def body(_, carry):
        low, high = carry
        middle = low + (high - low) // 2
        less = x[middle] < wanted  #: safe
        return jnp.where(less, middle, low), jnp.where(less, high, middle)

    _, high = lax.fori_loop(0, 4, body, (0, 9))
    return x[high]  #: safe


@case(f32(10), f32())
def first_not_less_up_to_and_with_the_size(x, wanted):
    def body(carry):
        low, high = carry
        middle = (low + high) // 2
        less = x[middle] < wanted  #: unsafe
        return jnp.where(less, middle + 1, low), jnp.where(less, high, middle - 1)

    return lax.while_loop(lambda c: c[0] <= c[1], body, (0, 10))


@case(f32(10), f32(5))
def brackets_for_interpolation(x, wanted):
    at = jnp.searchsorted(x, wanted)  #: safe
    return x[at], x[at - 1]  #: unsafe safe


@case(f32(10), f32(5))
def brackets_for_interpolation_clipped(x, wanted):
    at = jnp.clip(jnp.searchsorted(x, wanted), 1, 9)  #: safe
    return x[at], x[at - 1]  #: safe


@case(f32(5), f32(8))
def bins_from_edges(edges, x):
    return jnp.zeros(4).at[jnp.digitize(x, edges) - 1].add(1.0)  #: safe unsafe


@case(f32(5), f32(8))
def bins_from_edges_with_both_ends(edges, x):
    return jnp.zeros(6).at[jnp.digitize(x, edges)].add(1.0)  #: safe


@case(f32(3, 10), f32(3))
def a_draw_from_each_row(weights, u):
    total = jnp.cumsum(weights, axis=1)
    at = (total < (u * total[:, -1])[:, None]).sum(1)
    return jnp.take_along_axis(weights, at[:, None], axis=1, mode="promise_in_bounds")  #: unsafe


@case(f32(3, 10), f32(3))
def a_draw_from_each_row_by_the_first(weights, u):
    total = jnp.cumsum(weights, axis=1)
    at = jnp.argmax(total >= (u * total[:, -1])[:, None], axis=1)
    return jnp.take_along_axis(weights, at[:, None], axis=1, mode="promise_in_bounds")  #: safe


# A heap in an array: children of k at 2k + 1 and 2k + 2.


@case(f32(15), f32())
def sift_down(heap, value):
    def body(carry):
        h, k = carry
        child = 2 * k + 1
        right = h[child] > h[child + 1]  #: safe
        child = child + right.astype(np.int32)
        return h.at[k].set(h[child]), child  #: safe

    h, k = lax.while_loop(lambda c: 2 * c[1] + 2 < 15, body, (heap, 0))
    return h.at[k].set(value)  #: safe


@case(f32(15), f32())
def sift_down_to_a_child_that_is_not_there(heap, value):
    def body(carry):
        h, k = carry
        child = 2 * k + 1
        right = h[child] > h[child + 1]  #: unsafe
        child = child + right.astype(np.int32)
        return h.at[k].set(h[child]), child  #: safe unsafe

    return lax.while_loop(lambda c: 2 * c[1] < 15, body, (heap, 0))


@case(f32(16), i32(min=1, max=15))
def sift_up_from_one(heap, k):
    def body(carry):
        h, k = carry
        a, b = h[k], h[k // 2]  #: safe
        h = h.at[k // 2].set(a).at[k].set(b)  #: safe
        return h, k // 2

    return lax.while_loop(lambda c: (c[1] > 1) & (c[0][c[1]] < c[0][c[1] // 2]), body, (heap, k))  #: safe


@case(f32(15), i32(min=0, max=14))
def sum_over_a_tree_of_sums(tree, leaf):
    return lax.while_loop(lambda c: c[0] > 0, lambda c: ((c[0] - 1) // 2, c[1] + tree[c[0]]), (leaf, 0.0))  #: safe


@case(f32(31), f32())
def down_a_tree_of_sums(tree, u):
    def down(_, carry):
        node, rest = carry
        left = 2 * node + 1
        go = rest > tree[left]  #: safe
        return jnp.where(go, left + 1, left), rest - jnp.where(go, tree[left], 0.0)  #: safe

    node, _ = lax.fori_loop(0, 4, down, (0, u))
    return tree[node]  #: safe


@case(f32(31), f32())
def down_a_tree_one_level_too_far(tree, u):
    def down(_, carry):
        node, rest = carry
        left = 2 * node + 1
        go = rest > tree[left]  #: unsafe
        return jnp.where(go, left + 1, left), rest - jnp.where(go, tree[left], 0.0)  #: unsafe

    return lax.fori_loop(0, 5, down, (0, u))


# A tree that is searched and grown by turns: which node is next hangs on sums of what was found below it.


@case(f32(2))
def a_tree_with_room_for_every_turn(scores):
    def grow(k, tree):
        children, total = tree
        start = jnp.argmax(total[:2] + scores)
        at = lax.while_loop(lambda at: children[at] >= 0, lambda at: children[at], start)  #: safe
        new = jnp.where(children[at] < 0, k, children[at])  #: safe
        total = total.at[at].add(0.5)  #: safe
        total = total.at[new].add(1.0)  #: safe
        return children.at[at].set(new), total  #: safe

    return lax.fori_loop(2, 8, grow, (jnp.full(8, -1), jnp.zeros(8)))


@case(f32(2))
def a_tree_one_node_short(scores):
    def grow(k, tree):
        children, total = tree
        start = jnp.argmax(total[:2] + scores)
        at = lax.while_loop(lambda at: children[at] >= 0, lambda at: children[at], start)  #: unknown
        new = jnp.where(children[at] < 0, k, children[at])  #: safe
        total = total.at[at].add(0.5)  #: safe
        total = total.at[new].add(1.0)  #: unsafe
        return children.at[at].set(new), total  #: safe

    return lax.fori_loop(2, 8, grow, (jnp.full(7, -1), jnp.zeros(7)))


@case(f32(16), i32(min=1, max=15))
def sums_by_lowest_bits(tree, i):
    return lax.while_loop(lambda c: c[0] > 0, lambda c: (c[0] - (c[0] & -c[0]), c[1] + tree[c[0]]), (i, 0.0))  #: safe


@case(f32(16), i32(min=1, max=15))
def updates_by_lowest_bits(tree, i):
    body = lambda c: (c[0] + (c[0] & -c[0]), c[1].at[c[0]].add(1.0))  # noqa: E731  #: safe
    return lax.while_loop(lambda c: c[0] < 16, body, (i, tree))


@case(f32(16), i32(min=1, max=16))
def updates_by_lowest_bits_up_to_the_size(tree, i):
    body = lambda c: (c[0] + (c[0] & -c[0]), c[1].at[c[0]].add(1.0))  # noqa: E731  #: unsafe
    return lax.while_loop(lambda c: c[0] <= 16, body, (i, tree))


# Tables of dynamic programming.


@case(i32(8), i32(10))
def edit_distance(a, b):
    def row(i, table):
        def cell(j, table):
            same = (a[i - 1] != b[j - 1]).astype(np.int32)  #: safe
            best = jnp.minimum(table[i - 1, j] + 1, table[i, j - 1] + 1)  #: safe
            return table.at[i, j].set(jnp.minimum(best, table[i - 1, j - 1] + same))  #: safe

        return lax.fori_loop(1, 11, cell, table)

    return lax.fori_loop(1, 9, row, jnp.zeros((9, 11), np.int32))


@case(i32(8), i32(10))
def edit_distance_without_the_border(a, b):
    def row(i, table):
        def cell(j, table):
            same = (a[i - 1] != b[j - 1]).astype(np.int32)  #: safe
            best = jnp.minimum(table[i - 1, j] + 1, table[i, j - 1] + 1)  #: unsafe
            return table.at[i, j].set(jnp.minimum(best, table[i - 1, j - 1] + same))  #: unsafe safe

        return lax.fori_loop(1, 11, cell, table)

    return lax.fori_loop(1, 9, row, jnp.zeros((8, 10), np.int32))


@case(i32(6, min=1, max=20), f32(6))
def knapsack(weights, values):
    def item(best, k):
        def at(c, new):
            without = best[c]  #: safe
            taken = lax.cond(c >= weights[k], lambda: best[c - weights[k]] + values[k], lambda: without)  #: safe
            return new.at[c].set(jnp.maximum(without, taken))  #: safe

        return lax.fori_loop(0, 21, at, best), None

    return lax.scan(item, jnp.zeros(21), jnp.arange(6))


@case(i32(6, min=1, max=20), f32(6))
def knapsack_by_selects(weights, values):
    def item(best, k):
        c = jnp.arange(21) - weights[k]  #: safe
        taken = best.at[c].get(mode="promise_in_bounds") + values[k]  #: safe
        return jnp.maximum(best, jnp.where(c >= 0, taken, 0.0)), None

    return lax.scan(item, jnp.zeros(21), jnp.arange(6))


@case(f32(5, 5), f32(5, 9))
def viterbi(transitions, scores):
    def forward(best, t):
        through = best[:, None] + transitions
        return through.max(0) + scores[:, t], through.argmax(0)  #: safe

    best, back = lax.scan(forward, jnp.zeros(5), jnp.arange(9))
    return lax.scan(lambda s, b: (b[s], s), jnp.argmax(best), back, reverse=True)  #: safe


@case(f32(5, 5), f32(5, 9))
def viterbi_with_a_state_too_many(transitions, scores):
    def forward(best, t):
        through = jnp.pad(best[:, None] + transitions, ((0, 1), (0, 0)))
        return through.max(0) + scores[:, t], through.argmax(0)  #: safe

    best, back = lax.scan(forward, jnp.zeros(5), jnp.arange(9))
    return lax.scan(lambda s, b: (b[s], s), jnp.argmax(best), back, reverse=True)  #: unsafe


@case(f32(6), i32(min=0, max=5))
def matrix_chain(sizes, n):
    def length(span, cost):
        def start(i, cost):
            return cost.at[i, i + span].set(cost[i, i + span - 1] + cost[i + 1, i + span])  #: safe

        return lax.fori_loop(0, 6 - span, start, cost)

    return lax.fori_loop(1, 6, length, jnp.zeros((6, 6)))


@case(f32(6), i32(min=0, max=5))
def matrix_chain_one_too_long(sizes, n):
    def length(span, cost):
        def start(i, cost):
            return cost.at[i, i + span].set(cost[i, i + span - 1])  #: unsafe safe

        return lax.fori_loop(0, 7 - span, start, cost)

    return lax.fori_loop(1, 6, length, jnp.zeros((6, 6)))


@case(i32(8, min=0, max=30))
def change_in_coins(coins):
    ways = jnp.zeros(31, np.int32).at[0].set(1)  #: safe

    def coin(ways, c):
        return lax.fori_loop(c, 31, lambda a, w: w.at[a].add(w[a - c]), ways), None  #: safe

    return lax.scan(coin, ways, coins)[0]


# Hash tables with open addressing.


@case(i32(16), u32())
def probing(keys, key):
    def body(carry):
        slot, tries = carry
        return (slot + 1) % 16, tries + 1

    slot = (key * np.uint32(2654435761) % np.uint32(16)).astype(np.int32)
    test = lambda c: (keys[c[0]] != 0) & (c[1] < 16)  # noqa: E731  #: safe
    slot, _ = lax.while_loop(test, body, (slot, 0))
    return keys.at[slot].set(1)  #: safe


@case(i32(16), i32())
def probing_from_a_signed_remainder(keys, key):
    slot = lax.rem(key, 16)
    return lax.dynamic_slice(keys, (slot,), (1,))  #: safe


@case(i32(16), i32())
def probing_from_an_absolute_value(keys, key):
    slot = lax.rem(jnp.abs(key), 16)
    return keys.at[slot].get(mode="promise_in_bounds", wrap_negative_indices=False)  #: safe


@case(i32(1024), u32())
def buckets_by_a_mask(table, key):
    return table[key & np.uint32(1023)], table[key >> np.uint32(22)]  #: safe


@case(i32(1000), u32())
def buckets_by_a_mask_of_another_size(table, key):
    return table[key & np.uint32(1023)]  #: unsafe


# Sorting, ranking, permuting.


@case(f32(9), i32(9))
def back_from_sorted_order(x, tags):
    order = jnp.argsort(x)
    back = jnp.argsort(order)
    inverse = jnp.zeros(9, np.int32).at[order].set(jnp.arange(9))  #: safe
    return tags[order][back], tags[inverse]  #: safe


@case(f32(9), f32(8))
def sorted_order_of_a_longer_array(x, y):
    return y[jnp.argsort(x)]  #: unsafe


@case(i32(9))
def ranks_of_groups(keys):
    order = jnp.argsort(keys)
    same = jnp.concatenate([jnp.array([True]), keys[order][1:] != keys[order][:-1]])  #: safe
    group = jnp.cumsum(same) - 1
    return jnp.zeros(9, np.int32).at[group].add(1)  #: safe


@case(i32(9))
def ranks_of_groups_from_one(keys):
    ordered = jnp.sort(keys)
    group = jnp.cumsum(ordered[1:] != ordered[:-1]) + 1
    return jnp.zeros(9, np.int32).at[group].add(1)  #: unsafe


@case(i32(9, min=0, max=3), f32(9))
def counting_sort(keys, x):
    counts = jnp.zeros(4, np.int32).at[keys].add(1)  #: safe
    first = jnp.cumsum(counts) - counts

    def place(carry, k):
        free, out = carry
        at = free[keys[k]]  #: safe
        return (free.at[keys[k]].add(1), out.at[at].set(x[k])), None  #: safe

    return lax.scan(place, (first, jnp.zeros(40)), jnp.arange(9))[0][1]


@case(u32(2), f32(12))
def a_shuffled_epoch(key, x):
    order = jax.random.permutation(jax.random.wrap_key_data(key), 12)
    batch = lambda t, k: (t + x[lax.dynamic_slice(order, (k * 3,), (3,))].sum(), None)  # noqa: E731  #: safe
    return lax.scan(batch, 0.0, jnp.arange(4))


@case(u32(2), f32(12))
def a_shuffled_epoch_with_a_batch_too_many(key, x):
    order = jax.random.permutation(jax.random.wrap_key_data(key), 12)
    batch = lambda t, k: (t + x[lax.dynamic_slice(order, (k * 3,), (3,))].sum(), None)  # noqa: E731  #: safe unsafe
    return lax.scan(batch, 0.0, jnp.arange(5))


@case(f32(30), f32(10))
def the_best_ten(x, y):
    _, best = lax.top_k(x, 10)
    return x[best], y[jnp.argmax(x[best])]  #: safe


@case(f32(30), f32(10))
def the_best_ten_of_another(x, y):
    _, best = lax.top_k(x, 10)
    return y[best]  #: unsafe


@case(f32(4, 7))
def one_hot_and_back(scores):
    hot = jax.nn.one_hot(scores.argmax(-1), 7)
    return scores[jnp.arange(4), jnp.argmax(hot, -1)]  #: safe


# A stack and a queue in arrays.


@case(i32(20, min=-1, max=9))
def a_stack(commands):
    def step(carry, command):
        stack, top = carry
        push = (command >= 0) & (top < 8)
        pop = (command < 0) & (top > 0)
        stack = jnp.where(push, stack.at[top].set(command), stack)  #: masked
        return (stack, top + push - pop), jnp.where(pop, stack[top - 1], -1)  #: safe

    return lax.scan(step, (jnp.zeros(8, np.int32), 0), commands)


@case(i32(20, min=-1, max=9))
def a_stack_that_overflows(commands):
    def step(carry, command):
        stack, top = carry
        stack = lax.cond(command >= 0, lambda: stack.at[top].set(command), lambda: stack)  #: unsafe
        return (stack, jnp.where(command >= 0, top + 1, jnp.maximum(top - 1, 0))), None

    return lax.scan(step, (jnp.zeros(8, np.int32), 0), commands)


@case(i32(20), flag(20))
def a_queue_of_two_ends(values, take):
    def step(carry, item):
        queue, head, size = carry
        value, taking = item
        out = queue[head]  #: safe
        grow = ~taking & (size < 6)
        queue = queue.at[(head + size) % 6].set(jnp.where(grow, value, queue[(head + size) % 6]))  #: safe
        head = jnp.where(taking & (size > 0), (head + 1) % 6, head)
        return (queue, head, size + grow - (taking & (size > 0))), out

    return lax.scan(step, (jnp.zeros(6, np.int32), 0, 0), (values, take))


# Merging two sorted arrays with a counter for each.


@case(f32(5), f32(7))
def merging(a, b):
    def step(carry, _):
        i, j = carry
        left = (j >= 7) | ((i < 5) & (a[jnp.minimum(i, 4)] <= b[jnp.minimum(j, 6)]))  #: safe
        value = jnp.where(left, a[jnp.minimum(i, 4)], b[jnp.minimum(j, 6)])  #: safe
        return (i + left, j + 1 - left), value

    return lax.scan(step, (0, 0), None, 12)


@case(u8(40), i32(min=0, max=39))
def runs_of_bytes(data, n):
    def step(carry, k):
        count, out = carry
        new = (k == 0) | (data[k] != data[jnp.maximum(k - 1, 0)])  #: safe
        count = count + new
        return (count, out.at[count - 1].add(1)), None  #: safe

    return lax.scan(step, (0, jnp.zeros(40, np.int32)), jnp.arange(40))


@case(u8(40))
def runs_of_bytes_that_may_be_too_many(data):
    def step(carry, k):
        count, out = carry
        new = (k == 0) | (data[k] != data[jnp.maximum(k - 1, 0)])  #: safe
        count = count + new
        return (count, out.at[count].add(1)), None  #: unsafe

    return lax.scan(step, (0, jnp.zeros(40, np.int32)), jnp.arange(40))


@case(i32(12), i32(min=0))
def a_prefix_that_is_kept(x, n):
    redzone.assume(n, max=12)
    keep = jnp.arange(12) < n
    slot = jnp.where(keep, jnp.cumsum(keep) - 1, 11)
    return jnp.zeros(12, np.int32).at[slot].set(x)  #: safe


# Short loops, and loops toward a number.


@case(f32(31))
def down_a_tree(tree):
    def down(c):
        i, depth = c
        return jnp.where(tree[2 * i + 1] > 0.5, 2 * i + 2, 2 * i + 1), depth + 1  #: safe

    return tree[lax.while_loop(lambda c: c[1] < 4, down, (0, 0))[0]]  #: safe


@case(f32(31))
def down_a_tree_and_further(tree):
    def down(c):
        i, depth = c
        return jnp.where(tree[2 * i + 1] > 0.5, 2 * i + 2, 2 * i + 1), depth + 1  #: unsafe

    return tree[lax.while_loop(lambda c: c[1] < 5, down, (0, 0))[0]]  #: unsafe


@case(f32(8), i32(min=0, max=8))
def up_to_a_number(x, n):
    return lax.while_loop(lambda c: c[0] != n, lambda c: (c[0] + 1, c[1] + x[c[0]]), (0, 0.0))  #: safe


@case(f32(8), i32(min=0, max=9))
def up_to_too_large_a_number(x, n):
    return lax.while_loop(lambda c: c[0] != n, lambda c: (c[0] + 1, c[1] + x[c[0]]), (0, 0.0))  #: unsafe


@case(f32(8), i32(min=0, max=7), i32(min=0, max=7))
def past_a_number_perhaps(x, n, start):
    # From behind it there is no end.
    return lax.while_loop(lambda c: c[0] != n, lambda c: (c[0] + 1, c[1] + x[c[0]]), (start, 0.0))  #: unsafe


@case(f32(8), i32(min=0, max=7))
def down_to_a_number(x, n):
    return lax.while_loop(lambda c: c[0] != n, lambda c: (c[0] - 1, c[1] + x[c[0]]), (7, 0.0))  #: safe


# Bins between edges: of a number between the first and the last, a bin that is there.

EDGES = np.array([0, 10, 20, 40], np.int32)


@case(f32(3), i32(4, min=0, max=39))
def the_bin_of_a_number(x, t):
    return x[jnp.searchsorted(EDGES, t, side="right") - 1]  #: safe


@case(f32(3), i32(4, min=1, max=40))
def the_bin_closed_above(x, t):
    return x[jnp.searchsorted(EDGES, t) - 1]  #: safe


@case(f32(3), i32(4, min=0, max=40))
def the_bin_of_the_last_edge(x, t):
    return x[jnp.searchsorted(EDGES, t, side="right") - 1]  #: safe unsafe


@case(f32(3), f32(4, min=0.0, max=39.5))
def the_bin_of_what_may_be_nan(x, t):
    return x[jnp.searchsorted(EDGES.astype(np.float32), t, side="right") - 1]  #: safe unknown


@case(f32(5), i32(4, min=5, max=9), i32(3, min=6, max=20))
def where_it_is_among_larger_ones(x, t, edges):
    return x[2 + jnp.searchsorted(edges, t)]  #: safe unsafe


@case(f32(), f32(16), f32(17))
def derivative_of_a_lookup(v, edges, values):
    return jax.grad(lambda v: values[jnp.searchsorted(edges, v)] * v)(v)  #: safe


@case(f32(), f32(16), f32(15))
def derivative_of_a_lookup_too_short(v, edges, values):
    return jax.grad(lambda v: values[jnp.searchsorted(edges, v)] * v)(v)  #: safe unsafe


@case(f32(5), f32(16), f32(16))
def derivative_of_interp(v, edges, values):
    return jax.grad(lambda v: jnp.interp(v, edges, values).sum())(v)  #: safe


@case(f32(9), f32())
def search_that_cannot_overflow(x, v):
    def body(ends):
        low, high = ends
        middle = low + (high - low) // 2
        below = x[middle] < v  #: safe
        return jnp.where(below, middle + 1, low), jnp.where(below, high, middle)

    return lax.while_loop(lambda ends: ends[0] < ends[1], body, (0, 9))[0]


@case(f32(9), f32())
def search_that_cannot_overflow_one_too_far(x, v):
    def body(ends):
        low, high = ends
        middle = low + (high - low) // 2
        below = x[middle] < v  #: unsafe
        return jnp.where(below, middle + 1, low), jnp.where(below, high, middle)

    return lax.while_loop(lambda ends: ends[0] < ends[1], body, (0, 10))[0]


@case(f32(9), f32())
def search_in_branches(x, v):
    def body(ends):
        low, high = ends
        middle = low + ((high - low) >> 1)
        return lax.cond(x[middle] < v, lambda: (middle + 1, high), lambda: (low, middle - 1))  #: safe

    return lax.while_loop(lambda ends: ends[0] <= ends[1], body, (0, 8))[0]


@case(f32(9), i32(4, min=0, max=8), i32(4, min=0, max=8))
def middle_of_any_two(x, a, b):
    return lax.scan(lambda s, ab: (s + x[ab[0] + (ab[1] - ab[0]) // 2], None), 0.0, (a, b))  #: safe


@case(f32(9), i32(4, min=0, max=8), i32(4, min=0, max=8))
def middle_of_any_two_by_a_logical_shift(x, a, b):
    half = lambda n: lax.shift_right_logical(n, 1)  # noqa: E731
    return lax.scan(lambda s, ab: (s + x[ab[0] + half(ab[1] - ab[0])], None), 0.0, (a, b))  #: unsafe


@case(f32(9), i32(4, min=0, max=8), i32(4, min=0, max=8))
def not_the_middle_of_two(x, a, b):
    by = lax.neg(jnp.int32(2))
    return lax.scan(lambda s, ab: (s + x[ab[0] + (ab[1] - ab[0]) // by], None), 0.0, (a, b))  #: unsafe


@case(f32(9), f32())
def upper_middle(x, v):
    def body(ends):
        low, high = ends
        middle = low + (high - low + 1) // 2
        fits = x[middle] <= v  #: safe
        return jnp.where(fits, middle, low), jnp.where(fits, high, middle - 1)

    return lax.while_loop(lambda ends: ends[0] < ends[1], body, (0, 8))[0]


@case(f32(9), f32())
def upper_middle_from_above(x, v):
    def body(ends):
        low, high = ends
        middle = high - (high - low) // 2
        fits = x[middle] <= v  #: safe
        return jnp.where(fits, middle, low), jnp.where(fits, high, middle - 1)

    return lax.while_loop(lambda ends: ends[0] < ends[1], body, (0, 8))[0]


@case(f32(9), f32())
def upper_middle_one_too_far(x, v):
    def body(ends):
        low, high = ends
        middle = high - (high - low) // 2
        fits = x[middle] <= v  #: unsafe
        return jnp.where(fits, middle, low), jnp.where(fits, high, middle - 1)

    return lax.while_loop(lambda ends: ends[0] < ends[1], body, (0, 9))[0]


# Ranks: a sorted array is searched for what it was sorted from


@case(f32(8), f32(8))
def a_rank_by_a_search(x, v):
    return x[jnp.searchsorted(jnp.sort(v), v)]  #: safe


@case(f32(8), i32(8))
def the_first_of_equal_ones(x, v):
    ordered, _ = lax.sort((v, jnp.arange(8)), num_keys=1)
    return x[jnp.searchsorted(ordered, ordered[2:])]  #: safe


@case(f32(8), i32(8))
def a_rank_behind_equal_ones(x, v):
    return x[jnp.searchsorted(jnp.sort(v), v, side="right")]  #: safe unsafe


@case(f32(8), i32(8))
def a_rank_among_what_is_not_sorted(x, v):
    return x[jnp.searchsorted(v, v)]  #: safe unsafe


@case(f32(8), i32(8))
def a_rank_among_what_is_sorted_by_others(x, v):
    _, ordered = lax.sort((jnp.arange(8)[::-1], v), num_keys=1)
    return x[jnp.searchsorted(ordered, v)]  #: safe unsafe


@case(f32(8), i32(8))
def a_rank_of_the_next_number(x, v):
    return x[jnp.searchsorted(jnp.sort(v), v + 1)]  #: safe unsafe
