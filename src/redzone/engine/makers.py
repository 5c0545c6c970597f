"""Which step makes each slot of a program: what a condition is followed back by, and so asked for most."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from redzone.engine.program import Step


class Makers:
    """By slot, the step that makes it; slots are small numbers, so that a list tells it without hashing."""

    __slots__ = ("_steps",)

    def __init__(self) -> None:
        self._steps: list[Step | None] = []

    def get(self, slot: int) -> Step | None:
        """The step that makes a slot; None for inputs, constants, and what is no slot."""
        steps = self._steps
        return steps[slot] if 0 <= slot < len(steps) else None

    def __getitem__(self, slot: int) -> Step:
        """The step that makes a slot of which that is known."""
        step = self.get(slot)
        if step is None:
            raise KeyError(slot)
        return step

    def __setitem__(self, slot: int, step: Step) -> None:
        steps = self._steps
        if slot >= len(steps):
            steps += [None] * (slot + 1 - len(steps))
        steps[slot] = step

    def __contains__(self, slot: int) -> bool:
        return self.get(slot) is not None

    def begin(self, count: int) -> None:
        """Make room for the makers of so many slots."""
        self._steps += [None] * (count - len(self._steps))

    def with_more(self, steps: list[Step]) -> Makers:
        """These, and the steps that make one slot each."""
        found = Makers()
        found._steps = self._steps.copy()
        for step in steps:
            found[step.outs[0]] = step
        return found
