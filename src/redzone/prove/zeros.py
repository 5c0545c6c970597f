"""Does anybody tell -0 from 0? What is multiplied by 0 leaves its sign, and so does what was read outside.

The two are equal, and most of what is made of the one is equal to what is made of the other. Not so a quotient by it,
which is infinite one way or the other, nor an angle, which is half a turn or none.
"""

from __future__ import annotations

from typing import Any, Final

from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS, SHARD_MAP_P
from redzone.frontend.compat import open_jaxpr, primitives
from redzone.prove.uses import SCATTERS, Uses
from redzone.rules import RULES

_P: Final = primitives()


def _named(*names: str) -> frozenset[Any]:
    return frozenset(_P[f"{name}_p"] for name in names if f"{name}_p" in _P)


_DIV: Final = _P["div_p"]
_MUL: Final = _P["mul_p"]
_POWER: Final = _P["integer_pow_p"]
#: Equations that make different numbers of the two.
_TELLING: Final = _named("atan2", "rsqrt", "pow", "nextafter", "eq_to", "le_to", "lt_to")
#: Equations that make the same number of both, to the bit.
_ALIKE: Final = _named("abs", "square", "exp", "exp2", "cos", "cosh", "log", "logistic", "erfc", "acos")
#: Equations, besides those that compute element by element or move elements, whose results differ in signs of zero.
_PASSED: Final = SCATTERS | _named(
    *("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "cumsum", "cumprod", "cummax", "cummin"),
    *("dot_general", "conv_general_dilated", "concatenate", "stack", "unstack", "split", "pad", "sort", "select_n"),
    *("gather", "dynamic_slice", "dynamic_update_slice", "argmax", "argmin", "reduce_window_sum"),
)
#: Equations of complex numbers that make of each part sums and products, or nothing else.
_OF_COMPLEX: Final = _named(
    *("add", "sub", "mul", "neg", "abs", "real", "imag", "conj", "complex", "reduce_sum", "dot_general", "select_n"),
    *("broadcast_in_dim", "reshape", "squeeze", "transpose", "slice", "concatenate", "convert_element_type"),
)
#: How many equations a zero is followed through.
FURTHEST: Final = 200


def are_told(uses: Uses, jaxpr: Any, var: Any) -> bool:
    """Whether anything may be made of a value that differs between -0 and 0 by more than such a sign."""
    return _Telling(uses).follow(jaxpr, var)


def is_complex(atom: Any) -> bool:
    return getattr(getattr(atom.aval, "dtype", None), "kind", "") == "c"


class _Telling:
    """Follows zeros of unknown sign, each value once."""

    def __init__(self, uses: Uses) -> None:
        self.uses = uses
        self.known: set[tuple[int, Any]] = set()
        self.left = FURTHEST

    def follow(self, jaxpr: Any, var: Any) -> bool:
        if (id(jaxpr), var) in self.known or dtype_info(var.aval.dtype).integral:
            return False
        self.known.add((id(jaxpr), var))
        if dtype_info(var.aval.dtype).kind != "f" and not is_complex(var):
            return True
        return self.leaves(jaxpr, var) or any(
            self.through(jaxpr, eqn, position) for eqn, position, _ in self.uses.readers(jaxpr, var)
        )

    def leaves(self, jaxpr: Any, var: Any) -> bool:
        """Whether it is told by whoever gets it as a result; the caller of the program takes the two for equal."""
        if jaxpr is self.uses.whole or var not in self.uses.ends(jaxpr):
            return False
        calls, outs = self.uses.callers(jaxpr), [k for k, v in enumerate(jaxpr.outvars) if v is var]
        return not calls or any(self.follow(around, call.outvars[k]) for around, call in calls for k in outs)

    def through(self, jaxpr: Any, eqn: Any, position: int) -> bool:
        self.left -= 1
        primitive = eqn.primitive
        if self.left < 0 or not eqn.outvars or primitive in _TELLING or (primitive is _DIV and position):
            return True
        if primitive in CALLS and primitive is not SHARD_MAP_P:
            inner, _ = open_jaxpr(eqn.params[CALLS[primitive]])
            return len(inner.invars) != len(eqn.invars) or self.follow(inner, inner.invars[position])
        if primitive not in _OF_COMPLEX and any(map(is_complex, (*eqn.invars, *eqn.outvars))):
            # A root or logarithm has two sides there.
            return True
        if primitive in _ALIKE:
            return False
        if primitive is _MUL and eqn.invars[0] is eqn.invars[1] and not is_complex(eqn.outvars[0]):
            return False
        if primitive is _POWER:
            return bool(eqn.params["y"] < 0) or self.follow(jaxpr, eqn.outvars[0])
        rule = RULES.get(primitive)
        if primitive not in _PASSED | _OF_COMPLEX and (rule is None or not (rule.pointwise or rule.moves)):
            return True
        return any(self.follow(jaxpr, v) for v in eqn.outvars)
