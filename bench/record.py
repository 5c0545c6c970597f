"""What is measured of one program, in a form that goes to JSON and back."""

from __future__ import annotations

import dataclasses
from typing import Any

VERDICTS = ("safe", "masked", "declared", "requires", "unsafe", "unknown")


@dataclasses.dataclass(slots=True)
class Record:
    """One program's numbers; times are seconds, None is "not measured" and `notes` says why."""

    name: str
    family: str
    notes: dict[str, str] = dataclasses.field(default_factory=dict)
    """What went wrong, by stage: build, check, compile, checkify."""

    equations: int | None = None
    """Each distinct sub-program's equations once, as JAX traced them."""
    equations_inlined: int | None = None
    """Sub-programs counted at each call."""
    accesses: int | None = None
    verdicts: dict[str, int] = dataclasses.field(default_factory=dict)
    unmodelled: dict[str, int] = dataclasses.field(default_factory=dict)
    findings: list[dict[str, Any]] = dataclasses.field(default_factory=list)
    """The unknown and unsafe accesses."""

    trace: float | None = None
    """JAX's tracing with empty caches, as the first call in a process pays it."""
    retrace: float | None = None
    """JAX's tracing when the library's own jitted parts are already cached."""
    lower: float | None = None
    compile: float | None = None

    check: float | None = None
    """redzone on the traced program, everything included."""
    walk: float | None = None
    """Visiting each equation and operand once, doing nothing: the floor."""
    render: float | None = None
    """Printing the report as text, source locations and memory patterns included."""
    stages: dict[str, float] = dataclasses.field(default_factory=dict)
    memory: int | None = None
    """The most bytes redzone held at once beyond what was there before."""

    checkify_trace: float | None = None
    checkify_compile: float | None = None
    checkify_equations: int | None = None

    @property
    def is_measured(self) -> bool:
        return self.trace is not None and self.check is not None

    @property
    def microseconds_per_equation(self) -> float | None:
        if self.check is None or not self.equations:
            return None
        return self.check / self.equations * 1e6

    @property
    def ratio_to_tracing(self) -> float | None:
        if self.check is None or not self.trace:
            return None
        return self.check / self.trace

    @property
    def allowed(self) -> float | None:
        """The most this program's check may take: 10 ms, or a tenth of its tracing."""
        return None if self.trace is None else max(0.010, 0.10 * self.trace)

    @property
    def is_within_limit(self) -> bool | None:
        return None if self.check is None or self.allowed is None else self.check <= self.allowed

    def learn(self, stage: str, answer: dict[str, Any]) -> None:
        """Take over the measured fields, or note why there are none."""
        for name, value in answer.items():
            if name == "error":
                self.notes[stage] = value
            elif name in self.__dataclass_fields__:
                setattr(self, name, value)
