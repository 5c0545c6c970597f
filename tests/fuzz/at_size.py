"""A program with symbolic sizes at one size of each: the same equations, with numbers in place of names.

redzone does the same to look for witnesses (`prove/sized.py`). This is written apart from it on purpose, and reads the
sizes from how JAX writes them: what that shows is held against this.
"""

from __future__ import annotations

import dataclasses
import functools
import types
from collections.abc import Mapping, Sequence
from typing import Any

from redzone.domains import Fact
from redzone.frontend import compat

_FUNCTIONS = {"mod": lambda a, b: a % b, "floordiv": lambda a, b: a // b, "max": max, "min": min}


#: Sizes are assumed to be below this; nothing is claimed of larger ones.
LARGEST = 2**31


class TooLarge(ArithmeticError):
    """An array of the program would be larger than anything is claimed of."""


def number(value: Any, sizes: Mapping[str, int]) -> Any:
    """A dimension expression as a number, read from how JAX writes it; any other value as it is."""
    if not _is_expression(value):
        return value
    return _evaluated(str(value).replace("^", "**"), sizes)


@functools.lru_cache(maxsize=10_000)
def _code(text: str) -> Any:
    return compile(text, "<sizes>", "eval")


def _evaluated(text: str, sizes: Mapping[str, int]) -> Any:
    return eval(_code(text), {"__builtins__": {}}, {**_FUNCTIONS, **sizes})


def holds(constraints: Sequence[str], sizes: Mapping[str, int]) -> bool:
    """Whether sizes keep constraints as `dims=` takes them."""
    return all(_evaluated(text, sizes) for text in constraints)


def _is_expression(value: Any) -> bool:
    return type(value).__name__ == "_DimExpr"


class AtSize:
    """The equations of a symbolic program at some sizes, and which of the program's own each one is."""

    def __init__(self, closed: Any, sizes: Mapping[str, int]) -> None:
        self.sizes = sizes
        self.origin: dict[int, int] = {}
        """From the identity of an equation here to that of the symbolic one."""
        self._made: dict[int, Any] = {}
        self._kept: list[Any] = []
        self._eqns: dict[int, Any] = {}
        self.closed = self._jaxpr(closed)

    def _jaxpr(self, jaxpr: Any) -> Any:
        known = self._made.get(id(jaxpr))
        if known is not None:
            return known
        opened, _ = compat.open_jaxpr(jaxpr)
        names: dict[Any, Any] = {}

        def var(atom: Any) -> Any:
            if isinstance(atom, compat.Literal) or not hasattr(atom.aval, "shape"):
                return atom
            if atom not in names:
                shape = tuple(number(n, self.sizes) for n in atom.aval.shape)
                if any(n >= LARGEST for n in shape):
                    raise TooLarge
                # A variable that is dropped has a type of its own, and no one reads it.
                names[atom] = atom if shape == atom.aval.shape else compat.Var(atom.aval.update(shape=shape))
            return names[atom]

        def all_of(atoms: Sequence[Any]) -> list[Any]:
            return [var(a) for a in atoms]

        ins, consts = all_of(opened.invars), all_of(opened.constvars)
        eqns = []
        for eqn in opened.eqns:
            params = {k: self._param(v) for k, v in eqn.params.items()}
            new = eqn.replace(invars=all_of(eqn.invars), outvars=all_of(eqn.outvars), params=params)
            self.origin[id(new)] = id(eqn)
            self._eqns[id(new)] = new
            eqns.append(new)
        parts = {"invars": ins, "constvars": consts, "outvars": all_of(opened.outvars), "eqns": eqns}
        made = opened.replace(**parts, debug_info=opened.debug_info.with_unknown_names())
        if jaxpr is not opened:
            made = jaxpr.replace(jaxpr=made)
        self._kept.append(jaxpr)
        self._made[id(jaxpr)] = made
        return made

    def _param(self, value: Any) -> Any:
        if hasattr(value, "eqns") or (hasattr(value, "jaxpr") and hasattr(value, "consts")):
            return self._jaxpr(value)
        if type(value) in (tuple, list):
            return type(value)(self._param(v) for v in value)
        return number(value, self.sizes)

    def facts(self, symbolic: Mapping[int, Any]) -> dict[int, Any]:
        """What was found out about the symbolic equations, of these."""
        return {
            mine: [self._fact(fact) for fact in symbolic[theirs]]
            for mine, theirs in self.origin.items()
            if theirs in symbolic
        }

    def _fact(self, fact: Any) -> Any:
        if fact is None:
            return None
        lo, hi = number(fact.lo, self.sizes), number(fact.hi, self.sizes)
        return Fact(lo, hi, fact.step, fact.nan)

    def accesses(self, report: Any) -> dict[int, Any]:
        """The accesses of a report about the symbolic program, by the equations here."""
        theirs = {id(a.eqn): a for a in report.accesses}
        return {mine: self._access(theirs[old], self._eqns[mine]) for mine, old in self.origin.items() if old in theirs}

    def _access(self, access: Any, eqn: Any) -> Any:
        bounds = [
            dataclasses.replace(b, lo=number(b.lo, self.sizes), hi=number(b.hi, self.sizes)) for b in access.bounds
        ]
        nothing = types.SimpleNamespace(bytes=None, low=None, high=None)
        return types.SimpleNamespace(
            eqn=eqn,
            verdict=str(access.verdict),
            bounds=bounds,
            pattern=nothing,
            requires=self.conditions(access.requires),
            effect=access.effect,
            primitive=access.primitive,
        )

    def conditions(self, conditions: Sequence[Any]) -> list[Any]:
        return [
            dataclasses.replace(c, min=number(c.min, self.sizes), max=number(c.max, self.sizes)) for c in conditions
        ]
