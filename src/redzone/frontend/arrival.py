"""Do something when a module has been imported, without importing it oneself.

A program may set environment variables that JAX reads when it is imported; whoever prepares to watch that program must
not be the first to import JAX.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Sequence
from types import ModuleType


def when_imported(name: str, then: Callable[[], None]) -> Callable[[], None]:
    """Call `then` as soon as the top-level module `name` is there, at once if it is; the result calls that off."""
    module = sys.modules.get(name)
    if module is not None and not getattr(module.__spec__, "_initializing", False):
        then()
        return lambda: None
    expected = _Expected(name, then)
    sys.meta_path.insert(0, expected)
    return expected.forget


class _Expected(importlib.abc.MetaPathFinder):
    """Stands first in line for one module, lets the others find it, and sees to it that we are told."""

    def __init__(self, name: str, then: Callable[[], None]) -> None:
        self.name = name
        self.then = then

    def forget(self) -> None:
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != self.name:
            return None
        self.forget()
        spec = importlib.util.find_spec(fullname)
        if spec is not None and spec.loader is not None:
            spec.loader = _Told(spec.loader, self.then)  # type: ignore[assignment]
        return spec


class _Told:
    """A module's own loader, with one more thing to do at the end."""

    def __init__(self, loader: importlib.abc.Loader, then: Callable[[], None]) -> None:
        self._loader = loader
        self._then = then

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        spec = module.__spec__
        if spec is not None:
            spec.loader = self._loader
        module.__loader__ = self._loader
        self._loader.exec_module(module)
        self._then()

    def __getattr__(self, name: str) -> object:
        return getattr(self._loader, name)
