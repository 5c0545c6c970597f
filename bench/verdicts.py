"""One line for each access of a corpus, to be held against those of another engine: `python bench/verdicts.py`.

A line has the verdict, who decided it, and all that a report says of the access; lints stand on lines of their own.
`--without` leaves out programs whose name contains a part, such as the largest examples.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import worker  # noqa: F401  (sets up the environment before JAX is imported)
from corpora import programs_of
from measure import short_path


def main() -> int:
    options = _arguments()
    warnings.simplefilter("ignore")
    for name, program in programs_of(options.corpus).items():
        if any(part in name for part in options.without) or not all(part in name for part in options.only):
            continue
        for line in lines_of(program):
            print(f"{name}: {line}", flush=True)
    return 0


def lines_of(program: Any) -> Iterator[str]:
    from redzone.api import check_traced
    from redzone.frontend.trace import trace

    try:
        fn, args = program.make()
        traced = trace(fn, tuple(args), {})
    except Exception as error:
        yield f"does not trace here: {type(error).__name__}"
        return
    report = check_traced(traced)
    for number, access in enumerate(report.accesses):
        conditions = "; ".join(map(str, access.requires))
        yield line_of(
            f"{number} {place(access)}", access.verdict, access.decided_by, access.rule, access.message, conditions
        )
    for lint in report.lints:
        yield line_of(f"lint {place(lint)}", lint.code, lint.message)


def place(said: Any) -> str:
    return f"{short_path(said.location.file)}:{said.location.line}"


def line_of(*parts: object) -> str:
    return " | ".join(" ".join(str(part).split()) for part in parts)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", default="", metavar="PATH", help="a corpus file from elsewhere")
    parser.add_argument("--only", action="append", default=[], metavar="PART", help="programs whose name contains PART")
    parser.add_argument("--without", action="append", default=[], metavar="PART", help="leave these out")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
