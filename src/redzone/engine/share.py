"""Shares of a whole: exponentials divided by their own sum, as softmax does, lie between 0 and 1, or are NaN.

Rounding is monotone, so a sum of numbers none of which is negative, added in any order, is at least each of them:
the quotient of one by the sum is at most 1. Where the sum is 0 or infinite the quotient is 0 or NaN. Only
exponentials count: they are no negative zero, and none is so small that it counts as zero in the sum but not in
the quotient. The numerator and what is summed must be the same array, and each sum must stand beside the
elements it was made from.
"""

from __future__ import annotations

from typing import Any

from redzone.domains import Fact, dtype_info
from redzone.engine.program import SIMPLE, Program, Step
from redzone.frontend.compat import primitives

_P = primitives()
_EXP, _SUM, _BROADCAST = _P["exp_p"], _P["reduce_sum_p"], _P["broadcast_in_dim_p"]

#: A division may be done by a product with a reciprocal, rounded once more.
SHARE = Fact(0.0, 1.001, 1, True)


def is_share(program: Program, step: Step) -> bool:
    """Whether a division's result is a share of the sum of its numerators."""
    eqn = step.eqn
    out = eqn.outvars[0].aval
    if len(step.ins) != 2 or dtype_info(out.dtype).kind != "f" or dtype_info(out.dtype).bits < 32:
        return False
    above, spread = (_maker(program, slot, v) for slot, v in zip(step.ins, eqn.invars, strict=True))
    if above is None or above.eqn.primitive is not _EXP or eqn.invars[0].aval.shape != out.shape:
        return False
    if spread is None or spread.eqn.primitive is not _BROADCAST:
        return False
    total = _maker(program, spread.ins[0], spread.eqn.invars[0])
    if total is None or total.eqn.primitive is not _SUM or total.eqn.invars[0] is not eqn.invars[0]:
        return False
    rest = tuple(d for d in range(len(out.shape)) if d not in total.eqn.params["axes"])
    sizes = [n if d in rest else 1 for d, n in enumerate(out.shape)]
    shape = spread.eqn.params["shape"]
    beside = all(m in (n, full) for m, n, full in zip(shape, sizes, out.shape, strict=False))
    return tuple(spread.eqn.params["broadcast_dimensions"]) == rest and len(shape) == len(out.shape) and beside


def _maker(program: Program, slot: int, variable: Any) -> Step | None:
    """The step that makes a value, if its equation is the one that defines this variable."""
    step = program.defs.get(slot)
    if step is None or step.kind != SIMPLE or not any(v is variable for v in step.eqn.outvars):
        return None
    return step
