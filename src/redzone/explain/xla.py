"""What XLA's own redzone checking cost, from a profiler capture.

While XLA autotunes for a GPU it runs every candidate on buffers with guard bytes on both sides, and after each run a
kernel reads those bytes again. This module counts that work, what comes along with it, and what the compilation
around it took.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from redzone.explain.capture import Capture, Card, Launch, Span, captures_in, read
from redzone.explain.intervals import covered, merged, within
from redzone.explain.names import (
    Kind,
    is_autotuning,
    is_candidate,
    is_compile,
    is_redzone_buffers,
    module_in,
    pass_module,
)

#: What belongs to the check itself; the rest comes along with autotuning.
CHECKING = (Kind.CHECK, Kind.COUNTER, Kind.READBACK)


@dataclasses.dataclass(slots=True)
class Tally:
    """How often something was launched and how long it ran on the device."""

    launches: int = 0
    seconds: float = 0.0

    def add(self, seconds: float) -> None:
        self.launches += 1
        self.seconds += seconds


@dataclasses.dataclass(slots=True)
class Work:
    """What a device did, by purpose, and for how long checking held its stream."""

    by_kind: dict[Kind, Tally] = dataclasses.field(default_factory=lambda: defaultdict(Tally))
    bytes_checked: int = 0
    """Guard bytes read: one by each thread of the checking kernel; 0 where the capture does not say."""
    held_seconds: float = 0.0
    """From the start of each group of checks to the end of the last readback, waiting between them included."""

    @property
    def checks(self) -> Tally:
        return self.by_kind.get(Kind.CHECK, Tally())

    @property
    def launches(self) -> int:
        return sum(tally.launches for tally in self.by_kind.values())

    @property
    def seconds(self) -> float:
        """The time of everything on the device."""
        return sum(tally.seconds for tally in self.by_kind.values())

    @property
    def companions(self) -> dict[Kind, Tally]:
        return {k: t for k, t in self.by_kind.items() if k not in (Kind.CHECK, Kind.OTHER)}

    @property
    def bandwidth(self) -> float:
        """Guard bytes per second while the checking kernels ran."""
        return self.bytes_checked / self.checks.seconds if self.checks.seconds else 0.0


@dataclasses.dataclass(slots=True)
class Compiled:
    """One module compiled during the capture."""

    module: str
    start: float
    seconds: float
    autotuning: float = 0.0
    """Seconds in the passes that try candidates."""
    candidates: int = 0
    """How many modules were compiled inside those passes."""
    candidate_seconds: float = 0.0
    """For how long at least one of them was being compiled."""
    candidate_cpu_seconds: float = 0.0
    """The same summed over the threads that compiled them."""
    buffers_seconds: float = 0.0
    """The host's time for making buffers with guard bytes."""
    work: Work = dataclasses.field(default_factory=Work)

    @property
    def end(self) -> float:
        return self.start + self.seconds


@dataclasses.dataclass(slots=True)
class XlaCost:
    """What one capture says about XLA's redzone checking."""

    file: Path
    jax_version: str
    card: Card
    devices: tuple[str, ...]
    seconds: float
    """The capture's length."""
    work: Work
    compiled: list[Compiled]
    host_seen: bool
    """Whether the host's side was recorded."""
    has_gemms: bool = False
    """Whether matrix products or convolutions ran on the device."""
    checked: dict[str, Tally] = dataclasses.field(default_factory=dict)
    """By what was tuned, a matrix product, convolution or fusion: how often its candidates were checked, and for how
    long that held the GPU; the longest first."""

    @property
    def found(self) -> bool:
        return bool(self.work.checks.launches)

    @property
    def compile_seconds(self) -> float:
        return covered((c.start, c.end) for c in self.compiled)

    @property
    def autotune_seconds(self) -> float:
        return sum(c.autotuning for c in self.compiled)

    @property
    def outside(self) -> float:
        """Checking that no recorded compilation holds."""
        return self.work.held_seconds - sum(c.work.held_seconds for c in self.compiled)

    @property
    def why_none(self) -> str:
        """Of a capture without redzone kernels: why there are none."""
        return "" if self.found else _why_none(self)


def cost_of(capture: Capture) -> XlaCost:
    """Count the redzone work of a capture."""
    compiled = list(_compilations(capture.spans))
    tell = _Readbacks()
    work = Work()
    # What ended first was finished first: a readback is asked for while the kernel it waits for still runs.
    for launch in sorted(capture.launches, key=lambda one: one.end):
        kind, seconds = tell.kind(launch)
        _count(work, launch, kind, seconds)
        home = _home(compiled, launch)
        if home is not None:
            _count(home.work, launch, kind, seconds)
    for start, end in tell.groups():
        work.held_seconds += end - start
        for one in compiled:
            if one.start <= start < one.end:
                one.work.held_seconds += end - start
                break
    return XlaCost(
        file=capture.file,
        jax_version=capture.jax_version,
        card=capture.card,
        devices=capture.devices,
        seconds=capture.seconds,
        work=work,
        compiled=compiled,
        host_seen=bool(capture.spans),
        has_gemms=any(_is_gemm(launch.name) for launch in capture.launches),
        checked=dict(sorted(tell.checked.items(), key=lambda item: -item[1].seconds)),
    )


def costs_at(path: Path) -> tuple[list[XlaCost], int]:
    """The newest capture at a path, one cost for each host's file, and how many older captures lie beside it."""
    files, older = captures_in(path)
    return [cost_of(read(file)) for file in files], older


def _count(work: Work, launch: Launch, kind: Kind, seconds: float) -> None:
    work.by_kind[kind].add(seconds)
    if kind is Kind.CHECK:
        work.bytes_checked += launch.threads


def _home(compiled: Sequence[Compiled], launch: Launch) -> Compiled | None:
    """The compilation during which something was launched; the one that began last, where several run at once."""
    found = None
    for one in compiled:
        if one.start <= launch.start < one.end:
            found = one
    return found


class _Readbacks:
    """Tells the readbacks of checks from those of comparisons, by the kernel that ended before them on their stream.

    A readback is on record from the moment it was asked for; only what lies after that kernel counts as its time, so
    that no moment is counted twice.
    """

    def __init__(self) -> None:
        self.before: dict[str, tuple[Kind, float]] = {}
        """By stream: what ended last, and when."""
        self.counter: dict[str, float] = {}
        self.open: dict[str, tuple[float, float]] = {}
        self.closed: list[tuple[float, float]] = []
        self.running: dict[str, str] = {}
        """By stream: the module whose candidate ran last."""
        self.checked: dict[str, Tally] = {}
        """By that module: the groups of checks after its candidates."""

    def kind(self, launch: Launch) -> tuple[Kind, float]:
        """What a launch is for, and how much time it took that nothing before it on its stream had taken."""
        stream, kind = launch.stream, launch.kind
        last, ended = self.before.get(stream, (Kind.OTHER, 0.0))
        seconds = launch.end - max(launch.start, ended)
        if kind is Kind.READBACK:
            self.before[stream] = (last, launch.end)
            if last is Kind.CHECK:
                self.open[stream] = (self.open[stream][0], launch.end)
                return kind, seconds
            return (Kind.COMPARE if last is Kind.COMPARE else Kind.OTHER), seconds
        if kind is Kind.COUNTER:
            self.counter[stream] = launch.start
            self.before[stream] = (last, launch.end)
            return kind, seconds
        if kind is Kind.CHECK:
            start = self.counter.get(stream, launch.start) if stream not in self.open else self.open[stream][0]
            self.open[stream] = (start, launch.end)
        elif stream in self.open:
            self._closed(stream)
        if launch.module:
            self.running[stream] = launch.module
        self.before[stream] = (kind, launch.end)
        return kind, seconds

    def _closed(self, stream: str) -> None:
        start, end = self.open.pop(stream)
        self.closed.append((start, end))
        self.checked.setdefault(self.running.get(stream, ""), Tally()).add(end - start)

    def groups(self) -> list[tuple[float, float]]:
        """The stretches of time in which only checks, their counters and their readbacks ran."""
        for stream in list(self.open):
            self._closed(stream)
        return merged(self.closed)


def _compilations(spans: Iterable[Span]) -> Iterator[Compiled]:
    """The outermost compilations of each thread, with what happened inside them on any thread."""
    spans = list(spans)
    until: dict[str, float] = {}
    found: list[Compiled] = []
    for span in spans:
        if is_compile(span.name) and span.start >= until.get(span.thread, -1.0):
            until[span.thread] = span.end
            one = _compiled(span, [s for s in spans if s.start >= span.start and s.end <= span.end + 1e-9])
            outer = next((other for other in found if _is_same(other, one)), None)
            if outer is None:
                found.append(one)
            else:
                outer.module = outer.module or one.module
                if one.autotuning > outer.autotuning:
                    outer.autotuning, outer.candidates = one.autotuning, one.candidates
                    outer.candidate_seconds = one.candidate_seconds
                    outer.candidate_cpu_seconds = one.candidate_cpu_seconds
    for one in found:
        one.module = one.module or "(unnamed)"
        yield one


def _is_same(outer: Compiled, inner: Compiled) -> bool:
    """Whether a compilation is the same as one around it, on the thread that waits for it."""
    around = outer.start <= inner.start and inner.end <= outer.end
    return around and (not outer.module or not inner.module or outer.module == inner.module)


def _compiled(whole: Span, inside: Sequence[Span]) -> Compiled:
    one = Compiled("", whole.start, whole.seconds)
    own = [s for s in inside if s.thread == whole.thread]
    names = [module_in(s.name) for s in own] + [pass_module(s.name) for s in own]
    one.module = next((name for name in names if name), "")
    tuning = merged((s.start, s.end) for s in own if is_autotuning(s.name))
    one.autotuning = sum(end - start for start, end in tuning)
    candidates = [s for s in inside if is_candidate(s.name) and any(a <= s.start and s.end <= b for a, b in tuning)]
    one.candidates = len(candidates)
    one.candidate_cpu_seconds = sum(s.seconds for s in candidates)
    times = [(s.start, s.end) for s in candidates]
    one.candidate_seconds = sum(covered(within(times, a, b)) for a, b in tuning)
    one.buffers_seconds = covered((s.start, s.end) for s in inside if is_redzone_buffers(s.name))
    return one


def _is_gemm(name: str) -> bool:
    low = name.lower()
    return any(part in low for part in ("gemm", "nvjet", "cutlass", "xmma", "cudnn", "conv", "fmha", "cublas"))


def _why_none(cost: XlaCost) -> str:
    """Why a capture holds no redzone kernels, as far as it shows."""
    if not any("GPU" in name for name in cost.devices):
        what = ", ".join(cost.devices) or "the host's CPU only"
        return (
            f"this capture has no GPU in it ({what}). XLA checks redzones only while it autotunes for a GPU: "
            "neither its CPU nor its TPU compiler does"
        )
    if not cost.compiled:
        if not cost.host_seen:
            return (
                "the capture shows no compilation. Either nothing was compiled while the profiler ran (the program was "
                "compiled before: start the profiler before the first call), or the host was not recorded "
                "(ProfileOptions.host_tracer_level = 0)"
            )
        return (
            "nothing was compiled while the profiler ran. XLA checks redzones while it compiles, never while a program "
            "runs: start the profiler before the first call"
        )
    tried = sum(c.work.by_kind[Kind.DELAY].launches for c in cost.compiled if Kind.DELAY in c.work.by_kind)
    if tried:
        return (
            f"XLA timed {tried} candidates without checking them: xla_gpu_autotune_level is below 4, or "
            "xla_gpu_redzone_padding_bytes is 0"
        )
    if cost.autotune_seconds and any(c.candidates for c in cost.compiled):
        return (
            "XLA chose its kernels without timing any: xla_gpu_autotune_level is 0, or xla_gpu_deterministic_ops or "
            "xla_gpu_exclude_nondeterministic_ops took the choice from it"
        )
    if cost.has_gemms:
        return (
            "matrix products or convolutions ran, but no candidate was tried for them: their autotuning results came "
            "from a cache (JAX's compilation cache, xla_gpu_per_fusion_autotune_cache_dir, "
            "xla_gpu_load_autotune_results_from, or an earlier compilation in the same process), or "
            "xla_gpu_autotune_level is 0"
        )
    return (
        "nothing compiled here has candidates to choose from: XLA autotunes matrix products, convolutions and "
        "fusions that Triton can compile, and found none"
    )
