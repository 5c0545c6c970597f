"""assume: a promise inside a function, there for the checker and gone in the compiled program."""

from __future__ import annotations

from typing import Any

import jax
import numpy as np
from jax.extend.core import Primitive
from jax.interpreters import ad, batching, mlir, partial_eval

from redzone.domains import dtype_info
from redzone.frontend.contract import check_order, check_promise, first_outside, is_number, is_plain

#: `assume_p(x, condition, min=, max=, finite=, batched=)` is x; the condition may be left out.
assume_p = Primitive("assume")


def assume(x: Any, /, *, min: Any = None, max: Any = None, finite: bool = False, where: Any = None) -> Any:
    """Promise redzone that something holds here; returns `x` unchanged and costs nothing in a compiled program.

    `assume(x, min=, max=, finite=)` is about every element of x, `assume(condition)` and `assume(x, where=condition)`
    about every element of a boolean. Verdicts are given for the runs that keep the promise, so a false one makes them
    wrong; where the values are already known (outside of jit and other transformations) it raises ValueError.
    """
    if min is None and max is None and not finite:
        condition = x if where is None else where
        if _dtype(condition) != np.bool_:
            given = _dtype(condition)
            raise TypeError(
                f"redzone.assume takes a condition, which is bool, or a range: got {given} and no min or max"
            )
        return _conditional(x, condition)
    dtype = _dtype(x)
    if dtype == np.bool_:
        raise TypeError("redzone.assume: a condition has no range; promise assume(condition) and assume(x, min=) apart")
    low, high = _number(min), _number(max)
    least, most = (bound if is_plain(bound) else None for bound in (low, high))
    check_order("redzone.assume", least, most)
    check_promise(f"redzone.assume({dtype})", dtype, least, most, finite)
    if where is not None:
        x = assume(x, where=where)
    if not _is_static(low) or not _is_static(high):
        return _between(assume(x, finite=True) if finite else x, low, high)
    if not isinstance(x, jax.core.Tracer):
        broken = first_outside(x, low, high, finite)
        if broken:
            raise ValueError(f"redzone.assume is broken: the array holds {broken}")
        return x
    return assume_p.bind(x, min=low, max=high, finite=finite, batched=False)


def _dtype(x: Any) -> Any:
    if isinstance(x, bool | int | float | complex):
        return np.asarray(x).dtype if isinstance(x, bool | complex) else jax.dtypes.canonicalize_dtype(type(x))
    found = getattr(x, "dtype", None)
    if found is None:
        raise TypeError(f"redzone.assume takes an array, not {type(x).__name__}; call it for each array of a pytree")
    return found


def _number(bound: Any) -> Any:
    """A bound known while tracing as a Python number; a traced or an array one as it is."""
    if bound is None or isinstance(bound, jax.core.Tracer):
        return bound
    if isinstance(bound, jax.Array | np.ndarray | np.generic | list | tuple):
        array = np.asarray(bound)
        return array.item() if array.ndim == 0 else array
    if is_number(bound) or jax.export.is_symbolic_dim(bound):
        return bound
    raise TypeError(f"redzone.assume: {bound!r} is no bound; give a number or an array")


def _is_static(bound: Any) -> bool:
    return not isinstance(bound, jax.core.Tracer | np.ndarray)


def _between(x: Any, low: Any, high: Any) -> Any:
    """Bounds that differ from element to element, or are computed: comparisons."""
    if dtype_info(_dtype(x)).kind == "f":
        # A comparison excludes NaN, which a range does not.
        raise TypeError("redzone.assume: the bounds of floats must be plain numbers; write assume(x <= bound) instead")
    condition: Any = True
    for bound, keeps in ((low, jax.numpy.greater_equal), (high, jax.numpy.less_equal)):
        if bound is not None:
            condition = condition & keeps(x, bound)
    return assume(x, where=condition)


def _conditional(x: Any, condition: Any) -> Any:
    if not isinstance(condition, jax.core.Tracer):
        if not np.all(np.asarray(condition)):
            raise ValueError("redzone.assume is broken: the condition does not hold")
        return x
    value = x if isinstance(x, jax.Array) else jax.numpy.asarray(x)
    return assume_p.bind(value, condition, min=None, max=None, finite=False, batched=False)


def _run(x: Any, *condition: Any, **params: Any) -> Any:
    return x


def _type(x: Any, *condition: Any, **params: Any) -> Any:
    return x


def _lowered(context: Any, x: Any, *condition: Any, **params: Any) -> Any:
    return [x]


def _differentiated(primals: Any, tangents: Any, **params: Any) -> Any:
    return assume_p.bind(*primals, **params), tangents[0]


def _batched(operands: Any, axes: Any, **params: Any) -> Any:
    # Whether for every lane or one, a condition is about all its elements; so is a range.
    return assume_p.bind(*operands, **{**params, "batched": True}), axes[0]


def _kept(*rule_arguments: Any) -> Any:
    """JAX drops equations whose results nobody reads; this one is read by redzone."""
    eqn = rule_arguments[-1]
    return [True] * len(eqn.invars), eqn


assume_p.def_impl(_run)
assume_p.def_abstract_eval(_type)
mlir.register_lowering(assume_p, _lowered)
ad.primitive_jvps[assume_p] = _differentiated
batching.primitive_batchers[assume_p] = _batched
partial_eval.dce_rules[assume_p] = _kept
