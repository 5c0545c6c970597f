"""What inputs must keep: a range of one, or of a sum of several, written as people write it."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Condition:
    """A range that one input must keep for an access to stay in bounds.

    `min` and `max` are numbers, or tuples of (place, min, max) where different parts of the
    argument have different ranges; None means that side is free.
    """

    argument: str
    leaf: int
    min: Any
    max: Any
    where: str = ""
    terms: tuple[tuple[int, str, int], ...] = ()
    """For a relation between inputs: (factor, element, leaf) of each term of the sum that `min` and `max` bound."""
    letters: tuple[str, ...] = ()
    """For a relation between elements: the positions that vary in it, which holds for all of them."""

    text: str = dataclasses.field(default="", compare=False)
    """How it was written where it was found; empty to write it from the rest."""

    @property
    def leaves(self) -> tuple[int, ...]:
        """The inputs it speaks of, each once, by their place among the flat inputs."""
        return tuple(dict.fromkeys(leaf for *_, leaf in self.terms)) if self.terms else (self.leaf,)

    def __str__(self) -> str:
        if self.text:
            return self.text
        text = self._one_sided() if self.terms and (self.min is None or self.max is None) else self._two_sided()
        return f"for all {', '.join(self.letters)}: {text}" if self.letters else text

    def _two_sided(self) -> str:
        name = self.argument + self.where
        if self.min is None:
            return f"{name} ≤ {self.max}"
        if self.max is None:
            return f"{self.min} ≤ {name}"
        return f"{self.min} ≤ {name} ≤ {self.max}"

    def _one_sided(self) -> str:
        """A relation as people write it: every term on the side where it is added, `start + 16 ≤ size`."""
        flip = 1 if self.min is None else -1
        bound = flip * (self.max if self.min is None else self.min)
        left = [(flip * k, name) for k, name, _ in self.terms if flip * k > 0]
        right = [(-flip * k, name) for k, name, _ in self.terms if flip * k < 0]
        if bound < 0 and left:
            return f"{_sum_of(left, -bound)} ≤ {_sum_of(right, 0)}"
        return f"{_sum_of(left, 0)} ≤ {_sum_of(right, bound)}" if left else f"{-bound} ≤ {_sum_of(right, 0)}"


def _sum_of(terms: list[tuple[int, str]], number: int) -> str:
    parts = [name if factor == 1 else f"{factor}·{name}" for factor, name in terms]
    return " + ".join([*parts, str(number)] if number or not parts else parts)
