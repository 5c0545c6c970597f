"""Reports made by hand, to test how they are shown without checking anything."""

from __future__ import annotations

from typing import Any

from redzone.report.model import (
    Access,
    Condition,
    DimBounds,
    Location,
    Pattern,
    Report,
    Verdict,
    Witness,
)

HERE = Location("/project/model.py", 12, "lookup", "return table[row]")
PATTERN = Pattern("contiguous", (), 64, 0, 63)


def access(verdict: Verdict = Verdict.SAFE, **changes: Any) -> Access:
    fields: dict[str, Any] = {
        "eqn": None,
        "primitive": "gather",
        "effect": "read",
        "mode": "promise_in_bounds",
        "shape": (16,),
        "dtype": "float32",
        "verdict": verdict,
        "rule": "",
        "message": "",
        "decided_by": "interval",
        "_location": HERE,
        "_pattern": PATTERN,
    }
    return Access(**{**fields, **changes})


def unsafe(**changes: Any) -> Access:
    fields: dict[str, Any] = {
        "rule": "RZ101",
        "message": "the read can start at 16, the last legal start is 15",
        "_bounds": (DimBounds(0, 0, 16, 0, 15),),
        "_witness": Witness((), (16,), "iteration 3", "position = 160"),
        "fix": "Bound the index.",
    }
    return access(Verdict.UNSAFE, **{**fields, **changes})


def requires(**changes: Any) -> Access:
    fields: dict[str, Any] = {
        "rule": "RZ102",
        "message": "in bounds under a condition",
        "requires": (Condition("indices", 1, 0, 15),),
    }
    return access(Verdict.REQUIRES, **{**fields, **changes})


def report(*accesses: Access, **changes: Any) -> Report:
    fields: dict[str, Any] = {
        "name": "lookup",
        "accesses": accesses,
        "jaxpr": None,
        "timings": {"trace": 0.0123, "facts": 4.2e-5},
        "unmodelled": {},
        "equations": 1234,
    }
    return Report(**{**fields, **changes})
