"""The carries that a loop's body is bound to read, found before the body is sliced.

Which carries matter is only known when the body is sliced, and what they are made from may need others: each time the
body is sliced again. Most of that can be told from the equations alone: behind an access, and behind a carry that
matters, equations whose rule looks at all of their operands ask for them in any case. Where that cannot be told,
nothing is said, so that no carry is named that slicing would not ask for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import dtype_info
from redzone.engine import windows
from redzone.engine.idioms import idiom_of
from redzone.engine.implementation import implementation
from redzone.engine.inventory import AXIS_INDEX_P, CALLS, COND_P, SCAN_P, SHARD_MAP_P, SPECIAL, WHILE_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives, scan_counts
from redzone.rules import RULES

if TYPE_CHECKING:
    from redzone.engine.frames import Slicing

_GET_P: Final = primitives().get("get_p")


def carries_read(slicer: Slicing, jaxpr: Any, asked: set[int], first: int, end: int) -> set[int]:
    """The results asked for of a loop's body, and carries that matter for them and for its accesses.

    The carries are its inputs from `first` to before `end`.
    """
    reading = _Reading(slicer, jaxpr, first, end)
    reading.results(asked)
    reading.read(reading.accessed())
    return reading.wanted


class _Reading:
    """What one jaxpr, in one place of the program, is bound to read."""

    __slots__ = ("end", "first", "inner", "jaxpr", "places", "reached", "slicer", "wanted")

    def __init__(self, slicer: Slicing, jaxpr: Any, first: int = 0, end: int = 0) -> None:
        self.slicer = slicer
        self.jaxpr = jaxpr
        self.first = first
        self.end = end
        self.places = {v: i for i, v in enumerate(jaxpr.invars)}
        self.reached: set[Any] = set()
        self.wanted: set[int] = set()
        self.inner: dict[int, tuple[_Reading, ...]] = {}
        """By identity of an equation: the jaxprs inside it."""

    def results(self, asked: Iterable[int]) -> list[int]:
        """The inputs that are read for these results and were not read before."""
        new = [i for i in asked if i not in self.wanted]
        self.wanted.update(new)
        outvars = self.jaxpr.outvars
        return self.read([outvars[i] for i in new])

    def read(self, waiting: list[Any]) -> list[int]:
        """The inputs that are read for these atoms and were not read before; carries are followed around."""
        found, reached, places = [], self.reached, self.places
        made = self.slicer.inventory.wiring.made(self.jaxpr) if waiting else {}
        while waiting:
            atom = waiting.pop()
            if type(atom) is Literal or atom in reached:
                continue
            reached.add(atom)
            place = places.get(atom)
            if place is None:
                maker = made.get(atom)
                if maker is not None:
                    waiting += self.operands(maker[1], atom)
                continue
            found.append(place)
            result = place - self.first
            if self.first <= place < self.end and result not in self.wanted:
                self.wanted.add(result)
                waiting.append(self.jaxpr.outvars[result])
        return found

    def accessed(self) -> list[Any]:
        """What the accesses ask for."""
        inventory, only, eqns = self.slicer.inventory, self.slicer.only, self.jaxpr.eqns
        found: list[Any] = []
        for at in inventory.busy.get(id(self.jaxpr), ()):
            eqn = eqns[at]
            site = inventory.sites.get(id(eqn))
            if site is None:
                found += self.within(eqn, None)
            elif only is None or id(eqn) in only:
                found += [eqn.invars[c.operand] for c in site.columns]
        return found

    def operands(self, eqn: Any, atom: Any) -> list[Any]:
        """The operands that an equation needs for its result in any case."""
        primitive, invars = eqn.primitive, eqn.invars
        if primitive is _GET_P:
            return []
        if primitive in windows.PARTS and windows.is_followed(invars[0].aval) and windows.is_followed(atom.aval):
            # A part of an array is followed to where it was written; one that is not is taken from the whole array.
            made = None if type(invars[0]) is Literal else self.slicer.inventory.wiring.maker(self.jaxpr, invars[0])
            return [] if made is None or windows.may_follow(made) else [invars[0]]
        rule = RULES.get(primitive)
        if rule is None:
            return self.within(eqn, eqn.outvars.index(atom))
        needs = rule.needs
        if needs == "all":
            # A float of which nothing is known needs nothing.
            return invars if rule.floats or dtype_info(eqn.outvars[0].aval.dtype).integral else []
        if needs == "given":
            return [a for a in invars if dtype_info(getattr(a.aval, "dtype", None)).integral]
        return [] if needs == "none" else [a for i, a in enumerate(invars) if i in needs]

    def within(self, eqn: Any, result: int | None) -> list[Any]:
        """The operands that the jaxprs inside an equation are bound to read for its result, or for their accesses."""
        known = self.inner.get(id(eqn))
        if known is None:
            known = self.inner[id(eqn)] = self.opened(eqn, result)
        primitive, invars, params = eqn.primitive, eqn.invars, eqn.params
        if primitive is COND_P:
            return [invars[0], *(invars[1 + i] for branch in known for i in branch.more(result))]
        if primitive is SCAN_P:
            first, count = known[0].first, known[0].end - known[0].first
            start = [invars[first + result]] if result is not None and result < count else []
            return start + [invars[i] for i in known[0].more(result)]
        if primitive is WHILE_P:
            body, test = known
            nt, nb = params["cond_nconsts"], params["body_nconsts"]
            start = [] if result is None else [invars[nt + nb + result]]
            tested = test.results((0,))
            start += [invars[i if i < nt else i + nb] for i in tested]
            used = body.results([i - nt for i in tested if i >= nt]) + body.more(result)
            return start + [invars[nt + i] for i in used]
        if result is not None and known and idiom_of(eqn, known[0].jaxpr) is not None:
            return [] if self.slicer.inventory.touches(known[0].jaxpr) else invars
        return [invars[i] for one in known for i in one.more(result)]

    def more(self, result: int | None) -> list[int]:
        return self.read(self.accessed()) if result is None else self.results((result,))

    def opened(self, eqn: Any, result: int | None) -> tuple[_Reading, ...]:
        """The jaxprs inside an equation, where it is known what they are given and what becomes of their results."""
        primitive, params, slicer = eqn.primitive, eqn.params, self.slicer
        if primitive in CALLS:
            inner = open_jaxpr(params[CALLS[primitive]])[0]
            same = len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars)
            return (_Reading(slicer, inner),) if same and primitive is not SHARD_MAP_P else ()
        if primitive is COND_P:
            return tuple(_Reading(slicer, open_jaxpr(branch)[0]) for branch in params["branches"])
        if primitive is SCAN_P:
            first, count = scan_counts(params)
            return (_Reading(slicer, open_jaxpr(params["jaxpr"])[0], first, first + count),)
        if primitive is WHILE_P:
            body, test = open_jaxpr(params["body_jaxpr"])[0], open_jaxpr(params["cond_jaxpr"])[0]
            return (_Reading(slicer, body, params["body_nconsts"], len(body.invars)), _Reading(slicer, test))
        if primitive in SPECIAL or primitive is AXIS_INDEX_P:
            return ()
        if result is None and primitive not in slicer.inventory.written:
            return ()
        written = implementation(eqn)
        return () if written is None else (_Reading(slicer, written[0]),)
