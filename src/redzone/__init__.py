"""Does every array access of a JAX program stay inside its buffer?

`check(fn, *args)` answers with a `Report`; everything else here is what it takes or what it holds.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from redzone import twins

if TYPE_CHECKING:
    from redzone.api import check as check
    from redzone.frontend.assume import assume as assume
    from redzone.frontend.contract import Range as Range
    from redzone.frontend.example import example as example
    from redzone.frontend.trace import CannotCheck as CannotCheck
    from redzone.frontend.trace import Spec as Spec
    from redzone.report.model import Access as Access
    from redzone.report.model import Condition as Condition
    from redzone.report.model import Location as Location
    from redzone.report.model import Pattern as Pattern
    from redzone.report.model import Report as Report
    from redzone.report.model import Verdict as Verdict
    from redzone.report.model import Witness as Witness
    from redzone.runtime.checking import checking as checking
    from redzone.runtime.errors import OutOfBounds as OutOfBounds
    from redzone.runtime.guard import Error as Error
    from redzone.runtime.guard import guard as guard
    from redzone.runtime.jit import jit as jit
    from redzone.runtime.mode import Mode as Mode
    from redzone.runtime.pending import wait as wait
    from redzone.runtime.session import Session as Session

__version__ = "0.1.0"

twins.prefer()

# Loaded when first asked for, so that `import redzone` costs next to nothing in a program that only
# carries `@redzone.example` decorations.
_HOME = {
    "assume": "redzone.frontend.assume",
    "check": "redzone.api",
    "example": "redzone.frontend.example",
    "CannotCheck": "redzone.frontend.trace",
    "Range": "redzone.frontend.contract",
    "Spec": "redzone.frontend.trace",
    "guard": "redzone.runtime.guard",
    "jit": "redzone.runtime.jit",
    "wait": "redzone.runtime.pending",
    "Access": "redzone.report.model",
    "Condition": "redzone.report.model",
    "Error": "redzone.runtime.guard",
    "Location": "redzone.report.model",
    "Pattern": "redzone.report.model",
    "Report": "redzone.report.model",
    "Verdict": "redzone.report.model",
    "Witness": "redzone.report.model",
    "checking": "redzone.runtime.checking",
    "Mode": "redzone.runtime.mode",
    "OutOfBounds": "redzone.runtime.errors",
    "Session": "redzone.runtime.session",
}

__all__ = [
    "Access",
    "CannotCheck",
    "Condition",
    "Error",
    "Location",
    "Mode",
    "OutOfBounds",
    "Pattern",
    "Range",
    "Report",
    "Session",
    "Spec",
    "Verdict",
    "Witness",
    "__version__",
    "assume",
    "check",
    "checking",
    "example",
    "guard",
    "jit",
    "wait",
]


def __getattr__(name: str) -> Any:
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'redzone' has no attribute {name!r}")
    value = getattr(importlib.import_module(home), name)
    globals()[name] = value
    return value


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext redzone` calls: brings `%%redzone` and `%redzone`."""
    from redzone.notebook import load

    load(shell)


def __dir__() -> list[str]:
    return sorted(__all__)
