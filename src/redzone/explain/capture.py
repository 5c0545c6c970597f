"""A profiler capture, whichever file it came from: what ran on the devices and what the host did around it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

from redzone.explain.names import Kind, kind_of


class BadCapture(ValueError):
    """A file or folder that is no capture, or not one that can be read."""


@dataclasses.dataclass(frozen=True, slots=True)
class Launch:
    """One kernel, copy or fill on a device; times in seconds since the capture began."""

    name: str
    start: float
    seconds: float
    stream: str
    kind: Kind
    module: str = ""
    """The compiled module it belongs to, as far as the capture says."""
    threads: int = 0
    bytes: int = 0
    """How much a copy moved or a fill wrote."""

    @property
    def end(self) -> float:
        return self.start + self.seconds


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """Something the host did, on one of its threads."""

    name: str
    start: float
    seconds: float
    thread: str
    module: str = ""

    @property
    def end(self) -> float:
        return self.start + self.seconds


@dataclasses.dataclass(slots=True)
class Card:
    """The device, as far as the capture describes it."""

    name: str = ""
    bandwidth: float = 0.0
    """Bytes per second of its memory; 0 where the capture does not say."""


@dataclasses.dataclass(slots=True)
class Capture:
    """What one capture file holds."""

    file: Path
    jax_version: str = ""
    card: Card = dataclasses.field(default_factory=Card)
    devices: tuple[str, ...] = ()
    launches: list[Launch] = dataclasses.field(default_factory=list)
    spans: list[Span] = dataclasses.field(default_factory=list)
    """Only those that say something about compiling: a capture can hold a million others."""
    begins: float = float("inf")
    ends: float = 0.0

    @property
    def seconds(self) -> float:
        """From the first thing recorded to the last."""
        return max(0.0, self.ends - self.begins)

    @property
    def has_gpu(self) -> bool:
        return any("GPU" in name for name in self.devices)

    def saw(self, start: float, end: float) -> None:
        self.begins, self.ends = min(self.begins, start), max(self.ends, end)


_GRID = re.compile(r"grid:(\d+),(\d+),(\d+)")
_BLOCK = re.compile(r"block:(\d+),(\d+),(\d+)")
_SIZE = re.compile(r"(?:num_bytes|size):(\d+)")


def launch(name: str, start: float, seconds: float, stream: str, stats: dict[str, str]) -> Launch:
    """A launch from its name and what the profiler noted beside it."""
    grid, block = (pattern.search(stats.get("kernel_details", "")) for pattern in (_GRID, _BLOCK))
    threads = 1 if grid and block else 0
    for found in (grid, block):
        for n in found.groups() if found else ():
            threads *= int(n)
    moved = _SIZE.search(
        stats.get("memcpy_details", "") or stats.get("Memset_details", "") or stats.get("memset_details", "")
    )
    size = int(moved.group(1)) if moved else 0
    module = stats.get("hlo_module", "")
    return Launch(name, start, seconds, stream, kind_of(name, size, module), module, threads, size)


def captures_in(path: Path) -> tuple[list[Path], int]:
    """The files of the newest capture at a path, and how many older ones there are beside it."""
    if not path.exists():
        raise BadCapture(f"there is no file or folder {path}: give the folder that jax.profiler.trace wrote into")
    if path.is_file():
        return [path], 0
    found = [*_files(path, ".xplane.pb"), *_files(path, ".trace.json.gz"), *_files(path, ".trace.json")]
    # Perfetto's copy of the same events has a name of its own; it is read when it is named.
    found = [file for file in found if not file.name.startswith("perfetto_trace")] or found
    if not found:
        raise BadCapture(
            f"{path} holds no capture: no *.xplane.pb and no *.trace.json.gz below it. "
            "Record one with jax.profiler.trace(folder) around the code that compiles"
        )
    runs = sorted({file.parent for file in found}, key=lambda run: (run.name, str(run)))
    newest = [file for file in found if file.parent == runs[-1]]
    # The two formats hold the same events; the first says more.
    best = [file for file in newest if file.name.endswith(".xplane.pb")] or newest
    return sorted(best), len(runs) - 1


def _files(folder: Path, ending: str) -> Iterator[Path]:
    return (file for file in sorted(folder.rglob(f"*{ending}")) if file.is_file())


def read(file: Path) -> Capture:
    """What a capture file holds; raises BadCapture, which says what is wrong with it."""
    try:
        size = file.stat().st_size
    except OSError as error:
        raise BadCapture(f"{file} cannot be read: {error.strerror or error}") from None
    if not size:
        raise BadCapture(f"{file} is empty: the capture was not finished, or its copying was cut short")
    name = file.name
    if name.endswith((".trace.json.gz", ".trace.json", ".json.gz", ".json")):
        from redzone.explain.chrome import read_chrome

        capture = read_chrome(file)
    elif name.endswith((".xplane.pb", ".pb")):
        from redzone.explain.xplane import read_xplane

        capture = read_xplane(file)
    else:
        raise BadCapture(
            f"{file} is neither *.xplane.pb nor *.trace.json.gz, the two formats that JAX's profiler writes"
        )
    capture.launches.sort(key=lambda one: one.start)
    capture.spans.sort(key=lambda one: (one.start, -one.seconds))
    return capture
