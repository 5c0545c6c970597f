"""Measurements of guarded programs as Markdown."""

from __future__ import annotations

import statistics
from typing import Any

Row = dict[str, Any]
KINDS = ("safe", "on entry", "in place")


def table(rows: list[Row]) -> str:
    """One line a program."""
    lines = [
        "| program | checks | plain ms | redzone.jit | checkify | first result s | redzone.jit | checkify |",
        "|---|---|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        first, run, ratio = row["compile"], row["run"], row["ratio"]
        theirs = f"{ratio['checkify']:.2f}×" if "checkify" in ratio else "fails"
        theirs_first = f"{first['checkify'] / first['plain']:.2f}×" if "checkify" in first else "fails"
        lines.append(
            f"| {row['program']} | {row['kind']} | {1e3 * run['plain']:.2f} | {ratio['redzone']:.2f}× | {theirs} "
            f"| {first['plain']:.2f} | {first['redzone'] / first['plain']:.2f}× | {theirs_first} |"
        )
    return "\n".join(lines)


def summary(rows: list[Row]) -> str:
    """The ratios by kind of check."""
    parts = []
    for kind in KINDS:
        mine = [row for row in rows if row["kind"] == kind]
        if mine:
            runs = [row["ratio"]["redzone"] for row in mine]
            firsts = [row["compile"]["redzone"] / row["compile"]["plain"] for row in mine]
            parts.append(
                f"{kind.capitalize()}: a call takes {statistics.median(runs):.2f}× (at most {max(runs):.2f}×), "
                f"the first result {statistics.median(firsts):.2f}× (at most {max(firsts):.2f}×)."
            )
    again = [row["ratio"]["again"] for row in rows if "again" in row["ratio"]]
    if again:
        first = [row["compile"]["again"] / row["compile"]["plain"] for row in rows]
        parts.append(
            f"The plain program measured a second time: {min(again):.2f}–{max(again):.2f}× a call, "
            f"{min(first):.2f}–{max(first):.2f}× the first result."
        )
    return " ".join(parts)
