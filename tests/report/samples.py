"""Reports made by hand, to test how they are shown without checking anything."""

from __future__ import annotations

from typing import Any

from redzone.report.model import (
    Access,
    Buffer,
    Condition,
    DimBounds,
    Link,
    Lint,
    Location,
    Loss,
    Pattern,
    Report,
    Span,
    Suppression,
    Verdict,
    Witness,
)
from redzone.report.run import Failure, Run

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


#: The same place with its columns: `table[row]`, and the index in it.
MARKED = Location("/project/model.py", 12, "lookup", "return table[row]", Span(12, 11, 12, 21), Span(12, 17, 12, 20))
SOURCES = {"/project/model.py": {11: "    row = position // 10", 12: "    return table[row]", 13: ""}}
TABLE = Buffer("table", "table: argument 1", (16,), "float32", 64)
ABOVE = Location("/project/model.py", 11, "lookup", "row = position // 10")
CHAIN = (
    Link("position", "position: argument 2", "input", None, None, Location("", 0, "", "")),
    Link("t1", "floor_divide(position, 10)", "jit", 0, 16, ABOVE),
)


def full_unsafe(**changes: Any) -> Access:
    """An unsafe access with all that can be known of one."""
    caller = Location("/project/train.py", 40, "step", "y = lookup(table, position)")
    lint = Lint("RZ304", "the index is limited to 16", "Limit it to 15.", MARKED)
    fields = {"_location": MARKED, "_chain": CHAIN, "_buffer": TABLE, "_calls": (MARKED, caller), "_lints": (lint,)}
    return unsafe(**{**fields, **changes})


def full_run(**changes: Any) -> Run:
    """A run with something of everything."""
    here = Location("/project/model.py", 20, "f", "y = x[cumsum(i)]")
    unknown = access(
        Verdict.UNKNOWN,
        rule="RZ203",
        effect="write",
        primitive="scatter",
        message="could not be bounded",
        shape=("n", 3),
        _bounds=(DimBounds(0, -(2**63), 2**63, 0, "n - 1"),),
        _location=here,
        _loss=Loss("cumsum", ABOVE, ("i",), "redzone.assume(index, min=0, max=n - 1)"),
        _pattern=Pattern("scattered", (), None, None, None),
        _buffer=Buffer("x", "made by dot_general", ("n", 3), "float32", None, ABOVE),
    )
    relation = Condition("s + t", 1, None, 9, "", ((1, "s", 1), (1, "t", 2)), ("i",))
    comment = Suppression(Location("/project/model.py", 30, "", "x  # redzone: ignore"), (), False)
    quiet = full_unsafe(suppressed=True, _lints=(), _location=Location("/project/model.py", 30, "f", "x[i]"))
    one = report(
        full_unsafe(),
        unknown,
        requires(_buffer=TABLE),
        requires(requires=(relation,), _witness=Witness((), (16,), "", "s=16, t=0")),
        access(_buffer=TABLE),
        quiet,
        origins=("table: argument 1", "indices: argument 2", "t: argument 3"),
        notes=("a note",),
        unmodelled={"fft": 2},
        suppressions=(comment,),
        _sources=SOURCES,
    )
    two = report(access(), name="other")
    fields: dict[str, Any] = {
        "failures": (Failure("broken.py:f", "TracerBoolConversionError:\nan if"),),
        "exit_code": 2,
        "root": "/project",
        "created": "2026-01-02T03:04:05+00:00",
        "version": "0.1.0",
    }
    return Run((one, two), **{**fields, **changes})
