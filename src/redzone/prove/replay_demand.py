"""What of a program a replay has to evaluate to reach some of its accesses, planned once for each of its jaxprs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.access.xla import ACCESSES
from redzone.domains import dtype_info
from redzone.engine.implementation import expansion, implementation
from redzone.engine.inventory import CALLS, COND_P, HIGH_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P, children
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import Literal, open_jaxpr, primitives, scan_counts
from redzone.prove.concrete import exact_functions, listing
from redzone.prove.concrete_nan import passes_nan
from redzone.prove.concrete_random import is_key, words
from redzone.prove.masks import Thrown
from redzone.prove.replay_plan import Demand, Kept, Plan, Slots
from redzone.rules import RULES

#: The largest array that is evaluated.
ELEMENTS: Final = 1 << 22

_ACCESS: Final = 1
_PROMISE: Final = 2
NONE: Final = frozenset[int]()
FIRST: Final = frozenset({0})
#: Equations whose result is their operand.
_SAME: Final = frozenset(primitives()[name] for name in ("copy_p", "stop_gradient_p") if name in primitives())
STATEFUL: Final = frozenset(
    primitives()[name]
    for name in ("get_p", "swap_p", "addupdate_p", "new_ref_p", "ref_p", "empty_ref_p", "freeze_p", "run_state_p")
    if name in primitives()
)
#: Equations with a way of their own through them, or none.
_FOLLOWED: Final = frozenset((COND_P, SCAN_P, WHILE_P, SHARD_MAP_P, assume_p, *ACCESSES)) | STATEFUL


class Planning:
    """Which equations some accesses of a program depend on, and the order in which they are evaluated."""

    def __init__(self, closed: Any, sites: Sequence[Site], thrown: Thrown | None = None) -> None:
        self.jaxpr, self.consts = open_jaxpr(closed)
        self.targets = {id(site.eqn): site for site in sites}
        self.thrown = {key: thrown[key] for key in self.targets if key in thrown} if thrown else {}
        """The accesses that are judged with what decides whether their results are seen, at the end of their jaxpr."""
        self.demands: dict[Any, Demand] = {}
        self.plans: dict[Any, Plan] = {}
        self.adds_products: dict[Any, bool] = {}
        """By plan: whether a product goes into a sum in it, where somebody asked."""
        self.carries: dict[Any, frozenset[int]] = {}
        self.closed: dict[int, list[tuple[frozenset[int], frozenset[int]]]] = {}
        """By identity of a loop's equation: results that were asked for, and what they take of its carries."""
        self.ways: dict[int, tuple[Site | None, Any, Any, Any]] = {}
        self.of_nan = False
        """Whether the program was run on nothing but NaN."""
        self.marked: dict[int, int] = {}
        self.assumes = self.promises(self.jaxpr)
        """Whether anything is promised anywhere: then a run counts only when it is over."""

    def needed(self) -> frozenset[int]:
        """The inputs that the accesses depend on, by their place."""
        return self.demand(self.jaxpr, NONE).inputs

    def marks(self, jaxpr: Any) -> int:
        """What is somewhere inside a jaxpr: an access that is asked about, a promise, both or neither."""
        known = self.marked.get(id(jaxpr))
        if known is None:
            known = 0
            for e in jaxpr.eqns:
                if e.primitive not in PLAIN:
                    if id(e) in self.targets:
                        known |= _ACCESS
                    if e.primitive is assume_p:
                        known |= _PROMISE
                    for inner in children(e):
                        known |= self.marks(inner)
            self.marked[id(jaxpr)] = known
        return known

    def inside(self, eqn: Any) -> bool:
        """Whether the access, or a promise, is this equation or somewhere inside it."""
        if eqn.primitive in PLAIN:
            return False
        return id(eqn) in self.targets or eqn.primitive is assume_p or any(self.marks(j) for j in children(eqn))

    def promises(self, jaxpr: Any) -> bool:
        """Whether anything is promised in a jaxpr."""
        return bool(self.marks(jaxpr) & _PROMISE)

    def demand(self, jaxpr: Any, outs: frozenset[int]) -> Demand:
        """What of a jaxpr the access and the wanted results depend on."""
        key = (id(jaxpr), outs)
        found = self.demands.get(key)
        if found is None:
            wanted = {jaxpr.outvars[i] for i in outs if type(jaxpr.outvars[i]) is not Literal}
            for target, uses in self.thrown.items():
                if self.targets[target].home is jaxpr:
                    wanted.update(condition for ways in uses for condition, _ in ways)
            kept: list[Kept] = []
            for eqn in reversed(jaxpr.eqns):
                outvars = eqn.outvars
                if len(outvars) == 1:
                    mine = FIRST if outvars[0] in wanted else NONE
                else:
                    mine = frozenset([i for i, v in enumerate(outvars) if v in wanted])
                if eqn.primitive in PLAIN:
                    if mine or (eqn.effects and self.inside(eqn)):
                        kept.append((eqn, mine, None, None))
                        for v in eqn.invars:
                            if type(v) is not Literal:
                                wanted.add(v)
                    continue
                if not mine and not self.inside(eqn):
                    continue
                called = self.called(eqn)
                if called is None:
                    kept.append((eqn, mine, None, None))
                    for v in self.operands(eqn, mine):
                        if type(v) is not Literal:
                            wanted.add(v)
                    continue
                inner = self.demand(called[0], mine)
                kept.append((eqn, mine, called, inner))
                wanted.update(v for i in inner.inputs if type(v := eqn.invars[i]) is not Literal)
            kept.reverse()
            inputs = frozenset(i for i, v in enumerate(jaxpr.invars) if v in wanted)
            found = self.demands[key] = Demand(kept, inputs, jaxpr)
        return found

    def plan(self, jaxpr: Any, consts: Any, outs: frozenset[int]) -> Plan:
        """The equations that the access and the wanted results depend on, in order, calls taken apart."""
        key = (id(jaxpr), outs, *map(id, consts))
        found = self.plans.get(key)
        if found is None:
            slots = Slots(len(jaxpr.invars))
            scope = dict(zip(jaxpr.invars, range(len(jaxpr.invars)), strict=True))
            self.link(self.demand(jaxpr, outs), jaxpr, consts, scope, slots)
            results = [slots.of(v, scope) if i in outs else slots.nothing for i, v in enumerate(jaxpr.outvars)]
            found = self.plans[key] = Plan(slots.steps, slots.values, results, (jaxpr, consts))
        return found

    def link(self, demand: Demand, jaxpr: Any, consts: Any, scope: dict[Any, int], slots: Slots) -> None:
        """Give the values of a jaxpr their places; what a call is given and yields keeps the place it has outside."""
        for v, const in zip(jaxpr.constvars, consts, strict=True):
            scope[v] = slots.constant(plain(const))
        for eqn, mine, called, inner in demand.kept:
            if called is not None and inner is not None:
                body = called[0]
                within = {body.invars[i]: slots.of(eqn.invars[i], scope) for i in inner.inputs}
                self.link(inner, body, called[1], within, slots)
                for i in mine:
                    if i < len(body.outvars):
                        scope[eqn.outvars[i]] = slots.of(body.outvars[i], within)
            elif eqn.primitive in _SAME:
                scope[eqn.outvars[0]] = slots.of(eqn.invars[0], scope)
            elif mine or id(eqn) not in self.thrown:
                operands = [slots.of(v, scope) for v in eqn.invars]
                results: list[int] = []
                for v in eqn.outvars:
                    scope[v] = slots.constant(None)
                    results.append(scope[v])
                site, single, function, missing = self.way(eqn)
                slots.steps.append((eqn, mine, operands, results, site, single, function, missing))
        for key, uses in self.thrown.items():
            site = self.targets[key]
            if site.home is jaxpr:
                looked = [*site.eqn.invars, *(condition for ways in uses for condition, _ in ways)]
                slots.steps.append((site.eqn, NONE, [slots.of(v, scope) for v in looked], [], site, None, None, None))

    def way(self, eqn: Any) -> tuple[Site | None, Any, Any, Any]:
        """Of an equation: the access it is, if it is asked about; numpy's way to evaluate it; what it yields of NaN.

        Where nothing but its operands matters, a function made for it alone comes first.
        """
        found = self.ways.get(id(eqn))
        if found is None:
            plain = eqn.primitive is not assume_p and all(elements_of(v.aval) <= ELEMENTS for v in eqn.outvars)
            single, function = exact_functions(eqn) if plain else (None, None)
            # numpy knows of NaN itself; where all begins with it, it need not even be asked.
            unknown = single is None and function is None
            missing = passes_nan(eqn) if plain and (unknown or self.of_nan) else None
            site = self.targets.get(id(eqn)) if id(eqn) not in self.thrown else None
            if single is not None and (site is not None or missing is not None):
                function, single = listing(single), None
            found = self.ways[id(eqn)] = (site, single, function, missing)
        return found

    def called(self, eqn: Any) -> tuple[Any, Any] | None:
        """The jaxpr and constants that an equation does nothing but run."""
        if eqn.primitive in CALLS and eqn.primitive is not SHARD_MAP_P:
            return open_jaxpr(eqn.params[CALLS[eqn.primitive]])
        return expansion(eqn) if eqn.primitive is HIGH_P else self.written(eqn)

    def written(self, eqn: Any) -> tuple[Any, Any] | None:
        """The implementation of a library's primitive."""
        if eqn.primitive in PLAIN or eqn.primitive in RULES or eqn.primitive in _FOLLOWED:
            return None
        return implementation(eqn)

    def operands(self, eqn: Any, outs: frozenset[int]) -> list[Any]:
        """The operands an equation needs to yield these results and reach the access."""
        site = self.targets.get(id(eqn))
        if site is not None and not outs:
            positions = {c.operand for c in site.columns} | {c.also for c in site.columns if c.also is not None}
            return [eqn.invars[i] for i in sorted(positions)]
        if eqn.primitive is COND_P:
            # What goes only into results that nobody wants need not be known, such as what is written.
            branches = [self.demand(open_jaxpr(b)[0], outs).inputs for b in eqn.params["branches"]]
            return [eqn.invars[0], *[eqn.invars[1 + i] for i in sorted(frozenset().union(*branches))]]
        if eqn.primitive is SCAN_P:
            nc, _ = scan_counts(eqn.params)
            carries = self.carried(eqn, outs)
            needed = self.demand(open_jaxpr(eqn.params["jaxpr"])[0], carries).inputs
            kept = needed | {nc + i for i in carries if i < scan_counts(eqn.params)[1]}
            return [eqn.invars[i] for i in sorted(kept)]
        if eqn.primitive is WHILE_P:
            nt, nb = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
            carries = self.carried(eqn, outs)
            body = self.demand(open_jaxpr(eqn.params["body_jaxpr"])[0], carries).inputs
            given = {*range(nt), *(nt + i for i in body if i < nb), *(nt + nb + i for i in carries)}
            return [eqn.invars[i] for i in sorted(given)]
        return list(eqn.invars)

    def carried(self, eqn: Any, outs: frozenset[int]) -> frozenset[int]:
        """The results of a loop's body that matter: the wanted ones and the carries they or the access need."""
        key = (id(eqn), outs)
        known = self.carries.get(key)
        if known is not None:
            return known
        if eqn.primitive is SCAN_P:
            first, count = scan_counts(eqn.params)
            body, test = open_jaxpr(eqn.params["jaxpr"])[0], frozenset[int]()
        else:
            first, count = eqn.params["body_nconsts"], len(eqn.outvars)
            body = open_jaxpr(eqn.params["body_jaxpr"])[0]
            nt = eqn.params["cond_nconsts"]
            condition = self.demand(open_jaxpr(eqn.params["cond_jaxpr"])[0], FIRST).inputs
            test = frozenset(i - nt for i in condition if i >= nt)
        outs = outs | test
        asked = outs
        for fewer, closed in self.closed.get(id(eqn), ()):
            if fewer <= outs:
                # What fewer results take, more take too.
                outs = outs | closed
        while True:
            needed = self.demand(body, outs).inputs
            more = outs | {i - first for i in needed if first <= i < first + count}
            if more == outs:
                self.carries[key] = outs
                self.closed.setdefault(id(eqn), []).append((asked, outs))
                return outs
            outs = more


def plain(value: Any) -> Any:
    """A value as numpy has it, where numpy can have it; a random key as its words."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value
    if is_key(value):
        return words(value)
    return value if dtype_info(getattr(value, "dtype", None)).kind == "x" else np.asarray(value)


def number(value: Any) -> Any:
    """An array of one integer or bool, without dimensions, as that; anything else as it is."""
    if type(value) is np.ndarray and not value.ndim and value.dtype.kind in "iub":
        return value[()]
    return value


def elements_of(aval: Any) -> int:
    """How many elements an array has; too many where nobody knows."""
    n = 1
    for d in getattr(aval, "shape", ()):
        if type(d) is not int:
            return ELEMENTS + 1
        n *= d
    return n
