"""Small inputs one after the other, for indices that leave their arrays at a few numbers only.

`x[i * i % 65]` of 64 elements is outside at 8, 18, 47 and 57, and no end of anything points there; neither do numbers
far out, which most programs throw away. So numbers are counted through from 0, in an array side by side, and what
other inputs hold is drawn, no farther out than arrays are long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, summarised
from redzone.frontend.trace import Input
from redzone.prove.plain import is_free

#: How many inputs are tried, and what that may cost.
COUNTED: Final = 160
COST: Final = 6_000
#: The largest array that is filled each time, and the largest that is filled at all.
LARGE: Final = 1 << 12
LARGEST: Final = 1 << 17


def one_after_another(inputs: Sequence[Input], facts: Sequence[Fact], end: int) -> Iterator[dict[int, Any]]:
    """Inputs without a promise: integers counted through, floats and bools drawn; the same at every check."""
    kinds = [dtype_info(getattr(s.aval, "dtype", None)).kind for s in inputs]
    free = [i for i, s in enumerate(inputs) if kinds[i] in "iufb" and (is_free(s) or kinds[i] == "b")]
    free = [i for i in free if int(np.prod(inputs[i].aval.shape)) <= LARGEST]
    numbers = np.random.default_rng(1)
    large = [i for i in free if int(np.prod(inputs[i].aval.shape)) > LARGE]
    tables = {i: _filled(inputs[i], facts[i], kinds[i], numbers, 1, end) for i in large}
    for turn in range(COUNTED if len(large) < len(free) else 0):
        yield tables | {i: _filled(inputs[i], facts[i], kinds[i], numbers, turn, end) for i in free if i not in tables}


def _filled(source: Input, fact: Fact, kind: str, numbers: Any, turn: int, end: int) -> Any:
    shape = source.aval.shape
    if kind == "b":
        return numbers.integers(0, 2, shape).astype(bool)
    if kind == "f":
        # Around zero, and between it and one, of which most arrays of floats are.
        drawn = numbers.normal(size=shape) if turn % 2 else numbers.uniform(size=shape)
        return np.asarray(drawn).astype(source.aval.dtype)
    count = int(np.prod(shape))
    if not shape or turn % 4 == 0:
        whole = summarised(fact)
        counted = np.arange(turn * count, (turn + 1) * count)
        return np.clip(counted, whole.lo, whole.hi).astype(source.aval.dtype).reshape(shape)
    info = dtype_info(source.aval.dtype)
    # Bytes stand for anything: letters, kinds, levels.
    far = end * end if turn % 4 == 3 or info.bits <= 8 else end
    drawn = numbers.integers(0, min(far, info.max), shape, endpoint=True)
    return np.asarray(drawn).astype(source.aval.dtype)
