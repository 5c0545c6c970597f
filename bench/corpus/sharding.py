"""Programs over several devices: an index that depends on which device runs it."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import AxisType, Mesh, PartitionSpec

from . import Made, floats, ints, program


def _devices_in_a_row(count: int = 4) -> Mesh:
    return jax.make_mesh((count,), ("d",), devices=jax.devices()[:count], axis_types=(AxisType.Auto,))


@program("sharding/split_vocabulary_embedding")
def split_vocabulary_embedding() -> Made:
    def lookup(table: jax.Array, ids: jax.Array) -> jax.Array:
        rows = table.shape[0]
        local = ids - lax.axis_index("d") * rows
        here = (local >= 0) & (local < rows)
        found = jnp.where(here[:, None], table[jnp.where(here, local, 0)], 0.0)
        return lax.psum(found, "d")

    spread = jax.shard_map(
        lookup,
        mesh=_devices_in_a_row(),
        in_specs=(PartitionSpec("d"), PartitionSpec()),
        out_specs=PartitionSpec(),
    )
    return spread, (floats(64, 8), ints(10))


@program("sharding/ring_exchange")
def ring_exchange() -> Made:
    devices = 4

    def gather_blocks(block: jax.Array) -> jax.Array:
        rows, me = block.shape[0], lax.axis_index("d")
        everything = lax.pcast(jnp.zeros((devices * rows, *block.shape[1:])), ("d",), to="varying")

        def turn(i: jax.Array, state: tuple[jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array]:
            everything, block = state
            at = ((me - i) % devices) * rows
            everything = lax.dynamic_update_slice_in_dim(everything, block, at, 0)
            return everything, lax.ppermute(block, "d", [(j, (j + 1) % devices) for j in range(devices)])

        return lax.fori_loop(0, devices, turn, (everything, block))[0].sum(0, keepdims=True)

    spread = jax.shard_map(
        gather_blocks,
        mesh=_devices_in_a_row(devices),
        in_specs=PartitionSpec("d"),
        out_specs=PartitionSpec("d"),
    )
    return spread, (floats(32, 8),)


@program("sharding/expert_dispatch")
def expert_dispatch() -> Made:
    experts, capacity = 4, 8

    def layer(tokens: jax.Array, weights: jax.Array, router: jax.Array) -> jax.Array:
        expert = jnp.argmax(tokens @ router, -1)
        taken = jnp.cumsum(jax.nn.one_hot(expert, experts, dtype=jnp.int32), 0)
        place = taken[jnp.arange(tokens.shape[0]), expert] - 1
        queue = jnp.zeros((experts, capacity, tokens.shape[1])).at[expert, place].set(tokens, mode="drop")
        out = lax.all_to_all(lax.all_to_all(queue, "d", 0, 0) @ weights[0], "d", 0, 0)
        return out.at[expert, place].get(mode="fill", fill_value=0.0)

    spread = jax.shard_map(
        layer,
        mesh=_devices_in_a_row(),
        in_specs=(PartitionSpec("d"), PartitionSpec("d"), PartitionSpec()),
        out_specs=PartitionSpec("d"),
    )
    return spread, (floats(64, 16), floats(4, 16, 16), floats(16, 4))
