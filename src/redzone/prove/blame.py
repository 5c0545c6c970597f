"""Where precision was lost: the equation after which an index could be anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from redzone.domains import dtype_info, summarised
from redzone.engine import Seen
from redzone.engine.program import COND, SCAN, SIMPLE, WHILE, Step
from redzone.prove.needs import Lost
from redzone.report.model import Access

_GROWING = {
    "add",
    "sub",
    "mul",
    "neg",
    "cumsum",
    "reduce_sum",
    "shift_left",
    "dot_general",
    "integer_pow",
    "scatter-add",
    "abs",
}


def lost_at(access: Access, seen: list[Seen], lost: Lost | None) -> tuple[str, bool]:
    """A sentence naming the equation that lost the index, and whether an overflow did it."""
    outside = next((b for b in access.bounds if not _inside(b)), None)
    text = "the index could not be bounded"
    if outside:
        text = f"the index of dimension {outside.dim} can be {outside.lo} to {outside.hi}, "
        text += f"may be {outside.min} to {outside.max}"
    step, overflow = _culprit(seen)
    if step is None and lost is not None:
        step = lost.step
    if step is not None:
        text += f"; nothing tighter is known after {_shown(step)}"
        if overflow:
            text += ", whose result can wrap around its integer type"
    elif lost is not None and str(lost):
        text += f" ({lost})"
    return text, overflow


def _inside(bound: Any) -> bool:
    try:
        return bool(bound.inside)
    except Exception:
        return False


def _shown(step: Step) -> str:
    eqn = step.eqn
    out = eqn.outvars[0].aval if eqn.outvars else None
    kind = {COND: "a branch", SCAN: "a scan", WHILE: "a while loop"}.get(step.kind)
    return (
        f"{kind} ({eqn.primitive.name})"
        if kind
        else f"{eqn.primitive.name} → {getattr(out, 'str_short', lambda: out)()}"
    )


def _culprit(seen: list[Seen]) -> tuple[Step | None, bool]:
    """Follow the widest operand back to the first equation whose operands are tighter than its result."""
    one = next((s for s in seen if not s.inside), None)
    if one is None:
        return None, False
    context = one.context
    slot = max(one.step.ins, key=lambda s: _width(context.env[s]), default=None)
    for _ in range(64):
        if slot is None:
            return None, False
        step = context.program.defs.get(slot)
        if step is None:
            return None, False
        if step.kind != SIMPLE or not step.ins:
            return step, False
        mine = _width(context.env[slot])
        widest = max(step.ins, key=lambda s: _width(context.env[s]))
        if _width(context.env[widest]) < mine:
            info = dtype_info(step.eqn.outvars[0].aval.dtype)
            fact = summarised(context.env[slot])
            full = info.integral and fact.lo == info.min and fact.hi == info.max
            return step, full and step.eqn.primitive.name in _GROWING
        slot = widest
    return None, False


def _width(fact: Any) -> float:
    if fact is None:
        return 0.0
    fact = summarised(fact)
    try:
        width = float(fact.hi) - float(fact.lo)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    except Exception:
        return 0.0
    return 0.0 if np.isnan(width) else width
