"""Accesses that no input has a say in: one run of the program says where they are.

The places of a butterfly, `k // half * 2 * half + k % half`, hang on the counters of loops alone, and so does whether
they are reached. Then each run does the same, and what a replay finds is what every run does: if it comes to its end,
and meets the access nowhere but inside, the access is inside.

That holds of integers, which numpy computes as XLA does. A float on the way, or a random key, and nothing is said: a
compiler may round a float otherwise. Nor is anything said of what may be another number on another machine, as a
quotient by zero or what is written to a place twice that was promised to be written once; nor where something on the
way could not be run: a branch or a loop that nobody knows the condition of, devices of which only some are run, a
promise.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.domains import dtype_info
from redzone.engine.inventory import COND_P, SCAN_P, WHILE_P
from redzone.frontend.compat import primitives
from redzone.prove.concrete import listing
from redzone.prove.purse import GaveUp, Purse
from redzone.prove.replay import Replay
from redzone.prove.replay_demand import elements_of
from redzone.prove.replay_plan import Plan
from redzone.prove.untouched import Untouched

#: What such a run may cost.
COST: Final = 16_000
#: How many elements an array may have that is computed.
FEW: Final = 4096
#: How many accesses are looked at one by one, where a run for all of them tells nothing.
ONE_BY_ONE: Final = 4
#: Equations whose operands are handed on to what they run, which is looked at by itself.
_AROUND: Final = frozenset((COND_P, SCAN_P, WHILE_P))
_QUOTIENTS: Final = frozenset(primitives()[name] for name in ("div_p", "rem_p"))


def inside_alone(closed: Any, sites: Sequence[Site]) -> list[Site]:
    """Those of some accesses that no input has a say in, and that are inside."""
    sites = Untouched(closed, sites).found() if sites else []
    found = Alone(closed, sites).all_inside() if sites else []
    if found or len(sites) < 2:
        return found
    # Of one of them it may not be known where it is, or too late.
    return [site for site in sites[:ONE_BY_ONE] if Alone(closed, [site]).all_inside()]


class Alone(Replay):
    """A run of a program that asks for no input, and gives up where it cannot follow."""

    def __init__(self, closed: Any, sites: Sequence[Site]) -> None:
        super().__init__(closed, sites, Purse(COST, compiles=False, each=COST))
        self.ended = False
        """Whether the run came to its end."""

    def all_inside(self) -> list[Site]:
        """The accesses that are inside in every run, since they are in the only one there is."""
        if self.assumes or self.needed():
            return []
        # What nothing is asked of is unknown: so is whatever should be made of it after all.
        found = self.attempt([None] * len(self.jaxpr.invars))
        return [site for key, site in self.targets.items() if key not in found] if self.ended else []

    def run(self, plan: Plan, arguments: list[Any]) -> list[Any]:
        results = super().run(plan, arguments)
        # Of the runs of its parts, that of the program itself ends last.
        self.ended = plan.of[0] is self.jaxpr
        return results

    def plan(self, jaxpr: Any, consts: Any, outs: frozenset[int]) -> Plan:
        plan = super().plan(jaxpr, consts, outs)
        if not _is_exact(plan):
            raise GaveUp
        return plan

    def way(self, eqn: Any) -> tuple[Site | None, Any, Any, Any]:
        found = super().way(eqn)
        if eqn.primitive not in _QUOTIENTS:
            return found
        site, single, function, missing = found
        return site, None, _unless_by_zero(function if single is None else listing(single)), missing

    def plainly(self, arguments: list[Any]) -> list[Any]:
        return arguments

    def not_known(self, site: Site) -> None:
        raise GaveUp

    def unfollowed(self, eqn: Any) -> list[Any]:
        raise GaveUp

    def shards(self, eqn: Any, inputs: list[Any], outs: frozenset[int]) -> list[Any]:
        raise GaveUp


def _unless_by_zero(function: Callable[[list[Any]], Any] | None) -> Callable[[list[Any]], Any] | None:
    """A division that is given up where a machine may make anything of it."""
    if function is None:
        return None

    def divided(values: list[Any]) -> Any:
        if not np.all(values[1]):
            raise GaveUp
        return function(values)

    return divided


def _is_exact(plan: Plan) -> bool:
    """Whether all that is computed is integers and bools, and few of them, and what is written alike everywhere."""
    for eqn, mine, *_ in plan.steps:
        if not mine:
            continue
        if eqn.params.get("unique_indices") and math.prod(eqn.invars[1].aval.shape[:-1]) > 1:
            # Of places that are told to differ, and don't, it may take any.
            return False
        values = [eqn.outvars[i] for i in mine]
        if eqn.primitive not in _AROUND:
            values += eqn.invars
        if any(dtype_info(getattr(v.aval, "dtype", None)).kind not in "biu" for v in values):
            return False
        if any(elements_of(v.aval) > FEW for v in values):
            return False
    return True
