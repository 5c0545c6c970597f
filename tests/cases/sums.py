"""Running sums beside the whole: what is left, how many come before, places within a group."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, flag, i8, i32, u32


@case(f32(31), i32(4))
def what_is_left(x, counts):
    counts = jnp.clip(counts, 0, 10)
    return x[counts.sum() - jnp.cumsum(counts)]  #: safe


@case(f32(30), i32(4))
def what_is_left_one_too_far(x, counts):
    counts = jnp.clip(counts, 0, 10)
    return x[counts.sum() - jnp.cumsum(counts)]  #: unsafe


@case(f32(31), i32(4, min=-10, max=0), i32(4, min=0, max=10))
def what_is_left_of_others(x, counts, others):
    return x[others.sum() - jnp.cumsum(others)] + x[others.sum() - jnp.cumsum(counts)]  #: safe unsafe


@case(f32(16), flag(16))
def from_the_end_of_what_is_kept(x, keep):
    count = jnp.cumsum(keep)
    return jnp.zeros(16).at[jnp.where(keep, count[-1] - count, 0)].set(x)  #: safe


@case(f32(16), flag(16))
def from_the_end_of_what_is_kept_one_too_far(x, keep):
    count = jnp.cumsum(keep)
    return jnp.zeros(16).at[jnp.where(keep, count[-1] - count + 1, 0)].set(x)  #: unsafe


@case(f32(17), flag(16))
def behind_what_is_kept(x, keep):
    dropped = jnp.where(keep, 0, 1)
    return x[16 - keep.sum() - jnp.cumsum(dropped)], x[keep.sum() + jnp.cumsum(dropped)]  #: safe


@case(f32(16), flag(16))
def behind_what_is_kept_one_too_far(x, keep):
    dropped = jnp.where(keep, 0, 1)
    return x[keep.sum() + jnp.cumsum(dropped)]  #: unsafe


@case(f32(16), flag(16))
def what_is_kept_without_what_is_not(x, keep):
    dropped = jnp.where(keep, 0, 9)
    return x[keep.sum() - jnp.cumsum(dropped)]  #: unsafe


@case(i32(12))
def sorted_by_counts_and_ranks(keys):
    keys = jnp.clip(keys, 0, 3)
    which = (keys[:, None] == jnp.arange(4)).astype(int)
    counts = which.sum(0)
    start = jnp.cumsum(counts) - counts
    rank = (jnp.cumsum(which, 0) - 1)[jnp.arange(12), keys]  #: safe
    return jnp.zeros(12, int).at[start[keys] + rank].set(keys)  #: safe


@case(i32(12))
def sorted_by_counts_and_ranks_from_one(keys):
    keys = jnp.clip(keys, 0, 3)
    which = (keys[:, None] == jnp.arange(4)).astype(int)
    counts = which.sum(0)
    start = jnp.cumsum(counts) - counts
    rank = jnp.cumsum(which, 0)[jnp.arange(12), keys]  #: safe
    return jnp.zeros(12, int).at[start[keys] + rank].set(keys)  #: safe unsafe


@case(i32(12))
def sorted_by_counts_and_ranks_of_others(keys):
    # The groups overlap: a key counts for two of them.
    keys = jnp.clip(keys, 0, 3)
    which = (keys[:, None] <= jnp.arange(4)).astype(int)
    counts = which.sum(0)
    start = jnp.cumsum(counts) - counts
    rank = (jnp.cumsum(which, 0) - 1)[jnp.arange(12), keys]  #: safe
    return jnp.zeros(12, int).at[start[keys] + rank].set(keys)  #: safe unsafe


@case(f32(94), i8(4))
def what_is_left_of_bytes(x, counts):
    counts = jnp.clip(counts, 0, 31)
    return x[(counts.sum(dtype="int8") - jnp.cumsum(counts, dtype="int8")).astype(int)]  #: safe


@case(f32(128), i8(5))
def what_is_left_of_bytes_that_wrap_more(x, counts):
    counts = jnp.clip(counts, 0, 33)
    total = counts.sum(dtype="int8").astype(int)
    return x[total - jnp.cumsum(counts, dtype="int8").astype(int) + 128]  #: unsafe


# Sorted by some bits of each number, by what is left of it, or by cases: counts and ranks are of the same places.


@case(u32(12))
def passes_of_a_radix_sort(keys):
    def by_digit(keys, shift):
        digit = ((keys >> shift) & 7).astype(int)
        counts = jnp.zeros(8, int).at[digit].add(1)  #: safe
        start = jnp.cumsum(counts) - counts
        which = digit[:, None] == jnp.arange(8)
        rank = jnp.take_along_axis(jnp.cumsum(which, 0) - 1, digit[:, None], 1)[:, 0]  #: safe
        return jnp.zeros_like(keys).at[start[digit] + rank].set(keys), None  #: safe

    return lax.scan(by_digit, keys, jnp.arange(0, 30, 3, dtype=jnp.uint32))[0]


@case(u32(12))
def passes_of_a_radix_sort_into_too_few(keys):
    def by_digit(keys, shift):
        digit = ((keys >> shift) & 7).astype(int)
        counts = jnp.zeros(8, int).at[digit].add(1)  #: safe
        start = jnp.cumsum(counts) - counts
        which = digit[:, None] == jnp.arange(8)
        rank = jnp.take_along_axis(jnp.cumsum(which, 0), digit[:, None], 1)[:, 0]  #: safe
        return jnp.zeros_like(keys).at[start[digit] + rank].set(keys), None  #: safe unsafe

    return lax.scan(by_digit, keys, jnp.arange(0, 30, 3, dtype=jnp.uint32))[0]


@case(i32(12), i32(min=0, max=7))
def places_by_a_digit(keys, shift):
    digit = (keys >> shift) & 3
    counts = jnp.bincount(digit, length=4)  #: safe
    rank = (jnp.cumsum(digit[:, None] == jnp.arange(4), 0) - 1)[jnp.arange(12), digit]  #: safe
    return jnp.zeros(12, int).at[(jnp.cumsum(counts) - counts)[digit] + rank].set(keys)  #: safe


@case(i32(12))
def places_by_what_is_left(keys):
    bucket = keys % 5
    counts = jnp.bincount(bucket, length=5)  #: safe
    rank = (jnp.cumsum(bucket[:, None] == jnp.arange(5), 0) - 1)[jnp.arange(12), bucket]  #: safe
    return jnp.zeros(12, int).at[(jnp.cumsum(counts) - counts)[bucket] + rank].set(keys)  #: safe


@case(i32(12))
def places_by_what_is_left_of_another(keys):
    bucket, other = keys % 5, (keys + 1) % 5
    counts = jnp.bincount(other, length=5)  #: safe
    rank = (jnp.cumsum(bucket[:, None] == jnp.arange(5), 0) - 1)[jnp.arange(12), bucket]  #: safe
    return jnp.zeros(12, int).at[(jnp.cumsum(counts) - counts)[bucket] + rank].set(keys)  #: unsafe safe


@case(i32(12))
def places_by_cases(keys):
    bucket = jnp.where(keys < 0, 0, jnp.where(keys > 9, 2, 1))
    counts = jnp.bincount(bucket, length=3)  #: safe
    rank = (jnp.cumsum(bucket[:, None] == jnp.arange(3), 0) - 1)[jnp.arange(12), bucket]  #: safe
    return jnp.zeros(12, int).at[(jnp.cumsum(counts) - counts)[bucket] + rank].set(keys)  #: safe


@case(i32(12))
def places_by_other_cases(keys):
    bucket = jnp.where(keys < 0, 0, jnp.where(keys > 9, 2, 1))
    counts = jnp.bincount(jnp.where(keys < 0, 0, jnp.where(keys > 9, 1, 2)), length=3)  #: safe
    rank = (jnp.cumsum(bucket[:, None] == jnp.arange(3), 0) - 1)[jnp.arange(12), bucket]  #: safe
    return jnp.zeros(12, int).at[(jnp.cumsum(counts) - counts)[bucket] + rank].set(keys)  #: unsafe safe


_KINDS = np.arange(24) * 7 % 24


@case(i32(12, min=0, max=23), i32(12, min=0, max=2))
def places_by_conditions_of_many_cases(keys, kinds):
    # Which of the two it is takes too many words to say.
    bucket = jnp.where(jnp.asarray(_KINDS)[keys] > 9, kinds, 0)  #: safe
    other = jnp.where(jnp.asarray(_KINDS[::-1])[keys] > 9, kinds, 0)  #: safe
    counts = jnp.bincount(other, length=3)  #: safe
    rank = (jnp.cumsum(bucket[:, None] == jnp.arange(3), 0) - 1)[jnp.arange(12), bucket]  #: safe
    return jnp.zeros(12, int).at[(jnp.cumsum(counts) - counts)[bucket] + rank].set(keys)  #: unsafe safe


# Where each group starts is what was counted before it: put behind a zero, or padded by one.


@case(i32(16), f32(16))
def places_behind_a_zero(keys, x):
    group = keys & 3
    counts = jnp.zeros(4, int).at[group].add(1)  #: safe
    first = jnp.concatenate([jnp.zeros(1, int), jnp.cumsum(counts)[:-1]])
    rank = (jnp.cumsum(group[:, None] == jnp.arange(4), 0) - 1)[jnp.arange(16), group]  #: safe
    return x[first[group] + rank]  #: safe


@case(i32(16), f32(16))
def places_behind_a_zero_from_one(keys, x):
    group = keys & 3
    counts = jnp.zeros(4, int).at[group].add(1)  #: safe
    first = jnp.concatenate([jnp.zeros(1, int), jnp.cumsum(counts)[:-1]])
    rank = jnp.cumsum(group[:, None] == jnp.arange(4), 0)[jnp.arange(16), group]  #: safe
    return x[first[group] + rank]  #: safe unsafe


@case(i32(16), f32(16))
def places_by_padded_sums(keys, x):
    group = keys & 3
    counts = jnp.zeros(4, int).at[group].add(1)  #: safe
    first = jnp.pad(jnp.cumsum(counts), (1, 0))
    rank = (jnp.cumsum(group[:, None] == jnp.arange(4), 0) - 1)[jnp.arange(16), group]  #: safe
    return x[first[group] + rank]  #: safe


@case(i32(16), f32(16))
def places_by_padded_sums_of_the_next(keys, x):
    group = keys & 3
    counts = jnp.zeros(4, int).at[group].add(1)  #: safe
    first = jnp.pad(jnp.cumsum(counts), (1, 0))
    rank = (jnp.cumsum(group[:, None] == jnp.arange(4), 0) - 1)[jnp.arange(16), group]  #: safe
    return x[first[group + 1] + rank]  #: safe unsafe


@case(i32(3, 16), f32(3, 16))
def places_in_each_batch(keys, x):
    def one(keys, x):
        group = keys & 3
        counts = jnp.zeros(4, int).at[group].add(1)  #: safe
        rank = (jnp.cumsum(group[:, None] == jnp.arange(4), 0) - 1)[jnp.arange(16), group]  #: safe
        return x[(jnp.cumsum(counts) - counts)[group] + rank]  #: safe

    return jax.vmap(one)(keys, x)


@case(i32(3, 16), f32(3, 16))
def places_in_another_batch(keys, x):
    def one(keys, others, x):
        group, other = keys & 3, others & 3
        counts = jnp.zeros(4, int).at[other].add(1)  #: safe
        rank = (jnp.cumsum(group[:, None] == jnp.arange(4), 0) - 1)[jnp.arange(16), group]  #: safe
        return x[(jnp.cumsum(counts) - counts)[group] + rank]  #: safe unsafe

    return jax.vmap(one)(keys, keys[::-1], x)


@case(i32(4, min=0, max=3), f32(7), i32(min=0, max=6))
def a_place_of_padded_ones(places, x, i):
    padded = jnp.pad(places + 1, (1, 2), constant_values=6)
    return x[padded[i]]  #: safe


@case(i32(4, min=0, max=3), f32(6), i32(min=0, max=6))
def a_place_of_ones_that_are_padded_by_too_much(places, x, i):
    padded = jnp.pad(places + 1, (1, 2), constant_values=6)
    return x[padded[i]]  #: safe unsafe


# Which of four parts of the whole each running sum lies in.


@case(f32(5), i32(20, min=0, max=50))
def quarters_of_a_sum(x, counts):
    return x[jnp.cumsum(counts) * 4 // jnp.maximum(counts.sum(), 1)]  #: safe


@case(f32(4), i32(20, min=0, max=50))
def quarters_of_a_sum_and_its_end(x, counts):
    return x[jnp.cumsum(counts) * 4 // jnp.maximum(counts.sum(), 1)]  #: unsafe


@case(f32(5), i32(20, min=0, max=50), i32(20, min=0, max=50))
def quarters_of_another_sum(x, counts, others):
    return x[jnp.cumsum(counts) * 4 // jnp.maximum(others.sum(), 1)]  #: unsafe


@case(f32(5), i32(20, min=-1, max=50))
def quarters_of_a_sum_of_which_some_are_negative(x, counts):
    return x[jnp.cumsum(counts) * 4 // jnp.maximum(counts.sum(), 1)]  #: unsafe


# A search by counting: what is below the last end is not behind all of them.


@case(f32(8), i32(8, min=0, max=5))
def frames_of_each_by_counting_ends(x, lengths):
    ends, t = jnp.cumsum(lengths), jnp.arange(40)
    return jnp.where(t < ends[-1], x[jnp.sum(t[:, None] >= ends, -1)], 0.0)  #: masked


@case(f32(8), i32(8, min=0, max=5))
def frames_of_each_by_counting_ends_and_one_more(x, lengths):
    ends, t = jnp.cumsum(lengths), jnp.arange(40)
    return jnp.where(t <= ends[-1], x[jnp.sum(t[:, None] >= ends, -1)], 0.0)  #: unsafe


@case(f32(8), i32(8), i32())
def one_by_counting_what_is_below(x, ends, t):
    return x[jnp.where(t <= ends[-1], jnp.sum(ends < t), 0)]  #: safe


@case(f32(8), i32(8), i32())
def one_by_counting_what_is_not_above(x, ends, t):
    return x[jnp.where(t <= ends[-1], jnp.sum(ends <= t), 0)]  #: unsafe


@case(f32(8), i32(8), i32(8), i32())
def one_by_counting_others(x, ends, others, t):
    return x[jnp.where(t < others[-1], jnp.sum(ends <= t), 0)]  #: unsafe
