"""Everything redzone says of random programs and of the cases, a line each: what is compiled must say the same.

`REDZONE_COMPILED=0 python -m tests.fuzz.told 0 300 > plain`, the same with 1, and `diff`.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from typing import Any

import jax

from redzone.api import check_traced
from tests.cases.test_cases import CASES
from tests.fuzz import fitted, generate, nests
from tests.fuzz.check import traced


def programs(first: int, count: int) -> Iterator[tuple[str, Any, Any]]:
    """(name, closed jaxpr, arguments) of random programs of every kind, and of as many cases."""
    for seed in range(first, first + count):
        try:
            program = (lambda seed: generate.make(seed, False), nests.make, fitted.make)[seed % 3](seed)
            yield f"seed {seed}", program.trace(), program.arguments
        except Exception:  # JAX objects to it
            continue
    for case in CASES[first % len(CASES) :][:count]:
        if case.runs:
            closed = jax.make_jaxpr(case.function)(*(a.struct() for a in case.arguments))
            yield case.name, closed, case.arguments


def told(closed: Any, arguments: Any) -> list[Any]:
    """What is said of each access, and of the program."""
    report = check_traced(traced(closed, arguments))
    accesses = [[str(a.verdict), a.message, str(a.requires), str(a.witness), a.rule] for a in report.accesses]
    return [*accesses, sorted(report.unmodelled.items()), [str(c) for c in report.requires], list(report.notes)]


if __name__ == "__main__":
    first, count = map(int, sys.argv[1:])
    for name, closed, arguments in programs(first, count):
        print(json.dumps([name, told(closed, arguments)]), flush=True)
