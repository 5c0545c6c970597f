"""Pieces: a value as affine expressions, each in the region where it holds; and what looking at them may cost."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import DtypeInfo
from redzone.domains.affine import Linear, Region, effort
from redzone.engine.forward import Context
from redzone.engine.program import Step

if TYPE_CHECKING:
    from redzone.prove.elements import Elements

#: How many pieces one value may have.
PIECES: Final = 40
#: How often what a question may cost is halved, at most.
HALVED: Final = 4
#: What a question about an index that is made of an input or two and little else may cost, and what one may at most
#: that costs as much as another that was answered.
PLAIN: Final = 120
ALIKE: Final = 256

Piece = tuple[Region, Linear]
Place = tuple[Linear, ...]

EVERYWHERE: Final = Region()


def key_of(place: Place) -> Any:
    """Something hashable that is equal for equal places."""
    return tuple(p.key() for p in place)


class NotAffine(Exception):
    """A value that must be taken as an unknown integer."""


class Work:
    """How much all questions of one kind may cost in one check, and each of them: pieces and constraints looked at.

    Where one question got no answer the next like it seldom does: each may cost half of the one before, until one is
    answered. What a plain question costs, or one that was answered before, each may, however many there are.
    """

    def __init__(self, limit: int, each: int | None = None) -> None:
        self.limit = limit
        self.each = each = limit if each is None else each
        self.pieces = 0
        self.most = min(limit, each)
        self.started = effort[0]
        self.begun, self.plain = 0, PLAIN
        self.unanswered = 0
        """How many questions in a row got no answer."""
        self.z3 = 0
        """How often z3 was asked."""

    @property
    def done(self) -> bool:
        """Whether the question now asked has cost too much."""
        return self.pieces > self.most

    @property
    def spent(self) -> bool:
        """Whether it has, and all questions together have too."""
        return self.pieces > self.most and self.pieces > self.limit

    def begin(self, parts: int = 1) -> None:
        """Begin with a question, or as many as there are dimensions to ask about."""
        self.started = effort[0]
        self.most = min(self.limit, self.pieces + (parts * self.each >> min(self.unanswered, HALVED)))
        self.most = max(self.most, self.pieces + (self.plain >> min(self.unanswered, HALVED // 2)))
        self.begun = self.pieces

    def answered(self, is_answered: bool) -> None:
        """Note what came of the question."""
        self.unanswered = 0 if is_answered else self.unanswered + 1
        if is_answered:
            self.plain = max(self.plain, min((self.pieces - self.begun) * 5 // 4, ALIKE))

    def end(self) -> None:
        """Count the constraints looked at since the beginning."""
        self.pieces += effort[0] - self.started
        self.started = effort[0]


def taken(selector: list[Piece], k: int, last: int) -> list[Region]:
    """Where a branch's number comes out as this one; the ends take everything beyond them."""
    found = []
    for region, value in selector:
        wanted = []
        if k > 0:
            wanted.append(value - k)
        if k < last:
            wanted.append(Linear(k) - value)
        inside = region.where(*wanted)
        if inside is not None:
            found.append(inside)
    return found


def fitted(self: Elements, region: Region, value: Linear, info: DtypeInfo) -> list[Piece]:
    """A mathematical result as the machine's integer holds it.

    For a proof or a promise, with what wraps once around its type; for a condition, as far as it does not wrap, or
    wraps once around a type without negative numbers: the rest spills.
    """
    lo, hi = region.bounds(value)
    if lo >= info.min and hi <= info.max:
        return [(region, value)]
    span = info.max - info.min + 1
    once = lo >= info.min - span and hi <= info.max + span
    spills = self.spills and not self.promising and not (once and info.kind == "u")
    if info.kind == "b" or not (spills or once):
        raise NotAffine
    pieces: list[Piece] = []
    inside = region.where(value - info.min, Linear(info.max) - value)
    if inside is not None:
        pieces.append((inside, value))
    for excess, turn in ((value - info.max - 1, -span), (-value + info.min - 1, span)):
        outside = region.where(excess)
        if outside is None:
            continue
        if spills:
            self.spilled.append(outside)
        else:
            pieces.append((outside, value + turn))
    return pieces


Handler = Callable[["Elements", Context, Step, Place], list[Piece]]
