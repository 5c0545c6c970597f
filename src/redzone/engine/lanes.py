"""Whether the lanes of a batched while stay apart.

vmap makes one loop of many: it goes on while any lane's condition holds, runs the body on every lane, and lanes that
are done keep their carries. What holds only where a lane still runs holds of what that lane makes, and what a lane
that is done makes is thrown away, as long as no lane sees another's values. A collective over the mapped axis makes
them seen: it is a reduction along the lanes by then, or a broadcast of them along another dimension.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P, children
from redzone.engine.lane_places import Mixed, Places, after, joined
from redzone.engine.program import Step
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import Literal, open_jaxpr, scan_counts


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


def _stay_apart(params: dict[str, Any]) -> bool:
    body, test = open_jaxpr(params["body_jaxpr"])[0], open_jaxpr(params["cond_jaxpr"])[0]
    lanes = test.outvars[0].aval.shape
    leading = tuple(range(len(lanes)))
    carries = body.invars[params["body_nconsts"] :]
    if any(type(n) is not int for n in lanes) or any(v.aval.shape[: len(lanes)] != lanes for v in carries):
        return False
    given: list[Places] = [leading] * len(carries)
    try:
        results = _through(test, _promised(test, params["cond_nconsts"], lanes) + given)
        results += _through(body, _promised(body, params["body_nconsts"], lanes) + given)
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


def _through(jaxpr: Any, given: Sequence[Places]) -> list[Places]:
    """Where the lanes of each result are."""
    if len(given) != len(jaxpr.invars):
        raise Mixed
    places: dict[Any, Places] = {v: p for v, p in zip(jaxpr.invars, given, strict=True) if p is not None}
    for eqn in jaxpr.eqns:
        ins = [None if type(a) is Literal else places.get(a) for a in eqn.invars]
        if any(place is not None for place in ins):
            for var, place in zip(eqn.outvars, _after(eqn, ins), strict=True):
                places[var] = place
    return [None if type(a) is Literal else places.get(a) for a in jaxpr.outvars]


def _after(eqn: Any, ins: list[Places]) -> list[Places]:
    primitive, params = eqn.primitive, eqn.params
    if primitive in CALLS and primitive is not SHARD_MAP_P:
        return _through(open_jaxpr(params[CALLS[primitive]])[0], ins)
    if primitive is COND_P:
        return _branches(params, ins)
    if primitive is SCAN_P:
        return _scan(params, ins)
    if primitive is WHILE_P:
        return _while(params, ins)
    # Dimensions come from the equation's parameters, which may be numpy's integers.
    found: Any = after(eqn, ins)
    return [None if place is None else tuple(map(int, place)) for place in found]


def _branches(params: dict[str, Any], ins: list[Places]) -> list[Places]:
    if ins[0] is not None:
        raise Mixed
    results: list[Places] | None = None
    for branch in params["branches"]:
        found = _through(open_jaxpr(branch)[0], ins[1:])
        results = found if results is None else [joined(a, b) for a, b in zip(results, found, strict=True)]
    assert results is not None
    return results


def _scan(params: dict[str, Any], ins: list[Places]) -> list[Places]:
    consts, count = scan_counts(params)
    if any(place is not None and 0 in place for place in ins[consts + count :]):
        raise Mixed
    rows = [None if place is None else tuple(d - 1 for d in place) for place in ins[consts + count :]]
    results = _at_rest(open_jaxpr(params["jaxpr"])[0], ins[:consts], ins[consts : consts + count], rows)
    return results[:count] + [None if place is None else tuple(d + 1 for d in place) for place in results[count:]]


def _while(params: dict[str, Any], ins: list[Places]) -> list[Places]:
    """A condition that has lanes is one for each: those that are done keep their carries."""
    ntest, nbody = params["cond_nconsts"], params["body_nconsts"]
    body, test = open_jaxpr(params["body_jaxpr"])[0], open_jaxpr(params["cond_jaxpr"])[0]
    carries = ins[ntest + nbody :]
    while True:
        (goes_on,) = _through(test, [*ins[:ntest], *carries])
        found = _at_rest(body, ins[ntest : ntest + nbody], [joined(place, goes_on) for place in carries], [])
        if found == carries:
            return found
        carries = found


def _at_rest(jaxpr: Any, consts: list[Places], carries: list[Places], rows: list[Places]) -> list[Places]:
    """The results of a loop's body once each carry has the lanes it has in any iteration."""
    while True:
        results = _through(jaxpr, [*consts, *carries, *rows])
        found = [joined(a, b) for a, b in zip(carries, results[: len(carries)], strict=True)]
        if found == carries:
            return [*carries, *results[len(carries) :]]
        carries = found
