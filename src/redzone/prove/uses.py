"""Who reads each value of a program and what it is made from, for the jaxprs asked about."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from redzone.engine.inventory import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P, Inventory, children
from redzone.engine.wiring import Reader
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.prove.passing import NotMasked

_P: Final = primitives()
_LOOPS: Final = (SCAN_P, WHILE_P)
#: How many values are told apart; of further ones, two may be taken for one.
WIDEST: Final = 2048
#: By access, the operands that say where.
_PLACES: dict[Any, Sequence[int]] = {
    _P["gather_p"]: (1,),
    _P["dynamic_slice_p"]: range(1, 64),
    _P["dynamic_update_slice_p"]: range(2, 64),
}
SCATTERS: Final = frozenset(p for n, p in _P.items() if n.startswith("scatter"))
_PLACES |= dict.fromkeys(SCATTERS, (1,))


#: By equation that runs jaxprs: where it holds them.
_HOLDING: Final[dict[Any, tuple[str, ...]]] = {
    **{primitive: (key,) for primitive, key in CALLS.items()},
    COND_P: ("branches",),
    SCAN_P: ("jaxpr",),
    WHILE_P: ("cond_jaxpr", "body_jaxpr"),
}


class Run:
    """An equation that runs a jaxpr: where that stands, what it holds it as, and the constants that it gives it."""

    __slots__ = ("around", "consts", "eqn", "held")

    def __init__(self, around: Any, eqn: Any, held: str, consts: Sequence[Any]) -> None:
        self.around = around
        self.eqn = eqn
        self.held = held
        self.consts = consts


@functools.cache
def _bits(count: int) -> tuple[int, ...]:
    return tuple([1 << k for k in range(count)])


class Uses:
    """Who reads each variable, for the jaxprs asked about."""

    def __init__(self, whole: Any, consts: Sequence[Any], inventory: Inventory) -> None:
        self.whole = whole
        self.consts = consts
        self.inventory = inventory
        self.sites = inventory.sites
        self.homes: dict[int, Any] = {}
        """By identity of an equation: the jaxpr it stands in."""
        self.wiring = inventory.wiring
        self.results: dict[int, set[Any]] = {}
        self.made_from: dict[int, dict[Any, tuple[int, int]]] = {}
        self.bits: dict[int, Iterator[int]] = {}
        """By jaxpr: the bits that tell its values apart, from the next one on."""
        self.runs: dict[int, list[Run]] | None = None

    def of(self, jaxpr: Any, var: Any) -> list[Reader]:
        """The equations that read a variable; nothing else may become of it."""
        if var in self.ends(jaxpr):
            raise NotMasked
        return self.readers(jaxpr, var)

    def readers(self, jaxpr: Any, var: Any) -> list[Reader]:
        return self.wiring.readers(jaxpr).get(var, [])

    def callers(self, jaxpr: Any) -> list[tuple[Any, Any]]:
        """The equations that run a jaxpr and do nothing else, with the jaxprs they stand in; none if it has others."""
        runs = self.runners(jaxpr) if jaxpr is not self.whole else []
        calls = all(run.eqn.primitive in CALLS and run.eqn.primitive is not SHARD_MAP_P for run in runs)
        return [(run.around, run.eqn) for run in runs] if calls else []

    def runners(self, jaxpr: Any) -> list[Run]:
        """The equations that run a jaxpr, loops and branches among them; none if it may have others."""
        if self.runs is None:
            self.runs = {}
            for around in self.inventory.keep:
                for eqn in around.eqns:
                    for held in _HOLDING.get(eqn.primitive, ()):
                        several = eqn.params[held] if eqn.primitive is COND_P else (eqn.params[held],)
                        for inner, consts in map(open_jaxpr, several):
                            self.runs.setdefault(id(inner), []).append(Run(around, eqn, held, consts))
        found = self.runs.get(id(jaxpr), [])
        return found if len(found) == self.inventory.callers.get(id(jaxpr)) else []

    def constants(self, jaxpr: Any, var: Any) -> list[Any]:
        """What a constant of a jaxpr may be; nothing where nobody knows."""
        if var not in jaxpr.constvars:
            return []
        at = jaxpr.constvars.index(var)
        several = [self.consts] if jaxpr is self.whole else [run.consts for run in self.runners(jaxpr)]
        return [consts[at] for consts in several] if all(len(consts) > at for consts in several) else []

    def behind(self, jaxpr: Any, atoms: Iterable[Any]) -> int:
        """The values that these are made from, as far as a condition on one can say something of another: a bit each.

        What a loop yields is known by itself: nothing that is learnt of it says anything of what goes in.
        """
        found = 0
        for atom in atoms:
            if type(atom) is not Literal:
                found |= self.table(jaxpr, atom)[atom][0]
        return found

    def said_by(self, jaxpr: Any, atoms: Iterable[Any]) -> int:
        """The values that conditions on these can say something of: not the place where one was read in an array."""
        found = 0
        for atom in atoms:
            if type(atom) is not Literal:
                found |= self.table(jaxpr, atom)[atom][1]
        return found

    def ends(self, jaxpr: Any) -> set[Any]:
        """The variables that are results of a jaxpr."""
        found = self.results.get(id(jaxpr))
        if found is None:
            found = self.results[id(jaxpr)] = {v for v in jaxpr.outvars if type(v) is not Literal}
        return found

    def holding(self, chain: Sequence[Any], depth: int) -> Any:
        """The jaxpr that an equation stands in, given those around it."""
        eqn = chain[depth]
        if id(eqn) not in self.homes:
            around = children(chain[depth + 1]) if depth + 1 < len(chain) else [self.whole]
            self.homes[id(eqn)] = next(jaxpr for jaxpr in around if any(e is eqn for e in jaxpr.eqns))
        return self.homes[id(eqn)]

    def hangs_on(self, jaxpr: Any, atom: Any, var: Any) -> bool:
        """Whether a value may be made, by equations of any kind, from a variable: looked for among those after it."""
        made = self.made(jaxpr)
        first, waiting, seen = made[var][0], [atom], {atom}
        while waiting:
            at = waiting.pop()
            if at is var:
                return True
            place, eqn = made.get(at, (-1, None))
            if place > first:
                fresh = [v for v in eqn.invars if type(v) is not Literal and v not in seen]
                waiting += fresh
                seen.update(fresh)
        return False

    def table(self, jaxpr: Any, var: Any = None) -> dict[Any, tuple[int, int]]:
        """By variable: what it is made from by plain equations, and what a condition on it can say something of.

        A bit for each input, and for whatever no bit would tell of: what has others in common with something has
        these in common too. The table has every input, the variable asked about and what that is made from.
        """
        table = self.made_from.get(id(jaxpr))
        if table is None:
            bits: Iterator[int] = itertools.cycle(_bits(WIDEST))
            self.bits[id(jaxpr)] = bits
            table = self.made_from[id(jaxpr)] = dict.fromkeys(jaxpr.constvars, (0, 0))
            for v in jaxpr.invars:
                bit = next(bits)
                table[v] = (bit, bit)
        if var is not None and var not in table:
            made, bits = self.made(jaxpr), self.bits[id(jaxpr)]
            waiting, found = [var], dict[int, Any]()
            while waiting:
                place, eqn = made[waiting.pop()]
                if place not in found:
                    found[place] = eqn
                    if eqn.primitive not in _LOOPS:
                        for v in eqn.invars:
                            if type(v) is not Literal and v not in table:
                                waiting.append(v)
            for place in sorted(found):
                _describe(table, found[place], bits)
        return table

    def made(self, jaxpr: Any) -> dict[Any, tuple[int, Any]]:
        return self.wiring.made(jaxpr)

    def maker(self, jaxpr: Any, var: Any) -> Any:
        """The equation that makes a variable; None of an input."""
        return self.wiring.maker(jaxpr, var)


def _describe(table: dict[Any, tuple[int, int]], eqn: Any, bits: Iterator[int]) -> None:
    """What an equation yields is made from, given the same of what it reads."""
    plain = said = 0
    primitive = eqn.primitive
    places = _PLACES.get(primitive)
    for position, atom in enumerate(eqn.invars if primitive not in _LOOPS else ()):
        if type(atom) is not Literal:
            before = table[atom]
            plain |= before[0]
            if places is None or position not in places:
                said |= before[1]
    if primitive is COND_P:
        # What a branch yields says nothing of what it was given.
        said = 0
    for v in eqn.outvars:
        bit = 0 if said else next(bits)
        table[v] = (plain | bit, said | bit)
