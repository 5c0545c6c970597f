"""Selects: what each case is where it is taken."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from redzone.domains import Fact, join, leq, meet, settle, summarised
from redzone.domains.fact import is_small
from redzone.engine.either import beside
from redzone.engine.kinds import narrows
from redzone.engine.levels import ALL, HERE
from redzone.engine.program import Program, Step
from redzone.engine.tabulate import SPREAD, one_source, tabulated
from redzone.engine.wrapping import from_the_end, wrapped_by
from redzone.frontend.compat import primitives
from redzone.rules import RULES

if TYPE_CHECKING:
    from redzone.engine.forward import Runner

_SELECT: Final = RULES[primitives()["select_n_p"]]


def select(runner: Runner, program: Program, env: list[Any], step: Step) -> Fact:
    """What a select yields: its cases, joined, each as what it is where it is taken."""
    runner.looked = []
    which = env[step.ins[0]]
    if which.step == 0 and type(which.lo) is int:
        taken: Fact = env[step.ins[1 + min(max(which.lo, 0), len(step.ins) - 2)]]
        return taken
    by_number = step.given().kind != "b"
    if len(step.ins) != 3 or (by_number and not _is_between(which, 0, 1)):
        return _switch(runner, program, env, step)
    if by_number:
        step.extra = step.extra or ()
    elif step.extra is None:
        step.extra = wrapped_by(program, step) or ()
    if type(step.extra) is int:
        counted = from_the_end(env[step.ins[1]], step.extra)
        if counted is not None:
            return counted
        step.extra = ()
    kept = type(which.lo) is np.ndarray
    cases: tuple[Fact | None, Fact | None] = (env[step.ins[1]], env[step.ins[2]])
    if (
        (cases[0].step or cases[1].step)  # type: ignore[union-attr]
        and step.yields().kind != "b"
        and (program.defs.get(step.ins[0]) is not None or step.ins[0] in program.equal)
    ):
        cases = _refined_cases(runner, program, env, step, kept)
    first, second = cases
    if first is None or second is None:
        return first or second or env[step.ins[1]]
    if kept:
        return _chosen(which, first, second)
    result = join(first, second)
    if type(result.lo) is int and type(result.hi) is int and result.hi - result.lo > SPREAD:
        runner.looked.append({one_source(program, step.outs[0])})
        return tabulated(program, env, step, result)
    return result


def _switch(runner: Runner, program: Program, env: list[Any], step: Step) -> Fact:
    """A select by a number: what each case holds where that is its number, joined."""
    which, cases = env[step.ins[0]], step.ins[1:]
    plain: Fact = _SELECT.apply(step.eqn, which, *[env[slot] for slot in cases])
    asked, masks = narrows(program, step.ins[0]), program.behind()
    if not plain.step or not _is_between(which, 0, len(cases) - 1) or not any(asked & masks[s] for s in cases):
        return plain
    level = HERE if step.eqn.invars[0].aval.shape else ALL
    bounds, found = summarised(which), list[Fact]()
    for k in range(bounds.lo, bounds.hi + 1):
        fact = runner.value_where(program, env, step.ins[0], k, cases[k], level)
        if fact is not None:
            found.append(fact)
    return functools.reduce(join, found) if found else plain


def _refined_cases(
    runner: Runner, program: Program, env: list[Any], step: Step, kept: bool
) -> tuple[Fact | None, Fact | None]:
    """What a select's two cases hold where each is taken.

    Where one case already holds all that the other can be, looking closer at the other changes nothing.
    """
    level = HERE if step.eqn.invars[0].aval.shape else ALL
    cases: list[Fact | None] = [env[step.ins[1]], env[step.ins[2]]]
    related = step.extra
    if not related:
        related = step.extra = related_cases(program, step)
    for k in (0, 1) if related[1] and (not related[0] or _is_wider(cases[0], cases[1])) else (1, 0):
        if related[k]:
            cases[k] = refined(runner, program, env, step, k, level)
        mine, other = cases[k], cases[1 - k]
        if mine is not None and other is not None and not kept and _is_wider(mine, other):
            return mine, mine
    return cases[0], cases[1]


def refined(runner: Runner, program: Program, env: list[Any], step: Step, k: int, level: Any) -> Fact | None:
    """What a select's case holds where it is taken; None where it never is."""
    case = step.ins[1 + k]
    fact = runner.value_where(program, env, step.ins[0], k, case, level)
    key = ("either", step.ins[0], k)
    several = program.memo.get(key)
    if several is None:
        several = program.memo[key] = beside(program, step.ins[0], k, step.eqn.invars[0].aval.shape)
    for parts in several:
        if fact is None or not fact.step or _is_wider(env[step.ins[2 - k]], fact):
            break
        closer = _in_either(runner, program, env, parts, case, level)
        fact = None if closer is None else meet(fact, closer)
    return fact


def _in_either(
    runner: Runner, program: Program, env: list[Any], parts: tuple[tuple[int, int], ...], slot: int, level: Any
) -> Fact | None:
    """What a slot holds where one of these bools at least has its value; None where none can have it."""
    result: Fact | None = None
    for part, value in parts:
        fact = runner.value_where(program, env, part, value, slot, level)
        if fact is not None and fact is env[slot]:
            # Nothing is learnt of it from this part.
            return fact
        if fact is None:
            continue
        result = fact if result is None else join(result, fact)
    return result


def _is_between(fact: Fact, lo: int, hi: int) -> bool:
    fact = summarised(fact)
    return type(fact.lo) is int and type(fact.hi) is int and lo <= fact.lo and fact.hi <= hi


def _is_wider(a: Fact | None, b: Fact | None) -> bool:
    """Whether one plain fact allows all that another does."""
    if a is None or b is None or type(a.lo) is not int or type(b.lo) is not int:
        return False
    return type(a.hi) is int and type(b.hi) is int and leq(b, a)


def related_cases(program: Program, step: Step) -> tuple[bool, bool]:
    """Whether a select's condition says something about a value that each of its cases is made from."""
    mask, masks = narrows(program, step.ins[0]), program.behind()
    return bool(mask & masks[step.ins[1]]), bool(mask & masks[step.ins[2]])


def _chosen(which: Fact, first: Fact, second: Fact) -> Fact:
    """A select whose condition is known at some positions."""
    shapes = [f.lo.shape for f in (which, first, second) if type(f.lo) is np.ndarray]
    try:
        size = int(np.prod(np.broadcast_shapes(*shapes)))
    except ValueError:
        return join(summarised(first), summarised(second))
    both = join(first, second)
    if size > 4096 or not all(is_small(f) for f in (first, second, both)):
        return both
    lo = np.where(which.hi == 0, first.lo, np.where(which.lo == 1, second.lo, both.lo))
    hi = np.where(which.hi == 0, first.hi, np.where(which.lo == 1, second.hi, both.hi))
    if lo.dtype == object or hi.dtype == object:
        return both
    return settle(lo, hi, first.nan or second.nan)
