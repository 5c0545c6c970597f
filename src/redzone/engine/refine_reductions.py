"""What a fact about a reduction, or about arrays put side by side, says of what went into it."""

from __future__ import annotations

from typing import Any

from redzone.domains import Fact, dtype_info, summarised
from redzone.domains.fact import FALSE, TRUE
from redzone.engine.levels import ALL, HERE, ROW, has_elements, spread_back
from redzone.engine.program import SIMPLE, Step
from redzone.engine.refine_elementwise import Elementwise
from redzone.rules.reductions import tells_places


class Reductions(Elementwise):
    """Backward through equations that make one element of many, or put arrays side by side."""

    __slots__ = ()

    def whole(self, step: Step, fact: Fact, level: Any) -> bool:
        """A reduction over one element changes nothing."""
        if step.eqn.params["axes"] and any(
            type(n) is not int or n != 1 for n in (step.eqn.invars[0].aval.shape[a] for a in step.eqn.params["axes"])
        ):
            return False
        if level is ALL or not step.eqn.params["axes"]:
            self.narrow(step.ins[0], summarised(fact), level)
        return True

    def _every(self, step: Step, fact: Fact, level: Any) -> None:
        """All bools are true where their conjunction is. Of integers it is the bits: 3 & 5 is 1."""
        if self.whole(step, fact, level) or dtype_info(step.eqn.invars[0].aval.dtype).kind != "b":
            return
        if fact.step == 0 and fact.lo == 1 and has_elements(step.eqn.invars[0].aval):
            self.narrow_all(step, fact, level)

    def _some(self, step: Step, fact: Fact, level: Any) -> None:
        if self.whole(step, fact, level):
            return
        if fact.step == 0 and fact.lo == 0 and has_elements(step.eqn.invars[0].aval):
            self.narrow_all(step, fact, level)
        elif fact.step == 0 and fact.lo == 1 and level is ALL and has_elements(step.eqn.outvars[0].aval):
            self.some_element(step)

    def some_element(self, step: Step) -> None:
        """Use that some element of a bool array is true: what that says of numbers that are one for all its elements.

        Which element it is nobody knows, so what it says of arrays it says of none of theirs in particular.
        """
        if self.nested or dtype_info(step.eqn.invars[0].aval.dtype).kind != "b":
            return
        there = type(self)(self.program, self.env)
        there.nested, there.known = True, {key: known for key, known in self.known.items() if key[1] is ALL}
        there.looked = self.looked
        there.narrow(step.ins[0], TRUE, HERE)
        there.again()
        for (other, level), learnt in there.known.items():
            if level is ALL and learnt is not self.known.get((other, ALL)):
                self.narrow(other, learnt, ALL)

    def _most(self, step: Step, fact: Fact, level: Any) -> None:
        """No element is above the greatest, unless that is NaN, which one NaN among them makes it."""
        if self.whole(step, fact, level):
            return
        if not fact.nan and has_elements(step.eqn.invars[0].aval):
            old = summarised(self.at(step.ins[0]))
            self.narrow_all(step, Fact(old.lo, summarised(fact).hi, 1, old.nan), level)

    def _least(self, step: Step, fact: Fact, level: Any) -> None:
        """No element is below the least, unless that is NaN."""
        if self.whole(step, fact, level):
            return
        if not fact.nan and has_elements(step.eqn.invars[0].aval):
            old = summarised(self.at(step.ins[0]))
            self.narrow_all(step, Fact(summarised(fact).lo, old.hi, 1, old.nan), level)

    def narrow_all(self, step: Step, fact: Fact, level: Any) -> None:
        """Use that all elements which a reduction makes one element of satisfy a fact."""
        if level is ALL:
            self.narrow(step.ins[0], fact, ALL)
            return
        shape, axes = step.eqn.invars[0].aval.shape, tuple(sorted(step.eqn.params["axes"]))
        self.rows = True
        self.narrow(step.ins[0], fact, (*level, (ROW, shape, axes)))
        inner = spread_back(level, shape, axes)
        if inner is not None:
            self.narrow(step.ins[0], fact, inner)

    def _joined(self, step: Step, fact: Fact, level: Any) -> None:
        """What several arrays are put into, or a row of it, satisfies a fact: so does the part of each."""
        fact = summarised(fact)
        if level is not ALL and (level[-1][0] != ROW or step.eqn.params["dimension"] not in level[-1][2]):
            return
        for slot, v in zip(step.ins, step.eqn.invars, strict=True):
            if has_elements(v.aval):
                self.narrow(slot, fact, ALL if level is ALL else (*level[:-1], (ROW, v.aval.shape, level[-1][2])))

    def _stacked(self, step: Step, fact: Fact, level: Any) -> None:
        """Arrays put side by side, each an element of every row."""
        fact, axis = summarised(fact), step.eqn.params["axis"]
        if level is not ALL and (level[-1][0] != ROW or level[-1][2] != (axis,)):
            return
        for slot, v in zip(step.ins, step.eqn.invars, strict=True):
            if has_elements(v.aval):
                self.narrow(slot, fact, ALL if level is ALL or not v.aval.shape else level[:-1])

    def _first(self, step: Step, fact: Fact, level: Any) -> None:
        """The place of the first of the largest bools put side by side.

        Those before it are smaller, so they are false and it is true; if it is the very first and false, all are.
        """
        parts = self.side_by_side(step, level)
        if parts is None:
            return
        which = summarised(fact)
        lo, hi = int(which.lo), int(which.hi)
        if lo == hi == 0:
            if summarised(self.current(*parts[0])).hi != 0:
                return
            lo, hi = len(parts), -1
        for k, (slot, inner) in enumerate(parts):
            if k < lo:
                self.narrow(slot, FALSE, inner)
            elif k == lo == hi:
                self.narrow(slot, TRUE, inner)

    def side_by_side(self, step: Step, level: Any) -> list[tuple[int, Any]] | None:
        """The bools among which an argmax looks, each with its level; None where they are not one for each place."""
        source, (axis, *more) = step.eqn.invars[0].aval, step.eqn.params["axes"]
        made = self.defs.get(step.ins[0])
        if source.dtype != bool or more or made is None or made.kind != SIMPLE or not tells_places(step.eqn):
            return None
        if level is ALL and not has_elements(step.eqn.outvars[0].aval):
            return None
        name, shape = made.primitive.name, step.eqn.outvars[0].aval.shape
        if name == "stack" and made.eqn.params["axis"] % len(source.shape) == axis:
            return [(slot, level if shape else ALL) for slot in made.ins]
        if name != "concatenate" or made.eqn.params["dimension"] != axis:
            return None
        if any(type(n) is not int or n != 1 for n in (v.aval.shape[axis] for v in made.eqn.invars)):
            return None
        found = []
        kept = tuple(d for d in range(len(source.shape)) if d != axis)
        for slot in made.ins:
            spread = self.defs.get(slot)
            if level is ALL:
                found.append((slot, ALL))
                continue
            if spread is None or spread.kind != SIMPLE or spread.eqn.primitive.name != "broadcast_in_dim":
                return None
            given = spread.eqn.invars[0].aval.shape
            if given and (tuple(spread.eqn.params["broadcast_dimensions"]) != kept or given != shape):
                return None
            found.append((spread.ins[0], level if given else ALL))
        return found
