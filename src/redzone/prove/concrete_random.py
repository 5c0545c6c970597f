"""JAX's random numbers by numpy, to the bit: Threefry-2x32 (Salmon et al., SC 2011), as jax.random counts with it.

A key is held as the two words it is made of, in a last dimension of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Final

import jax
import numpy as np

Function = Callable[..., Any]

_ROTATIONS: Final = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY: Final = 0x1BD11BDA
_WORD: Final = 0xFFFFFFFF
#: So many words are made one by one: numpy takes as long for one as for a hundred.
FEW: Final = 16
#: More numbers than this are not drawn here.
MOST: Final = 1 << 16


def threefry(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """What a key makes of two words, each an array."""
    if key.size == 2 and low.size <= FEW:
        return _one_by_one(key, high, low)
    first, second = key[..., 0], key[..., 1]
    words = (first, second, first ^ second ^ np.uint32(_PARITY))
    x, y = high + first, low + second
    for block in range(5):
        for turn in _ROTATIONS[block % 2]:
            x = x + y
            y = ((y << np.uint32(turn)) | (y >> np.uint32(32 - turn))) ^ x
        x, y = x + words[(block + 1) % 3], y + words[(block + 2) % 3] + np.uint32(block + 1)
    return x, y


def _one_by_one(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """The same for one key and few words."""
    first, second = key.reshape(2).tolist()
    pairs = zip(high.reshape(-1).tolist(), low.reshape(-1).tolist(), strict=True)
    made = np.array([_threefry(first, second, x, y) for x, y in pairs], np.uint32).reshape(-1, 2)
    shape = np.broadcast_shapes(key.shape[:-1], low.shape)
    return made[:, 0].reshape(shape), made[:, 1].reshape(shape)


def _threefry(first: int, second: int, x: int, y: int) -> tuple[int, int]:
    """What a key of two words makes of two."""
    words = (first, second, first ^ second ^ _PARITY)
    x, y = (x + first) & _WORD, (y + second) & _WORD
    for block in range(5):
        for turn in _ROTATIONS[block % 2]:
            x = (x + y) & _WORD
            y = (((y << turn) & _WORD) | (y >> (32 - turn))) ^ x
        x, y = (x + words[(block + 1) % 3]) & _WORD, (y + words[(block + 2) % 3] + block + 1) & _WORD
    return x, y


def _drawn(keys: Any, shape: tuple[int, ...]) -> tuple[Any, Any]:
    """Two words for each place of a shape, for each key."""
    count = math.prod(shape)
    places = np.arange(count, dtype=np.uint64).reshape(shape)
    spread = keys.reshape((*keys.shape[:-1], *(1,) * len(shape), 2))
    return threefry(spread, (places >> np.uint64(32)).astype(np.uint32), places.astype(np.uint32))


def _split(eqn: Any, keys: Any) -> Any:
    return np.stack(_drawn(keys, tuple(eqn.params["shape"])), -1)


def _bits(eqn: Any, keys: Any) -> Any:
    high, low = _drawn(keys, tuple(eqn.params["shape"]))
    if eqn.params["bit_width"] == 64:
        return (high.astype(np.uint64) << np.uint64(32)) | low
    return (high ^ low).astype(eqn.outvars[0].aval.dtype)


def _seed(eqn: Any, seed: Any) -> Any:
    wide = seed.astype(np.int64).astype(np.uint64)
    high = wide >> np.uint64(32) if seed.dtype.itemsize == 8 else np.zeros_like(wide)
    return np.stack([high.astype(np.uint32), wide.astype(np.uint32)], -1)


def _fold_in(eqn: Any, keys: Any, data: Any) -> Any:
    return np.stack(threefry(keys, np.uint32(0) * data.astype(np.uint32), data.astype(np.uint32)), -1)


def _same(eqn: Any, x: Any) -> Any:
    return x


_RANDOM: Final[dict[str, Function]] = {
    "random_bits": _bits,
    "random_split": _split,
    "random_fold_in": _fold_in,
    "random_seed": _seed,
    "random_wrap": _same,
    "random_unwrap": _same,
    "random_clone": _same,
}


def _slice(eqn: Any, x: Any) -> Any:
    p = eqn.params
    strides = p["strides"] or (1,) * len(p["start_indices"])
    return x[tuple(slice(*one) for one in zip(p["start_indices"], p["limit_indices"], strides, strict=True))]


def _broadcast(eqn: Any, x: Any) -> Any:
    shape = [1] * len(eqn.params["shape"])
    for d, n in zip(eqn.params["broadcast_dimensions"], x.shape, strict=False):
        shape[d] = n
    return np.broadcast_to(x.reshape((*shape, x.shape[-1])), (*eqn.params["shape"], x.shape[-1]))


#: What moves keys about.
_MOVES: Final[dict[str, Function]] = {
    "slice": _slice,
    "squeeze": lambda eqn, x: x.reshape((*eqn.outvars[0].aval.shape, x.shape[-1])),
    "reshape": lambda eqn, x: x.reshape((*eqn.outvars[0].aval.shape, x.shape[-1])),
    "broadcast_in_dim": _broadcast,
    "concatenate": lambda eqn, *parts: np.concatenate(parts, eqn.params["dimension"]),
    "stack": lambda eqn, *parts: np.stack(parts, eqn.params["axis"]),
    "unstack": lambda eqn, x: list(np.moveaxis(x, eqn.params["axis"], 0)),
    "transpose": lambda eqn, x: x.transpose((*eqn.params["permutation"], x.ndim - 1)),
}


def is_key(aval: Any) -> bool:
    """Whether an array holds random keys."""
    dtype = getattr(aval, "dtype", None)
    if dtype is None or isinstance(dtype, np.dtype):
        return False
    return bool(jax.numpy.issubdtype(dtype, jax.dtypes.prng_key))


def words(keys: Any) -> Any:
    """The words that keys are made of."""
    return np.asarray(jax.random.key_data(keys))


def keyed(value: Any, aval: Any) -> Any:
    """Words as the keys they are."""
    return jax.random.wrap_key_data(value, impl=aval.dtype._impl.name)


def random_function(eqn: Any) -> Function | None:
    """How numpy evaluates an equation of random keys; None where there are none, or it cannot."""
    name, avals = eqn.primitive.name, [v.aval for v in (*eqn.invars, *eqn.outvars)]
    function = _RANDOM.get(name) or (_MOVES.get(name) if any(map(is_key, avals)) else None)
    if function is None or not _is_counted(name, avals):
        return None
    if any(type(n) is not int for n in eqn.outvars[0].aval.shape) or math.prod(eqn.outvars[0].aval.shape) > MOST:
        return None
    return function


def _is_counted(name: str, avals: list[Any]) -> bool:
    """Whether keys are Threefry's, and places are counted each by itself, as is JAX's habit."""
    if not all(str(aval.dtype) == "key<fry>" for aval in avals if is_key(aval)):
        return False
    alone: Any = jax.config.jax_threefry_partitionable  # type: ignore[attr-defined]
    return name not in ("random_bits", "random_split") or bool(alone)
