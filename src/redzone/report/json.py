"""A report as plain JSON values, under a versioned schema."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from redzone.report.fingerprint import access_fingerprint
from redzone.report.marks import index_of
from redzone.report.model import (
    Access,
    Buffer,
    Cause,
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
from redzone.report.rows import places_of
from redzone.report.run import Run, project_root

#: Rises when a field goes away or changes its meaning; new fields may come without.
SCHEMA = 1


def run_as_json(run: Run) -> dict[str, Any]:
    """Everything that was checked by one command; each other format can be made from it."""
    return {
        "schema": SCHEMA,
        "version": run.made_by(),
        "created": run.created,
        "root": run.root,
        "exit_code": run.exit_code,
        "reports": [report_as_json(report, run.witnesses, run.root) for report in run.reports],
        "failures": [{"name": failed.name, "reason": failed.reason} for failed in run.failures],
        "unused_suppressions": [suppression_as_json(s) for s in run.unused_comments()],
        **({"explanations": list(run.explanations)} if run.explanations else {}),
    }


def report_as_json(report: Report, witnesses: bool = False, root: str = "") -> dict[str, Any]:
    """Everything in the report except the jaxpr; symbolic sizes and huge values become strings.

    With `witnesses`, inputs that break the conditions are searched for; else only those already known are told.
    """
    root = root or project_root()
    buffers = {id(a.buffer): a.buffer for a in report.accesses if a.buffer is not None}
    places = {id(access): number for number, access in enumerate(report.accesses, 1)}
    numbers = {key: number for number, key in enumerate(buffers)}
    return {
        "schema": SCHEMA,
        "name": report.name,
        "ok": report.ok,
        "equations": report.equations,
        "counts": report.counts(),
        "accesses": [
            {
                "number": number,
                "buffer": None if access.buffer is None else numbers[id(access.buffer)],
                "fingerprint": access_fingerprint(access, root),
                **access_as_json(access, witnesses),
            }
            for number, access in enumerate(report.accesses, 1)
        ],
        "buffers": [_buffer(buffer) for buffer in buffers.values()],
        "requires": [_condition(condition) for condition in report.requires],
        "causes": [_cause(cause, places) for cause in report.causes()],
        "lints": [_lint(lint) for lint in report.lints],
        "unmodelled": dict(report.unmodelled),
        "timings": {stage: float(seconds) for stage, seconds in report.timings.items()},
        "notes": list(report.notes),
        "origins": list(report.origins),
        "suppressions": [suppression_as_json(s) for s in report.suppressions],
        "sources": {
            file: {str(number): text for number, text in lines.items()} for file, lines in report.sources.items()
        },
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
        "location": {**location_as_json(access.location), "index": _span(index_of(access.location))},
        "calls": [location_as_json(place) for place in access.calls],
        "bounds": [_bounds(bounds) for bounds in access.bounds],
        "requires": [_condition(condition) for condition in access.requires],
        "witness": None if witness is None else _witness(witness),
        "pattern": _pattern(access.pattern),
        "lints": [_lint(lint) for lint in access.lints],
        "loss": None if access.loss is None else _loss(access.loss),
        # Of a safe access nobody asks how it came there, and programs have many of them.
        "chain": [] if access.verdict is Verdict.SAFE else [_link(link) for link in access.chain],
    }


def suppression_as_json(suppression: Suppression) -> dict[str, Any]:
    """A suppression comment and whether it was of use."""
    return {
        "location": location_as_json(suppression.location),
        "codes": list(suppression.codes),
        "used": suppression.used,
    }


def location_as_json(location: Location) -> dict[str, Any]:
    """File, line, function, the source text, and which part of it."""
    return {
        "file": location.file,
        "line": location.line,
        "function": location.function,
        "text": location.text,
        "span": _span(location.span),
    }


def _span(span: Span | None) -> dict[str, int] | None:
    """Columns from 1, as editors count; the end is the column after the last."""
    if span is None:
        return None
    return {
        "line": span.line,
        "column": span.column + 1,
        "end_line": span.end_line,
        "end_column": span.end_column + 1,
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
        "dim": plain(bounds.dim),
        "lo": plain(bounds.lo),
        "hi": plain(bounds.hi),
        "min": plain(bounds.min),
        "max": plain(bounds.max),
    }


def _condition(condition: Condition) -> dict[str, Any]:
    return {
        "argument": condition.argument,
        "leaf": plain(condition.leaf),
        "where": condition.where,
        "min": plain(condition.min),
        "max": plain(condition.max),
        "terms": [
            {"factor": plain(factor), "element": name, "leaf": plain(leaf)} for factor, name, leaf in condition.terms
        ],
        "letters": list(condition.letters),
        "text": str(condition),
    }


def _cause(cause: Cause, places: dict[int, int]) -> dict[str, Any]:
    return {
        "text": str(cause.condition),
        "origin": cause.origin,
        "fix": cause.fix,
        "condition": _condition(cause.condition),
        "conditions": [_condition(condition) for condition in cause.conditions],
        "accesses": [
            {"file": access.location.file, "line": access.location.line, "count": count, "rule": access.rule}
            for access, count in places_of(cause.accesses)
        ],
        "numbers": [places[id(access)] for access in cause.accesses],
    }


def _witness(witness: Witness) -> dict[str, Any]:
    # The arguments themselves can be large arrays; `shown` holds the ones the access depends on.
    return {"index": plain(witness.index), "path": witness.path, "shown": witness.shown}


def _link(link: Link) -> dict[str, Any]:
    return {
        "name": link.name,
        "equation": link.equation,
        "primitive": link.primitive,
        "lo": plain(link.lo),
        "hi": plain(link.hi),
        "location": location_as_json(link.location),
    }


def _buffer(buffer: Buffer) -> dict[str, Any]:
    return {
        "name": buffer.name,
        "origin": buffer.origin,
        "shape": [plain(size) for size in buffer.shape],
        "dtype": str(buffer.dtype),
        "bytes": plain(buffer.bytes),
        "location": location_as_json(buffer.location),
    }


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


def run_as_json_text(run: Run) -> str:
    """The same as text."""
    return json.dumps(run_as_json(run), indent=2, ensure_ascii=False)
