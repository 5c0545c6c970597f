"""A look at the inputs beside a program: the checks on entry that need not be part of it.

On the CPU the host itself looks, at arrays that lie in its memory. Elsewhere a small program does, compiled while
XLA compiles the large one and started right after it: nobody waits for it.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

import jax

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


def _yes() -> bool:
    return True
