"""Refinement: what a condition known to hold says about the values it was made from, and back.

A condition narrows its operands backward through the equations that made them; then the value asked
for is computed again, forward, from what changed. For a condition on arrays the knowledge holds at
the positions where the condition does: it passes through elementwise equations, and through a
rearrangement only together with its level, the rearrangements already passed. `ALL` is the level of
scalars and of conditions known to hold everywhere; there any equation may be recomputed.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from redzone.domains import Fact, dtype_info, meet, settle, summarised
from redzone.domains.fact import FALSE, SHORT, TRUE, is_small, strided
from redzone.domains.symbolic import at_most, fits, is_inconclusive
from redzone.engine.idioms import FLOOR_DIVIDE, REMAINDER
from redzone.engine.program import BITS, COMPARISONS, SIGNATURE, SIMPLE, Program, Step
from redzone.engine.rounding import APART, MOVES, PUT_TOGETHER
from redzone.engine.wrapping import before_wrap, from_the_end, wrap_of
from redzone.frontend.compat import primitives
from redzone.rules.floats import single_below, slack
from redzone.rules.reductions import tells_places
from redzone.rules.table import SAME

#: How many equations one refinement may look at.
BUDGET = 60
#: How many equations deep a value is recomputed.
DEPTH = 14
#: A bound beyond this comes from an integer type.
FAR = 2**30
#: How many comparisons of two values are looked at once more.
PAIRS = 4

#: Known by its identity, which a tuple of a known type loses when it is compiled.
ALL: Any = ("all",)
#: The level of one element, any of them.
HERE: Any = ("here",)
#: The last part of a level that is about every element along some dimensions.
ROW = "row"


def row_of(level: Any) -> tuple[Any, dict[int, int]] | None:
    """The row that a level takes one element of, `x[:, 0]`, and which; None where it does nothing like that."""
    if level is ALL or len(level) < 3:
        return None
    squeezed, cut = level[-2], level[-1]
    if cut[0] != "slice" or squeezed[0] not in ("squeeze", "reshape"):
        return None
    shape, (*_, starts, limits, strides) = cut[1], cut[2]
    axes = [d for d, n in enumerate(shape) if limits[d] - starts[d] == 1 != n]
    kept = tuple(d for d in range(len(shape)) if d not in axes)
    if any((starts[d], limits[d]) != (0, shape[d]) or (strides and strides[d] != 1) for d in kept):
        return None
    _, _, new_sizes, dimensions, *_ = squeezed[2]
    left = (
        tuple(d for d in range(len(shape)) if d not in dimensions) == kept
        if squeezed[0] == "squeeze"
        else tuple(new_sizes) == tuple(shape[d] for d in kept)
    )
    return ((*level[:-2], (ROW, shape, tuple(axes))), {d: starts[d] for d in axes}) if left else None


def _picked(row: Fact, at: dict[int, int]) -> Fact:
    """Of a fact about a row, what it says of the element at a place."""
    if type(row.lo) is not np.ndarray:
        return row
    cut = tuple(at[d] if d in at and n > 1 else slice(None) for d, n in enumerate(row.lo.shape))
    return summarised(settle(row.lo[cut], row.hi[cut], row.nan))


def _spread_back(level: Any, shape: Any, axes: tuple[int, ...]) -> Any:
    """The level at which each element lies in the row that a reduction over it was spread to again, None if nowhere.

    `where(ok.all(-1)[:, None], x, y)`: where the condition holds, it holds for the element beside it. Followed from the
    reduction's result outward: which dimension of the array each of its dimensions is.
    """
    labels: list[int | None] = [d for d in range(len(shape)) if d not in axes]
    for k in range(len(level) - 1, 0, -1):
        name, before, signature = level[k]
        if name not in ("broadcast_in_dim", "squeeze", "reshape"):
            return None
        spread, places, sizes, dropped = signature[:4]
        if name == "broadcast_in_dim":
            sizes, known = spread, dict(zip(places, zip(labels, before, strict=True), strict=True))
            labels = [known[d][0] if d in known and known[d][1] == n else None for d, n in enumerate(sizes)]
        elif name == "squeeze":
            labels = [label for d, label in enumerate(labels) if d not in dropped]
            sizes = [n for d, n in enumerate(before) if d not in dropped]
        elif [n for n in before if n != 1] == [n for n in sizes if n != 1]:
            wide = iter([label for label, n in zip(labels, before, strict=True) if n != 1])
            labels = [next(wide) if n != 1 else None for n in sizes]
        else:
            return None
        if tuple(sizes) == shape and all(labels[d] == d or n == 1 for d, n in enumerate(shape) if d not in axes):
            return level[:k]
    return None


def signature_of(params: dict[str, Any]) -> tuple[Any, ...]:
    """What of a rearrangement's parameters says which element comes from where."""
    return tuple([params.get(k) for k in _SAYING])


_SAYING = (
    *("shape", "broadcast_dimensions", "new_sizes", "dimensions", "permutation"),
    *("start_indices", "limit_indices", "strides"),
)


def _adds_ones(eqn: Any) -> bool:
    """Whether an equation gives an array more dimensions, all of size one, and nothing else."""
    source, target = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape
    if eqn.primitive.name not in ("broadcast_in_dim", "reshape") or eqn.params.get("dimensions") is not None:
        return False
    if len(target) <= len(source) or not all(type(n) is int for n in (*source, *target)):
        return False
    return [n for n in source if n != 1] == [n for n in target if n != 1]


class Infeasible(Exception):
    """The assumed condition cannot hold."""


def _table(**names: str) -> dict[Any, str]:
    known = primitives()
    return {known[name + "_p"]: kind for name, kind in names.items() if name + "_p" in known}


_KIND = _table(
    lt="lt",
    le="le",
    gt="gt",
    ge="ge",
    eq="eq",
    ne="ne",
    add="add",
    sub="sub",
    mul="mul",
    integer_pow="power",
    square="power",
    neg="neg",
    div="div",
    max="max",
    min="min",
    clamp="clamp",
    sign="sign",
    abs="abs",
    convert_element_type="convert",
    select_n="select",
    rem="rem",
    broadcast_in_dim="move",
    reshape="move",
    squeeze="move",
    transpose="move",
    rev="move",
    slice="move",
    concatenate="joined",
    stack="stacked",
    reduce_and="every",
    reduce_or="some",
    reduce_max="most",
    reduce_min="least",
    argmax="first",
    copy="same",
    stop_gradient="same",
    sharding_constraint="same",
    pvary="same",
    shift_right_arithmetic="shift",
    shift_right_logical="shift",
)
_KIND.update({primitives()[n + "_p"]: n for n in ("and", "or", "not")})
_BACKWARD = {kind: f"_{kind}" for kind in _KIND.values()}
_FLIPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_NEGATED = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


_DIVIDING = (FLOOR_DIVIDE, REMAINDER)

#: What each relation between two integers says of the others between them.
_SAYS = {
    "lt": {"lt": 1, "le": 1, "gt": 0, "ge": 0, "eq": 0, "ne": 1},
    "le": {"le": 1, "gt": 0},
    "gt": {"gt": 1, "ge": 1, "lt": 0, "le": 0, "eq": 0, "ne": 1},
    "ge": {"ge": 1, "lt": 0},
    "eq": {"eq": 1, "ne": 0, "le": 1, "ge": 1, "lt": 0, "gt": 0},
    "ne": {"ne": 1, "eq": 0},
}


def _implied(program: Program, step: Step, relation: str) -> list[tuple[int, int]]:
    """Other comparisons of the two integers that this one compares, and how they come out when it holds."""
    if not program.unknown.isdisjoint(step.ins):
        return []
    says = _SAYS[relation]
    return [
        (out, says[kind]) for kind, out in program.compared().get(step.ins, ()) if out != step.outs[0] and kind in says
    ]


def comparisons(program: Program, ins: tuple[int, ...], relation: str, truth: int) -> dict[Step, Fact]:
    """All comparisons of two integers in a program, and how they come out when this relation of them does so."""
    says = _SAYS[relation if truth else _NEGATED[relation]]
    found = {}
    for step in program.steps:
        if step.kind == SIMPLE and step.eqn.primitive in COMPARISONS and sorted(step.ins) == sorted(ins):
            kind = step.eqn.primitive.name if step.ins == ins else _FLIPPED[step.eqn.primitive.name]
            if kind in says and dtype_info(step.eqn.invars[0].aval.dtype).kind in "iu":
                found[step] = TRUE if says[kind] else FALSE
    return found


def narrows(program: Program, slot: int) -> int:
    """Which values assuming something of this one can say more about: a set of bits as of `Program.behind`."""
    known, template, compared, searched = program.narrowing, program.template, program.compared(), program.searched()
    waiting = [slot]
    while waiting:
        at = waiting[-1]
        if at in known:
            waiting.pop()
            continue
        mask, step = BITS[at % SIGNATURE], program.defs.get(at)
        again = program.equal.get(at) if step is None else None
        if again is not None:
            if again not in known:
                waiting.append(again)
                continue
            mask |= known[again]
        if step is not None and step.kind == SIMPLE:
            if step.eqn.primitive in _KIND or step.rule is SAME or step.rule in _DIVIDING:
                count = len(waiting)
                for source in step.ins:
                    if template[source] is None:
                        behind = known.get(source)
                        if behind is None:
                            waiting.append(source)
                        else:
                            mask |= behind
                if len(waiting) > count:
                    continue
            for _, other in compared.get(step.ins, ()):
                mask |= BITS[other % SIGNATURE]
            for pair in (step.ins, step.ins[::-1]) if searched and len(step.ins) == 2 else ():
                for search in searched.get(pair, ()):
                    mask |= BITS[search.outs[1] % SIGNATURE]
        known[at] = mask
        waiting.pop()
    return known[slot]


class Refiner:
    """Knowledge gained from assumed conditions, over one program and its current environment."""

    __slots__ = (
        "budget",
        "counted",
        "cuts",
        "defs",
        "env",
        "fixed",
        "known",
        "learnt",
        "learnt_since",
        "masks",
        "pairs",
        "program",
        "recomputed",
        "rows",
        "tentative",
    )

    def __init__(self, program: Program, env: list[Any]) -> None:
        self.program = program
        self.defs = program.defs
        self.learnt = 0
        self.counted = 0
        """How many of what is known `learnt` tells."""
        self.masks: list[int] = []
        self.env = env
        self.known: dict[tuple[int, Any], Fact] = {}
        self.recomputed: dict[tuple[int, Any], Fact] = {}
        self.tentative: dict[tuple[int, Any], Fact] = {}
        """What was recomputed only in part, for the value now asked for."""
        self.cuts = 0
        """How often the budget or the depth ended a look."""
        self.budget = BUDGET
        self.pairs: list[tuple[Step, str, Any, int]] = []
        """Comparisons of two values that were assumed, and how much was known when they were looked at."""
        self.learnt_since = 0
        self.rows = False
        """Whether anything is known of whole rows."""
        self.fixed = False
        """Whether anything was learnt of a constant: it is made from nothing, so that no mask tells."""

    # Reading

    def level_of(self, step: Step, position: int, level: Any) -> Any:
        """The level at which an elementwise step's operand is known, or None if positions differ."""
        if level is ALL:
            return ALL
        shape = getattr(step.eqn.invars[position].aval, "shape", ())
        if not shape:
            return ALL
        return level if shape == step.eqn.outvars[0].aval.shape else None

    def current(self, slot: int, level: Any) -> Fact:
        return (self.found(slot, level) if self.rows else self.known.get((slot, level))) or self.env[slot]

    def found(self, slot: int, level: Any) -> Fact | None:
        """What has been learnt of a value at this level; what holds for a whole row holds for its elements."""
        known = self.known.get((slot, level))
        if not self.rows:
            return known
        rows = row_of(level)
        row = self.known.get((slot, rows[0])) if rows is not None else None
        if rows is None or row is None:
            return known
        row = _picked(row, rows[1])
        if known is None:
            return row
        both = meet(summarised(known), row)
        if both is None:
            raise Infeasible
        return both

    def operand(self, step: Step, position: int, level: Any) -> Fact:
        slot = step.ins[position]
        if level is ALL and not self.rows:
            return self.known.get((slot, ALL)) or self.env[slot]
        inner = self.level_of(step, position, level)
        return self.env[slot] if inner is None else self.current(slot, inner)

    # Assuming

    def assume(self, slot: int, truth: int, level: Any) -> None:
        """Use that a bool (or the branch number it was converted to) has this value."""
        self.narrow(slot, Fact(truth, truth, 0), level)
        self.again()

    def again(self) -> None:
        """Look once more at comparisons of two values, which others have told more about since: `a <= b and b < 10`."""
        if not self.pairs:
            return
        for _ in range(PAIRS):
            stale = [k for k, (*_, before) in enumerate(self.pairs[:PAIRS]) if self.learnt_since > before]
            if not stale:
                break
            for k in stale:
                step, relation, level, _ = self.pairs[k]
                self.pairs[k] = (step, relation, level, self.learnt_since)
                self.compare(step, relation, level)
        self.pairs.clear()

    def compare(self, step: Step, relation: str, level: Any) -> None:
        if dtype_info(step.eqn.invars[0].aval.dtype).kind not in "biu":
            self.compare_floats(step, relation, level)
            return
        # An operand that is spread beside the other is met by all of it, and meets each element where it lies.
        invars, shape = step.eqn.invars, step.eqn.outvars[0].aval.shape
        for mine, asked in ((0, relation), (1, _FLIPPED[relation])):
            a, b = self.operand(step, mine, level), self.operand(step, 1 - mine, level)
            if _is_met(asked, a, b):
                continue
            if invars[mine].aval.shape != shape:
                a, b = summarised(a), summarised(b)
            self.narrow_operand(step, mine, _satisfying(asked, a, b), level)

    def compare_floats(self, step: Step, relation: str, level: Any, or_nan: bool = False) -> None:
        """A float comparison that holds excludes NaN.

        The negation of one that fails holds too, unless one of the numbers is NaN: of the other nothing is known then.
        What is a float32 number wherever it is used (`rounding.rounded_operands`) is at most the greatest of those
        below the other.
        """
        if relation not in ("lt", "le", "gt", "ge", "eq"):
            return
        rounded = step.extra
        a, b = summarised(self.operand(step, 0, level)), summarised(self.operand(step, 1, level))
        for position, y, r in ((0, b, relation), (1, a, _FLIPPED[relation])):
            if or_nan and y.nan:
                continue
            lo = y.lo if r in ("gt", "ge", "eq") else -math.inf
            hi = y.hi if r in ("lt", "le", "eq") else math.inf
            single = rounded is not None and rounded[position]
            if r == "lt" and math.isfinite(hi):
                hi = single_below(hi) if single else math.nextafter(hi, -math.inf)
            if r == "gt" and math.isfinite(lo):
                lo = -single_below(-lo) if single else math.nextafter(lo, math.inf)
            self.narrow_operand(step, position, Fact(lo, hi, 1, or_nan), level)

    def narrow_operand(self, step: Step, position: int, fact: Fact | None, level: Any) -> None:
        inner = ALL if level is ALL else self.level_of(step, position, level)
        if inner is not None and fact is not None:
            self.narrow(step.ins[position], fact, inner)

    def narrow(self, slot: int, fact: Fact, level: Any) -> None:
        """Use that a value satisfies a fact, and what follows for the values it was made from."""
        old: Any = self.found(slot, level) if self.rows else self.known.get((slot, level))
        if old is None:
            old = self.env[slot]
            if old is None:
                return
        if type(fact.lo) is np.ndarray and type(old.lo) is np.ndarray and fact.lo.ndim != old.lo.ndim:
            fact = summarised(fact)
        new = meet(old, fact)
        if new is None:
            raise Infeasible
        if new is old or (new.step == old.step and _same(new, old)):
            return
        if slot in self.program.unknown:
            # It stands for every value of its type that nobody asked about: of which is this said?
            return
        self.known[slot, level] = new
        self.learnt_since += 1
        step = self.defs.get(slot)
        if step is None and slot in self.program.equal:
            self.narrow(self.program.equal[slot], new, level)
        if step is None or step.kind != SIMPLE or self.budget <= 0:
            return
        self.budget -= 1
        if fact.step == 0:
            # At the positions considered it is this constant, also where elements are kept apart.
            new = fact
        kind = _KIND.get(step.eqn.primitive)
        if kind is not None and step.outs[0] == slot and len(step.ins) == len(step.eqn.invars):
            try:
                self.backward(step, kind, new, level)
            except Exception as error:
                if not is_inconclusive(error):
                    raise
        elif step.rule is SAME:
            self.narrow(step.ins[0], new, level)
        elif step.rule is FLOOR_DIVIDE:
            self._floor_divide(step, new, level)
        elif step.rule is REMAINDER:
            self.congruent(step, new, level)

    def backward(self, step: Step, kind: str, fact: Fact, level: Any) -> None:
        if kind in _FLIPPED:
            if fact.step == 0:
                if dtype_info(step.eqn.invars[0].aval.dtype).kind == "f" and not fact.lo:
                    self.compare_floats(step, _NEGATED[kind], level, True)
                    return
                relation = kind if fact.lo else _NEGATED[kind]
                self.compare(step, relation, level)
                if len(self.pairs) < PAIRS and not self.is_by_constant(step):
                    self.pairs.append((step, relation, level, self.learnt_since))
                others = self.program.compared()
                if others and step.ins in others:
                    for other, truth in _implied(self.program, step, relation):
                        self.narrow(other, Fact(truth, truth, 0), level)
                if self.program.searched():
                    self.found_before(step, relation, level)
        elif kind == "same":
            self.narrow(step.ins[0], fact, level)
        elif kind == "move":
            if level is ALL:
                if step.eqn.primitive.name == "slice":
                    self.narrow_part(step, fact)
                elif _nonempty(step.eqn.outvars[0].aval):
                    self.narrow(step.ins[0], summarised(fact), ALL)
            else:
                self.narrow(step.ins[0], summarised(fact), self.behind(step, level))
        else:
            getattr(self, _BACKWARD[kind])(step, fact, level)

    def found_before(self, step: Step, relation: str, level: Any) -> None:
        """What is less than the last element of an array is found before the array's end (`engine/search.py`)."""
        for position, asked in ((0, relation), (1, _FLIPPED[relation])):
            searches = self.program.searched().get((step.ins[position], step.ins[1 - position]), ())
            inner = self.level_of(step, position, level) if searches else None
            for search in searches if inner is not None else ():
                found, out = search.extra.search, search.outs[1]
                if asked == "lt" or (asked in ("le", "eq") and not found.right):
                    ends = Fact(0, found.size - 1)
                    if self.env[out] is not None:
                        self.narrow(out, ends, inner)
                    elif inner is ALL and (out, ALL) not in self.known:
                        # Not yet run: what is known of it will be met with what it turns out to be.
                        self.known[out, ALL] = ends
                        self.learnt_since += 1

    def is_by_constant(self, step: Step) -> bool:
        """Whether one of the values that a step compares is a known number."""
        first, second = step.ins
        a, b = self.current(first, ALL), self.current(second, ALL)
        return (a is not None and a.step == 0) or (b is not None and b.step == 0)

    def narrow_part(self, step: Step, fact: Fact) -> None:
        """A slice of a short array satisfies a fact: so do those elements of the array."""
        shape, old, fact = step.eqn.invars[0].aval.shape, self.current(step.ins[0], ALL), summarised(fact)
        if any(type(n) is not int for n in shape) or not 1 < math.prod(shape) <= SHORT or not is_small(old):
            return
        if not is_small(fact) or dtype_info(step.eqn.outvars[0].aval.dtype).kind not in "biu":
            return
        p = step.eqn.params
        strides = p["strides"] or (1,) * len(shape)
        part = tuple(slice(a, b, s) for a, b, s in zip(p["start_indices"], p["limit_indices"], strides, strict=True))
        lo, hi = np.array(np.broadcast_to(old.lo, shape)), np.array(np.broadcast_to(old.hi, shape))
        lo[part], hi[part] = np.maximum(lo[part], fact.lo), np.minimum(hi[part], fact.hi)
        if (lo > hi).any():
            raise Infeasible
        self.narrow(step.ins[0], settle(lo, hi), ALL)

    def behind(self, step: Step, level: Any) -> Any:
        """The level on the other side of a rearrangement."""
        if not getattr(step.eqn.invars[0].aval, "shape", ()):
            return ALL
        params = step.eqn.params
        if len(level) == 1 and _adds_ones(step.eqn):
            # The elements stay what they are, in their order: each is where it was.
            return level
        if level[-1][0] == ROW and step.eqn.primitive.name == "broadcast_in_dim":
            _, shape, axes = level[-1]
            rest = tuple(d for d in range(len(shape)) if d not in axes)
            spread = tuple(params["broadcast_dimensions"]) == rest
            if spread and step.eqn.invars[0].aval.shape == tuple(shape[d] for d in rest):
                # Spread along the row: each row is one element.
                return level[:-1]
        return (*level, (step.eqn.primitive.name, step.eqn.invars[0].aval.shape, signature_of(params)))

    # Backward, one kind of equation each

    def _not(self, step: Step, fact: Fact, level: Any) -> None:
        if dtype_info(step.eqn.outvars[0].aval.dtype).kind == "b" and fact.step == 0:
            self.narrow(step.ins[0], Fact(1 - fact.lo, 1 - fact.lo, 0), level)

    def _and(self, step: Step, fact: Fact, level: Any) -> None:
        if self.integral(step):
            # The last bits of a number, in two's complement, are what it is modulo a power of two.
            for position in (0, 1):
                bits = self.operand(step, 1 - position, level)
                if bits.step == 0 and type(bits.lo) is int and bits.lo > 0 and bits.lo & (bits.lo + 1) == 0:
                    self.differs_by_multiple(step, position, fact, bits.lo + 1, level)
            return
        self.connective(step, fact, level, decisive=1)

    def _or(self, step: Step, fact: Fact, level: Any) -> None:
        self.connective(step, fact, level, decisive=0)

    def connective(self, step: Step, fact: Fact, level: Any, decisive: int) -> None:
        if dtype_info(step.eqn.outvars[0].aval.dtype).kind != "b" or fact.step != 0:
            return
        if fact.lo == decisive:
            for position in (0, 1):
                self.narrow_operand(step, position, fact, level)
            return
        for position in (0, 1):
            other = self.operand(step, 1 - position, level)
            if other.step == 0 and other.lo == decisive:
                self.narrow_operand(step, position, fact, level)

    def whole(self, step: Step, fact: Fact, level: Any) -> bool:
        """A reduction over one element changes nothing."""
        if step.eqn.params["axes"] and any(
            type(n) is not int or n != 1 for n in (step.eqn.invars[0].aval.shape[a] for a in step.eqn.params["axes"])
        ):
            return False
        if level is ALL or not step.eqn.params["axes"]:
            self.narrow(step.ins[0], summarised(fact), level)
        return True

    def _every(self, step: Step, fact: Fact, level: Any) -> None:
        if self.whole(step, fact, level):
            return
        if fact.step == 0 and fact.lo == 1 and _nonempty(step.eqn.invars[0].aval):
            self.narrow_all(step, fact, level)

    def narrow_all(self, step: Step, fact: Fact, level: Any) -> None:
        """Use that all elements which a reduction makes one element of satisfy a fact."""
        if level is ALL:
            self.narrow(step.ins[0], fact, ALL)
            return
        shape, axes = step.eqn.invars[0].aval.shape, tuple(sorted(step.eqn.params["axes"]))
        self.rows = True
        self.narrow(step.ins[0], fact, (*level, (ROW, shape, axes)))
        inner = _spread_back(level, shape, axes)
        if inner is not None:
            self.narrow(step.ins[0], fact, inner)

    def _joined(self, step: Step, fact: Fact, level: Any) -> None:
        """What several arrays are put into, or a row of it, satisfies a fact: so does the part of each."""
        fact = summarised(fact)
        if level is not ALL and (level[-1][0] != ROW or step.eqn.params["dimension"] not in level[-1][2]):
            return
        for slot, v in zip(step.ins, step.eqn.invars, strict=True):
            if _nonempty(v.aval):
                self.narrow(slot, fact, ALL if level is ALL else (*level[:-1], (ROW, v.aval.shape, level[-1][2])))

    def _stacked(self, step: Step, fact: Fact, level: Any) -> None:
        """Arrays put side by side, each an element of every row."""
        fact, axis = summarised(fact), step.eqn.params["axis"]
        if level is not ALL and (level[-1][0] != ROW or level[-1][2] != (axis,)):
            return
        for slot, v in zip(step.ins, step.eqn.invars, strict=True):
            if _nonempty(v.aval):
                self.narrow(slot, fact, ALL if level is ALL or not v.aval.shape else level[:-1])

    def _first(self, step: Step, fact: Fact, level: Any) -> None:
        """The place of the first of the largest bools put side by side.

        Those before it are smaller, so they are false and it is true; if it is the very first and false, all are.
        """
        parts = self.side_by_side(step, level)
        if parts is None:
            return
        which = summarised(fact)
        lo, hi = int(which.lo), int(which.hi)
        if lo == hi == 0:
            if summarised(self.current(*parts[0])).hi != 0:
                return
            lo, hi = len(parts), -1
        for k, (slot, inner) in enumerate(parts):
            if k < lo:
                self.narrow(slot, FALSE, inner)
            elif k == lo == hi:
                self.narrow(slot, TRUE, inner)

    def side_by_side(self, step: Step, level: Any) -> list[tuple[int, Any]] | None:
        """The bools among which an argmax looks, each with its level; None where they are not one for each place."""
        source, (axis, *more) = step.eqn.invars[0].aval, step.eqn.params["axes"]
        made = self.defs.get(step.ins[0])
        if source.dtype != bool or more or made is None or made.kind != SIMPLE or not tells_places(step.eqn):
            return None
        if level is ALL and not _nonempty(step.eqn.outvars[0].aval):
            return None
        name, shape = made.eqn.primitive.name, step.eqn.outvars[0].aval.shape
        if name == "stack" and made.eqn.params["axis"] % len(source.shape) == axis:
            return [(slot, level if shape else ALL) for slot in made.ins]
        if name != "concatenate" or made.eqn.params["dimension"] != axis:
            return None
        if any(type(n) is not int or n != 1 for n in (v.aval.shape[axis] for v in made.eqn.invars)):
            return None
        found = []
        kept = tuple(d for d in range(len(source.shape)) if d != axis)
        for slot in made.ins:
            spread = self.defs.get(slot)
            if level is ALL:
                found.append((slot, ALL))
                continue
            if spread is None or spread.kind != SIMPLE or spread.eqn.primitive.name != "broadcast_in_dim":
                return None
            given = spread.eqn.invars[0].aval.shape
            if given and (tuple(spread.eqn.params["broadcast_dimensions"]) != kept or given != shape):
                return None
            found.append((spread.ins[0], level if given else ALL))
        return found

    def _some(self, step: Step, fact: Fact, level: Any) -> None:
        if self.whole(step, fact, level):
            return
        if fact.step == 0 and fact.lo == 0 and _nonempty(step.eqn.invars[0].aval):
            self.narrow_all(step, fact, level)

    def _most(self, step: Step, fact: Fact, level: Any) -> None:
        """No element is above the greatest, unless that is NaN, which one NaN among them makes it."""
        if self.whole(step, fact, level):
            return
        if not fact.nan and _nonempty(step.eqn.invars[0].aval):
            old = summarised(self.env[step.ins[0]])
            self.narrow_all(step, Fact(old.lo, summarised(fact).hi, 1, old.nan), level)

    def _least(self, step: Step, fact: Fact, level: Any) -> None:
        """No element is below the least, unless that is NaN."""
        if self.whole(step, fact, level):
            return
        if not fact.nan and _nonempty(step.eqn.invars[0].aval):
            old = summarised(self.env[step.ins[0]])
            self.narrow_all(step, Fact(summarised(fact).lo, old.hi, 1, old.nan), level)

    def _convert(self, step: Step, fact: Fact, level: Any) -> None:
        source = dtype_info(step.eqn.invars[0].aval.dtype)
        target = dtype_info(step.eqn.outvars[0].aval.dtype)
        if not (source.integral and target.integral):
            return
        if target.kind == "b":
            a = self.current(step.ins[0], level)
            if source.kind == "b" or (fact.step == 0 and fact.lo == 0):
                self.narrow(step.ins[0], fact, level)
            elif fact.step == 0 and type(a.lo) is int:
                other = _excluding(a, 0)
                if other is not None:
                    self.narrow(step.ins[0], other, level)
            return
        a = summarised(self.current(step.ins[0], level))
        if a.lo >= target.min and a.hi <= target.max:
            self.narrow(step.ins[0], fact, level)
            return
        fact = summarised(fact)
        if type(a.lo) is int and type(a.hi) is int and type(fact.lo) is int and type(fact.hi) is int:
            # It differs from the result by so many times what the target can tell apart.
            apart = target.max - target.min + 1
            first, last = -((fact.hi - a.lo) // apart), (a.hi - fact.lo) // apart
            if first > last:
                raise Infeasible
            lo, hi = max(fact.lo + first * apart, a.lo), min(fact.hi + last * apart, a.hi)
            self.narrow(step.ins[0], Fact(lo, hi), level)

    def integral(self, step: Step) -> bool:
        return dtype_info(step.eqn.outvars[0].aval.dtype).kind in "iu"

    def pairwise(self, step: Step, level: Any) -> tuple[Fact, Fact]:
        return summarised(self.operand(step, 0, level)), summarised(self.operand(step, 1, level))

    def fits(self, step: Step, lo: Any, hi: Any) -> bool:
        info = dtype_info(step.eqn.outvars[0].aval.dtype)
        return fits(lo, hi, info.min, info.max)

    def _add(self, step: Step, fact: Fact, level: Any) -> None:
        if not self.integral(step):
            return
        a, b = self.pairwise(step, level)
        fact = summarised(fact)
        if self.fits(step, a.lo + b.lo, a.hi + b.hi):
            self.narrow_operand(step, 0, _range(fact.lo - b.hi, fact.hi - b.lo), level)
            self.narrow_operand(step, 1, _range(fact.lo - a.hi, fact.hi - a.lo), level)

    def _sub(self, step: Step, fact: Fact, level: Any) -> None:
        if not self.integral(step):
            return
        a, b = self.pairwise(step, level)
        fact = summarised(fact)
        if self.fits(step, a.lo - b.hi, a.hi - b.lo):
            self.narrow_operand(step, 0, _range(fact.lo + b.lo, fact.hi + b.hi), level)
            self.narrow_operand(step, 1, _range(a.lo - fact.hi, a.hi - fact.lo), level)

    def _neg(self, step: Step, fact: Fact, level: Any) -> None:
        a = summarised(self.operand(step, 0, level))
        fact = summarised(fact)
        if self.integral(step) and self.fits(step, -a.hi, -a.lo):
            self.narrow_operand(step, 0, _range(-fact.hi, -fact.lo), level)

    def _mul(self, step: Step, fact: Fact, level: Any) -> None:
        if not self.integral(step):
            return
        fact = summarised(fact)
        a, b = self.pairwise(step, level)
        if step.ins[0] == step.ins[1]:
            self.squared(step, fact, a, level)
            return
        for position, x, k in ((0, a, b), (1, b, a)):
            if k.step == 0 and type(k.lo) is int and k.lo > 0 and self.fits(step, x.lo * k.lo, x.hi * k.lo):
                self.narrow_operand(step, position, _range(-(-fact.lo // k.lo), fact.hi // k.lo), level)

    def _power(self, step: Step, fact: Fact, level: Any) -> None:
        if self.integral(step) and step.eqn.params.get("y", 2) == 2:
            self.squared(step, summarised(fact), summarised(self.operand(step, 0, level)), level)

    def squared(self, step: Step, fact: Fact, x: Fact, level: Any) -> None:
        """The root of a square that does not wrap."""
        if not all(type(n) is int for n in (x.lo, x.hi, fact.lo, fact.hi)) or step.ins[0] in self.program.unknown:
            return
        if not self.fits(step, 0, max(x.lo * x.lo, x.hi * x.hi)):
            return
        if fact.hi < 0:
            raise Infeasible
        root = math.isqrt(fact.hi)
        least = math.isqrt(fact.lo - 1) + 1 if fact.lo > 0 and x.lo >= 0 else x.lo
        self.narrow_operand(step, 0, _range(max(least, -root), root), level)

    def _div(self, step: Step, fact: Fact, level: Any) -> None:
        b = self.operand(step, 1, level)
        if not self.integral(step) or b.step != 0 or b.lo <= 0:
            return
        fact = summarised(fact)
        lo = fact.lo * b.lo if fact.lo > 0 else fact.lo * b.lo - (b.lo - 1)
        hi = fact.hi * b.lo if fact.hi < 0 else fact.hi * b.lo + (b.lo - 1)
        self.narrow_operand(step, 0, _range(lo, hi), level)

    def _floor_divide(self, step: Step, fact: Fact, level: Any) -> None:
        b, fact = self.operand(step, 1, level), summarised(fact)
        if b.step == 0 and b.lo > 0:
            self.narrow_operand(step, 0, _range(fact.lo * b.lo, fact.hi * b.lo + b.lo - 1), level)

    def _rem(self, step: Step, fact: Fact, level: Any) -> None:
        """A positive remainder needs a positive dividend, a negative one a negative dividend."""
        if not self.integral(step):
            return
        self.congruent(step, fact, level)
        fact = summarised(fact)
        a = summarised(self.operand(step, 0, level))
        if fact.lo > 0:
            self.narrow_operand(step, 0, _range(max(fact.lo, a.lo), a.hi), level)
        elif fact.hi < 0:
            self.narrow_operand(step, 0, _range(a.lo, min(fact.hi, a.hi)), level)

    def congruent(self, step: Step, fact: Fact, level: Any) -> None:
        """A number of which the remainder is known, however it is rounded, differs from that by a multiple."""
        by = self.operand(step, 1, level)
        if by.step == 0 and type(by.lo) is int and abs(by.lo) > 1:
            self.differs_by_multiple(step, 0, fact, abs(by.lo), level)

    def differs_by_multiple(self, step: Step, position: int, fact: Fact, of: int, level: Any) -> None:
        a = summarised(self.operand(step, position, level))
        if fact.step != 0 or type(fact.lo) is not int or type(a.lo) is not int or type(a.hi) is not int:
            return
        if a.lo < -FAR or a.hi > FAR:
            # Where only its type ends a number, that is no limit which the program set.
            return
        left = strided(a.lo, a.hi, of, fact.lo)
        if left is None:
            raise Infeasible
        self.narrow_operand(step, position, left, level)

    def _shift(self, step: Step, fact: Fact, level: Any) -> None:
        k, a = self.operand(step, 1, level), summarised(self.operand(step, 0, level))
        info = dtype_info(step.eqn.outvars[0].aval.dtype)
        # An arithmetic shift copies the top bit, of an unsigned number too.
        plain = info.kind == "i" or step.eqn.primitive.name == "shift_right_logical" or a.hi <= info.max >> 1
        if k.step == 0 and 0 <= k.lo < info.bits and a.lo >= 0 and self.integral(step) and plain:
            fact = summarised(fact)
            self.narrow_operand(step, 0, _range(fact.lo << k.lo, (fact.hi << k.lo) + (1 << k.lo) - 1), level)

    def _max(self, step: Step, fact: Fact, level: Any) -> None:
        self.extreme(step, fact, level, upper=True)

    def _min(self, step: Step, fact: Fact, level: Any) -> None:
        self.extreme(step, fact, level, upper=False)

    def extreme(self, step: Step, fact: Fact, level: Any, upper: bool) -> None:
        if not self.integral(step):
            return
        a, b = self.pairwise(step, level)
        fact = summarised(fact)
        for position, x, y in ((0, a, b), (1, b, a)):
            if upper:
                lo = fact.lo if y.hi < fact.lo else x.lo
                self.narrow_operand(step, position, _range(lo, max(fact.hi, lo)), level)
            else:
                hi = fact.hi if y.lo > fact.hi else x.hi
                self.narrow_operand(step, position, _range(min(fact.lo, hi), hi), level)

    def _clamp(self, step: Step, fact: Fact, level: Any) -> None:
        if not self.integral(step):
            return
        low, a, high = (summarised(self.operand(step, i, level)) for i in range(3))
        fact = summarised(fact)
        lo = fact.lo if fact.lo > low.hi else a.lo
        hi = fact.hi if fact.hi < high.lo else a.hi
        if lo <= hi:
            self.narrow_operand(step, 1, _range(lo, hi), level)

    def _sign(self, step: Step, fact: Fact, level: Any) -> None:
        if self.integral(step):
            fact, a = summarised(fact), summarised(self.operand(step, 0, level))
            lo = 1 if fact.lo >= 1 else 0 if fact.lo == 0 else a.lo
            hi = -1 if fact.hi <= -1 else 0 if fact.hi == 0 else a.hi
            if lo > hi:
                raise Infeasible
            self.narrow_operand(step, 0, _range(lo, hi), level)

    def _abs(self, step: Step, fact: Fact, level: Any) -> None:
        a = summarised(self.operand(step, 0, level))
        info = dtype_info(step.eqn.outvars[0].aval.dtype)
        if self.integral(step) and a.lo > info.min:
            hi = summarised(fact).hi
            if hi < 0:
                raise Infeasible
            self.narrow_operand(step, 0, _range(-hi, hi), level)

    def _select(self, step: Step, fact: Fact, level: Any) -> None:
        """If only one case can give the value, that case was taken."""
        n = wrap_of(step)
        if n is not None:
            bounds = before_wrap(summarised(self.operand(step, 1, level)), summarised(fact), n)
            if bounds is not None:
                self.narrow_operand(step, 1, _range(*bounds), level)
                return
        inner = self.level_of(step, 0, level)
        if inner is None or len(step.ins) != 3:
            return
        possible = [
            k for k in (0, 1) if meet(summarised(self.operand(step, k + 1, level)), summarised(fact)) is not None
        ]
        if not possible:
            raise Infeasible
        which = self.current(step.ins[0], inner)
        if len(possible) == 2 and which.step == 0:
            # Beyond the cases it picks the nearest.
            possible = [min(max(which.lo, 0), 1)]
        if len(possible) == 1:
            chosen = summarised(which)
            if type(chosen.lo) is int and chosen.lo >= 0 and type(chosen.hi) is int and chosen.hi <= 1:
                self.narrow(step.ins[0], Fact(possible[0], possible[0], 0), inner)
            self.narrow_operand(step, possible[0] + 1, fact, level)

    # Forward again

    def value(self, slot: int, level: Any) -> Fact:
        """What a slot holds given everything assumed, recomputed where its operands changed."""
        masks = self.masks = self.program.behind()
        if len(self.known) != self.counted:
            self.counted = len(self.known)
            for known, _ in self.known:
                self.learnt |= BITS[known % SIGNATURE]
                self.fixed = self.fixed or not masks[known]
        if not masks[slot] & self.learnt and not self.fixed:
            unchanged: Fact = self.env[slot]
            return unchanged
        self.tentative.clear()
        before = self.budget
        try:
            return self.recompute(slot, level, DEPTH)
        finally:
            # What a value costs is not taken from the next one's.
            self.budget = before

    def recompute(self, slot: int, level: Any, depth: int) -> Fact:
        key = (slot, level)
        done = self.recomputed.get(key)
        if done is not None:
            return done
        done = self.tentative.get(key)
        if done is not None:
            self.cuts += 1
            return done
        known = self.found(slot, level) if self.rows else self.known.get(key)
        env = self.env
        fact: Fact = known if known is not None else env[slot]
        masks, learnt, fixed = self.masks, self.learnt, self.fixed
        if not masks[slot] & learnt:
            return fact
        step = self.defs.get(slot)
        if step is None or step.kind != SIMPLE or step.rule is None or step.rule.elsewhere or fact.step == 0:
            return fact
        if depth <= 0 or self.budget <= 0:
            self.cuts += 1
            return fact
        self.budget -= 1
        cuts = self.cuts
        rule = step.rule
        facts, changed = [], False
        for position, source in enumerate(step.ins):
            before = env[source]
            if not masks[source] & learnt and not fixed:
                # Nothing was learnt of it, nor of anything it is made from.
                facts.append(before)
                continue
            inner: Any = None
            if level is ALL:
                inner = ALL
            elif rule.pointwise or step.eqn.primitive.name == "select_n":
                inner = self.level_of(step, position, level) if len(step.ins) == len(step.eqn.invars) else level
            elif rule.moves and position == 0:
                inner = self.behind(step, level)
            after = before
            if inner is not None:
                after = self.recomputed.get((source, inner)) or self.recompute(source, inner, depth - 1)
            if after is not before:
                changed = True
                if type(after.lo) is float and step.eqn.primitive in PUT_TOGETHER:
                    after = self.not_yet_rounded(step, source, before, after)
            facts.append(after)
        if changed:
            try:
                n = wrap_of(step)
                result: Any = None if n is None else from_the_end(facts[1], n)
                if result is None:
                    result = rule.apply(step.eqn, *facts)
            except Exception as error:
                if not is_inconclusive(error):
                    raise
                result = fact
            if type(result) is list:
                result = result[step.outs.index(slot)]
            narrowed = meet(fact, result) if _comparable(fact, result) else result
            if narrowed is None:
                raise Infeasible
            fact = narrowed
        if self.cuts == cuts:
            self.recomputed[key] = fact
        else:
            self.tentative[key] = fact
        return fact

    def not_yet_rounded(self, step: Step, slot: int, before: Fact, after: Fact) -> Fact:
        """What a float that was compared is to a sum or product that it goes into.

        The compiler may fuse the two, or put their constants together: then the one that it goes into is made from the
        exact number, which lies beside the one that was compared, and has its sign. A constant that is added to a sum
        is first added to the sum's own, and rounded as large as that may be. Factors are not put into sums.
        """
        made = self.defs.get(slot)
        while made is not None and made.kind == SIMPLE and (made.rule is SAME or made.eqn.primitive in MOVES):
            made = self.defs.get(made.ins[0])
        if made is None or made.kind != SIMPLE or type(before.lo) is not float:
            return after
        kind, into, far = _KIND.get(made.eqn.primitive), _KIND.get(step.eqn.primitive), 0.0
        converted = kind == "convert" and not dtype_info(made.eqn.invars[0].aval.dtype).integral
        if made.eqn.primitive in APART and not converted:
            return after
        if kind in ("add", "sub"):
            if into in ("mul", "div"):
                return after
            for fact in [self.env[source] for source in made.ins]:
                if fact.step == 0 and type(fact.lo) is float:
                    far = max(far, abs(fact.lo))
        info, lo, hi = dtype_info(made.eqn.outvars[0].aval.dtype), after.lo, after.hi
        if lo != before.lo and math.isfinite(lo) and (lo or far):
            lo = max(lo - slack(max(abs(lo), far), info), before.lo)
        if hi != before.hi and math.isfinite(hi) and (hi or far):
            hi = min(hi + slack(max(abs(hi), far), info), before.hi)
        return Fact(lo, hi, 0 if lo == hi and not after.nan else 1, after.nan)


def assuming(program: Program, env: list[Any], slot: int, truth: int, level: Any) -> Refiner | None:
    """What follows from a condition that comes out this way; None where it cannot."""
    refiner = Refiner(program, env)
    try:
        refiner.assume(slot, truth, level)
    except Infeasible:
        return None
    return refiner


def _comparable(a: Fact, b: Fact) -> bool:
    return type(a.lo) is not np.ndarray or type(b.lo) is not np.ndarray or a.lo.ndim == b.lo.ndim


def _range(lo: Any, hi: Any) -> Fact | None:
    if type(lo) is int and type(hi) is int and lo > hi:
        raise Infeasible
    return Fact(lo, hi)


def _same(a: Fact, b: Fact) -> bool:
    if type(a.lo) is np.ndarray or type(b.lo) is np.ndarray:
        return a.key() == b.key() if type(a.lo) is type(b.lo) else False
    return bool(a.lo == b.lo and a.hi == b.hi and a.step == b.step and a.nan == b.nan)


def _nonempty(aval: Any) -> bool:
    """Whether an array has elements: what holds for all elements of an empty one says nothing."""
    try:
        return all(bool(n >= 1) for n in aval.shape)
    except Exception as error:
        if not is_inconclusive(error):
            raise
        return False


def _is_met(relation: str, a: Fact, b: Fact) -> bool:
    """Whether every integer that a can be is in that relation to some that b can be: it says nothing new of a."""
    if type(a.lo) is not int or type(a.hi) is not int or type(b.lo) is not int or type(b.hi) is not int:
        return False
    if relation == "lt":
        return a.hi < b.hi
    if relation == "le":
        return a.hi <= b.hi
    if relation == "gt":
        return a.lo > b.lo
    return relation == "ge" and a.lo >= b.lo


def _satisfying(relation: str, a: Fact, b: Fact) -> Fact | None:
    """What a can be when `a relation b` holds at every position considered."""
    kept = type(b.lo) is np.ndarray
    if kept and (not is_small(a) or (type(a.lo) is np.ndarray and a.lo.ndim != b.lo.ndim)):
        # Only numbers far inside int64 can be told apart from "no bound" below.
        b = summarised(b)
        kept = False
    far = 2**62
    if relation == "lt":
        return Fact(np.full_like(b.lo, -far) if kept else _lowest(a), b.hi - 1)
    if relation == "le":
        return Fact(np.full_like(b.lo, -far) if kept else _lowest(a), b.hi)
    if relation == "gt":
        return Fact(b.lo + 1, np.full_like(b.lo, far) if kept else _highest(a))
    if relation == "ge":
        return Fact(b.lo, np.full_like(b.lo, far) if kept else _highest(a))
    if relation == "eq":
        return Fact(b.lo, b.hi, b.step) if not kept else b
    if b.step == 0 and type(a.lo) is int and type(b.lo) is int:
        return _excluding(a, b.lo)
    return None


def _lowest(a: Fact) -> Any:
    return summarised(a).lo


def _highest(a: Fact) -> Any:
    return summarised(a).hi


def _excluding(a: Fact, value: int) -> Fact | None:
    stride = a.step if a.step > 1 else 1
    lo, hi = a.lo, a.hi
    if lo == value == hi:
        raise Infeasible
    if lo == value:
        # Where it hangs on a size whether anything is left, nothing is said.
        return strided(lo + stride, hi, stride, lo) if at_most(lo + stride, hi) is not None else None
    if hi == value:
        return strided(lo, hi - stride, stride, lo)
    return None
