"""redzone.jit: jax.jit whose programs are checked before they run, and guarded where that left something open."""

from __future__ import annotations

import functools
import inspect
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from redzone.frontend.compat import is_jit_disabled
from redzone.frontend.unwatched import unwatched
from redzone.report.model import Access, Report
from redzone.runtime import pending
from redzone.runtime.aot import GuardedTraced
from redzone.runtime.checks import Check, OnEntry
from redzone.runtime.errors import OutOfBounds, place_of, unsafe_program
from redzone.runtime.look import Look
from redzone.runtime.messages import error_of
from redzone.runtime.mode import Mode, asked, mode_named
from redzone.runtime.prepared import SMALL, Prepared
from redzone.runtime.state import first_of


class Unguarded(UserWarning):
    """Part of a guarded program can neither be proved nor be checked at run time."""


class _Slow(Exception):
    """The check of a new program outlasts its head start."""

    def __init__(self, prepared: Prepared) -> None:
        self.prepared = prepared


class _Thread(threading.local):
    inside = False
    """Whether a guarded function is being traced here: what it calls is checked with it."""
    resumed: Prepared | None = None
    """The program to put in, instead of tracing it again."""
    optimistic = False
    """Whether it is put in without its checks, which are not known yet."""


_here = _Thread()


class Guarded:
    """A function compiled by `redzone.jit`; called as the function itself."""

    def __init__(self, fn: Callable[..., Any], mode: Mode, options: dict[str, Any]) -> None:
        functools.update_wrapper(self, fn)
        self._fn = fn
        self._name = getattr(fn, "__qualname__", None) or type(fn).__name__
        self._mode = mode
        self._options = options
        self._programs: list[Prepared] = []
        self._exact: dict[Any, Prepared] = {}
        """By the arguments it is for: a program whose conditions were broken though every access stayed inside."""
        self._compiled = self._jit()
        self._plain: Any = jax.jit(fn, **options)

    def _jit(self) -> Any:
        """A new jax.jit of the guarded function: what it returns is (result, state or None)."""

        @functools.wraps(self._fn)
        def program(*args: Any, **kwargs: Any) -> Any:
            return self._program(args, kwargs)

        options = dict(self._options)
        if options.get("out_shardings") is not None:
            options["out_shardings"] = (options["out_shardings"], None)
        return jax.jit(program, **options)

    # Calls

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        try:
            result, state = self._compiled(*args, **kwargs)
        except _Slow as slow:
            result, state = self._overlapped(slow.prepared, args, kwargs)
        if state is not None:
            self._watch(state, args, kwargs)
        return result

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def _overlapped(self, prepared: Prepared, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The first call of a program whose check takes long: XLA compiles it meanwhile, hoping that it is safe."""
        leaves = jax.tree_util.tree_leaves((args, kwargs))
        compiled = self._compiled
        if not any(isinstance(leaf, jax.core.Tracer) for leaf in leaves):
            with _resuming(prepared, optimistic=True):
                compiled.lower(*args, **kwargs).compile()
        prepared.finished()
        raise_unsafe(prepared, self._mode, self._name)
        if prepared.plan:
            # The hope was wrong: what was compiled under it is not used.
            self._compiled = self._jit()
        with _resuming(prepared):
            return self._compiled(*args, **kwargs)

    def _program(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Runs while JAX traces: the program and its checks go into the trace."""
        if is_jit_disabled():
            return self._uncompiled(args, kwargs), None
        mode = asked(self._mode)
        if mode is Mode.OFF or _here.inside:
            return self._fn(*args, **kwargs), None
        prepared = _here.resumed or (self._exact.get(_signature(args, kwargs)) if self._exact else None)
        if prepared is None:
            with tracing():
                prepared = Prepared(self._fn, args, kwargs, self._name)
            outer = len(prepared.outer)
            prepared.gone = frozenset(leaf + outer for leaf in self._donated(args, kwargs))
            prepared.signature = _signature(args, kwargs)
            prepared.places = tuple(
                k for k, x in enumerate(jax.tree_util.tree_leaves((args, kwargs))) if isinstance(x, jax.core.Tracer)
            )
            self._programs.append(prepared)
            if not prepared.start():
                raise _Slow(prepared)
        leaves = [x for x in jax.tree_util.tree_leaves((args, kwargs)) if isinstance(x, jax.core.Tracer)]
        if _here.optimistic:
            return prepared.call(leaves), None
        raise_unsafe(prepared, self._mode, self._name)
        if not prepared.plan:
            return prepared.call(leaves), None
        try:
            if prepared.plan.beside:
                # Compiled from here on, beside what follows.
                prepared.beside = prepared.look
            result, state = prepared.guarded(leaves, prepared.plan)
        except Exception as error:
            # The function itself was traced before: whatever went wrong here is no fault of its author.
            _once(f"redzone could not guard {self._name}, which runs unguarded: {error!r}")
            return prepared.call(leaves), None
        tell_missed(prepared, self._name)
        return result, _Marked(pending.handed_out(state), self._programs.index(prepared))

    # States

    def _watch(self, marked: _Marked, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        prepared, state = self._programs[marked.number], marked.state
        if prepared.beside is not None:
            leaves = [*prepared.outer, *prepared.leaves_of(args, kwargs)]
            # What nearly every call comes to, in as few steps as possible.
            if not pending.is_on_host() or not prepared.beside.is_kept(leaves):
                state = self._looked(prepared, prepared.beside, state, leaves, args, kwargs)
        if isinstance(state, jax.core.Tracer):
            # Inside another transformation the state has no way out but a callback.
            jax.debug.callback(functools.partial(self._called_back, prepared), pending.taken_back(state))
        elif state is not None:
            pending.watch(state, functools.partial(self._meaning, prepared, _kept(prepared, args, kwargs)))

    def _looked(
        self,
        prepared: Prepared,
        look: Look,
        state: Any,
        leaves: list[Any],
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
    ) -> Any:
        """The state with that of a look at the inputs; where the host can look at once, it raises at once."""
        if any(isinstance(leaves[k], jax.core.Tracer) for k in look.asked):
            found = look.program(*(leaves[k] for k in look.asked))
            return found if state is None else first_of(pending.taken_back(state), pending.taken_back(found))
        if not pending.is_on_host():
            if look.is_compiling():
                # The first result is not kept waiting for it.
                return ((lambda: np.asarray(look.started(leaves))), state)
            return (look.started(leaves), state)
        if not look.is_ready(leaves):
            return ((lambda: (look.broken(leaves), 0)), state)
        number = look.broken(leaves)
        if number:
            error = self._meaning(prepared, _kept(prepared, args, kwargs), number, 0)
            if error is not None:
                raise error
        return state

    def _called_back(self, prepared: Prepared, state: Any) -> None:
        """A state from inside someone else's program, one or many rows of it."""
        rows = np.asarray(state).reshape(-1, 2)
        for code, value in rows[rows[:, 0] != 0][:1]:
            error = self._meaning(prepared, None, int(code), int(value))
            if error is not None:
                pending.note(error)

    def _meaning(self, prepared: Prepared, kept: _Kept | None, code: int, value: int) -> OutOfBounds | None:
        """The error that a state means; None where a condition was broken but every access stayed inside."""
        report = prepared.report
        assert report is not None
        leaves = kept.leaves() if kept is not None else None
        check = prepared.plan.checks[code - 1]
        seen: tuple[Check, int] | None = None
        if isinstance(check, OnEntry) and check.condition is not None and kept is not None:
            complete = kept.complete()
            if complete is not None and not all(a.rule == "RZ204" for a in check.accesses):
                try:
                    seen = self._confirmed(prepared, complete)
                except Exception:
                    # What cannot be run again, for want of memory say, is told by its condition alone.
                    seen = None
                else:
                    if seen is None:
                        return None
        error = error_of(report, check, value, leaves, seen)
        if asked(self._mode) is Mode.RAISE:
            return error
        print(f"redzone: {error}", file=sys.stderr)
        return None

    def _confirmed(self, prepared: Prepared, leaves: list[Any]) -> tuple[Check, int] | None:
        """Run a call again with every open access checked in place: did one really leave its array?"""
        report = prepared.report
        assert report is not None
        plan = prepared.planned(report, exactly=True)
        own = leaves[len(prepared.outer) :]
        with unwatched():
            state = jax.jit(lambda *values: prepared.guarded(values, plan)[1])(*own)
        code, value = (int(x) for x in np.asarray(state))
        if not code:
            self._look_closer(prepared)
            return None
        return plan.checks[code - 1], value

    def _look_closer(self, prepared: Prepared) -> None:
        """A condition is enough but not needed: from now on the accesses themselves are looked at."""
        if prepared.signature not in self._exact and not prepared.outer:
            twin = prepared.looking_closer()
            self._programs.append(twin)
            self._exact[prepared.signature] = twin
            self._compiled = self._jit()

    def _donated(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> frozenset[int]:
        """The leaves that are gone after the call."""
        nums, names = self._options.get("donate_argnums"), self._options.get("donate_argnames")
        if nums is None and names is None:
            return frozenset()
        try:
            known = [p.name for p in inspect.signature(self._fn).parameters.values()]
        except (TypeError, ValueError):
            known = []
        positions = {n % len(args) if n < 0 else n for n in _several(nums) if args}
        words = set(_several(names)) | {known[n] for n in positions if n < len(known)}
        positions |= {known.index(name) for name in words if name in known}
        gone, leaf = set(), 0  # counted without what the function closes over, which is never donated
        for path, value in jax.tree_util.tree_flatten_with_path((args, kwargs))[0]:
            if not isinstance(value, jax.core.Tracer):
                continue
            if (path[1].idx in positions) if path[0].idx == 0 else (path[1].key in words):
                gone.add(leaf)
            leaf += 1
        return frozenset(gone)

    def _uncompiled(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Under jax.disable_jit: the checks run in a program of their own, then the function as it stands."""
        if asked(self._mode) is not Mode.OFF and not _here.inside:
            keep = {k: v for k, v in self._options.items() if not k.startswith("donate")}
            with jax.disable_jit(False):
                twin = Guarded(self._fn, self._mode, keep)
                twin(*args, **kwargs)
                pending.wait()
        return self._fn(*args, **kwargs)

    # What else jax.jit offers

    def trace(self, *args: Any, **kwargs: Any) -> GuardedTraced:
        """Trace, check and plan for these arguments, as `jax.jit(fn).trace`."""
        plain = functools.cache(lambda: self._plain.trace(*args, **kwargs))
        return GuardedTraced(self, self._staged("trace", args, kwargs), plain)

    def tell_exported(self, traced: Any) -> None:
        """Tell that a program goes into a file without its checks, if it has any."""
        if traced.out_info[1] is not None:
            _once(f"{self._name} is exported without its checks; call it through redzone.jit where it is used")

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """As `jax.jit(fn).lower`; the compiled program is guarded."""
        return self.trace(*args, **kwargs).lower()

    def _staged(self, what: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        try:
            return getattr(self._compiled, what)(*args, **kwargs)
        except _Slow as slow:
            slow.prepared.finished()
            with _resuming(slow.prepared):
                return getattr(self._compiled, what)(*args, **kwargs)

    def eval_shape(self, *args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result."""
        return self._plain.eval_shape(*args, **kwargs)

    def clear_cache(self) -> None:
        """Forget every compiled program."""
        for compiled in (self._compiled, self._plain):
            compiled.clear_cache()

    @property
    def reports(self) -> tuple[Report, ...]:
        """The reports of the programs compiled so far, in that order."""
        return tuple(p.report for p in self._programs if p.report is not None)

    def __repr__(self) -> str:
        return f"<redzone.jit of {self._name}>"


def _signature(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What a program is made for: types of arrays, values of what is static."""
    leaves, tree = jax.tree_util.tree_flatten((args, kwargs))
    return tree, tuple(jax.typeof(x) if isinstance(x, jax.core.Tracer) else (type(x), x) for x in leaves)


class _Marked:
    """A state with the program it belongs to; the number is part of the type, so it costs nothing to return."""

    __slots__ = ("number", "state")

    def __init__(self, state: Any, number: int) -> None:
        self.state, self.number = state, number


jax.tree_util.register_pytree_node(_Marked, lambda m: ((m.state,), m.number), lambda number, xs: _Marked(xs[0], number))


class _Kept:
    """The inputs of a call, for a better message: those that conditions speak of, the others while they live."""

    __slots__ = ("inputs", "prepared", "small")

    def __init__(self, prepared: Prepared, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.prepared = prepared
        self.small: Any = None
        self.inputs: list[Callable[[], Any]] = []
        if prepared.small:
            self.small = args, kwargs
            return
        asked_of = {check.leaf for _, check in prepared.plan.entries}
        for leaf, value in enumerate(prepared.leaves_of(args, kwargs), len(prepared.outer)):
            if leaf in asked_of or getattr(value, "nbytes", 0) <= SMALL:
                self.inputs.append(functools.partial(_itself, value))
            else:
                self.inputs.append(weakref.ref(value))

    def leaves(self) -> list[Any]:
        """The inputs, None for each that is gone."""
        if self.small is not None:
            found = self.prepared.leaves_of(*self.small)
        else:
            found = [one() for one in self.inputs]
        return [None if _is_gone(x) else x for x in (*self.prepared.outer, *found)]

    def complete(self) -> list[Any] | None:
        """All inputs; None where some are gone."""
        found = self.leaves()
        return found if all(x is not None for x in found) else None


def _kept(prepared: Prepared, args: tuple[Any, ...], kwargs: dict[str, Any]) -> _Kept | None:
    return _Kept(prepared, args, kwargs) if prepared.plan.entries else None


def _is_gone(value: Any) -> bool:
    if isinstance(value, jax.core.Tracer):
        return True
    return value is None or (isinstance(value, jax.Array) and value.is_deleted())


def _itself(value: Any) -> Any:
    return value


def _several(given: Any) -> Sequence[Any]:
    return () if given is None else (given,) if isinstance(given, int | str) else tuple(given)


class tracing:
    """While a guarded function is traced, guarded functions it calls are plain ones."""

    def __enter__(self) -> None:
        self.before, _here.inside = _here.inside, True

    def __exit__(self, *_: Any) -> None:
        _here.inside = self.before


class _resuming:
    """While JAX traces, put in this program instead of tracing it again."""

    def __init__(self, prepared: Prepared, optimistic: bool = False) -> None:
        self.prepared, self.optimistic = prepared, optimistic

    def __enter__(self) -> None:
        self.before = _here.resumed, _here.optimistic
        _here.resumed, _here.optimistic = self.prepared, self.optimistic

    def __exit__(self, *_: Any) -> None:
        _here.resumed, _here.optimistic = self.before


def is_inside() -> bool:
    """Whether a guarded function is being traced around this."""
    return _here.inside


def raise_unsafe(prepared: Prepared, mode: Mode, name: str) -> None:
    """Wait for a program's check; raise if it is unsafe, tell what can be neither proved nor guarded."""
    report = prepared.finished()
    if report is None:
        if not isinstance(prepared.failure, Exception):
            raise prepared.failure or RuntimeError("the check ended without a report")
        _once(f"redzone could not check {name}, which runs unguarded: {prepared.failure!r}")
        return
    error = unsafe_program(report)
    if error is not None:
        if asked(mode) is Mode.RAISE:
            raise error
        print(f"redzone: {error}", file=sys.stderr)
    _tell_unguarded(prepared.plan.unguarded, name)


def tell_missed(prepared: Prepared, name: str) -> None:
    """Tell which accesses lie inside an operation that nobody can hand a state through."""
    _tell_unguarded(prepared.missed, name)


def _tell_unguarded(accesses: Sequence[Access], name: str) -> None:
    if accesses:
        places = ", ".join(dict.fromkeys(f"{a.primitive} at {place_of(a)}" for a in accesses))
        _once(f"{name}: neither proved nor checked at run time: {places}")


def _once(message: str) -> None:
    warnings.warn(message, Unguarded, stacklevel=2)


def jit(fn: Callable[..., Any] | None = None, /, *, mode: str = "raise", **options: Any) -> Any:
    """jax.jit with every array access checked; takes the same options, and `mode="raise"|"report"|"off"`.

    `unsafe` raises `OutOfBounds` before the program runs, conditions on inputs are checked on entry, what stayed
    unknown where it happens. An error of the device surfaces at the next guarded call, at `redzone.wait()` or at
    exit; with REDZONE_SYNC=1, at the call. The environment variable REDZONE wins over `mode`.
    """
    if fn is None:
        return functools.partial(jit, mode=mode, **options)
    if not callable(fn):
        raise TypeError(f"redzone.jit takes a function, not {type(fn).__name__}")
    return Guarded(fn, mode_named(mode, "redzone.jit(mode=)"), options)
