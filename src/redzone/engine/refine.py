"""Refinement: what a condition known to hold says about the values it was made from, and back.

A condition narrows its operands backward through the equations that made them; then the value asked
for is computed again, forward, from what changed. The way back is in `narrowing.py`, and for which
elements of an array something is known in `levels.py`.
"""

from __future__ import annotations

import itertools
import math
from typing import Any, Final

import numpy as np

from redzone.domains import FALSE, DtypeInfo, Fact, dtype_info, join, leq, meet, settle, summarised
from redzone.domains.symbolic import is_inconclusive
from redzone.engine.alternatives import multiplied
from redzone.engine.kinds import KIND
from redzone.engine.levels import ALL, is_of_several
from redzone.engine.moved import LIMITS, MOVES
from redzone.engine.program import BITS, MORE, SIGNATURE, SIMPLE, Program, Step
from redzone.engine.refine_reads import Reads
from redzone.engine.relations import Infeasible
from redzone.engine.rounding import APART, PUT_TOGETHER
from redzone.engine.wrapping import from_the_end, wrap_of
from redzone.frontend.compat import primitives
from redzone.rules import RULES
from redzone.rules.floats import slack
from redzone.rules.table import SAME

#: How many equations deep a value is recomputed.
DEPTH: Final = 14
#: How many equations deep a condition is, to see whether it is open.
SHALLOW: Final = 3
#: The rules of steps that are looked at with and without a condition that is in them.
BLENDED: Final = frozenset(RULES[primitives()[n]] for n in ("add_p", "sub_p", "mul_p"))
#: The rule of products.
MULTIPLIED: Final = RULES[primitives()["mul_p"]]


class Refiner(Reads):
    """Knowledge gained from assumed conditions, over one program and its current environment."""

    __slots__ = ()

    def value(self, slot: int, level: Any) -> Fact:
        """What a slot holds given everything assumed, recomputed where its operands changed."""
        masks = self.masks = self.program.behind()
        if len(self.known) != self.counted:
            # What was learnt since lies behind what is told already.
            for known, _ in itertools.islice(self.known, self.counted, None) if self.counted else self.known:
                self.learnt |= BITS[known % SIGNATURE]
                self.fixed = self.fixed or not masks[known]
            self.counted = len(self.known)
        if not masks[slot] & self.learnt and not self.fixed:
            unchanged: Fact = self.at(slot)
            return unchanged
        self.tentative.clear()
        before = self.budget
        try:
            return self.recompute(slot, level, DEPTH)
        finally:
            # What a value costs is not taken from the next one's.
            self.budget = before

    def now(self, slot: int, level: Any) -> Fact:
        return self.value(slot, level) if self.second else self.current(slot, level)

    def recompute(self, slot: int, level: Any, depth: int, related: bool = False) -> Fact:
        """The same, down to some depth; `related` tells that something was learnt of what it is made from."""
        key = (slot, level)
        done = self.recomputed.get(key)
        if done is not None:
            return done
        if self.tentative:
            done = self.tentative.get(key)
            if done is not None:
                self.cuts += 1
                return done
        known = self.found(slot, level) if self.rows else self.known.get(key)
        if known is None and level is not ALL:
            # What holds of all elements holds of each.
            known = self.known.get((slot, ALL))
        env = self.env
        fact: Fact = known if known is not None else self.at(slot)
        masks, learnt, fixed = self.masks, self.learnt, self.fixed
        if not related and not masks[slot] & learnt:
            return fact
        step = self.defs.get(slot)
        if step is None or step.kind != SIMPLE or step.rule is None or step.rule.elsewhere or fact.step == 0:
            return fact
        if depth <= 0 or self.budget <= 0:
            self.cuts += 1
            return fact
        self.budget -= 1
        cuts = self.cuts
        rule = step.rule
        facts, changed, looked = [], False, self.looked
        for position, source in enumerate(step.ins):
            before = env[source]
            looked.add(source)
            related = bool(masks[source] & learnt)
            if not related and not fixed:
                # Nothing was learnt of it, nor of anything it is made from.
                facts.append(before)
                continue
            inner: Any = None
            if level is ALL:
                inner = ALL
            elif rule.pointwise or step.primitive.name == "select_n":
                inner = self.level_of(step, position, level) if len(step.ins) == len(step.eqn.invars) else level
            elif rule.moves and position == 0:
                inner = self.behind(step, level)
            after = before
            if inner is not None:
                after = self.recompute(source, inner, depth - 1, related)
            if after is not before:
                changed = True
                if step.primitive in PUT_TOGETHER and is_of_floats(after):
                    after = self.not_yet_rounded(step, source, before, after)
            facts.append(after)
        if changed:
            try:
                n = wrap_of(step)
                result: Any = None if n is None else from_the_end(facts[1], n)
                if result is not None:
                    pass
                elif len(facts) == 2:
                    result = rule.apply(step.eqn, facts[0], facts[1])
                elif len(facts) == 1:
                    result = rule.apply(step.eqn, facts[0])
                else:
                    result = rule.apply(step.eqn, *facts)
            except Exception as error:
                if not is_inconclusive(error):
                    raise
                result = fact
            if type(result) is list:
                result = result[step.outs.index(slot)]
            narrowed = meet(fact, result) if _comparable(fact, result) else result
            if narrowed is None:
                raise Infeasible
            fact = narrowed
            if type(step.extra) is list and rule in BLENDED and not self.nested:
                fact = self.with_and_without(step, slot, level, fact)
        if self.cuts == cuts:
            self.recomputed[key] = fact
        else:
            self.tentative[key] = fact
        return fact

    def with_and_without(self, step: Step, slot: int, level: Any, fact: Fact) -> Fact:
        """A sum or product in which something counts only under a condition, `x * ok + 9 * (1 - ok)`: with and without.

        At each position considered the condition is 0 or 1, and so the sum is what it is in one of the two cases, in
        which everything holds that is known already.
        """
        if type(fact.lo) is not int or type(fact.hi) is not int or fact.hi - fact.lo < 2:
            return fact
        for factor, shaped in step.extra:
            inner = level if shaped else ALL
            # Of several elements each has a condition of its own: it need not be the same for all.
            if (shaped and is_of_several(level)) or not is_flag(self.recompute(factor, inner, SHALLOW)):
                continue
            found: Fact | None = None
            is_product = step.rule is MULTIPLIED
            for truth in (1, 0) if is_product else (0, 1):
                case = Refiner(self.program, self.env)
                case.nested, case.known, case.rows = True, self.known.copy(), self.rows
                case.counted, case.learnt, case.fixed = self.counted, self.learnt, self.fixed
                case.looked = self.looked
                try:
                    case.assume(factor, truth, inner)
                    asked = multiplied(step, factor, level) if truth and is_product else (slot, level)
                    value = meet(fact, case.value(*asked))
                except Infeasible:
                    continue
                if value is None:
                    continue
                if leq(fact, value):
                    return fact
                found = value if found is None else join(found, value)
                if is_product and truth and leq(FALSE, found):
                    # Without it the product is 0, which is among these.
                    break
            if found is None:
                raise Infeasible
            narrowed = meet(fact, found) if _comparable(fact, found) else None
            return fact if narrowed is None else narrowed
        return fact

    def taken(self, step: Step, slot: int, fact: Fact) -> None:
        """Use what one of the results of a cond is: a branch that cannot yield it was not taken.

        In each of the others it says more of what that branch computed, and so of its other results. One of them was
        taken: what all of them say, joined, holds. Of floats nothing is taken out of a branch.
        """
        self.looked.add(MORE)
        found: list[Fact | None] = []
        ways: list[tuple[int, Refiner]] = []
        which = step.outs.index(slot)
        for k, (results, env) in (self.env[step.apart] or {}).items():
            branch = step.bodies[k]
            if which in branch.errors:
                continue
            inside = Refiner(branch, env)
            inside.nested = True
            try:
                if results[which] is None:
                    return
                inside.narrow(branch.outs[which], fact, ALL)
                inside.again()
                values = [
                    inside.value(s, ALL) if s >= 0 and results[i] is not None else None
                    for i, s in enumerate(branch.outs)
                ]
            except Infeasible:
                continue
            if ways:
                values = [None if a is None or b is None else join(a, b) for a, b in zip(found, values, strict=True)]
            found = values
            ways.append((k, inside))
        if not ways:
            raise Infeasible
        for i, out in enumerate(step.outs):
            whole = found[i]
            if out >= 0 and i != which and whole is not None and dtype_info(step.eqn.outvars[i].aval.dtype).integral:
                self.learn(out, whole)
        if len(ways) == 1:
            self.only_way(step, *ways[0])

    def only_way(self, step: Step, k: int, inside: Refiner) -> None:
        """Use that a branch was taken, and what is known in there of what it was given."""
        number = summarised(self.current(step.ins[0], ALL))
        if type(number.lo) is int and type(number.hi) is int:
            # The first and the last one are taken by all numbers beyond them.
            lo, hi = k if k else min(number.lo, 0), k if k < len(step.bodies) - 1 else max(number.hi, k)
            self.narrow(step.ins[0], Fact(lo, hi, 0 if lo == hi else 1), ALL)
        for (_, inner), place in zip(inside.program.inputs, step.extra[k], strict=True):
            known = inside.known.get((inner, ALL))
            if known is not None and type(summarised(known).lo) is int:
                self.narrow(step.ins[place], known, ALL)

    def learn(self, slot: int, fact: Fact) -> None:
        """Note what is known of a result of a cond beside another, of which all that follows was said already."""
        old: Any = self.known.get((slot, ALL)) or self.at(slot)
        if old is None or slot in self.program.unknown or slot in self.anew or not _comparable(old, fact):
            return
        new = meet(old, fact)
        if new is None:
            raise Infeasible
        if new is not old and not leq(old, new):
            self.known[slot, ALL] = new
            self.learnt_since += 1

    def not_yet_rounded(self, step: Step, slot: int, before: Fact, after: Fact) -> Fact:
        """What a float that was compared is to a sum or product that it goes into.

        The compiler may fuse the two, or put their constants together: then the one that it goes into is made from the
        exact number, which lies beside the one that was compared, and has its sign. A constant that is added to a sum
        is first added to the sum's own, and rounded as large as that may be. Factors are not put into sums.
        """
        made = self.defs.get(slot)
        while made is not None and made.kind == SIMPLE and (made.rule is SAME or made.primitive in MOVES):
            made = self.defs.get(made.ins[0])
        if made is None or made.kind != SIMPLE or not is_of_floats(before):
            return after
        kind, into, far = KIND.get(made.primitive), KIND.get(step.primitive), 0.0
        converted = kind == "convert" and not made.given().integral
        if made.primitive in APART and not converted and not self.is_unlimited(made):
            return after
        if kind in ("add", "sub"):
            if into in ("mul", "div"):
                return after
            for fact in [self.at(source) for source in made.ins]:
                if fact.step == 0 and type(fact.lo) is float:
                    far = max(far, abs(fact.lo))
        info = made.yields()
        if type(after.lo) is float and type(before.lo) is float:
            return settle(*_unrounded(after.lo, after.hi, before.lo, before.hi, far, info), after.nan)
        if not _comparable(after, before):
            after, before = summarised(after), summarised(before)
        ends = np.broadcast_arrays(after.lo, after.hi, before.lo, before.hi)
        numbers = zip(*[end.ravel().tolist() for end in ends], strict=True)
        each = [_unrounded(lo, hi, low, high, far, info) for lo, hi, low, high in numbers]
        lows, highs = (np.array(one, np.float64).reshape(ends[0].shape) for one in zip(*each, strict=True))
        return settle(lows, highs, after.nan)

    def is_unlimited(self, step: Step) -> bool:
        """Whether a maximum, minimum or clamp may be nothing to the compiler, as no number is above infinity."""
        if step.primitive not in LIMITS:
            return False
        facts = [self.at(one) for one in step.ins]
        return any(type(fact.lo) is float and fact.lo == fact.hi and math.isinf(fact.lo) for fact in facts)


def assuming(program: Program, env: list[Any], slot: int, truth: int, level: Any) -> Refiner | None:
    """What follows from a condition that comes out this way; None where it cannot."""
    refiner = Refiner(program, env)
    try:
        refiner.assume(slot, truth, level)
    except Infeasible:
        return None
    return refiner


def _unrounded(lo: float, hi: float, low: float, high: float, far: float, info: DtypeInfo) -> tuple[float, float]:
    """Ends that a comparison told of a number, or of one this far from zero, before it is rounded; others stay."""
    if lo != low and math.isfinite(lo) and (lo or far):
        lo = max(lo - slack(max(abs(lo), far), info), low)
    if hi != high and math.isfinite(hi) and (hi or far):
        hi = min(hi + slack(max(abs(hi), far), info), high)
    return lo, hi


def is_of_floats(fact: Fact) -> bool:
    return type(fact.lo) is float or (type(fact.lo) is np.ndarray and fact.lo.dtype.kind == "f")


def is_flag(fact: Fact) -> bool:
    """Whether a number can be 0 or 1 and nothing else."""
    return type(fact.lo) is int and fact.lo == 0 and type(fact.hi) is int and fact.hi == 1


def _comparable(a: Fact, b: Fact) -> bool:
    if type(a.lo) is int or type(b.lo) is int:
        return True
    return type(a.lo) is not np.ndarray or type(b.lo) is not np.ndarray or a.lo.ndim == b.lo.ndim
