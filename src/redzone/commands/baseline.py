"""`redzone baseline`: write down the findings of today, so that only new ones count from here on."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from redzone.report.baseline import Mark


@click.command()
@click.argument("targets", nargs=-1, metavar="[TARGET]...")
@click.option("--from", "sources", multiple=True, metavar="REPORT.json", help="Take the findings of a JSON report.")
@click.option("--output", "-o", "file", metavar="FILE", help="Where to write it; .redzone-baseline.json unless said.")
@click.option("--update", is_flag=True, help="Replace the file that is there: add what is new, drop what is gone.")
@click.option("--arg", "arg_texts", multiple=True, metavar="SPEC", help="An argument, as for `redzone check`.")
@click.option("--dim", "dims", multiple=True, metavar="CONSTRAINT", help="On named dimensions, as for `redzone check`.")
@click.option("--strict/--no-strict", default=None, help="Conditions on inputs and warnings are written down too.")
@click.option("--select", metavar="CODES", help="Only these rules, such as RZ1,RZ201.")
@click.option("--ignore", metavar="CODES", help="Not these rules.")
def baseline(
    targets: tuple[str, ...],
    sources: tuple[str, ...],
    file: str | None,
    update: bool,
    arg_texts: tuple[str, ...],
    dims: tuple[str, ...],
    strict: bool | None,
    select: str | None,
    ignore: str | None,
) -> None:
    """Write the findings of TARGETs, or of JSON reports, to a file.

    `redzone check`, `redzone run` and `pytest --redzone-baseline` then count only other ones. Exit codes: 0 written,
    2 something could not be checked or read, and nothing was written.
    """
    from redzone.cli import COULD_NOT_CHECK, Outcome, check_all, configured
    from redzone.report.baseline import NAME, BadBaseline, marks_in, marks_in_json, project_of, write_baseline

    if bool(targets) == bool(sources):
        raise click.UsageError("name either functions to check, or JSON reports: redzone baseline --from report.json")
    config = configured(strict=strict, select=select, ignore=ignore)
    path = Path(file or config.baseline or NAME)
    try:
        before = _before(path, update)
        root = project_of(path)
        # As JSON is shown at the end, nothing is shown on the way.
        outcome = Outcome(replace(config, format="json", baseline=""))
        check_all(targets, arg_texts, dims, outcome)
        found: dict[Mark, None] = dict.fromkeys(
            mark for report in outcome.reports for mark in marks_in(report, root, config.strict)
        )
        for source in sources:
            for data in _reports_in(source):
                found.update(dict.fromkeys(marks_in_json(data, root, config.strict, before)))
    except BadBaseline as error:
        click.echo(f"redzone: {error}", err=True)
        sys.exit(COULD_NOT_CHECK)
    found = {mark: None for mark in found if config.reports(mark.rule)}
    if outcome.failures:
        for failed in outcome.failures:
            click.echo(f"{failed.name}: could not be checked\n  {failed.reason}", err=True)
        click.echo(f"redzone: {path} was not written", err=True)
        sys.exit(COULD_NOT_CHECK)
    try:
        write_baseline(path, found)
    except OSError as error:
        click.echo(f"redzone: {path} could not be written: {error.strerror or error}", err=True)
        sys.exit(COULD_NOT_CHECK)
    click.echo(f"{path}: {_counted(len(found))}{_changes(before, frozenset(found)) if update else ''}")


def _before(path: Path, update: bool) -> frozenset[Mark]:
    from redzone.report.baseline import BadBaseline, read_baseline

    if not path.exists():
        return frozenset()
    if not update:
        raise BadBaseline(f"{path} is there already; --update replaces it")
    return read_baseline(path).marks


def _reports_in(source: str) -> Iterator[dict[str, Any]]:
    """The reports in a file that `--format json` wrote."""
    from redzone.report.baseline import BadBaseline
    from redzone.report.json import SCHEMA

    how = "write one with `redzone check … --format json`"
    try:
        data = json.loads(sys.stdin.read() if source == "-" else Path(source).read_text("utf-8"))
    except OSError as error:
        raise BadBaseline(f"{source} cannot be read: {error.strerror or error}") from None
    except ValueError:
        raise BadBaseline(f"{source} is no JSON report of redzone: {how}") from None
    reports = data.get("reports", [data]) if isinstance(data, dict) else []
    if not isinstance(data, dict) or data.get("schema") != SCHEMA or not all("accesses" in r for r in reports):
        raise BadBaseline(f"{source} is no JSON report of this redzone: {how}")
    yield from reports


def _counted(number: int) -> str:
    return "1 finding" if number == 1 else f"{number} findings"


def _changes(before: frozenset[Mark], after: frozenset[Mark]) -> str:
    return f" ({len(after - before)} new, {len(before - after)} gone)"
