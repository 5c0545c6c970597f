"""The data of a page: a run's JSON, with paths as they are shown and each repeated part told once."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from redzone.report.codes import CODES
from redzone.report.json import run_as_json
from redzone.report.run import Run, relative_to
from redzone.report.suppress import complaint

_RANK = {v: k for k, v in enumerate(("unsafe", "unknown", "requires", "declared", "masked", "safe"))}
#: Of a report, what its functions' rows show.
_OF_FUNCTION = ("name", "ok", "equations", "counts", "timings", "notes", "unmodelled")


def page_data(run: Run) -> dict[str, Any]:
    """Accesses, buffers, conditions and warnings of all reports, numbered through from 1."""
    data = _with_shown_paths(run_as_json(run), run.root)
    accesses: list[dict[str, Any]] = []
    buffers: list[dict[str, Any]] = []
    causes: list[dict[str, Any]] = []
    lints: dict[str, dict[str, Any]] = {}
    sources: dict[str, dict[str, str]] = {}
    for number, report in enumerate(data["reports"]):
        before, first_buffer = len(accesses), len(buffers)
        for buffer in report["buffers"]:
            buffers.append({**buffer, "fn": number, "accesses": [], "worst": len(_RANK)})
        for access in report["accesses"]:
            access["id"] = before + access.pop("number")
            access["fn"] = number
            if access["buffer"] is not None:
                access["buffer"] += first_buffer
                buffer = buffers[access["buffer"]]
                buffer["accesses"].append(access["id"])
                buffer["worst"] = min(buffer["worst"], _RANK[access["verdict"]])
            accesses.append(access)
        for cause in report["causes"]:
            ids = [before + one for one in cause["numbers"]]
            causes.append(_cause(cause, ids, accesses, number, len(causes) + 1))
        for lint in report["lints"]:
            lints.setdefault(json.dumps(lint), {**lint, "id": len(lints) + 1, "fn": number})
        for file, lines in report["sources"].items():
            sources.setdefault(file, {}).update(lines)
    return {
        "version": data["version"],
        "functions": [{name: report[name] for name in _OF_FUNCTION} for report in data["reports"]],
        "accesses": packed(accesses),
        "buffers": buffers,
        "causes": causes,
        "lints": list(lints.values()),
        "sources": sources,
        "codes": {code.code: {"name": code.name, "meaning": code.meaning} for code in CODES.values()},
        "explanations": [_explanation(one, run.root) for one in run.explanations],
        "unused": [
            {"text": complaint(s), "place": f"{shown_file(s.location.file, run.root)}:{s.location.line}"}
            for s in run.unused_comments()
        ],
    }


def _cause(
    cause: dict[str, Any], ids: list[int], accesses: list[dict[str, Any]], function: int, number: int
) -> dict[str, Any]:
    witness = next((w["shown"] for one in ids if (w := accesses[one - 1]["witness"]) is not None), "")
    kept = {name: cause[name] for name in ("text", "origin", "fix")}
    return {**kept, "id": number, "fn": function, "ids": ids, "witness": witness}


def _explanation(one: dict[str, Any], root: str) -> dict[str, Any]:
    """Where a check's time went, as far as a page shows it."""
    kept = {name: one.get(name) for name in ("name", "sentence", "jax", "lines", "accesses", "advice", "tree")}
    return {**_with_shown_paths(kept, root), "tree": _shown_tree(kept["tree"], root)}


def _shown_tree(node: Any, root: str) -> Any:
    """A tree of times, its lines as they are shown."""
    if not isinstance(node, dict):
        return None
    children = [_shown_tree(child, root) for child in node.get("children", ())]
    return {"name": shown_file(str(node["name"]), root), "value": node["seconds"], "children": children}


def packed(rows: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Rows with the same keys as numbers into a pool of values: a line of an unrolled loop is told once."""
    rows = list(rows)
    keys = list(rows[0]) if rows else []
    pool: dict[str, int] = {}
    table = [[pool.setdefault(json.dumps(row[key], ensure_ascii=False), len(pool)) for key in keys] for row in rows]
    return {"keys": keys, "pool": [json.loads(text) for text in pool], "rows": table}


def embedded(data: Any) -> str:
    """JSON that no HTML parser takes for markup, whatever the texts in it are."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def shown_file(file: str, root: str) -> str:
    """A file as a page shows it: from the root of the run, or from where packages are installed."""
    shown = relative_to(file, root)
    _, packages, inside = shown.rpartition("/site-packages/")
    return inside if packages else shown


def _with_shown_paths(part: Any, root: str) -> Any:
    """Every file as it is shown."""
    if isinstance(part, list):
        return [_with_shown_paths(item, root) for item in part]
    if isinstance(part, dict):
        shown = {key: _with_shown_paths(value, root) for key, value in part.items()}
        if isinstance(part.get("file"), str):
            shown["file"] = shown_file(part["file"], root)
        if isinstance(part.get("sources"), dict):
            shown["sources"] = {shown_file(file, root): lines for file, lines in part["sources"].items()}
        return shown
    return part
