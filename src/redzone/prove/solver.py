"""What isl cannot say: products of unknowns and operations on bits, asked of z3 where it is installed.

A region that is left over speaks of atoms. An atom that stands for a product, a bit operation or a shift is tied to
its operands here, again as pieces over atoms. z3 then looks for a point: over the integers where no result can wrap,
over bit-vectors where bits matter. It has a limit for each access.
"""

from __future__ import annotations

import importlib
from typing import Any, Final

from redzone.domains import dtype_info
from redzone.domains.affine import Atom, Linear, Region
from redzone.engine.program import SIMPLE
from redzone.frontend.compat import primitives
from redzone.prove.elements import Elements
from redzone.prove.pieces import NotAffine, Piece
from redzone.stages import recorded

#: What z3 may take for one access, as it counts itself: a product is ruled out by a twentieth of this or not at all.
LIMIT: Final = 40_000
#: The same where bits matter, which it goes through one by one.
LIMIT_OF_BITS: Final = 250_000
#: Milliseconds after which it is over whatever was counted.
LATEST: Final = 2000
#: How many accesses of one check it is asked about, and how many of them one without an answer counts for.
ASKED: Final = 8
UNANSWERED: Final = 4
#: How many atoms are tied to their operands.
TIED: Final = 12
#: As many bits as nearly every expression that is met here takes.
WIDE: Final = 80

_P: Final = primitives()
_PRODUCTS: Final = {_P[n] for n in ("mul_p", "integer_pow_p", "square_p") if n in _P}
_BITS: Final = {
    _P[n]: n
    for n in (
        "and_p",
        "or_p",
        "xor_p",
        "not_p",
        "shift_left_p",
        "shift_right_logical_p",
        "shift_right_arithmetic_p",
        "population_count_p",
        "clz_p",
        "div_p",
        "rem_p",
    )
    if n in _P
}


class Tied:
    """Atoms of a region and the equations that make them, as far as z3 can be told."""

    def __init__(self, elements: Elements, region: Region, index: Linear) -> None:
        self.elements = elements
        self.definitions: dict[Atom, tuple[Any, list[list[Piece]]]] = {}
        self.atoms: dict[Atom, None] = {}
        self.reach([*region.box, *region.atoms(), *index.terms])

    def reach(self, atoms: list[Atom]) -> None:
        for atom in atoms:
            if atom in self.atoms:
                continue
            self.atoms[atom] = None
            origin = self.elements.origins.get(atom)
            if origin is None or len(self.definitions) >= TIED:
                continue
            context, slot, place = origin
            step = context.program.defs.get(slot)
            if step is None or step.kind != SIMPLE or len(step.ins) != len(step.eqn.invars):
                continue
            if step.primitive not in _PRODUCTS and step.primitive not in _BITS:
                continue
            if dtype_info(step.eqn.outvars[0].aval.dtype).kind not in "iu" or step.outs[0] != slot:
                continue
            try:
                operands = [self.elements.operand(context, step, k, place) for k in range(len(step.ins))]
            except NotAffine:
                continue
            self.definitions[atom] = (step, operands)
            for pieces in operands:
                for region, value in pieces:
                    self.reach([*region.box, *region.atoms(), *value.terms])

    @property
    def needs_bits(self) -> bool:
        """Whether some result depends on bits, or can wrap."""
        for step, operands in self.definitions.values():
            if step.primitive in _BITS:
                return True
            info = dtype_info(step.eqn.outvars[0].aval.dtype)
            ends = [[n for r, v in pieces for n in r.bounds(v)] for pieces in operands]
            power = step.eqn.params.get("y", 2) if len(operands) == 1 else 1
            most = 1
            for these in ends:
                most *= max(abs(n) for n in these) ** power if these else 1
            if most > info.max:
                return True
        return False

    def width(self, region: Region) -> int:
        """So many bits that no expression wraps in them, nor any bound: what was added in a loop may be far."""
        sums = [*region.guards, *region.holes]
        for _, operands in self.definitions.values():
            for pieces in operands:
                for inside, value in pieces:
                    sums += [value, *inside.guards, *inside.holes]
        ends = [n for one in sums for n in one.bounds({})]
        ends += [n for atom in self.atoms for n in (atom.lo, atom.hi)]
        return max([WIDE, *(n.bit_length() + 2 for n in ends)])


def rules_out(elements: Elements, region: Region, index: Linear) -> bool | None:
    """Whether a region has no point; None where z3 is not installed, has nothing to add or no answer in time."""
    tied = Tied(elements, region, index)
    return _asked(elements, tied, region) if tied.definitions else None


@recorded("z3")
def _asked(elements: Elements, tied: Tied, region: Region) -> bool | None:
    try:
        z3: Any = importlib.import_module("z3")
    except ImportError:
        elements.missed_z3 = True
        return None
    solver = z3.SolverFor("QF_BV") if tied.needs_bits else z3.Solver()
    solver.set("rlimit", LIMIT_OF_BITS if tied.needs_bits else LIMIT)
    solver.set("timeout", LATEST)
    words = _Bits(z3, tied.width(region)) if tied.needs_bits else _Numbers(z3)
    for atom in tied.atoms:
        x = words.atom(atom)
        solver.add(words.at_least(x, words.number(atom.lo)), words.at_least(words.number(atom.hi), x))
    solver.add(words.region(region))
    for atom, (step, operands) in tied.definitions.items():
        chosen = [words.value(pieces, f"{words.name(atom)}_{k}", solver) for k, pieces in enumerate(operands)]
        made = words.made(step, chosen)
        if made is not None:
            solver.add(words.atom(atom) == made)
    answer = solver.check()
    elements.work.z3 += UNANSWERED if answer == z3.unknown else 1
    return None if answer == z3.unknown else bool(answer == z3.unsat)


class _Words:
    """Expressions over atoms in one of z3's theories."""

    def __init__(self, z3: Any) -> None:
        self.z3 = z3
        self.known: dict[Atom, Any] = {}

    def name(self, atom: Atom) -> str:
        return f"x{atom.number}"

    def linear(self, linear: Linear) -> Any:
        total = self.number(linear.const)
        for atom, k in linear.terms.items():
            total = total + self.number(k) * self.atom(atom)
        return total

    def region(self, region: Region) -> Any:
        parts = [self.at_least(self.linear(g), self.number(0)) for g in region.guards]
        parts += [self.linear(h) != self.number(0) for h in region.holes]
        for atom, (lo, hi) in region.box.items():
            x = self.atom(atom)
            parts += [self.at_least(x, self.number(lo)), self.at_least(self.number(hi), x)]
        return self.z3.And(*parts)

    def value(self, pieces: list[Piece], name: str, solver: Any) -> Any:
        """A number that is one of the pieces', inside its region."""
        if len(pieces) == 1 and not pieces[0][0].guards and not pieces[0][0].box and not pieces[0][0].holes:
            return self.linear(pieces[0][1])
        x = self.fresh(name)
        solver.add(self.z3.Or(*[self.z3.And(self.region(r), x == self.linear(v)) for r, v in pieces]))
        return x

    def atom(self, atom: Atom) -> Any:
        raise NotImplementedError

    def number(self, n: int) -> Any:
        raise NotImplementedError

    def fresh(self, name: str) -> Any:
        raise NotImplementedError

    def at_least(self, a: Any, b: Any) -> Any:
        return a >= b

    def made(self, step: Any, operands: list[Any]) -> Any:
        """What an equation makes of its operands; None where it cannot be said."""
        raise NotImplementedError


class _Numbers(_Words):
    """Integers of any size."""

    def atom(self, atom: Atom) -> Any:
        return self.known.setdefault(atom, self.z3.Int(self.name(atom)))

    def number(self, n: int) -> Any:
        return self.z3.IntVal(n)

    def fresh(self, name: str) -> Any:
        return self.z3.Int(name)

    def made(self, step: Any, operands: list[Any]) -> Any:
        if len(operands) == 2:
            return operands[0] * operands[1]
        power = step.eqn.params.get("y", 2)
        result = self.number(1)
        for _ in range(power if 0 <= power <= 8 else 0):
            result = result * operands[0]
        return result if 0 <= power <= 8 else None


class _Bits(_Words):
    """Bit-vectors wide enough for the linear part; each operation at the width of its type."""

    def __init__(self, z3: Any, wide: int) -> None:
        super().__init__(z3)
        self.wide = wide
        self.open = 0
        """How many results were met of which nothing is said: each element's is a number of its own."""

    def atom(self, atom: Atom) -> Any:
        return self.known.setdefault(atom, self.z3.BitVec(self.name(atom), self.wide))

    def number(self, n: int) -> Any:
        return self.z3.BitVecVal(n, self.wide)

    def fresh(self, name: str) -> Any:
        return self.z3.BitVec(name, self.wide)

    def made(self, step: Any, operands: list[Any]) -> Any:
        z3, info = self.z3, dtype_info(step.eqn.outvars[0].aval.dtype)
        width, signed = info.bits, info.kind == "i"
        if any(dtype_info(v.aval.dtype).bits != width for v in step.eqn.invars):
            return None
        words = [z3.Extract(width - 1, 0, x) for x in operands]
        result = self.operation(step, words, width, signed)
        if result is None:
            return None
        return z3.SignExt(self.wide - width, result) if signed else z3.ZeroExt(self.wide - width, result)

    def operation(self, step: Any, words: list[Any], width: int, signed: bool) -> Any:
        z3, primitive = self.z3, step.primitive
        name = _BITS.get(primitive)
        a = words[0]
        if name is None:
            if len(words) == 2:
                return a * words[1]
            power = step.eqn.params.get("y", 2)
            result = z3.BitVecVal(1, width)
            for _ in range(power if 0 <= power <= 8 else 0):
                result = result * a
            return result if 0 <= power <= 8 else None
        if name == "not_p":
            return ~a
        if name == "population_count_p" and width >= 8:
            bits = [z3.ZeroExt(width - 1, z3.Extract(k, k, a)) for k in range(width)]
            return sum(bits[1:], bits[0])
        if len(words) != 2:
            return None
        b = words[1]
        if name in ("and_p", "or_p", "xor_p"):
            return a & b if name == "and_p" else a | b if name == "or_p" else a ^ b
        if name in ("div_p", "rem_p"):
            # Division by zero is whatever the machine makes of it: nothing is said of it.
            divide, remain = (lambda x, y: x / y, z3.SRem) if signed else (z3.UDiv, z3.URem)
            whole = divide(a, b) if name == "div_p" else remain(a, b)
            return z3.If(b == 0, self.anything(width), whole)
        # So is a shift by the width or more.
        far = z3.UGE(b, z3.BitVecVal(width, width))
        shifted = a << b if name == "shift_left_p" else z3.LShR(a, b) if name == "shift_right_logical_p" else a >> b
        return z3.If(far, self.anything(width), shifted)

    def anything(self, width: int) -> Any:
        """A number of which nothing is said, as no other result is."""
        self.open += 1
        return self.z3.BitVec(f"anything_{self.open}", width)
