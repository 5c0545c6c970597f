"""Conditions as people write them, and one cause for everything that one input decides."""

from __future__ import annotations

import pytest
from jax import export

from redzone.report.causes import causes_of
from redzone.report.model import Condition
from tests.report.samples import requires


def relation(
    low: int | None, high: int | None, *terms: tuple[int, str, int], letters: tuple[str, ...] = ()
) -> Condition:
    return Condition("sum", terms[0][2], low, high, "", terms, letters)


S, T = (1, "s", 1), (1, "t", 2)


@pytest.mark.parametrize(
    ("condition", "text"),
    [
        (Condition("i", 0, 0, 9), "0 ≤ i ≤ 9"),
        (Condition("i", 0, None, 9, "[3]"), "i[3] ≤ 9"),
        (Condition("i", 0, 0, None), "0 ≤ i"),
        (Condition("s + t", 1, -10, 9, "", (S, T)), "-10 ≤ s + t ≤ 9"),
        (relation(None, 9, S, T), "s + t ≤ 9"),
        (relation(0, None, S, T), "0 ≤ s + t"),
        (relation(None, -16, S, (-1, "t", 2)), "s + 16 ≤ t"),
        (relation(None, 0, S, (-1, "t", 2)), "s ≤ t"),
        (relation(None, 5, S, (-1, "t", 2)), "s ≤ t + 5"),
        (relation(16, None, S, (-1, "t", 2)), "t + 16 ≤ s"),
        (relation(-5, None, S, (-2, "t", 2)), "2·t ≤ s + 5"),
        (relation(-5, None, S, T), "-5 ≤ s + t"),
        (relation(None, -5, S, T), "s + t + 5 ≤ 0"),
        (
            relation(None, 100, (1, "starts[i]", 1), (1, "lengths[i]", 2), letters=("i",)),
            "for all i: starts[i] + lengths[i] ≤ 100",
        ),
    ],
)
def test_conditions_read_as_people_write_them(condition: Condition, text: str) -> None:
    assert str(condition) == text


def of(*conditions: Condition) -> list[str]:
    return [str(c.condition) for c in causes_of([requires(requires=(c,)) for c in conditions], ())]


def test_a_cause_is_what_all_accesses_together_require() -> None:
    assert of(Condition("i", 0, 0, 9), Condition("i", 0, -3, 5), Condition("j", 1, 0, None)) == ["0 ≤ i ≤ 5", "0 ≤ j"]
    assert of(relation(None, 9, S, T), relation(-1, 12, S, T)) == ["-1 ≤ sum ≤ 9"]


def test_what_excludes_each_other_stays_apart() -> None:
    assert of(Condition("i", 0, 0, 9), Condition("i", 0, -9, -1)) == ["0 ≤ i ≤ 9", "-9 ≤ i ≤ -1"]


def test_parts_of_an_input_are_causes_of_their_own() -> None:
    assert of(Condition("i", 0, 0, 9, "[0]"), Condition("i", 0, 0, 9, "[1]")) == ["0 ≤ i[0] ≤ 9", "0 ≤ i[1] ≤ 9"]


def test_sizes_that_cannot_be_compared_stay_apart() -> None:
    n, m = export.symbolic_shape("n, m")
    assert of(Condition("i", 0, 0, n - 1), Condition("i", 0, 0, m - 1)) == ["0 ≤ i ≤ n - 1", "0 ≤ i ≤ m - 1"]
    assert of(Condition("i", 0, 0, n - 1), Condition("i", 0, 0, n - 2)) == ["0 ≤ i ≤ n - 2"]


def test_a_suppressed_access_causes_nothing() -> None:
    assert causes_of([requires(suppressed=True)], ()) == ()


def test_the_arguments_are_named() -> None:
    one = requires(requires=(relation(None, 9, S, T),))
    (cause,) = causes_of([one, one], ("x: argument 1", "s: argument 2", "t: argument 3"))
    assert str(cause) == "s + t ≤ 9   (s: argument 2, t: argument 3)"
    assert cause.accesses == (one,)
    assert "redzone.assume" in cause.fix
