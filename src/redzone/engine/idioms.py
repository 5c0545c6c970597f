"""Sub-programs that JAX itself writes for one mathematical operation, recognised by their equations.

jnp's `//` and `%` are nested jits of a dozen equations. Rather than trust their names, a sub-program
is compared, equation by equation, with what this JAX traces for the operation; equal equations
compute the same function, so the operation's own rule applies.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Final

import jax
import jax.numpy as jnp
import numpy as np

from redzone.domains import Fact
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import Rule, integers
from redzone.rules.integers import of

_JIT: Final = primitives().get("jit_p", primitives().get("pjit_p"))
_CONVERT: Final = primitives()["convert_element_type_p"]
_BROADCAST: Final = primitives()["broadcast_in_dim_p"]


def _fingerprint(
    jaxpr: Any, consts: tuple[Any, ...], operands: list[Any], counter: list[int]
) -> tuple[list[Any], list[Any]]:
    """The equations with variables numbered in order; nested jits inlined, what changes no element skipped."""
    names: dict[Any, Any] = dict(zip(jaxpr.invars, operands, strict=True))
    if consts:
        return [object()], []

    def name(atom: Any) -> Any:
        return ("literal", float(atom.val)) if type(atom) is Literal else names[atom]

    lines: list[Any] = []
    for eqn in jaxpr.eqns:
        inputs = [name(a) for a in eqn.invars]
        if eqn.primitive is _JIT:
            inner, inner_consts = open_jaxpr(eqn.params["jaxpr"])
            more, results = _fingerprint(inner, inner_consts, inputs, counter)
            lines += more
            names.update(zip(eqn.outvars, results, strict=False))
            continue
        if (eqn.primitive is _CONVERT and eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype) or _promotes(eqn):
            names[eqn.outvars[0]] = inputs[0]
            continue
        lines.append((eqn.primitive, tuple(inputs)))
        for v in eqn.outvars:
            counter[0] += 1
            names[v] = counter[0]
    return lines, [name(v) for v in jaxpr.outvars]


def _promotes(eqn: Any) -> bool:
    """Whether an array gets dimensions of one element before its own, as arrays of more dimensions meet it."""
    if eqn.primitive is not _BROADCAST or type(eqn.invars[0]) is Literal:
        return False
    shape, result, to = eqn.invars[0].aval.shape, eqn.outvars[0].aval.shape, eqn.params["broadcast_dimensions"]
    more = len(result) - len(shape)
    return more > 0 and result == (1,) * more + tuple(shape) and tuple(to) == tuple(range(more, len(result)))


def _whole(jaxpr: Any, consts: tuple[Any, ...]) -> Any:
    lines, results = _fingerprint(jaxpr, consts, [("in", i) for i in range(len(jaxpr.invars))], [0])
    return tuple(lines), tuple(results)


def _rule(operation: Callable[..., Fact]) -> Rule:
    def apply(eqn: Any, a: Fact, b: Fact) -> Fact:
        return operation(a, b, of(eqn.outvars[0]))

    return Rule(apply, pointwise=True)


def _rule_of_promoted(operation: Callable[..., Fact]) -> Rule:
    """The operation on arrays of different ranks: no element of one stands at the same place in the other."""

    def apply(eqn: Any, a: Fact, b: Fact) -> Fact:
        out = eqn.outvars[0]
        rank = len(out.aval.shape)
        return operation(_of_rank(a, rank), _of_rank(b, rank), of(out))

    return Rule(apply)


def _of_rank(fact: Fact, rank: int) -> Fact:
    lo, hi = (x[(None,) * (rank - x.ndim)] if type(x) is np.ndarray else x for x in (fact.lo, fact.hi))
    return fact if lo is fact.lo and hi is fact.hi else Fact(lo, hi, fact.step, fact.nan)


FLOOR_DIVIDE: Final = _rule(integers.floor_div)
REMAINDER: Final = _rule(integers.modulo)
_OF_PROMOTED: Final = {
    id(FLOOR_DIVIDE): _rule_of_promoted(integers.floor_div),
    id(REMAINDER): _rule_of_promoted(integers.modulo),
}


@functools.cache
def references() -> dict[str, tuple[set[Any], Rule]]:
    """By jnp's name of an operation: the equations this JAX writes for it, and its rule."""
    shape = jax.ShapeDtypeStruct((3,), jnp.int32)
    table = {}
    for name, function, known in (
        ("floor_divide", jnp.floor_divide, FLOOR_DIVIDE),
        ("remainder", jnp.remainder, REMAINDER),
    ):
        forms = set()
        for other in (shape, jax.ShapeDtypeStruct((), jnp.int32)):
            inner, consts = open_jaxpr(jax.make_jaxpr(function)(shape, other))
            lines, results = _whole(inner, consts)
            forms.add((lines, results))
        table[name] = (forms, known)
    return table


_seen: Final[dict[int, tuple[Any, Rule | None]]] = {}


def idiom_of(eqn: Any, inner: Any) -> Rule | None:
    """The rule of the operation that a nested jit computes, where it is one of the known ones."""
    if eqn.params.get("name") not in ("floor_divide", "remainder"):
        return None
    found = _seen.get(id(inner))
    if found is None or found[0] is not inner:
        found = _seen[id(inner)] = (inner, _recognise(eqn, inner))
        if len(_seen) > 4096:
            _seen.clear()
    return found[1]


def _recognise(eqn: Any, inner: Any) -> Rule | None:
    if of(eqn.outvars[0]).kind != "i" or len(inner.invars) != 2:
        return None
    forms, known = references()[eqn.params["name"]]
    try:
        if inner.constvars or _whole(inner, ()) not in forms:
            return None
    except (TypeError, ValueError):
        return None
    rank = len(eqn.outvars[0].aval.shape)
    return known if all(len(v.aval.shape) in (0, rank) for v in eqn.invars) else _OF_PROMOTED[id(known)]
