"""Sums of an array and its running sums, as two numbers that have to do with each other.

Of n numbers between `lo` and `hi` the sum of the first k + 1, R, lies between so many times `lo` and so many times
`hi`. So does what is left of all of them, T - R, with the other n - 1 - k: a running sum of what is not negative is
no more than the whole. Numbers that are made from others alike, `~m` or `1 - m`, are told by the sums of those: n - T.
All this is about true sums, so only of numbers that are so small that no sum of them leaves its type.

How many of some numbers equal another is one and the same number however it is counted: `(keys == k).sum()`, or
`zeros.at[keys].add(1)` at k. And where at most one term of a sum is not zero, `(x * (arange(n) == k)).sum()`, the sum
is that term.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from redzone.domains import dtype_info, summarised
from redzone.domains.affine import Linear
from redzone.engine.forward import Context
from redzone.engine.hot import Hot, consecutive, terms_of_one
from redzone.engine.program import OBSERVE, SIMPLE, Program, Step, made_by
from redzone.frontend.compat import primitives
from redzone.prove.pieces import EVERYWHERE, Handler, NotAffine, Piece, Place
from redzone.prove.reach import NEAR
from redzone.rules.table import SAME

if TYPE_CHECKING:
    from redzone.prove.elements import Elements

_P: Final = primitives()
_SUM: Final = _P["reduce_sum_p"]
_CUMSUM: Final = _P["cumsum_p"]
_NOT: Final = _P["not_p"]
_SUB: Final = _P["sub_p"]
_SELECT: Final = _P["select_n_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_EQ: Final = _P["eq_p"]
_ADDED: Final = _P["scatter_add_p"]
#: How many equations lie between numbers and those they are made from.
DEEP: Final = 6
#: How many equations behind what is counted are looked at, however far from the index that is: alike from each sum.
BEHIND: Final = 6
#: How many pieces numbers that are counted may have.
TOLD_APART: Final = 6


class Made(NamedTuple):
    """Numbers that are `times · x + plus`, element by element."""

    slot: int
    """Where x is."""
    times: int
    plus: int


def made_from(program: Program, env: list[Any], slot: int) -> Made:
    """What numbers are made from, by equations that no number wraps in."""
    found = Made(slot, 1, 0)
    for _ in range(DEEP):
        step = program.defs.get(found.slot)
        inner = None if step is None or step.kind != SIMPLE else _behind(program, env, step)
        if inner is None or inner.slot in program.unknown:
            break
        found = Made(inner.slot, found.times * inner.times, found.times * inner.plus + found.plus)
    return found


def _behind(program: Program, env: list[Any], step: Step) -> Made | None:
    """One equation further back; None where there is no such."""
    primitive, eqn = step.primitive, step.eqn
    if step.rule is SAME:
        return Made(step.ins[0], 1, 0)
    if not all(getattr(v.aval, "dtype", None) is not None for v in eqn.invars) or len(step.ins) != len(eqn.invars):
        return None
    if not eqn.invars or not eqn.outvars:
        return None
    source, target = dtype_info(eqn.invars[0].aval.dtype), dtype_info(eqn.outvars[0].aval.dtype)
    if primitive is _CONVERT and source.integral and target.kind in "iu":
        return Made(step.ins[0], 1, 0) if target.min <= source.min and source.max <= target.max else None
    if primitive is _NOT and target.kind == "b":
        return Made(step.ins[0], -1, 1)
    shape = eqn.outvars[0].aval.shape
    if primitive is _SUB and target.kind in "iu" and eqn.invars[1].aval.shape == shape:
        first, fact = _number(env, step.ins[0]), env[step.ins[1]]
        whole = None if fact is None else summarised(fact)
        if first is None or whole is None or type(whole.lo) is not int or type(whole.hi) is not int:
            return None
        fits = target.min <= first - whole.hi and first - whole.lo <= target.max
        return Made(step.ins[1], -1, first) if fits else None
    if primitive is _SELECT and len(step.ins) == 3 and source.kind == "b" and eqn.invars[0].aval.shape == shape:
        low, high = (_number(env, slot) for slot in step.ins[1:])
        if target.integral and low is not None and high is not None and low != high:
            return Made(step.ins[0], high - low, low)
    return None


def _number(env: list[Any], slot: int) -> int | None:
    fact = env[slot]
    return None if fact is None or fact.step != 0 or type(fact.lo) is not int else fact.lo


def _summing(step: Step) -> int | None:
    """The one axis along which a step sums up from its beginning; None for another step."""
    if step.kind != SIMPLE or not step.outs or dtype_info(step.eqn.outvars[0].aval.dtype).kind not in "iu":
        return None
    if step.primitive is _SUM and len(step.eqn.params["axes"]) == 1:
        return int(step.eqn.params["axes"][0])
    if step.primitive is _CUMSUM and not step.eqn.params["reverse"]:
        return int(step.eqn.params["axis"])
    return None


def _are_compared(context: Context, made: Made, axis: int) -> bool:
    """Whether the same numbers are summed up in more than one way, so that one says something of the other."""
    program, env = context.program, context.env
    known: list[tuple[Step, int]] | None = program.memo.get("summing")
    if known is None:
        sums = [(step, along) for step in program.steps if (along := _summing(step)) is not None]
        known = program.memo["summing"] = sums
    ways = 0
    for step, along in known:
        if along == axis and made_from(program, env, step.ins[0]).slot == made.slot:
            # A running sum is the whole one at its last place.
            ways += 2 if step.primitive is _CUMSUM else 1
    return ways > 1 or (_equality(context, made.slot) is not None and _are_counted(program))


def _are_counted(program: Program) -> bool:
    """Whether anything is counted by adding ones to an array."""
    known: bool | None = program.memo.get("counting")
    if known is None:
        added = [step for step in program.steps if step.kind == SIMPLE and step.primitive is _ADDED]
        known = program.memo["counting"] = any(_counts_along(step) for step in added)
    return known


def _counts_along(step: Step) -> bool:
    """Whether a step adds one number at each of several places along the last dimension, in each batch by itself."""
    numbers, (into, places, _) = step.eqn.params["dimension_numbers"], (v.aval.shape for v in step.eqn.invars)
    last = len(into) - 1
    batch = tuple(range(last))
    plain = numbers.update_window_dims == () and tuple(map(int, numbers.scatter_dims_to_operand_dims)) == (last,)
    apart = tuple(numbers.operand_batching_dims) == batch == tuple(numbers.scatter_indices_batching_dims)
    sized = len(into) >= 1 and len(places) == last + 2 and all(type(n) is int for n in (*into, *places))
    return plain and apart and sized and dtype_info(step.eqn.outvars[0].aval.dtype).kind in "iu"


def _equality(context: Context, slot: int) -> Step | None:
    """The comparison of whole numbers that says which of them are equal, if that is what is in a slot."""
    step = context.program.defs.get(slot)
    if step is None or step.kind != SIMPLE or step.primitive is not _EQ or len(step.ins) != 2:
        return None
    return step if dtype_info(step.eqn.invars[0].aval.dtype).kind in "iu" else None


def _name(self: Elements, context: Context, made: Made, axis: int, others: Place, n: int) -> tuple[Any, ...]:
    """What is summed up along an axis at some place: numbers that are equal have one name, if they are seen to be."""
    equal = _equality(context, made.slot)
    if equal is not None:
        full = (*others[:axis], self.any_of(n), *others[axis:])
        deep, self.depth = self.depth, min(self.depth, max(self.deepest - BEHIND, 0))
        try:
            name = _count_name(n, *[_compared(self, context, equal, k, full) for k in (0, 1)])
        finally:
            self.depth = deep
        if name is not None:
            return name
    self.kept.append(context.env)
    return (id(context.env), made.slot, axis, tuple(p.key() for p in others))


def _compared(self: Elements, context: Context, equal: Step, k: int, place: Place) -> list[Piece]:
    """A number that is compared, as the machine holds it: one that is as large as a position has not wrapped."""
    pieces, dtype = self.operand(context, equal, k, place, ring=True), equal.eqn.invars[k].aval.dtype
    if len(pieces) == 1 and pieces[0][0] is EVERYWHERE:
        key, most = pieces[0][1].key(), dtype_info(dtype).max
        shape = equal.eqn.outvars[0].aval.shape
        if any(p.key() == key and type(size) is int and size <= most for p, size in zip(place, shape, strict=True)):
            return pieces
    return self.held(pieces, dtype)


def _count_name(n: int, first: list[Piece], second: list[Piece]) -> tuple[Any, ...] | None:
    """The name of how many of n numbers are equal to others: of both, what they are at any one place."""
    one, other = _numbers_name(first), _numbers_name(second)
    return None if one is None or other is None else ("equal", n, frozenset((one, other)))


def _numbers_name(pieces: list[Piece]) -> Any:
    """Numbers with equal names are equal at every place; None where the pieces may leave it open which they are.

    An atom is one number, so where no two pieces hold at once, they say what the number is.
    """
    if len(pieces) == 1 and pieces[0][0] is EVERYWHERE:
        return pieces[0][1].key()
    if not 0 < len(pieces) <= TOLD_APART:
        return None
    for k, (region, _) in enumerate(pieces):
        if any(region.both(other) is not None for other, _ in pieces[:k]):
            return None
    return frozenset([(region.key(), value.key()) for region, value in pieces])


def _places(program: Program, step: Step) -> int:
    """The slot of the places that a step writes to: only the access itself may have asked for them."""
    known: dict[int, int] | None = program.memo.get("places")
    if known is None:
        observed = [one for one in program.steps if one.kind == OBSERVE and one.primitive is _ADDED]
        known = program.memo["places"] = {id(one.eqn): one.ins[0] for one in observed}
    return known.get(id(step.eqn), step.ins[1])


def _counted(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """An element of an array of zeros that ones are added to: how many of the places are its own."""
    if not _counts_along(step) or len(step.ins) != 3:
        raise NotAffine
    slot = _places(context.program, step)
    into, ones, where = (context.env[k] for k in (step.ins[0], step.ins[2], slot))
    if not context.program.unknown.isdisjoint((step.ins[0], step.ins[2], slot)):
        raise NotAffine
    if any(fact is None or fact.step != 0 or fact.lo != number for fact, number in ((into, 0), (ones, 1))):
        raise NotAffine
    n, size = step.eqn.invars[1].aval.shape[-2], step.eqn.invars[0].aval.shape[-1]
    inside = None if where is None else summarised(where)
    drops = step.eqn.params["mode"].name == "FILL_OR_DROP"
    if inside is None or not (drops or (type(inside.lo) is int and inside.lo >= 0 and inside.hi < size)):
        raise NotAffine
    info = dtype_info(step.eqn.outvars[0].aval.dtype)
    dtype = step.eqn.invars[1].aval.dtype
    deep, self.depth = self.depth, min(self.depth, max(self.deepest - BEHIND, 0))
    try:
        at = self.held(self.value(context, slot, (*place[:-1], self.any_of(n), Linear(0))), dtype)
    finally:
        self.depth = deep
    name = _count_name(n, at, [(EVERYWHERE, place[-1])])
    if name is None or not 0 < n <= min(info.max, NEAR):
        raise NotAffine
    return [(EVERYWHERE, self.atom(("sum", *name), f"v{step.outs[0]}", 0, n))]


def _summed(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """An element of a sum or running sum along one axis."""
    axis, shape = _summing(step), step.eqn.invars[0].aval.shape
    if axis is None or any(type(n) is not int for n in shape) or shape[axis] < 2:
        raise NotAffine
    n, running = shape[axis], step.primitive is _CUMSUM
    made = made_from(context.program, context.env, step.ins[0])
    fact = context.env[made.slot]
    whole = None if fact is None else summarised(fact)
    if whole is None or made.slot in context.program.unknown or not _are_compared(context, made, axis):
        raise NotAffine
    lo, hi = whole.lo, whole.hi
    if type(lo) is not int or type(hi) is not int or n * max(abs(lo), abs(hi)) > NEAR:
        raise NotAffine
    info = dtype_info(step.eqn.outvars[0].aval.dtype)
    ends = [made.times * end + made.plus for end in (lo, hi)]
    if n * min(0, *ends) < info.min or n * max(0, *ends) > info.max:
        raise NotAffine
    others = tuple(p for d, p in enumerate(place) if d != axis) if running else place
    named = _name(self, context, made, axis, others, n)
    total = self.atom(("sum", *named), f"v{made.slot}", n * lo, n * hi)
    at = place[axis] if running else Linear(n - 1)
    sum_, guards = total, list[Linear]()
    if at.terms or at.const != n - 1:
        sum_ = self.atom(("running", *named, at.key()), f"v{made.slot}", min(lo, n * lo), max(hi, n * hi))
        added, left = at + 1, Linear(n - 1) - at
        rest = total - sum_
        guards = [sum_ - added * lo, added * hi - sum_, rest - left * lo, left * hi - rest]
    value = sum_ * made.times + (at + 1) * made.plus
    known = summarised(context.env[step.outs[0]])
    if type(known.lo) is int and type(known.hi) is int:
        guards += [value - known.lo, Linear(known.hi) - value]
    if running and (at.const < 0 or not at.terms):
        return _before_the_next(self, context, step, place, guards, value)
    region = EVERYWHERE.where(*guards)
    return [] if region is None else [(region, value)]


def _before_the_next(
    self: Elements, context: Context, step: Step, place: Place, guards: list[Linear], value: Linear
) -> list[Piece]:
    """A running sum at one place before another: with what is counted there it is the next one, which has bounds too.

    Both are true sums, as is checked before.
    """
    axis = int(step.eqn.params["axis"])
    at, last = place[axis], step.eqn.invars[0].aval.shape[axis] - 1
    lo, hi = at.bounds({})
    most = summarised(context.env[step.outs[0]]).hi
    pieces = [(region, value)] if (region := EVERYWHERE.where(*guards)) is not None else []
    made = made_by(context.program, step.ins[0])
    if made is None or (made.primitive is not _ADDED and made.primitive is not _SUM):
        return pieces
    if type(most) is not int or lo >= last or not pieces:
        return pieces
    counts = self.value(context, step.ins[0], (*place[:axis], at + 1, *place[axis + 1 :]))
    added = self.held(counts, step.eqn.invars[0].aval.dtype)
    if len(added) != 1 or added[0][0] is not EVERYWHERE:
        return pieces
    found = [EVERYWHERE.where(*guards, Linear(last - 1) - at, Linear(most) - value - added[0][1])]
    if hi >= last:
        found.append(EVERYWHERE.where(*guards, at - last))
    return [(region, value) for region in found if region is not None]


def _total(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """A sum over dimensions, of which those of one element add nothing."""
    shape, axes = step.eqn.invars[0].aval.shape, step.eqn.params["axes"]
    if any(shape[axis] != 1 for axis in axes):
        picked = _picked(self, context, step, place)
        return _summed(self, context, step, place) if picked is None else picked
    rest = iter(place)
    return self.value(context, step.ins[0], tuple(Linear(0) if d in axes else next(rest) for d in range(len(shape))))


def _picked(self: Elements, context: Context, step: Step, place: Place) -> list[Piece] | None:
    """A sum of which at most one term is not zero, where a number is among consecutive ones; None of another."""
    program, env = context.program, context.env
    terms = made_by(program, step.ins[0])
    for hot in terms_of_one(program, step):
        ends, equal = consecutive(env, hot), _equality(context, hot.flags)
        if ends is not None and equal is not None and terms is not None:
            return _term(self, context, hot, (equal, terms), ends, place)
    return None


def _term(
    self: Elements, context: Context, hot: Hot, steps: tuple[Step, Step], ends: tuple[int, int], place: Place
) -> list[Piece]:
    """What such a sum is where the number is each of them, and where it is none."""
    equal, terms = steps
    pieces: list[Piece] = []
    # Along the terms it is the same number.
    numbers = self.value(context, hot.other, _beside(equal, hot.other, hot.axis, place, Linear(0)))
    for region, number in self.held(numbers, equal.eqn.invars[0].aval.dtype):
        inside = region.where(number - ends[0], Linear(ends[1]) - number)
        if inside is not None:
            found = [(EVERYWHERE, Linear(1))]
            if hot.value >= 0:
                found = self.value(context, hot.value, _beside(terms, hot.value, hot.axis, place, number - ends[0]))
            pieces += [(both, term) for part, term in found if (both := inside.both(part)) is not None]
        for gone in (region.where(Linear(ends[0] - 1) - number), region.where(number - ends[1] - 1)):
            if gone is not None:
                pieces.append((gone, Linear(0)))
    return pieces


def _beside(step: Step, slot: int, axis: int, place: Place, at: Linear) -> Place:
    """Where an operand of an elementwise step is read, beside a place of a sum along an axis, at a place along that."""
    shape, full = step.eqn.invars[step.ins.index(slot)].aval.shape, (*place[:axis], at, *place[axis:])
    if shape and len(shape) != len(full):
        raise NotAffine
    return tuple([Linear(0) if n == 1 else p for n, p in zip(shape, full, strict=True)]) if shape else ()


SUMS: Final[dict[str, Handler]] = {"cumsum": _summed, "reduce_sum": _total, "scatter_add": _counted}
