"""Puts the results of bench/xla_redzone.py into docs/xla-redzone.md and into the advice of `redzone explain`.

    python bench/xla_publish.py RESULTS.json... --captures FOLDER

Several results of one machine are taken together. The captures are counted by redzone itself.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from xla_redzone import merged, table

PROJECT = Path(__file__).parents[1]
RESULTS = PROJECT / "bench" / "results" / "xla_redzone.json"
CAPTURED = PROJECT / "bench" / "results" / "xla_captures.json"
MEASURED = PROJECT / "src" / "redzone" / "explain" / "measured.json"
PAGE = PROJECT / "docs" / "xla-redzone.md"


def captured(folder: Path) -> list[dict[str, Any]]:
    """What redzone counts in each capture below a folder."""
    from redzone.explain.xla import costs_at

    rows = []
    for run in sorted(folder.iterdir()):
        for model in sorted(run.iterdir()):
            (cost,), _ = costs_at(model)
            rows.append(
                {
                    "setting": run.name.replace("_", " "),
                    "model": model.name,
                    "launches": cost.work.checks.launches,
                    "check_ms": round(cost.work.checks.seconds * 1e3, 3),
                    "held_ms": round(cost.work.held_seconds * 1e3, 3),
                    "gpu_ms": round(cost.work.seconds * 1e3, 3),
                    "compile_ms": round(cost.compile_seconds * 1e3, 1),
                    "autotune_ms": round(cost.autotune_seconds * 1e3, 1),
                    "candidates": sum(c.candidates for c in cost.compiled),
                    "candidate_ms": round(sum(c.candidate_seconds for c in cost.compiled) * 1e3, 1),
                    "checked_mb": round(cost.work.bytes_checked / 1e6, 1),
                }
            )
    return rows


def captures_table(rows: list[dict[str, Any]]) -> str:
    """Markdown: what the checks took in each capture, against the GPU's time and the compilation."""
    lines = [
        "| setting | model | checks | their kernels | of the GPU's time | held the GPU | of the compilation "
        "| autotuning | compiling candidates |",
        "|---|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for row in rows:
        gpu = f"{100 * row['check_ms'] / row['gpu_ms']:.0f} %" if row["gpu_ms"] and row["launches"] else "–"
        whole = row["compile_ms"]
        held = f"{row['held_ms']:.1f} ms | {100 * row['held_ms'] / whole:.1f} %" if row["launches"] else "– | –"
        lines.append(
            f"| {row['setting']} | {row['model']} | {row['launches']:,} | {row['check_ms']:.1f} ms | {gpu} | {held} | "
            f"{100 * row['autotune_ms'] / whole:.0f} % of {whole / 1e3:.2f} s | {row['candidates']} in "
            f"{row['candidate_ms'] / 1e3:.2f} s |"
        )
    return "\n".join(lines)


def with_table(page: str, name: str, text: str) -> str:
    """The page with what stands between two marks replaced."""
    begin, end = f"<!-- {name} -->", f"<!-- end of {name} -->"
    if begin not in page or end not in page:
        raise ValueError(f"the page has no {begin} … {end}")
    head, _, rest = page.partition(begin)
    return f"{head}{begin}\n{text}\n{end}{rest.partition(end)[2]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", nargs="*", type=Path)
    parser.add_argument("--captures", type=Path)
    options = parser.parse_args()
    if options.results:
        RESULTS.write_text(json.dumps(merged([json.loads(f.read_text()) for f in options.results]), indent=1) + "\n")
    if options.captures:
        CAPTURED.write_text(json.dumps(captured(options.captures), indent=1) + "\n")
    results = json.loads(RESULTS.read_text())
    shipped = {key: value for key, value in results.items() if key != "records"}
    MEASURED.write_text(json.dumps(shipped, indent=1) + "\n")
    page = with_table(PAGE.read_text(), "settings", table(results))
    page = with_table(page, "captures", captures_table(json.loads(CAPTURED.read_text())))
    PAGE.write_text(page)


if __name__ == "__main__":
    main()
