"""What a loop puts in place of a carry, where it does not keep it: `at = where(wall[to], at, to)`.

What an iteration keeps is what was there before. So a carry is at any time its first value, or what some iteration put
there. Of facts that every state satisfies, what an iteration puts there is known; what it keeps adds nothing to that,
however far the carry was widened on the way.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import Fact, dtype_info, join
from redzone.engine.levels import ALL, HERE
from redzone.engine.program import COND, SIMPLE, Program, Step, source_of
from redzone.engine.selects import refined
from redzone.frontend.compat import primitives
from redzone.rules import RULES

if TYPE_CHECKING:
    from redzone.engine.carried import Carries
    from redzone.engine.forward import Runner

_SELECT: Final = RULES[primitives()["select_n_p"]]
#: How many choices lie between a carry and what is put in its place.
DEPTH: Final = 4


def first_or_replaced(runner: Runner, carries: Carries, env: list[Any], i: int) -> Fact | None:
    """What a carry can be by a run of the body with facts that every state satisfies; None where it is never kept."""
    if carries.slot[i] < 0 or carries.slot[i] in carries.body.unknown:
        return None
    found: list[Fact] = []
    if not _collect(runner, carries.body, env, carries.slot[i], carries.body.outs[i], found, DEPTH):
        return None
    return functools.reduce(join, found, carries.first[i])


def _collect(
    runner: Runner, body: Program, env: list[Any], first: int, slot: int, found: list[Fact], depth: int
) -> bool:
    """Add what a value can be that it was not before; whether there is a way to keep it."""
    slot = source_of(body, slot)
    if slot == first:
        return True
    step = body.defs.get(slot)
    if step is not None and depth and _is_choice(step):
        level, kept = HERE if step.eqn.invars[0].aval.shape else ALL, False
        for k in (0, 1):
            inner: list[Fact] = []
            if _collect(runner, body, env, first, step.ins[1 + k], inner, depth - 1):
                kept = True
                found += inner
                continue
            fact = refined(runner, body, env, step, k, level)
            found += [] if fact is None else [fact]
        return kept
    if step is not None and step.kind == COND:
        return _collect_of_branches(env, first, step, step.outs.index(slot), found)
    found.append(env[slot])
    return False


def _is_choice(step: Step) -> bool:
    if step.kind != SIMPLE or step.rule is not _SELECT or len(step.ins) != 3 or type(step.extra) is int:
        return False
    return dtype_info(step.eqn.invars[0].aval.dtype).kind == "b"


def _collect_of_branches(env: list[Any], first: int, step: Step, result: int, found: list[Fact]) -> bool:
    """The same of branches, of which each yields what it was given or something else."""
    kept = False
    for k, (results, _) in (env[step.apart] or {}).items():
        branch = step.bodies[k]
        if result in branch.errors:
            continue
        given = [s for (_, s), place in zip(branch.inputs, step.extra[k], strict=True) if step.ins[place] == first]
        if branch.outs[result] >= 0 and source_of(branch, branch.outs[result]) in given:
            kept = True
        else:
            found.append(results[result])
    return kept
