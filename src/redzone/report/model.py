"""What a check found: the report and its accesses, the interface everything else is built on."""

from __future__ import annotations

import dataclasses
import enum
import os
from collections.abc import Callable, Mapping
from typing import Any

from redzone.domains.symbolic import at_most
from redzone.report.condition import Condition as Condition
from redzone.report.place import NOWHERE
from redzone.report.place import Location as Location
from redzone.report.place import Span as Span

#: By file and line number, source lines without their line ends.
Sources = Mapping[str, Mapping[int, str]]


class Verdict(enum.StrEnum):
    """The one answer each access gets; `docs/verdicts.md` says what evidence each carries."""

    SAFE = "safe"
    MASKED = "masked"
    DECLARED = "declared"
    REQUIRES = "requires"
    UNSAFE = "unsafe"
    UNKNOWN = "unknown"


@dataclasses.dataclass(frozen=True, slots=True)
class DimBounds:
    """One indexed dimension: what the index can be, and what it may be (both inclusive)."""

    dim: int
    lo: Any
    hi: Any
    min: Any
    max: Any

    @property
    def inside(self) -> bool:
        if any(isinstance(bound, str) for bound in (self.lo, self.hi, self.min, self.max)):
            return False  # symbolic sizes that were read back from a file are words
        return bool(at_most(self.min, self.lo)) and bool(at_most(self.hi, self.max))

    def __str__(self) -> str:
        return f"dim {self.dim}: [{self.lo}, {self.hi}] of [{self.min}, {self.max}]"


@dataclasses.dataclass(frozen=True, slots=True)
class Witness:
    """An input that was replayed through the program's own equations and left the array."""

    arguments: tuple[Any, ...]
    """The flat input leaves, in the order of the traced function's arguments."""
    index: tuple[int, ...]
    """The offending index tuple, in the order of `Access.bounds`."""
    path: str
    """The loop iterations and branches at which it happened, outermost first."""
    shown: str
    """The arguments the access depends on, ready to paste."""
    _rebuild: Callable[[list[Any]], tuple[tuple[Any, ...], dict[str, Any]]] | None = dataclasses.field(
        default=None, repr=False, compare=False
    )

    @property
    def args(self) -> tuple[Any, ...]:
        """The positional arguments to call the checked function with."""
        return self._call()[0]

    @property
    def kwargs(self) -> dict[str, Any]:
        """The keyword arguments to call the checked function with."""
        return self._call()[1]

    def _call(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        return (self.arguments, {}) if self._rebuild is None else self._rebuild(list(self.arguments))

    def __str__(self) -> str:
        index = str(self.index[0]) if len(self.index) == 1 else f"({', '.join(map(str, self.index))})"
        path = f" ({self.path})" if self.path else ""
        return f"{self.shown or 'any input'} makes the index {index}{path}"


@dataclasses.dataclass(frozen=True, slots=True)
class Pattern:
    """Which memory of the operand an access can touch, and in what order."""

    kind: str
    """contiguous, strided, broadcast, block, permutation or scattered"""
    strides: tuple[int, ...]
    """Bytes between neighbouring windows (strided) or between rows of the window (block)."""
    bytes: int | None
    """How many distinct bytes of the operand it can touch at most; None where a size is symbolic."""
    low: int | None
    high: int | None
    """First and last byte offset in the operand it can touch, when the index stays in bounds."""

    def __str__(self) -> str:
        text = self.kind
        if self.strides:
            text += " by " + "×".join(str(s) for s in self.strides) + " B"
        if self.bytes is not None:
            text += f", ≤ {self.bytes} B in [{self.low}, {self.high}]"
        return text


@dataclasses.dataclass(frozen=True, slots=True)
class Link:
    """One equation on the way from the inputs to an index, and what its value can be."""

    name: str
    """What the other links call its value: an argument as the user names it, or t1, t2, …"""
    equation: str
    """How the value is made from earlier ones; of an input, where it stands in the call."""
    primitive: str
    """Of an input, `input`."""
    lo: Any
    hi: Any
    """What the value can be, over all elements and iterations; None where no range is known."""
    location: Location


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Buffer:
    """The array an access reads or writes; one that is updated stays the same buffer."""

    name: str
    """As the user calls it, or the primitive that made it."""
    origin: str
    """Where it comes from: `table: argument 1`, `a constant`, `made by dot_general`."""
    shape: tuple[Any, ...]
    dtype: Any
    bytes: int | None
    """Its size; None where a dimension is symbolic."""
    location: Location = NOWHERE
    """Where it is made, if in the program."""


@dataclasses.dataclass(frozen=True, slots=True)
class Loss:
    """Why an access is unknown: where its index was lost, and what would settle it."""

    equation: str
    """The equation after which nothing tighter is known; empty where the index comes as it is from an input."""
    location: Location
    arguments: tuple[str, ...]
    """The inputs the index hangs on of which no range is promised."""
    settle: str
    """A promise that proves the access when made before its line, in Python."""


@dataclasses.dataclass(frozen=True, slots=True)
class Lint:
    """A trap on the way to an index: no verdict, but a line that hardly does what its author meant."""

    code: str
    message: str
    fix: str
    location: Location
    """The line that is about: where the index is made, or the access itself."""
    suppressed: bool = False


@dataclasses.dataclass(slots=True, eq=False)
class Access:
    """One equation that reads or writes an array at computed positions, and its verdict."""

    eqn: Any
    primitive: str
    effect: str
    mode: str
    shape: tuple[Any, ...]
    dtype: Any
    verdict: Verdict
    rule: str
    message: str
    decided_by: str
    requires: tuple[Condition, ...] = ()
    suppressed: bool = False
    fix: str = ""
    _bounds: Callable[[], tuple[DimBounds, ...]] | tuple[DimBounds, ...] = dataclasses.field(default=(), repr=False)
    _location: Callable[[], Location] | Location = dataclasses.field(default=NOWHERE, repr=False)
    _place: Callable[[], tuple[str, int]] | None = dataclasses.field(default=None, repr=False)
    _pattern: Callable[[], Pattern] | Pattern = dataclasses.field(
        default=Pattern("scattered", (), None, None, None), repr=False
    )
    _witness: Callable[[], Witness | None] | Witness | None = dataclasses.field(default=None, repr=False)
    _lints: Callable[[], tuple[Lint, ...]] | tuple[Lint, ...] = dataclasses.field(default=(), repr=False)
    _loss: Callable[[], Loss | None] | Loss | None = dataclasses.field(default=None, repr=False)
    _chain: Callable[[], tuple[Link, ...]] | tuple[Link, ...] = dataclasses.field(default=(), repr=False)
    _buffer: Callable[[], Buffer | None] | Buffer | None = dataclasses.field(default=None, repr=False)
    _calls: Callable[[], tuple[Location, ...]] | tuple[Location, ...] = dataclasses.field(default=(), repr=False)

    @property
    def chain(self) -> tuple[Link, ...]:
        """The equations that led from the inputs to the index, in order; worked out when first asked."""
        if callable(self._chain):
            self._chain = self._chain()
        return self._chain

    @property
    def buffer(self) -> Buffer | None:
        """The array that is read or written: accesses of the same array share one; worked out when first asked."""
        if callable(self._buffer):
            self._buffer = self._buffer()
        return self._buffer

    @property
    def calls(self) -> tuple[Location, ...]:
        """The user's calls that lead to it, from its own line outward."""
        if callable(self._calls):
            self._calls = self._calls()
        return self._calls

    @property
    def loss(self) -> Loss | None:
        """Of an unknown access: where its index was lost, and what would settle it."""
        if callable(self._loss):
            self._loss = self._loss()
        return self._loss

    @property
    def lints(self) -> tuple[Lint, ...]:
        """The traps on the way to its index, suppressed ones included; looked for when first asked."""
        if callable(self._lints):
            from redzone.report.suppress import silenced

            self._lints = tuple(silenced(lint, self) for lint in self._lints())
        return self._lints

    @property
    def witness(self) -> Witness | None:
        """An input that makes it leave its array: of `unsafe` always, of `requires` searched for when first asked."""
        if callable(self._witness):
            self._witness = self._witness()
        return self._witness

    def keep_lints(self, wanted: Callable[[str], bool]) -> None:
        """Suppress the lints whose code is not wanted."""
        self._lints = tuple(
            lint if wanted(lint.code) else dataclasses.replace(lint, suppressed=True) for lint in self.lints
        )

    def silence_lints(self, unwanted: Callable[[Lint], bool]) -> None:
        """Suppress the lints that are not wanted."""
        self._lints = tuple(
            dataclasses.replace(lint, suppressed=True) if not lint.suppressed and unwanted(lint) else lint
            for lint in self.lints
        )

    @property
    def known_witness(self) -> Witness | None:
        """The witness if it is known already."""
        return None if callable(self._witness) else self._witness

    @property
    def bounds(self) -> tuple[DimBounds, ...]:
        """Per indexed dimension: what the index can be, what it may be."""
        if callable(self._bounds):
            self._bounds = self._bounds()
        return self._bounds

    @property
    def location(self) -> Location:
        if callable(self._location):
            self._location = self._location()
        return self._location

    @property
    def place(self) -> tuple[str, int]:
        """The file and line of its location, for which no file is read."""
        if self._place is not None and callable(self._location):
            return self._place()
        return self.location.file, self.location.line

    @property
    def pattern(self) -> Pattern:
        if callable(self._pattern):
            self._pattern = self._pattern()
        return self._pattern

    @property
    def is_finding(self) -> bool:
        return self.verdict in (Verdict.UNSAFE, Verdict.UNKNOWN) and not self.suppressed


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Cause:
    """What one input, or one sum of inputs, must keep for all accesses that depend on it together."""

    condition: Condition
    accesses: tuple[Access, ...]
    """Those that depend on it, not suppressed, in program order."""
    conditions: tuple[Condition, ...]
    """What the accesses ask for, each once: the condition itself where they all ask for the same."""
    origin: str = ""
    """Where the inputs stand in the call: `tokens: argument 2`."""

    @property
    def witness(self) -> Witness | None:
        """An input that breaks it and makes one of the accesses leave its array; searched for when first asked."""
        # Those that ask for the most break first.
        for access in sorted(self.accesses, key=lambda a: self.condition not in a.requires)[:_TRIED]:
            if access.witness is not None:
                return access.witness
        return None

    @property
    def fix(self) -> str:
        """How to promise it."""
        condition = self.condition
        if condition.terms or condition.where:
            return "Promise it with redzone.assume(...) inside the function, or validate the inputs."
        ends = ((name, getattr(condition, name)) for name in ("min", "max"))
        bounds = ", ".join(f"{name}={bound}" for name, bound in ends if bound is not None)
        return f"Promise it with redzone.Spec({bounds}) for {condition.argument}, or validate the input."

    def __str__(self) -> str:
        return f"{self.condition}   ({self.origin})" if self.origin else str(self.condition)


#: How many accesses of a cause are asked for a witness.
_TRIED = 4


@dataclasses.dataclass(frozen=True, slots=True)
class Suppression:
    """A `# redzone: ignore` comment that a check came by; no codes means it is about any."""

    location: Location
    codes: tuple[str, ...]
    used: bool


@dataclasses.dataclass(slots=True)
class Report:
    """The verdicts of one checked function."""

    name: str
    accesses: tuple[Access, ...]
    jaxpr: Any
    timings: Mapping[str, float]
    unmodelled: Mapping[str, int]
    equations: int = 0
    notes: tuple[str, ...] = ()
    suppressions: tuple[Suppression, ...] = ()
    origins: tuple[str, ...] = ()
    """By flat input: where it stands in the call, as in `tokens: argument 2`."""
    doubted: tuple[Any, ...] = ()
    """The assumptions that are not used because vmap runs their branch for every lane."""
    _sources: Sources | None = dataclasses.field(default=None, repr=False)
    _causes: tuple[Cause, ...] | None = dataclasses.field(default=None, repr=False)
    _explain: Callable[..., Any] | None = dataclasses.field(default=None, repr=False, compare=False)

    @property
    def sources(self) -> Sources:
        """By file and line number, the source lines around everything the report points at."""
        if self._sources is None:
            from redzone.report.sources import sources_of

            self._sources = sources_of(self)
        return self._sources

    @property
    def findings(self) -> tuple[Access, ...]:
        """The accesses that need a person: unsafe or unknown, and not suppressed."""
        return tuple(a for a in self.accesses if a.is_finding)

    @property
    def requires(self) -> tuple[Condition, ...]:
        """Every distinct condition on the inputs, in the order first met."""
        return tuple(dict.fromkeys(c for a in self.accesses for c in a.requires))

    @property
    def lints(self) -> tuple[Lint, ...]:
        """The traps on the way to indices that are not suppressed, each once; looked for when first asked."""
        return tuple(dict.fromkeys(lint for a in self.accesses for lint in a.lints if not lint.suppressed))

    def causes(self) -> tuple[Cause, ...]:
        """The conditions by cause: for each input or sum of inputs what all accesses together require of it."""
        if self._causes is not None:
            return self._causes
        from redzone.report.causes import causes_of

        return causes_of(self.accesses, self.origins)

    def explain(self, *, compare: bool = True, limit: float = 60.0) -> Any:
        """Where the time of this check went: the check is run again and recorded.

        With `compare`, JAX lowers and compiles the program too, for `limit` seconds at most. What comes back prints
        well, and has `to_json()` and `write_trace(file)`. Raises ValueError for a report that was read from a file.
        """
        if self._explain is None:
            raise ValueError("only the report of a check in this process can be explained: its program is gone")
        return self._explain(self, compare=compare, limit=limit)

    @property
    def ok(self) -> bool:
        return not self.findings

    def counts(self) -> dict[str, int]:
        """How many accesses got each verdict, every verdict named."""
        tally = {str(v): 0 for v in Verdict}
        for access in self.accesses:
            tally[str(access.verdict)] += 1
        return tally

    def to_json(self, witnesses: bool = False) -> dict[str, Any]:
        """The report as plain values; with `witnesses`, an input that breaks each condition is searched for too."""
        from redzone.report.json import report_as_json

        return report_as_json(self, witnesses)

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Report:
        """The report that `to_json` wrote, without its jaxpr and equations; raises `BadReport` for anything else."""
        from redzone.report.read import report_from_json

        return report_from_json(data)

    def to_html(self, witnesses: bool = False) -> str:
        """The report as one page that needs nothing else: no files beside it, no network."""
        from redzone.report.formats import rendered
        from redzone.report.run import Run

        return rendered("html", Run((self,), witnesses=witnesses))

    def save(self, file: str | os.PathLike[str], format: str | None = None, witnesses: bool = False) -> None:
        """Write the report to a file; its name says how, or `format` does: page.html, r.json, r.sarif, r.xml, r.txt."""
        from redzone.report.formats import save
        from redzone.report.run import Run

        save(Run((self,), witnesses=witnesses), file, format)

    def _repr_html_(self) -> str:
        from redzone.report.notebook import report_as_cell

        return report_as_cell(self)

    def __str__(self) -> str:
        from redzone.report.text import report_as_text

        return report_as_text(self)
