"""How many instructions a check takes, the same however busy the machine is: `python bench/instructions.py PART…`.

Counts those of the check alone, under valgrind's callgrind (Linux, with valgrind and a C compiler), for each program
whose name contains a PART; each gets a process of its own. `--out FOLDER` keeps what callgrind wrote, to be read with
`callgrind_annotate --inclusive=yes`.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import warnings

import worker  # sets up the environment before JAX is imported

SWITCH = """
#include <valgrind/callgrind.h>
void on(void) { CALLGRIND_START_INSTRUMENTATION; }
void off(void) { CALLGRIND_STOP_INSTRUMENTATION; }
"""


def main() -> int:
    options = _arguments()
    if options.counted:
        count(options.parts[0], options.corpus, options.counted)
        return 0
    from corpora import programs_of

    with tempfile.TemporaryDirectory() as scratch:
        switch = pathlib.Path(scratch, "switch.so")
        subprocess.run(
            ["gcc", "-shared", "-fPIC", "-O1", "-x", "c", "-", "-o", switch], input=SWITCH.encode(), check=True
        )
        for name in programs_of(options.corpus):
            if any(part in name for part in options.parts):
                kept = pathlib.Path(options.out or scratch, f"{name.replace('/', '-')}.callgrind").resolve()
                print(f"{name}: {instructions(name, options.corpus, switch, kept) / 1e6:.1f} million", flush=True)
    return 0


def instructions(name: str, corpus: str, switch: pathlib.Path, kept: pathlib.Path) -> int:
    """What callgrind counts of one check of this program, after one that loads what there is to load."""
    command = ["valgrind", "--tool=callgrind", "--instr-atstart=no", f"--callgrind-out-file={kept}", sys.executable]
    command += [__file__, "--corpus", corpus, "--counted", str(switch), name]
    told = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONHASHSEED": "0"})
    found = re.search(r"Collected : (\d+)", told.stderr)
    if told.returncode or not found:
        raise SystemExit(f"bench: callgrind did not count {name}:\n{told.stderr[-2000:]}")
    return int(found.group(1))


def count(name: str, corpus: str, switch: str) -> None:
    """Check the program, with the counting on for that alone."""
    import jax
    from corpora import programs_of
    from measure import fresh

    from redzone.api import check_traced
    from redzone.frontend.trace import trace

    warnings.simplefilter("ignore")
    library = ctypes.CDLL(switch)
    fn, args = programs_of(corpus)[name].make()
    check_traced(trace(fresh(fn), tuple(args), {}))
    jax.clear_caches()
    traced = trace(fresh(fn), tuple(args), {})
    worker.set_the_rest_aside()
    begin, end = library.on, library.off
    begin()
    # The report is held, as by whoever reads it: to free it, and to look for garbage then, is no part of the check.
    report = check_traced(traced)
    end()
    del report


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", metavar="PART")
    parser.add_argument("--corpus", default="", metavar="PATH", help="a corpus file from elsewhere")
    parser.add_argument("--out", default="", metavar="FOLDER", help="keep what callgrind wrote")
    parser.add_argument("--counted", default="", help=argparse.SUPPRESS)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
