"""What XLA's autotuning and its redzone checks cost, by setting and model: the numbers of docs/xla-redzone.md.

    python bench/xla_redzone.py --out results --limit 480

Every setting is compiled in a process of its own, one after the other; while one compiles, the next has only imported
JAX. Rounds go on until the limit: first every setting once, then captures, then the settings that matter most again.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

from xla_cases import CASES, Case

WORKER = Path(__file__).parent / "xla_models.py"
MODELS = ("mlp", "block", "convnet", "attention")
#: Seconds one setting may take.
PATIENCE = 120


class Worker:
    """A process that has imported JAX under a case's settings and waits to compile."""

    def __init__(self, case: Case, models: Sequence[str], work: Path, number: int, capture: Path | None) -> None:
        self.case = case
        self.capture = capture
        env = {**os.environ, **{name: value.format(work=work) for name, value in case.env}}
        flags = [os.environ.get("XLA_FLAGS", ""), *(flag.format(work=work) for flag in case.flags)]
        env["XLA_FLAGS"] = " ".join(flag for flag in flags if flag)
        env.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
        command = [sys.executable, str(WORKER), "--models", ",".join(m for m in models if m in (case.models or models))]
        command += ["--changed", str(number)] if case.changed else []
        command += ["--small"] if "--small" in sys.argv else []
        command += ["--capture", str(capture)] if capture else []
        if case.clears:
            shutil.rmtree(work / case.clears, ignore_errors=True)
        (work / "fusions").mkdir(parents=True, exist_ok=True)
        # A pipe that nobody reads would stop a process that has much to say.
        self.said = tempfile.TemporaryFile()  # noqa: SIM115
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=env, stdin=pipe, stdout=pipe, stderr=self.said, text=True)

    def results(self, patience: float) -> Iterator[dict[str, Any]]:
        """Let it compile; what it prints, and one error if it ends too early or takes too long."""
        process, late = self.process, threading.Event()
        assert process.stdin is not None and process.stdout is not None

        def give_up() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(patience, give_up)
        timer.start()
        with self.said, process.stdout:
            # A worker that died before it was asked says why on stderr.
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write("go\n")
                process.stdin.close()
            lines = [json.loads(line) for line in process.stdout if line.startswith("{")]
            process.wait()
            timer.cancel()
            yield from lines
            if late.is_set() or process.returncode:
                self.said.seek(0)
                why = "took too long" if late.is_set() else _reason(self.said.read().decode(errors="replace"))
                yield {"model": "*", "error": why}

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def _reason(stderr: str) -> str:
    """The line of a traceback that says what went wrong."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()] or ["no message"]
    return next((line for line in reversed(lines) if "Error" in line or "flag" in line.lower()), lines[-1])[-300:]


def schedule(cases: Sequence[Case], captures: bool) -> Iterator[tuple[Case, bool]]:
    """Every case once, then captures, then again what matters most: each case and whether it is captured.

    What comes first finds the libraries not yet read from the disk: a capture, whose times do not count.
    """
    quick = [case for case in cases if not case.slow]
    if captures:
        yield quick[0], True
    yield from ((case, False) for case in quick)
    if captures:
        yield from ((case, True) for case in quick[1:] if case.capture)
    yield from ((case, False) for case in quick if case.key)
    yield from ((case, False) for case in cases if case.slow)
    while True:
        yield from ((case, False) for case in quick)


def measured(cases: Sequence[Case], models: Sequence[str], out: Path, limit: float, captures: bool) -> dict[str, Any]:
    """Run the schedule until the limit is near; the records and what they were measured on."""
    started = time.monotonic()
    work = out / "work"
    records: list[dict[str, Any]] = []
    machine: dict[str, Any] = {}
    longest, following = 0.0, schedule(cases, captures)
    """The longest of the cases that are not known to be slow."""

    def start(item: tuple[Case, bool]) -> Worker:
        case, captured = item
        folder = out / "captures" / case.name.replace(" ", "_").replace(",", "") if captured else None
        # Captures are large; two models show what there is to see.
        return Worker(case, models[:1] + models[2:3] if captured else models, work, len(records) + 1, folder)

    worker = start(next(following))
    while True:
        begun = time.monotonic()
        ahead = start(next(following))
        for result in worker.results(min(PATIENCE, limit - (begun - started))):
            if "device" in result:
                machine = result
                continue
            records.append({"case": worker.case.name, "captured": worker.capture is not None, **result})
        longest = longest if worker.case.slow else max(longest, time.monotonic() - begun)
        gone = time.monotonic() - started
        shown = {r["model"]: round(r.get("compile_s", -1), 2) for r in records if r["case"] == worker.case.name}
        print(f"{gone:6.1f} s  {worker.case.name}: {shown}", flush=True)
        worker = ahead
        (out / "xla_redzone.json").write_text(json.dumps(summary(records, cases, machine), indent=1))
        if gone + longest > limit:
            worker.stop()
            break
    shutil.rmtree(work, ignore_errors=True)
    return summary(records, cases, machine)


def summary(records: Sequence[dict[str, Any]], cases: Sequence[Case], machine: dict[str, Any]) -> dict[str, Any]:
    """The records by case: for each model the median compile time, its spread, and how fast the result runs."""
    result = []
    for case in cases:
        mine = [r for r in records if r["case"] == case.name and not r["captured"]]
        entry: dict[str, Any] = {"case": case.name, "group": case.group, "flags": list(case.flags), "models": {}}
        entry["env"] = dict(case.env)
        for model in MODELS:
            done = [r for r in mine if r["model"] == model and "compile_s" in r]
            if done:
                middle = {
                    k: statistics.median(r[k] for r in done) for k in ("trace_s", "lower_s", "compile_s", "run_ms")
                }
                times = [r["compile_s"] for r in done]
                spread = {"least_s": min(times), "most_s": max(times)}
                entry["models"][model] = {k: round(v, 4) for k, v in (middle | spread).items()} | {"runs": len(done)}
        entry["errors"] = sorted({r["error"] for r in mine if "error" in r})
        result.append(entry)
    return {
        "date": datetime.date.today().isoformat(),
        "device": machine.get("device", ""),
        "jax": machine.get("jax", ""),
        "cases": result,
        "records": list(records),
    }


def merged(several: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Several results of one machine as one."""
    records = [record for one in several for record in one["records"]]
    return summary(records, CASES, several[-1]) | {"date": several[-1]["date"]}


def table(results: dict[str, Any]) -> str:
    """Markdown: seconds to compile each model, the sum against the default's, and how fast the results run."""
    base = {e["case"]: e for e in results["cases"]}.get("default", {"models": {}})["models"]
    lines = [
        f"| setting | {' | '.join(f'{m}, s' for m in MODELS)} | all, s | of default | runs | the result runs |",
        "|---|" + "---:|" * (len(MODELS) + 4),
    ]
    for entry in results["cases"]:
        mine = entry["models"]
        if not mine:
            said = entry["errors"][0][:80] if entry["errors"] else "not measured"
            lines.append(f"| {entry['case']} | " + " | ".join("–" for _ in MODELS) + f" | – | – | 0 | {said} |")
            continue
        cells = [f"{mine[m]['compile_s']:.2f}" if m in mine else "–" for m in MODELS]
        shared = [m for m in MODELS if m in mine and m in base]
        total, default = sum(mine[m]["compile_s"] for m in mine), sum(base[m]["compile_s"] for m in shared)
        slow = [mine[m]["run_ms"] / base[m]["run_ms"] for m in shared]
        speed = ", ".join(f"{m} {x:.2f}×" for m, x in zip(shared, slow, strict=True) if abs(x - 1) > 0.1) or "same"
        share = f"{100 * total / default:.0f} %" if default else "–"
        runs = min(mine[m]["runs"] for m in mine)
        lines.append(f"| {entry['case']} | {' | '.join(cells)} | {total:.2f} | {share} | {runs} | {speed} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("xla_redzone"))
    parser.add_argument("--limit", type=float, default=480, help="seconds for everything")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--only", default="", help="only cases whose name contains this")
    parser.add_argument("--key", action="store_true", help="only the cases that matter most, and those captured")
    parser.add_argument("--merge", nargs="+", type=Path, default=[], help="print the table of these results together")
    parser.add_argument("--small", action="store_true", help="tiny models, to try the harness")
    parser.add_argument("--no-captures", action="store_true")
    options = parser.parse_args()
    if options.merge:
        results = merged([json.loads(file.read_text()) for file in options.merge])
        (options.out / "xla_redzone.json").write_text(json.dumps(results, indent=1))
        print(table(results))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    cases = [case for case in CASES if options.only in case.name and (case.key or case.capture or not options.key)]
    results = measured(cases, options.models.split(","), options.out, options.limit, not options.no_captures)
    print(table(results))


if __name__ == "__main__":
    main()
