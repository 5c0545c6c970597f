"""Every way to show a run, by name; each loads what it needs when it is first used."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable
from pathlib import Path

from redzone.report.run import Run

#: Name, and the function that writes a run that way.
_WRITERS = {
    "text": "redzone.report.text:run_as_text",
    "concise": "redzone.report.concise:run_as_concise",
    "json": "redzone.report.json:run_as_json_text",
    "html": "redzone.report.html:run_as_html",
    "sarif": "redzone.report.sarif:run_as_sarif",
    "github": "redzone.report.github:run_as_github",
    "junit": "redzone.report.junit:run_as_junit",
}
FORMATS = tuple(_WRITERS)
_BY_SUFFIX = {
    ".html": "html",
    ".htm": "html",
    ".json": "json",
    ".sarif": "sarif",
    ".xml": "junit",
    ".txt": "text",
}


def rendered(format: str, run: Run) -> str:
    """The run in one of the formats, ending with a line end unless there is nothing to tell."""
    home, _, name = _WRITERS[format].partition(":")
    write: Callable[[Run], str] = getattr(importlib.import_module(home), name)
    # Lone surrogates cannot be written as UTF-8; names of files may smuggle them in.
    text = write(run).encode("utf-8", "replace").decode("utf-8")
    return text if not text or text.endswith("\n") else text + "\n"


def save(run: Run, file: str | os.PathLike[str], format: str | None = None) -> None:
    """Write a run to a file, in a format or in the one its name calls for."""
    name = format or format_of(file)
    if name not in _WRITERS:
        raise ValueError(f"there is no format {name!r}; known are {', '.join(FORMATS)}")
    Path(file).write_text(rendered(name, run), "utf-8", newline="\n")


def format_of(file: str | os.PathLike[str]) -> str:
    """The format a file's name calls for."""
    name = os.fspath(file).lower()
    if name.endswith(".sarif.json"):
        return "sarif"
    suffix = Path(name).suffix
    if suffix not in _BY_SUFFIX:
        known = ", ".join(_BY_SUFFIX)
        raise ValueError(
            f"{os.fspath(file)}: the name does not say a format; end it with one of {known}, or give format="
        )
    return _BY_SUFFIX[suffix]
