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
from typing import Any, Final

import jax
import numpy as np

from redzone.access.site import Site
from redzone.domains import Fact
from redzone.engine.inventory import AXIS_INDEX_P, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P, children
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import Literal, bind, open_jaxpr, primitives, scan_counts
from redzone.frontend.contract import promised
from redzone.prove.concrete import wrapped
from redzone.prove.concrete_nan import is_nothing_but_nan, of_nan
from redzone.prove.concrete_random import is_key, keyed
from redzone.prove.masks import Thrown
from redzone.prove.purse import GaveUp, Purse
from redzone.prove.replay_demand import ELEMENTS, FIRST, NONE, STATEFUL, elements_of, number, plain
from redzone.prove.replay_judging import Found, Judging, dims_of
from redzone.prove.replay_plan import Plan
from redzone.prove.rough import roughly
from redzone.prove.shards import Place, along, devices, shard, together
from redzone.stages import recorded

#: What an equation costs more that no function was made for: numpy takes five times as long to look at its arrays.
_MORE: Final = 4
#: What an equation costs that JAX compiles for the first time (`purse.COST`).
_COMPILE: Final = 500
#: A loop with more iterations than this is not run from its beginning where its end can be reached without.
LONG: Final = 24
#: The largest array of a state that is held against another.
FEW: Final = 1024
#: How many devices of a shard_map are run one after the other; of more, the first and the last.
DEVICES: Final = 16

_ADD: Final = primitives()["add_p"]
_SELECT: Final = primitives()["select_n_p"]


class Broken(Exception):
    """The inputs break a promise, or whether they do cannot be told."""


class Replay(Judging):
    """Runs one program toward some of its access sites."""

    def __init__(self, closed: Any, sites: Sequence[Site], purse: Purse, thrown: Thrown | None = None) -> None:
        super().__init__(closed, sites, purse, thrown)
        self.compiled: set[Any] = set()
        self.attempts = 0
        """How many there were."""
        self.spent = 0
        """What the latest one cost."""
        self.rough = False
        """Whether something was only computed about in the latest attempt."""
        self.place: Place = {}
        """Where the device is that runs a shard_map."""

    @recorded("replay")
    def attempt(self, arguments: list[Any]) -> Found:
        """Run the program on these inputs: the offending index and path of each access that leaves."""
        given = self.left = min(self.purse.each, self.purse.left)
        self.spared = 0
        self.attempts += 1
        self.found, self.rough = {}, False
        self.judged = self.unjudged = False
        self.path.clear()
        self.place = {}
        if not self.targets:
            return self.found
        self.of_nan = self.of_nan or any(map(is_nothing_but_nan, arguments))
        # Where nothing may be compiled, JAX need not even start.
        with on_cpu() if self.compiles else contextlib.nullcontext(), np.errstate(all="ignore"):
            try:
                self.run(self.plan(self.jaxpr, self.consts, NONE), self.plainly(arguments))
            except GaveUp:
                if self.assumes:
                    self.found = {}
            except Broken:
                self.found = {}
        self.spent = given - max(self.left, 0) - self.spared
        self.purse.left -= self.spent
        return self.found

    def plainly(self, arguments: list[Any]) -> list[Any]:
        """Inputs as numpy has them, integers as numbers."""
        return [number(plain(a)) for a in arguments]

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
                    # Few have more operands, which a tuple would have to be made for.
                    if len(inputs) == 2:
                        values[places[0]] = single(inputs[0], inputs[1])
                    elif len(inputs) == 1:
                        values[places[0]] = single(inputs[0])
                    elif len(inputs) == 3:
                        values[places[0]] = single(inputs[0], inputs[1], inputs[2])
                    else:
                        values[places[0]] = single(*inputs)
                    continue
            self.left -= _MORE
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

    def step(self, eqn: Any, inputs: list[Any], outs: frozenset[int]) -> list[Any]:
        primitive = eqn.primitive
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
        if primitive in STATEFUL:
            # What a ref holds depends on writes that are not followed here.
            return self.unfollowed(eqn)
        if id(eqn) not in self.targets and self.inside(eqn):
            return self.unfollowed(eqn)
        if primitive is _SELECT and inputs[0] is not None and not np.ndim(inputs[0]):
            # Of the other cases nothing need be known.
            return [inputs[1 + min(max(int(inputs[0]), 0), len(inputs) - 2)]]
        if any(v is None for v in inputs) or any(elements_of(v.aval) > ELEMENTS for v in eqn.outvars):
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
            return [plain(result) for result in bind(eqn, given)]
        except Exception:
            # No kernel for this platform, a foreign call, a callback that refuses, a library's primitive that
            # does not take plain arrays.
            return nothing

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
            self.plan(inner, inner_consts, NONE),
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
        before: list[Any] | None = None
        test = self.plan(*open_jaxpr(p["cond_jaxpr"]), FIRST)
        body = self.plan(*open_jaxpr(p["body_jaxpr"]), wanted)
        while True:
            self.path.append(f"iteration {t}")
            going = self.decides(self.run(test, [*inputs[:nt], *carry])[0])
            if going is None:
                self.path.pop()
                return self.unfollowed(eqn)
            alone = not dims_of(going)
            if not (going if alone else np.any(going)):
                self.path.pop()
                return list(carry)
            new = self.run(body, [*inputs[nt : nt + nb], *carry])
            carry = new if alone else [self.kept(going, a, b) for a, b in zip(new, carry, strict=True)]
            self.path.pop()
            t += 1
            if t >= LONG:
                # A state that comes back comes back for ever; it is held against the last one at a power of two.
                if before is not None and _are_same(before, carry):
                    raise GaveUp
                if not t & (t - 1):
                    before = carry


def _are_same(before: list[Any], after: list[Any]) -> bool:
    """Whether a loop that computes nothing but its carries is where it was."""
    for a, b in zip(before, after, strict=True):
        if a is b:
            continue
        plain = isinstance(a, np.ndarray | np.generic) and isinstance(b, np.ndarray | np.generic)
        if not plain or a.size > FEW or a.dtype != b.dtype or a.tobytes() != b.tobytes():
            return False
    return True


def _is_integer(aval: Any) -> bool:
    return getattr(aval, "dtype", None) is not None and np.dtype(aval.dtype).kind in "iu"


def on_cpu() -> contextlib.AbstractContextManager[Any]:
    try:
        device: contextlib.AbstractContextManager[Any] = jax.default_device(jax.devices("cpu")[0])
        return device
    except RuntimeError:
        return contextlib.nullcontext()
