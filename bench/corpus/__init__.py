"""Real programs to measure redzone on: one module per family, one function per program.

A program is a function that returns what `jax.jit` and `redzone.check` take: a function and its
arguments as shapes. Libraries are imported inside it, so a missing one skips only its own programs.
"""

from __future__ import annotations

import importlib
import importlib.util
import pkgutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

Made = tuple[Callable[..., Any], tuple[Any, ...]]


@dataclass(frozen=True, slots=True)
class Program:
    """A named program, not yet built."""

    name: str
    """`family/program`."""
    needs: tuple[str, ...]
    """The packages it imports besides JAX."""
    make: Callable[[], Made]

    @property
    def family(self) -> str:
        return self.name.partition("/")[0]

    def missing(self) -> tuple[str, ...]:
        """The packages it needs that are not installed."""
        return tuple(package for package in self.needs if not _is_installed(package))


def _is_installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:  # a dotted name whose parent is missing
        return False


_programs: dict[str, Program] = {}


def program(name: str, *needs: str) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Enter the decorated function into the corpus as `name`."""

    def enter(make: Callable[[], Made]) -> Callable[[], Made]:
        if name in _programs:
            raise ValueError(f"two programs are called {name}")
        _programs[name] = Program(name, needs, make)
        return make

    return enter


def every_program() -> dict[str, Program]:
    """The whole corpus by name, in order of module and then of writing."""
    for module in sorted(_module_names()):
        importlib.import_module(f"{__name__}.{module}")
    return dict(_programs)


def _module_names() -> Iterator[str]:
    for module in pkgutil.iter_modules(__path__):
        yield module.name


def floats(*shape: int, dtype: Any = jnp.float32) -> jax.ShapeDtypeStruct:
    """An unknown array of floats."""
    return jax.ShapeDtypeStruct(shape, dtype)


def ints(*shape: int, dtype: Any = jnp.int32) -> jax.ShapeDtypeStruct:
    """An unknown array of integers, of any value."""
    return jax.ShapeDtypeStruct(shape, dtype)


def bools(*shape: int) -> jax.ShapeDtypeStruct:
    """An unknown array of truth values."""
    return jax.ShapeDtypeStruct(shape, jnp.bool_)


def key() -> jax.ShapeDtypeStruct:
    """An unknown random key, as the raw pair of words that every library here accepts."""
    return jax.ShapeDtypeStruct((2,), jnp.uint32)


shapes_of = jax.eval_shape
