"""A sliced program: only the equations whose values reach an index, a mask or a branch around an access.

Variables become slots of one flat list; small and once-called sub-programs are inlined, so that a
condition in one function refines a value in another. Loops and branches keep programs of their own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable
from typing import Any, Final, NamedTuple

from redzone.access.site import Site
from redzone.domains import DtypeInfo, Fact, dtype_info
from redzone.engine.ahead import Count, counts
from redzone.engine.makers import Makers
from redzone.engine.search import Placed
from redzone.frontend.compat import primitives
from redzone.rules import RULES, Rule
from redzone.rules.table import SAME

SIMPLE: Final = 0
OBSERVE: Final = 1
COND: Final = 2
SCAN: Final = 3
WHILE: Final = 4
CALL: Final = 5
#: The rules of steps that are computed from more than their operands: refined cases, and the mass of what is summed up.
LOOKING: Final = frozenset(RULES[primitives()[n]] for n in ("select_n_p", "cumsum_p", "reduce_sum_p"))
#: How many bits tell the values behind one apart.
SIGNATURE: Final = 4096
BITS: Final = [1 << k for k in range(SIGNATURE)]
#: Stands among the slots that somebody looked at for what is in none of them.
MORE: Final = -1


_CONCATENATE: Final = primitives()["concatenate_p"]
_SLICE: Final = primitives()["slice_p"]
_UNMOVED: Final = frozenset(primitives()[n] for n in ("squeeze_p", "reshape_p"))
COMPARISONS: Final = frozenset(primitives()[f"{n}_p"] for n in ("lt", "le", "gt", "ge", "eq", "ne"))


class Step:
    """One equation to analyse: the slots it reads and writes."""

    __slots__ = (
        "_given",
        "_way",
        "_yields",
        "apart",
        "bodies",
        "eqn",
        "extra",
        "ins",
        "kind",
        "outs",
        "primitive",
        "reached",
        "rule",
        "site",
        "volatile",
    )

    def __init__(
        self, kind: int, eqn: Any, ins: tuple[int, ...], outs: tuple[int, ...], rule: Rule | None = None
    ) -> None:
        self.kind = kind
        self.eqn = eqn
        self.primitive: Any = eqn.primitive
        self.ins = ins
        self.outs = outs
        """One slot per result, -1 where nobody asked."""
        self.rule = rule
        self.site: Site | None = None
        self.bodies: tuple[Program, ...] = ()
        self.extra: Any = None
        self.apart = -1
        """Of a cond: the slot in which a run keeps, by branch, what each yields."""
        self.volatile = False
        """Whether its result hangs on more than its operands."""
        self.reached = -1
        """The inputs of its program that it hangs on, as `Program.rerun` numbers them, and one bit more where it hangs
        on an `ordered` step; -1 where nobody asked yet."""
        self._given: DtypeInfo | None = None
        self._yields: DtypeInfo | None = None
        self._way: str | None = None

    def given(self) -> DtypeInfo:
        """The type of its first operand."""
        if self._given is None:
            self._given = dtype_info(getattr(self.eqn.invars[0].aval, "dtype", None))
        return self._given

    def yields(self) -> DtypeInfo:
        """The type of its first result."""
        if self._yields is None:
            self._yields = dtype_info(getattr(self.eqn.outvars[0].aval, "dtype", None))
        return self._yields

    def way_back(self, kinds: dict[Any, str]) -> str:
        """Of which of some kinds its equation is, looked up once; none where operands of it were left out."""
        if self._way is None:
            is_whole = len(self.ins) == len(self.eqn.invars)
            self._way = kinds.get(self.eqn.primitive, "") if is_whole else ""
        return self._way

    def reads(self) -> tuple[int, ...]:
        """The slots it looks at: its operands, a loop's first values, what is added to an index before it is judged."""
        if self.kind in (SCAN, WHILE):
            return (*self.ins, *self.extra.inits, *self.extra.also)
        if self.kind == OBSERVE and self.extra is not None:
            return (*self.ins, *(slot for slot in self.extra if slot >= 0))
        return self.ins

    def read_for_results(self) -> tuple[int, ...]:
        """Of a loop: the slots that its results hang on, without those that only the accesses in it look at."""
        body = self.bodies[0]
        if any(program.all_assumptions() for program in self.bodies):
            # What is promised of one value may narrow another.
            return self.reads()
        reached, count = body.results_reached(), len(body.inputs)
        mine = [slot for k, slot in enumerate(self.ins[:count]) if reached >> k & 1]
        return (*mine, *self.ins[count:], *self.extra.inits, *self.extra.also)


class Rerun(NamedTuple):
    """What running a program again looks at, where only some of its inputs have changed."""

    steps: list[tuple[Step, tuple[int, ...], bool]]
    """The steps that hang on those inputs, with the slots they read, and whether they look at more than these."""
    made: list[int]
    """The slots of what those steps make."""


class Assumption(NamedTuple):
    """What `redzone.assume` promises of a slot, and the equation that says so."""

    slot: int
    fact: Fact
    eqn: Any
    is_condition: bool


class Passage(NamedTuple):
    """How a condition lets through what an access reads or writes."""

    use: int
    """Which of its uses that is for."""
    least: int
    most: int
    """What the condition must be between."""
    shape: tuple[Any, ...]
    """The condition's own."""
    rows: tuple[int, ...]
    """The dimensions of the index tuples along which it is one for all, though it has others."""


#: By slot of a flag, and its value: what other slots hold where it has that.
Links = dict[int, dict[int, dict[int, Fact]]]
#: By loop: what some of its carries are in any of its states.
Ceilings = dict[Step, dict[int, Fact]]


class Program:
    """Steps in execution order over a flat list of slots."""

    __slots__ = (
        "_callers",
        "_compared",
        "_masks",
        "_places",
        "_reruns",
        "_searched",
        "_supporting",
        "anew",
        "assumptions",
        "calls",
        "ceilings",
        "computed",
        "defs",
        "equal",
        "errors",
        "inputs",
        "jaxpr",
        "lanes",
        "last",
        "linked",
        "linking",
        "looks",
        "masks",
        "memo",
        "narrowing",
        "ordered",
        "outs",
        "special",
        "stale",
        "steps",
        "template",
        "thresholds",
        "unknown",
        "watched",
    )

    def __init__(self, jaxpr: Any) -> None:
        self.jaxpr = jaxpr
        self.steps: list[Step] = []
        self.template: list[Fact | None] = []
        """The environment to start from: facts of constants, None elsewhere."""
        self.inputs: list[tuple[int, int]] = []
        """(position among the jaxpr's inputs, slot), for the inputs that matter."""
        self.outs: list[int] = []
        """One slot per result of the jaxpr, -1 where nobody asked."""
        self.defs = Makers()
        self.equal: dict[int, int] = {}
        """By slot of an input: another one of the same value, which the first steps make again from other inputs."""
        self.errors: frozenset[int] = frozenset()
        """Results that a run never has, because the branch ends in an error before."""
        self.thresholds: tuple[int, ...] = ()
        self.unknown: frozenset[int] = frozenset()
        """Slots that stand for all values of a type that nobody asked about: two uses of one need not be one value."""
        self.anew: list[int] = []
        """Slots of floats that nobody asked about, and that may be computed in another way in each place."""
        self.computed: dict[int, int] = {}
        """By identity of an equation of floats, a loop or branches: how its results are computed, where anybody looked
        (`engine/products.py`)."""
        self.memo: dict[Any, Any] = {}
        self.narrowing: list[int] = []
        """By slot: what `refine.narrows` found."""
        self.last: list[Any] | None = None
        """The environment of the latest run: the next one computes again only what its inputs change."""
        self.looks: dict[Step, list[set[int]]] = {}
        """By step that looks at more than its operands: the slots that it looked at in that run; one not here may
        have looked at anything."""
        self.stale: set[int] = set()
        """The slots that no step here makes, and of which that run knew something else than is known now."""
        self.linking: Links = {}
        """What is known of other slots by the value of a flag, in the run that is next."""
        self.linked: dict[int, tuple[list[Any], Links]] = {}
        """The same by identity of the environment of a run, which is kept with it."""
        self.ceilings: Ceilings = {}
        """What the carries of loops in it can be, in the run that is next, by what is known around it."""
        self.calls: dict[int, tuple[Step, frozenset[int]]] = {}
        """By identity of a step that is an access: the step, and the calls it was inlined from, by theirs."""
        self.masks: list[tuple[tuple[int, tuple[int, ...]], int, Passage, frozenset[int]]] = []
        """((identity of an access, the calls around it), slot of a select's condition, how that lets what was accessed
        through, the calls the select was inlined from)."""
        self.special: dict[Step, Any] | None = None
        """Steps computed in a better way than their rule, while something about the inputs is known."""
        self.ordered: frozenset[Step] = frozenset()
        """Those that ever were special: what they yield hangs on more than the inputs, as on one input more."""
        self.watched: list[tuple[Any, list[int]]] = []
        self.assumptions: list[Assumption] = []
        """Promises that hold in every run of this program that counts."""
        self.lanes = False
        """Whether this is run for lanes of a batched while that are done too, to which no promise applies."""
        self._compared: dict[tuple[int, ...], list[tuple[str, int]]] | None = None
        self._masks: list[int] | None = None
        self._callers: dict[int, list[Any]] | None = None
        self._places: dict[int, int] | None = None
        self._reruns: dict[tuple[int, bool], Rerun] = {}
        self._searched: dict[tuple[int, ...], list[Count]] | None = None
        self._supporting: list[Step] | None = None

    @property
    def assumed(self) -> list[int]:
        """The slots of conditions that hold in every run: every element of each is true."""
        return [] if self.lanes else [a.slot for a in self.assumptions if a.is_condition]

    def all_assumptions(self) -> list[Assumption]:
        """Those of this program and of all that it runs."""
        return [*self.assumptions, *(one for s in self.steps for body in s.bodies for one in body.all_assumptions())]

    def column(self, slot: int, column: int) -> int:
        """Where a column of an index array is found by itself, before the columns were put side by side; -1 if not."""
        made = self.defs.get(slot)
        if made is None or made.kind != SIMPLE or made.primitive is not _CONCATENATE:
            return -1
        eqn = made.eqn
        if int(eqn.params["dimension"]) != len(eqn.outvars[0].aval.shape) - 1:
            return -1
        return made.ins[column] if all(v.aval.shape[-1] == 1 for v in eqn.invars) else -1

    def forget(self, equations: dict[int, Any]) -> None:
        """Leave out the assumptions of these equations, by identity, here and in all that this program runs."""
        self.assumptions = [one for one in self.assumptions if id(one.eqn) not in equations]
        self._supporting = None
        for step in self.steps:
            for body in step.bodies:
                body.forget(equations)

    def supporting(self) -> list[Step]:
        """The steps that the assumptions are made from, in order."""
        if self._supporting is None:
            wanted = {a.slot for a in self.assumptions}
            found = []
            for step in reversed(self.steps):
                if not wanted.isdisjoint(step.outs):
                    found.append(step)
                    wanted.update(step.reads())
            self._supporting = found[::-1]
        return self._supporting

    def callers(self, index: Callable[[Any], dict[int, list[Any]]]) -> dict[int, list[Any]]:
        """Which of its jaxpr's equations hold an inner one, by its identity; `index` works it out, once."""
        if self._callers is None:
            self._callers = index(self.jaxpr)
        return self._callers

    def is_ordered(self, steps: Iterable[Step]) -> None:
        """From here on these steps, and what is made from them, are looked at whenever the program runs."""
        if not self.ordered.issuperset(steps):
            self.ordered = self.ordered.union(steps)
            for step in self.ordered:
                step.volatile = True
            for step in self.steps:
                step.reached = -1
            self._reruns.clear()

    def rerun(self, inputs: int, recorded: bool) -> Rerun:
        """What runs again when these inputs have changed, bit k for the k-th of `inputs`.

        A plain rule sees its operands' facts and nothing else. A refinement looks at the values behind them too,
        so a select or a branch runs again wherever anything it is made from has changed. A recorded run goes
        through everything that holds an access.
        """
        known = self._reruns.get((inputs, recorded))
        if known is None:
            known = self._reruns[inputs, recorded] = self._rerun(inputs, recorded)
        return known

    def _rerun(self, inputs: int, recorded: bool) -> Rerun:
        if not inputs:
            return Rerun([(step, (), True) for step in self.steps if step.kind != SIMPLE] if recorded else [], [])
        steps: list[tuple[Step, tuple[int, ...], bool]] = []
        made: list[int] = []
        ordered = self.ordered
        self.reach()
        for step in self.steps:
            kind = step.kind
            if step.reached & inputs:
                made += step.outs
                if kind == SIMPLE:
                    steps.append((step, step.ins, step.rule in LOOKING or step in ordered))
                elif recorded:
                    steps.append((step, (), True))
                elif kind != OBSERVE:
                    reads = step.read_for_results() if kind in (SCAN, WHILE) else step.reads()
                    steps.append((step, reads, kind == COND))
            elif recorded and kind != SIMPLE:
                steps.append((step, (), True))
        return Rerun(steps, [slot for slot in made if slot >= 0])

    def reach(self) -> dict[int, int]:
        """Work out for each step the inputs it hangs on; by slot, the bit of each input."""
        ordered, defs, places, equal = self.ordered, self.defs, self._places, self.equal
        if places is None:
            places = self._places = {slot: 1 << k for k, (_, slot) in enumerate(self.inputs)}
        for step in self.steps:
            if step.reached < 0:
                reached = 1 << len(places) if step in ordered else 0
                for slot in step.ins if step.kind == SIMPLE else step.reads():
                    source = defs.get(slot)
                    reached |= places.get(slot, 0) if source is None else source.reached
                    if equal and slot in equal:
                        # What is assumed of it is assumed of what it was made from.
                        reached |= defs[equal[slot]].reached
                step.reached = reached
        return places

    def results_reached(self) -> int:
        """The inputs that its results hang on, bit k for the k-th."""
        places, reached = self.reach(), 0
        for slot in self.outs:
            source = self.defs.get(slot)
            reached |= places.get(slot, 0) if source is None else source.reached
        return reached

    def compared(self) -> dict[tuple[int, ...], list[tuple[str, int]]]:
        """By two integers that are compared more than once: the relation and the result of each comparison."""
        known = self._compared
        if known is None:
            known = {}
            for step in self.steps:
                if step.kind != SIMPLE or step.primitive not in COMPARISONS:
                    continue
                if step.given().kind in "iu":
                    known.setdefault(step.ins, []).append((step.primitive.name, step.outs[0]))
            self._compared = known = {ins: found for ins, found in known.items() if len(found) > 1}
        return known

    def searched(self) -> dict[tuple[int, ...], list[Count]]:
        """By what is looked for in an array and the array's last element, which are compared: what is found."""
        known = self._searched
        if known is None:
            known = self._searched = {}
            places = [*counts(self, SIMPLE)]
            for step in self.steps:
                if step.kind == SCAN and step.extra.search is not None and step.outs[1] >= 0:
                    found = step.extra.search
                    if type(found) is Placed and found.whole:
                        places.append(Count(step.outs[1], found.array, found.query, found.size, found.right))
            for place in places:
                for one in self.steps:
                    if one.kind == SIMPLE and one.primitive in COMPARISONS and place.query in one.ins:
                        query, last = one.ins if one.ins[0] == place.query else one.ins[::-1]
                        if self.is_last(last, place.array, place.size):
                            known.setdefault((query, last), []).append(place)
        return known

    def is_last(self, slot: int, array: int, size: int) -> bool:
        """Whether a slot holds the last element of so many."""
        for _ in range(4):
            made = self.defs.get(slot)
            if made is None or made.kind != SIMPLE:
                return False
            if made.primitive is _SLICE:
                p = made.eqn.params
                ends = (tuple(p["start_indices"]), tuple(p["limit_indices"]))
                return made.ins[0] == array and ends == ((size - 1,), (size,))
            if made.primitive not in _UNMOVED:
                return False
            slot = made.ins[0]
        return False

    def behind(self) -> list[int]:
        """By slot, which values it is made from by plain steps, itself included: a set of bits.

        Slots share bits, so that its size does not grow with the program: a common bit means "perhaps related".
        """
        masks = self._masks
        if masks is None:
            template = self.template
            masks = self._masks = [
                0 if fact is not None else BITS[slot % SIGNATURE] for slot, fact in enumerate(template)
            ]
            for step in self.steps:
                if step.kind == SIMPLE:
                    for out in step.outs:
                        if out >= 0:
                            mask = masks[out]
                            for source in step.ins:
                                behind = masks[source]
                                if behind:
                                    mask |= behind
                            masks[out] = mask
        return masks


def source_of(program: Program, slot: int) -> int:
    """The slot of a value before it was given other names."""
    made = program.defs.get(slot)
    while made is not None and made.rule is SAME:
        slot = made.ins[0]
        made = program.defs.get(slot)
    return slot


def made_by(program: Program, slot: int) -> Step | None:
    """The plain step that makes a value, whatever names it has been given since."""
    made = program.defs.get(source_of(program, slot))
    return made if made is not None and made.kind == SIMPLE else None


@dataclasses.dataclass(slots=True)
class LoopShape:
    """How the inputs of a scan's or while's bodies map to the equation's operands."""

    carries: tuple[int, ...]
    """Which carries matter."""
    length: Any = None
    consts: int = 0
    """How many of the body's inputs come before its carries."""
    cond_consts: int = 0
    """The same for a while's condition."""
    given: tuple[int, ...] = ()
    """By operand of a while before its carries, for the condition and then for the body: which value that is."""
    carry_count: int = 0
    inits: tuple[int, ...] = ()
    """The slots of the carries' first values."""
    search: Any = None
    """What a binary search looks for, where that keeps it from the array's end."""
    also: tuple[int, ...] = ()
    """Slots that its result hangs on besides."""
    kinds: Any = None
    """Types and places of the carries, once somebody looked (`engine/carried.py`)."""
    counted: tuple[int, ...] = ()
    """Which of the body's inputs are the rows of `jnp.arange`: in the order of the rows, how many come before."""
