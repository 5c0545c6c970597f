"""Does anybody see what is read or written outside an array? It is followed to the program's results.

An access that leaves its array on some input is a mistake only if it matters: lanes of a batched loop that are done,
branches that vmap turned into selects and masks of the program's own throw away much. The program is run once more on
that input, and each number knows whether it was made from what was read outside: a select passes on what it picks, a
write what it writes, a rearrangement moves it, anything else spreads it along the dimensions that it puts together. Of
an array that was written to outside, any number may be another. Where it reaches no result, the input shows nothing.
What decides a branch, or is printed, is seen.
"""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from redzone.access.site import Site
from redzone.engine.inventory import CALLS, COND_P, PLAIN, SCAN_P, SHARD_MAP_P, WHILE_P, children
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.prove.concrete import listing
from redzone.prove.concrete_random import is_key, words
from redzone.prove.latest import Latest
from redzone.prove.passing import MIXED, carried, neutral_of
from redzone.prove.purse import GaveUp, Purse
from redzone.prove.replay import Broken, Replay
from redzone.prove.replay_plan import Plan
from redzone.prove.shards import Place
from redzone.prove.uses import SCATTERS
from redzone.rules import RULES

_P: Final = primitives()
_GATHER: Final = _P["gather_p"]
_DYNAMIC_SLICE: Final = _P["dynamic_slice_p"]
_SELECT: Final = _P["select_n_p"]
_AND: Final = _P["and_p"]
_OR: Final = _P["or_p"]
_UNSTACK: Final = _P.get("unstack_p")
#: Equations that move numbers about: which of their operands those are; the others say where to.
_MOVED: Final[dict[Any, tuple[int, ...] | None]] = {
    **{
        _P[f"{name}_p"]: None for name in ("broadcast_in_dim", "reshape", "squeeze", "transpose", "rev", "slice", "pad")
    },
    **{_P[f"{name}_p"]: None for name in ("concatenate", "stack", "copy") if f"{name}_p" in _P},
    _GATHER: (0,),
    _DYNAMIC_SLICE: (0,),
    _P["scatter_p"]: (0, 2),
    _P["dynamic_update_slice_p"]: (0, 1),
}
#: What can make nothing of a number: choosing another, and conditions that are decided without it.
_HIDING: Final = frozenset((_SELECT, _AND, _OR, _P["scatter_p"], _P["dynamic_update_slice_p"]))
#: The accesses that are followed.
_FOLLOWED: Final = SCATTERS | {_GATHER, _DYNAMIC_SLICE, _P["dynamic_update_slice_p"]}
#: What running a program to its end may cost.
COST: Final = 4_000
#: What one input on which nobody sees anything may cost, of several.
EACH: Final = 120
#: A program with more equations is not run for it.
LONGEST: Final = 600


def is_visible(closed: Any, site: Site, arguments: list[Any], times: int) -> bool:
    """Whether what an access reads or writes outside on these inputs reaches any result, as far as can be told.

    After so many inputs on which it does not, or after what these may cost, no other is looked at.
    """
    if site.eqn.primitive not in _FOLLOWED:
        return True
    follow = _following(closed, site)
    if follow is None or not follow.hides:
        return True
    key = tuple([_identity(a) for a in arguments])
    found = follow.known.get(key)
    if found is None and follow.unseen < times and follow.cost < times * EACH:
        found = follow.known[key] = follow.reaches_a_result(arguments)
        follow.unseen += not found
        follow.cost += COST - max(follow.left, 0)
    return bool(found)


class _Known:
    """Who follows the accesses of a program."""

    def __init__(self) -> None:
        self.long: bool | None = None
        """Whether it is too long to be run to its end, where somebody asked."""
        self.following: dict[int, _Following] = {}


_LATEST: Final = Latest(_Known)


def _following(closed: Any, site: Site) -> _Following | None:
    """Who follows an access: what was found out about the program is known for the next input. None in a long one."""
    known: _Known = _LATEST.of(closed)
    if known.long is None:
        known.long = _equations(open_jaxpr(closed)[0], LONGEST) > LONGEST
    if known.long:
        return None
    following = known.following
    found = following.get(id(site.eqn))
    if found is None or found.site is not site:
        purse = Purse(COST, compiles=False, each=COST)
        # Numbers need only be about right.
        purse.sure = purse
        found = following[id(site.eqn)] = _Following(closed, site, purse)
    return found


def _identity(value: Any) -> Any:
    """Equal for equal arrays of one shape and type."""
    return np.asarray(words(value) if is_key(value) else value).tobytes()


def _equations(jaxpr: Any, enough: int) -> int:
    """How many equations a jaxpr has, with those inside; not counted further where that is enough."""
    count = len(jaxpr.eqns)
    for eqn in jaxpr.eqns:
        if count > enough:
            break
        if eqn.primitive not in PLAIN:
            count += sum(_equations(inner, enough) for inner in children(eqn))
    return count


class _Seen(Exception):
    """What was read outside decides where the program goes, or nobody can tell what it does."""


class _Hidden(Exception):
    """Nothing that was made from it is left."""


class Marked:
    """A value of which some elements were made from what was read outside."""

    __slots__ = ("mask", "value")

    def __init__(self, value: Any, mask: Any) -> None:
        self.value = value
        self.mask = mask


def _marked(value: Any, mask: Any) -> Any:
    return Marked(value, mask) if np.any(mask) else value


def _plain(value: Any) -> Any:
    return value.value if type(value) is Marked else value


def _mask(value: Any) -> Any:
    return value.mask if type(value) is Marked else np.zeros(np.shape(value), bool)


def _reached(eqn: Any, position: int, mask: Any, shape: tuple[int, ...]) -> Any:
    """Which elements of a result an equation makes from marked ones of an operand, going by its dimensions."""
    if not mask.any():
        return np.zeros(shape, bool)
    places = carried(eqn, position, tuple(range(mask.ndim)))
    kept = [d for d, p in enumerate(places) if p != MIXED and mask.shape[d] == shape[p]]
    left = np.asarray(mask.any(axis=tuple([d for d in range(mask.ndim) if d not in kept])))
    order = [places[d] for d in kept]
    left = left.transpose(sorted(range(left.ndim), key=lambda k: order[k]))
    return np.broadcast_to(left.reshape([n if d in order else 1 for d, n in enumerate(shape)]), shape)


class _Following(Replay):
    """Runs one program to its end on one input, and follows what one access reads outside."""

    def __init__(self, closed: Any, site: Site, purse: Purse) -> None:
        super().__init__(closed, [site], purse)
        self.site = site
        self.left_once = False
        """Whether anything was read or written outside."""
        self.known: dict[Any, bool] = {}
        """By inputs: what came of it."""
        self.unseen = self.cost = 0
        """On how many of them nobody sees it; what looking at them cost."""
        self.asked: frozenset[int] = frozenset()
        """The results that may be made from what was read."""
        self.whole: Plan | None = None
        self.ends: list[int] = []
        """By place of a value in the whole program's plan: after which step nobody needs it."""
        self.last = -1
        """The last step of that which holds the access."""
        self.hides = self.may_hide(self.jaxpr, set())
        """Whether anything can throw it away."""

    def inside(self, eqn: Any) -> bool:
        # Whatever does more than compute is run too.
        return bool(eqn.effects) or super().inside(eqn)

    def may_hide(self, jaxpr: Any, reached: set[Any]) -> bool:
        """Whether what is read meets anything that can throw it away; `reached` is what it has come to, and grows."""
        for eqn in jaxpr.eqns:
            mine = [k for k, v in enumerate(eqn.invars) if type(v) is not Literal and v in reached]
            if not mine and not super().inside(eqn):
                continue
            if eqn.primitive in CALLS:
                inner = open_jaxpr(eqn.params[CALLS[eqn.primitive]])[0]
                within = {inner.invars[k] for k in mine if k < len(inner.invars)}
                if self.may_hide(inner, within):
                    return True
                made = zip(eqn.outvars, inner.outvars, strict=False)
                reached.update([v for v, result in made if type(result) is not Literal and result in within])
                continue
            if (
                eqn.primitive in _HIDING
                or (eqn is self.site.eqn and neutral_of(eqn) is not None)
                or (eqn.primitive not in PLAIN and eqn is not self.site.eqn)
            ):
                return True
            reached.update(eqn.outvars)
        return False

    def reaches_a_result(self, arguments: list[Any]) -> bool:
        if self.whole is None:
            self.whole = self.prepared()
        self.left, self.left_once, self.place = self.purse.each, False, {}
        self.path.clear()
        try:
            with np.errstate(all="ignore"):
                results = self.run(self.whole, self.plainly(arguments))
        except _Hidden:
            return False
        except (GaveUp, Broken, _Seen):
            return True
        return not self.left_once or any(results[i] is None or type(results[i]) is Marked for i in self.asked)

    def prepared(self) -> Plan:
        """What is run of the program."""
        jaxpr, reached = self.jaxpr, set[Any]()
        for eqn in jaxpr.eqns:
            if super().inside(eqn) or any(type(v) is not Literal and v in reached for v in eqn.invars):
                reached.update(eqn.outvars)
        self.asked = frozenset(i for i, v in enumerate(jaxpr.outvars) if type(v) is not Literal and v in reached)
        plan = self.plan(jaxpr, self.consts, self.asked)
        self.ends = [-1] * len(plan.values)
        for at, step in enumerate(plan.steps):
            for k in step[2]:
                self.ends[k] = at
            if super().inside(step[0]):
                self.last = at
        for k in plan.results:
            self.ends[k] = len(plan.steps)
        return plan

    def run(self, plan: Plan, arguments: list[Any]) -> list[Any]:
        values, whole = plan.values.copy(), plan is self.whole
        values[: len(arguments)] = arguments
        for at, (eqn, mine, operands, places, _, single, function, _) in enumerate(plan.steps):
            self.left -= 1
            if self.left < 0:
                raise GaveUp
            inputs = [values[k] for k in operands]
            if single is not None:
                for value in inputs:
                    if value is None or type(value) is Marked:
                        break
                else:
                    values[places[0]] = single(*inputs)
                    continue
            for k, result in zip(places, self.results(eqn, inputs, mine, single, function), strict=False):
                values[k] = result
            if whole and at >= self.last and self.left_once:
                ends = self.ends
                if not any(type(v) is Marked and ends[k] > at for k, v in enumerate(values)):
                    raise _Hidden
        return [values[k] for k in plan.results]

    def results(self, eqn: Any, inputs: list[Any], mine: frozenset[int], single: Any, function: Any) -> list[Any]:
        """What an equation yields, with what of it is made from what was read outside."""
        reads = eqn is self.site.eqn
        if not reads and not any(type(x) is Marked for x in inputs):
            return self.plain_results(eqn, inputs, mine, single, function)
        if eqn.primitive in (COND_P, SCAN_P, WHILE_P, SHARD_MAP_P):
            return self.step(eqn, inputs, mine)
        if eqn.effects:
            raise _Seen
        given = [_plain(x) for x in inputs]
        known = given[0] is not None and type(inputs[0]) is not Marked
        if not reads and eqn.primitive is _SELECT and known and not np.ndim(given[0]):
            # Of the other cases nothing need be known.
            return [inputs[1 + min(max(int(given[0]), 0), len(inputs) - 2)]]
        results = self.plain_results(eqn, self.moved_inside(given) if reads else given, mine, single, function)
        if any(result is None for result in results):
            raise _Seen
        alike = all(np.shape(result) == np.shape(results[0]) for result in results)
        moving = function if single is None else listing(single)
        masks = [self.spread(eqn, inputs, moving, results)] * len(results) if alike and results else None
        if eqn.primitive is _UNSTACK:
            masks = list(np.moveaxis(_mask(inputs[0]), eqn.params["axis"], 0))
        if reads and masks is not None:
            outside = self.outside(given)
            if outside is None:
                raise _Seen
            self.left_once = self.left_once or bool(outside.any())
            masks = [mask | outside for mask in masks]
        return [
            _marked(r, masks[k] if masks is not None else np.ones(np.shape(r), bool)) for k, r in enumerate(results)
        ]

    def plain_results(self, eqn: Any, inputs: list[Any], mine: frozenset[int], single: Any, function: Any) -> list[Any]:
        if eqn.effects and eqn.primitive not in (COND_P, SCAN_P, WHILE_P, SHARD_MAP_P):
            return [None] * len(eqn.outvars)
        known = all(x is not None for x in inputs)
        if single is not None and known:
            return [single(*inputs)]
        results: list[Any] | None = function(inputs) if function is not None and known else None
        return self.step(eqn, inputs, mine) if results is None else results

    def spread(self, eqn: Any, inputs: list[Any], function: Any, results: list[Any]) -> Any:
        """Which elements of the only result are made from marked ones."""
        shape, primitive = np.shape(results[0]), eqn.primitive
        masks = [_mask(x) for x in inputs]
        if primitive is _SELECT:
            which = np.broadcast_to(np.asarray(_plain(inputs[0]), np.int64), shape)
            return np.choose(which, [np.broadcast_to(m, shape) for m in masks[1:]], mode="clip") | masks[0]
        if primitive in (_AND, _OR) and np.asarray(results[0]).dtype == bool:
            a, b = (np.asarray(_plain(x)) for x in inputs)
            # What is False settles a conjunction, what is True the other.
            a, b = (~a, ~b) if primitive is _AND else (a, b)
            decided = (a & ~masks[0]) | (b & ~masks[1])
            return (masks[0] | masks[1]) & ~decided
        if primitive in _MOVED and function is not None:
            moved = _MOVED[primitive]
            if not any(m.any() for k, m in enumerate(masks) if moved is not None and k not in moved):
                # The marks are moved as the numbers are.
                numbers = [
                    m.astype(np.asarray(_plain(x)).dtype) if moved is None or k in moved else x
                    for k, (x, m) in enumerate(zip(inputs, masks, strict=True))
                ]
                found = function(numbers)
                if found is not None:
                    return np.asarray(found[0]) != 0
        rule = RULES.get(primitive)
        if rule is not None and rule.pointwise and all(m.shape in ((), shape) for m in masks):
            return np.logical_or.reduce([np.broadcast_to(m, shape) for m in masks])
        return np.logical_or.reduce([_reached(eqn, k, mask, shape) for k, mask in enumerate(masks)])

    def outside(self, inputs: list[Any]) -> Any:
        """For each element of the access's result, whether an index tuple that leaves the array makes it another."""
        eqn, columns = self.site.eqn, self.site.columns
        if any(c.also is not None or c.repeat != 1 or inputs[c.operand] is None for c in columns):
            return None
        shape, numbers = eqn.outvars[0].aval.shape, eqn.params.get("dimension_numbers")
        if numbers is None:
            return np.full(shape, any(not 0 <= int(inputs[c.operand]) <= c.limit for c in columns))
        indices = np.asarray(inputs[1])
        left: Any = np.zeros(indices.shape[:-1], bool)
        for c in columns:
            # Whole numbers of any width, compared as such.
            index = indices[..., c.column].astype(object)
            left = left | np.asarray((index < 0) | (index > c.limit), bool)
        if eqn.primitive is not _GATHER:
            return self.written_outside(inputs, left)
        batch = iter(left.shape)
        offsets = numbers.offset_dims
        return np.broadcast_to(left.reshape([1 if d in offsets else next(batch) for d in range(len(shape))]), shape)

    def moved_inside(self, inputs: list[Any]) -> list[Any]:
        """A scatter's operands with index tuples that can be run: what they write in their lane does not matter."""
        eqn = self.site.eqn
        if eqn.primitive not in SCATTERS or inputs[1] is None:
            return inputs
        indices = np.array(inputs[1])
        for c in self.site.columns:
            if c.column is not None and type(c.limit) is int:
                limit = min(c.limit, int(np.iinfo(indices.dtype).max))
                indices[..., c.column] = np.clip(indices[..., c.column], 0, max(limit, 0))
        return [inputs[0], indices, *inputs[2:]]

    def written_outside(self, inputs: list[Any], left: Any) -> Any:
        """As `outside`, given which index tuples of a scatter leave: all of their lane, unless that changes nothing."""
        eqn = self.site.eqn
        shape, numbers = eqn.outvars[0].aval.shape, eqn.params["dimension_numbers"]
        neutral, updates = neutral_of(eqn), np.asarray(inputs[2])
        self.left_once = self.left_once or bool(left.any())
        if neutral is not None:
            left = left & np.asarray(updates != neutral).any(axis=tuple(numbers.update_window_dims))
        lanes = dict(zip(numbers.scatter_indices_batching_dims, numbers.operand_batching_dims, strict=True))
        left = left.any(axis=tuple([d for d in range(left.ndim) if d not in lanes]))
        # What is left are the lanes, in the order of the indices.
        order = [lanes[d] for d in sorted(lanes)]
        left = left.transpose(sorted(range(left.ndim), key=lambda d: order[d]))
        return np.broadcast_to(left.reshape([n if d in order else 1 for d, n in enumerate(shape)]), shape)

    def decides(self, value: Any) -> Any:
        if type(value) is Marked:
            raise _Seen
        return value

    def shard(self, value: Any, spec: Any, place: Place) -> Any:
        if type(value) is Marked:
            return _marked(super().shard(value.value, spec, place), super().shard(value.mask, spec, place))
        return super().shard(value, spec, place)

    def together(self, shards: list[Any], spec: Any, places: list[Place], aval: Any) -> Any:
        values = super().together([_plain(x) for x in shards], spec, places, aval)
        return (
            None
            if values is None
            else _marked(values, super().together([_mask(x) for x in shards], spec, places, aval))
        )

    def row(self, value: Any, t: int) -> Any:
        if type(value) is Marked:
            return _marked(value.value[t], value.mask[t])
        return super().row(value, t)

    def stacked(self, rows: list[Any], aval: Any) -> Any:
        values = super().stacked([_plain(r) for r in rows], aval)
        return values if values is None or not rows else _marked(values, np.stack([_mask(r) for r in rows]))

    def kept(self, holds: np.ndarray, new: Any, old: Any) -> Any:
        value = super().kept(holds, _plain(new), _plain(old))
        return None if value is None else _marked(value, super().kept(holds, _mask(new), _mask(old)))
