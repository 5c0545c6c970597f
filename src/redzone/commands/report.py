"""`redzone report`: show again what a check wrote as JSON, in any format, without checking anything."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from redzone.report.formats import FORMATS

#: Stands for an option given without its file.
_HERE = "-"
#: The ending of a file that is written beside the JSON.
_SUFFIX = {"html": ".html", "sarif": ".sarif", "junit": ".xml"}


@click.command()
@click.argument("file", required=False, metavar="FILE.json")
@click.option("--format", "shown_as", type=click.Choice(FORMATS), help="How to show it: text unless said.")
@click.option("--output", "-o", metavar="FILE", type=click.Path(dir_okay=False), help="Write it to FILE instead.")
@click.option("--html", is_flag=False, flag_value=_HERE, metavar="[FILE]", help="As a page.")
@click.option("--sarif", is_flag=False, flag_value=_HERE, metavar="[FILE]", help="As SARIF 2.1.0.")
@click.option("--junit", is_flag=False, flag_value=_HERE, metavar="[FILE]", help="As JUnit XML.")
@click.option("--github", is_flag=True, help="As annotations for GitHub Actions.")
def report(
    file: str | None,
    shown_as: str | None,
    output: str | None,
    html: str | None,
    sarif: str | None,
    junit: str | None,
    github: bool,
) -> None:
    """Show FILE.json, which `redzone check --format json` wrote, in another way.

    --html, --sarif and --junit take the file to write. Without one the result is printed where something reads
    it, and written beside FILE.json on a terminal. Exit codes: 0 shown, 2 the file could not be read or written.
    """
    from redzone.commands.writing import write
    from redzone.report.formats import rendered
    from redzone.report.read import BadReport, run_from_file

    wanted = {name: value for name, value in (("html", html), ("sarif", sarif), ("junit", junit)) if value is not None}
    if file is None:
        file = _mistaken(wanted)
    if file is None:
        raise click.UsageError("name the JSON file to show: redzone report FILE.json --html page.html")
    try:
        run = run_from_file(file)
    except BadReport as error:
        click.echo(f"redzone: {error}", err=True)
        sys.exit(2)
    if github:
        wanted["github"] = _HERE
    if shown_as or not wanted:
        wanted[shown_as or "text"] = _HERE
    if output and sum(value == _HERE for value in wanted.values()) != 1:
        raise click.UsageError("--output is for one format: give each of --html, --sarif and --junit its own file")
    for format, target in wanted.items():
        if target == _HERE and output:
            write(run, format, output)
        elif target != _HERE:
            write(run, format, target)
        elif format == "text" and sys.stdout.isatty():
            from redzone.report.terminal import show_run

            show_run(run)
        elif format in _SUFFIX and sys.stdout.isatty():
            beside = str(Path(file).with_suffix(_SUFFIX[format]))
            write(run, format, beside)
            click.echo(f"wrote {beside}", err=True)
        else:
            click.echo(rendered(format, run), nl=False)


def _mistaken(wanted: dict[str, str]) -> str | None:
    """The JSON file where it was taken for the file to write: `redzone report --html r.json`."""
    for name, value in wanted.items():
        if value.endswith(".json") and Path(value).is_file():
            wanted[name] = _HERE
            return value
    return None
