"""A function and its arguments become a jaxpr, with a name and a contract for every input."""

from __future__ import annotations

import dataclasses
import inspect
import time
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from redzone.domains import Fact
from redzone.frontend.annotations import Promises
from redzone.frontend.compat import open_jaxpr
from redzone.frontend.contract import Range, both, check_order, check_promise, is_bound, promised, said
from redzone.frontend.dimensions import check_constraints, names_in, resolved, scope_of
from redzone.frontend.failures import CannotCheck as CannotCheck
from redzone.frontend.failures import explained, wants_static


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class Spec:
    """An argument's shape and dtype, and the range its values are promised to keep.

    A dimension is a number, a symbolic one of jax.export, or a name or expression of names as a string, such as
    "n" or "n+1": equal names are equal sizes within one check.
    `min` and `max` are inclusive numbers, or arrays broadcastable to the shape, or such an expression: "n-1"; None
    leaves that side open.
    `finite=True` promises of floats that none is NaN or infinite; a range alone does not exclude NaN.
    """

    shape: tuple[Any, ...]
    dtype: Any
    min: Any = None
    max: Any = None
    finite: bool = False

    def __post_init__(self) -> None:
        given: Any = self.shape
        shape = (given,) if isinstance(given, int | str) else tuple(given)
        object.__setattr__(self, "shape", shape)
        negative = [d for d in shape if isinstance(d, int) and d < 0]
        if negative:
            raise ValueError(f"Spec: the shape {shape} has a dimension of size {negative[0]}; sizes are 0 or more")
        if not _extended(self.dtype):
            _check_dtype(self.dtype)
        dtype = self.dtype if _extended(self.dtype) else jax.dtypes.canonicalize_dtype(self.dtype)
        shown = self.dtype if _extended(self.dtype) else np.dtype(self.dtype)
        for name in ("min", "max"):
            value = getattr(self, name)
            if isinstance(value, jax.Array):
                value = np.asarray(value)
                object.__setattr__(self, name, value)
            if value is not None and not is_bound(value):
                raise TypeError(f"Spec: {name} must be a number, an array of numbers or a size, not {value!r}")
        if not isinstance(self.min, str) and not isinstance(self.max, str):
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


def _check_dtype(dtype: Any) -> None:
    try:
        np.dtype(dtype)
    except TypeError:
        raise TypeError(
            f"Spec: {dtype!r} is no dtype; write it as numpy does, 'int32', or give jnp.int32. For a random key, "
            "pass one: jax.random.key(0)"
        ) from None


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
    origin: str = ""
    """Where it stands in the call: `tokens: argument 2`."""

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


def takes_dims(fn: Callable[..., Any]) -> bool:
    """Whether a function has a parameter of its own called `dims`."""
    try:
        return "dims" in inspect.signature(fn).parameters
    except (TypeError, ValueError):
        return False


def trace(
    fn: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    *,
    name: str = "",
    dims: Sequence[str] = (),
    is_input: Callable[[Any], bool] | None = None,
    make: Callable[[Callable[..., Any], list[Any], str], Any] | None = None,
) -> Traced:
    """Trace a function on arrays, ShapeDtypeStructs, Specs, or pytrees of them; anything else is passed as it is.

    `dims` are constraints on the dimensions that Specs name. `is_input` says which leaves are inputs of the program,
    `make` makes a closed jaxpr of a function of just those; both have the usual meaning where they are left out.
    """
    if not callable(fn):
        raise CannotCheck(f"{fn!r} is not a function; pass the function itself, not its result")
    shown = name or getattr(fn, "__qualname__", None) or type(fn).__name__
    names = _argument_names(fn, len(args))
    leaves, tree = jax.tree_util.tree_flatten_with_path((args, kwargs), is_leaf=_is_leaf)
    wanted = is_input or (lambda leaf: _is_leaf(leaf) or _is_array(leaf))
    dynamic = [i for i, (_, leaf) in enumerate(leaves) if wanted(leaf)]
    held = {i: leaf for i, (_, leaf) in enumerate(leaves)}

    def rebuild(values: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        filled = dict(held)
        filled.update(zip(dynamic, values, strict=True))
        rebuilt_args, rebuilt_kwargs = jax.tree_util.tree_unflatten(tree, [filled[i] for i in range(len(leaves))])
        return rebuilt_args, rebuilt_kwargs

    def flat(*values: Any) -> Any:
        a, k = rebuild(values)
        return fn(*a, **k)

    for path, leaf in leaves:
        _check_hidden(_label(path, names), leaf)
    promises = Promises(fn, args, kwargs)
    shapes, scope = _shapes([leaves[i][1] for i in dynamic], dims)
    abstract, inputs = [], []
    for i, shape in zip(dynamic, shapes, strict=True):
        path, leaf = leaves[i]
        leaf = _with_sizes(leaf, scope) if _is_leaf(leaf) else leaf
        label = _label(path, names)
        abstract.append(jax.ShapeDtypeStruct(shape, leaf.dtype) if _is_leaf(leaf) else leaf)
        inputs.append((label, leaf, promises.at(path), _origin(path, names)))
    started = time.perf_counter()
    try:
        closed = (make or _make_jaxpr)(flat, abstract, shown)
    except CannotCheck as error:
        # What the function itself declares static is known to Python, so it is a constant here too.
        plain = any(_is_plain(leaves[i][1]) for i in dynamic)
        if is_input is not None or not plain or not wants_static(error.__cause__):
            raise
        varying = lambda leaf: wanted(leaf) and not _is_plain(leaf)  # noqa: E731
        return trace(fn, args, kwargs, name=name, dims=dims, is_input=varying, make=make)
    seconds = time.perf_counter() - started
    jaxpr, _ = open_jaxpr(closed)
    # Values of an enclosing trace that the function closes over come first.
    outer = len(jaxpr.invars) - len(inputs)
    described = tuple(
        Input(f"closed-over value {k}", v.aval, origin="from the enclosing function")
        for k, v in enumerate(jaxpr.invars[:outer])
    ) + tuple(
        dataclasses.replace(_input(label, v.aval, leaf if _is_leaf(leaf) else None, ranges), origin=origin)
        for (label, leaf, ranges, origin), v in zip(inputs, jaxpr.invars[outer:], strict=True)
    )
    return Traced(shown, closed, described, seconds, fn, lambda values: rebuild(values[outer:]))


def _is_plain(leaf: Any) -> bool:
    return isinstance(leaf, bool | int | float | complex)


def _check_hidden(label: str, leaf: Any) -> None:
    """Raise where an argument is an object of which JAX cannot see that it holds arrays."""
    held = getattr(leaf, "__dict__", None)
    if _is_leaf(leaf) or _is_array(leaf) or callable(leaf) or not isinstance(held, dict):
        return
    if any(isinstance(x, Spec | jax.ShapeDtypeStruct) for x in jax.tree_util.tree_leaves(held, is_leaf=_is_leaf)):
        kind = type(leaf).__name__
        raise CannotCheck(
            f"{label} is a {kind}, which is no pytree, so the arrays in it cannot be seen; register the class, as with "
            f"jax.tree_util.register_dataclass({kind}, data_fields=[...], meta_fields=[...])"
        )


def _with_sizes(spec: Spec, scope: Any) -> Spec:
    """A Spec whose bounds written as expressions of names are sizes of the scope."""
    if not isinstance(spec.min, str) and not isinstance(spec.max, str):
        return spec
    low, high = resolved((spec.min, spec.max), scope)
    return dataclasses.replace(spec, min=low, max=high)


def _shapes(leaves: Sequence[Any], dims: Sequence[str]) -> tuple[list[tuple[Any, ...]], Any]:
    """The shapes of the Specs among the leaves, named dimensions made symbolic, and the scope of the names."""
    shapes = [leaf.shape if _is_leaf(leaf) else () for leaf in leaves]
    named = [d for shape in shapes for d in shape if isinstance(d, str)]
    bounds = [b for leaf in leaves if _is_leaf(leaf) for b in (leaf.min, leaf.max) if isinstance(b, str)]
    if not named and not dims and not bounds:
        return shapes, None
    other = next((d for leaf in leaves for d in getattr(leaf, "shape", ()) if jax.export.is_symbolic_dim(d)), None)
    if other is not None and dims:
        raise CannotCheck(
            f"dims={tuple(dims)!r} is for dimensions that Specs name, as in Spec(('n',), 'float32'); the dimension "
            f"{other} was made elsewhere: give its constraints to jax.export.symbolic_shape"
        )
    scope = scope_of(dims) if other is None else other.scope
    known = {name for text in named for name in names_in(text)}
    check_constraints(dims, known, scope)
    strange = next((text for text in bounds if other is None and not names_in(text) <= known), None)
    if strange is not None:
        has = f"there are {', '.join(sorted(known))}" if known else "no argument has a named one"
        raise CannotCheck(f"the bound {strange!r} of a Spec is about a dimension nothing has; {has}")
    return [resolved(shape, scope) for shape in shapes], scope


def _input(label: str, aval: Any, spec: Spec | None, ranges: Sequence[Range]) -> Input:
    """An input under all that is promised of it."""
    low, high, finite = (spec.min, spec.max, spec.finite) if spec is not None else (None, None, False)
    for one in ranges:
        who = f"redzone.Range({one}) of {label}, which is {aval.dtype}"
        try:
            check_promise(who, aval.dtype, one.min, one.max, one.finite)
        except ValueError as error:
            raise CannotCheck(str(error)) from None
        before = said(low, high, finite)
        low, high = both(low, one.min, np.maximum), both(high, one.max, np.minimum)
        finite = finite or one.finite
        if low is not None and high is not None and np.any(np.asarray(low) > np.asarray(high)):
            raise CannotCheck(f"{label}: no value keeps both {before} and {one}, which its annotation promises")
    return Input(label, aval, low, high, finite)


def _label(path: tuple[Any, ...], names: list[str]) -> str:
    first, second, *rest = path
    if first.idx == 0:
        return str(names[second.idx]) + jax.tree_util.keystr(tuple(rest))
    return str(second.key) + jax.tree_util.keystr(tuple(rest))


def _origin(path: tuple[Any, ...], names: list[str]) -> str:
    """Where in the call an input is: by the position of the argument it is part of, or as a keyword."""
    first, second, *_ = path
    if first.idx == 0:
        return f"{names[second.idx]}: argument {second.idx + 1}"
    return f"{second.key}: keyword argument"


def _make_jaxpr(flat: Callable[..., Any], abstract: list[Any], shown: str) -> Any:
    def arrays(*values: Any) -> list[Any]:
        # What else a function returns, such as names or functions, has no equations.
        return [leaf for leaf in jax.tree_util.tree_leaves(flat(*values)) if _is_array(leaf)]

    try:
        return jax.make_jaxpr(arrays)(*abstract)
    except Exception as error:
        raise CannotCheck(f"{shown} could not be traced: {explained(error)}") from error
