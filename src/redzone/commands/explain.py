"""`redzone explain`: what XLA's own redzone checks cost, from a profiler capture."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import click


@click.command()
@click.argument("capture", type=click.Path(path_type=Path), metavar="PROFILE_DIR|FILE")
@click.option("--format", "output", type=click.Choice(["text", "json"]), default="text", help="How to show the result.")
def explain(capture: Path, output: str) -> None:
    """Tell what XLA's redzone checks cost in a capture of JAX's profiler.

    PROFILE_DIR is the folder given to jax.profiler.trace; FILE a *.xplane.pb or *.trace.json.gz in it.
    Exit codes: 0 read, 2 not readable.
    """
    from redzone.explain.capture import BadCapture
    from redzone.explain.xla import costs_at
    from redzone.explain.xla_text import SCHEMA, cost_as_json, cost_as_text

    try:
        costs, older = costs_at(capture)
    except BadCapture as error:
        click.echo(f"redzone: {error}", err=True)
        sys.exit(2)
    if output == "json":
        content = {"schema": SCHEMA, "captures": [cost_as_json(cost) for cost in costs], "older_captures": older}
        click.echo(json.dumps(content, indent=2, ensure_ascii=False))
        return
    click.echo("\n\n".join(cost_as_text(cost, older) for cost in costs))
