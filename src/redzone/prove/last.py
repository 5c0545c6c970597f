"""What the last iteration of a scan reads for the next one, which never comes: `carry, rows = x[i + 1], f(carry)`.

Where everything that is made of what was read goes into carries of the scan, and nobody looks at what they are in the
end, it is never seen what the last iteration read. So the access is looked at in a scan of one iteration less, which
goes through the same states and then stops: where it is inside in all of those, it is masked.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from jax import lax
from jax.extend import core

from redzone.access.site import Site
from redzone.domains import Fact
from redzone.engine import Seen, analyse
from redzone.engine.inventory import SCAN_P, WHILE_P, Inventory
from redzone.frontend.compat import Literal, equations_of, open_jaxpr, rebind, scan_counts
from redzone.prove.whole import COMPUTED

#: How many equations may lead to such a scan: they are traced again.
LEADING: Final = 200

#: What is told of an access that only the last iteration takes outside.
UNSEEN: Final = "may leave the array in the last iteration, but what that reads for the next one is thrown away"


class Shortened:
    """A program's scans with one iteration less, each made and looked at once for all accesses in it."""

    def __init__(self, closed: Any, facts: Sequence[Fact], inventory: Inventory) -> None:
        self.jaxpr, self.consts = open_jaxpr(closed)
        self.facts = facts
        self.inventory = inventory
        self.wiring = inventory.wiring
        self.analyses: dict[int, tuple[Any, dict[int, list[Seen]] | None]] = {}
        """By identity of a scan: what its accesses are; None where too much leads to it."""

    def seen(self, site: Site) -> list[Seen] | None:
        """What an access is in all iterations of its scan but the last; None where that one may be seen too."""
        if len(site.chain) != 1 or site.effect != "read" or site.chain[0].primitive is not SCAN_P:
            return None
        if _is_run_elsewhere(site, self.inventory):
            return None
        scan = site.chain[0]
        length = scan.params["length"]
        if type(length) is not int or length < 2 or not self.is_left_behind(scan, site.eqn):
            return None
        if id(scan) not in self.analyses:
            self.analyses[id(scan)] = (scan, self.analysed(scan))
        found = self.analyses[id(scan)][1]
        return None if found is None else found.get(id(site.eqn))

    def analysed(self, scan: Any) -> dict[int, list[Seen]] | None:
        """What the accesses in a scan are if it ends before its last iteration."""
        leading = self.leading(scan)
        if leading is None:
            return None
        avals = [v.aval for v in self.jaxpr.invars]
        program, more = equations_of(lambda *args: self.run(leading, scan, args), avals)
        return analyse(core.ClosedJaxpr(program, list(more)), self.facts).seen

    def is_left_behind(self, scan: Any, read: Any) -> bool:
        """Whether what an equation of a scan's body yields reaches only carries that nobody looks at in the end."""
        body, _ = open_jaxpr(scan.params["jaxpr"])
        made, readers = self.wiring.made(body), self.wiring.readers(body)
        if made.get(read.outvars[0], (0, None))[1] is not read:
            return False
        reached, waiting = {*read.outvars}, [*read.outvars]
        while waiting:
            for eqn, _, _ in readers.get(waiting.pop(), ()):
                # A loop may go on for ever by what it is given.
                if eqn.effects or eqn.primitive is WHILE_P or eqn.primitive not in COMPUTED:
                    return False
                fresh = [v for v in eqn.outvars if v not in reached]
                reached.update(fresh)
                waiting += fresh
        _, carries = scan_counts(scan.params)
        ends = [k for k, v in enumerate(body.outvars) if type(v) is not Literal and v in reached]
        if any(k >= carries for k in ends):
            return False
        used, left = self.wiring.readers(self.jaxpr), [scan.outvars[k] for k in ends]
        return not any(v in used or any(v is out for out in self.jaxpr.outvars) for v in left)

    def leading(self, scan: Any) -> list[Any] | None:
        """The equations that make what a scan of the program is given, in their order; None where they are too many."""
        made, found = self.wiring.made(self.jaxpr), dict[int, Any]()
        if not scan.outvars or made.get(scan.outvars[0], (0, None))[1] is not scan:
            return None
        waiting = [*scan.invars]
        while waiting:
            atom = waiting.pop()
            place, eqn = made.get(atom, (0, None)) if type(atom) is not Literal else (0, None)
            if eqn is not None and place not in found:
                if len(found) == LEADING:
                    return None
                found[place] = eqn
                waiting += eqn.invars
        return [found[place] for place in sorted(found)]

    def run(self, leading: list[Any], scan: Any, args: Sequence[Any]) -> tuple[Any, ...]:
        """Run the program up to a scan of one iteration less, which leaves out the last."""
        known = dict(zip((*self.jaxpr.constvars, *self.jaxpr.invars), (*self.consts, *args), strict=True))

        def given(eqn: Any) -> list[Any]:
            return [v.val if type(v) is Literal else known[v] for v in eqn.invars]

        for eqn in leading:
            known.update(zip(eqn.outvars, rebind(eqn, given(eqn)), strict=True))
        values, length, first = given(scan), scan.params["length"], sum(scan_counts(scan.params))
        start = 1 if scan.params["reverse"] else 0
        rows = [lax.slice_in_dim(row, start, start + length - 1) for row in values[first:]]
        return tuple(scan.primitive.bind(*values[:first], *rows, **{**scan.params, "length": length - 1}))


def _is_run_elsewhere(site: Site, inventory: Inventory) -> bool:
    """Whether another scan runs the same equations: what its last iteration reads may be looked at."""
    return inventory.callers.get(id(site.home)) != 1
