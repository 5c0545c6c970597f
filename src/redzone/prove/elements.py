"""An element of an index as a piecewise affine expression of inputs, loop iterations and positions.

`Elements.value(context, slot, position)` follows the equations that made one element of an array back
to what it is made from. What is not affine becomes an atom with the bounds the engine found; the same
element of the same array is the same atom wherever it is met. Machine integers wrap: a sum that can leave
its type is either not looked into, or its answer holds only where it stays inside, and the rest is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from redzone.access.xla import ACCESSES
from redzone.domains import DtypeInfo, Fact, dtype_info, summarised
from redzone.domains.affine import Atom, Linear, Region, effort
from redzone.engine.forward import Context
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.loops import counted_by
from redzone.engine.program import CALL, COND, SCAN, SIMPLE, WHILE, Step
from redzone.frontend.compat import primitives
from redzone.frontend.trace import Input
from redzone.rules.table import SAME

#: How many pieces one value may have, and how many equations one question may look at.
PIECES = 40
LOOKS = 160
#: How many equations deep one question goes.
DEPTH = 60
#: How many pieces an integer may have where only a proof is asked for, and its bounds often do.
FEWER = 24
#: How many pieces a condition may have for the cases it chooses between to be told apart.
CONDITIONS = 16
#: How many elements of a constant table are told apart where the position is not known.
TABLE = 16

Piece = tuple[Region, Linear]
Place = tuple[Linear, ...]

_EVERYWHERE = Region()


class NotAffine(Exception):
    """A value that must be taken as an unknown integer."""


class Work:
    """How much all questions of one kind may cost in one check, and each of them: pieces and constraints looked at."""

    def __init__(self, limit: int, each: int | None = None) -> None:
        self.limit = limit
        self.each = each = limit if each is None else each
        self.pieces = 0
        self.most = min(limit, each)
        self.started = effort[0]

    @property
    def done(self) -> bool:
        """Whether the question now asked has cost too much."""
        return self.pieces > self.most

    def begin(self) -> bool:
        """Begin with a question; False where nothing is left for it."""
        self.started = effort[0]
        self.most = min(self.limit, self.pieces + self.each)
        return self.pieces <= self.limit

    def end(self) -> None:
        """Count the constraints looked at since the beginning."""
        self.pieces += effort[0] - self.started
        self.started = effort[0]


class Elements:
    """The expressions of one program's elements."""

    def __init__(
        self,
        inputs: Sequence[Input],
        rerun: Callable[[Context, Step, int], Context | None],
        work: Work,
        spills: bool = True,
    ) -> None:
        self.inputs = inputs
        self.work = work
        self.spills = spills
        """Whether a value that can leave its integer type is looked into, as far as it stays inside."""
        self.spilled: list[Region] = []
        """Where a value behind the latest question leaves its integer type: the answer holds elsewhere."""
        self.overflows: dict[Any, list[Region]] = {}
        self.rerun = rerun
        self.known: dict[Any, list[Piece]] = {}
        self.atoms: dict[Any, Atom] = {}
        self.origins: dict[Atom, tuple[Context, int, Place]] = {}
        """Which element of which slot an atom stands for."""
        self.paths: dict[int, list[Region]] = {}
        self.kept: list[Any] = []
        """Environments asked about, so that the identity of each stays its own."""
        self.aliases: dict[tuple[int, int], tuple[Context, int]] = {}
        """By environment and slot: the same value in another run."""
        self.missed_z3 = False
        """Whether z3 could have been asked, were it installed."""
        self.promising = False
        """Whether conditions are looked into although they are known to hold."""
        self.limit = LOOKS
        """How many equations one question may look at."""
        self.looks = 0
        self.depth = 0

    # Atoms

    def atom(self, key: Any, name: str, lo: int, hi: int, leaf: int = -1, place: Place = ()) -> Linear:
        found = self.atoms.get(key)
        if found is None:
            found = self.atoms[key] = Atom(name, lo, hi, leaf, place)
        return Linear(0, {found: 1})

    def iteration(self, context: Context) -> Linear:
        """Which iteration of the innermost loop this is, from 0."""
        step = context.step
        assert step is not None
        length = step.extra.length if step.kind == SCAN else None
        self.kept.append(context)
        last = length - 1 if type(length) is int else 2**63
        return self.atom(("t", id(context.env)), "t", 0, last)

    def position(self, key: Any, size: Any) -> Linear:
        """Any position along a dimension."""
        if type(size) is not int:
            raise NotAffine
        return Linear(0) if size <= 1 else self.atom(key, "i", 0, size - 1)

    def opaque(self, context: Context, slot: int, place: Place, leaf: int = -1) -> list[Piece]:
        """An element nothing but bounds is known of."""
        fact: Fact | None = context.env[slot]
        if fact is None:
            raise NotAffine
        lo, hi, step = _bounds_at(fact, place)
        if type(lo) is not int or type(hi) is not int:
            raise NotAffine
        if lo == hi:
            return [(_EVERYWHERE, Linear(lo))]
        key = (leaf, _key(place)) if leaf >= 0 else (id(context.env), slot, _key(place))
        self.kept.append(context.env)
        name = self.inputs[leaf].name if leaf >= 0 else f"v{slot}"
        if step > 1 and leaf < 0:
            return [(_EVERYWHERE, self.atom(key, name, 0, (hi - lo) // step) * step + lo)]
        value = self.atom(key, name, lo, hi, leaf, place)
        if leaf < 0:
            self.origins[next(iter(value.terms))] = (context, slot, place)
        return [(_EVERYWHERE, value)]

    # Values

    def ask(self, context: Context, slot: int, place: Place) -> list[Piece]:
        """A question of its own, with a budget of its own."""
        self.looks = self.limit
        self.spilled = []
        return self.value(context, slot, place)

    def promise(self, context: Context, slot: int, place: Place) -> list[Region]:
        """The regions in which an element of a condition is true, as it is made, not as it is known to come out.

        A promise is about machine integers: a sum that wraps keeps it as well as one that does not.
        """
        self.promising = True
        try:
            pieces = self.ask(context, slot, place)
        finally:
            self.promising = False
        return [inside for region, v in pieces if (inside := region.where(v - 1)) is not None]

    def value(self, context: Context, slot: int, place: Place) -> list[Piece]:
        """The pieces of one element of a slot."""
        fact: Fact | None = context.env[slot]
        if fact is None:
            raise NotAffine
        if fact.step == 0 and type(fact.lo) is int and not (self.promising and _is_bool(context, slot)):
            return [(_EVERYWHERE, Linear(fact.lo))]
        if context.program.template[slot] is not None:
            return self.table(context, slot, place)
        key = (id(context.env), slot, _key(place), self.promising)
        found = self.known.get(key)
        if found is not None:
            self.spilled += self.overflows.get(key, ())
            return found
        self.kept.append(context.env)
        self.looks -= 1
        self.depth += 1
        self.work.pieces += 4
        outer, self.spilled = self.spilled, []
        try:
            if self.looks < 0 or self.work.done or self.depth > DEPTH:
                raise NotAffine
            found = self.made(context, slot, place, fact)
            most = PIECES if self.spills or (type(fact.hi) is int and fact.hi <= 1) else FEWER
            if len(found) > most or len(self.spilled) > PIECES:
                raise NotAffine
            if self.spilled:
                self.overflows[key] = self.spilled
                outer += self.spilled
        except NotAffine:
            found = self.opaque(context, slot, place)
        finally:
            self.spilled = outer
            self.depth -= 1
        self.known[key] = found
        return found

    def made(self, context: Context, slot: int, place: Place, fact: Fact) -> list[Piece]:
        step = context.program.defs.get(slot)
        if step is None:
            return self.entering(context, slot, place)
        if step.kind == COND or step.kind == CALL:
            return self.chosen(context, step, slot, place)
        if step.kind != SIMPLE or not step.outs or step.outs[0] != slot:
            raise NotAffine
        out = step.eqn.outvars[0].aval
        if step.rule is SAME:
            return self.value(context, step.ins[0], place)
        if not dtype_info(getattr(out, "dtype", None)).integral:
            raise NotAffine
        if step.rule is FLOOR_DIVIDE or step.rule is REMAINDER:
            return self.divided(context, step, place)
        handler = _HANDLERS.get(step.eqn.primitive)
        if handler is None or len(step.ins) != len(step.eqn.invars):
            raise NotAffine
        result: list[Piece] = handler(self, context, step, place)
        return result

    def operand(self, context: Context, step: Step, k: int, place: Place, ring: bool = False) -> list[Piece]:
        """An operand's element beside the result's, for an elementwise equation.

        Sums and multiples are the same whether what goes in has wrapped or not; anything else (`ring` false)
        sees the number the machine holds.
        """
        shape = getattr(step.eqn.invars[k].aval, "shape", ())
        if not shape:
            mine: Place = ()
        elif len(shape) != len(place):
            raise NotAffine
        else:
            mine = tuple(Linear(0) if n == 1 else p for n, p in zip(shape, place, strict=True))
        pieces = self.value(context, step.ins[k], mine)
        return pieces if ring else self.held(pieces, step.eqn.invars[k].aval.dtype)

    def pairs(self, a: list[Piece], b: list[Piece]) -> list[tuple[Region, Linear, Linear]]:
        """The pieces of two values where they meet."""
        count = len(a) * len(b)
        self.work.pieces += count
        self.work.end()
        if count > 10 * PIECES or self.work.done:
            raise NotAffine
        return [(both, x, y) for r, x in a for s, y in b if (both := r.both(s)) is not None]

    def held(self, pieces: list[Piece], dtype: Any) -> list[Piece]:
        """A value as the machine's integer holds it."""
        info = dtype_info(dtype)
        return [piece for region, value in pieces for piece in fitted(self, region, value, info)]

    def entering(self, context: Context, slot: int, place: Place) -> list[Piece]:
        """A value from outside the program: an input, or what an enclosing program passes in."""
        alias = self.aliases.get((id(context.env), slot))
        if alias is not None:
            return self.value(*alias, place)
        number = next((k for k, (_, s) in enumerate(context.program.inputs) if s == slot), None)
        if number is None:
            raise NotAffine
        position = context.program.inputs[number][0]
        parent, via = context.parent, context.step
        if parent is None or via is None:
            if not dtype_info(getattr(self.inputs[position].aval, "dtype", None)).integral:
                raise NotAffine
            return self.opaque(context, slot, place, position)
        if via.kind == COND:
            return self.value(parent, via.ins[via.extra[context.branch][number]], place)
        if via.kind == CALL:
            return self.value(parent, via.ins[number], place)
        shape = via.extra
        consts = shape.consts
        source = via.ins[number]
        if via.kind == WHILE and context.branch == -1:
            raise NotAffine
        if position < consts:
            return self.value(parent, source, place)
        if via.kind == SCAN and position >= consts + shape.carry_count:
            if type(shape.length) is not int:
                raise NotAffine
            t = self.iteration(context)
            row = t if not via.eqn.params["reverse"] else Linear(shape.length - 1) - t
            return self.value(parent, source, (row, *place))
        out = context.program.outs[position - consts]
        while out != slot and (step := context.program.defs.get(out)) is not None and step.rule is SAME:
            out = step.ins[0]
        if out == slot:
            # Handed from iteration to iteration as it came.
            return self.value(parent, source, place)
        by = counted_by(context.program, slot, out)
        fact = summarised(context.env[slot])
        dtype = via.eqn.outvars[position - consts].aval.dtype
        info = dtype_info(dtype)
        if by is None or type(fact.lo) is not int or type(fact.hi) is not int:
            raise NotAffine
        if fact.lo + by < info.min or fact.hi + by > info.max:
            # An addition could wrap: then it is no counter.
            raise NotAffine
        t = self.iteration(context)
        pieces = []
        for region, first in self.held(self.value(parent, source, place), dtype):
            now = first + t * by
            inside = region.where(now - fact.lo, Linear(fact.hi) - now)
            if inside is not None:
                pieces.append((inside, now))
        return pieces

    def table(self, context: Context, slot: int, place: Place) -> list[Piece]:
        """A constant array: its very elements where the position takes few values.

        One slot can stand for several values nobody asked about, so what is not known is a new atom each time.
        """
        fact: Fact = context.env[slot]
        lo, hi, _ = _bounds_at(fact, place)
        if type(lo) is not int or type(hi) is not int:
            raise NotAffine
        if lo == hi:
            return [(_EVERYWHERE, Linear(lo))]
        open_ = [d for d, p in enumerate(place) if p.terms and np.ndim(fact.lo) and fact.lo.shape[d] > 1]
        if len(open_) == 1 and (fact.lo == fact.hi).all():
            axis = open_[0]
            first, last = place[axis].bounds({})
            if first >= 0 and last < fact.lo.shape[axis] and last - first < TABLE:
                return self.entries(fact.lo, place, axis, first, last)
        return [(_EVERYWHERE, self.atom(object(), f"v{slot}", lo, hi))]

    def entries(self, values: np.ndarray, place: Place, axis: int, first: int, last: int) -> list[Piece]:
        pieces: list[Piece] = []
        for v in range(first, last + 1):
            fixed = place[axis] - v
            region = _EVERYWHERE.where(fixed, -fixed)
            if region is not None:
                at = tuple(
                    0 if n == 1 else v if d == axis else p.const
                    for d, (n, p) in enumerate(zip(values.shape, place, strict=True))
                )
                pieces.append((region, Linear(int(values[at]))))
        return pieces

    def chosen(self, context: Context, step: Step, slot: int, place: Place) -> list[Piece]:
        """A result of branches or of a call."""
        which = step.outs.index(slot)
        pieces: list[Piece] = []
        selector = (
            None
            if step.kind == CALL
            else self.held(self.value(context, step.ins[0], ()), step.eqn.invars[0].aval.dtype)
        )
        for k, body in enumerate(step.bodies):
            inner = self.rerun(context, step, k)
            if inner is None:
                continue
            values = self.value(inner, body.outs[which], place)
            for region in [_EVERYWHERE] if selector is None else _taken(selector, k, len(step.bodies) - 1):
                pieces += [(both, v) for r, v in values if (both := region.both(r)) is not None]
        return pieces

    # Where a program runs

    def path(self, context: Context) -> list[Region]:
        """The regions, together, in which a run happens at all."""
        found = self.paths.get(id(context.env))
        if found is None:
            self.kept.append(context.env)
            found = self.paths[id(context.env)] = self._path(context)
        return found

    def _path(self, context: Context) -> list[Region]:
        parent, via = context.parent, context.step
        outer = [_EVERYWHERE] if parent is None else self.path(parent)
        own: list[Region] = [_EVERYWHERE]
        if parent is not None and via is not None:
            try:
                # Where the condition wraps on the way its regions say nothing: there it may come out either way.
                if via.kind == COND and context.branch is not None:
                    number = self.held(self.ask(parent, via.ins[0], ()), via.eqn.invars[0].aval.dtype)
                    own = _taken(number, context.branch, len(via.bodies) - 1) + self.spilled
                elif via.kind == WHILE and context.branch == 0 and context.tested is not None:
                    own = [
                        both
                        for region, value in self.ask_test(context)
                        if (both := region.where(value - 1)) is not None
                    ] + self.spilled
            except NotAffine:
                own = [_EVERYWHERE]
        if len(own) * len(outer) > PIECES:
            return outer
        return [both for a in outer for b in own if (both := a.both(b)) is not None]

    def ask_test(self, context: Context) -> list[Piece]:
        """The condition of the while that this is a body of, over this iteration's carries."""
        self.looks, self.spilled = self.limit, []
        test = context.tested
        assert test is not None and context.step is not None and context.parent is not None
        shape, via = context.step.extra, context.step
        body_slots = {p - shape.consts: s for p, s in context.program.inputs if p >= shape.consts}
        offset = len(context.program.inputs)
        for k, (p, slot) in enumerate(test.program.inputs):
            if p < shape.cond_consts:
                source = (context.parent, via.ins[offset + k])
            elif p - shape.cond_consts in body_slots:
                source = (context, body_slots[p - shape.cond_consts])
            else:
                continue
            self.aliases[id(test.env), slot] = source
        return self.value(test, test.program.outs[0], ())

    # Arithmetic

    def divided(self, context: Context, step: Step, place: Place) -> list[Piece]:
        """`//` and `%` by a constant, rounding down."""
        by = context.env[step.ins[1]]
        if by.step != 0 or type(by.lo) is not int or by.lo <= 0:
            raise NotAffine
        pieces = []
        for region, a in self.operand(context, step, 0, place):
            inside, q = self.quotient(region, a, by.lo)
            if inside is not None:
                pieces.append((inside, q if step.rule is FLOOR_DIVIDE else a - q * by.lo))
        return pieces

    def quotient(self, region: Region, a: Linear, k: int) -> tuple[Region | None, Linear]:
        """a // k: exactly where the remainder can be told, else as an atom that the remainder bounds."""
        lo, hi = region.bounds(a)
        if lo // k == hi // k:
            return region, Linear(lo // k)
        whole = Linear(a.const // k, {x: c // k for x, c in a.terms.items() if c // k})
        rest = a - whole * k
        low, high = region.bounds(rest)
        if low // k == high // k:
            return region, whole + low // k
        # The same quotient is one atom wherever it is met: its own bounds must hold in every region.
        least, most = a.bounds({})
        q = self.atom(("q", a.key(), k), "q", least // k, most // k)
        remainder = a - q * k
        return region.where(remainder, Linear(k - 1) - remainder), q


def _is_bool(context: Context, slot: int) -> bool:
    step = context.program.defs.get(slot)
    return step is not None and step.kind == SIMPLE and dtype_info(step.eqn.outvars[0].aval.dtype).kind == "b"


def _key(place: Place) -> Any:
    return tuple(p.key() for p in place)


def _bounds_at(fact: Fact, place: Place) -> tuple[Any, Any, int]:
    if type(fact.lo) is not np.ndarray:
        return fact.lo, fact.hi, fact.step
    lo, hi = fact.lo, fact.hi
    if lo.ndim == len(place):
        at = tuple(
            slice(None) if p.terms and n > 1 else 0 if n == 1 else p.const for n, p in zip(lo.shape, place, strict=True)
        )
        try:
            lo, hi = lo[at], hi[at]
        except IndexError:
            raise NotAffine from None
        if not np.size(lo):
            raise NotAffine
    return np.min(lo).item(), np.max(hi).item(), 1


def _taken(selector: list[Piece], k: int, last: int) -> list[Region]:
    """Where a branch's number comes out as this one; the ends take everything beyond them."""
    found = []
    for region, value in selector:
        wanted = []
        if k > 0:
            wanted.append(value - k)
        if k < last:
            wanted.append(Linear(k) - value)
        inside = region.where(*wanted)
        if inside is not None:
            found.append(inside)
    return found


def fitted(self: Elements, region: Region, value: Linear, info: DtypeInfo) -> list[Piece]:
    """A mathematical result as the machine's integer holds it.

    For a proof or a promise, with what wraps once around its type; for a condition, as far as it does not wrap: the
    rest spills.
    """
    lo, hi = region.bounds(value)
    if lo >= info.min and hi <= info.max:
        return [(region, value)]
    span, spills = info.max - info.min + 1, self.spills and not self.promising
    if info.kind == "b" or (not spills and (lo < info.min - span or hi > info.max + span)):
        raise NotAffine
    pieces: list[Piece] = []
    inside = region.where(value - info.min, Linear(info.max) - value)
    if inside is not None:
        pieces.append((inside, value))
    for excess, turn in ((value - info.max - 1, -span), (-value + info.min - 1, span)):
        outside = region.where(excess)
        if outside is None:
            continue
        if spills:
            self.spilled.append(outside)
        else:
            pieces.append((outside, value + turn))
    return pieces


Handler = Callable[[Elements, Context, Step, Place], list[Piece]]


def _binary(combine: Callable[[Region, Linear, Linear], list[Piece]], ring: bool = False) -> Handler:
    def handler(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
        a, b = (self.operand(context, step, k, place, ring) for k in (0, 1))
        return [piece for region, x, y in self.pairs(a, b) for piece in combine(region, x, y)]

    return handler


def _product(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """Times a constant; where one factor is zero, the other does not matter."""
    a, b = (self.operand(context, step, k, place, ring=True) for k in (0, 1))
    if sum(not x.terms for _, x in a) > sum(not y.terms for _, y in b):
        a, b = b, a
    pieces = [(region, y) for region, y in b if not y.terms and not y.const]
    for region, x, y in self.pairs(a, [(r, y) for r, y in b if y.terms or y.const]):
        if x.terms and y.terms:
            raise NotAffine
        pieces.append((region, x * y.const if not y.terms else y * x.const))
    return pieces


def _larger(region: Region, a: Linear, b: Linear) -> list[Piece]:
    return _split(region, a - b, a, b)


def _smaller(region: Region, a: Linear, b: Linear) -> list[Piece]:
    return _split(region, b - a, a, b)


def _split(region: Region, first: Linear, a: Linear, b: Linear) -> list[Piece]:
    """a where `first` ≥ 0, b elsewhere."""
    one, other = region.where(first), region.where(-first - 1)
    return [(r, v) for r, v in ((one, a), (other, b)) if r is not None]


def _truth(*cases: tuple[Region | None, int]) -> list[Piece]:
    return [(region, Linear(value)) for region, value in cases if region is not None]


def _compare(name: str) -> Handler:
    def handler(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
        if not dtype_info(step.eqn.invars[0].aval.dtype).integral:
            raise NotAffine
        pieces: list[Piece] = []
        for region, a, b in self.pairs(self.operand(context, step, 0, place), self.operand(context, step, 1, place)):
            if name in ("gt", "le"):
                a, b = b, a
            if name in ("eq", "ne"):
                hit = 1 if name == "eq" else 0
                pieces += _truth((region.where(a - b, b - a), hit), (region.but(a - b), 1 - hit))
            elif name in ("lt", "gt"):
                pieces += _truth((region.where(b - a - 1), 1), (region.where(a - b), 0))
            else:
                pieces += _truth((region.where(a - b), 1), (region.where(b - a - 1), 0))
        return pieces

    return handler


def _logic(table: Callable[[int, int], int]) -> Handler:
    def handler(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
        if dtype_info(step.eqn.outvars[0].aval.dtype).kind != "b":
            raise NotAffine
        pieces: list[Piece] = []
        firsts = _decided(self.operand(context, step, 0, place))
        seconds: list[Piece] | None = None
        for region, a in firsts:
            if table(a.const, 0) == table(a.const, 1):
                pieces.append((region, Linear(table(a.const, 0))))
                continue
            seconds = _decided(self.operand(context, step, 1, place)) if seconds is None else seconds
            for other, b in seconds:
                both = region.both(other)
                if both is not None:
                    pieces.append((both, Linear(table(a.const, b.const))))
        return pieces

    return handler


def _decided(pieces: list[Piece]) -> list[Piece]:
    """A bool's pieces, split until each is a constant."""
    found: list[Piece] = []
    for region, value in pieces:
        if not value.terms:
            found.append((region, value))
        else:
            found += _truth((region.where(value - 1), 1), (region.where(-value), 0))
    return found


def _not(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    kind = dtype_info(step.eqn.outvars[0].aval.dtype).kind
    if kind == "u":
        raise NotAffine
    start = 1 if kind == "b" else -1
    return [(r, Linear(start) - v) for r, v in self.operand(context, step, 0, place)]


def _neg(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    return [(r, -v) for r, v in self.operand(context, step, 0, place, ring=True)]


def _sign(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    pieces: list[Piece] = []
    for region, v in self.operand(context, step, 0, place):
        pieces += _truth((region.where(v - 1), 1), (region.where(v, -v), 0), (region.where(-v - 1), -1))
    return pieces


def _abs(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    pieces: list[Piece] = []
    for region, v in self.operand(context, step, 0, place):
        for inside, value in _split(region, v, v, -v):
            pieces.append((inside, value))
    return pieces


def _clamp(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    low, x, high = (self.operand(context, step, k, place) for k in range(3))
    pieces: list[Piece] = []
    for region, a, b in self.pairs(low, x):
        for inside, value in _split(region, a - b, a, b):
            for other, top in high:
                both = inside.both(other)
                if both is not None:
                    pieces += _split(both, top - value, value, top)
    return pieces


def _convert(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    source, target = (dtype_info(v.aval.dtype) for v in (step.eqn.invars[0], step.eqn.outvars[0]))
    if not source.integral:
        raise NotAffine
    pieces: list[Piece] = []
    for region, v in self.operand(context, step, 0, place):
        if target.kind == "b" and source.kind != "b":
            pieces += _truth((region.where(v, -v), 0), (region.but(v), 1))
        else:
            # A wider or narrower type keeps the number modulo its own span.
            pieces.append((region, v))
    return pieces


def _div(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """Division toward zero, or its remainder, by a constant."""
    by = context.env[step.ins[1]]
    if by.step != 0 or type(by.lo) is not int or by.lo <= 0:
        raise NotAffine
    remainder = step.eqn.primitive.name == "rem"
    pieces: list[Piece] = []
    for region, a in self.operand(context, step, 0, place):
        for sign in (1, -1):
            side = region.where(a if sign > 0 else -a - 1)
            if side is not None:
                inside, q = self.quotient(side, a * sign, by.lo)
                if inside is not None:
                    pieces.append((inside, a - q * (sign * by.lo) if remainder else q * sign))
    return pieces


def _shift(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    by, info = context.env[step.ins[1]], dtype_info(step.eqn.outvars[0].aval.dtype)
    if by.step != 0 or type(by.lo) is not int or not 0 <= by.lo < info.bits:
        raise NotAffine
    pieces: list[Piece] = []
    for region, a in self.operand(context, step, 0, place):
        if step.eqn.primitive.name == "shift_left":
            pieces.append((region, a * (1 << by.lo)))
            continue
        lo, hi = region.bounds(a)
        if lo < 0 and (info.kind != "i" or step.eqn.primitive.name == "shift_right_logical"):
            raise NotAffine
        if info.kind == "u" and step.eqn.primitive.name == "shift_right_arithmetic" and hi > info.max >> 1:
            raise NotAffine
        inside, q = self.quotient(region, a, 1 << by.lo)
        if inside is not None:
            pieces.append((inside, q))
    return pieces


def _and(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """The logical and of bools, or an integer's lowest bits."""
    if dtype_info(step.eqn.outvars[0].aval.dtype).kind == "b":
        return _logic(lambda a, b: a & b)(self, context, step, place)
    for k in (0, 1):
        mask = context.env[step.ins[k]]
        if mask.step == 0 and type(mask.lo) is int and mask.lo >= 0 and mask.lo & (mask.lo + 1) == 0:
            pieces: list[Piece] = []
            for region, a in self.operand(context, step, 1 - k, place):
                inside, q = self.quotient(region, a, mask.lo + 1)
                if inside is not None:
                    pieces.append((inside, a - q * (mask.lo + 1)))
            return pieces
    raise NotAffine


def _select(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """Each case where it is taken, or anywhere if the condition takes too many words to say."""
    last = len(step.ins) - 2
    try:
        selector: list[Piece] | None = self.operand(context, step, 0, place)
    except NotAffine:
        selector = None
    if selector is None or len(selector) > CONDITIONS:
        regions = [[_EVERYWHERE]] * (last + 1)
    else:
        regions = [_taken(selector, k, last) for k in range(last + 1)]
    values = [self.operand(context, step, 1 + k, place, ring=True) if regions[k] else [] for k in range(last + 1)]
    self.work.pieces += sum(len(r) * len(v) for r, v in zip(regions, values, strict=True))
    if sum(len(r) * len(v) for r, v in zip(regions, values, strict=True)) > PIECES:
        regions = [[_EVERYWHERE] if r else [] for r in regions]
    found: dict[Any, Piece] = {}
    for where, pieces in zip(regions, values, strict=True):
        for region in where:
            for r, v in pieces:
                both = region.both(r)
                if both is not None:
                    found.setdefault((both.key(), v.key()), (both, v))
    return list(found.values())


# Rearrangements


def _broadcast(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    shape = step.eqn.invars[0].aval.shape
    dims = step.eqn.params["broadcast_dimensions"]
    return self.value(
        context, step.ins[0], tuple(Linear(0) if n == 1 else place[d] for n, d in zip(shape, dims, strict=True))
    )


def _squeeze(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    gone = {d % len(step.eqn.invars[0].aval.shape) for d in step.eqn.params["dimensions"]}
    rest = iter(place)
    rank = len(step.eqn.invars[0].aval.shape)
    return self.value(context, step.ins[0], tuple(Linear(0) if d in gone else next(rest) for d in range(rank)))


def _transpose(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    order = step.eqn.params["permutation"]
    source = [Linear(0)] * len(place)
    for d, p in zip(order, place, strict=True):
        source[d] = p
    return self.value(context, step.ins[0], tuple(source))


def _rev(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    shape, dims = step.eqn.invars[0].aval.shape, step.eqn.params["dimensions"]
    if any(type(n) is not int for n in shape):
        raise NotAffine
    return self.value(
        context, step.ins[0], tuple(Linear(shape[d] - 1) - p if d in dims else p for d, p in enumerate(place))
    )


def _slice(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    starts, strides = step.eqn.params["start_indices"], step.eqn.params["strides"] or (1,) * len(place)
    if any(type(n) is not int for n in (*starts, *strides)):
        raise NotAffine
    return self.value(context, step.ins[0], tuple(p * k + s for p, s, k in zip(place, starts, strides, strict=True)))


def _reshape(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    source, target = step.eqn.invars[0].aval.shape, step.eqn.outvars[0].aval.shape
    if step.eqn.params.get("dimensions") is not None or any(type(n) is not int for n in (*source, *target)):
        raise NotAffine
    if [n for n in source if n != 1] == [n for n in target if n != 1]:
        kept = iter([p for n, p in zip(target, place, strict=True) if n != 1])
        return self.value(context, step.ins[0], tuple(Linear(0) if n == 1 else next(kept) for n in source))
    flat, stride = Linear(0), 1
    for n, p in zip(reversed(target), reversed(place), strict=True):
        flat, stride = flat + p * stride, stride * n
    region = _EVERYWHERE
    found: list[Linear] = []
    for n in reversed(source):
        inside, q = self.quotient(region, flat, n)
        if inside is None:
            raise NotAffine
        region = inside
        found.append(flat - q * n)
        flat = q
    values = self.value(context, step.ins[0], tuple(reversed(found)))
    return [(both, v) for r, v in values if (both := region.both(r)) is not None]


def _concatenate(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    axis, start = step.eqn.params["dimension"], 0
    pieces: list[Piece] = []
    for k, var in enumerate(step.eqn.invars):
        size = var.aval.shape[axis]
        if type(size) is not int:
            raise NotAffine
        at = place[axis] - start
        region = _EVERYWHERE.where(at, Linear(size - 1) - at)
        start += size
        if region is not None:
            inner = (*place[:axis], at, *place[axis + 1 :])
            pieces += [
                (both, v) for r, v in self.value(context, step.ins[k], inner) if (both := region.both(r)) is not None
            ]
            if not place[axis].terms:
                break
    return pieces


def _stack(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    axis = step.eqn.params["axis"]
    inner = (*place[:axis], *place[axis + 1 :])
    pieces: list[Piece] = []
    for k, slot in enumerate(step.ins):
        here = place[axis] - k
        region = _EVERYWHERE.where(here, -here)
        if region is not None:
            pieces += _read(self, context, slot, [(region, inner)])
    return pieces


def _iota(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    return [(_EVERYWHERE, place[step.eqn.params["dimension"]])]


def _dynamic_slice(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    shape, sizes = step.eqn.invars[0].aval.shape, step.eqn.params["slice_sizes"]
    if any(type(n) is not int for n in (*shape, *sizes)):
        raise NotAffine
    places: list[tuple[Region, Place]] = [(_EVERYWHERE, ())]
    for d, (n, size) in enumerate(zip(shape, sizes, strict=True)):
        if n == size:
            places = [(r, (*at, place[d])) for r, at in places]
            continue
        starts = [
            piece
            for region, v in self.held(self.value(context, step.ins[1 + d], ()), step.eqn.invars[1 + d].aval.dtype)
            for piece in _clamped(region, v, n - size)
        ]
        places = [
            (both, (*at, start + place[d]))
            for r, at in places
            for s, start in starts
            if (both := r.both(s)) is not None
        ]
        if len(places) > PIECES:
            raise NotAffine
    return _read(self, context, step.ins[0], places)


def _clamped(region: Region, value: Linear, limit: int) -> list[Piece]:
    lo, hi = region.bounds(value)
    if lo >= 0 and hi <= limit:
        return [(region, value)]
    parts = ((region.where(-value - 1), Linear(0)), (region.where(value - limit - 1), Linear(limit)))
    inside = region.where(value, Linear(limit) - value)
    return [(r, v) for r, v in ((inside, value), *parts) if r is not None]


def _read(self: Elements, context: Context, slot: int, places: list[tuple[Region, Place]]) -> list[Piece]:
    return [
        (both, v)
        for region, at in places
        for r, v in self.value(context, slot, at)
        if (both := region.both(r)) is not None
    ]


def _gather(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """A read of a table, where the index stays inside it or is clipped."""
    eqn = step.eqn
    operand, indices = eqn.invars[0].aval, eqn.invars[1].aval
    numbers, sizes = eqn.params["dimension_numbers"], eqn.params["slice_sizes"]
    if any(type(n) is not int for n in (*operand.shape, *indices.shape)):
        raise NotAffine
    batch = tuple(p for d, p in enumerate(place) if d not in numbers.offset_dims)
    offsets = iter([place[d] for d in numbers.offset_dims])
    gone = {*numbers.collapsed_slice_dims, *numbers.operand_batching_dims}
    base = [Linear(0) if d in gone else next(offsets) for d in range(len(operand.shape))]
    for d, b in zip(numbers.operand_batching_dims, numbers.start_indices_batching_dims, strict=True):
        base[d] = batch[b]
    clips = getattr(eqn.params.get("mode"), "name", "") == "CLIP"
    places: list[tuple[Region, Place]] = [(_EVERYWHERE, tuple(base))]
    for k, d in enumerate(numbers.start_index_map):
        limit = operand.shape[d] - sizes[d]
        found: list[tuple[Region, Place]] = []
        for region, v in self.held(self.value(context, step.ins[1], (*batch, Linear(k))), indices.dtype):
            for r, at in places:
                both = r.both(region)
                if both is None:
                    continue
                lo, hi = both.bounds(v)
                if not clips and (lo < 0 or hi > limit):
                    raise NotAffine
                for inside, start in _clamped(both, v, limit):
                    found.append((inside, (*at[:d], at[d] + start, *at[d + 1 :])))
        places = found
        if len(places) > PIECES:
            raise NotAffine
    return _read(self, context, step.ins[0], places)


def _update(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """An array with a window written over."""
    shape, sizes = step.eqn.invars[0].aval.shape, step.eqn.invars[1].aval.shape
    if any(type(n) is not int for n in (*shape, *sizes)):
        raise NotAffine
    inside: list[tuple[Region, Place]] = [(_EVERYWHERE, ())]
    outside: list[Region] = []
    for d, (n, size) in enumerate(zip(shape, sizes, strict=True)):
        found: list[tuple[Region, Place]] = []
        for region, v in self.held(self.value(context, step.ins[2 + d], ()), step.eqn.invars[2 + d].aval.dtype):
            for start_region, start in _clamped(region, v, n - size):
                at = place[d] - start
                for r, so_far in inside:
                    both = r.both(start_region)
                    if both is None:
                        continue
                    within = both.where(at, Linear(size - 1) - at)
                    if within is not None:
                        found.append((within, (*so_far, at)))
                    outside += [o for o in (both.where(-at - 1), both.where(at - size)) if o is not None]
        inside = found
        if len(inside) + len(outside) > PIECES:
            raise NotAffine
    pieces = _read(self, context, step.ins[1], inside)
    return pieces + _read(self, context, step.ins[0], [(r, place) for r in outside])


def _scatter(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """An array with one window written over, where the window lies inside."""
    eqn, shape = step.eqn, step.eqn.invars[0].aval.shape
    if eqn.params.get("update_jaxpr") is not None:
        raise NotAffine
    site = ACCESSES[eqn.primitive](eqn, ())
    if site.count != 1 or any(type(n) is not int for n in (*shape, *site.window)):
        raise NotAffine
    moved = {column.dim for column in site.columns}
    if any(n != size for d, (n, size) in enumerate(zip(shape, site.window, strict=True)) if d not in moved):
        raise NotAffine
    indices, numbers = eqn.invars[1].aval, eqn.params["dimension_numbers"]
    inside: list[tuple[Region, Place]] = [(_EVERYWHERE, tuple(place))]
    outside: list[Region] = []
    for column in site.columns:
        at = (*(Linear(0),) * (len(indices.shape) - 1), Linear(column.column or 0))
        found: list[tuple[Region, Place]] = []
        for region, start in self.held(self.value(context, step.ins[1], at), indices.dtype):
            lo, hi = region.bounds(start)
            if lo < 0 or hi > column.limit:
                raise NotAffine
            offset = place[column.dim] - start
            for r, so_far in inside:
                both = r.both(region)
                if both is None:
                    continue
                within = both.where(offset, Linear(site.window[column.dim] - 1) - offset)
                if within is not None:
                    found.append((within, (*so_far[: column.dim], offset, *so_far[column.dim + 1 :])))
                beyond = (both.where(-offset - 1), both.where(offset - site.window[column.dim]))
                outside += [o for o in beyond if o is not None]
        inside = found
        if len(inside) + len(outside) > PIECES:
            raise NotAffine
    gone = {*numbers.inserted_window_dims, *numbers.operand_batching_dims}
    kept = [d for d in range(len(shape)) if d not in gone]
    rank = len(eqn.invars[2].aval.shape)
    to = dict(zip(numbers.update_window_dims, kept, strict=True))
    updates = [(r, tuple(at[to[d]] if d in to else Linear(0) for d in range(rank))) for r, at in inside]
    return _read(self, context, step.ins[2], updates) + _read(self, context, step.ins[0], [(r, place) for r in outside])


def _reduce_one(self: Elements, context: Context, step: Step, place: Place) -> list[Piece]:
    """A reduction over dimensions of one element."""
    shape, axes = step.eqn.invars[0].aval.shape, step.eqn.params["axes"]
    if any(shape[a] != 1 for a in axes):
        raise NotAffine
    rest = iter(place)
    return self.value(context, step.ins[0], tuple(Linear(0) if d in axes else next(rest) for d in range(len(shape))))


def _table() -> dict[Any, Handler]:
    known = primitives()
    handlers: dict[str, Handler] = {
        "add": _binary(lambda r, a, b: [(r, a + b)], ring=True),
        "sub": _binary(lambda r, a, b: [(r, a - b)], ring=True),
        "mul": _product,
        "max": _binary(_larger),
        "min": _binary(_smaller),
        "or": _logic(lambda a, b: a | b),
        "xor": _logic(lambda a, b: a ^ b),
        "and": _and,
        "not": _not,
        "neg": _neg,
        "sign": _sign,
        "abs": _abs,
        "clamp": _clamp,
        "convert_element_type": _convert,
        "div": _div,
        "rem": _div,
        "shift_left": _shift,
        "shift_right_arithmetic": _shift,
        "shift_right_logical": _shift,
        "select_n": _select,
        "broadcast_in_dim": _broadcast,
        "squeeze": _squeeze,
        "transpose": _transpose,
        "rev": _rev,
        "slice": _slice,
        "reshape": _reshape,
        "concatenate": _concatenate,
        "stack": _stack,
        "iota": _iota,
        "dynamic_slice": _dynamic_slice,
        "gather": _gather,
        "dynamic_update_slice": _update,
        "scatter": _scatter,
        "reduce_and": _reduce_one,
        "reduce_or": _reduce_one,
        "reduce_max": _reduce_one,
        "reduce_min": _reduce_one,
        "reduce_sum": _reduce_one,
        **{name: _compare(name) for name in ("lt", "le", "gt", "ge", "eq", "ne")},
    }
    return {known[f"{name}_p"]: handler for name, handler in handlers.items() if f"{name}_p" in known}


_HANDLERS = _table()
