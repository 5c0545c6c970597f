"""Does an index in a loop or a branch leave its array also where products are put together with sums?

There no part of the program can be compiled by itself to see where the index gets: a loop is run as a whole. But what a
compiler does to most floats in it is one thing, which can be replayed: a product that goes into a sum is not rounded
by itself. So a witness shows something only if the access leaves in such a replay as well as in one that rounds each.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.domains.fact import NORMAL
from redzone.frontend.compat import primitives
from redzone.prove.purse import COST, GaveUp, Purse
from redzone.prove.replay import Replay
from redzone.prove.replay_demand import plain
from redzone.prove.replay_plan import Evaluation, Plan

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_SUB: Final = _P["sub_p"]
_MUL: Final = _P["mul_p"]
_SINGLE: Final = np.dtype(np.float32)


def puts_together(replay: Replay) -> bool:
    """Whether a replay came upon any product that goes into a sum; where it did not, products fused change nothing."""
    known = replay.adds_products
    for key, plan in replay.plans.items():
        adds = known.get(key)
        if adds is None:
            adds = known[key] = _adds_products(plan)
        if adds:
            return True
    return False


class Fused(Replay):
    """A run in which each product is put together with the sum that it goes into."""

    def __init__(self, closed: Any, sites: Sequence[Site]) -> None:
        super().__init__(closed, sites, Purse(COST, compiles=False))
        self.known: dict[tuple[bytes, ...], tuple[frozenset[int], bool]] = {}
        """By the inputs that lead to the accesses: which of them may leave, and whether that run came to its end."""
        self.fused: dict[int, tuple[Plan, Plan]] = {}
        """By identity of a plan: the plan, and the same with products in sums."""
        self.puts_together = False
        """Whether there was any."""
        self.ended = False
        """Whether the latest run came to its end."""
        self.needed_for: list[int] = []

    def leaves(self, site: Site, arguments: list[Any], cost: int = COST) -> bool | None:
        """Whether one of the accesses, which leaves its array in a replay, does so with products fused, too.

        As far as that can be told: of a run that came to its end, knew each index, and had something to fuse. None
        where it had not left when that had cost so much.
        """
        if not self.needed_for:
            self.needed_for = sorted(self.needed())
        key = tuple([np.asarray(plain(arguments[i])).tobytes() for i in self.needed_for])
        known = self.known.get(key)
        if known is None:
            self.spends(Purse(cost, compiles=False, each=cost))
            self.ended = False
            self.unjudged_at.clear()
            left = frozenset(self.attempt(arguments)) | self.unjudged_at
            if self.ended and not self.puts_together:
                left = frozenset(self.targets)
            known = self.known[key] = left, self.ended
        left, ended = known
        return True if id(site.eqn) in left else False if ended else None

    def run(self, plan: Plan, arguments: list[Any]) -> list[Any]:
        results = super().run(plan, arguments)
        # Of the runs of its parts, that of the program itself ends last.
        self.ended = plan.of[0] is self.jaxpr
        return results

    def plan(self, jaxpr: Any, consts: Any, outs: frozenset[int]) -> Plan:
        plan = super().plan(jaxpr, consts, outs)
        known = self.fused.get(id(plan))
        if known is None:
            known = self.fused[id(plan)] = (plan, Plan(self.together_in(plan), plan.values, plan.results, plan.of))
        return known[1]

    def unfollowed(self, eqn: Any) -> list[Any]:
        raise GaveUp

    def together_in(self, plan: Plan) -> list[Evaluation]:
        """The steps of a plan, its sums made of what their products are made of."""
        products: dict[int, list[int]] = {}
        steps: list[Evaluation] = []
        for step in plan.steps:
            eqn, mine, operands, places, *_ = step
            if eqn.primitive is _MUL and _is_single(eqn):
                products[places[0]] = operands
            elif (eqn.primitive is _ADD or eqn.primitive is _SUB) and _is_single(eqn):
                for k in (0, 1):
                    factors = products.get(operands[k])
                    if factors is not None:
                        signs = (1, 1) if eqn.primitive is _ADD else (1, -1) if k == 0 else (-1, 1)
                        step = (eqn, mine, [*factors, operands[1 - k]], places, None, None, _fused(*signs), None)
                        self.puts_together = True
                        break
            steps.append(step)
        return steps


def _adds_products(plan: Plan) -> bool:
    """Whether a product of a plan goes into one of its sums."""
    products: set[int] = set()
    for step in plan.steps:
        eqn = step[0]
        primitive = eqn.primitive
        if primitive is _MUL:
            products.add(step[3][0])
        elif (primitive is _ADD or primitive is _SUB) and not products.isdisjoint(step[2]) and _is_single(eqn):
            return True
    return False


def _is_single(eqn: Any) -> bool:
    return all(getattr(v.aval, "dtype", None) == _SINGLE for v in (*eqn.invars, *eqn.outvars))


def _fused(product: int, other: int) -> Callable[[list[Any]], list[Any] | None]:
    """A product and another number, with these signs, added up and rounded once; None where anything is subnormal.

    A product of two floats is a double; that the sum is rounded to one first matters at no number but a tie.
    """

    def computed(values: list[Any]) -> list[Any] | None:
        a, b, c = (np.asarray(value, np.float64) for value in values)
        result = np.asarray(product * (a * b) + other * c).astype(_SINGLE)
        if any(np.any((x != 0) & (np.abs(x) < NORMAL)) for x in (a, b, c, result)):
            return None
        return [result]

    return computed
