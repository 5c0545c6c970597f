"""Small programs with the verdict of every access written on its line, safe and unsafe twins side by side.

    @case(f32(4), i32(min=0, max=3))
    def in_range(x, i):
        return x[i]  #: safe

The comment names the verdicts of all accesses on that line. `test_cases.py` holds each program against
it, and runs it on inputs within its contract to see that nothing contradicts what was found.
"""

from __future__ import annotations

import dataclasses
import inspect
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from tests.fuzz.generate import Argument


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """A program, its arguments with their contracts, and the verdicts expected on its lines."""

    function: Callable[..., Any]
    arguments: tuple[Argument, ...]
    runs: bool = True
    """Whether it can be run here: not what needs several devices."""
    requires: tuple[str, ...] | None = None
    """The conditions on its inputs as they are shown, where the case says them."""

    @property
    def name(self) -> str:
        module = self.function.__module__.rsplit(".", 1)[-1]
        return f"{module}.{self.function.__name__}"

    def expected(self) -> dict[int, frozenset[str]]:
        """The annotated lines of the source and the verdicts on each."""
        lines, first = inspect.getsourcelines(self.function)
        found = {}
        for offset, line in enumerate(lines):
            note = re.search(r"#: ([a-z ]+)$", line.rstrip())
            if note:
                found[first + offset] = frozenset(note.group(1).split())
        return found


CASES: list[Case] = []


def case(
    *arguments: Argument, runs: bool = True, requires: tuple[str, ...] | None = None
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append(Case(function, arguments, runs, requires))
        return function

    return register


def _maker(dtype: str) -> Callable[..., Argument]:
    def make(*shape: int, min: Any = None, max: Any = None) -> Argument:
        return Argument(shape, np.dtype(dtype), min, max)

    return make


i8, u8, i16, i32, u32 = (_maker(t) for t in ("int8", "uint8", "int16", "int32", "uint32"))
f32, flag = _maker("float32"), _maker("bool")
