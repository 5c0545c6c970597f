"""Import a module by its dotted name or by its file, and say plainly when that fails."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
import zlib
from pathlib import Path
from types import CodeType, ModuleType

from redzone.frontend.trace import CannotCheck


def module_named(name: str) -> ModuleType:
    """The module of a dotted name, found as `python -m` would: from the current folder first."""
    _prepend(str(Path.cwd()))
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name and (name == error.name or name.startswith(error.name + ".")):
            raise CannotCheck(f"there is no module {name!r}; give pkg.module:function, a file or a folder") from None
        raise CannotCheck(_failed(name, error)) from error
    except (Exception, SystemExit) as error:
        raise CannotCheck(_failed(name, error)) from error


class _Fresh(importlib.machinery.SourceFileLoader):
    """Loads a script as it is written now: a bytecode cache hides an edit of the same length within a second."""

    def get_code(self, fullname: str) -> CodeType:
        code: CodeType = self.source_to_code(self.get_data(self.path), self.path)
        return code


def module_in(file: Path) -> ModuleType:
    """The module that a file holds: by its package where it is in one, else on its own like a script."""
    file = file.resolve()
    root, name = _package(file)
    _prepend(str(root))
    if root != file.parent:
        module = module_named(name)
        loaded = getattr(module, "__file__", None)
        if loaded is None or Path(loaded).resolve() != file:
            raise CannotCheck(f"{file} is {name} here, but Python imports that from {loaded}")
        return module
    # Two scripts in different folders may share a name, and neither may hide a library's.
    name = f"{file.stem}_{zlib.crc32(str(file).encode()):08x}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, file, loader=_Fresh(name, str(file)))
    if spec is None or spec.loader is None:
        raise CannotCheck(f"{file} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        raise CannotCheck(_failed(str(file), error)) from error
    return module


def _package(file: Path) -> tuple[Path, str]:
    """The folder to import from, and the dotted name from there."""
    parts = [] if file.stem == "__init__" else [file.stem]
    folder = file.parent
    while (folder / "__init__.py").is_file():
        parts.insert(0, folder.name)
        folder = folder.parent
    return folder, ".".join(parts)


def _prepend(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _failed(what: str, error: BaseException) -> str:
    said = str(error).strip().splitlines()
    reason = type(error).__name__ + (f": {said[0]}" if said else "")
    if isinstance(error, SystemExit):
        reason += ' (guard what a script does with `if __name__ == "__main__":`)'
    return f"importing {what} failed: {reason}"
