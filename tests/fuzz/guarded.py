"""Random programs under redzone.jit: they raise exactly when an access left its array, and else compute the same.

`python tests/fuzz/guarded.py --n 1000`: exit status 1 when anything was contradicted.
"""

from __future__ import annotations

import argparse
import collections
import multiprocessing
import os
import pathlib
import random
import sys
import time
import traceback
import warnings
from collections.abc import Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
os.environ.setdefault("JAX_PLATFORMS", "cpu")

import jax
import numpy as np

import redzone
from redzone.runtime.jit import Guarded, Unguarded
from redzone.runtime.plan import Plan
from redzone.runtime.prepared import Prepared
from tests.fuzz.exact import CannotRun, Interpreter, TooLong
from tests.fuzz.generate import Program, make, sample
from tests.fuzz.watch import Failure, Watch

RUNS = 4
"""Inputs tried for every program."""
GUARDED = ("requires", "unknown", "unsafe")

Counts = collections.Counter[str]


def examine(program: Program, runs: int = RUNS) -> tuple[Failure | None, Counts]:
    """Run a program plain, guarded as its verdicts ask, and with every access checked in place."""
    counts: Counts = collections.Counter()
    function = program.function()
    rng = random.Random(f"guarded:{program.seed}")
    inputs = [[sample(rng, a) for a in program.arguments] for _ in range(runs)]
    try:
        plain = jax.jit(function)
        expected = [plain(*args) for args in inputs]
    except Exception:
        counts["discarded"] += 1
        return None, counts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Unguarded)
        guarded = redzone.jit(function)
        try:
            guarded.trace(*inputs[0])
        except redzone.OutOfBounds:
            counts["raised before running"] += 1
    if not guarded.reports:
        return Failure("no report", "jit", repr(guarded._programs[0].failure)), counts
    report = guarded.reports[0]
    interpreter = Interpreter(report.jaxpr)
    everything = _everything(guarded)
    counts["programs"] += 1
    accesses = {id(a.eqn): a for a in report.accesses}
    for args, result in zip(inputs, expected, strict=True):
        watch = Watch(None, accesses)
        try:
            if interpreter.breaks_a_promise(args) is not False:
                counts["broken promises"] += 1
                continue
            interpreter.run(args, watch)
        except (TooLong, CannotRun):
            counts["cannot run"] += 1
            continue
        counts["runs"] += 1
        for name, call, concerned in (
            ("everything in place", everything, lambda a: True),
            ("as planned", _as_planned(guarded), lambda a: a.verdict in GUARDED),
        ):
            if name == "as planned" and any(a.verdict == "unsafe" for a in report.accesses):
                continue
            leaves = [a for key, a in accesses.items() if key in watch.left and concerned(a)]
            wraps = name == "as planned" and any(a.rule == "RZ204" for a in report.accesses)
            got, error = call(args)
            if error and not leaves and not wraps:
                return Failure(f"raised for nothing, {name}", "jit", f"{error}\n  input: {args}"), counts
            if leaves and not error:
                detail = f"{leaves[0].eqn}\n {leaves[0].verdict} {leaves[0].message}\n input: {args}"
                return Failure(f"not raised, {name}", leaves[0].primitive, detail), counts
            counts["raised" if error else "clean"] += 1
            if not error and not _equal(got, result):
                return Failure(f"another result, {name}", "jit", f"{got}\n  {result}\n  input: {args}"), counts
    return None, counts


def _as_planned(guarded: Guarded) -> Any:
    def call(args: Sequence[Any]) -> tuple[Any, str]:
        try:
            result = guarded(*args)
            redzone.wait()
        except redzone.OutOfBounds as error:
            return None, str(error)
        return result, ""

    return call


def _everything(guarded: Guarded) -> Any:
    """The program with every access checked where it is made, proved or not."""
    prepared: Prepared = guarded._programs[0]
    assert prepared.report is not None
    plan = Plan()
    for access in prepared.report.accesses:
        plan.in_place(access)

    def program(*args: Any) -> Any:
        result, state = prepared.guarded(list(args), plan)
        return result, state

    compiled = jax.jit(program)

    def call(args: Sequence[Any]) -> tuple[Any, str]:
        result, state = compiled(*args)
        if state is None:
            return result, ""
        code, value = (int(x) for x in state)
        return result, f"check {code}: {plan.checks[code - 1]} saw {value}" if code else ""

    return call


def _equal(one: Any, other: Any) -> bool:
    pairs = zip(jax.tree_util.tree_leaves(one), jax.tree_util.tree_leaves(other), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


def run_chunk(task: tuple[int, int, bool]) -> tuple[Counts, list[str]]:
    first, count, wide = task
    jax.config.update("jax_enable_x64", wide)
    jax.clear_caches()
    counts: Counts = collections.Counter()
    failures = []
    for seed in range(first, first + count):
        try:
            failure, found = examine(make(seed, wide))
        except Exception:
            failure, found = Failure("crash", "guard", traceback.format_exc(limit=-6)), collections.Counter()
        counts.update(found)
        if failure is not None:
            counts["failures"] += 1
            failures.append(f"seed {seed}{' --wide' if wide else ''}: {failure}")
    return counts, failures


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=None)
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--out", type=pathlib.Path, default=None)
    options = parser.parse_args()
    started = time.monotonic()
    size = 50
    work = [(options.seed + k, size, (k // size) % 5 == 4) for k in range(0, options.n, size)]
    total: Counts = collections.Counter()
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=8) as pool:
        for counts, failures in pool.imap_unordered(run_chunk, work):
            total.update(counts)
            for failure in failures:
                print(failure, end="\n\n", flush=True)
                if options.out is not None:
                    with options.out.open("a") as file:
                        file.write(failure + "\n\n")
            if options.minutes and time.monotonic() - started > 60 * options.minutes:
                pool.terminate()
                break
    print(f"{time.monotonic() - started:.0f} s: " + ", ".join(f"{k} {v:,}" for k, v in sorted(total.items())))
    return 1 if total["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
