"""The code blocks of the documentation: read, run, and compared with the output shown.

`python -m tests.doc_blocks` writes what they print now into the pages.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import linecache
import re
import shlex
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PROJECT = Path(__file__).parents[1]
PAGES = [PROJECT / "README.md", *sorted((PROJECT / "docs").glob("*.md"))]
_FENCE = re.compile(r"^```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^```$", re.MULTILINE | re.DOTALL)


@dataclasses.dataclass(frozen=True, slots=True)
class Block:
    """One fenced block: its language, its text, where the text starts and ends in the page."""

    kind: str
    body: str
    start: int
    end: int


def blocks_in(page: str) -> list[Block]:
    return [Block(m["kind"], m["body"], m.start("body"), m.end("body")) for m in _FENCE.finditer(page)]


def steady(text: str) -> str:
    """Output without its durations, which differ at every run, and the line breaks they move.

    How many programs a run compiles depends on what this process has compiled before.
    """
    text = re.sub(r"^redzone: \d+ programs? compiled.* took .*\n?", "", text + "\n", flags=re.MULTILINE)
    return re.sub(r"^time: .*?(?=\n\n|\Z)", "time: …", text.strip(), flags=re.MULTILINE | re.DOTALL)


class Session:
    """One page's blocks, run one after the other as if pasted into one file."""

    def __init__(self) -> None:
        self.names: dict[str, Any] = {"__name__": "example"}
        self.lines: list[str] = []

    def python(self, body: str) -> str:
        """Run a block and return what it prints."""
        offset = len(self.lines)
        self.lines += body.splitlines(keepends=True)
        linecache.cache["example.py"] = (1, None, self.lines, "example.py")
        code = compile("\n" * offset + body, "example.py", "exec", dont_inherit=True)
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(code, self.names)
        return printed.getvalue()

    def console(self, body: str) -> str:
        """Run each `$ redzone …` line of a block and return the block with what they print."""
        return "\n".join(self._commands(body)) + "\n"

    def _commands(self, body: str) -> Iterator[str]:
        from click.testing import CliRunner

        from redzone.cli import main

        for line in body.splitlines():
            if line.startswith("$ "):
                yield line
                program, *arguments = shlex.split(line[2:])
                if program != "redzone":
                    raise ValueError(f"cannot run {line!r}: only redzone's own commands are shown")
                output = CliRunner().invoke(main, arguments).output.rstrip()
                if output:
                    yield output


def shown_and_real(page: str) -> Iterator[tuple[Block, str]]:
    """Each block that shows output, with what is really printed; Python that shows none is run too."""
    session = Session()
    blocks = blocks_in(page)
    for block, following in itertools.zip_longest(blocks, blocks[1:]):
        if block.kind == "python":
            printed = session.python(block.body)
            if following is not None and following.kind == "text":
                yield following, printed
        elif block.kind == "console":
            yield block, session.console(block.body)


def refreshed(page: str) -> str:
    """The page with its output brought up to date, left alone where only durations differ."""
    for block, real in reversed(list(shown_and_real(page))):
        if steady(block.body) != steady(real):
            page = page[: block.start] + real.rstrip() + "\n" + page[block.end :]
    return page


if __name__ == "__main__":
    sys.path.insert(0, str(PROJECT))
    for file in PAGES:
        before = file.read_text()
        after = refreshed(before)
        if after != before:
            print(f"{file.relative_to(PROJECT)}: new output; read whether the text still fits it")
            file.write_text(after)
