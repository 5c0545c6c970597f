"""From an access back to the inputs: which range each input must keep for the index to stay inside.

A need is a pair of bounds that a value must keep. It is pushed backward through the equations that
made the value until it reaches inputs of the program. The result is a proposal: it is believed only
after a forward run under it has proved the access (see `conditions`).
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info, summarised
from redzone.domains.fact import TRUE
from redzone.domains.symbolic import at_most
from redzone.engine.changes import counted_by
from redzone.engine.forward import Context
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.interleaved import interleaved, sides
from redzone.engine.kinds import narrows
from redzone.engine.levels import ALL
from redzone.engine.mass import running_sum
from redzone.engine.moved import MOVES
from redzone.engine.program import CALL, COND, SCAN, SIMPLE, WHILE, Program, Step
from redzone.engine.refine import Refiner
from redzone.engine.relations import Infeasible
from redzone.engine.search import Placed, Share
from redzone.engine.wrapping import wrapped_by
from redzone.frontend.compat import primitives
from redzone.prove.need import FAR, Lost, Need, hashable, is_apart, is_far
from redzone.prove.need_arithmetic import ARITHMETIC, OF_FLOATS, limits_divisor, of_floats, shifted, times
from redzone.prove.need_movement import MOVEMENT
from redzone.prove.need_search import asked_of_query
from redzone.prove.need_sums import digits, shares
from redzone.rules.table import SAME, SUMMARY

#: How many equations deep a walk goes, and how many it looks at.
DEEPEST: Final = 80
BUDGET: Final = 100
#: How many all walks of one program look at, and how many more for each of its accesses.
ALTOGETHER: Final = 400
MORE: Final = 16
#: How many of them going back through a loop counts for.
THROUGH_LOOP: Final = 20


_P: Final = primitives()
_ADD_P: Final = _P["add_p"]
_SUB_P: Final = _P["sub_p"]
_MUL_P: Final = _P["mul_p"]
_NAMES: Final = {
    _P[f"{name}_p"]: kind
    for name, kind in {
        "add": "add",
        "sub": "sub",
        "neg": "neg",
        "abs": "abs",
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
        "scatter_add": "added",
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
        "ceil": "ceil",
        "round": "round",
        "cumsum": "total",
        "reduce_sum": "total",
        "dot_general": "total",
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


#: What may put two padded arrays into one.
_JOINING: Final = frozenset(("add", "max", "min"))


@dataclasses.dataclass(slots=True)
class Answer:
    """What a need came to: needs of inputs and of the value the walk stops at, or where it got lost."""

    leaves: dict[int, Need]
    stop: dict[int, Need]
    made: bool
    wrapped: bool
    turned: bool
    shared: bool
    lost: Lost | None


class Shared:
    """What the walks of one program have in common."""

    def __init__(self, accesses: int = 0) -> None:
        self.budget = ALTOGETHER + MORE * accesses
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
        self.turned = False
        """Whether arithmetic of floats was turned around on the way, which is rounded."""
        self.shared_out = False
        """Whether a bound on a sum was shared out among its terms on the way, each at its worst."""
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
        unmet = need.unmet_by(fact)
        if unmet is None:
            return
        need = unmet
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
        self.turned, self.shared_out = self.turned or known.turned, self.shared_out or known.shared
        for leaf, found in known.leaves.items():
            self.leaves[leaf] = self.leaves[leaf].both(found) if leaf in self.leaves else found
        if stop is not None and at in known.stop:
            stop[at] = stop[at].both(known.stop[at]) if at in stop else known.stop[at]

    def answered(
        self, context: Context, step: Step, slot: int, need: Need, stops: bool, at: int, key: Any, asked: Any
    ) -> Answer:
        """What one value's need comes to, kept for the next who asks."""
        outer = (self.leaves, self.made, self.wrapped, self.turned, self.shared_out)
        self.leaves, self.made, self.wrapped, self.turned, self.shared_out = {}, False, False, False, False
        cycles, lost = self.cycles, None
        stop: dict[int, Need] | None = {} if stops else None
        self.active.add(key)
        try:
            self.through(context, step, slot, need, stop, at)
        except Lost as error:
            lost = error
        finally:
            self.active.discard(key)
            known = Answer(self.leaves, stop or {}, self.made, self.wrapped, self.turned, self.shared_out, lost)
            self.leaves, self.made, self.wrapped, self.turned, self.shared_out = outer
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
            self.tell(position, need.held_by(context.program.jaxpr.invars[position].aval))
            return
        if via.kind == COND:
            given = via.ins[via.extra[context.branch][place]]
            limited = need.loose or self.is_limited(parent.program, via.ins[0], given)
            self.reach(parent, given, Need(need.lo, need.hi, limited), None, -1)
        elif via.kind == CALL:
            # The run may stand for several calls with equal facts.
            for caller, step in ((parent, via), *context.others):
                self.reach(caller, step.ins[place], need, None, -1)
        elif via.kind == SCAN:
            self.enter_scan(context, parent, via, place, position, slot, need)
        else:
            self.enter_while(context, parent, via, place, position, slot, need)

    def is_limited(self, program: Program, condition: int, slot: int) -> bool:
        """Whether a value that goes into a branch is taken to be limited by the condition that leads there."""
        return False

    def tell(self, leaf: int, need: Need) -> None:
        """Note what is asked of an input."""
        old = self.leaves.get(leaf)
        self.leaves[leaf] = need if old is None else old.both(need)

    def enter_scan(
        self, context: Context, parent: Context, via: Step, place: int, position: int, slot: int, need: Need
    ) -> None:
        shape = via.extra
        if position < shape.consts:
            self.reach(parent, via.ins[place], need, None, -1)
        elif position >= shape.consts + shape.carry_count:
            lo = need.lo[None] if type(need.lo) is np.ndarray else need.lo
            hi = need.hi[None] if type(need.hi) is np.ndarray else need.hi
            self.reach(parent, via.ins[place], Need(lo, hi, need.loose), None, -1)
        else:
            i = position - shape.consts
            by = counted_by(context.program, slot, context.program.outs[i])
            if by is not None and type(shape.length) is int:
                # A counter: what it reaches from its first value is known.
                low, high = min(0, by * (shape.length - 1)), max(0, by * (shape.length - 1))
                self.reach(parent, via.ins[place], Need(shifted(need.lo, -low), shifted(need.hi, -high)), None, -1)
                return
            self.carried(context, parent, via, i, need)

    def enter_while(
        self, context: Context, parent: Context, via: Step, place: int, position: int, slot: int, need: Need
    ) -> None:
        shape = via.extra
        consts, offset = (shape.cond_consts, len(via.bodies[0].inputs)) if context.branch == -1 else (shape.consts, 0)
        if position < consts:
            self.reach(parent, via.ins[offset + place], need, None, -1)
            return
        if context.branch == -1:
            self.tested(parent, via, position - consts, need)
            return
        self.carried(context, parent, via, position - consts, need)

    def tested(self, parent: Context, via: Step, i: int, need: Need) -> None:
        """A carry that the condition looks at, or that is left: its first value, and each that the body makes.

        The body is taken as it last ran; whether what is asked of that holds is for the forward run to say.
        """
        body = via.bodies[0]
        if i not in via.extra.carries or body.last is None:
            raise Lost(via, "what a loop ends with")
        # What a loop ends with, a long one hardly lets through.
        self.budget -= THROUGH_LOOP
        self.shared.runs.append(body.last)
        self.carried(Context(body, body.last, parent, via), parent, via, i, need)

    def left_by(self, context: Context, via: Step, i: int, need: Need) -> None:
        """What a loop leaves behind: a carry, or what each iteration of a scan made."""
        if via.kind == WHILE or i < via.extra.carry_count:
            self.tested(context, via, i, need)
            return
        body = via.bodies[0]
        if body.last is None or body.outs[i] < 0:
            raise Lost(via)
        self.shared.runs.append(body.last)
        self.reach(Context(body, body.last, context, via), body.outs[i], need.of_rows(), None, -1)

    def carried(self, context: Context, parent: Context, via: Step, i: int, need: Need) -> None:
        """A carry keeps a need when its first value does and the body keeps it: an inductive invariant."""
        shape, program = via.extra, context.program
        self.reach(parent, shape.inits[shape.carries.index(i)], need, None, -1)
        out = program.outs[i]
        if out >= 0 and (shape.consts + i, out) not in program.inputs:
            self.reach(context, out, need, None, -1)

    # One step back

    def through(
        self, context: Context, step: Step, slot: int, need: Need, stop: dict[int, Need] | None, at: int
    ) -> None:
        if step.kind in (COND, CALL):
            self.into(context, step, slot, need)
            return
        if step.kind == SCAN and step.extra.search is not None and slot == step.outs[1]:
            self.searched(context, step, need, stop, at)
            return
        if step.kind in (SCAN, WHILE):
            self.left_by(context, step, step.outs.index(slot), need)
            return
        if step.kind != SIMPLE:
            raise Lost(step)

        def ask(position: int, lo: Any, hi: Any) -> None:
            wanted = Need(lo, hi, need.loose).plain()
            asked = wanted.shape()
            if asked and len(step.ins) == len(step.eqn.invars) and step.rule is not SAME:
                # An operand of fewer elements than the result stands beside each of them.
                shape = step.eqn.invars[position].aval.shape
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
            ask(0, times(need.lo, k.lo, 0), times(need.hi, k.lo, k.lo - 1))
            return
        if step.rule is REMAINDER:
            if limits_divisor(env[step.ins[1]], need):
                ask(1, -FAR, need.uniform().hi + 1)
                return
            self.made = True
            ask(0, need.lo, need.hi)
            return
        kind = _NAMES.get(step.eqn.primitive)
        if kind is None or len(step.ins) != len(step.eqn.invars):
            raise Lost(step)
        floats = kind in OF_FLOATS and dtype_info(step.eqn.outvars[0].aval.dtype).kind == "f"
        if kind == "add" and not floats and self.flagged(context, step, need, stop, at):
            return
        if kind in _JOINING and not floats and self.interleaved(context, step, kind, need, stop, at):
            return
        summed = kind == "total" and dtype_info(step.eqn.outvars[0].aval.dtype).kind != "f"
        terms = self.terms(context, step, need) if summed or kind == "add" else None
        if terms is not None:
            self.turned, self.shared_out = self.turned or floats, True
            for term, asked in terms:
                self.reach(context, term, asked, stop, at)
            return
        if floats:
            self.turned = True
            made = [_is_computed(context.program, i) for i in step.ins]
            of_floats(step, kind, [env[i] for i in step.ins], need, ask, made)
            return
        sums = running_sum(context.program, step) if kind == "sub" else None
        before = 0 if sums is None else sums.others()
        if before and not is_apart(need.lo) and not is_apart(need.hi) and at_most(need.lo, 0):
            # Lengths that are not negative, and short enough together.
            ask(1, 0, need.hi if is_far(need.hi) else need.hi // before)
            return
        if kind == "select":
            self.select(context, step, need, stop, at)
        elif kind in MOVEMENT:
            looked_at = step.rule.needs if step.rule is not None and type(step.rule.needs) is tuple else None
            for position, moved in MOVEMENT[kind](step, slot, need, [env[i] for i in step.ins]):
                # What a rule does not look at may be anything.
                if looked_at is None or position in looked_at:
                    ask(position, moved.lo, moved.hi)
        else:
            ARITHMETIC[kind](self, step, [env[i] for i in step.ins], need, ask)

    def terms(self, context: Context, step: Step, need: Need) -> list[tuple[int, Need]] | None:
        """What the terms of a sum must keep where each gets a part of its bound; None where they need not share it."""
        return digits(context, step, need) if step.eqn.primitive is _ADD_P else [shares(context, step, need)]

    def searched(self, context: Context, step: Step, need: Need, stop: dict[int, Need] | None, at: int) -> None:
        """A binary search: between which elements the query must lie.

        A share of the last of running sums, looked for among them, is found before the end if that is not negative.
        """
        found = step.extra.search
        if type(found) is Placed:
            # The array comes before the two ends, and what is looked for is of its type.
            dtype = next(v.aval.dtype for v in step.eqn.invars if v.aval.shape == (found.size,))
            asked = asked_of_query(found, context.env[found.array], need, dtype)
            if asked is None:
                raise Lost(step)
            # The search itself ends the index, with the array.
            self.made = True
            self.reach(context, found.query, asked, stop, at)
            return
        if type(found) is not Share:
            self.left_by(context, step, 1, need)
            return
        share, whole = found, need.uniform()
        if not (at_most(whole.lo, 0) and at_most(share.size - 1, whole.hi)):
            raise Lost(step)
        self.reach(context, share.last, Need(0.0, FAR), stop, at)

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
                limited = need.loose or is_about(context.program, flag, slot)
                self.reach(context, slot, Need(need.lo, need.hi, limited), stop, at)
        return True

    def interleaved(
        self, context: Context, step: Step, kind: str, need: Need, stop: dict[int, Need] | None, at: int
    ) -> bool:
        """Two padded arrays in one: each is asked for what the operation needs of it beside the other's padding."""
        found = interleaved(context.program, step)
        if found is None:
            return False
        for slot, beside in sides(found):

            def ask(position: int, lo: Any, hi: Any, slot: int = slot) -> None:
                if position == 0:
                    self.reach(context, slot, Need(lo, hi, need.loose), stop, at)

            ARITHMETIC[kind](self, step, [context.env[slot], context.env[beside]], need.uniform(), ask)
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


def is_about(program: Program, condition: int, slot: int) -> bool:
    """Whether a condition can say something about a value or what that is made from."""
    return program.template[condition] is None and bool(narrows(program, condition) & program.behind()[slot])


def _pivot(context: Context, step: Step) -> int | None:
    """The one variable value that a select's condition compares with something constant."""
    test = context.program.defs.get(step.ins[0])
    while test is not None and test.rule is SAME:
        test = context.program.defs.get(test.ins[0])
    if test is None or test.kind != SIMPLE or test.eqn.primitive.name not in ("lt", "le", "gt", "ge", "eq", "ne"):
        return None
    sides = [s for s in test.ins if context.env[s] is not None and context.env[s].step != 0]
    return sides[0] if len(sides) == 1 else None


def _is_computed(program: Program, slot: int) -> bool:
    """Whether a number is more than an input at another place, or with another sign."""
    step = program.defs.get(slot)
    while step is not None and step.kind == SIMPLE and (step.rule is SAME or step.eqn.primitive in MOVES):
        step = program.defs.get(step.ins[0])
    return step is not None


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
