"""What a session has to say: its findings, each once, and a line that sums it up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from redzone.frontend import compat
from redzone.frontend.unwatched import unwatched
from redzone.report.model import Access, Report, Verdict
from redzone.report.paths import shown_path
from redzone.report.text import seconds_as_text
from redzone.runtime.errors import described
from redzone.runtime.session import Session


def findings_as_text(reports: Iterable[Report]) -> str:
    """Each distinct finding with its place, witness and fix; empty where there is none."""
    return "\n\n".join(text for _, text in each_finding(reports))


@unwatched()
def each_finding(reports: Iterable[Report]) -> list[tuple[str, str]]:
    """Of each distinct finding a line and all there is to say, what is wrong for sure first."""
    groups: dict[object, tuple[Access, dict[str, None]]] = {}
    for report in reports:
        for access in report.findings:
            key = (access.rule, access.location, access.primitive, access.message)
            _, names = groups.setdefault(key, (access, {}))
            names[report.name] = None
    ordered = sorted(groups.values(), key=lambda group: group[0].verdict is not Verdict.UNSAFE)
    return [(_line(access), "\n".join(_lines(access, list(names)))) for access, names in ordered]


def _line(access: Access) -> str:
    place = f"{shown_path(access.location.file)}:{access.location.line}" if access.location.file else "<unknown>:0"
    return f"{place}: {access.rule} {access.verdict} {' '.join(access.message.split())}"


def _lines(access: Access, names: list[str]) -> Iterator[str]:
    yield from described(access)
    if access.loss is not None:
        yield f"  settle: {access.loss.settle} before this line, or clip the index"
    if names != [access.location.function]:
        more = f" and {len(names) - 3} more" if len(names) > 3 else ""
        yield f"  compiled in: {', '.join(names[:3])}{more}"


def full_name(report: Report) -> str:
    """Of the report of a compiled program: `train.py:step`, or JAX's name where the function is JAX's own."""
    origin = compat.origin_of(report.jaxpr)
    if not origin.file or compat.is_jaxs_own(origin.file):
        return report.name
    return f"{shown_path(origin.file)}:{origin.function}"


def summary(session: Session) -> str:
    """`redzone: 12 programs compiled, 41 accesses in 3 of them, 1 unsafe, 2 unknown; checking took 12.3 ms`."""
    return f"{tally_of(session)}; checking took {seconds_as_text(session.seconds)}"


def tally_of(session: Session) -> str:
    """The same without the time."""
    accesses = f"{_count(session.accesses, 'access', 'accesses')} in {session.checked} of them"
    parts = [
        f"{_count(session.programs, 'program')} compiled",
        accesses if session.checked else "no access in them",
        _verdicts(session.findings) if session.findings else "no findings",
    ]
    if session.errors:
        parts.append(f"{_count(len(session.errors), 'failure')} of redzone's own")
    return f"redzone: {', '.join(parts)}"


def whole(session: Session) -> str:
    """Findings, failures and the summary, for a person."""
    parts = [findings_as_text(session.reports), failures_as_text(session), summary(session)]
    return "\n\n".join(part for part in parts if part)


def failures_as_text(session: Session) -> str:
    """What redzone failed on; those programs ran unchecked."""
    return "\n".join(f"redzone failed on {failure} (it was compiled unchecked)" for failure in session.errors)


def _verdicts(findings: Iterable[Access]) -> str:
    tally: dict[str, int] = {}
    for access in findings:
        tally[str(access.verdict)] = tally.get(str(access.verdict), 0) + 1
    return ", ".join(f"{tally[v]} {v}" for v in (Verdict.UNSAFE, Verdict.UNKNOWN) if v in tally)


def _count(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
