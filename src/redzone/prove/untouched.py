"""Which accesses hang on none of a program's inputs, as far as a plain walk can tell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redzone.access.site import Site
from redzone.access.xla import ACCESSES
from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P, children
from redzone.frontend.compat import Literal, open_jaxpr, scan_counts


class _Settled(Exception):
    """All of the accesses hang on an input: there is nothing more to be told."""


class Untouched:
    """Accesses of a program that hang on none of its inputs, neither where they are nor whether they are reached.

    Told by one walk for all of them, which takes what it does not know to hang on everything. What hangs on an input
    may only become more as it goes on, so that it ends where all of them do; and a jaxpr is gone through once for the
    same inputs, which loops within loops would else give it again in each of their rounds.
    """

    def __init__(self, closed: Any, sites: Sequence[Site]) -> None:
        self.jaxpr, _ = open_jaxpr(closed)
        self.sites = {id(site.eqn): site for site in sites}
        self.met: set[int] = set()
        self.touched: set[int] = set()
        """By identity of their equations, the accesses that were met; and those that hang on an input."""
        self.known: dict[tuple[int, bool, tuple[bool, ...]], tuple[Any, list[bool]]] = {}
        """By identity of a jaxpr, whether it hangs on an input that it runs, and which of its inputs do: the jaxpr,
        which so stays the only one of that identity, and which results do."""

    def found(self) -> list[Site]:
        try:
            self.through(self.jaxpr, [True] * len(self.jaxpr.invars), False)
        except _Settled:
            return []
        return [site for key, site in self.sites.items() if key in self.met and key not in self.touched]

    def through(self, jaxpr: Any, given: Sequence[bool], reached: bool) -> list[bool]:
        """Which results hang on an input, told the same of what a jaxpr is given, and of whether it runs."""
        key = (id(jaxpr), reached, tuple(given))
        known = self.known.get(key)
        if known is not None:
            return known[1]
        hangs = {v for v, so in zip(jaxpr.invars, given, strict=True) if so}
        for eqn in jaxpr.eqns:
            if eqn.primitive in PLAIN:
                for v in eqn.invars:
                    if type(v) is not Literal and v in hangs:
                        hangs.update(eqn.outvars)
                        break
                continue
            before = [type(v) is not Literal and v in hangs for v in eqn.invars]
            after = self.inside(eqn, before, reached)
            hangs.update([v for v, so in zip(eqn.outvars, after, strict=True) if so])
        found = [type(v) is not Literal and v in hangs for v in jaxpr.outvars]
        self.known[key] = (jaxpr, found)
        return found

    def inside(self, eqn: Any, before: list[bool], reached: bool) -> list[bool]:
        primitive, params = eqn.primitive, eqn.params
        if primitive in ACCESSES:
            site = self.sites.get(id(eqn))
            if site is not None:
                self.met.add(id(eqn))
                places = [k for column in site.columns for k in (column.operand, column.also) if k is not None]
                if reached or any(before[k] for k in places):
                    self.touched.add(id(eqn))
                    if len(self.touched) == len(self.sites):
                        raise _Settled
            return [any(before)] * len(eqn.outvars)
        if primitive in CALLS and primitive is not SHARD_MAP_P:
            inner, _ = open_jaxpr(params[CALLS[primitive]])
            if len(inner.invars) == len(before) and len(inner.outvars) == len(eqn.outvars):
                return self.through(inner, before, reached)
        elif primitive is COND_P:
            chosen = reached or before[0]
            branches = [self.through(open_jaxpr(one)[0], before[1:], chosen) for one in params["branches"]]
            return [before[0] or any(some) for some in zip(*branches, strict=True)]
        elif primitive is SCAN_P:
            first, count = scan_counts(params)
            return self.rounds(open_jaxpr(params["jaxpr"])[0], before, first, count, reached)
        elif primitive is WHILE_P:
            return self.loop(eqn, before, reached)
        for jaxpr in children(eqn):
            self.through(jaxpr, [True] * len(jaxpr.invars), True)
        return [True] * len(eqn.outvars)

    def rounds(self, body: Any, given: list[bool], first: int, count: int, reached: bool) -> list[bool]:
        """The same of a loop's body, of which so many inputs are carried from one iteration to the next."""
        given = list(given)
        while True:
            after = self.through(body, given, reached)
            fresh = [i for i in range(count) if after[i] and not given[first + i]]
            if not fresh:
                return [*given[first : first + count], *after[count:]]
            for i in fresh:
                given[first + i] = True

    def loop(self, eqn: Any, before: list[bool], reached: bool) -> list[bool]:
        tested, constants = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        test, body = (open_jaxpr(eqn.params[name])[0] for name in ("cond_jaxpr", "body_jaxpr"))
        mine, given = before[:tested], before[tested:]
        # What hangs on an input at first does so later.
        if not self.through(test, [*mine, *given[constants:]], reached)[0]:
            carried = self.rounds(body, given, constants, len(eqn.outvars), reached)
            if not self.through(test, [*mine, *carried], reached)[0]:
                return carried
        # How often it runs hangs on an input, and so does all that it leaves.
        every = [True] * len(eqn.outvars)
        self.rounds(body, [*given[:constants], *every], constants, len(every), True)
        self.through(test, [*mine, *every], True)
        return every
