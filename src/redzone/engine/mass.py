"""Sums bounded by what was put in: counts that were scattered into zeros.

However a scatter-add spreads its updates over an array of zeros, each goes to at most one element. So any
sum over distinct elements lies between all the negative updates together and all the positive ones: the
slots of a `repeat`, the offsets of a histogram. And what a running sum has before each element is `cumsum(x) - x`.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import DtypeInfo, Fact, dtype_info, meet, settle, summarised
from redzone.domains.fact import SMALL
from redzone.engine.anew import are_flags_anew
from redzone.engine.hot import one_of_each, sum_of_one
from redzone.engine.program import Program, Step, made_by, source_of
from redzone.frontend.compat import primitives

_SCATTER_ADD: Final = primitives()["scatter_add_p"]
_CUMSUM: Final = primitives()["cumsum_p"]
_SUM: Final = primitives()["reduce_sum_p"]
#: Sums over at most so many elements are kept apart by how many have been added.
APART: Final = 64


def summed(program: Program, env: list[Any], step: Step) -> Fact:
    """A sum over elements, by its rule and by the mass of what it adds up."""
    assert step.rule is not None
    plain: Fact = step.rule.apply(step.eqn, *[env[i] for i in step.ins])
    info = dtype_info(step.eqn.outvars[0].aval.dtype)
    if info.kind not in "iu":
        return plain
    if not plain.kept and step.primitive is _CUMSUM:
        plain = _growing(step.eqn, env[step.ins[0]], info, 1) or plain
    bounds = _mass(program, env, step.ins[0], info, _summed_over(step.eqn))
    if bounds is None:
        bounds = _mass_of_ones(program, env, step, info)
    # The sums are exact modulo the width, and what they stand for fits: additions that wrap on the way do no harm.
    plain = plain if bounds is None else _within(plain, *bounds)
    alone = sum_of_one(program, env, step)
    return plain if alone is None else _within(plain, alone.lo, alone.hi)


class Before(NamedTuple):
    """The step that makes the running sum of which a difference takes the element itself away."""

    total: Step

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """The sums of the elements before each, of which `plain` is what the difference rule says."""
        return before(program, env, self.total, plain)

    def others(self) -> int:
        """How many elements a sum of those before one adds up at most; 0 where that is not known."""
        n = self.total.eqn.invars[0].aval.shape[self.total.eqn.params["axis"]]
        return max(n - 1, 0) if type(n) is int else 0


def running_sum(program: Program, step: Step) -> Before | None:
    """For a difference of integers `cumsum(x) - x`, from either end: the step that sums up."""
    total = made_by(program, step.ins[0])
    if total is None or total.eqn.primitive is not _CUMSUM or step.eqn.outvars[0].aval != total.eqn.outvars[0].aval:
        return None
    if not dtype_info(step.eqn.outvars[0].aval.dtype).integral:
        return None
    # Two uses of a value that nobody asked about, or that is computed anew, need not be one value.
    source = source_of(program, total.ins[0])
    if source != source_of(program, step.ins[1]) or source in program.unknown or are_flags_anew(program, source):
        return None
    return Before(total)


def before(program: Program, env: list[Any], total: Step, plain: Fact) -> Fact:
    """The sums of the elements before each: `cumsum(x) - x`, of which `plain` is what the difference rule says.

    It is exact modulo the width, so where the sums themselves fit it is exact.
    """
    info, x = dtype_info(total.eqn.outvars[0].aval.dtype), env[total.ins[0]]
    sums = _growing(total.eqn, x, info, 0)
    if sums is None:
        whole, n = summarised(x), total.eqn.invars[0].aval.shape[total.eqn.params["axis"]]
        if info.kind not in "iu" or any(type(k) is not int for k in (whole.lo, whole.hi, n)):
            return plain
        lo, hi = min(0, whole.lo * (n - 1)), max(0, whole.hi * (n - 1))
        sums = Fact(lo, hi, 0 if lo == hi else 1) if info.min <= lo and hi <= info.max else plain
    bounds = _mass(program, env, total.ins[0], info, _summed_over(total.eqn))
    if bounds is None:
        bounds = _mass_of_ones(program, env, total, info)
    if bounds is not None:
        sums = _within(sums, *bounds)
    if sums.kept or plain.kept:
        return sums
    return meet(plain, sums) or sums


def _growing(eqn: Any, x: Fact, info: DtypeInfo, itself: int) -> Fact | None:
    """The sums of the elements up to each, with it or without, kept apart; None where that is not worth it."""
    axis, shape = eqn.params["axis"], eqn.invars[0].aval.shape
    n = shape[axis]
    if info.kind not in "iu" or eqn.params["reverse"] or type(n) is not int or not 1 < n <= APART:
        return None
    if type(x.lo) is np.ndarray:
        if x.lo.shape[axis] != n or x.lo.dtype == object:
            return None
        lo, hi = (np.cumsum(b, axis) - (b if not itself else 0) for b in (x.lo, x.hi))
    elif type(x.lo) is int and type(x.hi) is int and x.lo * n > -SMALL and x.hi * n < SMALL:
        count = np.arange(itself, n + itself).reshape([n if d == axis else 1 for d in range(len(shape))])
        lo, hi = count * x.lo, count * x.hi
    else:
        return None
    return settle(lo, hi) if lo.min() >= info.min and hi.max() <= info.max else None


def _summed_over(eqn: Any) -> tuple[int, ...]:
    """The axes that a sum, or a running one, goes along."""
    return tuple([int(axis) for axis in eqn.params["axes"]]) if "axes" in eqn.params else (int(eqn.params["axis"]),)


def _mass(
    program: Program, env: list[Any], slot: int, info: DtypeInfo, axes: tuple[int, ...] | None = None
) -> tuple[int, int] | None:
    """Bounds on any sum over distinct elements, along these axes or all, of an array that counts were scattered into.

    A sum that stays at one place along another axis is reached only by the updates for that place, where each update
    has its own: along a batch, and along a window that always starts at 0.
    """
    made = made_by(program, slot)
    if made is None or made.primitive is not _SCATTER_ADD:
        return None
    base, updates = summarised(env[made.ins[0]]), summarised(env[made.ins[2]])
    if info.kind not in "iu" or base.lo != 0 or base.hi != 0:
        return None
    count: Any = 1
    for n in _updates(made.eqn, axes):
        count = count * n
    if type(count) is not int or type(updates.lo) is not int or type(updates.hi) is not int:
        return None
    lo, hi = min(0, updates.lo) * count, max(0, updates.hi) * count
    return None if lo < info.min or hi > info.max else (lo, hi)


def _mass_of_ones(program: Program, env: list[Any], step: Step, info: DtypeInfo) -> tuple[int, int] | None:
    """The same along one axis of numbers that are sums themselves, of terms of which one in a row is not zero.

    `counts = (keys[:, None] == arange(k)).sum(0)`: however many there are of each, together there are as many as keys.
    """
    made, axes = made_by(program, step.ins[0]), _summed_over(step.eqn)
    if made is None or made.primitive is not _SUM or len(axes) != 1 or len(made.eqn.params["axes"]) != 1:
        return None
    count = made.eqn.invars[0].aval.shape[made.eqn.params["axes"][0]]
    each = one_of_each(program, env, made, int(axes[0])) if type(count) is int else None
    # What is looked at lies behind what is summed up.
    step.volatile = step.volatile or each is not None
    if each is None or type(each.lo) is not int or type(each.hi) is not int:
        return None
    inner = dtype_info(made.eqn.outvars[0].aval.dtype)
    lo, hi = min(0, each.lo) * count, max(0, each.hi) * count
    return (lo, hi) if max(info.min, inner.min) <= lo and hi <= min(info.max, inner.max) else None


def _updates(eqn: Any, axes: tuple[int, ...] | None) -> list[Any]:
    """How many updates of a scatter reach elements that differ along these axes only, as factors."""
    shape, numbers = list(eqn.invars[2].aval.shape), eqn.params["dimension_numbers"]
    if axes is None:
        return shape
    windows, batching = numbers.update_window_dims, numbers.operand_batching_dims
    apart = {*numbers.inserted_window_dims, *batching}
    kept = [d for d in range(len(eqn.invars[0].aval.shape)) if d not in apart]
    for d, w in zip(kept, windows, strict=True):
        if d not in axes and d not in numbers.scatter_dims_to_operand_dims:
            shape[int(w)] = 1
    rest = [u for u in range(len(shape)) if u not in windows]
    for batch, b in zip(batching, numbers.scatter_indices_batching_dims, strict=True):
        if batch not in axes:
            shape[rest[int(b)]] = 1
    return shape


def altogether(program: Program, env: list[Any], slot: int) -> int | None:
    """The most that the elements along the last dimension add up to, where counts were scattered into an array."""
    made = made_by(program, slot)
    if made is None:
        return None
    counts = made.eqn.outvars[0].aval
    bounds = _mass(program, env, slot, dtype_info(counts.dtype), (len(counts.shape) - 1,))
    return None if bounds is None else bounds[1]


def _within(fact: Fact, lo: Any, hi: Any) -> Fact:
    if type(fact.lo) is np.ndarray:
        return settle(np.clip(fact.lo, lo, hi), np.clip(fact.hi, lo, hi))
    return meet(fact, Fact(lo, hi)) or fact
