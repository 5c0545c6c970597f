"""Numbers that are finite where the arrays that they were taken from are."""

from __future__ import annotations

import math
from typing import Any, Final

import ml_dtypes
import numpy as np

from redzone.access.site import Site
from redzone.domains import dtype_info
from redzone.engine.inventory import CALLS, COND_P, SCAN_P, SHARD_MAP_P, WHILE_P
from redzone.frontend.compat import Literal, open_jaxpr, primitives, scan_counts
from redzone.prove.uses import Run, Uses

_P: Final = primitives()
_CONVERT: Final = _P["convert_element_type_p"]
_IOTA: Final = _P["iota_p"]
_GATHER: Final = _P["gather_p"]
_DYNAMIC_SLICE: Final = _P["dynamic_slice_p"]
_DYNAMIC_UPDATE_SLICE: Final = _P["dynamic_update_slice_p"]
_SCATTER: Final = _P["scatter_p"]
#: Equations that only put numbers elsewhere or turn their sign.
_MOVED: Final = frozenset(
    _P[f"{name}_p"]
    for name in (
        *("broadcast_in_dim", "squeeze", "reshape", "transpose", "copy", "stop_gradient", "neg"),
        *("slice", "unstack", "rev"),
    )
    if f"{name}_p" in _P
)
#: Functions of finite floats that are finite.
_FINITE: Final = _MOVED | frozenset(
    _P[f"{name}_p"]
    for name in (
        *("abs", "sign", "floor", "ceil", "round", "reduce_max", "reduce_min"),
        *("tanh", "logistic", "sin", "cos", "atan", "erf", "erfc"),
    )
    if f"{name}_p" in _P
)
#: Equations whose results are numbers of their operands.
_PUT: Final = (_MOVED | frozenset((_CONVERT, _GATHER, _DYNAMIC_SLICE, _DYNAMIC_UPDATE_SLICE, _SCATTER))) | frozenset(
    _P[f"{name}_p"] for name in ("select_n", "concatenate", "stack", "pad") if f"{name}_p" in _P
)
#: How many values a number is looked for among.
FURTHEST: Final = 60


def stays_finite(eqn: Any) -> bool:
    """Whether an equation makes finite numbers of finite numbers; integers are, but not of all floats."""
    source, target = (dtype_info(v.aval.dtype) for v in (eqn.invars[0], eqn.outvars[0]))
    if target.integral:
        return True
    if source.kind == "x" or target.kind == "x":
        # Complex numbers: even their absolute value may be too large.
        return eqn.primitive in _MOVED
    if eqn.primitive is _CONVERT:
        return _reaches(eqn.invars[0].aval.dtype) <= _reaches(eqn.outvars[0].aval.dtype)
    return eqn.primitive in _FINITE


def _reaches(dtype: Any) -> float:
    """The greatest finite number of a type."""
    info = dtype_info(dtype)
    if info.integral:
        return float(max(info.max, -info.min))
    return float(ml_dtypes.finfo(dtype).max)  # type: ignore[no-untyped-call]


def _reads_finite(eqn: Any) -> bool:
    """Whether what an access yields is finite where its array is: outside, it may fill with NaN."""
    return dtype_info(eqn.outvars[0].aval.dtype).integral or "fill" not in str(eqn.params.get("mode")).lower()


def yields_finite(uses: Uses, site: Site) -> bool:
    """Whether what an access yields is finite where its array is: a write also puts in numbers of its own."""
    eqn = site.eqn
    if dtype_info(eqn.outvars[0].aval.dtype).integral:
        return True
    if has_infinite(uses, site.home, eqn.invars[0]):
        return False
    if site.effect == "read":
        return _reads_finite(eqn)
    written = {_DYNAMIC_UPDATE_SLICE: 1, _SCATTER: 2}.get(eqn.primitive)
    if written is None or eqn.params.get("update_jaxpr") is not None:
        return False
    return _reads_finite(eqn) and is_finite(uses, site.home, eqn.invars[written])


def is_finite(uses: Uses, jaxpr: Any, atom: Any) -> bool:
    """Whether a value is finite where the program's inputs are.

    What a loop carries is, if its first value is, and each that the body makes of it.
    """
    waiting, known = [(jaxpr, atom)], set[tuple[int, Any]]()
    for jaxpr, atom in waiting:
        if type(atom) is Literal:
            if not _are_within(atom.val, _reach(atom)):
                return False
            continue
        if (id(jaxpr), atom) in known or dtype_info(atom.aval.dtype).integral:
            continue
        known.add((id(jaxpr), atom))
        made = uses.maker(jaxpr, atom)
        if made is None:
            sources = _from_outside(uses, jaxpr, atom)
            if sources is None or len(known) > FURTHEST:
                return False
            waiting += sources
        elif not made.invars:
            # Counting in few bits may end at infinity.
            if made.primitive is not _IOTA or dtype_info(atom.aval.dtype).bits < 32:
                return False
        else:
            read = made.primitive in (_DYNAMIC_SLICE, _GATHER)
            if not (_reads_finite(made) if read else stays_finite(made)):
                return False
            waiting.append((jaxpr, made.invars[0]))
    return True


def has_infinite(uses: Uses, jaxpr: Any, atom: Any) -> bool:
    """Whether constants that are not finite are plainly put into an array: `where(allowed, scores, -inf)`.

    A number is infinite in a type that does not hold it, as -1e9 is in 16 bits.
    """
    waiting, known = [(jaxpr, atom, math.inf)], set[tuple[int, Any, float]]()
    for jaxpr, atom, reach in waiting:
        reach = min(reach, _reach(atom))
        if type(atom) is Literal:
            if not _are_within(atom.val, reach):
                return True
            continue
        key = (id(jaxpr), atom, reach)
        if key in known or dtype_info(atom.aval.dtype).integral or len(known) > FURTHEST:
            continue
        known.add(key)
        made = uses.maker(jaxpr, atom)
        if made is None:
            sources = _from_outside(uses, jaxpr, atom)
            if not all(_are_within(one, reach) for one in uses.constants(jaxpr, atom)):
                return True
            waiting += [(around, one, reach) for around, one in sources or []]
        elif made.primitive in _PUT:
            waiting += [(jaxpr, v, reach) for v in made.invars]
        elif made.primitive in CALLS:
            inner, _ = open_jaxpr(made.params[CALLS[made.primitive]])
            if len(inner.outvars) == len(made.outvars):
                waiting.append((inner, inner.outvars[made.outvars.index(atom)], reach))
    return False


def _reach(atom: Any) -> float:
    """The greatest finite number of an atom's type, where that is of floats."""
    dtype = atom.aval.dtype
    return _reaches(dtype) if dtype_info(dtype).kind == "f" else math.inf


def _are_within(value: Any, reach: float) -> bool:
    """Whether nothing in a constant is infinite, or NaN, or farther from zero than that."""
    if dtype_info(getattr(value, "dtype", None)).kind == "x":
        return True
    numbers = np.asarray(value).astype(np.float64)
    return bool((np.isfinite(numbers) & (np.abs(numbers) <= reach)).all())


def _from_outside(uses: Uses, jaxpr: Any, var: Any) -> list[tuple[Any, Any]] | None:
    """What a variable that no equation of a jaxpr makes may be, and in which jaxprs that is; None where nobody knows.

    The program's inputs are what everything is taken from, and so are constants that are finite.
    """
    if var not in jaxpr.invars:
        constants = uses.constants(jaxpr, var)
        return [] if constants and all(_are_within(one, math.inf) for one in constants) else None
    if jaxpr is uses.whole:
        return []
    position, runs, found = jaxpr.invars.index(var), uses.runners(jaxpr), list[tuple[Any, Any]]()
    for run in runs:
        at = _operand(run, position, len(jaxpr.invars))
        if at is None:
            return None
        found.append((run.around, run.eqn.invars[at]))
        result = at - len(run.eqn.invars) + len(run.eqn.outvars) if run.eqn.primitive is WHILE_P else -1
        if run.eqn.primitive is SCAN_P:
            fixed, carries = scan_counts(run.eqn.params)
            result = at - fixed if at < fixed + carries else -1
        if result >= 0:
            body = open_jaxpr(run.eqn.params["jaxpr" if run.eqn.primitive is SCAN_P else "body_jaxpr"])[0]
            found.append((body, body.outvars[result]))
    return found if runs else None


def _operand(run: Run, position: int, inputs: int) -> int | None:
    """Which operand of an equation that runs a jaxpr is this one of its inputs; None where nobody knows."""
    primitive, params = run.eqn.primitive, run.eqn.params
    if primitive is not WHILE_P:
        first = int(primitive is COND_P)
        return first + position if primitive is not SHARD_MAP_P and first + inputs == len(run.eqn.invars) else None
    mine = int(params["cond_nconsts"])
    if run.held == "body_jaxpr":
        return mine + position
    return position if position < mine else position + int(params["body_nconsts"])


def multiplies_finite(dot: Any, factor: Any) -> bool:
    """Whether a matrix product multiplies finite numbers as finite ones: not in a type that cannot hold them."""
    source, target = (dtype_info(v.aval.dtype) for v in (factor, dot.outvars[0]))
    if type(dot.params.get("precision")).__name__.startswith("DotAlgorithm"):
        return False
    if source.integral:
        return target.integral or (target.kind == "f" and target.bits >= 32)
    return source.kind == target.kind == "f" and _reaches(factor.aval.dtype) <= _reaches(dot.outvars[0].aval.dtype)
