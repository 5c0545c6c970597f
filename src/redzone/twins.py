"""The typed core may have been compiled when it was installed (hatch_build.py): then its modules have twins.

Twins are loaded only while every source is what they were made from, so an edit is never ignored: they were compiled
together and know each other's insides. REDZONE_COMPILED=0 turns them off, REDZONE_COMPILED=1 insists on them.
"""

from __future__ import annotations

import importlib.machinery
import os
import sys
from collections.abc import Sequence
from types import ModuleType

HERE = os.path.dirname(os.path.abspath(__file__))
FOLDER = os.path.join(HERE, "native", importlib.machinery.EXTENSION_SUFFIXES[0].split(".")[1])
#: What the twins share.
LIBRARY = "redzone__mypyc"


class Twins:
    """Finds the compiled twin of a module; what has none is found as ever."""

    def __init__(self) -> None:
        self.names: frozenset[str] | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if not name.startswith("redzone") or name not in self.found():
            return None
        file = os.path.join(FOLDER, f"{name}.so")
        loader = importlib.machinery.ExtensionFileLoader(name, file)
        return importlib.machinery.ModuleSpec(name, loader, origin=file)

    def found(self) -> frozenset[str]:
        """The modules with a twin that can be used; looked for once."""
        if self.names is None:
            self.names = frozenset() if stale() else frozenset([*_made(), LIBRARY])
        return self.names


_finder = Twins()


def prefer() -> None:
    """Have twins loaded from now on, where there are some; called before any module that may have one is imported."""
    wish = os.environ.get("REDZONE_COMPILED", "")
    if wish not in ("", "0", "1"):
        raise ImportError(f"REDZONE_COMPILED={wish}: 0 runs the sources, 1 insists on what was compiled from them")
    if wish == "1" and (why := stale()):
        raise ImportError(f"REDZONE_COMPILED=1, but {why}; install redzone again where a C compiler is")
    if wish != "0" and os.path.isdir(FOLDER):
        sys.meta_path.insert(0, _finder)


def in_use() -> bool:
    """Whether what runs is the compiled core."""
    return _finder in sys.meta_path and bool(_finder.found())


def _made() -> dict[str, str]:
    import json

    with open(os.path.join(FOLDER, "twins.json")) as file:
        return dict(json.load(file))


def stale() -> str:
    """Why there are no twins to be used; nothing where there are."""
    import hashlib

    if not os.path.isfile(os.path.join(FOLDER, "twins.json")):
        return f"nothing was compiled for {os.path.basename(FOLDER)}"
    for name, digest in _made().items():
        source = os.path.join(HERE, *name.split(".")[1:]) + ".py"
        if not os.path.isfile(source):
            return f"{source} is gone"
        with open(source, "rb") as file:
            if hashlib.sha256(file.read()).hexdigest() != digest:
                return f"{source} is not what was compiled"
    return ""
