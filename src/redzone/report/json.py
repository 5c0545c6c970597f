"""A report as plain JSON values, under a versioned schema."""

from __future__ import annotations

from typing import Any

import numpy as np

from redzone.report.model import (
    Access,
    Cause,
    Condition,
    DimBounds,
    Lint,
    Location,
    Loss,
    Pattern,
    Report,
    Suppression,
    Witness,
)
from redzone.report.rows import places_of

SCHEMA = 1


def report_as_json(report: Report, witnesses: bool = False) -> dict[str, Any]:
    """Everything in the report except the jaxpr; symbolic sizes and huge values become strings.

    With `witnesses`, inputs that break the conditions are searched for; else only those already known are told.
    """
    return {
        "schema": SCHEMA,
        "name": report.name,
        "ok": report.ok,
        "equations": report.equations,
        "counts": report.counts(),
        "accesses": [access_as_json(access, witnesses) for access in report.accesses],
        "requires": [_condition(condition) for condition in report.requires],
        "causes": [_cause(cause) for cause in report.causes()],
        "lints": [_lint(lint) for lint in report.lints],
        "unmodelled": dict(report.unmodelled),
        "timings": {stage: float(seconds) for stage, seconds in report.timings.items()},
        "notes": list(report.notes),
        "suppressions": [suppression_as_json(s) for s in report.suppressions],
    }


def access_as_json(access: Access, witnesses: bool = False) -> dict[str, Any]:
    """One access; its equation is left out, its location says where it is from."""
    witness = access.witness if witnesses else access.known_witness
    return {
        "verdict": str(access.verdict),
        "rule": access.rule,
        "effect": access.effect,
        "primitive": access.primitive,
        "mode": access.mode,
        "shape": [plain(size) for size in access.shape],
        "dtype": str(access.dtype),
        "message": access.message,
        "fix": access.fix,
        "suppressed": access.suppressed,
        "decided_by": access.decided_by,
        "location": location_as_json(access.location),
        "bounds": [_bounds(bounds) for bounds in access.bounds],
        "requires": [_condition(condition) for condition in access.requires],
        "witness": None if witness is None else _witness(witness),
        "pattern": _pattern(access.pattern),
        "lints": [_lint(lint) for lint in access.lints],
        "loss": None if access.loss is None else _loss(access.loss),
    }


def suppression_as_json(suppression: Suppression) -> dict[str, Any]:
    """A suppression comment and whether it was of use."""
    return {
        "location": location_as_json(suppression.location),
        "codes": list(suppression.codes),
        "used": suppression.used,
    }


def location_as_json(location: Location) -> dict[str, Any]:
    """File, line, function and the source text."""
    return {
        "file": location.file,
        "line": location.line,
        "function": location.function,
        "text": location.text,
    }


def plain(value: Any) -> Any:
    """A value as JSON can hold it; what is no number, string or list of them is written out."""
    match value:
        case None | bool() | str():
            return value
        case int():
            # Beyond 2**53 other readers of JSON lose digits.
            return value if -(2**53) <= value <= 2**53 else str(value)
        case float():
            return value if np.isfinite(value) else str(value)
        case np.generic():
            return plain(value.item()) if value.dtype.kind in "biuf" else str(value)
        case tuple() | list():
            return [plain(item) for item in value]
        case dict():
            return {str(key): plain(item) for key, item in value.items()}
        case np.ndarray():
            return plain(value.tolist())
        case _:
            return str(value)


def _bounds(bounds: DimBounds) -> dict[str, Any]:
    return {
        "dim": bounds.dim,
        "lo": plain(bounds.lo),
        "hi": plain(bounds.hi),
        "min": plain(bounds.min),
        "max": plain(bounds.max),
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "argument": condition.argument,
        "leaf": condition.leaf,
        "where": condition.where,
        "min": plain(condition.min),
        "max": plain(condition.max),
        "terms": [{"factor": factor, "element": name, "leaf": leaf} for factor, name, leaf in condition.terms],
        "text": str(condition),
    }


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "text": str(cause.condition),
        "origin": cause.origin,
        "condition": _condition(cause.condition),
        "conditions": [_condition(condition) for condition in cause.conditions],
        "accesses": [
            {"file": access.location.file, "line": access.location.line, "count": count, "rule": access.rule}
            for access, count in places_of(cause.accesses)
        ],
    }


def _witness(witness: Witness) -> dict[str, Any]:
    # The arguments themselves can be large arrays; `shown` holds the ones the access depends on.
    return {"index": plain(witness.index), "path": witness.path, "shown": witness.shown}


def _loss(loss: Loss) -> dict[str, Any]:
    return {
        "equation": loss.equation,
        "location": location_as_json(loss.location),
        "arguments": list(loss.arguments),
        "settle": loss.settle,
    }


def _lint(lint: Lint) -> dict[str, Any]:
    return {
        "code": lint.code,
        "message": lint.message,
        "fix": lint.fix,
        "location": location_as_json(lint.location),
        "suppressed": lint.suppressed,
    }


def _pattern(pattern: Pattern) -> dict[str, Any]:
    return {
        "kind": pattern.kind,
        "strides": plain(pattern.strides),
        "bytes": plain(pattern.bytes),
        "low": plain(pattern.low),
        "high": plain(pattern.high),
    }
