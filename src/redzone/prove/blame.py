"""Where precision was lost: the equation after which an index could be anything."""

from __future__ import annotations

import ast
import linecache
import textwrap
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from redzone.domains import dtype_info, summarised
from redzone.engine import Seen
from redzone.engine.forward import Context
from redzone.engine.program import COND, SCAN, SIMPLE, WHILE, Step
from redzone.frontend.trace import Input
from redzone.prove.declared import expression, statement_at
from redzone.prove.need import Lost
from redzone.prove.sweep import relevant
from redzone.prove.ways import leaf_of, outside, place_of
from redzone.report.model import Access, DimBounds, Location, Loss

#: How many arguments are named.
NAMED: Final = 4
_GROWING: Final = {
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


def loss_of(access: Access, seen: list[Seen], lost: Lost | None, inputs: Sequence[Input]) -> Loss | None:
    """Which equation lost the index, which arguments it hangs on, and what promise would settle the access."""
    unmet = next((b for b in access.bounds if not _inside(b)), None)
    if unmet is None:
        return None
    step, _, end = _traced_back(seen)
    if step is None and lost is not None:
        step = lost.step
    place = _place(end[0], step) if step is not None and end is not None else None
    leaf = leaf_of(*end) if end is not None and step is None else None
    open_leaves = [i for i, source in enumerate(inputs) if _is_open(source)]
    leaves = [leaf] if leaf is not None else sorted(relevant(seen, open_leaves))
    return Loss(
        _shown(step) if step is not None else "",
        place or access.location,
        tuple(inputs[i].name for i in leaves[:NAMED] if _is_open(inputs[i])),
        _settling(access, unmet),
    )


def _place(context: Context | None, step: Step) -> Location | None:
    """The line of a step of this run or of one around it."""
    while context is not None:
        place = place_of(context, step)
        if place is not None:
            return place
        context = context.parent
    return None


def _is_open(source: Input) -> bool:
    """Whether a range could be promised of an input and is not."""
    return dtype_info(getattr(source.aval, "dtype", None)).kind in "iuf" and (source.open_above or source.open_below)


def _settling(access: Access, bounds: DimBounds) -> str:
    """The promise that would prove the access."""
    name = index_name(access.location, bounds.dim)
    least, most = bounds.min, bounds.max
    return f"redzone.assume({name or '…'}, min={least}, max={most})"


def index_name(location: Location, dim: int) -> str:
    """What the user calls the index of a dimension, in the expression that made the access or on a line with one."""
    found = _indexed(location)
    if not found:
        try:
            text = statement_at(location.file, location.line) if location.file else location.text
            tree = ast.parse(textwrap.dedent(text))
        except (SyntaxError, ValueError):
            return ""
        found = [node.slice for node in ast.walk(tree) if isinstance(node, ast.Subscript) and _is_computed(node.slice)]
    if len(found) != 1:
        return ""
    parts = found[0].elts if isinstance(found[0], ast.Tuple) else [found[0]]
    if dim >= len(parts) or any(isinstance(p, ast.Constant) and p.value in (None, ...) for p in parts[: dim + 1]):
        return ""
    return ast.unparse(parts[dim]) if _is_computed(parts[dim]) else ""


def _indexed(location: Location) -> list[ast.expr]:
    """The index of `x[i]` or `x.at[i].set(y)`, where that very expression is known."""
    if location.span is None or not location.file:
        return []
    node: Any = expression(linecache.getlines(location.file), location.span)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
    return [node.slice] if isinstance(node, ast.Subscript) and _is_computed(node.slice) else []


def _is_computed(node: ast.expr) -> bool:
    """Whether an index has a name in it."""
    return not isinstance(node, ast.Slice) and any(isinstance(n, ast.Name) for n in ast.walk(node))


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
    step, overflow, _ = _traced_back(seen)
    return step, overflow


def _traced_back(seen: list[Seen]) -> tuple[Step | None, bool, tuple[Context, int] | None]:
    """Follow the widest operand back to the first equation whose operands are tighter than its result.

    Returns that equation if there is one, whether it can overflow, and the value at which the way ends.
    """
    one = next((s for s in seen if not s.inside), None)
    if one is None:
        return None, False, None
    context = one.context
    slot = max(one.step.ins, key=lambda s: _width(context.env[s]), default=None)
    for _ in range(64):
        if slot is None:
            break
        step = context.program.defs.get(slot)
        if step is None:
            up = outside(context, slot)
            if up is None:
                return None, False, (context, slot)
            context, slot = up
            continue
        if step.kind != SIMPLE or not step.ins:
            return step, False, (context, slot)
        mine = _width(context.env[slot])
        widest = max(step.ins, key=lambda s: _width(context.env[s]))
        if _width(context.env[widest]) < mine:
            info = dtype_info(step.eqn.outvars[0].aval.dtype)
            fact = summarised(context.env[slot])
            full = info.integral and fact.lo == info.min and fact.hi == info.max
            return step, full and step.eqn.primitive.name in _GROWING, (context, slot)
        slot = widest
    return None, False, None


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
