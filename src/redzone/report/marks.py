"""Which part of an accessing expression is the index, and what the user calls the array."""

from __future__ import annotations

import ast
import dataclasses
import linecache
import warnings
from collections.abc import Sequence

from redzone.report.place import Location, Span

#: By file: the lines that were parsed, and the indexing expressions in them by where they end.
_parsed: dict[str, tuple[list[str], dict[tuple[int, int], Mark]]] = {}
#: Functions that take the array first, and which of their arguments is the index.
_FUNCTIONS = {
    "dynamic_slice": 1,
    "dynamic_slice_in_dim": 1,
    "dynamic_index_in_dim": 1,
    "dynamic_update_slice": 2,
    "dynamic_update_slice_in_dim": 2,
    "dynamic_update_index_in_dim": 2,
    "take": 1,
    "take_along_axis": 1,
    "put_along_axis": 1,
    "gather": 1,
    "scatter": 1,
    "scatter_add": 1,
    "segment_sum": 1,
    "segment_prod": 1,
    "segment_min": 1,
    "segment_max": 1,
}


@dataclasses.dataclass(frozen=True, slots=True)
class Mark:
    """The index of an access in its source, and the expression that is indexed."""

    index: Span
    array: str
    """Empty where the array that is accessed is not written there."""


def index_of(location: Location) -> Span | None:
    """Where in the source the index of an access is written; None where that cannot be told."""
    if location.index is not None:
        return location.index
    mark = mark_of(location)
    return None if mark is None else mark.index


def mark_of(location: Location) -> Mark | None:
    """The indexing expression at a location, found by parsing its file."""
    if location.span is None or not location.file:
        return None
    # Of a method's call Python may name where the method starts; the expression ends at the same place.
    return _marks(location.file).get((location.span.end_line, location.span.end_column))


def _parts(node: ast.expr) -> tuple[Sequence[ast.expr], ast.expr | None] | None:
    """The index and the array of an indexing expression."""
    if isinstance(node, ast.Subscript):
        return [node.slice], node.value
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Subscript):
        inner = function.value
        if isinstance(inner.value, ast.Attribute) and inner.value.attr == "at":
            return [inner.slice], inner.value.value
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    place = _FUNCTIONS.get(name)
    if place is not None and len(node.args) > place and not any(isinstance(a, ast.Starred) for a in node.args):
        # lax.dynamic_slice(x, i, j, sizes=…) is not valid JAX, so one argument is the whole index.
        # The segments are summed into an array of the function's own.
        return [node.args[place]], None if name.startswith("segment_") else node.args[0]
    return None


def _words(array: ast.expr | None) -> str:
    return "" if array is None else " ".join(ast.unparse(array).split())


def _span(nodes: Sequence[ast.expr], lines: list[str]) -> Span:
    first, last = nodes[0], nodes[-1]
    end_line = last.end_lineno or last.lineno
    return Span(
        first.lineno,
        characters(lines, first.lineno, first.col_offset),
        end_line,
        characters(lines, end_line, last.end_col_offset or 0),
    )


def characters(lines: Sequence[str], line: int, offset: int) -> int:
    """A column in characters, from one in bytes of UTF-8, which is what Python counts."""
    if not 0 < line <= len(lines):
        return offset
    text = lines[line - 1]
    return offset if text.isascii() else len(text.encode()[:offset].decode(errors="ignore"))


def _marks(file: str) -> dict[tuple[int, int], Mark]:
    lines = linecache.getlines(file)
    known = _parsed.get(file)
    if known is None or known[0] is not lines:
        known = _parsed[file] = (lines, _marks_in(lines))
    return known[1]


def _marks_in(lines: list[str]) -> dict[tuple[int, int], Mark]:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse("".join(lines))
    except (SyntaxError, ValueError, RecursionError):
        return {}  # a cell with magics, a template
    found: dict[tuple[int, int], tuple[tuple[int, int], Mark]] = {}
    for node in ast.walk(tree):
        parts = _parts(node) if isinstance(node, ast.expr) else None
        if parts is not None and isinstance(node, ast.expr):
            index, array = parts
            line = node.end_lineno or node.lineno
            end, start = (line, characters(lines, line, node.end_col_offset or 0)), (node.lineno, node.col_offset)
            # Of expressions that end together the innermost is meant.
            if end not in found or start > found[end][0]:
                found[end] = start, Mark(_span(index, lines), _words(array))
    return {end: mark for end, (_, mark) in found.items()}
