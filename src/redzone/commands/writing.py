"""Writing a run to a file, with an error that says what to do where that fails."""

from __future__ import annotations

import sys

import click

from redzone.report.run import Run


def write(run: Run, format: str, file: str) -> None:
    """Write a run to a file in a format; ends the command with code 2 where the file cannot be written."""
    from redzone.report.formats import save

    try:
        save(run, file, format)
    except OSError as error:
        click.echo(f"redzone: {file} could not be written: {error.strerror or error}", err=True)
        sys.exit(2)
