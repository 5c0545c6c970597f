"""Every program on its way to the compiler, wherever in the process it comes from.

All compiles of JAX pass one function. While somebody watches, it is wrapped: each watcher gets the program first and
may stop it by raising. What `unwatched()` encloses is passed on unseen.
"""

from __future__ import annotations

import dataclasses
import functools
import threading
from collections.abc import Callable
from typing import Any

import jax

from redzone.frontend import compat
from redzone.frontend.trace import Input, Traced
from redzone.frontend.unwatched import is_unwatched


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Program:
    """One program that is about to be compiled."""

    module: str
    """As JAX calls it: `jit(step)`."""
    jaxpr: Any
    origin: compat.Origin

    @property
    def name(self) -> str:
        """The function's own name, or JAX's where it has none."""
        return self.origin.function or self.module

    @property
    def is_operation(self) -> bool:
        """Whether it is a single operation that was called outside of jit."""
        return self.origin.is_operation

    @property
    def shapes(self) -> tuple[str, ...]:
        """Of each input, dtype and shape."""
        jaxpr, _ = compat.open_jaxpr(self.jaxpr)
        return tuple(str(v.aval) for v in jaxpr.invars)

    def traced(self) -> Traced:
        """The program as a check takes it: nothing is promised of its inputs, their names are JAX's."""
        jaxpr, _ = compat.open_jaxpr(self.jaxpr)
        inputs = []
        for i, v in enumerate(jaxpr.invars):
            name = self.origin.arguments[i] if i < len(self.origin.arguments) else ""
            name = name or f"args[{i}]"
            inputs.append(Input(name, v.aval, origin=f"{name}: argument of {self.name}"))
        return Traced(self.name, self.jaxpr, tuple(inputs), 0.0)


Watcher = Callable[[Program], None]

_lock = threading.Lock()
_watchers: tuple[Watcher, ...] = ()
_take_away: Callable[[], None] | None = None


def watch(watcher: Watcher) -> None:
    """Hand every program to `watcher` before it is lowered, from any thread, until `unwatch`.

    An exception of the watcher stops the compile and reaches the code that caused it. Raises `compat.JaxMoved` where
    this JAX compiles in another way; that is not tried before JAX has its devices, which a program may want to set up.
    """
    global _watchers, _take_away
    with _lock:
        if _take_away is None:
            _take_away = compat.wrap_lowering(_wrapped)
        _watchers = (*_watchers, watcher)
    try:
        confirm()
    except Exception:
        unwatch(watcher)
        raise


def confirm() -> None:
    """Raise `compat.JaxMoved` where programs do not come by while watched; nothing where that can't be told yet."""
    if _take_away is not None and compat.backend_is_up():
        _self_test()


def unwatch(watcher: Watcher) -> None:
    """No longer hand programs to `watcher`; one that does not watch is ignored."""
    global _watchers, _take_away
    with _lock:
        _watchers = tuple(w for w in _watchers if w is not watcher)
        if not _watchers and _take_away is not None:
            _take_away()
            _take_away = None


def _wrapped(lower: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(lower)
    def lower_watched(*args: Any, **kwargs: Any) -> Any:
        watchers = _watchers
        if watchers and not is_unwatched():
            module, jaxpr = compat.lowered(args, kwargs)
            program = Program(module, jaxpr, compat.origin_of(jaxpr))
            for watcher in watchers:
                watcher(program)
        return lower(*args, **kwargs)

    return lower_watched


class _Stopped(Exception):
    """The self-test has seen what it wanted."""


@functools.cache
def _self_test() -> None:
    """Lower one small function and see that it comes by, once in a process."""
    here = threading.get_ident()
    seen: list[Program] = []

    def look(program: Program) -> None:
        if threading.get_ident() == here:
            seen.append(program)
            raise _Stopped

    def redzone_self_test(x: Any) -> Any:
        return x + 1

    global _watchers
    with _lock:
        # The first in the row: what it stops, no other watcher sees.
        _watchers = (look, *_watchers)
    try:
        with jax.disable_jit(False):
            jax.jit(redzone_self_test).lower(jax.ShapeDtypeStruct((2,), "int32"))
    except _Stopped:
        pass
    finally:
        with _lock:
            _watchers = tuple(w for w in _watchers if w is not look)
    if not seen:
        raise compat.moved("a compiled function no longer passes mlir.lower_jaxpr_to_module")
    program = seen[0]
    if program.name != "redzone_self_test" or program.origin.arguments != ("x",) or program.is_operation:
        raise compat.moved(f"a compiled function no longer says its name and arguments: {program.origin}")
    if program.shapes != ("int32[2]",) or len(compat.open_jaxpr(program.jaxpr)[0].eqns) != 1:
        raise compat.moved("a compiled function no longer brings its jaxpr")
