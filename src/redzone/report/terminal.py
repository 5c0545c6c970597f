"""Text on standard output: in colour on a terminal, plain in a pipe."""

from __future__ import annotations

import dataclasses
import sys

import click
from rich.console import Console, RenderableType

from redzone.report.model import Report
from redzone.report.run import Run
from redzone.report.text import as_plain, rendered, rendered_unused, summary_of

#: A line longer than this is hard to read, however wide the terminal is.
WIDEST = 120


def show(content: RenderableType) -> None:
    """In colour on a terminal (unless NO_COLOR says otherwise), plain and 80 wide in a pipe."""
    if sys.stdout.isatty():
        console = Console()
        console.print(content, markup=False, highlight=False, emoji=False, width=min(console.width, WIDEST))
    else:
        click.echo(as_plain(content))


def show_report(report: Report, witnesses: bool) -> None:
    """One report and an empty line."""
    show(rendered(report, witnesses))
    click.echo()


def show_run(run: Run) -> None:
    """All reports, what could not be checked, and how it stands."""
    for report in run.reports:
        show_report(dataclasses.replace(report, suppressions=()), run.witnesses)
    show_rest(run)
    for failed in run.failures:
        reason = failed.reason.replace("\n", "\n  ")
        click.echo(f"{failed.name}: could not be checked\n  {reason}", err=True)


def show_rest(run: Run) -> None:
    """What is told once, when every report was shown."""
    if run.unused_comments():
        show(rendered_unused(run.unused_comments()))
    if summary_of(run):
        click.echo(summary_of(run))
