"""The stages of `redzone.jit(fn).trace(...).lower().compile()`: JAX's own, with the state taken off the result."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


class _Stage:
    """A stage of JAX that answers everything it is not asked here for."""

    def __init__(self, guarded: Any, stage: Any) -> None:
        self._guarded = guarded
        self._stage = stage

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stage, name)

    @property
    def out_info(self) -> Any:
        """Shapes and dtypes of the function's own result."""
        return self._stage.out_info[0]

    def __repr__(self) -> str:
        return f"<guarded {self._stage!r}>"


class GuardedTraced(_Stage):
    """What `redzone.jit(fn).trace` returns."""

    def __init__(self, guarded: Any, stage: Any, plain: Callable[[], Any]) -> None:
        super().__init__(guarded, stage)
        self._plain = plain

    @property
    def jaxpr(self) -> Any:
        """The function's own jaxpr, without checks."""
        return self._plain().jaxpr

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """As `jax.stages.Traced.lower`."""
        if "_private_parameters" in kwargs:
            # jax.export asks like this; what it writes to a file has no one to tell of an error.
            self._guarded.tell_exported(self._stage)
            return self._plain().lower(*args, **kwargs)
        return GuardedLowered(self._guarded, self._stage.lower(*args, **kwargs))


class GuardedLowered(_Stage):
    """What `redzone.jit(fn).lower` returns."""

    def compile(self, *args: Any, **kwargs: Any) -> GuardedCompiled:
        """As `jax.stages.Lowered.compile`."""
        return GuardedCompiled(self._guarded, self._stage.compile(*args, **kwargs))


class GuardedCompiled(_Stage):
    """A compiled, guarded program."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        result, state = self._stage(*args, **kwargs)
        if state is not None:
            self._guarded._watch(state, args, kwargs)
        return result
