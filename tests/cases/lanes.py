"""What is thrown away lane by lane, as vmap makes it of what is thrown away as one."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, flag, i32


def _inside(i, n):
    return (i >= 0) & (i < n)


# One condition for each lane, and what was read or written goes through equations of any kind.


@case(f32(3, 8), i32(3, min=-1, max=8), flag(3))
def through_several_selects(x, i, far):
    def one(x, i, far):
        read = x[i]  #: masked
        read = jnp.where(far, read * 2.0, read + 1.0)
        read = jnp.where(i > 3, jnp.cos(read) * read, read)
        return jnp.where(_inside(i, 8), read, 0.0)

    return jax.vmap(one)(x, i, far)


@case(f32(3, 8), i32(3, min=-1, max=8), flag(3))
def through_several_selects_of_which_one_lets_it_out(x, i, far):
    def one(x, i, far):
        read = x[i]  #: unsafe
        kept = jnp.where(_inside(i, 8), read * 2.0, 0.0)
        return jnp.where(far, kept, read)

    return jax.vmap(one)(x, i, far)


@case(f32(3, 8), i32(3, min=-1, max=8))
def written_sorted_and_summed(x, i):
    def one(x, i):
        written = jnp.cumsum(jnp.sort(x.at[i].set(1.0)))  #: masked
        return jnp.where(_inside(i, 8), written.at[0].add(1.0), x)  #: safe

    return jax.vmap(one)(x, i)


@case(f32(3, 8), i32(3, min=-1, max=8))
def written_and_gone_through_in_a_loop(x, i):
    def one(x, i):
        written = x.at[i].set(1.0)  #: masked
        summed = lax.fori_loop(0, 7, lambda k, x: x.at[k + 1].add(x[k]), written)  #: safe
        return jnp.where(_inside(i, 8), summed, x)

    return jax.vmap(one)(x, i)


@case(f32(3, 8), i32(3, min=-1, max=8))
def taken_along_by_scan(x, i):
    def one(x, i):
        read = x[i]  #: masked
        _, rows = lax.scan(lambda c, k: (c + read, c * read), 0.0, jnp.arange(4))
        return jnp.where(_inside(i, 8), rows, 0.0)

    return jax.vmap(one)(x, i)


@case(f32(8, 3), i32(3, min=-1, max=8))
def lanes_along_the_last_dimension(x, i):
    def one(x, i):
        written = x.at[i].set(1.0)[::-1]  #: masked
        return jnp.where(_inside(i, 8), written, 0.0)

    return jax.vmap(one, in_axes=(1, 0), out_axes=1)(x, i)


@case(f32(3, 8), f32(3, 8, 2), i32(3, min=-1, max=8))
def multiplied_in_each_lane(x, weights, i):
    def one(x, weights, i):
        return jnp.where(_inside(i, 8), x.at[i].set(1.0) @ weights, 0.0)  #: masked

    return jax.vmap(one)(x, weights, i)


@case(f32(3, 8), i32(3, min=-1, max=8), i32(3, min=0, max=7))
def a_branch_in_each_lane(x, i, j):
    def one(x, i, j):
        return lax.cond(_inside(i, 8), lambda: x.at[j].set(x[i]), lambda: x)  #: masked safe

    return jax.vmap(one)(x, i, j)


@case(f32(3, 8), i32(3, min=-1, max=8))
def a_place_that_was_read_is_written_to(x, i):
    def one(x, i):
        at = jnp.argmax(x.at[i].set(1.0))  #: masked
        return jnp.where(_inside(i, 8), x.at[at].add(1.0), x)  #: safe

    return jax.vmap(one)(x, i)


# Lanes that are put together: each lane's part is there under its own condition, and only then.


@case(f32(3, 8), i32(3, min=-1, max=8))
def summed_over_lanes_after_it_is_thrown_away(x, i):
    read = jax.vmap(lambda x, i: jnp.where(_inside(i, 8), jnp.sin(x[i]) * 2.0, 0.0))(x, i)  #: masked
    return jnp.sort(read)[::-1].cumsum()


@case(f32(3, 8), i32(3, min=-1, max=8))
def summed_over_lanes_before_it_is_thrown_away(x, i):
    read = jax.vmap(lambda x, i: x[i])(x, i)  #: unsafe
    return jnp.where(_inside(i, 8), read.sum(), 0.0)


@case(f32(3, 8), i32(3, min=-1, max=8))
def summed_over_lanes_and_thrown_away_if_one_is_outside(x, i):
    read = jax.vmap(lambda x, i: x[i])(x, i)  #: masked
    return jnp.where(_inside(i, 8).all(), read.sum(), 0.0)


@case(f32(3, 8), i32(3, min=-1, max=8))
def sorted_over_lanes_before_it_is_thrown_away(x, i):
    written = jax.vmap(lambda x, i: x.at[i].set(1.0))(x, i)  #: unsafe
    return jnp.where(_inside(i, 8)[:, None], jnp.sort(written, axis=0), 0.0)


@case(f32(3, 8), i32(3, min=-1, max=8))
def another_lane_decides(x, i):
    read = jax.vmap(lambda x, i: jnp.sin(x[i]) + 1.0)(x, i)  #: unsafe
    return jnp.where(_inside(i, 8)[::-1], jnp.where(i > 3, read * 2.0, read), 0.0)


@case(f32(3, 3, 8), i32(3, 3, min=-1, max=8))
def lanes_of_lanes_exchanged(x, i):
    read = jax.vmap(jax.vmap(lambda x, i: jnp.stack([x[i], 1.0])))(x, i)  #: unsafe
    return jnp.where(_inside(i, 8).T[:, :, None], read, 0.0)


@case(f32(3, 3, 8), i32(3, 3, min=-1, max=8))
def lanes_of_lanes(x, i):
    read = jax.vmap(jax.vmap(lambda x, i: jnp.stack([x[i], 1.0])))(x, i)  #: masked
    return jnp.where(_inside(i, 8)[:, :, None], read, 0.0)


@case(f32(3, 8), i32(3, min=-1, max=8))
def one_lane_is_put_beside_all(x, i):
    read = jax.vmap(lambda x, i: x[i])(x, i)  #: unsafe
    return jnp.where(_inside(i, 8), read.at[1].set(read[0]), 0.0)  #: safe


# One condition for several index tuples of each lane.


@case(f32(3, 8), i32(3, 5, min=-1, max=8))
def all_of_a_row_or_nothing(x, i):
    def one(x, i):
        return jnp.where(_inside(i, 8).all(), x[i].sum(), 0.0)  #: masked

    return jax.vmap(one)(x, i)


@case(f32(3, 8), i32(3, 5, min=-1, max=8))
def any_of_a_row(x, i):
    def one(x, i):
        return jnp.where(_inside(i, 8).any(), x[i].sum(), 0.0)  #: unsafe

    return jax.vmap(one)(x, i)


@case(f32(3, 8), i32(3, 5, min=-1, max=8))
def all_of_another_row(x, i):
    read = jax.vmap(lambda x, i: x[i].sum())(x, i)  #: unsafe
    return jnp.where(_inside(i, 8).all(1)[::-1], read, 0.0)


@case(f32(5, 8), i32(5, 5, min=-1, max=8))
def all_of_a_column(x, i):
    read = jax.vmap(lambda x, i: x[i].sum())(x, i)  #: unsafe
    return jnp.where(_inside(i, 8).all(0), read, 0.0)


@case(f32(3, 8), i32(3, 5, min=-1, max=8))
def all_are_written_or_nothing(x, i):
    def one(x, i):
        return jnp.where(_inside(i, 8).all(), jnp.sort(x.at[i].set(1.0)), x)  #: masked

    return jax.vmap(one)(x, i)


@case(f32(3, 8), i32(3, min=-1, max=8))
def a_row_from_a_place_on(x, start):
    def one(x, start):
        at = start + jnp.arange(3)
        return jnp.where(_inside(start, 6), jnp.cumsum(x[at]), 0.0)  #: masked

    return jax.vmap(one)(x, start)


@case(f32(3, 8), i32(3, min=-1, max=8))
def a_row_from_a_place_on_too_far(x, start):
    def one(x, start):
        at = start + jnp.arange(3)
        return jnp.where(_inside(start, 7), jnp.cumsum(x[at]), 0.0)  #: unsafe

    return jax.vmap(one)(x, start)
