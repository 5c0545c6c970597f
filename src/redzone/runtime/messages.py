"""What a failed check says: which value broke what, and the access it protects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from redzone.frontend.location import locate
from redzone.report.model import Access, Report
from redzone.report.paths import shown_path
from redzone.runtime.checks import Check, InPlace, OnEntry, Promise, columns_of
from redzone.runtime.errors import OutOfBounds, place_of
from redzone.runtime.places import elements_of


def error_of(
    report: Report,
    check: Check,
    value: int,
    leaves: Sequence[Any] | None,
    seen: tuple[Check, int] | None = None,
) -> OutOfBounds:
    """The error a failed check means.

    `leaves` are the inputs of the call where they are still there, `seen` is the access that was then seen to leave
    its array, with its index.
    """
    if isinstance(check, InPlace):
        lines = [f"{report.name}: {_left(check, value)}", *_access_lines(check.access)]
        return OutOfBounds("\n".join(lines), report, check.access)
    if isinstance(check, Promise):
        return _broken_promise(report, check)
    return _broken_condition(report, check, value, leaves, seen)


def _left(check: InPlace, value: int) -> str:
    access, column = check.access, check.column
    size = access.shape[column.dim] if column.dim < len(access.shape) else "?"
    window = size - column.limit if type(size) is int else 1
    span = f"index {value}" if window == 1 else f"a window of {window} at {value}"
    alike = [c.dim for c in columns_of(access.eqn) if c.limit == column.limit and c.operand == column.operand]
    if column.column is not None and len(alike) == len(columns_of(access.eqn)) > 1:
        # Dimensions of one size are looked at together.
        dims = " or ".join(map(str, alike))
        return f"{access.effect}s {span} of dimension {dims}, which have {size} elements"
    return f"{access.effect}s {span} of dimension {column.dim}, which has {size} elements"


def _access_lines(access: Access) -> list[str]:
    lines = [f"  --> {place_of(access)}"]
    if access.location.text:
        lines.append(f"    | {access.location.text}")
    if access.fix:
        lines.append(f"  fix: {access.fix}")
    return lines


def _broken_condition(
    report: Report, check: OnEntry, value: int, leaves: Sequence[Any] | None, seen: tuple[Check, int] | None
) -> OutOfBounds:
    there = leaves is not None and leaves[check.leaf] is not None
    found = first_broken(check, leaves[check.leaf]) if there else None  # type: ignore[index]
    shown = found if found is not None else f"{check.name} holds {value}"
    what = "what its contract promises" if check.condition is None else "what the program requires"
    lines = [f"{report.name}: {shown}, which breaks {check}, {what}"]
    access = check.accesses[0] if check.accesses else None
    if seen is not None and isinstance(seen[0], InPlace):
        access = seen[0].access
        lines.append(f"  with it the program {_left(*seen)}")  # type: ignore[arg-type]
    elif access is not None:
        lines.append(f"  for this {access.effect} to stay inside its array")
    if access is not None:
        lines += _access_lines(access)
        others = list(dict.fromkeys(p for a in check.accesses if (p := place_of(a)) != place_of(access)))
        if others:
            lines.append(f"  and for {', '.join(others[:3])}" + (" …" if len(others) > 3 else ""))
    return OutOfBounds("\n".join(lines), report, access)


def first_broken(check: OnEntry, array: Any) -> str | None:
    """The first element of an input that breaks a check, with its place; None where none does or it is gone."""
    try:
        whole = np.asarray(array)
        part = elements_of(whole, check.place)
    except (RuntimeError, TypeError):  # donated, deleted, or not all on this host
        return None
    part = np.atleast_1d(part)
    bad = np.zeros(part.shape, bool)
    if check.low is not None:
        bad |= part < np.asarray(check.low)
    if check.high is not None:
        bad |= part > np.asarray(check.high)
    if check.finite:
        bad |= ~np.isfinite(part)
    if not bad.any():
        return None
    at = np.unravel_index(int(bad.argmax()), bad.shape)
    value = part[at]
    if not whole.ndim:
        return f"{check.name} is {value}"
    return f"{check.name}[{', '.join(map(str, _in_whole(at, check.place, whole.shape)))}] is {value}"


def _in_whole(at: Sequence[Any], place: Sequence[Any], shape: Sequence[int]) -> list[int]:
    """A position inside a part as one inside the whole array."""
    rest, result = list(at), []
    for d, size in enumerate(shape):
        where = place[d] if d < len(place) else slice(None)
        if isinstance(where, int):
            result.append(where)
            continue
        start, _, step = where.indices(size)
        result.append(start + step * int(rest.pop(0)))
    return result


def _broken_promise(report: Report, check: Promise) -> OutOfBounds:
    location = locate((check.eqn,))
    place = f"{shown_path(location.file)}:{location.line}" if location.file else "<unknown>"
    lines = [f"{report.name}: a redzone.assume does not hold", f"  --> {place} in {location.function}"]
    if location.text:
        lines.append(f"    | {location.text}")
    return OutOfBounds("\n".join(lines), report, None)
