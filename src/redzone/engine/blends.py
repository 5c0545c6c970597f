"""Sums and products in which something counts under a condition, `x * (a == 1)`: what they are with and without it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from redzone.domains import FALSE, Fact, join, leq, meet
from redzone.engine.alternatives import Alternatives, alternatives, multiplied, negated
from redzone.engine.kinds import asked_by, narrows
from redzone.engine.levels import ALL, HERE
from redzone.engine.one_of import with_one_more
from redzone.engine.program import Program, Step
from redzone.engine.refine import is_flag
from redzone.frontend.compat import primitives
from redzone.rules import RULES
from redzone.rules.table import SAME

if TYPE_CHECKING:
    from redzone.engine.forward import Runner

_ADD: Final = RULES[primitives()["add_p"]]
_MUL: Final = RULES[primitives()["mul_p"]]
#: A sum beyond this has the bounds of its integer type.
_NEAR: Final = 2**30


def blend(runner: Runner, program: Program, env: list[Any], step: Step) -> None:
    """Look at what a sum, a difference or a product was found to be once more, with a condition in it and without."""
    runner.looked = []
    fact: Fact = env[step.outs[0]]
    factors, rule = step.extra, step.rule
    if type(fact.lo) is not int or type(fact.hi) is not int or fact.hi - fact.lo < 2:
        return
    # A sum of numbers as far as their type goes may have wrapped; a number times 0 or 1 has not.
    if rule is not _MUL and not -_NEAR < fact.lo < fact.hi < _NEAR:
        return
    if not factors:
        factors = _factors(program, env, step)
        if factors is None:
            return
        step.extra, step.volatile = factors or False, bool(factors)
    runner.looked.append({factor for factor, _ in factors})
    either = alternatives(program, step) if rule is _ADD else None
    if either is not None and is_flag(env[either.flag]):
        env[step.outs[0]] = _one_or_the_other(runner, program, env, either, fact)
        return
    for factor, shaped in factors:
        if not is_flag(env[factor]):
            continue
        chosen = with_one_more(program, env, step, factor) if rule is _ADD else None
        if chosen is not None:
            number, env[step.outs[0]] = chosen
            runner.looked.append({number})
            return
        found: Fact | None = None
        level = HERE if shaped else ALL
        # Of a flag and of 1 less it the same is asked.
        flag = negated(program, factor)
        for truth in (1, 0) if rule is _MUL else (0, 1):
            slot, at = multiplied(step, factor, level) if truth and rule is _MUL else (step.outs[0], level)
            condition, holds = (factor, truth) if flag is None else (flag, 1 - truth)
            value = runner.value_where(program, env, condition, holds, slot, level, at)
            value = None if value is None else meet(fact, value)
            if value is None:
                continue
            if leq(fact, value):
                return
            found = value if found is None else join(found, value)
            if truth and rule is _MUL and leq(FALSE, found):
                # Without it the product is 0, which is among these.
                break
        if found is not None:
            env[step.outs[0]] = found
        return


def _one_or_the_other(runner: Runner, program: Program, env: list[Any], either: Alternatives, fact: Fact) -> Fact:
    """What a sum is that is one of two values: each where it is the one, joined, as far as its rule does not say it."""
    found: Fact | None = None
    level = HERE if either.shaped else ALL
    for truth, (slot, shaped) in enumerate(either.cases):
        value = runner.value_where(program, env, either.flag, truth, slot, level, level if shaped else ALL)
        value = None if value is None else meet(fact, value)
        if value is None:
            continue
        if leq(fact, value):
            return fact
        found = value if found is None else join(found, value)
    return fact if found is None else found


def _factors(program: Program, env: list[Any], step: Step) -> list[tuple[int, bool]] | None:
    """What a sum or product is looked at with and without; None while no operand is a condition that is open."""
    if not step.yields().integral:
        return []
    if step.rule is _ADD and (found := _indicators(program, step)):
        return found
    for slot in step.ins:
        if is_flag(env[slot]):
            break
    else:
        return None
    return _conditions(program, step) if step.rule is _MUL else _flags(program, step)


def _flags(program: Program, step: Step) -> list[tuple[int, bool]]:
    """The terms of a sum that are conditions on the other term, `top + (top < n)`."""
    if len(step.ins) != 2:
        return []
    found, behind = [], program.behind()
    for k in (0, 1):
        flag, other, shape = step.ins[k], step.ins[1 - k], step.eqn.invars[k].aval.shape
        if program.template[other] is not None or (shape and shape != step.eqn.outvars[0].aval.shape):
            continue
        if asked_by(program, flag) != flag and narrows(program, flag) & behind[other]:
            found.append((flag, bool(shape)))
    return found


def _indicators(program: Program, step: Step) -> list[tuple[int, bool]]:
    """The factors of a sum's terms that may be conditions: their slots, and whether they are arrays."""
    found = []
    for slot in step.ins:
        product = program.defs.get(slot)
        while product is not None and product.rule is SAME:
            product = program.defs.get(product.ins[0])
        if product is None or product.rule is not _MUL:
            continue
        for factor, atom in zip(product.ins, product.eqn.invars, strict=True):
            shape = atom.aval.shape
            if program.template[factor] is None and (not shape or shape == step.eqn.outvars[0].aval.shape):
                found.append((factor, bool(shape)))
    return found


def _conditions(program: Program, step: Step) -> list[tuple[int, bool]]:
    """The factors of a product that may be conditions on the other one: their slots, and whether they are arrays."""
    if len(step.ins) != 2:
        return []
    found = []
    for k in (0, 1):
        factor, other, shape = step.ins[k], step.ins[1 - k], step.eqn.invars[k].aval.shape
        if program.template[factor] is not None or (shape and shape != step.eqn.outvars[0].aval.shape):
            continue
        # What the condition is about may be the other factor or something that is made from.
        if program.template[other] is None and narrows(program, factor) & program.behind()[other]:
            found.append((factor, bool(shape)))
    return found
