"""`redzone check --explain` and `--trace FILE`: where the checks' own time went."""

from __future__ import annotations

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from redzone.report.model import Report


@dataclasses.dataclass(slots=True)
class Explaining:
    """What was asked about time, and the answers so far."""

    explain: bool = False
    trace: Path | None = None
    answers: list[Any] = dataclasses.field(default_factory=list)

    def heard(self, report: Report) -> None:
        """Explain one report, if that was asked for."""
        if self.explain or self.trace is not None:
            answer = report.explain(compare=self.explain)
            answer.name = report.name
            self.answers.append(answer)

    def tell(self, err: bool) -> None:
        """Print the last answer; to stderr where the other output is for programs."""
        if self.explain and self.answers:
            click.echo(f"{self.answers[-1]}\n", err=err)

    def as_json(self) -> tuple[dict[str, Any], ...]:
        """What belongs into the JSON of the whole command."""
        return tuple(answer.to_json() for answer in self.answers) if self.explain else ()

    def finish(self) -> None:
        """Write the trace of all checks."""
        if self.trace is None:
            return
        from redzone.explain.trace_file import write

        try:
            write(self.answers, self.trace)
        except OSError as error:
            click.echo(f"redzone: the trace cannot be written to {self.trace}: {error.strerror or error}", err=True)
            sys.exit(2)
