"""What a concrete run is held against: facts at every equation, verdicts at every access."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import ml_dtypes
import numpy as np

from redzone.domains import dtype_info
from tests.fuzz.containment import says_nothing, test_of, why_outside
from tests.fuzz.windows import FAR, Windows, per_window


@dataclasses.dataclass(frozen=True, slots=True)
class Failure:
    """One thing that redzone claimed and a run contradicted."""

    kind: str
    primitive: str
    detail: str
    eqn: Any = None

    def __str__(self) -> str:
        return f"{self.kind} at {self.primitive}: {self.detail}"


class Contradiction(Exception):
    """Stops a run at the first failure."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(str(failure))
        self.failure = failure


def _fail(kind: str, eqn: Any, detail: str) -> Contradiction:
    return Contradiction(Failure(kind, eqn.primitive.name, f"{detail}\n  {eqn}", eqn))


Telling = tuple[int, Any, Callable[[Any], Any]]
"""Which result, its fact, and whether a value is inside."""


class Facts:
    """What was found out about every equation, read once for all runs."""

    def __init__(self, facts: Mapping[int, Sequence[Any]]) -> None:
        self.facts = facts
        self.telling: dict[int, list[Telling]] = {}
        """By equation, the facts that some value of the dtype is outside of."""

    def read(self, eqn: Any) -> list[Telling]:
        facts = self.facts.get(id(eqn))
        if facts is None:
            raise _fail("unreached", eqn, "ran, but has no fact")
        if len(facts) != len(eqn.outvars):
            raise _fail("containment", eqn, f"{len(facts)} facts for {len(eqn.outvars)} results")
        pairs = enumerate(zip(facts, (v.aval for v in eqn.outvars), strict=True))
        found = [(k, fact, test_of(fact, aval)) for k, (fact, aval) in pairs if not says_nothing(fact, aval)]
        self.telling[id(eqn)] = found
        return found


class Watch:
    """Follows one run: containment in `facts`, and of each access in what its report entry says."""

    def __init__(self, facts: Facts | None, accesses: Mapping[int, Any]) -> None:
        self.facts = facts
        self.accesses = accesses
        self.left: set[int] = set()
        """Accesses that left their array in this run."""
        self.equations = 0
        self.lesser: Failure | None = None
        """Something wrong in the report that is no wrong verdict."""

    def visit(self, eqn: Any, outvals: Sequence[Any]) -> None:
        self.equations += 1
        if self.facts is None:
            return
        telling = self.facts.telling.get(id(eqn))
        if telling is None:
            telling = self.facts.read(eqn)
        for place, fact, contains in telling:
            if not contains(outvals[place]):
                raise _fail("containment", eqn, why_outside(fact, outvals[place]))

    def access(self, eqn: Any, windows: Windows | None, outval: Any) -> Any:
        entry = self.accesses.get(id(eqn))
        if entry is None:
            raise _fail("missing", eqn, "an access that ran is not in the report")
        if windows is None or windows.starts.size == 0:
            return outval
        inside = windows.inside
        if not inside.all():
            self.left.add(id(eqn))
            if entry.verdict == "safe":
                raise _fail("safe left its array", eqn, f"start {windows.starts[~inside][0]} of {windows.shape}")
        self._bounds(eqn, entry, windows)
        if self.lesser is None:
            self.lesser = _wrong_pattern(eqn, entry, windows)
        return outval

    def _bounds(self, eqn: Any, entry: Any, windows: Windows) -> None:
        for bound in entry.bounds:
            starts = windows.starts[..., bound.dim]
            low, high = int(starts.min()), int(starts.max())
            if low < min(bound.lo, FAR) or high > bound.hi:
                raise _fail("bounds", eqn, f"index [{low}, {high}] where the report says {bound}")


def _wrong_pattern(eqn: Any, entry: Any, windows: Windows) -> Failure | None:
    """Whether the report's memory pattern leaves out bytes that were touched."""
    pattern = entry.pattern
    if pattern.bytes is None or pattern.low is None or pattern.high is None:
        return None
    width, size = np.dtype(entry.dtype).itemsize, math.prod(windows.shape)
    if pattern.low <= 0 and pattern.high >= size * width - 1 and pattern.bytes >= size * width:
        return None  # all of the array
    offsets = windows.offsets()
    if offsets.size == 0:
        return None
    low, high = int(offsets.min()) * width, int(offsets.max()) * width + width - 1
    count = offsets.size * width
    if pattern.low <= low and high <= pattern.high and count <= pattern.bytes:
        return None
    detail = f"touches {count} bytes in [{low}, {high}], the report says {pattern}\n  {eqn}"
    return Failure("pattern", eqn.primitive.name, detail, eqn)


class Tamper:
    """Replaces what one access read from outside its array by garbage; nothing may depend on it if masked."""

    def __init__(self, target: int, garbage: float | Callable[[Any], Any] | None) -> None:
        self.target = target
        self.garbage = garbage
        """The number put there; None for the greatest finite one, or what makes it of all that was read."""

    def visit(self, eqn: Any, outvals: Sequence[Any]) -> None:
        return None

    def access(self, eqn: Any, windows: Windows | None, outval: Any) -> Any:
        if id(eqn) != self.target or windows is None:
            return outval
        outside = per_window(eqn.primitive.name, eqn.params, outval, ~windows.inside)
        number = _greatest(outval.dtype) if self.garbage is None else self.garbage
        if callable(number):
            number = number(outval)
        spoiled = np.asarray(number).astype(outval.dtype)
        return np.where(outside, spoiled, outval).astype(outval.dtype)


def _greatest(dtype: Any) -> Any:
    """The greatest finite number of a type; of those without, 1."""
    info = dtype_info(dtype)
    if info.integral:
        return info.max
    return ml_dtypes.finfo(dtype).max if info.kind == "f" else 1
