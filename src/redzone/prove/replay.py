"""Replay: run a program's own equations on concrete inputs and see whether an access leaves its array.

Only what the access depends on is evaluated, but all of that: values, branch conditions, loop
iterations. Control flow around the access is interpreted, so the iteration and branch are known.
"""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from redzone.access.site import Site
from redzone.engine.slice import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.frontend.compat import Literal, inner_jaxprs, open_jaxpr
from redzone.prove.concrete import evaluate

#: The most equations one replay evaluates, and the most elements any array in it may have.
EQUATIONS = 20_000
ELEMENTS = 1 << 22


class GaveUp(Exception):
    """The replay would take too long or needs too much memory."""


class _Left(Exception):
    def __init__(self, index: tuple[int, ...], path: list[str]) -> None:
        super().__init__()
        self.index = index
        self.path = path


class Replay:
    """Runs one program toward one access site."""

    def __init__(self, closed: Any, site: Site) -> None:
        self.jaxpr, self.consts = open_jaxpr(closed)
        self.site = site
        self.target = id(site.eqn)
        self.around = {id(e) for e in site.chain}
        self.plans: dict[int, list[Any]] = {}
        self.left = EQUATIONS
        self.path: list[str] = []
        self.contains: dict[int, bool] = {}

    def leaves(self, arguments: list[Any]) -> tuple[tuple[int, ...], str] | None:
        """The first index tuple outside the array and the path to it, or None if all stay inside."""
        try:
            self.run(self.jaxpr, self.consts, arguments)
        except _Left as left:
            return left.index, " › ".join(left.path)
        return None

    def holds(self, jaxpr: Any) -> bool:
        """Whether the access is somewhere inside a jaxpr."""
        known = self.contains.get(id(jaxpr))
        if known is None:
            known = any(
                id(e) == self.target or any(self.holds(open_jaxpr(j)[0]) for j in inner_jaxprs(e.params))
                for e in jaxpr.eqns
            )
            self.contains[id(jaxpr)] = known
        return known

    def plan(self, jaxpr: Any, outputs: bool) -> list[Any]:
        """The equations that the access (and the results, if wanted) depend on, in order."""
        key = id(jaxpr) * 2 + outputs
        found = self.plans.get(key)
        if found is None:
            wanted = {v for v in jaxpr.outvars if type(v) is not Literal} if outputs else set()
            found = []
            for eqn in reversed(jaxpr.eqns):
                inside = id(eqn) == self.target or any(
                    self.holds(open_jaxpr(j)[0]) for j in inner_jaxprs(eqn.params)
                )
                if inside or any(v in wanted for v in eqn.outvars):
                    found.append(eqn)
                    wanted.update(v for v in eqn.invars if type(v) is not Literal)
            found.reverse()
            self.plans[key] = found
        return found

    def run(self, jaxpr: Any, consts: Any, arguments: list[Any], outputs: bool = False) -> list[Any]:
        values: dict[Any, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        values.update(zip(jaxpr.invars, arguments, strict=True))

        def read(atom: Any) -> Any:
            return np.asarray(atom.val, atom.aval.dtype) if type(atom) is Literal else values[atom]

        for eqn in self.plan(jaxpr, outputs):
            self.left -= 1
            if self.left < 0:
                raise GaveUp("more equations than a replay may take")
            for v in eqn.outvars:
                if _elements(v.aval) > ELEMENTS:
                    raise GaveUp("an array too large to replay")
            inputs = [read(a) for a in eqn.invars]
            if id(eqn) == self.target:
                self.judge(eqn, inputs)
            if id(eqn) == self.target and not any(v in _used(jaxpr) for v in eqn.outvars) and not outputs:
                continue
            results = self.step(eqn, inputs)
            values.update(zip(eqn.outvars, results, strict=False))
        return [read(v) for v in jaxpr.outvars] if outputs else []

    def judge(self, eqn: Any, inputs: list[Any]) -> None:
        """Look at every index tuple of this execution of the access."""
        columns = self.site.columns
        if not columns:
            return
        values = []
        for column in columns:
            array = np.asarray(inputs[column.operand]).astype(object)
            if column.column is not None:
                array = array[..., column.column]
            if column.also is not None:
                array = array + np.asarray(inputs[column.also]).astype(object)
            if column.repeat != 1:
                array = array.sum()
            values.append(np.atleast_1d(array).ravel())
        outside = np.zeros(len(values[0]), bool)
        for column, array in zip(columns, values, strict=True):
            outside |= np.array((array < 0) | (array > column.limit), bool)
        if outside.any():
            k = int(np.flatnonzero(outside)[0])
            raise _Left(tuple(int(array[k]) for array in values), list(self.path))

    def step(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        primitive = eqn.primitive
        if primitive is SHARD_MAP_P and self.holds(open_jaxpr(eqn.params["jaxpr"])[0]):
            raise GaveUp("an access inside shard_map")
        if primitive in CALLS and primitive is not SHARD_MAP_P:
            inner, consts = open_jaxpr(eqn.params[CALLS[primitive]])
            return self.run(inner, consts, inputs, outputs=True)
        interesting = any(self.holds(open_jaxpr(j)[0]) for j in inner_jaxprs(eqn.params)) and id(eqn) != self.target
        if primitive is COND_P and interesting:
            k = min(max(int(np.asarray(inputs[0])), 0), len(eqn.params["branches"]) - 1)
            self.path.append(f"branch {k}")
            inner, consts = open_jaxpr(eqn.params["branches"][k])
            results = self.run(inner, consts, inputs[1:], outputs=True)
            self.path.pop()
            return results
        if primitive is SCAN_P and interesting:
            return self.scan(eqn, inputs)
        if primitive is WHILE_P and interesting:
            return self.loop(eqn, inputs)
        if interesting:
            raise GaveUp(f"an access inside {primitive.name}")
        return evaluate(eqn, inputs)

    def scan(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        p = eqn.params
        inner, inner_consts = open_jaxpr(p["jaxpr"])
        nc, nk, length = p["num_consts"], p["num_carry"], p["length"]
        consts, carry, xs = inputs[:nc], inputs[nc : nc + nk], inputs[nc + nk :]
        rows: list[Any] = [None] * length
        order = range(length - 1, -1, -1) if p["reverse"] else range(length)
        for t in order:
            self.path.append(f"iteration {t}")
            results = self.run(inner, inner_consts, [*consts, *carry, *(x[t] for x in xs)], outputs=True)
            self.path.pop()
            carry, rows[t] = results[:nk], results[nk:]
        stacked = [
            np.stack([np.asarray(r[i]) for r in rows]) if length else np.zeros(v.aval.shape, v.aval.dtype)
            for i, v in enumerate(eqn.outvars[nk:])
        ]
        return [*carry, *stacked]

    def loop(self, eqn: Any, inputs: list[Any]) -> list[Any]:
        p = eqn.params
        test, test_consts = open_jaxpr(p["cond_jaxpr"])
        body, body_consts = open_jaxpr(p["body_jaxpr"])
        nt, nb = p["cond_nconsts"], p["body_nconsts"]
        carry, t = inputs[nt + nb :], 0
        while True:
            self.path.append(f"iteration {t}")
            going = bool(np.asarray(self.run(test, test_consts, [*inputs[:nt], *carry], outputs=True)[0]))
            if going:
                carry = self.run(body, body_consts, [*inputs[nt : nt + nb], *carry], outputs=True)
            self.path.pop()
            if not going:
                return list(carry)
            t += 1


def _used(jaxpr: Any) -> set[Any]:
    return {a for e in jaxpr.eqns for a in e.invars if type(a) is not Literal}


def _elements(aval: Any) -> int:
    n = 1
    for d in getattr(aval, "shape", ()):
        if type(d) is not int:
            raise GaveUp("a symbolic size")
        n *= d
    return n


def replay(closed: Any, site: Site, arguments: list[Any]) -> tuple[tuple[int, ...], str] | None:
    """Run the program on these inputs; the offending index and path if the access leaves its array."""
    with jax.default_device(jax.devices("cpu")[0]) if _has_cpu() else _Nothing():
        return Replay(closed, site).leaves(arguments)


def _has_cpu() -> bool:
    try:
        return bool(jax.devices("cpu"))
    except RuntimeError:
        return False


class _Nothing:
    def __enter__(self) -> None:
        return None

    def __exit__(self, *_: object) -> None:
        return None
