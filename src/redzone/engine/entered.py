"""Loops that a flag ends: `while not done`, where an iteration says `done = (n >= 10) | found`.

What the condition says of the carries it looks at, a flag that is not set, it says of what the iteration before made.
In that iteration the flag was computed beside the other carries, and that it was not set says more: n < 10. So the body
starts with a first value or with what the body made of such a start, where what it made for the condition lets the
loop go on. Facts that hold of the first values, and that the body keeps in this sense, hold wherever it starts.

Only whole numbers and bools are taken back into the iteration before: a float that is compared there may not be rounded
yet where other carries are made from it. Of a loop in lanes that stay apart it is said of the lanes that run: each goes
through it as if there were no others, and one that is done stays as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from redzone.domains import Fact, join, leq
from redzone.engine.carried import Carries, met
from redzone.engine.columns import is_open
from redzone.engine.continuing import Condition
from redzone.engine.levels import ALL
from redzone.engine.program import SIMPLE, source_of
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.engine.resting import come_to_rest, is_lost
from redzone.frontend.compat import primitives

_ADD: Final = primitives()["add_p"]
#: Where the program of a body notes how often this showed nothing; after so many times it is not tried again.
_IN_VAIN: Final = "entered in vain"
OFTEN: Final = 2


def is_worth_a_look(carries: Carries, condition: Condition, lane: bool, env: list[Any]) -> bool:
    """Whether a condition looks at numbers that the body makes, and something is open that these may decide.

    That it would decide something is seen from the last run of the body, in `env`: if the loop goes on after that, some
    carry starts with less than it was found to.
    """
    if carries.body.memo.get(_IN_VAIN, 0) >= OFTEN:
        return False
    made = [i for i in _looked_at(carries, condition) if i in carries.moving and not _is_counted(carries, i)]
    if not made or len(carries.moving) == len(made) == 1:
        return False
    if not any(is_lost(carries, i) for i in carries.moving) and not is_open(carries.body, env):
        return False
    goes_on = _if_it_goes_on(carries, condition, lane, _looked_at(carries, condition), env)
    return any(not leq(carries.now[i], join(carries.first[i], carries.out(goes_on, i))) for i in carries.moving)


def _is_counted(carries: Carries, i: int) -> bool:
    """Whether an iteration adds a constant to a carry: what is said of it at the next start says no more of others."""
    body = carries.body
    step = body.defs.get(source_of(body, body.outs[i]))
    if step is None or step.kind != SIMPLE or step.eqn.primitive is not _ADD or len(step.ins) != 2:
        return False
    a, b = step.ins
    return carries.slot[i] in (a, b) and (body.template[a] is not None or body.template[b] is not None)


def at_entries(
    carries: Carries,
    condition: Condition,
    lane: bool,
    run: Callable[[dict[int, Fact]], list[Any]],
    thresholds: Any,
    ends: Any,
    rest: dict[int, Fact],
) -> dict[int, Fact]:
    """What holds of the carries wherever the body starts, or a lane of it that runs.

    `run` runs the body with these, and `carries` are at their first values; `rest` is what holds of them anyway.
    """
    looked = _looked_at(carries, condition)

    def going_on() -> list[Any]:
        held = condition.when(carries.now, 1, lane)
        env = run(held if held is not None else carries.now)
        return _if_it_goes_on(carries, condition, lane, looked, env)

    come_to_rest(carries, carries.moving, going_on, thresholds, None, False, ends)
    if all(leq(rest[i], carries.now[i]) for i in carries.moving):
        memo = carries.body.memo
        memo[_IN_VAIN] = memo.get(_IN_VAIN, 0) + 1
    return {i: carries.now[i] for i in carries.moving}


def narrowed(now: dict[int, Fact], more: dict[int, Fact]) -> dict[int, Fact]:
    """Facts about carries, and further ones that hold too."""
    return {**now, **{i: met(now[i], fact) for i, fact in more.items()}} if more else now


def _looked_at(carries: Carries, condition: Condition) -> list[int]:
    """The whole numbers and bools among the carries that decide whether the loop goes on."""
    places = [i for _, i in condition.looked if i in carries.info]
    return [i for i in places if carries.info[i].kind in "biu"]


def _if_it_goes_on(carries: Carries, condition: Condition, lane: bool, looked: list[int], env: list[Any]) -> list[Any]:
    """The body's environment, its results as they are if the condition holds of them; first values where it cannot."""
    body = carries.body
    made = {i: carries.out(env, i) if i in carries.moving else carries.now[i] for i in carries.places}
    held = condition.when(made, 1, lane)
    result = env.copy()
    try:
        if held is None:
            raise Infeasible
        refiner = Refiner(body, env)
        for i in looked:
            if i in carries.moving:
                refiner.narrow(body.outs[i], held[i], ALL)
        refiner.again()
        found = [(body.outs[i], refiner.value(body.outs[i], ALL)) for i in carries.moving]
    except Infeasible:
        found = [(body.outs[i], carries.first[i]) for i in carries.moving]
    for slot, fact in found:
        result[slot] = fact
    return result
