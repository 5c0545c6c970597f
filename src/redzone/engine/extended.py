"""A program with a few more values, made of what it has: flags that nobody asked for when it was sliced.

What decides whether anybody sees what an access read is often a flag that goes into no index: `done`, or a conjunction
of two comparisons. It is made here as slicing would make it, by the rules of the equations behind it, back to values
that the program has and inputs that it was not asked for. Only plain equations of integers are gone through, and reads
only of arrays that come as they are: parts of others are followed to where they were written (`engine/windows.py`).
"""

from __future__ import annotations

import dataclasses
from collections import Counter
from typing import Any, Final

from redzone.access.site import Site
from redzone.domains import Fact, dtype_info, scalar
from redzone.engine.closer import CLOSER
from redzone.engine.forward import Context, Runner
from redzone.engine.frames import RENAMING, Frame, is_renaming
from redzone.engine.inlined import Inlined
from redzone.engine.inventory import SPECIAL
from redzone.engine.program import BITS, SIGNATURE, SIMPLE, Program, Step
from redzone.engine.sharing import is_same_step
from redzone.engine.windows import READS, may_follow, moves
from redzone.frontend.compat import Literal, primitives
from redzone.rules import RULES

#: How many equations may be gone through.
MOST: Final = 24

_ARRANGED: Final = READS | {primitives()["broadcast_in_dim_p"], primitives()["reshape_p"]}


class Extended:
    """A run of a program in which further values are looked at."""

    __slots__ = ("context", "facts", "inlined", "known", "left", "more", "steps", "template")

    def __init__(self, inlined: Inlined, context: Context, facts: list[Fact]) -> None:
        self.inlined = inlined
        self.context = context
        self.facts = facts
        """What is known of the inputs of the whole program."""
        self.template: list[Fact | None] = list(inlined.program.template)
        self.steps: list[Step] = []
        self.more: list[tuple[int, int]] = []
        """(position, slot) of the inputs that nobody had asked for."""
        self.known: dict[Any, int] = {}
        self.left = MOST

    def slot(self, frame: Frame, atom: Any) -> int:
        """Where a value of one of the program's jaxprs is, which may be made for this; -1 where it is not to be had."""
        if type(atom) is Literal:
            return self.literal(atom)
        found = self.inlined.slot(frame, atom)
        if found >= 0:
            return found
        frame, atom = frame.outer(atom)
        if type(atom) is Literal:
            return self.literal(atom)
        name = (id(frame), atom)
        known = self.known.get(name)
        if known is None:
            known = self.known[name] = self.made(frame, atom)
        return known

    def literal(self, atom: Any) -> int:
        aval = atom.aval
        if getattr(aval, "shape", None) != () or not dtype_info(aval.dtype).integral:
            return -1
        number = int(atom.val)
        found = self.inlined.integers.get(number)
        if found is None:
            found = self.known.get(number)
        if found is None:
            found = self.known[number] = self.new(scalar(number))
        return found

    def new(self, fact: Fact | None) -> int:
        self.template.append(fact)
        return len(self.template) - 1

    def made(self, frame: Frame, atom: Any) -> int:
        if atom in frame.consts or not dtype_info(getattr(atom.aval, "dtype", None)).integral:
            return -1
        eqn = frame.maker(atom)
        if eqn is None:
            return self.input(frame, atom)
        primitive, rule = eqn.primitive, RULES.get(eqn.primitive)
        self.left -= 1
        if rule is None or self.left < 0 or primitive in SPECIAL or len(eqn.outvars) != 1:
            return -1
        if primitive in RENAMING and is_renaming(eqn):
            return self.slot(frame, eqn.invars[0])
        if not (rule.pointwise and rule.needs in ("all", "given")) and primitive not in _ARRANGED:
            return -1
        if primitive in READS and self.is_followed(frame, eqn.invars[0]):
            return -1
        ins: list[int] = []
        for v in eqn.invars:
            one = self.slot(frame, v) if dtype_info(getattr(v.aval, "dtype", None)).integral else -1
            if one < 0:
                return -1
            ins.append(one)
        closer = CLOSER.get(primitive)
        if closer is not None:
            rule = closer(frame, eqn) or rule
        step = Step(SIMPLE, eqn, tuple(ins), (-1,), rule)
        for other in (*self.inlined.program.steps, *self.steps):
            if other.rule is rule and is_same_step(other, step):
                return other.outs[0]
        step.outs = (self.new(None),)
        self.steps.append(step)
        return step.outs[0]

    def input(self, frame: Frame, atom: Any) -> int:
        """A further input of the whole program."""
        if self.context.parent is not None or frame is not self.inlined.frames[0]:
            return -1
        for k, v in enumerate(frame.jaxpr.invars):
            if v is atom:
                self.more.append((k, self.new(None)))
                return self.more[-1][1]
        return -1

    def is_followed(self, frame: Frame, atom: Any) -> bool:
        """Whether parts of an array are taken from what it was made of."""
        while True:
            frame, atom = frame.outer(atom)
            eqn = None if type(atom) is Literal else frame.maker(atom)
            if eqn is None:
                return False
            if eqn.primitive not in READS:
                # What is computed as a whole is not computed once more for its parts.
                return moves(eqn) or (may_follow(eqn) and self.inlined.slot(frame, atom) < 0)
            atom = eqn.invars[0]

    def run(self) -> Context:
        """The run with what was asked for in it."""
        program, context = self.inlined.program, self.context
        if len(self.template) == len(program.template):
            return context
        extended = self.program()
        env = [*context.env, *self.template[len(program.template) :]]
        for position, slot in self.more:
            env[slot] = self.facts[position]
        result = dataclasses.replace(context, program=extended, env=env)
        runner = Runner(_unheard, Counter())
        for step in self.steps:
            runner.step(extended, env, step, None)
        return result

    def program(self) -> Program:
        """The program with what was asked for in it, over the same slots and more."""
        old, new = self.inlined.program, Program(self.inlined.program.jaxpr)
        new.steps, new.template = [*old.steps, *self.steps], self.template
        new.inputs, new.outs = [*old.inputs, *self.more], old.outs
        new.defs = old.defs.with_more(self.steps)
        masks = list(old.behind())
        masks += [
            0 if self.template[slot] is not None else BITS[slot % SIGNATURE]
            for slot in range(len(masks), len(self.template))
        ]
        for step in self.steps:
            for source in step.ins:
                masks[step.outs[0]] |= masks[source]
        new._masks = masks
        new.equal, new.errors, new.thresholds, new.unknown = old.equal, old.errors, old.thresholds, old.unknown
        new.anew, new.computed, new.special, new.lanes = old.anew, old.computed, old.special, old.lanes
        return new


def is_extendable(program: Program) -> bool:
    """Whether values can be added to a program as they are here: nothing promised or ordered goes into them."""
    return not (program.assumptions or program.ordered or program.linking or program.linked)


def _unheard(site: Site, facts: list[Fact], step: Step, context: Context) -> None:
    """No access is among what is added."""
