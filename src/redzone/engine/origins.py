"""What may make a number that a loop's body, a branch or a function is given, wherever that is run.

A compiler takes out of a loop what is the same in each iteration, runs a loop of one iteration without it, and puts
iterations together that are to be unrolled: what was computed outside meets what is computed inside. This is about
jaxprs, not about runs: of a body that is run in several places, what is given in any of them counts.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redzone.engine.inventory import COND_P, SCAN_P, WHILE_P, children
from redzone.engine.moved import GIVEN, MOVES, source
from redzone.frontend.compat import Literal, open_jaxpr, scan_counts


class Origins:
    """By variable of any jaxpr of a program: the equation that makes it, or what it is another name of."""

    def __init__(self, jaxpr: Any) -> None:
        self.made: dict[Any, Any] = {}
        self.given: dict[Any, list[Any]] = {}
        self.constants = {*jaxpr.constvars}
        seen, waiting = {id(jaxpr)}, [jaxpr]
        for one in waiting:
            for eqn in one.eqns:
                self.made.update(dict.fromkeys(eqn.outvars, eqn))
                inside = children(eqn)
                for child in inside:
                    self.constants.update(child.constvars)
                if inside:
                    self._note(eqn, inside)
                    waiting += [child for child in inside if id(child) not in seen]
                    seen.update(map(id, inside))

    def _note(self, eqn: Any, inside: list[Any]) -> None:
        primitive, params = eqn.primitive, eqn.params
        if primitive is SCAN_P:
            self._scan(eqn)
        elif primitive is WHILE_P:
            test, body = open_jaxpr(params["cond_jaxpr"])[0], open_jaxpr(params["body_jaxpr"])[0]
            first, end = params["cond_nconsts"], params["cond_nconsts"] + params["body_nconsts"]
            self._pass(test.invars, [*eqn.invars[:first], *eqn.invars[end:]])
            self._pass(body.invars, eqn.invars[first:])
            self._pass(eqn.outvars, body.outvars)
        elif primitive is COND_P:
            for branch in inside:
                self._pass(branch.invars, eqn.invars[1:])
                self._pass(eqn.outvars, branch.outvars)
        else:
            for child in inside:
                if len(child.invars) == len(eqn.invars):
                    self._pass(child.invars, eqn.invars)
                if len(child.outvars) == len(eqn.outvars):
                    self._pass(eqn.outvars, child.outvars)

    def _scan(self, eqn: Any) -> None:
        body, (first, count) = open_jaxpr(eqn.params["jaxpr"])[0], scan_counts(eqn.params)
        self._pass(body.invars[:first], eqn.invars[:first])
        if eqn.params["length"] == 1 or eqn.params["unroll"] != 1:
            self._pass(body.invars[first:], eqn.invars[first:])
            self._pass(body.invars[first : first + count], body.outvars[:count])
            self._pass(eqn.outvars, body.outvars)

    def _pass(self, variables: Sequence[Any], atoms: Sequence[Any]) -> None:
        for variable, atom in zip(variables, atoms, strict=True):
            if type(variable) is not Literal:
                self.given.setdefault(variable, []).append(atom)

    def may_be_made_by(self, variable: Any, primitives: frozenset[Any], constants: bool) -> bool:
        """Whether a variable may be the result of such an equation, moved or not, with a constant if `constants`."""
        for one in self.names(variable):
            eqn = self.made.get(one) if type(one) is not Literal else None
            if eqn is None or eqn.primitive not in primitives:
                continue
            if not constants or any(self.may_be_constant(atom) for atom in eqn.invars):
                return True
        return False

    def may_be_constant(self, atom: Any) -> bool:
        """Whether a number may be a constant, or computed from nothing but constants."""
        if type(atom) is Literal:
            return True
        for one in self.names(atom):
            if type(one) is Literal or one in self.constants:
                return True
            eqn = self.made.get(one)
            if eqn is not None and eqn.primitive not in MOVES and all(type(v) is Literal for v in eqn.invars):
                return True
        return False

    def names(self, variable: Any) -> list[Any]:
        """What a number may be another name of, itself first, moved or not."""
        seen, waiting = {variable}, [variable]
        for one in waiting:
            eqn = self.made.get(one) if type(one) is not Literal else None
            behind = list(self.given.get(one, ())) if type(one) is not Literal else []
            if eqn is not None and eqn.primitive in MOVES:
                behind.append(eqn.invars[0])
            for atom in behind:
                if type(atom) is Literal:
                    waiting.append(atom)
                elif atom not in seen:
                    seen.add(atom)
                    waiting.append(atom)
        return waiting


#: What comes out of loops and branches, or into them.
ELSEWHERE: Final = frozenset((GIVEN, SCAN_P, WHILE_P, COND_P))


def may_meet(frame: Any, atom: Any, primitives: frozenset[Any], constants: bool = False) -> bool:
    """Whether what a loop's body, a branch or a function is given, or yields, may be made by such an equation there.

    With `constants`, by one that has a constant among its operands.
    """
    at, variable, made = source(frame, atom)
    if made not in ELSEWHERE:
        return False
    slicer = at.slicer
    if slicer.origins is None:
        slicer.origins = Origins(slicer.inventory.keep[0])
    return bool(slicer.origins.may_be_made_by(variable, primitives, constants))
