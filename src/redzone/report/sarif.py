"""A run as SARIF 2.1.0, for code scanning services and editors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from redzone.report.codes import CODES, Code
from redzone.report.fingerprint import access_fingerprint, fingerprint, lint_fingerprint, numbered
from redzone.report.marks import index_of
from redzone.report.model import Access, Link, Lint, Location, Report, Span, Suppression
from redzone.report.rows import Row, rows_of
from redzone.report.run import Run
from redzone.report.severity import LEVELS, WEAKNESSES, is_off_by_one, weaknesses_of
from redzone.report.suppress import complaint

SCHEMA_URI = "https://json.schemastore.org/sarif-2.1.0.json"
ROOT = "SRCROOT"
#: The name of our fingerprints; the number rises when they are made in another way.
FINGERPRINT = "redzone/v1"
_CWE = "CWE"
_RULES = {code: number for number, code in enumerate(CODES)}


def run_as_sarif(run: Run) -> str:
    """The run as the text of a SARIF log."""
    return json.dumps(sarif_log(run), indent=2, ensure_ascii=False)


def sarif_log(run: Run) -> dict[str, Any]:
    """The run as a SARIF log of one run."""
    results = [result for report in run.reports for result in _results(report, run)]
    results += [_unused(suppression, run) for suppression in run.unused_comments()]
    for result, number in zip(results, numbered(r["partialFingerprints"][FINGERPRINT] for r in results), strict=True):
        result["partialFingerprints"][FINGERPRINT] = number
    root = PurePath(run.root).as_uri().rstrip("/") + "/" if PurePath(run.root).is_absolute() else ""
    return {
        "$schema": SCHEMA_URI,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {"driver": _driver(run)},
                "taxonomies": [_taxonomy()],
                "invocations": [_invocation(run)],
                "originalUriBaseIds": {ROOT: {"uri": root} if root else {"description": {"text": "the project"}}},
                "columnKind": "unicodeCodePoints",
                "results": results,
            }
        ],
    }


def _driver(run: Run) -> dict[str, Any]:
    return {
        "name": "redzone",
        "version": run.made_by(),
        "semanticVersion": run.made_by(),
        "shortDescription": {"text": "Does every array access of a JAX program stay inside its buffer?"},
        "rules": [_rule(code) for code in CODES.values()],
        "supportedTaxonomies": [{"name": _CWE, "index": 0}],
    }


def _rule(code: Code) -> dict[str, Any]:
    family = {"01": "error", "02": "note"}.get(code.code[-2:], "warning") if code.code[2] in "12" else "warning"
    return {
        "id": code.code,
        "name": "".join(word.capitalize() for word in code.name.split("-")),
        "shortDescription": {"text": code.meaning},
        "fullDescription": {"text": code.meaning},
        "help": {"text": code.fix, "markdown": f"**{code.code}** `{code.name}`: {code.meaning}\n\n{code.fix}"},
        "defaultConfiguration": {"level": "note" if code.code.startswith("RZ9") else family},
        "relationships": [
            {"target": {"id": str(cwe), "toolComponent": {"name": _CWE, "index": 0}}, "kinds": ["superset"]}
            for cwe in weaknesses_of(code.code)
        ],
        "properties": {"tags": ["correctness", *_tags(weaknesses_of(code.code))]},
    }


def _tags(weaknesses: tuple[int, ...]) -> list[str]:
    """In the form that GitHub knows."""
    return [f"external/cwe/cwe-{number:03}" for number in weaknesses]


def _taxonomy() -> dict[str, Any]:
    return {
        "name": _CWE,
        "organization": "MITRE",
        "shortDescription": {"text": "The MITRE Common Weakness Enumeration"},
        "informationUri": "https://cwe.mitre.org/",
        "isComprehensive": False,
        "taxa": [
            {
                "id": str(number),
                "name": name,
                "shortDescription": {"text": name},
                "helpUri": f"https://cwe.mitre.org/data/definitions/{number}.html",
            }
            for number, name in WEAKNESSES.items()
        ],
    }


def _invocation(run: Run) -> dict[str, Any]:
    invocation: dict[str, Any] = {
        "executionSuccessful": not run.failures,
        "exitCode": run.exit_code,
        "toolExecutionNotifications": [
            {"level": "error", "message": {"text": f"{failed.name} could not be checked: {failed.reason}"}}
            for failed in run.failures
        ]
        + [
            {
                "level": "note",
                "message": {"text": f"{report.name}: no rule for {name}, met {count} times: taken as any value"},
                "associatedRule": {"id": "RZ901", "index": _RULES["RZ901"]},
            }
            for report in run.reports
            for name, count in report.unmodelled.items()
        ],
    }
    if run.created:
        invocation["endTimeUtc"] = run.created.replace("+00:00", "Z")
    return invocation


def _results(report: Report, run: Run) -> Iterator[dict[str, Any]]:
    """One result for each access that a reader can tell apart, and one for each warning."""
    comments = {(s.location.file, s.location.line) for s in report.suppressions}
    for row in rows_of(report.accesses):
        if row.access.verdict in LEVELS and row.access.rule:
            yield _of_access(row, report, run, comments)
    lints = dict.fromkeys(lint for access in report.accesses for lint in access.lints)
    for lint in lints:
        yield _of_lint(lint, report, run, comments)


def _of_access(row: Row, report: Report, run: Run, comments: set[tuple[str, int]]) -> dict[str, Any]:
    access = row.access
    result: dict[str, Any] = {
        "ruleId": access.rule,
        "ruleIndex": _RULES.get(access.rule, -1),
        "level": LEVELS[access.verdict][0],
        "message": {"text": _message(access)},
        "locations": _located(access.location, report, run, _marked(access)),
        "partialFingerprints": {FINGERPRINT: access_fingerprint(access, run.root)},
        "occurrenceCount": row.count,
        "properties": {
            "verdict": str(access.verdict),
            "function": report.name,
            "decidedBy": access.decided_by,
            "requires": [str(condition) for condition in access.requires],
            "tags": _tags((193,)) if is_off_by_one(access) else [],
        },
    }
    related = _related(access, report, run)
    if related:
        result["relatedLocations"] = related
    flow = _flow(access, report, run)
    if flow:
        result["codeFlows"] = [{"threadFlows": [{"locations": flow}]}]
    if access.suppressed:
        result["suppressions"] = [_suppression((access.location,), comments)]
    return result


def _of_lint(lint: Lint, report: Report, run: Run, comments: set[tuple[str, int]]) -> dict[str, Any]:
    result = {
        "ruleId": lint.code,
        "ruleIndex": _RULES.get(lint.code, -1),
        "level": "warning",
        "message": {"text": f"{_sentence(lint.message)} {lint.fix}"},
        "locations": _located(lint.location, report, run),
        "partialFingerprints": {FINGERPRINT: lint_fingerprint(lint, run.root)},
        "properties": {"function": report.name},
    }
    if lint.suppressed:
        result["suppressions"] = [_suppression((lint.location,), comments)]
    return result


def _unused(suppression: Suppression, run: Run) -> dict[str, Any]:
    place = suppression.location
    return {
        "ruleId": "RZ902",
        "ruleIndex": _RULES["RZ902"],
        "level": "note",
        "message": {"text": complaint(suppression)},
        "locations": _located(place, None, run),
        "partialFingerprints": {FINGERPRINT: fingerprint("RZ902", place, run.root)},
    }


def _suppression(places: tuple[Location, ...], comments: set[tuple[str, int]]) -> dict[str, str]:
    """By a comment in the source, or by the settings of the run."""
    if any((place.file, place.line) in comments for place in places):
        return {"kind": "inSource", "status": "accepted"}
    return {"kind": "external", "status": "accepted", "justification": "by the settings or the baseline of this run"}


def _message(access: Access) -> str:
    parts = [_sentence(access.message)]
    if access.known_witness is not None:
        parts.append(_sentence(f"For example, {access.known_witness}"))
    if access.loss is not None:
        parts.append(f"To settle it: {access.loss.settle}.")
    elif access.fix:
        parts.append(access.fix)
    return " ".join(parts)


def _sentence(text: str) -> str:
    text = text[:1].upper() + text[1:]
    return text if text.endswith(".") else text + "."


def _marked(access: Access) -> Span | None:
    """The access, not its index alone: that is what an editor underlines."""
    return access.location.span or index_of(access.location)


def _located(place: Location, report: Report | None, run: Run, span: Span | None = None) -> list[dict[str, Any]]:
    if not place.file:
        return []
    return [_location(place, report, run, span or place.span)]


def _location(place: Location, report: Report | None, run: Run, span: Span | None, text: str = "") -> dict[str, Any]:
    physical: dict[str, Any] = {"artifactLocation": _artifact(place.file, run), "region": _region(place, span)}
    around = _context(place, report)
    if around:
        physical["contextRegion"] = around
    location: dict[str, Any] = {"physicalLocation": physical}
    if place.function:
        location["logicalLocations"] = [{"fullyQualifiedName": place.function, "kind": "function"}]
    if text:
        location["message"] = {"text": text}
    return location


def _artifact(file: str, run: Run) -> dict[str, Any]:
    relative = run.relative(file)
    if PurePath(relative).is_absolute():
        return {"uri": PurePath(relative).as_uri()}
    return {"uri": quote(relative), "uriBaseId": ROOT}


def _region(place: Location, span: Span | None) -> dict[str, Any]:
    region: dict[str, Any] = {"startLine": max(1, place.line)}
    if span is not None and span.line >= 1:
        region = {
            "startLine": span.line,
            "startColumn": span.column + 1,
            "endLine": span.end_line,
            "endColumn": span.end_column + 1,
        }
    elif place.text:
        region["snippet"] = {"text": place.text}
    return region


def _context(place: Location, report: Report | None) -> dict[str, Any] | None:
    lines = report.sources.get(place.file, {}) if report is not None else {}
    first = last = place.line
    while first - 1 in lines and place.line - first < 3:
        first -= 1
    while last + 1 in lines and last - place.line < 3:
        last += 1
    if first == last or place.line not in lines:
        return None
    text = "\n".join(lines[number] for number in range(first, last + 1))
    return {"startLine": first, "endLine": last, "snippet": {"text": text}}


def _related(access: Access, report: Report, run: Run) -> list[dict[str, Any]]:
    """The calls that lead to the access, and where its index was lost."""
    found = [
        _location(place, None, run, place.span, f"called in {place.function}")
        for place in access.calls[1:]
        if place.file
    ]
    if access.loss is not None and access.loss.location.file and access.loss.location != access.location:
        place = access.loss.location
        found.append(_location(place, None, run, place.span, f"nothing tighter is known after {access.loss.equation}"))
    return [{"id": number, **location} for number, location in enumerate(found, 1)]


def _flow(access: Access, report: Report, run: Run) -> list[dict[str, Any]]:
    """The chain of equations that leads to the index, as far as they have lines, and the access itself."""
    steps = [
        {"location": _location(link.location, None, run, link.location.span, _step(link)), "importance": "important"}
        for link in access.chain
        if link.location.file
    ]
    if not steps or not access.location.file:
        return []
    end = _location(access.location, None, run, _marked(access), access.message or str(access.verdict))
    steps.append({"location": end, "importance": "essential"})
    return [{"executionOrder": number, **step} for number, step in enumerate(steps, 1)]


def _step(link: Link) -> str:
    span = "" if link.lo is None or link.hi is None else f", which is {link.lo} … {link.hi}"
    return f"{link.name} = {link.equation}{span}"
