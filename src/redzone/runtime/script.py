"""Run a script or a module as Python would: its own `__main__`, arguments, import path, exit code and tracebacks."""

from __future__ import annotations

import dataclasses
import importlib.machinery
import importlib.util
import io
import os
import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, ModuleType, TracebackType
from typing import Any

_OURS = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "")
#: What a shell reports of a program that was ended by Ctrl-C.
INTERRUPTED = 130


class CannotRun(Exception):
    """There is nothing to run; the message says why."""


@dataclasses.dataclass(frozen=True, slots=True)
class Script:
    """What is to be run, not yet compiled."""

    file: str
    """As Python puts it into `__file__`."""
    first_argument: str
    """As Python puts it into `sys.argv[0]`."""
    folder: str
    """Where imports are looked for first."""
    spec: importlib.machinery.ModuleSpec | None = None

    def code(self) -> CodeType:
        """The compiled code; raises SyntaxError as Python would."""
        if self.spec is not None:
            code = self.spec.loader.get_code(self.spec.name)  # type: ignore[union-attr]
            if code is None:
                raise CannotRun(f"there is no code in {self.spec.name}")
            return code  # type: ignore[no-any-return]
        with io.open_code(self.file) as source:
            return compile(source.read(), self.file, "exec", dont_inherit=True)


def script_at(path: str) -> Script:
    """The script in a file, or in a folder or archive with a `__main__.py`."""
    if not os.path.exists(path):
        raise CannotRun(f"cannot open {path!r}: there is no such file")
    if os.path.isfile(path) and not path.endswith((".zip", ".pyz")):
        file = os.path.abspath(path)
        return Script(file, path, os.path.dirname(os.path.realpath(path)))
    spec = importlib.machinery.PathFinder.find_spec("__main__", [path])
    if spec is None or spec.origin is None:
        raise CannotRun(f"cannot find a __main__.py in {path!r}")
    return Script(spec.origin, path, path, spec)


def module_named(name: str) -> Script:
    """The module that `python -m NAME` runs: a package's `__main__` for a package."""
    if os.getcwd() not in sys.path and "" not in sys.path:
        sys.path.insert(0, os.getcwd())
    spec = _spec_of(name, f"no module is named {name}")
    if spec.submodule_search_locations is not None:
        spec = _spec_of(f"{name}.__main__", f"{name} is a package without a __main__ and cannot be run")
    if spec.loader is None or not hasattr(spec.loader, "get_code"):
        raise CannotRun(f"{name} is no Python module that can be run")
    file = spec.origin or ""
    return Script(file, file, os.getcwd(), spec)


def _spec_of(name: str, otherwise: str) -> importlib.machinery.ModuleSpec:
    try:
        spec = importlib.util.find_spec(name)
    except (ModuleNotFoundError, ValueError) as error:
        missing = getattr(error, "name", None) or name
        if name != missing and not name.startswith(f"{missing}."):
            raise  # a package around it imports something that is not there
        spec = None
    if spec is None:
        raise CannotRun(otherwise)
    return spec


def execute(script: Script, arguments: Sequence[str]) -> int:
    """Run it to its end, threads included; returns its exit code, with its exceptions already shown."""
    before = sys.modules["__main__"], sys.argv, sys.path[:]
    main = _main_module(script)
    sys.modules["__main__"] = main
    sys.argv = [script.first_argument, *arguments]
    if not sys.flags.safe_path:
        sys.path[:1] = [script.folder]
    try:
        code = _ended_by(lambda: exec(script.code(), main.__dict__))
        # Python waits for them at its own end, but then it is too late to report.
        waited = _ended_by(_wait_for_threads)
        return code or waited
    finally:
        _kept.append(main)
        sys.modules["__main__"], sys.argv, sys.path[:] = before


#: What was run, so that functions which outlive it find their globals.
_kept: list[ModuleType] = []


def _main_module(script: Script) -> ModuleType:
    main = ModuleType("__main__")
    spec = script.spec
    loader: Any = importlib.machinery.SourceFileLoader("__main__", script.file) if spec is None else spec.loader
    main.__dict__.update(
        __file__=script.file,
        __builtins__=__builtins__,
        __cached__=None,
        __doc__=None,
        __loader__=loader,
        __package__=None if spec is None else spec.parent,
        __spec__=spec,
    )
    return main


def _wait_for_threads() -> None:
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join()


def _ended_by(work: Any) -> int:
    """The exit code of a program that does this, its exception shown as Python would."""
    try:
        work()
    except SystemExit as ended:
        return _exit_code(ended)
    except CannotRun:
        raise
    except BaseException as error:
        error.__traceback__ = _without_us(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def _exit_code(ended: SystemExit) -> int:
    if ended.code is None:
        return 0
    if isinstance(ended.code, int):
        return ended.code
    print(ended.code, file=sys.stderr)
    return 1


def _without_us(where: TracebackType | None) -> TracebackType | None:
    """A traceback that begins in the user's program."""
    while where is not None and _is_ours(where.tb_frame.f_code.co_filename):
        where = where.tb_next
    return where


def _is_ours(file: str) -> bool:
    return Path(file).is_absolute() and file.startswith(_OURS)
