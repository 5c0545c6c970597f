"""Where in the user's source an equation came from."""

from __future__ import annotations

import linecache
from collections.abc import Sequence
from typing import Any

from redzone.frontend import compat
from redzone.report.model import Location

NOWHERE = Location("", 0, "", "")


def locate(eqns: Sequence[Any]) -> Location:
    """The innermost frame outside JAX, given the access's equation and then each one that encloses it.

    JAX caches the traces of its own jitted functions, so the equations inside `jnp.take` carry no
    frames of this caller: the nearest enclosing equation that has some speaks for them. The same joins
    a frame list that ends at a jit boundary to its caller's.
    """
    for eqn in eqns:
        frames = compat.user_frames(eqn.source_info)
        if frames:
            file, line, function = frames[0]
            return Location(file, line, function, linecache.getline(file, line).strip())
    return NOWHERE
