"""The part of an input that a condition is about."""

from __future__ import annotations

from typing import Any

from redzone.report.model import Condition

#: Per dimension an index or a slice; () is the whole input.
Place = tuple[Any, ...]


def place_of(condition: Condition) -> Place | None:
    """The part of its argument a range is about; None where it does not say exactly."""
    where = condition.where.strip()
    if not where:
        return ()
    if not (where.startswith("[") and where.endswith("]")):
        return None
    parts = [_one(part.strip()) for part in where[1:-1].split(",")]
    return None if any(p is None for p in parts) else tuple(parts)


def _one(text: str) -> Any:
    try:
        if ":" not in text:
            return int(text)
        return slice(*[int(x) if x else None for x in text.split(":")])
    except ValueError:
        return None


def elements_of(array: Any, place: Place) -> Any:
    """That part of an array."""
    return array[place] if place else array
