"""Flags that a loop carries beside a cursor: `done` says that the cursor has come to the end.

What the carries can be is kept apart by what the flag is: two sets of facts, one for each value. Each holds of the
first values that have it; and whichever an iteration starts with, where the flag comes out so in what it makes, the set
for that holds of all it makes. So they hold wherever an iteration starts with the flag at that value. Where a condition
in the body tells what the flag is, that says what they are.

As in `engine/entered.py` the value of a flag is taken back into the iteration that made it.

A loop that was gone through one by one needs none of that, where the flag is known in each of its iterations: one that
starts with it at a value is among those in which it has that.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from redzone.domains import Fact, join, leq, scalar, summarised, widen
from redzone.engine.carried import Carries, met
from redzone.engine.columns import is_open
from redzone.engine.levels import ALL
from redzone.engine.program import COND, Links, Program
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.engine.resting import in_any

#: Rounds of plain joining before widening, and the most rounds.
PATIENCE: Final = 2
ROUNDS: Final = 10
#: How many steps a body may have.
LONG: Final = 300
#: Where the program of a body notes how often this showed nothing; after so many times it is not tried again.
_IN_VAIN: Final = "flags in vain"
OFTEN: Final = 2

#: By value of a flag: what the carries are where it has that.
States = dict[int, dict[int, Fact]]


def is_open_inside(program: Program, env: list[Any]) -> bool:
    """Whether an access of a program, or of a branch in it, may be outside its array."""
    if is_open(program, env):
        return True
    for step in program.steps:
        if step.kind == COND:
            branches = env[step.apart] or {}
            if any(is_open_inside(step.bodies[k], inner) for k, (_, inner) in branches.items()):
                return True
    return False


def by_flag(
    carries: Carries,
    run: Callable[[dict[int, Fact]], list[Any] | None],
    env: list[Any],
    thresholds: Callable[[], Any],
    started: Sequence[dict[int, Fact]] = (),
) -> Links:
    """By flag that a loop carries, and its value: what else holds wherever an iteration starts with it at that.

    `run` runs the body with facts about its carries, where it goes on with such, and `env` is a run of the body with
    those that hold at every start. `started` is what the moving ones are at the start of each iteration, in a loop that
    was gone through one by one.
    """
    body = carries.body
    if not is_open_inside(body, env):
        return {}
    flag = next(i for i in carries.moving if _is_flag(carries, i))
    states: States | None = None
    if _tells(carries, flag, env):
        states = _by_iteration(carries, flag, started) or _states(carries, flag, run, thresholds)
    links = {
        value: {carries.slot[i]: state[i] for i in _numbers(carries) if not leq(carries.now[i], state[i])}
        for value, state in (states or {}).items()
    }
    if not any(links.values()):
        body.memo[_IN_VAIN] = body.memo.get(_IN_VAIN, 0) + 1
        return {}
    return {carries.slot[flag]: links}


def has_flags(carries: Carries) -> bool:
    """Whether a loop carries a flag beside numbers, and it is worth a look what that says of them."""
    body = carries.body
    if len(body.steps) > LONG or body.memo.get(_IN_VAIN, 0) >= OFTEN or not _numbers(carries):
        return False
    return any(_is_flag(carries, i) for i in carries.moving)


def _tells(carries: Carries, flag: int, env: list[Any]) -> bool:
    """Whether a run of the body, in `env`, makes less of some number where the flag comes out at one of its values."""
    first = summarised(carries.first[flag])
    for value in (0, 1):
        made = _made_where(carries, env, flag, value)
        for i in _numbers(carries):
            both = None if made is None else made[i]
            if both is not None and first.lo <= value <= first.hi:
                both = join(both, carries.first[i])
            if both is None or not leq(carries.now[i], both):
                return True
    return False


def _numbers(carries: Carries) -> list[int]:
    return [i for i in carries.moving if carries.info[i].kind in "iu" and carries.slot[i] >= 0]


def _is_flag(carries: Carries, i: int) -> bool:
    fact = summarised(carries.now[i])
    shape = getattr(carries.body.jaxpr.outvars[i].aval, "shape", None)
    return carries.info[i].kind == "b" and carries.slot[i] >= 0 and shape == () and (fact.lo, fact.hi) == (0, 1)


def _by_iteration(carries: Carries, flag: int, started: Sequence[dict[int, Fact]]) -> States | None:
    """What the carries are by value of a flag that is known in each iteration; None where it is not."""
    found: dict[int, list[dict[int, Fact]]] = {}
    for state in started:
        fact = summarised(state[flag])
        if fact.step != 0 or type(fact.lo) is not int:
            return None
        found.setdefault(fact.lo, []).append(state)
    now = carries.now
    return {v: {i: met(now[i], fact) for i, fact in in_any(states).items()} for v, states in found.items()} or None


def _states(carries: Carries, flag: int, run: Any, thresholds: Any) -> States | None:
    """What the carries are at the start of an iteration, for each value of the flag; None where that does not rest."""
    rest, first = carries.now, summarised(carries.first[flag])
    states: States = {v: {**carries.first, flag: scalar(v)} for v in (0, 1) if first.lo <= v <= first.hi}
    near: Any = None
    for count in range(ROUNDS):
        fresh: States = {}
        for state in states.values():
            env = run({**rest, **state})
            for value in (0, 1) if env is not None else ():
                made = _made_where(carries, env, flag, value)
                if made is not None:
                    old = fresh.get(value)
                    fresh[value] = made if old is None else {i: join(old[i], fact) for i, fact in made.items()}
        changed = False
        for value, made in fresh.items():
            made = {i: met(rest[i], fact) for i, fact in made.items()}
            before = states.get(value)
            if before is None:
                states[value] = {**rest, **made}
                changed = True
                continue
            for i, fact in made.items():
                both = join(before[i], fact)
                if not leq(both, before[i]):
                    changed = True
                    if count >= PATIENCE:
                        near = near or thresholds()
                        both = met(widen(before[i], both, carries.info[i], near), rest[i])
                    before[i] = both
        if not changed:
            return states
    return None


def _made_where(carries: Carries, env: list[Any], flag: int, value: int) -> dict[int, Fact] | None:
    """What an iteration makes of the moving carries where the flag comes out so; None where it cannot."""
    body = carries.body
    refiner = Refiner(body, env)
    try:
        refiner.narrow(body.outs[flag], scalar(value), ALL)
        refiner.again()
        made = {i: refiner.value(body.outs[i], ALL) for i in carries.moving if carries.info[i].kind in "biu"}
    except Infeasible:
        return None
    # What is compared may be a float that is not rounded yet: the carry is.
    return {**{i: carries.out(env, i) for i in carries.moving}, **made, flag: scalar(value)}
