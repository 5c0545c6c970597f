"""For which accesses each equation of a sliced program was looked at."""

from __future__ import annotations

from redzone.engine.program import CALL, COND, OBSERVE, SCAN, WHILE, Program, Step

#: How many steps are walked at most; past it, equations are counted as everybody's.
BUDGET = 400_000


class Shares:
    """By equation, the accesses whose index, mask or branch it reaches."""

    def __init__(self, program: Program) -> None:
        self.bits: dict[int, int] = {}
        """By identity of an access's equation: its bit."""
        self.order: list[int] = []
        self.users: dict[int, int] = {}
        """By identity of an equation: the bits of the accesses it is for."""
        self.left = BUDGET
        self.inside: dict[int, int] = {}
        self.needs(program, [0] * len(program.outs))

    def of(self, eqn: object) -> list[int]:
        """The accesses an equation is for, by identity of their equations."""
        mask, found = self.users.get(id(eqn), 0), []
        while mask:
            low = mask & -mask
            found.append(self.order[low.bit_length() - 1])
            mask ^= low
        return found

    def count(self, eqn: object) -> int:
        """How many accesses an equation is for."""
        return self.users.get(id(eqn), 0).bit_count()

    def bit(self, key: int) -> int:
        if key not in self.bits:
            self.bits[key] = 1 << len(self.order)
            self.order.append(key)
        return self.bits[key]

    def needs(self, program: Program, outs: list[int]) -> dict[int, int]:
        """What asks for each input of a program, by position, when its results are asked for so."""
        slots = [0] * len(program.template)
        for slot, mask in zip(program.outs, outs, strict=False):
            if slot >= 0:
                slots[slot] |= mask
        promised = {one.slot for one in program.assumptions}
        everyone = self.all_inside(program) if promised else 0
        for slot in promised:
            slots[slot] |= everyone
        for step in reversed(program.steps):
            self.left -= 1
            mask = 0
            for out in step.outs:
                if out >= 0:
                    mask |= slots[out]
            if step.kind == OBSERVE:
                mask |= self.bit(id(step.eqn))
            if step.bodies:
                mask |= self.through(step, slots)
            else:
                for slot in step.reads():
                    slots[slot] |= mask
            self.users[id(step.eqn)] = self.users.get(id(step.eqn), 0) | mask
        return {position: slots[slot] for position, slot in program.inputs}

    def through(self, step: Step, slots: list[int]) -> int:
        """Ask the bodies of a step, and pass on what they ask for; the accesses inside them."""
        outs = [slots[out] if out >= 0 else 0 for out in step.outs]
        total = 0
        for body in step.bodies:
            total |= self.all_inside(body)
        asked = total
        for mask in outs:
            asked |= mask
        if self.left <= 0 or step.kind not in (COND, CALL, SCAN, WHILE):
            for slot in step.reads():
                slots[slot] |= asked
            return asked
        if step.kind == COND:
            slots[step.ins[0]] |= asked
            for k, body in enumerate(step.bodies):
                found = self.needs(body, outs)
                for place, (position, _) in zip(step.extra[k], body.inputs, strict=True):
                    slots[step.ins[place]] |= found[position]
        elif step.kind == CALL:
            found = self.needs(step.bodies[0], outs)
            for slot, (position, _) in zip(step.ins, step.bodies[0].inputs, strict=True):
                slots[slot] |= found[position]
        else:
            self.loop(step, slots, outs, asked)
        return asked

    def loop(self, step: Step, slots: list[int], outs: list[int], asked: int) -> None:
        """What a loop's body asks of a carry, it asks of the body's own result too."""
        shape, body = step.extra, step.bodies[0]
        carried = list(outs)
        found: dict[int, int] = {}
        for _ in range(2):
            found = self.needs(body, carried)
            for position, mask in found.items():
                carry = position - shape.consts
                if 0 <= carry < min(shape.carry_count or len(outs), len(carried)):
                    carried[carry] |= mask
        for other in step.bodies[1:]:
            self.needs(other, [asked] * len(other.outs))
        for slot, (position, _) in zip(step.ins, body.inputs, strict=False):
            slots[slot] |= found[position]
        for slot in step.ins[len(body.inputs) :]:
            slots[slot] |= asked
        for slot, carry in zip(shape.inits, shape.carries, strict=True):
            slots[slot] |= carried[carry] if carry < len(carried) else asked
        for slot in shape.also:
            slots[slot] |= asked

    def all_inside(self, program: Program) -> int:
        """The bits of every access in a program and in all that it runs."""
        known = self.inside.get(id(program))
        if known is None:
            known = 0
            for step in program.steps:
                if step.kind == OBSERVE:
                    known |= self.bit(id(step.eqn))
                for body in step.bodies:
                    known |= self.all_inside(body)
            self.inside[id(program)] = known
        return known
