"""What the inputs must keep for an access to stay inside: every region in which it leaves is to be left out.

A range of one input where that is enough, a relation between several where it is not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from redzone.domains import dtype_info
from redzone.domains.affine import Atom, Linear, Region
from redzone.prove.need import APART, FAR, Need
from redzone.prove.reach import NARROW, NEAR, ByType, by_inputs, in_inputs, is_limited, span_of
from redzone.prove.violations import Case, Violations
from redzone.report.model import Condition


@dataclasses.dataclass(slots=True)
class Outcome:
    """What the exact stage found out about an access."""

    # Some regions in which it leaves its array; none where it never does.

    cases: list[Case]
    needs: dict[int, Need] | None = None
    relations: tuple[Condition, ...] = ()
    by: str = "exact"
    """What decided it."""
    whole: bool = True
    """Whether nothing was left out: no value wraps on the way."""


class Keeping(Violations):
    """The conditions under which accesses of one program stay inside."""

    def condition(self, cases: list[Case], seen: bool = False) -> Outcome:
        """What the inputs must keep for every region to be left.

        Of what masks let through (`seen`), positions go as far as the inputs in them say.
        """
        outcome = Outcome([], whole=not self.overflows)
        limits: dict[tuple[int, str], tuple[int, int]] = {}
        relations: list[Linear] = []
        chosen: list[Linear] = []
        lost = False
        atoms = list(dict.fromkeys(a for c in cases for a in (*c.region.box, *c.index.terms) if a.leaf >= 0))
        reaches = [(by_inputs(case.excess(), case.region) if seen else None, case) for case in cases]
        if seen:
            # What must be asked anyway may be enough.
            reaches.sort(key=lambda one: one[0] is not None)
        for reach, case in reaches:
            if case.region.where(*chosen) is None or not self.possible(case):
                continue
            if self.elements.work.spent:
                # What is not gone through to its end is no condition.
                lost = True
            outcome.cases.append(case)
            case.made = self.is_made(case, cases)
            relation = self.related(case, reach)
            kept = self.kept_out(case, reach) if relation is None else None
            if kept is not None:
                chosen += self.limit(limits, kept, atoms)
            elif relation is not None:
                relations.append(relation)
                chosen.append(relation)
            else:
                lost = True
        # Where a value wraps on the way, the regions say nothing: the condition must exclude that too.
        for region in self.overflows if not lost else ():
            left = region.where(*chosen)
            if left is None:
                continue
            kept_in = _not_wrapping(left)
            kept = _short_of(left, NEAR >> 8 if seen else NEAR) if kept_in is None else None
            case = Case(left, Linear(0), None, True, wrapped=True)
            if (kept_in is None and kept is None) or not self.possible(case):
                continue
            outcome.cases.append(case)
            if kept is not None:
                kept = _as_others(kept, limits) if seen else kept
                chosen += self.limit(limits, kept, [*atoms, kept[0]])
            elif kept_in is not None:
                relations.append(kept_in)
                chosen.append(kept_in)
        if outcome.cases and not lost and all(region.where(*chosen) is None for region in self.overflows):
            outcome.relations = self.shown(relations)
            # Of two bounds on one sum that exclude each other, none is a condition.
            can_hold = all(one.min is None or one.max is None or one.min <= one.max for one in outcome.relations)
            outcome.needs = self.needs(limits) if can_hold else None
        return outcome

    def limit(
        self, limits: dict[tuple[int, str], tuple[int, int]], kept: tuple[Atom, int, int], atoms: Sequence[Atom]
    ) -> list[Linear]:
        """Ask a range of an input, and say it of all the atoms that stand for the same elements of it."""
        atom, lo, hi = kept
        group = (atom.leaf, self.where(atom))
        old = limits.get(group, (-FAR, FAR))
        limits[group] = (max(old[0], lo), min(old[1], hi))
        chosen = []
        for same in atoms:
            if (same.leaf, self.where(same)) == group:
                chosen += [Linear(-lo, {same: 1})] if lo > -FAR else []
                chosen += [Linear(hi, {same: -1})] if hi < FAR else []
        return chosen

    def is_made(self, case: Case, cases: list[Case]) -> bool:
        """Whether the program's own limits end an index in a region, and not just what is known of it."""
        waiting, seen = [case], {id(case)}
        while waiting:
            at = waiting.pop()
            if not _is_made(at, self.ends_by_type) or any(self.goes_on(at, other) for other in cases):
                return False
            # Beyond the last place of a table that is read by the index too, another region begins with the same index.
            # Of a sum, each of two regions may begin where the other ends.
            beyond = [o for o in cases if id(o) not in seen and _begins_where_it_ends(at, o) and self.possible(o)]
            waiting += beyond
            seen.update(map(id, beyond))
        return True

    def goes_on(self, case: Case, other: Case) -> bool:
        """Whether the same index goes further than in this region, where inputs are compared with each other in both.

        Then its end there limits nothing: it is where one of those is read at another place, counted from the end or
        held inside its array.
        """
        if other is case or other.above != case.above or other.index.key() != case.index.key():
            return False
        if not case.region.guards or not other.region.guards:
            return False
        return not _is_made(other, self.ends_by_type) and self.possible(other)

    def ends_by_type(self, atom: Atom, up: bool) -> bool:
        """Whether nothing but its integer type ends the value that an atom stands for."""
        origin = self.elements.origins.get(atom)
        step = origin[0].program.defs.get(origin[1]) if origin is not None else None
        if origin is None or step is None or origin[1] not in step.outs:
            return False
        info = dtype_info(step.eqn.outvars[step.outs.index(origin[1])].aval.dtype)
        return bool(info.kind in "iu" and (atom.hi >= info.max if up else atom.lo <= info.min))

    def kept_out(self, case: Case, reach: Linear | None = None) -> tuple[Atom, int, int] | None:
        """A range of one input that keeps out of a region: the input, its least and its greatest value.

        What is at least 0 there may be said in terms of inputs (`reach`).
        """
        # A region that hangs on a value nobody can look into is not the fault of the inputs that lead there.
        seen_through = not any(a.leaf < 0 and a.name.startswith("v") for a in case.index.terms)
        excess = reach or (in_inputs(case.excess(), case.region) if seen_through else None)
        one = excess is not None and len(excess.terms) == 1
        if excess is not None and one and (reach is not None or next(iter(excess.terms)) not in case.index.terms):
            ((atom, k),) = excess.terms.items()
            # What the index goes as far as: at least 0 out there, so kept below that.
            bound = (-excess.const - 1) // k if k > 0 else -((excess.const + 1) // k)
            lo, hi = (-FAR, bound) if k > 0 else (bound, FAR)
            if abs(bound) < FAR and _is_plain(atom, lo, hi):
                return atom, lo, hi
        near, nearest = _behind(case), set(case.index.terms)
        for group in (nearest, near - nearest, set(case.region.box) - near) if seen_through else (nearest,):
            for atom, (lo, hi) in case.region.box.items():
                if atom.leaf < 0 or atom not in group:
                    continue
                if _is_wrapped_back(case, atom, lo, hi) and _is_plain(atom, hi + 1, FAR):
                    return atom, hi + 1, FAR
                # A bound as far as the number that stands for none would be no bound.
                if lo > atom.lo and (hi >= atom.hi or lo > 0) and abs(lo - 1) < FAR and _is_plain(atom, -FAR, lo - 1):
                    return atom, -FAR, lo - 1
                if hi < atom.hi and abs(hi + 1) < FAR and _is_plain(atom, hi + 1, FAR):
                    return atom, hi + 1, FAR
        return None

    def related(self, case: Case, reach: Linear | None = None) -> Linear | None:
        """At least 0 when several inputs are so related that an index stays inside, the rest at its worst."""
        excess = reach or in_inputs(case.excess(), case.region)
        terms = excess.terms if excess is not None else {}
        if excess is None or len(terms) < 2:
            return None
        # The sum of the terms is at least this out there; how far up does the region go?
        least, most = -excess.const, None
        above, below = Linear(0, terms).direction(), Linear(0, {a: -k for a, k in terms.items()}).direction()
        for guard in case.region.guards:
            direction = guard.direction()
            if direction == below:
                most = guard.const if most is None else min(most, guard.const)
            elif direction == above:
                least = max(least, -guard.const)
        if most is None or most > NEAR:
            return Linear(least - 1, {a: -k for a, k in terms.items()})
        # A gap in the middle: stay on the side of the plainer numbers.
        down = least > 0 if case.above else most >= 0
        return Linear(least - 1, {a: -k for a, k in terms.items()}) if down else Linear(-most - 1, terms)

    def shown(self, relations: list[Linear]) -> tuple[Condition, ...]:
        """Relations as conditions: bounds on sums of inputs, both sides of one sum together."""
        sums: dict[Any, tuple[dict[Atom, int], int | None, int | None]] = {}
        for linear in relations:
            # linear ≥ 0: the sum of the terms is at least -const; turned round, the negated sum at most const.
            up = next(iter(linear.terms.values())) > 0
            terms = linear.terms if up else {a: -k for a, k in linear.terms.items()}
            key = frozenset((a.number, k) for a, k in terms.items())
            _, low, high = sums.get(key, (terms, None, None))
            if up:
                low = -linear.const if low is None else max(low, -linear.const)
            else:
                high = linear.const if high is None else min(high, linear.const)
            sums[key] = (terms, low, high)
        found = []
        for terms, low, high in sums.values():
            letters: dict[Atom, str] = {}
            names, first = {self.inputs[a.leaf].name for a in terms}, _first_positions(terms)
            named = tuple(
                (k, self.inputs[a.leaf].name + _element(a, letters, names, first), a.leaf) for a, k in terms.items()
            )
            one = Condition(_sum_text(named), named[0][2], low, high, "", named, tuple(letters.values()))
            if one not in found:
                found.append(one)
        return tuple(found)

    def where(self, atom: Atom) -> str:
        """Which elements of its input an atom stands for."""
        shape = self.inputs[atom.leaf].aval.shape
        parts = []
        for n, p in zip(shape, atom.place, strict=True):
            lo, hi = p.bounds({})
            # A position can be written as one outside the array, for elements that are only read where it is not.
            whole = type(n) is not int or (lo <= 0 and hi >= n - 1) or len(p.terms) > 1 or lo < 0
            parts.append(":" if whole else _span(p, lo, hi))
        return f"[{', '.join(parts)}]" if any(p != ":" for p in parts) else ""

    def needs(self, limits: dict[tuple[int, str], tuple[int, int]]) -> dict[int, Need] | None:
        """The ranges as needs of whole inputs; None where no value satisfies them."""
        found: dict[int, Need] = {}
        for (leaf, where), (lo, hi) in limits.items():
            if lo > hi:
                return None
            need = Need(lo, hi) if not where else self.part(leaf, where, lo, hi)
            found[leaf] = found[leaf].both(need) if leaf in found else need
        return None if any(n.empty() for n in found.values()) else found

    def part(self, leaf: int, where: str, lo: int, hi: int) -> Need:
        shape = self.inputs[leaf].aval.shape
        if any(type(n) is not int for n in shape) or int(np.prod(shape)) > APART:
            return Need(lo, hi)
        low, high = np.full(shape, -FAR), np.full(shape, FAR)
        at = tuple(_as_slice(part.strip()) for part in where[1:-1].split(","))
        low[at], high[at] = lo, hi
        return Need(low, high)


def _is_letter(p: Linear) -> bool:
    """Whether a position is an atom and so much more or less: a letter says which, where others are any."""
    return len(p.terms) == 1 and next(iter(p.terms.values())) == 1


def _first_positions(terms: Iterable[Atom]) -> dict[Atom, int]:
    """The least that each atom is which the positions of these elements are told by, with all of them in their arrays.

    A letter counts from 0, as a reader takes it to, and what it stands for may begin below that or far above.
    """
    nearest: dict[Atom, int] = {}
    for p in [p for atom in terms for p in atom.place if _is_letter(p)]:
        atom = next(iter(p.terms))
        nearest[atom] = min(nearest.get(atom, p.const), p.const)
    return {atom: max(atom.lo, -least) for atom, least in nearest.items() if atom.lo < 0 or least < 0}


def _element(atom: Atom, letters: dict[Atom, str], names: set[str], first: dict[Atom, int]) -> str:
    """Which element of its input an atom is, with a letter for each position that varies, and is no input's name."""
    parts, free = [], [letter for letter in "ijklmnpqrst" if letter not in names] or ["i"]
    for p in atom.place:
        if not p.terms:
            parts.append(str(p.const))
        elif _is_letter(p):
            letter = letters.setdefault(next(iter(p.terms)), free[len(letters) % len(free)])
            beyond = p.const + first.get(next(iter(p.terms)), 0)
            parts.append(letter if not beyond else f"{letter}{beyond:+d}")
        else:
            parts.append(":")
    return f"[{', '.join(parts)}]" if parts else ""


def _span(p: Linear, lo: int, hi: int) -> str:
    if lo == hi:
        return str(lo)
    stride = abs(next(iter(p.terms.values())))
    return f"{lo}:{hi + 1}" + (f":{stride}" if stride > 1 else "")


def _as_slice(part: str) -> Any:
    if ":" not in part:
        return int(part)
    return slice(*[int(x) if x else None for x in part.split(":")])


def _sum_text(terms: tuple[tuple[int, str, int], ...]) -> str:
    text = ""
    for k, name, _ in sorted(terms, key=lambda t: t[0] < 0):
        size = name if abs(k) == 1 else f"{abs(k)}·{name}"
        text = (f"-{size}" if k < 0 else size) if not text else f"{text} {'-' if k < 0 else '+'} {size}"
    return text


def _begins_where_it_ends(case: Case, other: Case) -> bool:
    """Whether the same index goes on from one region to the next, further out, in some of what it is made of."""
    if other.above != case.above or other.index.key() != case.index.key():
        return False
    for atom, k in case.index.terms.items():
        mine, theirs = span_of(case.region, atom), span_of(other.region, atom)
        if theirs[0] == mine[1] + 1 if (k > 0) == case.above else theirs[1] == mine[0] - 1:
            return True
    return False


def _behind(case: Case) -> set[Atom]:
    """The atoms of an index, and those that constraints tie them to: of a quotient, what is divided.

    A range of one of these says where the index is; one of another input only keeps the program from getting there.
    """
    found, before = set(case.index.terms), 0
    while before < len(found):
        before = len(found)
        for guard in case.region.guards:
            if not found.isdisjoint(guard.terms):
                found.update(guard.terms)
    return found


def _not_wrapping(region: Region) -> Linear | None:
    """At least 0 when a sum of inputs is too small to wrap in a region where it does; None where there is none."""
    for guard in region.guards:
        excess = in_inputs(guard, region)
        if excess is not None and len(excess.terms) > 1 and abs(excess.const) > NEAR:
            return -excess - 1
    return None


def _short_of(region: Region, far: int) -> tuple[Atom, int, int] | None:
    """A range of one input that ends before a region where a value wraps: it begins `far` from the plainer numbers."""
    for atom, (lo, hi) in region.box.items():
        if atom.leaf >= 0 and lo > far and _is_plain(atom, -FAR, lo - 1):
            return atom, -FAR, lo - 1
        if atom.leaf >= 0 and hi < -far and _is_plain(atom, hi + 1, FAR):
            return atom, hi + 1, FAR
    return None


def _as_others(kept: tuple[Atom, int, int], limits: dict[tuple[int, str], tuple[int, int]]) -> tuple[Atom, int, int]:
    """A range that only keeps elements of an input from wrapping, less what other elements of it must leave out."""
    atom, lo, hi = kept
    others = [limit for (leaf, _), limit in limits.items() if leaf == atom.leaf]
    return atom, max([lo, *(low for low, _ in others if lo > -FAR)]), min([hi, *(up for _, up in others if hi < FAR)])


def _is_made(case: Case, by_type: ByType) -> bool:
    """Whether the program's own limits, not an input's range, end the values the index can have out there."""
    # Below zero it is jnp that limits, by counting from the end, or the type does, by wrapping.
    if case.wrapped or any(span_of(case.region, a)[1] < 0 for a in case.index.terms):
        return False
    return is_limited(case.index if case.above else -case.index, case.region, by_type)


def _is_wrapped_back(case: Case, atom: Atom, lo: int, hi: int) -> bool:
    """Whether only numbers that wrap lead to a region from below it: bytes of which a letter's number was taken.

    Those above it do not, and are what is meant, though the lowest may have wrapped so far that they are inside again.
    """
    narrow = atom.lo == 0 and (atom.lo, atom.hi) in NARROW
    return narrow and lo > 0 and hi < atom.hi and case.index.terms.get(atom) == 1 and case.index.const > atom.hi // 2


def _is_plain(atom: Atom, lo: int, hi: int) -> bool:
    """Whether a range leaves an input some of the plainer numbers it can have: a quarter of them, around zero.

    Of bytes half of them are plain: letters are.
    """
    span = atom.hi - atom.lo
    near = max(span // (2 if span < 256 else 4), 1)
    return lo <= max(atom.lo, near) and hi >= min(atom.hi, -near)
