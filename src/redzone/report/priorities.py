"""What to fix first: the findings a person should look at, each once, the worst on top."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

from redzone.report.codes import CODES
from redzone.report.model import Access, Location, Verdict
from redzone.report.page_data import shown_file
from redzone.report.rows import rows_of
from redzone.report.run import Run

#: How many are told.
FEW = 6


@dataclasses.dataclass(frozen=True, slots=True)
class Todo:
    """One thing to fix: what is the matter, where, and what to do."""

    rank: tuple[int, ...]
    verdict: str
    label: str
    message: str
    place: str
    text: str
    fix: str
    link: str
    count: int


def fix_first(run: Run) -> list[Todo]:
    """Writes that leave their arrays, then reads, then what is not proved, then traps, then conditions.

    What is the matter with several arrays on the same line is told once.
    """
    told: dict[tuple[str, ...], Todo] = {}
    for todo in sorted(_todos(run), key=lambda todo: todo.rank):
        key = (todo.label, todo.place, todo.text) if todo.verdict != "requires" and todo.place else (todo.link,)
        first = told.get(key)
        told[key] = todo if first is None else dataclasses.replace(first, count=first.count + todo.count)
    return list(told.values())[:FEW]


def _todos(run: Run) -> Iterator[Todo]:
    before = warning = condition = 0
    for report in run.reports:
        numbers = {id(access): before + place for place, access in enumerate(report.accesses, 1)}
        for row in rows_of(report.accesses):
            if row.access.is_finding:
                yield _finding(row.access, row.count, numbers[id(row.access)], run)
        for lint in report.lints:
            warning += 1
            yield Todo(
                (2, warning),
                "warning",
                f"{lint.code} {CODES[lint.code].name}" if lint.code in CODES else lint.code,
                lint.message,
                _place(lint.location, run),
                lint.location.text,
                lint.fix,
                f"warning-{warning}",
                1,
            )
        for cause in report.causes():
            condition += 1
            first = cause.accesses[0].location if cause.accesses else Location("", 0, "", "")
            yield Todo(
                (3, -len(cause.accesses), condition),
                "requires",
                "requires",
                str(cause.condition),
                _place(first, run),
                first.text,
                cause.fix,
                f"condition-{condition}",
                len(cause.accesses),
            )
        before += len(report.accesses)


def _finding(access: Access, count: int, number: int, run: Run) -> Todo:
    unsafe = access.verdict is Verdict.UNSAFE
    fix = f"{access.loss.settle}, or clip the index" if access.loss is not None else access.fix
    return Todo(
        (0 if unsafe else 1, access.effect != "write", number),
        str(access.verdict),
        f"{access.verdict} {access.rule}".strip(),
        access.message,
        _place(access.location, run),
        access.location.text,
        fix,
        f"access-{number}",
        count,
    )


def _place(location: Location, run: Run) -> str:
    return f"{shown_file(location.file, run.root)}:{location.line}" if location.file else ""
