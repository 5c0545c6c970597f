"""What stays the same of a finding when lines move: for baselines, and for services that follow findings over time."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable

from redzone.report.model import Access, Lint, Location
from redzone.report.run import relative_to


def fingerprint(code: str, place: Location, root: str, kind: str = "") -> str:
    """Made from the rule, the file, the function and the words of the line, not from its number."""
    words = (code, relative_to(place.file, root), place.function, " ".join(place.text.split()), kind)
    return hashlib.sha256("\x1f".join(words).encode("utf-8", "replace")).hexdigest()[:32]


def access_fingerprint(access: Access, root: str) -> str:
    """The fingerprint of an access: equal for those that a reader cannot tell apart."""
    return fingerprint(access.rule, access.location, root, f"{access.effect} {access.primitive}")


def lint_fingerprint(lint: Lint, root: str) -> str:
    """The fingerprint of a warning."""
    return fingerprint(lint.code, lint.location, root)


def numbered(fingerprints: Iterable[str]) -> list[str]:
    """Equal ones told apart by their order: `…/1`, `…/2`."""
    seen: Counter[str] = Counter()
    result = []
    for one in fingerprints:
        seen[one] += 1
        result.append(f"{one}/{seen[one]}")
    return result
