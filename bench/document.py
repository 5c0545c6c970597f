"""A whole run as one Markdown document: what it depends on, the promises, the tables."""

from __future__ import annotations

import importlib.metadata
import pathlib
import platform
from collections.abc import Mapping, Sequence
from typing import Any

import tables
from record import Record
from targets import Series, targets, total_ratio

from redzone import twins


def document(records: Sequence[Record], series: Series, first: Mapping[str, Any], repeats: int) -> str:
    """The whole run as Markdown."""
    done = [r for r in records if r.is_measured]
    chapters = [
        ("redzone bench", context(records, repeats)),
        ("Promises", tables.target_table(targets(records, series)) if done else ""),
        ("Totals", totals(records) + start_up(first) + beside_checkify(records) if done else ""),
        ("Verdicts by library", tables.family_table(records) if done else ""),
        ("Programs", tables.verdict_table(records)),
        ("redzone's time by stage", tables.stage_table(records) if done else ""),
        ("JAX and checkify", tables.compile_table(records)),
        ("Growth", tables.series_table(series) if series else ""),
        ("Primitives without a rule", tables.unmodelled_table(records) if done else ""),
        ("Left out, failed, crashed", tables.note_list(records)),
    ]
    shown = ((title, body) for title, body in chapters if body)
    return "\n\n".join(f"{'#' if i == 0 else '##'} {title}\n\n{body}" for i, (title, body) in enumerate(shown))


def context(records: Sequence[Record], repeats: int) -> str:
    """What the numbers depend on, without naming the machine."""
    measured_ones = sum(r.trace is not None for r in records)
    return (
        f"{measured_ones} of {len(records)} programs measured, Python {platform.python_version()} on CPU, "
        f"redzone {'compiled' if twins.in_use() else 'as plain Python'}; "
        f"times are the best of {repeats} (tracing that takes over 3 s is timed once), "
        "processor time of all threads for tracing and checking, wall time for compilation, "
        "and every ratio is of two times from this run. "
        "Tracing starts from empty caches; retracing finds the libraries' own jitted parts cached.\n\n"
        f"{', '.join(installed(requirement) for requirement in required())}."
    )


def totals(records: Sequence[Record]) -> str:
    """Sums over the programs that have the numbers; the examples apart, since one outweighs all."""
    rows = []
    groups = {"all": records, "without the examples": [r for r in records if r.family != "example"]}
    for name, group in groups.items():
        done = [r for r in group if r.is_measured]
        if not done:
            continue
        equations = sum(r.equations or 0 for r in done)
        check = sum(r.check or 0.0 for r in done)
        rows.append(
            [
                name,
                str(len(done)),
                str(equations),
                str(sum(r.accesses or 0 for r in done)),
                tables.seconds(sum(r.trace or 0.0 for r in done)),
                tables.seconds(check),
                tables.number(check / equations * 1e6, ".2f"),
                tables.number(sum(r.walk or 0.0 for r in done) / equations * 1e6, ".2f"),
                tables.number(total_ratio(group), ".2%"),
                tables.number(total_ratio(group, "retrace"), ".2%"),
                tables.number(total_ratio(group, "compile"), ".2%"),
            ]
        )
    header = [
        "programs",
        "count",
        "equations",
        "accesses",
        "trace",
        "redzone",
        "µs/eqn",
        "bare walk",
        "of trace",
        "of retrace",
        "of compile",
    ]
    return tables.table(header, rows)


def start_up(first: Mapping[str, Any]) -> str:
    """What only the first check of a process pays, in words."""
    if "first" not in first:
        return ""
    return (
        f"\n\nThe first check of a process also pays {tables.seconds(first['import'])} to import redzone "
        f"(JAX being there already), and takes {tables.seconds(first['first'])} where the next takes "
        f"{tables.seconds(first['again'])}. Neither is in the figures here."
    )


def beside_checkify(records: Sequence[Record]) -> str:
    """How far checkify got with the same programs, and what it cost where it did."""
    tried = [r for r in records if r.checkify_trace is not None or "checkify" in r.notes]
    done = [r for r in tried if r.checkify_compile and r.compile and r.lower and r.trace and r.check is not None]
    if not done:
        return ""
    trace = sum(r.checkify_trace or 0.0 for r in done) / sum(r.trace or 0.0 for r in done)
    built = sum(r.checkify_compile or 0.0 for r in done) / sum((r.lower or 0.0) + (r.compile or 0.0) for r in done)
    added = sum((r.checkify_trace or 0.0) - (r.trace or 0.0) + (r.checkify_compile or 0.0) for r in done)
    added -= sum((r.lower or 0.0) + (r.compile or 0.0) for r in done)
    slow = sum(r.notes.get("checkify", "").startswith("over ") for r in tried)
    crashed = len(tried) - len(done) - slow
    return (
        f"\n\ncheckify's index checks: {len(done)} of {len(tried)} programs traced and compiled, {crashed} failed, "
        f"{slow} ran out of time. Where it worked, tracing took {trace:.1f}× and lowering with compilation "
        f"{built:.1f}× of plain JAX's, {added:.1f} s more in all; redzone added "
        f"{sum(r.check or 0.0 for r in done):.2f} s to the same."
    )


def required() -> list[str]:
    """The names of the libraries the corpus drives."""
    lines = pathlib.Path(__file__).with_name("requirements.txt").read_text().splitlines()
    return [line.partition("==")[0] for line in lines if line and not line.startswith("#")]


def installed(library: str) -> str:
    try:
        return f"{library} {importlib.metadata.version(library)}"
    except importlib.metadata.PackageNotFoundError:
        return f"{library} not installed"
