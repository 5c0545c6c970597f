"""Sums of an array and its running sums, as two numbers that have to do with each other.

Of n numbers between `lo` and `hi` the sum of the first k + 1, R, lies between so many times `lo` and so many times
`hi`. So does what is left of all of them, T - R, with the other n - 1 - k: a running sum of what is not negative is
no more than the whole. Numbers that are made from others alike, `~m` or `1 - m`, are told by the sums of those: n - T.
All this is about true sums, so only of numbers that are so small that no sum of them leaves its type.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from redzone.domains import dtype_info, summarised
from redzone.domains.affine import Linear
from redzone.engine.forward import Context
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import primitives
from redzone.prove.pieces import EVERYWHERE, Handler, NotAffine, Piece, Place
from redzone.prove.reach import NEAR
from redzone.rules.table import SAME

if TYPE_CHECKING:
    from redzone.prove.elements import Elements

_P = primitives()
_SUM, _CUMSUM, _NOT, _SUB, _SELECT, _CONVERT = (
    _P[f"{n}_p"] for n in ("reduce_sum", "cumsum", "not", "sub", "select_n", "convert_element_type")
)
#: How many equations lie between numbers and those they are made from.
DEEP = 6


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
    primitive, eqn = step.eqn.primitive, step.eqn
    if step.rule is SAME:
        return Made(step.ins[0], 1, 0)
    if not all(getattr(v.aval, "dtype", None) is not None for v in eqn.invars) or len(step.ins) != len(eqn.invars):
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
    if step.eqn.primitive is _SUM and len(step.eqn.params["axes"]) == 1:
        return int(step.eqn.params["axes"][0])
    if step.eqn.primitive is _CUMSUM and not step.eqn.params["reverse"]:
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
            ways += 2 if step.eqn.primitive is _CUMSUM else 1
    return ways > 1


def _summed(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """An element of a sum or running sum along one axis."""
    axis, shape = _summing(step), step.eqn.invars[0].aval.shape
    if axis is None or any(type(n) is not int for n in shape) or shape[axis] < 2:
        raise NotAffine
    n, running = shape[axis], step.eqn.primitive is _CUMSUM
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
    named = (id(context.env), made.slot, axis, tuple(p.key() for p in others))
    self.kept.append(context.env)
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
    region = EVERYWHERE.where(*guards)
    return [] if region is None else [(region, value)]


def _total(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """A sum over dimensions, of which those of one element add nothing."""
    shape, axes = step.eqn.invars[0].aval.shape, step.eqn.params["axes"]
    if any(shape[axis] != 1 for axis in axes):
        return _summed(self, context, step, place)
    rest = iter(place)
    return self.value(context, step.ins[0], tuple(Linear(0) if d in axes else next(rest) for d in range(len(shape))))


SUMS: dict[str, Handler] = {"cumsum": _summed, "reduce_sum": _total}
