"""A recorded check as a trace that Perfetto and chrome://tracing open."""

from __future__ import annotations

import gzip
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from redzone.report.paths import shown_path

if TYPE_CHECKING:
    from redzone.explain.own import Explanation
    from redzone.explain.recording import Event


def trace_of(explanations: Sequence[Explanation]) -> dict[str, Any]:
    """One thread for each check; events of a thread nest, times are microseconds since the first of them."""
    events: list[dict[str, Any]] = [{"ph": "M", "pid": 1, "name": "process_name", "args": {"name": "redzone"}}]
    for number, one in enumerate(explanations, 1):
        events.append({"ph": "M", "pid": 1, "tid": number, "name": "thread_name", "args": {"name": one.name}})
        # The outer before the inner, where both begin at the same moment.
        for event in sorted(one.record.events, key=lambda e: (e.start, -e.end)):
            events.append(_event(one, event, number))
    left_out = sum(one.record.left_out for one in explanations)
    return {"displayTimeUnit": "ms", "traceEvents": events, "otherData": {"events_left_out": left_out}}


def write(explanations: Sequence[Explanation], file: Path) -> None:
    """Write the trace of these checks; a name that ends in .gz is compressed."""
    text = json.dumps(trace_of(explanations)).encode()
    file.write_bytes(gzip.compress(text) if file.name.endswith(".gz") else text)


def _event(one: Explanation, event: Event, thread: int) -> dict[str, Any]:
    args: dict[str, Any] = {}
    name = event.name
    if event.eqn is not None:
        place = one.places.of(event.eqn)
        name = event.eqn.primitive.name
        if place.file:
            args["line"] = f"{shown_path(place.file)}:{place.line}"
    if event.accesses and len(event.accesses) <= 8:
        places = [one.places.of_access(key) for key in event.accesses]
        args["accesses"] = [f"{shown_path(p.file)}:{p.line}" for p in places if p.file]
    elif event.accesses:
        args["accesses"] = len(event.accesses)
    start = (event.start - one.record.began) * 1e6
    return {
        "ph": "X",
        "pid": 1,
        "tid": thread,
        "name": name,
        "cat": "equation" if event.eqn is not None else "redzone",
        "ts": round(start, 3),
        "dur": round((event.end - event.start) * 1e6, 3),
        "args": args,
    }
