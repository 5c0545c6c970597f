"""shard_map: an index is judged against its shard, and replayed on one device after the other.

What devices send each other is not replayed: an index made from that and outside is unknown here, or a condition.
"""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax.sharding import AbstractMesh, AxisType, PartitionSpec

from tests.cases import case, f32, i32

MESH = AbstractMesh((4,), ("i",), axis_types=(AxisType.Auto,))


def per_shard(body, *specs):
    return jax.shard_map(body, mesh=MESH, in_specs=specs, out_specs=PartitionSpec("i"), check_vma=False)


@case(f32(8), runs=False)
def own_elements(x):
    def body(part):
        return part[jnp.arange(2)]  #: safe

    return per_shard(body, PartitionSpec("i"))(x)


@case(f32(8), runs=False)
def more_than_its_own(x):
    def body(part):
        return part[jnp.arange(4)]  #: unsafe

    return per_shard(body, PartitionSpec("i"))(x)


@case(f32(4), runs=False)
def one_for_each_device(x):
    def body(whole):
        return whole[jax.lax.axis_index("i")][None]  #: safe

    return per_shard(body, PartitionSpec())(x)


@case(f32(3), runs=False)
def fewer_than_devices(x):
    def body(whole):
        return whole[jax.lax.axis_index("i")][None]  #: unsafe

    return per_shard(body, PartitionSpec())(x)


@case(f32(8), i32(4, min=0, max=7), runs=False)
def global_indices_on_a_shard(x, i):
    def body(part, where):
        return part[where]  #: unsafe

    return per_shard(body, PartitionSpec("i"), PartitionSpec("i"))(x, i)


@case(f32(8), i32(4, min=0, max=7), runs=False)
def indices_made_local(x, i):
    def body(part, where):
        local = where - 2 * jax.lax.axis_index("i")
        return part[jnp.clip(local, 0, 1)]  #: safe

    return per_shard(body, PartitionSpec("i"), PartitionSpec("i"))(x, i)


@case(f32(21), i32(4, min=0, max=5), runs=False)
def a_sum_over_shards(x, i):
    def body(whole, own):
        return whole[jax.lax.psum(own, "i")]  #: safe

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, i)


@case(f32(20), i32(4, min=0, max=5), runs=False)
def a_sum_over_shards_too_far(x, i):
    def body(whole, own):
        return whole[jax.lax.psum(own, "i")]  #: unknown

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, i)


@case(f32(21), i32(4, min=0, max=5), runs=False)
def a_sum_over_shards_in_a_loop(x, i):
    def body(whole, own):
        return jax.lax.scan(lambda at, _: (whole[jax.lax.psum(own, "i")] + at, None), jnp.zeros(1), None, 3)[0]  #: safe

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, i)


@case(f32(11), i32(4, min=1, max=5), runs=False)
def a_sum_over_pairs_of_shards(x, i):
    def body(whole, own):
        pairs = jax.lax.psum(own, "i", axis_index_groups=[[0, 1], [2, 3]])
        return whole[pairs // 2]  #: safe

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, i)


@case(f32(3), i32(4, min=1, max=5), runs=False)
def a_sum_over_pairs_of_shards_from_below(x, i):
    def body(whole, own):
        pairs = jax.lax.psum(own, "i", axis_index_groups=[[0, 1], [2, 3]])
        return whole.at[pairs - 2].get(mode="promise_in_bounds")  #: unknown

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, i)


@case(f32(21), i32(16, min=0, max=5), runs=False)
def a_sum_over_shards_scattered(x, i):
    def body(whole, own):
        return whole[jax.lax.psum_scatter(own, "i", tiled=True)]  #: safe

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, i)


@case(f32(20), i32(16, min=0, max=5), runs=False)
def a_sum_over_shards_scattered_too_far(x, i):
    def body(whole, own):
        return whole[jax.lax.psum_scatter(own, "i", tiled=True)]  #: unknown

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, i)


@case(f32(6), i32(4, min=0, max=5), runs=False)
def a_mean_over_shards(x, i):
    def body(whole, own):
        return whole[jax.lax.pmean(own.astype(jnp.float32), "i").astype(jnp.int32)]  #: safe

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, i)


@case(f32(8), i32(4, min=0, max=7), runs=False)
def rows_of_a_table_that_is_split(x, i):
    def body(part, tokens):
        local = tokens - 2 * jax.lax.axis_index("i")
        mine = (local >= 0) & (local < 2)
        return jax.lax.psum(jnp.where(mine, part[local], 0.0), "i")  #: masked

    return per_shard(body, PartitionSpec("i"), PartitionSpec())(x, i)


@case(f32(8), i32(4, min=0, max=7), runs=False)
def rows_of_a_table_that_is_split_one_too_many(x, i):
    def body(part, tokens):
        local = tokens - 2 * jax.lax.axis_index("i")
        mine = (local >= 0) & (local <= 2)
        return jax.lax.psum(jnp.where(mine, part[local], 0.0), "i")  #: unsafe

    return per_shard(body, PartitionSpec("i"), PartitionSpec())(x, i)


@case(f32(8), i32(4, min=0, max=7), runs=False)
def what_a_shard_is_read_outside_of_and_thrown_away(x, i):
    def body(part, where):
        read = part[where]  #: masked
        return jnp.where(where < 2, read, 0.0)

    return per_shard(body, PartitionSpec("i"), PartitionSpec("i"))(x, i)


@case(f32(8), runs=False)
def a_window_that_starts_where_its_device_is(x):
    def body(whole):
        return jax.lax.dynamic_slice(whole, (2 * jax.lax.axis_index("i"),), (2,))  #: safe

    return per_shard(body, PartitionSpec())(x)


@case(f32(8), runs=False)
def a_window_that_starts_one_after_where_its_device_is(x):
    def body(whole):
        return jax.lax.dynamic_slice(whole, (2 * jax.lax.axis_index("i") + 1,), (2,))  #: unsafe

    return per_shard(body, PartitionSpec())(x)


@case(f32(8), runs=False)
def a_step_over_all_elements_of_a_shard(x):
    def body(part):
        return jax.lax.scan(lambda total, k: (total + part[k], None), 0.0, jnp.arange(8))[0][None]  #: unsafe

    return per_shard(body, PartitionSpec("i"))(x)


@case(f32(8), i32(8, min=0, max=3), runs=False)
def an_index_made_of_what_all_devices_yield(x, i):
    local = per_shard(lambda own: own + jax.lax.axis_index("i"), PartitionSpec("i"))(i)
    return x[local], x[local + 2]  #: safe unsafe


@case(f32(5), i32(4, min=0, max=9), runs=False)
def what_another_device_holds(x, numbers):
    def body(x, own):
        first = jax.lax.pbroadcast(own, "i", 0)
        return x[jnp.where(own < 5, first, 0)]  #: unknown

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, numbers)


@case(f32(5), i32(4, min=0, max=9), runs=False)
def what_all_devices_hold(x, numbers):
    def body(x, own):
        every = jax.lax.all_gather(own, "i")
        return x[jnp.where(own[0] < 5, every[0], 0)]  #: requires

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, numbers)


@case(f32(17), i32(4, min=0, max=9), runs=False)
def the_sum_of_what_devices_hold(x, numbers):
    def body(x, own):
        total = jax.lax.psum(own[0], "i")
        return jax.lax.cond(own[0] < 5, lambda: x[total], lambda: 0.0)[None]  #: unknown

    return per_shard(body, PartitionSpec(), PartitionSpec("i"))(x, numbers)
