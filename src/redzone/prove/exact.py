"""The exact stage: an access's violations as regions of inputs, loop iterations and positions.

Where no region is left, the access is safe. Else the regions are what the inputs must stay out of
(`prove/violations.py`, `prove/keeping.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redzone.access.site import Site
from redzone.domains import Fact
from redzone.domains.affine import Atom
from redzone.domains.symbolic import is_inconclusive
from redzone.engine import Seen
from redzone.engine.forward import Context
from redzone.engine.program import Step
from redzone.frontend.trace import Input
from redzone.prove.elements import LOOKS, Elements
from redzone.prove.keeping import Keeping, Outcome
from redzone.prove.pieces import NotAffine, Work
from redzone.prove.violations import Bounded, Case, Use, open_columns
from redzone.stages import recorded

#: How many equations deep the first look goes.
SHALLOW: Final = 10


class Exact(Keeping):
    """The exact stage over one program."""

    def __init__(
        self, inputs: Sequence[Input], facts: Sequence[Fact], work: Work, spills: bool = True, looks: int = LOOKS
    ) -> None:
        super().__init__(inputs, facts, work, spills, looks)
        self.shallow = Elements(inputs, self.elements.rerun, work, spills)
        self.shallow.deepest = SHALLOW
        self.seen_at: dict[int, list[dict[Atom, int]]] = {}
        """By access: points at which it leaves its array although no mask hides that."""
        self.left: dict[int, list[Use | None]] = {}
        """By access: uses in which it may be seen outside; None for one without conditions that can be asked about."""
        self.known: dict[Any, tuple[Outcome | None, bool, Sequence[Seen]]] = {}
        """By question: its outcome, whether z3 was missed, and what it was about, which keeps its identity that way."""

    def proves(self, site: Site, seen: Sequence[Seen]) -> Outcome | None:
        """An outcome without violations where there are none; only asked for a proof.

        A look at the few equations nearest to the index comes first: what lies behind them is often settled by its
        bounds, and following it would use up what the question may cost. Where that look has cost all of it, a look
        at more equations would too.
        """
        deep = self.elements
        self.elements = self.shallow
        try:
            outcome = self.decide(site, seen)
        finally:
            self.elements = deep
        return outcome if outcome is not None or deep.work.done else self.decide(site, seen)

    @recorded("exactly")
    def keeps_inside(self, step: Step, context: Context, conditions: Sequence[Bounded]) -> bool:
        """Whether an access never leaves its array where all of these conditions lie between their bounds.

        Further than the few equations nearest to the index is only looked where relations are promised.
        """
        one = Seen([context.env[slot] for slot in step.ins], step, context, inside=False)
        if step.site is None or step.extra is not None or None in one.facts:
            return False
        deep = self.elements
        for elements in (self.shallow, deep) if context.program.assumed else (self.shallow,):
            self.elements = elements
            elements.work.begin()
            cases: list[Case] | None = None
            self.untold = False
            try:
                cases = self.violations(step.site, one, conditions)
            except NotAffine:
                pass
            except Exception as error:
                if not is_inconclusive(error):
                    raise
            finally:
                self.elements = deep
            left = None if cases is None else next((case for case in cases if self.possible(case)), None)
            found = cases is not None and left is None
            if left is not None and left.point is not None and elements is deep and not self.untold:
                self.seen_at.setdefault(id(step.eqn), []).append(left.point)
            elements.work.answered(found)
            if found or elements.work.done:
                return found
        return False

    @recorded("exactly")
    def decide(self, site: Site, seen: Sequence[Seen]) -> Outcome | None:
        """The violations of an access; None where it cannot be said."""
        question = (self.elements is self.shallow, _question(site, seen))
        known = self.known.get(question)
        if known is not None:
            self.elements.missed_z3 = self.elements.missed_z3 or known[1]
            return known[0]
        work = self.elements.work
        work.begin(max((open_columns(site, one) for one in seen if not one.inside), default=1))
        before, self.elements.missed_z3 = self.elements.missed_z3, False
        outcome = self.decided(site, seen)
        self.known[question] = (outcome, self.elements.missed_z3, seen)
        self.elements.missed_z3 = self.elements.missed_z3 or before
        work.answered(outcome is not None and (not outcome.cases or outcome.needs is not None))
        return outcome

    @recorded("exactly")
    def decide_seen(self, site: Site, uses: Sequence[Use]) -> Outcome | None:
        """The same of the violations that somebody sees, in any of these uses; None also where it says too little."""
        work = self.elements.work
        work.begin()
        seen = [(Seen([c.env[slot] for slot in step.ins], step, c, inside=False), how) for step, c, how in uses]
        self.told = False
        cases = None if any(None in one.facts for one, _ in seen) else self.leaving(site, seen)
        outcome = self.condition(cases, seen=True) if cases is not None and self.told else None
        work.answered(outcome is not None and outcome.needs is not None)
        return outcome

    def decided(self, site: Site, seen: Sequence[Seen]) -> Outcome | None:
        cases = self.leaving(site, [(one, ()) for one in seen if not one.inside])
        if cases is None:
            return None
        if not self.elements.spills:
            # Only asked for a proof: the first region that cannot be ruled out ends it.
            by = "exact"
            for case in cases:
                if self.possible(case):
                    if not self.solved(case):
                        return None
                    by = "z3"
            return Outcome([], by=by)
        return self.condition(cases)


def _question(site: Site, seen: Sequence[Seen]) -> Any:
    """Equal for accesses at the same indices of arrays as long as each other: a read and the write of its gradient."""
    columns = []
    for column in site.columns:
        plain = column.also is None and column.repeat == 1 and type(column.limit) is int
        index = site.eqn.invars[column.operand].aval
        columns.append((column.column, column.limit if plain else None, index.shape, index.dtype))
    return (*columns, *[(id(one.context), one.step.ins) for one in seen if not one.inside])
