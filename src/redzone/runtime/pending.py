"""States of calls whose checks nobody has read yet.

Reading a state waits for the device, so it is done one guarded call later, at `wait()` or at exit. A call is put on
the device first and then the one before it is read: the device always has work, the host is at most one call ahead.
"""

from __future__ import annotations

import atexit
import functools
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from redzone.runtime.errors import OutOfBounds

Raise = Callable[[int, int], OutOfBounds | None]
"""From what a state says to the error it means; None where it turns out to mean none."""


class _Thread(threading.local):
    """The calls of one thread that were not read."""

    def __init__(self) -> None:
        self.calls: deque[tuple[Any, Raise]] = deque()
        with _lock:
            _threads.append(self.calls)
        # A thread that ends leaves its calls to `wait` and to the exit.
        weakref.finalize(threading.current_thread(), _forget_if_empty, self.calls)


_lock = threading.Lock()
_threads: list[deque[tuple[Any, Raise]]] = []
_noted: list[OutOfBounds] = []


def _forget_if_empty(calls: deque[tuple[Any, Raise]]) -> None:
    with _lock:
        if not calls and any(calls is one for one in _threads):
            _threads[:] = [one for one in _threads if one is not calls]


_mine = _Thread()


@functools.cache
def is_on_host() -> bool:
    """Whether programs run where Python does, so that arrays need no copying to be read."""
    return jax.default_backend() == "cpu"


@functools.cache
def _has_host_memory() -> bool:
    """Whether programs can write into memory of the host's themselves."""
    return not is_on_host() and any(m.kind == "pinned_host" for m in jax.devices()[0].addressable_memories())


def handed_out(state: Any) -> Any:
    """A state as a program returns it: where that is possible in the host's memory, so that nobody has to fetch it."""
    return jax.device_put(state, jax.memory.Space.Host) if state is not None and _has_host_memory() else state


def taken_back(state: Any) -> Any:
    """A state that was handed out, for a program that goes on."""
    return jax.device_put(state, jax.memory.Space.Device) if _has_host_memory() else state


def is_synchronous() -> bool:
    """Whether `REDZONE_SYNC` asks for an error at the very call."""
    return os.environ.get("REDZONE_SYNC", "") not in ("", "0")


def watch(state: Any, meaning: Raise) -> None:
    """Note a call's state, then read the one before it in this thread; raises what that means.

    A state is the array that the program returned, something callable that makes one, or several of them.
    """
    if _noted:
        _raise_noted()
    calls = _mine.calls
    calls.append((state, meaning))
    if is_synchronous():
        _drain(calls, 0)
        return
    if not is_on_host() and not _has_host_memory():
        for one in state if isinstance(state, tuple) else (state,):
            if isinstance(one, jax.Array):
                one.copy_to_host_async()
    if len(calls) > 1:
        _drain(calls, 1)


def note(error: OutOfBounds) -> None:
    """An error found while a program of someone else's ran; raised at the next guarded call or `wait()`."""
    with _lock:
        _noted.append(error)


def _raise_noted() -> None:
    with _lock:
        found, _noted[:] = _noted[:1], []
    if found:
        raise found[0]


def wait() -> None:
    """Wait for every guarded call made so far, in all threads, and raise the first error among them."""
    # Callbacks of the programs that were started are over after this.
    jax.effects_barrier()
    _raise_noted()
    with _lock:
        threads = list(_threads)
    for calls in threads:
        _drain(calls, 0)


def _drain(calls: deque[tuple[Any, Raise]], keep: int) -> None:
    while len(calls) > keep:
        try:
            state, meaning = calls.popleft()
        except IndexError:  # another thread's wait() was faster
            return
        for one in state if isinstance(state, tuple) else (state,):
            if one is None:
                continue
            found = one() if callable(one) else np.asarray(one)
            if found[0] and (error := meaning(int(found[0]), int(found[1]))) is not None:
                # What was computed from a wrong access says nothing more.
                calls.clear()
                raise error


@atexit.register
def _at_exit() -> None:
    try:
        wait()
    except OutOfBounds as error:
        print(f"redzone: found at exit: {error}", file=sys.stderr)
