"""Whether a condition may say something of an index: both are made from one and the same value."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redzone.engine.inventory import CALLS, COND_P, SCAN_P, WHILE_P
from redzone.frontend.compat import Literal, open_jaxpr, scan_counts
from redzone.prove.uses import Uses
from redzone.prove.views import View

_LOOPS: Final = (SCAN_P, WHILE_P)


class _Level:
    """A jaxpr around an access: what its index is made from there, and what the equation around gives to that."""

    __slots__ = ("eqn", "given", "index", "inputs", "jaxpr", "places")

    def __init__(self, uses: Uses, jaxpr: Any, index: int, eqn: Any) -> None:
        self.jaxpr = jaxpr
        self.index = index
        """The values that the index is made from, a bit each."""
        self.eqn = eqn
        self.given: Sequence[Any] | None = None
        """What goes into the jaxpr as it is; None where nobody knows."""
        self.places: list[int] = []
        """The bits of the inputs that it is."""
        self.inputs = uses.behind(jaxpr, jaxpr.invars)
        if eqn is not None:
            self.given, inputs = _given(eqn, jaxpr)
            table = uses.table(jaxpr)
            self.places = [table[v][0] for v in inputs]


class Relation:
    """What conditions in a jaxpr say of an access's index, as that jaxpr knows it."""

    __slots__ = ("chain", "jaxpr", "known", "levels", "uses")

    def __init__(self, uses: Uses, view: View) -> None:
        self.uses = uses
        self.jaxpr = view.jaxpr
        self.chain = view.chain
        self.levels = [self.level(view.jaxpr, uses.behind(view.jaxpr, view.indices), 0)]
        """From the jaxpr outward, as far as somebody asked."""
        self.known: dict[Any, bool] = {}

    def level(self, jaxpr: Any, index: int, depth: int) -> _Level:
        return _Level(self.uses, jaxpr, index, self.chain[depth] if depth < len(self.chain) else None)

    def holds(self, condition: Any) -> bool:
        """Whether a condition may say something of the index."""
        if type(condition) is Literal:
            return False
        found = self.known.get(condition)
        if found is None:
            found = self.known[condition] = self.is_found(condition)
        return found

    def is_found(self, condition: Any) -> bool:
        uses, level = self.uses, self.levels[0]
        said = uses.said_by(self.jaxpr, [condition])
        if not level.index & level.inputs and condition.aval.shape:
            # An index that is made of no input has numbers of its own: the condition need only say which of them count.
            return True
        for depth, eqn in enumerate(self.chain):
            if level.index & said:
                return True
            if eqn.primitive in _LOOPS and _are_carried_beside(uses, eqn, level.jaxpr, level.index, said):
                return True
            if depth == 0 and eqn.primitive in _LOOPS and _is_counted(uses, eqn, self.jaxpr, level.index, condition):
                return True
            if level.given is None:
                return bool(level.inputs & level.index and level.inputs & said)
            # What goes into a function may be made from the same outside it.
            given = list(zip(level.given, level.places, strict=True))
            if depth + 1 == len(self.levels):
                around = uses.holding(self.chain, depth)
                index = uses.behind(around, [a for a, bit in given if bit & level.index])
                self.levels.append(self.level(around, index, depth + 1))
            level = self.levels[depth + 1]
            said = uses.said_by(level.jaxpr, [a for a, bit in given if bit & said])
        return bool(level.index & said)


def _are_carried_beside(uses: Uses, loop: Any, body: Any, index: int, condition: int) -> bool:
    """Whether a condition is made from a flag that a loop carries, and the index from a number that it carries."""
    carried = [(v.aval, uses.table(body)[v][0]) for v, _ in _carried(loop, body)]
    flags = any(bit & condition for aval, bit in carried if aval.shape == () and aval.dtype == bool)
    return flags and any(bit & index for aval, bit in carried if aval.dtype != bool)


def _is_counted(uses: Uses, loop: Any, body: Any, index: int, condition: Any) -> bool:
    """Whether a condition that is read off an array says when a number goes up that the index is made from.

    Where it holds there is something left to mark in the array, and so to count (`engine/spent.py`).
    """
    if condition.aval.shape or condition.aval.dtype != bool:
        return False
    table, carried = uses.table(body), _carried(loop, body)
    behind = uses.behind(body, [condition])
    if not any(v.aval.shape and table[v][0] & behind for v, _ in carried):
        return False
    numbers = [(v, out) for v, out in carried if v.aval.shape == () and v.aval.dtype != bool and table[v][0] & index]
    counted = [out for v, out in numbers if type(out) is not Literal and out is not v]
    return any(table[condition][0] & uses.behind(body, [out]) for out in counted)


def _carried(loop: Any, body: Any) -> list[tuple[Any, Any]]:
    """What a loop's body is given of what it carries, and what it puts in its place; nothing of a loop's condition."""
    scans = loop.primitive is SCAN_P
    if not scans and body is not open_jaxpr(loop.params["body_jaxpr"])[0]:
        return []
    first, count = scan_counts(loop.params) if scans else (loop.params["body_nconsts"], len(loop.outvars))
    return list(zip(body.invars[first : first + count], body.outvars[:count], strict=True))


def _given(eqn: Any, jaxpr: Any) -> tuple[Sequence[Any] | None, Sequence[Any]]:
    """What an equation gives to a jaxpr that it runs, as it is, and to which of its inputs; None where nobody knows."""
    inputs = jaxpr.invars
    if eqn.primitive in _LOOPS:
        # What a loop carries is another value each time.
        if eqn.primitive is SCAN_P:
            first, end = 0, scan_counts(eqn.params)[0]
        elif jaxpr is open_jaxpr(eqn.params["body_jaxpr"])[0]:
            first = eqn.params["cond_nconsts"]
            end = first + eqn.params["body_nconsts"]
        else:
            first, end = 0, eqn.params["cond_nconsts"]
        return eqn.invars[first:end], inputs[: end - first]
    given = eqn.invars[1:] if eqn.primitive is COND_P else eqn.invars
    if (eqn.primitive not in CALLS and eqn.primitive is not COND_P) or len(given) != len(inputs):
        return None, inputs
    return given, inputs
