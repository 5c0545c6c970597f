"""Backward: what a condition known to hold says about the values it was made from.

How each kind of equation hands it on is in `refine_elementwise.py` and `refine_reductions.py`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, meet, settle, summarised
from redzone.domains.fact import SHORT, is_small, some, strided
from redzone.domains.symbolic import is_inconclusive
from redzone.engine.anew import apart_by, are_flags_anew, computed_anew
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.kinds import KIND
from redzone.engine.levels import (
    ALL,
    ROW,
    adds_ones,
    beside,
    has_elements,
    is_along_rows,
    moved_back,
    of_rows,
    picked,
    row_of,
)
from redzone.engine.program import COND, MORE, SIMPLE, Program, Step
from redzone.engine.relations import FLIPPED, NEGATED, Infeasible, implied, is_met, satisfying, spanning
from redzone.frontend.compat import primitives
from redzone.rules.floats import single_below
from redzone.rules.table import SAME

_CONVERT: Final = primitives()["convert_element_type_p"]
_SELECT: Final = primitives()["select_n_p"]
#: How many equations one refinement may look at.
BUDGET: Final = 60
#: A bound beyond this comes from an integer type.
FAR: Final = 2**30
#: How many comparisons of two values are looked at once more.
PAIRS: Final = 4
#: The same of other steps, which said little of one operand as long as another was not known better.
OPEN: Final = 6
#: How deep a choice of choices is looked into.
CHOICES: Final = 4


_BACKWARD: Final = {kind: f"_{kind}" for kind in KIND.values()}
#: What says more of one operand once another is known better.
_BY_OTHERS: Final = frozenset(("add", "sub", "min", "max"))


class Narrowing:
    """What assumed conditions say of the values they were made from, over one program and its current environment."""

    __slots__ = (
        "anew",
        "budget",
        "counted",
        "cuts",
        "defs",
        "env",
        "fails",
        "fixed",
        "known",
        "learnt",
        "learnt_since",
        "looked",
        "masks",
        "nested",
        "open",
        "pairs",
        "program",
        "promised",
        "recomputed",
        "rows",
        "second",
        "tentative",
    )

    def __init__(self, program: Program, env: list[Any]) -> None:
        self.program = program
        self.defs = program.defs
        self.learnt = 0
        self.counted = 0
        """How many of what is known `learnt` tells."""
        self.masks: list[int] = []
        self.env = env
        self.known: dict[tuple[int, Any], Fact] = {}
        self.recomputed: dict[tuple[int, Any], Fact] = {}
        self.tentative: dict[tuple[int, Any], Fact] = {}
        """What was recomputed only in part, for the value now asked for."""
        self.cuts = 0
        """How often the budget or the depth ended a look."""
        self.budget = BUDGET
        self.pairs: list[tuple[Step, str, Any, int]] = []
        """Comparisons of two values that were assumed, and how much was known when they were looked at."""
        self.learnt_since = 0
        self.open: list[tuple[Step, str, Fact, Any, int]] = []
        """Other steps that may say more once more is known, by how they are gone back through, likewise."""
        self.second = False
        """Whether it looks at them once more, by what follows for their operands from all that was learnt since."""
        self.rows = False
        """Whether anything is known of whole rows."""
        self.anew = computed_anew(program)
        """The slots of numbers that may not be the same wherever they are used."""
        self.promised = False
        """Whether it is promised, and so holds of a number wherever that is used."""
        self.fixed = False
        """Whether anything was learnt of a constant: it is made from nothing, so that no mask tells."""
        self.nested = False
        """Whether it looks at one of two cases for another refinement, which looks at both."""
        self.looked: set[int] = set()
        """The slots of the environment that it looked at, and `MORE` where it looked at anything else of a run."""
        self.fails = False
        """Whether what was assumed cannot hold."""

    def at(self, slot: int) -> Any:
        """What is known of a value before anything is assumed; it is noted that somebody looked."""
        self.looked.add(slot)
        return self.env[slot]

    def level_of(self, step: Step, position: int, level: Any) -> Any:
        """The level at which an elementwise step's operand is known, or None if positions differ."""
        if level is ALL:
            return ALL
        shape = getattr(step.eqn.invars[position].aval, "shape", ())
        if not shape:
            return ALL
        whole = step.eqn.outvars[0].aval.shape
        return level if shape == whole else beside(level, shape, whole)

    def current(self, slot: int, level: Any) -> Fact:
        return (self.found(slot, level) if self.rows else self.known.get((slot, level))) or self.at(slot)

    def found(self, slot: int, level: Any) -> Fact | None:
        """What has been learnt of a value at this level; what holds for a whole row holds for its elements."""
        known = self.known.get((slot, level))
        if not self.rows:
            return known
        rows = row_of(level)
        row = self.known.get((slot, rows[0])) if rows is not None else None
        if rows is None or row is None:
            return known
        row = picked(row, rows[1])
        if known is None:
            return row
        both = meet(summarised(known), row)
        if both is None:
            raise Infeasible
        return both

    def operand(self, step: Step, position: int, level: Any) -> Fact:
        slot = step.ins[position]
        if level is ALL and not self.rows and not self.second:
            return self.known.get((slot, ALL)) or self.at(slot)
        inner = self.level_of(step, position, level)
        return self.at(slot) if inner is None else self.now(slot, inner)

    def assume(self, slot: int, truth: int, level: Any) -> None:
        """Use that a bool (or the branch number it was converted to) has this value."""
        self.narrow(slot, Fact(truth, truth, 0), level)
        self.again()

    def again(self) -> None:
        """Look once more at what others have told more about since: `a <= b and b < 10`, `where(op == 0, ok, full)`."""
        if not self.pairs and not self.open:
            return
        self.second = True
        for _ in range(PAIRS):
            stale = [k for k, pair in enumerate(self.pairs[:PAIRS]) if self.learnt_since > pair[3]]
            left = [k for k, one in enumerate(self.open[:OPEN]) if self.learnt_since > one[4]]
            if not stale and not left:
                break
            for k in stale:
                step, relation, level, _ = self.pairs[k]
                self.pairs[k] = (step, relation, level, self.learnt_since)
                self.as_far_as_told(self.compare, step, relation, level)
            for k in left:
                step, kind, fact, level, _ = self.open[k]
                self.as_far_as_told(getattr(self, _BACKWARD[kind]), step, fact, level)
                self.open[k] = (step, kind, fact, level, self.learnt_since)
        self.forget()

    def as_far_as_told(self, look: Callable[..., None], *given: Any) -> None:
        """Look at something up to where sizes cannot be compared."""
        try:
            look(*given)
        except Exception as error:
            if not is_inconclusive(error):
                raise

    def forget(self) -> None:
        """Leave nothing open, nor anything that was computed while some was."""
        self.second = False
        self.pairs.clear()
        self.open.clear()
        self.recomputed.clear()

    def leave_open(self, step: Step, kind: str, fact: Fact, level: Any) -> None:
        """Note a step that may say more of its operands once one of them is known better."""
        if not self.second and len(self.open) < OPEN:
            self.open.append((step, kind, fact, level, self.learnt_since))

    def now(self, slot: int, level: Any) -> Fact:
        """What is known of a value; at a second look, what follows for it from all that was learnt."""
        return self.current(slot, level)

    def compare(self, step: Step, relation: str, level: Any) -> None:
        if not step.given().integral:
            # What floats come to is not the same wherever they are computed: only what was said of them counts.
            second, self.second = self.second, False
            self.compare_floats(step, relation, level)
            self.second = second
            return
        self.compare_with(step, 0, relation, level)
        self.compare_with(step, 1, FLIPPED[relation], level)

    def compare_with(self, step: Step, mine: int, relation: str, level: Any) -> None:
        """What one of two compared integers must be beside the other."""
        a, b = self.operand(step, mine, level), self.operand(step, 1 - mine, level)
        if is_met(relation, a, b):
            return
        is_plain = type(a.lo) is int and type(b.lo) is int
        # An operand that is spread beside the other is met by all of it, and meets each element where it lies.
        if not is_plain and step.eqn.invars[mine].aval.shape != step.eqn.outvars[0].aval.shape:
            a, b = summarised(a), summarised(b)
        self.narrow_operand(step, mine, satisfying(relation, a, b), level)

    def compare_floats(self, step: Step, relation: str, level: Any, or_nan: bool = False) -> None:
        """A float comparison that holds excludes NaN.

        The negation of one that fails holds too, unless one of the numbers is NaN: of the other nothing is known then.
        What is a float32 number wherever it is used (`rounding.rounded_operands`) is at most the greatest of those
        below the other.
        """
        if relation not in ("lt", "le", "gt", "ge", "eq"):
            return
        rounded = step.extra
        a, b = self.operand(step, 0, level), self.operand(step, 1, level)
        for position, x, y, r in ((0, a, b, relation), (1, b, a, FLIPPED[relation])):
            if or_nan and y.nan:
                continue
            single = rounded is not None and rounded[position]
            lo: Any
            hi: Any
            if type(y.lo) is not np.ndarray:
                lo, hi = _beside(y.lo, y.hi, r, single)
            elif self.meets_one_by_one(step, position, x, y):
                ends = [
                    _beside(low, high, r, single)
                    for low, high in zip(y.lo.ravel().tolist(), y.hi.ravel().tolist(), strict=True)
                ]
                lo, hi = (np.array([end[k] for end in ends]).reshape(y.lo.shape) for k in (0, 1))
            else:
                y = summarised(y)
                lo, hi = _beside(y.lo, y.hi, r, single)
            self.narrow_operand(step, position, Fact(lo, hi, 1, or_nan), level)

    def meets_one_by_one(self, step: Step, position: int, x: Fact, y: Fact) -> bool:
        """Whether each element of an operand is compared with one of a few that are kept apart, `p < [8.0, 6.0]`."""
        if step.eqn.invars[position].aval.shape != step.eqn.outvars[0].aval.shape or y.lo.size > SHORT:
            # What is spread beside the other meets several of its elements.
            return False
        return y.lo.shape == y.hi.shape and (type(x.lo) is not np.ndarray or x.lo.ndim == y.lo.ndim)

    def narrow_operand(self, step: Step, position: int, fact: Fact | None, level: Any) -> None:
        inner = ALL if level is ALL else self.level_of(step, position, level)
        if inner is not None and fact is not None:
            # Of what is spread beside the others each element meets several of theirs.
            self.narrow(step.ins[position], fact if inner is level or inner is ALL else summarised(fact), inner)

    def narrow(self, slot: int, fact: Fact, level: Any) -> None:
        """Use that a value satisfies a fact, and what follows for the values it was made from."""
        old: Any = self.found(slot, level) if self.rows else self.known.get((slot, level))
        if old is None:
            old = self.at(slot)
            if old is None:
                return
        is_plain = type(fact.lo) is int or type(old.lo) is int
        if not is_plain and fact.kept and old.kept and fact.lo.ndim != old.lo.ndim:
            fact = summarised(fact)
        given = fact
        if self.anew and slot in self.anew and not self.promised:
            fact = self.as_computed_anew(slot, fact)
        anywhere = new = meet(old, fact)
        if given is not fact and self.is_chosen(slot):
            # What it was made of here is what was asked for here, whatever it is elsewhere.
            fact = given
            new = meet(old, given)
        if new is None or anywhere is None:
            raise Infeasible
        if new is old or (new.step == old.step and _same(new, old)):
            return
        if self.program.unknown and slot in self.program.unknown:
            # It stands for every value of its type that nobody asked about: of which is this said?
            return
        step = self.defs.get(slot)
        if anywhere is not old and (not self.anew or self.promised or not self.is_flag_anew(slot)):
            self.known[slot, level] = anywhere
            self.learnt_since += 1
        if step is None and slot in self.program.equal:
            self.narrow(self.program.equal[slot], new, level)
        if new.step == 0 and level is ALL and self.program.linked:
            self.by_links(slot, new)
        if step is None or self.budget <= 0:
            return
        if step.kind != SIMPLE:
            if step.kind == COND and level is ALL and not self.nested:
                self.budget -= 1
                self.taken(step, slot, new)
            return
        self.budget -= 1
        if fact.step == 0:
            # At the positions considered it is this constant, also where elements are kept apart.
            new = fact
        kind = step.way_back(KIND)
        if kind and step.outs[0] == slot:
            try:
                self.backward(step, kind, new, level)
            except Exception as error:
                if not is_inconclusive(error):
                    raise
        elif step.rule is SAME:
            self.narrow(step.ins[0], new, level)
        elif step.rule is FLOOR_DIVIDE:
            self._floor_divide(step, new, level)
        elif step.rule is REMAINDER:
            self.congruent(step, new, level)

    def by_links(self, slot: int, fact: Fact) -> None:
        """Use what is known of other carries by the value of a flag (`engine/flags.py`, `engine/spent.py`)."""
        self.looked.add(MORE)
        linked = self.program.linked.get(id(self.env))
        for other, known in linked[1].get(slot, {}).get(fact.lo, {}).items() if linked is not None else ():
            self.narrow(other, known, ALL)

    def taken(self, step: Step, slot: int, fact: Fact) -> None:
        """Use what one of the results of a cond is: a refinement that can look into its branches does."""

    def as_computed_anew(self, slot: int, fact: Fact) -> Fact:
        """What a comparison says of a number wherever that is used (`engine/anew.py`)."""
        whole = summarised(fact)
        if type(whole.lo) not in (int, float) or type(whole.hi) not in (int, float):
            return fact
        self.looked.add(MORE)
        below, above = (apart_by(self.program, self.env, slot, float(bound)) for bound in (whole.lo, whole.hi))
        if not below and not above:
            return fact
        old = summarised(self.at(slot))
        if type(old.lo) is not float:
            below, above = (int(by) if by < math.inf else by for by in (below, above))
        lo, hi = (whole.lo - below if below < math.inf else old.lo), (whole.hi + above if above < math.inf else old.hi)
        return Fact(lo, hi, 1, fact.nan)

    def is_chosen(self, slot: int) -> bool:
        """Whether an integer is one of several, or a bool that was converted."""
        step = self.defs.get(slot)
        if step is None or step.kind != SIMPLE or not step.yields().integral:
            return False
        return step.eqn.primitive is _SELECT or (step.eqn.primitive is _CONVERT and step.given().kind == "b")

    def is_flag_anew(self, slot: int) -> bool:
        """Whether a bool may come out in another way in another place."""
        step = self.defs.get(slot)
        is_flag = step is not None and step.yields().kind == "b"
        return is_flag and are_flags_anew(self.program, slot)

    def backward(self, step: Step, kind: str, fact: Fact, level: Any) -> None:
        if kind in FLIPPED:
            if fact.step == 0:
                if step.given().kind == "f" and not fact.lo:
                    self.compare_floats(step, NEGATED[kind], level, True)
                    return
                relation = kind if fact.lo else NEGATED[kind]
                self.compare(step, relation, level)
                if len(self.pairs) < PAIRS and not self.is_by_constant(step):
                    self.pairs.append((step, relation, level, self.learnt_since))
                others = self.program.compared()
                if others and step.ins in others:
                    for other, truth in implied(self.program, step, relation):
                        self.narrow(other, Fact(truth, truth, 0), level)
                if self.program.searched():
                    self.found_before(step, relation, level)
        elif kind == "same":
            self.narrow(step.ins[0], fact, level)
        elif kind == "move":
            if level is ALL:
                if step.primitive.name == "slice":
                    self.narrow_part(step, fact)
                elif has_elements(step.eqn.outvars[0].aval):
                    self.narrow(step.ins[0], summarised(fact), ALL)
            else:
                self.narrow(step.ins[0], summarised(fact), self.behind(step, level))
        else:
            getattr(self, _BACKWARD[kind])(step, fact, level)
            if kind in _BY_OTHERS and not self.second and not self.is_by_constant(step):
                self.leave_open(step, kind, fact, level)

    def may_be(self, slot: int, fact: Fact, depth: int = CHOICES) -> bool:
        """Whether a value may satisfy a fact, by what it is chosen from: of 0 and 2 and 3 none is 1."""
        known, step = self.at(slot), self.defs.get(slot)
        if known is None:
            return True
        if meet(summarised(known), fact) is None:
            return False
        if depth == 0 or step is None or step.kind != SIMPLE:
            return True
        if step.rule is SAME:
            return self.may_be(step.ins[0], fact, depth - 1)
        if step.eqn.primitive is not _SELECT:
            return True
        return any(self.may_be(case, fact, depth - 1) for case in step.ins[1:])

    def found_before(self, step: Step, relation: str, level: Any) -> None:
        """What is less than the last element of an array is found before its end (`engine/search.py`, `ahead.py`).

        Of that element, and of what is looked for, as they were where it was: not of what is computed anew here.
        """
        if not computed_anew(self.program).isdisjoint(step.ins):
            return
        for position, asked in ((0, relation), (1, FLIPPED[relation])):
            places = self.program.searched().get((step.ins[position], step.ins[1 - position]), ())
            inner = self.level_of(step, position, level) if places else None
            for found in places if inner is not None else ():
                out = found.out
                if asked == "lt" or (asked in ("le", "eq") and not found.right):
                    ends = Fact(0, found.size - 1)
                    if self.at(out) is not None:
                        self.narrow(out, ends, inner)
                    elif inner is ALL and (out, ALL) not in self.known:
                        # Not yet run: what is known of it will be met with what it turns out to be.
                        self.known[out, ALL] = ends
                        self.learnt_since += 1

    def is_by_constant(self, step: Step) -> bool:
        """Whether one of the values that a step compares is a known number."""
        first, second = step.ins
        a, b = self.current(first, ALL), self.current(second, ALL)
        return (a is not None and a.step == 0) or (b is not None and b.step == 0)

    def narrow_part(self, step: Step, fact: Fact) -> None:
        """A slice of a short array satisfies a fact: so do those elements of the array."""
        shape, old, fact = step.eqn.invars[0].aval.shape, self.current(step.ins[0], ALL), summarised(fact)
        if any(type(n) is not int for n in shape) or not 1 < math.prod(shape) <= SHORT or not is_small(old):
            return
        kind = step.yields().kind
        if not is_small(fact) or kind not in "biuf":
            return
        p = step.eqn.params
        strides = p["strides"] or (1,) * len(shape)
        part = tuple(slice(a, b, s) for a, b, s in zip(p["start_indices"], p["limit_indices"], strides, strict=True))
        lo, hi = np.array(np.broadcast_to(old.lo, shape)), np.array(np.broadcast_to(old.hi, shape))
        lo[part], hi[part] = np.maximum(lo[part], fact.lo), np.minimum(hi[part], fact.hi)
        if some(lo > hi):
            if fact.nan and old.nan:
                return
            raise Infeasible
        # Of the other elements it is not known that they are numbers.
        self.narrow(step.ins[0], settle(lo, hi, old.nan), ALL)

    def behind(self, step: Step, level: Any) -> Any:
        """The level on the other side of a rearrangement."""
        if not getattr(step.eqn.invars[0].aval, "shape", ()):
            return ALL
        if len(level) == 1 and adds_ones(step.eqn):
            # The elements stay what they are, in their order: each is where it was.
            return level
        if level[-1][0] == ROW and is_along_rows(level, step.eqn):
            return of_rows(level, step.eqn.invars[0].aval.shape)
        return moved_back(level, step.eqn)

    def _floor_divide(self, step: Step, fact: Fact, level: Any) -> None:
        b, fact = self.operand(step, 1, level), summarised(fact)
        if b.step == 0 and b.lo > 0:
            self.narrow_operand(step, 0, spanning(fact.lo * b.lo, fact.hi * b.lo + b.lo - 1), level)

    def congruent(self, step: Step, fact: Fact, level: Any) -> None:
        """A number of which the remainder is known, however it is rounded, differs from that by a multiple."""
        by = self.operand(step, 1, level)
        if by.step == 0 and type(by.lo) is int and abs(by.lo) > 1:
            self.differs_by_multiple(step, 0, fact, abs(by.lo), level)

    def differs_by_multiple(self, step: Step, position: int, fact: Fact, of: int, level: Any) -> None:
        a = summarised(self.operand(step, position, level))
        if fact.step != 0 or type(fact.lo) is not int or type(a.lo) is not int or type(a.hi) is not int:
            return
        if a.lo < -FAR or a.hi > FAR:
            # Where only its type ends a number, that is no limit which the program set.
            return
        left = strided(a.lo, a.hi, of, fact.lo)
        if left is None:
            raise Infeasible
        self.narrow_operand(step, position, left, level)


def _beside(lo: Any, hi: Any, relation: str, single: bool) -> tuple[Any, Any]:
    """What a float can be that is in that relation to one between these two."""
    if relation == "lt" and math.isfinite(hi):
        hi = single_below(hi) if single else math.nextafter(hi, -math.inf)
    if relation == "gt" and math.isfinite(lo):
        lo = -single_below(-lo) if single else math.nextafter(lo, math.inf)
    return lo if relation in ("gt", "ge", "eq") else -math.inf, hi if relation in ("lt", "le", "eq") else math.inf


def _same(a: Fact, b: Fact) -> bool:
    if type(a.lo) is int and type(b.lo) is int and type(a.hi) is int and type(b.hi) is int:
        return a.lo == b.lo and a.hi == b.hi and a.step == b.step and a.nan == b.nan
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return a.key() == b.key() if type(a.lo) is type(b.lo) else False
    return bool(a.lo == b.lo and a.hi == b.hi and a.step == b.step and a.nan == b.nan)
