"""Where a check's time went, for people and as JSON."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from redzone.explain.words import columns, counted, folded, seconds_as_text, share_as_text
from redzone.report.json import location_as_json
from redzone.report.model import Access
from redzone.report.paths import shown_path
from redzone.report.rows import short_aval

if TYPE_CHECKING:
    from redzone.explain.compiling import JaxTime
    from redzone.explain.own import Explanation, Row

SCHEMA = 1
#: How many rows of a table are shown; the others are one row together.
ROWS = 8
#: Seconds from which on first uses are worth a word.
FIRST = 0.01


def sentence(one: Explanation) -> str:
    """What the check took, against what JAX itself needed."""
    took, spent = f"Checking {one.name} took {seconds_as_text(one.check_seconds)}", one.check_seconds
    if one.check_seconds > 1.5 * one.again_seconds:
        # JAX's time leaves out what is done once in a process, so ours must too.
        took, spent = f"{took}, and {seconds_as_text(one.again_seconds)} when run again", one.again_seconds
    if one.jax is None:
        return f"{took}."
    share = share_as_text(spent, one.jax.seconds)
    if one.jax.is_whole:
        return f"{took}: {share} of the time JAX itself needed."
    if one.jax.compile_limit is not None:
        return f"{took}: less than {share} of the time JAX itself needs, of which compiling was not waited for."
    measured = "tracing and lowering" if one.jax.lower is not None else "tracing"
    return f"{took}: {share} of the time JAX needed for {measured} alone."


def explanation_as_text(one: Explanation) -> str:
    """The whole answer, in lines of at most 80 characters."""
    return "\n".join(_lines(one))


def _lines(one: Explanation) -> Iterator[str]:
    yield from folded(one.sentence)
    if one.jax is not None:
        yield from folded(_jax(one.jax))
    yield from folded(_runs(one))
    for heading, rows, counts in (
        ("by stage", one.stages, ""),
        ("by line", one.lines, "steps"),
        ("by primitive", one.primitives, "times"),
    ):
        yield ""
        yield from _table(heading, rows, one.seconds, counts, sort=heading != "by stage")
    yield ""
    yield from _accesses(one)
    loops = [row for row in one.loops if row.count > 1]
    if loops:
        yield ""
        yield "loops that took more than one round (their time is in the tables above)"
        cells = [(row.name, counted(row.count, "round"), seconds_as_text(row.seconds)) for row in loops[:ROWS]]
        yield from columns(cells)
    yield ""
    yield from _advice(one)


def _jax(jax: JaxTime) -> str:
    parts = [f"tracing {seconds_as_text(jax.trace)}"]
    if jax.lower is not None:
        parts.append(f"lowering {seconds_as_text(jax.lower)}")
    if jax.compile is not None:
        parts.append(f"compiling {seconds_as_text(jax.compile)}")
    elif jax.compile_limit is not None:
        parts.append(f"compiling more than {seconds_as_text(jax.compile_limit)}")
    text = f"JAX: {', '.join(parts)}."
    return f"{text} The rest was not measured: {jax.why_not}." if jax.why_not else text


def _runs(one: Explanation) -> str:
    text = f"Broken down below is a recording of the check run again: {seconds_as_text(one.seconds)}, each part at its "
    text += "quickest."
    first = one.check_seconds - one.again_seconds
    loaded = [name for name in ("isl", "z3") if any(q.what == name for q in one.record.questions)]
    if loaded and first > FIRST:
        text += f" The {seconds_as_text(first)} more that the first took went into first uses: {' and '.join(loaded)} "
        text += "are loaded once in a process."
    return text


def _table(heading: str, rows: Sequence[Row], total: float, counts: str, sort: bool) -> Iterator[str]:
    shown = list(rows[:ROWS]) if sort else list(rows)
    rest = rows[len(shown) :]
    cells = [(heading, "time", "share", counts)]
    for row in shown:
        cells.append((_name(row), *_time(row.seconds, total), f"{row.count:,}" if counts and row.count else ""))
    if rest:
        count = sum(row.count for row in rest)
        name = f"({counted(len(rest), 'more')[:-1] if len(rest) > 1 else '1 more'})"
        cells.append((name, *_time(sum(r.seconds for r in rest), total), f"{count:,}" if counts and count else ""))
    cells.append(("all", *_time(total, total), ""))
    if not counts:
        cells = [cell[:3] for cell in cells]  # type: ignore[misc]
    head, *body = columns(cells, indent="")
    yield head
    yield from body


def _time(seconds: float, total: float) -> tuple[str, str]:
    return seconds_as_text(seconds), share_as_text(seconds, total)


def _name(row: Row) -> str:
    if row.location is None:
        return row.name
    place = row.location
    text = f"{_near(shown_path(place.file))}:{place.line}"
    function = place.function.replace(".<locals>", "")
    return f"{text} {function}"[:44] if function else text


def _near(file: str) -> str:
    return file if len(file) <= 28 else file.rpartition("/")[2]


def _accesses(one: Explanation) -> Iterator[str]:
    from redzone.explain.own import COSTLIEST

    shown = [cost for cost in one.accesses if cost.seconds > 0][:COSTLIEST]
    if not shown:
        yield "no access took time of its own"
        return
    yield f"the costliest accesses, of {len(one.accesses)}"
    for number, cost in enumerate(shown, 1):
        access = cost.access
        what = f"{access.verdict} {access.effect} {short_aval(access)}"
        share = share_as_text(cost.seconds, one.seconds)
        yield f"  {number:>2}. {seconds_as_text(cost.seconds):>8}  {share:>6}  {_place(access)}  {what}"
        stages = ", ".join(
            f"{name} {seconds_as_text(s)}" for name, s in sorted(cost.stages.items(), key=lambda x: -x[1])
        )
        yield from folded("; ".join([stages, *cost.why]), indent="      ")
    rest = sum(cost.seconds for cost in one.accesses) - sum(cost.seconds for cost in shown)
    others = len([cost for cost in one.accesses if cost.seconds > 0]) - len(shown)
    if others > 0:
        yield f"  the other {others}: {seconds_as_text(rest)}, {share_as_text(rest, one.seconds)}"
    share = share_as_text(one.shared_seconds, one.seconds)
    yield f"  for no single access: {seconds_as_text(one.shared_seconds)}, {share}"


def _place(access: Access) -> str:
    return f"{_near(shown_path(access.location.file))}:{access.location.line}" if access.location.file else "<unknown>"


def _advice(one: Explanation) -> Iterator[str]:
    if not one.advice:
        yield "Nothing that redzone knows of would make it noticeably cheaper."
        return
    yield "what would make it cheaper"
    for item in one.advice[:5]:
        spared = f"up to {seconds_as_text(item.seconds)}, {share_as_text(item.seconds, one.seconds)}"
        yield from folded(f"{item.advice} ({spared})", indent="    ", first="  – ")


def explanation_as_json(one: Explanation) -> dict[str, Any]:
    """Everything as plain values; times in seconds."""
    return {
        "schema": SCHEMA,
        "name": one.name,
        "sentence": one.sentence,
        "seconds": one.seconds,
        "check_seconds": one.check_seconds,
        "again_seconds": one.again_seconds,
        "jax": None if one.jax is None else dataclasses.asdict(one.jax) | {"seconds": one.jax.seconds},
        "stages": [_row(row) for row in one.stages],
        "lines": [_row(row) for row in one.lines],
        "primitives": [_row(row) for row in one.primitives],
        "loops": [_row(row) for row in one.loops],
        "accesses": [
            {
                "location": location_as_json(cost.access.location),
                "primitive": cost.access.primitive,
                "effect": cost.access.effect,
                "verdict": str(cost.access.verdict),
                "decided_by": cost.access.decided_by,
                "seconds": cost.seconds,
                "stages": dict(cost.stages),
                "why": list(cost.why),
            }
            for cost in one.accesses
        ],
        "shared_seconds": one.shared_seconds,
        "advice": [dataclasses.asdict(item) for item in one.advice],
        "tree": tree(one),
    }


def _row(row: Row) -> dict[str, Any]:
    location = None if row.location is None else location_as_json(row.location)
    return {"name": row.name, "seconds": row.seconds, "count": row.count, "location": location}


def tree(one: Explanation) -> dict[str, Any]:
    """The check by stage, then by line, then by primitive or call: what an icicle chart draws."""
    top: dict[str, Any] = {"name": one.name, "seconds": one.seconds, "children": {}}
    for piece in one.record.pieces.values():
        place = one.places.of(piece.eqn) if piece.eqn is not None else None
        if place is None and len(piece.accesses) == 1:
            place = one.places.of_access(piece.accesses[0])
        line = str(place) if place is not None and place.file else "(no line)"
        what = piece.eqn.primitive.name if piece.eqn is not None else piece.what
        node = top
        for name in (piece.stage, line, what):
            node = node["children"].setdefault(name, {"name": name, "seconds": 0.0, "children": {}})
            node["seconds"] += piece.seconds
    return _listed(top)


def _listed(node: dict[str, Any]) -> dict[str, Any]:
    children = sorted((_listed(child) for child in node["children"].values()), key=lambda child: -child["seconds"])
    return {"name": node["name"], "seconds": node["seconds"], "children": children}
