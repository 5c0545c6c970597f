"""Where redzone's time goes in the programs whose name contains PART: `python bench/hotspots.py PART…`."""

from __future__ import annotations

import argparse
import cProfile
import pstats
import sys
import warnings

import worker  # noqa: F401  (sets up the environment before JAX is imported)
from corpora import programs_of


def main() -> int:
    from measure import fresh, timed

    from redzone.api import check_traced
    from redzone.frontend.trace import trace

    options = _arguments()
    warnings.simplefilter("ignore")
    for program in programs_of(options.corpus).values():
        if not any(part in program.name for part in options.parts):
            continue
        fn, args = program.make()
        traced = trace(fresh(fn), args, {})
        plain, report = timed(check_traced, traced)
        stages = ", ".join(f"{stage} {seconds * 1e3:.1f} ms" for stage, seconds in report.timings.items())
        print(f"{program.name}: {plain * 1e3:.1f} ms for {report.equations} equations ({stages})")
        profile = cProfile.Profile()
        profile.runcall(check_traced, trace(fresh(fn), args, {}))
        pstats.Stats(profile, stream=sys.stdout).strip_dirs().sort_stats(options.sort).print_stats(options.lines)
    return 0


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="+", metavar="PART")
    parser.add_argument("--corpus", default="", metavar="PATH")
    parser.add_argument("--sort", default="tottime", choices=("tottime", "cumtime", "ncalls"))
    parser.add_argument("--lines", type=int, default=20)
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
