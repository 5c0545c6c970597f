"""All the reports of one command, with what could not be checked: what every format is made from."""

from __future__ import annotations

import dataclasses
import datetime
import os
from pathlib import Path
from typing import Any

from redzone.report.model import Report, Suppression


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """A target that could not be checked, and why."""

    name: str
    reason: str


@dataclasses.dataclass(frozen=True, slots=True)
class Run:
    """Reports to be shown together."""

    reports: tuple[Report, ...]
    failures: tuple[Failure, ...] = ()
    unused: tuple[Suppression, ...] | None = None
    """Comments that silence nothing in any of the reports; None to take them from the reports."""
    exit_code: int = 0
    version: str = ""
    """Of the redzone that made it; empty for this one."""
    root: str = dataclasses.field(default_factory=lambda: project_root())
    """The folder that paths are shown from."""
    created: str = dataclasses.field(default_factory=lambda: _now())
    """When, in ISO 8601."""
    witnesses: bool = False
    """Whether inputs that break the conditions are to be searched for and shown."""
    explanations: tuple[dict[str, Any], ...] = ()
    """Where each check's time went, as plain values, where that was asked."""

    def unused_comments(self) -> tuple[Suppression, ...]:
        """The comments that silence nothing."""
        if self.unused is not None:
            return self.unused
        from redzone.report.suppress import unused

        return unused(s for report in self.reports for s in report.suppressions)

    def made_by(self) -> str:
        """The version of redzone that checked."""
        if self.version:
            return self.version
        from redzone import __version__

        return __version__

    def relative(self, file: str) -> str:
        """A path from the run's root with forward slashes, or as it is where it lies elsewhere."""
        return relative_to(file, self.root)


def relative_to(file: str, root: str) -> str:
    """A path from a folder, with forward slashes; as it is where it lies elsewhere."""
    if root and file.startswith(root.rstrip("/\\") + os.sep):
        file = file[len(root.rstrip("/\\")) + 1 :]
    return file.replace(os.sep, "/")


def project_root() -> str:
    """The repository that holds the current folder, else that folder."""
    here = Path.cwd()
    return str(next((folder for folder in (here, *here.parents) if (folder / ".git").exists()), here))


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).replace(microsecond=0).isoformat()
