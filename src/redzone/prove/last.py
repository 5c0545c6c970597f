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


def seen_before_the_last(closed: Any, facts: Sequence[Fact], site: Site, inventory: Inventory) -> list[Seen] | None:
    """What an access is in all iterations of its scan but the last; None where that one may be seen too."""
    jaxpr, consts = open_jaxpr(closed)
    if len(site.chain) != 1 or site.effect != "read" or site.chain[0].primitive is not SCAN_P:
        return None
    if _is_run_elsewhere(site, inventory):
        return None
    scan = site.chain[0]
    at = next((k for k, eqn in enumerate(jaxpr.eqns) if eqn is scan), -1)
    length = scan.params["length"]
    if at < 0 or type(length) is not int or length < 2 or not _is_left_behind(jaxpr, scan, site.eqn):
        return None
    leading = _leading(jaxpr, at)
    if len(leading) > LEADING:
        return None
    program, more = equations_of(lambda *args: _shortened(jaxpr, consts, leading, scan, args), _avals(jaxpr))
    shorter = core.ClosedJaxpr(program, list(more))
    return analyse(shorter, facts).seen.get(id(site.eqn))


def _is_run_elsewhere(site: Site, inventory: Inventory) -> bool:
    """Whether another scan runs the same equations: what its last iteration reads may be looked at."""
    return inventory.callers.get(id(site.home)) != 1


def _avals(jaxpr: Any) -> list[Any]:
    return [v.aval for v in jaxpr.invars]


def _is_left_behind(jaxpr: Any, scan: Any, read: Any) -> bool:
    """Whether what an equation of a scan's body yields reaches nothing but carries that nobody looks at in the end."""
    body, _ = open_jaxpr(scan.params["jaxpr"])
    if not any(eqn is read for eqn in body.eqns):
        return False
    reached = {*read.outvars}
    for eqn in body.eqns:
        if eqn is read or not any(type(v) is not Literal and v in reached for v in eqn.invars):
            continue
        # A loop may go on for ever by what it is given.
        if eqn.effects or eqn.primitive is WHILE_P or eqn.primitive not in COMPUTED:
            return False
        reached.update(eqn.outvars)
    _, carries = scan_counts(scan.params)
    ends = [k for k, v in enumerate(body.outvars) if type(v) is not Literal and v in reached]
    if any(k >= carries for k in ends):
        return False
    used = {v for eqn in jaxpr.eqns for v in eqn.invars if type(v) is not Literal}
    used.update(v for v in jaxpr.outvars if type(v) is not Literal)
    return used.isdisjoint([scan.outvars[k] for k in ends])


def _leading(jaxpr: Any, at: int) -> list[Any]:
    """The equations that make what an equation is given, in their order."""
    wanted = {v for v in jaxpr.eqns[at].invars if type(v) is not Literal}
    found = []
    for eqn in reversed(jaxpr.eqns[:at]):
        if any(v in wanted for v in eqn.outvars):
            found.append(eqn)
            wanted.update(v for v in eqn.invars if type(v) is not Literal)
    return found[::-1]


def _shortened(
    jaxpr: Any, consts: Sequence[Any], leading: list[Any], scan: Any, args: Sequence[Any]
) -> tuple[Any, ...]:
    """Run a program up to a scan of one iteration less, which leaves out the last."""
    known = dict(zip((*jaxpr.constvars, *jaxpr.invars), (*consts, *args), strict=True))

    def given(eqn: Any) -> list[Any]:
        return [v.val if type(v) is Literal else known[v] for v in eqn.invars]

    for eqn in leading:
        known.update(zip(eqn.outvars, rebind(eqn, given(eqn)), strict=True))
    values, length, first = given(scan), scan.params["length"], sum(scan_counts(scan.params))
    start = 1 if scan.params["reverse"] else 0
    rows = [lax.slice_in_dim(row, start, start + length - 1) for row in values[first:]]
    return tuple(scan.primitive.bind(*values[:first], *rows, **{**scan.params, "length": length - 1}))
