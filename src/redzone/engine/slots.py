"""The slots of a program being built: asking for one is what makes the equation behind it part of the program."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, scalar, top
from redzone.engine.definitions import Definition
from redzone.engine.frames import Frame, Slicing, constant_fact
from redzone.engine.known import CUTS, is_known
from redzone.engine.moved import named
from redzone.engine.products import is_one
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import Literal
from redzone.rules import Rule
from redzone.rules.table import SAME, anything

#: How many steps back a float that is compared may be made from literals to be computed.
FOLDED_DEPTH: Final = 6

#: What makes a float of others without rounding it, and says of them what is said of it.
_EXACT: Final = CUTS | named("floor", "ceil", "abs", "neg", "reduce_max", "reduce_min")

#: The rule of what can be any value of its type.
ANYTHING: Final = Rule(anything, "none")


class Slots:
    """A program being built: its steps, from the last to the first, and the slots of the values they read and make."""

    __slots__ = ("frames", "integers", "literals", "observed", "program", "root", "slicer", "steps", "template", "tops")

    def __init__(
        self,
        slicer: Slicing,
        jaxpr: Any,
        consts: tuple[Any, ...],
        same: dict[int, int] | None = None,
        fixed: dict[int, int] | None = None,
        told: dict[int, Definition] | None = None,
    ) -> None:
        self.slicer = slicer
        self.program = Program(jaxpr)
        # A kernel's jaxpr can be open: its constants are given when it runs, and may be anything.
        self.root = Frame(slicer, jaxpr, None, {}, dict(zip(jaxpr.constvars, consts, strict=False)))
        if fixed:
            self.root.consts.update({jaxpr.invars[i]: number for i, number in fixed.items()})
        if same:
            self.root.merge(same)
        if told:
            self.root.told = {jaxpr.invars[k]: one for k, one in told.items()}
        self.frames: list[Frame] = []
        """What was gone through so far."""
        self.observed: list[tuple[Step, Frame]] = []
        """The accesses in there."""
        self.steps: list[Step] = []
        self.template = self.program.template
        self.integers: dict[int, int] = {}
        self.literals: dict[Any, int] = {}
        self.tops: dict[Any, int] = {}

    def new(self, fact: Fact | None = None) -> int:
        template = self.template
        template.append(fact)
        return len(template) - 1

    def slot(self, frame: Frame, atom: Any) -> int:
        """Where an atom's fact is found; asking for it is what makes its equation part of the program."""
        while True:
            if type(atom) is Literal:
                return self.literal(atom)
            found = frame.slots.get(atom)
            if found is not None:
                return found
            outer = frame.bindings.get(atom)
            if outer is None:
                break
            if frame.parent is None:
                raise AssertionError("a bound input without an outer frame")
            frame, atom = frame.parent, outer
        fact, consts = None, frame.consts
        if consts and atom in consts:
            fact = self.slicer.constant(consts[atom])
        elif atom not in frame.inputs:
            frame.pending += 1
        compared = frame.floats.pop(atom, -1) if frame.floats else -1
        if compared >= 0:
            # Comparisons behind this have a slot for it, which is now found out about.
            self.template[compared] = fact
        found = frame.slots[atom] = compared if compared >= 0 else self.new(fact)
        return found

    def literal(self, atom: Any) -> int:
        """A literal is what its type makes of it: 0.1 as float32 is not the double 0.1."""
        value, aval = atom.val, atom.aval
        if getattr(aval, "shape", None) == ():
            info = dtype_info(aval.dtype)
            if info.integral:
                number = int(value)
                found = self.integers.get(number)
                if found is None:
                    found = self.integers[number] = self.new(scalar(number))
                return found
            if info.kind == "f":
                with np.errstate(over="ignore"):
                    value = float(np.asarray(value).astype(aval.dtype))
        if type(value) in (int, bool, float):
            # 0.0 and -0.0 are equal, and what is divided by them is not.
            key = (type(value), value, math.copysign(1.0, value))
            found = self.literals.get(key) if value == value else None
            if found is None:
                found = self.literals[key] = self.new(constant_fact(value))
            return found
        return self.new(self.slicer.constant(value))

    def unasked(self, atom: Any) -> int:
        """A slot that says only what the atom's dtype says."""
        dtype = getattr(atom.aval, "dtype", None)
        found = self.tops.get(dtype)
        if found is None:
            found = self.tops[dtype] = self.new(top(dtype))
        return found

    def emit(self, kind: int, eqn: Any, ins: Any, outs: Any) -> Step:
        step = Step(kind, eqn, tuple(ins), tuple(outs))
        self.steps.append(step)
        return step

    def anything(self, eqn: Any, frame: Frame) -> None:
        outs = [frame.slots.get(v, -1) for v in eqn.outvars]
        self.emit(SIMPLE, eqn, [self.unasked(a) for a in eqn.invars], outs).rule = ANYTHING

    def rename(self, eqn: Any, frame: Frame, atom: Any, slot: int) -> None:
        """Give a value's slot to the atom that it is another name of; a step only where that has one already."""
        frame, atom = frame.outer(atom)
        if type(atom) is Literal or atom in frame.slots or atom in frame.consts or atom in frame.floats:
            self.emit(SIMPLE, eqn, (self.slot(frame, atom),), (slot,)).rule = SAME
        else:
            frame.slots[atom] = slot
            if atom not in frame.inputs:
                frame.pending += 1

    def asked(self, eqn: Any, frame: Frame) -> tuple[int, ...]:
        slots = frame.slots
        return tuple([i for i, v in enumerate(eqn.outvars) if v in slots])

    def is_asked(self, frame: Frame, atom: Any) -> bool:
        at: Frame | None = frame
        while at is not None:
            if atom in at.slots or atom in at.consts:
                return True
            atom = at.bindings.get(atom)
            if atom is None or type(atom) is Literal:
                return atom is not None
            at = at.parent
        return False

    def given(self, frame: Frame, atom: Any) -> int:
        """An integer is asked for; a float only where it is already part of the program."""
        if type(atom) is Literal or dtype_info(getattr(atom.aval, "dtype", None)).integral:
            return self.slot(frame, atom)
        if self.slicer.everything or self.is_asked(frame, atom) or is_known(frame, atom, FOLDED_DEPTH):
            return self.slot(frame, atom)
        if self.is_made_of_asked(frame, atom):
            return self.slot(frame, atom)
        return self.compared(frame, atom)

    def compared(self, frame: Frame, atom: Any) -> int:
        """A slot of its own for a float that was not asked for: two comparisons of it are about one number."""
        frame, atom = frame.outer(atom)
        found = frame.floats.get(atom)
        if found is None:
            found = frame.floats[atom] = self.new(top(getattr(atom.aval, "dtype", None)))
            if not is_one(frame, atom):
                self.program.anew.append(found)
        return found

    def is_made_of_asked(self, frame: Frame, atom: Any) -> bool:
        """Whether a float is made of one that is part of the program in a few steps of which none rounds anything."""
        for _ in range(3):
            eqn = frame.maker(atom)
            if eqn is None or eqn.primitive not in _EXACT or type(eqn.invars[0]) is Literal:
                return False
            atom = eqn.invars[0]
            if self.is_asked(frame, atom):
                return True
        return False
