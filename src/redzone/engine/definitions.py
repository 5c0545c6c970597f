"""How a bool that a branch or a loop is given was made from other values that it is given too.

`full = n >= 16` stands before a cond, and in one of its branches another cond asks for `full`. The branch is a program
of its own, to which `full` and `n` are two inputs. What one says of the other is kept: the equation that made `full` is
made again from what the branch knows as `n`, and a condition on the one is a condition on the other. Both are one
value, since nothing in a jaxpr changes once it is made. The same goes for what a loop is given and never changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from redzone.domains import dtype_info
from redzone.engine.program import SIMPLE
from redzone.frontend.compat import Literal
from redzone.rules import RULES

if TYPE_CHECKING:
    from redzone.engine.frames import Frame
    from redzone.engine.slots import Slots

#: How many equations a bool may be made by.
FEW: Final = 6


class Definition(NamedTuple):
    """An equation, and what its operands are to a branch."""

    eqn: Any
    operands: tuple[Any, ...]
    """Each a position among what the branch is given, a literal, or a definition."""

    def key(self) -> tuple[Any, ...]:
        """Equal for equal definitions, while their jaxprs live."""
        return (id(self.eqn), *[o.key() if type(o) is Definition else o if type(o) is int else id(o) for o in self[1]])

    def places(self) -> set[int]:
        """The positions that it is made from."""
        found: set[int] = set()
        for one in self.operands:
            if type(one) is Definition:
                found |= one.places()
            elif type(one) is int:
                found.add(one)
        return found


class _Search:
    """The definitions of the bools among what one branch is given."""

    __slots__ = ("left", "places", "resolve")

    def __init__(self, resolve: Callable[[Frame, Any], tuple[Frame, Any]], places: dict[tuple[int, Any], int]) -> None:
        self.resolve = resolve
        self.places = places
        """By frame, as its identity, and variable: the position."""
        self.left = FEW

    def definition(self, frame: Frame, atom: Any) -> Definition | None:
        """How a value was made, if nothing but what the branch is given goes into it."""
        frame, atom = self.resolve(frame, atom)
        if type(atom) is Literal or self.left <= 0:
            return None
        self.left -= 1
        eqn, known = frame.maker(atom), frame.told.get(atom)
        if eqn is not None:
            rule = RULES.get(eqn.primitive)
            if rule is None or not rule.pointwise or len(eqn.outvars) != 1:
                return None
            return self.of(frame, eqn, eqn.invars)
        return None if known is None else self.again(frame, known)

    def again(self, frame: Frame, known: Definition) -> Definition | None:
        """A definition of what this branch was given, for one inside it."""
        inputs = frame.jaxpr.invars
        return self.of(frame, known.eqn, [inputs[o] if type(o) is int else o for o in known.operands])

    def of(self, frame: Frame, eqn: Any, operands: Sequence[Any]) -> Definition | None:
        found: list[Any] = []
        for one, atom in zip(operands, eqn.invars, strict=True):
            if not dtype_info(getattr(atom.aval, "dtype", None)).integral:
                return None
            made: Any = self.again(frame, one) if type(one) is Definition else self.operand(frame, one)
            if made is None:
                return None
            found.append(made)
        return Definition(eqn, tuple(found))

    def operand(self, frame: Frame, atom: Any) -> Any:
        at, name = self.resolve(frame, atom)
        if type(name) is Literal:
            return None if name.aval.shape else name
        place = self.places.get((id(at), name))
        return self.definition(at, name) if place is None else place


def definitions(
    resolve: Callable[[Frame, Any], tuple[Frame, Any]], frame: Frame, given: Sequence[Any]
) -> dict[int, Definition]:
    """By position: how the bools among what a branch is given were made from the rest of it."""
    bools = []
    for k, atom in enumerate(given):
        if type(atom) is not Literal and dtype_info(getattr(atom.aval, "dtype", None)).kind == "b":
            at, name = resolve(frame, atom)
            if type(name) is not Literal and (at.maker(name) is not None or name in at.told):
                bools.append(k)
    if not bools or len(bools) == len(given):
        return {}
    places: dict[tuple[int, Any], int] = {}
    for k, atom in enumerate(given):
        at, name = resolve(frame, atom)
        if type(name) is not Literal:
            places.setdefault((id(at), name), k)
    found = {}
    for k in bools:
        made = _Search(resolve, places).definition(frame, given[k])
        if made is not None and made.places():
            found[k] = made
    return found


def tell(build: Slots, frame: Frame, var: Any, told: Definition) -> None:
    """Make an input again from others, where it and any of them were asked for."""
    slots, inputs = frame.slots, frame.jaxpr.invars
    if var in slots and any(inputs[k] in slots for k in told.places()):
        again = build.program.equal[slots[var]] = build.new()
        _remake(build, frame, told, again)


def _remake(build: Slots, frame: Frame, told: Definition, slot: int) -> None:
    ins, left = [], []
    for one in told.operands:
        if type(one) is Definition:
            ins.append(build.new())
            left.append((one, ins[-1]))
        else:
            ins.append(build.slot(frame, frame.jaxpr.invars[one] if type(one) is int else one))
    build.emit(SIMPLE, told.eqn, ins, (slot,)).rule = RULES[told.eqn.primitive]
    for one, inner in left:
        _remake(build, frame, one, inner)
