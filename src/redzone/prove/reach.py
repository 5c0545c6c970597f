"""How far a sum of atoms goes in a region: by the program's own constraints, or only by the range of an input.

A constraint `guard ≥ 0` lets an atom be exchanged for others: `target ≤ target·|d| + guard·|c|` over |d|, with the
factors chosen so that the atom drops out. What is left when loop counters and quotients are exchanged is a
bound in terms of inputs alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from redzone.domains.affine import Atom, Linear, Region

#: How many atoms are exchanged one after the other.
DEEP: Final = 4
#: A bound beyond this comes from an integer type, not from the program.
NEAR: Final = 2**30
#: The ranges of the narrow integer types.
NARROW: Final = frozenset({(-128, 127), (0, 255), (-32768, 32767), (0, 65535)})


#: Whether an atom that stands for a value of the program ends, upward or downward, where its integer type does.
ByType = Callable[[Atom, bool], bool]


def span_of(region: Region, atom: Atom) -> tuple[int, int]:
    return region.box.get(atom) or (atom.lo, atom.hi)


def exchanged(target: Linear, atom: Atom, region: Region) -> Iterator[Linear]:
    """Sums without this atom that are at least a multiple of the target, one for each constraint that limits it.

    A constraint that says no more than that a number fits its integer type limits nothing.
    """
    c = target.terms[atom]
    for guard in region.guards:
        d = guard.terms.get(atom, 0)
        if d * c < 0 and abs(guard.const) <= NEAR:
            yield target * abs(d) + guard * abs(c)


def is_limited(target: Linear, region: Region, by_type: ByType, deep: int = DEEP) -> bool:
    """Whether the constraints keep a sum below some number even if every input were of any size."""
    free = next((a for a in target.terms if _is_free(a, target, region, by_type)), None)
    if free is None:
        return True
    return deep > 0 and any(is_limited(less, region, by_type, deep - 1) for less in exchanged(target, free, region))


def _is_free(atom: Atom, target: Linear, region: Region, by_type: ByType) -> bool:
    """Whether nothing but its own type or the inputs ends an atom on the side on which it makes a sum larger."""
    up, factor = target.terms[atom] > 0, abs(target.terms[atom])
    lo, hi = span_of(region, atom)
    if atom.leaf >= 0:
        # Far out the integer type ends it, at some multiple; a narrow one where the sum would no longer fit.
        far = NEAR // (4 * factor)
        narrow = (atom.lo, atom.hi) in NARROW
        # What is left of a number that was taken away, where counting from the end has given some of it back.
        early, times = (abs(target.const) * (2 if atom.lo < 0 else 1), factor) if narrow else (0, 1)
        return hi >= min((atom.hi - early) // times, far) if up else lo <= max(-(-(atom.lo + early) // times), -far)
    if atom.name in ("q", "t"):
        # A quotient goes as far as what is divided, an iteration as far as the loop, which a number or an input ends.
        beyond = hi > NEAR // (4 * factor)
        return atom.name == "q" or (up and atom.hi > NEAR and (beyond or _is_tied(atom, target, region)))
    return (hi > NEAR if up else lo < -NEAR) or by_type(atom, up)


def _is_tied(atom: Atom, target: Linear, region: Region) -> bool:
    """Whether a constraint ties an atom to an input that is not in the sum."""
    return any(
        atom in guard.terms and any(other.leaf >= 0 and other not in target.terms for other in guard.terms)
        for guard in region.guards
    )


def by_inputs(target: Linear, region: Region, deep: int = DEEP) -> Linear | None:
    """The target with its atoms that are no inputs exchanged for inputs; None where it has none, or where that fails.

    At least 0 wherever the target is.
    """
    other = next((a for a in target.terms if a.leaf < 0), None)
    if other is None:
        return target if deep < DEEP else None
    found = (by_inputs(less, region, deep - 1) for less in exchanged(target, other, region)) if deep else iter(())
    return next((one for one in found if one is not None and one.terms), None)


def in_inputs(target: Linear, region: Region, deep: int = DEEP) -> Linear | None:
    """The target's atoms that are no inputs at their worst, or exchanged for inputs where their worst is far away.

    At least 0 wherever the target is; None where that cannot be said.
    """

    def is_far(atom: Atom, k: int) -> bool:
        lo, hi = span_of(region, atom)
        return atom.leaf < 0 and (hi if k > 0 else -lo) > NEAR

    far = next((a for a, k in target.terms.items() if is_far(a, k)), None)
    if far is not None:
        found = (in_inputs(less, region, deep - 1) for less in exchanged(target, far, region)) if deep else iter(())
        return next((one for one in found if one is not None), None)
    const = target.const + sum(k * span_of(region, a)[1 if k > 0 else 0] for a, k in target.terms.items() if a.leaf < 0)
    return Linear(const, {a: k for a, k in target.terms.items() if a.leaf >= 0})
