"""Real programs, run on a few inputs and held against redzone as random ones are.

python tests/fuzz/corpus.py                      the benchmark's programs
python tests/fuzz/corpus.py --file other.py      a file with PROGRAMS: name -> () -> (function, arguments)
"""

from __future__ import annotations

import argparse
import collections
import pathlib
import random
import signal
import sys
import time
import traceback
from collections.abc import Iterator
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "bench")]

import jax
import numpy as np

from tests.fuzz.check import Outcome, examine_traced
from tests.fuzz.exact import Interpreter
from tests.fuzz.generate import Argument

SECONDS = 40
"""For one program, its runs included."""
LIMIT = 30_000
"""Equations of one run."""


class _Fixed:
    """A corpus program where a generated one is expected."""

    def __init__(self, seed: int, arguments: tuple[Argument, ...]) -> None:
        self.seed = seed
        self.arguments = arguments

    def inputs(self) -> list[list[Any]]:
        return []


class _OutOfTime(BaseException):
    """Not to be taken for a failure of redzone by whoever catches those."""


def _alarm(*_: Any) -> None:
    raise _OutOfTime


def programs(path: str) -> Iterator[tuple[str, Any]]:
    from corpora import programs_of

    for name, program in programs_of(path).items():
        yield name, program.make


def held(make: Any) -> tuple[str, collections.Counter[str]]:
    """What came of one program: "held", or why it could not be tried, or what was contradicted."""
    function, args = make()
    closed = jax.make_jaxpr(function)(*args)
    arguments = tuple(Argument(tuple(v.aval.shape), v.aval.dtype) for v in closed.jaxpr.invars)
    if any(not isinstance(a.dtype, np.dtype) or a.dtype.kind not in "biuf" for a in arguments):
        return "inputs that are no numbers", collections.Counter()
    outcome = Outcome(None, collections.Counter(), _Fixed(0, arguments), closed)
    examine_traced(Interpreter(closed, LIMIT), outcome, runs=2)
    if outcome.failure is not None:
        return f"CONTRADICTED: {outcome.failure}", outcome.counts
    return ("held" if outcome.counts["runs"] else "too long to run"), outcome.counts


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--file", default="")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--after", default="", help="go on after the program of this name")
    options = parser.parse_args()
    random.seed(0)
    tally: collections.Counter[str] = collections.Counter()
    total: collections.Counter[str] = collections.Counter()
    signal.signal(signal.SIGALRM, _alarm)
    waiting = bool(options.after)
    for name, make in programs(options.file):
        if waiting or options.only not in name:
            waiting = waiting and name != options.after
            continue
        started = time.monotonic()
        signal.alarm(SECONDS)
        try:
            answer, counts = held(make)
        except _OutOfTime:
            answer, counts = "out of time", collections.Counter()
        except Exception:
            answer, counts = "not run: " + traceback.format_exc().strip().splitlines()[-1][:100], collections.Counter()
        finally:
            signal.alarm(0)
        total.update(counts)
        tally[answer.split(":")[0]] += 1
        print(f"{name:45} {time.monotonic() - started:6.1f} s  {answer[:1500]}", flush=True)
        jax.clear_caches()
    print(dict(tally), f"{total['runs']} runs, {total['equations']:,} equations")
    return 1 if tally["CONTRADICTED"] else 0


if __name__ == "__main__":
    sys.exit(main())
