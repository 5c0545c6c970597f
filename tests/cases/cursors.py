"""Places that a loop moves along, by one each time or only now and then, from where an input puts them."""

from __future__ import annotations

import jax
import numpy as np
from jax import lax
from jax import numpy as jnp

from tests.cases import case, f32, flag, i8, i32


@case(f32(100), i32(), i32(), requires=("-100 ≤ at", "at + count ≤ 100"))
def read_on(x, at, count):
    def step(state):
        done, at, total = state
        return done + 1, at + 1, total + x[at]  #: requires

    return lax.while_loop(lambda state: state[0] < count, step, (0, at, 0.0))


@case(f32(100), i32(min=0, max=60), i32(min=0, max=40))
def read_on_inside(x, at, count):
    def step(state):
        done, at, total = state
        return done + 1, at + 1, total + x[at]  #: safe

    return lax.while_loop(lambda state: state[0] < count, step, (0, at, 0.0))


@case(f32(100), i32(min=0, max=60), i32(min=0, max=41))
def read_on_past_the_end(x, at, count):
    def step(state):
        done, at, total = state
        return done + 1, at + 1, total + x[at]  #: unsafe

    return lax.while_loop(lambda state: state[0] < count, step, (0, at, 0.0))


@case(f32(100), i32(), flag(10), requires=("-100 ≤ at ≤ 90",))
def moved_now_and_then(x, at, moves):
    def step(state, moved):
        at, total = state
        return (jnp.where(moved, at + 1, at), total + x[at]), None  #: requires

    return lax.scan(step, (at, 0.0), moves)


@case(f32(100), i32(), flag(10), requires=("-100 ≤ at ≤ 90",))
def moved_by_a_flag(x, at, moves):
    def step(state, moved):
        at, total = state
        return (at + moved.astype(jnp.int32), total + x[at]), None  #: requires

    return lax.scan(step, (at, 0.0), moves)


@case(f32(100), i32(min=0, max=90), flag(10))
def moved_by_a_flag_inside(x, at, moves):
    def step(state, moved):
        at, total = state
        return (at + moved.astype(jnp.int32), total + x[at]), None  #: safe

    return lax.scan(step, (at, 0.0), moves)


@case(f32(100), i32(min=0, max=91), flag(10))
def moved_by_a_flag_past_the_end(x, at, moves):
    def step(state, moved):
        at, total = state
        return (at + moved.astype(jnp.int32), total + x[at]), None  #: unsafe

    return lax.scan(step, (at, 0.0), moves)


@case(f32(100), i32(), i32(), i32(50), requires=("count ≤ 50", "-100 ≤ at", "at + count ≤ 100"))
def kept_tokens(x, at, count, tokens):
    def step(state):
        done, at, x = state
        token = tokens[done]  #: requires
        return done + 1, jnp.where(token > 0, at + 1, at), x.at[at].set(1.0)  #: requires

    return lax.while_loop(lambda state: state[0] < count, step, (0, at, x))


@case(f32(100), i32(), i32(200), requires=("count ≤ 200", "count ≤ 100"))
def kept_from_the_start(x, count, tokens):
    def step(state):
        done, at, x = state
        token = tokens[done]  #: requires
        return done + 1, jnp.where(token > 0, at + 1, at), x.at[at].set(1.0)  #: requires

    return lax.while_loop(lambda state: state[0] < count, step, (0, 0, x))


@case(f32(100), i8(), flag(10))
def a_narrow_cursor_can_wrap(x, at, moves):
    def step(state, moved):
        at, total = state
        return (jnp.where(moved, at + jnp.int8(1), at), total + x[at]), None  #: unsafe

    return lax.scan(step, (at, 0.0), moves)


@case(f32(200), i32(), i32(10, min=-3, max=2), requires=("-173 ≤ at ≤ 181",))
def back_and_forth(x, at, moves):
    def step(state, move):
        at, total = state
        return (at + move, total + x[at]), None  #: requires

    return lax.scan(step, (at, 0.0), moves)


@case(f32(64), f32(), i32(), requires=("count ≤ 64",))
def searched_up_to_a_count(x, wanted, count):
    def halve(state):
        low, high = state
        middle = (low + high) // 2
        above = x[middle] < wanted  #: requires
        return jnp.where(above, middle + 1, low), jnp.where(above, high, middle)

    return lax.while_loop(lambda state: state[0] < state[1], halve, (0, count))


@case(f32(64), f32(), i32(max=64))
def searched_up_to_a_count_inside(x, wanted, count):
    def halve(state):
        low, high = state
        middle = (low + high) // 2
        above = x[middle] < wanted  #: safe
        return jnp.where(above, middle + 1, low), jnp.where(above, high, middle)

    return lax.while_loop(lambda state: state[0] < state[1], halve, (0, count))


@case(i32(64), i32(), requires=("-64 ≤ parents ≤ 63", "-64 ≤ at ≤ 63"))
def up_to_the_root(parents, at):
    root = lax.while_loop(
        lambda at: parents[at] != at,  #: requires
        lambda at: parents[at],  #: requires
        at,
    )
    return parents.at[root].set(at)  #: requires


@case(f32(64), i32(), flag(10), requires=("-64 ≤ at ≤ 54",))
def moved_in_a_branch(x, at, moves):
    def step(state, moved):
        at, total = state
        here = total + x[at]  #: requires
        return (lax.cond(moved, lambda at: at + 1, lambda at: at, at), here), None

    return lax.scan(step, (at, 0.0), moves)


@case(i32(8), f32(20), requires=("0 ≤ starts ≤ 20",))
def rows_side_by_side(starts, values):
    def row(i):
        first, end = starts[i], starts[i + 1]  #: safe
        return lax.fori_loop(first, end, lambda k, total: total + values[k], 0.0)  #: requires

    return jax.vmap(row)(jnp.arange(7))


@case(f32(16), f32(16), f32(32))
def merged(x, y, out):
    def step(state):
        i, j, k, out = state
        left = x[i] <= y[j]  #: safe
        out = out.at[k].set(jnp.where(left, 1.0, 2.0))  #: safe
        return jnp.where(left, i + 1, i), jnp.where(left, j, j + 1), k + 1, out

    return lax.while_loop(lambda state: (state[0] < 16) & (state[1] < 16), step, (0, 0, 0, out))


@case(f32(16), f32(16), f32(30))
def merged_into_too_few(x, y, out):
    def step(state):
        i, j, k, out = state
        left = x[i] <= y[j]  #: safe
        out = out.at[k].set(jnp.where(left, 1.0, 2.0))  #: unsafe
        return jnp.where(left, i + 1, i), jnp.where(left, j, j + 1), k + 1, out

    return lax.while_loop(lambda state: (state[0] < 16) & (state[1] < 16), step, (0, 0, 0, out))


@case(f32(16), f32(16), f32(32))
def merged_with_a_step_too_many(x, y, out):
    def step(state):
        i, j, k, out = state
        left = x[i] <= y[j]  #: safe
        out = out.at[k].set(jnp.where(left, 1.0, 2.0))  #: unsafe
        return jnp.where(left, i + 1, i), jnp.where(left, j, j + 1), k + 3, out

    return lax.while_loop(lambda state: (state[0] < 16) & (state[1] < 16), step, (0, 0, 0, out))


@case(flag(50), f32(50))
def streak(hits, x):
    def body(k, carry):
        count, total = carry
        return jnp.where(hits[k], count + 1, 0), total + x[count]  #: safe

    return lax.fori_loop(0, 50, body, (0, 0.0))


@case(flag(50), f32(49))
def streak_too_long(hits, x):
    def body(k, carry):
        count, total = carry
        return jnp.where(hits[k], count + 1, 0), total + x[count]  #: safe unsafe

    return lax.fori_loop(0, 50, body, (0, 0.0))


@case(flag(50), i32(50, min=0, max=5), f32(54))
def streak_set_to_something(hits, at, x):
    def body(k, carry):
        count, total = carry
        return jnp.where(hits[k], count + 1, at[k]), total + x[count]  #: safe

    return lax.fori_loop(0, 50, body, (0, 0.0))


@case(flag(50), i32(50, min=0, max=5), f32(53))
def streak_set_too_high(hits, at, x):
    def body(k, carry):
        count, total = carry
        return jnp.where(hits[k], count + 1, at[k]), total + x[count]  #: safe unknown

    return lax.fori_loop(0, 50, body, (0, 0.0))


@case(i32(12, min=0, max=1))
def machine_that_runs_off_its_code(code):
    return lax.fori_loop(0, 50, lambda k, at: jnp.where(code[at] == 0, at + 1, 0), 0)  #: unsafe


@case(i32(8), i32(6), i32(6))
def in_both_of_two_lists(a, b, out):
    def step(state):
        i, j, k, out = state
        x, y = a[i], b[j]  #: safe #: safe
        out = jnp.where(x == y, out.at[k].set(x), out)  #: safe
        return i + (x <= y), j + (y <= x), k + (x == y), out

    return lax.while_loop(lambda s: (s[0] < 8) & (s[1] < 6), step, (0, 0, 0, out))


@case(i32(8), i32(6), i32(13))
def in_either_of_two_lists(a, b, out):
    def step(state):
        i, j, k, out = state
        x, y = a[i], b[j]  #: safe #: safe
        return i + (x <= y), j + (y <= x), k + 1, out.at[k].set(jnp.minimum(x, y))  #: safe

    return lax.while_loop(lambda s: (s[0] < 8) & (s[1] < 6), step, (0, 0, 0, out))


# Where they are equal neither list goes on, and the third cursor does.
@case(i32(8), i32(6), i32(13))
def in_either_of_two_lists_forever(a, b, out):
    def step(state):
        i, j, k, out = state
        x, y = a[i], b[j]  #: safe #: safe
        return i + (x < y), j + (y < x), k + 1, out.at[k].set(jnp.minimum(x, y))  #: unsafe

    return lax.while_loop(lambda s: (s[0] < 8) & (s[1] < 6) & (s[2] < 50), step, (0, 0, 0, out))


@case(i32(9, 8), i32(8), i32(7))
def back_along_what_two_have_in_common(lengths, a, b):
    def step(state):
        i, j, k, out = state
        same = a[i - 1] == b[j - 1]  #: safe #: safe
        up = lengths[i - 1, j] >= lengths[i, j - 1]  #: safe #: safe
        out = jnp.where(same, out.at[k - 1].set(a[i - 1]), out)  #: safe #: safe
        return jnp.where(same | up, i - 1, i), jnp.where(same | ~up, j - 1, j), jnp.where(same, k - 1, k), out

    return lax.while_loop(lambda s: (s[0] > 0) & (s[1] > 0), step, (8, 7, 7, jnp.zeros(7, jnp.int32)))


@case(i32(9, 8))
def back_along_an_alignment(moves):
    def step(state):
        i, j, k, path = state
        move = moves[i, j]  #: safe
        return i - (move != 2), j - (move != 1), k + 1, path.at[k].set(move)  #: safe

    return lax.while_loop(lambda s: (s[0] > 0) & (s[1] > 0), step, (8, 7, 0, jnp.zeros(14, jnp.int32)))


@case(i32(9, 8, min=0, max=2))
def back_along_an_alignment_by_branches(moves):
    def step(state):
        i, j, k, path = state
        move = moves[i, j]  #: safe
        i, j = lax.switch(move, [lambda: (i - 1, j - 1), lambda: (i - 1, j), lambda: (i, j - 1)])
        return i, j, k + 1, path.at[k].set(move)  #: safe

    return lax.while_loop(lambda s: (s[0] > 0) & (s[1] > 0), step, (8, 7, 0, jnp.zeros(14, jnp.int32)))


# As long as either has some way to go; what is at its end stays there.


@case(f32(9, 8))
def back_to_both_ends(costs):
    def step(state):
        i, j, k, path = state
        ways = jnp.stack([costs[i - 1, j], costs[i, j - 1], costs[i - 1, j - 1]])  #: safe
        way = jnp.argmin(ways)
        up = jnp.where(i == 0, 0, jnp.where(j == 0, i - 1, jnp.where(way != 1, i - 1, i)))
        left = jnp.where(j == 0, 0, jnp.where(i == 0, j - 1, jnp.where(way != 0, j - 1, j)))
        return up, left, k + 1, path.at[k].set(way)  #: safe

    return lax.while_loop(lambda s: (s[0] > 0) | (s[1] > 0), step, (8, 7, 0, jnp.zeros(15, jnp.int32)))


@case(f32(9, 8))
def back_to_both_ends_along_too_short_a_path(costs):
    def step(state):
        i, j, k, path = state
        ways = jnp.stack([costs[i - 1, j], costs[i, j - 1], costs[i - 1, j - 1]])  #: safe
        way = jnp.argmin(ways)
        up = jnp.where(i == 0, 0, jnp.where(j == 0, i - 1, jnp.where(way != 1, i - 1, i)))
        left = jnp.where(j == 0, 0, jnp.where(i == 0, j - 1, jnp.where(way != 0, j - 1, j)))
        return up, left, k + 1, path.at[k].set(way)  #: unsafe

    return lax.while_loop(lambda s: (s[0] > 0) | (s[1] > 0), step, (8, 7, 0, jnp.zeros(13, jnp.int32)))


@case(f32(9, 8))
def back_to_both_ends_and_standing_still_at_one(costs):
    def step(state):
        i, j, k, path = state
        way = jnp.argmin(costs[i])  #: safe
        up, left = jnp.where(i == 0, 0, i - 1), jnp.where(i == 0, j, jnp.where(way != 0, j - 1, j))
        return up, left, k + 1, path.at[k].set(way)  #: unsafe

    start = (8, 9, 0, jnp.zeros(17, jnp.int32))
    return lax.while_loop(lambda s: ((s[0] > 0) | (s[1] > 0)) & (s[2] < 40), step, start)


@case(i32(9, 8))
def back_along_an_alignment_that_is_set_back(moves):
    def step(state):
        i, j, k, path = state
        move = moves[i, j]  #: safe
        i, j = jnp.where(i == 1, 8, i - 1), jnp.where(i == 1, j - 1, j)
        return i, j, k + 1, path.at[k].set(move)  #: unsafe

    return lax.while_loop(lambda s: (s[0] > 0) & (s[1] > 0), step, (8, 7, 0, jnp.zeros(14, jnp.int32)))


# One of the moves leaves both where they are.
@case(i32(9, 8))
def back_along_an_alignment_that_may_stand_still(moves):
    def step(state):
        i, j, k, path = state
        move = moves[i, j]  #: safe
        return i - (move == 2), j - (move == 1), k + 1, path.at[k].set(move)  #: unsafe

    return lax.while_loop(lambda s: (s[0] > 0) & (s[1] > 0) & (s[2] < 50), step, (8, 7, 0, jnp.zeros(14, jnp.int32)))


# Two lists merged while either has elements left: the loop goes on in one of two ways, and in each the other list's
# cursor moves only where it has some left too.
@case(f32(5), f32(7))
def merged_while_either_has_some(x, y):
    def step(state):
        i, j, k, out = state
        mine, theirs = x[jnp.minimum(i, 4)], y[jnp.minimum(j, 6)]  #: safe safe
        from_x = (j >= 7) | ((i < 5) & (mine <= theirs))
        out = out.at[k].set(jnp.where(from_x, mine, theirs))  #: safe
        return i + from_x, j + ~from_x, k + 1, out

    return lax.while_loop(lambda s: (s[0] < 5) | (s[1] < 7), step, (0, 0, 0, jnp.zeros(12)))


@case(f32(5), f32(7))
def merged_while_either_has_some_into_too_few(x, y):
    def step(state):
        i, j, k, out = state
        mine, theirs = x[jnp.minimum(i, 4)], y[jnp.minimum(j, 6)]  #: safe safe
        from_x = (j >= 7) | ((i < 5) & (mine <= theirs))
        out = out.at[k].set(jnp.where(from_x, mine, theirs))  #: unsafe
        return i + from_x, j + ~from_x, k + 1, out

    return lax.while_loop(lambda s: (s[0] < 5) | (s[1] < 7), step, (0, 0, 0, jnp.zeros(11)))


@case(f32(5), f32(7), i32(min=0, max=5), i32(min=0, max=7))
def merged_as_long_as_they_are_said_to_be(x, y, first, second):
    def step(state):
        i, j, k, out = state
        mine, theirs = x[jnp.minimum(i, 4)], y[jnp.minimum(j, 6)]  #: safe safe
        from_x = (j >= second) | ((i < first) & (mine <= theirs))
        out = out.at[k].set(jnp.where(from_x, mine, theirs))  #: safe
        return i + from_x, j + ~from_x, k + 1, out

    return lax.while_loop(lambda s: (s[0] < first) | (s[1] < second), step, (0, 0, 0, jnp.zeros(12)))


@case(f32(5), f32(7), i32(min=0, max=6), i32(min=0, max=7))
def merged_longer_than_they_are(x, y, first, second):
    def step(state):
        i, j, k, out = state
        mine, theirs = x[jnp.minimum(i, 4)], y[jnp.minimum(j, 6)]  #: safe safe
        from_x = (j >= second) | ((i < first) & (mine <= theirs))
        out = out.at[k].set(jnp.where(from_x, mine, theirs))  #: unsafe
        return i + from_x, j + ~from_x, k + 1, out

    return lax.while_loop(lambda s: (s[0] < first) | (s[1] < second), step, (0, 0, 0, jnp.zeros(12)))


@case(f32(5), f32(7))
def merged_by_a_branch(x, y):
    def step(state):
        i, j, total = state
        from_x = (j >= 7) | ((i < 5) & (total > 0))
        return lax.cond(
            from_x,
            lambda: (i + 1, j, total + x[i]),  #: safe
            lambda: (i, j + 1, total - y[j]),  #: safe
        )

    return lax.while_loop(lambda s: ~((s[0] >= 5) & (s[1] >= 7)), step, (0, 0, 0.0))


@case(f32(5), f32(7))
def merged_by_a_branch_that_asks_for_one_more(x, y):
    def step(state):
        i, j, total = state
        from_x = (j >= 7) | ((i <= 5) & (total >= 0))
        return lax.cond(
            from_x,
            lambda: (i + 1, j, total + x[i]),  #: unsafe
            lambda: (i, j + 1, total - y[j]),  #: safe
        )

    return lax.while_loop(lambda s: ~((s[0] >= 5) & (s[1] >= 7)), step, (0, 0, 0.0))


@case(f32(2, 6), f32(2, 7))
def merged_in_each_lane(x, y):
    def merge(x, y):
        def step(state):
            i, j, total = state
            from_x = (j >= 7) | ((i < 5) & (total > 0))
            return lax.cond(
                from_x,
                lambda: (i + 1, j, total + x[i]),  #: safe
                lambda: (i, j + 1, total - y[j]),  #: masked
            )

        return lax.while_loop(lambda s: (s[0] < 5) | (s[1] < 7), step, (0, 0, 0.0))

    return jax.vmap(merge)(x, y)


@case(f32(9), i32(4))
def held_at_the_end_by_a_branch_in_each_lane(x, start):
    def lane(at):
        def step(at, _):
            at = lax.cond(at < 8, lambda: at + 1, lambda: at)
            return at, x[at]  #: safe

        return lax.scan(step, at, None, length=30)

    return jax.vmap(lane)(jnp.clip(start, 0, 3))


@case(f32(9), i32(4))
def held_past_the_end_by_a_branch_in_each_lane(x, start):
    def lane(at):
        def step(at, _):
            at = lax.cond(at < 9, lambda: at + 1, lambda: at)
            return at, x[at]  #: unsafe

        return lax.scan(step, at, None, length=30)

    return jax.vmap(lane)(jnp.clip(start, 0, 3))


@case(f32(9), i32(4), i32(20))
def moved_by_one_of_three_in_each_lane(x, start, way):
    def lane(at):
        def step(at, way):
            moves = [lambda: at, lambda: jnp.where(at < 8, at + 1, at), lambda: jnp.maximum(at - 1, 0)]
            at = lax.switch(way + at % 2, moves)
            return at, x[at]  #: safe

        return lax.scan(step, at, way)

    return jax.vmap(lane)(jnp.clip(start, 0, 3))


@case(f32(9), i32(4), i32(20))
def moved_too_far_by_one_of_three_in_each_lane(x, start, way):
    def lane(at):
        def step(at, way):
            moves = [lambda: at, lambda: jnp.where(at < 9, at + 1, at), lambda: jnp.maximum(at - 1, 0)]
            at = lax.switch(way, moves)
            return at, x[at]  #: unsafe

        return lax.scan(step, at, way)

    return jax.vmap(lane)(jnp.clip(start, 0, 8))


@case(f32(9), i32(), i32(20))
def moved_too_far_by_one_of_three_that_hangs_on_the_place(x, start, way):
    def step(at, way):
        moves = [lambda: at, lambda: jnp.where(at < 9, at + 1, at), lambda: jnp.maximum(at - 1, 0)]
        at = lax.switch(way + at % 2, moves)
        return at, x[at]  #: unsafe

    return lax.scan(step, jnp.clip(start, 0, 8), way)


# The second way of going on leads past the end, the first does not.
@case(f32(9), flag(20))
def moved_on_while_either(x, go):
    def step(state):
        at, seen, total = state
        return jnp.where((at < 8) | go[seen], at + 1, at), seen + 1, total + x[at]  #: safe unsafe

    return lax.while_loop(lambda s: ((s[0] < 8) | (s[0] < 12)) & (s[1] < 20), step, (0, 0, 0.0))


@case(f32(9))
def moved_on_while_either_as_far_as_the_end(x):
    def step(state):
        at, other, total = state
        return jnp.where(at < 8, at + 1, at), jnp.where(at < 8, other, other + 1), total + x[at]  #: safe

    return lax.while_loop(lambda s: (s[0] < 8) | (s[1] < 12), step, (0, 0, 0.0))


# A stack: its top goes up, or down to the bottom


@case(flag(20))
def pushed_and_popped(moves):
    def step(state, push):
        def pushes():
            return state[0].at[state[1]].set(1.0), state[1] + 1  #: safe

        def pops():
            return state[0], jnp.maximum(state[1] - 1, 0)

        return lax.cond(push, pushes, pops), None

    return lax.scan(step, (jnp.zeros(20), 0), moves)


@case(flag(21))
def pushed_and_popped_once_too_often(moves):
    def step(state, push):
        def pushes():
            return state[0].at[state[1]].set(1.0), state[1] + 1  #: unsafe

        def pops():
            return state[0], jnp.maximum(state[1] - 1, 0)

        return lax.cond(push, pushes, pops), None

    return lax.scan(step, (jnp.zeros(20), 0), moves)


@case(f32(20), i32(20, min=0, max=2))
def a_top_that_no_branch_knows(x, moves):
    def step(top, move):
        down, up = jnp.clip(top - 2, 0, 5), top + 1
        return jnp.where(move == 0, down, jnp.where(move == 1, up, top)), x[top]  #: safe

    return lax.scan(step, 0, moves)


@case(f32(20), i32(26, min=0, max=2))
def a_top_set_back_higher_than_it_may_be(x, moves):
    def step(top, move):
        down, up = jnp.clip(top - 2, 5, 5), top + 1
        return jnp.where(move == 0, down, jnp.where(move == 1, up, top)), x[top]  #: unsafe

    return lax.scan(step, 0, moves)


# A flag ends the loop: that it is not set says of the iteration before where the cursor is.


@case(f32(10), f32())
def until_full_or_found(x, limit):
    def body(state):
        n, _, x = state
        x = x.at[n].set(limit * n)  #: safe
        return n + 1, (n + 1 >= 10) | (x.sum() > limit), x

    return lax.while_loop(lambda state: ~state[1], body, (0, False, x))


@case(f32(10), f32())
def until_fuller_than_full_or_found(x, limit):
    def body(state):
        n, _, x = state
        x = x.at[n].set(limit * n)  #: unsafe
        return n + 1, (n + 1 > 10) | (x.sum() > limit), x

    return lax.while_loop(lambda state: ~state[1], body, (0, False, x))


@case(f32(10), f32())
def until_full_and_found(x, limit):
    def body(state):
        n, _, x = state
        x = x.at[n].set(limit * n)  #: unsafe
        return n + 1, (n + 1 >= 10) & (x.sum() > limit), x

    return lax.while_loop(lambda state: ~state[1] & (state[0] < 50), body, (0, False, x))


@case(f32(10), f32())
def while_the_status_is_fine(x, limit):
    def body(state):
        n, status, x = state
        x = x.at[n].set(limit * n)  #: safe
        status = jnp.where(x.sum() > limit, 2, status)
        return n + 1, jnp.where(n + 1 >= 10, 1, status), x

    return lax.while_loop(lambda state: state[1] == 0, body, (0, 0, x))


@case(f32(10), f32())
def while_a_status_is_fine_that_another_one_replaces(x, limit):
    def body(state):
        n, status, x = state
        x = x.at[n].set(limit * n)  #: unsafe
        status = jnp.where(n + 1 >= 10, 1, status)
        return n + 1, jnp.where(x.sum() < limit, 0, status), x

    return lax.while_loop(lambda state: (state[1] == 0) & (state[0] < 50), body, (0, 0, x))


@case(f32(10), f32(), i32())
def until_full_from_where_an_input_says(x, limit, first):
    def body(state):
        n, _, x = state
        x = x.at[n].set(limit * n)  #: requires
        return n + 1, (n + 1 >= 10) | (x.sum() > limit), x

    return lax.while_loop(lambda state: ~state[1], body, (first, False, x))


@case(f32(10), f32())
def a_flag_of_the_iteration_before(x, limit):
    def body(state):
        n, full, _, x = state
        x = x.at[n].set(limit * n)  #: unsafe
        return n + 1, n + 1 >= 10, full | (x.sum() > limit), x

    return lax.while_loop(lambda state: ~state[2], body, (0, False, False, x))


@case(f32(10), i32(10))
def read_where_a_flag_ended_the_loop(x, tokens):
    def body(state):
        n, _ = state
        return n + 1, (tokens[n] == 0) | (n >= 8)  #: safe

    length, _ = lax.while_loop(lambda state: ~state[1], body, (0, False))
    return x[length]  #: safe


@case(f32(4, 10), f32(4))
def until_full_or_found_in_lanes(x, limit):
    def one(x, limit):
        def body(state):
            n, _, total = state
            total = total + x[n]  #: masked
            return n + 1, (n + 1 >= 10) | (total > limit), total

        return lax.while_loop(lambda state: ~state[1], body, (0, False, 0.0))

    return jax.vmap(one)(x, limit)


@case(f32(4, 10), f32(4))
def until_fuller_than_full_or_found_in_lanes(x, limit):
    def one(x, limit):
        def body(state):
            n, _, total = state
            total = total + x[n]  #: unsafe
            return n + 1, (n + 1 > 10) | (total > limit), total

        return lax.while_loop(lambda state: ~state[1], body, (0, False, 0.0))

    return jax.vmap(one)(x, limit)


# What every iteration moves on by one at least, by one or two, or to the end, ends the loop after so many.


@case(f32(10), f32())
def one_for_each_step_of_one_or_two(x, limit):
    def body(state):
        i, n, total = state
        total = total + x[n]  #: safe
        return i + jnp.where(total > limit, 1, 2), n + 1, total

    return lax.while_loop(lambda state: state[0] < 10, body, (0, 0, 0.0))


@case(f32(10), f32())
def one_for_each_step_of_none_or_two(x, limit):
    def body(state):
        i, n, total = state
        total = total + x[n]  #: unsafe
        return i + jnp.where(total > limit, 0, 2), n + 1, total

    return lax.while_loop(lambda state: (state[0] < 10) & (state[1] < 40), body, (0, 0, 0.0))


@case(f32(10), f32())
def so_many_left_or_none(x, limit):
    def body(state):
        n, left, total = state
        total = total + x[n]  #: safe
        return n + 1, jnp.where(total > limit, 0, left - 1), total

    return lax.while_loop(lambda state: state[1] > 0, body, (0, 10, 0.0))


@case(f32(10), f32())
def so_many_left_or_one_more(x, limit):
    def body(state):
        n, left, total = state
        total = total + x[n]  #: unsafe
        return n + 1, jnp.where(total > limit, 1, left - 1), total

    return lax.while_loop(lambda state: state[1] > 0, body, (0, 10, 0.0))


@case(f32(4), f32())
def bytes_that_wrap_before_the_end(x, limit):
    def body(state):
        i, n, total = state
        total = total + x[n]  #: unsafe
        return i + jnp.where(total > limit, 30, 90).astype(jnp.int8), n + 1, total

    return lax.while_loop(lambda state: (state[0] < 100) & (state[1] < 60), body, (jnp.int8(0), 0, 0.0))


# A stack that an inner loop takes as much from as it likes: each step of the outer one adds one, so it holds no more
# than there were steps.


@case(i32(30))
def the_next_greater_by_a_stack(x):
    def step(carry, i):
        stack, top, out = carry

        def less(state):
            return (state[0] > 0) & (x[stack[state[0] - 1]] < x[i])  #: safe

        def pop(state):
            top, out = state
            return top - 1, out.at[stack[top - 1]].set(i)  #: safe

        top, out = lax.while_loop(less, pop, (top, out))
        return (stack.at[top].set(i), top + 1, out), None  #: safe

    empty = jnp.zeros(30, np.int32)
    return lax.scan(step, (empty, 0, empty), jnp.arange(30))[0][2]


@case(i32(30))
def the_same_by_a_stack_of_one_less(x):
    def step(carry, i):
        stack, top = carry
        top = lax.while_loop(lambda n: (n > 0) & (x[stack[n - 1]] < x[i]), lambda n: n - 1, top)  #: safe
        return (stack.at[top].set(i), top + 1), None  #: unsafe

    return lax.scan(step, (jnp.zeros(29, np.int32), 0), jnp.arange(30))[0][0]


# A cursor that an inner loop moves on by as much as it finds, and the outer one by one more.


@case(i32(64))
def lengths_of_words(text):
    def word(state):
        at, n, out = state
        end = lax.while_loop(lambda j: (j < 64) & (text[jnp.minimum(j, 63)] > 0), lambda j: j + 1, at)  #: safe
        return end + 1, n + 1, out.at[n].set(end - at)  #: safe

    return lax.while_loop(lambda s: s[0] < 64, word, (0, 0, jnp.zeros(64, np.int32)))[2]


@case(i32(64))
def lengths_of_words_with_room_for_one_less(text):
    def word(state):
        at, n, out = state
        end = lax.while_loop(lambda j: (j < 64) & (text[jnp.minimum(j, 63)] > 0), lambda j: j + 1, at)  #: safe
        return end + 1, n + 1, out.at[n].set(end - at)  #: unsafe

    return lax.while_loop(lambda s: s[0] < 64, word, (0, 0, jnp.zeros(63, np.int32)))[2]


# A flag and a cursor that a branch yields together.


@case(i32(32))
def up_to_a_zero_or_the_end(text):
    def step(state):
        at, _, n = state
        return lax.cond(text[at] == 0, lambda: (at, True, n), lambda: (at + 1, at + 1 >= 32, n + 1))  #: safe

    return lax.while_loop(lambda s: ~s[1], step, (0, False, 0))[2]


@case(i32(32))
def up_to_a_zero_or_past_the_end(text):
    def step(state):
        at, _, n = state
        return lax.cond(text[at] == 0, lambda: (at, True, n), lambda: (at + 1, at + 1 > 32, n + 1))  #: unsafe

    return lax.while_loop(lambda s: ~s[1], step, (0, False, 0))[2]


@case(i32(8), i32())
def a_place_and_whether_there_is_one(x, i):
    at, found = lax.cond((i >= 0) & (i < 8), lambda: (i, True), lambda: (-9, False))
    return lax.cond(found, lambda: x[at], lambda: 0)  #: safe


@case(i32(8), i32())
def a_place_and_whether_there_is_none(x, i):
    at, found = lax.cond((i >= 0) & (i < 8), lambda: (i, False), lambda: (-9, True))
    return lax.cond(found, lambda: x[at], lambda: 0)  #: unsafe


# After `while a and (b or c)`, either a has failed or both others have.


@case(i32(8), i32(50))
def matches_of_a_pattern(pattern, text):
    def border(i, state):
        f, k = state
        k = lax.while_loop(lambda k: (k > 0) & (pattern[k] != pattern[i]), lambda k: f[k - 1], k)  #: safe
        k = jnp.where(pattern[k] == pattern[i], k + 1, k)  #: safe
        return f.at[i].set(k), k  #: safe

    f, _ = lax.fori_loop(1, 8, border, (jnp.zeros(8, np.int32), 0))

    def step(k, letter):
        def differs(k):
            return (k > 0) & ((k == 8) | (pattern[jnp.minimum(k, 7)] != letter))  #: safe

        k = lax.while_loop(differs, lambda k: f[k - 1], k)  #: safe
        k = jnp.where(pattern[k] == letter, k + 1, k)  #: safe
        return k, k == 8

    return lax.scan(step, 0, text)[1]


@case(i32(8), i32(min=0, max=8), i32())
def after_a_loop_that_two_tests_end(x, n, stop):
    n = lax.while_loop(lambda n: (n > 0) & ((n == 8) | (n > stop)), lambda n: n - 1, n)
    return x[n]  #: safe


@case(i32(8), i32(min=0, max=8), i32())
def after_a_loop_that_one_of_two_tests_ends(x, n, stop):
    n = lax.while_loop(lambda n: (n > 0) & ((n == 8) & (n > stop)), lambda n: n - 1, n)
    return x[n]  #: unsafe


# Where some pair of neighbours is still within n tokens, there are two at least.


@case(i32(32), i32(min=0, max=32))
def merging_pairs_of_tokens(tokens, n):
    def merge(state):
        tokens, n, _ = state
        after = jnp.roll(tokens, -1)
        ok = (tokens == 1) & (after == 2) & (jnp.arange(32) + 1 < n)
        i, some = jnp.argmax(ok), ok.any()
        merged = jnp.where(jnp.arange(32) <= i, tokens, after).at[i].set(3)  #: safe
        return jnp.where(some, merged, tokens), jnp.where(some, n - 1, n), some

    tokens, n, _ = lax.while_loop(lambda s: s[2], merge, (tokens, n, True))
    return tokens[jnp.maximum(n - 1, 0)]  #: safe


@case(i32(6), i32(6), i32(min=0, max=8))
def some_element_says_how_many(x, y, n):
    some = ((jnp.arange(6) + 3 < n) & (y > 0)).any()
    return lax.dynamic_slice(x, (jnp.where(some, n - 4, 0),), (2,))  #: safe


@case(i32(6), i32(6), i32(min=0, max=8))
def some_element_says_less(x, y, n):
    some = ((jnp.arange(6) + 3 < n) | (y > 0)).any()
    return lax.dynamic_slice(x, (jnp.where(some, n - 4, 0),), (2,))  #: unsafe


@case(i32(6), i32(6, min=0, max=9))
def some_element_is_true(x, y):
    return lax.cond((y < 6).any(), lambda: x[jnp.minimum(y, 7)], lambda: x * 0)  #: unsafe


# Taking as many as there are: what is left is never less than none.


@case(i32(16), i32(min=0, max=16), i32(4, min=0, max=8))
def pages_from_a_free_list(free, count, wanted):
    def step(count, n):
        take, k = jnp.minimum(n, count), jnp.arange(8)
        pages = jnp.where(k < take, free[count - 1 - k], -1)  #: safe
        return count - take, pages

    return lax.scan(step, count, wanted)[1]


@case(i32(16), i32(min=0, max=16), i32(4, min=0, max=8))
def pages_from_a_free_list_that_may_have_fewer(free, count, wanted):
    def step(count, n):
        count = count - jnp.minimum(n, 4)
        return count, lax.dynamic_slice(free, (count,), (1,))  #: unsafe

    return lax.scan(step, count, wanted)[1]


@case(i32(16), i32(min=0, max=16), i32(4, min=0, max=8))
def a_free_list_after_what_was_taken(free, count, wanted):
    def step(count, n):
        count = count - jnp.minimum(n, count)
        return count, lax.dynamic_slice(free, (jnp.minimum(count, 15),), (1,))  #: safe

    return lax.scan(step, count, wanted)[1]


@case(i32(6), i32(min=-5, max=5), i32(min=-5, max=5))
def how_much_more_than_another(x, a, b):
    more, less = jnp.maximum(a, b) - b, b - jnp.maximum(a, b)
    first = lax.dynamic_slice(x, (jnp.minimum(more, 5),), (1,))  #: safe
    return first, lax.dynamic_slice(x, (-jnp.maximum(less, -5),), (1,))  #: safe


@case(i32(6), i8(min=-100, max=100), i8(min=-100, max=100))
def how_much_more_than_another_where_it_wraps(x, a, b):
    return lax.dynamic_slice(x, (jnp.minimum(jnp.maximum(a, b) - b, 5),), (1,))  #: unsafe


# Counts kept in an array, one more at one place in each iteration: none is more than the iterations so far.


@case(i32(50, min=0, max=9))
def the_next_free_slot_of_each_cell(cells):
    def step(i, carry):
        counts, slots = carry
        cell = cells[i]  #: safe
        n = counts[cell]  #: safe
        return counts.at[cell].add(1), slots.at[cell, n].set(i)  #: safe

    return lax.fori_loop(0, 50, step, (jnp.zeros(10, np.int32), jnp.zeros((10, 50), np.int32)))[1]


@case(i32(50, min=0, max=9))
def the_next_free_slot_of_each_cell_with_too_few(cells):
    def step(i, carry):
        counts, slots = carry
        cell = cells[i]  #: safe
        n = counts[cell]  #: safe
        slots = slots.at[cell, n].set(i)  #: unsafe
        return counts.at[cell].add(1), slots  #: safe

    return lax.fori_loop(0, 50, step, (jnp.zeros(10, np.int32), jnp.zeros((10, 49), np.int32)))[1]


@case(i32(20, 2, min=0, max=9))
def counts_of_two_places_at_once(pairs):
    def step(counts, pair):
        room = jnp.zeros(39).at[counts[pair[0]]].set(1.0)  #: safe
        return counts.at[pair].add(1), room  #: safe

    return lax.scan(step, jnp.zeros(10, np.int32), pairs)[1]


@case(i32(20, 2, min=0, max=9))
def counts_of_two_places_at_once_with_too_few(pairs):
    def step(counts, pair):
        room = jnp.zeros(38).at[counts[pair[0]]].set(1.0)  #: safe unsafe
        return counts.at[pair].add(1), room  #: safe

    return lax.scan(step, jnp.zeros(10, np.int32), pairs)[1]


# A flag that is carried beside a cursor, and says that it has come to the end.


@case(i32(32))
def letters_until_the_end_is_reached(text):
    def step(carry, _):
        at, done = carry
        letter = jnp.where(done, 0, text[at])  #: masked
        at = jnp.where(done, at, at + 1)
        return (at, at >= 32), letter

    return lax.scan(step, (0, False), None, length=64)[1]


@case(i32(32))
def letters_until_one_after_the_end_is_reached(text):
    def step(carry, _):
        at, done = carry
        letter = jnp.where(done, 0, text[at])  #: unsafe
        at = jnp.where(done, at, at + 1)
        return (at, at > 32), letter

    return lax.scan(step, (0, False), None, length=64)[1]


@case(i32(32))
def letters_until_a_flag_is_set_in_a_branch(text):
    def step(carry, _):
        at, done = carry

        def read():
            letter = text[at]  #: safe
            return at + 1, (letter == 0) | (at + 1 >= 32), letter

        at, done, letter = lax.cond(done, lambda: (at, True, 0), read)
        return (at, done), letter

    return lax.scan(step, (0, False), None, length=64)[1]


@case(i32(32))
def letters_until_a_flag_is_set_too_late(text):
    def step(carry, _):
        at, done = carry

        def read():
            letter = text[at]  #: unsafe
            return at + 1, at >= 32, letter

        at, done, letter = lax.cond(done, lambda: (at, True, 0), read)
        return (at, done), letter

    return lax.scan(step, (0, False), None, length=64)[1]


def _in_turns_of_four(read):
    """Nine rounds, of which the fourth and the eighth are turns: 7 is reached in the one, 15 in the other."""

    def step(state):
        count, at, turn, total = state
        total = lax.cond(turn, lambda: total + read(at), lambda: total)
        return count + 1, jnp.where(turn, 1, 2 * at + 1), (count + 1) % 4 == 3, total

    return lax.while_loop(lambda state: state[0] < 9, step, (0, 0, False, 0))[3]


@case(i32(9))
def read_where_a_turn_ends(x):
    return _in_turns_of_four(lambda at: x[at - 7])  #: safe


@case(i32(8))
def read_where_the_first_turn_ends(x):
    return _in_turns_of_four(lambda at: x[at - 7])  #: unsafe


@case(i32(32), i32(64, min=0, max=1))
def letters_of_a_flag_that_may_be_taken_back(text, again):
    def step(carry, back):
        at, done = carry
        letter = jnp.where(done, 0, text[at])  #: unsafe
        at = jnp.where(done, at, at + 1)
        return (at, jnp.where(done, back == 0, at >= 32)), letter

    return lax.scan(step, (0, False), again)[1]


@case(i32(32))
def letters_while_there_is_fuel(text):
    def step(state):
        fuel, at, done, total = state
        total = total + jnp.where(done, 0, text[at])  #: masked
        at = jnp.where(done, at, at + 1)
        return fuel - 1, at, at >= 32, total

    return lax.while_loop(lambda s: s[0] > 0, step, (100, 0, False, 0))[3]


# A buffer that takes as much as it has room for.


@case(f32(100), i32(20, min=0, max=30))
def filled_as_far_as_there_is_room(buffer, lengths):
    def put(state, length):
        buffer, at = state
        length = jnp.minimum(length, 100 - at)
        buffer = lax.fori_loop(0, length, lambda k, b: b.at[at + k].set(1.0), buffer)  #: safe
        return (buffer, at + length), None

    return lax.scan(put, (buffer, 0), lengths)[0]


@case(f32(100), i32(20, min=0, max=30))
def filled_as_far_as_there_is_room_for_one_more(buffer, lengths):
    def put(state, length):
        buffer, at = state
        length = jnp.minimum(length, 101 - at)
        buffer = lax.fori_loop(0, length, lambda k, b: b.at[at + k].set(1.0), buffer)  #: unsafe
        return (buffer, at + length), None

    return lax.scan(put, (buffer, 0), lengths)[0]


@case(f32(101), i32(20, min=0, max=30))
def where_the_next_would_go(places, lengths):
    def put(at, length):
        return at + jnp.minimum(length, 100 - at), places[at]  #: safe

    return lax.scan(put, 0, lengths)


@case(f32(101), i32(20, min=0, max=30))
def where_the_next_would_go_by_another_place(places, lengths):
    def put(state, length):
        at, other = state
        return (at + jnp.minimum(length, 100 - other), other + 1), places[at]  #: unsafe

    return lax.scan(put, (0, 0), lengths)


@case(f32(101), i32(20, min=-30, max=0))
def taken_as_long_as_there_is_some(places, lengths):
    def take(left, length):
        return jnp.maximum(length, 0 - left) + left, places[left]  #: safe

    return lax.scan(take, 100, lengths)


@case(f32(8), f32(20))
def peaks_into_too_few_places(out, x):
    def look(state, i):
        k, out = state
        peak = (x[i] > x[jnp.maximum(i - 1, 0)]) & (x[i] > x[jnp.minimum(i + 1, 19)])  #: safe
        return (k + peak, jnp.where(peak & (k <= 8), out.at[k].set(x[i]), out)), None  #: safe unsafe

    return lax.scan(look, (0, out), jnp.arange(20))[0]
