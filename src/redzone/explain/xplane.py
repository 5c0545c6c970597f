"""Captures in the profiler's own format, `*.xplane.pb`, read through `jax.profiler.ProfileData`."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from redzone.explain.capture import BadCapture, Capture, Span, launch
from redzone.explain.names import says_something

_DETAILS = frozenset({"kernel_details", "memcpy_details", "Memset_details", "memset_details", "hlo_module"})


def read_xplane(file: Path) -> Capture:
    """What the file holds."""
    from jax.profiler import ProfileData

    capture = Capture(file)
    with warnings.catch_warnings():
        # The extension's own classes lack a `__module__`, of which Python complains at each first use.
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            planes = list(ProfileData.from_serialized_xspace(file.read_bytes()).planes)
            for plane in planes:
                _read_plane(capture, plane)
        except BadCapture:
            raise
        except Exception as error:
            raise BadCapture(_unreadable(file, error)) from error
    if not planes:
        raise BadCapture(f"{file} holds nothing: the profiler was stopped before it recorded anything")
    return capture


def _unreadable(file: Path, error: Exception) -> str:
    said = str(error).strip().splitlines()
    return (
        f"{file} is no capture of JAX's profiler, or a damaged one ({said[0] if said else type(error).__name__}). "
        "If it was copied, copy it again; the *.trace.json.gz beside it holds the same events"
    )


def _read_plane(capture: Capture, plane: Any) -> None:
    name = plane.name
    if name.startswith("/device:") and "CUSTOM" not in name:
        capture.devices += (name,)
        stats = {key: value for key, value in plane.stats if key}
        capture.card.name = capture.card.name or str(stats.get("gpu_device_name") or stats.get("device_type") or "")
        capture.card.bandwidth = capture.card.bandwidth or float(stats.get("memory_bandwidth") or 0)
        for line in plane.lines:
            if line.name.startswith("Stream"):
                _read_stream(capture, line, f"{name} {line.name}")
    elif name == "/host:metadata":
        stats = {key: value for key, value in plane.stats if key}
        capture.jax_version = str(stats.get("jax_version", ""))
    elif name.startswith("/host:CPU"):
        for number, line in enumerate(plane.lines):
            _read_thread(capture, line, f"{line.name}#{number}")


def _read_stream(capture: Capture, line: Any, stream: str) -> None:
    for event in line.events:
        start, seconds = event.start_ns * 1e-9, event.duration_ns * 1e-9
        capture.saw(start, start + seconds)
        stats = {key: str(value) for key, value in event.stats if key in _DETAILS}
        capture.launches.append(launch(event.name, start, seconds, stream, stats))


def _read_thread(capture: Capture, line: Any, thread: str) -> None:
    for event in line.events:
        start, seconds, name = event.start_ns * 1e-9, event.duration_ns * 1e-9, event.name
        capture.saw(start, start + seconds)
        if says_something(name):
            capture.spans.append(Span(name, start, seconds, thread))
