"""Carries brought to rest: widened to thresholds of the program until a body keeps them, and narrowed again.

A set of facts about the carries is inductive when the first values satisfy it and the body keeps it. Any further run of
the body from an inductive set yields facts that hold too, whether or not the rules are monotone: what a state can be is
a first value or what the body makes of a state.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from redzone.domains import Fact, join, leq, summarised, top, widen
from redzone.engine.carried import Carries, met
from redzone.engine.growing import bounded_growth, caps, grown
from redzone.engine.order import in_turns
from redzone.engine.program import SCAN, WHILE
from redzone.engine.thresholds import limits_of

#: Rounds of plain joining before widening, and the most rounds before giving up on a carry.
PATIENCE: Final = 2
ROUNDS: Final = 24
#: Rounds of widening to the next threshold, before only the ends of arrays count.
HOPS: Final = 1
#: The same while each time they come upon one of those numbers.
LANDS: Final = 3
#: Rounds of narrowing after the facts have come to rest.
NARROWING: Final = 3
#: A loop of at most so many iterations is gone through one by one where widening lost its carries.
STEPWISE: Final = 16


def come_to_rest(
    carries: Carries,
    moving: list[int],
    run: Any,
    thresholds: Any,
    trips: int | None,
    widened: bool = False,
    ends: Any = None,
    replaced: Any = None,
    capped: dict[int, Fact] | None = None,
) -> Any:
    """Bring the moving carries to an inductive set of facts; returns the body's last environment.

    `widened` says that some are at more than their first values already; `ends` are numbers that end a while;
    `replaced` says of a run what a carry can be that it keeps or puts something in the place of; `capped` are facts
    that every state satisfies.
    """
    env = run()
    if not moving:
        return env
    near: tuple[int, ...] = ()
    growth: dict[int, Any] = {}
    settled: dict[int, Fact] = {}
    """What the body made of carries that it kept within what they were."""
    for count in range(ROUNDS + 1):
        fresh: dict[int, Fact] = {}
        for i in moving:
            out = carries.out(env, i)
            if settled.get(i) is out:
                continue
            if type(out.lo) is np.ndarray and carries.now[i].kept and leq(out, carries.now[i]):
                # What they are now holds all first values anyway.
                settled[i] = out
                continue
            both = join(carries.first[i], out)
            if capped and i in capped:
                both = met(both, capped[i])
            if leq(both, carries.now[i]):
                settled[i] = out
            else:
                fresh[i] = both
        open_ = list(fresh)
        if not open_:
            break
        for i in open_:
            before, growth[i] = growth.get(i), _growth(carries.now[i], fresh[i])
            # What grows by less each time may be coming to rest where the program's own tests hold it.
            settles = before is not None and growth[i] is not None and 0 < growth[i] < before
            if count >= ROUNDS:
                carries.now[i] = top(carries.dtype[i])
            elif count < PATIENCE or settles or (trips is not None and trips <= PATIENCE + 2 and count < trips):
                carries.now[i] = join(carries.now[i], fresh[i])
            else:
                widened = True
                # A bound that keeps on growing may still rest at the end of an array or where the loop ends, hardly at
                # another number.
                if count < PATIENCE + HOPS or (count < PATIENCE + LANDS and _lands(carries.now[i], fresh[i], near)):
                    steps = near = near or thresholds()
                else:
                    steps = limits_of(carries.body) + (ends() if ends is not None else ())
                carries.now[i] = widen(carries.now[i], fresh[i], carries.info[i], steps)
                if capped and i in capped:
                    carries.now[i] = met(carries.now[i], capped[i])
        env = run()
    else:
        for i in moving:
            carries.now[i] = top(carries.dtype[i])
        env = run()
    deep = trips is not None and widened and lost_in_loops(carries, moving)
    if trips is not None and bounded_growth(carries, moving, env, trips):
        env = run()
    if trips is not None and widened and (deep or any(is_lost(carries, i) for i in moving)):
        env = under_caps(carries, moving, run, env, thresholds, trips, ends, replaced)
    if widened and trips is not None and trips <= STEPWISE and (deep or any(is_lost(carries, i) for i in moving)):
        env = _stepwise(carries, moving, run, trips)
    # What came to rest by joining alone is as tight as it gets.
    for _ in range(NARROWING if widened else 0):
        changed = False
        for i in moving:
            fresh_fact = join(carries.first[i], carries.out(env, i))
            if replaced is not None and (instead := replaced(env, i)) is not None:
                fresh_fact = met(fresh_fact, instead)
            if not leq(carries.now[i], fresh_fact):
                narrowed = met(carries.now[i], fresh_fact)
                changed = changed or narrowed is not carries.now[i]
                carries.now[i] = narrowed
        if not changed:
            break
        env = run()
    return env


def under_caps(
    carries: Carries,
    moving: list[int],
    run: Any,
    env: Any,
    thresholds: Any,
    trips: int | None,
    ends: Any,
    replaced: Any,
    known: dict[int, Fact] | None = None,
) -> Any:
    """The carries once more from their first values, where it is known how far some can go at most.

    What was widened beside a counter, as places in a table that holds such places, may have come to rest only where the
    type ends: its facts hold each other there once the counter is bounded. From the first values on they do not get
    beyond it. Both what they were at rest before and what they are now holds of every state, as does what is `known`.
    """
    capped = {} if known is None else dict(known)
    if trips is not None:
        capped = {**capped, **grown(carries, moving, env, trips), **caps(carries, moving, env, trips)}
    if not capped:
        return env
    rest = {i: met(carries.now[i], capped[i]) if i in capped else carries.now[i] for i in moving}
    carries.now.update({i: carries.first[i] for i in moving})
    come_to_rest(carries, moving, run, thresholds, None, ends=ends, replaced=replaced, capped=rest)
    carries.now.update({i: met(rest[i], carries.now[i]) for i in moving})
    return run()


def _lands(old: Fact, new: Fact, near: tuple[Any, ...]) -> bool:
    """Whether the bounds that a fact has outgrown are now at such numbers: `s < 29` lets s become 29, and no more."""
    old, new = summarised(old), summarised(new)
    if not all(type(x) is int for x in (old.lo, old.hi, new.lo, new.hi)):
        return False
    return (new.lo >= old.lo or new.lo in near) and (new.hi <= old.hi or new.hi in near)


def _growth(old: Fact, new: Fact) -> Any:
    """How much farther the bounds of a fact go than before; None where that is no number."""
    old, new = summarised(old), summarised(new)
    if any(type(bound) is not int for bound in (old.lo, old.hi, new.lo, new.hi)):
        return None
    return max(new.hi - old.hi, old.lo - new.lo)


def is_lost(carries: Carries, i: int) -> bool:
    """Whether nothing but its type bounds an integer carry that had bounds of its own at first."""
    first, now, info = summarised(carries.first[i]), summarised(carries.now[i]), carries.info[i]
    if info.kind not in "iu" or any(type(bound) is not int for bound in (first.lo, first.hi, now.lo, now.hi)):
        return False
    return bool((now.hi >= info.max > first.hi) or (now.lo <= info.min < first.lo))


def lost_in_loops(carries: Carries, moving: list[int]) -> bool:
    """Whether some are lost in a body that has loops: how far those may move them is not all that can be known."""
    return any(is_lost(carries, i) for i in moving) and any(s.kind in (SCAN, WHILE) for s in carries.body.steps)


def _stepwise(carries: Carries, moving: list[int], run: Any, trips: int) -> Any:
    """The carries of a short loop are what they can be in any of its iterations."""
    rest = {i: carries.now[i] for i in moving}
    every = in_any(states_of(carries, moving, run, trips - 1))
    carries.now.update({i: met(rest[i], every[i]) for i in moving})
    return run()


def states_of(carries: Carries, moving: list[int], run: Any, trips: int, goes_on: Any = None) -> list[dict[int, Fact]]:
    """The carries before and after each of so many iterations.

    Each state holds what an iteration can start with, since the one before made it from the state before. Where a loop
    cannot go on from one there is no next.
    """
    found, rest = [{i: carries.first[i] for i in moving}], dict(carries.now)
    for _ in range(trips):
        carries.now.update(found[-1])
        if goes_on is not None and not goes_on():
            break
        with in_turns(carries.body, rest):
            env = run()
        found.append({i: carries.out(env, i) for i in moving})
    return found


def in_any(states: list[dict[int, Fact]]) -> dict[int, Fact]:
    """What the carries can be in any of some states."""
    every = states[0]
    for state in states[1:]:
        every = {i: join(every[i], fact) for i, fact in state.items()}
    return every
