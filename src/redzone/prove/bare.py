"""Is what becomes of a value seen whatever any condition says? Asked before it is found out when it is seen.

A value that reaches a result past every select is not masked, and most are like that. One path suffices: the equations
are gone through depth first, each once for all accesses, where `prove/whole.py` would go through all of them for each.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from redzone.engine.inventory import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.prove.related import Relation
from redzone.prove.uses import SCATTERS, Uses
from redzone.prove.whole import COMPUTED, SPREAD

_P: Final = primitives()
_SELECT: Final = _P["select_n_p"]
_AND: Final = _P["and_p"]
_OR: Final = _P["or_p"]
#: A condition made by one of these may be told from the operand.
_TOLD: Final = SPREAD | {_P["not_p"], _P["convert_element_type_p"]}
#: What may hide an operand by another one.
_HIDING: Final = frozenset((_AND, _OR, _P["mul_p"], _P["dot_general_p"]))


class _Seen(Exception):
    """An equation that does more than compute, or that nobody knows, gets it."""


class Bare:
    """What is seen, in the jaxprs asked about, whatever any condition says."""

    def __init__(self, uses: Uses, lanes: bool, alone: bool = False, telling: Relation | None = None) -> None:
        self.uses = uses
        self.lanes = lanes
        """Whether conditions may have a number for each of several lanes, not one for all."""
        self.alone = alone
        """Whether only what goes past every select counts, and past all else that `prove/selected.py` knows to hide."""
        self.telling = telling
        """Of one access: which conditions in its jaxpr say something of its index; no others throw anything away."""
        self.known: dict[int, dict[Any, bool]] = {}
        """By jaxpr, then by variable: whether it is."""
        self.passed: dict[tuple[int, int], list[int]] = {}
        """By jaxpr and input: the results that it reaches so."""

    def is_seen(self, jaxpr: Any, var: Any) -> bool:
        """Whether a value is: False where that cannot be told."""
        known = self.known.setdefault(id(jaxpr), {})
        found = known.get(var)
        if found is not None:
            return found
        ends = self.uses.ends(jaxpr)
        path, ways = [var], list[Iterator[Any]]()
        known[var] = False
        try:
            ways.append(iter(self.next(jaxpr, var)))
            if var in ends and self.leaves(jaxpr, var):
                raise _Seen
            while path:
                for at in ways[-1]:
                    before = known.get(at)
                    if before or (before is None and at in ends and self.leaves(jaxpr, at)):
                        raise _Seen
                    if before is None:
                        known[at] = False
                        path.append(at)
                        ways.append(iter(self.next(jaxpr, at)))
                        break
                else:
                    path.pop()
                    ways.pop()
        except _Seen:
            known.update(dict.fromkeys(path, True))
        return known[var]

    def leaves(self, jaxpr: Any, var: Any) -> bool:
        """Whether a result of a jaxpr is seen by any of those that call it; one that nobody calls is."""
        calls = self.uses.callers(jaxpr)
        outs = [k for k, v in enumerate(jaxpr.outvars) if v is var]
        return not calls or any(self.is_seen(around, call.outvars[k]) for around, call in calls for k in outs)

    def next(self, jaxpr: Any, var: Any) -> list[Any]:
        """What is made of a value by one equation, whatever any condition says."""
        found: list[Any] = []
        for eqn, position, _ in self.uses.readers(jaxpr, var):
            primitive = eqn.primitive
            if self.alone and _may_hide(primitive, position):
                continue
            if primitive is _SELECT:
                if not position or not self.may_be_told(jaxpr, eqn.invars[0]):
                    found.append(eqn.outvars[0])
            elif primitive in (_AND, _OR) and eqn.outvars[0].aval.dtype == bool:
                if not self.may_be_told(jaxpr, eqn.invars[1 - position]):
                    found.append(eqn.outvars[0])
            elif primitive in CALLS and primitive is not SHARD_MAP_P:
                inner, _ = open_jaxpr(eqn.params[CALLS[primitive]])
                if len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars):
                    found += [eqn.outvars[k] for k in self.through(inner, position)]
            elif primitive is COND_P:
                if not position:
                    found += eqn.outvars
            elif primitive is SCAN_P:
                found += [eqn.outvars[k] for k in self.through(open_jaxpr(eqn.params["jaxpr"])[0], position)]
            elif primitive is WHILE_P:
                first = eqn.params["cond_nconsts"]
                if position >= first:
                    body = open_jaxpr(eqn.params["body_jaxpr"])[0]
                    found += [eqn.outvars[k] for k in self.through(body, position - first)]
            elif primitive in COMPUTED and not eqn.effects:
                found += eqn.outvars
            else:
                raise _Seen
        return found

    def through(self, jaxpr: Any, position: int) -> list[int]:
        """The results of a jaxpr that an input of it reaches, whatever any condition says."""
        key = (id(jaxpr), position)
        found = self.passed.get(key)
        if found is None:
            start = jaxpr.invars[position]
            reached, waiting = {start}, [start]
            while waiting:
                fresh = [v for v in self.next(jaxpr, waiting.pop()) if v not in reached]
                reached.update(fresh)
                waiting += fresh
            found = [k for k, v in enumerate(jaxpr.outvars) if type(v) is not Literal and v in reached]
            self.passed[key] = found
        return found

    def may_be_told(self, jaxpr: Any, atom: Any) -> bool:
        """Whether a condition may be made of single numbers, or of what the jaxpr is given; of lanes, of anything."""
        if self.telling is not None and jaxpr is self.telling.jaxpr and not self.telling.holds(atom):
            return False
        while type(atom) is not Literal and atom.aval.shape and not self.lanes:
            made = self.uses.maker(jaxpr, atom)
            if made is None:
                return jaxpr is not self.uses.whole
            primitive = made.primitive
            if primitive in (_AND, _OR) and atom.aval.dtype == bool:
                return any(self.may_be_told(jaxpr, v) for v in made.invars)
            if primitive not in _TOLD:
                return False
            atom = made.invars[0]
        return type(atom) is not Literal


def _may_hide(primitive: Any, position: int) -> bool:
    """Whether an equation may hide an operand: as a case, by a factor or a flag, or by a write outside."""
    if primitive is _SELECT:
        return position > 0
    if primitive in SCATTERS:
        return position == 2
    return primitive in _HIDING
