"""Accesses that a reader cannot tell apart, told once: a line of an unrolled loop is one row."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from redzone.report.model import Access, Pattern

_LONG = re.compile(r"(bfloat|float|uint|int|complex)(\d\w*)")
_SHORT = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


@dataclasses.dataclass(slots=True)
class Row:
    """One access, how many there are like it, and what all of them together can touch."""

    access: Access
    count: int
    reach: Pattern

    @property
    def pattern(self) -> str:
        """The pattern of one access, or what the patterns of several have in common."""
        if self.count == 1 or self.reach is self.access.pattern:
            return str(self.access.pattern)
        if self.reach.low is None:
            return self.reach.kind
        return f"{self.reach.kind}, in [{self.reach.low}, {self.reach.high}]"


def rows_of(accesses: Sequence[Access]) -> list[Row]:
    """The distinct accesses in program order: same line, operand, verdict, rule and suppression."""
    groups: dict[object, Row] = {}
    for access in accesses:
        place = access.location
        key = (
            place.file, place.line, access.effect, access.primitive, access.mode, str(access.shape),
            str(access.dtype), access.verdict, access.rule, access.suppressed, access.requires,
        )  # fmt: skip
        row = groups.get(key)
        if row is None:
            groups[key] = Row(access, 1, access.pattern)
        else:
            row.count += 1
            row.reach = _both(row.reach, access.pattern)
    return list(groups.values())


def places_of(accesses: Sequence[Access]) -> list[tuple[Access, int]]:
    """The distinct source lines of accesses, in program order: the first access of each, and how many there are."""
    groups: dict[object, list[Access]] = {}
    for access in accesses:
        place = access.location
        key = (place.file, place.line, access.effect, access.rule, short_aval(access))
        groups.setdefault(key, []).append(access)
    return [(same[0], len(same)) for same in groups.values()]


def _both(one: Pattern, other: Pattern) -> Pattern:
    """What two accesses of the same array can touch between them."""
    if one == other:
        return one
    kind = one.kind if one.kind == other.kind else "various"
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Pattern(kind, (), None, None, None)
    return Pattern(kind, (), None, min(one.low, other.low), max(one.high, other.high))


def short_aval(access: Access) -> str:
    """The accessed array as JAX writes it: f32[100,n]."""
    name = str(access.dtype)
    match = _LONG.fullmatch(name)
    if match:
        name = _SHORT[match[1]] + match[2]
    return f"{name}[{','.join(map(str, access.shape))}]"
