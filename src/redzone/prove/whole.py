"""When anything that is made of a value is seen, whatever that is: for what is kept or thrown away, as one or by lanes.

A value goes through equations of any kind. Of each thing that is made from it, it is noted under which conditions it
is: in ways, of which one must hold, each a set of conditions, of which all must. A select adds a condition to what goes
through one of its cases, and so does a branch; everything else passes on what comes in. Where none of the ways holds,
the value changes nothing, be it a number or none: a select throws away NaN as it does anything else.

A condition is made without the value; or it is said by what is made with it, as `ok` by `ok & (read > 0)`. It is one
number for all, or has one for each index tuple of the access, for each lane of a `vmap`: then it decides about what is
made from that lane's element, as long as that is told apart from what is made from others'. Where lanes are put
together, by a sum over them, nothing that was found out is lost: each lane's part is still there only under the lane's
own conditions. But from then on only conditions on all of them can be added.

What is seen are results, and operands of equations that do more than compute, or that nobody knows.
Whether a loop ends is seen too. So is, in the jaxpr of one device, what is sent to others, as each has its own
conditions.
"""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any, Final, NamedTuple

from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives, scan_counts
from redzone.prove.passing import MIXED, Places, carried, labels_before
from redzone.prove.uses import SCATTERS, Uses

_P: Final = primitives()
_SELECT: Final = _P["select_n_p"]
_AND: Final = _P["and_p"]
_OR: Final = _P["or_p"]
_NOT: Final = _P["not_p"]
_CONVERT: Final = _P["convert_element_type_p"]
#: Each element of the result is one of the operand's.
SPREAD: Final = frozenset(_P[f"{name}_p"] for name in ("broadcast_in_dim", "reshape", "squeeze", "transpose", "copy"))
#: Equations with a rule that do more than compute their results from their operands on one device.
_MORE: Final = frozenset(
    _P[f"{name}_p"]
    for name in (
        *("pure_callback", "io_callback", "debug_callback", "create_token", "after_all", "psend", "custom_lin"),
        *("new_ref", "empty_ref", "freeze", "free_ref"),
        *("psum", "psum2", "psum_invariant", "pmax", "pmin", "ppermute", "pbroadcast", "pvary", "all_to_all"),
        *("all_gather", "all_gather_invariant", "reduce_scatter"),
    )
    if f"{name}_p" in _P
)
#: Accesses that are equations like others: not those of kernels, which change what is there.
ACCESSES: Final = SCATTERS | {_P[f"{name}_p"] for name in ("gather", "dynamic_slice", "dynamic_update_slice")}
#: Equations that make their results of their operands and do nothing else.
COMPUTED: Final = (PLAIN - _MORE) | ACCESSES
#: How many equations a value is followed through.
FURTHEST: Final = 400
#: How many conditions are kept of a way, and how many ways of a value.
CONDITIONS: Final = 6
WAYS: Final = 8
#: How many times what a loop carries is looked at until nothing new is made of the value.
ROUNDS: Final = 6
#: How many equations back a condition is looked for.
BACK: Final = 12


class Term(NamedTuple):
    """A condition of the jaxpr asked about, and the least and the most that it must be."""

    condition: Any
    least: int
    most: int
    eqn: Any
    """The equation of that jaxpr where it was met."""
    lanes: tuple[int, ...]
    """The dimensions of the access's index tuples that it has a number of its own for; none where it is one for all."""


#: Each a set of conditions, a bit for each.
Ways = tuple[int, ...]
NEVER: Final[Ways] = ()
ALWAYS: Final[Ways] = (0,)


class Made:
    """What is made of the value: when, and where the dimensions of its index tuples are in it."""

    __slots__ = ("places", "ways")

    def __init__(self, ways: Ways, places: Places) -> None:
        self.ways = ways
        self.places = places

    def is_same(self, other: Made) -> bool:
        return self is other or (self.ways == other.ways and self.places == other.places)


NOTHING: Final = Made(NEVER, ())


class _At:
    """A jaxpr that a value is followed in: what is made of it there, and what its inputs are around it."""

    __slots__ = ("around", "jaxpr", "made", "names")

    def __init__(self, jaxpr: Any, made: dict[Any, Made], names: dict[Any, Any], around: _At | None) -> None:
        self.jaxpr = jaxpr
        self.made = made
        self.names = names
        """By input: the same number in the jaxpr around."""
        self.around = around


class _SeenAnyway(Exception):
    """Something is seen whatever any condition says: of the rest nothing need be known."""


class Whole:
    """What is made of a value that is kept or thrown away, as one or by lanes, in a jaxpr and all that this runs."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self.terms: list[Term] = []
        self.known: dict[tuple[Any, int, int, tuple[int, ...]], int] = {}
        self.against: list[int] = []
        """By condition: those that cannot hold with it."""
        self.seen: Ways = NEVER
        """When something is seen before the results."""
        self.left = FURTHEST
        self.eqn: Any = None

    def results(self, jaxpr: Any, values: Iterable[tuple[Any, Places]]) -> list[Made]:
        """When each result of a jaxpr is made from any of these values; `seen` says when anything else is seen."""
        at = _At(jaxpr, {v: Made(ALWAYS, places) for v, places in values}, {}, None)
        try:
            self.follow(at)
        except _SeenAnyway:
            self.seen = ALWAYS
        return self.of(at, jaxpr.outvars)

    def follow(self, at: _At) -> None:
        """Through a jaxpr's equations, in their order."""
        jaxpr, made = at.jaxpr, at.made
        eqns, waiting, queued = jaxpr.eqns, list[int](), set[int]()
        for v in made:
            self.queue(jaxpr, v, waiting, queued)
        while waiting:
            eqn = eqns[heapq.heappop(waiting)]
            if at.around is None:
                self.eqn = eqn
            self.left -= 1
            given = self.of(at, eqn.invars)
            if self.left < 0:
                self.see(given)
                continue
            for v, found in zip(eqn.outvars, self.through(at, eqn, given), strict=True):
                if found.ways:
                    made[v] = found
                    self.queue(jaxpr, v, waiting, queued)
                    if 0 in found.ways and jaxpr is self.uses.whole and v in self.uses.ends(jaxpr):
                        raise _SeenAnyway

    def queue(self, jaxpr: Any, var: Any, waiting: list[int], queued: set[int]) -> None:
        """Have the equations that read a variable looked at when it is their turn."""
        for _, _, place in self.uses.readers(jaxpr, var):
            if place not in queued:
                queued.add(place)
                heapq.heappush(waiting, place)

    def of(self, at: _At, atoms: Sequence[Any]) -> list[Made]:
        return [NOTHING if type(v) is Literal else at.made.get(v, NOTHING) for v in atoms]

    def through(self, at: _At, eqn: Any, given: list[Made]) -> list[Made]:
        """When what an equation yields is made from the value, given when its operands are."""
        primitive = eqn.primitive
        if primitive is _SELECT:
            after = self.carried(eqn, given)
            which = eqn.invars[0]
            picked = [self.under(at, one, which, picks(eqn, k)) for k, one in enumerate(after[1:])]
            return [self.either([after[0], *picked])]
        if primitive in (_AND, _OR) and eqn.outvars[0].aval.dtype == bool:
            # Where the other one is False, nothing is made of a conjunction's operand.
            decisive, after = ((1, 1) if primitive is _AND else (0, 0)), self.carried(eqn, given)
            return [self.either([self.under(at, m, v, decisive) for m, v in zip(after, eqn.invars[::-1], strict=True)])]
        if primitive in CALLS and primitive is not SHARD_MAP_P:
            inner, _ = open_jaxpr(eqn.params[CALLS[primitive]])
            if len(inner.invars) == len(eqn.invars) and len(inner.outvars) == len(eqn.outvars):
                return self.inside(at, inner, given, dict(zip(inner.invars, eqn.invars, strict=True)))
        elif primitive is COND_P:
            return self.branches(at, eqn, given)
        elif primitive is SCAN_P:
            return self.scan(at, eqn, given)
        elif primitive is WHILE_P:
            return self.loop(at, eqn, given)
        elif primitive in COMPUTED and not eqn.effects:
            return [self.either(self.carried(eqn, given))] * len(eqn.outvars)
        self.see(given)
        return [NOTHING] * len(eqn.outvars)

    def carried(self, eqn: Any, given: list[Made]) -> list[Made]:
        """The same with the places that the dimensions of index tuples have in an equation's result."""
        return [
            Made(one.ways, carried(eqn, k, one.places)) if one.ways and one.places else one
            for k, one in enumerate(given)
        ]

    def inside(self, at: _At, jaxpr: Any, given: Sequence[Made], names: dict[Any, Any]) -> list[Made]:
        """When the results of a jaxpr that an equation runs are, given when its inputs are."""
        within = _At(jaxpr, {v: one for v, one in zip(jaxpr.invars, given, strict=True) if one.ways}, names, at)
        self.follow(within)
        return self.of(within, jaxpr.outvars)

    def branches(self, at: _At, eqn: Any, given: list[Made]) -> list[Made]:
        index = eqn.invars[0]
        made = [[together(given[0])] for _ in eqn.outvars]
        jaxprs = [open_jaxpr(branch)[0] for branch in eqn.params["branches"]]
        if eqn.effects:
            # Which branch is taken is seen by what it does.
            self.see(given[:1])
        for k, jaxpr in enumerate(jaxprs):
            told: list[int] = []
            if any(one.ways for one in given[1:]):
                told = self.told(at, index, _nearest(index, k, len(jaxprs)), (), BACK)
            picked = [self.when(one, told) for one in given[1:]]
            names = dict(zip(jaxpr.invars, eqn.invars[1:], strict=True))
            for found, one in zip(made, self.inside(at, jaxpr, picked, names), strict=True):
                found.append(one)
        return [self.either(found) for found in made]

    def scan(self, at: _At, eqn: Any, given: list[Made]) -> list[Made]:
        constants, carries = scan_counts(eqn.params)
        body, _ = open_jaxpr(eqn.params["jaxpr"])
        # What a loop carries is another number each time: conditions on that say nothing here.
        names = dict(zip(body.invars[:constants], eqn.invars[:constants], strict=True))
        fixed, kept, rest = given[:constants], given[constants : constants + carries], given[constants + carries :]
        rows = [Made(one.ways, tuple([p - 1 if p > 0 else MIXED for p in one.places])) for one in rest]
        for _ in range(ROUNDS):
            made = self.inside(at, body, [*fixed, *kept, *rows], names)
            joined = [self.either(pair) for pair in zip(kept, made[:carries], strict=True)]
            if _are_same(joined, kept):
                runs = type(eqn.params["length"]) is int and eqn.params["length"] >= 1
                stacked = [
                    Made(one.ways, tuple([p + 1 if p >= 0 else MIXED for p in one.places])) for one in made[carries:]
                ]
                return [*(made[:carries] if runs else kept), *stacked]
            kept = joined
        self.see(given)
        return [NOTHING] * len(eqn.outvars)

    def loop(self, at: _At, eqn: Any, given: list[Made]) -> list[Made]:
        tested, constants = eqn.params["cond_nconsts"], eqn.params["body_nconsts"]
        test, body = (open_jaxpr(eqn.params[name])[0] for name in ("cond_jaxpr", "body_jaxpr"))
        first = tested + constants
        mine, fixed, kept = given[:tested], given[tested:first], given[first:]
        names = dict(zip(test.invars[:tested], eqn.invars[:tested], strict=True))
        inside = dict(zip(body.invars[:constants], eqn.invars[tested:first], strict=True))
        for _ in range(ROUNDS):
            made = self.inside(at, body, [*fixed, *kept], inside)
            joined = [self.either(pair) for pair in zip(kept, made, strict=True)]
            if _are_same(joined, kept):
                # How often it runs, and whether it ends at all.
                ends = together(self.inside(at, test, [*mine, *kept], names)[0])
                self.see([ends])
                return [self.either([one, ends]) for one in kept]
            kept = joined
        self.see(given)
        return [NOTHING] * len(eqn.outvars)

    def see(self, given: Iterable[Made]) -> None:
        self.seen = self.any([self.seen, *[one.ways for one in given]])
        if 0 in self.seen:
            raise _SeenAnyway

    # Ways

    def any(self, several: Iterable[Ways]) -> Ways:
        """Where one of any of these holds; what holds only where another does is left out."""
        every = {way for ways in set(several) for way in ways}
        if len(every) > 1:
            every = {way for way in every if not any(one & way == one for one in every if one != way)}
        return tuple(sorted(every)) if len(every) <= WAYS else ALWAYS

    def either(self, several: Sequence[Made]) -> Made:
        """What is made of any of these: in lanes where all of them are, the same way."""
        found = [one for one in several if one.ways]
        if len(found) < 2:
            return found[0] if found else NOTHING
        places, first = found[0].places, found[0]
        if all(one.is_same(first) for one in found):
            return first
        if any(one.places != places for one in found):
            columns = zip(*(one.places for one in found), strict=True)
            places = tuple([column[0] if len({*column}) == 1 else MIXED for column in columns])
        return Made(self.any([one.ways for one in found]), places)

    def under(self, at: _At, one: Made, condition: Any, picked: tuple[int, int]) -> Made:
        """Where this is, and the condition beside it is so, as far as it can be told."""
        if not one.ways:
            return one
        rank = len(getattr(condition.aval, "shape", ()))
        labels = tuple([one.places.index(d) if d in one.places else MIXED for d in range(rank)])
        return self.when(one, self.told(at, condition, picked, labels, BACK))

    def when(self, one: Made, told: list[int]) -> Made:
        """Where this is and all of the conditions hold, as far as they can be kept."""
        if not told or not one.ways:
            return one
        result = []
        for way in one.ways:
            for bit in told:
                if way & self.against[bit]:
                    break
                if way.bit_count() < CONDITIONS:
                    way |= 1 << bit
            else:
                result.append(way)
        if not result:
            return NOTHING
        return Made(tuple(result) if len(result) < 2 else self.any([tuple(result)]), one.places)

    def told(self, at: _At, atom: Any, picked: tuple[int, int], labels: Places, depth: int) -> list[int]:
        """The conditions, made without the value, that hold where an element of this is in between.

        By dimension of it, `labels` are the dimensions of index tuples beside it.
        """
        found: list[int] = []
        while depth > 0 and type(atom) is not Literal:
            depth -= 1
            lanes = self.lanes(at, atom, labels)
            made = self.uses.maker(at.jaxpr, atom)
            if made is None:
                if lanes is not None:
                    return [self.bit(atom, picked, lanes)]
                if at.around is None or atom not in at.names:
                    return found
                at, atom = at.around, at.names[atom]
                continue
            if lanes is not None:
                found = [self.bit(atom, picked, lanes)]
            source: Any = made.invars[0] if made.invars else None
            if made.primitive in SPREAD:
                before = labels_before(made, labels)
                if before is None:
                    return found
                atom, labels = source, before
            elif made.primitive is _CONVERT and source.aval.dtype == bool and dtype_info(atom.aval.dtype).integral:
                holds = [k for k in (0, 1) if picked[0] <= k <= picked[1]]
                if len(holds) != 1:
                    return found
                atom, picked = source, (holds[0], holds[0])
            elif atom.aval.dtype == bool and made.primitive is _NOT:
                atom, picked = source, (1 - picked[1], 1 - picked[0])
            elif atom.aval.dtype == bool and (made.primitive, picked) in ((_AND, (1, 1)), (_OR, (0, 0))):
                if lanes is not None:
                    return found
                several = [self.told(at, v, picked, labels[: len(v.aval.shape)], depth) for v in made.invars]
                return list(dict.fromkeys([bit for bits in several for bit in bits]))
            else:
                return found
        return found

    def lanes(self, at: _At, atom: Any, labels: Places) -> tuple[int, ...] | None:
        """For which dimensions of index tuples a condition has numbers of its own; None where it does not do as one."""
        if at.around is not None or atom in at.made:
            return None
        wide = tuple([label for label, n in zip(labels, atom.aval.shape, strict=True) if n != 1])
        # In another order each of its numbers would be beside another lane's element.
        return None if MIXED in wide or list(wide) != sorted(wide) else wide

    def bit(self, condition: Any, picked: tuple[int, int], lanes: tuple[int, ...]) -> int:
        key = (condition, *picked, lanes)
        found = self.known.get(key)
        if found is None:
            found = self.known[key] = len(self.terms)
            self.terms.append(Term(condition, *picked, self.eqn, lanes))
            self.against.append(0)
            for k, one in enumerate(self.terms):
                # Along other lanes it is other numbers.
                same = one.condition is condition and one.lanes == lanes
                if same and (one.most < picked[0] or one.least > picked[1]):
                    self.against[k] |= 1 << found
                    self.against[found] |= 1 << k
        return found

    def conditions(self, way: int) -> list[Term]:
        return [term for k, term in enumerate(self.terms) if way >> k & 1]


def _are_same(some: Sequence[Made], others: Sequence[Made]) -> bool:
    return all(a.is_same(b) for a, b in zip(some, others, strict=True))


def together(one: Made) -> Made:
    """The same where index tuples are no longer told apart."""
    return Made(one.ways, (MIXED,) * len(one.places))


def picks(select: Any, case: int) -> tuple[int, int]:
    """What a select's condition is, least and most, where it picks a case: beyond the cases it picks the nearest."""
    return _nearest(select.invars[0], case, len(select.invars) - 1)


def _nearest(which: Any, case: int, cases: int) -> tuple[int, int]:
    info = dtype_info(which.aval.dtype)
    if info.kind == "b":
        return case, case
    return case if case else info.min, case if case < cases - 1 else info.max
