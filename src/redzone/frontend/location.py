"""Where in the user's source an equation came from."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from redzone.frontend import compat
from redzone.report.marks import characters
from redzone.report.place import NOWHERE as NOWHERE
from redzone.report.place import Location, Span


def locate(eqns: Sequence[Any]) -> Location:
    """The innermost frame outside JAX, given the access's equation and then each one that encloses it.

    JAX caches the traces of its own jitted functions, so the equations inside `jnp.take` carry no
    frames of this caller: the nearest enclosing equation that has some speaks for them. The same joins
    a frame list that ends at a jit boundary to its caller's.
    """
    for eqn in eqns:
        frames = compat.user_frames(eqn.source_info)
        if frames:
            file, line, function = frames[0]
            span = _span(file, eqn)
            return Location(file, line, function, linecache.getline(file, line).strip(), span)
    return NOWHERE


def place_of(eqns: Sequence[Any]) -> tuple[str, int]:
    """The file and line that `locate` finds, for which no file is read."""
    for eqn in eqns:
        frames = compat.user_frames(eqn.source_info)
        if frames:
            return frames[0][:2]
    return NOWHERE.file, NOWHERE.line


def calls_to(eqns: Sequence[Any]) -> tuple[Location, ...]:
    """The user's frames that lead to an equation, innermost first, given it and then each one that encloses it."""
    found: dict[tuple[str, int, str], Location] = {}
    for eqn in eqns:
        for file, line, function in compat.user_frames(eqn.source_info):
            place = Location(file, line, function, linecache.getline(file, line).strip())
            found.setdefault((file, line, function), place)
    return tuple(found.values())


def _span(file: str, eqn: Any) -> Span | None:
    """The expression an equation was made by, in characters."""
    found = compat.user_span(eqn.source_info)
    if found is None:
        return None
    line, column, end_line, end_column = found
    lines = linecache.getlines(file)
    return Span(line, characters(lines, line, column), end_line, characters(lines, end_line, end_column))
