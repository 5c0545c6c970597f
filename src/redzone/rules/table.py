"""The table from primitive to rule, and how a rule is written.

A rule is a function `rule(eqn, *facts)`: the equation (its `params`, its operands' and results'
`aval`s) and one Fact per operand. It returns the Fact of the result, or a list with one per result.
It must over-approximate: whatever values the operands can hold under their facts, the results lie
inside what the rule returns, under JAX's own semantics (fixed width, wraparound, NaN).

`needs` says which operands a rule looks at, so that nothing behind the others is ever analysed:
"all", "none", "given" (only operands somebody else already asked for), or a tuple of positions.
An operand that was not asked for is passed as what its dtype alone says.
`pointwise` rules compute each element of the result from the same element of each operand.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any, Final

from redzone.domains import Fact, summarised, top
from redzone.frontend.compat import primitives


@dataclasses.dataclass(slots=True, eq=False)
class Rule:
    """How one primitive moves facts forward."""

    apply: Callable[..., Any]
    needs: Any = "all"
    pointwise: bool = False
    moves: bool = False
    """Each element of the result is some element of the one operand; nothing is computed."""
    floats: bool = True
    """Whether anything is known of a float result; if not, nothing is asked of its operands."""
    elsewhere: bool = False
    """Whether its result is made of what other devices hold, too: what is learnt of an operand here is not of that."""
    whole: bool = dataclasses.field(init=False, default=False)
    """Whether it looks at all of its operands."""
    each: bool = dataclasses.field(init=False, default=False)
    """Whether it looks at all of them, or at all that somebody asked for."""

    def __post_init__(self) -> None:
        self.whole = type(self.needs) is str and self.needs == "all"
        self.each = self.whole or (type(self.needs) is str and self.needs == "given")


RULES: Final[dict[Any, Rule]] = {}


def rule(
    *names: str,
    needs: Any = "all",
    pointwise: bool = False,
    moves: bool = False,
    floats: bool = True,
    elsewhere: bool = False,
) -> Callable[[Any], Any]:
    """Register a function as the rule of the primitives bound to these names in JAX, where they exist."""

    def register(function: Any) -> Any:
        for name in names:
            primitive = primitives().get(name)
            if primitive is not None:
                RULES[primitive] = Rule(function, needs, pointwise, moves, floats, elsewhere)
        return function

    return register


def anything(eqn: Any, *facts: Fact) -> Any:
    """Any value of each result's dtype."""
    if len(eqn.outvars) == 1:
        return top_of(eqn.outvars[0])
    return [top_of(v) for v in eqn.outvars]


def top_of(var: Any) -> Fact:
    """Any value of a variable's dtype."""
    return top(getattr(var.aval, "dtype", None))


def _same(_: Any, fact: Fact) -> Fact:
    return fact


def _summary(_: Any, fact: Fact) -> Fact:
    return summarised(fact)


#: The rule of a step that only gives a value another name.
SAME: Final = Rule(_same, pointwise=True)

#: The rule of a step across which only what holds for the whole array survives.
SUMMARY: Final = Rule(_summary)
