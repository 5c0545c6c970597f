"""Two padded arrays put into one: `pad(a) + pad(b)` where no element of a meets one of b.

Each element of the result is made of one array's element and the other's padding, or of the two paddings. So it is
what the operation makes of those, and not of an element of each: with a padding of 0 the sum holds the elements of
both. `lax.associative_scan` puts every other element in place this way.
"""

from __future__ import annotations

import math
from typing import Any, Final, NamedTuple

import numpy as np

from redzone.domains import Fact, join, meet, summarised
from redzone.engine.program import Program, Step, made_by
from redzone.frontend.compat import primitives
from redzone.rules import RULES
from redzone.rules.shapes import summarised_along
from redzone.rules.table import SAME

_PAD: Final = primitives()["pad_p"]
_PADDED: Final = RULES[_PAD]


class Interleaved(NamedTuple):
    """The steps that pad the two operands of a step, and whether nothing is left between their elements."""

    first: Step
    second: Step
    whole: bool

    def closer(self, program: Program, env: list[Any], step: Step, plain: Fact) -> Fact:
        """What such a step yields, of which `plain` is what the rule says of the padded arrays."""
        assert step.rule is not None
        # What is kept apart along a dimension that neither pads has the same place in the result.
        padded = [
            d
            for d, both in enumerate(zip(_config(self.first.eqn), _config(self.second.eqn), strict=True))
            if both != ((0, 0, 0), (0, 0, 0))
        ]
        parts = [(summarised_along(env[a], padded), summarised(env[beside])) for a, beside in sides(self)]
        if not self.whole:
            parts.append((parts[1][1], parts[0][1]))
        result: Fact | None = None
        for a, b in parts:
            made: Fact = step.rule.apply(step.eqn, a, b)
            result = made if result is None else join(result, made)
        return plain if result is None else meet(plain, result) or plain


def interleaved(program: Program, step: Step) -> Interleaved | None:
    """How a step of two operands puts two padded arrays into one; None where it does not."""
    for slot in step.ins:
        made = program.defs.get(slot)
        if made is None or (made.rule is not _PADDED and made.rule is not SAME):
            return None
    if len(step.ins) != 2:
        return None
    first, second = made_by(program, step.ins[0]), made_by(program, step.ins[1])
    if first is None or first.eqn.primitive is not _PAD or second is None or second.eqn.primitive is not _PAD:
        return None
    shape = step.eqn.outvars[0].aval.shape
    if any(pad.eqn.outvars[0].aval.shape != shape or len(pad.ins) != 2 for pad in (first, second)):
        return None
    whole = [_beside(_places(first.eqn, d), _places(second.eqn, d), n) for d, n in enumerate(shape)]
    apart = [d for d, found in enumerate(whole) if found is not None]
    if not apart:
        return None
    d = apart[0]
    others = all(c == (0, 0, 0) for pad in (first, second) for k, c in enumerate(_config(pad.eqn)) if k != d)
    return Interleaved(first, second, bool(whole[d]) and others)


def sides(found: Interleaved) -> tuple[tuple[int, int], tuple[int, int]]:
    """The slots of the two arrays, each with that of the padding which its elements meet."""
    (a, around_a), (b, around_b) = found.first.ins, found.second.ins
    return (a, around_b), (b, around_a)


def _config(eqn: Any) -> list[tuple[Any, ...]]:
    known = (int, np.integer)
    return [tuple(int(n) if isinstance(n, known) else n for n in edges) for edges in eqn.params["padding_config"]]


def _places(eqn: Any, d: int) -> tuple[Any, Any, Any]:
    """Where the elements of a padded array go along a dimension: the first, how far apart, how many there are."""
    low, _, interior = _config(eqn)[d]
    return low, interior + 1, eqn.invars[0].aval.shape[d]


def _beside(a: tuple[Any, Any, Any], b: tuple[Any, Any, Any], size: Any) -> bool | None:
    """Whether the elements of two arrays fill a dimension between them; None where some may have the same place."""
    if any(type(n) is not int for n in (*a[:2], *b[:2])):
        return None
    sized = type(a[2]) is int and type(b[2]) is int and type(size) is int
    turned = (a[0] - b[0]) % math.gcd(a[1], b[1]) != 0
    if not turned and not (sized and (_end(a) <= b[0] or _end(b) <= a[0])):
        return None
    return sized and _inside(a, size) + _inside(b, size) == size


def _end(places: tuple[int, int, int]) -> int:
    first, stride, count = places
    return first + stride * (count - 1) + 1 if count else first


def _inside(places: tuple[int, int, int], size: int) -> int:
    """How many of some places lie within a dimension."""
    first, stride, count = places
    return len(range(max(0, -(first // stride)), min(count, -(-(size - first) // stride))))
