"""Measure redzone over a corpus of real programs, beside JAX's own stages and checkify.

python bench/run.py                  everything; writes bench/results/latest.md and latest.json
python bench/run.py --quick          no compilation, no checkify, one repetition, small examples
python bench/run.py --only diffrax   the programs whose name contains it (repeatable)
python bench/run.py --unknown        list every access without a verdict
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
from collections.abc import Sequence
from typing import Any

import tables
from corpora import programs_of
from corpus import Program
from document import document
from isolated import Worker
from record import Record
from targets import Series, targets

SERIES_NAMES = ("loops of known length", "loops up to an input", "triangular loops", "array size")
RESULTS = pathlib.Path(__file__).parent / "results"
TOO_LONG_FOR_QUICK = (
    "nested_unrolled_40x40",
    "nested_unrolled_100x100",
    "nested_cond_100x100",
    "nested_where_100x100",
)


def main() -> int:
    options = _arguments()
    worker = Worker(options.corpus)
    try:
        first = {} if options.jax_only else worker.ask(options.limit, ask="start_up")
        records = [measured(p, worker, options) for p in chosen(options)]
        series = measured_series(worker, options) if _wants_series(options) else {}
    finally:
        worker.stop()
    text = document(records, series, first, options.repeats)
    print(text)
    if options.unknown:
        print(tables.finding_list(records, "unknown"))
    if not options.only:
        write_results(records, series, text, options)
    broken = any(t.held is False for t in targets(records, series))
    return int(options.strict and broken)


def chosen(options: argparse.Namespace) -> list[Program]:
    """The programs this run is about, in corpus order."""
    programs = programs_of(options.corpus).values()
    if options.only:
        return [p for p in programs if any(part in p.name for part in options.only)]
    if options.quick:
        return [p for p in programs if not p.name.endswith(TOO_LONG_FOR_QUICK)]
    return list(programs)


def measured(program: Program, worker: Worker, options: argparse.Namespace) -> Record:
    """Everything asked for about one program; what fails is noted and the rest goes on."""
    record = Record(program.name, program.family)
    if missing := program.missing():
        record.notes["skipped"] = f"needs {', '.join(missing)}"
    else:
        wanted = {"trace" if options.jax_only else "check": options.limit}
        if not options.quick:
            wanted |= {"compile": options.compile} if options.compile else {}
            wanted |= {"checkify": options.compile} if options.compile and options.checkify else {}
        for stage, limit in wanted.items():
            answer = worker.ask(limit, ask=stage, program=program.name, repeats=options.repeats)
            record.learn(stage, answer)
            if "traceback" in answer and options.tracebacks:
                print(answer["traceback"], file=sys.stderr)
    print(_progress(record), file=sys.stderr, flush=True)
    return record


def _progress(record: Record) -> str:
    verdicts = " ".join(f"{count} {verdict}" for verdict, count in record.verdicts.items() if count)
    notes = "; ".join(f"{stage}: {note}" for stage, note in record.notes.items())
    return (
        f"{record.name:45} {record.equations or '':>7} eqns  trace {tables.seconds(record.trace):>10}"
        f"  redzone {tables.seconds(record.check):>10}  {verdicts}  {notes}"
    ).rstrip()


def _wants_series(options: argparse.Namespace) -> bool:
    return not (options.only or options.jax_only or options.corpus)


def measured_series(worker: Worker, options: argparse.Namespace) -> Series:
    """The growth series; one that fails is left out and said so."""
    series: dict[str, Any] = {}
    for name in SERIES_NAMES:
        answer = worker.ask(options.limit, ask="scaling", series=name, repeats=max(7, options.repeats))
        if "error" in answer:
            print(f"{name}: {answer['error']}", file=sys.stderr)
            if options.tracebacks:
                print(answer.get("traceback", ""), file=sys.stderr)
        else:
            series[name] = answer["points"]
    return series


def write_results(records: Sequence[Record], series: Series, text: str, options: argparse.Namespace) -> None:
    RESULTS.mkdir(exist_ok=True)
    stem = RESULTS / options.name
    stem.with_suffix(".md").write_text(text + "\n")
    plain = {"programs": [dataclasses.asdict(r) for r in records], "series": dict(series)}
    stem.with_suffix(".json").write_text(json.dumps(plain, indent=1) + "\n")


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add(
        "--quick",
        action="store_true",
        help="redzone against tracing only, without the largest examples",
    )
    add("--only", action="append", default=[], metavar="PART", help="programs whose name contains PART")
    add("--corpus", default="", metavar="PATH", help="a corpus file from elsewhere, with PROGRAMS and TAGS")
    add("--repeats", type=int, default=0, help="each time is the best of this many: 3, with --quick 1")
    add("--limit", type=float, default=300, help="seconds one program's tracing and check may take in all")
    add(
        "--compile",
        type=float,
        default=60,
        metavar="SECONDS",
        help="give up compiling after this; 0 never compiles",
    )
    add("--no-checkify", dest="checkify", action="store_false", help="leave checkify out")
    add("--jax-only", action="store_true", help="JAX's and checkify's numbers without redzone's")
    add("--unknown", action="store_true", help="list each access without a verdict")
    add("--tracebacks", action="store_true", help="show the whole traceback of what fails")
    add("--strict", action="store_true", help="exit with 1 where a promise was not kept")
    add("--name", default="", help="write results/NAME.md and .json instead of latest or quick")
    options = parser.parse_args()
    options.repeats = options.repeats or (1 if options.quick else 3)
    options.name = options.name or ("quick" if options.quick else "latest")
    return options


if __name__ == "__main__":
    sys.exit(main())
