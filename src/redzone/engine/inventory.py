"""What a whole program contains: its accesses in order, and each sub-program's size and callers."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Container, Iterable
from typing import Any, Final

from redzone.access.site import Site
from redzone.access.sparse import padded_access
from redzone.access.xla import ACCESSES
from redzone.engine.implementation import (
    expansion,
    implementation,
    is_third_party,
    known_implementation,
    takes_integers,
)
from redzone.engine.literals import FOLDED, fold, known_index
from redzone.engine.wiring import Wiring
from redzone.frontend.assume import assume_p
from redzone.frontend.compat import Literal, inner_jaxprs, open_jaxpr, primitives, sparse_kind
from redzone.rules import RULES


def _calls() -> dict[Any, str]:
    """Primitives that just run an inner jaxpr on their operands, and the parameter that holds it."""
    known = primitives()
    table = {
        "jit_p": "jaxpr",
        "pjit_p": "jaxpr",
        "closed_call_p": "call_jaxpr",
        "core_call_p": "call_jaxpr",
        "eval_jaxpr_p": "call_jaxpr",
        "call_p": "call_jaxpr",
        "remat_p": "jaxpr",
        "checkpoint_p": "jaxpr",
        "custom_jvp_call_p": "call_jaxpr",
        "custom_vjp_call_p": "call_jaxpr",
        "custom_vjp_call_jaxpr_p": "fun_jaxpr",
        "shard_map_p": "jaxpr",
        "xla_pmap_p": "call_jaxpr",
    }
    return {known[n]: key for n, key in table.items() if n in known and key}


CALLS: Final = _calls()
COND_P: Final = primitives()["cond_p"]
SCAN_P: Final = primitives()["scan_p"]
WHILE_P: Final = primitives()["while_p"]
SHARD_MAP_P: Final = primitives().get("shard_map_p")
AXIS_INDEX_P: Final = primitives().get("axis_index_p")
LINEAR_SOLVE_P: Final = primitives().get("linear_solve_p")
HIGH_P: Final = primitives().get("call_hi_primitive_p")
SPECIAL: Final = {
    **dict.fromkeys(ACCESSES, 1),
    **dict.fromkeys(CALLS, 2),
    COND_P: 3,
    SCAN_P: 4,
    WHILE_P: 5,
    assume_p: 9,
}
if HIGH_P is not None:
    SPECIAL[HIGH_P] = 7
RUN_STATE_P: Final = primitives().get("run_state_p")
if RUN_STATE_P is not None:
    SPECIAL[RUN_STATE_P] = 8
#: Primitives that yield the greatest or the least of many numbers.
_EXTREMES: Final = (primitives()["reduce_max_p"], primitives()["reduce_min_p"])
#: What the inventory does at a primitive: 0 nothing (it holds no jaxpr with accesses of its own), 6 fold literals, 11
#: note that there is one.
_WALKED: Final = {
    **dict.fromkeys(RULES, 0),
    **dict.fromkeys(_EXTREMES, 11),
    **dict.fromkeys(FOLDED, 6),
    **SPECIAL,
}
_WALKED.pop(primitives().get("linear_solve_p"), None)
#: Primitives that are neither accesses nor hold a jaxpr with accesses.
PLAIN: Final = frozenset(p for p, what in _WALKED.items() if what in (0, 6, 11))
#: Accesses that hold no jaxpr at all.
_BARE: Final = frozenset(primitives()[n] for n in ("gather_p", "dynamic_slice_p", "dynamic_update_slice_p"))


def children(eqn: Any) -> list[Any]:
    """The jaxprs inside an equation, opened: those it holds, is expanded to, or was seen to be implemented as."""
    params, primitive = eqn.params, eqn.primitive
    key = CALLS.get(primitive)
    if key is not None:
        closed = params[key]
        return [getattr(closed, "jaxpr", closed)]
    if primitive is COND_P:
        return [open_jaxpr(branch)[0] for branch in params["branches"]]
    if primitive in _BARE:
        return []
    written = expansion(eqn) if primitive is HIGH_P else known_implementation(eqn)
    if written is not None:
        return [written[0]]
    return [open_jaxpr(inner)[0] for inner in inner_jaxprs(params)]


class Inventory:
    """What a whole program contains: its accesses in order, and each sub-program's size and callers.

    An access whose index is made of literals alone is settled on the way, if it is inside: nothing
    about it depends on inputs, paths or iterations.
    """

    def __init__(self) -> None:
        self.sites: dict[int, Site] = {}
        self.settled: dict[int, list[int]] = {}
        """By identity of the equation: the known index per column."""
        self.equations = 0
        self.size: dict[int, int] = {}
        self.callers: dict[int, int] = {}
        self.keep: list[Any] = []
        self.busy: dict[int, list[int]] = {}
        """By identity of a jaxpr: which of its equations matter whether or not their results are asked for."""
        self.other: set[Any] = set()
        """Primitives without a rule that run jaxprs with accesses."""
        self.written: set[Any] = set()
        """Third-party primitives whose implementations have accesses."""
        self.closed: Counter[str] = Counter()
        """By name: how many equations of third-party primitives nobody looked into."""
        self.extremes = False
        """Whether the greatest or the least of many numbers is taken anywhere."""
        self.wiring = Wiring()
        self.multiplied: dict[Any, Any] = {}
        """By identity of a jaxpr and its constants: the products in it (`engine/multiplied.py`), once asked for."""
        self.sums: dict[tuple[int, ...], tuple[list[Any], int]] = {}
        """By identity of a sum of floats and the calls around it: these, and how it is computed, once asked for."""

    def walk(self, jaxpr: Any, chain: tuple[Any, ...]) -> None:
        """Visit every equation once, nested sub-programs in place; shared ones count at their first caller."""
        key, callers, size = id(jaxpr), self.callers, self.size
        callers[key] = callers.get(key, 0) + 1
        if key in size:
            return
        self.keep.append(jaxpr)
        size[key] = 0
        eqns = jaxpr.eqns
        total = len(eqns)
        self.equations += total
        known: dict[Any, Any] = {}
        busy: list[int] = []
        found = [_WALKED.get(eqn.primitive, 10) for eqn in eqns]
        # Literals are folded for the accesses after them.
        folds = 1 in found
        for at, special in enumerate(found):
            if special == 0:
                continue
            eqn = eqns[at]
            if special == 6:
                if folds:
                    first = eqn.invars[0]
                    if type(first) is Literal or first in known:
                        fold(eqn, known)
            elif special == 2:
                closed = eqn.params[CALLS[eqn.primitive]]
                inner = getattr(closed, "jaxpr", closed)
                if id(inner) in size:
                    callers[id(inner)] += 1
                else:
                    self.walk(inner, (eqn, *chain))
                total += size[id(inner)]
                if id(inner) in self.busy:
                    busy.append(at)
            elif special == 1:
                if id(eqn) not in self.sites:
                    site = self.sites[id(eqn)] = ACCESSES[eqn.primitive](eqn, chain)
                    site.home = jaxpr
                    index = known_index(site, known)
                    if index is not None:
                        self.settled[id(eqn)] = index
                if id(eqn) not in self.settled:
                    busy.append(at)
            elif special == 9:
                busy.append(at)
            elif special == 11:
                self.extremes = True
            elif special == 10 and is_third_party(eqn.primitive) and not any(inner_jaxprs(eqn.params)):
                if self.look_into(eqn, chain):
                    busy.append(at)
            elif special == 10 and sparse_kind(eqn.primitive):
                sparse = padded_access(eqn, chain)
                if sparse is None:
                    self.closed[eqn.primitive.name] += 1
                else:
                    sparse.home = jaxpr
                    self.sites.setdefault(id(eqn), sparse)
            elif special != 10 or _has_jaxpr(eqn.params):
                touches = False
                for inner in children(eqn):
                    self.walk(inner, (eqn, *chain))
                    total += size[id(inner)]
                    touches = touches or id(inner) in self.busy
                if touches:
                    busy.append(at)
                    if special == 10:
                        self.other.add(eqn.primitive)
        size[key] = total
        if busy:
            self.busy[key] = busy

    def look_into(self, eqn: Any, chain: tuple[Any, ...]) -> bool:
        """Whether a third-party primitive's implementation has accesses of its own.

        What is given several floats and nothing else computes with them, and tracing that can take long: that it may
        read tables of its own is noted, not looked at.
        """
        worth = len(eqn.invars) == 1 or takes_integers(eqn)
        written = implementation(eqn) if worth else None
        if written is None:
            self.closed[eqn.primitive.name] += 1
            return False
        inner = written[0]
        self.walk(inner, (eqn, *chain))
        if id(inner) not in self.busy:
            return False
        self.written.add(eqn.primitive)
        return True

    def about(self, wanted: Container[int], homes: Iterable[Any]) -> Inventory:
        """The same program with nothing busy but these equations, by identity, promises, and what holds them.

        An equation that was not busy before is looked for in these jaxprs.
        """
        result = copy.copy(self)
        result.busy, seen, at_home = {}, set[int](), {id(jaxpr) for jaxpr in homes}

        def matters(eqn: Any) -> bool:
            if id(eqn) in wanted:
                return True
            kind = SPECIAL.get(eqn.primitive)
            if kind == 1:
                return False
            inside = [holds(inner) for inner in children(eqn)]
            return any(inside) or kind not in (2, 3, 4, 5)

        def holds(jaxpr: Any) -> bool:
            key = id(jaxpr)
            if key not in seen:
                seen.add(key)
                eqns = jaxpr.eqns
                busy = {at for at in self.busy.get(key, ()) if matters(eqns[at])}
                if key in at_home:
                    busy |= {at for at, eqn in enumerate(eqns) if id(eqn) in wanted}
                if busy:
                    result.busy[key] = sorted(busy)
            return key in result.busy

        holds(self.keep[0])
        # What no equation holds, as the implementations of primitives, stays as it is.
        result.busy |= {key: busy for key, busy in self.busy.items() if key not in seen}
        return result

    def touches(self, jaxpr: Any) -> bool:
        """Whether anything in a jaxpr matters whatever its results are used for; it has to be walked before."""
        if id(jaxpr) not in self.size:
            raise KeyError("a jaxpr that was not walked")
        return id(jaxpr) in self.busy


def constants_of(eqn: Any) -> list[tuple[Any, range]]:
    """The jaxprs inside an equation, each with the positions of the operands that are its first inputs."""
    if eqn.primitive is not LINEAR_SOLVE_P:
        return [(closed, range(0)) for closed in inner_jaxprs(eqn.params)]
    found, start = [], 0
    for closed, count in zip(eqn.params["jaxprs"], eqn.params["const_lengths"], strict=True):
        if closed is not None:
            found.append((closed, range(start, start + count)))
        start += count
    return found


def _has_jaxpr(params: dict[str, Any]) -> bool:
    return any(hasattr(v, "eqns") or hasattr(v, "jaxpr") or isinstance(v, (tuple, list)) for v in params.values())
