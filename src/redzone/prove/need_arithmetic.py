"""Needs through arithmetic: what an operation's operands must keep for its result to keep its bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, summarised
from redzone.domains.symbolic import at_most, is_symbolic
from redzone.engine.program import Step
from redzone.prove.need import FAR, Lost, Need, beside, is_apart, is_far, larger, smaller

if TYPE_CHECKING:
    from redzone.prove.needs import Walk


def shifted(bound: Any, by: Any) -> Any:
    """A bound moved by a number or a size; no bound stays none."""
    if type(bound) is np.ndarray:
        if is_symbolic(by):
            raise Lost(None, "a size beside numbers kept apart")
        return np.where(np.abs(bound) >= FAR, bound, bound + by)
    return bound if is_far(bound) else bound + by


def times(bound: Any, k: int, plus: int) -> Any:
    if type(bound) is np.ndarray:
        return np.where(np.abs(bound) >= FAR, bound, bound * k + plus)
    return bound if is_far(bound) else bound * k + plus


def _sum(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any, sign: int) -> None:
    a, b = facts[0], summarised(facts[1])
    if sign < 0:
        b = Fact(-b.hi, -b.lo, b.step)
    width = [_width(f) for f in facts]
    mine, room = min(width), _width_of(need)
    if room is not None and mine > room and all(_holds_zero(f) for f in facts):
        # Neither leaves room for the other: perhaps only one of them is not zero at a time.
        whole = need.uniform()
        for position in (0, 1):
            back = sign < 0 and position == 1
            ask(position, -whole.hi if back else whole.lo, -whole.lo if back else whole.hi)
        return
    if need.loose and _is_step(facts[width[0] >= width[1]], need):
        # The program catches what the step takes too far.
        if width[0] >= width[1]:
            ask(0, need.lo, need.hi)
        else:
            ask(1, *(need.lo, need.hi) if sign > 0 else (_negated(need.hi), _negated(need.lo)))
        return
    if width[0] >= width[1]:
        ask(0, shifted(need.lo, -b.lo), shifted(need.hi, -b.hi))
    else:
        a = summarised(a)
        lo, hi = shifted(need.lo, -a.lo), shifted(need.hi, -a.hi)
        if sign > 0:
            ask(1, lo, hi)
        else:
            ask(1, _negated(hi), _negated(lo))


def _is_step(fact: Fact, need: Need) -> bool:
    """Whether a term moves a sum by little, beside the numbers it is to keep."""
    fact, need = summarised(fact), need.uniform()
    ends = [abs(b) for b in (need.lo, need.hi) if type(b) is int and not is_far(b)]
    if not ends or type(fact.lo) is not int or type(fact.hi) is not int:
        return False
    return -max(ends) < fact.lo and fact.hi < max(ends)


def _width(fact: Fact) -> Any:
    fact = summarised(fact)
    return fact.hi - fact.lo


def _width_of(need: Need) -> Any:
    """How far apart the ends of a need are; None where it has no two."""
    need = need.uniform()
    if type(need.lo) is not int or type(need.hi) is not int or is_far(need.lo) or is_far(need.hi):
        return None
    return need.hi - need.lo


def _holds_zero(fact: Fact) -> bool:
    fact = summarised(fact)
    return type(fact.lo) is int and type(fact.hi) is int and fact.lo <= 0 <= fact.hi


def _negated(bound: Any) -> Any:
    return -bound


def _add(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    _sum(walk, step, facts, need, ask, 1)


def _sub(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    _sum(walk, step, facts, need, ask, -1)


def _neg(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    ask(0, -need.hi, -need.lo)


def _abs(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    """As far from zero as it may be, on both sides; where zero is too near, on the side of the positive numbers."""
    whole = need.uniform()
    near = not at_most(whole.lo, 0)
    ask(0, whole.lo if near else _negated(whole.hi), whole.hi)


def _mul(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    for position, other in ((0, facts[1]), (1, facts[0])):
        if other.step == 0 and not other.kept and other.lo != 0:
            k = other.lo
            lo, hi = (need.lo, need.hi) if k > 0 else (_negated(need.hi), _negated(need.lo))
            ask(position, _ceil_div(lo, abs(k)), _floor_div(hi, abs(k)))
            return
    for position, other in ((0, facts[1]), (1, facts[0])):
        other = summarised(other)
        if other.lo == 0 and other.hi == 1:
            # Times a condition: itself or nothing.
            ask(position, need.lo, need.hi)
            return
    raise Lost(step)


def _ceil_div(bound: Any, k: int) -> Any:
    if type(bound) is np.ndarray:
        return np.where(np.abs(bound) >= FAR, bound, -(-bound // k))
    return bound if is_far(bound) else -(-bound // k)


def _floor_div(bound: Any, k: int) -> Any:
    if type(bound) is np.ndarray:
        return np.where(np.abs(bound) >= FAR, bound, bound // k)
    return bound if is_far(bound) else bound // k


def _div(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    k = facts[1]
    if k.step != 0 or k.lo <= 0:
        raise Lost(step)
    need = need.uniform()
    lo = times(need.lo, k.lo, 0 if need.lo > 0 else -(k.lo - 1))
    hi = times(need.hi, k.lo, 0 if need.hi < 0 else k.lo - 1)
    ask(0, lo, hi)


def _rem(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    if summarised(facts[0]).lo >= 0 and limits_divisor(facts[1], need):
        ask(1, -FAR, need.uniform().hi + 1)
        return
    walk.made = True
    ask(0, need.lo, need.hi)


def limits_divisor(divisor: Fact, need: Need) -> bool:
    """Whether a remainder that is not negative keeps a need if its divisor, positive and not constant, is small."""
    whole, divisor = need.uniform(), summarised(divisor)
    if type(divisor.lo) is not int or type(whole.hi) is not int or type(whole.lo) is not int:
        return False
    return divisor.step != 0 and divisor.lo >= 1 and whole.lo <= 0 <= whole.hi and not is_far(whole.hi)


def _mask(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    walk.made = True
    raise Lost(step)


def _shift_right(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    k = facts[1]
    if k.step != 0 or not 0 <= k.lo < 64:
        raise Lost(step)
    ask(0, times(need.lo, 1 << k.lo, 0), times(need.hi, 1 << k.lo, (1 << k.lo) - 1))


def _max_of(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    _extreme(walk, step, facts, need, ask, upper=True)


def _min_of(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    _extreme(walk, step, facts, need, ask, upper=False)


def _extreme(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any, upper: bool) -> None:
    """max: both operands stay below, one of them above; min the other way round."""
    if is_apart(need.lo) or is_apart(need.hi):
        bounds = [need.lo, need.hi, *(end for fact in facts for end in (fact.lo, fact.hi))]
        if all(type(bound) is int or type(bound) is np.ndarray for bound in bounds):
            _extreme_of_each(walk, step, facts, need, ask, upper)
            return
    need = need.uniform()
    a, b = (summarised(f) for f in facts)
    for position, x, y in ((0, a, b), (1, b, a)):
        if upper:
            cut = y.step == 0 and x.lo < y.lo < need.lo
            lo = need.lo if y.lo < need.lo and x.step != 0 else -FAR
            hi = need.hi
        else:
            cut = y.step == 0 and x.hi > y.lo > need.hi
            hi = need.hi if y.hi > need.hi and x.step != 0 else FAR
            lo = need.lo
        if cut:
            walk.made = True
        if x.step == 0:
            # The limit itself: it must not be beyond the other end.
            if (upper and x.lo > need.hi) or (not upper and x.lo < need.lo):
                raise Lost(step, "the limit itself lies outside")
            continue
        ask(position, lo, hi)


def _extreme_of_each(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any, upper: bool) -> None:
    """The same where elements have needs of their own: each coordinate of a point has its own limits."""
    for position, x, y in ((0, facts[0], facts[1]), (1, facts[1], facts[0])):
        constant, limit = np.array_equal(x.lo, x.hi), np.array_equal(y.lo, y.hi)
        if upper:
            short = np.less(y.lo, need.lo)
            lo, hi, beyond = np.where(short, need.lo, -FAR), need.hi, np.greater(x.lo, need.hi)
            cut = limit and np.any(np.less(x.lo, y.lo) & short)
        else:
            short = np.greater(y.hi, need.hi)
            lo, hi, beyond = need.lo, np.where(short, need.hi, FAR), np.less(x.hi, need.lo)
            cut = limit and np.any(np.greater(x.hi, y.hi) & short)
        if cut:
            walk.made = True
        if not constant:
            ask(position, lo, hi)
        elif np.any(beyond):
            raise Lost(step, "the limit itself lies outside")


def _clamp(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    need = need.uniform()
    low, x, high = (summarised(f) for f in facts)
    if (low.lo < need.lo and x.lo < low.lo) or (high.hi > need.hi and x.hi > high.hi):
        walk.made = True
    if low.hi > need.hi or high.lo < need.lo:
        raise Lost(step, "a limit itself lies outside")
    ask(1, need.lo if low.lo < need.lo else -FAR, need.hi if high.hi > need.hi else FAR)


def _convert(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    source, target = (dtype_info(v.aval.dtype) for v in (step.eqn.invars[0], step.eqn.outvars[0]))
    if source.integral and target.integral:
        lo, hi = larger(need.lo, target.min), smaller(need.hi, target.max)
        ask(0, lo, hi)
        return
    if source.kind == "f" and target.integral:
        ask(0, _not_below(need.lo), _negated(_not_below(_negated(need.hi))))
        return
    raise Lost(step)


def _not_below(bound: Any) -> Any:
    """The least number that is cut off to one not less than a bound: what is less than one from zero becomes zero."""
    if type(bound) is np.ndarray:
        return np.array([_not_below(x) for x in bound.ravel().tolist()], np.float64).reshape(bound.shape)
    return -_below(1 - bound) if bound <= 0 else float(bound)


def _below(bound: Any) -> float:
    """The greatest number less than a bound: a result that is not rounded yet lies between those of its type."""
    return float(bound) if is_far(bound) else math.nextafter(bound, -math.inf)


def _same(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    ask(0, need.lo, need.hi)


#: By how many numbers of a float's type an end is moved inward until an operation's rule, which knows how far what is
#: rounded may be off, says that its result keeps the need.
_INWARD: Final = (0, 1, 1, 2, 4, 8, 16)


def of_floats(step: Step, kind: str, facts: list[Fact], need: Need, ask: Any, made: Sequence[bool]) -> None:
    """Arithmetic of floats turned around: what the operand that varies most must keep beside the other.

    `made` tells which operands are results themselves: their bounds need not be numbers that the type holds.
    """
    known = [summarised(fact) for fact in facts]
    position = int(len(known) == 2 and _width(known[1]) > _width(known[0]))
    if not is_apart(need.lo) and not is_apart(need.hi):
        ask(position, *_ends(step, kind, known, position, need, made[position]))
        return
    lows, highs = np.broadcast_arrays(need.lo, need.hi)
    pairs = list(zip(lows.ravel().tolist(), highs.ravel().tolist(), strict=True))
    ends = {pair: _ends(step, kind, known, position, Need(*pair), made[position]) for pair in dict.fromkeys(pairs)}
    lo, hi = np.array([ends[pair] for pair in pairs], np.float64).T
    ask(position, lo.reshape(lows.shape), hi.reshape(lows.shape))


def _ends(step: Step, kind: str, facts: list[Fact], position: int, need: Need, made: bool) -> tuple[Any, Any]:
    """What one operand must keep, whatever the other is, for a result that keeps a need."""
    ends = _TURNED[kind](need.lo, need.hi, facts[1 - position] if len(facts) == 2 else None, position)
    if ends is None or any(end != end for end in ends):
        raise Lost(step)
    lo, hi = (
        end if is_far(end) or math.isinf(end) else _moved_inward(step, facts, position, need, end, toward, made)
        for end, toward in zip(ends, (math.inf, -math.inf), strict=True)
    )
    if lo > hi:
        raise Lost(step)
    return lo, hi


def _moved_inward(
    step: Step, facts: list[Fact], position: int, need: Need, end: float, toward: float, made: bool
) -> Any:
    """The outermost number near an end of an operand, of those tried, that makes a result which keeps the need."""
    dtype, up = step.eqn.invars[position].aval.dtype, toward > 0
    integral = dtype_info(dtype).integral
    number: Any = (math.ceil(end) if up else math.floor(end)) if integral else beside(end, None, dtype)
    for count in _INWARD:
        for _ in range(count):
            number = number + (1 if up else -1) if integral else beside(number, toward, dtype)
        tried = [number if integral else float(number)]
        if made and not integral:
            # What happens to be exact is no sign that what lies beside it is.
            tried.append(tried[0] + (float(beside(number, toward, dtype)) - tried[0]) / 3)
        if all(_keeps(step, facts, position, need, x) for x in tried):
            return tried[0]
    raise Lost(step)


def _keeps(step: Step, facts: list[Fact], position: int, need: Need, number: Any) -> bool:
    """Whether the result keeps a need where one operand is this number."""
    if step.rule is None:
        return False
    result = summarised(
        step.rule.apply(step.eqn, *[*facts[:position], Fact(number, number, 0), *facts[position + 1 :]])
    )
    return (is_far(need.lo) or need.lo <= result.lo) and (is_far(need.hi) or result.hi <= need.hi)


def _turned_sum(lo: Any, hi: Any, other: Any, position: int) -> Any:
    return shifted(lo, -other.lo), shifted(hi, -other.hi)


def _turned_difference(lo: Any, hi: Any, other: Any, position: int) -> Any:
    if position == 0:
        return shifted(lo, other.hi), shifted(hi, other.lo)
    return shifted(-hi, other.hi), shifted(-lo, other.lo)


def _turned_product(lo: Any, hi: Any, other: Any, position: int) -> Any:
    if not (other.lo > 0 or other.hi < 0):
        return None
    if other.hi < 0:
        lo, hi, other = -hi, -lo, Fact(-other.hi, -other.lo)
    return _divided(lo, other.hi if lo < 0 else other.lo), _divided(hi, other.hi if hi > 0 else other.lo)


def _turned_quotient(lo: Any, hi: Any, other: Any, position: int) -> Any:
    if position == 1 or not (other.lo > 0 or other.hi < 0):
        return None
    if other.hi < 0:
        lo, hi, other = -hi, -lo, Fact(-other.hi, -other.lo)
    return _divided(lo, 1 / (other.lo if lo < 0 else other.hi)), _divided(hi, 1 / (other.lo if hi > 0 else other.hi))


def _divided(bound: Any, by: float) -> Any:
    if is_far(bound) or math.isinf(by):
        return bound
    return bound / by if by else math.copysign(math.inf, bound)


def _turned_floor(lo: Any, hi: Any, other: Any, position: int) -> Any:
    return (lo if is_far(lo) else math.ceil(lo)), (hi if is_far(hi) else math.floor(hi) + 1)


def _turned_ceil(lo: Any, hi: Any, other: Any, position: int) -> Any:
    return (lo if is_far(lo) else math.ceil(lo) - 1), (hi if is_far(hi) else math.floor(hi))


def _turned_round(lo: Any, hi: Any, other: Any, position: int) -> Any:
    return (lo if is_far(lo) else math.ceil(lo) - 0.5), (hi if is_far(hi) else math.floor(hi) + 0.5)


#: By operation of floats: the ends of one operand for a result between two ends, as far as numbers are not rounded.
_TURNED: Final = {
    "add": _turned_sum,
    "sub": _turned_difference,
    "mul": _turned_product,
    "div": _turned_quotient,
    "neg": lambda lo, hi, other, position: (-hi, -lo),
    "rem": lambda lo, hi, other, position: None,
    "convert": lambda lo, hi, other, position: (lo, hi),
    "floor": _turned_floor,
    "ceil": _turned_ceil,
    "round": _turned_round,
}


OF_FLOATS: Final = frozenset(_TURNED)


def _total(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    """Running sums of floats are not negative if nothing in them is."""
    whole = need.uniform()
    if step.eqn.primitive.name != "cumsum" or whole.lo > 0 or not is_far(whole.hi):
        raise Lost(step)
    ask(0, 0.0, FAR)


ARITHMETIC: Final = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "abs": _abs,
    "mul": _mul,
    "div": _div,
    "rem": _rem,
    "mask": _mask,
    "shift": _shift_right,
    "max": _max_of,
    "min": _min_of,
    "clamp": _clamp,
    "convert": _convert,
    "same": _same,
    "total": _total,
}
