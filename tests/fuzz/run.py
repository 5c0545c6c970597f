"""Run many random programs against redzone: `python tests/fuzz/run.py --n 100000`.

Exit status 1 when anything that redzone claims was contradicted.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import functools
import gc
import multiprocessing
import os
import pathlib
import sys
import time
import traceback
from collections.abc import Callable, Iterator, Sequence
from typing import Any

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT), str(ROOT / "src")]
for _name, _value in {
    "JAX_PLATFORMS": "cpu",
    "REDZONE_RAISES": "1",
    # Every worker is one process on one core: threads of its own only get in the way of the others.
    "OMP_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
}.items():
    os.environ.setdefault(_name, _value)

CHUNK = 50
"""Programs that a worker takes at a time; those under way when time is up do not count."""
CHUNKS_PER_PROCESS = 40
"""Chunks before a worker is replaced, which bounds its memory: JAX's caches grow, and keeping them saves compiling."""
WIDE_EVERY = 5
"""Every so many chunks use 64-bit types."""
SYMBOLIC_EVERY = 10
"""After every so many programs one over symbolic sizes is tried as well."""
FITTED, LATER, NEST = (1, 4, 6), (5,), (9,)
"""The last digits of the seeds whose program is around one table of a fitting size, by makers that were there first or
by later ones, and a nest of loops."""


@dataclasses.dataclass(slots=True)
class Chunk:
    """What came of some programs: how many of each thing, and the failures, each ready to print."""

    counts: collections.Counter[str]
    failures: list[str]


def trials(first: int, count: int, wide: bool, symbolic: str) -> Iterator[tuple[int, Any, Callable[[Any], Any]]]:
    """(seed, program, how it is examined) of one chunk."""
    from tests.fuzz import check, check_symbolic, fitted, generate, nests
    from tests.fuzz import symbolic as over_sizes

    for seed in range(first, first + count):
        if symbolic != "only" and seed % 10 in (*FITTED, *LATER, *NEST) and not wide:
            try:
                later = seed % 10 in LATER
                program: Any = nests.make(seed) if seed % 10 in NEST else fitted.make(seed, later)
            except Exception as error:  # the index could not even be followed: JAX objects to it
                yield seed, error, _discard
            else:
                yield seed, program, check.examine
        elif symbolic != "only":
            contracts = 2 if seed % 4 == 0 else 1
            yield seed, generate.make(seed, wide), functools.partial(check.examine, contracts=contracts)
        if symbolic == "only" or (symbolic == "some" and not wide and seed % SYMBOLIC_EVERY == 0):
            yield seed, over_sizes.make(seed), check_symbolic.examine


def _discard(error: Exception) -> Any:
    from tests.fuzz.check import Discarded

    raise Discarded(str(error))


def run_chunk(task: tuple[int, int, bool, bool, str]) -> Chunk:
    first, count, wide, minimise, symbolic = task
    import jax

    from tests.fuzz.check import Discarded
    from tests.fuzz.shrink import shrink

    jax.config.update("jax_enable_x64", wide)
    gc.set_threshold(100_000, 20, 100)  # JAX's own objects are many, and live on
    counts: collections.Counter[str] = collections.Counter()
    failures: list[str] = []
    shown: set[Any] = set()
    for seed, program, examine in trials(first, count, wide, symbolic):
        try:
            outcome = examine(program)
        except Discarded:
            counts["discarded"] += 1
            continue
        except Exception:
            counts["failures"] += 1
            counts["! the harness itself"] += 1
            failures.append(f"seed {seed}\n{traceback.format_exc()}")
            continue
        counts["programs"] += 1
        counts.update(outcome.counts)
        if outcome.failure is not None:
            counts["failures"] += 1
            kind = (outcome.failure.kind, outcome.failure.primitive)
            counts[f"! {kind[0]} at {kind[1]}"] += 1
            if kind in shown:
                continue  # one of a kind is enough to look at, and shrinking takes time
            shown.add(kind)
            failures.append(described(shrink(outcome, examine) if minimise else outcome))
    return Chunk(counts, failures)


def described(outcome: Any) -> str:
    """Everything needed to see a failure again."""
    program = outcome.program
    contract = "\n".join(f"    {a.dtype}{list(a.shape)} in [{a.low}, {a.high}]" for a in program.arguments)
    flags = " --wide" if getattr(program, "wide", False) else ""
    skip = " ".join(sorted(program.skip))
    sizes = getattr(program, "constraints", None)
    lines = [
        f"seed {program.seed}{flags}  skip '{skip}'{'' if sizes is None else f'  symbolic, {sizes}'}",
        f"  {outcome.failure}",
        f"  contract:\n{contract}",
        f"  input: {[getattr(a, 'tolist', lambda a=a: a)() for a in outcome.arguments]}",
        slice_of(outcome.jaxpr, getattr(outcome.failure, "eqn", None)),
    ]
    return "\n".join(lines)


def slice_of(closed: Any, target: Any) -> str:
    """The top-level equations that the failing one depends on, itself last."""
    from redzone.frontend import compat

    jaxpr, _ = compat.open_jaxpr(closed)

    def holds(eqn: Any) -> bool:
        inner = (compat.open_jaxpr(j)[0] for j in compat.inner_jaxprs(eqn.params))
        return eqn is target or any(holds(e) for j in inner for e in j.eqns)

    last = next((i for i, e in enumerate(jaxpr.eqns) if holds(e)), None)
    if last is None:
        return str(closed)
    wanted, kept = {id(v) for v in jaxpr.eqns[last].invars}, [jaxpr.eqns[last]]
    for eqn in reversed(jaxpr.eqns[:last]):
        if any(id(v) in wanted for v in eqn.outvars):
            wanted |= {id(v) for v in eqn.invars}
            kept.append(eqn)
    names = [v for v in (*jaxpr.constvars, *jaxpr.invars) if id(v) in wanted]
    shown = str(
        jaxpr.replace(
            eqns=kept[::-1],
            outvars=jaxpr.eqns[last].outvars,
            debug_info=jaxpr.debug_info.with_unknown_names(),
        )
    )
    return f"{shown}\n  needs {len(names)} of the inputs"


def tasks(n: int, seed: int, minimise: bool, symbolic: str) -> Iterator[tuple[int, int, bool, bool, str]]:
    done = 0
    while done < n:
        count = min(CHUNK, n - done)
        wide = symbolic != "only" and (done // CHUNK) % WIDE_EVERY == WIDE_EVERY - 1
        yield seed + done, count, wide, minimise, symbolic
        done += count


def summary(counts: collections.Counter[str], seconds: float) -> str:
    rest = ", ".join(f"{k} {v:,}" for k, v in sorted(counts.items()) if k not in ("programs", "failures"))
    return f"{counts['programs']:,} programs, {counts['failures']} failures in {seconds:.0f} s ({rest})"


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--n", type=int, default=2000, help="how many programs")
    parser.add_argument("--seed", type=int, default=0, help="the first program's seed")
    parser.add_argument("--minutes", type=float, default=None, help="stop after this long")
    parser.add_argument("--jobs", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--no-shrink", action="store_true", help="show failing programs as they are")
    parser.add_argument("--out", type=pathlib.Path, default=None, help="append failures to this file as well")
    parser.add_argument("--stop-after", type=int, default=20, help="stop after so many failures")
    parser.add_argument("--symbolic", choices=("some", "only", "none"), default="some", help="programs over sizes")
    options = parser.parse_args(arguments)

    started = time.monotonic()
    deadline = None if options.minutes is None else started + 60 * options.minutes
    total: collections.Counter[str] = collections.Counter()
    work = tasks(options.n, options.seed, not options.no_shrink, options.symbolic)
    context = multiprocessing.get_context("spawn")
    last_said = started
    with context.Pool(options.jobs, maxtasksperchild=CHUNKS_PER_PROCESS) as pool:
        for chunk in pool.imap_unordered(run_chunk, work):
            total.update(chunk.counts)
            for failure in chunk.failures:
                print(failure, end="\n\n", flush=True)
                if options.out is not None:
                    with options.out.open("a") as file:
                        file.write(failure + "\n\n")
            if time.monotonic() - last_said > 30:
                last_said = time.monotonic()
                print(summary(total, last_said - started), flush=True)
            if total["failures"] >= options.stop_after or (deadline and time.monotonic() > deadline):
                pool.terminate()
                break
    print(summary(total, time.monotonic() - started))
    return 1 if total["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())
