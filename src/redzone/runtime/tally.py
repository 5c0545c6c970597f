"""What a test run came to, in plain values that one process can send to another."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(slots=True)
class Tally:
    """Counts, time and findings of one process, or of several together."""

    programs: int = 0
    checked: int = 0
    accesses: int = 0
    seconds: float = 0.0
    findings: list[tuple[str, str, str]] = dataclasses.field(default_factory=list)
    """(one line about it, all about it, the test that caused it or nothing), each finding of each test once."""
    errors: list[str] = dataclasses.field(default_factory=list)
    """What redzone itself failed on."""
    known: list[list[Any]] = dataclasses.field(default_factory=list)
    """The entries of the baseline that were met, as the values of their marks."""
    checked_places: list[list[str]] = dataclasses.field(default_factory=list)
    """(file, function) of everything that was checked, for what the baseline has become too long."""
    reports: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """The reports as JSON, where they are asked for."""

    def plain(self) -> dict[str, Any]:
        """As values that any process can be sent."""
        return dataclasses.asdict(self)

    def add(self, other: dict[str, Any]) -> None:
        """Add what another process sent."""
        for field in dataclasses.fields(self):
            value = other[field.name]
            if isinstance(value, list):
                value = [tuple(item) if field.name == "findings" else item for item in value]
            setattr(self, field.name, getattr(self, field.name) + value)

    @property
    def tests(self) -> int:
        """How many tests caused findings."""
        return len({test for _, _, test in self.findings if test})

    @property
    def outside(self) -> list[tuple[str, str, str]]:
        """The findings that no test caused: those of modules being imported."""
        return [found for found in self.findings if not found[2]]
