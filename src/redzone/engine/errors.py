"""Branches that end in an error: a callback that always raises gives no result to go on with.

A run-time check such as `error_if` is a branch to a callback that raises. What the branch would return
does not exist: nothing that is computed from it runs, so only the other branches say what the result is.
A Python function that never returns is told by its code, in which no instruction returns.
"""

from __future__ import annotations

import dis
import types
from typing import Any, Final

from redzone.frontend.compat import Literal, primitives

#: A branch longer than this is not looked into.
LONGEST: Final = 16

_CALLBACKS: Final = tuple(primitives()[n] for n in ("pure_callback_p", "io_callback_p") if n in primitives())
_SUSPENDED: Final = 0x20 | 0x80 | 0x200
"""Flags of generators and coroutines, which return before they run."""


def results_of_errors(jaxpr: Any) -> frozenset[int]:
    """Which results of a branch are made from what a callback that always raises would have returned."""
    eqns = jaxpr.eqns
    if not eqns or len(eqns) > LONGEST or not any(e.primitive in _CALLBACKS for e in eqns):
        return frozenset()
    absent: set[Any] = set()
    for eqn in eqns:
        if eqn.primitive in _CALLBACKS and (
            _never_returns(eqn) or any(a in absent for a in eqn.invars if type(a) is not Literal)
        ):
            absent.update(eqn.outvars)
    return frozenset(i for i, v in enumerate(jaxpr.outvars) if type(v) is not Literal and v in absent)


def _never_returns(eqn: Any) -> bool:
    callback = eqn.params.get("callback")
    function = getattr(callback, "callback_func", callback)
    if type(function) is not types.FunctionType or function.__code__.co_flags & _SUSPENDED:
        return False
    return not any("RETURN" in i.opname or "YIELD" in i.opname for i in dis.get_instructions(function))
