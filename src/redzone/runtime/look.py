"""A look at the inputs beside a program: the checks on entry that need not be part of it.

On the CPU the host itself looks, at arrays that lie in its memory. Elsewhere a small program does, compiled while
XLA compiles the large one and started right after it: nobody waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from redzone.frontend.unwatched import unwatched
from redzone.runtime import pending
from redzone.runtime.checks import OnEntry, breaks, look_at_input
from redzone.runtime.state import clean

Checks = Sequence[tuple[int, OnEntry]]


class Look:
    """The checks on entry of one program, by number."""

    def __init__(self, checks: Checks, avals: Sequence[Any]) -> None:
        self.checks = checks
        self.asked = sorted({check.leaf for _, check in checks})
        self.plain = _plain(checks, avals)
        self.program = jax.jit(self._look)
        self._compiling: threading.Thread | None = None
        if checks and not pending.is_on_host():
            types = [jax.ShapeDtypeStruct(avals[leaf].shape, avals[leaf].dtype) for leaf in self.asked]
            self._compiling = threading.Thread(target=self._compile, args=(types,), name="redzone", daemon=True)
            self._compiling.start()

    def _look(self, *inputs: Any) -> Any:
        state, by_leaf = clean(), dict(zip(self.asked, inputs, strict=True))
        for number, check in self.checks:
            state = look_at_input(check, by_leaf[check.leaf], number, state)
        return pending.handed_out(state)

    def _compile(self, types: Sequence[Any]) -> None:
        try:
            with unwatched():
                self.program.lower(*types).compile()
        except Exception:
            # The first call compiles it then, and says what is wrong.
            return

    def is_kept(self, leaves: Sequence[Any]) -> bool:
        """Whether every check holds, if the host sees that at once; False says nothing."""
        if self.plain is None:
            return False
        for leaf, low, high in self.plain:
            value = leaves[leaf]
            if not isinstance(value, jax.Array) or isinstance(value, jax.core.Tracer) or not value.is_ready():  # type: ignore[attr-defined]
                return False
            array = np.asarray(value)
            if array.size and (_least(array, axis=None) < low or _greatest(array, axis=None) > high):
                return False
        return True

    def is_compiling(self) -> bool:
        """Whether its program is not there yet."""
        return self._compiling is not None and self._compiling.is_alive()

    def started(self, leaves: Sequence[Any]) -> Any:
        """The state that a program on the device will have found."""
        if self._compiling is not None:
            self._compiling.join()
            self._compiling = None
        with unwatched():
            return self.program(*(leaves[k] for k in self.asked))

    def broken(self, leaves: Sequence[Any]) -> int:
        """The number of the first check that the host finds broken, 0 if none is."""
        return next((number for number, check in self.checks if breaks(check, leaves[check.leaf])), 0)

    def is_ready(self, leaves: Sequence[Any]) -> bool:
        """Whether the inputs are there, so that the host need not wait for them."""
        return all(getattr(leaves[k], "is_ready", _yes)() for k in self.asked)


_least, _greatest = np.minimum.reduce, np.maximum.reduce


def _plain(checks: Checks, avals: Sequence[Any]) -> list[tuple[int, int, int]] | None:
    """The checks as (input, least, greatest) where each is a range of all elements of an integer input."""
    found = []
    for _, check in checks:
        dtype = getattr(avals[check.leaf], "dtype", None)
        if not isinstance(dtype, np.dtype) or dtype.kind not in "iu" or check.place or check.finite:
            return None
        info = np.iinfo(dtype)
        low = info.min if check.low is None else check.low
        high = info.max if check.high is None else check.high
        if type(low) is not int or type(high) is not int:
            return None
        found.append((check.leaf, low, high))
    return found


def _yes() -> bool:
    return True
