"""Where the equations of a program come from, those inside JAX's own functions included."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

from redzone.engine.inventory import children
from redzone.frontend import compat
from redzone.frontend.location import NOWHERE, locate
from redzone.report.model import Access, Location
from redzone.report.paths import shown_path


class Places:
    """Source locations by equation; an equation that has none of its own has that of the one around it."""

    def __init__(self, closed: Any, accesses: Sequence[Access]) -> None:
        self.around: dict[int, Any] = {}
        self.known: dict[int, Location] = {}
        self.eqns: list[Any] = []
        self.accesses = {id(access.eqn): access for access in accesses}
        jaxpr, _ = compat.open_jaxpr(closed)
        self._walk(jaxpr)

    def _walk(self, jaxpr: Any) -> None:
        waiting: list[tuple[Any, Any]] = [(jaxpr, None)]
        seen = {id(jaxpr)}
        while waiting:
            one, around = waiting.pop()
            for eqn in one.eqns:
                self.eqns.append(eqn)
                if around is not None:
                    self.around[id(eqn)] = around
                for inside in children(eqn):
                    if id(inside) not in seen:
                        seen.add(id(inside))
                        waiting.append((inside, eqn))

    def of(self, eqn: Any) -> Location:
        """Where an equation comes from."""
        found = self.known.get(id(eqn))
        if found is None:
            chain, one = [eqn], self.around.get(id(eqn))
            while one is not None:
                chain.append(one)
                one = self.around.get(id(one))
            found = self.known[id(eqn)] = locate(chain)
        return found

    def of_access(self, key: int) -> Location:
        """Where an access is, by identity of its equation."""
        access = self.accesses.get(key)
        return NOWHERE if access is None else access.location

    def named(self, eqn: Any) -> str:
        """An equation in a sentence: `the while at decode.py:41`."""
        place = self.of(eqn)
        where = f" at {shown_path(place.file).rpartition('/')[2]}:{place.line}" if place.file else ""
        return f"the {eqn.primitive.name}{where}"

    def repeated(self) -> list[tuple[Location, int, float]]:
        """Lines that left their equations several times: how often most of them at least, their part of the program."""
        count: Counter[Any] = Counter()
        where: dict[Any, Location] = {}
        for eqn in self.eqns:
            place = self.of(eqn)
            if place.file:
                key = (place.file, place.line, eqn.primitive.name)
                count[key] += 1
                where.setdefault(key, place)
        numbers: dict[Any, list[int]] = {}
        for key, number in count.items():
            numbers.setdefault(key[:2], []).append(number)
        # What stands there once or twice may be about the whole line.
        usual = {line: sorted(found)[(len(found) - 1) // 2] for line, found in numbers.items()}
        places = {key[:2]: place for key, place in where.items()}
        part = {line: sum(found) / len(self.eqns) for line, found in numbers.items()}
        return [(places[line], number, part[line]) for line, number in usual.items() if number > 1]
