"""Writes docs/gallery.md and its images: python docs/make_gallery.py

Each image is what `redzone check` prints in a terminal of 88 columns. With `--pages` the pictures of the HTML report in
docs/report.md are made again too, which takes a Chromium.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import io
import os
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from rich.console import Console
from rich.terminal_theme import MONOKAI

import redzone
from redzone.frontend.targets import targets_of
from redzone.report.model import Report
from redzone.report.text import rendered

HERE = Path(__file__).parent
FOLDER = HERE / "gallery"
WIDTH = 88
HEAD = """\
# Gallery

Ten bugs from public issues, reduced to their pattern ([bugs.py](gallery/bugs.py)), as redzone shows them from shapes
and promised ranges alone, before anything runs. JAX runs all of them without a word. The images are written by
`python docs/make_gallery.py`.

"""


class Bug(NamedTuple):
    """One entry: its name, what it was, where it was reported, the way out, and what redzone says."""

    name: str
    title: str
    story: str
    link: str
    fix: str
    report: Report


def bugs() -> list[Bug]:
    """The bugs of docs/gallery/bugs.py, checked."""
    module = _module(FOLDER / "bugs.py")
    found = []
    for name, fn in vars(module).items():
        for target in targets_of(name, fn):
            report = redzone.check(target.fn, *target.args, **target.kwargs)
            found.append(Bug(name, *_told(fn.__doc__ or ""), report))
    return found


def _told(docstring: str) -> tuple[str, str, str, str]:
    """Title, story, link and way out of a docstring."""
    lines = [line.strip() for line in docstring.strip().splitlines()]
    link = next(line for line in lines if line.startswith("https://"))
    fix = next(line.removeprefix("way out: ") for line in lines if line.startswith("way out: "))
    story = " ".join(line for line in lines[1 : lines.index(link)] if line)
    return lines[0], story, link, fix


def page(entries: list[Bug]) -> str:
    """The text of the page."""
    return HEAD + "\n".join(_entry(number, bug) for number, bug in enumerate(entries, 1))


def _entry(number: int, bug: Bug) -> str:
    story = f"{bug.story} " if bug.story else ""
    where = re.sub(r"https://github\.com/([^/]+/[^/]+)/(?:pull|issues)/(\d+)", r"\1#\2", bug.link)
    where = re.sub(r"https://github\.com/([^/]+/[^/]+)/commit/(\w+)", r"\1@\2", where)
    text = f"{story}Reported as [{where}]({bug.link}); way out: {bug.fix}"
    return f"## {number}. {bug.title.rstrip('.')}\n\n{text}\n\n![{_verdicts(bug)}](gallery/{bug.name}.svg)\n"


def _verdicts(bug: Bug) -> str:
    counts = ", ".join(f"{count} {verdict}" for verdict, count in bug.report.counts().items() if count)
    return f"redzone's report of {bug.name}: {counts}"


def image(bug: Bug) -> str:
    """What a terminal shows, as SVG without anything to fetch."""
    console = Console(record=True, width=WIDTH, file=io.StringIO(), force_terminal=True, color_system="truecolor")
    # Durations differ at every run.
    report = dataclasses.replace(bug.report, timings={})
    console.print(rendered(report), markup=False, highlight=False, emoji=False)
    text = console.export_svg(title=f"redzone check bugs.py:{bug.name}", theme=MONOKAI, unique_id=bug.name)
    # The fonts would come from the network; every system has one of its own.
    text = re.sub(r"@font-face \{.*?\}\s*", "", text, flags=re.DOTALL)
    text = text.replace("Fira Code", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono")
    return "\n".join(line.rstrip() for line in text.splitlines()) + "\n"


def words(svg: str) -> str:
    """The text in an image, for comparison."""
    parts = re.findall(r"<text[^>]*>([^<]*)</text>", svg)
    return " ".join(" ".join(parts).replace("&#160;", " ").split())


def write_pages() -> None:
    """Pictures of the HTML report, of the gallery's own bugs."""
    sys.path.insert(0, str(HERE.parent))
    import base64
    import tempfile

    from redzone.report.html import run_as_html
    from redzone.report.run import Run
    from tests.report.browser import browser

    reports = []
    for bug in bugs():
        bug.report.name = f"bugs.py:{bug.name}"
        reports.append(bug.report)
    with tempfile.TemporaryDirectory() as folder, browser() as tab:
        file = Path(folder) / "page.html"
        file.write_text(run_as_html(Run(tuple(reports), root=str(FOLDER))), "utf-8")
        tab.size(1200, 960)
        for theme in ("light", "dark"):
            tab.theme(theme)
            tab.open(file)
            shot = tab.send("Page.captureScreenshot", format="webp", quality=60)["data"]
            (FOLDER / f"page-{theme}.webp").write_bytes(base64.b64decode(shot))


def _module(file: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location("bugs", file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(arguments: list[str]) -> None:
    """Write everything."""
    os.chdir(HERE.parent)  # paths are shown from there
    entries: list[Any] = bugs()
    for bug in entries:
        (FOLDER / f"{bug.name}.svg").write_text(image(bug), "utf-8")
    (HERE / "gallery.md").write_text(page(entries), "utf-8")
    if "--pages" in arguments:
        write_pages()


if __name__ == "__main__":
    main(sys.argv[1:])
