"""Loops: counters are exact, the rest is widened to thresholds of the program and narrowed again.

A set of facts about the carries is inductive when the first values satisfy it and the body keeps it;
only such a set is used. Any further run of the body from an inductive set yields facts that hold too,
whether or not the rules are monotone: what a state can be is a first value or what the body makes of a state.
"""

from __future__ import annotations

import functools
import itertools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from redzone.domains import DtypeInfo, Fact, dtype_info, join, leq, meet, settle, summarised, top, widen
from redzone.domains.fact import strided
from redzone.domains.symbolic import at_most, larger, smaller
from redzone.engine.changes import FAR, Change, End, change_of, changed_or_set, counted_by
from redzone.engine.columns import column_facts, is_open
from redzone.engine.continuing import Condition
from redzone.engine.determined import determined, looked_at, row_of
from redzone.engine.idioms import FLOOR_DIVIDE
from redzone.engine.lanes import stay_apart
from redzone.engine.order import midpoints, ordered_steps, starts_in_order
from redzone.engine.program import OBSERVE, SIMPLE, LoopShape, Program, Step
from redzone.engine.search import (
    Among,
    Lesser,
    Placed,
    ends_of,
    is_before_or_at_the_last,
    is_before_the_end,
    stays_below,
)
from redzone.engine.together import moves, ways
from redzone.frontend.compat import primitives

if TYPE_CHECKING:
    from redzone.engine.forward import Context, Runner

#: Rounds of plain joining before widening, and the most rounds before giving up on a carry.
PATIENCE = 2
ROUNDS = 24
#: Rounds of widening to the next threshold, before only the ends of arrays count.
HOPS = 1
#: The same while each time they come upon one of those numbers.
LANDS = 3
#: Rounds of narrowing after the facts have come to rest.
NARROWING = 3
#: A loop of at most so many iterations is gone through one by one where widening lost its carries.
STEPWISE = 16
#: The same of one that multiplies or divides a number: as many as the widest has bits, and the end.
SCALED = 66
#: The longest scan that is gone through one by one where an access in it may be outside.
SHORT = 8
#: Among how many carries two are looked for that move on together.
PAIRED = 8

_ADD, _SUB, _SELECT, _NE = (primitives()[n] for n in ("add_p", "sub_p", "select_n_p", "ne_p"))
_CONVERT = primitives()["convert_element_type_p"]
_SCALING = frozenset(
    primitives()[f"{n}_p"] for n in ("mul", "div", "shift_left", "shift_right_arithmetic", "shift_right_logical")
)


def thresholds_of(program: Program) -> tuple[int, ...]:
    """Numbers at which a growing bound may come to rest: the program's constants and sizes, and their neighbours."""
    if not program.thresholds:
        found = {0, 1, -1}
        for fact in program.template:
            if fact is not None and fact.step == 0 and type(fact.lo) is int:
                found |= {fact.lo - 1, fact.lo, fact.lo + 1}
        for step in program.steps:
            if step.site is not None:
                for column in step.site.columns:
                    if type(column.limit) is int:
                        found |= {column.limit, column.limit + 1}
            for body in step.bodies:
                found.update(thresholds_of(body))
        program.thresholds = tuple(sorted(found))
    return program.thresholds


def limits_of(program: Program) -> tuple[int, ...]:
    """The last places at which the accesses of a program and of what it runs are inside, and the places after."""
    known: tuple[int, ...] | None = program.memo.get("limits")
    if known is None:
        found = {0}
        for step in program.steps:
            if step.site is not None:
                for column in step.site.columns:
                    if type(column.limit) is int:
                        found |= {column.limit, column.limit + 1}
            for body in step.bodies:
                found.update(limits_of(body))
        known = program.memo["limits"] = tuple(sorted(found))
    return known


def _near(facts: list[Fact], thresholds: tuple[Any, ...]) -> tuple[Any, ...]:
    """Those numbers and the bounds of these facts, with their neighbours."""
    found = set(thresholds)
    symbolic: list[Any] = []
    for fact in facts:
        fact = summarised(fact)
        for bound in (fact.lo, fact.hi):
            if type(bound) is int and abs(bound) < 2**31 - 1:
                found |= {bound - 1, bound, bound + 1}
            elif not isinstance(bound, int | float):
                symbolic += [bound - 1, bound, bound + 1]
    return (*sorted(found), *symbolic)


class _Carries:
    """The carries of one loop that matter: first values, current facts, dtypes, and where the body keeps them."""

    def __init__(self, body: Program, shape: LoopShape, inits: list[Fact], avals: list[Any]) -> None:
        self.body = body
        self.places = shape.carries
        self.first = dict(zip(shape.carries, inits, strict=True))
        self.now = dict(self.first)
        self.info = {i: dtype_info(getattr(avals[i], "dtype", None)) for i in shape.carries}
        self.dtype = {i: getattr(avals[i], "dtype", None) for i in shape.carries}
        slots = {position - shape.consts: slot for position, slot in body.inputs}
        self.slot = {i: slots.get(i, -1) for i in shape.carries}
        self.moving = [i for i in shape.carries if body.outs[i] != self.slot[i]]

    def out(self, env: list[Any], i: int) -> Fact:
        fact: Fact = env[self.body.outs[i]]
        return fact

    def in_one_of(self, env: list[Any], runs: list[list[Any]]) -> list[Any]:
        """The body's environment where its results are those of one of these runs."""
        if runs:
            env = env.copy()
            for slot in [self.body.outs[i] for i in self.moving]:
                env[slot] = functools.reduce(join, [run[slot] for run in runs])
        return env

    def counter(self, i: int) -> int | None:
        """The constant a carry grows by each time, if that is all that happens to it."""
        return counted_by(self.body, self.slot[i], self.body.outs[i])

    def step_range(self, env: list[Any], i: int) -> tuple[int, int] | None:
        """Bounds on how much a carry changes in one iteration."""
        return change_of(self.body, env, self.slot[i], self.body.outs[i])


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


def run_scan(runner: Runner, env: list[Any], step: Step, context: Context | None) -> None:
    """A scan: its length is known, so counters are exact and steady growth is bounded."""
    body, shape = step.bodies[0], step.extra
    length = shape.length
    if type(length) is int and length == 0:
        for i, out in enumerate(step.outs):
            if out >= 0:
                place = shape.carries.index(i) if i in shape.carries else -1
                env[out] = env[shape.inits[place]] if place >= 0 else top(step.eqn.outvars[i].aval.dtype)
        return
    inputs = [
        row_of(env[s]) if position >= shape.consts + shape.carry_count else env[s]
        for (position, _), s in zip(body.inputs, step.ins, strict=True)
    ]
    inits = [env[s] for s in shape.inits]
    # Going through it one by one takes the rows in their order: not what any of them can be, but each.
    given, reverse = tuple([env[s].key() for s in step.ins]), bool(step.eqn.params["reverse"])
    key = ("scan", length, reverse, shape.counted, given, tuple([f.key() for f in inits]))
    known = body.memo.get(key)
    avals = [v.aval for v in step.eqn.outvars[: shape.carry_count]]

    def feed(now: dict[int, Fact]) -> list[Fact]:
        return [now.get(position - shape.consts, fact) for (position, _), fact in zip(body.inputs, inputs, strict=True)]

    outer, body.special = body.special, _special(body, shape, inits)
    try:
        _scan(runner, env, step, context, feed, known, key, inputs, inits, avals)
    finally:
        body.special = outer


def _special(body: Program, shape: LoopShape, inits: list[Fact]) -> dict[Step, Any] | None:
    """Better ways to compute midpoints in the body, some by an order of carries that holds at first and is kept."""
    found = body.memo.get("midpoints")
    if found is not None and not found:
        return None
    slots = {p - shape.consts: s for p, s in body.inputs}
    if found is None:
        found = body.memo["midpoints"] = midpoints(body, {i: slots.get(i, -1) for i in shape.carries})
    if not found:
        return None
    first = dict(zip(shape.carries, inits, strict=True))
    held = [m for m in found if m.carries and starts_in_order(first[m.carries[0]], first[m.carries[1]])]
    special = ordered_steps(found, held)
    if not special:
        return None
    body.is_ordered(special)
    return special


def _scan(
    runner: Runner,
    env: list[Any],
    step: Step,
    context: Context | None,
    feed: Any,
    known: Any,
    key: Any,
    inputs: list[Fact],
    inits: list[Fact],
    avals: list[Any],
) -> None:
    body, shape = step.bodies[0], step.extra
    length = shape.length
    if known is None:
        carries = _Carries(body, shape, inits, avals)
        trips = length if type(length) is int else None
        exact = _count(carries, length)
        if trips is not None and len(exact) < len(carries.moving):
            exact |= determined(carries, frozenset(exact), [env[s] for s in step.ins], step, trips)
        others = [i for i in carries.moving if i not in exact]

        def run() -> list[Any]:
            return runner.run(body, feed(carries.now), False)

        env_ = _rest(carries, others, run, lambda: _near(inputs + inits, thresholds_of(body)), trips)
        if trips is None and _bounded_growth(carries, others, env_, length):
            env_ = run()
        turns: _Turns | None = None
        closer: dict[Step, list[Fact]] = {}
        if trips is not None and is_open(body, env_):
            told = frozenset(exact)
            closer = looked_at(carries, told, [env[s] for s in step.ins], step, trips)
        if trips is not None and 1 < trips <= min(SHORT, runner.turns) and is_open(body, env_):
            runner.turns -= trips
            turns = _one_by_one(runner, carries, feed, [env[s] for s in step.ins], step, trips)
            closer = {**closer, **turns.seen}
            run()
        known = body.memo[key] = (carries.now, exact, env_, turns, closer)
    now, exact, inner, turns, closer = known
    if context is not None:
        runner.closer.update(closer)
        inner = runner.run(body, feed(now), True, context, step)
        for one in closer:
            del runner.closer[one]
    for i, out in enumerate(step.outs):
        if out < 0:
            continue
        if i in exact:
            env[out] = exact[i]
        elif turns is not None:
            env[out] = turns.results[i]
        elif i < shape.carry_count:
            last: Fact = inner[body.outs[i]]
            env[out] = last if type(length) is int else join(last, env[shape.inits[shape.carries.index(i)]])
        else:
            env[out] = _stacked(inner[body.outs[i]])
    search = shape.search
    if search is not None and step.outs[1] >= 0 and len(inits) == 2:
        low, high = inits
        ends: Fact | None = None
        if type(search) is Placed:
            ends = ends_of(search, env[search.array], env[search.query], low, high, length)
        elif type(search) is Lesser:
            before = is_before_the_end(search, env[search.other], low, high, length)
            ends = Fact(0, search.size - 1) if before else None
        elif type(search) is Among:
            ends = Fact(0, search.size - 1) if is_before_or_at_the_last(search, low, high, length) else None
        elif stays_below(search, env[search.last], env[search.share], low, high, length):
            ends = Fact(0, search.size - 1)
        if ends is not None:
            env[step.outs[1]] = _within(env[step.outs[1]], ends)


class _Turns(NamedTuple):
    """What came of going through a scan one by one."""

    seen: dict[Step, list[Fact]]
    """By access in its body: one fact per indexed dimension, over all iterations."""
    results: dict[int, Fact]
    """What comes out after the last iteration, or is stacked over all."""


def _one_by_one(runner: Runner, carries: _Carries, feed: Any, given: list[Fact], step: Step, trips: int) -> _Turns:
    """Each iteration of a short scan by itself: it starts with what the one before made, and has its own rows."""
    body, shape = step.bodies[0], step.extra
    rows = shape.consts + shape.carry_count
    state = {**carries.now, **{i: carries.first[i] for i in carries.moving}}
    seen: dict[Step, list[Fact]] = {}
    results: dict[int, Fact] = {}
    after: dict[int, Fact] = {}
    for turn in range(trips):
        facts = feed(state)
        for k, (position, _) in enumerate(body.inputs):
            if position >= rows:
                facts[k] = row_of(given[k], trips - 1 - turn if step.eqn.params["reverse"] else turn)
        env = runner.run(body, facts, False)
        after = {i: carries.out(env, i) for i in carries.moving}
        # What an iteration starts with is also what any of them may start with; what is left after the last is not.
        state.update({i: _within(carries.now[i], fact) for i, fact in after.items()})
        _look(body, env, seen)
        for i, out in enumerate(step.outs):
            if out >= 0 and i >= shape.carry_count:
                fact = _stacked(env[body.outs[i]])
                results[i] = join(results[i], fact) if i in results else fact
    results.update({i: after.get(i, state[i]) for i in carries.places})
    return _Turns(seen, results)


def _each_that_goes_on(carries: _Carries, when: Any, run: Any, trips: int) -> dict[Step, list[Fact]]:
    """The same of a while that ends after so many iterations at most: as long as it can go on."""
    seen: dict[Step, list[Fact]] = {}
    rest = dict(carries.now)
    state = {**rest, **{i: carries.first[i] for i in carries.moving}}
    for _ in range(trips):
        held = when(state, 1)
        if held is None:
            break
        env = run(held)
        state.update({i: _within(rest[i], carries.out(env, i)) for i in carries.moving})
        _look(carries.body, env, seen)
    return seen


def _look(body: Program, env: list[Any], seen: dict[Step, list[Fact]]) -> None:
    """Add to what was seen of a program's accesses what they are in a run with this result."""
    for step in body.steps:
        if step.kind == OBSERVE:
            found = column_facts(body, step, env)
            seen[step] = [join(a, b) for a, b in zip(seen[step], found, strict=True)] if step in seen else found


def _count(carries: _Carries, trips: Any) -> dict[int, Fact]:
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


def _count_up(carries: _Carries, held: Any) -> bool:
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


def _rest(
    carries: _Carries,
    moving: list[int],
    run: Any,
    thresholds: Any,
    trips: int | None,
    widened: bool = False,
    ends: Any = None,
) -> Any:
    """Bring the moving carries to an inductive set of facts; returns the body's last environment.

    `widened` says that some are at more than their first values already; `ends` are numbers that end a while.
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
            both = join(carries.first[i], out)
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
        env = run()
    else:
        for i in moving:
            carries.now[i] = top(carries.dtype[i])
        env = run()
    if trips is not None and _bounded_growth(carries, moving, env, trips):
        env = run()
    if widened and trips is not None and trips <= STEPWISE and any(_is_lost(carries, i) for i in moving):
        env = _stepwise(carries, moving, run, trips)
    # What came to rest by joining alone is as tight as it gets.
    for _ in range(NARROWING if widened else 0):
        changed = False
        for i in moving:
            fresh_fact = join(carries.first[i], carries.out(env, i))
            if not leq(carries.now[i], fresh_fact):
                narrowed = _within(carries.now[i], fresh_fact)
                changed = changed or narrowed is not carries.now[i]
                carries.now[i] = narrowed
        if not changed:
            break
        env = run()
    return env


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


def _is_lost(carries: _Carries, i: int) -> bool:
    """Whether nothing but its type bounds an integer carry that had bounds of its own at first."""
    first, now, info = summarised(carries.first[i]), summarised(carries.now[i]), carries.info[i]
    if info.kind not in "iu" or any(type(bound) is not int for bound in (first.lo, first.hi, now.lo, now.hi)):
        return False
    return bool((now.hi >= info.max > first.hi) or (now.lo <= info.min < first.lo))


def _stepwise(carries: _Carries, moving: list[int], run: Any, trips: int) -> Any:
    """The carries of a short loop are what they can be in any of its iterations."""
    rest = {i: carries.now[i] for i in moving}
    every = _joined(_states(carries, moving, run, trips - 1))
    carries.now.update({i: _within(rest[i], every[i]) for i in moving})
    return run()


def _states(carries: _Carries, moving: list[int], run: Any, trips: int, goes_on: Any = None) -> list[dict[int, Fact]]:
    """The carries before and after each of so many iterations.

    Each state holds what an iteration can start with, since the one before made it from the state before. Where a loop
    cannot go on from one there is no next.
    """
    found = [{i: carries.first[i] for i in moving}]
    for _ in range(trips):
        carries.now.update(found[-1])
        if goes_on is not None and not goes_on():
            break
        env = run()
        found.append({i: carries.out(env, i) for i in moving})
    return found


def _joined(states: list[dict[int, Fact]]) -> dict[int, Fact]:
    """What the carries can be in any of some states."""
    every = states[0]
    for state in states[1:]:
        every = {i: join(every[i], fact) for i, fact in state.items()}
    return every


def _within(old: Fact, new: Fact) -> Fact:
    """Two facts that both hold, as one."""
    if type(old.lo) is np.ndarray and type(new.lo) is np.ndarray and old.lo.ndim != new.lo.ndim:
        return old
    return meet(old, new) or old


def _bounded_growth(carries: _Carries, moving: list[int], env: Any, trips: Any) -> bool:
    """A carry that changes by something in [a, b] each time is, after t times, within t·[a, b] of its start."""
    helped = False
    for i, bound in _grown(carries, moving, env, trips).items():
        narrowed = _within(carries.now[i], bound)
        if not leq(carries.now[i], narrowed):
            carries.now[i] = narrowed
            helped = True
    return helped


def _grown(carries: _Carries, moving: list[int], env: Any, trips: Any) -> dict[int, Fact]:
    """What steadily changing carries can be whenever the body starts, if it does so at most this often."""
    found: dict[int, Fact] = {}
    for i in moving:
        if carries.info[i].kind not in "iu":
            continue
        change, info = carries.step_range(env, i), carries.info[i]
        if change is not None:
            lo, hi = min(0, change[0]), max(0, change[1])
            # The value after the last iteration must fit too: then no addition in any iteration wraps.
            spill = _after(carries.first[i], lo * trips, hi * trips, info, 1)
            bound = _after(carries.first[i], lo * (trips - 1), hi * (trips - 1), info, 1)
        else:
            instead = changed_or_set(carries.body, env, carries.slot[i], carries.body.outs[i])
            if instead is None or instead.set_to is None:
                continue
            spill, bound = _grown_or_set(carries.first[i], instead, info, trips)
        if spill is not None and bound is not None:
            found[i] = bound
    return found


def _grown_or_set(first: Fact, change: Change, info: DtypeInfo, trips: Any) -> tuple[Fact | None, Fact | None]:
    """What a carry is that iterations add to or set: whatever is made of it on the way, and whenever the body starts.

    What an iteration set has changed no more often than there are iterations after it.
    """
    added, set_to = change.added or (0, 0), Fact(*change.set_to) if change.set_to is not None else first
    lo, hi = min(0, added[0]), max(0, added[1])
    spills = [_after(fact, lo * trips, hi * trips, info, 1) for fact in (first, set_to)]
    if None in spills:
        return None, None
    whole = summarised(first)
    lows = [_farthest(whole.lo, end, trips, min) for end in change.least]
    highs = [_farthest(whole.hi, end, trips, max) for end in change.most]
    # All of them hold. Of sizes without a number nobody may know which is the nearest.
    low = max(lows) if all(type(n) is int for n in lows) else lows[0]
    high = min(highs) if all(type(n) is int for n in highs) else highs[0]
    return spills[0], Fact(low, high, 1)


def _farthest(first: Any, end: End, trips: Any, farther: Any) -> Any:
    """How far a carry comes whenever the body starts."""
    since = max(trips - 2, 0) if type(trips) is int else trips - 1
    by = farther(0, end[0] or 0)
    moved = first + by * (trips - 1)
    return moved if end[1] is None else (smaller if farther is min else larger)(moved, end[1] + by * since)


def run_while(runner: Runner, env: list[Any], step: Step, context: Context | None) -> None:
    """A while: the condition holds in the body and fails after it.

    A batched condition is an array: the loop goes on while any lane's holds, the body runs on every
    lane, and lanes that are done keep their carries. Then nothing can be assumed in the body, but
    what the condition says of the lanes still running is recorded beside it.
    """
    body, shape = step.bodies[0], step.extra
    count = len(body.inputs)
    inputs = [env[s] for s in step.ins[:count]]
    asked = [env[s] for s in step.ins[count:]]
    inits = [env[s] for s in shape.inits]
    nb = shape.consts

    def feed(now: dict[int, Fact]) -> list[Fact]:
        return [now.get(p - nb, fact) if p >= nb else fact for (p, _), fact in zip(body.inputs, inputs, strict=True)]

    outer, body.special = body.special, _special(body, shape, inits)
    try:
        _while(runner, env, step, context, feed, Condition(runner, step, asked, context), inputs, inits)
    finally:
        body.special = outer


def _while(
    runner: Runner,
    env: list[Any],
    step: Step,
    context: Context | None,
    feed: Any,
    condition: Condition,
    inputs: list[Fact],
    inits: list[Fact],
) -> None:
    (body, test), shape = step.bodies, step.extra
    when, batched, asked = condition.when, condition.batched, condition.asked
    # Two loops may have one body and not one condition.
    key = (
        "while",
        test,
        tuple([f.key() for f in inputs]),
        tuple([f.key() for f in asked]),
        tuple([f.key() for f in inits]),
    )
    known = body.memo.get(key)
    if known is None:
        carries = _Carries(body, shape, inits, [v.aval for v in step.eqn.outvars])
        inside: dict[int, Fact] = {}
        closer: dict[Step, list[Fact]] = {}
        condition.toward = _toward(carries, condition)
        enters = when(carries.now, 1) is not None
        if enters:
            lane = batched and stay_apart(step)

            def run() -> list[Any]:
                # What a lane that is done computes is thrown away: only running lanes make new carries.
                held = when(carries.now, 1, lane)
                env = runner.run(body, feed(held if held is not None else carries.now), False)
                if not condition.has_ways(lane) or all(
                    leq(carries.out(env, i), carries.now[i]) for i in carries.moving
                ):
                    return env
                ways = condition.ways(carries.now, lane)
                return carries.in_one_of(env, [_run_told(runner, body, feed(way), told) for way, told in ways])

            guessed = _count_up(carries, lambda: when(carries.now, 1, lane))
            last = _rest(
                carries,
                carries.moving,
                run,
                lambda: _near(inputs + asked + inits, thresholds_of(body) + thresholds_of(test)),
                None,
                guessed,
                lambda: limits_of(test) + _near(asked, thresholds_of(test)),
            )
            trips = _trips(carries, when(carries.now, 1))
            if trips is None:
                trips = _trips_of_two(carries, condition)
            if trips is None and _scales(carries):
                rest = {i: carries.now[i] for i in carries.moving}
                goes_on = lambda: when(carries.now, 1, lane) is not None  # noqa: E731
                states = _states(carries, carries.moving, run, SCALED, goes_on)
                carries.now.update(rest)
                if len(states) <= SCALED:
                    # From the last one it does not go on: that is all of them.
                    carries.now.update({i: _within(rest[i], fact) for i, fact in _joined(states).items()})
                    inside = _joined(states[:-1] or states)
            if trips is not None:
                # Where the body starts it has run less often than it does in all.
                inside = _grown(carries, carries.moving, last, max(trips, 1))
                if _bounded_growth(carries, carries.moving, last, trips + 1):
                    run()
                if 0 < trips <= STEPWISE and any(_is_lost(carries, i) for i in carries.moving):
                    rest = {i: carries.now[i] for i in carries.moving}
                    goes_on = lambda: when(carries.now, 1, lane) is not None  # noqa: E731
                    states = _states(carries, carries.moving, run, trips, goes_on)
                    carries.now.update({i: _within(rest[i], fact) for i, fact in _joined(states).items()})
                    started = _joined(states[:trips])
                    inside = {i: _within(inside[i], fact) if i in inside else fact for i, fact in started.items()}
                if not batched and 1 < trips <= min(SHORT, runner.turns) and is_open(body, run()):
                    runner.turns -= trips
                    rest = dict(carries.now)
                    closer = _each_that_goes_on(carries, when, lambda held: runner.run(body, feed(held), False), trips)
                    carries.now = rest
                    run()
        known = body.memo[key] = (carries.now, enters, inside, condition.toward, closer)
    now, enters, inside, condition.toward, closer = known
    checked = condition.tested(now, context is not None)
    if enters and context is not None:
        held = when(now, 1)
        if held is not None:
            held = {**held, **{i: _within(held[i], bound) for i, bound in inside.items()}}
            runner.closer.update(closer)
            runner.run(body, feed(held), True, context, step, 0, tested=None if batched else checked)
            for one in closer:
                del runner.closer[one]
            running = when(now, 1, lane=True) if batched and stay_apart(step) else None
            if running is not None:
                runner.run(body, feed(running), True, context, step, 0, lanes=True)
    if enters and _surely_starts(condition, dict(zip(shape.carries, inits, strict=True))):
        now = _made_by_body(runner, body, shape, now, feed(when(now, 1) or now))
    left = when(now, 0) or now
    for i, out in enumerate(step.outs):
        if out >= 0:
            env[out] = left[i]


def _surely_starts(condition: Condition, first: dict[int, Fact]) -> bool:
    """Whether a while goes through its body at least once: its condition cannot fail before."""
    return not condition.batched and condition.when(first, 0) is None


def _made_by_body(
    runner: Runner, body: Program, shape: LoopShape, now: dict[int, Fact], inputs: list[Fact]
) -> dict[int, Fact]:
    """What the carries are after an iteration: of a loop that surely goes through one, first values are not left."""
    made = runner.run(body, inputs, False)
    return {i: _within(now[i], made[body.outs[i]]) for i in shape.carries}


def _run_told(runner: Runner, body: Program, inputs: list[Fact], told: dict[Step, Fact]) -> list[Any]:
    """A run of a body in which it is known what some steps yield."""
    if not told:
        return runner.run(body, inputs, False)
    usual = body.special
    body.is_ordered(told)
    body.special = {**(usual or {}), **{step: functools.partial(_known, fact) for step, fact in told.items()}}
    try:
        return runner.run(body, inputs, False)
    finally:
        body.special = usual


def _known(fact: Fact, env: list[Any]) -> Fact:
    return fact


def _toward(carries: _Carries, condition: Condition) -> dict[int, Fact]:
    """Counters that go one by one toward a number that stays, from before it, as long as they are not there: `c != n`.

    They never get past it, so while the loop goes on they are on this side.
    """
    test, looked = condition.test, dict(condition.looked)
    made = test.defs.get(test.outs[0])
    if condition.batched or made is None or made.kind != SIMPLE or made.eqn.primitive is not _NE:
        return {}
    places = {slot: place for place, (_, slot) in enumerate(test.inputs)}
    for mine, other in ((0, 1), (1, 0)):
        carry, end = looked.get(places.get(made.ins[mine], -1), -1), places.get(made.ins[other], -1)
        by = carries.counter(carry) if carry in carries.moving else None
        if by not in (1, -1) or looked.get(end, -1) in carries.moving:
            continue
        fact = condition.asked[end] if end >= 0 else test.template[made.ins[other]]
        if fact is None:
            continue
        goal, first = summarised(fact), summarised(carries.first[carry])
        if any(type(bound) is not int for bound in (goal.lo, goal.hi, first.lo, first.hi)):
            continue
        if by == 1 and first.hi <= goal.lo and first.lo < goal.hi:
            return {carry: Fact(first.lo, goal.hi - 1)}
        if by == -1 and goal.hi <= first.lo and goal.lo < first.hi:
            return {carry: Fact(goal.lo + 1, first.hi)}
    return {}


def _scales(carries: _Carries) -> bool:
    """Whether an integer is multiplied or divided from one iteration to the next: then a loop ends after few."""
    for i in carries.moving:
        step = carries.body.defs.get(carries.body.outs[i]) if carries.info[i].kind in "iu" else None
        if step is not None and step.kind == SIMPLE and (step.eqn.primitive in _SCALING or step.rule is FLOOR_DIVIDE):
            return True
    return False


def _trips(carries: _Carries, held: dict[int, Fact] | None) -> int | None:
    """How often the body can run at most, from a counter that its condition bounds."""
    if held is None:
        return 0
    best: int | None = None
    for i in carries.moving:
        by = carries.counter(i)
        if not by:
            continue
        first, inside = summarised(carries.first[i]), summarised(held[i])
        if type(first.lo) is not int or type(inside.hi) is not int:
            continue
        info = carries.info[i]
        far = inside.hi - first.lo if by > 0 else first.hi - inside.lo
        end = inside.hi + by if by > 0 else inside.lo + by
        if info.min <= end <= info.max and far >= 0:
            count = far // abs(by) + 1
            best = count if best is None else min(best, count)
    return best


def _trips_of_two(carries: _Carries, condition: Condition) -> int | None:
    """The same from two carries of which each iteration moves one: their sum, or their difference, is a counter."""
    if condition.batched or len(carries.moving) > PAIRED:
        return None
    held = [way for way, _ in condition.ways(carries.now)] or [condition.when(carries.now, 1) or carries.now]
    ends = {i: (carries.slot[i], carries.body.outs[i]) for i in carries.moving if _stays(carries, i, held)}
    best: int | None = None
    for (i, one), (j, other) in itertools.combinations(ends.items(), 2):
        for sign in (1, -1):
            by = moves(carries.body, one, other, sign)
            if by is None or by[0] <= 0 <= by[1]:
                continue
            first = _sum(carries.first[i], carries.first[j], sign)
            inside = [_sum(way[i], way[j], sign) for way in held]
            if by[0] > 0:
                far = max(hi for _, hi in inside) - first[0]
            else:
                far = first[1] - min(lo for lo, _ in inside)
            if far >= 0:
                count = far // min(abs(by[0]), abs(by[1])) + 1
                best = count if best is None else min(best, count)
    return best


def _stays(carries: _Carries, i: int, held: list[dict[int, Fact]]) -> bool:
    """Whether a carry is an integer to which each iteration adds a constant, and never so that it wraps."""
    facts, info = [summarised(way[i]) for way in (carries.first, *held)], carries.info[i]
    if info.kind not in "iu" or any(type(f.lo) is not int or type(f.hi) is not int for f in facts):
        return False
    added = [n for _, n in ways(carries.body, carries.slot[i], carries.body.outs[i]) or ()]
    if not added:
        return False
    return bool(min(f.lo for f in facts) + min(added) >= info.min and max(f.hi for f in facts) + max(added) <= info.max)


def _sum(a: Fact, b: Fact, sign: int) -> tuple[int, int]:
    a, b = summarised(a), summarised(b)
    return (a.lo + b.lo, a.hi + b.hi) if sign > 0 else (a.lo - b.hi, a.hi - b.lo)


def _stacked(fact: Fact) -> Fact:
    if type(fact.lo) is not np.ndarray:
        return fact
    return settle(fact.lo[None], fact.hi[None], fact.nan)
