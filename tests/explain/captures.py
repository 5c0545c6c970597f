"""The captures that come with the tests, and made-up ones in the trace viewer's format."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent / "captures"
#: The compilation of a small bf16 MLP's gradient on an H200, JAX 0.11.2, in both formats.
MLP = HERE / "h200_mlp"
#: The same with xla_gpu_autotune_level=0.
LEVEL_0 = HERE / "h200_level_0"
CPU = HERE / "cpu"


def kernel(name: str, start: float, micros: float, **args: str) -> dict[str, Any]:
    """Something on the device."""
    return {"ph": "X", "pid": 1, "tid": 7, "ts": start, "dur": micros, "name": name, "args": args}


def host(name: str, start: float, micros: float, thread: int = 1) -> dict[str, Any]:
    """Something on the host."""
    return {"ph": "X", "pid": 2, "tid": thread, "ts": start, "dur": micros, "name": name}


def written(
    folder: Path, *events: dict[str, Any], device: str = "/device:GPU:0", name: str = "a.trace.json.gz"
) -> Path:
    """A capture of these events in a file."""
    named: list[dict[str, Any]] = [
        {"ph": "M", "pid": 1, "name": "process_name", "args": {"name": device}},
        {"ph": "M", "pid": 1, "tid": 7, "name": "thread_name", "args": {"name": "Stream #7(Compute)"}},
        {"ph": "M", "pid": 2, "name": "process_name", "args": {"name": "/host:CPU"}},
        {"ph": "M", "pid": 2, "tid": 1, "name": "thread_name", "args": {"name": "python"}},
    ]
    file = folder / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(gzip.compress(json.dumps({"traceEvents": named + list(events)}).encode()))
    return file
