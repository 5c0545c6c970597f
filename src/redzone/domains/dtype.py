"""What a number type can hold, without asking JAX."""

from __future__ import annotations

import dataclasses
from typing import Any, Final

import ml_dtypes
import numpy as np


@dataclasses.dataclass(frozen=True, slots=True)
class DtypeInfo:
    """kind: "b"ool, "i"nt, "u"nsigned, "f"loat, or "x" for anything whose values are not tracked."""

    kind: str
    min: Any
    max: Any
    bits: int
    mantissa: int = 0
    integral: bool = dataclasses.field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "integral", self.kind in "biu")


_INFINITY: Final = float("inf")
OPAQUE: Final = DtypeInfo("x", -_INFINITY, _INFINITY, 0)
_KNOWN: Final[dict[Any, DtypeInfo]] = {}


def dtype_info(dtype: Any) -> DtypeInfo:
    """The range of a dtype; extended dtypes (PRNG keys), complex and tokens are opaque."""
    # Of the commonest there is one object each, so that nothing need be looked up.
    if dtype is _INT32:
        return _INT32_INFO
    if dtype is _FLOAT32:
        return _FLOAT32_INFO
    if dtype is _BOOL:
        return _BOOL_INFO
    try:
        return _KNOWN[dtype]
    except KeyError:
        info = _KNOWN[dtype] = _measure(dtype)
        return info


def _measure(dtype: Any) -> DtypeInfo:
    if not isinstance(dtype, np.dtype):
        try:
            dtype = np.dtype(dtype)
        except TypeError:
            return OPAQUE
    if dtype == np.bool_:
        return DtypeInfo("b", 0, 1, 1)
    if dtype.kind in "iu":
        integer = np.iinfo(dtype)
        return DtypeInfo(dtype.kind, int(integer.min), int(integer.max), integer.bits)
    try:
        small = ml_dtypes.iinfo(dtype)  # type: ignore[no-untyped-call]
        return DtypeInfo("i" if small.min < 0 else "u", int(small.min), int(small.max), small.bits)
    except ValueError:
        pass
    if dtype.kind == "c":
        return OPAQUE
    try:
        real = ml_dtypes.finfo(dtype)  # type: ignore[no-untyped-call]
        return DtypeInfo("f", -_INFINITY, _INFINITY, real.bits, real.nmant + 1)
    except ValueError:
        return OPAQUE


_INT32: Final = np.dtype(np.int32)
_FLOAT32: Final = np.dtype(np.float32)
_BOOL: Final = np.dtype(np.bool_)
_INT32_INFO: Final = _measure(_INT32)
_FLOAT32_INFO: Final = _measure(_FLOAT32)
_BOOL_INFO: Final = _measure(_BOOL)
