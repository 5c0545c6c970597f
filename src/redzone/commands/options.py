"""The options that every command with a report has: how it is shown, where it goes, what counts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from redzone.frontend.config import FORMATS

_FILE = click.Path(dir_okay=False)
_OPTIONS = (
    click.option("--format", "shown_as", type=click.Choice(FORMATS), help="How to show the result."),
    click.option("--output", "-o", metavar="FILE", type=_FILE, help="Write it to FILE instead."),
    click.option("--html", metavar="FILE", type=_FILE, help="Also write a page to FILE."),
    click.option("--json", "json_file", metavar="FILE", type=_FILE, help="Also write JSON to FILE."),
    click.option("--sarif", metavar="FILE", type=_FILE, help="Also write SARIF to FILE."),
    click.option("--junit", metavar="FILE", type=_FILE, help="Also write JUnit XML to FILE."),
    click.option("--strict/--no-strict", default=None, help="Conditions on inputs and warnings count as findings too."),
    click.option("--witness", is_flag=True, help="Show for each condition an input that breaks it."),
    click.option("--exit-zero", is_flag=True, default=None, help="Exit with 0 even when there are findings."),
    click.option("--select", metavar="CODES", help="Report only these rules, such as RZ1,RZ201."),
    click.option("--ignore", metavar="CODES", help="Do not report these rules."),
    click.option(
        "--baseline", metavar="FILE", help="Findings listed there do not count; `redzone baseline` writes it."
    ),
)


def reporting(command: Callable[..., Any]) -> Callable[..., Any]:
    """A command with these options, in this order."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command
