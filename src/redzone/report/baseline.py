"""Findings that were there before: a file of them, so that only new ones count.

A finding is known again by its rule, file, function, source text and primitive, not by its line number, so that edits
elsewhere in the file do not make it new. Of several equal lines in one function the number tells which.
"""

from __future__ import annotations

import ast
import dataclasses
import json
import linecache
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from redzone.report.model import Location, Report, Verdict

SCHEMA = 1
NAME = ".redzone-baseline.json"
_COUNTED = (Verdict.UNSAFE, Verdict.UNKNOWN)
_LIBRARIES = ("site-packages", "dist-packages")


class BadBaseline(Exception):
    """A baseline that cannot be used; the message says why and what to do."""


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class Mark:
    """What a finding is known again by."""

    file: str
    """From the project's folder, or from site-packages."""
    function: str
    text: str
    """The source line, with its spaces made single."""
    rule: str
    primitive: str
    """Empty for a warning."""
    ordinal: int = 0
    """How many equal lines stand before it in the function."""

    def __str__(self) -> str:
        inside = f" in {self.function}" if self.function else ""
        return f"{self.rule} {self.file}{inside}: {self.text}"


def mark_of(rule: str, primitive: str, location: Location, root: str) -> Mark:
    """The mark of a finding at a place of the source."""
    text = " ".join(location.text.split())
    file = _found(location.file, root)
    ordinal = _ordinal(file, location.line, text) if text else 0
    return Mark(_filed(file, root), location.function, text, rule, primitive, ordinal)


def marks_in(report: Report, root: str, strict: bool = False) -> Iterator[Mark]:
    """The marks of a report's findings; with `strict`, also of its conditions and warnings."""
    for access in report.accesses:
        if not access.suppressed and access.rule and (access.is_finding or (strict and access.requires)):
            yield mark_of(access.rule, access.primitive, access.location, root)
    if strict:
        for lint in report.lints:
            yield mark_of(lint.code, "", lint.location, root)


def marks_in_json(data: dict[str, Any], root: str, strict: bool, known: frozenset[Mark]) -> Iterator[Mark]:
    """The same from a report that was written as JSON; what is silenced there counts only if it is `known` already."""
    for access in data["accesses"]:
        counted = access["verdict"] in _COUNTED or (strict and access["requires"])
        if not access["rule"] or not counted:
            continue
        mark = mark_of(access["rule"], access["primitive"], _location(access["location"]), root)
        if not access["suppressed"] or mark in known:
            yield mark
    if strict:
        for lint in data.get("lints", ()):
            yield mark_of(lint["code"], "", _location(lint["location"]), root)


class Baseline:
    """Findings that do not count, and which of them were met."""

    def __init__(self, file: Path, marks: Iterable[Mark]) -> None:
        self.file = file
        self.root = project_of(file)
        self.marks = frozenset(marks)
        self.met: set[Mark] = set()
        self.seen: set[tuple[str, str]] = set()
        """(file, function) of every access that came by."""

    def silence(self, report: Report) -> None:
        """Suppress what is in the baseline; once for a report, before its findings are looked at."""
        for access in report.accesses:
            file = _filed(_found(access.location.file, self.root), self.root)
            self.seen.add((file, access.location.function))
            if access.rule and not access.suppressed and self._has(access.rule, access.primitive, access.location):
                access.suppressed = True
        if any(not mark.primitive for mark in self.marks):
            for access in report.accesses:
                access.silence_lints(lambda lint: self._has(lint.code, "", lint.location))

    def _has(self, rule: str, primitive: str, location: Location) -> bool:
        mark = mark_of(rule, primitive, location, self.root)
        if mark in self.marks:
            self.met.add(mark)
            return True
        return False

    def stale(self) -> list[Mark]:
        """The entries that are surely no longer true: their code was checked without them, or is gone."""
        return sorted(mark for mark in self.marks - self.met if self._is_stale(mark))

    def _is_stale(self, mark: Mark) -> bool:
        if (mark.file, mark.function) in self.seen:
            return True
        if mark.file.split("/")[0] in (*_LIBRARIES, "…"):
            return False  # where libraries are is not known here
        file = os.path.join(self.root, mark.file)
        return not any(" ".join(line.split()) == mark.text for line in linecache.getlines(file))

    def words(self) -> list[str]:
        """What to tell at the end: how many known findings were met, and the stale entries."""
        lines = []
        if self.met:
            known = "1 known finding" if len(self.met) == 1 else f"{len(self.met)} known findings"
            lines.append(f"{known} not counted, by {shown(self.file)}")
        lines += [f"stale in {shown(self.file)}: {mark}" for mark in self.stale()]
        if self.stale():
            lines.append("`redzone baseline --update` drops stale entries")
        return lines


def read_baseline(file: str | Path) -> Baseline:
    """The baseline in a file."""
    file = Path(file)
    try:
        data = json.loads(file.read_text("utf-8"))
        if data["redzone-baseline"] != SCHEMA:
            raise BadBaseline(f"{file}: written by another version of redzone; write it anew with `redzone baseline`")
        return Baseline(file, (Mark(**entry) for entry in data["findings"]))
    except FileNotFoundError:
        raise BadBaseline(f"there is no baseline {file}; {_how(file)}") from None
    except OSError as error:
        raise BadBaseline(f"{file}: {error.strerror or error}") from None
    except (ValueError, KeyError, TypeError):
        raise BadBaseline(f"{file} is no baseline of redzone; {_how(file)}") from None


def _how(file: Path) -> str:
    return f"`redzone baseline TARGETS -o {file}` writes one"


def write_baseline(file: Path, marks: Iterable[Mark]) -> None:
    """Write a baseline, sorted, an entry a line, so that changes to it are easy to review."""
    entries = ",\n".join(
        "  " + json.dumps(dataclasses.asdict(mark), ensure_ascii=False) for mark in sorted(dict.fromkeys(marks))
    )
    listed = f"[\n{entries}\n ]" if entries else "[]"
    file.write_text(f'{{\n "redzone-baseline": {SCHEMA},\n "findings": {listed}\n}}\n', "utf-8")


def project_of(file: Path) -> str:
    """The project that a baseline belongs to: the nearest folder around it with a repository or a pyproject.toml."""
    folder = file.absolute().parent
    for around in (folder, *folder.parents):
        if (around / ".git").exists() or (around / "pyproject.toml").is_file():
            return str(around)
    return str(folder)


def shown(file: Path) -> str:
    """The file as a person at this prompt would write it."""
    from redzone.report.paths import shown_path

    return shown_path(str(file))


def _found(file: str, root: str) -> str:
    """The file itself, of one that is named from here or from the project's folder."""
    if os.path.isabs(file) or not file or file.startswith("<"):
        return file
    from_here, from_root = os.path.abspath(file), os.path.join(root, file)
    return from_here if os.path.exists(from_here) or not os.path.exists(from_root) else from_root


def _filed(file: str, root: str) -> str:
    parts = Path(file).parts
    for name in _LIBRARIES:
        if name in parts:
            return "/".join(("site-packages", *parts[len(parts) - parts[::-1].index(name) :]))
    if not os.path.isabs(file):
        return file.replace(os.sep, "/")
    relative = os.path.relpath(file, root)
    if relative.startswith(os.pardir):
        return "/".join(("…", *parts[-2:]))
    return Path(relative).as_posix()


def _location(data: dict[str, Any]) -> Location:
    return Location(data["file"], data["line"], data["function"], data["text"])


#: By file: the lines that were looked at, and (first line, last line) of each function in them.
_functions: dict[str, tuple[list[str], list[tuple[int, int]]]] = {}


def _ordinal(file: str, line: int, text: str) -> int:
    """How many lines before this one, in the same function, read the same."""
    lines = linecache.getlines(file)
    first = max((low for low, high in _extents(file, lines) if low <= line <= high), default=1)
    return sum(" ".join(other.split()) == text for other in lines[first - 1 : max(line - 1, 0)])


def _extents(file: str, lines: list[str]) -> list[tuple[int, int]]:
    known = _functions.get(file)
    if known is not None and known[0] is lines:
        return known[1]
    found: list[tuple[int, int]] = []
    try:
        for node in ast.walk(ast.parse("".join(lines))):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                found.append((node.lineno, node.end_lineno or node.lineno))
    except (SyntaxError, ValueError, RecursionError):
        pass  # a notebook cell with magics: the whole cell counts
    _functions[file] = (lines, found)
    return found
