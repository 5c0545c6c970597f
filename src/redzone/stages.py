"""The stages of a check, made visible: annotations in the user's own profile, and calls for whoever records them.

Nobody records by default; then a recorded function costs one look at a variable more.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from contextvars import ContextVar
from types import TracebackType
from typing import Any, ParamSpec, Protocol, TypeVar

from jax.profiler import TraceAnnotation

P = ParamSpec("P")
R = TypeVar("R")


class Recorder(Protocol):
    """Hears when a stage or a recorded function begins and ends; they nest."""

    def begin(self, name: str, stage: bool, args: tuple[Any, ...]) -> None: ...

    def end(self, result: Any) -> None: ...

    def step(self, step: Any) -> None:
        """A step of a program is about to be run."""

    def stepped(self, step: Any) -> None:
        """It was run."""

    def body(self, program: Any) -> None:
        """A program is about to be run."""


_recorder: ContextVar[Recorder | None] = ContextVar("redzone_recorder", default=None)


@contextlib.contextmanager
def recording(recorder: Recorder) -> Iterator[None]:
    """Let a recorder hear everything that is checked inside, in this thread."""
    token = _recorder.set(recorder)
    try:
        yield
    finally:
        _recorder.reset(token)


def recorder() -> Recorder | None:
    """Who hears what is checked in this thread, if anybody does."""
    return _recorder.get()


def stage(name: str) -> AbstractContextManager[Any]:
    """`with stage("facts"):` is a stage of the check, seen by jax.profiler and by a recorder."""
    hears = _recorder.get()
    annotation = TraceAnnotation("redzone: " + name)
    return annotation if hears is None else _Stage(name, annotation, hears)


class _Stage:
    """A stage that is recorded."""

    __slots__ = ("annotation", "name", "recorder")

    def __init__(self, name: str, annotation: AbstractContextManager[Any], recorder: Recorder) -> None:
        self.name = name
        self.annotation = annotation
        self.recorder = recorder

    def __enter__(self) -> None:
        self.annotation.__enter__()
        self.recorder.begin(self.name, True, ())

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.recorder.end(None)
        self.annotation.__exit__(kind, error, trace)


def staged(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function that is a stage of the check, or a part of one."""

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(fn)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            with stage(name):
                return fn(*args, **kwargs)

        return wrapper

    return decorate


def recorded(name: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A function whose calls a recorder hears of, with their arguments and results."""

    def decorate(fn: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(fn)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> R:
            hears = _recorder.get()
            if hears is None:
                return fn(*args, **kwargs)
            hears.begin(name, False, args)
            result = None
            try:
                result = fn(*args, **kwargs)
                return result
            finally:
                hears.end(result)

        return wrapper

    return decorate
