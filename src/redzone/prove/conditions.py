"""Conditions on inputs: proposed by walking back from an access, believed after a forward proof."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, meet, settle, summarised
from redzone.domains.fact import SMALL, flushed
from redzone.domains.symbolic import at_most, is_inconclusive, smaller
from redzone.engine import Seen
from redzone.engine.forward import Context, Runner
from redzone.engine.program import COND, Step
from redzone.frontend.trace import Input
from redzone.prove.need import FAR, Lost, Need, beside, hashable, is_far
from redzone.prove.needs import Shared, Walk
from redzone.report.model import Condition
from redzone.stages import recorded


@dataclasses.dataclass(slots=True)
class Proposal:
    """What the inputs would have to keep, and where the walk back got lost if it did."""

    needs: dict[int, Need]
    made: bool
    lost: Lost | None
    wrapped: bool = False
    """Whether a negative index may count from the end under it."""
    relations: tuple[Condition, ...] = ()
    """What must hold between inputs besides."""
    turned: bool = False
    """Whether arithmetic of floats was turned around for it, which is rounded."""
    shared: bool = False
    """Whether a bound on a sum was shared out among its terms for it."""
    guessed: bool = False
    """Whether nobody could say what it takes, and it was tried for being plain."""
    seen: bool = False
    """Whether under it an access may still be outside, but only where what it accesses is thrown away."""

    def key(self) -> Any:
        return tuple((leaf, hashable(n.lo), hashable(n.hi)) for leaf, n in sorted(self.needs.items()))


class Common(Shared):
    """What the proposals of one program have in common."""

    def __init__(self, accesses: int = 0) -> None:
        super().__init__(accesses)
        self.reruns: dict[tuple[int, int, int], Context | None] = {}

    def rerun(self, context: Context, step: Step, k: int) -> Context | None:
        """The run of a branch or call, made again once for whoever looks inside."""
        key = (id(context.env), id(step), k)
        if key not in self.reruns:
            self.runs.append(context.env)
            self.reruns[key] = rerun_of(context, step, k)
        return self.reruns[key]


@recorded("propose")
def propose(seen: Sequence[Seen], common: Common, wrapping: bool = True) -> Proposal:
    """Walk back from every way an access was reached that is not inside already."""

    if common.budget <= 0:
        return Proposal({}, False, Lost(None, "too many equations between the inputs and the index"))
    walk = Walk(common.rerun, wrapping, common)
    lost: Lost | None = None
    for one in seen:
        if one.inside:
            continue
        for slot, need in needs_of(one):
            try:
                walk.reach(one.context, slot, need, None, -1)
            except Lost as error:
                lost = error
            except Exception as other:
                if not is_inconclusive(other) and not isinstance(other, (TypeError, OverflowError)):
                    raise
                lost = Lost(None, "it hangs on sizes without a number" if is_inconclusive(other) else str(other))
    common.budget -= walk.given - max(walk.budget, 0)
    if any(n.empty() for n in walk.leaves.values()):
        lost = lost or Lost(None, "no input satisfies it")
    return Proposal(walk.leaves, walk.made, lost, walk.wrapped, turned=walk.turned, shared=walk.shared_out)


def needs_of(one: Seen) -> list[tuple[int, Need]]:
    """What each index operand of an access must keep."""
    columns = one.step.site.columns  # type: ignore[union-attr]
    needs: dict[int, list[tuple[int | None, int]]] = {}
    for k, column in enumerate(columns):
        needs.setdefault(one.step.ins[k], []).append((column.column, k))
    if len(needs) < len(columns) and not all(type(column.limit) is int for column in columns):
        # Sizes without a number are not kept apart: each column by itself.
        program = one.context.program
        alone = [-1 if c.column is None else program.column(one.step.ins[k], c.column) for k, c in enumerate(columns)]
        if -1 not in alone:
            return [(slot, Need(0, column.limit)) for slot, column in zip(alone, columns, strict=True)]
    return [(slot, _need_of(parts, columns, one.step.eqn)) for slot, parts in needs.items()]


def _need_of(parts: list[tuple[int | None, int]], columns: Any, eqn: Any) -> Need:
    if parts[0][0] is None:
        column = columns[parts[0][1]]
        limit = column.limit if column.repeat == 1 else column.limit // column.repeat
        return Need(0, functools.reduce(smaller, (columns[k].limit for _, k in parts)) if column.repeat == 1 else limit)
    limits = [columns[k].limit for _, k in sorted(parts)]
    if len(set(limits)) == 1 or not all(type(n) is int for n in limits):
        return Need(0, functools.reduce(smaller, limits))
    shape = (1,) * (len(eqn.invars[columns[0].operand].aval.shape) - 1) + (len(limits),)
    return Need(np.zeros(shape, np.int64), np.array(limits, np.int64).reshape(shape))


def rerun_of(context: Context, step: Step, k: int) -> Context | None:
    """The run of a branch or call, made again for a look inside."""
    runner = Runner(lambda *_: None, Counter())
    body = step.bodies[k]
    if step.kind == COND:
        which = context.env[step.ins[0]]
        last = len(step.bodies) - 1
        if not min(max(which.lo, 0), last) <= k <= min(max(which.hi, 0), last):
            return None
        facts = runner.inputs_of_branch(context.program, context.env, step, k, last)
        if facts is None:
            return None
        inputs = [facts[i] for i in step.extra[k]]
    else:
        inputs = [context.env[i] for i in step.ins]
    # A run is known by its environment: where nothing has changed, another caller's is handed out again.
    env = runner.run(body, inputs, False).copy()
    return Context(body, env, context, step, k)


def _keeps_apart(fact: Fact) -> bool:
    """Whether bounds of an input may differ between its elements."""
    base = summarised(fact)
    if type(base.lo) is float and type(base.hi) is float:
        return True
    return type(base.lo) is int and type(base.hi) is int and abs(base.lo) <= SMALL and abs(base.hi) <= SMALL


def provable(facts: Sequence[Fact], needs: dict[int, Need]) -> dict[int, Need]:
    """The needs as a forward run can take them: what it proves is proved under these, and nothing less.

    Elements of an input of a wide type cannot be told apart there, so all are asked for what one is.
    """
    return {
        leaf: need if _keeps_apart(facts[leaf]) or not (np.ndim(need.lo) or np.ndim(need.hi)) else need.uniform()
        for leaf, need in needs.items()
    }


def is_nearly_all(fact: Fact, need: Need) -> bool:
    """Whether a need leaves out only the ends of a wide type."""
    whole, asked = summarised(fact), need.uniform()
    if any(type(end) is not int for end in (whole.lo, whole.hi, asked.lo, asked.hi)):
        return False
    quarter = (whole.hi - whole.lo) // 4
    return bool(quarter >= SMALL // 4 and asked.lo <= whole.lo + quarter and whole.hi - quarter <= asked.hi)


def is_plain(facts: Sequence[Fact], needs: dict[int, Need]) -> bool:
    """Whether a proposal leaves each integer of a wide type some of the plainer numbers it can be.

    Those are a quarter of them, around zero: at the ends of its type nearly everything is close together.
    """
    for leaf, need in needs.items():
        whole, asked = summarised(facts[leaf]), need.uniform()
        if any(type(end) is not int for end in (whole.lo, whole.hi, asked.lo, asked.hi)):
            continue
        quarter = (whole.hi - whole.lo) // 4
        if quarter < SMALL // 4:
            continue
        if asked.lo > max(whole.lo, quarter) or asked.hi < min(whole.hi, -quarter):
            return False
    return True


def narrowed(facts: Sequence[Fact], needs: dict[int, Need]) -> list[Fact] | None:
    """The inputs' facts under a proposal; None where nothing is left."""
    result = list(facts)
    for leaf, need in needs.items():
        fact = facts[leaf]
        rank_arrays = np.ndim(need.lo) or np.ndim(need.hi)
        lo, hi = need.lo, need.hi
        if rank_arrays and not _keeps_apart(fact):
            need = need.uniform()
            lo, hi = need.lo, need.hi
        elif rank_arrays:
            base = summarised(fact)
            lo = np.where(np.less_equal(lo, -FAR), base.lo, np.maximum(lo, base.lo))
            hi = np.where(np.greater_equal(hi, FAR), base.hi, np.minimum(hi, base.hi))
        else:
            # No bound is no bound: 64-bit integers go beyond the number that stands for it.
            lo = summarised(fact).lo if is_far(lo) else lo
            hi = summarised(fact).hi if is_far(hi) else hi
        if isinstance(summarised(fact).lo, float) and not (np.ndim(lo) or np.ndim(hi)):
            # Bounds of a float are floats, also where what asks for them counts in integers.
            lo, hi = flushed(float(lo), float(hi))
        # A float that keeps a range is a number.
        allowed = settle(lo, hi, False) if np.ndim(lo) or np.ndim(hi) else Fact(lo, hi)
        new = meet(fact, allowed)
        if new is None:
            return None
        result[leaf] = new
    return result


#: By input and identity of what is asked of it: that, and its conditions.
Told = dict[tuple[int, int], tuple[Need, list[Condition]]]


def as_conditions(needs: dict[int, Need], inputs: Sequence[Input], told: Told | None = None) -> tuple[Condition, ...]:
    """Needs in the user's words; different parts of one argument get a condition each.

    What many accesses ask for together is put into words once where they are `told` to the next.
    """
    found: list[Condition] = []
    told = {} if told is None else told
    for leaf, need in sorted(needs.items()):
        known = told.get((leaf, id(need)))
        if known is None:
            shown = [_shown(inputs[leaf], leaf, where, lo, hi) for where, lo, hi in _parts(need)]
            known = told[leaf, id(need)] = (need, [one for one in shown if one is not None])
        found += known[1]
    return tuple(found)


def _parts(need: Need) -> list[tuple[str, Any, Any]]:
    if np.ndim(need.lo) == 0 and np.ndim(need.hi) == 0:
        return [("", need.lo, need.hi)]
    lo, hi = np.broadcast_arrays(need.lo, need.hi)
    together = _boxes(lo, hi)
    if len(together) == 1:
        return together
    # Where the least and the greatest hold for different parts, each is said by itself if that is shorter.
    below, above = _boxes(lo, np.full_like(hi, FAR)), _boxes(np.full_like(lo, -FAR), hi)
    told = (below or (lo <= -FAR).all()) and (above or (hi >= FAR).all())
    if told and len(below) + len(above) < (len(together) or PARTS):
        return below + above
    if together:
        return together
    varying = [d for d, n in enumerate(lo.shape) if n > 1]
    if len(varying) != 1:
        strongest = need.uniform()
        return _elements(lo, hi) if _mixed_free(lo, hi) else [("", strongest.lo, strongest.hi)]
    axis = varying[0]
    lines = list(zip(lo.ravel().tolist(), hi.ravel().tolist(), strict=True))
    runs: list[tuple[int, int, tuple[Any, Any]]] = []
    for k, pair in enumerate(lines):
        if runs and runs[-1][2] == pair:
            runs[-1] = (runs[-1][0], k + 1, pair)
        else:
            runs.append((k, k + 1, pair))
    colons = ", ".join(":" if d != axis else "{}" for d in range(lo.ndim))
    return [
        (f"[{colons}]".format(start if stop == start + 1 else f"{start}:{stop}"), low, high)
        for start, stop, (low, high) in runs
    ]


#: How many parts of one input are worth a condition each.
PARTS: Final = 8


def _boxes(lo: np.ndarray, hi: np.ndarray) -> list[tuple[str, Any, Any]]:
    """A condition for each block of elements that need the same; none where they are not blocks, or too many."""
    found: list[tuple[str, Any, Any]] = []
    bound = (lo > -FAR) | (hi < FAR)
    for low, high in dict.fromkeys(zip(lo[bound].tolist(), hi[bound].tolist(), strict=True)):
        mine = (lo == low) & (hi == high)
        spans = [_span(np.unique(at), n) for at, n in zip(np.nonzero(mine), lo.shape, strict=True)]
        there = tuple(slice(None) if s is None else slice(*s) for s in spans)
        if len(found) == PARTS or not mine[there].all() or mine[there].size != mine.sum():
            return []
        shown = ", ".join(
            ":" if s is None else str(s[0]) if s[1] == s[0] + 1 else f"{s[0]}:{s[1]}" + (f":{s[2]}" if s[2] > 1 else "")
            for s in spans
        )
        found.append((f"[{shown}]" if any(s is not None for s in spans) else "", low, high))
    return found


def _span(at: np.ndarray, size: int) -> tuple[int, int, int] | None:
    """Positions along a dimension as a slice; None for all of them."""
    if len(at) == size:
        return None
    stride = int(at[1] - at[0]) if len(at) > 1 else 1
    return int(at[0]), int(at[-1]) + 1, stride


def _mixed_free(lo: np.ndarray, hi: np.ndarray) -> bool:
    free = (lo <= -FAR) & (hi >= FAR)
    return bool(free.any() and not free.all())


def _elements(lo: np.ndarray, hi: np.ndarray) -> list[tuple[str, Any, Any]]:
    places = [p for p in np.ndindex(lo.shape) if not (lo[p] <= -FAR and hi[p] >= FAR)]
    if len(places) > 16:
        return [(" (some elements)", lo.max().item(), hi.min().item())]
    return [(f"[{', '.join(map(str, p))}]", lo[p].item(), hi[p].item()) for p in places]


def _shown(source: Input, leaf: int, where: str, lo: Any, hi: Any) -> Condition | None:
    info = dtype_info(source.aval.dtype)
    low = None if at_most(lo, -FAR) or (info.integral and at_most(lo, info.min)) else lo
    high = None if at_most(FAR, hi) or (info.integral and at_most(info.max, hi)) else hi
    # What is promised already need not be asked for.
    if source.min is not None and np.ndim(source.min) == 0 and low is not None and at_most(low, source.min):
        low = None
    if source.max is not None and np.ndim(source.max) == 0 and high is not None and at_most(source.max, high):
        high = None
    if low is None and high is None:
        return None
    text = _in_floats(source.name + where, low, high, source.aval.dtype) if info.kind == "f" else ""
    return Condition(source.name, leaf, low, high, where, text=text)


def _in_floats(name: str, low: Any, high: Any, dtype: Any) -> str:
    """A range of floats as people write it: `x < 8.0` rather than up to the number before."""
    below = "" if low is None else " ".join(reversed(_end(low, math.inf, dtype))) + " "
    above = "" if high is None else " " + " ".join(_end(high, -math.inf, dtype))
    return f"{below}{name}{above}"


def _end(bound: Any, inward: float, dtype: Any) -> tuple[str, str]:
    """The sign that limits a number, and the limit, with as few digits as tell it from others of its type."""
    # numpy writes halves of floats with a power of ten.
    held = (beside(bound, toward, dtype) for toward in (None, -inward))
    shown, strict = (min(str(number), str(float(number)), key=len) for number in held)
    return ("<", strict) if len(strict) < len(shown) else ("≤", shown)
