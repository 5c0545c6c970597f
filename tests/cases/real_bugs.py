"""Out-of-bounds bugs reported in public JAX code, reduced to their pattern, each with its repair."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from tests.cases import case, f32, flag, i32, u8

# A position over padded tokens indexes a shorter per-request table, and the result scatters state.
# https://github.com/vllm-project/tpu-inference/pull/2752


@case(f32(8, 1), f32(5, 1), i32(4))
def padded_tokens(x, state, slots):
    token = jnp.arange(x.shape[0])
    slot = slots[token]  #: unsafe
    old = state[slot]  #: requires
    return state.at[slot].set(old + x)  #: requires


@case(f32(8, 1), f32(5, 1), i32(4))
def padded_tokens_repaired(x, state, slots):
    slots = jnp.pad(slots, (0, max(0, x.shape[0] - slots.shape[0])))
    slot = slots[jnp.arange(x.shape[0])]  #: safe
    old = state[slot]  #: requires
    return state.at[slot].set(old + x)  #: requires


# The page table's width rounds down instead of up.
# https://github.com/AI-Hypercomputer/maxtext/pull/1777


@case(i32(2), i32())
def page_table_rounds_down(pages, position):
    return pages[jnp.clip(position, 0, 9) // 4]  #: unsafe


@case(i32(3), i32())
def page_table_rounds_up(pages, position):
    return pages[jnp.clip(position, 0, 9) // 4]  #: safe


# One allocator hands out slots for two pools of different size.
# https://github.com/sgl-project/sglang-jax/pull/1066


@case(i32(8), i32(4), i32())
def one_slot_for_two_pools(first, second, slot):
    a = first[slot]  #: requires
    b = second[slot]  #: requires
    return a, b


@case(i32(8), i32(4), i32())
def one_slot_for_two_pools_repaired(first, second, slot):
    a = first[slot]  #: requires
    b = second.at[slot].get(mode="fill", fill_value=-1)  #: declared
    return a, b


# An off-grid sentinel of -1: mode="drop" does not drop it, it wraps.
# https://github.com/epignatelli/navix/issues/146


@case(i32(3, 3), i32(1, 2), i32(1))
def sentinel_wraps(grid, place, tag):
    return grid.at[place[:, 0], place[:, 1]].set(tag, mode="drop")  #: requires


@case(i32(3, 3), i32(1, 2), i32(1))
def sentinel_dropped(grid, place, tag):
    height, width = grid.shape
    ok = (place >= 0).all(1) & (place[:, 0] < height) & (place[:, 1] < width)
    row, column = jnp.where(ok, place[:, 0], height), jnp.where(ok, place[:, 1], width)
    return grid.at[row, column].set(tag, mode="drop")  #: declared


# A byte that means "transparent" indexes a palette with fewer than 256 rows.
# https://github.com/k4ntz/JAXAtari/commit/7346a99e


@case(u8(10, 1), u8(2))
def transparent_colour(palette, ids):
    return palette[ids]  #: requires


@case(u8(10, 1), u8(2))
def transparent_colour_repaired(palette, ids):
    return jnp.pad(palette, ((0, 246), (0, 0)))[ids]  #: safe


# clip(index, 0, size) instead of size - 1.
# https://github.com/StanfordASL/hj_reachability/issues/5


@case(i32(4), i32())
def clipped_to_the_size(values, i):
    return values[jnp.clip(i, 0, values.shape[0])]  #: unsafe


@case(i32(4), i32())
def clipped_to_the_last(values, i):
    return values[jnp.clip(i, 0, values.shape[0] - 1)]  #: safe


# Padded edges point one past the last node.
# https://github.com/atomicarchitects/nequix/pull/25


@case(f32(3, 1), i32(2), i32(2))
def padded_edges(nodes, senders, receivers):
    messages = nodes[senders]  #: requires
    return jax.ops.segment_sum(messages, receivers, nodes.shape[0])  #: declared


@case(f32(3, 1), i32(2), i32(2))
def padded_edges_repaired(nodes, senders, receivers):
    n = nodes.shape[0]
    messages = nodes[jnp.clip(senders, 0, n - 1)]  #: safe
    messages = jnp.where((senders < n)[:, None], messages, 0)
    return jax.ops.segment_sum(messages, receivers, n)  #: declared


# The forward read clamps, the backward write drops: the gradient does not fit the value.
# https://github.com/jax-ml/jax/issues/25878


@case(f32(1), i32(1))
def gradient_of_a_read(x, i):
    return jax.jacrev(lambda v: v[i])(x)  #: requires


@case(f32(1), i32(1))
def gradient_of_a_clipped_read(x, i):
    return jax.jacrev(lambda v: v[jnp.clip(i, 0, v.shape[0] - 1)])(x)  #: safe


# A library routine that drops out-of-bounds writes on purpose is no finding.
# https://github.com/jax-ml/jax/issues/31568


@case(flag(4))
def intended_by_the_library(mask):
    return jnp.nonzero(mask, size=3, fill_value=-1)[0]  #: declared


@case(i32(4, min=0, max=6))
def counted_into_fewer_bins(values):
    return jnp.bincount(values, length=np.int64(3).item())  #: declared
