"""The process that measures: reads one request a line, answers one JSON line each.

A request that hangs or kills the process costs that request alone; see `isolated.py` for the other end.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import sys
import tempfile
import traceback
import warnings
from typing import Any

os.environ.setdefault("JAX_PLATFORMS", "cpu")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if "host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
    # The sharded programs need a few devices to spread over.
    os.environ["XLA_FLAGS"] = os.environ.get("XLA_FLAGS", "") + " --xla_force_host_platform_device_count=4"


@functools.lru_cache(maxsize=1)
def built(name: str, corpus: str) -> tuple[Any, tuple[Any, ...]]:
    """The program's function and arguments, kept for the next question about the same program."""
    from corpora import programs_of

    return programs_of(corpus)[name].make()


def set_the_rest_aside() -> None:
    """Keep the garbage collector off everything built so far, as if only this program had been imported."""
    gc.unfreeze()
    gc.collect()
    gc.freeze()


def answer(request: dict[str, Any], corpus: str) -> dict[str, Any]:
    """What was asked: a measurement of a named program, or one of the scaling series."""
    import measure
    import scaling

    if request["ask"] == "start_up":
        return measure.start_up()
    if request["ask"] == "scaling":
        return scaling.measure_series(request["series"], request["repeats"])
    fn, args = built(request["program"], corpus)
    set_the_rest_aside()
    match request["ask"]:
        case "check":
            return measure.check(fn, args, request["repeats"])
        case "trace":
            return measure.trace_times(fn, args, request["repeats"])
        case "compile":
            return measure.compile_times(fn, args)
        case "checkify":
            return measure.checkify_times(fn, args)
        case other:
            raise ValueError(f"nothing is called {other}")


def main() -> None:
    # Libraries print; the answers get the real standard output to themselves.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")

    corpus = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else ""
    scratch = tempfile.TemporaryDirectory()
    os.chdir(scratch.name)  # MuJoCo leaves a log wherever it runs
    for line in sys.stdin:
        try:
            reply = answer(json.loads(line), corpus)
        except Exception as error:
            first = str(error).strip().partition("\n")[0]
            reply = {"error": f"{type(error).__name__}: {first}"[:300], "traceback": traceback.format_exc()}
        answers.write(json.dumps(reply) + "\n")
        answers.flush()


if __name__ == "__main__":
    main()
