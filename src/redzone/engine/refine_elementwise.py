"""What a fact about one element says of those it was made from: arithmetic, connectives, selects."""

from __future__ import annotations

import math
from typing import Any

from redzone.domains import Fact, meet, summarised
from redzone.domains.symbolic import fits
from redzone.engine.narrowing import Narrowing
from redzone.engine.program import Step
from redzone.engine.relations import Infeasible, excluding, spanning
from redzone.engine.wrapping import before_wrap, wrap_of


class Elementwise(Narrowing):
    """Backward through equations that make each element of their result from those beside it."""

    __slots__ = ()

    def _not(self, step: Step, fact: Fact, level: Any) -> None:
        if step.yields().kind == "b" and fact.step == 0:
            self.narrow(step.ins[0], Fact(1 - fact.lo, 1 - fact.lo, 0), level)

    def _and(self, step: Step, fact: Fact, level: Any) -> None:
        if self.integral(step):
            # The last bits of a number, in two's complement, are what it is modulo a power of two.
            for position in (0, 1):
                bits = self.operand(step, 1 - position, level)
                if bits.step == 0 and type(bits.lo) is int and bits.lo > 0 and bits.lo & (bits.lo + 1) == 0:
                    self.differs_by_multiple(step, position, fact, bits.lo + 1, level)
            return
        self.connective(step, fact, level, decisive=1)

    def _or(self, step: Step, fact: Fact, level: Any) -> None:
        self.connective(step, fact, level, decisive=0)

    def connective(self, step: Step, fact: Fact, level: Any, decisive: int) -> None:
        if step.yields().kind != "b" or fact.step != 0:
            return
        if fact.lo == decisive:
            for position in (0, 1):
                self.narrow_operand(step, position, fact, level)
            return
        for position in (0, 1):
            other = self.operand(step, 1 - position, level)
            if other.step == 0 and other.lo == decisive:
                self.narrow_operand(step, position, fact, level)
        self.leave_open(step, "or" if decisive == 0 else "and", fact, level)

    def _convert(self, step: Step, fact: Fact, level: Any) -> None:
        source = step.given()
        target = step.yields()
        if not (source.integral and target.integral):
            return
        if target.kind == "b":
            a = self.current(step.ins[0], level)
            if source.kind == "b" or (fact.step == 0 and fact.lo == 0):
                self.narrow(step.ins[0], fact, level)
            elif fact.step == 0 and type(a.lo) is int:
                other = excluding(a, 0)
                if other is not None:
                    self.narrow(step.ins[0], other, level)
            return
        a = summarised(self.current(step.ins[0], level))
        if a.lo >= target.min and a.hi <= target.max:
            self.narrow(step.ins[0], fact, level)
            return
        fact = summarised(fact)
        if type(a.lo) is int and type(a.hi) is int and type(fact.lo) is int and type(fact.hi) is int:
            # It differs from the result by so many times what the target can tell apart.
            apart = target.max - target.min + 1
            first, last = -((fact.hi - a.lo) // apart), (a.hi - fact.lo) // apart
            if first > last:
                raise Infeasible
            lo, hi = max(fact.lo + first * apart, a.lo), min(fact.hi + last * apart, a.hi)
            self.narrow(step.ins[0], Fact(lo, hi), level)

    def integral(self, step: Step) -> bool:
        return step.yields().kind in "iu"

    def pairwise(self, step: Step, level: Any) -> tuple[Fact, Fact]:
        return summarised(self.operand(step, 0, level)), summarised(self.operand(step, 1, level))

    def fits(self, step: Step, lo: Any, hi: Any) -> bool:
        info = step.yields()
        return fits(lo, hi, info.min, info.max)

    def _add(self, step: Step, fact: Fact, level: Any) -> None:
        if not self.integral(step):
            return
        a, b = self.pairwise(step, level)
        fact = summarised(fact)
        if self.fits(step, a.lo + b.lo, a.hi + b.hi):
            self.narrow_operand(step, 0, spanning(fact.lo - b.hi, fact.hi - b.lo), level)
            self.narrow_operand(step, 1, spanning(fact.lo - a.hi, fact.hi - a.lo), level)
            closer = summarised(self.operand(step, 1, level))
            if closer.lo is not b.lo or closer.hi is not b.hi:
                self.narrow_operand(step, 0, spanning(fact.lo - closer.hi, fact.hi - closer.lo), level)

    def _sub(self, step: Step, fact: Fact, level: Any) -> None:
        if not self.integral(step):
            return
        a, b = self.pairwise(step, level)
        fact = summarised(fact)
        if self.fits(step, a.lo - b.hi, a.hi - b.lo):
            self.narrow_operand(step, 0, spanning(fact.lo + b.lo, fact.hi + b.hi), level)
            self.narrow_operand(step, 1, spanning(a.lo - fact.hi, a.hi - fact.lo), level)

    def _neg(self, step: Step, fact: Fact, level: Any) -> None:
        a = summarised(self.operand(step, 0, level))
        fact = summarised(fact)
        if self.integral(step) and self.fits(step, -a.hi, -a.lo):
            self.narrow_operand(step, 0, spanning(-fact.hi, -fact.lo), level)
        elif type(fact.lo) is float:
            self.narrow_operand(step, 0, Fact(-fact.hi, -fact.lo, 1, fact.nan), level)

    def _mul(self, step: Step, fact: Fact, level: Any) -> None:
        if not self.integral(step):
            return
        fact = summarised(fact)
        a, b = self.pairwise(step, level)
        if step.ins[0] == step.ins[1]:
            self.squared(step, fact, a, level)
            return
        for position, x, k in ((0, a, b), (1, b, a)):
            if k.step == 0 and type(k.lo) is int and k.lo > 0 and self.fits(step, x.lo * k.lo, x.hi * k.lo):
                self.narrow_operand(step, position, spanning(-(-fact.lo // k.lo), fact.hi // k.lo), level)

    def _power(self, step: Step, fact: Fact, level: Any) -> None:
        if self.integral(step) and step.eqn.params.get("y", 2) == 2:
            self.squared(step, summarised(fact), summarised(self.operand(step, 0, level)), level)

    def squared(self, step: Step, fact: Fact, x: Fact, level: Any) -> None:
        """The root of a square that does not wrap."""
        if not all(type(n) is int for n in (x.lo, x.hi, fact.lo, fact.hi)) or step.ins[0] in self.program.unknown:
            return
        if not self.fits(step, 0, max(x.lo * x.lo, x.hi * x.hi)):
            return
        if fact.hi < 0:
            raise Infeasible
        root = math.isqrt(fact.hi)
        least = math.isqrt(fact.lo - 1) + 1 if fact.lo > 0 and x.lo >= 0 else x.lo
        self.narrow_operand(step, 0, spanning(max(least, -root), root), level)

    def _div(self, step: Step, fact: Fact, level: Any) -> None:
        b = self.operand(step, 1, level)
        if not self.integral(step) or b.step != 0 or b.lo <= 0:
            return
        fact = summarised(fact)
        lo = fact.lo * b.lo if fact.lo > 0 else fact.lo * b.lo - (b.lo - 1)
        hi = fact.hi * b.lo if fact.hi < 0 else fact.hi * b.lo + (b.lo - 1)
        self.narrow_operand(step, 0, spanning(lo, hi), level)

    def _rem(self, step: Step, fact: Fact, level: Any) -> None:
        """A positive remainder needs a positive dividend, a negative one a negative dividend."""
        if not self.integral(step):
            return
        self.congruent(step, fact, level)
        fact = summarised(fact)
        a = summarised(self.operand(step, 0, level))
        if fact.lo > 0:
            self.narrow_operand(step, 0, spanning(max(fact.lo, a.lo), a.hi), level)
        elif fact.hi < 0:
            self.narrow_operand(step, 0, spanning(a.lo, min(fact.hi, a.hi)), level)

    def _shift(self, step: Step, fact: Fact, level: Any) -> None:
        k, a = self.operand(step, 1, level), summarised(self.operand(step, 0, level))
        info = step.yields()
        # An arithmetic shift copies the top bit, of an unsigned number too.
        plain = info.kind == "i" or step.primitive.name == "shift_right_logical" or a.hi <= info.max >> 1
        if k.step == 0 and 0 <= k.lo < info.bits and a.lo >= 0 and self.integral(step) and plain:
            fact = summarised(fact)
            self.narrow_operand(step, 0, spanning(fact.lo << k.lo, (fact.hi << k.lo) + (1 << k.lo) - 1), level)

    def _max(self, step: Step, fact: Fact, level: Any) -> None:
        self.extreme(step, fact, level, upper=True)

    def _min(self, step: Step, fact: Fact, level: Any) -> None:
        self.extreme(step, fact, level, upper=False)

    def extreme(self, step: Step, fact: Fact, level: Any, upper: bool) -> None:
        if not self.integral(step):
            return
        a, b = self.pairwise(step, level)
        fact = summarised(fact)
        for position, x, y in ((0, a, b), (1, b, a)):
            if upper:
                lo = fact.lo if y.hi < fact.lo else x.lo
                self.narrow_operand(step, position, spanning(lo, max(fact.hi, lo)), level)
            else:
                hi = fact.hi if y.lo > fact.hi else x.hi
                self.narrow_operand(step, position, spanning(min(fact.lo, hi), hi), level)

    def _clamp(self, step: Step, fact: Fact, level: Any) -> None:
        if not self.integral(step):
            return
        low, a, high = (summarised(self.operand(step, i, level)) for i in range(3))
        fact = summarised(fact)
        lo = fact.lo if fact.lo > low.hi else a.lo
        hi = fact.hi if fact.hi < high.lo else a.hi
        if lo <= hi:
            self.narrow_operand(step, 1, spanning(lo, hi), level)

    def _sign(self, step: Step, fact: Fact, level: Any) -> None:
        if self.integral(step):
            fact, a = summarised(fact), summarised(self.operand(step, 0, level))
            lo = 1 if fact.lo >= 1 else 0 if fact.lo == 0 else a.lo
            hi = -1 if fact.hi <= -1 else 0 if fact.hi == 0 else a.hi
            if lo > hi:
                raise Infeasible
            self.narrow_operand(step, 0, spanning(lo, hi), level)

    def _abs(self, step: Step, fact: Fact, level: Any) -> None:
        a = summarised(self.operand(step, 0, level))
        info = step.yields()
        if self.integral(step) and a.lo > info.min:
            hi = summarised(fact).hi
            if hi < 0:
                raise Infeasible
            self.narrow_operand(step, 0, spanning(-hi, hi), level)
        elif type(a.lo) is float:
            fact = summarised(fact)
            if fact.hi >= 0:
                self.narrow_operand(step, 0, Fact(-fact.hi, fact.hi, 1, fact.nan), level)

    def _floor(self, step: Step, fact: Fact, level: Any) -> None:
        """A number is less than the whole number after the one that it is rounded down to."""
        fact = summarised(fact)
        self.narrow_operand(step, 0, Fact(fact.lo, _before_next(fact.hi), 1, fact.nan), level)

    def _ceil(self, step: Step, fact: Fact, level: Any) -> None:
        fact = summarised(fact)
        self.narrow_operand(step, 0, Fact(-_before_next(-fact.lo), fact.hi, 1, fact.nan), level)

    def _select(self, step: Step, fact: Fact, level: Any) -> None:
        """If only one case can give the value, that case was taken."""
        n = wrap_of(step)
        if n is not None:
            bounds = before_wrap(summarised(self.operand(step, 1, level)), summarised(fact), n)
            if bounds is not None:
                self.narrow_operand(step, 1, spanning(*bounds), level)
                return
        inner = self.level_of(step, 0, level)
        if inner is None or len(step.ins) < 3:
            return
        which, last = summarised(self.now(step.ins[0], inner)), len(step.ins) - 2
        if type(which.lo) is not int or type(which.hi) is not int:
            return
        whole, tells = summarised(fact), type(fact.lo) is int and fact.step == 0
        # Beyond the cases it picks the nearest.
        possible = [
            k
            for k in range(min(max(which.lo, 0), last), min(max(which.hi, 0), last) + 1)
            if meet(summarised(self.operand(step, k + 1, level)), whole) is not None
            and (not tells or self.may_be(step.ins[k + 1], whole))
        ]
        if not possible:
            raise Infeasible
        if which.step and which.lo >= 0 and which.hi <= last:
            only = len(possible) == 1
            self.narrow(step.ins[0], Fact(possible[0], possible[-1], 0 if only else 1), inner)
        if len(possible) == 1:
            self.narrow_operand(step, possible[0] + 1, fact, level)
        elif type(whole.lo) is int:
            self.leave_open(step, "select", fact, level)


def _before_next(x: float) -> float:
    """What all numbers are at most that, rounded down, are at most this."""
    # From 2^52 on all numbers are whole.
    return x if abs(x) >= 2.0**52 else math.nextafter(math.floor(x) + 1.0, -math.inf)
