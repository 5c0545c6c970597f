"""One program of a guarded function: traced, checked and planned, for one set of shapes and static arguments."""

from __future__ import annotations

import copy
import functools
import math
import threading
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from redzone.api import check_traced, first_use
from redzone.frontend.compat import closed_over, has_refs, is_wide
from redzone.frontend.trace import Traced, trace
from redzone.frontend.unwatched import unwatched
from redzone.report.model import Access, Report
from redzone.runtime.checks import InPlace
from redzone.runtime.look import Look
from redzone.runtime.plan import Plan, plan_for
from redzone.runtime.state import State, clean, first_of

#: The check goes first for this long, in seconds, or for this share of the time tracing took.
HEAD_START, SHARE = 0.02, 0.2
#: Inputs that no condition speaks of are not kept alive for a better message if they are larger than this, in bytes.
SMALL = 2**20


def _is_traced(leaf: Any) -> bool:
    return isinstance(leaf, jax.core.Tracer)


def _bytes(aval: Any) -> int:
    return int(math.prod(aval.shape)) * int(getattr(aval.dtype, "itemsize", 1))


class Prepared:
    """A traced program, whose check runs beside whatever comes next."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], name: str) -> None:
        first_use()
        self.out_tree: Any = None
        self.inner: Any = None
        self.outer: list[Any] = []
        """Values of an enclosing trace that the function closes over; they come before its own inputs."""
        self.traced: Traced = trace(fn, args, kwargs, name=name, is_input=_is_traced, make=self._jitted)
        self.gone: frozenset[int] = frozenset()
        """The inputs, by leaf, that cannot be looked at after the call."""
        self.signature: Any = None
        """The arguments it was made for."""
        self.places: tuple[int, ...] = ()
        """Where the function's own inputs stand among the leaves of a call, between what is static."""
        self.report: Report | None = None
        self.failure: BaseException | None = None
        self.beside: Look | None = None
        """The look at the inputs that goes with a program that is compiled."""
        self.exactly = False
        """Whether every condition is checked at its access."""
        self.missed: list[Access] = []
        """Accesses to be checked that lie where no state can be handed through."""
        self._plan: Plan | None = None
        self._done = threading.Event()

    def _jitted(self, flat: Callable[..., Any], abstract: list[Any], shown: str) -> Any:
        flat.__name__ = flat.__qualname__ = shown.rpartition(".")[2] or "function"
        self.inner = jax.jit(flat)
        traced = self.inner.trace(*abstract)
        self.out_tree = jax.tree_util.tree_structure(traced.out_info)
        self.outer = closed_over(traced)
        return traced.jaxpr

    # The check

    def start(self) -> bool:
        """Begin the check; whether it was over within its head start."""
        wide = is_wide()
        threading.Thread(target=self._check, args=(wide,), name="redzone", daemon=True).start()
        return self._done.wait(max(HEAD_START, SHARE * self.traced.seconds))

    def _check(self, wide: bool) -> None:
        try:
            with unwatched(), jax.enable_x64(wide), jax.disable_jit(False):
                self.report = check_traced(self.traced)
        except BaseException as error:
            self.failure = error
        finally:
            self._done.set()

    def finished(self) -> Report | None:
        """The report, waited for; None where the check itself failed."""
        self._done.wait()
        return self.report

    def looking_closer(self) -> Prepared:
        """The same program with every condition checked at its access."""
        twin = copy.copy(self)
        twin.exactly, twin._plan = True, None
        for name in ("small", "look"):
            twin.__dict__.pop(name, None)
        twin.beside = None
        return twin

    # The program

    def leaves_of(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
        """The function's own inputs in a call."""
        leaves = jax.tree_util.tree_leaves((args, kwargs))
        return [leaves[k] for k in self.places]

    @functools.cached_property
    def small(self) -> bool:
        """Whether all inputs can be kept for a moment: none that conditions do not speak of is large."""
        asked = {check.leaf for _, check in self.plan.entries}
        return all(leaf in asked or _bytes(source.aval) <= SMALL for leaf, source in enumerate(self.traced.inputs))

    @property
    def plan(self) -> Plan:
        """The checks the program needs at run time."""
        report = self.finished()
        if self._plan is None:
            self._plan = Plan() if report is None else self.planned(report, self.exactly, beside=True)
        return self._plan

    def planned(self, report: Report, exactly: bool, beside: bool = False) -> Plan:
        return plan_for(report, self.traced.inputs, lambda leaf: leaf not in self.gone, exactly, beside)

    @functools.cached_property
    def look(self) -> Look:
        """The program of the checks that are made beside this one."""
        return Look(self.plan.looked_beside(), [source.aval for source in self.traced.inputs])

    def call(self, leaves: Sequence[Any]) -> Any:
        """The plain program, put into the one being traced."""
        return self.inner(*leaves)

    def guarded(self, leaves: Sequence[Any], plan: Plan) -> tuple[Any, State]:
        """The program with its checks, put into the one being traced; no state where it makes none."""
        if not plan.in_program():
            return self.call(leaves), None
        own, leaves = leaves, [*self.outer, *leaves]
        state = plan.on_entry(leaves, clean())
        if not plan.accesses and not plan.promises:
            return self.call(own), state
        program = plan.instrumented()
        closed = self.traced.jaxpr
        numbers = [n for eqn in program.out_of_reach(closed) for n in program.inside_of(eqn)]
        self.missed = list(dict.fromkeys(c.access for n in numbers if isinstance(c := plan.checks[n - 1], InPlace)))
        if program.replaces_derivative(closed) and not has_refs(closed):
            return self._with_own_derivatives(program, leaves, state)
        flat, state = program.run(closed, leaves, state)
        return jax.tree_util.tree_unflatten(self.out_tree, flat), state

    def _with_own_derivatives(self, program: Any, leaves: Sequence[Any], state: State) -> tuple[Any, State]:
        """As `guarded`, for a program whose derivative its author wrote: it is that of the plain program."""
        closed = self.traced.jaxpr

        @jax.custom_jvp
        def checked(operands: Any) -> Any:
            flat, after = program.run(closed, operands, clean())
            return flat, after

        @checked.defjvp
        def derivative(primals: Any, tangents: Any) -> Any:
            (operands,), (moved,) = primals, tangents

            def plain(*values: Any) -> Any:
                return jax.tree_util.tree_leaves(self.inner(*values[len(self.outer) :]))

            results, slopes = jax.jvp(plain, tuple(operands), tuple(moved))
            _, after = program.run(closed, operands, clean())
            return (results, after), (slopes, np.zeros(after.shape, jax.dtypes.float0))

        flat, found = checked(list(leaves))
        return jax.tree_util.tree_unflatten(self.out_tree, flat), first_of(state, found)
