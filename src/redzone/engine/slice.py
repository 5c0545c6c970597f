"""Demand slicing: from a jaxpr to the program that decides its accesses, in one backward pass.

Each equation is looked at once; behind a value nobody needs, or one that can be anything whatever
its operands are, nothing is asked. Loops ask until the set of carries that matter is closed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from redzone.domains import Fact, constant, dtype_info, scalar, top
from redzone.domains.fact import TRUE
from redzone.domains.symbolic import at_most
from redzone.engine import windows
from redzone.engine.assumptions import is_thrown_away
from redzone.engine.between import SINGLE, Between, operands
from redzone.engine.carries import carries_read
from redzone.engine.chosen import choice
from redzone.engine.congruent import congruent
from redzone.engine.definitions import Definition, definitions
from redzone.engine.distinct import written_once
from redzone.engine.errors import results_of_errors
from redzone.engine.extremes import difference, part_of_range
from redzone.engine.folds import FUNCTIONS, applied
from redzone.engine.idioms import idiom_of
from redzone.engine.implementation import expansion, implementation
from redzone.engine.inventory import (
    AXIS_INDEX_P,
    CALLS,
    RUN_STATE_P,
    SHARD_MAP_P,
    SPECIAL,
    Inventory,
    constants_of,
)
from redzone.engine.program import CALL, COND, OBSERVE, SCAN, SIMPLE, WHILE, Assumption, LoopShape, Program, Step
from redzone.engine.rounding import ORDERS, ROUNDS, is_limited, rounded_once, rounded_operands
from redzone.engine.search import (
    Among,
    Lesser,
    Placed,
    Share,
    factors,
    is_among,
    is_last,
    is_long_enough,
    lesser,
    search_of,
)
from redzone.engine.sharing import share
from redzone.frontend.compat import Literal, open_jaxpr, primitives, scan_counts
from redzone.frontend.contract import promised
from redzone.rules import RULES, Rule
from redzone.rules.reductions import summed_up
from redzone.rules.table import SAME, SUMMARY, anything

#: A sub-program up to this many equations is inlined even where it is called more than once.
SMALL = 40
#: How many steps back a float that is compared may be made from literals to be computed.
FOLDED_DEPTH = 6

_ANYTHING = Rule(anything, "none")

_GET_P, _NEW_REF_P = primitives().get("get_p"), primitives().get("new_ref_p")
_CONVERT_P, _SUM_P, _SUB_P = (primitives()[n] for n in ("convert_element_type_p", "reduce_sum_p", "sub_p"))
_SELECT_P, _ADD_P, _LT_P = (primitives()[n] for n in ("select_n_p", "add_p", "lt_p"))
_IOTA_P = primitives()["iota_p"]
_SELECT, _ADD, _LT = (RULES[p] for p in (_SELECT_P, _ADD_P, _LT_P))
#: Primitives whose result is their operand under another name; a conversion only to the type it has.
_RENAMING = frozenset(
    primitives()[n + "_p"]
    for n in ("copy", "stop_gradient", "sharding_constraint", "pvary", "name", "convert_element_type")
    if n + "_p" in primitives()
)
_ARGMAX_P, _SPREAD_P = primitives()["argmax_p"], primitives()["broadcast_in_dim_p"]
_EXTREMES = frozenset((_ARGMAX_P, primitives()["argmin_p"]))
_SIDE_BY_SIDE = frozenset(primitives()[n] for n in ("concatenate_p", "stack_p") if n in primitives())
#: How many bools put side by side are looked at where the first true one is asked for.
BOOLS = 16
#: Primitives that are not always a step with their rule.
_UNUSUAL = _RENAMING | windows.PARTS | _EXTREMES
_PLAIN_FLOATS = frozenset(
    primitives()[n + "_p"]
    for n in ("add", "sub", "mul", "neg", "max", "min", "copy", "convert_element_type", "select_n")
)


_CUTS = frozenset(primitives()[n + "_p"] for n in ("slice", "squeeze", "reshape"))


def _is_renaming(eqn: Any) -> bool:
    if eqn.primitive is not _CONVERT_P:
        return len(eqn.invars) == 1
    return bool(eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype)


def _has_elements(aval: Any) -> bool:
    """Whether an array has elements at every size: what holds for all elements of an empty one says nothing."""
    return all(bool(at_most(1, n)) for n in aval.shape)


class Frame:
    """One jaxpr being sliced into a program: its variables' slots, and what its inputs are outside."""

    __slots__ = (
        "bindings",
        "call",
        "consts",
        "floats",
        "inputs",
        "jaxpr",
        "parent",
        "pending",
        "slicer",
        "slots",
        "told",
        "wanted",
    )

    def __init__(
        self, slicer: Slicer, jaxpr: Any, parent: Frame | None, bindings: dict[Any, Any], consts: dict[Any, Any]
    ) -> None:
        self.slicer = slicer
        self.jaxpr = jaxpr
        self.parent = parent
        self.bindings = bindings
        self.consts = consts
        self.inputs = bindings if parent is not None else frozenset((*jaxpr.invars, *jaxpr.constvars))
        """What no equation of the jaxpr makes, besides its known constants."""
        self.slots: dict[Any, int] = {}
        self.pending = 0
        """How many variables that were asked for are still to be made by equations before the present one."""
        self.wanted: dict[Any, dict[Any, windows.Want]] = {}
        """By variable: the parts of it that were asked for."""
        self.floats: dict[Any, int] = {}
        """Slots of floats that, so far, are only compared."""
        self.told: dict[Any, Definition] = {}
        """By input: how it was made from others, outside."""
        self.call: Any = None
        """The equation of the parent that does nothing but run this."""

    def maker(self, var: Any) -> Any:
        """The equation that makes a variable, None for an input."""
        return self.slicer.made(self.jaxpr).get(var)

    def outer(self, atom: Any) -> tuple[Frame, Any]:
        """What an atom is where it comes from: of an argument, what the caller calls it, and there."""
        frame = self
        while type(atom) is not Literal and atom in frame.bindings and frame.parent is not None:
            frame, atom = frame.parent, frame.bindings[atom]
        return frame, atom

    def inside(self, jaxpr: Any, bindings: dict[Any, Any], consts: tuple[Any, ...] = ()) -> Frame:
        """A jaxpr run by an equation of this one, and what its inputs are here."""
        known = dict(zip(jaxpr.constvars, consts, strict=True)) if consts else {}
        return Frame(self.slicer, jaxpr, self, bindings, known)

    def merge(self, same: dict[int, int]) -> None:
        """Take inputs for other names of other inputs, given by their positions."""
        inputs = self.jaxpr.invars
        self.parent = self
        self.bindings = {inputs[k]: inputs[first] for k, first in same.items()}


def _calls(frame: Frame) -> frozenset[int]:
    """The calls, by identity, that lead from the program's own jaxpr to this one."""
    found = set()
    at: Frame | None = frame
    while at is not None and at.call is not None:
        found.add(id(at.call))
        at = at.parent
    return frozenset(found)


#: An access, by its equation's identity, as some calls around it make it, by theirs.
Called = tuple[int, tuple[int, ...]]
#: By identity of a select (or the call around it): (the access, the condition, (which of its uses it is, the least and
#: the most that let it through, the condition's shape)).
Masks = dict[int, list[tuple[Called, Any, tuple[int, int, int, tuple[Any, ...]]]]]


class Slicer:
    """Builds programs; one per check, sharing its work between callers of the same sub-program."""

    def __init__(
        self,
        inventory: Inventory,
        everything: bool = False,
        masks: Masks | None = None,
        only: set[int] | None = None,
    ) -> None:
        self.inventory = inventory
        self.masks = masks or {}
        self.only = only
        """The accesses that are asked about, by identity of their equations; None for all."""
        self.everything = everything
        self.built: dict[Any, Program] = {}
        self.makers: dict[int, tuple[Any, dict[Any, Any]]] = {}
        """By identity of a jaxpr: the equation that makes each variable."""
        self.writes: dict[int, windows.Write | None] = {}
        """By identity of an equation: where it writes, if that is known."""
        self.axes: dict[Any, Any] = {}
        self.unmodelled: Counter[str] = Counter()
        self.lanes = False
        """Whether what is built runs for lanes of a batched while that are done too."""
        self.batched = False
        """Whether any assumption went through vmap."""
        self.doubted: dict[int, Any] = {}
        """By identity: the equations of assumptions that cannot be used."""
        self.constants: dict[int, tuple[Any, Fact]] = {}

    def program(
        self,
        jaxpr: Any,
        consts: tuple[Any, ...],
        wanted: tuple[int, ...],
        same: dict[int, int] | None = None,
        fixed: dict[int, int] | None = None,
        told: dict[int, Definition] | None = None,
    ) -> Program:
        """The program that decides a jaxpr's accesses and the wanted results.

        Inputs that the caller knows to be equal to others, by their positions, are taken for these, and those that it
        knows the numbers of for constants; of some it is told how they were made from others.
        """
        axes = tuple(sorted(self.axes.items(), key=str))
        known = tuple([(k, one.key()) for k, one in told.items()]) if told else ()
        given = (tuple(same.items()) if same else (), tuple(fixed.items()) if fixed else (), known)
        key = (id(jaxpr), wanted, axes, tuple(map(id, consts)), self.lanes, given)
        found = self.built.get(key)
        if found is None:
            found = self.built[key] = _Build(self, jaxpr, consts, same, fixed, told).slice(wanted)
        return found

    def body(
        self,
        eqn: Any,
        frame: Frame,
        jaxpr: Any,
        consts: tuple[Any, ...],
        asked: set[int],
        first: int,
        end: int,
        fixed: dict[int, int],
        told: dict[int, Definition],
    ) -> tuple[Program, set[int], dict[int, int]]:
        """The program of a loop's body, and its results that matter: those asked for, and the carries it reads.

        The carries are its inputs from `first` to before `end`; of some that are always equal only the first is one,
        and it is noted for the others.
        """
        wanted = asked
        # Places are signed integers: other carries, as floats and random keys, hardly ever matter.
        guess = any(
            dtype_info(getattr(v.aval, "dtype", None)).kind == "i"
            for i, v in enumerate(jaxpr.invars[first:end])
            if i not in asked
        )
        while True:
            if guess:
                wanted = carries_read(self, jaxpr, wanted, first, end)
            same = congruent(frame, eqn, wanted)
            kept = wanted.difference(same) if same else wanted
            program = self.program(jaxpr, consts, tuple(sorted(kept)), _moved(same, first), fixed, told)
            more = {i - first for i, _ in program.inputs if first <= i < end} - kept
            if not more:
                return program, kept, same
            wanted, guess = wanted | more, True

    def shards(self, names: Iterable[Any]) -> int | None:
        """How many shards lie along these axes; None where that is not known."""
        count = 1
        for name in names:
            size = self.axes.get(name)
            if size is None:
                return None
            count *= int(size)
        return count

    def made(self, jaxpr: Any) -> dict[Any, Any]:
        """The equation of a jaxpr that makes each of its variables."""
        known = self.makers.get(id(jaxpr))
        if known is None:
            table = {v: eqn for eqn in jaxpr.eqns for v in eqn.outvars}
            known = self.makers[id(jaxpr)] = (jaxpr, table)
        return known[1]

    def constant(self, value: Any) -> Fact:
        known = self.constants.get(id(value))
        if known is None:
            known = self.constants[id(value)] = (value, _constant_fact(value))
        return known[1]


def _constant_fact(value: Any) -> Fact:
    if type(value) in (int, bool):
        return scalar(int(value))
    if type(value) is float:
        return scalar(value) if value == 0 or 1e-30 < abs(value) < 1e30 else constant(np.float64(value))
    dtype = getattr(value, "dtype", None)
    if dtype is None or dtype_info(dtype).kind == "x":
        return top(None)
    return constant(value)


def _moved(same: dict[int, int], by: int) -> dict[int, int]:
    """Carries by their positions among a jaxpr's inputs."""
    return {by + k: by + first for k, first in same.items()}


def _only_reads(jaxpr: Any, ref: Any) -> bool:
    """Whether all that a jaxpr does with a ref is to read it, itself or in what it calls."""
    if ref in jaxpr.outvars:
        return False
    for eqn in jaxpr.eqns:
        places = [k for k, atom in enumerate(eqn.invars) if atom is ref]
        if not places or eqn.primitive is _GET_P:
            continue
        if eqn.primitive not in CALLS or eqn.primitive is SHARD_MAP_P:
            return False
        inner = open_jaxpr(eqn.params[CALLS[eqn.primitive]])[0]
        if len(inner.invars) != len(eqn.invars) or not all(_only_reads(inner, inner.invars[k]) for k in places):
            return False
    return True


def _over_shards(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a sum over named axes, where it is known how many shards lie along them."""
    shards = frame.slicer.shards(a for a in eqn.params["axes"] if not isinstance(a, int | np.integer))
    if shards is None:
        return None

    def apply(eqn: Any, *facts: Fact) -> Any:
        return summed_up(eqn, facts, shards)

    return Rule(apply, elsewhere=True)


def _of_scatter(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a write that applies a function of its own, or reaches every element."""
    return applied(frame, eqn) or written_once(frame, eqn)


#: By primitive: what looks for a rule that fits an equation better, where it stands, than its primitive's does.
_CLOSER: dict[Any, Callable[[Frame, Any], Rule | None]] = {
    **dict.fromkeys(ROUNDS, rounded_once),
    primitives()["sub_p"]: lambda frame, eqn: difference(frame, eqn) or rounded_once(frame, eqn),
    primitives()["div_p"]: part_of_range,
    **FUNCTIONS,
    **{primitives()[n]: _over_shards for n in ("psum_p", "psum2_p", "psum_invariant_p") if n in primitives()},
    primitives()["scatter_p"]: _of_scatter,
    primitives()["scatter_add_p"]: written_once,
}


def counts(frame: Frame, eqn: Any) -> bool:
    """Whether a sum of floats is one of integers that were only converted, or taken from a number then."""
    atom = eqn.invars[0] if eqn.primitive is _SUM_P else None
    for _ in range(4):
        made = None if atom is None or type(atom) is Literal else frame.maker(atom)
        if made is None:
            return False
        if made.primitive is _CONVERT_P:
            if dtype_info(made.invars[0].aval.dtype).integral:
                return True
            atom = made.invars[0]
        elif made.primitive is _SUB_P and type(made.invars[0]) is Literal:
            atom = made.invars[1]
        else:
            return False
    return False


class _Build:
    """One backward pass over one jaxpr, with what it inlines."""

    __slots__ = ("integers", "literals", "program", "root", "slicer", "steps", "template", "tops")

    def __init__(
        self,
        slicer: Slicer,
        jaxpr: Any,
        consts: tuple[Any, ...],
        same: dict[int, int] | None = None,
        fixed: dict[int, int] | None = None,
        told: dict[int, Definition] | None = None,
    ) -> None:
        self.slicer = slicer
        self.program = Program(jaxpr)
        # A kernel's jaxpr can be open: its constants are given when it runs, and may be anything.
        self.root = Frame(slicer, jaxpr, None, {}, dict(zip(jaxpr.constvars, consts, strict=False)))
        if fixed:
            self.root.consts.update({jaxpr.invars[i]: number for i, number in fixed.items()})
        if same:
            self.root.merge(same)
        if told:
            self.root.told = {jaxpr.invars[k]: one for k, one in told.items()}
        self.steps: list[Step] = []
        self.template = self.program.template
        self.integers: dict[int, int] = {}
        self.literals: dict[Any, int] = {}
        self.tops: dict[Any, int] = {}

    def slice(self, wanted: tuple[int, ...]) -> Program:
        program, jaxpr, frame = self.program, self.program.jaxpr, self.root
        program.outs = [-1] * len(jaxpr.outvars)
        for i in wanted:
            program.outs[i] = self.slot(frame, jaxpr.outvars[i])
        self.reverse(frame)
        for v, told in frame.told.items():
            self.tell(frame, v, told)
        self.steps.reverse()
        program.steps = self.steps
        slots = frame.slots
        program.inputs = [(i, slots[v]) for i, v in enumerate(jaxpr.invars) if v in slots and v not in frame.consts]
        for v in jaxpr.constvars:
            if v in slots and v not in frame.consts:
                program.template[slots[v]] = top(getattr(v.aval, "dtype", None))
        program.unknown = frozenset(self.tops.values())
        share(program)
        program.assumptions.reverse()
        program.lanes = self.slicer.lanes
        if self.slicer.batched:
            self.doubt()
        return program

    def tell(self, frame: Frame, var: Any, told: Definition) -> None:
        """Make an input again from others, where it and any of them were asked for."""
        slots, inputs = frame.slots, frame.jaxpr.invars
        if var in slots and any(inputs[k] in slots for k in told.places()):
            again = self.program.equal[slots[var]] = self.new()
            self.remake(frame, told, again)

    def remake(self, frame: Frame, told: Definition, slot: int) -> None:
        ins, left = [], []
        for one in told.operands:
            if type(one) is Definition:
                ins.append(self.new())
                left.append((one, ins[-1]))
            else:
                ins.append(self.slot(frame, frame.jaxpr.invars[one] if type(one) is int else one))
        self.emit(SIMPLE, told.eqn, ins, (slot,)).rule = RULES[told.eqn.primitive]
        for one, inner in left:
            self.remake(frame, one, inner)

    def doubt(self) -> None:
        """Leave out the assumptions made in branches that vmap turned into selects, and in loops and calls there."""
        program, doubted = self.program, self.slicer.doubted
        for one in program.assumptions:
            if one.eqn.params["batched"] and is_thrown_away(program, one.slot):
                doubted[id(one.eqn)] = one.eqn
        program.assumptions = [one for one in program.assumptions if id(one.eqn) not in doubted]
        for step in program.steps:
            inside = [one for body in step.bodies for one in body.all_assumptions() if one.eqn.params["batched"]]
            if inside and any(is_thrown_away(program, slot) for slot in step.reads()):
                doubted.update({id(one.eqn): one.eqn for one in inside})
                for body in step.bodies:
                    body.forget(doubted)

    # Slots

    def new(self, fact: Fact | None = None) -> int:
        template = self.template
        template.append(fact)
        return len(template) - 1

    def slot(self, frame: Frame, atom: Any) -> int:
        """Where an atom's fact is found; asking for it is what makes its equation part of the program."""
        while True:
            if type(atom) is Literal:
                return self.literal(atom)
            found = frame.slots.get(atom)
            if found is not None:
                return found
            outer = frame.bindings.get(atom)
            if outer is None:
                break
            if frame.parent is None:
                raise AssertionError("a bound input without an outer frame")
            frame, atom = frame.parent, outer
        fact = None
        if atom in frame.consts:
            fact = self.slicer.constant(frame.consts[atom])
        elif atom not in frame.inputs:
            frame.pending += 1
        compared = frame.floats.pop(atom, -1) if frame.floats else -1
        if compared >= 0:
            # Comparisons behind this have a slot for it, which is now found out about.
            self.template[compared] = fact
        found = frame.slots[atom] = compared if compared >= 0 else self.new(fact)
        return found

    def literal(self, atom: Any) -> int:
        """A literal is what its type makes of it: 0.1 as float32 is not the double 0.1."""
        value, aval = atom.val, atom.aval
        if getattr(aval, "shape", None) == ():
            info = dtype_info(aval.dtype)
            if info.integral:
                number = int(value)
                found = self.integers.get(number)
                if found is None:
                    found = self.integers[number] = self.new(scalar(number))
                return found
            if info.kind == "f":
                value = float(np.asarray(value).astype(aval.dtype))
        if type(value) in (int, bool, float):
            key = (type(value), value)
            found = self.literals.get(key) if value == value else None
            if found is None:
                found = self.literals[key] = self.new(_constant_fact(value))
            return found
        return self.new(self.slicer.constant(value))

    def unasked(self, atom: Any) -> int:
        """A slot that says only what the atom's dtype says."""
        dtype = getattr(atom.aval, "dtype", None)
        found = self.tops.get(dtype)
        if found is None:
            found = self.tops[dtype] = self.new(top(dtype))
        return found

    # The backward pass

    def reverse(self, frame: Frame) -> None:
        """Look at the equations from the last to the first; where nothing is pending, only at those that are busy."""
        jaxpr, slots, wanted, slicer = frame.jaxpr, frame.slots, frame.wanted, self.slicer
        eqns, busy = jaxpr.eqns, slicer.inventory.busy.get(id(jaxpr), ())
        special_of, left = SPECIAL.get, len(busy)
        next_busy = busy[-1] if busy else -1
        every, masks = slicer.everything, slicer.masks
        at = len(eqns)
        while True:
            for at in range(at - 1 if every or frame.pending else next_busy, -1, -1):  # noqa: B020
                eqn = eqns[at]
                outvars = eqn.outvars
                if wanted:
                    for v in outvars:
                        if v in wanted:
                            windows.flush(self, eqn, frame, v)
                if every:
                    self.program.watched.append((eqn, [self.slot(frame, v) for v in outvars]))
                asked = 0
                for v in outvars:
                    if v in slots:
                        asked += 1
                if at == next_busy:
                    left -= 1
                    next_busy = busy[left - 1] if left else -1
                    for site, atom, case in masks.get(id(eqn), ()) if masks else ():
                        self.program.masks.append((site, self.slot(frame, atom), case, _calls(frame)))
                elif not asked and not every:
                    continue
                frame.pending -= asked
                special = special_of(eqn.primitive)
                if special is not None:
                    _SPECIAL[special](self, eqn, frame)
                else:
                    if asked and (eqn.primitive is not _SELECT_P or every or not self.wrap(eqns, at, frame)):
                        self.simple(eqn, frame)
                    elif not asked and eqn.primitive in slicer.inventory.written:
                        self.without_rule(eqn, frame)
                    if eqn.primitive in slicer.inventory.other:
                        self.foreign(eqn, frame)
                if not frame.pending and not every:
                    break
            else:
                break
        if wanted:
            windows.flush_inputs(self, frame)

    def emit(self, kind: int, eqn: Any, ins: Any, outs: Any) -> Step:
        step = Step(kind, eqn, tuple(ins), tuple(outs))
        self.steps.append(step)
        return step

    def simple(self, eqn: Any, frame: Frame) -> None:
        slots, primitive, outvars = frame.slots, eqn.primitive, eqn.outvars
        if primitive in _UNUSUAL:
            if primitive in windows.READS:
                if windows.read(self, eqn, frame):
                    return
            elif primitive is windows.UNSTACK:
                windows.unstack(self, eqn, frame)
                return
            elif primitive in _EXTREMES:
                if self.first_true(eqn, frame) or self.chosen(eqn, frame):
                    return
            elif _is_renaming(eqn):
                self.rename(eqn, frame, eqn.invars[0], slots[outvars[0]])
                return
        rule = RULES.get(primitive)
        if rule is None:
            rule = self.without_rule(eqn, frame)
            if rule is None:
                return
        closer = _CLOSER.get(primitive)
        if closer is not None:
            rule = closer(frame, eqn) or rule
        needs = rule.needs
        if needs == "all" and not (rule.floats or dtype_info(outvars[0].aval.dtype).integral or counts(frame, eqn)):
            rule, needs = _ANYTHING, "none"
        if needs == "all" or needs == "given":
            ins: list[int] = []
            for a in eqn.invars:
                if type(a) is Literal:
                    slot = self.literal(a)
                else:
                    known = slots.get(a)
                    if known is not None:
                        slot = known
                    else:
                        slot = self.slot(frame, a) if needs == "all" else self.given(frame, a)
                ins.append(slot)
        elif needs == "none":
            ins = [self.unasked(a) for a in eqn.invars]
        else:
            ins = [self.slot(frame, a) if i in needs else self.unasked(a) for i, a in enumerate(eqn.invars)]
        outs = (slots[outvars[0]],) if len(outvars) == 1 else tuple([slots.get(v, -1) for v in outvars])
        step = Step(SIMPLE, eqn, tuple(ins), outs, rule)
        if primitive is _ADD_P:
            if outvars[0].aval.dtype is SINGLE:
                self.between(eqn, frame, step)
        elif primitive in ORDERS and eqn.invars[0].aval.dtype is SINGLE:
            step.extra = rounded_operands(frame, eqn)
        self.steps.append(step)

    def between(self, eqn: Any, frame: Frame, step: Step) -> None:
        """Note of a sum that it lies between two numbers."""
        found = operands(frame, eqn)
        if found is not None:
            a, b, t, rounded = found
            step.extra = Between(self.slot(frame, a), self.slot(frame, b), self.slot(frame, t), rounded)
            step.volatile = True

    def first_true(self, eqn: Any, frame: Frame) -> bool:
        """Ask for the few bools, put side by side, of which an argmax finds the first true one; False for another."""
        if eqn.invars[0].aval.dtype != bool or eqn.primitive is not _ARGMAX_P:
            return False
        at, atom = self.resolve(frame, eqn.invars[0])
        made = None if type(atom) is Literal else at.maker(atom)
        if made is None or made.primitive not in _SIDE_BY_SIDE or len(made.invars) > BOOLS:
            return False
        slots = (self.slot(frame, eqn.invars[0]),), (frame.slots[eqn.outvars[0]],)
        self.emit(SIMPLE, eqn, *slots).rule = RULES[_ARGMAX_P]
        return True

    def chosen(self, eqn: Any, frame: Frame) -> bool:
        """Ask for the condition that lets through what an extreme is looked for among; False where there is none."""
        found = choice(self.resolve, frame, eqn)
        if found is None:
            return False
        at, values = found.values
        cheap = type(values) is Literal or dtype_info(values.aval.dtype).integral or self.is_asked(at, values)
        cheap = cheap or (at.parent is None and values in at.inputs)
        if not cheap and not found.sure:
            return False
        ins = [self.slot(*found.flags), *([self.slot(at, values)] if cheap else [])]
        self.emit(SIMPLE, eqn, ins, (frame.slots[eqn.outvars[0]],)).rule = found.rule
        return True

    def wrap(self, eqns: Sequence[Any], at: int, frame: Frame) -> bool:
        """Make the steps of jnp's wrap of a negative index, `i < 0 ? i + n : i`, at once; False for another select.

        It is three equations, one after the other, that nothing else looks at, before nearly every access.
        """
        if at < 2:
            return False
        test, moved, select = eqns[at - 2 : at + 1]
        if moved.primitive is not _ADD_P or test.primitive is not _LT_P or len(select.invars) != 3:
            return False
        which, index, other = select.invars
        if which is not test.outvars[0] or other is not moved.outvars[0] or type(index) is Literal:
            return False
        slots, (first, zero), (second, size) = frame.slots, test.invars, moved.invars
        if first is not index or second is not index or type(zero) is not Literal or type(size) is not Literal:
            return False
        if which in slots or other in slots or which in frame.wanted or other in frame.wanted:
            return False
        if not dtype_info(index.aval.dtype).integral:
            return False
        known = slots.get(index)
        slot, tested, added = self.slot(frame, index) if known is None else known, self.new(), self.new()
        self.steps += (
            Step(SIMPLE, select, (tested, slot, added), (slots[select.outvars[0]],), _SELECT),
            Step(SIMPLE, moved, (slot, self.literal(size)), (added,), _ADD),
            Step(SIMPLE, test, (slot, self.literal(zero)), (tested,), _LT),
        )
        return True

    def without_rule(self, eqn: Any, frame: Frame) -> Rule | None:
        """What stands for the rule of an equation whose primitive has none; None where its steps are made already."""
        if eqn.primitive is AXIS_INDEX_P:
            self.axis_index(eqn, frame)
            return None
        written = implementation(eqn)
        if written is not None:
            self.slicer.inventory.walk(written[0], (eqn,))
            self.inline(eqn, frame, *written)
            return None
        self.slicer.unmodelled[eqn.primitive.name] += 1
        return _ANYTHING

    def assumption(self, eqn: Any, frame: Frame) -> None:
        """A promise: its result is its operand, and what it says is asked for whether or not anybody reads that."""
        value, *conditions = eqn.invars
        out = frame.slots.get(eqn.outvars[0], -1)
        if out >= 0:
            self.emit(SIMPLE, eqn, (self.slot(frame, value),), (out,)).rule = SAME
        params, assumptions = eqn.params, self.program.assumptions
        self.slicer.batched = self.slicer.batched or params["batched"]
        for condition in conditions:
            if _has_elements(condition.aval):
                assumptions.append(Assumption(self.slot(frame, condition), TRUE, eqn, True))
        if params["min"] is not None or params["max"] is not None or params["finite"]:
            fact = promised(value.aval, params["min"], params["max"], params["finite"])
            assumptions.append(Assumption(self.slot(frame, value), fact, eqn, False))

    def rename(self, eqn: Any, frame: Frame, atom: Any, slot: int) -> None:
        """Give a value's slot to the atom that it is another name of; a step only where that has one already."""
        frame, atom = frame.outer(atom)
        if type(atom) is Literal or atom in frame.slots or atom in frame.consts or atom in frame.floats:
            self.emit(SIMPLE, eqn, (self.slot(frame, atom),), (slot,)).rule = SAME
        else:
            frame.slots[atom] = slot
            if atom not in frame.inputs:
                frame.pending += 1

    def given(self, frame: Frame, atom: Any) -> int:
        """An integer is asked for; a float only where it is already part of the program."""
        if type(atom) is Literal or dtype_info(getattr(atom.aval, "dtype", None)).integral:
            return self.slot(frame, atom)
        if self.slicer.everything or self.is_asked(frame, atom) or self.is_known(frame, atom, FOLDED_DEPTH):
            return self.slot(frame, atom)
        if self.is_cut_of_asked(frame, atom):
            return self.slot(frame, atom)
        return self.compared(frame, atom)

    def compared(self, frame: Frame, atom: Any) -> int:
        """A slot of its own for a float that was not asked for: two comparisons of it are about one number."""
        frame, atom = frame.outer(atom)
        found = frame.floats.get(atom)
        if found is None:
            found = frame.floats[atom] = self.new(top(getattr(atom.aval, "dtype", None)))
        return found

    def is_known(self, frame: Frame, atom: Any, depth: int, cut: bool = False) -> bool:
        """Whether a float scalar is made, in a few plain steps, from literals, constants and integers alone.

        Of an array as much is asked only where it is `cut` to such a scalar.
        """
        if atom.aval.shape != () and not cut:
            return False
        while atom in frame.bindings and frame.parent is not None:
            frame, atom = frame.parent, frame.bindings[atom]
            if type(atom) is Literal:
                return True
        if atom in frame.consts:
            return True
        eqn = frame.maker(atom)
        if eqn is None or depth == 0:
            return False
        if eqn.primitive in _CUTS and type(eqn.invars[0]) is not Literal:
            return self.is_known(frame, eqn.invars[0], depth - 1, True)
        if eqn.primitive not in _PLAIN_FLOATS or atom.aval.shape != ():
            return False
        return all(
            type(a) is Literal
            or dtype_info(getattr(a.aval, "dtype", None)).integral
            or self.is_known(frame, a, depth - 1)
            for a in eqn.invars
        )

    def is_cut_of_asked(self, frame: Frame, atom: Any) -> bool:
        """Whether a float is an element, at a place that is written down, of an array that is part of the program."""
        if atom.aval.shape != ():
            return False
        for _ in range(3):
            eqn = frame.maker(atom)
            if eqn is None or eqn.primitive not in _CUTS or type(eqn.invars[0]) is Literal:
                return False
            atom = eqn.invars[0]
            if self.is_asked(frame, atom):
                return True
        return False

    def is_asked(self, frame: Frame, atom: Any) -> bool:
        at: Frame | None = frame
        while at is not None:
            if atom in at.slots or atom in at.consts:
                return True
            atom = at.bindings.get(atom)
            if atom is None or type(atom) is Literal:
                return atom is not None
            at = at.parent
        return False

    def axis_index(self, eqn: Any, frame: Frame) -> None:
        name = eqn.params["axis_name"]
        size = self.slicer.shards(name if isinstance(name, tuple) else (name,))
        fact = Fact(0, size - 1) if size is not None else top(eqn.outvars[0].aval.dtype)

        def position(_: Any, *__: Fact) -> Fact:
            return fact

        self.emit(SIMPLE, eqn, (), [frame.slots.get(v, -1) for v in eqn.outvars]).rule = Rule(position, "none")

    def access(self, eqn: Any, frame: Frame) -> None:
        site = self.slicer.inventory.sites[id(eqn)]
        slots = frame.slots
        for v in eqn.outvars:
            if v in slots:
                if eqn.primitive is _GET_P and self.is_only_read(frame, eqn.invars[0]):
                    # Nobody writes to the ref: it holds what it was made from.
                    self.emit(SIMPLE, eqn, (self.slot(frame, eqn.invars[0]),), (slots[v],)).rule = SUMMARY
                else:
                    self.simple(eqn, frame)
                break
        only = self.slicer.only
        if id(eqn) in self.slicer.inventory.settled or (only is not None and id(eqn) not in only):
            return
        ins, plain, invars = [], True, eqn.invars
        for c in site.columns:
            ins.append(self.slot(frame, invars[c.operand]))
            plain = plain and c.also is None and c.repeat == 1
        step = self.emit(OBSERVE, eqn, ins, ())
        if not plain:
            step.extra = [-1 if c.also is None else self.slot(frame, invars[c.also]) for c in site.columns]
        step.site = site
        if self.slicer.masks:
            self.program.calls[id(step)] = (step, _calls(frame))

    def is_only_read(self, frame: Frame, ref: Any) -> bool:
        """Whether a ref made here or handed to this run_state, or to a call in it, is read and nothing else is done.

        Whoever hands it to a call may write to it before.
        """
        while (
            ref in frame.bindings
            and frame.parent is not None
            and getattr(frame.call, "primitive", None) is not RUN_STATE_P
        ):
            frame, ref = frame.parent, frame.bindings[ref]
        jaxpr = frame.jaxpr
        made = ref in frame.bindings or any(e.primitive is _NEW_REF_P and ref in e.outvars for e in jaxpr.eqns)
        return made and _only_reads(jaxpr, ref)

    def run_state(self, eqn: Any, frame: Frame) -> None:
        """A run_state: its jaxpr works on refs that start as the operands; what they end as is anything."""
        inner, consts = open_jaxpr(eqn.params["jaxpr"])
        if self.asked(eqn, frame):
            self.anything(eqn, frame)
        if len(inner.invars) != len(eqn.invars):
            self.foreign(eqn, frame)
        elif self.slicer.inventory.touches(inner):
            self.reverse(self.inner_frame(eqn, frame, inner, consts))

    def asked(self, eqn: Any, frame: Frame) -> tuple[int, ...]:
        slots = frame.slots
        return tuple([i for i, v in enumerate(eqn.outvars) if v in slots])

    def call(self, eqn: Any, frame: Frame) -> None:
        inner, consts = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
        inventory, everything, slots, outvars = self.slicer.inventory, self.slicer.everything, frame.slots, eqn.outvars
        asked, touches = not slots.keys().isdisjoint(outvars), inventory.touches(inner)
        if not asked and not touches and not everything:
            return
        if len(inner.invars) != len(eqn.invars) or len(inner.outvars) != len(outvars):
            self.foreign(eqn, frame)
            if asked:
                self.anything(eqn, frame)
            return
        if eqn.primitive is SHARD_MAP_P:
            self.sharded(eqn, frame, inner, consts)
            return
        known = idiom_of(eqn, inner) if asked and not touches else None
        if known is not None:
            outs = [slots.get(v, -1) for v in outvars]
            if everything:
                self.reverse(self.inner_frame(eqn, frame, inner, consts))
            self.steps.append(Step(SIMPLE, eqn, tuple([self.slot(frame, a) for a in eqn.invars]), tuple(outs), known))
            return
        if inventory.size[id(inner)] <= SMALL or inventory.callers[id(inner)] == 1 or everything:
            self.inline(eqn, frame, inner, consts)
            return
        body = self.slicer.program(inner, consts, self.asked(eqn, frame))
        ins = [self.slot(frame, eqn.invars[i]) for i, _ in body.inputs]
        step = self.emit(CALL, eqn, ins, [slots.get(v, -1) for v in outvars])
        step.bodies = (body,)

    def high(self, eqn: Any, frame: Frame) -> None:
        """A high-level primitive is what it is expanded to."""
        asked, expanded = self.asked(eqn, frame), expansion(eqn)
        if expanded is None:
            if asked:
                self.slicer.unmodelled[str(eqn.params.get("_prim", eqn.primitive.name)).split("[")[0]] += 1
                self.anything(eqn, frame)
        elif asked or self.slicer.inventory.touches(expanded[0]):
            self.inline(eqn, frame, *expanded)

    def inner_frame(self, eqn: Any, frame: Frame, inner: Any, consts: tuple[Any, ...]) -> Frame:
        within = frame.inside(inner, dict(zip(inner.invars, eqn.invars, strict=True)), consts)
        within.call = eqn
        return within

    def inline(self, eqn: Any, frame: Frame, inner: Any, consts: tuple[Any, ...]) -> None:
        within, slots = self.inner_frame(eqn, frame, inner, consts), frame.slots
        for outer, v in zip(eqn.outvars, inner.outvars, strict=True):
            slot = slots.get(outer)
            if slot is not None:
                self.rename(eqn, within, v, slot)
        self.reverse(within)

    def sharded(self, eqn: Any, frame: Frame, inner: Any, consts: tuple[Any, ...]) -> None:
        """A shard_map: the same equations on each shard, so only what holds for whole arrays crosses."""
        within = Frame(self.slicer, inner, None, {}, dict(zip(inner.constvars, consts, strict=True)))
        saved = dict(self.slicer.axes)
        self.slicer.axes.update(dict(eqn.params["mesh"].shape))
        for outer, v in zip(eqn.outvars, inner.outvars, strict=True):
            slot = frame.slots.get(outer)
            if slot is not None:
                self.emit(SIMPLE, eqn, (self.slot(within, v),), (slot,)).rule = SUMMARY
        self.reverse(within)
        for v, atom in zip(inner.invars, eqn.invars, strict=True):
            if v in within.slots:
                self.emit(SIMPLE, eqn, (self.slot(frame, atom),), (within.slots[v],)).rule = SUMMARY
        self.slicer.axes = saved

    def anything(self, eqn: Any, frame: Frame) -> None:
        outs = [frame.slots.get(v, -1) for v in eqn.outvars]
        self.emit(SIMPLE, eqn, [self.unasked(a) for a in eqn.invars], outs).rule = _ANYTHING

    def foreign(self, eqn: Any, frame: Frame) -> None:
        """A primitive without a rule that runs jaxprs of its own: their accesses are judged for any operands.

        Only the constants that a linear solve hands to each of its jaxprs are what they are.
        """
        for closed, first in constants_of(eqn):
            inner, consts = open_jaxpr(closed)
            if id(inner) in self.slicer.inventory.busy:
                body = self.slicer.program(inner, consts, ())
                step = self.emit(
                    CALL,
                    eqn,
                    [
                        self.slot(frame, eqn.invars[first[i]]) if i < len(first) else self.unasked(inner.invars[i])
                        for i, _ in body.inputs
                    ],
                    [-1] * len(inner.outvars),
                )
                step.bodies = (body,)

    def cond(self, eqn: Any, frame: Frame) -> None:
        branches = [open_jaxpr(b) for b in eqn.params["branches"]]
        asked = self.asked(eqn, frame)
        touches = self.slicer.inventory.touches
        if not asked and not any(touches(j) for j, _ in branches) and not self.slicer.everything:
            return
        told = definitions(self.resolve, frame, eqn.invars[1:])
        bodies = [self.slicer.program(j, c, asked, None, None, told) for j, c in branches]
        if asked:
            for body in bodies:
                body.errors = results_of_errors(body.jaxpr)
        used = sorted({i for body in bodies for i, _ in body.inputs})
        place = {i: k + 1 for k, i in enumerate(used)}
        step = self.emit(
            COND,
            eqn,
            [self.slot(frame, eqn.invars[0]), *(self.slot(frame, eqn.invars[1 + i]) for i in used)],
            [frame.slots.get(v, -1) for v in eqn.outvars],
        )
        step.bodies, step.apart = tuple(bodies), self.new()
        step.extra = [[place[i] for i, _ in body.inputs] for body in bodies]

    def scan(self, eqn: Any, frame: Frame) -> None:
        p = eqn.params
        inner, consts = open_jaxpr(p["jaxpr"])
        first, count = scan_counts(p)
        asked = self.asked(eqn, frame)
        if not asked and not self.slicer.inventory.touches(inner) and not self.slicer.everything:
            return
        given = eqn.invars[:first]
        fixed, told = self.numbers(frame, given), definitions(self.resolve, frame, given)
        end = first + count
        body, wanted, same = self.slicer.body(eqn, frame, inner, consts, {*asked}, first, end, fixed, told)
        outs = self.left_by(eqn, frame, same)
        step = self.emit(SCAN, eqn, [self.slot(frame, eqn.invars[i]) for i, _ in body.inputs], outs)
        step.bodies = (body,)
        step.extra = LoopShape(
            carries=tuple(sorted(i for i in wanted if i < count)),
            length=p["length"],
            consts=first,
            carry_count=count,
            counted=tuple(i for i, _ in body.inputs if i >= end and self.is_counted(frame, eqn.invars[i])),
        )
        # A carry whose final value is wanted but never read in the body still needs its first value.
        step.extra.inits = tuple(self.slot(frame, eqn.invars[first + i]) for i in step.extra.carries)
        if 1 in asked and count == 2 and len(eqn.invars) == first + 2 and not same:
            self.search(eqn, frame, inner, fixed, step.extra)

    def is_counted(self, frame: Frame, atom: Any) -> bool:
        """Whether an array holds the places of its elements, in a type that has room for them."""
        at, atom = self.resolve(frame, atom)
        made = None if type(atom) is Literal else at.maker(atom)
        if made is None or made.primitive is not _IOTA_P or len(atom.aval.shape) != 1:
            return False
        info, size = dtype_info(atom.aval.dtype), atom.aval.shape[0]
        return info.kind in "iu" and type(size) is int and size <= info.max

    def numbers(self, frame: Frame, atoms: Sequence[Any]) -> dict[int, int]:
        """Which of these are integers that are known before anything runs, by their positions."""
        found = {i: self.number(frame, atom) for i, atom in enumerate(atoms) if getattr(atom.aval, "shape", None) == ()}
        return {i: number for i, number in found.items() if number is not None}

    def number(self, frame: Frame, atom: Any) -> int | None:
        """A single integer that is written down, if only converted since."""
        info = dtype_info(getattr(atom.aval, "dtype", None))
        if not info.integral:
            return None
        frame, atom = self.resolve(frame, atom)
        if type(atom) is Literal:
            return int(atom.val)
        eqn = frame.maker(atom)
        if eqn is None:
            return None
        if eqn.primitive is _CONVERT_P:
            found = self.number(frame, eqn.invars[0])
            return found if found is not None and info.min <= found <= info.max else None
        if eqn.primitive in CALLS and eqn.primitive is not SHARD_MAP_P:
            inner, consts = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
            if len(inner.eqns) == 1 and len(inner.invars) == len(eqn.invars) and len(inner.outvars) == 1:
                return self.number(self.inner_frame(eqn, frame, inner, consts), inner.outvars[0])
        return None

    def search(self, eqn: Any, frame: Frame, inner: Any, fixed: dict[int, int], shape: LoopShape) -> None:
        """Note what a binary search looks for if it is a share of the last element, or known in numbers."""
        found = search_of(inner, shape.consts, fixed)
        if found is None:
            return
        query, array = eqn.invars[found.query], eqn.invars[found.array]
        parts = factors(self.resolve, frame, query, array, found.size) if not found.right else None
        less = lesser(self.resolve, frame, query, array, found.size) if not found.right and parts is None else None
        if parts is not None:
            at, last, part = parts
            shape.also = (self.slot(at, last), self.slot(at, part))
            shape.search = Share(found.size, *shape.also)
        elif less is not None:
            shape.also = (self.slot(*less),)
            shape.search = Lesser(found.size, shape.also[0])
        elif not found.right and is_among(self.resolve, frame, query, array):
            shape.search = Among(found.size)
        elif self.is_at_hand(frame, query) and self.is_at_hand(frame, array):
            shape.also = (self.slot(frame, array), self.slot(frame, query))
            first, end = (self.filled(frame, atom) for atom in eqn.invars[-2:])
            whole = first == 0 and end == found.size and is_long_enough(found.size, shape.length)
            shape.search = Placed(found.size, shape.also[0], shape.also[1], found.right, whole)
            self.ask_for_last(eqn, frame, array, found.size)

    def ask_for_last(self, eqn: Any, frame: Frame, array: Any, size: int) -> None:
        """Take the last element from a searched array of floats, where anything is compared with it.

        It may have been made behind the search, where nobody looks again: so it is made here.
        """
        at: Frame | None = frame
        where = self.resolve(frame, array)
        while at is not None:
            for atom, slot in list(at.floats.items()):
                shape = atom.aval.shape
                if shape in ((), (1,)) and is_last(self.resolve, at, atom, where, size):
                    del at.floats[atom]
                    self.template[slot] = None
                    windows.cut(self, eqn, *where, windows.Want(slot, (size - 1,), (1,), shape, None))
            at = at.parent

    def filled(self, frame: Frame, atom: Any) -> int | None:
        """The integer that a value, or every element of it, is known to be before anything runs."""
        frame, atom = self.resolve(frame, atom)
        eqn = None if type(atom) is Literal else frame.maker(atom)
        return self.number(frame, eqn.invars[0] if eqn is not None and eqn.primitive is _SPREAD_P else atom)

    def is_at_hand(self, frame: Frame, atom: Any) -> bool:
        """Whether an atom is a constant, an integer, an input or held between others: not a float for which much may
        have to be known."""
        frame, atom = self.resolve(frame, atom)
        if type(atom) is Literal or atom in frame.consts or dtype_info(atom.aval.dtype).integral:
            return True
        return frame.maker(atom) is None or is_limited(frame, atom)

    def resolve(self, frame: Frame, atom: Any) -> tuple[Frame, Any]:
        """The atom that an atom is another name of, and where."""
        while type(atom) is not Literal:
            if atom in frame.bindings and frame.parent is not None:
                frame, atom = frame.parent, frame.bindings[atom]
                continue
            eqn = frame.maker(atom)
            if eqn is not None and eqn.primitive in _RENAMING and _is_renaming(eqn):
                atom = eqn.invars[0]
            elif eqn is not None and eqn.primitive in CALLS and eqn.primitive is not SHARD_MAP_P:
                inner, _ = open_jaxpr(eqn.params[CALLS[eqn.primitive]])
                result = inner.outvars[eqn.outvars.index(atom)] if len(inner.outvars) == len(eqn.outvars) else None
                if result is None or type(result) is Literal or result not in inner.invars:
                    break
                atom = eqn.invars[inner.invars.index(result)]
            else:
                break
        return frame, atom

    def left_by(self, eqn: Any, frame: Frame, same: dict[int, int]) -> list[int]:
        """The slots of a loop's results; those of carries that are the same are one slot."""
        slots = [frame.slots.get(v, -1) for v in eqn.outvars]
        for k, first in same.items():
            if slots[first] < 0:
                slots[first] = slots[k]
            elif slots[k] >= 0:
                self.emit(SIMPLE, eqn, (slots[first],), (slots[k],)).rule = SAME
            slots[k] = -1
        return slots

    def loop(self, eqn: Any, frame: Frame) -> None:
        p = eqn.params
        test, test_consts = open_jaxpr(p["cond_jaxpr"])
        inner, consts = open_jaxpr(p["body_jaxpr"])
        nt, nb = p["cond_nconsts"], p["body_nconsts"]
        asked = self.asked(eqn, frame)
        touches = self.slicer.inventory.touches
        if not asked and not touches(inner) and not touches(test) and not self.slicer.everything:
            return
        outer, self.slicer.lanes = self.slicer.lanes, self.slicer.lanes or bool(test.outvars[0].aval.shape)
        limits = self.numbers(frame, eqn.invars[:nt])
        condition = self.slicer.program(test, test_consts, (0,), None, limits)
        tested = {i - nt for i, _ in condition.inputs if i >= nt}
        given = eqn.invars[nt : nt + nb]
        fixed, told = self.numbers(frame, given), definitions(self.resolve, frame, given)
        body, wanted, same = self.slicer.body(
            eqn, frame, inner, consts, tested.union(asked), nb, len(inner.invars), fixed, told
        )
        if same:
            condition = self.slicer.program(test, test_consts, (0,), _moved(same, nt), limits)
        self.slicer.lanes = outer
        ins = [self.slot(frame, eqn.invars[nt + i]) for i, _ in body.inputs]
        ins += [self.slot(frame, eqn.invars[i if i < nt else i + nb]) for i, _ in condition.inputs]
        step = self.emit(WHILE, eqn, ins, self.left_by(eqn, frame, same))
        step.bodies = (body, condition)
        step.extra = LoopShape(carries=tuple(sorted(wanted)), consts=nb, cond_consts=nt)
        step.extra.inits = tuple(self.slot(frame, eqn.invars[nt + nb + i]) for i in step.extra.carries)


#: What is done with an equation that is no simple step, by its number in `SPECIAL`.
_SPECIAL: dict[int, Callable[[_Build, Any, Frame], None]] = {
    1: _Build.access,
    2: _Build.call,
    3: _Build.cond,
    4: _Build.scan,
    5: _Build.loop,
    7: _Build.high,
    8: _Build.run_state,
    9: _Build.assumption,
}
