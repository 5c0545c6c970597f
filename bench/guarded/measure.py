"""Plain jit, redzone.jit and checkify side by side: seconds to compile, milliseconds to run.

`python -m bench.guarded.measure --out FILE.json`; `--scale` multiplies the data.
"""

from __future__ import annotations

import argparse
import datetime
import json
import pathlib
import platform
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]

import jax
from jax.experimental import checkify

import redzone
from bench.guarded.programs import Case, cases
from bench.guarded.table import Row, summary, table


def plain(function: Callable[..., Any]) -> Callable[..., Any]:
    return jax.jit(function)


def guarded(function: Callable[..., Any]) -> Callable[..., Any]:
    return redzone.jit(function)


def checkified(function: Callable[..., Any]) -> Callable[..., Any]:
    """checkify's index checks; the error is looked at one call later, as redzone does."""
    compiled = jax.jit(checkify.checkify(function, errors=checkify.index_checks))
    before: list[Any] = []

    def call(*args: Any) -> Any:
        error, result = compiled(*args)
        if before:
            before.pop().throw()
        before.append(error)
        return result

    return call


WAYS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "plain": plain,
    # The same once more: what it differs by is noise.
    "again": plain,
    "redzone": guarded,
    "checkify": checkified,
}


def first_result(way: str, case: Case) -> tuple[float, Any]:
    """Seconds from nothing to the first result, and the compiled function."""
    jax.clear_caches()
    function = _fresh(case.function)
    compiled = WAYS[way](function)
    started = time.perf_counter()
    jax.block_until_ready(compiled(*case.arguments))
    return time.perf_counter() - started, compiled


def _fresh(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that JAX has not seen."""

    def fresh(*args: Any) -> Any:
        return function(*args)

    fresh.__name__ = fresh.__qualname__ = function.__name__
    return fresh


def seconds_per_call(compiled: Callable[..., Any], case: Case, least: float) -> float:
    """One measurement: calls one after the other, each waited for, for at least so long."""
    calls, started = 0, time.perf_counter()
    while True:
        jax.block_until_ready(compiled(*case.arguments))
        calls += 1
        if (spent := time.perf_counter() - started) >= least:
            return spent / calls


def measured(case: Case, compiles: int, rounds: int, least: float) -> Row:
    """One row of the table; the ways take turns, so that a busy moment hits all."""
    compile_seconds: dict[str, list[float]] = {way: [] for way in WAYS}
    functions: dict[str, Any] = {}
    failed: dict[str, str] = {}
    for _ in range(compiles):
        for way in WAYS:
            try:
                seconds, functions[way] = first_result(way, case)
                compile_seconds[way].append(seconds)
            except Exception as error:
                failed[way] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    for function in functions.values():
        jax.block_until_ready(function(*case.arguments))
    runs: dict[str, list[float]] = {way: [] for way in functions}
    order = list(functions)
    for k in range(rounds):
        for way in order[k % len(order) :] + order[: k % len(order)]:
            runs[way].append(seconds_per_call(functions[way], case, least))
    redzone.wait()
    report = functions["redzone"].reports[-1]
    plan = functions["redzone"]._programs[-1].plan
    kind = "in place" if plan.accesses else "on entry" if plan.entries else "safe"
    return {
        "program": case.name,
        "kind": kind,
        "verdicts": {k: v for k, v in report.counts().items() if v},
        "compile": {way: min(compile_seconds[way]) for way in functions},
        # The least of many: whatever else the machine does only ever adds.
        "run": {way: min(runs[way]) for way in functions},
        "ratio": {way: min(runs[way]) / min(runs["plain"]) for way in functions if way != "plain"},
        "failed": failed,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--scale", type=int, default=1)
    parser.add_argument("--compiles", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--least", type=float, default=0.1, help="seconds of one measurement")
    parser.add_argument("--only", default="")
    parser.add_argument("--out", type=pathlib.Path, default=None)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    # What is loaded once in a process belongs to no program.
    jax.block_until_ready(redzone.jit(lambda x, i: x[i])(jax.numpy.arange(4.0), jax.numpy.arange(2)))
    rows = []
    for case in cases(options.scale):
        if options.only in case.name:
            rows.append(measured(case, options.compiles, options.rounds, options.least))
            print(table(rows[-1:]).splitlines()[-1], rows[-1]["verdicts"], rows[-1]["failed"] or "", flush=True)
    found = {
        "date": datetime.date.today().isoformat(),
        "device": jax.devices()[0].device_kind,
        "machine": platform.machine(),
        "jax": jax.__version__,
        "redzone": redzone.__version__,
        "python": platform.python_version(),
        "scale": options.scale,
        "rows": rows,
    }
    print(table(rows))
    print(summary(rows))
    if options.out is not None:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
