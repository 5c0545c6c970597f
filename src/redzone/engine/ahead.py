"""How many elements of an array are not above a number: `jnp.sum(t[:, None] >= ends, -1)`, a search by counting.

Each element counts once. So where the number is below the last element, at least that one does not count, and the count
is less than the array is long: `where(t < ends[-1], x[count], 0)` reads inside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from redzone.domains import dtype_info
from redzone.frontend.compat import primitives

if TYPE_CHECKING:
    from redzone.engine.program import Program, Step

_P: Final = primitives()
_SUM: Final = _P["reduce_sum_p"]
_CONVERT: Final = _P["convert_element_type_p"]
_SPREAD: Final = _P["broadcast_in_dim_p"]
#: By comparison of a number with the elements: whether those that are equal to it count.
_COUNTS: Final = {_P["ge_p"]: True, _P["gt_p"]: False}
#: The same where the elements come first.
_TURNED: Final = {_P["le_p"]: True, _P["lt_p"]: False}


class Count(NamedTuple):
    """A count of the elements that a number is not below."""

    out: int
    array: int
    query: int
    size: int
    right: bool
    """Whether elements equal to the number count."""


def counts(program: Program, simple: int) -> list[Count]:
    """All such counts of integers in a program; `simple` is the kind of a plain step."""
    sums = [s for s in program.steps if s.kind == simple and s.primitive is _SUM and len(s.ins) == 1]
    return [found for step in sums if (found := _count(program, step, simple)) is not None]


def _count(program: Program, step: Step, simple: int) -> Count | None:
    axes, aval = step.eqn.params["axes"], step.eqn.outvars[0].aval
    made = program.defs.get(step.ins[0])
    while made is not None and made.kind == simple and made.primitive is _CONVERT:
        made = program.defs.get(made.ins[0])
    if made is None or made.kind != simple or len(axes) != 1 or dtype_info(aval.dtype).kind not in "iu":
        return None
    shape, turned = made.eqn.outvars[0].aval.shape, made.primitive in _TURNED
    if (made.primitive not in _COUNTS and not turned) or shape != step.eqn.invars[0].aval.shape:
        return None
    axis = int(axes[0])
    size, first = shape[axis], 1 if turned else 0
    if dtype_info(made.eqn.invars[0].aval.dtype).kind not in "iu" or type(size) is not int or size < 1:
        return None
    if size > dtype_info(aval.dtype).max or not program.unknown.isdisjoint(made.ins):
        return None
    others = tuple([d for d in range(len(shape)) if d != axis])
    query = _spread_from(program, made, first, others, aval.shape, simple)
    array = _spread_from(program, made, 1 - first, (axis,), (size,), simple)
    if query is None or array is None:
        return None
    right = _TURNED[made.primitive] if turned else _COUNTS[made.primitive]
    return Count(step.outs[0], array, query, size, right)


def _spread_from(program: Program, step: Step, position: int, dims: Any, shape: Any, simple: int) -> int | None:
    """The slot of what an operand is along these dimensions, of this shape; None where it is anything else."""
    own = step.eqn.invars[position].aval.shape
    if own == shape and (not shape or len(step.eqn.outvars[0].aval.shape) == len(shape)):
        return step.ins[position]
    made = program.defs.get(step.ins[position])
    if made is None or made.kind != simple or made.primitive is not _SPREAD:
        return None
    if made.eqn.invars[0].aval.shape != shape or tuple(made.eqn.params["broadcast_dimensions"]) != dims:
        return None
    # Along the others it is the same number.
    return made.ins[0]
