"""A session: what was found in the programs compiled while it was open."""

from __future__ import annotations

import dataclasses
import threading
import weakref
from collections.abc import Callable
from typing import Any

from redzone.frontend.intercept import Program
from redzone.frontend.same import same_program
from redzone.report.model import Access, Report
from redzone.runtime.mode import Mode


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """A program that redzone itself failed on; it was compiled unchecked."""

    name: str
    error: Exception

    def __str__(self) -> str:
        said = str(self.error).strip().splitlines()
        return f"{self.name}: {type(self.error).__name__}" + (f": {said[0]}" if said else "")


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Checked:
    """A program that was checked, and its report; none where it needs none.

    The program is not kept alive for this: it may close over large arrays. Its report does that.
    """

    key: tuple[Any, ...]
    """Equal for equal programs: the function and the shapes of its arguments."""
    jaxpr: Callable[[], Any]
    report: Report | None


def checked(program: Program, report: Report | None) -> Checked:
    """What to remember of a program."""
    return Checked(_key(program), weakref.ref(program.jaxpr), report)


class Session:
    """What was found in the programs compiled while it was open."""

    def __init__(
        self,
        mode: Mode = Mode.REPORT,
        *,
        prepare: Callable[[Report], None] | None = None,
        noticed: Callable[[Report], None] | None = None,
        keeps: Callable[[Report], bool] | None = None,
    ) -> None:
        """`prepare` sees each report first and may silence what is not wanted; `noticed` is told of each new one.

        Reports that `keeps` does not want are counted and let go, and their programs with them.
        """
        self.mode = mode
        """May be changed on the way."""
        self.is_open = False
        self.watches = False
        """Whether it was opened to look at compiles."""
        self.parent: Session | None = None
        """The session that was the innermost when this one was opened."""
        self.prepare = prepare
        self._noticed = noticed
        self._keeps = keeps
        self._lock = threading.Lock()
        self._checked: dict[Any, list[Checked]] = {}
        self._reports: list[Report] = []
        self._errors: list[Failure] = []
        self._seconds = 0.0
        self._seen = 0
        self.accesses = 0
        """How many accesses the programs have, over all reports."""
        self.checked = 0
        """How many programs have a report."""

    @property
    def reports(self) -> tuple[Report, ...]:
        """One report for each program that accesses arrays at computed positions, in the order of compilation.

        Of an operation called outside of jit there is one only if something was found in it.
        """
        with self._lock:
            return tuple(self._reports)

    @property
    def findings(self) -> tuple[Access, ...]:
        """The unsafe and unknown accesses that no comment silences, over all reports."""
        return tuple(access for report in self.reports for access in report.findings)

    @property
    def errors(self) -> tuple[Failure, ...]:
        """The programs redzone failed on; they were compiled unchecked."""
        with self._lock:
            return tuple(self._errors)

    @property
    def seconds(self) -> float:
        """The time redzone took, over all threads."""
        return self._seconds

    @property
    def programs(self) -> int:
        """How many programs were compiled, those included that have no report."""
        return self._seen

    @property
    def ok(self) -> bool:
        """Whether there is no finding and nothing that redzone failed on."""
        return not self.findings and not self.errors

    def __str__(self) -> str:
        from redzone.runtime.telling import tally_of

        return tally_of(self)

    def known(self, program: Program) -> Checked | None:
        """The same program if it was met before."""
        with self._lock:
            candidates = tuple(self._checked.get(_key(program), ()))
        for met in candidates:
            jaxpr = met.jaxpr()
            if jaxpr is not None and same_program(jaxpr, program.jaxpr):
                return met
        return None

    def keep(self, met: Checked) -> None:
        """Remember a program that was checked, and its report where it is new here."""
        report = met.report
        with self._lock:
            same = self._checked.setdefault(met.key, [])
            if met in same:
                return
            same[:] = [other for other in same if other.jaxpr() is not None]
            kept = report is not None and (self._keeps is None or self._keeps(report))
            same.append(met if kept else dataclasses.replace(met, report=None))
            if report is None:
                return
            self.checked += 1
            self.accesses += len(report.accesses)
            if kept:
                self._reports.append(report)
        if self._noticed is not None:
            self._noticed(report)

    def failed(self, name: str, error: Exception) -> None:
        """Remember something that redzone failed on."""
        with self._lock:
            self._errors.append(Failure(name, error))

    def spent(self, seconds: float) -> None:
        """Count one program, and the time it took."""
        with self._lock:
            self._seconds += seconds
            self._seen += 1


def _key(program: Program) -> tuple[Any, ...]:
    """Equal for equal programs: the function and the shapes of its arguments."""
    origin = program.origin
    return (program.module, origin.function, origin.file, origin.line, program.shapes)
