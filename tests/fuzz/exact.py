"""An exact interpreter of jaxprs that shows every equation it runs, in every branch and iteration.

Frequent primitives are evaluated in NumPy, the rest by JAX's own eager evaluation; control flow is
interpreted here so that no equation of a nested jaxpr goes unseen.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import jax
import jax.numpy as jnp
import numpy as np

from redzone.engine.implementation import known_implementation
from redzone.frontend import compat
from tests.fuzz.arithmetic import ELEMENTWISE
from tests.fuzz.movement import MOVEMENT
from tests.fuzz.refs import REF_ACCESSES, Ref, ref_windows, run_ref
from tests.fuzz.windows import Windows, evaluate_access, is_access, windows_of

OFTEN = 4
"""Runs of one program that may be too long."""
BIGGEST = 4_000_000
"""Elements of an array; a program with a bigger one is not run."""


class TooLong(Exception):
    """The run passed its limit of equations; the program may not terminate on this input."""


class CannotRun(Exception):
    """JAX itself cannot evaluate an equation."""


class BrokenPromise(CannotRun):
    """The input breaks a `redzone.assume`: nothing is claimed about this run."""


class Observer(Protocol):
    """What is told of a run. `access` may replace the result of an access."""

    def visit(self, eqn: Any, outvals: Sequence[Any]) -> None: ...

    def access(self, eqn: Any, windows: Windows | None, outval: Any) -> Any: ...


class Silent:
    """Looks at nothing."""

    def visit(self, eqn: Any, outvals: Sequence[Any]) -> None:
        return None

    def access(self, eqn: Any, windows: Windows | None, outval: Any) -> Any:
        return outval


_CALLS = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "remat2": "jaxpr",
    "checkpoint": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "eval_jaxpr": "call_jaxpr",
    "call": "call_jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_vmap_call": "call",
    "composite": "jaxpr",
}


def is_extended(dtype: Any) -> bool:
    """PRNG keys and their like: kept as JAX arrays, since NumPy has no such dtype."""
    return not isinstance(dtype, np.dtype) and bool(jnp.issubdtype(dtype, jax.dtypes.extended))


def as_value(value: Any, aval: Any) -> Any:
    """A constant, literal or result as a NumPy array of its declared dtype."""
    if is_extended(aval.dtype):
        return value
    return np.asarray(value, dtype=aval.dtype)


class _Plan:
    """One jaxpr laid out for running: variables as slots, literals and constants already in place."""

    __slots__ = ("ins", "outs", "slots", "steps")

    def __init__(self, jaxpr: Any) -> None:
        opened, consts = compat.open_jaxpr(jaxpr)
        places: dict[Any, int] = {}
        self.slots: list[Any] = []

        def place(atom: Any) -> int:
            if isinstance(atom, compat.Literal):
                self.slots.append(as_value(atom.val, atom.aval))
                return len(self.slots) - 1
            if atom not in places:
                places[atom] = len(self.slots)
                self.slots.append(None)
            return places[atom]

        if consts:
            for var, const in zip(opened.constvars, consts, strict=True):
                self.slots[place(var)] = as_value(const, var.aval)
            self.ins = [place(v) for v in opened.invars]
        else:
            self.ins = [place(v) for v in (*opened.constvars, *opened.invars)]
        self.steps: list[tuple[Any, list[int], list[int], Evaluation | None]] = []
        for eqn in opened.eqns:
            if any(math.prod(getattr(v.aval, "shape", ())) > BIGGEST for v in eqn.outvars):
                raise TooLong
            inputs = [place(a) for a in eqn.invars]
            self.steps.append((eqn, inputs, [place(v) for v in eqn.outvars], _evaluation(eqn)))
        self.outs = [place(a) for a in opened.outvars]


class Interpreter:
    """Runs one program on many inputs; `limit` bounds the equations of a single run."""

    def __init__(self, closed: Any, limit: int = 4_000) -> None:
        self.closed = closed
        self.limit = limit
        self.too_long = 0
        """Runs that passed the limit; after `OFTEN` of them the program is not run again."""
        self._plans: dict[int, _Plan] = {}
        self._observer: Observer = Silent()
        self._assumes: bool | None = None
        self._left = 0

    def run(self, args: Sequence[Any], observer: Observer) -> list[Any]:
        """The program's outputs on `args`, everything on the way shown to `observer`."""
        if self.too_long >= OFTEN:
            raise TooLong
        opened, _ = compat.open_jaxpr(self.closed)
        self._observer = observer
        self._left = self.limit
        values = [as_value(a, v.aval) for a, v in zip(args, opened.invars, strict=True)]
        try:
            with np.errstate(all="ignore"):
                return self._jaxpr(self.closed, values)
        except TooLong:
            self.too_long += 1
            raise

    def breaks_a_promise(self, args: Sequence[Any]) -> bool | None:
        """Whether nothing is claimed about a run on these inputs; None where it does not end in time to tell."""
        if self._assumes is None:
            self._assumes = _has_assumptions(self.closed)
        try:
            if self._assumes:
                self.run(args, Silent())
        except BrokenPromise:
            return True
        except (TooLong, CannotRun):
            return None
        return False

    def _jaxpr(self, jaxpr: Any, args: Sequence[Any]) -> list[Any]:
        plan = self._plans.get(id(jaxpr))
        if plan is None:
            plan = self._plans[id(jaxpr)] = _Plan(jaxpr)
        slots = plan.slots.copy()
        for place, value in zip(plan.ins, args, strict=True):
            slots[place] = value
        visit = self._observer.visit
        self._left -= len(plan.steps)
        if self._left < 0:
            raise TooLong
        for eqn, inputs, outputs, evaluation in plan.steps:
            outvals: Sequence[Any]
            if evaluation is not None:
                outvals = evaluation(eqn, [slots[i] for i in inputs])
            else:
                outvals = self._equation(eqn, [slots[i] for i in inputs])
            visit(eqn, outvals)
            for place, value in zip(outputs, outvals, strict=True):
                slots[place] = value
        return [slots[i] for i in plan.outs]

    def _equation(self, eqn: Any, invals: list[Any]) -> Sequence[Any]:
        """An equation that runs other equations, or an access."""
        name = eqn.primitive.name
        control = _CONTROL.get(name)
        if control is not None:
            return control(self, eqn, invals)
        if name in _CALLS:
            return self._jaxpr(eqn.params[_CALLS[name]], invals)
        written = known_implementation(eqn)
        if written is not None:
            return self._jaxpr(written[0], [*written[1], *invals])
        if name in REF_ACCESSES:
            windows = ref_windows(name, eqn.params, invals)
            outvals = run_ref(name, eqn.params, invals)
            self._observer.access(eqn, windows, outvals[0] if outvals else None)
            return outvals
        windows = windows_of(name, eqn.params, invals)
        return [self._observer.access(eqn, windows, _accessed(eqn, windows, invals))]

    def _new_ref(self, eqn: Any, invals: list[Any]) -> Sequence[Any]:
        return [Ref(invals[0])]

    def _freeze(self, eqn: Any, invals: list[Any]) -> Sequence[Any]:
        return [np.array(invals[0].value)]

    def _run_state(self, eqn: Any, invals: list[Any]) -> Sequence[Any]:
        refs = [Ref(v) if made else v for v, made in zip(invals, eqn.params["is_initialized"], strict=True)]
        self._jaxpr(eqn.params["jaxpr"], refs)
        return [np.array(r.value) for r in refs]

    def _cond(self, eqn: Any, invals: list[Any]) -> Sequence[Any]:
        branches = eqn.params["branches"]
        which = min(max(int(invals[0]), 0), len(branches) - 1)
        return self._jaxpr(branches[which], invals[1:])

    def _while(self, eqn: Any, invals: list[Any]) -> Sequence[Any]:
        params = eqn.params
        n_cond, n_body = params["cond_nconsts"], params["body_nconsts"]
        cond_consts, body_consts = invals[:n_cond], invals[n_cond : n_cond + n_body]
        carry = list(invals[n_cond + n_body :])
        while True:
            (go,) = self._jaxpr(params["cond_jaxpr"], [*cond_consts, *carry])
            if not np.any(go):
                return carry
            after = self._jaxpr(params["body_jaxpr"], [*body_consts, *carry])
            carry = [_where_going(go, new, old) for new, old in zip(after, carry, strict=True)]

    def _scan(self, eqn: Any, invals: list[Any]) -> Sequence[Any]:
        params = eqn.params
        (n_consts, n_carry), length = compat.scan_counts(params), params["length"]
        consts, carry = invals[:n_consts], list(invals[n_consts : n_consts + n_carry])
        xs = invals[n_consts + n_carry :]
        order = range(length - 1, -1, -1) if params["reverse"] else range(length)
        rows: list[tuple[int, Sequence[Any]]] = []
        for i in order:
            out = self._jaxpr(params["jaxpr"], [*consts, *carry, *(x[i] for x in xs)])
            carry = list(out[:n_carry])
            rows.append((i, out[n_carry:]))
        rows.sort(key=lambda row: row[0])
        ys = [_stacked([r[k] for _, r in rows], v.aval) for k, v in enumerate(eqn.outvars[n_carry:])]
        return [*carry, *ys]


def _has_assumptions(jaxpr: Any) -> bool:
    return any(
        eqn.primitive.name == "assume" or any(_has_assumptions(j) for j in compat.inner_jaxprs(eqn.params))
        for eqn in compat.open_jaxpr(jaxpr)[0].eqns
    )


def _where_going(go: Any, new: Any, old: Any) -> Any:
    """A batched test: the loop runs while any lane goes on, and the finished ones keep their values."""
    if go.ndim == 0:
        return new
    lanes = go.reshape(go.shape + (1,) * (new.ndim - go.ndim))
    return jnp.where(lanes, new, old) if is_extended(new.dtype) else np.where(lanes, new, old)


def _stacked(rows: list[Any], aval: Any) -> Any:
    if is_extended(aval.dtype):
        return jnp.stack(rows)
    if not rows:
        return np.zeros(aval.shape, aval.dtype)
    return np.stack(rows)


_CONTROL: dict[str, Callable[[Interpreter, Any, list[Any]], Sequence[Any]]] = {
    "cond": Interpreter._cond,
    "while": Interpreter._while,
    "scan": Interpreter._scan,
    "new_ref": Interpreter._new_ref,
    "ref": Interpreter._new_ref,
    "freeze": Interpreter._freeze,
    "run_state": Interpreter._run_state,
}


Evaluation = Callable[[Any, list[Any]], list[Any]]


def _evaluation(eqn: Any) -> Evaluation | None:
    """How an equation is computed; None for one that is an access or runs other equations."""
    name = eqn.primitive.name
    if name in _CONTROL or name in _CALLS or name in REF_ACCESSES or is_access(name):
        return None
    if name == "assume":
        return _assumed
    if known_implementation(eqn) is not None:
        # A library's primitive is watched in the very equations that the check saw.
        return None
    if name == "dim_as_value":
        return _size
    rule = ELEMENTWISE.get(name) or MOVEMENT.get(name)
    if rule is None or not all(is_plain(v.aval) for v in (*eqn.invars, *eqn.outvars)):
        return by_jax
    params, dtypes = eqn.params, [v.aval.dtype for v in eqn.outvars]

    def by_numpy(eqn: Any, invals: list[Any]) -> list[Any]:
        try:
            out = rule(params, *invals)
        except NotImplementedError:
            return by_jax(eqn, invals)
        if type(out) is not list:
            return [out if out.dtype == dtypes[0] else np.asarray(out, dtypes[0])]
        return [o if o.dtype == d else np.asarray(o, d) for o, d in zip(out, dtypes, strict=True)]

    return by_numpy


def _size(eqn: Any, invals: list[Any]) -> list[Any]:
    """A dimension as a number, in a program that stands for one size (tests/fuzz/at_size.py)."""
    if type(eqn.params["dim"]) is not int:
        raise CannotRun("a symbolic size")
    return [as_value(eqn.params["dim"], eqn.outvars[0].aval)]


def _assumed(eqn: Any, invals: list[Any]) -> list[Any]:
    value, *conditions = invals
    low, high = (math.inf * s if b is None else b for s, b in ((-1, eqn.params["min"]), (1, eqn.params["max"])))
    outside = (value < low) | (value > high) | (eqn.params["finite"] and ~np.isfinite(value))
    if np.any(outside) or not all(np.all(c) for c in conditions):
        raise BrokenPromise(eqn.primitive.name)
    return [value]


def evaluate(eqn: Any, invals: list[Any]) -> list[Any]:
    """The results of one equation that holds no jaxpr to look into."""
    if not is_access(eqn.primitive.name):
        found = _evaluation(eqn)
        assert found is not None
        return found(eqn, invals)
    return [_accessed(eqn, windows_of(eqn.primitive.name, eqn.params, invals), invals)]


def _accessed(eqn: Any, windows: Windows | None, invals: list[Any]) -> Any:
    if windows is not None and all(is_plain(v.aval) for v in (*eqn.invars, *eqn.outvars)):
        try:
            out = evaluate_access(eqn.primitive.name, eqn.params, windows, invals)
            return np.asarray(out, eqn.outvars[0].aval.dtype)
        except NotImplementedError:
            pass
    return by_jax(eqn, invals)[0]


def has_numpy_rule(eqn: Any) -> bool:
    name = eqn.primitive.name
    return name in ELEMENTWISE or name in MOVEMENT or is_access(name)


def is_plain(aval: Any) -> bool:
    """A dtype that NumPy itself has; bfloat16 and the sub-byte ones are left to JAX."""
    return not is_extended(aval.dtype) and np.dtype(aval.dtype).kind in "biuf"


def by_jax(eqn: Any, invals: list[Any]) -> list[Any]:
    """The same equation, evaluated by JAX."""
    try:
        out = eqn.primitive.bind(*invals, **eqn.params)
    except Exception as error:  # an equation that can be traced and not run, such as custom_lin
        raise CannotRun(eqn.primitive.name) from error
    outs = list(out) if eqn.primitive.multiple_results else [out]
    return [as_value(o, v.aval) for o, v in zip(outs, eqn.outvars, strict=True)]
