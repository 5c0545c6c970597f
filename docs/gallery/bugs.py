"""Out-of-bounds bugs reported in public, reduced to their pattern; `redzone check docs/gallery/bugs.py` shows them.

The docstring of each says what it was, where it was reported, and the way out; docs/make_gallery.py makes a page of it.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp

import redzone
from redzone import Spec


@redzone.example(Spec((8, 1), "float32"), Spec((5, 1), "float32"), Spec((4,), "int32", min=0, max=4))
def padded_tokens(x, state, slots):
    """Padded tokens index a table that has a row for each real request only.

    The batch is padded to eight tokens, the table of slots has four entries. JAX clamps: every padded token reads the
    last request's slot, and the write that follows spoils its state.

    https://github.com/vllm-project/tpu-inference/pull/2752
    way out: pad the table to the length of the batch.
    """
    token = jnp.arange(x.shape[0])
    slot = slots[token]
    return state.at[slot].set(state[slot] + x)


@redzone.example(Spec((2,), "int32"), Spec((), "int32"))
def page_table(pages, position):
    """The width of a page table is rounded down instead of up.

    Ten positions in pages of four need three pages; 10 // 4 is two. The last two positions share the page before.

    https://github.com/AI-Hypercomputer/maxtext/pull/1777
    way out: round the number of pages up.
    """
    page = jnp.clip(position, 0, 9) // 4
    return pages[page]


@redzone.example(Spec((4,), "float32"), Spec((), "int32"))
def clipped_to_the_size(values, i):
    """An index is clipped to the size of the array, not to its last element.

    https://github.com/StanfordASL/hj_reachability/issues/5
    way out: clip to `shape[0] - 1`.
    """
    return values[jnp.clip(i, 0, values.shape[0])]


@redzone.example(Spec((256,), "int32"))
def more_indices_than_elements(table):
    """65,536 positions are read from a table of 256.

    On the CPU XLA clamps and nobody notices. On another accelerator the same program returned whatever lay in memory
    behind the table.

    https://github.com/tenstorrent/tt-mlir/issues/9211
    way out: as many positions as the table has elements.
    """
    return table[jnp.arange(65536)]


@redzone.example(Spec((3, 1, 33), "int32"))
def update_past_the_row(t):
    """A window of eight is written at column 31 of 33.

    The start is to be clamped to 25. A fused copy on a GPU did not clamp: the tail landed in the next row.

    https://github.com/openxla/xla/issues/49120
    way out: a start that leaves room for the window.
    """
    update = jax.lax.dynamic_slice(t, (0, 0, 0), (1, 1, 8)) * 3 - 1
    return jax.lax.dynamic_update_slice(t, update, (1, 0, 31))


@redzone.example(Spec((8,), "float32"), Spec((4,), "float32"), Spec((), "int32", min=0, max=7))
def one_slot_for_two_pools(first, second, slot):
    """One allocator hands out slots for two pools, and the second is smaller.

    Slots 4 to 7 are legal in the first pool and clamped to 3 in the second.

    https://github.com/sgl-project/sglang-jax/pull/1066
    way out: an allocator for each pool, or `mode="fill"` where a slot may be missing.
    """
    return first[slot], second[slot]


@redzone.example(Spec((3, 3), "int32"), Spec((1, 2), "int32", min=-1, max=2), Spec((1,), "int32"))
def sentinel_wraps(grid, place, tag):
    """An entity that left the grid is parked at (0, -1), and `mode="drop"` is to forget it.

    It does not: a negative index counts from the end, so the tag is written into the last column.

    https://github.com/epignatelli/navix/issues/146
    way out: park it at the size of the grid; that is dropped.
    """
    return grid.at[place[:, 0], place[:, 1]].set(tag, mode="drop")


@redzone.example(Spec((10, 3), "uint8"), Spec((64,), "uint8"))
def transparent_colour(palette, pixels):
    """The byte 255 means "transparent", and indexes a palette of ten colours.

    https://github.com/k4ntz/JAXAtari/commit/7346a99e
    way out: a palette of 256 rows.
    """
    return palette[pixels]


@redzone.example(Spec((30, 4), "float32"), Spec((100,), "int32", min=0, max=30), Spec((100,), "int32", min=0, max=30))
def padded_edges(nodes, senders, receivers):
    """Padding edges of a graph point to a node one past the last.

    `segment_sum` is documented to drop them; the read before it clamps, and a kernel put in its place read garbage.

    https://github.com/atomicarchitects/nequix/pull/25
    way out: a node for the padding, or read with `mode="fill"`.
    """
    messages = nodes[senders]
    return jax.ops.segment_sum(messages, receivers, nodes.shape[0])


@redzone.example(Spec((5,), "float32"), Spec((2,), "int32", min=0, max=5))
def gradient_of_a_read(x, i):
    """The value of a read outside is clamped, its gradient is dropped: the two do not fit each other.

    https://github.com/jax-ml/jax/issues/25878
    way out: keep the index inside.
    """
    return jax.grad(lambda v: v[i].sum())(x)
