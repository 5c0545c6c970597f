"""States at the ends of what they may be: conditions kept, every two columns once at opposite ends."""

from __future__ import annotations

import itertools

import jax
import jax.export
import jax.numpy as jnp
import numpy as np

import redzone
from redzone.frontend.trace import trace
from redzone.prove.need import FAR, Need
from redzone.prove.seeking import LARGE
from redzone.prove.states import is_flag, states


def _inputs(*shapes):
    found = trace(lambda *a: a, tuple(jax.ShapeDtypeStruct(s, jnp.int32) for s in shapes), {}).inputs
    return found, [one.fact() for one in found]


def test_every_two_columns_are_once_at_opposite_ends():
    inputs, facts = _inputs((8, 5), ())
    need = Need(np.array([[0, 0, 0, 0, 2]]), np.array([[9, 9, 1, 1, 3]]))
    found = [one[0] for one in states(inputs, facts, {0: need}, 9)]
    for array in found:
        assert array.shape == (8, 5)
        assert (array >= need.lo).all()
        assert (array <= need.hi).all()
    for a, b in itertools.permutations(range(5), 2):
        assert any((x[:, a] == need.hi[0, a]).all() and (x[:, b] == need.lo[0, b]).all() for x in found), (a, b)


def test_what_nothing_is_asked_of_is_one_and_what_counts_from_the_end_is_zero():
    inputs, facts = _inputs((), (), (3,))
    (first, *_) = states(inputs, facts, {0: Need(-10, 9)}, 5)
    assert int(first[1]) == 1
    assert 2 not in first
    assert {int(one[0]) for one in states(inputs, facts, {0: Need(-10, 9)}, 5)} == {0, 9}
    assert {int(one[0]) for one in states(inputs, facts, {0: Need(3, FAR)}, 5)} == {3, 5}


def _moved(state, timer, key):
    """A row of things that move left or right inside a frame of 10, and leave a trail behind them."""
    board = jnp.zeros((10, 10))
    for k in range(12):
        thing = state[k]
        used = thing[2] != 0
        at = jnp.where(used & (timer == 0), thing[0] + 2 * thing[1] - 1, thing[0])
        at = at * (1 - ((at < 0) | (at > 9))) * used
        board = board.at[k % 10, at].set(1.0)
        behind = (at - 1) * thing[1] + (at + 1) * (1 - thing[1])
        board = board.at[k % 10, behind].add(2.0)
        for _ in range(12):
            board = board * key + 1.0
    return board


def test_a_trail_that_leaves_the_board_on_a_state_that_is_fine():
    report = redzone.check(
        _moved, redzone.Spec((12, 3), "int32"), redzone.Spec((), "int32"), redzone.Spec((), "float32")
    )
    verdicts = {}
    for access in report.accesses:
        verdicts.setdefault(access.location.text.strip(), set()).add(str(access.verdict))
    assert verdicts == {
        "board = board.at[k % 10, at].set(1.0)": {"safe"},
        "board = board.at[k % 10, behind].add(2.0)": {"unsafe"},
    }
    for access in report.accesses:
        if str(access.verdict) == "unsafe":
            state = np.asarray(access.witness.arguments[0])
            assert ((state[:, 1] >= 0) & (state[:, 1] <= 1)).all()
            assert access.witness.index[-1] == 10


def test_a_range_that_only_the_access_itself_asks_for_shows_nothing():
    def offsets(x, lengths):
        return x[jnp.cumsum(lengths) - lengths[::-1]]

    report = redzone.check(offsets, redzone.Spec((100,), "float32"), redzone.Spec((10,), "int32"))
    assert [str(a.verdict) for a in report.accesses] == ["requires"]


def test_a_size_is_no_flag():
    n, _ = jax.export.symbolic_shape("n, 3")
    assert is_flag(Need(0, 1))
    assert not is_flag(Need(0, n - 1))


def _walked(state, over, key, size):
    """A player on a board of 8; once the game is over, a path of six steps of two is drawn at random over another."""
    board = jnp.zeros((8, 8)).at[state[0], state[1]].set(1.0)
    shade = board
    for _ in range(300):
        shade = shade * 0.5 + 1.0

    def new():
        path, at = jnp.zeros((size, size)), jnp.zeros((2,), jnp.int32)
        for down in jax.random.randint(key, (6,), 0, 2):
            at = at + jnp.where(down == 1, jnp.array([2, 0]), jnp.array([0, 2]))
            path = path.at[at[0], at[1]].set(1.0)
        return path[:8, :8]

    return jax.lax.cond(over, new, lambda: board), shade


def _verdicts_of_a_walk(size):
    specs = [redzone.Spec((2,), "int32"), redzone.Spec((), "bool"), redzone.Spec((2,), "uint32")]
    report = redzone.check(lambda *args: _walked(*args, size), *specs)
    assert report.equations > LARGE
    found = [str(a.verdict) for a in report.accesses if "path.at" in a.location.text]
    assert len(found) == 6
    return found, report


def test_a_random_path_that_leaves_a_board_is_found_in_a_large_program():
    found, report = _verdicts_of_a_walk(9)
    assert found == ["safe"] * 4 + ["unsafe"] * 2
    for access in report.accesses:
        if str(access.verdict) == "unsafe":
            assert max(access.witness.index) > 8


def test_a_random_path_on_a_board_that_has_room_for_it():
    assert _verdicts_of_a_walk(13)[0] == ["safe"] * 6
