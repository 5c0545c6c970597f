"""What to check: `pkg.module:function`, files and folders, turned into functions with their arguments."""

from __future__ import annotations

import dataclasses
import fnmatch
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from redzone.frontend.example import Example, examples_of
from redzone.frontend.jaxtyping_shapes import annotated_example, says_shapes
from redzone.frontend.modules import module_in, module_named
from redzone.frontend.spec_text import example_from_texts
from redzone.frontend.trace import CannotCheck, takes_dims

_SKIPPED_FOLDERS = {"__pycache__", "node_modules", "build", "dist", "site-packages"}


@dataclasses.dataclass(frozen=True, slots=True)
class Target:
    """A function and one call of it to check."""

    name: str
    fn: Callable[..., Any]
    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Failed:
    """A target that could not be prepared, and why."""

    name: str
    reason: str


def targets_in(
    text: str, arg_texts: Sequence[str] = (), exclude: Sequence[str] = (), dims: Sequence[str] = ()
) -> Iterator[Target | Failed]:
    """Everything that one command-line target names; what cannot be checked comes back as `Failed`."""
    found = False
    try:
        for item in _items(text, arg_texts, exclude, dims):
            found = True
            yield item
    except CannotCheck as error:
        yield Failed(text, str(error))
        return
    if not found:
        yield Failed(
            text,
            "nothing to check here: no function says its shapes; put @redzone.example(...) above one, "
            "annotate its arrays with jaxtyping, or name it as module:function with --arg",
        )


def targets_of(name: str, value: Any) -> Iterator[Target]:
    """The calls of a function that says its shapes; none of anything else."""
    if not callable(value) or inspect.isclass(value):
        return
    if examples_of(value) or (_has_signature(value) and says_shapes(value)):
        yield from _calls(name, value, (), ())


def _items(
    text: str, arg_texts: Sequence[str], exclude: Sequence[str], dims: Sequence[str]
) -> Iterator[Target | Failed]:
    place, colon, path = text.rpartition(":")
    if colon and path and not Path(text).exists():
        module = module_in(_existing(place)) if place.endswith(".py") else module_named(place)
        yield from _calls(text, _attribute(module, path, place), arg_texts, dims)
        return
    if arg_texts or dims:
        option = "--arg" if arg_texts else "--dim"
        raise CannotCheck(f"{option} belongs to one function: name it as module:function or file.py:function")
    file = Path(text)
    if file.is_dir():
        for inner in _python_files(file, exclude):
            yield from _file_items(inner)
    elif file.is_file() or text.endswith(".py") or "/" in text:
        yield from _file_items(_existing(text))
    else:
        yield from _module_items(module_named(text), text)


def _file_items(file: Path) -> Iterator[Target | Failed]:
    try:
        module = module_in(file)
    except CannotCheck as error:
        yield Failed(str(file), str(error))
        return
    yield from _module_items(module, str(file))


def _module_items(module: ModuleType, place: str) -> Iterator[Target | Failed]:
    """Every function defined in this very module that says its shapes, in the order they are written."""
    seen: set[int] = set()
    for name, value in vars(module).items():
        if getattr(value, "__module__", None) != module.__name__ or id(value) in seen:
            continue
        if not callable(value) or inspect.isclass(value):
            continue
        seen.add(id(value))
        if examples_of(value) or (_has_signature(value) and says_shapes(value)):
            try:
                yield from _calls(f"{place}:{name}", value, (), ())
            except CannotCheck as error:
                yield Failed(f"{place}:{name}", str(error))


def _calls(name: str, fn: Callable[..., Any], arg_texts: Sequence[str], dims: Sequence[str]) -> Iterator[Target]:
    """One target for each call of `fn`: the one the command line gives, else those it says itself."""
    calls: Sequence[Example]
    if arg_texts:
        calls = (example_from_texts(arg_texts, dims),)
        if _has_signature(fn) and _missing_self(fn) and len(inspect.signature(fn).parameters) > len(arg_texts):
            raise CannotCheck("it is a method and needs its object: name one, as in module:instance.method")
    elif examples_of(fn):
        calls = [_completed(fn, call, dims) for call in examples_of(fn)]
    elif not _has_signature(fn):
        raise CannotCheck("Python cannot tell its parameters; give --arg for each")
    elif _missing_self(fn):
        raise CannotCheck("it is a method and needs its object: name one, as in module:instance.method")
    elif says_shapes(fn):
        calls = (annotated_example(fn, dims),)
    elif not inspect.signature(fn).parameters:
        calls = (Example((), {}),)
    else:
        raise CannotCheck(
            "it does not say its shapes: give --arg 'f32[100]' for each argument, put "
            "@redzone.example(...) above it, or annotate its arrays with jaxtyping"
        )
    for number, call in enumerate(calls, 1):
        shown = f"{name} #{number}" if len(calls) > 1 else name
        yield Target(shown, fn, call.args, call.kwargs)


def _completed(fn: Callable[..., Any], call: Example, dims: Sequence[str]) -> Example:
    """An example with the constraints of the command line; one that is only constraints takes its shapes from fn."""
    if takes_dims(fn):
        return call
    given = call.kwargs.get("dims", ())
    every = (*((given,) if isinstance(given, str) else given), *dims)
    if not call.args and set(call.kwargs) <= {"dims"} and every and _has_signature(fn) and says_shapes(fn):
        return annotated_example(fn, every)
    return Example(call.args, {**call.kwargs, "dims": every}) if every else call


def _attribute(module: ModuleType, path: str, place: str) -> Callable[..., Any]:
    value: Any = module
    for part in path.split("."):
        try:
            value = getattr(value, part)
        except AttributeError:
            names = [n for n, v in vars(module).items() if callable(v) and not n.startswith("_")]
            shown = f"; it has {', '.join(names[:8])}" if names and value is module else ""
            raise CannotCheck(f"{place} has no {path!r}{shown}") from None
    if not callable(value):
        raise CannotCheck(f"{path!r} in {place} is a {type(value).__name__}, not a function")
    return value  # type: ignore[no-any-return]


def _python_files(folder: Path, exclude: Sequence[str]) -> Iterator[Path]:
    """The files below a folder that could say shapes: importing any other would only run it."""
    for file in sorted(folder.rglob("*.py")):
        inside = file.relative_to(folder)
        if any(part.startswith(".") or part in _SKIPPED_FOLDERS for part in inside.parts):
            continue
        if any(fnmatch.fnmatch(str(file), p) or fnmatch.fnmatch(str(inside), p) for p in exclude):
            continue
        content = file.read_bytes()
        if b"redzone" in content or b"jaxtyping" in content:
            yield file


def _existing(text: str) -> Path:
    file = Path(text)
    if not file.is_file():
        raise CannotCheck(f"there is no file {text}")
    return file


def _has_signature(fn: Any) -> bool:
    try:
        inspect.signature(fn)
    except (TypeError, ValueError):
        return False
    return True


def _missing_self(fn: Callable[..., Any]) -> bool:
    names = list(inspect.signature(fn).parameters)
    qualname = getattr(fn, "__qualname__", "")
    in_class = "." in qualname and not qualname.rpartition(".")[0].endswith("<locals>")
    return in_class and names[:1] == ["self"]
