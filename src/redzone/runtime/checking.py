"""`with redzone.checking(): ...`: every function compiled in there is checked, also inside libraries."""

from __future__ import annotations

import functools
import inspect
import sys
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any, TypeVar

from redzone.frontend import compat
from redzone.runtime import watching
from redzone.runtime.errors import OutOfBounds
from redzone.runtime.mode import Mode, asked
from redzone.runtime.session import Session
from redzone.runtime.telling import summary, whole

F = TypeVar("F", bound=Callable[..., Any])

compat.hide_from_tracebacks(__file__)


class checking:
    """Check every program that is compiled inside; a context manager that gives its `Session`, or a decorator.

    `mode` is "report" (tell at the end), "raise" (an unsafe program raises `OutOfBounds` instead of being run) or
    "off"; the environment variable REDZONE wins over it. `report` is called with the session at the end; without it
    what was found is printed to stderr, if anything was compiled.
    """

    def __new__(cls, mode: Any = Mode.REPORT, report: Any = None) -> Any:
        """`@redzone.checking` without parentheses is a decorator too."""
        if callable(mode) and not isinstance(mode, type):
            return cls()(mode)
        return super().__new__(cls)

    def __init__(self, mode: str | Mode = Mode.REPORT, report: Callable[[Session], object] | None = None) -> None:
        if report is not None and not callable(report):
            raise TypeError(f"report must be a function that takes the session, not {report!r}")
        asked(mode)  # a wrong word is told here, not when the program is under way
        self.mode = mode
        self.report = report
        self._sessions: list[Session] = []

    def __enter__(self) -> Session:
        session = self._session()
        self._sessions.append(session)
        watching.open_session(session)
        return session

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> None:
        session = watching.innermost_of(self._sessions)
        self._sessions.remove(session)
        watching.close_session(session)
        self._tell(session, isinstance(error, OutOfBounds))

    def __call__(self, fn: F) -> F:
        """The function, checked at each call by a session of that call."""
        if inspect.isasyncgenfunction(fn):
            raise TypeError(
                f"redzone.checking cannot decorate {_named(fn)}, which is an async generator: "
                "write `with redzone.checking():` inside it"
            )
        if inspect.isclass(fn) or not callable(fn):
            raise TypeError(f"redzone.checking decorates functions, not {fn!r}; use `with redzone.checking():`")
        made: Any
        if inspect.iscoroutinefunction(fn):
            made = self._around_coroutine(fn)
        elif inspect.isgeneratorfunction(fn):
            made = self._around_generator(fn)
        else:
            made = self._around(fn)
        return functools.wraps(fn)(made)  # type: ignore[return-value]

    def _session(self) -> Session:
        return Session(asked(self.mode))

    def _tell(self, session: Session, raised: bool = False) -> None:
        if session.mode is Mode.OFF:
            return
        if self.report is not None:
            self.report(session)
        elif session.programs or session.errors:
            # An error on its way says itself what was found.
            print(_said(session, summary if raised else whole), file=sys.stderr)

    def _again(self) -> checking:
        return checking(self.mode, self.report)

    def _around(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return fn(*args, **kwargs)

        return checked

    def _around_coroutine(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        async def checked(*args: Any, **kwargs: Any) -> Any:
            with self._again():
                return await fn(*args, **kwargs)

        return checked

    def _around_generator(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        def checked(*args: Any, **kwargs: Any) -> Generator[Any, Any, Any]:
            session = self._session()
            watching.open_session(session)
            watching.exchange(session.parent)  # it is inside only while the generator works
            try:
                return (yield from _stepped(fn(*args, **kwargs), session))
            finally:
                watching.close_session(session)
                self._tell(session)

        return checked


def _stepped(generator: Generator[Any, Any, Any], session: Session) -> Generator[Any, Any, Any]:
    """The generator, with the session the innermost only while it works and not while it waits."""
    step: Callable[[], Any] = functools.partial(next, generator)
    inside: Session | None = session
    while True:
        outside = watching.exchange(inside)
        try:
            item = step()
        except StopIteration as done:
            return done.value
        finally:
            inside = watching.exchange(outside)
        try:
            step = functools.partial(generator.send, (yield item))
        except GeneratorExit:
            generator.close()
            raise
        except BaseException as error:
            step = functools.partial(generator.throw, error)


def _said(session: Session, words: Callable[[Session], str]) -> str:
    try:
        return words(session)
    except Exception as error:
        return f"redzone: what was found could not be shown: {type(error).__name__}: {error}"


def _named(fn: Any) -> str:
    return getattr(fn, "__qualname__", None) or repr(fn)
