"""What a replay of a jaxpr evaluates, in order: every value has a place in a list, calls are taken apart."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from redzone.access.site import Site
from redzone.frontend.compat import Literal

#: An equation that is wanted: which of its results are; the jaxpr and constants that it does nothing but run, if it
#: does; and what is wanted of that.
Kept = tuple[Any, frozenset[int], tuple[Any, Any] | None, "Demand | None"]
#: One equation as a replay meets it: which of its results are wanted; the places of its operands' values and of its
#: results; the access it is, if it is asked about; numpy's way to evaluate it, where there is one and nothing but its
#: operands matters, as a function to its only result and as one to a list; and what it yields of NaN, if of NaN it
#: yields NaN.
Evaluation = tuple[Any, frozenset[int], list[int], list[int], Site | None, Any, Any, Any]


class Demand(NamedTuple):
    """What of one jaxpr is wanted, and the inputs that takes."""

    kept: list[Kept]
    inputs: frozenset[int]
    jaxpr: Any
    """Keeps the jaxpr alive, whose identity stands for it."""


class Plan(NamedTuple):
    """What of one jaxpr is evaluated, those it calls included."""

    steps: list[Evaluation]
    values: list[Any]
    """What is in each place at the beginning: the inputs come first, None in theirs; then constants and results."""
    results: list[int]
    """The places of the jaxpr's results."""
    of: Any
    """Keeps the jaxpr and its constants alive, whose identities stand for them."""


class Slots:
    """The places of a plan that is being made."""

    def __init__(self, inputs: int) -> None:
        self.steps: list[Evaluation] = []
        self.values: list[Any] = [None] * inputs
        self.nothing = self.constant(None)
        """The place of whatever nobody needs."""

    def constant(self, value: Any) -> int:
        """A new place for a value, or for one not known yet."""
        self.values.append(value)
        return len(self.values) - 1

    def of(self, atom: Any, scope: dict[Any, int]) -> int:
        """The place of a literal, or of a variable of this scope."""
        if type(atom) is Literal:
            return self.constant(np.asarray(atom.val, atom.aval.dtype)[()])
        return scope.get(atom, self.nothing)
