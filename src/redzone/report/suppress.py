"""`# redzone: ignore[RZ101]` on a source line: what it silences, and which comments silence nothing."""

from __future__ import annotations

import dataclasses
import inspect
import io
import linecache
import os
import re
import tokenize
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from redzone.report.codes import CODES
from redzone.report.model import Access, Lint, Location, Suppression, Verdict

_COMMENT = re.compile(r"#\s*redzone:\s*ignore(?:\[(?P<codes>[^\]]*)\])?")
#: Files that hold no comment of ours, with what tells whether they have changed since.
_without: dict[str, Any] = {}
_SILENCED = (Verdict.UNSAFE, Verdict.UNKNOWN, Verdict.REQUIRES)


def apply(accesses: Sequence[Access], fn: Callable[..., Any] | None = None) -> tuple[Suppression, ...]:
    """Mark the accesses that a comment on their line silences; returns every comment that was met.

    A comment is met when it stands on the line of an access, or in the body of `fn`. A comment
    elsewhere in the file may well be used by a function that is not being checked now.
    """
    comments: dict[str, dict[int, tuple[str, ...]]] = {}

    used: set[tuple[str, int]] = set()
    for access in accesses:
        if access.verdict in _SILENCED:
            file, line = access.place
            if file not in comments:
                comments[file] = _comments_in(file)
            codes = comments[file].get(line)
            if codes is not None and (not codes or access.rule in codes):
                access.suppressed = True
                used.add((file, line))

    body_file = _file(fn)
    if body_file and body_file not in comments:
        comments[body_file] = _comments_in(body_file)
    # A function's own lines take a while to find: only where there is a comment to place.
    body_lines = _lines(fn) if comments.get(body_file) else range(0)
    met = {(body_file, line) for line in comments.get(body_file, ()) if line in body_lines}
    if any(comments.values()):
        # Only now is it worth asking where the safe accesses are.
        places = {a.place for a in accesses}
        met |= {place for place in places if place[1] in comments.get(place[0], ())}
    if met - used:
        # What is left may be there for a trap on the way to an index.
        used |= {
            place
            for access in accesses
            for lint in access.lints
            if lint.suppressed
            for place in ((lint.location.file, lint.location.line), access.place)
        }
    return tuple(
        Suppression(
            Location(file, line, "", linecache.getline(file, line).strip()),
            comments[file][line],
            (file, line) in used,
        )
        for file, line in sorted(met)
    )


def silenced(lint: Lint, access: Access) -> Lint:
    """The lint, suppressed where its access is or a comment on its line or the access's says so."""
    for location in (lint.location, access.location):
        codes = _comments_in(location.file).get(location.line) if location.file else None
        if access.suppressed or (codes is not None and (not codes or lint.code in codes)):
            return dataclasses.replace(lint, suppressed=True)
    return lint


def unused(suppressions: Iterable[Suppression]) -> tuple[Suppression, ...]:
    """The comments that no check made use of; one may serve one example of a function and not another."""
    by_place: dict[tuple[str, int], Suppression] = {}
    for suppression in suppressions:
        place = (suppression.location.file, suppression.location.line)
        if suppression.used or place not in by_place:
            by_place[place] = suppression
    return tuple(s for s in by_place.values() if not s.used)


def complaint(suppression: Suppression) -> str:
    """What to tell the author of a comment that silences nothing."""
    wrong = [code for code in suppression.codes if code not in CODES]
    if wrong:
        return f"no rule is called {', '.join(wrong)}: `redzone rules` lists them"
    what = f"[{', '.join(suppression.codes)}]" if suppression.codes else ""
    return f"'# redzone: ignore{what}' silences nothing: remove it"


def _comments_in(file: str) -> dict[int, tuple[str, ...]]:
    """Line number to codes, for each suppression comment in a file."""
    if not _mentions_us(file):
        return {}
    lines = linecache.getlines(file)
    found: dict[int, tuple[str, ...]] = {}
    try:
        # Tokens, not lines: the same words inside a string are no comment.
        for token in tokenize.generate_tokens(io.StringIO("".join(lines)).readline):
            match = _COMMENT.match(token.string) if token.type == tokenize.COMMENT else None
            if match:
                codes = (match["codes"] or "").split(",")
                found[token.start[0]] = tuple(c.strip() for c in codes if c.strip())
    except (tokenize.TokenError, SyntaxError):
        pass  # a notebook cell with magics: what was read up to there counts
    return found


def _mentions_us(file: str) -> bool:
    """Whether a file may hold a comment of ours. Splitting it into lines takes longer than finding a word in it."""
    kept = linecache.cache.get(file)
    try:
        stat = os.stat(file) if kept is None else None
    except OSError:
        stat = None
    if stat is None:
        # A cell of a notebook, or read before.
        lines = linecache.getlines(file)
        if _without.get(file) is not lines and "redzone:" not in "".join(lines):
            _without[file] = lines
        return _without.get(file) is not lines
    state = (stat.st_mtime_ns, stat.st_size)
    if _without.get(file) != state:
        try:
            if b"redzone:" in Path(file).read_bytes():
                return True
        except OSError:
            return False
        _without[file] = state
    return False


def _file(fn: Callable[..., Any] | None) -> str:
    """The file a function was written in; empty for one that has none."""
    try:
        inner = inspect.unwrap(fn) if fn is not None else None
        code = getattr(inner, "__code__", None)
        if code is not None:
            return str(code.co_filename)
        return inspect.getsourcefile(inner) or "" if inner is not None else ""
    except (OSError, TypeError, ValueError):
        return ""


def _lines(fn: Callable[..., Any] | None) -> range:
    """The lines of a function's own source; empty for one that has none."""
    try:
        lines, first = inspect.getsourcelines(inspect.unwrap(fn)) if fn is not None else ([], 0)
        return range(first, first + len(lines))
    except (OSError, TypeError, ValueError):
        return range(0)
