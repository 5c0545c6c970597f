"""Carries of a loop that are equal in every iteration: they start equal, and the body does the same to both.

A solver that keeps one counter for the times it was asked to save at and one for the rows it has saved moves both
together; where a condition bounds one, the other is inside too.

Two values are equal if they are the same expression of values that are equal. A carry's is what it starts with and what
the body makes of it, so that the question comes back to where it began: the pairs that it leads to are supposed equal
on the way, and are equal if each of them needs nothing but others of them. For take the first value, in the order in
which a run computes them, that differs from its partner: what the two are made from was computed before and did not.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from redzone.domains import dtype_info
from redzone.engine.implementation import implementation, is_third_party
from redzone.engine.inventory import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives, scan_counts
from redzone.rules import RULES

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

#: How many pairs of values are looked at for one loop, besides one for each equation of its body.
MOST: Final = 200

_P: Final = primitives()
_CONVERT_P: Final = _P["convert_element_type_p"]
#: Primitives whose result is their operand. A stopped gradient tells vmap's copy of an operand (see `assumptions`).
_RENAMING: Final = frozenset(_P[f"{n}_p"] for n in ("copy", "sharding_constraint", "pvary", "name") if f"{n}_p" in _P)
#: Calls whose results are those of their jaxpr on their operands, once.
_ONCE: Final = frozenset(CALLS) - {SHARD_MAP_P, _P.get("xla_pmap_p")}
_LOOPS: Final = (SCAN_P, WHILE_P)
_COMPARISONS: Final = frozenset(_P[f"{n}_p"] for n in ("lt", "le", "gt", "ge", "eq", "ne"))
#: Primitives whose result is the same whenever their operands and parameters are.
_PURE: Final = frozenset(
    [p for p, rule in RULES.items() if rule.pointwise or rule.moves]
    + [_P[f"{n}_p"] for n in ("select_n", "reduce_and", "reduce_or", "reduce_max", "reduce_min", "reduce_sum")]
) - {_P.get("new_ref_p")}

#: Two values, each by where it is and its variable.
Pair = tuple["Frame", Any, "Frame", Any]


class _Loop:
    """A loop, and where its carries are: among its body's inputs, and among its operands."""

    __slots__ = ("body", "carries", "eqn", "first", "outer", "start")

    def __init__(self, outer: Frame, eqn: Any) -> None:
        self.outer = outer
        self.eqn = eqn
        params = eqn.params
        if eqn.primitive is SCAN_P:
            self.body = open_jaxpr(params["jaxpr"])[0]
            self.first, self.carries = scan_counts(params)
            self.start = self.first
        else:
            self.body = open_jaxpr(params["body_jaxpr"])[0]
            self.first = params["body_nconsts"]
            self.carries = len(self.body.invars) - self.first
            self.start = params["cond_nconsts"] + self.first


def congruent(frame: Frame, eqn: Any, places: Iterable[int]) -> dict[int, int]:
    """By carry of a loop: the first one that equals it in every iteration and afterwards, which has no entry itself.

    Only whole numbers among the results at these places are looked at.
    """
    types: dict[Any, list[int]] = {}
    for k in sorted(places):
        aval = eqn.outvars[k].aval
        dtype = getattr(aval, "dtype", None)
        if dtype_info(dtype).kind in "iu":
            types.setdefault((dtype, aval.shape), []).append(k)
    found: dict[int, int] = {}
    candidates = [group for group in types.values() if len(group) > 1]
    if candidates:
        loop = _Loop(frame, eqn)
        walk = _Pairs(MOST + len(loop.body.eqns))
        for group in candidates:
            for alike in walk.alike(loop, [k for k in group if k < loop.carries]):
                walk.gather(loop, alike, found)
    return found


class _Pairs:
    """Pairs of values that are supposed equal, each needing nothing but other such pairs."""

    __slots__ = ("frames", "left", "loops", "supposed")

    def __init__(self, most: int) -> None:
        self.left = most
        self.supposed: set[Pair] = set()
        self.frames: dict[tuple[Frame, int, int], Frame] = {}
        """By where an equation is, its identity and which of its jaxprs: the inside of it."""
        self.loops: dict[Frame, _Loop] = {}

    def alike(self, loop: _Loop, group: list[int]) -> list[list[int]]:
        """The carries of one type that may be equal: those that start, and are made, by one primitive."""
        starts: dict[Any, list[int]] = {}
        for k in group:
            starts.setdefault(self.head(loop.outer, loop.eqn.invars[loop.start + k]), []).append(k)
        found: dict[Any, list[int]] = {}
        for start, some in starts.items():
            if len(some) > 1:
                inside = self.inside_of(loop)
                for k in some:
                    found.setdefault((start, self.head(inside, loop.body.outvars[k])), []).append(k)
        return [some for some in found.values() if len(some) > 1]

    def head(self, frame: Frame, atom: Any) -> Any:
        """Equal for two values that are equal by what they are made from; the same for all carries."""
        frame, atom = self.origin(frame, atom)
        if type(atom) is Literal:
            return int(atom.val) if atom.aval.shape == () else None
        eqn = frame.maker(atom)
        if eqn is not None:
            return eqn.primitive
        return None if frame in self.loops else atom

    def gather(self, loop: _Loop, group: list[int], found: dict[int, int]) -> None:
        """Note each of these carries that equals an earlier one."""
        leaders: list[int] = []
        inside, carries = self.inside_of(loop), loop.body.invars[loop.first :]
        for k in group:
            for leader in leaders:
                if self.are_equal((inside, carries[leader], inside, carries[k])):
                    found[k] = leader
                    break
            else:
                leaders.append(k)

    def are_equal(self, pair: Pair) -> bool:
        """Whether two values are the same expression wherever both are computed; False where that takes too long."""
        supposed, waiting, new = self.supposed, [pair], list[Pair]()
        while waiting:
            frame, a, other, b = waiting.pop()
            frame, a = self.origin(frame, a)
            other, b = self.origin(other, b)
            if (frame is other and a is b) or _is_same_literal(a, b):
                continue
            needed, pair = None, (frame, a, other, b)
            if type(a) is not Literal and type(b) is not Literal:
                if pair in supposed:
                    continue
                self.left -= 1
                needed = self.needed(frame, a, other, b) if self.left >= 0 else None
            if needed is None:
                supposed.difference_update(new)
                return False
            supposed.add(pair)
            new.append(pair)
            waiting += needed
        return True

    def origin(self, frame: Frame, atom: Any) -> tuple[Frame, Any]:
        """The value that an atom is another name of, outside of the call it is handed to or inside of one."""
        while type(atom) is not Literal:
            outer = frame.bindings.get(atom)
            if outer is not None and frame.parent is not None:
                frame, atom = frame.parent, outer
                continue
            eqn = frame.maker(atom)
            if eqn is None:
                break
            if eqn.primitive in _RENAMING or eqn.primitive is _CONVERT_P:
                if len(eqn.invars) != 1 or eqn.invars[0].aval.dtype != atom.aval.dtype:
                    break
                atom = eqn.invars[0]
                continue
            inner = _inlined(eqn)
            if inner is None:
                break
            place = eqn.outvars.index(atom)
            frame = self.inside(frame, eqn, 0, inner, eqn.invars)
            atom = inner.outvars[place]
        return frame, atom

    def inside(self, frame: Frame, eqn: Any, which: int, inner: Any, operands: Any) -> Frame:
        """Where an equation's jaxpr runs; its first inputs are these operands."""
        key = (frame, id(eqn), which)
        found = self.frames.get(key)
        if found is None:
            found = self.frames[key] = frame.inside(inner, dict(zip(inner.invars, operands, strict=False)))
        return found

    def inside_of(self, loop: _Loop) -> Frame:
        consts = loop.eqn.invars[loop.start - loop.first : loop.start]
        found = self.inside(loop.outer, loop.eqn, 0, loop.body, consts)
        self.loops[found] = loop
        return found

    def needed(self, frame: Frame, a: Any, other: Frame, b: Any) -> list[Pair] | None:
        """The pairs that have to be equal for two values to be; None where they are not known to be."""
        if not _is_same_type(a.aval, b.aval):
            return None
        eqn, partner = frame.maker(a), other.maker(b)
        if eqn is None or partner is None:
            return self.carried(frame, a, b) if eqn is None and partner is None and frame is other else None
        primitive = eqn.primitive
        if primitive is not partner.primitive:
            return None
        if primitive in _LOOPS:
            return self.left_by(frame, eqn, a, b) if frame is other and eqn is partner else None
        if primitive is COND_P:
            return self.branched(frame, eqn, a, other, partner, b)
        return _computed(frame, eqn, other, partner)

    def carried(self, frame: Frame, a: Any, b: Any) -> list[Pair] | None:
        """Two carries of a loop: they start equal, and the body makes equal values of them.

        Where a batched loop is done with some lanes, it keeps what both are there.
        """
        loop = self.loops.get(frame)
        if loop is None:
            return None
        inputs, starts = loop.body.invars, loop.eqn.invars
        # Constants are known by their names outside: what is left are the carries, and a scan's rows.
        k, j = inputs.index(a) - loop.first, inputs.index(b) - loop.first
        if not (0 <= k < loop.carries and 0 <= j < loop.carries):
            return None
        results = loop.body.outvars
        return [
            (loop.outer, starts[loop.start + k], loop.outer, starts[loop.start + j]),
            (frame, results[k], frame, results[j]),
        ]

    def left_by(self, frame: Frame, eqn: Any, a: Any, b: Any) -> list[Pair] | None:
        """Two results of one loop: what two of its carries are at last."""
        loop, outs = _Loop(frame, eqn), eqn.outvars
        k, j = outs.index(a), outs.index(b)
        if k >= loop.carries or j >= loop.carries:
            return None
        inside, inputs = self.inside_of(loop), loop.body.invars
        return [(inside, inputs[loop.first + k], inside, inputs[loop.first + j])]

    def branched(self, frame: Frame, eqn: Any, a: Any, other: Frame, partner: Any, b: Any) -> list[Pair] | None:
        """Results of branches: the same one is taken for both, and each makes equal values."""
        branches, others = eqn.params["branches"], partner.params["branches"]
        if len(branches) != len(others):
            return None
        k, j = eqn.outvars.index(a), partner.outvars.index(b)
        found: list[Pair] = [(frame, eqn.invars[0], other, partner.invars[0])]
        for i, (one, two) in enumerate(zip(branches, others, strict=True)):
            mine, theirs = open_jaxpr(one)[0], open_jaxpr(two)[0]
            here = self.inside(frame, eqn, i, mine, eqn.invars[1:])
            there = self.inside(other, partner, i, theirs, partner.invars[1:])
            found.append((here, mine.outvars[k], there, theirs.outvars[j]))
        return found


def _computed(frame: Frame, eqn: Any, other: Frame, partner: Any) -> list[Pair] | None:
    """Results of one pure primitive: they need equal operands.

    What two equations make of one float may differ in its last bit, as each is compiled with its neighbours.
    """
    if eqn.primitive not in _PURE or eqn.effects or partner.effects or eqn.params != partner.params:
        return None
    operands, others = eqn.invars, partner.invars
    if len(operands) != len(others):
        return None
    if eqn.primitive not in _COMPARISONS and not all(dtype_info(a.aval.dtype).integral for a in operands):
        return None
    return [(frame, a, other, b) for a, b in zip(operands, others, strict=True)]


def _inlined(eqn: Any) -> Any:
    """The jaxpr that an equation's results are those of, on its operands; None where there is none."""
    primitive = eqn.primitive
    if primitive in _ONCE:
        inner = open_jaxpr(eqn.params[CALLS[primitive]])[0]
    elif primitive in RULES or not is_third_party(primitive):
        return None
    else:
        written = implementation(eqn)
        if written is None:
            return None
        inner = written[0]
    return inner if len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars) else None


def _is_same_type(one: Any, other: Any) -> bool:
    """Whether two values are arrays of whole numbers or bools, of one type and shape."""
    dtype = getattr(one, "dtype", None)
    if not dtype_info(dtype).integral or dtype != getattr(other, "dtype", None):
        return False
    return bool(one.shape == other.shape)


def _is_same_literal(one: Any, other: Any) -> bool:
    if type(one) is not Literal or type(other) is not Literal or one.aval.shape != ():
        return False
    return _is_same_type(one.aval, other.aval) and int(one.val) == int(other.val)
