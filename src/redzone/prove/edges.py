"""Numbers that a program compares its inputs with: at them, or just beside them, is where it goes wrong."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info
from redzone.frontend.compat import Literal, primitives
from redzone.frontend.trace import Input
from redzone.prove.need import beside
from redzone.prove.plain import is_free, plain_value

#: How many numbers are tried, each with its two neighbours.
NUMBERS: Final = 4
EDGES: Final = 8 * NUMBERS
#: Numbers as large as this stand for infinity.
FAR: Final = 1e30
_ORDERS: Final = frozenset(primitives()[f"{n}_p"] for n in ("lt", "le", "gt", "ge"))
_EQUALS: Final = frozenset(primitives()[f"{n}_p"] for n in ("eq", "ne"))


def at_the_edges(jaxprs: Iterable[Any], inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Floats of which nothing is promised: what the program compares floats with, and the nearest other numbers."""
    free = [i for i, s in enumerate(inputs) if is_free(s) and dtype_info(getattr(s.aval, "dtype", None)).kind == "f"]
    for number in _compared(jaxprs, _ORDERS, "f") if free else ():
        for toward in (None, 0.0, 2 * number) if number else ():
            yield {
                i: plain_value(inputs[i], facts[i], float(beside(number, toward, inputs[i].aval.dtype))) for i in free
            }


def at_one_place(jaxprs: Iterable[Any], inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Arrays of integers that hold nothing but what the program looks for, or that in every other place; and of which
    the last element, or the first, is the only one that it does, or the only one that it does not."""
    arrays = [i for i, s in enumerate(inputs) if s.aval.shape and dtype_info(s.aval.dtype).kind in "iu"]
    numbers = _compared(jaxprs, _EQUALS, "iu") if arrays else []
    for place in (slice(None), slice(None, None, 2), slice(-1, None), slice(-1), slice(1), slice(1, None)):
        for number in numbers:
            yield {i: _marked(inputs[i], facts[i], number, place) for i in arrays}


def at_numbers(jaxprs: Iterable[Any], inputs: Sequence[Input], facts: Sequence[Fact]) -> Iterator[dict[int, Any]]:
    """Inputs of a kind all at a number that the program compares with, or beyond it, where that may be."""
    kept = list(jaxprs)
    for kinds in ("iu", "f"):
        alike = [i for i, s in enumerate(inputs) if dtype_info(getattr(s.aval, "dtype", None)).kind in kinds]
        for number in _compared(kept, _ORDERS | _EQUALS, kinds) if alike else ():
            for chosen in (number, number + 1):
                yield {i: plain_value(inputs[i], facts[i], chosen) for i in alike}


def _marked(source: Input, fact: Fact, number: int, place: slice) -> Any:
    """An array with a number at some places of its last dimension, and one that is not it at the others."""
    other = number + 1 if fact.contains(number + 1) else number - 1
    values = np.array(plain_value(source, fact, other))
    values[..., place] = plain_value(source, fact, number)[..., place]
    return values


def _compared(jaxprs: Iterable[Any], comparisons: frozenset[Any], kinds: str) -> list[Any]:
    """The first few numbers that are written beside another one, of these kinds, in a comparison."""
    found: dict[Any, None] = {}
    for eqn in (eqn for jaxpr in jaxprs for eqn in jaxpr.eqns if eqn.primitive in comparisons):
        for atom in eqn.invars:
            if type(atom) is Literal and dtype_info(atom.aval.dtype).kind in kinds and np.ndim(atom.val) == 0:
                number = float(atom.val) if kinds == "f" else int(atom.val)
                if abs(number) < FAR:
                    found[number] = None
        if len(found) >= NUMBERS:
            break
    return list(found)[:NUMBERS]
