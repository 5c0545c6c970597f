"""Captures as the trace viewer's events, `*.trace.json.gz`."""

from __future__ import annotations

import gzip
import json
import zlib
from pathlib import Path
from typing import Any

from redzone.explain.capture import BadCapture, Capture, Span, launch
from redzone.explain.names import says_something


def read_chrome(file: Path) -> Capture:
    """What the file holds."""
    events = _events(file)
    capture = Capture(file)
    processes: dict[Any, str] = {}
    threads: dict[tuple[Any, Any], str] = {}
    for event in events:
        if event.get("ph") == "M":
            name = str(event.get("args", {}).get("name", ""))
            if event.get("name") == "process_name":
                processes[event.get("pid")] = name
            elif event.get("name") == "thread_name":
                threads[event.get("pid"), event.get("tid")] = name
    capture.devices = tuple(name for name in processes.values() if name.startswith("/device:"))
    for event in events:
        if event.get("ph") == "X":
            _read_event(capture, event, processes, threads)
    return capture


def _read_event(
    capture: Capture, event: dict[str, Any], processes: dict[Any, str], threads: dict[tuple[Any, Any], str]
) -> None:
    name, process = str(event.get("name", "")), processes.get(event.get("pid"), "")
    thread = threads.get((event.get("pid"), event.get("tid")), str(event.get("tid")))
    try:
        start, seconds = float(event["ts"]) * 1e-6, float(event.get("dur", 0)) * 1e-6
    except (KeyError, TypeError, ValueError):
        raise BadCapture(f"{capture.file}: the event {name!r} has no time; the file is damaged") from None
    if process.startswith("/device:"):
        if thread.startswith("Stream"):
            capture.saw(start, start + seconds)
            stats = {key: str(value) for key, value in (event.get("args") or {}).items()}
            capture.launches.append(launch(name, start, seconds, f"{process} {thread}", stats))
    else:
        capture.saw(start, start + seconds)
        if says_something(name):
            capture.spans.append(Span(name, start, seconds, f"{thread}#{event.get('tid')}"))


def _events(file: Path) -> list[dict[str, Any]]:
    try:
        raw = file.read_bytes()
        text = gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw
        content = json.loads(text)
    except (OSError, EOFError, zlib.error) as error:
        raise BadCapture(
            f"{file} is cut short or damaged ({error}): copy it again from where it was recorded"
        ) from None
    except ValueError as error:
        raise BadCapture(f"{file} is not JSON ({error}): it was cut short, or is no trace") from None
    events = content.get("traceEvents") if isinstance(content, dict) else content
    if not isinstance(events, list):
        raise BadCapture(f"{file} is JSON, but no trace: it has no list `traceEvents`")
    return [event for event in events if isinstance(event, dict)]
