"""The decorator by which a function says what it is called with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

_F = TypeVar("_F", bound=Callable[..., Any])
_ATTRIBUTE = "__redzone_examples__"


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """One call the function is to be checked for."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


def example(*args: Any, **kwargs: Any) -> Callable[[_F], _F]:
    """Say with what shapes `redzone check FILE` should check the function below; it is returned unchanged.

    The arguments are those of `redzone.check`: arrays, `jax.ShapeDtypeStruct`, `redzone.Spec`, and
    pytrees of them, and `dims=` for constraints on named dimensions; with nothing else, the shapes are those of
    the function's jaxtyping annotations. Stack several to have several calls checked, in the order they are read.
    """
    if len(args) == 1 and not kwargs and _is_plain_function(args[0]):
        raise TypeError(
            f"@redzone.example needs the arguments to check {args[0].__name__!r} with: "
            "write @redzone.example(redzone.Spec((100,), 'float32')), or @redzone.example() if it takes none"
        )

    def attach(fn: _F) -> _F:
        # Decorators apply from the bottom up, so a later one goes in front.
        examples = (Example(args, kwargs), *examples_of(fn))
        try:
            setattr(fn, _ATTRIBUTE, examples)
        except AttributeError:
            raise TypeError(
                f"@redzone.example cannot be attached to a {type(fn).__name__}: put it on a function"
            ) from None
        return fn

    return attach


def examples_of(fn: Any) -> tuple[Example, ...]:
    """The examples attached to a function, or to the function it wraps; empty where there are none."""
    # By way of the dictionary: an object whose __getattr__ answers everything has no examples.
    found = getattr(fn, "__dict__", {}).get(_ATTRIBUTE, ())
    return found if isinstance(found, tuple) else ()


def _is_plain_function(value: Any) -> bool:
    return type(value) is type(_is_plain_function)
