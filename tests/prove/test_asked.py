"""What is asked under conditions: not what would not be believed, and nothing of accesses that have their answer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax.numpy as jnp

import redzone
from redzone.stages import recording
from tests.prove.test_states import _moved

FOUR = redzone.Spec((4,), "int32")


class Heard:
    """The recorded calls, with their arguments."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, tuple[Any, ...]]] = []

    def begin(self, name: str, stage: bool, args: tuple[Any, ...]) -> None:
        self.calls.append((name, args))

    def end(self, result: Any) -> None: ...

    def step(self, step: Any) -> None: ...

    def stepped(self, step: Any) -> None: ...

    def body(self, program: Any) -> None: ...

    def validated(self) -> list[Sequence[int]]:
        """The accesses of each run under conditions."""
        return [args[2] for name, args in self.calls if name == "validate"]


def heard(function: Any, *arguments: Any) -> tuple[Heard, redzone.Report]:
    recorder = Heard()
    with recording(recorder):
        return recorder, redzone.check(function, *arguments)


def test_conditions_on_other_inputs_are_tried_together() -> None:
    def reads(x: Any, i: Any, j: Any) -> Any:
        return x[jnp.sort(i)[0]] + x[jnp.sort(j)[0]]

    calls, report = heard(reads, redzone.Spec((10,), "float32"), FOUR, FOUR)
    first, second = report.accesses
    assert [sorted(sites) for sites in calls.validated()] == [sorted((id(first.eqn), id(second.eqn)))]
    assert [str(*access.requires) for access in report.accesses] == ["-10 ≤ i ≤ 9", "-10 ≤ j ≤ 9"]


def test_an_access_of_which_others_ask_less_is_not_tried_together_with_them() -> None:
    def reads(x: Any, i: Any, j: Any) -> Any:
        order = jnp.sort(i)
        return x[order[0]] + x[order[1] * 2] + x[jnp.sort(j)[0]]

    calls, report = heard(reads, redzone.Spec((10,), "float32"), FOUR, FOUR)
    wide, *others = (id(access.eqn) for access in report.accesses)
    together, *alone = calls.validated()
    assert sorted(together) == sorted(others)
    assert all(list(sites) == [wide] for sites in alone)
    assert [str(*access.requires) for access in report.accesses] == ["-10 ≤ i ≤ 9", "-5 ≤ i ≤ 4", "-10 ≤ j ≤ 9"]


def test_an_access_that_was_seen_to_leave_is_asked_no_more() -> None:
    given = (redzone.Spec((12, 3), "int32"), redzone.Spec((), "int32"), redzone.Spec((), "float32"))
    calls, report = heard(_moved, *given)
    leaving = {id(access.eqn) for access in report.accesses if access.verdict == "unsafe"}
    assert leaving
    (at,) = [k for k, (name, _) in enumerate(calls.calls) if name == "states"]
    later = [args[2] for name, args in calls.calls[at:] if name == "validate"]
    assert not any(leaving.intersection(sites) for sites in later)
