"""Indices that were floats: logarithms, fractions, draws, means, right and almost right."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from tests.cases import case, f32, i32, u32

# T5's buckets of relative positions: exact ones for near positions, logarithmic ones for far.
# https://github.com/google-research/text-to-text-transfer-transformer


def bucket(distance, buckets):
    exact = buckets // 2
    far = jnp.log(distance.astype(np.float32) / exact) / jnp.log(128 / exact) * (buckets - exact)
    return jnp.where(distance < exact, distance, jnp.minimum(exact + far.astype(np.int32), buckets - 1))


@case(f32(16), i32(5), i32(5))
def buckets_of_distances(table, query, key):
    return table[bucket(jnp.maximum(query - key, 0), 16)]  #: safe


@case(f32(32, 4))
def buckets_to_both_sides(table):
    distance = jnp.arange(40)[None] - jnp.arange(40)[:, None]
    return table[(distance > 0) * 16 + bucket(abs(distance), 16)]  #: safe


@case(f32(5), i32(min=1, max=299))
def decades(x, n):
    return x[jnp.log10(n.astype(np.float32)).astype(np.int32)]  #: safe


@case(f32(20), f32(min=1.0, max=3.0))
def powers(x, t):
    return x[(t**2.5).astype(np.int32)] + x[jnp.exp(t).astype(np.int32) - 2]  #: safe


@case(f32(64), f32(8, min=0.0, max=1e6))
def a_phase(x, t):
    return x[((t % 1.0) * 64).astype(np.int32)]  #: safe


@case(f32(7), f32(8, min=0.0, max=6.5))
def the_mean_of_places(x, at):
    return x[jnp.mean(at).astype(np.int32)]  #: safe


@case(f32(8), f32(8))
def an_angle(x, t):
    turned = (jnp.arctan2(jnp.sin(t), jnp.cos(t)) + 3.2) / 6.5
    return x[jnp.floor(turned * 8).astype(np.int32)]  #: safe


@case(f32(101), f32(8))
def a_squashed_number(x, t):
    return x[(jax.nn.sigmoid(t) * 100).astype(np.int32)] + x[((jnp.tanh(t) + 1) * 50).astype(np.int32)]  #: safe


# The greatest draw of jax.random.uniform is 1 - 2⁻²³: times n, rounded, it is below n.


def unit(bits):
    """The float in [0, 1) that random bits stand for, as jax.random.uniform makes it."""
    return lax.bitcast_convert_type((bits >> 9) | np.uint32(0x3F800000), np.float32) - 1.0


@case(f32(20), u32(4))
def a_draw_times_the_size(x, bits):
    down = jnp.floor(jnp.maximum(unit(bits), 0.0) * 20).astype(np.int32)
    return x[(unit(bits) * 20).astype(np.int32)] + x[down]  #: safe


@case(f32(20), u32(2))
def a_draw_of_jax(x, key):
    return x[(jax.random.uniform(key, (3,)) * 20).astype(np.int32)]  #: safe


@case(f32(20), u32(2))
def a_draw_between_two_numbers(x, key):
    return x[jax.random.uniform(key, (3,), minval=3.0, maxval=20.0).astype(np.int32)]  #: safe


@case(f32(15), u32(2))
def a_product_of_a_product(x, key):
    # A compiler may make it a product with 15, rounded once, or not.
    return x[(jax.random.uniform(key, (3,)) * 3.0 * 5.0).astype(np.int32)]  #: unknown


@case(f32(20), u32(4))
def a_draw_times_more_than_the_size(x, bits):
    return x[(unit(bits) * 21).astype(np.int32)]  #: unsafe


# What is left above a whole number; a little below one it is rounded to 1.


@case(f32(10), f32(4, min=-1e4, max=1e4), f32(4, min=0.0, max=1e4))
def what_is_left(x, t, positive):
    left = (positive - jnp.floor(positive)) * 10
    return x[((t - jnp.floor(t)) * 9).astype(np.int32)] + x[left.astype(np.int32)]  #: safe


@case(f32(10), f32(4, min=-1e4, max=1e4))
def what_is_left_of_any_sign(x, t):
    return x[((t - jnp.floor(t)) * 10).astype(np.int32)]  #: unsafe


# A comparison that fails: the other way round, or NaN, which is 0 as an index.


@case(f32(10), f32(4))
def clipped_by_hand(x, t):
    return x[jnp.where(t < 0, 0.0, jnp.where(t > 9, 9.0, t)).astype(np.int32)]  #: safe


@case(f32(10), f32(4))
def thrown_away_outside(x, t):
    return x[jnp.where((t < 0) | (t > 9), 0.0, t).astype(np.int32)]  #: safe


@case(f32(10), f32(4))
def clipped_by_hand_one_too_far(x, t):
    return x[jnp.where(t < 0, 0.0, jnp.where(t > 10, 10.0, t)).astype(np.int32)]  #: unsafe


@case(f32(10), f32(min=0.0, max=1e6))
def in_a_branch(x, t):
    return lax.cond(t > 9, lambda: 0.0, lambda: x[t.astype(np.int32)])  #: safe


@case(f32(10), f32(min=0.0, max=1e6))
def in_the_other_branch(x, t):
    return lax.cond(t > 9, lambda: x[t.astype(np.int32)], lambda: 0.0)  #: unsafe


# In types of few digits.


@case(f32(11), f32(8, min=0.0, max=10.02))
def a_place_in_few_digits(x, at):
    return x[at.astype(jnp.bfloat16).astype(np.int32)]  #: safe


@case(f32(11), f32(8, min=0.0, max=10.98))
def a_place_in_few_digits_rounded_up(x, at):
    return x[at.astype(jnp.bfloat16).astype(np.int32)]  #: unsafe


@case(f32(2), i32(8, min=0, max=2**24 + 2))
def a_whole_number_of_many_digits(x, n):
    return x[(n.astype(np.float32) - 2.0**24).astype(np.int32).clip(0) // 2]  #: safe


@case(f32(2), i32(8, min=0, max=2**24 + 3))
def a_whole_number_of_many_digits_rounded_up(x, n):
    return x[(n.astype(np.float32) - 2.0**24).astype(np.int32).clip(0) // 2]  #: unsafe


@case(f32(11), f32(8, min=0.0, max=9.9))
def a_place_of_reduced_precision(x, at):
    return x[lax.reduce_precision(at, 8, 10).astype(np.int32)]  #: safe


@case(f32(10), f32(8, min=0.0, max=9.9))
def a_place_of_much_reduced_precision(x, at):
    return x[lax.reduce_precision(at, 8, 2).astype(np.int32)]  #: unknown


# Between two numbers.


@case(f32(10), f32(5, min=0.0, max=9.5), f32(5, min=0.0, max=9.5), f32(5, min=0.0, max=1.0))
def on_the_way_from_one_to_another(x, a, b, t):
    return x[(a + (b - a) * t).astype(np.int32)] + x[jnp.floor(t * (b - a) + a).astype(np.int32)]  #: safe


@case(f32(10), f32(5, min=0.0, max=9.5), f32(5, min=0.0, max=9.5), f32(5, min=0.0, max=1.5))
def on_the_way_beyond_another(x, a, b, t):
    return x[jnp.floor(a + (b - a) * t).astype(np.int32)]  #: unsafe


@case(f32(10), f32(5, min=0.0, max=9.5), f32(5, min=0.0, max=9.5), f32(min=0.0, max=1.0))
def a_mixture_of_two(x, a, b, t):
    return x[(a * (1 - t) + b * t).astype(np.int32)]  #: safe


@case(f32(10), f32(5, min=0.0, max=9.5), f32(5, min=0.0, max=9.5), f32(min=0.0, max=1.0))
def a_mixture_of_two_with_too_much(x, a, b, t):
    return x[(a * (1.25 - t) + b * t).astype(np.int32)]  #: unsafe


@case(f32(10), f32(5, min=0.0, max=9.5), f32(5, min=0.0, max=9.5), f32(5, min=0.0, max=1.0))
def on_the_way_from_another(x, a, b, t):
    return x[(b + (b - a) * t).astype(np.int32)]  #: unsafe


@case(f32(10), f32(12, min=0.0, max=9.75), f32(5, min=0.0, max=10.75))
def interpolated_in_a_table(x, table, at):
    low = jnp.floor(at)
    share, k = at - low, low.astype(np.int32)
    return x[(table[k] * (1 - share) + table[k + 1] * share).astype(np.int32)]  #: safe


@case(f32(10), f32(5, min=0.0, max=9.99999999), f32(5, min=0.0, max=10.0), f32(5, min=0.0, max=1.0))
def on_the_way_to_the_end(x, a, b, t):
    return x[(a + (b - a) * t).astype(np.int32)]  #: unsafe


@case(f32(10), f32(5, min=-2e8, max=2e8), f32(5, min=0.0, max=9.0), f32(5, min=0.0, max=1.0))
def on_the_way_from_a_sum(x, y, b, t):
    a = jnp.clip(y, 1e8, 1e8 + 8) + np.float32(-1e8)
    return x[(a + (b - a) * t).astype(np.int32)]  #: unknown


# Among bins.


@case(f32(3), i32(8))
def a_bin_of_what_was_clipped(x, value):
    edges = np.array([0.0, 1.0, 2.0, 3.0], np.float32)
    return x.at[jnp.digitize(jnp.clip(value / 2, 0.0, 2.5), edges) - 1].get(mode="promise_in_bounds")  #: safe


@case(f32(3), i32(8))
def a_bin_of_what_was_clipped_to_the_last_edge(x, value):
    edges = np.array([0.0, 1.0, 2.0, 3.0], np.float32)
    return x.at[jnp.digitize(jnp.clip(value / 2, 0.0, 3.0), edges) - 1].get(mode="promise_in_bounds")  #: safe unsafe


@case(f32(5), f32(8), f32(4))
def a_bin_between_any_edges(x, value, edges):
    return x[jnp.digitize(value, edges)]  #: safe


# Below a number that is compared with: 1 - 2^-24 comes before 1 where a number is one of float32's wherever it is used.


@case(f32(10), f32(6))
def below_one(table, x):
    return table[jnp.where((x >= 0) & (x < 1), (x * 10).astype(np.int32), 0)]  #: safe


@case(f32(10), f32())
def masked_below_one(table, x):
    place = (x * 10).astype(np.int32)
    return jnp.where((x >= 0) & (x < 1), table[place], 0.0)  #: masked


@case(f32(10), f32(7), i32(min=0, max=6))
def an_element_below_one(table, xs, i):
    x = xs[i]  #: safe
    return table[jnp.where((x >= 0) & ~(x >= 1), (x * 10).astype(np.int32), 0)]  #: safe


@case(f32(10), f32(6))
def up_to_one(table, x):
    return table[jnp.where((x >= 0) & (x <= 1), (x * 10).astype(np.int32), 0)]  #: unsafe


@case(f32(6), f32())
def up_to_three_by_halves(table, x):
    return table[jnp.where((x >= 0) & (x <= 3), (x * 2.0).astype(np.int32), 0)]  #: unsafe


@case(f32(10), f32())
def below_three_as_a_share(table, x):
    return table[jnp.where((x >= -3) & (x < 3), ((x + 3.0) / 6.0 * 10).astype(np.int32), 0)]  #: unsafe


@case(f32(10), f32())
def a_product_below_one(table, x):
    # In `y * 10` the product may be one with 11, which was never rounded to what was compared.
    y = x * np.float32(1.1)
    return table[jnp.where((y >= 0) & (y < 1), (y * 10).astype(np.int32), 0)]  #: unknown


@case(f32(193), f32())
def a_product_from_minus_one(table, x):
    # At -0.90909094 it is rounded to -1, and then times 64 and 3 below -192.
    y = x * np.float32(1.1)
    down = jnp.floor(y * 64 * 3).astype(np.int32)
    return table[-jnp.where((y >= -1) & (y < 0.001), down, -95)]  #: unknown


@case(f32(8), f32())
def a_sum_from_zero(table, x):
    # Beside 1e8 there is no 0.3: the two are put together.
    y = x - np.float32(1e8)
    return table[jnp.where((y >= 0) & (y <= 8), 8 - jnp.ceil(y + 0.3).astype(np.int32), 0)]  #: unknown


@case(f32(10), f32())
def a_product_rounded_down(table, x):
    y = x * np.float32(1.1)
    return table[jnp.where((y >= 0) & (y < 10), jnp.floor(y).astype(np.int32), 0)]  #: safe


# Places in a grid whose sides differ: each coordinate has bounds of its own.


@case(f32(4, 6), f32(2))
def the_cell_of_a_point(grid, point):
    cell = jnp.floor(jnp.clip(point, 0.0, np.array([3.0, 5.0], np.float32))).astype(np.int32)
    return grid[cell[0], cell[1]]  #: safe


@case(f32(4, 6), f32(2))
def the_cell_of_a_point_sides_swapped(grid, point):
    cell = jnp.floor(jnp.clip(point, 0.0, np.array([5.0, 3.0], np.float32))).astype(np.int32)
    return grid[cell[0], cell[1]]  #: unsafe


@case(f32(4, 6), f32(9, 2))
def the_nearest_cells_of_shares(grid, share):
    cell = jnp.round((jnp.clip(share, -1.0, 1.0) + 1) * 0.5 * np.array([3, 5])).astype(np.int32)
    return grid[cell[:, 0], cell[:, 1]]  #: safe


@case(f32(4, 6), f32(9, 2))
def the_nearest_cells_of_shares_of_the_sizes(grid, share):
    cell = jnp.round((jnp.clip(share, -1.0, 1.0) + 1) * 0.5 * np.array([4, 6])).astype(np.int32)
    return grid[cell[:, 0], cell[:, 1]]  #: unsafe


@case(f32(4, 6), u32(2))
def a_cell_drawn_at_random(grid, key):
    cell = (jax.random.uniform(key, (2,)) * np.array([4, 6])).astype(np.int32)
    return grid[cell[0], cell[1]]  #: safe


@case(f32(4, 6), f32(20, 2))
def a_walk_that_is_held_inside(grid, steps):
    def step(at, by):
        at = jnp.clip(at + by, 0.0, np.array([3.0, 5.0], np.float32))
        return at, grid[at[0].astype(np.int32), at[1].astype(np.int32)]  #: safe

    return lax.scan(step, jnp.zeros(2), steps)[1]


@case(f32(4, 6), f32(20, 2))
def a_walk_that_is_held_one_too_far(grid, steps):
    def step(at, by):
        at = jnp.clip(at + by, 0.0, np.array([4.0, 5.0], np.float32))
        return at, grid[at[0].astype(np.int32), at[1].astype(np.int32)]  #: unsafe

    return lax.scan(step, jnp.zeros(2), steps)[1]


# The atoms of a distribution of values: its support is cut into parts, and each value lies between two atoms.


@case(f32(11), f32(7))
def the_atom_above(x, value):
    place = (jnp.clip(value, -10.0, 10.0) + 10.0) / 2.0
    return x[jnp.ceil(place).astype(np.int32)]  #: safe


@case(f32(11), f32(7))
def the_atom_above_the_one_below(x, value):
    place = (jnp.clip(value, -10.0, 10.0) + 10.0) / 2.0
    return x[jnp.floor(place).astype(np.int32) + 1]  #: unsafe


@case(f32(11), f32(7), f32(min=2.0, max=2.0))
def the_atom_above_of_parts_that_are_given(x, value, part):
    place = (jnp.clip(value, -10.0, 10.0) + 10.0) / part
    return x[jnp.ceil(place).astype(np.int32)]  #: unknown


# What a float input must keep: the arithmetic between it and the index is turned around.


@case(f32(8), f32(), requires=("-9.0 < t < 8.0",))
def a_float_cut_off(x, t):
    return x[t.astype(np.int32)]  #: requires


@case(f32(8), f32(5), requires=("-1.125 < share < 1.0",))
def a_share_of_a_table(x, share):
    return x[(share * 8).astype(np.int32)]  #: requires


@case(f32(8), f32(), requires=("-4.5 < time < 4.0",))
def a_time_by_steps(x, time):
    return x[(time / 0.5).astype(np.int32)]  #: requires


@case(f32(8), f32(), requires=("-0.125 < time < 0.875",))
def a_window_from_a_time_on(x, time):
    return lax.dynamic_slice(x, ((time * 8).astype(np.int32),), (2,))  #: requires


@case(f32(8), f32(5), requires=("share < 1.0",))
def a_share_that_counts_from_zero(x, share):
    return x[jnp.maximum((share * 8).astype(np.int32), 0)]  #: requires


@case(f32(8), f32(5), requires=("-8.5 < at < 7.5",))
def the_nearest_of_a_table(x, at):
    return x[jnp.round(at).astype(np.int32)]  #: requires


@case(f32(8), f32(5), requires=("-9.0 < at ≤ 7.0",))
def the_one_above_in_a_table(x, at):
    return x[jnp.ceil(at).astype(np.int32)]  #: requires


@case(f32(8), f32(5), requires=("share < 2.0",))
def a_share_where_there_is_one(x, share):
    return x[jnp.where(share > 0, share * 4, 0.0).astype(np.int32)]  #: requires


@case(f32(8), f32(), f32())
def a_share_of_no_one_knows_how_many(x, part, whole):
    place = (part / jnp.maximum(whole, 1.0)).astype(np.int32) - 3
    return lax.dynamic_slice(x, (place,), (2,))  #: unknown


@case(f32(8), i32(5), requires=("-17 ≤ k ≤ 15",))
def half_of_a_number_in_floats(x, k):
    return x[(k * 0.5).astype(np.int32)]  #: requires


@case(f32(8, 9), f32(5, 2), requires=("-4.5 < points[:, 0] < 4.0", "-5.0 < points[:, 1] < 4.5"))
def cells_of_points(grid, points):
    at = (points * 2.0).astype(np.int32)
    return grid[at[:, 0], at[:, 1]]  #: requires


# Counted in floats: a narrow type does not hold every number, and the next one may be beyond the end.


@case(f32(300))
def counted_in_single_precision(x):
    return x[jnp.arange(300.0).astype(np.int32)]  #: safe


@case(f32(300))
def counted_in_sixteen_bits(x):
    return x[jnp.arange(300, dtype=jnp.bfloat16).astype(np.int32)]  #: unsafe


@case(f32(102), runs=False)
def counted_in_eight_bits(x):
    return x[jnp.arange(102, dtype=jnp.float8_e4m3fn).astype(np.int32)]  #: unknown


@case(f32(1000))
def rows_of_a_smaller_picture(x):
    return x[jnp.floor((jnp.arange(600.0) + 0.5) * (1000 / 600)).astype(np.int32)]  #: safe


@case(f32(256), f32(9, min=0.0, max=1.0))
def scaled_in_few_digits(table, x):
    return table[(x.astype(jnp.bfloat16) * 255).astype(int)]  #: safe


@case(f32(256), f32(9, min=0.0, max=1.0))
def scaled_too_far_in_few_digits(table, x):
    return table[(x.astype(jnp.bfloat16) * 256).astype(int)]  #: unsafe


@case(f32(9, 4), f32(3), f32(3, 10))
def the_best_of_scores_in_few_digits(table, state, weights):
    return table[jnp.argmax((state @ weights).astype(jnp.bfloat16))]  #: unsafe


# A compiler groups quotients and constants anew, and comes to numbers on the way that the program never does.


@case(f32(5), f32(min=1e-30, max=1e-30), f32(min=1e-30, max=1e-30), f32(min=1e-30, max=1e-30))
def divided_by_nearly_nothing_twice(x, a, b, c):
    # By b times c, of which nothing is left, it is infinite.
    return x[((a / b) / c * 1e-30).astype(np.int32)]  #: unknown


@case(f32(5), f32(min=1e30, max=1e30), f32(min=1e30, max=1e30), f32(min=1e30, max=1e30))
def divided_by_a_quotient_of_large_numbers(x, a, b, c):
    return x[(a / (b / c) * 1e-30).astype(np.int32)]  #: unknown


@case(f32(5), f32(min=0.0, max=1.0), f32(min=0.5, max=2.0), f32(min=0.5, max=3.0))
def divided_twice(x, a, b, c):
    return x[((a / b) / c).astype(np.int32)]  #: safe


@case(f32(7), f32(min=0.0, max=1.0), f32(min=0.5, max=2.0), f32(min=0.5, max=3.0))
def divided_by_a_quotient(x, a, b, c):
    return x[(a / (b / c)).astype(np.int32)]  #: safe


@case(f32(5), f32(min=1e-19, max=1e-19))
def constants_too_large_together(x, a):
    return x[(a / 1e-20 * 1e20 * 1e-21).astype(np.int32)]  #: unknown


@case(f32(5), f32(min=0.0, max=2.0))
def constants_in_a_row(x, a):
    return x[(a / 0.25 * 3.0 / 6.0).astype(np.int32)]  #: safe


@case(f32(8), f32(min=1e5, max=100003.0))
def a_small_constant_beside_a_large_one(x, a):
    # Together they are -100000, to which a thousandth makes no difference.
    return x[(-jnp.log((a - 1e5) + 0.001)).astype(np.int32)]  #: unknown


@case(f32(8), f32(min=1000.0, max=1003.0))
def a_constant_beside_one_that_holds_it(x, a):
    return x[(-jnp.log((a - 1000.0) + 0.25)).astype(np.int32)]  #: safe


@case(f32(8), f32(min=1e30, max=1e30), f32(min=87.5, max=87.6))
def divided_by_a_large_exponential(x, a, b):
    # That is a product with the exponential of -b, which may be taken for zero.
    return x[(-jnp.log(a / jnp.exp(b)) / 10).astype(np.int32)]  #: unknown


# Part of a number and another one: a whole number of which the sum is a multiple is not looked for among all of them.


@case(f32(50), f32(6))
def a_share_of_a_number_and_another(x, reward):
    target = jnp.clip(reward[:, None] + 0.99 * jnp.linspace(-10.0, 10.0, 51), -10.0, 10.0)
    return x[jnp.ceil((target + 10.0) / 0.4).astype(int)]  #: unsafe


@case(f32(51), f32(6))
def a_share_of_a_number_and_another_in_a_table_that_is_long_enough(x, reward):
    target = jnp.clip(reward[:, None] + 0.99 * jnp.linspace(-10.0, 10.0, 51), -10.0, 10.0)
    return x[jnp.minimum(jnp.ceil((target + 10.0) / 0.4).astype(int), 50)]  #: safe


@case(f32(5), f32(min=1e-30, max=1e-30), f32(min=1e-30, max=1e-30), f32(min=1e-30, max=1e-30))
def divided_again_in_a_loop(x, a, b, c):
    # What is the same in each iteration is computed before, and meets the first quotient there.
    part = a / b
    return lax.scan(lambda t, _: (t, x[(part / c * 1e-30).astype(np.int32)]), 0, None, length=3)  #: unknown


@case(f32(5), f32(min=1e-30, max=1e-30), f32(min=1e-30, max=1e-30), f32(min=1e-30, max=1e-30))
def divided_again_in_the_only_iteration(x, a, b, c):
    return lax.scan(lambda t, row: (t, x[(row / c * 1e-30).astype(np.int32)]), 0, (a / b)[None])  #: unknown


@case(f32(5), f32(min=0.0, max=1.0), f32(3, min=0.5, max=1.0), f32(min=0.5, max=1.0))
def each_row_divided_in_a_loop(x, a, rows, c):
    return lax.scan(lambda t, row: (t, x[(row / c).astype(np.int32)]), 0, rows / 2.0)  #: safe


@case(f32(8), f32(min=1e5, max=1e5))
def a_small_constant_in_a_loop_beside_a_large_one_outside(x, a):
    rest = a - 1e5
    return lax.scan(lambda t, _: (t, x[(-jnp.log(rest + 0.001)).astype(np.int32)]), 0, None, length=3)  #: unknown


# What the condition of a while says of a float that it carries holds in its body.


@case(f32(8), f32(min=0.0, max=7.99), f32(min=-1.0, max=1.0))
def along_a_ray(x, at, step):
    def body(state):
        at, total = state
        return at + step * 0.5, total + x[jnp.floor(at).astype(jnp.int32)]  #: safe

    return lax.while_loop(lambda state: (state[0] >= 0) & (state[0] < 8), body, (at, 0.0))


@case(f32(8), f32(min=0.0, max=7.99), f32(min=-1.0, max=1.0))
def along_a_ray_to_the_wall_itself(x, at, step):
    def body(state):
        at, total = state
        return at + step * 0.5, total + x[jnp.floor(at).astype(jnp.int32)]  #: unsafe

    return lax.while_loop(lambda state: (state[0] >= 0) & (state[0] <= 8), body, (at, 0.0))


@case(f32(4, 4, 4), f32(3), f32(3))
def along_a_ray_through_a_grid(cells, at, step):
    def body(state):
        at, total = state
        cell = jnp.floor(at).astype(jnp.int32)
        return at + step, total + cells[cell[0], cell[1], cell[2]]  #: safe

    return lax.while_loop(lambda state: jnp.all((state[0] >= 0) & (state[0] < 4)), body, (at, 0.0))


@case(f32(4, 4, 3), f32(3), f32(3))
def along_a_ray_through_a_grid_that_is_lower(cells, at, step):
    def body(state):
        at, total = state
        cell = jnp.floor(at).astype(jnp.int32)
        return at + step, total + cells[cell[0], cell[1], cell[2]]  #: unsafe

    return lax.while_loop(lambda state: jnp.all((state[0] >= 0) & (state[0] < 4)), body, (at, 0.0))


@case(f32(8), f32(min=0.0, max=100.0))
def a_float_that_the_loop_does_not_end_by(x, step):
    def body(state):
        at, total = state
        return at + step, total + x[at.astype(jnp.int32)]  #: unsafe

    return lax.while_loop(lambda state: (state[1] < 8) & (state[0] < 100.0), body, (jnp.float32(0), 0.0))


# A condition on the coordinates of a point one by one, on the least and the greatest, rounded, or without their sign.


@case(f32(8, 6), f32(2))
def a_point_looked_at_by_its_coordinates(grid, at):
    def inside():
        cell = jnp.floor(at).astype(jnp.int32)
        return grid[cell[0], cell[1]]  #: safe

    return lax.cond((at[0] >= 0) & (at[0] < 8) & (at[1] >= 0) & (at[1] < 6), inside, lambda: 0.0)


@case(f32(8, 6), f32(2))
def a_point_looked_at_by_its_coordinates_the_other_way(grid, at):
    def inside():
        cell = jnp.floor(at).astype(jnp.int32)
        return grid[cell[0], cell[1]]  #: unsafe

    return lax.cond((at[0] >= 0) & (at[0] < 6) & (at[1] >= 0) & (at[1] < 8), inside, lambda: 0.0)


@case(f32(8), f32(3))
def the_least_and_the_greatest_of_a_point(x, at):
    return lax.cond((at.min() >= 0) & (at.max() < 8), lambda: x[at.astype(jnp.int32)], lambda: x[:3])  #: safe


@case(f32(8), f32(3))
def the_greatest_of_a_point_alone(x, at):
    return lax.cond(at.max() < 8, lambda: x[at.astype(jnp.int32)], lambda: x[:3])  #: requires


@case(f32(8), f32())
def rounded_down_to_look_at_it(x, at):
    return lax.cond((jnp.floor(at) >= 0) & (jnp.floor(at) <= 7), lambda: x[at.astype(jnp.int32)], lambda: 0.0)  #: safe


@case(f32(8), f32())
def rounded_up_to_look_at_it(x, at):
    return lax.cond((jnp.ceil(at) >= 1) & (jnp.ceil(at) <= 8), lambda: x[at.astype(jnp.int32)], lambda: 0.0)  #: unsafe


@case(f32(9), f32())
def rounded_up_to_look_at_it_with_room(x, at):
    return lax.cond((jnp.ceil(at) >= 1) & (jnp.ceil(at) <= 8), lambda: x[at.astype(jnp.int32)], lambda: 0.0)  #: safe


@case(f32(8), f32())
def looked_at_without_its_sign(x, at):
    return lax.cond(jnp.abs(at) < 4, lambda: x[(at + 4).astype(jnp.int32)], lambda: 0.0)  #: unsafe


@case(f32(9), f32())
def looked_at_without_its_sign_with_room(x, at):
    return lax.cond(jnp.abs(at) < 4, lambda: x[(at + 4).astype(jnp.int32)], lambda: 0.0)  #: safe


@case(f32(8), f32())
def looked_at_with_the_other_sign(x, at):
    return lax.cond((-at <= 0) & (-at > -8), lambda: x[at.astype(jnp.int32)], lambda: 0.0)  #: safe


# A picture that is turned: where each pixel comes from, if that is in the picture. What the product of matrices adds up
# is written down, and is one number wherever it is looked at.


@case(f32(16, 16), f32(256, 2), f32(2, 2))
def where_pixels_of_a_turned_picture_come_from(image, points, turn):
    at = jnp.round(points @ turn + 7.5).astype(jnp.int32)
    inside = jnp.all((at >= 0) & (at < 16), -1)
    at = jnp.where(inside[:, None], at, 0)
    return jnp.where(inside, image[at[:, 0], at[:, 1]], 0.0)  #: safe


@case(f32(16, 16), f32(256, 2), f32(2, 2))
def where_pixels_of_a_turned_picture_come_from_up_to_its_size(image, points, turn):
    at = jnp.round(points @ turn + 7.5).astype(jnp.int32)
    inside = jnp.all((at >= 0) & (at <= 16), -1)
    at = jnp.where(inside[:, None], at, 0)
    return jnp.where(inside, image[at[:, 0], at[:, 1]], 0.0)  #: unsafe
