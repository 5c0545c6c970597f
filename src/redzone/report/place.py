"""Places in source text: lines, and the columns of an expression on them."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """An expression in a file: lines from 1, columns from 0, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclasses.dataclass(frozen=True, slots=True)
class Location:
    """Where in the user's source an equation came from."""

    file: str
    line: int
    function: str
    text: str
    span: Span | None = dataclasses.field(default=None, compare=False)
    """The expression that was evaluated, where Python tells."""
    index: Span | None = dataclasses.field(default=None, compare=False)
    """Of an access that was read back from a file: the index in that expression, which `marks.index_of` finds."""

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" if self.file else "<unknown>"


NOWHERE = Location("", 0, "", "")
