"""Relations between two numbers: what one that holds says of each of them, and of the others between them."""

from __future__ import annotations

from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info, summarised
from redzone.domains.fact import FALSE, TRUE, is_small, strided
from redzone.domains.symbolic import at_most
from redzone.engine.program import COMPARISONS, SIMPLE, Program, Step


class Infeasible(Exception):
    """The assumed condition cannot hold."""


FLIPPED: Final = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}


NEGATED: Final = {"lt": "ge", "le": "gt", "gt": "le", "ge": "lt", "eq": "ne", "ne": "eq"}


#: What each relation between two integers says of the others between them.
SAYS: Final = {
    "lt": {"lt": 1, "le": 1, "gt": 0, "ge": 0, "eq": 0, "ne": 1},
    "le": {"le": 1, "gt": 0},
    "gt": {"gt": 1, "ge": 1, "lt": 0, "le": 0, "eq": 0, "ne": 1},
    "ge": {"ge": 1, "lt": 0},
    "eq": {"eq": 1, "ne": 0, "le": 1, "ge": 1, "lt": 0, "gt": 0},
    "ne": {"ne": 1, "eq": 0},
}


def implied(program: Program, step: Step, relation: str) -> list[tuple[int, int]]:
    """Other comparisons of the two integers that this one compares, and how they come out when it holds."""
    if not program.unknown.isdisjoint(step.ins):
        return []
    says = SAYS[relation]
    return [
        (out, says[kind]) for kind, out in program.compared().get(step.ins, ()) if out != step.outs[0] and kind in says
    ]


def comparisons(program: Program, ins: tuple[int, ...], relation: str, truth: int) -> dict[Step, Fact]:
    """All comparisons of two integers in a program, and how they come out when this relation of them does so."""
    says = SAYS[relation if truth else NEGATED[relation]]
    found = {}
    for step in program.steps:
        if step.kind == SIMPLE and step.primitive in COMPARISONS and sorted(step.ins) == sorted(ins):
            kind = step.primitive.name if step.ins == ins else FLIPPED[step.primitive.name]
            if kind in says and dtype_info(step.eqn.invars[0].aval.dtype).kind in "iu":
                found[step] = TRUE if says[kind] else FALSE
    return found


def is_met(relation: str, a: Fact, b: Fact) -> bool:
    """Whether every integer that a can be is in that relation to some that b can be: it says nothing new of a."""
    if type(a.lo) is not int or type(a.hi) is not int or type(b.lo) is not int or type(b.hi) is not int:
        return False
    if relation == "lt":
        return a.hi < b.hi
    if relation == "le":
        return a.hi <= b.hi
    if relation == "gt":
        return a.lo > b.lo
    return relation == "ge" and a.lo >= b.lo


def satisfying(relation: str, a: Fact, b: Fact) -> Fact | None:
    """What a can be when `a relation b` holds at every position considered."""
    kept = type(b.lo) is np.ndarray
    if kept and (not is_small(a) or (type(a.lo) is np.ndarray and a.lo.ndim != b.lo.ndim)):
        # Only numbers far inside int64 can be told apart from "no bound" below.
        b = summarised(b)
        kept = False
    far = 2**62
    if relation == "lt":
        return Fact(np.full_like(b.lo, -far) if kept else _lowest(a), b.hi - 1)
    if relation == "le":
        return Fact(np.full_like(b.lo, -far) if kept else _lowest(a), b.hi)
    if relation == "gt":
        return Fact(b.lo + 1, np.full_like(b.lo, far) if kept else _highest(a))
    if relation == "ge":
        return Fact(b.lo, np.full_like(b.lo, far) if kept else _highest(a))
    if relation == "eq":
        return Fact(b.lo, b.hi, b.step) if not kept else b
    if b.step == 0 and type(a.lo) is int and type(b.lo) is int:
        return excluding(a, b.lo)
    return None


def _lowest(a: Fact) -> Any:
    return summarised(a).lo


def _highest(a: Fact) -> Any:
    return summarised(a).hi


def excluding(a: Fact, value: int) -> Fact | None:
    """What a can be besides this number; None where that says nothing new."""
    stride = a.step if a.step > 1 else 1
    lo, hi = a.lo, a.hi
    if lo == value == hi:
        raise Infeasible
    if lo == value:
        # Where it hangs on a size whether anything is left, nothing is said.
        return strided(lo + stride, hi, stride, lo) if at_most(lo + stride, hi) is not None else None
    if hi == value:
        return strided(lo, hi - stride, stride, lo)
    return None


def spanning(lo: Any, hi: Any) -> Fact | None:
    """Something from lo to hi."""
    if type(lo) is int and type(hi) is int and lo > hi:
        raise Infeasible
    return Fact(lo, hi)
