"""Steps of which more is known than their rule says, from how their operands are made: found when one first runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, Protocol

from redzone.domains import Fact
from redzone.engine.filled import filled_up
from redzone.engine.first import first_of
from redzone.engine.idioms import FLOOR_DIVIDE
from redzone.engine.interleaved import interleaved
from redzone.engine.mass import running_sum
from redzone.engine.partition import partition
from redzone.engine.parts import part_of_sum
from redzone.engine.program import Program, Step
from redzone.engine.remaining import remaining
from redzone.engine.rounding import ADDED_ONCE
from redzone.engine.share import share_of
from redzone.frontend.compat import primitives
from redzone.rules import RULES, Rule


class Look(Protocol):
    """What was found out about a step, such as that it is a running sum without the element itself."""

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What the step makes in a run, of which `plain` is what its rule says."""
        ...


#: By rule: what is asked of a step in turn, until something is found.
FINDERS: Final[dict[Rule | None, tuple[Callable[[Program, Step], Look | None], ...]]] = {
    **{RULES[primitives()[name]]: (interleaved,) for name in ("or_p", "xor_p", "max_p", "min_p")},
    ADDED_ONCE: (interleaved,),
    RULES[primitives()["add_p"]]: (interleaved, partition, filled_up),
    RULES[primitives()["sub_p"]]: (running_sum, remaining),
    RULES[primitives()["div_p"]]: (share_of,),
    RULES[primitives()["dynamic_slice_p"]]: (first_of,),
    FLOOR_DIVIDE: (part_of_sum,),
}


def look_at(program: Program, step: Step) -> Look | None:
    """What there is to be known of a step beyond its rule; None where there is nothing."""
    for find in FINDERS.get(step.rule, ()):
        found = find(program, step)
        if found is not None:
            return found
    return None
