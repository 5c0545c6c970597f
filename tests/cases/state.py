"""State arrays: elements written and read at known places, flags among them, the same thing computed twice."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from tests.cases import case, f32, flag, i32, u8


@case(f32(10), i32(4, 3, min=0, max=9))
def an_element_written_last(x, cars):
    cars = cars.at[2].set(jnp.array([1, 20, 3]))  #: safe
    cars = cars.at[2, 1].set(4)  #: safe
    return lax.dynamic_slice(x, (cars[2, 0] + cars[2, 1],), (1,))  #: safe


@case(f32(10), i32(4, 3, min=0, max=9))
def an_element_written_before(x, cars):
    cars = cars.at[2].set(jnp.array([1, 20, 3]))  #: safe
    cars = cars.at[1, 1].set(4)  #: safe
    return lax.dynamic_slice(x, (cars[2, 0] + cars[2, 1],), (1,))  #: unsafe


@case(f32(10), i32(2, 2, min=0, max=9), flag())
def written_by_the_same_condition(x, old, go):
    new = lax.select(go, old.at[0, 0].set(3), old)  #: safe
    new = lax.select(go, new.at[1, 0].set(5), old)  #: safe
    return lax.dynamic_slice(x, (lax.select(go, new[0, 0], 0) + 6,), (1,))  #: safe


@case(f32(10), i32(2, 2, min=0, max=9), flag(), flag())
def written_by_another_condition(x, old, go, stop):
    new = lax.select(go, old.at[0, 0].set(3), old)  #: safe
    new = lax.select(stop, new.at[1, 0].set(5), old)  #: safe
    return lax.dynamic_slice(x, (lax.select(go, new[0, 0], 0) + 6,), (1,))  #: unsafe


@case(f32(5), i32(5))
def flags_of_an_entity(x, s):
    kind = 3 * s[3] + 1 * (1 - s[3])
    return x[kind * s[4] + 4 * (1 - s[4])]  #: requires


@case(f32(5), i32(5, min=0, max=1))
def flags_that_are_kept(x, s):
    kind = 3 * s[3] + 1 * (1 - s[3])
    return x[kind * s[4] + 4 * (1 - s[4])]  #: safe


@case(f32(5), i32(5, min=0, max=2))
def flags_that_are_numbers(x, s):
    kind = 3 * s[3] + 1 * (1 - s[3])
    return x[kind * s[4] + 4 * (1 - s[4])]  #: unsafe


@case(f32(10), i32(5, min=-20, max=20))
def zero_outside_the_frame(x, s):
    outside = (s[0] < 0) | (s[0] > 9)
    return x[s[0] * (1 - outside)]  #: safe


@case(f32(10), i32(5, min=-20, max=20))
def zero_too_far_outside_the_frame(x, s):
    outside = (s[0] < 0) | (s[0] > 10)
    return x[s[0] * (1 - outside)]  #: unsafe


@case(f32(10), i32(min=0, max=9), i32())
def one_of_three_moves(x, p, a):
    moved = jnp.maximum(0, p - 1) * (a == 1) + jnp.minimum(9, p + 1) * (a == 3) + p * ((a != 1) & (a != 3))
    return lax.dynamic_slice(x, (moved,), (1,))  #: safe


@case(f32(10), i32(min=0, max=9), i32())
def two_of_three_moves(x, p, a):
    moved = jnp.maximum(0, p - 1) * (a == 1) + jnp.minimum(9, p + 1) * (a == 3) + p * (a != 1)
    return lax.dynamic_slice(x, (moved,), (1,))  #: unsafe


@case(f32(4), i32(3))
def one_speed_at_a_time(x, v):
    channel = 2 * (jnp.abs(v[1]) == 1).astype(int) + 3 * (jnp.abs(v[1]) == 2).astype(int)
    return lax.dynamic_slice(x, (channel,), (1,))  #: safe


@case(f32(4), i32(3, min=-1, max=1))
def two_speeds_at_a_time(x, v):
    channel = 2 * (jnp.abs(v[1]) == 1).astype(int) + 3 * (jnp.abs(v[2]) == 1).astype(int)
    return lax.dynamic_slice(x, (channel,), (1,))  #: unsafe


@case(f32(7), i32())
def a_channel_for_each_speed(x, v):
    channel = 2 * (v == 1) + 3 * (v == 2) + 4 * (v == 3) + 5 * (v == 4) + 6 * (v == 5)
    return lax.dynamic_slice(x, (channel,), (1,))  #: safe


@case(f32(6), i32())
def a_channel_too_many_for_a_speed(x, v):
    channel = 2 * (v == 1) + 3 * (v == 2) + 4 * (v == 3) + 5 * (v == 4) + 6 * (v == 5)
    return lax.dynamic_slice(x, (channel,), (1,))  #: unsafe


@case(f32(6), i32())
def two_channels_for_one_speed(x, v):
    channel = 2 * (v == 1) + 3 * (v == 2) + 4 * (v == 1)
    return lax.dynamic_slice(x, (channel,), (1,))  #: unsafe


@case(f32(6), i32(8), i32(8))
def channels_by_two_speeds(x, v, w):
    channels = 2 * (v == 1) + 3 * (v == 2) + 4 * (w == 3)
    return x[channels]  #: unsafe


@case(f32(2), i32(8, min=1, max=2))
def one_of_two_channels(x, v):
    return x[2 * (v == 1) + 3 * (v == 2) - 2]  #: safe


@case(f32(12), i32(8, min=0, max=7), i32(min=0, max=7), i32(min=0, max=7))
def a_row_written_somewhere(x, kinds, i, j):
    table = jnp.stack([kinds, kinds * 0, kinds * 0 + 3], axis=1)
    table = table.at[i].set(jnp.array([7, 1, 4]))  #: safe
    at = table[j, 0] + table[j, 2]  #: safe
    return lax.dynamic_slice(x, (at,), (1,))  #: safe


@case(f32(12), i32(8, min=0, max=7), i32(min=0, max=7), i32(min=0, max=7))
def a_row_turned_round(x, kinds, i, j):
    table = jnp.stack([kinds, kinds * 0, kinds * 0 + 3], axis=1)
    table = table.at[i].set(jnp.array([4, 1, 9]))  #: safe
    at = table[j, 0] + table[j, 2]  #: safe
    return lax.dynamic_slice(x, (at,), (1,))  #: unsafe


@case(f32(12), i32(8, min=0, max=7), i32(min=0, max=7), i32(min=0, max=7))
def part_of_a_row_written_somewhere(x, kinds, i, j):
    table = jnp.stack([kinds, kinds * 0, kinds * 0 + 3], axis=1)
    table = lax.dynamic_update_slice(table, jnp.array([[1, 12]]), (i, 1))  #: safe
    at = table[j, 0] + table[j, 2]  #: safe
    return lax.dynamic_slice(x, (at,), (1,))  #: unsafe


@case(f32(12), i32(100, min=0, max=7), i32(3, min=0, max=99), i32(min=0, max=99))
def rows_of_a_long_table(x, kinds, i, j):
    table = jnp.stack([kinds, kinds * 0 + 3], axis=1)
    table = table.at[i].set(jnp.array([7, 4]))  #: safe
    at = table[j, 0] + table[j, 1]  #: safe
    return lax.dynamic_slice(x, (at,), (1,))  #: safe


@case(f32(12), i32(100, min=0, max=7), i32(3, min=0, max=99), i32(min=0, max=99))
def columns_of_a_long_table(x, kinds, i, j):
    table = jnp.stack([kinds, kinds * 0 + 3], axis=1)
    table = table.at[i, 1].set(12)  #: safe
    at = table[j, 0] + table[j, 1]  #: safe
    return lax.dynamic_slice(x, (at,), (1,))  #: unsafe


@case(f32(12), i32(6, min=0, max=7), i32(6, min=0, max=4))
def two_columns_stacked(x, a, b):
    both = jnp.stack([a, b], axis=-1)
    return x[both[:, 0] + both[:, 1]]  #: safe


@case(f32(12), i32(6, min=0, max=7), i32(6, min=0, max=4))
def one_column_stacked_twice(x, a, b):
    both = jnp.stack([a, b], axis=0)
    return x[both[0] + both[0]]  #: unsafe


@case(f32(10), i32(5, min=-20, max=20), flag())
def zero_outside_the_frame_or_unused(x, s, used):
    outside = (s[0] < 0) | (s[0] > 9)
    return lax.dynamic_slice(x, (s[0] * used * (1 - outside),), (1,))  #: safe


@case(f32(10), i32(5, min=-20, max=20), flag())
def zero_too_far_outside_the_frame_or_unused(x, s, used):
    outside = (s[0] < 0) | (s[0] > 10)
    return lax.dynamic_slice(x, (s[0] * used * (1 - outside),), (1,))  #: unsafe


@case(f32(10), i32(5, min=-20, max=20), flag())
def doubled_and_zero_outside_the_frame(x, s, used):
    outside = (s[0] < 0) | (s[0] > 9)
    return lax.dynamic_slice(x, (2 * s[0] * used * (1 - outside),), (1,))  #: unsafe


@case(f32(4), i32(3, min=0, max=3))
def element_changed_by_a_function(x, s):
    s = s.at[0].apply(lambda v: jnp.minimum(v, 2) + 1)  #: safe
    return lax.dynamic_slice(x, (s[1],), (1,))  #: safe


@case(f32(4), i32(3, min=0, max=3))
def element_changed_by_a_function_too_far(x, s):
    s = s.at[0].apply(lambda v: v + 1)  #: safe
    return lax.dynamic_slice(x, (s[0],), (1,))  #: unknown


@case(f32(10), i32(min=0, max=9), i32())
def caught_by_one_of_two_conditions(x, p, timer):
    now = timer == 0
    moved = lax.select(now, p + 1, p)
    moved = lax.select(now & (moved > 9), 0, moved)
    return lax.dynamic_slice(x, (moved,), (1,))  #: safe


@case(f32(10), i32(min=8, max=9), i32(min=0, max=1), i32(min=0, max=1))
def caught_by_a_condition_of_its_own(x, p, timer, other):
    moved = lax.select(timer == 0, p + 1, p)
    moved = lax.select((moved > 9) & (other == 0), 0, moved)
    return lax.dynamic_slice(x, (moved,), (1,))  #: unsafe


@case(f32(10), i32(6, min=-5, max=15))
def either_end_of_each(x, i):
    kept = jnp.where(~((i < 0) | (i > 9)), i, 0)
    return x[kept]  #: safe


@case(f32(10), i32(6, min=-5, max=15))
def where_one_of_them_holds(x, i):
    kept = jnp.where((i >= 0) | (i > 9), i, 0)
    return lax.dynamic_slice(x, (kept[2],), (1,))  #: unsafe


@case(f32(10), i32(6, min=-5, max=15), i32(6, min=-5, max=15))
def another_that_is_outside(x, i, j):
    kept = jnp.where((i < 0) | (j > 9), 0, i)
    return lax.dynamic_slice(x, (kept[2],), (1,))  #: unsafe


@case(f32(10), i32(8, 3), i32(), i32())
def a_frame_that_the_program_keeps(x, cars, i, timer):
    x0 = cars[i, 0]  #: requires
    moved = lax.select(timer == 0, x0 + jnp.sign(cars[2, 1]), x0)
    moved = lax.select(moved < 0, 9, lax.select(moved > 9, 0, moved))
    return lax.dynamic_slice(x, (moved,), (1,))  #: safe


@case(f32(10), i32(8, 3), flag())
def a_row_whose_columns_are_asked_for(x, cars, go):
    row = cars[3]
    row = row.at[0].set(lax.select(go, row[0] + row[2], row[0]))  #: safe
    row = row * (1 - ((row[0] < 0) | (row[0] > 9)))
    return lax.dynamic_slice(x, (row[0],), (1,))  #: safe


@case(f32(12), i32(8, min=0, max=7), i32(min=0, max=6), i32(min=0, max=7))
def the_end_of_a_row_written_somewhere(x, kinds, i, j):
    numbers = lax.ScatterDimensionNumbers((0,), (0,), (0, 1))
    table = jnp.stack([kinds * 0, kinds * 0, kinds * 0 + 3], axis=1)
    table = lax.scatter(table, jnp.stack([i, i * 0 + 1]), jnp.array([1, 12]), numbers, mode="clip")  #: safe
    at = table[j, 2]  #: safe
    return lax.dynamic_slice(x, (at,), (1,))  #: unsafe


@case(i32(2), i32(), requires=("-2 ≤ player ≤ 1", "0 ≤ player ≤ 3"))
def whoever_holds_the_higher_card(cards, player):
    higher = cards[player] > cards[1 - player]  #: requires
    return lax.cond(
        higher,
        lambda: jnp.zeros(2).at[player].set(1.0),  #: requires
        lambda: jnp.zeros(2).at[1 - player].set(1.0),  #: requires
    )


@case(u8(10), requires=("kinds ≤ 5",))
def a_feature_for_each_kind(kinds):
    def features(i):
        return jnp.zeros(10).at[4 + kinds[i]].set(1.0)  #: safe requires

    return jax.vmap(features)(jnp.arange(10))


@case(u8(10))
def kinds_that_are_limited_too_late(kinds):
    return jnp.zeros(10).at[4 + jnp.minimum(kinds, 6)].set(1.0)  #: unsafe


@case(f32(6), u8(10), f32(10), requires=("kinds ≤ 5",))
def the_kind_of_the_last_one_there(sights, kinds, strengths):
    def look(i, kind):
        return jnp.where(strengths[i] > 0, kinds[i].astype(int), kind)  #: safe

    return sights[lax.fori_loop(0, 10, look, 0)]  #: requires


@case(f32(6), u8(10), f32(10))
def the_kind_of_the_last_one_there_limited_too_late(sights, kinds, strengths):
    def look(i, kind):
        return jnp.where(strengths[i] > 0, jnp.minimum(kinds[i].astype(int), 6), kind)  #: safe

    return sights[lax.fori_loop(0, 10, look, 0)]  #: unsafe


@case(f32(9), f32(6), i32(6, min=0, max=8))
def the_best_of_each_cell_and_no_place_for_others(kept, found, cells):
    best = jax.ops.segment_max(found, cells, 9)  #: safe
    better = (found == best[cells]) & (found > kept[cells])  #: safe
    return kept.at[jnp.where(better, cells, 9)].set(found)  #: unsafe


@case(f32(9), f32(6), i32(6, min=0, max=8))
def the_best_of_each_cell_and_others_dropped(kept, found, cells):
    best = jax.ops.segment_max(found, cells, 9)  #: safe
    better = (found == best[cells]) & (found > kept[cells])  #: safe
    return kept.at[jnp.where(better, cells, 9)].set(found, mode="drop")  #: declared


@case(f32(4), f32(3), f32(4), i32(), i32(), requires=("-4 ≤ i ≤ 3", "-3 ≤ j ≤ 2"))
def both_of_what_is_looked_up_anyway(rows, columns, both, i, j):
    return rows[i] + columns[j] + both[i ^ j]  #: requires


@case(f32(4), f32(3), f32(3), i32(), i32())
def both_one_too_far_for_what_is_looked_up_anyway(rows, columns, both, i, j):
    kept = rows[i] + columns[j]  #: requires
    return kept + both[i ^ j]  #: unknown
