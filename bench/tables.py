"""The tables of a run, as Markdown that also reads well in a terminal."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from record import VERDICTS, Record
from targets import Series, Target, total_ratio


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    """A Markdown table with padded cells; the first `left` columns are text, the others numbers."""
    body = [list(map(str, row)) for row in rows]
    widths = [max(map(_width, column)) for column in zip(header, *body, strict=True)]

    def line(cells: Sequence[str]) -> str:
        padded = (
            cell + " " * (w - _width(cell)) if i < left else " " * (w - _width(cell)) + cell
            for i, (cell, w) in enumerate(zip(cells, widths, strict=True))
        )
        return "| " + " | ".join(padded) + " |"

    rule = ["-" * w if i < left else "-" * (w - 1) + ":" for i, w in enumerate(widths)]
    return "\n".join([line(header), line(rule), *map(line, body)])


def _width(text: str) -> int:
    return sum(not unicodedata.combining(c) for c in text)


def seconds(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value * 1e3:.2f} ms" if value < 1 else f"{value:.2f} s"


def size(value: int | None) -> str:
    if value is None:
        return ""
    return f"{value / 1e6:.1f} MB" if value >= 100_000 else f"{value / 1e3:.0f} kB"


def number(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def verdict_table(records: Sequence[Record]) -> str:
    """Per program: its size, the verdicts, and what the check cost against tracing."""
    rows = [
        [
            r.name,
            number(r.equations, "d"),
            number(r.accesses, "d"),
            *(str(r.verdicts.get(v) or "") for v in VERDICTS),
            seconds(r.trace),
            seconds(r.check),
            number(r.microseconds_per_equation, ".1f"),
            number(r.walk / r.equations * 1e6 if r.walk and r.equations else None, ".1f"),
            number(r.ratio_to_tracing, ".1%"),
            "over" if r.is_within_limit is False else "",
            size(r.memory),
        ]
        for r in records
        if r.trace is not None
    ]
    header = [
        "program",
        "equations",
        "accesses",
        *VERDICTS,
        "trace",
        "redzone",
        "µs/eqn",
        "bare walk",
        "of trace",
        "limit",
        "memory",
    ]
    return table(header, rows)


def stage_table(records: Sequence[Record]) -> str:
    """Per program: redzone's seconds by stage, in the order the stages ran."""
    stages = list(dict.fromkeys(s for r in records for s in r.stages if s != "trace"))
    rows = [
        [r.name, seconds(r.check), *(seconds(r.stages.get(s)) for s in stages), seconds(r.render)]
        for r in records
        if r.stages
    ]
    return table(["program", "redzone", *stages, "printing"], rows)


def compile_table(records: Sequence[Record]) -> str:
    """Per program: JAX's stages, and checkify's beside them."""
    rows = [
        [
            r.name,
            seconds(r.trace),
            seconds(r.retrace),
            seconds(r.lower),
            seconds(r.compile) or r.notes.get("compile", ""),
            seconds(r.check),
            number(r.checkify_equations, "d"),
            seconds(r.checkify_trace),
            seconds(r.checkify_compile) or _brief(r.notes.get("checkify", "")),
        ]
        for r in records
        if r.trace is not None
    ]
    header = [
        "program",
        "trace",
        "retrace",
        "lower",
        "compile",
        "redzone",
        "checkify equations",
        "checkify trace",
        "checkify lower+compile",
    ]
    return table(header, rows)


def _brief(note: str, limit: int = 60) -> str:
    note = note.replace("|", "\\|")
    return note if len(note) <= limit else note[: limit - 1] + "…"


def family_table(records: Sequence[Record]) -> str:
    """Verdict counts by library, the whole corpus last."""
    rows = []
    for family in [*dict.fromkeys(r.family for r in records), ""]:
        members = [r for r in records if r.is_measured and family in (r.family, "")]
        tally: Counter[str] = Counter()
        for r in members:
            tally.update(r.verdicts)
        accesses = sum(tally.values())
        share = tally["safe"] / accesses if accesses else None
        ratio = total_ratio(members)
        rows.append(
            [
                family or "all",
                str(len(members)),
                str(accesses),
                *(str(tally[v] or "") for v in VERDICTS),
                number(share, ".0%"),
                number(ratio, ".1%"),
            ]
        )
    return table(["library", "programs", "accesses", *VERDICTS, "safe", "of trace"], rows)


def target_table(found: Sequence[Target]) -> str:
    words = {True: "held", False: "missed", None: "not measured"}
    return table(["promise", "measured", ""], [[t.promise, t.measured, words[t.held]] for t in found])


def series_table(series: Series) -> str:
    rows = [
        [
            name,
            f"10^{p['parameter']}" if name == "array size" else str(p["parameter"]),
            str(p["equations"]),
            seconds(p["trace"]),
            seconds(p["check"]),
            number(p["check"] / p["equations"] * 1e6, ".1f"),
            _verdicts(p["verdicts"]),
        ]
        for name, points in series.items()
        for p in points
    ]
    return table(["series", "at", "equations", "trace", "redzone", "µs/eqn", "verdicts"], rows)


def _verdicts(tally: Mapping[str, int]) -> str:
    return ", ".join(f"{count} {verdict}" for verdict, count in tally.items() if count)


def note_list(records: Sequence[Record]) -> str:
    """Everything that was left out or failed, and why."""
    lines = [f"- `{r.name}`, {stage}: {_brief(note, 200)}" for r in records for stage, note in r.notes.items()]
    return "\n".join(lines) or "Nothing."


def finding_list(records: Sequence[Record], verdict: str) -> str:
    """Each access of that verdict: where, what, how far its index is known, and the message."""
    lines = [_finding(r.name, f) for r in records for f in r.findings if f["verdict"] == verdict]
    return "\n".join(lines) or "None."


def _finding(program: str, f: Mapping[str, Any]) -> str:
    bounds = "; ".join(f["bounds"]) or "no bounds"
    access = f"{f['primitive']} of [{', '.join(f['shape'])}] ({f['effect']}, {f['mode']})"
    lines = [
        f"- `{program}` {f['at']} in {f['function']}: {access}",
        f"  - {bounds}",
        f"  - {f['message']}",
        *([f"  - `{f['source']}`"] if f["source"] else []),
    ]
    return "\n".join(lines)


def unmodelled_table(records: Sequence[Record]) -> str:
    """Primitives nobody modelled, and in how many programs they turned up."""
    count: Counter[str] = Counter()
    programs: Counter[str] = Counter()
    for r in records:
        count.update(r.unmodelled)
        programs.update(r.unmodelled.keys())
    if not count:
        return "None."
    rows = [[name, str(n), str(programs[name])] for name, n in count.most_common()]
    return table(["primitive", "equations", "programs"], rows)
