"""Why a function could not be traced: JAX's own first words, where, and what to do about it."""

from __future__ import annotations

import os
import re
import traceback
from collections.abc import Iterator

import jax


class CannotCheck(Exception):
    """The function could not be checked; the message says why and what to do."""


_STATIC = (
    "a shape or a Python value depends on a traced one: make that argument static "
    "(functools.partial, a closure), or give the size yourself (size=, length=)"
)
_SIGNATURE = "the arguments given are not those the function takes"
_FIXES: tuple[tuple[str, str], ...] = (
    (
        "TracerBoolConversionError",
        "a Python `if`, `while` or `and` cannot look at a traced value: use jax.lax.cond or jnp.where "
        "for the choice, jax.lax.while_loop for the loop",
    ),
    (
        "TracerIntegerConversionError",
        "a traced value cannot be a Python index or size: index a jax array instead of a list, or make "
        "the argument static (functools.partial, a closure)",
    ),
    (
        "TracerArrayConversionError",
        "a NumPy function was given a traced value: use its jax.numpy twin",
    ),
    (
        "NonConcreteBooleanIndexError",
        "x[mask] has a size that depends on the values: use jnp.where(mask, x, fill), or jnp.nonzero(mask, size=...)",
    ),
    ("ConcretizationTypeError", _STATIC),
    (
        "UnexpectedTracerError",
        "a traced value was kept outside the function and used later: return it instead",
    ),
    (
        "InconclusiveDimensionOperation",
        "the program's shape depends on how large a symbolic dimension is: say more of it, as in "
        "dims=('n >= 8',) or --dim 'n >= 8', or check concrete sizes with @redzone.example(...) or --arg",
    ),
)


def explained(error: BaseException) -> str:
    """What to tell a person: the error, the line of theirs that caused it, the fix if one is known."""
    cause = _root(error)
    lines = [line.strip() for line in str(cause).splitlines() if line.strip()]
    text = type(cause).__name__ + (f": {lines[0]}" if lines else "")
    place = _user_line(cause) or _user_line(error)
    if place:
        text += f"\n  at {place}"
    fix = _fix(cause)
    if fix:
        text += f"\n  fix: {fix}"
    return text


def _root(error: BaseException) -> BaseException:
    """The exception that was raised first, where later ones only pass it on."""
    seen: set[int] = set()
    while error.__cause__ is not None and id(error) not in seen:
        seen.add(id(error))
        # JAX hangs the unfiltered traceback on the error as a cause that says nothing new.
        if type(error.__cause__).__name__ in ("UnfilteredStackTrace", "JaxStackTraceBeforeTransformation"):
            break
        error = error.__cause__
    return error


def wants_static(error: BaseException | None) -> bool:
    """Whether tracing failed because an argument that the function declares static was traced."""
    text = str(_root(error)) if error is not None else ""
    return "Non-hashable static arguments" in text


def _fix(error: BaseException) -> str:
    if isinstance(error, TypeError) and "Shapes must be 1D sequences of concrete values" in str(error):
        return _STATIC
    if isinstance(error, OverflowError) and _TOO_NARROW.search(str(error)):
        return "an index of this type cannot hold the size of what it indexes: make it i.astype(jnp.int32) before"
    if isinstance(error, TypeError) and _WRONG_CALL.search(str(error)):
        return _SIGNATURE
    names = {kind.__name__ for kind in type(error).__mro__}
    return next((fix for name, fix in _FIXES if name in names), "")


def _user_line(error: BaseException) -> str:
    for frame in _innermost_first(error):
        if not frame.filename.startswith(_NOT_THE_USERS) and not frame.filename.startswith("<frozen"):
            text = (frame.line or "").strip()
            return f"{frame.filename}:{frame.lineno}" + (f": {text}" if text else "")
    return ""


def _innermost_first(error: BaseException) -> Iterator[traceback.FrameSummary]:
    yield from reversed(traceback.extract_tb(error.__traceback__))


_WRONG_CALL = re.compile(r"\(\) (missing \d|takes .* arguments? but|got (an unexpected|multiple))")
_TOO_NARROW = re.compile(r"Python integer \d+ out of bounds for u?int(8|16)")
_NOT_THE_USERS = (
    os.path.dirname(jax.__file__) + os.sep,
    os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep,
)
