"""Does how often a loop runs hang on what an access yields? Then that is seen: the loop may not end.

Lanes of a batched loop that are done go through its body with the others, and what they make is thrown away. But a
loop in the body goes on as long as any lane does: where its condition is made of what a lane that is done read outside,
`while k != row[i]`, nobody says that it comes to an end. It does where it counts up to what was
read, `fori_loop(0, row[i], …)`, and what an access reads outside is then an element of its array, as in any other lane.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P, children
from redzone.frontend.compat import Literal, open_jaxpr, primitives, scan_counts

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_LT: Final = _P["lt_p"]
_GT: Final = _P["gt_p"]
_CONVERT: Final = _P["convert_element_type_p"]


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
        mode = access.params.get("mode")
        self.is_element = mode is None or mode.name != "FILL_OR_DROP"
        """Whether what it reads outside is an element of its array, and not a number of the program's."""
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
            if not self.is_element or not _counts_up(test, tested, body, first):
                raise _Decides
            # How many rounds there are goes into all that it makes.
            return frozenset(range(len(body.outvars)))
        return made


def _inside(eqn: Any) -> Iterable[Any]:
    return () if eqn.primitive in PLAIN else children(eqn)


def _counts_up(test: Any, tested: int, body: Any, first: int) -> bool:
    """Whether each lane of a loop counts up by 1, below a number that stays what it is: then it comes to an end.

    A loop of a single condition for all lanes is none of them: how long it goes on, all lanes see.
    """
    (goes_on,) = test.outvars
    if type(goes_on) is Literal or not goes_on.aval.shape or not test.eqns:
        return False
    *moved, compared = test.eqns
    given = {v: v for v in test.invars}
    for eqn in moved:
        if eqn.primitive is not _CONVERT or eqn.invars[0].aval.dtype != eqn.outvars[0].aval.dtype:
            return False
        if type(eqn.invars[0]) is not Literal and eqn.invars[0] in given:
            given[eqn.outvars[0]] = given[eqn.invars[0]]
    if (compared.primitive is not _LT and compared.primitive is not _GT) or compared.outvars[0] is not goes_on:
        return False
    below, end = compared.invars if compared.primitive is _LT else compared.invars[::-1]
    places = {v: k - tested for k, v in enumerate(test.invars)}
    counter = -1 if type(below) is Literal else places.get(given.get(below), -1)
    stays = -1 if type(end) is Literal else places.get(given.get(end), -1)
    if counter < 0 or dtype_info(below.aval.dtype).kind not in "iu":
        return False
    if stays >= 0 and body.outvars[stays] is not body.invars[first + stays]:
        return False
    counted, start = body.outvars[counter], body.invars[first + counter]
    return any(eqn.primitive is _ADD and eqn.outvars[0] is counted and _adds_one(eqn, start) for eqn in body.eqns)


def _adds_one(eqn: Any, var: Any) -> bool:
    """Whether an equation adds 1 to a variable."""
    return any(
        one is var and type(other) is Literal and np.all(other.val == 1)
        for one, other in (eqn.invars, eqn.invars[::-1])
    )
