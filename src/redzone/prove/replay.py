"""Replay: run a program's own equations on concrete inputs and see which accesses leave their arrays.

Only what the accesses depend on is evaluated, but all of that: values, branch conditions, loop
iterations. Control flow around them is interpreted, so the iteration and branch are known. A value
that cannot be had within the budget is unknown (None), and so is all that is made from it; an access
at an unknown index is not judged. A run that breaks a promise of `redzone.assume`, or of which that cannot be
told, shows nothing.
"""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from redzone.access.site import Column, Site
from redzone.access.xla import ACCESSES
from redzone.domains import Fact, dtype_info
from redzone.engine.implementation import expansion, implementation
from redzone.engine.inventory import (
    AXIS_INDEX_P,
    CALLS,
    COND_P,
    HIGH_P,
    PLAIN,
    SCAN_P,
    SHARD_MAP_P,
    WHILE_P,
    children,
)
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import Literal, bind, open_jaxpr, primitives, scan_counts
from redzone.frontend.contract import promised
from redzone.prove.concrete import exact_functions, wrapped
from redzone.prove.concrete_nan import is_nothing_but_nan, of_nan, passes_nan
from redzone.prove.concrete_random import is_key, keyed, words
from redzone.prove.masks import Thrown
from redzone.prove.replay_plan import Demand, Kept, Plan, Slots
from redzone.prove.rough import roughly
from redzone.prove.shards import Place, along, devices, shard, together
from redzone.rules import RULES
from redzone.stages import recorded

#: What one replay may cost: an equation evaluated here counts 1, one compiled by JAX for the first time 500.
COST = 8_000
_COMPILE = 500
ELEMENTS = 1 << 22
#: A loop with more iterations than this is not run from its beginning where its end can be reached without.
LONG = 24
#: How many devices of a shard_map are run one after the other; of more, the first and the last.
DEVICES = 16


_ADD, _SELECT = primitives()["add_p"], primitives()["select_n_p"]
_ACCESS, _PROMISE = 1, 2
_NONE, _FIRST = frozenset[int](), frozenset({0})
#: Equations whose result is their operand.
_SAME = frozenset(primitives()[name] for name in ("copy_p", "stop_gradient_p") if name in primitives())
_STATEFUL = frozenset(
    primitives()[name]
    for name in ("get_p", "swap_p", "addupdate_p", "new_ref_p", "ref_p", "empty_ref_p", "freeze_p", "run_state_p")
    if name in primitives()
)


#: Equations with a way of their own through them, or none.
_FOLLOWED = frozenset((COND_P, SCAN_P, WHILE_P, SHARD_MAP_P, assume_p, *ACCESSES)) | _STATEFUL


class GaveUp(Exception):
    """The replay has cost what it may, or has found all it can."""


class Broken(Exception):
    """The inputs break a promise, or whether they do cannot be told."""


class Purse:
    """What all replays of one check may cost together."""

    def __init__(self, cost: int = COST, compiles: bool = True, each: int = COST) -> None:
        self.left = cost
        self.each = each
        """What a single one may cost."""
        self.compiles = compiles
        """Whether what numpy cannot evaluate may be compiled."""
        self.silence: int | None = None
        """How much more a replay that has found something may cost before it finds something else."""
        self.first: tuple[int, ...] = ()
        """The iterations of long loops to look at first."""
        self.sure: Purse | None = None
        """Where given, floats are computed roughly at first, and what is found is shown again out of that purse."""


Found = dict[int, tuple[tuple[int, ...], str]]


class Replay:
    """Runs one program toward some of its access sites."""

    def __init__(self, closed: Any, sites: Sequence[Site], purse: Purse, thrown: Thrown | None = None) -> None:
        self.jaxpr, self.consts = open_jaxpr(closed)
        self.targets = {id(site.eqn): site for site in sites}
        self.thrown = {key: thrown[key] for key in self.targets if key in thrown} if thrown else {}
        """The accesses that are judged with what decides whether their results are seen, at the end of their jaxpr."""
        self.found: Found = {}
        """By identity of the equation: the first index tuple outside the array and the path to it."""
        self.demands: dict[Any, Demand] = {}
        self.plans: dict[Any, Plan] = {}
        self.carries: dict[Any, frozenset[int]] = {}
        self.ways: dict[int, tuple[Site | None, Any, Any, Any]] = {}
        self.spends(purse)
        self.left = 0
        self.spared = 0
        """What an attempt ended early has left of what it was given."""
        self.compiled: set[Any] = set()
        self.rough = False
        """Whether something was only computed about in the latest attempt."""
        self.judged = self.unjudged = False
        """Whether an index was known where an access was met in the latest attempt; whether one was not."""
        self.of_nan = False
        """Whether the program was run on nothing but NaN."""
        self.path: list[str] = []
        self.place: Place = {}
        """Where the device is that runs a shard_map."""
        self.marked: dict[int, int] = {}
        self.assumes = self.promises(self.jaxpr)
        """Whether anything is promised anywhere: then a run counts only when it is over."""

    def spends(self, purse: Purse) -> None:
        """Pay for what follows out of this purse."""
        self.purse = purse
        self.compiles = purse.compiles

    @recorded("replay")
    def attempt(self, arguments: list[Any]) -> Found:
        """Run the program on these inputs: the offending index and path of each access that leaves."""
        given = self.left = min(self.purse.each, self.purse.left)
        self.spared = 0
        self.found, self.rough = {}, False
        self.judged = self.unjudged = False
        self.path.clear()
        self.place = {}
        if not self.targets:
            return self.found
        self.of_nan = self.of_nan or any(map(is_nothing_but_nan, arguments))
        # Where nothing may be compiled, JAX need not even start.
        with _on_cpu() if self.compiles else contextlib.nullcontext(), np.errstate(all="ignore"):
            try:
                self.run(self.plan(self.jaxpr, self.consts, _NONE), self.plainly(arguments))
            except GaveUp:
                if self.assumes:
                    self.found = {}
            except Broken:
                self.found = {}
        self.purse.left -= given - max(self.left, 0) - self.spared
        return self.found

    def plainly(self, arguments: list[Any]) -> list[Any]:
        """Inputs as numpy has them."""
        return [_plain(a) for a in arguments]

    def needed(self) -> frozenset[int]:
        """The inputs that the accesses depend on, by their place."""
        return self.demand(self.jaxpr, _NONE).inputs

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
                    mine = _FIRST if outvars[0] in wanted else _NONE
                else:
                    mine = frozenset(i for i, v in enumerate(outvars) if v in wanted)
                if not mine and not self.inside(eqn):
                    continue
                called = self.called(eqn)
                if called is None:
                    kept.append((eqn, mine, None, None))
                    wanted.update(v for v in self.operands(eqn, mine) if type(v) is not Literal)
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
            scope[v] = slots.constant(_plain(const))
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
                results = [slots.constant(None) for _ in eqn.outvars]
                scope.update(zip(eqn.outvars, results, strict=True))
                slots.steps.append((eqn, mine, operands, results, *self.way(eqn)))
        for key, uses in self.thrown.items():
            site = self.targets[key]
            if site.home is jaxpr:
                looked = [*site.eqn.invars, *(condition for ways in uses for condition, _ in ways)]
                slots.steps.append((site.eqn, _NONE, [slots.of(v, scope) for v in looked], [], site, None, None, None))

    def way(self, eqn: Any) -> tuple[Site | None, Any, Any, Any]:
        """Of an equation: the access it is, if it is asked about; numpy's way to evaluate it; what it yields of NaN.

        Where nothing but its operands matters, a function made for it alone comes first.
        """
        found = self.ways.get(id(eqn))
        if found is None:
            plain = eqn.primitive is not assume_p and all(_elements(v.aval) <= ELEMENTS for v in eqn.outvars)
            single, function = exact_functions(eqn) if plain else (None, None)
            # numpy knows of NaN itself; where all begins with it, it need not even be asked.
            missing = passes_nan(eqn) if plain and (function is None or self.of_nan) else None
            site = self.targets.get(id(eqn)) if id(eqn) not in self.thrown else None
            found = self.ways[id(eqn)] = (site, single if site is None and missing is None else None, function, missing)
        return found

    def called(self, eqn: Any) -> tuple[Any, Any] | None:
        """The jaxpr and constants that an equation does nothing but run."""
        if eqn.primitive in CALLS and eqn.primitive is not SHARD_MAP_P:
            return open_jaxpr(eqn.params[CALLS[eqn.primitive]])
        return expansion(eqn) if eqn.primitive is HIGH_P else self.written(eqn)

    def operands(self, eqn: Any, outs: frozenset[int]) -> list[Any]:
        """The operands an equation needs to yield these results and reach the access."""
        site = self.targets.get(id(eqn))
        if site is not None and not outs:
            positions = {c.operand for c in site.columns} | {c.also for c in site.columns if c.also is not None}
            return [eqn.invars[i] for i in sorted(positions)]
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
            condition = self.demand(open_jaxpr(eqn.params["cond_jaxpr"])[0], _FIRST).inputs
            test = frozenset(i - nt for i in condition if i >= nt)
        outs = outs | test
        while True:
            needed = self.demand(body, outs).inputs
            more = outs | {i - first for i in needed if first <= i < first + count}
            if more == outs:
                self.carries[key] = outs
                return outs
            outs = more

    def run(self, plan: Plan, arguments: list[Any]) -> list[Any]:
        """The wanted results; None in the places of the others."""
        values = plan.values.copy()
        values[: len(arguments)] = arguments
        for eqn, mine, operands, places, site, single, function, missing in plan.steps:
            self.left -= 1
            if self.left < 0:
                raise GaveUp
            inputs = [values[k] for k in operands]
            if single is not None:
                for value in inputs:
                    if value is None:
                        break
                else:
                    values[places[0]] = single(*inputs)
                    continue
            if site is not None:
                self.judge(site, inputs)
                if not mine:
                    continue
            results = of_nan(missing, inputs, function is None) if missing is not None else None
            if results is None and function is not None:
                for value in inputs:
                    if value is None:
                        break
                else:
                    results = function(inputs)
            if results is None:
                results = self.step(eqn, inputs, mine)
            for k, result in zip(places, results, strict=False):
                values[k] = result
        return [values[k] for k in plan.results]

    def judge(self, site: Site, inputs: list[Any]) -> None:
        """Look at every index tuple of this execution of an access."""
        columns = site.columns
        if not columns or id(site.eqn) in self.found:
            return
        seen = self.seen(site, inputs)
        if seen is None:
            self.unjudged = True
            return
        index = _numbers(columns, inputs)
        if index is not None:
            self.judged = True
            leaves = any(n < 0 or n > column.limit for n, column in zip(index, columns, strict=True))
            if leaves and np.any(seen):
                self.leave(site, index)
            return
        values = []
        for column in columns:
            array = _whole_numbers(inputs[column.operand])
            more = None if column.also is None else _whole_numbers(inputs[column.also])
            if array is None or (more is None and column.also is not None):
                self.unjudged = True
                return
            if column.column is not None:
                array = array[..., column.column]
            if more is not None:
                array = array + more
            values.append(array.sum() if column.repeat != 1 else array)
        self.judged = True
        if all(np.size(array) == 1 for array in values):
            index = tuple(int(np.asarray(array).flat[0]) for array in values)
            leaves = any(n < 0 or n > column.limit for n, column in zip(index, columns, strict=True))
            leaves = leaves and bool(np.any(seen))
        else:
            values = list(np.broadcast_arrays(*(np.atleast_1d(array).ravel() for array in values)))
            outside = np.zeros(len(values[0]), bool)
            for column, array in zip(columns, values, strict=True):
                outside |= np.array((array < 0) | (array > column.limit), bool)
            if np.size(seen) in (1, len(outside)):
                outside &= seen
            leaves = bool(outside.any())
            index = tuple(int(array[int(np.argmax(outside))]) for array in values) if leaves else ()
        if leaves:
            self.leave(site, index)

    def seen(self, site: Site, inputs: list[Any]) -> Any:
        """Whether anybody sees what an access reads or writes, for each index tuple or all; None where nobody knows."""
        uses = self.thrown.get(id(site.eqn))
        if uses is None:
            return True
        given = iter(inputs[len(site.eqn.invars) :])
        found: Any = False
        for ways in uses:
            picked: Any = True
            for _, (least, most) in ways:
                condition = next(given)
                if condition is None:
                    return None
                condition = np.asarray(condition).ravel()
                picked = picked & (condition >= least) & (condition <= most)
            found = found | picked
        return found

    def leave(self, site: Site, index: tuple[int, ...]) -> None:
        """Note that an access leaves its array here."""
        self.found[id(site.eqn)] = (index, " › ".join(self.path))
        if len(self.found) == len(self.targets) and not self.assumes:
            raise GaveUp
        if self.purse.silence is not None:
            # What is not spent stays in the purse.
            self.spared += max(self.left - self.purse.silence, 0)
            self.left = min(self.left, self.purse.silence)

    def step(self, eqn: Any, inputs: list[Any], outs: frozenset[int]) -> list[Any]:
        primitive = eqn.primitive
        inside = self.inside(eqn) and id(eqn) not in self.targets
        nothing = [None] * len(eqn.outvars)
        if primitive is assume_p:
            self.keep(eqn, inputs)
            return inputs[:1]
        if primitive is COND_P:
            return self.unfollowed(eqn) if inputs[0] is None else self.branch(eqn, inputs, outs)
        if primitive is SCAN_P:
            return self.scan(eqn, inputs, outs)
        if primitive is WHILE_P:
            return self.loop(eqn, inputs, outs)
        if primitive is SHARD_MAP_P:
            return self.shards(eqn, inputs, outs)
        if primitive is AXIS_INDEX_P:
            at = along(eqn.params["axis_name"], self.place)
            return [None if at is None else np.asarray(at[0], eqn.outvars[0].aval.dtype)]
        if primitive in _STATEFUL:
            # What a ref holds depends on writes that are not followed here.
            return self.unfollowed(eqn)
        if inside:
            return self.unfollowed(eqn)
        if primitive is _SELECT and inputs[0] is not None and not np.ndim(inputs[0]):
            # Of the other cases nothing need be known.
            return [inputs[1 + min(max(int(inputs[0]), 0), len(inputs) - 2)]]
        if any(v is None for v in inputs) or any(_elements(v.aval) > ELEMENTS for v in eqn.outvars):
            return nothing
        if self.purse.sure is not None:
            results = roughly(eqn, inputs)
            self.rough = self.rough or results is not None
            return nothing if results is None else results
        kind = (primitive, tuple(str(v.aval) for v in eqn.invars))
        cost = 10 if kind in self.compiled else _COMPILE
        if not self.compiles or cost > self.left:
            return nothing
        self.left -= cost
        self.compiled.add(kind)
        try:
            given = [keyed(x, v.aval) if is_key(v.aval) else x for x, v in zip(inputs, eqn.invars, strict=True)]
            return [_plain(result) for result in bind(eqn, given)]
        except Exception:
            # No kernel for this platform, a foreign call, a callback that refuses, a library's primitive that
            # does not take plain arrays.
            return nothing

    def written(self, eqn: Any) -> tuple[Any, Any] | None:
        """The implementation of a library's primitive."""
        if eqn.primitive in PLAIN or eqn.primitive in RULES or eqn.primitive in _FOLLOWED:
            return None
        return implementation(eqn)

    def keep(self, eqn: Any, inputs: list[Any]) -> None:
        """Go on only where a promise is known to be kept."""
        value, *conditions = inputs
        p = eqn.params
        if any(c is None or not np.all(np.asarray(c)) for c in conditions):
            raise Broken
        if p["min"] is not None or p["max"] is not None or p["finite"]:
            fact: Fact = promised(eqn.invars[0].aval, p["min"], p["max"], p["finite"])
            if value is None or not fact.contains(value):
                raise Broken

    def unfollowed(self, eqn: Any) -> list[Any]:
        """An equation whose inside cannot be run here: nor can a promise in it be seen to hold."""
        if any(self.promises(j) for j in children(eqn)):
            raise Broken
        return [None] * len(eqn.outvars)

    def decides(self, value: Any) -> Any:
        """What a branch or a loop goes by."""
        return value

    def shards(self, eqn: Any, inputs: list[Any], outs: frozenset[int]) -> list[Any]:
        """A shard_map: its equations on what each device has, one after the other.

        What devices send each other is not known. Of many only the first and the last are run, which shows nothing of
        promises and makes no whole arrays.
        """
        p = eqn.params
        inner, consts = open_jaxpr(p["jaxpr"])
        places = devices(dict(p["mesh"].shape), DEVICES)
        if len(places) < p["mesh"].size and self.promises(inner):
            return self.unfollowed(eqn)
        around, results = self.place, []
        plan = self.plan(inner, consts, outs)
        for place in places:
            self.place = around | place
            self.path.append("device " + ", ".join(f"{axis}={k}" for axis, (k, _) in place.items()))
            given = [self.shard(x, spec, place) for x, spec in zip(inputs, p["in_specs"], strict=True)]
            results.append(self.run(plan, given))
            self.path.pop()
        self.place = around
        if len(places) < p["mesh"].size:
            return [None] * len(eqn.outvars)
        specs = zip(eqn.outvars, p["out_specs"], strict=True)
        return [self.together([r[i] for r in results], spec, places, v.aval) for i, (v, spec) in enumerate(specs)]

    def shard(self, value: Any, spec: Any, place: Place) -> Any:
        return shard(value, spec, place)

    def together(self, shards: list[Any], spec: Any, places: list[Place], aval: Any) -> Any:
        return together(shards, spec, places, aval)

    def row(self, value: Any, t: int) -> Any:
        return None if value is None else value[t]

    def stacked(self, rows: list[Any], aval: Any) -> Any:
        """What a scan's iterations yield, put together."""
        if any(r is None for r in rows):
            return None
        return np.stack([np.asarray(r) for r in rows]) if rows else np.zeros(aval.shape, aval.dtype)

    def kept(self, holds: np.ndarray, new: Any, old: Any) -> Any:
        """A carry of a batched loop: lanes whose condition fails keep what they have."""
        if new is None or old is None:
            return None
        return np.where(holds.reshape(holds.shape + (1,) * (np.ndim(new) - holds.ndim)), new, old)

    def branch(self, eqn: Any, inputs: list[Any], outs: frozenset[int]) -> list[Any]:
        k = min(max(int(np.asarray(self.decides(inputs[0]))), 0), len(eqn.params["branches"]) - 1)
        inner, consts = open_jaxpr(eqn.params["branches"][k])
        self.path.append(f"branch {k}")
        results = self.run(self.plan(inner, consts, outs), inputs[1:])
        self.path.pop()
        return results

    def scan(self, eqn: Any, inputs: list[Any], outs: frozenset[int]) -> list[Any]:
        p = eqn.params
        inner, inner_consts = open_jaxpr(p["jaxpr"])
        (nc, nk), length = scan_counts(p), p["length"]
        consts, carry, xs = inputs[:nc], inputs[nc : nc + nk], inputs[nc + nk :]
        rows: list[Any] = [None] * length
        wanted = self.carried(eqn, outs)
        if length > LONG and not outs and not self.assumes:
            steps = self.counters(inner, nc, nk, wanted)
            if steps is not None and all(carry[i] is not None for i in wanted):
                return self.ends_first(eqn, inputs, steps)
        order = range(length - 1, -1, -1) if p["reverse"] else range(length)
        plan = self.plan(inner, inner_consts, wanted)
        for t in order:
            self.path.append(f"iteration {t}")
            results = self.run(plan, [*consts, *carry, *[self.row(x, t) for x in xs]])
            self.path.pop()
            carry, rows[t] = results[:nk], results[nk:]
        return [*carry, *(self.stacked([r[i] for r in rows], v.aval) for i, v in enumerate(eqn.outvars[nk:]))]

    def counters(self, body: Any, first: int, count: int, wanted: frozenset[int]) -> dict[int, int] | None:
        """By carry, how much an iteration adds to it; None where one that matters is anything but a plain counter."""
        makers = {v: e for e in body.eqns for v in e.outvars}
        found = {}
        for i in wanted:
            if i >= count:
                return None
            carry, result = body.invars[first + i], body.outvars[i]
            made = makers.get(result) if type(result) is not Literal else None
            if result is carry:
                found[i] = 0
                continue
            if made is None or made.primitive is not _ADD or carry.aval.shape or not _is_integer(carry.aval):
                return None
            a, b = made.invars
            step = b if a is carry else a
            if (a is not carry and b is not carry) or type(step) is not Literal:
                return None
            found[i] = int(step.val)
        return found

    def ends_first(self, eqn: Any, inputs: list[Any], steps: dict[int, int]) -> list[Any]:
        """A long loop of which only counters matter, and nothing afterwards: the ends first, in whatever order."""
        p = eqn.params
        inner, inner_consts = open_jaxpr(p["jaxpr"])
        (nc, nk), length = scan_counts(p), p["length"]
        consts, start, xs = inputs[:nc], inputs[nc : nc + nk], inputs[nc + nk :]
        ends, plan = (
            (*(k for k in self.purse.first if 0 <= k < length), length - 1),
            self.plan(inner, inner_consts, _NONE),
        )
        for k in dict.fromkeys((*ends, *range(length))):
            t = length - 1 - k if p["reverse"] else k
            carry: list[Any] = [None] * nk
            for i, step in steps.items():
                dtype = inner.invars[nc + i].aval.dtype
                carry[i] = start[i] if not step else wrapped(np.asarray(int(start[i]) + k * step, object), dtype)
            self.path.append(f"iteration {t}")
            self.run(plan, [*consts, *carry, *[self.row(x, t) for x in xs]])
            self.path.pop()
        return [None] * len(eqn.outvars)

    def loop(self, eqn: Any, inputs: list[Any], outs: frozenset[int]) -> list[Any]:
        p = eqn.params
        nt, nb = p["cond_nconsts"], p["body_nconsts"]
        carry, t, wanted = inputs[nt + nb :], 0, self.carried(eqn, outs)
        test = self.plan(*open_jaxpr(p["cond_jaxpr"]), _FIRST)
        body = self.plan(*open_jaxpr(p["body_jaxpr"]), wanted)
        while True:
            self.path.append(f"iteration {t}")
            going = self.decides(self.run(test, [*inputs[:nt], *carry])[0])
            if going is None:
                self.path.pop()
                return self.unfollowed(eqn)
            if not np.any(going):
                self.path.pop()
                return list(carry)
            new = self.run(body, [*inputs[nt : nt + nb], *carry])
            carry = new if not np.ndim(going) else [self.kept(going, a, b) for a, b in zip(new, carry, strict=True)]
            self.path.pop()
            t += 1


def _is_integer(aval: Any) -> bool:
    return getattr(aval, "dtype", None) is not None and np.dtype(aval.dtype).kind in "iu"


def _numbers(columns: Sequence[Column], inputs: list[Any]) -> tuple[int, ...] | None:
    """The only index tuple of an access, where all its numbers are just given; None else."""
    found: list[int] = []
    for column in columns:
        value = inputs[column.operand]
        if value is None or column.also is not None or column.repeat != 1:
            return None
        if column.column is not None:
            if np.ndim(value) != 1:
                return None
            value = value[column.column]
        elif np.ndim(value):
            return None
        found.append(int(value))
    return tuple(found)


def _whole_numbers(value: Any) -> Any:
    """Indices as numbers that neither wrap nor round when two are added."""
    if value is None:
        return None
    value = np.asarray(value)
    return value.astype(np.int64 if value.dtype.itemsize <= 4 else object)


def _plain(value: Any) -> Any:
    """A value as numpy has it, where numpy can have it; a random key as its words."""
    if isinstance(value, np.ndarray | np.generic):
        return value
    if is_key(value):
        return words(value)
    return value if dtype_info(getattr(value, "dtype", None)).kind == "x" else np.asarray(value)


def _elements(aval: Any) -> int:
    n = 1
    for d in getattr(aval, "shape", ()):
        if type(d) is not int:
            return ELEMENTS + 1
        n *= d
    return n


def _on_cpu() -> contextlib.AbstractContextManager[Any]:
    try:
        device: contextlib.AbstractContextManager[Any] = jax.default_device(jax.devices("cpu")[0])
        return device
    except RuntimeError:
        return contextlib.nullcontext()
