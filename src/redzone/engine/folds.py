"""Functions of the program's own that an equation applies to elements: what they make is found by their equations.

`lax.reduce` and `lax.reduce_window` combine elements, and what they start from, in any order and as often as they
like. So every number on the way, and the result, lies in any set that holds the elements and the start and that the
function does not lead out of: the arg-max of a window, found beside its maximum, is one of the places that went in.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from redzone.domains import Fact, constant, join, summarised
from redzone.engine.idioms import idiom_of
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives
from redzone.rules import RULES, Rule
from redzone.rules.indexing import updates_of
from redzone.rules.reductions import closed
from redzone.rules.table import anything

if TYPE_CHECKING:
    from redzone.engine.frames import Frame

#: Up to how many times a function is applied to what it made to see what it makes.
AGAIN: Final = 4

_P: Final = primitives()


def folded(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a reduction by a function of the program's own."""
    jaxpr, consts = _function(eqn, "jaxpr", "consts")
    count = len(eqn.outvars)
    if len(jaxpr.invars) != 2 * count or len(eqn.invars) != 2 * count or len(jaxpr.constvars) != len(consts):
        return None

    def apply(eqn: Any, *facts: Fact) -> Any:
        given = [join(summarised(a), summarised(first)) for a, first in zip(facts[:count], facts[count:], strict=True)]
        found = closed(given, lambda now: outcome(jaxpr, consts, [*now, *now]), eqn.outvars)
        return found[0] if count == 1 else found

    return Rule(apply)


def applied(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a scatter that applies a function, `x.at[i].apply(f)`: to an element at most once for each index."""
    if eqn.params.get("update_jaxpr") is None:
        return None
    jaxpr, consts = _function(eqn, "update_jaxpr", "update_consts")
    if len(jaxpr.invars) != 2 or len(jaxpr.outvars) != 1 or len(jaxpr.constvars) != len(consts):
        return None
    count = updates_of(eqn)

    def apply(eqn: Any, a: Fact, indices: Fact, updates: Fact) -> Fact:
        found, update = summarised(a), summarised(updates)
        if type(count) is not int or count > AGAIN:
            return closed([found], lambda now: outcome(jaxpr, consts, [now[0], update]), eqn.outvars)[0]
        for _ in range(count):
            (made,) = outcome(jaxpr, consts, [found, update])
            found = join(found, made)
        return found

    return Rule(apply, (0, 2))


#: By primitive: what finds the rule of an equation with a function of its own.
FUNCTIONS: Final = {_P["reduce_p"]: folded, _P["reduce_window_p"]: folded}


def _function(eqn: Any, jaxpr: str, consts: str) -> tuple[Any, tuple[Any, ...]]:
    inner, known = open_jaxpr(eqn.params[jaxpr])
    return inner, (*known, *eqn.params.get(consts, ()))


def outcome(jaxpr: Any, consts: tuple[Any, ...], facts: list[Fact]) -> list[Fact]:
    """What a short program yields, by the rules of its equations alone."""
    known: dict[Any, Fact] = dict(zip(jaxpr.invars, facts, strict=True))
    known.update((v, constant(np.asarray(c))) for v, c in zip(jaxpr.constvars, consts, strict=True))

    def value(atom: Any) -> Fact:
        return constant(np.asarray(atom.val, atom.aval.dtype)) if type(atom) is Literal else known[atom]

    for eqn in jaxpr.eqns:
        made = _made(eqn, [value(a) for a in eqn.invars])
        known.update(zip(eqn.outvars, [made] if type(made) is Fact else made, strict=True))
    return [summarised(value(v)) for v in jaxpr.outvars]


def _made(eqn: Any, facts: list[Fact]) -> Any:
    key = CALLS.get(eqn.primitive)
    if key is not None and eqn.primitive is not SHARD_MAP_P:
        inner, consts = open_jaxpr(eqn.params[key])
        idiom = idiom_of(eqn, inner)
        if idiom is not None:
            return idiom.apply(eqn, *facts)
        fits = len(inner.invars) == len(facts) and len(inner.outvars) == len(eqn.outvars)
        return outcome(inner, consts, facts) if fits and len(inner.constvars) == len(consts) else anything(eqn)
    rule = RULES.get(eqn.primitive)
    return anything(eqn) if rule is None else rule.apply(eqn, *facts)
