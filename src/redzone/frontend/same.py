"""Whether two jaxprs are the same program, so that one need not be checked again."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np

from redzone.frontend.compat import ClosedJaxpr, Jaxpr, Literal, open_jaxpr

#: Constants with more elements than this are the same only when they are the same array.
_COMPARED = 4096


def same_program(one: Any, other: Any) -> bool:
    """Whether two jaxprs have the same equations on the same constants; False where that cannot be told."""
    return one is other or _Pair().closed(one, other)


class _Pair:
    """Two jaxprs walked side by side, with the variables of one standing for those of the other."""

    def __init__(self) -> None:
        self.twin: dict[Any, Any] = {}
        self.equal: set[tuple[int, int]] = set()
        """Sub-programs found equal, by identity: a shared one is walked once."""

    def closed(self, one: Any, other: Any) -> bool:
        if one is other or (id(one), id(other)) in self.equal:
            return True
        (a, a_consts), (b, b_consts) = open_jaxpr(one), open_jaxpr(other)
        same = len(a_consts) == len(b_consts) and all(map(_same_constant, a_consts, b_consts)) and self.opened(a, b)
        if same:
            self.equal.add((id(one), id(other)))
        return same

    def opened(self, a: Any, b: Any) -> bool:
        if len(a.eqns) != len(b.eqns) or len(a.outvars) != len(b.outvars):
            return False
        if not self.bound(a.constvars, b.constvars) or not self.bound(a.invars, b.invars):
            return False
        return all(map(self.equation, a.eqns, b.eqns)) and all(map(self.operand, a.outvars, b.outvars))

    def bound(self, ours: Any, theirs: Any) -> bool:
        """Whether the variables bound here are of the same kind; they stand for each other from here on."""
        if len(ours) != len(theirs):
            return False
        for v, w in zip(ours, theirs, strict=True):
            if v.aval != w.aval:
                return False
            self.twin[v] = w
        return True

    def operand(self, v: Any, w: Any) -> bool:
        if isinstance(v, Literal) and isinstance(w, Literal):
            return bool(v.aval == w.aval) and _same_constant(v.val, w.val)
        return not isinstance(v, Literal) and self.twin.get(v) is w

    def equation(self, one: Any, other: Any) -> bool:
        return (
            one.primitive is other.primitive
            and len(one.invars) == len(other.invars)
            and all(map(self.operand, one.invars, other.invars))
            and one.params.keys() == other.params.keys()
            and all(self.parameter(value, other.params[key]) for key, value in one.params.items())
            and self.bound(one.outvars, other.outvars)
        )

    def parameter(self, one: Any, other: Any) -> bool:
        if one is other:
            return True
        if isinstance(one, Jaxpr | ClosedJaxpr):
            return isinstance(other, Jaxpr | ClosedJaxpr) and self.closed(one, other)
        if type(one) is not type(other):
            return False
        if isinstance(one, tuple | list):
            return len(one) == len(other) and all(map(self.parameter, one, other))
        if isinstance(one, np.ndarray | jax.Array):
            return _same_constant(one, other)
        try:
            return bool(one == other)
        except Exception:
            return False


def _same_constant(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        if np.shape(one) != np.shape(other) or np.size(one) > _COMPARED:
            return False
        a, b = np.asarray(one), np.asarray(other)
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    except Exception:
        # Keys, arrays on other hosts, arrays given away: not worth more thought than a second check.
        return False
