"""Demand slicing: from a jaxpr to the program that decides its accesses, in one backward pass.

Each equation is looked at once; behind a value nobody needs, or one that can be anything whatever
its operands are, nothing is asked. Loops ask until the set of carries that matter is closed.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from redzone.domains import Fact, dtype_info, top
from redzone.engine import windows
from redzone.engine.assumptions import doubt, promise
from redzone.engine.between import SINGLE, note_between
from redzone.engine.bodies import cond, loop, note_given, scan
from redzone.engine.chosen import among_chosen, first_true
from redzone.engine.closer import CLOSER, counts
from redzone.engine.definitions import Definition, tell
from redzone.engine.frames import RENAMING, Frame, Slicing, calls_around, is_renaming
from redzone.engine.idioms import idiom_of
from redzone.engine.implementation import expansion, implementation
from redzone.engine.inlined import Inlined
from redzone.engine.inventory import AXIS_INDEX_P, CALLS, SHARD_MAP_P, SPECIAL, constants_of
from redzone.engine.products import ALIKE, DECIDED, ONCE, TWOFOLD, how_computed, how_given, is_given_anew, is_one
from redzone.engine.program import CALL, OBSERVE, SIMPLE, Program, Step
from redzone.engine.refs import is_only_read
from redzone.engine.regrouped import note_regrouped
from redzone.engine.rounding import ORDERS, rounded_operands
from redzone.engine.sharing import share
from redzone.engine.slots import ANYTHING, Slots
from redzone.engine.wrapping import made_at_once
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import RULES, Rule
from redzone.rules.table import SUMMARY

#: A sub-program up to this many equations is inlined even where it is called more than once.
SMALL: Final = 40

_GET_P: Final = primitives().get("get_p")
_SELECT_P: Final = primitives()["select_n_p"]
_ADD_P: Final = primitives()["add_p"]
_DIV_P: Final = primitives()["div_p"]
_EXTREMES: Final = frozenset(primitives()[n] for n in ("argmax_p", "argmin_p"))
#: Primitives that are not always a step with their rule.
_UNUSUAL: Final = RENAMING | windows.PARTS | windows.READS | _EXTREMES


class Slicer(Slicing):
    """Builds programs; one per check, sharing its work between callers of the same sub-program."""

    def program(
        self,
        jaxpr: Any,
        consts: tuple[Any, ...],
        wanted: tuple[int, ...],
        same: dict[int, int] | None = None,
        fixed: dict[int, int] | None = None,
        told: dict[int, Definition] | None = None,
        looked_at: tuple[int, ...] = (),
    ) -> Program:
        """The program that decides a jaxpr's accesses and the wanted results.

        Inputs that the caller knows to be equal to others, by their positions, are taken for these, and those that it
        knows the numbers of for constants; of some it is told how they were made from others. Some are looked at
        though they are floats that are only compared.
        """
        axes = tuple(sorted(self.axes.items(), key=str))
        known = tuple([(k, one.key()) for k, one in told.items()]) if told else ()
        given = (tuple(same.items()) if same else (), tuple(fixed.items()) if fixed else (), known, looked_at)
        key = (id(jaxpr), wanted, axes, tuple(map(id, consts)), self.lanes, given)
        inputs, built = jaxpr.invars, self.built.setdefault(key, [])
        for how, found in built:
            if all(how_given(self, inputs[k]) == so for k, so in how.items()):
                return found
        found = _Build(self, jaxpr, consts, same, fixed, told).slice(wanted, looked_at)
        built.append(({k: how_given(self, v) for k, v in enumerate(inputs) if v in self.looked_at}, found))
        return found


class _Build(Slots):
    """One backward pass over one jaxpr, with what it inlines."""

    __slots__ = ()

    def slice(self, wanted: tuple[int, ...], looked_at: tuple[int, ...] = ()) -> Program:
        program, jaxpr, frame = self.program, self.program.jaxpr, self.root
        invars, outvars = jaxpr.invars, jaxpr.outvars
        program.outs = [-1] * len(outvars)
        for i in looked_at:
            self.slot(frame, invars[i])
        for i in wanted:
            program.outs[i] = self.slot(frame, outvars[i])
        self.reverse(frame)
        for v, told in frame.told.items():
            tell(self, frame, v, told)
        self.steps.reverse()
        program.steps = self.steps
        slots = frame.slots
        program.inputs = [(i, slots[v]) for i, v in enumerate(invars) if v in slots and v not in frame.consts]
        if self.slicer.given:
            program.anew += [slot for i, slot in program.inputs if is_given_anew(self.slicer, invars[i])]
        for v in jaxpr.constvars:
            if v in slots and v not in frame.consts:
                program.template[slots[v]] = top(getattr(v.aval, "dtype", None))
        program.unknown = frozenset(self.tops.values())
        renamed, parts = share(program), (self.frames, self.observed, self.integers)
        self.slicer.inlined[id(program)] = Inlined(program, *parts, renamed)
        program.assumptions.reverse()
        program.lanes = self.slicer.lanes
        if self.slicer.batched:
            doubt(program, self.slicer.doubted)
        return program

    def reverse(self, frame: Frame) -> None:
        """Look at the equations from the last to the first; where nothing is pending, only at those that are busy."""
        jaxpr, slots, wanted, slicer = frame.jaxpr, frame.slots, frame.wanted, self.slicer
        self.frames.append(frame)
        eqns = frame.eqns = list(jaxpr.eqns)
        busy = slicer.inventory.busy.get(id(jaxpr), ())
        special_of, left = SPECIAL.get, len(busy)
        next_busy = busy[-1] if busy else -1
        every, masks = slicer.everything, slicer.masks
        at = len(eqns)
        while True:
            for at in range(at - 1 if every or frame.pending else next_busy, -1, -1):  # noqa: B020
                eqn = eqns[at]
                outvars, asked = eqn.outvars, 0
                if len(outvars) == 1:
                    v = outvars[0]
                    if wanted and v in wanted:
                        windows.flush(self, eqn, frame, v)
                    if every:
                        self.program.watched.append((eqn, [self.slot(frame, v)]))
                    if v in slots:
                        asked = 1
                else:
                    if wanted:
                        for v in outvars:
                            if v in wanted:
                                windows.flush(self, eqn, frame, v)
                    if every:
                        self.program.watched.append((eqn, [self.slot(frame, v) for v in outvars]))
                    for v in outvars:
                        if v in slots:
                            asked += 1
                if at == next_busy:
                    left -= 1
                    next_busy = busy[left - 1] if left else -1
                    for site, atom, case in masks.get(id(eqn), ()) if masks else ():
                        self.program.masks.append((site, self.slot(frame, atom), case, calls_around(frame)))
                elif not asked and not every:
                    continue
                frame.pending -= asked
                special = special_of(eqn.primitive)
                if special is not None:
                    _SPECIAL[special](self, eqn, frame)
                else:
                    if asked and (eqn.primitive is not _SELECT_P or every or not made_at_once(self, eqns, at, frame)):
                        self.simple(eqn, frame, at)
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

    def simple(self, eqn: Any, frame: Frame, at: int = 0) -> None:
        """Make an equation that was asked for a step; it is the one at that place, where that is known."""
        slots, primitive, outvars = frame.slots, eqn.primitive, eqn.outvars
        if primitive in _UNUSUAL:
            if primitive in windows.READS:
                if windows.read(self, eqn, frame, at):
                    return
            elif primitive is windows.UNSTACK:
                windows.unstack(self, eqn, frame)
                return
            elif primitive in _EXTREMES:
                if first_true(self, eqn, frame) or among_chosen(self, eqn, frame):
                    return
            elif is_renaming(eqn):
                self.rename(eqn, frame, eqn.invars[0], slots[outvars[0]])
                return
        rule = RULES.get(primitive)
        if rule is None:
            rule = self.without_rule(eqn, frame)
            if rule is None:
                return
        closer = CLOSER.get(primitive)
        if closer is not None:
            rule = closer(frame, eqn) or rule
        if rule.whole and not (rule.floats or dtype_info(outvars[0].aval.dtype).integral or counts(frame, eqn)):
            rule = ANYTHING
        whole, each = rule.whole, rule.each
        if each:
            ins: list[int] = []
            for a in eqn.invars:
                if type(a) is Literal:
                    slot = self.literal(a)
                else:
                    known = slots.get(a)
                    if known is not None:
                        slot = known
                    else:
                        slot = self.slot(frame, a) if whole else self.given(frame, a)
                ins.append(slot)
        elif rule.needs == "none":
            ins = [self.unasked(a) for a in eqn.invars]
        else:
            needs = rule.needs
            ins = [self.slot(frame, a) if i in needs else self.unasked(a) for i, a in enumerate(eqn.invars)]
        outs = (slots[outvars[0]],) if len(outvars) == 1 else tuple([slots.get(v, -1) for v in outvars])
        step = Step(SIMPLE, eqn, tuple(ins), outs, rule)
        if (not each or primitive in DECIDED) and not dtype_info(outvars[0].aval.dtype).integral:
            how = how_computed(frame, eqn)
            if how == ALIKE and not each and not is_one(frame, outvars[0]):
                # Nobody asks for its operands, so that nothing is known of them later.
                how = TWOFOLD
            self.program.computed[id(eqn)] = max(self.program.computed.get(id(eqn), ONCE), how)
        if primitive is _ADD_P:
            if outvars[0].aval.dtype is SINGLE:
                note_between(self, eqn, frame, step)
        elif primitive in ORDERS and eqn.invars[0].aval.dtype is SINGLE:
            step.extra = rounded_operands(frame, eqn)
        elif primitive is _DIV_P:
            note_regrouped(self, eqn, frame, step)
        self.steps.append(step)

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
        return ANYTHING

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
                if eqn.primitive is _GET_P and is_only_read(frame, eqn.invars[0]):
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
        self.observed.append((step, frame))
        if self.slicer.masks:
            self.program.calls[id(step)] = (step, calls_around(frame))

    def run_state(self, eqn: Any, frame: Frame) -> None:
        """A run_state: its jaxpr works on refs that start as the operands; what they end as is anything."""
        inner, consts = open_jaxpr(eqn.params["jaxpr"])
        if self.asked(eqn, frame):
            self.anything(eqn, frame)
        if len(inner.invars) != len(eqn.invars):
            self.foreign(eqn, frame)
        elif self.slicer.inventory.touches(inner):
            self.reverse(frame.called(eqn, inner, consts))

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
                self.reverse(frame.called(eqn, inner, consts))
            self.steps.append(Step(SIMPLE, eqn, tuple([self.slot(frame, a) for a in eqn.invars]), tuple(outs), known))
            return
        if inventory.size[id(inner)] <= SMALL or inventory.callers[id(inner)] == 1 or everything:
            self.inline(eqn, frame, inner, consts)
            return
        self.slicer.done_away.add(id(inner))
        note_given(frame, inner, eqn.invars)
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

    def inline(self, eqn: Any, frame: Frame, inner: Any, consts: tuple[Any, ...]) -> None:
        within, slots = frame.called(eqn, inner, consts), frame.slots
        for outer, v in zip(eqn.outvars, inner.outvars, strict=True):
            slot = slots.get(outer)
            if slot is not None:
                self.rename(eqn, within, v, slot)
        self.reverse(within)

    def sharded(self, eqn: Any, frame: Frame, inner: Any, consts: tuple[Any, ...]) -> None:
        """A shard_map: the same equations on each shard, so only what holds for whole arrays crosses."""
        within = Frame(self.slicer, inner, None, {}, dict(zip(inner.constvars, consts, strict=True)))
        self.slicer.done_away.add(id(inner))
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


#: What is done with an equation that is no simple step, by its number in `SPECIAL`.
_SPECIAL: Final[dict[int, Callable[[_Build, Any, Frame], None]]] = {
    1: _Build.access,
    2: _Build.call,
    3: cond,
    4: scan,
    5: loop,
    7: _Build.high,
    8: _Build.run_state,
    9: promise,
}
