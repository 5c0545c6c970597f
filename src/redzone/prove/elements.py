"""An element of an index as a piecewise affine expression of inputs, loop iterations and positions.

`Elements.value(context, slot, position)` follows the equations that made one element of an array back
to what it is made from. What is not affine becomes an atom with the bounds the engine found; the same
element of the same array is the same atom wherever it is met. Machine integers wrap: a sum that can leave
its type is either not looked into, or its answer holds only where it stays inside, and the rest is recorded.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info
from redzone.domains.affine import Atom, Linear, Region
from redzone.engine.anew import is_anew
from redzone.engine.forward import Context
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.program import CALL, COND, SCAN, SIMPLE, WHILE, Step
from redzone.frontend.compat import primitives
from redzone.frontend.trace import Input
from redzone.prove.element_arithmetic import ARITHMETIC, MOST, is_fixed, values_of
from redzone.prove.element_loops import goes_on, iteration, lanes_of, moved
from redzone.prove.element_movement import MOVEMENT
from redzone.prove.element_sums import SUMS
from redzone.prove.pieces import EVERYWHERE, PIECES, NotAffine, Piece, Place, Work, fitted, key_of, taken
from redzone.rules.table import SAME

_CONCATENATE: Final = primitives()["concatenate_p"]
#: How many equations one question may look at.
LOOKS: Final = 160
#: How many equations deep one question goes.
DEPTH: Final = 60
#: How many pieces an integer may have where only a proof is asked for, and its bounds often do.
FEWER: Final = 24
#: How many elements of a constant table are told apart where the position is not known.
TABLE: Final = 16


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
        self.at_first = False
        """Whether only the first iteration of each loop is looked at: no proof, but where to look for a witness."""
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
        self.anew = 0
        """How many numbers were asked for that may be others each time."""
        self.limit = LOOKS
        """How many equations one question may look at."""
        self.deepest = DEPTH
        """How many equations deep it goes."""
        self.looks = 0
        self.depth = 0

    # Atoms

    def atom(self, key: Any, name: str, lo: int, hi: int, leaf: int = -1, place: Place = ()) -> Linear:
        found = self.atoms.get(key)
        if found is None:
            found = self.atoms[key] = Atom(name, lo, hi, leaf, place)
        return Linear(0, {found: 1})

    def position(self, key: Any, size: Any) -> Linear:
        """Any position along a dimension."""
        if type(size) is not int:
            raise NotAffine
        return Linear(0) if size <= 1 else self.atom(key, "i", 0, size - 1)

    def any_of(self, size: int) -> Linear:
        """Any of so many positions that are summed over: one and the same for every sum of as many."""
        return self.atom(("any of", size), "i", 0, size - 1)

    def opaque(self, context: Context, slot: int, place: Place, leaf: int = -1, anew: int = 0) -> list[Piece]:
        """An element nothing but bounds is known of."""
        fact: Fact | None = context.env[slot]
        if fact is None:
            raise NotAffine
        lo, hi, step = _bounds_at(fact, place)
        if type(lo) is not int or type(hi) is not int:
            raise NotAffine
        if lo == hi:
            return [(EVERYWHERE, Linear(lo))]
        key = (leaf, key_of(place)) if leaf >= 0 else (id(context.env), slot, key_of(place), anew)
        self.kept.append(context.env)
        name = self.inputs[leaf].name if leaf >= 0 else f"v{slot}"
        if step > 1 and leaf < 0:
            return [(EVERYWHERE, self.atom(key, name, 0, (hi - lo) // step) * step + lo)]
        value = self.atom(key, name, lo, hi, leaf, place)
        if leaf < 0 and not anew:
            self.origins[next(iter(value.terms))] = (context, slot, place)
        return [(EVERYWHERE, value)]

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
        if fact.step == 0 and type(fact.lo) is int and not (self.promising and is_bool(context, slot)):
            return [(EVERYWHERE, Linear(fact.lo))]
        if context.program.template[slot] is not None:
            return self.table(context, slot, place)
        anew = 0
        if not self.promising and is_anew(context.program, slot):
            # Whoever asks may be given another number.
            anew = self.anew = self.anew + 1
            step = context.program.defs.get(slot)
            # Of what is put beside each other that may be true of some parts only: each is asked by itself.
            if step is None or step.primitive is not _CONCATENATE:
                return self.opaque(context, slot, place, anew=anew)
        key = (id(context.env), slot, key_of(place), self.promising)
        found = None if anew else self.known.get(key)
        if found is not None:
            self.spilled += self.overflows.get(key, ())
            return found
        self.kept.append(context.env)
        self.looks -= 1
        self.depth += 1
        self.work.pieces += 4
        outer, self.spilled = self.spilled, []
        try:
            if self.looks < 0 or self.work.done or self.depth > self.deepest:
                raise NotAffine
            pieces = self.made(context, slot, place, fact)
            found = self.opaque(context, slot, place, anew=anew) if pieces is None else pieces
            most = PIECES if self.spills or (type(fact.hi) is int and fact.hi <= 1) else FEWER
            if len(found) > most or len(self.spilled) > PIECES:
                raise NotAffine
            if self.spilled:
                if not anew:
                    self.overflows[key] = self.spilled
                outer += self.spilled
        except NotAffine:
            found = self.opaque(context, slot, place, anew=anew)
        finally:
            self.spilled = outer
            self.depth -= 1
        if not anew:
            self.known[key] = found
        return found

    def made(self, context: Context, slot: int, place: Place, fact: Fact) -> list[Piece] | None:
        """The pieces of an element by what makes it; None where that is nothing that is looked into."""
        step = context.program.defs.get(slot)
        if step is None:
            return self.entering(context, slot, place)
        if step.kind == COND or step.kind == CALL:
            return self.chosen(context, step, slot, place)
        if step.kind != SIMPLE or not step.outs or step.outs[0] != slot:
            return None
        if step.rule is SAME:
            return self.value(context, step.ins[0], place)
        if not step.yields().integral:
            return None
        if step.rule is FLOOR_DIVIDE or step.rule is REMAINDER:
            return self.divided(context, step, place)
        handler = _HANDLERS.get(step.primitive)
        if handler is None or len(step.ins) != len(step.eqn.invars):
            return None
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
            t = iteration(self, context)
            row = t if not via.eqn.params["reverse"] else Linear(shape.length - 1) - t
            return self.value(parent, source, (row, *place))
        out = context.program.outs[position - consts]
        while out != slot and (step := context.program.defs.get(out)) is not None and step.rule is SAME:
            out = step.ins[0]
        if out == slot or self.at_first:
            # Handed from iteration to iteration as it came.
            return self.value(parent, source, place)
        return moved(
            self, context, slot, out, place, self.value(parent, source, place), via.eqn.outvars[position - consts]
        )

    def table(self, context: Context, slot: int, place: Place, within: Region = EVERYWHERE) -> list[Piece]:
        """A constant array: its very elements where the position takes few values, there or `within` a region.

        One slot can stand for several values nobody asked about, so what is not known is a new atom each time.
        """
        fact: Fact = context.env[slot]
        lo, hi, _ = _bounds_at(fact, place)
        if type(lo) is not int or type(hi) is not int:
            raise NotAffine
        if lo == hi:
            return [(EVERYWHERE, Linear(lo))]
        open_ = [d for d, p in enumerate(place) if p.terms and np.ndim(fact.lo) and fact.lo.shape[d] > 1]
        if len(open_) == 1 and (fact.lo == fact.hi).all():
            axis = open_[0]
            first, last = within.bounds(place[axis])
            if first >= 0 and last < fact.lo.shape[axis] and last - first < TABLE:
                return self.entries(fact.lo, place, axis, first, last)
        return [(EVERYWHERE, self.atom(object(), f"v{slot}", lo, hi))]

    def entries(self, values: np.ndarray, place: Place, axis: int, first: int, last: int) -> list[Piece]:
        pieces: list[Piece] = []
        for v in range(first, last + 1):
            fixed = place[axis] - v
            region = EVERYWHERE.where(fixed, -fixed)
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
            for region in [EVERYWHERE] if selector is None else taken(selector, k, len(step.bodies) - 1):
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
        outer = [EVERYWHERE] if parent is None else self.path(parent)
        own: list[Region] = [EVERYWHERE]
        if parent is not None and via is not None:
            try:
                # Where the condition wraps on the way its regions say nothing: there it may come out either way.
                if via.kind == COND and context.branch is not None:
                    number = self.held(self.ask(parent, via.ins[0], ()), via.eqn.invars[0].aval.dtype)
                    own = taken(number, context.branch, len(via.bodies) - 1) + self.spilled
                elif via.kind == WHILE and context.branch == 0 and context.tested is not None and not lanes_of(context):
                    own = goes_on(self, context, ())
            except NotAffine:
                own = [EVERYWHERE]
        if len(own) * len(outer) > PIECES:
            return outer
        return [both for a in outer for b in own if (both := a.both(b)) is not None]

    # Arithmetic

    def divided(self, context: Context, step: Step, place: Place) -> list[Piece]:
        """`//` by a constant, or a number of which there are few, and `%` by any, rounding down."""
        is_quotient = step.rule is FLOOR_DIVIDE
        divisors = values_of(self, context, step, place, 1, MOST) if is_quotient or is_fixed(context, step) else None
        if divisors is None:
            return self.remainder(context, step, place, 0)
        pieces = []
        for region, a, by in self.pairs(self.operand(context, step, 0, place), divisors):
            inside, q = self.quotient(region, a, by.const)
            if inside is not None:
                pieces.append((inside, q if is_quotient else a - q * by.const))
        return pieces

    def remainder(self, context: Context, step: Step, place: Place, sign: int) -> list[Piece]:
        """A remainder by a number that varies: less than that where it is positive.

        A remainder of the dividend's sign, told by a sign other than 0, may be as far below zero.
        """
        if step.rule is FLOOR_DIVIDE:
            raise NotAffine
        pieces: list[Piece] = []
        for region, n in self.operand(context, step, 1, place):
            for inside, value in self.opaque(context, step.outs[0], place):
                least = value + (n - 1) * sign
                parts = (region.where(n - 1, least, n - 1 - value), region.where(-n))
                pieces += [
                    (both, value) for part in parts if part is not None and (both := inside.both(part)) is not None
                ]
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


def is_bool(context: Context, slot: int) -> bool:
    step = context.program.defs.get(slot)
    return step is not None and step.kind == SIMPLE and step.yields().kind == "b"


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
        if not lo.size:
            raise NotAffine
    return lo.min().item(), hi.max().item(), 1


_P: Final = primitives()
_HANDLERS: Final = {
    _P[f"{name}_p"]: handler for name, handler in {**ARITHMETIC, **MOVEMENT, **SUMS}.items() if f"{name}_p" in _P
}
