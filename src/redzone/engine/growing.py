"""Carries that change by as much, or by something between two numbers, each time: how far they come."""

from __future__ import annotations

from typing import Any

import numpy as np

from redzone.domains import DtypeInfo, Fact, join, leq, settle, summarised
from redzone.domains.fact import strided
from redzone.domains.symbolic import at_most, larger, smaller
from redzone.engine.carried import Carries, met
from redzone.engine.changes import FAR, Change, End, added_at_most


def _after(fact: Fact, lo: Any, hi: Any, info: DtypeInfo, by: int) -> Fact | None:
    """A first value that has moved by something in [lo, hi], a multiple of `by`; None where it could overflow."""
    if type(fact.lo) is np.ndarray:
        if type(lo) is not int or type(hi) is not int or max(-lo, hi) > FAR:
            return None
        new = settle(fact.lo + lo, fact.hi + hi)
        whole = summarised(new)
        return None if whole.lo < info.min or whole.hi > info.max else new
    low, high = fact.lo + lo, fact.hi + hi
    # Sizes that may or may not be too large count as too large.
    if not at_most(info.min, low) or not at_most(high, info.max):
        return None
    if fact.step == 1 or type(high) is not int or type(low) is not int:
        return Fact(low, high, 0 if low is high or low == high else 1)
    step = by if fact.step == 0 else _gcd(fact.step, by)
    return Fact(low, high, 0 if low == high else max(step, 1))


def _gcd(a: int, b: int) -> int:
    while b:
        a, b = b, a % b
    return abs(a)


def count_exactly(carries: Carries, trips: Any) -> dict[int, Fact]:
    """Set the facts of pure counters in the body, which runs so often; their values after the last iteration."""
    final: dict[int, Fact] = {}
    for i in carries.moving:
        by = carries.counter(i)
        if by is None:
            continue
        total = by * (trips - 1)
        inside = _after(carries.first[i], total if by < 0 else 0, total if by > 0 else 0, carries.info[i], by)
        after = _after(carries.first[i], by * trips, by * trips, carries.info[i], 0)
        if inside is not None and after is not None:
            carries.now[i] = inside
            final[i] = after
    return final


def count_up(carries: Carries, held: Any) -> bool:
    """Start the counters of a while at all they can become, so that no round is spent on getting there; whether any is.

    Only a guess: the rounds that follow establish that it is inductive.
    """
    guessed = []
    for i in carries.moving:
        by, first, info = carries.counter(i), summarised(carries.first[i]), carries.info[i]
        if by and type(first.lo) is int and type(first.hi) is int:
            step = _gcd(first.step, by)
            lo, hi = (first.lo, info.max - by) if by > 0 else (info.min - by, first.hi)
            far = strided(lo, hi, step, first.lo)
            if far is not None and far.step:
                guessed.append((i, by, carries.now[i]))
                carries.now[i] = far
    if not guessed:
        return False
    inside, further = held(), False
    for i, by, before in guessed:
        bound = before if inside is None else summarised(inside[i])
        info = carries.info[i]
        plain = type(bound.lo) is int and type(bound.hi) is int
        if inside is None or not plain or bound.lo <= info.min - min(by, 0) or bound.hi >= info.max - max(by, 0):
            carries.now[i] = before
        else:
            carries.now[i] = join(before, Fact(bound.lo + by, bound.hi + by, bound.step))
            further = True
    return further


def bounded_growth(carries: Carries, moving: list[int], env: Any, trips: Any) -> bool:
    """A carry that changes by something in [a, b] each time is, after t times, within t·[a, b] of its start."""
    helped = False
    for i, bound in grown(carries, moving, env, trips).items():
        if leq(summarised(carries.now[i]), bound):
            continue
        narrowed = met(carries.now[i], bound)
        if not leq(carries.now[i], narrowed):
            carries.now[i] = narrowed
            helped = True
    return helped


def grown(carries: Carries, moving: list[int], env: Any, trips: Any) -> dict[int, Fact]:
    """What steadily changing carries can be whenever the body starts, if it does so at most this often."""
    found: dict[int, Fact] = {}
    for i in moving:
        if carries.info[i].kind not in "iu":
            continue
        change, info = carries.changed(env, i), carries.info[i]
        if change is None:
            continue
        if change.set_to is None and change.added is not None:
            lo, hi = smaller(0, change.added[0]), larger(0, change.added[1])
            # The value after the last iteration must fit too: then no addition in any iteration wraps.
            spill = _after(summarised(carries.first[i]), lo * trips, hi * trips, info, 1)
            bound = _after(carries.first[i], lo * (trips - 1), hi * (trips - 1), info, 1)
        else:
            spill, bound = _grown_or_set(carries.first[i], change, info, trips)
        if spill is not None and bound is not None:
            found[i] = bound
    return found


def _grown_or_set(first: Fact, change: Change, info: DtypeInfo, trips: Any) -> tuple[Fact | None, Fact | None]:
    """What a carry is that iterations add to or set: whatever is made of it on the way, and whenever the body starts.

    What an iteration set has changed no more often than there are iterations after it.
    """
    added, whole = change.added or (0, 0), summarised(first)
    set_to = Fact(*change.set_to) if change.set_to is not None else whole
    lo, hi = smaller(0, added[0]), larger(0, added[1])
    spill, other = [_after(fact, lo * trips, hi * trips, info, 1) for fact in (whole, set_to)]
    if spill is None or other is None:
        return None, None
    lows = [_farthest(whole.lo, end, trips, False) for end in change.least]
    highs = [_farthest(whole.hi, end, trips, True) for end in change.most]
    # All of them hold. Of sizes without a number nobody may know which is the nearest.
    low = max(lows) if all(type(n) is int for n in lows) else lows[0]
    high = min(highs) if all(type(n) is int for n in highs) else highs[0]
    return spill, Fact(low, high, 1)


def _farthest(first: Any, end: End, trips: Any, up: bool) -> Any:
    """How far a carry comes one way whenever the body starts."""
    since = max(trips - 2, 0) if type(trips) is int else trips - 1
    by: Any = 0
    if end[0] is not None:
        by = larger(0, end[0]) if up else smaller(0, end[0])
    moved = first + by * (trips - 1)
    if end[1] is None:
        return moved
    again = end[1] + by * since
    return larger(moved, again) if up else smaller(moved, again)


def caps(carries: Carries, moving: list[int], env: Any, trips: int) -> dict[int, Fact]:
    """What carries that lost their bounds can be at most, or at least, whenever the body starts, at most this often.

    A loop in the body may move them the other way as far as it likes: their other side is bounded by something else.
    """
    found: dict[int, Fact] = {}
    for i in moving:
        first, now, info = summarised(carries.first[i]), summarised(carries.now[i]), carries.info[i]
        if info.kind not in "iu" or any(type(n) is not int for n in (first.lo, first.hi, now.lo, now.hi)):
            continue
        if now.hi < info.max or first.hi == info.max or carries.slot[i] < 0:
            continue
        up = added_at_most(carries.body, env, carries.slot[i], carries.body.outs[i], True)
        if up is not None and first.hi + up * trips <= info.max:
            found[i] = Fact(info.min, first.hi + up * max(trips - 1, 0))
    return found
