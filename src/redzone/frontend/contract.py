"""What is promised of an array's values, and the fact that a promise makes: no JAX in here."""

from __future__ import annotations

import dataclasses
from typing import Any

import ml_dtypes
import numpy as np

from redzone.domains import Fact, constant, dtype_info, settle, summarised, top
from redzone.domains.fact import NORMAL


@dataclasses.dataclass(frozen=True, slots=True)
class Range:
    """The range an annotated array keeps: `Annotated[jax.Array, redzone.Range(0, 49)]`.

    Both ends are inclusive and None leaves a side open. `finite=True` promises of floats that none is NaN or
    infinite; a range alone does not exclude NaN.
    """

    min: Any = None
    max: Any = None
    finite: bool = dataclasses.field(default=False, kw_only=True)

    def __post_init__(self) -> None:
        for name in ("min", "max"):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool | np.bool_) or not is_number(value)):
                raise TypeError(f"redzone.Range: {name} must be a number, not {value!r}")
        if self.min is None and self.max is None and not self.finite:
            raise ValueError("redzone.Range() says nothing: give it a min, a max or finite=True")
        check_order("redzone.Range", self.min, self.max)

    def __str__(self) -> str:
        return said(self.min, self.max, self.finite)


def is_number(value: Any) -> bool:
    """Whether this is one plain number."""
    return isinstance(value, int | float | np.integer | np.floating)


def said(low: Any, high: Any, finite: bool) -> str:
    """A promise in words: `min=0 max=9 finite`."""
    parts = [f"min={low}"] if low is not None else []
    parts += [f"max={high}"] if high is not None else []
    return " ".join([*parts, *(["finite"] if finite else [])])


def check_order(who: str, low: Any, high: Any) -> None:
    """Raise where no number is above the one and below the other."""
    for name, value in (("min", low), ("max", high)):
        if value is not None and _is_nan(value):
            raise ValueError(f"{who}: {name} is NaN, which no value can be compared with")
    if low is not None and high is not None and np.any(np.asarray(low) > np.asarray(high)):
        raise ValueError(f"{who}: min={low} is above max={high}; no value satisfies that")


def _is_nan(value: Any) -> bool:
    array = np.asarray(value)
    return array.dtype.kind == "f" and bool(np.isnan(array).any())


def check_promise(who: str, dtype: Any, low: Any, high: Any, finite: bool) -> None:
    """Raise ValueError where a promise is nonsense for the dtype, or no value of it keeps the promise."""
    info = dtype_info(dtype)
    for name, value in (("min", low), ("max", high)):
        if value is None:
            continue
        if info.kind == "x":
            raise ValueError(f"{who} cannot have a {name}: its values are not ordered numbers")
        if info.integral and is_plain(value) and np.asarray(value).dtype.kind not in "iub":
            raise ValueError(f"{who}, {name}={value!r}: the bound of an integer must be an integer")
    if finite and info.kind != "f":
        what = "integers are always finite" if info.integral else "it is about floats"
        raise ValueError(f"{who} cannot have finite=True: {what}")
    lowest, highest = ends(dtype, finite) if info.kind != "x" else (low, high)
    for name, value, outside in (("min", low, np.greater), ("max", high, np.less)):
        end = highest if name == "min" else lowest
        if value is not None and is_plain(value) and np.any(outside(np.asarray(value, object), end)):
            side = "above" if name == "min" else "below"
            raise ValueError(f"{who}, {name}={value}: no value is {side} {end}")


def is_plain(value: Any) -> bool:
    """Whether a bound is a number or numbers, not a symbolic dimension."""
    return is_number(value) or isinstance(value, bool | np.ndarray | np.generic | list | tuple)


def is_bound(value: Any) -> bool:
    """Whether this can bound values: numbers, or a size or an expression of sizes."""
    if isinstance(value, str) or not is_plain(value):
        return isinstance(value, str) or hasattr(value, "scope") or hasattr(value, "__array__")
    return np.asarray(value).dtype.kind in "iufb"


def ends(dtype: Any, finite: bool) -> tuple[Any, Any]:
    """The least and the greatest value of a dtype."""
    info = dtype_info(dtype)
    if finite and info.kind == "f":
        largest = float(ml_dtypes.finfo(np.dtype(dtype)).max)  # type: ignore[no-untyped-call]
        return -largest, largest
    return info.min, info.max


def both(one: Any, other: Any, pick: Any) -> Any:
    """The stronger of two bounds on one side; None is no bound."""
    if one is None or other is None:
        return other if one is None else one
    result = pick(one, other)
    return result if np.ndim(result) else result.item()


def promised(aval: Any, low: Any, high: Any, finite: bool = False) -> Fact:
    """What a promise says of the values of an array."""
    dtype = getattr(aval, "dtype", None)
    widest = top(dtype)
    if finite and dtype_info(dtype).kind == "f":
        widest = Fact(*ends(dtype, True))
    if low is None and high is None:
        return widest
    lo = widest.lo if low is None else _bound(_outward(low, dtype, np.minimum))
    hi = widest.hi if high is None else _bound(_outward(high, dtype, np.maximum))
    rank = len(aval.shape)
    lo, hi = _ranked(lo, rank), _ranked(hi, rank)
    alike = type(lo) is type(hi) and type(lo) is not tuple
    fact = settle(lo, hi, widest.nan) if alike else _mixed(lo, hi, widest.nan)
    if dtype_info(dtype).integral or finite:
        # A promise beyond what the dtype holds says no more than the dtype does.
        fact = summarised(fact) if fact.kept and not _within(fact, widest) else fact
        if not fact.kept and is_number(fact.lo) and is_number(fact.hi):
            fact = Fact(max(fact.lo, widest.lo), min(fact.hi, widest.hi), fact.step, fact.nan)
    return fact


def _within(fact: Fact, widest: Fact) -> bool:
    return bool(np.min(fact.lo) >= widest.lo and np.max(fact.hi) <= widest.hi)


def _outward(value: Any, dtype: Any, pick: Any) -> Any:
    """A bound that also the nearest number of the dtype keeps: float32(0.7) is a little above 0.7."""
    if dtype_info(dtype).kind != "f":
        return value
    exact = np.asarray(value, np.float64)
    with np.errstate(over="ignore"):
        held = pick(exact, exact.astype(dtype).astype(np.float64))
    # What is smaller than every normal number may be taken for zero.
    return np.where((held != 0) & (np.abs(held) < NORMAL), pick(held, 0.0), held)


def _bound(value: Any) -> Any:
    """A number, an array kept apart, or the ends of an array that is not."""
    if not is_plain(value):
        return value
    array = np.asarray(value)
    if array.ndim == 0:
        # The bound of a flag is a number like any other.
        return int(array) if array.dtype.kind == "b" else array.item()
    fact = constant(array)
    return fact.lo if fact.kept else (fact.lo, fact.hi)


def _ranked(bound: Any, rank: int) -> Any:
    if type(bound) is np.ndarray:
        return bound.reshape((1,) * (rank - bound.ndim) + bound.shape)
    return bound


def _mixed(lo: Any, hi: Any, nan: bool) -> Fact:
    lowest = lo[0] if type(lo) is tuple else lo
    highest = hi[1] if type(hi) is tuple else hi
    apart = type(lowest) is np.ndarray or type(highest) is np.ndarray
    plain = all(type(x) is np.ndarray or is_number(x) for x in (lowest, highest))
    if apart and plain:
        return settle(lowest, highest, nan)
    if apart:
        return Fact(np.min(lowest).item(), np.max(highest).item(), 1, nan)
    return Fact(lowest, highest, 0 if plain and lowest == highest and not nan else 1, nan)


def first_outside(values: Any, low: Any, high: Any, finite: bool) -> str:
    """Where a concrete array breaks a promise, in words; empty where it keeps it."""
    array = np.asarray(values)
    if dtype_info(array.dtype).kind == "f":
        array = array.astype(np.float64)
    checks = [(array < low, f"below min={low}")] if low is not None and is_plain(low) else []
    checks += [(array > high, f"above max={high}")] if high is not None and is_plain(high) else []
    checks += [(~np.isfinite(array), "not finite")] if finite and array.dtype.kind == "f" else []
    for broken, how in checks:
        if np.any(broken):
            at = np.unravel_index(int(np.argmax(broken)), np.shape(broken)) if np.ndim(broken) else ()
            place = f" at [{', '.join(str(int(k)) for k in at)}]" if at else ""
            value = array[at].item() if np.shape(broken) == array.shape else "a value"
            return f"{value}{place}, which is {how}"
    return ""
