"""Traps on the way to an index: a sentinel that wraps, a sum that overflows, a type too narrow, a clip too wide.

A lint is no verdict. It points at a line that hardly does what its author meant, whether or not the access stays
inside; it is looked for only when somebody asks. Each rule errs on the side of silence.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from redzone.access.site import Column, Site
from redzone.domains import Fact, dtype_info
from redzone.engine import Seen
from redzone.engine.forward import Context
from redzone.engine.idioms import REMAINDER
from redzone.engine.program import SIMPLE
from redzone.frontend import compat
from redzone.frontend.trace import Input
from redzone.prove.declared import declared_by, is_own_word
from redzone.prove.needs import is_wrap
from redzone.prove.ways import BUDGET, MOVES, SUMS, Way, behind, leaf_of, outside, place_of, whole_of
from redzone.report.codes import CODES
from redzone.report.model import Access, Lint, Verdict

#: JAX's own functions whose accesses are at their caller's indices.
_INDEXING: Final = frozenset({"take", "take_along_axis", "gather", "scatter_update", "put", "put_along_axis"})
#: A float's rounding moves a bound by less than one part in so many.
_ROUNDED: Final = 2**18
#: What takes the result of a read and may throw it away.
_DISCARDING: Final = frozenset({"select_n", "mul", "and", "or", "where", "_where", "min", "max"})


class Lints:
    """The lints of one access."""

    def __init__(self, inputs: Sequence[Input], site: Site, access: Access) -> None:
        self.inputs = inputs
        self.site = site
        self.access = access
        self.found: dict[Any, Lint] = {}

    def over(self, seen: Sequence[Seen]) -> tuple[Lint, ...]:
        """What is found on every way the access is reached, each once."""
        if self.site.opaque or any(c.also is not None or c.repeat != 1 for c in self.site.columns):
            return ()
        for one in seen:
            for k, column in enumerate(self.site.columns):
                if type(column.limit) is not int or type(self.access.shape[column.dim]) is not int:
                    continue
                ways = list(behind(one.context, one.step.ins[k], column.column))
                for rule in (self.sentinel, self.overflow, self.narrow, self.rounded, self.clipped):
                    rule(column, ways)
        return tuple(self.found.values())

    def say(self, code: str, way: Way | None, message: str) -> None:
        place = (way and place_of(way.context, way.step)) or self.access.location
        self.found.setdefault((code, place.file, place.line), Lint(code, message, CODES[code].fix, place))

    # The rules

    def sentinel(self, column: Column, ways: list[Way]) -> None:
        """A negative number that stands for "none", where JAX counts it from the end."""
        site, size = self.site, self.size(column)
        code = "RZ104" if site.effect == "read" else "RZ204"
        why = declared_by(site) if site.mode in ("drop", "fill") else ""
        spoken = is_own_word(why)
        if (why and not spoken) or not self.users():
            return
        for way in ways:
            if not (way.wrapped and way.plain) or way.step.eqn.primitive.name != "select_n":
                continue
            for case in way.step.ins[1:]:
                number = _constant(way.context, case)
                if number is None or not -size <= number < 0:
                    continue
                if site.effect == "write" and self.spare(column):
                    return
                if site.effect == "write" or spoken or not self.discarded():
                    does = {"write": "is not dropped", "read": "is not left out"}[site.effect]
                    text = f"the index {number} {does}: it wraps to {size + number}, the end of dimension {column.dim}"
                    self.say(code, way, text)
                    return
        if spoken and site.effect == "write":
            self.negative(column, ways, code)
        elif not spoken:
            self.stands_for_none(column, ways, code)

    def stands_for_none(self, column: Column, ways: list[Way], code: str) -> None:
        """An input whose contract goes down to -1 and no further: it says that -1 is something else than a place."""
        for way in ways:
            if way.step.eqn.primitive.name != "select_n" or not is_wrap(way.context, way.step) or not way.plain:
                continue
            leaf = leaf_of(way.context, way.step.ins[1])
            if leaf is None or type(self.inputs[leaf].min) is not int or self.inputs[leaf].min != -1:
                continue
            if self.spare(column) if self.site.effect == "write" else self.discarded():
                return
            does = {"write": "is not dropped", "read": "is not left out"}[self.site.effect]
            end = self.size(column) - 1
            where = f"it wraps to {end}, the end of dimension {column.dim}"
            self.say(code, None, f"the index -1 that {self.inputs[leaf].name} may hold {does}: {where}")
            return

    def negative(self, column: Column, ways: list[Way], code: str) -> None:
        """An index that can be negative where the program says that what is outside is dropped."""
        for way in ways:
            if way.step.eqn.primitive.name == "select_n" and is_wrap(way.context, way.step) and way.plain:
                # Only an input is known to be negative: what is computed may just not be known well enough.
                low = whole_of(way.context, way.step.ins[1])
                if leaf_of(way.context, way.step.ins[1]) is None:
                    continue
                if low is not None and type(low.lo) is int and low.lo < 0:
                    span = _span(max(low.lo, -self.size(column)), -1)
                    text = (
                        f"mode='{self.site.mode}' does not drop an index of {span}: it wraps to the end of dimension "
                    )
                    self.say(code, None, text + str(column.dim))
                    return

    def overflow(self, column: Column, ways: list[Way]) -> None:
        """Arithmetic on bounded numbers whose result leaves its type."""
        if self.access.rule == "RZ301":
            return
        for way in ways:
            name = way.step.eqn.primitive.name
            info = dtype_info(way.step.eqn.outvars[0].aval.dtype)
            whole = whole_of(way.context, way.slot)
            if name not in SUMS or info.kind != "i" or not _written_by_user(way.step.eqn):
                continue
            if whole is None or (whole.lo, whole.hi) != (info.min, info.max):
                continue
            operands = [whole_of(way.context, s) for s in way.step.ins]
            ends = _reach(name, operands)
            if ends is None or (ends[0] >= info.min and ends[1] <= info.max):
                continue
            if all(self.promised(way.context, s, info, 24) for s in way.step.ins):
                far = ends[1] if ends[1] > info.max else ends[0]
                sign = {"add": "+", "sub": "-", "mul": "·"}[name]
                parts = f" {sign} ".join(f"({_span(f.lo, f.hi)})" for f in operands if f is not None)
                dtype = way.step.eqn.outvars[0].aval.dtype
                self.say("RZ301", way, f"{parts} can be {far}, which {dtype} cannot hold; then it wraps")

    def narrow(self, column: Column, ways: list[Way]) -> None:
        """An index of a type whose largest number is before the end of the array."""
        for way in ways:
            if not way.plain or way.step.eqn.primitive.name != "convert_element_type":
                continue
            dtype = way.step.eqn.invars[0].aval.dtype
            info, whole = dtype_info(dtype), whole_of(way.context, way.step.ins[0])
            if info.kind not in "iu" or info.bits > 16 or whole is None or whole.hi != info.max:
                continue
            source = way.step.ins[0]
            if info.max < column.limit and (self.unconstrained(way.context, source) or _is_cut(way.context, source)):
                size = self.size(column)
                text = f"an index of type {dtype} ends at {info.max}: the {size} elements of dimension {column.dim} "
                self.say("RZ302", None, text + f"from {info.max + 1} on are out of its reach")

    def rounded(self, column: Column, ways: list[Way]) -> None:
        """A float that becomes an index just past the end, or that the program itself makes NaN."""
        for way in ways:
            eqn = way.step.eqn
            if eqn.primitive.name != "convert_element_type" or not way.plain or not _written_by_user(eqn):
                continue
            if dtype_info(eqn.invars[0].aval.dtype).kind != "f" or dtype_info(eqn.outvars[0].aval.dtype).kind == "f":
                continue
            value, result = whole_of(way.context, way.step.ins[0]), whole_of(way.context, way.slot)
            if value is None or result is None:
                continue
            dtype = eqn.invars[0].aval.dtype
            size = column.limit + 1
            # The bounds of floats are a little too wide: only a replay tells that it really gets there.
            if self.access.verdict is Verdict.UNSAFE and _is_about(result.hi, size):
                text = f"this {dtype} can be {size} or be rounded up to it, and the index may be {column.limit} at most"
                self.say("RZ303", way, text)
            elif value.nan and (maker := _maker_of_nan(way.context, way.step.ins[0])):
                self.say("RZ303", way, f"this {dtype} can be NaN after {maker}, which becomes an index like any other")

    def clipped(self, column: Column, ways: list[Way]) -> None:
        """An index limited to the size, where the last element is one less."""
        if not self.leaves() or not self.users():
            return
        size = self.size(column)
        for way in ways:
            if not way.plain or way.step.eqn.primitive.name not in ("min", "clamp"):
                continue
            last = way.step.ins[-1:] if way.step.eqn.primitive.name == "clamp" else way.step.ins
            whole = whole_of(way.context, way.slot)
            if whole is None or whole.hi != column.limit + 1:
                continue
            if any(_constant(way.context, s) == column.limit + 1 for s in last):
                what = "size" if column.limit + 1 == size else "first position outside"
                text = f"the index is limited to {column.limit + 1}, the {what} of dimension {column.dim}; "
                self.say("RZ304", way, text + f"the last position is {column.limit}")

    # What the rules ask

    def size(self, column: Column) -> int:
        return int(self.access.shape[column.dim])

    def leaves(self) -> bool:
        """Whether the access may leave its array without a word."""
        return self.access.verdict in (Verdict.UNSAFE, Verdict.UNKNOWN, Verdict.REQUIRES)

    def users(self) -> bool:
        """Whether the access is the user's own, or of a JAX function that indexes for the user."""
        site = self.site
        if _written_by_user(site.eqn):
            return True
        return bool(site.chain) and str(site.chain[0].params.get("name", "")).lstrip("_") in _INDEXING

    def discarded(self) -> bool:
        """Whether something behind a read may throw its result away."""
        home = self.site.home
        wanted = set(self.site.eqn.outvars)
        for eqn in getattr(home, "eqns", ()):
            if not any(v in wanted for v in eqn.invars if not hasattr(v, "val")):
                continue
            if eqn.primitive.name in _DISCARDING or eqn.params.get("name") in _DISCARDING:
                return True
            if eqn.primitive.name in MOVES or "jaxpr" in eqn.params:
                wanted.update(eqn.outvars)
        return home is None

    def spare(self, column: Column) -> bool:
        """Whether the last element is there for what should be dropped: it is cut off after a write."""
        wanted = set(self.site.eqn.outvars)
        return any(
            eqn.primitive.name == "slice"
            and eqn.invars[0] in wanted
            and eqn.params["limit_indices"][column.dim] < self.size(column)
            for eqn in getattr(self.site.home, "eqns", ())
            if not hasattr(eqn.invars[0] if eqn.invars else None, "val")
        )

    def unconstrained(self, context: Context, slot: int) -> bool:
        """Whether a value is an input as it comes, of which nothing is promised."""
        for way in behind(context, slot, None):
            if way.step.eqn.primitive.name not in MOVES:
                return False
        leaf = leaf_of(context, slot)
        return leaf is not None and self.inputs[leaf].open_above

    def promised(self, context: Context, slot: int, info: Any, depth: int) -> bool:
        """Whether a value's bounds come from a contract, a shape or a limit in the program, not from its type."""
        fact = whole_of(context, slot)
        if fact is None or depth == 0:
            return False
        if fact.step == 0 or context.program.template[slot] is not None:
            return True
        step = context.program.defs.get(slot)
        if step is None:
            leaf = leaf_of(context, slot)
            if leaf is not None:
                source = self.inputs[leaf]
                return not (source.open_above or source.open_below)
            up = outside(context, slot)
            return up is not None and self.promised(up[0], up[1], info, depth - 1)
        name = step.eqn.primitive.name
        near = type(fact.lo) is int and type(fact.hi) is int and fact.lo > info.min // 2 and fact.hi < info.max // 2
        if name in ("iota", "argmax", "argmin", "axis_index", "program_id"):
            return True
        if step.kind != SIMPLE or not near:
            return False
        if step.rule is REMAINDER or name in ("rem", "clamp", "min", "max", "and"):
            return True
        values = step.ins[1:] if name == "select_n" else step.ins
        same = all(dtype_info(getattr(v.aval, "dtype", None)).kind in "iub" for v in step.eqn.invars)
        return same and bool(values) and all(self.promised(context, s, info, depth - 1) for s in values)


def _written_by_user(eqn: Any) -> bool:
    """Whether an equation has a line outside JAX; inside a jitted function of JAX's own it has none."""
    return bool(compat.user_frames(eqn.source_info))


def _is_cut(context: Context, slot: int) -> bool:
    """Whether an integer was made narrower than the numbers it can be."""
    step = context.program.defs.get(slot)
    if step is None or step.kind != SIMPLE or step.eqn.primitive.name != "convert_element_type":
        return False
    narrow, wide = (dtype_info(v.aval.dtype) for v in (step.eqn.outvars[0], step.eqn.invars[0]))
    whole = whole_of(context, step.ins[0])
    return wide.kind in "iu" and wide.bits > narrow.bits and whole is not None and bool(whole.hi > narrow.max)


def _constant(context: Context, slot: int) -> int | None:
    """The one integer a value is, wherever it is used."""
    fact = whole_of(context, slot)
    return fact.lo if fact is not None and fact.step == 0 and type(fact.lo) is int else None


def _reach(name: str, operands: list[Fact | None]) -> tuple[int, int] | None:
    """What a sum or product of two bounded integers can be, in mathematics."""
    if len(operands) != 2:
        return None
    a, b = operands
    if a is None or b is None or not all(type(n) is int for f in (a, b) for n in (f.lo, f.hi)):
        return None
    if name == "add":
        return a.lo + b.lo, a.hi + b.hi
    if name == "sub":
        return a.lo - b.hi, a.hi - b.lo
    corners = [x * y for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return min(corners), max(corners)


def _is_about(bound: Any, number: int) -> bool:
    """Whether a bound is a number but for the rounding of floats."""
    return type(bound) is int and number <= bound <= number + number // _ROUNDED


def _span(lo: Any, hi: Any) -> str:
    return str(lo) if lo == hi else f"{lo} … {hi}"


def _maker_of_nan(context: Context, slot: int) -> str:
    """The equation that makes NaN out of numbers; empty where NaN comes in with an input."""
    todo: list[int] = [slot]
    known: set[int] = set()
    while todo and len(known) < BUDGET:
        slot = todo.pop()
        step = context.program.defs.get(slot)
        if slot in known or step is None or step.kind != SIMPLE:
            continue
        known.add(slot)
        floats = [s for s in step.ins if (f := context.env[s]) is not None and f.nan]
        if not floats and step.ins and step.rule is not None:
            return f"{step.eqn.primitive.name} → {step.eqn.outvars[0].aval.str_short()}"
        todo += floats
    return ""
