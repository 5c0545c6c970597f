"""Reports read back from JSON, as complete as they were written but for the jaxpr and its equations."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from redzone.report.json import SCHEMA
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
from redzone.report.run import Failure, Run


class BadReport(ValueError):
    """What was given is no report of redzone; the message says what is wrong with it."""


def run_from_file(file: str | Path) -> Run:
    """The run that `redzone check --format json` or `report.save` wrote to a file."""
    try:
        text = Path(file).read_text("utf-8")
    except OSError as error:
        raise BadReport(f"{file}: cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise BadReport(f"{file}: this is not JSON: write one with `redzone check … --format json`") from None
    try:
        data = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        why = f"line {error.lineno}: {error.msg}" if isinstance(error, json.JSONDecodeError) else "nested too deeply"
        raise BadReport(f"{file}: this is not JSON ({why}): write one with `redzone check … --format json`") from None
    try:
        return run_from_json(data)
    except BadReport as error:
        raise BadReport(f"{file}: {error}") from None


def run_from_json(data: Any) -> Run:
    """The run of a command, or one of a single report by `report.to_json()`."""
    _check_schema(data)
    if "reports" not in data:
        report = report_from_json(data)
        return Run((report,), exit_code=int(not report.ok), witnesses=_has_witnesses((report,)))
    try:
        reports = tuple(report_from_json(one) for one in data["reports"])
        return Run(
            reports,
            tuple(Failure(str(one["name"]), str(one["reason"])) for one in data.get("failures", ())),
            tuple(_suppression(one) for one in data.get("unused_suppressions", ())),
            int(data.get("exit_code", 0)),
            str(data.get("version", "")),
            str(data.get("root", "")),
            str(data.get("created", "")),
            witnesses=_has_witnesses(reports),
            explanations=tuple(data.get("explanations", ())),
        )
    except BadReport:
        raise
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise BadReport(_what(error)) from None


def _has_witnesses(reports: tuple[Report, ...]) -> bool:
    """Whether inputs that break conditions had been searched for."""
    return any(a.requires and a.witness is not None for report in reports for a in report.accesses)


def report_from_json(data: Any) -> Report:
    """One report, as `report.to_json()` wrote it."""
    _check_schema(data)
    try:
        buffers = [_buffer(one) for one in data.get("buffers", ())]
        accesses = tuple(_access(one, buffers) for one in data["accesses"])
        return Report(
            name=str(data["name"]),
            accesses=accesses,
            jaxpr=None,
            timings={str(stage): float(seconds) for stage, seconds in data.get("timings", {}).items()},
            unmodelled={str(name): int(count) for name, count in data.get("unmodelled", {}).items()},
            equations=int(data.get("equations", 0)),
            notes=tuple(map(str, data.get("notes", ()))),
            suppressions=tuple(_suppression(one) for one in data.get("suppressions", ())),
            origins=tuple(map(str, data.get("origins", ()))),
            _sources={
                str(file): {int(number): str(text) for number, text in lines.items()}
                for file, lines in data.get("sources", {}).items()
            },
            _causes=tuple(_cause(one, accesses) for one in data["causes"]),
        )
    except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
        raise BadReport(_what(error)) from None


def _check_schema(data: Any) -> None:
    if not isinstance(data, Mapping) or "schema" not in data or not ({"reports", "accesses"} & set(data)):
        raise BadReport("this JSON is no report of redzone: write one with `redzone check … --format json`")
    if data["schema"] != SCHEMA:
        raise BadReport(
            f"it has schema {data['schema']!r}, and this redzone reads schema {SCHEMA}: check again with this one, "
            "or install the redzone that wrote it"
        )


def _what(error: Exception) -> str:
    if isinstance(error, KeyError):
        return f"a part of it is missing: {error.args[0]!r}"
    return f"a part of it is not as redzone writes it: {error}"


def _access(data: Any, buffers: list[Buffer]) -> Access:
    number = data.get("buffer")
    return Access(
        eqn=None,
        primitive=data["primitive"],
        effect=data["effect"],
        mode=data["mode"],
        shape=tuple(data["shape"]),
        dtype=data["dtype"],
        verdict=Verdict(data["verdict"]),
        rule=data["rule"],
        message=data["message"],
        decided_by=data["decided_by"],
        requires=tuple(_condition(one) for one in data["requires"]),
        suppressed=bool(data["suppressed"]),
        fix=data["fix"],
        _bounds=tuple(_bounds(one) for one in data["bounds"]),
        _location=_location(data["location"]),
        _pattern=_pattern(data["pattern"]),
        _witness=None if data["witness"] is None else _witness(data["witness"]),
        _lints=tuple(_lint(one) for one in data["lints"]),
        _loss=None if data["loss"] is None else _loss(data["loss"]),
        _chain=tuple(_link(one) for one in data.get("chain", ())),
        _buffer=None if number is None else buffers[number],
        _calls=tuple(_location(one) for one in data.get("calls", ())),
    )


def _bounds(data: Any) -> DimBounds:
    return DimBounds(data["dim"], *(_number(data[name]) for name in ("lo", "hi", "min", "max")))


def _number(value: Any) -> Any:
    """A number too large for JSON is written as text; anything else that is text is a symbolic size."""
    if isinstance(value, str):
        try:
            return int(value)
        except ValueError:
            return value
    return value


def _location(data: Any) -> Location:
    return Location(
        data["file"], data["line"], data["function"], data["text"], _span(data.get("span")), _span(data.get("index"))
    )


def _span(data: Any) -> Span | None:
    if data is None:
        return None
    return Span(data["line"], data["column"] - 1, data["end_line"], data["end_column"] - 1)


def _condition(data: Any) -> Condition:
    return Condition(
        data["argument"],
        data["leaf"],
        _hashable(data["min"]),
        _hashable(data["max"]),
        data["where"],
        tuple((t["factor"], t["element"], t["leaf"]) for t in data["terms"]),
        tuple(data.get("letters", ())),
        data["text"],
    )


def _cause(data: Any, accesses: tuple[Access, ...]) -> Cause:
    found = tuple(accesses[number - 1] for number in data["numbers"])
    return Cause(
        _condition(data["condition"]), found, tuple(_condition(one) for one in data["conditions"]), data["origin"]
    )


def _hashable(value: Any) -> Any:
    return tuple(_hashable(item) for item in value) if isinstance(value, list) else _number(value)


def _witness(data: Any) -> Witness:
    return Witness((), tuple(data["index"]), data["path"], data["shown"])


def _pattern(data: Any) -> Pattern:
    return Pattern(data["kind"], tuple(data["strides"]), data["bytes"], data["low"], data["high"])


def _buffer(data: Any) -> Buffer:
    where = _location(data["location"])
    return Buffer(data["name"], data["origin"], tuple(data["shape"]), data["dtype"], data["bytes"], where)


def _link(data: Any) -> Link:
    where = _location(data["location"])
    return Link(data["name"], data["equation"], data["primitive"], _number(data["lo"]), _number(data["hi"]), where)


def _loss(data: Any) -> Loss:
    return Loss(data["equation"], _location(data["location"]), tuple(data["arguments"]), data["settle"])


def _lint(data: Any) -> Lint:
    return Lint(data["code"], data["message"], data["fix"], _location(data["location"]), bool(data["suppressed"]))


def _suppression(data: Any) -> Suppression:
    return Suppression(_location(data["location"]), tuple(data["codes"]), bool(data["used"]))
