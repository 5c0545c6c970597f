"""The conditions of real programs from both sides: which have a witness, and which are shown exact from outside.

python tests/fuzz/both_sides.py                        the benchmark's programs
python tests/fuzz/both_sides.py --corpus other.py      a file with PROGRAMS: name -> () -> (function, arguments)
python tests/fuzz/both_sides.py --write                puts the table into docs/soundness.md

Each side of a condition is broken by one, the others kept, and the program run by the exact interpreter: a condition is
exact where the access leaves its array for each of its sides. Kept at their edge, no run may leave.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import pathlib
import random
import signal
import sys
import warnings
from collections.abc import Iterator, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src"), str(ROOT / "bench")]

import jax
import numpy as np

from redzone.api import check_traced
from redzone.frontend.trace import trace
from redzone.report.model import Verdict
from tests.fuzz.conditions import breaking, keeping, narrowed, place_of
from tests.fuzz.exact import CannotRun, Interpreter, TooLong
from tests.fuzz.generate import Argument, sample
from tests.fuzz.watch import Contradiction, Watch

PAGE = ROOT / "docs" / "soundness.md"
BEGIN, END = "<!-- both sides: written by tests/fuzz/both_sides.py, do not edit -->", "<!-- end of both sides -->"
SECONDS = 20
"""For the runs of one program."""
LIMIT = 60_000
"""Equations of one run."""
TRIES = 6
LEFT_OUT = ("example", "examples")


class _OutOfTime(BaseException):
    """Not to be taken for a failure of redzone by whoever catches those."""


def _alarm(*_: Any) -> None:
    raise _OutOfTime


class Subject:
    """One checked program, ready to be run on inputs that keep or break a condition."""

    def __init__(self, function: Any, args: Sequence[Any]) -> None:
        traced = trace(function, tuple(args), {})
        # Relations are read from their text, which names inputs by place here.
        named = tuple(dataclasses.replace(one, name=f"args[{k}]") for k, one in enumerate(traced.inputs))
        self.traced = dataclasses.replace(traced, inputs=named)
        self.report = check_traced(self.traced)
        self.required = [a for a in self.report.accesses if a.verdict is Verdict.REQUIRES]
        self.arguments = [
            Argument(tuple(getattr(i.aval, "shape", ())), getattr(i.aval, "dtype", None), i.min, i.max)
            for i in self.traced.inputs
        ]
        self.interpreter = Interpreter(self.traced.jaxpr, LIMIT)
        self.accesses = {id(a.eqn): a for a in self.report.accesses}
        self.rng = random.Random(0)

    def runnable(self) -> bool:
        return all(isinstance(a.dtype, np.dtype) and a.dtype.kind in "biuf" for a in self.arguments)

    def leaves(self, access: Any, args: Sequence[Any]) -> bool | None:
        """Whether an access leaves its array in a run; None where there is no run to the end."""
        watch = Watch(None, self.accesses)
        try:
            self.interpreter.run(args, watch)
        except (TooLong, CannotRun):
            # What left before the end has left.
            return True if id(access.eqn) in watch.left else None
        return id(access.eqn) in watch.left

    def kept(self, access: Any) -> str:
        """ "left" where a run within the condition leaves the array, which must not be."""
        inner = narrowed(self.arguments, access.requires)
        args = None if inner is None else keeping(self.rng, inner, access.requires)
        if args is None:
            return "no input found"
        try:
            gone = self.leaves(access, args)
        except Contradiction as contradiction:
            return f"left: {contradiction}"
        return "left" if gone else "no run" if gone is None else "inside"

    def broken(self, access: Any, condition: Any, above: bool) -> str:
        """ "exact" where breaking one side by one makes the access leave; else why that was not seen."""
        inner = narrowed(self.arguments, access.requires)
        if inner is None:
            return "a part of an argument that has no name"
        why = "no input found"
        for attempt in range(TRIES):
            args = self._outside(inner, access, condition, above, attempt)
            if args is None:
                continue
            gone = self.leaves(access, args)
            if gone:
                return "exact"
            why = "the run is too long" if gone is None else "every run tried stays inside"
        return why

    def _outside(
        self, inner: Sequence[Argument], access: Any, condition: Any, above: bool, attempt: int
    ) -> list[Any] | None:
        if condition.terms:
            return breaking(self.rng, inner, condition)
        args = [sample(self.rng, a) for a in inner]
        if attempt % 2 == 0 and access.witness is not None:
            # Where the witness gets to the access at all, one change of it will too.
            args = [np.array(a) for a in access.witness.arguments]
            args[condition.leaf] = sample(self.rng, inner[condition.leaf])
        place, outer = place_of(condition), self.arguments[condition.leaf]
        limit = condition.max if above else condition.min
        if outer.dtype.kind == "f":
            wanted: Any = np.nextafter(np.float32(limit), np.inf if above else -np.inf) if attempt < 3 else limit * 2
        else:
            wanted = int(limit) + (1 if above else -1)
        value = np.array(args[condition.leaf])
        part = value[place]
        if part.size == 0:
            return None
        if attempt % 3 == 0 or part.ndim == 0:
            value[place] = wanted
        else:
            spot = np.array(part)
            spot.flat[self.rng.randrange(spot.size)] = wanted
            value[place] = spot
        args[condition.leaf] = value
        return args


def sides(condition: Any) -> Iterator[bool]:
    """Which sides a condition has: False is its lower one."""
    if condition.min is not None:
        yield False
    if condition.max is not None and not (condition.terms and condition.min is not None):
        yield True


def examined(function: Any, args: Sequence[Any]) -> collections.Counter[str]:
    """What came of one program."""
    counts: collections.Counter[str] = collections.Counter()
    subject = Subject(function, args)
    counts["requires"] = len(subject.required)
    for access in subject.required:
        try:
            _examine(subject, access, counts)
        except _OutOfTime:
            counts["why: out of time"] += 1
            signal.alarm(SECONDS)
    return counts


def _examine(subject: Subject, access: Any, counts: collections.Counter[str]) -> None:
    counts["witness"] += access.witness is not None
    if not subject.runnable():
        counts["why: inputs that are no numbers"] += 1
        return
    counts[f"kept: {subject.kept(access).partition(':')[0]}"] += 1
    answers = [subject.broken(access, c, above) for c in access.requires for above in sides(c)]
    counts["sides"] += len(answers)
    counts["sides exact"] += answers.count("exact")
    if answers and all(answer == "exact" for answer in answers):
        counts["exact"] += 1
    else:
        counts[f"why: {next(a for a in answers if a != 'exact')}"] += 1


def table(found: dict[str, collections.Counter[str]], failed: int) -> str:
    """The counts by library, and why the others were not shown exact."""
    lines = ["| library | `requires` | with a replayed witness | shown exact | sides | sides shown exact |"]
    lines.append("|---|---:|---:|---:|---:|---:|")
    total: collections.Counter[str] = collections.Counter()
    columns = ("requires", "witness", "exact", "sides", "sides exact")
    for library, counts in sorted(found.items()):
        total.update(counts)
        if counts["requires"]:
            lines.append(f"| {library} | " + " | ".join(str(counts[c]) for c in columns) + " |")
    lines.append("| **all** | " + " | ".join(str(total[c]) for c in columns) + " |")
    why = sorted(((n, k) for k, n in total.items() if k.startswith("why")), reverse=True)
    reasons = ", ".join(f"{k.removeprefix('why: ')} {n}" for n, k in why)
    kept = ", ".join(f"{k.removeprefix('kept: ')} {n}" for k, n in sorted(total.items()) if k.startswith("kept"))
    lines += ["", f"Not shown exact: {reasons or 'none'}.", "", f"Kept at the edge of its condition: {kept or 'none'}."]
    if failed:
        lines += ["", f"{failed} programs could not be traced here."]
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="")
    parser.add_argument("--only", default="", help="programs whose name contains this")
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args(arguments)
    from corpora import programs_of

    warnings.simplefilter("ignore")
    signal.signal(signal.SIGALRM, _alarm)
    found: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
    failed = 0
    for name, program in programs_of(options.corpus).items():
        library = name.partition("/")[0]
        if library in LEFT_OUT or options.only not in name:
            continue
        signal.alarm(3 * SECONDS)
        try:
            counts = examined(*program.make())
        except (Exception, _OutOfTime) as error:
            failed += 1
            print(f"{name}: {type(error).__name__} {str(error)[:80]}", file=sys.stderr)
            continue
        finally:
            signal.alarm(0)
        found[library].update(counts)
        if counts["requires"]:
            print(f"{name}: {dict(counts)}", file=sys.stderr, flush=True)
        jax.clear_caches()
    text = table(found, failed)
    print(text)
    if options.write:
        write(text)
    return 1 if any(counts["kept: left"] for counts in found.values()) else 0


def write(text: str) -> None:
    before, begin, rest = PAGE.read_text().partition(BEGIN)
    _, end, after = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"{PAGE} has no {BEGIN!r} … {END!r}")
    PAGE.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
