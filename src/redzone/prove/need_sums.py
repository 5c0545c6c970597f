"""Needs through sums: what each term must keep for all of them together to keep a bound.

Terms of which nothing else is known are asked for alike: each for its share of the bound. The terms of a place on a
grid, `row * width + column`, are asked for what a digit is: the one that counts for less stays below the other's step.
"""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info, summarised
from redzone.engine.forward import Context
from redzone.engine.hot import picked
from redzone.engine.program import Step, made_by
from redzone.frontend.compat import primitives
from redzone.prove.need import Lost, Need, is_far

_P: Final = primitives()
_ADD: Final = _P["add_p"]
_MUL: Final = _P["mul_p"]
_CUMSUM: Final = _P["cumsum_p"]
_DOT: Final = _P["dot_general_p"]
#: Equations that only move what they are given.
_MOVES: Final = tuple(_P[f"{n}_p"] for n in ("broadcast_in_dim", "reshape", "squeeze", "transpose", "slice"))
#: How many terms of a place on a grid are looked at.
TERMS: Final = 8


def shares(context: Context, step: Step, need: Need) -> tuple[int, Need]:
    """What is summed up by a sum of integers, and what each of its elements is asked for: the same of all."""
    chosen = picked(context.program, step)
    if chosen is not None:
        # One of its elements, or nothing.
        return chosen, need.uniform()
    slot, count = _weighed(context, step)
    fact = context.env[slot]
    if fact is None or (summarised(fact).lo >= 0 and summarised(fact).hi <= 1):
        # How many of some flags are set is nothing to ask of each.
        raise Lost(step)
    info, whole = dtype_info(step.eqn.outvars[0].aval.dtype), need.uniform()
    lo, hi = whole.lo, info.max if is_far(whole.hi) else whole.hi
    if info.kind not in "iu" or count < 1 or type(hi) is not int or type(lo) is not int:
        raise Lost(step)
    if step.eqn.primitive is _CUMSUM and not lo <= 0 <= hi:
        # The first of running sums has one term, the last has all.
        raise Lost(step)
    most = hi // count
    # Where nothing else says how small a sum may be, its terms are no less than nothing.
    least = min(0, most) if is_far(lo) else -(-lo // count)
    if least >= most:
        raise Lost(step, "a sum of more terms than it has room for")
    return slot, Need(least, most, need.loose)


def _weighed(context: Context, step: Step) -> tuple[int, int]:
    """What is summed up, and how often each number counts together: weights of the program are none of its terms."""
    primitive, params = step.eqn.primitive, step.eqn.params
    if primitive is _DOT:
        shape = step.eqn.invars[0].aval.shape
        over = [shape[int(axis)] for axis in params["dimension_numbers"][0][0]]
        for k in (0, 1):
            axes = tuple([int(axis) for axis in params["dimension_numbers"][0][1 - k]])
            weight = _weight(context, step.ins[1 - k], axes, math.prod(over))
            if weight:
                return step.ins[k], weight
        raise Lost(step)
    axes = tuple([int(axis) for axis in ((params["axis"],) if primitive is _CUMSUM else params["axes"])])
    sizes = [step.eqn.invars[0].aval.shape[axis] for axis in axes]
    if not all(type(n) is int for n in sizes):
        raise Lost(step)
    term = made_by(context.program, step.ins[0])
    if term is not None and term.eqn.primitive is _MUL and len(term.ins) == 2:
        for k in (0, 1):
            weight = _weight(context, term.ins[1 - k], axes, math.prod(sizes))
            if weight:
                return term.ins[k], weight
    return step.ins[0], math.prod(sizes)


def _weight(context: Context, slot: int, axes: tuple[int, ...], count: int) -> int:
    """What constant weights, none of them negative, add up to along some dimensions; 0 where they are not."""
    fact = context.env[slot]
    if fact is None or not np.array_equal(fact.lo, fact.hi):
        return 0
    numbers = np.asarray(fact.lo)
    if numbers.dtype.kind not in "iu" or numbers.min() < 0:
        return 0
    if numbers.ndim == 0:
        return int(numbers) * count
    folded: int = count // math.prod(numbers.shape[axis] for axis in axes)
    return int(numbers.sum(axis=axes).max()) * folded


def digits(context: Context, step: Step, need: Need) -> list[tuple[int, Need]] | None:
    """What the terms of `row * width + column` must keep for a place on a grid to keep a need; None for another sum."""
    if len(step.ins) != 2 or any(context.env[slot] is None for slot in step.ins):
        return None
    whole, steps = need.uniform(), [_step_of(context, slot, TERMS) for slot in step.ins]
    large = int(steps[1] > steps[0])
    width, one = steps[large], steps[1 - large]
    if not all(isinstance(end, (int, float)) for end in (whole.lo, whole.hi)) or is_far(whole.lo) or is_far(whole.hi):
        return None
    if one < 1 or width % one or width // one < 2 or whole.hi - whole.lo < 2 * width - one:
        return None
    if any(summarised(context.env[slot]).hi - summarised(context.env[slot]).lo <= width for slot in step.ins):
        # One of the two is small as it is.
        return None
    rest = width - one
    return [
        (step.ins[large], Need(whole.lo, whole.hi - rest, need.loose)),
        (step.ins[1 - large], Need(0, rest, need.loose)),
    ]


def _step_of(context: Context, slot: int, deep: int) -> int:
    """What a number is surely a multiple of as long as nothing wraps, from how it is made; 1 where nothing is known."""
    made = made_by(context.program, slot)
    if made is None or deep == 0:
        return 1
    if made.eqn.primitive is _ADD and len(made.ins) == 2:
        return math.gcd(*(_step_of(context, one, deep - 1) for one in made.ins))
    if made.eqn.primitive in _MOVES:
        return _step_of(context, made.ins[0], deep - 1)
    if made.eqn.primitive is not _MUL or len(made.ins) != 2:
        return 1
    for k in (0, 1):
        fact = context.env[made.ins[k]]
        if fact is not None and fact.step == 0 and not fact.kept and _is_count(fact.lo):
            return int(fact.lo) * _step_of(context, made.ins[1 - k], deep - 1)
    return 1


def _is_count(number: Any) -> bool:
    """Whether a number is a whole one from 1 on. A range is not asked: for a float that is none of its numbers it goes
    through them all."""
    return type(number) in (int, float) and 1 <= number < 2**31 and number == int(number)
