"""A corpus kept outside this repository: a Python file with PROGRAMS and TAGS.

`PROGRAMS` maps a name to a function without arguments that returns (function, arguments); `TAGS` maps
a name to its set of tags. Programs tagged as Pallas kernels are left out: no XLA access is theirs.
"""

from __future__ import annotations

import importlib.util
import pathlib
from typing import Any

from corpus import Made, Program

LEFT_OUT = frozenset({"pallas"})


def programs_from(path: str) -> dict[str, Program]:
    """Its programs by name, in the order of the file."""
    module = _loaded(pathlib.Path(path))
    tags: dict[str, set[str]] = getattr(module, "TAGS", {})
    return {
        name: Program(name, (), _made(thunk, "x64" in tags.get(name, ())))
        for name, thunk in module.PROGRAMS.items()
        if not LEFT_OUT & tags.get(name, set())
    }


def _made(thunk: Any, wide: bool) -> Any:
    def make() -> Made:
        fn, args = thunk()
        # A jitted function is traced once and remembered; what it wraps is traced each time.
        fn = getattr(fn, "__wrapped__", fn) if type(fn).__name__ == "PjitFunction" else fn
        return (_in_64_bits(fn) if wide else fn), tuple(args)

    return make


def _in_64_bits(fn: Any) -> Any:
    import jax

    def widened(*args: Any) -> Any:
        with jax.enable_x64(True):
            return fn(*args)

    return widened


def _loaded(path: pathlib.Path) -> Any:
    spec = importlib.util.spec_from_file_location("external_corpus", path)
    if spec is None or spec.loader is None:
        raise SystemExit(f"bench: {path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
