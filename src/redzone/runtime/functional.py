"""A program with checks in it: the same equations, and a state that every loop, branch and call hands on.

Only what holds a check is taken apart; every other equation is bound as it stands, so a guarded program computes
what the plain one does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
from jax import lax
from jax import numpy as jnp

from redzone.access.site import Column
from redzone.engine.implementation import expansion, known_implementation
from redzone.frontend.compat import (
    Literal,
    brought_here,
    call_with_shardings,
    inner_jaxprs,
    open_jaxpr,
    primitives,
    rebind,
    scan_counts,
    settings_of,
    sharded,
)
from redzone.runtime.checks import look_at_access, look_at_promise
from redzone.runtime.state import State, clean, merged

_P = primitives()

#: The jaxpr that a primitive runs on its operands, by the parameter that holds it.
_CALLED = {
    _P[name]: key
    for name, key in {
        "closed_call_p": "call_jaxpr",
        "core_call_p": "call_jaxpr",
        "call_p": "call_jaxpr",
        "eval_jaxpr_p": "call_jaxpr",
        "custom_jvp_call_p": "call_jaxpr",
        "custom_vjp_call_p": "call_jaxpr",
        "custom_vjp_call_jaxpr_p": "fun_jaxpr",
        "custom_vmap_call_p": "call",
        "composite_p": "jaxpr",
    }.items()
    if name in _P
}
_DERIVED = {_P[n] for n in ("custom_jvp_call_p", "custom_vjp_call_p", "custom_vjp_call_jaxpr_p") if n in _P}

Result = tuple[list[Any], State]


class Instrumented:
    """Evaluates a jaxpr with checks at some of its equations.

    `accesses` maps the identity of an access's equation to its columns with their checks' numbers, `promises` that
    of an assumption to its check's number.
    """

    def __init__(self, accesses: Mapping[int, Sequence[tuple[int, Column]]], promises: Mapping[int, int]) -> None:
        self.accesses = accesses
        self.promises = promises
        self.holding: dict[int, bool] = {}

    def holds(self, jaxpr: Any) -> bool:
        """Whether a check is to be made somewhere in a jaxpr."""
        jaxpr = open_jaxpr(jaxpr)[0]
        known = self.holding.get(id(jaxpr))
        if known is None:
            known = self.holding[id(jaxpr)] = any(self.concerns(eqn) for eqn in jaxpr.eqns)
        return known

    def concerns(self, eqn: Any) -> bool:
        """Whether a check is to be made at an equation or inside it."""
        return id(eqn) in self.accesses or id(eqn) in self.promises or self.inside(eqn)

    def inside(self, eqn: Any) -> bool:
        return any(self.holds(inner) for inner in _bodies(eqn))

    def out_of_reach(self, jaxpr: Any) -> list[Any]:
        """The equations with checks inside that nobody can hand a state through."""
        found = []
        for eqn in open_jaxpr(jaxpr)[0].eqns:
            if self.inside(eqn):
                if eqn.primitive in _ENTERED or eqn.primitive in _CALLED or _written(eqn) is not None:
                    found += [one for inner in _bodies(eqn) for one in self.out_of_reach(inner)]
                else:
                    found.append(eqn)
        return found

    def inside_of(self, eqn: Any) -> list[int]:
        """The numbers of the checks inside an equation."""
        return [
            number
            for inner in _bodies(eqn)
            for one in open_jaxpr(inner)[0].eqns
            for number in (*(n for n, _ in self.accesses.get(id(one), ())), *self.inside_of(one))
        ]

    def replaces_derivative(self, jaxpr: Any) -> bool:
        """Whether a function with a derivative of its own has to be taken apart."""
        jaxpr = open_jaxpr(jaxpr)[0]
        return any(
            self.inside(eqn)
            and (eqn.primitive in _DERIVED or any(self.replaces_derivative(i) for i in inner_jaxprs(eqn.params)))
            for eqn in jaxpr.eqns
        )

    def run(self, jaxpr: Any, operands: Sequence[Any], state: State) -> Result:
        """The results of a closed jaxpr and the state after it."""
        inner, consts = open_jaxpr(jaxpr)
        return self.run_open(inner, consts, operands, state)

    def run_open(self, jaxpr: Any, consts: Sequence[Any], operands: Sequence[Any], state: State) -> Result:
        env: dict[Any, Any] = {}
        env.update(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, operands, strict=True))
        last = _last_uses(jaxpr)
        for k, eqn in enumerate(jaxpr.eqns):
            values = [v.val if isinstance(v, Literal) else env[v] for v in eqn.invars]
            results, state = self.step(eqn, values, state)
            env.update(zip(eqn.outvars, results, strict=True))
            for v in last.get(k, ()):
                env.pop(v, None)
        return [v.val if isinstance(v, Literal) else env[v] for v in jaxpr.outvars], state

    def step(self, eqn: Any, values: list[Any], state: State) -> Result:
        """One equation, checked where that is asked."""
        if not self.concerns(eqn):
            return rebind(eqn, values), state
        with settings_of(eqn) as brought:
            state = brought(state)
            columns, number = self.accesses.get(id(eqn)), self.promises.get(id(eqn))
            if columns is not None:
                state = look_at_access(values, columns, state)
            if number is not None:
                state = look_at_promise(eqn, values, number, state)
            taken_apart = self.entered(eqn, values, state) if self.inside(eqn) else None
        if taken_apart is None:
            taken_apart = rebind(eqn, values), state
        results, state = taken_apart
        return results, brought_here(state) if brought is brought_here else state

    def entered(self, eqn: Any, values: list[Any], state: State) -> Result | None:
        """An equation with checks inside; None where nobody knows how to hand the state through it."""
        primitive, params = eqn.primitive, eqn.params
        enter = _ENTERED.get(primitive)
        if enter is not None:
            found: Result | None = enter(self, eqn, values, state)
            return found
        if primitive in _CALLED:
            return self.run(params[_CALLED[primitive]], values, state)
        written = _written(eqn)
        return None if written is None else self.run_open(*written, values, state)

    def called(self, jaxpr: Any) -> Callable[..., Any]:
        """A jaxpr as a function from state and operands to state and results."""

        def function(state: State, *operands: Any) -> Any:
            results, after = self.run(jaxpr, operands, state)
            return after, results

        return function


def _written(eqn: Any) -> tuple[Any, tuple[Any, ...]] | None:
    """What a high-level or third-party primitive is in terms of others."""
    if eqn.primitive in _CALLED or eqn.primitive in _ENTERED:
        return None
    return expansion(eqn) or known_implementation(eqn)


def _bodies(eqn: Any) -> list[Any]:
    """The jaxprs inside an equation, those it is written in included."""
    written = _written(eqn)
    return [*inner_jaxprs(eqn.params), *((written[0],) if written is not None else ())]


def _last_uses(jaxpr: Any) -> dict[int, list[Any]]:
    """By equation: the variables nobody reads after it."""
    kept = {v for v in jaxpr.outvars if not isinstance(v, Literal)}
    last: dict[Any, int] = {}
    for k, eqn in enumerate(jaxpr.eqns):
        for v in (*eqn.invars, *eqn.outvars):
            if not isinstance(v, Literal) and v not in kept:
                last[v] = k
    found: dict[int, list[Any]] = {}
    for v, k in last.items():
        found.setdefault(k, []).append(v)
    return found


def _jit(program: Instrumented, eqn: Any, values: list[Any], state: State) -> Result:
    after, results = call_with_shardings(eqn, program.called(eqn.params["jaxpr"]), state, values)
    return list(results), after


def _remat(program: Instrumented, eqn: Any, values: list[Any], state: State) -> Result:
    function = jax.checkpoint(
        program.called(eqn.params["jaxpr"]), prevent_cse=eqn.params["prevent_cse"], policy=eqn.params["policy"]
    )
    after, results = function(state, *values)
    return list(results), after


def _cond(program: Instrumented, eqn: Any, values: list[Any], state: State) -> Result:
    which, *operands = values
    branches = [program.called(branch) for branch in eqn.params["branches"]]
    if len(branches) == 2 and getattr(which, "dtype", None) == jnp.bool_:
        which = which.astype(jnp.int32)
    after, results = lax.switch(which, branches, state, *operands)
    return list(results), after


def _scan(program: Instrumented, eqn: Any, values: list[Any], state: State) -> Result:
    params = eqn.params
    consts, carries = scan_counts(params)
    fixed, carry, xs = values[:consts], values[consts : consts + carries], values[consts + carries :]

    def body(held: Any, x: Any) -> Any:
        before, now = held
        results, after = program.run(params["jaxpr"], [*fixed, *now, *x], before)
        return (after, results[:carries]), results[carries:]

    split = {"_split_transpose": params["_split_transpose"]} if "_split_transpose" in params else {}
    (after, carry), ys = lax.scan(
        body, (state, carry), xs, length=params["length"], reverse=params["reverse"], unroll=params["unroll"], **split
    )
    return [*carry, *ys], after


def _while(program: Instrumented, eqn: Any, values: list[Any], state: State) -> Result:
    params = eqn.params
    tests, bodies = params["cond_nconsts"], params["body_nconsts"]
    for_test, for_body, carry = values[:tests], values[tests : tests + bodies], values[tests + bodies :]

    def test(now: Sequence[Any], before: State) -> tuple[Any, State]:
        results, after = program.run(params["cond_jaxpr"], [*for_test, *now], before)
        return results[0], after

    lanes = open_jaxpr(params["cond_jaxpr"])[0].outvars[0].aval.shape
    if not lanes and not program.holds(params["cond_jaxpr"]):

        def body(held: Any) -> Any:
            results, after = program.run(params["body_jaxpr"], [*for_body, *held[1]], held[0])
            return after, results

        after, results = lax.while_loop(lambda held: test(held[1], held[0])[0], body, (state, carry))
        return list(results), after

    # The test is made once an iteration, as before, but where its checks can be kept: at the end of the body.
    # Under vmap each lane has a test of its own: the loop runs while one goes on, the others keep what they have.
    def tested(held: Any) -> Any:
        goes_on, before, now = held
        results, between = program.run(params["body_jaxpr"], [*for_body, *now], before)
        if lanes:
            results = [_chosen(goes_on, new, old) for new, old in zip(results, now, strict=True)]
        again, after = test(results, between)
        return again, after, results

    goes_on, state = test(carry, state)
    _, after, results = lax.while_loop(lambda held: jnp.any(held[0]), tested, (goes_on, state, carry))
    return list(results), after


def _chosen(lanes: Any, new: Any, old: Any) -> Any:
    """The new value in the lanes that go on, the old one in the others."""
    shape = jnp.shape(new)
    return lax.select(lax.broadcast_in_dim(lanes, shape, range(lanes.ndim)), new, old)


def _shard_map(program: Instrumented, eqn: Any, values: list[Any], state: State) -> Result:
    """Every shard starts from a clean state of its own; the states come out side by side."""

    def function(own: Callable[[Any], Any], *operands: Any) -> Any:
        results, after = program.run_open(eqn.params["jaxpr"], (), operands, own(clean()))
        return (after[0], after[1]), results

    (codes, found), results = sharded(eqn, function, values)
    return list(results), merged(state, codes, found)


_ENTERED: dict[Any, Any] = {
    _P[name]: enter
    for name, enter in {
        "jit_p": _jit,
        "pjit_p": _jit,
        "remat_p": _remat,
        "checkpoint_p": _remat,
        "cond_p": _cond,
        "scan_p": _scan,
        "while_p": _while,
        "shard_map_p": _shard_map,
    }.items()
    if name in _P
}
