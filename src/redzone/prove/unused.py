"""Accesses of which nothing is ever seen: no result of the program is made from what they yield.

A game that tries a move to see whether it is legal makes a whole state, and looks at the board alone; what it reads to
hash the rest goes nowhere, and the compiler leaves it out. Such a read may leave its array as one may that a select
throws away.

Whatever does more than compute lasts, and so does all that goes into it: callbacks, refs, promises, kernels, foreign
calls, and a `while`, which may not end. Of a loop all is taken to be asked for.
"""

from __future__ import annotations

from typing import Any, Final

from redzone.access.site import Site
from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P, Inventory
from redzone.frontend.compat import Literal, inner_jaxprs, open_jaxpr
from redzone.prove.whole import ACCESSES, COMPUTED

#: What is told of such an access.
UNUSED: Final = "may leave the array, but nothing that the program returns is made from it"


def unused(closed: Any) -> set[int]:
    """The equations, by identity, of which nothing is seen wherever they are run."""
    liveness = _Liveness()
    jaxpr, _ = open_jaxpr(closed)
    liveness.asked(jaxpr, frozenset(range(len(jaxpr.outvars))))
    return liveness.left - liveness.alive


def is_plainly_used(closed: Any, inventory: Inventory, site: Site) -> bool:
    """Whether a result of the program is made of what an access yields by equations and calls around it alone.

    One way there is enough, and most accesses have a short one.
    """
    jaxpr, made = site.home, list(site.eqn.outvars)
    if jaxpr is None:
        return False
    for depth, call in enumerate(site.chain):
        if call.primitive not in CALLS or call.primitive is SHARD_MAP_P or len(jaxpr.outvars) != len(call.outvars):
            return False
        reached = _reached(inventory, jaxpr, made)
        made = [call.outvars[k] for k in reached]
        outer = site.chain[depth + 1] if depth + 1 < len(site.chain) else None
        if outer is not None and outer.primitive not in CALLS:
            return False
        jaxpr, _ = open_jaxpr(closed if outer is None else outer.params[CALLS[outer.primitive]])
    return bool(_reached(inventory, jaxpr, made))


def _reached(inventory: Inventory, jaxpr: Any, made: list[Any]) -> list[int]:
    """Results of a jaxpr that plain equations, accesses and calls make of these values: one at least, if any is."""
    readers, results = inventory.wiring.readers(jaxpr), inventory.wiring.results(jaxpr)
    waiting, seen = list(made), {*made}
    while waiting:
        at = waiting.pop()
        if at in results:
            return [k for k, v in enumerate(jaxpr.outvars) if v is at]
        for eqn, position, _ in readers.get(at, ()):
            primitive, outs = eqn.primitive, eqn.outvars
            if primitive in CALLS and primitive is not SHARD_MAP_P:
                inner, _ = open_jaxpr(eqn.params[CALLS[primitive]])
                if len(inner.invars) != len(eqn.invars) or len(inner.outvars) != len(outs):
                    continue
                outs = [outs[k] for k in _reached(inventory, inner, [inner.invars[position]])]
            elif primitive not in PLAIN and primitive not in ACCESSES:
                continue
            for v in outs:
                if v not in seen:
                    seen.add(v)
                    waiting.append(v)
    return []


class _Liveness:
    """Goes backward through a program, and into what it runs, by the results that are asked for."""

    def __init__(self) -> None:
        self.alive: set[int] = set()
        self.left: set[int] = set()
        """What some run has no use for."""
        self.known: dict[tuple[int, frozenset[int]], frozenset[int]] = {}
        self.lasts: dict[int, bool] = {}
        self.keep: list[Any] = []
        """The jaxprs looked at, so that the identity of each stays its own."""

    def asked(self, jaxpr: Any, results: frozenset[int]) -> frozenset[int]:
        """The inputs that these results of a jaxpr are made from, by position."""
        key = (id(jaxpr), results)
        known = self.known.get(key)
        if known is not None:
            return known
        self.keep.append(jaxpr)
        yielded, alive = jaxpr.outvars, self.alive
        needed = {yielded[i] for i in results if type(yielded[i]) is not Literal}
        for eqn in reversed(jaxpr.eqns):
            given, outvars = eqn.invars, eqn.outvars
            if eqn.primitive in PLAIN and len(outvars) == 1 and outvars[0] in needed:
                alive.add(id(eqn))
                for v in given:
                    if type(v) is not Literal:
                        needed.add(v)
                continue
            outs = frozenset([i for i, v in enumerate(outvars) if v in needed])
            if not outs and not self.is_lasting(eqn):
                self.bury(eqn)
                continue
            alive.add(id(eqn))
            read = self.inside(eqn, outs)
            needed.update([v for k, v in enumerate(given) if type(v) is not Literal and (read is None or k in read)])
        found = self.known[key] = frozenset([k for k, v in enumerate(jaxpr.invars) if v in needed])
        return found

    def inside(self, eqn: Any, outs: frozenset[int]) -> set[int] | None:
        """The operands that an equation reads for some of its results; None for all."""
        primitive = eqn.primitive
        if primitive in CALLS and primitive is not SHARD_MAP_P:
            inner, _ = open_jaxpr(eqn.params[CALLS[primitive]])
            if len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars):
                return {*self.asked(inner, outs)}
        if primitive is COND_P:
            read = {0}
            for branch in eqn.params["branches"]:
                read |= {1 + k for k in self.asked(open_jaxpr(branch)[0], outs)}
            return read
        for closed in inner_jaxprs(eqn.params):
            inner, _ = open_jaxpr(closed)
            self.asked(inner, frozenset(range(len(inner.outvars))))
        return None

    def is_lasting(self, eqn: Any) -> bool:
        """Whether an equation does more than compute, or may not end, or runs what does."""
        primitive = eqn.primitive
        if eqn.effects or primitive is WHILE_P or primitive is SHARD_MAP_P:
            return True
        if primitive not in CALLS and primitive is not COND_P and primitive is not SCAN_P:
            return primitive not in COMPUTED
        key = CALLS.get(primitive)
        if key is not None:
            return self.has_lasting(open_jaxpr(eqn.params[key])[0])
        return any(self.has_lasting(open_jaxpr(closed)[0]) for closed in inner_jaxprs(eqn.params))

    def has_lasting(self, jaxpr: Any) -> bool:
        known = self.lasts.get(id(jaxpr))
        if known is None:
            self.keep.append(jaxpr)
            known = self.lasts[id(jaxpr)] = any(self.is_lasting(eqn) for eqn in jaxpr.eqns)
        return known

    def bury(self, eqn: Any) -> None:
        """Note that an equation, and all that it runs, is of no use here."""
        if id(eqn) not in self.left:
            self.left.add(id(eqn))
            if eqn.primitive in PLAIN:
                return
            for closed in inner_jaxprs(eqn.params):
                for inner in open_jaxpr(closed)[0].eqns:
                    self.bury(inner)
