"""A function and its arguments become a jaxpr, with a name and a contract for every input."""

from __future__ import annotations

import dataclasses
import inspect
import time
from collections.abc import Callable
from typing import Any

import jax
import numpy as np

from redzone.domains import Fact
from redzone.frontend.compat import open_jaxpr
from redzone.frontend.contract import check_order, check_promise, promised
from redzone.frontend.failures import explained


class CannotCheck(Exception):
    """The function could not be checked; the message says why and what to do."""


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """An argument's shape and dtype, and the range its values are promised to keep.

    `min` and `max` are inclusive numbers, or arrays broadcastable to the shape; None leaves that side open.
    `finite=True` promises of floats that none is NaN or infinite; a range alone does not exclude NaN.
    """

    shape: tuple[Any, ...]
    dtype: Any
    min: Any = None
    max: Any = None
    finite: bool = False

    def __post_init__(self) -> None:
        given: Any = self.shape
        shape = (given,) if isinstance(given, int) else tuple(given)
        object.__setattr__(self, "shape", shape)
        dtype = self.dtype if _extended(self.dtype) else jax.dtypes.canonicalize_dtype(self.dtype)
        shown = self.dtype if _extended(self.dtype) else np.dtype(self.dtype)
        check_order("Spec", self.min, self.max)
        check_promise(f"Spec({shown})", dtype, self.min, self.max, self.finite)
        for name in ("min", "max"):
            value = getattr(self, name)
            if value is None:
                continue
            try:
                np.broadcast_shapes(np.shape(value), tuple(d if isinstance(d, int) else 1 for d in shape))
            except ValueError:
                raise ValueError(f"Spec: {name} of shape {np.shape(value)} does not broadcast to {shape}") from None


def _extended(dtype: Any) -> bool:
    try:
        return bool(jax.numpy.issubdtype(dtype, jax.dtypes.extended))
    except TypeError:
        return False


@dataclasses.dataclass(frozen=True, slots=True)
class Input:
    """One array the program takes: its name as the user would write it, and its contract."""

    name: str
    aval: Any
    min: Any = None
    max: Any = None
    finite: bool = False

    def fact(self) -> Fact:
        """What the contract says of the values."""
        return promised(self.aval, self.min, self.max, self.finite)

    @property
    def open_below(self) -> bool:
        return self.min is None

    @property
    def open_above(self) -> bool:
        return self.max is None


@dataclasses.dataclass(frozen=True, slots=True)
class Traced:
    """A traced function: its closed jaxpr and one Input per input of it."""

    name: str
    jaxpr: Any
    inputs: tuple[Input, ...]
    seconds: float
    function: Callable[..., Any] | None = None
    unflatten: Callable[[list[Any]], tuple[tuple[Any, ...], dict[str, Any]]] | None = None
    """From one concrete array per input to the (args, kwargs) to call the function with."""


def _is_leaf(x: Any) -> bool:
    return isinstance(x, Spec)


def _is_array(x: Any) -> bool:
    return isinstance(x, bool | int | float | complex | np.generic) or (hasattr(x, "shape") and hasattr(x, "dtype"))


def _argument_names(fn: Callable[..., Any], count: int) -> list[str]:
    """The parameters' names for positional arguments, as far as the signature tells."""
    names: list[str] = []
    try:
        for p in inspect.signature(fn).parameters.values():
            if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD):
                names.append(p.name)
            elif p.kind is p.VAR_POSITIONAL:
                names += [f"{p.name}[{i}]" for i in range(count - len(names))]
    except (TypeError, ValueError):
        pass
    return names[:count] + [f"args[{i}]" for i in range(len(names), count)]


def trace(fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any], *, name: str = "") -> Traced:
    """Trace a function on arrays, ShapeDtypeStructs, Specs, or pytrees of them; anything else is passed as it is."""
    if not callable(fn):
        raise CannotCheck(f"{fn!r} is not a function; pass the function itself, not its result")
    shown = name or getattr(fn, "__qualname__", None) or type(fn).__name__
    names = _argument_names(fn, len(args))
    leaves, tree = jax.tree_util.tree_flatten_with_path((args, kwargs), is_leaf=_is_leaf)
    dynamic = [i for i, (_, leaf) in enumerate(leaves) if _is_leaf(leaf) or _is_array(leaf)]
    held = {i: leaf for i, (_, leaf) in enumerate(leaves)}

    def rebuild(values: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        filled = dict(held)
        filled.update(zip(dynamic, values, strict=True))
        rebuilt_args, rebuilt_kwargs = jax.tree_util.tree_unflatten(tree, [filled[i] for i in range(len(leaves))])
        return rebuilt_args, rebuilt_kwargs

    def flat(*values: Any) -> Any:
        a, k = rebuild(values)
        return fn(*a, **k)

    abstract, inputs = [], []
    for i in dynamic:
        path, leaf = leaves[i]
        label = _label(path, names)
        if _is_leaf(leaf):
            abstract.append(jax.ShapeDtypeStruct(leaf.shape, leaf.dtype))
        else:
            abstract.append(leaf)
        inputs.append((label, leaf))
    started = time.perf_counter()
    closed = _make_jaxpr(flat, abstract, shown)
    seconds = time.perf_counter() - started
    jaxpr, _ = open_jaxpr(closed)
    described = tuple(
        Input(
            label,
            v.aval,
            getattr(leaf, "min", None) if _is_leaf(leaf) else None,
            leaf.max if _is_leaf(leaf) else None,
        )
        for (label, leaf), v in zip(inputs, jaxpr.invars, strict=True)
    )
    return Traced(shown, closed, described, seconds, fn, rebuild)


def _label(path: tuple[Any, ...], names: list[str]) -> str:
    first, second, *rest = path
    if first.idx == 0:
        return str(names[second.idx]) + jax.tree_util.keystr(tuple(rest))
    return str(second.key) + jax.tree_util.keystr(tuple(rest))


def _make_jaxpr(flat: Callable[..., Any], abstract: list[Any], shown: str) -> Any:
    try:
        return jax.make_jaxpr(flat)(*abstract)
    except Exception as error:
        raise CannotCheck(f"{shown} could not be traced: {explained(error)}") from error
