"""Numbers that a program compares its floats with: at them, or just beside them, is where it goes wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from redzone.domains import Fact, dtype_info
from redzone.frontend.compat import Literal, primitives
from redzone.frontend.trace import Input
from redzone.prove.need import beside
from redzone.prove.witness import is_free, plain_value

#: How many numbers are tried, each with its two neighbours.
NUMBERS = 4
EDGES = 3 * NUMBERS
#: Numbers as large as this stand for infinity.
FAR = 1e30
_COMPARISONS = frozenset(primitives()[f"{n}_p"] for n in ("lt", "le", "gt", "ge"))


def at_the_edges(jaxprs: Iterable[Any], inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Floats of which nothing is promised: what the program compares floats with, and the nearest other numbers."""
    free = [i for i, s in enumerate(inputs) if is_free(s) and dtype_info(getattr(s.aval, "dtype", None)).kind == "f"]
    for number in _compared(jaxprs) if free else ():
        for toward in (None, 0.0, 2 * number):
            yield {
                i: plain_value(inputs[i], facts[i], float(beside(number, toward, inputs[i].aval.dtype))) for i in free
            }


def _compared(jaxprs: Iterable[Any]) -> list[float]:
    """The first few numbers other than zero that are written beside a float in a comparison."""
    found: dict[float, None] = {}
    for eqn in (eqn for jaxpr in jaxprs for eqn in jaxpr.eqns if eqn.primitive in _COMPARISONS):
        for atom in eqn.invars:
            if type(atom) is Literal and dtype_info(atom.aval.dtype).kind == "f" and np.ndim(atom.val) == 0:
                number = float(atom.val)
                if number and abs(number) < FAR:
                    found[number] = None
        if len(found) >= NUMBERS:
            break
    return list(found)[:NUMBERS]
