"""Rules that fit an equation better, where it stands, than its primitive's does."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from redzone.domains import Fact, dtype_info
from redzone.engine.distinct import written_once
from redzone.engine.extremes import difference, part_of_range
from redzone.engine.folds import FUNCTIONS, applied
from redzone.engine.frames import Frame
from redzone.engine.regrouped import is_of_quotients
from redzone.engine.reordered import reordered
from redzone.engine.rounding import ROUNDS, rounded_once
from redzone.engine.weights import own_share
from redzone.frontend.compat import Literal, primitives
from redzone.rules import Rule
from redzone.rules.reductions import summed_up

_CONVERT_P: Final = primitives()["convert_element_type_p"]
_SUM_P: Final = primitives()["reduce_sum_p"]
_SUB_P: Final = primitives()["sub_p"]


def _over_shards(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a sum over named axes, where it is known how many shards lie along them."""
    shards = frame.slicer.shards(a for a in eqn.params["axes"] if not isinstance(a, (int, np.integer)))
    if shards is None:
        return None

    def apply(eqn: Any, *facts: Fact) -> Any:
        return summed_up(eqn, facts, shards)

    return Rule(apply, elsewhere=True)


def _of_scatter(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a write that applies a function of its own, or reaches every element."""
    return applied(frame, eqn) or written_once(frame, eqn)


def _of_digits(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a sum, difference or product by what makes its operands."""
    return reordered(frame, eqn, rounded_once(frame, eqn))


def _of_quotient(frame: Frame, eqn: Any) -> Rule | None:
    """The rule of a quotient by what makes its operands; one of quotients is grouped anew (`engine/regrouped.py`)."""
    found = None if is_of_quotients(frame, eqn) else part_of_range(frame, eqn) or own_share(frame, eqn)
    return found or reordered(frame, eqn)


#: By primitive: what looks for a rule that fits an equation better, where it stands, than its primitive's does.
CLOSER: Final[dict[Any, Callable[[Frame, Any], Rule | None]]] = {
    **dict.fromkeys(ROUNDS, _of_digits),
    primitives()["sub_p"]: lambda frame, eqn: difference(frame, eqn) or _of_digits(frame, eqn),
    primitives()["div_p"]: _of_quotient,
    **{primitives()[n]: reordered for n in ("square_p", "integer_pow_p", "pow_p") if n in primitives()},
    **FUNCTIONS,
    **{primitives()[n]: _over_shards for n in ("psum_p", "psum2_p", "psum_invariant_p") if n in primitives()},
    primitives()["scatter_p"]: _of_scatter,
    primitives()["scatter_add_p"]: written_once,
}


def counts(frame: Frame, eqn: Any) -> bool:
    """Whether a sum of floats is one of integers that were only converted, or taken from a number then."""
    atom = eqn.invars[0] if eqn.primitive is _SUM_P else None
    for _ in range(4):
        made = None if atom is None or type(atom) is Literal else frame.maker(atom)
        if made is None:
            return False
        if made.primitive is _CONVERT_P:
            if dtype_info(made.invars[0].aval.dtype).integral:
                return True
            atom = made.invars[0]
        elif made.primitive is _SUB_P and type(made.invars[0]) is Literal:
            atom = made.invars[1]
        else:
            return False
    return False
