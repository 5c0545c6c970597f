"""Which checks a program needs at run time, given its verdicts: none for what is proved."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from redzone.access.site import Column
from redzone.engine.inventory import children
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import open_jaxpr
from redzone.frontend.trace import Input
from redzone.report.model import Access, Condition, Report, Verdict
from redzone.runtime.checks import Check, InPlace, OnEntry, Promise, columns_of, look_at_input
from redzone.runtime.functional import Instrumented
from redzone.runtime.places import place_of
from redzone.runtime.state import State


@dataclasses.dataclass(slots=True)
class Plan:
    """The checks of one program; a check's number in the state is its place here, counted from 1."""

    checks: list[Check] = dataclasses.field(default_factory=list)
    entries: list[tuple[int, OnEntry]] = dataclasses.field(default_factory=list)
    accesses: dict[int, list[tuple[int, Column]]] = dataclasses.field(default_factory=dict)
    promises: dict[int, int] = dataclasses.field(default_factory=dict)
    unguarded: list[Access] = dataclasses.field(default_factory=list)
    """Accesses neither proved nor within reach of a check: kernels and foreign calls."""

    def __bool__(self) -> bool:
        return bool(self.checks)

    def add(self, check: Check) -> int:
        """The number of a new check."""
        self.checks.append(check)
        return len(self.checks)

    def in_place(self, access: Access) -> None:
        """Check an access where it is made."""
        columns = [c for c in columns_of(access.eqn) if type(c.limit) is int]
        # What bounds one column is a fact, whatever the others do.
        known = {c for c, bound in zip(columns, access.bounds, strict=False) if bound.inside}
        if len(known) < len(columns) == len(access.bounds):
            columns = [c for c in columns if c not in known]
        if not columns:
            self.unguarded.append(access)
            return
        self.accesses[id(access.eqn)] = [(self.add(InPlace(access, column)), column) for column in columns]

    def instrumented(self) -> Instrumented:
        return Instrumented(self.accesses, self.promises)

    beside: frozenset[int] = frozenset()
    """The checks on entry, by number, that are made beside the program, which stays as it is: a larger one would
    take longer to compile."""

    def on_entry(self, leaves: Sequence[Any], state: State) -> State:
        """The state after looking at the inputs, but for what is looked at beside the program."""
        for number, check in self.entries:
            if number not in self.beside:
                state = look_at_input(check, leaves[check.leaf], number, state)
        return state

    def looked_beside(self) -> list[tuple[int, OnEntry]]:
        """The checks that are made beside the program, with their numbers."""
        return [(number, check) for number, check in self.entries if number in self.beside]

    def in_program(self) -> bool:
        """Whether the program itself makes some of the checks."""
        return len(self.beside) < len(self.checks)


def plan_for(
    report: Report, inputs: Sequence[Input], stays: Callable[[int], bool], exactly: bool = False, beside: bool = False
) -> Plan:
    """The checks for what was not proved.

    An input that `stays` can be looked at again after the call. A condition on others, or one that cannot be
    evaluated on entry, is checked at its access; with `exactly`, every condition is. With `beside`, the checks on
    entry are made beside the program where the inputs outlive its start.
    """
    plan = Plan()
    conditions: dict[Any, tuple[Condition, list[Access]]] = {}
    for access in report.accesses:
        if access.suppressed or access.verdict not in (Verdict.REQUIRES, Verdict.UNKNOWN, Verdict.UNSAFE):
            continue
        wraps = access.rule == "RZ204"
        evaluable = access.verdict is Verdict.REQUIRES and all(_is_evaluable(c) for c in access.requires)
        kept = evaluable and all(stays(leaf) for c in access.requires for leaf in c.leaves)
        if evaluable and (wraps or (kept and not exactly)):
            for c in access.requires:
                conditions.setdefault((c.leaf, c.where, c.min, c.max), (c, []))[1].append(access)
        else:
            plan.in_place(access)
    for condition, accesses in conditions.values():
        place = place_of(condition)
        assert place is not None
        check = OnEntry(
            condition.leaf, condition.argument, place, condition.min, condition.max, condition, tuple(accesses)
        )
        plan.entries.append((plan.add(check), check))
    for leaf, source in enumerate(inputs):
        if source.min is not None or source.max is not None or source.finite:
            check = OnEntry(leaf, source.name, (), source.min, source.max, None, (), source.finite)
            plan.entries.append((plan.add(check), check))
    doubted = {id(eqn) for eqn in report.doubted}
    for eqn in assumptions_in(report.jaxpr):
        if id(eqn) in doubted:
            continue
        plan.promises[id(eqn)] = plan.add(Promise(eqn))
    if beside:
        plan.beside = frozenset(number for number, check in plan.entries if stays(check.leaf))
    return plan


def _is_evaluable(condition: Condition) -> bool:
    numbers = all(b is None or type(b) in (int, float, bool) for b in (condition.min, condition.max))
    return numbers and not condition.terms and place_of(condition) is not None


def assumptions_in(jaxpr: Any, seen: set[int] | None = None) -> Iterator[Any]:
    """The `redzone.assume` equations of a program, each once."""
    seen = set() if seen is None else seen
    inner = open_jaxpr(jaxpr)[0]
    if id(inner) in seen:
        return
    seen.add(id(inner))
    for eqn in inner.eqns:
        if eqn.primitive is assume_p:
            yield eqn
        for body in children(eqn):
            yield from assumptions_in(body, seen)
