"""Named dimensions: one symbol for each name of a call, under the constraints given for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from jax import export

from redzone.domains.symbolic import at_most
from redzone.frontend.failures import CannotCheck

_NAME = re.compile(r"[A-Za-z_]\w*")
_DIVIDES = re.compile(r"\s*mod\(([^(),]+),\s*(\d+)\s*\)\s*==\s*0\s*")
_FUNCTIONS = {"mod", "floordiv", "max", "min"}


def scope_of(constraints: Sequence[str]) -> Any:
    """A scope for the dimensions of one call; constraints are written as jax.export takes them."""
    if isinstance(constraints, str):
        constraints = (constraints,)
    for text in constraints:
        try:
            export.SymbolicScope((text,))
        except Exception as error:
            # JAX's parser raises several types here, all of them about the text.
            raise CannotCheck(
                f"cannot read the constraint {text!r} on dimensions ({str(error).splitlines()[0]}); write it as "
                "'n >= 8', 'n <= 1024', 'mod(n, 4) == 0' or 'n == 2*m'"
            ) from None
    # What 4 divides -4 does too, of which JAX asks where it works out a size given as -1: `x.reshape(-1, 4)`.
    divided = filter(None, map(_DIVIDES.fullmatch, constraints))
    negated = [f"mod({one[1]}, -{one[2]}) == 0" for one in divided if int(one[2])]
    return export.SymbolicScope((*constraints, *negated))


def names_in(text: str) -> set[str]:
    """The dimensions that an expression or a constraint names."""
    return set(_NAME.findall(text)) - _FUNCTIONS


def check_constraints(constraints: Sequence[str], used: Iterable[str], scope: Any) -> None:
    """Raise where a constraint is about no dimension of the call, or leaves a dimension no size."""
    if isinstance(constraints, str):
        constraints = (constraints,)
    known = set(used)
    for text in constraints:
        strange = sorted(names_in(text) - known)
        if strange:
            has = f"there are {', '.join(sorted(known))}" if known else "no argument has a named one"
            raise CannotCheck(f"the constraint {text!r} is about {strange[0]}, but no dimension is called that; {has}")
    numbers = sorted({int(n) for text in constraints for n in re.findall(r"\d+", text)} | {0})
    for name in sorted({name for text in constraints for name in names_in(text)}):
        size = export.symbolic_shape(name, scope=scope)[0]
        try:
            least = max((k for k in numbers if at_most(k, size)), default=0)
            most = min((k for k in numbers if at_most(size, k)), default=least)
        except ValueError:
            # JAX itself found that nothing satisfies them.
            least, most = 1, 0
        if least > most:
            raise CannotCheck(f"the constraints {', '.join(map(repr, constraints))} leave {name} no size")


def resolved(shape: Sequence[Any], scope: Any) -> tuple[Any, ...]:
    """A shape whose named dimensions, given as strings, are symbols of the scope."""
    return tuple(_symbol(d, scope) if isinstance(d, str) else d for d in shape)


def _symbol(text: str, scope: Any) -> Any:
    try:
        (size,) = export.symbolic_shape(text, scope=scope)
    except Exception as error:
        raise CannotCheck(
            f"cannot read the dimension {text!r} of a Spec: {str(error).splitlines()[0]}; a dimension is a number, "
            "a name such as 'n', or an expression such as 'n+1'"
        ) from None
    return size
