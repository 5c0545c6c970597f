"""Argument specs as a command line writes them: `f32[n,128]`, `i32[1000] min=0 max=99999`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

import jax
from jax import export

from redzone.frontend.dimensions import check_constraints, names_in, scope_of
from redzone.frontend.example import Example
from redzone.frontend.trace import CannotCheck, Spec

_SPEC = re.compile(
    r"""\s*(?:(?P<name>[A-Za-z_]\w*)\s*=\s*)?     # a keyword argument
        (?P<dtype>[A-Za-z]\w*)\s*
        \[(?P<shape>[^\[\]]*)\]
        (?P<range>(?:\s+(?:(?:min|max)=\S+|finite))*)\s*""",
    re.VERBOSE,
)
_FAMILY = {"f": "float", "i": "int", "u": "uint", "c": "complex", "bf": "bfloat"}
_SHORT = re.compile(r"(?P<family>bf|[fiuc])(?P<rest>\d+\w*)")


def example_from_texts(texts: Iterable[str], dims: Sequence[str] = ()) -> Example:
    """The call that the `--arg` texts describe, in order; equal dimension names are equal sizes under `dims`."""
    texts = tuple(texts)
    scope = scope_of(dims)
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    for text in texts:
        name, spec = spec_from_text(text, scope)
        if name:
            kwargs[name] = spec
        elif kwargs:
            raise CannotCheck(f"--arg {text!r} has no name, but one before it has: put named ones last")
        else:
            args.append(spec)
    named = {name for text in texts if (match := _SPEC.fullmatch(text)) for name in names_in(match["shape"])}
    check_constraints(dims, named, scope)
    for text in texts:
        for bound in re.findall(r"(?:min|max)=(\S+)", text):
            if names_in(bound) - named and not _number(bound):
                raise CannotCheck(f"{bound!r} in --arg {text!r} is neither a number nor made of named dimensions")
    return Example(tuple(args), kwargs)


def spec_from_text(text: str, scope: Any) -> tuple[str, Spec]:
    """The keyword (empty for a positional argument) and the spec that one `--arg` describes."""
    match = _SPEC.fullmatch(text)
    if match is None:
        raise CannotCheck(
            f"cannot read --arg {text!r}: write dtype[shape], as in 'f32[1000,n]', 'i32[]' or "
            "'i32[10] min=0 max=9', 'f32[10] finite'; name=dtype[shape] for a keyword argument"
        )
    dtype = _dtype(match["dtype"], text)
    words = match["range"].split()
    shape = _shape(match["shape"], scope, text)
    limits = dict(_limit(item, text, scope) for item in words if item != "finite")
    try:
        spec = Spec(shape, dtype, min=limits.get("min"), max=limits.get("max"), finite="finite" in words)
    except ValueError as error:
        raise CannotCheck(f"--arg {text!r}: {error}") from None
    return match["name"] or "", spec


def _shape(shape: str, scope: Any, text: str) -> tuple[Any, ...]:
    if not shape.strip():
        return ()
    try:
        return tuple(export.symbolic_shape(shape, scope=scope))
    except Exception as error:
        # JAX's parser raises several types here, all of them about the text.
        raise CannotCheck(
            f"cannot read the shape of --arg {text!r}: {str(error).splitlines()[0]}; a dimension is a "
            "number, a name such as n, or an expression such as n+1"
        ) from None


def _dtype(name: str, text: str) -> Any:
    if name == "key":
        return jax.eval_shape(jax.random.key, 0).dtype
    short = _SHORT.fullmatch(name)
    full = _FAMILY[short["family"]] + short["rest"] if short else name
    try:
        dtype = jax.numpy.dtype(full)
    except TypeError:
        raise CannotCheck(
            f"no dtype is called {name!r} in --arg {text!r}; known are f16 f32 f64 bf16 f8_e4m3fn … "
            "i8 … i64 u8 … u64 c64 c128 bool key"
        ) from None
    if jax.dtypes.canonicalize_dtype(dtype) != dtype:
        raise CannotCheck(f"--arg {text!r} is a 64-bit type, which JAX would cut to 32 bits; set JAX_ENABLE_X64=1")
    return dtype


def _limit(item: str, text: str, scope: Any) -> tuple[str, Any]:
    key, _, bound = item.partition("=")
    number = _number(bound)
    if number:
        return key, number[0]
    try:
        return key, export.symbolic_shape(bound, scope=scope)[0]
    except Exception:
        # JAX's parser raises several types here, all of them about the text.
        raise CannotCheck(f"{key} in --arg {text!r} must be a number, or a size such as n-1, not {bound!r}") from None


def _number(text: str) -> list[int | float]:
    """The number that a text is, or none."""
    for kind in (int, float):
        try:
            return [kind(text)]
        except ValueError:
            continue
    return []
