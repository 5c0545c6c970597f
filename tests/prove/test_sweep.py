"""Conditions of many accesses, found in one sweep: each gets what was asked for it alone."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
from jax import lax

import redzone

#: More accesses than are walked back from one by one, in a large program.
ROUNDS = 12
BOARD, PIECES = redzone.Spec((8, 8), "float32"), redzone.Spec((8, 8), "int32")
PLACE, NUMBER = redzone.Spec((2,), "int32"), redzone.Spec((), "int32")
WAYS = ((0, 1), (1, 0), (0, -1), (-1, 0))


def told(fn: Any, *args: Any) -> dict[str, tuple[str, ...]]:
    """By line of the source: its verdict, and the conditions on it."""
    report = redzone.check(fn, *args)
    assert report.equations > 600
    return {a.location.text: (str(a.verdict), *map(str, a.requires)) for a in report.accesses}


def moved(place: Any, heading: Any) -> Any:
    """One step, each way a branch of its own."""
    return lax.switch(heading, [lambda p, way=way: p + jnp.array(way) for way in WAYS], place)


def in_a_large_program(values: Any) -> Any:
    """A number made by equations that no index needs."""
    for _ in range(300):
        values = jnp.sin(values) + 1.0
    return values.sum()


def test_an_access_is_not_asked_for_what_another_needs() -> None:
    def step(board: Any, place: Any, heading: Any) -> Any:
        total, new = in_a_large_program(board), moved(place, heading)
        for k in range(ROUNDS):
            total += k * board[new[0], new[1]]
        total += board[heading, 0]
        return total, lax.dynamic_slice(jnp.pad(board, 7), (new[0], new[1]), (15, 15))

    assert told(step, BOARD, PLACE, NUMBER) == {
        "total += k * board[new[0], new[1]]": ("requires", "-7 ≤ place ≤ 6"),
        "total += board[heading, 0]": ("requires", "-8 ≤ heading ≤ 7"),
        # Counted from the end it would have to be less than -7: the start is what is asked for.
        "return total, lax.dynamic_slice(jnp.pad(board, 7), (new[0], new[1]), (15, 15))": (
            "requires",
            "1 ≤ place ≤ 6",
        ),
    }


def test_a_piece_is_looked_up_by_its_size_whatever_its_side() -> None:
    def step(board: Any, place: Any, pieces: Any, heading: Any) -> Any:
        total, new = in_a_large_program(board), moved(place, heading)
        for k in range(ROUNDS):
            total += k * board[jnp.abs(pieces[0, new[1] % 8]), 0]
        return total

    assert set(told(step, BOARD, PLACE, PIECES, NUMBER).values()) == {("requires", "-7 ≤ pieces[0, :] ≤ 7")}


def test_what_accesses_leave_between_them_is_no_condition_where_it_is_one_number() -> None:
    def step(board: Any, place: Any, heading: Any) -> Any:
        total, new = in_a_large_program(board), moved(place, heading)
        for k in range(ROUNDS):
            total += k * board[new[0], new[1]]
        # No place is inside for both of these.
        return (
            total
            + lax.dynamic_slice(board, (new[0] - 6, 0), (1, 1))
            + lax.dynamic_slice(board, (9 - new[0], 0), (1, 1))
        )

    found = told(step, BOARD, PLACE, NUMBER)
    assert found["total += k * board[new[0], new[1]]"] == ("requires", "-7 ≤ place ≤ 6")


def test_what_is_counted_from_the_end_stays_so_beside_other_columns() -> None:
    """Columns of one index vector have limits of their own: each is asked for by its own pair of numbers."""

    def step(board: Any, place: Any, pieces: Any, heading: Any) -> Any:
        total, new = in_a_large_program(board), moved(place, heading)
        for k in range(ROUNDS):
            total += k * board[new[0], new[1]]
        moves, left = jnp.ones((7, 64)), -jnp.flip(pieces.at[new[0] % 8, new[1] % 8].set(0), axis=1).ravel()
        return total, moves[left, jnp.arange(64)]

    found = told(step, BOARD, PLACE, PIECES, NUMBER)
    assert found["return total, moves[left, jnp.arange(64)]"] == ("requires", "-6 ≤ pieces ≤ 7")


def test_inputs_that_others_ask_for_are_no_condition() -> None:
    """What a read finds hangs on where it is; what it finds is all that the next one needs."""

    def step(board: Any, place: Any, pieces: Any, heading: Any) -> Any:
        total, new = in_a_large_program(board), moved(place, heading)
        for k in range(ROUNDS):
            total += k * board[new[0], new[1]]
        names = jnp.ones(5)
        return total, names[pieces[new[0], new[1]]]

    report = told(step, BOARD, PLACE, PIECES, NUMBER)
    assert report["total += k * board[new[0], new[1]]"] == ("requires", "-7 ≤ place ≤ 6")
    # Two accesses are on the line: what is found is looked up last.
    assert report["return total, names[pieces[new[0], new[1]]]"] == ("requires", "-5 ≤ pieces ≤ 4")


def test_each_coordinate_has_limits_of_its_own() -> None:
    def step(board: Any, place: Any, heading: Any) -> Any:
        total, new = in_a_large_program(board), jnp.minimum(moved(place, heading), jnp.array([5, 10]))
        for k in range(ROUNDS):
            ahead = moved(new, heading)
            total += k * board[ahead[0], ahead[1]]
        return total

    found = told(step, redzone.Spec((6, 11), "float32"), PLACE, NUMBER)
    assert found["total += k * board[ahead[0], ahead[1]]"][1:] == ("-4 ≤ place[0] ≤ 3", "-9 ≤ place[1] ≤ 8")
