"""Argument specs from jaxtyping annotations: `Float[Array, "batch 128"]` for every batch at once.

jaxtyping itself is never imported; its annotations are known by `.dtypes`, `.dim_str`, `.array_type`.
"""

from __future__ import annotations

import ast
import inspect
import operator
import types
import typing
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
from jax import export

from redzone.frontend.annotations import hints_of
from redzone.frontend.dimensions import check_constraints, scope_of
from redzone.frontend.example import Example
from redzone.frontend.trace import CannotCheck, Spec

# An annotation such as Float or Int admits many dtypes; the check uses the one JAX makes by default.
_PREFERRED = ("float32", "int32", "uint32", "complex64", "bool")

_OPERATORS: dict[type[ast.AST], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}


def says_shapes(fn: Any) -> bool:
    """Whether any parameter of `fn` has a jaxtyping annotation."""
    return any(_arrays_in(hint) for name, hint in _hints(fn).items() if name != "return")


def annotated_example(fn: Any, dims: Sequence[str] = ()) -> Example:
    """The call that `fn`'s annotations describe, each named dimension a symbolic one shared by all.

    `dims` are constraints on those dimensions.
    """
    dimensions = _Dimensions(_name(fn), dims)
    call = dimensions.example(fn)
    check_constraints(dims, dimensions.names, dimensions.scope)
    return call


class _Dimensions:
    """The symbolic dimensions of one function: one scope, one symbol for each name."""

    def __init__(self, function: str, constraints: Sequence[str] = ()) -> None:
        self.function = function
        self.scope = scope_of(constraints)
        self.names: set[str] = set()
        self.fresh = 0

    def example(self, fn: Any) -> Example:
        hints = _hints(fn)
        args: list[Any] = []
        kwargs: dict[str, Any] = {}
        positional = True
        for parameter in inspect.signature(fn).parameters.values():
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
                positional = False
                continue
            hint = hints.get(parameter.name)
            has_default = parameter.default is not parameter.empty
            if not _arrays_in(hint):
                if has_default:
                    # What follows can no longer be passed by position without naming this value.
                    positional = False
                    continue
                raise CannotCheck(
                    f"{self.function}: parameter {parameter.name!r} has no jaxtyping annotation and no "
                    "default; annotate it, or give the whole call with @redzone.example(...)"
                )
            value = self.value(parameter.name, hint)
            if positional and parameter.kind is not parameter.KEYWORD_ONLY:
                args.append(value)
            elif parameter.kind is parameter.POSITIONAL_ONLY:
                raise CannotCheck(
                    f"{self.function}: positional-only parameter {parameter.name!r} follows one without "
                    "an annotation; give the whole call with @redzone.example(...)"
                )
            else:
                kwargs[parameter.name] = value
        return Example(tuple(args), kwargs)

    def value(self, parameter: str, hint: Any) -> Any:
        if _is_array(hint):
            return self.array(parameter, hint)
        members = typing.get_args(hint)
        if typing.get_origin(hint) is typing.Annotated:
            return self.value(parameter, members[0])
        if typing.get_origin(hint) in (typing.Union, types.UnionType):
            # A union such as jaxtyping's PRNGKeyArray, or `... | None`: the first array of it.
            return self.value(parameter, next(m for m in members if _arrays_in(m)))
        if typing.get_origin(hint) is tuple and Ellipsis not in members:
            return tuple(self.value(parameter, m) for m in members)
        raise CannotCheck(
            f"{self.function}: cannot tell the shapes of parameter {parameter!r} from {_shown(hint)}; "
            "give the whole call with @redzone.example(...)"
        )

    def array(self, parameter: str, hint: Any) -> Spec:
        shape = tuple(self.dimension(parameter, hint.dim_str, d) for d in hint.dim_str.split())
        return Spec(shape, _dtype(hint.dtypes))

    def dimension(self, parameter: str, dim_str: str, text: str) -> Any:
        name, equals, size = text.partition("=")
        if equals and name.isidentifier():
            text = size
        if text == "..." or text.startswith("*"):
            raise self.cannot(parameter, dim_str, text, "stands for any number of axes")
        if text.startswith("#"):
            raise self.cannot(parameter, dim_str, text, "may be broadcast, so it is two shapes in one")
        if text.startswith("?") or "{" in text:
            raise self.cannot(parameter, dim_str, text, "is only known when the function is called")
        if text.startswith("_") and text.isidentifier():
            # An anonymous axis: each is a size of its own.
            self.fresh += 1
            return self.symbol(f"{parameter}_{self.fresh}")
        try:
            return self.evaluate(ast.parse(text, mode="eval").body)
        except (SyntaxError, KeyError, TypeError):
            raise self.cannot(parameter, dim_str, text, "is not an integer expression of names") from None

    def evaluate(self, node: ast.expr) -> Any:
        match node:
            case ast.Constant(value=int() as size):
                return size
            case ast.Name(id=name):
                return self.symbol(name)
            case ast.BinOp(left=left, op=op, right=right):
                return _OPERATORS[type(op)](self.evaluate(left), self.evaluate(right))
            case ast.UnaryOp(op=ast.USub(), operand=operand):
                return -self.evaluate(operand)
            case _:
                raise KeyError(ast.dump(node))

    def symbol(self, name: str) -> Any:
        self.names.add(name)
        return export.symbolic_shape(name, scope=self.scope)[0]

    def cannot(self, parameter: str, dim_str: str, text: str, why: str) -> CannotCheck:
        return CannotCheck(
            f"{self.function}: in the annotation {dim_str!r} of parameter {parameter!r}, {text!r} {why}; "
            "give concrete shapes with @redzone.example(...)"
        )


def _is_array(hint: Any) -> bool:
    return all(hasattr(hint, attribute) for attribute in ("dtypes", "dim_str", "array_type"))


def _arrays_in(hint: Any) -> bool:
    """Whether an annotation is a jaxtyping array or holds one somewhere."""
    if _is_array(hint):
        return True
    # PyTree[Float[Array, "n"]] keeps what is in it under `leaftype`.
    inside: Iterator[Any] = iter((*typing.get_args(hint), getattr(hint, "leaftype", None)))
    return any(_arrays_in(member) for member in inside if member is not None)


def _dtype(dtypes: Any) -> Any:
    if not isinstance(dtypes, tuple | list):
        return "float32"  # Shaped: any dtype will do
    if "prng_key" in dtypes:
        return jax.eval_shape(jax.random.key, 0).dtype
    names = ["bool" if name == "bool_" else str(name) for name in dtypes]
    return next((name for name in _PREFERRED if name in names), names[0])


def _hints(fn: Any) -> dict[str, Any]:
    return hints_of(inspect.unwrap(fn))


def _name(fn: Any) -> str:
    return str(getattr(fn, "__qualname__", None) or getattr(fn, "__name__", None) or fn)


def _shown(hint: Any) -> str:
    return str(hint.__name__ if isinstance(hint, type) else hint)
