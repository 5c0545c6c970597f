"""A run as one page: everything in it, nothing beside it, and no network."""

from __future__ import annotations

import base64
import datetime
import functools
import hashlib
import importlib.resources
from typing import TYPE_CHECKING

from redzone.report.model import Verdict
from redzone.report.page_data import embedded, page_data
from redzone.report.priorities import fix_first
from redzone.report.run import Run

if TYPE_CHECKING:
    from jinja2 import Environment

_SCRIPTS = ("data.js", "draw.js", "list.js", "detail.js", "views.js", "time.js", "main.js")
ORDER = (Verdict.UNSAFE, Verdict.UNKNOWN, Verdict.REQUIRES, Verdict.DECLARED, Verdict.MASKED, Verdict.SAFE)
#: How many functions are named on the first screen.
_NAMED = 8


def run_as_html(run: Run) -> str:
    """The run as the text of a page."""
    from markupsafe import Markup

    counts = verdict_counts(run)
    tone, headline, lede = told(run, counts)
    names = [report.name for report in run.reports]
    script = _script()
    text: str = (
        environment()
        .get_template("page.html")
        .render(
            version=run.made_by(),
            title=names[0] if len(names) == 1 else f"{len(names)} functions",
            created=run.created,
            created_text=_when(run.created),
            tone=tone,
            headline=headline,
            lede=lede,
            names=names[:_NAMED],
            more_names=max(0, len(names) - _NAMED),
            counts=list(counts.items()),
            total=sum(counts.values()),
            tally_text=", ".join(f"{count} {verdict}" for verdict, count in counts.items()),
            failures=run.failures,
            first=fix_first(run),
            style=Markup(_part("page.css")),
            script=Markup(script),
            script_hash=f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()}'",
            data=Markup(embedded(page_data(run))),
        )
    )
    return text


def verdict_counts(run: Run) -> dict[str, int]:
    """How many accesses of all reports got each verdict, the worst first."""
    each = [report.counts() for report in run.reports]
    return {str(verdict): sum(counts[str(verdict)] for counts in each) for verdict in ORDER}


def told(run: Run, counts: dict[str, int]) -> tuple[str, str, str]:
    """The tone, the headline and a sentence about what was checked."""
    accesses = sum(counts.values())
    equations = sum(report.equations for report in run.reports)
    findings = [access for report in run.reports for access in report.findings]
    unsafe = sum(access.verdict is Verdict.UNSAFE for access in findings)
    unknown = len(findings) - unsafe
    conditions = sum(len(report.causes()) for report in run.reports)
    lede = f"{_many(accesses, 'access', 'accesses')} in {_many(equations, 'equation')}"
    lede += f" of {_many(len(run.reports), 'function')}."
    if conditions:
        lede += f" {_many(conditions, 'condition')} on the inputs."
    if run.failures:
        lede += f" {_many(len(run.failures), 'target')} could not be checked."
    ignored = sum(access.suppressed for report in run.reports for access in report.accesses)
    if ignored:
        lede += f" {_many(ignored, 'access is', 'accesses are')} ignored by request."
    if unsafe:
        more = f", {unknown:,} could not be proved" if unknown else ""
        return "bad", f"{_many(unsafe, 'access leaves its array', 'accesses leave their arrays')}{more}", lede
    if unknown:
        return "doubt", f"{_many(unknown, 'access', 'accesses')} could not be proved", lede
    if run.failures and not run.reports:
        return "bad", "Nothing could be checked", lede
    if counts["requires"]:
        held = "if a condition on the inputs holds" if conditions == 1 else f"if {conditions} conditions hold"
        return "if", f"Every access stays inside, {held}", lede
    if not accesses:
        return "good", "Nothing is accessed at computed positions", lede
    return "good", "Every access stays inside its array", lede


@functools.cache
def environment() -> Environment:
    """Templates beside this file, everything escaped unless said otherwise."""
    import jinja2

    return jinja2.Environment(
        loader=jinja2.PackageLoader("redzone.report", "page"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _part(name: str) -> str:
    return (importlib.resources.files("redzone.report") / "page" / name).read_text("utf-8")


def _script() -> str:
    body = "\n".join(_part(name) for name in _SCRIPTS)
    return f'(() => {{\n"use strict";\n{body}}})();\n'


def _when(created: str) -> str:
    try:
        return datetime.datetime.fromisoformat(created).strftime("%d %b %Y, %H:%M UTC").lstrip("0")
    except ValueError:
        return created


def _many(number: int, one: str, many: str = "") -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
