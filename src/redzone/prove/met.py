"""Accesses looked at under the conditions of their uses in the runs that there are already.

What throws away what an access reads is mostly asked for anyway, by whatever is made of it and by other accesses: then
the program that was analysed has the condition, or what it is made of by a few equations, and a run of it is where the
index is looked at. Another slice that asks for the conditions, and another run of that, are for what it does not have.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redzone.engine import Analysis, Seen
from redzone.engine.extended import Extended, is_extendable
from redzone.engine.forward import Context
from redzone.engine.frames import Called, calls_around
from redzone.engine.inlined import Inlined
from redzone.engine.program import Passage, Step
from redzone.prove.exact import Exact
from redzone.prove.seen import INSIDE, Mask, Masked, met_with, place_seen

#: A jaxpr, an equation of it that may throw away what is accessed, its condition, and how that lets it through.
Asked = tuple[Any, Any, Any, Passage]


def placed(
    analysis: Analysis, seen: Sequence[Seen], asked: dict[Called, list[Asked]], exact: Exact
) -> dict[Called, int] | None:
    """Where the index of an access is when somebody sees it; None where its runs do not have all of the conditions.

    `seen` are all ways the access was reached, and `asked` the conditions about it, by the calls that lead to it.
    """
    found: list[tuple[Called, Context, list[Masked]]] = []
    for context in {id(one.context): one.context for one in seen}.values():
        inlined = analysis.inlined.get(id(context.program))
        if inlined is None or inlined.program is not context.program:
            return None
        mine = _steps_of(inlined, next(iter(asked))[0])
        covered = set[int]()
        more = Extended(inlined, context, analysis.inputs)
        masked_by: list[tuple[Called, list[Masked]]] = []
        for key, conditions in asked.items():
            masks = _conditions_in(inlined, more, key, conditions)
            masked = None if masks is None else met_with(key, mine, masks, len(conditions))
            if masked is None:
                return None
            if masked:
                masked_by.append((key, masked))
                covered.update([id(step) for step, _ in masked])
        if len(covered) < len(mine):
            return None
        looked = more.run()
        found += [(key, looked, masked) for key, masked in masked_by]
    if {key for key, _, _ in found} != asked.keys():
        return None
    places: dict[Called, int] = {}
    for key, context, masked in found:
        for one in masked:
            places[key] = min(places.get(key, INSIDE), place_seen(context, one, exact))
    return places


def _steps_of(inlined: Inlined, access: int) -> list[tuple[Step, frozenset[int]]]:
    """The steps of a program that are an access, and the calls that each was inlined from."""
    return [(step, calls_around(frame)) for step, frame in inlined.observed if id(step.eqn) == access]


def _conditions_in(inlined: Inlined, more: Extended, key: Called, conditions: Sequence[Asked]) -> list[Mask] | None:
    """The conditions in a program, wherever their jaxprs were inlined; None where one is not to be had."""
    masks: list[Mask] = []
    may_be_made = is_extendable(inlined.program)
    for frame in inlined.frames:
        here = [one for one in conditions if one[0] is frame.jaxpr]
        if len(here) > 1:
            # As slicing comes to them: what is known of the last says most of those before.
            places = frame.slicer.inventory.wiring.made(frame.jaxpr)
            here.sort(key=lambda one: -places.get(one[1].outvars[0], (0, None))[0])
        for _, _, condition, passage in here:
            slot = more.slot(frame, condition) if may_be_made else inlined.slot(frame, condition)
            if slot < 0:
                return None
            masks.append((key, slot, passage, calls_around(frame)))
    return masks
