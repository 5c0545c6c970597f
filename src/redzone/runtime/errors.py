"""OutOfBounds: a program was about to leave an array, or has."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from redzone.report.model import Access, Report, Verdict
from redzone.report.paths import shown_path


class OutOfBounds(IndexError):
    """An array access leaves its array; `report` and `access` say which and why.

    `access` is the one the message is about, `report` the check it comes from; both are None in a copy that came
    from another process, which has only the message.
    """

    def __init__(self, message: str, report: Report | None = None, access: Access | None = None) -> None:
        super().__init__(message)
        self.report = report
        self.access = access

    def __reduce__(self) -> tuple[Any, ...]:
        # A report holds the program's equations, which no other process can read.
        return (type(self), (str(self),))


def unsafe_program(report: Report) -> OutOfBounds | None:
    """The error for a program with an `unsafe` access that no comment silences; None where it has none."""
    unsafe = [a for a in report.findings if a.verdict is Verdict.UNSAFE]
    return OutOfBounds(_message(report, unsafe), report, unsafe[0]) if unsafe else None


def place_of(access: Access) -> str:
    """`file:line in function`, as a person at this prompt would write it."""
    location = access.location
    if not location.file:
        return "<unknown>"
    inside = f" in {location.function}" if location.function else ""
    return f"{shown_path(location.file)}:{location.line}{inside}"


def described(access: Access) -> list[str]:
    """What is wrong with one access, line by line: verdict, place, source, input that shows it, fix."""
    lines = [f"{access.verdict}[{access.rule}]: {access.message}", f"  --> {place_of(access)}"]
    if access.location.text:
        lines.append(f"    | {access.location.text}")
    if access.known_witness is not None:
        lines.append(f"  witness: {access.known_witness}")
    if access.fix:
        lines.append(f"  fix: {access.fix}")
    return lines


def _message(report: Report, unsafe: Sequence[Access]) -> str:
    lines = [f"{report.name} leaves an array", *described(unsafe[0])]
    others = list(dict.fromkeys(place_of(a) for a in unsafe[1:]))
    if others:
        lines.append(f"  and at {', '.join(others[:_OTHERS])}" + (" …" if len(others) > _OTHERS else ""))
    return "\n".join(lines)


#: How many further places a message names.
_OTHERS = 3
