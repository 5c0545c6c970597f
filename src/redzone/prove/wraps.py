"""Recognising jnp's wrap of negative indices, to warn where it defeats a sentinel."""

from __future__ import annotations

from typing import Final

from redzone.domains import summarised
from redzone.engine.forward import Context
from redzone.engine.program import SIMPLE
from redzone.prove.needs import is_wrap

_THROUGH: Final = {
    "broadcast_in_dim",
    "reshape",
    "squeeze",
    "convert_element_type",
    "concatenate",
    "copy",
    "jit",
    "pjit",
    "transpose",
}


def wraps_negatives(context: Context, slot: int, depth: int = 24) -> bool:
    """Whether an index is `i < 0 ? i + n : i` of an i that can be negative."""
    step = context.program.defs.get(slot)
    if step is None or step.kind != SIMPLE or depth == 0:
        return False
    name = step.eqn.primitive.name
    if name == "select_n" and len(step.ins) == 3:
        return is_wrap(context, step) and bool(summarised(context.env[step.ins[1]]).lo < 0)
    if name in _THROUGH:
        return any(wraps_negatives(context, s, depth - 1) for s in step.ins)
    return False
