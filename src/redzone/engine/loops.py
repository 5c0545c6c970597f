"""Loops: counters are exact, the rest is widened to thresholds of the program and narrowed again.

A set of facts about the carries is inductive when the first values satisfy it and the body keeps it;
only such a set is used. Any further run of the body from an inductive set yields facts that hold too,
whether or not the rules are monotone: what a state can be is a first value or what the body makes of a state.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import Fact, join, leq, top
from redzone.engine.carried import Carries, met
from redzone.engine.columns import is_open
from redzone.engine.continuing import Condition
from redzone.engine.determined import determined, looked_at, row_of
from redzone.engine.entered import at_entries, is_worth_a_look, narrowed
from redzone.engine.flags import by_flag, has_flags
from redzone.engine.growing import bounded_growth, count_exactly, count_up, grown
from redzone.engine.lanes import stay_apart
from redzone.engine.marks import first_marks
from redzone.engine.nested import Rested, scan_key, while_key
from redzone.engine.order import midpoints, ordered_steps, starts_in_order
from redzone.engine.program import Ceilings, Links, LoopShape, Program, Step
from redzone.engine.remembered import fed, inside_of, name_of, noted
from redzone.engine.replaced import first_or_replaced
from redzone.engine.resting import STEPWISE, come_to_rest, in_any, is_lost, lost_in_loops, states_of, under_caps
from redzone.engine.search import (
    Among,
    Lesser,
    Placed,
    ends_of,
    is_before_or_at_the_last,
    is_before_the_end,
    stays_below,
)
from redzone.engine.spent import is_worth_marks, spent, where_counted
from redzone.engine.thresholds import limits_of, near_to, thresholds_of
from redzone.engine.trips import most_trips, most_trips_of_bits, most_trips_of_two, scales, toward
from redzone.engine.turns import Turns, each_that_goes_on, one_by_one, stacked

if TYPE_CHECKING:
    from redzone.engine.forward import Context, Runner

#: A loop that multiplies or divides a number is gone through as many times as the widest has bits, and to the end.
SCALED: Final = 66
#: The longest scan that is gone through one by one where an access in it may be outside.
SHORT: Final = 8


def run_scan(runner: Runner, program: Program, env: list[Any], step: Step, context: Context | None) -> None:
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
    key = scan_key(env, step)
    marks = first_marks(program, env, step)
    ceiling = program.ceilings.get(step)
    known = body.memo.get(name_of(key, marks, ceiling))
    avals = [v.aval for v in step.eqn.outvars[: shape.carry_count]]

    feed = functools.partial(fed, body, shape, inputs)
    outer, body.special = body.special, _special(body, shape, inits)
    try:
        _scan(runner, program, env, step, context, feed, known, (key, marks, ceiling), inputs, inits, avals)
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
    program: Program,
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
        carries = Carries(body, shape, inits, avals)
        trips = length if type(length) is int else None
        exact = count_exactly(carries, length)
        if trips is not None and len(exact) < len(carries.moving):
            exact |= determined(carries, frozenset(exact), [env[s] for s in step.ins], step, trips)
        others = [i for i in carries.moving if i not in exact]

        def run() -> list[Any]:
            return runner.run(body, feed(carries.now), False)

        near = lambda: near_to(inputs + inits, thresholds_of(body))  # noqa: E731
        replaced = functools.partial(first_or_replaced, runner, carries)
        env_ = come_to_rest(carries, others, run, near, trips, replaced=replaced)
        if trips is None and bounded_growth(carries, others, env_, length):
            env_ = run()
        marked, ceilings, ceiling = dict[int, Fact](), Ceilings(), key[2]
        if ceiling is not None:
            env_ = under_caps(carries, others, run, run(), near, None, None, replaced, ceiling)
        elif is_worth_marks(carries):
            known_too = lambda more: runner.run(body, feed(narrowed(carries.now, more)), False)  # noqa: E731
            marked, ceilings = spent(carries, program, env, known_too, functools.partial(inside_of, runner))
            if marked:
                env_ = under_caps(carries, others, run, run(), near, None, None, replaced, marked)
        turns: Turns | None = None
        closer: dict[Step, list[Fact]] = {}
        if trips is not None and is_open(body, env_):
            told = frozenset(exact)
            closer = looked_at(carries, told, [env[s] for s in step.ins], step, trips)
        if trips is not None and 1 < trips <= min(SHORT, runner.turns) and is_open(body, env_):
            runner.turns -= trips
            turns = one_by_one(runner, carries, feed, [env[s] for s in step.ins], step, trips)
            closer = {**closer, **turns.seen}
            run()
        links: Links = {}
        if turns is None and has_flags(carries):
            links = by_flag(carries, lambda held: runner.run(body, feed(held), False), env_, near)
        marked = marked if ceiling is None else ceiling
        if marked:
            links = {**where_counted(carries, env_, marked), **links}
        known = noted(body, key, bool(marked), (carries.now, exact, env_, turns, closer, links, marked, ceilings))
    now, exact, inner, turns, closer, links, marked, ceilings = known
    if context is not None:
        runner.closer.update(closer)
        body.linking, body.ceilings = links, ceilings
        try:
            inner = runner.run(body, feed(now), True, context, step)
        finally:
            body.linking, body.ceilings = {}, {}
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
            last: Fact = met(inner[body.outs[i]], marked[i]) if i in marked else inner[body.outs[i]]
            env[out] = last if type(length) is int else join(last, env[shape.inits[shape.carries.index(i)]])
        else:
            env[out] = stacked(inner[body.outs[i]])
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
            env[step.outs[1]] = met(env[step.outs[1]], ends)


def run_while(runner: Runner, program: Program, env: list[Any], step: Step, context: Context | None) -> None:
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
    feed = functools.partial(fed, body, shape, inputs)
    outer, body.special = body.special, _special(body, shape, inits)
    try:
        _while(runner, program, env, step, context, feed, Condition(runner, step, asked, context), inputs, inits)
    finally:
        body.special = outer


def _while(
    runner: Runner,
    program: Program,
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
    key, marks = while_key(step, inputs, asked, inits), first_marks(program, env, step)
    ceiling = program.ceilings.get(step)
    known: Rested | None = body.memo.get(name_of(key, marks, ceiling))
    if known is not None and known.left is not None and context is None:
        _leave(env, step, known.left)
        return
    if known is None:
        carries = Carries(body, shape, inits, [v.aval for v in step.eqn.outvars])
        inside: dict[int, Fact] = {}
        entered: dict[int, Fact] = {}
        closer: dict[Step, list[Fact]] = {}
        started: list[dict[int, Fact]] = []
        marked, ceilings = dict[int, Fact](), Ceilings()
        trips: int | None = None
        own: int | None = None
        last: list[Any] | None = None
        lane = batched and stay_apart(step)
        condition.toward = toward(carries, condition)
        enters = when(carries.now, 1) is not None
        starts = enters and _surely_starts(condition, carries.now)
        if enters:

            def run() -> list[Any]:
                # What a lane that is done computes is thrown away: only running lanes make new carries.
                held = when(carries.now, 1, lane)
                env = runner.run(body, feed(narrowed(held if held is not None else carries.now, entered)), False)
                if not condition.has_ways(lane) or all(
                    leq(carries.out(env, i), carries.now[i]) for i in carries.moving
                ):
                    return env
                ways = condition.ways(carries.now, lane)
                return carries.in_one_of(env, [_run_told(runner, body, feed(way), told) for way, told in ways])

            guessed = count_up(carries, lambda: when(carries.now, 1, lane))
            near = lambda: near_to(inputs + asked + inits, thresholds_of(body) + thresholds_of(test))  # noqa: E731
            ends = lambda: limits_of(test) + near_to(asked, thresholds_of(test))  # noqa: E731
            replaced = functools.partial(first_or_replaced, runner, carries)
            last = come_to_rest(carries, carries.moving, run, near, None, guessed, ends, replaced)
            if (lane or not batched) and is_worth_a_look(carries, condition, lane, last):
                fresh = Carries(body, shape, inits, [v.aval for v in step.eqn.outvars])
                start = lambda held: runner.run(body, feed(held), False)  # noqa: E731
                entered = at_entries(fresh, condition, lane, start, near, ends, carries.now)
                last = run()
                carries.now = narrowed(carries.now, {i: join(carries.first[i], carries.out(last, i)) for i in entered})
            held = when(carries.now, 1)
            if batched or held is None:
                trips = most_trips(carries, held, None)
            else:
                trips = most_trips(carries, narrowed(held, entered), last)
            if trips is None:
                trips = most_trips_of_two(carries, condition)
            if trips is None:
                trips = most_trips_of_bits(carries, condition)
            if trips is None and scales(carries):
                rest = {i: carries.now[i] for i in carries.moving}
                goes_on = lambda: when(carries.now, 1, lane) is not None  # noqa: E731
                states = states_of(carries, carries.moving, run, SCALED, goes_on)
                carries.now.update(rest)
                if len(states) <= SCALED:
                    # From the last one it does not go on: that is all of them.
                    carries.now.update({i: met(rest[i], fact) for i, fact in in_any(states).items()})
                    started = states[:-1] or states
                    inside = in_any(started)
            # A lane that is done stays so: each has as many iterations of its own as it would have alone.
            own = most_trips(carries, when(carries.now, 1, lane=True), None) if lane else None
            if trips is not None:
                # Where the body starts it has run less often than it does in all.
                inside = grown(carries, carries.moving, last, max(trips, 1))
                deep = lost_in_loops(carries, carries.moving)
                if bounded_growth(carries, carries.moving, last, (trips if own is None else min(trips, own)) + 1):
                    last = run()
                if deep or any(is_lost(carries, i) for i in carries.moving):
                    last = under_caps(carries, carries.moving, run, last, near, trips + 1, ends, replaced)
                if 0 < trips <= STEPWISE and (deep or any(is_lost(carries, i) for i in carries.moving)):
                    rest = {i: carries.now[i] for i in carries.moving}
                    goes_on = lambda: when(carries.now, 1, lane) is not None  # noqa: E731
                    states = states_of(carries, carries.moving, run, trips, goes_on)
                    carries.now.update({i: met(rest[i], fact) for i, fact in in_any(states).items()})
                    started = states[:trips]
                    for i, fact in in_any(started).items():
                        inside[i] = met(inside[i], fact) if i in inside else fact
                if not batched and 1 < trips <= min(SHORT, runner.turns) and is_open(body, run()):
                    runner.turns -= trips
                    rest = dict(carries.now)
                    closer = each_that_goes_on(carries, when, lambda held: runner.run(body, feed(held), False), trips)
                    carries.now = rest
                    run()
            if ceiling is not None:
                last = under_caps(carries, carries.moving, run, run(), near, None, ends, replaced, ceiling)
            elif not batched and is_worth_marks(carries):
                going = when(carries.now, 1) or carries.now
                known_too = lambda more: runner.run(body, feed(narrowed(going, more)), False)  # noqa: E731
                marked, ceilings = spent(carries, program, env, known_too, functools.partial(inside_of, runner))
                if marked:
                    last = under_caps(carries, carries.moving, run, run(), near, None, ends, replaced, marked)
        goes_in = when(carries.now, 1) if enters and not batched else None
        links: Links = {}
        if goes_in is not None and not closer and has_flags(carries):

            def going_on(state: dict[int, Fact]) -> list[Any] | None:
                on = when(state, 1)
                return None if on is None else runner.run(body, feed(on), False)

            in_body = runner.run(body, feed(narrowed(narrowed(goes_in, inside), entered)), False)
            links = by_flag(carries, going_on, in_body, near, started)
        if (marked or ceiling) and last is not None and not batched:
            links = {**where_counted(carries, last, marked or ceiling or {}), **links}
        known = noted(body, (key, marks, ceiling), bool(marked), Rested(carries.now, enters, starts, condition.toward))
        known.inside, known.entered, known.closer = inside, entered, closer
        known.goes_in, known.links, known.ceilings = goes_in, links, ceilings
        known.trips, known.last = own if batched else trips, last
    now, condition.toward = known.now, known.toward
    checked = condition.tested(now, context is not None)
    if known.enters and context is not None:
        running = when(now, 1, lane=True) if batched and stay_apart(step) else None
        # Among running lanes of a loop around it, those that run here are all whose results anybody sees.
        held = when(now, 1) if running is None or not context.lanes else None
        if held is not None:
            held = narrowed(held, known.inside)
            if not batched:
                held = narrowed(held, known.entered)
            runner.closer.update(known.closer)
            body.linking, body.ceilings = known.links, known.ceilings
            try:
                runner.run(body, feed(held), True, context, step, 0, tested=None if batched else checked)
            finally:
                body.linking, body.ceilings = {}, {}
            for one in known.closer:
                del runner.closer[one]
        if running is not None:
            runner.run(body, feed(narrowed(running, known.entered)), True, context, step, 0, True, checked)
    # Of a loop that surely goes through its body first values are not left.
    made = _made_by_body(runner, body, shape, now, feed(when(now, 1) or now)) if known.starts else now
    left = when(made, 0) or made
    if context is None:
        # What is promised around it may say more, which does not hold in other runs.
        known.left = left
    _leave(env, step, left)


def _surely_starts(condition: Condition, first: dict[int, Fact]) -> bool:
    """Whether a while goes through its body at least once: its condition cannot fail before."""
    return not condition.batched and condition.when(first, 0) is None


def _leave(env: list[Any], step: Step, left: dict[int, Fact]) -> None:
    """Put the carries after a while in their places."""
    for i, out in enumerate(step.outs):
        if out >= 0:
            env[out] = left[i]


def _made_by_body(
    runner: Runner, body: Program, shape: LoopShape, now: dict[int, Fact], inputs: list[Fact]
) -> dict[int, Fact]:
    """What the carries are after an iteration: of a loop that surely goes through one, first values are not left."""
    made = runner.run(body, inputs, False)
    return {i: met(now[i], made[body.outs[i]]) for i in shape.carries}


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
