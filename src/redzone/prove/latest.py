"""What was found out about the program that was asked about last."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any


class Latest:
    """Something kept for one program: made anew for another one, and gone as soon as the program is."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make
        self.program: Any = None
        """Refers to it, as long as somebody else knows it."""
        self.known: Any = None

    def of(self, closed: Any) -> Any:
        """What is kept for this program."""
        if self.program is None or self.program() is not closed:
            self.program, self.known = weakref.ref(closed, self.forget), self.make()
        return self.known

    def forget(self, program: Any) -> None:
        """Let go what was kept for a program that nobody knows any more, unless another one came since."""
        if program is self.program:
            self.program = self.known = None
