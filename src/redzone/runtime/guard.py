"""redzone.guard: the checks of a function, for a program that is compiled elsewhere."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from redzone.frontend.compat import is_tracing
from redzone.runtime import pending
from redzone.runtime.errors import OutOfBounds
from redzone.runtime.jit import Guarded, is_inside, raise_unsafe, tell_missed, tracing
from redzone.runtime.messages import error_of
from redzone.runtime.mode import Mode, asked, mode_named
from redzone.runtime.plan import Plan
from redzone.runtime.prepared import Prepared


class Error:
    """What the checks of a guarded function found: a pytree, so that it can be returned from a compiled function."""

    __slots__ = ("_plan", "_prepared", "_state")

    def __init__(self, state: Any, prepared: Prepared | None, plan: Plan | None) -> None:
        self._state = state
        self._prepared = prepared
        self._plan = plan

    def exception(self) -> OutOfBounds | None:
        """The first error, None if all checks held; waits for the device."""
        if self._state is None or self._prepared is None or self._plan is None:
            return None
        if isinstance(self._state, jax.core.Tracer):
            raise TypeError("the error is not known while a program is traced; return it and look at it outside")
        rows = np.asarray(self._state).reshape(-1, 2)
        failed = rows[rows[:, 0] != 0]
        if not len(failed):
            return None
        code, value = (int(x) for x in failed[0])
        assert self._prepared.report is not None
        return error_of(self._prepared.report, self._plan.checks[code - 1], value, None)

    def get(self) -> str | None:
        """The message of the first error, None if all checks held; waits for the device."""
        found = self.exception()
        return None if found is None else str(found)

    def throw(self) -> None:
        """Raise the first error, if there is one; waits for the device."""
        found = self.exception()
        if found is not None:
            raise found

    def __repr__(self) -> str:
        if isinstance(self._state, jax.core.Tracer):
            return f"redzone.Error({self._state})"
        return f"redzone.Error({self.get()})"


jax.tree_util.register_pytree_node(
    Error, lambda e: ((e._state,), (e._prepared, e._plan)), lambda aux, children: Error(children[0], *aux)
)


def guard(fn: Callable[..., Any], /, *, mode: str = "raise") -> Callable[..., Any]:
    """A function with its checks, for code that is jitted elsewhere.

    Called while JAX traces it returns `(error, result)`: return the error from the compiled function and call
    `error.throw()` outside. Called with arrays it compiles, runs, waits, and returns the result or raises
    `OutOfBounds`. An access that is `unsafe` whatever happens raises in both cases before anything runs.
    """
    if not callable(fn):
        raise TypeError(f"redzone.guard takes a function, not {type(fn).__name__}")
    wanted = mode_named(mode, "redzone.guard(mode=)")
    name = getattr(fn, "__qualname__", None) or type(fn).__name__
    outside: list[Guarded] = []

    @functools.wraps(fn)
    def guarded(*args: Any, **kwargs: Any) -> Any:
        if not is_tracing():
            if not outside:
                outside.append(Guarded(fn, wanted, {}))
            result = outside[0](*args, **kwargs)
            pending.wait()
            return result
        if asked(wanted) is Mode.OFF or is_inside():
            # A function that encloses this one is checked with all it calls.
            return Error(None, None, None), fn(*args, **kwargs)
        with tracing():
            prepared = Prepared(fn, args, kwargs, name)
        prepared.start()
        raise_unsafe(prepared, wanted, name)
        leaves = [x for x in jax.tree_util.tree_leaves((args, kwargs)) if isinstance(x, jax.core.Tracer)]
        report = prepared.finished()
        # Nobody can run the call again in there, so conditions that are enough but not needed would raise for nothing.
        plan = Plan() if report is None else prepared.planned(report, exactly=True)
        if not plan:
            return Error(None, None, None), prepared.call(leaves)
        result, state = prepared.guarded(leaves, plan)
        tell_missed(prepared, name)
        return Error(state, prepared, plan), result

    return guarded
