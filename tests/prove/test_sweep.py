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
