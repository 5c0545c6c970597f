"""Piecewise affine integers: linear expressions over atoms, valid inside regions of linear constraints.

An atom is an unknown integer with bounds: an input's element, a loop's iteration, a position of an
index array, or anything the analysis cannot look into. A region is a conjunction of constraints
`expression ≥ 0` together with the bounds on the atoms that follow from them; a region that is known to
be empty is None. A value is a list of pieces, each an expression that holds inside a region.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from math import gcd
from typing import Any, Final

#: Rounds of tightening bounds by constraints.
ROUNDS: Final = 4
#: How many points are tried when one of a region is looked for.
TRIES: Final = 48

_numbers: Final = itertools.count()
#: How many constraints have been looked at so far, in all regions.
effort: Final = [0]


class Atom:
    """An unknown integer between two bounds."""

    __slots__ = ("hi", "leaf", "lo", "name", "number", "place")

    def __init__(self, name: str, lo: int, hi: int, leaf: int = -1, place: tuple[Linear, ...] = ()) -> None:
        self.name = name
        self.lo = lo
        self.hi = hi
        self.leaf = leaf
        """The input it is an element of, or -1."""
        self.place = place
        """Which element, for an input."""
        self.number = next(_numbers)

    def __repr__(self) -> str:
        return self.name


class Linear:
    """A constant plus multiples of atoms."""

    __slots__ = ("_direction", "_key", "const", "terms")

    def __init__(self, const: int, terms: dict[Atom, int] | None = None) -> None:
        self.const = const
        self.terms: dict[Atom, int] = terms or {}
        self._key: Any = None
        self._direction: tuple[tuple[int, int], ...] | None = None

    def key(self) -> Any:
        if self._key is None:
            self._key = (self.const, self.direction())
        return self._key

    def direction(self) -> tuple[tuple[int, int], ...]:
        """The terms, in an order of their own."""
        if self._direction is None:
            self._direction = tuple(sorted([(atom.number, k) for atom, k in self.terms.items()]))
        return self._direction

    def __add__(self, other: Linear | int) -> Linear:
        if type(other) is int:
            return Linear(self.const + other, self.terms)
        assert isinstance(other, Linear)
        if not other.terms:
            return Linear(self.const + other.const, self.terms)
        if not self.terms:
            return Linear(self.const + other.const, other.terms)
        terms = dict(self.terms)
        for atom, k in other.terms.items():
            total = terms.get(atom, 0) + k
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Linear(self.const + other.const, terms)

    def __mul__(self, k: int) -> Linear:
        return Linear(self.const * k, {a: c * k for a, c in self.terms.items()}) if k else Linear(0)

    def __neg__(self) -> Linear:
        return self * -1

    def __sub__(self, other: Linear | int) -> Linear:
        if type(other) is int:
            return Linear(self.const - other, self.terms)
        assert isinstance(other, Linear)
        if not other.terms:
            return Linear(self.const - other.const, self.terms)
        terms = dict(self.terms)
        for atom, k in other.terms.items():
            total = terms.get(atom, 0) - k
            if total:
                terms[atom] = total
            else:
                terms.pop(atom, None)
        return Linear(self.const - other.const, terms)

    def __repr__(self) -> str:
        parts = [f"{'' if k == 1 else '-' if k == -1 else k}{a}" for a, k in self.terms.items()]
        return " + ".join(parts + ([str(self.const)] if self.const or not parts else []))

    def bounds(self, box: dict[Atom, tuple[int, int]]) -> tuple[int, int]:
        """The least and greatest it can be with the atoms inside a box, or inside their own bounds."""
        lo = hi = self.const
        for atom, k in self.terms.items():
            known = box.get(atom)
            a, b = known if known is not None else (atom.lo, atom.hi)
            if k == 1:
                lo += a
                hi += b
            elif k == -1:
                lo -= b
                hi -= a
            elif k > 0:
                lo += k * a
                hi += k * b
            else:
                lo += k * b
                hi += k * a
        return lo, hi


class Region:
    """A conjunction of constraints, with the bounds on atoms they imply."""

    __slots__ = ("box", "guards", "holes")

    def __init__(
        self,
        guards: tuple[Linear, ...] = (),
        box: dict[Atom, tuple[int, int]] | None = None,
        holes: tuple[Linear, ...] = (),
    ) -> None:
        self.guards = guards
        """Each of these is at least 0; what bounds one atom alone is in the box."""
        self.box: dict[Atom, tuple[int, int]] = box or {}
        self.holes = holes
        """Each of these is not 0."""

    def bounds(self, linear: Linear) -> tuple[int, int]:
        return linear.bounds(self.box)

    def key(self) -> Any:
        """Equal for regions made of the same constraints."""
        if not self.box and not self.guards and not self.holes:
            return ()
        spans = frozenset([(a.number, span) for a, span in self.box.items()])
        return (spans, frozenset([g.key() for g in self.guards]), frozenset([h.key() for h in self.holes]))

    def where(self, *constraints: Linear) -> Region | None:
        """The part where these are at least 0 too; None where that is empty."""
        box, fresh, alone = self.box, [], False
        for linear in constraints:
            lo, hi = linear.bounds(box)
            if hi < 0:
                return None
            if lo >= 0:
                continue
            if len(linear.terms) == 1:
                # A bound on one atom: the box says it all.
                ((atom, k),) = linear.terms.items()
                low, high = box.get(atom) or (atom.lo, atom.hi)
                low, high = (max(low, -(linear.const // k)), high) if k > 0 else (low, min(high, linear.const // -k))
                if low > high:
                    return None
                box = {**box, atom: (low, high)}
                alone = True
            else:
                one = _reduced(linear)
                if not _is_among(one, self.guards):
                    fresh.append(one)
        if not fresh and not alone:
            return self
        guards = (*self.guards, *fresh)
        if fresh and _contradict(guards, fresh):
            return None
        return _region(guards, box, self.holes, guards if alone else fresh)

    def but(self, linear: Linear) -> Region | None:
        """The part where this is not 0."""
        lo, hi = linear.bounds(self.box)
        if lo > 0 or hi < 0:
            return self
        if lo == 0:
            return self.where(linear - 1)
        if hi == 0:
            return self.where(-linear - 1)
        return _region(self.guards, self.box, (*self.holes, linear), ())

    def both(self, other: Region) -> Region | None:
        """The part inside another region too."""
        if other is self:
            return self
        mine, theirs = self.box, other.box
        if not theirs and not other.guards and not other.holes:
            return self
        if not mine and not self.guards and not self.holes:
            return other
        if len(mine) < len(theirs):
            mine, theirs = theirs, mine
        changes: dict[Atom, tuple[int, int]] = {}
        for atom, span in theirs.items():
            known = mine.get(atom)
            if known is None:
                changes[atom] = span
            elif known != span:
                lo = span[0] if span[0] > known[0] else known[0]
                hi = span[1] if span[1] < known[1] else known[1]
                if lo > hi:
                    return None
                if lo != known[0] or hi != known[1]:
                    changes[atom] = (lo, hi)
        guards = self.guards
        fresh: tuple[Linear, ...] = ()
        if other.guards and other.guards is not guards:
            fresh = _others(guards, other.guards)
            guards = guards + fresh
            if fresh and _contradict(guards, fresh):
                return None
        holes = self.holes + _others(self.holes, other.holes) if other.holes else self.holes
        box = {**mine, **changes} if changes else mine
        return _region(guards, box, holes, guards)

    def atoms(self) -> list[Atom]:
        return list(dict.fromkeys(a for g in (*self.guards, *self.holes) for a in g.terms))

    def point(self) -> dict[Atom, int] | bool | None:
        """Integers that satisfy every constraint; None where there are none, False where it is not known."""
        found: dict[Atom, int] | bool | None = _point(self, self.atoms(), {}, [TRIES])
        if not isinstance(found, dict):
            return found
        return {a: min(max(0, lo), hi) for a, (lo, hi) in self.box.items()} | found


def _others(mine: tuple[Linear, ...], theirs: tuple[Linear, ...]) -> tuple[Linear, ...]:
    return tuple([g for g in theirs if not _is_among(g, mine)]) if mine else theirs


def _is_among(linear: Linear, others: tuple[Linear, ...]) -> bool:
    """Whether the same sum was written down before."""
    for other in others:
        if other is linear:
            return True
        alike = linear.const == other.const and len(linear.terms) == len(other.terms)
        if alike and linear.direction() == other.direction():
            return True
    return False


def _region(
    guards: tuple[Linear, ...], box: dict[Atom, tuple[int, int]], holes: tuple[Linear, ...], fresh: Iterable[Linear]
) -> Region | None:
    """A region of these constraints, its box tightened by the fresh ones; None where it is empty."""
    for _ in range(ROUNDS):
        if guards:
            tight = tightened(guards, dict(box), fresh)
            if tight is None:
                return None
            box = tight
        moved = False
        for hole in holes:
            lo, hi = hole.bounds(box)
            if lo > 0 or hi < 0:
                continue
            if lo == hi or _equals_zero(hole, guards):
                return None
            if len(hole.terms) == 1 and (lo == 0 or hi == 0):
                ((atom, _),) = hole.terms.items()
                low, high = box.get(atom) or (atom.lo, atom.hi)
                at_low = (lo == 0) == (hole.terms[atom] > 0)
                box = {**box, atom: (low + 1, high) if at_low else (low, high - 1)}
                moved = True
        if not moved:
            break
        fresh = guards
    return Region(guards, box, holes)


def _equals_zero(linear: Linear, guards: tuple[Linear, ...]) -> bool:
    """Whether two of the constraints say that this is 0."""
    up, down = linear.key(), (-linear).key()
    keys = {g.key() for g in guards}
    return up in keys and down in keys


def _reduced(linear: Linear) -> Linear:
    """The same integers satisfy it: divided by what all coefficients share, the constant rounded down."""
    shared = gcd(*linear.terms.values()) if linear.terms else 1
    if shared <= 1:
        return linear
    return Linear(linear.const // shared, {a: k // shared for a, k in linear.terms.items()})


def tightened(
    guards: Iterable[Linear], box: dict[Atom, tuple[int, int]], fresh: Iterable[Linear]
) -> dict[Atom, tuple[int, int]] | None:
    """The bounds on atoms that follow from constraints, one at a time; None where an atom has none left."""
    active: Iterable[Linear] = fresh
    for _ in range(ROUNDS):
        changed = False
        for linear in active:
            effort[0] += 1
            _, most = linear.bounds(box)
            if most < 0:
                return None
            for atom, k in linear.terms.items():
                lo, hi = box.get(atom) or (atom.lo, atom.hi)
                if k > 0:
                    # k·x ≥ -(the rest at its greatest)
                    least = hi - most if k == 1 else -((most - k * hi) // k)
                    if least > lo:
                        if least > hi:
                            return None
                        box[atom] = (least, hi)
                        changed = True
                else:
                    greatest = most + lo if k == -1 else (most - k * lo) // -k
                    if greatest < hi:
                        if greatest < lo:
                            return None
                        box[atom] = (lo, greatest)
                        changed = True
        if not changed:
            break
        active = guards
    return box


def _contradict(guards: tuple[Linear, ...], fresh: Iterable[Linear]) -> bool:
    """Whether two constraints on the same sum exclude each other."""
    if len(guards) < 2:
        return False
    for g in fresh:
        opposite = None
        for other in guards:
            if len(other.terms) == len(g.terms) and other.const + g.const < 0:
                if opposite is None:
                    opposite = tuple([(n, -k) for n, k in g.direction()])
                if other.direction() == opposite:
                    return True
    return False


def _point(region: Region, atoms: list[Atom], chosen: dict[Atom, int], budget: list[int]) -> Any:
    free = [a for a in atoms if a not in chosen]
    if not free:
        # Bounds are followed for a few rounds only: where each atom has one value left, that may break a constraint.
        kept = all(_at(g, chosen) >= 0 for g in region.guards) and all(_at(h, chosen) != 0 for h in region.holes)
        return dict(chosen) if kept else None
    atom = min(free, key=lambda a: _span(region, a))
    lo, hi = region.box.get(atom) or (atom.lo, atom.hi)
    tries = sorted({min(max(v, lo), hi) for v in (0, 1, lo, hi, lo + 1, hi - 1, (lo + hi) // 2)}, key=_plainness)
    complete = hi - lo + 1 <= len(tries)
    for value in tries:
        budget[0] -= 1
        if budget[0] < 0:
            return False
        fixed = Linear(-value, {atom: 1})
        inner = region.where(fixed, -fixed)
        if inner is None:
            continue
        found = _point(inner, atoms, {**chosen, atom: value}, budget)
        if found is False:
            if budget[0] < 0:
                return False
            complete = False
        elif found is not None:
            return found
    return None if complete else False


def _at(linear: Linear, point: dict[Atom, int]) -> int:
    return linear.const + sum(k * point[atom] for atom, k in linear.terms.items())


def _span(region: Region, atom: Atom) -> int:
    lo, hi = region.box.get(atom) or (atom.lo, atom.hi)
    return hi - lo


def _plainness(value: int) -> tuple[int, bool]:
    return abs(value), value < 0
