"""What a program was made of: the jaxprs that were put into it, and where their values are in it."""

from __future__ import annotations

from typing import Any

from redzone.engine.frames import Frame
from redzone.engine.program import Program, Step
from redzone.frontend.compat import Literal


class Inlined:
    """The jaxprs of one program, each as often as it was put there, and the accesses that were come to in them."""

    __slots__ = ("frames", "integers", "observed", "program", "renamed")

    def __init__(
        self,
        program: Program,
        frames: list[Frame],
        observed: list[tuple[Step, Frame]],
        integers: dict[int, int],
        renamed: dict[int, int],
    ) -> None:
        self.program = program
        self.frames = frames
        self.observed = observed
        self.integers = integers
        """By literal: its slot."""
        self.renamed = renamed
        """By slot that turned out to be another one: that one."""

    def slot(self, frame: Frame, atom: Any) -> int:
        """Where the fact of one of a jaxpr's values is; -1 where nobody asked for it."""
        while type(atom) is not Literal:
            found = frame.slots.get(atom)
            if found is not None:
                return self.renamed.get(found, found)
            outer = frame.bindings.get(atom)
            if outer is None or frame.parent is None:
                return -1
            frame, atom = frame.parent, outer
        return -1
