"""What annotations promise: the `redzone.Range`s on parameters and on the fields of what is passed for them."""

from __future__ import annotations

import functools
import inspect
import re
import types
import typing
from collections.abc import Mapping, Sequence
from typing import Any

import jax

from redzone.frontend.contract import Range
from redzone.frontend.failures import CannotCheck

_RANGE = re.compile(r"\bRange\s*\(")


def hints_of(target: Any) -> dict[str, Any]:
    """The annotations of a function or class, evaluated where that is possible."""
    try:
        return typing.get_type_hints(target, include_extras=True)
    except Exception:
        pass
    # Whatever an annotation raises when evaluated, it hides none of the others.
    found: dict[str, Any] = {}
    for owner in reversed(target.__mro__) if isinstance(target, type) else (target,):
        annotations = getattr(owner, "__annotations__", {})
        if isinstance(annotations, dict):
            found.update({name: _evaluated(hint, owner) for name, hint in annotations.items()})
    return found


def _evaluated(hint: Any, owner: Any) -> Any:
    if isinstance(hint, typing.ForwardRef):
        hint = hint.__forward_arg__
    if not isinstance(hint, str):
        return hint
    names = dict(getattr(inspect.getmodule(owner), "__dict__", {}))
    names.update(getattr(owner, "__globals__", {}))
    try:
        if isinstance(owner, types.FunctionType):
            cells = zip(owner.__code__.co_freevars, owner.__closure__ or (), strict=True)
            names.update({name: cell.cell_contents for name, cell in cells})
        return eval(hint, names)
    except Exception as error:
        if _RANGE.search(hint):
            name = getattr(owner, "__qualname__", owner)
            raise CannotCheck(
                f"the annotation {hint!r} of {name} promises a range but cannot be evaluated ({error}); "
                "define what it names at the top of the module"
            ) from None
        return hint


def function_behind(fn: Any) -> Any:
    """The function whose annotations describe a call of `fn`."""
    while True:
        if isinstance(fn, functools.partial):
            fn = fn.func
            continue
        inner = inspect.unwrap(fn)
        if inner is fn:
            break
        fn = inner
    if not isinstance(fn, type) and not inspect.isroutine(fn) and callable(fn):
        return type(fn).__call__
    return fn


class Promises:
    """The ranges that annotations promise for the leaves of one call."""

    def __init__(self, fn: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        self.args, self.kwargs = args, kwargs
        self.hints = hints_of(function_behind(fn))
        self.positional, self.others, self.keywords = self._parameters(fn)

    def _parameters(self, fn: Any) -> tuple[list[str], str, str]:
        try:
            parameters = inspect.signature(fn).parameters.values()
        except (TypeError, ValueError):
            return [], "", ""
        bound = fn.keywords if isinstance(fn, functools.partial) else {}
        plain = [
            p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) and p.name not in bound
        ]
        others = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "")
        keywords = next((p.name for p in parameters if p.kind is p.VAR_KEYWORD), "")
        return plain, others, keywords

    def at(self, path: tuple[Any, ...]) -> list[Range]:
        """The ranges promised for the leaf at a path of `(args, kwargs)`."""
        first, second, *rest = path
        if first.idx == 0:
            value = self.args[second.idx]
            name = self.positional[second.idx] if second.idx < len(self.positional) else self.others
        else:
            value = self.kwargs[second.key]
            name = second.key if second.key in self.hints else self.keywords
        return list(_ranges(value, self.hints.get(name), tuple(rest)))


def _ranges(value: Any, hint: Any, path: tuple[Any, ...]) -> list[Range]:
    found, hint = _opened(hint)
    if not path:
        return found
    key, *rest = path
    name = _field(value, key)
    inner = _class_hints(type(value)).get(name) if name else None
    if inner is None:
        inner = _element(hint, key)
    return found + _ranges(_child(value, key, name), inner, tuple(rest))


def _opened(hint: Any) -> tuple[list[Range], Any]:
    """The ranges written on an annotation, and what is annotated."""
    found: list[Range] = []
    while True:
        origin = typing.get_origin(hint)
        if origin is typing.Annotated:
            found += [m for m in hint.__metadata__ if isinstance(m, Range)]
            if any(m is Range for m in hint.__metadata__):
                raise CannotCheck("an annotation holds redzone.Range itself: write redzone.Range(min, max)")
            hint = hint.__origin__
        elif origin in (typing.Union, types.UnionType):
            # `... | None` is about the array where there is one; of other unions nobody knows which side it is.
            members = [m for m in typing.get_args(hint) if m is not type(None)]
            if len(members) != 1:
                return found, None
            hint = members[0]
        elif origin in (typing.Required, typing.NotRequired, typing.ClassVar, typing.Final):
            hint = typing.get_args(hint)[0]
        elif isinstance(hint, typing.TypeAliasType) if hasattr(typing, "TypeAliasType") else False:
            hint = hint.__value__
        else:
            return found, hint


def _class_hints(cls: Any) -> dict[str, Any]:
    return {} if cls.__module__ == "builtins" else _cached_hints(cls)


@functools.lru_cache(maxsize=512)
def _cached_hints(cls: Any) -> dict[str, Any]:
    return hints_of(cls)


def _field(value: Any, key: Any) -> str:
    """The attribute of an object that a key of its pytree leads to; empty where it is none."""
    if isinstance(value, Mapping | list | set) or type(value) is tuple:
        return ""
    name = getattr(key, "name", None) or getattr(key, "key", None)
    if isinstance(name, str):
        return name
    # Registered without names: its children are told apart by being what the attributes hold.
    child = _flattened(value, key)
    names = [n for n in _class_hints(type(value)) if child is not None and getattr(value, n, None) is child]
    return names[0] if len(names) == 1 else ""


def _flattened(value: Any, key: Any) -> Any:
    children = jax.tree_util.tree_leaves(value, is_leaf=lambda x: x is not value)
    place = getattr(key, "key", getattr(key, "idx", None))
    return children[place] if isinstance(place, int) and place < len(children) else None


def _child(value: Any, key: Any, name: str) -> Any:
    if name:
        return getattr(value, name, None)
    place = getattr(key, "key", getattr(key, "idx", None))
    try:
        return value[place]
    except (TypeError, KeyError, IndexError):
        return _flattened(value, key)


def _element(hint: Any, key: Any) -> Any:
    """What a container's annotation says of its element at a key."""
    place = getattr(key, "key", getattr(key, "idx", None))
    if isinstance(hint, type) and issubclass(hint, dict):
        return _class_hints(hint).get(str(place))  # a TypedDict
    members = typing.get_args(hint)
    origin = typing.get_origin(hint)
    if not members or not isinstance(origin, type):
        return None
    if issubclass(origin, tuple):
        if len(members) == 2 and members[1] is Ellipsis:
            return members[0]
        return members[place] if isinstance(place, int) and place < len(members) else None
    if issubclass(origin, Mapping):
        return members[1] if len(members) == 2 else None
    return members[0] if issubclass(origin, Sequence) else None
