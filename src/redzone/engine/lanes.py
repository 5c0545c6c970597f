"""Whether the lanes of a batched while stay apart.

vmap makes one loop of many: it goes on while any lane's condition holds, runs the body on every lane, and lanes that
are done keep their carries. What holds only where a lane still runs holds of what that lane makes, and what a lane
that is done makes is thrown away, as long as no lane sees another's values. A collective over the mapped axis makes
them seen: it is a reduction along the lanes by then, or a broadcast of them along another dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redzone.access.xla import ACCESSES
from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P, children
from redzone.engine.lane_places import Mixed, Places, after, joined
from redzone.engine.program import Step
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import Literal, open_jaxpr, scan_counts

#: By way to an equation, through the equations that run what it stands in: where the lanes of its operands are.
Noted = dict[tuple[int, ...], list[Places]]


def stay_apart(step: Step) -> bool:
    """Whether every lane of a batched while is a loop of its own, in its condition and in its body.

    Then the lanes that are done might as well hold what a running one does: nothing in a running lane would change.
    So facts that hold in running lanes may be taken to hold in all, whatever rules they go through.
    """
    body, test = step.bodies
    known = body.memo.get(("apart", test))
    if known is None:
        known = body.memo["apart", test] = _stay_apart(step.eqn.params)
    return bool(known)


def of_operand(step: Step, eqn: Any, operand: int) -> Places:
    """Where the lanes of a batched while are in what an equation of its body is given; None where that is not known.

    The equation may stand in whatever the body calls or loops through, in one place of it.
    """
    body, test = step.bodies
    noted = body.memo.get(("lanes", test))
    if noted is None:
        noted = {}
        _stay_apart(step.eqn.params, noted)
        body.memo["lanes", test] = noted
    found = [places[operand] for path, places in noted.items() if path[-1] == id(eqn)]
    return found[0] if found and all(one == found[0] for one in found) else None


def _stay_apart(params: dict[str, Any], noted: Noted | None = None) -> bool:
    body, test = open_jaxpr(params["body_jaxpr"])[0], open_jaxpr(params["cond_jaxpr"])[0]
    lanes = test.outvars[0].aval.shape
    leading = tuple(range(len(lanes)))
    carries = body.invars[params["body_nconsts"] :]
    if any(type(n) is not int for n in lanes) or any(v.aval.shape[: len(lanes)] != lanes for v in carries):
        return False
    given: list[Places] = [leading] * len(carries)
    walk = _Walk(noted)
    try:
        results = walk.through(test, _promised(test, params["cond_nconsts"], lanes) + given)
        results += walk.through(body, _promised(body, params["body_nconsts"], lanes) + given)
    except Mixed:
        return False
    return all(place is None or place == leading for place in results)


def _promised(jaxpr: Any, constants: int, lanes: tuple[int, ...]) -> list[Places]:
    """Where the lanes are of what a loop is given, as far as something is promised of it: by running lanes, of theirs.

    Of the rest nothing is known in running lanes that is not known in all.
    """
    about = _promised_of(jaxpr)
    found: list[Places] = []
    for var in jaxpr.invars[:constants]:
        shape, place = var.aval.shape, tuple(range(len(lanes)))
        if var not in about or not any(n in lanes for n in shape):
            found.append(None)
        elif sum(n in lanes for n in shape) > len(lanes):
            # Any of its dimensions may be the lanes'.
            raise Mixed
        elif len(lanes) == 1:
            found.append((shape.index(lanes[0]),))
        elif shape[: len(lanes)] == lanes:
            found.append(place)
        else:
            raise Mixed
    return found


def _promised_of(jaxpr: Any) -> set[Any]:
    """The variables of a jaxpr that promises in it may say something of."""
    about: set[Any] = set()
    for eqn in reversed(jaxpr.eqns):
        if eqn.primitive is assume_p or not about.isdisjoint(eqn.outvars) or _holds_promises(eqn):
            about.update(v for v in eqn.invars if type(v) is not Literal)
    return about


def _holds_promises(eqn: Any) -> bool:
    if eqn.primitive in PLAIN:
        return False
    return any(e.primitive is assume_p or _holds_promises(e) for inner in children(eqn) for e in inner.eqns)


class _Walk:
    """Follows the lanes of a batched while through its jaxprs."""

    __slots__ = ("noted", "path")

    def __init__(self, noted: Noted | None) -> None:
        self.noted = noted
        """Where the lanes of the operands of accesses are, where that is to be kept."""
        self.path: tuple[int, ...] = ()

    def through(self, jaxpr: Any, given: Sequence[Places]) -> list[Places]:
        """Where the lanes of each result are."""
        if len(given) != len(jaxpr.invars):
            raise Mixed
        places: dict[Any, Places] = {v: p for v, p in zip(jaxpr.invars, given, strict=True) if p is not None}
        for eqn in jaxpr.eqns:
            ins = [None if type(a) is Literal else places.get(a) for a in eqn.invars]
            if self.noted is not None and eqn.primitive in ACCESSES:
                # What a loop's body is given is known when it is looked at for the last time.
                self.noted[*self.path, id(eqn)] = ins
            if any(place is not None for place in ins):
                for var, place in zip(eqn.outvars, self.after(eqn, ins), strict=True):
                    places[var] = place
            elif self.noted is not None:
                self.without(eqn, (*self.path, id(eqn)))
        return [None if type(a) is Literal else places.get(a) for a in jaxpr.outvars]

    def without(self, eqn: Any, path: tuple[int, ...]) -> None:
        """Note of the accesses in what an equation runs that it is given nothing with lanes."""
        assert self.noted is not None
        for inner in children(eqn):
            for one in inner.eqns:
                if one.primitive in ACCESSES:
                    self.noted[*path, id(one)] = [None] * len(one.invars)
                self.without(one, (*path, id(one)))

    def after(self, eqn: Any, ins: list[Places]) -> list[Places]:
        primitive, params, path = eqn.primitive, eqn.params, self.path
        self.path = (*path, id(eqn))
        try:
            if primitive in CALLS and primitive is not SHARD_MAP_P:
                return self.through(open_jaxpr(params[CALLS[primitive]])[0], ins)
            if primitive is COND_P:
                return self.branches(params, ins)
            if primitive is SCAN_P:
                return self.scan(params, ins)
            if primitive is WHILE_P:
                return self.loop(params, ins)
        finally:
            self.path = path
        # Dimensions come from the equation's parameters, which may be numpy's integers.
        found: Any = after(eqn, ins)
        return [None if place is None else tuple(map(int, place)) for place in found]

    def branches(self, params: dict[str, Any], ins: list[Places]) -> list[Places]:
        if ins[0] is not None:
            raise Mixed
        results: list[Places] | None = None
        for branch in params["branches"]:
            found = self.through(open_jaxpr(branch)[0], ins[1:])
            results = found if results is None else [joined(a, b) for a, b in zip(results, found, strict=True)]
        assert results is not None
        return results

    def scan(self, params: dict[str, Any], ins: list[Places]) -> list[Places]:
        consts, count = scan_counts(params)
        if any(place is not None and 0 in place for place in ins[consts + count :]):
            raise Mixed
        rows = [None if place is None else tuple(d - 1 for d in place) for place in ins[consts + count :]]
        results = self.at_rest(open_jaxpr(params["jaxpr"])[0], ins[:consts], ins[consts : consts + count], rows)
        return results[:count] + [None if place is None else tuple(d + 1 for d in place) for place in results[count:]]

    def loop(self, params: dict[str, Any], ins: list[Places]) -> list[Places]:
        """A condition that has lanes is one for each: those that are done keep their carries."""
        ntest, nbody = params["cond_nconsts"], params["body_nconsts"]
        body, test = open_jaxpr(params["body_jaxpr"])[0], open_jaxpr(params["cond_jaxpr"])[0]
        carries = ins[ntest + nbody :]
        while True:
            (goes_on,) = self.through(test, [*ins[:ntest], *carries])
            found = self.at_rest(body, ins[ntest : ntest + nbody], [joined(place, goes_on) for place in carries], [])
            if found == carries:
                return found
            carries = found

    def at_rest(
        self, jaxpr: Any, consts: list[Places], carries: list[Places], rows: list[Places]
    ) -> list[Places]:
        """The results of a loop's body once each carry has the lanes it has in any iteration."""
        while True:
            results = self.through(jaxpr, [*consts, *carries, *rows])
            found = [joined(a, b) for a, b in zip(carries, results[: len(carries)], strict=True)]
            if found == carries:
                return [*carries, *results[len(carries) :]]
            carries = found
