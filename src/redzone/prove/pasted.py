"""Values as Python source, short enough to read and ready to paste."""

from __future__ import annotations

import math
from typing import Any, Final

import numpy as np

from redzone.prove.concrete_random import is_key, words

#: An array of at most this many elements is written out.
WRITTEN: Final = 32
#: How many elements that differ from all the others are told one by one.
APART: Final = 3


def pasted(value: Any) -> str:
    """A value as Python source where that is short, else its type."""
    if not isinstance(value, np.ndarray):
        return _key(value)
    dtype = value.dtype.name
    if value.ndim == 0:
        return repr(bool(value)) if dtype == "bool" else f"jnp.{dtype}({_number(value[()])})"
    if value.size == 0:
        return f"jnp.zeros({value.shape}, '{dtype}')"
    first = value.flat[0]
    if _same(value, first).all():
        return f"jnp.full({value.shape}, {_number(first)}, '{dtype}')"
    if value.size <= WRITTEN:
        return f"jnp.array({_nested(value)}, '{dtype}')"
    return _few(value) or _growing(value) or _rows(value) or f"<{dtype}{list(value.shape)}>"


def _key(value: Any) -> str:
    if not is_key(value):
        return repr(value)
    made_of = words(value)
    seed = made_of.reshape(-1, made_of.shape[-1])[0]
    if seed[:-1].any() or (made_of != seed).any():
        return f"jax.random.wrap_key_data(jnp.array({_nested(made_of)}, 'uint32'))"
    key = f"jax.random.key({seed[-1]})"
    return f"jnp.broadcast_to({key}, {value.shape})" if value.shape else key


def _same(value: np.ndarray, number: Any) -> np.ndarray:
    return np.asarray((value == number) | ((value != value) & bool(number != number)))


def _number(number: Any) -> str:
    """A number in as few digits as its own type needs."""
    exact = number.item()
    if isinstance(exact, float):
        if not math.isfinite(exact):
            return "jnp.nan" if math.isnan(exact) else ("jnp.inf" if exact > 0 else "-jnp.inf")
        few = float(str(number))
        return repr(few if number.dtype.type(few) == number else exact)
    return repr(exact)


def _nested(values: Any) -> str:
    return f"[{', '.join(map(_nested, values))}]" if values.ndim else _number(values[()])


def _few(value: np.ndarray) -> str:
    """An array that holds one number nearly everywhere."""
    # Where so few differ, two of the first four and the last agree.
    for number in (value.flat[0], value.flat[-1], value.flat[1]):
        places = np.argwhere(~_same(value, number))
        if len(places) <= APART:
            sets = ""
            for place in places:
                at = ", ".join(map(str, place))
                sets += f".at[{at}].set({_number(value[tuple(place)])})"
            return f"jnp.full({value.shape}, {_number(number)}, '{value.dtype.name}'){sets}"
    return ""


def _growing(value: np.ndarray) -> str:
    """0, 1, 2 and so on."""
    if not (value.ravel() == np.arange(value.size).astype(value.dtype)).all():
        return ""
    shape = f".reshape({value.shape})" if value.ndim > 1 else ""
    return f"jnp.arange({value.size}).astype('{value.dtype.name}'){shape}"


def _rows(value: np.ndarray) -> str:
    """The same row again and again."""
    row = value[(0,) * (value.ndim - 1)]
    if value.ndim < 2 or row.size > WRITTEN or not (value == row).all():
        return ""
    return f"jnp.broadcast_to({pasted(row)}, {value.shape})"
