"""Who makes and who reads each variable of a jaxpr: worked out once for all stages of a check, when one first asks."""

from __future__ import annotations

from typing import Any

from redzone.frontend.compat import Literal

#: An equation that reads a variable, as which operand, and its place among the others.
Reader = tuple[Any, int, int]


class Wiring:
    """What connects the equations of jaxprs; these are kept, so that none is taken for another."""

    def __init__(self) -> None:
        self.makers: dict[int, tuple[Any, dict[Any, tuple[int, Any]]]] = {}
        self.reading: dict[int, tuple[Any, dict[Any, list[Reader]]]] = {}
        self.yielded: dict[int, tuple[Any, dict[Any, int]]] = {}

    def made(self, jaxpr: Any) -> dict[Any, tuple[int, Any]]:
        """By variable: the equation that makes it, after its place among the others."""
        known = self.makers.get(id(jaxpr))
        if known is None:
            table: dict[Any, tuple[int, Any]] = {}
            for place, eqn in enumerate(jaxpr.eqns):
                outvars = eqn.outvars
                if len(outvars) == 1:
                    table[outvars[0]] = (place, eqn)
                else:
                    for v in outvars:
                        table[v] = (place, eqn)
            known = self.makers[id(jaxpr)] = (jaxpr, table)
        return known[1]

    def maker(self, jaxpr: Any, var: Any) -> Any:
        """The equation that makes a variable; None of an input."""
        found = self.made(jaxpr).get(var)
        return None if found is None else found[1]

    def readers(self, jaxpr: Any) -> dict[Any, list[Reader]]:
        """By variable that is read: the equations that do, each time they do."""
        known = self.reading.get(id(jaxpr))
        if known is None:
            table: dict[Any, list[Reader]] = {}
            for place, eqn in enumerate(jaxpr.eqns):
                invars = eqn.invars
                for position in range(len(invars)):
                    atom = invars[position]
                    if type(atom) is not Literal:
                        readers = table.get(atom)
                        if readers is None:
                            table[atom] = [(eqn, position, place)]
                        else:
                            readers.append((eqn, position, place))
            known = self.reading[id(jaxpr)] = (jaxpr, table)
        return known[1]

    def results(self, jaxpr: Any) -> dict[Any, int]:
        """By variable that is a result of a jaxpr: how many of them it is."""
        known = self.yielded.get(id(jaxpr))
        if known is None:
            table: dict[Any, int] = {}
            for atom in jaxpr.outvars:
                if type(atom) is not Literal:
                    table[atom] = table.get(atom, 0) + 1
            known = self.yielded[id(jaxpr)] = (jaxpr, table)
        return known[1]
