"""Compiles that redzone causes itself, which nobody wants checked: `with unwatched(): ...`."""

from __future__ import annotations

import contextlib
import threading
from typing import Any

_here = threading.local()


class unwatched(contextlib.ContextDecorator):
    """What this thread compiles inside is not looked at; also a decorator. May be nested."""

    __slots__ = ()

    def __enter__(self) -> None:
        _here.depth = getattr(_here, "depth", 0) + 1

    def __exit__(self, *_: Any) -> None:
        _here.depth -= 1


def is_unwatched() -> bool:
    """Whether this thread is inside `unwatched()`."""
    return getattr(_here, "depth", 0) > 0
