"""From an access back to the inputs: which range each input must keep for the index to stay inside.

A need is a pair of bounds that a value must keep. It is pushed backward through the equations that
made the value until it reaches inputs of the program. The result is a proposal: it is believed only
after a forward run under it has proved the access (see `conditions`).
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from redzone.access.site import column_of
from redzone.access.xla import ACCESSES
from redzone.domains import Fact, dtype_info, summarised
from redzone.domains.fact import TRUE
from redzone.domains.symbolic import at_most, is_symbolic
from redzone.engine.forward import Context
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.loops import counted_by
from redzone.engine.program import CALL, COND, SCAN, SIMPLE, Step
from redzone.engine.refine import ALL, Infeasible, Refiner
from redzone.engine.wrapping import wrapped_by
from redzone.frontend.compat import primitives
from redzone.rules.table import SAME, SUMMARY

#: Stands for "no bound" in both directions.
FAR = 2**62
#: A need keeps at most this many elements of an input apart.
APART = 4096
#: How many equations deep a walk goes, and how many it looks at.
DEEPEST = 80
BUDGET = 100
#: How many all walks of one program look at.
ALTOGETHER = 400


class Lost(Exception):
    """The need cannot be pushed through a step; `step` is the equation that lost it."""

    def __init__(self, step: Step | None, why: str = "") -> None:
        super().__init__(why)
        self.step = step


@dataclasses.dataclass(slots=True)
class Need:
    """Bounds a value must keep: numbers, or arrays broadcastable to the value."""

    lo: Any
    hi: Any

    def met_by(self, fact: Fact) -> bool:
        low, high, lo, hi = bounds = (fact.lo, fact.hi, self.lo, self.hi)
        if type(low) is int and type(high) is int and type(lo) is int and type(hi) is int:
            return lo <= low and high <= hi
        if not any(type(x) is np.ndarray for x in bounds):
            return bool(at_most(lo, low)) and bool(at_most(high, hi))
        if any(is_symbolic(x) for x in bounds):
            # An array of numbers beside an expression of sizes: each is held against the farthest of the other.
            need, whole = self.uniform(), summarised(fact)
            return bool(at_most(need.lo, whole.lo)) and bool(at_most(whole.hi, need.hi))
        return bool(np.all(np.asarray(fact.lo >= self.lo))) and bool(np.all(np.asarray(fact.hi <= self.hi)))

    def uniform(self) -> Need:
        """The strongest of these needs, for every element."""
        if type(self.lo) is np.ndarray or type(self.hi) is np.ndarray:
            return Need(_one(np.max, self.lo), _one(np.min, self.hi))
        return self

    def both(self, other: Need) -> Need:
        a, b = _alike(self, other)
        return Need(_max(a.lo, b.lo), _min(a.hi, b.hi))

    def either(self, other: Need) -> Need:
        a, b = _alike(self, other)
        return Need(_min(a.lo, b.lo), _max(a.hi, b.hi))

    def empty(self) -> bool:
        if not (is_apart(self.lo) or is_apart(self.hi)):
            return at_most(self.lo, self.hi) is False
        return bool(np.any(np.asarray(self.lo) > np.asarray(self.hi)))


def _one(strongest: Any, bound: Any) -> Any:
    return bound if is_symbolic(bound) else int(strongest(bound))


def is_apart(bound: Any) -> bool:
    """Whether a bound differs between elements."""
    return type(bound) is np.ndarray and bound.ndim > 0


def _alike(a: Need, b: Need) -> tuple[Need, Need]:
    bounds = (a.lo, a.hi, b.lo, b.hi)
    ranks = {x.ndim for x in bounds if is_apart(x)}
    mixed = len(ranks) > 1 or (ranks and any(map(is_symbolic, bounds)))
    return (a.uniform(), b.uniform()) if mixed else (a, b)


def _max(a: Any, b: Any) -> Any:
    return np.maximum(a, b) if is_apart(a) or is_apart(b) else (b if at_most(a, b) else a)


def _min(a: Any, b: Any) -> Any:
    return np.minimum(a, b) if is_apart(a) or is_apart(b) else (a if at_most(a, b) else b)


def hashable(bound: Any) -> Any:
    return (bound.shape, bound.tobytes()) if type(bound) is np.ndarray else bound


def is_far(bound: Any) -> bool:
    """Whether a bound stands for none."""
    return isinstance(bound, int | float) and abs(bound) >= FAR


def _shift(bound: Any, by: Any) -> Any:
    """A bound moved by a number; no bound stays none."""
    if type(bound) is np.ndarray:
        return np.where(np.abs(bound) >= FAR, bound, bound + by)
    return bound if is_far(bound) else bound + by


_P = primitives()
_SUB_P, _MUL_P = _P["sub_p"], _P["mul_p"]
_NAMES = {
    _P[f"{name}_p"]: kind
    for name, kind in {
        "add": "add",
        "sub": "sub",
        "neg": "neg",
        "mul": "mul",
        "div": "div",
        "rem": "rem",
        "max": "max",
        "min": "min",
        "clamp": "clamp",
        "convert_element_type": "convert",
        "select_n": "select",
        "and": "mask",
        "shift_right_arithmetic": "shift",
        "shift_right_logical": "shift",
        "broadcast_in_dim": "broadcast",
        "reshape": "reshape",
        "squeeze": "squeeze",
        "transpose": "transpose",
        "rev": "rev",
        "slice": "slice",
        "concatenate": "concatenate",
        "pad": "pad",
        "gather": "content",
        "dynamic_slice": "content",
        "dynamic_update_slice": "update",
        "scatter": "scatter",
        "sort": "sorted",
        "reduce_max": "content",
        "reduce_min": "content",
        "cummax": "content",
        "cummin": "content",
        "copy": "same",
        "stop_gradient": "same",
        "sharding_constraint": "same",
        "pvary": "same",
        "floor": "floor",
        "all_gather": "content",
        "all_to_all": "content",
        "pmax": "content",
        "pmin": "content",
        "stack": "stack",
        "tile": "content",
        "split": "content",
        "unstack": "content",
    }.items()
    if f"{name}_p" in _P
}


@dataclasses.dataclass(slots=True)
class Answer:
    """What a need came to: needs of inputs and of the value the walk stops at, or where it got lost."""

    leaves: dict[int, Need]
    stop: dict[int, Need]
    made: bool
    wrapped: bool
    lost: Lost | None


class Shared:
    """What the walks of one program have in common."""

    def __init__(self) -> None:
        self.budget = ALTOGETHER
        self.answers: dict[Any, Answer] = {}
        self.cases: dict[Any, Context | None] = {}
        self.runs: list[Any] = []
        """The environments asked about, so that the identity of each stays its own."""


class Walk:
    """One walk back from one access. `made` tells that the program itself had limited the value, too widely."""

    def __init__(self, rerun: Any, wrapping: bool = True, shared: Shared | None = None) -> None:
        self.rerun = rerun
        self.shared = Shared() if shared is None else shared
        self.wrapping = wrapping
        """Whether a negative index may count from the end."""
        self.wrapped = False
        self.made = False
        self.leaves: dict[int, Need] = {}
        self.active: set[tuple[int, int]] = set()
        self.cycles = 0
        """How often a loop was found to ask for what it is asked to keep."""
        self.budget = self.given = min(BUDGET, self.shared.budget)
        self.deep = 0

    # Collecting

    def reach(self, context: Context, slot: int, need: Need, stop: dict[int, Need] | None, at: int) -> None:
        """Make sure a value meets a need, asking its operands or the inputs for what that takes."""
        self.deep += 1
        try:
            self.asked_for(context, slot, need, stop, at)
        finally:
            self.deep -= 1

    def asked_for(self, context: Context, slot: int, need: Need, stop: dict[int, Need] | None, at: int) -> None:
        if stop is not None and slot == at:
            stop[at] = stop[at].both(need) if at in stop else need
            return
        fact = context.env[slot]
        if fact is None:
            raise Lost(None, "a value that was not analysed")
        if need.met_by(fact):
            return
        self.budget -= 1
        if self.budget < 0:
            raise Lost(None, "too many equations between the inputs and the index")
        step = context.program.defs.get(slot)
        if step is None:
            if self.deep > DEEPEST:
                raise Lost(None, "too many equations between the inputs and the index")
            self.enter(context, slot, need)
            return
        if fact.step == 0 and not fact.kept:
            raise Lost(step, "a constant that lies outside")
        key = (id(context.program), slot)
        if key in self.active:
            # A loop keeps what it is asked to keep; whether it does is for the forward run to say.
            self.cycles += 1
            return
        if self.deep > DEEPEST:
            raise Lost(None, "too many equations between the inputs and the index")
        asked = (id(context.env), slot, hashable(need.lo), hashable(need.hi), at, self.wrapping)
        known = self.shared.answers.get(asked)
        if known is None:
            known = self.answered(context, step, slot, need, stop is not None, at, key, asked)
        if known.lost is not None:
            raise known.lost
        self.made, self.wrapped = self.made or known.made, self.wrapped or known.wrapped
        for leaf, found in known.leaves.items():
            self.leaves[leaf] = self.leaves[leaf].both(found) if leaf in self.leaves else found
        if stop is not None and at in known.stop:
            stop[at] = stop[at].both(known.stop[at]) if at in stop else known.stop[at]

    def answered(
        self, context: Context, step: Step, slot: int, need: Need, stops: bool, at: int, key: Any, asked: Any
    ) -> Answer:
        """What one value's need comes to, kept for the next who asks."""
        outer = (self.leaves, self.made, self.wrapped)
        self.leaves, self.made, self.wrapped = {}, False, False
        cycles, lost = self.cycles, None
        stop: dict[int, Need] | None = {} if stops else None
        self.active.add(key)
        try:
            self.through(context, step, slot, need, stop, at)
        except Lost as error:
            lost = error
        finally:
            self.active.discard(key)
            known = Answer(self.leaves, stop or {}, self.made, self.wrapped, lost)
            self.leaves, self.made, self.wrapped = outer
        # An answer that leans on a loop's being asked already is no answer for others.
        if self.cycles == cycles and self.budget > 0 and self.deep < DEEPEST // 2:
            self.shared.answers[asked] = known
            self.shared.runs.append(context.env)
        return known

    def enter(self, context: Context, slot: int, need: Need) -> None:
        """A need on a program's input is a need on what the enclosing program passes in."""
        place = next((k for k, (_, s) in enumerate(context.program.inputs) if s == slot), None)
        if place is None:
            raise Lost(None, "a constant of the program")
        position = context.program.inputs[place][0]
        parent, via = context.parent, context.step
        if parent is None or via is None:
            old = self.leaves.get(position)
            self.leaves[position] = need if old is None else old.both(need)
            return
        if via.kind == COND:
            self.reach(parent, via.ins[via.extra[context.branch][place]], need, None, -1)
        elif via.kind == CALL:
            # The run may stand for several calls with equal facts.
            for caller, step in ((parent, via), *context.others):
                self.reach(caller, step.ins[place], need, None, -1)
        elif via.kind == SCAN:
            self.enter_scan(context, parent, via, place, position, slot, need)
        else:
            self.enter_while(context, parent, via, place, position, slot, need)

    def enter_scan(
        self, context: Context, parent: Context, via: Step, place: int, position: int, slot: int, need: Need
    ) -> None:
        shape = via.extra
        if position < shape.consts:
            self.reach(parent, via.ins[place], need, None, -1)
        elif position >= shape.consts + shape.carry_count:
            lo = need.lo[None] if type(need.lo) is np.ndarray else need.lo
            hi = need.hi[None] if type(need.hi) is np.ndarray else need.hi
            self.reach(parent, via.ins[place], Need(lo, hi), None, -1)
        else:
            i = position - shape.consts
            by = counted_by(context.program, slot, context.program.outs[i])
            if by is not None and type(shape.length) is int:
                # A counter: what it reaches from its first value is known.
                low, high = min(0, by * (shape.length - 1)), max(0, by * (shape.length - 1))
                self.reach(parent, via.ins[place], Need(_shift(need.lo, -low), _shift(need.hi, -high)), None, -1)
                return
            self.carried(context, parent, via, place, i, need)

    def enter_while(
        self, context: Context, parent: Context, via: Step, place: int, position: int, slot: int, need: Need
    ) -> None:
        shape = via.extra
        consts, offset = (shape.cond_consts, len(via.bodies[0].inputs)) if context.branch == -1 else (shape.consts, 0)
        if position < consts:
            self.reach(parent, via.ins[offset + place], need, None, -1)
            return
        if context.branch == -1:
            raise Lost(via, "an index in a loop's condition")
        self.carried(context, parent, via, place, position - consts, need)

    def carried(self, context: Context, parent: Context, via: Step, place: int, i: int, need: Need) -> None:
        """A carry keeps a need when its first value does and the body keeps it: an inductive invariant."""
        self.reach(parent, via.ins[place], need, None, -1)
        out = context.program.outs[i]
        if out >= 0 and out != context.program.inputs[place][1]:
            self.reach(context, out, need, None, -1)

    # One step back

    def through(
        self, context: Context, step: Step, slot: int, need: Need, stop: dict[int, Need] | None, at: int
    ) -> None:
        if step.kind in (COND, CALL):
            self.into(context, step, slot, need)
            return
        if step.kind != SIMPLE:
            raise Lost(step)

        def ask(position: int, lo: Any, hi: Any) -> None:
            wanted = Need(lo, hi)
            if (is_apart(lo) or is_apart(hi)) and len(step.ins) == len(step.eqn.invars) and step.rule is not SAME:
                # An operand of fewer elements than the result stands beside each of them.
                shape = step.eqn.invars[position].aval.shape
                asked = np.broadcast_shapes(np.shape(lo), np.shape(hi))
                if len(asked) != len(shape) or any(n != 1 and n != m for n, m in zip(asked, shape, strict=True)):
                    wanted = wanted.uniform()
            self.reach(context, step.ins[position], wanted, stop, at)

        env = context.env
        if step.rule is SAME:
            ask(0, need.lo, need.hi)
            return
        if step.rule is SUMMARY:
            whole = need.uniform()
            ask(0, whole.lo, whole.hi)
            return
        if step.rule is FLOOR_DIVIDE:
            k = env[step.ins[1]]
            if k.step != 0 or k.lo <= 0:
                raise Lost(step)
            ask(0, _times(need.lo, k.lo, 0), _times(need.hi, k.lo, k.lo - 1))
            return
        if step.rule is REMAINDER:
            self.made = True
            ask(0, need.lo, need.hi)
            return
        kind = _NAMES.get(step.eqn.primitive)
        if kind is None or len(step.ins) != len(step.eqn.invars):
            raise Lost(step)
        if dtype_info(step.eqn.outvars[0].aval.dtype).kind == "f" and kind not in ("same", "floor", *_MOVES):
            raise Lost(step)
        if kind == "add" and self.flagged(context, step, need, stop, at):
            return
        if kind == "select":
            self.select(context, step, need, stop, at)
        elif kind in _MOVES:
            for position, moved in _MOVES[kind](step, slot, need, [env[i] for i in step.ins]):
                ask(position, moved.lo, moved.hi)
        else:
            _BACK[kind](self, step, [env[i] for i in step.ins], need, ask)

    def flagged(self, context: Context, step: Step, need: Need, stop: dict[int, Need] | None, at: int) -> bool:
        """`a * y + b * (1 - y)`: y is asked to be 0 or 1, and each of the two to meet the need."""
        found = _flag(context, step)
        if found is None or is_apart(need.lo) or is_apart(need.hi):
            return False
        flag, terms = found
        self.reach(context, flag, Need(0, 1), stop, at)
        for slot in terms:
            if slot is None:
                if not need.met_by(TRUE):
                    raise Lost(step, "one of two terms lies outside")
            else:
                self.reach(context, slot, need, stop, at)
        return True

    def into(self, context: Context, step: Step, slot: int, need: Need) -> None:
        """A value that branches or a call produced: ask each branch that can run."""
        which = step.outs.index(slot)
        for k, body in enumerate(step.bodies):
            inner = self.rerun(context, step, k)
            if inner is not None:
                self.reach(inner, body.outs[which], need, None, -1)

    def select(self, context: Context, step: Step, need: Need, stop: dict[int, Need] | None, at: int) -> None:
        """Each case must meet the need where it is taken.

        If the condition compares one value v with a constant, the needs of both cases on v hold on
        v's own side of the comparison: together they allow either. Everything else must hold for both.
        """
        counted = self.from_the_end(context, step, need)
        if counted is not None and self.wrapping:
            self.wrapped = True
            self.reach(context, step.ins[1], counted, stop, at)
            return
        pivot = _pivot(context, step)
        if pivot is not None and is_wrap(context, step):
            if not self.wrapping:
                self.reach(context, pivot, need, stop, at)
                return
            self.wrapped = True
        allowed: Need | None = None
        level = ("here",) if step.eqn.invars[0].aval.shape else ALL
        feasible = 0
        for k in range(len(step.ins) - 1):
            inner = self.case(context, step, k, level)
            if inner is None:
                continue
            feasible += 1
            env = inner.env
            found: dict[int, Need] = {}
            if pivot is None:
                self.reach(inner, step.ins[1 + k], need, stop, at)
                continue
            self.reach(inner, step.ins[1 + k], need, found, pivot)
            side = summarised(env[pivot])
            mine = Need(side.lo, side.hi)
            if pivot in found:
                mine = mine.both(found[pivot])
            if not mine.empty():
                allowed = mine if allowed is None else allowed.either(mine)
        if pivot is not None and feasible:
            if allowed is None:
                raise Lost(step, "no value of the selector keeps the index inside")
            self.reach(context, pivot, allowed, stop, at)

    def from_the_end(self, context: Context, step: Step, need: Need) -> Need | None:
        """What an index must keep before jnp's wrap; None where that is no range, or the select is none."""
        n = wrapped_by(context.program, step)
        if n is None or is_apart(need.lo) or is_apart(need.hi) or type(need.lo) is not int or type(need.hi) is not int:
            return None
        # From the end it reaches n - 1, from the start 0: between them there must be no hole.
        if need.lo > 0 or need.hi < n - 1:
            return None
        return Need(need.lo if is_far(need.lo) else need.lo - n, need.hi)

    def case(self, context: Context, step: Step, k: int, level: Any) -> Context | None:
        """The run as it is where a select takes this case; None where it never does."""
        key = (id(context.env), id(step), k)
        if key not in self.shared.cases:
            self.shared.runs.append(context.env)
            self.shared.cases[key] = self._case(context, step, k, level)
        return self.shared.cases[key]

    def _case(self, context: Context, step: Step, k: int, level: Any) -> Context | None:
        refiner = Refiner(context.program, context.env)
        try:
            if len(step.ins) == 3:
                refiner.assume(step.ins[0], k, level)
            case = refiner.value(step.ins[1 + k], level)
        except Infeasible:
            return None
        env = context.env.copy()
        for (s, _), fact in [*refiner.recomputed.items(), *refiner.tentative.items(), *refiner.known.items()]:
            env[s] = fact
        env[step.ins[1 + k]] = case
        return dataclasses.replace(context, env=env)


def _pivot(context: Context, step: Step) -> int | None:
    """The one variable value that a select's condition compares with something constant."""
    test = context.program.defs.get(step.ins[0])
    while test is not None and test.rule is SAME:
        test = context.program.defs.get(test.ins[0])
    if test is None or test.kind != SIMPLE or test.eqn.primitive.name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        return None
    sides = [s for s in test.ins if context.env[s] is not None and context.env[s].step != 0]
    return sides[0] if len(sides) == 1 else None


def _flag(context: Context, step: Step) -> tuple[int, list[int | None]] | None:
    """The y of a sum `a * y + b * (1 - y)`, and the slots of a and b; None for a term that is y or 1 - y alone."""
    terms = [_factors(context, slot) for slot in step.ins]
    for here, there in ((terms[0], terms[1]), (terms[1], terms[0])):
        for flag, a in here:
            for other, b in there:
                made = _made(context, other)
                if made is None or made.eqn.primitive is not _SUB_P or made.ins[1] != flag:
                    continue
                one = context.env[made.ins[0]]
                if one is not None and one.step == 0 and one.lo == 1 and context.program.template[flag] is None:
                    return flag, [a, b]
    return None


def _factors(context: Context, slot: int) -> list[tuple[int, int | None]]:
    """A term as one factor and the other, both ways round; as itself and nothing where it is no product."""
    made = _made(context, slot)
    if made is None or made.eqn.primitive is not _MUL_P or len(made.ins) != 2:
        return [(slot, None)]
    return [(made.ins[0], made.ins[1]), (made.ins[1], made.ins[0])]


def _made(context: Context, slot: int) -> Step | None:
    step = context.program.defs.get(slot)
    while step is not None and step.rule is SAME:
        step = context.program.defs.get(step.ins[0])
    return step if step is not None and step.kind == SIMPLE else None


def is_wrap(context: Context, step: Step) -> bool:
    """Whether a select is jnp's `i < 0 ? i + n : i`."""
    test = context.program.defs.get(step.ins[0])
    if test is None or test.kind != SIMPLE or test.eqn.primitive.name != "lt" or len(step.ins) != 3:
        return False
    zero = context.env[test.ins[1]]
    return bool(zero is not None and zero.step == 0 and zero.lo == 0 and test.ins[0] == step.ins[1])


def _times(bound: Any, k: int, plus: int) -> Any:
    if type(bound) is np.ndarray:
        return np.where(np.abs(bound) >= FAR, bound, bound * k + plus)
    return bound if is_far(bound) else bound * k + plus


def _sum(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any, sign: int) -> None:
    a, b = facts[0], summarised(facts[1])
    if sign < 0:
        b = Fact(-b.hi, -b.lo, b.step)
    width = [_width(f) for f in facts]
    mine, room = min(width), _width_of(need)
    if room is not None and mine > room and all(_holds_zero(f) for f in facts):
        # Neither leaves room for the other: perhaps only one of them is not zero at a time.
        whole = need.uniform()
        for position in (0, 1):
            back = sign < 0 and position == 1
            ask(position, -whole.hi if back else whole.lo, -whole.lo if back else whole.hi)
        return
    if width[0] >= width[1]:
        ask(0, _shift(need.lo, -b.lo), _shift(need.hi, -b.hi))
    else:
        a = summarised(a)
        lo, hi = _shift(need.lo, -a.lo), _shift(need.hi, -a.hi)
        if sign > 0:
            ask(1, lo, hi)
        else:
            ask(1, _negated(hi), _negated(lo))


def _width(fact: Fact) -> Any:
    fact = summarised(fact)
    return fact.hi - fact.lo


def _width_of(need: Need) -> Any:
    """How far apart the ends of a need are; None where it has no two."""
    need = need.uniform()
    if type(need.lo) is not int or type(need.hi) is not int or is_far(need.lo) or is_far(need.hi):
        return None
    return need.hi - need.lo


def _holds_zero(fact: Fact) -> bool:
    fact = summarised(fact)
    return type(fact.lo) is int and type(fact.hi) is int and fact.lo <= 0 <= fact.hi


def _negated(bound: Any) -> Any:
    return -bound


def _add(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    _sum(walk, step, facts, need, ask, 1)


def _sub(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    _sum(walk, step, facts, need, ask, -1)


def _neg(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    ask(0, -need.hi, -need.lo)


def _mul(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    for position, other in ((0, facts[1]), (1, facts[0])):
        if other.step == 0 and not other.kept and other.lo != 0:
            k = other.lo
            lo, hi = (need.lo, need.hi) if k > 0 else (_negated(need.hi), _negated(need.lo))
            ask(position, _ceil_div(lo, abs(k)), _floor_div(hi, abs(k)))
            return
    for position, other in ((0, facts[1]), (1, facts[0])):
        other = summarised(other)
        if other.lo == 0 and other.hi == 1:
            # Times a condition: itself or nothing.
            ask(position, need.lo, need.hi)
            return
    raise Lost(step)


def _ceil_div(bound: Any, k: int) -> Any:
    if type(bound) is np.ndarray:
        return np.where(np.abs(bound) >= FAR, bound, -(-bound // k))
    return bound if is_far(bound) else -(-bound // k)


def _floor_div(bound: Any, k: int) -> Any:
    if type(bound) is np.ndarray:
        return np.where(np.abs(bound) >= FAR, bound, bound // k)
    return bound if is_far(bound) else bound // k


def _div(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    k = facts[1]
    if k.step != 0 or k.lo <= 0:
        raise Lost(step)
    need = need.uniform()
    lo = _times(need.lo, k.lo, 0 if need.lo > 0 else -(k.lo - 1))
    hi = _times(need.hi, k.lo, 0 if need.hi < 0 else k.lo - 1)
    ask(0, lo, hi)


def _rem(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    walk.made = True
    ask(0, need.lo, need.hi)


def _mask(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    walk.made = True
    raise Lost(step)


def _shift_right(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    k = facts[1]
    if k.step != 0 or not 0 <= k.lo < 64:
        raise Lost(step)
    ask(0, _times(need.lo, 1 << k.lo, 0), _times(need.hi, 1 << k.lo, (1 << k.lo) - 1))


def _max_of(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    _extreme(walk, step, facts, need, ask, upper=True)


def _min_of(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    _extreme(walk, step, facts, need, ask, upper=False)


def _extreme(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any, upper: bool) -> None:
    """max: both operands stay below, one of them above; min the other way round."""
    need = need.uniform()
    a, b = (summarised(f) for f in facts)
    for position, x, y in ((0, a, b), (1, b, a)):
        if upper:
            cut = y.step == 0 and x.lo < y.lo < need.lo
            lo = need.lo if y.lo < need.lo and x.step != 0 else -FAR
            hi = need.hi
        else:
            cut = y.step == 0 and x.hi > y.lo > need.hi
            hi = need.hi if y.hi > need.hi and x.step != 0 else FAR
            lo = need.lo
        if cut:
            walk.made = True
        if x.step == 0:
            # The limit itself: it must not be beyond the other end.
            if (upper and x.lo > need.hi) or (not upper and x.lo < need.lo):
                raise Lost(step, "the limit itself lies outside")
            continue
        ask(position, lo, hi)


def _clamp(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    need = need.uniform()
    low, x, high = (summarised(f) for f in facts)
    if (low.lo < need.lo and x.lo < low.lo) or (high.hi > need.hi and x.hi > high.hi):
        walk.made = True
    if low.hi > need.hi or high.lo < need.lo:
        raise Lost(step, "a limit itself lies outside")
    ask(1, need.lo if low.lo < need.lo else -FAR, need.hi if high.hi > need.hi else FAR)


def _convert(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    source, target = (dtype_info(v.aval.dtype) for v in (step.eqn.invars[0], step.eqn.outvars[0]))
    if source.integral and target.integral:
        lo, hi = _max(need.lo, target.min), _min(need.hi, target.max)
        ask(0, lo, hi)
        return
    if source.kind == "f" and target.integral:
        need = need.uniform()
        lo = float(need.lo) if need.lo > 0 else float(np.nextafter(np.float32(need.lo - 1), np.float32(np.inf)))
        hi = float(np.nextafter(np.float32(need.hi + 1), np.float32(-np.inf))) if need.hi >= 0 else float(need.hi)
        ask(0, lo, hi)
        return
    raise Lost(step)


def _same(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    ask(0, need.lo, need.hi)


def _floor(walk: Walk, step: Step, facts: list[Fact], need: Need, ask: Any) -> None:
    need = need.uniform()
    ask(
        0,
        float(np.ceil(need.lo)),
        float(np.nextafter(np.float32(np.floor(need.hi) + 1), np.float32(-np.inf))),
    )


_BACK = {
    "add": _add,
    "sub": _sub,
    "neg": _neg,
    "mul": _mul,
    "div": _div,
    "rem": _rem,
    "mask": _mask,
    "shift": _shift_right,
    "max": _max_of,
    "min": _min_of,
    "clamp": _clamp,
    "convert": _convert,
    "same": _same,
    "floor": _floor,
}


# Rearrangements: the need moves with the elements.


def _pieces(need: Need, shape: Any) -> Need:
    """The need with bounds of the value's rank where they differ between elements."""
    if not is_apart(need.lo) and not is_apart(need.hi):
        return need
    rank = len(shape)
    lo, hi = (
        x.reshape((1,) * (rank - np.ndim(x)) + np.shape(x)) if np.ndim(x) else np.full((1,) * rank, x)
        for x in (need.lo, need.hi)
    )
    lo, hi = np.broadcast_arrays(lo, hi)
    return Need(lo, hi)


def _broadcast(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    dims = step.eqn.params["broadcast_dimensions"]
    shape = step.eqn.invars[0].aval.shape
    need = _pieces(need, step.eqn.params["shape"])
    if not is_apart(need.lo):
        return [(0, need)]
    new = tuple(d for d in range(need.lo.ndim) if d not in dims)
    spread = tuple(k for k, d in enumerate(dims) if shape[k] == 1)

    def collapse(x: np.ndarray, strongest: Any) -> Any:
        x = strongest(x, axis=new) if new else x
        x = strongest(x, axis=spread, keepdims=True) if spread else x
        return x if np.ndim(x) else int(x)

    return [(0, Need(collapse(need.lo, np.max), collapse(need.hi, np.min)))]


def _reshape(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    old, new = step.eqn.invars[0].aval.shape, step.eqn.outvars[0].aval.shape
    need = _pieces(need, new)
    if not is_apart(need.lo):
        return [(0, need)]
    try:
        size = int(np.prod(new))
        if size > APART:
            return [(0, need.uniform())]
        return [(0, Need(*(np.broadcast_to(x, new).reshape(old) for x in (need.lo, need.hi))))]
    except (TypeError, ValueError):
        return [(0, need.uniform())]


def _squeeze(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    if not is_apart(need.lo):
        return [(0, need)]
    axes = tuple(step.eqn.params["dimensions"])
    return [(0, Need(np.expand_dims(need.lo, axes), np.expand_dims(need.hi, axes)))]


def _transpose(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    if not is_apart(need.lo):
        return [(0, need)]
    back = np.argsort(step.eqn.params["permutation"])
    return [(0, Need(need.lo.transpose(back), need.hi.transpose(back)))]


def _rev(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    if not is_apart(need.lo):
        return [(0, need)]
    axes = step.eqn.params["dimensions"]
    return [(0, Need(np.flip(need.lo, axes), np.flip(need.hi, axes)))]


def _slice(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    """Only the part that is taken must meet the need."""
    p, shape = step.eqn.params, step.eqn.invars[0].aval.shape
    strides = p["strides"] or (1,) * len(shape)
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    cut = [d for d, n in enumerate(shape) if (p["start_indices"][d], p["limit_indices"][d], strides[d]) != (0, n, 1)]
    full = [shape[d] if d in cut else (need.lo.shape[d] if np.ndim(need.lo) else 1) for d in range(len(shape))]
    if any(type(n) is not int for n in full) or int(np.prod(full)) > APART:
        return [(0, need.uniform())]
    window = tuple(
        slice(p["start_indices"][d], p["limit_indices"][d], strides[d]) if d in cut else slice(None)
        for d in range(len(shape))
    )
    lo, hi = np.full(full, -FAR), np.full(full, FAR)
    lo[window], hi[window] = need.lo, need.hi
    return [(0, Need(lo, hi))]


def _stack(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    """Each operand is one position along a dimension of its own."""
    axis, count = step.eqn.params["axis"], len(step.eqn.invars)
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    if not is_apart(need.lo):
        return [(position, need) for position in range(count)]
    parts = []
    for position in range(count):
        row = position if need.lo.shape[axis] > 1 else 0
        lo, hi = np.take(need.lo, row, axis), np.take(need.hi, row, axis)
        parts.append((position, Need(lo, hi) if np.ndim(lo) else Need(lo.item(), hi.item())))
    return parts


def _concatenate(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    axis, start, parts = step.eqn.params["dimension"], 0, []
    need = _pieces(need, step.eqn.outvars[0].aval.shape)
    for position, v in enumerate(step.eqn.invars):
        size = v.aval.shape[axis]
        if np.ndim(need.lo) == 0 or need.lo.shape[axis] == 1:
            parts.append((position, need))
        else:
            window = [slice(None)] * need.lo.ndim
            window[axis] = slice(start, start + size)
            parts.append((position, Need(need.lo[tuple(window)], need.hi[tuple(window)])))
        start += size
    return parts


def _pad(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return [(0, need.uniform()), (1, need.uniform())]


def _content(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    """A value read from a table: everything that can be read must do."""
    at = _window(step, facts)
    whole = need.uniform()
    if at is None:
        return [(0, whole)]
    lo, hi = np.full(step.eqn.invars[0].aval.shape, -FAR), np.full(step.eqn.invars[0].aval.shape, FAR)
    lo[at], hi[at] = whole.lo, whole.hi
    return [(0, Need(lo, hi))]


def _window(step: Step, facts: list[Fact]) -> tuple[slice, ...] | None:
    """The part of its operand that an access touches, where it is smaller than the whole and worth telling apart."""
    build = ACCESSES.get(step.eqn.primitive)
    if build is None:
        return None
    site = build(step.eqn, ())
    shape = site.buffer.shape
    if not all(type(n) is int for n in (*shape, *site.window)) or not 1 < math.prod(shape) <= APART:
        return None
    at = [slice(0, n) for n in shape]
    for column in site.columns:
        lo, hi = column_of(facts[column.operand], column.column)
        first, last = np.min(lo).item(), np.max(hi).item()
        if type(first) is not int or type(last) is not int:
            return None
        first, last = min(max(first, 0), column.limit), min(max(last, 0), column.limit)
        at[column.dim] = slice(first, last + site.window[column.dim])
    return None if all(s == slice(0, n) for s, n in zip(at, shape, strict=True)) else tuple(at)


def _all(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return [(i, need.uniform()) for i in range(len(step.ins))]


def _update(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return _over(step, need, facts, 1)


def _scatter(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return _over(step, need, facts, 2)


def _over(step: Step, need: Need, facts: list[Fact], update: int) -> list[tuple[int, Need]]:
    """A write: what is written must meet the need where it lands, what was there wherever it may stay."""
    at = _window(step, facts)
    shape = step.eqn.invars[0].aval.shape
    whole = need.uniform()
    if at is None:
        return [(0, whole), (update, whole)]
    need = _pieces(need, shape)
    lo, hi = (np.array(np.broadcast_to(x, shape)) for x in (need.lo, need.hi))
    there = Need(int(lo[at].max()), int(hi[at].min()))
    site = ACCESSES[step.eqn.primitive](step.eqn, ())
    if site.count == 1 and all(s.stop - s.start == n for s, n in zip(at, site.window, strict=True)):
        lo[at], hi[at] = -FAR, FAR
    return [(0, Need(lo, hi)), (update, there)]


def _sorted(step: Step, slot: int, need: Need, facts: list[Fact]) -> list[tuple[int, Need]]:
    return [(step.outs.index(slot), need.uniform())]


_MOVES = {
    "broadcast": _broadcast,
    "reshape": _reshape,
    "squeeze": _squeeze,
    "transpose": _transpose,
    "rev": _rev,
    "slice": _slice,
    "concatenate": _concatenate,
    "stack": _stack,
    "pad": _pad,
    "content": _content,
    "update": _update,
    "scatter": _scatter,
    "sorted": _sorted,
    "all": _all,
}
