"""Does how often a loop runs hang on what an access yields? Then that is seen: the loop may not end.

Lanes of a batched loop that are done go through its body with the others, and what they make is thrown away. But a
loop in the body goes on as long as any lane does: where its condition is made of what a lane that is done read outside,
`fori_loop(row[i], row[i + 1], …)`, nobody says that it comes to an end.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P, children
from redzone.frontend.compat import Literal, open_jaxpr, scan_counts


class _Decides(Exception):
    """Whether some loop goes on is made of what the access yields, or nobody knows whether it is."""


def decides_rounds(loop: Any, access: Any) -> bool:
    """Whether how often a loop in the body of a while runs may hang on what an access in there yields."""
    body = open_jaxpr(loop.params["body_jaxpr"])[0]
    walk = _Walk(access)
    if not walk.has_loop(body):
        return False
    try:
        walk.through(body, frozenset())
    except _Decides:
        return True
    return False


class _Walk:
    """Follows what an access yields through a jaxpr and all that this runs."""

    def __init__(self, access: Any) -> None:
        self.access = access
        self.known: dict[tuple[int, frozenset[int]], frozenset[int]] = {}
        """By jaxpr and those of its inputs that are made of it: the results that are."""
        self.holding: dict[int, bool] = {}
        self.looping: dict[int, bool] = {}

    def holds(self, jaxpr: Any) -> bool:
        """Whether the access is somewhere in a jaxpr."""
        known = self.holding.get(id(jaxpr))
        if known is None:
            known = any(eqn is self.access or any(map(self.holds, _inside(eqn))) for eqn in jaxpr.eqns)
            self.holding[id(jaxpr)] = known
        return known

    def has_loop(self, jaxpr: Any) -> bool:
        """Whether anything in a jaxpr runs as often as a condition says."""
        known = self.looping.get(id(jaxpr))
        if known is None:
            known = any(eqn.primitive is WHILE_P or any(map(self.has_loop, _inside(eqn))) for eqn in jaxpr.eqns)
            self.looping[id(jaxpr)] = known
        return known

    def through(self, jaxpr: Any, given: frozenset[int]) -> frozenset[int]:
        """The results that are made of what the access yields, given which inputs are."""
        if not given and not self.holds(jaxpr):
            return frozenset()
        key = (id(jaxpr), given)
        known = self.known.get(key)
        if known is None:
            made = {jaxpr.invars[k] for k in given}
            for eqn in jaxpr.eqns:
                mine = frozenset([k for k, v in enumerate(eqn.invars) if type(v) is not Literal and v in made])
                made.update([eqn.outvars[k] for k in self.after(eqn, mine)])
            found = [k for k, v in enumerate(jaxpr.outvars) if type(v) is not Literal and v in made]
            known = self.known[key] = frozenset(found)
        return known

    def after(self, eqn: Any, given: frozenset[int]) -> Iterable[int]:
        """The same of an equation."""
        primitive, params = eqn.primitive, eqn.params
        if not given and eqn is not self.access and not any(map(self.holds, _inside(eqn))):
            return ()
        if primitive in CALLS and primitive is not SHARD_MAP_P:
            inner = open_jaxpr(params[CALLS[primitive]])[0]
            if len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars):
                return self.through(inner, given)
        elif primitive is COND_P:
            taken = frozenset([k - 1 for k in given if k])
            found = [self.through(open_jaxpr(branch)[0], taken) for branch in params["branches"]]
            return range(len(eqn.outvars)) if 0 in given else frozenset().union(*found)
        elif primitive is SCAN_P:
            first, count = scan_counts(params)
            return self.at_rest(open_jaxpr(params["jaxpr"])[0], given, first, count)
        elif primitive is WHILE_P:
            return self.loop(params, given)
        if any(map(self.has_loop, _inside(eqn))):
            raise _Decides
        return range(len(eqn.outvars))

    def at_rest(self, body: Any, given: frozenset[int], first: int, count: int) -> frozenset[int]:
        """The results of a loop's body, whose carries are so many inputs from the first on, in any iteration."""
        while True:
            made = self.through(body, given)
            more = given | {first + k for k in made if k < count}
            if more == given:
                return made | {k - first for k in given if first <= k < first + count}
            given = more

    def loop(self, params: dict[str, Any], given: frozenset[int]) -> frozenset[int]:
        test, body = (open_jaxpr(params[name])[0] for name in ("cond_jaxpr", "body_jaxpr"))
        tested, first = params["cond_nconsts"], params["body_nconsts"]
        inside = frozenset([k - tested for k in given if k >= tested])
        made = self.at_rest(body, inside, first, len(body.outvars))
        if self.through(test, frozenset([k for k in given if k < tested]).union([tested + k for k in made])):
            raise _Decides
        return made


def _inside(eqn: Any) -> Iterable[Any]:
    return () if eqn.primitive in PLAIN else children(eqn)
