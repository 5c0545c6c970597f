"""Accesses that a reader cannot tell apart, told once: a line of an unrolled loop is one row."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence

from redzone.report.model import Access

_LONG = re.compile(r"(bfloat|float|uint|int|complex)(\d\w*)")
_SHORT = {"bfloat": "bf", "float": "f", "uint": "u", "int": "i", "complex": "c"}


@dataclasses.dataclass(slots=True)
class Row:
    """One access, how many more there are like it, and the pattern of them all."""

    access: Access
    count: int
    pattern: str


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
            groups[key] = Row(access, 1, str(access.pattern))
        else:
            row.count += 1
            # Each iteration of an unrolled loop touches its own bytes; they share the kind at best.
            if str(access.pattern) != row.pattern:
                kind = access.pattern.kind
                row.pattern = kind if row.access.pattern.kind == kind else "various"
    return list(groups.values())


def short_aval(access: Access) -> str:
    """The accessed array as JAX writes it: f32[100,n]."""
    name = str(access.dtype)
    match = _LONG.fullmatch(name)
    if match:
        name = _SHORT[match[1]] + match[2]
    return f"{name}[{','.join(map(str, access.shape))}]"
