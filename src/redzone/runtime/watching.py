"""Which open sessions a compile belongs to, and the check that happens then.

A compile belongs to the innermost session of its thread (or task) and those around it. A thread that was started
elsewhere and has none of its own works for whoever is waiting: its compiles belong to every open session. The
innermost session's mode decides: under `off` nothing is looked at, under `raise` an unsafe program is stopped.
"""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator, Sequence

from redzone import api
from redzone.engine import inventory_of
from redzone.frontend import compat, intercept
from redzone.frontend.intercept import Program
from redzone.frontend.unwatched import unwatched
from redzone.report.model import Report
from redzone.runtime.errors import OutOfBounds, unsafe_program
from redzone.runtime.mode import Mode
from redzone.runtime.session import Session, checked

#: Held while sessions open and close; a compile never asks for it.
_lock = threading.RLock()
_open: tuple[Session, ...] = ()
_current: contextvars.ContextVar[Session | None] = contextvars.ContextVar("redzone_session", default=None)

#: A program of up to this many equations is looked through for accesses before anything else is done about it.
_SMALL = 16

compat.hide_from_tracebacks(intercept.__file__)
compat.hide_from_tracebacks(__file__)


def open_session(session: Session) -> None:
    """Check what is compiled from now on; it becomes the innermost session here."""
    global _open
    session.parent = _innermost()
    _current.set(session)
    with _lock:
        session.watches = watches = session.mode is not Mode.OFF
        first = watches and not any(s.watches for s in _open)
        _open = (*_open, session)
        session.is_open = True
        if first:
            _reported(session, lambda: intercept.watch(_on_compile))


def close_session(session: Session) -> None:
    """Check no more for this session; closing it again does nothing."""
    global _open
    if _current.get() is session:
        _current.set(session.parent)
    with _lock:
        if not session.is_open:
            return
        if session.watches and not session.programs and not session.errors:
            _reported(session, intercept.confirm)
        session.is_open = False
        _open = tuple(s for s in _open if s is not session)
        if session.watches and not any(s.watches for s in _open):
            intercept.unwatch(_on_compile)


def _reported(session: Session, step: Callable[[], None]) -> None:
    """Do something that fails in a JAX which is not known; that is the session's to tell."""
    try:
        step()
    except Exception as error:
        session.failed("this JAX", error)


def exchange(innermost: Session | None) -> Session | None:
    """Make another session the innermost of this thread or task; returns which was."""
    before = _current.get()
    _current.set(innermost)
    return before


def innermost_of(sessions: Sequence[Session]) -> Session:
    """The one of these that is nearest here; the latest where none is open here."""
    session = _current.get()
    while session is not None:
        if session in sessions:
            return session
        session = session.parent
    return sessions[-1]


def _innermost() -> Session | None:
    session = _current.get()
    while session is not None and not session.is_open:
        session = session.parent
    return session


def _chain(session: Session | None) -> Iterator[Session]:
    while session is not None:
        if session.is_open and session.mode is not Mode.OFF:
            yield session
        session = session.parent


def _concerned() -> tuple[list[Session], bool]:
    """The sessions that a compile of this thread belongs to, and whether an unsafe program is to be stopped."""
    innermost = _innermost()
    if innermost is not None:
        deciding = [innermost]
    else:
        still_open = _open
        around = {id(s.parent) for s in still_open}
        deciding = [s for s in still_open if id(s) not in around]
    deciding = [s for s in deciding if s.mode is not Mode.OFF]
    sessions = list({id(s): s for inner in deciding for s in _chain(inner)}.values())
    return sessions, any(s.mode is Mode.RAISE for s in deciding)


def _on_compile(program: Program) -> None:
    sessions, stops = _concerned()
    if not sessions:
        return
    started = time.perf_counter()
    error: OutOfBounds | None = None
    try:
        if not _is_plain(program):
            error = _looked_into(program, sessions, stops)
    except Exception as failure:
        # Whatever is wrong in here, the user's program is not the one to suffer.
        for session in sessions:
            session.failed(program.name, failure)
    finally:
        seconds = time.perf_counter() - started
        for session in sessions:
            session.spent(seconds)
    if error is not None:
        raise error


def _is_plain(program: Program) -> bool:
    """Whether a small program needs no check: it has no access, or is one operation whose index is an argument."""
    jaxpr, _ = compat.open_jaxpr(program.jaxpr)
    if len(jaxpr.eqns) > _SMALL:
        return False
    sites = inventory_of(program.jaxpr).sites.values()
    if program.is_operation and len(jaxpr.eqns) == 1:
        return all(site.eqn is jaxpr.eqns[0] and not site.opaque for site in sites)
    return not sites


def _looked_into(program: Program, sessions: list[Session], stops: bool) -> OutOfBounds | None:
    """Check a program, or remember it; the error where it is to be stopped."""
    met = next(filter(None, (session.known(program) for session in sessions)), None)
    if met is None:
        met = checked(program, _report(program, sessions))
    for session in sessions:
        session.keep(met)
    return unsafe_program(met.report) if stops and met.report is not None else None


@unwatched()
def _report(program: Program, sessions: list[Session]) -> Report | None:
    """The report of a program; None where it has no access, or is an operation in which nothing was found."""
    with compat.plain_surroundings():
        api.first_use()
        report = api.check_traced(program.traced())
    if not report.accesses:
        return None
    for session in sessions:
        if session.prepare is not None:
            session.prepare(report)
    if report.ok and _is_jaxs_own(program, report):
        return None
    # Tracing was JAX's business here.
    report.timings = {stage: seconds for stage, seconds in report.timings.items() if stage != "trace"}
    return report


def _is_jaxs_own(program: Program, report: Report) -> bool:
    """Whether a program is an operation of JAX that was called outside of jit, with no function of the user's in it."""
    origin = program.origin
    if not compat.is_jaxs_own(origin.file):
        return False
    for access in report.accesses:
        for frame in compat.all_frames(access.eqn.source_info):
            if frame.file == origin.file and frame.function == origin.function:
                break
            if not compat.is_jaxs_own(frame.file):
                return False
    return True
